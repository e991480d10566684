/* SPDX-License-Identifier: Apache-2.0
 *
 * task: why a task went where it did, in sentences.
 *
 * In: the indexed record, a task. Out: text on stdout. Invariant: what the record does not know is
 * said to be unknown, or not said.
 */
#include "cli/explain/explain.h"
#include "cli/table.h"
#include "cli/units.h"

#include <math.h>
#include <string.h>

#define SURPRISE 1.1 /* a prediction within this ratio was right */

#define EVEN 0.05 /* of the time from decision to end: less is no difference */

static void put_head(const struct sy_explain *explain, uint32_t task, struct sy_buffer *out) {
    const struct sy_record *record = explain->record;
    const struct sy_record_task *ran = &record->tasks[task];
    char name[32];
    sy_print(out, "%s is task %u of %s, kernel %s.\n",
             sy_graph_task_name(record->graph, (sy_task_id){task}, name), task,
             record->spec[0] ? record->spec : explain->path, sy_explain_kernel(explain, task));
    if (ran->device == SY_NONE) {
        sy_print(out, "It never ran: the run ended first.\n");
        return;
    }
    sy_print(out, "It ran on %s from %s to %s: %s.\n", sy_explain_device(explain, ran->device),
             sy_units_time(ran->start_ns).text, sy_units_time(ran->end_ns).text,
             sy_units_time(sy_explain_duration_ns(explain, task)).text);
}

static void put_ready(const struct sy_explain *explain, uint32_t task, struct sy_buffer *out) {
    const struct sy_record_task *ran = &explain->record->tasks[task];
    uint32_t input = sy_explain_last_input(explain, task);
    char name[32];
    if (!isnan(ran->submitted_ns)) {
        sy_print(out, "It was submitted at %s.\n", sy_units_time(ran->submitted_ns).text);
    }
    if (isnan(ran->ready_ns)) {
        return;
    }
    sy_print(out, "It became ready at %s", sy_units_time(ran->ready_ns).text);
    if (input == SY_NONE) {
        sy_print(out, "; it depends on no other task.\n");
    } else {
        sy_print(out, "; the last task that it depends on, %s, ended at %s on %s.\n",
                 sy_graph_task_name(explain->record->graph, (sy_task_id){input}, name),
                 sy_units_time(explain->record->tasks[input].end_ns).text,
                 sy_explain_device(explain, explain->record->tasks[input].device));
    }
}

static void put_decision(const struct sy_explain *explain, const struct sy_decided *decided,
                         struct sy_buffer *out) {
    const struct sy_record_task *ran = &explain->record->tasks[decided->task];
    sy_print(out, "Policy %s placed it on %s at %s", explain->record->policy,
             sy_explain_device(explain, decided->device), sy_units_time(decided->at_ns).text);
    if (decided->at_ns < ran->ready_ns) {
        sy_print(out, ", %s before it was ready",
                 sy_units_time(ran->ready_ns - decided->at_ns).text);
    } else if (decided->at_ns > ran->ready_ns) {
        sy_print(out, ", %s after it was ready",
                 sy_units_time(decided->at_ns - ran->ready_ns).text);
    }
    if (decided->ready_count > 1) {
        sy_print(out, "; %u tasks were waiting to be placed, this one included.\n",
                 decided->ready_count);
    } else {
        sy_print(out, "; no other task was waiting to be placed.\n");
    }
    if (ran->device != SY_NONE && ran->device != decided->device) {
        sy_print(out, "It ran on %s nevertheless: the runtime moved it.\n",
                 sy_explain_device(explain, ran->device));
    }
}

