/* SPDX-License-Identifier: Apache-2.0
 *
 * flow: random networks and random histories against a plain solver written here, and against the
 * definition of max-min fairness itself. Seeds are printed; allocations are counted.
 */
#include "world/flow.h"
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_FLOWS     48
#define MAX_RESOURCES 12

/* --- counting allocator: linked with --wrap ------------------------------------------------ */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *old);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *old);

static uint64_t allocator_calls;
static int64_t calls_until_failure = -1;

static bool may_allocate(void) {
    allocator_calls++;
    return calls_until_failure < 0 || calls_until_failure-- > 0;
}
void *__wrap_malloc(size_t size) {
    return may_allocate() ? __real_malloc(size) : NULL;
}
void *__wrap_calloc(size_t count, size_t size) {
    return may_allocate() ? __real_calloc(count, size) : NULL;
}
void *__wrap_realloc(void *old, size_t size) {
    return may_allocate() ? __real_realloc(old, size) : NULL;
}
void __wrap_free(void *old) {
    allocator_calls++;
    __real_free(old);
}

/* --- the plain solver: all flows, all resources, one event at a time, sums made afresh ------ */
struct plain_flow {
    bool present;
    double bound, weight, rate;
    uint32_t count;
    uint32_t resources[SY_FLOW_RESOURCES];
    double coefficients[SY_FLOW_RESOURCES];
};

struct plain {
    uint32_t resource_count, flow_count;
    uint32_t stride; /* flow f has the id f * stride, so that sets of flows are long and sparse */
    double capacities[MAX_RESOURCES];
    struct plain_flow flows[MAX_FLOWS];
};

static double coefficient_of(const struct plain_flow *flow, uint32_t resource) {
    double sum = 0;
    for (uint32_t k = 0; k < flow->count; k++) {
        sum += flow->resources[k] == resource ? flow->coefficients[k] : 0;
    }
    return sum;
}

/* Level at which the resource is full, if the flows in "growing" rise and the others stay. */
static double full_level(const struct plain *plain, const bool *growing, uint32_t resource) {
    double left = plain->capacities[resource], demand = 0;
    for (uint32_t f = 0; f < plain->flow_count; f++) {
        const struct plain_flow *flow = &plain->flows[f];
        double coefficient = flow->present ? coefficient_of(flow, resource) : 0;
        if (coefficient > 0 && growing[f]) {
            demand += coefficient * flow->weight;
        } else if (coefficient > 0) {
            left -= coefficient * flow->rate;
        }
    }
    return demand > 0 ? fmax(left, 0) / demand : INFINITY;
}

/* The flow at its bound first, or SY_NONE where a resource (ret_resource) is full before. */
static uint32_t next_stop(const struct plain *plain, const bool *growing, uint32_t *ret_resource,
                          double *ret_level) {
    uint32_t stopped = SY_NONE;
    double level = INFINITY;
    for (uint32_t r = 0; r < plain->resource_count; r++) {
        double full = full_level(plain, growing, r);
        if (full < level) {
            level = full;
            *ret_resource = r;
        }
    }
    for (uint32_t f = 0; f < plain->flow_count; f++) {
        double at_bound = plain->flows[f].bound / plain->flows[f].weight;
        if (growing[f] && at_bound <= level) {
            level = at_bound;
            stopped = f;
        }
    }
    *ret_level = level;
    return stopped;
}

static void plain_solve(struct plain *plain) {
    bool growing[MAX_FLOWS];
    uint32_t left = 0;
    for (uint32_t f = 0; f < plain->flow_count; f++) {
        growing[f] = plain->flows[f].present;
        left += growing[f];
    }
    while (left > 0) {
        uint32_t resource = 0;
        double level;
        uint32_t stopped = next_stop(plain, growing, &resource, &level);
        for (uint32_t f = 0; f < plain->flow_count; f++) {
            struct plain_flow *flow = &plain->flows[f];
            bool stops = stopped == SY_NONE ? coefficient_of(flow, resource) > 0 : f == stopped;
            if (growing[f] && stops) {
                flow->rate = stopped == SY_NONE ? level * flow->weight : flow->bound;
                growing[f] = false;
                left--;
            }
        }
    }
}

