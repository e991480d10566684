/* SPDX-License-Identifier: Apache-2.0
 *
 * Error reporting and the macros every public header shares.
 *
 * Fallible functions return int: 0 or a negative errno. Whatever reads a person's input also takes
 * a struct sy_error, filled only on failure: what is wrong, where, and how to mend it.
 */
#ifndef SYMPH_ERROR_H
#define SYMPH_ERROR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SY_API        __attribute__((visibility("default")))
#define SY_MUST_CHECK __attribute__((warn_unused_result))
#define SY_NONE       UINT32_MAX /* no task, device, datum ... where an index is expected */

struct sy_error {
    char message[1024];
    char file[256]; /* empty: not from a file */
    uint32_t line;  /* 1-based; 0: unknown */
    uint32_t column;
    char hint[512]; /* empty: none */
};

/* Writes "file:line:column: message (hint)" into buffer; always terminated. Returns buffer. */
SY_API const char *sy_error_format(const struct sy_error *error, char *buffer, size_t size);

/* Version of the library, "major.minor.patch". */
SY_API const char *sy_version(void);
/* The folder symph/NAME in the user's cache, for files that can be made again; made if missing. 0,
 * or a negative errno: there is none, or other users could change what lies there. Then keep
 * nothing. */
SY_API SY_MUST_CHECK int sy_cache_folder(const char *name, char *ret_path, size_t size);

#ifdef __cplusplus
}
#endif
#endif
