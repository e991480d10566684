/* SPDX-License-Identifier: Apache-2.0
 *
 * actor: the papers' policies by actor-critic, from the command line.
 *
 * In: arguments. Out: the weights that did best in validation, lines on stderr, a summary on
 * stdout. A generation is one iteration: two episodes in one new world, then the updates.
 * Invariant: the same number of generations gives the same bytes, whatever the number of threads.
 */
#include "base/json.h"
#include "cli/clock.h"
#include "cli/commit.h"
#include "cli/threads.h"
#include "cli/train/methods.h"
#include "papers/papers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CLIP     0.2
#define EPOCHS   3
#define LESSONS  0.2 /* of the budget, where a teacher is named */
#define VALIDATE 24  /* worlds, unless --validation says otherwise */

struct session {
    const struct sy_train_args *args;
    struct sy_train_pool pool;
    struct sy_catalogue *catalogue;
    struct sy_scenario **scenarios; /* of validation */
    struct sy_actor_world *worlds;
    uint32_t world_count;
    double *ratios;
    struct sy_actor *actor;
    enum sy_actor_gradient gradient;
    struct sy_actor_trust trust, best_trust;
    double trust_loss[2]; /* mean over the first and the second half of the budget */
    uint32_t trust_count[2];
    float *best;
    double best_ratio, first_ratio;
    uint64_t samples, best_samples;
    uint32_t generation;
    double started_ns;
    struct sy_buffer settings;
    const char *out;
    char out_default[64];
};

static int failed(int code, const struct sy_error *error) {
    if (sy_interrupt_seen()) {
        return SY_EXIT_INTERRUPTED;
    }
    return sy_message_code(code, error);
}

/* --- worlds --------------------------------------------------------------------------------------
 */
static int open_world(const struct session *s, enum sy_split split, uint32_t index,
                      struct sy_scenario **ret_scenario, struct sy_actor_world *ret_world,
                      struct sy_error *error) {
    uint64_t number = sy_scenario_number(split, (uint32_t)s->args->seed, index);
    struct sy_sim *sim = NULL;
    struct sy_sim_result result;
    int code = sy_scenario_create(s->catalogue, number, ret_scenario, error);
    if (code) {
        return code;
    }
    struct sy_scenario *scenario = *ret_scenario;
    scenario->options.stop = sy_interrupt_seen;
    code = sy_sim_create(scenario->workload, &scenario->options, &sim, error);
    code = code ? code : sy_sim_run(sim, s->args->references, &result, error);
    sy_sim_destroy(sim);
    if (code) {
        sy_scenario_destroy(scenario);
        return code;
    }
    *ret_world =
        (struct sy_actor_world){scenario->workload, scenario->options, result.slowdown_mean};
    return 0;
}

static int open_one(void *context, uint32_t worker, uint32_t item, struct sy_error *error) {
    struct session *s = context;
    (void)worker;
    return open_world(s, SY_SPLIT_VALIDATION, item, &s->scenarios[item], &s->worlds[item], error);
}

static int judge_one(void *context, uint32_t worker, uint32_t item, struct sy_error *error) {
    struct session *s = context;
    (void)worker;
    return sy_actor_judge(s->actor, &s->worlds[item], 1, &s->ratios[item], error);
}

/* --- setting up ----------------------------------------------------------------------------------
 */
static int open_actor(struct session *s) {
    const struct sy_train_args *args = s->args;
    struct sy_actor_options options = sy_actor_defaults(args->policy);
    struct sy_weights init = {0};
    struct sy_error error = {0};
    options.seed = args->seed;
    options.ratio_clip = CLIP;
    options.epochs = EPOCHS;
    if (args->init) {
        int code = sy_weights_open(args->init, &init, &error);
        if (code) {
            return sy_message_about("--init", args->init, code, &error);
        }
        if (strcmp(init.kind, args->policy) != 0 || init.shape != SY_PAPER_SHAPE ||
            init.count != SY_PAPER_COUNT) {
            sy_message_fail("--init %s: weights of another policy or of another version of it",
                            args->init);
            sy_weights_close(&init);
            return SY_EXIT_INPUT;
        }
    }
    int code = sy_actor_create(&options, init.block, &s->actor);
    sy_weights_close(&init);
    return code ? failed(code, &(struct sy_error){.message = "out of memory"}) : SY_EXIT_OK;
}

static bool is_black_box(const struct session *s) {
    return strcmp(s->args->policy, "black-box") == 0;
}

/* What this method does not know is refused. */
static int check_args(struct session *s) {
    const struct sy_train_args *args = s->args;
    if (args->resume) {
        sy_message_fail(
            "--resume: --method a2c writes no checkpoints; start from weights with --init "
            "FILE");
        return SY_EXIT_USAGE;
    }
    if (args->plot || args->patience) {
        sy_message_fail("%s is not for --method a2c; build/bench/paper_curves draws its curves",
                        args->plot ? "--plot" : "--patience");
        return SY_EXIT_USAGE;
    }
    while (args->gradient && s->gradient < SY_GRADIENTS &&
           strcmp(sy_actor_gradient_name(s->gradient), args->gradient) != 0) {
        s->gradient++;
    }
    if (s->gradient == SY_GRADIENTS) {
        sy_message_fail("--gradient is pathwise, paper or none, not '%s'", args->gradient);
        return SY_EXIT_USAGE;
    }
    if (s->gradient && is_black_box(s)) {
        sy_message_fail("--gradient %s: black-box has no belief", args->gradient);
        return SY_EXIT_USAGE;
    }
    return SY_EXIT_OK;
}

