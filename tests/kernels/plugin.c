/* SPDX-License-Identifier: Apache-2.0
 *
 * Small plug-ins for the tests, one per TABLE: a good one, one with the same kernel under another
 * name, and those that must be refused.
 */
#include <errno.h>
#include <symph/kernel.h>

/* Not every table has all of these. */
__attribute__((unused)) static int nothing(const struct sy_call *call) {
    (void)call;
    return 0;
}

__attribute__((unused)) static void features(const struct sy_call *call,
                                             struct sy_cost_features *ret_features) {
    ret_features->flops = 2 * call->work;
    ret_features->bytes = -1;
}

__attribute__((unused)) static int build(const char *arguments, struct sy_graph **ret_graph,
                                         void **ret_state, struct sy_error *error) {
    (void)arguments, (void)ret_graph, (void)ret_state, (void)error;
    return -ENOSYS;
}

__attribute__((unused)) static int fill(void *state, uint32_t datum, void *pointer,
                                        uint64_t bytes) {
    (void)state, (void)datum, (void)pointer, (void)bytes;
    return -ENOSYS;
}

__attribute__((unused)) static int drive(const char *arguments, struct sy_session *session,
                                         struct sy_error *error) {
    (void)arguments, (void)session, (void)error;
    return -ENOSYS;
}

__attribute__((unused)) static int stream_open(const char *arguments, void **ret_state,
                                               struct sy_error *error) {
    (void)arguments, (void)ret_state, (void)error;
    return -ENOSYS;
}

__attribute__((unused)) static int stream_next(void *state, uint64_t item, double *ret_values,
                                               uint64_t *ret_input) {
    (void)state, (void)item, (void)ret_values, (void)ret_input;
    return 0;
}

__attribute__((unused)) static int stream_fill(void *state, uint64_t item, uint32_t datum,
                                               void *pointer, uint64_t bytes) {
    (void)state, (void)item, (void)datum, (void)pointer, (void)bytes;
    return -ENOSYS;
}

__attribute__((unused)) static void stream_close(void *state) {
    (void)state;
}

#define C_ONLY                                                                                     \
    { nothing, NULL, NULL }
#define DEFAULT_KERNELS                                                                            \
    {.name = "axpy", .argument_count = 2, .modes = {SY_READ, SY_READ_WRITE}, .functions = C_ONLY}, \
    {                                                                                              \
        .name = "sum", .functions = {NULL, nothing, nothing}, .features = features                 \
    }
#define WORKLOAD(word)                                                                             \
    { .name = word, .usage = "n=SIZE", .calibration = "n=1 n=2", .build = build }

#define PIPELINE(word)                                                                             \
    {                                                                                              \
        .name = word, .usage = "items=N", .text = "{}", .open = stream_open, .next = stream_next,  \
        .fill = stream_fill, .close = stream_close                                                 \
    }

#if TABLE == 0 /* good */
#define NAME    "good"
#define KERNELS DEFAULT_KERNELS
#define WORKLOADS                                                                                  \
    WORKLOAD("walk"), WORKLOAD("run"), {                                                           \
        .name = "driven", .drive = drive                                                           \
    }
#define PIPELINES PIPELINE("stream"), PIPELINE("walk")
#elif TABLE == 1 /* another with the same kernel */
#define NAME "other"
#define KERNELS                                                                                    \
    {.name = "axpy", .functions = C_ONLY}, {                                                       \
        .name = "only", .functions = C_ONLY                                                        \
    }
#define WORKLOADS WORKLOAD("walk")
#elif TABLE == 2 /* the same name of a plug-in */
#define NAME "good"
#define KERNELS                                                                                    \
    { .name = "hidden", .functions = C_ONLY }
#define WORKLOADS WORKLOAD("walk")
#elif TABLE == 3
#define NAME "twice"
#define KERNELS                                                                                    \
    {.name = "a", .functions = C_ONLY}, {                                                          \
        .name = "a", .functions = C_ONLY                                                           \
    }
#define WORKLOADS WORKLOAD("walk")
#elif TABLE == 4
#define NAME "empty"
#define KERNELS                                                                                    \
    { .name = "a" }
