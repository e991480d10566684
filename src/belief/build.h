/* SPDX-License-Identifier: Apache-2.0
 *
 * build: from names of counters to a factor graph; private to belief.
 *
 * In: signals (something that is counted, under a name), a listing that says how they are encoded.
 * Out: variables that carry roles, and the relations between them. A role is what a counter means
 * on every machine ("l2_miss"); its binding says which variable carries it and how many units of
 * the role one count is. Invariant: a variable is in the units of its counter, never rescaled, so
 * that relations of the listing hold as listed.
 */
#ifndef SY_BELIEF_BUILD_H
#define SY_BELIEF_BUILD_H

#include "belief/belief.h"

#define SY_CORE_VARIABLES_MAX    60
#define SY_PACKAGE_VARIABLES_MAX 100
#define SY_STEP_NS               1e7 /* that drifts below speak of */

enum sy_role {
    /* of a core */
    SY_ROLE_INST,
    SY_ROLE_CYCLES,
    SY_ROLE_REF_CYCLES,
    SY_ROLE_SLOTS,
    SY_ROLE_UOPS_RETIRED,
    SY_ROLE_UOPS_ISSUED,
    SY_ROLE_FE_STALL,  /* slots */
    SY_ROLE_BE_STALL,  /* slots */
    SY_ROLE_BAD_SPEC,  /* slots */
    SY_ROLE_FE_CYCLES, /* the same in cycles, where the architecture counts those */
    SY_ROLE_BE_CYCLES,
    SY_ROLE_LOADS,
    SY_ROLE_STORES,
    SY_ROLE_BRANCHES,
    SY_ROLE_BR_MISS,
    SY_ROLE_L1D_HIT, /* of loads, as the load roles below: prefetches and stores are not in them */
    SY_ROLE_L1D_ACCESS,
    SY_ROLE_L1D_MISS,
    SY_ROLE_L1I_MISS,
    SY_ROLE_DTLB_MISS,
    SY_ROLE_ITLB_MISS,
    SY_ROLE_L2_REF,
    SY_ROLE_L2_HIT,
    SY_ROLE_L2_MISS,
    SY_ROLE_L2_WB,
    SY_ROLE_L1D_LOAD_MISS,
    SY_ROLE_L2_LOAD_HIT,
    SY_ROLE_L2_LOAD_MISS,
    SY_ROLE_L3_LOAD_HIT,
    SY_ROLE_L3_LOAD_MISS,
    SY_ROLE_DRAM_FILL,
    SY_ROLE_REMOTE_FILL,
    SY_ROLE_FLOPS,
    SY_ROLE_CONTEXT_SWITCHES,
    /* of a core or a socket */
    SY_ROLE_L3_REF,
    SY_ROLE_L3_HIT,
    SY_ROLE_L3_MISS,
    SY_ROLE_CPU_BUSY, /* hardware threads busy: a share each, summed for a core and a socket */
    /* of a socket, bytes per second unless said */
    SY_ROLE_DRAM_READ,
    SY_ROLE_DRAM_WRITE,
    SY_ROLE_DRAM_TOTAL,
    SY_ROLE_XSOCKET,
    SY_ROLE_PCIE_READ,  /* devices read host memory: traffic down */
    SY_ROLE_PCIE_WRITE, /* devices write host memory: traffic up */
    SY_ROLE_UNCORE_CLOCK,
    SY_ROLE_MBM_TOTAL,
    SY_ROLE_MBM_LOCAL,
    SY_ROLE_LLC_USED,
    /* of a socket, a GPU or a board */
    SY_ROLE_POWER,
    SY_ROLE_ENERGY, /* the same from an energy meter */
    SY_ROLE_DRAM_POWER,
    /* of a GPU or a board */
    SY_ROLE_GPU_BUSY,
    SY_ROLE_SM_ACTIVE,
    SY_ROLE_SM_OCCUPANCY,
    SY_ROLE_TENSOR_ACTIVE,
    SY_ROLE_GPU_DRAM,
    SY_ROLE_GPU_PCIE_RX,
    SY_ROLE_GPU_PCIE_TX,
    SY_ROLE_GPU_MEMORY,
    SY_ROLE_BOARD_BUSY,
    /* of the machine */
    SY_ROLE_PSI_CPU,
    SY_ROLE_PSI_MEMORY,
    SY_ROLE_PSI_MEMORY_FULL,
    SY_ROLE_PSI_IO,
    SY_ROLE_PSI_IO_FULL,
    SY_ROLE_MEMORY_USED,
    SY_ROLE_COUNT,
};

/* Where a role may stand, as bits. */
enum sy_role_place {
    SY_AT_CORE = 1,
    SY_AT_PACKAGE = 2,
    SY_AT_GPU = 4,
    SY_AT_BOARD = 8,
    SY_AT_MACHINE = 16,
};

struct sy_role_info {
    const char *name, *unit;
    uint32_t places;
    double start, start_sd; /* rate that one expects unseen, and the deviation of its logarithm */
    double drift_sd, offset;
    const char *about;
};
const struct sy_role_info *sy_role_info(enum sy_role role);

/* A name pattern for a role: words with '*', in order of preference. Rows of one group are summed
 * where any of them is there; group 0: the first word that is there alone. */
struct sy_role_row {
    enum sy_role role;
    uint32_t group;
    double factor; /* units of the role in one count */
    const char *words;
};
const struct sy_role_row *sy_role_rows(uint32_t *ret_count);
/* '*' stands for anything; case of letters does not matter. */
bool sy_role_matches(const char *pattern, size_t length, const char *name);

