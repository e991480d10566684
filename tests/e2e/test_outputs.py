# SPDX-License-Identifier: Apache-2.0
"""Every option that writes a file: the new one is whole or the old one stays, and who asked is told."""
import os
import resource
import subprocess

import cli

SIMULATE = ("simulate", "--machine", cli.MACHINE, "--graphs", "gen:cholesky:8", "--policy", "heft")
PLAN = ("plan", os.path.join(cli.ROOT, "examples", "pipeline.json"), "--machine", "cpu:4 gpu:2",
        "--input-features", "thumb")
RECORDING = os.path.join(cli.ROOT, "tests", "e2e", "busy.counters")
WRITERS = {
    "graph json": ("graph", "gen:cholesky:12", "--out"),
    "graph dot": ("graph", "gen:cholesky:12", "--dot"),
    "gantt": (*SIMULATE, "--plot"),
    "trace": (*SIMULATE, "--trace"),
    "paje": (*SIMULATE, "--paje"),
    "front": (*PLAN, "--plot"),
    "plot": ("counters", "replay", RECORDING, "--once", "--plot"),
    "json": ("counters", "replay", RECORDING, "--json", "--out"),
    "recording": ("counters", "record", "--duration", "50ms", "--interval", "10ms", "--out"),
}


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


class Outputs(cli.Case):
    def run_writer(self, args, **more):
        return subprocess.run(cli.command(*args), cwd=self.folder, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, **more)

    def check_refused(self, done, path, why):
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"symph: {path}: ", done.stderr)
        self.assertIn(f": {why}", done.stderr)

    def test_a_full_device(self):
        for name, args in WRITERS.items():
            with self.subTest(name):
                done = self.run_writer((*args, "/dev/full"))
                self.check_refused(done, "/dev/full", "No space left on device")

    def test_the_disk_fills_in_the_middle(self):
        for name, args in WRITERS.items():
            with self.subTest(name):
                self.write("old", "what was there before\n")
                done = self.run_writer((*args, "old"), preexec_fn=small_files)
                self.check_refused(done, "old", "File too large")
                self.assertEqual(self.read("old"), b"what was there before\n")
                self.assertEqual(os.listdir(self.folder), ["old"])

    def test_a_folder_that_may_not_be_written(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become nobody")
        if subprocess.run(["test", "-x", cli.SYMPH], user=65534, check=False).returncode != 0:
            self.skipTest("nobody cannot reach the program here")
        os.chmod(self.write("old", "before\n"), 0o666)
        os.chmod(self.folder, 0o755)
        for name, args in WRITERS.items():
            with self.subTest(name):
                for file in ["old", "new"]:
                    done = self.run_writer((*args, file), user=65534, group=65534)
                    self.check_refused(done, file, "Permission denied")
                self.assertEqual(self.read("old"), b"before\n")
                self.assertEqual(os.listdir(self.folder), ["old"])

    def test_stdout_by_its_name(self):
        with open(os.path.join(self.folder, "out"), "wb") as out:
            out.write(b"before\n")
            out.flush()
            subprocess.run([cli.SYMPH, "graph", "gen:chain:2", "--quiet", "--out", "/dev/stdout"],
                           stdout=out, check=True)
        text = self.read("out")
        self.assertTrue(text.startswith(b"before\n{"), text[:40])
        self.assertEqual(text[7:].decode(), self.ok("graph", "gen:chain:2", "--out", "-"))

    def test_a_pipe_with_a_name(self):
        path = os.path.join(self.folder, "pipe")
        os.mkfifo(path)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        self.ok("graph", "gen:chain:2", "--out", path)
        self.assertEqual(os.read(reader, 65536).decode(),
                         self.ok("graph", "gen:chain:2", "--out", "-"))


cli.main()
