# SPDX-License-Identifier: Apache-2.0
"""What the StarPU scripts share: one program, in a clean environment, with a time limit.

In: a command and a scheduler. Out: how it ended and what it printed. A run sees nothing of the
caller's StarPU settings and leaves nothing in the caller's home.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass

# StarPU goes on with its default scheduler after these; to us the run failed.
NOT_OURS = re.compile(r"(scheduling (policy|dynamic library) .* (was not found|can not be loaded)"
                      r"|does not define the function 'starpu_get_sched_lib|cannot be preloaded)")


running = set()  # process groups, to be ended with us
stopped = False


def stop(number, _frame):
    """Ends what runs; what is still to be run then ends by itself, and temporary files go."""
    global stopped
    stopped = True
    for group in list(running):
        kill(group)
    sys.exit(128 + number)


def stop_on_signals():
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)


def kill(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


@dataclass
class Outcome:
    status: int  # exit code; 128 + signal; 124: out of time
    output: str
    seconds: float
    cpu_seconds: float = 0.0  # of the program and of all that it waited for

    @property
    def verdict(self):
        if NOT_OURS.search(self.output):
            return "fail"
        return {0: "pass", 77: "skip", 124: "timeout"}.get(self.status, "fail")

    @property
    def reason(self):
        """The line that tells most about a failure."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        telling = [line for line in lines
                   if NOT_OURS.search(line) or re.search(r"assert|error|fail|symph", line, re.I)]
        how = f"signal {self.status - 128}" if self.status > 128 else f"exit {self.status}"
        return f"{how}: {(telling or lines or ['no output'])[-1][:160]}"


def clean_environment(home):
    kept = {key: value for key, value in os.environ.items()
            if not key.startswith(("STARPU_", "SYMPH_", "XDG_", "OMPI_", "POCL_"))
            and key not in ("LD_PRELOAD", "LD_LIBRARY_PATH")}
    # A BLAS with threads of its own would fight with StarPU's workers.
    return {**kept, "HOME": home, "STARPU_SILENT": "0", "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1"}


def version_of(plugin):
    """What StarPU a plug-in was built for, "1.3.10 ..."; None: it does not say."""
    match = re.search(rb"SYMPH-STARPU-BUILT-FOR: ([^\0\n]*)", plugin.read_bytes())
    return match.group(1).decode() if match else None


def scheduler_environment(scheduler, plugin, minor):
    """scheduler: one of StarPU's own; or "symph", "symph:POLICY" for the plug-in."""
    if not scheduler.startswith("symph"):
        return {"STARPU_SCHED": scheduler}
    policy = scheduler.partition(":")[2]
    chosen = {"SYMPH_POLICY": policy} if policy else {}
    if minor == "1.3":
        return {"LD_PRELOAD": str(plugin), **chosen}
    return {"STARPU_SCHED_LIB": str(plugin), "STARPU_SCHED": "symphony", **chosen}


def wait(child, limit_s):
    """(exit code or minus the signal, or 124 if it had to be killed; CPU seconds)."""
    late = threading.Event()

    def end():
        late.set()
        kill(child.pid)

    timer = threading.Timer(limit_s, end)
    timer.start()
    _, status, usage = os.wait4(child.pid, 0)
    timer.cancel()
    child.returncode = os.waitstatus_to_exitcode(status)  # nobody else waits for it
    return 124 if late.is_set() else child.returncode, usage.ru_utime + usage.ru_stime


def run(command, extra, limit_s, home=None):
    """Runs to the end, or kills the whole process group after limit_s."""
    if stopped:
        return Outcome(130, "", 0)
    with tempfile.TemporaryDirectory(prefix="symph-starpu-") as scratch:
        environment = {**clean_environment(str(home or scratch)), **extra}
        start = time.monotonic()
        with open(os.path.join(scratch, "output"), "w+b") as output:
            child = subprocess.Popen(command, cwd=scratch, env=environment,
                                     stdin=subprocess.DEVNULL, stdout=output,
                                     stderr=subprocess.STDOUT, start_new_session=True)
            running.add(child.pid)
            status, cpu_seconds = wait(child, limit_s)
            kill(child.pid)  # whatever it started goes too
            running.discard(child.pid)
            output.seek(0)
            text = output.read(1 << 20).decode(errors="replace")
        return Outcome(status if status >= 0 else 128 - status, text, time.monotonic() - start,
                       cpu_seconds)