#define WORKLOADS WORKLOAD("walk")
#elif TABLE == 5
#define NAME "many"
#define KERNELS                                                                                    \
    { .name = "a", .argument_count = SY_ARGUMENT_MAX + 1, .functions = C_ONLY }
#define WORKLOADS WORKLOAD("walk")
#elif TABLE == 6
#define NAME "mode"
#define KERNELS                                                                                    \
    { .name = "a", .argument_count = 1, .modes = {4}, .functions = C_ONLY }
#define WORKLOADS WORKLOAD("walk")
#elif TABLE == 7
#define NAME "beyond"
#define KERNELS                                                                                    \
    { .name = "a", .argument_count = 1, .modes = {1, 1}, .functions = C_ONLY }
#define WORKLOADS WORKLOAD("walk")
#elif TABLE == 8
#define NAME "nameless"
#define KERNELS                                                                                    \
    { .functions = C_ONLY }
#define WORKLOADS WORKLOAD("walk")
#elif TABLE == 9
#define NAME      "a:b"
#define KERNELS   DEFAULT_KERNELS
#define WORKLOADS WORKLOAD("walk")
#elif TABLE == 10
#define NAME    "graphless"
#define KERNELS DEFAULT_KERNELS
#define WORKLOADS                                                                                  \
    { .name = "walk" }
#elif TABLE == 11
#define NAME    "both"
#define KERNELS DEFAULT_KERNELS
#define WORKLOADS                                                                                  \
    { .name = "walk", .build = build, .drive = drive }
#elif TABLE == 12
#define NAME    "filled"
#define KERNELS DEFAULT_KERNELS
#define WORKLOADS                                                                                  \
    { .name = "walk", .fill = fill, .drive = drive }
#elif TABLE == 13
#define NAME      "wordless"
#define KERNELS   DEFAULT_KERNELS
#define WORKLOADS WORKLOAD("walk")
#define PIPELINES                                                                                  \
    { .name = "stream", .open = stream_open }
#elif TABLE == 14
#define NAME      "closed"
#define KERNELS   DEFAULT_KERNELS
#define WORKLOADS WORKLOAD("walk")
#define PIPELINES                                                                                  \
    { .name = "stream", .text = "{}", .next = stream_next, .fill = stream_fill }
#elif TABLE == 15
#define NAME      "double"
#define KERNELS   DEFAULT_KERNELS
#define WORKLOADS WORKLOAD("walk")
#define PIPELINES PIPELINE("stream"), PIPELINE("stream")
#elif TABLE == 16
#define NAME      "spaced"
#define KERNELS   DEFAULT_KERNELS
#define WORKLOADS WORKLOAD("walk")
#define PIPELINES PIPELINE("a stream")
#elif TABLE == 17
#define NAME "shredded"
#define KERNELS                                                                                    \
    { .name = "a", .functions = C_ONLY, .part_max = SY_PART_MAX + 1 }
#define WORKLOADS WORKLOAD("walk")
#elif TABLE == 18
#define NAME "free"
#define KERNELS                                                                                    \
    { .name = "a", .functions = C_ONLY, .part_max = 4, .part_ns = -1 }
#define WORKLOADS WORKLOAD("walk")
#endif

static const struct sy_kernel_entry kernels[] = {KERNELS};
static const struct sy_kernel_workload workloads[] = {WORKLOADS};
#ifdef PIPELINES
static const struct sy_kernel_pipeline pipelines[] = {PIPELINES};
#endif
static const struct sy_kernel_table table = {
    .name = NAME,
    .kernels = kernels,
    .kernel_count = sizeof kernels / sizeof kernels[0],
    .workloads = workloads,
    .workload_count = sizeof workloads / sizeof workloads[0],
#ifdef PIPELINES
    .pipelines = pipelines,
    .pipeline_count = sizeof pipelines / sizeof pipelines[0],
#endif
};

#ifdef WRONG_ABI
#undef SY_KERNEL_ABI
#define SY_KERNEL_ABI 77
#endif
SY_KERNEL_PLUGIN(table);
