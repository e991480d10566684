/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzes the reader of training checkpoints: what it refuses changes nothing, what it takes is
 * finite and its best is among its validations.
 */
#include "train/train.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 2 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const float zero[COUNT];
    struct sy_training training = {.options = {.count = COUNT}};
    struct sy_es_options options = {.count = COUNT, .pairs = 1};
    struct sy_error error = {0};
    float best[COUNT] = {0};
    char *text = malloc(size + 1);
    if (!text || sy_es_init(&training.es, &options, zero)) {
        free(text);
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    training.best = best;
    int code = sy_training_parse(&training, "s", "input", text, size, &error);
    SY_ASSERT(!code || (error.message[0] && training.es.generation == 0 && best[0] == 0));
    for (uint32_t i = 0; i < COUNT; i++) {
        SY_ASSERT(isfinite(training.es.block[i]) && isfinite(training.es.adam.second[i]));
    }
    SY_ASSERT(training.best_at == 0 || training.best_at < training.history_count);
    sy_es_finish(&training.es);
    free(training.history);
    free(text);
    return 0;
}
