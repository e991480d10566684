# SPDX-License-Identifier: Apache-2.0
"""Same seed, same bytes: whatever the run, whatever the number of threads."""
import cli

NOISY = ["simulate", "--machine", "2x(cpu:3 dram:20GB/s) gpu:2", "--graphs", "gen:cholesky:5",
         "gen:fft:4", "--policy", "all", "--seeds", "3", "--noise", "0.3", "--spikes", "0.02:8",
         "--model-error", "0.2", "--contention", "--hidden-load", "0.2", "--counter-noise", "0.1"]
STREAM = ["simulate", "--machine", cli.MACHINE, "--graphs", "gen:cholesky:4", "gen:fft:3",
          "--policy", "dmdas,eager", "--seeds", "3", "--tenants", "2", "--load", "0.7", "--jobs",
          "15", "--noise", "0.2"]


BELIEVER = [*NOISY, "--counters", "3", "--belief", "filtered", "--judge"]


class Repeat(cli.Case):
    def test_two_runs_are_identical(self):
        for args in [NOISY, STREAM, BELIEVER]:
            self.assertEqual(self.ok(*args, "--json"), self.ok(*args, "--json"))
            self.assertEqual(self.ok(*args, "--per-graph"), self.ok(*args, "--per-graph"))

    def test_threads_do_not_show(self):
        for args in [NOISY, STREAM, BELIEVER]:
            one = self.ok(*args, "--json", "--threads", "1")
            for threads in ["2", "7"]:
                self.assertEqual(one, self.ok(*args, "--json", "--threads", threads))

    def test_traces_are_identical(self):
        for name in ["a", "b"]:
            self.ok(*STREAM, "--threads", "1" if name == "a" else "2", "--trace", name + ".json",
                    "--plot", name + ".svg", "--paje", name + ".paje")
        for policy in ["dmdas", "eager"]:
            for end in ["json", "svg", "paje"]:
                self.assertEqual(self.read(f"a.{policy}.{end}"), self.read(f"b.{policy}.{end}"))

    def test_recording_changes_nothing(self):
        plain = self.ok_json(*STREAM)["runs"]
        self.assertEqual(plain, self.ok_json(*STREAM, "--check", "--trace", "t.json")["runs"])

    def test_parts_change_the_schedule_alone(self):
        """Jobs, their bounds and what is hidden are those of whole tasks; the parts cost time."""
        stream = [*STREAM, "--graphs", "gen:independent:6,work=2s", "--policy", "lb+wspt", "--check"]
        whole, cut = self.ok_json(*stream), self.ok_json(*stream, "--parts", "4:10%")
        self.assertEqual([(run["seed"], run["lower_bound_ns"]) for run in whole["runs"]],
                         [(run["seed"], run["lower_bound_ns"]) for run in cut["runs"]])
        self.assertTrue(all(a["events"] < b["events"] for a, b in zip(whole["runs"], cut["runs"])))
        self.assertEqual((cut["options"]["split"], cut["options"]["part_max"],
                          cut["options"]["part_cost"]), (True, 4, 0.1))
        alone = ["simulate", "--machine", "cpu:1", "--graphs", "gen:chain:2,work=2s", "--policy",
                 "eager", "--seeds", "1", "--noise", "0.5"]
        whole, cut = [self.ok_json(*alone, *more)["runs"][0] for more in [[], ["--parts", "4:10%"]]]
        self.assertAlmostEqual(cut["makespan_ns"] / whole["makespan_ns"], 1.1)
        self.assertEqual(whole["lower_bound_ns"], cut["lower_bound_ns"])
        self.assertEqual(whole, self.ok_json(*alone, "--split")["runs"][0])  # no kernel says that

    def test_the_seed_matters(self):
        runs = self.ok_json(*STREAM, "--seed", "10")["runs"]
        self.assertEqual([run["seed"] for run in runs[::2]], [10, 11, 12])
        self.assertEqual(len({run["makespan_ns"] for run in runs[::2]}), 3)

    def test_seeds_stand_for_themselves(self):
        """Seed 3 gives the same result alone and as the third of three."""
        alone = self.ok_json(*STREAM, "--seed", "3", "--seeds", "1")["runs"]
        among = [run for run in self.ok_json(*STREAM)["runs"] if run["seed"] == 3]
        self.assertEqual(alone, among)

    def test_policies_do_not_disturb_each_other(self):
        alone = self.ok_json(*NOISY[:NOISY.index("--policy")], "--policy", "dmdas",
                             *NOISY[NOISY.index("--policy") + 2:])["runs"]
        among = [run for run in self.ok_json(*NOISY)["runs"] if run["policy"] == "dmdas"]
        self.assertEqual(alone, among)


cli.main()
