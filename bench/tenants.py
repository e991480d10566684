#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What two StarPU programs get done on the same cores, with and without a broker.

In: a build folder. In each round: one program alone, the same under a broker, two at the same time
without a broker, and two under it with the weights asked for. Out: a table, all rounds; work is in
units of what one does alone in that time.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

START_S = 3  # until programs have started and know how long their tasks take


def jain(values):
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values))


class Bench:
    def __init__(self, arguments, home):
        self.build, self.seconds, self.home = arguments.build, arguments.seconds, home
        self.busy = str(self.build / "bench" / "starpu_busy")
        thousand_us = float(subprocess.run([self.busy], capture_output=True, text=True, check=True).stdout)
        self.rounds = str(int(arguments.length / thousand_us * 1000))
        self.cores = arguments.cores

    def programs(self, tenants, socket):
        """How many tasks each gets done."""
        start = time.monotonic() + START_S
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("STARPU_", "SYMPH_"))}
        environment.update(HOME=self.home, STARPU_SILENT="1", STARPU_NOPENCL="0", STARPU_NCPU=str(self.cores),
                           SYMPH_BROKER=socket or "none")
        command = [str(self.build / "symph"), "starpu", "--quiet", "--", self.busy, self.rounds,
                   str(start), str(start + self.seconds)]
        running = [subprocess.Popen(command, env={**environment, "SYMPH_TENANT": tenant}, text=True,
                                    stdout=subprocess.PIPE) for tenant in tenants]
        counts = []
        for program in running:
            out, _ = program.communicate()
            if program.returncode:
                sys.exit(f"a program failed: {out}")
            counts.append(int(out.split()[-1]))
        return counts

    def brokered(self, tenants, weights):
        socket = os.path.join(self.home, "broker.sock")
        broker = subprocess.Popen([str(self.build / "symph"), "serve", "--socket", socket]
                                  + [word for tenant, weight in zip(tenants, weights)
                                     for word in ("--weight", f"{tenant}={weight:g}")],
                                  stderr=subprocess.PIPE, text=True)
        broker.stderr.readline()
        counts = self.programs(tenants, socket)
        broker.terminate()
        broker.communicate()
        return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path, metavar="BUILD")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--length", type=float, default=200, metavar="US", help="how long a task computes")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--weights", default="1:1,3:1")
    arguments = parser.parse_args()
    weights = [tuple(map(float, pair.split(":"))) for pair in arguments.weights.split(",")]
    with tempfile.TemporaryDirectory() as home:
        bench = Bench(arguments, home)
        bench.programs(["ann"], None)  # learns how long the tasks take
        rows = {"alone": [], "alone, broker": [], "two": [], **{f"two, broker, {a:g}:{b:g}": [] for a, b in weights}}
        for _ in range(arguments.repeat):
            rows["alone"].append(bench.programs(["ann"], None))
            rows["alone, broker"].append(bench.brokered(["ann"], [1]))
            rows["two"].append(bench.programs(["ann", "bob"], None))
            for a, b in weights:
                rows[f"two, broker, {a:g}:{b:g}"].append(bench.brokered(["ann", "bob"], [a, b]))
    alone = statistics.median(counts[0] for counts in rows["alone"])
    print(f"tasks of {arguments.length:g} us on {arguments.cores} cores for {arguments.seconds:g} s, "
          f"{arguments.repeat} rounds; 1 is what one program does alone")
    print(f"{'':<22}{'together':>9}{'ratio':>7}{'Jain':>7}  rounds")
    for name, counts in rows.items():
        shares = name.rsplit(" ", 1)[-1].split(":") if ":" in name else ["1"] * len(counts[0])
        together = statistics.median(sum(pair) for pair in counts) / alone
        ratio = statistics.median(pair[0] / max(1, pair[-1]) for pair in counts)
        fair = statistics.median(jain([count / float(share) for count, share in zip(pair, shares)])
                                 for pair in counts)
        print(f"{name:<22}{together:9.3f}{ratio:7.2f}{fair:7.3f}  "
              + " ".join("+".join(f"{count / alone:.3f}" for count in pair) for pair in counts))


if __name__ == "__main__":
    main()
