#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every StarPU example under a scheduler of StarPU's and under Symphony's plug-in.

In: the examples of Debian's starpu-examples (StarPU 1.3), or with --prefix those that
tools/starpu-build.sh --examples left in a prefix; MPI examples run on two ranks. Out: both counts,
and every example that passes under the first but not under the second. Exit code 1 if there is one.
"""
import argparse
import fnmatch
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import starpulib

PACKAGED = "/usr/lib/*-linux-gnu/starpu"
# Programs that start others, or that wait for a person.
NOT_EXAMPLES = {"loader", "mandelbrot", "tasks_size_overhead.gp"}
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plugin", type=Path, help="libsymph-starpu.so for this StarPU")
    parser.add_argument("--prefix", type=Path, help="StarPU 1.4 with its build (default: Debian's)")
    parser.add_argument("--policy", default="", help="which of ours (default: the default)")
    parser.add_argument("--baseline", default="lws", help="StarPU's, to compare with")
    parser.add_argument("--against", help="one of StarPU's instead of the plug-in: a trial run")
    parser.add_argument("--only", default="*", metavar="GLOB", help="names to run")
    parser.add_argument("--opencl", type=int, default=0, metavar="N", help="N PoCL devices too")
    parser.add_argument("--limit", type=float, default=60, help="seconds per example (60)")
    parser.add_argument("--jobs", type=int, default=2, help="examples at a time (default 2)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    if not arguments.plugin and not arguments.against:
        parser.error("--plugin is missing; tools/starpu-plugin.sh builds one")
    if arguments.plugin and not arguments.plugin.is_file():
        parser.error(f"no such plug-in: {arguments.plugin}")
    if arguments.prefix and not (arguments.prefix / "build/examples").is_dir():
        parser.error(f"no examples in {arguments.prefix}/build: tools/starpu-build.sh --examples")
    return arguments


def is_program(path):
    return path.is_file() and os.access(path, os.X_OK) and path.name not in NOT_EXAMPLES


def packaged_examples():
    """(name, path, whether it wants MPI); the files of the Debian package."""
    found = []
    for folder in Path("/").glob(PACKAGED[1:]):
        for part in ("examples", "mpi"):
            found += [(f"{part}/{path.relative_to(folder / part)}", path, part == "mpi")
                      for path in sorted((folder / part).rglob("*")) if is_program(path)]
    return found


def built_examples(prefix, parts=("examples", "mpi/examples")):
    """The same of a build folder: the programs behind libtool's wrappers."""
    found = []
    for part in parts:
        base = prefix.resolve() / "build" / part
        for path in sorted(base.rglob(".libs/*")):
            if is_program(path) and ".so" not in path.name:
                name = f"{part}/{path.parent.parent.relative_to(base) / path.name}"
                found.append((name, path, part.startswith("mpi")))
    return found


def opencl_environment(count):
    if count == 0:
        return {"STARPU_NOPENCL": "0"}
    return {"STARPU_NOPENCL": str(count), "STARPU_OPENCL_ON_CPUS": "1",
            "POCL_DEVICES": " ".join(["pthread"] * count)}


def run_example(arguments, example, scheduler, home):
    name, path, wants_mpi = example
    chosen = starpulib.scheduler_environment(
        scheduler, arguments.plugin and arguments.plugin.resolve(),
        "1.4" if arguments.prefix else "1.3")
    extra = {**opencl_environment(arguments.opencl), "STARPU_WORKERS_NOBIND": "1"}
    if "/openmp/" in name:  # with fewer, StarPU's OpenMP fails under any scheduler now and then
        extra["OMP_NUM_THREADS"] = str(os.cpu_count())
    command = [str(path)]
    if wants_mpi:
        # Only the ranks get the scheduler, not mpirun itself.
        command = [*MPIRUN, "env", *(f"{key}={value}" for key, value in chosen.items()), *command]
        extra.update(STARPU_NCPU="1", OMPI_MCA_btl="self,vader")
    else:
        extra.update(chosen)
    return starpulib.run(command, extra, arguments.limit, home)


def run_all(arguments, examples, scheduler):
    """{name: outcome}. One home for all, so that StarPU measures the buses once, in a run alone."""
    with tempfile.TemporaryDirectory(prefix="symph-home-") as home:
        warm = next((e for e in examples if e[0].endswith("/vector_scal")), examples[0])
        run_example(arguments, warm, scheduler, home)

        def one(example):
            outcome = run_example(arguments, example, scheduler, home)
            if sys.stderr.isatty():
                print(f"\r\033[K{scheduler} {example[0]}: {outcome.verdict}", end="",
                      file=sys.stderr, flush=True)
            return outcome

        with ThreadPoolExecutor(max(1, arguments.jobs)) as pool:
            outcomes = dict(zip((e[0] for e in examples), pool.map(one, examples)))
        for example in examples:  # a busy machine is no reason: once more, alone
            if outcomes[example[0]].verdict == "timeout":
                outcomes[example[0]] = one(example)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return outcomes


def summary(scheduler, outcomes):
    count = Counter(outcome.verdict for outcome in outcomes.values())
    return (f"{scheduler:12} {count['pass']:4} passed, {count['skip']} skipped, "
            f"{count['fail']} failed, {count['timeout']} out of time, of {len(outcomes)}")


def report(arguments, runs, worse):
    first, second = runs
    if arguments.json:
        print(json.dumps({
            "schema": "symph-starpu-examples-1",
            "built_for": arguments.plugin and starpulib.version_of(arguments.plugin),
            "schedulers": list(runs), "worse": worse,
            "examples": [{"name": name, **{scheduler: {
                "verdict": outcomes[name].verdict, "seconds": round(outcomes[name].seconds, 2),
                **({} if outcomes[name].verdict in ("pass", "skip")
                   else {"reason": outcomes[name].reason})}
                for scheduler, outcomes in runs.items()}} for name in runs[first]]}, indent=1))
        return
    for scheduler, outcomes in runs.items():
        print(summary(scheduler, outcomes))
    for name, outcome in runs[first].items():
        if outcome.verdict in ("fail", "timeout") and name not in worse:
            print(f"  {name}: not under {first} either: {outcome.reason}")
    for name in worse:
        print(f"WORSE {name}: {runs[second][name].verdict} under {second}:"
              f" {runs[second][name].reason}")


def main():
    arguments = parse_arguments()
    starpulib.stop_on_signals()
    examples = built_examples(arguments.prefix) if arguments.prefix else packaged_examples()
    if not examples:
        print("skipped: the package starpu-examples is not installed")
        return 77
    examples = [e for e in examples if fnmatch.fnmatch(e[0], arguments.only)
                or fnmatch.fnmatch(Path(e[0]).name, arguments.only)]
    if not shutil.which("mpirun"):
        print("no mpirun: examples for MPI are left out", file=sys.stderr)
        examples = [e for e in examples if not e[2]]
    if not examples:
        print(f"starpu_examples: no example is called '{arguments.only}'", file=sys.stderr)
        return 2
    ours = arguments.against or "symph" + (f":{arguments.policy}" if arguments.policy else "")
    first = run_all(arguments, examples, arguments.baseline)
    # What never ends is not waited for twice.
    ending = [e for e in examples if first[e[0]].verdict != "timeout"]
    runs = {arguments.baseline: first, ours: {name: o for name, o in first.items()
                                              if o.verdict == "timeout"}}
    runs[ours].update(run_all(arguments, ending, ours))
    worse = [name for name, outcome in runs[arguments.baseline].items()
             if outcome.verdict == "pass" and runs[ours][name].verdict != "pass"]
    report(arguments, runs, worse)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
