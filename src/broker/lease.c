/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's side: it joins, takes and gives back. See pages.h for how that is safe.
 *
 * A device that is free, or that nobody else wants, costs two stores, a fence and two loads; only
 * whoever has to wait, or makes others wait, enters the kernel. If the broker is gone a client has
 * all its devices to itself, as it would without one.
 */
#include "base/folder.h"
#include "broker/broker.h"
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_S   2 /* for an answer */
#define MACHINE_PATH "/run/symph/broker.sock"

static uint64_t clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* --- where it is -------------------------------------------------------------------------------
 */
int sy_lease_own_path(char *ret_path, size_t size, struct sy_error *error) {
    const char *folder = getenv("XDG_RUNTIME_DIR");
    if (geteuid() == 0) {
        snprintf(ret_path, size, "%s", MACHINE_PATH);
        return 0;
    }
    if (!folder || folder[0] != '/') {
        sy_fail(error, -ENOENT, "XDG_RUNTIME_DIR is not set, so there is no place for a socket");
        return sy_hint(error, "name one: --socket FILE");
    }
    snprintf(ret_path, size, "%s/symph/broker.sock", folder);
    return 0;
}

static bool is_socket(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISSOCK(about.st_mode);
}

int sy_lease_find(char *ret_path, size_t size, struct sy_error *error) {
    const char *named = getenv(SY_BROKER_VARIABLE);
    if (named && named[0]) {
        snprintf(ret_path, size, "%s", named);
        return strcmp(named, "none") == 0
                   ? sy_fail(error, -ENOENT, "%s is none", SY_BROKER_VARIABLE)
                   : 0;
    }
    if (sy_lease_own_path(ret_path, size, error) == 0 && is_socket(ret_path)) {
        return 0;
    }
    snprintf(ret_path, size, "%s", MACHINE_PATH);
    return is_socket(ret_path) ? 0 : sy_fail(error, -ENOENT, "no broker runs on this machine");
}

/* --- joining -----------------------------------------------------------------------------------
 */
static int dial(const char *path, int *ret_socket, struct sy_error *error) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct ucred peer;
    socklen_t size = sizeof peer;
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    if (strlen(path) >= sizeof at.sun_path) {
        return sy_fail(error, -ENAMETOOLONG, "%s: the path of a socket has at most %zu bytes", path,
                       sizeof at.sun_path - 1);
    }
    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) ||
        connect(fd, (const struct sockaddr *)&at, sizeof at) ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size)) {
        int code = -errno;
        if (fd >= 0) {
            close(fd);
        }
        sy_fail(error, code, "%s: no broker answers: %s", path, strerror(-code));
        sy_hint(error, "symph serve starts one; %s=none does without", SY_BROKER_VARIABLE);
        return code;
    }
    if (peer.uid != 0 && peer.uid != geteuid()) {
        close(fd);
        return sy_fail(error, -EPERM, "%s: that broker belongs to another user (uid %u)", path,
                       (unsigned)peer.uid);
    }
    *ret_socket = fd;
    return 0;
}

static int refuse_answer(const char *path, struct sy_error *error) {
    return sy_fail(error, -EPROTO, "%s: what answers is not a broker of this version of symph",
                   path);
}

/* The whole answer, and the descriptors that came with it. */
static int hear(int fd, const char *path, void *answer, size_t size, int *descriptors,
                uint32_t most, struct sy_error *error) {
    char control[CMSG_SPACE(3 * sizeof(int))];
    struct iovec part = {.iov_base = answer, .iov_len = size};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = most ? control : NULL,
                             .msg_controllen = most ? sizeof control : 0};
    const struct sy_broker_welcome *welcome = answer;
    ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    if (got < 0) {
        int code = -errno;
        return sy_fail(error, code, "%s: the broker does not answer: %s", path, strerror(-code));
    }
    if ((size_t)got < sizeof *welcome || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ||
        memcmp(welcome->magic, SY_BROKER_MAGIC, sizeof welcome->magic) != 0) {
        return refuse_answer(path, error);
    }
    if (welcome->code) {
        return sy_fail(error, welcome->code, "%s: %.*s", path, (int)sizeof welcome->why,
                       welcome->why);
    }
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(3 * sizeof(int)) && most == 3) {
            memcpy(descriptors, CMSG_DATA(c), 3 * sizeof(int));
        }
    }
    return (int)got;
}

