# SPDX-License-Identifier: Apache-2.0
"""Tasks that take no time, a nanosecond or a billion seconds: every command that prints figures of
them prints numbers."""
import json
import math
import re

import cli

NOTHING = "J nothing 3 2\nT 0 sync 0 1 0\nT 1 sync 0 4 0\nT 2 sync 0 1 0\nE 0 1 0\nE 1 2 0\n"
DATA = "J data 3 2\nT 0 a 0 1 0\nT 1 b 0 4 0\nT 2 c 0 1 0\nE 0 1 1e9\nE 1 2 1e6\n"
MIXED = ("J mixed 5 5\nT 0 a 0 1 0\nT 1 b 1e-9 8 0\nT 2 c 1e9 2 0\nT 3 sync 0 1 0\nT 4 d 0.5 3 0\n"
         "E 0 1 0\nE 0 2 1e6\nE 1 3 0\nE 2 3 0\nE 3 4 0\n")
MACHINE = "2x(cpu:2 dram:40GB/s) gpu:1@pcie3x16 fpga:1@regions=2"
GRAPHS = ["nothing.dag", "data.dag", "mixed.dag"]


class Extremes(cli.Case):
    def setUp(self):
        super().setUp()
        for name, text in zip(GRAPHS, (NOTHING, DATA, MIXED)):
            self.write(name, text)

    def check_numbers(self, value, where=""):
        """Numbers are finite; what has no value is null, and only where that is documented."""
        if isinstance(value, dict):
            for key, item in value.items():
                self.check_numbers(item, f"{where}.{key}")
        elif isinstance(value, list):
            for i, item in enumerate(value):
                self.check_numbers(item, f"{where}[{i}]")
        elif isinstance(value, float):
            self.assertTrue(math.isfinite(value), where)
        elif value is None:
            self.assertRegex(where, r"decision_ns|policy_(ns|share)|\.told\.|options\.|mixed_lp_ns|exact_ns")

    def simulate(self, *args, policies="random,eager,dmdas,heft,lb+wspt,symphony"):
        command = ["simulate", "--machine", MACHINE, "--accelerate", "3", "--quiet", "--check",
                   "--seeds", "2", "--policy", policies, *args]
        table = self.ok(*command)
        self.assertFalse(re.search(r"\b(nan|inf)\b", table.lower()), table)
        result = self.ok_json(*command)
        self.check_numbers(result)
        return result

    def test_single(self):
        for graph in GRAPHS:
            self.simulate("--graphs", graph, "--per-graph", "--noise", "0.2")
            self.simulate("--graphs", graph, "--judge", "--belief", "filtered", "--hidden-load",
                          "0.3", policies="random,symphony")

    def test_a_bound_of_nothing(self):
        """No time is needed; who moves data all the same is not as good as the bound."""
        summary = self.simulate("--graphs", "data.dag")["summary"]
        self.assertEqual(summary["dmdas"]["makespan_over_bound"]["geomean"], 1)
        self.assertGreater(summary["random"]["makespan_over_bound"]["geomean"], 100)
        self.assertGreater(summary["random"]["slowdown_mean"], 100)

    def test_streams(self):
        for graphs in (GRAPHS, ["nothing.dag"], ["nothing.dag", "gen:stages:5"]):
            self.simulate("--graphs", *graphs, "--tenants", "2", "--jobs", "9", "--load", "0.7",
                          "--noise", "0.2")

    def test_pictures(self):
        for graph in GRAPHS:
            self.ok("simulate", "--machine", MACHINE, "--graphs", graph, "--policy", "symphony",
                    "--seeds", "1", "--quiet", "--accelerate", "3", "--gantt", "x.svg", "--trace",
                    "x.json", "--paje", "x.paje")
            self.assertFalse(re.search(r"\b(nan|inf)\b", self.read("x.svg").decode().lower()))
            json.loads(self.read("x.json"))

    def test_bounds_and_figures(self):
        for graph in GRAPHS:
            bound = ["bound", "--machine", "cpu:2 gpu:1", "--graphs", graph, "--accelerate", "3",
                     "--exact", "--anneal", "50"]
            self.assertFalse(re.search(r"\b(nan|inf)\b", self.ok(*bound).lower()))
            self.check_numbers(self.ok_json(*bound))
            self.assertFalse(re.search(r"\b(nan|inf)\b", self.ok("graph", graph).lower()))
            self.check_numbers(self.ok_json("graph", graph))


cli.main()
