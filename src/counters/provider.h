/* SPDX-License-Identifier: Apache-2.0
 *
 * What every provider of counters is, and what the sources do for all of them. Private to
 * counters/.
 *
 * A provider probes when it is opened: it adds the counters that it can read and a gap for what it
 * cannot. From then on it only reads, and allocates nothing. Whether a total went backwards, stood
 * still or wrapped around is judged in one place, sources.c, not by each provider.
 */
#ifndef SY_COUNTERS_PROVIDER_H
#define SY_COUNTERS_PROVIDER_H

#include "counters/counters.h"
#include <dirent.h>
#include <math.h>
#include <sys/types.h>

#define SY_PATH_MAX    512
#define SY_CPU_MAX     8192
#define SY_SECOND_NS   1e9
#define SY_OFTEN_NS    0.05e9 /* a few us each, or an interrupt on another CPU */
#define SY_SELDOM_NS   0.1e9  /* /proc/stat and the like count in ticks of 10 ms and cost 10 us */
#define SY_SELDOMER_NS 0.25e9 /* costs 30 us */

struct perf_event_attr;

/* How the outside is reached; tests put their own in. */
struct sy_calls {
    int (*perf_open)(void *user, struct perf_event_attr *attributes, pid_t pid, int cpu, int group,
                     unsigned long flags); /* a descriptor or -errno */
    ssize_t (*perf_read)(void *user, int fd, void *buffer, size_t size); /* bytes or -errno */
    int (*perf_control)(void *user, int fd, unsigned long request, unsigned long argument);
    void (*perf_close)(void *user, int fd);
    void *user;
    const char *nvml; /* the library; NULL: there is none */
};

struct sy_provider {
    const char *name;
    /* Adds counters, pmus and gaps; state is the arena's. Fails only where memory is short. */
    int (*open)(struct sy_sources *sources, void **ret_state);
    /* sources->chosen says which counters count from now on; NULL: there is no choice. */
    void (*select)(struct sy_sources *sources, void *state);
    void (*read)(struct sy_sources *sources, void *state);
    void (*close)(struct sy_sources *sources, void *state); /* NULL: nothing to close */
};
extern const struct sy_provider sy_provider_perf, sy_provider_resctrl, sy_provider_rapl,
    sy_provider_psi, sy_provider_proc, sy_provider_process, sy_provider_cgroup, sy_provider_nvml,
    sy_provider_fpga, sy_provider_tasks, sy_provider_pushed;

/* How a total becomes a rate. */
struct sy_track {
    double scale;    /* of one count, in the counter's unit; 0: 1 */
    double hold_ns;  /* a total that stands still for less than this says nothing yet */
    double range;    /* it starts again from 0 there, in counts; 0: never */
    double rate_max; /* in the counter's unit; faster is a jump; 0: no limit */
    /* state */
    uint64_t last;
    double last_ns; /* NAN: no total yet */
};

struct sy_opened {
    const struct sy_provider *provider;
    void *state;
};
#define SY_PROVIDER_COUNT 11

struct sy_sources {
    struct sy_arena *arena;
    struct sy_sources_options options;
    struct sy_calls calls;
    struct sy_counter *counters;
    struct sy_track *tracks; /* as counters */
    bool *chosen;            /* as counters */
    struct sy_pmu *pmus;
    uint32_t *taken; /* as pmus: while selecting */
    struct sy_gap *gaps;
    uint32_t counter_count, counter_capacity, track_capacity, chosen_capacity;
    uint32_t pmu_count, pmu_capacity, taken_capacity, gap_count, gap_capacity;
    struct sy_opened opened[SY_PROVIDER_COUNT];
    uint32_t opened_count;
    bool failed;  /* memory was short while probing */
    char *buffer; /* of files */
    size_t buffer_size;
    double now_ns, last_ns; /* of this read and the one before; NAN: none */
    struct sy_sample *samples;
    uint32_t sample_count, sample_capacity;
    struct sy_recording *replay;
    uint32_t replay_next;
};

/* Without providers, for energy.c. NULL: memory is short. */
struct sy_sources *sy_sources_create(const struct sy_sources_options *options,
                                     const struct sy_calls *calls);
