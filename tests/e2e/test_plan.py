# SPDX-License-Identifier: Apache-2.0
"""symph plan: what a person sees of a pipeline, of its plan, and of what they typed wrong."""
import copy
import json
import math
import os
import xml.dom.minidom

import cli

MACHINE = "cpu:4 gpu:2"
# Three kernels in a chain; the last can only be had where there is a sample, or a roofline.
PIPELINE = {
    "schema": "symph-pipeline-1", "name": "three", "about": "three kernels in a chain",
    "features": [{"name": "rows", "about": "rows of the table", "low": 1, "high": 1e9},
                 {"name": "width", "about": "columns", "low": 1, "high": 1e5, "usual": 64}],
    "data": [{"name": "table", "role": "input", "bytes": "8*rows*width"},
             {"name": "weights", "role": "constant", "bytes": "8*width*width"},
             {"name": "a", "role": "between", "bytes": "8*rows*width"},
             {"name": "b", "role": "between", "bytes": "8*rows*width"},
             {"name": "sums", "role": "output", "bytes": "8*rows"}],
    "kernels": [{"name": "first", "kernel": "scale", "reads": ["table"], "writes": ["a"],
                 "parameters": ["rows"], "split": True,
                 "cost": {"flops": "rows*width", "bytes": "16*rows*width"}},
                {"name": "second", "kernel": "product", "reads": ["a", "weights"], "writes": ["b"],
                 "parameters": ["rows"], "split": True,
                 "cost": {"flops": "2*rows*width*width", "bytes": "16*rows*width"}},
                {"name": "third", "kernel": "sum", "reads": ["b"], "writes": ["sums"],
                 "parameters": ["rows"],
                 "cost": {"flops": "rows*width", "bytes": "8*rows*width"}}],
    "examples": [{"name": "small", "about": "a small one", "values": {"rows": 10000}},
                 {"name": "large", "about": "a large one", "values": {"rows": 1e6, "width": 256}}],
}
# (kernel, flops, bytes) of the example "small".
COSTS = {"scale": (640000, 10240000), "product": (81920000, 10240000), "sum": (640000, 5120000)}
# ns on one core, on the GPU, by the model of an FPGA card.
TIMES = {"scale": (4e6, 1e5, 1e6), "product": (40e6, 2e5, 3e6), "sum": (1e6, 1e5, 2e5)}


def times_text(classes=("cpu", "gpu", "fpga")):
    """Samples of the classes that are named, in the places of cores, GPUs and cards."""
    lines = ["source,kernel,class,width,time_ns,watts,case,flops,bytes"]
    for kernel in TIMES:
        for index, name in enumerate(classes):
            if not name:
                continue
            source = "model" if index == 2 else "measured"
            watts = (10, 300, 40)[index]
            flops, size = COSTS[kernel]
            lines.append(f"{source},{kernel},{name},1,{TIMES[kernel][index]:.0f},{watts},small,"
                         f"{flops},{size}")
    return "\n".join(lines) + "\n"


