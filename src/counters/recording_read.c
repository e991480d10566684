/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader of "symph-counters-1", docs/counters-format.md.
 *
 * In: text of a stranger. Out: counters, pmus and samples, every index in range, every number
 * finite. Invariant: what is wrong is refused at its line and column; memory grows with the text.
 */
#include "counters/counters.h"
#include "counters/recording.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_MAX 1e300

struct reader {
    const char *file, *at, *end; /* at: the next character to read; end: of this line */
    const char *line_start;
    uint32_t line;
    struct sy_error *error;
    struct sy_recording *recording;
    struct sy_map counter_map, pmu_map;
    uint32_t counter_capacity, pmu_capacity, sample_capacity;
    uint32_t *seen; /* per counter: the last line that had it */
    uint32_t seen_capacity;
    double last_end_ns;
};

struct word {
    const char *text;
    size_t length;
};

__attribute__((format(printf, 3, 4))) static int fail(struct reader *reader, const char *where,
                                                      const char *format, ...) {
    uint32_t column = (uint32_t)(where - reader->line_start) + 1;
    va_list args;
    va_start(args, format);
    int code = sy_fail_list(reader->error, reader->file, reader->line, column, format, args);
    va_end(args);
    return code;
}

/* The next word of the line, empty at its end. */
static struct word next_word(struct reader *reader) {
    while (reader->at < reader->end && *reader->at == ' ') {
        reader->at++;
    }
    struct word word = {.text = reader->at};
    while (reader->at < reader->end && *reader->at != ' ') {
        reader->at++;
    }
    word.length = (size_t)(reader->at - word.text);
    return word;
}

static int need_word(struct reader *reader, const char *what, struct word *ret_word) {
    struct word word = next_word(reader);
    if (word.length == 0) {
        return fail(reader, word.text, "%s is missing", what);
    }
    *ret_word = word;
    return 0;
}

static bool is_word(struct word word, const char *text) {
    return word.length == strlen(text) && memcmp(word.text, text, word.length) == 0;
}

static int need_end(struct reader *reader) {
    struct word word = next_word(reader);
    return word.length ? fail(reader, word.text, "this line has one word too many") : 0;
}

static int need_number(struct reader *reader, struct word word, const char *what, double low,
                       double high, double *ret_value) {
    double value;
    if (!sy_parse_double(word.text, word.length, &value) || !(value >= low && value <= high)) {
        return fail(reader, word.text, "%s is '%.*s', not a number from %g to %g", what,
                    (int)(word.length < 40 ? word.length : 40), word.text, low, high);
    }
    *ret_value = value;
    return 0;
}

static int need_u32(struct reader *reader, struct word word, const char *what, uint32_t high,
                    uint32_t *ret_value) {
    uint64_t value;
    if (!sy_parse_u64(word.text, word.length, &value) || value > high) {
        return fail(reader, word.text, "%s is '%.*s', not a whole number up to %u", what,
                    (int)(word.length < 40 ? word.length : 40), word.text, high);
    }
    *ret_value = (uint32_t)value;
    return 0;
}

