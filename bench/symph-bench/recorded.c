/* SPDX-License-Identifier: Apache-2.0
 *
 * recorded: streams of recorded jobs, which differ in length by orders of magnitude.
 *
 * In: a folder with graphs/NAME.dag, policies. Out: per recording and load job slowdowns under each
 * policy, plain and preempting: mean, 99th percentile, and mean of the longest fifth of the jobs;
 * their ratios to the first policy, and over all to the strongest plain one. Every policy meets the
 * same jobs and noise, and ratios are taken world by world. Invariant: the same folder and seeds
 * give the same table, where deciding is free.
 */
#include "symph-bench/bench.h"

#include "base/json.h"
#include "cli/table.h"
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MACHINE "2x(cpu:8 dram:60GB/s) gpu:2@pcie3x16"
/* The first is what others are held against. */
#define POLICIES     "dmdas+srpt,paragon+srpt,lb+fair,lb+wspt,lb-cont+wspt,symphony"
#define PREEMPTING   "lb+wspt,lb-cont+wspt,symphony" /* with SY_PREEMPT as well */
#define STRONGEST    "lb-cont+wspt"                  /* of those that have learned nothing */
#define SUFFIX       " --preempt"
#define JOBS         60
#define INSTANCES    8
#define WITHIN       40
#define ENDING       ".dag"
#define FILES_MAX    64
#define POLICIES_MAX 8
#define ENTRIES_MAX  (2 * POLICIES_MAX)
#define LOADS        3u

static const double loads[LOADS] = {0.4, 0.7, 0.95};

enum { MEAN, P99, LONGEST, FIGURES };

struct recorded {
    const struct sy_bench_worlds *worlds;
    struct sy_arena *arena;
    const char *list, *preempting;      /* of policies, with commas */
    const char *entries[ENTRIES_MAX];   /* policies, those that preempt with a suffix */
    uint32_t entry_count, plain_count;  /* plain ones first */
    const char *files[FILES_MAX];       /* without their ending, sorted */
    uint32_t file_count, world_count;   /* worlds: by file, load, seed */
    double *slowdown;                   /* [(entry * FIGURES + figure) * world_count + world] */
    double *ratios;                     /* room for one per world */
    uint32_t *of_recording, *of_stream; /* per world; the same jobs arrive at every load */
};

/* --- what to run ---------------------------------------------------------------------------------
 */
static int add_entries(struct recorded *r, const char *list, const char *suffix) {
    for (const char *at = list; *at;) {
        size_t length = strcspn(at, ",");
        struct sy_buffer name = {0};
        if (r->entry_count == ENTRIES_MAX) {
            return -E2BIG;
        }
        sy_buffer_printf(&name, "%.*s%s", (int)length, at, suffix);
        r->entries[r->entry_count++] =
            sy_need(name.failed ? NULL : sy_arena_strndup(r->arena, name.text, name.length));
        sy_buffer_finish(&name);
        at += length + (at[length] == ',');
    }
    return 0;
}

