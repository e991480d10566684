# SPDX-License-Identifier: Apache-2.0
"""symph run against an engine that only pretends: every end it can take, and what is left then."""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time
import xml.dom.minidom

import cli
from processes import gone

FAKE = os.path.join(cli.ROOT, "tests", "e2e", "fake_engine.py")
GRAPH = "gen:cholesky:3"
TASKS = 10


class Fake(cli.Case):
    def setUp(self):
        super().setUp()
        self.state = os.path.join(self.folder, "state")
        self.log = os.path.join(self.folder, "log")
        self.env = {"SYMPH_ENGINE": FAKE, "XDG_STATE_HOME": self.state, "FAKE_LOG": self.log,
                    "FAKE_DO": "ok", "FAKE_RECORD": self.write("record", json.dumps(self.record()))}
        self.addCleanup(self.nobody_is_left)

    def record(self, **changes):
        """Ten tasks, one after the other, on three devices in turn."""
        record = {
            "schema": "symph-run-1", "spec": GRAPH, "policy": "lb", "runtime": "fake 1.0",
            "host": "box", "date": "2024-01-01T00:00:00Z", "makespan_ns": TASKS * 1000,
            "energy_joules": 1.5, "energy_source": "dice", "result_error": 1e-16,
            "result_tolerance": 1e-10, "decision_p50_ns": 1200, "decision_p99_ns": 5000,
            "machine": json.loads(self.ok("machine", "cpu:2 gpu:1", "--json")),
            "graph": json.loads(self.ok("graph", GRAPH, "--out", "-")),
            "moved_bytes": [[0, 1, 1e6], [1, 0, 2e6]], "model_ns": [[1000, 2000]] * TASKS,
            "tasks": [[i % 3, 0, 0, 1000 * i, 1000 * (i + 1), 900] for i in range(TASKS)],
            "trace": [["task", i, i % 3, 1000 * i, 1000 * (i + 1)] for i in range(TASKS)]}
        record.update(changes)
        return {key: value for key, value in record.items() if value is not None}

    def change_record(self, **changes):
        self.write("record", json.dumps(self.record(**changes)))

    def run_fake(self, *args, what="ok", **env):
        return self.run_symph("run", GRAPH, *args, env={**self.env, "FAKE_DO": what, **env})

    def good(self, *args, **env):
        done = self.run_fake(*args, **env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def bad(self, code, *args, stdout="", **env):
        done = self.run_fake(*args, **env)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertEqual(done.stdout, stdout)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("symph: "), done.stderr)
        return done.stderr

    def logged(self):
        with open(self.log, encoding="utf-8") as file:
            return [line.split() for line in file]

    def engines(self):
        """The arguments of each engine that was started."""
        return [dict(word.split("=", 1) for word in line[2:]) for line in self.logged()
                if line[0] == "engine"]

    def nobody_is_left(self):
        pids = [int(line[1]) for line in self.logged()] if os.path.exists(self.log) else []
        for pid in pids:
            self.assertTrue(gone(pid), f"process {pid} is left")

    def files(self):
        found = []
        for folder, _, names in os.walk(self.folder):
            found += [os.path.relpath(os.path.join(folder, name), self.folder) for name in names]
        return sorted(set(found) - {"record", "log"})


LAST = "state/symph/runs/last.json"


