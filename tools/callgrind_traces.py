#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exact time series of what real programs do, for `symph-bench counters`.

In: valgrind and programs of any Debian 12 (apt install valgrind gcc bzip2 xz-utils zstd m4 bc
sqlite3), inputs made here from a seed. Out: FOLDER/traces.json (symph-traces-1: the counters'
relations and the split) and one table of counts per program. callgrind simulates a machine: no
time, no out-of-order core, no neighbours; but its counts are exact and their course is the
program's own. A window is a dump of callgrind's, its length is in basic blocks. The split into
development and held-out programs is the table below; it was written before anything was tuned.
The held-out ones were scored more than once while the filter was made: --fresh puts others in their
place, which were added when it was done.
"""
import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SPLIT = {
    "development": ["sw", "sort", "gzip", "awk", "perl", "cc1", "xz", "m4", "sqlite3", "bc"],
    "held-out": ["bzip2", "pyjson", "sed", "zstd", "grep", "as", "symph"],
}
FRESH = ["objdump", "tclsh", "diff", "cc1plus", "pynumbers"]
FOLDERS = {"development": "dev", "held-out": "held"}
FEWEST_WINDOWS = 300  # programs with fewer are left out: too short to score their second half
# 100 000 basic blocks are valgrind's own quantum: other values beat against it.
CALLGRIND = ["valgrind", "--tool=callgrind", "--cache-sim=yes", "--branch-sim=yes",
             "--simulate-wb=yes", "--simulate-hwpref=yes", "--I1=32768,8,64", "--D1=32768,8,64",
             "--LL=2097152,16,64", "--dump-every-bb=100000"]
RAW = ("Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw ILdmr DLdmr DLdmw Bc Bcm Bi Bim").split()
LINE_BYTES = 64
MISSES = ["ILmr", "DLmr", "DLmw"]
DIRTY = ["ILdmr", "DLdmr", "DLdmw"]


def plus(*names):
    return {name: 1 for name in names}


def minus(first, *names):
    return {first: 1, **{name: -1 for name in names}}


# What a processor would count besides; each is an exact sum of raw events.
DERIVED = {
    "data_refs": plus("Dr", "Dw"),
    "l1_refs": plus("Ir", "Dr", "Dw"),
    "l1i_hit": minus("Ir", "I1mr"),
    "l1d_read_hit": minus("Dr", "D1mr"),
    "l1d_write_hit": minus("Dw", "D1mw"),
    "l1d_miss": plus("D1mr", "D1mw"),
    "l1_miss": plus("I1mr", "D1mr", "D1mw"),
    "ll_read_hit": minus("D1mr", "DLmr"),
    "ll_write_hit": minus("D1mw", "DLmw"),
    "ll_hit": {**plus("I1mr", "D1mr", "D1mw"), **{name: -1 for name in MISSES}},
    "ll_read_miss": plus("ILmr", "DLmr"),
    "ll_data_miss": plus("DLmr", "DLmw"),
    "ll_miss": plus(*MISSES),
    "ll_data_dirty": plus("DLdmr", "DLdmw"),
    "ll_dirty": plus(*DIRTY),
    "dram_bytes": {name: LINE_BYTES for name in MISSES + DIRTY},
    "branches": plus("Bc", "Bi"),
    "branch_miss": plus("Bcm", "Bim"),
    "branch_cond_hit": minus("Bc", "Bcm"),
    "branch_indirect_hit": minus("Bi", "Bim"),
}


# --- inputs: the same bytes for the same seed ----------------------------------------------------
def words(rng, count):
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    return ["".join(rng.choice(letters[:rng.choice((6, 12, 26))])
                    for _ in range(rng.randint(2, 11))) for _ in range(count)]


def text(rng, lines):
    """Log lines whose make-up changes every few thousand lines, as real logs do."""
    vocabulary = words(rng, 3000)
    out = []
    for i in range(lines):
        if i % 4000 == 0:
            share, first, long = rng.random(), rng.randrange(2000), rng.randint(4, 16)
        if rng.random() < share:
            out.append(" ".join(vocabulary[first + min(int(rng.expovariate(0.01)), 900)]
                                for _ in range(long)))
        else:
            out.append(f"{rng.randrange(10**9)} {rng.choice(vocabulary)} {rng.random():.6f} "
                       f"{rng.randrange(256)}.{rng.randrange(256)}.0.{rng.randrange(256)}")
    return "\n".join(out) + "\n"


def mixed(rng, size):
    """Text, noise, records and runs, one after another."""
    out = bytearray()
    while len(out) < size:
        kind = rng.randrange(4)
        if kind == 0:
            out += text(rng, 900).encode()
        elif kind == 1:
            out += rng.randbytes(30000)
        elif kind == 2:
            row = rng.randbytes(48)
            for i in range(900):
                out += row[:40] + i.to_bytes(4, "little") + rng.randbytes(4)
        else:
            out += bytes([rng.randrange(256)]) * 40000
    return bytes(out[:size])


def c_source(rng, functions):
    out = ["typedef unsigned u; extern u g[1024]; u h(u);"]
    for i in range(functions):
        body = [f"u f{i}(u a, u b) {{ u s = {rng.randrange(99)}, t = b;"]
        for _ in range(rng.randint(2, 14)):
            k = rng.randrange(5)
            body.append([f"for (u i = 0; i < a % {rng.randint(2, 40)}; i++) s += g[i & 1023] * t;",
                         f"if (s > {rng.randrange(999)}) {{ t ^= s << {rng.randint(1, 9)}; }} "
                         f"else {{ s -= h(t); }}",
                         f"switch (a & 7) {{ case 1: s += 3; break; case 2: t *= s; break; "
                         f"case 5: s = h(s); break; default: t += {rng.randrange(9)}; }}",
                         f"g[(s + {rng.randrange(1024)}) & 1023] = t + a;",
                         f"s = s * {rng.randrange(1, 99)} + f{max(i - 1, 0)}(t, s & 3) % 7;"][k])
        out.append(" ".join(body) + " return s ^ t; }")
    return "\n".join(out) + "\n"


SW = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static unsigned long long x = SEED;
static unsigned next(void) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; return (unsigned)(x >> 11); }
static int max(int a, int b) { return a > b ? a : b; }
static int align(const char *a, int n, const char *b, int m, int *h, int *e, char *back) {
    int best = 0;
    memset(h, 0, sizeof *h * (size_t)(m + 1));
    memset(e, 0, sizeof *e * (size_t)(m + 1));
    for (int i = 1; i <= n; i++) {
        int diagonal = 0, f = 0;
        for (int j = 1; j <= m; j++) {
            int match = diagonal + (a[i - 1] == b[j - 1] ? 2 : -3);
            diagonal = h[j];
            e[j] = max(e[j] - 1, h[j] - 5);
            f = max(f - 1, h[j - 1] - 5);
            int score = max(max(0, match), max(e[j], f));
            back[(size_t)i * (size_t)(m + 1) + (size_t)j] = (char)(score == match);
            h[j] = score;
            best = max(best, score);
        }
    }
    return best;
}
int main(void) {
    enum { most = 1600 };
    static char a[most], b[most];
    static int h[most + 1], e[most + 1];
    char *back = calloc(most + 1, most + 1);
    long total = 0;
    for (int pair = 0; pair < 110; pair++) {
        int n = 60 + (int)(next() % (most - 60)), m = 60 + (int)(next() % (most - 60));
        for (int i = 0; i < n; i++) { a[i] = "ACGT"[next() & 3]; }
        for (int i = 0; i < m; i++) { b[i] = next() % 100 < 80 ? a[i % n] : "ACGT"[next() & 3]; }
        total += align(a, n, b, m, h, e, back);
        int i = n, j = m;
        while (i > 0 && j > 0) {
            if (back[(size_t)i * (size_t)(m + 1) + (size_t)j]) { i--; j--; total++; }
            else if (next() & 1) { i--; } else { j--; }
        }
        char *copy = malloc(200000);
        for (int k = 0; k < 200000; k++) { copy[k] = back[(k * 97) % (most * most)]; }
        total += copy[total % 200000];
        free(copy);
    }
    printf("%ld\n", total);
    return 0;
}
"""
PYJSON = r"""
import json, random, re
rng = random.Random(SEED)
def tree(depth):
    if depth == 0: return rng.choice([rng.random(), rng.randrange(10**6), "v%d" % rng.randrange(999), None])
    if rng.random() < 0.5: return [tree(depth - 1) for _ in range(rng.randint(1, 5))]
    return {"k%d" % rng.randrange(500): tree(depth - 1) for _ in range(rng.randint(1, 6))}
for i in range(9):
    t = [tree(5) for _ in range(22)]
    s = json.dumps(t, sort_keys=bool(i & 1), indent=2 if i % 3 == 0 else None)
    u = json.loads(s)
    w = sorted(re.findall(r"[a-z]\d+", s))
    n = {}
    for x in w: n[x] = n.get(x, 0) + 1
    assert u == t or i
"""
PERL = r"""
my %n; my @l;
while (<>) { chomp; my @w = split / /; $n{$_}++ for @w; push @l, join("-", reverse @w) if /(\d+)\.\d+ .*\1/;
  s/([aeiou])([a-z])/$2$1/g if $. % 3 == 0; push @l, $_ if length > 90 && /[xz]/; }
my @k = sort { $n{$b} <=> $n{$a} || $a cmp $b } keys %n;
print "$_ $n{$_}\n" for @k[0..99]; print scalar(sort @l), "\n";
"""
AWK = r"""
{ n[$2]++; s += $3; if ($0 ~ /[0-9]+\.0\./) { split($4, p, "."); d[p[4]] += $1 % 97 }
  if (NR % 5 == 0) { gsub(/[aeiou]/, "_"); c += length($0) } if (NF > 9) { u[substr($5, 1, 3)] = toupper($6) } }
END { for (k in n) { if (n[k] > m) { m = n[k]; w = k } } print w, m, s, c; for (k in d) { print k, d[k] } }
"""
SQL = """
create table a(i integer primary key, k int, t text, x real); create table b(k int, v text);
with recursive c(i) as (select 1 union all select i + 1 from c where i < 9000)
 insert into a select i, (i * 7919) % 1013, 'n' || ((i * 104729) % 5003), i * 0.37 from c;
with recursive c(i) as (select 1 union all select i + 1 from c where i < 2000)
 insert into b select (i * 31) % 1013, hex(i * 65537) from c;
select count(*), sum(x) from a where t like '%77%'; create index ak on a(k); create index bk on b(k);
select a.k % 10, count(*), avg(x), max(v) from a join b on a.k = b.k group by 1 order by 2;
update a set x = x * 1.01, t = t || '!' where k % 3 = 0; select t, count(*) n from a group by t
 having n > 1 order by n desc, t limit 5; delete from a where k % 5 = 1;
select count(*) from a x join a y on x.k = y.k where x.t < y.t; vacuum;
select group_concat(t) from (select distinct t from a order by t desc limit 50);
"""
BC = """
scale = 340
a(1) * 4
scale = 40
for (i = 0; i < 300; i++) { z = sqrt(i * 7 + 1) + s(i / 10); }
z
scale = 0
n = 0
for (i = 3; i < 4000; i += 2) { p = 1; for (j = 3; j * j <= i; j += 2) { if (i % j == 0) { p = 0; break; } }; n += p; }
n
x = 1
for (i = 1; i < 700; i++) { x *= i; }
x
scale = 120
e(1.5) + l(17)
"""
M4 = """
define(`loop', `ifelse(eval($2 > $3), 1, `', `pushdef(`$1', `$2')$4`'popdef(`$1')$0(`$1', incr($2), $3, `$4')')')dnl
define(`fib', `ifelse(eval($1 < 2), 1, `$1', `eval(fib(decr($1)) + fib(eval($1 - 2)))')')dnl
define(`flip', `ifelse(len(`$1'), 0, `', `flip(substr(`$1', 1))`'substr(`$1', 0, 1)')')dnl
loop(`i', 1, 14, `fib(i) ')
loop(`i', 1, 900, `define(`w'i, translit(flip(`abcdefghij'i`klmnopq'), `a-m', `A-M'))')
loop(`j', 1, 6, `loop(`i', 1, 700, `ifelse(index(indir(`w'i), `7'), -1, `.', `indir(`w'i)')')')
loop(`i', 1, 1500, `patsubst(format(`%08d', eval(i * i % 9973)), `0+', `z')')
fib(15)
"""


