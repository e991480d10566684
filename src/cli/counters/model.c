/* SPDX-License-Identifier: Apache-2.0
 *
 * symph counters model: how the counters of a processor hang together.
 *
 * In: a listing, or a machine. Out: the factor graph that the belief is built from: its size, its
 * variables and relations with their reasons, a drawing, or one JSON object
 * "symph-counters-model-1". Invariant: what is shown is what the filters use, cut to the same size.
 */
#include "base/json.h"
#include "cli/counters/commands.h"
#include "cli/table.h"
#include "cli/units.h"
#include <math.h>
#include <string.h>

#define ORIGINS (SY_FROM_TOPOLOGY + 1)

struct args {
    struct sy_common_args common;
    const char *arch, *machine, *scope, *folder, *dot;
    bool all;
};

#define AT(field) offsetof(struct args, field)

static const struct sy_option options[] = {
    {SY_OPTION_TEXT, "arch", "NAME", AT(arch),
     "the micro-architecture (default \"own\": that of this processor); symph counters listing "
     "lists them"},
    {SY_OPTION_TEXT, "scope", "WHAT", AT(scope),
     "core, package (or socket) or gpu (default: core and package)"},
    {SY_OPTION_TEXT, "machine", "MACHINE", AT(machine),
     "instead, show the shared resources of this machine: \"here\", a file, or a line of text"},
    {SY_OPTION_FLAG, "all", NULL, AT(all), "print a table of all micro-architectures"},
    {SY_OPTION_TEXT, "dot", "FILE", AT(dot),
     "write the model in DOT, for Graphviz ('-': standard output)"},
    {SY_OPTION_TEXT, "listings", "FOLDER", AT(folder),
     "where the listings are (default: those installed)"},
    SY_OPTION_COMMON(struct args),
};

static const struct sy_command command = {
    .name = "counters model",
    .usage = "[OPTION]...",
    .examples =
        "  symph counters model\n"
        "  symph counters model --arch skylakex --scope core\n"
        "  symph counters model --arch amdzen4 --scope core --dot - | dot -Tsvg > zen4.svg\n"
        "  symph counters model --machine \"2x(cpu:16) gpu:4\"\n"
        "  symph counters model --all",
    .about = "Shows the factor graph that connects the counters of a processor. Variables are "
             "rates; relations between them come from unit masks, names, metrics, roles and "
             "the topology. A relation is only a starting point: its tolerance is learned, "
             "and a relation that the readings contradict is dropped.",
    .options = options,
    .option_count = SY_COUNT(options),
};

struct size {
    uint32_t measured, hidden, programmable, roles;
    uint32_t by_origin[ORIGINS];
};

static struct size size_of(const struct sy_model *model) {
    struct size size = {0};
    for (uint32_t i = 0; i < model->variable_count; i++) {
        const struct sy_variable *variable = &model->variables[i];
        size.measured += variable->counter != SY_NONE;
        size.hidden += variable->counter == SY_NONE;
        size.programmable += variable->pmu != SY_PMU_NONE;
        size.roles += variable->role[0] != '\0';
    }
    for (uint32_t i = 0; i < model->factor_count; i++) {
        size.by_origin[model->factors[i].origin]++;
    }
    return size;
}

/* --- one model --------------------------------------------------------------------------------
 */
static void put_sum(const struct sy_model *model, const struct sy_factor *factor,
                    struct sy_buffer *text) {
    if (factor->constant != 0) {
        sy_print(text, "%.4g + ", factor->constant);
    }
    for (uint32_t i = 0; i < factor->term_count; i++) {
        const struct sy_term *term = &model->terms[factor->first_term + i];
        double size = fabs(term->coefficient);
        sy_print(text, "%s", term->coefficient < 0 ? (i ? " - " : "-") : i ? " + " : "");
        if (fabs(size - 1) > 1e-9) {
            sy_print(text, "%.4g ", size);
        }
        sy_print(text, "%s", model->variables[term->variable].name);
    }
    sy_print(text, " %s %s", factor->kind == SY_FACTOR_EQUAL ? "=" : "<=",
             factor->out == SY_NONE ? "1" : model->variables[factor->out].name);
}