enum sy_role_place sy_place_of_scope(enum sy_scope scope);
/* A PMU that is one per core, by its name: "cpu", "cpu_core", "" ... */
bool sy_unit_is_core(const char *unit);

/* --- relations that the listing itself shows ----------------------------------------------------
 */
struct sy_found {
    enum sy_factor_kind kind;
    enum sy_factor_origin origin;
    uint32_t out; /* event; SY_NONE: the constant 1 */
    double constant;
    uint32_t first, count; /* terms whose variable is an event */
    uint32_t metric;       /* it came from; SY_NONE */
};
struct sy_found_list {
    struct sy_found *items;
    struct sy_term *terms;
    uint32_t count, capacity, term_count, term_capacity;
};
void sy_found_finish(struct sy_found_list *list);
SY_MUST_CHECK int sy_found_add(struct sy_found_list *list, const struct sy_found *found,
                               const struct sy_term *terms, uint32_t count);
/* The core PMU of which the listing knows most ("cpu", "cpu_core"); NULL: it has none. */
const char *sy_main_unit(const struct sy_listing *listing);
/* Whether an event is this PMU's; unit NULL: of any that is not a core's. */
bool sy_event_is_of(const struct sy_event *event, const char *unit);
/* All three append what they find among the events of unit. 0 or -ENOMEM. */
SY_MUST_CHECK int sy_find_unit_masks(const struct sy_listing *listing, const char *unit,
                                     struct sy_found_list *list);
SY_MUST_CHECK int sy_find_names(const struct sy_listing *listing, const char *unit,
                                struct sy_found_list *list);
SY_MUST_CHECK int sy_find_metrics(const struct sy_listing *listing, const char *unit,
                                  struct sy_found_list *list);
/* Issue slots as a multiple of an event, where a metric of the maker's says so. */
bool sy_find_slots(const struct sy_listing *listing, struct sy_term *ret_term,
                   const char **ret_metric);
/* The three together. */
SY_MUST_CHECK int sy_find_all(const struct sy_listing *listing, const char *unit,
                              struct sy_found_list *list);

/* --- building a model ---------------------------------------------------------------------------
 */
struct sy_signal {
    const char *name; /* event */
    uint32_t event;   /* of the listing; SY_NONE */
    uint32_t counter; /* what variable.counter becomes */
    uint32_t pmu;
    enum sy_counter_kind kind;
    bool bytes; /* its unit is bytes already: a role's factor does not apply */
    double noise_ratio;
    bool wanted; /* becomes a variable even where it has no role */
};

struct sy_binding {
    uint32_t variable; /* SY_NONE: nobody carries this role */
    double factor;     /* units of the role in one unit of the variable */
};

struct sy_build {
    struct sy_model *model;
    const struct sy_listing *listing; /* may be NULL */
    const struct sy_signal *signals;
    uint32_t signal_count;
    uint32_t place; /* enum sy_role_place */
    uint32_t variables_max;
    uint32_t *signal_variable; /* SY_NONE: none */
    struct sy_binding roles[SY_ROLE_COUNT];
    bool failed; /* out of memory */
};
SY_MUST_CHECK int sy_build_init(struct sy_build *build, const char *name,
                                const struct sy_listing *listing, const struct sy_signal *signals,
                                uint32_t signal_count, enum sy_role_place place);
/* Frees all but the model. */
void sy_build_finish(struct sy_build *build);
/* Roles get their variables; then all wanted signals. */
void sy_build_roles(struct sy_build *build);
/* Relations of the listing. grow: those that touch what is there may add events. */
void sy_build_listing(struct sy_build *build, const struct sy_found_list *found, bool grow);
/* The written relations between roles that are bound. */
void sy_build_relations(struct sy_build *build);
/* A variable of its own for a role that nothing measures; its binding. */
struct sy_binding *sy_build_hidden(struct sy_build *build, enum sy_role role, const char *name);
uint32_t sy_build_variable(struct sy_build *build, const struct sy_variable *variable);
void sy_build_factor(struct sy_build *build, const struct sy_factor *factor,
                     const struct sy_term *terms, uint32_t count);
/* What a variable starts from, by its role. */
struct sy_variable sy_build_start(enum sy_role role, double factor);

/* --- the machine's resources --------------------------------------------------------------------
 */
struct sy_resource_sum {
    enum sy_factor_kind kind;
    uint32_t whole, count;
    uint32_t parts[64];
    double width;
    const char *why;
};
/* Which resources add up to which, from the routes. */
SY_MUST_CHECK int sy_find_resource_sums(const struct sy_machine *machine, struct sy_arena *arena,
                                        struct sy_resource_sum **ret_sums, uint32_t *ret_count);
/* Draws one where all its resources are variables; variable_of: per resource, or SY_NONE. */
void sy_add_resource_sum(struct sy_model *model, bool *failed, const uint32_t *variable_of,
                         const struct sy_resource_sum *sum);
struct sy_variable sy_variable_of_resource(const struct sy_machine *machine, uint32_t resource);
const char *sy_resource_kind_role(enum sy_resource_kind kind);

/* The written relations, for show. */
struct sy_written {
    enum sy_factor_kind kind;
    uint32_t places;
    enum sy_role out; /* SY_ROLE_COUNT: the constant 1 */
    struct {
        enum sy_role role;
        double coefficient;
    } terms[4]; /* ends at coefficient 0 */
    double width;
    const char *why;
};
const struct sy_written *sy_written_relations(uint32_t *ret_count);

#endif
