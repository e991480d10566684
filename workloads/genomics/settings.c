/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings of a run: see settings.h.
 */
#include "genomics/settings.h"
#include "genomics/align/reader.h"
#include "genomics/names.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCH_DEFAULT = 10000, BATCH_MAX = 1000000, LINE_MOST = 1 << 16 };

static int no_memory(struct sy_error *error) {
    return guest_fail(error, -ENOMEM, NULL, "out of memory");
}

static int hex(char digit) {
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
           : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                                          : -1;
}

/* A copy with %2C and the like replaced; a percent sign that begins no such thing stays. */
static char *decode(const char *text, size_t length) {
    char *copy = malloc(length + 1);
    size_t out = 0;
    for (size_t i = 0; copy && i < length; i++) {
        if (text[i] == '%' && i + 2 < length && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0) {
            copy[out++] = (char)(hex(text[i + 1]) * 16 + hex(text[i + 2]));
            i += 2;
        } else {
            copy[out++] = text[i];
        }
    }
    if (copy) {
        copy[out] = '\0';
    }
    return copy;
}

static int parse_number(const char *key, const char *text, double low, double high,
                        double *ret_number, struct sy_error *error) {
    char *end = NULL;
    double number = strtod(text, &end);
    if (end == text || *end || !(number >= low && number <= high)) {
        return guest_fail(error, -EINVAL, NULL, "%s=%s: expected a number from %g to %g", key, text,
                          low, high);
    }
    *ret_number = number;
    return 0;
}

/* --- samples ------------------------------------------------------------------------------------
 */
static char *copy_or_none(const char *text) {
    return strcmp(text, "-") == 0 || !text[0] ? NULL : strdup(text);
}

static struct gn_sample_settings *add_sample(struct gn_settings *settings) {
    struct gn_sample_settings *grown =
        realloc(settings->list, (settings->count + 1u) * sizeof *settings->list);
    if (!grown) {
        return NULL;
    }
    settings->list = grown;
    grown[settings->count] = (struct gn_sample_settings){0};
    return &grown[settings->count++];
}

static int parse_sample(struct gn_settings *settings, const struct gn_reader *reader,
                        struct gn_line *line, struct sy_error *error) {
    char *fields[5] = {0}, *rest = line->text;
    uint32_t count = 0;
    while (rest && count < GUEST_COUNT(fields)) {
        fields[count++] = strsep(&rest, "\t");
    }
    if (count < 4 || rest || !fields[0][0] || !fields[1][0] || !fields[3][0]) {
        char message[64];
        snprintf(message, sizeof message, "%u fields where 4 or 5 are expected",
                 count + (rest != NULL));
        return gn_reader_fail(reader, error, -EBADMSG, message);
    }
    struct gn_sample_settings *sample = add_sample(settings);
    if (!sample) {
        return no_memory(error);
    }
    sample->line = (uint32_t)line->number;
    sample->name = strdup(fields[0]);
    sample->tenant = strdup(fields[0]); /* who sequences a sample waits for it */
    sample->reads1 = strdup(fields[1]);
    sample->reads2 = copy_or_none(fields[2]);
    sample->out = strdup(fields[3]);
    sample->bam = fields[4] ? copy_or_none(fields[4]) : NULL;
    return sample->name && sample->tenant && sample->reads1 && sample->out ? 0 : no_memory(error);
}

static int read_samples(struct gn_settings *settings, struct sy_error *error) {
    struct gn_reader *reader = NULL;
    struct gn_line line;
    int got = 0, code = gn_reader_open(settings->samples, LINE_MOST,
                                       "a line is: name, first file, second file or -, output, "
                                       "BAM or -; separated by tabs",
                                       &reader, error);
    while (code == 0 && (got = gn_reader_next(reader, &line, error)) > 0) {
        if (line.length && line.text[0] != '#') {
            code = strlen(line.text) == line.length
                       ? parse_sample(settings, reader, &line, error)
                       : gn_reader_fail(reader, error, -EBADMSG, "byte 0x00 in a table");
        }
    }
    gn_reader_close(reader);
    return code ? code : got;
}

/* --- the whole ----------------------------------------------------------------------------------
 */
