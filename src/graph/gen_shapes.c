/* SPDX-License-Identifier: Apache-2.0
 *
 * Generators: plain shapes, regular or random. Work is the time on a CPU core.
 */
#include "graph/internal.h"
#include <errno.h>
#include <math.h>

enum { PURPOSE_TYPES = 1, PURPOSE_TASKS = 2, PURPOSE_EDGES = 3 }; /* of random streams */

static const struct sy_generator_kernel plain[] = {
    {"work", NULL, 1e6, 2e5, 0, 0.05, 4e9, 0, 0},
    {"join", NULL, 1e6, 0, 0, 0.05, 6e9, 0, 0},
};

/* --- chain, independent, stencil ----------------------------------------------------------------
 */

static void chain(struct sy_graph *graph, const double *values) {
    sy_generator_kernels(graph, plain, 1);
    sy_generator_data(graph, values[2], "x");
    for (uint32_t i = 0; i < (uint32_t)values[0]; i++) {
        sy_generator_task(graph, 0, values[1], ACCESSES(UPDATE(0)), "t%u", i);
    }
}

static void independent(struct sy_graph *graph, const double *values) {
    sy_generator_kernels(graph, plain, 1);
    for (uint32_t i = 0; i < (uint32_t)values[0]; i++) {
        sy_generator_data(graph, values[2], "x%u", i);
        sy_generator_task(graph, 0, values[1], ACCESSES(UPDATE(i)), "t%u", i);
    }
}

static double line_size(const double *values) {
    return 2 * values[0];
}

/* Two copies of the line take turns, as programs do: a step overwrites what the last but one read.
 */
static void stencil(struct sy_graph *graph, const double *values) {
    uint32_t width = (uint32_t)values[0], steps = (uint32_t)values[1];
    static const struct sy_generator_kernel kernel = {"stencil", NULL, 1e6, 5e4, 1e5,
                                                      0.03,      10e9, 0,   3e9};
    sy_generator_kernels(graph, &kernel, 1);
    for (uint32_t at = 0; at < 2 * width; at++) {
        sy_generator_data(graph, values[3], "x(%u,%u)", at / width, at % width);
    }
    for (uint32_t at = 0; at < width * steps; at++) {
        uint32_t step = at / width, i = at % width;
        uint32_t from = step % 2 * width, to = (step + 1) % 2 * width;
        struct sy_access accesses[5] = {{from + i, SY_READ}};
        uint32_t count = 1;
        if (i > 0) {
            accesses[count++] = (struct sy_access)READ(from + i - 1);
        }
        if (i + 1 < width) {
            accesses[count++] = (struct sy_access)READ(from + i + 1);
        }
        accesses[count] = (struct sy_access)WRITE(to + i);
        sy_generator_task(graph, 0, values[2], accesses, "s(%u,%u)", step, i);
    }
}

static double stencil_size(const double *values) {
    return 5 * values[0] * values[1];
}

/* --- trees --------------------------------------------------------------------------------------
 */

static double tree_tasks(const double *values) {
    double levels = values[0], arity = values[1];
    return arity == 1 ? levels : (pow(arity, levels) - 1) / (arity - 1);
}

static double tree_size(const double *values) {
    return 3 * tree_tasks(values);
}

/* Nodes are numbered level by level from the root; node i writes datum i. */
static void outtree(struct sy_graph *graph, const double *values) {
    uint32_t count = (uint32_t)tree_tasks(values), arity = (uint32_t)values[1];
    sy_generator_kernels(graph, plain, 1);
    for (uint32_t i = 0; i < count; i++) {
        struct sy_access accesses[3] = {{i, SY_WRITE}};
        if (i) {
            accesses[1] = (struct sy_access)READ((i - 1) / arity);
        }
        sy_generator_data(graph, values[3], "x%u", i);
        sy_generator_task(graph, 0, values[2], accesses, "t%u", i);
    }
}

