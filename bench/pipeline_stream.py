#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real stream through a pipeline: plans that follow the data against plans that stay.

In: symph, a pipeline with a stream. Ours runs first, knowing nothing; the plans that it used most are then run for
the whole stream each, beside the best plan on GPUs alone and on cores alone (by estimates), and ours again, which
now knows what all of them measured. Everything runs in turns, as often as asked for. Out: JSON with medians of
items per second (whole stream, first items included) and joules per item, and the best static plan in hindsight.
"""
import argparse
import collections
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile


def run(args, models, *options):
    command = [args.symph, "run", "--pipeline", args.pipeline, "--json", "--quiet", "--models", models, *options]
    if args.kernels:
        command += ["--kernels", args.kernels]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"{' '.join(options)}: {done.stderr.strip()}", file=sys.stderr)
        return None
    return json.loads(done.stdout)


def most_used(result, count):
    items = collections.Counter()
    for plan in result["plans"]:
        items[plan["plan"]] += plan["items"]
    return [plan for plan, _ in items.most_common(count)]


def summary(results):
    good = [r for r in results if r]
    if not good:
        return None
    joules = [r["joules_per_item"] for r in good if r["joules_per_item"]]
    return {"items_per_s": statistics.median(r["items_per_s"] for r in good),
            "least": min(r["items_per_s"] for r in good), "most": max(r["items_per_s"] for r in good),
            "latency_p50_ms": statistics.median(r["latency_ns"]["p50"] for r in good) / 1e6,
            "joules_per_item": statistics.median(joules) if joules else None,
            "changes": statistics.median(len(r["plans"]) - 1 for r in good),
            "error": max(r["result_error"] or 0 for r in good), "runs": len(good)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--symph", default="symph")
    parser.add_argument("--kernels")
    parser.add_argument("--pipeline", required=True)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--candidates", type=int, default=3, help="plans of ours that are tried as static ones")
    parser.add_argument("-o", "--out", default="-")
    args = parser.parse_args()
    models = tempfile.mkdtemp()
    try:
        first = run(args, models)
        if not first:
            return 1
        side = run(args, models, "--side-by-side")
        rows = {"ours": [], "ours, side by side": [], "GPU-only": [], "CPU-only": []}
        how = {"ours": [], "ours, side by side": ["--side-by-side"], "GPU-only": ["--plan", "gpu"],
               "CPU-only": ["--plan", "cpu"]}
        for plan in most_used(first, args.candidates) + (most_used(side, 1) if side else []):
            how.setdefault(f"static {plan}", ["--plan", plan])
            rows.setdefault(f"static {plan}", [])
        for turn in range(args.repeat):
            names = list(rows) if turn % 2 == 0 else list(rows)[::-1]
            for name in names:
                rows[name].append(run(args, models, *how[name]))
        table = {name: summary(results) for name, results in rows.items()}
        static = [n for n in table if n.startswith("static") or n in ("GPU-only", "CPU-only")]
        best = max((n for n in static if table[n]), key=lambda n: table[n]["items_per_s"], default=None)
        result = {"schema": "symph-bench-pipeline-stream-1", "pipeline": args.pipeline, "host": first["host"],
                  "date": first["date"], "runtime": first["runtime"], "cores": os.cpu_count(),
                  "items": first["items"], "energy_source": first["energy_source"], "knowing_nothing": summary([first]),
                  "table": table, "best_static": best,
                  "plans": [[p["first_item"], p["cause"], p["items_per_s"], p["plan"]]
                            for p in (rows["ours"][-1] or first)["plans"]]}
    finally:
        shutil.rmtree(models, ignore_errors=True)
    text = json.dumps(result, indent=1) + "\n"
    if args.out == "-":
        sys.stdout.write(text)
    else:
        with open(args.out, "w", encoding="utf-8") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
