/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz harness of run records. What is read must be written, read back, and written the same.
 */
#include "engine/engine.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void round_trip(const struct sy_record *record) {
    struct sy_buffer once = {0}, twice = {0};
    struct sy_record *back = NULL;
    struct sy_error error = {0};
    sy_record_write(record, &once);
    SY_ASSERT(!once.failed);
    int code = sy_record_read_text("back", once.text, once.length, &back, &error);
    SY_ASSERT(code == 0);
    sy_record_write(back, &twice);
    SY_ASSERT(strcmp(once.text, twice.text) == 0);
    sy_record_destroy(back);
    sy_buffer_finish(&once);
    sy_buffer_finish(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sy_record *record = NULL;
    struct sy_error error = {0};
    if (sy_record_read_text("fuzz", (const char *)data, size, &record, &error) == 0) {
        round_trip(record);
        sy_record_destroy(record);
    } else {
        SY_ASSERT(error.message[0] && !record);
    }
    return 0;
}
