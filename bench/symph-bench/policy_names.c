/* SPDX-License-Identifier: Apache-2.0
 *
 * Which policies of a list can run here.
 *
 * In: names with commas. Out: those that exist and have what they need. Invariant: a policy that is
 * left out is named, with the reason.
 */
#include "schedulers/schedulers.h"
#include "sim/sim.h"
#include "symph-bench/policy.h"
#include <string.h>

static void leave_out(const char *name, const char *reason, bool quiet, struct sy_buffer *text) {
    sy_message_note(quiet, "left out: %s: %s", name, reason);
    sy_buffer_printf(text, "(left out: %s: %s)\n", name, reason);
}

bool sy_policies_has(const struct sy_text_list *list, const char *name) {
    return sy_index_of(name, list->items, list->count, sizeof *list->items) != SY_NONE;
}

/* What a name lacks to be run; NULL: nothing. */
static const char *lacks(const char *name, struct sy_error *error) {
    const char *args = NULL;
    const struct sy_scheduler_ops *ops = sy_scheduler_find(name, &args, error);
    if (!ops) {
        return error->message;
    }
    bool wants = ops->net && !strchr(args, '@') && !strstr(args, "~net");
    return wants && !sy_weights_shipped(ops->net->kind) ? "no weights are shipped for it" : NULL;
}

/* A heuristic that has learned by now goes without what it learned. */
static const char *plain(const char *name, struct sy_arena *arena) {
    const char *args = NULL;
    struct sy_error error = {0};
    const struct sy_scheduler_ops *ops = sy_scheduler_find(name, &args, &error);
    if (!ops || !ops->net) {
        return name;
    }
    struct sy_buffer longer = {0};
    sy_buffer_printf(&longer, "%s~net", name);
    const char *copy = longer.text ? sy_arena_strndup(arena, longer.text, longer.length) : NULL;
    sy_buffer_finish(&longer);
    return copy ? copy : name;
}

int sy_policies_add(struct sy_text_list *list, const char *names, bool heuristics, bool quiet,
                    struct sy_arena *arena, struct sy_buffer *text) {
    for (const char *at = names; *at;) {
        size_t length = strcspn(at, ",");
        const char *name = sy_need(sy_arena_strndup(arena, at, length));
        at += length + (at[length] == ',');
        struct sy_error error = {0};
        if (name && heuristics) {
            name = plain(name, arena);
        }
        const char *reason = *name ? lacks(name, &error) : NULL;
        if (reason) {
            leave_out(name, reason, quiet, text);
        } else if (*name && !sy_policies_has(list, name) && sy_text_list_add(list, name) < 0) {
            return sy_no_memory();
        }
    }
    return SY_EXIT_OK;
}

const char *sy_policies_join(const struct sy_text_list *list, struct sy_arena *arena) {
    struct sy_buffer all = {0};
    for (uint32_t i = 0; i < list->count; i++) {
        sy_buffer_printf(&all, "%s%s", i ? "," : "", list->items[i]);
    }
    const char *copy = all.text ? sy_arena_strndup(arena, all.text, all.length) : NULL;
    sy_buffer_finish(&all);
    return copy;
}
