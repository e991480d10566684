/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes: a cell with enough samples of its own is never answered by others; one without is answered
 * by a line through those of its kernel and class, which is fitted again only as samples come.
 *
 * The line is a Theil-Sen line in logarithms, over flops where they are stated, else over bytes. It
 * alone is poor where a GPU fills up only at large sizes; the measured points alone follow every
 * odd one. So each size keeps its distance from the line in proportion to the runs behind it, and
 * the bent line is made monotone by pooling neighbours that fall.
 */
#include "cost/store.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UNTRUSTED_SIGMA  0.5  /* spread claimed for one or two samples */
#define ALIKE_SIGMA      0.1  /* added for another cell of the same size */
#define PRIOR_SIGMA      0.5  /* added for times of another build */
#define REFIT_RATIO      1.25 /* more samples, by so much, make the line old, */
#define MORE_CELLS       1.1  /* and this many times the cells */
#define SAME_SIZE        1e-4 /* recorded features have six digits */
#define SLOPE_MAX        3.0  /* cubic in the size; steeper is noise */
#define TRUST_RUNS       4.0  /* runs at which half of the distance from the line is believed */
#define EXTRAPOLATE_MAX  6.91 /* log(1000): further from any measured size nothing is claimed */
#define EXTRAPOLATE_RISE 0.1  /* spread added per e-fold between the size and the nearest knot */
#define KNOTS            SY_LINE_KNOTS
#define PAIRS            (KNOTS * (KNOTS - 1) / 2)

const struct sy_estimate sy_estimate_unknown = {
    .median_ns = NAN, .watts = NAN, .source = SY_COST_UNKNOWN};

static bool trusted(const struct sy_cell *cell) {
    return cell->given || sy_cell_count(cell) >= SY_CELL_TRUSTED;
}

/* Whether it says something about other sizes. */
static bool supports(const struct sy_cell *cell) {
    return trusted(cell) && (cell->values[SY_FLOPS] > 0 || cell->values[SY_BYTES] > 0);
}

/* --- published summaries ------------------------------------------------------------------------
 */
/* Several of one size come from different devices of the class: their middle, with the spread
 * within and between them. */
static void combine(struct sy_cell *cell) {
    const struct sy_published *given = cell->given;
    uint32_t count = given->count < SY_GIVEN_MAX ? (uint32_t)given->count : SY_GIVEN_MAX;
    double logs[SY_GIVEN_MAX], work[SY_GIVEN_MAX], middle, between;
    for (uint32_t i = 0; i < count; i++) {
        logs[i] = log(given->median_ns[i]);
    }
    sy_cost_fit(logs, count, work, &middle, &between);
    for (uint32_t i = 0; i < count; i++) {
        work[i] = given->log_sigma[i];
    }
    cell->median_ns = exp(middle);
    cell->log_sigma = hypot(sy_quantile(work, count, 0.5), between);
}

int sy_cell_give(struct sy_store *store, struct sy_cell *cell, double mean_ns, double stddev_ns,
                 uint64_t count) {
    if (!cell->given && !(cell->given = sy_arena_alloc(store->arena, 1, sizeof *cell->given))) {
        return -ENOMEM;
    }
    /* Mean and deviation of a log-normal, turned into its median and sigma. */
    double variation = stddev_ns / mean_ns, log_sigma = sqrt(log1p(variation * variation));
    uint32_t at = (uint32_t)(cell->given->count++ % SY_GIVEN_MAX);
    cell->given->median_ns[at] = mean_ns * exp(-0.5 * log_sigma * log_sigma);
    cell->given->log_sigma[at] = log_sigma;
    cell->sample_count += count ? count : 1;
    cell->saved_count = cell->sample_count;
    sy_group_recount(cell->group);
    combine(cell);
    return 0;
}

/* --- the line -----------------------------------------------------------------------------------
 */
struct knot {
    double x, y, sigma, weight;
};

/* Sorted by x. Sizes that agree in the feature become one knot. */
static void add_knot(struct knot knot, struct knot *knots, uint32_t *count) {
    uint32_t at = 0;
    while (at < *count && knots[at].x < knot.x - SAME_SIZE) {
        at++;
    }
    if (at < *count && knots[at].x <= knot.x + SAME_SIZE) {
        double sum = knots[at].weight + knot.weight, share = knot.weight / sum;
        knots[at].y += share * (knot.y - knots[at].y);
        knots[at].sigma = fmax(knots[at].sigma, knot.sigma);
        knots[at].weight = sum;
        return;
    }
    for (uint32_t i = (*count)++; i > at; i--) {
        knots[i] = knots[i - 1];
    }
    knots[at] = knot;
}

