/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_session.h"
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const char fake_text[] =
    "{\"schema\":\"symph-pipeline-1\",\"name\":\"fake\",\"about\":\"for tests\","
    "\"features\":[{\"name\":\"n\",\"about\":\"elements\",\"low\":1,\"high\":1e9}],"
    "\"data\":[{\"name\":\"x\",\"role\":\"input\",\"bytes\":\"8*n\"},"
    "{\"name\":\"w\",\"role\":\"constant\",\"bytes\":\"8\"},"
    "{\"name\":\"a\",\"role\":\"between\",\"bytes\":\"8*n\"},"
    "{\"name\":\"b\",\"role\":\"between\",\"bytes\":\"8*n\"},"
    "{\"name\":\"z\",\"role\":\"output\",\"bytes\":\"8*n\"}],"
    "\"kernels\":["
    "{\"name\":\"scale\",\"kernel\":\"scale\",\"reads\":[\"x\",\"w\"],\"writes\":[\"a\"],"
    "\"parameters\":[\"n\"],\"cost\":{\"flops\":\"n\",\"bytes\":\"16*n\"},\"split\":true},"
    "{\"name\":\"shift\",\"kernel\":\"shift\",\"reads\":[\"a\"],\"writes\":[\"b\"],"
    "\"parameters\":[\"n\",\"1\"],\"cost\":{\"flops\":\"n\",\"bytes\":\"16*n\"},\"split\":true},"
    "{\"name\":\"less\",\"kernel\":\"less\",\"reads\":[\"b\",\"x\"],\"writes\":[\"z\"],"
    "\"parameters\":[\"n\"],\"cost\":{\"flops\":\"n\",\"bytes\":\"24*n\"},\"split\":false}],"
    "\"examples\":[{\"name\":\"small\",\"about\":\"\",\"values\":{\"n\":100}}]}";

static const char *const kernel_names[] = {"scale", "shift", "less"};

static struct fake *of(struct sy_session *base) {
    return (struct fake *)base;
}

static void *fake_allocate(struct sy_session *base, uint64_t bytes) {
    of(base)->allocated++;
    return malloc(bytes);
}

static void fake_release(struct sy_session *base, void *pointer, uint64_t bytes) {
    assert_non_null(pointer);
    assert_true(bytes > 0);
    of(base)->allocated--;
    free(pointer);
}

static int fake_add(struct sy_session *base, const char *name, void *pointer, uint64_t bytes,
                    uint32_t *ret_datum) {
    struct fake *fake = of(base);
    assert_non_null(name);
    uint32_t d = 0;
    while (d < fake->data_count && fake->pointers[d]) {
        d++;
    }
    assert_true(d < FAKE_MOST);
    fake->data_count = d == fake->data_count ? d + 1 : fake->data_count;
    fake->owned[d] = !pointer;
    fake->pointers[d] = pointer ? pointer : calloc(1, bytes);
    fake->bytes[d] = bytes;
    fake->ready_ns[d] = 0;
    fake->alive_count++;
    fake->added_count++;
    *ret_datum = d;
    return 0;
}

static void fake_drop(struct sy_session *base, uint32_t datum) {
    struct fake *fake = of(base);
    assert_true(datum < fake->data_count);
    assert_non_null(fake->pointers[datum]);
    assert_true(fake->ready_ns[datum] <= fake->now_ns); /* nobody uses it any more */
    if (fake->owned[datum]) {
        free(fake->pointers[datum]);
    }
    fake->pointers[datum] = NULL;
    fake->alive_count--;
}

static int fake_begin_job(struct sy_session *base, const char *name, const char *tenant,
                          double weight, uint32_t *ret_job) {
    (void)base, (void)name, (void)tenant, (void)weight;
    *ret_job = 7;
    return 0;
}

static void fake_end_job(struct sy_session *base, uint32_t job) {
    (void)base, (void)job;
}

