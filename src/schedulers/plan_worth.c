/* SPDX-License-Identifier: Apache-2.0
 *
 * What a plan could gain where one device could do the whole job.
 *
 * In: struct sy_view and a job. Out: an upper bound of what placing some of its tasks elsewhere
 * saves, against that device doing all of them one after the other, and copying the job's inputs
 * beside none of them. As in the area bound, others may take parts of tasks; but a task that is
 * moved must fit between the tasks before and behind it, and those of one long path share what time
 * that path has to spare.
 */
#include "schedulers/plan_portfolio.h"
#include <string.h>

struct alone {
    const struct sy_view *view;
    const struct sy_view_job *job;
    uint32_t class_index;   /* of the device that could do all, */
    uint32_t memory;        /* and its memory */
    double all_ns;          /* how long it would take, copies included */
    uint32_t *first_reader; /* per datum: the task that pays for its copy, + 1 */
    double *head_ns;        /* per task: before it can begin, if that device does all; NAN: it is on
                               the path that was chosen, one of the longest */
    double *tail_ns;        /* per task: from its begin to the end of the job, likewise */
};

/* What can be moved: the time it takes here, and the most of it per unit of what moving costs. */
struct movable {
    double here_ns, most_ratio;
};

static double time_on(const struct alone *a, uint32_t task, uint32_t class_index) {
    return a->view->time_ns[(size_t)task * a->view->machine->class_count + class_index];
}

/* The class with a single device, that is there, which does all soonest; false: there is none. */
static bool find_alone(struct alone *a) {
    const struct sy_machine *m = a->view->machine;
    uint32_t end = a->job->first_task + a->job->task_count;
    a->all_ns = INFINITY;
    for (uint32_t d = 0; d < m->device_count; d++) {
        uint32_t c = m->devices[d].class_index;
        double sum = 0;
        bool loads_images = m->devices[d].board != SY_NONE; /* the order of tasks costs time, too */
        if (m->classes[c].device_count > 1 || a->view->devices[d].lost || loads_images) {
            continue;
        }
        for (uint32_t t = a->job->first_task; t < end; t++) {
            sum += time_on(a, t, c);
        }
        if (sum < a->all_ns) {
            a->all_ns = sum;
            a->class_index = c;
            a->memory = m->devices[d].memory;
        }
    }
    return isfinite(a->all_ns);
}

/* How long the inputs travel that it is the first to read. */
static double copies_ns(const struct alone *a, uint32_t task) {
    double sum = 0;
    for (uint32_t i = a->view->access_start[task]; i < a->view->access_start[task + 1]; i++) {
        if (a->first_reader[a->view->access[i].datum] == task + 1) {
            sum += sy_estimate_unsent_input_ns(a->view, i, a->memory);
        }
    }
    return sum;
}

/* False: there are more data than there is room for. */
static bool find_copies(struct alone *a, uint32_t capacity) {
    uint32_t first = a->job->first_task, end = first + a->job->task_count;
    for (uint32_t i = a->view->access_start[first]; i < a->view->access_start[end]; i++) {
        if (a->view->access[i].datum >= capacity) {
            return false;
        }
        a->first_reader[a->view->access[i].datum] = 0;
    }
    for (uint32_t t = first; t < end; t++) {
        for (uint32_t i = a->view->access_start[t]; i < a->view->access_start[t + 1]; i++) {
            uint32_t *reader = &a->first_reader[a->view->access[i].datum];
            bool reads = a->view->access[i].mode & SY_READ;
            *reader = *reader == 0 && reads ? t + 1 : *reader;
        }
        a->all_ns += copies_ns(a, t);
    }
    return true;
}

