# SPDX-License-Identifier: Apache-2.0
"""symph run --pipeline as a person meets it: the plans it used, its errors, calibration and what is
kept between runs. Arguments: the command, the source's root, the plug-in gnn or "none"."""
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

SYMPH, ROOT, GNN = sys.argv[1:4]
SMALL = "gnn:gcn:example=tiny,items=12"


@unittest.skipIf(GNN == "none", "built without StarPU or without the plug-in gnn")
class Pipeline(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="symph-test-")
        self.addCleanup(self.folder.cleanup)
        self.env = dict(os.environ, XDG_STATE_HOME=self.path("state"))

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run_symph(self, *arguments, code=0):
        result = subprocess.run([SYMPH, *arguments], capture_output=True, text=True, timeout=120,
                                env=self.env, check=False)
        self.assertEqual(result.returncode, code, result.stderr + result.stdout)
        return result

    def stream(self, *arguments, spec=SMALL, code=0, cpus="2"):
        return self.run_symph("run", "--pipeline", spec, "--kernels", GNN, "--cpus", cpus, "--quiet",
                              "--models", self.path("models"), *arguments, code=code)

    def check_result(self, found, items):
        self.assertEqual(found["schema"], "symph-run-pipeline-1")
        self.assertEqual(found["items"], items)
        self.assertEqual(sum(plan["items"] for plan in found["plans"]), items)
        self.assertEqual(found["plans"][0]["cause"], "first")
        self.assertEqual(found["plans"][0]["first_item"], 0)
        self.assertLessEqual(found["result_error"], found["result_tolerance"])
        self.assertGreater(found["items_per_s"], 0)
        self.assertLessEqual(found["latency_ns"]["p50"], found["latency_ns"]["p99"])
        self.assertGreaterEqual(sum(device["tasks"] for device in found["devices"]), 4 * items)

    def test_energy_is_read_or_said_to_be_assumed(self):
        said = self.stream("--objective", "energy").stdout
        self.assertEqual("J per item" in said, "power cannot be measured here" not in said)
        self.assertNotIn("power cannot be measured here", self.stream().stdout)

    def test_stream(self):
        record, chart = self.path("run.json"), self.path("run.svg")
        found = json.loads(self.stream("--check", "--json", "--record", record, "--plot",
                                       chart).stdout)
        self.check_result(found, 12)
        self.assertEqual(found["checked"], 12)
        with open(record, encoding="utf-8") as file:
            kept = json.load(file)
        self.assertEqual(kept["stream"]["items"], 12)
        self.assertEqual([phase["plan"] for phase in kept["stream"]["phases"]],
                         [plan["plan"] for plan in found["plans"]])
        with open(chart, encoding="utf-8") as file:
            self.assertIn("<svg", file.read())
        self.run_symph("explain", record)

    def test_table(self):
        told = self.stream("--objective", "latency").stdout
        for word in ["12 items", "objective    latency", "throughput", "latency      median",
                     "result       right", "from item", "gemm1", "cpu0"]:
            self.assertIn(word, told)

    def test_objectives(self):
        for objective in ["throughput", "latency", "energy", "money", "balanced"]:
            with self.subTest(objective=objective):
                found = json.loads(self.stream("--objective", objective, "--json").stdout)
                self.check_result(found, 12)
                self.assertEqual(found["objective"], objective)

    def test_fixed_plans(self):
        plans = {"gemm1+spmm1@cpu | gemm2+spmm2@cpu": 1, "gemm1+spmm1+gemm2+spmm2@cpu:2": 2,
                 "gemm1+spmm1+gemm2+spmm2@cpu:1x2": 1}
        for plan, parts in plans.items():
            with self.subTest(plan=plan):
                found = json.loads(self.stream("--plan", plan, "--check", "--json").stdout)
                self.check_result(found, 12)
                self.assertEqual([p["plan"] for p in found["plans"]], [plan])
                self.assertEqual([device["tasks"] for device in found["devices"]],
                                 [24 * parts, 24 * parts])

    def test_window(self):
        for window in ["1", "7"]:
            found = json.loads(self.stream("--window", window, "--json", "--plan", "cpu").stdout)
            self.check_result(found, 12)
            self.assertEqual(found["window"], int(window))

    def test_drift(self):
        """Inputs that change: every item by the plan of its time, and all results right."""
        found = json.loads(self.stream(
            "--check", "--json", spec="gnn:gcn:drift=1,nodes=400,degree_low=2,degree_high=100,"
            "steps=4,items=24").stdout)
        self.check_result(found, 24)
        self.assertEqual(found["checked"], 24)

    def test_calibration(self):
        times = self.path("times.csv")
        told = self.stream("--calibrate", "-o", times, "--json").stdout
        with open(times, encoding="utf-8") as file:
            self.assertEqual(file.readline(), "# symph-costs-1\n")
            rows = list(csv.DictReader(file))
        self.assertEqual(json.loads(told)["samples"], len(rows))
        self.assertEqual(json.loads(told)["modelled"],
                         sum(row["source"] == "model" for row in rows))
        measured = {(row["kernel"], row["class"], row["width"]) for row in rows
                    if row["source"] == "measured"}
        self.assertEqual(measured, {(kernel, "cpu", width) for kernel in ("sgemm", "spmm")
                                    for width in ("1", "2")})
        for row in rows:
            self.assertGreater(float(row["samples_ns"]), 0)
            self.assertEqual((row["count"], row["footprint"]), ("1", ""))
            self.assertEqual(row["source"], "model" if row["class"] == "u280" else "measured")
        self.check_result(json.loads(self.stream("--times", times, "--json").stdout), 12)

    def test_times_are_kept(self):
        self.stream()
        files = [name for name in os.listdir(self.path("models")) if name.endswith(".costs.csv")]
        self.assertEqual(len(files), 1)
        with open(os.path.join(self.path("models"), files[0]), encoding="utf-8") as file:
            first = file.read()
        self.assertIn("\nsgemm,cpu,measured,", first)
        self.stream("--plan", "gemm1+spmm1+gemm2+spmm2@cpu:2")
        with open(os.path.join(self.path("models"), files[0]), encoding="utf-8") as file:
            self.assertIn("\nsgemm,cpu,measured,2,", file.read())
        self.run_symph("plan", "gnn:gcn", "--kernels", GNN, "--input-features", "tiny", "--models",
                       self.path("models"))
        # What pipelines took is listed, and forgotten, with the rest.
        kernels = ["kernels", "--kernels", GNN, "--models", self.path("models")]
        self.assertIn("cpu:2", self.run_symph(*kernels).stdout)
        cells = json.loads(self.run_symph(*kernels, "--json").stdout)["measured"]
        self.assertIn("inner", next(c for c in cells if c["kernel"] == "sgemm")["costs"])
        self.run_symph(*kernels, "--forget", "sgemm")
        with open(os.path.join(self.path("models"), files[0]), encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn("\nsgemm,", text)
        self.assertIn("\nspmm,", text)

    def test_older_file_of_times(self):
        """What an older symph kept is used, and is part of the file after the next run."""
        self.stream()
        name, = [name for name in os.listdir(self.path("models")) if name.endswith(".costs.csv")]
        new = os.path.join(self.path("models"), name)
        old = new.replace(".costs.csv", ".times.csv")
        os.rename(new, old)
        self.stream()
        self.assertFalse(os.path.exists(old))
        with open(new, encoding="utf-8") as file:
            rows = list(csv.DictReader(file.read().splitlines()[1:]))
        self.assertGreater(max(int(row["count"]) for row in rows), 12)

    def test_times_of_another_build(self):
        """They are left out, of plans and of runs, and go when the kernels were measured again."""
        self.stream()
        name, = [name for name in os.listdir(self.path("models")) if name.endswith(".costs.csv")]
        path = os.path.join(self.path("models"), name)
        plan = ["plan", "gnn:gcn", "--kernels", GNN, "--input-features", "tiny", "--models",
                self.path("models")]
        self.assertNotIn("rebuilt", self.run_symph(*plan).stderr)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        builds = set(re.findall(r",([0-9a-f]{16}),", text))
        self.assertEqual(len(builds), 1, text)
        other = text.replace(builds.pop(), "00c0ffee00c0ffee")
        with open(path, "w", encoding="utf-8") as file:
            file.write(other)
        self.assertRegex(self.run_symph(*plan).stderr, r"(\d+) of \1 samples .* rebuilt since")
        self.stream()
        with open(path, encoding="utf-8") as file:
            self.assertNotIn("00c0ffee", file.read())
        self.assertNotIn("rebuilt", self.run_symph(*plan).stderr)

    def test_errors(self):
        cases = [
            (["--plan", "gpu", "--cuda", "0"], 3, "has no gpu"),
            (["--plan", "gemm1+spmm1+gemm2+spmm2@h200", "--cuda", "0"], 3, "h200"),
            (["--plan", "gemm1@cpu"], 3, "spmm1"),
            (["--constraint", "latency<=1ns"], 3, "latency"),
            (["--constraint", "fpga<=1"], 3, "no 'fpga' to limit"),
            (["--constraint", "cpu<=0"], 3, "leave no device"),
            (["--constraint", "latency<=soon"], 2, "soon"),
            (["--objective", "througput"], 2, "did you mean throughput"),
            (["--policy", "eager"], 2, "are for graphs"),
            (["--watts"], 2, "--watts is for --calibrate"),
            (["--out", "x.csv"], 2, "--out is for --calibrate"),
            (["--calibrate"], 2, "-o FILE.csv"),
            (["--calibrate", "-o", "x.csv", "--plan", "cpu"], 2, "alone"),
            (["--times", "/nowhere.csv"], 3, "/nowhere.csv"),
            (["linalg:cholesky"], 2, "not both"),
        ]
        for arguments, code, words in cases:
            with self.subTest(arguments=arguments):
                self.assertIn(words, self.stream(*arguments, code=code).stderr)

    def test_wrong_specs(self):
        cases = {"gnn:gcm": "did you mean 'gnn:gcn'", "nobody:gcn": "no plug-in has that name",
                 "gnn:gcn:itemz=3": "itemz"}
        for spec, words in cases.items():
            with self.subTest(spec=spec):
                self.assertIn(words, self.stream(spec=spec, code=3).stderr)
        result = self.run_symph("run", "linalg:cholesky:n=64,tile=32", "--window", "3", code=2)
        self.assertIn("--window is for --pipeline", result.stderr)
        result = self.run_symph("run", "gnn:gcn", "--kernels", GNN, "--models", "", code=3)
        self.assertIn("symph run --pipeline gnn:gcn", result.stderr)

    def test_other_memory(self):
        """Nothing of gnn runs on OpenCL devices: they are left alone, not an error."""
        result = subprocess.run(
            [SYMPH, "run", "--pipeline", SMALL, "--kernels", GNN, "--cpus", "1", "--opencl", "1",
             "--quiet", "--json", "--models", ""],
            capture_output=True, text=True, timeout=120, env=self.env, check=False)
        if "OpenCL devices were asked for" in result.stderr:
            self.skipTest(result.stderr)
        self.check_result(json.loads(result.stdout), 12)
        self.assertIn("cannot run", self.stream("--opencl", "1", cpus="0", code=3).stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
