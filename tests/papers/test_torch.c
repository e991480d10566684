/* SPDX-License-Identifier: Apache-2.0
 *
 * The papers' whole network, forward and backward through three steps, against a dump that
 * tools/torch_check.py made with PyTorch (or, where its first line says so, without).
 */
#include "papers/layers.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As in tools/torch_check.py. */
#define STEPS     3
#define SEED      5
#define DEVICES   5
#define WIDTH     64
#define HIDDEN    32
#define ENTROPY   0.01f
#define TOLERANCE 1e-4
#define VERTICES  12 /* of the larger graph */
#define EDGES     20

enum stream { PARAMETERS = 1, MACHINE_GRAPH, JOB_GRAPH, STATE, MACHINE_X = 10, JOB_X = 20 };

struct graph_shape {
    uint32_t vertices, edges, edge_in, vertex_in, global_in;
};
static const struct graph_shape machine_shape = {9, 16, 3, 8, 4}, job_shape = {12, 20, 2, 7, 3};

static const char *const layer_names[] = {"machine.edge.0",
                                          "machine.edge.1",
                                          "machine.vertex.0",
                                          "machine.vertex.1",
                                          "machine.global.0",
                                          "machine.global.1",
                                          "job.edge.0",
                                          "job.edge.1",
                                          "job.global.0",
                                          "job.global.1",
                                          "lstm",
                                          "actor.0",
                                          "actor.1",
                                          "critic.0",
                                          "critic.1"};
#define LAYERS SY_COUNT(layer_names)

struct net {
    struct sy_gn machine, job;
    struct sy_lstm lstm;
    struct sy_mlp actor, critic;
    uint32_t count, begins[LAYERS + 1]; /* of each named layer in the block */
    float *block, *slopes;
    uint32_t from[2][EDGES], to[2][EDGES];
};

struct step {
    float machine_x[128], job_x[160], input[32], rows[DEVICES * (WIDTH + 16)];
    float machine[4096], job[4096], lstm[7 * WIDTH], actor[DEVICES * (HIDDEN + 1)];
    float critic[HIDDEN + 1], h[WIDTH], chance[DEVICES];
    struct sy_gn_output machine_out, job_out;
    float value;
};

/* All results by the names of the dump. */
struct results {
    struct step steps[STEPS];
    float loss, d_machine_x[128];
};

static uint64_t splitmix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t draw(uint32_t stream, uint32_t index) {
    return splitmix(((uint64_t)SEED << 48) + ((uint64_t)stream << 32) + index);
}

static float number(uint32_t stream, uint32_t index) {
    return (float)((double)(draw(stream, index) >> 40) / 8388608 - 1);
}

static void fill(uint32_t stream, uint32_t count, float scale, float *to) {
    for (uint32_t i = 0; i < count; i++) {
        to[i] = scale * number(stream, i);
    }
}

static uint32_t mark(const struct sy_mlp *mlp, uint32_t *begins) {
    for (uint32_t i = 0; i < mlp->count; i++) {
        begins[i] = mlp->layers[i].weight;
    }
    return mlp->count;
}

