/* SPDX-License-Identifier: Apache-2.0
 *
 * broker: who may use which device now, where several programs want the same.
 *
 * In: what clients ask for, on pages that each of them writes. Out: leases, on pages that each can
 * only read. Never knows: tasks, StarPU, what a device is but a name; the arbiter knows neither
 * sockets nor the clock. Invariants: one client at a time has a device, unless one that was told to
 * let go does not; over time tenants get their shares; nobody waits for longer than the quanta of
 * those before him, their tasks' ends and the grace of those who do not let go.
 */
#ifndef SY_BROKER_BROKER_H
#define SY_BROKER_BROKER_H

#include "base/base.h"
#include "broker/pages.h"

#define SY_BROKER_VERSION  1u
#define SY_BROKER_NAME     32u  /* of a device or a tenant, with its NUL */
#define SY_BROKER_ROWS     256u /* tenants that are told of */
#define SY_BROKER_VARIABLE "SYMPH_BROKER"

/* --- arbiter: who is next ----------------------------------------------------------------------
 */
struct sy_arbiter_options {
    uint64_t quantum_ns;      /* how long a device is one's own while others wait */
    uint64_t core_quantum_ns; /* the same of cores, which only change hands where shares are odd */
    uint64_t least_ns;        /* the same where somebody waits who has used less than his share */
    uint64_t grace_ns;        /* beyond it, for who does not let go */
    /* The bell of that device rang: wakes its client. */
    void (*wake)(void *context, const _Atomic uint32_t *bell);
    void *context;
};

/* A client as it joins. Board and desk are borrowed until it leaves. */
struct sy_arbiter_client {
    const char *tenant;
    struct sy_lease_board *board;
    const struct sy_lease_desk *desk;
    const char (*devices)[SY_BROKER_NAME]; /* by name; see SY_BROKER_CORE */
    uint32_t device_count;
};

/* Devices whose names begin like this are cores: each tenant keeps as many as are its share. */
#define SY_BROKER_CORE "core:"

struct sy_arbiter_tenant {
    char name[SY_BROKER_NAME];
    double weight;
    uint32_t clients;  /* that are here */
    uint32_t held;     /* devices */
    uint32_t waiting;  /* devices that are wanted and not held */
    double used_s;     /* device time, since it came */
    double longest_ms; /* that somebody of it has waited for a device */
};

struct sy_arbiter;
SY_MUST_CHECK int sy_arbiter_create(const struct sy_arbiter_options *options,
                                    struct sy_arbiter **ret_arbiter);
void sy_arbiter_destroy(struct sy_arbiter *arbiter);
/* The share of a tenant, present or to come; 1 if it was never told. -ENOMEM. */
SY_MUST_CHECK int sy_arbiter_set_weight(struct sy_arbiter *arbiter, const char *tenant,
                                        double weight);
/* *ret_client stays its number until it leaves. -ENOMEM. */
SY_MUST_CHECK int sy_arbiter_join(struct sy_arbiter *arbiter,
                                  const struct sy_arbiter_client *client, uint64_t now_ns,
                                  uint32_t *ret_client);
/* Whatever it had is free at once. */
void sy_arbiter_leave(struct sy_arbiter *arbiter, uint32_t client, uint64_t now_ns);
/* Looks at the desks of one client, or of all (SY_NONE), and acts on them. Returns when it must be
 * called again at the latest; UINT64_MAX: not before somebody joins or rings. */
uint64_t sy_arbiter_step(struct sy_arbiter *arbiter, uint32_t client, uint64_t now_ns);
/* By number, from 0; false: there is none. */
bool sy_arbiter_tenant(const struct sy_arbiter *arbiter, uint32_t number,
                       struct sy_arbiter_tenant *ret_tenant);

/* --- messages ----------------------------------------------------------------------------------
 */
enum sy_broker_request { SY_BROKER_JOIN = 1, SY_BROKER_TELL };

/* What a client sends first, in one packet, followed by its devices' names. */
struct sy_broker_hello {
    char magic[8]; /* "symphbrk" */
    uint32_t version;
    uint32_t request;
    char tenant[SY_BROKER_NAME]; /* what the user calls this program's account; "": none */
    uint32_t device_count;
    uint32_t reserved;
};
#define SY_BROKER_MAGIC "symphbrk"

/* The answer. To SY_BROKER_JOIN, with three descriptors: board, desk, and an eventfd to ring. To
 * SY_BROKER_TELL, followed by rows of struct sy_arbiter_tenant. */
struct sy_broker_welcome {
    char magic[8];
    uint32_t version;
    int32_t code; /* 0, or a negative errno, and why */
    char why[256];
};

/* --- lease: a client's side --------------------------------------------------------------------
 */
struct sy_lease {
    const struct sy_lease_board *board;
    struct sy_lease_desk *desk;
    int bell, socket;
    uint32_t device_count;
    _Atomic bool gone;             /* the broker; everything is ours */
    uint64_t grants[SY_SEATS_MAX]; /* that it acts on; each its worker's own */
    bool used[SY_SEATS_MAX];       /* at least one task has run under it */
};

/* Where the broker of this user, or of the machine, listens: what SYMPH_BROKER names, else the
 * socket that exists. -ENOENT: there is none, or SYMPH_BROKER=none. */
SY_MUST_CHECK int sy_lease_find(char *ret_path, size_t size, struct sy_error *error);
/* Where one would be made. */
SY_MUST_CHECK int sy_lease_own_path(char *ret_path, size_t size, struct sy_error *error);
/* Joins. Devices that are free are leased when this returns. */
SY_MUST_CHECK int sy_lease_open(const char *path, const char *tenant,
                                const char (*devices)[SY_BROKER_NAME], uint32_t device_count,
                                struct sy_lease **ret_lease, struct sy_error *error);
void sy_lease_close(struct sy_lease *lease);
/* The tenants that the broker tells us of, at most SY_BROKER_ROWS. */
SY_MUST_CHECK int sy_lease_tell(const char *path, struct sy_arbiter_tenant *ret_tenants,
                                uint32_t *ret_count, struct sy_error *error);

/* Each of these is called by the one worker of that device. */

/* May it begin a task now? Then it holds the device until sy_lease_pause. */
bool sy_lease_take(struct sy_lease *lease, uint32_t device);
/* The task has ended. */
void sy_lease_pause(struct sy_lease *lease, uint32_t device);
/* There is nothing to do: whoever waits gets it. */
void sy_lease_rest(struct sy_lease *lease, uint32_t device);
/* Sleeps until the device may be this client's, or time is up. */
void sy_lease_wait(struct sy_lease *lease, uint32_t device, uint64_t most_ns);
/* By anybody: there is work for it. */
void sy_lease_want(struct sy_lease *lease, uint32_t device);
/* Others wait for it, or have it. */
bool sy_lease_is_wanted(const struct sy_lease *lease, uint32_t device);

#endif