static void put_variables(const struct sy_model *model, struct sy_buffer *text) {
    struct sy_table table;
    sy_table_init(&table, (const char *const[]){"role", "counted as", "", "capacity"}, "lllr");
    for (uint32_t i = 0; i < model->variable_count; i++) {
        const struct sy_variable *variable = &model->variables[i];
        bool hidden = variable->counter == SY_NONE;
        bool bounded = isfinite(variable->capacity);
        sy_table_cell(&table, "%s|%s|%s|%s", variable->role, variable->name,
                      hidden                         ? "hidden"
                      : variable->pmu == SY_PMU_NONE ? "always"
                                                     : "takes a counter",
                      bounded ? sy_units_text("%.4g", variable->capacity).text : "");
    }
    sy_table_write(&table, 2, false, text);
}

static void put_relations(const struct sy_model *model, struct sy_buffer *text) {
    for (uint32_t i = 0; i < model->factor_count; i++) {
        const struct sy_factor *factor = &model->factors[i];
        sy_print(text, "  ");
        put_sum(model, factor, text);
        sy_print(text, "\n      %s: %s (within %.3g %%)\n", sy_factor_origin_name(factor->origin),
                 factor->why, factor->width * 100);
    }
}

static void put_model(const struct sy_model *model, struct sy_buffer *text) {
    struct size size = size_of(model);
    sy_print(text,
             "%s: %u variables, %u roles; %u measured (%u of them take turns on "
             "programmable counters), %u hidden; %u relations:",
             model->name, model->variable_count, size.roles, size.measured, size.programmable,
             size.hidden, model->factor_count);
    const char *comma = "";
    for (uint32_t i = 0; i < ORIGINS; i++) {
        if (size.by_origin[i]) {
            sy_print(text, "%s %u %s", comma, size.by_origin[i],
                     sy_factor_origin_name((enum sy_factor_origin)i));
            comma = ",";
        }
    }
    sy_print(text, "\n\n");
    put_variables(model, text);
    sy_print(text, "\n");
    put_relations(model, text);
    sy_print(text, "\n");
}

/* --- JSON -------------------------------------------------------------------------------------
 */
static void json_relations(struct sy_json_writer *json, const struct sy_model *model) {
    sy_json_open_member(json, "relations", '[');
    for (uint32_t i = 0; i < model->factor_count; i++) {
        const struct sy_factor *factor = &model->factors[i];
        struct sy_buffer sum = {0};
        put_sum(model, factor, &sum);
        sy_json_print(json, "{relation: %s, origin: %s, why: %s, width_ratio: %g}",
                      sum.failed ? "" : sum.text, sy_factor_origin_name(factor->origin),
                      factor->why, factor->width);
        json->buffer.failed = json->buffer.failed || sum.failed;
        sy_buffer_finish(&sum);
    }
    sy_json_close(json, ']');
}

static void json_variables(struct sy_json_writer *json, const struct sy_model *model) {
    sy_json_open_member(json, "variables", '[');
    for (uint32_t i = 0; i < model->variable_count; i++) {
        const struct sy_variable *variable = &model->variables[i];
        sy_json_print(json, "{name: %s, role: %s, hidden: %d, programmable: %d", variable->name,
                      variable->role, variable->counter == SY_NONE, variable->pmu != SY_PMU_NONE);
        if (isfinite(variable->capacity)) {
            sy_json_member_number(json, "capacity", variable->capacity);
        }
        sy_json_close(json, '}');
    }
    sy_json_close(json, ']');
}

static void json_model(struct sy_json_writer *json, const struct sy_model *model, bool whole) {
    struct size size = size_of(model);
    sy_json_print(json,
                  "{name: %s, variable_count: %u, measured_count: %u, hidden_count: %u, "
                  "programmable_count: %u, role_count: %u, relation_counts: {",
                  model->name, model->variable_count, size.measured, size.hidden, size.programmable,
                  size.roles);
    for (uint32_t i = 0; i < ORIGINS; i++) {
        sy_json_member_u64(json, sy_factor_origin_name((enum sy_factor_origin)i),
                           size.by_origin[i]);
    }
    sy_json_close(json, '}');
    if (whole) {
        json_variables(json, model);
        json_relations(json, model);
    }
    sy_json_close(json, '}');
}

