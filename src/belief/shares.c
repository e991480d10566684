/* SPDX-License-Identifier: Apache-2.0
 *
 * Who gets what of shared resources: max-min fair shares of draws that cross several of them,
 * beside what others take.
 *
 * In: draws with their demands, what others want of each resource. Out: the level of each resource
 * (what a draw without limit gets), what our draws want of it given the other resources they cross,
 * and what they take. Each resource is solved exactly given what draws can get elsewhere, and a few
 * rounds settle that. Others yield like several draws of our size: how many is a guess that the
 * durations of our tasks correct. Nothing is allocated after create.
 */
#include "belief/shares.h"
#include <math.h>
#include <string.h>

#define ROUNDS  4
#define SETTLED 0.01
#define TYPICAL 0.25  /* demand of a draw, over the capacity, until ours are known */
#define GAIN    0.02  /* of what is typical, per solution */
#define MEMORY  100.0 /* tasks */
#define FLOOR   1e-2  /* of squared logarithms: durations scatter for other reasons, too */
#define TELLING 0.02  /* of logarithms: candidates that say the same are not told apart */

/* Candidates for how strongly others hold on to a resource, and what each has for it beforehand. */
static const double strengths[SY_STRENGTHS] = {0.0625, 0.25, 1, 4, 16};
static const double prior[SY_STRENGTHS] = {0.05, 0.15, 0.6, 0.15, 0.05};

struct sy_shares *sy_shares_create(struct sy_arena *arena, const struct sy_machine *machine,
                                   uint32_t draw_capacity) {
    struct sy_shares *s = sy_arena_alloc(arena, 1, sizeof *s);
    size_t resources = machine->resource_count + 1u;
    if (!s) {
        return NULL;
    }
    s->machine = machine;
    s->draw_capacity = draw_capacity;
    s->draws = sy_arena_alloc(arena, draw_capacity + 1u, sizeof *s->draws);
    s->users = sy_arena_alloc(arena, resources * (draw_capacity + 1u), sizeof *s->users);
    s->wants = sy_arena_alloc(arena, resources * (draw_capacity + 1u), sizeof *s->wants);
    s->user_count = sy_arena_alloc(arena, resources, sizeof *s->user_count);
    s->level = sy_arena_alloc(arena, resources, sizeof *s->level);
    s->typical = sy_arena_alloc(arena, resources, sizeof *s->typical);
    s->strengths = sy_arena_alloc(arena, resources, sizeof *s->strengths);
    if (!s->draws || !s->users || !s->wants || !s->user_count || !s->level || !s->typical ||
        !s->strengths) {
        return NULL;
    }
    sy_shares_reset(s);
    return s;
}

void sy_shares_reset(struct sy_shares *s) {
    sy_shares_clear(s);
    for (uint32_t r = 0; r < s->machine->resource_count; r++) {
        s->typical[r] = TYPICAL * s->machine->resources[r].bytes_per_s;
        s->strengths[r] = (struct sy_strength){.value = 1};
    }
}

void sy_shares_clear(struct sy_shares *s) {
    s->draw_count = 0;
    memset(s->user_count, 0, s->machine->resource_count * sizeof *s->user_count);
}

void sy_shares_add(struct sy_shares *s, struct sy_draw draw) {
    if (s->draw_count == s->draw_capacity) {
        return;
    }
    struct sy_share_draw *own = &s->draws[s->draw_count];
    own->count = draw.count < SY_DRAW_MAX ? draw.count : SY_DRAW_MAX;
    for (uint32_t i = 0; i < own->count; i++) {
        uint32_t r = draw.resources[i];
        own->resources[i] = r;
        own->bytes_per_s[i] = draw.bytes_per_s[i];
        s->users[(size_t)r * s->draw_capacity + s->user_count[r]++] = s->draw_count;
    }
    s->draw_count++;
}

static double level_of(const struct sy_shares *s, uint32_t r, double others, bool newcomer,
                       double strength) {
    uint32_t count = s->user_count[r];
    const double *wants = &s->wants[(size_t)r * s->draw_capacity];
    double rest = s->machine->resources[r].bytes_per_s;
    double weight = strength * sy_most(1, others / s->typical[r]), each = others / weight;
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

double sy_shares_level(const struct sy_shares *s, uint32_t r, double others, bool newcomer) {
    return level_of(s, r, others, newcomer, s->strengths[r].value);
}

/* --- how strongly others hold on ----------------------------------------------------------------
 */
void sy_shares_levels(const struct sy_shares *s, uint32_t r, double others, bool newcomer,
                      double ret_level[SY_STRENGTHS]) {
    for (uint32_t i = 0; i < SY_STRENGTHS; i++) {
        ret_level[i] = level_of(s, r, others, newcomer, strengths[i]);
    }
}

void sy_shares_learn(struct sy_shares *s, uint32_t r, double log_ratio,
                     const double expected[SY_STRENGTHS]) {
    struct sy_strength *l = &s->strengths[r];
    if (expected[SY_STRENGTHS - 1] - expected[0] < TELLING) {
        return;
    }
    double gain = 1 / sy_least(l->count + 1, MEMORY), least = INFINITY, mean = 0, all = 0;
    l->count = sy_least(l->count + 1, MEMORY);
    for (uint32_t i = 0; i < SY_STRENGTHS; i++) {
        double off = log_ratio - expected[i];
        l->error[i] += gain * (sy_least(off * off, 1) - l->error[i]);
        least = sy_least(least, l->error[i]);
    }
    for (uint32_t i = 0; i < SY_STRENGTHS; i++) {
        double weight = prior[i] * exp(-l->count * (l->error[i] - least) / (2 * (least + FLOOR)));
        mean += weight * log(strengths[i]);
        all += weight;
    }
    l->value = exp(mean / all);
}

/* --- solving ------------------------------------------------------------------------------------
 */
/* What a draw wants of one resource, given what it can get of the others. */
static double want_of(const struct sy_shares *s, const struct sy_share_draw *draw,
                      uint32_t resource) {
    double speed = 1, demand = 0;
    for (uint32_t i = 0; i < draw->count; i++) {
        uint32_t r = draw->resources[i];
        if (r == resource) {
            demand = draw->bytes_per_s[i];
        } else {
            speed = sy_least(speed, s->level[r] / draw->bytes_per_s[i]);
        }
    }
    return demand * speed;
}

static void gather(struct sy_shares *s, uint32_t r) {
    const uint32_t *users = &s->users[(size_t)r * s->draw_capacity];
    double *wants = &s->wants[(size_t)r * s->draw_capacity];
    for (uint32_t i = 0; i < s->user_count[r]; i++) {
        double want = want_of(s, &s->draws[users[i]], r);
        uint32_t at = i;
        for (; at && wants[at - 1] > want; at--) {
            wants[at] = wants[at - 1];
        }
        wants[at] = want;
    }
}

/* What our draws would take of a resource if only the others they cross held them back. */
static double wanted(const struct sy_shares *s, uint32_t r) {
    double sum = 0;
    for (uint32_t i = 0; i < s->user_count[r]; i++) {
        sum += s->wants[(size_t)r * s->draw_capacity + i];
    }
    return sum;
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
                s->typical[r] += GAIN * (wanted(s, r) / s->user_count[r] - s->typical[r]);
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

double sy_shares_taken(const struct sy_shares *s, uint32_t r) {
    double sum = 0;
    for (uint32_t i = 0; i < s->user_count[r]; i++) {
        sum += sy_least(s->wants[(size_t)r * s->draw_capacity + i], s->level[r]);
    }
    return sum;
}
