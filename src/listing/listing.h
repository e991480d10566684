/* SPDX-License-Identifier: Apache-2.0
 *
 * listing: what the vendors say their processors can count.
 *
 * In: the pmu-events JSON of a Linux tree, or the compact files made from it (data/listing). Out:
 * events with their encoding, metrics as expression graphs, and an evaluator. Never knows: this
 * machine's counters, time, belief. Invariant: whatever was parsed can be evaluated on any values
 * in bounded time; a value that cannot be had is NAN, never a trap.
 */
#ifndef SY_LISTING_LISTING_H
#define SY_LISTING_LISTING_H

#include "base/base.h"

/* --- expressions: the MetricExpr grammar of tools/perf/util/expr.y (Linux 6.12) ----------------
 */
enum sy_expr_op {
    SY_EXPR_NUMBER,
    SY_EXPR_NAME,    /* event, metric, or perf's pmu@event\,term\=1@ spelled as pmu/event,term=1/ */
    SY_EXPR_LITERAL, /* "#num_cpus", without the # */
    SY_EXPR_ADD,
    SY_EXPR_SUBTRACT,
    SY_EXPR_MULTIPLY,
    SY_EXPR_DIVIDE, /* by 0: NAN */
    SY_EXPR_MODULO,
    SY_EXPR_LESS,
    SY_EXPR_GREATER,
    SY_EXPR_AND,
    SY_EXPR_OR,
    SY_EXPR_XOR,
    SY_EXPR_NEGATE,
    SY_EXPR_IF, /* a if b else c */
    SY_EXPR_MIN,
    SY_EXPR_MAX,
    SY_EXPR_RATIO, /* d_ratio: 0 where the divisor is 0 */
    SY_EXPR_SOURCE_COUNT,
    SY_EXPR_HAS_EVENT,
    SY_EXPR_IS_CPU, /* strcmp_cpuid_str */
};

struct sy_expr_node {
    enum sy_expr_op op;
    uint32_t a, b, c; /* nodes; a leaf's a is its name in the table of names */
    double number;
};

/* Nodes in an order in which operands stand before what uses them; the last one is the root. */
struct sy_expr {
    const struct sy_expr_node *nodes;
    uint32_t count;
};

#define SY_EXPR_NODES_MAX 65536 /* after that, or nested deeper than 256, it is a mistake */

/* Where an expression gets its values; any function may be NULL: NAN, respectively 0. */
struct sy_expr_scope {
    double (*value)(void *user, const char *name); /* of an event, or of a metric that is not one of
                                                      this listing's */
    double (*literal)(void *user, const char *name);
    double (*source_count)(void *user, const char *name);
    bool (*has_event)(void *user, const char *name);
    bool (*is_cpu)(void *user, const char *pattern);
    void *user;
};

/* --- events and metrics ------------------------------------------------------------------------
 */
struct sy_event {
    const char *name;       /* lower case, as perf knows it */
    const char *unit;       /* perf's PMU: "cpu", "uncore_imc", "amd_df", "nvml" ... */
    const char *encoding;   /* perf's terms: "event=0x3c,umask=0x1,cmask=2" */
    uint64_t code, umask;   /* of the encoding, for those who look for unit-mask sums; code is the
                               value of the first term, be it event=, config= or eventid= */
    uint64_t modifiers;     /* hash of all other terms, 0 without: events are siblings where code,
                               unit and this are equal */
    double scale;           /* of one count, in scale_unit */
    const char *scale_unit; /* "Bytes", "MiB" ...; "": plain counts */
    uint32_t counter_mask;  /* programmable counters it may sit on; 0: any */
    const char *privilege;  /* "k", "u": counted there alone, as in "cycles:k"; "": everywhere */
    bool fixed;             /* on a counter of its own */
    bool per_package;
    bool deprecated; /* another name counts the same, or it counts wrongly */
};

struct sy_metric {
    const char *name;
    const char
        *unit; /* the PMU it speaks of: matters where cores differ ("cpu_core", "cpu_atom") */
    const char *group; /* ';'-separated, as listed */
    const char *expr_text;
    struct sy_expr expr;
    double scale; /* the value is multiplied by it for show: 100 with "%" */
    const char *scale_unit;
    bool bounded; /* a share: in [0,full] before scaling */
    double full;  /* 1, or 100 where the expression itself gives percent */
};