/* The same tree upside down: node i of it is task count - 1 - i. */
static void intree(struct sy_graph *graph, const double *values) {
    uint32_t count = (uint32_t)tree_tasks(values), arity = (uint32_t)values[1];
    struct sy_access *accesses = sy_generator_accesses(graph, (size_t)arity + 2);
    if (!accesses) {
        return;
    }
    sy_generator_kernels(graph, plain, 1);
    for (uint32_t task = 0; task < count; task++) {
        uint64_t node = count - 1 - task, child = node * arity + 1;
        uint32_t used = 0;
        for (uint32_t c = 0; c < arity && child + c < count; c++) {
            accesses[used++] = (struct sy_access)READ((uint32_t)(count - 1 - child - c));
        }
        accesses[used++] = (struct sy_access)WRITE(task);
        accesses[used] = (struct sy_access){0, 0};
        sy_generator_data(graph, values[3], "x%u", task);
        sy_generator_task(graph, 0, values[2], accesses, "t%u", task);
    }
}

/* --- fork-join ----------------------------------------------------------------------------------
 */

static void phase(struct sy_graph *graph, uint32_t index, uint32_t width, const double *values,
                  struct sy_access *accesses, struct sy_rng *rng) {
    uint32_t input = index * (width + 1); /* the last join's datum; outputs follow */
    for (uint32_t i = 0; i < width; i++) {
        sy_generator_data(graph, values[3], "x(%u,%u)", index, i);
        accesses[i] = (struct sy_access)READ(input + 1 + i);
        sy_generator_task(graph, 0, values[2] * (0.6 + 0.8 * sy_rng_uniform(rng)),
                          ACCESSES(READ(input), WRITE(input + 1 + i)), "w(%u,%u)", index, i);
    }
    sy_generator_data(graph, values[3], "y%u", index + 1);
    accesses[width] = (struct sy_access)WRITE(input + width + 1);
    accesses[width + 1] = (struct sy_access){0, 0};
    sy_generator_task(graph, 1, 0.1 * values[2], accesses, "join(%u)", index);
}

static void forkjoin(struct sy_graph *graph, const double *values) {
    uint32_t width = (uint32_t)values[0], phases = (uint32_t)values[1];
    struct sy_rng rng = sy_rng_make((uint64_t)values[4], PURPOSE_TASKS, 0);
    struct sy_access *accesses = sy_generator_accesses(graph, (size_t)width + 2);
    if (!accesses) {
        return;
    }
    sy_generator_kernels(graph, plain, 2);
    sy_generator_data(graph, values[3], "y0");
    for (uint32_t p = 0; p < phases; p++) {
        phase(graph, p, width, values, accesses, &rng);
    }
}

static double forkjoin_size(const double *values) {
    return 5 * (values[0] + 1) * values[1];
}

/* --- layered random -----------------------------------------------------------------------------
 */

/* Kernel types: CPU times within a factor of 7, three in four also on a GPU (0.6 to 24 times as
 * fast), two in five on an FPGA (2 to 24 times). */
static void random_types(struct sy_graph *graph, uint32_t count, uint64_t seed) {
    for (uint32_t i = 0; i < count; i++) {
        struct sy_rng rng = sy_rng_make(seed, PURPOSE_TYPES, i);
        char name[16];
        snprintf(name, sizeof name, "type%u", i);
        struct sy_generator_kernel kernel = {.name = name, .log_sigma = 0.1};
        kernel.cpu_ns = 0.4e6 * exp(2 * sy_rng_uniform(&rng));
        double gpu = 0.6 * pow(40, sy_rng_uniform(&rng));
        double fpga = 2 * pow(12, sy_rng_uniform(&rng));
        kernel.gpu_ns = sy_rng_uniform(&rng) < 0.75 ? kernel.cpu_ns / gpu : 0;
        kernel.fpga_ns = sy_rng_uniform(&rng) < 0.4 ? kernel.cpu_ns / fpga : 0;
        kernel.cpu_bytes_per_s = 1e9 + 13e9 * sy_rng_uniform(&rng) * sy_rng_uniform(&rng);
        kernel.gpu_link_bytes_per_s = 3e9 * sy_rng_uniform(&rng);
        kernel.fpga_link_bytes_per_s = 6e9 * sy_rng_uniform(&rng);
        sy_generator_kernels(graph, &kernel, 1);
    }
}

