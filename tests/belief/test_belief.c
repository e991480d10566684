/* SPDX-License-Identifier: Apache-2.0
 *
 * The belief about a whole machine: samples find their variables, sums join filters, what nothing
 * speaks of says so, and nonsense does no harm. The counters are made up here; the truth is known.
 */
#include "belief/parts.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP_NS 1e8

/* A machine, its made-up counters, and the belief about it. */
struct scene {
    struct sy_machine *machine;
    struct sy_counter counters[256];
    char names[256][48];
    struct sy_pmu pmus[64];
    uint32_t counter_count, pmu_count;
    struct sy_belief *belief;
    struct sy_sample samples[256];
    uint32_t sample_count;
    double now_ns;
    struct sy_rng rng;
};

static void open_scene(struct scene *scene, const char *machine, uint64_t seed) {
    *scene = (struct scene){.rng = sy_rng_make(seed, 1, 0)};
    assert_int_equal(sy_machine_parse(machine, &scene->machine, NULL), 0);
}

static uint32_t add(struct scene *scene, const char *event, enum sy_counter_kind kind,
                    enum sy_scope scope, uint32_t index, uint32_t pmu) {
    uint32_t i = scene->counter_count++;
    snprintf(scene->names[i], sizeof scene->names[i], "t.%s%u.%s.%u", sy_scope_name(scope), index,
             event, i);
    scene->counters[i] = (struct sy_counter){.name = scene->names[i],
                                             .source = "test",
                                             .event = event,
                                             .kind = kind,
                                             .unit = kind == SY_COUNTER_RATE ? "/s" : "",
                                             .scope = scope,
                                             .scope_index = index,
                                             .noise_ratio = 0.02,
                                             .pmu = pmu};
    return i;
}

static uint32_t add_bytes(struct scene *scene, const char *event, enum sy_scope scope,
                          uint32_t index) {
    uint32_t i = add(scene, event, SY_COUNTER_RATE, scope, index, SY_PMU_NONE);
    scene->counters[i].unit = "B/s";
    return i;
}

static void begin(struct scene *scene, const struct sy_listing *listing) {
    struct sy_error error = {0};
    int code = sy_belief_create(scene->machine, listing, scene->counters, scene->counter_count,
                                scene->pmus, scene->pmu_count, &scene->belief, &error);
    if (code) {
        fail_msg("%s", error.message);
    }
}

static void see(struct scene *scene, uint32_t counter, double value) {
    scene->samples[scene->sample_count++] = (struct sy_sample){.counter = counter,
                                                               .value = value,
                                                               .start_ns = scene->now_ns,
                                                               .end_ns = scene->now_ns + STEP_NS,
                                                               .running_ratio = 1};
}

/* With the noise that its counter says it has. */
static void see_noisy(struct scene *scene, uint32_t counter, double truth) {
    double noise = scene->counters[counter].noise_ratio;
    see(scene, counter, fmax(truth * (1 + noise * sy_rng_normal(&scene->rng)), 0));
}

static void update(struct scene *scene) {
    scene->now_ns += STEP_NS;
    sy_belief_update(scene->belief, scene->now_ns, scene->samples, scene->sample_count);
    scene->sample_count = 0;
}

static const struct sy_utilisation *used(const struct scene *scene, const char *name) {
    uint32_t count;
    const struct sy_utilisation *all = sy_belief_utilisations(scene->belief, &count);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(all[i].mean >= 0 && all[i].mean <= 1 && all[i].low >= 0 && all[i].high <= 1);
        assert_true(all[i].low <= all[i].mean && all[i].mean <= all[i].high);
        assert_true(all[i].sd >= 0 && isfinite(all[i].sd));
        assert_true(all[i].nominal || !(all[i].rate > all[i].capacity));
        if (strcmp(all[i].name, name) == 0) {
            return &all[i];
        }
    }
    fail_msg("no utilisation is called %s", name);
    return NULL;
}

static void close_scene(struct scene *scene) {
    sy_belief_destroy(scene->belief);
    sy_machine_destroy(scene->machine);
}

