/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptions of pipelines: what they give, and that what is wrong is said where it stands.
 */
#include "gcn.h"
#include "planner/pipeline.h"
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* needs the above */
#include <cmocka.h>

static struct sy_pipeline *read_gcn(void) {
    struct sy_pipeline *pipeline = NULL;
    struct sy_error error = {0};
    if (sy_pipeline_read_text("gcn.json", gcn_text, strlen(gcn_text), &pipeline, &error)) {
        fail_msg("%u:%u: %s", error.line, error.column, error.message);
    }
    return pipeline;
}

static void test_read(void **state) {
    (void)state;
    struct sy_pipeline *p = read_gcn();
    assert_string_equal(p->name, "gcn");
    assert_string_equal(p->about, "two layers");
    assert_int_equal(p->feature_count, 4);
    assert_string_equal(p->features[1].name, "edges");
    assert_string_equal(p->features[1].about, "");
    assert_true(isnan(p->features[0].usual) && p->features[3].usual == 1);
    assert_int_equal(p->datum_count, 6);
    assert_int_equal(p->data[2].role, SY_PIPELINE_CONSTANT);
    assert_int_equal(p->kernel_count, 3);
    assert_int_equal(p->example_count, 2);
    assert_true(p->examples[0].values[3] == 1); /* what is usual */
    sy_pipeline_destroy(p);
    sy_pipeline_destroy(NULL);
}

/* The text has spmm2 first; it runs last. Costs stand in their order, whatever that of the text. */
static void test_kernels(void **state) {
    (void)state;
    struct sy_pipeline *p = read_gcn();
    assert_string_equal(p->kernels[0].name, "spmm1");
    assert_string_equal(p->kernels[1].name, "gemm1");
    assert_string_equal(p->kernels[2].name, "spmm2");
    const struct sy_pipeline_kernel *last = &p->kernels[2], *gemm = &p->kernels[1];
    assert_string_equal(last->kernel, "spmm");
    assert_int_equal(last->argument_count, 3);
    assert_string_equal(p->data[last->arguments[0]].name, "graph");
    assert_string_equal(p->data[last->arguments[2]].name, "out");
    assert_true(!last->writes[1] && last->writes[2] && !last->split);
    assert_int_equal(last->cost_count, 3);
    assert_string_equal(last->cost_names[0], "flops");
    assert_string_equal(last->cost_names[1], "bytes");
    assert_string_equal(last->cost_names[2], "spread");
    assert_int_equal(gemm->parameter_count, 4);
    assert_true(gemm->split);
    sy_pipeline_destroy(p);
}

static void test_measure(void **state) {
    (void)state;
    struct sy_pipeline *p = read_gcn();
    double values[4], *numbers = calloc(p->expression_count, sizeof *numbers);
    assert_non_null(numbers);
    assert_int_equal(sy_pipeline_values(p, "nodes=1e3, edges=5000,width=16", values, NULL), 0);
    assert_int_equal(sy_pipeline_measure(p, values, numbers, NULL), 0);
    assert_true(numbers[p->data[0].bytes] == 4 * (1000 + 1 + 2 * 5000));
    const struct sy_pipeline_kernel *gemm = &p->kernels[1], *spmm = &p->kernels[0];
    assert_true(numbers[gemm->costs[0]] == 2.0 * 1000 * 16 * 16);
    assert_true(numbers[spmm->costs[1]] == 4.0 * 5000 * 16 && numbers[spmm->costs[2]] == 2);
    assert_true(numbers[gemm->parameters[2]] == 0 && numbers[gemm->parameters[3]] == 16);
    free(numbers);
    sy_pipeline_destroy(p);
}

static void test_examples_with_changes(void **state) {
    (void)state;
    struct sy_pipeline *p = read_gcn();
    double values[4];
    assert_int_equal(sy_pipeline_values(p, "arxiv", values, NULL), 0);
    assert_true(values[0] == 169343 && values[2] == 128 && values[3] == 5);
    assert_int_equal(sy_pipeline_values(p, "arxiv, width = 256", values, NULL), 0);
    assert_true(values[1] == 1166243 && values[2] == 256);
    sy_pipeline_destroy(p);
}

