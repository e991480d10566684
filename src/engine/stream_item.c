/* SPDX-License-Identifier: Apache-2.0
 *
 * The data of items, and their tasks.
 *
 * In: the plug-in's stream. Out: data and tasks of the session. What an item reads is filled in
 * once per input number and kept while there is room; each item registers it anew, so that it
 * really travels to where it is used. Memory of data between kernels comes from the session and
 * goes back to it with the item.
 */
#include "engine/stream.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX       256u /* inputs that are kept filled in */
#define INPUT_SHARE     0.5  /* of the memory for items */
#define DATUM_BYTES_MAX 1e15
#define AHEAD_MAX       1024u /* items that are looked at before the first begins */

static int no_memory(const struct stream *stream, const char *what) {
    return sy_fail(stream->error, -ENOMEM, "no memory for %s", what);
}

/* What the plug-in itself said, or which of its functions failed. */
static int fail_source(const struct stream *stream, int code, const char *what, uint64_t item) {
    if (!stream->error->message[0]) {
        sy_fail(stream->error, code, "pipeline %s cannot %s item %llu: %s", stream->pipeline->name,
                what, (unsigned long long)item, strerror(-code));
    }
    return code;
}

static uint64_t datum_bytes(const struct stream *stream, const double *numbers, uint32_t datum) {
    double bytes = ceil(numbers[stream->pipeline->data[datum].bytes]);
    return bytes >= 1 && bytes < DATUM_BYTES_MAX ? (uint64_t)bytes : 1;
}

/* --- what stays ---------------------------------------------------------------------------------
 */
int stream_open(struct stream *stream) {
    const struct sy_stream_options *options = stream->options;
    uint32_t count = stream->pipeline->datum_count;
    stream->constants = sy_arena_alloc(stream->arena, count + 1, sizeof *stream->constants);
    stream->constant_pointers = sy_arena_alloc(stream->arena, count + 1, sizeof(void *));
    stream->constant_bytes = sy_arena_alloc(stream->arena, count + 1, sizeof(uint64_t));
    stream->view = sy_arena_alloc(stream->arena, count + 1, sizeof(void *));
    if (!stream->view || !stream->constants || !stream->constant_pointers ||
        !stream->constant_bytes) {
        return no_memory(stream, "a stream");
    }
    for (uint32_t d = 0; d < count; d++) {
        stream->constants[d] = SY_NONE;
    }
    int code = options->source->open(options->arguments, &stream->state, stream->error);
    if (code < 0) {
        stream->state = NULL;
        if (!stream->error->message[0]) {
            sy_fail(stream->error, code, "pipeline %s cannot be opened with '%s': %s",
                    stream->pipeline->name, options->arguments, strerror(-code));
            sy_hint(stream->error, "its arguments are %s",
                    options->source->usage ? options->source->usage : "none");
        }
        return code;
    }
    return stream->session->ops->begin_job(stream->session, stream->pipeline->name, "", 1,
                                           &stream->job);
}

static void free_input(struct stream *stream, struct stream_input *input) {
    for (uint32_t d = 0; d < stream->pipeline->datum_count; d++) {
        if (input->pointers[d]) {
            stream->session->ops->release(stream->session, input->pointers[d], input->bytes[d]);
        }
    }
    stream->input_bytes -= input->total_bytes;
    free(input);
}

static void forget_item(struct stream *stream, struct stream_item *item) {
    struct sy_session *session = stream->session;
    for (uint32_t d = 0; d < stream->pipeline->datum_count; d++) {
        enum sy_pipeline_role role = stream->pipeline->data[d].role;
        if (item->data[d] != SY_NONE) {
            session->ops->drop_data(session, item->data[d]);
        }
        if (item->pointers[d] && (role == SY_PIPELINE_BETWEEN || role == SY_PIPELINE_OUTPUT)) {
            session->ops->release(session, item->pointers[d], item->bytes[d]);
        }
    }
}

