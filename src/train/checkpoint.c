/* SPDX-License-Identifier: Apache-2.0
 *
 * A training run as a file, so that it can be gone on with: JSON, "symph-training-1".
 *
 * In and out: the middle, the average, Adam's moments, the best so far and the validations. Random
 * numbers need no state: they are drawn from the generation's number. Invariant: a run that was
 * saved and loaded goes on with the same bytes; a file that does not fit changes nothing.
 */
#include "base/json.h"
#include "train/train.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA      "symph-training-1"
#define HISTORY_MAX 1000000u
#define COLUMNS     5 /* of the history */

/* --- writing ------------------------------------------------------------------------------------
 */
static void put_floats(struct sy_json_writer *w, const char *key, const float *x, uint32_t count) {
    sy_json_open_member(w, key, '[');
    for (uint32_t i = 0; i < count; i++) {
        sy_json_put_number(w, (double)x[i]);
    }
    sy_json_close(w, ']');
}

static void put_history(struct sy_json_writer *w, const struct sy_training *t) {
    sy_json_open_member(w, "history", '[');
    for (uint32_t i = 0; i < t->history_count; i++) {
        const struct sy_training_point *p = &t->history[i];
        sy_json_print(w, "[%u, %g, %g, %g, %g]", p->generation, p->training, p->validation,
                      p->error, p->worst);
    }
    sy_json_close(w, ']');
}

int sy_training_save(const struct sy_training *t, const char *settings, const char *path,
                     struct sy_error *error) {
    uint32_t n = t->options.count;
    struct sy_json_writer w = {.compact_from = 2};
    sy_json_print(&w,
                  "{schema: %s, settings: %s, count: %u, generation: %u, steps: %u, "
                  "rollouts: %llu, best_at: %u, training: %g",
                  SCHEMA, settings, n, t->es.generation, t->es.adam.steps,
                  (unsigned long long)t->rollout_count, t->best_at, t->last_training);
    put_floats(&w, "block", t->es.block, n);
    put_floats(&w, "average", t->es.average, n);
    put_floats(&w, "first", t->es.adam.first, n);
    put_floats(&w, "second", t->es.adam.second, n);
    put_floats(&w, "best", t->best, n);
    put_history(&w, t);
    sy_json_close(&w, '}');
    sy_buffer_append(&w.buffer, "\n", 1);
    int code = w.buffer.failed ? sy_out_of_memory(error)
                               : sy_write_file(path, w.buffer.text, w.buffer.length, error);
    sy_buffer_finish(&w.buffer);
    return code;
}

/* --- reading ------------------------------------------------------------------------------------
 */
struct reader {
    struct sy_json json;
    const char *settings;
    uint32_t count;
    float *values; /* count of each: block, average, first, second, best */
    double weights, generation, steps, rollouts, best_at, training;
    struct sy_training_point *history;
    uint32_t history_count, history_capacity;
};
#define ARRAYS         5
#define GENERATION_MAX 16777215

static int read_floats(void *reader, const struct sy_json_member *member) {
    struct reader *r = reader;
    float *values = member->out;
    uint32_t count = 0;
    int code = sy_json_enter_array(&r->json);
    while (code >= 0 && (code = sy_json_next(&r->json)) > 0) {
        double value;
        code = sy_json_number_in(&r->json, member->name, -1e30, 1e30, &value);
        if (!code && count == r->count) {
            code = sy_json_fail(&r->json, "more than %u numbers", r->count);
        }
        if (!code) {
            values[count++] = (float)value;
        }
    }
    if (!code && count != r->count) {
        code = sy_json_fail(&r->json, "%u numbers, but the policy has %u weights", count, r->count);
    }
    return code;
}

/* null stands for a number that there is none of. */
static int read_number_or_null(struct reader *r, double *ret_value) {
    enum sy_json_type type;
    int code = sy_json_peek(&r->json, &type);
    *ret_value = NAN;
    if (code) {
        return code;
    }
    return type == SY_JSON_NULL ? sy_json_skip(&r->json)
                                : sy_json_number_in(&r->json, "number", -1e6, 1e6, ret_value);
}

static int read_point(struct reader *r, struct sy_training_point *point) {
    double column[COLUMNS] = {0};
    uint32_t count = 0;
    int more, code = sy_json_enter_array(&r->json);
    if (code) {
        return code;
    }
    while ((more = sy_json_next(&r->json)) > 0) {
        if (count == COLUMNS) {
            return sy_json_fail(&r->json, "more than %d numbers", COLUMNS);
        }
        code = count ? read_number_or_null(r, &column[count])
                     : sy_json_number_in(&r->json, "generation", 0, GENERATION_MAX, &column[0]);
        if (code) {
            return code;
        }
        count++;
    }
    if (more == 0 && (count != COLUMNS || column[0] != floor(column[0]))) {
        return sy_json_fail(&r->json, "a validation is a whole number and %d others", COLUMNS - 1);
    }
    *point =
        (struct sy_training_point){(uint32_t)column[0], column[1], column[2], column[3], column[4]};
    return more;
}

