/* SPDX-License-Identifier: Apache-2.0
 *
 * The papers' network: a graph network over the machine labelled with the belief (GN1), one over
 * the tasks ahead (GN2), an LSTM, a critic and an actor; or, as a black box, three dense layers in
 * place of the first.
 *
 * In: a frame. Out: a score per action, a value, and slopes. The papers' actor has one output per
 * kernel and processor; this one scores any action from what the LSTM remembers, the embedding of
 * its device and its own features, so that one set of weights fits every machine.
 * Papers: Symphony (ICML'20), figure 3, supplement tables 1 and 2.
 */
#include "papers/net.h"
#include "schedulers/schedulers.h"
#include <string.h>

enum {
    WIDTH = SY_PAPER_EMBEDDING,
    HIDDEN = SY_PAPER_HIDDEN,
    X = 3 * WIDTH + SY_PAPER_GLOBAL, /* [u, mean of V, u', global] */
    RAW_OUT = WIDTH + SY_PAPER_SLOTS * WIDTH,
    ACTOR_X = HIDDEN + WIDTH + SY_PAPER_CANDIDATE,
    WIDEST = 320, /* of all dense layers, inputs included */
};

void sy_paper_net_make(struct sy_paper_net *net, bool black_box, uint32_t without) {
    static const uint32_t edge[2] = {64, 32}, vertex[2] = {32, 16}, global1[2] = {16, 16};
    static const uint32_t global2[2] = {32, 16}, raw[3] = {64, 64, RAW_OUT}, actor[2] = {32, 1};
    static const uint32_t critic[2] = {32, 1};
    uint32_t at = 0;
    *net = (struct sy_paper_net){.black_box = black_box, .without = without};
    net->topology = sy_gn_make(SY_PAPER_EDGE, SY_PAPER_VERTEX, SY_PAPER_GLOBAL, edge, vertex,
                               global1, SY_RELU, &at);
    net->graph = sy_gn_make(SY_PAPER_LINK, SY_PAPER_TASK, 0, edge, NULL, global2, SY_RELU, &at);
    net->raw = sy_mlp_make(SY_PAPER_RAW, raw, 3, SY_RELU, SY_RELU, &at);
    net->lstm = sy_lstm_make(X, HIDDEN, &at);
    net->flat = sy_linear_make(X, HIDDEN, &at);
    net->actor = sy_mlp_make(ACTOR_X, actor, 2, SY_RELU, SY_LINEAR, &at);
    net->critic = sy_mlp_make(HIDDEN, critic, 2, SY_RELU, SY_LINEAR, &at);
    SY_ASSERT(at == SY_PAPER_COUNT);
}

void sy_paper_net_start(const struct sy_paper_net *net, uint64_t seed, float *block) {
    struct sy_rng rng = sy_rng_make(seed, 0x70617065, 0);
    sy_gn_start(&net->topology, &rng, block);
    sy_gn_start(&net->graph, &rng, block);
    sy_mlp_start(&net->raw, 1, &rng, block);
    sy_lstm_start(&net->lstm, &rng, block);
    sy_linear_start(&net->flat, 1, &rng, block);
    sy_mlp_start(&net->actor, 0.1f, &rng, block);
    sy_mlp_start(&net->critic, 0.1f, &rng, block);
}

static bool dense(const struct sy_paper_net *net) {
    return net->black_box || (net->without & SY_PART_TOPOLOGY);
}

/* --- memory --------------------------------------------------------------------------------------
 */
struct sizes {
    size_t topology, graph, raw, lstm, actor, critic, raw_x, x, actor_x, hidden, probability;
};

static struct sizes sizes_of(const struct sy_paper_net *net, const struct sy_paper_frame *most) {
    bool flat = dense(net);
    return (struct sizes){
        .topology =
            flat ? 0 : sy_gn_tape(&net->topology, sy_paper_vertices(most), most->edge_count),
        .graph = sy_gn_tape(&net->graph, most->task_count, most->link_count),
        .raw = flat ? sy_mlp_tape(&net->raw) : 0,
        .lstm = sy_lstm_tape(&net->lstm),
        .actor = (size_t)most->action_count * sy_mlp_tape(&net->actor),
        .critic = sy_mlp_tape(&net->critic),
        .raw_x = flat ? SY_PAPER_RAW : 0,
        .x = X,
        .actor_x = (size_t)most->action_count * ACTOR_X,
        .hidden = HIDDEN,
        .probability = most->action_count};
}

/* Parts begin at multiples of 64 bytes. */
static size_t padded(size_t count) {
    return (count + 15) / 16 * 16;
}

