/* SPDX-License-Identifier: Apache-2.0
 *
 * The schedule checker: is this trace a legal execution of that workload? In: workload, trace. Out:
 * yes, or the first violation. Never knows: the simulator's state or the policy, so that a bug in
 * either cannot hide itself. Invariant checked: one run per task, after its predecessors and its
 * job's arrival, alone on its device while that is there, with the right version of every input in
 * the device's memory, copied from a memory that held it, no faster than the route; the right image
 * in a region, loaded through a port that loads one at a time. A task that was pushed aside ran in
 * parts, all on one device.
 */
#include "sim/sim.h"
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

struct checker {
    const struct sy_workload *w;
    const struct sy_machine *m;
    const struct sy_trace *trace;
    struct sy_error *error;
    uint32_t *run;          /* per task: its span, the last part of it, or SY_NONE */
    double *first_ns;       /* per task: when it began */
    double *aborted_ns;     /* per task: when it last had to begin anew */
    uint32_t *copy_start;   /* per datum: its copies are copies[copy_start[d]] .. */
    uint32_t *copies;       /* spans, by datum then start */
    uint32_t *writer_start; /* per datum */
    uint32_t *writers;      /* tasks, by datum then start */
};

static bool earlier(double a, double b) {
    return a < b - 1e-6 - 1e-12 * fabs(b);
}

static const struct sy_span *span_of(const struct checker *c, uint32_t task) {
    return &c->trace->spans[c->run[task]];
}

static int wrong(const struct checker *c, uint32_t task, const char *what) {
    char name[96];
    return sy_fail(c->error, -EINVAL, "%s %s", sy_workload_task_name(c->w, task, name, sizeof name),
                   what);
}

static uint32_t memory_of(const struct checker *c, uint32_t task) {
    return c->m->devices[span_of(c, task)->place].memory;
}

static double start_of(const struct checker *c, uint32_t task) {
    return c->first_ns[task];
}

/* Parts before a device was lost are of no account. */
static int check_parts(struct checker *c) {
    for (uint32_t t = 0; t < c->w->task_count; t++) {
        c->first_ns[t] = span_of(c, t)->start_ns;
        c->aborted_ns[t] = -INFINITY;
    }
    for (uint32_t i = 0; i < c->trace->count; i++) {
        const struct sy_span *s = &c->trace->spans[i];
        if (s->kind == SY_SPAN_ABORTED) {
            c->aborted_ns[s->subject] = fmax(c->aborted_ns[s->subject], s->end_ns);
        }
    }
    for (uint32_t i = 0; i < c->trace->count; i++) {
        const struct sy_span *s = &c->trace->spans[i];
        if (s->kind != SY_SPAN_PART || !earlier(c->aborted_ns[s->subject], s->end_ns)) {
            continue;
        }
        if (s->place != span_of(c, s->subject)->place) {
            return wrong(c, s->subject, "went on on another device");
        }
        if (c->m->devices[s->place].kind != SY_CPU) {
            return wrong(c, s->subject, "was pushed aside where that cannot be");
        }
        c->first_ns[s->subject] = fmin(c->first_ns[s->subject], s->start_ns);
    }
    return 0;
}

static int check_spans(struct checker *c) {
    for (uint32_t i = 0; i < c->trace->count; i++) {
        const struct sy_span *s = &c->trace->spans[i];
        bool transfer = s->kind == SY_SPAN_TRANSFER;
        uint32_t places = transfer ? c->m->memory_count : c->m->device_count;
        uint32_t subjects = transfer                         ? c->w->data_count
                            : s->kind == SY_SPAN_RECONFIGURE ? c->w->kernel_count
                                                             : c->w->task_count;
        if (!(s->end_ns >= s->start_ns) || s->place >= places ||
            (s->kind != SY_SPAN_LOST && s->subject >= subjects) ||
            (transfer && s->from >= c->m->memory_count)) {
            return sy_fail(c->error, -EINVAL, "span %u is out of range", i);
        }
        if (s->kind != SY_SPAN_TASK) {
            continue;
        }
        if (c->run[s->subject] != SY_NONE) {
            return wrong(c, s->subject, "ran twice");
        }
        c->run[s->subject] = i;
    }
    for (uint32_t t = 0; t < c->w->task_count; t++) {
        if (c->run[t] == SY_NONE) {
            return wrong(c, t, "never ran");
        }
    }
    return 0;
}

