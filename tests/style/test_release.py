#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ready for a tag: every file that names the version names the same one, and what is promised to
other programs is the same list everywhere."""
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def find(name, pattern):
    text = (ROOT / name).read_text(encoding="utf-8")
    found = re.search(pattern, text, flags=re.M)
    if not found:
        raise AssertionError(f"{name} has nothing like {pattern}")
    return found[1]


class Release(unittest.TestCase):
    def test_one_version(self):
        version = find("meson.build", r"version : '([^']+)'")
        self.assertRegex(version, r"^\d+\.\d+\.\d+$")
        self.assertEqual(find("CITATION.cff", r"^version: (\S+)$"), version)
        self.assertEqual(find("CHANGELOG.md", r"^## \[([^]]+)\]"), version)
        self.assertEqual(find("debian/changelog", r"^symph \(([^)]+)\)"), version)

    def test_citation(self):
        """What version 1.2.0 of the format requires, and the licence of the tree."""
        self.assertEqual(find("CITATION.cff", r"^cff-version: (\S+)$"), "1.2.0")
        for key in ["message", "title", "authors", "type"]:
            find("CITATION.cff", rf"^({key}):")
        self.assertEqual(find("CITATION.cff", r"^license: (\S+)$"), "Apache-2.0")

    def test_symbols_of_the_package(self):
        """libsymph0 promises what tools/exports.txt lists."""
        listed = [line for line in (ROOT / "tools/exports.txt").read_text().splitlines()
                  if line.startswith("sy_")]
        packaged = re.findall(r"^ (sy_\w+)@Base", (ROOT / "debian/libsymph0.symbols").read_text(),
                              flags=re.M)
        self.assertEqual(sorted(listed), sorted(packaged))


if __name__ == "__main__":
    unittest.main()
