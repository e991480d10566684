/* SPDX-License-Identifier: Apache-2.0
 *
 * The store: groups of cells by (kernel, class, how runs are described).
 *
 * In: names, features, samples. Out: cells that stay where they are. Invariants: cells of sizes are
 * told apart by all they state; those of costs are few, and all of one build.
 */
#include "cost/store.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As memory, so without padding: the value is compared by its bytes. */
struct key {
    double bytes, flops;
    uint64_t footprint;
    uint32_t kernel, class_name;
};

struct group_key {
    uint32_t kernel, class_name;
};

struct sy_store *sy_store_create(void) {
    struct sy_store *store = calloc(1, sizeof *store);
    if (store && !(store->arena = sy_arena_create())) {
        free(store);
        return NULL;
    }
    for (uint32_t i = 0; store && i < SY_SIZES; i++) {
        store->costs[store->cost_count++] = sy_size_names[i];
    }
    return store;
}

void sy_store_close(struct sy_store *store) {
    if (!store) {
        return;
    }
    for (uint32_t i = 0; i < store->group_count; i++) {
        for (struct sy_group *group = store->group_list[i]; group; group = group->next) {
            free(group->cells);
            sy_line_finish(group->line);
        }
    }
    free(store->group_list);
    free(store->cells);
    free(store->builds);
    free(store->cleared);
    free(store->path);
    free(store->bench);
    sy_parts_close(store->parts);
    sy_map_finish(&store->names);
    sy_map_finish(&store->groups);
    sy_map_finish(&store->keys);
    sy_map_finish(&store->aliases);
    sy_arena_destroy(store->arena);
    free(store);
}

const char *sy_store_path(const struct sy_store *store) {
    return store->path;
}

uint32_t sy_store_count(const struct sy_store *store) {
    return store->count;
}

const struct sy_cell *sy_store_at(const struct sy_store *store, uint32_t index) {
    return store->cells[index];
}

/* --- features -----------------------------------------------------------------------------------
 */
const char *const sy_size_names[SY_SIZES] = {"flops", "bytes"};

int sy_feature_compare(const char *a, const char *b) {
    for (size_t i = 0; i < SY_COUNT(sy_size_names); i++) {
        bool is_a = strcmp(a, sy_size_names[i]) == 0, is_b = strcmp(b, sy_size_names[i]) == 0;
        if (is_a || is_b) {
            return (int)is_b - (int)is_a;
        }
    }
    return strcmp(a, b);
}

bool sy_features_sound(const struct sy_features *features) {
    if (!features->names) {
        return true; /* of sizes, what is no number is not known */
    }
    bool sound = features->count >= SY_SIZES && features->count <= SY_FEATURE_MAX &&
                 features->width > 0 && features->footprint == 0;
    for (uint32_t i = 0; sound && i < features->count; i++) {
        sound = features->values[i] > 0 && isfinite(features->values[i]) &&
                (i < SY_SIZES ? strcmp(features->names[i], sy_size_names[i]) == 0
                              : sy_feature_compare(features->names[i - 1], features->names[i]) < 0);
    }
    return sound;
}

/* --- groups -------------------------------------------------------------------------------------
 */
/* Number of a name, the same for kernels and classes. Whoever names a kernel for the first time
 * needs what the file has of it. */
static int intern(struct sy_store *store, const char *name, uint32_t *ret_index) {
    size_t length = strlen(name);
    if (sy_map_get(&store->names, name, length, ret_index)) {
        return 0;
    }
    const char *copy = sy_arena_strndup(store->arena, name, length);
    uint32_t index = store->names.count;
    int code = copy ? sy_grow(&store->builds, &store->build_capacity, index + 1, sizeof(uint64_t))
                    : -ENOMEM;
    code = code ? code : sy_map_put(&store->names, copy, length, index);
    if (!code) {
        store->builds[index] = 0;
        *ret_index = index;
    }
    return code || !store->parts ? code : sy_parts_read(store, store->parts, name);
}

