/* SPDX-License-Identifier: Apache-2.0
 *
 * show: what runs, as text and as JSON. Unknown values are "-" and null.
 */
#include "base/json.h"
#include "cli/table.h"
#include "cli/top/top.h"
#include "cli/units.h"

#include <math.h>
#include <string.h>

#define PROGRAM_WIDTH 40
#define KERNEL_WIDTH  40

static void put_programs(const struct sy_top *now, const struct sy_top *then,
                         struct sy_buffer *out) {
    static const char *const headers[] = {"pid",     "policy", "done", "running", "ready",
                                          "waiting", "busy",   "time", "program"};
    struct sy_table table;
    sy_table_init(&table, headers, "rlrrrrrrl");
    for (uint32_t i = 0; i < now->count; i++) {
        const struct sy_status_seen *p = &now->programs[i];
        uint64_t known = p->done_count + p->running_count + p->ready_count;
        bool says = p->worker_count > 0;
        sy_table_cell(&table, "%u|%.24s|%s", (uint32_t)p->pid, p->policy[0] ? p->policy : "-",
                      sy_units_text("%llu", (unsigned long long)p->done_count).text);
        sy_table_cell(
            &table, "%s|%s|%s|%s|%s",
            says ? sy_units_text("%llu", (unsigned long long)p->running_count).text : "-",
            says ? sy_units_text("%llu", (unsigned long long)p->ready_count).text : "-",
            sy_units_text("%llu",
                          (unsigned long long)(p->task_count > known ? p->task_count - known : 0))
                .text,
            sy_units_percent(sy_top_mean_ratio(now, then, i)).text,
            says ? sy_units_time(p->age_ns).text : p->phase);
        sy_table_cell(&table, "%.*s", PROGRAM_WIDTH, p->program);
    }
    sy_table_write(&table, 0, sy_message_colour(stdout), out);
}

static void put_workers(const struct sy_top *now, const struct sy_top *then,
                        struct sy_buffer *out) {
    static const char *const headers[] = {"pid", "worker", "done", "busy", "for", "kernel"};
    struct sy_table table;
    sy_table_init(&table, headers, "rlrrrl");
    for (uint32_t i = 0; i < now->count; i++) {
        const struct sy_status_seen *p = &now->programs[i];
        for (uint32_t w = 0; w < p->worker_count; w++) {
            const struct sy_status_seen_worker *worker = &p->workers[w];
            sy_table_cell(&table, "%u|%s|%s|%s|%s|%.*s", (uint32_t)p->pid, worker->name,
                          sy_units_text("%llu", (unsigned long long)worker->done_count).text,
                          sy_units_percent(sy_top_busy_ratio(now, then, i, w)).text,
                          sy_units_time(worker->since_ns).text, KERNEL_WIDTH,
                          worker->kernel[0] ? worker->kernel : "-");
        }
    }
    sy_table_write(&table, 0, sy_message_colour(stdout), out);
}

/* The first so many lines. */
static void cut(struct sy_buffer *out, uint32_t rows) {
    size_t at = 0;
    for (uint32_t i = 0; i < rows && at < out->length; i++) {
        const char *end = memchr(out->text + at, '\n', out->length - at);
        at = end ? (size_t)(end - out->text) + 1 : out->length;
    }
    out->length = at;
}

void sy_top_text(const struct sy_top *now, const struct sy_top *then, uint32_t rows,
                 struct sy_buffer *out) {
    if (now->count == 0) {
        sy_print(out, "No program runs under a policy of symph (symph run and symph starpu start "
                      "such programs).\n");
    } else {
        put_programs(now, then, out);
        sy_table_legend("done, running, ready, waiting: tasks, waiting for others or for the "
                        "program; busy: share of the time that workers spent in tasks, since the "
                        "last look or the first task; time: since the first task, or what the "
                        "engine does.",
                        0, out);
        sy_print(out, "\n");
        put_workers(now, then, out);
        sy_table_legend("for: how long the worker has run what it runs now.", 0, out);
    }
    if (!out->failed && rows != UINT32_MAX) {
        cut(out, rows);
    }
}

/* --- JSON ---------------------------------------------------------------------------------------
 */
static void put_count(struct sy_json_writer *writer, const char *key, uint64_t count, bool known) {
    sy_json_key(writer, key);
    if (known) {
        sy_json_put_u64(writer, count);
    } else {
        sy_json_put_null(writer);
    }
}

static void put_number(struct sy_json_writer *writer, const char *key, double value) {
    sy_json_key(writer, key);
    if (isfinite(value)) {
        sy_json_put_number(writer, value);
    } else {
        sy_json_put_null(writer);
    }
}

static void put_worker(struct sy_json_writer *writer, const struct sy_top *now,
                       const struct sy_top *then, uint32_t program, uint32_t index) {
    const struct sy_status_seen_worker *worker = &now->programs[program].workers[index];
    sy_json_open(writer, '{');
    sy_json_member_string(writer, "name", worker->name);
    put_count(writer, "done", worker->done_count, true);
    put_count(writer, "running", worker->running_count, true);
    sy_json_member_string(writer, "kernel", worker->kernel[0] ? worker->kernel : NULL);
    put_number(writer, "since_ns", rint(worker->since_ns));
    put_number(writer, "busy_ns", rint(worker->busy_ns));
    put_number(writer, "busy_ratio", sy_top_busy_ratio(now, then, program, index));
    sy_json_close(writer, '}');
}

int sy_top_json(const struct sy_top *now, const struct sy_top *then) {
    struct sy_json_writer writer = {.compact_from = 3};
    sy_json_print(&writer, "{schema: %s, programs: [", "symph-top-1");
    for (uint32_t i = 0; i < now->count; i++) {
        const struct sy_status_seen *p = &now->programs[i];
        bool says = p->worker_count > 0;
        sy_json_print(&writer, "{pid: %u, program: %s, policy: %s, engine: %d, phase: %s",
                      (uint32_t)p->pid, p->program, p->policy, p->engine, p->phase);
        put_count(&writer, "submitted", p->task_count, true);
        put_count(&writer, "done", p->done_count, true);
        put_count(&writer, "running", p->running_count, says);
        put_count(&writer, "ready", p->ready_count, says);
        put_number(&writer, "age_ns", says ? rint(p->age_ns) : NAN);
        put_number(&writer, "busy_ratio", sy_top_mean_ratio(now, then, i));
        sy_json_open_member(&writer, "workers", '[');
        for (uint32_t w = 0; w < p->worker_count; w++) {
            put_worker(&writer, now, then, i, w);
        }
        sy_json_close(&writer, ']');
        sy_json_close(&writer, '}');
    }
    sy_json_print(&writer, "]}");
    return sy_output(&writer.buffer);
}
