# SPDX-License-Identifier: Apache-2.0
"""symph-bench dype on made-up times: rooflines with caches, imbalance and noise. No number that
comes out says anything of a real machine."""
import json
import math
import os
import random

import cli

GRAPH = {
    "schema": "symph-pipeline-1", "name": "layers", "about": "two layers on a graph",
    "features": [{"name": "nodes", "about": "n", "low": 1, "high": 1e9},
                 {"name": "edges", "about": "e", "low": 1, "high": 1e10},
                 {"name": "width", "about": "w", "low": 1, "high": 1e5},
                 {"name": "spread", "about": "of degrees", "low": 0, "high": 1e4, "usual": 1}],
    "data": [{"name": "graph", "role": "input", "bytes": "4*(nodes+1+2*edges)"},
             {"name": "x", "role": "input", "bytes": "4*nodes*width"},
             {"name": "w1", "role": "constant", "bytes": "4*width*128"},
             {"name": "w2", "role": "constant", "bytes": "4*128*40"},
             {"name": "h1", "role": "between", "bytes": "4*nodes*128"},
             {"name": "a1", "role": "between", "bytes": "4*nodes*128"},
             {"name": "h2", "role": "between", "bytes": "4*nodes*40"},
             {"name": "out", "role": "output", "bytes": "4*nodes*40"}],
    "kernels": [
        {"name": "gemm1", "kernel": "gemm", "reads": ["x", "w1"], "writes": ["h1"],
         "cost": {"flops": "2*nodes*width*128", "bytes": "4*nodes*(width+128)", "rows": "nodes"},
         "parameters": [], "split": True},
        {"name": "spmm1", "kernel": "spmm", "reads": ["graph", "h1"], "writes": ["a1"],
         "cost": {"flops": "2*edges*128", "bytes": "8*edges+1024*nodes", "imbalance": "1+spread"},
         "parameters": [], "split": True},
        {"name": "gemm2", "kernel": "gemm", "reads": ["a1", "w2"], "writes": ["h2"],
         "cost": {"flops": "2*nodes*128*40", "bytes": "4*nodes*(128+40)", "rows": "nodes"},
         "parameters": [], "split": True},
        {"name": "spmm2", "kernel": "spmm", "reads": ["graph", "h2"], "writes": ["out"],
         "cost": {"flops": "2*edges*40", "bytes": "8*edges+320*nodes", "imbalance": "1+spread"},
         "parameters": [], "split": True}],
    "examples": [
        {"name": "sparse", "about": "few edges",
         "values": {"nodes": 400000, "edges": 1200000, "width": 64, "spread": 1}},
        {"name": "dense", "about": "many edges",
         "values": {"nodes": 20000, "edges": 9000000, "width": 300, "spread": 0.3}},
        {"name": "hubs", "about": "uneven",
         "values": {"nodes": 200000, "edges": 4000000, "width": 128, "spread": 12}}]}
BAND = {
    "schema": "symph-pipeline-1", "name": "band", "about": "attention in a window",
    "features": [{"name": "length", "about": "l", "low": 1, "high": 1e7},
                 {"name": "window", "about": "w", "low": 1, "high": 1e5}],
    "data": [{"name": "x", "role": "input", "bytes": "2048*length"},
             {"name": "wq", "role": "constant", "bytes": "3145728"},
             {"name": "qkv", "role": "between", "bytes": "6144*length"},
             {"name": "mixed", "role": "between", "bytes": "2048*length"},
             {"name": "y", "role": "output", "bytes": "2048*length"}],
    "kernels": [
        {"name": "qkv", "kernel": "gemm", "reads": ["x", "wq"], "writes": ["qkv"],
         "cost": {"flops": "1572864*length", "bytes": "8192*length+3145728", "rows": "length"},
         "parameters": [], "split": True},
        {"name": "window", "kernel": "window", "reads": ["qkv"], "writes": ["mixed"],
         "cost": {"flops": "2048*length*window", "bytes": "8192*length", "slots": "window"},
         "parameters": [], "split": True},
        {"name": "down", "kernel": "gemm", "reads": ["mixed", "wq"], "writes": ["y"],
         "cost": {"flops": "524288*length", "bytes": "4096*length+3145728", "rows": "length"},
         "parameters": [], "split": True}],
    "examples": [
        {"name": "short", "about": "", "values": {"length": 1000, "window": 64}},
        {"name": "long", "about": "", "values": {"length": 16000, "window": 256}},
        {"name": "wide", "about": "", "values": {"length": 8000, "window": 1024}}]}
PIPELINES = [GRAPH, BAND]
COLUMNS = ["flops", "bytes", "rows", "imbalance", "slots"]
# class: operations/s and bytes/s of dense and of sparse kernels, launch in ns, cache in bytes
RATES = {"cpu": (9e11, 1.2e11, 1.5e11, 8e10, 4e3, 3e7), "h200": (3e13, 3e12, 3e12, 2e12, 1e4, 5e7),
         "u280": (2e11, 2e11, 4e11, 3e11, 2e4, 8e6)}


def costs_of(kernel, values):
    names = {**values, "min": min, "max": max}
    return {name: float(eval(text, {"__builtins__": {}}, names))  # pylint: disable=eval-used
            for name, text in kernel["cost"].items()}


