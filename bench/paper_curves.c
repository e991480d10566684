/* SPDX-License-Identifier: Apache-2.0
 *
 * Claim (Symphony, ICML'20): a scheduler that sees the belief and the topology learns from fewer
 * decisions than one that sees raw counters. Both are trained by the same method, with the same
 * budget, in the same worlds; so are the ablations.
 *
 * Usage: paper_curves [samples=N] [seeds=N] [threads=N] [imitate=N] [rate=X] [entropy=X] [gamma=X]
 * [horizon=X] [clip=X] [epochs=N] [points=N] [machine=M] [svg=FILE] [weights=PREFIX] [variants=A;B]
 * [decay=1] Prints a table: mean job slowdown over that of lb-cont+wspt on worlds nobody trained
 * in, with 95 % intervals over the seeds of training, and how many decisions each needed to reach
 * what symphony-paper reaches. Runs are the same bytes whatever the number of threads.
 * docs/bench/papers-learning.md keeps a run.
 */
#include "papers/papers.h"
#include "schedulers/schedulers.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REFERENCE  "lb-cont+wspt"
#define TRAINING   48 /* worlds */
#define VALIDATION 24
#define JOBS       8
#define POINTS_MAX 64
#define SEEDS_MAX  16

struct settings {
    double samples, seeds, threads, imitate, rate, entropy, gamma, horizon, clip, epochs, points,
        decay;
    const char *machine, *svg, *weights, *variants;
};

static const struct variant {
    const char *name, *policy;
    uint32_t without;
    enum sy_sim_belief belief;
} variants[] = {
    {"symphony-paper", "symphony-paper", 0, SY_SIM_FILTERED},
    {"black-box", "black-box", 0, SY_SIM_RAW},
    {"symphony-paper~lstm", "symphony-paper", SY_PART_LSTM, SY_SIM_FILTERED},
    {"symphony-paper~topology", "symphony-paper", SY_PART_TOPOLOGY, SY_SIM_FILTERED},
    {"symphony-paper~belief", "symphony-paper", SY_PART_BELIEF, SY_SIM_RAW},
    {"symphony-paper~graph", "symphony-paper", SY_PART_GRAPH, SY_SIM_FILTERED},
    {"symphony-paper, true state", "symphony-paper", 0, SY_SIM_TRUE},
    {"symphony-paper, no counters", "symphony-paper", SY_PART_BELIEF, SY_SIM_FILTERED},
};
#define VARIANTS SY_COUNT(variants)

struct curve {
    double samples[POINTS_MAX], ratio[POINTS_MAX], value_loss[POINTS_MAX];
    uint32_t count;
    double seconds;
    int code;
};

struct bench {
    struct settings settings;
    struct sy_machine *machine;
    struct sy_graph *graphs[8];
    uint32_t graph_count;
    struct sy_workload *workloads[TRAINING + VALIDATION];
    struct sy_actor_world worlds[TRAINING + VALIDATION];
    struct curve curves[VARIANTS][SEEDS_MAX];
    uint32_t items[VARIANTS * SEEDS_MAX], item_count, next; /* next: guarded by lock */
    pthread_mutex_t lock;
};

static void give_up(const char *what, const struct sy_error *error) {
    char text[900] = "";
    fprintf(stderr, "paper_curves: %s %s\n", what,
            error ? sy_error_format(error, text, sizeof text) : "");
    exit(1);
}

/* --- worlds: memory-bound jobs on four memories, of which others take much for long ------------
 */
static const char *const specs[] = {"genomics:4,regions=4", "genomics:6,regions=2,seed=2", "gnn:3",
                                    "forkjoin:5,phases=3,bytes=4e6",
                                    "layered:5,depth=5,seed=4,ccr=0.3"};

