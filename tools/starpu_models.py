#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A machine that StarPU has measured, as X.bus.csv and X.kernels.csv (docs/machine-format.md).

In: a folder of StarPU's performance models (~/.starpu/sampling; those of its authors are in
/usr/share/starpu/perfmodels/sampling of Debian's starpu-examples) and a host name. Out: the two
files. Nothing is added to what was measured: StarPU knows no bandwidth of host memory, so there is
none unless --dram gives it.
"""
import argparse
import csv
import math
import re
import sys
from pathlib import Path

ARCHITECTURES = ["cpu", "cuda", "opencl"]
COLUMNS = ["kernel", "arch", "bytes", "flops", "mean_us", "stddev_us", "samples"]


def fail(message):
    sys.exit(f"starpu_models: {message}")


def read_config(path):
    """Cores and CUDA devices."""
    found = {}
    for line in path.read_text(encoding="ascii").splitlines():
        match = re.match(r"(\d+)\s*# Number of (\w+)", line)
        if match:
            found[match[2]] = int(match[1])
    if "CPUs" not in found or "CUDA" not in found:
        fail(f"{path}: no number of CPUs and CUDA devices")
    return found["CPUs"], found["CUDA"]


def read_matrix(path, size):
    rows = [[float(word) for word in line.split()]
            for line in path.read_text(encoding="ascii").splitlines()
            if line.strip() and not line.startswith("#")]
    if len(rows) < size or any(len(row) < size for row in rows[:size]):
        fail(f"{path}: less than {size} x {size} numbers")
    return rows


def write_bus(folder, host, cores, dram, path):
    """Host memory is node 0, then the CUDA devices; OpenCL's view of them is left out."""
    cpus, gpus = read_config(folder / f"{host}.config")
    if cores == "starpu":
        cpus = max(cpus - gpus, 0)
    bandwidth = read_matrix(folder / f"{host}.bandwidth", gpus + 1)
    latency = read_matrix(folder / f"{host}.latency", gpus + 1)
    with open(path, "w", encoding="ascii") as file:
        file.write(f"# {cpus} CPU cores, {gpus} CUDA GPUs{f', dram {dram}' if dram else ''};"
                   " node 0 is host memory, node i is GPU i-1\n"
                   "from,to,bytes_per_us,latency_us\n")
        for a in range(gpus + 1):
            for b in range(gpus + 1):
                if a != b and bandwidth[a][b] > 0 and math.isfinite(latency[a][b]):
                    file.write(f"{a},{b},{bandwidth[a][b]:.6g},{latency[a][b]:.6g}\n")


def read_model(path):
    """(architecture, bytes, flops, mean, deviation, samples) of every size on single devices."""
    lines = iter(path.read_text(encoding="ascii").splitlines())
    devices, kinds, history = 0, [], False
    for line in lines:
        if "number of types devices" in line:
            devices, kinds = int(next(lines)), []
        elif "device type" in line:
            kinds.append(int(next(lines)))
        elif line.startswith("#"):
            history = line.startswith("# hash")
        elif history and len(line.split()) == 8:
            _, size, flops, mean, deviation, _, _, samples = line.split()
            alone = devices == 1 and len(kinds) == 1 and kinds[0] < len(ARCHITECTURES)
            if alone and float(mean) > 0:
                yield (ARCHITECTURES[kinds[0]], size, float(flops), float(mean), float(deviation),
                       samples)


def write_kernels(folder, host, path):
    models = sorted(folder.glob(f"*/*.{host}"))
    with open(path, "w", encoding="ascii", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for model in models:
            rows = sorted(read_model(model), key=lambda row: (row[0], int(row[1]), row[3]))
            for arch, size, flops, mean, deviation, samples in rows:
                writer.writerow([model.name[:-len(host) - 1], arch, size, f"{flops:.6g}",
                                 f"{mean:.6g}", f"{deviation:.6g}", samples])
    return len(models)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", type=Path, metavar="MODELS", help="folder with bus/ and codelets/")
    parser.add_argument("host", metavar="HOST")
    parser.add_argument("out", type=Path, metavar="FOLDER", help="where HOST.bus.csv goes")
    parser.add_argument("--cores", choices=["all", "starpu"], default="all",
                        help="starpu: one less per GPU, whose driver StarPU gives a core")
    parser.add_argument("--dram", metavar="RATE", help="of the host memory, such as 60GB/s")
    arguments = parser.parse_args()
    bus = arguments.models / "bus"
    if not (bus / f"{arguments.host}.config").exists():
        hosts = sorted(path.stem for path in bus.glob("*.config"))
        fail(f"no machine '{arguments.host}' in {bus}; there are: {', '.join(hosts) or 'none'}")
    write_bus(bus, arguments.host, arguments.cores, arguments.dram,
              arguments.out / f"{arguments.host}.bus.csv")
    count = write_kernels(arguments.models / "codelets", arguments.host,
                          arguments.out / f"{arguments.host}.kernels.csv")
    print(f"{arguments.host}: {count} kernels in {arguments.out}")


if __name__ == "__main__":
    main()
