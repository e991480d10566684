/* SPDX-License-Identifier: Apache-2.0
 *
 * Who has which kernel, workload or pipeline, and do a graph's tasks fit their kernels.
 */
#include "graph/graph.h"
#include "kernels/set.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEAR_MAX 256 /* candidates looked at for the name somebody meant */

static const struct sy_kernel_table *find_table(const struct sy_kernel_set *set, const char *name,
                                                size_t length) {
    for (uint32_t i = 0; i < set->count; i++) {
        const struct sy_kernel_table *table = set->plugins[i].table;
        if (strlen(table->name) == length && memcmp(table->name, name, length) == 0) {
            return table;
        }
    }
    return NULL;
}

static const struct sy_kernel_entry *find_in(const struct sy_kernel_table *table,
                                             const char *name) {
    uint32_t i = sy_index_of(name, table->kernels, table->kernel_count, sizeof *table->kernels);
    return i == SY_NONE ? NULL : &table->kernels[i];
}

static const char *nearest_kernel(const struct sy_kernel_set *set, const char *name) {
    const char *names[NEAR_MAX];
    size_t count = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        const struct sy_kernel_table *table = set->plugins[i].table;
        for (uint32_t j = 0; j < table->kernel_count && count < NEAR_MAX; j++) {
            names[count++] = table->kernels[j].name;
        }
    }
    const char *colon = strrchr(name, ':');
    return sy_nearest(colon ? colon + 1 : name, names, count);
}

static void fail_to_find(const struct sy_kernel_set *set, const char *name,
                         struct sy_error *error) {
    const char *near = nearest_kernel(set, name);
    sy_fail(error, -ENOENT, "no kernel plug-in has a kernel '%s'", name);
    if (set->count == 0) {
        sy_hint(error, "no plug-in was found: name one with --kernels or SYMPH_KERNELS");
    } else if (near) {
        sy_hint(error, "did you mean '%s'?", near);
    } else if (set->skipped_count > 0) {
        sy_hint(error, "passed over: %s", set->skipped[0]);
    } else {
        sy_hint(error, "symph kernels lists them; --kernels PATH adds plug-ins");
    }
}

const struct sy_kernel_entry *sy_kernel_set_find(const struct sy_kernel_set *set, const char *name,
                                                 struct sy_error *error) {
    const struct sy_kernel_entry *found = NULL;
    const char *colon = strchr(name, ':');
    if (colon) {
        const struct sy_kernel_table *table = find_table(set, name, (size_t)(colon - name));
        found = table ? find_in(table, colon + 1) : NULL;
    }
    for (uint32_t i = 0; i < set->count && !found; i++) {
        found = find_in(set->plugins[i].table, name);
    }
    if (!found) {
        fail_to_find(set, name, error);
    }
    return found;
}

/* What plug-ins have by name beside kernels. */
enum thing { WORKLOAD, PIPELINE };

static uint32_t thing_count(const struct sy_kernel_table *table, enum thing thing) {
    return thing == WORKLOAD ? table->workload_count : table->pipeline_count;
}

static const char *thing_name(const struct sy_kernel_table *table, enum thing thing, uint32_t i) {
    return thing == WORKLOAD ? table->workloads[i].name : table->pipelines[i].name;
}

static void fail_thing(const struct sy_kernel_table *table, enum thing thing, const char *name,
                       size_t length, struct sy_error *error) {
    const char *names[NEAR_MAX], *what = thing == WORKLOAD ? "workload" : "pipeline";
    char copy[64];
    uint32_t count = thing_count(table, thing) < NEAR_MAX ? thing_count(table, thing) : NEAR_MAX;
    struct sy_buffer all = {0};
    for (uint32_t i = 0; i < count; i++) {
        names[i] = thing_name(table, thing, i);
        sy_buffer_printf(&all, "%s%s", i ? ", " : "", names[i]);
    }
    snprintf(copy, sizeof copy, "%.*s", (int)(length < 60 ? length : 60), name);
    const char *near = sy_nearest(copy, names, count);
    sy_fail(error, -ENOENT, "plug-in '%s' has no %s '%s'", table->name, what, copy);
    if (near) {
        sy_hint(error, "did you mean '%s:%s'?", table->name, near);
    } else if (count > 0 && !all.failed) {
        sy_hint(error, "it has: %s", all.text);
    } else if (thing == PIPELINE) {
        sy_hint(error, "symph kernels lists the plug-ins that have pipelines");
    } else {
        sy_hint(error, "it has kernels only: name them in a graph file");
    }
    sy_buffer_finish(&all);
}

/* Is there another kind of thing by that name? Then that was meant. */
static void hint_other(const struct sy_kernel_table *table, enum thing thing, const char *name,
                       size_t length, struct sy_error *error) {
    enum thing other = thing == WORKLOAD ? PIPELINE : WORKLOAD;
    for (uint32_t i = 0; i < thing_count(table, other); i++) {
        const char *known = thing_name(table, other, i);
        if (strlen(known) == length && memcmp(known, name, length) == 0) {
            sy_hint(error, "'%s' is a %s: symph run %s%s:%s", known,
                    other == PIPELINE ? "pipeline" : "workload",
                    other == PIPELINE ? "--pipeline " : "", table->name, known);
        }
    }
}