static struct sy_posterior role(const struct scene *scene, uint32_t part, enum sy_role role_asked) {
    const struct sy_binding *binding = &scene->belief->parts[part].roles[role_asked];
    assert_int_not_equal(binding->variable, SY_NONE);
    return sy_filter_estimate(scene->belief->parts[part].filter, binding->variable);
}

/* --- with little -------------------------------------------------------------------------------
 */
static void processors_and_pressure_are_enough(void **state) {
    (void)state;
    struct scene scene;
    open_scene(&scene, "cpu:2", 1);
    uint32_t busy[2] = {add(&scene, "busy", SY_COUNTER_SHARE, SY_SCOPE_CPU, 0, SY_PMU_NONE),
                        add(&scene, "busy", SY_COUNTER_SHARE, SY_SCOPE_CPU, 1, SY_PMU_NONE)};
    uint32_t psi = add(&scene, "cpu_some", SY_COUNTER_SHARE, SY_SCOPE_MACHINE, 0, SY_PMU_NONE);
    begin(&scene, NULL);
    assert_false(used(&scene, "cpu0")->measured);
    for (uint32_t i = 0; i < 20; i++) {
        see_noisy(&scene, busy[0], 0.8);
        see_noisy(&scene, busy[1], 0.1);
        see(&scene, psi, 0.25);
        update(&scene);
    }
    assert_true(fabs(used(&scene, "cpu0")->mean - 0.8) < 0.05);
    assert_true(fabs(used(&scene, "cpu1")->mean - 0.1) < 0.03);
    assert_true(fabs(used(&scene, "pressure.cpu")->mean - 0.25) < 0.03);
    assert_true(used(&scene, "cpu0")->measured && used(&scene, "cpu0")->age_ns == 0);
    assert_int_equal(used(&scene, "cpu1")->device, 1);
    const struct sy_utilisation *dram = used(&scene, "dram0");
    assert_false(dram->measured);
    assert_true(isinf(dram->age_ns) && dram->high - dram->low > 0.2);
    assert_int_equal(dram->resource, 0);
    close_scene(&scene);
}

/* A processor has no second hour in an hour, however noisy its counter is; but a memory may well be
 * faster than somebody thought. */
static void rates_keep_to_limits_and_not_to_guesses(void **state) {
    (void)state;
    struct scene scene;
    open_scene(&scene, "cpu:1 dram:40GB/s gpu:1@link=10GB/s", 1);
    uint32_t busy = add(&scene, "busy", SY_COUNTER_SHARE, SY_SCOPE_CPU, 0, SY_PMU_NONE);
    uint32_t dram = add_bytes(&scene, "dram0", SY_SCOPE_MACHINE, 0);
    uint32_t link = add_bytes(&scene, "gpu0.down", SY_SCOPE_MACHINE, 0);
    begin(&scene, NULL);
    for (uint32_t i = 0; i < 50; i++) {
        see_noisy(&scene, busy, 1);
        see_noisy(&scene, dram, 60e9);
        see_noisy(&scene, link, 10e9);
        update(&scene);
        const struct sy_utilisation *cpu = used(&scene, "cpu0");
        assert_true(!cpu->nominal && cpu->rate <= 1 && cpu->rate > 0.8);
        const struct sy_utilisation *down = used(&scene, "gpu0.down");
        assert_true(!down->nominal && down->rate <= 10e9 && down->rate > 8e9);
    }
    const struct sy_utilisation *memory = used(&scene, "dram0");
    assert_true(memory->nominal && memory->capacity == 40e9 && memory->mean > 0.95);
    assert_true(fabs(memory->rate / 60e9 - 1) < 0.1);
    close_scene(&scene);
}

static void nothing_at_all_is_a_prior(void **state) {
    (void)state;
    struct scene scene;
    open_scene(&scene, "2x(cpu:2) gpu:2", 1);
    begin(&scene, NULL);
    for (uint32_t i = 0; i < 10; i++) {
        update(&scene);
    }
    uint32_t count, chosen[4];
    const struct sy_utilisation *all = sy_belief_utilisations(scene.belief, &count);
    assert_true(count >= scene.machine->resource_count + 4 + 2);
    for (uint32_t i = 0; i < count; i++) {
        assert_false(all[i].measured);
        (void)used(&scene, all[i].name);
    }
    assert_int_equal(sy_belief_choose(scene.belief, chosen, 4), 0);
    close_scene(&scene);
}

