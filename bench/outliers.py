#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What wild samples in a calibration cost: 1 % of them 400 times too long, then clean runs.

In: a build folder. For each policy and seed the cost models are calibrated from nothing, once clean
and once with wild samples; then the same graph is run, clean, and the first run counts. Out: the
share of the clean run's throughput that is kept. Kernels sleep (bench/jumpy.c), on 1 core and 2
OpenCL devices, so that the machine's own noise hardly matters.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path


def symph(build, policy, environment, calibrate, tasks, sizes):
    command = [str(build / "symph"), "run", f"jumpy:mix:tasks={tasks},sizes={sizes}", "--kernels",
               str(build / "bench" / "jumpy.so"), "--policy", policy, "--opencl", "2", "--cpus",
               "2", "--json", "--quiet", "--no-check"]
    if calibrate:
        command += ["--repeat", str(calibrate)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    if done.returncode:
        sys.exit(f"outliers: {' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)["summary"][policy]["makespan_ns"]["median"]


def trial(arguments, policy, probability, seed):
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "HOME": home, "XDG_CACHE_HOME": f"{home}/cache",
                       "XDG_STATE_HOME": f"{home}/state"}
        environment.update(arguments.extra)
        environment.pop("SYMPH_MODELS", None)
        wild = {**environment, "SYMPH_JUMPY": f"{probability}:{seed}"}
        for learner in ("starpu:random" if policy.startswith("starpu:") else "random",):
            symph(arguments.build, learner, wild, arguments.calibrate, arguments.tasks,
                  arguments.sizes)
        return symph(arguments.build, policy, environment, 0, arguments.tasks, arguments.sizes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path, metavar="BUILD")
    parser.add_argument("--policy", default="default,starpu:dmdas")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=240)
    parser.add_argument("--sizes", type=int, default=6)
    parser.add_argument("--calibrate", type=int, default=5, help="runs of the graph to calibrate")
    parser.add_argument("--plain-means", action="store_true",
                        help="StarPU's models without their own rejection of outliers")
    arguments = parser.parse_args()
    arguments.extra = {"STARPU_HISTORY_MAX_ERROR": "1000000"} if arguments.plain_means else {}
    print(f"{'policy':<16}{'clean ms':>10}{'wild ms':>10}{'kept':>8}   over {arguments.seeds} seeds")
    for policy in arguments.policy.split(","):
        pairs = [(trial(arguments, policy, 0, seed), trial(arguments, policy, 0.01, seed))
                 for seed in range(1, arguments.seeds + 1)]
        kept = [clean / wild for clean, wild in pairs]
        print(f"{policy:<16}{statistics.median(p[0] for p in pairs) / 1e6:10.1f}"
              f"{statistics.median(p[1] for p in pairs) / 1e6:10.1f}"
              f"{statistics.mean(kept):8.1%}   worst {min(kept):.1%}", flush=True)


if __name__ == "__main__":
    main()