TCL = """
set seed SEED
proc draw {n} { global seed; set seed [expr {($seed * 1103515245 + 12345) % 2147483648}]; expr {$seed % $n} }
for {set round 0} {$round < 6} {incr round} {
  array unset count; set text {}
  for {set i 0} {$i < 2500} {incr i} { append text [format %c [expr {97 + [draw 26]}]]; if {[draw 6] == 0} { append text " " } }
  foreach word [split $text] { incr count($word); lappend by([string length $word]) $word }
  set found [lsort -unique [regexp -all -inline {[aeiou][a-z]{2,5}} $text]]
  set total 0
  for {set i 0} {$i < 6000} {incr i} { set total [expr {($total + $i * [llength $found]) % 7919}] }
  foreach name [lsort [array names count]] { set total [expr {$total + $count($name)}] }
  puts "$round $total [string length [string map {a 1 e 2 o 3} $text]]"
}
"""
CPP = r"""
#include <algorithm>
#include <map>
#include <string>
#include <vector>
template <int N> struct step { static int run(std::vector<int> &v) { std::sort(v.begin(), v.end(), [](int a, int b) { return a % (N + 2) < b % (N + 2); }); return v[N % v.size()] + step<N - 1>::run(v); } };
template <> struct step<0> { static int run(std::vector<int> &v) { return v[0]; } };
int all(std::vector<int> &v) { std::map<std::string, int> m; for (int x : v) { m[std::to_string(x)]++; } return step<DEPTH>::run(v) + (int)m.size(); }
"""
PYNUMBERS = r"""
import random
rng = random.Random(SEED)
bodies = [[rng.random() for _ in range(6)] for _ in range(9)]
for step in range(500):
    for a in bodies:
        for b in bodies:
            if a is not b:
                d = [b[k] - a[k] for k in range(3)]
                r = (sum(x * x for x in d) + 1e-3) ** -1.5
                for k in range(3): a[3 + k] += 1e-3 * d[k] * r
    for a in bodies:
        for k in range(3): a[k] += 1e-3 * a[3 + k]
    if step % 6 == 0:
        sieve = bytearray([1]) * 30000
        for i in range(2, 173):
            if sieve[i]: sieve[i * i::i] = bytes(len(range(i * i, 30000, i)))
        n = pow(3, 5000 + step) % (1 << 4000); s = str(n); table = {w: len(w) for w in s.split("7")}
"""


