#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does another process on the link change placement? Runs a graph alone, and beside a load.

In: the symph command, a workload, and a load (another workload that symph runs at the same time).
Out: makespan, share of tasks on accelerators and bytes moved, medians, alone and beside the load.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time


def run(symph, spec, policy, options):
    command = [symph, "run", spec, "--policy", policy, "--json", "--quiet", "--no-check"] + options
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"contention: {' '.join(command)}: {done.stderr.strip()}")
    one = json.loads(done.stdout)["runs"][0]
    kinds = {d["name"]: d["kind"] for d in json.loads(done.stdout)["machine"]["devices"]}
    fast = sum(d["tasks"] for d in one["devices"] if kinds[d["name"]] != "cpu")
    return one["makespan_ns"] / 1e6, fast / sum(d["tasks"] for d in one["devices"]), \
        one["bytes_moved"] / 1e9


def report(name, samples):
    columns = [statistics.median(column) for column in zip(*samples)]
    print(f"{name:<28}{columns[0]:10.1f}{columns[1]:14.1%}{columns[2]:12.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("symph")
    parser.add_argument("workload")
    parser.add_argument("load")
    parser.add_argument("--policies", default="default")
    parser.add_argument("--loads", type=int, default=2, help="how many at a time")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--options", default="")
    parser.add_argument("--load-options", default="--cpus 1")
    arguments = parser.parse_args()
    options = arguments.options.split()
    print(f"{'':<28}{'ms':>10}{'accelerators':>14}{'GB moved':>12}")
    for policy in arguments.policies.split(","):
        for _ in range(2):
            run(arguments.symph, arguments.workload, policy, options)
        report(f"{policy}, alone", [run(arguments.symph, arguments.workload, policy, options)
                                    for _ in range(arguments.repeat)])
        loads = [subprocess.Popen([arguments.symph, "run", arguments.load, "--policy", "eager",
                                   "--quiet", "--no-check", "--models", ""]
                                  + arguments.load_options.split(),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                 for _ in range(arguments.loads)]
        time.sleep(6)
        samples = [run(arguments.symph, arguments.workload, policy, options)
                   for _ in range(arguments.repeat)]
        ended = [load.poll() for load in loads]
        for load in loads:
            load.terminate()
            load.wait()
        report(f"{policy}, beside the load", samples)
        if any(code is not None for code in ended):
            print(f"contention: a load ended early ({ended}); the figures above mix both cases")


if __name__ == "__main__":
    main()