def made_up_ns(kernel, class_name, costs, rng):
    dense_flops, dense_bytes, flops, bytes_per_s, launch, cache = RATES[class_name]
    if kernel["kernel"] == "gemm":
        flops, bytes_per_s = dense_flops, dense_bytes
    if costs["bytes"] > cache:
        bytes_per_s *= 0.4
    time = launch + 1e9 * max(costs["flops"] / flops, costs["bytes"] / bytes_per_s)
    if class_name == "h200":
        time *= costs.get("imbalance", 1) ** 0.3
    return time * math.exp(0.02 * rng.gauss(0, 1))


def rows_of(pipeline, values, case, rng):
    for kernel in pipeline["kernels"]:
        costs = costs_of(kernel, values)
        for class_name in RATES:
            time = made_up_ns(kernel, class_name, costs, rng)
            for width in [4, 16] if class_name == "cpu" else [1]:
                cells = ["model" if class_name == "u280" else "measured", kernel["kernel"], class_name,
                         str(width), repr(time * (1 if width in (1, 16) else 3)),
                         "300" if class_name == "h200" else "", case]
                yield ",".join(cells + [repr(costs[c]) if c in costs else "" for c in COLUMNS])


def made_up_times(calibrations=14, seed=1):
    rng = random.Random(seed)
    lines = [",".join(["source", "kernel", "class", "width", "time_ns", "watts", "case"] + COLUMNS)]
    for pipeline in PIPELINES:
        for i in range(calibrations):
            values = {}
            for feature in pipeline["features"]:
                seen = [e["values"][feature["name"]] for e in pipeline["examples"]]
                low, high = math.log(min(seen) / 3), math.log(max(seen) * 3)
                values[feature["name"]] = math.exp(rng.uniform(low, high))
            lines += rows_of(pipeline, values, "%s %d" % (pipeline["name"], i), rng)
        for example in pipeline["examples"]:
            lines += rows_of(pipeline, example["values"], "example " + example["name"], rng)
    return lines


class Dype(cli.Case):
    def command(self, lines=None, pipelines=PIPELINES):
        self.write("times.csv", "\n".join(lines or made_up_times()) + "\n")
        named = []
        for pipeline in pipelines:
            self.write(pipeline["name"] + ".json", json.dumps(pipeline))
            named += ["--pipeline", pipeline["name"] + ".json"]
        return ["bench", "dype", "--times", "times.csv", "--quiet", *named]

    def check_cases(self, tables):
        self.assertEqual(tables["left out"], [])
        self.assertEqual(len(tables["cases"]), 90)
        for row in tables["cases"]:
            for policy, ratio in row["over_optimum"].items():
                if ratio is not None and not policy.startswith(("additive", "side by side")):
                    self.assertGreaterEqual(ratio, 1 - 1e-9, (policy, row))
            self.assertLess(row["probes"], 4)  # the first plan is one of the four
            self.assertGreater(row["plans"], 100)

    def test_pages(self):
        os.mkdir(os.path.join(self.folder, "out"))
        command = self.command()
        self.ok(*command, "--out", "out", "--plot", "plans.svg")
        page = self.read("out/dype.md").decode()
        for words in ["symph-bench dype --times FILE", "90 cases", "PCIe5", "Models: u280",
                      "Declared power", "GPU-only", "77/86", "another system", "/static"]:
            self.assertIn(words, page)
        self.assertIn(b"</svg>", self.read("plans.svg"))
        document = json.loads(self.read("out/dype.json"))
        self.assertEqual(document["bench"], "dype")
        self.assertEqual(document["tables"], self.ok_json(*command, "--threads", "1")["tables"])
        tables = {t["title"]: t["rows"] for t in document["tables"]}
        self.check_cases(tables)
        near = {r["policy"]: r for r in tables["optimum"] if r["pipeline"] == "all"}
        self.assertGreater(near["ours, after probes"]["within_1_percent"],
                           near["static, hindsight"]["within_1_percent"])
        goals = {r["goal"]: r for r in tables["goals"]}
        self.assertEqual(goals["exact search = exhaustive search, share of cases"]["verdict"], "hit")
        self.assertEqual({r["class"] for r in tables["estimator"]}, set(RATES))
        self.assertEqual(len(tables["streams"]), 6)
        for row in tables["streams"]:
            most = row["optimum"]["items_per_s"] * 1.000001
            self.assertLessEqual(row["ours"]["items_per_s"], most)
            self.assertLessEqual(row["static"]["items_per_s"], most)

    def test_missing_rows(self):
        lines = [line for line in made_up_times(8) if not ("example hubs" in line and "h200" in line)]
        command = self.command(lines, [GRAPH])
        tables = {t["title"]: t["rows"] for t in self.ok_json(*command)["tables"]}
        self.assertEqual(tables["left out"], ["layers/hubs: no time for gemm1 (gemm) on h200"])
        self.assertEqual(len(tables["cases"]), 30)

    def test_nothing_to_judge(self):
        lines = made_up_times(2)
        message = self.fails(3, *self.command([l for l in lines if "example" not in l]))
        self.assertIn("no time for gemm1", message)
        message = self.fails(3, *self.command([l for l in lines if "example" in l or "source" in l]))
        self.assertIn("nothing is left to learn from", message)
        message = self.fails(3, *self.command([l for l in lines if "u280" not in l]))
        self.assertIn("FPGA", message)
        self.assertIn("gone.csv", self.fails(3, "bench", "dype", "--times", "gone.csv", "--quiet"))
        self.assertIn("nobody:nothing", self.fails(3, *self.command(lines), "--pipeline",
                                                   "nobody:nothing"))


cli.main()
