# SPDX-License-Identifier: Apache-2.0
"""Files without an end: each input is refused with one clear error, while a pipe is read as ever."""
import os
import subprocess

import cli

SIMULATE = ("simulate", "--machine", cli.MACHINE, "--graphs", "gen:chain:2", "--policy", "heft")
PIPELINE = os.path.join(cli.ROOT, "examples", "pipeline.json")
READERS = {
    "graph": ("graph",),
    "machine": ("machine",),
    "graphs": ("simulate", "--machine", cli.MACHINE, "--policy", "heft", "--graphs"),
    "costs": (*SIMULATE, "--times"),
    "noise": (*SIMULATE, "--noise-file"),
    "smt": (*SIMULATE, "--smt-table"),
    "gpu": (*SIMULATE, "--gpu-table"),
    "arrivals": (*SIMULATE, "--arrivals"),
    "pipeline": ("plan",),
    "features": ("plan", PIPELINE, "--input-features"),
    "times": ("plan", PIPELINE, "--input-features", "hd", "--times"),
    "recording": ("counters", "replay"),
    "record": ("explain",),
    "run": ("simulate", "--replay"),
    "checkpoint": ("train", "--generations", "1", "--validation", "2",
                   "--quiet", "--resume"),
}


class Inputs(cli.Case):
    def test_too_large(self):
        path = self.write("large.json", "")
        os.truncate(path, 2**31)
        for name, args in READERS.items():
            with self.subTest(name):
                message = self.fails(3, *args, "./large.json")
                self.assertIn("large.json: cannot read: more than 1024 MiB of text\n", message)

    def test_no_end(self):
        self.assertEqual(self.fails(3, "graph", "/dev/zero"),
                         "symph: /dev/zero: cannot read: more than 1024 MiB of text\n")
        self.assertIn("weights", self.fails(2, *SIMULATE[:-1], "symphony@/dev/zero"))

    def test_a_pipe_is_read(self):
        text = self.ok("graph", "gen:cholesky:20", "--out", "-")
        self.write("a.json", text)
        done = subprocess.run([cli.SYMPH, "graph", "/dev/stdin", "--out", "-"], text=True, input=text,
                              stdout=subprocess.PIPE, check=True)
        self.assertEqual(done.stdout, self.ok("graph", "a.json", "--out", "-"))


cli.main()
