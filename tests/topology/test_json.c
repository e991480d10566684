/* SPDX-License-Identifier: Apache-2.0
 *
 * Native JSON: exact round trips, sections in any order, and errors that point.
 */
#include "helpers.h"
#include <errno.h>

static struct sy_machine *read_back(const struct sy_buffer *json) {
    struct sy_machine *machine = NULL;
    struct sy_error error = {0};
    if (sy_machine_read_json("back", json->text, json->length, &machine, &error)) {
        fail_msg("%u:%u: %s", error.line, error.column, error.message);
    }
    return machine;
}

static void assert_same_devices(const struct sy_machine *a, const struct sy_machine *b) {
    for (uint32_t i = 0; i < a->device_count; i++) {
        struct sy_device x = a->devices[i], y = b->devices[i];
        assert_string_equal(x.name, y.name);
        assert_true(x.kind == y.kind && x.class_index == y.class_index && x.memory == y.memory);
        assert_true(x.host_memory == y.host_memory && x.group == y.group && x.board == y.board);
        assert_true(x.speed_ratio == y.speed_ratio && x.busy_watts == y.busy_watts &&
                    x.idle_watts == y.idle_watts);
    }
    for (uint32_t i = 0; i < a->class_count; i++) {
        assert_string_equal(a->classes[i].name, b->classes[i].name);
        assert_int_equal(a->classes[i].device_count, b->classes[i].device_count);
    }
}

static void assert_same(const struct sy_machine *a, const struct sy_machine *b) {
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->device_count, b->device_count);
    assert_int_equal(a->memory_count, b->memory_count);
    assert_int_equal(a->resource_count, b->resource_count);
    assert_int_equal(a->class_count, b->class_count);
    assert_int_equal(a->board_count, b->board_count);
    assert_int_equal(a->group_count, b->group_count);
    assert_same_devices(a, b);
    for (uint32_t i = 0; i < a->memory_count; i++) {
        const struct sy_memory *x = &a->memories[i], *y = &b->memories[i];
        assert_string_equal(x->name, y->name);
        assert_true(x->host == y->host && x->capacity_bytes == y->capacity_bytes &&
                    x->resource == y->resource && x->dma_count == y->dma_count);
    }
    for (uint32_t i = 0; i < a->resource_count; i++) {
        assert_string_equal(a->resources[i].name, b->resources[i].name);
        assert_true(a->resources[i].kind == b->resources[i].kind &&
                    a->resources[i].bytes_per_s == b->resources[i].bytes_per_s);
    }
    for (uint32_t i = 0; i < a->board_count; i++) {
        assert_string_equal(a->boards[i].name, b->boards[i].name);
        assert_true(a->boards[i].port_bytes_per_s == b->boards[i].port_bytes_per_s &&
                    a->boards[i].init_ns == b->boards[i].init_ns &&
                    a->boards[i].image_bytes == b->boards[i].image_bytes);
    }
    assert_memory_equal(a->routes, b->routes,
                        a->memory_count * a->memory_count * sizeof *a->routes);
}

static void round_trips(void **state) {
    (void)state;
    static const char *const machines[] = {
        "cpu:8",
        "2x(cpu:4@smt=2 dram:40GB/s gpu:1@pcie4x16) upi:20GB/s",
        "2x(cpu:3 gpu:2@bus=plx,streams=3) fpga:2@regions=4,port=123456789B/s asic:1@speed=0.3",
        "32x(cpu:8) gpu:8",
        MACHINE("synthetic-2gpu.bus.csv"),
        MACHINE("synthetic-node.json"),
        MACHINE("power8-2x4c-4gpu.xml"),
        "here",
    };
    for (size_t i = 0; i < SY_COUNT(machines); i++) {
        struct sy_machine *machine = open_machine(machines[i]);
        assert_sound(machine);
        struct sy_buffer json = {0}, again = {0};
        sy_machine_write_json(machine, &json);
        struct sy_machine *back = read_back(&json);
        assert_same(machine, back);
        sy_machine_write_json(back, &again);
        assert_string_equal(json.text, again.text);
        sy_buffer_finish(&json);
        sy_buffer_finish(&again);
        sy_machine_destroy(back);
        sy_machine_destroy(machine);
    }
}

static void written_by_hand(void **state) {
    (void)state;
    struct sy_machine *machine = open_machine(MACHINE("synthetic-node.json"));
    assert_sound(machine);
    assert_string_equal(machine->name, "node");
    assert_int_equal(machine->class_count, 4);
    assert_string_equal(machine->classes[1].name, "cpu-0.5");
    assert_int_equal(machine->group_count, 4);
    assert_int_equal(device_named(machine, "a")->group, device_named(machine, "b")->group);
    assert_true(device_named(machine, "slot")->idle_watts == 12);
    assert_true(machine->boards[0].init_ns == 0);
    assert_route(machine, "ram", "ddr", 8e9, 3000, "dram pcie");
    assert_route(machine, "ddr", "sram", 6e9, 5000, "");
    assert_route(machine, "sram", "ddr", 1e9, 9000, "pcie");
    sy_machine_destroy(machine);
}

#define HEAD                                                                                       \
    "{\"schema\": \"symph-machine-1\",\n\"memories\": [{\"name\": \"m\", \"host\": true}],\n"
#define CPU "{\"name\": \"c\", \"kind\": \"cpu\", \"memory\": \"m\"}"

