# SPDX-License-Identifier: Apache-2.0
"""Plug-ins that crash, end the program or hang while they are loaded. Given: symph, the source tree,
the folder of such plug-ins, the engine or "none"."""
import os
import shutil
import subprocess
import sys

import cli

PLUGINS = os.path.abspath(sys.argv[3])
ENGINE = sys.argv[4]
FAULTS = {"crash": "crashes when it is loaded (SIGSEGV)",
          "leave": "ends the program when it is loaded (exit status 0)",
          "hang": "does not load within 1 s"}


class Wild(cli.Case):
    def setUp(self):
        super().setUp()
        self.env = {"SYMPH_START_LIMIT": "1", "LOADED": os.path.join(self.folder, "loaded")}

    def plugin(self, name):
        return os.path.join(PLUGINS, f"test_wild_{name}.so")

    def gather(self, *names):
        """A folder of plug-ins."""
        folder = os.path.join(self.folder, "plugins")
        os.mkdir(folder)
        for name in names:
            shutil.copy(self.plugin(name), folder)
        return folder

    def refused(self, code, words, *args):
        done = self.run_symph(*args, env=self.env)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(words, done.stderr)

    def test_kernels_that_are_named(self):
        for name, words in FAULTS.items():
            path = self.plugin(name)
            self.refused(3, f"{path}: {words}", "kernels", "--kernels", path)

    def test_kernels_in_a_folder(self):
        """What is wrong is named, and the rest is there."""
        folder = self.gather("tame", *FAULTS)
        for args, env in [(["--kernels", folder], {}), ([], {"SYMPH_KERNELS": folder})]:
            done = self.run_symph("kernels", "wild", *args, env={**self.env, **env})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("nothing", done.stdout)
            for name, words in FAULTS.items():
                self.assertIn(f"passed over: {folder}/test_wild_{name}.so: {words}", done.stderr)

    def test_strangers_are_not_loaded(self):
        """A library that cannot be a plug-in is known from its file."""
        folder = self.gather("crashing_stranger")
        self.refused(3, "no kernel plug-in in this folder", "kernels", "--kernels", folder)
        self.refused(3, "is a shared object, but not a kernel plug-in", "kernels", "--kernels",
                     self.plugin("crashing_stranger"))
        self.assertFalse(os.path.exists(self.env["LOADED"]))

    def test_policies(self):
        for name, words in FAULTS.items():
            path = self.plugin(name)
            for command in [["simulate", "--machine", "cpu:2", "--graphs", "gen:lu:3"],
                            ["run", "gen:lu:3"], ["starpu", "/bin/true"]]:
                self.refused(2, f"{path}: {words}", *command[:1],
                             "--policy", path, *command[1:])

    def test_policies_that_crash_later(self):
        """Not when they are loaded, but when they are asked."""
        path = self.plugin("tame")
        with open(cli.SYMPH, "rb") as file:
            if b"libasan" in file.read():
                self.skipTest("AddressSanitizer tells of crashes in its own way")
        commands = [["simulate", "--machine", "cpu:2", "--graphs", "gen:lu:3", "--quiet", "--policy",
                     f"eager,{path}"]]
        if os.path.exists(ENGINE):
            commands.append(["run", "synthetic:contend:tasks=4,kind=emulate", "--opencl", "0", "--quiet", "--policy", path])
        for how, name in [("crash", "SIGSEGV"), ("deep", "SIGSEGV"), ("abort", "SIGABRT")]:
            self.env["WILD_POLICY"] = how
            for command in commands:
                self.refused(1, f"policy {path}", *command)
                self.refused(1, name, *command)

    def test_the_engine(self):
        if not os.path.exists(ENGINE):
            self.skipTest("no engine was built")
        for name, words in FAULTS.items():
            path = self.plugin(name)
            self.refused(3, f"{path}: {words}", "run", "wild:x", "--kernels", path, "--quiet")


cli.main()