static void compute(struct fake *fake, uint32_t kernel, const struct sy_session_task *task) {
    uint32_t n = (uint32_t)task->parameters[0];
    double *data[3];
    for (uint32_t a = 0; a < task->access_count; a++) {
        data[a] = fake->pointers[task->accesses[a].datum];
    }
    assert_int_equal(fake->bytes[task->accesses[0].datum], 8 * n);
    for (uint32_t i = 0; i < n; i++) {
        if (kernel == 0) {
            data[2][i] = data[0][i] * data[1][0];
        } else if (kernel == 1) {
            data[1][i] = data[0][i] + task->parameters[1];
        } else {
            data[2][i] = data[0][i] - data[1][i];
        }
    }
}

static void place(struct fake *fake, uint32_t kernel, const struct sy_session_task *task) {
    uint32_t flavour = task->places[0].flavour;
    double start_ns = fake->now_ns;
    fake->splits += task->place_count > 1;
    for (uint32_t p = 0; p < task->place_count; p++) {
        const struct sy_session_place *at = &task->places[p];
        assert_true(at->flavour < 2);
        assert_true(at->number < (at->flavour == SY_FLAVOUR_C ? FAKE_CORES : FAKE_GPUS));
        assert_true(task->place_count == 1 || at->flavour == SY_FLAVOUR_C);
        start_ns = fmax(start_ns, fake->free_ns[at->flavour][at->number]);
        fake->runs[kernel][at->flavour][at->number]++;
    }
    for (uint32_t a = 0; a < task->access_count; a++) {
        start_ns = fmax(start_ns, fake->ready_ns[task->accesses[a].datum]);
    }
    double time_ns = fake->time_ns(kernel, flavour, task->place_count, task->parameters[0]);
    double end_ns = start_ns + time_ns;
    for (uint32_t p = 0; p < task->place_count; p++) {
        fake->free_ns[task->places[p].flavour][task->places[p].number] = end_ns;
    }
    for (uint32_t a = 0; a < task->access_count; a++) {
        if (task->accesses[a].mode & SY_WRITE) {
            fake->ready_ns[task->accesses[a].datum] = end_ns;
        }
    }
    assert_true(fake->task_count < FAKE_MOST);
    fake->tasks[fake->task_count++] =
        (struct fake_task){task->tag, {start_ns, end_ns, time_ns, task->places[0]}};
}

static int fake_submit(struct sy_session *base, const struct sy_session_task *task) {
    struct fake *fake = of(base);
    uint32_t kernel = 0;
    while (strcmp(kernel_names[kernel], task->kernel) != 0) {
        kernel++;
        assert_true(kernel < 3);
    }
    assert_int_equal(task->job, 7);
    assert_int_equal(task->access_count, kernel == 1 ? 2 : 3);
    assert_int_equal(task->parameter_count, kernel == 1 ? 2 : 1);
    assert_true(task->work == task->parameters[0]);
    assert_true(task->place_count >= 1);
    for (uint32_t a = 0; a < task->access_count; a++) {
        assert_true(task->accesses[a].datum < fake->data_count);
        assert_non_null(fake->pointers[task->accesses[a].datum]);
        bool last = a + 1 == task->access_count;
        assert_int_equal(task->accesses[a].mode & SY_READ_WRITE, last ? SY_WRITE : SY_READ);
        if (last && kernel == 2) {
            assert_true(task->accesses[a].mode & SY_FETCH_BACK);
        }
    }
    if (++fake->submitted == fake->fail_at) {
        return -EIO;
    }
    compute(fake, kernel, task);
    place(fake, kernel, task);
    return 0;
}

static struct sy_session_ended last_ended;

static int fake_wait(struct sy_session *base, void **ret_tag) {
    struct fake *fake = of(base);
    uint32_t first = 0;
    if (fake->task_count == 0) {
        *ret_tag = NULL;
        return 0;
    }
    for (uint32_t t = 1; t < fake->task_count; t++) {
        first = fake->tasks[t].ended.end_ns < fake->tasks[first].ended.end_ns ? t : first;
    }
    *ret_tag = fake->tasks[first].tag;
    last_ended = fake->tasks[first].ended;
    fake->now_ns = fmax(fake->now_ns, last_ended.end_ns);
    fake->task_count--;
    memmove(&fake->tasks[first], &fake->tasks[first + 1],
            (fake->task_count - first) * sizeof fake->tasks[0]);
    return 0;
}

