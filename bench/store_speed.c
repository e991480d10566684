/* SPDX-License-Identifier: Apache-2.0
 *
 * Claim: what the store costs per task: a sample into its cell under 200 ns, finding a cell and
 * estimating its time under 1 us.
 *
 * Usage: store_speed. Prints JSON: nanoseconds of processor time per call, the median of several
 * rounds.
 */
#include "base/json.h"
#include "clock.h"
#include "cost/cost.h"

#define ROUNDS 15
#define CALLS  200000
#define SIZES  16 /* of one kernel */

static struct sy_cell *cell_at(struct sy_store *store, uint32_t index) {
    return sy_store_cell(store, "gemm", "cpu", 8.0 * index, 1000.0 * index, index);
}

static double observe(struct sy_store *store, struct sy_rng *rng) {
    double samples[256];
    for (uint32_t i = 0; i < SY_COUNT(samples); i++) {
        samples[i] = 1e6 * sy_rng_uniform(rng);
    }
    struct sy_cell *cells[SIZES];
    for (uint32_t i = 0; i < SIZES; i++) {
        cells[i] = cell_at(store, 1 + i);
    }
    double start = now_ns();
    for (uint32_t i = 0; i < CALLS; i++) {
        sy_cell_observe(cells[i % SIZES], samples[i % SY_COUNT(samples)]);
    }
    return (now_ns() - start) / CALLS;
}

static double find(struct sy_store *store, double *sink) {
    double start = now_ns();
    for (uint32_t i = 0; i < CALLS; i++) {
        *sink += cell_at(store, 1 + i % SIZES)->median_ns;
    }
    return (now_ns() - start) / CALLS;
}

/* trusted: the cell's own median; else the line through the others. */
static double estimate(struct sy_store *store, bool trusted, double *sink) {
    const struct sy_cell *cell = cell_at(store, trusted ? 1 : 100);
    double start = now_ns();
    for (uint32_t i = 0; i < CALLS; i++) {
        *sink += sy_cell_estimate(cell).median_ns;
    }
    return (now_ns() - start) / CALLS;
}

int main(void) {
    struct sy_store *store = sy_store_create();
    if (!store) {
        return 1;
    }
    struct sy_rng rng = sy_rng_make(1, 0, 0);
    double times[4][ROUNDS], sink = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        times[0][round] = observe(store, &rng);
        times[1][round] = find(store, &sink);
        times[2][round] = estimate(store, true, &sink);
        times[3][round] = estimate(store, false, &sink);
    }
    static const char *const names[] = {"observe_ns", "find_ns", "estimate_measured_ns",
                                        "estimate_regressed_ns"};
    struct sy_json_writer writer = {0};
    sy_json_print(&writer, "{schema: %s", "symph-bench-store-1");
    for (uint32_t i = 0; i < SY_COUNT(names); i++) {
        sy_json_member_number(&writer, names[i], sy_quantile(times[i], ROUNDS, 0.5));
    }
    sy_json_close(&writer, '}');
    printf("%s", writer.buffer.text);
    sy_buffer_finish(&writer.buffer);
    sy_store_close(store);
    return sink > 0 ? 0 : 1; /* so that nothing is optimised away */
}
