/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the mixed LP as text.
 *
 * In: workload. Out: CPLEX LP format and what each row stands for. Never knows: solvers. A task's
 * fastest class is eliminated (its share is 1 minus the others), which halves the LP of a machine
 * with two classes. Invariant: all rows are "at least", so all useful duals are nonnegative.
 */
#include "bounds/lp.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define TERMS_PER_LINE 8u

struct writer {
    struct sy_lp *lp;
    struct sy_buffer *text;
    uint32_t *fastest;   /* class, per task */
    uint32_t term_count; /* in the row at hand */
    int status;
};

static double time_of(const struct writer *writer, uint32_t task, uint32_t class_index) {
    const struct sy_workload *workload = writer->lp->workload;
    return workload->time_ns[(size_t)task * workload->class_count + class_index] /
           writer->lp->unit_ns;
}

static void find_fastest(struct writer *writer) {
    const struct sy_workload *workload = writer->lp->workload;
    for (uint32_t t = 0; t < workload->task_count; t++) {
        const double *time = &workload->time_ns[(size_t)t * workload->class_count];
        for (uint32_t c = 1; c < workload->class_count; c++) {
            writer->fastest[t] = time[c] < time[writer->fastest[t]] ? c : writer->fastest[t];
        }
    }
}

static bool is_choice(const struct writer *writer, uint32_t task, uint32_t class_index) {
    return class_index != writer->fastest[task] && isfinite(time_of(writer, task, class_index));
}

static void begin_row(struct writer *writer, uint32_t slot) {
    struct sy_lp *lp = writer->lp;
    int r = sy_grow(&lp->row_slot, &lp->row_capacity, lp->row_count + 1, sizeof(uint32_t));
    if (r < 0) {
        writer->status = r;
        return;
    }
    sy_buffer_printf(writer->text, " R%u:", lp->row_count);
    lp->row_slot[lp->row_count++] = slot;
    writer->term_count = 0;
}

static void break_line(struct writer *writer) {
    if (writer->term_count++ % TERMS_PER_LINE == TERMS_PER_LINE - 1) {
        sy_buffer_printf(writer->text, "\n ");
    }
}

static void share_term(struct writer *writer, double factor, uint32_t task, uint32_t class_index) {
    if (factor != 0) {
        sy_buffer_printf(writer->text, " %c %.12g X%u_%u", factor < 0 ? '-' : '+', fabs(factor),
                         task, class_index);
        break_line(writer);
    }
}

static void end_row(struct writer *writer, double at_least) {
    sy_buffer_printf(writer->text, " >= %.12g\n", at_least);
}

/* devices M - sum of shares * time >= 0, the fastest class's share written through the others. */
static void load_row(struct writer *writer, uint32_t class_index) {
    const struct sy_workload *workload = writer->lp->workload;
    double fixed = 0;
    begin_row(writer, class_index);
    sy_buffer_printf(writer->text, " %u M", workload->machine->classes[class_index].device_count);
    for (uint32_t t = 0; t < workload->task_count; t++) {
        double time = time_of(writer, t, class_index);
        if (is_choice(writer, t, class_index)) {
            share_term(writer, -time, t, class_index);
        }
        if (class_index != writer->fastest[t]) {
            continue;
        }
        fixed += time;
        for (uint32_t c = 0; c < workload->class_count; c++) {
            if (is_choice(writer, t, c)) {
                share_term(writer, time, t, c);
            }
        }
    }
    end_row(writer, fixed);
}

/* C_task - C_before - what slower shares add >= fastest time (+ release). */
static void precedence_row(struct writer *writer, uint32_t slot, uint32_t task, uint32_t before) {
    const struct sy_workload *workload = writer->lp->workload;
    uint32_t best = writer->fastest[task];
    double least = time_of(writer, task, best);
    begin_row(writer, slot);
    sy_buffer_printf(writer->text, " C%u", task);
    if (before != SY_NONE) {
        sy_buffer_printf(writer->text, " - C%u", before);
    } else {
        least += workload->jobs[workload->task_job[task]].arrive_ns / writer->lp->unit_ns;
    }
    for (uint32_t c = 0; c < workload->class_count; c++) {
        if (is_choice(writer, task, c)) {
            share_term(writer, time_of(writer, task, best) - time_of(writer, task, c), task, c);
        }
    }
    end_row(writer, least);
}