static bool is_described(const struct sy_group *group, const struct sy_features *features) {
    bool same = group->name_count == (features->names ? features->count : 0);
    for (uint32_t i = 0; same && i < group->name_count; i++) {
        same = strcmp(group->names[i], features->names[i]) == 0;
    }
    return same;
}

/* ret_first: of this kernel and class, or NULL. */
static struct sy_group *find_group(const struct sy_store *store, struct group_key key,
                                   const struct sy_features *features,
                                   struct sy_group **ret_first) {
    uint32_t index;
    *ret_first = sy_map_get(&store->groups, (const char *)&key, sizeof key, &index)
                     ? store->group_list[index]
                     : NULL;
    struct sy_group *group = *ret_first;
    while (group && !is_described(group, features)) {
        group = group->next;
    }
    return group;
}

struct sy_group *sy_store_group(const struct sy_store *store, const struct sy_map *names,
                                const char *kernel, const char *class_name,
                                const struct sy_features *features) {
    struct group_key key;
    struct sy_group *first;
    return sy_map_get(names, kernel, strlen(kernel), &key.kernel) &&
                   sy_map_get(&store->names, class_name, strlen(class_name), &key.class_name)
               ? find_group(store, key, features, &first)
               : NULL;
}

/* The store's own names of these costs. */
static int name_costs(struct sy_store *store, const struct sy_features *features,
                      const char **ret_names) {
    for (uint32_t i = 0; features->names && i < features->count; i++) {
        uint32_t n = 0;
        while (n < store->cost_count && strcmp(store->costs[n], features->names[i]) != 0) {
            n++;
        }
        if (n == SY_COSTS_NAME_MAX) {
            return -ENOSPC;
        }
        if (n == store->cost_count) {
            store->costs[n] = sy_arena_strdup(store->arena, features->names[i]);
            store->cost_count += store->costs[n] != NULL;
        }
        ret_names[i] = store->costs[n];
        if (!ret_names[i]) {
            return -ENOMEM;
        }
    }
    return 0;
}

/* What answers: a line of sizes, a model of costs. */
static int add_method(struct sy_store *store, struct sy_group *group, uint32_t cost_count) {
    if (!cost_count) {
        group->line = sy_arena_alloc(store->arena, 1, sizeof *group->line);
        return group->line ? 0 : -ENOMEM;
    }
    group->model = sy_arena_alloc(store->arena, 1, sizeof *group->model);
    store->bench = store->bench ? store->bench : calloc(1, sizeof *store->bench);
    if (!group->model || !store->bench) {
        return -ENOMEM;
    }
    group->name_count = group->model->cost_count = cost_count;
    return 0;
}

static int index_group(struct sy_store *store, struct group_key key, struct sy_group *group) {
    struct group_key *copy = sy_arena_alloc(store->arena, 1, sizeof *copy);
    if (!copy || sy_grow(&store->group_list, &store->group_capacity, store->group_count + 1,
                         sizeof(struct sy_group *))) {
        return -ENOMEM;
    }
    *copy = key;
    store->group_list[store->group_count] = group;
    int code = sy_map_put(&store->groups, (const char *)copy, sizeof *copy, store->group_count);
    store->group_count += code == 0;
    return code;
}