/* Of more cells than there are knots, evenly chosen ones. */
static uint32_t collect(const struct sy_line *line, uint32_t feature, struct knot *knots) {
    uint32_t count = 0, chosen = 0, wanted = line->count < KNOTS ? line->count : KNOTS;
    for (uint32_t i = 0; i < line->count && chosen < wanted; i++) {
        const struct sy_cell *cell = line->cells[i];
        if ((uint64_t)i * wanted / line->count < chosen) {
            continue;
        }
        chosen++;
        if (cell->values[feature] > 0) {
            add_knot((struct knot){log(cell->values[feature]), log(cell->median_ns),
                                   cell->log_sigma, (double)cell->sample_count},
                     knots, &count);
        }
    }
    return count;
}

static double theil_sen(const struct knot *knots, uint32_t count) {
    double slopes[PAIRS];
    uint32_t pairs = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = i + 1; j < count; j++) {
            slopes[pairs++] = (knots[j].y - knots[i].y) / (knots[j].x - knots[i].x);
        }
    }
    return fmin(fmax(sy_quantile(slopes, pairs, 0.5), 0), SLOPE_MAX);
}

/* Median of y - slope * x, and the spread around it. */
static double intercept_of(const struct knot *knots, uint32_t count, double slope,
                           double *ret_spread) {
    double rest[KNOTS];
    for (uint32_t i = 0; i < count; i++) {
        rest[i] = knots[i].y - slope * knots[i].x;
    }
    double intercept = sy_quantile(rest, count, 0.5);
    for (uint32_t i = 0; i < count; i++) {
        rest[i] = fabs(rest[i] - intercept);
    }
    *ret_spread = 1.4826 * sy_quantile(rest, count, 0.5);
    return intercept;
}

/* Pool adjacent violators: the nearest non-falling sequence, weighted by runs. */
static void make_monotone(struct knot *knots, uint32_t count) {
    double level[KNOTS], weight[KNOTS];
    uint32_t length[KNOTS], blocks = 0;
    for (uint32_t i = 0; i < count; i++) {
        level[blocks] = knots[i].y;
        weight[blocks] = knots[i].weight;
        length[blocks++] = 1;
        while (blocks > 1 && level[blocks - 2] > level[blocks - 1]) {
            double sum = weight[blocks - 2] + weight[blocks - 1];
            level[blocks - 2] += weight[blocks - 1] / sum * (level[blocks - 1] - level[blocks - 2]);
            weight[blocks - 2] = sum;
            length[blocks - 2] += length[blocks - 1];
            blocks--;
        }
    }
    for (uint32_t block = 0, i = 0; block < blocks; block++) {
        for (uint32_t j = 0; j < length[block]; j++, i++) {
            knots[i].y = level[block];
        }
    }
}

static void fit(struct sy_line *line, uint32_t feature) {
    struct sy_line_fit *ret_fit = &line->fits[feature];
    struct knot knots[KNOTS];
    uint32_t count = collect(line, feature, knots);
    *ret_fit = (struct sy_line_fit){.count = count};
    if (count < 2) {
        return;
    }
    double slope = theil_sen(knots, count);
    double intercept = intercept_of(knots, count, slope, &ret_fit->residual_sigma);
    for (uint32_t i = 0; i < count; i++) {
        double straight = intercept + slope * knots[i].x;
        double trust = knots[i].weight / (knots[i].weight + TRUST_RUNS);
        knots[i].y = straight + trust * (knots[i].y - straight);
    }
    make_monotone(knots, count);
    for (uint32_t i = 0; i < count; i++) {
        ret_fit->x[i] = knots[i].x;
        ret_fit->y[i] = knots[i].y;
        ret_fit->sigma[i] = knots[i].sigma;
    }
    ret_fit->slope = slope;
}

/* --- what a group has ---------------------------------------------------------------------------
 */
int sy_line_grow(struct sy_line *line, uint32_t count) {
    int code = line ? sy_grow(&line->cells, &line->capacity, count, sizeof(struct sy_cell *)) : 0;
    for (uint32_t f = 0; line && !code && f < SY_SIZES; f++) {
        code = sy_grow(&line->by_size[f], &line->size_capacity[f], count, sizeof(struct sy_cell *));
    }
    return code;
}

void sy_line_finish(struct sy_line *line) {
    if (line) {
        free(line->cells);
        for (uint32_t f = 0; f < SY_SIZES; f++) {
            free(line->by_size[f]);
        }
    }
}

