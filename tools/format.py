#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every C file is as clang-format 14 would write it ("make format" does).

Versions of clang-format disagree, so any other is no judge and the check is skipped.
"""
import re
import shutil
import subprocess

from stylelib import Report, c_files, root_argument, skip

VERSION = "14"


def find_clang_format():
    for name in (f"clang-format-{VERSION}", "clang-format"):
        program = shutil.which(name)
        if program:
            output = subprocess.run([program, "--version"], capture_output=True, text=True,
                                    check=False).stdout
            if re.search(rf"version {VERSION}\.", output):
                return program
    return None


def main():
    root = root_argument()
    program = find_clang_format()
    if program is None:
        skip(f"clang-format {VERSION} is not installed")
    report = Report(root)
    for path in c_files(root):
        result = subprocess.run([program, "--style=file", "--dry-run", "-Werror", str(path)],
                                capture_output=True, text=True, check=False)
        if result.returncode != 0:
            found = re.search(r":(\d+):\d+: error", result.stderr)
            report.add(path, found[1] if found else 1, "not formatted; run: make format")
    report.exit()


if __name__ == "__main__":
    main()
