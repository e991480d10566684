/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the service: who is connected.
 */
#ifndef SY_SERVICE_INSIDE_H
#define SY_SERVICE_INSIDE_H

#include "service/service.h"
#include <sys/socket.h>
#include <sys/types.h>

#define GUESTS_MAX 256u

/* Somebody who is connected; he may not have said yet what he wants. */
struct guest {
    bool here;
    int socket, process, bell; /* a pidfd, an eventfd; -1: none */
    struct ucred who;
    uint64_t deadline_ns;         /* until when he must have spoken; 0: he has */
    uint32_t client;              /* the arbiter's; SY_NONE: he has not joined */
    struct sy_lease_board *board; /* mapped here for writing */
    struct sy_lease_desk *desk;
    uint64_t window_ns, muted_ns; /* he rings too often: until when nobody listens to him */
    uint32_t rings;
};

struct sy_service {
    struct sy_arbiter *arbiter;
    struct guest guests[GUESTS_MAX];
    char path[108];
    int socket, events; /* epoll */
    uint64_t then_ns;   /* when the arbiter must be asked again */
};

/* What a guest may send: as many names as he says, and nothing behind them. */
struct service_request {
    struct sy_broker_hello hello;
    char names[SY_SEATS_MAX][SY_BROKER_NAME];
};

uint64_t service_clock_ns(void);
/* Why the first size bytes are no request; NULL: they are one. */
const char *service_parse(const struct service_request *request, size_t size);
/* What somebody has sent. False: he is to be dropped. */
bool service_hear(struct sy_service *service, struct guest *guest);
/* Pages and an eventfd for a new client. 0 or a negative errno. */
SY_MUST_CHECK int service_seat(struct guest *guest, int ret_descriptors[3]);
void service_unseat(struct guest *guest);

#endif