class Results(Fake):
    def test_summary(self):
        text = self.good().stdout
        for word in ["10 tasks on 3 devices of box, fake 1.0", "makespan     10 us",
                     "makespan/bound 1.4", "1 MB host0 to gpu0, 2 MB gpu0 to host0", "1.5 J (dice)",
                     "relative error 1e-16, at most 1e-10 allowed", "median 1.20 us, p99 5 us"]:
            self.assertIn(word, text)
        self.assertRegex(text, r"cpu0 +cpu +4 +40\.0 %")
        self.assertRegex(text, r"gpu0 +gpu +3 +30\.0 %")
        self.assertNotIn("\033", text)

    def test_json(self):
        result = json.loads(self.good("--json", "--repeat", "2").stdout)
        self.assertEqual(result["schema"], "symph-run-result-1")
        self.assertEqual(result["tasks"], TASKS)
        self.assertEqual([d["name"] for d in result["machine"]["devices"]],
                         ["cpu0", "cpu1", "gpu0"])
        self.assertEqual([run["repeat"] for run in result["runs"]], [0, 1])
        run = result["runs"][0]
        self.assertEqual(run["makespan_ns"], 10000)
        self.assertEqual(run["bytes_moved"], 3e6)
        self.assertEqual([d["tasks"] for d in run["devices"]], [4, 3, 3])
        self.assertEqual(sum(d["busy_ns"] for d in run["devices"]), 10000)
        summary = result["summary"][result["baseline"]]
        self.assertEqual(summary["makespan_ns"], {"median": 10000, "min": 10000, "max": 10000})
        self.assertEqual(summary["over_baseline"], {"ratio": 1, "low": 1, "high": 1})

    def test_lower_bound(self):
        """Critical path of cholesky:3 by the model: 7 tasks on the faster class, 1000 ns each."""
        result = json.loads(self.good("--json").stdout)
        self.assertEqual(result["lower_bound_ns"], 7000)
        self.assertAlmostEqual(result["summary"][result["baseline"]]["over_bound"], 10 / 7)
        # Where the model knows nothing, what was measured stands in, where it was measured.
        self.change_record(model_ns=[[None, None]] * TASKS)
        self.assertEqual(json.loads(self.good("--json").stdout)["lower_bound_ns"], 7000)

    def test_what_is_not_known(self):
        self.change_record(energy_joules=None, energy_source=None, result_error=None,
                           result_tolerance=None, decision_p50_ns=None, decision_p99_ns=None)
        text = self.good().stdout
        self.assertIn("not checked", text)
        self.assertNotIn("energy", text)
        self.assertNotIn("nan", text)
        run = json.loads(self.good("--json").stdout)["runs"][0]
        self.assertIsNone(run["energy_joules"])
        self.assertIsNone(run["decision_ns"]["p50"])
        self.assertIn("cannot be checked", self.bad(1, "--check"))

    def test_arguments_reach_the_engine(self):
        self.good("--policy", "dmdas", "--seed", "7", "--limit", "2.5s", "--cpus", "3", "--opencl",
                  "0", "--kernels", "a.so:b", "--models", "", "--no-check")
        self.assertLessEqual(
            {"spec": GRAPH, "policy": "dmdas", "seed": "7", "limit": "2.5", "cpus": "3",
             "opencl": "0", "kernels": "a.so:b", "models": ""}.items(),
            self.engines()[0].items())
        for key in ["cuda", "check"]:  # as usual
            self.assertNotIn(key, self.engines()[0])
        self.good()
        self.assertEqual(self.engines()[1]["check"], "1")

    JOBS = [["a", 0, 0, 4, 1, 0, 4000, 2000], ["b", 1, 4, 6, 2.5, 1000, 10000, None],
            ["a", 0, 4, 6, 1, 2000, 10000, 2000]]

    def test_stream_of_jobs(self):
        """What the engine is asked for; how much longer jobs took than alone."""
        self.change_record(jobs=self.JOBS[::2])
        text = self.good("gen:lu:3", "--tenants", "3", "--load", "0.9", "--jobs", "2", "--only",
                         "c*", "--time-scale", "0.5", "--emulate", "--split").stdout
        self.assertIn("jobs         2; slowdown: mean 3.00, p99 3.98; time in the system: mean 6 us",
                      text)
        with open(self.log, encoding="utf-8") as file:
            asked = file.read()
        os.remove(self.log)  # whose lines are not one for each engine here
        for word in [f"graphs={GRAPH}\ngen:lu:3 ", f"spec={GRAPH}, gen:lu:3", "tenants=3", "load=0.9",
                     "jobs=2", "only=c*", "time-scale=0.5", "emulate=1", "split=1"]:
            self.assertIn(word, asked)
        self.assertNotIn("check=", asked)

    def test_stream_of_jobs_json(self):
        self.change_record(jobs=self.JOBS[::2])
        result = json.loads(self.good("--arrivals", "a.csv", "--repeat", "2", "--json").stdout)
        self.assertEqual(result["options"]["arrivals"], "a.csv")
        for run in result["runs"]:
            self.assertEqual((run["jobs"], run["jct_mean_ns"], run["slowdown_mean"]), (2, 6000, 3))
        summary = result["summary"][result["baseline"]]
        self.assertEqual((summary["slowdown_mean"], summary["jct_mean_ns"]), (3, 6000))
        self.change_record(jobs=self.JOBS)  # one of which nobody knows what it takes alone
        run = json.loads(self.good("--arrivals", "a.csv", "--json").stdout)["runs"][0]
        self.assertIsNone(run["slowdown_mean"])
        text = self.good("--arrivals", "a.csv", "--compare", "lb,heft").stdout
        self.assertRegex(text, r"heft +- +- ")
        self.assertIn("1 run of each policy, in turn, of 3 jobs", text)
        self.change_record(jobs=[["a", 0, 4, 7, 1, 0, 0, 0]])
        self.assertIn("more tasks than the graph", self.bad(1, "--jobs", "1"))

    def test_compare_takes_turns(self):
        text = self.good("--compare", "lb,starpu:dmdas,heft", "--repeat", "3").stdout
        order = [engine["policy"] for engine in self.engines()]
        self.assertEqual(order, ["lb", "starpu:dmdas", "heft", "starpu:dmdas", "heft", "lb", "heft",
                                 "lb", "starpu:dmdas"])
        self.assertIn("vs lb", text)
        self.assertIn("3 runs of each policy, in turn;", text)
        rows = re.findall(r"^(\S+) +10 us +10 us \.\. 10 us +1\.000", text, re.M)
        self.assertEqual(rows, ["lb", "starpu:dmdas", "heft"])

    def test_policy_is_the_baseline(self):
        result = json.loads(self.good("--policy", "eager", "--compare", "lb", "--json").stdout)
        self.assertEqual(result["baseline"], "eager")
        self.assertEqual(list(result["summary"]), ["eager", "lb"])

    def test_files(self):
        done = self.good("--plot", "g.svg", "--trace", "t.json", "--paje", "t.paje", "--record",
                         "r.json")
        self.assertEqual(self.files(), sorted(["g.svg", "t.json", "t.paje", "r.json", LAST]))
        xml.dom.minidom.parseString(self.read("g.svg"))
        json.loads(self.read("t.json"))
        self.assertEqual(self.read("r.json"), self.read("record"))
        self.assertEqual(self.read(LAST), self.read("record"))
        self.assertIn("wrote g.svg", done.stderr)
        self.assertEqual(self.good("--quiet", "--plot", "g.svg").stderr, "")

    def test_files_of_several_policies(self):
        self.good("--compare", "lb,starpu:dmdas", "--plot", "g.svg", "--record", "r.json")
        self.assertEqual(self.files(), sorted(
            ["g.lb.svg", "g.starpu_dmdas.svg", "r.lb.json", "r.starpu_dmdas.json", LAST]))

    def test_no_place_for_the_last_run(self):
        done = self.good(XDG_STATE_HOME="/dev/null/nowhere")
        self.assertIn("not kept", done.stderr)
        self.assertIn("makespan", done.stdout)
        self.assertEqual(self.good("--quiet", XDG_STATE_HOME="", HOME="").stderr, "")

    def test_talk_is_swallowed(self):
        self.assertEqual(self.good("--quiet", what="noisy").stderr, "")


