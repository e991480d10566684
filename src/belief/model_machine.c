/* SPDX-License-Identifier: Apache-2.0
 *
 * model_machine: the traffic of a machine's shared resources, and how routes tie them together.
 *
 * In: a machine. Out: one variable per resource, in the machine's order, with its capacity; sums
 * where all that crosses one resource crosses exactly one of some others, as behind a PCIe switch.
 * Found from the routes alone, so that it holds for any topology. Invariant: only copies that begin
 * or end in host memory count; copies between accelerators stay below a switch and widen the sum.
 */
#include "belief/build.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORDS        ((SY_MEMORY_MAX * SY_MEMORY_MAX) / 64)
#define START_SHARE  0.05 /* of its capacity that a resource is thought to carry unseen */
#define START_SD     2.0
#define DRIFT_SD     0.15
#define OFFSET_SHARE 1e-4
#define WIDTH_SUM    0.03
#define WIDTH_PEERS  0.3 /* where copies between accelerators do not cross the switch */
#define WIDTH_DRAM   0.1
#define CHILDREN_MAX 64
#define NOISE_RATIO  0.05

/* Routes between a host memory and any other that cross a resource, as bits. */
struct crossing {
    uint64_t bits[WORDS];
    bool any;
    bool peers; /* accelerators reach each other through it too */
};

struct routes {
    const struct sy_machine *machine;
    struct crossing *of; /* per resource */
};

struct sy_variable sy_variable_of_resource(const struct sy_machine *machine, uint32_t resource) {
    double capacity = machine->resources[resource].bytes_per_s;
    return (struct sy_variable){.name = machine->resources[resource].name,
                                .role = sy_resource_kind_role(machine->resources[resource].kind),
                                .counter = SY_NONE,
                                .pmu = SY_PMU_NONE,
                                .start_log = log(capacity * START_SHARE),
                                .start_sd = START_SD,
                                .drift_sd = DRIFT_SD,
                                .noise_ratio = NOISE_RATIO,
                                .offset = capacity * OFFSET_SHARE,
                                .capacity = capacity,
                                .resource = resource};
}

const char *sy_resource_kind_role(enum sy_resource_kind kind) {
    static const char *const roles[] = {[SY_RES_DRAM] = "dram_total",
                                        [SY_RES_LINK] = "link",
                                        [SY_RES_SWITCH] = "switch",
                                        [SY_RES_INTERCONNECT] = "interconnect"};
    return roles[kind];
}

static void mark_routes(struct routes *routes) {
    const struct sy_machine *machine = routes->machine;
    for (uint32_t from = 0; from < machine->memory_count; from++) {
        for (uint32_t to = 0; to < machine->memory_count; to++) {
            const struct sy_route *route = &machine->routes[from * machine->memory_count + to];
            bool host = machine->memories[from].host || machine->memories[to].host;
            uint32_t bit = from * SY_MEMORY_MAX + to;
            for (uint32_t i = 0; i < route->resource_count; i++) {
                struct crossing *crossing = &routes->of[route->resources[i]];
                if (host) {
                    crossing->bits[bit / 64] |= UINT64_C(1) << (bit % 64);
                    crossing->any = true;
                } else {
                    crossing->peers = true;
                }
            }
        }
    }
}

static bool is_within(const struct crossing *inner, const struct crossing *outer, bool *ret_equal) {
    *ret_equal = true;
    for (uint32_t i = 0; i < WORDS; i++) {
        if (inner->bits[i] & ~outer->bits[i]) {
            return false;
        }
        *ret_equal = *ret_equal && inner->bits[i] == outer->bits[i];
    }
    return inner->any;
}

/* Nearer to an accelerator: the order in which resources that carry the same copies are nested. */
static uint32_t depth_of(enum sy_resource_kind kind) {
    static const uint32_t depths[] = {
        [SY_RES_DRAM] = 0, [SY_RES_INTERCONNECT] = 1, [SY_RES_SWITCH] = 2, [SY_RES_LINK] = 3};
    return depths[kind];
}

static bool is_below(const struct routes *routes, uint32_t low, uint32_t high) {
    bool equal;
    if (low == high || !is_within(&routes->of[low], &routes->of[high], &equal)) {
        return false;
    }
    const struct sy_resource *resources = routes->machine->resources;
    return !equal || depth_of(resources[low].kind) > depth_of(resources[high].kind);
}

static bool is_directly_below(const struct routes *routes, uint32_t low, uint32_t high) {
    if (!is_below(routes, low, high)) {
        return false;
    }
    for (uint32_t i = 0; i < routes->machine->resource_count; i++) {
        if (is_below(routes, low, i) && is_below(routes, i, high)) {
            return false;
        }
    }
    return true;
}

static bool overlaps(const struct crossing *a, const uint64_t *bits) {
    for (uint32_t i = 0; i < WORDS; i++) {
        if (a->bits[i] & bits[i]) {
            return true;
        }
    }
    return false;
}

