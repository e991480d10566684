#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An idle engine uses under 1 % CPU: time that a ready, waiting symph-engine takes, per policy.

    bench/engine_idle.py BUILD [SECONDS]

BUILD is a build folder with the tests' plug-in. Prints JSON; exit code 1 if some figure is 1 % or
more.
"""
import json
import os
import platform
import subprocess
import sys
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(SOURCE, "tests", "starpu"))
from engine import Engine  # noqa: E402


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def idle_percent(build, policy, seconds, *devices):
    engine = Engine(os.path.join(build, "src/engine/starpu/symph-engine"), f"policy={policy}",
                    f"kernels={build}/tests/starpu", "spec=faulty:chain:chains=4,tasks=100",
                    "record=/dev/null", "models=", *devices)
    if engine.wait_phase("ready", "failed") != "ready":
        sys.exit(f"the engine does not start: {engine.message()}")
    before, start = cpu_seconds(engine.child.pid), time.monotonic()
    time.sleep(seconds)
    percent = (cpu_seconds(engine.child.pid) - before) / (time.monotonic() - start) * 100
    engine.close_input()
    engine.end()
    return percent


def main():
    build = os.path.abspath(sys.argv[1])
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 10
    commit = subprocess.run(["git", "-C", SOURCE, "rev-parse", "--short", "HEAD"], text=True,
                            capture_output=True, check=False).stdout.strip()
    cells = [{"policy": policy, "devices": devices,
              "cpu_percent": idle_percent(build, policy, seconds, *devices)}
             for policy in ["lb", "dmdas", "learned", "starpu:eager", "starpu:dmdas"]
             for devices in (["cpus=2", "opencl=0"], ["cpus=2", "opencl=2"])]
    print(json.dumps({"schema": "symph-bench-idle-1", "commit": commit,
                      "machine": platform.processor() or platform.machine(),
                      "cores": os.cpu_count(), "seconds": seconds, "cells": cells}, indent=2))
    return int(any(cell["cpu_percent"] >= 1 for cell in cells))


if __name__ == "__main__":
    sys.exit(main())
