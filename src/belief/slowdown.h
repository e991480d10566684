/* SPDX-License-Identifier: Apache-2.0
 *
 * slowdown: the state behind it, shared by what expects and what learns.
 */
#ifndef SY_BELIEF_SLOWDOWN_H
#define SY_BELIEF_SLOWDOWN_H

#include "belief/levels.h"
#include "belief/shares.h"

#define POINTS 5 /* of a distribution, equally likely */

#define FEATURES 3   /* constant, use of the own memory, use of the way to it */
#define TIMES    7   /* candidates for how long the present lasts */
#define PAIR_MAX 256 /* more kernels: what they do to each other is not learned */

/* A location in the log domain, learned robustly and drawn towards a prior. */
struct location {
    double sum, weight;
};

/* How a kernel on a class of devices deviates from what the shares of the resources explain. */
struct sensitivity {
    double gram[FEATURES][FEATURES], moment[FEATURES];
    double effect[FEATURES]; /* solved; [0] is an error of its time alone, not a slowdown */
    double scale;            /* of what is left */
};

/* What a newcomer usually gets of a resource, while we use it, and how well each candidate for the
 * time that the present lasts predicted durations. */
struct lasting {
    double share[SY_LEVELS]; /* of the time in which so much was taken */
    double watched_ns;
    double error[TIMES], count;
    double weight[TIMES]; /* from them; sum 1 */
};

/* The task that runs on a device, as it was when it began. */
struct begun {
    bool is;
    uint32_t kernel, beside, count;
    uint32_t resources[SY_DRAW_MAX];
    double bytes_per_s[SY_DRAW_MAX];
    double alone_ns;
    double log_more;   /* of its expected slowdown, what shares do not explain */
    double now, later; /* slowdown if all stayed as it was, and if all were as usual */
    double by_strength[SY_STRENGTHS]; /* now, for each candidate of how strong others are */
    uint32_t main;                    /* the resource it leans on most; SY_NONE */
    double feature[FEATURES];
};

struct sy_slowdown {
    struct sy_arena *arena;
    const struct sy_machine *machine;
    uint32_t kernel_count;
    double now_ns, elapsed_ns;
    double time_ns; /* of a task, about: the scale of how long the present lasts; 0: not known */
    uint64_t looks;
    struct sy_shares *shares;
    double *others, *others_sd; /* per resource, as told */
    double *present, *usual;    /* [resource * POINTS]: what a newcomer gets now, and usually */
    double *level, *extra; /* per resource: without a newcomer, what a flow without limit gets, and
                              how much longer ours take */
    struct lasting *lasting;           /* per resource */
    double *open;                      /* per resource: expected of the present ones */
    struct sensitivity *sensitivities; /* [kernel * class_count + class] */
    struct location *pairs, *kernels;  /* [kernel * kernel_count + beside], per kernel; or NULL */
    struct location *devices;          /* per device: it is throttled, or somebody shares it */
    struct begun *begun;               /* per device */
};

void sy_slowdown_features(const struct sy_slowdown *slowdown, uint32_t device, double *ret_feature);
/* Share of the slowdown of a task of that length that the present state decides. */
double sy_slowdown_lasting(const struct sy_slowdown *slowdown, uint32_t resource, double alone_ns);
/* Logarithm of how much longer tasks took on a device of late, where that is not by chance. */
double sy_slowdown_device(const struct sy_slowdown *slowdown, uint32_t device);
double sy_slowdown_pair(const struct sy_slowdown *slowdown, uint32_t kernel, uint32_t beside);

#endif