/* Resources directly below one, as far as no copy crosses two of them; whether they carry all. */
static uint32_t list_children(const struct routes *routes, uint32_t high, uint32_t *children,
                              bool *ret_all, bool *ret_peers) {
    const struct sy_resource *resources = routes->machine->resources;
    uint64_t covered[WORDS] = {0};
    uint32_t count = 0;
    *ret_peers = false;
    for (uint32_t i = 0; i < routes->machine->resource_count && count < CHILDREN_MAX; i++) {
        const struct crossing *crossing = &routes->of[i];
        if (!is_directly_below(routes, i, high) || overlaps(crossing, covered) ||
            (resources[high].kind == SY_RES_DRAM && resources[i].kind == SY_RES_INTERCONNECT)) {
            continue; /* cores load across sockets too: that is no copy of one memory's */
        }
        for (uint32_t w = 0; w < WORDS; w++) {
            covered[w] |= crossing->bits[w];
        }
        *ret_peers = *ret_peers || (crossing->peers && !routes->of[high].peers);
        children[count++] = i;
    }
    *ret_all = memcmp(covered, routes->of[high].bits, sizeof covered) == 0;
    return count;
}

void sy_add_resource_sum(struct sy_model *model, bool *failed, const uint32_t *variable_of,
                         const struct sy_resource_sum *sum) {
    struct sy_term terms[CHILDREN_MAX];
    if (variable_of[sum->whole] == SY_NONE) {
        return;
    }
    for (uint32_t i = 0; i < sum->count; i++) {
        if (variable_of[sum->parts[i]] == SY_NONE) {
            return;
        }
        terms[i] = (struct sy_term){variable_of[sum->parts[i]], 1};
    }
    struct sy_factor factor = {.kind = sum->kind,
                               .origin = SY_FROM_TOPOLOGY,
                               .why = sum->why,
                               .out = variable_of[sum->whole],
                               .width = sum->width};
    *failed = sy_model_add_factor(model, &factor, terms, sum->count) == SY_NONE || *failed;
}

static void find_sum(const struct routes *routes, uint32_t whole, struct sy_resource_sum *ret_sum) {
    bool all, peers;
    bool dram = routes->machine->resources[whole].kind == SY_RES_DRAM;
    ret_sum->whole = whole;
    ret_sum->count = list_children(routes, whole, ret_sum->parts, &all, &peers);
    ret_sum->kind = dram || !all ? SY_FACTOR_AT_MOST : SY_FACTOR_EQUAL;
    ret_sum->width = dram || !all ? WIDTH_DRAM : peers ? WIDTH_PEERS : WIDTH_SUM;
    ret_sum->why = dram    ? "copies to and from devices are part of memory's traffic"
                   : !all  ? "what crosses these crosses this"
                   : peers ? "links behind a switch add up to it, but for copies between peers"
                           : "links behind a switch add up to it";
}

int sy_find_resource_sums(const struct sy_machine *machine, struct sy_arena *arena,
                          struct sy_resource_sum **ret_sums, uint32_t *ret_count) {
    struct routes routes = {.machine = machine,
                            .of = calloc(machine->resource_count + 1u, sizeof(struct crossing))};
    struct sy_resource_sum *sums =
        sy_arena_alloc(arena, machine->resource_count + 1u, sizeof *sums);
    uint32_t count = 0;
    if (!routes.of || !sums) {
        free(routes.of);
        return -ENOMEM;
    }
    mark_routes(&routes);
    for (uint32_t i = 0; i < machine->resource_count; i++) {
        find_sum(&routes, i, &sums[count]);
        count += sums[count].count > 0;
    }
    free(routes.of);
    *ret_sums = sums;
    *ret_count = count;
    return 0;
}

int sy_model_of_machine(const struct sy_machine *machine, struct sy_model **ret_model,
                        struct sy_error *error) {
    struct sy_model *model = sy_model_create(machine->name);
    struct sy_arena *arena = sy_arena_create();
    uint32_t *variable_of = calloc(machine->resource_count + 1u, sizeof *variable_of);
    struct sy_resource_sum *sums;
    uint32_t count = 0;
    int code = model && arena && variable_of ? 0 : -ENOMEM;
    code = code ? code : sy_find_resource_sums(machine, arena, &sums, &count);
    bool failed = false;
    for (uint32_t i = 0; i < machine->resource_count && !code; i++) {
        struct sy_variable variable = sy_variable_of_resource(machine, i);
        variable_of[i] = sy_model_add_variable(model, &variable);
        failed = failed || variable_of[i] == SY_NONE;
    }
    for (uint32_t i = 0; i < count && !code && !failed; i++) {
        sy_add_resource_sum(model, &failed, variable_of, &sums[i]);
    }
    code = failed ? -ENOMEM : code;
    free(variable_of);
    sy_arena_destroy(arena);
    if (code) {
        sy_model_destroy(model);
        return sy_fail(error, code, "out of memory");
    }
    model->step_ns = SY_STEP_NS;
    *ret_model = model;
    return 0;
}
