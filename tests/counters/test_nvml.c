/* SPDX-License-Identifier: Apache-2.0
 *
 * The NVML provider and the energy meters against a FAKE of the library: the order of calls, a GPU
 * that falls off the bus, what is forbidden, what an old version lacks. Nothing here was measured
 * on a GPU.
 */
#include "../base/check.h"
#include "fake_nvml.h"
#include "tree.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#define S 1e9

static void *library;
static struct fake_nvml *fake;

static int enter_with(const char *path) {
    struct fake_nvml *(*control)(void) = NULL;
    library = dlopen(path, RTLD_NOW);
    assert_non_null(library);
    *(void **)&control = dlsym(library, "fake_nvml_control");
    fake = control();
    *fake = (struct fake_nvml){.gpu_count = 2, .gpm_supported = true, .power_mw = 250000};
    return 0;
}

static int enter(void **state) {
    (void)state;
    return enter_with(FAKE_NVML);
}

static int enter_old(void **state) {
    (void)state;
    return enter_with(FAKE_NVML_OLD);
}

static int leave(void **state) {
    (void)state;
    assert_int_equal(fake->started, 0); /* whoever started it has ended it */
    assert_int_equal(fake->gpm_allocated, 0);
    dlclose(library);
    return 0;
}

static struct sy_sources *open_nvml(const char *path) {
    const struct sy_calls calls = {.nvml = path};
    const char *const kernels[] = {"any", NULL}; /* so that something can always be read */
    const struct sy_sources_options options = {.only = "nvml,tasks", .kernels = kernels};
    struct sy_sources *sources = NULL;
    struct sy_error error = {0};
    assert_int_equal(sy_sources_open_with(&options, &calls, &sources, &error), 0);
    return sources;
}

static void test_levels(void **state) {
    (void)state;
    struct sy_sources *sources = open_nvml(FAKE_NVML);
    fake->gpu_percent = 75;
    assert_near(read_one(sources, 1 * S, "nvml.gpu1.gpu_util"), 0.75, 1e-9);
    assert_near(read_one(sources, 2 * S, "nvml.gpu0.memory_used"), 0.25, 1e-9);
    assert_near(read_one(sources, 3 * S, "nvml.gpu0.power"), 250, 1e-9);
    fake->gpu_percent = 130; /* nonsense, but a share all the same */
    assert_near(read_one(sources, 4 * S, "nvml.gpu1.gpu_util"), 1, 0);
    assert_int_equal(counter_named(sources, "nvml.gpu0.temperature"), SY_NONE); /* no function */
    assert_int_equal(counter_named(sources, "nvml.gpu0.mem_util"), SY_NONE); /* GPM knows better */
    sy_sources_close(sources);
}

static void test_totals(void **state) {
    (void)state;
    struct sy_sources *sources = open_nvml(FAKE_NVML);
    fake->tx_bytes = 0x123456789abcULL;
    (void)read_one(sources, 1 * S, "nvml.gpu0.energy");
    fake->energy_mj += 30000;
    fake->tx_bytes += 5000000000ULL;
    assert_near(read_one(sources, 1.1 * S, "nvml.gpu0.energy"), 300, 1e-6);
    fake->tx_bytes += 5000000000ULL;
    assert_near(read_one(sources, 1.3 * S, "nvml.gpu0.pcie_tx"), 2.5e10, 1e4);
    assert_true(isnan(read_one(sources, 1.35 * S, "nvml.gpu0.energy"))); /* not refreshed yet */
    fake->energy_mj += 60000;
    assert_near(read_one(sources, 1.5 * S, "nvml.gpu0.energy"), 150, 1e-6); /* since 1.1 s */
    fake->tx_bytes += 1ULL << 60; /* faster than any link */
    assert_true(isnan(read_one(sources, 1.6 * S, "nvml.gpu0.pcie_tx")));
    assert_int_equal(fake->slow_calls, 0);
    sy_sources_close(sources);
}

/* Samples are taken at most every 100 ms, and the older one comes first. */
static void test_gpm(void **state) {
    (void)state;
    fake->narrow_pcie = true; /* then PCIe traffic comes from here */
    struct sy_sources *sources = open_nvml(FAKE_NVML);
    fake->sm_percent = 42;
    fake->pcie_rx_mib = 1000;
    assert_true(isnan(read_one(sources, 1 * S, "nvml.gpu0.sm_util")));
    int taken = fake->gpm_samples;
    assert_true(isnan(read_one(sources, 1.05 * S, "nvml.gpu0.sm_util")));
    assert_int_equal(fake->gpm_samples, taken);
    struct sy_sample sample = read_sample(sources, 1.12 * S, "nvml.gpu0.sm_util");
    assert_near(sample.value, 0.42, 1e-9);
    assert_near(sample.start_ns, 1 * S, 0);
    assert_near(read_one(sources, 1.3 * S, "nvml.gpu1.pcie_rx"), 1048576e3, 1);
    fake->sm_percent = NAN;
    assert_true(isnan(read_one(sources, 1.5 * S, "nvml.gpu0.sm_util")));
    assert_int_equal(counter_named(sources, "nvml.gpu0.nvlink_rx"), SY_NONE); /* not supported */
    assert_false(fake->wrong_order);
    sy_sources_close(sources);
}

