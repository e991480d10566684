#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a scheduler costs per task: empty StarPU tasks under StarPU's own and under Symphony's.

In: a build folder. Rounds are interleaved, so that what disturbs the machine hits all. Out: a table
of microseconds per task, minimum and median, and the ratio of medians to dmda; JSON on request.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BASELINE = "dmda"


def run(build, scheduler, tasks, buffers, home, workers, length_us):
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("STARPU_", "SYMPH_"))}
    environment.update(HOME=home, STARPU_SILENT="1", STARPU_NOPENCL="0")
    if workers:
        environment["STARPU_NCPU"] = str(workers)
    command = [str(build / "bench" / "starpu_overhead"), str(tasks), str(buffers), str(length_us)]
    if scheduler.startswith("symph:"):
        command = [str(build / "symph"), "starpu", "--quiet", "--policy",
                   scheduler.removeprefix("symph:"), "--"] + command
    else:
        environment["STARPU_SCHED"] = scheduler
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"starpu_overhead: {scheduler} failed: {done.stderr.strip()}")
    return float(done.stdout.split()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path, metavar="BUILD")
    parser.add_argument("--tasks", type=int, default=20000)
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--schedulers",
                        default="eager,lws,dmda,dmdas,symph:default,symph:lb,symph:dmdas,symph:eager")
    parser.add_argument("--buffers", default="0,3")
    parser.add_argument("--workers", default="0", help="CPU workers, such as 2,4 (default: StarPU's choice)")
    parser.add_argument("--length", type=float, default=0, metavar="US", help="how long a task computes")
    parser.add_argument("-o", "--out", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    schedulers = arguments.schedulers.split(",")
    if BASELINE not in schedulers:
        parser.error(f"--schedulers must name {BASELINE}, the baseline")
    results = []
    with tempfile.TemporaryDirectory() as home:
        cells = [(workers, buffers) for workers in map(int, arguments.workers.split(","))
                 for buffers in map(int, arguments.buffers.split(","))]
        for workers, buffers in cells:
            samples = {name: [] for name in schedulers}
            for name in schedulers:  # calibrates buses and models
                run(arguments.build, name, arguments.tasks // 10, buffers, home, workers, arguments.length)
            for _ in range(arguments.repeat):
                for name in schedulers:
                    samples[name].append(run(arguments.build, name, arguments.tasks, buffers, home,
                                             workers, arguments.length))
            base = statistics.median(samples[BASELINE])
            print(f"{workers or 'all'} workers, {buffers} buffers, {arguments.tasks} tasks of "
                  f"{arguments.length:g} us, {arguments.repeat} rounds: us per task")
            print(f"{'scheduler':<16}{'min':>8}{'median':>8}{'/ ' + BASELINE:>8}  rounds")
            for name in schedulers:
                middle = statistics.median(samples[name])
                print(f"{name:<16}{min(samples[name]):8.2f}{middle:8.2f}{middle / base:8.2f}  "
                      + " ".join(f"{us:.2f}" for us in samples[name]))
                results.append({"workers": workers, "buffers": buffers, "scheduler": name,
                                "us": samples[name], "median_us": middle, "ratio": middle / base})
            print(flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps({"schema": "symph-starpu-overhead-1",
                                              "tasks": arguments.tasks, "runs": results}, indent=1))


if __name__ == "__main__":
    main()
