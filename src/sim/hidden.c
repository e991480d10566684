/* SPDX-License-Identifier: Apache-2.0
 *
 * What is hidden from policies: how long tasks really take (noise, spikes, errors of the cost
 * model), other tenants' load on resources and devices, which comes and goes, and devices that are
 * slow for long.
 *
 * In: options, the seed. Out: factors of tasks and kernels, drawn once before any policy acts; in
 * a run, events that switch load on and off. Invariant: all of it depends on the seed alone, so
 * that every policy meets the same world.
 */
#include "sim/state.h"
#include <math.h>
#include <string.h>

#define HIDDEN_WEIGHT 4.0  /* other tenants stand for several flows, unless options say how many */
#define HIDDEN_DUTY   0.4  /* share of the time that they are on, at least */
#define HIDDEN_LEVEL  0.63 /* mean demand while on, over the capacity, at most unless always on */
#define HIDDEN_TOP    0.95 /* largest demand while on */

/* --- how long tasks really take ------------------------------------------------------------------
 */
static double draw_factor(const struct sy_sim *sim, uint32_t task) {
    const struct sy_sim_options *o = &sim->options;
    struct sy_rng rng = sy_rng_make(o->seed, NOISE, task);
    double factor = 1;
    if (o->noise_table && o->noise_table->count) {
        double at = sy_rng_uniform(&rng) * (o->noise_table->count - 1);
        uint32_t low = (uint32_t)at;
        double above = o->noise_table->ratio[low + 1 < o->noise_table->count ? low + 1 : low];
        factor = o->noise_table->ratio[low];
        factor += (at - low) * (above - factor);
    } else if (o->noise_sigma > 0) {
        factor = exp(o->noise_sigma * sy_rng_normal(&rng));
    }
    if (o->spike_probability > 0) {
        struct sy_rng spike = sy_rng_make(o->seed, SPIKE, task);
        factor *= sy_rng_uniform(&spike) < o->spike_probability ? o->spike_factor : 1;
    }
    return factor;
}

/* Which task of its graph, all jobs in one row; parts of one are as fast or slow as each other. */
static void draw_tasks(struct sy_sim *sim) {
    uint32_t whole = 0;
    for (uint32_t t = 0; t < sim->w->task_count; t++) {
        bool goes_on = sy_workload_task(sim->w, t)->part > 0;
        sim->task_factor[t] = goes_on ? sim->task_factor[t - 1] : draw_factor(sim, whole++);
    }
}

void sy_sim_hidden_draw(struct sy_sim *sim) {
    draw_tasks(sim);
    for (uint32_t k = 0; k < sim->w->kernel_count; k++) {
        for (uint32_t c = 0; c < sim->w->class_count; c++) {
            uint64_t key = sy_hash(sim->w->kernel_names[k], strlen(sim->w->kernel_names[k])) + c;
            struct sy_rng rng = sy_rng_make(sim->options.seed, MODEL_ERROR, key);
            double sigma = sim->options.model_error_sigma;
            sim->kernel_factor[(size_t)k * sim->w->class_count + c] =
                sigma > 0 ? exp(sigma * sy_rng_normal(&rng)) : 1;
        }
    }
}

/* --- other tenants' load -------------------------------------------------------------------------
 */
/* Duty and spread such that the mean over time is the load asked for and no demand exceeds the top.
 */
struct hidden {
    double duty, level, spread;
};

static struct hidden hidden_of(double load) {
    struct hidden h = {.duty = fmin(fmax(HIDDEN_DUTY, load / HIDDEN_LEVEL), HIDDEN_TOP)};
    h.level = load / h.duty;
    h.spread = fmin(0.5, fmax(0, HIDDEN_TOP / h.level - 1));
    return h;
}

static bool stragglers_wanted(const struct sy_sim *sim) {
    return sim->options.straggler_share > 0 && sim->options.straggler_factor > 1;
}

static void set_speed(struct sy_sim *sim, uint32_t d) {
    double slower = sim->straggling[d] ? sim->options.straggler_factor : 1;
    sim->world.devices[d].speed = sim->speed_share[d] / slower;
    sy_world_retune(&sim->world, d);
}

