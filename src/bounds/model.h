/* SPDX-License-Identifier: Apache-2.0
 *
 * The schedule model that plan, exact and anneal share; private to this room.
 *
 * A task starts when its device is free and each input has arrived: end of the producer plus the
 * isolated transfer from the producer's memory, whatever other copies exist. Data without a
 * producer leave their home when the job arrives. Precedence without data costs no transfer.
 * Images of FPGA regions are not modelled here: a plan may be faster than such a board.
 */
#ifndef SY_BOUNDS_MODEL_H
#define SY_BOUNDS_MODEL_H

#include "bounds/bounds.h"

struct sy_bound_model {
    const struct sy_workload *workload;
    const struct sy_machine *machine;
    struct sy_arena *arena;
    uint32_t task_count, device_count, class_count, memory_count;
    uint32_t group_count;   /* devices of one class and memory are interchangeable */
    uint32_t *device_group; /* per device */
    uint32_t *group_class, *group_memory, *group_size;
    double *latency_ns, *ns_per_byte; /* [from * memory_count + to]; 0 on the diagonal */
    double *edge_bytes;               /* like workload->pred: largest datum along it; 0: none */
    double *release_ns; /* [task * memory_count + memory]: job arrival and initial inputs */
};

SY_MUST_CHECK int sy_bound_model_init(struct sy_bound_model *model,
                                      const struct sy_workload *workload);
void sy_bound_model_finish(struct sy_bound_model *model);

static inline double sy_bound_hop_ns(const struct sy_bound_model *model, uint32_t from, uint32_t to,
                                     double bytes) {
    size_t pair = (size_t)from * model->memory_count + to;
    return bytes > 0 ? model->latency_ns[pair] + bytes * model->ns_per_byte[pair] : 0;
}

static inline double sy_bound_time_ns(const struct sy_bound_model *model, uint32_t task,
                                      uint32_t class_index) {
    return model->workload->time_ns[(size_t)task * model->class_count + class_index];
}

/* When all inputs of a task are in a memory, given where its predecessors ran and ended. */
static inline double sy_bound_inputs_ns(const struct sy_bound_model *model, const double *end_ns,
                                        const uint32_t *device, uint32_t task, uint32_t memory) {
    const struct sy_workload *workload = model->workload;
    double arrival = model->release_ns[(size_t)task * model->memory_count + memory];
    for (uint32_t e = workload->pred_start[task]; e < workload->pred_start[task + 1]; e++) {
        uint32_t producer = workload->pred[e];
        uint32_t from = model->machine->devices[device[producer]].memory;
        double there =
            end_ns[producer] + sy_bound_hop_ns(model, from, memory, model->edge_bytes[e]);
        arrival = there > arrival ? there : arrival;
    }
    return arrival;
}

enum sy_rank_kind { SY_RANK_MEAN, SY_RANK_MIN };
/* Upward rank: longest way to the end, execution and transfer at their mean over devices (HEFT), or
 * execution on the fastest class. ret_rank_ns has task_count entries. */
void sy_bound_rank(const struct sy_bound_model *model, enum sy_rank_kind kind, double *ret_rank_ns);

#endif