class Maker:
    """Writes the inputs of one program into a folder and gives the command to run."""

    def __init__(self, folder, seed, symph):
        self.folder, self.seed, self.symph = folder, seed, symph

    def rng(self, name):
        return random.Random(f"{self.seed} {name}")

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    def command(self, name):
        made = getattr(self, "make_" + name)(self.rng(name))
        where = shutil.which(made[0], path=f"{self.folder}:/usr/bin:/bin") or made[0]
        return [where] + made[1:]

    def make_sw(self, rng):
        self.file("sw.c", SW.replace("SEED", f"{rng.randrange(1, 2**60)}ull"))
        subprocess.run(["gcc", "-O2", "-o", "sw", "sw.c"], cwd=self.folder, check=True)
        return ["sw"]

    def make_sort(self, rng):
        return ["sort", "--parallel=1", "-S", "64M", "-k2,2", self.file("in", text(rng, 360000))]

    def make_gzip(self, rng):
        return ["gzip", "-9c", self.file("in", mixed(rng, 5000000))]

    def make_bzip2(self, rng):
        return ["bzip2", "-c", self.file("in", mixed(rng, 3000000))]

    def make_xz(self, rng):
        return ["xz", "-4", "-T1", "-c", self.file("in", mixed(rng, 2500000))]

    def make_zstd(self, rng):
        return ["zstd", "-13", "--single-thread", "-c", self.file("in", mixed(rng, 6000000))]

    def make_awk(self, rng):
        return ["mawk", AWK, self.file("in", text(rng, 60000))]

    def make_perl(self, rng):
        return ["perl", "-e", PERL, self.file("in", text(rng, 30000))]

    def make_sed(self, rng):
        return ["sed", "-E", "-e", r"s/([a-z]+) ([a-z]+)/\2 \1/g", "-e", r"/^[0-9]+5 /{N;s/\n/ + /}",
                "-e", "y/aeiou/AEIOU/", "-e", r"/x.*z/d;s/[0-9]{3}\./_/g",
                self.file("in", text(rng, 14000))]

    def make_grep(self, rng):
        return ["grep", "-cE", r"([a-z]{2})[a-z]* .*\1[a-z]* .*[xz]|([0-9])[0-9]\2.* [0-9]*\2\2",
                self.file("in", text(rng, 12000))]

    def make_cc1(self, rng):
        where = subprocess.run(["gcc", "-print-prog-name=cc1"], stdout=subprocess.PIPE, text=True,
                               check=True).stdout.strip()
        return [where, "-quiet", "-O2", self.file("in.c", c_source(rng, 90)), "-o", "out.s"]

    def make_as(self, rng):
        self.file("in.c", c_source(rng, 1400))
        subprocess.run(["gcc", "-O1", "-g", "-S", "in.c"], cwd=self.folder, check=True)
        return ["as", "in.s", "-o", "out.o"]

    def make_pyjson(self, rng):
        return ["/usr/bin/python3", "-S", "-c", PYJSON.replace("SEED", str(rng.randrange(2**30)))]

    def make_m4(self, rng):
        return ["m4", self.file("in.m4", M4)]

    def make_bc(self, rng):
        return ["bc", "-l", self.file("in.bc", BC + "quit\n")]

    def make_sqlite3(self, rng):
        return ["sqlite3", ":memory:", SQL]

    def make_objdump(self, rng):
        self.file("in.c", c_source(rng, 260))
        subprocess.run(["gcc", "-O1", "-g", "-c", "in.c"], cwd=self.folder, check=True)
        return ["objdump", "-dSr", "in.o"]

    def make_tclsh(self, rng):
        return ["tclsh", self.file("in.tcl", TCL.replace("SEED", str(rng.randrange(2**30))))]

    def make_diff(self, rng):
        lines = text(rng, 60000).splitlines()
        other = [line for line in lines if rng.random() > 0.15]
        for _ in range(9000):
            other.insert(rng.randrange(len(other)), rng.choice(lines))
        return ["diff", "-u", "--minimal", self.file("a", "\n".join(lines)), self.file("b", "\n".join(other))]

    def make_cc1plus(self, rng):
        where = subprocess.run(["g++", "-print-prog-name=cc1plus"], stdout=subprocess.PIPE,
                               text=True, check=True).stdout.strip()
        self.file("in.cpp", CPP.replace("DEPTH", str(rng.randint(5, 8))))
        subprocess.run(["g++", "-E", "in.cpp", "-o", "in.ii"], cwd=self.folder, check=True)
        return [where, "-quiet", "-fpreprocessed", "-O1", "in.ii", "-o", "out.s"]

    def make_pynumbers(self, rng):
        return ["/usr/bin/python3", "-S", "-c",
                PYNUMBERS.replace("SEED", str(rng.randrange(2**30)))]

    def make_symph(self, rng):
        if not self.symph:
            raise FileNotFoundError("give --symph PATH to the built program")
        return [str(self.symph.resolve()), "simulate", "--graphs", "gen:cholesky:16", "gen:lu:9",
                f"gen:layered:width=20,depth=40,seed={rng.randrange(1000)}", "--policy",
                "heft,dmdas,lb,eager", "--machine", "2x(cpu:4 dram:40GB/s) gpu:2@pcie3x16",
                "--contention", "--noise", "0.2", "--seeds", "8", "--threads", "1", "--quiet"]


