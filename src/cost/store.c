/* SPDX-License-Identifier: Apache-2.0
 *
 * The store: cells by (kernel, class, size), and estimates for sizes not yet measured.
 *
 * In: names and features. Out: cells that stay where they are; estimates. Invariant: a cell with
 * enough samples of its own is never answered by others; one without is answered by the curve
 * through those of its kernel and class, which is fitted again only as samples come.
 */
#include "cost/store.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UNTRUSTED_SIGMA 0.5  /* spread claimed for one or two samples */
#define ALIKE_SIGMA     0.1  /* added for a cell that has the same features */
#define REFIT_RATIO     1.25 /* more samples, by so much, make the curve old */
#define PRIOR_SIGMA     0.5  /* added for times of another build */

/* As memory, so without padding: the value is compared by its bytes. */
struct key {
    double bytes, flops;
    uint64_t footprint;
    uint32_t kernel, class_name;
};

struct group_key {
    uint32_t kernel, class_name;
};

int sy_store_create(struct sy_store **ret_store) {
    struct sy_store *store = calloc(1, sizeof *store);
    if (!store) {
        return -ENOMEM;
    }
    store->arena = sy_arena_create();
    if (!store->arena) {
        free(store);
        return -ENOMEM;
    }
    *ret_store = store;
    return 0;
}

void sy_store_close(struct sy_store *store) {
    if (!store) {
        return;
    }
    for (uint32_t i = 0; i < store->group_count; i++) {
        free(store->group_list[i]->entries);
        free(store->group_list[i]->curve.sizes);
    }
    free(store->group_list);
    free(store->entries);
    free(store->builds);
    free(store->cleared);
    free(store->path);
    sy_map_finish(&store->names);
    sy_map_finish(&store->groups);
    sy_map_finish(&store->keys);
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
    return &store->entries[index]->cell;
}

/* Number of a name, the same for kernels and classes. */
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
    return code;
}

static struct sy_store_group *touch_group(struct sy_store *store, struct group_key key) {
    uint32_t index;
    if (sy_map_get(&store->groups, (const char *)&key, sizeof key, &index)) {
        return store->group_list[index];
    }
    struct group_key *copy = sy_arena_alloc(store->arena, 1, sizeof *copy);
    struct sy_store_group *group = sy_arena_alloc(store->arena, 1, sizeof *group);
    if (!copy || !group ||
        sy_grow(&store->group_list, &store->group_capacity, store->group_count + 1,
                sizeof(struct sy_store_group *))) {
        return NULL;
    }
    *copy = key;
    if (sy_map_put(&store->groups, (const char *)copy, sizeof *copy, store->group_count)) {
        return NULL;
    }
    store->group_list[store->group_count++] = group;
    return group;
}

static struct sy_store_entry *add_entry(struct sy_store *store, const struct key *key,
                                        const char *kernel, const char *class_name) {
    struct sy_store_group *group =
        touch_group(store, (struct group_key){key->kernel, key->class_name});
    struct key *copy = sy_arena_alloc(store->arena, 1, sizeof *copy);
    struct sy_store_entry *entry = sy_arena_alloc(store->arena, 1, sizeof *entry);
    const char *own_kernel = sy_arena_strdup(store->arena, kernel);
    const char *own_class = sy_arena_strdup(store->arena, class_name);
    if (!group || !copy || !entry || !own_kernel || !own_class ||
        sy_grow(&store->entries, &store->capacity, store->count + 1,
                sizeof(struct sy_store_entry *)) ||
        sy_grow(&group->entries, &group->capacity, group->count + 1,
                sizeof(struct sy_store_entry *))) {
        return NULL;
    }
    *copy = *key;
    entry->cell = (struct sy_cell){.kernel = own_kernel,
                                   .class_name = own_class,
                                   .bytes = key->bytes,
                                   .flops = key->flops,
                                   .footprint = key->footprint,
                                   .wanted = store->builds[key->kernel],
                                   .median_ns = NAN};
    entry->group = group;
    if (sy_map_put(&store->keys, (const char *)copy, sizeof *copy, store->count)) {
        return NULL;
    }
    group->entries[group->count++] = entry;
    store->entries[store->count++] = entry;
    return entry;
}

/* A feature that is no number is unknown; and there is one zero only. */
static double feature(double value) {
    return value > 0 && isfinite(value) ? value : 0;
}

struct sy_cell *sy_store_cell(struct sy_store *store, const char *kernel, const char *class_name,
                              double bytes, double flops, uint64_t footprint) {
    struct key key = {.bytes = feature(bytes), .flops = feature(flops), .footprint = footprint};
    uint32_t index;
    if (intern(store, kernel, &key.kernel) || intern(store, class_name, &key.class_name)) {
        return NULL;
    }
    if (sy_map_get(&store->keys, (const char *)&key, sizeof key, &index)) {
        return &store->entries[index]->cell;
    }
    struct sy_store_entry *entry = add_entry(store, &key, kernel, class_name);
    return entry ? &entry->cell : NULL;
}