static struct net make_net(void) {
    const uint32_t edge[2] = {64, 32}, vertex[2] = {32, 16}, global[2] = {16, 16};
    const uint32_t job_global[2] = {32, 16}, head[2] = {HIDDEN, 1};
    const struct graph_shape *m = &machine_shape, *j = &job_shape;
    struct net net = {0};
    uint32_t *at = &net.count, named = 0;
    net.machine =
        sy_gn_make(m->edge_in, m->vertex_in, m->global_in, edge, vertex, global, SY_RELU, at);
    net.job =
        sy_gn_make(j->edge_in, j->vertex_in, j->global_in, edge, NULL, job_global, SY_RELU, at);
    net.lstm = sy_lstm_make(32, WIDTH, at);
    net.actor = sy_mlp_make(WIDTH + 16, head, 2, SY_RELU, SY_LINEAR, at);
    net.critic = sy_mlp_make(WIDTH, head, 2, SY_RELU, SY_LINEAR, at);
    const struct sy_mlp *parts[] = {&net.machine.edge, &net.machine.vertex, &net.machine.global,
                                    &net.job.edge, &net.job.global};
    for (size_t i = 0; i < SY_COUNT(parts); i++) {
        named += mark(parts[i], net.begins + named);
    }
    net.begins[named++] = net.lstm.weight;
    named += mark(&net.actor, net.begins + named);
    named += mark(&net.critic, net.begins + named);
    assert_int_equal(named, LAYERS);
    net.begins[LAYERS] = net.count;
    net.block = calloc(net.count, sizeof *net.block);
    net.slopes = calloc(net.count, sizeof *net.slopes);
    assert_true(net.block && net.slopes);
    fill(PARAMETERS, net.count, 0.25f, net.block);
    for (int k = 0; k < 2; k++) {
        const struct graph_shape *shape = k ? j : m;
        for (uint32_t e = 0; e < shape->edges; e++) {
            uint32_t stream = k ? JOB_GRAPH : MACHINE_GRAPH;
            net.from[k][e] = (uint32_t)(draw(stream, e) % shape->vertices);
            net.to[k][e] = (uint32_t)(draw(stream, shape->edges + e) % shape->vertices);
        }
    }
    assert_true(sy_gn_tape(&net.machine, m->vertices, m->edges) <= 4096 &&
                sy_gn_tape(&net.job, j->vertices, j->edges) <= 4096);
    return net;
}

static struct sy_gn_input input_of(const struct net *net, bool job, const float *x) {
    const struct graph_shape *shape = job ? &job_shape : &machine_shape;
    const float *vertices = x + shape->edges * shape->edge_in;
    return (struct sy_gn_input){.vertex_count = shape->vertices,
                                .edge_count = shape->edges,
                                .from = net->from[job],
                                .to = net->to[job],
                                .edges = x,
                                .vertices = vertices,
                                .global = vertices + shape->vertices * shape->vertex_in};
}

static uint32_t chosen(uint32_t t) {
    return (t + 2) % DEVICES;
}

static float advantage(uint32_t t) {
    return 1.5f - (float)t;
}

static float target(uint32_t t) {
    return 0.5f * (float)t - 0.25f;
}

static void forward(const struct net *net, uint32_t t, float *state, struct step *s) {
    const struct graph_shape *m = &machine_shape, *j = &job_shape;
    fill(MACHINE_X + t, m->edges * m->edge_in + m->vertices * m->vertex_in + m->global_in, 1,
         s->machine_x);
    fill(JOB_X + t, j->edges * j->edge_in + j->vertices * j->vertex_in + j->global_in, 1, s->job_x);
    struct sy_gn_input machine = input_of(net, false, s->machine_x);
    struct sy_gn_input job = input_of(net, true, s->job_x);
    s->machine_out = sy_gn_forward(&net->machine, net->block, &machine, s->machine);
    s->job_out = sy_gn_forward(&net->job, net->block, &job, s->job);
    memcpy(s->input, s->machine_out.global, 16 * sizeof(float));
    memcpy(s->input + 16, s->job_out.global, 16 * sizeof(float));
    sy_lstm_forward(&net->lstm, net->block, s->input, state, s->lstm);
    memcpy(s->h, state, sizeof s->h);
    bool mask[DEVICES];
    for (uint32_t k = 0; k < DEVICES; k++) {
        float *row = s->rows + k * (WIDTH + 16);
        memcpy(row, s->h, sizeof s->h);
        memcpy(row + WIDTH, s->machine_out.vertices + k * 16, 16 * sizeof(float));
        mask[k] = k != t;
    }
    const float *scores = sy_mlp_forward(&net->actor, net->block, s->rows, DEVICES, s->actor);
    sy_softmax(scores, mask, DEVICES, s->chance);
    s->value = *sy_mlp_forward(&net->critic, net->block, s->h, 1, s->critic);
}