/* Longest paths; returns the longest of all. */
static double find_paths(struct alone *a) {
    const struct sy_view *v = a->view;
    uint32_t first = a->job->first_task, count = a->job->task_count;
    double longest = 0;
    for (uint32_t i = first; i < first + count; i++) {
        uint32_t t = v->order[i];
        a->head_ns[t] = 0;
        for (uint32_t e = v->pred_start[t]; e < v->pred_start[t + 1]; e++) {
            uint32_t before = v->pred[e];
            a->head_ns[t] =
                fmax(a->head_ns[t], a->head_ns[before] + time_on(a, before, a->class_index));
        }
    }
    for (uint32_t i = first + count; i-- > first;) {
        uint32_t t = v->order[i];
        a->tail_ns[t] = 0;
        for (uint32_t e = v->succ_start[t]; e < v->succ_start[t + 1]; e++) {
            a->tail_ns[t] = fmax(a->tail_ns[t], a->tail_ns[v->succ[e]]);
        }
        a->tail_ns[t] += time_on(a, t, a->class_index);
        longest = fmax(longest, a->tail_ns[t]);
    }
    return longest;
}

/* Follows one of the longest paths. */
static void mark_path(const struct alone *a) {
    const struct sy_view *v = a->view;
    uint32_t first = a->job->first_task, at = first;
    for (uint32_t t = first; t < first + a->job->task_count; t++) {
        at = a->tail_ns[t] > a->tail_ns[at] ? t : at;
    }
    while (at != SY_NONE) {
        uint32_t next = SY_NONE;
        for (uint32_t e = v->succ_start[at]; e < v->succ_start[at + 1]; e++) {
            uint32_t t = v->succ[e];
            next = next == SY_NONE || a->tail_ns[t] > a->tail_ns[next] ? t : next;
        }
        a->head_ns[at] = NAN;
        at = next;
    }
}

static void move(struct movable *m, double here_ns, double cost_ns) {
    m->here_ns += here_ns;
    m->most_ratio = fmax(m->most_ratio, here_ns / fmax(cost_ns, 1));
}

static double saved_ns(const struct movable *m, double room_ns) {
    return fmin(m->here_ns, m->most_ratio * room_ns);
}

/* What a class could take over, of tasks on that path and of the others. */
static double class_saves_ns(const struct alone *a, uint32_t c, double longest_ns) {
    struct movable on_path = {0}, beside = {0};
    double spare_ns = a->all_ns - longest_ns;
    for (uint32_t t = a->job->first_task; t < a->job->first_task + a->job->task_count; t++) {
        double here_ns = time_on(a, t, a->class_index), there_ns = time_on(a, t, c);
        bool chosen = isnan(a->head_ns[t]);
        double path_ns = chosen ? longest_ns : a->head_ns[t] + a->tail_ns[t];
        double more_ns = there_ns - here_ns;
        here_ns += copies_ns(a, t);
        if (path_ns + more_ns > a->all_ns) {
            continue;
        }
        if (chosen) {
            spare_ns += fmax(0, -more_ns);
            move(&on_path, here_ns, more_ns);
        } else {
            move(&beside, here_ns, there_ns);
        }
    }
    return saved_ns(&on_path, spare_ns) +
           saved_ns(&beside, a->view->machine->classes[c].device_count * a->all_ns);
}

double sy_plan_gain_ns(const struct sy_view *view, uint32_t job, struct plan_room room,
                       double *ret_alone_ns) {
    struct alone a = {.view = view,
                      .job = &view->jobs[job],
                      .first_reader = room.first_reader,
                      .head_ns = room.head_ns,
                      .tail_ns = room.tail_ns};
    double gain_ns = 0;
    *ret_alone_ns = INFINITY;
    if (!find_alone(&a) || !find_copies(&a, room.data_capacity)) {
        return INFINITY;
    }
    *ret_alone_ns = a.all_ns;
    double longest_ns = find_paths(&a);
    mark_path(&a);
    for (uint32_t c = 0; c < view->machine->class_count; c++) {
        gain_ns += c == a.class_index ? 0 : class_saves_ns(&a, c, longest_ns);
    }
    return gain_ns;
}
