/* SPDX-License-Identifier: Apache-2.0
 *
 * Is the table of a plug-in one that can be trusted? Whoever reads it later need not ask again.
 */
#include "kernels/set.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#define COUNT_MAX 65536u /* more is no table, but memory read as one */

/* Names stand in "plugin:name:arguments" and in files. */
static bool is_name(const char *name) {
    if (!name || !name[0]) {
        return false;
    }
    for (; *name; name++) {
        if (!isalnum((unsigned char)*name) && !strchr("_-.+", *name)) {
            return false;
        }
    }
    return true;
}

static int refuse(struct sy_error *error, const char *path, const char *what, const char *name,
                  const char *why) {
    sy_fail_at(error, -EINVAL, path, 0, 0, "%s%s%s%s %s", what, name ? " '" : "", name ? name : "",
               name ? "'" : "", why);
    return sy_hint(error,
                   "the table contradicts itself; see symph/kernel.h for what each member means");
}

static int check_kernel(const struct sy_kernel_entry *kernel, const char *path,
                        struct sy_error *error) {
    if (!is_name(kernel->name)) {
        return refuse(error, path, "kernel", kernel->name,
                      "needs a name of letters, digits and _-.+");
    }
    if (kernel->argument_count > SY_ARGUMENT_MAX) {
        return refuse(error, path, "kernel", kernel->name, "has more arguments than are allowed");
    }
    for (uint32_t i = 0; i < SY_ARGUMENT_MAX; i++) {
        bool beyond = kernel->argument_count > 0 && i >= kernel->argument_count;
        if (kernel->modes[i] > SY_READ_WRITE || (beyond && kernel->modes[i])) {
            return refuse(error, path, "kernel", kernel->name,
                          beyond ? "has modes for more arguments than it takes"
                                 : "has an invalid access mode");
        }
    }
    if (kernel->part_max > SY_PART_MAX || !(kernel->part_ns >= 0) || isinf(kernel->part_ns)) {
        return refuse(error, path, "kernel", kernel->name,
                      "has more parts than are allowed, or parts with an invalid cost");
    }
    for (uint32_t i = 0; i < SY_FLAVOUR_COUNT; i++) {
        if (kernel->functions[i]) {
            return 0;
        }
    }
    return refuse(error, path, "kernel", kernel->name, "has no function");
}

static int check_kernels(const struct sy_kernel_table *table, const char *path,
                         struct sy_error *error) {
    struct sy_map names = {0};
    int code = 0;
    for (uint32_t i = 0; i < table->kernel_count && !code; i++) {
        const char *name = table->kernels[i].name;
        code = check_kernel(&table->kernels[i], path, error);
        code = code ? code : sy_map_put(&names, name, strlen(name), i);
        if (code == -EEXIST) {
            code = refuse(error, path, "kernel", name, "appears twice");
        } else if (code == -ENOMEM) {
            sy_fail(error, code, "out of memory");
        }
    }
    sy_map_finish(&names);
    return code;
}

static int check_workloads(const struct sy_kernel_table *table, const char *path,
                           struct sy_error *error) {
    for (uint32_t i = 0; i < table->workload_count; i++) {
        const struct sy_kernel_workload *workload = &table->workloads[i];
        if (!is_name(workload->name)) {
            return refuse(error, path, "workload", workload->name,
                          "needs a name of letters, digits and _-.+");
        }
        if (!workload->build && !workload->drive) {
            return refuse(error, path, "workload", workload->name, "cannot build its graph");
        }
        if (workload->build && workload->drive) {
            return refuse(error, path, "workload", workload->name,
                          "has both a graph and a drive function");
        }
        if (workload->drive && (workload->fill || workload->check || workload->destroy)) {
            return refuse(error, path, "workload", workload->name,
                          "drives a session, which cannot be filled or checked from outside");
        }
        for (uint32_t j = 0; j < i; j++) {
            if (strcmp(table->workloads[j].name, workload->name) == 0) {
                return refuse(error, path, "workload", workload->name, "appears twice");
            }
        }
    }
    return 0;
}

static int check_pipelines(const struct sy_kernel_table *table, const char *path,
                           struct sy_error *error) {
    for (uint32_t i = 0; i < table->pipeline_count; i++) {
        const struct sy_kernel_pipeline *pipeline = &table->pipelines[i];
        if (!is_name(pipeline->name)) {
            return refuse(error, path, "pipeline", pipeline->name,
                          "needs a name of letters, digits and _-.+");
        }
        if (!pipeline->text || !pipeline->text[0]) {
            return refuse(error, path, "pipeline", pipeline->name, "has no description");
        }
        if (!pipeline->open || !pipeline->next || !pipeline->fill || !pipeline->close) {
            return refuse(error, path, "pipeline", pipeline->name,
                          "lacks one of open, next, fill and close");
        }
        for (uint32_t j = 0; j < i; j++) {
            if (strcmp(table->pipelines[j].name, pipeline->name) == 0) {
                return refuse(error, path, "pipeline", pipeline->name, "appears twice");
            }
        }
    }
    return 0;
}

static bool counts_hold(const struct sy_kernel_table *table) {
    return table->kernel_count <= COUNT_MAX && table->workload_count <= COUNT_MAX &&
           table->pipeline_count <= COUNT_MAX && (!table->kernel_count || table->kernels) &&
           (!table->workload_count || table->workloads) &&
           (!table->pipeline_count || table->pipelines);
}

int sy_kernel_table_check(const struct sy_kernel_table *table, const char *path,
                          struct sy_error *error) {
    if (!is_name(table->name) || strcmp(table->name, "gen") == 0) {
        return refuse(error, path, "plug-in", table->name,
                      "needs a name of letters, digits and _-.+ that is not \"gen\"");
    }
    if (!counts_hold(table)) {
        return refuse(error, path, "plug-in", table->name, "has a count without the entries");
    }
    if (table->kernel_count == 0 && table->workload_count == 0 && table->pipeline_count == 0) {
        return refuse(error, path, "plug-in", table->name,
                      "has neither kernels nor workloads nor pipelines");
    }
    int code = check_kernels(table, path, error);
    code = code ? code : check_workloads(table, path, error);
    return code ? code : check_pipelines(table, path, error);
}