static void test_no_permission(void **state) {
    (void)state;
    fake->gpm_status = 4;
    fake->no_pcie_fields = true;
    struct sy_sources *sources = open_nvml(FAKE_NVML);
    const struct sy_gap *gap = gap_of(sources, "nvml", "(GPM) of gpu1");
    assert_non_null(gap);
    assert_string_equal(gap->reason, "permission denied");
    assert_non_null(strstr(gap->remedy, "NVreg_RestrictProfilingToAdminUsers=0"));
    assert_int_not_equal(counter_named(sources, "nvml.gpu0.mem_util"), SY_NONE); /* what is left */
    int before = fake->slow_calls;
    fake->slow_kb = 1000000;
    assert_near(read_one(sources, 1 * S, "nvml.gpu0.pcie_tx"), 1e9, 0);
    assert_near(read_one(sources, 1.3 * S, "nvml.gpu0.pcie_rx"), 1000001e3, 0);
    for (int i = 0; i < 100; i++) { /* a second at 100 Hz: a slow call is made 4 times per GPU */
        (void)read_one(sources, (1.31 + 0.01 * i) * S, "nvml.gpu0.power");
    }
    assert_true(fake->slow_calls - before <= 2 * 2 + 2 * 5);
    sy_sources_close(sources);
}

/* One falls off the bus: the other goes on, and nobody asks all the time. */
static void test_lost(void **state) {
    (void)state;
    struct sy_sources *sources = open_nvml(FAKE_NVML);
    assert_near(read_one(sources, 1 * S, "nvml.gpu0.power"), 250, 0);
    fake->status[0] = 15;
    assert_true(isnan(read_one(sources, 2 * S, "nvml.gpu0.power")));
    assert_near(read_one(sources, 3 * S, "nvml.gpu1.power"), 250, 0);
    fake->status[1] = 15;
    (void)read_one(sources, 4 * S, "nvml.gpu1.power");
    int calls = fake->calls;
    (void)read_one(sources, 4.5 * S, "nvml.gpu1.power");
    assert_int_equal(fake->calls, calls);
    fake->status[0] = fake->status[1] = 0; /* reset by hand */
    fake->energy_mj = 0;
    assert_near(read_one(sources, 10 * S, "nvml.gpu0.power"), 250, 0);
    assert_false(fake->wrong_order);
    sy_sources_close(sources);
}

static void test_old_library(void **state) {
    (void)state;
    struct sy_sources *sources = open_nvml(FAKE_NVML_OLD);
    assert_non_null(strstr(gap_of(sources, "nvml", "(GPM) of gpu0")->remedy, "driver"));
    assert_near(read_one(sources, 1 * S, "nvml.gpu0.power"), 250, 0);
    fake->energy_mj += 5000;
    assert_near(read_one(sources, 2 * S, "nvml.gpu0.energy"), 5, 1e-9);
    sy_sources_close(sources);
}

static void test_no_library(void **state) {
    (void)state;
    static const struct {
        const char *path;
        int init_status;
        const char *remedy;
    } cases[] = {{"libnosuch.so.1", 0, "the NVIDIA driver"},
                 {FAKE_NVML, 9, "modprobe nvidia"},
                 {FAKE_NVML, 4, "/dev/nvidia"},
                 {FAKE_NVML, 18, "reboot"},
                 {FAKE_NVML, 999, "nvidia-smi"},
                 {"libm.so.6", 0, "2018"}};
    for (size_t i = 0; i < SY_COUNT(cases); i++) {
        fake->init_status = cases[i].init_status;
        struct sy_sources *sources = open_nvml(cases[i].path);
        const struct sy_gap *gap = gap_of(sources, "nvml", "NVIDIA's GPUs");
        assert_non_null(gap);
        assert_non_null(strstr(gap->remedy, cases[i].remedy));
        sy_sources_close(sources);
    }
    fake->init_status = 0;
    fake->gpu_count = 0;
    struct sy_sources *sources = open_nvml(FAKE_NVML);
    assert_non_null(gap_of(sources, "nvml", "NVIDIA's GPUs"));
    sy_sources_close(sources);
}

/* The engine's meter, by the address on the bus. */
static void test_energy(void **state) {
    (void)state;
    const char *const gpus[] = {"0000:99:00.0", "0000:3b:00.0"};
    struct sy_energy *energy = NULL;
    setenv("SYMPH_NVML", FAKE_NVML, 1);
    fake->energy_mj = 1000;
    assert_int_equal(sy_energy_open(gpus, 2, &energy), 0);
    assert_non_null(strstr(sy_energy_source(energy), "NVML"));
    fake->energy_mj = 4000;
    double before = sy_energy_joules(energy);
    assert_true(before >= 3);
    sy_energy_restart(energy);
    if (strcmp(sy_energy_source(energy), "NVML") == 0) { /* no RAPL on this machine */
        assert_near(before, 3, 1e-9);
        assert_near(sy_energy_joules(energy), 0, 0);
    }
    fake->status[0] = 15;
    assert_true(isnan(sy_energy_joules(energy)));
    sy_energy_close(energy);
    unsetenv("SYMPH_NVML");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_levels, enter, leave),
        cmocka_unit_test_setup_teardown(test_totals, enter, leave),
        cmocka_unit_test_setup_teardown(test_gpm, enter, leave),
        cmocka_unit_test_setup_teardown(test_no_permission, enter, leave),
        cmocka_unit_test_setup_teardown(test_lost, enter, leave),
        cmocka_unit_test_setup_teardown(test_old_library, enter_old, leave),
        cmocka_unit_test_setup_teardown(test_no_library, enter, leave),
        cmocka_unit_test_setup_teardown(test_energy, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
