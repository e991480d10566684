# SPDX-License-Identifier: Apache-2.0
"""Sessions: tasks submitted as one goes, whoever schedules, and what becomes of those that fail.
Arguments: the engine, the folder of the test's plug-in, the plug-in with the workload stream."""
import json
import os
import signal
import sys
import tempfile
import unittest

from engine import Engine

ENGINE, KERNELS, SYNTHETIC = sys.argv[1:]
POLICIES = ["eager", "dmdas", "lb-cont", "symphony", "starpu:eager", "starpu:dmdas"]


class Session(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="symph-test-")
        self.addCleanup(self.folder.cleanup)
        self.record = os.path.join(self.folder.name, "run.json")

    def engine(self, spec, *more, policy="eager", cpus=2, limit=60):
        kernels = SYNTHETIC if spec.startswith("synthetic") else KERNELS
        return Engine(ENGINE, f"spec={spec}", f"policy={policy}", f"kernels={kernels}",
                      f"record={self.record}", "check=1", "models=", f"cpus={cpus}",
                      f"limit={limit}", *more)

    def run_ok(self, engine):
        self.assertEqual(engine.run(), 0, engine.message())
        self.assertEqual(engine.phase(), "done")
        with open(self.record, encoding="utf-8") as file:
            return json.load(file)

    def check_failed(self, engine, code, *words):
        self.assertEqual(engine.phase(), "failed", engine.said)
        self.assertEqual(engine.page.blame, code, engine.message())
        for word in words:
            self.assertIn(word, engine.message() + engine.hint())
        self.assertEqual(os.listdir(self.folder.name), [])

    def check_stream(self, record, items):
        self.assertEqual(len(record["tasks"]), 3 * items)
        for device, submitted, ready, start, end, _ in record["tasks"]:
            self.assertIsNotNone(device)
            self.assertLessEqual(submitted, ready)
            self.assertLessEqual(start, end)
            self.assertLessEqual(end, record["makespan_ns"])
        self.assertIn(["items", str(items)], record["notes"])

    def test_stream(self):
        """Sizes that depend on the data, tenants, a window; checked by the workload itself."""
        for policy in POLICIES:
            with self.subTest(policy=policy):
                engine = self.engine("synthetic:stream:items=60,jobs=3,seed=1", policy=policy)
                self.check_stream(self.run_ok(engine), 60)
                self.assertEqual((engine.page.growing, engine.page.done, engine.page.total),
                                 (1, 60, 60))
                self.assertEqual((engine.page.task_count, engine.page.done_count), (180, 180))

    def test_devices(self):
        """The same across memories: what is fetched back must be the newest."""
        specs = ["synthetic:stream:items=40,window=8", "faulty:session:chains=9,tasks=20"]
        for i, policy in enumerate(POLICIES):
            with self.subTest(policy=policy, spec=specs[i % 2]):
                engine = self.engine(specs[i % 2], "opencl=1", policy=policy, cpus=1)
                if engine.run() and "OpenCL devices were requested" in engine.message():
                    self.skipTest(engine.message())
                self.assertEqual(engine.phase(), "done", engine.message())

    def test_user_pointer(self):
        """Kernels get the pointer of the submitter, and know which kernel they are."""
        record = self.run_ok(self.engine("faulty:session:chains=3,tasks=20"))
        self.assertIn(["called", "60"], record["notes"])

    def test_parts(self):
        """Calls split between cores and tasks on places, beside tasks that the policy places."""
        for policy in POLICIES:
            with self.subTest(policy=policy):
                record = self.run_ok(self.engine("faulty:parts:chains=5,tasks=31", policy=policy,
                                                 limit=10))
                # Per chain 16 calls in two parts and 15 others, and 3 meetings.
                self.assertEqual(len(record["tasks"]), 5 * (16 * 2 + 15) + 3 * 2)
                for device, submitted, _, start, end, _ in record["tasks"]:
                    self.assertIsNotNone(device)
                    self.assertLessEqual(submitted, start)
                    self.assertLessEqual(start, end)
        self.check_order(record)

    def check_order(self, record):
        """Parts follow what they read, and whoever reads follows all of them."""
        tasks, producers, checked = record["graph"]["tasks"], {}, 0
        for i, task in enumerate(tasks):
            accesses = task.get("accesses", [])
            reads = task.get("reads", []) + [d for mode, d in accesses if mode != "write"]
            writes = task.get("writes", []) + [d for mode, d in accesses if mode != "read"]
            for datum in reads:
                if datum in producers:
                    self.assertLessEqual(record["tasks"][producers[datum]][4],
                                         record["tasks"][i][3])
                    checked += 1
            producers.update((datum, i) for datum in writes)
        self.assertGreater(checked, 100)

    def test_parts_and_memories(self):
        """What parts have written reaches a device with a memory of its own, and comes back."""
        for policy in ["eager", "symphony", "starpu:eager", "starpu:dmdas"]:
            with self.subTest(policy=policy):
                engine = self.engine("faulty:parts:chains=6,tasks=41", "opencl=1", policy=policy,
                                     limit=10)
                if engine.run() and "OpenCL devices were requested" in engine.message():
                    self.skipTest(engine.message())
                self.assertEqual(engine.phase(), "done", engine.message())

    def test_parts_misuse(self):
        wants = {1: "on c device 4000: there is none", 2: "fail cannot run on opencl device 0",
                 3: "share core 0", 4: "has 9 parameters", 5: "cannot run on opencl"}
        for wrong, words in wants.items():
            with self.subTest(wrong=wrong):
                engine = self.engine(f"faulty:parts:wrong={wrong}", "opencl=0")
                self.assertEqual(engine.run(), 1)
                self.check_failed(engine, 1, words)

    def test_edges(self):
        """The record's graph has the dependencies that were found."""
        record = self.run_ok(self.engine("synthetic:stream:items=9"))
        names = {task["name"]: i for i, task in enumerate(record["graph"]["tasks"])}
        for item in range(9):
            times = [record["tasks"][names[f"{stage} {item}"]] for stage in ("one", "two", "three")]
            self.assertLessEqual(times[0][4], times[1][3])
            self.assertLessEqual(times[1][4], times[2][3])
        self.assertEqual(len(record["model_ns"]), 27)

    def test_calibration(self):
        engine = self.engine("synthetic:stream:items=9", "samples=3", policy="rr")
        self.check_stream(self.run_ok(engine), 9)

    def test_kernel_error(self):
        engine = self.engine("faulty:session:kernel=fail,at=3")
        self.assertEqual(engine.run(), 1)
        self.check_failed(engine, 1, "kernel fail failed on CPU", "not to my liking", "step3",
                          "v0 4096 bytes read and written")

    def test_crash(self):
        engine = self.engine("faulty:session:kernel=crash,at=3")
        self.assertEqual(engine.run(), -signal.SIGSEGV)
        self.check_failed(engine, 1, "kernel crash crashed on CPU", "step3", "v0 4096 bytes")

    def test_hang(self):
        engine = self.engine("faulty:session:kernel=hang,at=3", limit=.3)
        self.assertEqual(engine.run(), 1)
        self.check_failed(engine, 1, "kernel hang does not finish", "the limit is 0.3 s", "step3")

    def test_kill(self):
        engine = self.engine("faulty:session:kernel=hang,at=3")
        self.assertEqual(engine.wait_phase("ready", "failed"), "ready", engine.message())
        engine.go()
        engine.wait_phase("running", "failed")
        engine.child.terminate()
        self.assertEqual(engine.end(), -signal.SIGTERM)
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_misuse(self):
        wants = {1: "no kernel plug-in has a kernel 'okay'", 2: "names no datum",
                 3: "which has ended", 4: "kernel 'ok' takes 1", 5: "accesses a datum twice",
                 6: "access 1 must be read and written for kernel 'ok'", 7: "busy", 8: "no device of this run can execute",
                 9: "it must be positive", 13: "kernel ok cannot be recorded"}
        for wrong, words in wants.items():
            with self.subTest(wrong=wrong):
                engine = self.engine(f"faulty:session:wrong={wrong}")
                self.assertEqual(engine.run(), 3)
                self.check_failed(engine, 3, words)

    def test_wrong_result(self):
        engine = self.engine("faulty:session:wrong=10")
        self.assertEqual(engine.run(), 1)
        self.check_failed(engine, 1, "is wrong: 10, not 11")

    def test_driver_overruns(self):
        """What a driver keeps until its end is looked at then."""
        engine = self.engine("faulty:session:wrong=12,chains=1")
        self.assertEqual(engine.run(), 1)
        self.check_failed(engine, 1, "4 bytes after the end of v0 4096 bytes were overwritten")

    def test_nothing(self):
        """A session without a task is a run without a task."""
        record = self.run_ok(self.engine("faulty:session:wrong=11"))
        self.assertEqual(record["tasks"], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
