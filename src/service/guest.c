/* SPDX-License-Identifier: Apache-2.0
 *
 * What guests say, and what they are given.
 *
 * In: one packet of each, in which nothing is believed. Out: pages that only he and the broker
 * share, or what he may know of tenants. Who he is the kernel says.
 */
#include "service/inside.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- who he is ---------------------------------------------------------------------------------
 */
/* Letters, digits and a few signs: names are shown, and end in files. */
static bool is_name(const char *text, size_t size) {
    size_t length = strnlen(text, size);
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    strchr("._-:@+", c);
        if (!good) {
            return false;
        }
    }
    return length < size;
}

/* The account of somebody who calls himself so. Other users than who runs this have one each, or
 * those who take many names would get many shares. */
static void name_tenant(const struct guest *guest, const char *label, char *ret_name, size_t size) {
    char room[1024];
    struct passwd entry, *found = NULL;
    bool own = guest->who.uid == 0 || guest->who.uid == geteuid();
    if (own && label[0]) {
        snprintf(ret_name, size, "%s", label);
    } else if (getpwuid_r(guest->who.uid, &entry, room, sizeof room, &found) == 0 && found) {
        snprintf(ret_name, size, "%s", entry.pw_name);
    } else {
        snprintf(ret_name, size, "%u", (unsigned)guest->who.uid);
    }
}

/* --- what he is given --------------------------------------------------------------------------
 */
/* A page whose size nobody can change; sealed: only what is mapped for writing now ever writes. */
static int make_page(const char *name, size_t size, bool sealed, void **ret_page) {
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | (sealed ? F_SEAL_FUTURE_WRITE : 0);
    void *page = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)size) == 0) {
        page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (page == MAP_FAILED || fcntl(fd, F_ADD_SEALS, seals)) {
        int code = -errno;
        if (page != MAP_FAILED) {
            munmap(page, size);
        }
        if (fd >= 0) {
            close(fd);
        }
        return code;
    }
    *ret_page = page;
    return fd;
}

int service_seat(struct guest *guest, int ret_descriptors[3]) {
    void *board = NULL, *desk = NULL;
    int first = make_page("symph-board", sizeof *guest->board, true, &board);
    if (first < 0) {
        return first;
    }
    guest->board = board;
    int second = make_page("symph-desk", sizeof *guest->desk, false, &desk);
    guest->desk = desk;
    guest->bell = second < 0 ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (second < 0 || guest->bell < 0) {
        int code = second < 0 ? second : -errno;
        close(first);
        if (second >= 0) {
            close(second);
        }
        service_unseat(guest);
        return code;
    }
    ret_descriptors[0] = first;
    ret_descriptors[1] = second;
    ret_descriptors[2] = guest->bell;
    return 0;
}

void service_unseat(struct guest *guest) {
    if (guest->board) {
        munmap(guest->board, sizeof *guest->board);
    }
    if (guest->desk) {
        munmap(guest->desk, sizeof *guest->desk);
    }
    if (guest->bell >= 0) {
        close(guest->bell);
    }
    guest->board = NULL;
    guest->desk = NULL;
    guest->bell = -1;
}

/* --- answers -----------------------------------------------------------------------------------
 */
static struct sy_broker_welcome welcome(int code, const char *why) {
    struct sy_broker_welcome w = {
        .magic = SY_BROKER_MAGIC, .version = SY_BROKER_VERSION, .code = code};
    snprintf(w.why, sizeof w.why, "%s", why);
    return w;
}

static bool refuse(const struct guest *guest, int code, const char *why) {
    struct sy_broker_welcome answer = welcome(code, why);
    (void)!send(guest->socket, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT);
    return false;
}

