/* SPDX-License-Identifier: Apache-2.0
 *
 * Question: what does one decision by a whole network cost on one core, without anything kept from
 * the last? Graph network over the job, LSTM of 64, a softmax over 16 ready tasks and one over 11
 * devices; and what do small networks that score rows of features cost.
 *
 * Usage: net_speed [DECISIONS]. Prints JSON: microseconds of processor time, median and 99th
 * percentile. "wide" 16 and 32: blocks whose functions are all that wide, two rounds; "papers": one
 * round with the papers' sizes and their block over a machine of 27 vertices. About 2.3 edges per
 * vertex. The clock's own cost is taken off.
 */
#include "base/json.h"
#include "clock.h"
#include "papers/layers.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WARM_UP 20
#define READY   16u
#define DEVICES 11u
#define WIDTH   64u
#define HIDDEN  32u
#define MACHINE 27u /* vertices of the machine's graph */

struct graph {
    uint32_t vertices, edges;
    uint32_t *from, *to;
    float *x, *edge_x;
};

struct net {
    struct sy_gn job[2], machine;
    uint32_t rounds;
    bool papers;
    struct sy_lstm lstm;
    struct sy_mlp task, device;
    uint32_t count;
    float *block, *tape, *rows, *chance;
    float input[WIDTH], state[2 * WIDTH], global[WIDTH], lstm_tape[7 * WIDTH];
};

static void *take(struct sy_arena *arena, size_t count, size_t size) {
    void *memory = sy_arena_alloc(arena, count, size);
    SY_ASSERT(memory);
    return memory;
}

static float *numbers(struct sy_arena *arena, struct sy_rng *rng, size_t count) {
    float *x = take(arena, count, sizeof *x);
    for (size_t i = 0; i < count; i++) {
        x[i] = (float)sy_rng_uniform(rng);
    }
    return x;
}

/* Edges go to vertices that come later and not far behind, as in a job's graph. */
static struct graph make_graph(struct sy_arena *arena, struct sy_rng *rng, uint32_t vertices,
                               uint32_t width, uint32_t edge_width) {
    struct graph graph = {.vertices = vertices, .edges = vertices * 457 / 200};
    graph.from = take(arena, graph.edges, sizeof *graph.from);
    graph.to = take(arena, graph.edges, sizeof *graph.to);
    for (uint32_t e = 0; e < graph.edges; e++) {
        graph.from[e] = sy_rng_below(rng, vertices);
        graph.to[e] = (graph.from[e] + 1 + sy_rng_below(rng, 20)) % vertices;
    }
    graph.x = numbers(arena, rng, (size_t)vertices * width);
    graph.edge_x = numbers(arena, rng, (size_t)graph.edges * edge_width + 1);
    return graph;
}

static struct net make_net(struct sy_arena *arena, struct sy_rng *rng, uint32_t width,
                           const struct graph *job, const struct graph *machine) {
    const uint32_t same[2] = {width, width}, edge[2] = {64, 32}, vertex[2] = {32, 16};
    const uint32_t whole[2] = {16, 16}, job_whole[2] = {32, 16}, head[2] = {HIDDEN, 1};
    struct net net = {.papers = width == 0, .rounds = width ? 2 : 1};
    uint32_t *at = &net.count, out = width ? width : 16;
    for (uint32_t r = 0; r < net.rounds; r++) {
        net.job[r] = width ? sy_gn_make(0, width, width, same, same, same, SY_RELU, at)
                           : sy_gn_make(2, 8, 4, edge, NULL, job_whole, SY_RELU, at);
    }
    net.machine = sy_gn_make(2, 8, 4, edge, vertex, whole, SY_RELU, at);
    net.lstm = sy_lstm_make(net.papers ? 32 : out, WIDTH, at);
    uint32_t task_in = WIDTH + (net.papers ? 8 : out);
    net.task = sy_mlp_make(task_in, head, 2, SY_RELU, SY_LINEAR, at);
    net.device = sy_mlp_make(WIDTH + 16, head, 2, SY_RELU, SY_LINEAR, at);
    net.block = take(arena, net.count, sizeof *net.block);
    for (uint32_t r = 0; r < net.rounds; r++) {
        sy_gn_start(&net.job[r], rng, net.block);
    }
    sy_gn_start(&net.machine, rng, net.block);
    sy_lstm_start(&net.lstm, rng, net.block);
    sy_mlp_start(&net.task, 1, rng, net.block);
    sy_mlp_start(&net.device, 1, rng, net.block);
    size_t tape = sy_gn_tape(&net.job[0], job->vertices, job->edges);
    net.tape = take(arena, 2 * tape + sy_gn_tape(&net.machine, machine->vertices, machine->edges),
                    sizeof(float));
    net.rows = take(arena, (READY + DEVICES) * (2 * WIDTH + HIDDEN + 1), sizeof(float));
    net.chance = take(arena, READY + DEVICES, sizeof(float));
    return net;
}

