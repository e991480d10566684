/* SPDX-License-Identifier: Apache-2.0
 *
 * What the papers' policies look at, their network, and the tape of their decisions.
 *
 * In: frames (all that the network saw when it decided) and slopes. Out: scores, a value, slopes of
 * parameters and of what was seen. Never knows: worlds. Invariants: forward and backward allocate
 * nothing; a tape that is full stops recording and says so. Papers: Symphony (ICML'20) figure 3 and
 * tables of the supplement; docs/design/011-papers-policies.md says what was changed.
 */
#ifndef SY_PAPERS_NET_H
#define SY_PAPERS_NET_H

#include "nets/nets.h"
#include "papers/layers.h"
#include <symph/scheduler.h>

/* --- what the network looks at: net_inputs.c ----------------------------------------------------
 * All numbers are without dimension and within [-1,1]. */
enum {
    SY_PAPER_VERTEX = 16,    /* label of a device, memory or resource */
    SY_PAPER_EDGE = 5,       /* between them */
    SY_PAPER_GLOBAL = 4,     /* of the world */
    SY_PAPER_TASK = 12,      /* label of a task in the window */
    SY_PAPER_LINK = 2,       /* between tasks */
    SY_PAPER_CANDIDATE = 16, /* of an action */
    SY_PAPER_EMBEDDING = 16, /* of a device, and of each of the two graphs */
    SY_PAPER_HIDDEN = 32,    /* of the LSTM */
};
/* Places in a vertex's label that hold what is believed of a resource. */
enum { SY_PAPER_USE, SY_PAPER_USE_SD, SY_PAPER_OTHERS, SY_PAPER_STALE };

struct sy_paper_action {
    enum sy_decision_kind kind;
    uint32_t task; /* SY_NONE: do nothing; SY_RECONFIGURE: the kernel */
    uint32_t device;
};

/* Vertices are the devices, then the memories, then the resources. */
struct sy_paper_frame {
    uint32_t device_count, memory_count, resource_count;
    uint32_t edge_count, task_count, link_count, action_count;
    const uint32_t *edge_from, *edge_to; /* vertices */
    const uint32_t *link_from, *link_to; /* tasks of the window */
    const float *edges, *vertices, *global, *tasks, *links, *candidates;
    const struct sy_paper_action *actions;
};
static inline uint32_t sy_paper_vertices(const struct sy_paper_frame *frame) {
    return frame->device_count + frame->memory_count + frame->resource_count;
}

/* --- the network: net.c -------------------------------------------------------------------------
 */
enum { SY_PAPER_SLOTS = 16, SY_PAPER_RESOURCES = 16, SY_PAPER_MEMORIES = 8 };
#define SY_PAPER_RAW                                                                               \
    (SY_PAPER_SLOTS * 4 + SY_PAPER_RESOURCES * 4 + SY_PAPER_MEMORIES + SY_PAPER_GLOBAL)
#define SY_PAPER_SHAPE 1u
#define SY_PAPER_COUNT 60146u /* parameters */

struct sy_paper_net {
    bool black_box;        /* three dense layers instead of the graph network over the machine */
    uint32_t without;      /* bits of enum sy_policy_part */
    struct sy_gn topology; /* GN1 */
    struct sy_gn graph;    /* GN2: has no vertex function */
    struct sy_mlp raw;     /* what a black box has instead of GN1 */
    struct sy_lstm lstm;
    struct sy_linear flat; /* instead of the LSTM where it is left out */
    struct sy_mlp actor, critic;
};
void sy_paper_net_make(struct sy_paper_net *net, bool black_box, uint32_t without);
/* Random parameters: SY_PAPER_COUNT of them. */
void sy_paper_net_start(const struct sy_paper_net *net, uint64_t seed, float *block);

/* Memory of one pass, for frames of these counts or less. */
struct sy_paper_pass {
    float *topology, *graph, *raw, *lstm, *actor, *critic; /* tapes */
    float *raw_x, *x, *actor_x;
    float *hidden;          /* SY_PAPER_HIDDEN */
    const float *embedded;  /* of the devices, SY_PAPER_EMBEDDING each */
    float u_scale, v_scale; /* sums over a graph grow with it: u and u' are divided by its edges */
    const float *scores;    /* per action */
    float *probability;     /* per action */
    float value;
};
size_t sy_paper_pass_floats(const struct sy_paper_net *net, const struct sy_paper_frame *most);
void sy_paper_pass_lay(const struct sy_paper_net *net, const struct sy_paper_frame *most,
                       float *memory, struct sy_paper_pass *ret_pass);
/* state: [h, c] of the LSTM, 2 * SY_PAPER_HIDDEN, carried on. */
void sy_paper_forward(const struct sy_paper_net *net, const float *block,
                      const struct sy_paper_frame *frame, float *state, struct sy_paper_pass *pass);
/* d_scores per action; d_state: slopes of the state behind the step, turned into those before it.
 * scratch: sy_paper_scratch floats. ret_d_vertices: slopes of the labels (NULL: not wanted). */
size_t sy_paper_scratch(const struct sy_paper_net *net, const struct sy_paper_frame *most);
void sy_paper_backward(const struct sy_paper_net *net, const float *block,
                       const struct sy_paper_frame *frame, const struct sy_paper_pass *pass,
                       const float *d_scores, float d_value, float *d_state, float *scratch,
                       float *ret_slopes, float *ret_d_vertices);

/* --- the tape: tape.c ---------------------------------------------------------------------------
 */
struct sy_paper_step {
    struct sy_paper_frame frame;
    float state[2 * SY_PAPER_HIDDEN]; /* before it */
    uint32_t chosen;
    float log_probability, value;
    double now_ns;
    double cost; /* of the episode up to here: integral of the sum over jobs present of 1 / T_iso */
};
struct sy_policy_tape {
    /* Given. */
    const char *teacher; /* this heuristic decides, and is recorded; NULL: the network does */
    bool sample;         /* by its probabilities; false: the best */
    struct sy_rng rng;
    /* Written. */
    struct sy_paper_step *steps;
    uint32_t step_count, step_capacity;
    float *floats;
    uint32_t *words;
    size_t float_count, float_capacity, word_count, word_capacity;
    double cost; /* of the whole episode: the sum of job slowdowns */
    uint64_t decision_count, unrecorded_count;
    bool full;
};
SY_MUST_CHECK int sy_tape_init(struct sy_policy_tape *tape, uint32_t step_capacity,
                               size_t float_capacity);
void sy_tape_finish(struct sy_policy_tape *tape);
void sy_tape_clear(struct sy_policy_tape *tape);
/* Copies the frame. NULL: full. Of one episode all frames share their topology. */
struct sy_paper_step *sy_tape_add(struct sy_policy_tape *tape, const struct sy_paper_frame *frame);

#endif
