#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An engine that speaks the protocol of src/engine/engine.h and runs nothing.

FAKE_DO says what becomes of it, FAKE_RECORD is the record it hands over, FAKE_LOG a file to which
it appends its arguments and process id.
"""
import mmap
import os
import signal
import struct
import sys
import time

MAGIC = 0x53594D50
STARTING, READY, RUNNING, CHECKING, SAVING, DONE, FAILED = range(7)
AT = {"magic": 0, "phase": 4, "tasks": 8, "done": 12, "blame": 16, "line": 1300, "column": 1304}
TEXT = {"message": (20, 1024), "file": (1044, 256), "hint": (1308, 512), "note": (1872, 512)}
RECORD_BYTES_AT = 2384
PAGE_BYTES = 2392
TASKS = 5


class Engine:
    def __init__(self, arguments):
        self.page = mmap.mmap(int(arguments["page"]), PAGE_BYTES)
        self.record = arguments["record"]

    def put(self, **values):
        for key, value in values.items():
            if key in AT:
                struct.pack_into("=I", self.page, AT[key], value)
            else:
                offset, size = TEXT[key]
                self.page[offset:offset + size] = value.encode()[:size].ljust(size, b"\0")

    def ready(self, magic=MAGIC):
        self.put(magic=magic, tasks=TASKS, phase=READY)
        if sys.stdin.buffer.raw.read(1) == b"":
            os._exit(0)

    def run(self, tasks=TASKS):
        self.put(phase=RUNNING)
        for done in range(1, tasks + 1):
            self.put(done=done)

    def hand_over(self):
        with open(os.environ["FAKE_RECORD"], "rb") as source, open(self.record, "wb") as record:
            text = source.read()
            self.announce(len(text))
            record.write(text)

    def announce(self, size):
        struct.pack_into("=Q", self.page, RECORD_BYTES_AT, size)

    def fail(self, **values):
        self.put(magic=MAGIC, **values)
        self.put(phase=FAILED)
        os._exit(values["blame"])


def hang():
    while True:
        time.sleep(1000)


def die(number):
    os.kill(os.getpid(), number)
    hang()


def play(engine, what):
    if what == "silent exit":
        os._exit(7)
    if what == "loader":
        print("error while loading shared libraries: libstarpu-1.3.so.11", file=sys.stderr, flush=True)
        os._exit(127)
    if what == "never ready":
        hang()
    if what == "input":
        engine.fail(message="kernel spam is in no plug-in", file="g.json", line=3, column=7,
                    hint="symph kernels lists them", blame=3)
    if what == "odd code":
        engine.fail(message="odd", blame=77)
    if what == "unfinished text":
        engine.fail(message="m" * 1024, hint="h" * 512, blame=1)
    engine.ready(magic=1 if what == "other magic" else MAGIC)
    if what == "kernel":
        engine.run(3)
        engine.fail(message="kernel gemm failed on tile 3: bad weather", blame=1)
    if what == "segfault told":
        engine.run(3)
        engine.put(message="kernel gemm crashed (SIGSEGV) with input tile 3")
        die(signal.SIGSEGV)
    if what == "killed":
        engine.run(2)
        die(signal.SIGKILL)
    if what == "stuck":
        engine.run(2)
        hang()
    if what == "family":  # leaves a process that would outlive it
        if os.fork() == 0:
            with open(os.environ["FAKE_LOG"], "a", encoding="ascii") as file:
                print("child", os.getpid(), file=file)
            hang()
        time.sleep(0.2)
    if what == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        engine.run(1)
        hang()
    if what == "wait":
        engine.run(1)
        hang()
    if what == "noisy":
        print("x" * 1000000, flush=True)
    engine.run()
    if what == "quits early":
        os._exit(0)
    engine.put(phase=CHECKING)
    if what == "never checks":
        hang()
    if what == "flood":
        with open(engine.record, "wb") as record:
            while True:
                record.write(b"x" * 65536)
    if what == "more":
        with open(engine.record, "ab") as record:
            record.write(b"x")
    if what == "huge":
        engine.announce(1 << 40)
        with open(engine.record, "wb") as record:
            record.write(b"{")
        hang()
    engine.hand_over()
    if what == "wrong":
        engine.fail(message="the result is wrong: 0.01", blame=1)
    engine.put(phase=SAVING)
    if what == "not kept":
        engine.put(note="what was learned is not saved: the disk is full")
    if what == "saves late":  # once somebody says so
        while not os.path.exists(os.environ["FAKE_GATE"]):
            time.sleep(0.01)
    if what == "never saves":
        hang()
    engine.put(phase=DONE)
    if what == "never leaves":
        hang()
    os._exit(0)


def main():
    arguments = dict(word.split("=", 1) for word in sys.argv[1:])
    if "FAKE_LOG" in os.environ:
        with open(os.environ["FAKE_LOG"], "a", encoding="utf-8") as file:
            print("engine", os.getpid(), *sorted(sys.argv[1:]), file=file)
    play(Engine(arguments), os.environ.get("FAKE_DO", "ok"))


main()
