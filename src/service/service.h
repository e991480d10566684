/* SPDX-License-Identifier: Apache-2.0
 *
 * service: the broker as a process: clients come and go over a socket.
 *
 * In: a socket, what clients send, the clock. Out: leases, by broker/. Never knows: what clients do
 * with their devices. Invariants: one thread; whoever connects is told apart by what the kernel
 * says of him; nothing that a client sends or writes can stop the others; a client that dies gives
 * back at once.
 */
#ifndef SY_SERVICE_SERVICE_H
#define SY_SERVICE_SERVICE_H

#include "broker/broker.h"

struct sy_service_weight {
    const char *tenant;
    double weight;
};

struct sy_service_options {
    const char *path; /* of the socket */
    double quantum_s, core_quantum_s, grace_s;
    const struct sy_service_weight *weights;
    uint32_t weight_count;
};

struct sy_service;
SY_MUST_CHECK int sy_service_open(const struct sy_service_options *options,
                                  struct sy_service **ret_service, struct sy_error *error);
/* Serves until something has happened, or for most_ms. 0 or a negative errno. */
SY_MUST_CHECK int sy_service_step(struct sy_service *service, int most_ms);
/* Clients go on alone. */
void sy_service_close(struct sy_service *service);

#endif
