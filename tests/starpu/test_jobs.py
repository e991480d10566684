# SPDX-License-Identifier: Apache-2.0
"""Streams of jobs in one engine: each arrives when it should and is a job to the policy.
Arguments: the engine, the folder of the test's plug-in, the plug-in that emulates."""
import json
import os
import sys
import tempfile
import unittest

from engine import Engine

ENGINE, _, SYNTHETIC = sys.argv[1:]
OURS = ["symphony", "lb+wspt", "eager"]

# long: 40 tasks of 10 ms that wait for one; short: two of 2 ms, one after the other.
GRAPHS = "\n".join(["J long 41 40", "T 0 stage 0.01 1 0"] +
                   [f"T {i} stage 0.01 1 0" for i in range(1, 41)] +
                   [f"E 0 {i} 0" for i in range(1, 41)] +
                   ["J short 2 1", "T 0 stage 0.002 1 0", "T 1 stage 0.002 1 0", "E 0 1 0", ""])


class Jobs(unittest.TestCase):
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

    def engine(self, *more, policy="lb+wspt", cpus=1, graphs=None):
        return Engine(ENGINE, "spec=jobs", f"graphs={graphs or self.graphs}", f"policy={policy}",
                      f"kernels={SYNTHETIC}", f"record={self.record}", "models=", "emulate=1",
                      f"cpus={cpus}", "opencl=0", *more)

    def arrivals(self, *lines):
        return "arrivals=" + self.write("arrivals.csv", "\n".join(
            ["arrive_s,tenant,weight,graph", *lines, ""]))

    def run_ok(self, engine):
        self.assertEqual(engine.run(), 0, engine.message())
        with open(self.record, encoding="utf-8") as file:
            return json.load(file)

    def check(self, record, graphs):
        """All ran, in time, in order; what the jobs say is what the tasks did."""
        jobs, tasks = record["jobs"], record["tasks"]
        self.assertEqual([job[0] for job in jobs], graphs)
        self.assertEqual(sum(job[3] for job in jobs), len(tasks))
        for _, _, first, count, _, arrive, end, alone in jobs:
            rows = tasks[first:first + count]
            self.assertTrue(all(row[0] is not None for row in rows))
            self.assertGreaterEqual(min(row[1] for row in rows), arrive - 1e3)
            self.assertEqual(max(row[4] for row in rows), end)
            self.assertGreaterEqual(end - arrive, alone)
        ids = {task.get("name", i): i for i, task in enumerate(record["graph"]["tasks"])}
        self.assertEqual(len(ids), len(tasks))

    def test_recorded(self):
        stream = self.arrivals("0,0,1,long", "0.05,1,2.5,short", "0.06,2,1,short")
        for policy in OURS + ["starpu:dmdas", "starpu:eager"]:
            with self.subTest(policy=policy):
                record = self.run_ok(self.engine(stream, policy=policy, cpus=2))
                self.check(record, ["long", "short", "short"])
                jobs = record["jobs"]
                self.assertEqual([job[5] for job in jobs], [0, 50e6, 60e6])
                self.assertEqual([(job[1], job[4]) for job in jobs], [(0, 1), (1, 2.5), (2, 1)])
                self.assertEqual([job[7] for job in jobs], [410e6 / 2, 4e6, 4e6])

    def test_each_is_a_job(self):
        """A short one passes a long one by where the order is by length, and not where the first
        comes first: nor under StarPU's policies, which get that by priorities."""
        stream = self.arrivals("0,0,1,long", "0.05,1,1,short")
        for policy in ["lb+wspt", "symphony", "lb+srpt"]:
            jobs = self.run_ok(self.engine(stream, policy=policy))["jobs"]
            self.assertLess(jobs[1][6], jobs[0][6] - 100e6, policy)
        for policy in ["lb+fifo", "starpu:dmdas"]:
            record = self.run_ok(self.engine(stream, policy=policy))
            begun = [row[3] for row in record["tasks"][41:]]
            left = [row[3] for row in record["tasks"][:41] if row[3] > begun[0]]
            self.assertLessEqual(len(left), 1, policy)  # one may be in the worker's hands already

    def test_weight(self):
        """Of two alike that wait behind the third, the heavier goes first."""
        stream = self.arrivals("0,0,1,long", "0.001,1,1,long", "0.002,2,50,long")
        jobs = self.run_ok(self.engine(stream, policy="lb+wspt"))["jobs"]
        self.assertLess(jobs[2][6], jobs[1][6] - 100e6)

    def test_drawn(self):
        """Twice the same; the work offered is what was asked for."""
        args = ["tenants=3", "jobs=12", "load=0.5", "seed=4", "only=s*", "time-scale=0.5"]
        first = self.run_ok(self.engine(*args))
        self.check(first, ["short"] * 12)
        again = self.run_ok(self.engine(*args))
        self.assertEqual([job[5] for job in first["jobs"]], [job[5] for job in again["jobs"]])
        self.assertEqual([job[1] for job in first["jobs"]], [0, 1, 2] * 4)
        self.assertEqual({job[7] for job in first["jobs"]}, {2e6})
        gap = first["jobs"][-1][5] / 11
        self.assertTrue(1e6 < gap < 16e6, gap)  # 4 ms on the average

    def test_generated_and_explicit(self):
        """Graphs whose dependencies are data's, and some that state them; times by the scale."""
        chain = self.write("chain.json", json.dumps({
            "schema": "symph-graph-1", "name": "chain", "dependencies": "explicit",
            "kernels": [{"name": "step", "variants": {"cpu": {"fixed_ns": 1e6}}}],
            "tasks": [{"name": "b", "kernel": "step", "after": ["a"]},
                      {"name": "a", "kernel": "step"}]}))
        for graphs in [f"{chain}\n{self.graphs}", chain]:
            record = self.run_ok(self.engine(self.arrivals("0,0,1,chain", "0,0,1,chain"), cpus=2,
                                             graphs=graphs))
            self.check(record, ["chain", "chain"])
            names = [task["name"] for task in record["graph"]["tasks"]]
            rows = dict(zip(names, record["tasks"]))
            for job in range(2):
                self.assertGreaterEqual(rows[f"chain#{job}/b"][3], rows[f"chain#{job}/a"][4])

    def test_mistakes(self):
        for word, args in [("no graph nosuch", ["0,0,1,nosuch"]), ("no job", []),
                           ("tenant", ["0,x,1,long"]), ("matches 'x*'", "only=x*")]:
            engine = self.engine(args if isinstance(args, str) else self.arrivals(*args))
            self.assertNotEqual(engine.run(), 0)
            self.assertIn(word, engine.message() + engine.hint())
            self.assertFalse(os.path.exists(self.record))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
