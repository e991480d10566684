#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real runs: Symphony's policies against StarPU's own, on this machine, interleaved.

In: the symph command, workloads as symph run takes them. Out: a Markdown table of the makespans of
all rounds, and how many times faster than the baseline each policy is, by medians; JSON on request.
Each workload is first run without being counted, under every policy, so that all cost models are
calibrated.
"""
import argparse
import json
import math
import subprocess
import sys


def symph(arguments, spec, policies, repeat):
    command = [arguments.symph, "run", spec, "--compare", ",".join(policies), "--repeat",
               str(repeat), "--json", "--quiet"] + (arguments.options or "").split()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"real: {' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def rounds(result, policy):
    """Every run of a policy, in order; a number as short as three digits allow."""
    return ", ".join(f"{run['makespan_ns'] / 1e6:.3g}" for run in result["runs"]
                     if run["policy"] == policy)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("symph")
    parser.add_argument("workloads", nargs="+")
    parser.add_argument("--policy", default="default,starpu:dmdas")
    parser.add_argument("--baseline", default="starpu:dmdas")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--calibrate", type=int, default=3, help="runs that are not counted")
    parser.add_argument("--options", help="more options of symph run: --options=\"--cpus 2\"")
    parser.add_argument("-o", "--out", metavar="FILE")
    arguments = parser.parse_args()
    policies = arguments.policy.split(",")
    if arguments.baseline not in policies:
        parser.error(f"--policy must name the baseline {arguments.baseline}")
    others = [policy for policy in policies if policy != arguments.baseline]
    ratios, results = {policy: [] for policy in others}, []
    print(f"`symph run WORKLOAD --compare {arguments.policy} --repeat {arguments.repeat}"
          f"{' ' + arguments.options if arguments.options else ''}`, ms, all rounds in order; "
          "ratios of medians, above 1: faster than the baseline\n")
    print("| workload | " + " | ".join(policies) + " | "
          + " | ".join(f"{arguments.baseline} / {policy}" for policy in others) + " |")
    print("|---|" + "---|" * len(policies) + "---:|" * len(others))
    for spec in arguments.workloads:
        if arguments.calibrate:
            symph(arguments, spec, policies, arguments.calibrate)
        result = symph(arguments, spec, policies, arguments.repeat)
        results.append(result)
        median = {policy: result["summary"][policy]["makespan_ns"]["median"] for policy in policies}
        for policy in others:
            ratios[policy].append(median[arguments.baseline] / median[policy])
        print(f"| {spec} | " + " | ".join(rounds(result, policy) for policy in policies) + " | "
              + " | ".join(f"{ratios[policy][-1]:.3f}" for policy in others) + " |", flush=True)
    means = {p: math.exp(sum(map(math.log, ratios[p])) / len(ratios[p])) for p in others}
    print("| geometric mean |" + " |" * len(policies) + " "
          + " | ".join(f"{means[p]:.3f}" for p in others) + " |")
    if arguments.out:
        with open(arguments.out, "w") as file:
            json.dump({"schema": "symph-real-1", "geomean": means, "results": results}, file)


if __name__ == "__main__":
    main()
