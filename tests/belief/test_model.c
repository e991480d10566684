/* SPDX-License-Identifier: Apache-2.0
 *
 * From listings and machines to factor graphs: what unit masks, names, metrics and routes say.
 */
#include "belief/build.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A small processor: masks 1 + 6 = 7 with 6 = 2 + 4, a mask with a condition, names that add up. */
static const char small[] = "symph-listing 1\n"
                            "name test/small\n"
                            "source by hand\n"
                            "licence none\n"
                            "[events cpu counters=4]\n"
                            "0inst_retired.any\tc0\tF\n"
                            "0cpu_clk_unhalted.thread\t3c\tF\n"
                            "0l2_rqsts.references\t24.7\n"
                            "0l2_rqsts.hit\t24.1\n"
                            "0l2_rqsts.miss\t24.6\n"
                            "0l2_rqsts.code_miss\t24.2\n"
                            "0l2_rqsts.data_miss\t24.4\n"
                            "0l2_rqsts.busy_cycles\t24.3,c1\n"
                            "0mem_access\t13\n"
                            "0mem_access_rd\t66\n"
                            "0mem_access_wr\t67\n"
                            "0stall_any\ta0\n"
                            "0stall_memory\ta1\n"
                            "0lost\tb0\n"
                            "[events uncore_imc counters=4 package]\n"
                            "0unc_m_cas_count.all\t4.f\n"
                            "0unc_m_cas_count.rd\t4.3\n"
                            "0unc_m_cas_count.wr\t4.c\n"
                            "[metrics cpu]\n"
                            "0clocks\t\t\tcpu_clk_unhalted.thread\n"
                            "0stalled\t100%\t\tstall_any/clocks\n"
                            "0running\t100%\t\t1-stalled\n"
                            "0memory_bound\t100%\t\tmax(0,stall_memory/stall_any)\n"
                            "0split\t100%\t\t(stall_memory+lost)/(2*clocks)\n"
                            "0useless\t100%\t\tstall_any*lost/clocks\n"
                            "0round\t100%\t\tround/clocks\n";

static struct sy_listing *read_small(void) {
    struct sy_listing *listing;
    struct sy_error error = {0};
    if (sy_listing_read("", small, strlen(small), &listing, &error)) {
        fail_msg("%s", error.message);
    }
    return listing;
}

static uint32_t find(const struct sy_model *model, const char *name) {
    for (uint32_t i = 0; i < model->variable_count; i++) {
        if (strcmp(model->variables[i].name, name) == 0) {
            return i;
        }
    }
    return SY_NONE;
}

/* A factor of that origin whose out is named, and whose terms are these, in any order. */
static const struct sy_factor *factor(const struct sy_model *model, enum sy_factor_origin origin,
                                      const char *out, const char *terms) {
    for (uint32_t i = 0; i < model->factor_count; i++) {
        const struct sy_factor *f = &model->factors[i];
        if (f->origin != origin || f->out != find(model, out)) {
            continue;
        }
        uint32_t words = 1, found = 0;
        for (const char *at = terms; *at; at++) {
            words += *at == ' ';
        }
        for (uint32_t k = 0; k < f->term_count; k++) {
            const char *name = model->variables[model->terms[f->first_term + k].variable].name;
            const char *at = strstr(terms, name);
            size_t length = strlen(name);
            found += at && (at[length] == ' ' || at[length] == '\0');
        }
        if (found == words && f->term_count == words) {
            return f;
        }
    }
    return NULL;
}

static struct sy_model *model_of(const struct sy_listing *listing, enum sy_scope scope) {
    struct sy_model *model;
    struct sy_error error = {0};
    if (sy_model_of_listing(listing, scope, &model, &error)) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(sy_model_check(model, &error), 0);
    return model;
}

