/* SPDX-License-Identifier: Apache-2.0
 *
 * How fast the links are now. StarPU measures its buses once, on an idle machine; other processes,
 * and our own tasks, then share them. Where a device that had nothing else to do waited for the
 * inputs of a task, that wait against what the measured bus promised is an observation of the link
 * it crossed; the routes that policies see are corrected by its robust running middle.
 */
#include "engine/starpu/shared.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORTH_NS 20e3 /* shorter waits tell of latencies only */
#define SLOWEST  100. /* a link is taken to be at most so much slower than measured, */
#define FASTEST  .5   /* and at least so */

struct links {
    struct sy_route *routes; /* as measured */
    struct sy_drift *drift;  /* [memory * 2 + direction]: 0 into it from the host, 1 out of it */
};

int links_open(void) {
    struct shared *s = &sy_shared;
    uint32_t memories = s->machine->memory_count;
    size_t count = (size_t)memories * memories;
    struct links *l = calloc(1, sizeof *l);
    if (!l || !(l->routes = calloc(count, sizeof *l->routes)) ||
        !(l->drift = calloc(2 * (size_t)memories, sizeof *l->drift))) {
        free(l ? l->routes : NULL);
        free(l);
        return -1;
    }
    memcpy(l->routes, s->machine->routes, count * sizeof *l->routes);
    for (uint32_t i = 0; i < 2 * memories; i++) {
        sy_drift_init(&l->drift[i]);
    }
    s->links = l;
    return 0;
}

void links_close(void) {
    struct links *l = sy_shared.links;
    if (l) {
        free(l->routes);
        free(l->drift);
        free(l);
    }
    sy_shared.links = NULL;
}

static double factor(const struct links *l, uint32_t from, uint32_t to) {
    const struct sy_memory *memories = sy_shared.machine->memories;
    double out = memories[from].host ? 1 : sy_drift_ratio(&l->drift[2 * from + 1]);
    double in = memories[to].host ? 1 : sy_drift_ratio(&l->drift[2 * to]);
    return fmin(SLOWEST, fmax(FASTEST, fmax(out, in)));
}

/* The machine is ours: those who look at it through a view may not write, we may. */
static void correct_routes(const struct links *l) {
    const struct sy_machine *m = sy_shared.machine;
    struct sy_route *routes = (struct sy_route *)(uintptr_t)m->routes;
    for (uint32_t from = 0; from < m->memory_count; from++) {
        for (uint32_t to = 0; to < m->memory_count; to++) {
            size_t at = (size_t)from * m->memory_count + to;
            routes[at].bytes_per_s = l->routes[at].bytes_per_s / factor(l, from, to);
        }
    }
}

/* What the measured buses promise for the inputs that are not there; the link most of it crosses.
 */
void links_ask(struct node *node, uint32_t worker, double now_ns) {
    const struct links *l = sy_shared.links;
    const struct sy_machine *m = sy_shared.machine;
    const struct sy_view *v = sy_live_view(node->context->live);
    uint32_t to = m->devices[worker].memory;
    node->asked_ns = now_ns;
    node->promised_ns = 0;
    for (uint32_t a = v->access_start[node->index]; a < v->access_start[node->index + 1]; a++) {
        uint32_t datum = v->access[a].datum;
        uint64_t valid = v->data_valid[datum];
        if (!(v->access[a].mode & SY_READ) || !valid || valid >> to & 1) {
            continue;
        }
        uint32_t from = (uint32_t)__builtin_ctzll(valid);
        const struct sy_route *route = &l->routes[(size_t)from * m->memory_count + to];
        node->promised_ns += route->latency_ns + v->data_bytes[datum] / route->bytes_per_s * 1e9;
        node->link = m->memories[to].host ? 2 * from + 1 : 2 * to;
    }
}

void links_arrived(struct node *node, double now_ns, double last_end_ns) {
    struct links *l = sy_shared.links;
    double waited_ns = now_ns - node->asked_ns;
    if (node->promised_ns > WORTH_NS && last_end_ns <= node->asked_ns) {
        sy_drift_observe(&l->drift[node->link], waited_ns / node->promised_ns);
        correct_routes(l);
    }
    node->promised_ns = 0;
}
