/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of policies, and their names as people type them: NAME; policy_name.c reads what
 * follows. Rooms above add theirs by defining sy_more_policies; a program without that room has the
 * list below.
 */
#include "schedulers/policy.h"
#include <errno.h>
#include <string.h>

#define MORE_MAX 8 /* of sy_more_policies that a typo is compared with */
#pragma weak sy_more_policies

static const struct sy_scheduler_ops *const policies[] = {
    &sy_policy_random,     &sy_policy_round_robin, &sy_policy_eager,
    &sy_policy_priority,   &sy_policy_stealing,    &sy_policy_sparrow,
    &sy_policy_dmda,       &sy_policy_dmdas,       &sy_policy_dmda_hist,
    &sy_policy_dmdas_hist, &sy_policy_heteroprio,  &sy_policy_heft,
    &sy_policy_cpop,       &sy_policy_peft,        &sy_policy_lookahead,
    &sy_policy_anneal,     &sy_policy_paragon,     &sy_policy_tetris,
    &sy_policy_graphene,   &sy_policy_symphony,    &sy_policy_affinity,
    &sy_policy_late,       &sy_policy_late_hist,   &sy_policy_late_contention,
    &sy_policy_learned,    &sy_policy_greedy_true, &sy_policy_greedy_true_rollout,
    &sy_policy_gate,
};

/* Other names people know them by. */
static const struct {
    const char *alias, *name;
} aliases[] = {{"mct", "dmda"},
               {"round-robin", "rr"},
               {"work-stealing", "ws"},
               {"lws", "ws"},
               {"late", "lb"},
               {"locality", "lb"},
               {"lookahead-heft", "lookahead"},
               {"default", "symphony"}};

/* Names of old, for those who still type them. */
static const struct {
    const char *old, *name;
} renamed[] = {{"oracle", "greedy-true"},
               {"oracle-rollout", "greedy-true-rollout"},
               {"oracle-gate", "greedy-true-gate"}};

const char *sy_scheduler_default(void) {
    return sy_policy_symphony.name;
}

const struct sy_scheduler_ops *sy_scheduler_at(uint32_t index) {
    if (index < SY_COUNT(policies)) {
        return policies[index];
    }
    index -= (uint32_t)SY_COUNT(policies);
    for (uint32_t i = 0; sy_more_policies && sy_more_policies[i]; i++) {
        if (i == index) {
            return sy_more_policies[i];
        }
    }
    return NULL;
}

static const struct sy_scheduler_ops *by_name(const char *name, size_t length) {
    const struct sy_scheduler_ops *ops;
    for (uint32_t i = 0; (ops = sy_scheduler_at(i)); i++) {
        if (strlen(ops->name) == length && !memcmp(ops->name, name, length)) {
            return ops;
        }
    }
    return NULL;
}

static const struct sy_scheduler_ops *unknown(const char *name, size_t length,
                                              struct sy_error *error) {
    const char *names[SY_COUNT(policies) + MORE_MAX];
    char word[40];
    uint32_t count = 0;
    for (; count < SY_COUNT(names) && sy_scheduler_at(count); count++) {
        names[count] = sy_scheduler_at(count)->name;
    }
    snprintf(word, sizeof word, "%.*s", (int)length, name);
    const char *near = sy_nearest(word, names, count);
    for (size_t i = 0; i < SY_COUNT(renamed); i++) {
        near = strcmp(word, renamed[i].old) == 0 ? renamed[i].name : near;
    }
    sy_fail(error, -EINVAL, "there is no policy '%s'", word);
    if (near) {
        sy_hint(error, "did you mean '%s'?", near);
    } else {
        sy_hint(error, "symph simulate --list-policies lists them");
    }
    return NULL;
}

/* What stands behind the name is found wrong here, where somebody can be told, and early. */
static bool suffix_ok(const struct sy_scheduler_ops *ops, const char *args,
                      struct sy_error *error) {
    struct policy_args read;
    struct sy_weights weights;
    if (sy_policy_args(ops, args, &read, error)) {
        return false;
    }
    if (read.weights) {
        if (sy_policy_weights(ops, &read, &weights, error)) {
            return false;
        }
        sy_weights_close(&weights);
    }
    return true;
}

static const struct sy_scheduler_ops *by_alias(const char *name, size_t length) {
    for (size_t i = 0; i < SY_COUNT(aliases); i++) {
        if (strlen(aliases[i].alias) == length && !memcmp(aliases[i].alias, name, length)) {
            return by_name(aliases[i].name, strlen(aliases[i].name));
        }
    }
    return NULL;
}

const struct sy_scheduler_ops *sy_scheduler_find(const char *name, const char **ret_args,
                                                 struct sy_error *error) {
    size_t length = strcspn(name, "+:@~");
    const struct sy_scheduler_ops *ops = by_name(name, length);
    if (!ops) {
        ops = by_alias(name, length);
    }
    const char *path_end = ops ? NULL : sy_policy_path_end(name); /* not that of its weights */
    if (path_end) {
        length = (size_t)(path_end - name);
        ops = sy_policy_from_file(name, path_end, error);
        if (!ops) {
            return NULL;
        }
    }
    if (!ops) {
        return unknown(name, length, error);
    }
    if (!suffix_ok(ops, name + length, error)) {
        return NULL;
    }
    *ret_args = name + length;
    return ops;
}
