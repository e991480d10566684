/* SPDX-License-Identifier: Apache-2.0
 *
 * serve: the latest page over HTTP, for Prometheus.
 *
 * In: an address, a page that is replaced from time to time. Out: answers to GET /metrics. Never
 * knows: what the page says. Invariants: one thread, and nobody can hold it up: requests are
 * bounded, a few are answered at a time, and each has a few seconds for all of it.
 */
#include "cli/counters/show.h"

#include "cli/clock.h"
#include <errno.h>
#include <math.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENTS_MAX 16
#define REQUEST_MAX 4096
#define PATIENCE_NS 5e9
#define LOOK_MS     200 /* how often signals are looked for */

enum stage { FREE, READING, WRITING, DRAINING };

struct client {
    enum stage stage;
    int fd;
    double deadline_ns;
    char request[REQUEST_MAX];
    size_t length;
    struct sy_buffer answer;
    size_t sent;
};

struct sy_serve {
    int fd;
    char address[NI_MAXHOST + NI_MAXSERV + 4];
    struct client clients[CLIENTS_MAX];
};

/* --- the address ------------------------------------------------------------------------------ */
/* "[HOST:]PORT", where HOST may be in square brackets; an empty one stands for all interfaces. */
static bool split(const char *address, char *host, size_t size, const char **ret_port) {
    const char *colon = strrchr(address, ':');
    size_t length = colon ? (size_t)(colon - address) : 0;
    uint64_t port;
    *ret_port = colon ? colon + 1 : address;
    snprintf(host, size, "%s", colon ? "" : "localhost");
    if (length >= 2 && address[0] == '[' && address[length - 1] == ']') {
        address++;
        length -= 2;
    } else if (memchr(address, ':', length)) {
        return false; /* which of the colons? */
    }
    if (length && length < size) {
        snprintf(host, size, "%.*s", (int)length, address);
    }
    return length < size && sy_parse_u64(*ret_port, strlen(*ret_port), &port) && port <= 65535;
}

static int listen_at(const struct addrinfo *at) {
    int one = 1, fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -errno;
    }
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
        bind(fd, at->ai_addr, at->ai_addrlen) < 0 || listen(fd, CLIENTS_MAX) < 0) {
        int code = -errno;
        close(fd);
        return code;
    }
    return fd;
}

/* What it became: the port may have been left to the system. */
static void name(struct sy_serve *serve) {
    struct sockaddr_storage own;
    socklen_t size = sizeof own;
    char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";
    if (getsockname(serve->fd, (struct sockaddr *)&own, &size) == 0) {
        (void)getnameinfo((struct sockaddr *)&own, size, host, sizeof host, port, sizeof port,
                          NI_NUMERICHOST | NI_NUMERICSERV);
    }
    bool v6 = strchr(host, ':') != NULL;
    snprintf(serve->address, sizeof serve->address, "%s%s%s:%s", v6 ? "[" : "", host, v6 ? "]" : "",
             port);
}

int sy_serve_open(const char *address, struct sy_serve **ret_serve) {
    char host[NI_MAXHOST];
    const char *port;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    if (!split(address, host, sizeof host, &port)) {
        sy_message_fail("--listen takes [HOST:]PORT, such as 9877, 0.0.0.0:9877 or [::1]:9877, not "
                        "'%s'",
                        address);
        return SY_EXIT_USAGE;
    }
    int code = getaddrinfo(host[0] ? host : NULL, port, &hints, &found), fd = -1;
    const char *reason = code ? gai_strerror(code) : "";
    for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next) {
        fd = listen_at(at);
        reason = fd < 0 ? strerror(-fd) : "";
    }
    if (found) {
        freeaddrinfo(found);
    }
    struct sy_serve *serve = fd < 0 ? NULL : calloc(1, sizeof *serve);
    if (!serve) {
        sy_message_fail("--listen %s: %s", address, fd < 0 ? reason : "out of memory");
        if (fd >= 0) {
            close(fd);
        }
        return SY_EXIT_FAILED;
    }
    serve->fd = fd;
    name(serve);
    *ret_serve = serve;
    return SY_EXIT_OK;
}

