/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of the papers' policies, shared by what builds their frames and what decides.
 */
#ifndef SY_PAPERS_SYMPHONY_PAPER_H
#define SY_PAPERS_SYMPHONY_PAPER_H

#include "papers/net.h"
#include "schedulers/policy.h"

#define PAPER_KINDS   32  /* kernels of jobs that can be chosen from at a time */
#define PAPER_TASKS   64  /* in the window of GN2 */
#define PAPER_LINKS   160 /* likewise */
#define PAPER_DEPTH   2   /* of descendants in the window */
#define PAPER_ACTIONS 384

/* The papers' actions name a kernel, not a task: of a job's ready tasks of one kernel the one with
 * the highest rank goes. */
struct paper_kind {
    uint32_t job, kernel, task, count;
};

struct paper {
    struct policy base;
    bool black_box;
    struct sy_paper_net net;
    const float *block;
    struct sy_paper_pass pass;
    float state[2 * SY_PAPER_HIDDEN];
    uint32_t batch; /* decisions that share a pass */

    uint32_t *ready, ready_count; /* tasks, as they became so */
    bool *inside;                 /* per task: it is in ready */
    struct paper_kind kinds[PAPER_KINDS];
    uint32_t kind_count;
    uint32_t *held;        /* per device: running, queued or decided */
    uint32_t *last_task;   /* per device: decided last; SY_NONE */
    uint32_t *configuring; /* per device: kernel whose image is on its way; SY_NONE */
    bool *prepared;        /* per device: given an image, and no task since: not another one, or
                              a policy could go on so for ever */
    uint32_t *like;        /* per device: the first that no action can tell from it */

    struct sy_paper_frame frame; /* of what is below */
    uint32_t *edge_from, *edge_to, *link_from, *link_to;
    float *edges, *vertices, *global, *tasks, *links, *candidates;
    struct sy_paper_action *actions;
    bool *taken;         /* per action, in a batch */
    uint32_t *window;    /* tasks of GN2 */
    uint32_t *window_of; /* per task: its place there; SY_NONE */
    double scale_ns;     /* typical time of a task that can be chosen */

    struct sy_policy_tape *tape;
    double cost, cost_rate, cost_at_ns; /* what the reward is made of */
    uint32_t jobs;
    struct sy_scheduler teacher; /* ops NULL: none */
};

/* --- net_inputs.c --------------------------------------------------------------------------------
 */
/* Allocates what frames need, and writes what never changes: the edges of the machine. */
SY_MUST_CHECK int sy_paper_frame_init(struct paper *paper, const struct sy_view *view);
/* Looks at devices and ready tasks. False: there is nothing to decide. */
bool sy_paper_look(struct paper *paper, const struct sy_view *view);
/* Builds the whole frame; actions are legal. */
void sy_paper_frame(struct paper *paper, const struct sy_view *view);
/* How many tasks a device takes at a time: an accelerator's executor has one waiting. */
static inline uint32_t paper_room(const struct sy_view *view, uint32_t device) {
    return view->machine->devices[device].kind == SY_CPU ? 1 : 2;
}
static inline bool paper_open(const struct paper *p, const struct sy_view *view, uint32_t device) {
    return !view->devices[device].lost && p->configuring[device] == SY_NONE &&
           p->held[device] < paper_room(view, device);
}

#endif
