/* SPDX-License-Identifier: Apache-2.0
 *
 * flow: weighted max-min fair sharing by progressive filling, on the part that a change can reach.
 *
 * In: flows that come, go and change their bound. Out: rates, and which of them are new. Never
 * knows: time, tasks. Invariants: nothing is allocated after create; all sums that decide are
 * integers or made afresh, so that errors do not pile up however long the net lives.
 *
 * The idea: a resource whose flows, all at their bounds, fit into it can never hold one back. Only
 * the others ("tight" ones) carry the effect of a change from flow to flow, so a solve visits the
 * flows joined to the changed one through tight resources, which is often just that flow itself.
 */
#include "sim/flow.h"
#include <math.h>

/* Demands are counted in 2^-40 of the capacity, rounded up: integer sums do not depend on order and
 * return to zero. A flow's bound is cut to what its resources could give it alone, so one node adds
 * at most FULL + 1 and the sum cannot overflow below 2^23 nodes. The slack forgives the rounding of
 * sums that are meant to fill the capacity exactly, and lets at most 6e-11 too much through. */
#define FULL      0x1p40
#define SLACK     64
#define MAX_FLOWS (1u << 20)
/* Two rates nearer than this are the same rate, computed in another order. */
#define SAME 1e-12
/* A running difference that fell below this part of what it was is summed again. */
#define LOSS 0x1p-10

/* One use of a resource by a flow, in the ring of that resource. All that a walk reads lies in half
 * a cache line: walks jump about, so arrays of structs touch less memory than arrays of fields. */
struct node {
    double coefficient;
    uint64_t units; /* its share of resource.units */
    uint32_t next, prev, resource, flow;
};

struct flow {
    double bound; /* min(the caller's, what each resource could give it alone) */
    double weight, rate;
    double level; /* bound / weight: the filling level at which it stops growing */
    uint64_t seen;
    uint32_t count; /* of its nodes */
    bool present, fresh, queued;
    bool pending; /* in the part being filled, rate not yet fixed */
};

struct resource {
    double capacity, units_per_use;
    uint64_t units; /* sum over its nodes */
    uint64_t seen;
    /* Of the part being filled; meaningless in resources that are not tight. */
    double left;   /* capacity not given to fixed flows */
    double demand; /* sum of coefficient * weight of pending flows */
    double floor;  /* below this, demand has lost too many digits and is summed again */
    uint32_t live; /* pending flows */
    bool dirty;
};

struct sy_flow_net {
    struct sy_arena *arena;
    struct node *nodes; /* flow * SY_FLOW_RESOURCES + k; then one ring head per resource */
    struct flow *flows;
    struct resource *resources;
    uint32_t flow_capacity, resource_count, first_head;
    uint64_t round; /* number of the current solve */
    uint32_t *dirty_flows, *dirty_resources, *changed;
    uint32_t dirty_flow_count, dirty_resource_count, changed_count;
    /* The part being filled. */
    uint32_t *part_flows, *part_resources;
    uint32_t part_flow_count, part_resource_count, pending_count;
    double lowest; /* no pending flow has a smaller level */
};

