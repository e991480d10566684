/* SPDX-License-Identifier: Apache-2.0
 *
 * Made-up runs: times and places drawn at random within what a record may hold.
 */
#include "sample.h"
#include "graph/graph.h"
#include "topology/topology.h"
#include <math.h>

static double draw_ns(struct sy_rng *rng) {
    return (double)sy_rng_below(rng, 1000000000);
}

/* A time that may be unknown or never. */
static double draw_any(struct sy_rng *rng) {
    uint32_t luck = sy_rng_below(rng, 10);
    return luck == 0 ? NAN : luck == 1 ? INFINITY : draw_ns(rng);
}

static void draw_task(struct sy_record *record, struct sy_rng *rng, struct sy_record_task *task) {
    bool ran = sy_rng_below(rng, 8) > 0;
    *task = (struct sy_record_task){.device = SY_NONE,
                                    .submitted_ns = draw_ns(rng),
                                    .ready_ns = sy_rng_below(rng, 4) ? draw_ns(rng) : NAN,
                                    .start_ns = NAN,
                                    .end_ns = NAN,
                                    .predicted_ns = draw_any(rng)};
    if (ran) {
        task->device = sy_rng_below(rng, record->machine->device_count);
        task->start_ns = draw_ns(rng);
        task->end_ns = task->start_ns + draw_ns(rng);
    }
}

static void draw_decision(struct sy_record *record, struct sy_rng *rng, struct sy_decided *item) {
    uint32_t devices = record->machine->device_count;
    *item = (struct sy_decided){.at_ns = draw_ns(rng),
                                .priority = sy_rng_normal(rng) * 1e6,
                                .task = sy_rng_below(rng, record->graph->task_count),
                                .device = sy_rng_below(rng, devices),
                                .ready_count = sy_rng_u32(rng) >> 1,
                                .alternative_count = sy_rng_below(rng, SY_ALTERNATIVE_MAX + 1)};
    if (sy_rng_below(rng, 2)) {
        item->reason = (struct sy_reason){
            .guard = (enum sy_guard)sy_rng_below(rng, SY_GUARD_PLAN + 1),
            .finish_ns = (float)draw_ns(rng),
            .correction_ns = (float)(draw_ns(rng) - 5e8),
            .slowdown = (float)(1 + (double)sy_rng_below(rng, 20000) / 1e4),
            .slowdown_sd = (float)((double)sy_rng_below(rng, 20000) / 1e4),
            .utilisation =
                sy_rng_below(rng, 4) ? (float)((double)sy_rng_below(rng, 10000) / 1e4) : NAN};
    }
    for (uint32_t i = 0; i < item->alternative_count; i++) {
        item->alternatives[i] =
            (struct sy_alternative){.device = i ? sy_rng_below(rng, devices) : item->device,
                                    .queue_ns = draw_any(rng),
                                    .inputs_ns = draw_any(rng),
                                    .exec_ns = draw_any(rng),
                                    .finish_ns = draw_any(rng),
                                    .log_sigma = (double)sy_rng_below(rng, 20000) / 1e4};
    }
}

static void draw_span(struct sy_record *record, struct sy_rng *rng) {
    struct sy_span span = {.kind = sy_rng_below(rng, SY_SPAN_KINDS), .from = SY_NONE};
    bool is_copy = span.kind == SY_SPAN_TRANSFER;
    uint32_t subjects = is_copy                            ? record->graph->data_count
                        : span.kind == SY_SPAN_RECONFIGURE ? record->graph->kernel_count
                                                           : record->graph->task_count;
    span.subject = span.kind == SY_SPAN_LOST ? SY_NONE : sy_rng_below(rng, subjects);
    span.place =
        sy_rng_below(rng, is_copy ? record->machine->memory_count : record->machine->device_count);
    if (is_copy) {
        span.from = sy_rng_below(rng, record->machine->memory_count);
        span.bytes = draw_ns(rng);
    }
    span.start_ns = draw_ns(rng);
    span.end_ns = span.start_ns + draw_ns(rng);
    sy_trace_add(&record->trace, &span);
}

