# SPDX-License-Identifier: Apache-2.0
"""A pipeline across memories: what parts have written on cores goes to a device and comes back.
Arguments: the engine, the folder of the test's plug-in."""
import json
import os
import sys
import tempfile
import unittest

from engine import Engine

ENGINE, KERNELS = sys.argv[1:]


class Pipeline(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="symph-test-")
        self.addCleanup(self.folder.cleanup)
        self.record = os.path.join(self.folder.name, "run.json")

    def stream(self, *more, spec="faulty:line:items=24,inputs=3", opencl=1, cpus=2, code=0):
        engine = Engine(ENGINE, f"spec={spec}", "pipeline=1", "policy=starpu:eager",
                        f"kernels={KERNELS}", f"record={self.record}", "check=1", "check-all=1",
                        "models=", f"cpus={cpus}", f"opencl={opencl}", "limit=20", *more)
        if engine.run() and "OpenCL devices were asked for" in engine.message():
            self.skipTest(engine.message())
        self.assertEqual(engine.child.returncode, code, engine.message())
        if code == 3:
            return engine.message() + engine.hint()
        with open(self.record, encoding="utf-8") as file:
            return json.load(file)

    def check_all(self, record, plan=None):
        stream = record["stream"]
        self.assertEqual((stream["items"], stream["checked"]), (24, 24))
        self.assertEqual(stream["result_error"], 0)
        self.assertEqual(sum(phase["items"] for phase in stream["phases"]), 24)
        if plan:
            self.assertEqual([phase["plan"] for phase in stream["phases"]], [plan])

    def test_across(self):
        """Parts feed the device, and the device feeds parts."""
        for plan in ("first+second@cpu:2 | third@opencl", "first@opencl | second+third@cpu:2"):
            for window in (1, 5):
                with self.subTest(plan=plan, window=window):
                    record = self.stream(f"plan={plan}", f"window={window}")
                    self.check_all(record, plan)
                    self.assertEqual(record["stream"]["window"], window)
                    # Each item goes to the device and comes back.
                    moved = sum(row[2] for row in record["moved_bytes"])
                    self.assertGreaterEqual(moved, 2 * 24 * 4 * 1000)

    def test_cores(self):
        for plan in ("first+second+third@cpu:2", "first@cpu | second+third@cpu",
                     "first+second+third@cpu:1x2"):
            with self.subTest(plan=plan):
                self.check_all(self.stream(f"plan={plan}", opencl=0), plan)

    def test_planned(self):
        for objective in ("throughput", "latency", "energy"):
            with self.subTest(objective=objective):
                record = self.stream(f"objective={objective}")
                self.check_all(record)
                self.assertEqual(record["stream"]["objective"], objective)

    def test_side_by_side(self):
        self.check_all(self.stream("plan=first+second+third@cpu || first+second+third@cpu",
                                   "side-by-side=1", opencl=0))

    def test_wrong(self):
        record = self.stream(spec="faulty:line:items=24,inputs=3,wrong=17", opencl=0, code=1)
        self.assertEqual((record["stream"]["worst_item"], record["stream"]["result_error"]), (17, 1))

    def test_refused(self):
        self.assertIn("colour", self.stream(spec="faulty:line:colour=3", opencl=0, code=3))
        self.assertIn("no items", self.stream(spec="faulty:line:items=0", opencl=0, code=3))
        self.assertIn("limit", self.stream("limits=gpu=1", opencl=0, code=3))

    def test_calibration(self):
        times = os.path.join(self.folder.name, "times.csv")
        self.stream(f"calibrate={times}")
        with open(times, encoding="utf-8") as file:
            rows = [line.split(",") for line in file.read().splitlines()[2:]]
        self.assertEqual({(row[0], row[1], row[3]) for row in rows},
                         {("rows", "cpu", "1"), ("rows", "cpu", "2"), ("plus", "cpu", "1"),
                          ("plus", "cpu", "2"), ("plus", "opencl", "1")})
        self.assertEqual(len(rows), 3 * 5)  # three inputs, five kernels and shapes


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
