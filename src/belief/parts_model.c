/* SPDX-License-Identifier: Apache-2.0
 *
 * parts_model: the counters that are there become the models of cores, GPUs, sockets, the machine.
 *
 * In: counters with their scope, the layout. Out: one model and one filter per part, the channel of
 * each counter, and the joins. Invariants: a counter is in at most one part; a part has at most so
 * many variables (build.h); busy shares exist for every thread, measured or not.
 */
#include "belief/parts.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH_THREADS 0.02
#define WIDTH_SOCKET  0.1
#define TERMS_MAX     128

/* Signals of one part while it is made. */
struct gathered {
    struct sy_belief *belief;
    uint32_t part;
    struct sy_signal *signals;
    uint32_t count;
    uint32_t *counter_signal; /* per counter; SY_NONE */
};

/* --- which part a counter is of -----------------------------------------------------------------
 */
static uint32_t part_of(const struct sy_belief *belief, const struct sy_counter *counter) {
    const struct sy_layout *layout = &belief->layout;
    uint32_t index = counter->scope_index, resource;
    resource = sy_layout_resource(belief->machine, counter->event);
    if (resource != SY_NONE) {
        return belief->first_package + layout->resource_package[resource];
    }
    switch (counter->scope) {
    case SY_SCOPE_CPU:
        index = sy_layout_thread(layout, index);
        return index == SY_NONE ? SY_NONE : layout->threads[index].core;
    case SY_SCOPE_CORE:
        return index < layout->core_count ? index : SY_NONE;
    case SY_SCOPE_GPU:
        return index < layout->gpu_count ? belief->first_gpu + index : SY_NONE;
    case SY_SCOPE_BOARD:
        return index < layout->board_count ? belief->first_board + index : SY_NONE;
    case SY_SCOPE_PACKAGE:
        return index < layout->package_count ? belief->first_package + index : SY_NONE;
    case SY_SCOPE_MACHINE:
    case SY_SCOPE_GROUP:
        return belief->machine_part;
    case SY_SCOPE_KERNEL:
        break; /* durations speak of slowdown, not of rates */
    }
    return SY_NONE;
}

/* --- signals ------------------------------------------------------------------------------------
 */
/* Threads of a core, and channels of a socket, count parts of one thing. The same thing of the same
 * place from two sources is read twice, not two things; shares do not add up. */
static bool are_parts(const struct sy_counter *a, const struct sy_counter *b) {
    if (a->scope != b->scope || a->kind != b->kind || a->kind == SY_COUNTER_SHARE ||
        strcmp(a->event, b->event) != 0) {
        return false;
    }
    if (a->scope_index != b->scope_index) {
        return true;
    }
    return a->scope == SY_SCOPE_PACKAGE && strcmp(a->source, b->source) == 0 &&
           (a->pmu != b->pmu || a->pmu == SY_PMU_NONE);
}

static bool adds_up(const struct gathered *gathered, uint32_t signal,
                    const struct sy_counter *counter) {
    const struct sy_belief *belief = gathered->belief;
    if (strcmp(gathered->signals[signal].name, counter->event) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < belief->counter_count; i++) {
        if (gathered->counter_signal[i] == signal && !are_parts(&belief->counters[i], counter)) {
            return false;
        }
    }
    return true;
}

static uint32_t local_pmu(struct sy_part *part, uint32_t pmu) {
    uint32_t i = 0;
    while (i < part->pmu_count && part->pmus[i] != pmu) {
        i++;
    }
    part->pmus[i] = pmu;
    part->pmu_count += i == part->pmu_count;
    return i;
}

/* A control group's counter has no role: those speak of the machine. */
static const char *signal_name(const struct gathered *gathered, const struct sy_counter *counter) {
    bool known = sy_index_of(counter->event, gathered->signals, gathered->count,
                             sizeof *gathered->signals) != SY_NONE;
    return known || counter->scope == SY_SCOPE_GROUP ? counter->name : counter->event;
}

