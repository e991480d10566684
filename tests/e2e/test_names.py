# SPDX-License-Identifier: Apache-2.0
"""Names of policies that go on: weights and parts, in all commands that take a policy."""
import os
import struct

import cli

SIMULATE = ["simulate", "--machine", "cpu:2 gpu:1", "--graphs", "gen:cholesky:4", "--seeds", "1"]


def fnv(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return value


class Names(cli.Case):
    def learned(self):
        policies = self.ok_json("simulate", "--list-policies")["policies"]
        return next(p for p in policies if p["name"] == "learned")["weights"]

    def weights(self, name, **change):
        """A file of zeros: weights that say nothing."""
        is_ = {**self.learned(), **change}
        block = struct.pack("<%df" % is_["count"], *[0.0] * is_["count"])
        head = "symph-weights 1\nkind %s\nshape %d\ncount %d\nhash %016x\n" % (
            is_["kind"], is_["shape"], is_["count"], fnv(block))
        head += "\0" * (64 - len(head) % 64)
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(head.encode() + block)

    def test_weights_and_parts(self):
        self.weights("a/b/zero+x:1.weights")
        name = "learned@a/b/zero+x:1.weights"
        names = [name, name + "~guard", "learned~net"]
        runs = self.ok_json(*SIMULATE, "--policy", ",".join(names))["runs"]
        self.assertEqual([run["policy"] for run in runs], names)
        self.assertEqual(len({run["makespan_ns"] for run in runs}), 1, "weights of zero say nothing")

    def test_pictures(self):
        """The path of weights does not become a folder, nor too long a name."""
        self.weights("a/b.weights")
        self.weights("d" * 200 + "/b.weights")
        long = "learned@" + "d" * 200 + "/b.weights"
        self.ok(*SIMULATE, "--policy", "lb,learned@a/b.weights," + long, "--plot", "g.svg")
        found = sorted(n for n in os.listdir(self.folder) if n.endswith(".svg"))
        self.assertEqual(len(found), 3)
        self.assertIn("g.learned@a_b.weights.svg", found)
        self.assertTrue(all(len(n) < 120 for n in found), found)

    def test_mistakes(self):
        self.weights("other", shape=self.learned()["shape"] + 1)
        self.weights("fits")
        for name, message in [("dmdas@fits", "has no weights"), ("dmdas~net", "no parts"),
                              ("learned@nothere", "nothere: cannot read"), ("learned@.", "cannot read"),
                              ("learned@other", "other: weights of kind symphony, shape"),
                              ("learned~nett", "did you mean 'net'?"), ("learned@~net", "no path"),
                              ("learned@fits~", "no part ''"), ("learned@fits@fits", "cannot read")]:
            for command in [SIMULATE + ["--policy", name], ["run", "gen:cholesky:3", "--policy", name],
                            ["run", "gen:cholesky:3", "--compare", name],
                            ["starpu", "--policy", name, "true"]]:
                text = self.fails(2, *command)
                self.assertIn(message, text)
                self.assertEqual(text.count("\n"), 1, text)

    def test_commas(self):
        self.weights("a,b.weights")
        self.assertIn("commas separate", self.fails(2, *SIMULATE, "--policy", "lb,learned@a,b.weights"))
        self.assertIn("commas separate", self.fails(2, "run", "gen:lu:3", "--policy", "learned@a,b.weights"))


if __name__ == "__main__":
    cli.main()
