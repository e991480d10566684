/* SPDX-License-Identifier: Apache-2.0
 *
 * parts: the state of struct sy_belief, private to this room.
 *
 * A part is one filter with its model: of a core, a socket, a GPU, a board, or of what is the
 * machine's alone. A variable is measured by its members: counters that count the same thing in
 * places that are one for the model (the threads of a core, the channels of a socket); their values
 * add up. Parts are joined: a variable of a socket is told, as if it were read, the sum of what its
 * cores believe. Invariant: everything is allocated in create.
 */
#ifndef SY_BELIEF_PARTS_H
#define SY_BELIEF_PARTS_H

#include "belief/build.h"

struct sy_channel {        /* of a counter */
    uint32_t part;         /* SY_NONE: nobody listens */
    uint32_t variable;     /* of that part's model; SY_NONE */
    double scale;          /* from its unit to the variable's */
    uint32_t silent_count; /* updates since its last sample */
};

struct sy_part {
    enum sy_scope scope;
    uint32_t index;
    struct sy_model *model;
    struct sy_filter *filter;
    struct sy_binding roles[SY_ROLE_COUNT];
    uint32_t pmu_count; /* the model numbers its pmus from 0; these are the global ones */
    uint32_t *pmus, *slots;
    uint32_t *chosen; /* room for sy_filter_choose */
    /* per variable */
    uint32_t *member_first, *member_count;
    bool *informed; /* a counter or a join speaks of it */
    double *sum, *variance;
    uint32_t *seen;
    struct sy_observation *observations;
    uint32_t observation_count;
};

/* part.variable is told the sum over sources. */
struct sy_join {
    uint32_t part, variable;
    double factor; /* units of the sources in one unit of it */
    uint32_t first, count;
};
struct sy_source {
    uint32_t part, variable;
    double factor;
};

#define SY_WITNESSES_MAX 12
/* Where a utilisation comes from. */
struct sy_shown {
    uint32_t part, variable; /* SY_NONE: a prior that nothing changes */
    double factor;           /* units of the utilisation in one of the variable */
    uint32_t witness_count;  /* variables whose readings speak of it */
    uint32_t witnesses[SY_WITNESSES_MAX];
};

struct sy_thread {
    uint32_t os_index;
    uint32_t device; /* SY_NONE: a processor that is not ours */
    uint32_t core;
    uint32_t busy; /* variable of its core's part */
};

/* Where things of the machine stand. The first three are given. */
struct sy_layout {
    const struct sy_machine *machine;
    const struct sy_counter *counters;
    uint32_t counter_count;
    struct sy_thread *threads;
    uint32_t thread_count;
    uint32_t core_count, package_count, gpu_count, board_count;
    uint32_t *core_package;
    uint32_t *host_package;       /* per memory; SY_NONE: no host */
    uint32_t *accelerator_memory; /* GPUs, then boards; SY_NONE: not on the machine */
    uint32_t *resource_package;
};

struct sy_belief {
    struct sy_arena *arena;
    const struct sy_machine *machine;
    const struct sy_listing *listing;
    const struct sy_counter *counters;
    const struct sy_pmu *pmus;
    uint32_t counter_count, pmu_count;
    struct sy_layout layout;
    struct sy_part *parts; /* cores, GPUs, boards, packages, the machine */
    uint32_t part_count, first_gpu, first_board, first_package, machine_part;
    struct sy_channel *channels;
    uint32_t *members; /* counters, by part and variable */
    struct sy_join *joins;
    struct sy_source *sources;
    uint32_t join_count, source_count;
    struct sy_binding *resources; /* per resource: variable in its package's part, factor */
    struct sy_utilisation *utilisations;
    struct sy_shown *shown;
    uint32_t utilisation_count;
    uint32_t *pmu_used;
    double now_ns;
    bool started;
    struct sy_found_list core_found, package_found;
    const char *core_unit; /* that core_found is of */
};

/* parts_layout.c. 0 or -ENOMEM. */
SY_MUST_CHECK int sy_layout_make(struct sy_layout *layout, struct sy_arena *arena);
/* The thread of a processor's number; SY_NONE. */
uint32_t sy_layout_thread(const struct sy_layout *layout, uint32_t os_index);
/* The resource that a counter is named after; SY_NONE. */
uint32_t sy_layout_resource(const struct sy_machine *machine, const char *event);
/* Resource next to an accelerator's memory on the way to (down) or from it; SY_NONE. */
uint32_t sy_layout_link(const struct sy_machine *machine, uint32_t memory, bool down);

/* parts_model.c: models and filters of all parts. */
SY_MUST_CHECK int sy_parts_make(struct sy_belief *belief, struct sy_error *error);
/* parts_show.c: what will be shown, and what speaks of it. */
SY_MUST_CHECK int sy_parts_show(struct sy_belief *belief);
void sy_parts_refresh(struct sy_belief *belief);

#endif
