#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Size limits: functions (by pmccabe) and files.

A file whose size has a reason carries a comment line "style-waiver: the reason".
"""
import re
import shutil
import subprocess

from stylelib import Report, c_files, read, root_argument, skip

FUNCTION_LINES, COMPLEXITY, FILE_LINES, HEADER_LINES = 80, 15, 800, 300
WAIVER = re.compile(r"style-waiver:[ \t]*(.*?)[ \t]*(?:\*/)?[ \t]*$", re.M)
# complexity, traditional complexity, statements, first line, lines, "file(line): function"
ROW = re.compile(r"(\d+)\s+\d+\s+\d+\s+(\d+)\s+(\d+)\s+(.*)\(\d+\): (.*)")


def check_functions(report, path):
    output = subprocess.run(["pmccabe", str(path)], capture_output=True, text=True, check=False)
    for row in output.stdout.splitlines():
        match = ROW.match(row)
        if not match:
            continue
        complexity, line, lines, name = int(match[1]), match[2], int(match[3]), match[5]
        if lines > FUNCTION_LINES:
            report.add(path, line, f"{name} has {lines} lines; at most {FUNCTION_LINES}")
        if complexity > COMPLEXITY:
            report.add(path, line, f"{name} has complexity {complexity}; at most {COMPLEXITY}")


def main():
    root = root_argument()
    if not shutil.which("pmccabe"):
        skip("pmccabe is not installed")
    report = Report(root)
    for path in c_files(root):
        text = read(path)
        waiver = WAIVER.search(text)
        if waiver:
            if len(waiver[1]) < 8:
                report.add(path, text.count("\n", 0, waiver.start()) + 1,
                           "a style-waiver names its reason")
            continue
        limit = HEADER_LINES if path.suffix == ".h" else FILE_LINES
        lines = text.count("\n")
        if lines > limit:
            report.add(path, limit + 1, f"the file has {lines} lines; at most {limit}")
        check_functions(report, path)
    report.exit()


if __name__ == "__main__":
    main()
