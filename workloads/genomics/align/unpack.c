/* SPDX-License-Identifier: Apache-2.0
 *
 * Unpacks files: see unpack.h.
 */
#include "genomics/align/unpack.h"
#include <errno.h>
#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INPUT_BYTES = 1 << 20 };

struct gn_unpack {
    int fd;
    bool packed, ended; /* the file has no more bytes */
    bool inside;        /* of a member that has begun */
    bool blocks;        /* bgzip: the last member is empty, so that a file that was cut shows */
    uint64_t given;     /* bytes of this member */
    uint64_t done, total;
    struct inflate_state state; /* its next_in and avail_in are what was read and not used */
    uint8_t input[INPUT_BYTES];
};

/* Reads more behind what is left over. 0 or a negative errno. */
static int refill(struct gn_unpack *file) {
    uint32_t left = file->state.avail_in;
    if (left) {
        memmove(file->input, file->state.next_in, left);
    }
    ssize_t got;
    do {
        got = read(file->fd, file->input + left, INPUT_BYTES - left);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return -errno;
    }
    file->ended = got == 0;
    file->done += (uint64_t)got;
    file->state.next_in = file->input;
    file->state.avail_in = left + (uint32_t)got;
    return 0;
}

/* What the first bytes say: gzip, and if so, bgzip. */
static void look(struct gn_unpack *file) {
    file->packed = file->state.avail_in >= 2 && file->input[0] == 0x1f && file->input[1] == 0x8b;
    file->blocks = file->packed && file->state.avail_in >= 16 && (file->input[3] & 4) &&
                   file->input[12] == 'B' && file->input[13] == 'C';
}

int gn_unpack_open(const char *path, struct gn_unpack **ret_file) {
    struct gn_unpack *file = calloc(1, sizeof *file);
    struct stat info = {0};
    if (!file) {
        return -ENOMEM;
    }
    isal_inflate_init(&file->state);
    file->fd = open(path, O_RDONLY | O_CLOEXEC);
    int code = file->fd < 0 || fstat(file->fd, &info) < 0 ? -errno : 0;
    code = code == 0 && S_ISDIR(info.st_mode) ? -EISDIR : code;
    while (code == 0 && !file->ended &&
           file->state.avail_in < 2) { /* a pipe may give single bytes */
        code = refill(file);
    }
    if (code < 0) {
        gn_unpack_close(file);
        return code;
    }
    look(file);
    file->total = S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
    *ret_file = file;
    return 0;
}

void gn_unpack_close(struct gn_unpack *file) {
    if (!file) {
        return;
    }
    if (file->fd >= 0) {
        close(file->fd);
    }
    free(file);
}

void gn_unpack_progress(const struct gn_unpack *file, uint64_t *ret_done, uint64_t *ret_total) {
    *ret_done = file->done - file->state.avail_in;
    *ret_total = file->total;
}

static ssize_t copy_plain(struct gn_unpack *file, uint8_t *to, uint32_t size) {
    uint32_t count = file->state.avail_in < size ? file->state.avail_in : size;
    memcpy(to, file->state.next_in, count);
    file->state.next_in += count;
    file->state.avail_in -= count;
    return count;
}

/* The next member, if there is one: bgzip files have thousands. Zeros behind a member are padding.
 */
static void begin_member(struct gn_unpack *file) {
    while (file->state.avail_in && *file->state.next_in == 0) {
        file->state.next_in++;
        file->state.avail_in--;
    }
    if (!file->state.avail_in) {
        return;
    }
    uint8_t *next = file->state.next_in;
    uint32_t left = file->state.avail_in;
    isal_inflate_reset(&file->state);
    file->state.crc_flag = ISAL_GZIP;
    file->state.next_in = next;
    file->state.avail_in = left;
    file->inside = true;
    file->given = 0;
}

/* Within a member. 0: nothing came out yet. */
static ssize_t inflate_some(struct gn_unpack *file, void *to, uint32_t size) {
    struct inflate_state *state = &file->state;
    state->next_out = to;
    state->avail_out = size;
    int result = isal_inflate(state);
    if (result != ISAL_DECOMP_OK && result != ISAL_END_INPUT) {
        return -EBADMSG;
    }
    file->inside = state->block_state != ISAL_BLOCK_FINISH;
    file->given += size - state->avail_out;
    if (state->avail_out < size) {
        return (ssize_t)(size - state->avail_out);
    }
    return file->inside && file->ended && !state->avail_in ? -ENODATA : 0;
}

ssize_t gn_unpack_read(struct gn_unpack *file, void *to, uint32_t size) {
    struct inflate_state *state = &file->state;
    for (;;) {
        if (!state->avail_in && !file->ended) {
            int code = refill(file);
            if (code < 0) {
                return code;
            }
        }
        if (!file->packed) {
            return copy_plain(file, to, size);
        }
        if (!file->inside) {
            begin_member(file);
        }
        if (!file->inside && file->ended) {
            return file->blocks && file->given ? -ENODATA : 0;
        }
        ssize_t got = file->inside ? inflate_some(file, to, size) : 0;
        if (got != 0) {
            return got;
        }
    }
}
