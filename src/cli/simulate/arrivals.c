/* SPDX-License-Identifier: Apache-2.0
 *
 * arrivals: a recorded stream of jobs.
 *
 * In: a CSV file "arrive_s,tenant,weight,graph" and the graphs it names. Out: jobs. Invariant: a
 * line that names no graph, or more than one, is refused with its place.
 */
#include "base/csv.h"
#include "cli/simulate/simulate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TENANT_MAX 9999

static int find_graph(const struct sy_simulate *simulate, struct sy_csv *csv,
                      const struct sy_graph **ret_graph) {
    const struct sy_graph *found = NULL;
    for (uint32_t g = 0; g < simulate->graphs.count; g++) {
        const struct sy_graph *graph = simulate->graphs.graphs[g];
        if (sy_csv_is(csv, sy_graph_name(graph))) {
            if (found) {
                return sy_csv_fail(csv, "two graphs are called %s", sy_graph_name(graph));
            }
            found = graph;
        }
    }
    if (!found) {
        int code =
            sy_csv_fail(csv, "--graphs has no graph %.*s", (int)csv->field_length, csv->field);
        sy_hint(csv->error, "symph graph shows their names; the first is %s",
                sy_graph_name(simulate->graphs.graphs[0]));
        return code;
    }
    *ret_graph = found;
    return 0;
}

static int read_line(const struct sy_simulate *simulate, struct sy_csv *csv, struct sy_job *job) {
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
    code = code ? code : find_graph(simulate, csv, &job->graph);
    code = code ? code : sy_csv_end_line(csv);
    job->arrive_ns = arrive_s * 1e9;
    job->tenant = (uint32_t)tenant;
    return code;
}

static int read_jobs(struct sy_simulate *simulate, struct sy_csv *csv) {
    static const char *const columns[] = {"arrive_s", "tenant", "weight", "graph"};
    uint32_t capacity = 0;
    int code = sy_csv_header(csv, columns, SY_COUNT(columns));
    while (!code && sy_csv_next_line(csv)) {
        struct sy_job job = {0};
        code = read_line(simulate, csv, &job);
        code = code ? code
                    : sy_grow(&simulate->jobs, &capacity, simulate->job_count + 1,
                              sizeof(*simulate->jobs));
        if (!code) {
            simulate->jobs[simulate->job_count++] = job;
        }
    }
    if (!code && simulate->job_count == 0) {
        code = sy_fail_at(csv->error, -EINVAL, csv->file, 0, 0, "no job arrives");
    }
    return code;
}

int sy_simulate_arrivals(struct sy_simulate *simulate) {
    struct sy_error error = {0};
    struct sy_csv csv;
    char *text = NULL;
    size_t length = 0;
    if (!simulate->args->arrivals) {
        return SY_EXIT_OK;
    }
    int code = sy_read_file(simulate->args->arrivals, &text, &length, &error);
    if (!code) {
        sy_csv_init(&csv, simulate->args->arrivals, text, length, &error);
        code = read_jobs(simulate, &csv);
    }
    free(text);
    return sy_message_code(code, &error);
}