static int ask(const char *path, enum sy_broker_request request, const char *tenant,
               const char (*devices)[SY_BROKER_NAME], uint32_t device_count, int *ret_socket,
               struct sy_error *error) {
    struct {
        struct sy_broker_hello hello;
        char devices[SY_SEATS_MAX][SY_BROKER_NAME];
    } message = {.hello = {.magic = SY_BROKER_MAGIC,
                           .version = SY_BROKER_VERSION,
                           .request = request,
                           .device_count = device_count}};
    snprintf(message.hello.tenant, sizeof message.hello.tenant, "%s", tenant);
    for (uint32_t i = 0; i < device_count; i++) {
        memcpy(message.devices[i], devices[i], sizeof devices[i]);
    }
    int code = dial(path, ret_socket, error);
    size_t size = sizeof message.hello + device_count * sizeof *devices;
    if (!code && send(*ret_socket, &message, size, MSG_NOSIGNAL) != (ssize_t)size) {
        code = sy_fail(error, -errno, "%s: the broker does not listen: %s", path, strerror(errno));
        close(*ret_socket);
    }
    return code;
}

static int map_pages(struct sy_lease *lease, const int *descriptors, const char *path,
                     struct sy_error *error) {
    void *board = mmap(NULL, sizeof *lease->board, PROT_READ, MAP_SHARED, descriptors[0], 0);
    void *desk =
        mmap(NULL, sizeof *lease->desk, PROT_READ | PROT_WRITE, MAP_SHARED, descriptors[1], 0);
    lease->board = board == MAP_FAILED ? NULL : board;
    lease->desk = desk == MAP_FAILED ? NULL : desk;
    return lease->board && lease->desk
               ? 0
               : sy_fail(error, -errno, "%s: its pages cannot be mapped: %s", path,
                         strerror(errno));
}

int sy_lease_open(const char *path, const char *tenant, const char (*devices)[SY_BROKER_NAME],
                  uint32_t device_count, struct sy_lease **ret_lease, struct sy_error *error) {
    struct sy_broker_welcome welcome;
    int descriptors[3] = {-1, -1, -1};
    struct sy_lease *lease = calloc(1, sizeof *lease);
    if (!lease) {
        return sy_out_of_memory(error);
    }
    lease->bell = lease->socket = -1;
    lease->device_count = device_count;
    int code = device_count <= SY_SEATS_MAX
                   ? ask(path, SY_BROKER_JOIN, tenant, devices, device_count, &lease->socket, error)
                   : sy_fail(error, -E2BIG, "a client has at most %u devices", SY_SEATS_MAX);
    if (!code) {
        code = hear(lease->socket, path, &welcome, sizeof welcome, descriptors, 3, error);
        code = code < 0 ? code : descriptors[2] < 0 ? refuse_answer(path, error) : 0;
        lease->bell = descriptors[2];
    }
    if (!code) {
        code = map_pages(lease, descriptors, path, error);
    }
    for (int i = 0; i < 2; i++) {
        if (descriptors[i] >= 0) {
            close(descriptors[i]);
        }
    }
    if (code) {
        sy_lease_close(lease);
        return code;
    }
    *ret_lease = lease;
    return 0;
}

void sy_lease_close(struct sy_lease *lease) {
    if (!lease) {
        return;
    }
    if (lease->board) {
        munmap((void *)(uintptr_t)lease->board, sizeof *lease->board);
    }
    if (lease->desk) {
        munmap(lease->desk, sizeof *lease->desk);
    }
    if (lease->bell >= 0) {
        close(lease->bell);
    }
    if (lease->socket >= 0) {
        close(lease->socket);
    }
    free(lease);
}

int sy_lease_tell(const char *path, struct sy_arbiter_tenant *ret_tenants, uint32_t *ret_count,
                  struct sy_error *error) {
    struct {
        struct sy_broker_welcome welcome;
        struct sy_arbiter_tenant rows[SY_BROKER_ROWS];
    } answer;
    int fd = -1, code = ask(path, SY_BROKER_TELL, "", NULL, 0, &fd, error);
    if (code) {
        return code;
    }
    code = hear(fd, path, &answer, sizeof answer, NULL, 0, error);
    close(fd);
    if (code < 0) {
        return code;
    }
    *ret_count = (uint32_t)(((size_t)code - sizeof answer.welcome) / sizeof answer.rows[0]);
    memcpy(ret_tenants, answer.rows, *ret_count * sizeof *ret_tenants);
    return 0;
}

/* --- taking and giving back --------------------------------------------------------------------
 */
