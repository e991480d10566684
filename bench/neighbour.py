#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does a policy cope with another process on the machine? Runs graphs alone and beside a neighbour.

In: the symph command, workloads as symph run takes them, commands that press on the machine: copies
of known pace (bench/neighbour.c, bench/gpu_load.c), or anything else. Out: a Markdown table of
makespans, medians, with and without the neighbours, how many times faster than the baseline each
policy is, tasks on accelerators and bytes moved; JSON on request. Runs are interleaved: each round
runs every policy alone, then all of them beside the neighbours, which are started and stopped in
each round; which comes first alternates. Cost models are calibrated alone, before, and go on learning.
"""
import argparse
import datetime
import json
import math
import os
import platform
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def find(name, symph):
    """A program of ours: in the bundle's folder, or in the build's bench/; else by PATH."""
    build = os.path.dirname(os.path.abspath(shlex.split(symph)[0]))
    for folder in (HERE, os.path.join(build, "bench")):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return shutil.which(name) or sys.exit(f"neighbour: no program '{name}'")


class Neighbours:
    """Commands that run while this is open; what they print at their end is kept."""

    def __init__(self, commands, settle_s):
        self.commands, self.settle_s, self.said = commands, settle_s, []

    def __enter__(self):
        self.running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                         text=True, start_new_session=True)
                        for command in self.commands]
        try:
            time.sleep(self.settle_s)
            self.look()
        except BaseException:
            self.__exit__()
            raise
        return self

    def look(self):
        for process in self.running:
            if process.poll() is not None:
                out, error = process.communicate()
                sys.exit(f"neighbour: {' '.join(process.args)}: ended by itself (exit "
                         f"{process.returncode}): {(error or out).strip()}")

    def __exit__(self, *_):
        for process in self.running:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        for process in self.running:
            process.wait()
            out = "" if process.stdout.closed else process.communicate()[0]
            try:
                self.said.append(json.loads(out))
            except ValueError:
                pass  # not one of ours


def run(arguments, spec, policy):
    command = shlex.split(arguments.symph) + [
        "run", spec, "--policy", policy, "--json", "--quiet", "--no-check"]
    command += shlex.split(arguments.options)
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"neighbour: {' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
    answer = json.loads(done.stdout)
    one = answer["runs"][0]
    kinds = {d["name"]: d["kind"] for d in answer["machine"]["devices"]}
    fast = sum(d["tasks"] for d in one["devices"] if kinds[d["name"]] != "cpu")
    tasks = sum(d["tasks"] for d in one["devices"])
    return {"makespan_ms": one["makespan_ns"] / 1e6, "accelerators": fast / max(tasks, 1),
            "moved_gb": one["bytes_moved"] / 1e9}


def rounds(arguments, spec, policies):
    """{(policy, beside): [runs]}, and what the neighbours said."""
    runs, said = {(p, b): [] for p in policies for b in (False, True)}, []
    for _ in range(arguments.calibrate):
        for policy in policies:
            run(arguments, spec, policy)
    for index in range(arguments.repeat):
        turned = policies[index % len(policies):] + policies[:index % len(policies)]
        for with_them in (False, True) if index % 2 == 0 else (True, False):
            if not with_them:
                for policy in turned:
                    runs[policy, False].append(run(arguments, spec, policy))
                continue
            with Neighbours(arguments.commands, arguments.settle) as neighbours:
                for policy in turned:
                    runs[policy, True].append(run(arguments, spec, policy))
                    neighbours.look()
            said += neighbours.said
    return runs, said


def median(samples, what):
    return statistics.median(sample[what] for sample in samples)


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def table(arguments, policies, all_runs):
    """Prints it; returns {policy: {"alone", "beside"}}: geometric means of baseline / policy."""
    faster = {p: {"alone": [], "beside": []} for p in policies}
    print("| workload | policy | alone, ms | beside, ms | x faster alone | x faster beside "
          "| on accelerators alone, beside | GB moved alone, beside |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for spec, runs in all_runs.items():
        for p in policies:
            times = {}
            for name, b in (("alone", False), ("beside", True)):
                times[name] = median(runs[p, b], "makespan_ms")
                faster[p][name].append(median(runs[arguments.baseline, b], "makespan_ms") / times[name])
            print(f"| {spec} | {p} | {times['alone']:.1f} | {times['beside']:.1f} "
                  f"| {faster[p]['alone'][-1]:.2f} | {faster[p]['beside'][-1]:.2f} "
                  + "| " + ", ".join(f"{median(runs[p, b], 'accelerators'):.0%}" for b in (False, True))
                  + " | " + ", ".join(f"{median(runs[p, b], 'moved_gb'):.2f}" for b in (False, True)) + " |")
    means = {p: {name: geomean(values) for name, values in faster[p].items()} for p in policies}
    for p in policies:
        print(f"| geometric mean | {p} | | | {means[p]['alone']:.2f} | {means[p]['beside']:.2f} | | |")
    return means


def commit():
    done = subprocess.run(["git", "-C", HERE, "rev-parse", "--short", "HEAD"], capture_output=True,
                          text=True)
    return done.stdout.strip() or None


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("symph", help="the command; may be several words")
    parser.add_argument("workloads", nargs="+")
    parser.add_argument("--policy", default="starpu:dmdas,default,lb-cont,learned")
    parser.add_argument("--baseline", default="starpu:dmdas")
    parser.add_argument("--neighbour", action="append", metavar="CMD",
                        help="a command to run beside; may be given several times (default: "
                             "neighbour 1e9 3600, see bench/neighbour.c)")
    parser.add_argument("--neighbours", type=int, default=1, help="how many of each (default 1)")
    parser.add_argument("--settle", type=float, default=2, metavar="S",
                        help="seconds between a neighbour's start and the first run (default 2)")
    parser.add_argument("--repeat", type=int, default=5, help="rounds (default 5)")
    parser.add_argument("--calibrate", type=int, default=2, help="runs that are not counted")
    parser.add_argument("--options", default="", help="of symph run: --options=\"--opencl 2\"")
    parser.add_argument("-o", "--out", metavar="FILE")
    arguments = parser.parse_args()
    given = arguments.neighbour or ["neighbour 1e9 3600"]
    arguments.commands = []
    for text in given:
        words = shlex.split(text)
        arguments.commands += [[find(words[0], arguments.symph)] + words[1:]] * arguments.neighbours
    if arguments.baseline not in arguments.policy.split(","):
        parser.error(f"--policy must name the baseline {arguments.baseline}")
    return arguments


def main():
    arguments = parse()
    policies = arguments.policy.split(",")
    all_runs, said = {}, []
    for spec in arguments.workloads:
        all_runs[spec], more = rounds(arguments, spec, policies)
        said += more
    print(f"Medians of {arguments.repeat} rounds, {arguments.calibrate} runs of each before; options "
          f"`{arguments.options}`; beside "
          + ", ".join(f"`{' '.join([os.path.basename(c[0])] + c[1:])}`" for c in arguments.commands)
          + f"; baseline {arguments.baseline}.\n")
    means = table(arguments, policies, all_runs)
    busy = sum(s.get("busy_s", s.get("seconds", 0)) for s in said)
    if busy:
        print(f"\nThe neighbours moved {sum(s['bytes'] for s in said) / busy / 1e9:.2f} GB/s each while "
              "they worked.")
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as file:
            json.dump({"schema": "symph-neighbour-1", "date": datetime.date.today().isoformat(),
                       "machine": {"cores": os.cpu_count(), "processor": platform.machine()},
                       "commit": commit(), "command": sys.argv[1:], "geomean_faster": means,
                       "neighbours": said,
                       "runs": [{"workload": spec, "policy": p, "beside": b, "runs": runs[p, b]}
                                for spec, runs in all_runs.items() for p, b in runs]}, file)


if __name__ == "__main__":
    main()
