# SPDX-License-Identifier: Apache-2.0
"""symph train --traces on real runs: two that are recorded here, and a stream of jobs. Given: symph, the
source tree, the engine or "none"."""
import os
import sys

import cli

ENGINE = sys.argv[3]
TINY = ["train", "--tasks", "60", "--pairs", "2", "--worlds", "2", "--validation", "6", "--every", "2",
        "--generations", "3", "--scenarios", "12", "--seed", "2"]


class Traces(cli.Case):
    def setUp(self):
        super().setUp()
        if ENGINE == "none":
            self.skipTest("symph-engine was not built")
        self.env = {"XDG_CACHE_HOME": os.path.join(self.folder, "cache"),
                    "XDG_STATE_HOME": os.path.join(self.folder, "state")}

    def record(self, file, *args):
        done = self.run_symph("run", *args, "--cpus", "2", "--opencl", "0", "--cuda", "0", "--quiet",
                              "--record", file, env=self.env)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_runs(self):
        self.record("a.json", "linalg:cholesky:n=480,tile=96")
        self.record("b.json", "linalg:lu:n=384,tile=96")
        told = self.ok_json(*TINY, "--traces", "a.json", "b.json", "--out", "own.weights")
        held_out = told["held_out"]
        self.assertTrue(held_out["by_graph"])
        self.assertEqual((held_out["graphs"], held_out["graphs_held_out"]), (2, 1))
        self.assertIn("in 12 worlds of 1 graph" if told["best_generation"] else "shipped",
                      held_out["sentence"])
        alone = self.ok_json(*TINY, "--traces", "a.json", "--out", "own.weights")
        self.assertFalse(alone["held_out"]["by_graph"])
        # A run again is the same graph, though everything took another time.
        self.record("again.json", "linalg:cholesky:n=480,tile=96")
        twice = self.ok_json(*TINY, "--traces", "a.json", "again.json", "--out", "own.weights")
        self.assertFalse(twice["held_out"]["by_graph"])

    def test_stream(self):
        self.record("stream.json", "gen:forkjoin:6,work=1ms", "gen:stencil:4,work=1ms",
                    "gen:intree:3,work=1ms", "--emulate", "--jobs", "12", "--load", "0.8",
                    "--tenants", "2")
        done = self.run_symph(*TINY, "--traces", "stream.json", "--out", "own.weights")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("graphs 3, recorded streams 1 of 12 jobs", done.stderr)
        self.assertIn("held-out worlds", done.stdout)


cli.main()
