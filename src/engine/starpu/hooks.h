/* SPDX-License-Identifier: Apache-2.0
 *
 * engine/starpu: Symphony's policies as a StarPU scheduling policy.
 *
 * In: StarPU's hooks (submit, push, pop, before and after execution). Out: tasks for workers. The
 * same code serves symph-engine, which configures it by a call, and libsymph-starpu.so, which reads
 * the environment. It compiles against StarPU 1.3 and 1.4, and against builds with SimGrid, where
 * time is virtual. Never knows: what a task computes.
 */
#ifndef SY_ENGINE_STARPU_HOOKS_H
#define SY_ENGINE_STARPU_HOOKS_H

#include "engine/engine.h"
#include "engine/request.h"
#include <starpu.h>
#include <starpu_scheduler.h>

/* Whose a task is: jobs of several tenants share a machine fairly. */
struct sy_starpu_job {
    uint32_t job, tenant;
    double weight;
    double arrive_ns;   /* by the clock of decisions; 0: when it is first seen */
    double isolated_ns; /* how long it takes alone; 0 or NAN: not known */
};

/* What a program tells of a task, before which it holds what is so without a word. */
struct sy_starpu_told {
    uint32_t
        number; /* in the program's own count, for the record; SY_NONE: it has no place there */
    double bytes, flops;
    uint32_t
        footprint; /* tasks of one kernel with the same take the same time; 0: StarPU's counts */
    struct sy_starpu_job job;
    uint64_t build; /* of its code; 0: not known. Times of another are only where to start from */
};

/* What a program may tell the policy; all members may be NULL or 0. */
struct sy_starpu_options {
    /* Its policy (NULL: SYMPH_POLICY, else the default), its models (folder of the cost store;
     * NULL: SYMPH_MODELS, else the user's cache; "": nothing is kept) and its seed. Must stay. */
    const struct sy_request *request;
    bool record;           /* keep every decision with its alternatives, */
    uint32_t decision_max; /* but at most so many; 0: all */
    bool ordered; /* jobs of several tenants compete: no task passes the policy by, however short */
    /* StarPU's last CPU workers are so many that share the cores of those before them, and take
     * what pushes their tasks aside; 0: policies cannot do that. */
    uint32_t urgent_count;
    /* NULL: tasks are one job, numbered in order of submission; StarPU's footprint alone tells
     * sizes apart; the build is that of the program, or of the library, that has the codelet's
     * functions.
     */
    void (*describe)(const struct starpu_task *task, struct sy_starpu_told *told);
};

/* The policy to hand to starpu_conf.sched_policy (or to STARPU_SCHED_LIB). */
extern struct starpu_sched_policy sy_starpu_policy;

/* Before starpu_init. Checks that the policy exists and can run without hidden knowledge. */
SY_MUST_CHECK int sy_starpu_configure(const struct sy_starpu_options *options,
                                      struct sy_error *error);

/* Before starpu_init: why the StarPU that runs is not built like the one that this was compiled
 * for, written into text; NULL: it is. */
const char *sy_starpu_misfit(char *text, size_t size);

/* What StarPU's workers, memory nodes and measured buses are, as a machine; device i is worker i,
 * but for the last ones, which are urgent. After starpu_init. */
SY_MUST_CHECK int sy_starpu_machine(uint32_t urgent_count, struct sy_machine **ret_machine,
                                    struct sy_error *error);

/* Bytes that a bus of StarPU's has carried since the policy's start; buses.c. */
double sy_bus_bytes(int bus);
void sy_bus_restart(void);

/* After starpu_init, before the first task, which would otherwise wait for it: opens counters,
 * makes room for a plan. The calling thread keeps off the cores that drive accelerators from now
 * on. */
void sy_starpu_prepare(void);

/* Of urgent workers, where there are any (urgent.c). The calling worker and the other one of its
 * core are bound to it: normal ones first. */
void sy_starpu_bind_self(void);
/* They may sleep from now on, at high priority; or they shall poll like others, which those who
 * have a task for every worker, and starpu_shutdown, need. */
void sy_starpu_let_sleep(bool sleep);
/* The calling thread comes before them, too, or is as it was. False: that is not permitted. */
bool sy_starpu_raise_self(bool raise);

/* Once all tasks have ended, before starpu_shutdown: the decisions since the last call, in order of
 * time (starpu_timing_now() * 1e3, ns); to be freed. */
SY_MUST_CHECK int sy_starpu_take_decisions(struct sy_decided **ret_decisions, uint32_t *ret_count);
/* Robust estimate of the model for one task on one worker that can run it, ns, from times of the
 * code that runs, by what the program told of it; NAN: unknown. */
double sy_starpu_estimate_ns(const char *kernel, double bytes, double flops, uint32_t footprint,
                             uint32_t worker);
/* Keeps what was learned so far; whatever remains is kept when the last context closes. */
SY_MUST_CHECK int sy_starpu_save(struct sy_error *error);
/* Why nothing can be kept, or what was wrong with what was; NULL: all is well. */
const char *sy_starpu_warning(void);
/* Time that deciding took on the critical path, per task, ns. */
void sy_starpu_decision_cost(double *ret_p50_ns, double *ret_p99_ns);
/* After a failure inside the policy (an illegal decision, no memory): the message; NULL: none. */
const char *sy_starpu_failure(void);

#endif
