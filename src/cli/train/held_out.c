/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether weights that were trained on traces are better than the shipped ones: see held_out.h.
 */
#include "cli/train/held_out.h"

#include <math.h>
#include <string.h>

#define SEED  1    /* of the bootstrap */
#define EQUAL 1e-9 /* a score that is no better */

struct sy_train_figures sy_train_measure(const double *score, const uint32_t *group,
                                         uint32_t count) {
    struct sy_train_figures f = {.count = count, .ratio = NAN, .worst = NAN};
    double worst = -INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        worst = fmax(worst, score[i]);
        f.better += score[i] < -EQUAL;
    }
    if (count) {
        struct sy_clusters clusters = {.inner = group};
        f.ratio = exp(sy_mean(score, count));
        f.worst = exp(worst);
        f.better /= count;
        f.interval = sy_bootstrap_mean(score, count, clusters, SEED);
        f.interval = (struct sy_interval){exp(f.interval.low), exp(f.interval.high)};
    }
    return f;
}

/* --- what is said -------------------------------------------------------------------------------
 */
const char *sy_train_verdict_name(enum sy_train_verdict verdict) {
    static const char *const names[] = {"better", "same", "worse"};
    return names[verdict];
}

enum sy_train_verdict sy_held_out_verdict(const struct sy_held_out *h) {
    return h->change.interval.high < 1  ? SY_TRAIN_BETTER
           : h->change.interval.low > 1 ? SY_TRAIN_WORSE
                                        : SY_TRAIN_SAME;
}

void sy_held_out_tell(const struct sy_held_out *h, struct sy_buffer *buffer) {
    static const char *const verdicts[] = {
        "better than the shipped ones",
        "not better than the shipped ones: the difference may be chance",
        "worse than the shipped ones"};
    if (h->unchanged) {
        sy_buffer_printf(buffer,
                         "Training found nothing better than the shipped weights in its own "
                         "validation worlds: the new weights are the shipped ones.");
        return;
    }
    sy_buffer_printf(buffer,
                     "On the held-out %s the new weights are %s. Cost over that of the shipped "
                     "ones: %.4f [%.4f, %.4f], in %u worlds of %u graph%s.",
                     h->by_graph ? "half of the graphs" : "worlds of the same graph",
                     verdicts[sy_held_out_verdict(h)], h->change.ratio, h->change.interval.low,
                     h->change.interval.high, h->change.count, h->graph_count,
                     h->graph_count == 1 ? "" : "s");
}

/* --- the comparison -----------------------------------------------------------------------------
 */
/* Worlds by the graph that dominates them: the first of its name. */
static uint32_t group_worlds(const struct sy_comparison *c, uint32_t *group) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->scenario_count; i++) {
        group[i] = sy_comparison_family(c, i);
        count += group[i] == i;
    }
    return count;
}

static void judge(const struct sy_comparison *c, uint32_t *group, struct sy_held_out *ret) {
    double *fresh = c->contenders[0].score, *shipped = c->contenders[1].score;
    ret->graph_count = group_worlds(c, group);
    ret->fresh = sy_train_measure(fresh, group, c->scenario_count);
    ret->shipped = sy_train_measure(shipped, group, c->scenario_count);
    for (uint32_t i = 0; i < c->scenario_count; i++) {
        fresh[i] -= shipped[i];
    }
    ret->change = sy_train_measure(fresh, group, c->scenario_count);
}

int sy_held_out_measure(const struct sy_train_args *args, const struct sy_training *training,
                        const struct sy_parallel *parallel, struct sy_held_out *ret_held_out) {
    const struct sy_training_options *o = &training->options;
    struct sy_arena *arena = sy_need(sy_arena_create());
    uint32_t n = args->scenarios;
    const float *blocks[] = {training->best, sy_weights_shipped(o->kind)->block};
    struct sy_contender contenders[SY_COUNT(blocks)];
    for (size_t i = 0; i < SY_COUNT(blocks); i++) {
        contenders[i] = (struct sy_contender){
            .rollout = {o->policy, o->kind, o->shape, o->count, blocks[i], sy_interrupt_seen},
            .score = sy_need(sy_arena_alloc(arena, n, sizeof(double))),
            .cost = sy_need(sy_arena_alloc(arena, (size_t)n * SY_MEASURE_COUNT, sizeof(double)))};
    }
    struct sy_comparison comparison = {
        .references = o->references,
        .utility = o->utility,
        .scenario_count = n,
        .contenders = contenders,
        .contender_count = SY_COUNT(blocks),
        .families = sy_need(sy_arena_alloc(arena, n, sizeof(char *))),
        .machines = sy_need(sy_arena_alloc(arena, n, sizeof(char *))),
        .streams = sy_need(sy_arena_alloc(arena, n, sizeof(bool)))};
    uint32_t *group = sy_need(sy_arena_alloc(arena, n, sizeof *group));
    struct sy_error error = {0};
    int code = sy_compare(&comparison, training->catalogue, parallel, &error);
    if (!code) {
        *ret_held_out = (struct sy_held_out){
            .by_graph = o->worlds.traces->shape_count > 1,
            .unchanged = memcmp(blocks[0], blocks[1], o->count * sizeof(float)) == 0};
        judge(&comparison, group, ret_held_out);
    }
    sy_arena_destroy(arena);
    return code && sy_interrupt_seen() ? SY_EXIT_INTERRUPTED : sy_message_code(code, &error);
}
