/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph network block (Battaglia et al. 2018, algorithm 1), forward and backward.
 *
 * In: a graph with numbers at its edges, vertices and whole. Out: the same, changed. The tape holds
 * what each of the three functions was given and all that it gave. Sums run in the order of edges
 * and vertices.
 */
#include "papers/layers.h"
#include "papers/matrix.h"
#include <string.h>

struct sy_gn sy_gn_make(uint32_t edge_in, uint32_t vertex_in, uint32_t global_in,
                        const uint32_t edge[2], const uint32_t *vertex, const uint32_t global[2],
                        enum sy_activation activation, uint32_t *at) {
    struct sy_gn gn = {.edge_in = edge_in,
                       .vertex_in = vertex_in,
                       .global_in = global_in,
                       .vertices = vertex != NULL};
    uint32_t sums = edge[1];
    gn.edge = sy_mlp_make(edge_in + 2 * vertex_in + global_in, edge, 2, activation, activation, at);
    if (vertex) {
        gn.vertex =
            sy_mlp_make(edge[1] + vertex_in + global_in, vertex, 2, activation, activation, at);
        sums += vertex[1];
    }
    gn.global = sy_mlp_make(sums + global_in, global, 2, activation, activation, at);
    return gn;
}

void sy_gn_start(const struct sy_gn *gn, struct sy_rng *rng, float *block) {
    sy_mlp_start(&gn->edge, 1, rng, block);
    if (gn->vertices) {
        sy_mlp_start(&gn->vertex, 1, rng, block);
    }
    sy_mlp_start(&gn->global, 1, rng, block);
}

/* Where the parts lie, on the tape and on the scratch, in floats. */
struct places {
    uint32_t edge_width, vertex_width, global_width; /* of what the functions are given */
    size_t edge_x, edge, vertex_x, vertex, global_x, global, tape;
    size_t d_edge, d_edge_x, d_vertex, d_vertex_x, d_global_x, scratch;
    size_t work; /* of the functions' own backward; shared */
};

static uint32_t widest(const struct sy_mlp *mlp) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < mlp->count; i++) {
        most = mlp->layers[i].out > most ? mlp->layers[i].out : most;
    }
    return most;
}

