/* SPDX-License-Identifier: Apache-2.0
 *
 * The workload stream: items that flow through three stages, of several jobs and tenants.
 *
 * A session (symph/session.h), since no graph is known in advance: how large the second stage of an
 * item is depends on what its first stage computed. Each item is checked exactly when it leaves.
 */
#include "synthetic.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <symph/session.h>

enum { ITEMS, JOBS, WINDOW, BYTES, FLOPS, SEED, OPTIONS };

#define PASSES_MAX 4

struct item {
    uint32_t number;
    bool second;      /* stages two and three are under way */
    uint32_t data[2]; /* first: of stage one; second: of the others */
    double *memory[2];
    size_t elements[2];
    uint32_t passes;
};

struct flow {
    struct sy_session *session;
    const struct guest_option *options;
    uint32_t *jobs;
    struct item *items; /* as many as flow at once */
    uint32_t begun, ended;
    struct sy_error *error;
};

static double noise(const struct flow *flow, uint32_t item, uint32_t what) {
    return guest_noise((uint64_t)flow->options[SEED].value, (uint64_t)item * 8 + what);
}

/* Memory, filled with what is known, as datum. */
static int add_data(struct flow *flow, struct item *item, uint32_t which, size_t elements) {
    struct sy_session *session = flow->session;
    uint64_t bytes = elements * sizeof(double);
    char name[32];
    double *memory = session->ops->allocate(session, bytes);
    if (!memory) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < elements; i++) {
        memory[i] = (double)((item->number + i) % 97);
    }
    item->memory[which] = memory;
    item->elements[which] = elements;
    snprintf(name, sizeof name, "%c%u", "ab"[which], item -> number);
    return session->ops->add_data(session, name, memory, bytes, &item->data[which]);
}

static void drop_data(struct flow *flow, struct item *item, uint32_t which) {
    struct sy_session *session = flow->session;
    session->ops->drop_data(session, item->data[which]);
    session->ops->release(session, item->memory[which], item->elements[which] * sizeof(double));
}

static int submit(struct flow *flow, struct item *item, const char *stage, const char *kernel,
                  double work, const struct sy_access *accesses, uint32_t count) {
    char name[48];
    snprintf(name, sizeof name, "%s %u", stage, item->number);
    const struct sy_session_task task = {
        .kernel = kernel,
        .name = name,
        .work = work,
        .accesses = accesses,
        .access_count = count,
        .job = flow->jobs[item->number % (uint32_t)flow->options[JOBS].value],
        .priority = 0,
        .tag = strcmp(stage, "two") == 0 ? NULL : item, /* three follows it in any case */
    };
    return flow->session->ops->submit(flow->session, &task);
}

/* --- stages -------------------------------------------------------------------------------------
 */
static int begin_item(struct flow *flow, struct item *item) {
    *item = (struct item){.number = flow->begun++};
    double most = flow->options[BYTES].value / sizeof(double);
    int code = add_data(flow, item, 0, 1 + (size_t)(most * noise(flow, item->number, 0)));
    const struct sy_access access = {item->data[0], SY_READ_WRITE | SY_FETCH_BACK};
    return code ? code
                : submit(flow, item, "one", "spin",
                         flow->options[FLOPS].value * (.1 + noise(flow, item->number, 1)), &access,
                         1);
}

/* What stage one left says how large stage two is; three follows it by its data alone. */
static int go_on(struct flow *flow, struct item *item) {
    double found = item->memory[0][0], want = (double)(item->number % 97) + 1;
    if (found != want) {
        return guest_fail(flow->error, -EDOM, NULL,
                          "stream: item %u is wrong after stage one: %g, not %g", item->number,
                          found, want);
    }
    item->second = true;
    item->passes = 1 + (uint32_t)(PASSES_MAX * noise(flow, item->number, 2));
    int code = add_data(flow, item, 1, 1 + (size_t)found * item->elements[0] / 97);
    const struct sy_access both[] = {{item->data[0], SY_READ}, {item->data[1], SY_READ_WRITE}};
    const struct sy_access last = {item->data[1], SY_READ_WRITE | SY_FETCH_BACK};
    code = code ? code : submit(flow, item, "two", "stream", item->passes, both, 2);
    return code ? code
                : submit(flow, item, "three", "spin", flow->options[FLOPS].value * .1, &last, 1);
}

