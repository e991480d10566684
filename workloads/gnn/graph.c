/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs with given statistics; see graph.h.
 *
 * Columns of a row are drawn one from each of as many equal shares of the whole (by the degrees of
 * the columns), so that they ascend without sorting; of equal ones the later moves up by one.
 */
#include "gnn/graph.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIT_POINTS = 128,
    FIT_STEPS = 30,
    NEAR = 256, /* nodes to either side that count as near */
    REUSE_WINDOWS = 8,
    REUSE_ROWS = 128,
    REUSE_SLOTS = 4096
};

/* --- degrees ---------------------------------------------------------------------------------- */

/* Quantile of the normal distribution (Acklam's rational approximation, 1e-9). */
static double normal_quantile(double p) {
    static const double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,
                               -2.759285104469687e+02, 1.383577518672690e+02,
                               -3.066479806614716e+01, 2.506628277459239e+00};
    static const double b[] = {-5.447609879822406e+01, 1.615858368580409e+02,
                               -1.556989798598866e+02, 6.680131188771972e+01,
                               -1.328068155288572e+01};
    static const double c[] = {-7.784894002430293e-03, -3.223964580411365e-01,
                               -2.400758277161838e+00, -2.549732539343734e+00,
                               4.374664141464968e+00,  2.938163982698783e+00};
    static const double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                               3.754408661907416e+00};
    if (p < 0.02425 || p > 1 - 0.02425) {
        double q = sqrt(-2 * log(p < 0.5 ? p : 1 - p));
        double z = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
                   ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
        return p < 0.5 ? z : -z;
    }
    double q = p - 0.5, r = q * q;
    return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
           (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
}

struct spread {
    double mu, sigma, most;
    double reach; /* of the normal variable, in so many nodes */
};

static double degree_at(const struct spread *spread, double z) {
    double degree = exp(spread->mu + spread->sigma * z);
    return degree < 1 ? 1 : degree > spread->most ? spread->most : degree;
}

static void moments(const struct spread *spread, double *ret_mean, double *ret_square) {
    double weights = 0, mean = 0, square = 0;
    for (int i = 0; i < FIT_POINTS; i++) {
        double z = spread->reach * (2 * (i + 0.5) / FIT_POINTS - 1), weight = exp(-z * z / 2);
        double degree = degree_at(spread, z);
        weights += weight;
        mean += weight * degree;
        square += weight * degree * degree;
    }
    *ret_mean = mean / weights;
    *ret_square = square / weights;
}

/* mu for the mean at the sigma that is set; returns the second moment. */
static double fit_mean(struct spread *spread, double mean) {
    double low = -40, high = log(spread->most) + 10, found = 0, square = 0;
    for (int i = 0; i < FIT_STEPS; i++) {
        spread->mu = (low + high) / 2;
        moments(spread, &found, &square);
        *(found < mean ? &low : &high) = spread->mu;
    }
    return square;
}

/* The hub is set apart; the others share the rest of the edges and of the second moment. */
static struct spread fit(const struct gnn_shape *shape) {
    double nodes = shape->nodes, hub = shape->degree_max, mean = shape->edges / nodes;
    double rest = nodes > 1 ? (shape->edges - hub) / (nodes - 1) : mean;
    double square = (1 + shape->degree_cv * shape->degree_cv) * mean * mean;
    square = nodes > 1 ? (square * nodes - hub * hub) / (nodes - 1) : square;
    struct spread spread = {0, 0, hub, -normal_quantile(0.5 / nodes)};
    double low = 0, high = 6;
    if (spread.reach > 0) {
        for (int i = 0; i < FIT_STEPS; i++) {
            spread.sigma = (low + high) / 2;
            *(fit_mean(&spread, rest) < square ? &low : &high) = spread.sigma;
        }
    }
    spread.sigma = low < 1e-6 ? 0 : spread.sigma;
    fit_mean(&spread, rest);
    return spread;
}

