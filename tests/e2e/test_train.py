# SPDX-License-Identifier: Apache-2.0
"""symph train: tiny budgets. Same bytes for any number of threads, also after Ctrl-C and resuming."""
import json
import math
import os
import signal
import subprocess
import time

import cli
import records

TINY = ["train", "--tasks", "20", "--pairs", "2", "--worlds", "2", "--validation", "4",
        "--every", "2"]


class Train(cli.Case):
    def read(self, name):
        with open(os.path.join(self.folder, name), "rb") as file:
            return file.read()

    def test_nothing_starts_unasked(self):
        text = self.fails(2, "train")
        for word in ["--minutes M", "--generations G", "learned.weights", "90 minutes"]:
            self.assertIn(word, text)
        self.assertIn("mine.weights", self.fails(2, "train", "--resume", "x", "-o", "mine.weights"))
        self.assertEqual(os.listdir(self.folder), [])

    def test_train_and_use(self):
        told = self.ok_json(*TINY, "--generations", "3", "--out", "a.weights", "--threads", "1",
                            "--plot", "a.svg")
        self.assertEqual(told["schema"], "symph-train-1")
        self.assertEqual(told["generations"], 3)
        self.assertEqual([p["generation"] for p in told["history"]], [0, 2, 3])
        first = told["history"][0]["validation"]
        self.assertAlmostEqual(first, 0, delta=0.1)  # weights of 0: the heuristic, but for ties
        self.assertLessEqual(math.log(told["validation_ratio"]), first + 1e-9)
        self.assertTrue(self.read("a.svg").startswith(b"<svg"))
        self.assertIn(b"\ncommand symph train --policy learned", self.read("a.weights"))
        for threads in ["2", "7"]:
            self.ok(*TINY, "--generations", "3", "--out", "b.weights", "--threads", threads)
            self.assertEqual(self.read("a.weights"), self.read("b.weights"))
            self.assertEqual(self.read("a.weights.checkpoint"), self.read("b.weights.checkpoint"))
        table = self.ok("simulate", "--machine", cli.MACHINE, "--graphs", "gen:lu:4", "--policy",
                        "learned@a.weights,dmdas", "--seeds", "2")
        self.assertIn("learned@a.weights", table)

    def test_expert_iteration(self):
        command = [*TINY, "--method", "expert", "--decisions", "3", "--generations", "3"]
        told = self.ok_json(*command, "--out", "a.weights", "--threads", "1")
        self.assertEqual([p["generation"] for p in told["history"]], [0, 2, 3])
        self.assertGreater(told["rollouts"], 3 * 2 + 3 * 4)  # own runs and validations
        self.ok(*command, "--out", "b.weights", "--threads", "3")
        self.assertEqual(self.read("a.weights"), self.read("b.weights"))
        self.ok(*command[:-1], "1", "--out", "c.weights")
        self.assertIn("other settings", self.fails(3, *TINY, "--method", "es", "--generations", "3",
                                                   "--resume", "c.weights.checkpoint"))

    def dag(self, name, *graphs):
        """Graphs of so many stages of two tasks each."""
        lines = []
        for number, stages in enumerate(graphs):
            lines.append(f"J {name}{number} {stages} {stages - 1}")
            lines += [f"T {i} stage{i % 3} {0.01 * (i + 1)} 2 0" for i in range(stages)]
            lines += [f"E {i} {i + 1} 1000000" for i in range(stages - 1)]
        self.write(name + ".dag", "\n".join(lines) + "\n")
        return name + ".dag"

    def test_traces(self):
        self.dag("a", 3, 4, 5, 6)
        self.write("jobs.csv", "arrive_s,tenant,weight,graph\n" +
                   "".join(f"{0.1 * i},{i % 2},1,a{i % 4}\n" for i in range(30)))
        command = [*TINY, "--traces", "a.dag", "--machine", "cpu:4", "--arrivals", "jobs.csv",
                   "--generations", "3", "--scenarios", "12"]
        told = self.ok_json(*command, "--out", "own.weights", "--threads", "1")
        held_out = told["held_out"]
        self.assertEqual((held_out["graphs"], held_out["graphs_held_out"], held_out["worlds"]),
                         (4, 2, 12))
        self.assertTrue(held_out["by_graph"])
        self.assertLessEqual(held_out["new_over_shipped"]["low"], held_out["new_over_shipped"]["high"])
        self.assertEqual(held_out["written"], held_out["verdict"] == "better")
        self.assertEqual(told["weights"],
                         "own.weights" if held_out["written"] else "own.weights.candidate")
        self.assertTrue(self.read(told["weights"]))
        self.assertEqual(os.path.exists(os.path.join(self.folder, "own.weights")),
                         held_out["written"])
        seconds = [p["seconds"] for p in told["history"]]
        self.assertEqual(seconds, sorted(seconds))
        again = self.ok_json(*command, "--out", "own.weights", "--threads", "3")
        self.assertEqual(again["held_out"], held_out)  # whatever the number of threads
        text = self.ok(*command, "--out", "own.weights")
        self.assertIn(held_out["sentence"], " ".join(text.split()))
        compared = self.ok_json("train", "--compare", told["weights"], "--traces", "a.dag",
                                "--machine", "cpu:4", "--arrivals", "jobs.csv", "--tasks", "20",
                                "--scenarios", "12")
        self.assertAlmostEqual(compared["policies"][0]["groups"][0]["ratio"],
                               held_out["new"]["ratio"])

    def test_better_weights_are_written(self):
        """The shipped weights know nothing of prices, so some that do are soon better."""
        self.dag("a", 3, 4, 5, 6, 7, 8)
        command = ["train", "--traces", "a.dag", "--machine", "cpu:4 gpu:1", "--accelerate", "2",
                   "--utility", "money", "--price", "gpu=50/h", "--singles", "0", "--tasks", "60",
                   "--pairs", "6", "--worlds", "4", "--validation", "20", "--every", "3", "--sigma", "0.4", "--rate",
                   "0.3", "--scenarios", "60"]
        self.write("own.weights", "old")
        told = self.ok_json(*command, "--generations", "12", "--out", "own.weights")
        held_out = told["held_out"]
        self.assertEqual((held_out["verdict"], held_out["written"]), ("better", True))
        self.assertLess(held_out["new_over_shipped"]["ratio"], 0.95)
        self.assertEqual(told["weights"], "own.weights")
        self.assertIn(b"\ncommand symph train", self.read("own.weights"))
        self.assertFalse(os.path.exists(os.path.join(self.folder, "own.weights.candidate")))
        # Without the time to find any, what was there stays.
        self.write("own.weights", "old")
        text = self.ok(*command, "--generations", "1", "--out", "own.weights", "--rate", "1e-9")
        self.assertIn("own.weights was not written; the new weights are in own.weights.candidate",
                      text)
        self.assertEqual(self.read("own.weights"), b"old")

    def test_traces_are_not_exchanged(self):
        """A checkpoint goes on with the same halves only."""
        command = [*TINY, "--machine", "cpu:4", "--generations", "1", "--scenarios", "2", "--out",
                   "own.weights", "--traces"]
        self.ok(*command, self.dag("a", 3, 4, 5, 6))
        self.assertIn("other settings", self.fails(3, *command, self.dag("b", 3, 4, 5, 7),
                                                   "--resume", "own.weights.checkpoint"))
        resumed = self.ok_json(*command, "a.dag", "--resume", "own.weights.checkpoint")
        self.assertIsNone(resumed["history"][0]["seconds"])

    def test_wrong_traces(self):
        run = records.write(self)
        small = records.write(self, "unran.json", lambda r: r["tasks"].__setitem__(
            3, [None, 0, None, None, None, None]))
        self.ok("machine", "cpu:3", "--json")
        other = records.write(self, "other.json", lambda r: r.update(machine=json.loads(self.ok(
            "machine", "cpu:2 gpu:2@link=1GB/s,latency=1us", "--json"))))
        one = self.dag("one", 3)
        self.write("single.dag", "J single 1 0\nT 0 stage 1 1 0\n")
        self.write("empty.json", "")
        self.write("broken.json", '{"schema": "symph-run-1", "makespan_ns": ')
        tiny = [*TINY, "--generations", "1", "--traces"]
        for code, words, args in [
                (3, ["nowhere.json"], ["nowhere.json"]),
                (3, ["empty.json", "empty"], ["empty.json"]),
                (3, ["broken.json:1:"], ["broken.json"]),
                (3, ["single.dag", "one task"], ["single.dag", "--machine", "cpu:2"]),
                (3, ["unran.json", "never ran"], [small]),
                (3, ["other.json", "another machine", "run.json", "--machine"], [run, other]),
                (3, ["run.json", "fpga"], [run, "--machine", "cpu:2 gpu:1 fpga:1"]),
                (3, ["one.dag", "no device"], [one, "--machine", "gpu:1"]),
                (2, ["--machine"], [one]),
                (2, ["--data"], [run, "--data", "x"]),
                (2, ["--arrivals"], [run, "--arrivals", "x"]),
                (2, ["--method es"], [run, "--policy", "black-box"])]:
            message = self.fails(code, *tiny, *args)
            for word in words:
                self.assertIn(word, message)
        self.assertIn("--traces", self.fails(2, *tiny[:-1], "--machine", "cpu:2"))
        self.ok(*tiny, run, other, "--machine", "cpu:2 gpu:4", "--scenarios", "2", "--out", "x.w")

    def test_money(self):
        for prices in ["gpu=1/h,cpu=0,fpga=0,asic=0", "cpu=1/h,gpu=0,fpga=0,asic=0"]:
            told = self.ok_json("train", "--compare", "eager", "--tasks", "20", "--scenarios", "6",
                                "--utility", "money", "--price", prices)
            every = {p["policy"]: p["groups"][0] for p in told["policies"]}
            self.assertNotEqual(every["eager"]["ratio"], 1)
        told = self.ok_json(*TINY, "--generations", "1", "--out", "a.weights", "--utility",
                            "slowdown=1,money=.5", "--price", "gpu=4/h", "--price", "cpu=1/h")
        self.assertIn("--price gpu=4/h --price cpu=1/h", told["settings"])

    def test_gradient_through_the_belief(self):
        command = ["train", "--policy", "symphony-paper", "--tasks", "20", "--validation", "2",
                   "--every", "2", "--generations", "4"]
        for kind in ["pathwise", "paper"]:
            told = self.ok_json(*command, "--gradient", kind, "--out", "a.weights")
            self.assertEqual(told["belief"]["gradient"], kind)
            self.assertGreater(told["belief"]["noise-dram"], 0)
            self.ok(*command, "--gradient", kind, "--out", "b.weights", "--threads", "2")
            self.assertEqual(self.read("a.weights"), self.read("b.weights"))
            self.assertIn(b"\nbelief-noise-dram ", self.read("a.weights"))
        self.assertNotIn("belief", self.ok_json(*command, "--out", "c.weights"))

    def test_papers_policies(self):
        for policy in ["symphony-paper", "black-box"]:
            command = ["train", "--policy", policy, "--tasks", "20", "--validation", "3", "--every",
                       "2", "--generations", "3", "--imitate", "lb-cont+wspt"]
            told = self.ok_json(*command, "--out", "a.weights", "--threads", "1")
            self.assertEqual(told["generations"], 3)
            self.assertGreater(told["decisions"], 20)
            self.assertLessEqual(told["validation_ratio"], told["untrained_ratio"])
            self.ok(*command, "--out", "b.weights", "--threads", "3")
            self.assertEqual(self.read("a.weights"), self.read("b.weights"))
            self.assertIn(policy, self.ok("simulate", "--machine", cli.MACHINE, "--graphs",
                                          "gen:lu:3", "--policy", policy + "@a.weights~lstm"))
        self.assertIn("imitated", self.fails(2, *command, "--imitate", "greedy-true"))
        self.assertIn("checkpoint", self.fails(2, *command, "--resume", "a.weights"))

    def test_compare(self):
        self.ok(*TINY, "--generations", "1", "--out", "a.weights")
        told = self.ok_json("train", "--compare", "a.weights,eager", "--tasks", "20",
                            "--scenarios", "6")
        self.assertEqual(told["schema"], "symph-train-compare-1")
        every = {p["policy"]: p["groups"][0] for p in told["policies"]}
        self.assertEqual(every["lb-cont+wspt"]["ratio"], 1)
        self.assertEqual(every["eager"]["count"], 6)
        self.assertIn("a.weights", every)
        text = self.ok("train", "--compare", "eager", "--tasks", "20", "--scenarios", "6",
                       "--families", "lu", "--singles", "1")
        self.assertRegex(text, r"family +lu +6")

    def test_interrupted_and_resumed(self):
        command = [*TINY, "--generations", "14", "--threads", "2"]
        self.ok(*command, "--out", "whole.weights")
        process = subprocess.Popen([cli.SYMPH, *command, "--out", "cut.weights"], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        checkpoint = os.path.join(self.folder, "cut.weights.checkpoint")
        while process.poll() is None and not os.path.exists(checkpoint):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        if process.returncode == 0:
            self.skipTest("it was done before it could be interrupted")
        self.assertEqual(process.returncode, 130, err)
        self.assertEqual(out, "")
        self.assertIn("--resume cut.weights.checkpoint", err)
        self.ok(*command, "--out", "cut.weights", "--resume", "cut.weights.checkpoint")
        self.assertEqual(self.read("whole.weights"), self.read("cut.weights"))

    def test_errors(self):
        tiny = [*TINY, "--generations", "1"]
        self.assertIn("did you mean 'lu'?", self.fails(3, *tiny, "--families", "luu"))
        self.assertIn("unfairness, money", self.fails(2, *tiny, "--utility", "coins"))
        self.assertIn("per hour", self.fails(2, *tiny, "--price", "tpu=1/h"))
        self.assertIn("a2c", self.fails(2, *tiny, "--gradient", "pathwise"))
        paper = ["train", "--tasks", "20", "--validation", "2", "--generations", "1", "--policy"]
        self.assertIn("not 'steep'", self.fails(2, *paper, "symphony-paper", "--gradient", "steep"))
        self.assertIn("no belief", self.fails(2, *paper, "black-box", "--gradient", "paper"))
        self.assertIn("no weights", self.fails(2, *tiny, "--policy", "dmdas"))
        self.assertIn("--method", self.fails(2, *tiny, "--method", "magic"))
        self.assertIn("--belief", self.fails(2, *tiny, "--belief", "strong"))
        self.assertIn("not '-'", self.fails(2, *tiny, "--out", "-"))
        self.assertIn("nowhere", self.fails(3, *tiny, "--data", "nowhere"))
        self.assertIn("missing.weights", self.fails(3, *tiny, "--init", "missing.weights"))
        self.ok(*tiny, "--generations", "1", "--out", "a.weights")
        message = self.fails(3, *tiny, "--seed", "2", "--generations", "1", "--out", "b.weights",
                             "--resume", "a.weights.checkpoint")
        self.assertIn("other settings", message)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "b.weights")))


cli.main()
