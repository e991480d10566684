#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packs a build into a folder that runs on a machine where nothing can be installed.
#
# In: a build folder. Out: OUT with the programs, kernel plug-ins and, in lib/, the shared libraries
# they need except libc's own and CUDA's, which are the other machine's. Run there: OUT/run symph ...
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: tools/bundle.sh BUILD OUT" >&2; exit 2; }
build=$1 out=$2
[ -x "$build/symph" ] || { echo "bundle: no symph in $build: build it first" >&2; exit 1; }
mkdir -p "$out/lib" "$out/workloads"
cp "$build/symph" "$build/src/engine/starpu/symph-engine" \
    "$build/src/engine/starpu/libsymph-starpu.so" "$out/"
for program in bench/{starpu_overhead,neighbour,gpu_load,genomics_map,genomics_extend,genomics_hmm} \
    tests/workloads/genomics/genomics_call_devices workloads/genomics/symph-genomics; do
    [ ! -x "$build/$program" ] || cp "$build/$program" "$out/"
done
cp "$(dirname "$0")"/../bench/{neighbour,real,genomics_gpu}.py "$out/" # OUT/run neighbour.py OUT/symph ...
peers=() # what genomics_gpu.py compares with, where it is installed
for peer in bwa samtools bcftools; do
    if command -v "$peer" >/dev/null; then
        cp "$(command -v "$peer")" "$out/"
        peers+=("$out/$peer")
    fi
done
find "$build/workloads" -name '*.so' | while read -r plugin; do
    part=${plugin#"$build/workloads/"}
    mkdir -p "$out/workloads/$(dirname "$part")"
    cp "$plugin" "$out/workloads/$part"
done
{
    find "$build/workloads" -name '*.so'
    ls "$build/symph" "$build"/src/engine/starpu/{symph-engine,libsymph-starpu.so}
    printf '%s\n' "${peers[@]}"
} | xargs -n 1 ldd | awk '$3 ~ /^\// { print $3 }' | sort -u |
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
