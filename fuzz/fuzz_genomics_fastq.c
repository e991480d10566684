/* SPDX-License-Identifier: Apache-2.0
 *
 * FASTQ text, as single reads and as pairs with itself: whatever it holds, a batch that is whole,
 * or an error.
 */
#include "genomics/align/fastq.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint32_t lines = 0;
    for (size_t i = 0; i < size; i++) {
        lines += data[i] == '\n';
    }
    char *copy = malloc(size + 1);
    if (!copy) {
        return 0;
    }
    if (size) {
        memcpy(copy, data, size);
    }
    copy[size] = '\0';
    struct gn_text text = {"fuzz", copy, size, 1, lines / 4};
    for (int pairs = 0; pairs < 2; pairs++) {
        struct gn_batch batch;
        struct sy_error error = {0};
        if (gn_fastq_parse(&text, pairs ? &text : NULL, 0, NULL, 0, &batch, &error) == 0) {
            if (batch.reads->read_count != text.records * (pairs ? 2u : 1u)) {
                abort();
            }
            gn_batch_finish(&batch);
        } else if (!error.message[0]) {
            abort();
        }
    }
    free(copy);
    return 0;
}
