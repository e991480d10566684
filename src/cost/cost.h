/* SPDX-License-Identifier: Apache-2.0
 *
 * cost: how long does this kernel take there, and how sure are we.
 *
 * In: samples, published summaries, rooflines. Out: a median and the spread of its logarithm, per
 * (kernel, device class, features); and the workload, the flat table that every scheduler reads.
 * Never knows: who is running now. Invariant: one wild sample cannot move an estimate far: medians
 * and other robust locations, never a mean.
 */
#ifndef SY_COST_COST_H
#define SY_COST_COST_H

#include "graph/graph.h"
#include <symph/machine.h>

/* --- what a kernel takes ------------------------------------------------------------------------
 * Runs are described by sizes (tasks of graphs, recorded machines: names NULL), or by costs, which
 * have names (pipelines). Both have flops and bytes, which do not mean the same in both. */
#define SY_FEATURE_MAX 8
enum { SY_FLOPS, SY_BYTES, SY_SIZES };
struct sy_features {
    uint32_t count;
    const char *const *names; /* "flops", "bytes", then by name; NULL: sizes, which are two */
    const double *values;     /* costs are positive; a size of 0 is not known */
    uint32_t width;           /* devices that share it; of sizes always 1 */
    uint64_t footprint;       /* of sizes: tells apart what states the same */
};
/* The order of names, as strcmp; and which ones there can be: letters, digits and _. */
int sy_feature_compare(const char *a, const char *b);
bool sy_feature_valid(const char *name);

enum sy_cost_source {
    SY_COST_UNKNOWN,
    SY_COST_ROOFLINE,  /* nothing was measured: what the class can do at best */
    SY_COST_PRIOR,     /* measured with another build of the kernel: good to start from */
    SY_COST_MODEL,     /* computed without a device */
    SY_COST_REGRESSED, /* from runs that are described alike */
    SY_COST_MEASURED,
};

struct sy_estimate {
    double median_ns;
    double log_sigma;
    double watts;          /* above idle, of all devices of the width; NAN: not known */
    double watts_sigma;    /* of its log; 0: read at these very features */
    uint64_t sample_count; /* runs that it rests on */
    enum sy_cost_source source;
};

/* Online location of log(duration / predicted): robust to spikes, follows drift. */
struct sy_drift {
    double log_ratio; /* the correction */
    double scale;     /* typical |deviation| */
    double weight;    /* effective number of observations */
};
void sy_drift_init(struct sy_drift *drift);
void sy_drift_observe(struct sy_drift *drift, double ratio);
double sy_drift_ratio(const struct sy_drift *drift);

/* --- store: what was measured, kept between runs (docs/costs-format.md) --------------------------
 * A cell is a place where runs are alike: exactly the same sizes, or costs within 2 %. It has the
 * last times that were measured there. Not locked: the owner does, also around estimates, which
 * keep what they last fitted. */
#define SY_CELL_SAMPLES 31 /* the last so many count */
#define SY_CELL_TRUSTED 3  /* of sizes: fewer samples are not believed */
struct sy_cell {
    const char *kernel, *class_name; /* of the store */
    struct sy_features features;
    double values[SY_FEATURE_MAX]; /* of these */
    struct sy_group *group;
    struct sy_published *given; /* published summaries; NULL: sampled here */
    bool modelled;              /* computed, not measured */
    bool in_line;               /* it is among the cells that its group's line goes through */
    double watts;               /* as last read, of all devices of the width; NAN: never */
    uint64_t build;             /* of the code that its samples are of; 0: not known */
    uint64_t wanted;            /* of the code that runs now; 0: not known, then any will do */
    uint64_t sample_count;      /* ever seen, of its build */
    uint64_t saved_count;       /* of these: not new since the store was read or saved */
    uint64_t stamp;             /* of the newest, in its group */
    uint32_t held;              /* samples in the rings */
    double median_ns;           /* NAN: no sample yet; the lower one of an even number */
    double log_sigma; /* 1.4826 median |log(x / median)|; 0 for fewer than SY_CELL_TRUSTED */
    float last_ns[SY_CELL_SAMPLES];   /* ring: sample i is at i % SY_CELL_SAMPLES */
    float sorted_ns[SY_CELL_SAMPLES]; /* the same, increasing */
};