# --- running and reading --------------------------------------------------------------------------
def part(folder, index):
    return folder / f"cg.{index}"


def run(command, folder, most, limit_s):
    """Runs until the program ends, most windows are there, or the time is up."""
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "HOME": str(folder),
                   "PYTHONHASHSEED": "0", "NO_COLOR": "1"}
    # Not /dev/null: grep would notice and stop at its first match.
    with open(folder / "log", "wb") as log, open(folder / "result", "wb") as result:
        process = subprocess.Popen(CALLGRIND + [f"--callgrind-out-file={folder}/cg"] + command,
                                   cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=result, stderr=log)
        end = time.monotonic() + limit_s
        while process.poll() is None:
            if part(folder, most + 1).exists() or time.monotonic() > end:
                process.send_signal(signal.SIGKILL)
                process.wait()
                return 0
            time.sleep(0.05)
    return process.returncode


def window(path):
    """Length in basic blocks and the raw counts of one dump."""
    head = path.read_text(errors="replace")
    length = re.search(r"^desc: Timerange: Basic block (\d+) - (\d+)$", head, re.M)
    events = re.search(r"^events: (.*)$", head, re.M)
    summary = re.search(r"^summary: (.*)$", head, re.M)
    if not (length and events and summary):
        return None  # killed while it was being written
    values = [int(value) for value in summary[1].split()]  # zeros at the end are left out
    count = dict(zip(events[1].split(), values))
    return int(length[2]) - int(length[1]), {name: count.get(name, 0) for name in RAW}


