/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of /proc and /sys: opened once, read again and again; and what their text says.
 *
 * In: paths under the root. Out: text in the sources' buffer, numbers. Invariant: a file that goes
 * away is an error of that read alone, and is looked for again a second later; nothing is allocated
 * after probing.
 */
#include "counters/provider.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_MIN 16384
#define BUFFER_MAX (16u << 20)

static int open_path(const struct sy_sources *sources, const char *path) {
    char full[SY_PATH_MAX * 2];
    const char *root = sources->options.root ? sources->options.root : "";
    int length = snprintf(full, sizeof full, "%s%s", root, path);
    if (length < 0 || (size_t)length >= sizeof full) {
        return -ENAMETOOLONG;
    }
    int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

/* Some files of /proc must be read in one go, so the buffer has to be large enough. */
static ssize_t read_whole(const struct sy_sources *sources, int fd) {
    size_t length = 0;
    while (length + 1 < sources->buffer_size) {
        ssize_t got =
            pread(fd, sources->buffer + length, sources->buffer_size - 1 - length, (off_t)length);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -errno;
        }
        if (got == 0) {
            break;
        }
        length += (size_t)got;
    }
    sources->buffer[length] = '\0';
    return (ssize_t)length;
}

/* Only while probing: the buffer becomes twice as large as the largest file. */
static ssize_t read_growing(struct sy_sources *sources, int fd) {
    for (;;) {
        ssize_t length = sources->buffer ? read_whole(sources, fd) : BUFFER_MIN;
        if (length < 0 || (sources->buffer && (size_t)length < sources->buffer_size / 2) ||
            sources->buffer_size >= BUFFER_MAX) {
            return length;
        }
        size_t size = sources->buffer_size ? sources->buffer_size * 2 : BUFFER_MIN;
        char *grown = realloc(sources->buffer, size);
        if (!grown) {
            sources->failed = true;
            return -ENOMEM;
        }
        sources->buffer = grown;
        sources->buffer_size = size;
    }
}

int sy_file_open(struct sy_sources *sources, const char *path, struct sy_file *ret_file) {
    int fd = open_path(sources, path);
    ssize_t length = fd < 0 ? fd : read_growing(sources, fd);
    if (length < 0) {
        if (fd >= 0) {
            close(fd);
        }
        return (int)length;
    }
    *ret_file = (struct sy_file){.fd = fd, .path = sy_text(sources, "%s", path), .retry_ns = NAN};
    return 0;
}

void sy_file_close(struct sy_file *file) {
    if (file->path && file->fd >= 0) { /* one that was never opened has no path */
        close(file->fd);
    }
    file->fd = -1;
}

ssize_t sy_file_read(struct sy_sources *sources, struct sy_file *file) {
    if (!file->path) {
        return -ENOENT;
    }
    if (file->fd < 0) {
        if (!sy_is_due(sources, &file->retry_ns, SY_SECOND_NS)) {
            return -ENOENT;
        }
        file->fd = open_path(sources, file->path);
        if (file->fd < 0) {
            return file->fd;
        }
    }
    ssize_t length = read_whole(sources, file->fd);
    if (length < 0) {
        close(file->fd);
        file->fd = -1;
        file->retry_ns = sources->now_ns;
    }
    return length;
}

ssize_t sy_file_text(struct sy_sources *sources, const char *path) {
    int fd = open_path(sources, path);
    if (fd < 0) {
        return fd;
    }
    ssize_t length = read_growing(sources, fd);
    close(fd);
    return length;
}

bool sy_file_exists(struct sy_sources *sources, const char *path) {
    int fd = open_path(sources, path);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0 || fd == -EACCES;
}

double sy_file_number(struct sy_sources *sources, const char *path) {
    ssize_t length = sy_file_text(sources, path);
    if (length <= 0) {
        return NAN;
    }
    const char *start = sources->buffer + strspn(sources->buffer, " \t\n");
    double value;
    return sy_parse_double(start, strcspn(start, " \t\n"), &value) ? value : NAN;
}

