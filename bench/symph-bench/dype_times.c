/* SPDX-License-Identifier: Apache-2.0
 *
 * Times for symph-bench dype: reads them, and finds those of one kernel of one example.
 *
 * In: tables of samples. Out: the median of what was taken at the very same features; of a CPU at
 * the number of cores that is fastest. Invariant: nothing is learned from rows at the features of
 * an example, whatever the table calls them.
 */
#include "base/shipped.h"
#include "symph-bench/dype.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAME       1e-3 /* an example's features are rounded, those of its data are not */
#define REPEAT_MAX 256
#define WIDTH_MAX  1024u

/* --- reading ------------------------------------------------------------------------------------
 */
struct reading {
    struct sy_dype_times *times;
    struct sy_error *error;
};

/* Its median alone. */
static bool copy_row(struct sy_arena *arena, const struct sy_cost_sample *from,
                     struct sy_dype_row *to) {
    const char **names = sy_arena_alloc(arena, SY_FEATURE_MAX, sizeof *names);
    double *costs = sy_arena_alloc(arena, SY_FEATURE_MAX, sizeof *costs);
    bool ok = names && costs;
    for (uint32_t i = 0; ok && i < from->features.count; i++) {
        names[i] = sy_arena_strdup(arena, from->features.names[i]);
        costs[i] = from->features.values[i];
        ok = names[i] != NULL;
    }
    *to = (struct sy_dype_row){.sample = *from};
    to->sample.times_ns = NULL;
    to->sample.kernel = sy_arena_strdup(arena, from->kernel);
    to->sample.class_name = sy_arena_strdup(arena, from->class_name);
    to->sample.input = sy_arena_strdup(arena, from->input);
    to->sample.features.names = names;
    to->sample.features.values = costs;
    return ok && to->sample.input && to->sample.kernel && to->sample.class_name;
}

static int take_row(void *user, const struct sy_cost_sample *sample) {
    struct reading *reading = user;
    struct sy_dype_times *times = reading->times;
    if (!sample->features.names) {
        return 0; /* of a task */
    }
    if (sy_grow(&times->rows, &times->capacity, times->count + 1, sizeof *times->rows) < 0 ||
        !copy_row(times->arena, sample, &times->rows[times->count])) {
        return sy_out_of_memory(reading->error);
    }
    times->count++;
    return 0;
}

static int read_one(struct sy_dype_times *times, const char *path, struct sy_error *error) {
    struct reading reading = {times, error};
    char *text = NULL;
    size_t length;
    int code = sy_read_file(path, &text, &length, error);
    code = code ? code : sy_costs_read_text(path, text, length, take_row, &reading, error);
    free(text);
    return code;
}

static int is_table(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > strlen(".csv") && strcmp(entry->d_name + length - strlen(".csv"), ".csv") == 0;
}

/* All tables of a folder, in the order of their names. */
bool sy_dype_recorded(char *path, size_t size) {
    return sy_shipped_find(SY_SHIPPED_DATA, "dype", "data/dype", path, size);
}

static int read_folder(struct sy_dype_times *times, const char *folder, struct sy_error *error) {
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_table, alphasort), code = 0;
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX + NAME_MAX + 2];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        code = code ? code : read_one(times, path, error);
        free(entries[i]);
    }
    free(entries);
    return code;
}

int sy_dype_times_read(struct sy_dype_times *times, const char *path, struct sy_error *error) {
    char folder[PATH_MAX];
    times->arena = times->arena ? times->arena : sy_need(sy_arena_create());
    if (path) {
        return read_one(times, path, error);
    }
    int code = sy_dype_recorded(folder, sizeof folder) ? read_folder(times, folder, error) : 0;
    if (!code && !times->count) {
        code = sy_fail(error, -ENOENT, "no recorded times were found");
        sy_hint(error, "record them with 'symph run --pipeline NAME --calibrate -o FILE' on the "
                       "machine, then use --times FILE");
    }
    return code;
}

/* --- which is which -----------------------------------------------------------------------------
 */
/* "spmm" and "gnn:spmm" are one kernel. */
static bool same_kernel(const char *a, const char *b) {
    const char *colon_a = strrchr(a, ':'), *colon_b = strrchr(b, ':');
    return strcmp(colon_a ? colon_a + 1 : a, colon_b ? colon_b + 1 : b) == 0;
}

static enum sy_dype_class kind_of(const struct sy_cost_sample *sample) {
    return strcmp(sample->class_name, "cpu") == 0 ? SY_DYPE_CPU
           : sample->modelled                     ? SY_DYPE_FPGA
                                                  : SY_DYPE_GPU;
}

static uint32_t rows_of(const struct sy_dype_times *times, const char *class_name) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < times->count; i++) {
        count += strcmp(times->rows[i].sample.class_name, class_name) == 0;
    }
    return count;
}

