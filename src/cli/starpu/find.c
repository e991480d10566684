/* SPDX-License-Identifier: Apache-2.0
 *
 * find: which StarPU a program would load, and what plug-ins are for.
 *
 * In: paths. Out: what is said in starpu.h. Invariant: files are read, and nothing is executed: not
 * the program, and not the loader that it names.
 */
#include "cli/starpu/starpu.h"

#include "base/shipped.h"
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBRARY "libstarpu-"
#define SIMGRID "libsimgrid.so"
#define PLUGIN  "libsymph-starpu.so"
/* The lead of the line that every plug-in carries. */
#define BUILT_FOR "SYMPH-STARPU-BUILT-FOR: "

/* --- programs ---------------------------------------------------------------------------------
 */
static bool is_program(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

bool sy_starpu_which(const char *program, char *ret_path, size_t size) {
    if (strchr(program, '/')) {
        int need = snprintf(ret_path, size, "%s", program);
        return (size_t)need < size && is_program(ret_path);
    }
    const char *folders = getenv("PATH");
    folders = folders ? folders : "/usr/bin:/bin";
    while (program[0]) {
        size_t length = strcspn(folders, ":");
        int need = snprintf(ret_path, size, "%.*s%s%s", (int)length, folders, length ? "/" : "./",
                            program);
        if ((size_t)need < size && is_program(ret_path)) {
            return true;
        }
        if (!folders[length]) {
            break;
        }
        folders += length + 1;
    }
    return false;
}

/* "libstarpu-1.3.so.9": which StarPU. */
static void take_version(const char *soname, struct sy_starpu_use *use) {
    const char *version = soname + strlen(LIBRARY);
    snprintf(use->soname, sizeof(use->soname), "%s", soname);
    snprintf(use->version, sizeof(use->version), "%.*s", (int)strspn(version, "0123456789."),
             version);
    size_t length = strlen(use->version);
    if (length && use->version[length - 1] == '.') {
        use->version[length - 1] = '\0';
    }
}

/* One library that the program would load; path "": the loader would not find it. */
static void meet_library(void *user, const char *name, const char *path) {
    struct sy_starpu_use *use = user;
    use->simulated |= strncmp(name, SIMGRID, strlen(SIMGRID)) == 0;
    if (!use->soname[0] && strncmp(name, LIBRARY, strlen(LIBRARY)) == 0) {
        take_version(name, use);
        snprintf(use->library, sizeof(use->library), "%s", path);
        use->kind = path[0] ? SY_STARPU_LINKED : SY_STARPU_LOST;
    }
}

/* libtool leaves a script under the program's name, and the program beside it in .libs. */
static bool past_libtool(const char *path, char *real, size_t size) {
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    int need = snprintf(real, size, "%.*s.libs/%s", folder, path, path + folder);
    return (size_t)need < size && is_program(real);
}

int sy_starpu_inspect(const char *path, struct sy_starpu_use *ret_use) {
    struct sy_starpu_use use = {.kind = SY_STARPU_MISSING};
    char magic[SELFMAG] = {0}, real[SY_STARPU_PATH];
    int r = 0, fd = is_program(path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t got = fd >= 0 ? pread(fd, magic, SELFMAG, 0) : -1;
    if (fd >= 0) {
        close(fd);
    }
    if (got == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0) {
        use.kind = SY_STARPU_OTHER;
        r = sy_starpu_libraries(path, meet_library, &use);
        sy_starpu_library_limits(&use);
    } else if (fd >= 0 && past_libtool(path, real, sizeof(real))) {
        return sy_starpu_inspect(real, ret_use);
    } else if (fd >= 0) {
        use.kind = SY_STARPU_SCRIPT;
    }
    if (r == -ENOEXEC) { /* it names no loader, or one that is not here */
        use.kind = SY_STARPU_FOREIGN;
        r = 0;
    }
    if (r == 0) {
        *ret_use = use;
    }
    return r;
}

/* --- plug-ins ---------------------------------------------------------------------------------
 */
int sy_starpu_plugin_read(const char *path, struct sy_starpu_plugin *ret_plugin) {
    struct sy_starpu_plugin plugin = {0};
    char *resolved = realpath(path, plugin.path); /* SY_STARPU_PATH is PATH_MAX */
    char *text = NULL;
    size_t length = 0;
    if (!resolved || sy_read_file(path, &text, &length, NULL) < 0) {
        return -ENOENT;
    }
    const char *said = memmem(text, length, BUILT_FOR, strlen(BUILT_FOR));
    if (said) { /* sy_read_file ends the text with a NUL */
        said += strlen(BUILT_FOR);
        snprintf(plugin.built_for, sizeof(plugin.built_for), "%.*s", (int)strcspn(said, "\n"),
                 said);
    }
    free(text);
    if (!plugin.built_for[0]) {
        return -EINVAL;
    }
    sy_starpu_plugin_limits(&plugin);
    *ret_plugin = plugin;
    return 0;
}

bool sy_starpu_plugin_fits(const struct sy_starpu_plugin *plugin, const struct sy_starpu_use *use) {
    size_t length = strlen(use->version);
    if (!length) {
        return true;
    }
    bool same = strncmp(plugin->built_for, use->version, length) == 0 &&
                strchr(". ", plugin->built_for[length]);
    uint32_t limit;
    return same && use->simulated == (strstr(plugin->built_for, " simgrid") != NULL) &&
           !sy_starpu_other_limit(plugin, use, &limit);
}

/* Keeps the first that fits; of those that do not, the first, to be named. */
static bool consider(const char *path, const struct sy_starpu_use *use,
                     struct sy_starpu_plugin *found) {
    struct sy_starpu_plugin plugin;
    if (sy_starpu_plugin_read(path, &plugin) < 0) {
        return false;
    }
    bool fits = sy_starpu_plugin_fits(&plugin, use);
    if (fits || !found->built_for[0]) {
        *found = plugin;
    }
    return fits;
}

static int is_for_starpu(const struct dirent *entry) {
    return strncmp(entry->d_name, "starpu-", strlen("starpu-")) == 0;
}

/* Our own: one in a build tree, installed ones in folders of their own, one per StarPU. */
static bool consider_ours(const struct sy_starpu_use *use, struct sy_starpu_plugin *found) {
    char folder[SY_STARPU_PATH], path[2 * SY_STARPU_PATH];
    struct dirent **entries = NULL;
    if (!sy_shipped_find(SY_SHIPPED_PLUGINS, "", "src/engine/starpu", folder, sizeof(folder))) {
        return false;
    }
    snprintf(path, sizeof(path), "%s/" PLUGIN, folder);
    bool fits = consider(path, use, found);
    int count = scandir(folder, &entries, is_for_starpu, versionsort);
    for (int i = count - 1; i >= 0; i--) {
        snprintf(path, sizeof(path), "%s/%s/" PLUGIN, folder, entries[i]->d_name);
        fits = fits || consider(path, use, found);
        free(entries[i]);
    }
    free(entries);
    return fits;
}

int sy_starpu_plugin_find(const struct sy_starpu_use *use, struct sy_starpu_plugin *ret_plugin) {
    struct sy_starpu_plugin found = {0};
    char path[SY_STARPU_PATH + 64];
    const char *slash = strrchr(use->library, '/');
    bool fits = false;
    if (slash) {
        snprintf(path, sizeof(path), "%.*s/symph/" PLUGIN, (int)(slash - use->library),
                 use->library);
        fits = consider(path, use, &found);
    }
    fits = fits || consider_ours(use, &found);
    if (!found.built_for[0]) {
        return -ENOENT;
    }
    *ret_plugin = found;
    return fits ? 0 : -EINVAL;
}