static void make_world(struct bench *b, uint32_t i) {
    struct sy_error error = {0};
    struct sy_rng rng = sy_rng_make(7, 0x62656e63, i);
    struct sy_job jobs[JOBS];
    struct sy_workload_options options = {.accelerate = true, .accelerate_seed = 3};
    for (uint32_t j = 0; j < JOBS; j++) {
        uint32_t graph = sy_rng_below(&rng, b->graph_count);
        jobs[j] = (struct sy_job){b->graphs[graph], j, j % 3, 1};
    }
    if (sy_workload_create(b->machine, jobs, JOBS, &options, &b->workloads[i], &error)) {
        give_up("a workload:", &error);
    }
    struct sy_workload *w = b->workloads[i];
    double load = 0.3 + 0.5 * sy_rng_uniform(&rng), now_ns = 0, longest_ns = 0;
    double gap_ns = sy_cost_area_ns(w, 0, w->task_count) / JOBS / load;
    for (uint32_t j = 0; j < JOBS; j++) {
        w->jobs[j].arrive_ns = now_ns;
        now_ns += gap_ns * sy_rng_exponential(&rng);
        longest_ns = fmax(longest_ns, w->job_isolated_ns[j]);
    }
    struct sy_sim_options sim = {.seed = 1000 + i,
                                 .noise_sigma = 0.1,
                                 .contention = true,
                                 .hidden_load = 0.4,
                                 .hidden_period_ns = 2 * longest_ns,
                                 .counter_period_ns = longest_ns / 200,
                                 .counter_noise = 0.4,
                                 .counter_live = 3,
                                 .belief = SY_SIM_FILTERED};
    struct sy_sim *run = NULL;
    struct sy_sim_result result;
    if (sy_sim_create(w, &sim, &run, &error) || sy_sim_run(run, REFERENCE, &result, &error)) {
        give_up("the reference:", &error);
    }
    b->worlds[i] = (struct sy_actor_world){w, sim, result.slowdown_mean};
    sy_sim_destroy(run);
}

static void make_worlds(struct bench *b) {
    struct sy_error error = {0};
    if (sy_machine_parse(b->settings.machine, &b->machine, &error)) {
        give_up("machine:", &error);
    }
    for (uint32_t g = 0; g < SY_COUNT(specs); g++) {
        if (sy_graph_generate(specs[g], &b->graphs[b->graph_count++], &error)) {
            give_up("graph:", &error);
        }
    }
    for (uint32_t i = 0; i < TRAINING + VALIDATION; i++) {
        make_world(b, i);
    }
}

/* --- one training --------------------------------------------------------------------------------
 */
static int judge(const struct sy_actor *actor, const struct sy_actor_world *worlds,
                 struct curve *curve, double samples, double value_loss) {
    double ratio[VALIDATION];
    int code = sy_actor_judge(actor, worlds, VALIDATION, ratio, NULL);
    if (!code && curve->count < POINTS_MAX) {
        curve->samples[curve->count] = samples;
        curve->value_loss[curve->count] = value_loss;
        curve->ratio[curve->count++] = sy_geomean(ratio, VALIDATION);
    }
    return code;
}

static void save(const struct bench *b, const struct variant *v, uint32_t seed,
                 const struct sy_actor *actor) {
    char path[400];
    struct sy_error error = {0};
    struct sy_weights weights = sy_actor_weights(actor);
    snprintf(path, sizeof path, "%s%s-%u.weights", b->settings.weights, v->name, seed);
    if (sy_weights_write(path, &weights, &error)) {
        give_up("weights:", &error);
    }
}

