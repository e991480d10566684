# SPDX-License-Identifier: Apache-2.0
"""A kernel that is built again, faster: what the old one took is no measure of the new one. Given: symph,
the source tree, the engine or "none"."""
import json
import os
import shutil
import subprocess
import sys

import cli

ENGINE = sys.argv[3]
CC = shutil.which("cc") or shutil.which("gcc")
TASKS = 12
PLUGIN = r"""
#include <symph/kernel.h>
#include <time.h>
static int nap(const struct sy_call *call) {
    struct timespec moment = {0, MS * 1000000L};
    (void)call;
    return nanosleep(&moment, NULL);
}
static const struct sy_kernel_entry kernels[] = {{.name = "nap", .functions = {nap}}};
static const struct sy_kernel_table table = {
    .name = "naps", .version = "1", .summary = "", .kernels = kernels, .kernel_count = 1};
SY_KERNEL_PLUGIN(table);
"""


class Rebuild(cli.Case):
    def setUp(self):
        super().setUp()
        self.write("nap.c", PLUGIN)
        self.write("chain.json", json.dumps({
            "schema": "symph-graph-1", "name": "chain",
            "kernels": [{"name": "nap", "variants": {"cpu": {"fixed_ns": 1e6}}}],
            "data": [{"name": "v", "bytes": 64}],
            "tasks": [{"name": f"t{i}", "kernel": "nap",
                       "updates": ["v"]} for i in range(TASKS)]}))
        self.env = {"XDG_CACHE_HOME": os.path.join(self.folder, "cache"),
                    "XDG_STATE_HOME": os.path.join(self.folder, "state")}
        for name in ["STARPU_HOME", "STARPU_PERF_MODEL_DIR", "SYMPH_MODELS"]:
            os.environ.pop(name, None)

    def build(self, milliseconds):
        subprocess.run([CC, "-shared", "-fPIC", f"-DMS={milliseconds}", "-I",
                        os.path.join(cli.ROOT, "include"), "-o", "nap.so", "nap.c"],
                       cwd=self.folder, check=True)

    def run_chain(self, policy):
        done = self.run_symph("run", "chain.json", "--kernels", "nap.so", "--policy", policy, "--cpus",
                              "1", "--opencl", "0", "--cuda", "0", "--quiet", "--json",
                              env=self.env)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        return result["lower_bound_ns"], result["runs"][0]["makespan_ns"]

    def measured(self):
        done = self.run_symph("kernels", "nap", "--kernels", "nap.so", "--json", env=self.env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["measured"]

    def test_bound(self):
        for policy in ["lb", "starpu:dmda"]:
            self.build(20)
            self.run_chain(policy)
            bound, makespan = self.run_chain(policy)
            self.assertLessEqual(bound, makespan)
            self.assertGreater(bound, TASKS * 20e6 * 0.99)
            self.build(2)
            bound, makespan = self.run_chain(policy)
            self.assertLess(makespan, TASKS * 20e6, "a machine this slow cannot tell the builds apart")
            self.assertLessEqual(bound, makespan, policy)

    def test_the_listing_tells(self):
        self.build(20)
        self.run_chain("lb")
        self.assertEqual([cell["current"] for cell in self.measured()], [True])
        self.build(2)
        self.assertEqual([cell["current"] for cell in self.measured()], [False])
        text = self.run_symph("kernels", "nap", "--kernels", "nap.so", env=self.env).stdout
        self.assertIn("older build", text)
        self.run_chain("lb")
        cells = self.measured()
        self.assertEqual([cell["current"] for cell in cells], [True])
        self.assertEqual(cells[0]["samples"], TASKS)  # of the new build alone
        self.assertLess(cells[0]["median_ns"], 20e6)

    def test_the_same_build_again(self):
        """The same code, linked again, is the same build: what was measured stays."""
        self.build(2)
        self.run_chain("lb")
        self.build(2)
        self.run_chain("lb")
        self.assertEqual([cell["samples"] for cell in self.measured()], [2 * TASKS])


if not os.path.exists(ENGINE) or not CC:
    print("skipped: there is no engine, or no C compiler, to test with")
    sys.exit(77)
cli.main()
