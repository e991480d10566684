/* SPDX-License-Identifier: Apache-2.0
 *
 * flow: weighted max-min fair sharing by progressive filling, on the part that a change can reach.
 *
 * In: flows that come, go and change their bound. Out: rates, and which of them are new. Never
 * knows: time, tasks. Invariants: nothing is allocated after create; the sums that decide are
 * integers or made afresh, so that errors do not pile up however long the net lives.
 *
 * The idea: a resource whose flows, all at their bounds, fit into it can never hold one back. Only
 * the others ("tight" ones) carry the effect of a change from flow to flow, so a solve visits the
 * flows joined to the changed one through tight resources, which is often just that flow itself.
 * Sets of flows are bit masks: a solve is short, and what costs most in it are branches that the
 * processor cannot foresee; walking linked lists has one at every end.
 */
#include "world/flow.h"
#include <math.h>
#include <string.h>

/* Demands are counted in 2^-40 of the capacity, rounded up: integer sums do not depend on order and
 * return to zero. A flow's bound is cut to what its resources could give it alone, so one flow adds
 * at most FULL + 1 and the sum cannot overflow below 2^23 flows. The slack forgives the rounding of
 * sums that are meant to fill the capacity exactly, and lets at most 6e-11 too much through. */
#define FULL      0x1p40
#define SLACK     64
#define MAX_FLOWS (1u << 16)
/* Two rates nearer than this are the same rate, computed in another order. */
#define SAME 1e-12
/* A running sum that fell below this part of what it was is made afresh. */
#define LOSS 0x1p-10
/* So many changes until the running sums are made afresh. Each change errs by at most 2^-53 of the
 * largest value since, so that with LOSS a sum is always good to 1.2e-10, and mostly to 1e-14. */
#define REFRESH 1024

struct flow {
    double bound; /* min(the caller's, what each resource could give it alone) */
    double weight, rate;
    double level;   /* bound / weight: the filling level at which it stops growing */
    uint32_t count; /* of resources */
    bool fresh, queued;
    uint32_t resources[SY_FLOW_RESOURCES];
    double coefficients[SY_FLOW_RESOURCES];
    uint64_t units[SY_FLOW_RESOURCES]; /* its share of resource.units */
};

struct resource {
    double capacity, units_per_use;
    uint64_t units; /* demand of its flows at their bounds */
    double use;     /* sum of coefficient * rate */
    double weights; /* sum of coefficient * weight */
    double peak;    /* largest value of weights since it was made afresh */
    uint32_t user_count;
    bool dirty, listed;
};

/* What is left of a resource while its part is being filled; meaningless where it is not tight.
 * Apart from the rest, so that filling touches few cache lines. */
struct room {
    double left;   /* capacity not given to fixed flows */
    double demand; /* sum of coefficient * weight of pending flows */
    double floor;  /* below this, demand has lost too many digits */
    uint32_t live; /* pending flows */
};

struct sy_flow_net {
    struct sy_arena *arena;
    struct flow *flows;
    struct resource *resources;
    struct room *rooms; /* of the resources */
    uint32_t flow_capacity, resource_count;
    uint32_t words;                        /* of a set of flows */
    uint64_t *users;                       /* a set per resource */
    uint64_t *present, *settled, *pending; /* sets: added; solved in this solve; rate not fixed */
    uint32_t changes;                      /* since the last refresh */
    uint32_t *dirty_flows, *dirty_resources, *changed, *tight;
    uint32_t dirty_flow_count, dirty_resource_count, changed_count;
    uint32_t tight_count; /* the list holds all tight resources, and may hold some that were */
    uint32_t part_count;  /* the first of that list belong to the part being filled */
    uint32_t pending_count;
    bool stale;    /* a resource of the list may be no longer tight */
    double lowest; /* no pending flow has a smaller level */
};

static bool allocate(struct sy_flow_net *net, uint32_t resource_count, uint32_t flow_capacity) {
    size_t words = ((size_t)flow_capacity + 63) / 64;
    uint64_t *sets = sy_arena_alloc(net->arena, (resource_count + 3) * words, sizeof(uint64_t));
    uint32_t *lists = sy_arena_alloc(net->arena, 2 * (size_t)flow_capacity, sizeof(uint32_t));
    uint32_t *more = sy_arena_alloc(net->arena, 2 * (size_t)resource_count, sizeof(uint32_t));
    net->flows = sy_arena_alloc(net->arena, flow_capacity, sizeof(*net->flows));
    net->resources = sy_arena_alloc(net->arena, resource_count, sizeof(*net->resources));
    net->rooms = sy_arena_alloc(net->arena, resource_count, sizeof(*net->rooms));
    if (!sets || !lists || !more || !net->flows || !net->resources || !net->rooms) {
        return false;
    }
    net->flow_capacity = flow_capacity;
    net->resource_count = resource_count;
    net->words = (uint32_t)words;
    net->present = sets;
    net->settled = sets + words;
    net->pending = sets + 2 * words;
    net->users = sets + 3 * words;
    net->dirty_flows = lists;
    net->changed = lists + flow_capacity;
    net->dirty_resources = more;
    net->tight = more + resource_count;
    return true;
}