/* One run; or a line of a table, which may stand for several. */
struct sy_cost_sample {
    const char *kernel, *class_name; /* "spmm", "h200" */
    struct sy_features features;
    bool modelled;
    double time_ns; /* the median of times */
    double watts;   /* as in struct sy_cell */
    /* Of a line: */
    uint64_t build; /* base/elf_file.h; 0: not known */
    uint64_t count; /* of runs; times are the last of them, oldest first */
    uint32_t time_count;
    const float *times_ns; /* NULL: time_ns alone */
    const char *input;     /* it was taken on, for people: "arxiv" */
};

/* For a (kernel, class) that was never seen: what one device of the class can do at best. */
struct sy_roofline {
    const char *class_name;
    double flops_per_s, bytes_per_s, launch_ns;
    double busy_watts; /* above idle */
};

struct sy_store;
/* Without a file. NULL when out of memory. */
struct sy_store *sy_store_create(void);
/* Opens FOLDER/MACHINE.costs.csv, if it is there. folder NULL: SYMPH_MODELS, else the user's cache
 * (base/folder.h); "": nothing is kept. machine NULL: this one. Where nothing can be kept, or the
 * file is damaged (it is set aside as .bad), ret_warning says so ("" otherwise). */
enum sy_store_reading {
    SY_STORE_WHOLE,
    SY_STORE_ASKED, /* of kernels that sy_store_cell or sy_store_set_build name, when they first do:
                       who has few kernels does not wait for those of others */
    SY_STORE_NONE,  /* the file is only added to */
};
SY_MUST_CHECK int sy_store_open(const char *folder, const char *machine,
                                enum sy_store_reading reading, struct sy_store **ret_store,
                                char *ret_warning, size_t warning_size, struct sy_error *error);
/* One that knows the same of costs, fits included, and has no file; NULL when out of memory. */
struct sy_store *sy_store_copy(const struct sy_store *store);
void sy_store_close(struct sy_store *store); /* without saving */
/* Adds what is new to what the file holds then, under a lock on it, atomically, and leaves out what
 * is not worth keeping (docs/costs-format.md). 0 with a message in error: what was read of the file
 * now, or as kernels were asked for, is damaged; it was set aside, if it was still there. */
SY_MUST_CHECK int sy_store_save(struct sy_store *store, struct sy_error *error);
const char *sy_store_path(const struct sy_store *store); /* NULL: nothing is kept */
/* A table that somebody made, or the kernels.csv of a recorded machine: it counts as of the builds
 * that run, and is not saved. On failure the lines before the bad one count. */
SY_MUST_CHECK int sy_store_read(struct sy_store *store, const char *path, struct sy_error *error);

/* Never fails: SY_COST_UNKNOWN. Of costs, a first question of a kernel and class takes longer. Of
 * sizes in tables, several threads may ask at once while nothing is observed. */
struct sy_estimate sy_estimate(const struct sy_store *store, const char *kernel,
                               const char *class_name, const struct sy_features *features);
/* -EINVAL: no sample. Costs of more than SY_COSTS_NAME_MAX names in all are not learned. */
SY_MUST_CHECK int sy_store_observe(struct sy_store *store, const struct sy_cost_sample *sample);

/* The same for sizes, without looking them up again. Cells keep their address as long as the store
 * lives. Finds or adds; NULL when out of memory. */
struct sy_cell *sy_store_cell(struct sy_store *store, const char *kernel, const char *class_name,
                              double bytes, double flops, uint64_t footprint);
/* All sizes of a kernel on a class, and one of them. NULL: out of memory. */
struct sy_group;
struct sy_group *sy_store_sizes(struct sy_store *store, const char *kernel, const char *class_name);
struct sy_cell *sy_group_cell(struct sy_store *store, struct sy_group *group, double bytes,
                              double flops, uint64_t footprint);