static bool same_costs(const struct sy_cost_sample *sample, const double *costs, uint32_t count) {
    bool same = sample->features.count == count;
    for (uint32_t i = 0; same && i < count; i++) {
        same = fabs(sample->features.values[i] - costs[i]) <= SAME * fabs(costs[i]);
    }
    return same;
}

/* A CPU is one device: of the same input and kernel with several numbers of cores the fastest
 * counts. */
static bool is_fastest(const struct sy_dype_times *times, const struct sy_dype_row *row) {
    for (uint32_t i = 0; i < times->count; i++) {
        const struct sy_dype_row *other = &times->rows[i];
        if (other->sample.features.width != row->sample.features.width &&
            other->sample.time_ns < row->sample.time_ns &&
            strcmp(other->sample.class_name, row->sample.class_name) == 0 &&
            strcmp(other->sample.input, row->sample.input) == 0 &&
            strcmp(other->sample.kernel, row->sample.kernel) == 0 &&
            same_costs(&other->sample, row->sample.features.values, row->sample.features.count)) {
            return false;
        }
    }
    return true;
}

static bool is_example_of(const struct sy_cost_sample *sample, const struct sy_dype_pipeline *of) {
    const struct sy_pipeline *pipeline = of->description;
    for (uint32_t i = 0; i < pipeline->example_count * pipeline->kernel_count; i++) {
        const struct sy_pipeline_kernel *kernel = &pipeline->kernels[i % pipeline->kernel_count];
        const double *numbers =
            &of->numbers[(size_t)(i / pipeline->kernel_count) * pipeline->expression_count];
        double costs[SY_PIPELINE_COST_MAX];
        for (uint32_t c = 0; c < kernel->cost_count; c++) {
            costs[c] = numbers[kernel->costs[c]];
        }
        if (same_kernel(sample->kernel, kernel->kernel) &&
            same_costs(sample, costs, kernel->cost_count)) {
            return true;
        }
    }
    return false;
}

static bool is_example(const struct sy_cost_sample *sample,
                       const struct sy_dype_pipeline *pipelines, uint32_t count) {
    bool found = false;
    for (uint32_t p = 0; !found && p < count; p++) {
        found = is_example_of(sample, &pipelines[p]);
    }
    return found;
}

/* Of several classes of one kind the one with most rows is used. */
int sy_dype_times_end(struct sy_dype_times *times, const struct sy_dype_pipeline *pipelines,
                      uint32_t pipeline_count, struct sy_error *error) {
    uint32_t most[SY_DYPE_CLASSES] = {0};
    for (uint32_t i = 0; i < times->count; i++) {
        const struct sy_cost_sample *sample = &times->rows[i].sample;
        enum sy_dype_class which = kind_of(sample);
        bool known =
            times->classes[which] && strcmp(times->classes[which], sample->class_name) == 0;
        uint32_t rows = known ? 0 : rows_of(times, sample->class_name);
        if (rows > most[which]) {
            most[which] = rows;
            times->classes[which] = sample->class_name;
        }
    }
    for (int c = 0; c < SY_DYPE_CLASSES; c++) {
        static const char *const kinds[] = {"cpu (a CPU)", "a GPU", "an FPGA (source model)"};
        if (!times->classes[c]) {
            int code = sy_fail(error, -EINVAL, "the times have no row of %s", kinds[c]);
            sy_hint(error,
                    "--times may be repeated; 'symph run --pipeline NAME --calibrate -o FILE' "
                    "records them");
            return code;
        }
    }
    for (uint32_t i = 0; i < times->count; i++) {
        struct sy_dype_row *row = &times->rows[i];
        enum sy_dype_class which = kind_of(&row->sample);
        row->teaches =
            strcmp(row->sample.class_name, times->classes[which]) == 0 &&
            (which == SY_DYPE_CPU ? is_fastest(times, row) : row->sample.features.width == 1) &&
            !is_example(&row->sample, pipelines, pipeline_count);
        times->calibrations += row->teaches;
    }
    if (!times->calibrations) {
        int code =
            sy_fail(error, -EINVAL, "all times belong to examples: nothing is left to learn from");
        sy_hint(error,
                "also record calibration inputs, with 'symph run --pipeline NAME:calibrate=1 "
                "--calibrate -o FILE'");
        return code;
    }
    return 0;
}

void sy_dype_times_finish(struct sy_dype_times *times) {
    free(times->rows);
    sy_arena_destroy(times->arena);
    *times = (struct sy_dype_times){0};
}

/* --- finding ------------------------------------------------------------------------------------
 */
struct question {
    const struct sy_dype_times *times;
    const char *kernel, *class_name;
    const double *costs;
    uint32_t cost_count;
};

