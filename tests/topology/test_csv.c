/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorded CSV pairs: measured speeds are kept to the bit, either file finds the other.
 */
#include "helpers.h"
#include <errno.h>

static void speeds_are_measured(void **state) {
    (void)state;
    static const char *const files[] = {MACHINE("synthetic-2gpu.bus.csv"),
                                        MACHINE("synthetic-2gpu.kernels.csv")};
    for (size_t i = 0; i < SY_COUNT(files); i++) {
        struct sy_machine *machine = open_machine(files[i]);
        assert_sound(machine);
        assert_string_equal(machine->name, "synthetic-2gpu");
        assert_int_equal(machine->device_count, 8);
        assert_int_equal(machine->memory_count, 3);
        assert_string_equal(machine->devices[6].name, "gpu0");
        assert_route(machine, "host0", "gpu1", 5000.5e6, 10e3, "gpu1.down");
        assert_route(machine, "gpu0", "host0", 6500e6, 10.5e3, "gpu0.up");
        assert_route(machine, "gpu0", "gpu1", 3000e6, 24e3, "gpu0.up gpu1.down");
        assert_route(machine, "gpu1", "gpu0", 3100e6, 20.5e3, "gpu1.up gpu0.down");
        assert_true(resource_bytes_per_s(machine, "gpu0.up") == 6500e6);
        sy_machine_destroy(machine);
    }
}

static void pair_is_found(void **state) {
    (void)state;
    struct sy_buffer bus = {0}, kernels = {0};
    assert_true(sy_machine_csv_pair("a/x.y.kernels.csv", &bus, &kernels));
    assert_string_equal(bus.text, "a/x.y.bus.csv");
    assert_string_equal(kernels.text, "a/x.y.kernels.csv");
    sy_buffer_finish(&bus);
    sy_buffer_finish(&kernels);
    assert_false(sy_machine_csv_pair("a/x.csv", &bus, &kernels));
    assert_false(sy_machine_csv_pair(".bus.csv", &bus, &kernels));
}

/* A measured pair may be missing between GPUs: the links say what it must be. */
static void peers_may_be_missing(void **state) {
    (void)state;
    static const char text[] = "# 0 CPU cores, 2 CUDA GPUs\nfrom,to,bytes_per_us,latency_us\n"
                               "0,1,6000,9\n0,2,50000,10\n1,0,7000,11\n2,0,4000,12\n";
    struct sy_machine *machine = NULL;
    struct sy_error error = {0};
    assert_int_equal(sy_machine_read_bus_csv("f", "m", text, sizeof text - 1, 0, &machine, &error),
                     0);
    assert_sound(machine);
    assert_int_equal(machine->device_count, 2);
    assert_route(machine, "gpu1", "gpu0", 4000e6, 19e3, "gpu1.up gpu0.down");
    assert_int_equal(machine->memories[0].resource, SY_NONE);
    sy_machine_destroy(machine);
}

/* Nothing is made up of the host memory's bandwidth: it is in the file, or said, or not shared. */
static void dram_is_given(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        double bytes_per_s; /* 0: not known */
    } cases[] = {
        {MACHINE("synthetic-2gpu.bus.csv"), 0},
        {MACHINE("synthetic-2gpu.bus.csv") " dram:60GB/s", 60e9},
        {MACHINE("synthetic-2gpu.kernels.csv") " dram:60GiB/s", 60 * 1073741824.0},
        {MACHINE("synthetic-2gpu.bus.csv") " dram:1GB/s",
         6500e6}, /* a copy was seen to be faster */
    };
    for (size_t i = 0; i < SY_COUNT(cases); i++) {
        struct sy_machine *machine = open_machine(cases[i].spec);
        assert_sound(machine);
        assert_string_equal(machine->name, "synthetic-2gpu");
        if (cases[i].bytes_per_s > 0) {
            assert_true(resource_bytes_per_s(machine, "dram0") == cases[i].bytes_per_s);
            assert_route(machine, "host0", "gpu1", 5000.5e6, 10e3, "dram0 gpu1.down");
        } else {
            assert_int_equal(machine->memories[0].resource, SY_NONE);
        }
        sy_machine_destroy(machine);
    }
    static const char text[] =
        "# 2 CPU cores, 0 CUDA GPUs, dram 80GB/s; x\nfrom,to,bytes_per_us,latency_us\n";
    struct sy_machine *machine = NULL;
    struct sy_error error = {0};
    size_t length = sizeof text - 1;
    assert_int_equal(sy_machine_read_bus_csv("f", "m", text, length, 0, &machine, &error), 0);
    assert_true(resource_bytes_per_s(machine, "dram0") == 80e9);
    sy_machine_destroy(machine);
    assert_int_equal(sy_machine_read_bus_csv("f", "m", text, length, 9e9, &machine, &error), 0);
    assert_true(resource_bytes_per_s(machine, "dram0") == 9e9);
    sy_machine_destroy(machine);
    machine = NULL;
    static const char *const wrong[] = {"60", "fast", "", "0GB/s", "-1GB/s", "60GB"};
    for (size_t i = 0; i < SY_COUNT(wrong); i++) {
        char spec[512];
        snprintf(spec, sizeof spec, "%s dram:%s", MACHINE("synthetic-2gpu.bus.csv"), wrong[i]);
        assert_int_equal(sy_machine_open(spec, &machine, &error), -EINVAL);
        assert_non_null(strstr(error.message, "bandwidth"));
        assert_null(machine);
    }
    assert_int_equal(sy_machine_open("nothing.bus.csv dram:60GB/s", &machine, &error), -ENOENT);
}

