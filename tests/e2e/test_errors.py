# SPDX-License-Identifier: Apache-2.0
"""Mistakes: each gets one line that says what is wrong and where, and the right exit code."""
import re

import cli

SIMULATE = ["simulate", "--machine", cli.MACHINE, "--graphs", "gen:cholesky:3"]


class Usage(cli.Case):
    def test_no_command(self):
        """The name alone shows the commands, as cargo does; so does a command that has commands."""
        for words in [[], ["counters"], ["genomics"]]:
            text = self.ok(*words)
            self.assertIn("Commands:", text)
            self.assertEqual(text, self.ok(*words, "--help"))
            self.assertEqual(text, self.ok(*words, "-h"))
            self.assertEqual(text, self.ok("help", *words))
            self.assertEqual(text, self.ok(*words, "help"))

    def test_help_for_a_command(self):
        self.assertEqual(self.ok("help", "simulate"), self.ok("simulate", "--help"))
        self.assertEqual(self.ok("help", "counters", "watch"), self.ok("counters", "watch", "-h"))
        self.assertEqual(self.ok("counters", "help", "watch"), self.ok("counters", "watch", "-h"))

    def test_version(self):
        text = self.ok("version")
        self.assertRegex(text, r"^symph \d+\.\d+\.\d+")
        self.assertEqual(text, self.ok("--version"))
        self.assertEqual(self.ok_json("version")["version"], text.split()[1])
        self.assertIn("unexpected", self.fails(2, "version", "of"))

    def test_unknown_command(self):
        self.assertIn("'symph simulate'", self.fails(2, "simulat"))
        self.assertIn("symph --help", self.fails(2, "qqqqqqqq"))
        for word in ["banana", "optimize", "x", ""]:  # nothing like any command
            self.assertNotIn("did you mean", self.fails(2, word))
        self.assertIn("'symph graph'", self.fails(2, "help", "grpah"))

    def test_unknown_option(self):
        message = self.fails(2, *SIMULATE, "--polcy", "heft")
        self.assertIn("--policy", message)
        self.assertIn("see symph simulate --help", message)
        self.assertEqual(message.count("\n"), 1)

    def test_unknown_policy(self):
        self.assertIn("heft", self.fails(2, *SIMULATE, "--policy", "hetf"))
        self.fails(2, *SIMULATE, "--policy", "heft,nosuchpolicyatall")
        for old, new in [("oracle", "greedy-true"), ("oracle+wspt", "greedy-true"),
                         ("oracle-rollout:9", "greedy-true-rollout"),
                         ("oracle-gate", "greedy-true-gate")]:
            self.assertIn(f"did you mean '{new}'?", self.fails(2, *SIMULATE, "--policy", old))

    def test_empty_policy_list(self):
        for text in ["", ",", ",,"]:
            self.assertIn("--policy", self.fails(2, *SIMULATE, "--policy", text))
        self.assertIn("twice", self.fails(2, *SIMULATE, "--policy", "heft,heft"))

    def test_values_out_of_range(self):
        for option, value in [("--seeds", "0"), ("--seeds", "-3"), ("--seeds", "many"),
                              ("--noise", "-0.1"), ("--noise", "nan"), ("--noise", "inf"),
                              ("--threads", "0"), ("--load", "0"), ("--tenants", "0"),
                              ("--hidden-load", "1"), ("--spikes", "2:3"), ("--spikes", "0.1"),
                              ("--stragglers", "0.1"), ("--stragglers", "1:4"), ("--stragglers", "0.1:0.5"),
                              ("--parts", "1"), ("--parts", "8:2"), ("--parts", "8:-2%"),
                              ("--parts", "2000"), ("--parts", ":2%"), ("--parts", "8:200%"),
                              ("--stragglers", "nan:4"), ("--straggler-time", "1s"),
                              ("--fail", "gpu0"), ("--belief", "flitered"), ("--hidden-period", "soon"),
                              ("--counter-period", "0s"), ("--fail", "nosuch@1s"), ("--jobs", "1e99")]:
            self.assertIn(option, self.fails(2, *SIMULATE, option, value))

    def test_extremes(self):
        """Each of these once crashed, hung or was quietly misread."""
        self.assertIn("--spikes", self.fails(2, *SIMULATE, "--spikes", "0.5:1e308"))
        self.assertIn("return before it fails", self.fails(2, *SIMULATE, "--fail", "0@5ms-1ms"))
        self.assertIn("takes no number", self.fails(2, *SIMULATE, "--policy", "heft:3"))
        self.assertIn("anneal", self.fails(2, *SIMULATE, "--policy", "anneal:1000000000000"))
        self.assertIn("'-'", self.fails(2, *SIMULATE, "--plot", "-"))
        self.assertIn("'-'", self.fails(2, "graph", "gen:cholesky:3", "--dot", "-", "--json"))
        self.assertIn("more than a workload", self.fails(
            3, "simulate", "--machine", "cpu:2", "--graphs", "gen:independent:50000", "--jobs",
            "100000", "--seeds", "1", "--policy", "eager"))
        self.assertIn("folder", self.fails(3, "bench", "streams", "--data", "nowhere"))

    def test_all_devices_lost(self):
        message = self.fails(1, "simulate", "--machine", "cpu:2", "--graphs", "gen:cholesky:3",
                             "--fail", "0@0s", "--fail", "1@0s", "--policy", "heft", "--seeds", "1")
        self.assertIn("2 of 2 devices have failed", message)

    def test_missing_value(self):
        self.assertIn("--seeds needs a value", self.fails(2, *SIMULATE, "--seeds"))
        self.assertIn("--machine needs a value", self.fails(2, "simulate", "--machine", "--json"))

    def test_missing_graphs(self):
        for command in ["graph", "bound", "simulate"]:
            self.assertIn("gen:cholesky:20", self.fails(2, command))

    def test_one_graph_to_write(self):
        self.assertIn("--only", self.fails(2, "graph", "gen:cholesky:2", "gen:cholesky:3", "--dot",
                                           "-"))


