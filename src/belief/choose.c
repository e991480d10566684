/* SPDX-License-Identifier: Apache-2.0
 *
 * Which counters to read next. Part of the slots go to whoever was unseen longest (so every
 * variable gets its turn), the rest to whoever lowers the variance of all most, given the others;
 * the set shares a Markov blanket with the one before (BayesPerf 2.3).
 */
#include "belief/filter.h"
#include <errno.h>
#include <math.h>
#include <string.h>

enum { PURPOSE_TURN = 0x7475726e };

static const struct sy_factor *factor_of(const struct sy_filter *f, uint32_t i) {
    return &f->model->factors[i];
}

/* Member k of a relation: its terms, then out. SY_NONE: no such member. */
static uint32_t member(const struct sy_filter *f, const struct sy_factor *factor, uint32_t k) {
    return k < factor->term_count ? f->model->terms[factor->first_term + k].variable : factor->out;
}

/* Counts (blanket NULL) or writes the neighbours of every variable. */
static void link(struct sy_filter *f, uint32_t *fill) {
    for (uint32_t i = 0; i < f->model->factor_count; i++) {
        const struct sy_factor *factor = factor_of(f, i);
        for (uint32_t a = 0; a <= factor->term_count; a++) {
            for (uint32_t b = 0; b <= factor->term_count; b++) {
                uint32_t from = member(f, factor, a), to = member(f, factor, b);
                if (from == SY_NONE || to == SY_NONE || from == to) {
                    continue;
                }
                if (f->blanket) {
                    f->blanket[fill[from]] = to;
                }
                fill[from]++;
            }
        }
    }
}

int sy_choose_prepare(struct sy_filter *f) {
    uint32_t n = f->n, *fill = sy_arena_alloc(f->arena, n + 1, sizeof *fill);
    f->turn = sy_arena_alloc(f->arena, n + 1, sizeof *f->turn);
    f->blanket_first = sy_arena_alloc(f->arena, n + 1, sizeof *f->blanket_first);
    f->mark = sy_arena_alloc(f->arena, n + 1, sizeof *f->mark);
    f->pmu = sy_arena_alloc(f->arena, n + 1, sizeof *f->pmu);
    f->reading_noise = sy_arena_alloc(f->arena, n + 1, sizeof *f->reading_noise);
    if (!fill || !f->turn || !f->blanket_first || !f->mark || !f->pmu || !f->reading_noise) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < n; i++) {
        double noise = f->model->variables[i].noise_ratio;
        f->pmu[i] = f->model->variables[i].pmu;
        f->reading_noise[i] = (float)fmax(noise * noise, 1e-5);
    }
    link(f, fill);
    for (uint32_t i = 0, sum = 0; i < n; i++) {
        f->blanket_first[i] = sum;
        sum += fill[i];
        fill[i] = f->blanket_first[i];
        f->blanket_first[i + 1] = sum;
    }
    f->blanket = sy_arena_alloc(f->arena, (n ? f->blanket_first[n] : 0) + 1, sizeof *f->blanket);
    if (!f->blanket) {
        return -ENOMEM;
    }
    link(f, fill);
    struct sy_rng rng = sy_rng_make(f->options.seed, PURPOSE_TURN, 0);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t other = sy_rng_below(&rng, i + 1);
        f->turn[i] = f->turn[other];
        f->turn[other] = i;
    }
    return 0;
}

/* --- the greedy part: variances one step on, given what will be read ---------------------------
 */
enum { PICKED = 1, BEFORE = 2, NEAR = 4 }; /* now; in the last set; in its Markov blanket */

static bool is_candidate(const struct sy_filter *f, uint32_t i, uint32_t pmu) {
    return f->pmu[i] == pmu && !(f->mark[i] & PICKED);
}

struct choice {
    struct sy_filter *f;
    uint32_t known; /* rows of narrow: whitened columns of what will be read */
    uint32_t *picked, count, wanted;
};

/* i will be read: f->gain, the squared lengths of the columns, and f->left, the variances, shrink
 * accordingly. */
static void suppose(struct choice *choice, uint32_t i) {
    struct sy_filter *f = choice->f;
    if (choice->known == f->rows_max) {
        return;
    }
    uint32_t known = choice->known;
    float *w = f->narrow + (size_t)known * f->stride, *product = f->product;
    float scales[SY_ROWS_MAX], square;
    memcpy(w, f->ahead_narrow + (size_t)i * f->stride, f->stride * sizeof *w);
    for (uint32_t k = 0; k < known; k++) {
        scales[k] = f->narrow[(size_t)k * f->stride + i];
    }
    sy_subtract_rows_narrow(w, f->narrow, f->stride, known, scales);
    float own = w[i] > 0 ? w[i] : 0;
    float scale = 1 / sqrtf(own + f->reading_noise[i]);
    for (uint32_t j = 0; j < f->stride; j++) {
        w[j] *= scale;
    }
    sy_sum_rows_narrow(product, f->ahead_narrow, f->stride, f->n, w);
    sy_dots_narrow(scales, f->narrow, f->stride, known, w);
    sy_subtract_rows_narrow(product, f->narrow, f->stride, known, scales);
    sy_dots_narrow(&square, w, f->stride, 1, w);
    for (uint32_t j = 0; j < f->n; j++) {
        f->left[j] -= w[j] * w[j];
        f->gain[j] += w[j] * (w[j] * square - 2 * product[j]);
    }
    choice->known++;
}

