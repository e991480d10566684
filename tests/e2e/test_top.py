# SPDX-License-Identifier: Apache-2.0
"""symph top, on pages that this test itself holds: what it shows of a program, sound or hostile."""
import json
import os
import pty
import struct
import subprocess
import time
import unittest

import cli

# struct sy_status of src/engine/engine.h.
WORKERS, KERNELS, MAGIC = 256, 256, 0x53595331
HEAD = "<III4xdd256s64s8192s16384s"
SIZE = 64 * ((struct.calcsize(HEAD) + 63) // 64)


def names(texts, count, size):
    return b"".join(text.ljust(size, b"\0") for text in texts).ljust(count * size, b"\0")


def page(program=b"prog -n 3", policy=b"lb", kernels=(b"gemm",), workers=(), submitted=0):
    """workers: name, pushed, begun, ended, busy_ns, since_ns, kernel."""
    now_ns = time.monotonic_ns()
    head = struct.pack(HEAD, MAGIC, os.getpid(), len(workers), 1e9, now_ns - 3e9, program, policy,
                       names([worker[0] for worker in workers], WORKERS, 32), names(kernels, KERNELS, 64))
    lines = [struct.pack("<QQQddI", *worker[1:]).ljust(64, b"\0") for worker in workers]
    return (head.ljust(SIZE, b"\0") + struct.pack("<Q", submitted).ljust(64, b"\0") +
            b"".join(lines).ljust(64 * (WORKERS + 1), b"\0"))


class Top(cli.Case):
    def hold(self, content, name="symph-status"):
        fd = os.memfd_create(name)
        os.write(fd, content)
        self.addCleanup(os.close, fd)

    def mine(self):
        found = self.ok_json("top")
        self.assertEqual(found["schema"], "symph-top-1")
        return [program for program in found["programs"] if program["pid"] == os.getpid()]

    def test_a_program(self):
        self.hold(page(submitted=20, workers=[(b"cpu0", 9, 4, 4, 1e9, 2e9, 0),
                                              (b"cuda0", 2, 5, 3, .5e9, 2.5e9, 0)]))
        program, = self.mine()
        self.assertEqual({key: program[key] for key in ("program", "policy", "engine", "phase", "submitted",
                                                        "done", "running", "ready")},
                         {"program": "prog -n 3", "policy": "lb", "engine": False, "phase": "running",
                          "submitted": 20, "done": 7, "running": 2, "ready": 2})
        idle, busy = program["workers"]
        self.assertEqual((idle["name"], idle["kernel"], idle["since_ns"], idle["done"]),
                         ("cpu0", None, None, 4))
        self.assertEqual((busy["name"], busy["kernel"], busy["done"]), ("cuda0", "gemm", 3))
        self.assertGreater(busy["since_ns"], .4e9)
        self.assertTrue(0 < idle["busy_ratio"] <= .5)
        text = self.ok("top", "--once")
        for words in (f"{os.getpid()}  lb", "prog -n 3", "cuda0", "gemm"):
            self.assertIn(words, text)

    def test_other_pages(self):
        for content in (b"", b"x" * 100, page()[:-1], page().replace(struct.pack("<I", MAGIC), b"abcd", 1)):
            self.hold(content)
            self.assertEqual(self.mine(), [])

    def test_names_cannot_harm(self):
        self.hold(page(program=b"\033]0;title\007\xff\n2", kernels=(b"\033[2J",),
                       workers=[(b"a\nb", 0, 1, 0, 0., 0., 0)]))
        text = self.ok("top")
        self.assertNotIn("\033", text)
        self.assertIn("\\x1b", text)
        self.mine()

    def test_numbers_cannot_harm(self):
        nan, most = float("nan"), 2**64 - 1
        self.hold(page(submitted=most, workers=[(b"w", most, most, 0, nan, -1e300, 2**32 - 1),
                                                (b"w", 1, 0, most, float("inf"), nan, 5)]))
        worker = self.mine()[0]["workers"][0]
        self.assertEqual((worker["kernel"], worker["busy_ratio"]), ("?", 1))
        self.assertNotIn("nan", self.ok("top"))

    def test_screen(self):
        """Drawn again and again until q, on the terminal's second page."""
        self.hold(page(workers=[(b"cpu0", 1, 1, 0, 0., 2e9, 0)]))
        master, slave = pty.openpty()
        with subprocess.Popen(cli.command("top", "--interval", "100ms"), stdin=slave, stdout=slave,
                              env={**os.environ, "NO_COLOR": "1"}) as running:
            os.close(slave)
            text = b""
            while text.count(b"cpu0") < 3:
                text += os.read(master, 65536)
            os.write(master, b"q")
            try:
                while more := os.read(master, 65536):
                    text += more
            except OSError:  # the other end is closed
                pass
        os.close(master)
        self.assertEqual(running.returncode, 0)
        self.assertIn(b"\x1b[?1049h", text)
        self.assertTrue(text.rstrip().endswith(b"\x1b[?1049l"))

    def test_duration(self):
        self.assertIn("\x1b[?1049l", self.on_terminal("top", "--interval", "100ms", "--duration", "200ms"))


cli.main()
