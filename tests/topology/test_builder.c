/* SPDX-License-Identifier: Apache-2.0
 *
 * The builder: shortest routes against Floyd-Warshall, groups, and the rules every machine obeys.
 */
#include "helpers.h"
#include <errno.h>

static uint32_t add_memory(struct sy_builder *builder, const char *name, bool host) {
    struct sy_memory memory = {.name = name,
                               .host = host,
                               .capacity_bytes = INFINITY,
                               .resource = SY_NONE,
                               .dma_count = 1};
    return sy_builder_add_memory(builder, &memory);
}

static struct sy_device cpu(const char *name) {
    return (struct sy_device){
        .name = name, .kind = SY_CPU, .group = SY_NONE, .board = SY_NONE, .speed_ratio = 1};
}

static void add_link(struct sy_builder *builder, uint32_t from, uint32_t to, double bytes_per_s,
                     double latency_ns) {
    struct sy_link link = {.from = from,
                           .to = to,
                           .resource = SY_NONE,
                           .latency_ns = latency_ns,
                           .bytes_per_s = bytes_per_s};
    sy_builder_add_link(builder, &link);
}

/* Random host memories and links: latency alone decides, since bandwidth is equal. */
static void routes_are_shortest(void **state) {
    (void)state;
    const uint64_t seed = 20240611;
    print_message("# seed %llu\n", (unsigned long long)seed);
    for (uint32_t round = 0; round < 50; round++) {
        struct sy_rng rng = sy_rng_make(seed, 1, round);
        uint32_t count = 2 + sy_rng_below(&rng, 10);
        double best[12][12];
        struct sy_builder *builder = sy_builder_create("random");
        struct sy_device device = cpu("cpu");
        sy_builder_add_device(builder, &device);
        for (uint32_t i = 0; i < count; i++) {
            char name[16];
            snprintf(name, sizeof name, "m%u", i);
            assert_int_equal(add_memory(builder, name, true), i);
        }
        for (uint32_t i = 0; i < count; i++) {
            for (uint32_t j = 0; j < count; j++) {
                best[i][j] = i == j ? 0 : INFINITY;
                if (i != j && (j == (i + 1) % count || sy_rng_below(&rng, 3) == 0)) {
                    double latency_ns = 1 + sy_rng_below(&rng, 1000);
                    add_link(builder, i, j, 1e17, latency_ns);
                    best[i][j] = latency_ns;
                }
            }
        }
        for (uint32_t k = 0; k < count; k++) {
            for (uint32_t i = 0; i < count; i++) {
                for (uint32_t j = 0; j < count; j++) {
                    best[i][j] = fmin(best[i][j], best[i][k] + best[k][j]);
                }
            }
        }
        struct sy_machine *machine = NULL;
        struct sy_error error = {0};
        assert_int_equal(sy_builder_finish(builder, &machine, &error), 0);
        sy_builder_destroy(builder);
        for (uint32_t i = 0; i < count; i++) {
            for (uint32_t j = 0; j < count; j++) {
                assert_true(machine->routes[i * count + j].latency_ns == best[i][j]);
            }
        }
        sy_machine_destroy(machine);
    }
}

static void accelerators_do_not_forward(void **state) {
    (void)state;
    struct sy_builder *builder = sy_builder_create("m");
    struct sy_device device = cpu("cpu");
    sy_builder_add_device(builder, &device);
    uint32_t host = add_memory(builder, "host", true);
    uint32_t a = add_memory(builder, "a", false), b = add_memory(builder, "b", false);
    add_link(builder, host, a, 1e9, 1);
    add_link(builder, a, host, 1e9, 1);
    add_link(builder, a, b, 1e9, 1);
    add_link(builder, b, a, 1e9, 1);
    struct sy_machine *machine = NULL;
    struct sy_error error = {0};
    assert_int_equal(sy_builder_finish(builder, &machine, &error), -EINVAL);
    assert_null(machine);
    assert_string_equal(error.message, "from memory \"host\" to memory \"b\": there is no route");
    sy_builder_destroy(builder);
}

static void groups_are_numbered(void **state) {
    (void)state;
    static const uint32_t labels[] = {9, SY_NONE, 9, 4, SY_NONE, 4};
    static const uint32_t expected[] = {0, 1, 0, 2, 3, 2};
    struct sy_builder *builder = sy_builder_create("m");
    add_memory(builder, "host", true);
    for (uint32_t i = 0; i < 6; i++) {
        char name[16];
        snprintf(name, sizeof name, "c%u", i);
        struct sy_device device = cpu(name);
        device.group = labels[i];
        assert_int_equal(sy_builder_add_device(builder, &device), i);
    }
    struct sy_machine *machine = NULL;
    struct sy_error error = {0};
    assert_int_equal(sy_builder_finish(builder, &machine, &error), 0);
    sy_builder_destroy(builder);
    assert_int_equal(machine->group_count, 4);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(machine->devices[i].group, expected[i]);
    }
    sy_machine_destroy(machine);
}