static void pick(struct choice *choice, uint32_t i) {
    choice->f->mark[i] |= PICKED;
    choice->picked[choice->count++] = i;
    if (choice->count < choice->wanted) {
        suppose(choice, i);
    }
}

static uint32_t longest_unseen(const struct sy_filter *f, uint32_t pmu) {
    double longest_ns = -1;
    uint32_t best = SY_NONE;
    for (uint32_t k = 0; k < f->n; k++) {
        uint32_t i = f->turn[k];
        if (f->age_ns[i] > longest_ns && is_candidate(f, i, pmu)) {
            longest_ns = f->age_ns[i];
            best = i;
        }
    }
    return best;
}

/* near: only within the blanket of the last set. */
static uint32_t most_telling(const struct choice *choice, uint32_t pmu, bool near) {
    const struct sy_filter *f = choice->f;
    float best_gain = -1, *gain = f->product;
    uint32_t best = SY_NONE;
    for (uint32_t i = 0; i < f->n; i++) {
        float left = f->left[i] > 0 ? f->left[i] : 0;
        gain[i] = f->gain[i] / (left + f->reading_noise[i]);
    }
    for (uint32_t i = 0; i < f->n; i++) {
        if (gain[i] > best_gain && is_candidate(f, i, pmu) && (!near || f->mark[i] & NEAR)) {
            best_gain = gain[i];
            best = i;
        }
    }
    return best;
}

/* The last set and its blanket, from what is still marked as picked. */
static void remember(struct sy_filter *f) {
    for (uint32_t i = 0; i < f->n; i++) {
        f->mark[i] = f->mark[i] & PICKED ? BEFORE | NEAR : 0;
    }
    for (uint32_t i = 0; i < f->n; i++) {
        for (uint32_t k = f->blanket_first[i]; f->mark[i] & BEFORE && k < f->blanket_first[i + 1];
             k++) {
            f->mark[f->blanket[k]] |= NEAR;
        }
    }
}

static bool overlaps(const struct sy_filter *f, const uint32_t *set, uint32_t count) {
    for (uint32_t a = 0; a < count; a++) {
        bool near = f->mark[set[a]] & NEAR;
        for (uint32_t k = f->blanket_first[set[a]]; !near && k < f->blanket_first[set[a] + 1];
             k++) {
            near = f->mark[f->blanket[k]] & NEAR;
        }
        if (near) {
            return true;
        }
    }
    return false;
}

/* A reading that was taken for an error is repeated at once: either it was, or the next is alike.
 */
static uint32_t most_doubtful(const struct sy_filter *f, uint32_t pmu) {
    uint32_t best = SY_NONE;
    for (uint32_t i = 0; i < f->n; i++) {
        if (is_candidate(f, i, pmu) && f->age_ns[i] <= 0 && f->doubt[i] > 0.5 &&
            (best == SY_NONE || f->doubt[i] > f->doubt[best])) {
            best = i;
        }
    }
    return best;
}

static void choose_for(struct choice *choice, uint32_t pmu, uint32_t slots) {
    struct sy_filter *f = choice->f;
    uint32_t first = choice->count;
    bool doubtful = true;
    /* The fraction of a slot that is left over goes to one part or the other by turns. */
    double share = slots * f->options.active_share;
    uint32_t active = (uint32_t)(share + (double)(f->steps % 2) * 0.5);
    for (uint32_t k = 0; k < slots; k++) {
        uint32_t i = k < slots / 2 && doubtful ? most_doubtful(f, pmu) : SY_NONE;
        doubtful = i != SY_NONE;
        if (i == SY_NONE) {
            i = k + active < slots ? longest_unseen(f, pmu) : most_telling(choice, pmu, false);
        }
        if (i == SY_NONE) {
            return;
        }
        pick(choice, i);
    }
    if (!f->options.no_overlap && slots > 1 && f->steps > 1 &&
        !overlaps(f, choice->picked + first, choice->count - first)) {
        uint32_t i = most_telling(choice, pmu, true);
        if (i != SY_NONE) {
            f->mark[choice->picked[choice->count - 1]] &= (uint8_t)~PICKED;
            choice->picked[choice->count - 1] = i;
            f->mark[i] |= PICKED;
        }
    }
}

uint32_t sy_filter_choose(struct sy_filter *f, const uint32_t *slots, uint32_t pmu_count,
                          uint32_t *ret_variables) {
    struct choice choice = {.f = f, .picked = ret_variables};
    remember(f);
    sy_filter_look_ahead(f, 1);
    for (uint32_t i = 0; i < f->n; i++) {
        const struct sy_variable *v = &f->model->variables[i];
        if (v->pmu == SY_PMU_NONE && v->counter != SY_NONE) {
            suppose(&choice, i);
        }
    }
    for (uint32_t pmu = 0; pmu < pmu_count; pmu++) {
        choice.wanted += slots[pmu];
    }
    for (uint32_t pmu = 0; pmu < pmu_count; pmu++) {
        choose_for(&choice, pmu, slots[pmu]);
    }
    return choice.count;
}
