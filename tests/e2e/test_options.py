# SPDX-License-Identifier: Apache-2.0
"""Help, man pages and completions name the same options."""
import os
import re

import cli


class Options(cli.Case):
    def commands(self):
        listing = self.ok("--help").split("Commands:\n")[1].split("\n\n")[0]
        names = re.findall(r"^  ([\w-]+)", listing, re.M)
        # A program of its own, which is there only where htslib was.
        if self.run_symph("genomics", "--help").returncode:
            print("not compared: symph genomics was not built")
            names.remove("genomics")
        return names

    def options(self, command):
        """Of the command, or of all its sub-commands where it has some."""
        text = self.ok(command, "--help")
        if "\nSub-commands:\n" not in text:
            return re.findall(r"^  --([a-z-]+)", text.split("\nOptions:\n")[1], re.M)
        listing = text.split("\nSub-commands:\n")[1].split("\n\n")[0]
        texts = [self.ok(command, word, "--help") for word in re.findall(r"^  (\w+)", listing, re.M)]
        return [option for part in texts
                for option in re.findall(r"^  --([a-z-]+)", part.split("\nOptions:\n")[1], re.M)]

    def source(self, *path):
        with open(os.path.join(cli.ROOT, *path), encoding="utf-8") as file:
            return file.read()

    def test_there_is_something_to_compare(self):
        self.assertGreaterEqual(set(self.commands()), {"machine", "graph", "bound", "simulate"})
        self.assertGreater(len(self.options("simulate")), 30)

    def test_man_pages(self):
        for command in self.commands():
            page = self.source("man", f"symph-{command}.1.scd")
            documented = set(re.findall(r"^\*--([a-z-]+)\*", page, re.M))
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
