/* SPDX-License-Identifier: Apache-2.0
 *
 * Claim: a step of the filter with the choice of the next events takes at most 20, 60 and 1000 us
 * (median) for 60, 100 and 300 variables; a filter needs less than 4 MB; reading all that this
 * machine gives 100 times a second, with the belief, takes less than 1 % of one core.
 *
 * Usage: belief_speed [STEPS]. Prints JSON: microseconds of processor time per step and choice,
 * median and 99th percentile, and bytes. 0.4 relations per variable, eight counters, 2 % noise; the
 * clock's own cost is taken off. Then the processor time of the whole process while it reads the
 * real sources for five seconds.
 */
#include "base/json.h"
#include "belief/monitor.h"
#include "clock.h"
#include <math.h>
#include <stdlib.h>

#define SLOTS     8
#define TERMS     3
#define WARM_UP   200
#define DRIFT_SD  0.1
#define NOISE     0.02
#define STEP_NS   1e7
#define TICKS     500
#define PERIOD_NS 1e7

/* The last of the variables are sums of three of the others. */
static struct sy_model *make_model(uint32_t n, uint32_t relations, struct sy_rng *rng) {
    struct sy_model *model = sy_model_create("speed");
    for (uint32_t i = 0; model && i < n; i++) {
        struct sy_variable variable = {.name = "x",
                                       .role = "",
                                       .counter = i,
                                       .pmu = i ? 0 : SY_PMU_NONE,
                                       .start_log = log(1e6),
                                       .start_sd = 1,
                                       .drift_sd = DRIFT_SD,
                                       .noise_ratio = NOISE,
                                       .offset = 3,
                                       .capacity = INFINITY,
                                       .resource = SY_NONE};
        if (sy_model_add_variable(model, &variable) == SY_NONE) {
            return NULL;
        }
    }
    for (uint32_t r = 0; model && r < relations; r++) {
        struct sy_term terms[TERMS];
        uint32_t first = sy_rng_below(rng, n - relations);
        for (uint32_t k = 0; k < TERMS; k++) {
            terms[k] = (struct sy_term){(first + k * 7) % (n - relations), 1};
        }
        struct sy_factor factor = {.kind = SY_FACTOR_EQUAL,
                                   .origin = SY_FROM_ROLE,
                                   .why = "a sum",
                                   .out = n - relations + r,
                                   .width = 0.02};
        if (sy_model_add_factor(model, &factor, terms, TERMS) == SY_NONE) {
            return NULL;
        }
    }
    if (model) {
        model->step_ns = STEP_NS;
    }
    return model;
}

static void walk(const struct sy_model *model, double *logs, double *rates, struct sy_rng *rng) {
    for (uint32_t i = 0; i < model->variable_count; i++) {
        logs[i] += DRIFT_SD * sy_rng_normal(rng);
        rates[i] = 1e6 * exp(logs[i]);
    }
    for (uint32_t f = 0; f < model->factor_count; f++) {
        const struct sy_factor *factor = &model->factors[f];
        double sum = 0;
        for (uint32_t k = 0; k < factor->term_count; k++) {
            const struct sy_term *term = &model->terms[factor->first_term + k];
            sum += term->coefficient * rates[term->variable];
        }
        rates[factor->out] = sum;
    }
}

static double step(struct sy_filter *filter, const double *rates, struct sy_rng *rng) {
    uint32_t chosen[SLOTS], slots = SLOTS;
    struct sy_observation observations[SLOTS + 1];
    double start = now_ns();
    uint32_t count = sy_filter_choose(filter, &slots, 1, chosen);
    double took = now_ns() - start;
    observations[0] = (struct sy_observation){.variable = 0, .rate = rates[0]};
    for (uint32_t k = 0; k < count; k++) {
        double noise = 1 + NOISE * sy_rng_normal(rng);
        observations[k + 1] =
            (struct sy_observation){.variable = chosen[k], .rate = rates[chosen[k]] * noise};
    }
    start = now_ns();
    sy_filter_step(filter, STEP_NS, observations, count + 1);
    return took + now_ns() - start;
}

