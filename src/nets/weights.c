/* SPDX-License-Identifier: Apache-2.0
 *
 * The weights file: a short text header, zeros up to a multiple of 64 bytes, the block.
 *
 * In: bytes that a person named. Out: weights whose every float is finite and whose hash is right,
 * or an error with its line. docs/weights-format.md has the format. Invariant: a file is read into
 * memory of its own, so that nothing done to it later changes a decision or ends the program.
 */
#include "nets/embedded.h"
#include "nets/nets.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAGIC      "symph-weights"
#define VERSION    1
#define ALIGN      64u
#define HEADER_MAX 16384u /* bytes, with the zeros behind it */
#define LONGEST    1000u
#define FILE_MAX   (HEADER_MAX + SY_WEIGHTS_MAX * sizeof(float))

/* A kind is a word of this program, so that a file's kind can be kept without its memory. */
static const char *const kinds[] = {"symphony", "symphony-paper", "black-box"};

struct header {
    const char *text;
    size_t length; /* up to the first zero */
    size_t at;
    uint32_t line;
    struct sy_error *error;
};

__attribute__((format(printf, 2, 3))) static int bad(const struct header *header,
                                                     const char *format, ...) {
    va_list args;
    va_start(args, format);
    sy_fail_list(header->error, NULL, header->line, 0, format, args);
    va_end(args);
    return sy_hint(header->error, "not a whole weights file: make or fetch it again");
}