struct sy_flow_net *sy_flow_create(uint32_t resource_count, const double *capacities,
                                   uint32_t flow_capacity) {
    SY_ASSERT(flow_capacity <= MAX_FLOWS && resource_count < SY_NONE / 2);
    struct sy_arena *arena = sy_arena_create();
    struct sy_flow_net *net = arena ? sy_arena_alloc(arena, 1, sizeof(*net)) : NULL;
    if (net) {
        net->arena = arena;
    }
    if (!net || !allocate(net, resource_count, flow_capacity)) {
        sy_arena_destroy(arena);
        return NULL;
    }
    for (uint32_t r = 0; r < resource_count; r++) {
        SY_ASSERT(capacities[r] >= 0);
        net->resources[r].capacity = capacities[r];
        net->resources[r].units_per_use = capacities[r] > 0 ? FULL / capacities[r] : 0;
    }
    return net;
}

void sy_flow_destroy(struct sy_flow_net *net) {
    if (net) {
        sy_arena_destroy(net->arena);
    }
}

void sy_flow_reset(struct sy_flow_net *net) {
    memset(net->flows, 0, net->flow_capacity * sizeof(*net->flows));
    memset(net->present, 0, net->words * sizeof(uint64_t));
    memset(net->users, 0, (size_t)net->resource_count * net->words * sizeof(uint64_t));
    for (uint32_t r = 0; r < net->resource_count; r++) {
        struct resource *resource = &net->resources[r];
        resource->units = 0;
        resource->user_count = 0;
        resource->use = resource->weights = resource->peak = 0;
        resource->dirty = resource->listed = false;
    }
    net->tight_count = 0;
    net->stale = false;
    net->changes = 0;
    net->dirty_flow_count = 0;
    net->dirty_resource_count = 0;
}

static inline bool is_in(const uint64_t *set, uint32_t flow) {
    return set[flow / 64] >> flow % 64 & 1;
}

static inline uint64_t *users_of(const struct sy_flow_net *net, uint32_t resource) {
    return net->users + (size_t)resource * net->words;
}

static inline uint32_t lowest_bit(uint64_t bits) {
    return (uint32_t)__builtin_ctzll(bits);
}

static inline bool tight(const struct resource *resource) {
    return resource->units > (uint64_t)FULL + SLACK;
}

/* Rounded up, except that what is whole but for the rounding of doubles stays whole. */
static inline uint64_t to_units(double use, double units_per_use) {
    return units_per_use > 0 ? (uint64_t)(int64_t)(use * units_per_use + (1 - 0x1p-8)) : 0;
}

/* Enters the flow's demand at its resources; whom it affects, solve finds from the flow. */
static void admit(struct sy_flow_net *net, uint32_t id, double bound) {
    struct flow *flow = &net->flows[id];
    SY_ASSERT(bound >= 0);
    for (uint32_t k = 0; k < flow->count; k++) {
        double alone = net->resources[flow->resources[k]].capacity / flow->coefficients[k];
        bound = alone < bound ? alone : bound;
    }
    flow->bound = bound;
    flow->level = bound / flow->weight;
    for (uint32_t k = 0; k < flow->count; k++) {
        struct resource *resource = &net->resources[flow->resources[k]];
        flow->units[k] = to_units(flow->coefficients[k] * bound, resource->units_per_use);
        resource->units += flow->units[k];
        if (tight(resource) && !resource->listed) {
            resource->listed = true;
            net->tight[net->tight_count++] = flow->resources[k];
        }
    }
    if (!flow->queued) {
        flow->queued = true;
        net->dirty_flows[net->dirty_flow_count++] = id;
    }
}

