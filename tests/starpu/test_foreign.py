# SPDX-License-Identifier: Apache-2.0
"""Somebody else's StarPU programs under the plug-in: implementations.c, many.c, tags.c, helpers.c,
prologue.c, and bench/starpu_sparse.c."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

SYMPH, PLUGIN, PROGRAM, MANY, TAGS, HELPERS, PROLOGUE, SPARSE = (sys.argv.pop(1) for _ in range(8))


class Foreign(unittest.TestCase):
    def setUp(self):
        with open(PLUGIN, "rb") as file:
            code = file.read()
        if b"libasan" in code or b"libtsan" in code:
            self.skipTest("a plug-in with a sanitizer is not loaded before the sanitizer")

    def run_foreign(self, home, options, program):
        environment = {**os.environ, "HOME": home, "XDG_CACHE_HOME": home, "STARPU_SILENT": "1",
                       "STARPU_NOPENCL": "0", "STARPU_NCPU": "2", "SYMPH_MODELS": home}
        return subprocess.run([SYMPH, "starpu", "--plugin", PLUGIN, *options, "--", *program],
                              env=environment, capture_output=True, text=True, timeout=100)

    def run_program(self, *options):
        with tempfile.TemporaryDirectory() as home:
            done = self.run_foreign(home, options, [PROGRAM])
            models = "".join(open(os.path.join(home, name)).read() for name in os.listdir(home)
                             if name.endswith(".csv"))
        if done.returncode == 77:
            self.skipTest("StarPU has no worker here")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = [tuple(map(int, line)) for line in
                 re.findall(r"wrong (\d+) slow (\d+) fast (\d+)", done.stdout)]
        self.assertEqual(len(found), 2, done.stdout)
        return found, done.stderr, models

    def check(self, policy):
        found, _, _ = self.run_program("--quiet", "--policy", policy)
        for wrong, slow, fast in found:
            self.assertEqual(wrong, 0)  # was 100 of 200
            self.assertEqual(slow + fast, 400)
            self.assertGreater(fast, 300)  # was 0

    def test_default(self):
        self.check("default")

    def test_late_binding(self):
        self.check("lb")

    def test_what_is_said_is_of_one_start(self):
        """The second start of StarPU counts its own tasks."""
        _, said, _ = self.run_program("--verbose")
        self.assertEqual(re.findall(r"placed (\d+) tasks", said), ["600", "600"], said)

    def test_codelets_without_names(self):
        """They have costs of their own, which no other program's can be taken for."""
        _, _, models = self.run_program("--quiet")
        self.assertEqual(len(set(re.findall(r"unnamed\.[0-9a-f]+\.[0-9a-f]+", models))), 1, models)
        self.assertNotIn("unnamed,", models)

    def test_many_ready_tasks(self):
        """What took quadratic time would take many minutes."""
        for what in ("independent", "readers"):
            with tempfile.TemporaryDirectory() as home:
                done = self.run_foreign(home, ["--quiet"], [MANY, "200000", what])
            self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)

    def test_worlds_that_grow(self):
        """More tasks than the first world, the second, and all later ones have room for."""
        for words in (["20000", "independent"], ["20000", "readers"]):
            with tempfile.TemporaryDirectory() as home:
                done = self.run_foreign(home, ["--quiet", "--policy", "lb"], [MANY, *words])
            self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)

    def test_no_helper_before_it_is_needed(self):
        """Most programs are short. What a worker's hook starts is not bound to that worker's core."""
        with tempfile.TemporaryDirectory() as home:
            done = self.run_foreign(home, ["--quiet", "--policy", "lb"], [HELPERS])
        if done.returncode == 77:
            self.skipTest("StarPU has no worker here")
        found = {when: tuple(map(int, numbers)) for when, *numbers in
                 re.findall(r"(\w+) (\d+) (\d+) (\d+)", done.stdout)}
        self.assertEqual(set(found), {"started", "few", "many"}, done.stdout + done.stderr)
        self.assertEqual(found["started"][1], 0)
        self.assertEqual(found["few"], found["started"])
        threads, helpers, narrowest = found["many"]
        self.assertEqual(helpers, 1)
        self.assertEqual(threads, found["few"][0] + 1)
        if len(os.sched_getaffinity(0)) > 1:
            self.assertGreater(narrowest, 1, done.stdout)

    def test_task_that_goes_nowhere(self):
        """Its codelet was taken for one that runs nowhere, and the next task waited for ever."""
        for policy in ("default", "learned", "lb"):
            with tempfile.TemporaryDirectory() as home:
                done = self.run_foreign(home, ["--quiet", "--policy", policy], [PROLOGUE])
            if done.returncode == 77:
                self.skipTest("StarPU has no worker here")
            self.assertEqual((done.returncode, done.stdout), (0, "1\n"), done.stderr)

    def test_blocks_of_all_sizes(self):
        """Hardly a footprint comes twice: what is kept of them is bounded, and a kernel whose tasks are
        short needs no decision on a size that was never seen, nor, from the second run on, on its first."""
        with tempfile.TemporaryDirectory() as home:
            for seed in range(1, 4):
                done = self.run_foreign(home, ["--verbose"], [SPARSE, "20000", str(seed)])
                self.assertEqual(done.returncode, 0, done.stderr)
                found = re.search(r"placed (\d+) tasks, (\d+) of them too short", done.stderr)
                self.assertIsNotNone(found, done.stderr)
                self.assertEqual(found[1], "20000")
                self.assertGreater(int(found[2]), 10000)  # was some hundreds
            costs = [name for name in os.listdir(home) if name.endswith(".csv")]
            with open(os.path.join(home, costs[0]), encoding="utf-8") as file:
                lines = [line.split(",")[0] for line in file if not line.startswith("#")]
        kernels = [name for name in lines if "symph_sparse" in name]
        self.assertEqual(len(set(kernels)), 4, set(lines))
        self.assertEqual(len(kernels), 4 * 256)  # was 60,000

    def test_chain_of_tags(self):
        """The policy takes it for independent tasks; a plan would deal them out to both workers in
        turn, and on a busy machine every task would wait for the other worker to be scheduled."""
        for words in (["20000", "0"], ["20000", "0", "held"], ["4000", "50"], ["4000", "50", "held"]):
            with tempfile.TemporaryDirectory() as home:
                self.run_foreign(home, ["--quiet"], [TAGS, "100", words[1]])  # learns the time
                done = self.run_foreign(home, ["--quiet"], [TAGS, *words])
            self.assertEqual(done.returncode, 0, done.stderr)
            found = re.fullmatch(r"(\d+) done, 0 out of order, (\d+) changes\n", done.stdout)
            self.assertTrue(found, done.stdout)
            self.assertEqual(found.group(1), words[0])
            self.assertLess(int(found.group(2)), int(words[0]) / 4, words)


unittest.main()
