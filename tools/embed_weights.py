#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns every FOLDER/<kind>.weights into constants of one C file (src/nets/embedded.h).

Usage: embed_weights.py FOLDER OUT. A folder that is missing or empty gives a table without weights.
The output is left alone when it would not change, so that nothing is compiled again.
"""
import math
import re
import struct
import sys
from pathlib import Path

HEADER = re.compile(rb"symph-weights 1\nkind ([a-z0-9-]+)\nshape (\d+)\ncount (\d+)\n"
                    rb"hash ([0-9a-f]{16})\n((?:[a-z0-9_-]+ [^\n\0]+\n)*)\0")
ALIGN, PER_LINE = 64, 6


def fnv1a(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return value


def read_weights(path):
    data = path.read_bytes()
    header = HEADER.match(data)
    if not header:
        sys.exit(f"{path}: not a weights file of version 1")
    kind, shape, count = header[1].decode(), int(header[2]), int(header[3])
    start = ((header.end() - 1) // ALIGN + 1) * ALIGN
    block = data[start:]
    if kind != path.stem:
        sys.exit(f"{path}: holds weights of kind {kind}: name it {kind}.weights")
    if len(block) != 4 * count or fnv1a(block) != int(header[4], 16):
        sys.exit(f"{path}: was cut or changed: its size or hash is wrong")
    values = struct.unpack(f"<{count}f", block)
    if not all(map(math.isfinite, values)):
        sys.exit(f"{path}: has a weight that is not finite")
    return kind, shape, values, header[4].decode(), header[5]


def c_string(text):
    plain = "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}"
                    for byte in text)
    return '"' + plain.replace("\\012", '\\n"\n    "') + '"'


def render(folder):
    out = ['/* Made by tools/embed_weights.py. */', '#include "nets/embedded.h"', ""]
    table = []
    for number, path in enumerate(sorted(folder.glob("*.weights"))):
        kind, shape, values, digest, origin = read_weights(path)
        words = [value.hex() + "f" for value in values]
        out.append(f"static const _Alignas(64) float block{number}[] = {{")
        out += ["    " + ", ".join(words[i:i + PER_LINE]) + ","
                for i in range(0, len(words), PER_LINE)]
        out += ["};", ""]
        table.append(f'    {{.kind = "{kind}", .shape = {shape}u, .block = block{number}, '
                     f".count = {len(values)}u, .hash = 0x{digest}u,\n"
                     f"     .origin = {c_string(origin)}}},")
    return "\n".join(out + ["const struct sy_weights sy_weights_embedded[] = {", *table,
                            "    {.kind = NULL},", "};", ""])


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: embed_weights.py FOLDER OUT")
    folder, target = Path(sys.argv[1]), Path(sys.argv[2])
    text = render(folder)
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
