/* SPDX-License-Identifier: Apache-2.0
 *
 * symph genomics: simulated samples, and the scoring of calls.
 *
 * In: arguments. Out: symph-genomics in the place of this process, a program of its own because it
 * needs htslib. Invariant: it is started with arguments that were checked here.
 */
#include "base/program.h"
#include "cli/cli.h"
#include "cli/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEED_MAX 9007199254740992.0

struct args {
    struct sy_common_args common;
    const char *ref, *region, *out, *truth, *calls, *strata;
    uint64_t random, seed;
    uint32_t read_length;
    double coverage, quality;
    bool easy, all;
};

#define AT(field) offsetof(struct args, field)

static const struct sy_option simulate_options[] = {
    {SY_OPTION_TEXT, "ref", "FASTA", AT(ref), "the reference"},
    {SY_OPTION_TEXT, "region", "CONTIG[:A-B]", AT(region),
     "the part of the reference to change and sequence (default: the first contig)"},
    {SY_OPTION_U64, "random", "LENGTH", AT(random),
     "generate a random reference of this length instead, and write PREFIX.fa", 2000, 2e9},
    {SY_OPTION_TEXT, "out", "PREFIX", AT(out), "the names of all files begin with this"},
    {SY_OPTION_NUMBER, "coverage", "X", AT(coverage), "mean depth (default 30)", 0.01, 10000},
    {SY_OPTION_U32, "read-length", "N", AT(read_length),
     "length of each read, in bases (default 150)", 30, 512},
    {SY_OPTION_U64, "seed", "N", AT(seed), "seed of the random numbers (default 1)", 0, SEED_MAX},
    {SY_OPTION_FLAG, "easy", NULL, AT(easy), "no paralogs and no systematic errors"},
    SY_OPTION_COMMON(struct args),
};

static const struct sy_command simulate = {
    .name = "genomics simulate",
    .usage = "--random LENGTH|--ref FASTA -o PREFIX [OPTION]...",
    .examples =
        "  symph genomics simulate --random 1000000 -o demo\n"
        "  symph genomics simulate --ref chrX.fa --region X:20000001-25000000 --seed 7 -o h5",
    .about =
        "Changes a reference at random into the genome of a donor, and simulates paired reads "
        "of it. Writes PREFIX_1.fq.gz, PREFIX_2.fq.gz, PREFIX.truth.vcf.gz and "
        "PREFIX.strata.bed (regions that are hard on purpose); all of them appear when all are "
        "complete. Results on simulated reads say little about real samples.",
    .options = simulate_options,
    .option_count = SY_COUNT(simulate_options),
};

static const struct sy_option score_options[] = {
    {SY_OPTION_TEXT, "ref", "FASTA", AT(ref), "the reference"},
    {SY_OPTION_TEXT, "truth", "VCF", AT(truth), "the true variants"},
    {SY_OPTION_TEXT, "calls", "VCF", AT(calls), "the variants that were called"},
    {SY_OPTION_TEXT, "strata", "BED", AT(strata),
     "count these regions separately, by the label in the fourth column"},
    {SY_OPTION_TEXT, "region", "CONTIG[:A-B]", AT(region),
     "count only variants that begin in this region"},
    {SY_OPTION_NUMBER, "quality", "Q", AT(quality), "ignore calls of lower quality (default 0)", 0,
     1e9},
    {SY_OPTION_FLAG, "all", NULL, AT(all), "also count calls that fail a filter"},
    SY_OPTION_COMMON(struct args),
};

static const struct sy_command score = {
    .name = "genomics score",
    .usage = "--ref FASTA --truth VCF --calls VCF [OPTION]...",
    .examples = "  symph genomics score --ref demo.fa --truth demo.truth.vcf.gz --calls out.vcf.gz",
    .about = "Compares called variants with the true ones by the sequences that they make, "
             "genotypes included.",
    .options = score_options,
    .option_count = SY_COUNT(score_options),
};

/* command: as the program is told which of its two it is to do. */
static int start(char *command, int argc, char **argv) {
    char path[4096];
    if (!sy_program_find("symph-genomics", "workloads/genomics", path, sizeof(path))) {
        sy_message_fail(
            "%s is missing: htslib, libdeflate or xxhash was not found when symph was built, or "
            "not all of symph was copied (install libhts-dev, zlib1g-dev, "
            "libdeflate-dev and libxxhash-dev, and build again)",
            path);
        return SY_EXIT_FAILED;
    }
    char **words = sy_need(calloc((size_t)argc + 2, sizeof *words));
    words[0] = path;
    words[1] = command;
    memcpy(words + 2, argv + 1, (size_t)(argc - 1) * sizeof *words);
    execv(path, words);
    sy_message_fail("cannot start %s: %s", path, strerror(errno));
    free(words);
    return SY_EXIT_FAILED;
}

static int run_simulate(int argc, char **argv) {
    struct args args = {0};
    int r = SY_EXIT_OK;
    if (!sy_options_parse(&simulate, argc, argv, &args, &r)) {
        return r;
    }
    if (!args.out || !args.out[0]) {
        return sy_options_usage(&simulate, "say what the names of the files begin with: -o PREFIX");
    }
    if ((args.ref != NULL) == (args.random > 0)) {
        return sy_options_usage(&simulate,
                                "name a reference with --ref FASTA, or generate one with "
                                "--random LENGTH%s",
                                args.ref ? ", not both" : "");
    }
    return start(argv[0], argc, argv);
}

static int run_score(int argc, char **argv) {
    struct args args = {0};
    int r = SY_EXIT_OK;
    if (!sy_options_parse(&score, argc, argv, &args, &r)) {
        return r;
    }
    const char *missing = !args.ref     ? "--ref FASTA"
                          : !args.truth ? "--truth VCF"
                          : !args.calls ? "--calls VCF"
                                        : NULL;
    if (missing) {
        return sy_options_usage(&score, "%s is missing", missing);
    }
    return start(argv[0], argc, argv);
}

static const struct sy_group_entry entries[] = {
    {"simulate", run_simulate, "make a sample whose variants are known"},
    {"score", run_score, "compare called variants with the true ones"},
};

static const struct sy_commands group = {
    .name = "symph genomics",
    .examples = "  symph genomics simulate --random 1000000 -o demo\n"
                "  symph genomics score --ref demo.fa --truth demo.truth.vcf.gz --calls out.vcf.gz",
    .entries = entries,
    .entry_count = SY_COUNT(entries),
};

int sy_cmd_genomics(int argc, char **argv) {
    return sy_group_run(&group, argc, argv);
}
