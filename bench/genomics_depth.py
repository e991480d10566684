#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The depth filter of variant calling where coverage is uneven: islands, waves, contigs of other depths.

One deep sample is simulated; fragments of it are kept with a probability that depends on their place,
so that the same variants are called from reads that cover them in different ways. Calls that pass are
scored against the truth inside of what is meant to be covered, beside calls without any filter. With
--compare the same is done by another symph. Prints a table in Markdown.
"""
import argparse
import bisect
import gzip
import json
import math
import os
import random
import subprocess
import tempfile

LENGTH, DEEP = 1000000, 200  # of the deep sample: bases, depth


def islands(rng, size, gap, spread):
    """Targets, as (start, end, depth)."""
    found, at = [], 3000
    while at < LENGTH - 6000:
        length = int(min(4000, max(120, rng.lognormvariate(math.log(size), 0.6))))
        found.append((at, at + length, min(DEEP, 80 * rng.lognormvariate(0, spread))))
        at += length + 400 + int(rng.expovariate(1 / gap))
    return found


def island_depth(targets):
    starts = [start for start, _, _ in targets]

    def depth(at):
        which = bisect.bisect(starts, at + 150) - 1
        near = [targets[i] for i in (which - 1, which) if i >= 0]
        return max([1] + [deep for start, end, deep in near if start - 150 <= at <= end + 150])
    return depth


def cases(rng):
    """Of each case: its name, the depth by place, and where calls are scored (None: everywhere)."""
    exome, panel = islands(rng, 160, 4000, 0.5), islands(rng, 1500, 40000, 0)
    spots = islands(rng, 600, 100000, 0)
    return [("even, 30x", lambda at: 30, None),
            ("even, 10x", lambda at: 10, None),
            ("half of it 1.5 times as deep", lambda at: 30 if at < LENGTH / 2 else 45, None),
            ("waves of 40 kb, 0.65 to 1.35 times", lambda at: 30 * (1 + 0.35 * math.sin(at * 2 * math.pi / 40e3)), None),
            ("waves of 5 kb, 0.65 to 1.35 times", lambda at: 30 * (1 + 0.35 * math.sin(at * 2 * math.pi / 5e3)), None),
            (f"exome: {len(exome)} targets, depths spread by 0.5", island_depth(exome), exome),
            (f"panel: {len(panel)} targets, 80x", island_depth(panel), panel),
            (f"hot spots: {len(spots)} small targets, 80x", island_depth(spots), spots)]


def shifts(truth):
    """Per haplotype: positions in it, and how far it is ahead of the reference from there on."""
    lists = [([0], [0]), ([0], [0])]
    with gzip.open(truth, "rt") as lines:
        for fields in (line.split("\t") for line in lines if line[0] != "#"):
            grown = len(fields[4]) - len(fields[3])
            for (places, ahead), carried in zip(lists, fields[9].strip().split("|")):
                if grown and carried == "1":
                    ahead.append(ahead[-1] + grown)
                    places.append(int(fields[1]) + ahead[-1])
    return lists


def records(path):
    with gzip.open(path, "rt") as file:
        while head := file.readline():
            yield head, head + file.readline() + file.readline() + file.readline()


def thin(prefix, work, all_cases, rng):
    """Writes the reads of every case, in one pass over the deep sample."""
    lists = shifts(prefix + ".truth.vcf.gz")
    files = [[gzip.open(os.path.join(work, f"case{i}_{end}.fq.gz"), "wt", compresslevel=1) for end in (1, 2)]
             for i in range(len(all_cases))]
    for (head, first), (_, second) in zip(records(prefix + "_1.fq.gz"), records(prefix + "_2.fq.gz")):
        _, haplotype, start = head.split("/")[0].split(":")
        places, ahead = lists[int(haplotype)]
        middle = int(start) - ahead[bisect.bisect(places, int(start)) - 1] + 200
        for (_, depth, _), pair in zip(all_cases, files):
            if rng.random() * DEEP < depth(middle):
                pair[0].write(first)
                pair[1].write(second)
    for pair in files:
        pair[0].close()
        pair[1].close()


def inside(source, target, places):
    """The lines of a VCF file that begin in these places."""
    with gzip.open(source, "rt") as lines, open(target, "w", encoding="utf-8") as out:
        for line in lines:
            if line[0] == "#" or places is None or any(
                    start < int(line.split("\t")[1]) <= end for start, end, _ in places):
                out.write(line)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def score(symph, ref, truth, calls, places, work, *options):
    inside(truth, os.path.join(work, "truth.vcf"), places)
    inside(calls, os.path.join(work, "calls.vcf"), places)
    told = json.loads(run(symph, "genomics", "score", "--ref", ref, "--truth", os.path.join(work, "truth.vcf"),
                          "--calls", os.path.join(work, "calls.vcf"), "--json", *options))["strata"][0]
    return " | ".join(f"{told[kind]['found']} of {told[kind]['found'] + told[kind]['missed']}, {told[kind]['false']}"
                      for kind in ("snp", "indel"))


def row(name, programs, ref, reads, truth, places, work, *options):
    cells = []
    for symph in programs:
        out = os.path.join(work, "out.vcf.gz")
        run(symph, "call-variants", "--ref", ref, "--reads", *reads, "-o", out, "--cuda", "0", "--quiet", "--index",
            tempfile.mkdtemp(dir=work), *options)
        cells.append(score(programs[0], ref, truth, out, places, work))
    cells.append(score(programs[0], ref, truth, out, places, work, "--all", "--quality", "20"))
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def deep_contig(symph, ref, prefix, work):
    """The sample at 30x, and a contig like mitochondria, 50 times as deep: reference, reads, truth."""
    other, both = os.path.join(work, "mito"), os.path.join(work, "both")
    run(symph, "genomics", "simulate", "--random", "16569", "--coverage", "1500", "--seed", "51", "--easy", "-o", other)
    with open(both + ".fa", "w", encoding="utf-8") as out:
        for path, name in ((ref, "made_up"), (other + ".fa", "mito")):
            with open(path, encoding="utf-8") as file:
                out.write(file.read().replace(">made_up", ">" + name))
    for end in (1, 2):
        with open(f"{both}_{end}.fq.gz", "wb") as out:
            for path in (os.path.join(work, f"case0_{end}.fq.gz"), f"{other}_{end}.fq.gz"):
                with open(path, "rb") as file:
                    out.write(file.read())
    with gzip.open(prefix + ".truth.vcf.gz", "rt") as file:
        head = [line.replace("made_up", "mito") for line in file if line[0] == "#"]
    with gzip.open(other + ".truth.vcf.gz", "rt") as file, gzip.open(both + ".vcf.gz", "wt") as out:
        out.write("".join(head) + "".join(line.replace("made_up", "mito") for line in file if line[0] != "#"))
    return both + ".fa", [f"{both}_{end}.fq.gz" for end in (1, 2)], both + ".vcf.gz"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("symph")
    parser.add_argument("--compare", metavar="SYMPH", help="another one, for a second pair of columns")
    parser.add_argument("--seed", type=int, default=41)
    arguments = parser.parse_args()
    programs = [arguments.symph] + ([arguments.compare] if arguments.compare else [])
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as work:
        deep, small = os.path.join(work, "deep"), os.path.join(work, "small")
        run(programs[0], "genomics", "simulate", "--random", str(LENGTH), "--coverage", str(DEEP), "--seed",
            str(arguments.seed), "-o", deep)
        all_cases = cases(rng)
        thin(deep, work, all_cases, rng)
        names = ["passing"] + (["passing, compared"] if arguments.compare else []) + ["without filters"]
        print("| coverage | " + " | ".join(f"{kind}, {name}: found, false" for name in names
                                           for kind in ("SNPs", "indels")) + " |")
        print("|---|" + "---:|" * (2 * len(names)))
        for i, (name, _, places) in enumerate(all_cases):
            reads = [os.path.join(work, f"case{i}_{end}.fq.gz") for end in (1, 2)]
            bed = os.path.join(work, "places.bed")
            with open(bed, "w", encoding="utf-8") as file:
                file.writelines(f"made_up\t{start}\t{end}\n" for start, end, _ in places or [])
            for title, options in [(name, []), (name + ", --regions", ["--regions", bed])][:2 if places else 1]:
                row(title, programs, deep + ".fa", reads, deep + ".truth.vcf.gz", places, work, *options)
        ref, reads, truth = deep_contig(programs[0], deep + ".fa", deep, work)
        row("a contig of 16,569 bases at 1500x, the rest at 30x", programs, ref, reads, truth, [(0, 16569, 0)], work,
            "--regions", contig_bed(work))
        run(programs[0], "genomics", "simulate", "--random", "30000", "--easy", "-o", small)
        row("30 kb in all, 30x, --easy", programs, small + ".fa", [small + "_1.fq.gz", small + "_2.fq.gz"],
            small + ".truth.vcf.gz", None, work)


def contig_bed(work):
    """So that calls elsewhere do not count as false."""
    path = os.path.join(work, "mito.bed")
    with open(path, "w", encoding="utf-8") as file:
        file.write("mito\t0\t16569\n")
    return path


if __name__ == "__main__":
    main()
