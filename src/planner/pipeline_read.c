/* SPDX-License-Identifier: Apache-2.0
 *
 * A pipeline from JSON text, symph-pipeline-1 (docs/pipeline-format.md).
 *
 * In: text. Out: a checked description. Sections may come in any order: the text is read four
 * times, features before data, data before kernels, kernels before examples. Invariant: whatever is
 * wrong is said at its line and column.
 */
#include "planner/pipeline_read.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA          "symph-pipeline-1"
#define ABOUT_BYTES_MAX 4096
#define VALUE_MAX       1e18 /* of a feature: sums and products stay far from overflowing */

struct words {
    uint32_t count;
    uint32_t data[SY_PIPELINE_ARGUMENT_MAX];
    struct sy_json_place marks[SY_PIPELINE_ARGUMENT_MAX];
};

int sy_pipeline_fail(struct sy_pipeline_reader *r, struct sy_json_place mark, const char *format,
                     ...) {
    va_list args;
    va_start(args, format);
    int code = sy_fail_list(r->error, r->file, mark.line, mark.column, format, args);
    va_end(args);
    return code;
}

/* --- values ----------------------------------------------------------------------------------- */
static int read_text(void *reader, const struct sy_json_member *member) {
    struct sy_pipeline_reader *r = reader;
    const char *text;
    size_t length;
    int code = sy_json_string(&r->json, &text, &length);
    if (!code && length > ABOUT_BYTES_MAX) {
        return sy_json_fail(&r->json, "a text of more than %d bytes", ABOUT_BYTES_MAX);
    }
    const char **ret_text = member->out;
    if (!code) {
        *ret_text = sy_arena_strndup(r->arena, text, length);
        code = *ret_text ? 0 : sy_out_of_memory(r->error);
    }
    return code;
}

/* Names stand in plans ("gemm1+spmm1@gpu:2x3"), tables and lists of values. */
static int read_word(struct sy_pipeline_reader *r, const char *others, const char **ret_name) {
    const char *text;
    size_t length;
    int code = sy_json_string(&r->json, &text, &length);
    if (code) {
        return code;
    }
    bool good = length >= 1 && length <= SY_PIPELINE_NAME_MAX;
    for (size_t i = 0; i < length; i++) {
        good = good && (isalnum((unsigned char)text[i]) || strchr(others, text[i]));
    }
    if (!good) {
        sy_json_fail(&r->json, "\"%.80s\" cannot be a name", text);
        return sy_hint(r->error, "1 to %d letters, digits and %s", SY_PIPELINE_NAME_MAX, others);
    }
    *ret_name = sy_arena_strndup(r->arena, text, length);
    return *ret_name ? 0 : sy_out_of_memory(r->error);
}

static int read_name(void *reader, const struct sy_json_member *member) {
    return read_word(reader, "_.-", member->out);
}

static int read_kernel_name(void *reader, const struct sy_json_member *member) {
    return read_word(reader, "_.-:", member->out);
}

/* A name that can stand in expressions. */
static int read_identifier(void *reader, const struct sy_json_member *member) {
    struct sy_pipeline_reader *r = reader;
    static const char *const taken[] = {"if",           "else",      "min",
                                        "max",          "d_ratio",   "NaN",
                                        "source_count", "has_event", "strcmp_cpuid_str"};
    const char **name = member->out;
    int code = read_word(r, "_", name);
    if (!code && isdigit((unsigned char)(*name)[0])) {
        return sy_json_fail(&r->json, "\"%s\" begins with a digit", *name);
    }
    for (size_t i = 0; !code && i < SY_COUNT(taken); i++) {
        if (strcmp(*name, taken[i]) == 0) {
            code = sy_json_fail(&r->json, "\"%s\" has a meaning in expressions", *name);
        }
    }
    return code;
}

static int read_number(void *reader, const struct sy_json_member *member) {
    return sy_json_number_in(reader, "the number", -VALUE_MAX, VALUE_MAX, member->out);
}

static int read_expression(void *reader, const struct sy_json_member *member) {
    return sy_pipeline_read_expression(reader, member->out);
}

