/* SPDX-License-Identifier: Apache-2.0
 *
 * The filter's state, private to this room.
 *
 * x is the mean of ln(rate + offset), p its covariance. One step: time goes on (x goes some
 * of the way to its usual rates, p += q), then one
 * robust least-squares solve over readings and relations together, in the small space of the rows,
 * then one downdate of p; q is learned from what the solve says has changed. Invariant: p and q are
 * symmetric with positive diagonals; everything is finite.
 */
#ifndef SY_BELIEF_FILTER_H
#define SY_BELIEF_FILTER_H

#include "base/linear.h"
#include "belief/belief.h"

enum {
    SY_READINGS_MAX = 64, /* that enter one solve; more are taken in turn */
    SY_ROWS_MAX = 192,    /* readings and relations of one solve */
};

/* One soft equation of a solve: gradient * x = target, up to noise. */
struct sy_row {
    uint32_t source; /* variable of a reading or a limit, index of a relation */
    bool relation;
    uint32_t first, count; /* of its gradient */
    double target;         /* of a reading: ln(rate + offset) */
    double noise;          /* variance */
    double weight;         /* the noise counts as noise / weight: Student-t */
    double residual;
    double pull;  /* of S^-1 residual: noise / weight * pull stays unexplained */
    double miss;  /* of a reading: how far it is from what all others say */
    bool odd;     /* looks like a gross error if many are */
    bool strange; /* taken for an error, or only not so because it came twice */
    double wrong; /* probability that it is a gross error */
};

struct sy_factor_now {
    double width; /* standard deviation of ln left - ln right */
    double width_max;
    double surprise;
    bool rejected;
};

struct sy_filter {
    const struct sy_model *model;
    struct sy_filter_options options;
    struct sy_arena *arena;
    uint32_t n, stride;
    double *p, *q;
    double *x;                          /* mean now */
    double *prior;                      /* mean before the solve */
    double *next;                       /* where a solve wants the mean; scratch */
    double *rate;                       /* exp(x) where relations are linearised */
    double *ceiling;                    /* variance that a variable never exceeds */
    double *low, *high;                 /* ln rates that were seen, or that the model expects */
    double *age_ns;                     /* since measured */
    double error_share;                 /* readings that are taken to be gross errors */
    double odd_count, read_count, calm; /* of the variables whose q is at most calm */
    double *refused; /* ln of the last reading if it was taken for an error; NAN */
    double *doubt;   /* probability that the last reading was wrong */
    struct sy_factor_now *factors;
    /* one solve */
    struct sy_row rows[SY_ROWS_MAX];
    uint32_t row_count;
    double steps_elapsed; /* the time that went by, in the model's steps */
    uint32_t *gradient_variable;
    double *gradient;
    double *gp;     /* rows x stride: gradient * p, then whitened */
    float *narrow;  /* rows x stride, scratch */
    double *s;      /* rows x rows */
    double *floors; /* of pivots */
    uint32_t s_stride, rows_max;
    bool rates_drawn;    /* rate is that of x */
    bool readings_drawn; /* gp holds the readings' rows already */
    uint32_t examined;   /* relation whose turn it is */
    uint64_t ignored, steps;
    struct sy_rng signs; /* of the learning's probes */
    double trust;        /* share of the way that readings bear out */
    double told, heard;  /* of it: way * miss and way * way, over variances */
    /* choice */
    uint32_t *turn;          /* variables in the order of their turns */
    uint32_t *blanket_first; /* neighbours of variable i: [first[i], first[i + 1]) */
    uint32_t *blanket;
    double *ahead;      /* p some steps on; scratch otherwise */
    double ahead_steps; /* how many of the model's steps on; negative: scratch */
    double *way;        /* back to its usual rate that each goes meanwhile, as the model has it */
    double *keeps;      /* of the distance from there, as readings bear it out */
    float *ahead_narrow, *product;
    float *gain, *left;          /* what each would tell; its variance, given what will be read */
    double *column, *column_two; /* scratch */
    uint8_t *mark;
    uint32_t *pmu;        /* of each variable, close together */
    float *reading_noise; /* variance of a reading, in ln */
};

static inline double *sy_row_at(double *matrix, uint32_t stride, uint32_t i) {
    return matrix + (size_t)i * stride;
}

/* factors.c */
/* f->rate follows x only where relations need it: exponentials are dear. */
void sy_filter_draw_rates(struct sy_filter *f);
/* ln(left) - ln(right) of a relation at f->rate, and its gradient in ln rates. */
double sy_factor_linearise(const struct sy_filter *f, uint32_t factor, uint32_t *variables,
                           double *gradient, uint32_t *ret_count);
/* Learns width and surprise from what the relation missed: error, with variance all told. */
void sy_factor_learn(struct sy_factor_now *now, double error, double variance);
/* A reading was refused that it speaks of. */
void sy_factor_blame(struct sy_factor_now *now);
/* filter_step.c */
/* The covariance so many steps on, into f->ahead; in single precision for the choice, with the
 * squared lengths of its columns, f->gain, and the variances, f->left. */
void sy_filter_look_ahead(struct sy_filter *f, double steps);
/* filter_solve.c */
/* Takes in the rows (relations first, then readings) and forgets them. */
void sy_filter_solve(struct sy_filter *f);
/* filter_learn.c */
/* After a solve, while its factor stands: what it says of q and of trust. */
void sy_filter_learn(struct sy_filter *f);
/* choose.c */
SY_MUST_CHECK int sy_choose_prepare(struct sy_filter *f);

#endif
