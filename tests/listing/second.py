#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second opinion on every metric of every shipped listing: EVAL_ALL FOLDER [SEED]...

Then the same for expressions drawn at random from the whole grammar.

Reads the compact files and evaluates their expressions in its own way: a regular expression cuts
tokens, Dijkstra's shunting yard orders them, and a stack of Python floats computes. Compares with
what the C code printed for the same inputs, which are a hash of seed and name on both sides.
"""
import math
import os
import random
import re
import subprocess
import sys
import tempfile

SHARED = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
NUMBER = r"(?:[0-9]+\.?[0-9]*|[0-9]*\.?[0-9]+)(?:e-?[0-9]+)?"
NAME = r"(?:\\[-,=]|[0-9a-zA-Z_.:@?])+"
LITERAL = r"#[0-9a-zA-Z_.\-]+"
LEVEL = {"if": 0, "|": 1, "^": 2, "&": 3, "<": 4, ">": 4, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6,
         "neg": 7}
CALLS = {"min": 2, "max": 2, "d_ratio": 2, "source_count": 1, "has_event": 1,
         "strcmp_cpuid_str": 1}
NAN = math.nan


def fnv(text):
    value = 0xcbf29ce484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return value >> 8


def read_listing(path):
    """Metrics as (unit, name, expression)."""
    metrics, last, unit = [], "", None
    with open(path, encoding="ascii") as file:
        for line in file.read().split("\n"):
            if line.startswith("["):
                unit = line[1:-1].split()[1] if line.startswith("[metrics ") else None
                last = ""
            elif unit and line:
                name, _, _, expression = line.split("\t")
                last = last[:SHARED.index(name[0])] + name[1:]
                metrics.append((unit, last, expression))
    return metrics


def tokens(text):
    """The longest of number, name and literal, else one character."""
    at, found = 0, []
    while at < len(text):
        if text[at] == " ":
            at += 1
            continue
        matches = [(len(m[0]), -rank, kind, m[0])
                   for rank, (kind, pattern) in enumerate([("number", NUMBER), ("name", NAME),
                                                           ("literal", LITERAL)])
                   if (m := re.compile(pattern).match(text, at))]
        _, _, kind, word = max(matches, default=(1, 0, "sign", text[at]))
        if kind == "name" and (word in CALLS or word in ("if", "else")):
            kind = "call" if word in CALLS else "sign"
        found.append((kind, word))
        at += len(word)
    return found


def to_postfix(text):
    """Shunting yard. 'if' waits on the stack with its two operands until the expression ends."""
    out, stack, operand_next = [], [], True

    def unwind(level):
        while stack and stack[-1] in LEVEL and LEVEL[stack[-1]] >= level:
            out.append(("op", stack.pop()))

    for kind, word in tokens(text):
        if kind in ("number", "name", "literal"):
            out.append((kind, word))
            operand_next = False
        elif kind == "call":
            stack.append(word)
        elif word == "(":
            stack.append("(")
            operand_next = True
        elif word in (")", ","):
            unwind(0)
            if word == ")":
                assert stack.pop() == "(", text
                if stack and stack[-1] in CALLS:
                    out.append(("op", stack.pop()))
            operand_next = word == ","
        elif word == "if":
            unwind(1)
            stack.append("pending if")
            operand_next = True
        elif word == "else":
            unwind(1)
            assert stack.pop() == "pending if", text
            stack.append("if")  # right-associative: nothing of its level is unwound before
            operand_next = True
        elif word == "-" and operand_next:
            stack.append("neg")
        else:
            assert word in LEVEL, (word, text)
            unwind(LEVEL[word])
            stack.append(word)
            operand_next = True
    unwind(0)
    assert not stack, text
    return out


class Spoilt(Exception):
    """perf gives up on the whole expression."""


def logic(op, a, b):
    known = [math.isfinite(a), math.isfinite(b)]
    if op == "^":
        return float((a == 0) != (b == 0)) if all(known) else NAN
    settles = (lambda x: x != 0) if op == "|" else (lambda x: x == 0)
    settled = 1.0 if op == "|" else 0.0
    if all(known):
        return settled if settles(a) or settles(b) else 1.0 - settled
    if any(known):
        mine, other = (a, b) if known[0] else (b, a)
        return settled if settles(mine) else other
    return NAN


def divide(a, b):
    if b == 0:
        return NAN
    return a / b


def modulo(a, b):
    if b == 0:
        raise Spoilt  # as perf: also where the result would not have been used
    if not math.isfinite(a) or not math.isfinite(b) or max(abs(a), abs(b)) >= 2 ** 63 \
            or math.trunc(b) == 0:
        return NAN
    return float(math.copysign(abs(math.trunc(a)) % abs(math.trunc(b)), a))


BINARY = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": divide,
    "%": modulo, "<": lambda a, b: NAN if a != a or b != b else float(a < b),
    ">": lambda a, b: NAN if a != a or b != b else float(a > b),
    "|": lambda a, b: logic("|", a, b), "&": lambda a, b: logic("&", a, b),
    "^": lambda a, b: logic("^", a, b), "min": lambda a, b: a if a < b else b,
    "max": lambda a, b: a if a > b else b, "d_ratio": lambda a, b: 0.0 if b == 0 else a / b,
}


class World:
    """The metrics of one listing, on the inputs of one seed."""

    def __init__(self, metrics, seed):
        self.metrics, self.seed = {}, seed
        for unit, name, expression in metrics:
            self.metrics[(unit, name.lower())] = (unit, expression)
            self.metrics.setdefault(name.lower(), (unit, expression))
        self.known = {}

    def hash(self, kind, word):
        name = re.sub(r"\\(.)", r"\1", word).replace("@", "/").lower()
        bare = re.fullmatch(r"[^/]*/([^=]+)/", name)
        return fnv(f"{self.seed} {kind} {bare[1] if bare else name}")

    def value(self, unit, word):
        name = re.sub(r"\\(.)", r"\1", word).replace("@", "/").lower()
        key = (unit, name) if (unit, name) in self.metrics else name
        if key in self.metrics:
            return self.metric(*self.metrics[key])
        h = self.hash("value", word)
        if h % 16 == 0:
            return 0.0
        if h // 16 % 64 == 0:
            return NAN
        return float(1 + h // 1024 % 9973) * 10.0 ** (h // 1048576 % 9)

    def metric(self, unit, expression):
        key = (unit, expression)
        if key not in self.known:
            try:
                self.known[key] = self.compute(unit, expression)
            except Spoilt:
                self.known[key] = NAN
        return self.known[key]

    def leaf(self, unit, kind, word):
        if kind == "number":
            return float(word)
        if kind == "literal":
            return float(self.hash("literal", word[1:]) & 3)
        return NAN if word == "NaN" else word

    def number(self, unit, operand):
        return self.value(unit, operand) if isinstance(operand, str) else operand

    def call(self, op, word):
        if op == "source_count":
            return float(1 + (self.hash("source", word) & 7))
        return float(self.hash("has" if op == "has_event" else "cpu", word) & 1)

    def compute(self, unit, expression):
        stack = []
        for kind, word in to_postfix(expression):
            if kind != "op":
                stack.append(self.leaf(unit, kind, word))
            elif CALLS.get(word) == 1:
                stack.append(self.call(word, stack.pop()))
            elif word == "neg":
                stack.append(-self.number(unit, stack.pop()))
            elif word == "if":
                no, condition, yes = (self.number(unit, stack.pop()) for _ in range(3))
                stack.append(no if condition == 0 else yes)
            else:
                b, a = (self.number(unit, stack.pop()) for _ in range(2))
                stack.append(BINARY[word](a, b))
        assert len(stack) == 1, expression
        return self.number(unit, stack[0])


def same(a, b):
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or math.isinf(b):
        return (math.isnan(a) and math.isnan(b)) or a == b
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b), 1e-300)


def compare(program, folder, seed):
    output = subprocess.run([program, folder, str(seed)], check=True, capture_output=True,
                            text=True).stdout
    theirs = {}
    for line in output.splitlines():
        name, unit, metric, value = line.split("\t")
        theirs.setdefault(name, {})[(unit, metric)] = float(value)
    count = unknown = 0
    wrong = []
    for name, values in theirs.items():
        metrics = read_listing(os.path.join(folder, name + ".listing"))
        world = World(metrics, seed)
        assert {(unit, metric) for unit, metric, _ in metrics} == set(values), name
        for unit, metric, expression in metrics:
            mine, other = world.metric(unit, expression), values[(unit, metric)]
            count += 1
            unknown += math.isnan(mine)
            if not same(mine, other):
                wrong.append(f"{name} {unit} {metric}: {other} there, {mine} here: {expression}")
    return count, unknown, wrong


def draw(rng, depth):
    """An expression; operators meet without parentheses, so that precedence is tried."""
    kind = rng.randrange(12) if depth else rng.randrange(4)
    if kind == 0:
        return rng.choice(["0", "1", "2.", ".5", "7", "1e3", "2.5e-2", "NaN", "0"])
    if kind == 1:
        return rng.choice(["#num_cpus", "#smt_on", "#num_dies"]) + " "
    if kind == 2:
        return rng.choice(["has_event", "source_count", "strcmp_cpuid_str"]) + "(EV.A\\-1)"
    if kind == 3:
        return rng.choice(["EV.A", "ev.b:k", "cpu@EV.C\\,cmask\\=1@", "cpu@ev.c@", "0x1f", "dash\\-x",
                           "ev.d", "ev.e", f"m{rng.randrange(200)}"])
    if kind == 4:
        return "-" + draw(rng, depth - 1)
    if kind == 5:
        return f"({draw_if(rng, depth - 1)})"
    if kind == 6:
        call = rng.choice(["min", "max", "d_ratio"])
        return f"{call}({draw(rng, depth - 1)},{draw(rng, depth - 1)})"
    operator = rng.choice(["+", "-", "*", "/", "%", "<", ">", "&", "|", "^"])
    return f"{draw(rng, depth - 1)} {operator} {draw(rng, depth - 1)}"


def draw_if(rng, depth):
    if rng.randrange(2):
        return draw(rng, depth)
    return f"{draw(rng, depth)} if {draw(rng, depth)} else {draw_if(rng, depth - 1 if depth else 0)}"


def write_random(folder, seed, count):
    """Metrics use only those with a higher number, so none uses itself."""
    rng = random.Random(seed)
    lines = ["symph-listing 1", "name x86/random", "[metrics cpu]"]
    for i in range(count):
        text = draw_if(rng, 5)
        text = re.sub(r"\bm(\d+)\b", lambda m, i=i: f"m{i + 1 + int(m[1])}", text)
        lines.append(f"0m{i}\t\t\t{text}")
    os.makedirs(os.path.join(folder, "x86"))
    with open(os.path.join(folder, "x86", "random.listing"), "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")


def report(seed, what, result):
    count, unknown, wrong = result
    print(f"seed {seed}: {count} {what}, {unknown} of them NAN, {len(wrong)} differ by more than "
          f"1e-9")
    for line in wrong[:20]:
        print(" ", line)
    return not wrong and unknown < 0.8 * count


def main():
    program, folder = sys.argv[1:3]
    good = True
    for seed in [int(seed) for seed in sys.argv[3:]] or [1, 2, 3]:
        result = compare(program, folder, seed)
        good &= report(seed, "metrics", result) and result[0] >= 6000
        with tempfile.TemporaryDirectory() as drawn:
            write_random(drawn, seed, 3000)
            good &= report(seed, "random expressions", compare(program, drawn, seed))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
