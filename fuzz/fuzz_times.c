/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of times from hostile text: what is accepted keeps its promises, and what is written of it
 * reads back as the same.
 */
#include "planner/pipeline.h"
#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct names {
    const char *text[SY_SAMPLES_NAME_MAX];
    char memory[SY_SAMPLES_NAME_MAX][80];
    uint32_t count;
};

struct writer {
    const struct names *names;
    struct sy_buffer text;
};

static int collect(void *user, const struct sy_cost_sample *sample, const char *input) {
    struct names *names = user;
    SY_ASSERT(input && sample->kernel[0] && sample->class_name[0] && sample->width >= 1);
    SY_ASSERT(sample->time_ns > 0 && isfinite(sample->time_ns));
    SY_ASSERT(isnan(sample->watts) || (sample->watts >= 0 && isfinite(sample->watts)));
    SY_ASSERT(sample->cost_count >= 2 && sample->cost_count <= SY_PIPELINE_COST_MAX);
    SY_ASSERT(strcmp(sample->cost_names[0], "flops") == 0);
    SY_ASSERT(strcmp(sample->cost_names[1], "bytes") == 0);
    for (uint32_t c = 0; c < sample->cost_count; c++) {
        SY_ASSERT(sample->costs[c] > 0 && isfinite(sample->costs[c]));
        SY_ASSERT(c < 3 || strcmp(sample->cost_names[c - 1], sample->cost_names[c]) < 0);
        uint32_t i = 0;
        while (i < names->count && strcmp(names->text[i], sample->cost_names[c]) != 0) {
            i++;
        }
        if (i == names->count) {
            SY_ASSERT(i < SY_SAMPLES_NAME_MAX);
            snprintf(names->memory[i], sizeof names->memory[i], "%s", sample->cost_names[c]);
            names->text[names->count++] = names->memory[i];
        }
    }
    return 0;
}

static int write_sample(void *user, const struct sy_cost_sample *sample, const char *input) {
    struct writer *writer = user;
    sy_samples_write(&writer->text, writer->names->text, writer->names->count, sample, input);
    return 0;
}

/* The table as it is written, from one that is known to be good. */
static struct sy_buffer rewrite(const char *text, size_t length, const struct names *names) {
    struct writer writer = {.names = names};
    struct sy_error error = {0};
    sy_samples_write(&writer.text, names->text, names->count, NULL, NULL);
    SY_ASSERT(sy_samples_read_text("again", text, length, write_sample, &writer, &error) == 0);
    return writer.text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data;
    struct names names = {0};
    struct sy_error error = {0};
    if (sy_samples_read_text("fuzz", text, size, collect, &names, &error)) {
        SY_ASSERT(error.message[0]);
        return 0;
    }
    if (names.count == 0) { /* no sample */
        return 0;
    }
    struct sy_buffer once = rewrite(text, size, &names);
    struct sy_buffer twice = rewrite(once.text, once.length, &names);
    SY_ASSERT(strcmp(once.text, twice.text) == 0);
    sy_buffer_finish(&once);
    sy_buffer_finish(&twice);
    return 0;
}