static const struct {
    const char *text;
    uint32_t line, column; /* 0: unknown */
    const char *message;
} mistakes[] = {
    {"", 1, 1, "expected"},
    {"{", 1, 2, "ends here"},
    {"[]", 1, 1, "object"},
    {"{}", 1, 1, "a machine lacks \"schema\""},
    {"{\"schema\": \"symph-machine-2\"}", 1, 12, "symph-machine-2"},
    {HEAD "\"devices\": [" CPU ", " CPU "]}", 3, 0, "two devices are called \"c\""},
    {HEAD "\"devices\": []}", 0, 0, "no device"},
    {HEAD "\"devices\": [" CPU "]", 3, 0, "ends here"},
    {HEAD "\"devices\": [" CPU "]} x", 3, 0, ""},
    {HEAD "\"devices\": [" CPU "], \"devices\": []}", 3, 0, "twice"},
    {HEAD "\"device\": [" CPU "]}", 3, 1, "no member \"device\""},
    {HEAD "\"devices\": [{\"name\": \"c\", \"memory\": \"m\"}]}", 3, 13, "lacks \"kind\""},
    {HEAD "\"devices\": [{\"name\": \"c\", \"name\": \"d\"}]}", 3, 27, "twice"},
    {HEAD "\"devices\": [{\"kidn\": \"cpu\"}]}", 3, 14, "no member \"kidn\""},
    {HEAD "\"devices\": [{\"kind\": \"tpu\"}]}", 3, 22, "not a kind of device"},
    {HEAD "\"devices\": [{\"memory\": \"q\"}]}", 3, 24, "there is no \"q\""},
    {HEAD "\"devices\": [{\"speed_ratio\": 0}]}", 3, 29, "speed_ratio"},
    {HEAD "\"devices\": [{\"speed_ratio\": NaN}]}", 3, 29, "expected a value"},
    {HEAD "\"devices\": [{\"group\": 1.5}]}", 3, 23, "whole number"},
    {HEAD "\"devices\": [{\"group\": -1}]}", 3, 23, "group"},
    {HEAD "\"resources\": [{\"bytes_per_s\": 0}]}", 3, 31, "bytes_per_s"},
    {HEAD "\"resources\": [{\"bytes_per_s\": -1e9}]}", 3, 31, "bytes_per_s"},
    {HEAD "\"resources\": [{\"bytes_per_s\": 1e999}]}", 3, 31, "not a number"},
    {HEAD "\"resources\": [{\"kind\": \"bus\"}]}", 3, 24, "not a kind of resource"},
    {HEAD "\"hubs\": [\"m\"]}", 3, 10, "called \"m\""},
    {HEAD "\"links\": [{\"from\": \"m\", \"to\": \"m\", \"bytes_per_s\": 1}]}", 3, 0,
     "two different"},
    {HEAD "\"routes\": [{\"from\": \"m\", \"to\": \"m\", \"bytes_per_s\": 1}]}", 3, 0,
     "two different"},
    {"{\"schema\": \"symph-machine-1\", \"memories\": [{\"name\": \"m\"}, {\"name\": \"m\"}]}", 1,
     0, "called \"m\""},
    {"{\"schema\": \"symph-machine-1\", \"memories\": [{\"name\": \"\"}]}", 1, 53, "a name"},
};

static void mistakes_are_explained(void **state) {
    (void)state;
    for (size_t i = 0; i < SY_COUNT(mistakes); i++) {
        struct sy_machine *machine = NULL;
        struct sy_error error = {0};
        int code = sy_machine_read_json("f.json", mistakes[i].text, strlen(mistakes[i].text),
                                        &machine, &error);
        bool placed = (!mistakes[i].line || error.line == mistakes[i].line) &&
                      (!mistakes[i].column || error.column == mistakes[i].column);
        if (code != -EINVAL || machine || !placed || strcmp(error.file, "f.json") != 0 ||
            !strstr(error.message, mistakes[i].message)) {
            fail_msg("%s\n%d %s:%u:%u %s (%s)", mistakes[i].text, code, error.file, error.line,
                     error.column, error.message, error.hint);
        }
    }
}

/* Every proper prefix of a good file is refused. */
static void truncated_is_refused(void **state) {
    (void)state;
    struct sy_machine *machine = parse("cpu:1 gpu:1 fpga:1");
    struct sy_buffer json = {0};
    sy_machine_write_json(machine, &json);
    sy_machine_destroy(machine);
    size_t end = json.length;
    while (json.text[end - 1] != '}') {
        end--;
    }
    for (size_t length = 0; length < end; length++) {
        char *cut = strndup(json.text, length);
        struct sy_error error = {0};
        machine = NULL;
        assert_int_equal(sy_machine_read_json("f", cut, length, &machine, &error), -EINVAL);
        assert_null(machine);
        assert_true(error.line >= 1 && error.message[0]);
        free(cut);
    }
    sy_buffer_finish(&json);
}

static void too_many_devices(void **state) {
    (void)state;
    struct sy_buffer json = {0};
    sy_buffer_printf(&json, "%s\"devices\": [", HEAD);
    for (uint32_t i = 0; i < 5000; i++) {
        sy_buffer_printf(&json, "%s{\"name\": \"c%u\", \"kind\": \"cpu\", \"memory\": \"m\"}\n",
                         i ? "," : "", i);
    }
    sy_buffer_printf(&json, "]}");
    struct sy_machine *machine = NULL;
    struct sy_error error = {0};
    assert_int_equal(sy_machine_read_json("f", json.text, json.length, &machine, &error), -EINVAL);
    assert_int_equal(error.line, 3 + 4096);
    assert_string_equal(error.message, "too many devices");
    sy_buffer_finish(&json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trips),
        cmocka_unit_test(written_by_hand),
        cmocka_unit_test(mistakes_are_explained),
        cmocka_unit_test(truncated_is_refused),
        cmocka_unit_test(too_many_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