void stream_close(struct stream *stream) {
    while (stream->kept) {
        struct stream_item *item = stream->kept;
        stream->kept = item->next;
        stream_release_item(stream, item);
    }
    /* After a failure some were under way: nothing of theirs runs any more. */
    for (struct stream_item *item = stream->newest, *older; item; item = older) {
        older = item->older;
        forget_item(stream, item);
        free(item);
    }
    for (uint32_t i = 0; i < stream->input_count; i++) {
        free_input(stream, stream->inputs[i]);
    }
    free(stream->inputs);
    for (uint32_t d = 0; stream->constants && d < stream->pipeline->datum_count; d++) {
        if (stream->constants[d] != SY_NONE) {
            stream->session->ops->drop_data(stream->session, stream->constants[d]);
            stream->session->ops->release(stream->session, stream->constant_pointers[d],
                                          stream->constant_bytes[d]);
        }
    }
    if (stream->state) {
        stream->options->source->close(stream->state);
    }
}

/* --- filling in ---------------------------------------------------------------------------------
 */
static int make_constant(struct stream *stream, uint32_t datum, uint64_t bytes) {
    struct sy_session *session = stream->session;
    const char *name = stream->pipeline->data[datum].name;
    void *pointer = session->ops->allocate(session, bytes);
    if (!pointer) {
        return no_memory(stream, name);
    }
    stream->constant_pointers[datum] = pointer;
    stream->constant_bytes[datum] = bytes;
    int code = stream->options->source->fill(stream->state, UINT64_MAX, datum, pointer, bytes);
    if (code < 0) {
        return sy_fail(stream->error, code, "pipeline %s cannot fill its constant %s: %s",
                       stream->pipeline->name, name, strerror(-code));
    }
    return session->ops->add_data(session, name, pointer, bytes, &stream->constants[datum]);
}

static int use_constant(struct stream *stream, const struct stream_item *item, uint32_t datum) {
    uint64_t bytes = datum_bytes(stream, item->numbers, datum);
    if (stream->constants[datum] == SY_NONE) {
        return make_constant(stream, datum, bytes);
    }
    if (bytes != stream->constant_bytes[datum]) {
        return sy_fail(stream->error, -EINVAL,
                       "item %llu of pipeline %s needs %llu bytes of the constant %s, which has "
                       "%llu: what is constant has one size",
                       (unsigned long long)item->number, stream->pipeline->name,
                       (unsigned long long)bytes, stream->pipeline->data[datum].name,
                       (unsigned long long)stream->constant_bytes[datum]);
    }
    return 0;
}

/* Forgets what was used longest ago, until another one fits. */
static void make_way(struct stream *stream, double bytes) {
    double limit = stream->options->host_bytes * INPUT_SHARE;
    for (;;) {
        uint32_t oldest = SY_NONE;
        for (uint32_t i = 0; i < stream->input_count; i++) {
            if (stream->inputs[i]->users == 0 &&
                (oldest == SY_NONE ||
                 stream->inputs[i]->last_use < stream->inputs[oldest]->last_use)) {
                oldest = i;
            }
        }
        bool fits = stream->input_count < INPUT_MAX && stream->input_bytes + bytes <= limit;
        if (fits || oldest == SY_NONE) {
            return;
        }
        free_input(stream, stream->inputs[oldest]);
        stream->inputs[oldest] = stream->inputs[--stream->input_count];
    }
}

static int fill_input(struct stream *stream, const struct stream_item *item,
                      struct stream_input *input) {
    const struct sy_pipeline *pipeline = stream->pipeline;
    struct sy_session *session = stream->session;
    for (uint32_t d = 0; d < pipeline->datum_count; d++) {
        if (pipeline->data[d].role != SY_PIPELINE_INPUT) {
            continue;
        }
        input->bytes[d] = datum_bytes(stream, item->numbers, d);
        input->pointers[d] = session->ops->allocate(session, input->bytes[d]);
        if (!input->pointers[d]) {
            return no_memory(stream, pipeline->data[d].name);
        }
        int code = stream->options->source->fill(stream->state, item->number, d, input->pointers[d],
                                                 input->bytes[d]);
        if (code < 0) {
            return fail_source(stream, code, "fill", item->number);
        }
    }
    return 0;
}

static double input_bytes(const struct stream *stream, const double *numbers) {
    double sum = 0;
    for (uint32_t d = 0; d < stream->pipeline->datum_count; d++) {
        if (stream->pipeline->data[d].role == SY_PIPELINE_INPUT) {
            sum += (double)datum_bytes(stream, numbers, d);
        }
    }
    return sum;
}

