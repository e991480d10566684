/* SPDX-License-Identifier: Apache-2.0
 *
 * The graph that the kernels of a description form.
 *
 * In: who reads and writes what. Out: kernels in an order in which they can run, that of the text
 * as far as possible. Invariant: a datum is written once, before it is read, and somebody needs it.
 */
#include "planner/pipeline_read.h"
#include <errno.h>
#include <string.h>

static int fail_unwritten(struct sy_pipeline_reader *r, uint32_t datum) {
    const struct sy_datum_use *use = &r->uses[datum];
    const char *name = r->data[datum].name;
    if (use->reader == SY_NONE) {
        sy_pipeline_fail(r, use->defined, "no kernel writes \"%s\"", name);
    } else {
        sy_pipeline_fail(r, use->read, "kernel \"%s\" reads \"%s\", which no kernel writes",
                         r->kernels[use->reader].name, name);
    }
    return sy_hint(r->error,
                   "let a kernel write it, or give it the role \"input\" or \"constant\"");
}

static int check_uses(struct sy_pipeline_reader *r) {
    bool output = false;
    for (uint32_t i = 0; i < r->pipeline->datum_count; i++) {
        enum sy_pipeline_role role = r->data[i].role;
        const struct sy_datum_use *use = &r->uses[i];
        bool made = role == SY_PIPELINE_BETWEEN || role == SY_PIPELINE_OUTPUT;
        output = output || role == SY_PIPELINE_OUTPUT;
        if (made && use->writer == SY_NONE) {
            return fail_unwritten(r, i);
        }
        if (role != SY_PIPELINE_OUTPUT && use->reader == SY_NONE) {
            sy_pipeline_fail(r, use->defined, "no kernel reads \"%s\"", r->data[i].name);
            return sy_hint(r->error, made ? "give it the role \"output\", or leave it out"
                                          : "let a kernel read it, or leave it out");
        }
    }
    if (!output) {
        sy_fail_at(r->error, -EINVAL, r->file, 1, 1, "the pipeline has no output");
        return sy_hint(r->error, "give what is wanted in the end the role \"output\"");
    }
    return 0;
}

/* A kernel, not placed yet, that writes what this one reads; SY_NONE: it can run. */
static uint32_t waits_for(const struct sy_pipeline_reader *r, uint32_t kernel, uint64_t placed) {
    const struct sy_pipeline_kernel *k = &r->kernels[kernel];
    for (uint32_t i = 0; i < k->argument_count; i++) {
        uint32_t writer = r->uses[k->arguments[i]].writer;
        if (!k->writes[i] && writer != SY_NONE && !(placed >> writer & 1)) {
            return writer;
        }
    }
    return SY_NONE;
}

/* From any kernel that waits, back along what it waits for, until one comes again. */
static int fail_cycle(struct sy_pipeline_reader *r, uint32_t kernel, uint64_t placed) {
    uint64_t seen = 0;
    while (!(seen >> kernel & 1)) {
        seen |= UINT64_C(1) << kernel;
        kernel = waits_for(r, kernel, placed);
    }
    char way[200];
    size_t length = (size_t)snprintf(way, sizeof way, "%.48s", r->kernels[kernel].name);
    uint32_t first = kernel;
    do {
        kernel = waits_for(r, kernel, placed);
        length += (size_t)snprintf(way + length, sizeof way - length, " needs %.48s",
                                   r->kernels[kernel].name);
    } while (kernel != first && length + 70 < sizeof way);
    if (kernel != first) {
        snprintf(way + length, sizeof way - length, " needs ...");
    }
    sy_pipeline_fail(r, r->kernel_marks[first], "kernels go round in a circle: %s", way);
    return sy_hint(r->error,
                   "within one item every kernel runs once, after those whose data it reads");
}

static int sort(struct sy_pipeline_reader *r) {
    uint32_t count = r->pipeline->kernel_count, order[SY_PLAN_KERNEL_MAX];
    uint64_t placed = 0;
    for (uint32_t n = 0; n < count; n++) {
        uint32_t next = 0, waiting = SY_NONE;
        while (next < count && (placed >> next & 1 || waits_for(r, next, placed) != SY_NONE)) {
            waiting = placed >> next & 1 || waiting != SY_NONE ? waiting : next;
            next++;
        }
        if (next == count) {
            return fail_cycle(r, waiting, placed);
        }
        placed |= UINT64_C(1) << next;
        order[n] = next;
    }
    struct sy_pipeline_kernel *sorted = sy_arena_alloc(r->arena, count, sizeof *sorted);
    if (!sorted) {
        return sy_out_of_memory(r->error);
    }
    for (uint32_t n = 0; n < count; n++) {
        sorted[n] = r->kernels[order[n]];
    }
    r->pipeline->kernels = sorted;
    return 0;
}

int sy_pipeline_connect(struct sy_pipeline_reader *r) {
    int code = check_uses(r);
    return code ? code : sort(r);
}