def rows(folder, most):
    for index in range(1, most + 1):
        if not part(folder, index).exists():
            return
        read = window(part(folder, index))
        if not read or read[0] <= 0:
            return
        length, count = read
        derived = [sum(k * count[term] for term, k in terms.items()) for terms in DERIVED.values()]
        yield [length] + [count[name] for name in RAW] + derived


def trace(name, arguments):
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=f"callgrind-{name}-") as where:
        folder = Path(where)
        try:
            command = Maker(folder, arguments.seed, arguments.symph).command(name)
            code = run(command, folder, arguments.windows, arguments.limit)
        except (OSError, subprocess.CalledProcessError) as error:
            return name, None, f"left out: {error}"
        table = list(rows(folder, arguments.windows))
        if code not in (0, 1):
            tail = (folder / "log").read_text(errors="replace").splitlines()[-1:]
            return name, None, f"left out: exit code {code} {' '.join(tail)}"
    if len(table) < FEWEST_WINDOWS:
        return name, None, f"left out: {len(table)} windows, needs {FEWEST_WINDOWS}"
    return name, table, f"{len(table)} windows in {time.monotonic() - started:.0f} s"


def write_table(path, table):
    header = ["basic_blocks"] + RAW + list(DERIVED)
    lines = [",".join(header)] + [",".join(map(str, row)) for row in table]
    path.write_text("\n".join(lines) + "\n")


