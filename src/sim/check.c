/* SPDX-License-Identifier: Apache-2.0
 *
 * The judge: is this trace a legal execution of that workload? In: workload, trace. Out: yes, or
 * the first violation. Never knows: the simulator's state or the policy, so that a bug in either
 * cannot hide itself. Invariant checked: one run per task, after its predecessors and its job's
 * arrival, alone on its device while that is there, with the right version of every input in the
 * device's memory, copied from a memory that held it, no faster than the route; the right image in
 * a region, loaded through a port that loads one at a time.
 */
#include "sim/sim.h"
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

struct judge {
    const struct sy_workload *w;
    const struct sy_machine *m;
    const struct sy_trace *trace;
    struct sy_error *error;
    uint32_t *run;          /* per task: its span, or SY_NONE */
    uint32_t *copy_start;   /* per datum: its copies are copies[copy_start[d]] .. */
    uint32_t *copies;       /* spans, by datum then start */
    uint32_t *writer_start; /* per datum */
    uint32_t *writers;      /* tasks, by datum then start */
};

static bool earlier(double a, double b) {
    return a < b - 1e-6 - 1e-12 * fabs(b);
}

static const struct sy_span *span_of(const struct judge *j, uint32_t task) {
    return &j->trace->spans[j->run[task]];
}

static int wrong(const struct judge *j, uint32_t task, const char *what) {
    char name[96];
    return sy_fail(j->error, -EINVAL, "%s %s", sy_workload_task_name(j->w, task, name, sizeof name),
                   what);
}

static uint32_t memory_of(const struct judge *j, uint32_t task) {
    return j->m->devices[span_of(j, task)->place].memory;
}

static int check_spans(struct judge *j) {
    for (uint32_t i = 0; i < j->trace->count; i++) {
        const struct sy_span *s = &j->trace->spans[i];
        bool transfer = s->kind == SY_SPAN_TRANSFER;
        uint32_t places = transfer ? j->m->memory_count : j->m->device_count;
        uint32_t subjects = transfer                         ? j->w->data_count
                            : s->kind == SY_SPAN_RECONFIGURE ? j->w->kernel_count
                                                             : j->w->task_count;
        if (!(s->end_ns >= s->start_ns) || s->place >= places ||
            (s->kind != SY_SPAN_LOST && s->subject >= subjects) ||
            (transfer && s->from >= j->m->memory_count)) {
            return sy_fail(j->error, -EINVAL, "span %u is out of range", i);
        }
        if (s->kind != SY_SPAN_TASK) {
            continue;
        }
        if (j->run[s->subject] != SY_NONE) {
            return wrong(j, s->subject, "ran twice");
        }
        j->run[s->subject] = i;
    }
    for (uint32_t t = 0; t < j->w->task_count; t++) {
        if (j->run[t] == SY_NONE) {
            return wrong(j, t, "never ran");
        }
    }
    return 0;
}

static int check_precedence(const struct judge *j) {
    const struct sy_workload *w = j->w;
    for (uint32_t t = 0; t < w->task_count; t++) {
        const struct sy_span *s = span_of(j, t);
        uint32_t class_index = j->m->devices[s->place].class_index;
        if (!isfinite(w->time_ns[(size_t)t * w->class_count + class_index])) {
            return wrong(j, t, "ran on a device it has no variant for");
        }
        /* Times that are large are too coarse for short tasks; noise may shorten them further. */
        double least_ns = 1e-3 * w->time_ns[(size_t)t * w->class_count + class_index];
        if (!(s->end_ns > s->start_ns) && s->start_ns + least_ns > s->start_ns) {
            return wrong(j, t, "took no time");
        }
        if (earlier(s->start_ns, w->jobs[w->task_job[t]].arrive_ns)) {
            return wrong(j, t, "started before its job arrived");
        }
        for (uint32_t e = w->pred_start[t]; e < w->pred_start[t + 1]; e++) {
            if (earlier(s->start_ns, span_of(j, w->pred[e])->end_ns)) {
                return wrong(j, t, "started before a predecessor ended");
            }
        }
    }
    return 0;
}

/* qsort_r callbacks: spans by place (or board) then start. */
struct place_order {
    const struct sy_span *spans;
    const struct sy_device *devices;
    bool by_board;
};

static uint32_t place_key(const struct place_order *o, const struct sy_span *s) {
    return o->by_board ? o->devices[s->place].board : s->place;
}