static size_t take(size_t *at, size_t rows, uint32_t width) {
    size_t here = *at;
    *at += rows * width;
    return here;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static struct places lay_out(const struct sy_gn *gn, uint32_t vertex_count, uint32_t edge_count) {
    const size_t vertices = gn->vertices ? vertex_count : 0, edges = edge_count;
    struct places p = {.edge_width = gn->edge.layers[0].in,
                       .vertex_width = gn->vertices ? gn->vertex.layers[0].in : 0,
                       .global_width = gn->global.layers[0].in};
    p.edge_x = take(&p.tape, edges, p.edge_width);
    p.edge = take(&p.tape, edges, sy_mlp_tape(&gn->edge));
    p.vertex_x = take(&p.tape, vertices, p.vertex_width);
    p.vertex = take(&p.tape, vertices, gn->vertices ? sy_mlp_tape(&gn->vertex) : 0);
    p.global_x = take(&p.tape, 1, p.global_width);
    p.global = take(&p.tape, 1, sy_mlp_tape(&gn->global));

    p.d_edge = take(&p.scratch, edges, sy_mlp_out(&gn->edge));
    p.d_edge_x = take(&p.scratch, edges, p.edge_width);
    p.d_vertex = take(&p.scratch, vertices, gn->vertices ? sy_mlp_out(&gn->vertex) : 0);
    p.d_vertex_x = take(&p.scratch, vertices, p.vertex_width);
    p.d_global_x = take(&p.scratch, 1, p.global_width);
    size_t work = larger(2 * edges * widest(&gn->edge), 2 * widest(&gn->global));
    work = larger(work, gn->vertices ? 2 * vertices * widest(&gn->vertex) : 0);
    p.work = take(&p.scratch, work, 1);
    return p;
}

size_t sy_gn_tape(const struct sy_gn *gn, uint32_t vertex_count, uint32_t edge_count) {
    struct places p = lay_out(gn, vertex_count, edge_count);
    return larger(p.tape, p.scratch); /* one size for both */
}

/* Appends a row to another; a width of 0 may have no memory. */
static float *join(float *to, const float *rows, size_t row, uint32_t width) {
    if (width) {
        memcpy(to, rows + row * width, width * sizeof *to);
    }
    return to + width;
}

static void add_row(const float *from, uint32_t width, float *to) {
    for (uint32_t j = 0; j < width; j++) {
        to[j] += from[j];
    }
}

static void join_edges(const struct sy_gn *gn, const struct sy_gn_input *input, float *x) {
    for (uint32_t e = 0; e < input->edge_count; e++) {
        x = join(x, input->edges, e, gn->edge_in);
        x = join(x, input->vertices, input->from[e], gn->vertex_in);
        x = join(x, input->vertices, input->to[e], gn->vertex_in);
        x = join(x, input->global, 0, gn->global_in);
    }
}

static void join_vertices(const struct sy_gn *gn, const struct sy_gn_input *input,
                          const float *edges, uint32_t x_width, float *x) {
    const uint32_t width = sy_mlp_out(&gn->edge);
    for (uint32_t v = 0; v < input->vertex_count; v++) {
        float *to = x + (size_t)v * x_width;
        sy_matrix_fill(NULL, 1, width, to);
        to = join(to + width, input->vertices, v, gn->vertex_in);
        join(to, input->global, 0, gn->global_in);
    }
    for (uint32_t e = 0; e < input->edge_count; e++) {
        add_row(edges + (size_t)e * width, width, x + (size_t)input->to[e] * x_width);
    }
}

struct sy_gn_output sy_gn_forward(const struct sy_gn *gn, const float *block,
                                  const struct sy_gn_input *input, float *tape) {
    const struct places p = lay_out(gn, input->vertex_count, input->edge_count);
    struct sy_gn_output output = {.vertices = input->vertices};
    float *global = tape + p.global_x;
    sy_matrix_fill(NULL, 1, p.global_width, global);

    join_edges(gn, input, tape + p.edge_x);
    output.edges =
        sy_mlp_forward(&gn->edge, block, tape + p.edge_x, input->edge_count, tape + p.edge);
    sy_matrix_sum(output.edges, input->edge_count, sy_mlp_out(&gn->edge), global);
    float *rest = global + sy_mlp_out(&gn->edge);

    if (gn->vertices) {
        join_vertices(gn, input, output.edges, p.vertex_width, tape + p.vertex_x);
        output.vertices = sy_mlp_forward(&gn->vertex, block, tape + p.vertex_x, input->vertex_count,
                                         tape + p.vertex);
        sy_matrix_sum(output.vertices, input->vertex_count, sy_mlp_out(&gn->vertex), rest);
        rest += sy_mlp_out(&gn->vertex);
    }
    join(rest, input->global, 0, gn->global_in);
    output.global = sy_mlp_forward(&gn->global, block, global, 1, tape + p.global);
    return output;
}

/* What a backward pass works on. */
struct pass {
    const struct sy_gn *gn;
    const float *block, *tape;
    const struct sy_gn_input *input;
    struct places at;
    float *scratch, *slopes;
    float *d_edges, *d_vertices, *d_global; /* of the inputs; may be NULL */
};

/* Slopes of what the whole was given; 0 if nobody looks at what it gave. */
static void back_global(struct pass *pass, const float *d_global) {
    const struct sy_gn *gn = pass->gn;
    float *d_x = pass->scratch + pass->at.d_global_x;
    if (d_global) {
        sy_mlp_backward(&gn->global, pass->block, pass->tape + pass->at.global_x,
                        pass->tape + pass->at.global, d_global, 1, pass->scratch + pass->at.work,
                        pass->slopes, d_x);
    } else {
        sy_matrix_fill(NULL, 1, pass->at.global_width, d_x);
    }
    if (pass->d_global) {
        join(pass->d_global, d_x + pass->at.global_width - gn->global_in, 0, gn->global_in);
    }
}

static void back_vertices(struct pass *pass, const float *d_vertices) {
    const struct sy_gn *gn = pass->gn;
    const uint32_t count = pass->input->vertex_count, width = sy_mlp_out(&gn->vertex);
    const uint32_t edge_width = sy_mlp_out(&gn->edge);
    float *d_y = pass->scratch + pass->at.d_vertex, *d_x = pass->scratch + pass->at.d_vertex_x;
    sy_matrix_fill(pass->scratch + pass->at.d_global_x + edge_width, count, width, d_y);
    if (d_vertices) {
        add_row(d_vertices, count * width, d_y);
    }
    sy_mlp_backward(&gn->vertex, pass->block, pass->tape + pass->at.vertex_x,
                    pass->tape + pass->at.vertex, d_y, count, pass->scratch + pass->at.work,
                    pass->slopes, d_x);
    for (uint32_t v = 0; v < count; v++) {
        const float *own = d_x + (size_t)v * pass->at.vertex_width + edge_width;
        if (pass->d_vertices) {
            join(pass->d_vertices + (size_t)v * gn->vertex_in, own, 0, gn->vertex_in);
        }
        if (pass->d_global) {
            add_row(own + gn->vertex_in, gn->global_in, pass->d_global);
        }
    }
}

/* Without a vertex function, what comes out are the vertices that went in. */
static void pass_vertices(struct pass *pass, const float *d_vertices) {
    const uint32_t count = pass->input->vertex_count, width = pass->gn->vertex_in;
    if (pass->d_vertices) {
        sy_matrix_fill(NULL, count, width, pass->d_vertices);
        if (d_vertices) {
            add_row(d_vertices, count * width, pass->d_vertices);
        }
    }
}

static void part_edge(struct pass *pass, uint32_t e, const float *d_x) {
    const struct sy_gn *gn = pass->gn;
    const uint32_t width = gn->vertex_in;
    if (pass->d_edges) {
        join(pass->d_edges + (size_t)e * gn->edge_in, d_x, 0, gn->edge_in);
    }
    d_x += gn->edge_in;
    if (pass->d_vertices) {
        add_row(d_x, width, pass->d_vertices + (size_t)pass->input->from[e] * width);
        add_row(d_x + width, width, pass->d_vertices + (size_t)pass->input->to[e] * width);
    }
    if (pass->d_global) {
        add_row(d_x + 2 * (size_t)width, gn->global_in, pass->d_global);
    }
}

static void back_edges(struct pass *pass) {
    const struct sy_gn *gn = pass->gn;
    const uint32_t count = pass->input->edge_count, width = sy_mlp_out(&gn->edge);
    float *d_y = pass->scratch + pass->at.d_edge, *d_x = pass->scratch + pass->at.d_edge_x;
    sy_matrix_fill(pass->scratch + pass->at.d_global_x, count, width, d_y);
    for (uint32_t e = 0; gn->vertices && e < count; e++) {
        const float *sums = pass->scratch + pass->at.d_vertex_x +
                            (size_t)pass->input->to[e] * pass->at.vertex_width;
        add_row(sums, width, d_y + (size_t)e * width);
    }
    bool wanted = pass->d_edges || pass->d_vertices || pass->d_global;
    sy_mlp_backward(&gn->edge, pass->block, pass->tape + pass->at.edge_x,
                    pass->tape + pass->at.edge, d_y, count, pass->scratch + pass->at.work,
                    pass->slopes, wanted ? d_x : NULL);
    for (uint32_t e = 0; wanted && e < count; e++) {
        part_edge(pass, e, d_x + (size_t)e * pass->at.edge_width);
    }
}

void sy_gn_backward(const struct sy_gn *gn, const float *block, const struct sy_gn_input *input,
                    const float *tape, const float *d_vertices, const float *d_global,
                    float *scratch, float *ret_slopes, float *ret_d_edges, float *ret_d_vertices,
                    float *ret_d_global) {
    struct pass pass = {.gn = gn,
                        .block = block,
                        .tape = tape,
                        .input = input,
                        .at = lay_out(gn, input->vertex_count, input->edge_count),
                        .scratch = scratch,
                        .slopes = ret_slopes,
                        .d_edges = ret_d_edges,
                        .d_vertices = ret_d_vertices,
                        .d_global = ret_d_global};
    back_global(&pass, d_global);
    if (gn->vertices) {
        back_vertices(&pass, d_vertices);
    } else {
        pass_vertices(&pass, d_vertices);
    }
    back_edges(&pass);
}