/* Of those by size, the first that is not smaller. */
static uint32_t place_of(const struct sy_line *line, uint32_t feature, double size) {
    uint32_t low = 0, high = line->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (line->by_size[feature][middle]->values[feature] < size) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void join(struct sy_line *line, struct sy_cell *cell) {
    for (uint32_t f = 0; f < SY_SIZES; f++) {
        struct sy_cell **by = line->by_size[f];
        uint32_t at = place_of(line, f, cell->values[f]);
        memmove(by + at + 1, by + at, (line->count - at) * sizeof(struct sy_cell *));
        by[at] = cell;
    }
    line->cells[line->count++] = cell;
    line->sample_count += cell->sample_count;
    cell->in_line = true;
}

static int compare_sizes(const struct sy_cell *a, const struct sy_cell *b, uint32_t feature) {
    return (a->values[feature] > b->values[feature]) - (a->values[feature] < b->values[feature]);
}

static int by_flops(const void *a, const void *b) {
    return compare_sizes(*(struct sy_cell *const *)a, *(struct sy_cell *const *)b, SY_FLOPS);
}

static int by_bytes(const void *a, const void *b) {
    return compare_sizes(*(struct sy_cell *const *)a, *(struct sy_cell *const *)b, SY_BYTES);
}

/* All cells are looked at, so only after something else than a new sample. */
static void recount(struct sy_group *group) {
    struct sy_line *line = group->line;
    line->count = 0;
    line->sample_count = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        struct sy_cell *cell = group->cells[i];
        cell->in_line = supports(cell);
        if (cell->in_line) {
            line->by_size[SY_FLOPS][line->count] = line->by_size[SY_BYTES][line->count] = cell;
            line->cells[line->count++] = cell;
            line->sample_count += cell->sample_count;
        }
    }
    if (line->count > 1) {
        qsort(line->by_size[SY_FLOPS], line->count, sizeof(struct sy_cell *), by_flops);
        qsort(line->by_size[SY_BYTES], line->count, sizeof(struct sy_cell *), by_bytes);
    }
    line->counted = true;
}

void sy_group_hears(struct sy_cell *cell) {
    struct sy_line *line = cell->group->line;
    if (!line || !line->counted) {
        return;
    }
    if (cell->in_line) {
        line->sample_count++;
    } else if (supports(cell)) {
        join(line, cell);
    }
}

static bool is_same(double a, double b) {
    return fabs(a - b) <= SAME_SIZE * sy_most(a, b);
}

struct same {
    const struct sy_cell *cell;
    double far;
};

/* Among the cells of about that size. */
static void look(const struct sy_line *line, uint32_t feature, double bytes, double flops,
                 struct same *best) {
    double size = feature == SY_FLOPS ? flops : bytes;
    for (uint32_t i = place_of(line, feature, size * (1 - 2 * SAME_SIZE)); i < line->count; i++) {
        const struct sy_cell *cell = line->by_size[feature][i];
        if (cell->values[feature] > size * (1 + 2 * SAME_SIZE) || best->far < 0) {
            return;
        }
        bool same_bytes = is_same(cell->values[SY_BYTES], bytes);
        bool same_flops = is_same(cell->values[SY_FLOPS], flops);
        double far = same_bytes && same_flops ? -1 : fabs(cell->values[SY_BYTES] - bytes);
        bool both_state = flops > 0 && cell->values[SY_FLOPS] > 0;
        if ((both_state ? same_flops : same_bytes && bytes > 0) && far < best->far) {
            *best = (struct same){cell, far};
        }
    }
}

/* In both features; else in flops where both state them, else in bytes, and then the nearest in
 * bytes: the same tile in single and double precision is the same amount of work. NULL: none. */
static const struct sy_cell *find_same(const struct sy_line *line, double bytes, double flops) {
    struct same best = {NULL, INFINITY};
    if (flops > 0) {
        look(line, SY_FLOPS, bytes, flops, &best);
    }
    /* Who states flops compares bytes only with those that do not. */
    bool all_state = line->count && line->by_size[SY_FLOPS][0]->values[SY_FLOPS] > 0;
    if (bytes > 0 && !(flops > 0 && all_state)) {
        look(line, SY_BYTES, bytes, flops, &best);
    }
    return best.cell;
}

/* Old: fewer cells or samples than it was made of, or more by a share: each new one makes it anew
 * only while they are few. */