static int set_number(struct gn_settings *settings, const char *key, const char *value,
                      struct sy_error *error) {
    double number = 0;
    int code = 0;
    if (strcmp(key, "memory") == 0) {
        code = parse_number(key, value, 1e6, 1e15, &number, error);
        settings->memory_bytes = (uint64_t)number;
    } else if (strcmp(key, "batch") == 0) {
        code = parse_number(key, value, 1, BATCH_MAX, &number, error);
        settings->batch = (uint32_t)number;
    } else if (strcmp(key, "interleaved") == 0) {
        code = parse_number(key, value, 0, 1, &number, error);
        settings->interleaved = number > 0;
    } else if (strcmp(key, "phred") == 0) {
        code = parse_number(key, value, 33, 64, &number, error);
        settings->phred = (uint32_t)number;
        if (code == 0 && settings->phred != 33 && settings->phred != 64) {
            code = guest_fail(error, -EINVAL, NULL, "phred=%s: expected 33 or 64", value);
        }
    } else {
        code = guest_fail(error, -EINVAL,
                          "ref, reads1, reads2, out, sample, tenant, bam, regions, samples, index, "
                          "memory, batch, interleaved, phred",
                          "genomics:call has no argument '%s'", key);
    }
    return code;
}

static int set_value(struct gn_settings *settings, struct gn_sample_settings *sample,
                     const char *key, char *value, struct sy_error *error) {
    const struct {
        const char *key;
        char **place;
    } texts[] = {
        {"ref", &settings->ref},         {"index", &settings->index},
        {"regions", &settings->regions}, {"samples", &settings->samples},
        {"command", &settings->command}, {"sample", &sample->name},
        {"tenant", &sample->tenant},     {"reads1", &sample->reads1},
        {"reads2", &sample->reads2},     {"out", &sample->out},
        {"bam", &sample->bam},
    };
    for (size_t i = 0; i < GUEST_COUNT(texts); i++) {
        if (strcmp(texts[i].key, key) == 0) {
            free(*texts[i].place);
            *texts[i].place = value;
            return 0;
        }
    }
    int code = set_number(settings, key, value, error);
    free(value);
    return code;
}

static int parse_all(const char *arguments, struct gn_settings *settings,
                     struct gn_sample_settings *sample, struct sy_error *error) {
    for (const char *at = arguments; *at;) {
        size_t length = strcspn(at, ",");
        const char *equals = memchr(at, '=', length);
        char key[32];
        if (!equals || (size_t)(equals - at) >= sizeof key) {
            return guest_fail(error, -EINVAL, "see symph call-variants --help",
                              "expected name=value in '%.*s'", (int)length, at);
        }
        snprintf(key, sizeof key, "%.*s", (int)(equals - at), at);
        char *value = decode(equals + 1, length - (size_t)(equals + 1 - at));
        int code = value ? set_value(settings, sample, key, value, error) : no_memory(error);
        if (code < 0) {
            return code;
        }
        at += length + (at[length] == ',');
    }
    return 0;
}

static void free_sample(struct gn_sample_settings *sample) {
    free(sample->name);
    free(sample->tenant);
    free(sample->reads1);
    free(sample->reads2);
    free(sample->out);
    free(sample->bam);
}

/* Takes over what one sample's arguments say. */
static int take_sample(struct gn_settings *settings, struct gn_sample_settings *sample,
                       struct sy_error *error) {
    if (!sample->reads1 || !sample->out) {
        return guest_fail(error, -EINVAL, "or samples=TABLE for several", "%s= is missing",
                          sample->reads1 ? "out" : "reads1");
    }
    sample->name = sample->name ? sample->name : strdup("sample");
    sample->tenant = sample->tenant ? sample->tenant : strdup("");
    struct gn_sample_settings *place = add_sample(settings);
    if (!sample->name || !sample->tenant || !place) {
        return no_memory(error);
    }
    *place = *sample;
    *sample = (struct gn_sample_settings){0};
    return 0;
}