/* Samples that are held and speak for the code that runs now, whatever their size; which share of
 * them takes less than most_ns, and what one takes on average, where longer ones count as most_ns.
 * Goes through all cells. */
uint64_t sy_group_shorter(const struct sy_group *group, double most_ns, double *ret_share,
                          double *ret_mean_ns);
/* Allocates nothing. What is negative or not finite is no duration and not counted. The first one
 * of another build replaces all there are. */
void sy_cell_observe(struct sy_cell *cell, double duration_ns);
/* Cell's own median once trusted; else from trusted cells of the same kernel and class at other
 * sizes; else what samples there are; else those of another build, as a PRIOR; else UNKNOWN. */
struct sy_estimate sy_cell_estimate(const struct sy_cell *cell);
/* Samples that speak for the code that runs now: all, or none. */
static inline uint64_t sy_cell_count(const struct sy_cell *cell) {
    return cell->wanted && cell->build != cell->wanted ? 0 : cell->sample_count;
}

/* From now on this is the build of a kernel (0: not known): times of another are no more than a
 * prior, or not used. -ENOMEM. */
SY_MUST_CHECK int sy_store_set_build(struct sy_store *store, const char *kernel, uint64_t build);
SY_MUST_CHECK int sy_store_set_roofline(struct sy_store *store, const struct sy_roofline *roofline);
/* All cells; some may be empty. */
uint32_t sy_store_count(const struct sy_store *store);
const struct sy_cell *sy_store_at(const struct sy_store *store, uint32_t index);
/* Forgets everything, of one kernel or (NULL) of all; also at the next save. Cells stay, empty. */
SY_MUST_CHECK int sy_store_clear(struct sy_store *store, const char *kernel);
/* Name of this machine for sy_store_open: host name, and a hash of processor model and number, so
 * that machines that share a home folder do not share times. 32 bytes are enough to tell apart. */
void sy_store_machine_name(char *ret_name, size_t size);

/* Tables, line by line. A visit that does not return 0 ends the reading. */
typedef int (*sy_cost_visit)(void *user, const struct sy_cost_sample *sample);
SY_MUST_CHECK int sy_costs_read_text(const char *file, const char *text, size_t length,
                                     sy_cost_visit visit, void *user, struct sy_error *error);
/* names: the columns of costs, "flops" and "bytes" among them; sample NULL: the header. */
#define SY_COSTS_NAME_MAX 256
void sy_costs_write(struct sy_buffer *buffer, const char *const *names, uint32_t name_count,
                    const struct sy_cost_sample *sample);

/* --- transfers and energy --------------------------------------------------------------------- */
double sy_cost_transfer_ns(const struct sy_machine *machine, uint32_t from, uint32_t to,
                           double bytes);
/* What a running kernel draws from which resources at full speed: its own memory's, and those
 * between host memory and the device if it reaches over the link. Each resource once. */
struct sy_demand {
    uint32_t count;
    uint32_t resources[SY_ROUTE_MAX + 1];
    double bytes_per_s[SY_ROUTE_MAX + 1];
};
void sy_cost_demand(const struct sy_machine *machine, uint32_t device, double own_bytes_per_s,
                    double link_bytes_per_s, struct sy_demand *ret_demand);
/* Joules of one run: the variant's watts, else the device's. */
double sy_cost_energy_joules(const struct sy_machine *machine, uint32_t device,
                             const struct sy_variant *variant, double duration_ns);

/* --- heterogeneity for graphs that have CPU times only ------------------------------------------
 */
/* Speed-up of a kernel on an accelerator kind, log-uniform in 0.3..31, fixed by (seed, name, kind).
 */
double sy_cost_accelerate(uint64_t seed, const char *kernel, enum sy_device_kind kind);

/* --- workload ------------------------------------------------------------------------------------
 */
struct sy_job {
    const struct sy_graph *graph;
    double arrive_ns;
    uint32_t tenant;
    double weight;
    /* [task of the graph * class_count + class of the machine], before anything else; NAN: not
     * known. NULL: none. The same for all jobs of a graph. */
    const double *time_ns;
};

