#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a text file as a C string: embed.py INPUT OUTPUT NAME."""
import json
import sys
from pathlib import Path

source, target, name = sys.argv[1:]
lines = Path(source).read_text(encoding="ascii").splitlines()
body = "\n".join("    " + json.dumps(line + "\n") for line in lines)
Path(target).write_text(f"static const char {name}[] =\n{body};\n", encoding="ascii")