static void unit_masks_add_up(void **state) {
    (void)state;
    struct sy_listing *listing = read_small();
    struct sy_model *model = model_of(listing, SY_SCOPE_CORE);
    const struct sy_factor *sum =
        factor(model, SY_FROM_UNIT_MASK, "l2_rqsts.references", "l2_rqsts.hit l2_rqsts.miss");
    assert_non_null(sum);
    assert_int_equal(sum->kind, SY_FACTOR_EQUAL);
    /* the other sum brought its parts along */
    assert_non_null(
        factor(model, SY_FROM_UNIT_MASK, "l2_rqsts.miss", "l2_rqsts.code_miss l2_rqsts.data_miss"));
    /* cycles in which something happened do not add up */
    assert_int_equal(find(model, "l2_rqsts.busy_cycles"), SY_NONE);
    /* fixed events take no counter */
    assert_int_equal(model->variables[find(model, "inst_retired.any")].pmu, SY_PMU_NONE);
    assert_true(model->variables[find(model, "l2_rqsts.hit")].pmu != SY_PMU_NONE);
    sy_model_destroy(model);
    sy_listing_destroy(listing);
}

static void names_add_up(void **state) {
    (void)state;
    struct sy_listing *listing = read_small();
    struct sy_model *model = model_of(listing, SY_SCOPE_CORE);
    assert_non_null(factor(model, SY_FROM_NAME, "mem_access", "mem_access_rd mem_access_wr"));
    sy_model_destroy(model);
    model = model_of(listing, SY_SCOPE_PACKAGE);
    /* the same sum by mask and by name is there once */
    assert_non_null(factor(model, SY_FROM_UNIT_MASK, "unc_m_cas_count.all",
                           "unc_m_cas_count.rd unc_m_cas_count.wr"));
    assert_int_equal(model->factor_count, 1);
    sy_model_destroy(model);
    sy_listing_destroy(listing);
}

static bool has_metric(const struct sy_listing *listing, const struct sy_found_list *list,
                       const char *metric, const char *out, const char *term, double coefficient) {
    for (uint32_t i = 0; i < list->count; i++) {
        const struct sy_found *item = &list->items[i];
        if (item->origin != SY_FROM_METRIC ||
            strcmp(listing->metrics[item->metric].name, metric) != 0 ||
            strcmp(listing->events[item->out].name, out) != 0) {
            continue;
        }
        for (uint32_t k = 0; k < item->count; k++) {
            const struct sy_term *t = &list->terms[item->first + k];
            if (strcmp(listing->events[t->variable].name, term) == 0 &&
                fabs(t->coefficient - coefficient) < 1e-12) {
                return true;
            }
        }
    }
    return false;
}

static void shares_are_inequalities(void **state) {
    (void)state;
    struct sy_listing *listing = read_small();
    struct sy_found_list list = {0};
    assert_int_equal(sy_find_metrics(listing, "cpu", &list), 0);
    /* through another metric */
    assert_true(has_metric(listing, &list, "running", "cpu_clk_unhalted.thread", "stall_any", 1) ||
                has_metric(listing, &list, "stalled", "cpu_clk_unhalted.thread", "stall_any", 1));
    /* a clamp at 0 leaves the upper side */
    assert_true(has_metric(listing, &list, "memory_bound", "stall_any", "stall_memory", 1));
    /* sums and factors */
    assert_true(
        has_metric(listing, &list, "split", "cpu_clk_unhalted.thread", "stall_memory", 0.5));
    assert_true(has_metric(listing, &list, "split", "cpu_clk_unhalted.thread", "lost", 0.5));
    /* a product of rates, and a metric of itself, say nothing; the same twice is there once */
    assert_int_equal(list.count, 3);
    sy_found_finish(&list);
    sy_listing_destroy(listing);
}

static void links_add_up_to_their_switch(void **state) {
    (void)state;
    struct sy_machine *machine;
    struct sy_error error = {0};
    struct sy_model *model;
    assert_int_equal(sy_machine_parse("cpu:4 gpu:3@bus=sw", &machine, &error), 0);
    assert_int_equal(sy_model_of_machine(machine, &model, &error), 0);
    assert_int_equal(sy_model_check(model, &error), 0);
    assert_int_equal(model->variable_count, machine->resource_count);
    for (uint32_t i = 0; i < machine->resource_count; i++) {
        assert_string_equal(model->variables[i].name, machine->resources[i].name);
        assert_int_equal(model->variables[i].resource, i);
        assert_true(model->variables[i].capacity == machine->resources[i].bytes_per_s);
    }
    const struct sy_factor *down =
        factor(model, SY_FROM_TOPOLOGY, "sw.down", "gpu0.down gpu1.down gpu2.down");
    assert_non_null(down);
    assert_int_equal(down->kind, SY_FACTOR_EQUAL);
    assert_non_null(factor(model, SY_FROM_TOPOLOGY, "sw.up", "gpu0.up gpu1.up gpu2.up"));
    const struct sy_factor *dram = factor(model, SY_FROM_TOPOLOGY, "dram0", "sw.down sw.up");
    assert_non_null(dram);
    assert_int_equal(dram->kind, SY_FACTOR_AT_MOST);
    sy_model_destroy(model);
    sy_machine_destroy(machine);
}

