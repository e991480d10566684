# SPDX-License-Identifier: Apache-2.0
"""The simulator against another one: dmdas on machines that StarPU's authors measured.

tests/simgrid/dmdas.json holds what StarPU's own dmdas takes on SimGrid, and how that was recorded.
Here ours runs the same graphs with the same measured times and buses: StarPU's models as Debian's
starpu-examples installs them, or the recorded machines below SYMPH_DATA. Links are shared in both;
neither knows anything of memory bandwidth.
"""
import csv
import json
import os
import re
import subprocess
import sys

import cli

MODELS = "/usr/share/starpu/perfmodels/sampling"
TOLERANCE = 0.10
# Kernels of the two programs; those of version 1.3 are numbered.
KERNELS = {"cholesky": r"chol_model_(potrf|trsm|syrk|gemm|11|21|22)$",
           "lu": r"starpu_slu_lu_model_(getrf|trsm_ll|trsm_ru|gemm|11|12|21|22)$"}


def recorded():
    with open(os.path.join(cli.ROOT, "tests", "simgrid", "dmdas.json"), encoding="ascii") as file:
        return json.load(file)


class SimGrid(cli.Case):
    def find_machine(self, name):
        """The bus file and the rows of kernels, or None where neither source is installed."""
        if os.path.exists(os.path.join(MODELS, "bus", f"{name}.config")):
            subprocess.run([sys.executable, os.path.join(cli.ROOT, "tools", "starpu_models.py"),
                            MODELS, name, self.folder, "--cores", "starpu"], check=True,
                           stdout=subprocess.DEVNULL)
            bus = self.read(f"{name}.bus.csv").decode()
            kernels = self.read(f"{name}.kernels.csv").decode()
        else:
            folder = os.path.join(os.environ.get("SYMPH_DATA", ""), "machines")
            if not os.path.exists(os.path.join(folder, f"{name}.bus.csv")):
                return None
            with open(os.path.join(folder, f"{name}.bus.csv"), encoding="ascii") as file:
                bus = file.read()
            with open(os.path.join(folder, f"{name}.kernels.csv"), encoding="ascii") as file:
                kernels = file.read()
            # StarPU gives the driver of each GPU a core.
            cores, gpus = (int(n) for n in re.match(r"# (\d+) CPU cores, (\d+)", bus).groups())
            bus = bus.replace(f"# {cores} CPU", f"# {cores - gpus} CPU", 1)
        return bus, list(csv.DictReader(kernels.splitlines()))

    def write_machine(self, name, graph, bus, rows):
        rows = [row for row in rows if re.match(KERNELS[graph], row["kernel"])]
        if graph == "cholesky" and not any("syrk" in row["kernel"] for row in rows):
            # Measured together with gemm in 1.3; 1.4 has its half, on two tiles of three.
            rows += [{**row, "kernel": "chol_model_syrk", "mean_us": float(row["mean_us"]) / 2,
                      "bytes": int(row["bytes"]) * 2 // 3, "flops": float(row["flops"]) / 2}
                     for row in rows if row["kernel"] == "chol_model_22"]
        with open(os.path.join(self.folder, f"{name}.kernels.csv"), "w", encoding="ascii",
                  newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        self.write(f"{name}.bus.csv", bus)

    def simulate_ms(self, name, graph, tiles):
        done = self.run_symph("simulate", "--machine", f"{name}.bus.csv", "--costs",
                              f"{name}.kernels.csv", "--graphs", f"gen:{graph}:{tiles}", "--policy",
                              "dmdas", "--seeds", "1", "--contention", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("bandwidth of host0 is not known", done.stderr)
        return json.loads(done.stdout)["runs"][0]["makespan_ns"] / 1e6

    def test_dmdas(self):
        record = recorded()
        for cell in record["cells"]:
            name, graph, tiles = cell["machine"], cell["workload"], cell["size"] // record["tile"]
            machine = self.find_machine(name)
            if not machine:
                self.skipTest(f"no models of {name}: starpu-examples is not installed, and "
                              "SYMPH_DATA names no folder that has them")
            self.write_machine(name, graph, *machine)
            ratio = self.simulate_ms(name, graph, tiles) / cell["ms"]
            print(f"{name} {graph} {tiles}: {ratio:.3f} of SimGrid's {cell['ms']:.0f} ms")
            self.assertLess(abs(ratio - 1), TOLERANCE, (name, graph, tiles))


cli.main()
