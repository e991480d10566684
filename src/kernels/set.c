/* SPDX-License-Identifier: Apache-2.0
 *
 * The set of plug-ins: files and folders in, checked tables out.
 *
 * Invariant: what is in the set has passed sy_kernel_table_check, and no two plug-ins of it have
 * the same name.
 */
#include "kernels/set.h"
#include "base/elf_file.h"
#include "base/shield.h"
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PLUGIN_SYMBOL "sy_kernel_plugin"

static int skip(struct sy_kernel_set *set, const char *path, const char *why, const char *whose,
                struct sy_error *error) {
    struct sy_buffer text = {0};
    /* The dynamic linker's messages begin with the file. */
    bool named = strncmp(why, path, strlen(path)) == 0;
    sy_buffer_printf(&text, "%s%s%s%s", named ? "" : path, named ? "" : ": ", why, whose);
    const char *copy = text.failed ? NULL : sy_arena_strdup(set->arena, text.text);
    sy_buffer_finish(&text);
    if (!copy || sy_grow(&set->skipped, &set->skipped_capacity, set->skipped_count + 1,
                         sizeof *set->skipped)) {
        return sy_out_of_memory(error);
    }
    set->skipped[set->skipped_count++] = copy;
    return 0;
}

static int is_shared_object(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 3 && entry->d_name[0] != '.' && strcmp(entry->d_name + length - 3, ".so") == 0;
}

/* NAME.so loads its parts for CUDA and OpenCL from the folder NAME: these are its code, too. */
static uint64_t identify(const char *path) {
    char folder[PATH_MAX], file[2 * PATH_MAX];
    uint64_t build = 0, part;
    struct dirent **parts = NULL;
    if (sy_elf_identity(path, &build) < 0) {
        return 0;
    }
    const char *end = strstr(path, ".so");
    snprintf(folder, sizeof folder, "%.*s", end ? (int)(end - path) : 0, path);
    int count = end && !end[3] ? scandir(folder, &parts, is_shared_object, alphasort) : 0;
    for (int i = 0; i < count; i++) {
        snprintf(file, sizeof file, "%s/%s", folder, parts[i]->d_name);
        if (sy_elf_identity(file, &part) == 0) {
            build = (build ^ part) * UINT64_C(0x100000001b3);
        }
        free(parts[i]);
    }
    free(parts);
    return build ? build : 1;
}

static int add_table(struct sy_kernel_set *set, const struct sy_kernel_table *table,
                     const char *path, struct sy_error *error) {
    for (uint32_t i = 0; i < set->count; i++) {
        if (set->plugins[i].table == table) {
            return 0; /* the same file by another way */
        }
        if (strcmp(set->plugins[i].table->name, table->name) == 0) {
            return skip(set, path, "it has the same name as ", set->plugins[i].path, error);
        }
    }
    const char *copy = sy_arena_strdup(set->arena, path);
    if (!copy || sy_grow(&set->plugins, &set->capacity, set->count + 1, sizeof *set->plugins)) {
        return sy_out_of_memory(error);
    }
    set->plugins[set->count++] = (struct sy_kernel_plugin_file){table, copy, identify(copy)};
    return 0;
}

static int fail_to_load(const char *path, const char *why, struct sy_error *error) {
    if (strncmp(why, path, strlen(path)) == 0) {
        why += strlen(path) + strspn(why + strlen(path), ": ");
    }
    sy_fail_at(error, -EINVAL, path, 0, 0, "cannot be loaded: %s", why);
    return sy_hint(error, "a kernel plug-in is a shared object; see examples/kernel_scale.c");
}

static int not_a_plugin(const char *path, struct sy_error *error) {
    sy_fail_at(error, -EINVAL, path, 0, 0, "is a shared object, but not a kernel plug-in");
    return sy_hint(error,
                   "a plug-in contains SY_KERNEL_PLUGIN(table); see examples/kernel_scale.c");
}

/* In a child: whatever its constructors do, or its table leads to. What is merely wrong with it the
 * parent will find, too. */
static int try_file(void *path, struct sy_buffer *answer) {
    (void)answer;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const uint32_t *abi = handle ? dlsym(handle, "sy_kernel_plugin_abi") : NULL;
    const struct sy_kernel_table *const *table = handle ? dlsym(handle, PLUGIN_SYMBOL) : NULL;
    if (abi && *abi == SY_KERNEL_ABI && table && *table) {
        (void)!sy_kernel_table_check(*table, path, NULL);
    }
    return 0;
}

/* True: a shared object that can be no plug-in; it is not even loaded. */
static bool is_stranger(const char *path) {
    struct sy_elf elf = {0};
    bool stranger = sy_elf_read_file(path, &elf) == 0 && !sy_elf_names(&elf, PLUGIN_SYMBOL);
    sy_elf_finish(&elf);
    return stranger;
}

