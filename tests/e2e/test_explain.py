# SPDX-License-Identifier: Apache-2.0
"""symph explain: the answer fits the record, also where the record says little."""
import json
import os

import cli
import records
from records import MS


class Task(cli.Case):
    def test_says_why(self):
        records.write(self)
        text = self.ok("explain", "run.json", "b")
        self.assertIn("b is task 1 of test:diamond, kernel middle.", text)
        self.assertIn("It ran on gpu0 from 5.00 ms to 6.00 ms: 1 ms.", text)
        self.assertIn("became ready at 4 ms; the last task that it depends on, a, ended at 4 ms on cpu0",
                      text)
        self.assertIn("Policy lb placed it on gpu0 at 4 ms; 2 tasks were waiting", text)
        self.assertRegex(text, r"gpu0 +0 ns +1\.00 ms +1 ms +2\.00 ms +2 % +chosen")
        self.assertRegex(text, r"cpu1 +400 us +0 ns +4 ms +4\.40 ms +5 %")
        self.assertIn("Execution: predicted 1 ms, actual 1 ms, as predicted", text)
        self.assertIn("gpu0 waited 1.00 ms for its inputs.", text)
        self.assertIn("Start: predicted at 5.00 ms, actual at 5.00 ms, 0 ns later.", text)
        self.assertTrue(text.endswith(
            "gpu0 was predicted to finish 2.40 ms earlier than cpu1 (2.2x): its inputs came 1.00 ms "
            "later, but its queue was 400 us shorter and it executes 3 ms faster.\n"), text)

    def test_alike(self):
        records.write(self)
        self.assertTrue(self.ok("explain", "run.json", "a").endswith(
            "\ncpu0 and cpu1 were predicted to finish at the same time.\n"))

    def test_hindsight(self):
        """c took 5 ms on cpu1 instead of 4; b, its like, took 1 ms on gpu0, free at 6.001 ms."""
        records.write(self)
        text = self.ok("explain", "run.json", "2")
        self.assertIn("predicted 4 ms, actual 5 ms, 1.25x what was predicted: the model was wrong by "
                      "more than its spread", text)
        self.assertIn("In hindsight another device would have been better: gpu0 would have ended it "
                      "about 2.00 ms earlier (1 other middle tasks took 1 ms there, and it was free at "
                      "6.00 ms).", text)
        self.assertIn("cpu1 was predicted to finish 999 us later than gpu0 (1.3x): it executes 3 ms "
                      "slower, but its queue was 2.00 ms shorter", text)
        self.assertIn("The policy considers more than the end of this task.", text)
        text = self.ok("explain", "run.json", "d")
        self.assertIn("No other device was considered.", text)
        self.assertIn("nothing to compare with", text)

    def test_json(self):
        records.write(self)
        answer = self.ok_json("explain", "run.json", "b")
        self.assertEqual(answer["schema"], "symph-explain-1")
        task = answer["task"]
        self.assertEqual((task["number"], task["device"], task["stall_ns"]), (1, "gpu0", 1001000))
        self.assertEqual(task["decision"]["waiting"], 2)
        rival = task["decision"]["alternatives"][1]
        self.assertEqual(rival["device"], "cpu1")
        self.assertEqual(rival["hindsight"]["median_ns"], 5 * MS)

    def test_reason(self):
        def learned(run):
            run["policy"] = "learned@my.weights"
            run["decisions"][1].append(["bounded", 2 * MS, -300000, 1.4, 0.25, 0.8])
            run["decisions"][2].append(["fallback", 4 * MS, 900000, 1, 0, 0.1])
            run["decisions"][3].append(["plan", 5 * MS, 0, 0, 0, 0])
        records.write(self, change=learned)
        text = self.ok("explain", "run.json", "b")
        self.assertIn("Policy learned@my.weights placed it", text)
        self.assertIn("Why: the correction by the network was limited by the guard; the heuristic "
                      "predicted its end 2 ms after the decision, the network made this 300 us less.\n", text)
        self.assertIn("Contention was expected to make it take 1.40 times as long (+-0.25); the busiest "
                      "resource it needs was estimated to be 80 % busy.\n", text)
        self.assertIn("rejected the network and used the heuristic; the heuristic predicted its end 4 ms "
                      "after the decision, the network made this 900 us more.", self.ok("explain", "run.json", "c"))
        text = self.ok("explain", "run.json", "d")
        self.assertIn("Why: the plan for the whole job was followed; ", text)
        self.assertNotIn("Contention", text)
        self.assertNotIn("Why:", self.ok("explain", "run.json", "a"))
        self.assertIn("1: the plan for the whole job was followed", self.ok("explain", "run.json"))
        reason = self.ok_json("explain", "run.json", "b")["task"]["decision"]["reason"]
        self.assertEqual(reason["guard"], "bounded")
        self.assertAlmostEqual(reason["slowdown"], 1.4, places=4)
        self.assertIsNone(self.ok_json("explain", "run.json", "a")["task"]["decision"]["reason"])
        guards = self.ok_json("explain", "run.json")["overview"]["guards"]
        self.assertEqual(guards, {"none": 0, "trusted": 0, "bounded": 1, "fallback": 1, "plan": 1})

    def test_reason_that_is_none(self):
        for reason, message in [(["maybe", 0, 0, 0, 0, 0], "not the answer of a guard"),
                                (["plan", 0, 0, 0, 0], "too short"), (3, "expected"),
                                (["plan", 0, 0, 0, 0, 0, 0], "too long")]:
            records.write(self, change=lambda run: run["decisions"][0].append(reason))
            self.assertIn(message, self.fails(3, "explain", "run.json"))

    def test_policy_without_decisions(self):
        def silent(run):
            run["policy"] = "starpu:dmdas"
            run["decisions"] = []
            for task in run["tasks"]:
                task[5] = None
        records.write(self, change=silent)
        text = self.ok("explain", "run.json", "b")
        self.assertIn("does not record its decisions", text)
        self.assertIn("It ran on gpu0 from 5.00 ms", text)
        self.assertIn("Execution: 1 ms; nothing was predicted.", text)
        self.assertIsNone(self.ok_json("explain", "run.json", "b")["task"]["decision"])
        self.assertIn("no alternatives", self.ok("explain", "run.json"))

    def test_task_that_never_ran(self):
        def cut(run):
            run["tasks"][3] = [None, 0, None, None, None, 4 * MS]
            run["trace"].pop()
            run["decisions"].pop()
        records.write(self, change=cut)
        self.assertIn("It never ran", self.ok("explain", "run.json", "d"))
        self.assertIsNone(self.ok_json("explain", "run.json", "d")["task"]["device"])
        self.assertIn("1 of them never ran", self.ok("explain", "run.json"))

    def test_moved_by_the_runtime(self):
        def move(run):
            run["tasks"][1][0] = 0
        records.write(self, change=move)
        self.assertIn("It ran on cpu0 nevertheless", self.ok("explain", "run.json", "b"))

    def test_stood_aside(self):
        """c stood aside for b, and then for d, 1 ms each; its times are those of its parts."""
        def push(run):
            run["tasks"][1] = [1, 0, 5 * MS, 5 * MS, 6 * MS, MS]
            run["tasks"][3] = [1, 0, 5 * MS, 7 * MS, 8 * MS, MS]
            run["trace"] = [["task", 0, 0, 0, 4 * MS], ["part", 2, 1, 4 * MS, 5 * MS],
                            ["task", 1, 1, 5 * MS, 6 * MS], ["part", 2, 1, 6 * MS, 7 * MS],
                            ["task", 3, 1, 7 * MS, 8 * MS], ["task", 2, 1, 8 * MS, 9 * MS]]
        records.write(self, change=push)
        text = self.ok("explain", "run.json", "c")
        self.assertIn("It stood aside for 2 ms: 2 other tasks had its core, the last of them d.", text)
        self.assertIn("predicted 4 ms, actual 3 ms", text)
        self.assertIn("c stood aside for it.", self.ok("explain", "run.json", "b"))
        self.assertNotIn("aside", self.ok("explain", "run.json", "a"))
        task = self.ok_json("explain", "run.json", "c")["task"]
        self.assertEqual((task["aside_ns"], task["actual_ns"]), (2 * MS, 3 * MS))
        busy = [d["busy_ns"] for d in self.ok_json("explain", "run.json")["overview"]["devices"]]
        self.assertEqual(busy[1], 5 * MS)

    def test_unknown_values(self):
        def blank(run):
            run["tasks"] = [[t[0], None, None, t[3], t[4], "inf"] for t in run["tasks"]]
            for decision in run["decisions"]:
                decision[5] = [[a[0], None, "inf", None, None, None] for a in decision[5]]
        records.write(self, change=blank)
        for task in "abcd":
            text = self.ok("explain", "run.json", task)
            self.assertNotIn("nan", text)
            self.assertNotIn("inf ", text)
            self.ok_json("explain", "run.json", task)
        self.assertNotIn("nan", self.ok("explain", "run.json"))


