#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nothing that was built looks for libraries below the current folder: whoever could put files there
would be run. Given: the build tree."""
import os
import re
import subprocess
import sys

PATHS = re.compile(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]")


def built(root):
    """Programs and shared objects; object files have no such paths."""
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.endswith(".p")]
        for name in names:
            path = os.path.join(folder, name)
            if os.path.islink(path) or not os.path.isfile(path):
                continue
            with open(path, "rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield path


def main():
    root = sys.argv[1]
    files = sorted(built(root))
    wrong = []
    for path in files:
        text = subprocess.run(["readelf", "-dW", path], capture_output=True, text=True).stdout
        for entry in (entry for paths in PATHS.findall(text) for entry in paths.split(":")):
            if not re.match(r"(/|\$ORIGIN(/|$))", entry):
                wrong.append(f"{os.path.relpath(path, root)}: searches '{entry}'")
    for line in wrong:
        print(line)
    print(f"{len(files)} files, {len(wrong)} wrong paths")
    sys.exit(1 if wrong or not files else 0)


main()
