/* SPDX-License-Identifier: Apache-2.0
 *
 * es: evolution strategies, or expert iteration, from the command line.
 *
 * In: arguments. Out: weights, a checkpoint and a curve after every validation, lines on stderr, a
 * summary on stdout. Invariant: files are replaced whole; an interrupted run leaves a checkpoint
 * from which it goes on as if nothing had happened; weights that were trained on traces replace
 * others only where they are better on the half that they have not met.
 */
#include "base/json.h"
#include "cli/clock.h"
#include "cli/commit.h"
#include "cli/table.h"
#include "cli/threads.h"
#include "cli/train/held_out.h"
#include "cli/train/traces.h"
#include "cli/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLIP_NORM  0 /* slopes have unit scale already */
#define KEEP       0.9
#define HINGE_FROM 0.01
#define ORIGIN_MAX 800 /* bytes of the command in a weights file */

struct session {
    const struct sy_train_args *args;
    struct sy_train_pool pool;
    struct sy_training_options options;
    struct sy_train_traces *traces; /* NULL: none */
    struct sy_training *training;
    struct sy_weights init;
    struct sy_buffer settings, out, checkpoint;
    struct sy_buffer best; /* file of the best weights so far: out, or a candidate for it */
    struct sy_held_out held_out;
    double *seconds; /* per validation: since the start; NAN: before it was resumed */
    uint32_t seconds_capacity;
    double started_ns;
    uint64_t rollouts_before;
    uint32_t shown; /* validations */
};

/* --- setting up ---------------------------------------------------------------------------------
 */
static int open_init(struct session *s) {
    struct sy_error error = {0};
    if (!s->args->init) {
        s->options.start = s->traces ? sy_weights_shipped(s->options.kind)->block : NULL;
        return SY_EXIT_OK;
    }
    int code = sy_weights_open(s->args->init, &s->init, &error);
    if (code) {
        return sy_message_about("--init", s->args->init, code, &error);
    }
    if (strcmp(s->init.kind, s->options.kind) != 0 || s->init.shape != s->options.shape ||
        s->init.count != s->options.count) {
        sy_message_fail("--init %s: weights of another policy or of another version of it",
                        s->args->init);
        return SY_EXIT_INPUT;
    }
    s->options.start = s->init.block;
    return SY_EXIT_OK;
}

static int setup(struct session *s) {
    const struct sy_train_args *args = s->args;
    const struct sy_scheduler_ops *ops = sy_train_policy(args->policy);
    struct sy_error error = {0};
    bool expert = strcmp(args->method, "expert") == 0;
    s->options = (struct sy_training_options){
        .policy = args->policy,
        .kind = ops->net->kind,
        .shape = ops->net->shape,
        .count = ops->net->count,
        .references = args->references,
        .seed = (uint32_t)args->seed,
        .scenarios = args->worlds,
        .validation = args->validation,
        .every = args->every,
        .patience = args->patience,
        .hinge = args->hinge,
        .hinge_from = HINGE_FROM,
        .es = {.pairs = args->pairs,
               .sigma = args->sigma,
               .rate = args->rate,
               .clip_norm = CLIP_NORM,
               .keep = KEEP},
        .decisions = expert ? args->decisions : 0,
        .alternatives = args->alternatives,
    };
    int code = sy_utility_parse(args->utility, &s->options.utility, &error);
    if (code) {
        sy_message_about("--utility", args->utility, code, &error);
        return SY_EXIT_USAGE;
    }
    int r = sy_train_traces_open(args, &s->traces);
    const struct sy_traced *traces = sy_train_traces(s->traces);
    r = r ? r : sy_train_worlds(args, traces, &s->options.worlds);
    r = r ? r : open_init(s);
    sy_train_settings(args, traces, &s->settings);
    if (args->out) {
        sy_buffer_printf(&s->out, "%s", args->out);
    } else {
        sy_buffer_printf(&s->out, "%s.weights", args->policy);
    }
    sy_buffer_printf(&s->checkpoint, "%s.checkpoint", s->out.text ? s->out.text : "");
    sy_buffer_printf(&s->best, "%s%s", s->out.text ? s->out.text : "", traces ? ".candidate" : "");
    if (s->settings.failed || s->out.failed || s->checkpoint.failed || s->best.failed) {
        return sy_no_memory();
    }
    return r;
}

/* The validations from that number on were made at that time. */
static void note_time(struct session *s, uint32_t first, double seconds) {
    uint32_t count = s->training->history_count;
    sy_need(sy_grow(&s->seconds, &s->seconds_capacity, count + 1, sizeof *s->seconds) ? NULL : s);
    for (uint32_t i = first; i < count; i++) {
        s->seconds[i] = seconds;
    }
}

