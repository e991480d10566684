#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One StarPU program under several schedulers, in interleaved rounds, as a table.

In: a program with its arguments, patterns for the time that it prints and for the word that says that
its result is right. Out: Markdown, each round and the median. All schedulers share a home, and
StarPU's calibrate in a round of their own before the first, as ours learns in it. Exit code 1: a run failed.
"""
import argparse
import datetime
import os
import re
import shlex
import statistics
import sys
import tempfile
from pathlib import Path

import starpulib


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plugin", type=Path, help="libsymph-starpu.so for the program's StarPU")
    parser.add_argument("--starpu", default="1.3", help="its version (1.3)")
    parser.add_argument("--schedulers", default="lws,dmda,dmdas,symph",
                        help="StarPU's, symph for our default, symph:POLICY (lws,dmda,dmdas,symph)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--time", required=True, metavar="PATTERN", help="one group: the seconds")
    parser.add_argument("--right", default="", metavar="PATTERN", help="printed if all is well")
    parser.add_argument("--limit", type=float, default=300, help="seconds per run (300)")
    parser.add_argument("command", nargs="+", metavar="PROGRAM")
    arguments = parser.parse_args()
    if arguments.plugin and not arguments.plugin.is_file():
        parser.error(f"no such plug-in: {arguments.plugin}")
    return arguments


def run_one(arguments, scheduler, home, calibrate):
    plugin = arguments.plugin and arguments.plugin.resolve()
    extra = starpulib.scheduler_environment(scheduler, plugin, arguments.starpu)
    # StarPU's remarks about its models would be more than all else that is printed.
    extra.update(STARPU_NOPENCL="0", STARPU_SILENT="1", **({"STARPU_CALIBRATE": "1"} if calibrate else {}))
    outcome = starpulib.run(arguments.command, extra, arguments.limit, home)
    found = re.search(arguments.time, outcome.output)
    right = outcome.status == 0 and found and re.search(arguments.right, outcome.output)
    if not right:
        print(f"starpu_rounds: {scheduler}: {outcome.reason}", file=sys.stderr)
    return float(found.group(1)) if right else None, outcome.cpu_seconds


def main():
    arguments = parse_arguments()
    starpulib.stop_on_signals()
    arguments.command[0] = str(Path(arguments.command[0]).resolve())
    names = arguments.schedulers.split(",")
    times, cpu = {name: [] for name in names}, {name: [] for name in names}
    with tempfile.TemporaryDirectory(prefix="symph-home-") as home:
        for turn in range(-1, arguments.rounds):
            for name in names:
                seconds, cpu_seconds = run_one(arguments, name, home, turn < 0)
                if turn >= 0:
                    times[name].append(seconds)
                    cpu[name].append(cpu_seconds)
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    shown = [Path(arguments.command[0]).name, *arguments.command[1:]]
    print(f"{date}, `{shlex.join(shown)}`, seconds, load average {os.getloadavg()[1]:.1f}:\n")
    print("| scheduler | " + " | ".join(str(i + 1) for i in range(arguments.rounds))
          + " | median | CPU s, median |")
    print("|---|" + "---:|" * (arguments.rounds + 2))
    for name in names:
        good = [t for t in times[name] if t is not None]
        cells = ["failed" if t is None else f"{t:.3f}" for t in times[name]]
        median = f"{statistics.median(good):.3f}" if good else "failed"
        print(f"| {name} | " + " | ".join(cells)
              + f" | {median} | {statistics.median(cpu[name]):.2f} |")
    return 1 if any(None in found for found in times.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
