#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Streams of recorded jobs for real: how much longer than alone do jobs of three tenants take, with
and without preemption, and under StarPU's dmdas where the first comes first; and what the simulator
says of the same streams.

    bench/real_streams.py BUILD GRAPHS.dag... [--seeds N] [--seconds S] [--load X] [--cpus N]

Each file's jobs are a tenant's. Its times are scaled, so that all tenants offer the same work, and
a stream takes about S seconds; jobs of more than a tenth of a stream's work are left out, as are the
sizes of data, which one memory does not move. Policies take turns, with the same arrivals for all of
a seed. Prints JSON: slowdowns per seed, ratios with the 95 % interval of a bootstrap over seeds and
jobs. The machine should have nothing else to do: real-time threads do not come before the
hypervisor's. About 5 S seconds a seed.
"""
import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DEVICE_SHARE = 0.1  # of a stream's work, at most, in one job
FOLD = 32           # instances of a stage; symph graph does the same
MODES = [  # name, policy, options; the same in the simulator
    ("symphony --preempt", "symphony", ["--preempt"], "symphony"),
    ("symphony", "symphony", [], "symphony"),
    ("lb+wspt --preempt", "lb+wspt", ["--preempt"], "lb+wspt"),
    ("lb+wspt", "lb+wspt", [], "lb+wspt"),
    ("starpu:dmdas", "starpu:dmdas", [], "dmdas+fifo"),
]
BOOTSTRAP = 2000


class Job:
    """One graph of a file: its lines, and the time it takes one core."""

    def __init__(self, name):
        self.name, self.lines, self.work_s = name, [], 0.0

    def scaled(self, name, scale):
        lines = [f"J {name} {self.head}"]
        for words in self.lines:
            words = list(words)
            if words[0] == "T":
                words[3] = f"{float(words[3]) * scale:.9g}"
            elif words[0] == "E":
                words[3] = "0"
            lines.append(" ".join(words))
        return lines


def read_jobs(path):
    jobs = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if not words:
                continue
            if words[0] == "J":
                jobs.append(Job(words[1]))
                jobs[-1].head = " ".join(words[2:])
            else:
                jobs[-1].lines.append(words)
                if words[0] == "T":
                    jobs[-1].work_s += float(words[3]) * int(words[4])
    return [job for job in jobs if job.work_s > 0]


def draw(files, args, seed, folder):
    """Writes a stream: the graphs file and the arrivals; returns the number of jobs."""
    rng = random.Random(seed)
    offered_s = args.seconds * args.load * args.cpus  # of a core
    each_s = offered_s / len(files)
    graphs, lines = [], []
    for tenant, jobs in enumerate(files):
        chosen = [rng.choice(jobs) for _ in range(args.jobs)]
        for _ in range(20):  # leaving out the largest changes the scale
            scale = each_s / sum(job.work_s for job in chosen)
            small = [job for job in chosen if job.work_s * scale <= DEVICE_SHARE * offered_s]
            if len(small) == len(chosen):
                break
            chosen = small
        for number, job in enumerate(chosen):
            name = f"t{tenant}n{number}"
            graphs += job.scaled(name, scale)
            lines.append((rng.uniform(0, args.seconds), tenant, name))
    with open(os.path.join(folder, "graphs.dag"), "w", encoding="utf-8") as file:
        file.write("\n".join(graphs + [""]))
    with open(os.path.join(folder, "arrivals.csv"), "w", encoding="utf-8") as file:
        file.write("arrive_s,tenant,weight,graph\n")
        for arrive_s, tenant, name in sorted(lines):
            file.write(f"{arrive_s:.6f},{tenant},1,{name}\n")
    return len(lines)


def call(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


def measure(symph, args, folder, policy, options):
    """Slowdowns of the jobs of one real run, in order of arrival."""
    record = os.path.join(folder, "run.json")
    call(symph, "run", f"{folder}/graphs.dag", "--arrivals", f"{folder}/arrivals.csv", "--emulate",
         "--models", "", "--cpus", str(args.cpus), "--opencl", "0", "--cuda", "0", "--policy",
         policy, "--quiet", "--record", record, *options)
    with open(record, encoding="utf-8") as file:
        run = json.load(file)
    slowdowns = [max(job[6] - job[5], 1e3) / max(job[7], 1e3) for job in run["jobs"]]
    parts = sum(span[0] == "part" for span in run["trace"])
    return slowdowns, parts


def predict(symph, args, folder, policy, options):
    text = call(symph, "simulate", "--machine", f"cpu:{args.cpus}", "--graphs",
                f"{folder}/graphs.dag", "--arrivals", f"{folder}/arrivals.csv", "--policy", policy,
                "--seeds", "1", "--quiet", "--json", *options)
    run = json.loads(text)["runs"][0]
    return run["slowdown_mean"], run["slowdown_p99"]


def mean(values):
    return sum(values) / len(values)


def quantile(values, share):
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def ratio(over, under):
    """Of means, over the jobs of all seeds; seeds are drawn, then their jobs, in pairs."""
    rng, values = random.Random(1), []
    for _ in range(BOOTSTRAP):
        top = bottom = 0.0
        for _ in over:
            seed = rng.randrange(len(over))
            for _ in over[seed]:
                job = rng.randrange(len(over[seed]))
                top += over[seed][job]
                bottom += under[seed][job]
        values.append(top / bottom)
    flat = [mean([x for seed in side for x in seed]) for side in (over, under)]
    return {"ratio": flat[0] / flat[1], "low": quantile(values, 0.025),
            "high": quantile(values, 0.975)}


def figures(slowdowns, parts, predicted):
    flat = [value for seed in slowdowns for value in seed]
    mean_predicted = mean([pair[0] for pair in predicted])
    return {"slowdown_mean": mean(flat), "slowdown_p99": quantile(flat, 0.99),
            "per_seed": [{"mean": mean(seed), "p99": quantile(seed, 0.99)} for seed in slowdowns],
            "parts": parts, "predicted_mean": mean_predicted,
            "predicted_p99": mean([pair[1] for pair in predicted]),
            "measured_over_predicted": mean([mean(seed) for seed in slowdowns]) / mean_predicted}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--load", type=float, default=0.7)
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=20, help="of each tenant")
    parser.add_argument("--only", help="names of modes, separated by commas")
    args = parser.parse_args()
    symph = os.path.join(os.path.abspath(args.build), "symph")
    modes = [mode for mode in MODES if not args.only or mode[0] in args.only.split(",")]
    files = [read_jobs(path) for path in args.files]
    slowdowns = {mode[0]: [] for mode in modes}
    predicted = {mode[0]: [] for mode in modes}
    parts, counts = {mode[0]: 0 for mode in modes}, []
    with tempfile.TemporaryDirectory(prefix="symph-streams-") as folder:
        for seed in range(1, args.seeds + 1):
            counts.append(draw(files, args, seed, folder))
            for turn in range(len(modes)):
                name, policy, options, model = modes[(turn + seed) % len(modes)]
                values, count = measure(symph, args, folder, policy, options)
                parts[name] += count
                slowdowns[name].append(values)
                predicted[name].append(predict(symph, args, folder, model, options))
                print(f"seed {seed}: {name}: mean {mean(values):.2f} (predicted "
                      f"{predicted[name][-1][0]:.2f}), p99 {quantile(values, 0.99):.2f}",
                      file=sys.stderr)
    commit = call("git", "-C", SOURCE, "rev-parse", "--short", "HEAD").strip()
    pairs = [("symphony", "symphony --preempt"), ("lb+wspt", "lb+wspt --preempt"),
             ("starpu:dmdas", "symphony"), ("starpu:dmdas", "symphony --preempt")]
    print(json.dumps({
        "schema": "symph-bench-real-streams-1", "commit": commit, "machine": platform.machine(),
        "cores": os.cpu_count(), "load_average": os.getloadavg(), "cpus": args.cpus,
        "files": [os.path.basename(path) for path in args.files], "seeds": args.seeds,
        "seconds": args.seconds, "load": args.load, "jobs": counts,
        "modes": {name: figures(slowdowns[name], parts[name], predicted[name])
                  for name in slowdowns},
        "ratios": {f"{over} / {under}": ratio(slowdowns[over], slowdowns[under])
                   for over, under in pairs if over in slowdowns and under in slowdowns},
    }, indent=2))


if __name__ == "__main__":
    main()
