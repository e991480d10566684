/* SPDX-License-Identifier: Apache-2.0
 *
 * The files below a folder, in a fixed order: see walk.h.
 */
#include "listing/walk.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void sy_name_list_finish(struct sy_name_list *list) {
    free(list->names);
    *list = (struct sy_name_list){0};
}

bool sy_is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool sy_ends_with(const char *text, const char *suffix) {
    size_t length = strlen(text), wanted = strlen(suffix);
    return length >= wanted && strcmp(text + length - wanted, suffix) == 0;
}

const char *sy_join(struct sy_arena *arena, const char *folder, const char *name) {
    size_t length = strlen(folder), more = strlen(name);
    char *path = sy_arena_alloc(arena, length + more + 2, 1);
    if (path) {
        memcpy(path, folder, length);
        path[length] = '/';
        memcpy(path + length + 1, name, more);
    }
    return path;
}

struct walk {
    struct sy_arena *arena;
    const char *suffix;
    struct sy_name_list *list;
    struct sy_error *error;
};

static int visit(struct walk *walk, const char *path, const char *name, uint32_t depth);

/* alphasort would follow the locale. */
static int by_bytes(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* name NULL: the folder that was asked for itself. */
static int visit_folder(struct walk *walk, const char *path, const char *name, uint32_t depth) {
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, by_bytes), code = 0;
    if (count < 0) {
        return sy_fail(walk->error, -errno, "%s: %s", path, strerror(errno));
    }
    for (int i = 0; i < count; i++) {
        const char *entry = entries[i]->d_name;
        if (!code && entry[0] != '.') {
            const char *child = sy_join(walk->arena, path, entry);
            const char *child_name =
                name ? sy_join(walk->arena, name, entry) : sy_arena_strdup(walk->arena, entry);
            code = child && child_name ? visit(walk, child, child_name, depth)
                                       : sy_out_of_memory(walk->error);
        }
        free(entries[i]);
    }
    free(entries);
    return code;
}

static int visit(struct walk *walk, const char *path, const char *name, uint32_t depth) {
    if (sy_is_folder(path)) {
        return depth ? visit_folder(walk, path, name, depth - 1) : 0;
    }
    if (!sy_ends_with(name, walk->suffix)) {
        return 0;
    }
    struct sy_name_list *list = walk->list;
    return sy_append(&list->names, &list->capacity, &list->count, &name, sizeof *list->names)
               ? sy_out_of_memory(walk->error)
               : 0;
}

int sy_folder_files(const char *folder, const char *suffix, uint32_t depth, struct sy_arena *arena,
                    struct sy_name_list *ret_list, struct sy_error *error) {
    struct sy_name_list list = {0};
    struct walk walk = {.arena = arena, .suffix = suffix, .list = &list, .error = error};
    int code = visit_folder(&walk, folder, NULL, depth);
    if (code) {
        sy_name_list_finish(&list);
        return code;
    }
    *ret_list = list;
    return 0;
}
