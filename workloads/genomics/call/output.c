/* SPDX-License-Identifier: Apache-2.0
 *
 * Temporary names, and renaming at the end.
 */
#include "genomics/call/output.h"
#include "genomics/align/index.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES = 100, CONTIG_MAX = 1 << 29 };

bool gn_output_needs_csi(const struct gn_index *index) {
    for (uint32_t i = 0; i < index->contig_count; i++) {
        if (gn_contigs(index)[i].length >= CONTIG_MAX) {
            return true;
        }
    }
    return false;
}

/* Whether name is base.NUMBER-NUMBER.partial, perhaps with a suffix of an index. */
static bool is_partial_of(const char *name, const char *base) {
    size_t length = strlen(base);
    long process;
    unsigned serial;
    int end = 0;
    return strncmp(name, base, length) == 0 && name[length] == '.' &&
           sscanf(name + length + 1, "%ld-%u.partial%n", &process, &serial, &end) == 2 && end > 0 &&
           (name[length + 1 + (size_t)end] == '\0' || name[length + 1 + (size_t)end] == '.');
}

/* Who writes a file holds a lock on it; a lock ends with its process, wherever that ran. */
static void remove_if_left(int folder, const char *name) {
    int descriptor = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor >= 0) {
        if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
            unlinkat(folder, name, 0);
        }
        close(descriptor);
    }
}

/* Files that killed processes left. What cannot be removed does no harm. An index is written when
 * its file is complete and locked by nobody, so it goes only once its file is gone. */
static void remove_left(const char *path) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    DIR *listing = folder ? opendir(folder) : NULL;
    free(folder);
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        if (is_partial_of(entry->d_name, base)) {
            const char *end = strstr(entry->d_name + strlen(base), ".partial") + 8;
            char whole[sizeof entry->d_name + 1];
            snprintf(whole, sizeof whole, "%.*s", (int)(end - entry->d_name), entry->d_name);
            remove_if_left(dirfd(listing), whole);
            if (*end && faccessat(dirfd(listing), whole, F_OK, 0) < 0) {
                unlinkat(dirfd(listing), entry->d_name, 0);
            }
        }
    }
    if (listing) {
        closedir(listing);
    }
}

/* Renaming would replace a device by a file, and fail on a folder only at the end. */
static int check_path(const char *path, struct sy_error *error) {
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        return guest_fail(error, S_ISDIR(info.st_mode) ? -EISDIR : -EINVAL,
                          "give the path of a file", "cannot write %s: it is %s", path,
                          S_ISDIR(info.st_mode) ? "a folder" : "no regular file");
    }
    return 0;
}

/* A new file in the same folder, locked. */
static int create_temporary(struct gn_output *output, int *ret_descriptor) {
    for (uint32_t i = 0; i < TRIES; i++) {
        char *name = NULL;
        if (asprintf(&name, "%s.%ld-%u.partial", output->path, (long)getpid(), i) < 0) {
            return -ENOMEM;
        }
        int descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        int code = -errno;
        if (descriptor >= 0) {
            output->temporary = name;
            if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
                /* Another descriptor holds it, too: this one is closed before the renaming. */
                output->lock = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
            }
            *ret_descriptor = descriptor;
            return 0;
        }
        free(name);
        if (code != -EEXIST) {
            return code;
        }
    }
    return -EBUSY;
}

static bool name_index(struct gn_output *output, const char *suffix) {
    if (asprintf(&output->index, "%s%s", output->temporary, suffix) < 0) {
        output->index = NULL;
        return false;
    }
    if (asprintf(&output->final_index, "%s%s", output->path, suffix) < 0) {
        output->final_index = NULL;
        return false;
    }
    return true;
}

int gn_output_open(struct gn_output *output, const char *path, const char *suffix,
                   int *ret_descriptor, struct sy_error *error) {
    int descriptor = -1, code = check_path(path, error);
    *output = (struct gn_output){.lock = -1};
    if (code < 0) {
        return code;
    }
    remove_left(path);
    output->path = strdup(path);
    code = output->path ? create_temporary(output, &descriptor) : -ENOMEM;
    if (code == 0 && suffix && !name_index(output, suffix)) {
        close(descriptor);
        code = -ENOMEM;
    }
    if (code < 0) {
        gn_output_finish(output);
        return guest_fail(error, code, "give a path in a folder that exists and can be written",
                          "cannot write %s: %s", path, strerror(-code));
    }
    *ret_descriptor = descriptor;
    return 0;
}

int gn_output_keep(struct gn_output *output, struct sy_error *error) {
    /* The index first: a file never has an index that is older than it. */
    if ((output->index && rename(output->index, output->final_index) < 0) ||
        rename(output->temporary, output->path) < 0) {
        int code = -errno;
        return guest_fail(error, code, NULL, "cannot write %s: %s", output->path, strerror(-code));
    }
    free(output->temporary);
    free(output->index);
    output->temporary = output->index = NULL;
    return 0;
}

void gn_output_finish(struct gn_output *output) {
    if (output->index) {
        unlink(output->index);
    }
    if (output->temporary) {
        unlink(output->temporary);
    }
    if (output->lock >= 0) {
        close(output->lock);
    }
    free(output->path);
    free(output->temporary);
    free(output->index);
    free(output->final_index);
    *output = (struct gn_output){.lock = -1};
}
