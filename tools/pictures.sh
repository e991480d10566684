#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Draws the pictures of the documents again, with the symph that was built.
#
# Out: docs/img/{gantt,plan-front,dype,variants}.svg. All but variants.svg, a run on this machine, are
# the same bytes everywhere. The others in docs/img take hours or hardware that is not here: h200-*
# are runs on an H200, training.svg and papers-learning.svg are of training (docs/training.md,
# docs/bench/papers-learning.md), counters.* of recorded counters (docs/bench/counters.md).
set -euo pipefail
usage="usage: tools/pictures.sh [FOLDER]   (default: docs/img)"
case "${1:-}" in
    -h | --help) echo "$usage"; exit 0 ;;
    -*) echo "$usage" >&2; exit 2 ;;
esac
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
symph=${SYMPH:-$root/build/symph}
bench=${SYMPH_BENCH:-$root/build/symph-bench} # not installed
for program in "$symph" "$bench"; do
    [ -x "$program" ] || { echo "pictures: there is no $program; run ./bootstrap" >&2; exit 1; }
done
mkdir -p "${1:-$root/docs/img}"
into=$(cd "${1:-$root/docs/img}" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/symph-pictures.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"

"$symph" simulate --machine "2x(cpu:6 dram:60GB/s) gpu:2@pcie3x16" --graphs gen:cholesky:16 \
    --policy symphony --noise 0.2 --seeds 1 --quiet --plot "$into/gantt.svg" >/dev/null
"$symph" plan "$root/examples/pipeline.json" --input-features thumb --machine "cpu:16 gpu:1 fpga:1" \
    --objective throughput --constraint 'power<=200W' --constraint 'latency<=500us' \
    --plan "unpack+blur+detect+pack@gpu" --quiet --plot "$into/plan-front.svg" >/dev/null
"$bench" dype --seeds 20 --quiet --plot "$into/dype.svg" >/dev/null

if "$symph" genomics --help >/dev/null 2>&1; then
    "$symph" genomics simulate --random 1000000 --coverage 30 --out sample >/dev/null
    best=''
    for _ in 1 2 3 4 5; do # the first ones measure how long each stage takes here
        "$symph" call-variants --ref sample.fa --reads sample_1.fq.gz sample_2.fq.gz \
            -o sample.vcf.gz --quiet --json --plot variants.svg >run.json
        took_ns=$(sed -n 's/.*"makespan_ns": *\([0-9]*\).*/\1/p' run.json | head -n 1)
        if [ -z "$best" ] || [ "$took_ns" -lt "$best" ]; then
            best=$took_ns
            cp variants.svg "$into/variants.svg"
        fi
    done
else
    echo "pictures: variants.svg is left as it is: symph was built without htslib" >&2
fi