/* SY_NONE: there is none; without an error if no plug-in has the name before the colon. */
static uint32_t find_thing(const struct sy_kernel_set *set, enum thing thing, const char *spec,
                           const struct sy_kernel_table **ret_table, const char **ret_arguments,
                           struct sy_error *error) {
    const char *colon = strchr(spec, ':');
    const struct sy_kernel_table *table =
        colon ? find_table(set, spec, (size_t)(colon - spec)) : NULL;
    if (!table) {
        if (error) {
            *error = (struct sy_error){0};
        }
        return SY_NONE;
    }
    const char *name = colon + 1;
    size_t length = strcspn(name, ":");
    for (uint32_t i = 0; i < thing_count(table, thing); i++) {
        const char *known = thing_name(table, thing, i);
        if (strlen(known) == length && memcmp(known, name, length) == 0) {
            *ret_arguments = name + length + (name[length] == ':');
            *ret_table = table;
            return i;
        }
    }
    fail_thing(table, thing, name, length, error);
    hint_other(table, thing, name, length, error);
    return SY_NONE;
}

const struct sy_kernel_workload *sy_kernel_set_workload(const struct sy_kernel_set *set,
                                                        const char *spec,
                                                        const char **ret_arguments,
                                                        struct sy_error *error) {
    const struct sy_kernel_table *table = NULL;
    uint32_t found = find_thing(set, WORKLOAD, spec, &table, ret_arguments, error);
    return found == SY_NONE ? NULL : &table->workloads[found];
}

const struct sy_kernel_pipeline *sy_kernel_set_pipeline(const struct sy_kernel_set *set,
                                                        const char *spec,
                                                        const char **ret_arguments,
                                                        struct sy_error *error) {
    const struct sy_kernel_table *table = NULL;
    uint32_t found = find_thing(set, PIPELINE, spec, &table, ret_arguments, error);
    return found == SY_NONE ? NULL : &table->pipelines[found];
}

static const char *mode_name(uint32_t mode) {
    return mode == SY_READ ? "read" : mode == SY_WRITE ? "written" : "read and written";
}

int sy_kernel_check(const struct sy_kernel_entry *entry, const char *name,
                    const struct sy_access *accesses, uint32_t count, struct sy_error *error) {
    if (count > SY_ARGUMENT_MAX || (entry->argument_count && count != entry->argument_count)) {
        return sy_fail(error, -EINVAL, "%s accesses %u data, but kernel '%s' takes %s%u", name,
                       count, entry->name, entry->argument_count ? "" : "at most ",
                       entry->argument_count ? entry->argument_count : SY_ARGUMENT_MAX);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (entry->modes[i] & ~accesses[i].mode) {
            return sy_fail(error, -EINVAL, "%s: access %u must be %s for kernel '%s'", name, i + 1,
                           mode_name(entry->modes[i]), entry->name);
        }
    }
    return 0;
}

/* The first task that needs a kernel, for the error. */
static int fail_kernel(const struct sy_graph *graph, uint32_t kernel, struct sy_error *error) {
    for (uint32_t task = 0; error && task < graph->task_count; task++) {
        if (graph->tasks[task].kernel == kernel) {
            char buffer[32], message[sizeof error->message];
            const char *name = sy_graph_task_name(graph, (sy_task_id){task}, buffer);
            snprintf(message, sizeof message, "%s", error->message);
            snprintf(error->message, sizeof error->message, "%.60s: %.250s", name, message);
            break;
        }
    }
    return -ENOENT;
}

int sy_kernel_set_bind(const struct sy_kernel_set *set, const struct sy_graph *graph, bool all,
                       const struct sy_kernel_entry **ret_entries, struct sy_error *error) {
    const struct sy_kernel_entry **entries =
        calloc((size_t)graph->kernel_count + 1, sizeof(const struct sy_kernel_entry *));
    if (!entries) {
        return sy_out_of_memory(error);
    }
    int code = 0;
    for (uint32_t i = 0; i < graph->kernel_count && !code; i++) {
        entries[i] = sy_kernel_set_find(set, graph->kernels[i].name, error);
        code = entries[i] || !all ? 0 : fail_kernel(graph, i, error);
    }
    for (uint32_t i = 0; i < graph->task_count && !code; i++) {
        const struct sy_task *task = &graph->tasks[i];
        const struct sy_kernel_entry **entry = &entries[task->kernel];
        char name[32];
        code = *entry ? sy_kernel_check(*entry, sy_graph_task_name(graph, (sy_task_id){i}, name),
                                        &graph->accesses[task->access_start],
                                        task[1].access_start - task->access_start, error)
                      : 0;
        *entry = code ? NULL : *entry;
        code = all ? code : 0;
    }
    if (!code && graph->kernel_count) {
        memcpy(ret_entries, entries, graph->kernel_count * sizeof *entries);
    }
    free(entries);
    return code;
}

static double amount(double value) {
    return value > 0 && isfinite(value) ? value : 0;
}

struct sy_cost_features sy_kernel_features(const struct sy_kernel_entry *entry,
                                           const struct sy_call *call) {
    struct sy_cost_features features = {.flops = call->work};
    if (entry->features) {
        struct sy_call mine = *call;
        mine.entry = entry;
        entry->features(&mine, &features);
    } else {
        for (uint32_t i = 0; i < call->argument_count; i++) {
            features.bytes += (double)call->arguments[i].bytes;
        }
    }
    return (struct sy_cost_features){amount(features.flops), amount(features.bytes)};
}