/* --- random networks ------------------------------------------------------------------------ */
static double log_uniform(struct sy_rng *rng, double low, double high) {
    return low * pow(high / low, sy_rng_uniform(rng));
}

/* spread 0: small whole numbers, so that many things tie; else up to 10^+-spread. */
static double draw(struct sy_rng *rng, uint32_t spread) {
    if (spread == 0) {
        return 1 + sy_rng_below(rng, 4);
    }
    return log_uniform(rng, pow(10, -(double)spread), pow(10, spread));
}

static void draw_flow(struct sy_rng *rng, const struct plain *plain, uint32_t spread,
                      struct plain_flow *flow) {
    *flow = (struct plain_flow){.present = true, .weight = draw(rng, spread)};
    flow->bound = draw(rng, spread);
    if (sy_rng_below(rng, 10) == 0) {
        flow->bound = 0;
    }
    flow->count = sy_rng_below(rng, SY_FLOW_RESOURCES + 1);
    if (sy_rng_below(rng, 5) == 0 && flow->count > 0) {
        flow->bound = INFINITY;
    }
    for (uint32_t k = 0; k < flow->count; k++) {
        flow->resources[k] = sy_rng_below(rng, plain->resource_count);
        flow->coefficients[k] = draw(rng, spread);
    }
}

static void draw_network(struct sy_rng *rng, uint32_t spread, struct plain *plain) {
    *plain = (struct plain){.resource_count = 1 + sy_rng_below(rng, MAX_RESOURCES),
                            .flow_count = 1 + sy_rng_below(rng, MAX_FLOWS),
                            .stride = sy_rng_below(rng, 2) ? 1 : 7};
    /* Between networks where nearly all is tight and ones where nearly nothing is. */
    double plenty = log_uniform(rng, 0.1, 1000);
    for (uint32_t r = 0; r < plain->resource_count; r++) {
        plain->capacities[r] = sy_rng_below(rng, 40) == 0 ? 0 : plenty * draw(rng, spread);
    }
}

/* --- what must hold --------------------------------------------------------------------------- */
/* Rates are compared on the scale that rounding lives on: what the resource could give. */
static double scale_of(const struct plain *plain, const struct plain_flow *flow) {
    double scale = flow->bound;
    for (uint32_t k = 0; k < flow->count; k++) {
        scale = fmin(scale, plain->capacities[flow->resources[k]] / flow->coefficients[k]);
    }
    return scale;
}

static void expect_same(const struct plain *plain, const struct sy_flow_net *net) {
    for (uint32_t f = 0; f < plain->flow_count; f++) {
        const struct plain_flow *flow = &plain->flows[f];
        double rate = sy_flow_rate(net, f * plain->stride);
        if (!flow->present) {
            assert_true(rate == 0);
            continue;
        }
        double tolerance = 1e-9 * flow->rate + 1e-11 * scale_of(plain, flow);
        if (!(fabs(rate - flow->rate) <= tolerance)) {
            fail_msg("flow %u: rate %.17g, plain solver says %.17g", f, rate, flow->rate);
        }
    }
}

static double plain_use(const struct plain *plain, const struct sy_flow_net *net, uint32_t r) {
    double use = 0;
    for (uint32_t f = 0; f < plain->flow_count; f++) {
        if (plain->flows[f].present) {
            use += coefficient_of(&plain->flows[f], r) * sy_flow_rate(net, f * plain->stride);
        }
    }
    return use;
}

static void expect_capacity(const struct plain *plain, const struct sy_flow_net *net) {
    for (uint32_t r = 0; r < plain->resource_count; r++) {
        double use = sy_flow_use(net, r);
        double sum = plain_use(plain, net, r);
        assert_true(fabs(use - sum) <= 1e-11 * plain->capacities[r]);
        assert_true(use <= plain->capacities[r] * (1 + 1e-9));
    }
}