static bool is_key(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* "key value": the key's length, 0 if the line is none. */
static size_t key_length(const char *line, size_t length) {
    size_t key = 0;
    while (key < length && is_key(line[key])) {
        key++;
    }
    if (key == 0 || key + 1 >= length || line[key] != ' ') {
        return 0;
    }
    for (size_t i = key + 1; i < length;) {
        size_t step = sy_utf8_length(line + i, length - i);
        if (step == 0 || (unsigned char)line[i] < ' ' || line[i] == 0x7f) {
            return 0;
        }
        i += step;
    }
    return key;
}

/* The next line, without its end. */
static int next_line(struct header *header, const char **ret_line, size_t *ret_length) {
    header->line++;
    const char *line = header->text + header->at;
    size_t left = header->length - header->at;
    const char *end = left ? memchr(line, '\n', left) : NULL;
    size_t length = end ? (size_t)(end - line) : left;
    if (length > LONGEST) {
        return bad(header, "the line is longer than %u bytes", LONGEST);
    }
    if (!end) {
        return bad(header, "the header ends in the middle");
    }
    if (!key_length(line, length)) {
        return bad(header, "not a line \"key value\"");
    }
    header->at += length + 1;
    *ret_line = line;
    *ret_length = length;
    return 0;
}

/* The value of the next line, which must have this key. */
static int next_value(struct header *header, const char *key, const char **ret_value,
                      size_t *ret_length) {
    const char *line = NULL;
    size_t length = 0, size = strlen(key);
    int code = next_line(header, &line, &length);
    if (code) {
        return code;
    }
    if (key_length(line, length) != size || memcmp(line, key, size) != 0) {
        return bad(header, "expected \"%s\"", key);
    }
    *ret_value = line + size + 1;
    *ret_length = length - size - 1;
    return 0;
}

static int next_number(struct header *header, const char *key, uint64_t least, uint64_t most,
                       uint32_t *ret_number) {
    const char *value = NULL;
    size_t length = 0;
    uint64_t number;
    int code = next_value(header, key, &value, &length);
    if (code) {
        return code;
    }
    if (!sy_parse_u64(value, length, &number) || number < least || number > most) {
        return bad(header, "%s must be a number from %llu to %llu", key, (unsigned long long)least,
                   (unsigned long long)most);
    }
    *ret_number = (uint32_t)number;
    return 0;
}

static int next_kind(struct header *header, const char **ret_kind) {
    const char *value = NULL;
    size_t length = 0;
    int code = next_value(header, "kind", &value, &length);
    if (code) {
        return code;
    }
    for (size_t i = 0; i < SY_COUNT(kinds); i++) {
        if (strlen(kinds[i]) == length && memcmp(kinds[i], value, length) == 0) {
            *ret_kind = kinds[i];
            return 0;
        }
    }
    return bad(header, "no policy of this program has weights of kind \"%.*s\"",
               length > 40 ? 40 : (int)length, value);
}

static int next_hash(struct header *header, uint64_t *ret_hash) {
    const char *value = NULL;
    size_t length = 0;
    int code = next_value(header, "hash", &value, &length);
    if (code) {
        return code;
    }
    uint64_t hash = 0;
    for (size_t i = 0; i < length && length == 16; i++) {
        const char *digits = "0123456789abcdef", *digit = strchr(digits, value[i]);
        if (!digit) {
            length = 0;
            break;
        }
        hash = hash << 4 | (uint64_t)(digit - digits);
    }
    if (length != 16) {
        return bad(header, "a hash is 16 hexadecimal digits");
    }
    *ret_hash = hash;
    return 0;
}

static int read_header(struct header *header, struct sy_weights *weights) {
    uint32_t version = 0;
    int code = next_number(header, MAGIC, 1, UINT32_MAX, &version);
    if (!code && version != VERSION) {
        code = bad(header, "version %u of the format; this program reads version %d", version,
                   VERSION);
    }
    if (!code) {
        code = next_kind(header, &weights->kind);
    }
    if (!code) {
        code = next_number(header, "shape", 0, UINT32_MAX, &weights->shape);
    }
    if (!code) {
        code = next_number(header, "count", 1, SY_WEIGHTS_MAX, &weights->count);
    }
    if (!code) {
        code = next_hash(header, &weights->hash);
    }
    weights->origin = header->text + header->at;
    while (!code && header->at < header->length) {
        const char *line;
        size_t length;
        code = next_line(header, &line, &length);
    }
    return code;
}

static int check_block(struct header *header, const struct sy_weights *weights) {
    header->line = 0;
    for (uint32_t i = 0; i < weights->count; i++) {
        if (!isfinite(weights->block[i])) {
            return bad(header, "weight %u is not a finite number", i);
        }
    }
    if (sy_hash((const char *)weights->block, weights->count * sizeof(float)) != weights->hash) {
        return bad(header, "the weights do not have the hash that the header says");
    }
    return 0;
}

int sy_weights_parse(const void *bytes, size_t size, struct sy_weights *ret_weights,
                     struct sy_error *error) {
    SY_ASSERT((uintptr_t)bytes % ALIGN == 0);
    if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__) {
        return sy_fail(error, -ENOTSUP, "weights files need a little-endian processor");
    }
    struct header header = {.text = bytes, .error = error};
    struct sy_weights weights = {0};
    const size_t limit = size < HEADER_MAX ? size : HEADER_MAX;
    const char *end = limit ? memchr(header.text, '\0', limit) : NULL;
    header.length = end ? (size_t)(end - header.text) : limit;
    int code = read_header(&header, &weights);
    if (code) {
        return code;
    }
    size_t start = (header.length / ALIGN + 1) * ALIGN;
    header.line = 0;
    for (size_t i = header.length; i < start; i++) {
        if (i >= limit || header.text[i] != '\0') {
            return bad(&header, "no zeros between header and weights");
        }
    }
    if (size != start + weights.count * sizeof(float)) {
        return bad(&header, "%zu bytes, where the header promises %zu", size,
                   start + weights.count * sizeof(float));
    }
    weights.block = (const float *)(const void *)(header.text + start);
    code = check_block(&header, &weights);
    if (!code) {
        *ret_weights = weights;
    }
    return code;
}

/* Reads all of the file into fresh pages: a mapped file would change under the program, or end it
 * by a signal, when somebody writes over it. One byte more than may be there, to see that it is. */
