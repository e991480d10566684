# SPDX-License-Identifier: Apache-2.0
"""Which processes run, for the tests that start and kill some."""
import os
import time

PATIENCE_S = 30  # a killed process is gone soon, not at once: a busy machine lets it wait


def alive(pid):
    """A zombie that nobody has reaped does not run."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def descendants(pid):
    """All below a process, parents first."""
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                for child in file.read().split():
                    found += [int(child), *descendants(child)]
    except OSError:  # gone meanwhile
        pass
    return found


def gone(pid):
    until = time.monotonic() + PATIENCE_S
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not alive(pid)
