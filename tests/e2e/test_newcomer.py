# SPDX-License-Identifier: Apache-2.0
"""The path of someone who has just installed symph: look, generate, compare, draw."""
import json
import os
import re
import shlex
import xml.dom.minidom

import cli


class Newcomer(cli.Case):
    def test_readme(self):
        """The first screen: the command runs, and what is shown below it has its form."""
        with open(os.path.join(cli.ROOT, "README.md"), encoding="utf-8") as file:
            text = file.read()
        self.assertLessEqual(text.count("\n"), 150)
        self.assertIn("docs/img/gantt.svg", text)
        shown = re.search(r"```\n\$ (symph simulate (?:.*\\\n)*.*)\n((?:.*\n)*?)```", text)
        words = shlex.split(shown[1].replace("\\\n", " ").replace("--seeds 20", "--seeds 1"))
        lines = self.ok(*words[1:]).splitlines()
        claimed = shown[2].splitlines()
        self.assertEqual(lines[0].split(", seeds")[0], claimed[0].split(", seeds")[0])
        self.assertEqual(lines[2].split(), claimed[2].split())
        self.assertEqual({line.split()[0] for line in lines[3:]}, {line.split()[0] for line in claimed[3:]})

    def test_help_begins_with_examples(self):
        commands = ["machine", "graph", "bound", "simulate"]
        self.assertTrue(self.ok("--help").startswith("Examples:\n"))
        for command in commands:
            text = self.ok(command, "--help")
            self.assertTrue(text.startswith("Examples:\n  symph " + command), text)
            self.assertEqual(text, self.ok("help", command))
            self.assertIn(command, self.ok("--help"))
        self.assertRegex(self.ok("--version"), r"^symph \d+\.\d+\.\d+\n$")

    def test_machine(self):
        for spec in [[], ["here"], [cli.MACHINE]]:
            machine = self.ok_json("machine", *spec)
            self.assertEqual(machine["schema"], "symph-machine-1")
        text = self.ok("machine", cli.MACHINE)
        self.assertIn("6 devices in 2 classes", text)
        self.assertIn("* assumed: the source", text)
        self.assertIn("4 x cpu", self.ok("machine", cli.MACHINE, "--tree"))
        self.assertIn("assumed", self.run_symph("machine", "here").stderr)
        self.assertEqual(self.run_symph("machine", "here", "--quiet").stderr, "")

    def test_machine_reads_back(self):
        self.write("m.json", self.ok("machine", cli.MACHINE, "--json"))
        self.assertEqual(self.ok("machine", "m.json", "--json"),
                         self.ok("machine", cli.MACHINE, "--json"))

    def test_graph(self):
        stats = self.ok_json("graph", "gen:cholesky:4")
        self.assertEqual(stats["schema"], "symph-graph-stats-1")
        graph = stats["graphs"][0]
        self.assertEqual(graph["tasks"], 4 + 6 + 6 + 4)  # potrf, trsm, syrk, gemm of 4 tiles
        self.assertEqual(graph["depth"], 10)
        self.assertEqual(sum(k["tasks"] for k in graph["kernels"]), graph["tasks"])
        self.assertGreaterEqual(graph["work_ns"], graph["critical_path_ns"])
        self.assertIn("parallelism", self.ok("graph", "gen:cholesky:4"))
        self.assertIn("gen:cholesky", self.ok("graph", "--list-generators"))
        self.assertIn("cholesky", self.ok_json("graph", "--list-generators")["generators"])

    def test_graph_exports(self):
        self.assertIn("digraph", self.ok("graph", "gen:cholesky:3", "--dot", "-"))
        self.ok("graph", "gen:cholesky:3", "--out", "c.json")
        json.loads(self.read("c.json"))
        written = self.ok_json("graph", "c.json")["graphs"][0]
        made = self.ok_json("graph", "gen:cholesky:3")["graphs"][0]
        self.assertEqual(written, made)
        self.assertIn("c.json: ok, 1 graph", self.ok("graph", "--check", "c.json"))
        self.assertTrue(self.ok_json("graph", "--check", "c.json")["files"][0]["valid"])

    def test_bound(self):
        bound = self.ok_json("bound", "--machine", "cpu:2", "--graphs", "gen:cholesky:2",
                             "--exact", "--anneal", "50")
        self.assertEqual(bound["schema"], "symph-bound-1")
        graph = bound["graphs"][0]
        self.assertIsNotNone(graph["exact_ns"])
        tolerance = 1 + 1e-9
        self.assertLessEqual(graph["critical_path_ns"], graph["exact_ns"] * tolerance)
        self.assertLessEqual(graph["area_ns"], graph["exact_ns"] * tolerance)
        self.assertLessEqual(graph["exact_ns"], graph["best_found_ns"] * tolerance)
        self.assertIn("found/bound", self.ok("bound", "--machine", cli.MACHINE, "gen:cholesky:4"))

    def test_simulate(self):
        args = ["simulate", "--machine", cli.MACHINE, "--graphs", "gen:cholesky:5",
                "gen:forkjoin:4", "--policy", "heft,dmdas,random", "--seeds", "3", "--noise", "0.2"]
        result = self.ok_json(*args)
        self.assertEqual(result["schema"], "symph-simulate-1")
        self.assertEqual(len(result["runs"]), 2 * 3 * 3)
        self.assertEqual(list(result["summary"]), ["heft", "dmdas", "random"])
        for run in result["runs"]:
            self.assertGreater(run["makespan_ns"], 0)
            self.assertGreater(run["lower_bound_ns"], 0)
            self.assertEqual(set(run["task_slowdown"]), {"within_0", "within_10", "within_20"})
            self.assertEqual(run["decision_ns"], {"p50": None, "p99": None})
        for summary in result["summary"].values():
            spread = summary["makespan_over_bound"]
            self.assertLessEqual(spread["low"], spread["geomean"])
            self.assertLessEqual(spread["geomean"], spread["high"])
        best = result["summary"][result["best"]]["makespan_over_bound"]["geomean"]
        self.assertEqual(best, min(s["makespan_over_bound"]["geomean"]
                                   for s in result["summary"].values()))
        table = self.ok(*args, "--per-graph")
        for word in ["makespan/bound", "heft", "lower bound"]:
            self.assertIn(word, table)
        self.assertNotIn("\033", table)

    def test_no_schedule_beats_the_bound(self):
        result = self.ok_json("simulate", "--machine", cli.MACHINE, "--graphs", "gen:cholesky:6",
                              "--policy", "all", "--seeds", "1", "--check")
        for run in result["runs"]:
            self.assertGreaterEqual(run["makespan_ns"], run["lower_bound_ns"] * (1 - 1e-9),
                                    run["policy"])

    def test_all_policies(self):
        """Those that nobody could use as they are stay out, and which is said."""
        args = ["simulate", "--machine", cli.MACHINE, "gen:chain:2", "--policy", "all", "--seeds",
                "1", "--json"]
        done = self.run_symph(*args)
        ran = {run["policy"] for run in json.loads(done.stdout)["runs"]}
        policies = self.ok_json("simulate", "--list-policies")["policies"]
        known = {p["name"] for p in policies}
        left_out = known - ran
        self.assertLessEqual({p["name"] for p in policies if p["needs_truth"]}, left_out)
        self.assertLessEqual({"symphony-paper", "black-box"}, left_out)  # no weights are shipped
        self.assertLessEqual({"symphony", "learned", "dmdas"}, ran)
        for name in left_out:
            self.assertIn(name, done.stderr)
        self.assertEqual(self.run_symph(*args, "--quiet").stderr, "")

    def test_timing(self):
        result = self.ok_json("simulate", "--machine", cli.MACHINE, "gen:cholesky:4", "--policy",
                              "dmdas", "--timing", "--seeds", "1")
        self.assertGreater(result["runs"][0]["decision_ns"]["p99"], 0)

    def test_decision_time(self):
        """Free by default; a time for each task; or measured, which the output says."""
        args = ["simulate", "--machine", "cpu:1", "gen:chain:10,work=1ms", "--policy", "dmdas",
                "--seeds", "1"]

        def makespan_ns(*more):
            return self.ok_json(*args, *more)["runs"][0]["makespan_ns"]

        self.assertAlmostEqual(makespan_ns(), 10e6)
        self.assertAlmostEqual(makespan_ns("--decision-time", "0"), 10e6)
        self.assertAlmostEqual(makespan_ns("--decision-time", "500us"), 15e6)
        self.assertGreater(makespan_ns("--decision-time", "measured"), 10e6)
        result = self.ok_json(*args, "--decision-time", "measured")
        self.assertEqual(result["options"]["decision_time"], "measured")
        self.assertGreater(result["runs"][0]["policy_ns"], 0)
        self.assertIn("not reproducible", self.ok(*args, "--decision-time", "measured"))
        self.assertNotIn("not reproducible", self.ok(*args))
        for wrong in ["5", "slow", ""]:
            self.assertIn("--decision-time", self.fails(2, *args, "--decision-time", wrong))

    def test_a_machine_that_shares_nothing(self):
        """Cores of which no bandwidth is known: that is said, and nothing divides by their number."""
        self.write("m.bus.csv", "# 2 CPU cores, 0 CUDA GPUs\nfrom,to,bytes_per_us,latency_us\n")
        for belief in ["raw", "filtered", "true", "none"]:
            done = self.run_symph("simulate", "--machine", "m.bus.csv", "gen:lu:3", "--policy",
                                  "symphony,lb-cont,paragon", "--seeds", "1", "--belief", belief,
                                  "--hidden-load", "0.3", "--judge")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("the bandwidth of host0 is not known", done.stderr)
        self.assertIn("not known", self.ok("machine", "m.bus.csv"))
        self.assertIn("80 GB/s", self.ok("machine", "m.bus.csv dram:80GB/s"))

    def test_stream(self):
        args = ["simulate", "--machine", cli.MACHINE, "--graphs", "gen:cholesky:4",
                "gen:cholesky:3", "--policy", "dmdas,eager", "--seeds", "2", "--tenants", "3",
                "--load", "0.6", "--jobs", "20"]
        result = self.ok_json(*args)
        self.assertEqual(result["score"], "slowdown_mean")
        self.assertEqual({run["graph"] for run in result["runs"]}, {"stream"})
        for run in result["runs"]:
            self.assertGreaterEqual(run["slowdown_mean"], 1 - 1e-9)
            self.assertGreaterEqual(run["slowdown_p99"], run["slowdown_mean"])
            self.assertGreater(run["fairness"], 0)
            self.assertGreaterEqual(run["makespan_ns"], run["lower_bound_ns"] * (1 - 1e-9))
        self.assertIn("20 jobs of 3 tenants", self.ok(*args))

    def makespan(self, *options):
        runs = self.ok_json("simulate", "--machine", "cpu:2", "--graphs", "gen:cholesky:4", "--policy",
                            "heft", "--seeds", "1", "--check", *options)["runs"]
        return runs[0]["makespan_ns"]

    def test_losses_of_one_device_overlap(self):
        once = self.makespan("--fail", "cpu0@1ms-40ms")
        self.assertEqual(self.makespan("--fail", "cpu0@1ms-40ms", "--fail", "cpu0@2ms-3ms"), once)
        touching = ["--fail", "cpu0@10%-20%"], ["--fail", "cpu0@20%-60%"]
        whole = self.makespan("--fail", "cpu0@10%-60%")
        self.assertEqual(self.makespan(*touching[0], *touching[1]), whole)
        self.assertEqual(self.makespan(*touching[1], *touching[0]), whole)

    def test_more_hidden_load_takes_longer(self):
        last = 0
        for load in ["0", "0.2", "0.4", "0.6", "0.8"]:
            runs = self.ok_json("simulate", "--machine", "cpu:4 dram:5GB/s gpu:2@pcie1x1", "--graphs",
                                "gen:cholesky:10", "--policy", "dmdas", "--seeds", "6",
                                "--hidden-load", load)["runs"]
            total = sum(run["makespan_ns"] for run in runs)
            self.assertGreater(total, last * 1.1, load)
            last = total

    def test_idle_stretches_are_short_work(self):
        path = self.write("a.csv", "arrive_s,tenant,weight,graph\n0,0,1,cholesky:4\n"
                          "1000000,0,1,cholesky:4\n")
        self.ok("simulate", "--machine", "cpu:2 gpu:1", "--graphs", "gen:cholesky:4", "--arrivals",
                path, "--hidden-load", "0.3", "--seeds", "1", "--policy", "lb,lb-cont", "--belief",
                "filtered")

    def test_kinds_of_belief(self):
        """What is told matters to those who ask, and all kinds of it can be judged."""
        errors, makespans = {}, set()
        for kind in ["none", "raw", "filtered", "true"]:
            out = self.ok_json("simulate", "--machine", "2x(cpu:4 dram:20GB/s)", "--graphs",
                               "gen:layered:width=8,depth=12,seed=3", "--policy", "lb,lb-cont",
                               "--seeds", "3", "--hidden-load", "0.4", "--hidden-period", "30ms",
                               "--counter-noise", "0.4", "--counters", "2", "--belief", kind,
                               "--judge", "--check")
            self.assertEqual(out["options"]["belief"], kind)
            errors[kind] = out["summary"]["lb-cont"]["told"]["dram_error_points"]
            makespans.add(tuple(run["makespan_ns"] for run in out["runs"] if run["policy"] == "lb"))
        self.assertEqual(len(makespans), 1)
        self.assertEqual(errors["true"], 0)
        self.assertLess(errors["filtered"], errors["raw"])

    def test_failure_of_a_device_costs_time(self):
        args = ["simulate", "--machine", cli.MACHINE, "--graphs", "gen:cholesky:6", "--policy",
                "dmdas", "--seeds", "1", "--check"]
        whole = self.ok_json(*args)["runs"][0]["makespan_ns"]
        device = next(d["name"] for d in self.ok_json("machine", cli.MACHINE)["devices"]
                      if d["kind"] == "gpu")
        hurt = self.ok_json(*args, "--fail", device + "@0%", "--fail", "5@0s-1000s")
        self.assertGreater(hurt["runs"][0]["makespan_ns"], whole)

    def test_pictures(self):
        args = ["simulate", "--machine", cli.MACHINE, "--graphs", "gen:cholesky:4", "--seeds", "2"]
        done = self.run_symph(*args, "--policy", "heft", "--plot", "g.svg", "--trace", "t.json",
                              "--paje", "t.paje")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ["g.svg", "t.json", "t.paje"])
        self.assertIn("wrote g.svg", done.stderr)
        xml.dom.minidom.parseString(self.read("g.svg"))
        json.loads(self.read("t.json"))
        self.ok(*args, "--policy", "heft,dmdas", "--plot", "h.svg")
        self.assertIn("h.heft.svg", os.listdir(self.folder))
        self.assertIn("h.dmdas.svg", os.listdir(self.folder))

    def test_policies_are_listed(self):
        names = [p["name"] for p in self.ok_json("simulate", "--list-policies")["policies"]]
        self.assertIn("heft", names)
        self.assertEqual(len(names), len(set(names)))
        for name in names:
            self.assertIn(name, self.ok("simulate", "--list-policies"))


cli.main()
