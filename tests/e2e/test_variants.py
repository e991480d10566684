# SPDX-License-Identifier: Apache-2.0
"""symph call-variants: the same bytes wherever tasks run, clear errors, nothing half written."""
import glob
import gzip
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import cli

MADE = None  # a folder with a made-up sample, made once


def setUpModule():
    global MADE
    holder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(holder.cleanup)
    os.environ["HOME"] = os.environ["STARPU_HOME"] = holder.name
    os.environ["XDG_STATE_HOME"] = os.environ["XDG_CACHE_HOME"] = holder.name
    done = subprocess.run([cli.SYMPH, "genomics", "simulate", "--random", "200000", "--coverage",
                           "20", "--out", os.path.join(holder.name, "s")],
                          capture_output=True, text=True)
    if "symph-genomics is missing" in done.stderr:
        raise unittest.SkipTest("htslib was not found when this symph was built")
    if done.returncode:
        raise AssertionError(done.stderr)
    done = subprocess.run([cli.SYMPH, "kernels"], capture_output=True, text=True)
    if "genomics" not in done.stdout:
        raise unittest.SkipTest("no kernel plug-in genomics here")
    MADE = holder.name


def made(name):
    return os.path.join(MADE, name)


class Case(cli.Case):
    def call(self, out, *args, env=None, reads=None, ref=None):
        """Calls the made-up sample, or other files; the output's text."""
        files = reads or [made("s_1.fq.gz"), made("s_2.fq.gz")]
        done = self.run_symph("call-variants", "--ref", ref or made("s.fa"), "--reads", *files,
                              "-o", out, "--sample", "x", "--cuda", "0", *args, env=env)
        self.assertEqual(done.returncode, 0, f"{args}: {done.stderr}")
        return self.vcf(out)

    def vcf(self, name):
        """Its text without the line that names the inputs."""
        data = self.read(name)
        text = (gzip.decompress(data) if name.endswith(".gz") else data).decode()
        return re.sub(r"^##symphCommand=.*\n", "", text, flags=re.M)

    def lines(self, text):
        return [line for line in text.splitlines() if not line.startswith("#")]

    def rejects(self, code, *args, ref=None, out="no.vcf.gz"):
        """One line of error; no output and nothing left over."""
        before = sorted(os.listdir(self.folder))
        text = self.fails(code, "call-variants", "--ref", ref or made("s.fa"), *args, "-o", out)
        self.assertEqual(text.count("\n"), 1, text)
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        return text

    def records(self, path):
        """Those of a FASTQ file."""
        with (gzip.open if path.endswith(".gz") else open)(os.path.join(self.folder, path), "rt") as file:
            lines = file.read().splitlines(keepends=True)
        return ["".join(lines[i:i + 4]) for i in range(0, len(lines), 4)]

    def head(self, name, records, out, skip=0):
        with gzip.open(made(name), "rt") as file:
            lines = file.read().splitlines(keepends=True)[4 * skip:4 * (skip + records)]
        return self.write(out, "".join(lines))


