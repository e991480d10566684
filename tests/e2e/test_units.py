# SPDX-License-Identifier: Apache-2.0
"""A quantity needs its unit, wherever one is typed: seconds for one are milliseconds for another."""
import os

import cli

SIMULATE = ["simulate", "--machine", cli.MACHINE, "--graphs", "gen:chain:2", "--seeds", "1",
            "--policy", "dmdas"]
PLAN = ["plan", os.path.join(cli.ROOT, "examples", "pipeline.json"), "--input-features", "hd",
        "--machine", cli.MACHINE]
TRAIN = ["train", "--generations", "1"]
# How the option is given, with a place for the value, and values that are right.
OPTIONS = [
    ([*SIMULATE, "--contention", "--hidden-period", "{}"], ["20ms", "1e-3s", "2min"]),
    ([*SIMULATE, "--contention", "--counter-period", "{}"], ["300us"]),
    ([*SIMULATE, "--stragglers", "0.1:4", "--straggler-time", "{}"], ["10s", "1min"]),
    ([*SIMULATE, "--decision-time", "{}"], ["5us", "0", "measured"]),
    ([*SIMULATE, "--fail", "gpu0@{}"], ["2ms", "1s-2s", "0-3ms", "30%", "0-50%"]),
    ([*SIMULATE, "--machine", "cpu:2 dram:{}"], ["40GB/s"]),
    ([*SIMULATE, "--machine", "cpu:2 gpu:1@memory={}"], ["16GiB"]),
    ([*SIMULATE, "--machine", "cpu:2 gpu:1@latency={}"], ["10us"]),
    (["graph", "gen:chain:3,work={}"], ["10ms", "0.5s", "0"]),
    (["bound", "--machine", cli.MACHINE, "--graphs", "gen:chain:2", "--time-limit", "{}"],
     ["20s", "1min"]),
    (["run", "nothing", "--limit", "{}"], []),
    (["call-variants", "--limit", "{}"], []),
    (["call-variants", "--memory", "{}"], []),
    (["counters", "watch", "--once", "--interval", "{}"], []),
    (["counters", "watch", "--once", "--duration", "{}"], []),
    ([*PLAN, "--constraint", "latency<={}"], ["5min"]),
    ([*PLAN, "--constraint", "throughput>={}"], ["1/h"]),
    ([*PLAN, "--constraint", "energy<={}"], ["1000kJ"]),
    ([*PLAN, "--constraint", "power<={}"], ["9kW"]),
    ([*PLAN, "--constraint", "memory.gpu<={}"], ["40GB"]),
    ([*PLAN, "--price", "gpu={}"], ["2.5/h", "0"]),
    ([*TRAIN, "--prices", "gpu={}"], []),
]


class Units(cli.Case):
    def test_bare_numbers_are_refused(self):
        for args, _ in OPTIONS:
            for value in ["20", "0.5", "1e3"]:
                done = self.run_symph(*(a.format(value) for a in args))
                self.assertIn(done.returncode, [2, 3], f"{args}: {done.stdout}")
                self.assertEqual(done.stdout, "", args)
                self.assertRegex(done.stderr, r"a time|a size|bandwidth|no unit|2\.5/h|no value",
                                 args)

    def test_units_are_taken(self):
        for args, values in OPTIONS:
            for value in values:
                self.ok(*(a.format(value) for a in args))


if __name__ == "__main__":
    cli.main()
