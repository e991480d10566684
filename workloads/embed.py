#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a text file as a C string: embed.py INPUT OUTPUT NAME.

A line '#include "FILE"' stands for that file, beside the one it is in.
"""
import json
import re
import sys
from pathlib import Path


def lines_of(path):
    for line in path.read_text(encoding="ascii").splitlines():
        other = re.fullmatch(r'#include "([^"]+)"', line)
        if other:
            yield from lines_of(path.parent / other.group(1))
        else:
            yield line


source, target, name = sys.argv[1:]
body = "\n".join("    " + json.dumps(line + "\n") for line in lines_of(Path(source)))
Path(target).write_text(f"static const char {name}[] =\n{body};\n", encoding="ascii")
