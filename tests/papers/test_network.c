/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions of Student-t roots: slopes against finite differences over the same draws, and the
 * score function of a threshold against its exact value.
 */
#include "../base/check.h"
#include "network.h"
#include <errno.h>
#include <string.h>

#define OUTPUTS 8

struct parsed {
    struct sy_arena *arena;
    struct sy_expr_names names;
    struct sy_expr outputs[OUTPUTS];
    uint32_t count;
};

static void parse(struct parsed *p, const char *const *texts, uint32_t count) {
    *p = (struct parsed){.arena = sy_arena_create(), .count = count};
    for (uint32_t i = 0; i < count; i++) {
        struct sy_error error = {0};
        int code =
            sy_expr_parse(p->arena, &p->names, texts[i], strlen(texts[i]), &p->outputs[i], &error);
        if (code) {
            fail_msg("%s: %s", texts[i], error.message);
        }
    }
}

static void parsed_finish(struct parsed *p) {
    sy_expr_names_finish(&p->names);
    sy_arena_destroy(p->arena);
}

static double mixed_loss(void *user, const double *outputs, double *ret_slopes) {
    uint32_t count = *(const uint32_t *)user;
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += (1 + 0.3 * i) * outputs[i];
    }
    double value = tanh(0.2 * sum);
    for (uint32_t i = 0; i < count; i++) {
        ret_slopes[i] += (1 - value * value) * 0.2 * (1 + 0.3 * i);
    }
    return value;
}

static double first_output(void *user, const double *outputs, double *ret_slopes) {
    (void)user;
    ret_slopes[0] += 1;
    return outputs[0];
}

static double value_of(const struct sy_network *network, uint32_t draws,
                       const struct sy_network_loss *loss) {
    double mean[8], deviation[8], knob[8];
    struct sy_network_slopes slopes = {0, mean, deviation, knob};
    assert_int_equal(sy_network_gradient(network, draws, 3, loss, &slopes), 0);
    return slopes.value;
}

/* Central difference of the value by one number of the network. */
static double difference(const struct sy_network *network, const struct sy_network_loss *loss,
                         double *number) {
    double kept = *number, h = 1e-5 * fmax(1, fabs(kept));
    *number = kept + h;
    double up = value_of(network, 50, loss);
    *number = kept - h;
    double down = value_of(network, 50, loss);
    *number = kept;
    return (up - down) / (2 * h);
}

static void slopes_match_finite_differences(void **state) {
    (void)state;
    static const char *const texts[] = {
        "(reads + 0.5 * writes) / capacity",
        "min(1, max(reads - writes, 0.1 * reads)) * #share",
        "d_ratio(writes, reads + writes) - -misses / reads",
        "reads / capacity if misses > limit else writes / capacity",
        "1 if (reads > limit * 4) & (misses < limit) else 0.2 * writes",
        "(reads > 20) ^ (misses > limit) | (writes > limit)",
    };
    struct parsed p;
    parse(&p, texts, SY_COUNT(texts));
    struct sy_root roots[] = {{"reads", 20, 3, 9}, {"writes", 9, 2, 6}, {"misses", 5, 1, 12}};
    struct sy_knob knobs[] = {{"capacity", 40, 0}, {"limit", 5.1, 0}, {"share", 0.7, 0}};
    struct sy_network network = {p.outputs, p.count, p.names.names, p.names.count, roots, 3, knobs,
                                 3,         0.5};
    struct sy_network_loss loss = {mixed_loss, &p.count};
    double mean[3], deviation[3], knob[3], worst = 0;
    struct sy_network_slopes slopes = {0, mean, deviation, knob};
    assert_int_equal(sy_network_gradient(&network, 50, 3, &loss, &slopes), 0);
    for (uint32_t i = 0; i < 3; i++) {
        double *const numbers[] = {&roots[i].mean, &roots[i].deviation, &knobs[i].value};
        const double found[] = {mean[i], deviation[i], knob[i]};
        for (uint32_t k = 0; k < 3; k++) {
            double expected = difference(&network, &loss, numbers[k]);
            worst = fmax(worst, fabs(found[k] - expected) / fmax(fabs(expected), 1e-3));
        }
    }
    print_message("# worst %.2g relative\n", worst);
    assert_true(worst < 1e-4);
    parsed_finish(&p);
}

/* The paper's threshold: share of cycles in which at least theta_MB requests are outstanding. The
 * comparison has no slope; the score function of a threshold with a spread has. */
static double student_density(double degrees, double z) {
    return exp(lgamma((degrees + 1) / 2) - lgamma(degrees / 2)) / sqrt(degrees * M_PI) *
           pow(1 + z * z / degrees, -(degrees + 1) / 2);
}

static void thresholds_learn_by_the_score_function(void **state) {
    (void)state;
    static const char *const texts[] = {"d_ratio(outstanding > theta_mb, outstanding > 1)"};
    struct parsed p;
    parse(&p, texts, 1);
    struct sy_root root = {"outstanding", 10, 6, 9};
    struct sy_knob knob = {"theta_mb", 11, 0.5};
    struct sy_network network = {p.outputs, 1, p.names.names, p.names.count, &root, 1, &knob, 1, 0};
    struct sy_network_loss loss = {first_output, NULL};
    double scale = 6 / 3.0, exact = 0;
    for (int i = -400; i <= 400; i++) { /* over the spread of the threshold */
        double z = i / 80.0, weight = exp(-z * z / 2) / sqrt(2 * M_PI) / 80;
        exact -= weight * student_density(8, (11 + 0.5 * z - 10) / scale) / scale;
    }
    double errors[2];
    for (uint32_t k = 0; k < 2; k++) {
        double mean, deviation, slope;
        struct sy_network_slopes slopes = {0, &mean, &deviation, &slope};
        assert_int_equal(sy_network_gradient(&network, k ? 200000 : 2000, 1, &loss, &slopes), 0);
        errors[k] = fabs(slope - exact) / fabs(exact);
    }
    print_message("# exact %.4f; off by %.2g with 2,000 draws, %.2g with 200,000\n", exact,
                  errors[0], errors[1]);
    assert_true(errors[1] < 0.05);
    parsed_finish(&p);
}

static int try(struct sy_network network) {
    double mean[4], deviation[4], knob[4];
    uint32_t count = network.output_count;
    struct sy_network_loss loss = {mixed_loss, &count};
    struct sy_network_slopes slopes = {0, mean, deviation, knob};
    return sy_network_gradient(&network, 10, 1, &loss, &slopes);
}

static void bad_networks_are_refused(void **state) {
    (void)state;
    static const char *const texts[] = {"a / b"}, *const asks[] = {"has_event(a)"};
    struct parsed p, q;
    parse(&p, texts, 1);
    parse(&q, asks, 1);
    struct sy_root roots[] = {{"a", 1, 1, 4}, {"b", 1, 1, 4}};
    struct sy_network network = {.outputs = p.outputs,
                                 .output_count = 1,
                                 .names = p.names.names,
                                 .name_count = p.names.count,
                                 .roots = roots,
                                 .root_count = 2};
    assert_int_equal(try(network), 0);
    struct sy_network asking = network;
    asking.outputs = q.outputs;
    assert_int_equal(try(asking), -EINVAL);
    network.root_count = 1;
    assert_int_equal(try(network), -ENOENT);
    network.root_count = 2;
    roots[1].readings = 3; /* no finite variance */
    assert_int_equal(try(network), -EINVAL);
    parsed_finish(&p);
    parsed_finish(&q);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_match_finite_differences),
        cmocka_unit_test(thresholds_learn_by_the_score_function),
        cmocka_unit_test(bad_networks_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
