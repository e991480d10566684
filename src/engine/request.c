/* SPDX-License-Identifier: Apache-2.0
 *
 * The keys of a request: see request.h.
 */
#include "engine/request.h"
#include "engine/engine.h"
#include <errno.h>
#include <math.h>
#include <string.h>

#define WORKERS_MAX 4096
#define NUMBER_MAX  9007199254740992.0 /* what a JSON number carries exactly */
#define COUNT_MAX   (1u << 30)
#define LIMIT_MIN_S 1e-3
#define LIMIT_MAX_S 1e9

const struct sy_request sy_request_default = {
    .seed = 1,
    .cpus = SY_NONE,
    .opencl = SY_NONE,
    .cuda = SY_NONE,
    .limit_s = 60,
    .tenants = 1,
    .jobs = 100,
    .load = .7,
    .time_scale = 1,
    .bounds = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY},
    .page_fd = SY_NONE,
};

#define KEY(name, type, field, low, high)                                                          \
    { name, type, false, offsetof(struct sy_request, field), low, high }
#define WIRED(name, type, field, low, high)                                                        \
    { name, type, true, offsetof(struct sy_request, field), low, high }
static const struct sy_key keys[] = {
    KEY("spec", SY_KEY_TEXT, spec, 0, 0),
    KEY("policy", SY_KEY_TEXT, policy, 0, 0),
    KEY("kernels", SY_KEY_ANY, kernels, 0, 0),
    KEY("models", SY_KEY_ANY, models, 0, 0),
    KEY("seed", SY_KEY_NUMBER, seed, 0, NUMBER_MAX),
    KEY("cpus", SY_KEY_COUNT, cpus, 0, WORKERS_MAX),
    KEY("opencl", SY_KEY_COUNT, opencl, 0, WORKERS_MAX),
    KEY("cuda", SY_KEY_COUNT, cuda, 0, WORKERS_MAX),
    KEY("samples", SY_KEY_COUNT, samples, 1, 10000),
    KEY("limit", SY_KEY_SECONDS, limit_s, LIMIT_MIN_S, LIMIT_MAX_S),
    KEY("start-limit", SY_KEY_SECONDS, start_limit_s, LIMIT_MIN_S, 1e12),
    KEY("check", SY_KEY_FLAG, check, 0, 1),
    KEY("emulate", SY_KEY_FLAG, emulate, 0, 1),
    KEY("graphs", SY_KEY_TEXT, graphs, 0, 0),
    KEY("only", SY_KEY_TEXT, only, 0, 0),
    KEY("arrivals", SY_KEY_TEXT, arrivals, 0, 0),
    KEY("tenants", SY_KEY_COUNT, tenants, 1, 1e4),
    KEY("jobs", SY_KEY_COUNT, jobs, 1, 1e6),
    KEY("load", SY_KEY_AMOUNT, load, 1e-6, 1e3),
    KEY("time-scale", SY_KEY_AMOUNT, time_scale, 1e-9, 1e9),
    KEY("preempt", SY_KEY_FLAG, preempt, 0, 1),
    KEY("split", SY_KEY_FLAG, split, 0, 1),
    KEY("pipeline", SY_KEY_FLAG, pipeline, 0, 1),
    KEY("check-all", SY_KEY_FLAG, check_all, 0, 1),
    KEY("watts", SY_KEY_FLAG, watts, 0, 1),
    KEY("side-by-side", SY_KEY_FLAG, side_by_side, 0, 1),
    KEY("objective", SY_KEY_TEXT, objective, 0, 0),
    KEY("plan", SY_KEY_TEXT, plan, 0, 0),
    KEY("times", SY_KEY_TEXT, times, 0, 0),
    KEY("calibrate", SY_KEY_TEXT, calibrate, 0, 0),
    KEY("limits", SY_KEY_TEXT, limits, 0, 0),
    KEY("latency-ns", SY_KEY_AMOUNT, bounds.latency_ns, 0, INFINITY),
    KEY("period-ns", SY_KEY_AMOUNT, bounds.period_ns, 0, INFINITY),
    KEY("energy", SY_KEY_AMOUNT, bounds.energy_joules, 0, INFINITY),
    KEY("money", SY_KEY_AMOUNT, bounds.money, 0, INFINITY),
    KEY("power", SY_KEY_AMOUNT, bounds.power_watts, 0, INFINITY),
    KEY("window", SY_KEY_COUNT, window, 1, 65536),
    WIRED("record", SY_KEY_TEXT, record, 0, 0),
    WIRED("page", SY_KEY_COUNT, page_fd, 0, COUNT_MAX),
    WIRED("parent", SY_KEY_COUNT, parent, 0, COUNT_MAX),
};

double sy_request_start_limit_s(const struct sy_request *request) {
    return request->start_limit_s > 0 ? request->start_limit_s : sy_limit_start_s(request->limit_s);
}

const struct sy_key *sy_request_key_at(uint32_t i) {
    return i < SY_COUNT(keys) ? &keys[i] : NULL;
}

const struct sy_key *sy_request_key(const char *name, size_t length) {
    const struct sy_key *key;
    for (uint32_t i = 0; (key = sy_request_key_at(i)); i++) {
        if (strlen(key->name) == length && memcmp(key->name, name, length) == 0) {
            break;
        }
    }
    return key;
}

/* --- reading ------------------------------------------------------------------------------------
 */
