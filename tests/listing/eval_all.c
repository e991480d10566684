/* SPDX-License-Identifier: Apache-2.0
 * Evaluates every metric of every listing on inputs that are a hash of seed and name, and prints
 * the values; second.py computes the same in its own way and compares. */
#include "metrics.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct inputs {
    uint64_t seed;
};

/* In lower case, and without the PMU where it has no terms: what second.py can know of a name. */
static uint64_t hash(const struct inputs *inputs, const char *kind, const char *name) {
    char text[1024];
    const char *slash = strchr(name, '/');
    size_t length = strlen(name);
    if (slash && slash < name + length - 1 && name[length - 1] == '/' && !strchr(name, '=')) {
        length -= (size_t)(slash + 1 - name) + 1;
        name = slash + 1;
    }
    int n = snprintf(text, sizeof text, "%llu %s %.*s", (unsigned long long)inputs->seed, kind,
                     (int)length, name);
    for (int i = 0; i < n; i++) {
        text[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] - 'A' + 'a') : text[i];
    }
    return sy_hash(text, (size_t)n);
}

/* One in 16 is 0, one in 64 is not known, the rest spreads over nine decades. */
static double value(void *user, const char *name) {
    uint64_t h = hash(user, "value", name) >> 8;
    if (h % 16 == 0) {
        return 0;
    }
    if (h / 16 % 64 == 0) {
        return NAN;
    }
    static const double decades[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
    return (double)(1 + h / 1024 % 9973) * decades[h / 1048576 % 9];
}

static double literal(void *user, const char *name) {
    return (double)(hash(user, "literal", name) >> 8 & 3);
}

static double source_count(void *user, const char *name) {
    return (double)(1 + (hash(user, "source", name) >> 8 & 7));
}

static bool has_event(void *user, const char *name) {
    return hash(user, "has", name) >> 8 & 1;
}

static bool is_cpu(void *user, const char *name) {
    return hash(user, "cpu", name) >> 8 & 1;
}

int main(int argc, char **argv) {
    struct sy_arena *arena = sy_arena_create();
    const char *const *names;
    struct sy_error error = {0};
    if (argc != 3 || !arena || sy_listing_names(argv[1], arena, &names, &error)) {
        fprintf(stderr, "usage: eval_all FOLDER SEED; %s\n", error.message);
        return 1;
    }
    struct inputs inputs = {.seed = strtoull(argv[2], NULL, 10)};
    const struct sy_expr_scope scope = {value, literal, source_count, has_event, is_cpu, &inputs};
    for (; *names; names++) {
        struct sy_listing *listing;
        if (sy_listing_open(*names, argv[1], &listing, &error)) {
            fprintf(stderr, "%s: %s\n", *names, error.message);
            return 1;
        }
        for (uint32_t i = 0; i < listing->metric_count; i++) {
            printf("%s\t%s\t%s\t%.17g\n", listing->name, listing->metrics[i].unit,
                   listing->metrics[i].name, metric_value(listing, i, &scope));
        }
        sy_listing_destroy(listing);
    }
    sy_arena_destroy(arena);
    return 0;
}
