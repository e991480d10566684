/* SPDX-License-Identifier: Apache-2.0
 *
 * starpu_find: asks the dynamic loader what a program would load, and plug-ins what they are for.
 *
 * In: paths. Out: what is said in starpu.h. Invariant: nothing of the program is executed; the
 * loader that it names is, to list its libraries.
 */
#include "cli/starpu.h"

#include "base/shipped.h"
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIBRARY "libstarpu-"
#define PLUGIN  "libsymph-starpu.so"
/* The lead of the line that every plug-in carries. */
#define BUILT_FOR "SYMPH-STARPU-BUILT-FOR: "

extern char **environ;

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

/* The loader that a program of this machine asks for. */
static bool read_loader(int fd, char *path, size_t size) {
    ElfW(Ehdr) header;
    if (pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
        header.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
        header.e_phentsize != sizeof(ElfW(Phdr))) {
        return false;
    }
    for (unsigned i = 0; i < header.e_phnum; i++) {
        ElfW(Phdr) part;
        off_t at = (off_t)(header.e_phoff + i * sizeof(part));
        if (pread(fd, &part, sizeof(part), at) != (ssize_t)sizeof(part)) {
            return false;
        }
        if (part.p_type == PT_INTERP && part.p_filesz > 1 && part.p_filesz < size) {
            ssize_t got = pread(fd, path, part.p_filesz, (off_t)part.p_offset);
            path[part.p_filesz] = '\0';
            return got == (ssize_t)part.p_filesz && is_program(path);
        }
    }
    return false;
}

/* Input from nowhere, output into the pipe; the loader lists what it would load and does not start
 * the program. Unlike its option --list, this goes on where a library is missing. */
static int start_loader(char *loader, char *program, int output, pid_t *ret_child) {
    size_t count = 0;
    while (environ[count]) {
        count++;
    }
    char **environment = calloc(count + 2, sizeof(*environment));
    if (!environment) {
        return -ENOMEM;
    }
    char trace[] = "LD_TRACE_LOADED_OBJECTS=1";
    memcpy(environment, environ, count * sizeof(*environment));
    environment[count] = trace;
    char *const argv[] = {loader, program, NULL};
    posix_spawn_file_actions_t actions;
    int r = posix_spawn_file_actions_init(&actions);
    if (r == 0) {
        r = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
        r = r ? r : posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
        r = r ? r : posix_spawn(ret_child, loader, &actions, NULL, argv, environment);
        posix_spawn_file_actions_destroy(&actions);
    }
    free(environment);
    return -r;
}

static int list_libraries(char *loader, const char *program, struct sy_buffer *ret_text) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) {
        return -errno;
    }
    char name[SY_STARPU_PATH], part[4096];
    snprintf(name, sizeof(name), "%s%s", strchr(program, '/') ? "" : "./", program);
    pid_t child = 0;
    int r = start_loader(loader, name, ends[1], &child);
    close(ends[1]);
    ssize_t got = r;
    while (got >= 0 && (got = read(ends[0], part, sizeof(part))) > 0) {
        sy_buffer_append(ret_text, part, (size_t)got);
    }
    close(ends[0]);
    while (r == 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
    sy_buffer_append(ret_text, "", 1);
    return r ? r : ret_text->failed ? -ENOMEM : 0;
}

/* One line is "\tlibstarpu-1.3.so.9 => /usr/lib/libstarpu-1.3.so.9 (0x7f...)" or "=> not found". */
static bool find_library(const char *text, struct sy_starpu_use *use) {
    const char *name = strstr(text, LIBRARY);
    while (name && (name == text || (name[-1] != '\t' && name[-1] != ' '))) {
        name = strstr(name + 1, LIBRARY);
    }
    if (!name) {
        return false;
    }
    snprintf(use->soname, sizeof(use->soname), "%.*s", (int)strcspn(name, " \n"), name);
    const char *version = name + strlen(LIBRARY);
    snprintf(use->version, sizeof(use->version), "%.*s", (int)strspn(version, "0123456789."),
             version);
    size_t length = strlen(use->version);
    if (length && use->version[length - 1] == '.') {
        use->version[length - 1] = '\0';
    }
    const char *path = name + strlen(use->soname);
    if (strncmp(path, " => /", 5) == 0) {
        path += 4;
        snprintf(use->library, sizeof(use->library), "%.*s", (int)strcspn(path, " \n"), path);
    }
    use->simulated = strstr(text, "\tlibsimgrid.so");
    use->kind = use->library[0] ? SY_STARPU_LINKED : SY_STARPU_LOST;
    return true;
}

/* libtool leaves a script under the program's name, and the program beside it in .libs. */
static bool past_libtool(const char *path, char *real, size_t size) {
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    int need = snprintf(real, size, "%.*s.libs/%s", folder, path, path + folder);
    return (size_t)need < size && is_program(real);
}

static int inspect_elf(const char *path, int fd, struct sy_starpu_use *use) {
    char loader[SY_STARPU_PATH];
    if (!read_loader(fd, loader, sizeof(loader))) {
        use->kind = SY_STARPU_FOREIGN;
        return 0;
    }
    struct sy_buffer text = {0};
    int r = list_libraries(loader, path, &text);
    if (r == 0 && !find_library(text.text, use)) {
        use->kind = SY_STARPU_OTHER;
    }
    sy_buffer_finish(&text);
    return r;
}

int sy_starpu_inspect(const char *path, struct sy_starpu_use *ret_use) {
    struct sy_starpu_use use = {.kind = SY_STARPU_MISSING};
    char magic[SELFMAG] = {0}, real[SY_STARPU_PATH];
    int r = 0, fd = is_program(path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0 && pread(fd, magic, SELFMAG, 0) == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0) {
        r = inspect_elf(path, fd, &use);
    } else if (fd >= 0 && past_libtool(path, real, sizeof(real))) {
        close(fd);
        return sy_starpu_inspect(real, ret_use);
    } else if (fd >= 0) {
        use.kind = SY_STARPU_SCRIPT;
    }
    if (fd >= 0) {
        close(fd);
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
    return same && use->simulated == (strstr(plugin->built_for, " simgrid") != NULL);
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
