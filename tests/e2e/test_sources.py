# SPDX-License-Identifier: Apache-2.0
"""symph counters sources: what answers is listed, what does not says why."""
import json
import os
import shutil
import subprocess
import unittest

import cli

FAKE = os.path.join(os.path.dirname(cli.SYMPH), "tests", "counters", "libfake_nvml_old.so")


class Sources(cli.Case):
    def test_table(self):
        text = self.ok("counters", "sources")
        for word in ["counters can be read here", "proc", "busy", "always", "Cannot be read here", "why:"]:
            self.assertIn(word, text)

    def test_json(self):
        found = self.ok_json("counters", "sources")
        self.assertEqual(found["schema"], "symph-counters-sources-1")
        names = [counter["name"] for counter in found["counters"]]
        self.assertEqual(len(names), len(set(names)))
        pmus = {pmu["name"] for pmu in found["pmus"]} | {None}
        for counter in found["counters"]:
            self.assertIn(counter["pmu"], pmus)
            self.assertIn(counter["kind"], ["rate", "level", "share"])
        for gap in found["missing"]:
            self.assertTrue(gap["what"] and gap["reason"], gap)

    def test_only(self):
        found = self.ok_json("counters", "sources", "--only", "proc")
        self.assertEqual({counter["source"] for counter in found["counters"]}, {"proc"})
        self.assertIn("did you mean 'proc'", self.fails(2, "counters", "sources", "--only", "prok"))

    def test_process_and_group(self):
        found = self.ok_json("counters", "sources", "--only", "cgroup,process", "--process",
                             str(os.getpid()))
        self.assertEqual({counter["source"] for counter in found["counters"]}, {"process"})
        found = self.ok_json("counters", "sources", "--only", "cgroup,proc", "--group", "no/such")
        self.assertTrue(any("no/such" in gap["what"] for gap in found["missing"]))

    def test_nothing_left(self):
        done = self.run_symph("counters", "sources", "--only", "nvml", "--quiet",
                              env={"SYMPH_NVML": os.path.join(self.folder, "none.so")})
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("nothing can be read here", done.stderr)
        self.assertIn("the NVIDIA driver is not installed", done.stderr)

    @unittest.skipUnless(os.path.exists(FAKE), "the fake of NVIDIA's library is not built")
    def test_library_without_gpus(self):
        """A fake of the library, which knows no GPU."""
        done = self.run_symph("counters", "sources", "--json", env={"SYMPH_NVML": FAKE})
        self.assertEqual(done.returncode, 0, done.stderr)
        gaps = [gap for gap in json.loads(done.stdout)["missing"] if gap["source"] == "nvml"]
        self.assertEqual(gaps[0]["reason"], "there is a driver, but no GPU")

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv")
    def test_nobody(self):
        folder = os.path.join(self.folder, "bin")
        os.mkdir(folder)
        os.chmod(self.folder, 0o755)
        copy = shutil.copy(cli.SYMPH, folder)
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", copy,
                               "counters", "sources", "--json"], capture_output=True, text=True,
                              cwd="/", stdin=subprocess.DEVNULL)
        if "error while loading shared libraries" in done.stderr or done.returncode in (126, 127):
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertTrue({"psi", "proc"} & {counter["source"] for counter in found["counters"]})
        with open("/proc/sys/kernel/perf_event_paranoid", encoding="utf-8") as file:
            paranoid = int(file.read())
        if paranoid > 0:
            gap = [gap for gap in found["missing"] if gap["source"] == "perf"][0]
            self.assertIn(f"kernel.perf_event_paranoid is {paranoid}", gap["reason"])
            self.assertIn("CAP_PERFMON", gap["remedy"])


cli.main()