/* Takes it out again; those who shared a tight resource with it will be looked at. */
static void withdraw(struct sy_flow_net *net, const struct flow *flow) {
    for (uint32_t k = 0; k < flow->count; k++) {
        struct resource *resource = &net->resources[flow->resources[k]];
        if (tight(resource) && !resource->dirty) {
            resource->dirty = true;
            net->dirty_resources[net->dirty_resource_count++] = flow->resources[k];
        }
        resource->units -= flow->units[k];
        net->stale |= resource->listed & !tight(resource);
    }
}

/* The place of the resource among those of the flow, or the flow's count. */
static inline uint32_t place_of(const struct flow *flow, uint32_t resource) {
    uint32_t k = 0;
    while (k < flow->count && flow->resources[k] != resource) {
        k++;
    }
    return k;
}

void sy_flow_add(struct sy_flow_net *net, uint32_t flow, double bound, double weight,
                 uint32_t resource_count, const uint32_t *resources, const double *coefficients) {
    SY_ASSERT(flow < net->flow_capacity && resource_count <= SY_FLOW_RESOURCES && weight > 0);
    SY_ASSERT(!is_in(net->present, flow));
    struct flow *added = &net->flows[flow];
    uint64_t bit = (uint64_t)1 << flow % 64;
    added->count = 0;
    added->weight = weight;
    for (uint32_t k = 0; k < resource_count; k++) {
        SY_ASSERT(resources[k] < net->resource_count);
        if (!(coefficients[k] > 0)) {
            continue;
        }
        uint32_t at = place_of(added, resources[k]);
        struct resource *resource = &net->resources[resources[k]];
        resource->weights += coefficients[k] * weight;
        resource->peak = resource->weights > resource->peak ? resource->weights : resource->peak;
        if (at < added->count) {
            added->coefficients[at] += coefficients[k];
            continue;
        }
        added->coefficients[at] = coefficients[k];
        added->resources[at] = resources[k];
        added->count++;
        resource->user_count++;
        users_of(net, resources[k])[flow / 64] |= bit;
    }
    net->present[flow / 64] |= bit;
    added->rate = 0;
    added->fresh = true;
    admit(net, flow, bound);
}

/* coefficient * weight summed over those users of a resource that are in the set. */
static double sum_over(const struct sy_flow_net *net, uint32_t id, const uint64_t *set) {
    const uint64_t *users = users_of(net, id);
    double sum = 0;
    for (uint32_t w = 0; w < net->words; w++) {
        for (uint64_t bits = users[w] & set[w]; bits; bits &= bits - 1) {
            const struct flow *flow = &net->flows[w * 64 + lowest_bit(bits)];
            sum += flow->coefficients[place_of(flow, id)] * flow->weight;
        }
    }
    return sum;
}

static void sum_weights(struct sy_flow_net *net, uint32_t id) {
    struct resource *resource = &net->resources[id];
    resource->weights = sum_over(net, id, net->present);
    resource->peak = resource->weights;
    resource->use = resource->user_count > 0 ? resource->use : 0;
}

void sy_flow_remove(struct sy_flow_net *net, uint32_t flow) {
    SY_ASSERT(flow < net->flow_capacity && is_in(net->present, flow));
    struct flow *removed = &net->flows[flow];
    uint64_t bit = (uint64_t)1 << flow % 64;
    withdraw(net, removed);
    for (uint32_t k = 0; k < removed->count; k++) {
        struct resource *resource = &net->resources[removed->resources[k]];
        users_of(net, removed->resources[k])[flow / 64] &= ~bit;
        resource->user_count--;
        resource->use -= removed->coefficients[k] * removed->rate;
        resource->weights -= removed->coefficients[k] * removed->weight;
        if (resource->weights < resource->peak * LOSS || resource->user_count == 0) {
            sum_weights(net, removed->resources[k]);
        }
    }
    net->present[flow / 64] &= ~bit;
    removed->rate = 0;
}

void sy_flow_set_bound(struct sy_flow_net *net, uint32_t flow, double bound) {
    SY_ASSERT(flow < net->flow_capacity && is_in(net->present, flow));
    withdraw(net, &net->flows[flow]);
    admit(net, flow, bound);
}

/* --- the part that a change can reach --------------------------------------------------------- */
/* The resource becomes the next of the part, and its flows pending, if one of them is already. */
static inline void join(struct sy_flow_net *net, uint32_t place) {
    uint32_t id = net->tight[place];
    const struct resource *resource = &net->resources[id];
    const uint64_t *users = users_of(net, id);
    uint64_t common = 0;
    for (uint32_t w = 0; w < net->words; w++) {
        common |= users[w] & net->pending[w];
    }
    if (!common) {
        return;
    }
    for (uint32_t w = 0; w < net->words; w++) {
        net->pending[w] |= users[w];
    }
    net->rooms[id] = (struct room){.left = resource->capacity,
                                   .demand = resource->weights,
                                   .floor = resource->weights * LOSS,
                                   .live = resource->user_count};
    net->tight[place] = net->tight[net->part_count];
    net->tight[net->part_count++] = id;
}

