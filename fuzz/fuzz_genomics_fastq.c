/* SPDX-License-Identifier: Apache-2.0
 *
 * FASTQ: a file that is read batch by batch, as its first reads say, and text as single reads, as
 * pairs with itself and as both ends one after the other: whatever it holds, batches that are
 * whole, or an error.
 */
#include "genomics/align/fastq.h"
#include "memory_file.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool condition) {
    if (!condition) {
        abort();
    }
}

/* How many reads it has; SY_NONE: something is wrong. */
static uint32_t parse(const struct gn_text *first, const struct gn_text *second) {
    struct gn_batch batch;
    struct sy_error error = {0};
    if (gn_fastq_parse(first, second, 0, NULL, 0, &batch, &error) < 0) {
        demand(error.message[0]);
        return SY_NONE;
    }
    uint32_t count = batch.reads->read_count;
    gn_batch_finish(&batch);
    return count;
}

static void as_text(const uint8_t *data, size_t size) {
    uint32_t lines = 0;
    for (size_t i = 0; i < size; i++) {
        lines += data[i] == '\n';
    }
    char *copy = malloc(size + 1);
    demand(copy);
    if (size) {
        memcpy(copy, data, size);
    }
    copy[size] = '\0';
    struct gn_text text = {.path = "fuzz",
                           .text = copy,
                           .length = size,
                           .line = 1,
                           .records = lines / 4,
                           .phred = size % 2 ? 33 : 64};
    uint32_t single = parse(&text, NULL), pairs = parse(&text, &text);
    text.interleaved = true;
    uint32_t both = parse(&text, NULL);
    demand(single == SY_NONE || single == lines / 4);
    demand(pairs == SY_NONE || pairs == 2 * (lines / 4));
    demand(both == SY_NONE || both == single);
    free(copy);
}

static void as_file(const uint8_t *data, size_t size, uint32_t batch) {
    struct gn_fastq_options options = {GN_ENDS_LOOK, 0};
    struct gn_fastq *file;
    struct gn_text text;
    struct sy_error error = {0};
    char path[64];
    int descriptor = memory_file(data, size, path, sizeof path);
    bool last = gn_fastq_open(path, &options, &file, &error) < 0;
    demand(!last || error.message[0]);
    bool opened = !last;
    while (!last) {
        int code = gn_fastq_next(file, batch, &text, &error);
        demand(code == 0 || error.message[0]);
        last = code < 0 || text.last;
        if (code == 0) {
            demand(text.records <= batch * (text.interleaved ? 2u : 1u));
            last |= parse(&text, NULL) == SY_NONE;
            gn_text_finish(&text);
        }
    }
    if (opened) {
        gn_fastq_close(file);
    }
    close(descriptor);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    as_text(data, size);
    as_file(data, size, 1);
    as_file(data, size, 100);
    return 0;
}