static void test_values_file(void **state) {
    (void)state;
    static const char text[] = "{\"nodes\": 10, \"edges\": 20,\n \"width\": 8}";
    static const char bad[] = "{\"nodes\": 10,\n \"egdes\": 20}";
    char path[] = "/tmp/symph-values-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    struct sy_pipeline *p = read_gcn();
    double values[4];
    struct sy_error error = {0};
    assert_int_equal(sy_write_file(path, text, strlen(text), NULL), 0);
    assert_int_equal(sy_pipeline_values(p, path, values, NULL), 0);
    assert_true(values[1] == 20 && values[3] == 1);
    assert_int_equal(sy_write_file(path, bad, strlen(bad), NULL), 0);
    assert_int_equal(sy_pipeline_values(p, path, values, &error), -EINVAL);
    assert_int_equal(error.line, 2);
    assert_string_equal(error.file, path);
    assert_non_null(strstr(error.hint, "edges"));
    unlink(path);
    assert_int_equal(sy_pipeline_values(p, path, values, &error), -ENOENT);
    sy_pipeline_destroy(p);
}

/* text, then what the message and the hint must hold. */
static const char *const bad_values[][3] = {
    {"width=16", "nodes, edges", "nodes="},
    {"", "nodes, edges, width", ""},
    {"nodes=1,edges=1,wdith=2", "wdith", "width"},
    {"nodes=0,edges=1,width=1", "nodes must be 1 to 1e+09, not 0", "vertices"},
    {"nodes=abc,edges=1,width=1", "\"abc\"", ""},
    {"nodes=nan,edges=1,width=1", "\"nan\"", ""},
    {"nodes=1,nodes=2", "twice", ""},
    {"nodes=1,,edges=1", "lacks a value", ""},
    {"nodes=1,arxiv", "lacks a value", "comes first"},
    {"arxif", "neither an example", "arxiv"},
    {"zzzzzzzzzzz", "neither an example", "small, arxiv"},
};

static void test_bad_values(void **state) {
    (void)state;
    struct sy_pipeline *p = read_gcn();
    for (size_t i = 0; i < SY_COUNT(bad_values); i++) {
        double values[4] = {-7, -7, -7, -7};
        struct sy_error error = {0};
        assert_int_equal(sy_pipeline_values(p, bad_values[i][0], values, &error), -EINVAL);
        if (!strstr(error.message, bad_values[i][1]) || !strstr(error.hint, bad_values[i][2])) {
            fail_msg("%s: %s (%s)", bad_values[i][0], error.message, error.hint);
        }
        assert_true(values[0] == -7 && values[3] == -7);
    }
    sy_pipeline_destroy(p);
}

/* What is replaced in the text, by what; then line and column, and what message and hint hold. */
struct mistake {
    const char *from, *to;
    uint32_t line, column;
    const char *message, *hint;
};