static int train(struct bench *b, const struct variant *v, uint32_t seed, struct curve *curve) {
    const struct settings *s = &b->settings;
    struct sy_actor_options options = sy_actor_defaults(v->policy);
    struct sy_actor_world worlds[TRAINING + VALIDATION];
    struct sy_actor_report report = {0};
    struct sy_actor *actor = NULL;
    double samples = 0, next = 0, loss = 0, loss_count = 0;
    struct sy_rng rng = sy_rng_make(seed, 0x776f726c, 0);
    options.without = v->without;
    options.seed = seed;
    options.rate = s->rate;
    options.entropy = s->entropy;
    options.gamma = s->gamma;
    options.horizon = s->horizon;
    options.ratio_clip = s->clip;
    options.epochs = (uint32_t)s->epochs;
    memcpy(worlds, b->worlds, sizeof worlds);
    for (uint32_t i = 0; i < TRAINING + VALIDATION; i++) {
        worlds[i].options.belief = v->belief;
    }
    int code = sy_actor_create(&options, NULL, &actor);
    while (!code) {
        if (samples >= next || samples >= s->samples) {
            code = judge(actor, worlds + TRAINING, curve, samples,
                         loss_count > 0 ? loss / loss_count : NAN);
            next += s->samples / s->points;
            loss = loss_count = 0;
        }
        if (code || samples >= s->samples) {
            break;
        }
        const struct sy_actor_world *world = &worlds[sy_rng_below(&rng, TRAINING)];
        double left = 1 - samples / s->samples;
        double rate = s->decay > 0 ? s->rate * fmax(left, 0.1) : s->rate;
        code = sy_actor_step(actor, world, 1, samples < s->imitate ? REFERENCE : NULL, rate,
                             &report, NULL);
        samples += (double)report.samples;
        loss += report.value_loss * (double)report.samples;
        loss_count += (double)report.samples;
    }
    if (!code && s->weights) {
        save(b, v, seed, actor);
    }
    sy_actor_destroy(actor);
    return code;
}

static void *worker(void *context) {
    struct bench *b = context;
    for (;;) {
        pthread_mutex_lock(&b->lock);
        uint32_t at = b->next++;
        pthread_mutex_unlock(&b->lock);
        if (at >= b->item_count) {
            return NULL;
        }
        uint32_t v = b->items[at] % VARIANTS, seed = b->items[at] / (uint32_t)VARIANTS;
        struct curve *curve = &b->curves[v][seed];
        struct timespec begin, end;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
        curve->code = train(b, &variants[v], seed + 1, curve);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
        curve->seconds =
            (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
        fprintf(stderr, "%s, seed %u: %.3f at %.0f decisions, %.0f s%s\n", variants[v].name,
                seed + 1, curve->count ? curve->ratio[curve->count - 1] : NAN,
                curve->count ? curve->samples[curve->count - 1] : 0, curve->seconds,
                curve->code ? " FAILED" : "");
    }
}

/* --- table and curves ----------------------------------------------------------------------------
 */
/* Points of one variant, over seeds: geometric mean, interval by Student's t on logarithms. */
struct summary {
    double x[POINTS_MAX], ratio[POINTS_MAX], low[POINTS_MAX], high[POINTS_MAX], loss[POINTS_MAX];
    uint32_t count;
    double seconds, median; /* median: of the last point */
};

static double t_95(uint32_t degrees) {
    static const double t[] = {NAN,   12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
                               2.306, 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131};
    return degrees < SY_COUNT(t) ? t[degrees] : 2;
}

static void interval(const double *values, uint32_t n, double *ret_mean, double *ret_half) {
    double mean = sy_mean(values, n), square = 0;
    for (uint32_t i = 0; i < n; i++) {
        square += (values[i] - mean) * (values[i] - mean);
    }
    *ret_mean = mean;
    *ret_half = n > 1 ? t_95(n - 1) * sqrt(square / (n - 1) / n) : NAN;
}

static struct summary sum_up(const struct bench *b, uint32_t v, uint32_t seeds) {
    struct summary s = {.count = POINTS_MAX};
    for (uint32_t k = 0; k < seeds; k++) {
        s.count = b->curves[v][k].count < s.count ? b->curves[v][k].count : s.count;
        s.seconds += b->curves[v][k].seconds / seeds;
    }
    for (uint32_t i = 0; i < s.count; i++) {
        double values[SEEDS_MAX], finals[SEEDS_MAX], mean, half;
        for (uint32_t k = 0; k < seeds; k++) {
            s.x[i] += b->curves[v][k].samples[i] / seeds;
            s.loss[i] += b->curves[v][k].value_loss[i] / seeds;
            values[k] = log(b->curves[v][k].ratio[i]);
            finals[k] = b->curves[v][k].ratio[i];
        }
        interval(values, seeds, &mean, &half);
        s.ratio[i] = exp(mean);
        s.low[i] = exp(mean - half);
        s.high[i] = exp(mean + half);
        s.median = sy_quantile(finals, seeds, 0.5);
    }
    return s;
}

/* Decisions after which the mean curve stays at or under the target to its best; INFINITY: never.
 */
static double reached(const struct summary *s, double target) {
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->ratio[i] <= target) {
            double before = i ? s->ratio[i - 1] : target;
            double part = before > s->ratio[i] ? (before - target) / (before - s->ratio[i]) : 1;
            return i ? s->x[i - 1] + part * (s->x[i] - s->x[i - 1]) : s->x[i];
        }
    }
    return INFINITY;
}

