# SPDX-License-Identifier: Apache-2.0
"""Benches and recorded streams as a person runs them."""
import json
import math
import os
import subprocess
import sys

import cli

ARRIVALS = "arrive_s,tenant,weight,graph\n"
STREAM = ["simulate", "--machine", cli.MACHINE, "--graphs", "gen:cholesky:4", "gen:lu:3", "--policy",
          "dmdas,lb+fair", "--seeds", "2", "--arrivals"]


class Bench(cli.Case):
    def test_names(self):
        self.assertIn("classic", self.fails(2, "bench"))
        self.assertIn("'classic'", self.fails(2, "bench", "clasic"))

    def test_decisions(self):
        table = self.ok_json("bench", "decisions", "--seeds", "1", "--quiet")["tables"][0]
        self.assertGreater(len(table["rows"]), 5)
        for row in table["rows"]:
            self.assertGreater(row["p50"]["value"], 0, row)
            self.assertGreaterEqual(row["p99"]["value"], row["p50"]["value"], row)

    def test_decision_time(self):
        """Policies are charged what they take, and the table says so; with 0 it is free."""
        command = ["bench", "applications", "--seeds", "1", "--quiet"]
        self.assertIn("to plan and decide is charged", self.ok(*command))
        self.assertEqual(self.ok_json(*command)["decision_time"], "measured")
        free = [*command, "--decision-time", "0"]
        self.assertEqual(self.ok(*free), self.ok(*free))
        self.assertNotIn("charged", self.ok(*free))
        self.assertIn("--decision-time", self.fails(2, *command, "--decision-time", "5"))

    def test_applications(self):
        table = self.ok_json("bench", "applications", "--seeds", "1", "--quiet")["tables"][0]
        self.assertEqual({len(row) for row in table["rows"]}, {6})
        for row in table["rows"]:
            self.assertGreaterEqual(row["EEG-Graph"]["value"], 0.5, row)
        self.assertIn("shaped like AttackTagger", self.ok("graph", "--list-generators"))

    def test_without_data(self):
        done = self.run_symph("bench", "ablation", env={"SYMPH_DATA": ""})
        self.assertIn("needs --data", done.stdout + done.stderr)

    def test_write(self):
        self.ok("bench", "decisions", "--seeds", "1", "--quiet", "--out", "out")  # makes it
        self.assertIn(b"symph-bench decisions", self.read("out/decisions.md"))
        self.assertEqual(json.loads(self.read("out/decisions.json"))["schema"], "symph-bench-1")
        self.fails(1, "bench", "decisions", "--seeds", "1", "--quiet", "--out", "no/where")


