# SPDX-License-Identifier: Apache-2.0
"""Tasks in parts for real: one after the other, on any device, and between two of them the device
is somebody else's.
Arguments: the engine, the folder of the test's plug-in, the plug-in that emulates."""
import json
import os
import sys
import tempfile
import unittest

from engine import Engine

ENGINE, FOLDER, SYNTHETIC = sys.argv[1:]
FAULTY = os.path.join(FOLDER, "faulty.so")
PARTS = 6
JOBS = "\n".join(["J long 2 1", "T 0 stage 0.3 1 0", "T 1 stage 0.3 1 0", "E 0 1 0",
                  "J short 2 1", "T 0 stage 0.002 1 0", "T 1 stage 0.002 1 0", "E 0 1 0", ""])


def turns(name, explicit):
    """0 is set, each part adds 1, and then there are as many as parts."""
    times = {"cpu": {"fixed_ns": 5e7}, "gpu": {"fixed_ns": 5e7}}
    tasks = [{"name": "zero", "kernel": "zero", "writes": ["A"]},
             {"name": "turns", "kernel": "turns", "updates": ["A"], "after": ["zero"]},
             {"name": "turned", "kernel": "turned", "updates": ["A"], "work": PARTS,
              "after": ["turns"]}]
    if not explicit:
        for task in tasks:
            task.pop("after", None)
    return {"schema": "symph-graph-1", "name": name,
            "dependencies": "explicit" if explicit else "sequential",
            "kernels": [{"name": kernel, "variants": times if kernel == "turns" else {
                "cpu": {"fixed_ns": 1e4}}} for kernel in ("zero", "turns", "turned")],
            "data": [{"name": "A", "bytes": 4096}], "tasks": tasks}


class Parts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="symph-test-")
        self.addCleanup(self.folder.cleanup)
        self.record = os.path.join(self.folder.name, "run.json")

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run_ok(self, graphs, arrivals, *more, policy="lb+wspt", cpus=1, opencl=0, models=""):
        stream = self.write("arrivals.csv", "\n".join(["arrive_s,tenant,weight,graph", *arrivals, ""]))
        engine = Engine(ENGINE, "spec=jobs", f"graphs={graphs}", f"policy={policy}",
                        f"kernels={FAULTY}:{SYNTHETIC}", f"record={self.record}",
                        f"models={models}", f"cpus={cpus}", f"opencl={opencl}",
                        f"arrivals={stream}", *more)
        self.assertEqual(engine.run(), 0, engine.message())
        with open(self.record, encoding="utf-8") as file:
            return json.load(file)

    def names(self, record):
        return [task["name"] for task in record["graph"]["tasks"]]

    def test_in_order_wherever_they_run(self):
        """The kernel fails if it is called out of turn, or not with what the part before wrote."""
        for explicit in [False, True]:
            graphs = self.write("turns.json", json.dumps(turns("turns", explicit)))
            for policy, cpus, opencl in [("lb+wspt", 2, 0), ("symphony", 1, 2), ("eager", 2, 1),
                                         ("starpu:eager", 1, 1), ("starpu:random", 2, 2)]:
                with self.subTest(explicit=explicit, policy=policy):
                    record = self.run_ok(graphs, [f"{i * 0.001},0,1,turns" for i in range(8)],
                                         "split=1", policy=policy, cpus=cpus, opencl=opencl)
                    self.assertEqual(len(record["tasks"]), 8 * (PARTS + 2))
                    rows = dict(zip(self.names(record), record["tasks"]))
                    for job in range(8):
                        ends = [rows[f"turns#{job}/turns ({i + 1} of {PARTS})"]
                                for i in range(PARTS)]
                        for before, after in zip(ends, ends[1:]):
                            self.assertLessEqual(before[4], after[3])
                    for index, job in enumerate(record["jobs"]):
                        self.assertEqual(job[2:4], [index * (PARTS + 2), PARTS + 2])

    def test_whole_without(self):
        graph = turns("turns", False)
        graph["tasks"][2]["work"] = 1  # one call
        record = self.run_ok(self.write("turns.json", json.dumps(graph)), ["0,0,1,turns"])
        self.assertEqual(self.names(record), [f"turns#0/{name}" for name in
                                              ("zero", "turns", "turned")])

    def test_short_jobs_come_between(self):
        """Without a second thread, and on a core that is one worker's."""
        graphs = self.write("jobs.dag", JOBS)
        for policy in ["lb+wspt", "symphony"]:
            whole = self.run_ok(graphs, ["0,0,1,long", "0.1,1,1,short"], "emulate=1",
                                policy=policy)["jobs"]
            jobs = self.run_ok(graphs, ["0,0,1,long", "0.1,1,1,short"], "emulate=1", "split=1",
                               policy=policy)["jobs"]
            self.assertEqual([job[0] for job in jobs], ["long", "short"])
            self.assertEqual(jobs[0][3], 2 * 61)  # 0.3 s: 60 parts more for 2 % of it
            self.assertEqual(jobs[1][3], 2)
            self.assertEqual([job[7] for job in jobs], [600e6, 4e6])  # alone, and whole
            self.assertGreater(whole[1][6], 300e6)
            self.assertLess(jobs[1][6], jobs[0][6] - 200e6)

    def test_parts_are_learned_as_parts(self):
        """A part of 20 ms does not teach that the whole takes 20."""
        models = os.path.join(self.folder.name, "models")
        os.mkdir(models)
        stated = {"cpu": {"ns_per_work": 1}}
        graph = {"schema": "symph-graph-1", "name": "waits",
                 "kernels": [{"name": "emulate", "variants": stated}],
                 "data": [{"name": "A", "bytes": 64}],
                 "tasks": [{"kernel": "emulate", "updates": ["A"], "work": 1e8}]}
        graphs = self.write("waits.json", json.dumps(graph))
        arrivals = [f"{i},0,1,waits" for i in range(4)]
        cut = self.run_ok(graphs, arrivals, "split=1", "time-scale=0.1", models=models)
        whole = self.run_ok(graphs, arrivals, "time-scale=0.1", models=models)
        parts = len(cut["tasks"]) // 4
        self.assertGreater(parts, 1)
        self.assertLess(cut["model_ns"][0][0], 2.5e8 / parts)
        self.assertGreater(whole["model_ns"][0][0], 1e8 * 0.9)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