static double best_of(const struct summary *s) {
    double best = INFINITY;
    for (uint32_t i = 0; i < s->count; i++) {
        best = fmin(best, s->ratio[i]);
    }
    return best;
}

/* Paired over seeds, at the last point: how it decides, and how far off its critic is. */
static void print_against(const struct bench *b, uint32_t v, uint32_t seeds, bool loss) {
    double difference[SEEDS_MAX], mean, half;
    for (uint32_t k = 0; k < seeds; k++) {
        const struct curve *mine = &b->curves[v][k], *first = &b->curves[0][k];
        const double *own = loss ? mine->value_loss : mine->ratio;
        const double *base = loss ? first->value_loss : first->ratio;
        difference[k] = !mine->count || !first->count
                            ? NAN
                            : log(own[mine->count - 1] / base[first->count - 1]);
    }
    interval(difference, seeds, &mean, &half);
    printf("  %6.3f (%5.3f..%6.3f)", exp(mean), exp(mean - half), exp(mean + half));
}

static void print_table(const struct bench *b, const bool *chosen, uint32_t seeds) {
    struct summary first = sum_up(b, 0, seeds);
    double target = chosen[0] ? best_of(&first) : NAN;
    printf("%-28s %9s  %22s  %6s  %7s  %22s  %19s  %10s  %22s  %6s\n", "policy", "untrained",
           "at the end", "median", "best", "over symphony-paper", "decisions to target",
           "value loss", "over symphony-paper", "CPU s");
    for (uint32_t v = 0; v < VARIANTS; v++) {
        if (!chosen[v]) {
            continue;
        }
        struct summary s = sum_up(b, v, seeds);
        uint32_t last = s.count ? s.count - 1 : 0;
        double at = reached(&s, target);
        printf("%-28s %9.3f  %7.3f (%5.3f..%6.3f)  %6.3f  %7.3f", variants[v].name, s.ratio[0],
               s.ratio[last], s.low[last], s.high[last], s.median, best_of(&s));
        print_against(b, v, seeds, false);
        if (isfinite(at)) {
            printf("  %10.0f (%5.2fx)", at, at / reached(&first, target));
        } else {
            printf("  %10s (>%4.2fx)", "never", s.x[last] / reached(&first, target));
        }
        printf("  %10.4f", s.loss[last]);
        print_against(b, v, seeds, true);
        printf("  %6.0f\n", s.seconds);
    }
    printf("target: %.3f, the best that symphony-paper's mean curve reaches\n", target);
}

static void write_svg(const struct bench *b, const bool *chosen, uint32_t seeds) {
    static struct summary all[VARIANTS];
    struct sy_plot_line lines[2][VARIANTS];
    uint32_t count = 0;
    for (uint32_t v = 0; v < VARIANTS; v++) {
        if (chosen[v]) {
            all[v] = sum_up(b, v, seeds);
            struct summary *s = &all[v];
            lines[0][count] =
                (struct sy_plot_line){variants[v].name, s->x, s->ratio, s->low, s->high, s->count};
            lines[1][count++] =
                (struct sy_plot_line){variants[v].name, s->x, s->loss, NULL, NULL, s->count};
        }
    }
    struct sy_plot_panel panels[] = {{"slowdown / " REFERENCE, NULL, 0, NAN, NAN, lines[0], count},
                                     {"value loss", NULL, 0, NAN, NAN, lines[1], count}};
    struct sy_plot plot = {.title = "Learning curves of the papers' policies (simulation)",
                           .subtitle = "mean over seeds of training, bands: 95 % intervals",
                           .x_label = "decisions learned from",
                           .panels = panels,
                           .panel_count = 2};
    struct sy_buffer buffer = {0};
    struct sy_error error = {0};
    sy_plot_write_svg(&plot, &buffer);
    if (buffer.failed || sy_write_file(b->settings.svg, buffer.text, buffer.length, &error)) {
        give_up("curves:", &error);
    }
    sy_buffer_finish(&buffer);
}