static int by_name(const void *a, const void *b) {
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

/* The folder twice: how many, then which. */
static uint32_t list(struct sy_sources *sources, DIR *folder, const char *prefix,
                     const char **names, uint32_t capacity) {
    uint32_t count = 0;
    rewinddir(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] != '.' && strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
            if (names && count < capacity) {
                names[count] = sy_text(sources, "%s", entry->d_name);
            }
            count++;
        }
    }
    return names && count > capacity ? capacity : count;
}

DIR *sy_folder_open(const struct sy_sources *sources, const char *path) {
    int fd = open_path(sources, path);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder && fd >= 0) {
        close(fd);
    }
    return folder;
}

uint32_t sy_folder_names(struct sy_sources *sources, const char *path, const char *prefix,
                         const char *const **ret_names) {
    DIR *folder = sy_folder_open(sources, path);
    *ret_names = NULL;
    if (!folder) {
        return 0;
    }
    uint32_t count = list(sources, folder, prefix, NULL, 0);
    const char **names = sy_memory(sources, count, sizeof *names);
    if (names) {
        count = list(sources, folder, prefix, names, count);
        qsort(names, count, sizeof *names, by_name);
        *ret_names = names;
    }
    closedir(folder);
    return names ? count : 0;
}

/* --- text --------------------------------------------------------------------------------------
 */
bool sy_scan_u64(const char **at, uint64_t *ret_value) {
    const char *start = *at + strspn(*at, " \t");
    size_t length = strspn(start, "0123456789");
    *at = start + length;
    return sy_parse_u64(start, length, ret_value);
}

bool sy_scan_key(const char *text, const char *key, uint64_t *ret_value) {
    size_t length = strlen(key);
    for (const char *line = text; line && *line;) {
        if (strncmp(line, key, length) == 0 && strchr(" \t=:", line[length])) {
            const char *at = line + length + strspn(line + length, " \t=:");
            return sy_scan_u64(&at, ret_value);
        }
        line = strchr(line, '\n');
        line += line != NULL;
    }
    return false;
}

uint32_t sy_scan_cpus(const char *text, bool *cpus) {
    uint32_t count = 0;
    for (const char *at = text;;) {
        uint64_t first, last;
        if (!sy_scan_u64(&at, &first)) {
            return count;
        }
        last = first;
        if (*at == '-') {
            at++;
            if (!sy_scan_u64(&at, &last)) {
                return count;
            }
        }
        for (uint64_t i = first; i <= last && i < SY_CPU_MAX; i++) {
            count += !cpus[i];
            cpus[i] = true;
        }
        if (*at != ',') {
            return count;
        }
        at++;
    }
}

/* --- the machine --------------------------------------------------------------------------------
 */
uint32_t sy_online_cpus(struct sy_sources *sources, const uint32_t **ret_cpus) {
    bool online[SY_CPU_MAX] = {false};
    uint32_t count = 0, next = 0;
    if (sy_file_text(sources, "/sys/devices/system/cpu/online") > 0) {
        count = sy_scan_cpus(sources->buffer, online);
    } else if (!sources->options.root) { /* a container without /sys */
        long number = sysconf(_SC_NPROCESSORS_ONLN);
        for (; count < (uint32_t)(number > 0 ? number : 1) && count < SY_CPU_MAX; count++) {
            online[count] = true;
        }
    }
    uint32_t *cpus = sy_memory(sources, count, sizeof *cpus);
    for (uint32_t i = 0; cpus && i < SY_CPU_MAX; i++) {
        if (online[i]) {
            cpus[next++] = i;
        }
    }
    *ret_cpus = cpus;
    return next;
}

uint32_t sy_package_of(struct sy_sources *sources, uint32_t cpu) {
    char path[SY_PATH_MAX];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/topology/physical_package_id", cpu);
    double package = sy_file_number(sources, path);
    return package >= 0 && package < SY_CPU_MAX ? (uint32_t)package : 0;
}
