/* SPDX-License-Identifier: Apache-2.0
 *
 * recorded: streams of recorded jobs, which differ in length by orders of magnitude.
 *
 * In: a folder with graphs/NAME.dag, policies. Out: per recording and load the mean job slowdown of
 * each policy, and of all but the first over the first. Every policy meets the same jobs and noise,
 * and ratios are taken world by world. Invariant: the same folder and seeds give the same table.
 */
#include "symph-bench/bench.h"

#include "base/json.h"
#include "cli/table.h"
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MACHINE      "2x(cpu:8 dram:60GB/s) gpu:2@pcie3x16"
#define POLICIES     "dmdas+srpt,lb+wspt,symphony" /* the first is what others are held against */
#define ENDING       ".dag"
#define FILES_MAX    64
#define POLICIES_MAX 8
#define TITLE_SIZE   80

static const double loads[] = {0.4, 0.7, 0.95};

struct cell {
    double slowdown[POLICIES_MAX];
    struct sy_spread ratio[POLICIES_MAX]; /* over the first policy */
};

struct recorded {
    const struct sy_bench_worlds *worlds;
    struct sy_arena *arena;
    const char *list;                                      /* of policies, with commas */
    const char *policies[POLICIES_MAX], *files[FILES_MAX]; /* files without their ending, sorted */
    uint32_t policy_count, file_count;
    struct cell cells[FILES_MAX * SY_COUNT(loads)];
};

/* --- what to run ---------------------------------------------------------------------------------
 */
