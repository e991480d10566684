# SPDX-License-Identifier: Apache-2.0
"""symph run where there is no home, an odd one, or one that somebody else controls. Given: symph, the
source tree, a plug-in."""
import os
import shutil
import signal
import stat
import subprocess
import sys
import time

import cli
from processes import descendants, gone

ENGINE = os.path.join(os.path.dirname(cli.SYMPH), "src", "engine", "starpu", "symph-engine")
PLUGIN = os.path.abspath(sys.argv[3])
STRANGER = "4242"  # a user that is not us
FOLDERS = ["HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "STARPU_HOME", "STARPU_PERF_MODEL_DIR",
           "POCL_CACHE_DIR", "SYMPH_MODELS", "SYMPH_ENGINE", "TMPDIR"]


class Surroundings(cli.Case):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.tmp = self.make("tmp", 0o1777)

    def make(self, name, mode=0o755):
        path = os.path.join(self.folder, name)
        os.makedirs(path)
        os.chmod(path, mode)
        return path

    def command(self, spec="tasks=8", policy="lb"):
        return [cli.SYMPH, "run", f"faulty:chain:{spec}", "--kernels", PLUGIN, "--opencl", "0",
                "--cuda", "0", "--policy", policy]

    def environment(self, **variables):
        """With these folders and no others; all that is temporary goes to self.tmp."""
        env = {key: value for key, value in os.environ.items() if key not in FOLDERS}
        return {**env, "TMPDIR": self.tmp, **variables}

    def run_in(self, prefix=(), **variables):
        """A run that must go well, from a folder that nobody but root may write."""
        work = os.path.join(self.folder, "work")
        if not os.path.exists(work):
            self.make("work")
        done = subprocess.run([*prefix, *self.command()], cwd=work, capture_output=True, text=True,
                              env=self.environment(**variables), stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("makespan", done.stdout)
        self.assertEqual(os.listdir(work), [], "something was left in the current folder")
        self.assertEqual(os.listdir(self.tmp), [], "something was left in the temporary folder")
        return done.stderr

    def files(self, folder):
        return sorted(os.path.relpath(os.path.join(where, name), folder)
                      for where, _, names in os.walk(folder) for name in names)

    def as_stranger(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        prefix = ["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups"]
        for program in [cli.SYMPH, ENGINE, PLUGIN]:
            if subprocess.run([*prefix, "test", "-r", program], check=False).returncode != 0:
                self.skipTest("another user cannot read the build folder")
        return prefix

    def test_no_home(self):
        nothing = "symph: nothing is kept between runs: "
        for variables, why in [({}, "HOME is not set"), ({"HOME": ""}, "HOME is not set"),
                               ({"HOME": "relative"}, "HOME is not set"),
                               ({"HOME": "/nonexistent"}, "the home folder does not exist"),
                               ({"XDG_CACHE_HOME": "", "XDG_STATE_HOME": ""}, "HOME is not set")]:
            message = self.run_in(**variables)
            self.assertTrue(message.startswith(nothing), message)
            self.assertIn(why, message)
            self.assertEqual(message.count("\n"), 1, message)
        self.assertFalse(os.path.exists("/nonexistent"))

    def test_variables_that_do_not_count(self):
        for value in ["", "relative/x", "./here"]:
            home = self.make(f"home{len(value)}", 0o700)
            self.assertEqual(self.run_in(HOME=home, XDG_CACHE_HOME=value, XDG_STATE_HOME=value), "")
            self.assertEqual(sorted(os.listdir(home)), [".cache", ".local"])
            found = self.files(home)
            self.assertIn(".local/state/symph/runs/last.json", found)
            self.assertTrue([name for name in found if name.endswith(".costs.csv")], found)
            self.assertTrue([name for name in found if "/sampling/" in name], found)
            for name in [".cache", ".cache/symph", ".cache/symph/models", ".local/state"]:
                mode = stat.S_IMODE(os.stat(os.path.join(home, name)).st_mode)
                self.assertEqual(mode, 0o700, name)

    def test_read_only_home(self):
        prefix, home = self.as_stranger(), self.make("home", 0o555)
        os.chown(home, int(STRANGER), int(STRANGER))
        message = self.run_in(prefix, HOME=home)
        self.assertIn("nothing is kept between runs", message)
        self.assertEqual(message.count("\n"), 1, message)
        self.assertEqual(os.listdir(home), [])

    def test_home_of_somebody_else(self):
        """Root with a user's HOME (sudo) leaves nothing there, and follows nothing."""
        if os.geteuid() != 0:
            self.skipTest("only root can give files to another user")
        home, victim = self.make("home", 0o755), self.write("victim", "precious")
        os.makedirs(os.path.join(home, ".cache/symph"))
        for name in ["models", "starpu-1.3-opencl0", "pocl"]:
            os.symlink(self.folder, os.path.join(home, ".cache/symph", name))
        subprocess.run(["chown", "-hR", STRANGER, home], check=True)
        before = self.files(self.folder)
        self.assertIn("belongs to another user", self.run_in(HOME=home))
        self.assertEqual(self.files(self.folder), before)
        with open(victim, encoding="ascii") as file:
            self.assertEqual(file.read(), "precious")

    def test_links_in_a_shared_folder(self):
        """Without a home, nobody can foresee a name that is used below /tmp."""
        prefix = self.as_stranger()
        if cli.SYMPH.startswith("/tmp/"):
            self.skipTest("the build folder lies below /tmp")
        script = ('mount -t tmpfs -o mode=1777 tmpfs /tmp && umask 077 && echo precious >/tmp/victim && '
                  f'{" ".join(prefix)} sh -c "{self.traps("/tmp/victim")}" && '
                  'find /tmp | sort >before && "$@"; code=$?; find /tmp | sort >after; '
                  'cp /tmp/victim .; exit $code')
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", *self.command()],
                              cwd=self.folder, env=self.environment(TMPDIR=""), text=True,
                              capture_output=True, stdin=subprocess.DEVNULL)
        if "mount:" in done.stderr or "unshare:" in done.stderr:
            self.skipTest("no file system can be mounted here")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("makespan", done.stdout)
        self.assertEqual(self.read("before"), self.read("after"))
        self.assertEqual(self.read("victim"), b"precious\n")

    @staticmethod
    def traps(victim):
        """What another user would put there: links to a file of ours, by every name once used."""
        commands = []
        for opencl in range(3):
            for version in ["1.3", "1.4"]:
                bus = f"/tmp/.cache/symph/starpu-{version}-opencl{opencl}/.starpu/sampling/bus"
                commands.append(f"mkdir -p {bus}")
                commands += [f"ln -s {victim} {bus}/$(hostname).{end}"
                             for end in ["config", "affinity", "bandwidth", "latency"]]
        commands += ["mkdir -p /tmp/pocl /tmp/.starpu/sampling /tmp/.cache/symph/models",
                     f"ln -s {victim} /tmp/.starpu/sampling/bus"]
        return " && ".join(commands)

    def test_the_scratch_folder_goes(self):
        """Also if symph, or the engine, is killed."""
        for who in ["symph", "engine"]:
            process = subprocess.Popen(
                self.command("kernel=hang,at=3"), cwd=self.folder, env=self.environment(),
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            self.addCleanup(process.kill)
            while len(descendants(process.pid)) < 2:  # the keeper, and the engine
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            engine = descendants(process.pid)[1]
            self.assertEqual(len(os.listdir(self.tmp)), 1)
            os.kill(process.pid if who == "symph" else engine, signal.SIGKILL)
            process.wait(timeout=60)
            self.assertTrue(gone(engine))
            until = time.monotonic() + 60
            while os.listdir(self.tmp) and time.monotonic() < until:
                time.sleep(0.01)
            self.assertEqual(os.listdir(self.tmp), [])


if not os.path.exists(ENGINE) or not os.path.exists(PLUGIN):
    print("skipped: StarPU or OpenCL was not found when this was built, so there is no engine to test")
    sys.exit(77)
if not shutil.which("setpriv"):
    print("skipped: there is no setpriv here")
    sys.exit(77)
cli.main()