def write_manifest(folder, seed, found):
    version = subprocess.run(["valgrind", "--version"], stdout=subprocess.PIPE, text=True,
                             check=True).stdout.strip()
    manifest = {
        "schema": "symph-traces-1",
        "source": f"callgrind of {version}: a simulated machine, exact counts; seed {seed}",
        "length": "basic_blocks",
        "events": RAW + list(DERIVED),
        "fixed": ["Ir"],
        "relations": [{"out": out, "terms": terms} for out, terms in DERIVED.items()],
        "programs": [{"name": name, "split": split, "file": f"{FOLDERS[split]}/{name}.csv"}
                     for split in SPLIT for name in SPLIT[split] if name in found],
    }
    (folder / "traces.json").write_text(json.dumps(manifest, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--windows", type=int, default=1000, help="at most, per program")
    parser.add_argument("--limit", type=float, default=600, help="seconds per program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--symph", type=Path, help="the built symph, itself one of the programs")
    parser.add_argument("--fresh", action="store_true", help="other held-out programs")
    parser.add_argument("--only", default="", help="names with commas; the rest stays as it is")
    arguments = parser.parse_args()
    if not shutil.which("valgrind"):
        parser.error("valgrind is missing: apt install valgrind")
    if arguments.fresh:
        SPLIT["held-out"] = FRESH
    every = [name for names in SPLIT.values() for name in names]
    only = arguments.only.split(",") if arguments.only else every
    if set(only) - set(every):
        parser.error(f"no program {', '.join(sorted(set(only) - set(every)))};"
                     f" there are: {', '.join(every)}")
    for split, names in SPLIT.items():
        print(f"{split}: {', '.join(names)}", flush=True)
        (arguments.folder / FOLDERS[split]).mkdir(parents=True, exist_ok=True)
    where = {name: arguments.folder / FOLDERS[split] / f"{name}.csv"
             for split in SPLIT for name in SPLIT[split]}
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for name, table, said in pool.map(lambda name: trace(name, arguments), only):
            print(f"{name}: {said}", flush=True)
            if table:
                write_table(where[name], table)
            else:
                where[name].unlink(missing_ok=True)
    write_manifest(arguments.folder, arguments.seed,
                   {name for name in every if where[name].exists()})
    return 0


if __name__ == "__main__":
    sys.exit(main())
