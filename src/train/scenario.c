/* SPDX-License-Identifier: Apache-2.0
 *
 * A world from a number: machine, jobs, and what is hidden from policies.
 *
 * In: a catalogue and a number. Out: a workload and the simulator's options. Invariant: the same
 * number in the same catalogue gives the same world, whoever draws it and when.
 */
#include "train/worlds.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PURPOSE      0x776f726cu /* random numbers no other room draws */
#define SPLIT_SHIFT  40
#define SEED_SHIFT   24
#define GRAPHS_MAX   4 /* different ones in a stream */
#define JOBS_LEAST   4
#define JOBS_MOST    40
#define TRACED_LEAST 2    /* jobs of a stream of graphs that may be large */
#define READINGS_MAX 1000 /* of counters, in a world: a filter's work is theirs */

uint64_t sy_scenario_number(enum sy_split split, uint32_t seed, uint32_t index) {
    uint64_t run = split == SY_SPLIT_TRAINING ? seed & 0xffffu : 0;
    return (uint64_t)split << SPLIT_SHIFT | run << SEED_SHIFT | (index & 0xffffffu);
}

struct draw {
    const struct sy_catalogue *catalogue;
    struct sy_scenario *scenario;
    const struct shape *shape;
    const struct sy_machine *machine;
    struct sy_rng rng;
    const struct half *half;          /* of traces; NULL: there are none */
    const struct sy_job *recorded;    /* job_count of them; NULL: drawn */
    struct sy_job graphs[GRAPHS_MAX]; /* what jobs of each have in common */
    uint32_t graph_count, job_count, tenant_count;
    double load;
    struct sy_error *error;
};

/* --- machine ------------------------------------------------------------------------------------
 */
static int draw_machine(struct draw *d) {
    const struct sy_catalogue *c = d->catalogue;
    char spec[SPEC_SIZE];
    d->shape = &c->shapes[sy_rng_below(&d->rng, c->shape_count)];
    d->scenario->machine = d->shape->name;
    if (d->shape->machine) {
        d->machine = d->shape->machine;
        return 0;
    }
    d->shape->write(spec, &d->rng);
    int code = sy_machine_parse(spec, &d->scenario->own_machine, d->error);
    d->machine = d->scenario->own_machine;
    return code;
}

/* --- graphs -------------------------------------------------------------------------------------
 */
/* A recorded graph of about so many tasks; where there is none, the nearest. */
static const struct sy_graph *pick_recorded(const struct family *family, double tasks,
                                            struct sy_rng *rng) {
    uint32_t count = family->graphs.count, low = 0, high = 0;
    struct sy_graph *const *graphs = family->graphs.graphs;
    while (low < count && sy_graph_task_count(graphs[family->by_size[low]]) < tasks / 3) {
        low++;
    }
    for (high = low; high < count;) {
        if (sy_graph_task_count(graphs[family->by_size[high]]) > tasks * 1.5) {
            break;
        }
        high++;
    }
    if (high > low) {
        return graphs[family->by_size[low + sy_rng_below(rng, high - low)]];
    }
    return graphs[family->by_size[low > 0 ? low - 1 : 0]];
}

static int draw_graph(struct draw *d, const struct family *family, double tasks) {
    struct sy_scenario *s = d->scenario;
    char spec[SPEC_SIZE];
    if (!family->write) {
        d->graphs[d->graph_count++].graph = pick_recorded(family, tasks, &d->rng);
        return 0;
    }
    family->write(spec, tasks, d->shape->store != NULL, &d->rng);
    int code = sy_graph_generate(spec, &s->own_graphs[s->own_graph_count], d->error);
    if (!code) {
        d->graphs[d->graph_count++].graph = s->own_graphs[s->own_graph_count++];
    }
    return code;
}

/* As they came: some that came one after another. */
static void draw_recorded(struct draw *d, double tasks) {
    const struct half *half = d->half;
    const struct sy_traced_stream *stream =
        &half->streams[sy_rng_below(&d->rng, half->stream_count)];
    uint32_t first = sy_rng_below(&d->rng, stream->job_count - 1);
    uint32_t most = (uint32_t)fmin(d->job_count, stream->job_count - first), count = 0;
    for (double sum = 0; count < most && (count < TRACED_LEAST || sum < tasks); count++) {
        sum += sy_graph_task_count(stream->jobs[first + count].graph);
    }
    d->recorded = stream->jobs + first;
    d->job_count = count;
}

