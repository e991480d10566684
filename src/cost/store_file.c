/* SPDX-License-Identifier: Apache-2.0
 *
 * The store's file: found, read, and saved together with what others have saved.
 *
 * In: a folder and the machine's name. Out: FOLDER/MACHINE.models.csv. Invariants: the file is
 * replaced whole or not at all; who saves holds a lock from reading to replacing, so that two who
 * save at once lose nothing; a damaged file is kept beside, as .bad.
 */
#include "cost/store.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define BAD  ".bad"
#define LOCK ".lock"

/* Where models are kept if nobody says; failed or empty: nowhere. */
static void put_folder(const char *folder, struct sy_buffer *buffer) {
    const char *named = folder ? folder : getenv("SYMPH_MODELS");
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (named) {
        sy_buffer_printf(buffer, "%s", named);
    } else if (cache && cache[0] == '/') { /* the standard says to pass over others */
        sy_buffer_printf(buffer, "%s/symph/models", cache);
    } else if (home && home[0]) {
        sy_buffer_printf(buffer, "%s/.cache/symph/models", home);
    }
}

/* The path of a machine's file, malloc'ed; NULL: nothing is kept. */
static int locate(const char *folder, const char *machine, char **ret_path,
                  struct sy_error *error) {
    if (!machine[0] || machine[0] == '.' || strchr(machine, '/')) {
        return sy_fail(error, -EINVAL, "'%s' cannot name a machine's models", machine);
    }
    struct sy_buffer buffer = {0};
    put_folder(folder, &buffer);
    if (buffer.length > 0) {
        sy_buffer_printf(&buffer, "/%s.models.csv", machine);
    }
    if (buffer.failed) {
        sy_buffer_finish(&buffer);
        return sy_fail(error, -ENOMEM, "out of memory");
    }
    bool kept = buffer.length > 0;
    *ret_path = kept ? buffer.text : NULL;
    if (!kept) {
        sy_buffer_finish(&buffer);
    }
    return 0;
}

/* The path with a suffix, malloc'ed. */
static char *beside(const char *path, const char *suffix) {
    char *text = malloc(strlen(path) + strlen(suffix) + 1);
    if (text) {
        stpcpy(stpcpy(text, path), suffix);
    }
    return text;
}

/* 0 also if there is no file; *ret_damaged: it was set aside, error says why. */
static int merge_file(struct sy_store *store, bool *ret_damaged, struct sy_error *error) {
    char *text;
    size_t length;
    *ret_damaged = false;
    int code = sy_read_file(store->path, &text, &length, error);
    if (code) {
        return code == -ENOENT ? 0 : code;
    }
    code = sy_store_read_text(store, store->path, text, length, error);
    free(text);
    if (code != -EINVAL) {
        return code;
    }
    char *bad = beside(store->path, BAD);
    if (!bad) {
        return sy_fail(error, -ENOMEM, "out of memory");
    }
    code = rename(store->path, bad) < 0 ? -errno : 0;
    free(bad);
    if (code) {
        return sy_fail_at(error, code, store->path, 0, 0, "is damaged and cannot be set aside: %s",
                          strerror(-code));
    }
    *ret_damaged = true;
    return 0;
}

int sy_store_open(const char *folder, const char *machine, struct sy_store **ret_store,
                  char *ret_warning, size_t warning_size, struct sy_error *error) {
    struct sy_store *store;
    char *path = NULL;
    int code = locate(folder, machine, &path, error);
    if (code) {
        return code;
    }
    code = sy_store_create(&store);
    if (code) {
        free(path);
        return sy_fail(error, code, "out of memory");
    }
    store->path = path;
    bool damaged = false;
    struct sy_error found = {0};
    code = path ? merge_file(store, &damaged, &found) : 0;
    if (code == -ENOMEM) {
        sy_store_close(store);
        return sy_fail(error, code, "out of memory");
    }
    /* Times that cannot be read are measured anew: no reason not to run. */
    char why[512];
    if (warning_size > 0) {
        ret_warning[0] = '\0';
    }
    if (damaged) {
        snprintf(ret_warning, warning_size, "%s; set aside as " BAD ", what stood before is kept",
                 sy_error_format(&found, why, sizeof why));
    } else if (code) {
        snprintf(ret_warning, warning_size, "%s; starting without",
                 sy_error_format(&found, why, sizeof why));
    }
    *ret_store = store;
    return 0;
}

/* A file of its own, as the models' is replaced; closing gives the lock back. */
static int take_lock(const char *path, int *ret_fd) {
    char *name = beside(path, LOCK);
    if (!name) {
        return -ENOMEM;
    }
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666), code = fd < 0 ? -errno : 0;
    free(name);
    while (!code && flock(fd, LOCK_EX) < 0) {
        code = errno == EINTR ? 0 : -errno;
        if (code) {
            close(fd);
        }
    }
    if (!code) {
        *ret_fd = fd;
    }
    return code;
}

static bool has_news(const struct sy_store *store) {
    for (uint32_t i = 0; i < store->count; i++) {
        const struct sy_cell *cell = &store->entries[i]->cell;
        if (cell->sample_count != cell->saved_count) {
            return true;
        }
    }
    return store->cleared_all || store->cleared_count > 0;
}

static int merge_and_write(struct sy_store *store, struct sy_error *error) {
    for (uint32_t i = 0; i < store->count; i++) {
        store->entries[i]->seen = false;
    }
    bool damaged;
    int code = merge_file(store, &damaged, error);
    if (code) {
        return code;
    }
    if (!damaged) {
        sy_store_forget_unseen(store);
    }
    struct sy_buffer buffer = {0};
    sy_store_write_text(store, &buffer);
    code = buffer.failed ? sy_fail(error, -ENOMEM, "out of memory")
                         : sy_write_file(store->path, buffer.text, buffer.length, error);
    sy_buffer_finish(&buffer);
    return code;
}

int sy_store_save(struct sy_store *store, struct sy_error *error) {
    if (!store->path || !has_news(store)) {
        return 0;
    }
    int fd, code = sy_make_folders(store->path);
    code = code ? code : take_lock(store->path, &fd);
    if (code) {
        return sy_fail_at(error, code, store->path, 0, 0, "cannot save: %s", strerror(-code));
    }
    code = merge_and_write(store, error);
    close(fd);
    if (!code) {
        for (uint32_t i = 0; i < store->count; i++) {
            store->entries[i]->cell.saved_count = store->entries[i]->cell.sample_count;
        }
        store->cleared_all = false;
        store->cleared_count = 0;
    }
    return code;
}
