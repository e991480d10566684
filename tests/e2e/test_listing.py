# SPDX-License-Identifier: Apache-2.0
"""symph counters listing: what is shown, what is compiled, what is wrong is named."""
import json
import os

import cli

LISTINGS = os.path.join(cli.ROOT, "data", "listing")
EVENTS = """[
  {"EventName": "CYCLES", "EventCode": "0x3c", "Counter": "0,1,2,3"},
  {"EventName": "LOADS", "EventCode": "0xd0", "UMask": "0x81"}
]"""
METRICS = """[
  {"MetricName": "loads_per_cycle", "MetricExpr": "LOADS / CYCLES", "MetricGroup": "Mem"},
  {"MetricName": "busy", "MetricExpr": "1 if #smt_on else 2", "ScaleUnit": "100%"}
]"""


class Listing(cli.Case):
    def listing(self, *args):
        return ["counters", "listing", *args, "--listings", LISTINGS]

    def tree(self, metrics=METRICS, events=EVENTS):
        folder = os.path.join(self.folder, "linux-9.9", "tools", "perf", "pmu-events", "arch", "x86")
        os.makedirs(os.path.join(folder, "small"), exist_ok=True)
        files = {"mapfile.csv": "Family-model,Version,Filename,EventType\n"
                                "GenuineIntel-6-(1|2),v1,small,core\n",
                 "small/events.json": events, "small/metrics.json": metrics}
        for name, text in files.items():
            self.write(os.path.join(folder, name), text)
        return os.path.join(self.folder, "linux-9.9")

    def test_all_are_shown(self):
        text = self.ok(*self.listing())
        self.assertIn("x86/skylakex", text)
        self.assertIn("90 listings, 48888 events, 6074 metrics", text)
        found = self.ok_json(*self.listing())
        self.assertEqual(found["schema"], "symph-counters-listing-1")
        archs = {arch["name"]: arch for arch in found["archs"]}
        self.assertEqual(len(archs), 90)
        self.assertEqual(sum(arch["metrics"] for arch in archs.values()), 6074)
        spr = archs["x86/sapphirerapids"]
        self.assertEqual([spr[key] for key in ["events", "core_events", "uncore_events", "metrics"]],
                         [2664, 396, 2268, 297])
        self.assertEqual(spr["licence"], "GPL-2.0-only")
        self.assertLessEqual(sum(arch["own"] for arch in archs.values()), 1)

    def test_one_is_shown(self):
        text = self.ok(*self.listing("--arch", "skylakex"))
        self.assertIn("x86/skylakex: 3783 events", text)
        self.assertIn("uncore_cha", text)
        text = self.ok(*self.listing("--arch", "amdzen4", "--events"))
        self.assertIn("event=0xa,rdwrmask=1", text)
        text = self.ok(*self.listing("--arch", "arm/neoverse-n1", "--metrics"))
        self.assertIn("INST_RETIRED/CPU_CYCLES", text)
        arch = self.ok_json(*self.listing("--arch", "amdzen4", "--events", "--metrics"))["archs"][0]
        self.assertEqual(len(arch["event_list"]), arch["events"])
        self.assertEqual(len(arch["metric_list"]), arch["metrics"])

    def test_a_processor_has_its_listing(self):
        text = self.ok(*self.listing("--processor", "GenuineIntel-6-8F-8"))
        self.assertIn("x86/sapphirerapids:", text)
        self.assertIn("0x12345678", self.fails(3, *self.listing("--processor", "0x12345678")))

    def test_compile(self):
        out = os.path.join(self.folder, "out")
        self.ok("counters", "listing", "--compile", self.tree(), "--out", out)
        arch = self.ok_json("counters", "listing", "--listings", out, "--arch", "small", "--events",
                            "--metrics")["archs"][0]
        self.assertEqual([event["encoding"] for event in arch["event_list"]],
                         ["event=0x3c", "event=0xd0,umask=0x81"])
        self.assertEqual(arch["metric_list"][1]["expression"], "LOADS/CYCLES")
        self.assertTrue(arch["metric_list"][0]["bounded"])
        self.assertIn("linux-9.9", arch["source"])
        self.assertIn("x86/small:", self.ok("counters", "listing", "--listings", out, "--processor",
                                            "GenuineIntel-6-2-1"))

    def test_wrong_trees_are_pointed_at(self):
        out = ["--out", os.path.join(self.folder, "out")]
        compile_tree = ["counters", "listing", "--compile"]
        recursive = json.dumps([{"MetricName": "a", "MetricExpr": "b"},
                                {"MetricName": "b", "MetricExpr": "a + 1"}])
        for metrics, words in [('[{"MetricName": "m", "MetricExpr": "1 +"}]',
                                ["metrics.json:1:36", "ends here"]),
                               ("[\n  {]", ["metrics.json:2:4"]), (recursive, ["a -> b -> a"]),
                               ('[{"MetricName": 7}]', ["metrics.json:1:17", "string"])]:
            message = self.fails(3, *compile_tree, self.tree(metrics=metrics), *out)
            for word in words:
                self.assertIn(word, message)
            self.assertEqual(message.count("\n"), 1, message)
        self.assertIn("pmu-events", self.fails(3, *compile_tree, self.folder, *out))
        self.assertIn("x86/other", self.fails(3, *compile_tree, self.tree(), *out, "--arch",
                                              "x86/other"))

    def test_wrong_arguments(self):
        self.assertIn("skylakex", self.fails(3, *self.listing("--arch", "skylake_x")))
        self.assertIn("--out", self.fails(2, "counters", "listing", "--compile", "x"))
        self.assertIn("--compile", self.fails(2, "counters", "listing", "--out", "x"))
        self.assertIn("--arch", self.fails(2, "counters", "listing", "--events"))
        self.assertIn("nowhere", self.fails(3, "counters", "listing", "--listings", "nowhere"))
        self.write("x86.listing", "symph-listing 1\n[events cpu]\n0a\tzz\n")
        self.assertIn("x86.listing:3:4", self.fails(3, "counters", "listing", "--listings", "."))


cli.main()
