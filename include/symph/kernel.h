/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel plug-ins: a shared object with a table of kernels, and of workloads made of them.
 *
 * A kernel is a function per flavour of device (C, CUDA, OpenCL). The engine calls it with data
 * that are already where the device computes. A graph names kernels; whichever plug-in has them
 * runs them. A workload is a graph with a meaning: it can fill its data and check the result; or a
 * function that submits tasks as it goes (symph/session.h).
 * A plug-in includes this header and says SY_KERNEL_PLUGIN(my_table); once. It links no library of
 * ours: the program that loads it has the public functions.
 */
#ifndef SYMPH_KERNEL_H
#define SYMPH_KERNEL_H

#include <symph/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SY_KERNEL_ABI         5
#define SY_ARGUMENT_MAX       16
#define SY_CALL_PARAMETER_MAX 8
#define SY_CALL_MESSAGE_MAX   256

enum sy_flavour { SY_FLAVOUR_C, SY_FLAVOUR_CUDA, SY_FLAVOUR_OPENCL, SY_FLAVOUR_COUNT };

struct sy_argument {
    void *pointer; /* C: host memory; CUDA: device memory; OpenCL: the cl_mem */
    uint64_t bytes;
    uint32_t mode; /* enum sy_access_mode, as the task accesses it */
};

struct sy_kernel_entry;

/* One task handed to one device. */
struct sy_call {
    const struct sy_kernel_entry *entry; /* which kernel: its row in the plug-in's table */
    enum sy_flavour flavour;             /* which of its functions */
    void *user;                          /* what the submitter gave; NULL for tasks of a graph */
    const struct sy_argument *arguments;
    uint32_t argument_count;
    double work; /* the task's */
    /* Sizes and switches that the submitter gives, in an order that the kernel documents; none for
     * tasks of a graph. */
    const double *parameters;
    uint32_t parameter_count;
    /* The call shall do part `part` of part_count equal ones of the result's rows; 0 of 1:
     * everything. More than one part only for a kernel that has part_max, one after the other and
     * perhaps on different devices; or for C, where the submitter asked for parts that run at the
     * same time. */
    uint32_t part, part_count;
    uint32_t device;     /* number among the devices of its flavour */
    void *queue;         /* CUDA: cudaStream_t; OpenCL: cl_command_queue; C: NULL */
    void *context;       /* OpenCL: cl_context; else NULL */
    void *opencl_device; /* OpenCL: cl_device_id; else NULL */
    char *message;       /* SY_CALL_MESSAGE_MAX bytes: what went wrong, for the user */
};

/* 0 or a negative errno, which fails the job. CUDA and OpenCL functions enqueue on call->queue and
 * need not wait. C functions run on one core and start no threads. Any thread may call. */
typedef int (*sy_kernel_function)(const struct sy_call *call);

/* What the time of a call depends on. */
struct sy_cost_features {
    double flops;
    double bytes;
};

struct sy_kernel_entry {
    const char *name; /* as graphs name it */
    const char *summary;
    uint32_t argument_count;         /* exactly so many; 0: any number */
    uint32_t modes[SY_ARGUMENT_MAX]; /* access each argument at least needs; 0: any */
    sy_kernel_function functions[SY_FLAVOUR_COUNT]; /* NULL: no such variant */
    /* From sizes and work, or from the data where pointers are set (they may be NULL). NULL: work
     * and the sum of the arguments' bytes. */
    void (*features)(const struct sy_call *call, struct sy_cost_features *ret_features);
    /* Called once per device of a flavour before its first task: compile, create handles. May be
     * NULL. */
    int (*prepare)(const struct sy_call *call);
    /* How long a declared FPGA card would take, by a model of its cycles: no card is asked.
     * Pointers of arguments are in host memory, or NULL where they are not there yet. NAN: not for
     * this call; NULL: there is no model. Whoever shows the number says that it is a model. */
    double (*fpga_model_ns)(const struct sy_call *call);
    /* A task can be split into up to this many parts (at most SY_PART_MAX; 0 or 1: it cannot), so
     * that devices can turn to other jobs between two of them. Each part is a call of any of the
     * functions, in order; arguments that are only written are read-write from the second on. */
    uint32_t part_max;
    double part_ns; /* that each part beyond the first takes more: what its caches lost, ... */
};