/* Scores of candidates: each row is h and the candidate's vertex. */
static void choose(struct net *net, const struct sy_mlp *head, const float *vertices,
                   uint32_t width, uint32_t count) {
    const uint32_t in = WIDTH + width;
    for (uint32_t k = 0; k < count; k++) {
        memcpy(net->rows + k * in, net->state, WIDTH * sizeof(float));
        memcpy(net->rows + k * in + WIDTH, vertices + k * width, width * sizeof(float));
    }
    const float *scores =
        sy_mlp_forward(head, net->block, net->rows, count, net->rows + count * in);
    sy_softmax(scores, NULL, count, net->chance);
}

static struct sy_gn_input input_of(const struct graph *graph, const float *x, const float *global) {
    return (struct sy_gn_input){.vertex_count = graph->vertices,
                                .edge_count = graph->edges,
                                .from = graph->from,
                                .to = graph->to,
                                .edges = graph->edge_x,
                                .vertices = x,
                                .global = global};
}

/* Returns what the graph networks alone took. */
static double decide(struct net *net, const struct graph *job, const struct graph *machine) {
    double start = now_ns();
    struct sy_gn_output output = {.vertices = job->x, .global = net->global};
    float *tape = net->tape;
    for (uint32_t r = 0; r < net->rounds; r++) {
        struct sy_gn_input input = input_of(job, output.vertices, output.global);
        output = sy_gn_forward(&net->job[r], net->block, &input, tape);
        tape += sy_gn_tape(&net->job[r], job->vertices, job->edges);
    }
    uint32_t out = sy_mlp_out(&net->job[0].global);
    memcpy(net->input, output.global, out * sizeof(float));
    const float *devices = machine->x;
    if (net->papers) {
        struct sy_gn_input input = input_of(machine, machine->x, net->global);
        struct sy_gn_output seen = sy_gn_forward(&net->machine, net->block, &input, tape);
        memcpy(net->input + out, seen.global, 16 * sizeof(float));
        devices = seen.vertices;
    }
    double middle = now_ns();
    sy_lstm_forward(&net->lstm, net->block, net->input, net->state, net->lstm_tape);
    choose(net, &net->task, output.vertices, net->task.layers[0].in - WIDTH, READY);
    choose(net, &net->device, devices, 16, DEVICES);
    return middle - start;
}

static void put_times(struct sy_json_writer *out, const char *p50, const char *p99, double *times,
                      uint32_t count) {
    sy_json_member_number(out, p50, sy_quantile(times, count, 0.5) / 1e3);
    sy_json_member_number(out, p99, sy_quantile(times, count, 0.99) / 1e3);
}

