/* SPDX-License-Identifier: Apache-2.0
 *
 * The papers' schedulers: symphony-paper (belief and topology through graph networks) and black-box
 * (raw counters into dense layers), everything else equal.
 *
 * Asked when an executor has nothing to run; the actions that are legal then are scored, and one is
 * taken: a kernel of a job on a device, an image into an FPGA region, or nothing, which is not
 * allowed while nobody would ask again. NAME:N lets up to N decisions share one pass (the papers'
 * batches). A tape records what was seen; with a teacher on it, the teacher decides.
 * Papers: Symphony (ICML'20) section 4, supplement B; docs/design/011-papers-policies.md.
 */
#include "papers/symphony_paper.h"
#include <errno.h>
#include <string.h>

#define START_SEED 1 /* of weights that nobody has trained */
#define BATCH_MAX  64

/* --- life ----------------------------------------------------------------------------------------
 */
static int take_block(struct paper *p) {
    float *block;
    if (p->base.weights) {
        p->block = p->base.weights->block;
        return 0;
    }
    block = sy_arena_alloc(p->base.arena, SY_PAPER_COUNT, sizeof *block);
    if (!block) {
        return -ENOMEM;
    }
    sy_paper_net_start(&p->net, START_SEED, block);
    p->block = block;
    return 0;
}

static int take_pass(struct paper *p) {
    struct sy_paper_frame most = p->frame;
    most.task_count = PAPER_TASKS;
    most.link_count = PAPER_LINKS;
    most.action_count = PAPER_ACTIONS;
    float *memory =
        sy_arena_alloc(p->base.arena, sy_paper_pass_floats(&p->net, &most) + 16, sizeof *memory);
    if (!memory) {
        return -ENOMEM;
    }
    sy_paper_pass_lay(&p->net, &most, memory, &p->pass);
    return 0;
}

static int take_teacher(struct paper *p, const struct sy_scheduler *s, const struct sy_view *view) {
    const char *args = "";
    if (!p->tape || !p->tape->teacher) {
        return 0;
    }
    const struct sy_scheduler_ops *ops = sy_scheduler_find(p->tape->teacher, &args, NULL);
    if (!ops || ops->needs_truth || ops->net) {
        return -EINVAL;
    }
    p->teacher = (struct sy_scheduler){.ops = ops, .seed = s->seed};
    int code = ops->init(&p->teacher, view, args);
    if (code) {
        if (ops->finish) {
            ops->finish(&p->teacher);
        }
        p->teacher.ops = NULL;
    }
    return code;
}

static int init(struct sy_scheduler *s, const struct sy_view *view, const char *args,
                bool black_box) {
    int code = sy_policy_init(s, view, args, sizeof(struct paper));
    if (code) {
        return code;
    }
    struct paper *p = s->state;
    p->black_box = black_box;
    p->tape = s->setup ? s->setup->tape : NULL;
    p->batch =
        p->tape || !p->base.argument ? 1 : (uint32_t)fmin((double)p->base.argument, BATCH_MAX);
    sy_paper_net_make(&p->net, black_box, p->base.without);
    code = take_block(p);
    code = code ? code : sy_paper_frame_init(p, view);
    code = code ? code : take_pass(p);
    return code ? code : take_teacher(p, s, view);
}

static int init_symphony(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return init(s, view, args, false);
}

static int init_black_box(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    return init(s, view, args, true);
}

static void finish(struct sy_scheduler *s) {
    struct paper *p = s->state;
    if (p && p->teacher.ops && p->teacher.ops->finish) {
        p->teacher.ops->finish(&p->teacher);
    }
    sy_policy_finish(s);
}

/* --- events --------------------------------------------------------------------------------------
 */
/* The reward is minus what this grows by: -dt * sum over jobs present of 1 / T_isolated. */
static void pay(struct paper *p, const struct sy_view *view) {
    p->cost += p->cost_rate * (view->now_ns - p->cost_at_ns);
    p->cost_at_ns = view->now_ns;
    if (p->tape) {
        p->tape->cost = p->cost;
    }
}

/* As slowdowns have it: it may be nothing. */
static double alone_ns(const struct sy_view_job *job) {
    return fmax(job->isolated_ns, SY_ALONE_LEAST_NS);
}

static void job_arrived(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    struct paper *p = s->state;
    const struct sy_view_job *j = &view->jobs[job];
    pay(p, view);
    p->cost += (view->now_ns - j->arrive_ns) / alone_ns(j);
    p->cost_rate += 1 / alone_ns(j);
    p->jobs++;
    sy_rank_upward(&p->base, view, job, p->base.rank);
    if (p->teacher.ops && p->teacher.ops->job_arrived) {
        p->teacher.ops->job_arrived(&p->teacher, view, job);
    }
}