/* --- sums --------------------------------------------------------------------------------------
 */
static void threads_add_up_to_a_core(void **state) {
    (void)state;
    struct scene scene;
    open_scene(&scene, "cpu:2", 1);
    scene.pmu_count = 2;
    scene.pmus[0] = scene.pmus[1] = (struct sy_pmu){"cpu", 2};
    /* the two processors as siblings of one core */
    struct sy_device devices[2] = {scene.machine->devices[0], scene.machine->devices[1]};
    devices[1].group = devices[0].group;
    struct sy_machine machine = *scene.machine, *kept = scene.machine;
    machine.devices = devices;
    scene.machine = &machine;
    uint32_t busy[2], inst[2], miss[2];
    for (uint32_t i = 0; i < 2; i++) {
        busy[i] = add(&scene, "busy", SY_COUNTER_SHARE, SY_SCOPE_CPU, i, SY_PMU_NONE);
        inst[i] = add(&scene, "instructions", SY_COUNTER_RATE, SY_SCOPE_CPU, i, SY_PMU_NONE);
        miss[i] = add(&scene, "cache-misses", SY_COUNTER_RATE, SY_SCOPE_CPU, i, i);
    }
    begin(&scene, NULL);
    assert_int_equal(scene.belief->layout.core_count, 1);
    uint32_t chosen[8];
    for (uint32_t i = 0; i < 20; i++) {
        for (uint32_t t = 0; t < 2; t++) {
            see_noisy(&scene, busy[t], t ? 0.6 : 0.3);
            see_noisy(&scene, inst[t], t ? 2e9 : 1e9);
        }
        uint32_t count = sy_belief_choose(scene.belief, chosen, 8);
        assert_int_equal(count, 2); /* both threads at once */
        for (uint32_t k = 0; k < count; k++) {
            see_noisy(&scene, chosen[k], chosen[k] == miss[0] ? 1e6 : 3e6);
        }
        update(&scene);
    }
    assert_true(fabs(role(&scene, 0, SY_ROLE_INST).mean / 3e9 - 1) < 0.05);
    assert_true(fabs(role(&scene, 0, SY_ROLE_L3_MISS).mean / 4e6 - 1) < 0.05);
    assert_true(fabs(role(&scene, 0, SY_ROLE_CPU_BUSY).mean / 0.9 - 1) < 0.1);
    assert_true(fabs(used(&scene, "cpu1")->mean - 0.6) < 0.05);
    /* one thread falls silent for good: the other alone is heard again */
    for (uint32_t i = 0; i < 150; i++) {
        see(&scene, inst[0], 1e9);
        update(&scene);
    }
    assert_true(fabs(role(&scene, 0, SY_ROLE_INST).mean / 1e9 - 1) < 0.1);
    scene.machine = kept;
    close_scene(&scene);
}

/* Cores count misses in turns, the socket's memory controller in two channels: all of it is one
 * story, and the truth lies within the bands as often as they say. */