size_t sy_paper_pass_floats(const struct sy_paper_net *net, const struct sy_paper_frame *most) {
    struct sizes s = sizes_of(net, most);
    return padded(s.topology) + padded(s.graph) + padded(s.raw) + padded(s.lstm) + padded(s.actor) +
           padded(s.critic) + padded(s.raw_x) + padded(s.x) + padded(s.actor_x) + padded(s.hidden) +
           padded(s.probability);
}

static float *take(float **memory, size_t count) {
    float *here = *memory;
    *memory += padded(count);
    return here;
}

void sy_paper_pass_lay(const struct sy_paper_net *net, const struct sy_paper_frame *most,
                       float *memory, struct sy_paper_pass *ret_pass) {
    struct sizes s = sizes_of(net, most);
    *ret_pass = (struct sy_paper_pass){0};
    ret_pass->topology = take(&memory, s.topology);
    ret_pass->graph = take(&memory, s.graph);
    ret_pass->raw = take(&memory, s.raw);
    ret_pass->lstm = take(&memory, s.lstm);
    ret_pass->actor = take(&memory, s.actor);
    ret_pass->critic = take(&memory, s.critic);
    ret_pass->raw_x = take(&memory, s.raw_x);
    ret_pass->x = take(&memory, s.x);
    ret_pass->actor_x = take(&memory, s.actor_x);
    ret_pass->hidden = take(&memory, s.hidden);
    ret_pass->probability = take(&memory, s.probability);
}

/* --- forward -------------------------------------------------------------------------------------
 */
/* Where in the labels the i-th number of a black box's input stands; SY_NONE: 0. */
static uint32_t raw_place(const struct sy_paper_frame *frame, uint32_t i) {
    enum { DEVICES = SY_PAPER_SLOTS * 4, RESOURCES = DEVICES + SY_PAPER_RESOURCES * 4 };
    uint32_t vertex = SY_NONE, column = 0;
    if (i < DEVICES) {
        vertex = i / 4 < frame->device_count ? i / 4 : SY_NONE;
        column = 4 + i % 4; /* busy, held, time left, lost */
    } else if (i < RESOURCES) {
        uint32_t r = (i - DEVICES) / 4;
        vertex =
            r < frame->resource_count ? frame->device_count + frame->memory_count + r : SY_NONE;
        column = i % 4; /* use, its deviation, others, age */
    } else {
        uint32_t m = i - RESOURCES;
        vertex = m < frame->memory_count ? frame->device_count + m : SY_NONE;
        column = 14; /* inputs that lie there */
    }
    return vertex == SY_NONE ? SY_NONE : vertex * SY_PAPER_VERTEX + column;
}
#define RAW_LABELS (SY_PAPER_RAW - SY_PAPER_GLOBAL)

static const float *embedding(const struct sy_paper_net *net, const struct sy_paper_pass *pass,
                              uint32_t device) {
    uint32_t slot = dense(net) ? device % SY_PAPER_SLOTS : device;
    return pass->embedded + (size_t)slot * WIDTH;
}

static struct sy_gn_input machine_input(const struct sy_paper_frame *frame) {
    return (struct sy_gn_input){.vertex_count = sy_paper_vertices(frame),
                                .edge_count = frame->edge_count,
                                .from = frame->edge_from,
                                .to = frame->edge_to,
                                .edges = frame->edges,
                                .vertices = frame->vertices,
                                .global = frame->global};
}

static const float *look_at_machine(const struct sy_paper_net *net, const float *block,
                                    const struct sy_paper_frame *frame,
                                    struct sy_paper_pass *pass) {
    if (dense(net)) {
        for (uint32_t i = 0; i < RAW_LABELS; i++) {
            uint32_t at = raw_place(frame, i);
            pass->raw_x[i] = at == SY_NONE ? 0 : frame->vertices[at];
        }
        memcpy(pass->raw_x + RAW_LABELS, frame->global, SY_PAPER_GLOBAL * sizeof(float));
        const float *out = sy_mlp_forward(&net->raw, block, pass->raw_x, 1, pass->raw);
        pass->u_scale = 1;
        pass->embedded = out + WIDTH;
        return out;
    }
    struct sy_gn_input input = machine_input(frame);
    struct sy_gn_output out = sy_gn_forward(&net->topology, block, &input, pass->topology);
    pass->u_scale = 1 / (1 + (float)frame->edge_count);
    pass->embedded = out.vertices;
    return out.global;
}

static struct sy_gn_input graph_input(const struct sy_paper_frame *frame) {
    return (struct sy_gn_input){.vertex_count = frame->task_count,
                                .edge_count = frame->link_count,
                                .from = frame->link_from,
                                .to = frame->link_to,
                                .edges = frame->links,
                                .vertices = frame->tasks,
                                .global = NULL};
}