class Policy(cli.Case):
    def test_single(self):
        tables = self.ok_json("bench", "policy", "--suite", "S", "--only", "generated*", "--policy",
                              "lb,heft", "--rollouts", "0", "--quiet")["tables"]
        goals, suite, instances = tables
        self.assertEqual([table["title"] for table in tables],
                         ["goals", "generated graphs", "instances"])
        self.assertEqual({row["policy"] for row in goals["rows"]}, {"lb", "heft"})
        for row in goals["rows"]:
            hit = row["measured"]["value"] <= row["asked_for"]
            self.assertEqual(row["verdict"], "hit" if hit else "miss", row)
        means = {row["policy"]: row for row in suite["rows"]}
        self.assertEqual(means["heft"]["over_heft"]["value"], 1)
        self.assertEqual(len(instances["rows"]), 12)
        for row in instances["rows"]:
            self.assertGreaterEqual(row["heft"], 1, row)  # it is one of the five

    def test_contention(self):
        command = ["bench", "policy", "--suite", "C", "--only", "single graphs", "--seeds", "1",
                   "--rollouts", "1", "--quiet", "--decision-time", "0"]
        text = self.ok(*command, "--policy", "lb-cont+wspt,nobody")
        self.assertEqual(text, self.ok(*command, "--policy", "lb-cont+wspt,nobody", "--threads",
                                       "1"))
        for words in ["(left out: nobody: there is no policy 'nobody')", "(best heuristic)",
                      "mean job slowdown / clairvoyant rollouts", "greedy-true-rollout+wspt:1"]:
            self.assertIn(words, text)
        self.assertIn("none of the policies", self.fails(3, *command, "--policy", "nobody"))

    def test_shared_gpus_and_stragglers(self):
        """Suites whose files are there run, others are left out aloud."""
        os.makedirs(os.path.join(self.folder, "data/interference"))
        self.write("data/interference/gpu-pairs-k80.csv",
                   "job_a,job_b,a_colocated_ratio,b_colocated_ratio\nA,A,0.5,0.5\nA,B,0.9,0.8\n"
                   "B,B,0.3,0.3\nB,C,0.7,0.4\n")
        command = ["bench", "policy", "--suite", "C", "--seeds", "1", "--rollouts", "0", "--decision-time",
                   "0", "--policy", "lb-cont+wspt", "--data", "data", "--only"]
        done = self.run_symph(*command, "GPUs shared*0.6")
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ["(left out: GPUs shared in pairs, P100, load 0.6: needs interference/gpu-pairs-p100.csv)",
                      "GPUs shared in pairs, K80, load 0.6: 1 seed;", "paragon+srpt", "lb+fair"]:
            self.assertIn(words, done.stdout)
        tables = self.ok_json(*command, "GPUs shared*0.6", "--quiet")["tables"]
        goals = {row["goal"]: row for row in tables[0]["rows"]}
        self.assertNotEqual(goals["GPUs shared in pairs / best heuristic"]["verdict"], "not measured")
        self.assertEqual(goals["worst suite / lb-cont+wspt, with its interval"]["verdict"], "hit")
        slow = {}
        for suite in ("mixed, load 0.5", "mixed, stragglers, load 0.5", "mixed, others on devices*"):
            tables = self.ok_json(*command, suite, "--quiet")["tables"]
            means = {row["policy"]: row["slowdown_mean"]["value"] for row in tables[-1]["rows"]}
            slow[suite[:9]] = means["lb-cont+wspt"]
            goals = {row["goal"]: row["verdict"] for row in tables[0]["rows"]}
            self.assertEqual(goals["tasks within 0 % of alone, load 0.7"], "not measured")
        self.assertEqual(min(slow, key=slow.get), "mixed, lo")

    def test_pages(self):
        os.mkdir(os.path.join(self.folder, "out"))
        self.ok("bench", "policy", "--suite", "S", "--only", "nothing", "--quiet", "--out", "out",
                "--policy", "lb")
        self.assertIn(b"policy-static.md", self.read("out/policy.md"))
        self.assertEqual(json.loads(self.read("out/policy-static.json"))["bench"], "policy")

    def test_mistakes(self):
        self.assertIn("--suite", self.fails(2, "bench", "policy", "--suite", "S,Q"))
        self.assertIn("--zero-shot", self.fails(2, "bench", "policy", "--suite", "zero-shot", "--quiet",
                                                "--policy", "lb", "--zero-shot", "size=lb"))


