/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the programs that symph runs: see program.h.
 */
#include "base/program.h"

#include "base/shipped.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool sy_program_is(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

bool sy_program_find(const char *name, const char *built_in, char *path, size_t size) {
    char built[256];
    snprintf(built, sizeof built, "%s/%s", built_in, name);
    return sy_shipped_find(SY_SHIPPED_PROGRAMS, name, built, path, size) && sy_program_is(path);
}

void sy_program_line(char *buffer, size_t size) {
    char text[4096];
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    size_t length = got > 0 ? (size_t)got : 0;
    if (fd >= 0) {
        close(fd);
    }
    text[length] = '\0';
    const char *slash = memrchr(text, '/', strlen(text));
    size_t from = slash ? (size_t)(slash - text) + 1 : 0;
    for (size_t i = from; i + 1 < length; i++) {
        text[i] = text[i] ? text[i] : ' ';
    }
    snprintf(buffer, size, "%s", text + from);
    if (strlen(text + from) >= size) {
        memcpy(buffer + size - 4, "...", 4);
    }
}
