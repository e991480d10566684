/* SPDX-License-Identifier: Apache-2.0
 *
 * Arena: memory that lives and dies together. Blocks grow geometrically; everything is zeroed.
 */
#include "base/base.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_MIN ((size_t)4096)
#define BLOCK_MAX ((size_t)1 << 20)
#define LARGE     ((size_t)1024) /* from here on allocations start on a cache line */

struct block {
    struct block *next;
    size_t used, size;
    unsigned char *data;
};

struct sy_arena {
    struct block *head;
    size_t next_size, total;
};

struct sy_arena *sy_arena_create(void) {
    struct sy_arena *arena = calloc(1, sizeof *arena);
    if (arena) {
        arena->next_size = BLOCK_MIN;
    }
    return arena;
}

static struct block *add_block(struct sy_arena *arena, size_t need) {
    size_t size = need > arena->next_size ? need : arena->next_size;
    struct block *block = malloc(sizeof *block);
    unsigned char *data = block ? calloc(1, size + 64) : NULL;
    if (!data) {
        free(block);
        return NULL;
    }
    *block = (struct block){.next = arena->head, .size = size + 64, .data = data};
    arena->head = block;
    arena->total += size;
    if (arena->next_size < BLOCK_MAX) {
        arena->next_size *= 2;
    }
    return block;
}

static void *carve(struct block *block, size_t bytes, size_t align) {
    uintptr_t at = (uintptr_t)(block->data + block->used);
    size_t pad = (align - at % align) % align;
    if (block->size - block->used < pad || block->size - block->used - pad < bytes) {
        return NULL;
    }
    unsigned char *result = block->data + block->used + pad;
    block->used += pad + bytes;
    return result;
}

void *sy_arena_alloc(struct sy_arena *arena, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2) {
        return NULL;
    }
    size_t align = bytes >= LARGE ? 64 : 16;
    void *result = arena->head ? carve(arena->head, bytes, align) : NULL;
    if (!result) {
        struct block *block = add_block(arena, bytes);
        result = block ? carve(block, bytes, align) : NULL;
    }
    return result;
}

char *sy_arena_strndup(struct sy_arena *arena, const char *text, size_t length) {
    char *copy = sy_arena_alloc(arena, length + 1, 1);
    if (copy) {
        memcpy(copy, text, length);
    }
    return copy;
}

char *sy_arena_strdup(struct sy_arena *arena, const char *text) {
    return sy_arena_strndup(arena, text, strlen(text));
}

size_t sy_arena_bytes(const struct sy_arena *arena) {
    return arena->total;
}

void sy_arena_destroy(struct sy_arena *arena) {
    if (!arena) {
        return;
    }
    for (struct block *block = arena->head, *next; block; block = next) {
        next = block->next;
        free(block->data);
        free(block);
    }
    free(arena);
}

int sy_grow(void *array_pointer, uint32_t *capacity, uint32_t need, size_t size) {
    if (need <= *capacity) {
        return 0;
    }
    uint64_t wanted = *capacity ? *capacity : 16;
    while (wanted < need) {
        wanted *= 2;
    }
    void *old, *grown;
    memcpy(&old, array_pointer, sizeof old);
    if (wanted > UINT32_MAX || !(grown = reallocarray(old, wanted, size))) {
        return -ENOMEM;
    }
    memcpy(array_pointer, &grown, sizeof grown);
    *capacity = (uint32_t)wanted;
    return 0;
}

int sy_append(void *array_pointer, uint32_t *capacity, uint32_t *count, const void *element,
              size_t size) {
    int code = sy_grow(array_pointer, capacity, *count + 1, size);
    if (!code) {
        char **array = array_pointer;
        memcpy(*array + (size_t)(*count)++ * size, element, size);
    }
    return code;
}
