/* SPDX-License-Identifier: Apache-2.0
 *
 * Input of a fuzzer as a file that has a path, for parsers that open files themselves.
 */
#ifndef FUZZ_MEMORY_FILE_H
#define FUZZ_MEMORY_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Writes its path. Returns its descriptor, to be closed. */
static inline int memory_file(const uint8_t *data, size_t size, char *path, size_t path_size) {
    int descriptor = memfd_create("fuzz", MFD_CLOEXEC);
    if (descriptor < 0 || write(descriptor, data, size) != (ssize_t)size) {
        abort();
    }
    snprintf(path, path_size, "/proc/self/fd/%d", descriptor);
    return descriptor;
}

#endif
