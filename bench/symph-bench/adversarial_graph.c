/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs for the adversarial search: drawn at random within a kind, changed a little, built.
 *
 * Invariant: every task can run on a core, so that no loss of an accelerator ends a job.
 */
#include "symph-bench/adversarial.h"

#include <errno.h>
#include <math.h>

#define SHORTEST    1.0  /* ns, of extreme tasks, */
#define LONGEST     1e13 /* and hours */
#define FASTER_MOST 31   /* an accelerator than a core, */
#define FASTER      0.3  /* and the least */
#define NOWHERE     0.1  /* share of tasks that an accelerator cannot run */
#define IMAGE_LEAST 1e4  /* bytes */
#define IMAGE_MOST  1e7

static double log_uniform(struct sy_rng *rng, double least, double most) {
    return least * pow(most / least, sy_rng_uniform(rng));
}

static double any_cpu_ns(struct sy_rng *rng, const struct adversarial_kind *kind) {
    double which = sy_rng_uniform(rng);
    return which < kind->nothing ? 0
           : which < kind->nothing + kind->extreme
               ? log_uniform(rng, SHORTEST, LONGEST)
               : log_uniform(rng, kind->time_least_ns, kind->time_most_ns);
}

/* Nothing takes less than the kind's least time but what is extreme. */
static double any_accelerator_ns(struct sy_rng *rng, const struct adversarial_kind *kind,
                                 double cpu_ns) {
    if (sy_rng_uniform(rng) < NOWHERE) {
        return INFINITY;
    }
    double ns = cpu_ns / log_uniform(rng, FASTER, FASTER_MOST);
    bool usual = cpu_ns >= kind->time_least_ns && cpu_ns <= kind->time_most_ns;
    return usual ? fmin(kind->time_most_ns, fmax(kind->time_least_ns, ns)) : ns;
}

static double any_bytes(struct sy_rng *rng, const struct adversarial_kind *kind) {
    return sy_rng_uniform(rng) < 0.5 ? 0 : log_uniform(rng, kind->bytes_least, kind->bytes_most);
}

static void new_task(struct sy_rng *rng, const struct adversarial_kind *kind,
                     struct adversarial_instance *it, uint32_t task) {
    it->time_ns[task][SY_CPU] = any_cpu_ns(rng, kind);
    for (uint32_t k = SY_CPU + 1; k < SY_KIND_COUNT; k++) {
        it->time_ns[task][k] = any_accelerator_ns(rng, kind, it->time_ns[task][SY_CPU]);
    }
    it->bytes[task] = any_bytes(rng, kind);
    it->input_bytes[task] = sy_rng_uniform(rng) < 0.7 ? 0 : any_bytes(rng, kind);
    it->kernel[task] = sy_rng_below(rng, ADVERSARIAL_KERNELS);
    it->before[task] = 0;
    for (uint32_t b = 0; b < task; b++) {
        it->before[task] |= (uint32_t)(sy_rng_uniform(rng) < 2.0 / (task + 1)) << b;
    }
}

static uint32_t any_machine(struct sy_rng *rng, const struct adversarial_class *class) {
    uint32_t count = 0;
    while (count < ADVERSARIAL_MACHINES && class->machines[count]) {
        count++;
    }
    return sy_rng_below(rng, count);
}

/* The second job begins where it may: both have tasks. */
static void split(struct sy_rng *rng, const struct adversarial_kind *kind,
                  struct adversarial_instance *it) {
    bool two = kind->two_jobs;
    it->second = two ? 1 + sy_rng_below(rng, it->task_count - 1) : it->task_count;
    it->arrive_ns = two ? log_uniform(rng, kind->time_least_ns, kind->time_most_ns) : 0;
}

static void lose(struct sy_rng *rng, struct adversarial_instance *it) {
    it->lost = sy_rng_uniform(rng);
    it->lost_share = 0.3 + 0.4 * sy_rng_uniform(rng);
}

