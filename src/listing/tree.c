/* SPDX-License-Identifier: Apache-2.0
 *
 * A Linux tree's pmu-events, folder by folder: what can be compiled, and compiling it.
 *
 * In: the path of a tree. Out: compact text. perf's own test data ("test") is left out. Invariant:
 * files are read in the order of their names.
 */
#include "listing/compile.h"
#include "listing/walk.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int sy_tree_find(const char *tree, struct sy_arena *arena, const char **ret_folder,
                 struct sy_error *error) {
    static const char *const below[] = {"tools/perf/pmu-events/arch", "pmu-events/arch", "arch",
                                        "."};
    for (size_t i = 0; i < SY_COUNT(below); i++) {
        struct sy_name_list maps = {0};
        const char *folder = sy_join(arena, tree, below[i]);
        if (!folder) {
            return sy_out_of_memory(error);
        }
        if (!sy_is_folder(folder)) {
            continue;
        }
        int code = sy_folder_files(folder, "/mapfile.csv", 1, arena, &maps, error);
        uint32_t found = maps.count;
        sy_name_list_finish(&maps);
        if (code) {
            return code;
        }
        if (found) {
            *ret_folder = folder;
            return 0;
        }
    }
    int code = sy_fail(error, -ENOENT, "%s does not contain tools/perf/pmu-events/arch", tree);
    sy_hint(error, "name an unpacked Linux source tree, or that folder in it");
    return code;
}

static bool is_listed(const char *const *names, uint32_t count, const char *name) {
    return count && strcmp(names[count - 1], name) == 0; /* files of one folder come together */
}

int sy_listing_tree_names(const char *tree, struct sy_arena *arena, const char *const **ret_names,
                          struct sy_error *error) {
    const char *folder;
    struct sy_name_list files = {0};
    int code = sy_tree_find(tree, arena, &folder, error);
    code = code ? code : sy_folder_files(folder, ".json", SY_FOLDER_DEPTH, arena, &files, error);
    if (code) {
        return code;
    }
    const char **names = sy_arena_alloc(arena, (size_t)files.count + 1, sizeof *names);
    uint32_t count = 0;
    for (uint32_t i = 0; i < files.count && names && !code; i++) {
        const char *slash = strrchr(files.names[i], '/');
        size_t length = slash ? (size_t)(slash - files.names[i]) : 0;
        if (!memchr(files.names[i], '/', length) || strncmp(files.names[i], "test/", 5) == 0) {
            continue; /* an architecture's shared file */
        }
        const char *name = sy_arena_strndup(arena, files.names[i], length);
        code = name ? 0 : sy_out_of_memory(error);
        if (!code && !is_listed(names, count, name)) {
            names[count++] = name;
        }
    }
    sy_name_list_finish(&files);
    if (code || !names) {
        return code ? code : sy_out_of_memory(error);
    }
    *ret_names = names;
    return 0;
}

static int add_folder(struct sy_compilation *c, const char *folder, bool standard) {
    struct sy_name_list files = {0};
    int code = sy_folder_files(folder, ".json", 0, c->arena, &files, c->error);
    for (uint32_t i = 0; i < files.count && !code; i++) {
        if (strcmp(files.names[i], "metricgroups.json") == 0) {
            continue;
        }
        const char *path = sy_join(c->arena, folder, files.names[i]);
        char *text = NULL;
        size_t length = 0;
        code = path ? sy_read_file(path, &text, &length, c->error) : sy_out_of_memory(c->error);
        code = code ? code : sy_compilation_add(c, path, text, length, standard);
        free(text);
    }
    sy_name_list_finish(&files);
    return code;
}

/* The last part of the path that speaks of Linux. */
static int name_source(struct sy_arena *arena, const char *tree, const char **ret_source) {
    const char *found = strstr(tree, "linux");
    for (const char *next = found; next; next = strstr(next + 1, "linux")) {
        found = next;
    }
    struct sy_buffer text = {0};
    sy_buffer_printf(&text, "Linux, tools/perf/pmu-events");
    if (found) {
        sy_buffer_printf(&text, " of %.*s", (int)strcspn(found, "/"), found);
    }
    *ret_source = text.failed ? NULL : sy_arena_strdup(arena, text.text);
    sy_buffer_finish(&text);
    return *ret_source ? 0 : -ENOMEM;
}

static int compile(struct sy_compilation *c, const char *tree, const char *name, const char *source,
                   struct sy_buffer *ret_text) {
    const char *folder = NULL, *path, *shared;
    int code = sy_tree_find(tree, c->arena, &folder, c->error);
    if (code) {
        return code;
    }
    size_t arch = strcspn(name, "/");
    const char *arch_name = sy_arena_strndup(c->arena, name, arch);
    path = sy_join(c->arena, folder, name);
    shared = arch_name ? sy_join(c->arena, folder, arch_name) : NULL;
    if (!path || !shared || (!source && name_source(c->arena, tree, &source))) {
        return sy_out_of_memory(c->error);
    }
    if (!name[arch] || !sy_is_folder(path)) {
        return sy_fail(c->error, -ENOENT, "%s has no folder %s", folder, name);
    }
    code = add_folder(c, shared, true);
    code = code ? code : add_folder(c, path, false);
    return code ? code : sy_compilation_write(c, name, source, ret_text);
}

int sy_listing_compile(const char *tree, const char *name, const char *source,
                       struct sy_buffer *ret_text, struct sy_error *error) {
    struct sy_compilation c;
    struct sy_error unwanted;
    int code = sy_compilation_init(&c, error ? error : &unwanted);
    code = code ? code : compile(&c, tree, name, source, ret_text);
    sy_compilation_finish(&c);
    return code;
}

/* --- mapfile.csv ------------------------------------------------------------------------------ */
/* Rows are pattern,version,folder,type; the first row and those that begin with # are for people.
 */
static void put_map_row(struct sy_buffer *text, const char *arch, const char *row, size_t length) {
    const char *comma = memchr(row, ',', length), *end = row + length;
    const char *folder = comma ? memchr(comma + 1, ',', (size_t)(end - comma - 1)) : NULL;
    const char *type = folder ? memchr(folder + 1, ',', (size_t)(end - folder - 1)) : NULL;
    if (row[0] != '#' && type && comma > row) {
        sy_buffer_printf(text, "%.*s\t%s/%.*s\n", (int)(comma - row), row, arch,
                         (int)(type - folder - 1), folder + 1);
    }
}

int sy_listing_compile_map(const char *tree, const char *arch, struct sy_buffer *ret_text,
                           struct sy_error *error) {
    struct sy_arena *arena = sy_arena_create();
    const char *folder, *path = NULL;
    char *csv = NULL;
    size_t length = 0;
    struct sy_buffer text = {0};
    int code = arena ? sy_tree_find(tree, arena, &folder, error) : sy_out_of_memory(error);
    if (!code) {
        path = sy_join(arena, folder, arch);
        path = path ? sy_join(arena, path, "mapfile.csv") : NULL;
        code = path ? sy_read_file(path, &csv, &length, error) : sy_out_of_memory(error);
    }
    for (size_t at = 0, line = 0; at < length && !code; line++) {
        size_t row = strcspn(csv + at, "\r\n");
        if (line > 0 && row) {
            put_map_row(&text, arch, csv + at, row);
        }
        at += row + strspn(csv + at + row, "\r\n");
    }
    if (!code && text.failed) {
        code = sy_out_of_memory(error);
    }
    if (code) {
        sy_buffer_finish(&text);
    } else {
        *ret_text = text;
    }
    free(csv);
    sy_arena_destroy(arena);
    return code;
}
