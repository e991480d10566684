/* SPDX-License-Identifier: Apache-2.0
 *
 * symph-genomics: what symph genomics runs. simulate makes samples whose variants are known; score
 * compares calls with them. A program of its own, so that symph itself needs no htslib. Help, and
 * messages about wrong usage, are the work of symph genomics (src/cli/genomics/genomics.c).
 */
#include "genomics/judge/files.h"
#include "genomics/judge/score.h"
#include "genomics/judge/variants.h"
#include <errno.h>
#include <getopt.h>
#include <htslib/hts_log.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_INPUT = 3, EXIT_USAGE = 2 };

struct options {
    const char *ref, *region, *out, *truth, *calls, *strata;
    double random, coverage, read_length, seed, quality;
    bool easy, all, json;
};

/* What of a name may reach a terminal, as in every error. */
struct shown {
    char text[1024];
};

static const char *show(const char *text, struct shown *shown) {
    struct sy_error error = {0};
    snprintf(error.message, sizeof error.message, "%s", text);
    return sy_error_format(&error, shown->text, sizeof shown->text);
}

static int fail(const char *format, const char *text) {
    struct shown shown;
    fprintf(stderr, "symph: ");
    fprintf(stderr, format, show(text, &shown));
    fprintf(stderr, "; see symph genomics --help\n");
    return EXIT_USAGE;
}

static int fail_with(const struct sy_error *error, int code) {
    char text[1024];
    fprintf(stderr, "symph: %s\n", sy_error_format(error, text, sizeof text));
    return code == -ENOMEM || code == -EIO || code == -ENOSPC ? EXIT_FAILURE : EXIT_INPUT;
}

/* --- arguments ----------------------------------------------------------------------------------
 */
static const struct option names[] = {
    {"ref", 1, NULL, 'r'},   {"region", 1, NULL, 'g'},   {"random", 1, NULL, 'n'},
    {"out", 1, NULL, 'o'},   {"coverage", 1, NULL, 'c'}, {"read-length", 1, NULL, 'l'},
    {"seed", 1, NULL, 's'},  {"easy", 0, NULL, 'e'},     {"truth", 1, NULL, 't'},
    {"calls", 1, NULL, 'k'}, {"strata", 1, NULL, 'b'},   {"quality", 1, NULL, 'q'},
    {"all", 0, NULL, 'a'},   {"json", 0, NULL, 'j'},     {"quiet", 0, NULL, 'Q'},
    {NULL, 0, NULL, 0},
};

static bool set_text(struct options *options, int letter, const char *text) {
    const struct {
        int letter;
        const char **place;
    } places[] = {{'r', &options->ref},   {'g', &options->region}, {'o', &options->out},
                  {'t', &options->truth}, {'k', &options->calls},  {'b', &options->strata}};
    for (size_t i = 0; i < GUEST_COUNT(places); i++) {
        if (places[i].letter == letter) {
            *places[i].place = text;
            return true;
        }
    }
    return false;
}

static int set_number(struct options *options, int letter, const char *text) {
    struct {
        int letter;
        double *place, low, high;
        bool whole;
    } places[] = {{'n', &options->random, 2000, 2e9, true},
                  {'c', &options->coverage, 0.01, 10000, false},
                  {'l', &options->read_length, 30, GN_READ_MAX, true},
                  {'s', &options->seed, 0, 9007199254740992.0, true},
                  {'q', &options->quality, 0, 1e9, false}};
    for (size_t i = 0; i < GUEST_COUNT(places); i++) {
        char *end = NULL;
        double value = strtod(text, &end);
        if (places[i].letter != letter) {
            continue;
        }
        bool whole = value >= 0 && value < 1e16 && (double)(uint64_t)value == value;
        if (end == text || *end || !(value >= places[i].low && value <= places[i].high) ||
            (places[i].whole && !whole)) {
            return fail("'%s' is not a valid number here", text);
        }
        *places[i].place = value;
    }
    return 0;
}

/* 0, or an exit code. */
static int parse(int argc, char **argv, struct options *options) {
    int letter, index = 0;
    opterr = 0;
    while ((letter = getopt_long(argc, argv, ":o:", names, &index)) != -1) {
        int code = 0;
        if (letter == '?') {
            return fail("unknown option %s", argv[optind - 1]);
        }
        if (letter == ':') {
            return fail("%s needs a value", argv[optind - 1]);
        }
        options->easy |= letter == 'e';
        options->all |= letter == 'a';
        options->json |= letter == 'j';
        if (optarg && !set_text(options, letter, optarg)) {
            code = set_number(options, letter, optarg);
        }
        if (code) {
            return code;
        }
    }
    return optind < argc ? fail("unexpected argument '%s'", argv[optind]) : 0;
}