/* --- arguments -----------------------------------------------------------------------------------
 */
static void read_settings(int argc, char **argv, struct settings *s) {
    const struct {
        const char *name;
        double *number;
        const char **text;
    } known[] = {{"samples", &s->samples, NULL}, {"seeds", &s->seeds, NULL},
                 {"threads", &s->threads, NULL}, {"imitate", &s->imitate, NULL},
                 {"rate", &s->rate, NULL},       {"entropy", &s->entropy, NULL},
                 {"gamma", &s->gamma, NULL},     {"horizon", &s->horizon, NULL},
                 {"clip", &s->clip, NULL},       {"epochs", &s->epochs, NULL},
                 {"points", &s->points, NULL},   {"decay", &s->decay, NULL},
                 {"machine", NULL, &s->machine}, {"svg", NULL, &s->svg},
                 {"weights", NULL, &s->weights}, {"variants", NULL, &s->variants}};
    for (int i = 1; i < argc; i++) {
        const char *equals = strchr(argv[i], '=');
        bool found = false;
        for (size_t k = 0; equals && k < SY_COUNT(known); k++) {
            size_t length = strlen(known[k].name);
            if ((size_t)(equals - argv[i]) != length || memcmp(argv[i], known[k].name, length)) {
                continue;
            }
            found =
                known[k].text || sy_parse_double(equals + 1, strlen(equals + 1), known[k].number);
            if (known[k].text) {
                *known[k].text = equals + 1;
            }
        }
        if (!found) {
            give_up(argv[i], NULL);
        }
    }
    s->points = fmin(fmax(s->points, 1), POINTS_MAX - 2);
    s->seeds = fmin(fmax(s->seeds, 1), SEEDS_MAX);
}

static bool named(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; *at; at += strcspn(at, ";"), at += *at == ';') {
        if (strcspn(at, ";") == length && memcmp(at, name, length) == 0) {
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv) {
    static struct bench bench = {.settings = {.samples = 20000,
                                              .seeds = 2,
                                              .threads = 1,
                                              .rate = 0.002,
                                              .entropy = 0.003,
                                              .clip = 0.2,
                                              .gamma = 1,
                                              .horizon = 0.3,
                                              .epochs = 3,
                                              .points = 12,
                                              .machine = "4x(cpu:2 dram:6GB/s) gpu:1@pcie3x8"}};
    bool chosen[VARIANTS] = {0};
    pthread_t threads[64];
    read_settings(argc, argv, &bench.settings);
    make_worlds(&bench);
    pthread_mutex_init(&bench.lock, NULL);
    for (uint32_t k = 0; k < (uint32_t)bench.settings.seeds; k++) {
        for (uint32_t v = 0; v < VARIANTS; v++) {
            chosen[v] =
                bench.settings.variants ? named(bench.settings.variants, variants[v].name) : v < 5;
            if (chosen[v]) {
                bench.items[bench.item_count++] = k * (uint32_t)VARIANTS + v;
            }
        }
    }
    uint32_t thread_count = (uint32_t)fmin(fmax(bench.settings.threads, 1), SY_COUNT(threads));
    for (uint32_t i = 0; i < thread_count; i++) {
        if (pthread_create(&threads[i], NULL, worker, &bench)) {
            give_up("a thread", NULL);
        }
    }
    for (uint32_t i = 0; i < thread_count; i++) {
        pthread_join(threads[i], NULL);
    }
    print_table(&bench, chosen, (uint32_t)bench.settings.seeds);
    if (bench.settings.svg) {
        write_svg(&bench, chosen, (uint32_t)bench.settings.seeds);
    }
    for (uint32_t i = 0; i < TRAINING + VALIDATION; i++) {
        sy_workload_destroy(bench.workloads[i]);
    }
    for (uint32_t g = 0; g < bench.graph_count; g++) {
        sy_graph_destroy(bench.graphs[g]);
    }
    sy_machine_destroy(bench.machine);
    return 0;
}