void sy_adversarial_draw(struct sy_rng *rng, const struct adversarial_kind *kind,
                         const struct adversarial_class *class, struct adversarial_instance *it) {
    *it = (struct adversarial_instance){.task_count = 4 + sy_rng_below(rng, ADVERSARIAL_TASKS - 3)};
    it->machine = any_machine(rng, class);
    for (uint32_t k = 0; k < ADVERSARIAL_KERNELS; k++) {
        it->image_bytes[k] = log_uniform(rng, IMAGE_LEAST, IMAGE_MOST);
    }
    for (uint32_t t = 0; t < it->task_count; t++) {
        new_task(rng, kind, it, t);
    }
    split(rng, kind, it);
    lose(rng, it);
}

/* Within the range that it is in. */
static double scaled(struct sy_rng *rng, const struct adversarial_kind *kind, double ns) {
    bool usual = ns >= kind->time_least_ns && ns <= kind->time_most_ns;
    double least = usual ? kind->time_least_ns : SHORTEST;
    double most = usual ? kind->time_most_ns : LONGEST;
    return ns > 0 ? fmin(most, fmax(least, ns * exp(0.5 * sy_rng_normal(rng)))) : 0;
}

static void drop_task(struct adversarial_instance *it, uint32_t task) {
    for (uint32_t t = task; t + 1 < it->task_count; t++) {
        for (uint32_t k = 0; k < SY_KIND_COUNT; k++) {
            it->time_ns[t][k] = it->time_ns[t + 1][k];
        }
        it->bytes[t] = it->bytes[t + 1];
        it->input_bytes[t] = it->input_bytes[t + 1];
        it->kernel[t] = it->kernel[t + 1];
        uint32_t low = it->before[t + 1] & ((1u << task) - 1), high = it->before[t + 1] >> task;
        it->before[t] = low | (high >> 1) << task;
    }
    it->second -= it->second > task;
    it->second += it->second == 0;
    it->task_count--;
}

static void mutate_task(struct sy_rng *rng, const struct adversarial_kind *kind,
                        struct adversarial_instance *it, uint32_t task) {
    double *time_ns = it->time_ns[task];
    uint32_t k = SY_CPU + 1 + sy_rng_below(rng, SY_KIND_COUNT - 1);
    switch (sy_rng_below(rng, 8)) {
    case 0:
        time_ns[SY_CPU] =
            sy_rng_uniform(rng) < 0.3 ? any_cpu_ns(rng, kind) : scaled(rng, kind, time_ns[SY_CPU]);
        break;
    case 1:
        time_ns[SY_CPU] = scaled(rng, kind, time_ns[SY_CPU]);
        break;
    case 2:
    case 3:
        time_ns[k] = isfinite(time_ns[k]) ? scaled(rng, kind, time_ns[k])
                                          : any_accelerator_ns(rng, kind, time_ns[SY_CPU]);
        break;
    case 4:
    case 5:
        it->before[task] ^= task ? 1u << sy_rng_below(rng, task) : 0;
        break;
    case 6:
        it->bytes[task] = any_bytes(rng, kind);
        it->input_bytes[task] = sy_rng_uniform(rng) < 0.7 ? 0 : any_bytes(rng, kind);
        break;
    default:
        it->kernel[task] = sy_rng_below(rng, ADVERSARIAL_KERNELS);
    }
}

