#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What NVML's counters say against a load that is known: bench/gpu_truth.py BUILD [SECONDS].

Copies of a known pace (bench/gpu_load.c) to the GPU, from it and within it, while symph counters
record runs; then bytes per second of the PCIe counters against the bytes that were copied, the
share of DRAM's bandwidth against bytes read and written, and the mean power against the energy
counter. One JSON object; exit 77 where there is no GPU.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "build"
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 4.0
SETTLE_S = 1.0  # left out at both ends: windows that straddle them
LOADS = [("idle", "h2d", 0.0), ("h2d 5 GB/s", "h2d", 5.0), ("h2d 20 GB/s", "h2d", 20.0),
         ("d2h 5 GB/s", "d2h", 5.0), ("d2h 20 GB/s", "d2h", 20.0), ("d2d full", "d2d", 1e9)]


def recorded(path):
    """Counter names, and samples as (counter, start, end, value), of a recording."""
    names, samples = [], []
    with open(path, encoding="utf-8") as file:
        for words in (line.split() for line in file):
            if words[:1] == ["counter"]:
                names.append(words[1])
            elif words[:1] == ["read"]:
                for word in words[3:]:
                    value, *options = word.split("=", 1)[1].split(",")
                    start = [float(text[2:]) for text in options if text.startswith("s=")]
                    samples.append((int(word.split("=")[0]), (start or [float(words[2])])[0],
                                    float(words[1]), float(value)))
    return names, samples


def mean(samples, names, name, start_s, end_s):
    """Time-weighted, over the windows that lie inside."""
    total = weight = 0.0
    for counter, start, end, value in samples:
        inside = start * 1e-9 >= start_s + SETTLE_S and end * 1e-9 <= end_s - SETTLE_S
        if names[counter] == name and inside:
            total += value * (end - start)
            weight += end - start
    return total / weight if weight > 0 else None


def run(mode, pace, folder):
    path = os.path.join(folder, "record")
    watch = subprocess.Popen([os.path.join(BUILD, "symph"), "counters", "record", "-o", path,
                              "--only", "nvml", "--interval", "50ms"],
                             stderr=subprocess.PIPE, text=True)
    time.sleep(1.0)
    load = subprocess.run([os.path.join(BUILD, "bench", "gpu_load"), mode, str(pace),
                           str(SECONDS + 2 * SETTLE_S)], capture_output=True, text=True)
    time.sleep(0.2)
    watch.terminate()
    said = watch.communicate()[1]
    if load.returncode:
        sys.exit(load.returncode if load.returncode == 77 else load.stderr + said)
    return json.loads(load.stdout), path, said


def main():
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for label, mode, pace in LOADS:
            truth, path, said = run(mode, pace, folder)
            if not os.path.exists(path):
                sys.exit(said)
            names, samples = recorded(path)
            span = (truth["start_s"], truth["end_s"])
            row = {"load": label, "bytes_per_s": truth["bytes"] / truth["seconds"]}
            for name in sorted(names):
                row[name] = mean(samples, names, name, *span)
            results.append(row)
            print(label, {key: value for key, value in row.items() if value}, file=sys.stderr)
    print(json.dumps({"schema": "symph-bench-gpu-truth-1", "runs": results}, indent=1))


if __name__ == "__main__":
    main()