static void fake_ended(struct sy_session *base, struct sy_session_ended *ret_ended) {
    (void)base;
    *ret_ended = last_ended;
}

static double fake_now(struct sy_session *base) {
    return of(base)->now_ns;
}

static void fake_progress(struct sy_session *base, double done, double total, const char *unit) {
    (void)base, (void)done, (void)total, (void)unit;
}

static void fake_note(struct sy_session *base, const char *key, const char *value) {
    (void)base, (void)key, (void)value;
}

/* "less" has no variant for GPUs. */
static uint32_t fake_device_count(struct sy_session *base, const char *kernel, uint32_t flavour) {
    (void)base;
    return flavour == SY_FLAVOUR_C ? FAKE_CORES : strcmp(kernel, "less") == 0 ? 0 : FAKE_GPUS;
}

static const struct sy_session_ops ops = {
    .allocate = fake_allocate,
    .release = fake_release,
    .add_data = fake_add,
    .drop_data = fake_drop,
    .begin_job = fake_begin_job,
    .end_job = fake_end_job,
    .submit = fake_submit,
    .wait = fake_wait,
    .ended = fake_ended,
    .now_ns = fake_now,
    .progress = fake_progress,
    .note = fake_note,
    .device_count = fake_device_count,
};

void fake_init(struct fake *fake) {
    memset(fake, 0, sizeof *fake);
    fake->base.ops = &ops;
}

/* --- the stream ---------------------------------------------------------------------------------
 */
static int stream_begin(const char *arguments, void **ret_state, struct sy_error *error) {
    (void)error;
    *ret_state = (void *)strtoull(arguments, NULL, 16);
    return 0;
}

static uint64_t input_of(const struct fake_stream *stream, uint64_t item) {
    return item * stream->inputs / stream->items;
}

static int stream_next(void *state, uint64_t item, double *ret_values, uint64_t *ret_input) {
    struct fake_stream *stream = state;
    if (item == stream->bad_next) {
        return -EPROTO;
    }
    if (item >= stream->items) {
        return 0;
    }
    *ret_input = input_of(stream, item);
    ret_values[0] = stream->sizes[*ret_input];
    return 1;
}

static int stream_fill(void *state, uint64_t item, uint32_t datum, void *pointer, uint64_t bytes) {
    struct fake_stream *stream = state;
    double *values = pointer;
    if (item == UINT64_MAX) {
        assert_int_equal(datum, 1);
        assert_int_equal(bytes, 8);
        stream->constants++;
        values[0] = 3;
        return 0;
    }
    uint64_t input = input_of(stream, item);
    assert_int_equal(datum, 0);
    assert_int_equal(bytes, 8 * (uint64_t)stream->sizes[input]);
    for (uint64_t i = 0; i < bytes / 8; i++) {
        values[i] = (double)(input * 1000 + i);
    }
    stream->filled[input]++;
    return item == stream->bad_fill ? -ENODATA : 0;
}

static int stream_check(void *state, uint64_t item, void *const *data, double *ret_error,
                        double *ret_tolerance, struct sy_error *error) {
    (void)error;
    struct fake_stream *stream = state;
    const double *z = data[4];
    assert_non_null(z);
    assert_non_null(data[0]);
    assert_non_null(data[1]);
    assert_null(data[2]);
    uint64_t input = input_of(stream, item), n = (uint64_t)stream->sizes[input];
    *ret_tolerance = 1e-9;
    *ret_error = item == stream->wrong ? 0.5 : 0;
    for (uint64_t i = 0; i < n; i++) {
        double x = (double)(input * 1000 + i);
        if (z[i] != x * 3 + 1 - x) {
            *ret_error = 1;
        }
    }
    stream->checked++;
    return 0;
}

static void stream_end(void *state) {
    (void)state;
}

const struct sy_kernel_pipeline fake_pipeline = {.name = "fake",
                                                 .text = fake_text,
                                                 .open = stream_begin,
                                                 .next = stream_next,
                                                 .fill = stream_fill,
                                                 .check = stream_check,
                                                 .close = stream_end};
