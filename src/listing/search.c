/* SPDX-License-Identifier: Apache-2.0
 *
 * Where compact listings are: where somebody says, else where they come with the program.
 *
 * In: a name as a person types it. Out: the listing. Invariant: a name that is not there is
 * answered with the nearest that is.
 */
#include "listing/walk.h"

#include "base/shipped.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define NEAR_MAX 1000

int sy_listing_folder(const char *folder, struct sy_arena *arena, const char **ret_folder,
                      struct sy_error *error) {
    char ours[PATH_MAX];
    const char *named = getenv("SYMPH_LISTINGS");
    if (!folder && named && named[0]) {
        folder = named;
    } else if (!folder &&
               sy_shipped_find(SY_SHIPPED_DATA, "listing", "data/listing", ours, sizeof ours)) {
        folder = ours;
    } else if (!folder) {
        int code = sy_fail(error, -ENOENT, "there is no folder of listings");
        sy_hint(error, "install them to %.200s, or name a folder in SYMPH_LISTINGS", ours);
        return code;
    }
    const char *kept = sy_arena_strdup(arena, folder);
    if (!kept) {
        return sy_out_of_memory(error);
    }
    *ret_folder = kept;
    return 0;
}

/* "x86/skylakex.listing" becomes "x86/skylakex". */
static int strip(struct sy_arena *arena, const struct sy_name_list *files,
                 const char *const **ret_names) {
    const char **names = sy_arena_alloc(arena, (size_t)files->count + 1, sizeof *names);
    for (uint32_t i = 0; i < files->count && names; i++) {
        names[i] = sy_arena_strndup(arena, files->names[i],
                                    strlen(files->names[i]) - strlen(SY_LISTING_SUFFIX));
        if (!names[i]) {
            return -ENOMEM;
        }
    }
    *ret_names = names;
    return names ? 0 : -ENOMEM;
}

static int names_in(const char *folder, struct sy_arena *arena, const char *const **ret_names,
                    struct sy_error *error) {
    struct sy_name_list files = {0};
    int code = sy_folder_files(folder, SY_LISTING_SUFFIX, SY_FOLDER_DEPTH, arena, &files, error);
    if (!code && strip(arena, &files, ret_names)) {
        code = sy_out_of_memory(error);
    }
    sy_name_list_finish(&files);
    return code;
}

int sy_listing_names(const char *folder, struct sy_arena *arena, const char *const **ret_names,
                     struct sy_error *error) {
    int code = sy_listing_folder(folder, arena, &folder, error);
    return code ? code : names_in(folder, arena, ret_names, error);
}

static const char *last_part(const char *name) {
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

static int fail_unknown(const char *wanted, const char *const *names, const char *folder,
                        struct sy_error *error) {
    const char *parts[2 * NEAR_MAX];
    size_t count = 0;
    for (; names[count] && count < NEAR_MAX; count++) {
        parts[2 * count] = names[count];
        parts[2 * count + 1] = last_part(names[count]);
    }
    const char *near = sy_nearest(wanted, parts, 2 * count);
    int code = sy_fail(error, -ENOENT, "there is no listing '%.80s' in %.160s", wanted, folder);
    if (near) {
        sy_hint(error, "did you mean '%s'?", near);
    } else {
        sy_hint(error, "'symph counters listing' lists them");
    }
    return code;
}

/* The whole name, or the end of one: "skylakex", "arm/neoverse-n1". */
static int choose(const char *wanted, const char *const *names, const char *folder,
                  const char **ret_name, struct sy_error *error) {
    const char *found = NULL;
    for (uint32_t i = 0; names[i]; i++) {
        size_t length = strlen(names[i]), tail = strlen(wanted);
        if (strcmp(names[i], wanted) == 0) {
            *ret_name = names[i];
            return 0;
        }
        if (length > tail && names[i][length - tail - 1] == '/' && sy_ends_with(names[i], wanted)) {
            if (found) {
                int code =
                    sy_fail(error, -EINVAL, "'%.80s' is the name of more than one listing", wanted);
                sy_hint(error, "write '%s' or '%s'", found, names[i]);
                return code;
            }
            found = names[i];
        }
    }
    *ret_name = found;
    return found ? 0 : fail_unknown(wanted, names, folder, error);
}

static int open_in(const char *name, const char *folder, struct sy_arena *arena,
                   struct sy_listing **ret_listing, struct sy_error *error) {
    const char *const *names;
    int code = sy_listing_folder(folder, arena, &folder, error);
    code = code ? code : names_in(folder, arena, &names, error);
    code = code ? code : choose(name, names, folder, &name, error);
    if (code) {
        return code;
    }
    const char *path = sy_join(arena, folder, name);
    size_t length = path ? strlen(path) : 0;
    char *file = path ? sy_arena_alloc(arena, length + sizeof SY_LISTING_SUFFIX, 1) : NULL;
    if (!file) {
        return sy_out_of_memory(error);
    }
    memcpy(file, path, length);
    memcpy(file + length, SY_LISTING_SUFFIX, sizeof SY_LISTING_SUFFIX);
    char *text;
    code = sy_read_file(file, &text, &length, error);
    if (!code) {
        code = sy_listing_read(file, text, length, ret_listing, error);
        free(text);
    }
    return code;
}

int sy_listing_open(const char *name, const char *folder, struct sy_listing **ret_listing,
                    struct sy_error *error) {
    struct sy_arena *arena = sy_arena_create();
    struct sy_buffer own = {0};
    int code = arena ? 0 : sy_out_of_memory(error);
    if (!code && !name) {
        code = sy_listing_match(folder, NULL, &own, error);
    }
    code = code ? code : open_in(name ? name : own.text, folder, arena, ret_listing, error);
    sy_buffer_finish(&own);
    sy_arena_destroy(arena);
    return code;
}