static bool is_bottleneck(const struct plain *plain, const struct sy_flow_net *net, uint32_t flow,
                          uint32_t resource) {
    const struct plain_flow *self = &plain->flows[flow];
    double level = sy_flow_rate(net, flow * plain->stride) / self->weight;
    if (sy_flow_use(net, resource) < plain->capacities[resource] * (1 - 1e-9)) {
        return false;
    }
    for (uint32_t f = 0; f < plain->flow_count; f++) {
        const struct plain_flow *other = &plain->flows[f];
        double slack = 1e-9 * level + 1e-11 * scale_of(plain, self) / self->weight;
        if (other->present && coefficient_of(other, resource) > 0 &&
            sy_flow_rate(net, f * plain->stride) / other->weight >
                level + slack + 1e-11 * scale_of(plain, other) / other->weight) {
            return false;
        }
    }
    return true;
}

/* Max-min fair: each flow is at its bound or has a full resource where nobody gets more. */
static void expect_fair(const struct plain *plain, const struct sy_flow_net *net) {
    for (uint32_t f = 0; f < plain->flow_count; f++) {
        const struct plain_flow *flow = &plain->flows[f];
        bool content =
            !flow->present || sy_flow_rate(net, f * plain->stride) >= flow->bound * (1 - 1e-9);
        for (uint32_t k = 0; k < flow->count && !content; k++) {
            content = is_bottleneck(plain, net, f, flow->resources[k]);
        }
        if (!content) {
            fail_msg("flow %u could have more than %.17g", f, sy_flow_rate(net, f * plain->stride));
        }
    }
}

/* The list holds each flow whose rate is new exactly once, and no other. */
static void expect_changes(const struct plain *plain, const struct sy_flow_net *net,
                           const double *before, const bool *fresh, const uint32_t *changed,
                           uint32_t count) {
    bool listed[MAX_FLOWS] = {false};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t f = changed[i] / plain->stride;
        assert_true(f < plain->flow_count && plain->flows[f].present);
        assert_true(changed[i] % plain->stride == 0 && !listed[f]);
        listed[f] = true;
    }
    for (uint32_t f = 0; f < plain->flow_count; f++) {
        if (plain->flows[f].present) {
            assert_int_equal(listed[f],
                             fresh[f] || sy_flow_rate(net, f * plain->stride) != before[f]);
        }
    }
}

/* --- random histories ---------------------------------------------------------------------------
 */
static void change(struct sy_rng *rng, uint32_t spread, struct plain *plain,
                   struct sy_flow_net *net, bool *fresh) {
    uint32_t f = sy_rng_below(rng, plain->flow_count);
    struct plain_flow *flow = &plain->flows[f];
    if (!flow->present) {
        draw_flow(rng, plain, spread, flow);
        sy_flow_add(net, f * plain->stride, flow->bound, flow->weight, flow->count, flow->resources,
                    flow->coefficients);
        fresh[f] = true;
    } else if (sy_rng_below(rng, 2) == 0) {
        flow->present = false;
        sy_flow_remove(net, f * plain->stride);
    } else {
        flow->bound = sy_rng_below(rng, 8) == 0 ? 0 : draw(rng, spread);
        sy_flow_set_bound(net, f * plain->stride, flow->bound);
    }
}

static void one_step(struct sy_rng *rng, uint32_t spread, struct plain *plain,
                     struct sy_flow_net *net) {
    double before[MAX_FLOWS];
    bool fresh[MAX_FLOWS] = {false};
    for (uint32_t f = 0; f < plain->flow_count; f++) {
        before[f] = sy_flow_rate(net, f * plain->stride);
    }
    uint64_t calls = allocator_calls;
    uint32_t changes = sy_rng_below(rng, 8) == 0 ? 10 : 1 + sy_rng_below(rng, 2);
    for (uint32_t i = 0; i < changes; i++) {
        change(rng, spread, plain, net, fresh);
    }
    const uint32_t *changed;
    uint32_t count = sy_flow_solve(net, &changed);
    assert_true(allocator_calls == calls);
    plain_solve(plain);
    expect_same(plain, net);
    expect_capacity(plain, net);
    expect_fair(plain, net);
    expect_changes(plain, net, before, fresh, changed, count);
}