/* named: the file was asked for, so it must be a plug-in. */
static int add_file(struct sy_kernel_set *set, const char *path, bool named,
                    struct sy_error *error) {
    char fault[128];
    if (is_stranger(path)) {
        return named ? not_a_plugin(path, error) : 0;
    }
    if (sy_shield_load(try_file, (void *)(uintptr_t)path, fault, sizeof fault) < 0) {
        set->met_count++;
        return named ? sy_fail_at(error, -EINVAL, path, 0, 0, "%s", fault)
                     : skip(set, path, fault, "", error);
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *why = dlerror();
        why = why ? why : "unknown reason";
        set->met_count++;
        return named ? fail_to_load(path, why, error) : skip(set, path, why, "", error);
    }
    const uint32_t *abi = dlsym(handle, "sy_kernel_plugin_abi");
    const struct sy_kernel_table *const *table = dlsym(handle, PLUGIN_SYMBOL);
    if (!abi || !table || !*table) {
        dlclose(handle);
        return named ? not_a_plugin(path, error) : 0;
    }
    int code;
    set->met_count++;
    if (*abi != SY_KERNEL_ABI) {
        code = sy_fail_at(error, -EINVAL, path, 0, 0,
                          "was built for version %u of symph/kernel.h, this is version %u", *abi,
                          (unsigned)SY_KERNEL_ABI);
        sy_hint(error, "build it again with the headers of this symph");
    } else {
        code = sy_kernel_table_check(*table, path, error);
        code = code ? code : add_table(set, *table, path, error);
    }
    if (code) {
        dlclose(handle);
    }
    return code;
}

int sy_kernel_set_add_folder(struct sy_kernel_set *set, const char *path, struct sy_error *error) {
    struct dirent **entries;
    int count = scandir(path, &entries, is_shared_object, alphasort), code = 0;
    if (count < 0) {
        return sy_fail_at(error, -errno, path, 0, 0, "cannot be read: %s", strerror(errno));
    }
    for (int i = 0; i < count; i++) {
        char *file = NULL;
        if (!code && asprintf(&file, "%s/%s", path, entries[i]->d_name) < 0) {
            code = sy_out_of_memory(error);
        }
        code = code ? code : add_file(set, file, false, error);
        free(file);
        free(entries[i]);
    }
    free(entries);
    return code;
}

/* A file or folder that was asked for. */
static int add_named(struct sy_kernel_set *set, const char *path, struct sy_error *error) {
    struct stat info;
    if (stat(path, &info) < 0) {
        int code = -errno;
        sy_fail_at(error, code, path, 0, 0, "no kernel plug-in: %s", strerror(-code));
        sy_hint(error,
                "name a file (NAME.so) or a folder of such files; symph kernels lists what is "
                "found by default");
        return code;
    }
    if (!S_ISDIR(info.st_mode)) {
        return add_file(set, path, true, error);
    }
    uint32_t before = set->met_count;
    int code = sy_kernel_set_add_folder(set, path, error);
    if (!code && set->met_count == before) {
        code = sy_fail_at(error, -ENOENT, path, 0, 0, "no kernel plug-in in this folder");
    }
    return code;
}

int sy_kernel_set_add_list(struct sy_kernel_set *set, const char *paths, struct sy_error *error) {
    int code = 0;
    while (!code && *paths) {
        size_t length = strcspn(paths, ":");
        if (length > 0) {
            /* Without a slash the dynamic linker would look elsewhere than here. */
            bool bare = !memchr(paths, '/', length);
            char *path;
            if (asprintf(&path, "%s%.*s", bare ? "./" : "", (int)length, paths) < 0) {
                return sy_out_of_memory(error);
            }
            code = add_named(set, path, error);
            free(path);
        }
        paths += length + (paths[length] == ':');
    }
    return code;
}

void sy_kernel_set_close(struct sy_kernel_set *set) {
    if (!set) {
        return;
    }
    free(set->plugins);
    free(set->skipped);
    sy_arena_destroy(set->arena);
    free(set);
}

uint32_t sy_kernel_set_count(const struct sy_kernel_set *set) {
    return set->count;
}

const struct sy_kernel_table *sy_kernel_set_table(const struct sy_kernel_set *set, uint32_t index) {
    return set->plugins[index].table;
}

const char *sy_kernel_set_path(const struct sy_kernel_set *set, uint32_t index) {
    return set->plugins[index].path;
}

uint64_t sy_kernel_set_build(const struct sy_kernel_set *set, const struct sy_kernel_entry *entry) {
    for (uint32_t i = 0; i < set->count; i++) {
        const struct sy_kernel_table *table = set->plugins[i].table;
        if (entry >= table->kernels && entry < table->kernels + table->kernel_count) {
            return set->plugins[i].build;
        }
    }
    return 0;
}

const char *sy_kernel_set_skipped(const struct sy_kernel_set *set, uint32_t index) {
    return index < set->skipped_count ? set->skipped[index] : NULL;
}