static int make_input(struct stream *stream, struct stream_item *item, uint64_t number) {
    uint32_t count = stream->pipeline->datum_count;
    double bytes = input_bytes(stream, item->numbers);
    make_way(stream, bytes);
    struct stream_input *input =
        calloc(1, sizeof *input + count * (sizeof(void *) + sizeof(uint64_t)));
    if (!input || sy_grow(&stream->inputs, &stream->input_capacity, stream->input_count + 1,
                          sizeof(struct stream_input *))) {
        free(input);
        return no_memory(stream, "an input");
    }
    input->pointers = (void **)(input + 1);
    input->bytes = (uint64_t *)(input->pointers + count);
    input->number = number;
    input->total_bytes = bytes;
    stream->input_bytes += bytes;
    stream->inputs[stream->input_count++] = input;
    item->input = input;
    input->users = 1;
    input->last_use = ++stream->uses;
    return fill_input(stream, item, input);
}

static int use_input(struct stream *stream, struct stream_item *item, uint64_t number) {
    for (uint32_t i = 0; i < stream->input_count; i++) {
        struct stream_input *input = stream->inputs[i];
        if (input->number == number) {
            item->input = input;
            input->users++;
            input->last_use = ++stream->uses;
            return 0;
        }
    }
    return make_input(stream, item, number);
}

/* --- an item ------------------------------------------------------------------------------------
 */
static struct stream_item *new_item(struct stream *stream) {
    const struct sy_pipeline *p = stream->pipeline;
    struct stream_item *item = stream->free_items;
    if (item) {
        stream->free_items = item->next;
        return item;
    }
    size_t bytes = sizeof *item + (p->feature_count + p->expression_count + 2) * sizeof(double) +
                   p->datum_count * (sizeof(void *) + sizeof(uint64_t) + sizeof(uint64_t)) +
                   p->kernel_count * sizeof(struct stream_task);
    item = calloc(1, bytes);
    if (item) {
        item->older = stream->newest;
        stream->newest = item;
        item->values = (double *)(item + 1);
        item->numbers = item->values + p->feature_count + 1;
        item->pointers = (void **)(item->numbers + p->expression_count + 1);
        item->bytes = (uint64_t *)(item->pointers + p->datum_count);
        item->tasks = (struct stream_task *)(item->bytes + p->datum_count);
        item->data = (uint32_t *)(item->tasks + p->kernel_count);
        for (uint32_t d = 0; d < p->datum_count; d++) {
            item->data[d] = SY_NONE;
        }
    }
    return item;
}

/* Kernels that read or write a datum. */
static uint64_t touched_by(const struct stream *stream, uint32_t datum) {
    uint64_t kernels = 0;
    for (uint32_t k = 0; k < stream->pipeline->kernel_count; k++) {
        const struct sy_pipeline_kernel *kernel = &stream->pipeline->kernels[k];
        for (uint32_t a = 0; a < kernel->argument_count; a++) {
            kernels |= kernel->arguments[a] == datum ? UINT64_C(1) << k : 0;
        }
    }
    return kernels;
}

static int add_datum(struct stream *stream, struct stream_item *item, uint32_t d) {
    struct sy_session *session = stream->session;
    const struct sy_pipeline_datum *datum = &stream->pipeline->data[d];
    item->bytes[d] = datum_bytes(stream, item->numbers, d);
    if (datum->role == SY_PIPELINE_CONSTANT) {
        item->pointers[d] = stream->constant_pointers[d];
        return 0;
    }
    if (datum->role == SY_PIPELINE_INPUT) {
        if (item->bytes[d] != item->input->bytes[d]) {
            return sy_fail(stream->error, -EINVAL,
                           "items of pipeline %s with input %llu differ in the size of %s",
                           stream->pipeline->name, (unsigned long long)item->input->number,
                           datum->name);
        }
        item->pointers[d] = item->input->pointers[d];
    } else if (datum->role == SY_PIPELINE_OUTPUT) {
        item->pointers[d] = session->ops->allocate(session, item->bytes[d]);
        if (!item->pointers[d]) {
            return no_memory(stream, datum->name);
        }
    }
    item->total_bytes += (double)item->bytes[d];
    return datum->role == SY_PIPELINE_BETWEEN
               ? 0
               : session->ops->add_data(session, datum->name, item->pointers[d], item->bytes[d],
                                        &item->data[d]);
}