static int read_role(void *reader, const struct sy_json_member *member) {
    static const char *const names[] = {"input", "constant", "between", "output"};
    uint32_t role = 0;
    int code = sy_json_word(reader, "a role", names, SY_COUNT(names), &role);
    *(enum sy_pipeline_role *)member->out = (enum sy_pipeline_role)role;
    return code;
}

/* --- objects and lists ------------------------------------------------------------------------ */
/* Calls read for each element; it is told how many there were before it. */
static int read_list(struct sy_pipeline_reader *r, const char *what, uint32_t max,
                     int (*read)(struct sy_pipeline_reader *r, uint32_t index, void *out),
                     void *out) {
    uint32_t count = 0;
    int code = sy_json_enter_array(&r->json);
    while (!code && (code = sy_json_next(&r->json)) == 1) {
        enum sy_json_type type;
        code = sy_json_peek(&r->json, &type);
        if (!code && count == max) {
            return sy_json_fail(&r->json, "more than %u %s", max, what);
        }
        code = code ? code : read(r, count++, out);
    }
    return code;
}

/* --- features --------------------------------------------------------------------------------- */
static int read_feature(struct sy_pipeline_reader *r, uint32_t index, void *out) {
    (void)out;
    struct sy_pipeline_feature feature = {.about = "", .usual = NAN};
    const struct sy_json_member members[] = {
        {"name", read_identifier, &feature.name, .required = true},
        {"about", read_text, &feature.about},
        {"low", read_number, &feature.low, .required = true},
        {"high", read_number, &feature.high, .required = true},
        {"usual", read_number, &feature.usual},
    };
    int code = sy_json_members(r, "a feature", members, SY_COUNT(members));
    struct sy_json_place mark = sy_json_here(&r->json);
    if (code) {
        return code;
    }
    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(r->features[i].name, feature.name) == 0) {
            return sy_pipeline_fail(r, mark, "two features are called \"%s\"", feature.name);
        }
    }
    if (feature.low > feature.high) {
        return sy_pipeline_fail(r, mark, "feature \"%s\": low is above high", feature.name);
    }
    if (feature.usual < feature.low || feature.usual > feature.high) {
        return sy_pipeline_fail(r, mark, "feature \"%s\": usual is not within low and high",
                                feature.name);
    }
    r->features[index] = feature;
    r->pipeline->feature_count = index + 1;
    return 0;
}

static int read_features(void *reader, const struct sy_json_member *member) {
    return read_list(reader, "features", SY_PIPELINE_FEATURE_MAX, read_feature, member->out);
}

/* --- data ------------------------------------------------------------------------------------- */
static uint32_t find_datum(const struct sy_pipeline_reader *r, const char *name) {
    uint32_t i = 0;
    while (i < r->pipeline->datum_count && strcmp(r->data[i].name, name) != 0) {
        i++;
    }
    return i < r->pipeline->datum_count ? i : SY_NONE;
}

static int read_datum(struct sy_pipeline_reader *r, uint32_t index, void *out) {
    (void)out;
    struct sy_pipeline_datum datum = {0};
    const struct sy_json_member members[] = {
        {"name", read_name, &datum.name, .required = true},
        {"role", read_role, &datum.role, .required = true},
        {"bytes", read_expression, &datum.bytes, .required = true},
    };
    int code = sy_json_members(r, "a datum", members, SY_COUNT(members));
    struct sy_json_place mark = sy_json_here(&r->json);
    if (code) {
        return code;
    }
    if (find_datum(r, datum.name) != SY_NONE) {
        return sy_pipeline_fail(r, mark, "two data are called \"%s\"", datum.name);
    }
    r->data[index] = datum;
    r->uses[index] = (struct sy_datum_use){.defined = mark, .writer = SY_NONE, .reader = SY_NONE};
    r->pipeline->datum_count = index + 1;
    return 0;
}

static int read_data(void *reader, const struct sy_json_member *member) {
    return read_list(reader, "data", SY_PIPELINE_DATUM_MAX, read_datum, member->out);
}