class EveryOption(cli.Case):
    """The same mistakes with every option of every command."""
    def commands(self):
        for name in re.findall(r"^  ([\w-]+)  ", self.ok("--help").split("Commands:\n")[1], re.M):
            text = self.ok(name, "--help")
            if "\nCommands:\n" in text:
                for word in re.findall(r"^  (\w+)  ", text.split("\nCommands:\n")[1], re.M):
                    yield [name, word]
            else:
                yield [name]

    def options(self, command):
        """Those that take a value."""
        text = self.ok(*command, "--help").split("\nOptions:\n")[1]
        return re.findall(r"^  (?:-o, )?--([a-z-]+) [A-Z]", text, re.M)

    def one_line(self, code, *args):
        text = self.fails(code, *args)
        self.assertEqual(text.count("\n"), 1, text)
        return text

    def test_every_option(self):
        count = 0
        for command in self.commands():
            see = f"; see symph {' '.join(command)} --help\n"
            self.assertTrue(self.one_line(2, *command, "--nonsense").endswith(see))
            self.assertTrue(self.one_line(2, *command, "-x").endswith(see))
            self.assertIn("takes no value", self.one_line(2, *command, "--json=1"))
            for option in self.options(command):
                count += 1
                name = "--" + option
                self.assertIn(f"{name} needs a value: {name} ", self.one_line(2, *command, name))
                self.assertIn(f"{name} needs a value", self.one_line(2, *command, name, "--json"))
                if option not in ("models", "kernels", "index"):  # these say what an empty value means
                    self.assertIn(f"{name} needs a value, not ''", self.one_line(2, *command, name, ""))
                    self.assertIn(f"{name} needs a value, not ''", self.one_line(2, *command, name + "="))
                if option in ("plot", "trace", "paje", "record"):
                    self.assertIn("not '-'", self.one_line(2, *command, name, "-"))
                    self.assertIn("no/such/file: cannot write", self.one_line(1, *command, name, "no/such/file"))
                    self.assertIn(".: cannot write: Is a directory", self.one_line(1, *command, name, "."))
        self.assertGreater(count, 150)