/* What concerns more than a task. */
static void mutate_whole(struct sy_rng *rng, const struct adversarial_kind *kind,
                         const struct adversarial_class *class, struct adversarial_instance *it) {
    switch (sy_rng_below(rng, kind->two_jobs ? 7 : kind->loses ? 5 : 4)) {
    case 0:
        it->machine = any_machine(rng, class);
        break;
    case 1:
        if (it->task_count < ADVERSARIAL_TASKS) {
            it->second += !kind->two_jobs;
            new_task(rng, kind, it, it->task_count++);
        }
        break;
    case 2:
        if (it->task_count > 3) {
            drop_task(it, sy_rng_below(rng, it->task_count));
        }
        break;
    case 3:
        it->image_bytes[sy_rng_below(rng, ADVERSARIAL_KERNELS)] =
            log_uniform(rng, IMAGE_LEAST, IMAGE_MOST);
        break;
    case 4:
        lose(rng, it);
        break;
    case 5:
        it->arrive_ns *= exp(sy_rng_normal(rng));
        break;
    default:
        split(rng, kind, it);
    }
}

void sy_adversarial_mutate(struct sy_rng *rng, const struct adversarial_kind *kind,
                           const struct adversarial_class *class, struct adversarial_instance *it) {
    if (sy_rng_uniform(rng) < 0.7) {
        mutate_task(rng, kind, it, sy_rng_below(rng, it->task_count));
    } else {
        mutate_whole(rng, kind, class, it);
    }
}

/* --- building ----------------------------------------------------------------------------------
 */
static int build_task(struct sy_graph *graph, const struct adversarial_instance *it, uint32_t first,
                      uint32_t task, const sy_kernel_id *kernels, sy_data_id *data) {
    struct sy_access accesses[ADVERSARIAL_TASKS + 2];
    uint32_t count = 0;
    sy_data_id input;
    int code = sy_graph_add_data(graph, NULL, it->bytes[task], &data[task]);
    if (!code && it->input_bytes[task] > 0) {
        code = sy_graph_add_data(graph, NULL, it->input_bytes[task], &input);
        accesses[count++] = (struct sy_access){input.index, SY_READ};
    }
    for (uint32_t b = first; b < task; b++) {
        if (it->before[task] >> b & 1) {
            accesses[count++] = (struct sy_access){data[b].index, SY_READ};
        }
    }
    accesses[count++] = (struct sy_access){data[task].index, SY_WRITE};
    sy_task_id id;
    struct sy_task_desc desc = {.kernel = kernels[it->kernel[task]],
                                .work = 1,
                                .time_ns = it->time_ns[task],
                                .accesses = accesses,
                                .access_count = count};
    return code ? code : sy_graph_add_task(graph, &desc, &id);
}

int sy_adversarial_build(const struct adversarial_instance *it, const char *name, uint32_t first,
                         uint32_t end, struct sy_graph **ret_graph) {
    static const double demand_bytes_per_s[ADVERSARIAL_KERNELS] = {0, 1e9, 4e9, 16e9};
    sy_kernel_id kernels[ADVERSARIAL_KERNELS];
    sy_data_id data[ADVERSARIAL_TASKS];
    struct sy_graph *graph = sy_graph_create(name, false);
    int code = graph ? 0 : -ENOMEM;
    for (uint32_t k = 0; !code && k < ADVERSARIAL_KERNELS; k++) {
        char kernel[16];
        snprintf(kernel, sizeof kernel, "task%u", k);
        struct sy_kernel_desc desc = {.name = kernel};
        desc.variants[SY_CPU] = (struct sy_variant){
            .present = true, .ns_per_work = 1, .demand_bytes_per_s = demand_bytes_per_s[k]};
        for (uint32_t d = SY_CPU + 1; d < SY_KIND_COUNT; d++) {
            desc.variants[d] = (struct sy_variant){.present = true, .ns_per_work = 1};
        }
        desc.variants[SY_FPGA].image_bytes = it->image_bytes[k];
        code = sy_graph_add_kernel(graph, &desc, &kernels[k]);
    }
    for (uint32_t t = first; !code && t < end; t++) {
        code = build_task(graph, it, first, t, kernels, data);
    }
    code = code ? code : sy_graph_seal(graph, NULL);
    if (code) {
        sy_graph_destroy(graph);
        return code;
    }
    *ret_graph = graph;
    return 0;
}