/* Builds a machine of one host, one accelerator and one device, each perhaps broken. */
static void expect(const struct sy_device *device, const struct sy_memory *memory,
                   const struct sy_resource *resource, const char *message) {
    struct sy_builder *builder = sy_builder_create("m");
    add_memory(builder, "host", true);
    sy_builder_add_device(builder, device);
    if (memory) {
        sy_builder_add_memory(builder, memory);
    }
    if (resource) {
        sy_builder_add_resource(builder, resource);
    }
    struct sy_machine *machine = NULL;
    struct sy_error error = {0};
    assert_int_equal(sy_builder_finish(builder, &machine, &error), -EINVAL);
    if (!strstr(error.message, message)) {
        fail_msg("\"%s\" does not say \"%s\"", error.message, message);
    }
    sy_builder_destroy(builder);
}

static void rules_are_checked(void **state) {
    (void)state;
    struct sy_device fine = cpu("c"), device = fine;
    struct sy_memory memory = {
        .name = "m", .capacity_bytes = 1, .resource = SY_NONE, .dma_count = 1};
    struct sy_resource resource = {.name = "r", .bytes_per_s = 0};
    expect(&fine, NULL, &resource, "bandwidth must be positive");
    resource.bytes_per_s = NAN;
    expect(&fine, NULL, &resource, "bandwidth must be positive");
    resource.bytes_per_s = INFINITY;
    expect(&fine, NULL, &resource, "bandwidth must be positive");
    memory.name = "host";
    expect(&fine, &memory, NULL, "memory name \"host\" is used twice");
    memory = (struct sy_memory){.name = "m", .capacity_bytes = -1, .dma_count = 1};
    expect(&fine, &memory, NULL, "capacity must be positive");
    memory.capacity_bytes = 1;
    memory.resource = 3;
    expect(&fine, &memory, NULL, "no such resource");
    device.memory = 7;
    expect(&device, NULL, NULL, "has no memory");
    device = fine;
    device.speed_ratio = 0;
    expect(&device, NULL, NULL, "speed must be positive");
    device = fine;
    device.idle_watts = 3;
    expect(&device, NULL, NULL, "watts");
    device = fine;
    device.kind = SY_FPGA;
    expect(&device, NULL, NULL, "needs a board");
    device.kind = SY_GPU;
    device.board = 0;
    expect(&device, NULL, NULL, "only FPGA regions");
    device.name = "";
    expect(&device, NULL, NULL, "empty name");
}

static void limits_hold(void **state) {
    (void)state;
    struct sy_builder *builder = sy_builder_create("m");
    for (uint32_t i = 0; i < SY_MEMORY_MAX; i++) {
        assert_int_equal(add_memory(builder, "x", true), i);
    }
    assert_int_equal(add_memory(builder, "x", true), SY_NONE);
    struct sy_machine *machine = NULL;
    struct sy_error error = {0};
    assert_int_equal(sy_builder_finish(builder, &machine, &error), -E2BIG);
    assert_non_null(strstr(error.message, "64 memories"));
    sy_builder_destroy(builder);

    builder = sy_builder_create("m");
    struct sy_device device = cpu("c");
    for (uint32_t i = 0; i < SY_DEVICE_MAX; i++) {
        assert_int_equal(sy_builder_add_device(builder, &device), i);
    }
    assert_int_equal(sy_builder_add_device(builder, &device), SY_NONE);
    assert_int_equal(sy_builder_finish(builder, &machine, &error), -E2BIG);
    sy_builder_destroy(builder);

    builder = sy_builder_create("m");
    add_memory(builder, "host", true);
    assert_int_equal(sy_builder_finish(builder, &machine, &error), -EINVAL);
    assert_string_equal(error.message, "the machine has no device");
    sy_builder_destroy(builder);
    assert_null(machine);
}

static void long_routes_are_refused(void **state) {
    (void)state;
    struct sy_builder *builder = sy_builder_create("m");
    struct sy_device device = cpu("c");
    sy_builder_add_device(builder, &device);
    for (uint32_t i = 0; i < 8; i++) {
        char name[16];
        snprintf(name, sizeof name, "m%u", i);
        add_memory(builder, name, true);
        struct sy_resource resource = {.name = name, .kind = SY_RES_LINK, .bytes_per_s = 1e9};
        struct sy_link link = {.from = i,
                               .to = (i + 1) % 8,
                               .resource = sy_builder_add_resource(builder, &resource),
                               .bytes_per_s = 1e9};
        sy_builder_add_link(builder, &link);
    }
    struct sy_machine *machine = NULL;
    struct sy_error error = {0};
    assert_int_equal(sy_builder_finish(builder, &machine, &error), -EINVAL);
    assert_non_null(strstr(error.message, "more than 6 resources"));
    sy_builder_destroy(builder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_are_shortest), cmocka_unit_test(accelerators_do_not_forward),
        cmocka_unit_test(groups_are_numbered), cmocka_unit_test(rules_are_checked),
        cmocka_unit_test(limits_hold),         cmocka_unit_test(long_routes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
