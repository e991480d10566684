/* SPDX-License-Identifier: Apache-2.0
 *
 * The default. A job that has the machine for itself is planned in several ways when it arrives
 * (plan_portfolio.c), the best plan is improved (plan_improve.c), and followed, late
 * (follow_plan.c). Before that the job is rehearsed (rehearsal.c) under the plan and under the
 * usual policies: where one of them would end it sooner than any plan, that policy decides instead.
 * As tasks end the spread of their times is seen; where it is large, what is left is rehearsed in
 * several sampled worlds, and the plan is given up if something else ends sooner in them. What is
 * left is planned anew when a device is lost or comes back. When jobs share the machine late
 * binding takes over, short jobs first, corrected by a network (late_binding.c, learned.c). Jobs of
 * a single task never end a plan: they are bound late beside it. docs/design/006-default-policy.md.
 */
#include "schedulers/follow_plan.h"
#include "schedulers/plan_on_arrival.h"
#include "schedulers/plan_portfolio.h"
#include "schedulers/rehearsal.h"
#include <errno.h>
#include <string.h>

/* What planning costs here, or somewhat more. A policy cannot see the clock. */
#define PLAN_NS   5e4 /* per task: a job of shorter tasks is not planned, nor does a network pay; */
#define PLAN_FAR  2e4 /* with several memories besides the host's there is more to choose */
#define DRAFT_NS  1.2e3 /* per task and draft */
#define STEP_NS   70    /* per task that the search plans anew */
#define BEHIND_NS 150   /* per task: what stays together, and what must still follow it */
#define PACE      48    /* tasks that are rehearsed to see how long tasks take with their data */
#define SLOW      2     /* times as long as that for which a plan is worth its time */
/* What it may cost, drafts and all: */
#define SHARE         0.01 /* of the planned makespan, */
#define PLAN_MOST_NS  60e6 /* but at most, */
#define LARGE         5000 /* and for jobs of so many tasks */
#define PLAN_LARGE_NS 20e6
#define SMALL_NS      1.32e4 /* per task, beyond the drafts, whatever the makespan: what is usual */
#define SMALL_MOST_NS 6e6    /* is rehearsed for short jobs too */
#define DOUBT_MOST_NS 40e6
#define WIDE          100    /* tasks from which on late binding looks at more of them */
#define REHEARSE_MOST 20000  /* tasks of all jobs: with more, none is rehearsed */
#define PAIRS_MOST    100000 /* of kernels and devices: with more, plans do not see the load */
#define DATA_PER_TASK 4      /* with more, a job is planned whatever it gains */
#define SLOWED        1.02   /* somewhere, at least: else there is no load to plan with */
/* When another policy takes over: */
#define BETTER        0.002 /* by so much it must end sooner, */
#define EARLY         0.02  /* or so much if it commits all at once and cannot take it back */
#define RAISED        1e18  /* before any priority that a plan gives */
#define BEGINNING     1000  /* tasks of what is too large, which are rehearsed; */
#define BEHIND        1.05  /* by so much they may end later under a plan */
#define SAMPLES_LEAST 4
#define SAMPLES_MOST  16
#define DOUBT_TASKS   8    /* that have ended, at least */
#define DOUBT_SIGMA   0.05 /* spread of their times against those planned with, at least */

/* NOBODY: late binding decides for all jobs. */
enum actor { FOLLOW, STRICT, LATE, HETEROPRIO, DMDAS, DMDA, HEFT, PEFT, ACTORS, NOBODY };

struct symphony {
    struct follow follow; /* first: its functions are handed this state */
    struct portfolio plans;
    struct rehearsal stage;
    struct late_together together;      /* of a job too short to be planned */
    struct sy_scheduler actors[ACTORS]; /* FOLLOW: a shadow of this one, for rehearsals */
    bool rehearses;
    enum actor acting;      /* for the job that is planned */
    bool fell_back;         /* it acts because the plan was given up */
    bool raises;            /* HEFT or PEFT acts, and what it decides goes before what it decided */
    bool relook;            /* a device was lost or came back: what is left is planned anew */
    uint32_t job;           /* that is planned */
    uint32_t job_count;     /* present jobs of more than one task */
    bool met;               /* two of them were present at some time */
    double *factor;         /* per task: of a sampled world */
    uint32_t *usual_device; /* per task: where and when the best usual policy ran it */
    double *usual_begin_ns, *usual_end_ns;
    uint32_t *told_device; /* per task: where who acts was rehearsed to run it, and how long */
    double *told_ns;
    double *committed, *promised_ns; /* per task: of decisions made */
    double *slowdown;   /* [kernel * device_count + device], by others; NULL: too many for that */
    double uneven;      /* the most that one device slows a kernel more than another does */
    uint32_t *known_of; /* per kernel: the last job that slowdown was worked out for */
    uint32_t *first_reader; /* per datum: to know what a plan could gain */
    double *time_ns;        /* [task * class_count + class]: those that are planned with, */
    double *best_ns;        /* and per class: what it has to do if all go where they are fastest */
    double budget_ns;       /* left for doubts */
    double spent_ns;        /* on plans, rehearsals and doubts so far */
    uint32_t ended, next_doubt;
    double sum, square_sum; /* of the logarithms of actual over planned times */
};

