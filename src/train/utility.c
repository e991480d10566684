/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run costs, as one number: a weighted mean of logarithms of ratios, so that seconds and
 * joules can be added and large worlds count no more than small ones.
 */
#include "topology/topology.h"
#include "train/train.h"
#include <errno.h>
#include <math.h>
#include <string.h>

#define SCORE_MAX  1.0 /* one world cannot outweigh all others */
#define WEIGHT_MAX 1e6

static const char *const names[SY_MEASURE_COUNT] = {
    "slowdown", "p99", "makespan", "completion", "energy", "unfairness", "money"};

static int find(const char *text, size_t length, uint32_t *ret_measure, struct sy_error *error) {
    char word[32];
    snprintf(word, sizeof word, "%.*s", length < sizeof word ? (int)length : 31, text);
    uint32_t i = sy_index_of(word, names, SY_MEASURE_COUNT, sizeof *names);
    if (i != SY_NONE) {
        *ret_measure = i;
        return 0;
    }
    sy_fail(error, -EINVAL, "there is no utility '%s'", word);
    return sy_hint_names(error, word, names, SY_MEASURE_COUNT);
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

/* --- prices -------------------------------------------------------------------------------------
 */
#define PRICE_MAX 1e6

struct sy_prices sy_prices_default(void) {
    struct sy_prices prices;
    for (uint32_t kind = 0; kind < SY_KIND_COUNT; kind++) {
        prices.per_hour[kind] = sy_default_price_per_hour((enum sy_device_kind)kind);
    }
    return prices;
}

static bool is_kind(uint32_t kind, const char *text, size_t length) {
    const char *name = sy_device_kind_name((enum sy_device_kind)kind);
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

int sy_prices_parse(const char *text, struct sy_prices *known, struct sy_error *error) {
    struct sy_prices prices = *known;
    for (const char *at = text; *at || at == text;) {
        const char *end = at + strcspn(at, ","), *equals = memchr(at, '=', (size_t)(end - at));
        uint32_t kind = 0;
        double price;
        size_t length = equals ? (size_t)(equals - at) : 0;
        while (kind < SY_KIND_COUNT && !is_kind(kind, at, length)) {
            kind++;
        }
        if (kind == SY_KIND_COUNT) {
            sy_fail(error, -EINVAL, "'%.*s' is not a price of a kind of device",
                    (int)(end - at < 40 ? end - at : 40), at);
            return sy_hint(
                error, "write cpu=0.05/h,gpu=2.5/h: prices of cpu, gpu, fpga and asic per hour");
        }
        if (!sy_parse_price(equals + 1, (size_t)(end - equals) - 1, &price) || price > PRICE_MAX) {
            return sy_fail(error, -EINVAL,
                           "the price of %s must be from 0/h to 1e6/h, such as 2.5/h",
                           sy_device_kind_name((enum sy_device_kind)kind));
        }
        prices.per_hour[kind] = price;
        at = end + (*end == ',');
    }
    *known = prices;
    return 0;
}

/* Threads of a core, streams of a GPU, regions of a board share the price of the whole. */
static double parts_of(const struct sy_machine *m, uint32_t device) {
    const struct sy_device *self = &m->devices[device];
    uint32_t count = 0;
    for (uint32_t d = 0; d < m->device_count; d++) {
        const struct sy_device *other = &m->devices[d];
        count += self->board == SY_NONE ? other->group == self->group : other->board == self->board;
    }
    return count;
}

double sy_prices_sum(const struct sy_prices *prices, const struct sy_machine *machine,
                     const double *busy_ns) {
    double sum = 0;
    for (uint32_t d = 0; d < machine->device_count; d++) {
        double price = prices->per_hour[machine->devices[d].kind];
        sum += price > 0 ? price / parts_of(machine, d) * busy_ns[d] / 3600e9 : 0;
    }
    return sum;
}
