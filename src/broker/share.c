/* SPDX-License-Identifier: Apache-2.0
 *
 * What tenants have used, and what they may claim: start-time fair queueing.
 *
 * In: device time that the broker's own clock saw. Out: who comes first. Each tenant has an account
 * per device, which grows with its time over its weight; the least grown one is next. Cores are
 * alike, so they have one account together, and whole cores stay where they are as long as nobody
 * has more than his share: only what is left over goes round.
 */
#include "broker/arbiter.h"
#include <math.h>

#define LITTLE 1e-9 /* of a core */

static double *used_of(const struct sy_arbiter *a, const struct arbiter_device *d,
                       uint32_t tenant) {
    return &a->accounts[d->account].used[tenant];
}

static bool works(const struct sy_arbiter *a, struct arbiter_member m, uint64_t number) {
    const struct sy_lease_place *place = &a->clients[m.client].desk->places[m.seat];
    return atomic_load_explicit(&place->hold, memory_order_relaxed) == number ||
           atomic_load_explicit(&place->want, memory_order_relaxed) == 1;
}

static void charge(struct sy_arbiter *a, struct arbiter_device *d, struct arbiter_member m,
                   double ns) {
    struct arbiter_client *c = &a->clients[m.client];
    struct arbiter_tenant *t = &a->tenants[c->tenant];
    t->used_ns += ns;
    c->posts[m.seat].used_ns += ns;
    *used_of(a, d, c->tenant) += ns / t->weight;
}

void arbiter_count(struct sy_arbiter *a, struct arbiter_device *d, uint64_t now_ns) {
    if (d->owner.client != SY_NONE) {
        charge(a, d, d->owner, d->idle ? 0 : (double)(now_ns - d->counted_ns));
        d->idle = !works(a, d->owner, d->number);
    }
    d->counted_ns = now_ns;
    for (uint32_t i = 0; i < d->member_count; i++) {
        struct arbiter_client *c = &a->clients[d->members[i].client];
        struct arbiter_post *post = &c->posts[d->members[i].seat];
        const struct sy_lease_place *place = &c->desk->places[d->members[i].seat];
        if (post->overdue) {
            charge(a, d, d->members[i], (double)(now_ns - post->counted_ns));
            post->counted_ns = now_ns;
            post->overdue = atomic_load(&place->hold) == post->overdue ? post->overdue : 0;
        }
    }
}

/* --- cores -------------------------------------------------------------------------------------
 */
static bool is_active(const struct arbiter_tenant *t) {
    return t->cores_held || t->cores_wanted;
}

/* Cores beyond its share; below 0: it may claim some. */
static double excess(const struct sy_arbiter *a, uint32_t tenant) {
    double sum = 0;
    for (uint32_t t = 0; t < a->tenant_count; t++) {
        sum += is_active(&a->tenants[t]) ? a->tenants[t].weight : 0;
    }
    const struct arbiter_tenant *t = &a->tenants[tenant];
    return t->cores_held - (sum > 0 ? a->core_count * t->weight / sum : 0);
}

uint32_t arbiter_missing_cores(const struct sy_arbiter *a) {
    uint32_t count = 0;
    for (uint32_t t = 0; t < a->tenant_count; t++) {
        double missing = is_active(&a->tenants[t]) ? -excess(a, t) : 0;
        for (uint32_t i = 0; i < a->tenants[t].cores_wanted && missing > LITTLE; i++) {
            missing -= 1;
            count++;
        }
    }
    return count;
}

/* --- who comes first ---------------------------------------------------------------------------
 */
/* The least that anybody has used who is at it now. */
static double present(const struct sy_arbiter *a, const struct arbiter_device *d, uint32_t but) {
    double least = INFINITY;
    for (uint32_t i = 0; i < d->member_count; i++) {
        struct arbiter_member m = d->members[i];
        const struct arbiter_client *c = &a->clients[m.client];
        bool at_it = c->posts[m.seat].wants || d->owner.client == m.client;
        if (at_it && c->tenant != but) {
            least = sy_least(least, *used_of(a, d, c->tenant));
        }
    }
    return least;
}

static bool is_there_already(const struct sy_arbiter *a, const struct arbiter_device *d,
                             uint32_t tenant) {
    bool there = d->core && a->tenants[tenant].cores_held > 0;
    for (uint32_t i = 0; i < d->member_count && !there; i++) {
        const struct arbiter_client *c = &a->clients[d->members[i].client];
        there = c->tenant == tenant &&
                (c->posts[d->members[i].seat].wants || d->owner.client == d->members[i].client);
    }
    return there;
}

bool arbiter_credit(struct sy_arbiter *a, const struct arbiter_device *d, uint32_t tenant) {
    double now = present(a, d, tenant), *used = used_of(a, d, tenant);
    double quantum = (double)(d->core ? a->options.core_quantum_ns : a->options.quantum_ns) /
                     a->tenants[tenant].weight;
    if (now == INFINITY || is_there_already(a, d, tenant)) {
        return false;
    }
    *used = sy_most(*used, now - quantum);
    return *used <= now - quantum / 2;
}

/* Of those that have more than their share, who has used most gives first. */
static bool has_most(const struct sy_arbiter *a, const struct arbiter_device *d, uint32_t tenant) {
    bool most = excess(a, tenant) > LITTLE;
    for (uint32_t t = 0; t < a->tenant_count && most; t++) {
        most = *used_of(a, d, t) <= *used_of(a, d, tenant) || excess(a, t) <= LITTLE;
    }
    return most;
}

bool arbiter_deserves(const struct sy_arbiter *a, const struct arbiter_device *d,
                      struct arbiter_member m) {
    const struct arbiter_client *c = &a->clients[m.client], *o = &a->clients[d->owner.client];
    if (!d->core || !works(a, d->owner, d->number)) {
        return true;
    }
    if (c->tenant == o->tenant) {
        return c->cores_held < o->cores_held;
    }
    return excess(a, c->tenant) < -LITTLE && has_most(a, d, o->tenant);
}

bool arbiter_misses_core(const struct sy_arbiter *a, const struct arbiter_device *d,
                         struct arbiter_member m) {
    return d->core && m.client != SY_NONE && excess(a, a->clients[m.client].tenant) < LITTLE - 1;
}

bool arbiter_before(const struct sy_arbiter *a, const struct arbiter_device *d,
                    struct arbiter_member m, struct arbiter_member n) {
    const struct arbiter_client *c = &a->clients[m.client], *e = &a->clients[n.client];
    if (c->tenant == e->tenant) {
        return c->cores_held != e->cores_held && d->core
                   ? c->cores_held < e->cores_held
                   : c->posts[m.seat].used_ns < e->posts[n.seat].used_ns;
    }
    bool claims = !d->core || excess(a, c->tenant) < -LITTLE;
    bool other_claims = !d->core || excess(a, e->tenant) < -LITTLE;
    return claims != other_claims ? claims : *used_of(a, d, c->tenant) < *used_of(a, d, e->tenant);
}