/* --- what was asked for -----------------------------------------------------------------------
 */
struct shown {
    struct sy_buffer text;
    struct sy_json_writer json;
    struct sy_table table;
    const struct args *args;
};

static void show(struct shown *shown, const struct sy_model *model) {
    if (shown->args->dot) {
        sy_model_write_dot(model, &shown->text);
    } else if (shown->args->common.json) {
        json_model(&shown->json, model, !shown->args->all);
    } else {
        put_model(model, &shown->text);
    }
}

static int show_machine(struct shown *shown) {
    struct sy_machine *machine;
    struct sy_error error = {0};
    int r = sy_input_machine(shown->args->machine, &machine);
    if (r != SY_EXIT_OK) {
        return r;
    }
    struct sy_model *model;
    int code = sy_model_of_machine(machine, &model, &error);
    if (!code) {
        show(shown, model);
        sy_model_destroy(model);
    }
    sy_machine_destroy(machine);
    return sy_message_code(code, &error);
}

static int show_scope(struct shown *shown, const struct sy_listing *listing, enum sy_scope scope) {
    struct sy_model *model;
    struct sy_error error = {0};
    int code = sy_model_of_listing(listing, scope, &model, &error);
    if (code) {
        return sy_message_code(code, &error);
    }
    show(shown, model);
    sy_model_destroy(model);
    return SY_EXIT_OK;
}

static int open_listing(const struct args *args, struct sy_listing **ret_listing) {
    struct sy_error error = {0};
    bool own = !args->arch || strcmp(args->arch, "own") == 0;
    int code = sy_listing_open(own ? NULL : args->arch, args->folder, ret_listing, &error);
    if (code && own) {
        sy_hint(&error, "symph counters listing shows the names for --arch");
    }
    return sy_message_code(code, &error);
}

static int show_arch(struct shown *shown, bool core, bool package) {
    struct sy_listing *listing;
    int r = open_listing(shown->args, &listing);
    if (r != SY_EXIT_OK) {
        return r;
    }
    r = core ? show_scope(shown, listing, SY_SCOPE_CORE) : SY_EXIT_OK;
    r = package && r == SY_EXIT_OK ? show_scope(shown, listing, SY_SCOPE_PACKAGE) : r;
    sy_listing_destroy(listing);
    return r;
}

/* --- all architectures ------------------------------------------------------------------------
 */
static const char *const all_headers[] = {"micro-architecture",
                                          "roles",
                                          "core:",
                                          "turns",
                                          "masks",
                                          "subsets",
                                          "names",
                                          "metrics",
                                          "roles",
                                          "socket:",
                                          "turns",
                                          "masks",
                                          "subsets",
                                          "names",
                                          "metrics",
                                          "roles"};

static void put_row(struct shown *shown, const char *name, struct sy_model *const *models) {
    struct size sizes[2] = {size_of(models[0]), size_of(models[1])};
    sy_table_cell(&shown->table, "%s|%u", name, sizes[0].roles + sizes[1].roles);
    for (uint32_t i = 0; i < 2; i++) {
        sy_table_cell(&shown->table, "%u|%u", models[i]->variable_count, sizes[i].programmable);
        for (uint32_t origin = 0; origin < SY_FROM_TOPOLOGY; origin++) {
            sy_table_cell(&shown->table, "%u", sizes[i].by_origin[origin]);
        }
    }
}