static int open_session(struct session *s) {
    const struct sy_train_args *args = s->args;
    struct sy_catalogue_options options;
    struct sy_error error = {0};
    int r = sy_train_worlds(args, NULL, &options);
    r = r ? r : check_args(s);
    if (r) {
        return r;
    }
    if (is_black_box(s)) {
        options.belief = SY_SIM_RAW; /* that is what it is */
    }
    s->trust = s->best_trust = sy_actor_trust_start();
    snprintf(s->out_default, sizeof s->out_default, "%s.weights", args->policy);
    s->out = args->out ? args->out : s->out_default;
    s->pool.thread_count = sy_threads_count(args->threads);
    s->world_count = args->validation;
    s->scenarios = sy_need(calloc(s->world_count, sizeof(struct sy_scenario *)));
    s->worlds = sy_need(calloc(s->world_count, sizeof *s->worlds));
    s->ratios = sy_need(calloc(s->world_count, sizeof *s->ratios));
    s->best = sy_need(calloc(SY_PAPER_COUNT, sizeof *s->best));
    sy_train_settings(args, NULL, &s->settings);
    int code = sy_catalogue_open(&options, &s->catalogue, &error);
    struct sy_parallel parallel = sy_train_parallel(&s->pool);
    code = code ? code : parallel.run(parallel.pool, s->world_count, open_one, s, &error);
    return code ? failed(code, &error) : open_actor(s);
}

static void close_session(struct session *s) {
    for (uint32_t i = 0; s->scenarios && i < s->world_count; i++) {
        sy_scenario_destroy(s->scenarios[i]);
    }
    sy_actor_destroy(s->actor);
    sy_catalogue_close(s->catalogue);
    sy_buffer_finish(&s->settings);
    free(s->scenarios);
    free(s->worlds);
    free(s->ratios);
    free(s->best);
}

/* --- training ------------------------------------------------------------------------------------
 */
static const char *trust_name(uint32_t parameter) {
    static const char *const names[SY_TRUST_COUNT] = {"noise-dram", "noise-link", "noise-switch",
                                                      "noise-interconnect", "width-factor"};
    return names[parameter];
}

static int write_best(const struct session *s) {
    struct sy_weights weights = sy_actor_weights(s->actor);
    struct sy_buffer origin = {0};
    struct sy_error error = {0};
    sy_buffer_printf(&origin, "command %.800s\nseed %llu\ncommit %s\n", s->settings.text,
                     (unsigned long long)s->args->seed, SYMPH_COMMIT);
    sy_buffer_printf(&origin, "decisions %llu\nvalidation ratio %.4f, in %u other worlds\n",
                     (unsigned long long)s->best_samples, s->best_ratio, s->world_count);
    for (uint32_t i = 0; s->gradient && i < SY_TRUST_COUNT; i++) {
        sy_buffer_printf(&origin, "belief-%s %.4g\n", trust_name(i),
                         exp((double)s->best_trust.ln[i]));
    }
    weights.block = s->best;
    weights.origin = origin.text;
    int code =
        origin.failed ? sy_out_of_memory(&error) : sy_weights_write(s->out, &weights, &error);
    sy_buffer_finish(&origin);
    return code ? failed(code, &error) : SY_EXIT_OK;
}

static int validate(struct session *s, const struct sy_actor_report *report) {
    struct sy_error error = {0};
    struct sy_parallel parallel = sy_train_parallel(&s->pool);
    int code = parallel.run(parallel.pool, s->world_count, judge_one, s, &error);
    if (code) {
        return failed(code, &error);
    }
    double ratio = sy_geomean(s->ratios, s->world_count);
    bool better = !(ratio >= s->best_ratio);
    if (better) {
        s->best_ratio = ratio;
        s->best_samples = s->samples;
        s->best_trust = s->trust;
        memcpy(s->best, sy_actor_block(s->actor), SY_PAPER_COUNT * sizeof *s->best);
    }
    s->first_ratio = isfinite(s->first_ratio) ? s->first_ratio : ratio;
    sy_message_note(s->args->common.quiet,
                    "generation %u, %llu decisions: slowdown / %s %.3f%s, value loss %.4f",
                    s->generation, (unsigned long long)s->samples, s->args->references, ratio,
                    better ? " best" : "", report->value_loss);
    return better ? write_best(s) : SY_EXIT_OK;
}

