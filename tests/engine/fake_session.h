/* SPDX-License-Identifier: Apache-2.0
 *
 * A session in virtual time, for tests of what drives one: tasks compute when they are submitted
 * and end when a model says; every misuse fails the test. And a pipeline to run on it.
 */
#ifndef FAKE_SESSION_H
#define FAKE_SESSION_H

#include "engine/stream.h"

#define FAKE_CORES 4u
#define FAKE_GPUS  2u
#define FAKE_MOST  4096u

struct fake_task {
    void *tag;
    struct sy_session_ended ended;
};

struct fake {
    struct sy_session base;
    double now_ns, free_ns[2][FAKE_CORES]; /* [flavour][device] */
    /* data */
    void *pointers[FAKE_MOST];
    bool owned[FAKE_MOST]; /* memory that the driver did not give */
    uint64_t bytes[FAKE_MOST];
    double ready_ns[FAKE_MOST];
    uint32_t data_count, alive_count, added_count;
    int64_t allocated; /* allocations that were not released */
    /* tasks */
    struct fake_task tasks[FAKE_MOST];
    uint32_t task_count;
    uint32_t submitted;
    uint32_t runs[3][2][FAKE_CORES]; /* [kernel][flavour][device] */
    uint32_t splits;                 /* tasks in parts */
    double fail_at;                  /* submission that fails; 0: none */
    /* How long a kernel takes: n elements, on so many devices of a flavour. */
    double (*time_ns)(uint32_t kernel, uint32_t flavour, uint32_t width, double n);
};

void fake_init(struct fake *fake);

/* --- the pipeline: z = (x * w + 1) - x, in three kernels ----------------------------------------
 */
extern const char fake_text[];
struct fake_stream {
    uint64_t items, inputs; /* input number: item * inputs / items */
    double sizes[8];        /* n of each input */
    uint64_t wrong;         /* the item whose result is said to be wrong; UINT64_MAX: none */
    uint64_t bad_fill, bad_next;
    uint32_t filled[8], constants; /* how often */
    uint64_t checked;
    struct fake *fake;
};
/* Its arguments are a struct fake_stream's address, as text. */
extern const struct sy_kernel_pipeline fake_pipeline;

#endif
