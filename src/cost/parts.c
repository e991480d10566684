/* SPDX-License-Identifier: Apache-2.0
 *
 * A machine's file in parts: the lines of one kernel on one class follow each other, and whoever
 * needs one kernel reads no other.
 *
 * In: the text of a file as we write it. Out: which lines are whose, found by comparing the
 * beginnings of lines; a kernel's samples, once it is asked for; the lines that nobody asked for,
 * as they are. Invariant: each line is read at most once, or passed on.
 */
#include "cost/store.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Lines that follow each other. */
struct range {
    size_t from, to;
    uint32_t before; /* lines of the file */
    uint32_t next;   /* of the same shelf; SY_NONE: the last one */
};

/* All lines of a kernel on a class. */
struct shelf {
    const char *name; /* of kernel and class as in the file, with the commas; in the text */
    size_t length;
    uint32_t line_count, first, last; /* of ranges */
    uint32_t next;                    /* of the same kernel; SY_NONE: the last one */
    bool gone;                        /* read, or not wanted */
};

struct sy_parts {
    char *file, *text;
    size_t length, header_length;
    uint32_t cost_count; /* columns */
    struct range *ranges;
    struct shelf *shelves;
    uint32_t range_count, range_capacity, shelf_count, shelf_capacity;
    struct sy_map names, kernels; /* to a shelf; to a kernel's newest shelf */
    struct sy_error damage;       /* the first that was met; no message: none */
};

void sy_parts_close(struct sy_parts *parts) {
    if (parts) {
        sy_map_finish(&parts->names);
        sy_map_finish(&parts->kernels);
        free(parts->ranges);
        free(parts->shelves);
        free(parts->text);
        free(parts->file);
        free(parts);
    }
}

/* --- finding parts ------------------------------------------------------------------------------
 */
/* Of what stands before a line's second comma, this included; 0: not as we write it. */
static size_t name_length(const char *line, size_t length, size_t *ret_kernel) {
    const char *comma = memchr(line, ',', length);
    const char *second = comma ? memchr(comma + 1, ',', length - (size_t)(comma + 1 - line)) : NULL;
    for (const char *at = line; second && at < second; at++) {
        if ((unsigned char)*at <= ' ' || *at == '"' || *at == '#') {
            return 0;
        }
    }
    *ret_kernel = second ? (size_t)(comma - line) : 0;
    return second ? (size_t)(second + 1 - line) : 0;
}

static int add_shelf(struct sy_parts *parts, const char *name, size_t length, size_t kernel,
                     uint32_t *ret_index) {
    uint32_t index = parts->shelf_count, newest = SY_NONE;
    if (sy_grow(&parts->shelves, &parts->shelf_capacity, index + 1, sizeof *parts->shelves)) {
        return -ENOMEM;
    }
    struct shelf shelf = {name, length, 0, SY_NONE, SY_NONE, SY_NONE, false};
    int code = sy_map_put(&parts->names, name, length, index);
    if (!code && sy_map_get(&parts->kernels, name, kernel, &newest)) {
        /* Behind the first one, which the map knows. */
        shelf.next = parts->shelves[newest].next;
        parts->shelves[newest].next = index;
    } else if (!code) {
        code = sy_map_put(&parts->kernels, name, kernel, index);
    }
    parts->shelves[index] = shelf;
    parts->shelf_count += code == 0;
    *ret_index = index;
    return code;
}

static int add_range(struct sy_parts *parts, uint32_t shelf_index, struct range range) {
    uint32_t index = parts->range_count;
    if (sy_grow(&parts->ranges, &parts->range_capacity, index + 1, sizeof *parts->ranges)) {
        return -ENOMEM;
    }
    struct shelf *shelf = &parts->shelves[shelf_index];
    *(shelf->first == SY_NONE ? &shelf->first : &parts->ranges[shelf->last].next) = index;
    shelf->last = index;
    parts->ranges[parts->range_count++] = range;
    return 0;
}

/* A line that begins like the one before belongs to the same part. */
static int find_parts(struct sy_parts *parts, uint32_t before) {
    const struct shelf *here = NULL;
    const char *text = parts->text;
    for (size_t at = parts->header_length, end; at < parts->length; at = end, before++) {
        const char *line = text + at;
        end = (size_t)((const char *)memchr(line, '\n', parts->length - at) + 1 - text);
        size_t length = end - at, kernel = 0;
        bool same = here && length > here->length && memcmp(line, here->name, here->length) == 0;
        size_t name = same ? here->length : name_length(line, length, &kernel);
        uint32_t index;
        if (!name) {
            return -EINVAL;
        }
        if (!same) {
            int code = sy_map_get(&parts->names, line, name, &index)
                           ? 0
                           : add_shelf(parts, line, name, kernel, &index);
            code = code ? code : add_range(parts, index, (struct range){at, at, before, SY_NONE});
            if (code) {
                return code;
            }
            here = &parts->shelves[index];
        }
        parts->ranges[parts->range_count - 1].to = end;
        parts->shelves[here - parts->shelves].line_count++;
    }
    return 0;
}

