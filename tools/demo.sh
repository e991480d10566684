#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A made-up sample, its variants called on the devices of this machine under three schedulers in
# turns, scored against what is there, and a picture. Needs no data and no network.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ -x build/symph ] || { echo "demo: build/symph is missing; run ./bootstrap" >&2; exit 1; }

rounds=3
mkdir -p demo
say() { printf '\n%s\n' "$*"; }
act() { printf '+ %s\n' "$*"; "$@"; }

call() { # policy, output, more options
    local policy=$1 out=$2
    shift 2
    build/symph call-variants --ref demo/sample.fa --reads demo/sample_1.fq.gz demo/sample_2.fq.gz \
        -o "$out" --sample demo --policy "$policy" "$@"
}

simulated() {
    say "Five schedulers on a machine that need not be here (a simulation):"
    act build/symph simulate --machine "2x(cpu:6 dram:60GB/s) gpu:2@pcie3x16" \
        --graphs gen:cholesky:12 gen:genomics:24 --policy eager,dmda,dmdas,heft,lb \
        --seeds 5 --noise 0.2 --contention
}

if ! build/symph genomics --help >/dev/null 2>&1; then
    echo "demo: symph was built without htslib, so there is no variant calling to show"
    simulated
    exit
fi

say "A sample of which all variants are known (reads are simulated):"
act build/symph genomics simulate --random 1000000 --coverage 30 --out demo/sample

say "From reads to variants; the first run measures how long each stage takes on each device:"
echo "+ symph call-variants --ref demo/sample.fa --reads demo/sample_1.fq.gz demo/sample_2.fq.gz" \
    "-o demo/sample.vcf.gz"
call symphony demo/sample.vcf.gz

say "How many were found:"
act build/symph genomics score --ref demo/sample.fa --truth demo/sample.truth.vcf.gz \
    --calls demo/sample.vcf.gz

say "Three ways to schedule the same work, in turns, $rounds times each:"
policies=(symphony eager heft)
for ((round = 0; round < rounds; round++)); do
    for ((i = 0; i < ${#policies[@]}; i++)); do
        policy=${policies[$(((i + round) % ${#policies[@]}))]}
        call "$policy" "demo/again.vcf.gz" --plot "demo/gantt.$policy.svg" --json --quiet \
            >"demo/$policy.$round.json"
        cmp demo/sample.vcf.gz demo/again.vcf.gz || { echo "demo: $policy gave other variants" >&2; exit 1; }
    done
done
python3 - "$rounds" "${policies[@]}" <<'TABLE'
import json, statistics, sys
about = {"symphony": "the default: binds late, corrected by what it learns",
         "eager": "whoever is idle takes the oldest task",
         "heft": "static: plans what is known before it runs, no change after"}
print(f"{'policy':10} {'median':>8} {'best':>8}")
for policy in sys.argv[2:]:
    runs = []
    for i in range(int(sys.argv[1])):
        with open(f"demo/{policy}.{i}.json", encoding="utf-8") as file:
            runs.append(json.load(file)["makespan_ns"] / 1e9)
    print(f"{policy:10} {statistics.median(runs):6.2f} s {min(runs):6.2f} s   {about[policy]}")
TABLE
rm -f demo/again.vcf.gz* demo/*.[0-9]*.json
echo "All of them wrote the same file, byte for byte. Where cores are all there is, schedulers can"
echo "hardly differ; on machines that mix devices they do:"
simulated

say "What ran where, as a picture: demo/gantt.symphony.svg"
cat <<'NEXT'

What to try next:
  build/symph call-variants --help            with reads of your own, and a BAM file beside
  build/symph machine --tree                  this machine as the schedulers see it
  build/symph run linalg:cholesky:n=4096,tile=512 --compare symphony,starpu:dmdas
  build/symph explain last                    why tasks of that run went where they did
  build/symph counters watch                  what the machine is doing right now
NEXT
