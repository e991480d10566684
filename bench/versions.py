#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two versions of symph on the same streams of recorded jobs, stream by stream.

In: two symph commands, a folder with graphs/*.dag. Out: a Markdown table of job slowdowns under
policies of the first over those under one policy of the second: mean, 99th percentile, and mean of
the jobs whose time alone is in the longest fifth; JSON on request. Deciding is free in both.

Ratios are geometric means. Their 95 % intervals draw recordings, then seeds within them: the same
seed brings the same jobs at every load. An older command may lack a figure: that column is left out,
and a line says so.
"""
import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile

MACHINE = "2x(cpu:8 dram:60GB/s) gpu:2@pcie3x16"
FIGURES = [("mean", "slowdown_mean"), ("p99", "slowdown_p99"), ("longest fifth", "slowdown_long")]
# Of the default over lb+wspt of commit ba50a51, without and with preemption.
GOALS = {False: (0.83, 0.70, 1.03), True: (0.77, 0.55, 1.03)}
PREEMPTING = " --preempt"
RESAMPLES = 2000


def read_jobs(path):
    """The lines of each job of a .dag file, its number of stages and its seconds of work."""
    jobs = []
    with open(path) as file:
        for line in file:
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if words[0] == "J":
                jobs.append([[], 0, 0.0])
            jobs[-1][0].append(line)
            if words[0] == "T":
                jobs[-1][1] += 1
                jobs[-1][2] += float(words[3]) * float(words[4])
    return jobs


def choose(jobs, within):
    """As symph-bench recorded does: no job of one or two stages, none that is far longer or shorter
    than the middle one. One job of Alibaba has 99.7 % of all work: a stream with it is empty but for
    it."""
    jobs = [job for job in jobs if job[1] >= 3]
    if not jobs or not within:
        return jobs
    middle = statistics.median(job[2] for job in jobs)
    return [job for job in jobs if middle <= job[2] * within and job[2] <= middle * within]


def simulate(symph, arguments, graphs, load, policies, preempt):
    command = [symph, "simulate", "--machine", arguments.machine, "--graphs", graphs, "--accelerate",
               str(arguments.accelerate), "--max-instances", str(arguments.max_instances), "--noise",
               str(arguments.noise), "--tenants", str(arguments.tenants), "--jobs",
               str(arguments.jobs), "--load", str(load), "--seeds", str(arguments.seeds), "--policy",
               ",".join(policies), "--json", "--quiet"] + ["--preempt"] * preempt
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"versions: {' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def collect(arguments, folder):
    """{(recording, seed, load): {"base": run, POLICY: run}} and the versions."""
    worlds, versions = {}, {}
    for name in arguments.recordings:
        jobs = choose(read_jobs(os.path.join(arguments.data, "graphs", name + ".dag")),
                      arguments.within)
        if not jobs:
            sys.exit(f"versions: {name}: no job to choose")
        graphs = os.path.join(folder, name + ".dag")
        with open(graphs, "w") as file:
            file.writelines(line for job in jobs for line in job[0])
        for load in arguments.loads:
            sides = [("base", arguments.there, [arguments.baseline], False)]
            if arguments.policy:
                sides.append(("", arguments.here, arguments.policy, False))
            if arguments.preempting:
                sides.append((PREEMPTING, arguments.here, arguments.preempting, True))
            for side, symph, policies, preempt in sides:
                result = simulate(symph, arguments, graphs, load, policies, preempt)
                versions["there" if side == "base" else "here"] = result["version"]
                for run in result["runs"]:
                    key = "base" if side == "base" else run["policy"] + side
                    worlds.setdefault((name, run["seed"], load), {})[key] = run
    return worlds, versions


def spread(logs):
    """The geometric mean with its interval; logs: {recording: {seed: [logarithm per load]}}."""
    def mean(groups):
        values = [value for seeds in groups for loads in seeds for value in loads]
        return math.fsum(values) / len(values)
    rng = random.Random(1)
    all_groups = [list(seeds.values()) for seeds in logs.values()]
    means = []
    for _ in range(RESAMPLES):
        drawn = [rng.choices(seeds, k=len(seeds)) for seeds in rng.choices(all_groups, k=len(all_groups))]
        means.append(mean([[rng.choices(loads, k=len(loads)) for loads in seeds] for seeds in drawn]))
    means.sort()
    return [math.exp(value) for value in (mean(all_groups), means[int(RESAMPLES * 0.025)],
                                          means[int(RESAMPLES * 0.975)])]


def ratios(worlds, policy, figure, recordings):
    logs = {}
    for (name, seed, _), runs in worlds.items():
        ratio = runs[policy][figure] / runs["base"][figure]
        if name in recordings:
            logs.setdefault(name, {}).setdefault(seed, []).append(math.log(ratio))
    return spread(logs)


def tables(arguments, worlds):
    """Prints the table; returns what is in it."""
    run = next(iter(worlds.values()))
    figures = [(title, key) for title, key in FIGURES if all(key in side for side in run.values())]
    for title, key in FIGURES:
        if (title, key) not in figures:
            print(f"(left out: {title}: one of the two has no {key})\n")
    policies = [key for key in run if key != "base"]
    print("| policy | " + " | ".join(arguments.recordings) + " | "
          + " | ".join(f"{title} of all" for title, _ in figures) + " |")
    print("|---|" + "---:|" * (len(arguments.recordings) + len(figures)))
    rows = {}
    for policy in policies:
        row = rows[policy] = {name: ratios(worlds, policy, "slowdown_mean", [name])
                              for name in arguments.recordings}
        row.update({title: ratios(worlds, policy, key, arguments.recordings) for title, key in figures})
        print(f"| {policy} | " + " | ".join(f"{row[name][0]:.3f}" for name in arguments.recordings)
              + " | " + " | ".join("%.3f [%.3f, %.3f]" % tuple(row[title]) for title, _ in figures)
              + " |", flush=True)
    print()
    for policy in (arguments.goal, arguments.goal + PREEMPTING):
        if policy in rows and arguments.baseline == "lb+wspt":
            for (title, _), goal in zip(FIGURES, GOALS[policy.endswith(PREEMPTING)]):
                if title in rows[policy]:
                    value = rows[policy][title][0]
                    print(f"{policy}, {title}: asked for <= {goal}, measured {value:.3f}: "
                          + ("hit" if value <= goal else "miss"))
    return rows


def parse():
    def words(text):
        return [word for word in text.split(",") if word]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("here", help="the symph command to judge")
    parser.add_argument("there", help="the one that it is held against")
    parser.add_argument("--data", default=os.environ.get("SYMPH_DATA"), metavar="FOLDER")
    parser.add_argument("--recordings", type=words, default=words("alibaba,tpch,workflows"))
    parser.add_argument("--policy", type=words, default=words("lb+wspt,lb-cont+wspt,symphony"))
    parser.add_argument("--preempting", type=words, default=words("lb+wspt,lb-cont+wspt,symphony"),
                        help="policies of the first that run with --preempt, too")
    parser.add_argument("--baseline", default="lb+wspt", help="of the second")
    parser.add_argument("--goal", default="symphony", help="the policy that the goals are for")
    parser.add_argument("--loads", type=words, default=words("0.4,0.7,0.95"))
    parser.add_argument("--machine", default=MACHINE)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=60)
    parser.add_argument("--tenants", type=int, default=4)
    parser.add_argument("--max-instances", type=int, default=8)
    parser.add_argument("--accelerate", type=int, default=7)
    parser.add_argument("--noise", type=float, default=0.2)
    parser.add_argument("--within", type=float, default=40,
                        help="jobs with at most so many times the work of the middle one, and at least "
                             "its part (default 40; 0: all)")
    parser.add_argument("-o", "--out", metavar="FILE")
    arguments = parser.parse_args()
    if not arguments.data:
        parser.error("needs --data, or SYMPH_DATA")
    return arguments


def main():
    arguments = parse()
    with tempfile.TemporaryDirectory() as folder:
        worlds, versions = collect(arguments, folder)
    print(f"Job slowdowns of {arguments.here} (symph {versions['here']}) over those of "
          f"{arguments.baseline} of {arguments.there} (symph {versions['there']}): {arguments.seeds} "
          f"streams of {arguments.jobs} jobs at each of the loads {', '.join(arguments.loads)}\n")
    rows = tables(arguments, worlds)
    if arguments.out:
        with open(arguments.out, "w") as file:
            json.dump({"schema": "symph-versions-1", "versions": versions, "seeds": arguments.seeds,
                       "jobs": arguments.jobs, "baseline": arguments.baseline,
                       "ratios": {policy: {title: dict(zip(("value", "low", "high"), value))
                                           for title, value in row.items()}
                                  for policy, row in rows.items()}}, file, indent=1)


if __name__ == "__main__":
    main()
