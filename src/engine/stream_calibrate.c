/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of a pipeline alone, one after the other, in every shape that there is.
 *
 * In: the different inputs of a stream. Out: a sample per input, kernel and shape: the median of
 * repeated runs on data that are already there. Nothing else runs meanwhile.
 */
#include "engine/stream.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RUN_MIN     3u
#define RUN_MAX     50u
#define LONG_NS     200e6 /* one run says enough */
#define ENOUGH_NS   20e6
#define POWER_NS    150e6 /* meters answer every 20 to 100 ms */
#define POWER_MAX   20000u
#define IDLE_NS     400000000L
#define ITEM_MAX    100000u /* looked at for inputs that are new */
#define MODEL_CLASS "u280"

struct calibration {
    struct stream stream;
    const struct sy_stream_calibration *options;
    double idle_watts; /* NAN: not known */
    double done, total;
    double *times;
};

static double joules_now(const struct stream *stream) {
    return stream->options->joules ? stream->options->joules(stream->options->user) : NAN;
}

static void measure_idle(struct calibration *calibration) {
    struct stream *stream = &calibration->stream;
    struct timespec pause = {0, IDLE_NS};
    double joules = joules_now(stream), from_ns = stream->session->ops->now_ns(stream->session);
    calibration->idle_watts = NAN;
    if (calibration->options->watts && isfinite(joules)) {
        nanosleep(&pause, NULL);
        double span_ns = stream->session->ops->now_ns(stream->session) - from_ns;
        calibration->idle_watts = (joules_now(stream) - joules) / (span_ns * 1e-9);
    }
}

/* One run; how long it took. */
static int run_once(struct stream *stream, struct stream_item *item, uint32_t kernel,
                    const struct sy_session_place *places, uint32_t width, uint32_t back,
                    double *ret_ns) {
    struct sy_session *session = stream->session;
    struct sy_session_ended ended = {0};
    void *tag = NULL;
    int code = stream_submit_kernel(stream, item, kernel, places, width, back);
    code = code ? code : session->ops->wait(session, &tag);
    if (!code) {
        session->ops->ended(session, &ended);
        /* Parts that begin late are part of what a split costs. */
        *ret_ns = width > 1 ? ended.end_ns - ended.start_ns : ended.duration_ns;
    }
    return code;
}

static bool can_run(const struct stream *stream, uint32_t kernel, uint32_t class_index) {
    const struct sy_session_place *places = stream->options->places[class_index];
    return stream->options->system->classes[class_index].device_count > 0 &&
           stream->session->ops->device_count(
               stream->session, stream->pipeline->kernels[kernel].kernel, places[0].flavour) > 0;
}

/* Every kernel once, so that all data are there. */
static int fill_in(struct stream *stream, struct stream_item *item) {
    int code = 0;
    for (uint32_t k = 0; k < stream->pipeline->kernel_count && !code; k++) {
        uint32_t c = stream->options->system->class_count; /* accelerators come last */
        double ignored;
        while (c > 0 && !can_run(stream, k, c - 1)) {
            c--;
        }
        if (c == 0) {
            return sy_fail(stream->error, -ENODEV, "no device here can run kernel %s of %s",
                           stream->pipeline->kernels[k].name, stream->pipeline->name);
        }
        code =
            run_once(stream, item, k, stream->options->places[c - 1], 1, SY_FETCH_BACK, &ignored);
    }
    return code;
}

/* The example with these features, else the pipeline's name and the input's number. */
static void name_input(const struct stream *stream, const struct stream_item *item, char *ret_name,
                       size_t size) {
    const struct sy_pipeline *pipeline = stream->pipeline;
    size_t bytes = pipeline->feature_count * sizeof(double);
    for (uint32_t e = 0; e < pipeline->example_count; e++) {
        if (bytes && memcmp(pipeline->examples[e].values, item->values, bytes) == 0) {
            snprintf(ret_name, size, "%s", pipeline->examples[e].name);
            return;
        }
    }
    snprintf(ret_name, size, "%.40s %llu", pipeline->name, (unsigned long long)item->input->number);
}

