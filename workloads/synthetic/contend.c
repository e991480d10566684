/* SPDX-License-Identifier: Apache-2.0
 *
 * The workload contend: graphs that create contention on purpose.
 *
 * In: how many tasks, of which kinds (taken in turn), in which shape. Out: a sealed graph, and what
 * each datum must hold after the run: the traces that kernels leave are whole numbers, so that the
 * check is exact and notices a task that ran twice, never, or on old data.
 */
#include "synthetic.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS, WIDTH, BYTES, FLOPS, PASSES, LINK, NS, KIND, SHAPE, OPTIONS };

/* What the tasks do to one datum. */
struct trace {
    double all, first; /* added to all elements, to the first */
};

struct contention {
    size_t elements;
    uint32_t data_count;
    struct trace traces[];
};

struct sketch {
    struct sy_graph *graph;
    struct contention *state;
    const struct guest_option *options;
    uint32_t kernels[SYNTHETIC_KERNEL_COUNT]; /* in the graph; SY_NONE: not yet */
    uint32_t task_count;
    int code;
};

/* --- the graph -------------------------------------------------------------------------------- */

/* A first guess, until measured times replace it. */
static struct sy_kernel_desc describe(enum synthetic_kernel kernel, double bytes) {
    static const double cpu_ns[] = {0.2, 0, 0.2, 1}, gpu_ns[] = {0.0005, 0, 0.05, 1};
    struct sy_kernel_desc desc = {.name = synthetic_names[kernel]};
    bool is_stream = kernel == SYNTHETIC_STREAM, is_transfer = kernel == SYNTHETIC_TRANSFER;
    desc.variants[SY_CPU] =
        (struct sy_variant){.present = true,
                            .ns_per_work = is_stream ? bytes * 0.2 : cpu_ns[kernel],
                            .demand_bytes_per_s = is_stream || is_transfer ? 10e9 : 0};
    desc.variants[SY_GPU] =
        (struct sy_variant){.present = true,
                            .fixed_ns = 5000,
                            .ns_per_work = is_stream ? bytes * 0.001 : gpu_ns[kernel],
                            .demand_bytes_per_s = is_stream ? 1e12 : 0,
                            .link_demand_bytes_per_s = is_transfer ? 20e9 : 0};
    return desc;
}

/* The kinds are taken in turn, in the order they were given. */
static enum synthetic_kernel kind_of(const struct sketch *sketch, uint32_t task) {
    const char *kinds = sketch->options[KIND].word;
    uint32_t count = 1, kernel = 0;
    for (const char *at = kinds; *at; at++) {
        count += *at == '+';
    }
    for (uint32_t skip = task % count; skip > 0; skip--) {
        kinds = strchr(kinds, '+') + 1;
    }
    for (uint32_t at = 0; at < SYNTHETIC_KERNEL_COUNT; at++) {
        if (strncmp(kinds, synthetic_names[at], strcspn(kinds, "+")) == 0) {
            kernel = at;
        }
    }
    return kernel;
}

static void add_task(struct sketch *sketch, const struct sy_access *accesses, uint32_t count) {
    static const int amounts[] = {FLOPS, PASSES, LINK, NS};
    enum synthetic_kernel kernel = kind_of(sketch, sketch->task_count);
    double work = sketch->options[amounts[kernel]].value;
    char name[48];
    sy_task_id id;
    if (!sketch->code && sketch->kernels[kernel] == SY_NONE) {
        struct sy_kernel_desc desc = describe(kernel, sketch->options[BYTES].value);
        sy_kernel_id made = {0};
        sketch->code = sy_graph_add_kernel(sketch->graph, &desc, &made);
        sketch->kernels[kernel] = made.index;
    }
    snprintf(name, sizeof(name), "%s(%u)", synthetic_names[kernel], sketch->task_count++);
    struct sy_task_desc desc = {.name = name,
                                .kernel = {sketch->kernels[kernel]},
                                .work = work,
                                .accesses = accesses,
                                .access_count = count};
    sketch->code = sketch->code ? sketch->code : sy_graph_add_task(sketch->graph, &desc, &id);
    for (uint32_t at = 0; at < count; at++) {
        struct trace *trace = &sketch->state->traces[accesses[at].datum];
        if (accesses[at].mode & SY_WRITE) {
            trace->all += kernel == SYNTHETIC_STREAM ? work : 0;
            trace->first += kernel == SYNTHETIC_STREAM ? 0 : 1;
        }
    }
}

/* Datum 0 goes to all of a round's branches; their join changes it for the next round. */
static void fork_join(struct sketch *sketch, uint32_t tasks, uint32_t width) {
    while (sketch->task_count < tasks) {
        struct sy_access all[SY_ARGUMENT_MAX] = {{0, SY_READ_WRITE}};
        uint32_t branch = 1;
        for (; branch <= width && sketch->task_count < tasks; branch++) {
            struct sy_access accesses[] = {{0, SY_READ}, {branch, SY_READ_WRITE}};
            all[branch] = (struct sy_access){branch, SY_READ};
            add_task(sketch, accesses, 2);
        }
        if (sketch->task_count < tasks) {
            add_task(sketch, all, branch);
        }
    }
}

