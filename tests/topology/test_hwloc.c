/* SPDX-License-Identifier: Apache-2.0
 *
 * Machines recorded as hwloc XML, this machine, and XML that is broken or hostile.
 */
#include "helpers.h"
#include <errno.h>
#include <sched.h>
#include <unistd.h>

static const struct {
    const char *file;
    uint32_t devices, memories, hosts, groups, gpus, fpgas;
} recorded[] = {
    {"vm-2c.xml", 2, 1, 1, 2, 0, 0},
    {"sl390s-2x6c-3gpu.xml", 27, 5, 2, 15, 3, 0},
    {"xeon-2x8c2t-3gpu.xml", 35, 5, 2, 19, 3, 0},
    {"xeon-4x2c2t.xml", 16, 1, 1, 8, 0, 0},
    {"opteron-8x2c-cpusets.xml", 10, 4, 4, 10, 0, 0},
    {"power8-2x4c-4gpu.xml", 20, 6, 2, 12, 4, 0},
    {"knl-hybrid.xml", 8, 1, 1, 4, 0, 0},
    {"synthetic-2x16c2t.xml", 64, 1, 1, 32, 0, 0},
    {"synthetic-2x8c.xml", 16, 2, 2, 16, 0, 0},
    {"synthetic-2x8c-switch.xml", 19, 5, 2, 19, 2, 1},
    {"synthetic-bandwidth.xml", 4, 2, 2, 4, 0, 0},
};

static void recorded_machines(void **state) {
    (void)state;
    for (size_t i = 0; i < SY_COUNT(recorded); i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", MACHINES, recorded[i].file);
        struct sy_machine *machine = open_machine(path);
        assert_sound(machine);
        uint32_t hosts = 0, count[SY_KIND_COUNT] = {0};
        for (uint32_t m = 0; m < machine->memory_count; m++) {
            hosts += machine->memories[m].host;
        }
        for (uint32_t d = 0; d < machine->device_count; d++) {
            count[machine->devices[d].kind]++;
        }
        assert_int_equal(machine->device_count, recorded[i].devices);
        assert_int_equal(machine->memory_count, recorded[i].memories);
        assert_int_equal(hosts, recorded[i].hosts);
        assert_int_equal(machine->group_count, recorded[i].groups);
        assert_int_equal(count[SY_GPU], recorded[i].gpus);
        assert_int_equal(count[SY_FPGA], recorded[i].fpgas);
        sy_machine_destroy(machine);
    }
}

static void gpus_of_a_real_node(void **state) {
    (void)state;
    struct sy_machine *machine = open_machine(MACHINE("sl390s-2x6c-3gpu.xml"));
    assert_string_equal(machine->name, "sl390s-2x6c-3gpu");
    assert_int_equal(device_named(machine, "gpu0")->host_memory, 0);
    assert_int_equal(device_named(machine, "gpu1")->host_memory, 1);
    assert_int_equal(device_named(machine, "gpu2")->host_memory, 1);
    /* Trained at 4 GB/s, 85 % of it usable. */
    assert_route(machine, "host0", "gpu0", 3.4e9, 10e3, "dram0 gpu0.down");
    assert_route(machine, "gpu1", "host0", 3.4e9, 10.5e3, "gpu1.up upi1-0 dram0");
    /* Linux numbers the second threads of all cores behind the first ones. */
    assert_int_equal(device_named(machine, "cpu0")->group, device_named(machine, "cpu12")->group);
    sy_machine_destroy(machine);
}

static void nvlink_is_taken(void **state) {
    (void)state;
    struct sy_machine *machine = open_machine(MACHINE("power8-2x4c-4gpu.xml"));
    assert_route(machine, "gpu0", "gpu1", 40e9, 2e3, "gpu0-gpu1");
    assert_int_equal(route(machine, "gpu0", "gpu2")->resource_count, 3);
    assert_true(machine->memories[memory_named(machine, "gpu3")].capacity_bytes ==
                16671616.0 * 1024);
    sy_machine_destroy(machine);
}

/* What the firmware says of the memories' bandwidth; elsewhere it is assumed. */
static void bandwidth_is_taken(void **state) {
    (void)state;
    struct sy_machine *machine = open_machine(MACHINE("synthetic-bandwidth.xml"));
    assert_true(resource_bytes_per_s(machine, "dram0") == 50000 * 1048576.0);
    assert_true(resource_bytes_per_s(machine, "dram1") == 100000 * 1048576.0);
    sy_machine_destroy(machine);
    machine = open_machine(MACHINE("synthetic-2x8c.xml"));
    assert_true(resource_bytes_per_s(machine, "dram0") == SY_DEFAULT_DRAM_BYTES_PER_S);
    sy_machine_destroy(machine);
}

