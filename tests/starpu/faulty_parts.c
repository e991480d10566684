/* SPDX-License-Identifier: Apache-2.0
 *
 * The second session of the test plug-in faulty: each chain takes turns between a call in parts
 * (rows, from one datum to another), "ok" on a place or where the policy likes, and the next call
 * in parts back again; every element must have been counted once per task. Then parts that wait
 * for each other.
 *
 * wrong: 1 no such device, 2 a variant that is missing, 3 parts on one core, 4 too many parameters,
 * 5 parts that are no cores.
 */
#include "faulty.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define BYTES (ELEMENTS * sizeof(uint32_t))

struct run {
    struct sy_session *session;
    struct state state;
    uint32_t job, cores, devices;
};

struct lane {
    uint32_t data[2], *values[2];
    uint32_t at; /* which of the two is newest */
    unsigned done;
};

static int submit_rows(struct run *run, struct lane *lane, bool last) {
    const struct sy_access accesses[] = {
        {lane->data[lane->at], SY_READ},
        {lane->data[1 - lane->at], SY_WRITE | (last ? SY_FETCH_BACK : 0u)}};
    const double parameters[] = {1, ELEMENTS};
    struct sy_session_place places[CHAIN_MAX];
    for (uint32_t p = 0; p < run->cores; p++) {
        places[p] = (struct sy_session_place){SY_FLAVOUR_C, p};
    }
    const struct sy_session_task task = {.kernel = "rows",
                                         .name = "rows",
                                         .work = 1,
                                         .accesses = accesses,
                                         .access_count = 2,
                                         .job = run->job,
                                         .tag = last ? lane : NULL,
                                         .parameters = parameters,
                                         .parameter_count = 2,
                                         .places = places,
                                         .place_count = run->cores};
    lane->at = 1 - lane->at;
    return run->session->ops->submit(run->session, &task);
}

/* On the first OpenCL device, if there is one, on the last core, or anywhere. */
static int submit_ok(struct run *run, struct lane *lane, unsigned turn) {
    const struct sy_access access = {lane->data[lane->at], SY_READ_WRITE};
    struct sy_session_place place = {SY_FLAVOUR_C, run->cores - 1};
    if (run->devices && turn % 4 == 1) {
        place = (struct sy_session_place){SY_FLAVOUR_OPENCL, 0};
    }
    const struct sy_session_task task = {.kernel = "ok",
                                         .work = 1,
                                         .accesses = &access,
                                         .access_count = 1,
                                         .job = run->job,
                                         .places = &place,
                                         .place_count = turn % 3 != 2};
    return run->session->ops->submit(run->session, &task);
}

static int begin(struct run *run, struct lane *lane) {
    struct sy_session *session = run->session;
    int code = 0;
    for (int i = 0; i < 2 && !code; i++) {
        lane->values[i] = session->ops->allocate(session, BYTES);
        if (!lane->values[i]) {
            return -ENOMEM;
        }
        memset(lane->values[i], i ? 0xff : 0, BYTES);
        code = session->ops->add_data(session, "lane", lane->values[i], BYTES, &lane->data[i]);
    }
    for (unsigned t = 0; t < run->state.tasks && !code; t++) {
        bool last = t + 1 == run->state.tasks;
        code = t % 2 == 0 || last ? submit_rows(run, lane, last) : submit_ok(run, lane, t);
    }
    return code;
}

static int check(struct run *run, const struct lane *lane, struct sy_error *error) {
    struct sy_session_ended ended;
    run->session->ops->ended(run->session, &ended);
    double now_ns = run->session->ops->now_ns(run->session);
    if (!(ended.start_ns >= 0) || !(ended.end_ns >= ended.start_ns) ||
        !(ended.duration_ns > 0 && ended.duration_ns <= ended.end_ns - ended.start_ns) ||
        !(now_ns >= ended.end_ns) || ended.place.flavour != SY_FLAVOUR_C || ended.place.number) {
        snprintf(error->message, sizeof error->message, "times %g to %g, %g, now %g, on %u.%u",
                 ended.start_ns, ended.end_ns, ended.duration_ns, now_ns, ended.place.flavour,
                 ended.place.number);
        return -EDOM;
    }
    for (unsigned i = 0; i < ELEMENTS; i++) {
        if (lane->values[lane->at][i] != run->state.tasks) {
            snprintf(error->message, sizeof error->message, "element %u is %u, not %u", i,
                     lane->values[lane->at][i], run->state.tasks);
            return -EDOM;
        }
    }
    return 0;
}