/* --- life --------------------------------------------------------------------------------------
 */
static int init_actors(struct symphony *y, const struct sy_view *view, uint64_t seed) {
    static const struct sy_scheduler_ops *const ops[ACTORS] = {[FOLLOW] = &sy_follow_shadow,
                                                               [LATE] = &sy_policy_late,
                                                               [HETEROPRIO] = &sy_policy_heteroprio,
                                                               [DMDAS] = &sy_policy_dmdas,
                                                               [DMDA] = &sy_policy_dmda,
                                                               [HEFT] = &sy_policy_heft,
                                                               [PEFT] = &sy_policy_peft};
    int code = 0;
    y->rehearses = true;
    for (int a = 0; !code && a < ACTORS; a++) {
        if (!ops[a]) {
            continue;
        }
        y->actors[a] = (struct sy_scheduler){.ops = ops[a], .seed = seed};
        code = ops[a]->init(&y->actors[a], view, "");
    }
    if (!code) {
        ((struct shadow *)y->actors[FOLLOW].state)->beside = &y->follow;
    }
    return code ? code : sy_rehearsal_init(&y->stage, y->follow.late.base.arena, view);
}

static bool take(struct symphony *y, const struct sy_view *view) {
    struct sy_arena *arena = y->follow.late.base.arena;
    size_t tasks = view->task_capacity + 1u;
    size_t pairs = (size_t)view->kernel_count * view->machine->device_count;
    y->factor = sy_arena_alloc(arena, tasks, sizeof *y->factor);
    y->committed = sy_arena_alloc(arena, tasks, sizeof *y->committed);
    y->promised_ns = sy_arena_alloc(arena, tasks, sizeof *y->promised_ns);
    y->usual_device = sy_arena_alloc(arena, tasks, sizeof *y->usual_device);
    y->usual_begin_ns = sy_arena_alloc(arena, tasks, sizeof *y->usual_begin_ns);
    y->usual_end_ns = sy_arena_alloc(arena, tasks, sizeof *y->usual_end_ns);
    y->told_device = sy_arena_alloc(arena, tasks, sizeof *y->told_device);
    y->told_ns = sy_arena_alloc(arena, tasks, sizeof *y->told_ns);
    y->known_of = sy_arena_alloc(arena, view->kernel_count + 1u, sizeof *y->known_of);
    y->first_reader = sy_arena_alloc(arena, DATA_PER_TASK * tasks, sizeof *y->first_reader);
    y->time_ns = sy_arena_alloc(arena, tasks * view->machine->class_count, sizeof *y->time_ns);
    y->best_ns = sy_arena_alloc(arena, view->machine->class_count, sizeof *y->best_ns);
    y->slowdown = pairs <= PAIRS_MOST ? sy_arena_alloc(arena, pairs + 1, sizeof(double)) : NULL;
    return y->factor && y->committed && y->promised_ns && y->usual_device && y->usual_begin_ns &&
           y->usual_end_ns && y->told_device && y->told_ns && y->known_of && y->first_reader &&
           y->time_ns && y->best_ns && (y->slowdown || pairs > PAIRS_MOST);
}

static int init(struct sy_scheduler *s, const struct sy_view *view, const char *args) {
    struct late_mode mode = {.locality = true, .contention = true, .learned = true};
    int code = sy_follow_init(s, view, args, sizeof(struct symphony), mode);
    if (code) {
        return code;
    }
    struct symphony *y = s->state;
    y->acting = NOBODY;
    code = take(y, view) ? sy_portfolio_init(&y->plans, &y->follow.late.base, view) : -ENOMEM;
    if (!code && view->task_capacity <= REHEARSE_MOST) {
        code = init_actors(y, view, s->seed);
        code = code ? code : sy_late_together_init(&y->together, y->follow.late.base.arena, view);
    }
    return code;
}

static void finish(struct sy_scheduler *s) {
    struct symphony *y = s->state;
    for (int a = 0; y && a < ACTORS; a++) {
        if (y->actors[a].ops && y->actors[a].state) {
            y->actors[a].ops->finish(&y->actors[a]);
        }
    }
    if (y) {
        sy_rehearsal_finish(&y->stage);
    }
    sy_policy_finish(s);
}