class WrongResults(Fake):
    def test_error_above_tolerance(self):
        self.change_record(result_error=0.01)
        message = self.bad(1)
        self.assertIn("relative error is 0.01, and at most 1e-10", message)
        self.assertIn(LAST, self.files())  # to be looked at

    def test_the_engine_says_so(self):
        self.change_record(result_error=0.01)
        self.assertIn("the result is wrong: 0.01", self.bad(1, "--quiet", "--record", "r.json",
                                                            what="wrong"))
        self.assertEqual(self.files(), ["r.json", LAST])

    def test_error_that_is_no_number(self):
        self.change_record(result_error=None)
        self.assertIn("is wrong", self.bad(1))
        self.change_record(result_error="inf")
        self.assertIn("is wrong", self.bad(1))

    def test_the_first_wrong_run_ends_it(self):
        self.change_record(result_error=0.01)
        self.assertIn("run 1 under lb", self.bad(1, "--compare", "lb,heft", "--repeat", "5"))
        self.assertEqual(len(self.engines()), 1)


class Usage(Fake):
    def test_mistakes(self):
        for words, args in [("nosuch", ["--policy", "nosuch"]), ("heft", ["--compare", "hetf"]),
                            ("only the simulator", ["--policy", "greedy-true"]), ("twice", ["--compare", "lb,lb"]),
                            ("no policy", ["--compare", ","]), ("'-'", ["--plot", "-"]),
                            ("'-'", ["--record", "-"]), ("exclude", ["--check", "--no-check"]),
                            ("one too many", ["gen:lu:3"]), ("--load", ["--load", "0"]),
                            ("checked", ["--check", "--jobs", "3"]), ("--tenants", ["--tenants", "0"]),
                            ("--repeat", ["--repeat", "0"]), ("--limit", ["--limit", "0"])]:
            self.assertIn(words, self.bad(2, *args))
        self.assertFalse(os.path.exists(self.log), "an engine was started")

    def test_no_graph(self):
        self.assertIn("linalg:cholesky", self.fails(2, "run"))

    def test_no_engine(self):
        self.assertIn("/no/such", self.bad(3, SYMPH_ENGINE="/no/such"))
        self.assertIn("not a program", self.bad(3, SYMPH_ENGINE=self.folder))
        alone = os.path.join(self.folder, "symph")
        shutil.copy(cli.SYMPH, alone)
        env = {key: value for key, value in os.environ.items() if key != "SYMPH_ENGINE"}
        done = subprocess.run([alone, "run", GRAPH], capture_output=True, text=True, env=env)
        if done.returncode == 0 or "libstarpu-dev" not in done.stderr:
            self.skipTest("an engine is installed on this machine")
        self.assertEqual(done.returncode, 1)
        self.assertIn("SYMPH_ENGINE", done.stderr)

    def test_an_engine_that_cannot_start(self):
        path = self.write("broken", "#!/no/such/interpreter\n")
        os.chmod(path, 0o755)
        self.assertIn("cannot start the engine", self.bad(1, SYMPH_ENGINE=path))