int sy_parts_open(struct sy_store *store, const char *file, char *adopt_text, size_t length,
                  struct sy_parts **ret_parts) {
    struct sy_parts *parts = calloc(1, sizeof *parts);
    const char *names[SY_COSTS_NAME_MAX];
    int code = parts && (parts->file = strdup(file)) ? 0 : -ENOMEM;
    if (!code) {
        parts->text = adopt_text;
        parts->length = length;
        code = length && adopt_text[length - 1] == '\n'
                   ? sy_costs_plain_header(adopt_text, length, store->arena, names,
                                           &parts->cost_count, &parts->header_length)
                   : -EINVAL;
    }
    code = code ? code : find_parts(parts, 2);
    if (code) {
        if (parts) {
            parts->text = NULL;
        }
        sy_parts_close(parts);
        return code;
    }
    for (store->cost_count = 0; store->cost_count < parts->cost_count; store->cost_count++) {
        store->costs[store->cost_count] = names[store->cost_count];
    }
    *ret_parts = parts;
    return 0;
}

/* --- reading ------------------------------------------------------------------------------------
 */
/* What stands before a damaged line counts. */
static int read_shelf(struct sy_store *store, struct sy_parts *parts, struct shelf *shelf) {
    struct sy_reading_to reading = {store, false};
    shelf->gone = true;
    for (uint32_t r = shelf->first; r != SY_NONE; r = parts->ranges[r].next) {
        const struct range *range = &parts->ranges[r];
        const struct sy_line_range lines = {parts->header_length, range->from, range->to,
                                            range->before};
        struct sy_error error = {0};
        int code = sy_costs_read_lines(parts->file, parts->text, &lines, sy_store_take_line,
                                       &reading, &error);
        if (code == -EINVAL && !parts->damage.message[0]) {
            parts->damage = error;
        }
        if (code) {
            return code == -EINVAL ? 0 : code;
        }
    }
    return 0;
}

static uint32_t first_shelf(const struct sy_parts *parts, const char *kernel, int *ret_code) {
    struct sy_buffer name = {0};
    uint32_t index = SY_NONE;
    sy_costs_write_name(&name, kernel);
    *ret_code = name.failed ? -ENOMEM : 0;
    if (!name.failed && !sy_map_get(&parts->kernels, name.text, name.length, &index)) {
        index = SY_NONE;
    }
    sy_buffer_finish(&name);
    return index;
}

int sy_parts_read(struct sy_store *store, struct sy_parts *parts, const char *kernel) {
    int code;
    for (uint32_t i = first_shelf(parts, kernel, &code); i != SY_NONE && !code;
         i = parts->shelves[i].next) {
        code = parts->shelves[i].gone ? 0 : read_shelf(store, parts, &parts->shelves[i]);
    }
    return code;
}

int sy_parts_read_all(struct sy_store *store, struct sy_parts *parts, uint32_t least_lines) {
    int code = 0;
    for (uint32_t i = 0; i < parts->shelf_count && !code; i++) {
        struct shelf *shelf = &parts->shelves[i];
        bool wanted = !shelf->gone && shelf->line_count >= least_lines;
        code = wanted ? read_shelf(store, parts, shelf) : 0;
    }
    return code;
}

int sy_parts_drop(struct sy_parts *parts, const char *kernel) {
    int code = 0;
    for (uint32_t i = 0; !kernel && i < parts->shelf_count; i++) {
        parts->shelves[i].gone = true;
    }
    for (uint32_t i = kernel ? first_shelf(parts, kernel, &code) : SY_NONE; i != SY_NONE;
         i = parts->shelves[i].next) {
        parts->shelves[i].gone = true;
    }
    return code;
}

const struct sy_error *sy_parts_damage(const struct sy_parts *parts) {
    return parts && parts->damage.message[0] ? &parts->damage : NULL;
}

/* --- passing on ---------------------------------------------------------------------------------
 */
bool sy_parts_fit(const struct sy_parts *parts, const struct sy_store *store) {
    return parts->cost_count == store->cost_count;
}

static size_t shelf_bytes(const struct sy_parts *parts, const struct shelf *shelf) {
    size_t sum = 0;
    for (uint32_t r = shelf->first; r != SY_NONE; r = parts->ranges[r].next) {
        sum += parts->ranges[r].to - parts->ranges[r].from;
    }
    return sum;
}

void sy_parts_write(const struct sy_parts *parts, size_t most_bytes, struct sy_buffer *buffer) {
    uint32_t first = parts->shelf_count;
    for (size_t left = most_bytes; first > 0; first--) {
        const struct shelf *shelf = &parts->shelves[first - 1];
        size_t bytes = shelf->gone ? 0 : shelf_bytes(parts, shelf);
        if (bytes > left) {
            break;
        }
        left -= bytes;
    }
    for (uint32_t i = first; i < parts->shelf_count; i++) {
        const struct shelf *shelf = &parts->shelves[i];
        for (uint32_t r = shelf->gone ? SY_NONE : shelf->first; r != SY_NONE;
             r = parts->ranges[r].next) {
            sy_buffer_append(buffer, parts->text + parts->ranges[r].from,
                             parts->ranges[r].to - parts->ranges[r].from);
        }
    }
}
