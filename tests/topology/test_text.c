/* SPDX-License-Identifier: Apache-2.0
 *
 * The one-line language: what the documented examples mean, and what every mistake says.
 */
#include "helpers.h"
#include <errno.h>

static void one_socket(void **state) {
    (void)state;
    struct sy_machine *machine = parse("cpu:8");
    assert_sound(machine);
    assert_int_equal(machine->device_count, 8);
    assert_int_equal(machine->memory_count, 1);
    assert_int_equal(machine->class_count, 1);
    assert_int_equal(machine->group_count, 8);
    assert_int_equal(machine->resource_count, 1);
    assert_string_equal(machine->name, "cpu:8");
    assert_string_equal(machine->devices[7].name, "cpu7");
    assert_string_equal(machine->classes[0].name, "cpu");
    assert_int_equal(machine->classes[0].device_count, 8);
    assert_true(resource_bytes_per_s(machine, "dram0") == 40e9);
    assert_true(isinf(machine->memories[0].capacity_bytes));
    sy_machine_destroy(machine);
}

static void cpu_and_gpus(void **state) {
    (void)state;
    struct sy_machine *machine = parse("cpu:12 gpu:4");
    assert_sound(machine);
    assert_int_equal(machine->device_count, 16);
    assert_int_equal(machine->memory_count, 5);
    assert_string_equal(machine->classes[1].name, "gpu");
    assert_int_equal(machine->classes[1].first_device, 12);
    double pcie3 = 0.985e9 * 16 * 0.85;
    assert_route(machine, "host0", "gpu3", pcie3, 10e3, "dram0 gpu3.down");
    assert_route(machine, "gpu3", "host0", pcie3, 10e3, "gpu3.up dram0");
    assert_route(machine, "gpu0", "gpu2", pcie3, 20e3, "gpu0.up gpu2.down");
    assert_int_equal(route(machine, "gpu1", "gpu1")->resource_count, 0);
    assert_int_equal(device_named(machine, "gpu1")->memory, memory_named(machine, "gpu1"));
    sy_machine_destroy(machine);
}

static void two_sockets(void **state) {
    (void)state;
    struct sy_machine *machine = parse("2x(cpu:12 dram:80GB/s) gpu:4@pcie3x16 fpga:1@regions=4");
    assert_sound(machine);
    assert_int_equal(machine->device_count, 24 + 4 + 4);
    assert_int_equal(machine->memory_count, 7);
    assert_int_equal(machine->board_count, 1);
    assert_int_equal(machine->group_count, 32);
    assert_true(resource_bytes_per_s(machine, "dram1") == 80e9);
    /* GPUs go to the sockets in turn. */
    assert_int_equal(device_named(machine, "gpu0")->host_memory, 0);
    assert_int_equal(device_named(machine, "gpu1")->host_memory, 1);
    assert_int_equal(device_named(machine, "gpu2")->host_memory, 0);
    assert_int_equal(device_named(machine, "cpu11")->memory, 0);
    assert_int_equal(device_named(machine, "cpu12")->memory, 1);
    assert_route(machine, "host0", "host1", 20e9, 500, "dram0 upi0-1 dram1");
    assert_route(machine, "gpu1", "host0", 13.396e9, 10.5e3, "gpu1.up upi1-0 dram0");
    assert_route(machine, "gpu0", "gpu1", 13.396e9, 20.5e3, "gpu0.up upi0-1 gpu1.down");
    const struct sy_device *region = device_named(machine, "fpga0.r3");
    assert_int_equal(region->board, 0);
    assert_string_equal(machine->boards[0].name, "fpga0");
    assert_true(machine->boards[0].port_bytes_per_s == 800e6);
    assert_true(region->busy_watts == 75.0 / 4 && region->idle_watts == 5);
    sy_machine_destroy(machine);
}

static void threads_share_a_core(void **state) {
    (void)state;
    struct sy_machine *machine =
        parse("2x(cpu:4@smt=2 dram:40GB/s gpu:1@pcie4x16) upi:20GB/s@latency=300ns");
    assert_sound(machine);
    assert_int_equal(machine->device_count, 18);
    assert_int_equal(machine->group_count, 10);
    const struct sy_device *a = device_named(machine, "cpu5.t0");
    const struct sy_device *b = device_named(machine, "cpu5.t1");
    assert_int_equal(a->group, b->group);
    assert_int_not_equal(a->group, device_named(machine, "cpu4.t1")->group);
    assert_true(a->busy_watts == 4 && a->idle_watts == 1);
    assert_int_equal(device_named(machine, "gpu1")->host_memory, 1);
    double pcie4 = 1.969e9 * 16 * 0.85;
    assert_route(machine, "host1", "gpu1", pcie4, 10e3, "dram1 gpu1.down");
    assert_route(machine, "host0", "gpu1", 20e9, 10.3e3, "dram0 upi0-1 gpu1.down");
    sy_machine_destroy(machine);
}

