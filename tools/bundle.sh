#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packs a build into a folder that runs on a machine where nothing can be installed.
#
# In: a build folder. Out: OUT with the tree that "meson install" makes, programs of bench/ and their
# scripts, and in lib/ the shared libraries they need except libc's own and CUDA's, which are the
# other machine's. Run there: OUT/run symph ...
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: tools/bundle.sh BUILD OUT" >&2; exit 2; }
build=$1 out=$2
[ -x "$build/symph" ] || { echo "bundle: no symph in $build: build it first" >&2; exit 1; }
mkdir -p "$out/lib"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
meson install -C "$build" --no-rebuild --quiet --destdir "$stage"
cp -a "$(dirname "$(dirname "$(find "$stage" -path '*/bin/symph')")")/." "$out/"
ln -sf bin/symph "$out/symph"
for program in bench/{starpu_overhead,neighbour,gpu_load,genomics_map,genomics_extend,genomics_hmm} \
    tests/workloads/genomics/genomics_call_devices; do
    [ ! -x "$build/$program" ] || cp "$build/$program" "$out/"
done
cp "$(dirname "$0")"/../bench/{neighbour,real,genomics_gpu}.py "$out/" # OUT/run neighbour.py OUT/symph ...
for peer in bwa samtools bcftools; do # what genomics_gpu.py compares with, where it is installed
    ! command -v "$peer" >/dev/null || cp "$(command -v "$peer")" "$out/"
done
find "$out" -type f \( -perm -1 -o -name '*.so*' \) -exec sh -c 'ldd "$1" 2>/dev/null || true' sh {} \; |
    awk '$3 ~ /^\// { print $3 }' | sort -u |
    grep -Ev '/lib(c|m|dl|pthread|rt|cuda|cudart|cublas|cublasLt|cusparse|cusolver|nvJitLink)\.so' |
    xargs -I{} cp -L {} "$out/lib/"
strip "$out"/lib/*.so* 2>/dev/null || true
cat >"$out/run" <<'END'
#!/bin/sh
# Runs a program of this folder with this folder's libraries.
here=$(cd "$(dirname "$0")" && pwd)
program=$1
shift
LD_LIBRARY_PATH=$here/lib:/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
case $program in */*) exec "$program" "$@" ;; *) exec "$here/$program" "$@" ;; esac
END
chmod +x "$out/run"
du -sh "$out" | cut -f 1
