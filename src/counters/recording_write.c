/* SPDX-License-Identifier: Apache-2.0
 *
 * Writer of "symph-counters-1", docs/counters-format.md.
 *
 * In: counters, pmus, samples. Out: text that sy_recording_read reads back bit by bit. Invariant:
 * one line per end of a window, in order.
 */
#include "counters/counters.h"
#include "counters/recording.h"
#include <math.h>
#include <string.h>

/* One word: no spaces, never empty. What no recording may hold becomes a question mark. */
static void put_word(struct sy_buffer *buffer, const char *text) {
    const char *end = text + strlen(text);
    sy_buffer_append(buffer, " ", 1);
    if (text == end || strcmp(text, "-") == 0) {
        sy_buffer_append(buffer, text == end ? "-" : "%2d", text == end ? 1 : 3);
        return;
    }
    for (size_t length; text < end; text += length) {
        unsigned char c = (unsigned char)*text;
        length = sy_utf8_length(text, (size_t)(end - text));
        if (c == ' ' || c == '%') {
            sy_buffer_append(buffer, c == ' ' ? "%20" : "%25", 3);
        } else if (c < 0x20 || c == 0x7f || length == 0) {
            sy_buffer_append(buffer, "?", 1);
            length = 1;
        } else {
            sy_buffer_append(buffer, text, length);
        }
    }
}

static void put_number(struct sy_buffer *buffer, const char *before, double value) {
    sy_buffer_append(buffer, before, strlen(before));
    sy_buffer_number(buffer, value);
}

static const char *kind_name(enum sy_counter_kind kind) {
    static const char *const names[] = {"rate", "level", "share"};
    return names[kind];
}

void sy_recording_write_head(struct sy_buffer *buffer, const struct sy_counter *counters,
                             uint32_t counter_count, const struct sy_pmu *pmus,
                             uint32_t pmu_count) {
    sy_buffer_printf(buffer, "%s\n", SY_RECORDING_SCHEMA);
    for (uint32_t i = 0; i < pmu_count; i++) {
        sy_buffer_append(buffer, "pmu", 3);
        put_word(buffer, pmus[i].name);
        sy_buffer_printf(buffer, " %u\n", pmus[i].slots);
    }
    for (uint32_t i = 0; i < counter_count; i++) {
        const struct sy_counter *counter = &counters[i];
        sy_buffer_append(buffer, "counter", 7);
        put_word(buffer, counter->name);
        put_word(buffer, counter->source);
        put_word(buffer, counter->event);
        put_word(buffer, kind_name(counter->kind));
        put_word(buffer, counter->unit);
        put_word(buffer, sy_scope_name(counter->scope));
        sy_buffer_printf(buffer, " %u", counter->scope_index);
        put_number(buffer, " ", counter->noise_ratio);
        put_word(buffer, counter->pmu < pmu_count ? pmus[counter->pmu].name : "");
        sy_buffer_append(buffer, "\n", 1);
    }
}

/* Only what differs from the usual is written. */
static void put_sample(struct sy_buffer *buffer, const struct sy_sample *sample, double start_ns) {
    sy_buffer_printf(buffer, " %u", sample->counter);
    put_number(buffer, "=", sample->value);
    if (sample->running_ratio != 1) {
        put_number(buffer, ",r=", sample->running_ratio);
    }
    if (sample->noise_ratio != 0) {
        put_number(buffer, ",n=", sample->noise_ratio);
    }
    if (sample->start_ns != start_ns) {
        put_number(buffer, ",s=", sample->start_ns);
    }
}

static void put_read(struct sy_buffer *buffer, const struct sy_sample *samples, uint32_t count,
                     double end_ns) {
    double start_ns = NAN;
    for (uint32_t i = 0; i < count; i++) {
        if (samples[i].end_ns == end_ns) {
            if (isnan(start_ns)) {
                start_ns = samples[i].start_ns;
                put_number(buffer, "read ", end_ns);
                put_number(buffer, " ", start_ns);
            }
            put_sample(buffer, &samples[i], start_ns);
        }
    }
    sy_buffer_append(buffer, "\n", 1);
}

void sy_recording_write(struct sy_buffer *buffer, const struct sy_sample *samples, uint32_t count) {
    double done_ns = -INFINITY;
    for (;;) { /* one read nearly always has one end */
        double end_ns = INFINITY;
        for (uint32_t i = 0; i < count; i++) {
            if (samples[i].end_ns > done_ns && samples[i].end_ns < end_ns) {
                end_ns = samples[i].end_ns;
            }
        }
        if (end_ns == INFINITY) {
            return;
        }
        put_read(buffer, samples, count, end_ns);
        done_ns = end_ns;
    }
}
