#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the project in every flavour and runs its tests: what ./bootstrap check does.

Each stage is one build directory. A stage that does not build, or that runs no test at all,
counts as one failure. The last line is always "N passed, N failed".
"""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Without address space randomisation: gcc 12's TSan does not know every memory layout.
NO_ASLR = ["--wrapper", "setarch -R"]

# Whatever is configured here tolerates no warning, under gcc and clang; a plain "make" does.
WERROR = "-Dwerror=true"
STAGES = [
    # name, build directory, environment, meson setup options, meson test options
    ("release", "build", {}, [WERROR], []),
    # Without hwloc's PCI plug-in, where it is installed: the library under it leaks.
    ("asan", "build-asan", {"HWLOC_COMPONENTS": "-pci"},
     ["-Ddebug=true", "-Doptimization=1", "-Db_sanitize=address,undefined",
      "-Db_lundef=false", WERROR, "-Dc_args=-fno-sanitize-recover=all"],
     ["--no-suite", "style", "--timeout-multiplier", "5"]),
    ("tsan", "build-tsan", {},
     ["-Ddebug=true", "-Doptimization=1", "-Db_sanitize=thread", "-Db_lundef=false"],
     ["--suite", "threads", "--timeout-multiplier", "10"]),
    ("fuzz", "build-fuzz", {"CC": "clang"},
     ["-Ddebug=true", "-Doptimization=1", "-Db_sanitize=address,undefined",
      "-Db_lundef=false", WERROR,
      "-Dc_args=-fsanitize=fuzzer-no-link -fno-sanitize-recover=all"],
     ["--suite", "fuzz", "--suite", "explore", "--timeout-multiplier", "5"]),
]
PASSED = {"OK", "EXPECTEDFAIL"}


def run(command, environment):
    print("+", " ".join(command), flush=True)
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **environment},
                          check=False).returncode


def skip_reasons(test):
    """Why a test, or a case inside a TAP test, did not run."""
    output = (test.get("stdout") or "") + (test.get("stderr") or "")
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    marked = [line for line in lines if "skip" in line.lower()]
    if test["result"] == "SKIP":
        return marked or lines[-1:] or ["no reason given"]
    return [line for line in marked if "# SKIP" in line]


def read_results(build):
    """Passed names, failed "name: result", skipped "name: reason", from Meson's own log."""
    passed, failed, skipped = [], [], []
    for log in sorted((build / "meson-logs").glob("testlog*.json")):
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            test = json.loads(line)
            skipped += [f"{test['name']}: {reason}" for reason in skip_reasons(test)]
            if test["result"] in PASSED:
                passed.append(test["name"])
            elif test["result"] != "SKIP":
                failed.append(f"{test['name']}: {test['result']}")
    return passed, failed, skipped


def run_stage(name, directory, environment, setup, test):
    build = ROOT / directory
    if not (build / "build.ninja").exists():
        if run(["meson", "setup", *setup, directory], environment) != 0:
            return [], ["meson setup failed"], []
    for log in (build / "meson-logs").glob("testlog*.json"):
        log.unlink()
    # Release and clang build everything; elsewhere "meson test" builds what its tests need.
    if name in ("release", "fuzz") and run(["ninja", "-C", directory], environment) != 0:
        return [], ["the build failed"], []
    status = run(["meson", "test", "-C", directory, "--print-errorlogs", *test], environment)
    passed, failed, skipped = read_results(build)
    if not passed and not failed:
        failed.append("no test ran" if status == 0 else "the build failed")
    elif status != 0 and not failed:
        failed.append(f"meson test ended with status {status}")
    return passed, failed, skipped


def setarch_works():
    try:
        return subprocess.run(["setarch", "-R", "true"], check=False,
                              stderr=subprocess.DEVNULL).returncode == 0
    except FileNotFoundError:
        return False


def main():
    wanted = sys.argv[1:]
    unknown = set(wanted) - {stage[0] for stage in STAGES}
    if unknown:
        names = ", ".join(stage[0] for stage in STAGES)
        print(f"check: unknown stage '{min(unknown)}'; there are: {names}", file=sys.stderr)
        return 2
    rows, all_failed, all_skipped = [], [], []
    for name, directory, environment, setup, test in STAGES:
        if wanted and name not in wanted:
            continue
        if name == "tsan" and setarch_works():
            test = test + NO_ASLR
        print(f"\n=== {name}", flush=True)
        start = time.monotonic()
        passed, failed, skipped = run_stage(name, directory, environment, setup, test)
        rows.append((name, len(passed), len(failed), time.monotonic() - start))
        all_failed += [f"{name}: {line}" for line in failed]
        all_skipped += [f"{name}: {line}" for line in skipped]
    print()
    for line in all_skipped:
        print("skipped", line)
    for line in all_failed:
        print("FAILED", line)
    for name, passed, failed, seconds in rows:
        print(f"{name:8} {passed:5} passed {failed:5} failed  {seconds:6.0f} s")
    print(f"{sum(row[1] for row in rows)} passed, {len(all_failed)} failed")
    return 1 if all_failed else 0


if __name__ == "__main__":
    sys.exit(main())