/* Made if it is missing. key: the numbers of both names. */
static int touch_group(struct sy_store *store, struct group_key key, const char *kernel,
                       const char *class_name, const struct sy_features *features,
                       struct sy_group **ret_group) {
    struct sy_group *first, *group = find_group(store, key, features, &first);
    if (group) {
        *ret_group = group;
        return 0;
    }
    const char *names[SY_FEATURE_MAX] = {0};
    int code = name_costs(store, features, names);
    if (code) {
        return code;
    }
    group = sy_arena_alloc(store->arena, 1, sizeof *group);
    if (!group || !(group->kernel = sy_arena_strdup(store->arena, kernel)) ||
        !(group->class_name = sy_arena_strdup(store->arena, class_name))) {
        return -ENOMEM;
    }
    group->kernel_number = key.kernel;
    group->class_number = key.class_name;
    memcpy(group->names, names, sizeof names);
    group->wanted = store->builds[key.kernel];
    code = add_method(store, group, features->names ? features->count : 0);
    while (first && first->next) {
        first = first->next; /* in the order in which they came, so that it is that of the file */
    }
    if (!code && first) {
        first->next = group;
    } else if (!code) {
        code = index_group(store, key, group);
    }
    *ret_group = group;
    return code;
}

int sy_store_add_alias(struct sy_store *store, const char *alias, const char *kernel) {
    uint32_t index;
    int code = intern(store, kernel, &index);
    if (code || sy_map_get(&store->aliases, alias, strlen(alias), &index)) {
        return code;
    }
    const char *copy = sy_arena_strdup(store->arena, alias);
    return copy ? sy_map_put(&store->aliases, copy, strlen(copy), index) : -ENOMEM;
}

/* --- cells --------------------------------------------------------------------------------------
 */
struct sy_cell *sy_store_add_cell(struct sy_store *store, struct sy_group *group) {
    struct sy_cell *cell = sy_arena_alloc(store->arena, 1, sizeof *cell);
    if (!cell ||
        sy_grow(&store->cells, &store->capacity, store->count + 1, sizeof(struct sy_cell *)) ||
        sy_grow(&group->cells, &group->capacity, group->made + 1, sizeof(struct sy_cell *)) ||
        sy_line_grow(group->line, group->made + 1)) {
        return NULL;
    }
    *cell = (struct sy_cell){.kernel = group->kernel,
                             .class_name = group->class_name,
                             .features = {.count = group->name_count ? group->name_count : SY_SIZES,
                                          .names = group->name_count ? group->names : NULL,
                                          .values = cell->values,
                                          .width = 1},
                             .group = group,
                             .wanted = group->wanted,
                             .watts = NAN,
                             .median_ns = NAN};
    group->cells[group->made++] = cell;
    store->cells[store->count++] = cell;
    return cell;
}

/* Of sizes. */
static struct sy_cell *add_cell(struct sy_store *store, struct sy_group *group,
                                const struct key *key) {
    struct key *copy = sy_arena_alloc(store->arena, 1, sizeof *copy);
    uint32_t index = store->count;
    struct sy_cell *cell = copy ? sy_store_add_cell(store, group) : NULL;
    if (!cell) {
        return NULL;
    }
    *copy = *key;
    if (sy_map_put(&store->keys, (const char *)copy, sizeof *copy, index)) {
        return NULL; /* an empty cell that nobody finds does no harm */
    }
    cell->values[SY_FLOPS] = key->flops;
    cell->values[SY_BYTES] = key->bytes;
    cell->features.footprint = key->footprint;
    group->count = group->made;
    return cell;
}

/* There is one zero only. */
static double size_of(double value) {
    return value > 0 && isfinite(value) ? value : 0;
}

struct sy_group *sy_store_sizes(struct sy_store *store, const char *kernel,
                                const char *class_name) {
    static const struct sy_features sizes;
    struct group_key key;
    struct sy_group *group;
    return intern(store, kernel, &key.kernel) || intern(store, class_name, &key.class_name) ||
                   touch_group(store, key, kernel, class_name, &sizes, &group)
               ? NULL
               : group;
}

struct sy_cell *sy_group_cell(struct sy_store *store, struct sy_group *group, double bytes,
                              double flops, uint64_t footprint) {
    struct key key = {.bytes = size_of(bytes),
                      .flops = size_of(flops),
                      .footprint = footprint,
                      .kernel = group->kernel_number,
                      .class_name = group->class_number};
    uint32_t index;
    return sy_map_get(&store->keys, (const char *)&key, sizeof key, &index)
               ? store->cells[index]
               : add_cell(store, group, &key);
}