int stream_add_between(struct stream *stream, struct stream_item *item, uint64_t on_host) {
    struct sy_session *session = stream->session;
    int code = 0;
    for (uint32_t d = 0; d < stream->pipeline->datum_count && !code; d++) {
        const struct sy_pipeline_datum *datum = &stream->pipeline->data[d];
        if (datum->role != SY_PIPELINE_BETWEEN) {
            continue;
        }
        if (touched_by(stream, d) & on_host) {
            item->pointers[d] = session->ops->allocate(session, item->bytes[d]);
            code = item->pointers[d] ? 0 : no_memory(stream, datum->name);
        }
        code = code ? code
                    : session->ops->add_data(session, datum->name, item->pointers[d],
                                             item->bytes[d], &item->data[d]);
    }
    return code;
}

static int prepare(struct stream *stream, struct stream_item *item, uint64_t input) {
    const struct sy_pipeline *pipeline = stream->pipeline;
    for (uint32_t d = 0; d < pipeline->datum_count; d++) {
        item->data[d] = SY_NONE;
        item->pointers[d] = NULL;
    }
    int code = sy_pipeline_measure(pipeline, item->values, item->numbers, stream->error);
    for (uint32_t d = 0; d < pipeline->datum_count && !code; d++) {
        if (pipeline->data[d].role == SY_PIPELINE_CONSTANT) {
            code = use_constant(stream, item, d);
        }
    }
    return code ? code : use_input(stream, item, input);
}

/* Features and input of the next item: 1, or 0 if there is none. */
static int take_next(struct stream *stream, struct stream_item *item, uint64_t *ret_input) {
    uint32_t features = stream->pipeline->feature_count;
    if (stream->ahead_at < stream->ahead_count) {
        memcpy(item->values, stream->ahead_values + (size_t)stream->ahead_at * features,
               features * sizeof(double));
        *ret_input = stream->ahead_inputs[stream->ahead_at++];
        return 1;
    }
    if (stream->ahead_end) {
        return 0;
    }
    int more = stream->options->source->next(stream->state, item->number, item->values, ret_input);
    stream->ahead_end = more <= 0;
    return more < 0 ? fail_source(stream, more, "make", item->number) : more > 0;
}

static void put_back(struct stream *stream, struct stream_item *item) {
    item->next = stream->free_items;
    stream->free_items = item;
}

/* Only while it fits beside what is there already. */
static int fill_ahead(struct stream *stream, struct stream_item *item, uint64_t input,
                      bool *ret_full) {
    int code = sy_pipeline_measure(stream->pipeline, item->values, item->numbers, stream->error);
    double bytes = code ? 0 : input_bytes(stream, item->numbers);
    *ret_full = stream->input_count >= INPUT_MAX ||
                stream->input_bytes + bytes > stream->options->host_bytes * INPUT_SHARE;
    if (code || *ret_full) {
        return code;
    }
    code = prepare(stream, item, input);
    if (!code) {
        item->input->users--;
    }
    return code;
}

int stream_look_ahead(struct stream *stream) {
    uint32_t features = stream->pipeline->feature_count;
    struct stream_item *item = new_item(stream);
    stream->ahead_values =
        sy_arena_alloc(stream->arena, (size_t)AHEAD_MAX * features + 1, sizeof(double));
    stream->ahead_inputs = sy_arena_alloc(stream->arena, AHEAD_MAX, sizeof(uint64_t));
    if (!item || !stream->ahead_values || !stream->ahead_inputs) {
        return no_memory(stream, "items ahead");
    }
    uint32_t count = 0;
    int more = 1;
    bool full = false;
    while (more > 0 && count < AHEAD_MAX) {
        item->number = count;
        more = take_next(stream, item, &stream->ahead_inputs[count]);
        if (more > 0) {
            memcpy(stream->ahead_values + (size_t)count * features, item->values,
                   features * sizeof(double));
            int code = full ? 0 : fill_ahead(stream, item, stream->ahead_inputs[count], &full);
            more = code ? code : 1;
            count++;
        }
    }
    stream->ahead_count = count;
    put_back(stream, item);
    return more < 0 ? more : 0;
}

int stream_next_item(struct stream *stream, struct stream_item **ret_item) {
    struct stream_item *item = new_item(stream);
    uint64_t input = 0;
    if (!item) {
        return no_memory(stream, "an item");
    }
    item->number = stream->item_count;
    item->input = NULL;
    item->keep = false;
    item->total_bytes = 0;
    item->left = stream->pipeline->kernel_count;
    int more = take_next(stream, item, &input);
    if (more <= 0) {
        put_back(stream, item);
        return more;
    }
    int code = prepare(stream, item, input);
    for (uint32_t d = 0; d < stream->pipeline->datum_count && !code; d++) {
        code = add_datum(stream, item, d);
    }
    if (code) {
        return code;
    }
    stream->item_count++;
    *ret_item = item;
    return 1;
}