static const struct mistake mistakes[] = {
    {"symph-pipeline-1", "symph-machine-1", 1, 12, "not a pipeline", "symph-pipeline-1"},
    {"\"about\": \"two", "\"abuot\": \"two", 1, 47, "no member \"abuot\"", "about"},
    {"\"name\": \"gcn\", ", "", 1, 1, "lacks \"name\"", ""},
    {"\"name\": \"gcn\"", "\"name\": \"g,n\"", 1, 40, "cannot be a name", ""},
    {"\"name\": \"edges\"", "\"name\": \"nodes\"", 4, 3, "two features", ""},
    {"\"name\": \"edges\"", "\"name\": \"if\"", 4, 12, "has a meaning", ""},
    {"\"name\": \"edges\"", "\"name\": \"2e\"", 4, 12, "begins with a digit", ""},
    {"\"low\": 1, \"high\": 4096", "\"low\": 1", 5, 3, "lacks \"high\"", ""},
    {"\"low\": 1, \"high\": 4096", "\"low\": 1, \"high\": 0", 5, 3, "low is above high", ""},
    {"\"usual\": 1}", "\"usual\": -1}", 6, 3, "usual is not within", ""},
    {"4*(nodes+1+2*edges)", "4*(nodes+1+2*egdes)", 8, 61, "\"egdes\" is not a feature", "edges"},
    {"4*(nodes+1+2*edges)", "4*(nodes+1+2*edges", 8, 66, "expected ')'", "min(a,b)"},
    {"4*(nodes+1+2*edges)", "#num_cpus", 8, 48, "has no meaning here", "features"},
    {"4*(nodes+1+2*edges)", "ceil(nodes)", 8, 48, "no function 'ceil'", "max(a,b)"},
    {"\"role\": \"input\"", "\"role\": \"in\"", 8, 29, "\"in\" is not a role", "between"},
    {"\"name\": \"h2\"", "\"name\": \"h1\"", 12, 3, "two data", ""},
    {"[\"graph\", \"h2\"]", "[\"graph\", \"g2\"]", 15, 58, "there is no datum", "h2"},
    {"[\"graph\", \"h2\"]", "[\"graph\", \"graph\"]", 15, 58, "appears twice", ""},
    {"\"writes\": [\"out\"]", "\"writes\": [\"h1\"]", 17, 75, "already written by kernel", ""},
    {"\"writes\": [\"out\"]", "\"writes\": [\"x\"]", 15, 76, "is an input", "between"},
    {"\"writes\": [\"out\"]", "\"writes\": []", 15, 3, "writes nothing", ""},
    {"[\"h1\", \"w1\"]", "[\"h2\", \"w1\"]", 19, 77, "reads and writes \"h2\"", ""},
    {"[\"graph\", \"x\"]", "[\"graph\", \"h2\"]", 9, 3, "no kernel reads \"x\"", "leave it out"},
    {"\"x\", \"role\": \"input\"", "\"x\", \"role\": \"between\"", 17, 58,
     "\"spmm1\" reads \"x\", which no kernel writes", "\"input\""},
    {"\"name\": \"spmm1\"", "\"name\": \"spmm2\"", 17, 3, "two kernels", ""},
    {"\"bytes\": \"4*edges*width\", \"spread\"", "\"spread\"", 18, 12, "lacks \"bytes\"", "flops"},
    {"\"cost\": {\"flops\": \"2*edges*width\", ", "\"cost\": {", 18, 12, "lacks \"flops\"",
     "bytes"},
    {", \"spread\": \"1+degree_cv\"}},\n  {\"name\": \"gemm1\"", "}},\n  {\"name\": \"gemm1\"", 17,
     3, "other cost features", "same"},
    {"\"spread\"", "\"spread out\"", 16, 13, "cannot name a cost", ""},
    {"\"spread\"", "\"width\"", 16, 13, "cannot name a cost", ""},
    {"\"split\": true", "\"split\": 1", 21, 81, "expected true or false", ""},
    {"\"edges\": 5000, ", "", 23, 3, "example \"small\": no value for edges", "edges=NUMBER"},
    {"\"edges\": 5000, ", "\"egdes\": 5000, ", 23, 47, "\"egdes\" is not a feature", "edges"},
    {"\"edges\": 5000, ", "\"edges\": 0, ", 23, 56, "edges must be", ""},
    {"\"1+degree_cv\"}},\n  {\"name\": \"gemm1\"", "\"degree_cv-1\"}},\n  {\"name\": \"gemm1\"", 23,
     3, "\"spmm1\": spread is 0", "positive"},
    {"\"name\": \"arxiv\"", "\"name\": \"small\"", 24, 3, "two examples", ""},
    {"\"degree_cv\": 5}}]}", "\"degree_cv\": 5}}]", 25, 1, "expected ','", ""},
};

/* The text with the first `from` behind nothing else replaced. */
static char *replaced(const char *from, const char *to) {
    const char *at = strstr(gcn_text, from);
    assert_non_null(at);
    size_t head = (size_t)(at - gcn_text);
    char *text = malloc(sizeof gcn_text + strlen(to) + 1);
    assert_non_null(text);
    memcpy(text, gcn_text, head);
    strcpy(text + head, to);
    strcat(text, at + strlen(from));
    return text;
}

