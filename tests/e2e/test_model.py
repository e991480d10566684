# SPDX-License-Identifier: Apache-2.0
"""symph counters model: factor graphs of processors, machines and GPUs; what is wrong is named."""
import os

import cli

LISTINGS = os.path.join(cli.ROOT, "data", "listing")


class Model(cli.Case):
    def model(self, *args):
        return ["counters", "model", "--listings", LISTINGS, *args]

    def test_one(self):
        text = self.ok(*self.model("--arch", "skylakex"))
        for word in ["x86/skylakex core:", "x86/skylakex package:", "inst_retired.any",
                     "takes a counter", "mem_load_retired.l1_hit + mem_load_retired.l1_miss",
                     "a load hits or misses L1", "unc_m_cas_count.rd"]:
            self.assertIn(word, text)

    def test_json(self):
        found = self.ok_json(*self.model("--arch", "amdzen4", "--scope", "core"))
        self.assertEqual(found["schema"], "symph-counters-model-1")
        model, = found["models"]
        self.assertEqual(len(model["variables"]), model["variable_count"])
        self.assertEqual(model["measured_count"] + model["hidden_count"], model["variable_count"])
        self.assertEqual(len(model["relations"]), sum(model["relation_counts"].values()))
        self.assertGreater(model["relation_counts"]["unit mask"], 5)
        self.assertTrue(all(relation["why"] for relation in model["relations"]))

    def test_all(self):
        rows = self.ok(*self.model("--all")).splitlines()
        found = self.ok_json(*self.model("--all"))["models"]
        self.assertEqual(2 * (len(rows) - 1), len(found))
        self.assertGreater(len(rows), 80)
        for model in found:
            self.assertLessEqual(model["variable_count"], 100, model["name"])

    def test_dot(self):
        for args in [["--arch", "power9", "--scope", "socket"], ["--scope", "gpu"],
                     ["--machine", "2x(cpu:2) gpu:2@bus=sw"]]:
            text = self.ok(*self.model("--dot", "-", *args))
            self.assertTrue(text.startswith("digraph") and text.endswith("}\n"), args)
            self.assertEqual(text.count("{"), text.count("}"))
        self.assertEqual(self.ok(*self.model("--dot", "m.dot", *args)), "")
        self.assertEqual(self.read("m.dot").decode(), text)

    def test_machine(self):
        text = self.ok(*self.model("--machine", "cpu:2 gpu:2@bus=sw"))
        self.assertIn("gpu0.down + gpu1.down = sw.down", text)

    def test_wrong(self):
        for code, word, args in [
                (2, "--scope is", ["--scope", "house"]),
                (2, "one model", ["--dot", "-", "--arch", "skylakex"]),
                (2, "exclude", ["--all", "--arch", "skylakex"]),
                (2, "exclude", ["--dot", "-", "--scope", "gpu", "--json"]),
                (3, "nosuch", ["--arch", "nosuch"]),
                (3, "cpu:", ["--machine", "cpu:"])]:
            self.assertIn(word, self.fails(code, *self.model(*args)))


cli.main()
