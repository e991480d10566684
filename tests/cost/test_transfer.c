/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/cost.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>

#define SEED 1

static const struct sy_device devices[] = {{.kind = SY_CPU, .busy_watts = 10}};
static const struct sy_route routes[] = {{.latency_ns = 0},
                                         {.latency_ns = 100, .bytes_per_s = 1e9},
                                         {.latency_ns = 50},
                                         {.latency_ns = 0}};
static const struct sy_machine machine = {
    .device_count = 1, .memory_count = 2, .devices = devices, .routes = routes};

static void latency_plus_bytes_over_bandwidth(void **state) {
    (void)state;
    assert_float_equal(sy_cost_transfer_ns(&machine, 0, 1, 1000), 1100, 1e-9);
    assert_float_equal(sy_cost_transfer_ns(&machine, 0, 1, 0), 0, 0);
    assert_float_equal(sy_cost_transfer_ns(&machine, 1, 1, 1000), 0, 0);
    assert_true(isinf(sy_cost_transfer_ns(&machine, 1, 0, 1)));
}

static void energy_is_power_times_time(void **state) {
    (void)state;
    struct sy_variant hot = {.watts = 200}, unstated = {0};
    assert_float_equal(sy_cost_energy_joules(&machine, 0, &hot, 1e9), 200, 1e-9);
    assert_float_equal(sy_cost_energy_joules(&machine, 0, &unstated, 2e9), 20, 1e-9);
    assert_float_equal(sy_cost_energy_joules(&machine, 0, NULL, 2e9), 20, 1e-9);
}

static void acceleration_is_fixed_by_seed_name_and_kind(void **state) {
    (void)state;
    double gemm = sy_cost_accelerate(SEED, "gemm", SY_GPU);
    assert_float_equal(sy_cost_accelerate(SEED, "gemm", SY_CPU), 1, 0);
    assert_true(gemm == sy_cost_accelerate(SEED, "gemm", SY_GPU));
    assert_true(gemm != sy_cost_accelerate(SEED + 1, "gemm", SY_GPU));
    assert_true(gemm != sy_cost_accelerate(SEED, "trsm", SY_GPU));
    assert_true(gemm != sy_cost_accelerate(SEED, "gemm", SY_FPGA));
}

static void acceleration_is_log_uniform(void **state) {
    (void)state;
    uint32_t below[4] = {0};
    for (uint32_t i = 0; i < 4000; i++) {
        char name[32];
        snprintf(name, sizeof name, "kernel%u", i);
        double speedup = sy_cost_accelerate(SEED, name, SY_GPU);
        assert_true(speedup >= 0.3 && speedup <= 31);
        below[(uint32_t)(4 * log(speedup / 0.3) / log(31 / 0.3))]++;
    }
    for (uint32_t i = 0; i < 4; i++) {
        assert_in_range(below[i], 880, 1120);
    }
}

int main(void) {
    print_message("# seed %d\n", SEED);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latency_plus_bytes_over_bandwidth),
        cmocka_unit_test(energy_is_power_times_time),
        cmocka_unit_test(acceleration_is_fixed_by_seed_name_and_kind),
        cmocka_unit_test(acceleration_is_log_uniform),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