static void add_jobs(struct sy_record *record, struct sy_rng *rng) {
    static struct sy_record_job jobs[2];
    uint32_t tasks = record->graph->task_count;
    if (tasks > 1 && sy_rng_below(rng, 2)) {
        jobs[0] = (struct sy_record_job){"tpch q\"1", 0, 0, 1, 2.5, 0, 1e9, NAN};
        jobs[1] = (struct sy_record_job){"", 9999, 1, tasks - 1, 1, 17, 18, 1e9};
        record->jobs = jobs;
        record->job_count = SY_COUNT(jobs);
    }
}

static void fill(struct sy_record *record, struct sy_rng *rng) {
    uint32_t tasks = record->graph->task_count, classes = record->machine->class_count;
    uint32_t memories = record->machine->memory_count;
    record->spec = "linalg:cholesky:n=\"\xc3\xa4\"";
    record->policy = "lb";
    record->runtime = "StarPU 1.3.10";
    record->host = "h";
    record->date = "2024-02-29T12:00:00Z";
    record->makespan_ns = draw_ns(rng);
    record->tasks = sy_arena_alloc(record->arena, tasks + 1, sizeof *record->tasks);
    record->model_ns = sy_arena_alloc(record->arena, tasks * classes + 1, sizeof(double));
    record->moved_bytes = sy_arena_alloc(record->arena, memories * memories, sizeof(double));
    record->decision_count = tasks ? sy_rng_below(rng, 2 * tasks) : 0;
    record->decisions =
        sy_arena_alloc(record->arena, record->decision_count + 1, sizeof *record->decisions);
    SY_ASSERT(record->tasks && record->model_ns && record->moved_bytes && record->decisions);
    for (uint32_t t = 0; t < tasks; t++) {
        draw_task(record, rng, &record->tasks[t]);
    }
    for (uint32_t i = 0; i < tasks * classes; i++) {
        record->model_ns[i] = draw_any(rng);
    }
    for (uint32_t i = 0; i < memories * memories; i++) {
        record->moved_bytes[i] = sy_rng_below(rng, 2) ? draw_ns(rng) : 0;
    }
    for (uint32_t i = 0; i < record->decision_count; i++) {
        draw_decision(record, rng, &record->decisions[i]);
    }
    for (uint32_t i = 0; i < tasks; i++) {
        draw_span(record, rng);
    }
    if (sy_rng_below(rng, 2)) {
        record->energy_joules = 12.5;
        record->energy_source = "rapl";
        record->result_error = sy_rng_below(rng, 2) ? 1e-14 : INFINITY;
        record->result_tolerance = 1e-10;
        record->decision_p50_ns = 800;
        record->decision_p99_ns = 2500;
    }
    if (sy_rng_below(rng, 2)) {
        static const struct sy_note notes[] = {{"items", "200"}, {"\"", ""}};
        record->notes = notes;
        record->note_count = SY_COUNT(notes);
    }
    add_jobs(record, rng);
    if (sy_rng_below(rng, 2)) {
        static const struct sy_stream_phase phases[] = {
            {0, 7, "a+b@gpu | c@cpu:4x2", "first", 1e6, 900.5, 2e6, 3e6, NAN},
            {7, 193, "a@gpu", "drift", 123.25, NAN, 1, 2, 0.125}};
        static const struct sy_stream_report stream = {
            "gcn",  "energy",        200, 13, 6, 0.1, 0.25, 1.5e6, 3e6, NAN, 1e-9, 1e-6, 17,
            phases, SY_COUNT(phases)};
        record->stream = &stream;
    }
}

struct sy_record *sample_record(const char *graph, const char *machine, struct sy_rng *rng) {
    struct sy_record *record = sy_record_create();
    struct sy_error error = {0};
    SY_ASSERT(record && sy_graph_generate(graph, &record->graph, &error) == 0 &&
              sy_machine_parse(machine, &record->machine, &error) == 0);
    fill(record, rng);
    return record;
}