/* All flows and resources joined to the flow through tight resources. Pass after pass over these:
 * they are few, and two passes are mostly enough. */
static void gather(struct sy_flow_net *net, uint32_t id) {
    uint32_t before;
    net->pending[id / 64] = (uint64_t)1 << id % 64;
    net->part_count = 0;
    do {
        before = net->part_count;
        for (uint32_t i = before; i < net->tight_count; i++) {
            join(net, i);
        }
    } while (net->part_count > before && net->part_count < net->tight_count);
}

static void count_pending(struct sy_flow_net *net) {
    net->pending_count = 0;
    net->lowest = INFINITY;
    for (uint32_t w = 0; w < net->words; w++) {
        net->settled[w] |= net->pending[w];
        for (uint64_t bits = net->pending[w]; bits; bits &= bits - 1) {
            double level = net->flows[w * 64 + lowest_bit(bits)].level;
            net->lowest = level < net->lowest ? level : net->lowest;
            net->pending_count++;
        }
    }
}

/* --- filling ------------------------------------------------------------------------------------
 */
static inline void set_rate(struct sy_flow_net *net, uint32_t id, double rate) {
    struct flow *flow = &net->flows[id];
    double growth = rate - flow->rate;
    if (!flow->fresh && fabs(growth) <= SAME * rate) {
        return;
    }
    for (uint32_t k = 0; k < flow->count; k++) {
        net->resources[flow->resources[k]].use += flow->coefficients[k] * growth;
    }
    flow->fresh = false;
    flow->rate = rate;
    net->changed[net->changed_count++] = id;
}

/* Nobody waits for the resource any more: it is never the narrowest. */
static inline void take_out(struct room *room) {
    room->left = INFINITY;
    room->demand = 1;
    room->floor = 0;
}

/* Demand has lost its digits. */
static void revise(struct sy_flow_net *net, uint32_t id) {
    struct room *room = &net->rooms[id];
    if (room->live == 0) {
        take_out(room);
        return;
    }
    room->demand = sum_over(net, id, net->pending);
    room->floor = room->demand * LOSS;
}

/* The resource that fills up first, and at which level. The choice is arithmetic, not a branch: it
 * would be mispredicted half the time. */
static uint32_t narrowest(struct sy_flow_net *net, double *ret_level) {
    uint32_t best = SY_NONE;
    double lowest = INFINITY;
    for (uint32_t i = 0; i < net->part_count; i++) {
        uint32_t id = net->tight[i];
        const struct room *room = &net->rooms[id];
        if (room->demand < room->floor) {
            revise(net, id);
        }
        double level = room->left / room->demand;
        uint32_t take = -(uint32_t)(level < lowest);
        best = (best & ~take) | (id & take);
        lowest = level < lowest ? level : lowest;
    }
    *ret_level = lowest > 0 ? lowest : 0;
    return best;
}

/* The flow has its final rate: what it takes is no longer there for others. Resources that are not
 * tight are charged too, which is cheaper than asking. */
static inline void charge(struct sy_flow_net *net, const struct flow *flow, double rate) {
    for (uint32_t k = 0; k < flow->count; k++) {
        struct room *room = &net->rooms[flow->resources[k]];
        room->left -= flow->coefficients[k] * rate;
        room->demand -= flow->coefficients[k] * flow->weight;
        room->live--;
    }
}

/* Flows that reach their bound at or below the level get it. Together: taking one out, at no more
 * than its share, only raises the level at which the others' resources fill up. */
static void fix_bounded(struct sy_flow_net *net, double level) {
    net->lowest = INFINITY;
    for (uint32_t w = 0; w < net->words; w++) {
        for (uint64_t bits = net->pending[w]; bits; bits &= bits - 1) {
            uint32_t id = w * 64 + lowest_bit(bits);
            const struct flow *flow = &net->flows[id];
            if (flow->level <= level) {
                net->pending[w] &= ~(bits & -bits);
                net->pending_count--;
                charge(net, flow, flow->bound);
                set_rate(net, id, flow->bound);
            } else if (flow->level < net->lowest) {
                net->lowest = flow->level;
            }
        }
    }
}

