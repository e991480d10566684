/* SPDX-License-Identifier: Apache-2.0
 *
 * symph-bench dype: data-aware planning against static plans, on a calibrated system.
 *
 * In: times, pipelines of plug-ins or files. Out: tables, JSON, a picture. Invariant: the same
 * times give the same bytes, whatever the number of threads.
 */
#include "symph-bench/dype.h"
#include "cli/threads.h"
#include "cli/train/methods.h"
#include "kernels/kernels.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *sy_dype_policy_name(enum sy_dype_policy policy) {
    static const char *const names[SY_DYPE_POLICIES] = {"ours, after probes",
                                                        "ours, first plan",
                                                        "greedy DP, estimates",
                                                        "greedy DP, true costs",
                                                        "static, hindsight",
                                                        "static, first example",
                                                        "FleetRec-like",
                                                        "GPU-only",
                                                        "FPGA-only",
                                                        "CPU-only",
                                                        "additive",
                                                        "side by side, exact"};
    return names[policy];
}

struct sy_dype_case *sy_dype_case_at(const struct sy_dype *bench, uint32_t pipeline,
                                     uint32_t example, uint32_t link,
                                     enum sy_dype_objective objective) {
    uint32_t at = bench->pipelines[pipeline].first_case +
                  (example * SY_DYPE_LINKS + link) * SY_DYPE_OBJECTIVES + (uint32_t)objective;
    return &bench->cases[at];
}

/* --- pipelines ----------------------------------------------------------------------------------
 */
__attribute__((format(printf, 3, 4))) static int
leave_out(struct sy_dype *bench, struct sy_error *error, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char *kept = sy_arena_strdup(bench->arena, text);
    if (!kept || sy_text_list_add(&bench->left_out, kept) < 0) {
        return sy_out_of_memory(error);
    }
    return 0;
}

/* NULL: all is there; else what is missing. */
static const char *missing_time(const struct sy_dype *bench, const struct sy_pipeline *pipeline,
                                const double *numbers, char *buffer, size_t size) {
    for (uint32_t k = 0; k < pipeline->kernel_count; k++) {
        const struct sy_pipeline_kernel *kernel = &pipeline->kernels[k];
        double costs[SY_PIPELINE_COST_MAX];
        uint32_t runs = 0;
        for (uint32_t i = 0; i < kernel->cost_count; i++) {
            costs[i] = numbers[kernel->costs[i]];
        }
        for (int c = 0; c < SY_DYPE_CLASSES; c++) {
            enum sy_dype_class which = (enum sy_dype_class)c;
            if (!sy_dype_times_runs(&bench->times, kernel->kernel, which)) {
                continue;
            }
            runs++;
            if (!sy_dype_times_find(&bench->times, kernel, costs, which).row_count) {
                snprintf(buffer, size, "no time for %s (%s) on %s", kernel->name, kernel->kernel,
                         bench->times.classes[c]);
                return buffer;
            }
        }
        if (!runs) {
            snprintf(buffer, size, "no time for %s (%s)", kernel->name, kernel->kernel);
            return buffer;
        }
    }
    return NULL;
}

static int check_example(struct sy_dype *bench, struct sy_dype_pipeline *of, uint32_t example,
                         struct sy_error *error) {
    const struct sy_pipeline *pipeline = of->description;
    const double *numbers = &of->numbers[(size_t)example * pipeline->expression_count];
    char buffer[256];
    const char *why = isnan(numbers[0])
                          ? "its sizes are not numbers"
                          : missing_time(bench, pipeline, numbers, buffer, sizeof buffer);
    if (why) {
        return leave_out(bench, error, "%s/%s: %s", of->name, pipeline->examples[example].name,
                         why);
    }
    of->examples[of->example_count++] = example;
    return 0;
}

/* Keeps the pipelines of which an example has all times. */
static int check_examples(struct sy_dype *bench, struct sy_error *error) {
    uint32_t kept = 0;
    int code = 0;
    for (uint32_t p = 0; p < bench->pipeline_count; p++) {
        struct sy_dype_pipeline *of = &bench->pipelines[p];
        for (uint32_t e = 0; !code && e < of->description->example_count; e++) {
            code = check_example(bench, of, e, error);
        }
        if (of->example_count || code) {
            bench->pipelines[kept++] = *of;
        } else {
            sy_pipeline_destroy(of->description);
        }
    }
    bench->pipeline_count = kept;
    if (bench->left_out.count) {
        sy_message_note(bench->args->quiet, "left out: %u examples with missing times, such as %s",
                        bench->left_out.count, bench->left_out.items[0]);
    }
    return code;
}

