/* SPDX-License-Identifier: Apache-2.0
 *
 * Temporary names, and renaming at the end: see output.h.
 */
#include "output.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES = 100 };

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

/* To be freed; NULL: out of memory. */
static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
}

/* Files that killed processes left. What cannot be removed does no harm. An index is written when
 * its file is complete and locked by nobody, so it goes only once its file is gone. */
static void remove_left(const char *path) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    char *folder = folder_of(path);
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

/* The file that is replaced; its mode is 0 if there is none. Renaming would replace a device by a
 * file, and fail on a folder only at the end. */
static int look_at_old(const char *path, struct stat *ret_old, struct sy_error *error) {
    if (stat(path, ret_old) < 0) {
        *ret_old = (struct stat){0};
        return 0;
    }
    if (!S_ISREG(ret_old->st_mode)) {
        bool folder = S_ISDIR(ret_old->st_mode);
        return guest_fail(error, folder ? -EISDIR : -EINVAL, "give the path of a file",
                          "cannot write %s: it is %s", path,
                          folder ? "a folder" : "no regular file");
    }
    if (access(path, W_OK) < 0) {
        return guest_fail(error, -errno, NULL, "cannot write %s: %s", path, strerror(errno));
    }
    return 0;
}

/* Who may read and write the old file may do so with the new one, and nobody else. */
static int copy_access(int descriptor, const struct stat *old) {
    mode_t mode = old->st_mode & 0777;
    if (fchown(descriptor, old->st_uid, old->st_gid) < 0 &&
        fchown(descriptor, (uid_t)-1, old->st_gid) < 0) {
        mode &= ~(mode_t)S_IRWXG;
    }
    return fchmod(descriptor, mode) < 0 ? -errno : 0;
}

/* False: another process took it for one that was left, in the moment before the lock. */
static bool lock(int descriptor) {
    struct stat info;
    if (flock(descriptor, LOCK_EX | LOCK_NB) < 0) {
        return errno != EWOULDBLOCK; /* where there are no locks, nobody removes anything */
    }
    return fstat(descriptor, &info) < 0 || info.st_nlink > 0;
}

/* A new file in the same folder, locked. */
static int create_temporary(struct guest_output *output, int *ret_descriptor) {
    for (uint32_t i = 0; i < TRIES; i++) {
        char *name = NULL;
        if (asprintf(&name, "%s.%ld-%u.partial", output->path, (long)getpid(), i) < 0) {
            return -ENOMEM;
        }
        int descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        int code = descriptor < 0 ? -errno : -EEXIST;
        if (descriptor >= 0 && lock(descriptor)) {
            output->temporary = name;
            *ret_descriptor = descriptor;
            return 0;
        }
        if (descriptor >= 0) {
            close(descriptor);
        }
        free(name);
        if (code != -EEXIST) {
            return code;
        }
    }
    return -EBUSY;
}

/* Readers look for it beside the name that they know. */
static bool name_index(struct guest_output *output, const char *path, const char *suffix) {
    if (asprintf(&output->index, "%s%s", output->temporary, suffix) < 0) {
        output->index = NULL;
        return false;
    }
    if (asprintf(&output->final_index, "%s%s", path, suffix) < 0) {
        output->final_index = NULL;
        return false;
    }
    return true;
}

int guest_output_open(struct guest_output *output, const char *path, const char *suffix,
                      int *ret_descriptor, struct sy_error *error) {
    struct stat old;
    int descriptor = -1, code = look_at_old(path, &old, error);
    *output = (struct guest_output){.descriptor = -1};
    if (code < 0) {
        return code;
    }
    /* A link stays; what it points to is replaced. */
    output->path = old.st_mode ? realpath(path, NULL) : strdup(path);
    if (output->path) {
        remove_left(output->path);
    }
    code = output->path ? create_temporary(output, &descriptor) : -ENOMEM;
    if (code == 0 && suffix && !name_index(output, path, suffix)) {
        code = -ENOMEM;
    }
    if (code == 0 && old.st_mode) {
        code = copy_access(descriptor, &old);
    }
    if (code == 0) { /* a second one: the caller's is closed before the renaming */
        output->descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
        code = output->descriptor < 0 ? -errno : 0;
    }
    if (code < 0) {
        if (descriptor >= 0) {
            close(descriptor);
        }
        guest_output_finish(output);
        return guest_fail(error, code, "give a path in a folder that exists and can be written",
                          "cannot write %s: %s", path, strerror(-code));
    }
    *ret_descriptor = descriptor;
    return 0;
}

/* --- keeping ------------------------------------------------------------------------------------
 */
/* Some file systems and devices cannot, and say so. */
static int sync_descriptor(int descriptor) {
    return fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS ? 0 : -errno;
}

static int sync_path(const char *path, int flags) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | flags);
    int code = descriptor < 0 ? -errno : sync_descriptor(descriptor);
    if (descriptor >= 0) {
        close(descriptor);
    }
    return code;
}

static int sync_names(struct guest_output *output) {
    char *folder = folder_of(output->path);
    int code = folder ? sync_path(folder, O_DIRECTORY) : -ENOMEM;
    free(folder);
    return code == -EACCES ? 0 : code; /* it may be written, but not read */
}

static int sync_files(struct guest_output *output) {
    int code = sync_descriptor(output->descriptor);
    return code == 0 && output->index ? sync_path(output->index, 0) : code;
}

/* The index first: a file never has an index that is older than it. */
static int name_files(struct guest_output *output) {
    if ((output->index && rename(output->index, output->final_index) < 0)) {
        return -errno;
    }
    free(output->index);
    output->index = NULL;
    if (rename(output->temporary, output->path) < 0) {
        return -errno;
    }
    free(output->temporary);
    output->temporary = NULL;
    return 0;
}

int guest_output_keep(struct guest_output *outputs, uint32_t count, struct sy_error *error) {
    int (*const steps[])(struct guest_output *) = {sync_files, name_files, sync_names};
    for (size_t step = 0; step < GUEST_COUNT(steps); step++) {
        for (uint32_t i = 0; i < count; i++) {
            int code = steps[step](&outputs[i]);
            if (code < 0) {
                return guest_fail(error, code, code == -ENOSPC ? "make room on the disk" : NULL,
                                  "cannot write %s: %s", outputs[i].path, strerror(-code));
            }
        }
    }
    return 0;
}

void guest_output_finish(struct guest_output *output) {
    if (output->index) {
        unlink(output->index);
    }
    if (output->temporary) {
        unlink(output->temporary);
    }
    if (output->path && output->descriptor >= 0) {
        close(output->descriptor);
    }
    free(output->path);
    free(output->temporary);
    free(output->index);
    free(output->final_index);
    *output = (struct guest_output){.descriptor = -1};
}
