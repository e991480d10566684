/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzes the reader of compact listings, and the compiler that makes them from JSON.
 *
 * Both get every input. A listing that is accepted can be searched and evaluated; what the compiler
 * makes is always accepted by the reader.
 */
#include "listing/compile.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define METRICS_MAX 50 /* evaluated per input, to stay fast */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static double value(void *user, const char *name) {
    static const double values[] = {0, 1, -3, 0.5, 1e300, 7};
    (void)user;
    return values[sy_hash(name, strlen(name)) % SY_COUNT(values)];
}

static void use(const struct sy_listing *listing) {
    const struct sy_expr_scope scope = {.value = value, .literal = value};
    SY_ASSERT(listing->listed_count <= listing->event_count);
    for (uint32_t i = 0; i < listing->name_count; i++) {
        uint32_t event = listing->name_event[i], metric = listing->name_metric[i];
        SY_ASSERT(metric == SY_NONE || metric < listing->metric_count);
        SY_ASSERT(event == SY_NONE || sy_listing_event(listing, listing->names[i]) == event);
    }
    for (uint32_t i = 0; i < listing->event_count; i++) {
        const struct sy_event *event = &listing->events[i];
        SY_ASSERT(event->name[0] && event->unit && event->encoding && event->privilege);
        SY_ASSERT(event->scale_unit && event->scale >= 0);
    }
    struct sy_error error = {0};
    SY_ASSERT(sy_listing_check(listing, &error) == 0 || error.message[0]);
    for (uint32_t i = 0; i < listing->metric_count && i < METRICS_MAX; i++) {
        (void)sy_expr_eval(&listing->metrics[i].expr, listing->names, &scope);
    }
}

static void read_compact(const char *text, size_t length) {
    struct sy_listing *listing;
    struct sy_error error = {0};
    if (sy_listing_read("fuzz", text, length, &listing, &error)) {
        SY_ASSERT(error.message[0]);
        return;
    }
    use(listing);
    sy_listing_destroy(listing);
}

static void compile_json(const char *text, size_t length) {
    struct sy_compilation c;
    struct sy_error error = {0};
    struct sy_buffer compact = {0};
    if (sy_compilation_init(&c, &error)) {
        return;
    }
    int code = sy_compilation_add(&c, "fuzz", text, length, true);
    code = code ? code : sy_compilation_add(&c, "fuzz", text, length, false);
    code = code ? code : sy_compilation_write(&c, "x86/fuzz", "fuzz", &compact);
    SY_ASSERT(!code || error.message[0]);
    if (!code) {
        struct sy_listing *listing = NULL;
        code = sy_listing_read("compiled", compact.text, compact.length, &listing, &error);
        SY_ASSERT(code != -EINVAL);
        if (!code) {
            SY_ASSERT(listing->listed_count == c.event_count);
            SY_ASSERT(listing->metric_count == c.metric_count);
            use(listing);
        }
        sy_listing_destroy(listing);
    }
    sy_buffer_finish(&compact);
    sy_compilation_finish(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1); /* readers may look at the NUL behind the text */
    if (!text) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    read_compact(text, size);
    compile_json(text, size);
    free(text);
    return 0;
}
