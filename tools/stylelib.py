# SPDX-License-Identifier: Apache-2.0
"""What the style checks share: finding files, blanking comments, reporting.

A check takes the root of a tree as its first argument, prints one "file:line: what is wrong" per
finding, and exits 0 (clean), 1 (findings) or 77 (skipped, with the reason printed).
"""
import os
import re
import sys
from pathlib import Path

SKIP = 77
CODE_DIRS = ["src", "include", "tests", "fuzz", "bench", "examples", "workloads"]
NOT_OURS = re.compile(r"^(\.git|build.*|demo|__pycache__|node_modules)$")


def tree_files(root):
    """Every file of the tree but what was built; works without git."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not NOT_OURS.match(name))
        for name in sorted(names):
            path = Path(folder) / name
            # In a second work tree .git is a file, with the path of the first.
            if name != ".git" and path.is_file() and not path.is_symlink():
                yield path


def c_files(root, folders=None):
    """The C files and headers under the given folders."""
    for folder in folders or CODE_DIRS:
        for path in tree_files(Path(root) / folder):
            if path.suffix in (".c", ".h"):
                yield path


def read(path):
    return path.read_text(encoding="utf-8", errors="replace")


TOKENS = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def code_only(text):
    """The text with comments and literals blanked; offsets and lines stay where they were."""
    return TOKENS.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


class Report:
    """Collects findings and turns them into an exit status."""

    def __init__(self, root):
        self.root = Path(root)
        self.findings = []

    def add(self, path, line, message):
        try:
            path = Path(path).relative_to(self.root)
        except ValueError:
            pass
        self.findings.append(f"{path}:{line}: {message}")

    def exit(self):
        for finding in self.findings:
            print(finding)
        if self.findings:
            print(f"{len(self.findings)} finding(s)")
        sys.exit(1 if self.findings else 0)


def skip(reason):
    print(f"SKIP: {reason}")
    sys.exit(SKIP)


def root_argument(usage="ROOT"):
    if len(sys.argv) < 2 or not Path(sys.argv[1]).is_dir():
        print(f"usage: {Path(sys.argv[0]).name} {usage}", file=sys.stderr)
        sys.exit(2)
    return Path(sys.argv[1]).resolve()
