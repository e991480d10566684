/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside cost: what the parts of the store share.
 */
#ifndef SY_COST_STORE_H
#define SY_COST_STORE_H

#include "cost/estimate.h"

#define SY_TIME_MIN_NS      1e-3
#define SY_TIME_MAX_NS      1e30
#define SY_SAMPLE_COUNT_MAX 1000000000000000ull /* sums of such counts stay exact */

void sy_cell_reset(struct sy_cell *cell);
/* It has one sample more; allocates nothing, as this happens after every task. */
void sy_group_hears(struct sy_cell *cell);
/* The times of a sample, each times ratio; those of another build go. */
void sy_cell_add(struct sy_cell *cell, const struct sy_cost_sample *sample, uint64_t build,
                 double ratio);
/* The newest so many, as far as they are held, oldest first. */
uint32_t sy_cell_last(const struct sy_cell *cell, uint64_t count, float *ret_times_ns);
/* The same as a line of a table. */
struct sy_cost_sample sy_cell_sample(const struct sy_cell *cell, uint64_t count,
                                     float *ret_times_ns);

/* The newest summaries of a cell, as they were published. */
#define SY_GIVEN_MAX 16
struct sy_published {
    double median_ns[SY_GIVEN_MAX], log_sigma[SY_GIVEN_MAX];
    uint64_t count; /* ever */
};

/* Time over size: knots by size, and the slope beyond them. */
#define SY_LINE_KNOTS 32
struct sy_line {
    struct sy_line_fit {
        uint32_t count; /* below 2: nothing to go by */
        double x[SY_LINE_KNOTS], y[SY_LINE_KNOTS], sigma[SY_LINE_KNOTS];
        double slope, residual_sigma;
    } fits[SY_SIZES]; /* over each */
    uint32_t support; /* trusted cells when it was made */
    uint64_t samples; /* and their samples */
    /* The trusted cells that state a size, now: in the order in which they came to be trusted, and
     * by each size. malloc'ed, with room for all cells of the group. */
    bool counted; /* else to be found anew */
    uint32_t count;
    uint64_t sample_count; /* of all of them */
    struct sy_cell **cells, **by_size[SY_SIZES];
    uint32_t capacity, size_capacity[SY_SIZES];
};

/* Cells of sizes that are kept of one kernel on one class, and bytes of a file that are passed on
 * from kernels that did not run (keep.c, parts.c; docs/costs-format.md). */
#define SY_KEPT_CELLS 256
#define SY_KEPT_BYTES (8u << 20)

/* What is described alike, of one kernel on one class. */
struct sy_group {
    const char *kernel, *class_name;
    uint32_t kernel_number, class_number; /* of these names in the store */
    struct sy_group *next;                /* described otherwise */
    uint32_t name_count;                  /* of costs; 0: sizes */
    const char *names[SY_FEATURE_MAX];    /* of the store's */
    uint64_t wanted;                      /* as in struct sy_cell */
    uint64_t build;                       /* of costs: of all cells */
    struct sy_cell **cells; /* malloc'ed; those of costs are used again, from count on */
    uint32_t count, capacity, made;
    uint64_t clock;
    struct model *model;  /* of costs */
    struct sy_line *line; /* of sizes */
};

struct sy_store {
    struct sy_arena *arena; /* names, cells, groups, keys */
    char *path;             /* NULL: nothing is kept */
    struct sy_map names, groups, keys;
    struct sy_map aliases; /* to the number of a kernel's name */
    uint64_t *builds;      /* per name: of the kernel that runs now; 0: not known */
    uint32_t build_capacity;
    struct sy_cell **cells;
    struct sy_group **group_list; /* by kernel and class: the first of those that differ in names */
    uint32_t count, capacity, group_count, group_capacity;
    const char **cleared; /* kernels to be forgotten at the next save */
    uint32_t cleared_count, cleared_capacity;
    bool cleared_all;
    struct sy_parts
        *parts; /* of the file, read as kernels are asked for; NULL: it was read whole */
    const char *costs[SY_COSTS_NAME_MAX]; /* all names of costs, flops and bytes first */
    uint32_t cost_count;
    struct sy_roofline rooflines[SY_ROOFLINE_MAX];
    uint32_t roofline_count;
    struct bench *bench; /* made with the first group of costs */
};

/* Room for count cells; NULL: there is no line. */
SY_MUST_CHECK int sy_line_grow(struct sy_line *line, uint32_t count);
void sy_line_finish(struct sy_line *line);
extern const struct sy_estimate sy_estimate_unknown;
extern const char *const sy_size_names[SY_SIZES];
/* Of sizes: as measured at the very same, else by the line. */
struct sy_estimate sy_group_estimate(struct sy_group *group, double bytes, double flops);
/* Makes the line again if it is old. */
void sy_group_fit(struct sy_group *group);
static inline void sy_group_recount(struct sy_group *group) {
    if (group && group->line) {
        group->line->counted = false;
    }
}
static inline void sy_group_outdate(struct sy_group *group) {
    if (group->line) {
        group->line->samples = UINT64_MAX; /* more than there can be */
        group->line->counted = false;
    }
}
/* Location and scale of a Student-t (nu = 4) by EM, at least one value; work has room for as many.
 * ret_sigma is scaled so that for normal values it is theirs. */
