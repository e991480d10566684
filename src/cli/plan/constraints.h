/* SPDX-License-Identifier: Apache-2.0
 *
 * constraints: what a plan must keep to, as people write it.
 *
 * In: "latency<=2ms", "throughput>=500/s", "memory.gpu<=40GB", "gpu<=1". Out: bounds of the planner
 * and limits of a system's classes. Never knows: which plan keeps to them. Invariant: of one thing
 * there is one constraint.
 */
#ifndef SY_CLI_PLAN_CONSTRAINTS_H
#define SY_CLI_PLAN_CONSTRAINTS_H

#include "cli/options.h"
#include "planner/pipeline.h"

#define SY_CONSTRAINT_MAX      16
#define SY_CONSTRAINT_TEXT_MAX 96

enum sy_constraint_kind {
    SY_CONSTRAINT_LATENCY,
    SY_CONSTRAINT_THROUGHPUT,
    SY_CONSTRAINT_ENERGY,
    SY_CONSTRAINT_POWER,
    SY_CONSTRAINT_MONEY,
    SY_CONSTRAINT_MEMORY,
    SY_CONSTRAINT_DEVICES,
};

struct sy_constraint {
    enum sy_constraint_kind kind;
    char text[SY_CONSTRAINT_TEXT_MAX]; /* as it was written, without blanks */
    char class_name[32];               /* of memory and devices: a class, or a kind such as "gpu" */
    double value; /* ns, items per s, J, W, money per item, bytes of one device, devices */
};

struct sy_constraint_list {
    struct sy_constraint items[SY_CONSTRAINT_MAX];
    uint32_t count;
};

/* Several in one text are separated by commas. The error names the text and what is allowed. */
SY_MUST_CHECK int sy_constraints_parse(const struct sy_text_list *texts,
                                       struct sy_constraint_list *ret_list, struct sy_error *error);
/* All of them but skip (SY_NONE: all). */
struct sy_plan_bounds sy_constraints_bounds(const struct sy_constraint_list *list, uint32_t skip);
/* Limits of memory and devices go into the classes. The error names a class that is not there. */
SY_MUST_CHECK int sy_constraints_limit(const struct sy_constraint_list *list, uint32_t skip,
                                       struct sy_system *system, struct sy_error *error);

/* The classes a word means, as bits: the class of that name, else all of that kind. 0: none, and an
 * error that lists those there are. */
uint32_t sy_system_classes(const struct sy_system *system, const char *word,
                           struct sy_error *error);
/* "gpu=2" -> the classes and the number behind; what stands for the option in the error. */
SY_MUST_CHECK int sy_system_setting(const struct sy_system *system, const char *option,
                                    const char *text, uint32_t *ret_classes, const char **ret_value,
                                    struct sy_error *error);

#endif