/* "X", "X:101-200" (from 1, both ends included): the contig, and [start, end) in it. */
static int find_region(const struct gn_genome *genome, const char *region, uint32_t *ret_contig,
                       uint64_t *ret_start, uint64_t *ret_end) {
    size_t length = region ? strlen(region) : 0;
    unsigned long long from = 0, to = 0;
    const char *colon = region ? strrchr(region, ':') : NULL;
    if (colon && sscanf(colon + 1, "%llu-%llu", &from, &to) == 2) {
        length = (size_t)(colon - region);
    } else {
        colon = NULL;
    }
    for (uint32_t i = 0; i < genome->contig_count; i++) {
        const char *name = genome->names + genome->contigs[i].name;
        if (!region || (strlen(name) == length && memcmp(name, region, length) == 0)) {
            uint64_t end = genome->contigs[i].length;
            *ret_contig = i;
            *ret_start = colon ? from - 1 : 0;
            *ret_end = colon ? to : end;
            return (!colon || (from >= 1 && from <= to && to <= end)) ? 0 : -ERANGE;
        }
    }
    return -ENOENT;
}

/* --- simulate -----------------------------------------------------------------------------------
 */
/* A signal that would end the process is answered by removing what is half written; the same again
 * ends it at once. */
static volatile sig_atomic_t caught;

static void catch (int number) {
    caught = number;
}

static bool stops(void) {
    return caught != 0;
}

static void watch_signals(void) {
    struct sigaction action = {.sa_handler = catch, .sa_flags = (int)SA_RESETHAND};
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < GUEST_COUNT(signals); i++) {
        sigaction(signals[i], &action, NULL);
    }
}

static int simulate_codes(const struct options *options, const char *contig, uint64_t start,
                          const uint8_t *codes, uint32_t length) {
    struct gn_simulation simulation = {.contig = contig,
                                       .start = start,
                                       .reference = codes,
                                       .length = length,
                                       .made_up = options->random > 0,
                                       .stop = stops};
    struct gn_simulated made;
    struct sy_error error = {0};
    gn_donor_options_default(&simulation.donor);
    gn_sequencer_options_default(&simulation.sequencer);
    simulation.donor.seed = simulation.sequencer.seed = (uint64_t)options->seed;
    simulation.sequencer.coverage = options->coverage;
    simulation.sequencer.read_length = (uint32_t)options->read_length;
    if (options->easy) {
        simulation.donor.systematic_rate = simulation.donor.paralogs_per_megabase = 0;
    }
    watch_signals();
    int code = gn_simulate(&simulation, options->out, &made, &error);
    if (code < 0) {
        int result = fail_with(&error, code);
        return caught ? 128 + caught : result;
    }
    if (options->json) {
        printf("{\"schema\": \"symph-genomics-simulate-1\", \"pairs\": %llu, \"snps\": %llu, "
               "\"indels\": %llu, \"bases\": %u}\n",
               (unsigned long long)made.pairs, (unsigned long long)made.snps,
               (unsigned long long)made.indels, length);
        return 0;
    }
    struct shown out;
    printf("%s: %llu pairs of simulated reads; %llu SNPs and %llu indels in %u bases of %s\n",
           show(options->out, &out), (unsigned long long)made.pairs, (unsigned long long)made.snps,
           (unsigned long long)made.indels, length, contig);
    return 0;
}

static int simulate_random(const struct options *options) {
    uint32_t length = (uint32_t)options->random;
    uint8_t *codes = gn_random_reference(length, (uint64_t)options->seed);
    struct sy_error error = {0};
    int result = codes ? simulate_codes(options, "made_up", 0, codes, length)
                       : fail_with(&error, guest_fail(&error, -ENOMEM, NULL, "out of memory"));
    free(codes);
    return result;
}

static int simulate_region(const struct options *options) {
    struct gn_genome genome;
    struct sy_error error = {0};
    int code = gn_genome_read(options->ref, &genome, &error);
    if (code < 0) {
        return fail_with(&error, code);
    }
    uint32_t contig = 0;
    uint64_t start = 0, end = 0;
    int result;
    if (find_region(&genome, options->region, &contig, &start, &end) < 0) {
        result =
            fail("--region %s is not in the reference", options->region ? options->region : "");
    } else {
        uint32_t length = (uint32_t)(end - start);
        uint8_t *codes = malloc(length + 1u);
        if (codes) {
            gn_genome_codes(&genome, genome.contigs[contig].start + start, length, codes);
        }
        result = codes ? simulate_codes(options, genome.names + genome.contigs[contig].name, start,
                                        codes, length)
                       : EXIT_FAILURE;
        free(codes);
    }
    gn_genome_finish(&genome);
    return result;
}

