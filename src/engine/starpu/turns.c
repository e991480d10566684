/* SPDX-License-Identifier: Apache-2.0
 *
 * A worker's turn on a device that other programs use, too.
 *
 * The device first, the task second: a worker that may not begin holds no task, or that task would
 * wait for its turn while other workers idle. So a core that others have is lost to the policy
 * until it comes back. An accelerator is not: others have it for milliseconds, and what waits for
 * it waits no longer than behind a task of our own.
 *
 * A worker whose core others have sleeps: one that polls would take time from whoever has it. It
 * wants the core back while tasks wait that are in no box.
 */
#include "engine/starpu/turns.h"
#include "broker/broker.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DRY_NS   1e6       /* a core that found nothing for so long goes to who waits for it */
#define SLEEP_NS 50000000u /* then it is looked whether StarPU wants to end */
#define LONG_NS  1e6       /* tasks on an accelerator are waited for before it changes hands */
#define TENANT   "SYMPH_TENANT"

/* Of a worker; its own. */
struct turn {
    uint32_t seat;    /* among our devices at the broker; SY_NONE: it is always ours */
    double dry_ns;    /* since when it has found nothing to do; 0: it has */
    bool short_tasks; /* what it runs ends soon */
};

struct turns {
    struct sy_lease *lease;
    struct turn of[]; /* per worker */
};

#ifdef STARPU_SIMGRID
int turns_open(void) {
    return 0;
}
#else
static uint32_t core_of(uint32_t worker) {
    int bound = starpu_worker_get_bindid((int)worker);
    int core = bound < 0 ? -1 : starpu_get_pu_os_index((unsigned)bound);
    return core < 0 ? SY_NONE : (uint32_t)core;
}

/* What all programs call this device; empty: no name is sure to be the same for all. */
static void name_device(uint32_t worker, char *ret_name, size_t size) {
    char name[128] = "";
    ret_name[0] = '\0';
    switch (starpu_worker_get_type((int)worker)) {
    case STARPU_CPU_WORKER:
        if (core_of(worker) != SY_NONE) {
            snprintf(ret_name, size, SY_BROKER_CORE "%u", core_of(worker));
        }
        break;
    case STARPU_CUDA_WORKER: /* "CUDA 0.0 (NVIDIA H200 139.8 GiB 1b:00.0)" */
        starpu_worker_get_name((int)worker, name, sizeof name);
        const char *bus = strrchr(name, ' ');
        if (bus && strchr(bus, ':')) {
            snprintf(ret_name, size, "cuda:%.*s", (int)strcspn(bus + 1, ")"), bus + 1);
        }
        break;
    case STARPU_OPENCL_WORKER:
        snprintf(ret_name, size, "opencl:%d", starpu_worker_get_devid((int)worker));
        break;
    default:
        break;
    }
}

static int join(const char *path, struct turns *turns, char (*names)[SY_BROKER_NAME],
                uint32_t count) {
    struct shared *s = &sy_shared;
    struct sy_error error = {0};
    const char *tenant = getenv(TENANT);
    int code = sy_lease_open(path, tenant ? tenant : "", (const char(*)[SY_BROKER_NAME])names,
                             count, &turns->lease, &error);
    if (code) {
        char text[sizeof s->warning];
        sy_error_format(&error, text, sizeof text);
        snprintf(s->warning, sizeof s->warning, "the devices are not shared by turns: %.400s",
                 text);
    }
    return code;
}

int turns_open(void) {
    struct shared *s = &sy_shared;
    char path[256];
    uint32_t devices = s->machine->device_count, count = 0;
    if (!WORKERS_POLL || sy_lease_find(path, sizeof path, NULL)) {
        return 0;
    }
    struct turns *turns = calloc(1, sizeof *turns + devices * sizeof turns->of[0]);
    char(*names)[SY_BROKER_NAME] = calloc(devices + 1u, sizeof *names);
    if (!turns || !names) {
        free(turns);
        free(names);
        return -1;
    }
    for (uint32_t w = 0; w < devices; w++) {
        name_device(w, names[count], sizeof names[count]);
        turns->of[w].seat = names[count][0] && count < SY_SEATS_MAX ? count++ : SY_NONE;
    }
    if (join(path, turns, names, count)) {
        free(turns);
    } else {
        s->turns = turns;
    }
    free(names);
    return 0;
}
#endif

void turns_close(void) {
    if (sy_shared.turns) {
        sy_lease_close(sy_shared.turns->lease);
    }
    free(sy_shared.turns);
    sy_shared.turns = NULL;
}

/* --- a worker's --------------------------------------------------------------------------------
 */
static bool is_core(uint32_t worker) {
    return sy_shared.machine->devices[worker].kind == SY_CPU;
}

/* What runs there ends by itself, while others use the device already, if that is soon. */
static bool begin_accelerator(const struct context *context, const struct turn *turn,
                              uint32_t worker) {
    struct sy_lease *lease = sy_shared.turns->lease;
    bool runs = context->running[worker] != NULL;
    if (!runs) {
        sy_lease_pause(lease, turn->seat);
    }
    if (sy_lease_take(lease, turn->seat)) {
        return true;
    }
    if (turn->short_tasks) {
        sy_lease_pause(lease, turn->seat);
    }
    return false;
}

bool turns_begin(struct context *context, uint32_t worker, bool away, bool work) {
    const struct turn *turn = &sy_shared.turns->of[worker];
    struct sy_lease *lease = sy_shared.turns->lease;
    if (turn->seat == SY_NONE) {
        return true;
    }
    if (!is_core(worker)) {
        return begin_accelerator(context, turn, worker);
    }
    sy_lease_pause(lease, turn->seat);
    if (away && !work && sy_lease_is_wanted(lease, turn->seat)) {
        sy_lease_rest(lease, turn->seat);
        return false;
    }
    return sy_lease_take(lease, turn->seat);
}

bool turns_go_on(struct context *context, uint32_t worker, const struct node *node) {
    struct turn *turn = &sy_shared.turns->of[worker];
    struct sy_lease *lease = sy_shared.turns->lease;
    if (turn->seat == SY_NONE) {
        return true;
    }
    if (node || (!is_core(worker) && context->running[worker])) {
        turn->dry_ns = 0;
        turn->short_tasks = node ? node->expected_ns < LONG_NS : turn->short_tasks;
        return true;
    }
    sy_lease_pause(lease, turn->seat);
    if (!sy_lease_is_wanted(lease, turn->seat)) {
        turn->dry_ns = 0;
        return true;
    }
    double now_ns = shared_now_ns();
    turn->dry_ns = turn->dry_ns > 0 ? turn->dry_ns : now_ns;
    if (now_ns - turn->dry_ns < DRY_NS) {
        return true;
    }
    turn->dry_ns = 0;
    sy_lease_rest(lease, turn->seat);
    return !is_core(worker);
}

void turns_sleep(uint32_t worker) {
    const struct turn *turn = &sy_shared.turns->of[worker];
    if (!is_core(worker)) {
        sy_lease_wait(sy_shared.turns->lease, turn->seat, 0); /* is the broker still there? */
        return;
    }
    starpu_worker_relax_on();
    sy_lease_wait(sy_shared.turns->lease, turn->seat, SLEEP_NS);
    starpu_worker_relax_off();
}

void turns_ask(const struct context *context) {
    if (!atomic_load_explicit(&context->away_count, memory_order_relaxed)) {
        return;
    }
    for (uint32_t w = 0; w < sy_shared.machine->device_count; w++) {
        if (context->away[w]) {
            sy_lease_want(sy_shared.turns->lease, sy_shared.turns->of[w].seat);
        }
    }
}
