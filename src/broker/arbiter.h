/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the arbiter: who is here, what they want and have, what they have used.
 */
#ifndef SY_BROKER_ARBITER_H
#define SY_BROKER_ARBITER_H

#include "broker/broker.h"

struct arbiter_tenant {
    char name[SY_BROKER_NAME];
    double weight;
    uint32_t clients;
    uint32_t cores_held, cores_wanted; /* wanted and not held */
    double used_ns;
    uint64_t longest_ns;
};

/* A client's relation to one of its devices. */
struct arbiter_post {
    uint32_t device;
    bool wants;          /* it did when its desk was last looked at, and has not got it */
    uint64_t since_ns;   /* that */
    uint64_t overdue;    /* a lease that it was told to end and has not; 0: none */
    uint64_t counted_ns; /* until when that was charged */
    double used_ns;
};

struct arbiter_client {
    bool here, counted; /* among its tenant's */
    uint32_t tenant;
    struct sy_lease_board *board;
    const struct sy_lease_desk *desk;
    struct arbiter_post *posts; /* per seat */
    uint32_t device_count;
    uint32_t cores_held;
};

struct arbiter_member {
    uint32_t client, seat;
};

struct arbiter_device {
    char name[SY_BROKER_NAME];
    bool core;
    struct arbiter_member *members; /* clients that have it among their devices */
    uint32_t member_count, member_capacity;
    struct arbiter_member owner; /* client SY_NONE: nobody */
    uint64_t number;             /* of the present lease, or of the last one */
    uint64_t granted_ns, counted_ns;
    uint64_t until_ns, due_ns; /* 0: nobody else wants it */
    uint64_t then_ns;          /* when it must be looked at again */
    bool idle;                 /* its owner had no use for it when that was last looked at */
    bool revoking;             /* the board is cleared, and its owner still at work */
    /* What tenants have used of it, by their weights; cores have one account together. */
    uint32_t account, own_account; /* 0: it has none of its own */
};

struct arbiter_account {
    double *used; /* per tenant: ns over weight */
    uint32_t capacity;
};

struct sy_arbiter {
    struct sy_arbiter_options options;
    struct arbiter_tenant *tenants;
    struct arbiter_client *clients;
    struct arbiter_device *devices;
    struct arbiter_account *accounts; /* 0: of cores */
    uint32_t tenant_count, tenant_capacity, client_count, client_capacity;
    uint32_t device_count, device_capacity, account_count, account_capacity;
    uint32_t core_count;    /* devices that are cores */
    uint64_t leases;        /* granted so far */
    uint32_t leaving_cores; /* that are to change hands */
    uint64_t now_ns;
    bool moved; /* a device changed hands, or who wants one, since this was last cleared */
};

/* --- shares: share.c ---------------------------------------------------------------------------
 */
/* Whoever has it now is charged until now. */
void arbiter_count(struct sy_arbiter *a, struct arbiter_device *d, uint64_t now_ns);
/* It begins to want: who was away has no claim on the time that he was, but for one quantum. True:
 * it has used so little that it should not wait for a whole quantum of another. */
bool arbiter_credit(struct sy_arbiter *a, const struct arbiter_device *d, uint32_t tenant);
/* Should this member get it from its owner? */
bool arbiter_deserves(const struct sy_arbiter *a, const struct arbiter_device *d,
                      struct arbiter_member m);
/* Its tenant lacks a whole core of his share, which he had lent: he gets it back at once. */
bool arbiter_misses_core(const struct sy_arbiter *a, const struct arbiter_device *d,
                         struct arbiter_member m);
/* Of two members that want it, is m before n? */
bool arbiter_before(const struct sy_arbiter *a, const struct arbiter_device *d,
                    struct arbiter_member m, struct arbiter_member n);
/* Cores that should change hands, by what tenants have and want. */
uint32_t arbiter_missing_cores(const struct sy_arbiter *a);

#endif