static void gather_one(struct gathered *gathered, uint32_t index) {
    struct sy_belief *belief = gathered->belief;
    const struct sy_counter *counter = &belief->counters[index];
    for (uint32_t i = 0; i < gathered->count; i++) {
        if (adds_up(gathered, i, counter)) {
            gathered->counter_signal[index] = i;
            return;
        }
    }
    struct sy_part *part = &belief->parts[gathered->part];
    gathered->signals[gathered->count] = (struct sy_signal){
        .name = signal_name(gathered, counter),
        .event = belief->listing ? sy_listing_event(belief->listing, counter->event) : SY_NONE,
        .counter = index,
        .pmu = counter->pmu < belief->pmu_count ? local_pmu(part, counter->pmu) : SY_PMU_NONE,
        .kind = counter->kind,
        .bytes = counter->unit && counter->unit[0] == 'B',
        .noise_ratio =
            isfinite(counter->noise_ratio) && counter->noise_ratio > 0 ? counter->noise_ratio : 0,
        .wanted = true,
    };
    gathered->counter_signal[index] = gathered->count++;
}

/* Counters named after a resource are its variable's, which is made later. */
static void gather(struct gathered *gathered) {
    struct sy_belief *belief = gathered->belief;
    gathered->count = 0;
    for (uint32_t i = 0; i < belief->counter_count; i++) {
        gathered->counter_signal[i] = SY_NONE;
        if (belief->channels[i].part == gathered->part &&
            sy_layout_resource(belief->machine, belief->counters[i].event) == SY_NONE) {
            gather_one(gathered, i);
        }
    }
}

/* --- cores --------------------------------------------------------------------------------------
 */
static uint32_t busy_signal(const struct gathered *gathered, uint32_t os_index) {
    const struct sy_belief *belief = gathered->belief;
    for (uint32_t i = 0; i < belief->counter_count; i++) {
        const struct sy_counter *counter = &belief->counters[i];
        if (gathered->counter_signal[i] != SY_NONE && counter->scope == SY_SCOPE_CPU &&
            counter->scope_index == os_index && counter->kind == SY_COUNTER_SHARE &&
            strcmp(counter->event, "busy") == 0) {
            return gathered->counter_signal[i];
        }
    }
    return SY_NONE;
}

/* Each thread has its busy share; a core's is their sum. */
static void add_busy(struct gathered *gathered, struct sy_build *build) {
    struct sy_belief *belief = gathered->belief;
    struct sy_term terms[TERMS_MAX];
    uint32_t count = 0;
    build->roles[SY_ROLE_CPU_BUSY].variable = SY_NONE;
    for (uint32_t i = 0; i < belief->layout.thread_count && count < TERMS_MAX; i++) {
        struct sy_thread *thread = &belief->layout.threads[i];
        if (thread->core != gathered->part) {
            continue;
        }
        uint32_t signal = busy_signal(gathered, thread->os_index);
        thread->busy = signal == SY_NONE ? SY_NONE : build->signal_variable[signal];
        if (thread->busy == SY_NONE) {
            struct sy_variable variable = sy_build_start(SY_ROLE_CPU_BUSY, 1);
            char name[32];
            snprintf(name, sizeof name, "cpu%u.busy", thread->os_index);
            variable.name = name;
            variable.capacity = 1;
            thread->busy = sy_build_variable(build, &variable);
        }
        terms[count++] = (struct sy_term){thread->busy, 1};
    }
    if (count == 1) {
        build->roles[SY_ROLE_CPU_BUSY] = (struct sy_binding){terms[0].variable, 1};
    } else if (count > 1) {
        struct sy_factor factor = {
            .kind = SY_FACTOR_EQUAL,
            .origin = SY_FROM_TOPOLOGY,
            .why = "a core is as busy as its threads together",
            .out = sy_build_hidden(build, SY_ROLE_CPU_BUSY, "core.busy")->variable,
            .width = WIDTH_THREADS};
        sy_build_factor(build, &factor, terms, count);
    }
}

/* --- sockets ------------------------------------------------------------------------------------
 */
static bool cores_have(const struct sy_belief *belief, uint32_t package, enum sy_role role) {
    for (uint32_t i = 0; i < belief->layout.core_count; i++) {
        const struct sy_binding *binding = &belief->parts[i].roles[role];
        if (belief->layout.core_package[i] == package && binding->variable != SY_NONE &&
            belief->parts[i].informed[binding->variable]) {
            return true;
        }
    }
    return false;
}