static double progress(const struct session *s) {
    const struct sy_train_args *args = s->args;
    double share = 0;
    if (args->generations_given) {
        share = (double)s->generation / args->generations;
    }
    if (args->minutes_given) {
        share = fmax(share, (sy_clock_ns() - s->started_ns) / (args->minutes * 60e9));
    }
    return share;
}

static int learn(struct session *s, double share, struct sy_actor_report *report) {
    struct sy_scenario *scenario = NULL;
    struct sy_actor_world world;
    struct sy_error error = {0};
    const char *teacher = share < LESSONS ? s->args->imitate : NULL;
    int code = open_world(s, SY_SPLIT_TRAINING, s->generation, &scenario, &world, &error);
    if (!code) {
        double rate = s->args->rate * (1 - 0.9 * share);
        code = sy_actor_step(s->actor, &world, 1, teacher, rate, report, &error);
        code = code ? code
                    : sy_actor_trust_step(s->actor, &world, s->gradient, rate, &s->trust, &error);
        if (!code && s->gradient && isfinite(s->trust.loss)) {
            uint32_t half = share >= 0.5;
            s->trust_loss[half] += (s->trust.loss - s->trust_loss[half]) / ++s->trust_count[half];
        }
        sy_scenario_destroy(scenario);
    }
    if (code) {
        return failed(code, &error);
    }
    s->samples += report->samples;
    s->generation++;
    return SY_EXIT_OK;
}

static int train(struct session *s) {
    struct sy_actor_report report = {0};
    double share;
    s->started_ns = sy_clock_ns();
    s->best_ratio = s->first_ratio = INFINITY;
    int r = validate(s, &report);
    while (!r && (share = progress(s)) < 1) {
        r = learn(s, share, &report);
        if (!r && (s->generation % s->args->every == 0 || progress(s) >= 1)) {
            r = validate(s, &report);
        }
    }
    return r;
}

/* --- summary -------------------------------------------------------------------------------------
 */
/* NAN: no decision was taken again in that half. */
static double half_loss(const struct session *s, uint32_t half) {
    return s->trust_count[half] ? s->trust_loss[half] : (double)NAN;
}

static void put_trust(const struct session *s, struct sy_json_writer *w) {
    sy_json_print(w, "belief: {gradient: %s, loss_first_half: %g, loss_second_half: %g",
                  s->args->gradient, half_loss(s, 0), half_loss(s, 1));
    for (uint32_t i = 0; i < SY_TRUST_COUNT; i++) {
        sy_json_member_number(w, trust_name(i), exp((double)s->best_trust.ln[i]));
    }
    sy_json_close(w, '}');
}

static int print(const struct session *s) {
    struct sy_buffer buffer = {0};
    if (s->args->common.json) {
        struct sy_json_writer w = {.compact_from = 3};
        sy_json_print(&w,
                      "{schema: %s, settings: %s, generations: %u, decisions: %llu, "
                      "untrained_ratio: %g, validation_ratio: %g, weights: %s",
                      "symph-train-1", s->settings.text, s->generation,
                      (unsigned long long)s->samples, s->first_ratio, s->best_ratio, s->out);
        if (s->gradient) {
            put_trust(s, &w);
        }
        sy_json_close(&w, '}');
        return sy_output(&w.buffer);
    }
    sy_print(&buffer,
             "%s: %u generations, %llu decisions; mean job slowdown / that of %s\n"
             "%.3f untrained, %.3f after %llu decisions, in %u validation worlds\n",
             s->out, s->generation, (unsigned long long)s->samples, s->args->references,
             s->first_ratio, s->best_ratio, (unsigned long long)s->best_samples, s->world_count);
    if (s->gradient) {
        sy_print(&buffer,
                 "belief, through %s gradients: loss %.4f in the first half, %.4f "
                 "in the second;",
                 s->args->gradient, half_loss(s, 0), half_loss(s, 1));
        for (uint32_t i = 0; i < SY_TRUST_COUNT; i++) {
            sy_print(&buffer, " %s %.3g", trust_name(i), exp((double)s->best_trust.ln[i]));
        }
        sy_print(&buffer, "\n");
    }
    return sy_output(&buffer);
}

int sy_train_actor(const struct sy_train_args *args) {
    struct sy_train_args own = *args;
    struct session s = {.args = &own};
    const char *rest;
    struct sy_error error = {0};
    own.validation = args->validation_given ? args->validation : VALIDATE;
    const struct sy_scheduler_ops *reference = sy_scheduler_find(own.references, &rest, &error);
    const struct sy_scheduler_ops *teacher =
        own.imitate ? sy_scheduler_find(own.imitate, &rest, &error) : reference;
    if (!reference || !teacher || teacher->needs_truth || teacher->net) {
        if (reference && teacher) {
            sy_fail(&error, -EINVAL, "only a heuristic can be imitated");
        }
        sy_message_about(reference ? "--imitate" : "--references",
                         reference ? own.imitate : own.references, -EINVAL, &error);
        return SY_EXIT_USAGE;
    }
    sy_interrupt_watch();
    int r = open_session(&s);
    r = r ? r : train(&s);
    r = r ? r : print(&s);
    close_session(&s);
    return r;
}