/* Any graphs of the half, large or small; of large ones fewer jobs. */
static void draw_traced(struct draw *d) {
    const struct sy_catalogue *c = d->catalogue;
    const struct half *half = d->half;
    double tasks = sy_log_between(&d->rng, c->options.tasks_low, c->options.tasks_high), sum = 0;
    bool stream = !sy_chance(&d->rng, c->options.single_share);
    bool recorded = sy_chance(&d->rng, 0.5) && stream && half->stream_count;
    uint32_t kinds = 1 + sy_rng_below(&d->rng, GRAPHS_MAX);
    d->graph_count = stream ? kinds : 1;
    for (uint32_t i = 0; i < d->graph_count; i++) {
        const struct sy_traced_graph *traced =
            half->graphs[sy_rng_below(&d->rng, half->graph_count)];
        d->graphs[i] = (struct sy_job){.graph = traced->graph, .time_ns = traced->time_ns};
        sum += sy_graph_task_count(traced->graph);
    }
    d->job_count = 1;
    if (stream) {
        double most = sy_log_between(&d->rng, JOBS_LEAST, JOBS_MOST + 1);
        d->job_count = (uint32_t)fmax(TRACED_LEAST, fmin(most, tasks * d->graph_count / sum));
    }
    if (recorded) {
        d->job_count = JOBS_MOST;
        draw_recorded(d, tasks);
    }
    d->scenario->stream = d->job_count > 1;
}

static int draw_graphs(struct draw *d) {
    const struct sy_catalogue *c = d->catalogue;
    struct sy_scenario *s = d->scenario;
    double tasks = sy_log_between(&d->rng, c->options.tasks_low, c->options.tasks_high);
    s->stream = !sy_chance(&d->rng, c->options.single_share);
    s->own_graphs = calloc(GRAPHS_MAX, sizeof(struct sy_graph *));
    if (!s->own_graphs) {
        return sy_out_of_memory(d->error);
    }
    d->job_count = 1;
    uint32_t kinds = 1;
    if (s->stream) {
        /* Many small ones, or few of a hundred tasks and more. */
        d->job_count = (uint32_t)sy_log_between(&d->rng, JOBS_LEAST, JOBS_MOST + 1);
        kinds = 1 + sy_rng_below(&d->rng, GRAPHS_MAX);
    }
    const struct family *first = &c->families[sy_rng_below(&d->rng, c->family_count)];
    bool alike = sy_chance(&d->rng, 0.3);
    int code = 0;
    s->family = first->name;
    for (uint32_t i = 0; i < kinds && !code; i++) {
        const struct family *family =
            i == 0 || alike ? first : &c->families[sy_rng_below(&d->rng, c->family_count)];
        double size = tasks / d->job_count * (kinds > 1 ? sy_log_between(&d->rng, 0.3, 2.5) : 1);
        s->family = family == first ? s->family : "mixed";
        code = draw_graph(d, family, fmax(size, 4));
    }
    return code;
}

/* --- jobs ---------------------------------------------------------------------------------------
 */
static void draw_jobs(struct draw *d, struct sy_job *jobs) {
    bool weighted = d->job_count > 1 && sy_chance(&d->rng, 0.25);
    d->tenant_count = d->job_count > 1 ? 1 + sy_rng_below(&d->rng, 6) : 1;
    d->load = sy_between(&d->rng, 0.3, 1.2);
    for (uint32_t j = 0; j < d->job_count; j++) {
        uint32_t graph = sy_rng_below(&d->rng, d->graph_count);
        /* Arrivals follow once the work is known; until then they only keep the order. */
        jobs[j] = d->graphs[graph];
        jobs[j].arrive_ns = j;
        jobs[j].tenant = j % d->tenant_count;
        jobs[j].weight = weighted ? 1 << (j % d->tenant_count) % 3 : 1;
    }
}

/* Such that the work offered per second is the load times what the machine can do. */
static void set_arrivals(struct draw *d) {
    struct sy_workload *w = d->scenario->workload;
    double gap_ns = sy_cost_area_ns(w, 0, w->task_count) / d->job_count / d->load, now_ns = 0;
    for (uint32_t j = 0; j < w->job_count; j++) {
        w->jobs[j].arrive_ns = now_ns;
        now_ns += gap_ns * sy_rng_exponential(&d->rng);
    }
}

