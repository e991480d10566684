# SPDX-License-Identifier: Apache-2.0
"""Whether a process still runs, for the tests that start and kill some."""
import time

PATIENCE_S = 30  # a killed process is gone soon, not at once: a busy machine lets it wait


def alive(pid):
    """A zombie that nobody has reaped does not run."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(pid):
    until = time.monotonic() + PATIENCE_S
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not alive(pid)
