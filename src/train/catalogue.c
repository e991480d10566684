/* SPDX-License-Identifier: Apache-2.0
 *
 * What worlds can be drawn from: families of graphs and shapes of machines, generated (families.c)
 * or recorded, less those that a run must not see (left_out.c). Invariant: constant once open, and
 * shared by all workers.
 */
#include "train/worlds.h"
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TASKS_LOW    200
#define TASKS_HIGH   1800
#define SINGLE_SHARE 0.35
#define BUS_ENDING   ".bus.csv"

static const char *const recorded_families[] = {"workflows", "tpch", "alibaba"};

/* --- families -----------------------------------------------------------------------------------
 */
static int compare_sizes(const void *a, const void *b, void *context) {
    const struct sy_graph_list *list = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint32_t p = sy_graph_task_count(list->graphs[x]), q = sy_graph_task_count(list->graphs[y]);
    return p != q ? (p < q ? -1 : 1) : x < y ? -1 : x > y;
}

static int read_family(struct sy_catalogue *c, const char *name, struct sy_error *error) {
    struct sy_buffer path = {0};
    struct family *family = &c->families[c->family_count];
    *family = (struct family){.name = name};
    sy_buffer_printf(&path, "%s/graphs/%s.dag", c->options.data, name);
    int code = path.failed ? sy_out_of_memory(error)
                           : sy_graph_read_file(path.text, NULL, &family->graphs, error);
    sy_buffer_finish(&path);
    if (code) {
        return code;
    }
    c->family_count++; /* close ends its list */
    uint32_t count = family->graphs.count;
    family->by_size = sy_arena_alloc(c->arena, count + 1u, sizeof *family->by_size);
    if (!family->by_size) {
        return sy_out_of_memory(error);
    }
    for (uint32_t i = 0; i < count; i++) {
        family->by_size[i] = i;
    }
    qsort_r(family->by_size, count, sizeof *family->by_size, compare_sizes, &family->graphs);
    return 0;
}

static int add_families(struct sy_catalogue *c, struct sy_error *error) {
    const char *names[FAMILIES_MAX];
    const struct family *family;
    uint32_t count = 0, recorded = c->options.data ? SY_COUNT(recorded_families) : 0;
    for (uint32_t i = 0; (family = sy_family_at(i)); i++) {
        names[count++] = family->name;
        if (sy_wants_family(&c->options, family->name)) {
            c->families[c->family_count++] = *family;
        }
    }
    for (uint32_t i = 0; i < recorded; i++) {
        names[count++] = recorded_families[i];
    }
    int code = sy_check_families(&c->options, names, count, error);
    for (uint32_t i = 0; !code && i < recorded; i++) {
        if (sy_wants_family(&c->options, recorded_families[i])) {
            code = read_family(c, recorded_families[i], error);
        }
    }
    return code              ? code
           : c->family_count ? 0
                             : sy_fail(error, -EINVAL, "no family of graphs is left");
}

/* --- machines -----------------------------------------------------------------------------------
 */
static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names of recorded machines, X of X.bus.csv, sorted. */
static int list_recorded(struct sy_catalogue *c, const char **names, uint32_t capacity,
                         uint32_t *ret_count, struct sy_error *error) {
    struct sy_buffer path = {0};
    sy_buffer_printf(&path, "%s/machines", c->options.data);
    DIR *folder = path.failed ? NULL : opendir(path.text);
    int code = folder ? 0
                      : sy_fail(error, path.failed ? -ENOMEM : -errno, "%s: cannot be read",
                                path.failed ? "machines" : path.text);
    uint32_t count = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        size_t length = strlen(entry->d_name), ending = strlen(BUS_ENDING);
        if (length > ending && count < capacity &&
            strcmp(entry->d_name + length - ending, BUS_ENDING) == 0) {
            names[count] = sy_arena_strndup(c->arena, entry->d_name, length - ending);
            code = names[count] ? code : sy_out_of_memory(error);
            count += names[count] != NULL;
        }
    }
    if (folder) {
        closedir(folder);
    }
    sy_buffer_finish(&path);
    qsort(names, count, sizeof *names, compare_names);
    *ret_count = count;
    return code;
}