static void test_mistakes(void **state) {
    (void)state;
    for (size_t i = 0; i < SY_COUNT(mistakes); i++) {
        const struct mistake *m = &mistakes[i];
        struct sy_pipeline *pipeline = NULL;
        struct sy_error error = {0};
        char *text = replaced(m->from, m->to);
        int code = sy_pipeline_read_text("gcn.json", text, strlen(text), &pipeline, &error);
        if (code != -EINVAL || error.line != m->line || error.column != m->column ||
            !strstr(error.message, m->message) || !strstr(error.hint, m->hint)) {
            fail_msg("mistake %zu (%s), wanted %u:%u %s: %d %u:%u: %s (%s)", i, m->to, m->line,
                     m->column, m->message, code, error.line, error.column, error.message,
                     error.hint);
        }
        assert_string_equal(error.file, "gcn.json");
        free(text);
    }
}

static void test_circle(void **state) {
    (void)state;
    static const char text[] =
        "{\"schema\": \"symph-pipeline-1\", \"name\": \"c\", \"features\": [],\n"
        "\"data\": [{\"name\": \"a\", \"role\": \"between\", \"bytes\": 1},"
        "{\"name\": \"b\", \"role\": \"output\", \"bytes\": 1}],\n"
        "\"kernels\": [\n"
        "{\"name\": \"k\", \"kernel\": \"f\", \"reads\": [\"a\"], \"writes\": [\"b\"],"
        " \"cost\": {\"flops\": 1, \"bytes\": 1}},\n"
        "{\"name\": \"l\", \"kernel\": \"f\", \"reads\": [\"b\"], \"writes\": [\"a\"],"
        " \"cost\": {\"flops\": 1, \"bytes\": 1}}]}";
    struct sy_pipeline *pipeline = NULL;
    struct sy_error error = {0};
    assert_int_equal(sy_pipeline_read_text("c", text, strlen(text), &pipeline, &error), -EINVAL);
    assert_non_null(strstr(error.message, "k needs l needs k"));
    assert_int_equal(error.line, 4);
}

/* A chain of kernels; 64 are enough. */
static int read_chain(uint32_t count, struct sy_error *error) {
    struct sy_buffer text = {0};
    sy_buffer_printf(&text,
                     "{\"schema\": \"symph-pipeline-1\", \"name\": \"chain\", \"features\": [],"
                     " \"data\": [{\"name\": \"d0\", \"role\": \"input\", \"bytes\": 8}");
    for (uint32_t i = 1; i <= count; i++) {
        sy_buffer_printf(&text, ",\n{\"name\": \"d%u\", \"role\": \"%s\", \"bytes\": \"8*%u\"}", i,
                         i == count ? "output" : "between", i);
    }
    sy_buffer_printf(&text, "],\n\"kernels\": [");
    for (uint32_t i = count; i > 0; i--) {
        sy_buffer_printf(&text,
                         "%s\n{\"name\": \"k%u\", \"kernel\": \"f\", \"reads\": [\"d%u\"],"
                         " \"writes\": [\"d%u\"], \"cost\": {\"flops\": 1, \"bytes\": 1}}",
                         i == count ? "" : ",", i, i - 1, i);
    }
    sy_buffer_printf(&text, "]}");
    struct sy_pipeline *pipeline = NULL;
    int code = sy_pipeline_read_text("chain", text.text, text.length, &pipeline, error);
    for (uint32_t i = 0; !code && i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%u", i + 1);
        assert_string_equal(pipeline->kernels[i].name, name);
    }
    sy_buffer_finish(&text);
    if (!code) {
        sy_pipeline_destroy(pipeline);
    }
    return code;
}

static void test_many(void **state) {
    (void)state;
    struct sy_error error = {0};
    assert_int_equal(read_chain(1, NULL), 0);
    assert_int_equal(read_chain(64, NULL), 0);
    assert_int_equal(read_chain(65, &error), -EINVAL);
    assert_non_null(strstr(error.message, "more than 64 kernels"));
    assert_int_equal(read_chain(257, &error), -EINVAL);
    assert_non_null(strstr(error.message, "more than 256 data"));
}

