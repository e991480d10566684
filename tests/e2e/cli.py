# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: running symph in an empty folder, away from any terminal."""
import json
import os
import pty
import subprocess
import sys
import tempfile
import unittest

SYMPH = os.path.abspath(sys.argv[1])
ROOT = os.path.abspath(sys.argv[2])
MACHINE = "cpu:4 gpu:2"
# Tests do not take turns with what else runs on this machine.
os.environ["SYMPH_BROKER"] = "none"


def command(*args):
    """What runs symph ARGS; symph-bench, which lies beside it, is asked for as "bench"."""
    return [SYMPH + "-bench", *args[1:]] if args and args[0] == "bench" else [SYMPH, *args]


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_symph(self, *args, env=None):
        done = subprocess.run(command(*args), cwd=self.folder, capture_output=True, text=True,
                              env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL)
        for word in ["runtime error", "Sanitizer"]:  # where symph was built with sanitizers
            self.assertNotIn(word, done.stderr, args)
        self.assertNotIn("(null)", done.stdout + done.stderr, args)
        return done

    def ok(self, *args):
        """Standard output of a command that must succeed."""
        done = self.run_symph(*args)
        self.assertEqual(done.returncode, 0, f"{args}: {done.stderr}")
        return done.stdout

    def ok_json(self, *args):
        return json.loads(self.ok(*args, "--json"))

    def on_terminal(self, *args):
        """Standard output of a command that must succeed, as a terminal shows it."""
        master, slave = pty.openpty()
        with subprocess.Popen(command(*args), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=slave,
                              stderr=subprocess.DEVNULL, env={**os.environ, "NO_COLOR": "1"}) as done:
            os.close(slave)
            text = b""
            while True:
                try:
                    more = os.read(master, 65536)
                except OSError:  # Linux says so where the other end is closed
                    more = b""
                text += more
                if not more:
                    break
        os.close(master)
        self.assertEqual(done.returncode, 0, args)
        return text.decode().replace("\r\n", "\n")

    def fails(self, code, *args):
        """The message of a command that must fail with this code, and print no data."""
        done = self.run_symph(*args)
        self.assertEqual(done.returncode, code, f"{args}: {done.stdout} {done.stderr}")
        self.assertEqual(done.stdout, "", args)
        self.assertTrue(done.stderr.startswith("symph: "), done.stderr)
        return done.stderr

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def read(self, name):
        with open(os.path.join(self.folder, name), "rb") as file:
            return file.read()


def main():
    unittest.main(argv=[sys.argv[0]], verbosity=2)