/* What a kernel of an item took. */
static int hand_over(const struct calibration *calibration, const struct stream_item *item,
                     uint32_t k, struct sy_cost_sample sample, uint32_t width) {
    const struct stream *stream = &calibration->stream;
    const struct sy_pipeline_kernel *kernel = &stream->pipeline->kernels[k];
    double costs[SY_PIPELINE_COST_MAX];
    char name[64];
    name_input(stream, item, name, sizeof name);
    sample.kernel = kernel->kernel;
    sample.features = sy_pipeline_features(kernel, item->numbers, width, costs);
    sample.input = name;
    return calibration->options->learned(stream->options->user, &sample);
}

/* Host memory has all data: what would the card take? */
static int ask_model(struct calibration *calibration, const struct stream_item *item, uint32_t k) {
    const struct sy_pipeline_kernel *kernel = &calibration->stream.pipeline->kernels[k];
    const struct sy_kernel_entry *entry = calibration->options->entries[k];
    struct sy_argument arguments[SY_PIPELINE_ARGUMENT_MAX];
    double parameters[SY_PIPELINE_PARAMETER_MAX];
    char message[SY_CALL_MESSAGE_MAX] = "";
    if (!entry->fpga_model_ns) {
        return 0;
    }
    for (uint32_t a = 0; a < kernel->argument_count; a++) {
        uint32_t d = kernel->arguments[a];
        arguments[a] =
            (struct sy_argument){item->pointers[d], item->bytes[d],
                                 kernel->writes[a] ? (uint32_t)SY_WRITE : (uint32_t)SY_READ};
    }
    for (uint32_t p = 0; p < kernel->parameter_count; p++) {
        parameters[p] = item->numbers[kernel->parameters[p]];
    }
    const struct sy_call call = {.entry = entry,
                                 .arguments = arguments,
                                 .argument_count = kernel->argument_count,
                                 .work = item->numbers[kernel->costs[0]],
                                 .parameters = parameters,
                                 .parameter_count = kernel->parameter_count,
                                 .part_count = 1,
                                 .message = message};
    const struct sy_cost_sample sample = {.class_name = MODEL_CLASS,
                                          .modelled = true,
                                          .time_ns = entry->fpga_model_ns(&call),
                                          .watts = NAN};
    return isfinite(sample.time_ns) && sample.time_ns > 0
               ? hand_over(calibration, item, k, sample, 1)
               : 0;
}

static int measure(struct calibration *calibration, struct stream_item *item, uint32_t k,
                   uint32_t c, uint32_t width) {
    struct stream *stream = &calibration->stream;
    const struct sy_system_class *class = &stream->options->system->classes[c];
    const struct sy_session_place *places = stream->options->places[c];
    bool power = isfinite(calibration->idle_watts) &&
                 (class->kind != SY_CPU || calibration->options->cpu_metered);
    double sum_ns = 0, needed_ns = power ? POWER_NS : ENOUGH_NS;
    uint32_t count = 0, most = power ? POWER_MAX : RUN_MAX;
    int code = run_once(stream, item, k, places, width, 0, &sum_ns); /* data move, caches warm */
    double joules = joules_now(stream), from_ns = stream->session->ops->now_ns(stream->session);
    uint32_t least = sum_ns > LONG_NS ? 1 : RUN_MIN;
    double span_ns = sum_ns = 0;
    while (!code && (count < least || ((power ? span_ns : sum_ns) < needed_ns && count < most))) {
        code = run_once(stream, item, k, places, width, 0, &calibration->times[count]);
        sum_ns += calibration->times[count++];
        span_ns = stream->session->ops->now_ns(stream->session) - from_ns;
    }
    if (code) {
        return code;
    }
    /* Pauses between runs are idle: what was spent above idle was spent while it ran. */
    double spent = joules_now(stream) - joules - calibration->idle_watts * span_ns * 1e-9;
    const struct sy_cost_sample sample = {
        .class_name = class->name,
        .time_ns = sy_quantile(calibration->times, count, 0.5),
        .watts = power && span_ns >= 100e6 ? fmax(spent, 0) / (sum_ns * 1e-9) : NAN};
    calibration->done++;
    stream->session->ops->progress(stream->session, calibration->done, calibration->total,
                                   "kernels");
    return hand_over(calibration, item, k, sample, width);
}