static float loss_of(uint32_t t, const struct step *s) {
    float error = s->value - target(t);
    return -advantage(t) * sy_softmax_log(s->chance, chosen(t)) -
           ENTROPY * sy_softmax_entropy(s->chance, DEVICES) + 0.5f * error * error;
}

/* d_x: of the machine's numbers, edges, vertices and global; NULL: not wanted. */
static void backward(const struct net *net, uint32_t t, const struct step *s, float *d_state,
                     float *d_x) {
    float d_scores[DEVICES], d_rows[DEVICES * (WIDTH + 16)], d_h[WIDTH], d_input[32];
    float scratch[4096], d_vertices[9 * 16] = {0}, d_value = s->value - target(t);
    sy_softmax_backward(s->chance, DEVICES, chosen(t), -advantage(t), -ENTROPY, d_scores);
    sy_mlp_backward(&net->actor, net->block, s->rows, s->actor, d_scores, DEVICES, scratch,
                    net->slopes, d_rows);
    sy_mlp_backward(&net->critic, net->block, s->h, s->critic, &d_value, 1, scratch, net->slopes,
                    d_h);
    for (uint32_t i = 0; i < WIDTH; i++) {
        d_state[i] += d_h[i];
    }
    for (uint32_t k = 0; k < DEVICES; k++) {
        const float *row = d_rows + k * (WIDTH + 16);
        for (uint32_t i = 0; i < WIDTH; i++) {
            d_state[i] += row[i];
        }
        memcpy(d_vertices + k * 16, row + WIDTH, 16 * sizeof(float));
    }
    sy_lstm_backward(&net->lstm, net->block, s->input, s->lstm, d_state, net->slopes, d_input);
    struct sy_gn_input machine = input_of(net, false, s->machine_x);
    struct sy_gn_input job = input_of(net, true, s->job_x);
    const size_t vertices = machine_shape.edges * machine_shape.edge_in;
    const size_t global = vertices + machine_shape.vertices * machine_shape.vertex_in;
    sy_gn_backward(&net->machine, net->block, &machine, s->machine, d_vertices, d_input, scratch,
                   net->slopes, d_x, d_x ? d_x + vertices : NULL, d_x ? d_x + global : NULL);
    sy_gn_backward(&net->job, net->block, &job, s->job, NULL, d_input + 16, scratch, net->slopes,
                   NULL, NULL, NULL);
}

static void run(const struct net *net, struct results *ret_results) {
    float state[2 * WIDTH], d_state[2 * WIDTH] = {0};
    fill(STATE, 2 * WIDTH, 1, state);
    for (uint32_t t = 0; t < STEPS; t++) {
        forward(net, t, state, &ret_results->steps[t]);
        ret_results->loss += loss_of(t, &ret_results->steps[t]);
    }
    for (uint32_t t = STEPS; t-- > 0;) {
        backward(net, t, &ret_results->steps[t], d_state, t ? NULL : ret_results->d_machine_x);
    }
}

/* Where the numbers of a name are, and how many; NULL: none is called so. */
static const float *find_output(const struct results *r, const char *name, uint32_t *ret_count) {
    const char *dot = strchr(name, '.');
    if (!dot) {
        *ret_count = 1;
        return &r->loss;
    }
    uint32_t t = (uint32_t)atoi(dot + 1);
    assert_true(t < STEPS);
    const struct step *s = &r->steps[t];
    const struct {
        const char *name;
        const float *at;
        uint32_t count;
    } outputs[] = {{"global", s->machine_out.global, 16},
                   {"job", s->job_out.global, 16},
                   {"h", s->h, WIDTH},
                   {"chance", s->chance, DEVICES},
                   {"value", &s->value, 1}};
    for (size_t i = 0; i < SY_COUNT(outputs); i++) {
        if (strncmp(name, outputs[i].name, (size_t)(dot - name)) == 0) {
            *ret_count = outputs[i].count;
            return outputs[i].at;
        }
    }
    return NULL;
}