/* The pending flows of a full resource stay at its level. */
static void fix_bottleneck(struct sy_flow_net *net, uint32_t resource, double level) {
    const uint64_t *users = users_of(net, resource);
    bool last = net->rooms[resource].live == net->pending_count;
    net->pending_count -= net->rooms[resource].live;
    for (uint32_t w = 0; w < net->words; w++) {
        uint64_t fixed = users[w] & net->pending[w];
        net->pending[w] &= ~fixed;
        for (; fixed; fixed &= fixed - 1) {
            uint32_t id = w * 64 + lowest_bit(fixed);
            double rate = level * net->flows[id].weight;
            if (!last) {
                charge(net, &net->flows[id], rate);
            }
            set_rate(net, id, rate);
        }
    }
    take_out(&net->rooms[resource]);
}

/* Raises the common level of rate / weight until each flow meets its bound or a full resource.
 * Each turn fixes a flow or raises lowest above the level, after which the next turn fixes one. */
static void fill(struct sy_flow_net *net) {
    while (net->pending_count > 0) {
        double level;
        uint32_t resource = narrowest(net, &level);
        if (net->lowest <= level) {
            fix_bounded(net, level);
        } else {
            fix_bottleneck(net, resource, level);
        }
    }
}

/* --- solving ------------------------------------------------------------------------------------
 */
static inline void settle(struct sy_flow_net *net, uint32_t id) {
    if (is_in(net->settled, id)) {
        return;
    }
    gather(net, id);
    if (net->part_count > 0) {
        count_pending(net);
        fill(net);
        return;
    }
    net->pending[id / 64] = 0;
    net->settled[id / 64] |= (uint64_t)1 << id % 64;
    set_rate(net, id, net->flows[id].bound);
}

/* Forgets resources that are no longer tight. */
static void prune(struct sy_flow_net *net) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < net->tight_count; i++) {
        uint32_t id = net->tight[i];
        net->resources[id].listed = tight(&net->resources[id]);
        net->tight[kept] = id;
        kept += net->resources[id].listed;
    }
    net->tight_count = kept;
    net->stale = false;
}

/* Those who shared the resource with a flow that gave way. Where it is still tight, they all belong
 * to the part of the first. */
static void settle_users(struct sy_flow_net *net, uint32_t id) {
    const uint64_t *users = users_of(net, id);
    for (uint32_t w = 0; w < net->words; w++) {
        for (uint64_t bits = users[w] & ~net->settled[w]; bits; bits &= bits - 1) {
            settle(net, w * 64 + lowest_bit(bits));
            if (tight(&net->resources[id])) {
                return;
            }
        }
    }
}

static void refresh(struct sy_flow_net *net) {
    for (uint32_t r = 0; r < net->resource_count; r++) {
        sum_weights(net, r);
        net->resources[r].use = 0;
    }
    for (uint32_t w = 0; w < net->words; w++) {
        for (uint64_t bits = net->present[w]; bits; bits &= bits - 1) {
            const struct flow *flow = &net->flows[w * 64 + lowest_bit(bits)];
            for (uint32_t k = 0; k < flow->count; k++) {
                net->resources[flow->resources[k]].use += flow->coefficients[k] * flow->rate;
            }
        }
    }
    net->changes = 0;
}

uint32_t sy_flow_solve(struct sy_flow_net *net, const uint32_t **ret_changed) {
    net->changed_count = 0;
    if (net->stale) {
        prune(net);
    }
    for (uint32_t w = 0; w < net->words; w++) {
        net->settled[w] = 0;
    }
    for (uint32_t i = 0; i < net->dirty_flow_count; i++) {
        uint32_t id = net->dirty_flows[i];
        net->flows[id].queued = false;
        if (is_in(net->present, id)) {
            settle(net, id);
        }
    }
    for (uint32_t i = 0; i < net->dirty_resource_count; i++) {
        net->resources[net->dirty_resources[i]].dirty = false;
        settle_users(net, net->dirty_resources[i]);
    }
    net->changes += net->dirty_flow_count + net->changed_count / 8 + 1;
    net->dirty_flow_count = 0;
    net->dirty_resource_count = 0;
    if (net->changes >= REFRESH) {
        refresh(net);
    }
    *ret_changed = net->changed;
    return net->changed_count;
}

double sy_flow_rate(const struct sy_flow_net *net, uint32_t flow) {
    return net->flows[flow].rate;
}

double sy_flow_use(const struct sy_flow_net *net, uint32_t resource) {
    return net->resources[resource].use;
}