class Plan(cli.Case):
    def setUp(self):
        super().setUp()
        self.write("three.json", json.dumps(PIPELINE))
        self.write("times.csv", times_text())
        self.asked = ["plan", "three.json", "--input-features", "small", "--machine", MACHINE,
                      "--times", "times.csv"]

    # --- what one sees ---------------------------------------------------------------------------
    def test_the_pipeline_alone(self):
        text = self.ok("plan", "three.json")
        for word in ["first", "product", "rows of the table", "needed", "small", "a large one",
                     "--input-features small"]:
            self.assertIn(word, text)
        shown = self.ok_json("plan", "three.json")
        self.assertEqual(shown["schema"], "symph-plan-pipeline-1")
        self.assertEqual([k["name"] for k in shown["kernels"]], ["first", "second", "third"])
        self.assertEqual(shown["kernels"][1]["reads"], ["a", "weights"])
        self.assertIsNone(shown["features"][0]["usual"])
        self.assertEqual(shown["examples"][0]["values"], {"rows": 10000, "width": 64})

    def test_table(self):
        text = self.ok(*self.asked, "--constraint", "power<=2kW")
        for word in ["Plan: ", "bottleneck", "throughput", "measured, ", "What each constraint",
                     "costs nothing", "Pareto front: ", "assumed prices"]:
            self.assertIn(word, text)
        text = self.ok(*self.asked, "--constraint", "power<=200W")
        self.assertRegex(text, r"power<=200W +costs [\d.]+x throughput +\d+/s without it")
        self.assertIn("to keep the power limit", text)
        # In what the objective counts.
        text = self.ok(*self.asked, "--objective", "money", "--price", "gpu=4/h",
                       "--constraint", "latency<=1ms")
        self.assertRegex(text, r"latency<=1ms +costs .* money +[\d.e-]+ without it")
        text = self.ok(*self.asked, "--objective", "balanced", "--constraint", "gpu<=1")
        self.assertRegex(text, r"gpu<=1 +costs .* energy \* time +[\d.]+ .?J, [\d.]+/s without it")
        # A plan that draws too much idle has no figures.
        text = self.ok(*self.asked, "--constraint", "power<=20W", "--plan",
                       "first+second+third@gpu:1x2")
        self.assertNotIn("inf", text.split("Your plans")[1].split("Pareto front")[0])

    def test_json_adds_up(self):
        result = self.ok_json(*self.asked, "--no-overlap", "--constraint", "latency<=30ms",
                              "--plan", "first+second+third@gpu")
        self.assertEqual(result["schema"], "symph-plan-1")
        self.assertEqual(result["features"], {"rows": 10000, "width": 64})
        plan = result["plan"]
        stages = plan["stages"]
        self.assertEqual([k["kernel"] for s in stages for k in s["kernels"]],
                         ["first", "second", "third"])
        takes = [s["compute_ns"] + s["transfer_ns"] for s in stages]
        self.assertAlmostEqual(sum(takes) / plan["latency_ns"], 1)
        period = max(t / s["replicas"] for t, s in zip(takes, stages))
        self.assertAlmostEqual(period / plan["period_ns"], 1)
        self.assertAlmostEqual(plan["throughput_per_s"] * plan["period_ns"] / 1e9, 1)
        self.assertAlmostEqual(plan["energy_joules"] / plan["period_ns"] * 1e9
                               / plan["power_watts"], 1)
        beside = result["beside"][0]
        self.assertGreaterEqual(beside["worse_ratio"], 1 - 1e-9)
        self.assertEqual(beside["text"], "first+second+third@gpu")
        constraint = result["constraints"][0]
        self.assertGreaterEqual(constraint["cost_ratio"], 1 - 1e-9)
        self.assertLessEqual(constraint["without"]["period_ns"], plan["period_ns"] * (1 + 1e-9))

    def test_front(self):
        result = self.ok_json(*self.asked)
        front = result["front"]
        figures = ["period_ns", "latency_ns", "energy_joules", "money"]
        for a in front:
            for b in front:
                worse = (all(a[f] >= b[f] * (1 - 1e-10) for f in figures) and
                         any(a[f] > b[f] * (1 + 1e-8) for f in figures))
                self.assertFalse(worse, f"{b['text']} beats {a['text']}")
        self.assertEqual([p["period_ns"] for p in front], sorted(p["period_ns"] for p in front))
        self.assertEqual(sum(p["chosen"] for p in front), 1)
        best = min(front, key=lambda p: p["period_ns"])
        self.assertAlmostEqual(best["period_ns"] / result["plan"]["period_ns"], 1)
        # Every plan of the front, judged on its own, costs what the front says.
        beside = [a for p in front[:8] for a in ["--plan", p["text"]]]
        judged = self.ok_json(*self.asked, *beside)["beside"]
        for a, b in zip(front, judged):
            self.assertEqual([a[f] for f in figures], [b[f] for f in figures])
        rows = self.ok(*self.asked, "--front").split("Pareto front: ")[1].strip().split("\n")
        self.assertEqual(len(rows), len(front) + 2)

    def test_objectives(self):
        keys = {"throughput": "period_ns", "latency": "latency_ns", "energy": "energy_joules",
                "money": "money"}
        for objective, key in keys.items():
            result = self.ok_json(*self.asked, "--objective", objective)
            self.assertEqual(result["objective"], objective)
            least = min(p[key] for p in result["front"])
            self.assertAlmostEqual(result["plan"][key] / least, 1, msg=objective)
        result = self.ok_json(*self.asked, "--objective", "balanced")
        least = min(p["period_ns"] * p["energy_joules"] for p in result["front"])
        self.assertAlmostEqual(result["plan"]["period_ns"] * result["plan"]["energy_joules"] / least,
                               1)

    def test_constraints_hold(self):
        free = self.ok_json(*self.asked)["plan"]
        capped = self.ok_json(*self.asked, "--constraint", f"power<={free['power_watts'] / 2}W")
        self.assertLessEqual(capped["plan"]["power_watts"], free["power_watts"] / 2 * (1 + 1e-9))
        self.assertGreater(capped["constraints"][0]["cost_ratio"], 1)
        one = self.ok_json(*self.asked, "--constraint", "gpu<=1", "--constraint", "cpu<=2")
        for name, most in [("gpu", 1), ("cpu", 2)]:
            used = sum(s["width"] * s["replicas"] for s in one["plan"]["stages"]
                       if s["class"] == name)
            self.assertLessEqual(used, most)
        # What a limit costs is a plan of the machine without the limit.
        whole = self.ok_json(*self.asked, "--constraint", "cpu<=2")["plan"]["text"]
        self.assertEqual(one["constraints"][0]["without"]["text"], whole)
        none = self.ok_json(*self.asked, "--constraint", "gpu<=0")
        self.assertEqual({s["class"] for s in none["plan"]["stages"]}, {"cpu"})
        # Weights and items do not fit: the GPU drops out.
        small = self.ok_json(*self.asked, "--constraint", "memory.gpu<=1MB")
        self.assertEqual({s["class"] for s in small["plan"]["stages"]}, {"cpu"})

    def test_devices_of_others(self):
        result = self.ok_json(*self.asked, "--busy", "gpu=2")
        self.assertEqual({s["class"] for s in result["plan"]["stages"]}, {"cpu"})
        self.assertEqual(result["machine"]["classes"][1]["busy"], 2)
        self.assertIn("others hold 1", self.ok(*self.asked, "--busy", "gpu=1"))
        self.assertIn("the machine has 2", self.fails(3, *self.asked, "--busy", "gpu=3"))
        self.assertIn("this machine", self.fails(2, *self.asked, "--busy", "auto"))
        here = self.run_symph("plan", "three.json", "--input-features", "small", "--busy", "auto",
                              "--models", "")
        self.assertEqual(here.returncode, 0, here.stderr)
        self.assertRegex(here.stderr, r"--busy auto: (others use .* of|what others use of)")

    def test_prices(self):
        result = self.ok_json(*self.asked, "--price", "gpu=1000/h", "--price", "cpu=0.01/h",
                              "--objective", "money")
        self.assertEqual({s["class"] for s in result["plan"]["stages"]}, {"cpu"})
        text = self.ok(*self.asked, "--price", "gpu=1/h")
        self.assertRegex(text, r"assumed prices of a device per hour: cpu [\d.]+;")
        text = self.ok(*self.asked, "--price", "gpu=1/h", "--price", "cpu=0.01/h")
        self.assertNotIn("assumed prices", text)
        self.assertEqual(text, self.ok(*self.asked, "--price", "gpu=1/h,cpu=0.01/h"))

    def test_side_by_side(self):
        alone = self.ok_json(*self.asked)["plan"]
        result = self.ok_json(*self.asked, "--side-by-side")
        self.assertGreaterEqual(result["plan"]["throughput_per_s"],
                                alone["throughput_per_s"] * (1 - 1e-9))
        self.ok(*self.asked, "--side-by-side", "--plot", "lanes.svg")
        # What several keep together and none alone is kept.
        lanes = ["plan", "three.json", "--input-features", "small", "--times", "times.csv",
                 "--machine", "cpu:8 gpu:1 fpga:1"]
        most = self.ok_json(*lanes, "--side-by-side")["plan"]
        alone = self.ok_json(*lanes)["plan"]
        self.assertGreater(most["throughput_per_s"], alone["throughput_per_s"] * 1.001)
        middle = math.sqrt(most["throughput_per_s"] * alone["throughput_per_s"])
        bound = f"throughput>={middle:.6g}/s"
        self.fails(3, *lanes, "--constraint", bound)
        lanes += ["--side-by-side", "--constraint", bound]
        result = self.ok_json(*lanes)
        self.assertEqual(result["plan"]["text"], most["text"])
        self.assertEqual(result["front"], [])
        text = self.ok(*lanes)
        self.assertIn("no single pipeline", text)
        self.assertRegex(text, r"(?m)^  2\.1 ")
        self.ok(*lanes, "--plot", "alone.svg")
        self.fails(2, *self.asked, "--side-by-side", "--objective", "energy")
        self.fails(2, *self.asked, "--side-by-side", "--constraint", "power<=300W")

    def test_what_times_rest_on(self):
        asked = ["plan", "three.json", "--input-features", "small"]
        three = ["--machine", "cpu:2 gpu:1 fpga:1", "--times", "times.csv", "--json"]
        result = json.loads(self.ok(*asked, *three))
        self.assertEqual(result["times"]["samples"], 9)
        self.assertEqual(result["times"]["samples_of_models"], 3)
        self.assertGreater(result["times"]["estimates_of_models"], 0)
        self.assertEqual(result["times"]["estimates_guessed"], 0)
        # Nothing measured: said on stderr, in the table and in JSON.
        done = self.run_symph(*asked, "--machine", MACHINE)
        self.assertIn("no measured times", done.stderr)
        self.assertIn("a guess", done.stdout)
        quiet = self.run_symph(*asked, "--machine", MACHINE, "--quiet")
        self.assertEqual(quiet.stderr, "")
        self.assertIn("a guess", quiet.stdout)
        for stage in self.ok_json(*asked, "--machine", MACHINE)["plan"]["stages"]:
            for kernel in stage["kernels"]:
                self.assertEqual(kernel["basis"], "roofline guess")
                self.assertGreater(kernel["spread_ratio"], 0.2)
        # A model is called one wherever its times are used.
        self.write("model.csv", times_text(("", "", "fpga")))
        text = self.ok(*asked, "--machine", "cpu:1 fpga:1", "--times", "model.csv", "--constraint",
                       "cpu<=0")
        self.assertIn("a model, ", text)

    def test_samples_with_other_costs(self):
        lines = times_text().splitlines()
        other = [lines[0] + ",taps"] + [f"{line},3" if ",product," in line else f"{line},"
                                        for line in lines[1:]]
        self.write("other.csv", "\n".join(other) + "\n")
        done = self.run_symph("plan", "three.json", "--input-features", "small", "--machine", MACHINE,
                              "--times", "other.csv", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("3 of 9 samples are left out", done.stderr)
        for stage in json.loads(done.stdout)["plan"]["stages"]:
            for kernel in stage["kernels"]:
                guessed = kernel["kernel"] == "second"
                self.assertEqual(kernel["basis"], "roofline guess" if guessed else "measured")

    def test_power_that_is_not_known(self):
        self.write("dark.csv", times_text().replace(",300,", ",,"))
        asked = ["plan", "three.json", "--input-features", "small", "--machine", MACHINE, "--times",
                 "dark.csv", "--objective", "latency"]
        for stage in self.ok_json(*asked)["plan"]["stages"]:
            self.assertEqual(stage["class"], "gpu")
            self.assertTrue(all(k["watts"] is None for k in stage["kernels"]))
        self.assertIn("assumed", self.ok(*asked).split("Where the times of the plan")[1])

    def test_what_was_learned_here(self):
        name = self.ok_json("kernels", "--models", ".")["machine"]
        asked = ["plan", "three.json", "--input-features", "small", "--models", "."]
        self.assertIn("no measured times", self.run_symph(*asked).stderr)
        self.write(name + ".times.csv", times_text(("cpu",)))
        done = self.run_symph(*asked, "--json")
        self.assertNotIn("no measured times", done.stderr)
        self.assertGreater(json.loads(done.stdout)["times"]["estimates_measured"], 0)
        # Of this machine only: another has nothing to do with it.
        self.assertIn("no measured times", self.run_symph(*asked, "--machine", MACHINE).stderr)

    def test_names_of_classes(self):
        self.write("h200.csv", times_text(("cpu", "h200", "u280")))
        asked = ["plan", "three.json", "--input-features", "small", "--times", "h200.csv",
                 "--machine"]
        # One GPU class, one class that was measured: the same, and told.
        done = self.run_symph(*asked, MACHINE, "--json")
        self.assertIn("gpu is assumed to be the h200", done.stderr)
        self.assertEqual(json.loads(done.stdout)["times"]["estimates_guessed"], 0)
        done = self.run_symph(*asked, "cpu:2 gpu:1 fpga:1", "--json")
        self.assertIn("fpga is assumed to be the u280", done.stderr)
        classes = json.loads(done.stdout)["machine"]["classes"]
        self.assertEqual([c["name"] for c in classes], ["cpu", "h200", "u280"])
        self.assertIn("gpu is called h200 here",
                      self.fails(3, *asked, MACHINE, "--plan", "first+second+third@gpu"))
        # Said by the person: no note.
        done = self.run_symph(*asked, MACHINE, "--class", "gpu=h200", "--json")
        self.assertEqual(done.stderr, "")
        self.assertEqual(json.loads(done.stdout)["times"]["estimates_guessed"], 0)
        # Also where it is another one, of which nothing is known.
        done = self.run_symph(*asked, MACHINE, "--class", "gpu=h100", "--json")
        self.assertNotIn("taken to be", done.stderr)
        self.assertEqual(json.loads(done.stdout)["machine"]["classes"][1]["name"], "h100")
        # Two GPUs that it might be: not decided for them.
        self.write("two.csv", times_text(("cpu", "h200")) +
                   times_text(("", "a100")).split("\n", 1)[1])
        asked[asked.index("h200.csv")] = "two.csv"
        done = self.run_symph(*asked, MACHINE, "--json")
        self.assertIn("--class gpu=NAME", done.stderr)
        self.assertGreater(json.loads(done.stdout)["times"]["estimates_guessed"], 0)
        self.assertIn("already", self.fails(3, *asked, MACHINE, "--class", "gpu=cpu"))
        self.assertIn("it has cpu, gpu", self.fails(3, *asked, MACHINE, "--class", "tpu=h200"))

    def test_plot(self):
        self.ok(*self.asked, "--plot", "front.svg", "--plan", "first+second+third@gpu")
        svg = xml.dom.minidom.parseString(self.read("front.svg")).documentElement
        self.assertEqual(svg.tagName, "svg")
        text = self.read("front.svg").decode()
        self.assertIn("chosen: ", text)
        self.assertIn("yours: first+second+third@gpu", text)
        self.assertIn("guessed", text)
        self.assertIn("prefers-color-scheme:dark", text)
        self.fails(1, *self.asked, "--plot", "no/such/folder.svg")

    def test_same_bytes(self):
        for extra in [[], ["--json"]]:
            self.assertEqual(self.ok(*self.asked, *extra), self.ok(*self.asked, *extra))
        for name in ["a.svg", "b.svg"]:
            self.ok(*self.asked, "--plot", name)
        self.assertEqual(self.read("a.svg"), self.read("b.svg"))

    def test_features(self):
        asked = ["plan", "three.json", "--machine", MACHINE, "--quiet", "--json", "--input-features"]
        for text, rows, width in [("rows=5e3", 5000, 64), ("small,width=8", 10000, 8),
                                  ("large", 1e6, 256), ("item.json", 77, 64)]:
            self.write("item.json", '{"rows": 77}')
            features = json.loads(self.ok(*asked, text))["features"]
            self.assertEqual(features, {"rows": rows, "width": width})

    def test_the_example_of_the_documentation(self):
        path = os.path.join(cli.ROOT, "examples", "pipeline.json")
        self.assertIn("thumb", self.ok("plan", path))
        for name in ["hd", "uhd", "thumb"]:
            result = self.ok_json("plan", path, "--input-features", name, "--machine",
                                  "cpu:8 gpu:1 fpga:1")
            self.assertTrue(all(math.isfinite(p["period_ns"]) for p in result["front"]))
            self.assertEqual(sum(p["chosen"] for p in result["front"]), 1)

    # --- what one types wrong --------------------------------------------------------------------
    def test_wrong_usage(self):
        self.assertIn("name a pipeline", self.fails(2, "plan"))
        self.assertIn("too many", self.fails(2, "plan", "three.json", "small"))
        self.assertIn("--input-features small", self.fails(2, "plan", "three.json", "--objective",
                                                           "energy"))
        self.assertIn("did you mean throughput", self.fails(2, *self.asked, "--objective",
                                                            "throughputs"))
        self.assertIn("exclude each other", self.fails(2, *self.asked, "--overlap", "--no-overlap"))
        for text, says in [("latency", "quotes"), ("latecy<=2ms", "latency"),
                           ("throughput<=5", "from below"), ("power<=lots", "power<=300W")]:
            self.assertIn(says, self.fails(2, *self.asked, "--constraint", text))
        self.assertIn("no class of devices 'tpu'", self.fails(3, *self.asked, "--constraint",
                                                              "tpu<=1"))
        for option in ["busy", "price", "class"]:
            self.assertIn(f"--{option} takes CLASS=", self.fails(3, *self.asked, f"--{option}",
                                                                 "gpu"))
        self.assertIn("per hour", self.fails(3, *self.asked, "--price", "gpu=free"))

    def test_wrong_files(self):
        self.assertIn("nothing.json", self.fails(3, "plan", "nothing.json"))
        self.assertIn("PLUGIN:NAME", self.fails(3, "plan", "gcn"))
        self.assertIn("no plug-in 'nosuch'", self.fails(3, "plan", "nosuch:gcn"))
        broken = copy.deepcopy(PIPELINE)
        broken["kernels"][2]["reads"] = ["c"]
        self.write("broken.json", json.dumps(broken))
        self.assertIn("broken.json:", self.fails(3, "plan", "broken.json"))
        self.write("notes.txt", "hello\n")
        self.assertIn("notes.txt:1", self.fails(3, "plan", "notes.txt"))
        self.write("bad.csv", times_text().replace("4000000", "quick"))
        wrong = ["plan", "three.json", "--input-features", "small", "--machine", MACHINE, "--times"]
        self.assertIn("bad.csv:2", self.fails(3, *wrong, "bad.csv"))
        self.assertIn("missing.csv", self.fails(3, *wrong, "missing.csv"))

    def test_wrong_features(self):
        asked = ["plan", "three.json", "--machine", MACHINE, "--quiet", "--input-features"]
        for text, says in [("tiny", "tiny"), ("width=3", "rows"), ("rows=-1", "rows"),
                           ("rows=many", "many"), ("lines=5", "lines"), ("small,rows", "rows")]:
            self.assertIn(says, self.fails(3, *asked, text), text)

    def test_no_plan(self):
        text = self.fails(3, *self.asked, "--constraint", "latency<=1us")
        self.assertIn("latency", text)
        text = self.fails(3, *self.asked, "--constraint", "throughput>=1e9/s")
        self.assertIn("throughput", text)
        text = self.fails(3, *self.asked, "--constraint", "latency<=1us,power<=500W")
        self.assertIn("without 'latency<=1us' there is a plan", text)
        text = self.fails(3, *self.asked, "--constraint", "latency<=1us,power<=0.001W")
        self.assertIn("at least two", text)
        # No device is left.
        text = self.fails(3, *self.asked, "--constraint", "gpu<=0,cpu<=0")
        self.assertIn("first", text)
        self.assertIn("without 'gpu<=0'", text)

    def test_wrong_plans(self):
        for text, says in [("first@gpu", "second"), ("first+second+third@tpu", "tpu"),
                           ("first+second+third", ""), ("third+first@gpu | second@gpu", ""),
                           ("first+second+third@gpu:1x3", "2")]:
            self.assertIn(says, self.fails(3, *self.asked, "--plan", text), text)


cli.main()
