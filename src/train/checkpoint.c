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
#include <errno.h>
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
        sy_json_open(w, '[');
        sy_json_put_u64(w, p->generation);
        sy_json_put_number(w, p->training);
        sy_json_put_number(w, p->validation);
        sy_json_put_number(w, p->error);
        sy_json_put_number(w, p->worst);
        sy_json_close(w, ']');
    }
    sy_json_close(w, ']');
}

int sy_training_save(const struct sy_training *t, const char *settings, const char *path,
                     struct sy_error *error) {
    uint32_t n = t->options.count;
    struct sy_json_writer w = {.compact_from = 2};
    sy_json_open(&w, '{');
    sy_json_member_string(&w, "schema", SCHEMA);
    sy_json_member_string(&w, "settings", settings);
    sy_json_member_u64(&w, "count", n);
    sy_json_member_u64(&w, "generation", t->es.generation);
    sy_json_member_u64(&w, "steps", t->es.adam.steps);
    sy_json_member_u64(&w, "rollouts", t->rollout_count);
    sy_json_member_u64(&w, "best_at", t->best_at);
    sy_json_member_number(&w, "training", t->last_training);
    put_floats(&w, "block", t->es.block, n);
    put_floats(&w, "average", t->es.average, n);
    put_floats(&w, "first", t->es.adam.first, n);
    put_floats(&w, "second", t->es.adam.second, n);
    put_floats(&w, "best", t->best, n);
    put_history(&w, t);
    sy_json_close(&w, '}');
    sy_buffer_append(&w.buffer, "\n", 1);
    int code = w.buffer.failed ? sy_fail(error, -ENOMEM, "out of memory")
                               : sy_write_file(path, w.buffer.text, w.buffer.length, error);
    sy_buffer_finish(&w.buffer);
    return code;
}

/* --- reading ------------------------------------------------------------------------------------
 */
enum { BLOCK, AVERAGE, FIRST, SECOND, BEST, ARRAYS };
static const char *const arrays[ARRAYS] = {"block", "average", "first", "second", "best"};
enum { COUNT, GENERATION, STEPS, ROLLOUTS, BEST_AT, NUMBERS };
static const char *const numbers[NUMBERS] = {"count", "generation", "steps", "rollouts", "best_at"};
static const double most[NUMBERS] = {SY_WEIGHTS_MAX, 16777215, 4294967295.0, 9007199254740992.0,
                                     HISTORY_MAX};

struct reader {
    struct sy_json json;
    const char *settings;
    uint32_t count;
    float *values[ARRAYS];
    bool seen[ARRAYS];
    double number[NUMBERS];
    bool have[NUMBERS];
    double training;
    bool schema, same;
    struct sy_training_point *history;
    uint32_t history_count, history_capacity;
};