/* 1, 2, 4 ... and all of them. */
static uint32_t next_width(uint32_t width, uint32_t most) {
    return 2 * width <= most || width == most ? 2 * width : most;
}

/* The same kernel at the same costs, earlier in the pipeline: it would be the same line. */
static bool is_repeated(const struct stream_item *item, const struct sy_pipeline_kernel *kernels,
                        uint32_t k) {
    bool found = false;
    for (uint32_t i = 0; i < k && !found; i++) {
        found = strcmp(kernels[i].kernel, kernels[k].kernel) == 0 &&
                kernels[i].split == kernels[k].split &&
                kernels[i].cost_count == kernels[k].cost_count;
        for (uint32_t c = 0; found && c < kernels[k].cost_count; c++) {
            found = item->numbers[kernels[i].costs[c]] == item->numbers[kernels[k].costs[c]];
        }
    }
    return found;
}

static int measure_all(struct calibration *calibration, struct stream_item *item) {
    const struct stream *stream = &calibration->stream;
    const struct sy_system *system = stream->options->system;
    int code = fill_in(&calibration->stream, item);
    for (uint32_t k = 0; k < stream->pipeline->kernel_count && !code; k++) {
        if (is_repeated(item, stream->pipeline->kernels, k)) {
            continue;
        }
        code = ask_model(calibration, item, k);
        for (uint32_t c = 0; c < system->class_count; c++) {
            const struct sy_system_class *class = &system->classes[c];
            bool split = stream->pipeline->kernels[k].split && class->kind == SY_CPU;
            uint32_t most =
                class->width_max < class->device_count ? class->width_max : class->device_count;
            most = split ? most : 1;
            for (uint32_t w = 1; w <= most && !code && can_run(stream, k, c);
                 w = next_width(w, most)) {
                code = measure(calibration, item, k, c, w);
            }
        }
    }
    return code;
}

/* All inputs that are new, up to input_max. */
static int run(struct calibration *calibration) {
    struct stream *stream = &calibration->stream;
    uint64_t *seen = calloc(calibration->options->input_max + 1u, sizeof *seen);
    uint32_t count = 0;
    int more = seen ? stream_open(stream) : -ENOMEM;
    measure_idle(calibration);
    while (more >= 0 && count < calibration->options->input_max && stream->item_count < ITEM_MAX) {
        struct stream_item *item = NULL;
        more = stream_next_item(stream, &item);
        if (more <= 0) {
            break;
        }
        bool known = false;
        for (uint32_t i = 0; i < count; i++) {
            known |= seen[i] == item->input->number;
        }
        if (!known) {
            seen[count++] = item->input->number;
            more = stream_add_between(stream, item, UINT64_MAX);
            more = more < 0 ? more : measure_all(calibration, item);
        }
        if (more >= 0) {
            stream_drop_item(stream, item);
        }
    }
    free(seen);
    if (more >= 0 && count == 0) {
        return sy_fail(stream->error, -EINVAL, "pipeline %s has no items with '%s'",
                       stream->pipeline->name, stream->options->arguments);
    }
    return more < 0 ? more : 0;
}

int sy_stream_calibrate(struct sy_session *session, const struct sy_stream_calibration *options,
                        struct sy_error *error) {
    struct sy_error scratch = {0};
    struct sy_arena *arena = sy_arena_create();
    struct calibration calibration = {.stream = {.session = session,
                                                 .options = &options->stream,
                                                 .pipeline = options->stream.pipeline,
                                                 .arena = arena,
                                                 .error = error ? error : &scratch},
                                      .options = options,
                                      .times = calloc(POWER_MAX + 1, sizeof(double))};
    int code = arena && calibration.times ? run(&calibration)
                                          : sy_fail(error, -ENOMEM, "no memory to calibrate");
    if (arena) {
        stream_close(&calibration.stream);
    }
    free(calibration.times);
    sy_arena_destroy(arena);
    return code;
}
