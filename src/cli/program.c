/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the programs that symph runs: see program.h.
 */
#include "cli/program.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 4096

bool sy_program_is(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

static bool try(const char *folder, const char *within, const char *name, char *path, size_t size) {
    int need = snprintf(path, size, "%s/%s%s%s", folder, within, within[0] ? "/" : "", name);
    return need > 0 && (size_t)need < size && sy_program_is(path);
}

bool sy_program_find(const char *name, const char *built_in, char *path, size_t size) {
    char self[PATH_SIZE];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length > 0) {
        self[length] = '\0';
        char *slash = strrchr(self, '/');
        if (slash) {
            *slash = '\0';
            if (try(self, "", name, path, size) || try(self, built_in, name, path, size)) {
                return true;
            }
        }
    }
    return try(SYMPH_LIBEXECDIR, "", name, path, size);
}

static bool try_data(const char *folder, const char *name, char *path, size_t size) {
    int need = snprintf(path, size, "%s/%s", folder, name);
    return need > 0 && (size_t)need < size && access(path, R_OK) == 0;
}

bool sy_program_data(const char *name, char *path, size_t size) {
    char self[PATH_SIZE], folder[PATH_SIZE + sizeof "/data"];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (try_data(SYMPH_DATADIR, name, path, size)) {
        return true;
    }
    self[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (!slash) {
        return false;
    }
    *slash = '\0';
    snprintf(folder, sizeof folder, "%s/data", self);
    return try_data(folder, name, path, size);
}