/* What cores count and a socket does not is hidden here and told by a join. */
static void add_sums_of_cores(struct sy_belief *belief, uint32_t package, struct sy_build *build) {
    static const enum sy_role roles[] = {SY_ROLE_CPU_BUSY, SY_ROLE_L3_REF, SY_ROLE_L3_HIT,
                                         SY_ROLE_L3_MISS,  SY_ROLE_L2_WB,  SY_ROLE_REMOTE_FILL};
    for (uint32_t i = 0; i < SY_COUNT(roles); i++) {
        if (build->roles[roles[i]].variable == SY_NONE && cores_have(belief, package, roles[i])) {
            char name[64];
            snprintf(name, sizeof name, "cores.%s", sy_role_info(roles[i])->name);
            (void)sy_build_hidden(build, roles[i], name);
        }
    }
}

/* A memory's traffic is the role dram_total where a socket has one memory. A capacity that was only
 * assumed must not bend what is measured: that of memory is used for shares alone. */
static void add_resource(struct sy_belief *belief, uint32_t resource, bool one_memory,
                         struct sy_build *build) {
    const struct sy_machine *machine = belief->machine;
    struct sy_binding *role = &build->roles[SY_ROLE_DRAM_TOTAL];
    bool dram = machine->resources[resource].kind == SY_RES_DRAM;
    if (dram && one_memory && role->variable != SY_NONE) {
        belief->resources[resource] = *role;
        build->model->variables[role->variable].resource = resource;
        return;
    }
    if (build->model->variable_count >= build->variables_max) {
        return;
    }
    struct sy_variable variable = sy_variable_of_resource(machine, resource);
    variable.capacity = dram ? INFINITY : variable.capacity;
    belief->resources[resource] = (struct sy_binding){sy_build_variable(build, &variable), 1};
    if (dram && one_memory) {
        *role = belief->resources[resource];
    }
}

struct pool { /* resources that add up to a role */
    struct sy_term terms[TERMS_MAX];
    uint32_t count;
};

static void pool_add(const struct sy_belief *belief, struct pool *pool, uint32_t resource) {
    const struct sy_binding *binding = &belief->resources[resource];
    for (uint32_t i = 0; i < pool->count; i++) {
        if (pool->terms[i].variable == binding->variable) {
            return;
        }
    }
    if (binding->variable != SY_NONE && pool->count < TERMS_MAX) {
        pool->terms[pool->count++] = (struct sy_term){binding->variable, binding->factor};
    }
}

static void pool_draw(struct sy_build *build, struct pool *pool, enum sy_role role,
                      enum sy_factor_kind kind, const char *why) {
    const struct sy_binding *binding = &build->roles[role];
    if (pool->count == 0 || binding->variable == SY_NONE) {
        return;
    }
    for (uint32_t i = 0; i < pool->count; i++) {
        pool->terms[i].coefficient /= binding->factor;
    }
    struct sy_factor factor = {.kind = kind,
                               .origin = SY_FROM_TOPOLOGY,
                               .why = why,
                               .out = binding->variable,
                               .width = WIDTH_SOCKET};
    sy_build_factor(build, &factor, pool->terms, pool->count);
}

static void relate_resources(struct sy_belief *belief, uint32_t package, struct sy_build *build) {
    const struct sy_machine *machine = belief->machine;
    const struct sy_layout *layout = &belief->layout;
    struct pool memory = {.count = 0}, out = {.count = 0}, down = {.count = 0}, up = {.count = 0};
    for (uint32_t i = 0; i < machine->resource_count; i++) {
        if (layout->resource_package[i] == package) {
            enum sy_resource_kind kind = machine->resources[i].kind;
            if (kind == SY_RES_DRAM) {
                pool_add(belief, &memory, i);
            } else if (kind == SY_RES_INTERCONNECT) {
                pool_add(belief, &out, i);
            }
        }
    }
    for (uint32_t i = 0; i < layout->gpu_count + layout->board_count; i++) {
        for (uint32_t way = 0; way < 2 && layout->accelerator_memory[i] != SY_NONE; way++) {
            uint32_t link = sy_layout_link(machine, layout->accelerator_memory[i], way == 0);
            if (link != SY_NONE && layout->resource_package[link] == package) {
                pool_add(belief, way == 0 ? &down : &up, link);
            }
        }
    }
    if (memory.count > 1) {
        (void)sy_build_hidden(build, SY_ROLE_DRAM_TOTAL, NULL);
        pool_draw(build, &memory, SY_ROLE_DRAM_TOTAL, SY_FACTOR_EQUAL,
                  "a socket's memories together");
    }
    pool_draw(build, &out, SY_ROLE_XSOCKET, SY_FACTOR_EQUAL, "all links to other sockets");
    pool_draw(build, &down, SY_ROLE_PCIE_READ, SY_FACTOR_AT_MOST,
              "what accelerators receive was read from host memory");
    pool_draw(build, &up, SY_ROLE_PCIE_WRITE, SY_FACTOR_AT_MOST,
              "what accelerators send is written to host memory");
}

