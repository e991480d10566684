/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs of streams that no file holds as they are needed: a choice of recorded ones, and training
 * jobs for the pairs of a table of GPU sharing.
 *
 * In: a .dag file, or a table of pairs. Out: a file of graphs in memory, by its path. Invariant:
 * the same input gives the same jobs; what cannot be read is left to the reader of graphs, who says
 * what is wrong and where.
 */
#include "symph-bench/bench.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STAGES_LEAST 3
#define STEP_NS      1e8 /* of training, alone: about a batch of images */
#define STEPS_LEAST  5
#define STEPS_FACTOR 32 /* the longest job over the shortest */
#define MODEL_BYTES  1e8
#define PURPOSE      0x74726e67u /* random numbers no other room draws */

/* Writes all of it; a file in memory takes as much as there is memory. */
static int write_all(int fd, const struct sy_buffer *text) {
    for (size_t at = 0; at < text->length;) {
        ssize_t written = write(fd, text->text + at, text->length - at);
        if (written <= 0) {
            return -ENOMEM;
        }
        at += (size_t)written;
    }
    return 0;
}

/* The descriptor of a file with that text; frees it. */
static int in_memory(struct sy_buffer *text) {
    int fd = text->failed ? -1 : memfd_create("symph-bench jobs", MFD_CLOEXEC);
    if (fd >= 0 && write_all(fd, text) < 0) {
        close(fd);
        fd = -1;
    }
    sy_buffer_finish(text);
    return fd < 0 ? -ENOMEM : fd;
}

/* --- a choice of recorded jobs -------------------------------------------------------------------
 */
struct recorded_job {
    const char *text; /* its lines */
    size_t length;
    uint32_t stages;
    double work_s;
};

struct recorded_jobs {
    struct recorded_job *items;
    uint32_t count, capacity;
};

/* "T index type seconds instances ..." of the job read last. False: it is not that. */
static bool add_stage(struct recorded_jobs *jobs, const char *line) {
    double seconds, instances;
    if (!jobs->count || sscanf(line, "T %*s %*s %lf %lf", &seconds, &instances) != 2) {
        return false;
    }
    jobs->items[jobs->count - 1].stages++;
    jobs->items[jobs->count - 1].work_s += seconds * instances;
    return true;
}

static bool split_jobs(const char *text, struct recorded_jobs *jobs) {
    bool known = true;
    for (const char *at = text; *at && known;) {
        size_t length = strcspn(at, "\n");
        length += at[length] == '\n';
        if (*at == 'J') {
            if (sy_grow(&jobs->items, &jobs->capacity, jobs->count + 1, sizeof *jobs->items)) {
                return false;
            }
            jobs->items[jobs->count++] = (struct recorded_job){.text = at};
        } else if (*at == 'T') {
            known = add_stage(jobs, at);
        }
        if (jobs->count) {
            jobs->items[jobs->count - 1].length += length;
        }
        at += length;
    }
    return known && jobs->count;
}

/* The work of the middle one of those that are graphs; NAN: none is. */
static double middle_work_s(const struct recorded_jobs *jobs) {
    double *work = sy_need(calloc(jobs->count + 1u, sizeof *work));
    uint32_t count = 0;
    for (uint32_t j = 0; j < jobs->count; j++) {
        if (jobs->items[j].stages >= STAGES_LEAST) {
            work[count++] = jobs->items[j].work_s;
        }
    }
    double middle = sy_quantile(work, count, 0.5);
    free(work);
    return middle;
}

int sy_jobs_choose(const char *path, double within) {
    struct recorded_jobs jobs = {0};
    struct sy_buffer chosen = {0};
    char *text = NULL;
    size_t length;
    int fd = -ENOENT;
    if (sy_read_file(path, &text, &length, NULL) == 0 && split_jobs(text, &jobs)) {
        double middle = middle_work_s(&jobs);
        for (uint32_t j = 0; j < jobs.count; j++) {
            const struct recorded_job *job = &jobs.items[j];
            if (job->stages >= STAGES_LEAST && job->work_s <= middle * within &&
                middle <= job->work_s * within) {
                sy_buffer_printf(&chosen, "%.*s", (int)job->length, job->text);
            }
        }
        fd = chosen.length ? in_memory(&chosen) : -ENOENT;
    }
    free(text);
    free(jobs.items);
    return fd;
}

/* --- training jobs -------------------------------------------------------------------------------
 */
static void put_training(struct sy_buffer *out, const char *name, uint32_t index) {
    struct sy_rng rng = sy_rng_make(1, PURPOSE, index);
    uint32_t steps = (uint32_t)(STEPS_LEAST * pow(STEPS_FACTOR, sy_rng_uniform(&rng)));
    sy_buffer_printf(out,
                     "%s{\"schema\": \"symph-graph-1\", \"name\": \"%s\", \"kernels\": [{\"name\": "
                     "\"%s\", \"variants\": {\"gpu\": {\"fixed_ns\": %g}}}], \"data\": "
                     "[{\"bytes\": %g}], \"tasks\": [",
                     index ? ",\n" : "[", name, name, STEP_NS, MODEL_BYTES);
    for (uint32_t i = 0; i < steps; i++) {
        sy_buffer_printf(out, "%s{\"kernel\": 0, \"updates\": [0]}", i ? ", " : "");
    }
    sy_buffer_printf(out, "]}");
}

int sy_jobs_of_pairs(const char *path) {
    struct sy_interference *table = NULL;
    struct sy_error error = {0};
    struct sy_buffer text = {0};
    int code = sy_interference_read(path, &table, &error);
    if (code < 0) {
        sy_message_error(&error);
        return code;
    }
    for (uint32_t i = 0; i < table->count; i++) {
        put_training(&text, table->names[i], i);
    }
    sy_buffer_printf(&text, "]\n");
    sy_interference_destroy(table);
    return in_memory(&text);
}