static void a_socket_hears_its_cores(void **state) {
    (void)state;
    enum { CORES = 4, STEPS = 300 };
    uint64_t seed = 11;
    print_message("# seed %llu\n", (unsigned long long)seed);
    struct scene scene;
    open_scene(&scene, "cpu:4 dram:50GB/s", seed);
    uint32_t inst[CORES], read[2], inside = 0, asked = 0;
    for (uint32_t i = 0; i < CORES; i++) {
        scene.pmus[scene.pmu_count] = (struct sy_pmu){"cpu", 2};
        inst[i] = add(&scene, "inst_retired.any", SY_COUNTER_RATE, SY_SCOPE_CPU, i, SY_PMU_NONE);
        static const char *const events[] = {"longest_lat_cache.miss",
                                             "longest_lat_cache.reference", "l2_rqsts.miss",
                                             "l2_rqsts.references"};
        for (uint32_t k = 0; k < 4; k++) {
            add(&scene, events[k], SY_COUNTER_RATE, SY_SCOPE_CPU, i, scene.pmu_count);
        }
        scene.pmu_count++;
    }
    for (uint32_t i = 0; i < 2; i++) {
        scene.pmus[scene.pmu_count] = (struct sy_pmu){"imc", 1};
        read[i] = add(&scene, "unc_m_cas_count.rd", SY_COUNTER_RATE, SY_SCOPE_PACKAGE, 0,
                      scene.pmu_count);
        add(&scene, "unc_m_cas_count.wr", SY_COUNTER_RATE, SY_SCOPE_PACKAGE, 0, scene.pmu_count);
        scene.pmu_count++;
    }
    begin(&scene, NULL);
    double level = log(1e7);
    uint32_t chosen[64];
    for (uint32_t s = 0; s < STEPS; s++) {
        level += 0.05 * sy_rng_normal(&scene.rng);
        level = fmin(fmax(level, log(1e6)), log(4e7));
        double miss = exp(level);
        uint32_t count = sy_belief_choose(scene.belief, chosen, 64);
        for (uint32_t k = 0; k < count; k++) {
            const struct sy_counter *counter = &scene.counters[chosen[k]];
            bool dram = counter->scope == SY_SCOPE_PACKAGE;
            double truth = strstr(counter->event, ".rd")       ? CORES * miss / 2
                           : strstr(counter->event, ".wr")     ? CORES * miss / 4
                           : strstr(counter->event, "cache.m") ? miss
                           : strstr(counter->event, "cache.r") ? 3 * miss
                           : strstr(counter->event, ".miss")   ? 3 * miss
                                                               : 9 * miss;
            assert_true(!dram || truth > 0);
            see_noisy(&scene, chosen[k], truth);
        }
        for (uint32_t i = 0; i < CORES; i++) {
            see_noisy(&scene, inst[i], 2e9);
        }
        update(&scene);
        if (s >= 100) {
            const struct sy_utilisation *dram = used(&scene, "dram0");
            double truth = CORES * miss * 64 * 1.5 / 50e9;
            inside += dram->low <= truth && truth <= dram->high;
            asked++;
            assert_true(fabs(dram->mean - truth) < 0.15 * truth + 0.01);
            assert_true(dram->measured);
        }
    }
    print_message("# truth within the band: %u of %u\n", inside, asked);
    assert_true(inside >= asked * 8 / 10);
    (void)read;
    close_scene(&scene);
}

/* No memory counter at all: what the cores miss still says something about it. */
static void cores_speak_of_memory(void **state) {
    (void)state;
    struct scene scene;
    open_scene(&scene, "cpu:2 dram:10GB/s", 1);
    uint32_t miss[2] = {add(&scene, "cache-misses", SY_COUNTER_RATE, SY_SCOPE_CPU, 0, SY_PMU_NONE),
                        add(&scene, "cache-misses", SY_COUNTER_RATE, SY_SCOPE_CPU, 1, SY_PMU_NONE)};
    uint32_t mbm = add_bytes(&scene, "mbm_total_bytes", SY_SCOPE_PACKAGE, 0);
    begin(&scene, NULL);
    for (uint32_t i = 0; i < 50; i++) {
        see_noisy(&scene, miss[0], 3e7);
        see_noisy(&scene, miss[1], 3e7);
        see_noisy(&scene, mbm, 4e9);
        update(&scene);
    }
    const struct sy_utilisation *dram = used(&scene, "dram0");
    assert_true(dram->measured);
    assert_true(dram->low < 0.4 && dram->high > 0.4);
    assert_true(dram->mean > 0.15 && dram->mean < 0.8);
    close_scene(&scene);
}

