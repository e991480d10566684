/* SPDX-License-Identifier: Apache-2.0
 *
 * request: what is asked of an engine, and the one table of its keys.
 *
 * In: a request that the command line (or a service) filled; or KEY=VALUE texts. Out: the other one
 * of the two. Name, type and limits of a key are said once, in request.c: the command line checks
 * its options with them, the supervisor writes what it asks with them and the engine reads it with
 * them. Invariant: what was written reads back the same.
 */
#ifndef SY_ENGINE_REQUEST_H
#define SY_ENGINE_REQUEST_H

#include "base/base.h"
#include "planner/planner.h"

/* Texts are borrowed; NULL: not given. */
struct sy_request {
    const char
        *spec; /* PLUGIN:WORKLOAD:ARGUMENTS, a graph file or a generator; of a pipeline, too */
    const char *policy;
    const char *kernels, *models; /* NULL: where the engine looks by itself; models "": nowhere */
    uint64_t seed;
    uint32_t cpus, opencl, cuda; /* most workers of each; SY_NONE: as many as there are */
    uint32_t samples; /* of calibration, per kernel, size and class of device; 0: a normal run */
    double limit_s;   /* of one task; all others follow from it: engine.h */
    double start_limit_s; /* until it is ready; 0: as the limit says */
    bool check;           /* the result against the reference */
    bool emulate;         /* kernels that no plug-in has are stood in for */
    /* Of a stream of jobs, the graphs that they are drawn from, one a line; NULL: it is none. */
    const char *graphs, *only; /* only: a pattern of their names; NULL: all */
    const char *arrivals;      /* a file that says who sends which when; NULL: they are drawn: */
    uint32_t tenants, jobs;
    bool preempt;            /* cores put a task aside for one of a job that comes first */
    bool split;              /* tasks whose kernel can be split run in parts */
    double load, time_scale; /* times that graphs and arrivals state take so many times as long */
    /* Of a pipeline: */
    bool pipeline, check_all, watts, side_by_side;
    const char *objective, *plan, *times;
    const char *calibrate; /* a file for the times */
    const char *limits;    /* of classes: "gpu=1;memory.h200=4e10" */
    struct sy_plan_bounds bounds;
    uint32_t window; /* 0: as the engine sees fit */
    /* Between the supervisor and its engine: */
    const char *record; /* where the record goes */
    uint32_t page_fd;   /* SY_NONE: nobody watches */
    uint32_t parent;    /* process id of who started it; 0: not told */
};

/* What a request is where nothing is said. */
extern const struct sy_request sy_request_default;

/* How long it may take until it is ready. */
double sy_request_start_limit_s(const struct sy_request *request);

enum sy_key_type {
    SY_KEY_TEXT,    /* const char *, not empty */
    SY_KEY_ANY,     /* const char *, may be empty */
    SY_KEY_FLAG,    /* bool */
    SY_KEY_COUNT,   /* uint32_t */
    SY_KEY_NUMBER,  /* uint64_t */
    SY_KEY_SECONDS, /* double */
    SY_KEY_AMOUNT,  /* double; infinite: no limit */
};

struct sy_key {
    const char *name;
    enum sy_key_type type;
    bool wired;       /* for the supervisor alone */
    size_t offset;    /* in struct sy_request */
    double low, high; /* of numbers */
};

/* NULL: there is none. */
const struct sy_key *sy_request_key(const char *name, size_t length);
/* The i-th; NULL past the end. */
const struct sy_key *sy_request_key_at(uint32_t i);

/* KEY=VALUE texts, which the request borrows. wired: from the supervisor. -EINVAL: one is wrong;
 * the others are read all the same. */
SY_MUST_CHECK int sy_request_read(uint32_t count, char *const *texts, bool wired,
                                  struct sy_request *ret_request, struct sy_error *error);
/* The same texts again: a NULL-terminated array in the arena, first (NULL: nothing) ahead of them.
 * What is as in sy_request_default is left out. NULL: out of memory. */
char **sy_request_write(const struct sy_request *request, const char *first,
                        struct sy_arena *arena);

#endif