static void two_switches_are_kept_apart(void **state) {
    (void)state;
    struct sy_machine *machine;
    struct sy_model *model;
    assert_int_equal(
        sy_machine_parse("cpu:4 gpu:2@bus=left gpu:2@bus=right fpga:1", &machine, NULL), 0);
    assert_int_equal(sy_model_of_machine(machine, &model, NULL), 0);
    assert_non_null(factor(model, SY_FROM_TOPOLOGY, "left.down", "gpu0.down gpu1.down"));
    assert_non_null(factor(model, SY_FROM_TOPOLOGY, "right.up", "gpu2.up gpu3.up"));
    sy_model_destroy(model);
    sy_machine_destroy(machine);
}

/* At least what the makers' names gave when the roles were drawn up. */
static void shipped_listings_have_roles(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint32_t roles;
    } rows[] = {
        {"skylakex", 31},       {"icelakex", 31},    {"sapphirerapids", 32}, {"graniterapids", 30},
        {"sierraforest", 25},   {"alderlake", 28},   {"amdzen3", 21},        {"amdzen4", 31},
        {"amdzen5", 28},        {"neoverse-n1", 21}, {"neoverse-v1", 23},    {"neoverse-n2-v2", 23},
        {"powerpc/power9", 24}, {"power10", 21},     {"amdzen1", 18},        {"haswellx", 28}};
    for (uint32_t i = 0; i < SY_COUNT(rows); i++) {
        struct sy_listing *listing;
        struct sy_error error = {0};
        if (sy_listing_open(rows[i].name, NULL, &listing, &error)) {
            fail_msg("%s: %s", rows[i].name, error.message);
        }
        uint32_t roles = 0;
        for (uint32_t k = 0; k < 2; k++) {
            struct sy_model *model = model_of(listing, k ? SY_SCOPE_PACKAGE : SY_SCOPE_CORE);
            assert_in_range(model->variable_count, 0,
                            k ? SY_PACKAGE_VARIABLES_MAX : SY_CORE_VARIABLES_MAX);
            for (uint32_t v = 0; v < model->variable_count; v++) {
                roles += model->variables[v].role[0] != '\0';
            }
            sy_model_destroy(model);
        }
        if (roles < rows[i].roles) {
            fail_msg("%s: %u roles, not %u", rows[i].name, roles, rows[i].roles);
        }
        sy_listing_destroy(listing);
    }
}

/* Every architecture's models are sound, and each wanted event is one of the listing's. */
static void all_listings_give_models(void **state) {
    (void)state;
    struct sy_arena *arena = sy_arena_create();
    const char *const *names;
    assert_int_equal(sy_listing_names(NULL, arena, &names, NULL), 0);
    uint32_t count = 0;
    for (; names[count]; count++) {
        struct sy_listing *listing;
        const char *const *events;
        assert_int_equal(sy_listing_open(names[count], NULL, &listing, NULL), 0);
        sy_model_destroy(model_of(listing, SY_SCOPE_CORE));
        sy_model_destroy(model_of(listing, SY_SCOPE_PACKAGE));
        assert_int_equal(sy_belief_wanted(listing, arena, &events), 0);
        for (uint32_t i = 0; events[i]; i++) {
            assert_true(sy_listing_event(listing, events[i]) != SY_NONE ||
                        strncmp(events[i], "hv_24x7/", 8) == 0);
        }
        sy_listing_destroy(listing);
    }
    assert_true(count > 80);
    sy_arena_destroy(arena);
}

