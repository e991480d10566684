/* SPDX-License-Identifier: Apache-2.0
 *
 * The two pages of memory through which a client and the broker hand a device over.
 *
 * board: the broker writes it, its client can only read it. desk: the client writes it, and the
 * broker believes nothing on it but whose turn it is. Each client has a pair of its own, so nobody
 * sees or touches what is another's.
 *
 * A lease has a number, which never comes again. To take a device that is leased to it, a client
 * notes the number on its desk (hold) and looks at the board once more; to take it away, the broker
 * clears the board (grant) and looks at the desk once more. So one of them sees the other, and a
 * device that nobody else wants costs its holder a few nanoseconds, without a system call.
 */
#ifndef SY_BROKER_PAGES_H
#define SY_BROKER_PAGES_H

#include <stdatomic.h>
#include <stdint.h>

#define SY_SEATS_MAX     512u       /* devices of a client */
#define SY_PAGE_LINE     64         /* of the cache */
#define SY_SEAT_FOR_EVER UINT64_MAX /* until then: your share, but others would take it */

struct sy_lease_seat {
    _Alignas(SY_PAGE_LINE) _Atomic uint64_t grant; /* the lease; 0: it is not yours */
    /* CLOCK_MONOTONIC: others wait, yours until then; 0: nobody does. */
    _Atomic uint64_t until_ns;
    _Atomic uint32_t bell; /* one more with each grant; a futex */
};

struct sy_lease_place {
    _Alignas(SY_PAGE_LINE) _Atomic uint64_t hold; /* the lease under which it works now; 0: none */
    _Atomic uint64_t yielded;                     /* the last lease that it gave back by itself */
    _Atomic uint32_t want;                        /* 1: there is work */
};

struct sy_lease_board {
    struct sy_lease_seat seats[SY_SEATS_MAX];
};

struct sy_lease_desk {
    struct sy_lease_place places[SY_SEATS_MAX];
};

#endif
