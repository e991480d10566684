# SPDX-License-Identifier: Apache-2.0
"""SY_RECALL for real: a policy that commits everything to the first core and takes tasks back for the
second one. Arguments: symph, the policy, the plug-in that emulates."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

SYMPH, POLICY, SYNTHETIC = sys.argv[1:]
TASKS = 16


class Recall(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="symph-test-")
        self.addCleanup(folder.cleanup)
        self.graph = os.path.join(folder.name, "wide.dag")
        self.record = os.path.join(folder.name, "run.json")

    def run_it(self, task_s):
        with open(self.graph, "w", encoding="utf-8") as file:
            file.write(f"J wide {TASKS} 0\n" + "".join(
                f"T {i} stage {task_s} 1 0\n" for i in range(TASKS)))
        done = subprocess.run(
            [SYMPH, "run", self.graph, "--emulate", "--kernels", SYNTHETIC, "--policy", POLICY,
             "--models", "", "--cpus", "2", "--opencl", "0", "--record", self.record, "--quiet"],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.record, encoding="utf-8") as file:
            tasks = json.load(file)["tasks"]
        self.assertEqual(len(tasks), TASKS)
        return [task[0] for task in tasks]

    def test_the_second_core_gets_its_share(self):
        """Tasks of 20 ms: nothing but what a core has begun is out of reach."""
        devices = self.run_it(0.02)
        self.assertEqual(len(set(devices)), 2, devices)
        self.assertGreaterEqual(min(devices.count(d) for d in set(devices)), TASKS // 4, devices)

    def test_short_tasks_end_whoever_has_them(self):
        """Tasks of 60 us: what its core has in hand already stays there."""
        for _ in range(20):
            self.run_it(0.00006)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
