/* SPDX-License-Identifier: Apache-2.0
 *
 * es: evolution strategies, or expert iteration, from the command line.
 *
 * In: arguments. Out: weights, a checkpoint and a curve after every validation, lines on stderr, a
 * summary on stdout. Invariant: files are replaced whole; an interrupted run leaves a checkpoint
 * from which it goes on as if nothing had happened.
 */
#include "base/json.h"
#include "cli/clock.h"
#include "cli/commit.h"
#include "cli/threads.h"
#include "cli/train/methods.h"
#include "cli/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CLIP_NORM  0 /* slopes have unit scale already */
#define KEEP       0.9
#define HINGE_FROM 0.01
#define ORIGIN_MAX 800 /* bytes of the command in a weights file */

struct session {
    const struct sy_train_args *args;
    struct sy_train_pool pool;
    struct sy_training_options options;
    struct sy_training *training;
    struct sy_weights init;
    struct sy_buffer settings, out, checkpoint;
    double started_ns;
    uint64_t rollouts_before;
    uint32_t shown; /* validations */
};

/* --- setting up ---------------------------------------------------------------------------------
 */
static int open_init(struct session *s) {
    struct sy_error error = {0};
    if (!s->args->init) {
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
    int r = sy_train_worlds(args, &s->options.worlds);
    r = r ? r : open_init(s);
    sy_train_settings(args, &s->settings);
    if (args->out) {
        sy_buffer_printf(&s->out, "%s", args->out);
    } else {
        sy_buffer_printf(&s->out, "%s.weights", args->policy);
    }
    sy_buffer_printf(&s->checkpoint, "%s.checkpoint", s->out.text ? s->out.text : "");
    if (s->settings.failed || s->out.failed || s->checkpoint.failed) {
        return sy_no_memory();
    }
    return r;
}

static int open_training(struct session *s) {
    struct sy_error error = {0};
    s->pool.thread_count = sy_threads_count(s->args->threads);
    struct sy_parallel parallel = sy_train_parallel(&s->pool);
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

static int write_weights(const struct session *s) {
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
    int code =
        origin.failed ? sy_out_of_memory(&error) : sy_weights_write(s->out.text, &weights, &error);
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
    s->shown = t->history_count;
    show(s);
    int r = write_weights(s);
    r = r ? r : save(s);
    return r || !s->args->plot ? r : draw_curve(s);
}

/* What was reached is kept, and how to go on is said. */
static int interrupted(struct session *s) {
    int r = save(s);
    r = r ? r : write_weights(s);
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

/* --- summary ------------------------------------------------------------------------------------
 */
static int print_json(const struct session *s) {
    const struct sy_training *t = s->training;
    struct sy_json_writer w = {.compact_from = 3};
    sy_json_print(
        &w,
        "{schema: %s, settings: %s, generations: %u, rollouts: %llu, "
        "best_generation: %u, validation_ratio: %g, weights: %s, checkpoint: %s, history: [",
        "symph-train-1", s->settings.text, t->es.generation, (unsigned long long)t->rollout_count,
        t->history[t->best_at].generation, exp(t->history[t->best_at].validation), s->out.text,
        s->checkpoint.text);
    for (uint32_t i = 0; i < t->history_count; i++) {
        const struct sy_training_point *p = &t->history[i];
        sy_json_print(&w, "{generation: %u, training: %g, validation: %g, error: %g, worst: %g}",
                      p->generation, p->training, p->validation, p->error, p->worst);
    }
    sy_json_print(&w, "]}");
    return sy_output(&w.buffer);
}

static int print_text(const struct session *s) {
    const struct sy_training *t = s->training;
    const struct sy_training_point *best = &t->history[t->best_at];
    struct sy_buffer buffer = {0};
    sy_print(&buffer,
             "%s: %u generations, %llu rollouts; best after generation %u:\ncost / cost of "
             "%s %.4f +- %.4f in %u validation worlds, worst %.3f\n(the best of %u "
             "validations, so too optimistic: symph train --compare %s gives an unbiased "
             "result)\n",
             s->out.text, t->es.generation, (unsigned long long)t->rollout_count, best->generation,
             t->options.references, exp(best->validation), best->error, t->options.validation,
             exp(best->worst), t->history_count, s->out.text);
    return sy_output(&buffer);
}

int sy_train_es(const struct sy_train_args *args) {
    struct session s = {.args = args};
    sy_interrupt_watch();
    int r = setup(&s);
    r = r ? r : open_training(&s);
    r = r ? r : train(&s);
    if (!r) {
        r = args->common.json ? print_json(&s) : print_text(&s);
    }
    sy_training_close(s.training);
    sy_weights_close(&s.init);
    sy_buffer_finish(&s.settings);
    sy_buffer_finish(&s.out);
    sy_buffer_finish(&s.checkpoint);
    return r;
}
