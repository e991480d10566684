/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader of StarPU's tasks.rec: blocks of "Key: value" lines, one task each, a blank line between.
 *
 * In: text. Out: one sealed explicit graph. Times are those of the recorded run: what ran from the
 * main memory (MemoryNode 0) is a CPU time, the rest GPU times; a kernel's variant is the mean of
 * what was seen. A block without Model becomes a task that takes no time anywhere. Dependencies on
 * tasks that the recording left out are dropped, as StarPU hides some of its own.
 */
#include "graph/internal.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LATEST_MS 1e15

struct span {
    const char *text;
    size_t length;
};

struct wait {
    struct span job;
    uint32_t task;
};

struct mean {
    double sum_ns;
    uint32_t count;
};

struct reader {
    struct sy_lines lines;
    struct sy_graph *graph;
    struct sy_map jobs, handles;
    struct sy_buffer name;
    struct wait *waits;
    struct mean *means; /* [kernel * 2 + accelerator] */
    uint32_t *job_lines;
    uint32_t wait_count, wait_capacity, mean_capacity, job_line_capacity;
    /* The block being read. */
    uint32_t block_line; /* 0: no block */
    struct span job, title, model;
    double start_ms, end_ms, flops; /* negative: not given */
    bool is_accelerator;
    struct sy_access *accesses;
    double *sizes;
    uint32_t handle_count, mode_count, size_count, access_capacity, size_capacity;
    uint32_t first_wait;
};

static struct span rest_of_line(struct reader *reader) {
    const char *at = reader->lines.word_end, *end = reader->lines.line_end;
    while (at < end && (*at == ' ' || *at == '\t')) {
        at++;
    }
    while (end > at && (end[-1] == '\r' || end[-1] == ' ')) {
        end--;
    }
    reader->lines.word = at;
    reader->lines.word_end = reader->lines.line_end;
    return (struct span){at, (size_t)(end - at)};
}

/* --- values ----------------------------------------------------------------------------------- */

static int read_title(struct reader *reader) {
    reader->title = rest_of_line(reader);
    return 0;
}

static int read_model(struct reader *reader) {
    reader->model = rest_of_line(reader);
    return 0;
}

static int read_job(struct reader *reader) {
    if (!sy_lines_word(&reader->lines)) {
        return sy_lines_fail(&reader->lines, "the line ends before the job's number");
    }
    reader->job =
        (struct span){reader->lines.word, (size_t)(reader->lines.word_end - reader->lines.word)};
    return 0;
}

static int read_depends(struct reader *reader) {
    while (sy_lines_word(&reader->lines)) {
        if (sy_append(&reader->waits, &reader->wait_capacity, &reader->wait_count,
                      &(struct wait){.job = {reader->lines.word, (size_t)(reader->lines.word_end -
                                                                          reader->lines.word)}},
                      sizeof *reader->waits)) {
            return sy_out_of_memory(reader->lines.error);
        }
    }
    return 0;
}

static int read_node(struct reader *reader) {
    uint64_t node = 0;
    int code = sy_lines_u64(&reader->lines, "memory node", UINT32_MAX, &node);
    reader->is_accelerator = node > 0;
    return code;
}

static int read_ms(struct reader *reader, const char *what, double *ret_ms) {
    int code = sy_lines_double(&reader->lines, what, ret_ms);
    if (!code && *ret_ms > LATEST_MS) {
        code = sy_lines_fail(&reader->lines, "the %s is later than %g ms", what, LATEST_MS);
    }
    return code;
}

static int read_start(struct reader *reader) {
    return read_ms(reader, "start time", &reader->start_ms);
}

static int read_end(struct reader *reader) {
    return read_ms(reader, "end time", &reader->end_ms);
}

static int read_gflop(struct reader *reader) {
    int code = sy_lines_double(&reader->lines, "number of operations", &reader->flops);
    if (!code && reader->flops > 1e18) {
        code = sy_lines_fail(&reader->lines, "the number of operations is too large");
    }
    reader->flops *= 1e9;
    return code;
}

