/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies of trees, and samples by name.
 */
#include "tree.h"

#include "../base/check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void shell(const char *format, const char *a, const char *b) {
    char command[1024];
    snprintf(command, sizeof command, format, a, b);
    assert_int_equal(system(command), 0);
}

void tree_copy(struct tree *tree, const char *name) {
    char from[512];
    snprintf(tree->root, sizeof tree->root, "/tmp/symph-tree-XXXXXX");
    assert_non_null(mkdtemp(tree->root));
    snprintf(from, sizeof from, "%s/%s/.", TREES, name);
    shell("cp -r '%s' '%s'", from, tree->root);
}

void tree_remove(struct tree *tree) {
    shell("rm -rf '%s'%s", tree->root, "");
}

void tree_write(const struct tree *tree, const char *path, const char *format, ...) {
    char full[512];
    snprintf(full, sizeof full, "%s%s", tree->root, path);
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    va_list args;
    va_start(args, format);
    vfprintf(file, format, args);
    va_end(args);
    fclose(file);
}

void tree_delete(const struct tree *tree, const char *path) {
    char full[512];
    snprintf(full, sizeof full, "%s%s", tree->root, path);
    shell("rm -r '%s'%s", full, "");
}

struct sy_sources *tree_open(const struct tree *tree, const char *only) {
    const struct sy_sources_options options = {.only = only, .root = tree->root};
    struct sy_sources *sources = NULL;
    struct sy_error error = {0};
    if (sy_sources_open(&options, &sources, &error)) {
        fail_msg("%s", error.message);
    }
    return sources;
}

uint32_t counter_named(const struct sy_sources *sources, const char *name) {
    uint32_t count;
    const struct sy_counter *counters = sy_sources_counters(sources, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(counters[i].name, name) == 0) {
            return i;
        }
    }
    return SY_NONE;
}

struct sy_sample read_sample(struct sy_sources *sources, double now_ns, const char *name) {
    uint32_t count, wanted = counter_named(sources, name);
    (void)sy_sources_counters(sources, &count);
    struct sy_sample *samples = calloc(count, sizeof *samples);
    struct sy_sample found = {.value = NAN};
    if (wanted == SY_NONE) {
        fail_msg("there is no counter %s", name);
    }
    int got = sy_sources_read(sources, now_ns, samples, count);
    assert_true(got >= 0);
    for (int i = 0; i < got; i++) {
        assert_true(isfinite(samples[i].value) && samples[i].value >= 0);
        assert_true(samples[i].running_ratio > 0 && samples[i].running_ratio <= 1);
        if (samples[i].counter == wanted) {
            found = samples[i];
        }
    }
    free(samples);
    return found;
}

double read_one(struct sy_sources *sources, double now_ns, const char *name) {
    return read_sample(sources, now_ns, name).value;
}

const struct sy_gap *gap_of(const struct sy_sources *sources, const char *source,
                            const char *what) {
    uint32_t count;
    const struct sy_gap *gaps = sy_sources_gaps(sources, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(gaps[i].source, source) == 0 && strstr(gaps[i].what, what)) {
            return &gaps[i];
        }
    }
    return NULL;
}
