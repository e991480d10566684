#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds libsymph-starpu.so against one StarPU: its limits are part of its ABI, so every StarPU needs
# a plug-in of its own, also one that is built with SimGrid.
#
# In: the prefix where that StarPU is installed (/usr for Debian's). Out: the library in FOLDER; by
# default in PREFIX/lib/symph, where "symph starpu" finds it by itself.
set -euo pipefail

usage="usage: tools/starpu-plugin.sh PREFIX [FOLDER]"
fail() {
    echo "starpu-plugin: $1" >&2
    exit "${2:-1}"
}
case "${1:-}" in
    -h | --help) echo "$usage   (default FOLDER: PREFIX/lib/symph)"; exit 0 ;;
    '' | -*) fail "$usage" 2 ;;
esac
[ $# -le 2 ] || fail "$usage" 2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
prefix=$(realpath -m -- "$1")

# The folder of StarPU's own .pc file; Debian has one per architecture.
config=''
for file in "$prefix"/lib/pkgconfig/starpu-1.[0-9]*.pc "$prefix"/lib/*/pkgconfig/starpu-1.[0-9]*.pc; do
    [ ! -f "$file" ] || config=$(dirname "$file")
done
[ -n "$config" ] || fail "no StarPU in $prefix (no lib/pkgconfig/starpu-1.*.pc)"
into=$(realpath -m -- "${2:-$(dirname "$config")/symph}")
mkdir -p "$into" 2>/dev/null && [ -w "$into" ] || fail "cannot write to $into; name another FOLDER"

# A build folder of its own, that goes again.
work=$(mktemp -d "${TMPDIR:-/tmp}/symph-plugin.XXXXXX")
trap 'rm -rf "$work"' EXIT
log=$into/symph-plugin.log
PKG_CONFIG_PATH=$config${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH} \
    meson setup -Dtests=false "$work/build" "$root" >"$log" 2>&1 || fail "meson setup failed; see $log"
ninja -C "$work/build" -j "$(nproc)" src/engine/starpu/libsymph-starpu.so >>"$log" 2>&1 ||
    fail "the build failed; see $log"
built=$work/build/src/engine/starpu/libsymph-starpu.so
said=$(grep -a -o -m 1 'SYMPH-STARPU-BUILT-FOR: [ -~]*' "$built")
version=$(sed -n 's/^Version: //p' "$config"/starpu-1.[0-9]*.pc | tail -n 1)
[[ "${said#*: } " == "$version "* ]] ||
    fail "another StarPU (${said#*: }) came before the one in $prefix: unset PKG_CONFIG_PATH"
# By way of a second name: programs that run now keep the old one.
cp "$built" "$into/.libsymph-starpu.so.new"
mv "$into/.libsymph-starpu.so.new" "$into/libsymph-starpu.so"
rm -f "$log"
echo "$into/libsymph-starpu.so: for StarPU ${said#*: }"