static void measure_net(struct sy_json_writer *out, uint32_t vertices, uint32_t width,
                        uint32_t decisions) {
    struct sy_arena *arena = sy_arena_create();
    SY_ASSERT(arena);
    struct sy_rng rng = sy_rng_make(1, 0, vertices + width);
    struct graph job = make_graph(arena, &rng, vertices, width ? width : 8, width ? 0 : 2);
    struct graph machine = make_graph(arena, &rng, MACHINE, 16, 2);
    struct net net = make_net(arena, &rng, width, &job, &machine);
    double *whole = take(arena, decisions, sizeof *whole), cost = clock_ns();
    double *graphs = take(arena, decisions, sizeof *graphs);
    for (uint32_t i = 0; i < WARM_UP + decisions; i++) {
        double start = now_ns(), took = decide(&net, &job, &machine), end = now_ns();
        if (i >= WARM_UP) {
            whole[i - WARM_UP] = fmax(end - start - 3 * cost, 0);
            graphs[i - WARM_UP] = fmax(took - cost, 0);
        }
    }
    sy_json_print(out, "{net: %s, width: %u, vertices: %u, edges: %u, parameters: %u",
                  width ? "wide" : "papers", width, vertices, job.edges, net.count);
    put_times(out, "graph_p50_us", "graph_p99_us", graphs, decisions);
    put_times(out, "decision_p50_us", "decision_p99_us", whole, decisions);
    sy_json_close(out, '}');
    sy_arena_destroy(arena);
}

/* A small network that scores many rows of features at once, as a correction does. */
static void measure_rows(struct sy_json_writer *out, uint32_t in, uint32_t hidden, uint32_t rows,
                         uint32_t decisions) {
    struct sy_arena *arena = sy_arena_create();
    SY_ASSERT(arena);
    struct sy_rng rng = sy_rng_make(2, 0, rows);
    uint32_t at = 0, widths[2] = {hidden, 1};
    struct sy_mlp net = sy_mlp_make(in, widths, 2, SY_TANH, SY_LINEAR, &at);
    float *block = take(arena, at, sizeof *block), *x = numbers(arena, &rng, (size_t)rows * in);
    float *tape = take(arena, (size_t)rows * sy_mlp_tape(&net), sizeof *tape);
    double *times = take(arena, decisions, sizeof *times), cost = clock_ns();
    sy_mlp_start(&net, 1, &rng, block);
    for (uint32_t i = 0; i < decisions; i++) {
        double start = now_ns();
        sy_mlp_forward(&net, block, x, rows, tape);
        times[i] = fmax(now_ns() - start - cost, 0);
    }
    sy_json_print(out, "{in: %u, hidden: %u, rows: %u", in, hidden, rows);
    put_times(out, "p50_us", "p99_us", times, decisions);
    sy_json_close(out, '}');
    sy_arena_destroy(arena);
}

int main(int argc, char **argv) {
    static const uint32_t nets[][2] = {{200, 16},  {200, 32}, {200, 0},   {1000, 16},
                                       {1000, 32}, {1000, 0}, {10000, 16}};
    static const uint32_t rows[][3] = {{24, 16, 1}, {24, 16, 11}, {24, 16, 64}, {24, 16, 1000}};
    uint32_t decisions = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000;
    if (decisions < 10) {
        fprintf(stderr, "net_speed: at least 10 decisions\n");
        return 2;
    }
    struct sy_json_writer out = {.compact_from = 3};
    sy_json_print(&out, "{schema: %s, decisions: %u, nets: [", "symph-bench-net-1", decisions);
    for (size_t i = 0; i < SY_COUNT(nets); i++) {
        measure_net(&out, nets[i][0], nets[i][1], nets[i][0] > 1000 ? decisions / 10 : decisions);
    }
    sy_json_print(&out, "], rows: [");
    for (size_t i = 0; i < SY_COUNT(rows); i++) {
        measure_rows(&out, rows[i][0], rows[i][1], rows[i][2], decisions);
    }
    sy_json_print(&out, "]}");
    printf("%s", out.buffer.text);
    sy_buffer_finish(&out.buffer);
    return 0;
}
