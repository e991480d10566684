#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""symph call-variants beside its peers: CPU time, memory and accuracy, on simulated reads.

In: the symph command of a build; a reference (default: 70 Mb of the human X chromosome, from
Debian's package smalt-examples), places in it and seeds. Every place and seed is a sample made by
symph genomics simulate. Out: the tables of docs/bench/genomics.md (between its two markers; the
rest of that file is left as it is) and genomics.json. Peers, each left out by name where it is
missing: bwa, snap-aligner, minimap2, samtools, bcftools, freebayes. Times are user + system CPU
seconds of every process of a stage, which a crowded machine changes less than wall time. What peers
hand on in pipes is not compressed; the BAM file that samtools markdup writes is, as usual. All start
from the same compressed FASTQ files and from an index that is already there.

Calls of bcftools and freebayes are filtered, which they need as much as ours: QUAL at least 20, depth
at most 1.5 times the coverage, seen on both strands. Scores are by haplotypes and genotype-strict (symph genomics
score). --keep takes the peers' results of an earlier run where the reads are the same.
"""
import argparse
import collections
import datetime
import gzip
import hashlib
import json
import math
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGED = "/usr/share/doc/smalt/test/data/hs37chrXtrunc.fa.gz"
BEGIN, END = "<!-- genomics_peers.py: begin -->", "<!-- genomics_peers.py: end -->"
T95 = [0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
       2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086]
KINDS = ("snp", "indel")


def say(text):
    print(f"genomics_peers: {text}", file=sys.stderr, flush=True)


# --- stages ---------------------------------------------------------------------------------------
def pipeline(commands, log, output=None):
    """Runs commands joined by pipes. Returns [{"program", "cpu_s", "peak_mb"}]; exits on failure."""
    processes, before = [], None
    with open(log, "wb") as errors:
        for index, command in enumerate(commands):
            last = index + 1 == len(commands)
            sink = (open(output, "wb") if output else subprocess.DEVNULL) if last else subprocess.PIPE
            process = subprocess.Popen(command, stdin=before or subprocess.DEVNULL, stdout=sink,
                                       stderr=errors)
            if before:
                before.close()
            before = process.stdout
            processes.append(process)
            if last and output:
                sink.close()
    stages, failed = [], None
    for command, process in zip(commands, processes):
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            failed = failed or f"{shlex.join(command)}: exit {process.returncode}, see {log}"
        stages.append({"program": name_of(command), "cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
                       "peak_mb": round(usage.ru_maxrss / 1000)})
    if failed:
        sys.exit(f"genomics_peers: {failed}")
    return stages


def name_of(command):
    words = [os.path.basename(command[0])] + command[1:2]
    return " ".join(words) if words[0] in ("samtools", "bcftools", "symph", "bwa") else words[0]


def total(stages):
    return sum(stage["cpu_s"] for stage in stages)


def peak(stages):
    return max(stage["peak_mb"] for stage in stages)


class Bench:
    """Where things are, and what is there."""

    def __init__(self, arguments):
        self.arguments, self.work = arguments, os.path.abspath(arguments.work)
        self.symph = shlex.split(arguments.symph)
        os.makedirs(self.work, exist_ok=True)
        self.has = {name: bool(shutil.which(name)) for name in
                    ("bwa", "samtools", "bcftools", "freebayes", "snap-aligner", "minimap2")}
        self.missing = [name for name, there in self.has.items() if not there]
        for name in self.missing:
            say(f"{name} is missing: what needs it is left out")
        self.ref = self.reference()
        self.indexes = {}

    def path(self, *names):
        return os.path.join(self.work, *names)

    def reference(self):
        if self.arguments.ref:
            return os.path.abspath(self.arguments.ref)
        path = self.path("chrX70.fa")
        if not os.path.exists(path):
            if not os.path.exists(PACKAGED):
                sys.exit(f"genomics_peers: no {PACKAGED}: install smalt-examples, or name a reference by "
                         "--ref (and places in it by --places and --speed)")
            say(f"unpacking {PACKAGED}")
            with gzip.open(PACKAGED, "rt") as packed, open(path + ".part", "w") as plain:
                for line in packed:
                    plain.write(">X\n" if line.startswith(">") else line.upper())
            os.rename(path + ".part", path)
        return path

    def index(self):
        """Builds what is not there; built indexes are measured."""
        prefix = self.arguments.bwa_index or self.ref
        self.bwa_index, self.snap_index = prefix, self.path("snap")
        if self.has["bwa"] and not os.path.exists(prefix + ".bwt"):
            self.build("bwa", ["bwa", "index", "-p", prefix, self.ref])
        if self.has["snap-aligner"] and not os.path.exists(self.path("snap", "GenomeIndex")):
            self.build("snap-aligner", ["snap-aligner", "index", self.ref, self.snap_index, "-t1"])
        if self.has["samtools"] and not os.path.exists(self.ref + ".fai"):
            self.build("samtools", ["samtools", "faidx", self.ref])

    def build(self, name, command):
        say(f"{name}: index")
        self.indexes[name] = pipeline([command], self.path(f"index-{name}.log"))

    def call(self, words):
        done = subprocess.run(self.symph + words, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"genomics_peers: {shlex.join(self.symph + words)}: exit {done.returncode}: "
                     f"{done.stderr.strip()}")
        return done.stdout


# --- samples --------------------------------------------------------------------------------------
class Sample:
    """One simulated sample, and the results on it."""

    def __init__(self, bench, place, seed, keep):
        self.bench, self.place, self.seed, self.keep = bench, place, seed, keep
        self.name = place.replace(":", "_") + f"_s{seed}"
        self.folder = bench.path(self.name)
        os.makedirs(self.folder, exist_ok=True)
        bench.call(["genomics", "simulate", "--ref", bench.ref, "--region", place, "--seed", str(seed),
                    "--coverage", str(bench.arguments.coverage), "--out", self.path("s")])
        self.reads = [self.path("s_1.fq.gz"), self.path("s_2.fq.gz")]
        self.digest = hashlib.sha256(open(self.reads[0], "rb").read()).hexdigest()[:16]
        self.results = {}

    def path(self, name):
        return os.path.join(self.folder, name)

    def measure(self, name, commands, output=None, keep=False):
        """Keeps the stages' figures under name, if they are a peer's also in a file."""
        store = self.path(name + ".json")
        if keep and self.keep and os.path.exists(store):
            with open(store, encoding="utf-8") as file:
                old = json.load(file)
            if old["reads"] == self.digest and old["commands"] == commands:
                self.results[name] = old["stages"]
                return
        if os.path.exists(store):
            os.unlink(store)
        started = time.monotonic()
        stages = pipeline(commands, self.path(name + ".log"), output)
        say(f"{self.name}: {name}: {total(stages):.1f} CPU s, {time.monotonic() - started:.1f} s")
        self.results[name] = stages
        if keep:
            with open(store, "w", encoding="utf-8") as file:
                json.dump({"reads": self.digest, "commands": commands, "stages": stages}, file)

    def ours(self, name, cpus, bam=False):
        vcf = self.path(name + ".vcf.gz")
        command = self.bench.symph + ["call-variants", "--ref", self.bench.ref, "--reads"] + self.reads
        command += ["-o", vcf, "--cpus", str(cpus), "--cuda", "0", "--quiet"]
        command += ["--bam", self.path(name + ".bam")] if bam else []
        self.measure(name, [command])
        return vcf

    def align(self, aligner):
        """An aligner's sorted BAM file with duplicates marked; None: it is missing."""
        bench, bam = self.bench, self.path(aligner + ".bam")
        if not bench.has[aligner] or not bench.has["samtools"]:
            return None
        group = "@RG\\tID:s\\tSM:s"
        first = {"bwa": ["bwa", "mem", "-t", "1", "-R", group, bench.bwa_index] + self.reads,
                 "minimap2": ["minimap2", "-t", "1", "-R", group, "-ax", "sr", bench.ref] + self.reads,
                 "snap-aligner": ["snap-aligner", "paired", bench.snap_index] + self.reads
                                 + ["-R", group, "-t", "1", "-o", "-sam", "-"]}[aligner]
        self.measure(aligner, [
            first, ["samtools", "fixmate", "-u", "-m", "-", "-"],
            ["samtools", "sort", "-u", "-T", self.path(aligner + "-sort"), "-"],
            ["samtools", "markdup", "-T", self.path(aligner + "-dup"), "-", bam]], keep=True)
        return bam

    def bcftools(self, name, bam):
        vcf = self.path(name + ".vcf.gz")
        self.measure(name, [["bcftools", "mpileup", "-Ou", "-f", self.bench.ref, bam],
                            ["bcftools", "call", "-mv", "-Oz", "-o", vcf]], keep=True)
        return vcf

    def freebayes(self, name, bam):
        vcf = self.path(name + ".vcf")
        self.measure(name, [["freebayes", "-f", self.bench.ref, bam]], output=vcf, keep=True)
        return vcf

    def score(self, vcf, *more):
        answer = self.bench.call(["genomics", "score", "--ref", self.bench.ref, "--truth",
                                  self.path("s.truth.vcf.gz"), "--calls", vcf, "--strata",
                                  self.path("s.strata.bed"), "--region", self.place, "--json", *more])
        return {stratum.pop("where"): stratum for stratum in json.loads(answer)["strata"]}


# --- calls ----------------------------------------------------------------------------------------
def lines_of(path):
    with (gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf-8")) as file:
        yield from file


def info_of(fields):
    return dict(item.split("=", 1) for item in fields[7].split(";") if "=" in item)


def both_strands(info):
    if "DP4" in info:
        forward, reverse = map(int, info["DP4"].split(",")[2:])
        return forward > 0 and reverse > 0
    return all(max(map(int, info[key].split(","))) > 0 for key in ("SAF", "SAR"))


def filter_calls(path, out, coverage):
    """What a peer's calls are scored by: QUAL at least 20, depth, both strands."""
    with open(out, "w", encoding="utf-8") as file:
        for line in lines_of(path):
            fields = line.split("\t")
            if not line.startswith("#"):
                info = info_of(fields)
                if float(fields[5]) < 20 or int(info["DP"]) > 1.5 * coverage or not both_strands(info):
                    continue
            file.write(line)
    return out


def records(bench, path):
    """Exact records (contig, position, ref, alt) that the genotype carries, normalised."""
    done = subprocess.run(["bcftools", "norm", "-f", bench.ref, "-a", "-m", "-any", path],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"genomics_peers: bcftools norm {path}: {done.stderr.strip()}")
    found = set()
    for line in done.stdout.splitlines():
        if not line.startswith("#"):
            fields = line.split("\t")
            if fields[6] in ("PASS", ".") and "1" in fields[9].split(":")[0]:
                found.add((fields[0], int(fields[1]), fields[3], fields[4]))
    return found


def concordance(bench, sample, calls):
    """{"1101": count}: in which of ours, bcftools, freebayes, truth an exact record is."""
    sets = [records(bench, path) for path in calls + [sample.path("s.truth.vcf.gz")]]
    table = collections.Counter()
    for record in set().union(*sets):
        table["".join("1" if record in one else "0" for one in sets)] += 1
    return table


# --- places of reads ------------------------------------------------------------------------------
def places(bam):
    """{(name, end): (contig, position, quality)} of primary alignments; unmapped: contig "*"."""
    process = subprocess.Popen(["samtools", "view", "-F", "0x900", bam], stdout=subprocess.PIPE,
                               text=True)
    found = {}
    for line in process.stdout:
        name, flag, contig, position, quality, _ = line.split("\t", 5)
        flag = int(flag)
        name = name[:-2] if name[-2:] in ("/1", "/2") else name
        found[name, flag & 0xC0] = ("*" if flag & 4 else contig, int(position), int(quality))
    if process.wait():
        sys.exit(f"genomics_peers: samtools view {bam} failed")
    return found


def compare_places(one, other):
    """one beside other (bwa): counts of reads that other maps."""
    counts = collections.Counter()
    for key, (contig, position, quality) in other.items():
        mine = one.get(key)
        if contig == "*":
            continue
        counts["reads"] += 1
        if mine is None or mine[0] == "*":
            counts["unmapped"] += 1
        elif mine[0] == contig and abs(mine[1] - position) <= 50:
            counts["near"] += 1
        else:
            counts["apart"] += 1
            counts["apart_both_sure"] += quality >= 20 and mine[2] >= 20
    return counts


# --- runs -----------------------------------------------------------------------------------------
def accuracy(bench, place, seed, first):
    """One held-out sample: calls of all, scores, concordance of calls and of places. minimap2, of which
    no calls are made, aligns the first sample of each place only."""
    sample = Sample(bench, place, seed, bench.arguments.keep)
    calls = {"ours": sample.ours("ours", 1, bam=True)}
    aligners = ("bwa", "snap-aligner") + (("minimap2",) if first else ())
    bams = {aligner: sample.align(aligner) for aligner in aligners}
    raw = {}
    for aligner, caller in (("bwa", "bcftools"), ("bwa", "freebayes"), ("snap-aligner", "bcftools")):
        if bams[aligner] and bench.has[caller]:
            name = f"{aligner}+{caller}"
            raw[name] = getattr(sample, caller)(name, bams[aligner])
            calls[name] = filter_calls(raw[name], sample.path(name + ".filtered.vcf"),
                                       bench.arguments.coverage)
    result = {"place": place, "seed": seed, "reads": sample.digest, "stages": sample.results,
              "scores": {name: sample.score(path) for name, path in calls.items()},
              "unfiltered": {name: sample.score(path, "--all", "--quality", "20")
                             for name, path in dict(raw, ours=calls["ours"]).items()}}
    if "bwa+bcftools" in calls and "bwa+freebayes" in calls:
        result["concordance"] = concordance(
            bench, sample, [calls["ours"], calls["bwa+bcftools"], calls["bwa+freebayes"]])
    if bams["bwa"]:
        base = places(bams["bwa"])
        bams["ours"] = sample.path("ours.bam")
        result["places"] = {name: compare_places(places(bam), base) for name, bam in bams.items()
                            if bam and name != "bwa"}
    return result


def speed(bench, text):
    """FASTQ to VCF of one larger sample, by all, in one run: nothing is kept from an earlier one."""
    place, seed = text.rsplit("/", 1)
    sample = Sample(bench, place, int(seed), False)
    vcf = sample.ours("ours, 1 core", 1)
    chains = {"ours, 1 core": ["ours, 1 core"]}
    calls = {"ours, 1 core": vcf}
    for aligner in ("snap-aligner", "bwa"):
        bam = sample.align(aligner)
        for caller in ("bcftools", "freebayes"):
            if bam and bench.has[caller] and (aligner, caller) != ("snap-aligner", "freebayes"):
                name = f"{aligner}+{caller}"
                calls[name] = filter_calls(getattr(sample, caller)(name, bam),
                                           sample.path(name + ".filtered.vcf"),
                                           bench.arguments.coverage)
                chains[name] = [aligner, name]
    calls["ours, 2 cores"] = sample.ours("ours, 2 cores", 2)
    chains["ours, 2 cores"] = ["ours, 2 cores"]
    same = lines_without_header(vcf) == lines_without_header(calls["ours, 2 cores"])
    return {"place": place, "seed": int(seed), "reads": sample.digest, "same_calls": same,
            "chains": {name: [stage for part in parts for stage in sample.results[part]]
                       for name, parts in chains.items()},
            "scores": {name: sample.score(path) for name, path in calls.items()}}


def lines_without_header(path):
    return [line for line in lines_of(path) if not line.startswith("#")]


# --- tables ---------------------------------------------------------------------------------------
def interval(values):
    """Mean and half of the 95 % interval, by Student's t."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return mean, math.nan
    t = T95[min(len(values) - 1, len(T95) - 1)]
    return mean, t * statistics.stdev(values) / math.sqrt(len(values))


def show(values, digits=4):
    mean, half = interval(values)
    return f"{mean:.{digits}f}" + ("" if math.isnan(half) else f" ± {half:.{digits}f}")


def f1_table(results, key):
    names = list(results[0][key])
    rows = ["| calls | SNP F1 | indel F1 | SNPs missed, false | indels missed, false |",
            "|---|---:|---:|---:|---:|"]
    for name in sorted(names, key=lambda n: n != "ours"):
        alls = [r[key][name]["all"] for r in results]
        cells = [show([a[kind]["f1"] for a in alls]) for kind in KINDS]
        cells += [", ".join(f"{sum(a[kind][what] for a in alls):,}" for what in ("missed", "false"))
                  for kind in KINDS]
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return rows


def difference_table(results):
    rows = ["| ours less | SNP F1 | indel F1 |", "|---|---:|---:|"]
    for name in results[0]["scores"]:
        if name != "ours":
            cells = [show([r["scores"]["ours"]["all"][kind]["f1"] - r["scores"][name]["all"][kind]["f1"]
                           for r in results]) for kind in KINDS]
            rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return rows


def strata_table(results):
    names = sorted(results[0]["scores"], key=lambda n: n != "ours")
    rows = ["| where | kind | of the truth | " + " | ".join(f"{n}: missed, false" for n in names) + " |",
            "|---|---|---:|" + "---:|" * len(names)]
    for where in sorted(set().union(*(r["scores"]["ours"] for r in results)) - {"all"}):
        for kind in KINDS:
            def count(name, what):
                return sum(r["scores"][name][where][kind][what] for r in results
                           if where in r["scores"][name])
            truth = count("ours", "found") + count("ours", "missed")
            rows.append(f"| {where} | {kind} | {truth:,} | " + " | ".join(
                f"{count(n, 'missed'):,}, {count(n, 'false'):,}" for n in names) + " |")
    return rows


def concordance_table(results):
    table = sum((collections.Counter(r["concordance"]) for r in results), collections.Counter())
    rows = ["| ours | bcftools | freebayes | truth | records |", "|:-:|:-:|:-:|:-:|---:|"]
    for key in sorted(table, reverse=True):
        rows.append("| " + " | ".join("x" if bit == "1" else "" for bit in key) + f" | {table[key]:,} |")
    return rows


def places_table(results):
    rows = ["| aligner | of bwa's reads within 50 bases | elsewhere, MAPQ of both at least 20 | not aligned |",
            "|---|---:|---:|---:|"]
    for name in sorted(results[0]["places"], key=lambda n: n != "ours"):
        each = [collections.Counter(r["places"][name]) for r in results if name in r["places"]]
        counts = sum(each, collections.Counter())
        rows.append(f"| {name} | {100 * counts['near'] / counts['reads']:.3f} % (at least "
                    f"{100 * min(e['near'] / e['reads'] for e in each):.3f} %) | "
                    f"{counts['apart_both_sure']:,} of {counts['reads']:,} | {counts['unmapped']:,} |")
    return rows


def cpu_table(results):
    rows = ["| stage | CPU s a sample |", "|---|---:|"]
    for name in results[0]["stages"]:
        rows.append(f"| {name} | {show([total(r['stages'][name]) for r in results if name in r['stages']], 1)} |")
    return rows


def speed_table(result):
    ours = total(result["chains"]["ours, 1 core"])
    rows = ["| FASTQ to VCF | CPU s | ours, 1 core, is | peak of one process, MB | SNP F1 | indel F1 | of which |",
            "|---|---:|---:|---:|---:|---:|---|"]
    for name, stages in result["chains"].items():
        score = result["scores"][name]["all"]
        rows.append(f"| {name} | {total(stages):.1f} | {ours / total(stages):.2f} x | {peak(stages):,} | "
                    + " | ".join(f"{score[kind]['f1']:.4f}" for kind in KINDS) + " | "
                    + ", ".join(f"{s['program']} {s['cpu_s']:.1f}" for s in stages) + " |")
    return rows


def document(answer, bench):
    arguments, results = bench.arguments, answer["accuracy"]
    text = [BEGIN, "", f"Made by `{answer['command']}` on {answer['date']}, commit {answer['commit']}; "
            f"{answer['machine']['processor']}, {answer['machine']['cores']} cores, load {answer['machine']['load']:.1f} at the start; "
            + ", ".join(answer["versions"]) + ".",
            "**The reads are simulated, by a simulator of the same authors as the caller** (`symph genomics "
            "simulate`): nothing here is a result on real samples.", ""]
    if bench.missing:
        text += ["Missing, and left out: " + ", ".join(bench.missing) + ".", ""]
    if results:
        text += ["### Accuracy on held-out places", "",
                 f"Samples: {len(results)}; {', '.join(sorted({r['place'] for r in results}))}, seeds "
                 f"{', '.join(map(str, sorted({r['seed'] for r in results})))}, {arguments.coverage:g}x, reads "
                 "placed against the whole reference. Means and 95 % intervals over samples; counts are sums. "
                 "Peers filtered: QUAL at least 20, depth at most 1.5 times the coverage, both strands.", ""]
        text += f1_table(results, "scores") + ["", "The same sample by sample:", ""]
        text += difference_table(results) + ["", "Without filters (QUAL at least 20 only):", ""]
        text += f1_table(results, "unfiltered") + ["", "By stratum (within 20 bases of it):", ""]
        text += strata_table(results) + [""]
        if all("concordance" in r for r in results):
            text += ["Who calls what: exact records after `bcftools norm -a -m -any`, genotypes aside; what is "
                     "written otherwise counts apart.", ""] + concordance_table(results) + [""]
        if all("places" in r for r in results):
            text += ["### Places of reads, beside bwa", ""] + places_table(results) + [""]
        text += ["CPU seconds of the stages (ours with a BAM file here; aligners with fixmate, sort and "
                 "markdup):", ""] + cpu_table(results) + [""]
    if answer["speed"]:
        one = answer["speed"]
        text += ["### CPU time, FASTQ to VCF", "", f"{one['place']}, seed {one['seed']}, {arguments.coverage:g}x, in "
                 "one run, indexes there before; samtools markdup compresses the BAM file it writes. Calls "
                 "with 1 and with 2 cores "
                 + ("are the same." if one["same_calls"] else "**differ**."), ""] + speed_table(one) + [""]
    return text + [END]


def write(answer, bench):
    os.makedirs(bench.arguments.out, exist_ok=True)
    path = os.path.join(bench.arguments.out, "genomics.md")
    old = open(path, encoding="utf-8").read() if os.path.exists(path) else "# Variant calling beside its peers\n\n"
    new = "\n".join(document(answer, bench))
    if BEGIN in old and END in old:
        old = old[:old.index(BEGIN)] + new + old[old.index(END) + len(END):]
    else:
        old += new + "\n"
    with open(path, "w", encoding="utf-8") as file:
        file.write(old)
    with open(os.path.join(bench.arguments.out, "genomics.json"), "w", encoding="utf-8") as file:
        json.dump(answer, file, indent=1)
        file.write("\n")


# --- the whole ------------------------------------------------------------------------------------
def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.machine()


def commit():
    done = subprocess.run(["git", "-C", HERE, "rev-parse", "--short", "HEAD"], capture_output=True,
                          text=True)
    return done.stdout.strip() or None


def versions(bench):
    """As the tools themselves say."""
    found = []
    for name, words in (("bwa", []), ("snap-aligner", []), ("minimap2", ["--version"]),
                        ("samtools", ["--version"]), ("bcftools", ["--version"]), ("freebayes", ["--version"])):
        if bench.has[name]:
            done = subprocess.run([name] + words, capture_output=True, text=True, errors="replace",
                                  stdin=subprocess.DEVNULL)
            said = [word.strip(".,v") for word in (done.stdout + done.stderr).replace(":", " ").split()
                    if word.strip("v")[:1].isdigit() and "." in word]
            found.append(f"{name} {said[0] if said else '?'}")
    return found


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("symph", help="the command; may be several words")
    parser.add_argument("--ref", metavar="FASTA", help="default: that of smalt-examples, unpacked")
    parser.add_argument("--places", default="X:30000001-32000000,X:45000001-47000000",
                        help="where samples differ from the reference (default %(default)s: away from what the "
                             "caller was tuned on, X:20-25 Mb)")
    parser.add_argument("--seeds", default="101,102,103", help="at each place (default %(default)s); '': none")
    parser.add_argument("--coverage", type=float, default=30)
    parser.add_argument("--speed", default="X:20000001-25000000/7", metavar="PLACE/SEED",
                        help="the sample of the speed table (default %(default)s: 1 M reads); '': none")
    parser.add_argument("--work", default="genomics-peers", metavar="FOLDER", help="for files; some 10 GB")
    parser.add_argument("--bwa-index", metavar="PREFIX", help="one that is there")
    parser.add_argument("--keep", action="store_true", help="take peers' results of an earlier run")
    parser.add_argument("-o", "--out", metavar="FOLDER", help="docs/bench; default: print the tables")
    return parser.parse_args()


def main():
    arguments = parse()
    bench = Bench(arguments)
    bench.index()
    answer = {"schema": "symph-genomics-peers-1", "date": datetime.date.today().isoformat(),
              "commit": commit(), "command": "bench/genomics_peers.py " + told(),
              "machine": {"cores": os.cpu_count(), "processor": processor(), "load": os.getloadavg()[1]},
              "versions": versions(bench), "missing": bench.missing, "indexes": bench.indexes,
              "simulated": True, "accuracy": [], "speed": None}
    if arguments.speed:
        answer["speed"] = speed(bench, arguments.speed)
    seeds = list(filter(None, arguments.seeds.split(",")))
    for seed in seeds:
        for place in arguments.places.split(","):
            answer["accuracy"].append(accuracy(bench, place, int(seed), seed == seeds[0]))
    if arguments.out:
        write(answer, bench)
    else:
        print("\n".join(document(answer, bench)))


def told():
    """The command line, without the folders of this machine."""
    return " ".join(os.path.basename(word) if word.startswith("/") else word for word in sys.argv[1:])


if __name__ == "__main__":
    main()