static int open_training(struct session *s) {
    struct sy_error error = {0};
    s->pool.thread_count = sy_threads_count(s->args->threads);
    struct sy_parallel parallel = sy_train_parallel(&s->pool);
    if (s->traces) {
        struct sy_buffer text = {0};
        sy_train_traces_tell(s->traces, &text);
        sy_message_note(s->args->common.quiet, "%s", text.failed ? "traces" : text.text);
        sy_buffer_finish(&text);
    }
    sy_message_note(s->args->common.quiet, "drawing %u worlds for validation", s->args->validation);
    int code = sy_training_open(&s->options, &parallel, &s->training, &error);
    if (!code && s->args->resume) {
        code = sy_training_load(s->training, s->settings.text, s->args->resume, &error);
    }
    if (code && sy_interrupt_seen()) {
        return SY_EXIT_INTERRUPTED;
    }
    if (code) {
        return sy_message_code(code, &error);
    }
    s->rollouts_before = s->training->rollout_count;
    s->shown = s->training->history_count;
    note_time(s, 0, NAN);
    return SY_EXIT_OK;
}

/* --- what is written ----------------------------------------------------------------------------
 */
static void put_origin(const struct session *s, struct sy_buffer *origin) {
    const struct sy_training *t = s->training;
    const struct sy_training_point *best = &t->history[t->best_at];
    sy_buffer_printf(origin, "command %.*s\n", ORIGIN_MAX, s->settings.text);
    sy_buffer_printf(origin, "seed %u\ncommit %s\n", t->options.seed, SYMPH_COMMIT);
    sy_buffer_printf(origin, "generation %u\nworlds %u new ones each generation\n",
                     best->generation, t->options.scenarios);
    sy_buffer_printf(origin,
                     "validation ratio %.4f, standard error %.4f, worst %.3f, in %u other worlds\n",
                     exp(best->validation), best->error, exp(best->worst), t->options.validation);
}

static int write_weights(const struct session *s, const char *path) {
    const struct sy_training *t = s->training;
    struct sy_buffer origin = {0};
    struct sy_error error = {0};
    if (!t->history_count) {
        return SY_EXIT_OK;
    }
    put_origin(s, &origin);
    struct sy_weights weights = {.kind = t->options.kind,
                                 .shape = t->options.shape,
                                 .block = t->best,
                                 .count = t->options.count,
                                 .origin = origin.text};
    int code = origin.failed ? sy_out_of_memory(&error) : sy_weights_write(path, &weights, &error);
    sy_buffer_finish(&origin);
    return sy_message_code(code, &error);
}

static int draw_curve(const struct session *s) {
    const struct sy_training *t = s->training;
    uint32_t n = t->history_count;
    double *memory = sy_need(calloc((size_t)n * 6 + 1, sizeof *memory));
    double *x = memory, *training = x + n, *mean = training + n, *low = mean + n, *high = low + n,
           *worst = high + n;
    for (uint32_t i = 0; i < n; i++) {
        const struct sy_training_point *p = &t->history[i];
        x[i] = p->generation;
        training[i] = exp(p->training);
        mean[i] = exp(p->validation);
        low[i] = exp(p->validation - 1.96 * p->error);
        high[i] = exp(p->validation + 1.96 * p->error);
        worst[i] = exp(p->worst);
    }
    struct sy_plot_line lines[] = {{"validation, 95 % band", x, mean, low, high, n},
                                   {"training, points around", x, training, NULL, NULL, n}};
    struct sy_plot_line worsts[] = {{"worst validation world", x, worst, NULL, NULL, n}};
    double bottom = 1, top = 1;
    for (uint32_t i = 0; i < n; i++) {
        bottom = fmin(bottom, low[i]);
        top = fmax(top, isfinite(training[i]) ? fmax(high[i], training[i]) : high[i]);
    }
    struct sy_plot_panel panels[] = {
        {"cost / heuristic", NULL, 0, floor(bottom * 50) / 50, ceil(top * 50) / 50, lines, 2},
        {"worst", NULL, 0, NAN, NAN, worsts, 1}};
    struct sy_plot plot = {"symph train", s->settings.text, "generation", false, panels, 2};
    struct sy_buffer svg = {0};
    sy_plot_write_svg(&plot, &svg);
    int r = svg.failed ? SY_EXIT_FAILED : sy_output_file(s->args->plot, &svg);
    sy_buffer_finish(&svg);
    free(memory);
    return r;
}

static int save(const struct session *s) {
    struct sy_error error = {0};
    int code = sy_training_save(s->training, s->settings.text, s->checkpoint.text, &error);
    return sy_message_code(code, &error);
}

/* --- progress -----------------------------------------------------------------------------------
 */
