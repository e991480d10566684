/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the programs that symph runs: see program.h.
 */
#include "base/program.h"

#include "base/shipped.h"
#include <stdio.h>
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
