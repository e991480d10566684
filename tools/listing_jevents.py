#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the shipped listings with what perf's own jevents.py reads: TREE [SYMPH [LISTINGS]].

TREE is the Linux source tree that the listings were made from. Its tools/perf/pmu-events/jevents.py
is imported and asked for every event's PMU, name and encoding, and for every metric's name; symph
says the same of its compact files. Periods, which only serve sampling, are not compared.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def terms(encoding):
    """perf's terms as numbers, so that 10 and 0xa are the same."""
    found = {}
    for term in encoding.split(","):
        key, _, value = term.partition("=")
        if key != "period" and value != "None":  # jevents.py prints None for a missing MSRValue
            try:
                found[key] = int(value, 0)
            except ValueError:
                found[key] = value
    return found


def read_with_perf(jevents, folder):
    """What jevents.py makes of one folder: encodings by (PMU, event), and (PMU, metric) names."""
    events, metrics = {}, set()
    for path in sorted(folder.glob("*.json")):
        if path.name == "metricgroups.json":
            continue
        for entry in jevents.read_json_events(str(path), ""):
            pmu = "cpu" if entry.pmu == "default_core" else entry.pmu
            if entry.name:
                events[(pmu, entry.name)] = terms(entry.event)
            if entry.metric_name:
                metrics.add((pmu, entry.metric_name.lower()))
    return events, metrics


def read_with_symph(symph, listings, name):
    output = subprocess.run([symph, "counters", "listing", "--arch", name, "--events", "--metrics",
                             "--json", "--listings", listings], check=True, capture_output=True,
                            text=True).stdout
    arch = json.loads(output)["archs"][0]
    events = {(event["pmu"], event["name"]): terms(event["encoding"])
              for event in arch["event_list"]}
    metrics = {(metric["pmu"], metric["name"].lower()) for metric in arch["metric_list"]}
    return events, metrics


def main():
    if not 2 <= len(sys.argv) <= 4:
        print("usage: tools/listing_jevents.py TREE [SYMPH [LISTINGS]]", file=sys.stderr)
        return 2
    pmu_events = Path(sys.argv[1]) / "tools" / "perf" / "pmu-events"
    symph = sys.argv[2] if len(sys.argv) > 2 else str(ROOT / "build" / "symph")
    listings = sys.argv[3] if len(sys.argv) > 3 else str(ROOT / "data" / "listing")
    sys.path.insert(0, str(pmu_events))
    sys.dont_write_bytecode = True
    import jevents  # pylint: disable=import-error,import-outside-toplevel
    count = [0, 0, 0]
    differences = []
    for arch in sorted(path for path in (pmu_events / "arch").iterdir() if path.is_dir()):
        if arch.name == "test":
            continue
        jevents._arch_std_events = {}  # pylint: disable=protected-access
        jevents.preprocess_arch_std_files(str(arch))
        for folder in sorted(Path(top) for top, _, files in os.walk(arch)
                             if any(file.endswith(".json") for file in files)):
            if folder == arch:
                continue
            name = folder.relative_to(pmu_events / "arch").as_posix()
            perf, ours = read_with_perf(jevents, folder), read_with_symph(symph, listings, name)
            count = [count[0] + 1, count[1] + len(perf[0]), count[2] + len(perf[1])]
            differences += [f"{name}: {key}: perf {perf[0].get(key)}, here {ours[0].get(key)}"
                            for key in sorted(set(perf[0]) | set(ours[0]))
                            if perf[0].get(key) != ours[0].get(key)]
            differences += [f"{name}: metric {key}" for key in sorted(perf[1] ^ ours[1])]
    for line in differences[:50]:
        print(line)
    print(f"{count[0]} listings, {count[1]} events, {count[2]} metrics, "
          f"{len(differences)} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
