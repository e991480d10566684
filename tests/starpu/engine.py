# SPDX-License-Identifier: Apache-2.0
"""Drives symph-engine directly, as symph does: a shared page, a byte on its standard input."""
import ctypes
import mmap
import os
import subprocess
import time

PHASES = ["starting", "ready", "running", "checking", "saving", "done", "failed"]
PATIENCE_S = 120  # a first start with OpenCL devices measures their buses


class Page(ctypes.Structure):
    """struct sy_page of src/engine/engine.h."""
    _fields_ = [("magic", ctypes.c_uint32), ("phase", ctypes.c_uint32),
                ("task_count", ctypes.c_uint32), ("done_count", ctypes.c_uint32),
                ("blame", ctypes.c_int32), ("message", ctypes.c_char * 1024),
                ("file", ctypes.c_char * 256), ("line", ctypes.c_uint32),
                ("column", ctypes.c_uint32), ("hint", ctypes.c_char * 512),
                ("growing", ctypes.c_uint32), ("beat", ctypes.c_uint32),
                ("done", ctypes.c_double), ("total", ctypes.c_double),
                ("unit", ctypes.c_char * 24), ("note", ctypes.c_char * 512),
                ("record_bytes", ctypes.c_uint64)]


class Engine:
    """One engine process."""

    def __init__(self, program, *arguments):
        self.fd = os.memfd_create("page")
        os.ftruncate(self.fd, ctypes.sizeof(Page))
        self.memory = mmap.mmap(self.fd, ctypes.sizeof(Page))
        self.page = Page.from_buffer(self.memory)
        self.child = subprocess.Popen([program, *arguments, f"page={self.fd}"],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, pass_fds=[self.fd])

    def phase(self):
        return PHASES[self.page.phase]

    def wait_phase(self, *wanted):
        """Until one of the phases, or its end."""
        end = time.monotonic() + PATIENCE_S
        while self.phase() not in wanted and self.child.poll() is None:
            if time.monotonic() > end:
                self.child.kill()
                raise TimeoutError(f"the engine stays {self.phase()}")
            time.sleep(0.005)
        return self.phase()

    def go(self):
        self.child.stdin.write(b"g")
        self.child.stdin.flush()

    def close_input(self):
        self.child.stdin.close()
        self.child.stdin = None

    def end(self):
        """Its exit code; what it printed is in self.said."""
        try:
            self.said, _ = self.child.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.communicate()
            raise
        return self.child.returncode

    def run(self):
        if self.wait_phase("ready", "failed") == "ready":
            self.go()
        return self.end()

    def note(self):
        return self.page.note.decode()

    def message(self):
        return self.page.message.decode()

    def hint(self):
        return self.page.hint.decode()