/* The kernel and the real NVML; root: neither, since it stands for another machine. */
struct sy_calls sy_calls_real(const char *root);
int sy_sources_open_with(const struct sy_sources_options *options, const struct sy_calls *calls,
                         struct sy_sources **ret_sources, struct sy_error *error);

/* --- while probing --------------------------------------------------------------------------- */
/* Index, or SY_NONE when memory is short, which open notices later. Strings must outlive sources.
 */
uint32_t sy_add_counter(struct sy_sources *sources, const struct sy_counter *counter,
                        const struct sy_track *track);
uint32_t sy_add_pmu(struct sy_sources *sources, const char *name, uint32_t slots);
void sy_add_gap(struct sy_sources *sources, const char *source, const char *what,
                const char *reason, const char *remedy);
/* In the arena; "" when memory is short. */
__attribute__((format(printf, 2, 3))) const char *sy_text(struct sy_sources *sources,
                                                          const char *format, ...);
/* Zeroed memory of the arena; NULL sets failed. */
void *sy_memory(struct sy_sources *sources, size_t count, size_t size);

/* --- while reading; none of them gives a sample that is not finite or is negative ---------------
 */
void sy_put_total(struct sy_sources *sources, uint32_t counter, uint64_t total);
/* The counter starts anew at the next total: it was away. */
void sy_forget_total(struct sy_sources *sources, uint32_t counter);
void sy_put_rate(struct sy_sources *sources, uint32_t counter, double rate, double start_ns,
                 double running_ratio, double noise_ratio);
/* A value as it is now; a share above 1 is 1. */
void sy_put_level(struct sy_sources *sources, uint32_t counter, double value, double noise_ratio);
/* True at most once a period; last_ns starts as NAN. */
bool sy_is_due(const struct sy_sources *sources, double *last_ns, double period_ns);

/* --- files under the root ----------------------------------------------------------------------
 */
struct sy_file {
    int fd; /* -1: gone, tried again every second */
    const char *path;
    double retry_ns;
};
/* 0 or -errno. The path begins with "/proc" or "/sys" and is copied. */
int sy_file_open(struct sy_sources *sources, const char *path, struct sy_file *ret_file);
void sy_file_close(struct sy_file *file);
/* The file from its beginning into sources->buffer, with a NUL behind; the length or -errno. */
ssize_t sy_file_read(struct sy_sources *sources, struct sy_file *file);
/* Once: open, read, close. */
ssize_t sy_file_text(struct sy_sources *sources, const char *path);
bool sy_file_exists(struct sy_sources *sources, const char *path);
/* The first number in a file; NAN if there is none. */
double sy_file_number(struct sy_sources *sources, const char *path);
/* NULL: it cannot be opened. */
DIR *sy_folder_open(const struct sy_sources *sources, const char *path);
/* Names in a folder that begin with prefix, sorted, in the arena; count. */
uint32_t sy_folder_names(struct sy_sources *sources, const char *path, const char *prefix,
                         const char *const **ret_names);

/* --- processes ---------------------------------------------------------------------------------
 */
/* Threads of a process and its descendants, while probing. How many there are, which may be more
 * than the capacity; 0: it is not there. */
uint32_t sy_process_threads(struct sy_sources *sources, uint32_t pid, uint32_t *ret_threads,
                            uint32_t capacity);

/* --- text --------------------------------------------------------------------------------------
 */
/* The digits at *at; leaves *at behind them. False: there are none, or too many. */
bool sy_scan_u64(const char **at, uint64_t *ret_value);
/* The number behind key at the beginning of a line: "MemTotal:  123 kB". */
bool sy_scan_key(const char *text, const char *key, uint64_t *ret_value);
/* Marks the CPUs of "0-3,8" in cpus[SY_CPU_MAX]; returns how many. */
uint32_t sy_scan_cpus(const char *text, bool *cpus);

/* --- the machine as the kernel shows it ---------------------------------------------------------
 */
/* CPUs that are online, in the arena; count. */
uint32_t sy_online_cpus(struct sy_sources *sources, const uint32_t **ret_cpus);
uint32_t sy_package_of(struct sy_sources *sources, uint32_t cpu);

/* What errno means to a person: "permission denied", "no such file or directory" ... */
const char *sy_reason(int code);

#endif