static void links_of_accelerators(void **state) {
    (void)state;
    struct scene scene;
    open_scene(&scene, "cpu:2 gpu:2@pcie4x16,bus=sw", 1);
    uint32_t rx[2], tx[2], sm[2];
    for (uint32_t i = 0; i < 2; i++) {
        rx[i] = add_bytes(&scene, "pcie_rx", SY_SCOPE_GPU, i);
        tx[i] = add_bytes(&scene, "pcie_tx", SY_SCOPE_GPU, i);
        sm[i] = add(&scene, "sm_util", SY_COUNTER_SHARE, SY_SCOPE_GPU, i, SY_PMU_NONE);
    }
    begin(&scene, NULL);
    double capacity = used(&scene, "gpu0.down")->capacity;
    for (uint32_t i = 0; i < 30; i++) {
        for (uint32_t g = 0; g < 2; g++) {
            see_noisy(&scene, rx[g], (g ? 0.2 : 0.5) * capacity);
            see_noisy(&scene, tx[g], 0.1 * capacity);
            see_noisy(&scene, sm[g], g ? 0.9 : 0.3);
        }
        update(&scene);
    }
    assert_true(fabs(used(&scene, "gpu0.down")->mean - 0.5) < 0.05);
    assert_true(fabs(used(&scene, "gpu1.down")->mean - 0.2) < 0.05);
    assert_true(fabs(used(&scene, "sw.down")->mean - 0.7) < 0.1);
    assert_true(fabs(used(&scene, "sw.up")->mean - 0.2) < 0.05);
    assert_true(used(&scene, "sw.down")->measured);
    assert_true(fabs(used(&scene, "gpu1")->mean - 0.9) < 0.05);
    assert_int_equal(scene.machine->devices[used(&scene, "gpu1")->device].kind, SY_GPU);
    close_scene(&scene);
}

/* As a simulator or a board gives them: by the resource's own name, in bytes or as a share. */
static void counters_named_after_resources(void **state) {
    (void)state;
    struct scene scene;
    open_scene(&scene, "2x(cpu:2 dram:20GB/s) gpu:1", 1);
    uint32_t dram = add_bytes(&scene, "dram1", SY_SCOPE_MACHINE, 0);
    uint32_t down = add(&scene, "gpu0.down", SY_COUNTER_SHARE, SY_SCOPE_MACHINE, 0, SY_PMU_NONE);
    begin(&scene, NULL);
    for (uint32_t i = 0; i < 20; i++) {
        see_noisy(&scene, dram, 5e9);
        see_noisy(&scene, down, 0.75);
        update(&scene);
    }
    assert_true(fabs(used(&scene, "dram1")->mean - 0.25) < 0.03);
    assert_true(fabs(used(&scene, "gpu0.down")->mean - 0.75) < 0.05);
    assert_false(used(&scene, "dram0")->measured);
    close_scene(&scene);
}

/* The same thing twice is no sum; the channels of a socket are. */
static void two_sources_of_the_same(void **state) {
    (void)state;
    struct scene scene;
    open_scene(&scene, "cpu:1 gpu:1", 1);
    uint32_t rx[2] = {add_bytes(&scene, "pcie_rx", SY_SCOPE_GPU, 0),
                      add_bytes(&scene, "pcie_rx", SY_SCOPE_GPU, 0)};
    uint32_t mbm[2] = {add_bytes(&scene, "mbm_total_bytes", SY_SCOPE_PACKAGE, 0),
                       add_bytes(&scene, "mbm_total_bytes", SY_SCOPE_PACKAGE, 0)};
    scene.counters[rx[1]].source = "other";
    begin(&scene, NULL);
    for (uint32_t i = 0; i < 30; i++) {
        for (uint32_t k = 0; k < 2; k++) {
            see_noisy(&scene, rx[k], 1e9);
            see_noisy(&scene, mbm[k], 1e9);
        }
        update(&scene);
    }
    assert_true(fabs(role(&scene, scene.belief->first_gpu, SY_ROLE_GPU_PCIE_RX).mean / 1e9 - 1) <
                0.05);
    assert_true(fabs(role(&scene, scene.belief->first_package, SY_ROLE_MBM_TOTAL).mean / 2e9 - 1) <
                0.05);
    for (uint32_t i = 0; i < 30; i++) { /* one of them stops */
        see_noisy(&scene, rx[1], 2e9);
        update(&scene);
    }
    double rate = role(&scene, scene.belief->first_gpu, SY_ROLE_GPU_PCIE_RX).mean;
    assert_true(rate > 1.3e9 && rate < 2.6e9);
    close_scene(&scene);
}

/* --- with a listing ----------------------------------------------------------------------------
 */