/* Shares of the slower classes sum to at most 1; for one of them a bound does. */
static void share_row(struct writer *writer, uint32_t task) {
    uint32_t choices = 0, classes = writer->lp->workload->class_count;
    for (uint32_t c = 0; c < classes; c++) {
        choices += is_choice(writer, task, c);
    }
    if (choices < 2) {
        return;
    }
    begin_row(writer, SY_NONE);
    for (uint32_t c = 0; c < classes; c++) {
        if (is_choice(writer, task, c)) {
            share_term(writer, -1, task, c);
        }
    }
    end_row(writer, -1);
}

static void task_rows(struct writer *writer, uint32_t task) {
    const struct sy_workload *workload = writer->lp->workload;
    uint32_t classes = workload->class_count, edges = workload->pred_start[workload->task_count];
    uint32_t first = workload->pred_start[task], end = workload->pred_start[task + 1];
    share_row(writer, task);
    for (uint32_t e = first; e < end; e++) {
        precedence_row(writer, classes + e, task, workload->pred[e]);
    }
    if (first == end) {
        precedence_row(writer, SY_NONE, task, SY_NONE);
    }
    if (workload->succ_start[task] == workload->succ_start[task + 1]) {
        begin_row(writer, classes + edges + task);
        sy_buffer_printf(writer->text, " M - C%u", task);
        end_row(writer, 0);
    }
}

static void write_bounds(struct writer *writer) {
    const struct sy_workload *workload = writer->lp->workload;
    sy_buffer_printf(writer->text, "Bounds\n");
    for (uint32_t t = 0; t < workload->task_count; t++) {
        for (uint32_t c = 0; c < workload->class_count; c++) {
            if (is_choice(writer, t, c)) {
                sy_buffer_printf(writer->text, " X%u_%u <= 1\n", t, c);
            }
        }
    }
    sy_buffer_printf(writer->text, "End\n");
}

static void write_all(struct writer *writer) {
    const struct sy_workload *workload = writer->lp->workload;
    find_fastest(writer);
    sy_buffer_printf(writer->text, "Minimize\n obj: M\nSubject To\n");
    for (uint32_t c = 0; c < workload->class_count && writer->status == 0; c++) {
        load_row(writer, c);
    }
    for (uint32_t t = 0; t < workload->task_count && writer->status == 0; t++) {
        task_rows(writer, t);
    }
    write_bounds(writer);
}

int sy_lp_init(struct sy_lp *lp, const struct sy_workload *workload, double unit_ns,
               struct sy_buffer *ret_text) {
    uint32_t edges = workload->pred_start[workload->task_count];
    *lp = (struct sy_lp){.workload = workload, .unit_ns = unit_ns};
    lp->slot_count = workload->class_count + edges + workload->task_count;
    lp->dual = calloc(lp->slot_count, sizeof(*lp->dual));
    struct sy_buffer text = {0};
    struct writer writer = {.lp = lp, .text = &text};
    writer.fastest = calloc((size_t)workload->task_count + 1, sizeof(*writer.fastest));
    writer.status = lp->dual == NULL || writer.fastest == NULL ? -ENOMEM : 0;
    if (writer.status == 0) {
        write_all(&writer);
    }
    free(writer.fastest);
    if (writer.status < 0 || text.failed) {
        sy_buffer_finish(&text);
        sy_lp_finish(lp);
        return -ENOMEM;
    }
    *ret_text = text;
    return 0;
}

void sy_lp_finish(struct sy_lp *lp) {
    free(lp->row_slot);
    free(lp->dual);
    *lp = (struct sy_lp){0};
}