static int grow_accesses(struct reader *reader, uint32_t need) {
    return sy_grow(&reader->accesses, &reader->access_capacity, need, sizeof *reader->accesses) < 0
               ? sy_out_of_memory(reader->lines.error)
               : 0;
}

static int read_handles(struct reader *reader) {
    struct sy_lines *lines = &reader->lines;
    reader->handle_count = 0;
    while (sy_lines_word(lines)) {
        size_t length = (size_t)(lines->word_end - lines->word);
        uint32_t datum;
        int code = grow_accesses(reader, reader->handle_count + 1);
        if (code) {
            return code;
        }
        if (!sy_map_get(&reader->handles, lines->word, length, &datum)) {
            sy_data_id added;
            reader->name.length = 0;
            sy_buffer_append(&reader->name, lines->word, length);
            if (reader->name.failed ||
                sy_graph_add_data(reader->graph, reader->name.text, 0, &added) < 0 ||
                sy_map_put(&reader->handles, lines->word, length, added.index) < 0) {
                return sy_out_of_memory(reader->lines.error);
            }
            datum = added.index;
        }
        reader->accesses[reader->handle_count++].datum = datum;
    }
    return 0;
}

/* R, W, RW; S: scratch, not data; X: a reduction, which reads and writes. */
static uint32_t mode_of(const char *word, const char *end) {
    uint32_t mode = 0;
    for (; word < end; word++) {
        mode |= *word == 'R' ? SY_READ : *word == 'W' ? SY_WRITE : *word == 'X' ? SY_READ_WRITE : 0;
    }
    return mode;
}

static int read_modes(struct reader *reader) {
    reader->mode_count = 0;
    while (sy_lines_word(&reader->lines)) {
        int code = grow_accesses(reader, reader->mode_count + 1);
        if (code) {
            return code;
        }
        reader->accesses[reader->mode_count++].mode =
            mode_of(reader->lines.word, reader->lines.word_end);
    }
    return 0;
}

static int read_sizes(struct reader *reader) {
    const struct sy_lines *lines = &reader->lines;
    reader->size_count = 0;
    for (;;) {
        struct sy_lines ahead = *lines;
        if (!sy_lines_word(&ahead)) {
            return 0;
        }
        if (sy_grow(&reader->sizes, &reader->size_capacity, reader->size_count + 1,
                    sizeof *reader->sizes) < 0) {
            return sy_out_of_memory(reader->lines.error);
        }
        int code = sy_lines_double(&reader->lines, "size", &reader->sizes[reader->size_count]);
        if (code) {
            return code;
        }
        reader->size_count++;
    }
}

/* --- blocks ----------------------------------------------------------------------------------- */

static int add_kernel(struct reader *reader, uint32_t *ret_kernel) {
    struct sy_kernel_desc desc = {0};
    struct span model = reader->model;
    bool is_control = !model.length;
    if (is_control) {
        model = (struct span){"(control)", 9};
    }
    if (sy_map_get(&reader->graph->builder->kernels, model.text, model.length, ret_kernel)) {
        return 0;
    }
    for (uint32_t kind = 0; kind < SY_KIND_COUNT; kind++) {
        desc.variants[kind].present = is_control;
    }
    reader->name.length = 0;
    sy_buffer_append(&reader->name, model.text, model.length);
    desc.name = reader->name.text;
    sy_kernel_id kernel;
    uint32_t need = reader->graph->kernel_count + 1;
    if (reader->name.failed || sy_graph_add_kernel(reader->graph, &desc, &kernel) < 0 ||
        sy_grow(&reader->means, &reader->mean_capacity, need, 2 * sizeof *reader->means) < 0) {
        return sy_out_of_memory(reader->lines.error);
    }
    memset(&reader->means[2 * (size_t)kernel.index], 0, 2 * sizeof *reader->means);
    *ret_kernel = kernel.index;
    return 0;
}

