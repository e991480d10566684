/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocators that run out on purpose; see starve.h.
 */
#include "starve.h"
#include <stdbool.h>
#include <stdlib.h>

unsigned starve_left = UINT_MAX;
unsigned starve_taken;

static bool runs_out(void) {
    starve_taken++;
    return starve_left == 0 || (starve_left != UINT_MAX && starve_left-- == 0);
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);

void *__wrap_malloc(size_t size) {
    return runs_out() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return runs_out() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size) {
    return runs_out() ? NULL : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size) {
    return runs_out() ? NULL : __real_reallocarray(old, count, size);
}
