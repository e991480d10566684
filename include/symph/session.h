/* SPDX-License-Identifier: Apache-2.0
 *
 * A session: how a program submits tasks as it goes, where no graph is known in advance.
 *
 * A workload whose table entry has `drive` is handed a session by the engine. It describes data in
 * host memory, submits tasks that access them, waits for tasks to end, reads what they left, and
 * submits more; it returns when it is done. Dependencies follow from accesses in order of
 * submission, as in a graph. Tasks belong to jobs, and jobs to tenants, between whom the policy is
 * fair. All functions are called from the thread that called drive, and from no other.
 */
#ifndef SYMPH_SESSION_H
#define SYMPH_SESSION_H

#include <symph/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sy_session;

/* In sy_access.mode beside the access itself: before the task is reported as ended, what it wrote
 * is brought to the host memory of the datum, and may be read there until the next writer is
 * submitted. */
#define SY_FETCH_BACK 4u

/* A device, by flavour (enum sy_flavour) and number among those of the flavour. */
struct sy_session_place {
    uint32_t flavour, number;
};

struct sy_session_task {
    const char *kernel; /* of the same plug-in, or "plugin:kernel" */
    const char *name;   /* for records and pictures; copied; NULL: the kernel's */
    double work;        /* what the kernel's call is told, and its cost depends on: cells, reads */
    const struct sy_access *accesses; /* datum numbers of sy_session_add_data */
    uint32_t access_count;
    uint32_t job;
    int32_t
        priority; /* only between tasks of the same job, and only for policies that look at it */
    void *tag;    /* comes back from wait; NULL: the end of the task is not reported */
    const double *parameters; /* for the call; copied; at most SY_CALL_PARAMETER_MAX */
    uint32_t parameter_count;
    /* Where it must run, instead of where the policy would put it; place_count 0: the policy
     * decides. Several, all C: the call is split into as many parts, one on each. */
    const struct sy_session_place *places;
    uint32_t place_count;
    /* Comes to the kernel's functions as it is. What it points to is no datum: nothing is moved,
     * and no order between tasks follows from it. */
    void *user;
};

/* How a task that ended ran. Of parts: from the first start to the last end. */
struct sy_session_ended {
    double start_ns, end_ns;       /* since the session began */
    double duration_ns;            /* of computing: without waiting, without copies */
    struct sy_session_place place; /* of the first part */
};

struct sy_session_ops {
    /* Page-locked where a device profits from it; freed memory is kept for the next of its size.
     * NULL when out of memory. */
    void *(*allocate)(struct sy_session *session, uint64_t bytes);
    void (*release)(struct sy_session *session, void *pointer, uint64_t bytes);
    /* Host memory of the caller's that tasks will access, from allocate or anywhere. What it holds
     * is the datum's value. NULL: it lives wherever it is computed; the first task that accesses it
     * writes it, and none fetches it back. */
    int (*add_data)(struct sy_session *session, const char *name, void *pointer, uint64_t bytes,
                    uint32_t *ret_datum);
    /* Forgets the datum; waits for tasks that still use it. Its memory is the caller's again; its
     * value there is undefined unless it was fetched back. */
    void (*drop_data)(struct sy_session *session, uint32_t datum);
    /* A unit of work whose completion somebody waits for. tenant: "" for the user's own; weight:
     * its share among tenants, 1 is usual. */
    int (*begin_job)(struct sy_session *session, const char *name, const char *tenant,
                     double weight, uint32_t *ret_job);
    /* No more tasks will be submitted for it. */
    void (*end_job)(struct sy_session *session, uint32_t job);
    int (*submit)(struct sy_session *session, const struct sy_session_task *task);
    /* The next task that ended, in the order in which they ended; blocks. NULL: nothing that would
     * be reported is submitted any more. */
    int (*wait)(struct sy_session *session, void **ret_tag);
    /* Of the task that wait returned last. */
    void (*ended)(struct sy_session *session, struct sy_session_ended *ret_ended);
    /* Time since the session began. */
    double (*now_ns)(struct sy_session *session);
    /* For the progress bar: what is done of what will have to be, in any unit; total 0: not known.
     */
    void (*progress)(struct sy_session *session, double done, double total, const char *unit);
    /* One line for the summary and the record ("calls 5,431"): key and value are copied. */
    void (*note)(struct sy_session *session, const char *key, const char *value);
    /* How many devices can run this kernel, per flavour (enum sy_flavour); for sizing batches. */
    uint32_t (*device_count)(struct sy_session *session, const char *kernel, uint32_t flavour);
};

/* The engine's own state follows behind. */
struct sy_session {
    const struct sy_session_ops *ops;
};

#ifdef __cplusplus
}
#endif
#endif