static bool give(const struct guest *guest, const int descriptors[3]) {
    struct sy_broker_welcome answer = welcome(0, "");
    struct iovec part = {.iov_base = &answer, .iov_len = sizeof answer};
    union {
        char bytes[CMSG_SPACE(3 * sizeof(int))];
        struct cmsghdr aligned;
    } control = {0};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(3 * sizeof(int));
    memcpy(CMSG_DATA(header), descriptors, 3 * sizeof(int));
    return sendmsg(guest->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
}

/* Everything is wanted at first, so that what is free is his when he begins. */
static bool join(struct sy_service *s, struct guest *guest, const struct service_request *said) {
    const struct sy_broker_hello *hello = &said->hello;
    char tenant[SY_BROKER_NAME];
    int descriptors[3];
    name_tenant(guest, hello->tenant, tenant, sizeof tenant);
    int code = service_seat(guest, descriptors);
    if (code) {
        return refuse(guest, code, strerror(-code));
    }
    for (uint32_t i = 0; i < hello->device_count; i++) {
        atomic_store(&guest->desk->places[i].want, 1);
    }
    uint64_t now_ns = service_clock_ns();
    const struct sy_arbiter_client client = {.tenant = tenant,
                                             .board = guest->board,
                                             .desk = guest->desk,
                                             .devices = said->names,
                                             .device_count = hello->device_count};
    code = sy_arbiter_join(s->arbiter, &client, now_ns, &guest->client);
    if (!code) {
        s->then_ns = sy_arbiter_step(s->arbiter, guest->client, now_ns);
    }
    bool good = code ? refuse(guest, code, strerror(-code)) : give(guest, descriptors);
    close(descriptors[0]);
    close(descriptors[1]);
    return good;
}

/* Who is neither root nor the one that runs the broker hears of his own. */
static bool may_know(const struct guest *guest, const char *tenant) {
    char own[SY_BROKER_NAME];
    if (guest->who.uid == 0 || guest->who.uid == geteuid()) {
        return true;
    }
    name_tenant(guest, "", own, sizeof own);
    return strcmp(tenant, own) == 0;
}

static bool tell(const struct sy_service *s, const struct guest *guest) {
    struct {
        struct sy_broker_welcome welcome;
        struct sy_arbiter_tenant rows[SY_BROKER_ROWS];
    } answer = {.welcome = welcome(0, "")};
    uint32_t count = 0;
    for (uint32_t i = 0; count < SY_BROKER_ROWS; i++) {
        if (!sy_arbiter_tenant(s->arbiter, i, &answer.rows[count])) {
            break;
        }
        count += may_know(guest, answer.rows[count].name);
    }
    (void)!send(guest->socket, &answer, sizeof answer.welcome + count * sizeof answer.rows[0],
                MSG_NOSIGNAL | MSG_DONTWAIT);
    return false; /* that is all he wanted */
}

const char *service_parse(const struct service_request *said, size_t size) {
    const struct sy_broker_hello *hello = &said->hello;
    if (size < sizeof *hello || memcmp(hello->magic, SY_BROKER_MAGIC, sizeof hello->magic) != 0) {
        return "that is not a request";
    }
    if (hello->version != SY_BROKER_VERSION) {
        return "the broker is of another version of symph";
    }
    if (hello->request == SY_BROKER_TELL) {
        return NULL;
    }
    if (hello->request != SY_BROKER_JOIN || hello->device_count > SY_SEATS_MAX ||
        size != sizeof *hello + (size_t)hello->device_count * sizeof said->names[0]) {
        return "that is not a request of this version of symph";
    }
    if (!is_name(hello->tenant, sizeof hello->tenant)) {
        return "the name of a tenant has letters, digits and ._-:@+, at most 31 of them "
               "(SYMPH_TENANT)";
    }
    for (uint32_t i = 0; i < hello->device_count; i++) {
        if (!said->names[i][0] || !is_name(said->names[i], sizeof said->names[i])) {
            return "a device's name is not well-formed";
        }
    }
    return NULL;
}

bool service_hear(struct sy_service *s, struct guest *guest) {
    struct service_request said;
    ssize_t size = recv(guest->socket, &said, sizeof said, MSG_DONTWAIT | MSG_TRUNC);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
        return true;
    }
    if (size <= 0 || (size_t)size > sizeof said || guest->client != SY_NONE) {
        return false; /* he hangs up, or says what he may not */
    }
    const char *why = service_parse(&said, (size_t)size);
    guest->deadline_ns = 0;
    return why                                    ? refuse(guest, -EINVAL, why)
           : said.hello.request == SY_BROKER_TELL ? tell(s, guest)
                                                  : join(s, guest, &said);
}