/* Reads the lines of a CSV file arrive_s,tenant,weight,graph; to be freed. */
SY_MUST_CHECK int sy_jobs_read(const char *path, const struct sy_graph_list *graphs,
                               struct sy_job **ret_jobs, uint32_t *ret_count,
                               struct sy_error *error);
/* Poisson arrivals of graphs drawn at random, which go to the tenants in turn. */
void sy_jobs_draw(uint64_t seed, const struct sy_graph_list *graphs, uint32_t tenants,
                  double gap_ns, struct sy_job *jobs, uint32_t count);

struct sy_workload_options {
    bool accelerate; /* CPU-only tasks get accelerator times from accelerate_seed */
    uint64_t accelerate_seed;
    const struct sy_store *store; /* NULL: only what the graphs say */
};

/* Jobs laid flat on a machine: constant while it is simulated, shared between simulations. */
struct sy_workload {
    struct sy_arena *arena;
    const struct sy_machine *machine;
    uint32_t job_count, task_count, data_count, access_count, kernel_count, class_count;
    struct sy_job *jobs;      /* sorted by arrival */
    uint32_t *job_first_task; /* job_count + 1 */
    double *job_isolated_ns;  /* max(critical path, area) of the job alone */
    uint32_t *task_job, *task_kernel;
    uint32_t *succ_start, *succ, *pred_start, *pred;
    uint32_t *access_start, *access_producer;
    struct sy_access *access;
    uint32_t *order; /* topological within each job, jobs in order */
    double *time_ns; /* [task * class_count + class]; INFINITY: cannot */
    double *best_ns; /* per task: on its fastest class */
    const char **kernel_names, **kernel_interference;
    double *log_sigma, *demand_bytes_per_s, *link_demand_bytes_per_s, *watts; /* [kernel*class] */
    double *image_ns; /* [kernel * board_count + board] */
    double *data_bytes;
    uint64_t *data_home; /* bit set of memories that hold it at the start; 0: none yet */
};

/* -EINVAL if some task can run on no device of the machine: the error names it. */
SY_MUST_CHECK int sy_workload_create(const struct sy_machine *machine, const struct sy_job *jobs,
                                     uint32_t job_count, const struct sy_workload_options *options,
                                     struct sy_workload **ret_workload, struct sy_error *error);
void sy_workload_destroy(struct sy_workload *workload);
/* What it is in its graph. */
const struct sy_task *sy_workload_task(const struct sy_workload *workload, uint32_t task);
/* Name of a task for people: "job/task". */
const char *sy_workload_task_name(const struct sy_workload *workload, uint32_t task, char *buffer,
                                  size_t size);

/* --- lower bounds of a makespan ------------------------------------------------------------------
 * None can fail: for want of memory they are looser. */
/* Longest path of one job, each task on its fastest class, transfers free. */
double sy_cost_critical_path_ns(const struct sy_workload *workload, uint32_t job);
/* Area: the tasks [first, end) spread perfectly and fractionally over all devices. */
double sy_cost_area_ns(const struct sy_workload *workload, uint32_t first, uint32_t end);
/* The same, and what proves it: a price per class, their sum over devices 1, so that the bound is
 * the sum over tasks of the least price * time. */
double sy_cost_area_prices(const struct sy_workload *workload, uint32_t first, uint32_t end,
                           double *ret_price);
/* One job alone: max(critical path, area). */
double sy_cost_isolated_ns(const struct sy_workload *workload, uint32_t job);
/* Time taken over time alone, also of what takes no time alone: what is shorter than a microsecond
 * counts as one, so that it has 1 if nothing delays it and a finite ratio otherwise. */
#define SY_ALONE_LEAST_NS 1e3
double sy_cost_slowdown(double taken_ns, double alone_ns);
/* What a task that should have ended late_ns ago is expected to need still; own_ns is its time. */
double sy_cost_still_ns(double own_ns, double late_ns);

#endif