/* Adds or takes single edges, here and there, until the sum is right; the hub stays. */
static void settle(const struct gnn_shape *shape, uint32_t hub, int64_t missing,
                   uint32_t *degrees) {
    uint32_t at = (uint32_t)(gnn_word(shape->seed, 0x5e771e) % shape->nodes);
    for (uint64_t tries = 0; missing != 0 && tries < UINT64_C(1) << 40; tries++) {
        uint32_t *degree = &degrees[at];
        at = at + 1 == shape->nodes ? 0 : at + 1;
        if (degree == &degrees[hub] && shape->nodes > 1) {
            continue;
        }
        if (missing > 0 && *degree < shape->degree_max) {
            (*degree)++;
            missing--;
        } else if (missing < 0 && *degree > 1) {
            (*degree)--;
            missing++;
        }
    }
}

/* Node i has the rank order[i] among degrees. */
static void shuffle(uint64_t seed, uint32_t count, uint32_t *order) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t other = (uint32_t)(gnn_word(seed, i) % (i + 1));
        order[i] = order[other];
        order[other] = i;
    }
}

static void draw_degrees(const struct gnn_shape *shape, uint32_t *degrees) {
    struct spread spread = fit(shape);
    uint32_t hub = 0;
    int64_t missing = shape->edges;
    shuffle(shape->seed, shape->nodes, degrees);
    for (uint32_t i = 0; i < shape->nodes; i++) {
        uint32_t rank = degrees[i];
        double z = normal_quantile((rank + 0.5) / shape->nodes);
        double degree = floor(degree_at(&spread, z) + guest_noise(shape->seed + 1, i));
        degrees[i] = degree > shape->degree_max ? shape->degree_max : (uint32_t)degree;
        if (rank == shape->nodes - 1) {
            hub = i;
            degrees[i] = shape->degree_max;
        }
        missing -= degrees[i];
    }
    settle(shape, hub, missing, degrees);
}

/* --- rows ------------------------------------------------------------------------------------- */

static bool sensible(const struct gnn_shape *shape) {
    return shape->nodes >= 1 && shape->degree_max >= 1 && shape->degree_max <= shape->nodes &&
           shape->edges >= shape->nodes && shape->locality >= 0 && shape->locality <= 1 &&
           (uint64_t)shape->edges <= (uint64_t)shape->nodes * shape->degree_max &&
           shape->degree_max - 1 <= shape->edges - shape->nodes;
}

static int make_guide(struct gnn_recipe *recipe) {
    const struct gnn_shape *shape = &recipe->shape;
    uint32_t shift = 0, node = 0;
    while ((shape->edges >> shift) > 2 * (uint64_t)shape->nodes) {
        shift++;
    }
    uint32_t count = (shape->edges >> shift) + 1;
    recipe->guide_shift = shift;
    recipe->guide = malloc(sizeof(*recipe->guide) * count);
    if (!recipe->guide) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint64_t edge = (uint64_t)i << shift;
        while (node + 1 < shape->nodes && recipe->offsets[node + 1] <= edge) {
            node++;
        }
        recipe->guide[i] = node;
    }
    return 0;
}

int gnn_recipe_init(const struct gnn_shape *shape, struct gnn_recipe *ret_recipe) {
    if (!sensible(shape)) {
        return -EINVAL;
    }
    struct gnn_recipe recipe = {.shape = *shape};
    recipe.offsets = malloc(sizeof(*recipe.offsets) * ((size_t)shape->nodes + 1));
    if (!recipe.offsets) {
        return -ENOMEM;
    }
    draw_degrees(shape, recipe.offsets + 1);
    recipe.offsets[0] = 0;
    for (uint32_t i = 0; i < shape->nodes; i++) {
        recipe.offsets[i + 1] += recipe.offsets[i];
    }
    int code = make_guide(&recipe);
    if (code) {
        gnn_recipe_finish(&recipe);
        return code;
    }
    *ret_recipe = recipe;
    return 0;
}

void gnn_recipe_finish(struct gnn_recipe *recipe) {
    free(recipe->offsets);
    free(recipe->guide);
    *recipe = (struct gnn_recipe){.offsets = NULL};
}