int sy_store_set_build(struct sy_store *store, const char *kernel, uint64_t build) {
    uint32_t index;
    int code = intern(store, kernel, &index);
    if (code || store->builds[index] == build) {
        return code;
    }
    store->builds[index] = build;
    for (uint32_t i = 0; i < store->count; i++) {
        struct sy_store_entry *entry = store->entries[i];
        if (strcmp(entry->cell.kernel, kernel) == 0) {
            entry->cell.wanted = build;
            entry->group->curve_trusted = 0;
        }
    }
    return 0;
}

static bool supports(const struct sy_cell *cell) {
    return sy_cell_count(cell) >= SY_CELL_TRUSTED && (cell->flops > 0 || cell->bytes > 0);
}

/* The curve through a group's trusted cells; NULL: there are none. Of more than it holds, evenly
 * chosen ones. */
static const struct sy_curve *refresh_curve(struct sy_store_group *group) {
    uint32_t trusted = 0, passed = 0;
    uint64_t samples = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        if (supports(&group->entries[i]->cell)) {
            trusted++;
            samples += group->entries[i]->cell.sample_count;
        }
    }
    struct sy_curve *curve = &group->curve;
    if (trusted == 0 || (trusted == group->curve_trusted && samples >= group->curve_samples &&
                         (double)samples < REFIT_RATIO * (double)group->curve_samples)) {
        return trusted ? curve : NULL;
    }
    uint32_t wanted = trusted < SY_CURVE_SIZES ? trusted : SY_CURVE_SIZES;
    if (sy_grow(&curve->sizes, &curve->size_capacity, wanted, sizeof *curve->sizes)) {
        return NULL;
    }
    curve->size_count = 0;
    for (uint32_t i = 0; i < group->count && curve->size_count < wanted; i++) {
        const struct sy_cell *cell = &group->entries[i]->cell;
        if (supports(cell) && (uint64_t)passed++ * wanted / trusted >= curve->size_count) {
            curve->sizes[curve->size_count++] =
                (struct sy_curve_size){.bytes = cell->bytes,
                                       .flops = cell->flops,
                                       .weight = cell->sample_count,
                                       .log_median = log(cell->median_ns),
                                       .log_sigma = cell->log_sigma};
        }
    }
    sy_curve_regress(curve, SY_CURVE_FLOPS, &curve->fits[SY_CURVE_FLOPS]);
    sy_curve_regress(curve, SY_CURVE_BYTES, &curve->fits[SY_CURVE_BYTES]);
    group->curve_trusted = trusted;
    group->curve_samples = samples;
    return curve;
}

struct sy_estimate sy_store_estimate(const struct sy_store *store, const struct sy_cell *cell) {
    (void)store;
    uint64_t count = sy_cell_count(cell);
    struct sy_estimate own = {.median_ns = cell->median_ns,
                              .log_sigma = cell->log_sigma,
                              .sample_count = count,
                              .source = SY_COST_MEASURED};
    if (count >= SY_CELL_TRUSTED) {
        return own;
    }
    if (cell->flops > 0 || cell->bytes > 0) {
        struct sy_store_group *group = ((const struct sy_store_entry *)cell)->group;
        const struct sy_curve *curve = refresh_curve(group);
        struct sy_estimate found =
            curve ? sy_curve_estimate(curve, cell->bytes, cell->flops) : (struct sy_estimate){0};
        if (found.source == SY_COST_MEASURED) {
            found.source = SY_COST_REGRESSED;
            found.log_sigma = hypot(found.log_sigma, ALIKE_SIGMA);
        }
        if (found.source != SY_COST_UNKNOWN) {
            found.sample_count = count;
            return found;
        }
    }
    if (count < cell->sample_count) {
        own.source = SY_COST_PRIOR;
        own.log_sigma = hypot(cell->log_sigma, PRIOR_SIGMA);
    } else {
        own.log_sigma = UNTRUSTED_SIGMA;
    }
    return cell->sample_count ? own : (struct sy_estimate){.source = SY_COST_UNKNOWN};
}

int sy_store_clear(struct sy_store *store, const char *kernel) {
    if (!kernel) {
        store->cleared_all = true;
    } else {
        const char *copy = sy_arena_strdup(store->arena, kernel);
        if (!copy || sy_grow(&store->cleared, &store->cleared_capacity, store->cleared_count + 1,
                             sizeof(const char *))) {
            return -ENOMEM;
        }
        store->cleared[store->cleared_count++] = copy;
    }
    for (uint32_t i = 0; i < store->count; i++) {
        struct sy_cell *cell = &store->entries[i]->cell;
        if (!kernel || strcmp(cell->kernel, kernel) == 0) {
            sy_cell_reset(cell);
            store->entries[i]->group->curve_trusted = 0;
        }
    }
    return 0;
}

void sy_store_forget_unseen(struct sy_store *store) {
    for (uint32_t i = 0; i < store->count; i++) {
        struct sy_store_entry *entry = store->entries[i];
        if (!entry->seen && entry->cell.saved_count > 0) {
            sy_cell_merge(&entry->cell, NULL, 0, 0);
            entry->group->curve_trusted = 0;
        }
    }
}