/* Out of an example the same expressions may fail. */
static void test_measure_bad(void **state) {
    (void)state;
    char *text = replaced("\"8*nodes*width\"", "\"8*nodes*(width-8)\"");
    struct sy_pipeline *p = NULL;
    struct sy_error error = {0};
    assert_int_equal(sy_pipeline_read_text("t", text, strlen(text), &p, NULL), 0);
    double values[4], *numbers = calloc(p->expression_count, sizeof *numbers);
    assert_non_null(numbers);
    assert_int_equal(sy_pipeline_values(p, "small,width=8", values, NULL), 0);
    assert_int_equal(sy_pipeline_measure(p, values, numbers, &error), -EDOM);
    assert_non_null(strstr(error.message, "\"gemm1\": bytes is 0"));
    free(numbers);
    free(text);
    sy_pipeline_destroy(p);
}

static void test_file(void **state) {
    (void)state;
    struct sy_pipeline *p = NULL;
    struct sy_error error = {0};
    assert_int_equal(sy_pipeline_read_file("/nowhere/p.json", &p, &error), -ENOENT);
    assert_non_null(strstr(error.file[0] ? error.file : error.message, "/nowhere/p.json"));
    assert_null(p);
}

static void test_cost_names(void **state) {
    (void)state;
    struct sy_pipeline *p = read_gcn();
    const char *names[SY_COSTS_NAME_MAX] = {"rows"};
    assert_int_equal(sy_pipeline_cost_names(p, names, 1), 4);
    assert_string_equal(names[1], "flops");
    assert_string_equal(names[3], "spread");
    assert_int_equal(sy_pipeline_cost_names(p, names, 4), 4);
    sy_pipeline_destroy(p);
}

/* --- what the documents show can be read -------------------------------------------------------
 */
/* The block behind this line of a page, up to the closing fence. */
static char *take_block(const char *path, const char *opening) {
    char *page = NULL;
    size_t length;
    assert_int_equal(sy_read_file(path, &page, &length, NULL), 0);
    char *start = strstr(page, opening);
    assert_non_null(start);
    start += strlen("```");
    start += strcspn(start, "\n") + 1;
    char *end = strstr(start, "\n```");
    assert_non_null(end);
    char *block = strndup(start, (size_t)(end - start) + 1);
    assert_non_null(block);
    free(page);
    return block;
}

static int count_sample(void *user, const struct sy_cost_sample *sample) {
    assert_int_equal(sample->features.names != NULL, sample->features.footprint == 0);
    ++*(uint32_t *)user;
    return 0;
}

static void test_documents(void **state) {
    (void)state;
    struct sy_pipeline *pipeline = NULL;
    struct sy_error error = {0};
    char *block = take_block(ROOT "/docs/pipeline-format.md", "```json\n");
    if (sy_pipeline_read_text("page", block, strlen(block), &pipeline, &error)) {
        fail_msg("docs/pipeline-format.md: %u:%u: %s", error.line, error.column, error.message);
    }
    sy_pipeline_destroy(pipeline);
    free(block);
    if (sy_pipeline_read_file(ROOT "/examples/pipeline.json", &pipeline, &error)) {
        fail_msg("examples/pipeline.json: %u:%u: %s", error.line, error.column, error.message);
    }
    sy_pipeline_destroy(pipeline);
    uint32_t count = 0;
    static const char *const tables[] = {"```\n# symph-costs-1", "```\n# symph-times-1",
                                         "```\nkernel,class,bytes"};
    for (size_t i = 0; i < SY_COUNT(tables); i++) {
        block = take_block(ROOT "/docs/costs-format.md", tables[i]);
        if (sy_costs_read_text("page", block, strlen(block), count_sample, &count, &error)) {
            fail_msg("docs/costs-format.md: %u:%u: %s", error.line, error.column, error.message);
        }
        free(block);
    }
    assert_int_equal(count, 3 + 2 + 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_measure),     cmocka_unit_test(test_examples_with_changes),
        cmocka_unit_test(test_values_file), cmocka_unit_test(test_bad_values),
        cmocka_unit_test(test_mistakes),    cmocka_unit_test(test_circle),
        cmocka_unit_test(test_many),        cmocka_unit_test(test_measure_bad),
        cmocka_unit_test(test_file),        cmocka_unit_test(test_cost_names),
        cmocka_unit_test(test_documents),
    };
    return cmocka_run_group_tests_name("planner pipeline", tests, NULL, NULL);
}