static double unit(uint64_t *state) {
    *state += 0x9E3779B97F4A7C15u;
    return (double)(gnn_mix(*state) >> 11) * 0x1p-53;
}

/* Draws from the whole, in ascending order: the k-th from the k-th share. */
struct draw {
    double share;
    uint32_t count, at, next;
};

static void next_far(const struct gnn_recipe *recipe, struct draw *draw, uint64_t *state) {
    if (draw->at == draw->count) {
        draw->next = UINT32_MAX;
        return;
    }
    uint64_t edge = (uint64_t)((draw->at++ + unit(state)) * draw->share);
    edge = edge < recipe->shape.edges ? edge : recipe->shape.edges - 1;
    uint32_t node = recipe->guide[edge >> recipe->guide_shift];
    while (recipe->offsets[node + 1] <= edge) {
        node++;
    }
    draw->next = node;
}

static void next_near(struct draw *draw, uint32_t first, uint64_t *state) {
    draw->next = draw->at == draw->count
                     ? UINT32_MAX
                     : first + (uint32_t)((draw->at + unit(state)) * draw->share);
    draw->at += draw->at < draw->count;
}

void gnn_recipe_row(const struct gnn_recipe *recipe, uint32_t row, uint32_t *ret_columns) {
    const struct gnn_shape *shape = &recipe->shape;
    uint32_t degree = recipe->offsets[row + 1] - recipe->offsets[row];
    uint64_t state = gnn_word(shape->seed + 2, row);
    uint32_t first = row > NEAR ? row - NEAR : 0;
    uint32_t end = shape->nodes - row > NEAR + 1 ? row + NEAR + 1 : shape->nodes;
    uint32_t near_count = (uint32_t)(shape->locality * degree + unit(&state));
    near_count = near_count > end - first ? end - first : near_count;
    near_count = near_count > degree ? degree : near_count;
    uint32_t far_count = degree - near_count;
    struct draw near = {near_count ? (double)(end - first) / near_count : 0, near_count, 0, 0};
    struct draw far = {far_count ? (double)shape->edges / far_count : 0, far_count, 0, 0};
    next_near(&near, first, &state);
    next_far(recipe, &far, &state);
    for (uint32_t k = 0, least = 0; k < degree; k++) {
        uint32_t column = 0;
        if (near.next <= far.next) {
            column = near.next;
            next_near(&near, first, &state);
        } else {
            column = far.next;
            next_far(recipe, &far, &state);
        }
        ret_columns[k] = column > least ? column : least;
        least = ret_columns[k] + 1;
    }
    /* What was moved beyond the last node goes back as far as it must. */
    for (uint32_t k = degree, most = shape->nodes - 1; k-- > 0 && ret_columns[k] > most; most--) {
        ret_columns[k] = most;
    }
}

/* --- blobs ------------------------------------------------------------------------------------ */

struct gnn_graph gnn_graph_of(const void *blob, uint64_t nodes, uint64_t edges) {
    const uint32_t *offsets = blob;
    const uint32_t *columns = offsets + nodes + 1;
    return (struct gnn_graph){offsets, columns, (const float *)(columns + edges)};
}

void gnn_recipe_write(const struct gnn_recipe *recipe, bool normal, void *blob) {
    const struct gnn_shape *shape = &recipe->shape;
    uint32_t *offsets = blob, *columns = offsets + shape->nodes + 1;
    float *values = (float *)(columns + shape->edges);
    memcpy(offsets, recipe->offsets, sizeof(*offsets) * ((size_t)shape->nodes + 1));
    for (uint32_t row = 0; row < shape->nodes; row++) {
        uint32_t from = offsets[row], to = offsets[row + 1];
        gnn_recipe_row(recipe, row, columns + from);
        for (uint32_t e = from; e < to; e++) {
            uint32_t other = columns[e];
            double degrees = (double)(to - from) * (offsets[other + 1] - offsets[other]);
            values[e] = normal ? (float)(1 / sqrt(degrees)) : 1;
        }
    }
}

