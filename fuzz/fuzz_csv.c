/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzes the readers of tables: kernel times, co-run slowdowns, timing noise. All of them get every
 * input; what they accept must keep their promises.
 */
#include "cost/store.h"
#include "sim/tables.h"
#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_kernels(const char *text, size_t length) {
    struct sy_error error = {0};
    struct sy_store *store = sy_store_create();
    if (!store) {
        return;
    }
    int code = sy_store_read_recorded(store, "fuzz", text, length, &error);
    SY_ASSERT(code == 0 || error.message[0]);
    for (double flops = 1; flops < 1e12; flops *= 10) {
        const struct sy_features features = {.values = (double[]){flops, flops / 10}};
        struct sy_estimate found = sy_estimate(store, "gemm", "gpu", &features);
        SY_ASSERT(found.source == SY_COST_UNKNOWN ||
                  (found.median_ns > 0 && isfinite(found.median_ns) && found.log_sigma >= 0 &&
                   isfinite(found.log_sigma)));
    }
    sy_store_close(store);
}

static void read_pairs(const char *text, size_t length) {
    struct sy_error error = {0};
    struct sy_interference *table;
    if (sy_interference_read_text("fuzz", text, length, &table, &error)) {
        SY_ASSERT(error.message[0]);
        return;
    }
    SY_ASSERT(table->fallback > 0 && table->fallback <= 1.5 + 1e-9);
    for (size_t i = 0; i < (size_t)table->count * table->count; i++) {
        SY_ASSERT(table->ratio[i] > 0 && table->ratio[i] <= 1.5 + 1e-9);
    }
    sy_interference_destroy(table);
}

static void read_noise(const char *text, size_t length) {
    struct sy_error error = {0};
    struct sy_noise_table table;
    if (sy_noise_read_text("fuzz", text, length, &table, &error)) {
        SY_ASSERT(error.message[0]);
        return;
    }
    SY_ASSERT(table.count > 0);
    for (uint32_t i = 0; i < table.count; i++) {
        SY_ASSERT(table.ratio[i] > 0 && isfinite(table.ratio[i]));
        SY_ASSERT(i == 0 || table.ratio[i] >= table.ratio[i - 1]);
    }
    sy_noise_finish(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data;
    read_kernels(text, size);
    read_pairs(text, size);
    read_noise(text, size);
    return 0;
}