/* Takes the description. */
static int add_pipeline(struct sy_dype *bench, struct sy_pipeline *description, uint32_t *capacity,
                        struct sy_error *error) {
    if (sy_grow(&bench->pipelines, capacity, bench->pipeline_count + 1, sizeof *bench->pipelines) <
        0) {
        sy_pipeline_destroy(description);
        return sy_out_of_memory(error);
    }
    struct sy_dype_pipeline *of = &bench->pipelines[bench->pipeline_count++];
    *of = (struct sy_dype_pipeline){.description = description, .name = description->name};
    size_t expressions = description->expression_count, examples = description->example_count;
    of->examples = sy_need(sy_arena_alloc(bench->arena, examples + 1, sizeof *of->examples));
    of->numbers =
        sy_need(sy_arena_alloc(bench->arena, examples * expressions + 1, sizeof *of->numbers));
    for (uint32_t e = 0; e < examples; e++) {
        double *numbers = &of->numbers[e * expressions];
        if (sy_pipeline_measure(description, description->examples[e].values, numbers, NULL) < 0) {
            numbers[0] = NAN;
        }
    }
    return 0;
}

static int add_text(struct sy_dype *bench, const char *plugin,
                    const struct sy_kernel_pipeline *entry, uint32_t *capacity,
                    struct sy_error *error) {
    char name[256];
    struct sy_pipeline *description = NULL;
    snprintf(name, sizeof name, "%s:%s", plugin, entry->name);
    int code = sy_pipeline_read_text(name, entry->text, strlen(entry->text), &description, error);
    return code ? code : add_pipeline(bench, description, capacity, error);
}

static int add_named(struct sy_dype *bench, const struct sy_kernel_set *set, const char *name,
                     uint32_t *capacity, struct sy_error *error) {
    struct sy_pipeline *description = NULL;
    const char *arguments;
    if (access(name, F_OK) == 0) {
        int code = sy_pipeline_read_file(name, &description, error);
        return code ? code : add_pipeline(bench, description, capacity, error);
    }
    const struct sy_kernel_pipeline *entry = sy_kernel_set_pipeline(set, name, &arguments, error);
    if (!entry) {
        return error->message[0]
                   ? -ENOENT
                   : sy_fail(error, -ENOENT, "'%s' is neither a file nor a pipeline of a plug-in",
                             name);
    }
    return add_text(bench, "plug-in", entry, capacity, error);
}

static int find_pipelines(struct sy_dype *bench, const struct sy_kernel_set *set,
                          struct sy_error *error) {
    const struct sy_text_list *named = bench->args->pipelines;
    uint32_t capacity = 0;
    int code = 0;
    for (uint32_t i = 0; !code && i < named->count; i++) {
        code = add_named(bench, set, named->items[i], &capacity, error);
    }
    for (uint32_t t = 0; !code && !named->count && t < sy_kernel_set_count(set); t++) {
        const struct sy_kernel_table *table = sy_kernel_set_table(set, t);
        for (uint32_t p = 0; !code && p < table->pipeline_count; p++) {
            code = add_text(bench, table->name, &table->pipelines[p], &capacity, error);
        }
    }
    return code;
}

/* --- all cases ----------------------------------------------------------------------------------
 */
static void lay_out(struct sy_dype *bench) {
    for (uint32_t p = 0; p < bench->pipeline_count; p++) {
        bench->pipelines[p].first_case = bench->case_count;
        bench->case_count += bench->pipelines[p].example_count * SY_DYPE_LINKS * SY_DYPE_OBJECTIVES;
    }
    bench->unit_count = bench->pipeline_count * SY_DYPE_LINKS;
    bench->cases =
        sy_need(sy_arena_alloc(bench->arena, bench->case_count + 1u, sizeof *bench->cases));
    bench->units =
        sy_need(sy_arena_alloc(bench->arena, bench->unit_count + 1u, sizeof *bench->units));
    for (uint32_t u = 0; u < bench->unit_count; u++) {
        bench->units[u].bench = bench;
        bench->units[u].pipeline = u / SY_DYPE_LINKS;
        bench->units[u].link = u % SY_DYPE_LINKS;
    }
}