static int add_resources(struct sy_belief *belief, uint32_t package, struct sy_build *build) {
    const struct sy_machine *machine = belief->machine;
    uint32_t memories = 0;
    for (uint32_t i = 0; i < machine->resource_count; i++) {
        memories += machine->resources[i].kind == SY_RES_DRAM &&
                    belief->layout.resource_package[i] == package;
    }
    uint32_t *variable_of = malloc((machine->resource_count + 1u) * sizeof *variable_of);
    struct sy_resource_sum *sums;
    uint32_t sum_count = 0;
    int code =
        variable_of ? sy_find_resource_sums(machine, belief->arena, &sums, &sum_count) : -ENOMEM;
    for (uint32_t i = 0; i < machine->resource_count && !code; i++) {
        if (belief->layout.resource_package[i] == package) {
            add_resource(belief, i, memories == 1, build);
        }
        /* sums are drawn in bytes: a memory counted in lines stays out of them */
        const struct sy_binding *binding = &belief->resources[i];
        variable_of[i] = belief->layout.resource_package[i] == package && binding->factor == 1
                             ? binding->variable
                             : SY_NONE;
    }
    for (uint32_t i = 0; i < sum_count && !code; i++) {
        sy_add_resource_sum(build->model, &build->failed, variable_of, &sums[i]);
    }
    free(variable_of);
    if (!code) {
        relate_resources(belief, package, build);
    }
    return code;
}

/* Two sources of the same thing agree, more or less. */
static void relate_twins(const struct gathered *gathered, struct sy_build *build) {
    const struct sy_counter *counters = gathered->belief->counters;
    for (uint32_t i = 0; i < gathered->count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            const struct sy_counter *a = &counters[gathered->signals[i].counter];
            const struct sy_counter *b = &counters[gathered->signals[j].counter];
            uint32_t twin = build->signal_variable[i], first = build->signal_variable[j];
            if (strcmp(a->event, b->event) != 0 || a->scope != b->scope || a->kind != b->kind ||
                a->scope_index != b->scope_index || twin == SY_NONE || first == SY_NONE) {
                continue;
            }
            struct sy_factor factor = {.kind = SY_FACTOR_EQUAL,
                                       .origin = SY_FROM_TOPOLOGY,
                                       .why = "two sources of the same",
                                       .out = first,
                                       .width = WIDTH_SOCKET};
            sy_build_factor(build, &factor, &(struct sy_term){twin, 1}, 1);
            break;
        }
    }
}

/* --- one part -----------------------------------------------------------------------------------
 */
/* Relations of the listing, found once for each kind of PMU. */
static int add_listing(struct gathered *gathered, struct sy_build *build) {
    struct sy_belief *belief = gathered->belief;
    const char *unit = NULL;
    bool core = build->place == SY_AT_CORE;
    for (uint32_t i = 0; i < gathered->count && core && !unit; i++) {
        uint32_t event = gathered->signals[i].event;
        unit = event == SY_NONE ? NULL : belief->listing->events[event].unit;
    }
    if (!core && build->place != SY_AT_PACKAGE) {
        return 0;
    }
    if (core && !unit) {
        return 0;
    }
    struct sy_found_list *found = core ? &belief->core_found : &belief->package_found;
    int code = 0;
    if (found->count == 0 || (core && strcmp(unit, belief->core_unit) != 0)) {
        sy_found_finish(found);
        belief->core_unit = core ? unit : belief->core_unit;
        code = sy_find_all(belief->listing, unit, found);
    }
    if (!code) {
        sy_build_listing(build, found, false);
    }
    return code;
}