class Ends(Fake):
    """Whatever becomes of the engine: one message, one exit code, nothing left."""

    def end(self, what, code, *words, args=(), **env):
        message = self.bad(code, *args, what=what, **env)
        for word in words:
            self.assertRegex(message, word)
        self.assertEqual(self.files(), [])

    def test_it_tells(self):
        self.end("input", 3, r"g\.json:3:7: kernel spam is in no plug-in \(symph kernels lists them\)")
        self.end("kernel", 1, "kernel gemm failed on tile 3: bad weather")
        self.end("odd code", 1, "odd")
        self.end("unfinished text", 1, "m{1000}", r"h{500}\)")

    def test_it_crashes(self):
        self.end("segfault told", 1, r"kernel gemm crashed \(SIGSEGV\) with input tile 3")
        self.end("killed", 1, r"killed by signal 9 \(SIGKILL\) after 2 of 5 tasks")

    def test_it_leaves_without_a_word(self):
        self.end("silent exit", 1, "status 7 before the first task")
        self.end("loader", 1, r"status 127 .* \(it said: error while loading .* libstarpu")
        self.end("quits early", 1, "status 0 after 5 of 5 tasks")

    def test_it_hangs(self):
        self.end("never ready", 1, r"not ready after \d+ s", SYMPH_START_LIMIT="0.3")
        self.end("stuck", 1, r"no sign of life for \d+ s while running tasks",
                 "after 2 of 5 tasks", args=["--limit", "10ms"])
        self.end("never checks", 1, r"no sign of life for \d+ s while checking the result",
                 args=["--limit", "10ms"])

    def test_it_is_of_another_kind(self):
        self.end("other magic", 1, "does not match this symph")

    def test_its_record_is_not_one(self):
        for text in ["", "{", json.dumps(self.record())[:-20], '{"schema": "other"}']:
            self.write("record", text)
            self.end("ok", 1, r"the engine's record")

    def test_its_record_is_more_than_announced(self):
        """Nothing is kept of it: memory stays bounded, whatever is written to the pipe."""
        self.end("flood", 1, r"than the \d+ bytes it announced", "file descriptor 4")
        self.end("more", 1, r"than the \d+ bytes it announced")
        self.end("huge", 1, r"would have 1099511627776 bytes, and at most \d+ are allowed for 5 tasks")

    def test_its_children_go_with_it(self):
        self.good(what="family")
        self.assertEqual([line[0] for line in self.logged()], ["engine", "child"])