static void put_alternatives(const struct sy_explain *explain, const struct sy_decided *decided,
                             struct sy_buffer *out) {
    static const char *const headers[] = {"device", "queue",  "inputs", "execution",
                                          "finish", "spread", ""};
    struct sy_table table;
    sy_table_init(&table, headers, "lrrrrrl");
    for (uint32_t i = 0; i < decided->alternative_count; i++) {
        const struct sy_alternative *item = &decided->alternatives[i];
        sy_table_cell(&table, "%s|%s|%s|%s|%s", sy_explain_device(explain, item->device),
                      sy_units_time(item->queue_ns).text, sy_units_time(item->inputs_ns).text,
                      sy_units_time(item->exec_ns).text, sy_units_time(item->finish_ns).text);
        if (item->log_sigma > 0) {
            sy_table_cell(&table, "%.0f %%", 100 * expm1(fmin(item->log_sigma, 10)));
        } else {
            sy_table_cell(&table, "-");
        }
        sy_table_cell(&table, "%s", i == 0 ? "chosen" : "");
    }
    sy_print(out, "\nPredictions at that moment, counted from the decision:\n");
    sy_table_write(&table, 2, sy_message_colour(stdout), out);
    sy_table_legend(
        "queue: until the device has finished its earlier tasks; inputs: until the data could "
        "arrive; finish: end of the task; spread: one standard deviation of the execution time.",
        2, out);
    sy_print(out, "\n");
}

/* "1.80x what was predicted" or "as predicted". */
static void put_ratio(double actual_ns, double predicted_ns, double log_sigma,
                      struct sy_buffer *out) {
    double ratio = predicted_ns > 0 ? actual_ns / predicted_ns : NAN;
    double spread = log_sigma > 0 ? exp(fmin(2 * log_sigma, 10)) : 1;
    if (!isfinite(ratio)) {
        sy_print(out, ".\n");
    } else if (ratio <= SURPRISE && ratio * SURPRISE >= 1) {
        sy_print(out, ", as predicted (%.2fx).\n", ratio);
    } else {
        bool is_within = ratio <= spread && ratio * spread >= 1;
        sy_print(out, ", %.2fx what was predicted: %s.\n", ratio,
                 is_within ? "within the spread of the model"
                           : "the model was wrong by more than its spread");
    }
}

static void put_execution(const struct sy_explain *explain, uint32_t task,
                          const struct sy_decided *decided, struct sy_buffer *out) {
    const struct sy_record_task *ran = &explain->record->tasks[task];
    double actual = sy_explain_duration_ns(explain, task);
    double sigma = decided && decided->alternative_count ? decided->alternatives[0].log_sigma : NAN;
    if (isfinite(ran->predicted_ns)) {
        sy_print(out, "Execution: predicted %s, actual %s", sy_units_time(ran->predicted_ns).text,
                 sy_units_time(actual).text);
        put_ratio(actual, ran->predicted_ns, sigma, out);
    } else {
        sy_print(out, "Execution: %s; nothing was predicted.\n", sy_units_time(actual).text);
    }
}

/* Who had its core meanwhile: the tasks that began there between its parts. */
static void put_asides(const struct sy_explain *explain, uint32_t task, struct sy_buffer *out) {
    const struct sy_record *record = explain->record;
    const struct sy_record_task *ran = &record->tasks[task];
    uint32_t count = 0, last = SY_NONE;
    char name[32];
    for (uint32_t t = 0; ran->aside_ns > 0 && t < record->graph->task_count; t++) {
        const struct sy_record_task *other = &record->tasks[t];
        if (t != task && other->device == ran->device && other->start_ns >= ran->start_ns &&
            other->end_ns <= ran->end_ns) {
            count++;
            last = t;
        }
    }
    if (count) {
        sy_print(out, "It stood aside for %s: %s had its core, %s%s.\n",
                 sy_units_time(ran->aside_ns).text,
                 sy_units_count(count, "other task", "other tasks").text,
                 count > 1 ? "the last of them " : "",
                 sy_graph_task_name(record->graph, (sy_task_id){last}, name));
    }
}

/* What stood aside for it. */
static void put_pushed(const struct sy_explain *explain, uint32_t task, struct sy_buffer *out) {
    const struct sy_record *record = explain->record;
    const struct sy_record_task *ran = &record->tasks[task];
    char name[32];
    for (uint32_t t = 0; t < record->graph->task_count; t++) {
        const struct sy_record_task *other = &record->tasks[t];
        if (t != task && other->aside_ns > 0 && other->device == ran->device &&
            other->start_ns <= ran->start_ns && other->end_ns >= ran->end_ns) {
            sy_print(out, "%s stood aside for it.\n",
                     sy_graph_task_name(record->graph, (sy_task_id){t}, name));
        }
    }
}

