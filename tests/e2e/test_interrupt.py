# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C: exit code 130, no file, and what is done so far, whatever the rest would take."""
import json
import os
import signal
import subprocess
import time

import cli

ENDLESS = "anneal:1000000000"  # steps: hours, all inside one call of the policy
SIMULATE = ["simulate", "--machine", cli.MACHINE]


def processor_s(pid):
    """User and system time of a process; 0 once it is gone."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def catches_sigint(pid):
    """Whether the process has installed its handler yet."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        mask = next(line.split()[1] for line in file if line.startswith("SigCgt"))
    return int(mask, 16) >> (signal.SIGINT - 1) & 1


class Interrupt(cli.Case):
    def interrupt(self, *args):
        """Output of a command that is interrupted once it has worked for a second of processor
        time, which is thousands of times what it needs for what must be done by then."""
        process = subprocess.Popen(cli.command(*args), cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        while process.poll() is None and (processor_s(process.pid) < 1
                                          or not catches_sigint(process.pid)):
            time.sleep(0.01)
        self.assertIsNone(process.poll(), args)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn("interrupted", err)
        self.assertEqual(os.listdir(self.folder), [])
        return out, err

    def test_many_runs(self):
        out, _ = self.interrupt(*SIMULATE, "--graphs", "gen:cholesky:4", "gen:cholesky:5",
                                "--policy", "dmdas,heft", "--seeds", "1000000", "--plot",
                                "g.svg", "--json")
        result = json.loads(out)
        self.assertTrue(result["interrupted"])
        runs = [(run["graph"], run["seed"], run["policy"]) for run in result["runs"]]
        self.assertGreater(len(runs), 0)
        self.assertLess(len(runs), 4000000)
        self.assertEqual(result["summary"]["heft"]["runs"] * 2, len(runs))
        # Policies are compared in the same worlds, or not at all.
        self.assertEqual([run[:2] for run in runs[::2]], [run[:2] for run in runs[1::2]])
        self.assertEqual({run[2] for run in runs}, {"dmdas", "heft"})

    def test_a_policy_that_does_not_end(self):
        out, _ = self.interrupt(*SIMULATE, "--graphs", "gen:cholesky:20", "--policy",
                                "eager,dmdas," + ENDLESS, "--seeds", "1", "--per-graph")
        self.assertIn("Interrupted: of 3 runs these 2 are compared.", out)
        self.assertIn("dmdas", out)
        self.assertNotIn("anneal", out)

    def test_nothing_is_done(self):
        out, err = self.interrupt(*SIMULATE, "--graphs", "gen:cholesky:20", "--policy", ENDLESS)
        self.assertEqual(out, "")
        self.assertIn("no run has ended", err)

    def test_bounds(self):
        args = ["bound", "--machine", cli.MACHINE, "--graphs", "gen:chain:2", "gen:cholesky:6",
                "--exact", "--nodes", "1000000000000000"]
        result = json.loads(self.interrupt(*args, "--json")[0])
        self.assertTrue(result["interrupted"])
        self.assertEqual([graph["graph"] for graph in result["graphs"]], ["chain:2"])
        self.assertIn("Interrupted: 1 of 2 graphs.", self.interrupt(*args)[0])

    def test_a_bench(self):
        """What is not complete is no table; the process ends all the same."""
        out, _ = self.interrupt("bench", "streams", "--seeds", "2000")
        self.assertNotIn("symphony", out)


cli.main()
