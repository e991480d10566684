#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bootstrap with every program it calls replaced by one that only writes down how it was called;
and the tally of check.py on invented logs."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import check  # noqa: E402 (the module under test)

LOGGER = '#!/bin/sh\necho "$(basename "$0") $*" >> "$LOG"\n'
FAKES = {
    "apt-get": LOGGER, "ninja": LOGGER, "python3": LOGGER,
    "meson": LOGGER + 'mkdir -p build && touch build/build.ninja\n',
    "nproc": '#!/bin/sh\necho "${CORES:-2}"\n',
    "nvidia-smi": '#!/bin/sh\n[ -z "$GPU" ] || echo "GPU 0: a GPU"\n',
    "nvcc": LOGGER,
    "sudo": LOGGER + 'exec "$@"\n',
    "id": '#!/bin/sh\necho "$FAKE_UID"\n',
    # The last argument is the package; only those in $HAVE are installed.
    "dpkg-query": '#!/bin/sh\nfor last; do :; done\n'
                  'case " $HAVE " in *" $last "*) echo installed ;; *) exit 1 ;; esac\n',
}


class Bootstrap(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="symph boot strap ")
        self.root = Path(self.folder.name) / "a clone"
        self.bin = Path(self.folder.name) / "bin"
        (self.root / "tools").mkdir(parents=True)
        self.bin.mkdir()
        shutil.copy(ROOT / "bootstrap", self.root)
        (self.root / "packages.txt").write_text("# a comment\n\nalpha   # why\nbeta\n")
        self.script(self.root / "tools" / "demo.sh", LOGGER)
        # As the real one: the argument behind --prefix gets a .pc file.
        self.script(self.root / "tools" / "starpu-build.sh", LOGGER +
                    '[ -z "$BROKEN" ] || exit 1\nmkdir -p "$2/lib/pkgconfig"\n'
                    'touch "$2/lib/pkgconfig/starpu-1.4.pc"\n')
        for name, text in FAKES.items():
            self.script(self.bin / name, text)

    def tearDown(self):
        self.folder.cleanup()

    @staticmethod
    def script(path, text):
        path.write_text(text)
        path.chmod(0o755)

    def run_it(self, *arguments, have="", uid="0", **more):
        log = Path(self.folder.name) / "log"
        log.unlink(missing_ok=True)
        environment = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}", "LOG": str(log),
                       "HAVE": have, "FAKE_UID": uid, "PKG_CONFIG_PATH": "",
                       "XDG_CACHE_HOME": f"{self.folder.name}/cache", **more}
        result = subprocess.run([self.root / "bootstrap", *arguments], cwd="/", env=environment,
                                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                check=False)
        return result, log.read_text().splitlines() if log.exists() else []

    def test_installs_only_what_is_missing(self):
        result, calls = self.run_it(have="alpha")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(calls, ["apt-get update -q",
                                 "apt-get install -q -y --no-install-recommends beta",
                                 "meson setup build", "ninja -C build"])

    def test_is_idempotent(self):
        self.run_it(have="alpha beta")
        _, calls = self.run_it(have="alpha beta")
        self.assertEqual(calls, ["ninja -C build"])

    def test_sudo_when_not_root(self):
        _, calls = self.run_it(have="alpha", uid="1000")
        self.assertEqual(calls[0], "sudo env DEBIAN_FRONTEND=noninteractive apt-get update -q")

    def test_dry_run_does_nothing(self):
        result, calls = self.run_it("demo", "--dry-run")
        self.assertEqual((result.returncode, calls), (0, []))
        self.assertIn("install -q -y --no-install-recommends alpha beta", result.stdout)
        self.assertIn("would run: tools/demo.sh", result.stdout)
        self.assertFalse((self.root / "demo").exists())

    def test_demo_needs_little(self):
        with open(self.root / "packages.txt", "a", encoding="ascii") as file:
            file.write("\n# run\ngamma\n\n# test\ndelta # a big one\n")
        result, calls = self.run_it("demo", have="alpha gamma")
        self.assertEqual(calls, ["apt-get update -q",
                                 "apt-get install -q -y --no-install-recommends beta",
                                 "meson setup -Dtests=false build", "ninja -C build demo",
                                 "demo.sh "])
        # The tests come with the first build that wants them, and once.
        have = "alpha beta gamma"
        self.assertEqual(self.run_it("demo", have=have)[1], ["ninja -C build demo", "demo.sh "])
        self.assertEqual(self.run_it(have=have)[1][-2:],
                         ["meson configure build -Dtests=true", "ninja -C build"])
        self.assertEqual(self.run_it(have=have + " delta")[1], ["ninja -C build"])
        self.assertEqual(self.run_it("demo", have=have)[1], ["ninja -C build demo", "demo.sh "])

    def test_demo_says_little(self):
        for name in ("apt-get", "meson", "ninja"):
            self.script(self.bin / name, FAKES[name] + "seq 1000\nseq 1000 >&2\n")
        result, _ = self.run_it("demo")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertLess(len((result.stdout + result.stderr).splitlines()), 8)
        self.assertIn("demo/bootstrap.log", result.stdout)
        log = (self.root / "demo" / "bootstrap.log").read_text()
        self.assertEqual(log.splitlines().count("1000"), 8)
        # Of what fails the end is shown.
        self.script(self.bin / "ninja", "#!/bin/sh\nseq 1000\necho 'error: no'\nexit 1\n")
        result, _ = self.run_it("demo")
        self.assertEqual(result.returncode, 1)
        self.assertIn("error: no\nbootstrap: the build failed\n", result.stderr)
        self.assertLess(len(result.stderr.splitlines()), 30)

    def test_check(self):
        self.assertEqual(self.run_it("check", "--yes", have="alpha beta")[1],
                         ["python3 tools/check.py"])

    def test_failed_install_is_one_line(self):
        self.script(self.bin / "apt-get", "#!/bin/sh\nexit 100\n")
        result, _ = self.run_it()
        self.assertEqual((result.returncode, result.stderr),
                         (1, "bootstrap: apt-get update failed\n"))

    def starpu_calls(self, *arguments, **more):
        result, calls = self.run_it(*arguments, have="alpha beta", **more)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout, [c for c in calls if not c.startswith(("meson", "ninja"))]

    def test_debian_starpu_for_a_small_machine(self):
        for more in ({}, {"CORES": "4"}):
            output, calls = self.starpu_calls(**more)
            self.assertEqual(calls, [])
            self.assertIn("StarPU: Debian's; ", output)

    def test_builds_starpu_once_for_a_large_machine(self):
        cache = f"{self.folder.name}/cache/symph/starpu-1.4-"
        output, calls = self.starpu_calls(CORES="16")
        self.assertEqual(calls, [f"starpu-build.sh --prefix {cache}cpu"])
        self.assertIn("here are 16", output)
        output, calls = self.starpu_calls(CORES="16")
        self.assertEqual(calls, [])
        self.assertIn("was built before", output)
        self.assertEqual(self.starpu_calls(CORES="100")[1],
                         [f"starpu-build.sh --prefix {cache}cpu100"])
        output, calls = self.starpu_calls(GPU="1")
        self.assertEqual(calls, [f"starpu-build.sh --prefix {cache}cuda "
                                 f"--cuda={self.folder.name}"])
        self.assertIn("and a CUDA GPU", output)

    def test_starpu_as_asked(self):
        self.assertEqual(self.starpu_calls("--starpu=debian", CORES="16")[1], [])
        self.assertEqual(len(self.starpu_calls("--starpu=build")[1]), 1)
        prefix = f"{self.folder.name}/cache/symph/starpu-1.4-cpu"
        self.script(self.bin / "ninja", '#!/bin/sh\necho "ninja $PKG_CONFIG_PATH" >> "$LOG"\n')
        _, calls = self.run_it(f"--starpu={prefix}", have="alpha beta")
        self.assertIn(f"ninja {prefix}/lib/pkgconfig", calls)
        result, calls = self.run_it("--starpu=/nowhere", have="alpha beta")
        self.assertEqual((result.returncode, calls), (1, []))
        self.assertIn("no StarPU 1.4 in /nowhere", result.stderr)

    def test_another_starpu_means_another_build(self):
        self.run_it(have="alpha beta")
        _, calls = self.run_it("--starpu=build", have="alpha beta")
        self.assertIn("meson setup build", calls)
        _, calls = self.run_it("--starpu=build", have="alpha beta")
        self.assertEqual(calls, ["ninja -C build"])
        self.assertIn("meson setup build", self.run_it(have="alpha beta")[1])

    def test_starpu_that_does_not_build(self):
        result, calls = self.run_it(have="alpha beta", CORES="16", BROKEN="1")
        self.assertEqual((result.returncode, calls[-1]), (0, "ninja -C build"))
        self.assertIn("going on with Debian's", result.stderr)
        result, _ = self.run_it("--starpu=build", have="alpha beta", BROKEN="1")
        self.assertEqual((result.returncode, result.stderr),
                         (1, "bootstrap: StarPU could not be built\n"))

    def test_dry_run_builds_no_starpu(self):
        result, calls = self.run_it("--dry-run", "--starpu=build", have="alpha beta")
        self.assertEqual((result.returncode, calls), (0, []))
        self.assertIn("would run: tools/starpu-build.sh --prefix", result.stdout)

    def test_usage(self):
        for arguments in (["chekc"], ["--quick"], ["demo", "check"], ["--starpu="], ["--starpu"]):
            result, calls = self.run_it(*arguments)
            self.assertEqual((result.returncode, calls), (2, []))
            self.assertIn("usage:", result.stderr)
        self.assertEqual(self.run_it("--help")[0].returncode, 0)


class Tally(unittest.TestCase):
    def test_results(self):
        tests = [
            {"name": "a", "result": "OK", "stdout": "1..1\nok 1 - one # SKIP no GPU\n"},
            {"name": "b", "result": "FAIL", "stdout": "skipped nothing\n"},
            {"name": "c", "result": "SKIP", "stdout": "SKIP: no solver\n"},
            {"name": "d", "result": "TIMEOUT"},
            {"name": "e", "result": "EXPECTEDFAIL"},
        ]
        with tempfile.TemporaryDirectory() as folder:
            logs = Path(folder) / "meson-logs"
            logs.mkdir()
            for index, test in enumerate(tests):
                (logs / f"testlog{index}.json").write_text(json.dumps(test) + "\n")
            passed, failed, skipped = check.read_results(Path(folder))
        self.assertEqual(passed, ["a", "e"])
        self.assertEqual(failed, ["b: FAIL", "d: TIMEOUT"])
        self.assertEqual(skipped, ["a: ok 1 - one # SKIP no GPU", "c: SKIP: no solver"])


if __name__ == "__main__":
    unittest.main()
