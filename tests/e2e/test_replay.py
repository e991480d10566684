# SPDX-License-Identifier: Apache-2.0
"""symph simulate --replay: a recorded run again, and how wrong the simulator was."""
import cli
import records
from records import MS


class Replay(cli.Case):
    def test_by_hand(self):
        """With the model's times c ends at 8 ms and all at 13.001; with the measured ones at 14.001."""
        records.write(self)
        answer = self.ok_json("simulate", "--replay", "run.json")
        self.assertEqual(answer["schema"], "symph-replay-1")
        run = answer["runs"][0]
        self.assertEqual(run["real_ns"], 14001000)
        self.assertEqual(run["simulated_ns"], 13001000)
        self.assertEqual(run["simulated_measured_ns"], 14001000)
        self.assertAlmostEqual(run["error_ratio"], -1000 / 14001)
        self.assertEqual(answer["median"]["error_measured_ratio"], 0)
        self.assertAlmostEqual(answer["median"]["abs_error_ratio"], 1000 / 14001)
        rows = {(k["kernel"], k["class"]): k for k in answer["kernels"]}
        self.assertEqual(set(rows), {("first", "cpu"), ("middle", "gpu"), ("middle", "cpu"),
                                     ("last", "cpu")})
        self.assertAlmostEqual(rows["middle", "cpu"]["abs_error_ratio"], 0.2)
        self.assertAlmostEqual(rows["middle", "cpu"]["bias_ratio"], -0.2)
        self.assertAlmostEqual(rows["middle", "cpu"]["decided_bias_ratio"], -0.2)

    def test_keeps_the_order(self):
        """Everything on cpu0: 4 + 1 + 5 + 4 ms, b before c although c is ready too."""
        def serial(run):
            times = [(0, 4), (4, 5), (5, 10), (10, 14)]
            for task, (start, end) in zip(run["tasks"], times):
                task[0], task[3], task[4] = 0, start * MS, end * MS
            run["decisions"] = run["trace"] = []
            run["makespan_ns"] = 14 * MS
        records.write(self, change=serial)
        run = self.ok_json("simulate", "--replay", "run.json")["runs"][0]
        self.assertEqual(run["simulated_measured_ns"], 14 * MS)
        self.assertEqual(run["simulated_ns"], 16 * MS)

    def test_late_decision(self):
        """If c is committed only once b has started, it cannot start earlier in the simulator."""
        def late(run):
            run["tasks"][2] = [2, 0, 4 * MS, 6001000, 7001000, 1 * MS]
            run["decisions"][2] = [5500000, 2, 2, 2, 1, []]
            run["trace"] = []
        records.write(self, change=late)
        run = self.ok_json("simulate", "--replay", "run.json")["runs"][0]
        # B and C come back from the GPU one after the other or together: 1.001 ms after c ends.
        self.assertEqual(run["simulated_ns"], 7001000 + 1001000 + 4 * MS)

    def test_several_runs(self):
        for i in range(3):
            def slower(run, extra=i):
                run["makespan_ns"] += extra * MS
            records.write(self, f"{i}.json", slower)
        answer = self.ok_json("simulate", "--replay", "0.json", "1.json", "2.json")
        self.assertEqual([r["file"] for r in answer["runs"]], ["0.json", "1.json", "2.json"])
        self.assertAlmostEqual(answer["median"]["error_ratio"], 13001 / 15001 - 1)
        text = self.ok("simulate", "--replay", "0.json", "1.json", "2.json")
        self.assertIn("-13.3 % (absolute 13.3 %)", text)
        self.assertRegex(text, r"middle +cpu +3 +5 ms +20\.0 % +-20\.0 % +3 +20\.0 % +-20\.0 %")

    def test_unknown_to_the_model(self):
        def blank(run):
            run["model_ns"][1] = [None, None]
            run["model_ns"][2] = ["inf", 1 * MS]
        records.write(self, change=blank)
        done = self.run_symph("simulate", "--replay", "run.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the model has no time for 2 of 4 tasks", done.stderr)
        run = self.ok_json("simulate", "--replay", "run.json")["runs"][0]
        self.assertEqual(run["tasks_unknown_to_model"], 2)
        self.assertEqual(run["simulated_ns"], 14001000)  # b's and c's likes are themselves

    def test_clocks_that_differ(self):
        """d starts a little before its inputs end: still an order that ends."""
        def skew(run):
            run["tasks"][3][3] = 8 * MS
            run["tasks"][1][3:5] = [3 * MS, 4 * MS]
        records.write(self, change=skew)
        self.ok("simulate", "--replay", "run.json")

    def test_no_tasks(self):
        def empty(run):
            run["graph"]["tasks"] = run["tasks"] = run["model_ns"] = []
            run["decisions"] = run["trace"] = []
            run["makespan_ns"] = 0
        records.write(self, change=empty)
        answer = self.ok_json("simulate", "--replay", "run.json")
        self.assertIsNone(answer["median"]["error_ratio"])
        self.ok("simulate", "--replay", "run.json")

    def test_mistakes(self):
        records.write(self)
        self.assertIn("not graphs", self.fails(2, "simulate", "gen:lu:3", "--replay", "run.json"))
        self.assertIn("no/such", self.fails(3, "simulate", "--replay", "no/such.json"))

        def cut(run):
            run["tasks"][3] = [None, 0, None, None, None, None]
        records.write(self, "cut.json", cut)
        self.assertIn("1 of 4 tasks never ran", self.fails(3, "simulate", "--replay", "cut.json"))


cli.main()