static void ring(struct sy_lease *lease) {
    const uint64_t one = 1;
    (void)!write(lease->bell, &one, sizeof one);
}

static bool is_over(const struct sy_lease_seat *seat) {
    uint64_t until_ns = atomic_load_explicit(&seat->until_ns, memory_order_relaxed);
    return until_ns && clock_ns() >= until_ns;
}

/* It wants it again, in its turn. */
static void give_back(struct sy_lease *lease, uint32_t device) {
    atomic_store(&lease->desk->places[device].yielded, lease->grants[device]);
    ring(lease);
}

bool sy_lease_take(struct sy_lease *lease, uint32_t device) {
    const struct sy_lease_seat *seat = &lease->board->seats[device];
    struct sy_lease_place *place = &lease->desk->places[device];
    uint64_t grant = atomic_load_explicit(&seat->grant, memory_order_acquire);
    if (atomic_load_explicit(&lease->gone, memory_order_relaxed)) {
        return true;
    }
    sy_lease_want(lease, device);
    if (!grant || grant == atomic_load_explicit(&place->yielded, memory_order_relaxed)) {
        return false;
    }
    if (lease->grants[device] != grant) {
        lease->grants[device] = grant;
        lease->used[device] = false;
    } else if (lease->used[device] && is_over(seat)) { /* each lease is good for a task */
        give_back(lease, device);
        return false;
    }
    atomic_store_explicit(&place->hold, grant, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&seat->grant, memory_order_acquire) != grant) {
        atomic_store(&place->hold, 0);
        ring(lease);
        return false;
    }
    lease->used[device] = true;
    return true;
}

void sy_lease_pause(struct sy_lease *lease, uint32_t device) {
    struct sy_lease_place *place = &lease->desk->places[device];
    if (atomic_load_explicit(&place->hold, memory_order_relaxed) == 0) {
        return;
    }
    atomic_store_explicit(&place->hold, 0, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&lease->board->seats[device].grant, memory_order_acquire) !=
        lease->grants[device]) {
        ring(lease);
    }
}

void sy_lease_want(struct sy_lease *lease, uint32_t device) {
    struct sy_lease_place *place = &lease->desk->places[device];
    if (atomic_load_explicit(&place->want, memory_order_relaxed) != 1 &&
        atomic_exchange(&place->want, 1) != 1 && !atomic_load(&lease->board->seats[device].grant)) {
        ring(lease);
    }
}

void sy_lease_rest(struct sy_lease *lease, uint32_t device) {
    struct sy_lease_place *place = &lease->desk->places[device];
    sy_lease_pause(lease, device);
    if (atomic_load_explicit(&place->want, memory_order_relaxed) == 0) {
        return;
    }
    atomic_store(&place->want, 0);
    if (atomic_load(&lease->board->seats[device].until_ns)) {
        ring(lease);
    }
}

bool sy_lease_is_wanted(const struct sy_lease *lease, uint32_t device) {
    const struct sy_lease_seat *seat = &lease->board->seats[device];
    return !atomic_load_explicit(&lease->gone, memory_order_relaxed) &&
           (!atomic_load_explicit(&seat->grant, memory_order_relaxed) ||
            atomic_load_explicit(&seat->until_ns, memory_order_relaxed));
}

/* The socket says so: whoever still has a device keeps it, and nobody grants anything any more. */
static void look_for_broker(struct sy_lease *lease) {
    struct pollfd polled = {.fd = lease->socket, .events = POLLIN};
    if (poll(&polled, 1, 0) > 0 && polled.revents & (POLLHUP | POLLERR | POLLIN)) {
        atomic_store(&lease->gone, true);
    }
}

void sy_lease_wait(struct sy_lease *lease, uint32_t device, uint64_t most_ns) {
    const struct sy_lease_seat *seat = &lease->board->seats[device];
    uint32_t bell = atomic_load_explicit(&seat->bell, memory_order_acquire);
    const struct timespec most = {.tv_sec = (time_t)(most_ns / 1000000000u),
                                  .tv_nsec = (long)(most_ns % 1000000000u)};
    uint64_t grant = atomic_load(&seat->grant);
    if (atomic_load_explicit(&lease->gone, memory_order_relaxed) ||
        (grant && grant != atomic_load(&lease->desk->places[device].yielded))) {
        return;
    }
    if (syscall(SYS_futex, &seat->bell, FUTEX_WAIT, bell, &most, NULL, 0) < 0 &&
        errno == ETIMEDOUT) {
        look_for_broker(lease);
    }
}
