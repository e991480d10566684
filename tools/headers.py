#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each public header compiles alone, without a warning, as C11 and as C++17."""
import shutil
import subprocess

from stylelib import Report, c_files, root_argument, skip

COMPILERS = [("C11", ["gcc", "-x", "c", "-std=c11"]), ("C++17", ["g++", "-x", "c++", "-std=c++17"])]


def main():
    root = root_argument()
    for _, command in COMPILERS:
        if not shutil.which(command[0]):
            skip(f"{command[0]} is not installed")
    report = Report(root)
    for path in c_files(root, ["include"]):
        name = path.relative_to(root / "include")
        program = f"#include <{name}>\n" * 2
        for language, command in COMPILERS:
            result = subprocess.run(
                command + ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only",
                           "-I", str(root / "include"), "-"],
                input=program, capture_output=True, text=True, check=False)
            if result.returncode != 0:
                first = next((line for line in result.stderr.splitlines() if "error" in line),
                             result.stderr.strip())
                report.add(path, 1, f"does not compile as {language}: {first}")
    report.exit()


if __name__ == "__main__":
    main()
