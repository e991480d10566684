/* SPDX-License-Identifier: Apache-2.0
 *
 * The synthetic kernels on a CPU core; see synthetic.h.
 */
#include "synthetic.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Keeps the compiler from leaving out what nobody reads. */
#define KEEP(value) __asm__ volatile("" : : "r,m"(value) : "memory")

static size_t elements(const struct sy_argument *argument) {
    return argument->bytes / sizeof(double);
}

/* By the first part: to the others everything is read-write. */
static void stamp(const struct sy_call *call) {
    for (uint32_t at = 0; call->part == 0 && at < call->argument_count; at++) {
        const struct sy_argument *argument = &call->arguments[at];
        double *first = argument->pointer;
        if ((argument->mode & SY_WRITE) && elements(argument) > 0) {
            *first = argument->mode & SY_READ ? *first + 1 : 1;
        }
    }
}

static int spin(const struct sy_call *call) {
    enum { CHAINS = 16 }; /* enough to hide the latency of one multiplication and addition */
    double values[CHAINS] = {0};
    for (double done = 0; done < synthetic_share(call); done += 2 * CHAINS) {
        for (int at = 0; at < CHAINS; at++) {
            values[at] = values[at] * 0.5 + 1.0;
        }
    }
    for (int at = 0; at < CHAINS; at++) {
        KEEP(values[at]);
    }
    stamp(call);
    return 0;
}

static int stream(const struct sy_call *call) {
    uint32_t passes = synthetic_passes(call);
    for (uint32_t pass = 0; pass < passes; pass++) {
        for (uint32_t at = 0; at < call->argument_count; at++) {
            const struct sy_argument *argument = &call->arguments[at];
            double *data = argument->pointer, sum = 0;
            size_t count = elements(argument);
            if (argument->mode == SY_WRITE && pass == 0) {
                memset(data, 0, count * sizeof(double));
            }
            for (size_t i = 0; argument->mode & SY_WRITE && i < count; i++) {
                data[i] += 1;
            }
            for (size_t i = 0; argument->mode == SY_READ && i < count; i++) {
                sum += data[i];
            }
            KEEP(sum);
            KEEP(data);
        }
    }
    return 0;
}

/* The host has no link: it copies in its own memory. */
static int transfer(const struct sy_call *call) {
    char *staging = malloc(SYNTHETIC_STAGING_BYTES);
    if (!staging) {
        return guest_call_fail(call, -ENOMEM, "transfer: out of memory");
    }
    size_t half = SYNTHETIC_STAGING_BYTES / 2;
    memset(staging, 0, SYNTHETIC_STAGING_BYTES);
    for (double left = call->work; left > 0; left -= (double)half) {
        memcpy(staging, staging + half, left < (double)half ? (size_t)left : half);
        KEEP(staging);
    }
    free(staging);
    stamp(call);
    return 0;
}

/* A parameter: the time is the thread's own, which stands while another one has the core. */
static int emulate(const struct sy_call *call) {
    bool own = call->parameter_count > 0;
    uint64_t work_ns = (uint64_t)synthetic_share(call);
    uint64_t begun_ns = synthetic_now_ns(), own_begun_ns = own ? synthetic_own_ns() : 0, had_ns;
    stamp(call);
    synthetic_wait_until(begun_ns + work_ns, false);
    while (own && (had_ns = synthetic_own_ns() - own_begun_ns) < work_ns) {
        synthetic_wait_until(synthetic_now_ns() + work_ns - had_ns, false);
    }
    return 0;
}

const struct synthetic_part synthetic_c = {NULL, {spin, stream, transfer, emulate}};
