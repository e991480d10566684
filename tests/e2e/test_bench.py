# SPDX-License-Identifier: Apache-2.0
"""Benches and recorded streams as a person runs them."""
import json
import os

import cli

ARRIVALS = "arrive_s,tenant,weight,graph\n"
STREAM = ["simulate", "--machine", cli.MACHINE, "--graphs", "gen:cholesky:4", "gen:lu:3", "--policy",
          "dmdas,lb+fair", "--seeds", "2", "--arrivals"]


class Bench(cli.Case):
    def test_names(self):
        self.assertIn("classic", self.fails(2, "bench"))
        self.assertIn("'classic'", self.fails(2, "bench", "clasic"))

    def test_decisions(self):
        table = self.ok_json("bench", "decisions", "--seeds", "1", "--quiet")["tables"][0]
        self.assertGreater(len(table["rows"]), 5)
        for row in table["rows"]:
            self.assertGreater(row["p50"]["value"], 0, row)
            self.assertGreaterEqual(row["p99"]["value"], row["p50"]["value"], row)

    def test_without_data(self):
        done = self.run_symph("bench", "ablation", env={"SYMPH_DATA": ""})
        self.assertIn("needs --data", done.stdout + done.stderr)

    def test_write(self):
        os.mkdir(os.path.join(self.folder, "out"))
        self.ok("bench", "decisions", "--seeds", "1", "--quiet", "--write", "out")
        self.assertIn(b"symph bench decisions", self.read("out/decisions.md"))
        self.assertEqual(json.loads(self.read("out/decisions.json"))["schema"], "symph-bench-1")
        self.fails(1, "bench", "decisions", "--seeds", "1", "--quiet", "--write", "nowhere")


class Arrivals(cli.Case):
    def test_stream(self):
        path = self.write("a.csv", ARRIVALS + "0.5,1,2,lu:3\n0,0,1,cholesky:4\n")
        runs = self.ok_json(*STREAM, path, "--check")
        self.assertEqual(runs["options"]["stream"]["jobs"], 2)
        for run in runs["runs"]:
            self.assertGreater(run["makespan_ns"], 0.5e9)

    def test_mistakes(self):
        for line, place, words in [("0,0,1,qr:9\n", ":2:7:", "qr:9"),
                                   ("x,0,1,lu:3\n", ":2:1:", "arrive_s"),
                                   ("-1,0,1,lu:3\n", ":2:1:", "arrive_s"),
                                   ("0,0,0,lu:3\n", ":2:5:", "weight"),
                                   ("0,0,1\n", ":2:", "graph"), ("", "a.csv", "no job")]:
            message = self.fails(3, *STREAM, self.write("a.csv", ARRIVALS + line))
            self.assertIn(place, message)
            self.assertIn(words, message)


cli.main()