static void job_left(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    struct paper *p = s->state;
    pay(p, view);
    p->jobs--;
    p->cost_rate -= 1 / alone_ns(&view->jobs[job]);
    p->cost_rate = p->jobs ? p->cost_rate : 0;
    if (p->teacher.ops && p->teacher.ops->job_left) {
        p->teacher.ops->job_left(&p->teacher, view, job);
    }
}

static void task_ready(struct sy_scheduler *s, const struct sy_view *view, uint32_t task) {
    struct paper *p = s->state;
    if (!p->inside[task]) {
        p->inside[task] = true;
        p->ready[p->ready_count++] = task;
    }
    if (p->teacher.ops && p->teacher.ops->task_ready) {
        p->teacher.ops->task_ready(&p->teacher, view, task);
    }
}

static void task_done(struct sy_scheduler *s, const struct sy_view *view, uint32_t task,
                      uint32_t device, double duration_ns) {
    struct paper *p = s->state;
    sy_policy_task_done(s, view, task, device, duration_ns);
    if (p->teacher.ops && p->teacher.ops->task_done) {
        p->teacher.ops->task_done(&p->teacher, view, task, device, duration_ns);
    }
}

static void device_lost(struct sy_scheduler *s, const struct sy_view *view, uint32_t device) {
    struct paper *p = s->state;
    p->configuring[device] = SY_NONE;
    p->last_task[device] = SY_NONE;
    p->prepared[device] = false;
    if (p->teacher.ops && p->teacher.ops->device_lost) {
        p->teacher.ops->device_lost(&p->teacher, view, device);
    }
}

static void device_returned(struct sy_scheduler *s, const struct sy_view *view, uint32_t device) {
    struct paper *p = s->state;
    if (p->teacher.ops && p->teacher.ops->device_returned) {
        p->teacher.ops->device_returned(&p->teacher, view, device);
    }
}

/* --- deciding ------------------------------------------------------------------------------------
 */
static void record(struct paper *p, const float *state, uint32_t chosen) {
    struct sy_paper_step *step = sy_tape_add(p->tape, &p->frame);
    p->tape->decision_count++;
    if (step) {
        memcpy(step->state, state, sizeof step->state);
        step->chosen = chosen;
        step->log_probability = sy_softmax_log(p->pass.probability, chosen);
        step->value = p->pass.value;
        step->cost = p->cost;
        step->now_ns = p->cost_at_ns;
    }
}

/* The best of the actions that are left; by chance where a tape says so. */
static uint32_t choose(struct paper *p) {
    uint32_t best = SY_NONE;
    double left = p->tape && p->tape->sample ? sy_rng_uniform(&p->tape->rng) : 0;
    for (uint32_t a = 0; a < p->frame.action_count; a++) {
        if (p->taken[a]) {
            continue;
        }
        if (p->tape && p->tape->sample) {
            best = best == SY_NONE || left >= 0 ? a : best;
            left -= p->pass.probability[a];
        } else if (best == SY_NONE || p->pass.scores[a] > p->pass.scores[best]) {
            best = a;
        }
    }
    return best;
}

static void say(const struct paper *p, const struct sy_view *view, uint32_t a,
                struct sy_decision *ret) {
    const struct sy_paper_action *action = &p->actions[a];
    *ret =
        (struct sy_decision){.kind = action->kind, .task = action->task, .device = action->device};
    if (action->kind == SY_RUN) {
        double wait_ns = sy_estimate_free_ns(view, action->device) - view->now_ns;
        ret->expected_ns = sy_estimate_exec_ns(&p->base, view, action->task, action->device);
        ret->reason.finish_ns = (float)(wait_ns + ret->expected_ns);
    }
}

/* Of what shares a pass, the same task, and a device that has no room left, are out. */
static void strike(struct paper *p, const struct sy_view *view, uint32_t chosen) {
    struct sy_paper_action made = p->actions[chosen];
    p->prepared[made.device] = made.kind == SY_RECONFIGURE;
    if (made.kind == SY_RUN) {
        p->last_task[made.device] = made.task;
        p->held[made.device]++;
    } else {
        p->configuring[made.device] = made.task;
    }
    for (uint32_t a = 0; a < p->frame.action_count; a++) {
        const struct sy_paper_action *other = &p->actions[a];
        if (other->device == SY_NONE) {
            continue;
        }
        bool same = made.kind == SY_RUN && other->kind == SY_RUN && other->task == made.task;
        bool configures = other->kind == SY_RECONFIGURE && other->device == made.device;
        p->taken[a] |= same || configures || !paper_open(p, view, other->device);
    }
}

static bool is_wait(const struct paper *p, uint32_t a) {
    return p->actions[a].kind == SY_RUN && p->actions[a].task == SY_NONE;
}