#define LINK_BYTES_PER_S                                                                           \
    1e10 /* what the communication-to-computation ratio is measured against                        \
          */

static void layered_task(struct sy_graph *graph, uint32_t index, const double *values,
                         struct sy_access *accesses) {
    uint32_t width = (uint32_t)values[0], layer = index / width, used = 0;
    uint64_t seed = (uint64_t)values[6];
    struct sy_rng rng = sy_rng_make(seed, PURPOSE_TASKS, index);
    struct sy_rng edges = sy_rng_make(seed, PURPOSE_EDGES, index);
    uint32_t kernel = sy_rng_below(&rng, (uint32_t)values[4]);
    double work = values[5] * (0.5 + sy_rng_uniform(&rng));
    double bytes = values[3] * values[5] * 1e-3 * LINK_BYTES_PER_S * (0.5 + sy_rng_uniform(&rng));
    for (uint32_t i = 0; layer && i < width; i++) {
        if (sy_rng_uniform(&edges) < values[2]) {
            accesses[used++] = (struct sy_access)READ((layer - 1) * width + i);
        }
    }
    if (layer && !used) {
        accesses[used++] =
            (struct sy_access)READ((layer - 1) * width + sy_rng_below(&edges, width));
    }
    accesses[used++] = (struct sy_access)WRITE(index);
    accesses[used] = (struct sy_access){0, 0};
    sy_generator_data(graph, bytes, "x%u", index);
    sy_generator_task(graph, kernel, work, accesses, "t(%u,%u)", layer, index % width);
}

static void layered(struct sy_graph *graph, const double *values) {
    uint32_t count = (uint32_t)(values[0] * values[1]);
    struct sy_access *accesses = sy_generator_accesses(graph, (size_t)values[0] + 2);
    if (!accesses) {
        return;
    }
    random_types(graph, (uint32_t)values[4], (uint64_t)values[6]);
    for (uint32_t i = 0; i < count; i++) {
        layered_task(graph, i, values, accesses);
    }
}

static double layered_size(const double *values) {
    return values[0] * values[1] * (2 + values[0]);
}

/* --- stages -------------------------------------------------------------------------------------
 */

#define STAGE_TYPES 4u /* of kernels; the one behind them takes no time */

/* Tasks of a stage read what one or two earlier stages have joined, and a task that takes no time
 * joins what they write. Data are numbered as they are made: a stage's outputs, then its join. */
static void stage(struct sy_graph *graph, uint32_t index, const double *values, uint32_t *joins,
                  struct sy_access *accesses, uint32_t *next_datum) {
    struct sy_rng rng = sy_rng_make((uint64_t)values[5], PURPOSE_TASKS, index);
    uint32_t kernel = sy_rng_below(&rng, STAGE_TYPES), count = 0;
    uint32_t reads = index ? 1 + sy_rng_below(&rng, 2) : 0;
    uint32_t width = (uint32_t)exp(log(values[1] + 1) * sy_rng_uniform(&rng));
    double work = values[2] * exp(values[3] * sy_rng_normal(&rng));
    struct sy_access inputs[4];
    while (count < reads) {
        inputs[count++] = (struct sy_access)READ(joins[sy_rng_below(&rng, index)]);
    }
    count -= count == 2 && inputs[0].datum == inputs[1].datum;
    for (uint32_t i = 0; i < width; i++) {
        uint32_t datum = (*next_datum)++;
        sy_generator_data(graph, values[4], "x(%u,%u)", index, i);
        accesses[i] = (struct sy_access)READ(datum);
        inputs[count] = (struct sy_access)WRITE(datum);
        inputs[count + 1] = (struct sy_access){0, 0};
        double share = 0.8 + 0.4 * sy_rng_uniform(&rng);
        sy_generator_task(graph, kernel, work * share, inputs, "t(%u,%u)", index, i);
    }
    joins[index] = (*next_datum)++;
    sy_generator_data(graph, values[4], "y%u", index);
    accesses[width] = (struct sy_access)WRITE(joins[index]);
    accesses[width + 1] = (struct sy_access){0, 0};
    sy_generator_task(graph, STAGE_TYPES, 0, accesses, "sync(%u)", index);
}

