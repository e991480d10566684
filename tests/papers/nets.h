/* SPDX-License-Identifier: Apache-2.0
 *
 * Small discrete networks with known answers, shared by the test and the bench of the estimators.
 */
#ifndef TESTS_PAPERS_NETS_H
#define TESTS_PAPERS_NETS_H

#include "papers/discrete.h"

struct net_case {
    const char *name, *what;
    struct sy_discrete net;
    struct sy_discrete_query query;
    struct sy_discrete_parameter parameter;
};

/* A raise of Pr(1 | row) of a binary node. */
#define RAISE(row)                                                                                 \
    { [2 * (row)] = -1, [2 * (row) + 1] = 1 }

/* A -> B -> X. */
static inline struct sy_discrete net_chain(void) {
    static const double a[] = {.7, .3}, b[] = {.8, .2, .3, .7}, x[] = {.9, .1, .2, .8};
    struct sy_discrete net = {0};
    sy_discrete_add(&net, 2, NULL, 0, a);
    sy_discrete_add(&net, 2, (uint32_t[]){0}, 1, b);
    sy_discrete_add(&net, 2, (uint32_t[]){1}, 1, x);
    return net;
}

/* A -> C -> X <- D <- B: no two nodes are joined by two ways, so that N is empty. */
static inline struct sy_discrete net_polytree(void) {
    static const double a[] = {.6, .4}, b[] = {.3, .7}, c[] = {.9, .1, .25, .75},
                        d[] = {.6, .4, .1, .9}, x[] = {.95, .05, .6, .4, .5, .5, .3, .7};
    struct sy_discrete net = {0};
    sy_discrete_add(&net, 2, NULL, 0, a);
    sy_discrete_add(&net, 2, NULL, 0, b);
    sy_discrete_add(&net, 2, (uint32_t[]){0}, 1, c);
    sy_discrete_add(&net, 2, (uint32_t[]){1}, 1, d);
    sy_discrete_add(&net, 2, (uint32_t[]){2, 3}, 2, x);
    return net;
}

/* A -> B, A -> C, B -> X <- C: two ways from A to X, so that N = {A}. */
static inline struct sy_discrete net_diamond(void) {
    static const double a[] = {.6, .4}, b[] = {.9, .1, .2, .8}, c[] = {.7, .3, .1, .9},
                        x[] = {.95, .05, .7, .3, .6, .4, .1, .9};
    struct sy_discrete net = {0};
    sy_discrete_add(&net, 2, NULL, 0, a);
    sy_discrete_add(&net, 2, (uint32_t[]){0}, 1, b);
    sy_discrete_add(&net, 2, (uint32_t[]){0}, 1, c);
    sy_discrete_add(&net, 2, (uint32_t[]){1, 2}, 2, x);
    return net;
}

static inline uint32_t net_cases(struct net_case *cases) {
    static const double row0[] = RAISE(0), row1[8] = RAISE(1);
    struct sy_discrete_event any = sy_discrete_any(), given_a = any;
    given_a.value[0] = 1;
    uint32_t n = 0;
    cases[n++] = (struct net_case){
        "chain x1", "d Pr(X=1) / d Pr(X=1|B=1)", net_chain(), {2, 1, any}, {2, row1}};
    cases[n++] = (struct net_case){
        "chain b1", "d Pr(X=1) / d Pr(B=1|A=1)", net_chain(), {2, 1, any}, {1, row1}};
    cases[n++] = (struct net_case){
        "polytree", "d Pr(X=1) / d Pr(C=1|A=1)", net_polytree(), {4, 1, any}, {2, row1}};
    cases[n++] = (struct net_case){"polytree, A seen",
                                   "d Pr(X=1|A=1) / d Pr(B=1)",
                                   net_polytree(),
                                   {4, 1, given_a},
                                   {1, row0}};
    cases[n++] = (struct net_case){
        "diamond", "d Pr(X=1) / d Pr(A=1)", net_diamond(), {3, 1, any}, {0, row0}};
    cases[n++] = (struct net_case){
        "diamond b1", "d Pr(X=1) / d Pr(B=1|A=1)", net_diamond(), {3, 1, any}, {1, row1}};
    return n;
}
#define NET_CASES 6

#endif
