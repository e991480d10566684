#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Text for users is plain English: turns of phrase that must not come back, and what to write
instead. Manual pages, the README and other documents, and what programs print.
"""
import re

from stylelib import Report, line_of, read, root_argument, tree_files

# Turns of phrase that readers stumble over, and what to write instead.
IDIOMS = [(re.compile(pattern), instead) for pattern, instead in [
    (r"\bforet(?:old|ell)", "predicted"),
    (r"\bso many\b(?! that\b)", "the number"),
    (r"\balike\b", "the same"),
    (r"(?<!\")\bbeside\b(?!\")", "next to, with, or compared with"),
    (r"\bspeaks? of\b", "measures, or is about"),
    (r"\b(?:is|are|was|were|being) told\b", "knows, or gets"),
    (r"\b(?:is|are) said\b", "name who says it"),
    (r"(?:(?<!ere)\s|^\"?)(?:is|are|was) no (?!longer\b|more\b|worse\b|better\b|faster\b)[A-Za-z]", "is not a"),
    (r"\bhangs? (?:on|together)\b", "depends on, or is related to"),
    (r"\bstands? (?:behind|beside|below|in front)\b", "is"),
    (r"\bhow good what\b|\bwhat (?:it|this|that) is worth\b|\bis it worth\b", "how accurate, or what it brings"),
    (r"\bin a (?:third|quarter|fifth|sixth|tenth|twentieth) of\b", "N times as fast"),
    (r"\b(?:said|there) twice\b", "appears twice"),
    (r"\bcounted from 0\b", "numbered from 0"),
    (r"\banew\b", "again"),
    (r"\b[Aa]s of \*?symph", "see symph"),
    (r"\b(?:can|could)(?:not| not)? be had\b", "is possible"),
    (r"\bcan do at best\b", "peak performance"),
    (r"\bin turns\b", "in turn"),
    (r"\bunder way\b", "in progress"),
    (r"\bthe (?:one|line) before it\b", "the previous one"),
]]
LITERALS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*')


def find_idioms(report, path, text, start):
    for pattern, instead in IDIOMS:
        for match in pattern.finditer(text):
            words = " ".join(match[0].split())
            report.add(path, start + text.count("\n", 0, match.start()),
                       f"'{words}' is not plain English; write: {instead}")


def check_prose(report, path, text):
    """Manual pages and documents as a whole, of code the strings."""
    parts = path.relative_to(report.root).parts
    if path.suffix == ".scd" or (path.suffix == ".md" and (len(parts) == 1 or parts[0] == "docs" and len(parts) == 2)):
        find_idioms(report, path, text, 1)
    elif path.suffix == ".c" and parts[0] in ("src", "workloads"):
        code = re.sub(r"/\*.*?\*/", lambda match: re.sub(r"[^\n]", " ", match[0]), text, flags=re.S)
        code = re.sub(r"'\\?\"'", "   ", code)
        for match in LITERALS.finditer(code):
            words = re.sub(r'"\s*"', "", match[0])
            if len(re.findall(r"[A-Za-z]{2,}", words)) > 2:
                find_idioms(report, path, words, line_of(code, match.start()))


def main():
    root = root_argument()
    report = Report(root)
    for path in tree_files(root):
        if path.suffix in (".scd", ".md", ".c"):
            check_prose(report, path, read(path))
    report.exit()


if __name__ == "__main__":
    main()
