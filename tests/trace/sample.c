/* SPDX-License-Identifier: Apache-2.0 */
#include "sample.h"
#include <string.h>

static const char *place(const void *context, uint32_t index) {
    (void)context;
    return index == 0 ? "cpu0" : index == 1 ? "gpu<0>" : NULL;
}

static const char *memory(const void *context, uint32_t index) {
    (void)context;
    return index == 0 ? "host" : "gpu\"0\"";
}

static const char *task(const void *context, uint32_t index, char *buffer, size_t size) {
    (void)context;
    snprintf(buffer, size, "t%u", index);
    return buffer;
}

static const char *group(const void *context, uint32_t index) {
    (void)context;
    return index % 2 ? "b&b" : "a";
}

static const char *datum(const void *context, uint32_t index, char *buffer, size_t size) {
    (void)context;
    snprintf(buffer, size, "d%u", index);
    return buffer;
}

static const char *kernel(const void *context, uint32_t index) {
    return group(context, index);
}

struct sy_trace_names sample_names(void) {
    return (struct sy_trace_names){.title = "A <run>",
                                   .subtitle = "by hand",
                                   .place_count = 2,
                                   .memory_count = 2,
                                   .place = place,
                                   .memory = memory,
                                   .task = task,
                                   .group = group,
                                   .datum = datum,
                                   .kernel = kernel,
                                   .bound_ns = 2500};
}

void sample_fill(struct sy_trace *trace) {
    static const struct sy_span spans[] = {
        {.start_ns = 2000, .end_ns = 3000.4, .kind = SY_SPAN_TASK, .subject = 1, .place = 1},
        {.start_ns = 1500, .end_ns = 2000, .kind = SY_SPAN_STALL, .subject = 1, .place = 1},
        {.start_ns = 0, .end_ns = 1234, .kind = SY_SPAN_TASK, .subject = 0, .place = 0},
        {.start_ns = 100,
         .end_ns = 1800,
         .kind = SY_SPAN_TRANSFER,
         .subject = 4,
         .place = 1,
         .bytes = 4096},
        {.start_ns = 200,
         .end_ns = 1500,
         .kind = SY_SPAN_TRANSFER,
         .subject = 5,
         .place = 1,
         .bytes = 10},
        {.start_ns = 0, .end_ns = 900, .kind = SY_SPAN_RECONFIGURE, .subject = 1, .place = 1},
        {.start_ns = 1234, .end_ns = 1300, .kind = SY_SPAN_ABORTED, .subject = 2, .place = 0},
        {.start_ns = 1300, .end_ns = 2000, .kind = SY_SPAN_LOST, .place = 0},
    };
    for (size_t i = 0; i < SY_COUNT(spans); i++) {
        sy_trace_add(trace, &spans[i]);
    }
}

void sample_fill_many(struct sy_trace *trace, uint32_t devices, uint32_t tasks) {
    struct sy_rng rng = sy_rng_make(1, 1, 1);
    for (uint32_t device = 0; device < devices; device++) {
        double now = 0;
        for (uint32_t i = device; i < tasks; i += devices) {
            double end = now + 1000 * (0.5 + sy_rng_uniform(&rng));
            sy_trace_add(trace, &(struct sy_span){.start_ns = now,
                                                  .end_ns = end,
                                                  .kind = SY_SPAN_TASK,
                                                  .subject = i,
                                                  .place = device});
            now = end + (i % 5 == 0 ? 300 : 0);
        }
    }
}

uint32_t count_of(const char *text, const char *part) {
    uint32_t count = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) {
        count++;
    }
    return count;
}

bool has_both_schemes(const char *svg) {
    const char *drawn = strstr(svg, "</style>");
    return drawn && strstr(svg, "@media (prefers-color-scheme:dark){") && !strstr(drawn, "\"#") &&
           !strstr(drawn, ":#") && !strstr(drawn, "fill=") && !strstr(drawn, "stroke=");
}
