/* SPDX-License-Identifier: Apache-2.0
 *
 * libraries: which libraries a program would load, as the dynamic loader would find them.
 *
 * In: a program's file, LD_LIBRARY_PATH, /etc/ld.so.cache. Out: names and paths, breadth first.
 * Asking the loader itself would run it, and the program says which loader that is. Never knows:
 * StarPU.
 */
#include "base/elf_file.h"
#include "cli/starpu/starpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CACHE       "/etc/ld.so.cache"
#define OBJECT_MAX  1024
#define FOLDER_SIZE (2 * SY_STARPU_PATH)

/* What was found, and who asked for it first: where it has no paths of its own, those of who asked
 * count (DT_RPATH). */
struct object {
    struct sy_elf elf;
    char *path; /* "": not found */
    char *name;
    const struct object *asked_by;
};

struct search {
    struct object *objects;
    uint32_t count;
    char *cache;
    size_t cache_length;
    const char *environment;
};

/* "$ORIGIN/../lib" for the folder of an object; false: it has a word that is not known here. */
static bool expand(const struct object *object, const char *folder, size_t length, char *path) {
    char *at = path, *end = path + FOLDER_SIZE - 1;
    const char *slash = strrchr(object->path, '/');
    for (size_t i = 0; i < length && at < end;) {
        bool braced = strncmp(folder + i, "${ORIGIN}", 9) == 0;
        if (braced || strncmp(folder + i, "$ORIGIN", 7) == 0) {
            at += snprintf(at, (size_t)(end - at), "%.*s", slash ? (int)(slash - object->path) : 1,
                           slash ? object->path : ".");
            i += braced ? 9 : 7;
        } else if (folder[i] == '$') {
            return false;
        } else {
            *at++ = folder[i++];
        }
    }
    *(at < end ? at : end) = '\0';
    return at < end;
}

/* A file of that name that could be loaded. */
static bool try_path(const char *path, struct object *found) {
    if (sy_elf_read_file(path, &found->elf) < 0) {
        return false;
    }
    found->path = strdup(path);
    return found->path;
}

/* folders: separated by colons, or by semicolons in the variable. An empty one is the current. */
static bool try_folders(const struct object *object, const char *folders, const char *separators,
                        const char *name, struct object *found) {
    char folder[FOLDER_SIZE], path[FOLDER_SIZE + 512];
    while (folders) {
        size_t length = strcspn(folders, separators);
        if (expand(object, folders, length, folder)) {
            snprintf(path, sizeof(path), "%s/%s", length ? folder : ".", name);
            if (try_path(path, found)) {
                return true;
            }
        }
        folders = folders[length] ? folders + length + 1 : NULL;
    }
    return false;
}

static bool try_cache(const struct search *search, const char *name, struct object *found) {
    uint32_t at = 0;
    const char *path;
    while (search->cache &&
           (path = sy_elf_cache_find(search->cache, search->cache_length, name, &at))) {
        if (try_path(path, found)) {
            return true;
        }
    }
    return false;
}

static bool try_usual(const struct object *object, const char *name, struct object *found) {
#ifdef __x86_64__
    static const char folders[] = "/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib64:"
                                  "/usr/lib64:/lib:/usr/lib";
#else
    static const char folders[] = "/lib64:/usr/lib64:/lib:/usr/lib";
#endif
    return try_folders(object, folders, ":", name, found);
}

static bool find(const struct search *search, const struct object *object, const char *name,
                 struct object *found) {
    if (strchr(name, '/')) {
        return try_path(name, found);
    }
    for (const struct object *o = object; o && !object->elf.runpath; o = o->asked_by) {
        if (!o->elf.runpath && try_folders(o, o->elf.rpath, ":", name, found)) {
            return true;
        }
    }
    return try_folders(object, search->environment, ":;", name, found) ||
           try_folders(object, object->elf.runpath, ":", name, found) ||
           try_cache(search, name, found) || try_usual(object, name, found);
}

static bool is_known(const struct search *search, const char *name) {
    for (uint32_t i = 1; i < search->count; i++) {
        const struct object *object = &search->objects[i];
        if (strcmp(object->name, name) == 0 ||
            (object->elf.soname && strcmp(object->elf.soname, name) == 0)) {
            return true;
        }
    }
    return false;
}

static int add_needed(struct search *search, const struct object *object) {
    for (uint32_t i = 0; i < object->elf.needed_count; i++) {
        const char *name = object->elf.needed[i];
        if (is_known(search, name) || search->count == OBJECT_MAX) {
            continue;
        }
        struct object *found = &search->objects[search->count];
        *found = (struct object){.name = strdup(name), .asked_by = object};
        if (!find(search, object, name, found)) {
            found->path = strdup("");
        }
        search->count++;
        if (!found->name || !found->path) {
            return -ENOMEM;
        }
    }
    return 0;
}

/* The program itself is the first object. */
static int open_program(struct search *search, const char *program) {
    struct object *object = &search->objects[0];
    object->path = realpath(program, NULL); /* what $ORIGIN of the program is */
    object->name = strdup("");
    int code = object->path && object->name ? sy_elf_read_file(program, &object->elf) : -ENOMEM;
    search->count = 1;
    const char *loader = object->elf.interpreter;
    return code ? code : loader && access(loader, X_OK) == 0 ? 0 : -ENOEXEC;
}

int sy_starpu_libraries(const char *program,
                        void (*visit)(void *user, const char *name, const char *path), void *user) {
    const char *folders = getenv("LD_LIBRARY_PATH");
    struct search search = {.environment = folders && folders[0] ? folders : NULL,
                            .objects = calloc(OBJECT_MAX, sizeof(*search.objects))};
    if (!search.objects) {
        return -ENOMEM;
    }
    if (sy_read_file(CACHE, &search.cache, &search.cache_length, NULL) < 0) {
        search.cache = NULL; /* another C library's loader has none */
    }
    int code = open_program(&search, program);
    for (uint32_t i = 0; i < search.count && !code; i++) {
        code = add_needed(&search, &search.objects[i]);
    }
    for (uint32_t i = 1; i < search.count && !code; i++) {
        visit(user, search.objects[i].name, search.objects[i].path);
    }
    for (uint32_t i = 0; i < search.count; i++) {
        sy_elf_finish(&search.objects[i].elf);
        free(search.objects[i].path);
        free(search.objects[i].name);
    }
    free(search.objects);
    free(search.cache);
    return code;
}