static int simulate(const struct options *options) {
    if (!options->out) {
        return fail("%s is missing", "--out");
    }
    if ((options->ref != NULL) == (options->random > 0)) {
        return fail("name the reference with %s", "--ref, or generate one with --random");
    }
    return options->ref ? simulate_region(options) : simulate_random(options);
}

/* --- score --------------------------------------------------------------------------------------
 */
static const char *const kinds[GN_KIND_COUNT] = {"SNP", "indel"};

static void print_table(const struct gn_score *score) {
    printf("%-12s %-6s %9s %9s %9s %10s %8s %8s\n", "where", "kind", "found", "missed", "false",
           "precision", "recall", "F1");
    for (uint32_t s = 0; s < score->stratum_count; s++) {
        for (int k = 0; k < GN_KIND_COUNT; k++) {
            const struct gn_counts_of *counts = &score->counts[s][k];
            struct shown label;
            printf("%-12s %-6s %9llu %9llu %9llu %10.4f %8.4f %8.4f\n",
                   show(score->labels[s], &label), kinds[k], (unsigned long long)counts->found,
                   (unsigned long long)counts->missed, (unsigned long long)counts->wrong,
                   gn_precision(counts), gn_recall(counts), gn_f1(counts));
        }
    }
    if (isatty(STDOUT_FILENO)) {
        puts("found: true variants that were called; missed: those that were not; false: calls "
             "that are not true;\nprecision: found / all calls; recall: found / all true variants; "
             "F1: their harmonic mean.");
    }
}

static void print_json(const struct gn_score *score) {
    printf("{\"schema\": \"symph-genomics-score-1\", \"strata\": [");
    for (uint32_t s = 0; s < score->stratum_count; s++) {
        struct shown label;
        printf("%s\n  {\"where\": \"", s ? "," : "");
        for (const char *at = show(score->labels[s], &label); *at; at++) {
            printf(*at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
        }
        printf("\"");
        for (int k = 0; k < GN_KIND_COUNT; k++) {
            const struct gn_counts_of *counts = &score->counts[s][k];
            printf(", \"%s\": {\"found\": %llu, \"missed\": %llu, \"confirmed\": %llu, \"false\": "
                   "%llu, "
                   "\"precision\": %.6f, \"recall\": %.6f, \"f1\": %.6f}",
                   k == GN_SNP ? "snp" : "indel", (unsigned long long)counts->found,
                   (unsigned long long)counts->missed, (unsigned long long)counts->confirmed,
                   (unsigned long long)counts->wrong, gn_precision(counts), gn_recall(counts),
                   gn_f1(counts));
        }
        printf("}");
    }
    printf("\n]}\n");
}

static int score(const struct options *options) {
    const char *missing = !options->ref     ? "--ref"
                          : !options->truth ? "--truth"
                          : !options->calls ? "--calls"
                                            : NULL;
    if (missing) {
        return fail("%s is missing", missing);
    }
    struct gn_genome genome;
    struct gn_score result;
    struct sy_error error = {0};
    int code = gn_genome_read(options->ref, &genome, &error);
    if (code < 0) {
        return fail_with(&error, code);
    }
    struct gn_score_options how = {.quality = options->quality, .all = options->all};
    uint32_t contig = 0;
    if (options->region) {
        if (find_region(&genome, options->region, &contig, &how.start, &how.end) < 0) {
            gn_genome_finish(&genome);
            return fail("--region %s is not in the reference", options->region);
        }
        how.contig = genome.names + genome.contigs[contig].name;
    }
    code = gn_score_files(&genome, options->truth, options->calls, options->strata, &how, &result,
                          &error);
    gn_genome_finish(&genome);
    if (code < 0) {
        return fail_with(&error, code);
    }
    if (options->json) {
        print_json(&result);
    } else {
        print_table(&result);
    }
    return 0;
}

int main(int argc, char **argv) {
    struct options options = {.coverage = 30, .read_length = 150, .seed = 1};
    hts_set_log_level(HTS_LOG_OFF); /* what is wrong is told once, by us */
    bool simulates = argc > 1 && strcmp(argv[1], "simulate") == 0;
    if (!simulates && (argc < 2 || strcmp(argv[1], "score") != 0)) {
        return fail("%s is missing", "simulate or score");
    }
    int code = parse(argc - 1, argv + 1, &options);
    if (code) {
        return code;
    }
    code = simulates ? simulate(&options) : score(&options);
    return fflush(stdout) == 0 && !ferror(stdout) ? code : EXIT_FAILURE;
}
