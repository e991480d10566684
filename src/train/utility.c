/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run costs, as one number: a weighted mean of logarithms of ratios, so that seconds and
 * joules can be added and large worlds count no more than small ones.
 */
#include "train/train.h"
#include <errno.h>
#include <math.h>
#include <string.h>

#define SCORE_MAX  1.0 /* one world cannot outweigh all others */
#define WEIGHT_MAX 1e6

static const char *const names[SY_MEASURE_COUNT] = {"slowdown",   "p99",    "makespan",
                                                    "completion", "energy", "unfairness"};

const char *sy_measure_name(uint32_t measure) {
    return measure < SY_MEASURE_COUNT ? names[measure] : NULL;
}

static int find(const char *text, size_t length, uint32_t *ret_measure, struct sy_error *error) {
    char word[32];
    snprintf(word, sizeof word, "%.*s", length < sizeof word ? (int)length : 31, text);
    for (uint32_t i = 0; i < SY_MEASURE_COUNT; i++) {
        if (strcmp(names[i], word) == 0) {
            *ret_measure = i;
            return 0;
        }
    }
    if (strcmp(word, "money") == 0) {
        sy_fail(error, -EINVAL, "money cannot be a utility: machines here state no prices");
        sy_hint(error, "energy is the nearest that they state");
        return -EINVAL;
    }
    sy_fail(error, -EINVAL, "no utility is called '%s'", word);
    const char *near = sy_nearest(word, names, SY_MEASURE_COUNT);
    sy_hint(error,
            "did you mean %s? there are slowdown, p99, makespan, completion, energy and "
            "unfairness",
            near ? near : names[0]);
    return -EINVAL;
}

int sy_utility_parse(const char *text, struct sy_utility *ret_utility, struct sy_error *error) {
    struct sy_utility utility = {0};
    double sum = 0;
    for (const char *at = text; *at || at == text;) {
        const char *end = at + strcspn(at, ","), *equals = memchr(at, '=', (size_t)(end - at));
        uint32_t measure = 0;
        double weight = 1;
        int code = find(at, (size_t)((equals ? equals : end) - at), &measure, error);
        if (code) {
            return code;
        }
        if (equals && (!sy_parse_double(equals + 1, (size_t)(end - equals) - 1, &weight) ||
                       weight < 0 || weight > WEIGHT_MAX)) {
            return sy_fail(error, -EINVAL, "the weight of %s must be a number from 0 to 1e6",
                           names[measure]);
        }
        utility.weight[measure] += weight;
        sum += weight;
        at = end + (*end == ',');
    }
    if (!(sum > 0)) {
        return sy_fail(error, -EINVAL, "a utility needs a weight above 0");
    }
    for (uint32_t i = 0; i < SY_MEASURE_COUNT; i++) {
        utility.weight[i] /= sum;
    }
    *ret_utility = utility;
    return 0;
}

double sy_utility_score(const struct sy_utility *utility, const double *cost,
                        const double *reference) {
    double score = 0;
    for (uint32_t i = 0; i < SY_MEASURE_COUNT; i++) {
        if (utility->weight[i] > 0 && cost[i] > 0 && reference[i] > 0) {
            score += utility->weight[i] * log(cost[i] / reference[i]);
        }
    }
    return fmin(fmax(score, -SCORE_MAX), SCORE_MAX);
}
