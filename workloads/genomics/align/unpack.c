/* SPDX-License-Identifier: Apache-2.0
 *
 * Unpacks files: see unpack.h.
 */
#include "genomics/align/unpack.h"
#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum {
    INPUT_BYTES = 1 << 20,
    BLOCK_BYTES = 1 << 16, /* of bgzip, packed or not: at most so many */
    BLOCK_HEAD = 18,       /* up to and with its size */
    WINDOW_GZIP = 15 + 16, /* zlib's word for gzip */
};

enum kind { PLAIN, GZIP, BGZIP };

struct gn_unpack {
    int fd;
    enum kind kind;
    bool ended;            /* the file has no more bytes */
    _Atomic uint64_t done; /* read by whoever shows progress */
    uint64_t total;
    uint32_t at, end; /* what of input is not used yet */
    /* GZIP */
    z_stream stream;
    bool inside; /* of a member that has begun */
    /* BGZIP */
    struct libdeflate_decompressor *unpacker;
    uint32_t block_at, block_end; /* what of block was not handed out yet */
    bool marked;                  /* the last block was empty, as the last of a whole file is */
    uint8_t block[BLOCK_BYTES];
    uint8_t input[INPUT_BYTES];
};

/* Reads more behind what is left over. 0 or a negative errno. */
static int refill(struct gn_unpack *file) {
    memmove(file->input, file->input + file->at, file->end - file->at);
    file->end -= file->at;
    file->at = 0;
    ssize_t got;
    do {
        got = read(file->fd, file->input + file->end, INPUT_BYTES - file->end);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return -errno;
    }
    file->ended = got == 0;
    file->done += (uint64_t)got;
    file->end += (uint32_t)got;
    return 0;
}

/* At least so many bytes in input, unless the file ends before. */
static int want(struct gn_unpack *file, uint32_t bytes) {
    int code = 0;
    while (code == 0 && file->end - file->at < bytes && !file->ended) {
        code = refill(file);
    }
    return code;
}

/* A block of bgzip: gzip with one extra field, "BC", of two bytes. */
static bool is_block(const uint8_t *head) {
    static const uint8_t begins[4] = {0x1f, 0x8b, 8, 4}, extra[6] = {6, 0, 'B', 'C', 2, 0};
    return memcmp(head, begins, sizeof begins) == 0 && memcmp(head + 10, extra, sizeof extra) == 0;
}

static int start_kind(struct gn_unpack *file) {
    const uint8_t *head = file->input;
    if (file->end < 2 || head[0] != 0x1f || head[1] != 0x8b) {
        file->kind = PLAIN;
        return 0;
    }
    if (file->end >= BLOCK_HEAD && is_block(head)) {
        file->kind = BGZIP;
        file->unpacker = libdeflate_alloc_decompressor();
        return file->unpacker ? 0 : -ENOMEM;
    }
    file->kind = GZIP;
    return inflateInit2(&file->stream, WINDOW_GZIP) == Z_OK ? 0 : -ENOMEM;
}

int gn_unpack_open(const char *path, struct gn_unpack **ret_file) {
    struct gn_unpack *file = calloc(1, sizeof *file);
    struct stat info = {0};
    if (!file) {
        return -ENOMEM;
    }
    file->fd = open(path, O_RDONLY | O_CLOEXEC);
    int code = file->fd < 0 || fstat(file->fd, &info) < 0 ? -errno : 0;
    code = code == 0 && S_ISDIR(info.st_mode) ? -EISDIR : code;
    code = code ? code : want(file, BLOCK_HEAD);
    code = code ? code : start_kind(file);
    if (code < 0) {
        gn_unpack_close(file);
        return code;
    }
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
    if (file->kind == GZIP) {
        inflateEnd(&file->stream);
    }
    libdeflate_free_decompressor(file->unpacker);
    free(file);
}

void gn_unpack_progress(const struct gn_unpack *file, uint64_t *ret_done, uint64_t *ret_total) {
    *ret_done = file->done;
    *ret_total = file->total;
}

/* --- the three kinds ----------------------------------------------------------------------------
 */
static ssize_t read_plain(struct gn_unpack *file, uint8_t *to, uint32_t size) {
    int code = want(file, 1);
    if (code < 0) {
        return code;
    }
    uint32_t count = file->end - file->at < size ? file->end - file->at : size;
    memcpy(to, file->input + file->at, count);
    file->at += count;
    return count;
}

/* The next block of bgzip into block. 0; 1: there is none. */
static int next_block(struct gn_unpack *file) {
    int code = want(file, BLOCK_HEAD);
    const uint8_t *head = file->input + file->at;
    if (code < 0) {
        return code;
    }
    if (file->at == file->end) {
        return file->marked ? 1 : -ENODATA;
    }
    if (file->end - file->at < BLOCK_HEAD) {
        return -ENODATA;
    }
    if (!is_block(head)) {
        return -EBADMSG;
    }
    uint32_t bytes = (uint32_t)(head[16] | head[17] << 8) + 1;
    code = want(file, bytes);
    if (code < 0 || file->end - file->at < bytes) {
        return code < 0 ? code : -ENODATA;
    }
    size_t unpacked = 0;
    if (libdeflate_gzip_decompress(file->unpacker, file->input + file->at, bytes, file->block,
                                   BLOCK_BYTES, &unpacked) != LIBDEFLATE_SUCCESS) {
        return -EBADMSG;
    }
    file->at += bytes;
    file->block_at = 0;
    file->block_end = (uint32_t)unpacked;
    file->marked = unpacked == 0;
    return 0;
}

static ssize_t read_blocks(struct gn_unpack *file, uint8_t *to, uint32_t size) {
    uint32_t given = 0;
    while (given < size) {
        if (file->block_at == file->block_end) {
            int code = next_block(file);
            if (code) {
                return given || code > 0 ? (ssize_t)given
                                         : code; /* what is wrong is told next time */
            }
        }
        uint32_t left = file->block_end - file->block_at;
        uint32_t count = left < size - given ? left : size - given;
        memcpy(to + given, file->block + file->block_at, count);
        file->block_at += count;
        given += count;
    }
    return given;
}

/* Begins the next member of gzip, if there is one; zeros behind a member are padding. */
static int begin_member(struct gn_unpack *file) {
    int code = want(file, 1);
    while (code == 0 && file->at < file->end && file->input[file->at] == 0) {
        file->at++;
        code = want(file, 1);
    }
    if (code == 0 && file->at < file->end) {
        inflateReset(&file->stream);
        file->inside = true;
    }
    return code;
}

static ssize_t read_members(struct gn_unpack *file, uint8_t *to, uint32_t size) {
    z_stream *stream = &file->stream;
    stream->next_out = to;
    stream->avail_out = size;
    while (stream->avail_out == size) {
        int code = file->inside ? want(file, 1) : begin_member(file);
        if (code < 0 || !file->inside) {
            return code;
        }
        if (file->at == file->end) {
            return -ENODATA;
        }
        stream->next_in = file->input + file->at;
        stream->avail_in = file->end - file->at;
        int result = inflate(stream, Z_NO_FLUSH);
        file->at = file->end - stream->avail_in;
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
            return result == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
        }
        file->inside = result != Z_STREAM_END;
    }
    return (ssize_t)(size - stream->avail_out);
}

ssize_t gn_unpack_read(struct gn_unpack *file, void *to, uint32_t size) {
    switch (file->kind) {
    case PLAIN:
        return read_plain(file, to, size);
    case GZIP:
        return read_members(file, to, size);
    default:
        return read_blocks(file, to, size);
    }
}