void sy_cost_fit(double *logs, uint32_t count, double *work, double *ret_location,
                 double *ret_sigma);
/* A published summary instead of samples. */
SY_MUST_CHECK int sy_cell_give(struct sy_store *store, struct sy_cell *cell, double mean_ns,
                               double stddev_ns, uint64_t count);

/* As struct sy_features says. */
bool sy_features_sound(const struct sy_features *features);
/* NULL: there is none. names: of the store, or its aliases. */
struct sy_group *sy_store_group(const struct sy_store *store, const struct sy_map *names,
                                const char *kernel, const char *class_name,
                                const struct sy_features *features);
/* Another name under which a kernel's sizes are found when its own is not; the first one stays. */
SY_MUST_CHECK int sy_store_add_alias(struct sy_store *store, const char *alias, const char *kernel);
/* One more cell of a group. NULL: out of memory. */
struct sy_cell *sy_store_add_cell(struct sy_store *store, struct sy_group *group);
/* What a line of a table says; any_build: as if it were of the one that runs. Nothing new. */
SY_MUST_CHECK int sy_store_add(struct sy_store *store, const struct sy_cost_sample *sample,
                               bool any_build);
/* Lines of any table. On failure those before the bad one count. */
SY_MUST_CHECK int sy_store_read_text(struct sy_store *store, const char *name, const char *text,
                                     size_t length, bool any_build, struct sy_error *error);
void sy_store_write_text(const struct sy_store *store, struct sy_buffer *buffer);
void sy_store_write_cells(const struct sy_store *store, struct sy_buffer *buffer); /* no header */
/* As a sy_cost_visit: adds the line to a store. */
struct sy_reading_to {
    struct sy_store *store;
    bool any_build;
};
int sy_store_take_line(void *user, const struct sy_cost_sample *sample);
/* The cells that are worth a line, oldest first: an array to be freed. -ENOMEM. */
SY_MUST_CHECK int sy_group_select(const struct sy_group *group, const struct sy_cell ***ret_cells,
                                  uint32_t *ret_count);

/* --- tables, in parts ---------------------------------------------------------------------------
 */
void sy_costs_write_name(struct sy_buffer *buffer, const char *name);
/* Length of the header and its names of costs, copied, if it is exactly as we write it; else
 * -EINVAL. ret_names has room for SY_COSTS_NAME_MAX. */
SY_MUST_CHECK int sy_costs_plain_header(const char *text, size_t length, struct sy_arena *arena,
                                        const char **ret_names, uint32_t *ret_count,
                                        size_t *ret_length);
/* Some lines of a text, whose header ends at header_length, as sy_costs_read_text. */
struct sy_line_range {
    size_t header_length, from, to;
    uint32_t before; /* lines of the text */
};
SY_MUST_CHECK int sy_costs_read_lines(const char *file, const char *text,
                                      const struct sy_line_range *lines, sy_cost_visit visit,
                                      void *user, struct sy_error *error);
/* A text as sy_store_write_text makes it, else -EINVAL, and then it stays the caller's; its names
 * of costs become the store's. */
SY_MUST_CHECK int sy_parts_open(struct sy_store *store, const char *file, char *adopt_text,
                                size_t length, struct sy_parts **ret_parts);
void sy_parts_close(struct sy_parts *parts);
/* The parts of a kernel, or all parts of at least least_lines lines; each is read once. -ENOMEM. */
SY_MUST_CHECK int sy_parts_read(struct sy_store *store, struct sy_parts *parts, const char *kernel);
SY_MUST_CHECK int sy_parts_read_all(struct sy_store *store, struct sy_parts *parts,
                                    uint32_t least_lines);
/* As if it had been read. NULL: all. */
SY_MUST_CHECK int sy_parts_drop(struct sy_parts *parts, const char *kernel);
/* Of the lines that were read; NULL: none. */
const struct sy_error *sy_parts_damage(const struct sy_parts *parts);
/* Whether lines that were not read can stand beside those of a store: the columns are the same. */
bool sy_parts_fit(const struct sy_parts *parts, const struct sy_store *store);
/* The parts that were not read; of too many the first go, which were not touched for longest. */
void sy_parts_write(const struct sy_parts *parts, size_t most_bytes, struct sy_buffer *buffer);
/* The kernels.csv of a recorded machine. */
bool sy_is_recorded(const char *text, size_t length);
SY_MUST_CHECK int sy_store_read_recorded(struct sy_store *store, const char *name, const char *text,
                                         size_t length, struct sy_error *error);

#endif
