/* SPDX-License-Identifier: Apache-2.0
 *
 * jobs: a stream of jobs in one engine, each from one of several graphs.
 *
 * In: options, records. Out: what the engine is asked for; how much longer jobs took than alone.
 */
#include "cli/run/run.h"

#include <math.h>
#include <stdlib.h>

int sy_run_check_stream(const struct sy_command *command, const struct sy_run_args *args) {
    if (!args->stream) {
        return args->graphs.count > 1
                   ? sy_options_usage(command,
                                      "a run takes one graph: '%s' is one too many (--tenants, "
                                      "--load, --jobs, --arrivals, --only, --preempt, "
                                      "--split or --time-scale make a stream of several)",
                                      args->graphs.items[1])
                   : SY_EXIT_OK;
    }
    if (args->pipeline) {
        return sy_options_usage(command, "a pipeline is not a stream of jobs: without --tenants, "
                                         "--load, --jobs, --arrivals, --only, --preempt, "
                                         "--split and --time-scale");
    }
    if (args->check) {
        return sy_options_usage(command, "the results of a stream of jobs cannot be checked: "
                                         "without --check");
    }
    return SY_EXIT_OK;
}

static const char *join(const struct sy_text_list *list, const char *between,
                        struct sy_arena *arena) {
    struct sy_buffer text = {0};
    for (uint32_t i = 0; i < list->count; i++) {
        sy_buffer_printf(&text, "%s%s", i ? between : "", list->items[i]);
    }
    const char *copy = text.failed ? NULL : sy_arena_strdup(arena, text.text);
    sy_buffer_finish(&text);
    return sy_need((char *)(uintptr_t)copy);
}

void sy_run_ask_stream(const struct sy_run_args *args, struct sy_arena *arena,
                       struct sy_request *request) {
    request->spec = join(&args->graphs, ", ", arena);
    request->graphs = join(&args->graphs, "\n", arena);
    request->check = false;
}

void sy_run_job_figures(const struct sy_record *record, struct sy_arena *arena,
                        struct sy_run_figures *figures) {
    uint32_t count = record->job_count;
    double *values = sy_need(calloc(count + 1u, sizeof(*values)));
    figures->job_count = count;
    figures->slowdowns = sy_need(sy_arena_alloc(arena, count + 1u, sizeof(double)));
    for (uint32_t j = 0; j < count; j++) {
        const struct sy_record_job *job = &record->jobs[j];
        values[j] = job->end_ns - job->arrive_ns;
        figures->slowdowns[j] =
            isnan(job->alone_ns) ? (double)NAN : sy_cost_slowdown(values[j], job->alone_ns);
    }
    figures->jct_mean_ns = count ? sy_mean(values, count) : (double)NAN;
    for (uint32_t j = 0; j < count; j++) {
        values[j] = figures->slowdowns[j];
    }
    figures->slowdown_mean = count ? sy_mean(values, count) : (double)NAN;
    figures->slowdown_p99 = count ? sy_quantile(values, count, 0.99) : (double)NAN;
    free(values);
}

void sy_run_summarise_jobs(const struct sy_run_policy *policy, struct sy_run_summary *summary) {
    size_t count = 0, most = 0;
    for (uint32_t i = 0; i < policy->run_count; i++) {
        most += policy->runs[i].job_count;
    }
    double *values = sy_need(calloc(most + 1, sizeof(*values))), jct_ns = 0;
    for (uint32_t i = 0; i < policy->run_count; i++) {
        for (uint32_t j = 0; j < policy->runs[i].job_count; j++) {
            values[count++] = policy->runs[i].slowdowns[j];
        }
        jct_ns += policy->runs[i].jct_mean_ns / policy->run_count;
    }
    summary->jct_mean_ns = jct_ns;
    summary->slowdown_mean = count ? sy_mean(values, count) : (double)NAN;
    summary->slowdown_p99 = count ? sy_quantile(values, count, 0.99) : (double)NAN;
    free(values);
}
