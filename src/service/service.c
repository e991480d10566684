/* SPDX-License-Identifier: Apache-2.0
 *
 * The broker's loop: one thread that waits for bells, sockets, the ends of processes and the time.
 *
 * A guest who rings without end is not listened to for a while: his ring costs us a system call,
 * and him as much. He has a second to say what he wants.
 */
#include "service/inside.h"
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define EVENTS_MAX  64
#define SPEAK_NS    1000000000u /* to say what one wants */
#define WINDOW_NS   1000000u
#define RINGS_MAX   40u /* in that time */
#define MUTE_NS     10000000u
#define OF_USER_MAX 64u /* guests, but of root and of who runs this */

enum source { SOURCE_SOCKET, SOURCE_BELL, SOURCE_PROCESS, SOURCE_DOOR };

uint64_t service_clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void wake(void *context, const _Atomic uint32_t *bell) {
    (void)context;
    (void)!syscall(SYS_futex, bell, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* --- guests ------------------------------------------------------------------------------------
 */
static int watch(struct sy_service *s, int fd, enum source source, uint32_t number) {
    struct epoll_event event = {.events = EPOLLIN,
                                .data.u64 = (uint64_t)number << 8 | (uint64_t)source};
    return epoll_ctl(s->events, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static void drop(struct sy_service *s, struct guest *guest) {
    if (guest->client != SY_NONE) {
        uint64_t now_ns = service_clock_ns();
        sy_arbiter_leave(s->arbiter, guest->client, now_ns);
        s->then_ns = sy_arbiter_step(s->arbiter, SY_NONE, now_ns);
    }
    if (guest->bell >= 0) {
        (void)!epoll_ctl(s->events, EPOLL_CTL_DEL, guest->bell, NULL); /* he has it open, too */
    }
    service_unseat(guest);
    if (guest->process >= 0) {
        close(guest->process);
    }
    close(guest->socket);
    guest->here = false;
}

static uint32_t guests_of(const struct sy_service *s, uid_t uid) {
    uint32_t count = 0;
    for (uint32_t g = 0; g < GUESTS_MAX; g++) {
        count += s->guests[g].here && s->guests[g].who.uid == uid;
    }
    return count;
}

static void let_in(struct sy_service *s) {
    uint32_t number = 0;
    socklen_t size = sizeof(struct ucred);
    int fd = accept4(s->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    while (number < GUESTS_MAX && s->guests[number].here) {
        number++;
    }
    if (fd < 0 || number == GUESTS_MAX) {
        if (fd >= 0) {
            close(fd);
        }
        return;
    }
    struct guest *guest = &s->guests[number];
    *guest = (struct guest){.here = true,
                            .socket = fd,
                            .process = -1,
                            .bell = -1,
                            .client = SY_NONE,
                            .deadline_ns = service_clock_ns() + SPEAK_NS};
    bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &guest->who, &size) == 0;
    bool own = known && (guest->who.uid == 0 || guest->who.uid == geteuid());
    if (!known || (!own && (geteuid() != 0 || guests_of(s, guest->who.uid) > OF_USER_MAX)) ||
        watch(s, fd, SOURCE_SOCKET, number)) {
        drop(s, guest);
        return;
    }
    guest->process = (int)syscall(SYS_pidfd_open, guest->who.pid, 0);
    if (guest->process >= 0 && watch(s, guest->process, SOURCE_PROCESS, number)) {
        close(guest->process);
        guest->process = -1;
    }
}

static void hear(struct sy_service *s, uint32_t number) {
    struct guest *guest = &s->guests[number];
    bool seated = guest->bell >= 0;
    if (!service_hear(s, guest) ||
        (!seated && guest->bell >= 0 && watch(s, guest->bell, SOURCE_BELL, number))) {
        drop(s, guest);
    }
}

static void answer_bell(struct sy_service *s, uint32_t number) {
    struct guest *guest = &s->guests[number];
    uint64_t count, now_ns = service_clock_ns();
    if (read(guest->bell, &count, sizeof count) != sizeof count) {
        return;
    }
    if (now_ns - guest->window_ns > WINDOW_NS) {
        guest->window_ns = now_ns;
        guest->rings = 0;
    }
    if (++guest->rings > RINGS_MAX) {
        guest->muted_ns = now_ns + MUTE_NS;
        (void)!epoll_ctl(s->events, EPOLL_CTL_DEL, guest->bell, NULL);
    }
    s->then_ns = sy_arbiter_step(s->arbiter, guest->client, now_ns);
}

/* --- time --------------------------------------------------------------------------------------
 */
static uint64_t next_ns(const struct sy_service *s) {
    uint64_t then_ns = s->then_ns;
    for (uint32_t g = 0; g < GUESTS_MAX; g++) {
        const struct guest *guest = &s->guests[g];
        const uint64_t due[] = {guest->deadline_ns, guest->muted_ns};
        for (size_t i = 0; guest->here && i < SY_COUNT(due); i++) {
            then_ns = due[i] && due[i] < then_ns ? due[i] : then_ns;
        }
    }
    return then_ns;
}

static void keep_time(struct sy_service *s) {
    uint64_t now_ns = service_clock_ns();
    for (uint32_t g = 0; g < GUESTS_MAX; g++) {
        struct guest *guest = &s->guests[g];
        if (guest->here && guest->deadline_ns && now_ns >= guest->deadline_ns) {
            drop(s, guest);
        } else if (guest->here && guest->muted_ns && now_ns >= guest->muted_ns) {
            guest->muted_ns = 0;
            if (watch(s, guest->bell, SOURCE_BELL, g)) {
                drop(s, guest);
            }
        }
    }
    if (now_ns >= s->then_ns) {
        s->then_ns = sy_arbiter_step(s->arbiter, SY_NONE, now_ns);
    }
}

static void attend(struct sy_service *s, uint64_t what) {
    enum source source = (enum source)(what & 0xff);
    uint32_t number = (uint32_t)(what >> 8);
    if (source == SOURCE_DOOR) {
        let_in(s);
    } else if (!s->guests[number].here) {
        return; /* dropped a moment ago */
    } else if (source == SOURCE_BELL) {
        answer_bell(s, number);
    } else if (source == SOURCE_PROCESS) {
        drop(s, &s->guests[number]);
    } else {
        hear(s, number);
    }
}

int sy_service_step(struct sy_service *s, int most_ms) {
    struct epoll_event events[EVENTS_MAX];
    uint64_t now_ns = service_clock_ns(), then_ns = next_ns(s);
    uint64_t most_ns = (uint64_t)most_ms * 1000000u;
    uint64_t wait_ns = then_ns <= now_ns ? 0 : then_ns - now_ns;
    wait_ns = wait_ns < most_ns ? wait_ns : most_ns;
    const struct timespec wait = {.tv_sec = (time_t)(wait_ns / 1000000000u),
                                  .tv_nsec = (long)(wait_ns % 1000000000u)};
    struct pollfd any = {.fd = s->events, .events = POLLIN}; /* for a time in nanoseconds */
    int count = ppoll(&any, 1, &wait, NULL);
    count = count > 0 ? epoll_wait(s->events, events, EVENTS_MAX, 0) : count;
    if (count < 0) {
        return errno == EINTR ? 0 : -errno;
    }
    for (int i = 0; i < count; i++) {
        attend(s, events[i].data.u64);
    }
    keep_time(s);
    return 0;
}

/* --- the door ----------------------------------------------------------------------------------
 */
static int fail_at(struct sy_error *error, const char *path, const char *what) {
    int code = -errno;
    return sy_fail(error, code, "%s: %s: %s", path, what, strerror(-code));
}

/* What an earlier broker left is removed, unless it still answers. */
static int make_way(const char *path, const struct sockaddr_un *at, struct sy_error *error) {
    struct stat about;
    if (lstat(path, &about)) {
        return errno == ENOENT ? 0 : fail_at(error, path, "cannot be looked at");
    }
    if (!S_ISSOCK(about.st_mode)) {
        return sy_fail(error, -EEXIST, "%s: is there already, and is not a socket", path);
    }
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    bool answers = fd >= 0 && connect(fd, (const struct sockaddr *)at, sizeof *at) == 0;
    if (fd >= 0) {
        close(fd);
    }
    if (answers) {
        return sy_fail(error, -EADDRINUSE, "%s: a broker runs already", path);
    }
    return unlink(path) ? fail_at(error, path, "cannot be removed") : 0;
}

static int open_door(struct sy_service *s, const char *path, struct sy_error *error) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof at.sun_path) {
        return sy_fail(error, -ENAMETOOLONG, "%s: the path of a socket has at most %zu bytes", path,
                       sizeof at.sun_path - 1);
    }
    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    int code = make_way(path, &at, error);
    if (code) {
        return code;
    }
    s->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->socket < 0 || bind(s->socket, (const struct sockaddr *)&at, sizeof at)) {
        return fail_at(error, path, "cannot be made");
    }
    snprintf(s->path, sizeof s->path, "%s", path);
    if (chmod(path, geteuid() == 0 ? 0666 : 0600) || listen(s->socket, EVENTS_MAX)) {
        return fail_at(error, path, "cannot be opened");
    }
    return watch(s, s->socket, SOURCE_DOOR, 0);
}

static int open_arbiter(struct sy_service *s, const struct sy_service_options *options) {
    const struct sy_arbiter_options settings = {
        .quantum_ns = (uint64_t)(options->quantum_s * 1e9),
        .core_quantum_ns = (uint64_t)(options->core_quantum_s * 1e9),
        .least_ns = (uint64_t)(sy_least(options->quantum_s, 0.5e-3) * 1e9),
        .grace_ns = (uint64_t)(options->grace_s * 1e9),
        .wake = wake,
    };
    int code = sy_arbiter_create(&settings, &s->arbiter);
    for (uint32_t i = 0; i < options->weight_count && !code; i++) {
        code = sy_arbiter_set_weight(s->arbiter, options->weights[i].tenant,
                                     options->weights[i].weight);
    }
    return code;
}

int sy_service_open(const struct sy_service_options *options, struct sy_service **ret_service,
                    struct sy_error *error) {
    struct sy_service *s = calloc(1, sizeof *s);
    if (!s) {
        return sy_out_of_memory(error);
    }
    s->socket = -1;
    s->then_ns = UINT64_MAX;
    s->events = epoll_create1(EPOLL_CLOEXEC);
    int code = s->events < 0 ? sy_fail(error, -errno, "cannot wait for events: %s", strerror(errno))
                             : open_arbiter(s, options);
    if (code == -ENOMEM) {
        sy_out_of_memory(error);
    }
    code = code ? code : open_door(s, options->path, error);
    if (code) {
        sy_service_close(s);
        return code;
    }
    *ret_service = s;
    return 0;
}

void sy_service_close(struct sy_service *s) {
    if (!s) {
        return;
    }
    for (uint32_t g = 0; g < GUESTS_MAX; g++) {
        if (s->guests[g].here) {
            s->guests[g].client = SY_NONE; /* nobody is told, so that what he has stays his */
            drop(s, &s->guests[g]);
        }
    }
    if (s->socket >= 0) {
        close(s->socket);
    }
    if (s->path[0]) {
        (void)!unlink(s->path);
    }
    if (s->events >= 0) {
        close(s->events);
    }
    sy_arbiter_destroy(s->arbiter);
    free(s);
}