/* --- kernels ---------------------------------------------------------------------------------- */
static int fail_datum(struct sy_pipeline_reader *r, const char *name) {
    const char *names[SY_PIPELINE_DATUM_MAX];
    for (uint32_t i = 0; i < r->pipeline->datum_count; i++) {
        names[i] = r->data[i].name;
    }
    const char *near =
        strlen(name) < 200 ? sy_nearest(name, names, r->pipeline->datum_count) : NULL;
    sy_json_fail(&r->json, "there is no datum \"%.64s\"", name);
    if (near) {
        sy_hint(r->error, "did you mean \"%s\"?", near);
    } else {
        sy_hint(r->error, "list it in \"data\", with its role and bytes");
    }
    return -EINVAL;
}

static int read_argument(struct sy_pipeline_reader *r, uint32_t index, void *out) {
    struct words *words = out;
    const char *name;
    int code = sy_json_string(&r->json, &name, NULL);
    if (code) {
        return code;
    }
    uint32_t datum = find_datum(r, name);
    if (datum == SY_NONE) {
        return fail_datum(r, name);
    }
    for (uint32_t i = 0; i < index; i++) {
        if (words->data[i] == datum) {
            return sy_json_fail(&r->json, "\"%s\" appears twice", name);
        }
    }
    words->data[index] = datum;
    words->marks[index] = sy_json_here(&r->json);
    words->count = index + 1;
    return 0;
}

static int read_arguments(void *reader, const struct sy_json_member *member) {
    return read_list(reader, "arguments", SY_PIPELINE_ARGUMENT_MAX, read_argument, member->out);
}

static int read_parameter(struct sy_pipeline_reader *r, uint32_t index, void *out) {
    struct sy_pipeline_kernel *kernel = out;
    kernel->parameter_count = index + 1;
    return sy_pipeline_read_expression(r, &kernel->parameters[index]);
}

static int read_parameters(void *reader, const struct sy_json_member *member) {
    return read_list(reader, "parameters", SY_PIPELINE_PARAMETER_MAX, read_parameter, member->out);
}

static int insert_cost(struct sy_pipeline_reader *r, struct sy_pipeline_kernel *kernel,
                       const char *name) {
    uint32_t at = 0;
    while (at < kernel->cost_count && sy_feature_compare(kernel->cost_names[at], name) < 0) {
        at++;
    }
    if (at < kernel->cost_count && strcmp(kernel->cost_names[at], name) == 0) {
        return sy_json_fail(&r->json, "\"%s\" appears twice", name);
    }
    if (kernel->cost_count == SY_PIPELINE_COST_MAX) {
        return sy_json_fail(&r->json, "more than %d cost features", SY_PIPELINE_COST_MAX);
    }
    memmove(&kernel->costs[at + 1], &kernel->costs[at],
            (kernel->cost_count - at) * sizeof kernel->costs[0]);
    memmove(&kernel->cost_names[at + 1], &kernel->cost_names[at],
            (kernel->cost_count - at) * sizeof kernel->cost_names[0]);
    kernel->cost_names[at] = name;
    kernel->cost_count++;
    return sy_pipeline_read_expression(r, &kernel->costs[at]);
}

static int read_costs(void *reader, const struct sy_json_member *member) {
    struct sy_pipeline_reader *r = reader;
    struct sy_pipeline_kernel *kernel = member->out;
    const char *name;
    int code = sy_json_enter_object(&r->json);
    struct sy_json_place mark = sy_json_here(&r->json);
    while (!code && (code = sy_json_next_member(&r->json, &name)) == 1) {
        if (!sy_feature_valid(name)) {
            return sy_json_fail(&r->json, "\"%.80s\" cannot name a cost feature", name);
        }
        const char *copy = sy_arena_strdup(r->arena, name);
        code = copy ? insert_cost(r, kernel, copy) : sy_out_of_memory(r->error);
    }
    if (code) {
        return code;
    }
    bool flops = kernel->cost_count > 0 && strcmp(kernel->cost_names[0], "flops") == 0;
    if (!flops || kernel->cost_count < 2 || strcmp(kernel->cost_names[1], "bytes") != 0) {
        sy_pipeline_fail(r, mark, "the cost lacks \"%s\"", flops ? "bytes" : "flops");
        return sy_hint(r->error,
                       "every kernel has the cost features flops (operations) and bytes (moved)");
    }
    return 0;
}