/* What a rehearsal costs. HEFT and PEFT plan all, however few tasks are rehearsed. */
static double cost_ns(const struct symphony *y, const struct sy_view *view, uint32_t job,
                      enum actor actor) {
    static const double per_task_ns[ACTORS] = {
        [FOLLOW] = 2000, [STRICT] = 1000, [LATE] = 1500, [HETEROPRIO] = 700,
        [DMDAS] = 700,   [DMDA] = 700,    [HEFT] = 500,  [PEFT] = 700};
    double tasks = view->jobs[job].tasks_left, limit = y->stage.task_limit;
    double rehearsed = limit > 0 ? fmin(limit, tasks) : tasks;
    double planned = actor == HEFT || actor == PEFT ? tasks : 0;
    return DRAFT_NS * planned +
           rehearsed * per_task_ns[actor] * (actor == LATE && tasks > WIDE ? 2 : 1);
}

/* --- choosing when a job arrives ---------------------------------------------------------------
 */
static double rehearse(struct symphony *y, const struct sy_view *view, enum actor actor,
                       const double *factor) {
    if (actor == HEFT || actor == PEFT) {
        sy_arrival_forget(&y->actors[actor], view);
    }
    y->spent_ns += cost_ns(y, view, y->job, actor);
    y->stage.factor = factor;
    y->stage.committed = y->committed;
    y->stage.promised_ns = y->promised_ns;
    ((struct shadow *)y->actors[FOLLOW].state)->strict = actor == STRICT;
    return sy_rehearsal_run(&y->stage, view, y->job, &y->actors[actor == STRICT ? FOLLOW : actor]);
}

/* A rehearsal takes from a policy what it held, and one that acts no more may still hold some. */
static void forget(struct symphony *y, const struct sy_view *view, enum actor actor) {
    struct late *late = y->actors[LATE].state;
    if (actor != LATE) {
        return; /* the others ask the world before they take a task */
    }
    late->window_count = 0;
    memset(late->waiting, 0, view->machine->class_count * sizeof *late->waiting);
    while (sy_pool_pop(&late->ready, &late->base, view) != SY_NONE) {
    }
}

static double rehearse_plan(struct symphony *y, const struct sy_view *view, enum actor actor,
                            const double *factor) {
    struct shadow *shadow = y->actors[FOLLOW].state;
    shadow->plan = &y->plans.best;
    double end_ns = rehearse(y, view, actor, factor);
    shadow->plan = NULL;
    return end_ns;
}

/* What has just been rehearsed. */
static void record(struct symphony *y, const struct sy_view *view) {
    uint32_t first = view->jobs[y->job].first_task;
    size_t count = view->jobs[y->job].task_count;
    memcpy(y->usual_device + first, y->stage.world.task_device + first,
           count * sizeof *y->usual_device);
    memcpy(y->usual_begin_ns + first, y->stage.world.begin_ns + first, count * sizeof(double));
    memcpy(y->usual_end_ns + first, y->stage.world.end_ns + first, count * sizeof(double));
}

/* How long tasks take as rehearsed: where memory and links are shared, longer than alone. */
static void tell(struct symphony *y, const struct sy_view *view, const uint32_t *device,
                 const double *begin_ns, const double *end_ns) {
    const struct sy_view_job *j = &view->jobs[y->job];
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        y->told_device[t] = device[t];
        y->told_ns[t] = sy_draft_settled(view, t) ? 0 : end_ns[t] - begin_ns[t];
    }
}

/* As planned with. */
static double expected_ns(const struct symphony *y, const struct sy_view *view, uint32_t task,
                          uint32_t device) {
    double alone_ns = sy_estimate_time_ns(view, task, device);
    bool board = view->machine->devices[device].board != SY_NONE; /* images are in told_ns */
    bool told = view->shared_links && !board && y->told_device[task] == device;
    return told ? fmax(alone_ns, y->told_ns[task]) : alone_ns;
}

/* The usual policies, as far as the budget goes; what is shorter than the plan becomes the plan. */
static enum actor rehearse_usual(struct symphony *y, const struct sy_view *view, double *budget_ns,
                                 double *ret_end_ns) {
    static const enum actor usual[] = {HETEROPRIO, DMDAS, DMDA, PEFT, HEFT, LATE};
    enum actor best = FOLLOW;
    *ret_end_ns = INFINITY;
    for (size_t i = 0; i < SY_COUNT(usual); i++) {
        double needs_ns = cost_ns(y, view, y->job, usual[i]);
        if (*budget_ns < needs_ns) {
            continue;
        }
        *budget_ns -= needs_ns;
        double end_ns = rehearse(y, view, usual[i], NULL);
        if (!isfinite(end_ns)) {
            break;
        }
        sy_portfolio_offer(&y->plans, view, y->job, y->stage.world.task_device,
                           y->stage.world.begin_ns, y->stage.world.end_ns);
        if (end_ns < *ret_end_ns) {
            best = usual[i];
            *ret_end_ns = end_ns;
            record(y, view);
        }
    }
    return best;
}

