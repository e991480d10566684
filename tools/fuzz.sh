#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fuzzes for some seconds from a corpus it leaves alone. An input that crashes is kept in the
# current folder; add it to the corpus together with the fix.
# usage: fuzz.sh FUZZER CORPUS SECONDS
set -eu
[ $# -eq 3 ] || { echo "usage: fuzz.sh FUZZER CORPUS SECONDS" >&2; exit 2; }
found=$(mktemp -d)
trap 'rm -rf "$found"' EXIT
name=$(basename "$1")
"$1" -max_total_time="$3" -timeout=10 -rss_limit_mb=2560 -max_len=65536 -seed=1 -verbosity=0 \
    -artifact_prefix="$PWD/$name-" "$found" "$2" || exit 1 # libFuzzer's 77 would read as a skip
