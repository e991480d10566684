/* SPDX-License-Identifier: Apache-2.0
 *
 * dot: a factor graph as a drawing for Graphviz: variables round, relations square and coloured by
 * where they come from. What is measured is filled.
 */
#include "belief/build.h"
#include <math.h>
#include <string.h>

static const char *const colours[] = {
    [SY_FROM_UNIT_MASK] = "#1b6ca8", [SY_FROM_SUBSET] = "#8ab6d6", [SY_FROM_NAME] = "#2a9d5c",
    [SY_FROM_METRIC] = "#c77dba",    [SY_FROM_ROLE] = "#d9822b",   [SY_FROM_TOPOLOGY] = "#b33a3a",
};

const char *sy_factor_origin_name(enum sy_factor_origin origin) {
    static const char *const names[] = {
        [SY_FROM_UNIT_MASK] = "unit mask", [SY_FROM_SUBSET] = "subset",
        [SY_FROM_NAME] = "name",           [SY_FROM_METRIC] = "metric",
        [SY_FROM_ROLE] = "role",           [SY_FROM_TOPOLOGY] = "topology",
    };
    return names[origin];
}

static void write_text(struct sy_buffer *buffer, const char *text) {
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') {
            sy_buffer_append(buffer, "\\", 1);
        }
        sy_buffer_append(buffer, text, 1);
    }
}

static void write_variable(const struct sy_variable *variable, uint32_t index,
                           struct sy_buffer *buffer) {
    bool measured = variable->counter != SY_NONE;
    sy_buffer_printf(buffer, "  v%u [shape=ellipse, style=\"%s\", fillcolor=\"%s\", label=\"",
                     index, measured ? "filled" : "dashed",
                     variable->pmu == SY_PMU_NONE ? "#d8f0d8" : "#f4f0d0");
    write_text(buffer, variable->name);
    if (variable->role[0] && strcmp(variable->role, variable->name) != 0) {
        sy_buffer_append(buffer, "\\n", 2);
        write_text(buffer, variable->role);
    }
    sy_buffer_printf(buffer, "\"];\n");
}

static void write_edge(uint32_t variable, uint32_t factor, double coefficient, bool out,
                       const char *colour, struct sy_buffer *buffer) {
    sy_buffer_printf(buffer, out ? "  f%u -> v%u" : "  v%u -> f%u", out ? factor : variable,
                     out ? variable : factor);
    sy_buffer_printf(buffer, " [color=\"%s\", arrowhead=%s", colour, out ? "normal" : "none");
    if (fabs(coefficient - 1) > 1e-9) {
        sy_buffer_printf(buffer, ", label=\"%.3g\", fontsize=8", coefficient);
    }
    sy_buffer_printf(buffer, "];\n");
}

static void write_factor(const struct sy_model *model, uint32_t index, struct sy_buffer *buffer) {
    const struct sy_factor *factor = &model->factors[index];
    const char *colour = colours[factor->origin];
    sy_buffer_printf(buffer,
                     "  f%u [shape=square, width=0.25, fixedsize=true, fontsize=11, color=\"%s\", "
                     "fontcolor=\"%s\", label=\"%s\", tooltip=\"",
                     index, colour, colour, factor->kind == SY_FACTOR_EQUAL ? "=" : "≤");
    write_text(buffer, factor->why);
    sy_buffer_printf(buffer, "\"];\n");
    for (uint32_t i = 0; i < factor->term_count; i++) {
        const struct sy_term *term = &model->terms[factor->first_term + i];
        write_edge(term->variable, index, term->coefficient, false, colour, buffer);
    }
    if (factor->out != SY_NONE) {
        write_edge(factor->out, index, 1, true, colour, buffer);
    }
}

/* Which colours there are, on the drawing itself. */
static void write_legend(const struct sy_model *model, struct sy_buffer *buffer) {
    bool used[SY_COUNT(colours)] = {false};
    for (uint32_t i = 0; i < model->factor_count; i++) {
        used[model->factors[i].origin] = true;
    }
    sy_buffer_printf(buffer, "  label=<<b>");
    for (const char *at = model->name; *at; at++) {
        sy_buffer_printf(buffer, strchr("<>&", *at) ? "&#%d;" : "%c", *at);
    }
    sy_buffer_printf(buffer,
                     "</b><br/>green: always counted, yellow: takes a counter, dashed: hidden;"
                     " relations:");
    for (uint32_t i = 0; i < SY_COUNT(colours); i++) {
        if (used[i]) {
            sy_buffer_printf(buffer, " <font color=\"%s\">&#9632; %s</font>", colours[i],
                             sy_factor_origin_name((enum sy_factor_origin)i));
        }
    }
    sy_buffer_printf(buffer, ">;\n");
}

void sy_model_write_dot(const struct sy_model *model, struct sy_buffer *buffer) {
    sy_buffer_printf(buffer,
                     "digraph model {\n"
                     "  layout=neato; overlap=prism; splines=true; outputorder=edgesfirst;\n"
                     "  labelloc=t; fontname=\"sans-serif\";\n"
                     "  node [fontname=\"sans-serif\", fontsize=9];\n"
                     "  edge [fontname=\"sans-serif\"];\n");
    write_legend(model, buffer);
    for (uint32_t i = 0; i < model->variable_count; i++) {
        write_variable(&model->variables[i], i, buffer);
    }
    for (uint32_t i = 0; i < model->factor_count; i++) {
        write_factor(model, i, buffer);
    }
    sy_buffer_printf(buffer, "}\n");
}