/* Logarithm of the time that jobs of a graph take alone; NAN if there are none. */
static double length_of(const struct sy_workload *w, const struct sy_graph *graph) {
    for (uint32_t j = 0; j < w->job_count; j++) {
        if (w->jobs[j].graph == graph) {
            return log(fmax(w->job_isolated_ns[j], 1)); /* it may be nothing */
        }
    }
    return NAN;
}

/* Takes away the graph whose jobs are farthest from the others' in length, if some are more than
 * most_ratio times longer than others: with them a world's mean slowdown is a lottery, who of the
 * short ones comes just behind a task that is longer than they are. */
static bool thin_out(struct draw *d, double most_ratio) {
    const struct sy_workload *w = d->scenario->workload;
    double length[GRAPHS_MAX], low = INFINITY, high = -INFINITY, sum = 0, farthest = -1;
    uint32_t far = 0, used = 0;
    for (uint32_t g = 0; g < d->graph_count; g++) {
        length[g] = length_of(w, d->graphs[g].graph);
        if (!isnan(length[g])) {
            low = fmin(low, length[g]);
            high = fmax(high, length[g]);
            sum += length[g];
            used++;
        }
    }
    if (high - low <= log(most_ratio)) {
        return false;
    }
    for (uint32_t g = 0; g < d->graph_count; g++) {
        double off = fabs(length[g] - sum / used); /* NAN is not farther */
        far = off > farthest ? g : far;
        farthest = fmax(farthest, off);
    }
    d->graphs[far] = d->graphs[--d->graph_count];
    return true;
}

static int lay_recorded(struct draw *d, const struct sy_workload_options *options) {
    int code = sy_workload_create(d->machine, d->recorded, d->job_count, options,
                                  &d->scenario->workload, d->error);
    struct sy_job *jobs = code ? NULL : d->scenario->workload->jobs;
    for (uint32_t j = d->job_count; !code && j-- > 0;) {
        jobs[j].arrive_ns -= jobs[0].arrive_ns;
    }
    return code;
}

/* Of a world of traces: the graph that most of its jobs are of. */
static const char *main_graph(const struct draw *d) {
    const struct sy_traced *traces = d->catalogue->options.traces;
    const struct sy_workload *w = d->scenario->workload;
    uint32_t best = 0, most = 0;
    for (uint32_t j = 0; j < w->job_count; j++) {
        uint32_t count = 0;
        for (uint32_t k = j; k < w->job_count; k++) {
            count += w->jobs[k].graph == w->jobs[j].graph;
        }
        best = count > most ? j : best;
        most = count > most ? count : most;
    }
    return traces->graphs[sy_traced_of(traces, &w->jobs[best])->shape].name;
}

static int draw_workload(struct draw *d) {
    const struct sy_traced *traces = d->catalogue->options.traces;
    struct sy_job jobs[JOBS_MOST];
    bool accelerate = sy_chance(&d->rng, 0.5);
    uint64_t seed = sy_rng_u32(&d->rng);
    bool wide = sy_chance(&d->rng, 0.2); /* as recorded mixes are */
    double most_ratio = sy_log_between(&d->rng, wide ? 60 : 3, wide ? 1e4 : 60);
    accelerate = accelerate || d->scenario->own_graph_count < d->graph_count; /* recorded ones */
    struct sy_workload_options options = {.accelerate = traces ? traces->accelerate : accelerate,
                                          .accelerate_seed =
                                              traces ? traces->accelerate_seed : seed,
                                          .store = d->shape->store};
    if (d->recorded) {
        return lay_recorded(d, &options);
    }
    int code;
    do {
        sy_workload_destroy(d->scenario->workload);
        d->scenario->workload = NULL;
        draw_jobs(d, jobs);
        code = sy_workload_create(d->machine, jobs, d->job_count, &options, &d->scenario->workload,
                                  d->error);
    } while (!code && thin_out(d, most_ratio));
    if (!code) {
        set_arrivals(d);
    }
    return code;
}

/* --- what is hidden -----------------------------------------------------------------------------
 */