const char *sy_serve_address(const struct sy_serve *serve) {
    return serve->address;
}

/* --- requests --------------------------------------------------------------------------------- */
static void answer(struct client *client, const char *status, const char *more, bool body,
                   const char *text, size_t length) {
    sy_buffer_printf(&client->answer,
                     "HTTP/1.1 %s\r\n"
                     "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
                     "Content-Length: %zu\r\n%sConnection: close\r\n\r\n",
                     status, length, more);
    sy_buffer_append(&client->answer, text, body ? length : 0);
    client->stage = WRITING;
}

static void refuse(struct client *client, const char *status, const char *more) {
    char text[80];
    int length = snprintf(text, sizeof text, "%s\n", status);
    answer(client, status, more, true, text, (size_t)length);
}

/* A word of the first line, which ends at a blank; 0: none, or it holds what it must not. */
static size_t word(const char *at, const char *end) {
    const char *start = at;
    while (at<end && * at> ' ' && *at < 0x7f) {
        at++;
    }
    return at < end && *at == ' ' ? (size_t)(at - start) : 0;
}

static bool is(const char *text, size_t length, const char *expected) {
    return length == strlen(expected) && memcmp(text, expected, length) == 0;
}

enum sy_http sy_http_parse(const char *text, size_t length, bool *ret_head) {
    const char *end = memchr(text, '\n', length);
    size_t method = end ? word(text, end) : 0;
    const char *target = text + method + 1;
    size_t size = method ? word(target, end) : 0;
    const char *version = target + size + 1;
    *ret_head = is(text, method, "HEAD");
    if (!size || target[0] != '/' || end - version < 8 || memcmp(version, "HTTP/1.", 7) != 0) {
        return SY_HTTP_BAD;
    }
    if (!*ret_head && !is(text, method, "GET")) {
        return SY_HTTP_METHOD;
    }
    const char *query = memchr(target, '?', size);
    size = query ? (size_t)(query - target) : size;
    return is(target, size, "/metrics") ? SY_HTTP_PAGE
           : is(target, size, "/")      ? SY_HTTP_ROOT
                                        : SY_HTTP_OTHER;
}

static void judge(struct client *client, const struct sy_buffer *page) {
    static const char hint[] = "symph counters: /metrics has them\n";
    bool head;
    switch (sy_http_parse(client->request, client->length, &head)) {
    case SY_HTTP_BAD:
        refuse(client, "400 Bad Request", "");
        break;
    case SY_HTTP_METHOD:
        refuse(client, "405 Method Not Allowed", "Allow: GET, HEAD\r\n");
        break;
    case SY_HTTP_OTHER:
        refuse(client, "404 Not Found", "");
        break;
    case SY_HTTP_ROOT:
        answer(client, "200 OK", "", !head, hint, sizeof hint - 1);
        break;
    case SY_HTTP_PAGE:
        if (page->length == 0) { /* nothing was read yet */
            refuse(client, "503 Service Unavailable", "Retry-After: 1\r\n");
        } else {
            answer(client, "200 OK", "", !head, page->text, page->length);
        }
        break;
    }
}

static bool is_whole(const struct client *client) {
    return memmem(client->request, client->length, "\r\n\r\n", 4) ||
           memmem(client->request, client->length, "\n\n", 2);
}

/* --- clients ---------------------------------------------------------------------------------- */
static void drop(struct client *client) {
    close(client->fd);
    sy_buffer_finish(&client->answer);
    client->stage = FREE;
}

