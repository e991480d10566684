/* SPDX-License-Identifier: Apache-2.0
 *
 * limits: whether the StarPU that runs is built like the one whose headers we were compiled with.
 *
 * In: the loaded StarPU, before it is initialised. Out: what differs, in words. Its limits are in
 * the middle of the structures that a policy reads, and no function tells them. But StarPU clears a
 * structure whole before it fills it in: how far it wrote is how large the structure is there, and
 * the context of a new task is the number of contexts. STARPU_MAXNODES, _MAXCPUS and the numbers of
 * devices are in no structure that both sides use, and may differ.
 */
#include "engine/starpu/hooks.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* More than any of these structures has with a thousand workers or buffers. Little of it is ever
 * touched: this is done at every start of every program. */
#define ROOM_BYTES ((size_t)1 << 20)
#define EDGE_BYTES 64
#define UNTOUCHED  0xa5

static void clear_task(void *task) {
    starpu_task_init(task);
}

static void clear_codelet(void *codelet) {
    starpu_codelet_init(codelet);
}

static void clear_conf(void *conf) {
    starpu_conf_init(conf);
}

/* Whether it clears exactly this number of bytes: a larger structure reaches beyond. */
static bool clears(void (*clear)(void *), unsigned char *room, size_t bytes) {
    memset(room, UNTOUCHED, bytes + EDGE_BYTES);
    clear(room);
    return room[bytes - 1] != UNTOUCHED && room[bytes] == UNTOUCHED;
}

/* The first limit that differs; NULL: none. A codelet has all three of them, so the one that is in
 * no other structure comes last. */
static const char *other_limit(unsigned char *room) {
    if (!clears(clear_task, room, sizeof(struct starpu_task))) {
        return "STARPU_NMAXBUFS";
    }
    unsigned contexts = ((struct starpu_task *)(void *)room)->sched_ctx;
    if (contexts != STARPU_NMAX_SCHED_CTXS) {
        return "STARPU_NMAX_SCHED_CTXS";
    }
    if (!clears(clear_conf, room, sizeof(struct starpu_conf))) {
        return "STARPU_NMAXWORKERS";
    }
    if (!clears(clear_codelet, room, sizeof(struct starpu_codelet))) {
        return "STARPU_MAXIMPLEMENTATIONS";
    }
    return NULL;
}

/* On SimGrid, StarPU's locks are simulated ones, which it defines itself. */
static bool is_simulated(void) {
    return dlsym(RTLD_DEFAULT, "starpu_pthread_mutex_lock") != NULL;
}

const char *sy_starpu_misfit(char *text, size_t size) {
    int major = 0, minor = 0, release = 0;
    starpu_get_version(&major, &minor, &release);
    if (major != STARPU_MAJOR_VERSION || minor != STARPU_MINOR_VERSION) {
        snprintf(text, size, "this plug-in is for StarPU %d.%d, and the program uses %d.%d",
                 STARPU_MAJOR_VERSION, STARPU_MINOR_VERSION, major, minor);
        return text;
    }
#ifdef STARPU_SIMGRID
    const bool simulated = true;
#else
    const bool simulated = false;
#endif
    if (is_simulated() != simulated) {
        snprintf(text, size, "this plug-in is for a StarPU %s SimGrid, and the program uses one %s",
                 simulated ? "with" : "without", simulated ? "without" : "with");
        return text;
    }
    unsigned char *room = malloc(ROOM_BYTES);
    const char *limit = room ? other_limit(room) : NULL;
    free(room);
    if (limit) {
        snprintf(text, size,
                 "this plug-in is for a StarPU with other limits than the program's (%s)", limit);
    }
    return limit ? text : NULL;
}
