/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzes the reader of stored models: what it takes is sane, and is the same once written and read
 * again.
 */
#include "cost/store.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_cell(const struct sy_store *store, const struct sy_cell *cell) {
    SY_ASSERT(cell->sample_count > 0 && cell->sample_count == cell->saved_count);
    SY_ASSERT(cell->median_ns > 0 && isfinite(cell->median_ns));
    SY_ASSERT(cell->log_sigma >= 0 && isfinite(cell->log_sigma));
    struct sy_estimate found = sy_store_estimate(store, cell);
    SY_ASSERT(found.median_ns > 0 && found.log_sigma >= 0 && isfinite(found.log_sigma));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sy_store *store, *again;
    struct sy_error error = {0};
    if (sy_store_create(&store) || sy_store_create(&again)) {
        return 0;
    }
    int code = sy_store_read_text(store, "fuzz", (const char *)data, size, &error);
    SY_ASSERT(code == 0 || error.message[0]);
    for (uint32_t i = 0; i < sy_store_count(store); i++) {
        check_cell(store, sy_store_at(store, i));
    }
    struct sy_buffer first = {0}, second = {0};
    sy_store_write_text(store, &first);
    SY_ASSERT(sy_store_read_text(again, "again", first.text, first.length, &error) == 0);
    sy_store_write_text(again, &second);
    SY_ASSERT(first.length == second.length && memcmp(first.text, second.text, first.length) == 0);
    sy_buffer_finish(&first);
    sy_buffer_finish(&second);
    sy_store_close(store);
    sy_store_close(again);
    return 0;
}
