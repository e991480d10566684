#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo, with an installed symph and in a folder that is not ours: short, whole, with pictures."""
import os
import re

import stage

LINES_MAX = 52  # ./bootstrap adds a few when it installs and builds


class Demo(stage.Staged):
    def test_demo(self):
        if not list(self.prefix.rglob("symph-genomics")) or not list(self.prefix.rglob("symph-engine")):
            self.skipTest("StarPU or htslib was not found")
        self.move()
        said = self.run_it(stage.SOURCE / "tools" / "demo.sh", SYMPH=str(self.prefix / "bin" / "symph"))
        self.assertLessEqual(len(said.splitlines()), LINES_MAX)
        # Both tables have the default policy, and what they mean is said.
        rows = re.findall(r"^symphony .*", said, flags=re.M)
        self.assertEqual(len(rows), 2, said)
        self.assertIn("the default", rows[0])
        self.assertRegex(said, r"dmdas.* % (longer|shorter) than those of symphony, the default")
        demo = self.folder / "demo"
        self.assertIn("prefers-color-scheme", (demo / "gantt.symphony.svg").read_text())
        self.assertIn(">pairhmm</text>", (demo / "gantt.symphony.svg").read_text())
        # Every command that it shows can be typed.
        for line in re.findall(r"^\+ symph .*", said, flags=re.M):
            self.run_it("sh", "-c", line[2:], PATH=f"{self.prefix / 'bin'}:{os.environ['PATH']}")


if __name__ == "__main__":
    stage.main()
