#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lines that documents and examples tell people to type are typed: in an installed tree that
was moved, and in the build tree."""
import os
import re
import shutil
import subprocess

import stage

COMMAND = re.compile(r"(?:cc|nvcc|symph) ")


def lines_of(text, lead):
    """Commands behind a lead, with those that a backslash continues made one."""
    joined = re.sub(r"\\\n" + re.escape(lead) + r"\s*", "", text)
    return [line[len(lead):] for line in joined.splitlines()
            if line.startswith(lead) and COMMAND.match(line[len(lead):])]


def document_lines():
    """The first block of the document."""
    text = (stage.SOURCE / "docs" / "kernel-plugins.md").read_text(encoding="utf-8")
    return lines_of(text.split("```")[1], "")


def example_lines(name):
    text = (stage.SOURCE / "examples" / name).read_text(encoding="utf-8")
    return lines_of(text.split("*/", 1)[0], " *   ")


class Lines(stage.Staged):
    def setUp(self):
        super().setUp()
        self.move()
        self.desk = self.folder / "desk"
        shutil.copytree(stage.SOURCE / "examples", self.desk)
        self.has_engine = bool(list(self.prefix.rglob("symph-engine")))
        self.nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")

    def why_not(self, line):
        if line.startswith("nvcc") and not self.nvcc:
            return "there is no nvcc"
        if "-lOpenCL" in line and subprocess.run(["pkg-config", "--exists", "OpenCL"],
                                                 check=False).returncode:
            return "there is no OpenCL to link"
        if line.startswith("symph run") and not self.has_engine:
            return "there is no engine, since StarPU was not found"
        return None

    def type_them(self, lines, programs, config):
        self.assertTrue([line for line in lines if line.startswith("cc ")], lines)
        self.assertTrue([line for line in lines if line.startswith("symph ")], lines)
        path = os.pathsep.join([str(programs), os.environ["PATH"],
                                os.path.dirname(self.nvcc or "")])
        for line in lines:
            reason = self.why_not(line)
            if reason:
                print(f"# SKIP {reason}: {line}")
                continue
            more = {"cwd": self.desk, "PATH": path, "PKG_CONFIG_PATH": str(config)}
            # Blanks in the tree's path, which pkg-config escapes: a shell reads them only if typed.
            line = re.sub(r"\$\((pkg-config [^)]*)\)",
                          lambda match: self.run_it(*match[1].split(), **more).strip(), line)
            self.run_it("sh", "-c", line, **more)

    def in_both_trees(self, lines):
        """What each tree compiles is loaded by that tree's own symph."""
        self.type_them(lines, self.prefix / "bin", self.pkg_config_path())
        for built in self.desk.glob("*.so"):
            built.unlink()
        self.type_them(lines, stage.BUILD, stage.BUILD / "meson-uninstalled")

    def test_document(self):
        self.in_both_trees(document_lines())

    def test_examples(self):
        for name in ["kernel_scale.c", "kernel_devices.c", "policy_longest.c", "session_primes.c"]:
            with self.subTest(name):
                self.in_both_trees(example_lines(name))

    def test_all_variants_compile(self):
        """With every compiler that is here, the three variants of the example are there."""
        lines = example_lines("kernel_devices.c")
        compilers = [line for line in lines if line.startswith(("cc ", "nvcc "))]
        self.assertEqual(len(compilers), 2)
        self.type_them(lines, self.prefix / "bin", self.pkg_config_path())
        shown = self.run_it(self.prefix / "bin" / "symph", "kernels", "devices", "--kernels",
                            self.desk / "devices.so")
        self.assertIn("c cuda opencl" if self.nvcc else "c opencl", shown)
        for flavour in ["opencl", "cuda"] if self.has_engine else []:
            self.runs_on(flavour)

    def runs_on(self, flavour):
        """The variant alone computes what is right, where there is such a device."""
        done = subprocess.run([self.prefix / "bin" / "symph", "run", "devices:roots", "--check",
                               "--kernels", self.desk / "devices.so", "--cpus", "0", "--opencl", "0",
                               "--cuda", "0", f"--{flavour}", "1"], env=self.environment(),
                              capture_output=True, text=True, check=False)
        if "No such device" in done.stderr:
            print(f"# SKIP there is no device for {flavour}")
            return
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("result       right", done.stdout)


if __name__ == "__main__":
    stage.main()