/* How long the device stays as it is. Exponential, so that it does not matter when one begins to
 * look. */
static void plan_straggler(struct sy_sim *sim, uint32_t d) {
    double share = sim->options.straggler_share, spell_ns = sim->straggler_ns;
    spell_ns *= sim->straggling[d] ? 1 : (1 - share) / share;
    sy_world_set_event(&sim->world, sim->slot_straggler + d,
                       sim_now(sim) + spell_ns * sy_rng_exponential(&sim->straggler_rng[d]));
}

static void reset_speeds(struct sy_sim *sim) {
    for (uint32_t d = 0; d < sim->machine->device_count; d++) {
        sim->speed_share[d] = 1;
        sim->straggling[d] = false;
        if (sim->options.throttle > 0) {
            sim->speed_rng[d] = sy_rng_make(sim->options.seed, THROTTLE, d);
            sy_world_set_event(&sim->world, sim->slot_speed + d,
                               sy_rng_exponential(&sim->speed_rng[d]) * sim->hidden_period_ns);
        }
        if (stragglers_wanted(sim)) {
            struct sy_rng *rng = &sim->straggler_rng[d];
            *rng = sy_rng_make(sim->options.seed, STRAGGLER, d);
            sim->straggling[d] = sy_rng_uniform(rng) < sim->options.straggler_share;
            set_speed(sim, d);
            plan_straggler(sim, d);
        }
    }
}

void sy_sim_straggler_event(struct sy_sim *sim, uint32_t d) {
    sim->straggling[d] = !sim->straggling[d];
    set_speed(sim, d);
    plan_straggler(sim, d);
}

void sy_sim_hidden_reset(struct sy_sim *sim) {
    reset_speeds(sim);
    for (uint32_t r = 0; r < sim->machine->resource_count && sim->options.contention; r++) {
        sim->hidden_on[r] = false;
        sim->hidden_rng[r] = sy_rng_make(sim->options.seed, HIDDEN, r);
        double first = sy_rng_exponential(&sim->hidden_rng[r]) * sim->hidden_period_ns;
        if (sim->options.hidden_load > 0) {
            sy_world_set_event(&sim->world, r, first);
        }
    }
}

/* Throttled, or shared with somebody: slower for a while. */
void sy_sim_speed_event(struct sy_sim *sim, uint32_t d) {
    struct sy_rng *rng = &sim->speed_rng[d];
    struct hidden hidden = hidden_of(sim->options.throttle);
    double share = sy_rng_exponential(rng);
    bool slow = sim->speed_share[d] == 1;
    double part = hidden.level * (1 + hidden.spread * (2 * sy_rng_uniform(rng) - 1));
    sim->speed_share[d] = slow ? 1 - part : 1;
    set_speed(sim, d);
    share *= sim->hidden_period_ns * (slow ? hidden.duty : 1 - hidden.duty);
    sy_world_set_event(&sim->world, sim->slot_speed + d, sim_now(sim) + share);
}

void sy_sim_hidden_event(struct sy_sim *sim, uint32_t r) {
    struct sy_rng *rng = &sim->hidden_rng[r];
    double share = sy_rng_exponential(rng) * sim->hidden_period_ns;
    struct hidden hidden = hidden_of(sim->options.hidden_load);
    double asked = sim->options.hidden_weight, weight = asked > 0 ? asked : HIDDEN_WEIGHT;
    if (sim->hidden_on[r]) {
        sy_world_load(&sim->world, r, r, 0, weight);
        share *= 1 - hidden.duty;
    } else {
        double part = hidden.level * (1 + hidden.spread * (2 * sy_rng_uniform(rng) - 1));
        sy_world_load(&sim->world, r, r, part * sim->machine->resources[r].bytes_per_s, weight);
        share *= hidden.duty;
    }
    sim->hidden_on[r] = !sim->hidden_on[r];
    sy_sim_sense_others(sim, r);
    sy_world_set_event(&sim->world, r, sim_now(sim) + share);
}