static void streams_and_speed(void **state) {
    (void)state;
    struct sy_machine *machine =
        parse("cpu:1 dram:100GB/s@memory=1TiB "
              "gpu:1@pcie5x16,streams=2,speed=1.5,memory=80GB,latency=2us,watts=700/100 gpu:1");
    assert_sound(machine);
    assert_int_equal(machine->device_count, 4);
    const struct sy_device *stream = device_named(machine, "gpu0.s1");
    assert_int_equal(stream->group, device_named(machine, "gpu0.s0")->group);
    assert_int_not_equal(stream->group, device_named(machine, "gpu1")->group);
    assert_true(stream->speed_ratio == 1.5 && stream->busy_watts == 350);
    assert_true(stream->idle_watts == 50);
    assert_string_equal(machine->classes[stream->class_index].name, "gpu-1.5");
    assert_string_equal(machine->classes[2].name, "gpu");
    assert_true(machine->memories[1].capacity_bytes == 80e9);
    assert_true(machine->memories[0].capacity_bytes == 1099511627776.0);
    assert_route(machine, "host0", "gpu0", 3.938e9 * 16 * 0.85, 2e3, "dram0 gpu0.down");
    sy_machine_destroy(machine);
}

static void class_names_are_unique(void **state) {
    (void)state;
    struct sy_machine *machine =
        parse("cpu:1 gpu:1@speed=1.0000001 gpu:1@speed=1.00000011 gpu:1@speed=1 gpu:2@speed=2");
    assert_sound(machine);
    assert_int_equal(machine->class_count, 5);
    assert_string_equal(machine->classes[1].name, "gpu-1.0000001");
    assert_string_equal(machine->classes[2].name, "gpu-1.00000011");
    assert_string_equal(machine->classes[3].name, "gpu");
    assert_string_equal(machine->classes[4].name, "gpu-2");
    assert_int_equal(machine->classes[4].device_count, 2);
    sy_machine_destroy(machine);
}

static void buses_are_shared(void **state) {
    (void)state;
    struct sy_machine *machine = parse("2x(cpu:1) gpu:2@bus=plx,pcie3x8 gpu:1@bus=plx gpu:1");
    assert_sound(machine);
    double x8 = 0.985e9 * 8 * 0.85, x16 = 0.985e9 * 16 * 0.85;
    assert_true(fabs(resource_bytes_per_s(machine, "plx.up") - x16) < 1);
    /* One switch is at one socket, that of its first device. */
    assert_int_equal(device_named(machine, "gpu1")->host_memory, 0);
    assert_int_equal(device_named(machine, "gpu3")->host_memory, 1);
    assert_route(machine, "host0", "gpu1", x8, 10e3, "dram0 plx.down gpu1.down");
    assert_route(machine, "gpu0", "gpu2", x8, 20e3, "gpu0.up gpu2.down");
    assert_route(machine, "gpu2", "gpu3", x16, 20.5e3, "gpu2.up plx.up upi0-1 gpu3.down");
    sy_machine_destroy(machine);

    machine = parse("2x(cpu:1 gpu:2@bus=plx)");
    assert_sound(machine);
    assert_route(machine, "gpu0", "gpu2", x16, 20.5e3,
                 "gpu0.up host0.plx.up upi0-1 host1.plx.down gpu2.down");
    sy_machine_destroy(machine);
}

static void boards_and_links(void **state) {
    (void)state;
    struct sy_machine *machine =
        parse("cpu:1\n\tfpga:1@regions=2,port=400MB/s,image=11MiB,init=5ms,link=2.5GB/s asic:1");
    assert_sound(machine);
    assert_true(machine->boards[0].port_bytes_per_s == 400e6);
    assert_true(machine->boards[0].image_bytes == 11 * 1048576.0);
    assert_true(machine->boards[0].init_ns == 5e6);
    assert_route(machine, "fpga0", "host0", 2.5e9, 10e3, "fpga0.up dram0");
    assert_int_equal(device_named(machine, "asic0")->kind, SY_ASIC);
    sy_machine_destroy(machine);
}

static void dram_outside_is_the_default(void **state) {
    (void)state;
    struct sy_machine *machine = parse("(cpu:1 dram:10GB/s) 2x(cpu:1) dram:30GB/s cpu:3");
    assert_sound(machine);
    assert_true(resource_bytes_per_s(machine, "dram0") == 10e9);
    assert_true(resource_bytes_per_s(machine, "dram1") == 30e9);
    assert_true(resource_bytes_per_s(machine, "dram2") == 30e9);
    assert_int_equal(device_named(machine, "cpu5")->memory, 2);
    sy_machine_destroy(machine);
}

struct mistake {
    const char *text;
    uint32_t line, column;
    const char *message; /* a part of it */
    const char *hint;    /* a part of it; NULL: any */
};