/* The page that explains the model has every role and every written reason. */
static void the_page_is_complete(void **state) {
    (void)state;
    const char *path = getenv("SYMPH_BELIEF_PAGE");
    char *text, name[64];
    size_t length;
    uint32_t count;
    if (!path) {
        print_message("# SYMPH_BELIEF_PAGE does not say where docs/belief.md is\n");
        skip();
    }
    assert_int_equal(sy_read_file(path, &text, &length, NULL), 0);
    for (uint32_t i = 0; i < SY_ROLE_COUNT; i++) {
        const struct sy_role_info *info = sy_role_info((enum sy_role)i);
        snprintf(name, sizeof name, "| `%s` |", info->name);
        if (!strstr(text, name) || !strstr(text, info->about)) {
            fail_msg("docs/belief.md does not explain the role %s", info->name);
        }
    }
    const struct sy_written *relations = sy_written_relations(&count);
    for (uint32_t i = 0; i < count; i++) {
        if (!strstr(text, relations[i].why)) {
            fail_msg("docs/belief.md does not say: %s", relations[i].why);
        }
    }
    free(text);
}

static void a_drawing_names_everything(void **state) {
    (void)state;
    struct sy_model *model = sy_model_create("a \"small\" <model> & more");
    struct sy_variable variable = sy_build_start(SY_ROLE_INST, 1);
    variable.name = "quo\"te\\d";
    assert_int_equal(sy_model_add_variable(model, &variable), 0);
    variable.name = "b";
    assert_int_equal(sy_model_add_variable(model, &variable), 1);
    struct sy_factor f = {.kind = SY_FACTOR_AT_MOST, .why = "b\"ecause", .out = 1, .width = 0.1};
    assert_int_equal(sy_model_add_factor(model, &f, &(struct sy_term){0, 2}, 1), 0);
    struct sy_buffer text = {0};
    sy_model_write_dot(model, &text);
    assert_false(text.failed);
    assert_non_null(strstr(text.text, "quo\\\"te\\\\d"));
    assert_non_null(strstr(text.text, "b\\\"ecause"));
    assert_non_null(strstr(text.text, "v0 -> f0"));
    assert_non_null(strstr(text.text, "f0 -> v1"));
    assert_null(strstr(text.text, "<model>"));
    sy_buffer_finish(&text);
    sy_model_destroy(model);
}

static void bad_models_are_refused(void **state) {
    (void)state;
    struct sy_error error = {0};
    struct sy_variable good = sy_build_start(SY_ROLE_INST, 1);
    struct sy_variable variables[6] = {good, good, good, good, good, good};
    variables[0].start_sd = 0;
    variables[1].start_log = NAN;
    variables[2].noise_ratio = -1;
    variables[3].offset = INFINITY;
    variables[4].capacity = 0;
    variables[5].drift_sd = NAN;
    for (uint32_t i = 0; i < SY_COUNT(variables); i++) {
        struct sy_model *model = sy_model_create("bad");
        assert_int_equal(sy_model_add_variable(model, &variables[i]), 0);
        assert_int_equal(sy_model_check(model, &error), -EINVAL);
        sy_model_destroy(model);
    }
    struct sy_factor factors[] = {
        {.out = 0, .width = 0},
        {.out = 7, .width = 1},
        {.out = 0, .width = NAN},
        {.out = 0, .width = 1, .constant = INFINITY},
    };
    for (uint32_t i = 0; i <= SY_COUNT(factors) + 1; i++) {
        struct sy_model *model = sy_model_create("bad");
        struct sy_factor f = {.out = SY_NONE, .width = 1};
        struct sy_term term = {i == SY_COUNT(factors) ? 9 : 0,
                               i == SY_COUNT(factors) + 1 ? NAN : 1};
        assert_int_equal(sy_model_add_variable(model, &good), 0);
        f = i < SY_COUNT(factors) ? factors[i] : f;
        assert_int_equal(sy_model_add_factor(model, &f, &term, 1), 0);
        assert_int_equal(sy_model_check(model, &error), -EINVAL);
        assert_true(error.message[0]);
        sy_model_destroy(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unit_masks_add_up),
        cmocka_unit_test(names_add_up),
        cmocka_unit_test(shares_are_inequalities),
        cmocka_unit_test(links_add_up_to_their_switch),
        cmocka_unit_test(two_switches_are_kept_apart),
        cmocka_unit_test(shipped_listings_have_roles),
        cmocka_unit_test(all_listings_give_models),
        cmocka_unit_test(the_page_is_complete),
        cmocka_unit_test(a_drawing_names_everything),
        cmocka_unit_test(bad_models_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