/* --- statistics ------------------------------------------------------------------------------- */

static void degree_statistics(const uint32_t *offsets, uint32_t nodes, double *ret_cv,
                              double *ret_max) {
    double mean = (double)offsets[nodes] / nodes, square = 0, most = 0;
    for (uint32_t i = 0; i < nodes; i++) {
        double degree = offsets[i + 1] - offsets[i];
        square += (degree - mean) * (degree - mean);
        most = degree > most ? degree : most;
    }
    *ret_cv = sqrt(square / nodes) / mean;
    *ret_max = most;
}

/* Rows that are looked at: of window w, [first, first + count). */
static void window_of(uint32_t nodes, uint32_t w, uint32_t *ret_first, uint32_t *ret_count) {
    uint64_t first = (uint64_t)nodes * w / REUSE_WINDOWS;
    uint64_t end = (uint64_t)nodes * (w + 1) / REUSE_WINDOWS;
    *ret_first = (uint32_t)first;
    *ret_count = (uint32_t)(end - first < REUSE_ROWS ? end - first : REUSE_ROWS);
}

struct recent {
    uint32_t slots[REUSE_SLOTS]; /* column + 1 that was last seen there */
    uint64_t hits, accesses;
};

static void touch(struct recent *recent, const uint32_t *columns, uint32_t count) {
    for (uint32_t e = 0; e < count; e++) {
        uint32_t *slot = &recent->slots[(columns[e] * 2654435761u) >> 20];
        recent->hits += *slot == columns[e] + 1;
        recent->accesses++;
        *slot = columns[e] + 1;
    }
}

void gnn_graph_features(const void *blob, uint32_t nodes, uint32_t edges, double *ret_degree_cv,
                        double *ret_degree_max, double *ret_reuse) {
    struct gnn_graph graph = gnn_graph_of(blob, nodes, edges);
    struct recent recent = {.hits = 0, .accesses = 0};
    degree_statistics(graph.offsets, nodes, ret_degree_cv, ret_degree_max);
    for (uint32_t w = 0; w < REUSE_WINDOWS; w++) {
        uint32_t first = 0, count = 0;
        window_of(nodes, w, &first, &count);
        memset(recent.slots, 0, sizeof(recent.slots));
        touch(&recent, graph.columns + graph.offsets[first],
              graph.offsets[first + count] - graph.offsets[first]);
    }
    *ret_reuse = recent.accesses ? (double)recent.hits / (double)recent.accesses : 0;
}

int gnn_recipe_features(const struct gnn_recipe *recipe, double *ret_values) {
    const struct gnn_shape *shape = &recipe->shape;
    struct recent recent = {.hits = 0, .accesses = 0};
    uint32_t *columns = malloc(sizeof(*columns) * shape->degree_max);
    if (!columns) {
        return -ENOMEM;
    }
    for (uint32_t w = 0; w < REUSE_WINDOWS; w++) {
        uint32_t first = 0, count = 0;
        window_of(shape->nodes, w, &first, &count);
        memset(recent.slots, 0, sizeof(recent.slots));
        for (uint32_t row = first; row < first + count; row++) {
            gnn_recipe_row(recipe, row, columns);
            touch(&recent, columns, recipe->offsets[row + 1] - recipe->offsets[row]);
        }
    }
    free(columns);
    ret_values[GNN_NODES] = shape->nodes;
    ret_values[GNN_EDGES] = shape->edges;
    ret_values[GNN_WIDTH] = shape->width;
    ret_values[GNN_HIDDEN] = shape->hidden;
    ret_values[GNN_CLASSES] = shape->classes;
    degree_statistics(recipe->offsets, shape->nodes, &ret_values[GNN_DEGREE_CV],
                      &ret_values[GNN_DEGREE_MAX]);
    ret_values[GNN_REUSE] = recent.accesses ? (double)recent.hits / (double)recent.accesses : 0;
    return 0;
}
