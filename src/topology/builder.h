/* SPDX-License-Identifier: Apache-2.0
 *
 * builder: the inside of a machine under construction, shared by the files that finish it.
 */
#ifndef SY_TOPOLOGY_BUILDER_H
#define SY_TOPOLOGY_BUILDER_H

#include "topology/topology.h"

#define SY_RESOURCE_MAX 16384
#define SY_LINK_MAX     16384

/* What a reader said about one ordered pair of memories. */
enum sy_given { SY_GIVEN_NOTHING, SY_GIVEN_SPEED, SY_GIVEN_ROUTE };

struct sy_given_route {
    enum sy_given given;
    struct sy_route route;
};

struct sy_builder {
    struct sy_arena *arena; /* becomes the machine's */
    const char *name;
    int failure; /* negative errno of the first failed add */
    const char *failure_text;
    struct sy_resource *resources;
    struct sy_memory *memories;
    struct sy_board *boards;
    struct sy_device *devices;
    struct sy_link *links;
    struct sy_given_route *given; /* [from * SY_MEMORY_MAX + to]; NULL: none */
    uint32_t resource_count, memory_count, board_count, device_count, link_count, hub_count;
    uint32_t resource_capacity, memory_capacity, board_capacity, device_capacity, link_capacity;
};

SY_MUST_CHECK int sy_builder_validate(const struct sy_builder *builder, struct sy_error *error);
/* Fills routes[memory_count * memory_count]. */
SY_MUST_CHECK int sy_builder_route(const struct sy_builder *builder, struct sy_route *routes,
                                   struct sy_error *error);

#endif
