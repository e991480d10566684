#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of best-known makespans, data/best-known.csv: search longer, keep what is better.

usage: best_known.py SYMPH [--iterations N] [--seeds K] [--check]

Every row is an instance anybody can make: a machine in one line, a generated graph, the seed of
--accelerate. The bound is the largest of critical path, area and mixed LP. --check changes nothing
and fails if a bound exceeds a best, or if a policy now beats a best that the table should have.
"""
import argparse
import csv
import json
import pathlib
import subprocess
import sys

TABLE = pathlib.Path(__file__).resolve().parent.parent / "data" / "best-known.csv"
FIELDS = ["machine", "graph", "accelerate", "tasks", "bound_ns", "best_ns", "ratio", "found_by"]
POLICIES = "heft,peft,dmdas,lb"


def run(symph, *arguments):
    text = subprocess.run([symph, *arguments, "--json", "--quiet"], check=True,
                          stdout=subprocess.PIPE).stdout
    return json.loads(text)


def instance(row):
    return ["--machine", row["machine"], "--graphs", row["graph"], "--accelerate",
            row["accelerate"]]


def improve(symph, row, iterations, seeds):
    best = float(row["best_ns"] or "inf")
    for seed in range(1, seeds + 1):
        found = run(symph, "bound", *instance(row), "--lp", "--anneal", str(iterations), "--seed",
                    str(seed))["graphs"][0]
        row["tasks"] = found["tasks"]
        row["bound_ns"] = repr(max(found["lower_bound_ns"], float(row["bound_ns"] or 0)))
        if found["best_found_ns"] < best:
            best = found["best_found_ns"]
            row["found_by"] = f"bound --anneal {iterations} --seed {seed}"
    for policy, makespan in makespans(symph, row).items():
        if makespan < best:
            best = makespan
            row["found_by"] = f"simulate --policy {policy}"
    row["best_ns"] = repr(best)
    row["ratio"] = f"{best / float(row['bound_ns']):.4f}"


def makespans(symph, row):
    result = run(symph, "simulate", *instance(row), "--policy", POLICIES, "--seeds", "1")
    return {r["policy"]: r["makespan_ns"] for r in result["runs"]}


def check(symph, rows):
    bad = 0
    for row in rows:
        name = f"{row['graph']} on {row['machine']}"
        best, bound = float(row["best_ns"]), float(row["bound_ns"])
        if bound > best:
            print(f"{name}: the bound {bound:.0f} exceeds the best {best:.0f}")
            bad += 1
        for policy, makespan in makespans(symph, row).items():
            if makespan < best * (1 - 1e-9):
                print(f"{name}: {policy} needs {makespan:.0f} ns, the table says {best:.0f}: "
                      "run tools/best_known.py")
                bad += 1
    print(f"{len(rows)} instances, {bad} finding(s)")
    return 1 if bad or not rows else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("symph")
    parser.add_argument("--iterations", type=int, default=20000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    with open(TABLE, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if arguments.check:
        return check(arguments.symph, rows)
    for row in rows:
        improve(arguments.symph, row, arguments.iterations, arguments.seeds)
        print(row["graph"], row["machine"], row["ratio"], row["found_by"], sep="  ")
    with open(TABLE, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