#define HEAD "# 2 CPU cores, 1 CUDA GPU; x\nfrom,to,bytes_per_us,latency_us\n"

static const struct {
    const char *text;
    uint32_t line, column;
    const char *message;
} mistakes[] = {
    {"", 1, 1, "number of cores"},
    {"from,to,bytes_per_us,latency_us\n", 1, 1, "number of cores"},
    {"# CPU cores, 3 CUDA GPUs\n", 1, 1, "number of cores"},
    {"# 1000000000 CPU cores, 3 CUDA GPUs\n", 1, 1, "4096 cores"},
    {"# 3 CPU cores, 99 CUDA GPUs\n", 1, 1, "63 GPUs"},
    {"# 99999999999999999999999 CPU cores, 3 CUDA GPUs\n", 1, 1, "number of cores"},
    {"# 0 CPU cores, 0 CUDA GPUs\n", 1, 1, "no device"},
    {"# 2 CPU cores, 0 CUDA GPUs, dram 80\n", 1, 1, "no bandwidth"},
    {"# 2 CPU cores, 0 CUDA GPUs, dram ; x\n", 1, 1, "no bandwidth"},
    {"# 2 CPU cores, 1 CUDA GPU\nfrom,to\n", 2, 8, ""},
    {HEAD "0,1,6000,9\n", 3, 0, "direction is missing"},
    {HEAD "0,1,0,9\n", 3, 5, "bytes_per_us"},
    {HEAD "0,1,-5,9\n", 3, 5, "bytes_per_us"},
    {HEAD "0,1,nan,9\n", 3, 5, "bytes_per_us"},
    {HEAD "0,1,6000,inf\n", 3, 10, "latency_us"},
    {HEAD "0,1,6000\n", 3, 9, "latency_us"},
    {HEAD "0,1,6000,9,1\n", 3, 12, "further"},
    {HEAD "0,2,6000,9\n", 3, 3, "no memory 2"},
    {HEAD "1,1,6000,9\n", 3, 3, "itself"},
    {HEAD "0,1,6000,9\n0,1,6000,9\n", 4, 3, "twice"},
};

static void mistakes_are_explained(void **state) {
    (void)state;
    for (size_t i = 0; i < SY_COUNT(mistakes); i++) {
        struct sy_machine *machine = NULL;
        struct sy_error error = {0};
        int code = sy_machine_read_bus_csv("f.csv", "m", mistakes[i].text, strlen(mistakes[i].text),
                                           0, &machine, &error);
        if (code != -EINVAL || machine || error.line != mistakes[i].line ||
            (mistakes[i].column && error.column != mistakes[i].column) ||
            !strstr(error.message, mistakes[i].message)) {
            fail_msg("%s\n%d %s:%u:%u %s (%s)", mistakes[i].text, code, error.file, error.line,
                     error.column, error.message, error.hint);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speeds_are_measured),    cmocka_unit_test(pair_is_found),
        cmocka_unit_test(peers_may_be_missing),   cmocka_unit_test(dram_is_given),
        cmocka_unit_test(mistakes_are_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
