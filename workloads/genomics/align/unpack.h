/* SPDX-License-Identifier: Apache-2.0
 *
 * A file's bytes, unpacked where it is compressed: plain, gzip of any number of members, bgzip.
 *
 * Reading reads is a chain that everything waits for: the blocks of bgzip are unpacked whole by
 * libdeflate, more than twice as fast as zlib, which does the rest.
 */
#ifndef GENOMICS_UNPACK_H
#define GENOMICS_UNPACK_H

#include <stdint.h>
#include <sys/types.h>

struct gn_unpack;

/* 0 or a negative errno. */
int gn_unpack_open(const char *path, struct gn_unpack **ret_file);
void gn_unpack_close(struct gn_unpack *file);
/* Like read(2); 0 at the end. -EBADMSG: damaged; -ENODATA: it ends too early. */
ssize_t gn_unpack_read(struct gn_unpack *file, void *to, uint32_t size);
/* Bytes of the file on the disk: what was read, and its size (0: not a plain file). */
void gn_unpack_progress(const struct gn_unpack *file, uint64_t *ret_done, uint64_t *ret_total);

#endif