static bool sooner_by(const struct sy_view *view, double share, double ns, double than_ns) {
    return ns - view->now_ns < (1 - share) * (than_ns - view->now_ns);
}

static bool sooner(const struct sy_view *view, double ns, double than_ns) {
    return sooner_by(view, BETTER, ns, than_ns);
}

/* What may still be spent once the drafts are made. */
static double spare_ns(double tasks, double drafts, double planned_ns) {
    bool large = tasks >= LARGE;
    double most_ns = fmin(SHARE * planned_ns, large ? PLAN_LARGE_NS : PLAN_MOST_NS);
    double least_ns = large ? 0 : fmin(SMALL_NS * tasks, SMALL_MOST_NS);
    return fmax(most_ns - DRAFT_NS * drafts * tasks, least_ns);
}

static void sample_world(struct symphony *y, const struct sy_view *view, double sigma) {
    const struct sy_view_job *j = &view->jobs[y->job];
    struct sy_rng *rng = &y->follow.late.base.rng;
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        if (view->task_state[t] != SY_TASK_DONE) {
            y->factor[t] = exp(sigma * sy_rng_normal(rng));
        }
    }
}

/* HEFT's or PEFT's plan is followed to the letter, whatever the drafts believe of theirs. Where
 * inputs must travel as early as they let them, so that following ends later, they act, unless
 * times are known to spread: what is committed cannot be taken back. */
static enum actor adopt(struct symphony *y, const struct sy_view *view, enum actor usual,
                        double usual_ns) {
    y->plans.best.makespan_ns = INFINITY;
    sy_portfolio_offer(&y->plans, view, y->job, y->usual_device, y->usual_begin_ns,
                       y->usual_end_ns);
    double strict_ns = rehearse_plan(y, view, STRICT, NULL);
    if (sy_plan_spread(view, y->job) > 0 || !sooner_by(view, EARLY, usual_ns, strict_ns)) {
        return STRICT;
    }
    return usual;
}

/* Of what is too large to be rehearsed as a whole where copies and tasks disturb each other, the
 * beginning is. A plan must not be far behind late binding. HEFT and PEFT act where what they plan
 * ends sooner still, if all goes as its beginning does; they cannot take back what they commit, so
 * all are rehearsed with times as far off as they are known to be. */
static enum actor choose_by_beginning(struct symphony *y, const struct sy_view *view,
                                      double budget_ns) {
    static const enum actor early[] = {PEFT, HEFT};
    if (!y->rehearses || !sy_rehearsal_fits(&y->stage, view, y->job)) {
        return NOBODY;
    }
    sample_world(y, view, sy_plan_spread(view, y->job));
    y->stage.task_limit = BEGINNING;
    double late_ns = rehearse(y, view, LATE, y->factor) - view->now_ns;
    double plan_ns = rehearse_plan(y, view, FOLLOW, y->factor) - view->now_ns;
    enum actor best = plan_ns <= BEHIND * late_ns ? FOLLOW : NOBODY;
    double best_end_ns = sy_rehearsal_as_late_ns(&y->stage, view, y->job, y->plans.best.end_ns);
    best_end_ns -= best == FOLLOW ? 0 : (best_end_ns - view->now_ns) * (1 - late_ns / plan_ns);
    for (size_t i = 0; i < SY_COUNT(early); i++) {
        budget_ns -= cost_ns(y, view, y->job, early[i]);
        if (budget_ns < 0) {
            break;
        }
        const struct arrival_plan *own = y->actors[early[i]].state;
        rehearse(y, view, early[i], y->factor);
        double end_ns = sy_rehearsal_as_late_ns(&y->stage, view, y->job, own->plan.end_ns);
        if (sooner_by(view, EARLY, end_ns, best_end_ns)) {
            best = early[i];
            best_end_ns = end_ns;
        }
    }
    y->stage.task_limit = 0;
    forget(y, view, LATE);
    return best;
}

