/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs from one line of text: "cholesky:20", "layered:width=8,depth=20,seed=3".
 *
 * In: the line. Out: a sealed graph. Never knows: machines. Invariant: the same line gives the same
 * graph everywhere; a line that asks for too much is refused before memory is.
 */
#include "graph/internal.h"
#include <errno.h>
#include <math.h>
#include <string.h>

#define WORD_MAX 64

static const struct sy_generator *generator_at(uint32_t index) {
    const struct sy_generator *const families[] = {sy_generators_linalg, sy_generators_shapes,
                                                   sy_generators_pipelines,
                                                   sy_generators_inference};
    for (uint32_t f = 0; f < SY_COUNT(families); f++) {
        for (const struct sy_generator *at = families[f]; at->name; at++) {
            if (index-- == 0) {
                return at;
            }
        }
    }
    return NULL;
}

const char *sy_graph_generator_at(uint32_t index, const char **ret_help) {
    const struct sy_generator *generator = generator_at(index);
    if (generator && ret_help) {
        *ret_help = generator->help;
    }
    return generator ? generator->name : NULL;
}

/* An error at a place in the line, which counts as line 1. */
static int fail_at(const char *spec, const char *at, struct sy_error *error, const char *message,
                   const char *word, size_t length) {
    int shown = length < WORD_MAX ? (int)length : WORD_MAX;
    return sy_fail_at(error, -EINVAL, NULL, 1, (uint32_t)(at - spec) + 1, "%s '%.*s'", message,
                      shown, word);
}

static int find(const char *spec, size_t length, const struct sy_generator **ret_generator,
                struct sy_error *error) {
    const char *names[32];
    uint32_t count = 0;
    for (const struct sy_generator *at; count < SY_COUNT(names) && (at = generator_at(count));) {
        if (strlen(at->name) == length && memcmp(at->name, spec, length) == 0) {
            *ret_generator = at;
            return 0;
        }
        names[count++] = at->name;
    }
    fail_at(spec, spec, error, "there is no generator", spec, length);
    char word[WORD_MAX];
    snprintf(word, sizeof word, "%.*s", length < WORD_MAX ? (int)length : WORD_MAX - 1, spec);
    return sy_hint_names(error, word, names, count);
}

static int set_value(const char *spec, const struct sy_generator_parameter *parameter,
                     const char *text, size_t length, double *ret_value, struct sy_error *error) {
    static const struct sy_unit_name ms[] = {{"ms", 1},    {"us", 1e-3}, {"ns", 1e-6}, {"s", 1e3},
                                             {"min", 6e4}, {"h", 3.6e6}, {NULL, 0}};
    double value;
    if (parameter->number == SY_TIME && !sy_parse_quantity(text, length, ms, &value)) {
        fail_at(spec, text, error, "not a time:", text, length);
        return sy_hint(error, "a number and a unit, such as %s=10ms", parameter->key);
    }
    if (parameter->number != SY_TIME && !sy_parse_double(text, length, &value)) {
        return fail_at(spec, text, error, "not a number:", text, length);
    }
    if (!(value >= parameter->low && value <= parameter->high) ||
        (parameter->number == SY_WHOLE && value != floor(value))) {
        return sy_fail_at(error, -EINVAL, NULL, 1, (uint32_t)(text - spec) + 1,
                          "%s is %g, but must be a %snumber in %g .. %g", parameter->key, value,
                          parameter->number == SY_WHOLE ? "whole " : "", parameter->low,
                          parameter->high);
    }
    *ret_value = value;
    return 0;
}

/* The parameter that "key=" or a bare number speaks of. */
static int find_parameter(const char *spec, const struct sy_generator *generator, const char *at,
                          size_t length, uint32_t *ret_index, struct sy_error *error) {
    const char *names[SY_GENERATOR_PARAMETERS];
    uint32_t count = 0;
    for (; count < SY_GENERATOR_PARAMETERS && generator->parameters[count].key; count++) {
        names[count] = generator->parameters[count].key;
        if (strlen(names[count]) == length && memcmp(names[count], at, length) == 0) {
            *ret_index = count;
            return 0;
        }
    }
    char word[WORD_MAX];
    snprintf(word, sizeof word, "%.*s", length < WORD_MAX ? (int)length : WORD_MAX - 1, at);
    fail_at(spec, at, error, "unknown parameter", at, length);
    const char *nearest = sy_nearest(word, names, count);
    if (nearest) {
        sy_hint(error, "did you mean %s?", nearest);
    } else {
        sy_hint(error, "%s", generator->help);
    }
    return -EINVAL;
}

static int read_argument(const char *spec, const struct sy_generator *generator, const char *at,
                         const char *end, uint32_t *seen, double *values, struct sy_error *error) {
    const char *equals = memchr(at, '=', (size_t)(end - at));
    uint32_t index = 0;
    size_t length = (size_t)((equals ? equals : end) - at);
    bool named = equals || ((*seen & 1) && *at >= 'a' && *at <= 'z');
    int code = named ? find_parameter(spec, generator, at, length, &index, error) : 0;
    if (code) {
        return code;
    }
    if (named && !equals) {
        fail_at(spec, at, error, "no value for", at, length);
        return sy_hint(error, "write %s=%g", generator->parameters[index].key, values[index]);
    }
    if (*seen & 1u << index) {
        return fail_at(spec, at, error, "given twice:", generator->parameters[index].key,
                       strlen(generator->parameters[index].key));
    }
    *seen |= 1u << index;
    const char *number = equals ? equals + 1 : at;
    return set_value(spec, &generator->parameters[index], number, (size_t)(end - number),
                     &values[index], error);
}

