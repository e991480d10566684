#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/embed_weights.py: no weights, some, and ones that must stop the build.

Usage: embed.py TOOL. The floats that it writes read back to the bits that went in.
"""
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

VALUES = [0.1, -0.0, 1e-45, 3.4028234e38, -2.5]


def fnv1a(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 % 2 ** 64
    return value


def weights(kind, origin="command x \"y\" \\z ??/\n"):
    block = struct.pack(f"<{len(VALUES)}f", *VALUES)
    header = (f"symph-weights 1\nkind {kind}\nshape 7\ncount {len(VALUES)}\n"
              f"hash {fnv1a(block):016x}\n{origin}").encode()
    return header + bytes(64 - len(header) % 64) + block


def run(tool, folder, out):
    return subprocess.run([sys.executable, tool, folder, out], capture_output=True, text=True,
                          check=False)


def blocks(text):
    for body in re.findall(r"float block\d+\[\] = \{(.*?)\};", text, re.S):
        yield [float.fromhex(word.strip()[:-1]) for word in body.split(",") if word.strip()]


def good(tool, root):
    out, folder = root / "out.c", root / "weights"
    assert run(tool, folder, out).returncode == 0, "a folder that is not there"
    assert "block" not in out.read_text().replace(".block", "")
    folder.mkdir()
    (folder / "README").write_text("not weights")
    for kind in ("symphony", "black-box"):
        (folder / f"{kind}.weights").write_bytes(weights(kind))
        assert run(tool, folder, out).returncode == 0, kind
    found = list(blocks(out.read_text()))
    want = struct.pack(f"<{len(VALUES)}f", *VALUES)
    assert len(found) == 2 and all(struct.pack("<5f", *block) == want for block in found)
    assert '.origin = "command x \\042y\\042 \\134z \\077\\077/\\n"' in out.read_text()
    before = out.stat().st_mtime_ns
    assert run(tool, folder, out).returncode == 0
    assert out.stat().st_mtime_ns == before, "written again though nothing changed"


def bad(tool, root):
    whole = weights("symphony")
    changed = whole[:-1] + bytes([whole[-1] ^ 1])
    cases = {"cut": whole[:-4], "changed": changed, "empty": b"", "text": b"symph-weights 2\n",
             "kind": weights("black-box"), "long": whole + b"\0\0\0\0"}
    for name, data in cases.items():
        folder = root / name
        folder.mkdir()
        (folder / "symphony.weights").write_bytes(data)
        result = run(tool, folder, root / f"{name}.c")
        assert result.returncode == 1 and "symphony.weights: " in result.stderr, name
        assert not (root / f"{name}.c").exists(), name


def main():
    with tempfile.TemporaryDirectory() as root:
        good(sys.argv[1], Path(root))
        bad(sys.argv[1], Path(root))
    print("ok")


if __name__ == "__main__":
    main()