static enum actor choose(struct symphony *y, struct sy_scheduler *s, const struct sy_view *view) {
    double tasks = view->jobs[y->job].tasks_left, usual_ns = INFINITY;
    double planned_ns = y->plans.best.makespan_ns - view->now_ns;
    double budget_ns = spare_ns(tasks, y->plans.drafts, planned_ns);
    enum actor usual = FOLLOW;
    double needs_ns = cost_ns(y, view, y->job, FOLLOW) + cost_ns(y, view, y->job, STRICT);
    if (y->rehearses && budget_ns > needs_ns && sy_rehearsal_fits(&y->stage, view, y->job)) {
        budget_ns -= needs_ns;
        usual = rehearse_usual(y, view, &budget_ns, &usual_ns);
    }
    if (usual == FOLLOW) {
        /* Nor is a plan improved that cannot be rehearsed: it may follow badly. */
        double most_ns = y->plans.vast ? 0 : fmin(SHARE * planned_ns, PLAN_MOST_NS);
        most_ns -= DRAFT_NS * y->plans.drafts * tasks;
        return view->shared_links ? choose_by_beginning(y, view, most_ns) : FOLLOW;
    }
    sy_portfolio_improve(&y->plans, view, y->job, s->seed, budget_ns / STEP_NS);
    y->spent_ns += budget_ns;
    double plan_ns = rehearse_plan(y, view, FOLLOW, NULL);
    tell(y, view, y->stage.world.task_device, y->stage.world.begin_ns, y->stage.world.end_ns);
    double strict_ns = rehearse_plan(y, view, STRICT, NULL);
    bool strict = sooner(view, strict_ns, plan_ns);
    if (strict) {
        tell(y, view, y->stage.world.task_device, y->stage.world.begin_ns, y->stage.world.end_ns);
    }
    if (sooner(view, usual_ns, strict ? strict_ns : plan_ns)) {
        tell(y, view, y->usual_device, y->usual_begin_ns, y->usual_end_ns);
        return usual < HEFT ? usual : adopt(y, view, usual, usual_ns);
    }
    return strict ? STRICT : FOLLOW;
}

/* Plans are made for the machine as it is believed to be: what others take of it now, as far as
 * that lasts, slows the tasks that lean on it. NULL: nothing is slowed. */
static const double *believed_slowdown(struct symphony *y, const struct sy_view *view,
                                       uint32_t job) {
    const struct sy_view_job *j = &view->jobs[job];
    uint32_t devices = view->machine->device_count;
    double most = 1;
    y->uneven = 1;
    if (!view->readings || y->follow.late.base.without & SY_PART_BELIEF || !y->slowdown) {
        return NULL;
    }
    sy_sharing_update(&y->follow.late.sharing, view);
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        uint32_t kernel = view->task_kernel[t];
        if (y->known_of[kernel] == job + 1) {
            continue;
        }
        y->known_of[kernel] = job + 1;
        double low = INFINITY, high = 1;
        for (uint32_t d = 0; d < devices; d++) {
            double ratio =
                sy_sharing_ahead(&y->follow.late.sharing, view, kernel, d, j->isolated_ns);
            y->slowdown[(size_t)kernel * devices + d] = ratio;
            low = fmin(low, ratio);
            high = fmax(high, ratio);
        }
        most = fmax(most, high);
        y->uneven = fmax(y->uneven, high / low);
    }
    return most > SLOWED ? y->slowdown : NULL;
}

/* Plans that the next job cuts short ended later than late binding does: in a stream of so many
 * tasks that no job can be rehearsed, and where very long jobs have met very short ones. */
static bool goes_without(const struct symphony *y, const struct sy_view *view) {
    return (!y->rehearses && view->job_capacity > 1) || (y->met && sy_late_doubts(&y->follow.late));
}

static void begin(struct sy_scheduler *s, const struct sy_view *real, uint32_t job) {
    struct symphony *y = s->state;
    struct sy_view ahead = *real;
    const struct sy_view *view = &ahead;
    ahead.slowdown = believed_slowdown(y, real, job);
    ahead.time_ns = sy_plan_times(real, job, y->best_ns, y->time_ns);
    y->job = job;
    if (y->rehearses) {
        struct late *late = y->actors[LATE].state;
        late->behind_ns = NULL;
        late->together = NULL;
    }
    if (y->uneven > SLOWED && real->machine->class_count == 1) {
        return; /* equal devices: a plan could choose by the load alone, which changes meanwhile */
    }
    sy_portfolio_plan(&y->plans, view, job);
    y->spent_ns += DRAFT_NS * y->plans.drafts * view->jobs[job].tasks_left;
    if (!isfinite(y->plans.best.makespan_ns)) {
        return;
    }
    y->ended = 0;
    y->sum = y->square_sum = 0;
    y->next_doubt = DOUBT_TASKS;
    y->budget_ns = fmin(SHARE * (y->plans.best.makespan_ns - view->now_ns), DOUBT_MOST_NS);
    y->fell_back = y->raises = false;
    y->acting = choose(y, s, view);
    if (y->acting == LATE && view->slowdown) {
        y->acting = NOBODY; /* late binding that sees the load */
    } else if (y->acting <= STRICT) {
        sy_follow_begin(&y->follow, real, job, &y->plans.best, y->acting == STRICT);
    } else if (y->acting < ACTORS) {
        if (y->acting >= HEFT) {
            sy_arrival_forget(&y->actors[y->acting], real); /* what it planned in rehearsals */
            y->spent_ns += DRAFT_NS * view->jobs[job].tasks_left;
        }
        y->actors[y->acting].ops->job_arrived(&y->actors[y->acting], real, job);
    }
}

