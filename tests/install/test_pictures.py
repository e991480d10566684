#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/pictures.sh draws the pictures of the documents; those in the tree are of its kind."""
import re

import stage

TREE = stage.SOURCE / "docs" / "img"


def title(path):
    return re.search(r"<title>(.*?)</title>", path.read_text(encoding="utf-8"))[1]


class Pictures(stage.Staged):
    def test_pictures(self):
        self.run_it(stage.SOURCE / "tools" / "pictures.sh", self.folder / "img",
                    SYMPH=str(self.prefix / "bin" / "symph"),
                    SYMPH_BENCH=str(stage.BUILD / "symph-bench"))
        drawn = sorted((self.folder / "img").iterdir())
        self.assertIn("gantt.svg", [path.name for path in drawn])
        for path in drawn:
            with self.subTest(path.name):
                self.assertIn("prefers-color-scheme", path.read_text(encoding="utf-8"))
                if path.name != "variants.svg":  # its title names the machine
                    self.assertEqual(title(path), title(TREE / path.name))
        self.assertIn(", symphony,", title(TREE / "gantt.svg"))

    def test_light_and_dark(self):
        """All pictures in the tree: every colour is in the style sheet, which has both."""
        for path in TREE.glob("*.svg"):
            with self.subTest(path.name):
                style, shapes = path.read_text(encoding="utf-8").split("</style>")
                self.assertIn("prefers-color-scheme", style)
                self.assertEqual(re.findall(r'="#|fill:#|stroke:#', shapes), [])
                self.assertNotRegex(title(path), r"/tmp|default$")


if __name__ == "__main__":
    stage.main()