static void relations_of_the_listing_are_used(void **state) {
    (void)state;
    struct scene scene;
    struct sy_listing *listing;
    assert_int_equal(sy_listing_open("skylakex", NULL, &listing, NULL), 0);
    struct sy_arena *arena = sy_arena_create();
    const char *const *wanted;
    assert_int_equal(sy_belief_wanted(listing, arena, &wanted), 0);
    open_scene(&scene, "cpu:1", 1);
    scene.pmus[0] = (struct sy_pmu){"cpu", 4};
    scene.pmus[1] = (struct sy_pmu){"uncore", 4};
    scene.pmu_count = 2;
    for (uint32_t i = 0; wanted[i]; i++) {
        const struct sy_event *event = &listing->events[sy_listing_event(listing, wanted[i])];
        bool core = sy_unit_is_core(event->unit);
        add(&scene, wanted[i], SY_COUNTER_RATE, core ? SY_SCOPE_CPU : SY_SCOPE_PACKAGE, 0,
            event->fixed ? SY_PMU_NONE : !core);
    }
    begin(&scene, listing);
    const struct sy_model *model = sy_belief_model(scene.belief, 0);
    uint32_t by_origin[SY_FROM_TOPOLOGY + 1] = {0};
    for (uint32_t i = 0; i < model->factor_count; i++) {
        by_origin[model->factors[i].origin]++;
    }
    assert_true(by_origin[SY_FROM_UNIT_MASK] >= 2 && by_origin[SY_FROM_ROLE] >= 15);
    assert_true(by_origin[SY_FROM_SUBSET] >= 2);
    uint32_t chosen[16], used_slots[2] = {0};
    for (uint32_t s = 0; s < 50; s++) {
        uint32_t count = sy_belief_choose(scene.belief, chosen, 16);
        assert_in_range(count, 1, 8);
        memset(used_slots, 0, sizeof used_slots);
        for (uint32_t i = 0; i < count; i++) {
            used_slots[scene.counters[chosen[i]].pmu]++;
            see(&scene, chosen[i], 1e6);
        }
        assert_true(used_slots[0] <= 4 && used_slots[1] <= 4);
        update(&scene);
    }
    close_scene(&scene);
    sy_arena_destroy(arena);
    sy_listing_destroy(listing);
}

/* --- trouble -----------------------------------------------------------------------------------
 */
static void nonsense_is_dropped(void **state) {
    (void)state;
    struct scene scene;
    open_scene(&scene, "cpu:1", 1);
    uint32_t busy = add(&scene, "busy", SY_COUNTER_SHARE, SY_SCOPE_CPU, 0, SY_PMU_NONE);
    uint32_t odd = add(&scene, "no such thing", SY_COUNTER_LEVEL, SY_SCOPE_GPU, 77, 12);
    uint32_t far = add(&scene, "busy", SY_COUNTER_SHARE, SY_SCOPE_CORE, 4000000000u, SY_PMU_NONE);
    uint32_t kernel = add(&scene, "gemm", SY_COUNTER_LEVEL, SY_SCOPE_KERNEL, 0, SY_PMU_NONE);
    begin(&scene, NULL);
    for (uint32_t i = 0; i < 40; i++) {
        static const double values[] = {NAN, -1, INFINITY, 1e300};
        see(&scene, 999, 1);
        see(&scene, odd, values[i % 4]);
        see(&scene, far, 1);
        see(&scene, kernel, 1e-3);
        see(&scene, busy, i % 3 == 1 ? values[i % 3] : 0.5);
        update(&scene);
    }
    scene.now_ns -= 1e12; /* a clock that jumps back */
    see(&scene, busy, 0.5);
    update(&scene);
    assert_true(fabs(used(&scene, "cpu0")->mean - 0.5) < 0.05);
    close_scene(&scene);
}

/* Reads + writes = all, but "all" is broken: the two that are right must not follow it. Either it
 * is overruled by them, or the relation is doubted. */
