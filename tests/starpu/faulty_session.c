/* SPDX-License-Identifier: Apache-2.0
 *
 * The session of the test plug-in faulty: chains of tasks submitted one by one, of which one may be
 * a kernel that fails, and ways to use a session wrongly.
 *
 * misuse: 1 an unknown kernel, 2 no such datum, 3 a job that has ended, 4 too many arguments, 5 a
 * datum twice, 6 a mode that the kernel cannot do with, 7 an error without a message, 8 a kernel
 * that no device has, 9 no weight, 10 a wrong result, 11 nothing submitted, 12 a driver that writes
 * past memory which it keeps, 13 work that is less than nothing.
 */
#include "faulty.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WINDOW 4 /* tasks under way per chain */

struct run {
    struct sy_session *session;
    const struct state *state;
    struct sy_error *error;
    uint32_t job;
    _Atomic uint32_t called; /* by kernels, which get its address */
};

struct chain {
    uint32_t datum, *values;
    unsigned number, submitted;
};

static int submit(struct run *run, struct chain *chain, bool last) {
    const struct state *state = run->state;
    const struct sy_access access = {chain->datum, SY_READ_WRITE | (last ? SY_FETCH_BACK : 0u)};
    bool other = chain->number == 0 && chain->submitted == state->at;
    char name[NAME_MAX_LEN];
    snprintf(name, sizeof name, "step%u", chain->submitted);
    const struct sy_session_task task = {.kernel = other ? state->kernel : "ok",
                                         .name = name,
                                         .work = 1,
                                         .accesses = &access,
                                         .access_count = 1,
                                         .job = run->job,
                                         .priority = (int32_t)chain->number,
                                         .tag = last ? chain : NULL,
                                         .user = &run->called};
    chain->submitted++;
    return run->session->ops->submit(run->session, &task);
}

/* Some tasks are reported, and some only follow. */
static int submit_some(struct run *run, struct chain *chain) {
    int code = 0;
    for (unsigned i = 0; i < WINDOW && chain->submitted < run->state->tasks && !code; i++) {
        code = submit(run, chain, i + 1 == WINDOW || chain->submitted + 1 == run->state->tasks);
    }
    return code;
}

static int misuse(struct run *run, uint32_t datum) {
    struct sy_session *session = run->session;
    struct sy_access accesses[SY_ARGUMENT_MAX + 1] = {{datum, SY_READ_WRITE}};
    struct sy_session_task task = {
        .kernel = "ok", .accesses = accesses, .access_count = 1, .job = run->job};
    switch (run->state->wrong) {
    case 1:
        task.kernel = "okay";
        break;
    case 2:
        accesses[0].datum = 77;
        break;
    case 3:
        session->ops->end_job(session, run->job);
        break;
    case 4:
        task.access_count = SY_ARGUMENT_MAX + 1;
        break;
    case 5:
        task.kernel = "sum";
        accesses[1] = accesses[0];
        task.access_count = 2;
        break;
    case 6:
        accesses[0].mode = SY_READ;
        break;
    case 7:
        return -EBUSY;
    case 8:
        task.kernel = "gpu_only";
        break;
    case 13:
        task.work = -1;
        break;
    case 9:
        return session->ops->begin_job(session, "weightless", "", 0, &run->job);
    default:
        return 0;
    }
    return session->ops->submit(session, &task);
}

static int check(struct run *run, const struct chain *chain) {
    uint32_t want = run->state->tasks + (run->state->wrong == 10);
    for (unsigned i = 0; i < ELEMENTS; i++) {
        if (chain->values[i] != want) {
            snprintf(run->error->message, sizeof run->error->message,
                     "chain %u is wrong: %u, not %u", chain->number, chain->values[i], want);
            return -EDOM;
        }
    }
    return 0;
}

static int begin_chain(struct run *run, struct chain *chain, unsigned number) {
    struct sy_session *session = run->session;
    uint64_t bytes = ELEMENTS * sizeof(uint32_t);
    char name[NAME_MAX_LEN];
    snprintf(name, sizeof name, "v%u", number);
    *chain = (struct chain){.number = number, .values = session->ops->allocate(session, bytes)};
    if (!chain->values) {
        return -ENOMEM;
    }
    memset(chain->values, 0, bytes);
    int code = session->ops->add_data(session, name, chain->values, bytes, &chain->datum);
    code = code ? code : misuse(run, chain->datum);
    return code ? code : submit_some(run, chain);
}

static int end_chain(struct run *run, struct chain *chain) {
    struct sy_session *session = run->session;
    int code = check(run, chain);
    if (run->state->wrong == 12) {
        memset(chain->values + ELEMENTS, 0, sizeof *chain->values);
        return code;
    }
    session->ops->drop_data(session, chain->datum);
    session->ops->release(session, chain->values, ELEMENTS * sizeof(uint32_t));
    return code;
}

int drive_session(const char *arguments, struct sy_session *session, struct sy_error *error) {
    struct state state = {.kernel = "ok", .chains = 3, .tasks = 10, .at = 3};
    struct run run = {.session = session, .state = &state, .error = error};
    struct chain chains[CHAIN_MAX];
    int code = read_arguments(arguments, &state);
    if (code || state.chains > CHAIN_MAX || state.wrong == 11) {
        return code;
    }
    hang_at(&state, "drive");
    code = session->ops->begin_job(session, "chains", "", 1, &run.job);
    for (unsigned c = 0; c < state.chains && !code; c++) {
        code = begin_chain(&run, &chains[c], c);
    }
    for (void *tag = NULL; !code && !(code = session->ops->wait(session, &tag)) && tag;) {
        struct chain *chain = tag;
        code = chain->submitted < state.tasks ? submit_some(&run, chain) : end_chain(&run, chain);
    }
    char text[NAME_MAX_LEN];
    snprintf(text, sizeof text, "%u", session->ops->device_count(session, "ok", SY_FLAVOUR_C));
    session->ops->note(session, "cores", text);
    snprintf(text, sizeof text, "%u", (unsigned)run.called);
    session->ops->note(session, "called", text);
    return code;
}
