#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every C file is as clang-format 14 would write it ("make format" does).

Versions of clang-format disagree, so any other is no judge and the check is skipped.
"""
import re
import shutil
import subprocess
from pathlib import Path

from stylelib import Report, c_files, root_argument, skip

VERSION = "14"
BATCH = 64  # files


def find_clang_format():
    for name in (f"clang-format-{VERSION}", "clang-format"):
        program = shutil.which(name)
        if program:
            output = subprocess.run([program, "--version"], capture_output=True, text=True,
                                    check=False).stdout
            if re.search(rf"version {VERSION}\.", output):
                return program
    return None


def misplaced(program, paths):
    """Each file that is not, and its first line that is not. To start clang-format takes longer than
    to read a file."""
    first = {}
    for start in range(0, len(paths), BATCH):
        batch = paths[start:start + BATCH]
        result = subprocess.run([program, "--style=file", "--dry-run", "-Werror", *map(str, batch)],
                                capture_output=True, text=True, check=False)
        for name, line in re.findall(r"^(.*?):(\d+):\d+: error", result.stderr, re.M):
            first.setdefault(name, line)
        if result.returncode and not any(str(path) in first for path in batch):
            first.setdefault(str(batch[0]), 1)
    return [(Path(name), line) for name, line in first.items()]


def main():
    root = root_argument()
    program = find_clang_format()
    if program is None:
        skip(f"clang-format {VERSION} is not installed")
    report = Report(root)
    for path, line in misplaced(program, list(c_files(root))):
        report.add(path, line, "not formatted; run: make format")
    report.exit()


if __name__ == "__main__":
    main()