static void put_start(const struct sy_explain *explain, const struct sy_decided *decided,
                      struct sy_buffer *out) {
    const struct sy_record_task *ran = &explain->record->tasks[decided->task];
    if (!decided->alternative_count || ran->device != decided->device) {
        return;
    }
    const struct sy_alternative *chosen = &decided->alternatives[0];
    double start = decided->at_ns + chosen->finish_ns - chosen->exec_ns;
    double late = ran->start_ns - start;
    if (isfinite(late)) {
        sy_print(out, "Start: predicted at %s, actual at %s, %s %s.\n", sy_units_time(start).text,
                 sy_units_time(ran->start_ns).text, sy_units_time(fabs(late)).text,
                 late < 0 ? "earlier" : "later");
    }
}

static void put_stall(const struct sy_explain *explain, uint32_t task, struct sy_buffer *out) {
    if (explain->stall_ns[task] > 0) {
        sy_print(out, "%s waited %s for its inputs.\n",
                 sy_explain_device(explain, explain->record->tasks[task].device),
                 sy_units_time(explain->stall_ns[task]).text);
    }
}

/* --- the verdict -------------------------------------------------------------------------------
 */

/* Differences, chosen minus other, that are worth a word. */
struct reasons {
    struct sy_buffer against, in_favour;
    double least_ns;
};

static void add_reason(struct reasons *reasons, double difference_ns, const char *more,
                       const char *less) {
    if (!isfinite(difference_ns) || fabs(difference_ns) < reasons->least_ns) {
        return;
    }
    struct sy_buffer *to = difference_ns > 0 ? &reasons->against : &reasons->in_favour;
    sy_print(to, "%s", to->length ? " and " : "");
    sy_print(to, difference_ns > 0 ? more : less, sy_units_time(fabs(difference_ns)).text);
}

static void put_reasons(const struct sy_alternative *chosen, const struct sy_alternative *other,
                        struct sy_buffer *out) {
    double gain = fabs(other->finish_ns - chosen->finish_ns);
    struct reasons reasons = {.least_ns = fmax(1, fmax(0.02 * gain, 0.005 * other->finish_ns))};
    add_reason(&reasons, chosen->queue_ns - other->queue_ns, "its queue was %s longer",
               "its queue was %s shorter");
    if (chosen->inputs_ns > chosen->queue_ns || other->inputs_ns > other->queue_ns) {
        add_reason(&reasons, chosen->inputs_ns - other->inputs_ns, "its inputs came %s later",
                   "its inputs came %s sooner");
    }
    add_reason(&reasons, chosen->exec_ns - other->exec_ns, "it executes %s slower",
               "it executes %s faster");
    if (reasons.against.length + reasons.in_favour.length) {
        sy_print(out, ": %s%s%s", reasons.against.length ? reasons.against.text : "",
                 reasons.against.length && reasons.in_favour.length ? ", but " : "",
                 reasons.in_favour.length ? reasons.in_favour.text : "");
    }
    out->failed = out->failed || reasons.against.failed || reasons.in_favour.failed;
    sy_buffer_finish(&reasons.against);
    sy_buffer_finish(&reasons.in_favour);
}

/* The rival with the earliest predicted finish; NULL: none says. */
static const struct sy_alternative *best_other(const struct sy_decided *decided) {
    const struct sy_alternative *best = NULL;
    for (uint32_t i = 1; i < decided->alternative_count; i++) {
        const struct sy_alternative *item = &decided->alternatives[i];
        if (isfinite(item->finish_ns) && (!best || item->finish_ns < best->finish_ns)) {
            best = item;
        }
    }
    return best;
}

