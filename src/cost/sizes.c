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

#define UNTRUSTED_SIGMA  0.5  /* spread claimed for one or two samples */
#define ALIKE_SIGMA      0.1  /* added for another cell of the same size */
#define PRIOR_SIGMA      0.5  /* added for times of another build */
#define REFIT_RATIO      1.25 /* more samples, by so much, make the line old */
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
static uint32_t collect(const struct sy_group *group, uint32_t support, uint32_t feature,
                        struct knot *knots) {
    uint32_t count = 0, passed = 0, chosen = 0, wanted = support < KNOTS ? support : KNOTS;
    for (uint32_t i = 0; i < group->count && chosen < wanted; i++) {
        const struct sy_cell *cell = group->cells[i];
        if (!supports(cell) || (uint64_t)passed++ * wanted / support < chosen) {
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

static void fit(const struct sy_group *group, uint32_t support, uint32_t feature,
                struct sy_line_fit *ret_fit) {
    struct knot knots[KNOTS];
    uint32_t count = collect(group, support, feature, knots);
    *ret_fit = (struct sy_line_fit){.count = count};
    if (count < 2) {
        return;
    }
    double slope = theil_sen(knots, count);
    double intercept = intercept_of(knots, count, slope, &ret_fit->residual_sigma);
    for (uint32_t i = 0; i < count; i++) {
        double line = intercept + slope * knots[i].x;
        double trust = knots[i].weight / (knots[i].weight + TRUST_RUNS);
        knots[i].y = line + trust * (knots[i].y - line);
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
struct tally {
    uint32_t support; /* trusted cells */
    uint64_t samples; /* of these */
    const struct sy_cell *same;
};

static bool is_same(double a, double b) {
    return fabs(a - b) <= SAME_SIZE * sy_most(a, b);
}

/* One pass, as this happens while tasks wait. same: in both features; else in flops where both
 * state them, else in bytes, and then the nearest in bytes: the same tile in single and double
 * precision is the same amount of work. */
static struct tally look(const struct sy_group *group, double bytes, double flops) {
    struct tally tally = {0};
    double least = INFINITY;
    for (uint32_t i = 0; i < group->count; i++) {
        const struct sy_cell *cell = group->cells[i];
        if (!supports(cell)) {
            continue;
        }
        tally.support++;
        tally.samples += cell->sample_count;
        bool same_bytes = is_same(cell->values[SY_BYTES], bytes);
        bool same_flops = is_same(cell->values[SY_FLOPS], flops);
        double far = same_bytes && same_flops ? -1 : fabs(cell->values[SY_BYTES] - bytes);
        bool by_flops = flops > 0 && cell->values[SY_FLOPS] > 0;
        if ((by_flops ? same_flops : same_bytes && bytes > 0) && far < least) {
            least = far;
            tally.same = cell;
        }
    }
    return tally;
}

static void refresh(struct sy_group *group, const struct tally *tally) {
    struct sy_line *line = group->line;
    if (tally->support != line->support || tally->samples < line->samples ||
        (double)tally->samples > REFIT_RATIO * (double)line->samples) {
        fit(group, tally->support, SY_FLOPS, &line->fits[SY_FLOPS]);
        fit(group, tally->support, SY_BYTES, &line->fits[SY_BYTES]);
        line->support = tally->support;
        line->samples = tally->samples;
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
    struct tally tally = look(group, 0, 0);
    refresh(group, &tally);
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
    struct tally tally = look(group, bytes, flops);
    const struct sy_cell *cell = tally.same;
    if (cell) {
        return (struct sy_estimate){.median_ns = cell->median_ns,
                                    .log_sigma = cell->log_sigma,
                                    .watts = NAN,
                                    .sample_count = cell->sample_count,
                                    .source = SY_COST_MEASURED};
    }
    refresh(group, &tally);
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
