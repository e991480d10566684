# SPDX-License-Identifier: Apache-2.0
"""Right results on CPU cores and two OpenCL devices, whoever schedules. Arguments: the engine, the
folder of the test's plug-in, the plug-in that emulates. Skips where OpenCL has no CPU devices
(PoCL)."""
import json
import os
import sys
import tempfile
import unittest

from engine import Engine

ENGINE, KERNELS, EMULATOR = sys.argv[1:]
DEVICES = ["cpus=2", "opencl=2"]


def run(spec, policy, *more, kernels=KERNELS):
    """The record and the engine that has ended."""
    with tempfile.TemporaryDirectory(prefix="symph-test-") as folder:
        path = os.path.join(folder, "run.json")
        engine = Engine(ENGINE, f"spec={spec}", f"policy={policy}", f"kernels={kernels}",
                        f"record={path}", "check=1", "models=", "limit=60", *more)
        code = engine.run()
        if code:
            return None, engine
        with open(path, encoding="utf-8") as file:
            return json.load(file), engine


class Devices(unittest.TestCase):
    def check_run(self, spec, policy, *more):
        record, engine = run(spec, policy, *more)
        self.assertIsNotNone(record, engine.message())
        self.assertEqual(record["result_error"], 0)
        return record

    def test_policies(self):
        """Chains that wander between memories: a stale copy anywhere shows in the sum."""
        for policy in ["starpu:eager", "starpu:lws", "starpu:dmda", "dmda", "eager", "heft",
                       "lb-cont", "learned", "learned~net"]:  # these have the machine watched
            with self.subTest(policy=policy):
                self.check_run("faulty:chain:chains=12,tasks=40", policy, *DEVICES)

    def test_all_devices_work(self):
        """A calibration sends tasks everywhere, in several rounds on fresh data."""
        record = self.check_run("faulty:chain:chains=6,tasks=20", "starpu:eager", "samples=30",
                                *DEVICES)
        used = {task[0] for task in record["tasks"]}
        self.assertGreaterEqual(len(used), 3)

    def test_explicit_order(self):
        for policy in ["starpu:eager", "starpu:lws", "dmda"]:
            with self.subTest(policy=policy):
                self.check_run("faulty:order:tasks=100", policy, "cpus=2")

    def test_more_buffers_than_a_task_holds(self):
        for policy in ["starpu:dmda", "dmda"]:
            with self.subTest(policy=policy):
                self.check_run("faulty:wide", policy, *DEVICES)

    def test_crash_on_device(self):
        """The thread that crashes is the device's: what the device was given is named."""
        record, engine = run("faulty:chain:chains=2,kernel=crash_opencl,at=2", "starpu:eager",
                             *DEVICES)
        self.assertIsNone(record)
        self.assertEqual(engine.page.blame, 1)
        self.assertIn("SIGSEGV", engine.message())
        self.assertIn("crash_opencl on OpenCL", engine.message())

    def test_emulation(self):
        """A graph of kernels that nobody has: cores are busy for as long as it says."""
        for policy in ["starpu:dmdas", "lb"]:
            record, engine = run("gen:layered:width=4,depth=6,seed=1", policy, "emulate=1",
                                 "cpus=2", kernels=EMULATOR)
            self.assertIsNotNone(record, engine.message())
            self.assertIn("emulated", record["spec"])
            self.assertNotIn("result_error", record)
            self.assertTrue(all(task[3] < task[4] for task in record["tasks"]))

    def test_too_many_devices(self):
        record, engine = run("faulty:chain", "starpu:eager", "cuda=7")
        self.assertIsNone(record)
        self.assertEqual(engine.page.blame, 3)
        self.assertIn("7 CUDA devices", engine.message())


if __name__ == "__main__":
    _, probe = run("faulty:chain", "starpu:eager", *DEVICES)
    if "OpenCL devices were requested" in probe.message():
        print("skipped:", probe.message())
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