/* Drops scratch accesses and notes the sizes. */
static uint32_t settle_accesses(struct reader *reader) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < reader->handle_count; i++) {
        struct sy_access access = reader->accesses[i];
        if (!access.mode) {
            continue;
        }
        double *bytes = &reader->graph->data_bytes[access.datum];
        if (reader->size_count && reader->sizes[i] > *bytes) {
            *bytes = reader->sizes[i];
        }
        reader->accesses[kept++] = access;
    }
    return kept;
}

static int fail_block(struct reader *reader, const char *message) {
    return sy_fail_at(reader->lines.error, -EINVAL, reader->lines.file, reader->block_line, 1, "%s",
                      message);
}

static int check_block(struct reader *reader) {
    uint32_t other;
    if (!reader->job.length) {
        return fail_block(reader, "this task has no JobId");
    }
    if (sy_map_get(&reader->jobs, reader->job.text, reader->job.length, &other)) {
        fail_block(reader, "another task has the same JobId");
        return sy_hint(reader->lines.error, "first on line %u", reader->job_lines[other]);
    }
    if (reader->handle_count != reader->mode_count ||
        (reader->size_count && reader->size_count != reader->handle_count)) {
        return fail_block(reader, "Handles, Modes and Sizes of this task differ in number");
    }
    if (reader->start_ms >= 0 && reader->end_ms < reader->start_ms && reader->end_ms >= 0) {
        return fail_block(reader, "this task ends before it starts");
    }
    return 0;
}

static void take_time(struct reader *reader, uint32_t kernel, double *time_ns) {
    if (reader->start_ms < 0 || reader->end_ms < 0 || !reader->model.length) {
        return;
    }
    double ns = (reader->end_ms - reader->start_ms) * 1e6;
    struct mean *mean = &reader->means[2 * (size_t)kernel + reader->is_accelerator];
    mean->sum_ns += ns;
    mean->count++;
    time_ns[reader->is_accelerator ? SY_GPU : SY_CPU] = ns;
}

static int add_task(struct reader *reader, uint32_t kernel) {
    double time_ns[SY_KIND_COUNT] = {NAN, NAN, NAN, NAN};
    take_time(reader, kernel, time_ns);
    struct span title = reader->title.length ? reader->title : reader->model;
    reader->name.length = 0;
    sy_buffer_append(&reader->name, title.text, title.length);
    sy_buffer_append(&reader->name, "#", 1);
    sy_buffer_append(&reader->name, reader->job.text, reader->job.length);
    struct sy_task_desc desc = {.name = reader->name.text,
                                .kernel = {kernel},
                                .work = reader->flops > 0 ? reader->flops : 1,
                                .time_ns = time_ns,
                                .access_count = settle_accesses(reader)};
    desc.accesses = reader->accesses;
    sy_task_id task;
    if (reader->name.failed || sy_graph_add_task(reader->graph, &desc, &task) < 0 ||
        sy_map_put(&reader->jobs, reader->job.text, reader->job.length, task.index) < 0 ||
        sy_grow(&reader->job_lines, &reader->job_line_capacity, task.index + 1, sizeof(uint32_t)) <
            0) {
        return sy_out_of_memory(reader->lines.error);
    }
    reader->job_lines[task.index] = reader->block_line;
    for (uint32_t i = reader->first_wait; i < reader->wait_count; i++) {
        reader->waits[i].task = task.index;
    }
    return 0;
}

static void begin_block(struct reader *reader) {
    reader->block_line = reader->lines.line;
    reader->job = reader->title = reader->model = (struct span){"", 0};
    reader->start_ms = reader->end_ms = reader->flops = -1;
    reader->is_accelerator = false;
    reader->handle_count = reader->mode_count = reader->size_count = 0;
    reader->first_wait = reader->wait_count;
}

static int end_block(struct reader *reader) {
    if (!reader->block_line) {
        return 0;
    }
    uint32_t kernel = 0;
    int code = check_block(reader);
    code = code ? code : add_kernel(reader, &kernel);
    code = code ? code : add_task(reader, kernel);
    reader->block_line = 0;
    return code;
}