class SameBytes(Case):
    def test_the_default_policy_is_named(self):
        done = self.run_symph("call-variants", "--ref", made("s.fa"), "--reads", made("s_1.fq.gz"),
                              made("s_2.fq.gz"), "-o", "x.vcf.gz")
        self.assertRegex(done.stdout, r"policy +symphony, StarPU")

    def test_wherever_tasks_run(self):
        want = self.call("want.vcf.gz", "--cpus", "1", "--bam", "want.bam")
        self.assertGreater(len(self.lines(want)), 200)
        data, bam = self.read("want.vcf.gz"), self.read("want.bam")
        for policy in ["eager", "dmdas", "lb-cont", "symphony", "starpu:eager"]:
            self.call("got.vcf.gz", "--cpus", "2", "--policy", policy)
            self.assertEqual(self.read("got.vcf.gz"), data, policy)
        self.call("got.vcf.gz", "--batch", "700", "--bam", "got.bam")
        self.assertEqual(self.read("got.vcf.gz"), data, "small batches")
        self.assertEqual(self.read("got.bam"), bam, "small batches")
        self.call("got.vcf.gz", "--batch", "1000000", "--memory", "1MB")
        self.assertEqual(self.read("got.vcf.gz"), data, "one batch, reads wait in a file")
        self.assertEqual(self.call("got.vcf"), want, "not compressed")
        self.assertEqual(glob.glob(os.path.join(self.folder, "*.partial*")), [])

    def test_without_wide_instructions(self):
        reads = [self.head("s_1.fq.gz", 3000, "a.fq"), self.head("s_2.fq.gz", 3000, "b.fq")]
        want = self.call("want.vcf", reads=reads)
        self.assertNotEqual(self.lines(want), [])
        self.assertEqual(self.call("got.vcf", reads=reads, env={"SYMPH_SIMD": "plain"}), want)

    def test_with_opencl(self):
        want = self.call("want.vcf")
        done = self.run_symph("call-variants", "--ref", made("s.fa"), "--reads", made("s_1.fq.gz"),
                              made("s_2.fq.gz"), "-o", "got.vcf", "--sample", "x", "--cuda", "0",
                              "--opencl", "1", "--policy", "eager", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        devices = [device for device in json.loads(done.stdout)["devices"]
                   if device["device"].startswith("opencl")]
        if not devices:
            self.skipTest("no OpenCL device here")
        self.assertGreater(devices[0]["tasks"], 0)
        self.assertEqual(self.vcf("got.vcf"), want)

    def test_plain_and_compressed_reads(self):
        plain = [self.head("s_1.fq.gz", 10**6, "a.fq"), self.head("s_2.fq.gz", 10**6, "b.fq")]
        self.assertEqual(self.call("a.vcf", reads=plain), self.call("b.vcf"))

    def test_reference_in_lower_case(self):
        with open(made("s.fa"), encoding="utf-8") as file:
            name, rest = file.read().split("\n", 1)
        ref = self.write("soft.fa", name + "\n" + rest.lower())
        self.assertEqual(self.call("a.vcf", ref=ref), self.call("b.vcf"))


class Inputs(Case):
    def test_score(self):
        self.call("a.vcf.gz")
        score = self.ok_json("genomics", "score", "--ref", made("s.fa"), "--truth",
                             made("s.truth.vcf.gz"), "--calls", "a.vcf.gz")
        self.assertGreater(score["strata"][0]["snp"]["f1"], 0.9)

    @unittest.skipUnless(shutil.which("bcftools"), "no bcftools here")
    def test_bcftools(self):
        text = self.call("a.vcf.gz")
        done = subprocess.run(["bcftools", "view", "-H", "a.vcf.gz", "made_up:1-100000"],
                              cwd=self.folder, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        near = [line for line in self.lines(text) if int(line.split("\t")[1]) <= 100000]
        self.assertEqual(len(done.stdout.splitlines()), len(near))

    @unittest.skipUnless(shutil.which("samtools"), "no samtools here")
    def test_samtools(self):
        self.call("a.vcf", "--bam", "a.bam")
        for command in ["quickcheck", "idxstats", "flagstat"]:
            done = subprocess.run(["samtools", command, "a.bam"], cwd=self.folder,
                                  capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), command)
        self.assertIn("26666 + 0 primary\n", done.stdout)

    def test_reads_without_a_place(self):
        """They stand in the BAM, alone or beside their mate, and change nothing in the VCF."""
        rng = random.Random(5)
        files = []
        for end in (1, 2):
            with gzip.open(made(f"s_{end}.fq.gz"), "rt") as lines:
                text = "".join(line for _, line in zip(range(4 * 4000), lines))
            for i in range(200):
                strange = i < 100 or end == 2  # of the second hundred only one mate
                known = text.splitlines()[4 * i + 1]
                bases = "".join(rng.choice("ACGT") for _ in known) if strange else known
                text += f"@strange{i}\n{bases}\n+\n{'I' * len(bases)}\n"
            files.append(f"odd_{end}.fq")
            self.write(files[-1], text)
        self.assertEqual(self.call("without.vcf", reads=files),
                         self.call("with.vcf", "--bam", "with.bam", reads=files))
        if shutil.which("samtools"):
            count = subprocess.run(["samtools", "view", "-c", "with.bam"], cwd=self.folder, capture_output=True,
                                   text=True, check=True).stdout
            self.assertEqual(int(count), 2 * 4200)

    def test_regions_at_borders_of_bins(self):
        """What lies in the intervals is the same whether the rest is looked at or not."""
        whole = self.lines(self.call("whole.vcf"))
        border = 98304  # where the second bin begins
        for start, end in ((border, border + 3000), (border - 3000, border)):
            self.write("part.bed", f"made_up\t{start}\t{end}\n")
            part = self.lines(self.call("part.vcf", "--regions", "part.bed"))
            self.assertEqual(part, [line for line in whole if start < int(line.split("\t")[1]) <= end])

    def test_regions(self):
        bed = self.write("r.bed", "# comment\nmade_up\t20000\t60000\nmade_up\t150000\t150500\n")
        inside = [line for line in self.lines(self.call("all.vcf"))
                  if 20000 < int(line.split("\t")[1]) <= 60000
                  or 150000 < int(line.split("\t")[1]) <= 150500]
        self.assertEqual(self.lines(self.call("some.vcf", "--regions", bed)), inside)
        self.assertIn("r.bed:1", self.rejects(
            3, "--reads", made("s_1.fq.gz"), "--regions", self.write("r.bed", "elsewhere\t1\t2\n")))

    def test_two_samples(self):
        self.write("t.tsv", "".join(
            f"{name}\t{made('s_1.fq.gz')}\t{second}\t{name}.vcf.gz\t-\n"
            for name, second in [("x", made("s_2.fq.gz")), ("y", "-")]))
        told = self.ok_json("call-variants", "--ref", made("s.fa"), "--samples", "t.tsv")
        self.assertEqual(told["schema"], "symph-call-variants-1")
        self.assertEqual(self.vcf("x.vcf.gz"), self.call("a.vcf"))
        single = self.call("b.vcf", "--batch", "300", reads=[made("s_1.fq.gz")])
        self.assertGreater(len(self.lines(single)), 100)
        self.assertEqual(self.lines(self.vcf("y.vcf.gz")), self.lines(single))

    def test_bases_that_are_not_known(self):
        self.write("n.fa", ">n\n" + "N" * 5000 + "\n>m\n" + "NNNNACGTRYKM" * 300 + "\n")
        reads = self.write("n.fq", "@a\n" + "N" * 100 + "\n+\n" + "#" * 100 + "\n@b\nacgtNN\n+\nIIIIII\n"
                           "@c\n\n+\n\n")
        self.assertEqual(self.lines(self.call("n.vcf", "--bam", "n.bam", reads=[reads],
                                              ref=os.path.join(self.folder, "n.fa"))), [])

    def test_many_contigs(self):
        numbers = random.Random(1)
        contigs = ["".join(numbers.choices("ACGT", k=400)) for _ in range(10000)]
        self.write("many.fa", "".join(f">c{i}\n{text}\n" for i, text in enumerate(contigs)))
        place = contigs[7777]
        changed = place[:200] + ("A" if place[200] != "A" else "C") + place[201:]
        self.write("many.fq", "".join(f"@r{i}\n{changed[i * 10:i * 10 + 150]}\n+\n{'I' * 150}\n"
                                      for i in range(6, 20)))
        text = self.call("many.vcf.gz", reads=["many.fq"], ref="many.fa")
        self.assertEqual(text.count("##contig="), 10000)
        self.assertEqual([line.split("\t")[:2] for line in self.lines(text)], [["c7777", "201"]])


    def test_interleaved(self):
        """Both ends in one file, one after the other: the same bytes as from two files."""
        pair = [self.head(f"s_{end}.fq.gz", 2500, f"{end}.fq") for end in (1, 2)]
        records = [self.records(path) for path in pair]
        both = "".join(a + b for a, b in zip(*records))
        want = self.call("want.vcf", reads=pair)
        self.assertNotEqual(self.lines(want), [])
        self.write("both.fq", both)
        for args in ([], ["--batch", "3"], ["--interleaved", "--batch", "700"]):
            self.assertEqual(self.call("got.vcf", *args, reads=["both.fq"]), want, args)
        told = self.ok("call-variants", "--ref", made("s.fa"), "--reads", "both.fq", "-o", "x.vcf")
        self.assertIn("both.fq has both ends of pairs", told)
        self.assertNotEqual(self.call("single.vcf", reads=[pair[0]]), want)
        self.assertIn("1.fq:5: read ", self.rejects(3, "--reads", "1.fq", "--interleaved"))
        self.assertIn("--interleaved", self.rejects(2, "--reads", *pair, "--interleaved"))
        self.write("odd.fq", both + records[0][-1])
        self.assertIn("ends within a pair", self.rejects(3, "--reads", "odd.fq", "--interleaved"))

    def test_old_qualities(self):
        """Phred+64 is noticed, and read where it is asked for."""
        text = "".join(self.records(self.head("s_1.fq.gz", 3000, "usual.fq")))
        lines = text.splitlines(keepends=True)
        lines[3::4] = ["".join(chr(min(ord(c) + 31, 105)) for c in line.rstrip("\n")) + "\n"
                       for line in lines[3::4]]
        self.write("old.fq", "".join(lines))
        self.assertIn("old.fq:4: qualities from ", self.rejects(3, "--reads", "old.fq"))
        self.assertEqual(self.call("a.vcf", "--phred", "64", reads=["old.fq"]),
                         self.call("b.vcf", reads=["usual.fq"]))
        self.call("c.vcf", "--phred", "33", reads=["old.fq"])
        self.rejects(2, "--reads", "old.fq", "--phred", "50")

    def test_another_reference(self):
        """A reference of the same size and time, but with other bases, is another one."""
        with open(made("s.fa"), encoding="utf-8") as file:
            text = file.read()
        other = text.replace("\nA", "\nC")
        self.assertTrue(other != text and len(other) == len(text))
        reads = [self.head("s_1.fq.gz", 1500, "a.fq")]
        found = []
        for content in (text, other):
            self.write("r.fa", content)
            os.utime(os.path.join(self.folder, "r.fa"), ns=(10**18, 10**18))
            found.append(self.lines(self.call("a.vcf", reads=reads, ref="r.fa")))
        self.assertNotEqual(*found)
        told = self.ok("call-variants", "--ref", "r.fa", "--reads", "a.fq", "-o", "a.vcf")
        self.assertRegex(told, r"index +found")


class Formats(Case):
    def test_bcf(self):
        text = self.call("a.vcf")
        self.ok("call-variants", "--ref", made("s.fa"), "--reads", made("s_1.fq.gz"), made("s_2.fq.gz"),
                "-o", "a.bcf", "--sample", "x", "--cuda", "0")
        self.assertEqual(gzip.decompress(self.read("a.bcf"))[:5], b"BCF\2\2")
        self.assertTrue(os.path.exists(os.path.join(self.folder, "a.bcf.csi")))
        score = self.ok_json("genomics", "score", "--ref", made("s.fa"), "--truth",
                             made("s.truth.vcf.gz"), "--calls", "a.bcf")
        self.assertEqual(score, self.ok_json("genomics", "score", "--ref", made("s.fa"), "--truth",
                                             made("s.truth.vcf.gz"), "--calls", "a.vcf"))
        if shutil.which("bcftools"):
            done = subprocess.run(["bcftools", "view", "-H", "a.bcf"], cwd=self.folder,
                                  capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(done.stdout.splitlines(), self.lines(text))

    def test_cram(self):
        shutil.copy(made("s.fa"), self.folder)
        self.call("a.vcf", "--bam", "a.cram", ref="s.fa")
        self.assertEqual(self.read("a.cram")[:4], b"CRAM")
        self.assertTrue(os.path.exists(os.path.join(self.folder, "a.cram.crai")))
        if shutil.which("samtools"):
            self.call("a.vcf", "--bam", "a.bam")
            texts = [subprocess.run(["samtools", "view", "-T", "s.fa", name], cwd=self.folder,
                                    capture_output=True, text=True, check=True).stdout.splitlines()
                     for name in ("a.cram", "a.bam")]
            self.assertEqual(*[[line.split("\t")[:11] for line in lines] for lines in texts])
        with open(made("s.fa"), "rb") as plain, gzip.open(os.path.join(self.folder, "s.fa.gz"), "wb") as packed:
            packed.write(plain.read())
        self.assertIn("for CRAM the reference must not be compressed", self.rejects(
            3, "--reads", made("s_1.fq.gz"), "--bam", "b.cram", "--index", "", ref="s.fa.gz"))

    def test_standard_output(self):
        reads = ["--reads", self.head("s_1.fq.gz", 2000, "a.fq")]
        want = self.call("a.vcf", reads=reads[1:])
        done = self.run_symph("call-variants", "--ref", made("s.fa"), *reads, "-o", "-", "--sample", "x")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(re.sub(r"^##symphCommand=.*\n", "", done.stdout, flags=re.M), want)
        self.assertIn("removed by filters", done.stderr)
        self.assertNotIn("-", os.listdir(self.folder))
        quiet = self.run_symph("call-variants", "--ref", made("s.fa"), *reads, "-o", "-", "--quiet")
        self.assertEqual((quiet.returncode, quiet.stderr), (0, ""))
        self.assertIn("\tFORMAT\tsample\n", quiet.stdout)
        self.assertIn("--json", self.rejects(2, *reads, "--json", out="-"))
        self.assertIn("--bam", self.rejects(2, *reads, "--bam", "-"))

    def test_nothing_is_left_of_standard_output(self):
        """Whether nobody reads it any more, or the disk is full."""
        self.head("s_1.fq.gz", 2000, "a.fq")
        os.mkdir(os.path.join(self.folder, "tmp"))
        command = (f"'{cli.SYMPH}' call-variants --ref '{made('s.fa')}' --reads a.fq -o - --quiet --cuda 0; "
                   "echo $? >code")
        env = {**os.environ, "TMPDIR": os.path.join(self.folder, "tmp")}
        for end, code in (("| true", b"0"), (">/dev/full", b"1")):
            subprocess.run(f"({command}) {end}", shell=True, cwd=self.folder, env=env, check=False,
                           stderr=subprocess.DEVNULL)
            self.assertEqual(self.read("code").strip(), code, end)
            self.assertEqual(os.listdir(os.path.join(self.folder, "tmp")), [], end)

    def test_names_that_say_otherwise(self):
        reads = ["--reads", made("s_1.fq.gz")]
        for name in ("no.bam", "no.BAM", "no.bcf.gz"):
            self.assertIn(name, self.rejects(3, *reads, out=name))
        self.assertIn("no.sam", self.rejects(3, *reads, "--bam", "no.sam"))

    def test_names_in_capitals(self):
        shutil.copy(made("s.fa"), self.folder)
        reads = ["--reads", self.head("s_1.fq.gz", 500, "a.fq")]
        for out, bam in (("A.BCF", "A.CRAM"), ("A.VCF.GZ", "A.BAM")):
            self.ok("call-variants", "--ref", "s.fa", *reads, "-o", out, "--bam", bam)
        self.assertEqual(self.read("A.CRAM")[:4], b"CRAM")
        for name, head in (("A.BCF", b"BCF\2\2"), ("A.VCF.GZ", b"##fileformat"), ("A.BAM", b"BAM\1")):
            self.assertEqual(gzip.decompress(self.read(name))[:len(head)], head)

    def test_names_in_headers(self):
        """What a header cannot hold is refused, from wherever it comes."""
        reads = ["--reads", self.head("s_1.fq.gz", 100, "a.fq")]
        for name in ("a\tb\nc", "a\x1b[31m", "a\u009bb"):
            self.assertIn("the name of a sample", self.rejects(3, *reads, "--sample", name))
        self.assertIn("--sample NAME", self.rejects(3, *reads, out="a\tb.vcf"))
        self.assertIn("ASCII", self.rejects(3, *reads, "--sample", "M\u00fcller", "--bam", "a.bam"))
        self.write("t.tsv", "# samples\nx\x01\ta.fq\t-\tx.vcf\n")
        self.assertIn("t.tsv:2: the name of a sample", self.fails(
            3, "call-variants", "--ref", made("s.fa"), "--samples", "t.tsv"))
        for name in ('chr,=<>"a', "=a", "a\x01b", "a\\b"):
            self.write("bad.fa", f">{name}\n" + "ACGT" * 100 + "\n")
            self.assertIn("bad.fa:1:", self.rejects(3, *reads, ref="bad.fa"))
        # Any file name will do, and stays in its line.
        ref = self.write("r\n#CHROM\tx.fa", open(made("s.fa"), encoding="utf-8").read())
        text = self.run_symph("call-variants", "--ref", ref, *reads, "-o", "a.vcf")
        self.assertEqual(text.returncode, 0, text.stderr)
        head = [line for line in self.read("a.vcf").decode().splitlines() if line.startswith("#")]
        self.assertEqual(sum(not line.startswith("##") for line in head), 1)
        self.assertIn("%0A#CHROM%09x.fa", "".join(head))


class Depth(Case):
    """The filter of depth knows only what is covered, around a site and in its contig."""

    def filters(self, text):
        counts = {}
        for line in self.lines(text):
            fields = line.split("\t")
            counts.setdefault(fields[0], []).append(fields[6])
        return counts

    def simulate(self, name, *args):
        self.ok("genomics", "simulate", "--out", name, *args)
        return [f"{name}_1.fq.gz", f"{name}_2.fq.gz"]

    def found(self, ref, truth, calls, *args):
        score = self.ok_json("genomics", "score", "--ref", ref, "--truth", truth, "--calls", calls, *args)
        counts = [score["strata"][0][kind] for kind in ("snp", "indel")]
        return sum(c["found"] for c in counts), sum(c["missed"] for c in counts), sum(c["false"] for c in counts)

    def test_small_reference(self):
        reads = self.simulate("e", "--random", "30000", "--easy")
        self.call("e.vcf", reads=reads, ref="e.fa")
        found, missed, wrong = self.found("e.fa", "e.truth.vcf.gz", "e.vcf")
        self.assertGreaterEqual(found, 42)
        self.assertLessEqual(missed + wrong, 1)

    def test_contigs_of_other_depths(self):
        """Beside the made-up sample: a short contig, 20 times as deep."""
        deep = self.simulate("m", "--random", "16569", "--coverage", "400", "--seed", "5", "--easy")
        with open(os.path.join(self.folder, "m.fa"), encoding="utf-8") as file:
            contig = file.read().replace(">made_up", ">deep")
        with open(made("s.fa"), encoding="utf-8") as file:
            self.write("both.fa", file.read() + contig)
        for end in (1, 2):
            with open(os.path.join(self.folder, f"both_{end}.fq.gz"), "wb") as both:
                for part in (made(f"s_{end}.fq.gz"), os.path.join(self.folder, deep[end - 1])):
                    with open(part, "rb") as file:
                        both.write(file.read())
        counts = self.filters(self.call("both.vcf", reads=["both_1.fq.gz", "both_2.fq.gz"], ref="both.fa"))
        alone = self.filters(self.call("alone.vcf", reads=deep, ref="m.fa"))["made_up"]
        self.assertGreater(counts["deep"].count("PASS"), 15)
        self.assertNotIn("Depth", counts["deep"])
        self.assertEqual(counts["deep"], alone)
        self.assertLessEqual(counts["made_up"].count("Depth"), 5)

    def test_panel(self):
        """Islands of coverage, with and without --regions."""
        islands = [(start, start + 3000) for start in range(5000, 190000, 16000)]
        for end in (1, 2):
            kept = []
            for record in self.records(made(f"s_{end}.fq.gz")):
                at = int(record.split(":")[2].split("/")[0])
                if any(low - 300 <= at < high for low, high in islands):
                    kept.append(record)
            self.write(f"p_{end}.fq", "".join(kept))
        self.write("p.bed", "".join(f"made_up\t{low}\t{high}\n" for low, high in islands))
        for args in ([], ["--regions", "p.bed"]):
            counts = self.filters(self.call("p.vcf", *args, reads=["p_1.fq", "p_2.fq"]))["made_up"]
            self.assertGreater(counts.count("PASS"), 25)
            self.assertLessEqual(counts.count("Depth"), 1, counts)

    def test_copies(self):
        """A copy that the reference lacks is what the filter is for; and it says what it does."""
        rng = random.Random(8)
        contig = "".join(rng.choices("ACGT", k=100000))
        change = {"A": "C", "C": "G", "G": "T", "T": "A"}
        copied = list(contig[40000:55000])
        for at in range(50, 15000, 60):
            copied[at] = change[copied[at]]
        donor = list(contig)
        for at in list(range(500, 39000, 900)) + list(range(56000, 99000, 900)):
            donor[at] = change[donor[at]]
        reads = []
        for text, depth in ((contig, 15), ("".join(donor), 15), ("".join(copied), 30)):
            for i in range(len(text) * depth // 100):
                at = rng.randrange(len(text) - 100)
                reads.append(f"@r{len(reads)}\n{text[at:at + 100]}\n+\n{'I' * 100}\n")
        self.write("c.fa", ">c\n" + contig + "\n")
        self.write("c.fq", "".join(reads))
        done = self.run_symph("call-variants", "--ref", "c.fa", "--reads", "c.fq", "-o", "c.vcf")
        self.assertEqual(done.returncode, 0, done.stderr)
        inside, outside = [], []
        for line in self.lines(self.vcf("c.vcf")):
            fields = line.split("\t")
            (inside if 40000 < int(fields[1]) <= 55000 else outside).append(fields[6])
        self.assertGreater(inside.count("Depth"), 0.95 * len(inside))
        self.assertGreater(len(inside), 200)
        self.assertGreaterEqual(outside.count("PASS"), 88)
        self.assertRegex(done.stdout, r"removed by filters: \d+ LowQual, 2\d\d Depth, \d+ Strand")
        self.assertRegex(done.stderr, r"symph: warning: c: the filter Depth removed 2\d\d of 3\d\d calls")
        told = self.ok_json("call-variants", "--ref", "c.fa", "--reads", "c.fq", "-o", "c.vcf", "--quiet")
        self.assertEqual([note["key"] for note in told["notes"]].count("warning"), 1)


class Real(Case):
    """Reads of HG002 with the truth of Genome in a Bottle, where SYMPH_DATA has them."""

    def setUp(self):
        super().setUp()
        self.data = os.path.join(os.environ.get("SYMPH_DATA", ""), "genomics")
        if not os.path.exists(os.path.join(self.data, "hg002_1.fq.gz")):
            print("skipped: SYMPH_DATA has no genomics/hg002_1.fq.gz")
            self.skipTest("no real reads here")

    def inside(self, name, out):
        """The lines of a VCF file that begin in the benchmark's intervals."""
        with open(os.path.join(self.data, "hg002_truth.bed"), encoding="utf-8") as file:
            places = [(int(low), int(high)) for low, high in (line.split()[1:3] for line in file)]
        with gzip.open(name, "rt") as file:
            self.write(out, "".join(
                line for line in file if line.startswith("#") or
                any(low < int(line.split("\t")[1]) <= high for low, high in places)))

    def test_hg002(self):
        ref = os.path.join(self.data, "hg19.chr20.masked.fa.gz")
        reads = [os.path.join(self.data, f"hg002_{end}.fq.gz") for end in (1, 2)]
        self.inside(os.path.join(self.data, "hg002_truth.vcf.gz"), "truth.vcf")
        for args in ([], ["--regions", os.path.join(self.data, "hg002_truth.bed")]):
            self.call("hg002.vcf.gz", "--index", MADE, *args, reads=reads, ref=ref)
            self.inside(os.path.join(self.folder, "hg002.vcf.gz"), "calls.vcf")
            score = self.ok_json("genomics", "score", "--ref", ref, "--truth", "truth.vcf", "--calls",
                                 "calls.vcf")["strata"][0]
            print(args, score)
            self.assertEqual(score["snp"]["found"] + score["snp"]["missed"], 204)
            self.assertGreaterEqual(score["snp"]["found"], 203)
            self.assertGreaterEqual(score["indel"]["found"], 27)
            self.assertLessEqual(score["snp"]["false"] + score["indel"]["false"], 1)


class Simulated(Case):
    """Files of symph genomics simulate appear together, complete, or not at all."""

    def test_full_disk(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (200000, resource.RLIM_INFINITY))
        done = subprocess.run([cli.SYMPH, "genomics", "simulate", "--random", "2000000", "--coverage", "10000",
                               "--out", "x"], cwd=self.folder, capture_output=True, text=True, preexec_fn=limit)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("cannot write x", done.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen([cli.SYMPH, "genomics", "simulate", "--random", "1000000", "--coverage",
                                        "10000", "--out", "x"], cwd=self.folder, stderr=subprocess.PIPE, text=True)
            while not glob.glob(os.path.join(self.folder, "x_1.fq.gz.*.partial")):
                self.assertIsNone(process.poll(), "it ended too early")
                time.sleep(0.01)
            self.assertFalse(os.path.exists(os.path.join(self.folder, "x_1.fq.gz")))
            process.send_signal(number)
            _, text = process.communicate(timeout=60)
            self.assertEqual((process.returncode, text), (128 + number, "symph: interrupted\n"))
            self.assertEqual(os.listdir(self.folder), [])

    def test_no_folder(self):
        self.assertIn("no/x_1.fq.gz", self.fails(1, "genomics", "simulate", "--random", "2000", "--out", "no/x"))


class Rejected(Case):
    def test_no_reads(self):
        empty = self.write("empty.fq", "")
        packed = os.path.join(self.folder, "empty.fq.gz")
        gzip.open(packed, "wb").close()
        for reads in [[empty], [packed], [empty, packed], [self.write("blank.fq", "\n\n\n")]]:
            self.assertIn("there is no read in it", self.rejects(3, "--reads", *reads))

    def test_bytes(self):
        """What is not a base is named, with its place, in letters that no terminal obeys."""
        for base, said in (("\0", "byte 0x00"), ("\x1b", "byte 0x1B"), ("*", "'*'"), ("\x80", "byte 0xC2")):
            self.write("b.fq", f"@a\nACGT\n+\nIIII\n@b\nAC{base}T\n+\nIII{'II' if base > '~' else 'I'}\n")
            self.assertIn(f"b.fq:6:3: {said} is not a base", self.rejects(3, "--reads", "b.fq"))
        self.write("b.fq", "@a\x1b]0;x\x07\nACGT\n+\nIIII\n")
        self.assertIn("byte 0x1B in the name", self.rejects(3, "--reads", "b.fq"))

    def test_long_lines(self):
        """A small file that unpacks to a line without an end."""
        for head, said in (("@a\n", "b.fq.gz:2: a read of more than 512 bases"),
                           ("@a", "b.fq.gz:1: a line of more than 8192 bytes")):
            with gzip.open(os.path.join(self.folder, "b.fq.gz"), "wt", compresslevel=1) as file:
                file.write(head)
                for _ in range(64):
                    file.write("A" * (1 << 20))
            self.assertIn(said, self.rejects(3, "--reads", "b.fq.gz"))
        self.head("s_1.fq.gz", 10, "a.fq")
        self.assertIn("a line of more than", self.rejects(3, "--reads", "a.fq", "--regions", "/dev/zero"))

    def test_reads(self):
        cut = os.path.join(self.folder, "cut.fq.gz")
        with open(made("s_1.fq.gz"), "rb") as whole, open(cut, "wb") as part:
            part.write(whole.read(50000))
        self.assertIn("cut.fq.gz: the compressed file ends too early",
                      self.rejects(3, "--reads", "cut.fq.gz", made("s_2.fq.gz")))
        self.head("s_1.fq.gz", 1000, "a.fq")
        self.head("s_2.fq.gz", 1000, "b.fq", skip=1)
        self.assertIn("b.fq:1: read ", self.rejects(3, "--reads", "a.fq", "b.fq"))
        self.head("s_2.fq.gz", 999, "b.fq")
        self.assertRegex(self.rejects(3, "--reads", "a.fq", "b.fq"), r"b\.fq:3997: .* ends before")
        self.write("b.fq", "@a\nACGT\n+\nIIII\n@b\nACGT\n+\nII\n")
        self.assertIn("b.fq:8: 4 bases, but 2 qualities", self.rejects(3, "--reads", "b.fq"))
        self.assertRegex(self.rejects(3, "--reads", made("s.fa")), r"s\.fa:1: .*looks like FASTA")
        self.assertIn("nowhere.fq", self.rejects(3, "--reads", "nowhere.fq"))
        self.assertIn("directory", self.rejects(3, "--reads", self.folder))
        self.assertIn("twice", self.rejects(2, "--reads", "a.fq", "a.fq"))

    def test_references(self):
        self.head("s_1.fq.gz", 10, "a.fq")
        self.assertIn("a.fq:1:1", self.rejects(3, "--reads", "a.fq", ref="a.fq"))
        self.assertIn("nowhere.fa", self.rejects(3, "--reads", "a.fq", ref="nowhere.fa"))
        self.write("empty.fa", "")
        self.assertIn("empty", self.rejects(3, "--reads", "a.fq", ref="empty.fa"))

    def test_outputs_that_are_the_same(self):
        for args in (["--bam", "no.vcf.gz"], ["--bam", made("s.fa")]):
            self.rejects(3, "--reads", made("s_1.fq.gz"), made("s_2.fq.gz"), *args)

    def test_tables(self):
        self.write("t.tsv", "# samples\nx\ta.fq\n")
        self.assertIn("t.tsv:2: 2 fields", self.fails(
            3, "call-variants", "--ref", made("s.fa"), "--samples", "t.tsv"))

    def test_outputs(self):
        self.head("s_1.fq.gz", 10, "a.fq")
        os.mkdir(os.path.join(self.folder, "d"))
        self.assertIn("d: it is a folder", self.rejects(1, "--reads", "a.fq", out="d"))
        self.assertIn("d: it is a folder", self.rejects(1, "--reads", "a.fq", "--bam", "d"))
        self.assertIn("no/a.vcf", self.rejects(1, "--reads", "a.fq", out="no/a.vcf"))
        self.assertIn("regular", self.rejects(1, "--reads", "a.fq", out="/dev/null"))

    @unittest.skipIf(os.geteuid() == 0, "root may write into every folder")
    def test_folder_that_is_not_writable(self):
        self.head("s_1.fq.gz", 10, "a.fq")
        os.mkdir(os.path.join(self.folder, "d"))
        os.chmod(os.path.join(self.folder, "d"), 0o500)
        self.assertIn("d/a.vcf", self.rejects(1, "--reads", "a.fq", out="d/a.vcf"))

    def test_what_to_do(self):
        for args in [[], ["--reads", "a", "b", "c"], ["--policy", "x"]]:
            self.fails(2, "call-variants", "--ref", made("s.fa"), *args, "-o", "no.vcf")


class Killed(Case):
    def start(self, out="k.vcf.gz", partial="k.vcf.gz.*.partial"):
        """Reads come through a pipe that gives half of them and then waits."""
        os.mkfifo(os.path.join(self.folder, "pipe.fq"))
        process = subprocess.Popen(
            [cli.SYMPH, "call-variants", "--ref", made("s.fa"), "--reads", "pipe.fq", "-o",
             out, "--batch", "500", "--cuda", "0", "--quiet"],
            cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "TMPDIR": self.folder})
        self.addCleanup(process.stderr.close)
        pipe = os.open(os.path.join(self.folder, "pipe.fq"), os.O_WRONLY)
        self.addCleanup(os.close, pipe)
        with gzip.open(made("s_1.fq.gz"), "rb") as file:
            os.write(pipe, b"".join(file.read().splitlines(keepends=True)[:4 * 150]))
        while not glob.glob(os.path.join(self.folder, partial)):
            self.assertIsNone(process.poll(), "it ended too early")
            time.sleep(0.01)
        return process

    def engine_of(self, process):
        for status in glob.glob("/proc/[0-9]*/status"):
            try:
                with open(status, encoding="utf-8") as file:
                    text = file.read()
            except OSError:
                continue
            if f"\nPPid:\t{process.pid}\n" in text:
                return int(re.search(r"\nPid:\t(\d+)", text)[1])
        return self.fail("the engine was not found")

    def check_again(self):
        self.assertFalse(os.path.exists(os.path.join(self.folder, "k.vcf.gz")))
        # An engine dies with its symph; its lock goes a moment later.
        deadline = time.monotonic() + 60
        left = ["-"]
        while left and time.monotonic() < deadline:
            self.call("k.vcf.gz", reads=[self.head("s_1.fq.gz", 500, "few.fq")])
            left = glob.glob(os.path.join(self.folder, "*.partial*"))
        self.assertEqual(left, [])

    def test_the_engine(self):
        process = self.start()
        os.kill(self.engine_of(process), signal.SIGKILL)
        _, text = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertIn("killed", text)
        self.check_again()

    def test_the_engine_for_standard_output(self):
        process = self.start("-", "symph-*/*.partial")
        os.kill(self.engine_of(process), signal.SIGKILL)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertEqual(os.listdir(self.folder), ["pipe.fq"])

    def test_symph(self):
        process = self.start()
        process.kill()
        process.communicate(timeout=60)
        self.check_again()

    def test_interrupt(self):
        process = self.start()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.check_again()


cli.main()
