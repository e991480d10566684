#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Schedulers on modelled machines: StarPU's Cholesky and LU on a StarPU built with SimGrid.

In: the PREFIX that tools/starpu-build.sh --simgrid --examples made, and a plug-in built against it
(tools/starpu-plugin.sh). Out: a Markdown table, and JSON on request. Virtual time: a run gives the
same number on any machine, except that the time that our plans take here is charged. Exit code 1: a
run failed, or our default is worse than dmdas somewhere.
"""
import argparse
import datetime
import json
import math
import re
import shlex
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import starpulib

# The models that StarPU's authors measured hold tiles of this many rows (and 320 and 640).
TILE = 960
SIZES = "9600,19200,28800"
WORKLOADS = {"cholesky": "cholesky/cholesky_implicit", "lu": "lu/lu_implicit_example_float"}
BASELINE = "dmdas"
OURS = "symph"  # the plug-in with its default policy
ROW = re.compile(r"^(\d+)\t(\d+)\t([\d.]+)(?:\t(\d+)\t[\d.]+)?\s*$", re.M)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("prefix", type=Path, metavar="PREFIX")
    parser.add_argument("--plugin", type=Path, help="libsymph-starpu.so; without: StarPU's alone")
    parser.add_argument("--machines", default="mirage,attila")
    parser.add_argument("--workloads", default=",".join(WORKLOADS))
    parser.add_argument("--sizes", default=SIZES, help=f"matrix rows, multiples of {TILE}")
    parser.add_argument("--starpu", default="eager,dmda,dmdas,modular-heft-prio",
                        help="StarPU's own schedulers")
    parser.add_argument("--policy", default="", help="ours, besides the default: heft,peft,...")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--decision-time", default="measured", choices=["measured", "0"],
                        help="virtual time that our plans take (measured)")
    parser.add_argument("--rounds", type=int, default=1,
                        help="runs of ours, whose plans do not always take equally long (1)")
    parser.add_argument("--limit", type=float, default=300, help="seconds per run")
    parser.add_argument("-o", "--out", type=Path, metavar="FILE", help="everything, for programs")
    arguments = parser.parse_args()
    for machine in arguments.machines.split(","):
        if not (models(arguments.prefix) / "bus" / f"{machine}.platform.v4.xml").exists():
            parser.error(f"no model of '{machine}' in {models(arguments.prefix)}/bus")
    for workload in arguments.workloads.split(","):
        if workload not in WORKLOADS:
            parser.error(f"no workload '{workload}'; there are: {', '.join(WORKLOADS)}")
        if not program(arguments.prefix, workload).exists():
            parser.error(f"{program(arguments.prefix, workload)} is missing: build the prefix with"
                         " tools/starpu-build.sh --simgrid --examples")
    for size in arguments.sizes.split(","):
        if not size.isdigit() or int(size) == 0 or int(size) % TILE:
            parser.error(f"size '{size}' is not a multiple of {TILE}")
    if arguments.plugin and not arguments.plugin.exists():
        parser.error(f"no such plug-in: {arguments.plugin}")
    if arguments.policy and not arguments.plugin:
        parser.error("--policy needs --plugin")
    return arguments


def models(prefix):
    return prefix / "build/tools/perfmodels/sampling"


def program(prefix, workload):
    path = prefix / "build/examples" / WORKLOADS[workload]
    # Past libtool's wrapper, which would set paths of its own.
    return path.parent / ".libs" / path.name


def has_bound(prefix):
    config = prefix / "include/starpu/1.4/starpu_config.h"
    return bool(re.search(r"^#define STARPU_HAVE_GLPK_H", config.read_text(), re.M))


def run_once(arguments, machine, workload, size, scheduler):
    """One run; scheduler None: only for StarPU's bound. Returns a dict."""
    command = [str(program(arguments.prefix, workload).resolve()), "-size", str(size), "-nblocks",
               str(size // TILE)]
    # Every task must be seen by the bound, whatever the scheduler: any will do.
    extra = starpulib.scheduler_environment(scheduler or BASELINE, arguments.plugin, "1.4")
    extra.update(STARPU_HOSTNAME=machine,
                 STARPU_PERF_MODEL_DIR=str(models(arguments.prefix).resolve()),
                 SYMPH_DECISION_TIME=arguments.decision_time)
    outcome = starpulib.run(command + ([] if scheduler else ["-bound"]), extra, arguments.limit)
    found = ROW.search(outcome.output)
    cell = {"machine": machine, "workload": workload, "size": size, "scheduler": scheduler}
    if outcome.verdict != "pass" or not found:
        return {**cell, "error": outcome.reason}
    if not scheduler:
        return {**cell, "ms": float(found.group(4) or "nan")}
    return {**cell, "ms": float(found.group(2)), "gflops": float(found.group(3))}


def run_cell(arguments, machine, workload, size, scheduler):
    """All rounds of one cell; StarPU's own schedulers take the same virtual time in each."""
    ours = scheduler and scheduler.startswith(OURS)
    runs = [run_once(arguments, machine, workload, size, scheduler)
            for _ in range(arguments.rounds if ours else 1)]
    failed = [run for run in runs if "error" in run]
    if failed or len(runs) == 1:
        return (failed or runs)[0]
    runs.sort(key=lambda run: run["ms"])
    return {**runs[len(runs) // 2], "rounds_ms": [run["ms"] for run in runs]}


def markdown(arguments, schedulers, cells, bounds):
    head = ["machine", "graph", "n", *schedulers, *(["LP bound"] if bounds else [])]
    lines = ["| " + " | ".join(head) + " |",
             "|---|---|" + "---:|" * (len(head) - 2)]
    for (machine, workload, size), row in cells.items():
        best = min((cell["ms"] for cell in row.values() if "ms" in cell), default=None)
        texts = []
        for name in schedulers:
            text = f"{row[name]['ms']:.0f}" if "ms" in row[name] else "failed"
            if row[name].get("ms") == best:
                text = f"**{text}**"
            if "rounds_ms" in row[name]:
                text += f" ({row[name]['rounds_ms'][0]:.0f} .. {row[name]['rounds_ms'][-1]:.0f})"
            if name == OURS and is_worse(row):
                text += " (worse)"
            texts.append(text)
        if bounds:
            bound = bounds[machine, workload, size]
            texts.append(f"{bound['ms']:.0f}" if "ms" in bound else "failed")
        lines.append(f"| {machine} | {workload} | {size} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def geomeans(schedulers, cells):
    """Of the times against the baseline's, over the rows where both ran."""
    means = {}
    for name in schedulers:
        ratios = [row[name]["ms"] / row[BASELINE]["ms"] for row in cells.values()
                  if "ms" in row.get(name, {}) and row.get(BASELINE, {}).get("ms")]
        if ratios:
            means[name] = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return means


def is_worse(row):
    """Our default against dmdas; a run of ours that failed is worse."""
    if OURS not in row or "ms" not in row.get(BASELINE, {}):
        return False
    return row[OURS].get("ms", float("inf")) > row[BASELINE]["ms"]


def main():
    arguments = parse_arguments()
    starpulib.stop_on_signals()
    schedulers = [name for name in arguments.starpu.split(",") if name]
    if arguments.plugin:
        schedulers += [OURS] + [f"{OURS}:{p}" for p in arguments.policy.split(",") if p]
    keys = [(machine, workload, int(size)) for machine in arguments.machines.split(",")
            for workload in arguments.workloads.split(",") for size in arguments.sizes.split(",")]
    bound = has_bound(arguments.prefix)
    asked = [(key, name) for key in keys for name in schedulers + ([None] if bound else [])]
    with ThreadPoolExecutor(max(1, arguments.jobs)) as pool:
        found = list(pool.map(lambda ask: run_cell(arguments, *ask[0], ask[1]), asked))
    cells, bounds = {key: {} for key in keys}, {}
    for (key, name), cell in zip(asked, found):
        if name:
            cells[key][name] = cell
        else:
            bounds[key] = cell
    worse = [key for key in keys if is_worse(cells[key])]
    failed = [cell for cell in found if "error" in cell]
    means = geomeans(schedulers, cells)
    # Where things lay on this machine says nothing to a reader.
    places = {str(arguments.prefix): "PREFIX", str(arguments.plugin): "PLUGIN",
              str(arguments.out): "FILE"}
    command = shlex.join(["tools/simgrid_table.py", *(places.get(a, a) for a in sys.argv[1:])])
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    if arguments.out:
        arguments.out.write_text(json.dumps({
            "schema": "symph-simgrid-1", "date": date, "command": command, "tile": TILE,
            "cells": [cell for cell in found if cell["scheduler"]],
            "bounds": list(bounds.values()), "worse": worse, "over_baseline": means},
            indent=1) + "\n")
    rounds = f"; ours: median (least .. most) of {arguments.rounds} rounds" * (arguments.rounds > 1)
    print(f"Simulated milliseconds, tiles of {TILE}; best in bold{rounds}. {date}, `{command}`\n")
    print(markdown(arguments, schedulers, cells, bounds))
    if BASELINE in means:
        print(f"| geometric mean / {BASELINE} | | | "
              + " | ".join(f"{means[s]:.3f}" if s in means else "" for s in schedulers)
              + (" | |" if bounds else " |"))
    if not bound:
        print("\nNo bound: this StarPU was built without GLPK (libglpk-dev).")
    for cell in failed:
        print(f"failed: {cell['machine']} {cell['workload']} {cell['size']}"
              f" {cell['scheduler'] or 'bound'}: {cell['error']}", file=sys.stderr)
    if arguments.plugin:
        print(f"\n{OURS} is worse than {BASELINE} in {len(worse)} of {len(keys)} rows.")
    return 1 if worse or failed else 0


if __name__ == "__main__":
    sys.exit(main())
