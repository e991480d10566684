/* SPDX-License-Identifier: Apache-2.0
 *
 * Which programs run under our policies, and what they do: read from the pages that they hold open.
 *
 * In: /proc. Out: one entry per program, by pid. A page is read, not mapped, and nothing in it is
 * believed: any program may hold one. Programs that this user may not look into are not seen.
 */
#include "supervise/supervise.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_LINK "/memfd:" SY_STATUS_NAME
#define ENGINE_LINK "/memfd:symph-page"

static const char *phase_name(uint32_t phase) {
    static const char *const names[] = {
        [SY_PHASE_STARTING] = "starting", [SY_PHASE_READY] = "starting",
        [SY_PHASE_RUNNING] = "running",   [SY_PHASE_CHECKING] = "checking",
        [SY_PHASE_SAVING] = "saving",     [SY_PHASE_DONE] = "leaving",
        [SY_PHASE_FAILED] = "failed",
    };
    return phase < SY_COUNT(names) ? names[phase] : "unknown";
}

/* The descriptors of one process. */
struct found {
    int status, engine; /* opened; -1: it has none */
};

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

static struct found find_pages(int folder) {
    struct found found = {-1, -1};
    DIR *list = fdopendir(folder);
    if (!list) {
        close(folder);
        return found;
    }
    for (const struct dirent *entry; (entry = readdir(list));) {
        char target[64] = "";
        ssize_t length = readlinkat(dirfd(list), entry->d_name, target, sizeof target - 1);
        int *page = length <= 0                   ? NULL
                    : begins(target, STATUS_LINK) ? &found.status
                    : begins(target, ENGINE_LINK) ? &found.engine
                                                  : NULL;
        if (page && *page < 0) {
            *page = openat(dirfd(list), entry->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        }
    }
    closedir(list);
    return found;
}

static void close_if_open(int fd) {
    if (fd >= 0) {
        close(fd);
    }
}

/* --- what a page says ---------------------------------------------------------------------------
 */
static bool read_page(int fd, void *page, size_t size) {
    return fd >= 0 && pread(fd, page, size, 0) == (ssize_t)size;
}

static void copy_text(char *to, size_t size, const char *from, size_t length) {
    snprintf(to, size, "%.*s", (int)strnlen(from, length), from);
}

static double sound(double value) {
    return isfinite(value) ? value : 0;
}

/* All that it has done so far, and the part of what it is doing that is behind it. */
static void read_worker(const struct sy_status *page, uint32_t index, double now_ns,
                        struct sy_status_seen_worker *out) {
    const struct sy_status_worker *w = &page->workers[index];
    uint64_t begun = w->begun, ended = w->ended;
    double since_ns = sound(now_ns - sound(page->offset_ns) - sound(w->since_ns));
    uint32_t kernel = w->kernel;
    copy_text(out->name, sizeof out->name, page->names[index], sizeof page->names[index]);
    out->done_count = ended;
    out->running_count = begun > ended ? begun - ended : 0;
    out->busy_ns = fmax(0, sound(w->busy_ns));
    out->since_ns = NAN;
    if (out->running_count) {
        out->since_ns = fmax(0, since_ns);
        out->busy_ns += out->since_ns;
        bool named = kernel < SY_STATUS_KERNELS && page->kernels[kernel][0];
        copy_text(out->kernel, sizeof out->kernel, named ? page->kernels[kernel] : "?",
                  named ? sizeof page->kernels[kernel] : 1);
    }
}

static int read_status(const struct sy_status *page, struct sy_arena *arena, double now_ns,
                       struct sy_status_seen *out) {
    uint32_t count =
        page->worker_count < SY_STATUS_WORKERS ? page->worker_count : SY_STATUS_WORKERS;
    const struct sy_status_worker *rest = &page->workers[SY_STATUS_WORKERS];
    uint64_t pushed = rest->pushed, begun = rest->begun, ended = rest->ended;
    out->workers = sy_arena_alloc(arena, count + 1u, sizeof *out->workers);
    if (!out->workers) {
        return -ENOMEM;
    }
    out->worker_count = count;
    out->done_count = ended;
    out->running_count = begun > ended ? begun - ended : 0;
    for (uint32_t w = 0; w < count; w++) {
        read_worker(page, w, now_ns, &out->workers[w]);
        out->done_count += out->workers[w].done_count;
        out->running_count += out->workers[w].running_count;
        pushed += page->workers[w].pushed;
        begun += page->workers[w].begun;
    }
    out->ready_count = pushed > begun ? pushed - begun : 0;
    out->task_count = page->submitted;
    out->age_ns = fmax(0, sound(now_ns - sound(page->offset_ns) - sound(page->start_ns)));
    copy_text(out->program, sizeof out->program, page->program, sizeof page->program);
    copy_text(out->policy, sizeof out->policy, page->policy, sizeof page->policy);
    return 0;
}

/* What an engine was asked to run: KEY=VALUE arguments. */
static void read_request(int process, struct sy_status_seen *out) {
    char text[4096];
    int fd = openat(process, "cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    close_if_open(fd);
    text[length > 0 ? length : 0] = '\0';
    for (const char *at = text; at < text + length; at += strlen(at) + 1) {
        if (begins(at, "spec=")) {
            copy_text(out->program, sizeof out->program, at + 5, strlen(at + 5));
        } else if (begins(at, "policy=")) {
            copy_text(out->policy, sizeof out->policy, at + 7, strlen(at + 7));
        }
    }
}

/* An engine under one of StarPU's own policies, or one that has not begun: it says less. */
static void read_engine(int process, const struct sy_page *page, bool also_status,
                        struct sy_status_seen *out) {
    snprintf(out->phase, sizeof out->phase, "%s", phase_name(page->phase));
    out->engine = true;
    if (!also_status) {
        out->task_count = page->task_count;
        out->done_count = page->done_count;
        read_request(process, out);
    }
}

/* 1: it runs under one of our policies, or is an engine. */
static int look_at(int proc, const char *name, struct sy_arena *arena, double now_ns,
                   struct sy_status_seen *out) {
    *out = (struct sy_status_seen){.pid = (pid_t)strtol(name, NULL, 10), .phase = "running"};
    int process = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int folder = process < 0 ? -1 : openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct found found = folder < 0 ? (struct found){-1, -1} : find_pages(folder);
    struct sy_status *page = malloc(sizeof *page);
    struct sy_page engine;
    /* A child that a program forks off has its page too, but is not who writes it. */
    bool status = page && read_page(found.status, page, sizeof *page) &&
                  page->magic == SY_STATUS_MAGIC && page->pid == (uint32_t)out->pid;
    bool is_engine =
        read_page(found.engine, &engine, sizeof engine) && engine.magic == SY_PAGE_MAGIC;
    int code = page ? 0 : -ENOMEM;
    if (!code && status) {
        code = read_status(page, arena, now_ns, out);
    }
    if (!code && is_engine) {
        read_engine(process, &engine, status, out);
    }
    close_if_open(found.status);
    close_if_open(found.engine);
    close_if_open(process);
    free(page);
    return code ? code : status || is_engine;
}

static int by_pid(const void *left, const void *right) {
    const struct sy_status_seen *a = left, *b = right;
    return SY_ORDER(a->pid, b->pid);
}

int sy_status_list(struct sy_arena *arena, double now_ns, struct sy_status_seen **ret_programs,
                   uint32_t *ret_count) {
    struct sy_status_seen *programs = NULL;
    uint32_t count = 0, capacity = 0;
    DIR *proc = opendir("/proc");
    int code = proc ? 0 : -errno;
    for (const struct dirent *entry; !code && (entry = readdir(proc));) {
        struct sy_status_seen seen;
        if (!isdigit((unsigned char)entry->d_name[0])) {
            continue;
        }
        int found = look_at(dirfd(proc), entry->d_name, arena, now_ns, &seen);
        code = found > 0 ? sy_append(&programs, &capacity, &count, &seen, sizeof seen) : found;
    }
    if (proc) {
        closedir(proc);
    }
    if (count && !code) {
        qsort(programs, count, sizeof *programs, by_pid);
    }
    if (code) {
        free(programs);
        return code;
    }
    *ret_programs = programs;
    *ret_count = count;
    return 0;
}
