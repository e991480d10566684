# SPDX-License-Identifier: Apache-2.0
"""Preemption for real: a core puts its task aside at once, and goes on with it; what it costs and
what is learned and recorded of both; that every end is one. SYMPH_ROUNDS makes more of the storms.
Arguments: the engine, the folder of the test's plug-in, the plug-in that emulates."""
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

from engine import Engine

ENGINE, _, SYNTHETIC = sys.argv[1:]
ROUNDS = int(os.environ.get("SYMPH_ROUNDS", "1"))
GRAPHS = "\n".join(["J long 2 0", "T 0 stage 0.3 1 0", "T 1 stage 0.3 1 0",
                    "J short 2 1", "T 0 stage 0.01 1 0", "T 1 stage 0.01 1 0", "E 0 1 0",
                    "J bits 20 0"] + [f"T {i} bit 0.00002 1 0" for i in range(20)] + [
                    "J middle 4 0"] + [f"T {i} middle 0.05 1 0" for i in range(4)] + [
                    "J tiny 1 0", "T 0 stage 0.0002 1 0",
                    "J wide 6 0"] + [f"T {i} stage 0.004 1 0" for i in range(6)] + [""])


class Preempt(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="symph-test-")
        self.addCleanup(self.folder.cleanup)
        self.record = os.path.join(self.folder.name, "run.json")
        self.graphs = self.write("jobs.dag", GRAPHS)

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def engine(self, arrivals, *more, policy="lb+wspt", cpus=1, program=None, models=""):
        stream = self.write("arrivals.csv", "\n".join(
            ["arrive_s,tenant,weight,graph", *arrivals, ""]))
        arguments = ["spec=jobs", f"graphs={self.graphs}", f"policy={policy}",
                     f"kernels={SYNTHETIC}", f"record={self.record}", f"models={models}",
                     "emulate=1", f"cpus={cpus}", "opencl=0", f"arrivals={stream}", "preempt=1",
                     *more]
        return Engine(*(program or []), ENGINE, *arguments)

    def run_ok(self, *args, **named):
        engine = self.engine(*args, **named)
        self.assertEqual(engine.run(), 0, engine.message())
        self.assertEqual((engine.phase(), engine.page.done_count),
                         ("done", engine.page.task_count))
        with open(self.record, encoding="utf-8") as file:
            return json.load(file)

    def check(self, record, cpus):
        """Each task has run on a core; parts of one, and those of others there, are apart."""
        self.assertEqual([device["name"] for device in record["machine"]["devices"]],
                         [f"cpu{i}" for i in range(cpus)])
        self.assertTrue(all(row[0] in range(cpus) for row in record["tasks"]))
        spans = [span for span in record["trace"] if span[0] in ("task", "part")]
        self.assertEqual(sorted(span[1] for span in spans if span[0] == "task"),
                         list(range(len(record["tasks"]))))
        for core in range(cpus):
            here = sorted((span[3], span[4]) for span in spans if span[2] == core)
            for (_, end), (start, _) in zip(here, here[1:]):
                self.assertLessEqual(end, start)
        for kind, task, core, start, end in spans:
            row = record["tasks"][task]
            self.assertEqual(core, row[0])
            self.assertTrue(row[3] <= start <= end <= row[4], (kind, task))

    def asides(self, record):
        return {span[1] for span in record["trace"] if span[0] == "part"}

    def took(self, record, task):
        return sum(span[4] - span[3] for span in record["trace"]
                   if span[0] in ("part", "task") and span[1] == task)

    def test_it_stands_aside(self):
        """The long ones that run wait for the short one, which nothing else delays."""
        for policy in ["lb+wspt", "symphony"]:
            record = self.run_ok(["0,0,1,long", "0.1,1,1,short"], policy=policy)
            self.check(record, 1)
            first, second = record["tasks"][2:4]
            self.assertEqual(len(self.asides(record)), 1)
            aside = record["tasks"][min(self.asides(record))]
            self.assertLess(aside[3], first[3])
            self.assertGreater(aside[4], second[4] + 50e6)  # it has its time, afterwards
            self.assertLess(second[4], record["jobs"][0][6] - 250e6)

    def test_tasks_shorter_than_a_decision(self):
        """They do not pass a policy by that may push something aside for them."""
        ends = []
        while len(ends) < 4 and not (ends and ends[-1] < 200e6):  # other load makes the long one late
            record = self.run_ok(["0,0,1,long", "0.1,1,1,bits"], policy="symphony")
            self.check(record, 1)
            self.assertLessEqual(len(self.asides(record)), 1)
            ends.append(record["jobs"][1][6])
        self.assertLess(ends[-1], 200e6)

    def test_none_does_without(self):
        record = self.run_ok(["0,0,1,long", "0.1,1,1,short"], "preempt=0")
        self.assertEqual(self.asides(record), set())
        self.assertGreater(record["jobs"][1][6], 300e6)
        record = self.run_ok(["0,0,1,long", "0.1,1,1,short"], policy="lb+fifo")
        self.assertEqual(self.asides(record), set())

    def test_what_it_took_is_learned(self):
        """What stood aside for as long as it runs is not taken for twice as long."""
        models = os.path.join(self.folder.name, "models")
        os.mkdir(models)
        shorts = [f"{0.01 + i * 0.04:.3f},1,1,short" for i in range(30)]
        for _ in range(5):  # until enough of them met
            record = self.run_ok(["0,0,1,middle"] + shorts, models=models)
            self.check(record, 1)
            took = statistics.median(self.took(record, task) for task in range(4))
            stayed = statistics.median(row[4] - row[3] for row in record["tasks"][:4])
            if stayed > 1.3 * took:
                break
        learned = record["model_ns"][0][0]
        self.assertGreater(stayed, 1.3 * took)
        self.assertLess(learned, (took + stayed) / 2)
        self.assertGreater(learned, 0.7 * took)

    def test_the_kernel_takes_it_if_it_may_not(self):
        """Without the right to real time: by being less nice, with the same record."""
        program = shutil.which("setpriv")
        if not program or os.geteuid() != 0:
            self.skipTest("needs setpriv, and to be root")
        record = self.run_ok(["0,0,1,long", "0.1,1,1,short", "0.15,2,1,short"],
                             program=[program, "--bounding-set=-sys_nice"])
        self.check(record, 1)
        self.assertLess(record["jobs"][1][6], record["jobs"][0][6] - 250e6)

    def storm(self, seed, cpus, policy):
        random.seed(seed)
        at, lines = 0.0, []
        for i in range(60):
            graph = random.choices(["long", "short", "tiny", "wide"], [1, 5, 30, 12])[0]
            lines.append(f"{at:.6f},{i % 3},{random.choice([1, 1, 5])},{graph}")
            at += random.expovariate(1 / 0.012)
        return self.run_ok(lines, "time-scale=0.5", policy=policy, cpus=cpus)

    def test_storms(self):
        """Whatever comes when: all of it runs, and StarPU shuts down."""
        for turn in range(ROUNDS):
            for policy, cpus in [("lb+wspt", 2), ("symphony", 2), ("lb+srpt", 1)]:
                with self.subTest(turn=turn, policy=policy, cpus=cpus):
                    self.check(self.storm(turn, cpus, policy), cpus)

    def test_limit_leaves_asides_out(self):
        """A task of 150 ms that stands aside for 200 has not taken 350."""
        lines = ["0,0,1,long"] + [f"{0.02 + i * 0.001},1,1,short" for i in range(20)]
        self.run_ok(lines, "limit=1.2", "time-scale=0.5")

    def test_ends_at_any_time(self):
        """However it is ended, nothing is left that runs."""
        for number, after_s in [(signal.SIGTERM, 0.05), (signal.SIGKILL, 0.15),
                                (signal.SIGTERM, 0.25)]:
            engine = self.engine(["0,0,1,long"] + [f"{i * 0.01},1,1,short" for i in range(30)],
                                 cpus=2)
            self.assertEqual(engine.wait_phase("ready", "failed"), "ready", engine.message())
            engine.go()
            time.sleep(after_s)
            group = subprocess.run(["ps", "--ppid", str(engine.child.pid), "-o", "pid="],
                                   capture_output=True, text=True, check=False).stdout.split()
            engine.child.send_signal(number)
            engine.end()
            end = time.monotonic() + 10
            while any(os.path.exists(f"/proc/{pid}") for pid in group):
                self.assertLess(time.monotonic(), end, "a process is left")
                time.sleep(0.01)

    def test_idle_is_idle(self):
        """While nothing comes, urgent workers take no CPU time."""
        engine = self.engine(["0,0,1,tiny", "0.8,0,1,tiny"], cpus=1)
        self.assertEqual(engine.wait_phase("ready", "failed"), "ready", engine.message())
        engine.go()
        engine.wait_phase("running", "failed")
        time.sleep(0.3)
        real_time = []
        for pid in subprocess.run(["ps", "--ppid", str(engine.child.pid), "-o", "pid="],
                                  capture_output=True, text=True, check=True).stdout.split():
            for tid in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{tid}/stat", encoding="ascii") as file:
                    words = file.read().rpartition(") ")[2].split()
                if words[38] == "1" and words[37] == "1":  # SCHED_FIFO, as urgent workers have
                    real_time.append((words[0], (int(words[11]) + int(words[12]))))
        self.assertEqual(engine.end(), 0)
        allowed = shutil.which("chrt") and subprocess.run(["chrt", "-f", "1", "true"],
                                                          check=False).returncode == 0
        self.assertEqual(len(real_time), 1 if allowed else 0)
        self.assertTrue(all(state == "S" and ticks <= 5 for state, ticks in real_time), real_time)

    def test_mistakes(self):
        engine = self.engine(["0,0,1,long"], policy="starpu:dmdas")
        self.assertNotEqual(engine.run(), 0)
        self.assertIn("cannot preempt", engine.message())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