static bool set_real(const struct sy_key *key, const char *text, void *field) {
    double value = 0;
    if (!sy_parse_double(text, strlen(text), &value) ||
        !(value >= key->low && value <= key->high)) {
        return false;
    }
    *(double *)field = value;
    return true;
}

static bool set_whole(const struct sy_key *key, const char *text, void *field) {
    uint64_t value = 0;
    if (!sy_parse_u64(text, strlen(text), &value) || (double)value < key->low ||
        (double)value > key->high) {
        return false;
    }
    if (key->type == SY_KEY_FLAG) {
        *(bool *)field = value == 1;
    } else if (key->type == SY_KEY_COUNT) {
        *(uint32_t *)field = (uint32_t)value;
    } else {
        *(uint64_t *)field = value;
    }
    return true;
}

static bool set_value(const struct sy_key *key, const char *text, void *field) {
    switch (key->type) {
    case SY_KEY_TEXT:
    case SY_KEY_ANY:
        *(const char **)field = text;
        return text[0] || key->type == SY_KEY_ANY;
    case SY_KEY_SECONDS:
    case SY_KEY_AMOUNT:
        return set_real(key, text, field);
    default:
        return set_whole(key, text, field);
    }
}

static int fail_value(const struct sy_key *key, const char *text, struct sy_error *error) {
    if (key->type == SY_KEY_TEXT) {
        return sy_fail(error, -EINVAL, "%s needs a value", text);
    }
    return sy_fail(error, -EINVAL, "%s: %s must be a%s number of %.10g to %.10g", text, key->name,
                   key->type == SY_KEY_SECONDS || key->type == SY_KEY_AMOUNT ? "" : " whole",
                   key->low, key->high);
}

static int set(struct sy_request *request, const char *text, bool wired, struct sy_error *error) {
    const char *equals = strchr(text, '=');
    const struct sy_key *key = equals ? sy_request_key(text, (size_t)(equals - text)) : NULL;
    if (!key || (key->wired && !wired)) {
        sy_fail(error, -EINVAL, "nothing can be asked as %s", text);
        return sy_hint(error, "symph and symph-engine must be of one version");
    }
    return set_value(key, equals + 1, (char *)request + key->offset) ? 0
                                                                     : fail_value(key, text, error);
}

int sy_request_read(uint32_t count, char *const *texts, bool wired, struct sy_request *ret_request,
                    struct sy_error *error) {
    int code = 0;
    *ret_request = sy_request_default;
    for (uint32_t i = 0; i < count; i++) {
        struct sy_error problem = {0};
        if (set(ret_request, texts[i], wired, &problem) < 0 && !code) {
            *error = problem;
            code = -EINVAL;
        }
    }
    if (!code && (!ret_request->spec || (wired && !ret_request->record))) {
        code = sy_fail(error, -EINVAL, "%s= is missing", ret_request->spec ? "record" : "spec");
    }
    return code;
}

/* --- writing ------------------------------------------------------------------------------------
 */
static void put_value(const struct sy_key *key, const void *field, struct sy_buffer *buffer) {
    switch (key->type) {
    case SY_KEY_TEXT:
    case SY_KEY_ANY:
        sy_buffer_printf(buffer, "%s", *(const char *const *)field);
        break;
    case SY_KEY_SECONDS:
    case SY_KEY_AMOUNT:
        sy_buffer_number(buffer, *(const double *)field);
        break;
    case SY_KEY_FLAG:
        sy_buffer_printf(buffer, "%d", *(const bool *)field);
        break;
    case SY_KEY_COUNT:
        sy_buffer_printf(buffer, "%u", *(const uint32_t *)field);
        break;
    case SY_KEY_NUMBER:
        sy_buffer_printf(buffer, "%llu", (unsigned long long)*(const uint64_t *)field);
        break;
    }
}

static size_t size_of(enum sy_key_type type) {
    static const size_t sizes[] = {
        [SY_KEY_TEXT] = sizeof(char *),     [SY_KEY_ANY] = sizeof(char *),
        [SY_KEY_FLAG] = sizeof(bool),       [SY_KEY_COUNT] = sizeof(uint32_t),
        [SY_KEY_NUMBER] = sizeof(uint64_t), [SY_KEY_SECONDS] = sizeof(double),
        [SY_KEY_AMOUNT] = sizeof(double),
    };
    return sizes[type];
}

static char *write_key(const struct sy_key *key, const void *field, struct sy_arena *arena) {
    struct sy_buffer buffer = {0};
    sy_buffer_printf(&buffer, "%s=", key->name);
    put_value(key, field, &buffer);
    char *text = buffer.failed ? NULL : sy_arena_strndup(arena, buffer.text, buffer.length);
    sy_buffer_finish(&buffer);
    return text;
}

char **sy_request_write(const struct sy_request *request, const char *first,
                        struct sy_arena *arena) {
    uint32_t count = 0;
    char **texts = sy_arena_alloc(arena, SY_COUNT(keys) + 2, sizeof *texts);
    if (texts && first && !(texts[count++] = sy_arena_strdup(arena, first))) {
        return NULL;
    }
    for (size_t i = 0; texts && i < SY_COUNT(keys); i++) {
        const char *field = (const char *)request + keys[i].offset;
        const char *usual = (const char *)&sy_request_default + keys[i].offset;
        if (memcmp(field, usual, size_of(keys[i].type)) != 0 &&
            !(texts[count++] = write_key(&keys[i], field, arena))) {
            return NULL;
        }
    }
    return texts;
}