class Saving(Fake):
    """The record is there: nothing that comes after it can take the results away."""

    def test_results_come_first(self):
        gate = os.path.join(self.folder, "gate")
        process = subprocess.Popen(
            [cli.SYMPH, "run", GRAPH], cwd=self.folder, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
            env={**os.environ, **self.env, "FAKE_DO": "saves late", "FAKE_GATE": gate})
        self.addCleanup(process.kill)
        text = ""
        while "makespan" not in text:
            line = process.stdout.readline()
            self.assertNotEqual(line, "", "it ended without results")
            text += line
        self.write("gate", "")  # only now it may save
        out, err = process.communicate(timeout=120)
        self.assertEqual((process.returncode, err), (0, ""), out)
        os.remove(gate)

    def test_what_is_not_kept_is_told_once(self):
        done = self.good("--repeat", "3", what="not kept")
        self.assertIn("makespan", done.stdout)
        self.assertEqual(done.stderr.count("not saved: the disk is full"), 1)
        self.assertEqual(self.good("--quiet", what="not kept").stderr, "")

    def test_it_never_ends(self):
        for what in ["never saves", "never leaves"]:
            done = self.good("--limit", "10ms", what=what)
            self.assertIn("makespan", done.stdout)
            self.assertIn("may not be kept", done.stderr)


class Interrupted(Fake):
    def interrupt(self, what, number, *args):
        process = subprocess.Popen(
            [cli.SYMPH, "run", GRAPH, "--plot", "g.svg", "--record", "r.json", *args],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, **self.env, "FAKE_DO": what}, start_new_session=True)
        while process.poll() is None and not os.path.exists(self.log):
            time.sleep(0.01)
        time.sleep(0.2)  # not needed: whatever it is at, it must end
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        self.assertEqual(out, "")
        self.assertIn("interrupted", err)
        self.assertEqual(self.files(), [])

    def test_ctrl_c(self):
        self.interrupt("wait", signal.SIGINT)

    def test_terminated(self):
        self.interrupt("wait", signal.SIGTERM)

    def test_before_it_is_ready(self):
        self.interrupt("never ready", signal.SIGINT)

    def test_an_engine_that_does_not_listen(self):
        self.interrupt("deaf", signal.SIGINT)

    def test_in_the_middle_of_many(self):
        self.interrupt("wait", signal.SIGINT, "--compare", "lb,heft", "--repeat", "100")


class FullDisk(Fake):
    def test_device(self):
        for option in ["--plot", "--trace", "--paje", "--record"]:
            done = self.run_fake(option, "/dev/full")
            self.assertEqual(done.returncode, 1)
            self.assertIn("/dev/full: cannot write: No space left on device", done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertIn("makespan", done.stdout)  # the run was not in vain

    def test_file_that_does_not_fit(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        for option, name in [("--record", "r.json"), ("--plot", "g.svg")]:
            done = subprocess.run(
                [cli.SYMPH, "run", GRAPH, option, name], cwd=self.folder, capture_output=True,
                text=True, preexec_fn=limit, env={**os.environ, **self.env})
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(f"{name}: cannot write: File too large", done.stderr)
            self.assertEqual(self.files(), [])

    def test_small_file_system(self):
        script = ('mount -t tmpfs -o size=4k tmpfs small && head -c 4096 /dev/zero >small/all; '
                  '"$0" run "$1" --quiet --trace small/t.json; code=$?; ls -A small; exit $code')
        os.mkdir(os.path.join(self.folder, "small"))
        probe = subprocess.run(["unshare", "-rm", "sh", "-c", "mount -t tmpfs tmpfs small"],
                               cwd=self.folder, capture_output=True)
        if probe.returncode != 0:
            self.skipTest("no file system can be mounted here")
        done = subprocess.run(["unshare", "-rm", "sh", "-c", script, cli.SYMPH, GRAPH],
                              cwd=self.folder, capture_output=True, text=True,
                              env={**os.environ, **self.env})
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("small/t.json: cannot write: No space left", done.stderr)
        self.assertTrue(done.stdout.endswith("\nall\n"), done.stdout)


cli.main()