/* Its pace may be asked for. */
static bool is_long_enough(const struct symphony *y, const struct sy_view *view) {
    const struct sy_view_job *j = &view->jobs[y->job];
    return j->task_count > PACE &&
           PACE * cost_ns(y, view, y->job, LATE) < j->task_count * SHARE * j->isolated_ns &&
           sy_rehearsal_fits(&y->stage, view, y->job);
}

/* Tasks too short to be planned may take longer with what travels for them: by so much as the first
 * of them do under late binding. */
static bool is_slow(struct symphony *y, const struct sy_view *view, double pays_ns) {
    y->stage.task_limit = PACE;
    double lasts_ns = rehearse(y, view, LATE, NULL) - view->now_ns;
    y->stage.task_limit = 0;
    forget(y, view, LATE);
    lasts_ns *= sy_rehearsal_whole_over_ended(&y->stage, view, y->job);
    return isfinite(lasts_ns) && lasts_ns > SLOW * view->jobs[y->job].task_count * pays_ns;
}

static bool look_at_data(struct symphony *y, const struct sy_view *view, uint32_t job) {
    struct late *late = y->actors[LATE].state;
    bool heavy = sy_late_keep_together(&y->together, view, job, y->factor, y->time_ns);
    late->together = heavy ? &y->together : NULL;
    sy_late_look_behind(view, job, late->together, y->time_ns);
    late->behind_ns = y->time_ns;
    y->spent_ns += BEHIND_NS * view->jobs[job].task_count;
    return heavy;
}

/* Of short tasks: late binding without the network, unless others load the machine, or they
 * themselves do. */
static void begin_plainly(struct sy_scheduler *s, const struct sy_view *view, uint32_t job,
                          double pays_ns) {
    struct symphony *y = s->state;
    if (!y->rehearses || believed_slowdown(y, view, job) || sy_late_crowds(view, job)) {
        return;
    }
    y->job = job;
    if (sy_late_has_sides(view->machine)) {
        bool heavy = look_at_data(y, view, job), asks = is_long_enough(y, view);
        if (asks && is_slow(y, view, pays_ns)) {
            begin(s, view, job);
            return;
        }
        if (asks && heavy) {
            look_at_data(y, view, job); /* groups have gone somewhere in the rehearsal */
        }
    }
    y->acting = LATE;
    y->fell_back = false;
    y->ended = 0;
    y->next_doubt = UINT32_MAX; /* never */
    y->actors[LATE].ops->job_arrived(&y->actors[LATE], view, job);
}

/* --- and giving it up --------------------------------------------------------------------------
 */
static void remind(struct sy_scheduler *s, const struct sy_view *view, enum actor actor) {
    struct symphony *y = s->state;
    const struct sy_view_job *j = &view->jobs[y->job];
    forget(y, view, actor);
    for (uint32_t t = j->first_task; t < j->first_task + j->task_count; t++) {
        if (!sy_draft_takeable(view, t)) {
            continue;
        }
        if (actor == NOBODY) {
            sy_late_task_ready(s, view, t);
        } else {
            y->actors[actor].ops->task_ready(&y->actors[actor], view, t);
        }
    }
}

static void drop_actor(struct symphony *y, const struct sy_view *view) {
    if (y->acting > STRICT && y->acting < ACTORS) {
        struct sy_scheduler *actor = &y->actors[y->acting];
        forget(y, view, y->acting);
        if (actor->ops->job_left) {
            actor->ops->job_left(actor, view, y->job);
        }
    }
}

static void hand_over(struct sy_scheduler *s, const struct sy_view *view, enum actor to) {
    struct symphony *y = s->state;
    if (to == y->acting) {
        return;
    }
    drop_actor(y, view);
    y->acting = to;
    if (to == FOLLOW) {
        y->follow.strict = false;
        return;
    }
    y->follow.following = false;
    y->fell_back = true;
    if (to != NOBODY) {
        y->actors[to].ops->job_arrived(&y->actors[to], view, y->job);
    }
    remind(s, view, to);
}

/* What is left of the job under each that could act, in the same sampled worlds; who ends it
 * sooner than who acts now does so, if that is more than luck. */