/* One kind of PMU, and how many counters each of its instances has; 0: not said. */
struct sy_unit {
    const char *name;
    uint32_t counters, fixed_counters;
};

struct sy_listing {
    const char *name; /* "x86/skylakex" */
    const char *source, *licence;
    const struct sy_event *events;
    uint32_t event_count;
    uint32_t listed_count; /* so many of them are listed; the rest is what metrics make of those:
                              "cpu/uops_issued.any,cmask=1/", "inst_retired.any:k" */
    const struct sy_metric *metrics;
    uint32_t metric_count;
    const char *const *names; /* that expressions speak of; events and metrics are found by name */
    uint32_t name_count;
    const uint32_t *name_metric; /* per name: the metric it stands for, or SY_NONE */
    const uint32_t *name_event;  /* per name: the event, or SY_NONE */
    const struct sy_unit *units;
    uint32_t unit_count;
    struct sy_arena *arena;
    struct sy_map event_map, metric_map;
};

void sy_listing_destroy(struct sy_listing *listing);
/* Index, or SY_NONE. Case does not matter; "cpu_atom/inst_retired.any/" asks for that PMU's. */
uint32_t sy_listing_event(const struct sy_listing *listing, const char *name);
uint32_t sy_listing_metric(const struct sy_listing *listing, const char *name);
/* Do metrics use themselves, by whatever way? 0, or -ELOOP with one such way in the error. */
SY_MUST_CHECK int sy_listing_check(const struct sy_listing *listing, struct sy_error *error);

/* One expression on its own; names go to names[a]. The arena owns everything. */
struct sy_expr_names {
    const char **names;
    uint32_t count, capacity;
    struct sy_map map;
};
void sy_expr_names_finish(struct sy_expr_names *names);
SY_MUST_CHECK int sy_expr_parse(struct sy_arena *arena, struct sy_expr_names *names,
                                const char *text, size_t length, struct sy_expr *ret_expr,
                                struct sy_error *error);
double sy_expr_eval(const struct sy_expr *expr, const char *const *names,
                    const struct sy_expr_scope *scope);

/* --- where listings come from ------------------------------------------------------------------
 */
/* A compact file (docs/listing-format.md). text must be followed by a NUL. */
SY_MUST_CHECK int sy_listing_read(const char *file, const char *text, size_t length,
                                  struct sy_listing **ret_listing, struct sy_error *error);
/* By name ("x86/skylakex", "skylakex"; NULL: this processor's, -ENOENT where there is none), from
 * folder; NULL: $SYMPH_LISTINGS, then the installed one, then the one beside the build. */
SY_MUST_CHECK int sy_listing_open(const char *name, const char *folder,
                                  struct sy_listing **ret_listing, struct sy_error *error);
/* Name of the listing for a processor, as perf's mapfile.csv matches it: "GenuineIntel-6-55-4",
 * "AuthenticAMD-25-11-1", Arm's MIDR, POWER's PVR. NULL cpuid: this processor. -ENOENT: none. */
SY_MUST_CHECK int sy_listing_match(const char *folder, const char *cpuid,
                                   struct sy_buffer *ret_name, struct sy_error *error);
/* All names in the folder, sorted, as NULL-terminated array in the arena. */
SY_MUST_CHECK int sy_listing_names(const char *folder, struct sy_arena *arena,
                                   const char *const **ret_names, struct sy_error *error);
/* Compiles one micro-architecture's folder of JSON files (pmu-events/arch/x86/skylakex), with the
 * architecture's shared files above it, into the text of a compact file. tree: a Linux tree, or its
 * pmu-events/arch. source: what the file says about where it comes from; NULL: the tree's name. */
SY_MUST_CHECK int sy_listing_compile(const char *tree, const char *name, const char *source,
                                     struct sy_buffer *ret_text, struct sy_error *error);
/* The names of all folders in the tree that can be compiled, sorted, as sy_listing_names. */
SY_MUST_CHECK int sy_listing_tree_names(const char *tree, struct sy_arena *arena,
                                        const char *const **ret_names, struct sy_error *error);
/* An architecture's mapfile.csv ("x86") as the file that sy_listing_match reads. -ENOENT: none. */
SY_MUST_CHECK int sy_listing_compile_map(const char *tree, const char *arch,
                                         struct sy_buffer *ret_text, struct sy_error *error);

#endif
