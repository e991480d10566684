# SPDX-License-Identifier: Apache-2.0
"""Help, man pages and completions name the same options."""
import os
import re

import cli

OPTION = r"^  (?:-o, )?--([a-z-]+)"
RENAMED = {"gantt": "plot", "curve": "plot", "draw": "tree", "write": "out", "output": "out",
           "save": "worst", "costs": "times", "time-limit": "limit", "prices": "price",
           "policies": "policy"}

class Options(cli.Case):
    def commands(self):
        listing = self.ok("--help").split("Commands:\n")[1].split("\n\n")[0]
        names = re.findall(r"^  ([\w-]+)", listing, re.M)
        # A program of its own, which is there only where htslib was.
        if self.run_symph("genomics", "--help").returncode:
            print("not compared: symph genomics was not built")
            names.remove("genomics")
        return names

    def helps(self, command):
        """The help text of the command, or of all its sub-commands where it has some."""
        text = self.ok(command, "--help")
        if "\nSub-commands:\n" not in text:
            return [text]
        listing = text.split("\nSub-commands:\n")[1].split("\n\n")[0]
        return [self.ok(command, word, "--help") for word in re.findall(r"^  (\w+)", listing, re.M)]

    def options(self, command):
        return [option for text in self.helps(command)
                for option in re.findall(OPTION, text.split("\nOptions:\n")[1], re.M)]

    def source(self, *path):
        with open(os.path.join(cli.ROOT, *path), encoding="utf-8") as file:
            return file.read()

    def test_there_is_something_to_compare(self):
        self.assertGreaterEqual(set(self.commands()), {"machine", "graph", "bound", "simulate"})
        self.assertGreater(len(self.options("simulate")), 30)

    def test_one_word_for_one_option(self):
        """Names of the past are used by no command, and say what they are called now."""
        for command in self.commands():
            known = set(self.options(command))
            self.assertFalse(known & (set(RENAMED) - {"check"}), command)
            self.assertNotIn("validate", known, command)
        for command, old, new in [
                ("simulate", "gantt", "plot"), ("run", "gantt", "plot"), ("train", "curve", "plot"),
                ("call-variants", "gantt", "plot"), ("machine", "draw", "tree"),
                ("graph", "write", "out"), ("graph", "validate", "check"), ("bench", "write", "out"),
                ("bench", "save", "worst"), ("bench", "policies", "policy"),
                ("train", "validate", "compare"), ("train", "prices", "price"),
                ("simulate", "costs", "times"), ("bound", "costs", "times"),
                ("bound", "time-limit", "limit"), ("counters watch", "output", "out"),
                ("counters record", "output", "out"), ("counters replay", "output", "out")]:
            for option in [f"--{old}", f"--{old}=x"]:
                text = self.fails(2, *command.split(), option)
                self.assertIn(f"--{old} is now called --{new}; see symph {command} --help", text)
        # Where an option never had that name, nothing is made up.
        self.assertNotIn("now called", self.fails(2, "machine", "--write", "x"))

    def test_short_form_of_out(self):
        for command in self.commands():
            for text in self.helps(command):
                self.assertNotRegex(text, r"(?m)^  --out\b", command)
        self.ok("graph", "gen:cholesky:2", "-o", "g.json")
        self.assertTrue(self.read("g.json"))
        self.assertIn("-o", self.fails(2, "machine", "-o", "x"))

    def test_man_pages(self):
        for command in self.commands():
            page = self.source("man", f"symph-{command}.1.scd")
            documented = set(re.findall(r"^(?:\*-o\*, )?\*--([a-z-]+)\*", page, re.M))
            self.assertEqual(documented, set(self.options(command)), command)
            self.assertIn(f"*symph-{command}*(1)", self.source("man", "symph.1.scd"))

    def test_bash(self):
        text = self.source("completions", "symph.bash")
        for command in self.commands():
            listed = re.search(rf"^    {command}\) echo \"([^\"]*)\"", text, re.M)
            self.assertIsNotNone(listed, command)
            self.assertEqual(set(listed[1].split()), {"--" + o for o in self.options(command)})

    def test_fish(self):
        text = self.source("completions", "symph.fish")
        for command in self.commands():
            listed = {m[2] for m in re.finditer(r"'__symph_using ([^']*)' -l ([a-z-]+)", text)
                      if command in m[1].split()}
            self.assertEqual(listed | {"help"}, set(self.options(command)), command)

    def test_zsh(self):
        text = self.source("completions", "_symph")
        common = set(re.findall(r"--([a-z-]+)\[", text.split("common=(")[1].split("\n    )")[0]))
        workload = set(re.findall(r"--([a-z-]+)\[",
                                  text.split("workload=(")[1].split("\n    )")[0]))
        for command in self.commands():
            body = re.search(rf"^    {command}\)(.*?);;$", text, re.M | re.S)[1]
            listed = common | set(re.findall(r"--([a-z-]+)\[", body))
            listed |= workload if "$workload" in body else set()
            self.assertEqual(listed, set(self.options(command)), command)


cli.main()