static void fill_x(const struct sy_paper_net *net, const float *block,
                   const struct sy_paper_frame *frame, struct sy_paper_pass *pass) {
    const float *u = look_at_machine(net, block, frame, pass), *v = NULL;
    float share = 1 / (float)frame->device_count;
    pass->v_scale = 1 / (1 + (float)frame->link_count);
    if (!(net->without & SY_PART_GRAPH)) {
        struct sy_gn_input input = graph_input(frame);
        v = sy_gn_forward(&net->graph, block, &input, pass->graph).global;
    }
    memset(pass->x, 0, X * sizeof *pass->x);
    for (uint32_t i = 0; i < WIDTH; i++) {
        pass->x[i] = u[i] * pass->u_scale;
        pass->x[2 * WIDTH + i] = v ? v[i] * pass->v_scale : 0;
    }
    for (uint32_t d = 0; d < frame->device_count; d++) {
        const float *e = embedding(net, pass, d);
        for (uint32_t i = 0; i < WIDTH; i++) {
            pass->x[WIDTH + i] += share * e[i];
        }
    }
    memcpy(pass->x + 3 * WIDTH, frame->global, SY_PAPER_GLOBAL * sizeof(float));
}

static void score(const struct sy_paper_net *net, const float *block,
                  const struct sy_paper_frame *frame, struct sy_paper_pass *pass) {
    for (uint32_t a = 0; a < frame->action_count; a++) {
        float *row = pass->actor_x + (size_t)a * ACTOR_X;
        uint32_t device = frame->actions[a].device;
        memcpy(row, pass->hidden, HIDDEN * sizeof *row);
        if (device == SY_NONE) {
            memset(row + HIDDEN, 0, WIDTH * sizeof *row);
        } else {
            memcpy(row + HIDDEN, embedding(net, pass, device), WIDTH * sizeof *row);
        }
        memcpy(row + HIDDEN + WIDTH, frame->candidates + (size_t)a * SY_PAPER_CANDIDATE,
               SY_PAPER_CANDIDATE * sizeof *row);
    }
    pass->scores =
        sy_mlp_forward(&net->actor, block, pass->actor_x, frame->action_count, pass->actor);
    sy_softmax(pass->scores, NULL, frame->action_count, pass->probability);
}

void sy_paper_forward(const struct sy_paper_net *net, const float *block,
                      const struct sy_paper_frame *frame, float *state,
                      struct sy_paper_pass *pass) {
    fill_x(net, block, frame, pass);
    if (net->without & SY_PART_LSTM) {
        sy_linear_forward(&net->flat, block, pass->x, 1, pass->hidden);
        sy_activate(SY_TANH, pass->hidden, HIDDEN);
    } else {
        sy_lstm_forward(&net->lstm, block, pass->x, state, pass->lstm);
        memcpy(pass->hidden, state, HIDDEN * sizeof *state);
    }
    pass->value = *sy_mlp_forward(&net->critic, block, pass->hidden, 1, pass->critic);
    score(net, block, frame, pass);
}

/* --- backward ------------------------------------------------------------------------------------
 */
struct scratch {
    float *d_actor_x, *layers, *d_embedded, *graph, *d_raw_x;
};

static size_t embedded_floats(const struct sy_paper_net *net, const struct sy_paper_frame *frame) {
    return dense(net) ? RAW_OUT : (size_t)sy_paper_vertices(frame) * WIDTH;
}

static size_t gn_floats(const struct sy_paper_net *net, const struct sy_paper_frame *most) {
    struct sizes s = sizes_of(net, most);
    return s.topology > s.graph ? s.topology : s.graph;
}

size_t sy_paper_scratch(const struct sy_paper_net *net, const struct sy_paper_frame *most) {
    return padded((size_t)most->action_count * ACTOR_X) +
           padded(2 * (size_t)(most->action_count + 1) * WIDEST) +
           padded(embedded_floats(net, most)) + padded(gn_floats(net, most)) + padded(SY_PAPER_RAW);
}

static struct scratch lay_scratch(const struct sy_paper_net *net,
                                  const struct sy_paper_frame *frame, float *memory) {
    struct scratch s;
    s.d_actor_x = take(&memory, (size_t)frame->action_count * ACTOR_X);
    s.layers = take(&memory, 2 * (size_t)(frame->action_count + 1) * WIDEST);
    s.d_embedded = take(&memory, embedded_floats(net, frame));
    s.graph = take(&memory, gn_floats(net, frame));
    s.d_raw_x = take(&memory, SY_PAPER_RAW);
    return s;
}

static float *d_embedding(const struct sy_paper_net *net, const struct scratch *s,
                          uint32_t device) {
    return dense(net) ? s->d_embedded + WIDTH + (size_t)(device % SY_PAPER_SLOTS) * WIDTH
                      : s->d_embedded + (size_t)device * WIDTH;
}

