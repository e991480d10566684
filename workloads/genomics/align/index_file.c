/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps an index in a file; see index.h. It gets its name when it is complete, so that two
 * processes at once, or one that is killed, leave either no index or a good one. It belongs to a
 * FASTA file with these bytes and no others: time and size would not tell.
 */
#include "genomics/align/index.h"
#include "genomics/align/index_memory.h"
#include "output.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { CHUNK = 1 << 20 };

/* Of all bytes of a file, as they lie on the disk. */
static int hash_descriptor(int descriptor, uint64_t *ret_hash) {
    XXH3_state_t *state = XXH3_createState();
    char *chunk = malloc(CHUNK);
    int code = state && chunk ? 0 : -ENOMEM;
    if (code == 0) {
        XXH3_64bits_reset(state);
    }
    for (ssize_t count = 1; code == 0 && count != 0;) {
        count = read(descriptor, chunk, CHUNK);
        if (count > 0) {
            XXH3_64bits_update(state, chunk, (size_t)count);
        }
        code = count < 0 && errno != EINTR ? -errno : 0;
    }
    if (code == 0) {
        *ret_hash = XXH3_64bits_digest(state);
    }
    free(chunk);
    XXH3_freeState(state);
    return code;
}

static int hash_file(const char *path, uint64_t *ret_hash, struct sy_error *error) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    int code = descriptor < 0 ? -errno : hash_descriptor(descriptor, ret_hash);
    if (descriptor >= 0) {
        close(descriptor);
    }
    return code ? guest_fail(error, code, NULL, "cannot read %s: %s", path, strerror(-code)) : 0;
}

/* --- where ------------------------------------------------------------------------------------ */

static int make_folders(const char *path) {
    char copy[512];
    snprintf(copy, sizeof(copy), "%s", path);
    for (char *slash = copy + 1;; slash++) {
        char was = *slash;
        if (was == '/' || was == '\0') {
            *slash = '\0';
            if (mkdir(copy, 0777) && errno != EEXIST) {
                return -errno;
            }
            *slash = was;
        }
        if (was == '\0') {
            return 0;
        }
    }
}

/* In a folder shared by many references the name also says which path it is of. */
static int name_in_folder(const char *fasta, const char *folder, char *ret_file, size_t size) {
    const char *slash = strrchr(fasta, '/'), *name = slash ? slash + 1 : fasta;
    char *real = realpath(fasta, NULL);
    const char *path = real ? real : fasta;
    uint64_t hash = XXH3_64bits(path, strlen(path));
    free(real);
    int length = snprintf(ret_file, size, "%s/%s.%016llx.symph-index", folder, name,
                          (unsigned long long)hash);
    return length > 0 && (size_t)length < size ? 0 : -ENAMETOOLONG;
}

static int name_beside(const char *fasta, char *ret_file, size_t size) {
    int length = snprintf(ret_file, size, "%s.symph-index", fasta);
    return length > 0 && (size_t)length < size ? 0 : -ENAMETOOLONG;
}

/* --- reading ---------------------------------------------------------------------------------- */

static int read_whole(int descriptor, void *to, uint64_t bytes) {
    for (uint64_t at = 0; at < bytes;) {
        ssize_t count = read(descriptor, (char *)to + at, bytes - at);
        if (count < 0 && errno != EINTR) {
            return -errno;
        }
        if (count == 0) {
            return -EBADMSG;
        }
        at += count > 0 ? (uint64_t)count : 0;
    }
    return 0;
}

static const char *check_head(const struct gn_index *header, uint64_t bytes, uint64_t source) {
    if (header->magic != GN_INDEX_MAGIC) {
        return "it is not an index, or one of another version";
    }
    if (header->source_hash != source) {
        return "the FASTA file has changed since";
    }
    return header->bytes == bytes ? NULL : "it is cut short";
}

static int load_from(int descriptor, uint64_t bytes, uint64_t source, struct gn_index **ret_index,
                     char *ret_why, size_t why_size) {
    struct gn_index header;
    const char *why = "it is cut short";
    if (bytes >= sizeof(header) && read_whole(descriptor, &header, sizeof(header)) == 0) {
        why = check_head(&header, bytes, source);
    }
    struct gn_index *index = why ? NULL : gn_index_allocate(bytes);
    if (!index) {
        snprintf(ret_why, why_size, "%s", why ? why : strerror(ENOMEM));
        return -EBADMSG;
    }
    *index = header;
    snprintf(ret_why, why_size, "it cannot be read");
    int code = read_whole(descriptor, index + 1, bytes - sizeof(header));
    code = code ? code : gn_index_check(index, bytes, ret_why, why_size);
    if (code) {
        gn_index_free(index, bytes);
        return code;
    }
    *ret_index = index;
    return 0;
}

/* 0, or -ENOENT: no such file, or an error with its reason. */
static int load(const char *file, uint64_t source, struct gn_index **ret_index, char *ret_why,
                size_t why_size) {
    struct stat status;
    int code = 0, descriptor = open(file, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0 || fstat(descriptor, &status)) {
        code = -errno;
        snprintf(ret_why, why_size, "%s", strerror(-code));
    } else {
        code =
            load_from(descriptor, (uint64_t)status.st_size, source, ret_index, ret_why, why_size);
    }
    if (descriptor >= 0) {
        close(descriptor);
    }
    return code;
}

