/* SPDX-License-Identifier: Apache-2.0
 *
 * A plug-in of kernels, and of a policy, that misbehaves while it is loaded: WILD says how (0: it
 * does not; 4: it crashes, and is no plug-in). The file that LOADED names is made when the object
 * is loaded at all. WILD_POLICY says how its policy crashes when it is asked.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <symph/kernel.h>
#include <symph/scheduler.h>
#include <unistd.h>

__attribute__((constructor)) static void loaded(void) {
    const char *path = getenv("LOADED");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : -1;
    if (fd >= 0) {
        close(fd);
    }
#if WILD == 1 || WILD == 4
    raise(SIGSEGV);
#elif WILD == 2
    exit(0);
#elif WILD == 3
    for (;;) {
        pause();
    }
#endif
}

#if WILD < 4
static int nothing(const struct sy_call *call) {
    (void)call;
    return 0;
}

static const struct sy_kernel_entry kernels[] = {{.name = "nothing", .functions = {nothing}}};
static const struct sy_kernel_table table = {
    .name = "wild", .version = "1", .summary = "", .kernels = kernels, .kernel_count = 1};
SY_KERNEL_PLUGIN(table);

static int init(struct sy_scheduler *scheduler, const struct sy_view *view, const char *args) {
    (void)scheduler, (void)view, (void)args;
    return 0;
}

static int dig(volatile const char *above) {
    volatile char here[1024] = {*above};
    return *above ? dig(here) + here[1] : 0;
}

static uint32_t decide(struct sy_scheduler *scheduler, const struct sy_view *view,
                       struct sy_decision *ret_decisions, uint32_t capacity) {
    (void)scheduler, (void)view, (void)ret_decisions, (void)capacity;
    const char *how = getenv("WILD_POLICY");
    if (how && strcmp(how, "abort") == 0) {
        abort();
    }
    if (how && strcmp(how, "deep") == 0) {
        return (uint32_t)dig(how);
    }
    if (how) {
        raise(SIGSEGV);
    }
    return 0;
}

static const struct sy_scheduler_ops policy = {
    .name = "wild", .summary = "", .init = init, .decide = decide};
SY_SCHEDULER_PLUGIN(policy);
#endif
