/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams of jobs: as somebody recorded them, or drawn.
 *
 * In: a CSV file "arrive_s,tenant,weight,graph" and the graphs it names; or a seed. Out: jobs.
 * Invariant: a line that names no graph, or more than one, is refused with its place; what is drawn
 * depends on the seed alone.
 */
#include "base/csv.h"
#include "cost/cost.h"

#include <errno.h>
#include <stdlib.h>

#define TENANT_MAX     9999
#define STREAM_PURPOSE 0x73747265u /* random numbers no other room draws */

static int find_graph(const struct sy_graph_list *graphs, struct sy_csv *csv,
                      const struct sy_graph **ret_graph) {
    const struct sy_graph *found = NULL;
    for (uint32_t g = 0; g < graphs->count; g++) {
        const struct sy_graph *graph = graphs->graphs[g];
        if (sy_csv_is(csv, sy_graph_name(graph))) {
            if (found) {
                return sy_csv_fail(csv, "two graphs are called %s", sy_graph_name(graph));
            }
            found = graph;
        }
    }
    if (!found) {
        int code = sy_csv_fail(csv, "there is no graph %.*s", (int)csv->field_length, csv->field);
        sy_hint(csv->error, "symph graph shows their names; the first is %s",
                sy_graph_name(graphs->graphs[0]));
        return code;
    }
    *ret_graph = found;
    return 0;
}

static int read_line(const struct sy_graph_list *graphs, struct sy_csv *csv, struct sy_job *job) {
    double arrive_s = 0;
    uint64_t tenant = 0;
    int code = sy_csv_number(csv, "arrive_s", 0, 1e9, &arrive_s);
    code = code ? code : sy_csv_u64(csv, "tenant", &tenant);
    if (!code && tenant > TENANT_MAX) {
        code =
            sy_csv_fail(csv, "tenant %llu is more than %d", (unsigned long long)tenant, TENANT_MAX);
    }
    code = code ? code : sy_csv_number(csv, "weight", 1e-6, 1e6, &job->weight);
    code = code ? code : sy_csv_field(csv, "graph");
    code = code ? code : find_graph(graphs, csv, &job->graph);
    code = code ? code : sy_csv_end_line(csv);
    job->arrive_ns = arrive_s * 1e9;
    job->tenant = (uint32_t)tenant;
    return code;
}

static int read_lines(const struct sy_graph_list *graphs, struct sy_csv *csv, struct sy_job **jobs,
                      uint32_t *count) {
    static const char *const columns[] = {"arrive_s", "tenant", "weight", "graph"};
    uint32_t capacity = 0;
    int code = sy_csv_header(csv, columns, SY_COUNT(columns));
    while (!code && sy_csv_next_line(csv)) {
        struct sy_job job = {0};
        code = read_line(graphs, csv, &job);
        code = code ? code : sy_grow(jobs, &capacity, *count + 1, sizeof(**jobs));
        if (!code) {
            (*jobs)[(*count)++] = job;
        }
    }
    if (!code && *count == 0) {
        code = sy_fail_at(csv->error, -EINVAL, csv->file, 0, 0, "no job arrives");
    }
    return code;
}

int sy_jobs_read(const char *path, const struct sy_graph_list *graphs, struct sy_job **ret_jobs,
                 uint32_t *ret_count, struct sy_error *error) {
    struct sy_csv csv;
    struct sy_job *jobs = NULL;
    uint32_t count = 0;
    char *text = NULL;
    size_t length = 0;
    int code = sy_read_file(path, &text, &length, error);
    if (!code) {
        sy_csv_init(&csv, path, text, length, error);
        code = read_lines(graphs, &csv, &jobs, &count);
    }
    free(text);
    if (code) {
        free(jobs);
        return code;
    }
    *ret_jobs = jobs;
    *ret_count = count;
    return 0;
}

void sy_jobs_draw(uint64_t seed, const struct sy_graph_list *graphs, uint32_t tenants,
                  double gap_ns, struct sy_job *jobs, uint32_t count) {
    struct sy_rng rng = sy_rng_make(seed, STREAM_PURPOSE, 0);
    double now_ns = 0;
    for (uint32_t j = 0; j < count; j++) {
        uint32_t graph = sy_rng_below(&rng, graphs->count);
        jobs[j] = (struct sy_job){.graph = graphs->graphs[graph],
                                  .arrive_ns = now_ns,
                                  .tenant = j % tenants,
                                  .weight = 1};
        now_ns += gap_ns * sy_rng_exponential(&rng);
    }
}
