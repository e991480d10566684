# SPDX-License-Identifier: Apache-2.0
"""Names from files that hold commands for terminals: no command hands them on."""
import json
import os
import subprocess
import xml.dom.minidom

import cli
import records

# A title (OSC), a cleared screen (CSI), CSI in its one-byte form, text turned round, a new line.
EVIL = "\x1b]0;x\x07\x1b[2J\u009b31m\u202e\x7f\r\n\tfine"
SPELLED = r"\x1b]0;x\x07\x1b[2J\u009b31m\u202e\x7f\r\n\tfine"
NAMES = {"name", "kernel", "reads", "writes", "updates", "memory", "host_memory", "resource",
         "resources", "from", "to", "about", "spec", "policy", "host", "runtime"}


def spoil(value, key=None, names=NAMES):
    """Each name in a JSON value is made an evil one; what refers to it goes along."""
    if isinstance(value, dict):
        return {k: spoil(v, k, names) for k, v in value.items()}
    if isinstance(value, list):
        return [spoil(v, key, names) for v in value]
    return value + EVIL if isinstance(value, str) and key in names else value


class Hostile(cli.Case):
    def run_raw(self, *args):
        done = subprocess.run(cli.command(*args), cwd=self.folder, capture_output=True,
                              stdin=subprocess.DEVNULL, check=False)
        return done.returncode, done.stdout, done.stderr

    def check_harmless(self, data, args):
        text = data.decode("utf-8")  # what is no UTF-8 fails here
        found = [c for c in text if (c < " " and c != "\n") or "\x7f" <= c <= "\x9f" or c == "\u202e"]
        self.assertEqual(found, [], args)
        self.assertNotIn("\n\tfine", text, args)
        return text

    def check(self, code, *args, spelled=True):
        """What the command prints, of which nothing can do harm."""
        status, out, err = self.run_raw(*args)
        self.assertEqual(status, code, (args, out, err))
        text = self.check_harmless(out, args) + self.check_harmless(err, args)
        if spelled:
            self.assertIn(SPELLED, text, args)
        return text

    def graph(self):
        self.write("g.json", json.dumps(spoil(records.graph())))
        return "g.json"

    def machine(self):
        machine = json.loads(self.ok("machine", "cpu:2 gpu:1", "--json"))
        self.write("m.json", json.dumps(spoil(machine)))
        return "m.json"

    def test_graphs(self):
        for more in [[], ["--check"]]:
            self.check(0, "graph", self.graph(), *more, spelled=not more)
        graph = spoil(records.graph())
        graph["tasks"][0]["reads"] = ["none" + EVIL]
        self.write("unknown.json", json.dumps(graph))
        self.check(3, "graph", "unknown.json")

    def test_graphs_in_other_forms(self):
        self.check(0, "graph", self.graph(), "--dot", "-", spelled=False)
        text = self.check(0, "graph", self.graph(), "--out", "-", spelled=False)
        self.assertEqual(json.loads(text)["tasks"][0]["name"], "a" + EVIL)
        self.write("bad.dag", "TASK a" + EVIL.replace("\n", "") + " b c d\n")
        self.check(3, "graph", "bad.dag", spelled=False)

    def test_bytes_that_are_no_text(self):
        for name, data in [("a.json", b'{"schema": "symph-graph-1", "name": "\x9b2J"}'),
                           ("b.json", b'{"schema": "symph-graph-1\x00", "name": "x"}'),
                           ("c.json", b'{"\x1b[2J\xff": 1}'), ("d.dag", b"TASK \x9b\xff\x1b[2J x\n"),
                           ("e.csv", b"kernel,\x9b\x1b\n")]:
            with open(os.path.join(self.folder, name), "wb") as file:
                file.write(data)
            for command in [["graph"], ["machine"], ["plan"], ["explain"], ["counters", "replay"],
                            ["simulate", "--machine", "cpu:1", "--graphs", "gen:chain:2", "--times"]]:
                self.check(3, *command, "./" + name, spelled=False)

    def test_machines(self):
        for more in [[], ["--tree"]]:
            self.check(0, "machine", self.machine(), *more)
        self.check(3, "machine", "cpu:2 gpu" + EVIL)

    def test_simulations(self):
        simulate = ["simulate", "--machine", self.machine(), "--graphs", self.graph(), "--policy",
                    "heft", "--seeds", "2"]
        for more in [["--per-graph"], ["--plot", "g.svg", "--trace", "t.json", "--paje", "p"]]:
            self.check(0, *simulate, *more)
        xml.dom.minidom.parseString(self.read("g.svg"))
        self.check_harmless(self.read("g.svg").replace(b"\t", b""), "svg")
        json.loads(self.read("t.json"))
        self.check_harmless(self.read("p"), "paje")
        self.check(2, *simulate, "--fail", "none" + EVIL + "@1s")
        self.check(2, *simulate[:-4], "--policy", "none" + EVIL)
        self.check(2, *simulate, "--none" + EVIL)
        self.write("arrivals.csv", 'time_s,graph\n0,"none\x1b[2J\u009b"\n')
        self.check(3, *simulate, "--arrivals", "arrivals.csv", spelled=False)

    def test_bounds(self):
        self.check(0, "bound", "--machine", self.machine(), "--graphs", self.graph())

    def test_explanations(self):
        def change(record):
            spoiled = spoil(record)
            record.clear()
            record.update(spoiled)
            record["machine"] = spoil(json.loads(self.ok("machine", records.MACHINE, "--json")))
        path = records.write(self, "run.json", change)
        self.check(0, "explain", path)
        for task in "abcd":
            self.check(0, "explain", path, task + EVIL)
        self.check(2, "explain", path, "none" + EVIL)
        self.check(0, "simulate", "--replay", path)

    def test_pipelines(self):
        with open(os.path.join(cli.ROOT, "examples", "pipeline.json"), encoding="utf-8") as file:
            pipeline = json.load(file)
        pipeline["about"] += EVIL
        for example in pipeline["examples"]:
            example["about"] = example.get("about", "") + EVIL
        self.write("p.json", json.dumps(pipeline))
        self.check(0, "plan", "p.json")
        self.check(0, "plan", "p.json", "--machine", "cpu:2", "--input-features", "hd")
        self.write("q.json", json.dumps(spoil(pipeline)))
        self.check(3, "plan", "q.json", spelled=False)
        self.check(3, "plan", "p.json", "--input-features", "none" + EVIL)
        self.check(3, "plan", "p.json", "--machine", "cpu:2", "--input-features", "hd", "--price",
                   "none" + EVIL + "=1")

    def test_counters(self):
        recording = os.path.join(cli.ROOT, "tests", "e2e", "busy.counters")
        for form in [["--all"], ["--json"], ["--prometheus"], ["--once", "--all"],
                     ["--once", "--plot", "plot.svg"]]:
            text = self.check(0, "counters", "replay", recording, "--machine", self.machine(), *form,
                              spelled=False)
            self.assertIn("cpu0", text)
        self.write("a.counters", "symph-counters-1\ncounter x\x1b[2J\u009b perf x rate /s cpu 0 0.01 -\n")
        self.check(3, "counters", "replay", "a.counters", spelled=False)
        self.check(3, "counters", "listing", "--arch", "none" + EVIL)
        self.check(3, "counters", "watch", "--once", "--arch", "none" + EVIL)
        self.check(2, "counters", "watch", "--once", "--only", "none" + EVIL)

    def test_genomics(self):
        """Another program, which shows names from a BED file and from the command line."""
        if "symph-genomics is missing" in self.run_symph("genomics", "simulate", "--random", "2000", "-o",
                                                         "s").stderr:
            self.skipTest("htslib was not found when this symph was built")
        evil = EVIL.replace("\n", "").replace("\t", "")
        with open(os.path.join(self.folder, "s.strata.bed"), "w", encoding="utf-8") as file:
            file.write(f"made_up\t100\t900\tx{evil}\n")
        score = ["genomics", "score", "--ref", "s.fa", "--truth", "s.truth.vcf.gz", "--calls",
                 "s.truth.vcf.gz"]
        text = self.check(0, *score, "--strata", "s.strata.bed", spelled=False)
        self.assertIn(r"x\x1b]0;x\x07", text)
        text = self.check(0, *score, "--strata", "s.strata.bed", "--json", spelled=False)
        self.assertIn(r"x\x1b]0;x\x07", [stratum["where"][:len(r"x\x1b]0;x\x07")]
                                         for stratum in json.loads(text)["strata"]])
        self.check(2, *score, "--region", EVIL)
        self.check(0, "genomics", "simulate", "--random", "2000", "-o", EVIL)

    def test_arguments(self):
        evil = "none" + EVIL
        for args in [[evil], ["graph", evil], ["machine", "./" + evil], ["kernels", "--kernels", "./" + evil],
                     ["run", evil], ["run", "gen:chain:2", "--policy", evil], ["explain", evil],
                     ["starpu", evil], ["bench", evil], ["train", "--resume", evil, "--generations", "1", "--quiet"],
                     ["counters", evil], ["graph", "gen:chain:2", "--out", evil + "/none"]]:
            status, out, err = self.run_raw(*args)
            self.assertNotEqual(status, 0, args)
            self.check_harmless(out + err, args)
            self.assertEqual(err.count(b"\n"), 1, err)


cli.main()
