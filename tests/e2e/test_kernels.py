# SPDX-License-Identifier: Apache-2.0
"""symph kernels: what is listed, stored, forgotten; what is wrong is named."""
import json
import os

import cli

HEADER = "kernel,class,bytes,flops,footprint,build,count,samples_ns\n"
BUILD = os.path.dirname(cli.SYMPH)
ENGINE = os.path.join(BUILD, "src", "engine", "starpu", "symph-engine")
SCALE = os.path.join(BUILD, "examples", "scale.so")


class Kernels(cli.Case):
    def kernels(self, *args):
        return ["kernels", *args, "--kernels", SCALE, "--models", self.folder]

    def models(self):
        """The file of this machine, which need not be there yet."""
        return self.ok_json(*self.kernels())["models"]

    def store(self, text):
        with open(self.models(), "w", encoding="utf-8") as file:
            file.write(HEADER + text)

    def test_listing(self):
        text = self.ok(*self.kernels())
        for word in ["scale_axpy", "r rw", "scale:chain", "nothing yet", "--calibrate"]:
            self.assertIn(word, text)
        found = self.ok_json(*self.kernels())
        self.assertEqual(found["schema"], "symph-kernels-1")
        plugin = found["plugins"][0]
        self.assertEqual(plugin["path"], SCALE)
        self.assertEqual(plugin["kernels"][0]["variants"], ["c"])
        self.assertEqual(plugin["kernels"][0]["arguments"], ["read", "read-write"])
        self.assertEqual([plugin["kernels"][0][key] for key in ("part_max", "part_ns")], [0, 0])
        self.assertEqual(plugin["workloads"][0]["name"], "chain")
        self.assertEqual(found["measured"], [])

    def test_measured(self):
        self.store("scale_axpy,cpu,24000,2000,1,,4,100 101 40000 99\n"
                   "stranger,gpu,0,0,7,,1,5000\n")
        cells = self.ok_json(*self.kernels())["measured"]
        self.assertEqual([cell["kernel"] for cell in cells], ["scale_axpy", "stranger"])
        self.assertEqual(cells[0]["median_ns"], 100)
        self.assertEqual(cells[0]["samples"], 4)
        text = self.ok(*self.kernels())
        self.assertIn("too few", text)
        self.assertNotIn("Not measured", text)
        self.assertNotIn("stranger", self.ok(*self.kernels("scale")))
        self.assertNotIn("scale", self.ok(*self.kernels("stranger")).replace(SCALE, ""))

    def test_forget(self):
        line = "scale_axpy,cpu,24000,2000,1,,1,100\n"
        self.store(line + "stranger,gpu,0,0,7,,1,5000\n")
        self.ok(*self.kernels("--forget", "stranger"))
        with open(self.models(), encoding="utf-8") as file:
            self.assertEqual(file.read().splitlines()[2:],
                             ["scale_axpy,cpu,measured,1,,1,1,100,,,2000,24000"])
        self.ok(*self.kernels("--forget"))
        self.assertEqual(self.ok_json(*self.kernels())["measured"], [])

    def test_simulated(self):
        """What a machine has learned is what simulations and bounds go by."""
        self.store("gemm,cpu,0,5,1,,3,8000 8000 8000\n")
        graph = self.write("one.json", json.dumps({
            "schema": "symph-graph-1",
            "kernels": [{"name": "gemm", "variants": {"cpu": {"fixed_ns": 1}}}],
            "tasks": [{"kernel": "gemm", "work": 5}]}))
        asked = ["--machine", "cpu:1", "--graphs", graph, "--times", self.models()]
        self.assertEqual(self.ok_json("bound", *asked)["graphs"][0]["lower_bound_ns"], 8000)
        runs = self.ok_json("simulate", *asked, "--policy", "heft")["runs"]
        self.assertEqual({run["makespan_ns"] for run in runs}, {8000})

    def test_damaged_store(self):
        self.store("scale_axpy,cpu,24000,2000,1,,1,100\nnonsense\n")
        done = self.run_symph(*self.kernels())
        self.assertEqual(done.returncode, 0)
        self.assertIn(":3:", done.stderr)
        self.assertTrue(os.path.exists(self.models() + ".bad"))
        self.assertFalse(os.path.exists(self.models()))

    def test_calibrate(self):
        if not os.path.exists(ENGINE):
            self.skipTest("built without StarPU")
        self.store("scale_axpy,cpu,1,1,1,,1,100\n")
        done = self.run_symph(*self.kernels("--forget", "--calibrate", "--samples", "5", "--json"),
                              env={"HOME": self.folder})
        self.assertEqual(done.returncode, 0, done.stderr)
        cells = json.loads(done.stdout)["measured"]
        self.assertEqual({cell["flops"] for cell in cells}, {2000, 200000})
        for cell in cells:
            self.assertGreaterEqual(cell["samples"], 5)
            self.assertGreater(cell["median_ns"], 0)

    def test_nothing_to_calibrate(self):
        self.store("stranger,gpu,0,0,7,,1,5000\n")
        self.assertIn("nothing to calibrate", self.fails(3, *self.kernels("--calibrate", "stranger")))

    def test_mistakes(self):
        self.assertIn("did you mean 'scale_axpy'", self.fails(3, *self.kernels("scale_axpi")))
        message = self.fails(3, "kernels", "--kernels", "no/such.so")
        self.assertIn("no/such.so", message)
        self.write("text.so", "text\n")
        self.assertIn("text.so", self.fails(3, "kernels", "--kernels", "text.so"))
        done = self.run_symph("kernels", "--models", "", env={"SYMPH_KERNELS": "/no/such/folder"})
        self.assertEqual(done.returncode, 3)
        self.assertIn("/no/such/folder", done.stderr)


cli.main()
