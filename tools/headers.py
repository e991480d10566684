#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each public header compiles alone, without a warning, as C11 and as C++17. Each private one
compiles alone, too, and any may be included with any other: no two give one name two meanings."""
import shutil
import subprocess

from stylelib import Report, c_files, read, root_argument, skip

PUBLIC = [("C11", ["gcc", "-x", "c", "-std=c11", "-pedantic"]),
          ("C++17", ["g++", "-x", "c++", "-std=c++17", "-pedantic"])]
PRIVATE = ["gcc", "-x", "c", "-std=gnu17", "-D_GNU_SOURCE"]


def starpu_flags():
    """What StarPU's headers need; None: it is not installed."""
    for name in ("starpu-1.4", "starpu-1.3"):
        result = subprocess.run(["pkg-config", "--cflags", name], capture_output=True, text=True,
                                check=False)
        if result.returncode == 0:
            return result.stdout.split()
    return None


def compiles(command, names, folders):
    """The first error that the compiler finds in a file with just these includes, or None."""
    program = "".join(f'#include "{name}"\n' for name in names)
    result = subprocess.run(
        command + ["-Wall", "-Wextra", "-Werror", "-fsyntax-only"] +
        [word for folder in folders for word in ("-I", str(folder))] + ["-"],
        input=program, capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return None
    return next((line for line in result.stderr.splitlines() if "error" in line),
                result.stderr.strip())


def check_private(report, root):
    flags = starpu_flags() if shutil.which("pkg-config") else None
    folders = [root / "include", root / "src", root / "bench"]
    names = []
    for path in c_files(root, ["include", "src", "bench"]):
        # What has no guard is a piece of a file, included for each of its variants.
        if path.suffix != ".h" or "#ifndef" not in read(path):
            continue
        if flags is None and "starpu" in path.parts:
            continue
        names.append(path.relative_to(next(f for f in folders if f in path.parents)).as_posix())
        error = compiles(PRIVATE + (flags or []), [names[-1]] * 2, folders)
        if error:
            report.add(path, 1, f"does not compile alone: {error}")
    for order in (names, names[::-1]):
        error = compiles(PRIVATE + (flags or []), order, folders)
        if error and not report.findings:
            report.add(root, 1, f"headers that do not go together: {error}")


def main():
    root = root_argument()
    for command in ("gcc", "g++"):
        if not shutil.which(command):
            skip(f"{command} is not installed")
    report = Report(root)
    for path in c_files(root, ["include"]):
        for language, command in PUBLIC:
            name = path.relative_to(root / "include").as_posix()
            error = compiles(command, [name] * 2, [root / "include"])
            if error:
                report.add(path, 1, f"does not compile as {language}: {error}")
    check_private(report, root)
    report.exit()


if __name__ == "__main__":
    main()
