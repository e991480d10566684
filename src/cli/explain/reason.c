/* SPDX-License-Identifier: Apache-2.0
 *
 * reason: what made a learned policy decide so: the heuristic, the network, its guard, and
 * what was believed of the machine.
 *
 * In: the reasons in a record. Out: sentences, or members of the JSON object. Invariant: where a
 * policy gave no reason, nothing is said.
 */
#include "base/json.h"
#include "cli/explain/explain.h"
#include "cli/units.h"

#include <math.h>

static const char *const guards[] = {
    [SY_GUARD_NONE] = "the heuristic decided alone",
    [SY_GUARD_TRUSTED] = "the correction by the network was used",
    [SY_GUARD_BOUNDED] = "the correction by the network was limited by the guard",
    [SY_GUARD_FALLBACK] = "the guard rejected the network and used the heuristic",
    [SY_GUARD_PLAN] = "the plan for the whole job was followed",
};

static const char *in_words(enum sy_guard guard) {
    return (uint32_t)guard < SY_COUNT(guards) ? guards[guard] : guards[SY_GUARD_NONE];
}

void sy_explain_reason_text(const struct sy_reason *reason, struct sy_buffer *out) {
    if (!sy_reason_given(reason)) {
        return;
    }
    sy_print(out, "Why: %s", in_words(reason->guard));
    if (isfinite(reason->finish_ns) && reason->finish_ns > 0) {
        sy_print(out, "; the heuristic predicted its end %s after the decision",
                 sy_units_time(reason->finish_ns).text);
    }
    if (isfinite(reason->correction_ns) && reason->correction_ns != 0) {
        sy_print(out, ", the network made this %s %s",
                 sy_units_time(fabs(reason->correction_ns)).text,
                 reason->correction_ns < 0 ? "less" : "more");
    }
    sy_print(out, ".\n");
    if (isfinite(reason->slowdown) && reason->slowdown > 0) {
        sy_print(out, "Contention was expected to make it take %.2f times as long",
                 reason->slowdown);
        if (isfinite(reason->slowdown_sd) && reason->slowdown_sd > 0) {
            sy_print(out, " (+-%.2f)", reason->slowdown_sd);
        }
        if (isfinite(reason->utilisation)) {
            sy_print(out, "; the busiest resource it needs was estimated to be %.0f %% busy",
                     100 * reason->utilisation);
        }
        sy_print(out, ".\n");
    }
}

/* As in the record: a float has no more to say. */
static void put_ratio(struct sy_json_writer *writer, const char *key, float ratio) {
    sy_json_member_number(writer, key, rint((double)ratio * 1e4) / 1e4);
}

void sy_explain_reason_json(const struct sy_reason *reason, struct sy_json_writer *writer) {
    sy_json_key(writer, "reason");
    if (!sy_reason_given(reason)) {
        sy_json_put_null(writer);
        return;
    }
    const char *guard = sy_guard_name(reason->guard);
    sy_json_print(writer, "{guard: %s, finish_ns: %g, correction_ns: %g", guard ? guard : "none",
                  reason->finish_ns, reason->correction_ns);
    put_ratio(writer, "slowdown", reason->slowdown);
    put_ratio(writer, "slowdown_sd", reason->slowdown_sd);
    put_ratio(writer, "utilisation", reason->utilisation);
    sy_json_close(writer, '}');
}

/* --- the whole run ------------------------------------------------------------------------------
 */
/* Decisions by what the guard did; returns how many gave a reason. */
static uint32_t count(const struct sy_record *record, uint32_t *ret_counts) {
    uint32_t given = 0;
    for (uint32_t i = 0; i < record->decision_count; i++) {
        const struct sy_reason *reason = &record->decisions[i].reason;
        if (sy_reason_given(reason) && (uint32_t)reason->guard < SY_COUNT(guards)) {
            ret_counts[reason->guard]++;
            given++;
        }
    }
    return given;
}

void sy_explain_guards_text(const struct sy_record *record, struct sy_buffer *out) {
    uint32_t counts[SY_COUNT(guards)] = {0};
    if (!count(record, counts)) {
        return;
    }
    sy_print(out, "Of its %u decisions:\n", record->decision_count);
    for (uint32_t i = 0; i < SY_COUNT(guards); i++) {
        if (counts[i]) {
            sy_print(out, "  %6u: %s\n", counts[i], guards[i]);
        }
    }
}

void sy_explain_guards_json(const struct sy_record *record, struct sy_json_writer *writer) {
    uint32_t counts[SY_COUNT(guards)] = {0};
    sy_json_key(writer, "guards");
    if (!count(record, counts)) {
        sy_json_put_null(writer);
        return;
    }
    sy_json_open(writer, '{');
    for (uint32_t i = 0; i < SY_COUNT(guards); i++) {
        sy_json_member_u64(writer, sy_guard_name(i), counts[i]);
    }
    sy_json_close(writer, '}');
}
