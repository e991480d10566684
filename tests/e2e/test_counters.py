# SPDX-License-Identifier: Apache-2.0
"""symph counters as a person or a script meets it: watch, record, replay, and what goes wrong."""
import fcntl
import json
import math
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time
import xml.etree.ElementTree

import cli

PROMETHEUS = re.compile(r'(# (HELP|TYPE) symph_\w+ .+'
                        r'|symph_\w+(\{\w+="([^"\\\n]|\\[\\"n])*"(,\w+="([^"\\\n]|\\[\\"n])*")*\})? '
                        r'(-?[0-9.e+-]+|NaN|[+-]Inf))')


def catches(pid, number):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        mask = next(line.split()[1] for line in file if line.startswith("SigCgt"))
    return int(mask, 16) >> (number - 1) & 1


def recording(cpus, reads):
    """Processors that are busy as sines say."""
    lines = ["symph-counters-1"]
    for cpu in range(cpus):
        lines.append(f"counter proc.cpu{cpu}.busy proc busy share - cpu {cpu} 0.05 -")
    for i in range(1, reads + 1):
        values = [f"{cpu}={0.5 + 0.4 * math.sin(i / 9 + cpu / 5):.6f}" for cpu in range(cpus)]
        lines.append(f"read {i * 100000000} {(i - 1) * 100000000} " + " ".join(values))
    return "\n".join(lines) + "\n"


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, case, args, columns=100, rows=30, **env):
        self.case = case
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(case.folder)
            for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
                signal.signal(number, signal.SIG_DFL)  # ignored where tests run in the background
            os.execve(cli.SYMPH, [cli.SYMPH, *args],
                      {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", **env})
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self.fd)
        self.out = b""

    def resize(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, until, limit_s=60):
        """Output until it contains this, or (None) to the end."""
        end = time.monotonic() + limit_s
        start = len(self.out)
        while until is None or until not in self.out[start:]:
            self.case.assertLess(time.monotonic(), end, self.out[-2000:])
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    data = os.read(self.fd, 65536)
                except OSError:
                    data = b""
                if not data:
                    break
                self.out += data
        return self.out[start:]

    def end(self):
        self.read(None)
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        return code


class Counters(cli.Case):
    def watch_json(self, *args):
        return [json.loads(line) for line in
                self.ok("counters", "watch", "--json", *args).splitlines()]

    def record(self, name="a.counters"):
        self.ok("counters", "record", "-o", name, "--interval", "20ms", "--duration", "200ms")
        return name

    # --- which sub-command -----------------------------------------------------------------------
    def test_help(self):
        text = self.ok("counters", "--help")
        self.assertTrue(text.startswith("Examples:"))
        self.assertEqual(text, self.ok("help", "counters"))
        for word in re.findall(r"^  (\w+) ", text.split("Commands:\n")[1], re.M):
            if word != "symph":
                self.assertTrue(self.ok("counters", word, "--help").startswith("Examples:"), word)

    def test_wrong_sub_commands(self):
        self.assertIn("did you mean 'symph counters watch'?", self.fails(2, "counters", "wacht"))
        self.assertIn("symph counters --help", self.fails(2, "counters", "xyzzyx"))

    def test_wrong_options(self):
        for text, *args in [
                ("did you mean --interval", "watch", "--intervall", "1s"),
                ("takes a time", "watch", "--interval", "soon"),
                ("must be 1 ms to", "watch", "--interval", "1us"),
                ("needs a value", "watch", "--plot"),
                ("exclude each other", "watch", "--json", "--prometheus"),
                ("unexpected argument", "watch", "dram0"),
                ("-o FILE", "record"),
                ("cannot both go to stdout", "record", "-o", "-", "--json"),
                ("a recording is missing", "replay"),
                ("exclude each other", "replay", "a", "--fast", "--speed", "2"),
                ("must be", "replay", "a", "--speed", "0")]:
            self.assertIn(text, self.fails(2, "counters", *args), args)

    def test_wrong_inputs(self):
        for text, *args in [
                ("nonsense", "watch", "--once", "--arch", "nonsense"),
                ("nonsense", "watch", "--once", "--machine", "nonsense"),
                ("nothing can be read of it", "watch", "--once", "--group", "/no/such/group"),
                ("no such process", "watch", "--once", "--process", "99999999")]:
            self.assertIn(text, self.fails(3, "counters", *args), args)
        for command in [["watch", "--once"], ["sources"], ["record", "-o", "x"]]:
            self.assertIn("nonsense", self.fails(2, "counters", *command, "--only", "nonsense"))

    def readings(self, *args):
        found = self.ok_json("counters", "watch", "--once", *args)
        self.assertEqual(len(found["readings"]), found["counters"])
        return {item["name"]: item["value"] for item in found["readings"]}

    def test_group(self):
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            group = file.read().strip().splitlines()[-1].split(":", 2)[2]
        done = self.run_symph("counters", "watch", "--once", "--interval", "50ms", "--group", group)
        if done.returncode == 3 and "nothing can be read of it" in done.stderr:
            self.skipTest("no control groups here: " + done.stderr)
        readings = self.readings("--interval", "50ms", "--group", group)
        self.assertTrue(any(name.startswith("cgroup.") for name in readings), readings)
        self.assertFalse(any("process." in name for name in readings), readings)

    def test_a_number_is_no_group(self):
        """It was taken for the group that the process is in, with all others in it."""
        for number in [str(os.getpid()), f"pid:{os.getpid()}"]:
            for command in [["watch", "--once"], ["record", "-o", "a"], ["sources"]]:
                self.assertIn(f"--process {os.getpid()} watches that process",
                              self.fails(2, "counters", *command, "--group", number))
        self.fails(2, "counters", "watch", "--process", "x")
        self.fails(2, "counters", "watch", "--process", "1", "--group", "/")

    def test_process(self):
        """One that sleeps uses nothing, however busy the machine is; one that works does."""
        busy = subprocess.Popen(["sh", "-c", "while :; do :; done & echo $!; wait"],
                                stdout=subprocess.PIPE, text=True)
        self.addCleanup(busy.stdout.close)
        self.addCleanup(busy.wait)
        self.addCleanup(busy.kill)
        child = int(busy.stdout.readline())
        self.addCleanup(os.kill, child, signal.SIGKILL)
        with subprocess.Popen(["sleep", "1000"]) as idle:
            self.addCleanup(idle.kill)
            readings = self.readings("--interval", "500ms", "--process", str(idle.pid))
            idle.kill()
        self.assertEqual(readings["process.cpu_used"], 0)
        self.assertEqual(readings["process.processes"], 1)
        self.assertNotIn("cgroup.cpu_used", readings)
        self.assertEqual(readings.get("perf.process.task-clock", 0), 0)
        readings = self.readings("--interval", "2s", "--process", str(busy.pid))
        self.assertGreater(readings["process.cpu_used"], 0)
        self.assertEqual(readings["process.processes"], 2)
        self.assertGreater(readings["process.memory_bytes"], 0)

    def test_a_process_that_ends(self):
        with subprocess.Popen(["sleep", "0.3"]) as process:
            done = self.run_symph("counters", "watch", "--interval", "50ms", "--process",
                                  str(process.pid))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, f"symph: process {process.pid} has ended\n")

    def test_every_counter_is_shown(self):
        found = self.ok_json("counters", "sources")["counters"]
        watched = self.readings("--interval", "300ms")
        self.assertEqual({item["name"] for item in found}, set(watched))
        kinds = {(item["source"], item["event"]) for item in found}
        lines = self.ok("counters", "watch", "--once", "--interval", "300ms")
        text = self.ok("counters", "watch", "--prometheus", "--interval", "300ms")
        for source, event in kinds:
            self.assertRegex(lines, rf"(?m)^ +\S+  {source}\.(\S+\.)?{re.escape(event)} ")
        for name, value in watched.items():
            if value is not None:
                self.assertIn(f'symph_counter{{counter="{name}",', text)

    # --- watch -----------------------------------------------------------------------------------
    def test_once_as_lines(self):
        lines = self.ok("counters", "watch", "--once", "--interval", "100ms").splitlines()
        self.assertEqual(lines[0].split(),
                         ["time_s", "resource", "used%", "low%", "high%", "rate", "age_s"])
        self.assertGreater(len(lines), 1)
        for line in lines[1:]:
            words = line.split()
            self.assertEqual(len(words), 7, line)
            if words[3] != "-":
                used, low, high = map(float, words[2:5])
                self.assertTrue(0 <= low <= used <= high <= 100, line)

    def test_all_names_what_is_not_measured(self):
        some = self.ok("counters", "watch", "--once", "--interval", "50ms", "--machine",
                       "cpu:1 gpu:2")
        every = self.ok("counters", "watch", "--once", "--interval", "50ms", "--machine",
                        "cpu:1 gpu:2", "--all")
        self.assertNotIn("gpu1.down", some)
        self.assertRegex(every, r"gpu1\.down +- +- +- +- +-\n")

    def test_json_stream(self):
        objects = self.watch_json("--interval", "50ms", "--duration", "200ms")
        self.assertGreaterEqual(len(objects), 2)
        self.assertTrue({"machine", "arch", "sources", "counters", "slots", "filters", "gaps"} <=
                        set(objects[0]))
        self.assertNotIn("gaps", objects[1])
        self.assertEqual(sum(source["counters"] for source in objects[0]["sources"]),
                         objects[0]["counters"])
        times = [item["time_s"] for item in objects]
        self.assertEqual(times, sorted(times))
        for item in objects:
            self.assertEqual(item["schema"], "symph-counters-watch-1")
            self.assertAlmostEqual(item["unix_s"], time.time(), delta=600)
            for resource in item["resources"]:
                self.assertEqual("mean" in resource, resource["measured"])
                if resource["measured"]:
                    self.assertTrue(0 <= resource["low"] <= resource["mean"] <= resource["high"]
                                    <= 1, resource)

    def test_only(self):
        done = self.run_symph("counters", "watch", "--once", "--json", "--interval", "50ms",
                              "--only", "proc")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([source["name"] for source in json.loads(done.stdout)["sources"]],
                         ["proc"])

    def test_prometheus(self):
        text = self.ok("counters", "watch", "--prometheus", "--interval", "100ms")
        for line in text.splitlines():
            self.assertRegex(line, rf"^{PROMETHEUS.pattern}$")
        self.assertIn('symph_utilisation_ratio{resource="cpu0"} ', text)
        names = re.findall(r"^# TYPE (\w+)", text, re.M)
        self.assertEqual(len(names), len(set(names)))
        if shutil.which("promtool"):
            done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                                  capture_output=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_no_rate_exceeds_its_limit(self):
        text = self.ok("counters", "replay", os.path.join(cli.ROOT, "tests", "e2e", "busy.counters"),
                       "--prometheus")
        rates = dict(re.findall(r'^symph_rate\{resource="([^"]*)",.*\} (.*)$', text, re.M))
        limits = re.findall(r'^symph_capacity\{resource="([^"]*)",.*kind="limit"\} (.*)$', text, re.M)
        self.assertGreater(float(rates["cpu0"]), 0.9)
        self.assertGreaterEqual(len(limits), 2)
        for name, limit in limits:
            self.assertLessEqual(float(rates[name]), float(limit), name)

    def test_output_is_replaced(self):
        self.write("symph.prom", "old\n")
        self.assertEqual(self.ok("counters", "watch", "--prometheus", "--interval", "50ms",
                                 "--duration", "150ms", "--out", "symph.prom"), "")
        self.assertTrue(self.read("symph.prom").startswith(b"# HELP symph_"))
        self.assertEqual(os.listdir(self.folder), ["symph.prom"])
        self.assertIn("no/such", self.fails(1, "counters", "watch", "--json", "--interval", "50ms",
                                            "--out", "no/such/file"))

    def test_plot(self):
        self.ok("counters", "watch", "--interval", "20ms", "--duration", "200ms", "--plot", "a.svg")
        root = xml.etree.ElementTree.fromstring(self.read("a.svg"))
        texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("cpu0", texts)
        self.assertFalse(any("nan" in str(element.attrib) for element in root.iter()))

    def test_ctrl_c_is_the_way_to_end_it(self):
        for number, code, *args in [(signal.SIGINT, 0), (signal.SIGTERM, 0),
                                    (signal.SIGINT, 130, "--duration", "1h")]:
            process = subprocess.Popen(
                [cli.SYMPH, "counters", "watch", "--json", "--interval", "20ms", "--plot", "a.svg",
                 *args], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertTrue(process.stdout.readline())
            process.send_signal(number)
            out, err = process.communicate(timeout=120)
            self.assertEqual((process.returncode, err), (code, ""), args)
            for line in out.splitlines():
                json.loads(line)
            xml.etree.ElementTree.fromstring(self.read("a.svg"))
            os.unlink(os.path.join(self.folder, "a.svg"))

    def test_interrupted_before_the_only_output(self):
        process = subprocess.Popen([cli.SYMPH, "counters", "watch", "--once", "--interval", "1h"],
                                   cwd=self.folder, stdout=subprocess.PIPE, text=True)
        while process.poll() is None and not catches(process.pid, signal.SIGINT):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)
        self.assertEqual((process.returncode, out), (130, ""))

    def test_a_reader_that_has_enough(self):
        process = subprocess.Popen([cli.SYMPH, "counters", "watch", "--interval", "20ms"],
                                   cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertTrue(process.stdout.readline())
        process.stdout.close()
        err = process.stderr.read()
        self.assertEqual((process.wait(timeout=120), err), (0, b""))
        process.stderr.close()

    def test_a_full_disk(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([cli.SYMPH, "counters", "watch", "--interval", "20ms"],
                                  cwd=self.folder, stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard output: cannot write: No space left", done.stderr)

    def test_as_nobody(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become nobody")
        reach = subprocess.run([cli.SYMPH, "--version"], user=65534, capture_output=True,
                               cwd="/") if os.access(cli.SYMPH, os.X_OK) else None
        if reach is None or reach.returncode != 0:
            self.skipTest("nobody cannot reach the program here")
        done = subprocess.run([cli.SYMPH, "counters", "watch", "--once", "--json", "--interval",
                               "50ms"], user=65534, capture_output=True, text=True, cwd="/")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(any(item["measured"] for item in json.loads(done.stdout)["resources"]))

    # --- on a terminal ---------------------------------------------------------------------------
    def test_screen(self):
        terminal = Terminal(self, ["counters", "watch", "--interval", "100ms"], columns=90)
        frame = terminal.read(b"cpu0")
        self.assertIn(b"\033[?1049h", frame)
        self.assertIn(b"\033[?25l", frame)
        os.write(terminal.fd, b"q")
        rest = terminal.read(None)
        self.assertIn(b"\033[?25h\033[?1049l", rest)
        # What was shown last stays behind on the first page.
        self.assertIn(b"cpu0", rest.split(b"\033[?1049l")[1])
        self.assertEqual(terminal.end(), 0)

    def test_the_terminal_is_given_back(self):
        for number, args in [(signal.SIGINT, []), (signal.SIGTERM, []), (signal.SIGHUP, []),
                             (signal.SIGQUIT, [])]:
            terminal = Terminal(self, ["counters", "watch", *args])
            terminal.read(b"cpu0")
            self.assertFalse(termios.tcgetattr(terminal.fd)[3] & termios.ECHO)
            os.kill(terminal.pid, number)
            rest = terminal.read(b"\033[?1049l")
            self.assertIn(b"\033[?7h\033[?25h", rest)
            self.assertEqual(terminal.end(), 0, number)

    def test_ctrl_z(self):
        terminal = Terminal(self, ["counters", "watch", "--interval", "50ms"])
        terminal.read(b"cpu0")
        os.kill(terminal.pid, signal.SIGTSTP)
        terminal.read(b"\033[?1049l")
        while os.waitpid(terminal.pid, os.WUNTRACED | os.WNOHANG)[0] == 0:
            time.sleep(0.01)
        self.assertTrue(termios.tcgetattr(terminal.fd)[3] & termios.ECHO)
        os.kill(terminal.pid, signal.SIGCONT)
        terminal.read(b"\033[?1049h")
        terminal.read(b"cpu0")
        os.write(terminal.fd, b"q")
        self.assertEqual(terminal.end(), 0)

    def test_resize(self):
        terminal = Terminal(self, ["counters", "watch", "--interval", "1h"], columns=100)
        terminal.read(b"\033[?2026l")
        for columns, rows in [(40, 12), (10, 3), (200, 60)]:
            terminal.resize(columns, rows)
            frame = terminal.read(b"\033[?2026l").split(b"\033[H")[-1].decode()
            lines = re.sub(r"\033\[[?0-9;]*[A-Za-z]", "", frame).split("\r\n")
            self.assertLessEqual(len(lines), rows)
            self.assertLessEqual(max(map(len, lines)), columns, lines)
        os.write(terminal.fd, b"q")
        self.assertEqual(terminal.end(), 0)

    def test_no_color_and_no_utf8(self):
        terminal = Terminal(self, ["counters", "watch", "--once", "--interval", "50ms"],
                            NO_COLOR="1", LC_ALL="C")
        out = terminal.read(None)
        self.assertNotIn(b"\033", out)
        out.decode("ascii")
        self.assertIn(b"cpu0", out)
        self.assertEqual(terminal.end(), 0)

    # --- record and replay -----------------------------------------------------------------------
    def test_record_and_replay(self):
        name = self.record()
        self.assertTrue(self.read(name).startswith(b"symph-counters-1\n"))
        self.assertTrue(self.read(name).endswith(b"\n"))
        first = self.ok("counters", "replay", name, "--json", "--interval", "50ms", "--plot",
                        "a.svg")
        second = self.ok("counters", "replay", name, "--json", "--interval", "50ms", "--plot",
                         "b.svg")
        self.assertEqual(first, second)
        self.assertEqual(self.read("a.svg"), self.read("b.svg"))
        objects = [json.loads(line) for line in first.splitlines()]
        self.assertGreaterEqual(len(objects), 2)
        self.assertIsNone(objects[0]["unix_s"])
        self.assertTrue(any(item["measured"] for item in objects[-1]["resources"]))
        self.assertEqual(self.ok("counters", "replay", name, "--json", "--interval", "50ms",
                                 "--speed", "10"), first)
        self.assertRegex(self.ok("counters", "replay", name, "--prometheus"), "^# HELP symph_")

    def test_a_recording_carries_its_machine(self):
        self.ok("counters", "record", "-o", "a", "--duration", "50ms", "--interval", "10ms",
                "--machine", "cpu:1 gpu:3")
        text = self.ok("counters", "replay", "a", "--once", "--all")
        self.assertIn("gpu2.down", text)
        text = self.ok("counters", "replay", "a", "--once", "--all", "--machine", "cpu:1 gpu:1")
        self.assertNotIn("gpu2.down", text)

    def test_record_says_what_it_did(self):
        done = self.run_symph("counters", "record", "-o", "a", "--duration", "50ms", "--interval",
                              "10ms", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        said = json.loads(done.stdout)
        self.assertEqual(said["schema"], "symph-counters-record-1")
        self.assertEqual(said["bytes"], len(self.read("a")))
        self.assertEqual(said["readings"], len(re.findall(rb"^read ", self.read("a"), re.M)))
        self.assertIn(f"a: {said['readings']} readings", done.stderr)
        self.assertEqual(self.run_symph("counters", "record", "-o", "a", "--duration", "20ms",
                                        "--interval", "10ms", "--quiet").stderr, "")

    def test_record_to_stdout(self):
        text = self.ok("counters", "record", "--out", "-", "--duration", "50ms", "--interval",
                       "10ms")
        self.write("a", text)
        self.ok("counters", "replay", "a")

    def test_ctrl_c_leaves_a_whole_recording(self):
        for code, args in [(0, []), (130, ["--duration", "1h"])]:
            process = subprocess.Popen(
                [cli.SYMPH, "counters", "record", "-o", "a", "--interval", "5ms", *args],
                cwd=self.folder, stderr=subprocess.PIPE, text=True)
            path = os.path.join(self.folder, "a")
            while not os.path.exists(path) or b"\nread " not in self.read("a"):
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=120)
            self.assertEqual(process.returncode, code, err)
            self.assertIn("readings of", err)
            self.ok("counters", "replay", "a")
            os.unlink(path)

    def test_record_where_it_cannot(self):
        self.assertIn("/dev/full: cannot write: No space left",
                      self.fails(1, "counters", "record", "-o", "/dev/full", "--duration", "50ms",
                                 "--interval", "10ms"))
        self.assertIn("no/such/file: cannot write",
                      self.fails(1, "counters", "record", "-o", "no/such/file"))
        old = self.write("old", "keep me")
        self.fails(2, "counters", "record", "-o", old, "--only", "nonsense")
        self.assertEqual(self.read("old"), b"keep me")

    def test_a_limit_on_the_file(self):
        """A disk that becomes full: what was half written is cut off, and the rest replays."""
        done = subprocess.run(
            ["bash", "-c", 'ulimit -f 24; exec "$0" counters record -o a '
             '--interval 1ms --duration 1h', cli.SYMPH],
            cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("recording stopped: File too large", done.stderr)
        self.assertTrue(self.read("a").endswith(b"\n"))
        if b"\nread " in self.read("a"):
            self.ok("counters", "replay", "a")

    def test_bad_recordings(self):
        good = recording(2, 3)
        for name, text, told in [("missing", None, "missing"),
                                 ("empty", "", "empty"),
                                 ("other", "hello\n", "other:1"),
                                 ("none", recording(2, 0), "no readings"),
                                 ("bad", good + "read 4e8 3e8 9=1\n", "bad:7"),
                                 ("machine", good.replace("\ncounter", "\n#machine {]\ncounter", 1),
                                  "--machine")]:
            if text is not None:
                self.write(name, text)
            self.assertIn(told, self.fails(3, "counters", "replay", name), name)

    def test_the_belief_follows_the_readings(self):
        """A recording of two busy processors, and made-up ones that come and go."""
        waves = recording(2, 60)
        for name, limit in [(os.path.join(cli.ROOT, "tests", "e2e", "busy.counters"), 0.05),
                            (self.write("waves", waves), 0.1)]:
            with open(name, encoding="utf-8") as file:
                lines = file.read().splitlines()
            counters = [line.split()[1] for line in lines if line.startswith("counter ")]
            reads = [line.split() for line in lines if line.startswith("read ")]
            busy = {f"cpu{i}": str(counters.index(f"proc.cpu{i}.busy")) for i in range(2)}
            out = self.ok("counters", "replay", name, "--json", "--interval", "1ms", "--machine",
                          "cpu:2")
            objects = [json.loads(line) for line in out.splitlines()]
            self.assertEqual(len(objects), len(reads) - 1)  # the first only starts the clock
            for item, words in zip(objects[1:], reads[2:]):
                samples = dict(word.split("=", 1) for word in words[3:])
                for resource in item["resources"]:
                    if resource["name"] in busy:
                        truth = float(samples[busy[resource["name"]]].split(",")[0])
                        self.assertAlmostEqual(resource["mean"], truth, delta=limit,
                                               msg=f"{name} at {item['time_s']}")

    def test_many_processors(self):
        self.write("big", recording(200, 30))
        machine = ["--machine", "2x(cpu:100)"]
        out = self.ok("counters", "replay", "big", "--once", "--json", *machine)
        measured = [item for item in json.loads(out)["resources"] if item["measured"]]
        self.assertGreaterEqual(len(measured), 200)
        terminal = Terminal(self, ["counters", "replay", "big", *machine, "--speed", "2"],
                            columns=100, rows=24)
        self.assertIn(b"200 cpus", terminal.read(b"200 cpus"))
        self.assertEqual(terminal.end(), 0)


cli.main()