static void switch_is_shared(void **state) {
    (void)state;
    struct sy_machine *machine = open_machine(MACHINE("synthetic-2x8c-switch.xml"));
    double x16 = (double)15.753846f * 1e9 * 0.85, x8 = (double)7.876923f * 1e9 * 0.85;
    assert_int_equal(device_named(machine, "gpu0")->host_memory, 1);
    assert_route(machine, "host1", "gpu0", x16, 10e3, "dram1 pcie0.down gpu0.down");
    assert_route(machine, "gpu0", "gpu1", x16, 20e3, "gpu0.up gpu1.down");
    assert_route(machine, "gpu1", "fpga0", x8, 20e3, "gpu1.up pcie0.up fpga0.down");
    assert_true(machine->memories[0].capacity_bytes == 64e9);
    sy_machine_destroy(machine);
}

/* A process bound to one processor sees one. */
static void binding_is_respected(void **state) {
    (void)state;
    struct sy_machine *machine = open_machine("here");
    assert_sound(machine);
    uint32_t all = machine->device_count;
    sy_machine_destroy(machine);
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++) {
        if (CPU_ISSET(i, &before)) {
            CPU_SET(i, &one);
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    machine = open_machine("here");
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    uint32_t cpus = 0;
    for (uint32_t i = 0; i < machine->device_count; i++) {
        cpus += machine->devices[i].kind == SY_CPU;
    }
    assert_int_equal(cpus, 1);
    assert_true(all >= machine->device_count);
    sy_machine_destroy(machine);
}

static const struct {
    const char *text;
    uint32_t line, column;
    const char *message;
} mistakes[] = {
    {"<topology version=\"2.0\">\n<object>\n", 3, 1, "ends inside <object>"},
    {"<topology>\n <object type=\"Machine></topology>", 2, 15, "quote is not closed"},
    {"<topology>\n</object>", 2, 1, "</object> closes <topology>"},
    {"<svg></svg>", 1, 1, "<svg> is not a machine"},
    {"<topology/><topology/>", 1, 12, "second root"},
    {"<topology version=\"99.0\"></topology>", 1, 20, "hwloc 99"},
    {"<topology a></topology>", 1, 12, "'='"},
    {"<topology a=b></topology>", 1, 13, "quoted"},
    {"<topology></topology>junk", 1, 22, "outside"},
    {"<!-- <topology>", 1, 1, "-->"},
    {"<", 1, 1, "name of a tag"},
    {"<topology", 1, 10, "inside a tag"},
};

static void mistakes_are_explained(void **state) {
    (void)state;
    for (size_t i = 0; i < SY_COUNT(mistakes); i++) {
        struct sy_machine *machine = NULL;
        struct sy_error error = {0};
        int code = sy_machine_read_xml("f.xml", "m", mistakes[i].text, strlen(mistakes[i].text),
                                       &machine, &error);
        if (code != -EINVAL || machine || error.line != mistakes[i].line ||
            error.column != mistakes[i].column || !strstr(error.message, mistakes[i].message)) {
            fail_msg("%s\n%d %s:%u:%u %s (%s)", mistakes[i].text, code, error.file, error.line,
                     error.column, error.message, error.hint);
        }
    }
}

/* Well-formed, but nothing hwloc can use: one error, nothing on stderr, no crash. */
static void hostile_topologies(void **state) {
    (void)state;
    static const char *const texts[] = {
        "<topology version=\"2.0\"></topology>",
        "<topology version=\"2.0\"><object type=\"PU\" os_index=\"4294967295\"/></topology>",
        "<topology version=\"2.0\"><object type=\"Machine\" cpuset=\"0xf...f\"/></topology>",
        ("<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\" cpuset=\"0x1\">"
         "<object type=\"PU\" os_index=\"4000000000\" cpuset=\"0x1\"/></object></topology>"),
    };
    int stderr_copy = dup(2), ends[2];
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], 2);
    close(ends[1]);
    bool all_refused = true;
    for (size_t i = 0; i < SY_COUNT(texts); i++) {
        struct sy_machine *machine = NULL;
        struct sy_error error = {0};
        int code = sy_machine_read_xml("f.xml", "m", texts[i], strlen(texts[i]), &machine, &error);
        all_refused = all_refused && code == -EINVAL && !machine && error.message[0] &&
                      strcmp(error.file, "f.xml") == 0;
    }
    dup2(stderr_copy, 2);
    close(stderr_copy);
    char byte;
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    assert_true(all_refused);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_machines),      cmocka_unit_test(gpus_of_a_real_node),
        cmocka_unit_test(nvlink_is_taken),        cmocka_unit_test(bandwidth_is_taken),
        cmocka_unit_test(switch_is_shared),       cmocka_unit_test(binding_is_respected),
        cmocka_unit_test(mistakes_are_explained), cmocka_unit_test(hostile_topologies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