static void put_verdict(const struct sy_explain *explain, const struct sy_decided *decided,
                        struct sy_buffer *out) {
    const struct sy_alternative *chosen = &decided->alternatives[0];
    const struct sy_alternative *other = best_other(decided);
    if (!other || !isfinite(chosen->finish_ns)) {
        sy_print(out, "%s\n",
                 decided->alternative_count == 1
                     ? "No other device was considered."
                     : "The policy did not say when the others would have finished.");
        return;
    }
    double gain = other->finish_ns - chosen->finish_ns;
    const char *name = sy_explain_device(explain, chosen->device);
    const char *rival = sy_explain_device(explain, other->device);
    if (gain == 0) {
        sy_print(out, "%s and %s were predicted to finish at the same time", name, rival);
    } else {
        sy_print(out, "%s was predicted to finish %s %s than %s", name,
                 sy_units_time(fabs(gain)).text, gain > 0 ? "earlier" : "later", rival);
        double low = fmin(chosen->finish_ns, other->finish_ns);
        if (low > 0) {
            sy_print(out, " (%.1fx)", fmax(chosen->finish_ns, other->finish_ns) / low);
        }
    }
    put_reasons(chosen, other, out);
    sy_print(out, "%s\n",
             gain < 0 ? ". The policy considers more than the end of this task." : ".");
}

static void put_hindsight(const struct sy_explain *explain, const struct sy_decided *decided,
                          struct sy_buffer *out) {
    double actual = explain->record->tasks[decided->task].end_ns;
    const struct sy_alternative *best = NULL;
    struct sy_explain_hindsight best_answer = {0};
    for (uint32_t i = 1; i < decided->alternative_count; i++) {
        struct sy_explain_hindsight answer =
            sy_explain_hindsight(explain, decided, &decided->alternatives[i]);
        if (!isnan(answer.end_ns) && (!best || answer.end_ns < best_answer.end_ns)) {
            best = &decided->alternatives[i];
            best_answer = answer;
        }
    }
    if (!best) {
        sy_print(out,
                 "In hindsight: no other %s ran on these other devices, so there is nothing to "
                 "compare with.\n",
                 sy_explain_kernel(explain, decided->task));
        return;
    }
    double gain = actual - best_answer.end_ns;
    bool is_even = fabs(gain) < EVEN * (actual - decided->at_ns);
    sy_print(out,
             "In hindsight %s: %s would have ended it about %s %s (%u other %s tasks took "
             "%s there, and it was free at %s).\n",
             is_even    ? "it made no difference"
             : gain > 0 ? "another device would have been better"
                        : "the choice was right",
             sy_explain_device(explain, best->device), sy_units_time(fabs(gain)).text,
             gain > 0 ? "earlier" : "later", best_answer.seen.count,
             sy_explain_kernel(explain, decided->task),
             sy_units_time(best_answer.seen.median_ns).text,
             sy_units_time(best_answer.free_ns).text);
}

int sy_explain_task_text(struct sy_explain *explain, uint32_t task) {
    const struct sy_decided *decided = sy_explain_decided(explain, task);
    bool ran = explain->record->tasks[task].device != SY_NONE;
    struct sy_buffer out = {0};
    put_head(explain, task, &out);
    put_ready(explain, task, &out);
    if (!decided) {
        sy_print(
            &out, "%s\n",
            explain->record->decision_count
                ? "No decision about it was recorded."
                : "This policy does not record its decisions, so the reason for this device is "
                  "not known.");
    } else {
        put_decision(explain, decided, &out);
        sy_explain_reason_text(&decided->reason, &out);
    }
    bool compared = decided && decided->alternative_count;
    if (compared) {
        put_alternatives(explain, decided, &out);
    }
    if (ran) {
        put_execution(explain, task, decided, &out);
        put_asides(explain, task, &out);
        put_pushed(explain, task, &out);
        put_stall(explain, task, &out);
    }
    if (ran && decided) {
        put_start(explain, decided, &out);
    }
    if (ran && compared) {
        put_hindsight(explain, decided, &out);
    }
    if (compared) {
        put_verdict(explain, decided, &out);
    }
    return sy_output(&out);
}
