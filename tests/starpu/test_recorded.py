# SPDX-License-Identifier: Apache-2.0
"""What somebody else's StarPU programs leave behind under the plug-in, and what symph top sees of them."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SYMPH, PLUGIN, PROGRAM, MANY, LEAVES, DECLARED = (os.path.abspath(sys.argv.pop(1)) for _ in range(6))


class Recorded(unittest.TestCase):
    def setUp(self):
        with open(PLUGIN, "rb") as file:
            code = file.read()
        if b"libasan" in code or b"libtsan" in code:
            self.skipTest("a plug-in with a sanitizer is not loaded before the sanitizer")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = folder.name

    def path(self, name):
        return os.path.join(self.home, name)

    def environment(self, more=None):
        cleared = {"SYMPH_" + name: "" for name in ("RECORD", "PLOT", "TRACE", "PAJE", "MAX_TASKS")}
        return {**os.environ, **cleared, "HOME": self.home, "XDG_CACHE_HOME": self.path("cache"),
                "XDG_STATE_HOME": self.path("state"), "STARPU_SILENT": "1", "STARPU_NOPENCL": "0",
                "STARPU_NCPU": "2", **(more or {})}

    def symph(self, *args, env=None):
        return subprocess.run([SYMPH, *args], cwd=self.home, env=self.environment(env), text=True,
                              capture_output=True, timeout=100)

    def start(self, options, *program, env=None):
        return subprocess.Popen([SYMPH, "starpu", "--quiet", "--plugin", PLUGIN, *options, "--", *program],
                                cwd=self.home, env=self.environment(env), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def foreign(self, options, *program, env=None):
        running = self.start(options, *program, env=env)
        out, err = running.communicate(timeout=100)
        if running.returncode == 77:
            self.skipTest("StarPU has no worker here")
        return running.returncode, out, err

    def record(self, name="run.json"):
        with open(self.path(name)) as file:
            return json.load(file)

    def test_record(self):
        """300 tasks that read, and one that writes after all of them."""
        code, out, err = self.foreign(["--record", "run.json", "--plot", "run.svg", "--trace", "t.json",
                                       "--paje", "run.paje"], MANY, "300", "readers")
        self.assertEqual((code, out, err), (0, "done\n", ""))
        run = self.record()
        self.assertEqual((run["schema"], run["spec"], run["policy"]),
                         ("symph-run-1", os.path.basename(MANY) + " 300 readers", "symphony"))
        self.assertEqual({kernel["name"] for kernel in run["graph"]["kernels"]}, {"reads", "writes"})
        self.assertEqual(run["graph"]["tasks"][300]["name"], "writes #300")
        self.assertEqual(len(run["graph"]["tasks"][300]["after"]), 300)
        self.assertEqual([data["bytes"] for data in run["graph"]["data"]], [4])
        self.assertEqual(len(run["tasks"]), 301)
        for device, submitted, ready, start, end, _ in run["tasks"]:
            self.assertLess(device, 2)
            self.assertTrue(0 <= submitted <= ready <= start <= end <= run["makespan_ns"])
        self.assertTrue(all(task[4] <= run["tasks"][300][3] for task in run["tasks"][:300]))
        # Tasks that are known to be short need no decision; others have both cores to choose from.
        self.assertGreater(len(run["decisions"]), 0)
        self.assertTrue(all(len(decision[5]) == 2 for decision in run["decisions"]))
        with open(self.path("run.svg")) as file:
            self.assertIn("reads", file.read())
        with open(self.path("t.json")) as file:
            self.assertGreaterEqual(len(json.load(file)["traceEvents"]), 301)
        self.assertGreater(os.path.getsize(self.path("run.paje")), 1000)

    def test_declared_dependencies(self):
        """The last is submitted first, so that task 19 of the record is the first of the chain."""
        code, _, err = self.foreign(["--record", "run.json"], DECLARED)
        self.assertEqual((code, err), (0, ""))
        tasks = self.record()["graph"]["tasks"]
        self.assertEqual([task.get("after") for task in tasks], [[n + 1] for n in range(19)] + [None])

    def test_explain_and_replay(self):
        self.foreign(["--plot", "run.svg"], MANY, "50", "readers")
        last = self.symph("explain", "last")
        self.assertEqual((last.returncode, last.stderr), (0, ""))
        self.assertIn("50 readers under symphony", last.stdout)
        self.assertIn("writes #50", last.stdout)
        task = self.symph("explain", "last", "writes #50")
        self.assertIn("kernel writes", task.stdout)
        self.assertIn("the last task that it depends on, reads #", task.stdout)
        replay = self.symph("simulate", "--replay", self.path("state/symph/runs/last.json"))
        self.assertEqual(replay.returncode, 0, replay.stderr)

    def test_nothing_is_kept_unasked(self):
        self.foreign([], MANY, "50", "readers")
        self.assertFalse(os.path.exists(self.path("state")))
        self.assertIn("there is no last run", self.symph("explain", "last").stderr)

    def test_limit(self):
        code, _, err = self.foreign(["--record", "run.json", "--max-tasks", "40"], MANY, "100", "independent")
        self.assertEqual(code, 0)
        self.assertIn("the record has the first 40 tasks; 61 more were left out", err)
        run = self.record()
        self.assertEqual(len(run["tasks"]), 40)
        self.assertEqual(run["notes"], [["tasks left out", "61"]])
        self.assertEqual(self.symph("explain", "run.json").returncode, 0)

    def test_every_start_of_starpu(self):
        code, _, err = self.foreign(["--record", "run.json"], PROGRAM)
        self.assertEqual((code, err), (0, ""))
        for name in ("run.json", "run.start2.json"):
            self.assertEqual(len(self.record(name)["tasks"]), 600)

    def counts_kept(self):
        """How many samples of each kernel its home has now."""
        models = [name for name in os.listdir(self.home) if name.endswith(".costs.csv")]
        self.assertEqual(len(models), 1)
        with open(self.path(models[0])) as file:
            header, *lines = [line.strip().split(",") for line in file if not line.startswith("#")]
        return {line[header.index("kernel")]: int(line[header.index("count")]) for line in lines}

    def test_ranks_of_mpirun(self):
        """The same, started by a real one."""
        mpirun = shutil.which("mpirun")
        if not mpirun:
            self.skipTest("no mpirun here: apt-get install openmpi-bin")
        self.foreign([], MANY, "1", "readers", env={"STARPU_NCPU": "1"})
        code, out, err = self.foreign(
            ["--record", "run.json"], mpirun, "--allow-run-as-root", "--oversubscribe", "-np", "2",
            MANY, "200", "readers",
            env={"STARPU_NCPU": "1", "STARPU_WORKERS_NOBIND": "1", "SYMPH_MODELS": self.home})
        self.assertEqual((code, out), (0, "done\n" * 2), err)
        for rank in range(2):
            record = self.record(f"run.rank{rank}.json")
            self.assertEqual((record["notes"], len(record["tasks"])), ([["rank", str(rank)]], 201))
        self.assertFalse(os.path.exists(self.path("run.json")))
        self.assertEqual(set(self.counts_kept().values()), {2, 400})

    def test_ranks(self):
        """Of an MPI program: files of their own, and all that they learned is kept."""
        self.foreign([], MANY, "1", "readers", env={"STARPU_NCPU": "1"})  # StarPU itself measures its buses
        ranks = [self.start(["--record", "run.json"], MANY, "200", "readers",
                            env={"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "8",
                                 "STARPU_NCPU": "1", "SYMPH_MODELS": self.home})
                 for rank in range(8)]
        said = [rank.communicate(timeout=100) for rank in ranks]
        if ranks[0].returncode == 77:
            self.skipTest("StarPU has no worker here")
        self.assertEqual(said, [("done\n", "")] * 8)
        for rank in range(8):
            self.assertEqual(self.record(f"run.rank{rank}.json")["notes"], [["rank", str(rank)]])
        self.assertFalse(os.path.exists(self.path("run.json")))
        with open(self.path("state/symph/runs/last.json")) as file:
            self.assertEqual(json.load(file)["notes"], [["rank", "0"]])
        counts = self.counts_kept()
        self.assertEqual(counts, {"starpu_many:reads": 8 * 200, "starpu_many:writes": 8})

    def test_programs_have_times_of_their_own(self):
        """Two of them call a codelet alone."""
        for program in ([MANY, "20", "independent"], [DECLARED]):
            self.foreign([], *program, env={"SYMPH_MODELS": self.home})
        name, = (name for name in os.listdir(self.home) if name.endswith(".costs.csv"))
        with open(self.path(name)) as file:
            kernels = {line.split(",")[0] for line in file}
        self.assertLessEqual({"starpu_many:alone", "starpu_declared:alone"}, kernels)
        self.assertNotIn("alone", kernels)

    def test_files_that_cannot_be_written(self):
        code, out, err = self.foreign(["--record", "no/run.json"], MANY, "5", "readers")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("no/run.json: cannot write", err)
        for settings, text in (({"SYMPH_RECORD": "no/run.json"}, "cannot write"),
                               ({"SYMPH_PLOT": self.home}, "cannot write"),
                               ({"SYMPH_RECORD": "run.json", "SYMPH_MAX_TASKS": "0"}, "from 1 to")):
            code, out, err = self.foreign([], MANY, "5", "readers", env=settings)
            self.assertEqual((code, out), (3, ""), err)
            self.assertIn(text, err)
            self.assertIn("is not started", err)
        self.assertFalse(os.path.exists(self.path("run.json")))

    def test_no_shutdown(self):
        """Nothing is written; one that leaves in peace learns why."""
        code, _, err = self.foreign(["--record", "run.json"], LEAVES, "exit")
        self.assertEqual(code, 0)
        self.assertIn("ended without starpu_shutdown", err)
        code, _, err = self.foreign(["--record", "run.json"], LEAVES, "crash")
        self.assertEqual(code, -signal.SIGABRT)
        self.assertEqual([name for name in os.listdir(self.home) if "run" in name], [])

    def test_killed(self):
        """The old file stays, and nothing half-written lies around."""
        with open(self.path("run.json"), "w") as file:
            file.write("old")
        running = self.start(["--record", "run.json"], MANY, "100000000", "independent")
        time.sleep(1)
        running.send_signal(signal.SIGKILL)
        running.communicate(timeout=100)
        with open(self.path("run.json")) as file:
            self.assertEqual(file.read(), "old")
        self.assertEqual([name for name in os.listdir(self.home) if "run" in name], ["run.json"])

    def test_top(self):
        running = self.start([], MANY, "100000000", "independent")
        try:
            for _ in range(100):
                done = self.symph("top", "--json")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                found = [program for program in json.loads(done.stdout)["programs"]
                         if program["pid"] == running.pid]
                if running.poll() == 77:
                    self.skipTest("StarPU has no worker here")
                if found and found[0]["done"] > 1000:
                    break
                time.sleep(.1)
            self.assertEqual(found[0]["program"], os.path.basename(MANY) + " 100000000 independent")
            self.assertEqual((found[0]["policy"], found[0]["engine"]), ("symphony", False))
            self.assertGreaterEqual(found[0]["submitted"], found[0]["done"])
            self.assertEqual([worker["name"] for worker in found[0]["workers"]], ["cpu0", "cpu1"])
            self.assertEqual(sum(worker["done"] for worker in found[0]["workers"]), found[0]["done"])
            text = self.symph("top").stdout
            self.assertIn(f"{running.pid}  symphony", text)
            self.assertIn("cpu1", text)
        finally:
            running.kill()
            running.communicate(timeout=100)
        gone = json.loads(self.symph("top", "--json").stdout)["programs"]
        self.assertNotIn(running.pid, [program["pid"] for program in gone])


unittest.main()
