# SPDX-License-Identifier: Apache-2.0
"""What the tests of installation share: a tree that is staged, moved, and used by strangers."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, BUILD, VERSION = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
LOG = BUILD / "meson-logs" / "install-log.txt"  # what "uninstall" removes


class Staged(unittest.TestCase):
    """self.prefix is a tree installed below a folder of its own; a log of another installation is
    put back afterwards."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="symph install ")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        if LOG.exists():
            kept = shutil.copy(LOG, self.folder / "log")
            self.addCleanup(shutil.copy, kept, LOG)
        else:
            self.addCleanup(LOG.unlink, missing_ok=True)
        # The log goes back before the folder with its copy is removed: cleanups run last to first.
        self.stage = self.folder / "stage"
        self.run_it("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", self.stage)
        self.prefix = next(self.stage.rglob("bin/symph")).parents[1]

    def environment(self, **more):
        """As in a shell that knows nothing of us; Meson's runner adds the build's libraries."""
        plain = {key: value for key, value in os.environ.items()
                 if not key.startswith("SYMPH_") and key != "LD_LIBRARY_PATH"}
        return {**plain, "XDG_CACHE_HOME": str(self.folder / "cache"),
                "XDG_STATE_HOME": str(self.folder / "state"), **more}

    def run_it(self, *command, cwd=None, **more):
        done = subprocess.run(command, cwd=cwd or self.folder, env=self.environment(**more),
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(done.returncode, 0, f"{command}: {done.stdout}{done.stderr}")
        return done.stdout

    def move(self):
        """The tree goes elsewhere; what it was installed as is gone."""
        self.prefix = self.prefix.rename(self.folder / "a [moved] tree")
        shutil.rmtree(self.stage)

    def pkg_config_path(self):
        return str(next(self.prefix.rglob("symph.pc")).parent)


def main():
    unittest.main(argv=[sys.argv[0]], verbosity=2)
