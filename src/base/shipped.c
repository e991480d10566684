/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the files that come with this program: see shipped.h.
 */
#include "base/shipped.h"

#include "base/base.h"
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MARKER    "symph-build-tree" /* a file in the root of every build tree */
#define LEVELS_UP 5                  /* BUILD/tests/workloads/genomics/PROGRAM, and one to spare */

/* Relative to the prefix, unless somebody put one outside of it. */
static const char *const folders[SY_SHIPPED_COUNT] = {
    [SY_SHIPPED_PROGRAMS] = SYMPH_LIBEXECDIR "/symph",
    [SY_SHIPPED_PLUGINS] = SYMPH_LIBDIR "/symph",
    [SY_SHIPPED_DATA] = SYMPH_DATADIR "/symph",
};
/* Where installed code lies, or above it. */
static const char *const homes[] = {SYMPH_BINDIR, SYMPH_LIBEXECDIR, SYMPH_LIBDIR};

/* The file with this code: a library's path is known to the loader, the program's to the kernel. */
static bool find_here(char *path) {
    Dl_info info;
    struct link_map *map = NULL;
    bool known = dladdr1((void *)(uintptr_t)sy_shipped_find, &info, (void **)&map, RTLD_DL_LINKMAP);
    const char *file = known && map && map->l_name[0] ? map->l_name : "/proc/self/exe";
    return realpath(file, path) != NULL;
}

static bool try(const char *root, const char *folder, const char *name, char *path, size_t size) {
    bool absolute = folder[0] == '/';
    int need = snprintf(path, size, "%s%s%s%s%s", absolute ? "" : root, absolute ? "" : "/", folder,
                        name[0] ? "/" : "", name);
    return need > 0 && (size_t)need < size && access(path, F_OK) == 0;
}

/* The length of the prefix, if folder is below one and ends with where code is installed. */
static size_t prefix_length(const char *folder) {
    size_t length = strlen(folder);
    for (size_t i = 0; i < SY_COUNT(homes); i++) {
        size_t tail = strlen(homes[i]);
        if (length > tail && folder[length - tail - 1] == '/' &&
            strcmp(folder + length - tail, homes[i]) == 0) {
            return length - tail - 1;
        }
    }
    return 0;
}

bool sy_shipped_find(enum sy_shipped place, const char *name, const char *built, char *path,
                     size_t size) {
    char here[PATH_MAX], prefix[PATH_MAX], marker[PATH_MAX + sizeof MARKER];
    char *slash = find_here(here) ? strrchr(here, '/') : NULL;
    for (int level = 0; level < LEVELS_UP && slash && slash != here; level++) {
        *slash = '\0';
        if (try(here, MARKER, "", marker, sizeof marker)) {
            return try(here, built, "", path, size);
        }
        size_t length = prefix_length(here);
        snprintf(prefix, sizeof prefix, "%.*s", (int)length, here);
        if (length && try(prefix, folders[place], name, path, size)) {
            return true;
        }
        slash = strrchr(here, '/');
    }
    return try(SYMPH_PREFIX, folders[place], name, path, size);
}