static int split_policies(struct recorded *r) {
    for (const char *at = r->list; *at;) {
        size_t length = strcspn(at, ",");
        if (r->policy_count == POLICIES_MAX) {
            return -E2BIG;
        }
        r->policies[r->policy_count++] = sy_need(sy_arena_strndup(r->arena, at, length));
        at += length + (at[length] == ',');
    }
    return r->policy_count < 2 ? -EINVAL : 0;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int read_folder(struct recorded *r, const char *path) {
    DIR *folder = opendir(path);
    int code = folder ? 0 : -errno;
    for (struct dirent *entry; !code && (entry = readdir(folder));) {
        size_t length = strlen(entry->d_name), ending = strlen(ENDING);
        if (length <= ending || strcmp(entry->d_name + length - ending, ENDING) != 0) {
            continue;
        }
        if (r->file_count == FILES_MAX) {
            code = -E2BIG;
            break;
        }
        r->files[r->file_count++] =
            sy_need(sy_arena_strndup(r->arena, entry->d_name, length - ending));
    }
    if (folder) {
        closedir(folder);
    }
    return code ? code : r->file_count ? 0 : -ENOENT;
}

static int list_recordings(struct recorded *r) {
    struct sy_buffer path = {0};
    sy_buffer_printf(&path, "%s/graphs", r->worlds->data);
    int code = path.failed ? -ENOMEM : read_folder(r, path.text);
    if (code) {
        sy_message_fail("%s: no *" ENDING " to read there: %s", path.failed ? "--data" : path.text,
                        strerror(-code));
    }
    sy_buffer_finish(&path);
    qsort(r->files, r->file_count, sizeof *r->files, compare_names);
    return code ? SY_EXIT_INPUT : SY_EXIT_OK;
}

/* --- running -------------------------------------------------------------------------------------
 */
static struct sy_spread ratio_of(const struct sy_simulate *simulate, uint32_t policy,
                                 double *values) {
    uint32_t count = simulate->case_count;
    for (uint32_t i = 0; i < count; i++) {
        const struct sy_run *runs = simulate->cases[i].runs;
        values[i] = runs[policy].slowdown_mean / runs[0].slowdown_mean;
    }
    return sy_bench_geomean(values, count, (struct sy_clusters){0});
}

static int run_scene(struct recorded *r, const struct sy_bench_scenario *scenario,
                     struct cell *ret_cell) {
    struct sy_scene scene = {0};
    int code = sy_scene_run(&scene, r->worlds, scenario, r->list);
    double *values = code ? NULL : calloc(scene.simulate.case_count, sizeof *values);
    for (uint32_t p = 0; values && p < r->policy_count; p++) {
        ret_cell->slowdown[p] = scene.summary[p].slowdown.value;
        ret_cell->ratio[p] = ratio_of(&scene.simulate, p, values);
    }
    code = code || values ? code : SY_EXIT_FAILED;
    free(values);
    sy_scene_finish(&scene);
    return code;
}

static int run_all(struct recorded *r) {
    int code = SY_EXIT_OK;
    for (uint32_t i = 0; !code && i < r->file_count * SY_COUNT(loads); i++) {
        const char *name = r->files[i / SY_COUNT(loads)];
        double load = loads[i % SY_COUNT(loads)];
        struct sy_buffer graphs = {0};
        sy_buffer_printf(&graphs, "data:graphs/%s" ENDING, name);
        sy_message_note(r->worlds->quiet, "%s, load %g", name, load);
        struct sy_bench_scenario scenario = {.machine = MACHINE,
                                             .graphs = {graphs.text},
                                             .accelerate = true,
                                             .accelerate_seed = 7,
                                             .max_instances = 64,
                                             .noise = 0.2,
                                             .load = load,
                                             .tenants = 4,
                                             .jobs = 25};
        code = graphs.failed ? SY_EXIT_FAILED : run_scene(r, &scenario, &r->cells[i]);
        sy_buffer_finish(&graphs);
    }
    return code;
}

/* --- the table -----------------------------------------------------------------------------------
 */
static void put_cell(const struct recorded *r, uint32_t index, struct sy_table *table) {
    const struct cell *cell = &r->cells[index];
    sy_table_cell(table, "%s", r->files[index / SY_COUNT(loads)]);
    sy_table_cell(table, "%.2f", loads[index % SY_COUNT(loads)]);
    for (uint32_t p = 0; p < r->policy_count; p++) {
        sy_table_cell(table, "%.3f", cell->slowdown[p]);
    }
    for (uint32_t p = 1; p < r->policy_count; p++) {
        const struct sy_spread *ratio = &cell->ratio[p];
        sy_table_cell(table, "%.3f [%.3f, %.3f]", ratio->value, ratio->low, ratio->high);
    }
}

/* The geometric mean of the ratios of a policy, or the largest. */
static double total(const struct recorded *r, uint32_t policy, bool largest) {
    double sum = 0, most = 0;
    uint32_t count = r->file_count * SY_COUNT(loads);
    for (uint32_t i = 0; i < count; i++) {
        sum += log(r->cells[i].ratio[policy].value) / count;
        most = fmax(most, r->cells[i].ratio[policy].value);
    }
    return largest ? most : exp(sum);
}

static void put_total(const struct recorded *r, const char *name, bool largest,
                      struct sy_table *table) {
    sy_table_cell(table, "%s", name);
    for (uint32_t p = 0; p < r->policy_count + 1; p++) {
        sy_table_cell(table, " ");
    }
    for (uint32_t p = 1; p < r->policy_count; p++) {
        sy_table_cell(table, "%.3f", total(r, p, largest));
    }
}

static void put_text(const struct recorded *r, struct sy_buffer *buffer) {
    const char *headers[2 * POLICIES_MAX + 2] = {"recording", "load"};
    char align[2 * POLICIES_MAX + 2] = "lr", titles[POLICIES_MAX][TITLE_SIZE];
    uint32_t columns = 2;
    for (uint32_t p = 0; p < r->policy_count; p++, columns++) {
        headers[columns] = r->policies[p];
        align[columns] = 'r';
    }
    for (uint32_t p = 1; p < r->policy_count; p++, columns++) {
        snprintf(titles[p], TITLE_SIZE, "%.36s / %.36s", r->policies[p], r->policies[0]);
        headers[columns] = titles[p];
        align[columns] = 'r';
    }
    struct sy_table table;
    sy_table_init(&table, headers, align);
    for (uint32_t i = 0; i < r->file_count * SY_COUNT(loads); i++) {
        put_cell(r, i, &table);
    }
    put_total(r, "geometric mean", false, &table);
    put_total(r, "largest", true, &table);
    sy_buffer_printf(
        buffer,
        "Streams of 25 recorded jobs of 4 tenants, made heterogeneous, " MACHINE
        ", noise 0.2:\nmean job slowdown (geometric mean of %u seeds from 1), and over "
        "that of %s [95 %% bootstrap intervals]\n\n",
        r->worlds->seeds, r->policies[0]);
    sy_table_write(&table, 0, false, buffer);
}

static void put_json(const struct recorded *r, struct sy_json_writer *out) {
    for (uint32_t i = 0; i < r->file_count * SY_COUNT(loads); i++) {
        const struct cell *cell = &r->cells[i];
        sy_json_print(out, "{recording: %s, load: %g, seeds: %u, over: %s",
                      r->files[i / SY_COUNT(loads)], loads[i % SY_COUNT(loads)], r->worlds->seeds,
                      r->policies[0]);
        for (uint32_t p = 0; p < r->policy_count; p++) {
            sy_json_print(out, "%s: {slowdown: %g, ratio: %g, low: %g, high: %g}", r->policies[p],
                          cell->slowdown[p], cell->ratio[p].value, cell->ratio[p].low,
                          cell->ratio[p].high);
        }
        sy_json_close(out, '}');
    }
}

static int run(struct recorded *r, struct sy_json_writer *out, struct sy_buffer *buffer) {
    int code = split_policies(r);
    if (code) {
        sy_message_fail("--policies: two to %d, the first is what the others are held against",
                        POLICIES_MAX);
        return SY_EXIT_USAGE;
    }
    code = list_recordings(r);
    code = code ? code : run_all(r);
    if (!code) {
        put_text(r, buffer);
        put_json(r, out);
    }
    return code;
}

int sy_bench_recorded(const struct sy_bench_worlds *worlds, const char *policies,
                      struct sy_json_writer *writer, struct sy_buffer *buffer) {
    if (!worlds->data) {
        sy_message_note(worlds->quiet, "left out: streams of recorded jobs: needs --data");
        sy_buffer_printf(buffer, "Streams of recorded jobs\n(left out: needs --data)\n\n");
        return SY_EXIT_OK;
    }
    struct recorded *r = sy_need(calloc(1, sizeof *r));
    *r = (struct recorded){
        .worlds = worlds, .arena = sy_arena_create(), .list = policies ? policies : POLICIES};
    int code = run(r, writer, buffer);
    sy_arena_destroy(r->arena);
    free(r);
    return code;
}