static int set_channels(struct gathered *gathered, const struct sy_build *build) {
    struct sy_belief *belief = gathered->belief;
    for (uint32_t i = 0; i < belief->counter_count; i++) {
        struct sy_channel *channel = &belief->channels[i];
        const struct sy_counter *counter = &belief->counters[i];
        if (channel->part != gathered->part) {
            continue;
        }
        uint32_t resource = sy_layout_resource(belief->machine, counter->event);
        channel->scale = 1;
        if (gathered->counter_signal[i] != SY_NONE) {
            channel->variable = build->signal_variable[gathered->counter_signal[i]];
        } else if (resource != SY_NONE && belief->resources[resource].variable != SY_NONE) {
            const struct sy_binding *binding = &belief->resources[resource];
            double unit = counter->kind == SY_COUNTER_SHARE
                              ? belief->machine->resources[resource].bytes_per_s
                              : 1;
            channel->variable = binding->variable;
            channel->scale = unit / binding->factor;
            struct sy_variable *variable = &build->model->variables[binding->variable];
            variable->counter = variable->counter == SY_NONE ? i : variable->counter;
        }
    }
    return 0;
}

static int allocate(struct sy_belief *belief, struct sy_part *part) {
    uint32_t n = part->model->variable_count + 1, slots = 0;
    for (uint32_t i = 0; i < part->pmu_count; i++) {
        part->slots[i] = belief->pmus[part->pmus[i]].slots;
        slots += part->slots[i];
    }
    struct sy_arena *arena = belief->arena;
    part->chosen = sy_arena_alloc(arena, slots + 1u, sizeof(uint32_t));
    part->member_first = sy_arena_alloc(arena, n, sizeof(uint32_t));
    part->member_count = sy_arena_alloc(arena, n, sizeof(uint32_t));
    part->informed = sy_arena_alloc(arena, n, sizeof(bool));
    part->sum = sy_arena_alloc(arena, n, sizeof(double));
    part->variance = sy_arena_alloc(arena, n, sizeof(double));
    part->seen = sy_arena_alloc(arena, n, sizeof(uint32_t));
    part->observations = sy_arena_alloc(arena, n, sizeof *part->observations);
    return part->chosen && part->member_first && part->member_count && part->informed &&
                   part->sum && part->variance && part->seen && part->observations
               ? 0
               : -ENOMEM;
}

static void count_members(struct sy_belief *belief, uint32_t index) {
    struct sy_part *part = &belief->parts[index];
    for (uint32_t i = 0; i < belief->counter_count; i++) {
        const struct sy_channel *channel = &belief->channels[i];
        if (channel->part == index && channel->variable != SY_NONE) {
            part->member_count[channel->variable]++;
            part->informed[channel->variable] = true;
        }
    }
}

static int build_part(struct gathered *gathered, struct sy_build *build) {
    struct sy_belief *belief = gathered->belief;
    struct sy_part *part = &belief->parts[gathered->part];
    int code = 0;
    sy_build_roles(build);
    if (build->place == SY_AT_CORE) {
        add_busy(gathered, build);
    }
    if (build->place == SY_AT_PACKAGE) {
        add_sums_of_cores(belief, part->index, build);
        code = add_resources(belief, part->index, build);
    }
    relate_twins(gathered, build);
    code = code ? code : belief->listing ? add_listing(gathered, build) : 0;
    if (!code) {
        sy_build_relations(build);
        code = build->failed ? -ENOMEM : set_channels(gathered, build);
    }
    return code;
}

