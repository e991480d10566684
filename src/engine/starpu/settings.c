/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine's arguments: KEY=VALUE, as symph writes them.
 */
#include "engine/starpu/process.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>

enum kind { TEXT, COUNT, FLAG, U64, AMOUNT };

struct key {
    const char *name;
    enum kind kind;
    size_t offset;
};

#define COUNT_MAX (1u << 30)

#define FIELD(name, kind, field)                                                                   \
    { name, kind, offsetof(struct sy_engine_options, field) }
static const struct key keys[] = {
    FIELD("spec", TEXT, spec),
    FIELD("policy", TEXT, policy),
    FIELD("record", TEXT, record),
    FIELD("kernels", TEXT, kernels),
    FIELD("models", TEXT, models),
    FIELD("page", COUNT, page_fd),
    FIELD("parent", COUNT, parent),
    FIELD("cpus", COUNT, cpus),
    FIELD("opencl", COUNT, opencl),
    FIELD("cuda", COUNT, cuda),
    FIELD("check", FLAG, check),
    FIELD("emulate", FLAG, emulate),
    FIELD("seed", U64, seed),
    FIELD("samples", COUNT, samples),
    FIELD("limit", AMOUNT, limit_s),
    FIELD("start_limit", AMOUNT, start_limit_s),
    FIELD("pipeline", FLAG, pipeline),
    FIELD("check_all", FLAG, check_all),
    FIELD("watts", FLAG, watts),
    FIELD("side_by_side", FLAG, side_by_side),
    FIELD("objective", TEXT, objective),
    FIELD("plan", TEXT, plan),
    FIELD("times", TEXT, times),
    FIELD("calibrate", TEXT, calibrate),
    FIELD("limits", TEXT, limits),
    FIELD("window", COUNT, window),
    FIELD("latency_ns", AMOUNT, bounds.latency_ns),
    FIELD("period_ns", AMOUNT, bounds.period_ns),
    FIELD("energy", AMOUNT, bounds.energy_joules),
    FIELD("money", AMOUNT, bounds.money),
    FIELD("power", AMOUNT, bounds.power_watts),
};

static bool set_number(const struct key *key, const char *value, void *field) {
    size_t length = strlen(value);
    uint64_t whole = 0;
    double amount = 0;
    if (key->kind == AMOUNT) {
        bool right = sy_parse_double(value, length, &amount) && amount >= 0;
        *(double *)field = amount;
        return right;
    }
    if (!sy_parse_u64(value, length, &whole)) {
        return false;
    }
    switch (key->kind) {
    case U64:
        *(uint64_t *)field = whole;
        return true;
    case FLAG:
        *(bool *)field = whole == 1;
        return whole <= 1;
    default:
        *(int *)field = (int)whole;
        return whole <= COUNT_MAX;
    }
}

static int set(struct sy_engine_options *options, const char *argument, struct sy_error *error) {
    const char *equals = strchr(argument, '=');
    size_t length = equals ? (size_t)(equals - argument) : strlen(argument);
    for (size_t i = 0; equals && i < SY_COUNT(keys); i++) {
        const struct key *key = &keys[i];
        if (strlen(key->name) != length || strncmp(key->name, argument, length) != 0) {
            continue;
        }
        void *field = (char *)options + key->offset;
        if (key->kind == TEXT) {
            *(const char **)field = equals + 1;
            return 0;
        }
        return set_number(key, equals + 1, field)
                   ? 0
                   : sy_fail(error, -EINVAL, "engine: %s is not a number that fits", argument);
    }
    sy_fail(error, -EINVAL, "engine: unknown argument %s", argument);
    sy_hint(error, "symph-engine is started by symph run; both must be of one version");
    return -EINVAL;
}

int sy_engine_parse(int count, char *const *arguments, struct sy_engine_options *ret_options,
                    struct sy_error *error) {
    struct sy_engine_options options = {
        .page_fd = -1, .cpus = -1, .opencl = -1, .cuda = -1, .bounds = sy_plan_unbounded};
    int code = 0;
    for (int i = 0; i < count; i++) {
        struct sy_error problem = {0};
        if (set(&options, arguments[i], &problem) < 0 && !code) {
            *error = problem;
            code = -EINVAL;
        }
    }
    if (!code && (!options.spec || !options.record)) {
        code = sy_fail(error, -EINVAL, "engine: spec= and record= are needed");
    }
    /* The page is needed to tell what was wrong with the rest. */
    *ret_options = options;
    return code;
}
