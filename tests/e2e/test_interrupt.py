# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C: exit code 130, no data, no file."""
import os
import signal
import subprocess
import time

import cli


def catches_sigint(pid):
    """Whether the process has installed its handler yet."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        mask = next(line.split()[1] for line in file if line.startswith("SigCgt"))
    return int(mask, 16) >> (signal.SIGINT - 1) & 1


class Interrupt(cli.Case):
    def test_ctrl_c(self):
        process = subprocess.Popen(
            [cli.SYMPH, "simulate", "--machine", cli.MACHINE, "--graphs", "gen:cholesky:12",
             "--policy", "dmdas,heft", "--seeds", "50000", "--plot", "g.svg", "--json"],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while process.poll() is None and not catches_sigint(process.pid):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, err)
        self.assertEqual(out, "")
        self.assertIn("interrupted", err)
        self.assertEqual(os.listdir(self.folder), [])


cli.main()
