#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A function of src/ has a caller outside tests/.

What only tests call is either dead, and goes, or a reference for tests, and then lives in tests/.
Programs, benches, fuzzers, plug-ins and the list of what libsymph.so exports count as callers.
"""
import re
from collections import Counter

from stylelib import Report, c_files, code_only, line_of, read, root_argument

# Functions through which tests look inside what programs use, and why they need it.
LOOKS_INSIDE = {
    "sy_belief_filter": "what the filters of a machine hold",
    "sy_request_key_at": "every key of the table",
    "sy_filter_factor": "whether a relation was rejected",
    "sy_filter_ignored": "how many readings were refused",
    "sy_filter_sample": "draws, compared with the exact posterior",
    "sy_filter_sum": "correlations, compared with the exact posterior",
    "sy_shares_taken": "what our flows take of a resource",
    "sy_sources_push": "readings that a test makes up",
    "sy_sources_push_duration": "likewise",
    "sy_cost_energy_joules": "energy of one task",
    "sy_world_resume": "a world that goes on from where it was left",
    "sy_world_set_speed": "devices whose speed changes",
}

NAME = re.compile(r"\bsy_\w+")
# A definition begins in the first column, is not static, and has a body.
DEFINITION = re.compile(r"^(?!static\b|[A-Z_]+ )[A-Za-z_][\w \t*\n]*?\b(sy_\w+)\(([^;{}]*)\)\s*\{", re.M)


def main():
    root = root_argument()
    report = Report(root)
    used, defined = Counter(), {}
    for path in c_files(root):
        folder = path.relative_to(root).parts[0]
        text = code_only(read(path))
        if folder == "tests" or folder == "src" and path.suffix == ".h":
            # A header's declarations are no calls; its inline functions and macros are.
            if folder == "src":
                used.update(name for name in NAME.findall(text)
                            if len(re.findall(rf"\b{name}\b", text)) > 1)
            continue
        used.update(NAME.findall(text))
        if folder == "src":
            for match in DEFINITION.finditer(text):
                defined[match[1]] = (path, line_of(text, match.start(1)))
                used[match[1]] -= 1
    exported = set(read(root / "tools" / "exports.txt").split())
    for name, (path, line) in sorted(defined.items()):
        if used[name] <= 0 and name not in exported and name not in LOOKS_INSIDE:
            report.add(path, line, f"{name}: only tests call it; delete it, or move it to tests/")
    report.exit()


if __name__ == "__main__":
    main()