static int read_floats(struct reader *r, uint32_t which) {
    uint32_t count = 0;
    int more, code = sy_json_enter_array(&r->json);
    if (code || r->seen[which]) {
        return code ? code : sy_json_fail(&r->json, "given twice");
    }
    while ((more = sy_json_next(&r->json)) > 0) {
        double value;
        code = sy_json_number_in(&r->json, arrays[which], -1e30, 1e30, &value);
        if (code) {
            return code;
        }
        if (count == r->count) {
            return sy_json_fail(&r->json, "more than %u numbers", r->count);
        }
        r->values[which][count++] = (float)value;
    }
    if (more == 0 && count != r->count) {
        return sy_json_fail(&r->json, "%u numbers, but the policy has %u weights", count, r->count);
    }
    r->seen[which] = more == 0;
    return more;
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
                     : sy_json_number_in(&r->json, "generation", 0, most[GENERATION], &column[0]);
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

static int read_history(struct reader *r) {
    int more, code = sy_json_enter_array(&r->json);
    if (code || r->history_count) {
        return code ? code : sy_json_fail(&r->json, "given twice");
    }
    while ((more = sy_json_next(&r->json)) > 0) {
        if (r->history_count == HISTORY_MAX) {
            return sy_json_fail(&r->json, "more than %u validations", HISTORY_MAX);
        }
        code = sy_grow(&r->history, &r->history_capacity, r->history_count + 1, sizeof *r->history);
        code = code ? sy_fail(r->json.error, code, "out of memory")
                    : read_point(r, &r->history[r->history_count]);
        if (code) {
            return code;
        }
        r->history_count++;
    }
    return more;
}

static int read_text(struct reader *r, bool is_schema) {
    const char *text;
    size_t length;
    int code = sy_json_string(&r->json, &text, &length);
    if (code) {
        return code;
    }
    if (is_schema) {
        r->schema = strcmp(text, SCHEMA) == 0;
        return r->schema ? 0 : sy_json_fail(&r->json, "not \"" SCHEMA "\"");
    }
    r->same = strcmp(text, r->settings) == 0;
    if (!r->same) {
        sy_json_fail(&r->json, "the run was started with other settings");
        sy_hint(r->json.error, "started with: %s; now: %s", text, r->settings);
        return -EINVAL;
    }
    return 0;
}

static int read_member(struct reader *r, const char *name) {
    for (uint32_t i = 0; i < ARRAYS; i++) {
        if (strcmp(name, arrays[i]) == 0) {
            return read_floats(r, i);
        }
    }
    for (uint32_t i = 0; i < NUMBERS; i++) {
        if (strcmp(name, numbers[i]) == 0) {
            int code = sy_json_number_in(&r->json, name, 0, most[i], &r->number[i]);
            r->have[i] = !code;
            return !code && r->number[i] != floor(r->number[i])
                       ? sy_json_fail(&r->json, "not a whole number")
                       : code;
        }
    }
    if (strcmp(name, "history") == 0) {
        return read_history(r);
    }
    if (strcmp(name, "training") == 0) {
        return read_number_or_null(r, &r->training);
    }
    bool is_schema = strcmp(name, "schema") == 0;
    if (is_schema || strcmp(name, "settings") == 0) {
        return read_text(r, is_schema);
    }
    return sy_json_fail(&r->json, "unknown member");
}

static int read_all(struct reader *r) {
    const char *name;
    int more, code = sy_json_enter_object(&r->json);
    if (code) {
        return code;
    }
    while ((more = sy_json_next_member(&r->json, &name)) > 0) {
        code = read_member(r, name);
        if (code) {
            return code;
        }
    }
    code = more ? more : sy_json_end(&r->json);
    bool whole = r->schema && r->same;
    for (uint32_t i = 0; i < ARRAYS; i++) {
        whole = whole && r->seen[i];
    }
    for (uint32_t i = 0; i < NUMBERS; i++) {
        whole = whole && r->have[i];
    }
    whole = whole && (r->number[BEST_AT] < r->history_count || r->number[BEST_AT] == 0);
    return code ? code : whole ? 0 : sy_json_fail(&r->json, "the checkpoint is incomplete");
}

static void adopt(struct sy_training *t, struct reader *r) {
    float *const to[ARRAYS] = {t->es.block, t->es.average, t->es.adam.first, t->es.adam.second,
                               t->best};
    for (uint32_t i = 0; i < ARRAYS; i++) {
        memcpy(to[i], r->values[i], r->count * sizeof(float));
    }
    t->es.generation = (uint32_t)r->number[GENERATION];
    t->es.adam.steps = (uint32_t)r->number[STEPS];
    t->rollout_count = (uint64_t)r->number[ROLLOUTS];
    t->best_at = (uint32_t)r->number[BEST_AT];
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
    int code = 0;
    for (uint32_t i = 0; i < ARRAYS; i++) {
        r.values[i] = calloc(r.count, sizeof(float));
        code = r.values[i] ? code : sy_fail(error, -ENOMEM, "out of memory");
    }
    if (!code) {
        sy_json_init(&r.json, name, text, length, error);
        code = read_all(&r);
        sy_json_finish(&r.json);
    }
    if (!code) {
        adopt(t, &r);
    }
    for (uint32_t i = 0; i < ARRAYS; i++) {
        free(r.values[i]);
    }
    free(r.history);
    return code;
}

int sy_training_load(struct sy_training *t, const char *settings, const char *path,
                     struct sy_error *error) {
    char *text;
    size_t length;
    int code = sy_read_file(path, &text, &length, error);
    if (code) {
        return code;
    }
    code = sy_training_parse(t, settings, path, text, length, error);
    free(text);
    return code;
}