class Overview(cli.Case):
    def test_text(self):
        records.write(self)
        text = self.ok("explain", "run.json")
        self.assertIn("test:diamond under lb on here: 4 tasks in 14.0 ms.", text)
        self.assertRegex(text, r"c +cpu1 +4 ms +5 ms +1\.25x")
        self.assertIn("3 tasks, 13 ms executing, 1.00 ms between them", text)

    def test_json(self):
        records.write(self)
        overview = self.ok_json("explain", "run.json")["overview"]
        self.assertEqual(overview["predictions"]["worst"][0]["name"], "c")
        path = overview["critical_path"]
        self.assertEqual([link["name"] for link in path], ["a", "c", "d"])
        self.assertEqual([link["waited_for"] for link in path], ["nothing", "input", "input"])
        devices = {d["device"]: d for d in overview["devices"]}
        self.assertEqual(devices["gpu0"]["inputs_ns"], 1001000)
        self.assertEqual(devices["gpu0"]["held_back_ns"], 1001000)  # while d waits for cpu0
        self.assertEqual(devices["gpu0"]["nothing_ready_ns"], 12 * MS - 1001000)
        self.assertEqual(devices["cpu0"]["busy_ns"], 8 * MS)
        self.assertEqual(devices["cpu0"]["held_back_ns"], 1001000)  # while b waits for gpu0
        self.assertEqual(devices["cpu0"]["nothing_ready_ns"], 5 * MS - 1001000)
        for device in devices.values():
            parts = [device[k] for k in device if k.endswith("_ns")]
            self.assertEqual(sum(parts), 14001000, device)

    def test_held_back(self):
        """c waits 3 ms for cpu1 although gpu0 is idle and could run it."""
        def wait(run):
            run["tasks"][2][3:5] = [7 * MS, 9 * MS]
            run["trace"] = []
            run["decisions"][2][0] = 7 * MS
        records.write(self, change=wait)
        devices = {d["device"]: d for d in
                   self.ok_json("explain", "run.json")["overview"]["devices"]}
        self.assertEqual(devices["gpu0"]["held_back_ns"], 7 * MS - 6001000 + 1001000)
        self.assertEqual(devices["cpu1"]["held_back_ns"], 3 * MS + 1001000)
        self.assertEqual(devices["cpu1"]["nothing_ready_ns"], 8 * MS)

    def test_no_tasks(self):
        def empty(run):
            run["graph"]["tasks"] = run["tasks"] = run["model_ns"] = []
            run["decisions"] = run["trace"] = []
            run["makespan_ns"] = 0
        records.write(self, change=empty)
        self.assertIn("0 tasks in 0 ns", self.ok("explain", "run.json"))
        self.assertEqual(self.ok_json("explain", "run.json")["overview"]["critical_path"], [])
        self.assertIn("no task '0'", self.fails(2, "explain", "run.json", "0"))

    def test_same_starts(self):
        """Every time equal: chains still end."""
        def flat(run):
            run["tasks"] = [[t[0], 0, 0, 5, 5, 1] for t in run["tasks"]]
            run["trace"] = []
        records.write(self, change=flat)
        self.ok("explain", "run.json")
        self.ok("explain", "run.json", "c")


