/* SPDX-License-Identifier: Apache-2.0
 *
 * Who gets what of shared resources: max-min fair shares of flows that cross several of them,
 * beside what others take.
 *
 * In: flows with their demands, what others want of each resource. Out: the level of each resource
 * (what a flow without limit gets), what our flows want of it given the other resources they cross,
 * and what they take. Each resource is solved exactly given what flows can get elsewhere, and a few
 * rounds settle that. Others yield as so many flows like ours. Nothing is allocated after create.
 */
#include "belief/shares.h"
#include <math.h>
#include <string.h>

#define ROUNDS  4
#define SETTLED 0.01
#define TYPICAL 0.25 /* demand of a flow, over the capacity, until ours are known */
#define GAIN    0.02 /* of what is typical, per solution */

struct sy_shares *sy_shares_create(struct sy_arena *arena, const struct sy_machine *machine,
                                   uint32_t flow_capacity) {
    struct sy_shares *s = sy_arena_alloc(arena, 1, sizeof *s);
    size_t resources = machine->resource_count + 1u;
    if (!s) {
        return NULL;
    }
    s->machine = machine;
    s->flow_capacity = flow_capacity;
    s->flows = sy_arena_alloc(arena, flow_capacity + 1u, sizeof *s->flows);
    s->users = sy_arena_alloc(arena, resources * (flow_capacity + 1u), sizeof *s->users);
    s->wants = sy_arena_alloc(arena, resources * (flow_capacity + 1u), sizeof *s->wants);
    s->user_count = sy_arena_alloc(arena, resources, sizeof *s->user_count);
    s->level = sy_arena_alloc(arena, resources, sizeof *s->level);
    s->typical = sy_arena_alloc(arena, resources, sizeof *s->typical);
    if (!s->flows || !s->users || !s->wants || !s->user_count || !s->level || !s->typical) {
        return NULL;
    }
    sy_shares_reset(s);
    return s;
}

void sy_shares_reset(struct sy_shares *s) {
    sy_shares_clear(s);
    for (uint32_t r = 0; r < s->machine->resource_count; r++) {
        s->typical[r] = TYPICAL * s->machine->resources[r].bytes_per_s;
    }
}

void sy_shares_clear(struct sy_shares *s) {
    s->flow_count = 0;
    memset(s->user_count, 0, s->machine->resource_count * sizeof *s->user_count);
}

void sy_shares_add(struct sy_shares *s, struct sy_draw draw) {
    if (s->flow_count == s->flow_capacity) {
        return;
    }
    struct flow *flow = &s->flows[s->flow_count];
    flow->count = draw.count < SY_DRAW_MAX ? draw.count : SY_DRAW_MAX;
    for (uint32_t i = 0; i < flow->count; i++) {
        uint32_t r = draw.resources[i];
        flow->resources[i] = r;
        flow->bytes_per_s[i] = draw.bytes_per_s[i];
        s->users[(size_t)r * s->flow_capacity + s->user_count[r]++] = s->flow_count;
    }
    s->flow_count++;
}

double sy_shares_level(const struct sy_shares *s, uint32_t r, double others, bool newcomer) {
    uint32_t count = s->user_count[r];
    const double *wants = &s->wants[(size_t)r * s->flow_capacity];
    double rest = s->machine->resources[r].bytes_per_s;
    double weight = sy_most(1, others / s->typical[r]), each = others / weight;
    double share = count + newcomer + (others > 0 ? weight : 0);
    for (uint32_t i = 0; i <= count; i++) {
        double next = i < count ? wants[i] : INFINITY;
        if (others > 0 && each <= next && each * share <= rest) {
            rest -= others;
            share -= weight;
            others = 0;
        }
        if (i == count || next * share > rest) {
            break;
        }
        rest -= next;
        share -= 1;
    }
    return share > 1e-9 ? rest / share : INFINITY;
}

/* What a flow wants of one resource, given what it can get of the others. */
static double want_of(const struct sy_shares *s, const struct flow *flow, uint32_t resource) {
    double speed = 1, demand = 0;
    for (uint32_t i = 0; i < flow->count; i++) {
        uint32_t r = flow->resources[i];
        if (r == resource) {
            demand = flow->bytes_per_s[i];
        } else {
            speed = sy_least(speed, s->level[r] / flow->bytes_per_s[i]);
        }
    }
    return demand * speed;
}

static void gather(struct sy_shares *s, uint32_t r) {
    const uint32_t *users = &s->users[(size_t)r * s->flow_capacity];
    double *wants = &s->wants[(size_t)r * s->flow_capacity];
    for (uint32_t i = 0; i < s->user_count[r]; i++) {
        double want = want_of(s, &s->flows[users[i]], r);
        uint32_t at = i;
        for (; at && wants[at - 1] > want; at--) {
            wants[at] = wants[at - 1];
        }
        wants[at] = want;
    }
}

void sy_shares_solve(struct sy_shares *s, const double *others) {
    uint32_t resources = s->machine->resource_count;
    for (uint32_t r = 0; r < resources; r++) {
        s->level[r] = INFINITY;
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        bool moved = false;
        for (uint32_t r = 0; r < resources; r++) {
            if (!s->user_count[r]) {
                continue;
            }
            gather(s, r);
            if (round == 0) { /* what was gathered first is what they want where nothing is full */
                s->typical[r] += GAIN * (sy_shares_wanted(s, r) / s->user_count[r] - s->typical[r]);
            }
            double level = sy_shares_level(s, r, others[r], false), before = s->level[r];
            moved = moved || !(fabs(level - before) <= SETTLED * level || level == before);
            s->level[r] = level;
        }
        if (!moved) {
            break;
        }
    }
}

void sy_shares_taught(const struct sy_shares *s, uint32_t r, double demand, double log_ratio,
                      double scale, double alone_ns, struct sy_load *load) {
    double likelihood[SY_LOAD_LEVELS];
    double trust = sy_load_lasting(load, alone_ns * exp(log_ratio));
    for (uint32_t k = 0; k < SY_LOAD_LEVELS; k++) {
        double others = k * load->capacity / (SY_LOAD_LEVELS - 1);
        double slow = fmax(1, demand / sy_shares_level(s, r, others, false));
        double off = (log_ratio - log(slow)) / scale;
        likelihood[k] = pow(1 + off * off / 4, -2.5 * trust);
    }
    sy_load_weigh(load, likelihood);
}

double sy_shares_wanted(const struct sy_shares *s, uint32_t r) {
    double sum = 0;
    for (uint32_t i = 0; i < s->user_count[r]; i++) {
        sum += s->wants[(size_t)r * s->flow_capacity + i];
    }
    return sum;
}

double sy_shares_taken(const struct sy_shares *s, uint32_t r) {
    double sum = 0;
    for (uint32_t i = 0; i < s->user_count[r]; i++) {
        sum += sy_least(s->wants[(size_t)r * s->flow_capacity + i], s->level[r]);
    }
    return sum;
}
