#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library exports what tools/exports.txt lists, no more, no less; and has no mutable globals.

The list is the ABI: a symbol that leaves it breaks programs, one that enters it is a promise.
Every SY_API function of the public headers must be on it. Programs that load plug-ins have all of
them, since plug-ins link no library of ours.
"""
import re
import subprocess
import sys
from pathlib import Path

from stylelib import Report, c_files, code_only, read, root_argument

DECLARED = re.compile(r"\bSY_API\b[^;{]*?\b(sy_\w+)\s*\(")
# Made by the tool chain, not by us.
TOOLCHAIN = re.compile(r"^(_|completed\.|frame_dummy|__)")


def listed_symbols(root):
    lines = read(root / "tools" / "exports.txt").splitlines()
    return {line.strip() for line in lines if line.strip() and not line.startswith("#")}


def declared_symbols(root):
    return {name: path for path in c_files(root, ["include"])
            for name in DECLARED.findall(code_only(read(path)))}


def nm(*arguments):
    return subprocess.run(["nm", *arguments], capture_output=True, text=True,
                          check=True).stdout.splitlines()


def exported_symbols(library):
    return {line.split()[-1].split("@")[0] for line in nm("-D", "--defined-only", str(library))}


def mutable_globals(library):
    """Names in .data and .bss; constant tables live in .rodata and .data.rel.ro."""
    for row in nm("--format=sysv", "--defined-only", str(library)):
        fields = [field.strip() for field in row.split("|")]
        if len(fields) == 7 and fields[6] in (".data", ".bss", ".tdata", ".tbss"):
            if fields[3] in ("OBJECT", "TLS") and not TOOLCHAIN.match(fields[0]):
                yield fields[0]


def main():
    root = root_argument("ROOT LIBRARY [PROGRAM...]")
    if len(sys.argv) < 3:
        sys.exit("usage: exports.py ROOT LIBRARY [PROGRAM...]")
    library = Path(sys.argv[2])
    report = Report(root)
    listed, exported = listed_symbols(root), exported_symbols(library)
    declared = declared_symbols(root)
    table = root / "tools" / "exports.txt"
    for name in sorted(exported - listed):
        report.add(table, 1, f"{name} is exported but not listed")
    for name in sorted(listed - exported):
        report.add(table, 1, f"{name} is listed but the library does not export it")
    for name in sorted(set(declared) - listed):
        report.add(declared[name], 1, f"{name} is SY_API but not in tools/exports.txt")
    for program in map(Path, sys.argv[3:]):
        for name in sorted(listed - exported_symbols(program)):
            report.add(program, 0, f"plug-ins do not find {name} in {program.name}")
    for name in mutable_globals(library):
        report.add(library, 0, f"{name} is a global that can change; the library keeps none")
    report.exit()


if __name__ == "__main__":
    main()