static bool must_wait(ssize_t code) {
    return code < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

static void read_more(struct client *client, const struct sy_buffer *page) {
    ssize_t got =
        recv(client->fd, client->request + client->length, REQUEST_MAX - client->length, 0);
    if (must_wait(got)) {
        return;
    }
    if (got <= 0) {
        drop(client);
        return;
    }
    client->length += (size_t)got;
    if (is_whole(client)) {
        judge(client, page);
    } else if (client->length == REQUEST_MAX) {
        refuse(client, "400 Bad Request", "");
    }
}

static void write_more(struct client *client) {
    const struct sy_buffer *text = &client->answer;
    ssize_t put = text->failed ? -1
                               : send(client->fd, text->text + client->sent,
                                      text->length - client->sent, MSG_NOSIGNAL);
    if (!text->failed && must_wait(put)) {
        return;
    }
    if (put < 0) {
        drop(client);
        return;
    }
    client->sent += (size_t)put;
    if (client->sent == text->length) { /* closing now could cut off what is on its way */
        shutdown(client->fd, SHUT_WR);
        client->stage = DRAINING;
    }
}

static void drain(struct client *client) {
    char scratch[REQUEST_MAX];
    ssize_t got = recv(client->fd, scratch, sizeof scratch, 0);
    if (got <= 0 && !must_wait(got)) {
        drop(client);
    }
}

static void take(struct sy_serve *serve) {
    for (uint32_t i = 0; i < CLIENTS_MAX; i++) {
        struct client *client = &serve->clients[i];
        if (client->stage != FREE) {
            continue;
        }
        int fd = accept4(serve->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            return;
        }
        client->stage = READING;
        client->fd = fd;
        client->length = client->sent = 0;
        client->deadline_ns = sy_clock_ns() + PATIENCE_NS;
    }
}

static void attend(struct client *client, const struct sy_buffer *page) {
    if (client->stage == READING) {
        read_more(client, page);
    } else if (client->stage == DRAINING) {
        drain(client);
    }
    if (client->stage == WRITING) {
        write_more(client);
    }
}

/* Who is waited for; the listener is the last, and absent while all places are taken. */
static nfds_t gather(struct sy_serve *serve, struct pollfd *polls) {
    bool room = false;
    for (uint32_t i = 0; i < CLIENTS_MAX; i++) {
        const struct client *client = &serve->clients[i];
        room = room || client->stage == FREE;
        polls[i] = (struct pollfd){.fd = client->stage == FREE ? -1 : client->fd,
                                   .events = client->stage == WRITING ? POLLOUT : POLLIN};
    }
    polls[CLIENTS_MAX] = (struct pollfd){.fd = room ? serve->fd : -1, .events = POLLIN};
    return CLIENTS_MAX + 1;
}

void sy_serve_wait(struct sy_serve *serve, const struct sy_buffer *page, double then_ns) {
    struct pollfd polls[CLIENTS_MAX + 1];
    for (double now_ns; (now_ns = sy_clock_ns()) < then_ns && !sy_interrupt_seen();) {
        nfds_t count = gather(serve, polls);
        double left_ms = ceil((then_ns - now_ns) / 1e6);
        if (poll(polls, count, (int)fmin(left_ms, LOOK_MS)) < 0) {
            continue; /* a signal; the time and the reason are looked at above */
        }
        now_ns = sy_clock_ns();
        for (uint32_t i = 0; i < CLIENTS_MAX; i++) {
            struct client *client = &serve->clients[i];
            if (polls[i].revents) {
                attend(client, page);
            }
            if (client->stage != FREE && now_ns > client->deadline_ns) {
                drop(client);
            }
        }
        if (polls[CLIENTS_MAX].revents) {
            take(serve);
        }
    }
}

void sy_serve_close(struct sy_serve *serve) {
    if (!serve) {
        return;
    }
    for (uint32_t i = 0; i < CLIENTS_MAX; i++) {
        if (serve->clients[i].stage != FREE) {
            drop(&serve->clients[i]);
        }
    }
    close(serve->fd);
    free(serve);
}
