/* SPDX-License-Identifier: Apache-2.0
 *
 * What the plug-ins of this folder share: options behind a workload's name, errors, and parts.
 *
 * A part is a shared object of its own (CUDA, OpenCL) that a plug-in loads when a device of that
 * kind is first prepared, so that the plug-in itself loads where neither is installed. Uses only
 * the public headers: what is here, other people's plug-ins could do as well.
 */
#ifndef GUEST_H
#define GUEST_H

#include <stdatomic.h>
#include <symph/kernel.h>

#define GUEST_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define GUEST_WORD_MAX     192

/* A variant's function where the plug-in is built with such parts; NULL: no such variant. */
#ifdef GUEST_CUDA
#define GUEST_IF_CUDA(function) function
#else
#define GUEST_IF_CUDA(function) NULL
#endif
#ifdef GUEST_OPENCL
#define GUEST_IF_OPENCL(function) function
#else
#define GUEST_IF_OPENCL(function) NULL
#endif

/* One "name=value". A number has bounds; a word has choices, of which several may be joined by '+'
 * where many is set. */
struct guest_option {
    const char *name;
    double value, low, high; /* value: the default, then what was given */
    bool whole;              /* integers only */
    const char *choices;     /* "spin stream"; NULL: a number */
    bool many;
    char word[GUEST_WORD_MAX]; /* the default, then what was given */
};

/* Fills error and returns code. hint may be NULL. */
__attribute__((format(printf, 4, 5))) int guest_fail(struct sy_error *error, int code,
                                                     const char *hint, const char *format, ...);
/* The same for a call that fails. */
__attribute__((format(printf, 3, 4))) int guest_call_fail(const struct sy_call *call, int code,
                                                          const char *format, ...);

/* Reads "n=4096,tile=512" into options; what is not named keeps its default. */
SY_MUST_CHECK int guest_parse(const char *workload, const char *arguments,
                              struct guest_option *options, uint32_t count, struct sy_error *error);

/* Uniform in [0, 1), the same for the same seed and index everywhere. */
static inline double guest_noise(uint64_t seed, uint64_t index) {
    uint64_t x = (seed + 1) * 0xD1B54A32D192ED03u + index * 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    x ^= x >> 31;
    return (double)(x >> 11) * 0x1p-53;
}

/* Digit-reversed counting: points that fill [0, 1) evenly, in each base (a prime) differently. */
static inline double guest_halton(uint32_t index, uint32_t base) {
    double value = 0, digit = 1.0 / base;
    for (; index; index /= base, digit /= base) {
        value += index % base * digit;
    }
    return value;
}

/* What a plug-in has for one flavour: a table of its own, or one in a shared object beside it. */
struct guest_part {
    const char *file;   /* relative to the plug-in's folder */
    const char *symbol; /* of the table in it */
    _Atomic(const void *) table;
};

/* The table of the call's flavour among parts[SY_FLAVOUR_COUNT]. Loads it at the first call; later
 * calls only read a pointer. Any thread. */
SY_MUST_CHECK int guest_part_load(struct guest_part *parts, const struct sy_call *call,
                                  const void **ret_table);
/* The same, and calls its prepare, unless that is NULL. Of tables that begin with it. */
SY_MUST_CHECK int guest_part_prepare(struct guest_part *parts, const struct sy_call *call);

/* A lock for the rare moments when a lane (the handles of one queue) is made. */
struct guest_lock {
    atomic_flag taken;
};
void guest_lock(struct guest_lock *lock);
void guest_unlock(struct guest_lock *lock);

/* Lanes: what a queue needs for itself, made at its first use and kept as long as the process
 * lives. Zero-initialised; any thread. */
enum { GUEST_LANE_MAX = 64 };
struct guest_lanes {
    struct guest_lock lock;
    atomic_uint count;
    const void *queues[GUEST_LANE_MAX];
    uint32_t devices[GUEST_LANE_MAX];
    void *lanes[GUEST_LANE_MAX];
};
/* The lane of the call's queue and device; make makes one. */
SY_MUST_CHECK int guest_lane_open(struct guest_lanes *lanes, const struct sy_call *call,
                                  int (*make)(const struct sy_call *call, void **ret_lane),
                                  void **ret_lane);

#endif
