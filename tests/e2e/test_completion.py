# SPDX-License-Identifier: Apache-2.0
"""Completion: what symph offers, and that each shell takes it as it is. A shell that is not
installed is left out, and said to be."""
import os
import re
import shutil
import subprocess

import cli

SCALE = os.path.join(os.path.dirname(cli.SYMPH), "examples", "scale.so")
SCRIPTS = os.path.join(cli.ROOT, "completions")
# bash splits words at : and = before it asks.
BASH = r"""
source "$1/symph.bash"
COMP_LINE=$2 COMP_POINT=${#2}
shift 2
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_symph
printf '%s\n' "${COMPREPLY[@]}"
"""
ZSH = r"""
compadd() { local array=$@[-1]; print -rl -- ${(P)array} }
_files() { print -r -- "files $*" }
script=$1/_symph; shift
words=("$@") CURRENT=$# PREFIX=$@[-1]
source $script
"""
FISH = r"""source $argv[1]/symph.fish; complete -C $argv[2]"""


class Completion(cli.Case):
    def setUp(self):
        super().setUp()
        self.env = {**os.environ, "SYMPH_KERNELS": SCALE, "HOME": self.folder,
                    "PATH": os.path.dirname(cli.SYMPH) + ":" + os.environ["PATH"]}

    def offers(self, *words):
        """{word: description} and whether files, folders are asked for."""
        done = subprocess.run([cli.SYMPH, "complete", *words], cwd=self.folder, env=self.env,
                              capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        return dict(line.split("\t", 1) for line in done.stdout.splitlines()
                    if not line.startswith("\t")), re.findall(r"^\t(\w+)$", done.stdout, re.M)

    def test_commands(self):
        found, _ = self.offers("")
        listing = self.ok("--help").split("Commands:\n")[1].split("\n\n")[0]
        self.assertEqual(set(found), set(re.findall(r"^  ([\w-]+)", listing, re.M)) | {"help"})
        self.assertTrue(all(found.values()))
        self.assertEqual(set(self.offers("sim")[0]), {"simulate"})
        self.assertEqual(set(self.offers("help", "sim")[0]), {"simulate"})
        self.assertEqual(set(self.offers("counters", "re")[0]), {"record", "replay"})
        self.assertEqual(set(self.offers("genomics", "s")[0]), {"simulate", "score"})
        self.assertEqual(self.offers("nonsense", ""), ({}, []))

    def test_options(self):
        """All of each command, and of each sub-command its own."""
        commands = [[name] for name in self.offers("")[0] if name not in ("help", "counters", "genomics")]
        commands += [["counters", name] for name in self.offers("counters", "")[0] if name != "help"]
        commands += [["genomics", name] for name in self.offers("genomics", "")[0] if name != "help"]
        self.assertGreaterEqual(len(commands), 20)
        for command in commands:
            text = self.ok(*command, "--help").split("\nOptions:\n")[1]
            known = {"--" + name for name in re.findall(r"^  (?:-o, )?--([a-z-]+)", text, re.M)}
            self.assertEqual(set(self.offers(*command, "--")[0]), known, command)
        self.assertEqual(self.offers("starpu", "./program", "--"), ({}, ["files"]))

    def test_values(self):
        self.assertEqual(set(self.offers("simulate", "--policy", "heft,dmdas")[0]),
                         {"heft,dmdas", "heft,dmdas-hist"})
        self.assertIn("all", self.offers("simulate", "--policy", "")[0])
        self.assertNotIn("all", self.offers("run", "--policy", "")[0])
        self.assertEqual(set(self.offers("run", "--policy=lb-")[0]), {"--policy=lb-hist", "--policy=lb-cont"})
        found, files = self.offers("simulate", "--graphs", "gen:lu:4", "gen:ch")
        self.assertEqual((set(found), files), ({"gen:cholesky:", "gen:chain:"}, ["files"]))
        self.assertEqual(self.offers("simulate", "--machine", "he"), ({"here": "this machine"}, ["files"]))
        self.assertEqual(self.offers("kernels", "--models", ""), ({}, ["folders"]))
        self.assertEqual(self.offers("simulate", "--seeds", ""), ({}, []))
        self.assertIn("last", self.offers("explain", "")[0])

    def test_words_are_in_the_help(self):
        for command, option in [("plan", "objective"), ("simulate", "belief"), ("train", "method"),
                                ("train", "gradient")]:
            text = self.ok(command, "--help").split(f"\n  --{option} ")[1].split("\n  --")[0]
            found = self.offers(command, "--" + option, "")[0]
            self.assertGreater(len(found), 1, option)
            for word in found:
                self.assertRegex(text, rf"\b{word}\b", option)

    def test_workloads_and_pipelines(self):
        self.assertEqual(self.offers("run", "sca")[0].keys(), {"scale:chain:"})
        arguments = self.offers("run", "scale:chain:")[0]
        self.assertIn("scale:chain:tasks=", arguments)
        self.assertEqual(set(self.offers("run", "scale:chain:n=3,ta")[0]), {"scale:chain:n=3,tasks="})
        self.assertEqual(set(self.offers("kernels", "scale_a")[0]), {"scale_axpy"})
        pipelines = [(plugin["name"], p["name"]) for plugin in self.plugins() for p in plugin["pipelines"]]
        if not pipelines:
            print("not compared: no plug-in here has a pipeline")
            return
        self.env.pop("SYMPH_KERNELS")
        names = {":".join(pair) for pair in pipelines}
        self.assertEqual(set(self.offers("plan", "")[0]), names)
        self.assertEqual(set(self.offers("run", "--pipeline", "")[0]), {n + ":" for n in names})

    def plugins(self):
        return self.ok_json("kernels", "--models", "")["plugins"]

    def shell(self, script, *args):
        name = {BASH: "bash", ZSH: "zsh", FISH: "fish"}[script]
        path = shutil.which(name)
        if not path:
            print(f"not tried: {name} is not installed")
            self.skipTest(name + " is not installed")
        command = [path, "--norc", "-c", script, "bash"] if name == "bash" else \
            [path, "-f", "-c", script, "zsh"] if name == "zsh" else [path, "--no-config", "-c", script]
        done = subprocess.run([*command, SCRIPTS, *args], cwd=self.folder, env=self.env,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)
        self.assertEqual(done.stderr, "", args)
        return done.stdout.split("\n")[:-1]

    def bash(self, *words):
        line = "".join(w if w in (":", "=") else " " + w for w in words)
        line = re.sub(r"([:=]) (?! )", r"\1", line).lstrip()
        return self.shell(BASH, line, *words)

    def test_bash(self):
        self.write("graph.json", "{}")
        os.mkdir(os.path.join(self.folder, "graphs"))
        self.assertEqual(self.bash("symph", "sim"), ["simulate"])
        self.assertEqual(self.bash("symph", "run", "scale", ":", "ch"), ["chain:"])
        self.assertEqual(self.bash("symph", "run", "scale", ":", "chain", ":", "ta"), ["tasks="])
        self.assertEqual(self.bash("symph", "run", "scale", ":"), ["chain:"])
        self.assertEqual(self.bash("symph", "simulate", "--policy", "=", "lb-"), ["lb-hist", "lb-cont"])
        self.assertEqual(self.bash("symph", "simulate", "--policy", "heft,lb-c"), ["heft,lb-cont"])
        self.assertEqual(sorted(self.bash("symph", "graph", "gr")), ["graph.json", "graphs"])
        self.assertEqual(self.bash("symph", "kernels", "--models", "gr"), ["graphs"])
        self.assertEqual(self.bash("symph", "graph", "--out", "=", "graph."), ["graph.json"])
        self.assertEqual(self.bash("symph", "counters", "watch", "--pl"), ["--plot"])

    def test_zsh(self):
        self.assertEqual(self.shell(ZSH, "symph", "sim"), ["simulate"])
        self.assertEqual(self.shell(ZSH, "symph", "run", "scale:"), ["files ", "scale:chain:"])
        self.assertEqual(self.shell(ZSH, "symph", "kernels", "--models", ""), ["files -/"])

    def test_fish(self):
        self.write("graph.json", "{}")
        self.assertEqual([line.split("\t")[0] for line in self.shell(FISH, "symph sim")], ["simulate"])
        self.assertEqual([line.split("\t")[0] for line in self.shell(FISH, "symph run scale:ch")],
                         ["scale:chain:"])
        self.assertEqual(self.shell(FISH, "symph graph gr"), ["graph.json"])


cli.main()