static int measure(struct sy_json_writer *out, uint32_t n, uint32_t relations, uint32_t steps) {
    struct sy_rng rng = sy_rng_make(1, 0, n);
    struct sy_model *model = make_model(n, relations, &rng);
    struct sy_filter *filter = NULL;
    double *logs = calloc(n, sizeof *logs), *rates = calloc(n, sizeof *rates);
    double *times = calloc(steps, sizeof *times), clock_cost_ns = clock_ns();
    int code = !model || !logs || !rates || !times || sy_filter_create(model, NULL, &filter);
    for (uint32_t t = 0; !code && t < WARM_UP + steps; t++) {
        walk(model, logs, rates, &rng);
        double took = step(filter, rates, &rng);
        if (t >= WARM_UP) {
            times[t - WARM_UP] = fmax(took - 2 * clock_cost_ns, 0);
        }
    }
    if (!code) {
        sy_json_print(out,
                      "{variables: %u, relations: %u, p50_us: %g, p99_us: %g, filter_bytes: %zu}",
                      n, relations, sy_quantile(times, steps, 0.5) / 1e3,
                      sy_quantile(times, steps, 0.99) / 1e3, sy_filter_bytes(filter));
    }
    sy_filter_destroy(filter);
    sy_model_destroy(model);
    free(logs);
    free(rates);
    free(times);
    return code;
}

/* --- this machine -------------------------------------------------------------------------------
 */
static double process_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static double wall_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

struct spent {
    double read_ns, update_ns;
};

static int tick(struct sy_monitor *senses, struct spent *spent) {
    double start = now_ns();
    int code = sy_monitor_read(senses, wall_ns());
    double middle = now_ns();
    code = code ? code : sy_monitor_think(senses);
    spent->read_ns += middle - start;
    spent->update_ns += now_ns() - middle;
    return code;
}

static void put_machine(struct sy_json_writer *out, const struct sy_belief *belief,
                        uint32_t counter_count, const struct spent *spent, double share) {
    uint32_t variables = 0, filters = sy_belief_filter_count(belief);
    for (uint32_t i = 0; i < filters; i++) {
        variables += sy_belief_model(belief, i)->variable_count;
    }
    sy_json_print(out,
                  "this_machine: {counters: %u, filters: %u, variables: %u, read_us: %g, "
                  "update_us: %g, core_share_at_100_hz: %g}",
                  counter_count, filters, variables, spent->read_ns / 1e3 / TICKS,
                  spent->update_ns / 1e3 / TICKS, share);
}

static int measure_machine(struct sy_json_writer *out) {
    struct sy_machine *machine = NULL;
    struct sy_monitor senses = {0};
    struct sy_error error = {0};
    struct spent spent = {0};
    int code = sy_machine_detect(&machine, &error);
    code = code ? code : sy_monitor_open(machine, &(struct sy_sources_options){0}, &senses, &error);
    double cpu_ns = process_ns(), start_ns = wall_ns();
    for (uint32_t i = 0; !code && i < TICKS; i++) {
        double due = start_ns + i * PERIOD_NS;
        struct timespec until = {(time_t)(due / 1e9), (long)fmod(due, 1e9)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        code = tick(&senses, &spent);
    }
    if (!code) {
        put_machine(out, senses.belief, senses.counter_count, &spent,
                    (process_ns() - cpu_ns) / (wall_ns() - start_ns));
    } else {
        fprintf(stderr, "belief_speed: this machine: %s\n", error.message);
    }
    sy_monitor_close(&senses);
    sy_machine_destroy(machine);
    return code;
}

int main(int argc, char **argv) {
    static const uint32_t sizes[][2] = {{36, 20}, {60, 24}, {100, 40}, {300, 120}};
    uint32_t steps = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 4000;
    if (steps < 10) {
        fprintf(stderr, "belief_speed: at least 10 steps\n");
        return 2;
    }
    struct sy_json_writer out = {.compact_from = 3};
    sy_json_print(&out, "{schema: %s, steps: %u, filters: [", "symph-bench-belief-1", steps);
    int code = 0;
    for (size_t i = 0; !code && i < SY_COUNT(sizes); i++) {
        code = measure(&out, sizes[i][0], sizes[i][1], steps);
    }
    sy_json_close(&out, ']');
    code = code ? code : measure_machine(&out);
    sy_json_close(&out, '}');
    if (!code) {
        printf("%s", out.buffer.text);
    }
    sy_buffer_finish(&out.buffer);
    return code ? 1 : 0;
}