static enum actor doubt(struct symphony *y, const struct sy_view *view, double sigma) {
    static const enum actor others[] = {LATE, HETEROPRIO, DMDAS, DMDA, FOLLOW};
    double sum[ACTORS] = {0}, square_sum[ACTORS] = {0};
    uint32_t arms = y->acting == STRICT ? 5 : 4;
    double needs_ns = cost_ns(y, view, y->job, y->acting);
    for (uint32_t i = 0; i < arms; i++) {
        needs_ns += cost_ns(y, view, y->job, others[i]);
    }
    uint32_t samples = (uint32_t)fmin(SAMPLES_MOST, 0.5 * y->budget_ns / needs_ns);
    if (samples < SAMPLES_LEAST) {
        return y->acting == STRICT ? FOLLOW : y->acting; /* a strict plan is for known times */
    }
    y->budget_ns -= samples * needs_ns;
    forget(y, view, y->acting);
    for (uint32_t k = 0; k < samples; k++) {
        sample_world(y, view, sigma);
        double own_ns = fmax(rehearse(y, view, y->acting, y->factor) - view->now_ns, 1);
        for (uint32_t i = 0; i < arms; i++) {
            double gain = 1 - (rehearse(y, view, others[i], y->factor) - view->now_ns) / own_ns;
            sum[others[i]] += gain;
            square_sum[others[i]] += gain * gain;
        }
    }
    enum actor best = y->acting;
    double most = BETTER;
    for (uint32_t i = 0; i < arms; i++) {
        double mean = sum[others[i]] / samples;
        double variance = fmax(0, square_sum[others[i]] / samples - mean * mean);
        if (mean - sqrt(variance / (samples - 1)) > most) {
            most = mean - sqrt(variance / (samples - 1));
            best = others[i];
        }
    }
    return best;
}

static void look_back(struct sy_scheduler *s, const struct sy_view *view) {
    struct symphony *y = s->state;
    if (y->acting >= HEFT || y->ended < y->next_doubt || !y->rehearses) {
        return; /* HEFT and PEFT have committed all */
    }
    y->next_doubt *= 2;
    double mean = y->sum / y->ended;
    double sigma = sqrt(fmax(0, y->square_sum / y->ended - mean * mean));
    y->follow.uncertain = sigma >= DOUBT_SIGMA;
    if (sigma < DOUBT_SIGMA || view->jobs[y->job].tasks_left < 2 ||
        !sy_rehearsal_fits(&y->stage, view, y->job)) {
        return;
    }
    enum actor better = doubt(y, view, sigma);
    if (better == y->acting && better > STRICT) {
        remind(s, view, better);
    }
    hand_over(s, view, better);
}

/* --- what the world tells ----------------------------------------------------------------------
 */
/* HEFT and PEFT have committed all: they go on beside whoever comes. */
static void give_up(struct sy_scheduler *s, const struct sy_view *view) {
    struct symphony *y = s->state;
    if (y->acting == HEFT || y->acting == PEFT) {
        return;
    }
    if (y->acting <= STRICT) {
        sy_follow_stop(s, view); /* hands over what is ready */
        y->acting = NOBODY;
        y->fell_back = true;
    } else {
        hand_over(s, view, NOBODY);
    }
}

/* Where one device has nearly all the speed, what a plan could gain by placing tasks elsewhere may
 * be less than what planning takes; unless late binding does worse than that device alone. */
static bool plan_pays(struct symphony *y, const struct sy_view *view, uint32_t job) {
    const struct sy_view_job *j = &view->jobs[job];
    double drafts = sy_portfolio_drafts(view, job), left = j->tasks_left;
    double costs_ns = DRAFT_NS * drafts * left + spare_ns(left, drafts, j->isolated_ns);
    struct plan_room room = {y->usual_begin_ns, y->usual_end_ns, y->first_reader,
                             DATA_PER_TASK * view->task_capacity};
    double alone_ns, gains_ns = sy_plan_gain_ns(view, job, room, &alone_ns);
    if (gains_ns > costs_ns || !y->rehearses || !sy_rehearsal_fits(&y->stage, view, job)) {
        return gains_ns > costs_ns;
    }
    y->job = job;
    double late_ns = rehearse(y, view, LATE, NULL) - view->now_ns;
    forget(y, view, LATE);
    return late_ns > alone_ns - gains_ns + costs_ns;
}

static void job_arrived(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    struct symphony *y = s->state;
    const struct sy_view_job *j = &view->jobs[job];
    sy_late_job_arrived(s, view, job);
    if (j->task_count < 2) {
        return;
    }
    give_up(s, view);
    bool plans = !(y->follow.late.base.without & SY_PART_PLANS);
    bool alone = y->job_count++ == 0;
    y->met = y->met || !alone;
    if (!alone || !plans || goes_without(y, view)) {
        return;
    }
    double pays_ns = view->machine->memory_count > 2 ? PLAN_FAR : PLAN_NS;
    if (j->work_left_ns <= j->task_count * pays_ns) {
        begin_plainly(s, view, job, pays_ns);
    } else if (plan_pays(y, view, job)) {
        begin(s, view, job);
    } /* else late binding, with the network */
}

static void job_left(struct sy_scheduler *s, const struct sy_view *view, uint32_t job) {
    struct symphony *y = s->state;
    sy_late_job_left(s, view, job);
    y->job_count -= view->jobs[job].task_count > 1;
    if (y->acting != NOBODY && job == y->job) {
        struct sy_scheduler *actor = &y->actors[y->acting];
        if (y->acting > STRICT && actor->ops->job_left) {
            actor->ops->job_left(actor, view, job);
        }
        y->follow.following = false;
        y->acting = NOBODY;
    }
}