static void contradictions_are_survived(void **state) {
    (void)state;
    struct scene scene;
    open_scene(&scene, "cpu:1 dram:100GB/s", 1);
    uint32_t read =
        add(&scene, "unc_m_cas_count.rd", SY_COUNTER_RATE, SY_SCOPE_PACKAGE, 0, SY_PMU_NONE);
    uint32_t write =
        add(&scene, "unc_m_cas_count.wr", SY_COUNTER_RATE, SY_SCOPE_PACKAGE, 0, SY_PMU_NONE);
    uint32_t all =
        add(&scene, "unc_m_cas_count.all", SY_COUNTER_RATE, SY_SCOPE_PACKAGE, 0, SY_PMU_NONE);
    begin(&scene, NULL);
    for (uint32_t i = 0; i < 300; i++) {
        see_noisy(&scene, read, 1e8);
        see_noisy(&scene, write, 5e7);
        see_noisy(&scene, all, 9e8);
        update(&scene);
    }
    uint32_t part = scene.belief->first_package;
    assert_true(fabs(role(&scene, part, SY_ROLE_DRAM_READ).mean / 1e8 - 1) < 0.1);
    assert_true(fabs(role(&scene, part, SY_ROLE_DRAM_WRITE).mean / 5e7 - 1) < 0.1);
    bool doubted = false;
    const struct sy_model *model = scene.belief->parts[part].model;
    for (uint32_t i = 0; i < model->factor_count; i++) {
        struct sy_factor_state now = sy_filter_factor(scene.belief->parts[part].filter, i);
        doubted = doubted || now.rejected || now.width > 0.5;
    }
    double total = role(&scene, part, SY_ROLE_DRAM_TOTAL).mean;
    assert_true(doubted || fabs(total / 1.5e8 - 1) < 0.5);
    close_scene(&scene);
}

static void a_counter_that_stops_grows_old(void **state) {
    (void)state;
    struct scene scene;
    open_scene(&scene, "cpu:1", 1);
    uint32_t busy = add(&scene, "busy", SY_COUNTER_SHARE, SY_SCOPE_CPU, 0, SY_PMU_NONE);
    begin(&scene, NULL);
    for (uint32_t i = 0; i < 50; i++) {
        see_noisy(&scene, busy, 0.5);
        update(&scene);
    }
    double before = used(&scene, "cpu0")->high - used(&scene, "cpu0")->low;
    for (uint32_t i = 0; i < 100; i++) {
        update(&scene);
    }
    const struct sy_utilisation *now = used(&scene, "cpu0");
    assert_true(now->measured);
    assert_true(fabs(now->age_ns / (100 * STEP_NS) - 1) < 1e-6);
    assert_true(now->high - now->low > 3 * before);
    close_scene(&scene);
}

/* A value that was scaled up from a tenth of its window weighs less. */
static void multiplexed_samples_weigh_less(void **state) {
    (void)state;
    double sd[2];
    for (uint32_t k = 0; k < 2; k++) {
        struct scene scene;
        open_scene(&scene, "cpu:1", 1);
        uint32_t inst = add(&scene, "instructions", SY_COUNTER_RATE, SY_SCOPE_CPU, 0, SY_PMU_NONE);
        begin(&scene, NULL);
        for (uint32_t i = 0; i < 5; i++) {
            see(&scene, inst, 1e9);
            scene.samples[0].running_ratio = k ? 0.1 : 1;
            update(&scene);
        }
        sd[k] = role(&scene, 0, SY_ROLE_INST).log_sd;
        close_scene(&scene);
    }
    assert_true(sd[1] > 2 * sd[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processors_and_pressure_are_enough),
        cmocka_unit_test(rates_keep_to_limits_and_not_to_guesses),
        cmocka_unit_test(nothing_at_all_is_a_prior),
        cmocka_unit_test(threads_add_up_to_a_core),
        cmocka_unit_test(a_socket_hears_its_cores),
        cmocka_unit_test(cores_speak_of_memory),
        cmocka_unit_test(links_of_accelerators),
        cmocka_unit_test(counters_named_after_resources),
        cmocka_unit_test(two_sources_of_the_same),
        cmocka_unit_test(relations_of_the_listing_are_used),
        cmocka_unit_test(nonsense_is_dropped),
        cmocka_unit_test(contradictions_are_survived),
        cmocka_unit_test(a_counter_that_stops_grows_old),
        cmocka_unit_test(multiplexed_samples_weigh_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