static double progress(const struct session *s) {
    const struct sy_train_args *args = s->args;
    double share = 0;
    if (args->generations_given) {
        share = (double)s->training->es.generation / args->generations;
    }
    if (args->minutes_given) {
        share = fmax(share, (sy_clock_ns() - s->started_ns) / (args->minutes * 60e9));
    }
    return share;
}

static void show(struct session *s) {
    const struct sy_training *t = s->training;
    const struct sy_training_point *p = &t->history[t->history_count - 1];
    double elapsed_ns = sy_clock_ns() - s->started_ns, share = progress(s);
    double left_ns = elapsed_ns * fmax(0, 1 - share) / share;
    sy_message_note(s->args->common.quiet,
                    "generation %u: training %s, validation %.4f +- %.4f (worst %.3f)%s, %.0f "
                    "rollouts/s, %s left",
                    p->generation, sy_units_number(exp(p->training), 4).text, exp(p->validation),
                    p->error, exp(p->worst), t->best_at == t->history_count - 1 ? " best" : "",
                    (double)(t->rollout_count - s->rollouts_before) / fmax(elapsed_ns * 1e-9, 1e-3),
                    share > 0 ? sy_units_time(left_ns).text : "?");
}

/* After a validation everything is on disk. */
static int news(struct session *s) {
    const struct sy_training *t = s->training;
    if (t->history_count == s->shown) {
        return SY_EXIT_OK;
    }
    note_time(s, s->shown, (sy_clock_ns() - s->started_ns) * 1e-9);
    s->shown = t->history_count;
    show(s);
    int r = write_weights(s, s->best.text);
    r = r ? r : save(s);
    return r || !s->args->plot ? r : draw_curve(s);
}

/* What was reached is kept, and how to go on is said. */
static int interrupted(struct session *s) {
    int r = save(s);
    r = r ? r : write_weights(s, s->best.text);
    if (r) {
        return r;
    }
    sy_message_note(s->args->common.quiet,
                    "stopped after generation %u; continue with the same command and --resume %s",
                    s->training->es.generation, s->checkpoint.text);
    return SY_EXIT_INTERRUPTED;
}

static int train(struct session *s) {
    struct sy_error error = {0};
    int code = 0, r = SY_EXIT_OK;
    double share;
    s->started_ns = sy_clock_ns();
    while (!r && !code && (share = progress(s)) < 1 && !sy_training_exhausted(s->training)) {
        code = sy_training_step(s->training, share, &error);
        r = code ? r : news(s);
    }
    code = code || r ? code : sy_training_validate(s->training, &error);
    r = code || r ? r : news(s);
    if (code) {
        return sy_interrupt_seen() ? interrupted(s) : sy_message_code(code, &error);
    }
    return r;
}

/* --- on the held-out half -----------------------------------------------------------------------
 */
static bool is_taken(const struct session *s) {
    return !s->traces || sy_held_out_verdict(&s->held_out) == SY_TRAIN_BETTER;
}

/* Only weights that are better where they were not trained become those that were asked for. */
static int judge(struct session *s) {
    if (!s->traces) {
        return SY_EXIT_OK;
    }
    struct sy_parallel parallel = sy_train_parallel(&s->pool);
    sy_message_note(s->args->common.quiet,
                    "comparing with the shipped weights in %u held-out worlds", s->args->scenarios);
    int r = sy_held_out_measure(s->args, s->training, &parallel, &s->held_out);
    if (r || !is_taken(s)) {
        return r;
    }
    r = write_weights(s, s->out.text);
    if (!r) {
        unlink(s->best.text);
    }
    return r;
}

/* --- summary ------------------------------------------------------------------------------------
 */
static const char *written(const struct session *s) {
    return is_taken(s) ? s->out.text : s->best.text;
}

static void put_figures(struct sy_json_writer *w, const char *name,
                        const struct sy_train_figures *f) {
    sy_json_key(w, name);
    sy_json_print(w, "{ratio: %g, low: %g, high: %g, better: %g, worst: %g}", f->ratio,
                  f->interval.low, f->interval.high, f->better, f->worst);
}

static void put_held_out(struct sy_json_writer *w, const struct session *s) {
    const struct sy_traced *traces = sy_train_traces(s->traces);
    const struct sy_held_out *h = &s->held_out;
    struct sy_buffer sentence = {0};
    uint32_t held_out = 0;
    if (!traces) {
        return;
    }
    for (uint32_t g = 0; g < traces->graph_count; g++) {
        held_out += traces->graphs[g].half == SY_HALF_HELD_OUT;
    }
    sy_held_out_tell(h, &sentence);
    sy_json_key(w, "held_out");
    sy_json_print(w,
                  "{verdict: %s, sentence: %s, written: %d, by_graph: %d, graphs: %u, "
                  "graphs_held_out: %u, worlds: %u",
                  sy_train_verdict_name(sy_held_out_verdict(h)),
                  sentence.failed ? "" : sentence.text, is_taken(s), h->by_graph,
                  traces->graph_count, held_out, h->change.count);
    put_figures(w, "new", &h->fresh);
    put_figures(w, "shipped", &h->shipped);
    put_figures(w, "new_over_shipped", &h->change);
    sy_json_close(w, '}');
    sy_buffer_finish(&sentence);
}

