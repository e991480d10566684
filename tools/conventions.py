#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What every file must have or must not: licence line, card, braces, leftovers, private paths;
and a document names no file of the project that is not there.

The words this check looks for are spelled so that it does not find itself.
"""
import re

from stylelib import CODE_DIRS, Report, c_files, code_only, line_of, read, root_argument, tree_files

SPDX = "SPDX-License-Identifier: Apache-2.0"
CARD = re.compile(r"/\* " + re.escape(SPDX) + r"\n(.*?)\*/", re.S)
CARD_WORDS = 6
LEFTOVER = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b")
# A path that exists on one person's machine only.
PRIVATE_PATH = re.compile(r"(?<![\w.$}~-])/(?:work|root|home/\w+)(?:/\w|\b(?=[\s\"'`):;,]))")
# In a document: `tests/graph/` or [text](docs/STYLE.md).
NAMED_FILE = re.compile(r"`((?:src|include|tests|fuzz|bench|tools|docs|man|examples)/[\w./-]*)`"
                        r"|\]\((?!https?:|#)([^)#\s]+)")
CODE_SUFFIXES = (".c", ".h", ".py", ".sh", ".cpp", ".cc", ".cu")
MACRO = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
HEAD = re.compile(r"\b(if|for|while|switch|else|do)\b")


def closing(code, offset):
    """Offset behind the parenthesis that closes the one at offset."""
    depth = 0
    for index in range(offset, len(code)):
        depth += {"(": 1, ")": -1}.get(code[index], 0)
        if depth == 0:
            return index + 1
    return len(code)


def check_braces(report, path, text):
    code = code_only(text)
    code = MACRO.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), code)
    for match in HEAD.finditer(code):
        word, after = match[1], match.end()
        if word not in ("else", "do"):
            opening = re.compile(r"\s*").match(code, after).end()
            if code[opening:opening + 1] != "(":
                continue
            after = closing(code, opening)
        rest = code[after:].lstrip()
        ends_do = word == "while" and code[:match.start()].rstrip().endswith("}")
        if rest.startswith("{") or (word == "else" and re.match(r"if\b", rest)):
            continue
        if ends_do and rest.startswith(";"):
            continue
        report.add(path, line_of(code, match.start()), f"{word} without braces")


def check_card(report, path, text):
    if not text.startswith("/* " + SPDX):
        report.add(path, 1, f"must begin with '/* {SPDX}'")
        return
    card = CARD.match(text)
    if path.relative_to(report.root).parts[0] == "tests":
        return  # a test's name and its cases say what it is
    header = card and re.search(r"see (\w+\.h)\b", card[1])
    if header and (path.parent / header[1]).exists():
        return
    if not card or len(re.findall(r"\w+", card[1])) < CARD_WORDS:
        report.add(path, 1, "after the licence line comes a card: what is this file?")


def check_leftovers(report, path, text):
    for match in LEFTOVER.finditer(text):
        report.add(path, line_of(text, match.start()), f"{match[1]}: do it, or open an issue")


def check_paths(report, path, text):
    for match in PRIVATE_PATH.finditer(text):
        report.add(path, line_of(text, match.start()), f"'{match[0]}...' is a path of one machine")


def check_named_files(report, path, text):
    for match in NAMED_FILE.finditer(text):
        target = report.root / match[1] if match[1] else path.parent / match[2]
        if not target.exists():
            report.add(path, line_of(text, match.start()), f"{match[1] or match[2]} does not exist")


def main():
    root = root_argument()
    report = Report(root)
    for path in c_files(root):
        text = read(path)
        check_card(report, path, text)
        check_braces(report, path, text)
    for path in tree_files(root):
        if b"\0" in path.read_bytes()[:4096]:
            continue
        text, relative = read(path), path.relative_to(root)
        check_paths(report, path, text)
        if path.suffix == ".md":
            check_named_files(report, path, text)
        if path.suffix in CODE_SUFFIXES or path.name == "meson.build":
            check_leftovers(report, path, text)
        if path.suffix in (".py", ".sh") and SPDX not in text[:200]:
            report.add(path, 1, f"must carry '# {SPDX}' at its top")
        if path.suffix in (".c", ".h") and relative.parts[0] not in CODE_DIRS:
            report.add(path, 1, f"C code lives in {', '.join(CODE_DIRS)}")
    report.exit()


if __name__ == "__main__":
    main()