static bool answers(const struct question *q, const struct sy_dype_row *row, uint32_t width) {
    return row->sample.features.width == width &&
           strcmp(row->sample.class_name, q->class_name) == 0 &&
           same_kernel(row->sample.kernel, q->kernel) &&
           same_costs(&row->sample, q->costs, q->cost_count);
}

static struct sy_dype_time at_width(const struct question *q, uint32_t width) {
    double times_ns[REPEAT_MAX], watts[REPEAT_MAX];
    uint32_t count = 0, measured = 0;
    for (uint32_t i = 0; i < q->times->count && count < REPEAT_MAX; i++) {
        const struct sy_dype_row *row = &q->times->rows[i];
        if (answers(q, row, width)) {
            times_ns[count++] = row->sample.time_ns;
            if (isfinite(row->sample.watts)) {
                watts[measured++] = row->sample.watts;
            }
        }
    }
    return (struct sy_dype_time){sy_quantile(times_ns, count, 0.5),
                                 sy_quantile(watts, measured, 0.5), count};
}

static uint32_t widest(const struct sy_dype_times *times, const char *class_name) {
    uint32_t most = 1;
    for (uint32_t i = 0; i < times->count; i++) {
        const struct sy_cost_sample *sample = &times->rows[i].sample;
        if (sample->features.width > most && strcmp(sample->class_name, class_name) == 0) {
            most = sample->features.width;
        }
    }
    return most < WIDTH_MAX ? most : WIDTH_MAX;
}

struct sy_dype_time sy_dype_times_find(const struct sy_dype_times *times,
                                       const struct sy_pipeline_kernel *kernel, const double *costs,
                                       enum sy_dype_class which) {
    struct question q = {times, kernel->kernel, times->classes[which], costs, kernel->cost_count};
    struct sy_dype_time best = {INFINITY, NAN, 0};
    uint32_t widths = which == SY_DYPE_CPU ? widest(times, q.class_name) : 1;
    for (uint32_t width = 1; width <= widths; width++) {
        struct sy_dype_time here = at_width(&q, width);
        best = here.row_count && here.time_ns < best.time_ns ? here : best;
    }
    return best;
}

bool sy_dype_times_runs(const struct sy_dype_times *times, const char *kernel,
                        enum sy_dype_class which) {
    for (uint32_t i = 0; i < times->count; i++) {
        const struct sy_cost_sample *sample = &times->rows[i].sample;
        if (same_kernel(sample->kernel, kernel) &&
            strcmp(sample->class_name, times->classes[which]) == 0) {
            return true;
        }
    }
    return false;
}

/* --- learning from it ---------------------------------------------------------------------------
 */
static bool same_names(const struct sy_cost_sample *sample,
                       const struct sy_pipeline_kernel *kernel) {
    bool same = sample->features.count == kernel->cost_count;
    for (uint32_t i = 0; same && i < kernel->cost_count; i++) {
        same = strcmp(sample->features.names[i], kernel->cost_names[i]) == 0;
    }
    return same;
}

/* As the pipeline calls it: samples may or may not say of which plug-in a kernel is. NULL: it has
 * no such kernel, or one with other costs. */
static const char *name_in(const struct sy_pipeline *pipeline,
                           const struct sy_cost_sample *sample) {
    for (uint32_t k = 0; k < pipeline->kernel_count; k++) {
        const struct sy_pipeline_kernel *kernel = &pipeline->kernels[k];
        if (same_kernel(kernel->kernel, sample->kernel) && same_names(sample, kernel)) {
            return kernel->kernel;
        }
    }
    return NULL;
}

static int learn(const struct sy_dype_times *times, const struct sy_pipeline *pipeline,
                 struct sy_store *store) {
    int code = 0;
    for (uint32_t i = 0; !code && i < times->count; i++) {
        struct sy_cost_sample sample = times->rows[i].sample;
        sample.kernel = name_in(pipeline, &sample);
        sample.features.width = 1; /* of devices, which may have many cores */
        if (times->rows[i].teaches && sample.kernel) {
            code = sy_store_observe(store, &sample);
        }
    }
    return code;
}

static int learn_all(const struct sy_dype_times *times, const struct sy_system *system,
                     const struct sy_pipeline *pipeline, struct sy_store *store) {
    int code = 0;
    for (uint32_t c = 0; !code && c < system->class_count; c++) {
        code = sy_store_set_roofline(store, &system->classes[c].roofline);
    }
    return code ? code : learn(times, pipeline, store);
}

int sy_dype_train(const struct sy_dype_times *times, const struct sy_system *system,
                  const struct sy_pipeline *pipeline, struct sy_store **ret_store,
                  struct sy_error *error) {
    struct sy_store *store = sy_need(sy_store_create());
    int code = learn_all(times, system, pipeline, store);
    if (code) {
        sy_store_close(store);
        return sy_fail(error, code, "%s: a time cannot be used", pipeline->name);
    }
    *ret_store = store;
    return 0;
}