static void draw(struct sketch *sketch, uint32_t data_count) {
    uint32_t tasks = (uint32_t)sketch->options[TASKS].value;
    char name[24];
    sy_data_id id;
    for (uint32_t at = 0; !sketch->code && at < data_count; at++) {
        snprintf(name, sizeof(name), "D(%u)", at);
        sketch->code = sy_graph_add_data(sketch->graph, name, sketch->options[BYTES].value, &id);
    }
    if (strcmp(sketch->options[SHAPE].word, "forkjoin") == 0) {
        fork_join(sketch, tasks, data_count - 1);
        return;
    }
    while (sketch->task_count < tasks) { /* as many chains as data */
        struct sy_access access = {sketch->task_count % data_count, SY_READ_WRITE};
        add_task(sketch, &access, 1);
    }
}

static int validate(const struct guest_option *options, struct sy_error *error) {
    char hint[120];
    double bytes = options[BYTES].value, below = floor(bytes / 8) * 8;
    if (below != bytes) {
        snprintf(hint, sizeof(hint), "nearest: bytes=%.0f or bytes=%.0f", below, below + 8);
        return guest_fail(error, -EINVAL, hint, "contend: bytes=%.0f is not a multiple of 8",
                          bytes);
    }
    if (strcmp(options[SHAPE].word, "forkjoin") == 0 &&
        options[WIDTH].value > SY_ARGUMENT_MAX - 1) {
        snprintf(hint, sizeof(hint), "use width=%d or less", SY_ARGUMENT_MAX - 1);
        return guest_fail(error, -EINVAL, hint,
                          "contend: a join of width=%.0f has too many arguments",
                          options[WIDTH].value);
    }
    return 0;
}

static uint32_t data_of(const struct guest_option *options) {
    uint32_t width = (uint32_t)options[WIDTH].value, tasks = (uint32_t)options[TASKS].value;
    if (strcmp(options[SHAPE].word, "forkjoin") == 0) {
        return 1 + width;
    }
    return strcmp(options[SHAPE].word, "chains") == 0 && width < tasks ? width : tasks;
}

int synthetic_build(const char *arguments, struct sy_graph **ret_graph, void **ret_state,
                    struct sy_error *error) {
    struct guest_option options[OPTIONS] = {
        [TASKS] = {"tasks", 64, 1, 10e6, true, NULL, false, ""},
        [WIDTH] = {"width", 8, 1, 1e6, true, NULL, false, ""},
        [BYTES] = {"bytes", 1 << 20, 8, 1e12, true, NULL, false, ""},
        [FLOPS] = {"flops", 1e8, 0, 1e15, false, NULL, false, ""},
        [PASSES] = {"passes", 8, 1, 1e6, true, NULL, false, ""},
        [LINK] = {"link", 64e6, 0, 1e13, false, NULL, false, ""},
        [NS] = {"ns", 1e6, 0, 1e13, false, NULL, false, ""},
        [KIND] = {"kind", 0, 0, 0, false, "spin stream transfer emulate", true, "spin"},
        [SHAPE] = {"shape", 0, 0, 0, false, "independent chains forkjoin", false, "independent"}};
    int code = guest_parse("contend", arguments, options, OPTIONS, error);
    code = code ? code : validate(options, error);
    if (code) {
        return code;
    }
    uint32_t data_count = data_of(options);
    struct sketch sketch = {.graph = sy_graph_create("contend", false), .options = options};
    memset(sketch.kernels, 0xff, sizeof(sketch.kernels));
    sketch.state =
        calloc(1, sizeof(*sketch.state) + (size_t)data_count * sizeof(sketch.state->traces[0]));
    if (!sketch.graph || !sketch.state) {
        sketch.code = -ENOMEM;
    } else {
        sketch.state->elements = (size_t)options[BYTES].value / sizeof(double);
        sketch.state->data_count = data_count;
        draw(&sketch, data_count);
    }
    if (sketch.code) {
        code = guest_fail(error, sketch.code, "ask for fewer tasks",
                          "contend: the graph could not be built");
    } else {
        code = sy_graph_seal(sketch.graph, error);
    }
    if (code) {
        sy_graph_destroy(sketch.graph);
        free(sketch.state);
        return code;
    }
    *ret_graph = sketch.graph;
    *ret_state = sketch.state;
    return 0;
}

/* --- values ----------------------------------------------------------------------------------- */

static double initial(uint32_t datum, size_t element) {
    return (double)((datum + element) % 7 + 1);
}

int synthetic_fill(void *state, uint32_t datum, void *pointer, uint64_t bytes) {
    const struct contention *contention = state;
    double *data = pointer;
    if (datum >= contention->data_count || bytes != contention->elements * sizeof(double)) {
        return -EINVAL;
    }
    for (size_t at = 0; at < contention->elements; at++) {
        data[at] = initial(datum, at);
    }
    return 0;
}

int synthetic_check(void *state, void *const *data, double *ret_error, double *ret_tolerance,
                    struct sy_error *error) {
    const struct contention *contention = state;
    double worst = 0;
    (void)error;
    for (uint32_t datum = 0; datum < contention->data_count; datum++) {
        const double *found = data[datum];
        for (size_t at = 0; at < contention->elements; at++) {
            double want = initial(datum, at) + contention->traces[datum].all +
                          (at == 0 ? contention->traces[datum].first : 0);
            double wrong = fabs(found[at] - want) / want;
            worst = wrong <= worst ? worst : wrong; /* NAN counts as wrong */
        }
    }
    *ret_error = isfinite(worst) ? worst : INFINITY;
    *ret_tolerance = 1e-12;
    return 0;
}
