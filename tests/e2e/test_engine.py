# SPDX-License-Identifier: Apache-2.0
"""symph run with the real engine, and kernels that fail in every way. Given: symph, the source tree,
the plug-in of such kernels."""
import fcntl
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cli
from processes import descendants, gone

ENGINE = os.path.join(os.path.dirname(cli.SYMPH), "src", "engine", "starpu", "symph-engine")
PLUGIN = sys.argv[3]
PHASE_AT, RUNNING = 4, 2  # in struct sy_page
LAST = "state/symph/runs/last.json"


def phase(pid):
    """Of an engine, from the page that it shares; None: not yet there."""
    try:
        with open(f"/proc/{pid}/fd/3", "rb") as page:
            page.seek(PHASE_AT)
            return struct.unpack("=I", page.read(4))[0]
    except (OSError, struct.error):
        return None


class Engine(cli.Case):
    @classmethod
    def setUpClass(cls):
        home = tempfile.TemporaryDirectory()  # StarPU measures the machine once
        cls.addClassCleanup(home.cleanup)
        cls.home = home.name

    def setUp(self):
        super().setUp()
        self.env = {**os.environ, "HOME": self.home, "STARPU_HOME": self.home,
                    "XDG_STATE_HOME": os.path.join(self.folder, "state"),
                    "XDG_CACHE_HOME": os.path.join(self.home, "cache")}
        self.env.pop("SYMPH_ENGINE", None)

    def command(self, arguments, *options):
        return [cli.SYMPH, "run", f"faulty:chain:{arguments}", "--kernels", PLUGIN, "--opencl", "0",
                "--cuda", "0", "--models", "", "--policy", "starpu:lws", "--quiet", *options]

    def run_chain(self, arguments, *options):
        done = subprocess.run(self.command(arguments, *options), cwd=self.folder, env=self.env,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)
        for word in ["runtime error", "Sanitizer"]:
            self.assertNotIn(word, done.stderr)
        return done

    def bad(self, code, words, arguments, *options):
        done = self.run_chain(arguments, *options)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def files(self):
        found = []
        for folder, _, names in os.walk(self.folder):
            found += [os.path.relpath(os.path.join(folder, name), self.folder) for name in names]
        return sorted(found)

    def test_it_runs(self):
        done = self.run_chain("tasks=8", "--check", "--json", "--repeat", "2", "--plot", "g.svg",
                              "--trace", "t.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual(result["tasks"], 8)
        self.assertIn("StarPU", result["runtime"])
        for run in result["runs"]:
            self.assertEqual(sum(device["tasks"] for device in run["devices"]), 8)
            self.assertGreater(run["makespan_ns"], 0)
        self.assertEqual(self.files(), sorted(["g.svg", "t.json", LAST]))

    def test_our_policies(self):
        done = self.run_chain("tasks=8", "--check", "--policy", "symphony", "--compare",
                              "eager,dmda,dmdas,heft,peft,heteroprio,lb", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual(len(result["runs"]), 8)
        for run in result["runs"]:
            self.assertEqual(sum(device["tasks"] for device in run["devices"]), 8, run["policy"])

    def test_wrong_result(self):
        self.bad(1, ["result is wrong"], "tasks=8,wrong=1")
        self.assertEqual(self.files(), [LAST])
        done = self.run_chain("tasks=8,wrong=1", "--no-check")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_kernels_that_fail(self):
        for kernel, words in [("fail", ["not to my liking"]), ("crash", ["SIGSEGV"]),
                              ("abort", ["SIGABRT"]), ("overflow", ["SIGSEGV"])]:
            self.bad(1, [f"kernel {kernel} ", "step3", *words], f"tasks=8,kernel={kernel},at=3",
                     "--plot", "g.svg", "--record", "r.json")
            self.assertEqual(self.files(), [])

    def test_kernel_that_hangs(self):
        self.bad(1, ["kernel hang ", "step3", "--limit"], "tasks=8,kernel=hang,at=3", "--limit",
                 "500ms")
        self.assertEqual(self.files(), [])

    def test_writing_past_the_data(self):
        """Found in every run that is checked, in graphs and in sessions."""
        for workload in ["chain", "session"]:
            for kernel, words in [("overrun", "64 bytes after the end of v0 4096 bytes"),
                                  ("underrun", "3 bytes before the start of v0 4096 bytes")]:
                spec = f"{workload}:tasks=8,kernel={kernel},at=3"
                command = [word.replace("chain:", spec) for word in self.command("")]
                done = subprocess.run(command, cwd=self.folder, env=self.env, text=True,
                                      capture_output=True, stdin=subprocess.DEVNULL)
                self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
                self.assertIn(f"{words} were overwritten while kernel {kernel} ran on", done.stderr)
                self.assertIn("task step3", done.stderr)
        done = self.run_chain("tasks=8,kernel=underrun,at=3", "--no-check")
        if done.returncode:  # an engine with AddressSanitizer notices it by itself
            self.assertIn("ABORTING", done.stderr)
            self.assertIn(b"libasan", Path(ENGINE).read_bytes())

    def test_steps_that_hang(self):
        """Every step of a run has a limit, and is named."""
        env = {**self.env, "SYMPH_START_LIMIT": "2"}
        for spec, words in [("chain:hang=build", "while it built"),
                            ("chain:hang=fill", "while it filled the data of"),
                            ("chain:hang=check", "while it checked the result of"),
                            ("session:hang=drive", "while it drove")]:
            done = subprocess.run([word.replace("chain:", spec) for word in
                                   self.command("", "--limit", "300ms")], cwd=self.folder, env=env,
                                  capture_output=True, text=True, stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(f"the engine hangs {words} faulty:{spec}", done.stderr)
            self.assertIn("limit is", done.stderr)
        loud = [word for word in self.command("hang=destroy", "--limit", "300ms") if word != "--quiet"]
        done = subprocess.run(loud, cwd=self.folder, env=env, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("makespan", done.stdout)
        self.assertIn("did not exit by itself: it hung while it freed faulty:chain", done.stderr)

    def test_a_lock_that_is_held(self):
        """Whoever holds the lock of the models stops no run: what was learned is not saved."""
        models = os.path.join(self.folder, "models")
        arguments = ["tasks=8", "--models", models, "--policy", "lb"]
        self.assertEqual(self.run_chain(*arguments).returncode, 0)
        for name in os.listdir(models):
            with open(os.path.join(models, name), "rb") as file:
                kept = file.read()
                fcntl.flock(file, fcntl.LOCK_EX)
                command = [word for word in self.command(*arguments) if word != "--quiet"]
                done = subprocess.run(command, cwd=self.folder, env=self.env, capture_output=True,
                                      text=True, stdin=subprocess.DEVNULL)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("makespan", done.stdout)
                if name.endswith(".lock"):
                    self.assertIn("what was learned is not saved", done.stderr)
                    self.assertIn("another process has held its lock", done.stderr)
                    file.seek(0)
                    self.assertEqual(file.read(), kept)

    def test_what_is_missing(self):
        self.bad(3, ["/no/such.so"], "tasks=8", "--kernels", "/no/such.so")
        self.bad(3, ["no kernel", "nosuch"], "tasks=8,kernel=nosuch,at=3")
        done = subprocess.run([cli.SYMPH, "run", "nosuch:chain:tasks=8"], cwd=self.folder,
                              env=self.env, capture_output=True, text=True)
        self.assertEqual(done.returncode, 3)
        self.assertIn("there is no plug-in 'nosuch'", done.stderr)
        self.bad(3, ["no scheduler called nosuch"], "tasks=8", "--policy", "starpu:nosuch")
        self.assertEqual(self.files(), [])

    def test_full_disk(self):
        done = self.run_chain("tasks=8", "--trace", "/dev/full")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/dev/full: cannot write: No space left on device", done.stderr)

    def start_hanging(self):
        """A run in the middle of a kernel that does not end; its process and the engine's id."""
        process = subprocess.Popen(
            self.command("tasks=8,kernel=hang,at=3", "--record", "r.json"), cwd=self.folder,
            env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        while process.poll() is None:
            for engine in descendants(process.pid):
                if phase(engine) == RUNNING:
                    time.sleep(0.2)
                    return process, engine
            time.sleep(0.01)
        self.fail(process.communicate()[1])

    def test_engine_is_killed(self):
        process, engine = self.start_hanging()
        os.kill(engine, signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, err)
        self.assertEqual(out, "")
        self.assertRegex(err, r"killed by signal 9 \(SIGKILL\) after \d of 8 tasks")
        self.assertEqual(self.files(), [])

    def test_keeper_is_killed(self):
        process, engine = self.start_hanging()
        os.kill(descendants(process.pid)[0], signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (1, ""), err)
        self.assertIn("killed by signal 9", err)
        self.assertTrue(gone(engine), "the engine has outlived its keeper")

    def test_ctrl_c(self):
        process, engine = self.start_hanging()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        self.assertEqual(out, "")
        self.assertTrue(gone(engine))
        self.assertEqual(self.files(), [])

    def left_behind(self):
        """The processes that a kernel has started, once they are there."""
        path = self.env["FAULTY_PIDS"]
        while not os.path.exists(path) or self.read("pids").count(b"\n") < 2:
            time.sleep(0.01)
        return [int(line) for line in self.read("pids").split()]

    def test_children_of_kernels(self):
        """Also one that made itself a daemon: it ends with the run, with symph, with the engine."""
        self.env["FAULTY_PIDS"] = os.path.join(self.folder, "pids")
        done = self.run_chain("kernel=litter,at=3", "--no-check")
        self.assertEqual(done.returncode, 0, done.stderr)
        for pid in self.left_behind():
            self.assertTrue(gone(pid), f"process {pid} has outlived the run")
        for who in ["symph", "engine"]:
            os.remove(self.env["FAULTY_PIDS"])
            process = subprocess.Popen(
                self.command("kernel=litter_hang,at=3"), cwd=self.folder, env=self.env,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            pids = self.left_behind()
            engines = [pid for pid in descendants(process.pid) if phase(pid) == RUNNING]
            os.kill(process.pid if who == "symph" else engines[0], signal.SIGKILL)
            process.communicate(timeout=60)
            for pid in pids + engines:
                self.assertTrue(gone(pid), f"process {pid} has outlived {who}")

    def test_a_kernel_that_writes_to_the_record(self):
        self.bad(1, ["more came as the engine's record", "file descriptor 4"],
                 "kernel=flood,at=3")
        self.assertEqual(self.files(), [])

    def test_symph_is_killed(self):
        process, engine = self.start_hanging()
        process.kill()
        process.communicate(timeout=60)
        self.assertTrue(gone(engine), "the engine has outlived symph")
        self.assertEqual(self.files(), [])


if not os.path.exists(ENGINE) or not os.path.exists(PLUGIN):
    print("skipped: StarPU or OpenCL was not found when this was built, so there is no engine to test")
    sys.exit(77)
cli.main()