static int read_line(struct reader *reader) {
    static const struct {
        const char *key;
        int (*read)(struct reader *reader);
    } keys[] = {
        {"Name:", read_title},        {"Model:", read_model},     {"JobId:", read_job},
        {"DependsOn:", read_depends}, {"MemoryNode:", read_node}, {"StartTime:", read_start},
        {"EndTime:", read_end},       {"GFlop:", read_gflop},     {"Handles:", read_handles},
        {"Modes:", read_modes},       {"Sizes:", read_sizes}};
    struct sy_lines *lines = &reader->lines;
    if (!sy_lines_word(lines)) {
        return end_block(reader);
    }
    if (*lines->word == '#' || *lines->word == '%') {
        return 0;
    }
    size_t length = (size_t)(lines->word_end - lines->word);
    if (lines->word[length - 1] != ':') {
        sy_lines_fail(lines, "expected a line \"Key: value\"");
        return sy_hint(lines->error, "tasks.rec files have a blank line between tasks");
    }
    if (!reader->block_line) {
        begin_block(reader);
    }
    for (uint32_t i = 0; i < SY_COUNT(keys); i++) {
        if (strlen(keys[i].key) == length && memcmp(keys[i].key, lines->word, length) == 0) {
            return keys[i].read(reader);
        }
    }
    return 0;
}

/* --- the whole -------------------------------------------------------------------------------- */

static int connect(struct reader *reader) {
    for (uint32_t i = 0; i < reader->wait_count; i++) {
        const struct wait *wait = &reader->waits[i];
        uint32_t from;
        if (sy_map_get(&reader->jobs, wait->job.text, wait->job.length, &from) &&
            sy_graph_builder_edge(reader->graph, from, wait->task, SY_GRAPH_GIVEN) < 0) {
            return sy_out_of_memory(reader->lines.error);
        }
    }
    for (uint32_t k = 0; k < reader->graph->kernel_count; k++) {
        for (uint32_t side = 0; side < 2; side++) {
            const struct mean *mean = &reader->means[2 * (size_t)k + side];
            if (mean->count) {
                reader->graph->kernels[k].variants[side ? SY_GPU : SY_CPU] =
                    (struct sy_variant){.present = true, .fixed_ns = mean->sum_ns / mean->count};
            }
        }
    }
    return 0;
}

static int finish(struct reader *reader) {
    if (!reader->graph->task_count) {
        return sy_fail_at(reader->lines.error, -EINVAL, reader->lines.file, 1, 1,
                          "no task in this file");
    }
    int code = connect(reader);
    if (code) {
        return code;
    }
    struct sy_graph_cycle cycle;
    struct sy_error *error = reader->lines.error;
    code = sy_graph_seal_locate(reader->graph, error, &cycle);
    if (code && cycle.to != SY_NONE && error) {
        snprintf(error->file, sizeof error->file, "%s", reader->lines.file);
        error->line = reader->job_lines[cycle.to];
        error->column = 1;
    }
    return code;
}

int sy_graph_read_starpu(const char *name, const char *text, size_t length,
                         struct sy_graph_list *ret_list, struct sy_error *error) {
    struct reader reader = {.graph = sy_graph_create(name, true)};
    struct sy_graph_list list = {0};
    sy_lines_init(&reader.lines, name, text, length, error);
    int code = reader.graph ? 0 : sy_out_of_memory(reader.lines.error);
    while (!code && sy_lines_next(&reader.lines)) {
        code = read_line(&reader);
    }
    code = code ? code : end_block(&reader);
    code = code ? code : finish(&reader);
    if (!code && sy_graph_list_adopt(&list, reader.graph) < 0) {
        code = sy_out_of_memory(reader.lines.error);
    }
    if (code) {
        sy_graph_destroy(reader.graph);
    } else {
        *ret_list = list;
    }
    sy_map_finish(&reader.jobs);
    sy_map_finish(&reader.handles);
    sy_buffer_finish(&reader.name);
    free(reader.waits);
    free(reader.means);
    free(reader.job_lines);
    free(reader.accesses);
    free(reader.sizes);
    return code;
}