static int make_part(struct gathered *gathered, struct sy_error *error) {
    struct sy_belief *belief = gathered->belief;
    struct sy_part *part = &belief->parts[gathered->part];
    struct sy_build build;
    char name[48];
    snprintf(name, sizeof name, "%s%u", sy_scope_name(part->scope), part->index);
    part->pmus = sy_arena_alloc(belief->arena, belief->pmu_count + 1u, sizeof(uint32_t));
    part->slots = sy_arena_alloc(belief->arena, belief->pmu_count + 1u, sizeof(uint32_t));
    if (!part->pmus || !part->slots) {
        return -ENOMEM;
    }
    gather(gathered);
    int code = sy_build_init(&build, name, belief->listing, gathered->signals, gathered->count,
                             sy_place_of_scope(part->scope));
    if (code) {
        return code;
    }
    code = build_part(gathered, &build);
    part->model = build.model;
    memcpy(part->roles, build.roles, sizeof part->roles);
    sy_build_finish(&build);
    code = code ? code : sy_model_check(part->model, error);
    code = code ? code : allocate(belief, part);
    if (!code) {
        count_members(belief, gathered->part);
    }
    return code;
}

/* --- joins --------------------------------------------------------------------------------------
 */
static void add_source(struct sy_belief *belief, uint32_t from, enum sy_role role) {
    const struct sy_binding *binding = &belief->parts[from].roles[role];
    struct sy_join *join = &belief->joins[belief->join_count];
    if (binding->variable != SY_NONE && belief->parts[from].informed[binding->variable]) {
        belief->sources[belief->source_count++] =
            (struct sy_source){from, binding->variable, binding->factor};
        join->count++;
    }
}

static void end_join(struct sy_belief *belief, uint32_t part, const struct sy_binding *target) {
    struct sy_join *join = &belief->joins[belief->join_count];
    if (join->count > 0) {
        join->part = part;
        join->variable = target->variable;
        join->factor = target->factor;
        belief->parts[part].informed[target->variable] = true;
        belief->join_count++;
    }
}

static void join_cores(struct sy_belief *belief, uint32_t package) {
    uint32_t part = belief->first_package + package;
    for (uint32_t role = 0; role < SY_ROLE_COUNT; role++) {
        const struct sy_binding *target = &belief->parts[part].roles[role];
        if (!(sy_role_info((enum sy_role)role)->places & SY_AT_CORE) ||
            target->variable == SY_NONE || belief->parts[part].member_count[target->variable]) {
            continue;
        }
        belief->joins[belief->join_count] = (struct sy_join){.first = belief->source_count};
        for (uint32_t i = 0; i < belief->layout.core_count; i++) {
            if (belief->layout.core_package[i] == package) {
                add_source(belief, i, (enum sy_role)role);
            }
        }
        end_join(belief, part, target);
    }
}

/* What an accelerator receives came down its link. */
static void join_links(struct sy_belief *belief, uint32_t index) {
    const struct sy_layout *layout = &belief->layout;
    for (uint32_t way = 0; way < 2 && layout->accelerator_memory[index] != SY_NONE; way++) {
        uint32_t link =
            sy_layout_link(belief->machine, layout->accelerator_memory[index], way == 0);
        if (link == SY_NONE || belief->resources[link].variable == SY_NONE) {
            continue;
        }
        uint32_t part = belief->first_package + layout->resource_package[link];
        const struct sy_binding *target = &belief->resources[link];
        if (belief->parts[part].member_count[target->variable] == 0) {
            belief->joins[belief->join_count] = (struct sy_join){.first = belief->source_count};
            add_source(belief, belief->first_gpu + index,
                       way == 0 ? SY_ROLE_GPU_PCIE_RX : SY_ROLE_GPU_PCIE_TX);
            end_join(belief, part, target);
        }
    }
}

static int make_joins(struct sy_belief *belief) {
    const struct sy_layout *layout = &belief->layout;
    uint32_t accelerators = layout->gpu_count + layout->board_count;
    size_t joins = (size_t)layout->package_count * SY_ROLE_COUNT + 2u * accelerators + 1;
    size_t sources = (size_t)layout->core_count * SY_ROLE_COUNT + 2u * accelerators + 1;
    belief->joins = sy_arena_alloc(belief->arena, joins, sizeof *belief->joins);
    belief->sources = sy_arena_alloc(belief->arena, sources, sizeof *belief->sources);
    if (!belief->joins || !belief->sources) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < layout->package_count; i++) {
        join_cores(belief, i);
    }
    for (uint32_t i = 0; i < accelerators; i++) {
        join_links(belief, i);
    }
    return 0;
}