static int read_machine(struct sy_catalogue *c, const char *name, struct sy_error *error) {
    struct sy_buffer bus = {0}, kernels = {0};
    struct shape *shape = &c->shapes[c->shape_count];
    *shape = (struct shape){.name = name, .store = sy_store_create()};
    sy_buffer_printf(&bus, "%s/machines/%s" BUS_ENDING, c->options.data, name);
    sy_buffer_printf(&kernels, "%s/machines/%s.kernels.csv", c->options.data, name);
    int code = bus.failed || kernels.failed || !shape->store
                   ? sy_out_of_memory(error)
                   : sy_machine_read_file(bus.text, &shape->own_machine, error);
    shape->machine = shape->own_machine;
    code = code ? code : sy_store_read(shape->store, kernels.text, error);
    sy_buffer_finish(&bus);
    sy_buffer_finish(&kernels);
    c->shape_count++; /* close ends it, whole or not */
    return code;
}

static int add_machines(struct sy_catalogue *c, struct sy_error *error) {
    const char *names[MACHINES_MAX];
    const struct shape *shape;
    uint32_t count = 0, recorded = 0;
    for (uint32_t i = 0; (shape = sy_shape_at(i)); i++) {
        names[count++] = shape->name;
        if (sy_wants_machine(&c->options, shape->name)) {
            c->shapes[c->shape_count++] = *shape;
        }
    }
    int code = c->options.data
                   ? list_recorded(c, names + count, MACHINES_MAX - count, &recorded, error)
                   : 0;
    code = code ? code : sy_check_machines(&c->options, names, count + recorded, error);
    for (uint32_t i = count; !code && i < count + recorded; i++) {
        if (sy_wants_machine(&c->options, names[i])) {
            code = read_machine(c, names[i], error);
        }
    }
    return code ? code : c->shape_count ? 0 : sy_fail(error, -EINVAL, "no machine is left");
}

static int add_tables(struct sy_catalogue *c, struct sy_error *error) {
    struct sy_buffer path = {0};
    sy_buffer_printf(&path, "%s/interference/smt-pairs-genomics.csv", c->options.data);
    int code =
        path.failed ? sy_out_of_memory(error) : sy_interference_read(path.text, &c->smt, error);
    sy_buffer_finish(&path);
    return code;
}

/* Their machine stays the caller's. */
static int add_traces(struct sy_catalogue *c, struct sy_error *error) {
    c->shapes[c->shape_count++] =
        (struct shape){.name = "traced", .machine = c->options.traces->machine};
    return sy_halve_traces(c, error);
}

/* --- life ---------------------------------------------------------------------------------------
 */
int sy_catalogue_open(const struct sy_catalogue_options *options,
                      struct sy_catalogue **ret_catalogue, struct sy_error *error) {
    struct sy_catalogue *c = calloc(1, sizeof *c);
    if (!c || !(c->arena = sy_arena_create())) {
        free(c);
        return sy_out_of_memory(error);
    }
    c->options = *options;
    c->options.tasks_low = options->tasks_low > 0 ? options->tasks_low : TASKS_LOW;
    c->options.tasks_high = options->tasks_high > 0 ? options->tasks_high : TASKS_HIGH;
    c->options.tasks_high = fmax(c->options.tasks_low, c->options.tasks_high);
    c->options.single_share = isnan(options->single_share) ? SINGLE_SHARE : options->single_share;
    int code = options->traces ? add_traces(c, error) : add_families(c, error);
    code = code || options->traces ? code : add_machines(c, error);
    code = code || !options->data ? code : add_tables(c, error);
    if (code) {
        sy_catalogue_close(c);
        return code;
    }
    *ret_catalogue = c;
    return 0;
}

void sy_catalogue_close(struct sy_catalogue *c) {
    if (!c) {
        return;
    }
    for (uint32_t i = 0; i < c->family_count; i++) {
        sy_graph_list_finish(&c->families[i].graphs);
    }
    for (uint32_t i = 0; i < c->shape_count; i++) {
        sy_machine_destroy(c->shapes[i].own_machine);
        sy_store_close(c->shapes[i].store);
    }
    sy_interference_destroy(c->smt);
    sy_arena_destroy(c->arena);
    free(c);
}

const char *sy_catalogue_family(const struct sy_catalogue *c, uint32_t index) {
    return index < c->family_count ? c->families[index].name : NULL;
}

const char *sy_catalogue_machine(const struct sy_catalogue *c, uint32_t index) {
    return index < c->shape_count ? c->shapes[index].name : NULL;
}