static int read_arguments(const char *spec, const struct sy_generator *generator, const char *at,
                          double *values, struct sy_error *error) {
    uint32_t seen = 0;
    while (*at) {
        const char *end = at + strcspn(at, ",");
        int code = read_argument(spec, generator, at, end, &seen, values, error);
        if (code) {
            return code;
        }
        at = end + (*end == ',');
        if (*end == ',' && !*at) {
            return sy_fail_at(error, -EINVAL, NULL, 1, (uint32_t)(at - spec) + 1,
                              "an argument is missing after the comma");
        }
    }
    return 0;
}

static int build(const char *spec, const struct sy_generator *generator, const double *values,
                 struct sy_graph **ret_graph, struct sy_error *error) {
    struct sy_graph *graph = sy_graph_create(spec, false);
    if (graph) {
        generator->build(graph, values);
    }
    int code = graph ? graph->builder->failure : -ENOMEM;
    code = code ? sy_fail(error, code, "out of memory") : sy_graph_seal(graph, error);
    if (code) {
        sy_graph_destroy(graph);
        return code;
    }
    *ret_graph = graph;
    return 0;
}

int sy_graph_generate(const char *spec, struct sy_graph **ret_graph, struct sy_error *error) {
    size_t length = strcspn(spec, ":");
    const struct sy_generator *generator = NULL;
    double values[SY_GENERATOR_PARAMETERS] = {0};
    int code = find(spec, length, &generator, error);
    if (code) {
        return code;
    }
    for (uint32_t i = 0; i < SY_GENERATOR_PARAMETERS && generator->parameters[i].key; i++) {
        values[i] = generator->parameters[i].fallback;
    }
    const char *arguments = spec + length + (spec[length] == ':');
    code = read_arguments(spec, generator, arguments, values, error);
    if (code) {
        return code;
    }
    double size = generator->size(values);
    if (!(size <= SY_GENERATOR_SIZE_MAX)) {
        sy_fail_at(error, -EINVAL, NULL, 1, (uint32_t)length + 2,
                   "this graph would have about %.2g tasks and accesses", size);
        return sy_hint(error, "at most %.2g are allowed", SY_GENERATOR_SIZE_MAX);
    }
    return build(spec, generator, values, ret_graph, error);
}

/* --- what the families share ------------------------------------------------------------------ */

static void note(struct sy_graph *graph, int code) {
    graph->builder->failure = graph->builder->failure ? graph->builder->failure : code;
}

struct sy_access *sy_generator_accesses(struct sy_graph *graph, size_t count) {
    struct sy_access *accesses = sy_arena_alloc(graph->arena, count, sizeof *accesses);
    note(graph, accesses ? 0 : -ENOMEM);
    return accesses;
}

void sy_generator_kernels(struct sy_graph *graph, const struct sy_generator_kernel *kernels,
                          uint32_t count) {
    for (uint32_t i = 0; i < count && !graph->builder->failure; i++) {
        const struct sy_generator_kernel *kernel = &kernels[i];
        const double ns[] = {kernel->cpu_ns, kernel->gpu_ns, kernel->fpga_ns};
        struct sy_kernel_desc desc = {.name = kernel->name, .interference = kernel->interference};
        for (uint32_t kind = SY_CPU; kind <= SY_FPGA; kind++) {
            if (ns[kind] > 0) {
                desc.variants[kind] = (struct sy_variant){
                    .present = true, .ns_per_work = ns[kind], .log_sigma = kernel->log_sigma};
            }
        }
        desc.variants[SY_CPU].demand_bytes_per_s = kernel->cpu_bytes_per_s;
        if (kernel->gpu_ns > 0) { /* the same bytes in less time */
            desc.variants[SY_GPU].demand_bytes_per_s =
                kernel->cpu_bytes_per_s * (kernel->cpu_ns / kernel->gpu_ns);
        }
        desc.variants[SY_GPU].link_demand_bytes_per_s = kernel->gpu_link_bytes_per_s;
        desc.variants[SY_FPGA].link_demand_bytes_per_s = kernel->fpga_link_bytes_per_s;
        sy_kernel_id id;
        note(graph, sy_graph_add_kernel(graph, &desc, &id));
    }
}

void sy_generator_task(struct sy_graph *graph, uint32_t kernel, double work,
                       const struct sy_access *accesses, const char *format, ...) {
    if (graph->builder->failure) {
        return;
    }
    char name[96];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    struct sy_task_desc desc = {
        .name = name, .kernel = {kernel}, .work = work, .accesses = accesses};
    while (accesses[desc.access_count].mode) {
        desc.access_count++;
    }
    sy_task_id task;
    note(graph, sy_graph_add_task(graph, &desc, &task));
}

void sy_generator_data(struct sy_graph *graph, double bytes, const char *format, ...) {
    if (graph->builder->failure) {
        return;
    }
    char name[96];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    sy_data_id datum;
    note(graph, sy_graph_add_data(graph, name, bytes, &datum));
}