/* What is learned of a kernel serves all that run the same one. */
static int check_same_costs(struct sy_pipeline_reader *r, struct sy_json_place mark,
                            const struct sy_pipeline_kernel *kernel, uint32_t index) {
    for (uint32_t i = 0; i < index; i++) {
        const struct sy_pipeline_kernel *other = &r->kernels[i];
        if (strcmp(other->kernel, kernel->kernel) != 0) {
            continue;
        }
        bool same = other->cost_count == kernel->cost_count;
        for (uint32_t c = 0; same && c < kernel->cost_count; c++) {
            same = strcmp(other->cost_names[c], kernel->cost_names[c]) == 0;
        }
        if (!same) {
            sy_pipeline_fail(r, mark, "\"%s\" and \"%s\" both run \"%s\", with other cost features",
                             other->name, kernel->name, kernel->kernel);
            return sy_hint(r->error, "name the same ones in both: times are learned per kernel");
        }
    }
    return 0;
}

static int use_read(struct sy_pipeline_reader *r, uint32_t index, uint32_t datum,
                    struct sy_json_place mark) {
    if (r->uses[datum].reader == SY_NONE) {
        r->uses[datum].reader = index;
        r->uses[datum].read = mark;
    }
    return 0;
}

static int use_write(struct sy_pipeline_reader *r, uint32_t index, uint32_t datum,
                     struct sy_json_place mark, const struct words *reads) {
    struct sy_datum_use *use = &r->uses[datum];
    const char *name = r->data[datum].name;
    enum sy_pipeline_role role = r->data[datum].role;
    if (role == SY_PIPELINE_INPUT || role == SY_PIPELINE_CONSTANT) {
        sy_pipeline_fail(r, mark, "\"%s\" is %s and cannot be written", name,
                         role == SY_PIPELINE_INPUT ? "an input" : "constant");
        return sy_hint(r->error, "write another datum, with the role \"between\" or \"output\"");
    }
    for (uint32_t i = 0; i < reads->count; i++) {
        if (reads->data[i] == datum) {
            sy_pipeline_fail(r, mark, "the kernel reads and writes \"%s\"", name);
            return sy_hint(r->error, "write another datum: an item's data are written once");
        }
    }
    if (use->writer != SY_NONE) {
        sy_pipeline_fail(r, mark, "\"%s\" is already written by kernel \"%s\"", name,
                         r->kernels[use->writer].name);
        return sy_hint(r->error,
                       "the data of an item are written once: give each writer its own datum");
    }
    use->writer = index;
    return 0;
}

static int put_arguments(struct sy_pipeline_reader *r, struct sy_json_place mark, uint32_t index,
                         struct sy_pipeline_kernel *kernel, const struct words *reads,
                         const struct words *writes) {
    kernel->argument_count = reads->count + writes->count;
    if (writes->count == 0) {
        return sy_pipeline_fail(r, mark, "kernel \"%s\" writes nothing", kernel->name);
    }
    if (kernel->argument_count > SY_PIPELINE_ARGUMENT_MAX) {
        return sy_pipeline_fail(r, mark, "kernel \"%s\" reads and writes more than %d data",
                                kernel->name, SY_PIPELINE_ARGUMENT_MAX);
    }
    int code = 0;
    for (uint32_t i = 0; !code && i < kernel->argument_count; i++) {
        bool write = i >= reads->count;
        const struct words *words = write ? writes : reads;
        uint32_t at = write ? i - reads->count : i;
        kernel->arguments[i] = words->data[at];
        kernel->writes[i] = write;
        code = write ? use_write(r, index, words->data[at], words->marks[at], reads)
                     : use_read(r, index, words->data[at], words->marks[at]);
    }
    return code;
}