class Input(cli.Case):
    def test_missing_file(self):
        for args in [["graph", "no/such.json"],
                     ["simulate", "--machine", cli.MACHINE, "no/such.json"],
                     ["bound", "--machine", cli.MACHINE, "no/such.json"],
                     [*SIMULATE, "--times", "no/such.csv"],
                     [*SIMULATE, "--smt-table", "no/such.csv"],
                     [*SIMULATE, "--noise-file", "no/such.csv"]]:
            self.assertIn("no/such", self.fails(3, *args))

    def test_bad_json_says_where(self):
        self.write("bad.json", '{\n  "schema": "symph-graph-1",\n  "tasks": [,]\n}\n')
        message = self.fails(3, "graph", "bad.json")
        self.assertRegex(message, r"bad\.json:3:\d+: ")
        self.assertEqual(message, self.fails(3, "simulate", "--machine", cli.MACHINE, "bad.json"))

    def test_truncated_graph(self):
        text = self.ok("graph", "gen:cholesky:3", "--out", "-")
        for length in [1, len(text) // 3, len(text) // 2, len(text) - 3]:
            self.write("cut.json", text[:length])
            self.assertRegex(self.fails(3, "graph", "cut.json"), r"cut\.json:\d+:\d+: ")

    def test_cycle_names_the_tasks(self):
        self.write("loop.dag", "J loop 3 3\nT 0 a 1 1 0\nT 1 b 1 1 0\nT 2 c 1 1 0\n"
                               "E 0 1 0\nE 1 2 0\nE 2 0 0\n")
        self.assertIn("cycle", self.fails(3, "graph", "loop.dag"))

    def test_bad_machine(self):
        for spec in ["cpu:0", "cpu:x", "warp:3", "cpu:99999999999", "nosuchfile"]:
            self.assertIn(f"machine '{spec}': ", self.fails(3, "machine", spec))
            self.fails(3, "simulate", "--machine", spec, "--graphs", "gen:cholesky:3")
        self.write("m.json", '{"schema": "symph-machine-1", "devices": 3}')
        self.assertRegex(self.fails(3, "machine", "m.json"), r"m\.json:1:\d+: ")

    def test_bad_generator(self):
        self.assertIn("cholesky", self.fails(3, "graph", "gen:cholesy:3"))
        self.fails(3, "graph", "gen:cholesky:-1")
        self.fails(3, "graph", "gen:cholesky:999999999")

    def test_nothing_matches(self):
        self.assertIn("zzz", self.fails(3, "graph", "gen:cholesky:3", "--only", "zzz*"))

    def test_no_device_for_a_task(self):
        self.write("cpu.dag", "J only-cpu 1 0\nT 0 a 1 1 0\n")
        message = self.fails(3, "simulate", "--machine", "gpu:1", "--graphs", "cpu.dag")
        self.assertNotIn("Assertion", message)

    def test_validate_goes_on(self):
        self.write("bad.json", "{")
        self.ok("graph", "gen:cholesky:2", "--out", "good.json")
        done = self.run_symph("graph", "--check", "bad.json", "good.json")
        self.assertEqual(done.returncode, 3)
        self.assertIn("good.json: ok", done.stdout)
        self.assertIn("bad.json:1:", done.stderr)


class Output(cli.Case):
    def test_unwritable_file(self):
        for option in ["--plot", "--trace", "--paje"]:
            done = self.run_symph(*SIMULATE, "--policy", "heft", option, "no/such/folder.svg")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertEqual(done.stdout, "")

    def test_full_disk(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            import subprocess
            done = subprocess.run([cli.SYMPH, "graph", "gen:cholesky:3"], stdout=full,
                                  stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard output", done.stderr)


cli.main()