class Mistakes(cli.Case):
    def test_task_names(self):
        def rename(run):
            run["graph"]["tasks"][1]["name"] = "gemm(3,2,1)"
        records.write(self, change=rename)
        self.assertIn("did you mean 'gemm(3,2,1)'?",
                      self.fails(2, "explain", "run.json", "gem(3,2,1)"))
        self.assertIn("it has 4 tasks, numbered from 0", self.fails(2, "explain", "run.json", "4"))
        self.ok("explain", "run.json", "task 3")

    def test_last(self):
        state = {"XDG_STATE_HOME": os.path.join(self.folder, "state")}
        done = self.run_symph("explain", "last", env=state)
        self.assertEqual(done.returncode, 3)
        self.assertIn("there is no last run", done.stderr)
        os.makedirs(os.path.join(self.folder, "state/symph/runs"))
        records.write(self, "state/symph/runs/last.json")
        for args in [[], ["last"], ["last", "b"]]:
            self.assertEqual(self.run_symph("explain", *args, env=state).returncode, 0)

    def test_broken_records(self):
        self.assertIn("no/such.json", self.fails(3, "explain", "no/such.json"))
        records.write(self)
        text = self.read("run.json").decode()
        self.write("cut.json", text[:len(text) // 2])
        self.assertRegex(self.fails(3, "explain", "cut.json"), r"cut\.json:1:\d+: ")

        def wrong(run):
            run["tasks"][0][0] = 7
        records.write(self, "wrong.json", wrong)
        self.assertIn("there is no device 7", self.fails(3, "explain", "wrong.json"))
        self.write("graph.json", json.dumps(records.graph()))
        self.assertIn("symph-run-1", self.fails(3, "explain", "graph.json"))

    def test_too_many_operands(self):
        self.fails(2, "explain", "a", "b", "c")


cli.main()
