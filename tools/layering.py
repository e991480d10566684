#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A room includes only rooms below it, and only what belongs there.

The map below is the rule; docs/ARCHITECTURE.md explains it. A room that is not in the map fails,
so that nobody moves in unseen.
"""
import re

from stylelib import Report, c_files, code_only, line_of, read, root_argument

BELOW = {
    "base": [],
    "broker": ["base"],
    "service": ["base", "broker"],
    "trace": ["base"],
    "graph": ["base"],
    "topology": ["base", "trace", "graph"],
    "cost": ["base", "trace", "graph", "topology"],
    "listing": ["base"],
    "counters": ["base", "trace", "graph", "topology", "listing"],
    "belief": ["base", "graph", "topology", "listing", "counters"],
    "nets": ["base"],
    "bounds": ["base", "trace", "graph", "topology", "cost"],
    "world": ["base", "trace", "graph", "topology", "cost"],
    "schedulers": ["base", "trace", "graph", "topology", "cost", "bounds", "world", "listing",
                   "counters", "belief", "nets"],
    "sim": ["base", "trace", "graph", "topology", "cost", "world", "schedulers", "listing",
            "counters", "belief"],
    "train": ["base", "trace", "graph", "topology", "cost", "world", "schedulers", "sim", "listing",
              "counters", "belief", "nets"],
    "papers": ["base", "trace", "graph", "topology", "cost", "world", "schedulers", "sim", "listing",
               "counters", "belief", "nets", "train"],
    "planner": ["base", "trace", "graph", "topology", "cost", "listing"],
    "kernels": ["base", "graph"],
    "engine": ["base", "trace", "graph", "topology", "cost", "planner", "world", "schedulers", "kernels",
               "listing", "counters", "belief", "nets", "broker"],
    "supervise": ["base", "trace", "graph", "topology", "cost", "planner", "engine"],
    "cli": ["base", "trace", "graph", "topology", "cost", "bounds", "planner", "world", "schedulers", "sim",
            "kernels", "engine", "supervise", "listing", "counters", "belief", "nets", "train",
            "papers", "broker", "service"],
}

# The room that each public header speaks for.
PUBLIC = {"error": "base", "graph": "graph", "machine": "topology", "scheduler": "world",
          "kernel": "kernels", "session": "kernels"}

# Second headers of a room that others may include: what few of them need and would crowd the first.
SECOND = {"belief/monitor.h", "belief/senses.h", "belief/watch.h", "planner/pipeline.h", "engine/request.h", "schedulers/policy.h"}

# Headers of others, and the only folders that may include them.
GUESTS = [
    (re.compile(r"hwloc"), ["src/topology/", "tests/topology/"]),
    (re.compile(r"cmocka"), ["tests/"]),
    (re.compile(r"simgrid", re.I), ["tests/simgrid/", "bench/"]),
    (re.compile(r"Random123"), ["src/base/"]),
    (re.compile(r"^starpu", re.I), ["src/engine/starpu/", "tests/starpu/", "bench/"]),
    (re.compile(r"^(CL/|cuda|cublas|cusolver|nvml)"), ["src/engine/starpu/", "workloads/",
                                                      "tests/workloads/", "tests/starpu/", "examples/"]),
    (re.compile(r"^(cblas|lapacke?)\.h$"), ["workloads/", "tests/"]),
    (re.compile(r"^(pthread|threads)\.h$"), ["src/cli/", "src/engine/starpu/watchdog.c", "tests/", "bench/", "examples/"]),
]

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)
# Below cli/ nobody prints or exits. Writing to a file that was asked for is not printing.
SPEAKS = re.compile(r"\b(v?printf|puts|putchar|perror|exit|_exit|_Exit|quick_exit|abort|warnx?|"
                    r"errx?)\s*\(|\b(stdout|stderr)\b")
# Words of SPEAKS that one file may use, and why.
MAY_SPEAK = {
    # Ends a forked child that shields the caller from other people's code: to return from there
    # would run the rest of the caller's program twice.
    "src/base/shield.c": {"_exit"},
    # The engine is a process of its own: it ends here, on failure in the middle of a kernel.
    "src/engine/starpu/main.c": {"_exit"},
    "src/engine/starpu/faults.c": {"_exit"},
    "src/engine/starpu/watchdog.c": {"_exit"},
    "src/engine/starpu/keeper.c": {"_exit"},
    # Lives in other people's programs, where StarPU's hooks have no way to return an error.
    "src/engine/starpu/plugin.c": {"stderr", "exit"},
}
ASSERT_BODY = re.compile(r"\bsy_assert_failed\([^)]*\)\s*\{.*?^\}", re.S | re.M)


def check_room(report, path, line, room, quoted, name):
    parts = name.split("/")
    if name.startswith("symph/"):
        owner = PUBLIC.get(parts[1].removesuffix(".h"))
        if owner is None:
            report.add(path, line, f"<{name}> is not in tools/layering.py: say whose header it is")
        elif owner != room and owner not in BELOW[room]:
            report.add(path, line, f"{room}/ may not use <{name}>, which speaks for {owner}/")
    elif quoted and len(parts) > 1 and parts[0] != room:
        other = parts[0]
        if other not in BELOW[room]:
            report.add(path, line, f"{room}/ may not include {name}: {other}/ is not below it")
        elif other != "base" and name != f"{other}/{other}.h" and name not in SECOND:
            report.add(path, line, f"{name} is private to {other}/: include {other}/{other}.h")


def check_includes(report, path, relative, text):
    folder = relative.split("/")[0]
    room = relative.split("/")[1] if folder == "src" else None
    if room is not None and room not in BELOW:
        report.add(path, 1, f"room {room}/ is not in the map of tools/layering.py")
        return
    for match in INCLUDE.finditer(text):
        quoted, name, line = match[1] == '"', match[2], line_of(text, match.start())
        for pattern, homes in GUESTS:
            if pattern.search(name) and not relative.startswith(tuple(homes)):
                report.add(path, line, f"{name} may be included only in {', '.join(homes)}")
        if room is not None:
            check_room(report, path, line, room, quoted, name)
        elif folder in ("workloads", "examples") and quoted and name.split("/")[0] in BELOW:
            report.add(path, line, f"{folder}/ uses only include/symph, not {name}")
        elif folder == "include" and not re.match(r"(symph/\w+|\w+)\.h$", name):
            report.add(path, line, f"a public header includes only libc and symph/, not {name}")


def check_silence(report, path, relative, text):
    code = code_only(text)
    code = ASSERT_BODY.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), code)
    for match in SPEAKS.finditer(code):
        word = match[1] or match[2]
        if word not in MAY_SPEAK.get(relative, ()):
            report.add(path, line_of(code, match.start()),
                       f"{word}: below cli/ nobody prints or exits; return an error")


def main():
    root = root_argument()
    report = Report(root)
    for path in c_files(root):
        relative, text = path.relative_to(root).as_posix(), read(path)
        check_includes(report, path, relative, text)
        if relative.startswith("src/") and not relative.startswith("src/cli/"):
            check_silence(report, path, relative, text)
    report.exit()


if __name__ == "__main__":
    main()