struct sy_flow_net *sy_flow_create(uint32_t resource_count, const double *capacities,
                                   uint32_t flow_capacity) {
    SY_ASSERT(flow_capacity <= MAX_FLOWS && resource_count < SY_NONE - MAX_FLOWS * 8);
    struct sy_arena *arena = sy_arena_create();
    struct sy_flow_net *net = arena ? sy_arena_alloc(arena, 1, sizeof(*net)) : NULL;
    if (!net) {
        sy_arena_destroy(arena);
        return NULL;
    }
    size_t node_count = (size_t)flow_capacity * SY_FLOW_RESOURCES + resource_count;
    net->arena = arena;
    net->flow_capacity = flow_capacity;
    net->resource_count = resource_count;
    net->first_head = flow_capacity * SY_FLOW_RESOURCES;
    net->resources = sy_arena_alloc(arena, resource_count, sizeof(*net->resources));
    net->nodes = sy_arena_alloc(arena, node_count, sizeof(*net->nodes));
    net->flows = sy_arena_alloc(arena, flow_capacity, sizeof(*net->flows));
    net->dirty_flows = sy_arena_alloc(arena, flow_capacity, sizeof(uint32_t));
    net->dirty_resources = sy_arena_alloc(arena, resource_count, sizeof(uint32_t));
    net->changed = sy_arena_alloc(arena, (size_t)flow_capacity + 1, sizeof(uint32_t));
    net->part_flows = sy_arena_alloc(arena, (size_t)flow_capacity + 1, sizeof(uint32_t));
    net->part_resources = sy_arena_alloc(arena, (size_t)resource_count + 1, sizeof(uint32_t));
    if (!net->resources || !net->nodes || !net->flows || !net->dirty_flows ||
        !net->dirty_resources || !net->changed || !net->part_flows || !net->part_resources) {
        sy_arena_destroy(arena);
        return NULL;
    }
    for (uint32_t r = 0; r < resource_count; r++) {
        SY_ASSERT(capacities[r] >= 0);
        net->resources[r].capacity = capacities[r];
        net->resources[r].units_per_use = capacities[r] > 0 ? FULL / capacities[r] : 0;
    }
    sy_flow_reset(net);
    return net;
}

void sy_flow_destroy(struct sy_flow_net *net) {
    if (net) {
        sy_arena_destroy(net->arena);
    }
}

void sy_flow_reset(struct sy_flow_net *net) {
    for (uint32_t f = 0; f < net->flow_capacity; f++) {
        net->flows[f] = (struct flow){0};
    }
    for (uint32_t r = 0; r < net->resource_count; r++) {
        struct resource *resource = &net->resources[r];
        resource->units = 0;
        resource->seen = 0;
        resource->dirty = false;
        uint32_t head = net->first_head + r;
        net->nodes[head].next = head;
        net->nodes[head].prev = head;
    }
    net->round = 0;
    net->dirty_flow_count = 0;
    net->dirty_resource_count = 0;
    net->changed_count = 0;
}

static inline bool tight(const struct resource *resource) {
    return resource->units > (uint64_t)FULL + SLACK;
}

/* Rounded up, except that what is whole but for the rounding of doubles stays whole. */
static inline uint64_t to_units(double use, double units_per_use) {
    return units_per_use > 0 ? (uint64_t)(int64_t)(use * units_per_use + (1 - 0x1p-8)) : 0;
}

static inline void queue_flow(struct sy_flow_net *net, uint32_t id) {
    if (!net->flows[id].queued) {
        net->flows[id].queued = true;
        net->dirty_flows[net->dirty_flow_count++] = id;
    }
}

/* Enters the flow's demand at its resources; what it now shares, solve finds from the flow. */
static void admit(struct sy_flow_net *net, uint32_t id, double bound) {
    struct flow *flow = &net->flows[id];
    struct node *nodes = &net->nodes[(size_t)id * SY_FLOW_RESOURCES];
    SY_ASSERT(bound >= 0);
    for (uint32_t k = 0; k < flow->count; k++) {
        double alone = net->resources[nodes[k].resource].capacity / nodes[k].coefficient;
        bound = alone < bound ? alone : bound;
    }
    flow->bound = bound;
    flow->level = bound / flow->weight;
    for (uint32_t k = 0; k < flow->count; k++) {
        struct resource *resource = &net->resources[nodes[k].resource];
        nodes[k].units = to_units(nodes[k].coefficient * bound, resource->units_per_use);
        resource->units += nodes[k].units;
    }
    queue_flow(net, id);
}