class Recorded(cli.Case):
    JOBS = "".join("J job%u 3 2\nT 0 read %g 4 0\nT 1 sync 0 1 0\nT 2 work %g 9 0\nE 0 1 0\nE 1 2 1e6\n"
                   % (i, 0.01 * 4 ** i, 0.1 * 4 ** i) for i in range(4))

    def record(self, *names):
        os.makedirs(os.path.join(self.folder, "data/graphs"), exist_ok=True)
        for name in names:
            self.write("data/graphs/" + name, self.JOBS)

    def test_table(self):
        self.record("b.dag", "a.dag", "not-me.txt")
        command = ["bench", "recorded", "--data", "data", "--seeds", "2", "--quiet", "--decision-time", "0"]
        rows = self.ok_json(*command)["tables"]
        self.assertEqual([(row["recording"], row["load"], row["over"]) for row in rows],
                         [(name, load, "dmdas+srpt") for name in "ab" for load in (0.4, 0.7, 0.95)]
                         + [("all", None, "dmdas+srpt"), ("all", None, "lb-cont+wspt")])
        for row in rows:
            base = row[row["over"]]
            self.assertEqual(base["ratio"], 1)
            for policy in ("lb+fair", "lb+wspt", "lb-cont+wspt", "lb+wspt --preempt", "symphony",
                           "symphony --preempt"):
                for mine, first in [(row[policy], base)] + [(row[policy][figure], base[figure])
                                                            for figure in ("p99", "longest_fifth")]:
                    self.assertAlmostEqual(mine["ratio"], mine["slowdown"] / first["slowdown"])
                    self.assertTrue(mine["low"] <= mine["ratio"] <= mine["high"])
        mean = math.prod(row["symphony"]["ratio"] for row in rows[:6]) ** (1 / 6)
        self.assertAlmostEqual(rows[6]["symphony"]["ratio"], mean)
        text = self.ok(*command)
        for words in ["All recordings and loads, ratios to dmdas+srpt", "ratios to lb-cont+wspt",
                      "Each recording and load", "largest mean ratio"]:
            self.assertIn(words, text)
        # A cell is what symph simulate says of the same stream.
        run = self.ok_json("simulate", "--quiet", "--machine", "2x(cpu:8 dram:60GB/s) gpu:2@pcie3x16",
                           "--graphs", "data/graphs/a.dag", "--accelerate", "7", "--max-instances", "8",
                           "--tenants", "4", "--jobs", "60", "--noise", "0.2", "--load", "0.7", "--seeds",
                           "2", "--policy", "symphony")
        self.assertAlmostEqual(run["summary"]["symphony"]["job_slowdown"]["geomean"],
                               rows[1]["symphony"]["slowdown"])
        longest = math.prod(each["slowdown_long"] for each in run["runs"]) ** 0.5
        self.assertAlmostEqual(longest, rows[1]["symphony"]["longest_fifth"]["slowdown"])

    def test_choice(self):
        """Jobs of one or two stages, and jobs far longer or shorter than the middle one, are not
        taken."""
        self.record("a.dag")
        command = ["bench", "recorded", "--data", "data", "--seeds", "1", "--quiet", "--decision-time", "0",
                   "--policy", "dmdas+srpt,lb+wspt"]
        rows = self.ok_json(*command)["tables"]
        self.assertEqual(len(rows), 4)
        self.assertIn("lb+wspt --preempt", rows[0])
        self.assertNotIn("dmdas+srpt --preempt", rows[0])
        self.write("data/graphs/a.dag", self.JOBS + "J tiny 1 0\nT 0 work 1e-9 1 0\n"
                   "J huge 3 0\nT 0 work 1e9 9 0\nT 1 work 1 1 0\nT 2 work 1 1 0\n")
        self.assertEqual(self.ok_json(*command)["tables"], rows)
        self.write("data/graphs/a.dag", self.JOBS + "J bad 1 0\nT 0 work much 1 0\n")
        self.assertIn("a.dag:", self.fails(3, *command))

    VERSIONS = os.path.join(cli.ROOT, "bench", "versions.py")

    def versions(self, there, *options):
        done = subprocess.run([sys.executable, self.VERSIONS, cli.SYMPH, there, "--data", "data",
                               "--recordings", "a,b", "--seeds", "2", "--loads", "0.7", "--jobs", "20",
                               *options], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_versions(self):
        self.record("a.dag", "b.dag")
        text = self.versions(cli.SYMPH, "-o", "out.json")
        ratios = json.loads(self.read("out.json"))["ratios"]
        for figure in ("a", "b", "mean", "p99", "longest fifth"):
            self.assertEqual(ratios["lb+wspt"][figure], {"value": 1, "low": 1, "high": 1})
            mine = ratios["symphony --preempt"][figure]
            self.assertTrue(mine["low"] <= mine["value"] <= mine["high"])
        self.assertEqual(text.count("asked for"), 6)
        self.write("old", "#!/bin/sh\n%s \"$@\" | sed 's/\"slowdown_long\": [^,]*, //'\n" % cli.SYMPH)
        os.chmod(os.path.join(self.folder, "old"), 0o755)
        text = self.versions("./old", "--preempting", "")
        self.assertIn("left out: longest fifth", text)
        self.assertNotIn("--preempt", text)
        self.assertIn("| lb+wspt | 1.000 | 1.000 | 1.000 [1.000, 1.000] | 1.000", text)

    def test_mistakes(self):
        done = self.run_symph("bench", "recorded", env={"SYMPH_DATA": ""})
        self.assertIn("needs --data", done.stdout + done.stderr)
        self.record()
        command = ["bench", "recorded", "--data", "data", "--quiet"]
        self.assertIn("graphs", self.fails(3, *command))
        self.record("a.dag")
        self.assertIn("--policies", self.fails(2, *command, "--policies", "lb"))
        self.fails(2, *command, "--policies", "lb,no-such")

    def test_recordings(self):
        """What docs/bench/recorded.md claims, where the recordings are."""
        data, names = os.environ.get("SYMPH_DATA", ""), ("alibaba", "tpch", "workflows")
        if not all(os.path.exists(os.path.join(data, "graphs", name + ".dag")) for name in names):
            self.skipTest("SYMPH_DATA names no folder with graphs/{alibaba,tpch,workflows}.dag")
        rows = self.ok_json("bench", "recorded", "--data", data, "--seeds", "8", "--quiet")["tables"]
        ratios = [row["symphony"]["ratio"] for row in rows if row["recording"] in names]
        self.assertEqual(len(ratios), 9)
        self.assertLessEqual(max(ratios), 0.85)
        self.assertLessEqual(math.prod(ratios) ** (1 / 9), 0.47)
        self.assertEqual(rows[-1]["over"], "lb-cont+wspt")
        self.assertLessEqual(rows[-1]["symphony"]["ratio"], 1.03)
        self.assertLessEqual(rows[-1]["symphony --preempt"]["ratio"], 0.9)


class Adversarial(cli.Case):
    CLASSES = ["cores", "one GPU", "GPUs", "FPGA", "GPU, FPGA"]

    def test_small_search(self):
        """Every kind on every class of machines; what was found can be simulated by anybody."""
        command = ["bench", "adversarial", "--mutations", "4", "--quiet", "--decision-time", "0"]
        rows = self.ok_json(*command, "--worst", ".")["tables"]
        self.assertEqual(list(dict.fromkeys(row["class"] for row in rows)), self.CLASSES)
        kinds = list(dict.fromkeys(row["kind"] for row in rows))
        self.assertEqual(len(rows), len(kinds) * len(self.CLASSES))
        for row in rows:
            self.assertGreaterEqual(row["worst_ratio"], row["drawn_mean_ratio"] - 1e-9)
            self.assertEqual("lost" in row, row["kind"].startswith("device lost"))
        for number, row in enumerate(rows):
            if row["kind"] not in ("20 us to 1 s", "huge data"):
                continue
            self.assertLess(row["worst_ratio"], 1.3)
            name = f"adversarial-{number // len(kinds)}-{kinds.index(row['kind'])}.json"
            runs = self.ok_json("simulate", "--quiet", "--machine", row["machine"], "--seeds", "1",
                                "--policy", f"{row['policy']},{row['best']}", "--graphs",
                                name)["runs"]
            for run, saved in zip(runs, ("policy_ns", "best_ns")):
                self.assertAlmostEqual(run["makespan_ns"], row[saved], delta=1e-6 * row[saved])
        self.assertEqual(rows, self.ok_json(*command)["tables"])
        worse = self.ok_json(*command, "--policy", "rr")["tables"]
        self.assertGreater(max(row["worst_ratio"] for row in worse), 1.3)


class Counters(cli.Case):
    """On a folder of made-up traces: three programs, a sum of two others, one that always counts."""
    EVENTS = ["cycles", "loads", "stores", "memory"]

    def rows(self, program):
        for t in range(120):
            loads = 900 + 500 * ((t * (7 + program)) % 13) // 13
            stores = 300 + 200 * (((t // 9) * (3 + program)) % 5) // 5
            yield [1000 + 10 * (t % 3), 2000 + loads, loads, stores, loads + stores]

    def folder_of_traces(self):
        programs = [("one", "development"), ("two", "development"), ("three", "held-out")]
        for i, (name, _) in enumerate(programs):
            lines = [",".join(["blocks"] + self.EVENTS)] + [",".join(map(str, row))
                                                            for row in self.rows(i)]
            self.write(name + ".csv", "\n".join(lines) + "\n")
        self.write("traces.json", json.dumps({
            "schema": "symph-traces-1", "source": "made up", "length": "blocks",
            "events": self.EVENTS, "fixed": ["cycles"],
            "relations": [{"out": "memory", "terms": {"loads": 1, "stores": 1}}],
            "programs": [{"name": name, "split": split, "file": name + ".csv"}
                         for name, split in programs]}))
        return ["bench", "counters", "--traces", ".", "--seeds", "2", "--counters", "1,2"]

    def test_tables(self):
        command = self.folder_of_traces()
        text = self.ok(*command)
        for words in ["2 development programs, 1 counters", "1 held-out programs, 2 counters",
                      "time-scaling", "ours, unseen", "seeds 1 to 2", "made up"]:
            self.assertIn(words, text)
        self.assertEqual(text, self.ok(*command))  # same seeds, same bytes

    def test_json(self):
        rows = self.ok_json(*self.folder_of_traces(), "--split", "held-out")["tables"][0]["rows"]
        self.assertEqual({row["split"] for row in rows}, {"held-out"})
        self.assertEqual({row["counters"] for row in rows}, {1, 2})
        for row in rows:
            self.assertGreaterEqual(row["wape"], 0, row)
        more = {row["method"]: row["wape"] for row in rows
                if row["counters"] == 2 and row["section"] == "main" and "program" not in row}
        self.assertEqual(len(more), 5)

    def test_plot_and_ablations(self):
        command = self.folder_of_traces()
        text = self.ok(*command, "--plot", "out.svg", "--ablations", "--seeds", "1")
        self.assertIn("no relations", text)
        self.assertIn("40 % read noise", text)
        for name in ["out.errors.svg", "out.example.svg"]:
            self.assertIn(b"</svg>", self.read(name))

    def test_papers(self):
        tables = self.ok_json("bench", "counters", "--papers", "--seeds", "1", "--plot",
                              "p.svg")["tables"]
        self.assertEqual([row["events"] for row in tables[0]["rows"]], [10, 15, 20, 25, 30, 35])
        self.assertEqual(tables[0]["rows"][5]["published_bayesperf"], 0.2)
        self.assertIn(b"synthetic", self.read("p.papers.svg"))

    def test_mistakes(self):
        command = self.folder_of_traces()
        self.assertIn("callgrind_traces.py", self.fails(3, "bench", "counters", "--traces", "gone"))
        self.assertIn("--counters", self.fails(2, *command[:4], "--counters", "4,x"))
        self.assertIn("--split", self.fails(2, *command[:4], "--split", "all"))
        self.write("one.csv", "blocks,cycles,loads,stores,memory\n1,2,3,4,-5\n")
        self.assertIn("one.csv:2:9", self.fails(3, *command))
        self.write("one.csv", "blocks,cycles\n")
        self.assertIn("one.csv:1", self.fails(3, *command))
        self.write("traces.json", '{"schema": "symph-traces-1",\n "events": ["a"], "fixed": ["b"]}')
        self.assertIn("traces.json:2:", self.fails(3, *command))

    def test_without_traces(self):
        self.assertIn("needs --traces", self.ok("bench", "counters", "--quiet"))


class Arrivals(cli.Case):
    def test_stream(self):
        path = self.write("a.csv", ARRIVALS + "0.5,1,2,lu:3\n0,0,1,cholesky:4\n")
        runs = self.ok_json(*STREAM, path, "--check")
        self.assertEqual(runs["options"]["stream"]["jobs"], 2)
        for run in runs["runs"]:
            self.assertGreater(run["makespan_ns"], 0.5e9)

    def test_mistakes(self):
        for line, place, words in [("0,0,1,qr:9\n", ":2:7:", "qr:9"),
                                   ("x,0,1,lu:3\n", ":2:1:", "arrive_s"),
                                   ("-1,0,1,lu:3\n", ":2:1:", "arrive_s"),
                                   ("0,0,0,lu:3\n", ":2:5:", "weight"),
                                   ("0,0,1\n", ":2:", "graph"), ("", "a.csv", "no job")]:
            message = self.fails(3, *STREAM, self.write("a.csv", ARRIVALS + line))
            self.assertIn(place, message)
            self.assertIn(words, message)


cli.main()