static int read_pages(int fd, void **ret_memory, size_t *ret_size) {
    const size_t capacity = FILE_MAX + 1;
    void *memory = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return -errno;
    }
    size_t size = 0;
    while (size < capacity) {
        ssize_t got = read(fd, (char *)memory + size, capacity - size);
        if (got < 0 && errno != EINTR) {
            int code = -errno;
            munmap(memory, capacity);
            return code;
        }
        if (got == 0) {
            break;
        }
        size += got > 0 ? (size_t)got : 0;
    }
    mprotect(memory, capacity, PROT_READ); /* only a precaution: may fail */
    *ret_memory = memory;
    *ret_size = size;
    return 0;
}

int sy_weights_open(const char *path, struct sy_weights *ret_weights, struct sy_error *error) {
    void *memory = NULL;
    size_t size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int code = fd < 0 ? -errno : read_pages(fd, &memory, &size);
    if (fd >= 0) {
        close(fd);
    }
    if (code) {
        return sy_fail_at(error, code, path, 0, 0, "cannot read: %s", strerror(-code));
    }
    struct sy_weights weights;
    code = size > FILE_MAX ? sy_fail(error, -EINVAL, "too large for a weights file")
                           : sy_weights_parse(memory, size, &weights, error);
    if (code) {
        munmap(memory, FILE_MAX + 1);
        if (error) {
            snprintf(error->file, sizeof error->file, "%s", path);
        }
        return code;
    }
    weights.memory = memory;
    weights.memory_size = FILE_MAX + 1;
    *ret_weights = weights;
    return 0;
}

void sy_weights_close(struct sy_weights *weights) {
    if (weights && weights->memory) {
        munmap(weights->memory, weights->memory_size);
        *weights = (struct sy_weights){0};
    }
}

/* The whole file. What was put together is parsed once more by the caller. */
static void put(const struct sy_weights *weights, struct sy_buffer *out) {
    const char *origin = weights->origin ? weights->origin : "";
    size_t length = strlen(origin), bytes = weights->count * sizeof(float);
    uint64_t hash = sy_hash((const char *)weights->block, bytes);
    sy_buffer_printf(out, MAGIC " %d\nkind %s\nshape %u\ncount %u\nhash %016llx\n%s", VERSION,
                     weights->kind, weights->shape, weights->count, (unsigned long long)hash,
                     origin);
    if (length && origin[length - 1] != '\n') {
        sy_buffer_append(out, "\n", 1);
    }
    const char zeros[ALIGN] = {0};
    sy_buffer_append(out, zeros, ALIGN - out->length % ALIGN);
    sy_buffer_append(out, (const char *)weights->block, bytes);
}

/* Parsing needs its alignment, which a growing buffer does not have. */
static int check_written(const struct sy_buffer *out, struct sy_error *error) {
    void *copy;
    if (posix_memalign(&copy, ALIGN, out->length)) {
        return sy_out_of_memory(error);
    }
    memcpy(copy, out->text, out->length);
    struct sy_weights weights;
    int code = sy_weights_parse(copy, out->length, &weights, error);
    free(copy);
    if (code) {
        sy_hint(error, "these weights cannot be written");
    }
    return code;
}

int sy_weights_write(const char *path, const struct sy_weights *weights, struct sy_error *error) {
    SY_ASSERT(weights->kind && (weights->block || !weights->count));
    if (weights->count == 0 || weights->count > SY_WEIGHTS_MAX) {
        return sy_fail_at(error, -EINVAL, path, 0, 0,
                          "cannot write %u weights: 1 to %d are allowed", weights->count,
                          SY_WEIGHTS_MAX);
    }
    struct sy_buffer out = {0};
    put(weights, &out);
    int code = out.failed ? sy_out_of_memory(error) : check_written(&out, error);
    if (code && error) {
        snprintf(error->file, sizeof error->file, "%s", path);
    }
    if (!code) {
        code = sy_write_file(path, out.text, out.length, error);
    }
    sy_buffer_finish(&out);
    return code;
}

const struct sy_weights *sy_weights_shipped(const char *kind) {
    for (const struct sy_weights *weights = sy_weights_embedded; weights->kind; weights++) {
        if (strcmp(weights->kind, kind) == 0) {
            return weights;
        }
    }
    return NULL;
}