/* Takes it out again; those who shared a tight resource with it will be looked at. */
static void withdraw(struct sy_flow_net *net, uint32_t id) {
    const struct node *nodes = &net->nodes[(size_t)id * SY_FLOW_RESOURCES];
    for (uint32_t k = 0; k < net->flows[id].count; k++) {
        struct resource *resource = &net->resources[nodes[k].resource];
        if (tight(resource) && !resource->dirty) {
            resource->dirty = true;
            net->dirty_resources[net->dirty_resource_count++] = nodes[k].resource;
        }
        resource->units -= nodes[k].units;
    }
}

/* Appends node at to the ring of its resource. */
static inline void link_node(struct sy_flow_net *net, uint32_t at) {
    struct node *node = &net->nodes[at];
    uint32_t head = net->first_head + node->resource;
    node->next = head;
    node->prev = net->nodes[head].prev;
    net->nodes[node->prev].next = at;
    net->nodes[head].prev = at;
}

/* The node among count that uses the resource already, or count. */
static inline uint32_t find_use(const struct node *nodes, uint32_t count, uint32_t resource) {
    uint32_t k = 0;
    while (k < count && nodes[k].resource != resource) {
        k++;
    }
    return k;
}

void sy_flow_add(struct sy_flow_net *net, uint32_t flow, double bound, double weight,
                 uint32_t resource_count, const uint32_t *resources, const double *coefficients) {
    SY_ASSERT(flow < net->flow_capacity && resource_count <= SY_FLOW_RESOURCES && weight > 0);
    struct flow *added = &net->flows[flow];
    SY_ASSERT(!added->present);
    uint32_t first = flow * SY_FLOW_RESOURCES;
    struct node *nodes = &net->nodes[first];
    uint32_t count = 0;
    for (uint32_t k = 0; k < resource_count; k++) {
        SY_ASSERT(resources[k] < net->resource_count);
        if (!(coefficients[k] > 0)) {
            continue;
        }
        uint32_t at = find_use(nodes, count, resources[k]);
        if (at < count) {
            nodes[at].coefficient += coefficients[k];
            continue;
        }
        nodes[at].coefficient = coefficients[k];
        nodes[at].resource = resources[k];
        nodes[at].flow = flow;
        link_node(net, first + at);
        count++;
    }
    added->count = count;
    added->weight = weight;
    added->rate = 0;
    added->present = true;
    added->fresh = true;
    admit(net, flow, bound);
}

void sy_flow_remove(struct sy_flow_net *net, uint32_t flow) {
    SY_ASSERT(flow < net->flow_capacity && net->flows[flow].present);
    withdraw(net, flow);
    const struct node *nodes = &net->nodes[(size_t)flow * SY_FLOW_RESOURCES];
    for (uint32_t k = 0; k < net->flows[flow].count; k++) {
        net->nodes[nodes[k].prev].next = nodes[k].next;
        net->nodes[nodes[k].next].prev = nodes[k].prev;
    }
    net->flows[flow].present = false;
    net->flows[flow].rate = 0;
}

void sy_flow_set_bound(struct sy_flow_net *net, uint32_t flow, double bound) {
    SY_ASSERT(flow < net->flow_capacity && net->flows[flow].present);
    withdraw(net, flow);
    admit(net, flow, bound);
}

/* The loops below add to their lists without asking: the entry is written and then counted or not,
 * since a mispredicted branch costs more than the rest of the turn. Hence one spare entry each. */
static inline void set_rate(struct sy_flow_net *net, uint32_t id, double rate) {
    struct flow *flow = &net->flows[id];
    bool differs = flow->fresh | !(fabs(rate - flow->rate) <= SAME * rate);
    flow->rate = differs ? rate : flow->rate;
    flow->fresh = false;
    net->changed[net->changed_count] = id;
    net->changed_count += differs;
}