/* --- all parts ----------------------------------------------------------------------------------
 */
static void name_parts(struct sy_belief *belief) {
    const struct sy_layout *layout = &belief->layout;
    const struct {
        enum sy_scope scope;
        uint32_t count;
    } kinds[] = {{SY_SCOPE_CORE, layout->core_count},
                 {SY_SCOPE_GPU, layout->gpu_count},
                 {SY_SCOPE_BOARD, layout->board_count},
                 {SY_SCOPE_PACKAGE, layout->package_count},
                 {SY_SCOPE_MACHINE, 1}};
    for (uint32_t k = 0; k < SY_COUNT(kinds); k++) {
        for (uint32_t i = 0; i < kinds[k].count; i++) {
            belief->parts[belief->part_count].scope = kinds[k].scope;
            belief->parts[belief->part_count++].index = i;
        }
    }
}

static void list_members(struct sy_belief *belief) {
    uint32_t next = 0;
    for (uint32_t p = 0; p < belief->part_count; p++) {
        struct sy_part *part = &belief->parts[p];
        for (uint32_t v = 0; v < part->model->variable_count; v++) {
            part->member_first[v] = next;
            next += part->member_count[v];
            part->member_count[v] = 0;
        }
    }
    for (uint32_t i = 0; i < belief->counter_count; i++) {
        const struct sy_channel *channel = &belief->channels[i];
        if (channel->part != SY_NONE && channel->variable != SY_NONE) {
            struct sy_part *part = &belief->parts[channel->part];
            uint32_t at =
                part->member_first[channel->variable] + part->member_count[channel->variable]++;
            belief->members[at] = i;
        }
    }
}

static int make_all(struct gathered *gathered, struct sy_error *error) {
    struct sy_belief *belief = gathered->belief;
    int code = 0;
    for (uint32_t i = 0; i < belief->part_count && !code; i++) {
        gathered->part = i;
        code = make_part(gathered, error);
    }
    code = code ? code : make_joins(belief);
    for (uint32_t i = 0; i < belief->part_count && !code; i++) {
        code = sy_filter_create(belief->parts[i].model, NULL, &belief->parts[i].filter);
    }
    if (!code) {
        list_members(belief);
    }
    return code;
}

int sy_parts_make(struct sy_belief *belief, struct sy_error *error) {
    const struct sy_layout *layout = &belief->layout;
    uint32_t n = belief->counter_count + 1, resources = belief->machine->resource_count;
    uint32_t parts =
        layout->core_count + layout->gpu_count + layout->board_count + layout->package_count + 1;
    belief->first_gpu = layout->core_count;
    belief->first_board = belief->first_gpu + layout->gpu_count;
    belief->first_package = belief->first_board + layout->board_count;
    belief->machine_part = belief->first_package + layout->package_count;
    belief->parts = sy_arena_alloc(belief->arena, parts, sizeof *belief->parts);
    belief->channels = sy_arena_alloc(belief->arena, n, sizeof *belief->channels);
    belief->members = sy_arena_alloc(belief->arena, n, sizeof(uint32_t));
    belief->pmu_used = sy_arena_alloc(belief->arena, belief->pmu_count + 1u, sizeof(uint32_t));
    belief->resources = sy_arena_alloc(belief->arena, resources + 1u, sizeof *belief->resources);
    struct gathered gathered = {.belief = belief,
                                .signals = calloc(n, sizeof *gathered.signals),
                                .counter_signal = calloc(n, sizeof(uint32_t))};
    int code = belief->parts && belief->channels && belief->members && belief->pmu_used &&
                       belief->resources && gathered.signals && gathered.counter_signal
                   ? 0
                   : -ENOMEM;
    if (!code) {
        name_parts(belief);
        for (uint32_t i = 0; i < resources; i++) {
            belief->resources[i] = (struct sy_binding){SY_NONE, 1};
        }
        for (uint32_t i = 0; i < belief->counter_count; i++) {
            belief->channels[i] =
                (struct sy_channel){part_of(belief, &belief->counters[i]), SY_NONE, 1, 0};
        }
        code = make_all(&gathered, error);
    }
    free(gathered.signals);
    free(gathered.counter_signal);
    return code;
}