struct sy_session;

/* A graph with a meaning, e.g. "cholesky:n=4096,tile=512". Either build or drive is there. */
struct sy_kernel_workload {
    const char *name;
    const char *summary;
    const char *usage;       /* its arguments, for help: "n=SIZE,tile=SIZE[,seed=N]" */
    const char *calibration; /* space-separated arguments of runs that exercise its kernels */
    /* arguments: what stands behind the name, "" if nothing. The graph is sealed. */
    int (*build)(const char *arguments, struct sy_graph **ret_graph, void **ret_state,
                 struct sy_error *error);
    /* Before the run, for each datum that some task reads before it is written. */
    int (*fill)(void *state, uint32_t datum, void *pointer, uint64_t bytes);
    /* After the run: data[i] is datum i in host memory. Relative error of the result, to be
     * compared with tolerance. */
    int (*check)(void *state, void *const *data, double *ret_error, double *ret_tolerance,
                 struct sy_error *error);
    void (*destroy)(void *state);
    /* Instead of all above: submits tasks until it is done. An error if its result is wrong;
     * -EBADMSG: the input is malformed; -EIO, -ENOSPC: the output could not be written. */
    int (*drive)(const char *arguments, struct sy_session *session, struct sy_error *error);
};

/* A pipeline: the same few kernels for every item of a stream, e.g. "gnn:gcn:items=200". `symph
 * plan` maps it onto devices, `symph run --pipeline` streams items through it. */
struct sy_kernel_pipeline {
    const char *name;
    const char *summary;
    const char *usage; /* its arguments, as of a workload */
    const char *text;  /* symph-pipeline-1: kernels, data, features of an item */
    /* A stream of items. */
    int (*open)(const char *arguments, void **ret_state, struct sy_error *error);
    /* The next item, numbered from 0: 1, or 0 when there are no more, or a negative errno.
     * ret_values: its features in the order of the text. Items with the same *ret_input have the
     * same bytes as input, which are then filled in once. */
    int (*next)(void *state, uint64_t item, double *ret_values, uint64_t *ret_input);
    /* Fills a datum (by its number in the text): an input of an item, or, with item UINT64_MAX,
     * what is constant. Called from one thread. */
    int (*fill)(void *state, uint64_t item, uint32_t datum, void *pointer, uint64_t bytes);
    /* The result of an item: data[i] is datum i in host memory, NULL where it is not there (neither
     * input, constant nor output). Relative error, to be compared with tolerance. */
    int (*check)(void *state, uint64_t item, void *const *data, double *ret_error,
                 double *ret_tolerance, struct sy_error *error);
    void (*close)(void *state);
};

struct sy_kernel_table {
    const char *name; /* of the plug-in, in "linalg:cholesky:..." */
    const char *version;
    const char *summary;
    const struct sy_kernel_entry *kernels;
    uint32_t kernel_count;
    const struct sy_kernel_workload *workloads;
    uint32_t workload_count;
    const struct sy_kernel_pipeline *pipelines;
    uint32_t pipeline_count;
};

#define SY_KERNEL_PLUGIN(table)                                                                    \
    SY_API extern const struct sy_kernel_table *const sy_kernel_plugin;                            \
    SY_API extern const uint32_t sy_kernel_plugin_abi;                                             \
    const struct sy_kernel_table *const sy_kernel_plugin = &(table);                               \
    const uint32_t sy_kernel_plugin_abi = SY_KERNEL_ABI

#ifdef __cplusplus
}
#endif
#endif