static int print_json(const struct session *s) {
    const struct sy_training *t = s->training;
    struct sy_json_writer w = {.compact_from = 3};
    sy_json_print(&w,
                  "{schema: %s, settings: %s, threads: %u, generations: %u, rollouts: %llu, "
                  "best_generation: %u, validation_ratio: %g, weights: %s, checkpoint: %s",
                  "symph-train-1", s->settings.text, s->pool.thread_count, t->es.generation,
                  (unsigned long long)t->rollout_count, t->history[t->best_at].generation,
                  exp(t->history[t->best_at].validation), written(s), s->checkpoint.text);
    put_held_out(&w, s);
    sy_json_open_member(&w, "history", '[');
    for (uint32_t i = 0; i < t->history_count; i++) {
        const struct sy_training_point *p = &t->history[i];
        sy_json_print(&w,
                      "{generation: %u, seconds: %g, training: %g, validation: %g, error: %g, "
                      "worst: %g}",
                      p->generation, s->seconds[i], p->training, p->validation, p->error, p->worst);
    }
    sy_json_print(&w, "]}");
    return sy_output(&w.buffer);
}

static void add_row(struct sy_table *table, const char *name, const struct sy_train_figures *f) {
    sy_table_cell(table, "%s|%.4f|[%.4f, %.4f]|%.0f %%|%.3f", name, f->ratio, f->interval.low,
                  f->interval.high, 100 * f->better, f->worst);
}

static void tell_held_out(const struct session *s, struct sy_buffer *buffer) {
    const struct sy_held_out *h = &s->held_out;
    struct sy_table table;
    sy_print(buffer, "\nCost / cost of %s in %u held-out worlds:\n", s->args->references,
             h->change.count);
    sy_table_init(&table, (const char *const[]){"weights", "ratio", "", "better in", "worst"},
                  "lrlrr");
    add_row(&table, "new", &h->fresh);
    add_row(&table, "shipped", &h->shipped);
    sy_table_write(&table, 0, sy_message_colour(stdout), buffer);
    sy_table_legend("ratio: geometric mean of cost / cost of the reference; [low, high]: 95 % "
                    "interval; better in: share of worlds in which the weights are better than the "
                    "reference; worst: largest ratio in one world.",
                    0, buffer);
    sy_print(buffer, "\n");
    sy_held_out_tell(h, buffer);
    if (is_taken(s)) {
        sy_print(buffer, "\nThe new weights are in %s: --policy learned@%s\n", s->out.text,
                 s->out.text);
    } else {
        sy_print(buffer, "\n%s was not written; the new weights are in %s.\n", s->out.text,
                 s->best.text);
    }
}

static int print_text(const struct session *s) {
    const struct sy_training *t = s->training;
    const struct sy_training_point *best = &t->history[t->best_at];
    struct sy_buffer buffer = {0};
    sy_print(&buffer,
             "%s: %u generations, %llu rollouts; best after generation %u:\ncost / cost of "
             "%s %.4f +- %.4f in %u validation worlds, worst %.3f\n",
             written(s), t->es.generation, (unsigned long long)t->rollout_count, best->generation,
             t->options.references, exp(best->validation), best->error, t->options.validation,
             exp(best->worst));
    if (s->traces) {
        tell_held_out(s, &buffer);
    } else {
        sy_print(
            &buffer,
            "(the best of %u validations, so too optimistic: symph train --compare %s gives an "
            "unbiased result)\n",
            t->history_count, s->out.text);
    }
    return sy_output(&buffer);
}

int sy_train_es(const struct sy_train_args *args) {
    struct session s = {.args = args};
    sy_interrupt_watch();
    int r = setup(&s);
    r = r ? r : open_training(&s);
    r = r ? r : train(&s);
    r = r ? r : judge(&s);
    if (!r) {
        r = args->common.json ? print_json(&s) : print_text(&s);
    }
    sy_training_close(s.training);
    sy_weights_close(&s.init);
    sy_buffer_finish(&s.settings);
    sy_buffer_finish(&s.out);
    sy_buffer_finish(&s.checkpoint);
    sy_buffer_finish(&s.best);
    free(s.seconds);
    sy_train_traces_close(s.traces);
    return r;
}
