#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""StarPU's own tests and examples under its schedulers lws and dmda, and under Symphony's plug-in.

In: a PREFIX that tools/starpu-build.sh --examples --tests made, and a plug-in built against it
(tools/starpu-plugin.sh). Out: a summary; with --page also docs/bench/starpu-suite.md and the same as
JSON beside it. What passes under lws must pass under ours, in at most 1.2 times the CPU time of the
slower of lws and dmda. What fails or is slower in the first round is run in all others, one program
at a time, and the first does not count. Exit code 1: something fails or is slower.
"""
import argparse
import datetime
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import starpu_examples
import starpulib

THEIRS = ("lws", "dmda")
MOST = 1.2  # of the slower one's CPU time
LISTED_S = 0.05  # slower by so many CPU seconds: named in the table, and else counted
BY_HAND = "\n## A real application"  # from here on a page is not ours to write


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("prefix", type=Path, metavar="PREFIX")
    parser.add_argument("--plugin", type=Path, help="default: PREFIX/lib/symph/libsymph-starpu.so")
    parser.add_argument("--policies", default="default,learned", help="ours (default,learned)")
    parser.add_argument("--only", default="*", metavar="GLOB", help="names to run")
    parser.add_argument("--limit", type=float, default=30, help="seconds per program (30)")
    parser.add_argument("--jobs", type=int, default=2, help="programs at a time, at first (2)")
    parser.add_argument("--rounds", type=int, default=5, help="of what looks slower (5)")
    parser.add_argument("--page", type=Path, metavar="FILE.md", help="write the page")
    arguments = parser.parse_args()
    arguments.plugin = arguments.plugin or arguments.prefix / "lib/symph/libsymph-starpu.so"
    if not arguments.plugin.is_file():
        parser.error(f"no plug-in {arguments.plugin}: tools/starpu-plugin.sh {arguments.prefix}")
    if not (arguments.prefix / "build/tests").is_dir():
        parser.error(f"no tests in {arguments.prefix}/build: tools/starpu-build.sh --examples --tests")
    arguments.against = None
    arguments.opencl = 0
    return arguments


def schedulers_of(arguments):
    ours = [name for name in arguments.policies.split(",") if name]
    return [*THEIRS, *("symph" if name == "default" else f"symph:{name}" for name in ours)]


def is_ours(scheduler):
    return scheduler.startswith("symph")


class Suite:
    """results[name][scheduler]: the outcomes of all rounds."""

    def __init__(self, arguments, homes):
        self.arguments = arguments
        self.homes = homes
        self.schedulers = schedulers_of(arguments)
        parts = ("tests", "examples")
        self.programs = [e for e in starpu_examples.built_examples(arguments.prefix, parts)
                         if starpu_examples.fnmatch.fnmatch(e[0], arguments.only)
                         or starpu_examples.fnmatch.fnmatch(Path(e[0]).name, arguments.only)]
        self.results = {program[0]: {} for program in self.programs}
        self.load = []

    def run_one(self, program, scheduler):
        outcome = starpu_examples.run_example(self.arguments, program, scheduler,
                                              self.homes[scheduler])
        self.results[program[0]].setdefault(scheduler, []).append(outcome)
        self.load.append(os.getloadavg()[0])
        if sys.stderr.isatty():
            print(f"\r\033[K{program[0]} {scheduler}: {outcome.verdict}", end="", file=sys.stderr)
        return outcome

    def run_round(self, program):
        """All schedulers after each other. What never ends under lws is not waited for again."""
        if self.run_one(program, THEIRS[0]).verdict != "timeout":
            for scheduler in self.schedulers[1:]:
                self.run_one(program, scheduler)

    def verdict(self, name, scheduler):
        """The most common one of all rounds."""
        outcomes = self.results[name].get(scheduler)
        return Counter(o.verdict for o in outcomes).most_common(1)[0][0] if outcomes else "timeout"

    def cpu(self, name, scheduler):
        return statistics.median(o.cpu_seconds for o in self.results[name][scheduler])

    def passed(self, name):
        return all(o.verdict == "pass" for o in self.results[name][THEIRS[0]])

    def failures(self):
        return [(name, s) for name in self.results for s in self.schedulers
                if is_ours(s) and self.passed(name) and self.verdict(name, s) != "pass"]

    def bound(self, name):
        return max(self.cpu(name, s) for s in THEIRS if self.verdict(name, s) == "pass")

    def slower(self, by_s=0.0):
        return [(name, s) for name in self.results for s in self.schedulers
                if is_ours(s) and self.passed(name) and self.verdict(name, s) == "pass"
                and self.cpu(name, s) > max(MOST * self.bound(name), self.bound(name) + by_s)]

    def run(self):
        for scheduler in self.schedulers:  # StarPU measures the buses once, in a run alone
            starpu_examples.run_example(self.arguments, self.programs[0], scheduler,
                                        self.homes[scheduler])
        with ThreadPoolExecutor(max(1, self.arguments.jobs)) as pool:
            list(pool.map(self.run_round, self.programs))
        doubtful = {name for name, _ in self.failures() + self.slower()}
        again = [program for program in self.programs if program[0] in doubtful]
        if self.arguments.rounds > 1:  # what ran with others next to it does not count then
            self.results.update({name: {} for name in doubtful})
        for turn in range(1, self.arguments.rounds):
            self.say(f"round {turn + 1}: {len(again)} programs")
            for program in again:
                self.run_round(program)

    def say(self, text):
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr)
        print(text, file=sys.stderr, flush=True)


def summary_rows(suite):
    common = [name for name in suite.results
              if all(suite.verdict(name, s) == "pass" for s in suite.schedulers)]
    for scheduler in suite.schedulers:
        count = Counter(suite.verdict(name, scheduler) for name in suite.results)
        total = sum(suite.cpu(name, scheduler) for name in common)
        yield [scheduler, count["pass"], count["skip"], count["fail"], count["timeout"],
               f"{total:.1f}"]


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def failure_lines(suite):
    for name, scheduler in suite.failures():
        outcome = suite.results[name][scheduler][-1]
        yield f"- `starpu/{name}` under {scheduler}: {outcome.verdict}, `{outcome.reason}`"


def slow_rows(suite):
    for name in sorted({name for name, _ in suite.slower(LISTED_S)}):
        times = [f"{suite.cpu(name, s):.2f}" if suite.verdict(name, s) == "pass" else
                 suite.verdict(name, s) for s in suite.schedulers]
        ratios = [f"{suite.cpu(name, s) / suite.bound(name):.2f}"
                  for s in suite.schedulers if is_ours(s)]
        yield [f"`starpu/{name}`", *times, *ratios, len(suite.results[name][THEIRS[0]])]


def slow_counts(suite):
    """How many are slower, whatever by, and how little most programs take."""
    judged = [name for name in suite.results if suite.passed(name)]
    count = Counter(scheduler for _, scheduler in suite.slower())
    short = sum(suite.bound(name) < 5 * LISTED_S for name in judged)
    return (f"Of {len(judged)} programs that pass under lws, " + " and ".join(
        f"{count[s]} take more than {MOST} times the CPU time under {s}"
        for s in suite.schedulers if is_ours(s)) + f". {short} of all take less than"
        f" {5 * LISTED_S} CPU seconds, starting and ending included. Those that are slower by more than"
        f" {LISTED_S} s:\n")


def neither_lines(suite):
    for name in suite.results:
        if suite.verdict(name, THEIRS[0]) in ("fail", "timeout"):
            outcome = suite.results[name][THEIRS[0]][-1]
            now = ", ".join(sorted({suite.verdict(name, s) for s in suite.schedulers if is_ours(s)}))
            yield f"- `starpu/{name}`: `{outcome.reason}`; under ours: {now}"


def commit():
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run(["git", "-C", str(root), "rev-parse", "--short", "HEAD"],
                          capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def command_line(arguments):
    """Where things lay on this machine says nothing to a reader."""
    places = {str(arguments.prefix): "PREFIX", str(arguments.plugin): "PLUGIN"}
    return shlex.join(["tools/starpu_suite.py", *(places.get(a, a) for a in sys.argv[1:])])


def page(suite):
    arguments = suite.arguments
    version = starpulib.version_of(arguments.plugin)
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    slow = list(slow_rows(suite))
    ours = [s for s in suite.schedulers if is_ours(s)]
    neither = list(neither_lines(suite))
    parts = [
        "# StarPU's own tests and examples\n",
        f"{date}, commit {commit()}, StarPU {version.split()[0]}, one worker for each"
        f" of {os.cpu_count()} cores ({platform.machine()}), load average {min(suite.load):.1f} to"
        f" {max(suite.load):.1f}. `{command_line(arguments)}`; PREFIX is made by"
        " `tools/starpu-build.sh --prefix PREFIX --examples --tests` and `tools/starpu-plugin.sh"
        " PREFIX`. lws and dmda are StarPU's, symph is our default, symph:NAME another policy of"
        " ours. Everything that passes under lws must pass under ours, in at most"
        f" {MOST} times the CPU time (user and system) of the slower of lws and dmda. In the first"
        f" round {arguments.jobs} programs run at a time. What fails or is slower in it is run"
        f" {arguments.rounds - 1} times again, one program at a time, and the medians of these runs"
        " count; the others are judged by one run. A program is taken to pass under lws if it does"
        " so in every round.\n",
        "CPU seconds: the sum over what passes under all. StarPU's idle workers poll, so that this"
        " is nearly the time that passed, times the number of workers.\n",
        table(["scheduler", "passed", "skipped", "failed", "out of time", "CPU s"],
              summary_rows(suite)),
        "\n## Passes under lws and not under ours\n",
        "\n".join(failure_lines(suite)) or "None.",
        "\n## Slower than allowed\n",
        slow_counts(suite),
        table(["program", *(f"{s}, CPU s" for s in suite.schedulers), *(f"{s}, times" for s in ours),
               "rounds"], slow) if slow else "None.",
        "\n## Passes under lws neither\n",
        "\n".join(neither) or "None."]
    return "\n".join(parts) + "\n"


def write_page(suite):
    path = suite.arguments.page
    before = path.read_text() if path.exists() else ""
    kept = before[before.index(BY_HAND):] if BY_HAND in before else ""
    path.write_text(page(suite) + kept)
    path.with_suffix(".json").write_text(json.dumps({
        "schema": "symph-starpu-suite-1", "commit": commit(),
        "command": command_line(suite.arguments), "schedulers": suite.schedulers,
        "programs": [{"name": name, **{s: {
            "verdict": suite.verdict(name, s),
            "cpu_seconds": [round(o.cpu_seconds, 3) for o in outcomes],
            "seconds": [round(o.seconds, 3) for o in outcomes]}
            for s, outcomes in suite.results[name].items()}} for name in suite.results]},
        indent=None, separators=(",", ":")).replace('{"name"', '\n{"name"') + "\n")


def main():
    arguments = parse_arguments()
    starpulib.stop_on_signals()
    with tempfile.TemporaryDirectory(prefix="symph-home-") as home:
        homes = {s: os.path.join(home, s.replace(":", "-")) for s in schedulers_of(arguments)}
        for folder in homes.values():
            os.mkdir(folder)
        suite = Suite(arguments, homes)
        if not suite.programs:
            print(f"starpu_suite: nothing is called '{arguments.only}'", file=sys.stderr)
            return 2
        suite.run()
    print(table(["scheduler", "passed", "skipped", "failed", "out of time", "CPU s"],
                summary_rows(suite)))
    print("\n".join([*failure_lines(suite), *("slower: " + ", ".join(map(str, row))
                                              for row in slow_rows(suite))]))
    print(slow_counts(suite))
    if arguments.page:
        write_page(suite)
    return 1 if suite.failures() or suite.slower() else 0


if __name__ == "__main__":
    sys.exit(main())
