# SPDX-License-Identifier: Apache-2.0
"""The columns of tables are explained where they appear: on a terminal below the table, and in the
manual page. Elsewhere a table is only its rows."""
import os
import re

import cli

SIMULATE = ["simulate", "--machine", "cpu:2 gpu:1", "--graphs", "gen:cholesky:3", "--seeds", "1",
            "--policy", "heft,lb"]
PLAN = ["plan", os.path.join(cli.ROOT, "examples", "pipeline.json"), "--machine", "cpu:4 gpu:2",
        "--input-features", "thumb"]
COMMANDS = [
    [*SIMULATE], [*SIMULATE, "--judge"], [*SIMULATE, "--per-graph"], [*SIMULATE, "--timing"],
    ["bound", "--machine", "cpu:2 gpu:1", "gen:cholesky:3"],
    ["graph", "gen:cholesky:3"],
    ["machine", "cpu:2 gpu:1 fpga:1@regions=2"],
    PLAN,
    ["counters", "sources"], ["counters", "listing"], ["counters", "listing", "--arch", "skylakex"],
    ["counters", "model", "--all"],
    ["train", "--compare", "eager", "--tasks", "20", "--scenarios", "2"],
]
# What needs no explanation: the thing itself, counts of things, or a text.
PLAIN = {"policy", "graph", "tasks", "edges", "events", "kernel", "device", "kind", "memory", "capacity",
         "resource", "from", "to", "counter", "source", "unit", "PMU", "micro-architecture", "stage",
         "kernels", "devices", "time", "plan", "worlds", "on", "throughput", "latency", "energy/item",
         "power", "money/item", "constraint", "what it costs", "p99", "cpu", "gpu", "fpga", "asic",
         "micro-architecture", "p99 slowdown", "decision p50", "switch", "interconnect", "heft", "lb",
         "eager", "board", "class", "lb-cont+wspt", "lb+wspt", "dmdas", "symphony", "speed", "watts"}


def tables(text):
    """[(columns, legend)]: a line of columns is followed by rows, then by the legend if there is one."""
    paragraphs = re.split(r"\n\s*\n", text)
    for paragraph in paragraphs:
        lines = [line for line in paragraph.split("\n") if line.strip()]
        while lines and re.match(r"\S.*:$", lines[0]):
            lines = lines[1:]  # its title
        if len(lines) < 2 or len(re.split(r"\s{2,}", lines[0].strip())) < 3:
            continue
        legend = [line for line in lines[1:] if not re.search(r"\S\s{2,}\S", line)]
        text = " ".join(line.strip() for line in legend)
        yield re.split(r"\s{2,}", lines[0].strip()), re.sub(r"(assumed prices|all times)[^.]*", "", text)


class Tables(cli.Case):
    def test_every_column_is_explained(self):
        count = 0
        for command in COMMANDS:
            for columns, legend in tables(self.on_terminal(*command)):
                for column in columns:
                    count += 1
                    if column not in PLAIN:
                        self.assertIn(column.split(" error")[0].rstrip(":"),
                                      legend + (" dram link" if "error:" in legend else ""),
                                      f"{command}: {columns}")
        self.assertGreater(count, 80)

    def test_the_manual_explains_the_same(self):
        for command in COMMANDS:
            with open(os.path.join(cli.ROOT, "man", f"symph-{command[0]}.1.scd"), encoding="utf-8") as file:
                page = re.sub(r"[*_\\]", "", file.read())
            for _, legend in tables(self.on_terminal(*command)):
                for words in re.findall(r"(?:^|; )([^:;]+): ", legend):
                    for word in words.split(", "):
                        self.assertIn(word, page, command)

    def test_programs_read_rows_only(self):
        for command in COMMANDS[:6]:
            self.assertNotRegex(self.ok(*command), r"(?m)^\s*\S[^:]*: .*; .*: ")


cli.main()