/* Names go into headers, which cannot hold everything; formats follow from names of files. */
static int check_sample(const struct gn_sample_settings *sample, struct sy_error *error) {
    static const char *const not_calls[] = {".bam", ".cram", ".sam", ".bcf.gz"};
    static const char *const not_reads[] = {".sam", ".sam.gz", ".vcf", ".vcf.gz", ".bcf"};
    const char *wrong = gn_sample_wrong(sample->name, sample->bam != NULL);
    if (wrong) {
        return guest_fail(error, -EBADMSG, sample->line ? NULL : "give it another: --sample NAME",
                          "the name of a sample %s", wrong);
    }
    for (size_t i = 0; i < GUEST_COUNT(not_calls); i++) {
        if (gn_ends_with(sample->out, not_calls[i])) {
            return guest_fail(error, -EINVAL, "name it .vcf.gz, .vcf or .bcf",
                              "variants are not written as %s: %s", not_calls[i], sample->out);
        }
    }
    for (size_t i = 0; sample->bam && i < GUEST_COUNT(not_reads); i++) {
        if (gn_ends_with(sample->bam, not_reads[i])) {
            return guest_fail(error, -EINVAL, "name it .bam or .cram",
                              "alignments are not written as %s: %s", not_reads[i], sample->bam);
        }
    }
    if (strcmp(sample->out, "-") == 0 || (sample->bam && strcmp(sample->bam, "-") == 0)) {
        return guest_fail(error, -EINVAL, "give it a name",
                          "an output cannot go to standard output here");
    }
    return 0;
}

static int check_samples(const struct gn_settings *settings, struct sy_error *error) {
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < settings->count; i++) {
        code = check_sample(&settings->list[i], error);
        if (code < 0 && settings->list[i].line) {
            snprintf(error->file, sizeof error->file, "%s", settings->samples);
            error->line = settings->list[i].line;
        }
    }
    return code;
}

/* Every output is a file of its own, and none of them an input. */
static int check_outputs(const struct gn_settings *settings, struct sy_error *error) {
    for (uint32_t i = 0; i < settings->count; i++) {
        const struct gn_sample_settings *mine = &settings->list[i];
        const char *const outputs[2] = {mine->out, mine->bam};
        for (uint32_t j = 0; j < settings->count; j++) {
            const struct gn_sample_settings *other = &settings->list[j];
            const char *const taken[] = {j < i ? other->out : NULL, j <= i ? other->bam : NULL,
                                         other->reads1, other->reads2, settings->ref};
            for (size_t k = 0; k < GUEST_COUNT(taken); k++) {
                bool same =
                    taken[k] &&
                    (strcmp(outputs[0], taken[k]) == 0 ||
                     (outputs[1] && !(j == i && k == 1) && strcmp(outputs[1], taken[k]) == 0));
                if (same) {
                    return guest_fail(error, -EINVAL, "give every output its own name",
                                      "%s would be written over", taken[k]);
                }
            }
        }
    }
    return 0;
}

int gn_settings_parse(const char *arguments, struct gn_settings *ret_settings,
                      struct sy_error *error) {
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    struct gn_settings settings = {.batch = BATCH_DEFAULT, .memory_bytes = (uint64_t)(memory / 4)};
    struct gn_sample_settings sample = {0};
    int code = parse_all(arguments, &settings, &sample, error);
    if (code == 0 && !settings.ref) {
        code = guest_fail(error, -EINVAL, "see symph call-variants --help", "ref= is missing");
    }
    if (code == 0 && settings.samples) {
        code = read_samples(&settings, error);
    }
    if (code == 0 && (sample.reads1 || !settings.samples)) {
        code = take_sample(&settings, &sample, error);
    }
    if (code == 0 && !settings.count) {
        code = guest_fail(error, -EINVAL, NULL, "%s names no sample", settings.samples);
    }
    code = code ? code : check_samples(&settings, error);
    code = code ? code : check_outputs(&settings, error);
    free_sample(&sample);
    if (code < 0) {
        gn_settings_finish(&settings);
        return code;
    }
    *ret_settings = settings;
    return 0;
}

void gn_settings_finish(struct gn_settings *settings) {
    for (uint32_t i = 0; i < settings->count; i++) {
        free_sample(&settings->list[i]);
    }
    free(settings->list);
    free(settings->ref);
    free(settings->index);
    free(settings->regions);
    free(settings->samples);
    free(settings->command);
    *settings = (struct gn_settings){0};
}