void stream_release_item(struct stream *stream, struct stream_item *item) {
    for (uint32_t d = 0; d < stream->pipeline->datum_count; d++) {
        enum sy_pipeline_role role = stream->pipeline->data[d].role;
        if (item->pointers[d] && (role == SY_PIPELINE_BETWEEN || role == SY_PIPELINE_OUTPUT)) {
            stream->session->ops->release(stream->session, item->pointers[d], item->bytes[d]);
        }
        item->pointers[d] = NULL;
    }
    item->input->users--;
    put_back(stream, item);
}

void stream_drop_item(struct stream *stream, struct stream_item *item) {
    struct sy_session *session = stream->session;
    for (uint32_t d = 0; d < stream->pipeline->datum_count; d++) {
        if (item->data[d] != SY_NONE) {
            session->ops->drop_data(session, item->data[d]);
            item->data[d] = SY_NONE;
        }
        if (item->pointers[d] && stream->pipeline->data[d].role == SY_PIPELINE_BETWEEN) {
            session->ops->release(session, item->pointers[d], item->bytes[d]);
            item->pointers[d] = NULL;
        }
    }
    if (item->keep) {
        item->next = stream->kept;
        stream->kept = item;
    } else {
        stream_release_item(stream, item);
    }
}

/* --- its tasks ----------------------------------------------------------------------------------
 */
int stream_submit_kernel(struct stream *stream, struct stream_item *item, uint32_t k,
                         const struct sy_session_place *places, uint32_t place_count,
                         uint32_t back) {
    const struct sy_pipeline_kernel *kernel = &stream->pipeline->kernels[k];
    struct sy_access accesses[SY_PIPELINE_ARGUMENT_MAX];
    double parameters[SY_PIPELINE_PARAMETER_MAX];
    char name[96];
    for (uint32_t a = 0; a < kernel->argument_count; a++) {
        uint32_t d = kernel->arguments[a];
        bool home = kernel->writes[a] && stream->pipeline->data[d].role == SY_PIPELINE_OUTPUT;
        accesses[a].datum = item->data[d] == SY_NONE ? stream->constants[d] : item->data[d];
        accesses[a].mode = kernel->writes[a] ? (uint32_t)SY_WRITE | back : (uint32_t)SY_READ;
        accesses[a].mode |= home ? SY_FETCH_BACK : 0;
    }
    for (uint32_t p = 0; p < kernel->parameter_count; p++) {
        parameters[p] = item->numbers[kernel->parameters[p]];
    }
    snprintf(name, sizeof name, "%s %llu", kernel->name, (unsigned long long)item->number);
    const struct sy_session_task task = {
        .kernel = kernel->kernel,
        .name = name,
        .work = item->numbers[kernel->costs[0]],
        .accesses = accesses,
        .access_count = kernel->argument_count,
        .job = stream->job,
        .priority = -(int32_t)(item->number & INT32_MAX), /* the oldest item first */
        .tag = &item->tasks[k],
        .parameters = parameters,
        .parameter_count = kernel->parameter_count,
        .places = places,
        .place_count = place_count,
    };
    item->tasks[k].item = item;
    item->tasks[k].kernel = k;
    return stream->session->ops->submit(stream->session, &task);
}

int stream_submit_item(struct stream *stream, struct stream_item *item,
                       const struct stream_turn *turn) {
    const struct sy_session_place *places[SY_PLAN_KERNEL_MAX];
    uint32_t widths[SY_PLAN_KERNEL_MAX], count = stream->pipeline->kernel_count;
    uint64_t on_host = 0;
    for (uint32_t k = 0; k < count; k++) {
        widths[k] = stream_places(stream, turn, k, &places[k], &item->tasks[k].shape);
        on_host |= places[k]->flavour == SY_FLAVOUR_C ? UINT64_C(1) << k : 0;
    }
    int code = stream_add_between(stream, item, on_host);
    for (uint32_t k = 0; k < count && !code; k++) {
        code = stream_submit_kernel(stream, item, k, places[k], widths[k], 0);
    }
    return code;
}