static int read_history(void *reader, const struct sy_json_member *member) {
    (void)member;
    struct reader *r = reader;
    int code = sy_json_enter_array(&r->json);
    while (code >= 0 && (code = sy_json_next(&r->json)) > 0) {
        if (r->history_count == HISTORY_MAX) {
            return sy_json_fail(&r->json, "more than %u validations", HISTORY_MAX);
        }
        code = sy_grow(&r->history, &r->history_capacity, r->history_count + 1, sizeof *r->history);
        code = code ? sy_fail(r->json.error, code, "out of memory")
                    : read_point(r, &r->history[r->history_count]);
        r->history_count += !code;
    }
    return code;
}

static int read_training(void *reader, const struct sy_json_member *member) {
    return read_number_or_null(reader, member->out);
}

static int read_whole(void *reader, const struct sy_json_member *member) {
    double *value = member->out;
    int code = sy_json_read_number(reader, member);
    return !code && *value != floor(*value) ? sy_json_fail(reader, "not a whole number") : code;
}

static int read_schema(void *reader, const struct sy_json_member *member) {
    (void)member;
    return sy_json_schema(reader, SCHEMA, "a checkpoint");
}

static int read_settings(void *reader, const struct sy_json_member *member) {
    (void)member;
    struct reader *r = reader;
    const char *text;
    int code = sy_json_string(&r->json, &text, NULL);
    if (!code && strcmp(text, r->settings) != 0) {
        code = sy_json_fail(&r->json, "the run was started with other settings");
        sy_hint(r->json.error, "started with: %s; now: %s", text, r->settings);
    }
    return code;
}

static int read_all(struct reader *r) {
    const struct sy_json_member members[] = {
        {"schema", read_schema, .required = true},
        {"settings", read_settings, .required = true},
        {"count", read_whole, &r->weights, 0, SY_WEIGHTS_MAX, .required = true},
        {"generation", read_whole, &r->generation, 0, GENERATION_MAX, .required = true},
        {"steps", read_whole, &r->steps, 0, UINT32_MAX, .required = true},
        {"rollouts", read_whole, &r->rollouts, 0, 9007199254740992.0, .required = true},
        {"best_at", read_whole, &r->best_at, 0, HISTORY_MAX, .required = true},
        {"training", read_training, &r->training},
        {"block", read_floats, r->values, .required = true},
        {"average", read_floats, r->values + r->count, .required = true},
        {"first", read_floats, r->values + 2 * r->count, .required = true},
        {"second", read_floats, r->values + 3 * r->count, .required = true},
        {"best", read_floats, r->values + 4 * r->count, .required = true},
        {"history", read_history},
    };
    int code = sy_json_members(r, "a checkpoint", members, SY_COUNT(members));
    code = code ? code : sy_json_end(&r->json);
    bool whole = r->best_at < r->history_count || r->best_at == 0;
    return code || whole ? code : sy_json_fail(&r->json, "the checkpoint is incomplete");
}

static void adopt(struct sy_training *t, struct reader *r) {
    float *const to[ARRAYS] = {t->es.block, t->es.average, t->es.adam.first, t->es.adam.second,
                               t->best};
    for (uint32_t i = 0; i < ARRAYS; i++) {
        memcpy(to[i], r->values + i * r->count, r->count * sizeof(float));
    }
    t->es.generation = (uint32_t)r->generation;
    t->es.adam.steps = (uint32_t)r->steps;
    t->rollout_count = (uint64_t)r->rollouts;
    t->best_at = (uint32_t)r->best_at;
    t->last_training = r->training;
    free(t->history);
    t->history = r->history;
    t->history_count = r->history_count;
    t->history_capacity = r->history_capacity;
    r->history = NULL;
}

int sy_training_parse(struct sy_training *t, const char *settings, const char *name,
                      const char *text, size_t length, struct sy_error *error) {
    struct reader r = {.settings = settings, .count = t->options.count, .training = NAN};
    r.values = calloc(r.count, ARRAYS * sizeof(float));
    if (!r.values) {
        return sy_out_of_memory(error);
    }
    sy_json_init(&r.json, name, text, length, error);
    int code = read_all(&r);
    sy_json_finish(&r.json);
    if (!code) {
        adopt(t, &r);
    }
    free(r.values);
    free(r.history);
    return code;
}

int sy_training_load(struct sy_training *t, const char *settings, const char *path,
                     struct sy_error *error) {
    char *text = NULL;
    size_t length;
    int code = sy_read_file(path, &text, &length, error);
    code = code ? code : sy_training_parse(t, settings, path, text, length, error);
    free(text);
    return code;
}
