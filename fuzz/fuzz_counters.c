/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz harness of counter recordings. What is read must be written, read back, and be the same.
 */
#include "counters/counters.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_all(const struct sy_recording *recording, struct sy_buffer *ret_buffer) {
    sy_recording_write_head(ret_buffer, recording->counters, recording->counter_count,
                            recording->pmus, recording->pmu_count);
    for (uint32_t i = 0, end; i < recording->sample_count; i = end) {
        for (end = i + 1; end < recording->sample_count &&
                          recording->samples[end].end_ns == recording->samples[i].end_ns;
             end++) {
        }
        sy_recording_write(ret_buffer, &recording->samples[i], end - i);
    }
    SY_ASSERT(!ret_buffer->failed);
}

static void round_trip(const struct sy_recording *recording) {
    struct sy_buffer once = {0}, twice = {0};
    struct sy_recording *back = NULL;
    struct sy_error error = {0};
    write_all(recording, &once);
    int code = sy_recording_read("back", once.text, once.length, &back, &error);
    SY_ASSERT(code == 0);
    SY_ASSERT(back->sample_count == recording->sample_count);
    for (uint32_t i = 0; i < back->sample_count; i++) {
        const struct sy_sample *a = &recording->samples[i], *b = &back->samples[i];
        SY_ASSERT(a->counter == b->counter && a->value == b->value && a->end_ns == b->end_ns &&
                  a->start_ns == b->start_ns && a->running_ratio == b->running_ratio &&
                  a->noise_ratio == b->noise_ratio);
    }
    write_all(back, &twice);
    SY_ASSERT(strcmp(once.text, twice.text) == 0);
    sy_recording_destroy(back);
    sy_buffer_finish(&once);
    sy_buffer_finish(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sy_recording *recording = NULL;
    struct sy_error error = {0};
    if (sy_recording_read("fuzz", (const char *)data, size, &recording, &error) == 0) {
        round_trip(recording);
        sy_recording_destroy(recording);
    } else {
        SY_ASSERT(error.message[0] && !recording);
    }
    return 0;
}