static const float *find_slopes(const struct net *net, const struct results *r, const char *name,
                                uint32_t *ret_count) {
    const struct graph_shape *m = &machine_shape;
    const uint32_t parts[] = {m->edges * m->edge_in, m->vertices * m->vertex_in, m->global_in};
    const char *const inputs[] = {"input.edges", "input.vertices", "input.global"};
    for (uint32_t i = 0, at = 0; i < 3; at += parts[i++]) {
        if (strcmp(name, inputs[i]) == 0) {
            *ret_count = parts[i];
            return r->d_machine_x + at;
        }
    }
    for (size_t i = 0; i < LAYERS; i++) {
        if (strcmp(name, layer_names[i]) == 0) {
            *ret_count = net->begins[i + 1] - net->begins[i];
            return net->slopes + net->begins[i];
        }
    }
    return NULL;
}

static double weigh(const float *values, uint32_t count, bool by_number) {
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += (double)values[i] * (by_number ? (double)number(99, i) : 1);
    }
    return sum;
}

/* What a line compares: the number of ours, and how large such numbers are. */
static double ours(const struct net *net, const struct results *r, const char *kind,
                   const char *name, uint32_t index, double *largest) {
    uint32_t count = 0;
    if (strcmp(kind, "out") == 0) {
        const float *values = find_output(r, name, &count);
        assert_true(values && index < count);
        *largest = 1;
        return values[index];
    }
    const float *values = find_slopes(net, r, name, &count);
    assert_true(values && index < count);
    double most = 0;
    for (uint32_t i = 0; i < count; i++) {
        most = fmax(most, fabs((double)values[i]));
    }
    if (strcmp(kind, "count") == 0) {
        return count;
    }
    *largest = most;
    if (strcmp(kind, "largest") == 0) {
        return most;
    }
    if (strcmp(kind, "slope") == 0) {
        return values[index];
    }
    *largest = most * sqrt(count);
    return weigh(values, count, strcmp(kind, "weighed") == 0);
}

/* Reads the dump's lines; returns how many were compared. */
static uint32_t compare(FILE *dump, const struct net *net, const struct results *r) {
    char kind[16], name[32];
    uint32_t index, lines = 0;
    double want, worst = 0;
    while (fscanf(dump, "%15s %31s %u %lf", kind, name, &index, &want) == 4) {
        double largest = 1, got = ours(net, r, kind, name, index, &largest);
        double error = fabs(got - want) / fmax(largest, 1e-3);
        worst = fmax(worst, error);
        if (!(error <= TOLERANCE)) {
            fail_msg("%s %s %u is %.9g, want %.9g", kind, name, index, got, want);
        }
        lines++;
    }
    assert_true(feof(dump));
    print_message("# %u numbers, largest difference %.2g\n", lines, worst);
    return lines;
}

static void same_as_the_dump(void **state) {
    (void)state;
    const char *path = getenv("SYMPH_TORCH_DUMP");
    FILE *dump = path ? fopen(path, "r") : NULL;
    if (!dump) {
        print_message("# no dump (SYMPH_TORCH_DUMP): tools/torch_check.py makes it\n");
        skip();
    }
    char first[200];
    assert_non_null(fgets(first, sizeof first, dump));
    assert_int_equal(strncmp(first, "symph-net-dump 1 ", 17), 0);
    print_message("# %s", first);
    struct net net = make_net();
    struct results *results = calloc(1, sizeof *results);
    assert_non_null(results);
    run(&net, results);
    assert_true(compare(dump, &net, results) > 1500);
    fclose(dump);
    free(results);
    free(net.block);
    free(net.slopes);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_the_dump)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