/* --- writing ---------------------------------------------------------------------------------- */

static int write_whole(int descriptor, const void *from, uint64_t bytes) {
    for (uint64_t at = 0; at < bytes;) {
        ssize_t count = write(descriptor, (const char *)from + at, bytes - at);
        if (count < 0 && errno != EINTR) {
            return -errno;
        }
        at += count > 0 ? (uint64_t)count : 0;
    }
    return 0;
}

static int save(const char *file, const struct gn_index *index) {
    struct guest_output output;
    struct sy_error error;
    int descriptor, code = guest_output_open(&output, file, NULL, &descriptor, &error);
    if (code) {
        return code;
    }
    code = write_whole(descriptor, index, index->bytes);
    if (close(descriptor)) {
        code = code ? code : -errno;
    }
    code = code ? code : guest_output_keep(&output, 1, &error);
    guest_output_finish(&output);
    return code;
}

/* --- both ------------------------------------------------------------------------------------- */

enum { PLACES = 2 };

struct where {
    char files[PLACES][512];
    char folders[PLACES][512]; /* made if missing; "": stands beside the FASTA */
    uint32_t count;
};

static void find_places(const char *fasta, const char *folder, struct where *ret_where) {
    memset(ret_where, 0, sizeof(*ret_where));
    uint32_t at = 0;
    if (!folder && name_beside(fasta, ret_where->files[0], sizeof(ret_where->files[0])) == 0) {
        at = 1;
    }
    char *into = ret_where->folders[at];
    if (folder ? *folder && strlen(folder) < sizeof(ret_where->folders[0])
               : sy_cache_folder("genomes", into, sizeof(ret_where->folders[0])) == 0) {
        if (folder) {
            snprintf(into, sizeof(ret_where->folders[0]), "%s", folder);
        }
        at += name_in_folder(fasta, into, ret_where->files[at], sizeof(ret_where->files[0])) == 0;
    }
    ret_where->count = at;
}

static int load_any(const struct where *where, uint64_t source, struct gn_index **ret_index,
                    struct gn_index_note *note) {
    for (uint32_t i = 0; i < where->count; i++) {
        char why[100];
        int code = load(where->files[i], source, ret_index, why, sizeof(why));
        if (code == 0) {
            memcpy(note->file, where->files[i], sizeof(note->file));
            note->trouble[0] = '\0';
            note->kept = true;
            return 0;
        }
        if (code != -ENOENT) {
            snprintf(note->trouble, sizeof(note->trouble), "the index there was not used: %s", why);
        }
    }
    return -ENOENT;
}

static void save_any(const struct where *where, const struct gn_index *index,
                     struct gn_index_note *note) {
    char before[sizeof(note->trouble)]; /* where a second place takes it, the first is no trouble */
    memcpy(before, note->trouble, sizeof(before));
    for (uint32_t i = 0; i < where->count && !note->kept; i++) {
        int code = where->folders[i][0] ? make_folders(where->folders[i]) : 0;
        code = code ? code : save(where->files[i], index);
        if (code == 0) {
            memcpy(note->file, where->files[i], sizeof(note->file));
            note->kept = true;
            memcpy(note->trouble, before, sizeof(before));
        } else {
            snprintf(note->trouble, sizeof(note->trouble), "the index cannot be saved: %s",
                     strerror(-code));
        }
    }
}

/* source: what the file's bytes were before, to be compared with what they are now. */
static int build(const char *fasta, bool hashed, uint64_t source, struct gn_index **ret_index,
                 struct sy_error *error) {
    struct gn_genome genome;
    struct gn_index *index = NULL;
    uint64_t now = source;
    int code = gn_genome_read(fasta, &genome, error);
    if (code) {
        return code;
    }
    code = gn_index_build(&genome, &index, error);
    gn_genome_finish(&genome);
    code = code || !hashed ? code : hash_file(fasta, &now, error);
    if (code == 0 && now != source) {
        code = guest_fail(error, -EBADMSG, "run it again when the file is complete",
                          "%s was changed while it was read", fasta);
    }
    if (code) {
        gn_index_close(index);
        return code;
    }
    index->source_hash = source;
    index->checksum = gn_index_sum(index);
    *ret_index = index;
    return 0;
}

int gn_index_open(const char *fasta, const char *folder, struct gn_index **ret_index,
                  struct gn_index_note *note, struct sy_error *error) {
    struct gn_index_note unwanted;
    struct where where;
    struct stat status;
    uint64_t source = 0;
    note = note ? note : &unwanted;
    memset(note, 0, sizeof(*note));
    if (stat(fasta, &status)) {
        int code = -errno;
        return guest_fail(error, code, NULL, "cannot read %s: %s", fasta, strerror(-code));
    }
    bool regular = S_ISREG(status.st_mode); /* else it can be read once */
    find_places(fasta, regular ? folder : "", &where);
    int code = regular ? hash_file(fasta, &source, error) : 0;
    if (code || load_any(&where, source, ret_index, note) == 0) {
        return code;
    }
    code = build(fasta, regular, source, ret_index, error);
    if (code == 0) {
        note->built = true;
        save_any(&where, *ret_index, note);
    }
    return code;
}
