/* SPDX-License-Identifier: Apache-2.0
 *
 * counters: what can be read off this machine, from every source there is, through one interface.
 *
 * In: perf_event_open, resctrl, RAPL, PSI, /proc and cgroups, NVML, the durations of tasks, or a
 * recorded file. Out: samples (value over a window, with how long the counter really counted), and
 * for whatever is missing the reason and the remedy. Never knows: what the values mean together
 * (that is belief/). Invariants: a source that fails is left out and named in the gaps, the rest
 * goes on; a sample is finite and never negative; nothing is allocated between open and close.
 */
#ifndef SY_COUNTERS_COUNTERS_H
#define SY_COUNTERS_COUNTERS_H

#include "base/base.h"
#include "listing/listing.h"
#include <symph/machine.h>

/* What a counter speaks of. */
enum sy_scope {
    SY_SCOPE_MACHINE,
    SY_SCOPE_PACKAGE, /* index: socket */
    SY_SCOPE_CORE,
    SY_SCOPE_CPU,    /* a hardware thread */
    SY_SCOPE_GPU,    /* index: as NVML counts them */
    SY_SCOPE_BOARD,  /* FPGA */
    SY_SCOPE_GROUP,  /* a control group, or a process with its descendants */
    SY_SCOPE_KERNEL, /* durations of tasks */
};
const char *sy_scope_name(enum sy_scope scope);

enum sy_counter_kind {
    SY_COUNTER_RATE,  /* something per second */
    SY_COUNTER_LEVEL, /* a value now: watts, degrees, bytes in use */
    SY_COUNTER_SHARE, /* a level in [0,1] */
};

#define SY_PMU_NONE UINT32_MAX /* takes no programmable counter: it is always there */

struct sy_counter {
    const char *name;   /* unique: "perf.cpu0.cycles", "nvml.gpu0.pcie_rx" */
    const char *source; /* the provider: "perf", "psi", "nvml" ... */
    const char *event;  /* of the listing ("inst_retired.any"; counts as they are, the listing's
                           scale is not applied), else the provider's own word of
                           docs/counters-format.md; a role of belief/ is recognised by it */
    enum sy_counter_kind kind;
    const char *unit; /* "/s", "B/s", "W", "" */
    enum sy_scope scope;
    uint32_t scope_index;
    double noise_ratio; /* relative standard deviation of one reading, as far as the source says */
    uint32_t pmu;       /* counters of one pmu compete for its slots; SY_PMU_NONE */
};

struct sy_pmu {
    const char *name;
    uint32_t slots; /* programmable counters at a time */
};

/* Something that could be read elsewhere but not here, or not by this user. */
struct sy_gap {
    const char *source;
    const char *what;   /* "hardware events of cpu0" */
    const char *reason; /* "permission denied" */
    const char *remedy; /* "sysctl kernel.perf_event_paranoid=0 or CAP_PERFMON"; "": none */
};

struct sy_sample {
    uint32_t counter;
    double value;            /* rate over the window, already scaled by enabled / running; level */
    double start_ns, end_ns; /* window, CLOCK_MONOTONIC or the recording's clock */
    double running_ratio;    /* share of the window that it really counted, (0,1] */
    double noise_ratio;      /* of this sample; 0: the counter's */
};

struct sy_sources_options {
    const char *only;                 /* comma-separated sources; NULL: all */
    const struct sy_listing *listing; /* whose events perf may count; NULL: generic events only */
    const char *events;               /* comma-separated further events of the listing; NULL: those
                                         that roles need (belief names them in wanted) */
    const char *const *wanted;        /* event names of the listing, NULL-terminated; NULL: none */
    const char *group;                /* folder of a control group to watch; NULL: none */
    uint32_t process;                 /* to watch, with its descendants; 0: none */
    const char *replay;               /* a recording: the only source, its clock is the clock */
    const char *root; /* instead of "/", for tests: where /proc and /sys are found; perf and NVML
                         are then left out */
    const char *const *kernels; /* whose durations will be pushed, NULL-terminated; NULL: none */
    const struct sy_counter *pushed; /* whose samples will be pushed: a simulator, a board */
    uint32_t pushed_count;
};

struct sy_sources;
/* Probes everything. Fails only where nothing at all can be read, or the recording is bad. */
SY_MUST_CHECK int sy_sources_open(const struct sy_sources_options *options,
                                  struct sy_sources **ret_sources, struct sy_error *error);
void sy_sources_close(struct sy_sources *sources);
const struct sy_counter *sy_sources_counters(const struct sy_sources *sources, uint32_t *ret_count);
const struct sy_pmu *sy_sources_pmus(const struct sy_sources *sources, uint32_t *ret_count);
const struct sy_gap *sy_sources_gaps(const struct sy_sources *sources, uint32_t *ret_count);
/* Which of the counters that compete count from now on; those without a pmu always do. Too many for
 * a pmu: -ENOSPC and nothing changes. */
SY_MUST_CHECK int sy_sources_select(struct sy_sources *sources, const uint32_t *counters,
                                    uint32_t count);
/* Samples since the last read; at most one per counter. The clock is a parameter, so that tests own
 * it; a recording ignores it and gives its next window. Returns how many, or -ENODATA at the end of
 * a recording. A counter that went backwards or vanished gives no sample this time. */
SY_MUST_CHECK int sy_sources_read(struct sy_sources *sources, double now_ns,
                                  struct sy_sample *ret_samples, uint32_t capacity);

/* What no file tells. A task of that kernel took so long; the kernel was named in the options. The
 * next read gives the mean of what was pushed since the last, and its noise. -ENOENT: not named;
 * -EINVAL: not a duration. */
SY_MUST_CHECK int sy_sources_push_duration(struct sy_sources *sources, const char *kernel,
                                           double seconds);
/* The value of a pushed counter, by its index in sy_sources_counters; the next read gives it.
 * noise_ratio 0: the counter's. -ENOENT: not a pushed one; -EINVAL: not a value. */
SY_MUST_CHECK int sy_sources_push(struct sy_sources *sources, uint32_t counter, double value,
                                  double noise_ratio);

/* --- recordings: symph-counters-1, docs/counters-format.md -------------------------------------
 */
struct sy_recording {
    struct sy_arena *arena;
    struct sy_counter *counters;
    uint32_t counter_count;
    struct sy_pmu *pmus;
    uint32_t pmu_count;
    struct sy_sample *samples; /* by end of window */
    uint32_t sample_count;
};
SY_MUST_CHECK int sy_recording_read(const char *file, const char *text, size_t length,
                                    struct sy_recording **ret_recording, struct sy_error *error);
void sy_recording_destroy(struct sy_recording *recording);
void sy_recording_write_head(struct sy_buffer *buffer, const struct sy_counter *counters,
                             uint32_t counter_count, const struct sy_pmu *pmus, uint32_t pmu_count);
void sy_recording_write(struct sy_buffer *buffer, const struct sy_sample *samples, uint32_t count);

/* --- energy since open, by source; the engine's summary uses it --------------------------------
 */
struct sy_energy;
/* gpus: their addresses on the bus, "0000:3b:00.0". -ENODATA where nothing can be read. */
SY_MUST_CHECK int sy_energy_open(const char *const *gpus, uint32_t gpu_count,
                                 struct sy_energy **ret_energy);
void sy_energy_close(struct sy_energy *energy);
void sy_energy_restart(struct sy_energy *energy);             /* as if opened now */
double sy_energy_joules(struct sy_energy *energy);            /* NAN once a meter has failed */
const char *sy_energy_source(const struct sy_energy *energy); /* "RAPL packages + NVML" */

#endif