static void histories(uint64_t seed, uint32_t spread, uint32_t networks, uint32_t steps) {
    print_message("# seed %llu, spread 10^%u\n", (unsigned long long)seed, spread);
    struct plain plain;
    for (uint32_t n = 0; n < networks; n++) {
        struct sy_rng rng = sy_rng_make(seed, spread, n);
        draw_network(&rng, spread, &plain);
        struct sy_flow_net *net =
            sy_flow_create(plain.resource_count, plain.capacities, plain.flow_count * plain.stride);
        assert_non_null(net);
        for (uint32_t step = 0; step < steps; step++) {
            if (step > 0 && sy_rng_below(&rng, 50) == 0) {
                sy_flow_reset(net);
                memset(plain.flows, 0, sizeof plain.flows);
            }
            one_step(&rng, spread, &plain, net);
        }
        sy_flow_destroy(net);
    }
}

static void test_ties(void **state) {
    (void)state;
    histories(11, 0, 700, 60);
}

static void test_usual(void **state) {
    (void)state;
    histories(12, 1, 700, 60);
}

static void test_wide(void **state) {
    (void)state;
    histories(13, 3, 700, 60);
}

/* --- single cases
 * --------------------------------------------------------------------------------- */
static uint32_t solve(struct sy_flow_net *net) {
    const uint32_t *changed;
    return sy_flow_solve(net, &changed);
}

static void test_textbook(void **state) {
    (void)state;
    /* One long flow over two links, one short flow on each (Bertsekas and Gallager, 6.5.2). */
    struct sy_flow_net *net = sy_flow_create(2, (double[]){1, 2}, 3);
    assert_non_null(net);
    sy_flow_add(net, 0, INFINITY, 1, 2, (uint32_t[]){0, 1}, (double[]){1, 1});
    sy_flow_add(net, 1, INFINITY, 1, 1, (uint32_t[]){0}, (double[]){1});
    sy_flow_add(net, 2, INFINITY, 1, 1, (uint32_t[]){1}, (double[]){1});
    assert_int_equal(solve(net), 3);
    assert_true(sy_flow_rate(net, 0) == 0.5 && sy_flow_rate(net, 1) == 0.5);
    assert_true(sy_flow_rate(net, 2) == 1.5);
    sy_flow_remove(net, 1);
    sy_flow_add(net, 1, INFINITY, 3, 1, (uint32_t[]){0}, (double[]){1});
    assert_int_equal(solve(net), 3);
    assert_true(sy_flow_rate(net, 0) == 0.25 && sy_flow_rate(net, 1) == 0.75);
    assert_true(sy_flow_rate(net, 2) == 1.75);
    sy_flow_destroy(net);
}

static void test_odd_flows(void **state) {
    (void)state;
    struct sy_flow_net *net = sy_flow_create(3, (double[]){4, 0, INFINITY}, 8);
    assert_non_null(net);
    sy_flow_add(net, 0, 7, 1, 0, NULL, NULL);
    sy_flow_add(net, 1, INFINITY, 1, 0, NULL, NULL);
    sy_flow_add(net, 2, 5, 1, 1, (uint32_t[]){1}, (double[]){1});
    sy_flow_add(net, 3, 5, 1, 1, (uint32_t[]){1}, (double[]){0});
    sy_flow_add(net, 4, INFINITY, 1, 1, (uint32_t[]){2}, (double[]){1});
    sy_flow_add(net, 5, 100, 1, 2, (uint32_t[]){0, 0}, (double[]){1, 3});
    assert_int_equal(solve(net), 6);
    assert_true(sy_flow_rate(net, 0) == 7 && isinf(sy_flow_rate(net, 1)));
    assert_true(sy_flow_rate(net, 2) == 0 && sy_flow_rate(net, 3) == 5);
    assert_true(isinf(sy_flow_rate(net, 4)) && sy_flow_rate(net, 5) == 1);
    assert_int_equal(solve(net), 0);
    sy_flow_set_bound(net, 0, 7);
    assert_int_equal(solve(net), 0);
    sy_flow_remove(net, 0);
    sy_flow_add(net, 0, 7, 1, 0, NULL, NULL);
    assert_int_equal(solve(net), 1); /* a new flow, though at the old rate */
    sy_flow_destroy(net);
}