static int check_precedence(const struct checker *c) {
    const struct sy_workload *w = c->w;
    for (uint32_t t = 0; t < w->task_count; t++) {
        const struct sy_span *s = span_of(c, t);
        uint32_t class_index = c->m->devices[s->place].class_index;
        if (!isfinite(w->time_ns[(size_t)t * w->class_count + class_index])) {
            return wrong(c, t, "ran on a device it has no variant for");
        }
        /* Times that are large are too coarse for short tasks; noise may shorten them further. */
        double least_ns = 1e-3 * w->time_ns[(size_t)t * w->class_count + class_index];
        if (!(s->end_ns > s->start_ns) && s->start_ns + least_ns > s->start_ns) {
            return wrong(c, t, "took no time");
        }
        if (earlier(start_of(c, t), w->jobs[w->task_job[t]].arrive_ns)) {
            return wrong(c, t, "started before its job arrived");
        }
        for (uint32_t e = w->pred_start[t]; e < w->pred_start[t + 1]; e++) {
            if (earlier(start_of(c, t), span_of(c, w->pred[e])->end_ns)) {
                return wrong(c, t, "started before a predecessor ended");
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
static int check_exclusive(const struct checker *c, bool port) {
    uint32_t *index = malloc((c->trace->count + 1u) * sizeof *index), count = 0;
    int code = index ? 0 : -ENOMEM;
    for (uint32_t i = 0; !code && i < c->trace->count; i++) {
        if (occupies(&c->trace->spans[i], port)) {
            index[count++] = i;
        }
    }
    struct place_order order = {c->trace->spans, c->m->devices, port};
    if (!code) {
        qsort_r(index, count, sizeof *index, by_place, &order);
    }
    for (uint32_t i = 1; !code && i < count; i++) {
        const struct sy_span *a = &c->trace->spans[index[i - 1]];
        const struct sy_span *b = &c->trace->spans[index[i]];
        if (place_key(&order, a) == place_key(&order, b) && earlier(b->start_ns, a->end_ns)) {
            code = sy_fail(c->error, -EINVAL, "%s does two things at once at %.0f ns",
                           port ? c->m->boards[place_key(&order, a)].name
                                : c->m->devices[a->place].name,
                           b->start_ns);
        }
    }
    free(index);
    return code;
}

struct start_order {
    const struct checker *c;
};

static int by_task_start(const void *a, const void *b, void *context) {
    const struct checker *c = ((const struct start_order *)context)->c;
    double x = start_of(c, *(const uint32_t *)a), y = start_of(c, *(const uint32_t *)b);
    return (x > y) - (x < y);
}

static int by_copy_start(const void *a, const void *b, void *context) {
    const struct checker *c = ((const struct start_order *)context)->c;
    double x = c->trace->spans[*(const uint32_t *)a].start_ns;
    double y = c->trace->spans[*(const uint32_t *)b].start_ns;
    return (x > y) - (x < y);
}

/* Lists per datum: who writes it, which copies move it, each by start. */
static void list_by_datum(struct checker *c) {
    const struct sy_workload *w = c->w;
    struct start_order order = {c};
    for (uint32_t pass = 0; pass < 2; pass++) { /* count, then fill */
        for (uint32_t t = 0; t < w->task_count; t++) {
            for (uint32_t a = w->access_start[t]; a < w->access_start[t + 1]; a++) {
                if (w->access[a].mode & SY_WRITE) {
                    uint32_t *at = &c->writer_start[w->access[a].datum + 1 - pass];
                    if (pass) {
                        c->writers[*at] = t;
                    }
                    ++*at;
                }
            }
        }
        for (uint32_t i = 0; i < c->trace->count; i++) {
            if (c->trace->spans[i].kind == SY_SPAN_TRANSFER) {
                uint32_t *at = &c->copy_start[c->trace->spans[i].subject + 1 - pass];
                if (pass) {
                    c->copies[*at] = i;
                }
                ++*at;
            }
        }
        for (uint32_t d = w->data_count; pass && d > 0; d--) { /* filling moved the starts on */
            c->writer_start[d] = c->writer_start[d - 1];
            c->copy_start[d] = c->copy_start[d - 1];
        }
        for (uint32_t d = 0; !pass && d < w->data_count; d++) {
            c->writer_start[d + 1] += c->writer_start[d];
            c->copy_start[d + 1] += c->copy_start[d];
        }
        c->writer_start[0] = c->copy_start[0] = 0;
    }
    for (uint32_t d = 0; d < w->data_count; d++) {
        qsort_r(c->writers + c->writer_start[d], c->writer_start[d + 1] - c->writer_start[d],
                sizeof *c->writers, by_task_start, &order);
        qsort_r(c->copies + c->copy_start[d], c->copy_start[d + 1] - c->copy_start[d],
                sizeof *c->copies, by_copy_start, &order);
    }
}

/* Does memory hold, at time, the version written by producer (SY_NONE: the initial one)? */
static bool holds(const struct checker *c, uint32_t datum, uint32_t producer, uint32_t memory,
                  double at_ns) {
    double since = 0;
    if (producer == SY_NONE) {
        if (c->w->data_home[datum] >> memory & 1) {
            return true;
        }
    } else {
        since = span_of(c, producer)->end_ns;
        if (memory_of(c, producer) == memory) {
            return !earlier(at_ns, since);
        }
    }
    for (uint32_t i = c->copy_start[datum]; i < c->copy_start[datum + 1]; i++) {
        const struct sy_span *s = &c->trace->spans[c->copies[i]];
        if (s->place == memory && !earlier(s->start_ns, since) && !earlier(at_ns, s->end_ns)) {
            return true;
        }
    }
    return false;
}

static int check_inputs(const struct checker *c) {
    const struct sy_workload *w = c->w;
    for (uint32_t t = 0; t < w->task_count; t++) {
        for (uint32_t a = w->access_start[t]; a < w->access_start[t + 1]; a++) {
            if ((w->access[a].mode & SY_READ) &&
                !holds(c, w->access[a].datum, w->access_producer[a], memory_of(c, t),
                       start_of(c, t))) {
                return wrong(c, t, "started without one of its inputs");
            }
        }
    }
    return 0;
}

static uint32_t last_writer(const struct checker *c, uint32_t datum, double at_ns) {
    uint32_t found = SY_NONE;
    for (uint32_t i = c->writer_start[datum]; i < c->writer_start[datum + 1]; i++) {
        if (!earlier(at_ns, span_of(c, c->writers[i])->end_ns)) {
            found = c->writers[i];
        }
    }
    return found;
}

static int check_copies(const struct checker *c) {
    for (uint32_t i = 0; i < c->trace->count; i++) {
        const struct sy_span *s = &c->trace->spans[i];
        if (s->kind != SY_SPAN_TRANSFER) {
            continue;
        }
        uint32_t producer = last_writer(c, s->subject, s->start_ns);
        if (!holds(c, s->subject, producer, s->from, s->start_ns)) {
            return sy_fail(c->error, -EINVAL, "datum %u was copied from %s, which did not have it",
                           s->subject, c->m->memories[s->from].name);
        }
        double least = sy_cost_transfer_ns(c->m, s->from, s->place, c->w->data_bytes[s->subject]);
        double rounding = 2 * DBL_EPSILON * s->end_ns; /* times that are large are coarse */
        if (earlier((s->end_ns - s->start_ns) * (1 + 1e-9) + 1e-3 + rounding, least)) {
            return sy_fail(c->error, -EINVAL,
                           "datum %u went from %s to %s in %.0f ns, faster than the route's %.0f",
                           s->subject, c->m->memories[s->from].name, c->m->memories[s->place].name,
                           s->end_ns - s->start_ns, least);
        }
    }
    return 0;
}

/* The image in a region when a task starts is the last one loaded there. */
static int check_images(const struct checker *c) {
    for (uint32_t t = 0; t < c->w->task_count; t++) {
        const struct sy_span *run = span_of(c, t);
        if (c->m->devices[run->place].board == SY_NONE) {
            continue;
        }
        uint32_t image = SY_NONE;
        double loaded = -INFINITY;
        for (uint32_t i = 0; i < c->trace->count; i++) {
            const struct sy_span *s = &c->trace->spans[i];
            bool loss = s->kind == SY_SPAN_LOST; /* a region that was lost comes back empty */
            if ((loss || s->kind == SY_SPAN_RECONFIGURE) && s->place == run->place &&
                !earlier(start_of(c, t), s->end_ns) && s->end_ns >= loaded) {
                loaded = s->end_ns;
                image = loss ? SY_NONE : s->subject;
            }
        }
        if (image != c->w->task_kernel[t]) {
            return wrong(c, t, "ran in a region that held another image");
        }
    }
    return 0;
}

static int check_all(struct checker *c) {
    int code = check_spans(c);
    code = code ? code : check_parts(c);
    code = code ? code : check_precedence(c);
    code = code ? code : check_exclusive(c, false);
    code = code || !c->m->board_count ? code : check_exclusive(c, true);
    if (!code) {
        list_by_datum(c);
    }
    code = code ? code : check_inputs(c);
    code = code ? code : check_copies(c);
    return code || !c->m->board_count ? code : check_images(c);
}

int sy_sim_check(const struct sy_workload *workload, const struct sy_trace *trace,
                 struct sy_error *error) {
    struct checker c = {.w = workload, .m = workload->machine, .trace = trace, .error = error};
    struct sy_arena *arena = sy_arena_create();
    size_t data = workload->data_count + 2u;
    if (arena) {
        c.run = sy_arena_alloc(arena, workload->task_count + 1u, sizeof *c.run);
        c.first_ns = sy_arena_alloc(arena, workload->task_count + 1u, sizeof *c.first_ns);
        c.aborted_ns = sy_arena_alloc(arena, workload->task_count + 1u, sizeof *c.aborted_ns);
        c.copy_start = sy_arena_alloc(arena, data, sizeof *c.copy_start);
        c.copies = sy_arena_alloc(arena, trace->count + 1u, sizeof *c.copies);
        c.writer_start = sy_arena_alloc(arena, data, sizeof *c.writer_start);
        c.writers = sy_arena_alloc(arena, workload->access_count + 1u, sizeof *c.writers);
    }
    int code = -ENOMEM;
    if (arena && c.run && c.first_ns && c.aborted_ns && c.copy_start && c.copies &&
        c.writer_start && c.writers) {
        for (uint32_t t = 0; t < workload->task_count; t++) {
            c.run[t] = SY_NONE;
        }
        code = trace->failed ? sy_fail(error, -ENOMEM, "the trace is incomplete") : check_all(&c);
    }
    sy_arena_destroy(arena);
    return code;
}