static int from_hex(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Characters of a word, with %xx and "-" undone; the arena owns them. */
static int decode(struct reader *reader, struct word word, const char **ret_text) {
    char *text = sy_arena_alloc(reader->recording->arena, word.length + 1, 1), *out = text;
    if (!text) {
        return sy_out_of_memory(reader->error);
    }
    for (size_t i = 0, length; !is_word(word, "-") && i < word.length; i += length) {
        const char *at = word.text + i;
        length = sy_utf8_length(at, word.length - i);
        if (*at == '%') {
            int high = i + 1 < word.length ? from_hex(at[1]) : -1;
            int low = i + 2 < word.length ? from_hex(at[2]) : -1;
            int value = high * 16 + low;
            if (high < 0 || low < 0 || value < 0x20 || value >= 0x7f) {
                return fail(reader, at, "%% must be followed by two digits 20 to 7e, as in %%20");
            }
            *out++ = (char)value;
            length = 3;
        } else if (length == 0 || (unsigned char)*at < 0x20 || *at == 0x7f) {
            return fail(reader, at, "a name cannot contain this character");
        } else {
            memcpy(out, at, length);
            out += length;
        }
    }
    *ret_text = text;
    return 0;
}

static int need_name(struct reader *reader, const char *what, bool may_be_empty,
                     const char **ret_text) {
    struct word word = {0};
    const char *text;
    int code = need_word(reader, what, &word);
    code = code ? code : decode(reader, word, &text);
    if (!code && !*text && !may_be_empty) {
        code = fail(reader, word.text, "%s may not be empty", what);
    }
    if (!code) {
        *ret_text = text;
    }
    return code;
}

/* One of the names; they are few. */
static int need_choice(struct reader *reader, const char *what, const char *const *names,
                       uint32_t count, uint32_t *ret_index) {
    struct word word = {0};
    int code = need_word(reader, what, &word);
    if (code) {
        return code;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (is_word(word, names[i])) {
            *ret_index = i;
            return 0;
        }
    }
    char copy[33] = "";
    memcpy(copy, word.text, word.length < 32 ? word.length : 32);
    const char *near = sy_nearest(copy, names, count);
    code = fail(reader, word.text, "'%s' is no %s", copy, what);
    sy_hint(reader->error, near ? "did you mean '%s'?" : "the first is '%s'",
            near ? near : names[0]);
    return code;
}

static int need_fresh(struct reader *reader, struct sy_map *map, const char *what,
                      const char *where, const char *name, uint32_t index) {
    int code = sy_map_put(map, name, strlen(name), index);
    if (code == -EEXIST) {
        return fail(reader, where, "there already is a %s '%s'", what, name);
    }
    return code ? sy_out_of_memory(reader->error) : 0;
}

/* pmu NAME SLOTS */
static int read_pmu(struct reader *reader) {
    struct sy_recording *recording = reader->recording;
    uint32_t index = recording->pmu_count;
    struct sy_pmu pmu;
    struct word word = {.text = reader->at};
    if (recording->counter_count || index == SY_RECORDING_LIMIT) {
        return fail(reader, reader->line_start,
                    recording->counter_count ? "pmus come before counters" : "too many pmus");
    }
    int code = need_name(reader, "the pmu's name", false, &pmu.name);
    code = code ? code : need_fresh(reader, &reader->pmu_map, "pmu", word.text, pmu.name, index);
    code = code ? code : need_word(reader, "the number of slots", &word);
    code = code ? code : need_u32(reader, word, "the number of slots", 1024, &pmu.slots);
    code = code ? code : need_end(reader);
    if (!code && sy_grow(&recording->pmus, &reader->pmu_capacity, index + 1, sizeof pmu)) {
        code = sy_out_of_memory(reader->error);
    }
    if (!code) {
        recording->pmus[recording->pmu_count++] = pmu;
    }
    return code;
}

static int need_pmu(struct reader *reader, uint32_t *ret_pmu) {
    struct word word = {0};
    const char *name;
    *ret_pmu = SY_PMU_NONE;
    int code = need_word(reader, "the pmu", &word);
    if (code || is_word(word, "-")) {
        return code;
    }
    code = decode(reader, word, &name);
    if (!code && !sy_map_get(&reader->pmu_map, name, strlen(name), ret_pmu)) {
        code = fail(reader, word.text, "there is no pmu '%s'", name);
    }
    return code;
}

static int read_what(struct reader *reader, struct sy_counter *counter) {
    static const char *const kinds[] = {"rate", "level", "share"};
    const char *scopes[SY_SCOPE_KERNEL + 1];
    uint32_t kind = 0, scope = 0;
    for (uint32_t i = 0; i < SY_COUNT(scopes); i++) {
        scopes[i] = sy_scope_name((enum sy_scope)i);
    }
    int code = need_choice(reader, "kind", kinds, SY_COUNT(kinds), &kind);
    code = code ? code : need_name(reader, "the unit", true, &counter->unit);
    code = code ? code : need_choice(reader, "scope", scopes, SY_COUNT(scopes), &scope);
    counter->kind = (enum sy_counter_kind)kind;
    counter->scope = (enum sy_scope)scope;
    return code;
}

/* What follows a counter's name: SOURCE EVENT KIND UNIT SCOPE INDEX NOISE PMU */
static int read_counter_words(struct reader *reader, struct sy_counter *counter) {
    struct word word = {0};
    int code = need_name(reader, "the source", true, &counter->source);
    code = code ? code : need_name(reader, "the event", true, &counter->event);
    code = code ? code : read_what(reader, counter);
    code = code ? code : need_word(reader, "the index", &word);
    code = code ? code : need_u32(reader, word, "the index", UINT32_MAX, &counter->scope_index);
    code = code ? code : need_word(reader, "the noise", &word);
    code = code ? code : need_number(reader, word, "the noise", 0, 1e6, &counter->noise_ratio);
    code = code ? code : need_pmu(reader, &counter->pmu);
    return code ? code : need_end(reader);
}

static int read_counter(struct reader *reader) {
    struct sy_recording *recording = reader->recording;
    uint32_t index = recording->counter_count;
    struct sy_counter counter = {0};
    const char *where = reader->at;
    if (recording->sample_count || index == SY_RECORDING_LIMIT) {
        return fail(reader, reader->line_start,
                    recording->sample_count ? "counters come before reads" : "too many counters");
    }
    int code = need_name(reader, "the counter's name", false, &counter.name);
    code = code ? code
                : need_fresh(reader, &reader->counter_map, "counter", where, counter.name, index);
    code = code ? code : read_counter_words(reader, &counter);
    if (!code &&
        (sy_grow(&recording->counters, &reader->counter_capacity, index + 1, sizeof counter) ||
         sy_grow(&reader->seen, &reader->seen_capacity, index + 1, sizeof(uint32_t)))) {
        code = sy_out_of_memory(reader->error);
    }
    if (!code) {
        reader->seen[index] = 0;
        recording->counters[recording->counter_count++] = counter;
    }
    return code;
}

static struct word cut(struct word *rest, char mark) {
    const char *at = memchr(rest->text, mark, rest->length);
    struct word first = *rest;
    first.length = at ? (size_t)(at - rest->text) : rest->length;
    size_t taken = first.length + (at ? 1 : 0);
    rest->text += taken;
    rest->length -= taken;
    return first;
}

/* ,r=0.25 and the like */
static int read_option(struct reader *reader, struct word option, struct sy_sample *sample) {
    struct word value = {option.text + 2, option.length - 2};
    if (option.length < 3 || option.text[1] != '=') {
        return fail(reader, option.text, "expected r=, n= or s= and a number");
    }
    switch (option.text[0]) {
    case SY_OPTION_RUNNING:
        return need_number(reader, value, "the running ratio", 1e-12, 1, &sample->running_ratio);
    case SY_OPTION_NOISE:
        return need_number(reader, value, "the noise", 0, 1e6, &sample->noise_ratio);
    case SY_OPTION_START:
        return need_number(reader, value, "the start", -SY_RECORDING_TIME_MAX, sample->end_ns,
                           &sample->start_ns);
    default:
        return fail(reader, option.text, "expected r=, n= or s= and a number");
    }
}

/* INDEX=VALUE[,r=RUNNING][,n=NOISE][,s=START] */
static int read_sample(struct reader *reader, struct word word, struct sy_sample sample) {
    struct sy_recording *recording = reader->recording;
    struct word index = cut(&word, '=');
    if (index.text + index.length == word.text) {
        return fail(reader, index.text, "expected a counter, '=' and a value");
    }
    int code = need_u32(reader, index, "the counter", UINT32_MAX, &sample.counter);
    if (!code && sample.counter >= recording->counter_count) {
        code = fail(reader, index.text, "there is no counter %u: there are %u, numbered from 0",
                    sample.counter, recording->counter_count);
    } else if (!code && reader->seen[sample.counter] == reader->line) {
        code = fail(reader, index.text, "counter %u appears twice in one read", sample.counter);
    }
    code = code ? code
                : need_number(reader, cut(&word, ','), "the value", 0, VALUE_MAX, &sample.value);
    while (!code && word.length) {
        code = read_option(reader, cut(&word, ','), &sample);
    }
    if (!code && (recording->sample_count == UINT32_MAX ||
                  sy_grow(&recording->samples, &reader->sample_capacity,
                          recording->sample_count + 1, sizeof sample))) {
        code = sy_out_of_memory(reader->error);
    }
    if (!code) {
        reader->seen[sample.counter] = reader->line;
        recording->samples[recording->sample_count++] = sample;
    }
    return code;
}

/* read END START SAMPLE... */
static int read_read(struct reader *reader) {
    struct sy_sample sample = {.running_ratio = 1};
    struct word word = {0};
    int code = need_word(reader, "the end of the window", &word);
    code = code ? code
                : need_number(reader, word, "the end of the window", -SY_RECORDING_TIME_MAX,
                              SY_RECORDING_TIME_MAX, &sample.end_ns);
    if (!code && !(sample.end_ns > reader->last_end_ns)) {
        code = fail(reader, word.text, "a read must end after the previous one");
    }
    code = code ? code : need_word(reader, "the start of the window", &word);
    code = code ? code
                : need_number(reader, word, "the start of the window", -SY_RECORDING_TIME_MAX,
                              sample.end_ns, &sample.start_ns);
    code = code ? code : need_word(reader, "a sample", &word);
    for (; !code && word.length; word = next_word(reader)) {
        code = read_sample(reader, word, sample);
    }
    reader->last_end_ns = sample.end_ns;
    return code;
}

static int read_line(struct reader *reader) {
    struct word word = next_word(reader);
    if (reader->line == 1) {
        return is_word(word, SY_RECORDING_SCHEMA)
                   ? need_end(reader)
                   : fail(reader, reader->line_start, "the first line must be '%s'",
                          SY_RECORDING_SCHEMA);
    }
    if (word.length == 0 || word.text[0] == '#') {
        return 0;
    }
    while (reader->at < reader->end && *reader->at == ' ') {
        reader->at++; /* so that errors point at the next word */
    }
    if (is_word(word, "read")) {
        return read_read(reader);
    }
    if (is_word(word, "counter")) {
        return read_counter(reader);
    }
    return is_word(word, "pmu") ? read_pmu(reader)
                                : fail(reader, word.text, "expected pmu, counter, read or #");
}

static int read_lines(struct reader *reader, const char *text, size_t length) {
    const char *end = text + length;
    int code = 0;
    do {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));
        reader->line++;
        reader->line_start = reader->at = text;
        reader->end = line_end ? line_end : end;
        code = read_line(reader);
        text = line_end ? line_end + 1 : end;
    } while (!code && text < end);
    if (!code && reader->recording->counter_count == 0) {
        reader->line_start = reader->at;
        code = fail(reader, reader->at, "the recording has no counters");
    }
    return code;
}

void sy_recording_destroy(struct sy_recording *recording) {
    if (recording) {
        free(recording->counters);
        free(recording->pmus);
        free(recording->samples);
        sy_arena_destroy(recording->arena);
        free(recording);
    }
}

int sy_recording_read(const char *file, const char *text, size_t length,
                      struct sy_recording **ret_recording, struct sy_error *error) {
    struct reader reader = {.file = file, .error = error, .last_end_ns = -INFINITY};
    reader.recording = calloc(1, sizeof *reader.recording);
    struct sy_arena *arena = sy_arena_create();
    if (!reader.recording || !arena) {
        free(reader.recording);
        sy_arena_destroy(arena);
        return sy_out_of_memory(reader.error);
    }
    reader.recording->arena = arena;
    int code = read_lines(&reader, text, length);
    sy_map_finish(&reader.counter_map);
    sy_map_finish(&reader.pmu_map);
    free(reader.seen);
    if (code) {
        sy_recording_destroy(reader.recording);
        return code;
    }
    *ret_recording = reader.recording;
    return 0;
}
