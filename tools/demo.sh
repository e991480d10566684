#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A made-up sample, its variants called on the devices of this machine under three schedulers in
# turns, scored against what is there, and a picture; then schedulers on a simulated machine. Needs
# no data and no network. SYMPH names another symph than build/symph, and then the files go to ./demo.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
symph=${SYMPH:-build/symph}
[ -n "${SYMPH:-}" ] || cd "$root"
command -v "$symph" >/dev/null || { echo "demo: there is no $symph; run ./bootstrap" >&2; exit 1; }

rounds=3
mkdir -p demo
say() { printf '\n%s\n' "$*"; }
show() { # a command, as one would type it
    local word
    printf '+ symph'
    for word in "${@:2}"; do
        case "$word" in *[\ \(]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    echo
}
act() { show "$@"; "$@"; }

simulated() {
    say "Six schedulers on a simulated machine, with uncertain times:"
    act "$symph" simulate --machine "2x(cpu:6 dram:60GB/s) gpu:2@pcie3x16" \
        --graphs gen:cholesky:12 gen:genomics:24 --policy symphony,dmdas,dmda,heft,lb,eager \
        --seeds 5 --noise 0.2 --contention | tee demo/simulated.txt
    awk '$4 == ".." { ratio[$1] = $2; low[$1] = $7; high[$1] = $9; best = best ? best : $1 } END {
        more = 100 * (ratio["dmdas"] / ratio["symphony"] - 1)
        print "makespan/bound: the time needed, divided by a lower bound that no schedule can beat."
        printf "Schedules of dmdas, the best of StarPU, are %.1f %% %s than those of symphony, the default",
            more < 0 ? -more : more, more < 0 ? "shorter" : "longer"
        if (best == "symphony") {
            printf "\n(between %.1f and %.1f %%, with 95 %% confidence)", 100 * low["dmdas"] - 100,
                100 * high["dmdas"] - 100
        }
        print "."
    }' demo/simulated.txt
}

if ! "$symph" genomics --help >/dev/null 2>&1; then
    echo "demo: symph was built without htslib, so there is no variant calling to show"
    simulated
    exit
fi

call=("$symph" call-variants --ref demo/sample.fa --reads demo/sample_1.fq.gz demo/sample_2.fq.gz)

say "A sample whose variants are all known (the reads are simulated):"
act "$symph" genomics simulate --random 1000000 --coverage 30 --out demo/sample

say "Calling its variants on all devices of this machine:"
act "${call[@]}" -o demo/sample.vcf.gz --sample demo >demo/call.txt
sed -n '1,/^time/p' demo/call.txt

say "How many of them it found:"
act "$symph" genomics score --ref demo/sample.fa --truth demo/sample.truth.vcf.gz \
    --calls demo/sample.vcf.gz >demo/score.txt
sed '/^other/d' demo/score.txt

say "Three schedulers in turn, $rounds runs each, with a picture of each:"
policies=(symphony eager heft)
for ((round = 0; round < rounds; round++)); do
    for ((i = 0; i < ${#policies[@]}; i++)); do
        policy=${policies[$(((i + round) % ${#policies[@]}))]}
        "${call[@]}" -o demo/again.vcf.gz --sample demo --policy "$policy" --json --quiet \
            --plot "demo/gantt.$policy.svg" >"demo/$policy.$round.json"
        cmp demo/sample.vcf.gz demo/again.vcf.gz || { echo "demo: $policy gave other variants" >&2; exit 1; }
    done
done
python3 - "$rounds" "${policies[@]}" <<'TABLE'
import json, statistics, sys
about = {"symphony": "the default: decides late, with learned times",
         "eager": "an idle device takes the oldest task",
         "heft": "plans in advance, and does not change the plan"}
print(f"{'policy':10} {'median':>8} {'best':>8}")
for policy in sys.argv[2:]:
    runs = []
    for i in range(int(sys.argv[1])):
        with open(f"demo/{policy}.{i}.json", encoding="utf-8") as file:
            runs.append(json.load(file)["makespan_ns"] / 1e9)
    print(f"{policy:10} {statistics.median(runs):6.2f} s {min(runs):6.2f} s   {about[policy]}")
TABLE
rm -f demo/again.vcf.gz* demo/*.[0-9]*.json
echo "All of them wrote the same file, byte for byte. On cores alone, schedulers hardly differ; on a mix of"
echo "devices they do:"
simulated

cat <<NEXT

What ran where: demo/gantt.symphony.svg (open it in a browser). What to try next:
  $symph call-variants --help       with your own reads
  $symph machine --tree             this machine, as schedulers see it
  $symph run linalg:cholesky:n=4096,tile=512 --compare symphony,starpu:dmdas
  $symph explain last               why the tasks of that run went where they did
  $symph counters watch             what the machine is doing right now
NEXT
