/* SPDX-License-Identifier: Apache-2.0
 *
 * senses: from samples of counters to what a policy sees of the shared resources. The only way, in
 * the simulator and on real machines.
 *
 * In: samples, what our own tasks draw and our copies move, how long tasks took, the time. Out: per
 * resource the use by others with a band, the whole use, when it last changed; which counters to
 * read next; and how much slower a task would be (slowdown). Never knows: whether time, counters
 * and tasks are real. Invariants: nothing is allocated after create; the same samples give the same
 * belief. Others are levels that jump (levels.h). A counter sees a level times a ratio that is
 * learned in the log domain, tied to other counters' by what the listing says.
 * docs/design/008-load-and-slowdown.md.
 */
#ifndef SY_BELIEF_SENSES_H
#define SY_BELIEF_SENSES_H

#include "counters/counters.h"
#include <symph/machine.h>

#define SY_DRAW_MAX 8

struct sy_draw { /* on resources, each once */
    uint32_t count;
    const uint32_t *resources;
    const double *bytes_per_s; /* at full speed */
};

struct sy_senses_options {
    const struct sy_machine *machine; /* borrowed, as all of these */
    const struct sy_counter *counters;
    uint32_t counter_count;
    const struct sy_pmu *pmus;
    uint32_t pmu_count;
    uint32_t kernel_count;
    uint32_t draw_capacity; /* further draws at a time are left out */
    double step_ns;         /* about the time between two reads */
};

/* What is believed of one resource, in bytes per second. */
struct sy_sensed {
    double others, others_sd; /* what others want of it, expected: for who decides */
    double median;            /* of it: for who reads a number */
    double own;               /* what we take */
    double total;             /* of all together: at most its capacity */
    double seen_ns;           /* a counter, or a duration, last spoke of it; -1: never */
    double changed_ns;        /* others last changed */
};

struct sy_senses;
/* In the arena, which frees it; NULL when out of memory. A counter whose event is the name of a
 * resource ("dram0", "gpu0.down") counts its traffic, in bytes per second or as a share; others
 * speak of a resource by their role (senses_witness.c); the rest is left out. */
struct sy_senses *sy_senses_create(struct sy_arena *arena, const struct sy_senses_options *options);
/* Nothing was seen, and it is 0 ns. */
void sy_senses_reset(struct sy_senses *senses, double step_ns);

/* Our tasks: begin says that what was said before held until now, then what draws from now on, then
 * ready. Our copies: bytes that crossed a resource since it was last read. */
void sy_senses_begin(struct sy_senses *senses, double now_ns);
void sy_senses_draws(struct sy_senses *senses, struct sy_draw draw);
void sy_senses_ready(struct sy_senses *senses);
void sy_senses_moved(struct sy_senses *senses, uint32_t resource, double bytes);
/* A task of ours, still among those that draw, took that long. log_sigma: spread of its time. */
void sy_senses_ended(struct sy_senses *senses, uint32_t kernel, uint32_t class_index,
                     struct sy_draw draw, double alone_ns, double duration_ns, double log_sigma);

/* Counters were read; their windows end now. Samples that make no sense are left out. */
void sy_senses_read(struct sy_senses *senses, double now_ns, const struct sy_sample *samples,
                    uint32_t count);
/* Counters to select next, into room for all of them; returns how many. A quarter of those that fit
 * get their turn, the others are those of the resources that we use and know least of. */
uint32_t sy_senses_choose(struct sy_senses *senses, uint32_t *ret_counters);

/* As it was when counters were last read. */
struct sy_sensed sy_senses_resource(const struct sy_senses *senses, uint32_t resource);
/* What others want with 95 % probability, now. */
void sy_senses_band(const struct sy_senses *senses, uint32_t resource, double *ret_low,
                    double *ret_high);
/* Traffic over what the counter says, and the resource, as far as it is known now; SY_NONE: the
 * counter speaks of none. */
uint32_t sy_senses_scale(const struct sy_senses *senses, uint32_t counter, double *ret_bytes_per_s);
/* Names of the listing's events that speak of resources, NULL-terminated, in the arena. */
SY_MUST_CHECK int sy_senses_wanted(const struct sy_listing *listing, struct sy_arena *arena,
                                   const char *const **ret_events);

/* --- slowdown: what a task would get of shared resources if it began now; slowdown.c ------------
 */

struct sy_slowing {
    double ratio, sd; /* duration / duration alone, expected over what is not known */
    double median;    /* as likely more as less: the mean of a skewed thing is seldom near it */
    double harm;      /* extra time of what we run already, over this task's time alone */
};

struct sy_slowdown;
/* In the arena, which frees it; NULL when out of memory. The machine is borrowed. */
struct sy_slowdown *sy_slowdown_create(struct sy_arena *arena, const struct sy_machine *machine,
                                       uint32_t kernel_count);
void sy_slowdown_reset(struct sy_slowdown *slowdown); /* nothing was learned */
/* A look at the machine: begin, then what runs and what is told of the resources, then ready. Of
 * what nobody tells, others take nothing. */
void sy_slowdown_begin(struct sy_slowdown *slowdown, double now_ns);
void sy_slowdown_runs(struct sy_slowdown *slowdown, struct sy_draw draw);
void sy_slowdown_told(struct sy_slowdown *slowdown, uint32_t resource, double others_bytes_per_s,
                      double sd_bytes_per_s);
void sy_slowdown_ready(struct sy_slowdown *slowdown);
/* One more that will run, decided since. */
void sy_slowdown_add(struct sy_slowdown *slowdown, struct sy_draw draw);
/* What a newcomer can expect of each resource. */
const double *sy_slowdown_open(const struct sy_slowdown *slowdown);
/* beside: the kernel on a device that shares its core, or SY_NONE. */
struct sy_slowing sy_slowdown_expect(const struct sy_slowdown *slowdown, uint32_t kernel,
                                     uint32_t device, struct sy_draw draw, uint32_t beside,
                                     double alone_ns);
/* The extra share of time that a kernel beside another costs that one. */
double sy_slowdown_disturbs(const struct sy_slowdown *slowdown, uint32_t kernel, uint32_t beside);
/* A task began under what was just expected; and ended, having taken ratio * its time alone. */
void sy_slowdown_started(struct sy_slowdown *slowdown, uint32_t device, uint32_t kernel,
                         struct sy_draw draw, uint32_t beside, double alone_ns);
void sy_slowdown_ended(struct sy_slowdown *slowdown, uint32_t device, double ratio);

#endif