static void refresh(struct sy_group *group) {
    struct sy_line *line = group->line;
    if (!line->counted) {
        recount(group);
    }
    bool more_cells =
        line->count > line->support && (double)line->count >= MORE_CELLS * (double)line->support;
    if (more_cells || line->count < line->support || line->sample_count < line->samples ||
        (double)line->sample_count > REFIT_RATIO * (double)line->samples) {
        fit(line, SY_FLOPS);
        fit(line, SY_BYTES);
        line->support = line->count;
        line->samples = line->sample_count;
    }
}

uint64_t sy_group_shorter(const struct sy_group *group, double most_ns, double *ret_share,
                          double *ret_mean_ns) {
    uint64_t count = 0, shorter = 0;
    double sum = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        const struct sy_cell *cell = group->cells[i];
        if (sy_cell_count(cell)) {
            sum += sy_least(cell->median_ns, most_ns) * cell->held;
            shorter += cell->median_ns < most_ns ? cell->held : 0;
            count += cell->held;
        }
    }
    *ret_share = count ? (double)shorter / (double)count : 0;
    *ret_mean_ns = count ? sum / (double)count : most_ns;
    return count;
}

void sy_group_fit(struct sy_group *group) {
    refresh(group);
}

/* --- answers ------------------------------------------------------------------------------------
 */
static struct sy_estimate interpolate(const struct sy_line_fit *fit, double x) {
    uint32_t last = fit->count - 1, above = 0;
    while (above <= last && fit->x[above] < x) {
        above++;
    }
    uint32_t low = above == 0 ? 0 : above - 1, high = above > last ? last : above;
    double y, distance = fmin(fabs(x - fit->x[low]), fabs(x - fit->x[high]));
    if (distance > EXTRAPOLATE_MAX) {
        return sy_estimate_unknown;
    }
    if (low == high) {
        y = fit->y[low] + fit->slope * (x - fit->x[low]);
    } else {
        double share = (x - fit->x[low]) / (fit->x[high] - fit->x[low]);
        y = fit->y[low] + share * (fit->y[high] - fit->y[low]);
    }
    /* Near a measured size its own spread counts; the misfit of the line comes with distance. */
    double spread =
        hypot(fmax(fit->sigma[low], fit->sigma[high]), fit->residual_sigma * fmin(1, distance));
    return (struct sy_estimate){.median_ns = exp(y),
                                .log_sigma = hypot(spread, EXTRAPOLATE_RISE * distance),
                                .watts = NAN,
                                .source = SY_COST_REGRESSED};
}

struct sy_estimate sy_group_estimate(struct sy_group *group, double bytes, double flops) {
    /* Of what states no size others say nothing, and there may be very many of them. */
    if (!(bytes > 0) && !(flops > 0)) {
        return sy_estimate_unknown;
    }
    if (!group->line->counted) {
        recount(group);
    }
    const struct sy_cell *cell = find_same(group->line, bytes, flops);
    if (cell) {
        return (struct sy_estimate){.median_ns = cell->median_ns,
                                    .log_sigma = cell->log_sigma,
                                    .watts = NAN,
                                    .sample_count = cell->sample_count,
                                    .source = SY_COST_MEASURED};
    }
    refresh(group);
    uint32_t feature = flops > 0 && group->line->fits[SY_FLOPS].count >= 2 ? SY_FLOPS : SY_BYTES;
    double size = feature == SY_FLOPS ? flops : bytes;
    if (!(size > 0) || group->line->fits[feature].count < 2) {
        return sy_estimate_unknown;
    }
    struct sy_estimate found = interpolate(&group->line->fits[feature], log(size));
    found.sample_count = group->line->samples;
    return found;
}

struct sy_estimate sy_cell_estimate(const struct sy_cell *cell) {
    uint64_t count = sy_cell_count(cell);
    struct sy_estimate own = {.median_ns = cell->median_ns,
                              .log_sigma = cell->log_sigma,
                              .watts = NAN,
                              .sample_count = count,
                              .source = SY_COST_MEASURED};
    if (trusted(cell)) {
        return own;
    }
    struct sy_estimate found =
        sy_group_estimate(cell->group, cell->values[SY_BYTES], cell->values[SY_FLOPS]);
    if (found.source == SY_COST_MEASURED) {
        found.source = SY_COST_REGRESSED;
        found.log_sigma = hypot(found.log_sigma, ALIKE_SIGMA);
    }
    if (found.source != SY_COST_UNKNOWN) {
        return found;
    }
    if (count < cell->sample_count) {
        own.source = SY_COST_PRIOR;
        own.log_sigma = hypot(cell->log_sigma, PRIOR_SIGMA);
    } else {
        own.log_sigma = UNTRUSTED_SIGMA;
    }
    return cell->sample_count ? own : sy_estimate_unknown;
}