struct sy_cell *sy_store_cell(struct sy_store *store, const char *kernel, const char *class_name,
                              double bytes, double flops, uint64_t footprint) {
    struct sy_group *group = sy_store_sizes(store, kernel, class_name);
    return group ? sy_group_cell(store, group, bytes, flops, footprint) : NULL;
}

/* --- samples ------------------------------------------------------------------------------------
 */
static int put(struct sy_store *store, const struct sy_cost_sample *sample, uint64_t build,
               bool saved) {
    const struct sy_features *features = &sample->features;
    if (!(sample->time_ns > 0) || !isfinite(sample->time_ns) || !sy_features_sound(features)) {
        return -EINVAL;
    }
    if (features->names) {
        struct sy_group *group;
        struct group_key key;
        if (intern(store, sample->kernel, &key.kernel) ||
            intern(store, sample->class_name, &key.class_name)) {
            return -ENOMEM;
        }
        int code = touch_group(store, key, sample->kernel, sample->class_name, features, &group);
        return code == -ENOSPC ? 0
               : code          ? code
                               : sy_group_observe(store, group, sample, build, saved);
    }
    struct sy_cell *cell =
        sy_store_cell(store, sample->kernel, sample->class_name, features->values[SY_BYTES],
                      features->values[SY_FLOPS], features->footprint);
    if (!cell) {
        return -ENOMEM;
    }
    sy_cell_add(cell, sample, build, 1);
    cell->stamp = ++cell->group->clock;
    cell->saved_count = saved ? cell->sample_count : cell->saved_count;
    return 0;
}

static uint64_t wanted_build(const struct sy_store *store, const char *kernel) {
    uint32_t index;
    return sy_map_get(&store->names, kernel, strlen(kernel), &index) ? store->builds[index] : 0;
}

int sy_store_observe(struct sy_store *store, const struct sy_cost_sample *sample) {
    return put(store, sample, wanted_build(store, sample->kernel), false);
}

int sy_store_add(struct sy_store *store, const struct sy_cost_sample *sample, bool any_build) {
    uint64_t build = any_build ? wanted_build(store, sample->kernel) : sample->build;
    return put(store, sample, build, true);
}

/* --- builds, forgetting -------------------------------------------------------------------------
 */
int sy_store_set_build(struct sy_store *store, const char *kernel, uint64_t build) {
    uint32_t index;
    int code = intern(store, kernel, &index);
    if (code || store->builds[index] == build) {
        return code;
    }
    store->builds[index] = build;
    for (uint32_t i = 0; i < store->group_count; i++) {
        for (struct sy_group *group = store->group_list[i];
             group && strcmp(group->kernel, kernel) == 0; group = group->next) {
            group->wanted = build;
            sy_group_outdate(group);
            for (uint32_t c = 0; c < group->made; c++) {
                group->cells[c]->wanted = build;
            }
        }
    }
    return 0;
}

static int note_cleared(struct sy_store *store, const char *kernel) {
    const char *copy = sy_arena_strdup(store->arena, kernel);
    if (!copy || sy_grow(&store->cleared, &store->cleared_capacity, store->cleared_count + 1,
                         sizeof(const char *))) {
        return -ENOMEM;
    }
    store->cleared[store->cleared_count++] = copy;
    return 0;
}

int sy_store_clear(struct sy_store *store, const char *kernel) {
    int code = kernel ? note_cleared(store, kernel) : 0;
    store->cleared_all |= !kernel;
    for (uint32_t i = 0; i < store->group_count && !code; i++) {
        for (struct sy_group *group = store->group_list[i]; group; group = group->next) {
            if (!kernel || strcmp(group->kernel, kernel) == 0) {
                sy_group_reset(group);
            }
        }
    }
    return code;
}