static const struct mistake mistakes[] = {
    {"", 1, 1, "no device", "cpu:8"},
    {"dram:40GB/s", 1, 1, "no device", NULL},
    {"gpux:4", 1, 1, "\"gpux\" is not a part", "\"gpu\""},
    {"cpu:12 gpu:4@stream=2", 1, 14, "no option \"stream\"", "\"streams\""},
    {"cpu:12 gpu:4@streams=2,spede=2", 1, 24, "no option \"spede\"", "\"speed\""},
    {"cpu:4@streams=2", 1, 7, "cpu has no option", "speed, watts, smt"},
    {"1000000x(1000000x(cpu:1))", 1, 1, "1000000 sockets", NULL},
    {"2x(cpu:1 3x(cpu:1))", 1, 10, "another socket", "nest"},
    {"cpu:1000000000", 1, 5, "too many", NULL},
    {"cpu:99999999999999999999999999", 1, 5, "too many", NULL},
    {"cpu:-4", 1, 5, "whole number", NULL},
    {"cpu:nan", 1, 5, "whole number", NULL},
    {"cpu:0", 1, 5, "zero", "leave it out"},
    {"cpu", 1, 4, "':'", "cpu:1"},
    {"cpu:", 1, 5, "expected the number", NULL},
    {"cpu:4 dram:0GB/s", 1, 12, "bandwidth", "40GB/s"},
    {"cpu:4 dram:-1GB/s", 1, 12, "bandwidth", NULL},
    {"cpu:4 dram:nanGB/s", 1, 12, "bandwidth", NULL},
    {"cpu:4 dram:infGB/s", 1, 12, "bandwidth", NULL},
    {"cpu:4 dram:4e999GB/s", 1, 12, "bandwidth", NULL},
    {"cpu:4 dram:80GB", 1, 12, "bandwidth", NULL},
    {"cpu:4 dram:1GB/s dram:2GB/s", 1, 18, "twice", NULL},
    {"cpu:4@smt=2,smt=4", 1, 13, "twice", NULL},
    {"gpu:1@pcie3x16,link=3GB/s", 1, 16, "twice", NULL},
    {"gpu:1@pcie9x16", 1, 7, "not a PCIe link", "pcie4x16"},
    {"gpu:1@pcie3x7", 1, 7, "not a PCIe link", NULL},
    {"gpu:1@speed=0", 1, 13, "not a value for speed", NULL},
    {"gpu:1@speed=nan", 1, 13, "not a value for speed", NULL},
    {"gpu:1@watts=10/20", 1, 13, "not a value for watts", "250/40"},
    {"gpu:1@memory=10", 1, 14, "not a value for memory", "16GB"},
    {"gpu:1@memory", 1, 13, "'='", NULL},
    {"gpu:1@", 1, 7, "no option", NULL},
    {"2x(cpu:4", 1, 3, "not closed", "')'"},
    {"cpu:4)", 1, 6, "closes nothing", NULL},
    {"cpu:4,gpu:2", 1, 6, "space", NULL},
    {"2y(cpu:4)", 1, 2, "\"x(\"", NULL},
    {"2x(cpu:4 upi:3GB/s)", 1, 10, "upi", "after"},
    {"cpu:4\ngpu:1 bad:3", 2, 7, "\"bad\"", NULL},
    {"gpu:100", 1, 1, "at most 64", NULL},
    {"cpu:4000 cpu:97", 1, 10, "at most 4096", NULL},
    {"64x(cpu:64@smt=2)", 1, 5, "at most 4096", NULL},
    {"\xff\xfe", 1, 1, "byte 0xff", NULL},
};

static void mistakes_are_explained(void **state) {
    (void)state;
    for (size_t i = 0; i < SY_COUNT(mistakes); i++) {
        const struct mistake *mistake = &mistakes[i];
        struct sy_machine *machine = NULL;
        struct sy_error error = {0};
        int code = sy_machine_parse(mistake->text, &machine, &error);
        if (code != -EINVAL || machine || error.line != mistake->line ||
            error.column != mistake->column || !strstr(error.message, mistake->message) ||
            (mistake->hint && !strstr(error.hint, mistake->hint))) {
            fail_msg("\"%s\": %d %u:%u %s (%s)", mistake->text, code, error.line, error.column,
                     error.message, error.hint);
        }
    }
}

static void no_error_wanted(void **state) {
    (void)state;
    struct sy_machine *machine = NULL;
    assert_int_equal(sy_machine_parse("gpu:", &machine, NULL), -EINVAL);
    assert_null(machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_socket),
        cmocka_unit_test(cpu_and_gpus),
        cmocka_unit_test(two_sockets),
        cmocka_unit_test(threads_share_a_core),
        cmocka_unit_test(streams_and_speed),
        cmocka_unit_test(class_names_are_unique),
        cmocka_unit_test(buses_are_shared),
        cmocka_unit_test(boards_and_links),
        cmocka_unit_test(dram_outside_is_the_default),
        cmocka_unit_test(mistakes_are_explained),
        cmocka_unit_test(no_error_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
