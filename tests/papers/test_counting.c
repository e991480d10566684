/* SPDX-License-Identifier: Apache-2.0
 *
 * Discrete networks and the counting estimator: exact answers, independence, what the corrections
 * are worth, and that errors shrink with the square root of the samples.
 */
#include "../base/check.h"
#include "nets.h"

#define STATES 3
#define JOINT  4096

/* --- random networks ---------------------------------------------------------------------------
 */
struct random_net {
    struct sy_discrete net;
    double tables[8][81 * STATES], slopes[8][81 * STATES];
};

static void random_table(struct sy_rng *rng, uint32_t rows, uint32_t states, double *table,
                         double *slope) {
    for (uint32_t row = 0; row < rows; row++) {
        double sum = 0, mean = 0;
        for (uint32_t s = 0; s < states; s++) {
            sum += table[row * states + s] = 0.1 + sy_rng_uniform(rng);
            mean += slope[row * states + s] = sy_rng_normal(rng);
        }
        for (uint32_t s = 0; s < states; s++) {
            table[row * states + s] /= sum;
            slope[row * states + s] -= mean / states; /* rows keep their sum */
        }
    }
}

static void make_random(struct random_net *made, struct sy_rng *rng, uint32_t count) {
    made->net = (struct sy_discrete){0};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t parents[SY_DISCRETE_PARENTS], parent_count = 0, rows = 1;
        uint32_t states = 2 + sy_rng_below(rng, STATES - 1);
        for (uint32_t p = 0; p < i && parent_count < 3; p++) {
            if (sy_rng_uniform(rng) < 0.5) {
                parents[parent_count++] = p;
                rows *= made->net.nodes[p].states;
            }
        }
        random_table(rng, rows, states, made->tables[i], made->slopes[i]);
        assert_int_equal(
            sy_discrete_add(&made->net, states, parents, parent_count, made->tables[i]), i);
    }
}

/* Evidence on some ancestors that are not parents, as in the paper, or on any nodes. */
static struct sy_discrete_query random_query(const struct sy_discrete *net, struct sy_rng *rng,
                                             bool any) {
    struct sy_discrete_query query = {net->count - 1, 0, sy_discrete_any()};
    uint32_t above = sy_discrete_ancestors(net, query.node);
    for (uint32_t i = 0; i < net->nodes[query.node].parent_count; i++) {
        above &= ~(1u << net->nodes[query.node].parents[i]);
    }
    if (any) {
        query.node = sy_rng_below(rng, net->count);
        above = UINT32_MAX & ~(1u << query.node);
    }
    for (uint32_t i = 0; i < net->count; i++) {
        if (above >> i & 1 && sy_rng_uniform(rng) < 0.4) {
            query.given.value[i] = sy_rng_below(rng, net->nodes[i].states);
        }
    }
    query.value = sy_rng_below(rng, net->nodes[query.node].states);
    return query;
}

/* --- tests -------------------------------------------------------------------------------------
 */
static double probability(const struct sy_discrete *net, const struct sy_discrete_query *query) {
    static double weights[JOINT];
    struct sy_discrete_event both = query->given;
    both.value[query->node] = query->value;
    sy_discrete_exact(net, weights);
    return sy_discrete_weight(net, weights, &both) /
           sy_discrete_weight(net, weights, &query->given);
}

static void exact_gradient_is_the_difference_quotient(void **state) {
    (void)state;
    struct sy_rng rng = seeded_rng(1);
    static struct random_net made;
    for (int round = 0; round < 50; round++) {
        make_random(&made, &rng, 6);
        struct sy_discrete_query query = random_query(&made.net, &rng, true);
        uint32_t node = sy_rng_below(&rng, 6);
        struct sy_discrete_parameter parameter = {node, made.slopes[node]};
        double found = sy_discrete_exact_gradient(&made.net, &query, &parameter), ends[2];
        for (int side = 0; side < 2; side++) {
            double step = side ? 1e-5 : -2e-5; /* from -1e-5 to 1e-5 and back */
            for (uint32_t i = 0; !side && i < 81 * STATES; i++) {
                made.tables[node][i] += 1e-5 * made.slopes[node][i];
            }
            ends[side] = probability(&made.net, &query);
            for (uint32_t i = 0; i < 81 * STATES; i++) {
                made.tables[node][i] += step * made.slopes[node][i];
            }
        }
        assert_near(found, (ends[0] - ends[1]) / 2e-5, 1e-7);
    }
}