/* The flow joins the part being filled, unless it is there. Returns how many flows it then has. */
static inline uint32_t join(struct sy_flow_net *net, uint32_t id, uint32_t count) {
    struct flow *flow = &net->flows[id];
    net->part_flows[count] = id;
    count += flow->seen != net->round;
    flow->seen = net->round;
    flow->pending = true;
    return count;
}

/* The tight resources of a flow join. */
static inline uint32_t join_resources(struct sy_flow_net *net, uint32_t id, uint32_t count) {
    const struct node *nodes = &net->nodes[(size_t)id * SY_FLOW_RESOURCES];
    for (uint32_t k = 0; k < net->flows[id].count; k++) {
        struct resource *resource = &net->resources[nodes[k].resource];
        net->part_resources[count] = nodes[k].resource;
        count += tight(resource) & (resource->seen != net->round);
        resource->seen = net->round;
    }
    return count;
}

/* The flows of a tight resource join; what filling needs to know of it is summed on the way. */
static inline uint32_t join_flows(struct sy_flow_net *net, uint32_t id, uint32_t count) {
    struct resource *resource = &net->resources[id];
    uint32_t head = net->first_head + id;
    double demand = 0;
    uint32_t live = 0;
    for (uint32_t at = net->nodes[head].next; at != head; at = net->nodes[at].next) {
        const struct node *node = &net->nodes[at];
        count = join(net, node->flow, count);
        demand += node->coefficient * net->flows[node->flow].weight;
        live++;
    }
    resource->left = resource->capacity;
    resource->demand = demand;
    resource->floor = demand * LOSS;
    resource->live = live;
    return count;
}

/* All flows and resources joined to the flow through tight resources. */
static void gather(struct sy_flow_net *net, uint32_t id) {
    uint32_t flows = 0, resources = 0, resource_count = 0;
    uint32_t flow_count = join(net, id, 0);
    while (flows < flow_count) {
        resource_count = join_resources(net, net->part_flows[flows++], resource_count);
        while (resources < resource_count) {
            flow_count = join_flows(net, net->part_resources[resources++], flow_count);
        }
    }
    net->part_flow_count = flow_count;
    net->part_resource_count = resource_count;
    net->pending_count = flow_count;
}

static void sum_demand(struct sy_flow_net *net, uint32_t id) {
    uint32_t head = net->first_head + id;
    double demand = 0;
    for (uint32_t at = net->nodes[head].next; at != head; at = net->nodes[at].next) {
        const struct flow *flow = &net->flows[net->nodes[at].flow];
        demand += flow->pending ? net->nodes[at].coefficient * flow->weight : 0;
    }
    net->resources[id].demand = demand;
    net->resources[id].floor = demand * LOSS;
}

/* The resource that fills up first, and at which level; drops those that nobody waits for. */
static uint32_t narrowest(struct sy_flow_net *net, double *ret_level) {
    uint32_t best = SY_NONE;
    double lowest = INFINITY;
    for (uint32_t i = 0; i < net->part_resource_count; i++) {
        uint32_t id = net->part_resources[i];
        struct resource *resource = &net->resources[id];
        if (resource->demand < resource->floor || resource->live == 0) {
            if (resource->live == 0) {
                net->part_resources[i--] = net->part_resources[--net->part_resource_count];
                continue;
            }
            sum_demand(net, id);
        }
        double level = (resource->left > 0 ? resource->left : 0) / resource->demand;
        best = level < lowest ? id : best;
        lowest = level < lowest ? level : lowest;
    }
    *ret_level = lowest;
    return best;
}

/* The flow has its final rate: what it takes is no longer there for others. Resources that are not
 * tight are charged too, which is cheaper than asking. */
static inline void charge(struct sy_flow_net *net, uint32_t id, double rate) {
    const struct flow *flow = &net->flows[id];
    const struct node *nodes = &net->nodes[(size_t)id * SY_FLOW_RESOURCES];
    for (uint32_t k = 0; k < flow->count; k++) {
        struct resource *resource = &net->resources[nodes[k].resource];
        resource->left -= nodes[k].coefficient * rate;
        resource->demand -= nodes[k].coefficient * flow->weight;
        resource->live--;
    }
}