static int by_place(const void *a, const void *b, void *context) {
    const struct place_order *o = context;
    const struct sy_span *x = &o->spans[*(const uint32_t *)a], *y = &o->spans[*(const uint32_t *)b];
    uint32_t p = place_key(o, x), q = place_key(o, y);
    int order = SY_ORDER(p, q);
    order = order ? order : SY_ORDER(x->start_ns, y->start_ns);
    return order ? order : (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static bool occupies(const struct sy_span *s, bool port) {
    return port ? s->kind == SY_SPAN_RECONFIGURE : s->kind != SY_SPAN_TRANSFER;
}

/* One thing at a time: per device, or (port) reconfigurations per board. */
static int check_exclusive(const struct judge *j, bool port) {
    uint32_t *index = malloc((j->trace->count + 1u) * sizeof *index), count = 0;
    int code = index ? 0 : -ENOMEM;
    for (uint32_t i = 0; !code && i < j->trace->count; i++) {
        if (occupies(&j->trace->spans[i], port)) {
            index[count++] = i;
        }
    }
    struct place_order order = {j->trace->spans, j->m->devices, port};
    if (!code) {
        qsort_r(index, count, sizeof *index, by_place, &order);
    }
    for (uint32_t i = 1; !code && i < count; i++) {
        const struct sy_span *a = &j->trace->spans[index[i - 1]];
        const struct sy_span *b = &j->trace->spans[index[i]];
        if (place_key(&order, a) == place_key(&order, b) && earlier(b->start_ns, a->end_ns)) {
            code = sy_fail(j->error, -EINVAL, "%s does two things at once at %.0f ns",
                           port ? j->m->boards[place_key(&order, a)].name
                                : j->m->devices[a->place].name,
                           b->start_ns);
        }
    }
    free(index);
    return code;
}

struct start_order {
    const struct judge *j;
};

static int by_task_start(const void *a, const void *b, void *context) {
    const struct judge *j = ((const struct start_order *)context)->j;
    double x = span_of(j, *(const uint32_t *)a)->start_ns;
    double y = span_of(j, *(const uint32_t *)b)->start_ns;
    return (x > y) - (x < y);
}

static int by_copy_start(const void *a, const void *b, void *context) {
    const struct judge *j = ((const struct start_order *)context)->j;
    double x = j->trace->spans[*(const uint32_t *)a].start_ns;
    double y = j->trace->spans[*(const uint32_t *)b].start_ns;
    return (x > y) - (x < y);
}

/* Lists per datum: who writes it, which copies move it, each by start. */
static void list_by_datum(struct judge *j) {
    const struct sy_workload *w = j->w;
    struct start_order order = {j};
    for (uint32_t pass = 0; pass < 2; pass++) { /* count, then fill */
        for (uint32_t t = 0; t < w->task_count; t++) {
            for (uint32_t a = w->access_start[t]; a < w->access_start[t + 1]; a++) {
                if (w->access[a].mode & SY_WRITE) {
                    uint32_t *at = &j->writer_start[w->access[a].datum + 1 - pass];
                    if (pass) {
                        j->writers[*at] = t;
                    }
                    ++*at;
                }
            }
        }
        for (uint32_t i = 0; i < j->trace->count; i++) {
            if (j->trace->spans[i].kind == SY_SPAN_TRANSFER) {
                uint32_t *at = &j->copy_start[j->trace->spans[i].subject + 1 - pass];
                if (pass) {
                    j->copies[*at] = i;
                }
                ++*at;
            }
        }
        for (uint32_t d = w->data_count; pass && d > 0; d--) { /* filling moved the starts on */
            j->writer_start[d] = j->writer_start[d - 1];
            j->copy_start[d] = j->copy_start[d - 1];
        }
        for (uint32_t d = 0; !pass && d < w->data_count; d++) {
            j->writer_start[d + 1] += j->writer_start[d];
            j->copy_start[d + 1] += j->copy_start[d];
        }
        j->writer_start[0] = j->copy_start[0] = 0;
    }
    for (uint32_t d = 0; d < w->data_count; d++) {
        qsort_r(j->writers + j->writer_start[d], j->writer_start[d + 1] - j->writer_start[d],
                sizeof *j->writers, by_task_start, &order);
        qsort_r(j->copies + j->copy_start[d], j->copy_start[d + 1] - j->copy_start[d],
                sizeof *j->copies, by_copy_start, &order);
    }
}

/* Does memory hold, at time, the version written by producer (SY_NONE: the initial one)? */
static bool holds(const struct judge *j, uint32_t datum, uint32_t producer, uint32_t memory,
                  double at_ns) {
    double since = 0;
    if (producer == SY_NONE) {
        if (j->w->data_home[datum] >> memory & 1) {
            return true;
        }
    } else {
        since = span_of(j, producer)->end_ns;
        if (memory_of(j, producer) == memory) {
            return !earlier(at_ns, since);
        }
    }
    for (uint32_t i = j->copy_start[datum]; i < j->copy_start[datum + 1]; i++) {
        const struct sy_span *s = &j->trace->spans[j->copies[i]];
        if (s->place == memory && !earlier(s->start_ns, since) && !earlier(at_ns, s->end_ns)) {
            return true;
        }
    }
    return false;
}

static int check_inputs(const struct judge *j) {
    const struct sy_workload *w = j->w;
    for (uint32_t t = 0; t < w->task_count; t++) {
        for (uint32_t a = w->access_start[t]; a < w->access_start[t + 1]; a++) {
            if ((w->access[a].mode & SY_READ) &&
                !holds(j, w->access[a].datum, w->access_producer[a], memory_of(j, t),
                       span_of(j, t)->start_ns)) {
                return wrong(j, t, "started without one of its inputs");
            }
        }
    }
    return 0;
}

static uint32_t last_writer(const struct judge *j, uint32_t datum, double at_ns) {
    uint32_t found = SY_NONE;
    for (uint32_t i = j->writer_start[datum]; i < j->writer_start[datum + 1]; i++) {
        if (!earlier(at_ns, span_of(j, j->writers[i])->end_ns)) {
            found = j->writers[i];
        }
    }
    return found;
}

static int check_copies(const struct judge *j) {
    for (uint32_t i = 0; i < j->trace->count; i++) {
        const struct sy_span *s = &j->trace->spans[i];
        if (s->kind != SY_SPAN_TRANSFER) {
            continue;
        }
        uint32_t producer = last_writer(j, s->subject, s->start_ns);
        if (!holds(j, s->subject, producer, s->from, s->start_ns)) {
            return sy_fail(j->error, -EINVAL, "datum %u was copied from %s, which did not have it",
                           s->subject, j->m->memories[s->from].name);
        }
        double least = sy_cost_transfer_ns(j->m, s->from, s->place, j->w->data_bytes[s->subject]);
        double rounding = 2 * DBL_EPSILON * s->end_ns; /* times that are large are coarse */
        if (earlier((s->end_ns - s->start_ns) * (1 + 1e-9) + 1e-3 + rounding, least)) {
            return sy_fail(j->error, -EINVAL,
                           "datum %u went from %s to %s in %.0f ns, faster than the route's %.0f",
                           s->subject, j->m->memories[s->from].name, j->m->memories[s->place].name,
                           s->end_ns - s->start_ns, least);
        }
    }
    return 0;
}

/* The image in a region when a task starts is the last one loaded there. */
static int check_images(const struct judge *j) {
    for (uint32_t t = 0; t < j->w->task_count; t++) {
        const struct sy_span *run = span_of(j, t);
        if (j->m->devices[run->place].board == SY_NONE) {
            continue;
        }
        uint32_t image = SY_NONE;
        double loaded = -INFINITY;
        for (uint32_t i = 0; i < j->trace->count; i++) {
            const struct sy_span *s = &j->trace->spans[i];
            bool loss = s->kind == SY_SPAN_LOST; /* a region that was lost comes back empty */
            if ((loss || s->kind == SY_SPAN_RECONFIGURE) && s->place == run->place &&
                !earlier(run->start_ns, s->end_ns) && s->end_ns >= loaded) {
                loaded = s->end_ns;
                image = loss ? SY_NONE : s->subject;
            }
        }
        if (image != j->w->task_kernel[t]) {
            return wrong(j, t, "ran in a region that held another image");
        }
    }
    return 0;
}

static int judge_all(struct judge *j) {
    int code = check_spans(j);
    code = code ? code : check_precedence(j);
    code = code ? code : check_exclusive(j, false);
    code = code || !j->m->board_count ? code : check_exclusive(j, true);
    if (!code) {
        list_by_datum(j);
    }
    code = code ? code : check_inputs(j);
    code = code ? code : check_copies(j);
    return code || !j->m->board_count ? code : check_images(j);
}

int sy_sim_check(const struct sy_workload *workload, const struct sy_trace *trace,
                 struct sy_error *error) {
    struct judge j = {.w = workload, .m = workload->machine, .trace = trace, .error = error};
    struct sy_arena *arena = sy_arena_create();
    size_t data = workload->data_count + 2u;
    if (arena) {
        j.run = sy_arena_alloc(arena, workload->task_count + 1u, sizeof *j.run);
        j.copy_start = sy_arena_alloc(arena, data, sizeof *j.copy_start);
        j.copies = sy_arena_alloc(arena, trace->count + 1u, sizeof *j.copies);
        j.writer_start = sy_arena_alloc(arena, data, sizeof *j.writer_start);
        j.writers = sy_arena_alloc(arena, workload->access_count + 1u, sizeof *j.writers);
    }
    int code = -ENOMEM;
    if (arena && j.run && j.copy_start && j.copies && j.writer_start && j.writers) {
        for (uint32_t t = 0; t < workload->task_count; t++) {
            j.run[t] = SY_NONE;
        }
        code = trace->failed ? sy_fail(error, -ENOMEM, "the trace is incomplete") : judge_all(&j);
    }
    sy_arena_destroy(arena);
    return code;
}