static int work_first(void *context, uint32_t worker, uint32_t item, struct sy_error *error) {
    (void)worker;
    return sy_dype_unit_run(&((struct sy_dype *)context)->units[item], error);
}

static int work_after(void *context, uint32_t worker, uint32_t item, struct sy_error *error) {
    (void)worker;
    return sy_dype_unit_after(&((struct sy_dype *)context)->units[item], error);
}

static int run_units(struct sy_dype *bench, struct sy_error *error) {
    struct sy_train_pool pool = {.thread_count = sy_threads_count(bench->args->threads)};
    struct sy_parallel parallel = sy_train_parallel(&pool);
    int code = parallel.run(parallel.pool, bench->unit_count, work_first, bench, error);
    return code ? code : parallel.run(parallel.pool, bench->unit_count, work_after, bench, error);
}

static int read_times(struct sy_dype *bench, struct sy_error *error) {
    const struct sy_text_list *named = bench->args->times;
    int code = named->count ? 0 : sy_dype_times_read(&bench->times, NULL, error);
    for (uint32_t i = 0; !code && i < named->count; i++) {
        code = sy_dype_times_read(&bench->times, named->items[i], error);
    }
    return code;
}

static int run_all(struct sy_dype *bench, struct sy_error *error) {
    struct sy_kernel_set *set = NULL;
    bench->arena = sy_need(sy_arena_create());
    int code = read_times(bench, error);
    code = code ? code : sy_kernel_set_open(bench->args->kernels, &set, error);
    code = code ? code : find_pipelines(bench, set, error);
    code = code ? code
                : sy_dype_times_end(&bench->times, bench->pipelines, bench->pipeline_count, error);
    code = code ? code : check_examples(bench, error);
    if (!code && !bench->pipeline_count) {
        code = sy_fail(error, -ENOENT, "no example of a pipeline has all its times");
        sy_hint(error, "%s",
                bench->left_out.count ? bench->left_out.items[0]
                                      : "no plug-in with pipelines was found: give --kernels or "
                                        "--pipeline");
    }
    if (!code) {
        lay_out(bench);
    }
    code = code ? code : run_units(bench, error);
    sy_kernel_set_close(set);
    return code;
}

static void finish(struct sy_dype *bench) {
    for (uint32_t u = 0; bench->units && u < bench->unit_count; u++) {
        sy_dype_unit_finish(&bench->units[u]);
    }
    for (uint32_t p = 0; p < bench->pipeline_count; p++) {
        sy_pipeline_destroy(bench->pipelines[p].description);
    }
    free(bench->pipelines);
    sy_text_list_finish(&bench->left_out);
    sy_dype_times_finish(&bench->times);
    sy_arena_destroy(bench->arena);
}

int sy_bench_dype(const struct sy_bench_dype *args, struct sy_json_writer *out,
                  struct sy_buffer *text) {
    struct sy_dype bench = {.args = args, .noise = args->noise};
    struct sy_error error = {0};
    int r = SY_EXIT_OK;
    sy_interrupt_watch();
    int code = run_all(&bench, &error);
    if (code == -ENOENT && !args->times->count && !args->pipelines->count) {
        sy_message_note(args->quiet, "left out: dype: %s", error.message);
        sy_buffer_printf(text, "Plans for pipelines on a calibrated system\n(left out: %s; %s)\n\n",
                         error.message, error.hint);
    } else if (code) {
        if (code != -ECANCELED) {
            sy_message_error(&error);
        }
        r = code == -ECANCELED ? SY_EXIT_INTERRUPTED : sy_message_exit(code);
    } else {
        sy_dype_tables(&bench, out, text);
        sy_dype_goals(&bench, out, text);
        r = args->plot ? sy_dype_plot(&bench, args->plot) : r;
    }
    finish(&bench);
    return r;
}