static int read_kernel(struct sy_pipeline_reader *r, uint32_t index, void *out) {
    (void)out;
    struct sy_pipeline_kernel *kernel = &r->kernels[index];
    struct words reads = {0}, writes = {0};
    const struct sy_json_member members[] = {
        {"name", read_name, &kernel->name, .required = true},
        {"kernel", read_kernel_name, &kernel->kernel, .required = true},
        {"reads", read_arguments, &reads, .required = true},
        {"writes", read_arguments, &writes, .required = true},
        {"parameters", read_parameters, kernel},
        {"cost", read_costs, kernel, .required = true},
        {"split", sy_json_read_bool, &kernel->split},
    };
    int code = sy_json_members(r, "a kernel", members, SY_COUNT(members));
    struct sy_json_place mark = sy_json_here(&r->json);
    if (code) {
        return code;
    }
    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(r->kernels[i].name, kernel->name) == 0) {
            return sy_pipeline_fail(r, mark, "two kernels are called \"%s\"", kernel->name);
        }
    }
    r->kernel_marks[index] = mark;
    r->pipeline->kernel_count = index + 1;
    code = check_same_costs(r, mark, kernel, index);
    return code ? code : put_arguments(r, mark, index, kernel, &reads, &writes);
}

static int read_kernels(void *reader, const struct sy_json_member *member) {
    struct sy_pipeline_reader *r = reader;
    int code = read_list(r, "kernels", SY_PLAN_KERNEL_MAX, read_kernel, member->out);
    if (!code && r->pipeline->kernel_count == 0) {
        code = sy_json_fail(&r->json, "the pipeline has no kernels");
    }
    const char *names[SY_COSTS_NAME_MAX];
    if (!code && sy_pipeline_cost_names(r->pipeline, names, 0) > SY_COSTS_NAME_MAX) {
        code = sy_json_fail(&r->json, "kernels have more than %d different cost features",
                            SY_COSTS_NAME_MAX);
    }
    r->pipeline->names = r->names.names; /* until they are complete */
    return code ? code : sy_pipeline_connect(r);
}

/* --- examples --------------------------------------------------------------------------------- */
static int read_values(void *reader, const struct sy_json_member *member) {
    struct sy_pipeline_reader *r = reader;
    return sy_values_read_object(r->pipeline, &r->json, member->out);
}

static int check_example(struct sy_pipeline_reader *r, struct sy_json_place mark, const char *name,
                         double *values) {
    struct sy_error why = {0};
    int code = sy_values_complete(r->pipeline, values, &why);
    if (!code) {
        double numbers[SY_PIPELINE_EXPRESSION_MAX];
        code = sy_pipeline_measure(r->pipeline, values, numbers, &why);
    }
    if (code) {
        sy_pipeline_fail(r, mark, "example \"%s\": %.200s", name, why.message);
        sy_hint(r->error, "%s", why.hint);
    }
    return code ? -EINVAL : 0;
}

static int read_example(struct sy_pipeline_reader *r, uint32_t index, void *out) {
    (void)out;
    double *values = sy_arena_alloc(r->arena, r->pipeline->feature_count + 1, sizeof *values);
    if (!values) {
        return sy_out_of_memory(r->error);
    }
    for (uint32_t i = 0; i < r->pipeline->feature_count; i++) {
        values[i] = NAN;
    }
    struct sy_pipeline_example example = {.about = "", .values = values};
    const struct sy_json_member members[] = {
        {"name", read_name, &example.name, .required = true},
        {"about", read_text, &example.about},
        {"values", read_values, values, .required = true},
    };
    int code = sy_json_members(r, "an example", members, SY_COUNT(members));
    struct sy_json_place mark = sy_json_here(&r->json);
    for (uint32_t i = 0; !code && i < index; i++) {
        if (strcmp(r->examples[i].name, example.name) == 0) {
            code = sy_pipeline_fail(r, mark, "two examples are called \"%s\"", example.name);
        }
    }
    code = code ? code : check_example(r, mark, example.name, values);
    if (!code) {
        r->examples[index] = example;
        r->pipeline->example_count = index + 1;
    }
    return code;
}

static int read_examples(void *reader, const struct sy_json_member *member) {
    return read_list(reader, "examples", SY_PIPELINE_EXAMPLE_MAX, read_example, member->out);
}

/* --- the whole -------------------------------------------------------------------------------- */
static int read_schema(void *reader, const struct sy_json_member *member) {
    (void)member;
    return sy_json_schema(reader, SCHEMA, "a pipeline");
}

