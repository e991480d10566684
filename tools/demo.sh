#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The main job, on a machine that need not be here: five schedulers, two graphs, a picture.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ -x build/symph ] || { echo "demo: build/symph is missing; run ./bootstrap" >&2; exit 1; }

mkdir -p demo
set -x
build/symph simulate --machine "2x(cpu:6 dram:60GB/s) gpu:2@pcie3x16" \
    --graphs gen:cholesky:12 gen:genomics:24 --policy eager,dmda,dmdas,heft,lb \
    --seeds 5 --noise 0.2 --contention --gantt demo/gantt.svg
{ set +x; } 2>/dev/null
echo "The schedules as pictures: demo/gantt.eager.svg (for contrast), demo/gantt.lb.svg ..."