/* The graph says independent: so it must be, for any tables. */
static void separation_means_independence(void **state) {
    (void)state;
    struct sy_rng rng = seeded_rng(2);
    static struct random_net made;
    static double weights[JOINT];
    uint32_t apart = 0, tied = 0;
    for (int round = 0; round < 400; round++) {
        make_random(&made, &rng, 6);
        sy_discrete_exact(&made.net, weights);
        uint32_t a = sy_rng_below(&rng, 6), b = (a + 1 + sy_rng_below(&rng, 5)) % 6;
        struct sy_discrete_event given = sy_discrete_any();
        uint32_t mask = 0;
        for (uint32_t i = 0; i < 6; i++) {
            if (i != a && i != b && sy_rng_uniform(&rng) < 0.4) {
                given.value[i] = 0;
                mask |= 1u << i;
            }
        }
        struct sy_discrete_event with_a = given, with_b = given, both = given;
        with_a.value[a] = both.value[a] = 0;
        with_b.value[b] = both.value[b] = 0;
        double all = sy_discrete_weight(&made.net, weights, &given);
        double gap = sy_discrete_weight(&made.net, weights, &both) / all -
                     sy_discrete_weight(&made.net, weights, &with_a) / all *
                         sy_discrete_weight(&made.net, weights, &with_b) / all;
        bool separated = sy_discrete_separated(&made.net, a, b, mask);
        assert_true(separated == (fabs(gap) < 1e-12));
        apart += separated;
        tied += !separated;
    }
    assert_true(apart > 20 && tied > 20);
}

/* Fed with exact probabilities the corrected formula has no error at all, whatever the graph. */
static void corrected_formula_is_exact(void **state) {
    (void)state;
    struct sy_rng rng = seeded_rng(3);
    static struct random_net made;
    static double weights[JOINT];
    uint32_t with_separator = 0;
    double worst = 0;
    for (int round = 0; round < 200; round++) {
        make_random(&made, &rng, 3 + sy_rng_below(&rng, 3));
        sy_discrete_exact(&made.net, weights);
        struct sy_discrete_query query = random_query(&made.net, &rng, round % 2);
        uint32_t node = sy_rng_below(&rng, made.net.count);
        struct sy_discrete_parameter parameter = {node, made.slopes[node]};
        double exact = sy_discrete_exact_gradient(&made.net, &query, &parameter);
        double found =
            sy_counting_gradient(&made.net, weights, 1, &query, &parameter, SY_COUNTING_CORRECTED);
        worst = fmax(worst, fabs(found - exact));
        assert_near(found, exact, 1e-10);
        uint32_t parents = 0;
        for (uint32_t i = 0; i < made.net.nodes[query.node].parent_count; i++) {
            parents |= 1u << made.net.nodes[query.node].parents[i];
        }
        with_separator += sy_discrete_separator(&made.net, parents, 0) != 0;
        double score = sy_score_gradient(&made.net, weights, &query, &parameter);
        assert_near(score, exact, 1e-10);
    }
    print_message("# worst %.2g; N was not empty %u times of 200\n", worst, with_separator);
    assert_true(with_separator > 20);
}

/* The values of the papers' notes: chain A -> B -> X, 0.3500 and 0.2100. */
static void chain_has_the_known_values(void **state) {
    (void)state;
    struct net_case cases[NET_CASES];
    net_cases(cases);
    static double weights[JOINT];
    const struct net_case *x1 = &cases[0], *b1 = &cases[1];
    assert_near(sy_discrete_exact_gradient(&x1->net, &x1->query, &x1->parameter), 0.35, 1e-12);
    assert_near(sy_discrete_exact_gradient(&b1->net, &b1->query, &b1->parameter), 0.21, 1e-12);
    sy_discrete_exact(&x1->net, weights);
    /* (2) as printed: S Pr(B=1)^2; distinct: right */
    assert_near(sy_counting_gradient(&x1->net, weights, 100, &x1->query, &x1->parameter,
                                     SY_COUNTING_PRINTED),
                100 * 0.35 * 0.35, 1e-9);
    assert_near(sy_counting_gradient(&x1->net, weights, 100, &x1->query, &x1->parameter,
                                     SY_COUNTING_DISTINCT),
                0.35, 1e-12);
    /* (3) with the printed weight over distinct values is biased: 0.3 (0.35 0.8 - 0.65 0.1) */
    assert_near(sy_counting_gradient(&b1->net, weights, 100, &b1->query, &b1->parameter,
                                     SY_COUNTING_DISTINCT),
                0.0645, 1e-12);
    assert_near(sy_counting_gradient(&b1->net, weights, 100, &b1->query, &b1->parameter,
                                     SY_COUNTING_DISTINCT | SY_COUNTING_UNWEIGHTED),
                0.21, 1e-12);
}

/* Without the slope of Pr(N=n|a) the diamond's gradient is lost altogether. */
static void diamond_needs_the_missing_term(void **state) {
    (void)state;
    struct net_case cases[NET_CASES];
    net_cases(cases);
    static double weights[JOINT];
    const struct net_case *diamond = &cases[4];
    assert_int_equal(sy_discrete_separator(&diamond->net, 0x6, 0), 0x1);
    sy_discrete_exact(&diamond->net, weights);
    double exact = sy_discrete_exact_gradient(&diamond->net, &diamond->query, &diamond->parameter);
    double without =
        sy_counting_gradient(&diamond->net, weights, 1, &diamond->query, &diamond->parameter,
                             SY_COUNTING_DISTINCT | SY_COUNTING_UNWEIGHTED);
    assert_true(fabs(exact) > 0.1);
    assert_near(without, 0, 1e-12);
}