/* From the heads to what the LSTM says and to the embeddings. */
static void heads_back(const struct sy_paper_net *net, const float *block,
                       const struct sy_paper_frame *frame, const struct sy_paper_pass *pass,
                       const float *d_scores, float d_value, struct scratch *s, float *ret_slopes,
                       float *ret_d_hidden) {
    sy_mlp_backward(&net->critic, block, pass->hidden, pass->critic, &d_value, 1, s->layers,
                    ret_slopes, ret_d_hidden);
    sy_mlp_backward(&net->actor, block, pass->actor_x, pass->actor, d_scores, frame->action_count,
                    s->layers, ret_slopes, s->d_actor_x);
    for (uint32_t a = 0; a < frame->action_count; a++) {
        const float *row = s->d_actor_x + (size_t)a * ACTOR_X;
        uint32_t device = frame->actions[a].device;
        float *d = device == SY_NONE ? NULL : d_embedding(net, s, device);
        for (uint32_t i = 0; i < HIDDEN; i++) {
            ret_d_hidden[i] += row[i];
        }
        for (uint32_t i = 0; d && i < WIDTH; i++) {
            d[i] += row[HIDDEN + i];
        }
    }
}

static void machine_back(const struct sy_paper_net *net, const float *block,
                         const struct sy_paper_frame *frame, const struct sy_paper_pass *pass,
                         const float *d_u, struct scratch *s, float *ret_slopes,
                         float *ret_d_vertices) {
    if (dense(net)) {
        memcpy(s->d_embedded, d_u, WIDTH * sizeof *d_u);
        sy_mlp_backward(&net->raw, block, pass->raw_x, pass->raw, s->d_embedded, 1, s->layers,
                        ret_slopes, s->d_raw_x);
        for (uint32_t i = 0; ret_d_vertices && i < RAW_LABELS; i++) {
            uint32_t at = raw_place(frame, i);
            if (at != SY_NONE) {
                ret_d_vertices[at] = s->d_raw_x[i];
            }
        }
        return;
    }
    struct sy_gn_input input = machine_input(frame);
    sy_gn_backward(&net->topology, block, &input, pass->topology, s->d_embedded, d_u, s->graph,
                   ret_slopes, NULL, ret_d_vertices, NULL);
}

static void x_back(const struct sy_paper_net *net, const float *block,
                   const struct sy_paper_frame *frame, const struct sy_paper_pass *pass, float *d_x,
                   struct scratch *s, float *ret_slopes, float *ret_d_vertices) {
    float share = 1 / (float)frame->device_count;
    for (uint32_t d = 0; d < frame->device_count; d++) {
        float *e = d_embedding(net, s, d);
        for (uint32_t i = 0; i < WIDTH; i++) {
            e[i] += share * d_x[WIDTH + i];
        }
    }
    for (uint32_t i = 0; i < WIDTH; i++) {
        d_x[i] *= pass->u_scale;
        d_x[2 * WIDTH + i] *= pass->v_scale;
    }
    if (!(net->without & SY_PART_GRAPH)) {
        struct sy_gn_input input = graph_input(frame);
        sy_gn_backward(&net->graph, block, &input, pass->graph, NULL, d_x + 2 * WIDTH, s->graph,
                       ret_slopes, NULL, NULL, NULL);
    }
    machine_back(net, block, frame, pass, d_x, s, ret_slopes, ret_d_vertices);
}

void sy_paper_backward(const struct sy_paper_net *net, const float *block,
                       const struct sy_paper_frame *frame, const struct sy_paper_pass *pass,
                       const float *d_scores, float d_value, float *d_state, float *scratch,
                       float *ret_slopes, float *ret_d_vertices) {
    struct scratch s = lay_scratch(net, frame, scratch);
    float d_hidden[HIDDEN], d_x[X];
    memset(s.d_embedded, 0, embedded_floats(net, frame) * sizeof *s.d_embedded);
    if (ret_d_vertices) {
        memset(ret_d_vertices, 0,
               (size_t)sy_paper_vertices(frame) * SY_PAPER_VERTEX * sizeof *ret_d_vertices);
    }
    heads_back(net, block, frame, pass, d_scores, d_value, &s, ret_slopes, d_hidden);
    if (net->without & SY_PART_LSTM) {
        sy_activate_backward(SY_TANH, pass->hidden, d_hidden, HIDDEN, d_hidden);
        sy_linear_backward(&net->flat, block, pass->x, d_hidden, 1, ret_slopes, d_x);
    } else {
        for (uint32_t i = 0; i < HIDDEN; i++) {
            d_state[i] += d_hidden[i];
        }
        sy_lstm_backward(&net->lstm, block, pass->x, pass->lstm, d_state, ret_slopes, d_x);
    }
    x_back(net, block, frame, pass, d_x, &s, ret_slopes, ret_d_vertices);
}
