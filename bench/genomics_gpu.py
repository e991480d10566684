#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Variant calling on a machine with many cores and a GPU: kernels, one sample, several at once, peers.

In: a folder made by tools/bundle.sh, a reference (FASTA, may be gzipped), a folder to work in. Samples are
simulated by symph genomics simulate. Out: JSON with wall seconds, CPU seconds and the GPU's energy of each run,
and whether every VCF is the same bytes. Energy is the GPU's own counter (NVML); that of the cores cannot be
read on a virtual machine and is left out.
"""
import argparse
import ctypes
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time


class Gpu:
    """The energy counter of GPU 0, in joules since the driver started; None where there is none."""

    def __init__(self):
        self.handle = ctypes.c_void_p()
        try:
            self.nvml = ctypes.CDLL("libnvidia-ml.so.1")
            bad = self.nvml.nvmlInit_v2() or self.nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self.handle))
        except OSError:
            bad = 1
        if bad:
            self.nvml = None

    def joules(self):
        energy = ctypes.c_ulonglong()
        if not self.nvml or self.nvml.nvmlDeviceGetTotalEnergyConsumption(self.handle, ctypes.byref(energy)):
            return None
        return energy.value / 1000


def measure(gpu, name, commands, results, shell=False):
    """Runs all commands at once; their wall and CPU seconds together."""
    before, start = gpu.joules(), time.monotonic()
    cpu = os.times()
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, shell=shell,
                                executable="/bin/bash" if shell else None) for command in commands]
    outputs = [process.communicate() for process in running]
    wall, after, done = time.monotonic() - start, gpu.joules(), os.times()
    row = {"name": name, "wall_s": round(wall, 3),
           "cpu_s": round(done.children_user + done.children_system - cpu.children_user - cpu.children_system, 2),
           "gpu_joules": None if before is None else round(after - before, 1),
           "exit": [process.returncode for process in running]}
    for process, (_, said) in zip(running, outputs):
        if process.returncode:
            row["said"] = said.decode(errors="replace")[-600:]
    print(json.dumps(row), file=sys.stderr, flush=True)
    results["runs"].append(row)
    return [out.decode(errors="replace") for out, _ in outputs]


def digest(path):
    """Of a VCF's lines; its header names the command."""
    try:
        with gzip.open(path, "rt") as lines:
            return hashlib.sha256("".join(line for line in lines if not line.startswith("##")).encode()).hexdigest()[:16]
    except OSError as problem:
        return str(problem)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundle")
    parser.add_argument("reference")
    parser.add_argument("work")
    parser.add_argument("-o", "--out", default="genomics_gpu.json")
    parser.add_argument("--length", type=int, default=5000000, help="bases that each donor differs in")
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--no-kernels", action="store_true")
    parser.add_argument("--no-peers", action="store_true")
    args = parser.parse_args()
    run = os.path.join(args.bundle, "run")
    gpu, results = Gpu(), {"runs": [], "cores": args.cores, "length": args.length}
    os.makedirs(args.work, exist_ok=True)
    reference = os.path.join(args.work, "reference.fa")
    opener = gzip.open if args.reference.endswith(".gz") else open
    with opener(args.reference, "rb") as source, open(reference, "wb") as target:
        shutil.copyfileobj(source, target, 1 << 24)
    with open(reference, "rb") as text:
        contig = text.readline()[1:].split()[0].decode()

    def path(name):
        return os.path.join(args.work, name)

    indexing = None
    if not args.no_peers and os.path.exists(os.path.join(args.bundle, "bwa")):
        indexing = subprocess.Popen([run, "bwa", "index", reference], stderr=subprocess.DEVNULL)
    starts = [20000000 + 7000000 * i for i in range(args.samples)]
    measure(gpu, "simulate", [[run, "symph", "genomics", "simulate", "--ref", reference, "--region",
                               f"{contig}:{start + 1}-{start + args.length}", "--seed", str(100 + i), "--out",
                               path(f"s{i}")] for i, start in enumerate(starts)], results)
    kernels = [] if args.no_kernels else [["genomics_map", reference], ["genomics_extend"],
                                          ["genomics_hmm"], ["genomics_call_devices"]]
    for command in kernels:
        results[command[0]] = measure(gpu, " ".join(command), [[run] + command], results)[0]
        print(results[command[0]], file=sys.stderr, flush=True)

    def call(name, samples, extra):
        table = path(name + ".tsv")
        with open(table, "w") as lines:
            for i in samples:
                lines.write(f"s{i}\t{path(f's{i}_1.fq.gz')}\t{path(f's{i}_2.fq.gz')}\t{path(f'{name}.s{i}.vcf.gz')}\n")
        text = measure(gpu, name, [[run, "symph", "call-variants", "--ref", reference, "--samples", table, "--json",
                                    "--quiet", "--models", path("models"), "--record", path(name + ".record.json"),
                                    "--plot", path(name + ".svg")] + extra], results)[0]
        try:
            results["runs"][-1]["told"] = json.loads(text)
        except ValueError:
            pass
        results["runs"][-1]["vcf"] = [digest(path(f"{name}.s{i}.vcf.gz")) for i in samples]
        print(name, results["runs"][-1].get("vcf"), file=sys.stderr, flush=True)

    if indexing:
        indexing.wait()  # nothing runs beside what is measured
    everyone = list(range(args.samples))
    cores = ["--cuda", "0"]
    call("index", [0], cores)
    for turn in range(2):
        call(f"one-cores-{turn}", [0], cores)
        call(f"one-gpu-{turn}", [0], [])
        call(f"all-cores-{turn}", everyone, cores)
        call(f"all-gpu-{turn}", everyone, [])
    call("all-gpu-eager", everyone, ["--policy", "eager"])
    call("all-gpu-dmdas", everyone, ["--policy", "starpu:dmdas"])
    if indexing:

        def peer(i, threads):
            at, tools = path(f"peer{i}"), {name: f"{run} {name}" for name in ("bwa", "samtools", "bcftools")}
            return (f"set -o pipefail; {tools['bwa']} mem -t {threads} -R '@RG\\tID:d\\tSM:donor' {reference} "
                    f"{path(f's{i}_1.fq.gz')} {path(f's{i}_2.fq.gz')} 2>/dev/null | {tools['samtools']} fixmate -m -u - - | "
                    f"{tools['samtools']} sort -@ {threads} -u -T {at} -o {at}.s.bam - && "
                    f"{tools['samtools']} markdup -@ {threads} {at}.s.bam {at}.bam && "
                    f"{tools['samtools']} index -@ {threads} {at}.bam && "
                    f"{tools['bcftools']} mpileup --threads {threads} -Ou -d 250 -f {reference} {at}.bam 2>/dev/null | "
                    f"{tools['bcftools']} call --threads {threads} -mv -Oz -o {at}.vcf.gz")
        measure(gpu, "peers-one", [peer(0, args.cores)], results, shell=True)
        measure(gpu, "peers-all", [peer(i, max(1, args.cores // args.samples)) for i in everyone], results, shell=True)
    with open(args.out, "w") as out:
        json.dump(results, out, indent=1)
    for kept in ("all-gpu-1.svg", "one-gpu-1.svg"):
        if os.path.exists(path(kept)):
            shutil.copy(path(kept), os.path.dirname(os.path.abspath(args.out)))


if __name__ == "__main__":
    main()