static double rms_error(const struct net_case *c, uint32_t samples, enum sy_counting_form form,
                        bool score, struct sy_rng *rng) {
    static double weights[JOINT];
    double exact = sy_discrete_exact_gradient(&c->net, &c->query, &c->parameter), sum = 0;
    uint32_t rounds = samples >= 100000 ? 20 : 60;
    for (uint32_t i = 0; i < rounds; i++) {
        sy_discrete_sample(&c->net, rng, samples, weights);
        double found =
            score ? sy_score_gradient(&c->net, weights, &c->query, &c->parameter)
                  : sy_counting_gradient(&c->net, weights, samples, &c->query, &c->parameter, form);
        sum += (found - exact) * (found - exact);
    }
    return sqrt(sum / rounds);
}

/* A thousandfold of samples: the error falls about 32-fold where the estimator is right. */
static void corrected_converges_and_printed_does_not(void **state) {
    (void)state;
    struct sy_rng rng = seeded_rng(4);
    struct net_case cases[NET_CASES];
    uint32_t count = net_cases(cases);
    assert_int_equal(count, NET_CASES);
    for (uint32_t i = 0; i < count; i++) {
        double errors[4], score[4], printed = 0;
        for (uint32_t k = 0, samples = 100; k < 4; k++, samples *= 10) {
            errors[k] = rms_error(&cases[i], samples, SY_COUNTING_CORRECTED, false, &rng);
            score[k] = rms_error(&cases[i], samples, SY_COUNTING_CORRECTED, true, &rng);
            printed = rms_error(&cases[i], samples, SY_COUNTING_PRINTED, false, &rng);
        }
        print_message("# %s: corrected %.2g %.2g %.2g %.2g, score %.2g ... %.2g, printed %.2g\n",
                      cases[i].name, errors[0], errors[1], errors[2], errors[3], score[0], score[3],
                      printed);
        assert_true(errors[0] > 12 * errors[3] && errors[3] < 0.005);
        assert_true(score[0] > 12 * score[3]);
        assert_true(printed > 0.1);
    }
}

/* Continuous, cut into bins: X = B + noise, B = theta + noise; Pr(X > 1). */
static void bins_come_near_the_continuous_answer(void **state) {
    (void)state;
    double exact = exp(-0.25) / sqrt(4 * M_PI); /* density of N(0, 2) at 1 */
    double errors[2];
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t bins = k ? 64 : 8;
        double edges[64], b[64], slope[64], x[64 * 2], unused[2], weights[128], step = 8.0 / bins;
        for (uint32_t i = 0; i + 1 < bins; i++) {
            edges[i] = -4 + step * (i + 1);
        }
        sy_discrete_normal_row(0, 1, edges, bins, b, slope);
        for (uint32_t i = 0; i < bins; i++) {
            sy_discrete_normal_row(-4 + step * (i + 0.5), 1, (double[]){1}, 2, &x[2 * i], unused);
        }
        struct sy_discrete net = {0};
        sy_discrete_add(&net, bins, NULL, 0, b);
        sy_discrete_add(&net, 2, (uint32_t[]){0}, 1, x);
        struct sy_discrete_query query = {1, 1, sy_discrete_any()};
        struct sy_discrete_parameter parameter = {0, slope};
        sy_discrete_exact(&net, weights);
        double found =
            sy_counting_gradient(&net, weights, 1, &query, &parameter, SY_COUNTING_CORRECTED);
        errors[k] = fabs(found - exact) / exact;
    }
    print_message("# 8 bins: off by %.2g, 64 bins: %.2g\n", errors[0], errors[1]);
    assert_true(errors[1] < 1e-3 && errors[0] > errors[1]);
}

static void limits_are_kept(void **state) {
    (void)state;
    static const double half[] = {.5, .5};
    struct sy_discrete net = {0};
    assert_int_equal(sy_discrete_add(&net, 2, (uint32_t[]){0}, 1, half), SY_NONE);
    for (uint32_t i = 0; i < SY_DISCRETE_NODES; i++) {
        assert_int_equal(sy_discrete_add(&net, 2, NULL, 0, half), i);
    }
    assert_int_equal(sy_discrete_add(&net, 2, NULL, 0, half), SY_NONE);
    struct sy_discrete wide = {0};
    assert_int_equal(sy_discrete_add(&wide, SY_DISCRETE_JOINT + 1, NULL, 0, half), SY_NONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_gradient_is_the_difference_quotient),
        cmocka_unit_test(separation_means_independence),
        cmocka_unit_test(corrected_formula_is_exact),
        cmocka_unit_test(chain_has_the_known_values),
        cmocka_unit_test(diamond_needs_the_missing_term),
        cmocka_unit_test(corrected_converges_and_printed_does_not),
        cmocka_unit_test(bins_come_near_the_continuous_answer),
        cmocka_unit_test(limits_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