static void stages(struct sy_graph *graph, const double *values) {
    static const struct sy_generator_kernel sync = {.name = "sync", .cpu_ns = 1, .gpu_ns = 1};
    struct sy_access *accesses = sy_generator_accesses(graph, (size_t)values[1] + 2);
    uint32_t *joins = sy_arena_alloc(graph->arena, (size_t)values[0], sizeof *joins),
             next_datum = 0;
    if (!accesses || !joins) {
        graph->builder->failure = -ENOMEM;
        return;
    }
    random_types(graph, STAGE_TYPES, (uint64_t)values[5]);
    sy_generator_kernels(graph, &sync, 1);
    for (uint32_t i = 0; i < (uint32_t)values[0]; i++) {
        stage(graph, i, values, joins, accesses, &next_datum);
    }
}

static double stages_size(const double *values) {
    return 5 * (values[1] + 1) * values[0];
}

#define WORK  TIME("work", 10, 0, 1e9)
#define BYTES REAL("bytes", 8e6, 0, 1e15)
#define SEED  WHOLE("seed", 1, 0, 9007199254740992.0)

const struct sy_generator sy_generators_shapes[] = {
    GENERATOR(chain, line_size, "chain:TASKS[,work=10ms,bytes=8e6]  one task after the other",
              WHOLE("tasks", 10, 1, 1e7), WORK, BYTES),
    GENERATOR(independent, line_size,
              "independent:TASKS[,work=10ms,bytes=8e6]  no dependencies at all",
              WHOLE("tasks", 10, 1, 1e7), WORK, BYTES),
    GENERATOR(stencil, stencil_size,
              "stencil:WIDTH[,steps=10,work=1ms,bytes=1e6]  one-dimensional stencil over time",
              WHOLE("width", 16, 1, 1e6), WHOLE("steps", 10, 1, 1e6), TIME("work", 1, 0, 1e9),
              BYTES),
    GENERATOR(outtree, tree_size, "outtree:LEVELS[,arity=2,work=10ms,bytes=8e6]  from one root",
              WHOLE("levels", 5, 1, 1e6), WHOLE("arity", 2, 1, 1e6), WORK, BYTES),
    GENERATOR(intree, tree_size, "intree:LEVELS[,arity=2,work=10ms,bytes=8e6]  into one root",
              WHOLE("levels", 5, 1, 1e6), WHOLE("arity", 2, 1, 1e6), WORK, BYTES),
    GENERATOR(
        forkjoin, forkjoin_size,
        "forkjoin:WIDTH[,phases=4,work=10ms,bytes=8e6,seed=1]  phases that each end with a join",
        WHOLE("width", 16, 1, 1e6), WHOLE("phases", 4, 1, 1e6), WORK, BYTES, SEED),
    GENERATOR(layered, layered_size,
              "layered:WIDTH[,depth=10,density=0.2,ccr=0.1,types=6,work=10ms,seed=1]  random "
              "layers; ccr: transfer time / run time",
              WHOLE("width", 8, 1, 20000), WHOLE("depth", 10, 1, 1e6), REAL("density", 0.2, 0, 1),
              REAL("ccr", 0.1, 0, 1e6), WHOLE("types", 6, 1, 1000), WORK, SEED),
    GENERATOR(stages, stages_size,
              "stages:STAGES[,width=20,work=1000,spread=2,bytes=0,seed=1]  stages of up to WIDTH "
              "tasks, as batch jobs have; spread: of the logarithm of their work; tasks that take "
              "no time join them",
              WHOLE("stages", 8, 1, 1e6), WHOLE("width", 20, 1, 1e6), REAL("work", 1000, 0, 1e9),
              REAL("spread", 2, 0, 10), REAL("bytes", 0, 0, 1e15), SEED),
    {0},
};