/* What it held of the job comes back: it is planned anew when the world asks for decisions. */
static void device_changed(struct sy_scheduler *s, const struct sy_view *view, uint32_t device) {
    struct symphony *y = s->state;
    (void)view, (void)device;
    y->relook = y->acting != NOBODY;
}

static void look_around(struct sy_scheduler *s, const struct sy_view *view) {
    struct symphony *y = s->state;
    if (!y->relook) {
        return;
    }
    y->relook = false;
    if (y->acting == NOBODY) {
        return; /* the job has left, or others came */
    }
    if (y->acting >= HEFT) { /* its queues are laid: what came back goes before them, at once */
        y->raises = true;
        remind(s, view, y->acting);
        return;
    }
    drop_actor(y, view);
    bool planned = y->next_doubt != UINT32_MAX;
    y->follow.following = false;
    y->acting = NOBODY;
    if (planned && y->rehearses && sy_rehearsal_fits(&y->stage, view, y->job)) {
        memset(y->known_of, 0, (view->kernel_count + 1u) * sizeof *y->known_of); /* as of then */
        begin(s, view, y->job);
    }
    if (y->acting > STRICT) {
        y->fell_back = true;
        remind(s, view, y->acting);
    }
}

static bool is_acted(const struct symphony *y, const struct sy_view *view, uint32_t task) {
    return y->acting > STRICT && y->acting != NOBODY && view->task_job[task] == y->job;
}

static void task_ready(struct sy_scheduler *s, const struct sy_view *view, uint32_t task) {
    struct symphony *y = s->state;
    if (y->relook && view->task_job[task] == y->job) {
        return; /* all are looked at before anything is decided */
    }
    if (is_acted(y, view, task)) {
        y->actors[y->acting].ops->task_ready(&y->actors[y->acting], view, task);
    } else {
        sy_follow_task_ready(s, view, task);
    }
}

static void task_done(struct sy_scheduler *s, const struct sy_view *view, uint32_t task,
                      uint32_t device, double duration_ns) {
    struct symphony *y = s->state;
    sy_follow_task_done(s, view, task, device, duration_ns);
    double planned_ns = expected_ns(y, view, task, device);
    if (y->acting != NOBODY && view->task_job[task] == y->job && planned_ns > 0 &&
        duration_ns > 0) {
        double off = log(duration_ns / planned_ns);
        y->sum += off;
        y->square_sum += off * off;
        y->ended++;
    }
    if (is_acted(y, view, task)) {
        struct sy_scheduler *actor = &y->actors[y->acting];
        actor->ops->task_done(actor, view, task, device, duration_ns);
    }
}

static uint32_t decide(struct sy_scheduler *s, const struct sy_view *view, struct sy_decision *ret,
                       uint32_t capacity) {
    struct symphony *y = s->state;
    look_around(s, view);
    look_back(s, view);
    bool was_following = y->follow.following;
    uint32_t count = sy_follow_decide(s, view, ret, capacity);
    if (y->acting <= STRICT && was_following && !y->follow.following) {
        y->acting = NOBODY; /* it was stuck */
        y->fell_back = true;
    }
    if (!count && y->acting > STRICT && y->acting != NOBODY) {
        count = y->actors[y->acting].ops->decide(&y->actors[y->acting], view, ret, capacity);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (ret[i].kind == SY_RUN) {
            y->committed[ret[i].task] = ret[i].priority;
            y->promised_ns[ret[i].task] = ret[i].expected_ns;
            ret[i].priority += y->raises && is_acted(y, view, ret[i].task) ? RAISED : 0;
        }
        if (y->fell_back && ret[i].kind != SY_RECONFIGURE &&
            view->task_job[ret[i].task] == y->job) {
            ret[i].reason.guard = SY_GUARD_FALLBACK;
        }
    }
    return count;
}

double sy_scheduler_planning_ns(const struct sy_scheduler *s) {
    return s->ops == &sy_policy_symphony ? ((const struct symphony *)s->state)->spent_ns : 0;
}

const struct sy_scheduler_ops sy_policy_symphony = {
    .name = "symphony",
    .summary = "the default: follows the best of several plans, late; between jobs it is learned",
    .needs_readings = true,
    .net =
        &(const struct sy_policy_net){LEARNED_KIND, LEARNED_SHAPE, LEARNED_COUNT,
                                      SY_PART_BELIEF | SY_PART_GUARD | SY_PART_NET | SY_PART_PLANS},
    .init = init,
    .finish = finish,
    .job_arrived = job_arrived,
    .job_left = job_left,
    .task_ready = task_ready,
    .task_done = task_done,
    .device_lost = device_changed,
    .device_returned = device_changed,
    .decide = decide};
