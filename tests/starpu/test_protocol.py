# SPDX-License-Identifier: Apache-2.0
"""What symph-engine tells its supervisor, whatever happens. Arguments: the engine, the folder of
the test's plug-in."""
import json
import os
import signal
import sys
import tempfile
import unittest

from engine import Engine
from processes import gone

ENGINE, KERNELS = sys.argv[1], sys.argv[2]


class Protocol(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="symph-test-")
        self.addCleanup(self.folder.cleanup)
        self.record = os.path.join(self.folder.name, "run.json")

    def engine(self, spec, *more, policy="starpu:eager", **keys):
        keys = {"record": self.record, "kernels": KERNELS, "check": 1, "cpus": 2, "limit": 60,
                "models": "", "policy": policy, **keys}
        return Engine(ENGINE, f"spec={spec}", *(f"{k}={v}" for k, v in keys.items()), *more)

    def check_failed(self, engine, code, *words):
        self.assertEqual(engine.phase(), "failed", engine.said)
        self.assertEqual(engine.page.blame, code)
        for word in words:
            self.assertIn(word, engine.message() + engine.hint() + engine.page.file.decode())
        self.assertFalse(os.path.exists(self.record))
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_ok(self):
        engine = self.engine("faulty:chain:tasks=8,chains=3")
        self.assertEqual(engine.wait_phase("ready", "failed"), "ready", engine.message())
        self.assertEqual((engine.page.task_count, engine.page.done_count), (24, 0))
        engine.go()
        self.assertEqual(engine.end(), 0)
        self.assertEqual(engine.said, b"")
        self.assertEqual(engine.phase(), "done")
        self.assertEqual(engine.page.done_count, 24)
        with open(self.record, encoding="utf-8") as file:
            record = json.load(file)
        self.assertEqual(record["schema"], "symph-run-1")
        self.assertEqual((record["result_error"], record["result_tolerance"]), (0, 0))
        self.assertEqual(len(record["tasks"]), 24)

    def test_our_policy(self):
        engine = self.engine("faulty:chain:tasks=8,chains=3", policy="dmda")
        self.assertEqual(engine.run(), 0, engine.message())
        with open(self.record, encoding="utf-8") as file:
            record = json.load(file)
        self.assertEqual(len(record["decisions"]), 24)

    def test_wrong_result(self):
        engine = self.engine("faulty:chain:wrong=3")
        self.assertEqual(engine.run(), 1)
        self.assertEqual(engine.phase(), "failed")
        self.assertIn("wrong", engine.message())
        self.assertTrue(os.path.exists(self.record), "the record shows what ran")

    def test_kernel_error(self):
        engine = self.engine("faulty:chain:tasks=8,kernel=fail,at=3")
        self.assertEqual(engine.run(), 1)
        self.check_failed(engine, 1, "kernel fail failed on CPU", "not to my liking", "step3",
                          "v0 4096 bytes read and written")

    def test_crash(self):
        engine = self.engine("faulty:chain:tasks=8,kernel=crash,at=3")
        self.assertEqual(engine.run(), -signal.SIGSEGV)
        self.check_failed(engine, 1, "kernel crash crashed on CPU", "SIGSEGV at address 0x10",
                          "step3", "v0 4096 bytes")

    def test_stack_overflow(self):
        engine = self.engine("faulty:chain:tasks=8,kernel=overflow,at=3")
        self.assertEqual(engine.run(), -signal.SIGSEGV)
        self.check_failed(engine, 1, "kernel overflow crashed", "SIGSEGV", "step3")

    def test_abort(self):
        engine = self.engine("faulty:chain:tasks=8,kernel=abort,at=0")
        self.assertEqual(engine.run(), -signal.SIGABRT)
        self.check_failed(engine, 1, "kernel abort crashed", "SIGABRT", "step0")

    def test_hang(self):
        engine = self.engine("faulty:chain:tasks=8,kernel=hang,at=5", limit=0.5)
        self.assertEqual(engine.run(), 1)
        self.check_failed(engine, 1, "kernel hang does not finish on CPU", "limit is 0.5 s", "step5",
                          "v0 4096 bytes")

    def test_missing_plugin(self):
        engine = self.engine("faulty:chain", kernels=KERNELS + "/absent.so")
        self.assertEqual(engine.run(), 3)
        self.check_failed(engine, 3, "absent.so")

    def test_unknown_workload(self):
        engine = self.engine("faulty:chian")
        self.assertEqual(engine.run(), 3)
        self.check_failed(engine, 3, "chian")

    def test_unknown_kernel(self):
        engine = self.engine("gen:layered:width=2,depth=2,seed=1")
        self.assertEqual(engine.run(), 3)
        self.check_failed(engine, 3, "kernel")

    def test_no_device_for_kernel(self):
        engine = self.engine("faulty:chain:kernel=gpu_only")
        self.assertEqual(engine.run(), 3)
        self.check_failed(engine, 3, "no device", "gpu_only", "cuda")

    def test_bad_policies(self):
        engine = self.engine("faulty:chain", policy="starpu:bogus")
        self.assertEqual(engine.run(), 3)
        self.check_failed(engine, 3, "bogus", "eager", "dmdas")
        engine = self.engine("faulty:chain", policy="bogus")
        self.assertEqual(engine.run(), 3)
        self.check_failed(engine, 3, "bogus")
        engine = self.engine("faulty:chain", policy="learned@/nowhere/x.weights")
        self.assertEqual(engine.run(), 3)
        self.check_failed(engine, 3, "cannot read")

    def test_bad_arguments(self):
        engine = self.engine("faulty:chain", "colour=green")
        self.assertEqual(engine.run(), 2)
        self.check_failed(engine, 2, "colour=green")
        engine = self.engine("faulty:chain", seed="x")
        self.assertEqual(engine.run(), 2)
        self.check_failed(engine, 2, "seed=x")

    def test_record_path(self):
        engine = self.engine("faulty:chain", record=self.folder.name + "/no/such/run.json")
        self.assertEqual(engine.run(), 1)
        self.check_failed(engine, 1, "cannot write", "/no/such/")

    def test_full_disk(self):
        engine = self.engine("faulty:chain", record="/dev/full")
        self.assertEqual(engine.run(), 1)
        self.check_failed(engine, 1, "No space left", "/dev/full")

    def test_end_of_input(self):
        engine = self.engine("faulty:chain")
        self.assertEqual(engine.wait_phase("ready", "failed"), "ready")
        engine.close_input()
        self.assertEqual(engine.end(), 0)
        self.assertFalse(os.path.exists(self.record))

    def test_parent_dies(self):
        """A parent that is killed takes the engine with it, even in a kernel that never ends."""
        script = ("import subprocess, sys, time\n"
                  "p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, close_fds=False)\n"
                  "p.stdin.write(b'g'); p.stdin.flush()\n"
                  "print(p.pid, flush=True); time.sleep(600)\n")
        engine = Engine(sys.executable, "-c", script, ENGINE, "spec=faulty:chain:kernel=hang",
                        f"kernels={KERNELS}", f"record={self.record}", "policy=starpu:eager",
                        "cpus=1", "limit=3600")
        pid = int(engine.child.stdout.readline())
        self.assertEqual(engine.wait_phase("running", "failed"), "running", engine.message())
        engine.child.kill()
        engine.end()
        self.assertTrue(gone(pid), "the engine outlives its parent")

    def test_kill(self):
        engine = self.engine("faulty:chain:kernel=hang")
        self.assertEqual(engine.wait_phase("ready", "failed"), "ready")
        engine.go()
        self.assertEqual(engine.wait_phase("running", "failed"), "running")
        engine.child.kill()
        self.assertEqual(engine.end(), -signal.SIGKILL)
        self.assertEqual(os.listdir(self.folder.name), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