/* Hangs, and is ended by the limit, unless all parts of a call run at once. */
static int meet(struct run *run, struct sy_error *error) {
    struct sy_session *session = run->session;
    struct sy_session_place places[CHAIN_MAX];
    uint32_t *values = session->ops->allocate(session, BYTES), datum;
    if (!values) {
        return -ENOMEM;
    }
    for (uint32_t p = 0; p < run->cores; p++) {
        places[p] = (struct sy_session_place){SY_FLAVOUR_C, p};
    }
    int code = session->ops->add_data(session, "meeting", values, BYTES, &datum);
    const struct sy_access access = {datum, SY_WRITE | SY_FETCH_BACK};
    for (int i = 0; i < 3 && !code; i++) {
        const struct sy_session_task task = {.kernel = "meet",
                                             .accesses = &access,
                                             .access_count = 1,
                                             .job = run->job,
                                             .tag = run,
                                             .places = places,
                                             .place_count = run->cores};
        code = session->ops->submit(session, &task);
    }
    for (void *tag = run; tag && !code;) {
        code = session->ops->wait(session, &tag);
    }
    for (uint32_t p = 0; p < run->cores && !code; p++) {
        if (values[p] != 3) {
            snprintf(error->message, sizeof error->message, "part %u met %u times", p, values[p]);
            code = -EDOM;
        }
    }
    return code;
}

static int misuse(struct run *run, const struct lane *lane) {
    const struct sy_access access = {lane->data[0], SY_READ_WRITE};
    struct sy_session_place places[] = {{SY_FLAVOUR_C, 0}, {SY_FLAVOUR_C, 0}};
    struct sy_session_task task = {.kernel = "ok",
                                   .accesses = &access,
                                   .access_count = 1,
                                   .job = run->job,
                                   .places = places,
                                   .place_count = 1};
    switch (run->state.wrong) {
    case 1:
        places[0].number = 4000;
        break;
    case 2:
        places[0].flavour = SY_FLAVOUR_OPENCL;
        task.kernel = "fail";
        break;
    case 3:
        task.place_count = 2;
        break;
    case 4:
        task.parameter_count = SY_CALL_PARAMETER_MAX + 1;
        break;
    default:
        places[1].flavour = SY_FLAVOUR_OPENCL;
        task.place_count = 2;
        break;
    }
    return run->session->ops->submit(run->session, &task);
}

int drive_parts(const char *arguments, struct sy_session *session, struct sy_error *error) {
    struct run run = {.session = session, .state = {.chains = 4, .tasks = 21}};
    struct lane lanes[CHAIN_MAX] = {0};
    int code = read_arguments(arguments, &run.state);
    if (code || run.state.chains > CHAIN_MAX) {
        return code ? code : -EINVAL;
    }
    run.cores = session->ops->device_count(session, "rows", SY_FLAVOUR_C);
    run.devices = session->ops->device_count(session, "ok", SY_FLAVOUR_OPENCL);
    code = session->ops->begin_job(session, "parts", "", 1, &run.job);
    for (unsigned c = 0; c < run.state.chains && !code; c++) {
        code = begin(&run, &lanes[c]);
    }
    if (!code && run.state.wrong) {
        return misuse(&run, &lanes[0]);
    }
    for (void *tag = NULL; !code && !(code = session->ops->wait(session, &tag)) && tag;) {
        code = check(&run, tag, error);
    }
    return code ? code : meet(&run, error);
}