/* Without a measured table all pairs slow each other alike: a model. */
static const struct sy_interference *draw_table(struct draw *d, const struct sy_interference *own) {
    static const struct sy_interference plain[] = {
        {.fallback = 0.55}, {.fallback = 0.65}, {.fallback = 0.8}};
    const struct sy_interference *table = &plain[sy_rng_below(&d->rng, SY_COUNT(plain))];
    return own && sy_chance(&d->rng, 0.5) ? own : table;
}

static void draw_hidden(struct draw *d) {
    struct sy_sim_options *o = &d->scenario->options;
    const struct sy_workload *w = d->scenario->workload;
    double longest = 1, last = w->jobs[w->job_count - 1].arrive_ns;
    for (uint32_t j = 0; j < w->job_count; j++) {
        longest = fmax(longest, w->job_isolated_ns[j]);
    }
    *o = (struct sy_sim_options){.seed = d->scenario->number,
                                 .belief = d->catalogue->options.belief};
    o->noise_sigma = sy_between(&d->rng, 0, 0.4);
    o->noise_table = d->half ? &d->catalogue->options.traces->noise : NULL;
    o->model_error_sigma = sy_chance(&d->rng, 0.5) ? sy_between(&d->rng, 0, 0.4) : 0;
    if (sy_chance(&d->rng, 0.1)) {
        o->spike_probability = 0.01;
        o->spike_factor = sy_between(&d->rng, 3, 10);
    }
    if (o->noise_table && o->noise_table->count) {
        o->spike_probability = 0; /* it has them */
    }
    o->contention = sy_chance(&d->rng, 0.9);
    bool loaded = sy_chance(&d->rng, 0.8);
    o->hidden_load = o->contention && loaded ? sy_between(&d->rng, 0.05, 0.6) : 0;
    o->hidden_period_ns = longest * sy_log_between(&d->rng, 0.01, 0.4);
    o->counter_noise = sy_between(&d->rng, 0, 0.4);
    bool few = sy_chance(&d->rng, 0.5);
    uint32_t live = 1 + sy_rng_below(&d->rng, 4);
    o->counter_live = few ? live : 0;
    double often_ns = sy_log_between(&d->rng, 1e6, 20e6); /* as machines can */
    o->counter_period_ns = fmax(often_ns, (last + 2 * longest) / READINGS_MAX);
    o->counter_events = sy_chance(&d->rng, 0.5) ? SY_SIM_LISTING : SY_SIM_TRAFFIC;
    o->counter_outliers = sy_chance(&d->rng, 0.1) ? 0.03 : 0;
    o->throttle = sy_chance(&d->rng, 0.15) ? sy_between(&d->rng, 0.05, 0.3) : 0;
    o->smt = draw_table(d, d->catalogue->smt);
    o->gpu = draw_table(d, NULL);
    o->preempt = sy_chance(&d->rng, 0.3);
}

int sy_scenario_create(const struct sy_catalogue *catalogue, uint64_t number,
                       struct sy_scenario **ret_scenario, struct sy_error *error) {
    struct sy_scenario *scenario = calloc(1, sizeof *scenario);
    if (!scenario) {
        return sy_out_of_memory(error);
    }
    struct draw draw = {.catalogue = catalogue,
                        .scenario = scenario,
                        .rng = sy_rng_make(number, PURPOSE, 0),
                        .error = error};
    scenario->number = number;
    scenario->prices = catalogue->options.prices ? *catalogue->options.prices : sy_prices_default();
    bool test = number >> SPLIT_SHIFT == SY_SPLIT_TEST;
    draw.half = catalogue->options.traces
                    ? &catalogue->halves[test ? SY_HALF_HELD_OUT : SY_HALF_TRAINING]
                    : NULL;
    int code = draw_machine(&draw);
    if (!code && draw.half) {
        draw_traced(&draw);
    } else if (!code) {
        code = draw_graphs(&draw);
    }
    code = code ? code : draw_workload(&draw);
    if (code) {
        sy_scenario_destroy(scenario);
        return code;
    }
    scenario->family = draw.half ? main_graph(&draw) : scenario->family;
    draw_hidden(&draw);
    *ret_scenario = scenario;
    return 0;
}

void sy_scenario_destroy(struct sy_scenario *s) {
    if (!s) {
        return;
    }
    sy_workload_destroy(s->workload);
    for (uint32_t i = 0; i < s->own_graph_count; i++) {
        sy_graph_destroy(s->own_graphs[i]);
    }
    free(s->own_graphs);
    sy_machine_destroy(s->own_machine);
    free(s);
}
