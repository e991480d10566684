# SPDX-License-Identifier: Apache-2.0
"""Help and man pages name the same options; one word means one thing in all commands."""
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
        return [name for name in re.findall(r"^  ([\w-]+)", listing, re.M) if name != "version"]

    def helps(self, command):
        """The help text of the command, or of all its sub-commands where it has some."""
        text = self.ok(command, "--help")
        if "\nCommands:\n" not in text:
            return [text]
        listing = text.split("\nCommands:\n")[1].split("\n\n")[0]
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
            # Old names still work: the error, if any, is about the option's own name.
            done = self.run_symph(*command.split(), f"--{old}", "--no-such-option")
            self.assertTrue(done.stderr.startswith(f"symph: --{old} is now called --{new}\n"),
                            done.stderr)
            self.assertNotIn(f"unknown option --{old}", done.stderr)
        self.assertEqual(self.ok("graph", "gen:chain:2", "--write", "-"),
                         self.ok("graph", "gen:chain:2", "--out", "-"))
        # Where an option never had that name, nothing is made up.
        self.assertNotIn("now called", self.fails(2, "machine", "--write", "x"))

    def test_short_form_of_out(self):
        for command in self.commands():
            for text in self.helps(command):
                self.assertNotRegex(text, r"(?m)^  --out\b", command)
        self.ok("graph", "gen:cholesky:2", "-o", "g.json")
        self.assertTrue(self.read("g.json"))
        self.assertIn("-o", self.fails(2, "machine", "-o", "x"))

    def test_headings(self):
        for command in self.commands():
            for text in self.helps(command):
                self.assertNotIn("::", text, command)

    def test_man_pages(self):
        for command in self.commands():
            page = self.source("man", f"symph-{command}.1.scd")
            documented = set(re.findall(r"^(?:\*-o\*, )?\*--([a-z-]+)\*", page, re.M))
            self.assertEqual(documented, set(self.options(command)), command)
            self.assertIn(f"*symph-{command}*(1)", self.source("man", "symph.1.scd"))


cli.main()