static int show_row(struct shown *shown, const char *name) {
    struct sy_listing *listing;
    struct sy_error error = {0};
    struct sy_model *models[2] = {NULL, NULL};
    int code = sy_listing_open(name, shown->args->folder, &listing, &error);
    if (code) {
        return sy_message_code(code, &error);
    }
    code = sy_model_of_listing(listing, SY_SCOPE_CORE, &models[0], &error);
    code = code ? code : sy_model_of_listing(listing, SY_SCOPE_PACKAGE, &models[1], &error);
    if (!code && shown->args->common.json) {
        show(shown, models[0]);
        show(shown, models[1]);
    } else if (!code) {
        put_row(shown, name, models);
    }
    sy_model_destroy(models[0]);
    sy_model_destroy(models[1]);
    sy_listing_destroy(listing);
    return sy_message_code(code, &error);
}

static int show_all(struct shown *shown) {
    struct sy_error error = {0};
    struct sy_arena *arena = sy_need(sy_arena_create());
    const char *const *names = NULL;
    int code = sy_listing_names(shown->args->folder, arena, &names, &error);
    int r = sy_message_code(code, &error);
    sy_table_init(&shown->table, all_headers, "lrrrrrrrrrrrrrrr");
    for (uint32_t i = 0; r == SY_EXIT_OK && names[i]; i++) {
        r = show_row(shown, names[i]);
    }
    struct sy_buffer dropped = {0};
    sy_table_write(&shown->table, 0, sy_message_colour(stdout),
                   r == SY_EXIT_OK && !shown->args->common.json ? &shown->text : &dropped);
    sy_table_legend("roles: events whose meaning is known; core:, socket: number of variables; "
                    "turns: variables that take turns on programmable counters; masks, subsets, "
                    "names, metrics, roles: relations by their origin.",
                    0, r == SY_EXIT_OK && !shown->args->common.json ? &shown->text : &dropped);
    sy_buffer_finish(&dropped);
    sy_arena_destroy(arena);
    return r;
}

static bool is_one_of(const char *word, const char *one, const char *other) {
    return strcmp(word, one) == 0 || strcmp(word, other) == 0;
}

static int show_what(struct shown *shown) {
    const struct args *args = shown->args;
    const char *scope = args->scope ? args->scope : "";
    if (args->all) {
        return show_all(shown);
    }
    if (args->machine) {
        return show_machine(shown);
    }
    if (strcmp(scope, "gpu") == 0) {
        return show_scope(shown, NULL, SY_SCOPE_GPU);
    }
    return show_arch(shown, !scope[0] || strcmp(scope, "core") == 0,
                     !scope[0] || is_one_of(scope, "package", "socket"));
}

static int check(const struct args *args) {
    if (args->scope && !is_one_of(args->scope, "core", "gpu") &&
        !is_one_of(args->scope, "package", "socket")) {
        return sy_options_usage(&command, "--scope is core, package, socket or gpu, not '%s'",
                                args->scope);
    }
    if (args->dot && (args->all || (!args->scope && !args->machine))) {
        return sy_options_usage(&command, "--dot writes one model: it needs --scope or --machine");
    }
    if (args->dot && args->common.json) {
        return sy_options_usage(&command, "--dot and --json exclude each other");
    }
    if (args->all + (args->machine != NULL) + (args->arch != NULL) > 1) {
        return sy_options_usage(&command, "--all, --machine and --arch exclude each other");
    }
    return SY_EXIT_OK;
}

static int run(void *given) {
    const struct args *args = given;
    struct shown shown = {.args = args};
    bool json = args->common.json;
    int r = check(args);
    if (r != SY_EXIT_OK) {
        return r;
    }
    if (json) {
        sy_json_print(&shown.json, "{schema: %s, models: [", "symph-counters-model-1");
    }
    r = show_what(&shown);
    if (json) {
        sy_json_print(&shown.json, "]}");
        sy_print(&shown.json.buffer, "\n");
    }
    struct sy_buffer *text = json ? &shown.json.buffer : &shown.text;
    if (r == SY_EXIT_OK && args->dot) {
        r = sy_output_file(args->dot, text);
    } else if (r == SY_EXIT_OK) {
        return sy_output(text);
    }
    sy_buffer_finish(text);
    return r;
}

int sy_counters_model(int argc, char **argv) {
    struct args args = {0};
    return sy_options_run(&command, argc, argv, &args, run);
}