static uint32_t decide_self(struct paper *p, const struct sy_view *view, struct sy_decision *ret,
                            uint32_t capacity) {
    float before[2 * SY_PAPER_HIDDEN];
    uint32_t count = 0, most = p->batch < capacity ? p->batch : capacity;
    if (!sy_paper_look(p, view)) {
        return 0;
    }
    sy_paper_frame(p, view);
    memcpy(before, p->state, sizeof before);
    sy_paper_forward(&p->net, p->block, &p->frame, p->state, &p->pass);
    memset(p->taken, 0, PAPER_ACTIONS * sizeof *p->taken);
    while (count < most) {
        uint32_t chosen = choose(p);
        if (chosen == SY_NONE) {
            break;
        }
        if (p->tape) {
            record(p, before, chosen);
        }
        if (is_wait(p, chosen)) {
            break;
        }
        say(p, view, chosen, &ret[count++]);
        strike(p, view, chosen);
    }
    return count;
}

/* The action that stands for what the teacher does; SY_NONE: none does. */
static uint32_t find_action(const struct paper *p, const struct sy_view *view,
                            const struct sy_decision *decision) {
    for (uint32_t a = 0; a < p->frame.action_count; a++) {
        const struct sy_paper_action *action = &p->actions[a];
        if (!decision) {
            if (is_wait(p, a)) {
                return a;
            }
            continue;
        }
        if (action->task == SY_NONE || action->kind != decision->kind ||
            action->device != p->like[decision->device]) {
            continue;
        }
        if (action->kind == SY_RECONFIGURE
                ? action->task == decision->task
                : view->task_job[action->task] == view->task_job[decision->task] &&
                      view->task_kernel[action->task] == view->task_kernel[decision->task]) {
            return a;
        }
    }
    return SY_NONE;
}

static uint32_t decide_taught(struct paper *p, const struct sy_view *view,
                              struct sy_decision *ret) {
    float before[2 * SY_PAPER_HIDDEN];
    bool asked = sy_paper_look(p, view);
    if (asked) { /* before the teacher decides: it may change what it has seen */
        sy_paper_frame(p, view);
    }
    uint32_t count = p->teacher.ops->decide(&p->teacher, view, ret, 1);
    uint32_t chosen = asked ? find_action(p, view, count ? ret : NULL) : SY_NONE;
    if (chosen != SY_NONE) {
        memcpy(before, p->state, sizeof before);
        sy_paper_forward(&p->net, p->block, &p->frame, p->state, &p->pass);
        record(p, before, chosen);
    } else {
        p->tape->unrecorded_count += count;
    }
    if (count && ret->kind != SY_FETCH) {
        p->prepared[ret->device] = ret->kind == SY_RECONFIGURE;
    }
    if (count && ret->kind == SY_RUN) {
        p->last_task[ret->device] = ret->task;
    } else if (count && ret->kind == SY_RECONFIGURE) {
        p->configuring[ret->device] = ret->task;
    }
    return count;
}

static uint32_t decide(struct sy_scheduler *s, const struct sy_view *view, struct sy_decision *ret,
                       uint32_t capacity) {
    struct paper *p = s->state;
    pay(p, view);
    if (!capacity) {
        return 0;
    }
    return p->teacher.ops ? decide_taught(p, view, ret) : decide_self(p, view, ret, capacity);
}

#define PAPER(identifier, policy_name, text, start, part_set)                                      \
    const struct sy_scheduler_ops identifier = {                                                   \
        .name = policy_name,                                                                       \
        .summary = text,                                                                           \
        .needs_readings = true,                                                                    \
        .takes_number = true,                                                                      \
        .net =                                                                                     \
            &(const struct sy_policy_net){policy_name, SY_PAPER_SHAPE, SY_PAPER_COUNT, part_set},  \
        .init = start,                                                                             \
        .finish = finish,                                                                          \
        .job_arrived = job_arrived,                                                                \
        .job_left = job_left,                                                                      \
        .task_ready = task_ready,                                                                  \
        .task_done = task_done,                                                                    \
        .device_lost = device_lost,                                                                \
        .device_returned = device_returned,                                                        \
        .decide = decide}

static PAPER(paper, "symphony-paper",
             "the ICML'20 network alone; untrained unless given weights: NAME@FILE", init_symphony,
             SY_PART_BELIEF | SY_PART_TOPOLOGY | SY_PART_GRAPH | SY_PART_LSTM);
static PAPER(black_box, "black-box",
             "raw counters into a dense network; untrained unless given weights: NAME@FILE",
             init_black_box, SY_PART_GRAPH | SY_PART_LSTM);

const struct sy_scheduler_ops *const sy_more_policies[] = {&paper, &black_box, NULL};
