/* SPDX-License-Identifier: Apache-2.0
 *
 * Goals of symph-bench policy: value, goal, hit or miss.
 *
 * In: goals with what was measured. Out: a table and JSON. Invariant: what was not measured is
 * neither a hit nor a miss.
 */
#include "cli/table.h"
#include "symph-bench/policy.h"
#include <math.h>

void sy_report_spread(struct sy_table *table, struct sy_spread value) {
    if (!isfinite(value.value)) {
        sy_table_cell(table, "-");
    } else if (isfinite(value.low) && value.high > value.low) {
        sy_table_cell(table, "%.3f [%.3f, %.3f]", value.value, value.low, value.high);
    } else {
        sy_table_cell(table, "%.3f", value.value);
    }
}

void sy_report_member(struct sy_json_writer *out, const char *key, struct sy_spread value) {
    sy_json_print(out, "%s: {value: %g, low: %g, high: %g}", key, value.value, value.low,
                  value.high);
}

void sy_goals_add(struct sy_goals *goals, struct sy_goal goal) {
    if (goals->count < SY_COUNT(goals->items)) {
        goals->items[goals->count++] = goal;
    }
}

static const char *verdict(const struct sy_goal *goal) {
    double value = goal->surely ? goal->value.high : goal->value.value;
    bool hit = goal->at_least ? value >= goal->goal
               : goal->strict ? value < goal->goal
                              : value <= goal->goal;
    return !isfinite(goal->value.value) ? "not measured" : hit ? "hit" : "miss";
}

void sy_goals_write(const struct sy_goals *goals, enum sy_policy_track track,
                    struct sy_json_writer *out, struct sy_buffer *text) {
    static const char *const headers[] = {"goal", "policy", "asked for", "measured", "", "where"};
    struct sy_table table;
    uint32_t rows = 0;
    sy_table_init(&table, headers, "llrrll");
    sy_json_print(out, "{bench: %s, track: %s, title: %s, rows: [", "policy", sy_track_name(track),
                  "goals");
    for (uint32_t i = 0; i < goals->count; i++) {
        const struct sy_goal *goal = &goals->items[i];
        if (goal->track != track) {
            continue;
        }
        rows++;
        sy_table_cell(&table, "%s|%s|%s %.4g", goal->text, goal->policy,
                      goal->at_least ? ">="
                      : goal->strict ? "<"
                                     : "<=",
                      goal->goal);
        sy_report_spread(&table, goal->value);
        sy_table_cell(&table, "%s|%s", verdict(goal), goal->where ? goal->where : "");
        sy_json_print(out, "{goal: %s, policy: %s, sense: %s, asked_for: %g", goal->text,
                      goal->policy, goal->at_least ? "at least" : "at most", goal->goal);
        sy_report_member(out, "measured", goal->value);
        sy_json_print(out, "verdict: %s, where: %s}", verdict(goal),
                      goal->where ? goal->where : "");
    }
    sy_json_print(out, "]}");
    struct sy_buffer unused = {0};
    sy_table_write(&table, 0, false, rows ? text : &unused);
    sy_buffer_finish(&unused);
    sy_buffer_printf(text, rows ? "\n" : "(no goal)\n\n");
}