/* The first only serves to hold others against. */
static int split_policies(struct recorded *r, const char *given) {
    const char *rest = given ? strchr(given, ',') : NULL;
    r->list = given ? given : POLICIES;
    r->preempting = rest ? rest + 1 : given ? "" : PREEMPTING;
    int code = add_entries(r, r->list, "");
    r->plain_count = r->entry_count;
    if (code || r->plain_count < 2 || r->plain_count > POLICIES_MAX) {
        return -EINVAL;
    }
    return add_entries(r, r->preempting, SUFFIX);
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
static double *values_of(const struct recorded *r, uint32_t entry, uint32_t figure) {
    return r->slowdown + (size_t)(entry * FIGURES + figure) * r->world_count;
}

static int run_scene(struct recorded *r, const struct sy_bench_scenario *scenario, uint32_t cell) {
    struct sy_scene scene = {0};
    uint32_t first = scenario->preempt ? r->plain_count : 0, seeds = r->worlds->seeds;
    int code =
        sy_scene_run(&scene, r->worlds, scenario, scenario->preempt ? r->preempting : r->list);
    for (uint32_t p = 0; !code && p < scene.simulate.policies.count; p++) {
        for (uint32_t i = 0; i < scene.simulate.case_count; i++) {
            const struct sy_run *run = &scene.simulate.cases[i].runs[p];
            uint32_t world = cell * seeds + i;
            values_of(r, first + p, MEAN)[world] = run->slowdown_mean;
            values_of(r, first + p, P99)[world] = run->slowdown_p99;
            values_of(r, first + p, LONGEST)[world] = run->slowdown_long;
        }
    }
    sy_scene_finish(&scene);
    return code;
}

static int run_cell(struct recorded *r, uint32_t cell) {
    const char *name = r->files[cell / LOADS];
    double load = loads[cell % LOADS];
    struct sy_buffer graphs = {0};
    sy_buffer_printf(&graphs, "data:graphs/%s" ENDING, name);
    sy_message_note(r->worlds->quiet, "%s, load %g", name, load);
    struct sy_bench_scenario scenario = {.machine = MACHINE,
                                         .graphs = {graphs.text},
                                         .accelerate = true,
                                         .accelerate_seed = 7,
                                         .max_instances = INSTANCES,
                                         .within = WITHIN,
                                         .noise = 0.2,
                                         .load = load,
                                         .tenants = 4,
                                         .jobs = JOBS};
    int code = graphs.failed ? SY_EXIT_FAILED : run_scene(r, &scenario, cell);
    scenario.preempt = true;
    if (!code && r->entry_count > r->plain_count) {
        code = run_scene(r, &scenario, cell);
    }
    sy_buffer_finish(&graphs);
    return code;
}

static int run_all(struct recorded *r) {
    uint32_t seeds = r->worlds->seeds, cells = r->file_count * LOADS;
    r->world_count = cells * seeds;
    r->slowdown =
        sy_need(calloc((size_t)r->entry_count * FIGURES * r->world_count, sizeof *r->slowdown));
    r->ratios = sy_need(calloc(r->world_count, sizeof *r->ratios));
    r->of_recording = sy_need(calloc(r->world_count, sizeof *r->of_recording));
    r->of_stream = sy_need(calloc(r->world_count, sizeof *r->of_stream));
    for (uint32_t world = 0; world < r->world_count; world++) {
        r->of_recording[world] = world / (LOADS * seeds);
        r->of_stream[world] = r->of_recording[world] * seeds + world % seeds;
    }
    int code = SY_EXIT_OK;
    for (uint32_t cell = 0; !code && cell < cells; cell++) {
        code = run_cell(r, cell);
    }
    return code;
}

/* --- what came of it ----------------------------------------------------------------------------
 */
/* Of a cell, or of all (SY_NONE): worlds from the first on. */
static uint32_t worlds_of(const struct recorded *r, uint32_t cell, uint32_t *ret_first) {
    *ret_first = cell == SY_NONE ? 0 : cell * r->worlds->seeds;
    return cell == SY_NONE ? r->world_count : r->worlds->seeds;
}

static double slowdown_of(const struct recorded *r, uint32_t entry, uint32_t figure,
                          uint32_t cell) {
    uint32_t first, count = worlds_of(r, cell, &first);
    return sy_geomean(values_of(r, entry, figure) + first, count);
}

static struct sy_spread ratio_of(const struct recorded *r, uint32_t entry, uint32_t over,
                                 uint32_t figure, uint32_t cell) {
    uint32_t first, count = worlds_of(r, cell, &first);
    const double *here = values_of(r, entry, figure) + first;
    const double *there = values_of(r, over, figure) + first;
    for (uint32_t i = 0; i < count; i++) {
        r->ratios[i] = here[i] / there[i];
    }
    struct sy_clusters groups = {.outer = r->of_recording, .inner = r->of_stream};
    return sy_bench_geomean(r->ratios, count, cell == SY_NONE ? groups : (struct sy_clusters){0});
}

/* The recording and load of the largest ratio of means. */
static struct sy_spread largest_of(const struct recorded *r, uint32_t entry, uint32_t over,
                                   uint32_t *ret_cell) {
    struct sy_spread largest = {-INFINITY, NAN, NAN};
    for (uint32_t cell = 0; cell < r->file_count * LOADS; cell++) {
        struct sy_spread here = ratio_of(r, entry, over, MEAN, cell);
        if (here.value > largest.value) {
            largest = here;
            *ret_cell = cell;
        }
    }
    return largest;
}

/* --- tables -------------------------------------------------------------------------------------
 */
static void put_spread(struct sy_table *table, struct sy_spread value) {
    sy_table_cell(table, "%.3f [%.3f, %.3f]", value.value, value.low, value.high);
}

static void put_ratios(const struct recorded *r, uint32_t entry, uint32_t over, uint32_t cell,
                       struct sy_table *table) {
    for (uint32_t f = 0; f < FIGURES; f++) {
        if (entry == over) {
            sy_table_cell(table, "1");
        } else {
            put_spread(table, ratio_of(r, entry, over, f, cell));
        }
    }
}

/* All worlds together. */
static void put_total(const struct recorded *r, uint32_t over, struct sy_buffer *buffer) {
    static const char *const headers[] = {"policy",
                                          "mean",
                                          "p99",
                                          "longest fifth",
                                          "mean, ratio",
                                          "p99, ratio",
                                          "longest fifth, ratio",
                                          "largest mean ratio",
                                          "where"};
    struct sy_table table;
    sy_table_init(&table, headers, "lrrrrrrrl");
    for (uint32_t e = 0; e < r->entry_count; e++) {
        uint32_t cell = 0;
        struct sy_spread largest = largest_of(r, e, over, &cell);
        sy_table_cell(&table, "%s", r->entries[e]);
        for (uint32_t f = 0; f < FIGURES; f++) {
            sy_table_cell(&table, "%.3f", slowdown_of(r, e, f, SY_NONE));
        }
        put_ratios(r, e, over, SY_NONE, &table);
        if (e == over) {
            sy_table_cell(&table, "1|");
        } else {
            put_spread(&table, largest);
            sy_table_cell(&table, "%s %.2f", r->files[cell / LOADS], loads[cell % LOADS]);
        }
    }
    sy_buffer_printf(buffer, "All recordings and loads, ratios to %s\n\n", r->entries[over]);
    sy_table_write(&table, 0, false, buffer);
    sy_buffer_printf(buffer, "\n");
}

static void put_cells(const struct recorded *r, struct sy_buffer *buffer) {
    static const char *const headers[] = {"recording",   "load",       "policy",
                                          "mean",        "p99",        "longest fifth",
                                          "mean, ratio", "p99, ratio", "longest fifth, ratio"};
    struct sy_table table;
    sy_table_init(&table, headers, "lrlrrrrrr");
    for (uint32_t cell = 0; cell < r->file_count * LOADS; cell++) {
        for (uint32_t e = 0; e < r->entry_count; e++) {
            sy_table_cell(&table, "%s|%.2f|%s", r->files[cell / LOADS], loads[cell % LOADS],
                          r->entries[e]);
            for (uint32_t f = 0; f < FIGURES; f++) {
                sy_table_cell(&table, "%.3f", slowdown_of(r, e, f, cell));
            }
            put_ratios(r, e, 0, cell, &table);
        }
    }
    sy_buffer_printf(buffer, "Each recording and load, ratios to %s\n\n", r->entries[0]);
    sy_table_write(&table, 0, false, buffer);
}

/* The policy that has learned nothing and is the strongest; SY_NONE: it does not run, or is first.
 */
static uint32_t strongest(const struct recorded *r) {
    uint32_t entry = sy_index_of(STRONGEST, r->entries, r->plain_count, sizeof *r->entries);
    return entry ? entry : SY_NONE;
}

static void put_text(const struct recorded *r, struct sy_buffer *buffer) {
    bool charged = strcmp(r->worlds->decision_time, SY_MEASURED) == 0;
    sy_buffer_printf(
        buffer,
        "Streams of %u recorded jobs of 4 tenants, made heterogeneous, " MACHINE
        ", noise 0.2.\nRecorded stages are folded into %u tasks. Jobs have three stages or more, "
        "and "
        "at most %u times the work of the\nmiddle one or its part: one that is far longer would "
        "leave a stream empty but for it.\n\nJob slowdowns: mean, 99th percentile, and mean of the "
        "jobs whose time alone is in the longest fifth; geometric means\nof %u streams for each "
        "recording and load (seeds from 1). Ratios: stream by stream [95 %% bootstrap intervals; "
        "of "
        "all:\nover recordings, then streams, as the same jobs arrive at every load]. --preempt: "
        "cores put a task aside for one of a\nshorter job.%s\n\n",
        JOBS, INSTANCES, WITHIN, r->worlds->seeds,
        charged ? " The time that policies take here to plan and decide is charged." : "");
    put_total(r, 0, buffer);
    if (strongest(r) != SY_NONE) {
        put_total(r, strongest(r), buffer);
    }
    put_cells(r, buffer);
}

static void put_figure(const struct recorded *r, uint32_t entry, uint32_t over, uint32_t figure,
                       uint32_t cell, struct sy_json_writer *out) {
    struct sy_spread ratio = ratio_of(r, entry, over, figure, cell);
    sy_json_print(out, "slowdown: %g, ratio: %g, low: %g, high: %g",
                  slowdown_of(r, entry, figure, cell), ratio.value, ratio.low, ratio.high);
}

/* The members of the mean stand first in a policy's object. */
static void put_row(const struct recorded *r, uint32_t over, uint32_t cell,
                    struct sy_json_writer *out) {
    sy_json_print(out, "{recording: %s, load: %g, seeds: %u, over: %s",
                  cell == SY_NONE ? "all" : r->files[cell / LOADS],
                  cell == SY_NONE ? NAN : loads[cell % LOADS], r->worlds->seeds, r->entries[over]);
    for (uint32_t e = 0; e < r->entry_count; e++) {
        sy_json_open_member(out, r->entries[e], '{');
        put_figure(r, e, over, MEAN, cell, out);
        sy_json_open_member(out, "p99", '{');
        put_figure(r, e, over, P99, cell, out);
        sy_json_close(out, '}');
        sy_json_open_member(out, "longest_fifth", '{');
        put_figure(r, e, over, LONGEST, cell, out);
        sy_json_close(out, '}');
        sy_json_close(out, '}');
    }
    sy_json_close(out, '}');
}

static void put_json(const struct recorded *r, struct sy_json_writer *out) {
    for (uint32_t cell = 0; cell < r->file_count * LOADS; cell++) {
        put_row(r, 0, cell, out);
    }
    put_row(r, 0, SY_NONE, out);
    if (strongest(r) != SY_NONE) {
        put_row(r, strongest(r), SY_NONE, out);
    }
}

static int run(struct recorded *r, const char *policies, struct sy_json_writer *out,
               struct sy_buffer *buffer) {
    if (split_policies(r, policies)) {
        sy_message_fail("--policies: two to %d, the first is what the others are held against",
                        POLICIES_MAX);
        return SY_EXIT_USAGE;
    }
    int code = list_recordings(r);
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
    *r = (struct recorded){.worlds = worlds, .arena = sy_arena_create()};
    int code = run(r, policies, writer, buffer);
    free(r->slowdown);
    free(r->ratios);
    free(r->of_recording);
    free(r->of_stream);
    sy_arena_destroy(r->arena);
    free(r);
    return code;
}
