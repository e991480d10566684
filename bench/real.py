#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real runs: Symphony's policies against StarPU's own, on this machine, interleaved.

In: the symph command, workloads as symph run takes them. Out: a Markdown table of makespans and the
geometric mean of each policy's ratio to the baseline; JSON on request. Each workload is first run
without being counted, under every policy, so that all cost models are calibrated.
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
    ratios, results = {policy: [] for policy in policies}, []
    print(f"`symph run WORKLOAD --compare {arguments.policy} --repeat {arguments.repeat}"
          f"{' ' + arguments.options if arguments.options else ''}`, medians, ms\n")
    print("| workload | " + " | ".join(policies) + " |")
    print("|---|" + "---:|" * len(policies))
    for spec in arguments.workloads:
        if arguments.calibrate:
            symph(arguments, spec, policies, arguments.calibrate)
        result = symph(arguments, spec, policies, arguments.repeat)
        results.append(result)
        median = {policy: result["summary"][policy]["makespan_ns"]["median"] for policy in policies}
        for policy in policies:
            ratios[policy].append(median[policy] / median[arguments.baseline])
        print(f"| {spec} | " + " | ".join(f"{median[p] / 1e6:.1f}" for p in policies) + " |",
              flush=True)
    means = {p: math.exp(sum(map(math.log, ratios[p])) / len(ratios[p])) for p in policies}
    print(f"| geometric mean / {arguments.baseline} | "
          + " | ".join(f"{means[p]:.3f}" for p in policies) + " |")
    if arguments.out:
        with open(arguments.out, "w") as file:
            json.dump({"schema": "symph-real-1", "geomean": means, "results": results}, file)


if __name__ == "__main__":
    main()
