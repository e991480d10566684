/* SPDX-License-Identifier: Apache-2.0
 *
 * routes: which shared resources does a copy cross, and how fast is it alone.
 *
 * In: memories, hubs and one-way links. Out: a route for every ordered pair of memories: the path
 * that is shortest for a copy of 1 MiB (sum over links of latency + bytes / bandwidth; ties: fewer
 * links, then the link added first). Invariant: a path passes through hubs and host memories only,
 * since accelerators forward nothing; passing a host memory does not touch its DRAM, ending there
 * does.
 */
#include "topology/builder.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define NODE_MAX   (SY_MEMORY_MAX + SY_HUB_MAX)
#define COPY_BYTES 1048576.0

struct paths {
    const struct sy_builder *builder;
    uint32_t *order;              /* links sorted by their origin */
    uint32_t start[NODE_MAX + 1]; /* first of a node in order */
    double cost_ns[NODE_MAX];     /* from the present source */
    uint32_t hops[NODE_MAX];
    uint32_t via[NODE_MAX]; /* link by which a node was reached; SY_NONE: source */
    bool settled[NODE_MAX];
};

static int sort_links(struct paths *paths) {
    const struct sy_builder *builder = paths->builder;
    paths->order = malloc((builder->link_count + 1) * sizeof *paths->order);
    if (!paths->order) {
        return -ENOMEM;
    }
    uint32_t place[NODE_MAX + 1] = {0};
    for (uint32_t i = 0; i < builder->link_count; i++) {
        place[builder->links[i].from + 1]++;
    }
    for (uint32_t n = 0; n < NODE_MAX; n++) {
        place[n + 1] += place[n];
        paths->start[n + 1] = place[n + 1];
    }
    for (uint32_t i = 0; i < builder->link_count; i++) {
        paths->order[place[builder->links[i].from]++] = i;
    }
    return 0;
}

static uint32_t nearest_unsettled(const struct paths *paths) {
    uint32_t best = SY_NONE;
    for (uint32_t n = 0; n < NODE_MAX; n++) {
        if (!paths->settled[n] && isfinite(paths->cost_ns[n]) &&
            (best == SY_NONE || paths->cost_ns[n] < paths->cost_ns[best])) {
            best = n;
        }
    }
    return best;
}

static bool forwards(const struct sy_builder *builder, uint32_t node) {
    return node >= SY_MEMORY_MAX || builder->memories[node].host;
}

static void relax(struct paths *paths, uint32_t node) {
    for (uint32_t k = paths->start[node]; k < paths->start[node + 1]; k++) {
        const struct sy_link *link = &paths->builder->links[paths->order[k]];
        double cost_ns =
            paths->cost_ns[node] + link->latency_ns + COPY_BYTES / link->bytes_per_s * 1e9;
        uint32_t hops = paths->hops[node] + 1;
        uint32_t to = link->to;
        if (cost_ns < paths->cost_ns[to] ||
            (cost_ns == paths->cost_ns[to] && hops < paths->hops[to])) {
            paths->cost_ns[to] = cost_ns;
            paths->hops[to] = hops;
            paths->via[to] = paths->order[k];
        }
    }
}

static void search(struct paths *paths, uint32_t source) {
    for (uint32_t n = 0; n < NODE_MAX; n++) {
        paths->cost_ns[n] = INFINITY;
        paths->via[n] = SY_NONE;
        paths->settled[n] = false;
    }
    paths->cost_ns[source] = 0;
    paths->hops[source] = 0;
    uint32_t node;
    while ((node = nearest_unsettled(paths)) != SY_NONE) {
        paths->settled[node] = true;
        if (node == source || forwards(paths->builder, node)) {
            relax(paths, node);
        }
    }
}

static bool cross(struct sy_route *route, uint32_t resource) {
    for (uint32_t i = 0; i < route->resource_count; i++) {
        if (route->resources[i] == resource) {
            return true;
        }
    }
    if (resource == SY_NONE) {
        return true;
    }
    if (route->resource_count == SY_ROUTE_MAX) {
        return false;
    }
    route->resources[route->resource_count++] = resource;
    return true;
}

/* DRAM counts at a host end only: an accelerator's own memory is faster than any link to it. */
static bool cross_end(const struct sy_builder *builder, struct sy_route *route, uint32_t memory) {
    const struct sy_memory *end = &builder->memories[memory];
    if (!end->host || end->resource == SY_NONE) {
        return true;
    }
    route->bytes_per_s = fmin(route->bytes_per_s, builder->resources[end->resource].bytes_per_s);
    return cross(route, end->resource);
}

/* Follows the links from the source towards node. */
static bool cross_path(const struct paths *paths, struct sy_route *route, uint32_t node) {
    uint32_t path[NODE_MAX], length = 0;
    while (paths->via[node] != SY_NONE) {
        path[length++] = paths->via[node];
        node = paths->builder->links[paths->via[node]].from;
    }
    while (length > 0) {
        const struct sy_link *link = &paths->builder->links[path[--length]];
        route->latency_ns += link->latency_ns;
        route->bytes_per_s = fmin(route->bytes_per_s, link->bytes_per_s);
        if (!cross(route, link->resource)) {
            return false;
        }
    }
    return true;
}

static int fail_pair(const struct sy_builder *builder, uint32_t from, uint32_t to, const char *what,
                     struct sy_error *error) {
    return sy_fail(error, -EINVAL, "from memory \"%.64s\" to memory \"%.64s\": %s",
                   builder->memories[from].name, builder->memories[to].name, what);
}

static int make_route(const struct paths *paths, uint32_t from, uint32_t to, struct sy_route *route,
                      struct sy_error *error) {
    const struct sy_builder *builder = paths->builder;
    *route = (struct sy_route){.bytes_per_s = INFINITY};
    if (from == to) {
        return 0;
    }
    const struct sy_given_route *given =
        builder->given ? &builder->given[from * SY_MEMORY_MAX + to] : NULL;
    if (given && given->given == SY_GIVEN_ROUTE) {
        *route = given->route;
        return 0;
    }
    if (paths->via[to] == SY_NONE) {
        fail_pair(builder, from, to, "there is no route", error);
        return sy_hint(error, "add links, or state the route");
    }
    if (!cross_end(builder, route, from) || !cross_path(paths, route, to) ||
        !cross_end(builder, route, to)) {
        return fail_pair(builder, from, to, "a copy crosses more than 6 resources", error);
    }
    if (given && given->given == SY_GIVEN_SPEED) {
        route->latency_ns = given->route.latency_ns;
        route->bytes_per_s = given->route.bytes_per_s;
    }
    return 0;
}

int sy_builder_route(const struct sy_builder *builder, struct sy_route *routes,
                     struct sy_error *error) {
    struct paths *paths = calloc(1, sizeof *paths);
    if (!paths) {
        return sy_out_of_memory(error);
    }
    paths->builder = builder;
    int code = sort_links(paths);
    if (code) {
        sy_fail(error, code, "out of memory");
    }
    for (uint32_t from = 0; !code && from < builder->memory_count; from++) {
        search(paths, from);
        for (uint32_t to = 0; !code && to < builder->memory_count; to++) {
            code = make_route(paths, from, to, &routes[from * builder->memory_count + to], error);
        }
    }
    free(paths->order);
    free(paths);
    return code;
}
