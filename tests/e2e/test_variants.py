# SPDX-License-Identifier: Apache-2.0
"""symph call-variants: the same bytes wherever tasks run, clear errors, nothing half written."""
import glob
import gzip
import json
import os
import random
import re
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

    def test_no_reads(self):
        empty = self.write("empty.fq", "")
        packed = os.path.join(self.folder, "empty.fq.gz")
        gzip.open(packed, "wb").close()
        for reads in [[empty], [empty, packed]]:
            text = self.call("a.vcf.gz", reads=reads)
            self.assertEqual(self.lines(text), [])
            self.assertTrue(text.startswith("##fileformat=VCF"))
            self.assertIn("\tFORMAT\tx\n", text)

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


class Rejected(Case):
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
    def start(self):
        """Reads come through a pipe that gives half of them and then waits."""
        os.mkfifo(os.path.join(self.folder, "pipe.fq"))
        process = subprocess.Popen(
            [cli.SYMPH, "call-variants", "--ref", made("s.fa"), "--reads", "pipe.fq", "-o",
             "k.vcf.gz", "--batch", "500", "--cuda", "0", "--quiet"],
            cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        pipe = os.open(os.path.join(self.folder, "pipe.fq"), os.O_WRONLY)
        self.addCleanup(os.close, pipe)
        with gzip.open(made("s_1.fq.gz"), "rb") as file:
            os.write(pipe, b"".join(file.read().splitlines(keepends=True)[:4 * 150]))
        while not glob.glob(os.path.join(self.folder, "k.vcf.gz.*.partial")):
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
