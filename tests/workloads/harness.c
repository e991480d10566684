/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const struct sy_kernel_table *open_plugin(const char *name) {
    const char *folder = getenv("SYMPH_TEST_PLUGINS");
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s.so", folder ? folder : ".", name);
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object) {
        printf("no plug-in %s: %s\n", name, dlerror());
        return NULL;
    }
    const uint32_t *abi = dlsym(object, "sy_kernel_plugin_abi");
    const struct sy_kernel_table *const *table = dlsym(object, "sy_kernel_plugin");
    if (!abi || *abi != SY_KERNEL_ABI || !table) {
        printf("%s is no plug-in of this version\n", path);
        return NULL;
    }
    return *table;
}

const struct sy_kernel_entry *find_kernel(const struct sy_kernel_table *table, const char *name) {
    for (uint32_t at = 0; at < table->kernel_count; at++) {
        if (strcmp(table->kernels[at].name, name) == 0) {
            return &table->kernels[at];
        }
    }
    fail_msg("no kernel %s", name);
    return NULL;
}

/* --- jobs ------------------------------------------------------------------------------------- */

static void allocate(struct job *job) {
    job->data = calloc(job->graph->data_count, sizeof(void *));
    assert_non_null(job->data);
    for (uint32_t at = 0; at < job->graph->data_count; at++) {
        job->data[at] = calloc(1, (size_t)job->graph->data_bytes[at]);
        assert_non_null(job->data[at]);
    }
}

void open_job(const struct sy_kernel_table *table, const char *workload, const char *arguments,
              struct job *ret_job) {
    struct job job = {.table = table};
    struct sy_error error = {0};
    for (uint32_t at = 0; at < table->workload_count; at++) {
        if (strcmp(table->workloads[at].name, workload) == 0) {
            job.workload = &table->workloads[at];
        }
    }
    assert_non_null(job.workload);
    if (job.workload->build(arguments, &job.graph, &job.state, &error)) {
        fail_msg("%s:%s: %s", workload, arguments, error.message);
    }
    allocate(&job);
    for (uint32_t at = 0; at < job.graph->data_count; at++) {
        uint64_t bytes = (uint64_t)job.graph->data_bytes[at];
        assert_int_equal(job.workload->fill(job.state, at, job.data[at], bytes), 0);
    }
    *ret_job = job;
}

void open_graph(const struct sy_kernel_table *table, struct sy_graph *graph, struct job *ret_job) {
    *ret_job = (struct job){.table = table, .graph = graph};
    allocate(ret_job);
}

void close_job(struct job *job) {
    for (uint32_t at = 0; at < job->graph->data_count; at++) {
        free(job->data[at]);
    }
    free(job->data);
    sy_graph_destroy(job->graph);
    if (job->workload) {
        job->workload->destroy(job->state);
    }
}

uint32_t run_job(struct job *job, const struct device *device, uint32_t every) {
    uint32_t candidates = 0, there = 0;
    for (uint32_t at = 0; at < job->graph->task_count; at++) {
        uint32_t index = job->graph->order[at];
        const struct sy_task *task = &job->graph->tasks[index];
        const struct sy_kernel_entry *entry =
            find_kernel(job->table, job->graph->kernels[task->kernel].name);
        struct sy_argument arguments[SY_ARGUMENT_MAX];
        char message[SY_CALL_MESSAGE_MAX] = "";
        uint32_t count = task[1].access_start - task->access_start;
        assert_true(entry->argument_count == 0 || entry->argument_count == count);
        for (uint32_t i = 0; i < count; i++) {
            struct sy_access access = job->graph->accesses[task->access_start + i];
            assert_int_equal(access.mode & entry->modes[i], entry->modes[i]);
            arguments[i] =
                (struct sy_argument){job->data[access.datum],
                                     (uint64_t)job->graph->data_bytes[access.datum], access.mode};
        }
        struct sy_call call = {.arguments = arguments,
                               .argument_count = count,
                               .work = task->work,
                               .message = message};
        bool elsewhere =
            device && every && entry->functions[device->flavour] && candidates++ % every == 0;
        there += elsewhere;
        call.part_count = job->parts && entry->part_max > 1 ? job->parts : 1;
        for (; call.part < call.part_count; call.part++) {
            if (run_call(entry, &call, elsewhere ? device : NULL)) {
                fail_msg("task %u (%s): %s", index, entry->name, message);
            }
            for (uint32_t i = 0; i < count; i++) {
                arguments[i].mode |= arguments[i].mode & SY_WRITE ? SY_READ : 0u;
            }
        }
    }
    return there;
}

double judge(struct job *job) {
    double error = NAN, tolerance = NAN;
    struct sy_error problem = {0};
    if (job->workload->check(job->state, job->data, &error, &tolerance, &problem)) {
        fail_msg("the check itself failed: %s", problem.message);
    }
    assert_true(tolerance >= 0 && tolerance <= 1e-10);
    return tolerance > 0 ? error / tolerance : error > 0 ? INFINITY : 0;
}