/* Everything is looked at in each pass, the members of one are read. */
static int read_pass(struct sy_pipeline_reader *r, uint32_t pass) {
    const struct sy_json_member members[] = {
        {"schema", pass == 0 ? read_schema : NULL, .required = true},
        {"name", pass == 0 ? read_name : NULL, &r->pipeline->name, .required = true},
        {"about", pass == 0 ? read_text : NULL, &r->pipeline->about},
        {"features", pass == 0 ? read_features : NULL, .required = true},
        {"data", pass == 1 ? read_data : NULL, .required = true},
        {"kernels", pass == 2 ? read_kernels : NULL, .required = true},
        {"examples", pass == 3 ? read_examples : NULL},
    };
    sy_json_init(&r->json, r->file, r->text, r->length, r->error);
    int code = sy_json_members(r, "a pipeline", members, SY_COUNT(members));
    code = code ? code : sy_json_end(&r->json);
    sy_json_finish(&r->json);
    return code;
}

static int allocate(struct sy_pipeline_reader *r) {
    struct sy_arena *arena = sy_arena_create();
    struct sy_pipeline *pipeline = arena ? sy_arena_alloc(arena, 1, sizeof *pipeline) : NULL;
    if (!pipeline) {
        sy_arena_destroy(arena);
        return sy_out_of_memory(r->error);
    }
    pipeline->arena = r->arena = arena;
    pipeline->about = "";
    r->pipeline = pipeline;
    r->features = sy_arena_alloc(arena, SY_PIPELINE_FEATURE_MAX, sizeof *r->features);
    r->data = sy_arena_alloc(arena, SY_PIPELINE_DATUM_MAX, sizeof *r->data);
    r->kernels = sy_arena_alloc(arena, SY_PLAN_KERNEL_MAX, sizeof *r->kernels);
    r->examples = sy_arena_alloc(arena, SY_PIPELINE_EXAMPLE_MAX, sizeof *r->examples);
    r->expressions = sy_arena_alloc(arena, SY_PIPELINE_EXPRESSION_MAX, sizeof *r->expressions);
    r->name_feature = sy_arena_alloc(arena, SY_PIPELINE_FEATURE_MAX, sizeof *r->name_feature);
    pipeline->features = r->features;
    pipeline->data = r->data;
    pipeline->kernels = r->kernels;
    pipeline->examples = r->examples;
    pipeline->expressions = r->expressions;
    pipeline->name_feature = r->name_feature;
    return r->features && r->data && r->kernels && r->examples && r->expressions && r->name_feature
               ? 0
               : sy_out_of_memory(r->error);
}

/* Names move from where they grew to where they stay. */
static int keep_names(struct sy_pipeline_reader *r) {
    const char **names = sy_arena_alloc(r->arena, r->names.count + 1, sizeof *names);
    if (!names) {
        return sy_out_of_memory(r->error);
    }
    for (uint32_t i = 0; i < r->names.count; i++) {
        names[i] = r->names.names[i];
    }
    r->pipeline->names = names;
    return 0;
}

int sy_pipeline_read_text(const char *file, const char *text, size_t length,
                          struct sy_pipeline **ret_pipeline, struct sy_error *error) {
    struct sy_error unseen;
    struct sy_pipeline_reader *r = calloc(1, sizeof *r);
    if (!r) {
        return sy_out_of_memory(error);
    }
    *r = (struct sy_pipeline_reader){
        .file = file, .text = text, .length = length, .error = error ? error : &unseen};
    int code = allocate(r);
    for (uint32_t pass = 0; !code && pass < 4; pass++) {
        code = read_pass(r, pass);
    }
    code = code ? code : keep_names(r);
    if (code) {
        sy_pipeline_destroy(r->pipeline);
    } else {
        *ret_pipeline = r->pipeline;
    }
    sy_expr_names_finish(&r->names);
    free(r);
    return code;
}

int sy_pipeline_read_file(const char *path, struct sy_pipeline **ret_pipeline,
                          struct sy_error *error) {
    char *text = NULL;
    size_t length;
    int code = sy_read_file(path, &text, &length, error);
    if (!code) {
        code = sy_pipeline_read_text(path, text, length, ret_pipeline, error);
        free(text);
    }
    return code;
}

void sy_pipeline_destroy(struct sy_pipeline *pipeline) {
    if (pipeline) {
        sy_arena_destroy(pipeline->arena);
    }
}