static int end_item(struct flow *flow, struct item *item) {
    for (size_t i = 0; i < item->elements[1]; i++) {
        double want = (double)((item->number + i) % 97) + item->passes + (i == 0);
        if (item->memory[1][i] != want) {
            return guest_fail(flow->error, -EDOM, NULL,
                              "stream: item %u is wrong at %zu: %g, not %g", item->number, i,
                              item->memory[1][i], want);
        }
    }
    drop_data(flow, item, 0);
    drop_data(flow, item, 1);
    flow->ended++;
    flow->session->ops->progress(flow->session, flow->ended, flow->options[ITEMS].value, "items");
    return 0;
}

/* --- the whole ----------------------------------------------------------------------------------
 */
static int run(struct flow *flow) {
    struct sy_session *session = flow->session;
    uint32_t items = (uint32_t)flow->options[ITEMS].value;
    uint32_t window = (uint32_t)flow->options[WINDOW].value;
    int code = 0;
    for (uint32_t i = 0; i < items && i < window && !code; i++) {
        code = begin_item(flow, &flow->items[i]);
    }
    while (!code) {
        void *tag = NULL;
        code = session->ops->wait(session, &tag);
        if (code || !tag) {
            break;
        }
        struct item *item = tag;
        bool leaves = item->second;
        code = leaves ? end_item(flow, item) : go_on(flow, item);
        if (!code && leaves && flow->begun < items) {
            code = begin_item(flow, item);
        }
    }
    if (!code && flow->ended != items) {
        code = guest_fail(flow->error, -EDOM, NULL, "stream: %u of %u items have left", flow->ended,
                          items);
    }
    return code;
}

static int begin_jobs(struct flow *flow) {
    int code = 0;
    for (uint32_t j = 0; j < (uint32_t)flow->options[JOBS].value && !code; j++) {
        char name[32], tenant[32];
        snprintf(name, sizeof name, "job %u", j);
        snprintf(tenant, sizeof tenant, "tenant %u", j);
        code = flow->session->ops->begin_job(flow->session, name, tenant, 1 + j, &flow->jobs[j]);
    }
    return code;
}

int synthetic_drive(const char *arguments, struct sy_session *session, struct sy_error *error) {
    struct guest_option options[OPTIONS] = {
        [ITEMS] = {"items", 200, 1, 10e6, true, NULL, false, ""},
        [JOBS] = {"jobs", 3, 1, 1000, true, NULL, false, ""},
        [WINDOW] = {"window", 32, 1, 1e5, true, NULL, false, ""},
        [BYTES] = {"bytes", 1 << 16, 8, 1e10, true, NULL, false, ""},
        [FLOPS] = {"flops", 1e5, 0, 1e13, false, NULL, false, ""},
        [SEED] = {"seed", 1, 0, 1e15, true, NULL, false, ""}};
    int code = guest_parse("stream", arguments, options, OPTIONS, error);
    if (code) {
        return code;
    }
    struct flow flow = {.session = session, .options = options, .error = error};
    flow.jobs = calloc((size_t)options[JOBS].value, sizeof *flow.jobs);
    flow.items = calloc((size_t)options[WINDOW].value, sizeof *flow.items);
    code = flow.jobs && flow.items ? begin_jobs(&flow) : -ENOMEM;
    code = code ? code : run(&flow);
    for (uint32_t j = 0; j < (uint32_t)options[JOBS].value && !code; j++) {
        session->ops->end_job(session, flow.jobs[j]);
    }
    if (!code) {
        char text[32];
        snprintf(text, sizeof text, "%u", flow.ended);
        session->ops->note(session, "items", text);
        session->ops->note(session, "checked", "each one, exactly");
    }
    free(flow.jobs);
    free(flow.items);
    return code;
}
