# SPDX-License-Identifier: Apache-2.0
"""Hand-made records of runs (symph-run-1), small enough to work out by hand."""
import json

MACHINE = "cpu:2 gpu:1@link=1GB/s,latency=1us"
MS = 1000000


def graph():
    """a -> b and c -> d; b and c are of the same kernel."""
    variants = {"cpu": {"fixed_ns": 4 * MS}, "gpu": {"fixed_ns": 1 * MS}}
    return {
        "schema": "symph-graph-1", "name": "diamond",
        "kernels": [{"name": k, "variants": variants} for k in ["first", "middle", "last"]],
        "data": [{"name": n, "bytes": 1000000} for n in ["A", "B", "C", "D"]],
        "tasks": [
            {"name": "a", "kernel": "first", "writes": ["A"]},
            {"name": "b", "kernel": "middle", "reads": ["A"], "writes": ["B"]},
            {"name": "c", "kernel": "middle", "reads": ["A"], "writes": ["C"]},
            {"name": "d", "kernel": "last", "reads": ["B", "C"], "writes": ["D"]},
        ]}


def run(machine):
    """cpu0: a 0..4 ms; gpu0: b 5.001..6.001 ms after a copy of 1.001 ms; cpu1: c 4..9 ms, slower than
    predicted; cpu0: d 10.001..14.001 ms, after b's output has come back. machine: as symph machine
    --json prints it. Devices 0, 1: cpu; 2: gpu. Memories 0: host; 1: gpu."""
    stall = 1001000
    return {
        "schema": "symph-run-1", "spec": "test:diamond", "policy": "lb",
        "runtime": "StarPU 1.3.10", "host": "here", "date": "2024-02-29T12:00:00Z",
        "makespan_ns": 13 * MS + stall,
        "machine": machine, "graph": graph(),
        "moved_bytes": [[0, 1, 1000000], [1, 0, 1000000]],
        "model_ns": [[4 * MS, 1 * MS]] * 4,
        "tasks": [
            [0, 0, 0, 0, 4 * MS, 4 * MS],
            [2, 0, 4 * MS, 4 * MS + stall, 5 * MS + stall, 1 * MS],
            [1, 0, 4 * MS, 4 * MS, 9 * MS, 4 * MS],
            [0, 0, 9 * MS, 9 * MS + stall, 13 * MS + stall, 4 * MS],
        ],
        "decisions": [
            [0, 0, 0, 3, 1, [[0, 0, 0, 4 * MS, 4 * MS, 0.05], [1, 0, 0, 4 * MS, 4 * MS, 0.05],
                             [2, 5 * MS, 0, 1 * MS, 6 * MS, 0.02]]],
            [4 * MS, 1, 2, 2, 2, [[2, 0, stall, 1 * MS, MS + stall, 0.02],
                                  [1, 400000, 0, 4 * MS, 4400000, 0.05]]],
            [4 * MS, 2, 1, 2, 1, [[1, 0, 0, 4 * MS, 4 * MS, 0.05],
                                  [2, MS + stall, 0, 1 * MS, 2 * MS + stall, 0.02]]],
            [9 * MS, 3, 0, 1, 1, [[0, 0, stall, 4 * MS, 4 * MS + stall, 0.05]]],
        ],
        "trace": [
            ["task", 0, 0, 0, 4 * MS],
            ["stall", 1, 2, 4 * MS, 4 * MS + stall],
            ["transfer", 0, 1, 4 * MS, 4 * MS + stall, 0, 1000000],
            ["transfer", 1, 0, 9 * MS, 9 * MS + stall, 1, 1000000],
            ["task", 1, 2, 4 * MS + stall, 5 * MS + stall],
            ["task", 2, 1, 4 * MS, 9 * MS],
            ["stall", 3, 0, 9 * MS, 9 * MS + stall],
            ["task", 3, 0, 9 * MS + stall, 13 * MS + stall],
        ]}


def write(case, name="run.json", change=None):
    """The run above as a file in the test's folder; change may alter it."""
    record = run(json.loads(case.ok("machine", MACHINE, "--json")))
    if change:
        change(record)
    case.write(name, json.dumps(record))
    return name