/* Flows that reach their bound at or below the level get it. Together: taking one out, at no more
 * than its share, only raises the level at which the others' resources fill up. */
static void fix_bounded(struct sy_flow_net *net, double level) {
    uint32_t kept = 0;
    double lowest = INFINITY;
    for (uint32_t i = 0; i < net->part_flow_count; i++) {
        uint32_t id = net->part_flows[i];
        struct flow *flow = &net->flows[id];
        if (!flow->pending) {
            continue;
        }
        if (flow->level <= level) {
            flow->pending = false;
            net->pending_count--;
            charge(net, id, flow->bound);
            set_rate(net, id, flow->bound);
            continue;
        }
        lowest = flow->level < lowest ? flow->level : lowest;
        net->part_flows[kept++] = id;
    }
    net->part_flow_count = kept;
    net->lowest = lowest;
}

/* The pending flows of a full resource stay at its level. */
static void fix_bottleneck(struct sy_flow_net *net, uint32_t resource, double level) {
    uint32_t head = net->first_head + resource;
    bool last = net->resources[resource].live == net->pending_count;
    for (uint32_t at = net->nodes[head].next; at != head; at = net->nodes[at].next) {
        uint32_t id = net->nodes[at].flow;
        struct flow *flow = &net->flows[id];
        if (!flow->pending) {
            continue;
        }
        flow->pending = false;
        net->pending_count--;
        double rate = level * flow->weight;
        if (!last) {
            charge(net, id, rate);
        }
        set_rate(net, id, rate);
    }
}

/* Raises the common level of rate / weight until each flow meets its bound or a full resource.
 * Each turn fixes a flow or raises lowest above the level, after which the next turn fixes one. */
static void fill(struct sy_flow_net *net) {
    net->lowest = 0;
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

static inline void settle(struct sy_flow_net *net, uint32_t id) {
    if (net->flows[id].seen == net->round) {
        return;
    }
    gather(net, id);
    if (net->part_resource_count == 0) {
        set_rate(net, id, net->flows[id].bound);
    } else {
        fill(net);
    }
}

/* Those who shared the resource with a flow that gave way. Where it is still tight, they all belong
 * to the part of the first. */
static void settle_users(struct sy_flow_net *net, uint32_t id) {
    uint32_t head = net->first_head + id;
    for (uint32_t at = net->nodes[head].next; at != head; at = net->nodes[at].next) {
        settle(net, net->nodes[at].flow);
        if (tight(&net->resources[id])) {
            break;
        }
    }
}

uint32_t sy_flow_solve(struct sy_flow_net *net, const uint32_t **ret_changed) {
    net->round++;
    net->changed_count = 0;
    for (uint32_t i = 0; i < net->dirty_flow_count; i++) {
        uint32_t id = net->dirty_flows[i];
        net->flows[id].queued = false;
        if (net->flows[id].present) {
            settle(net, id);
        }
    }
    for (uint32_t i = 0; i < net->dirty_resource_count; i++) {
        net->resources[net->dirty_resources[i]].dirty = false;
        settle_users(net, net->dirty_resources[i]);
    }
    net->dirty_flow_count = 0;
    net->dirty_resource_count = 0;
    *ret_changed = net->changed;
    return net->changed_count;
}

double sy_flow_rate(const struct sy_flow_net *net, uint32_t flow) {
    return net->flows[flow].rate;
}

double sy_flow_use(const struct sy_flow_net *net, uint32_t resource) {
    uint32_t head = net->first_head + resource;
    double use = 0;
    for (uint32_t at = net->nodes[head].next; at != head; at = net->nodes[at].next) {
        use += net->nodes[at].coefficient * net->flows[net->nodes[at].flow].rate;
    }
    return use;
}