/* A change where nothing is tight concerns the changed flow alone. */
static void test_locality(void **state) {
    (void)state;
    struct sy_flow_net *net = sy_flow_create(2, (double[]){100, 1}, 40);
    assert_non_null(net);
    for (uint32_t f = 0; f < 30; f++) {
        sy_flow_add(net, f, 1, 1 + f, 1, (uint32_t[]){0}, (double[]){1});
    }
    for (uint32_t f = 30; f < 32; f++) {
        sy_flow_add(net, f, 1, 1, 2, (uint32_t[]){0, 1}, (double[]){1, 1});
    }
    assert_int_equal(solve(net), 32);
    sy_flow_remove(net, 3);
    assert_int_equal(solve(net), 0);
    sy_flow_add(net, 3, 1, 1, 1, (uint32_t[]){0}, (double[]){1});
    assert_int_equal(solve(net), 1);
    sy_flow_remove(net, 31);
    assert_int_equal(solve(net), 1);
    assert_true(sy_flow_rate(net, 30) == 1);
    sy_flow_destroy(net);
}

/* A net that has lived long gives the same bits as a young one. */
static void test_no_drift(void **state) {
    (void)state;
    struct sy_rng rng = sy_rng_make(14, 0, 0);
    double capacities[] = {10, 3.3, 1e9};
    struct sy_flow_net *old = sy_flow_create(3, capacities, 16);
    struct sy_flow_net *young = sy_flow_create(3, capacities, 16);
    assert_non_null(old);
    assert_non_null(young);
    struct plain plain = {.resource_count = 3, .flow_count = 16, .stride = 1};
    bool fresh[MAX_FLOWS];
    for (uint32_t i = 0; i < 300000; i++) {
        change(&rng, 2, &plain, old, fresh);
        (void)solve(old);
    }
    for (uint32_t f = 0; f < 16; f++) {
        struct plain_flow *flow = &plain.flows[f];
        if (flow->present) {
            sy_flow_remove(old, f);
        }
    }
    (void)solve(old);
    for (uint32_t f = 0; f < 16; f++) {
        struct plain_flow *flow = &plain.flows[f];
        draw_flow(&rng, &plain, 2, flow);
        sy_flow_add(old, f, flow->bound, flow->weight, flow->count, flow->resources,
                    flow->coefficients);
        sy_flow_add(young, f, flow->bound, flow->weight, flow->count, flow->resources,
                    flow->coefficients);
    }
    assert_int_equal(solve(old), solve(young));
    for (uint32_t f = 0; f < 16; f++) {
        assert_true(sy_flow_rate(old, f) == sy_flow_rate(young, f));
    }
    sy_flow_destroy(old);
    sy_flow_destroy(young);
}

static void test_out_of_memory(void **state) {
    (void)state;
    double capacities[MAX_RESOURCES] = {0};
    for (int64_t calls = 0;; calls++) {
        calls_until_failure = calls;
        struct sy_flow_net *net = sy_flow_create(MAX_RESOURCES, capacities, 5000);
        calls_until_failure = -1;
        if (net) {
            assert_true(calls > 1);
            sy_flow_destroy(net);
            break;
        }
    }
    struct sy_flow_net *empty = sy_flow_create(0, NULL, 0);
    assert_non_null(empty);
    assert_int_equal(solve(empty), 0);
    sy_flow_destroy(empty);
    sy_flow_destroy(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_textbook), cmocka_unit_test(test_odd_flows),
        cmocka_unit_test(test_locality), cmocka_unit_test(test_ties),
        cmocka_unit_test(test_usual),    cmocka_unit_test(test_wide),
        cmocka_unit_test(test_no_drift), cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("flow", tests, NULL, NULL);
}
