/* SPDX-License-Identifier: Apache-2.0
 *
 * The store's file: found, read, and saved together with what others have saved.
 *
 * In: a folder and the machine's name. Out: FOLDER/MACHINE.models.csv. Invariants: the file is
 * replaced whole or not at all; who saves holds a lock from reading to replacing, so that two who
 * save at once lose nothing; a damaged file is kept beside, as .bad.
 */
#include "base/folder.h"
#include "cost/store.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BAD    ".bad"
#define MODELS ".models.csv"

int sy_store_place(const char *folder, const char *machine, const char *end, char *ret_path,
                   size_t size, struct sy_error *error) {
    char own[PATH_MAX];
    const char *named = folder ? folder : getenv("SYMPH_MODELS");
    if (!machine[0] || machine[0] == '.' || strchr(machine, '/')) {
        return sy_fail(error, -EINVAL, "'%s' cannot name a machine's models", machine);
    }
    int code = named ? 0 : sy_user_folder(SY_FOLDER_CACHE, "models", false, own, sizeof own, error);
    if (code) {
        return code;
    }
    named = named ? named : own;
    if (!named[0]) {
        ret_path[0] = '\0';
        return 0;
    }
    if ((size_t)snprintf(ret_path, size, "%s/%s%s", named, machine, end) >= size) {
        return sy_fail_at(error, -ENAMETOOLONG, named, 0, 0, "the path is too long");
    }
    return 0;
}

/* The folders of a path that sy_store_place gave. The user's own are private. */
static int make_folders(const char *path) {
    char own[PATH_MAX];
    int code = sy_user_folder(SY_FOLDER_CACHE, "models", false, own, sizeof own, NULL);
    size_t length = code ? 0 : strlen(own);
    if (length && strncmp(path, own, length) == 0 && path[length] == '/') {
        return sy_user_folder(SY_FOLDER_CACHE, "models", true, own, sizeof own, NULL);
    }
    return sy_make_folders(path);
}

int sy_store_lock(const char *path, int *ret_fd, struct sy_error *error) {
    int code = make_folders(path);
    code = code ? code : sy_lock_file(path, SY_LOCK_LIMIT_S, ret_fd);
    if (code == -ETIMEDOUT) {
        return sy_fail_at(error, code, path, 0, 0,
                          "cannot save: another process has held its lock for %g s",
                          SY_LOCK_LIMIT_S);
    }
    return code ? sy_fail_at(error, code, path, 0, 0, "cannot save: %s", strerror(-code)) : 0;
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
    char path[PATH_MAX] = "";
    struct sy_error found = {0};
    int placed = sy_store_place(folder, machine, MODELS, path, sizeof path, &found);
    if (placed == -EINVAL) {
        return sy_fail(error, placed, "%s", found.message);
    }
    if (sy_store_create(&store) < 0) {
        return sy_fail(error, -ENOMEM, "out of memory");
    }
    bool damaged = false, kept = !placed && path[0];
    store->path = kept ? strdup(path) : NULL;
    int code = store->path || !kept ? 0 : -ENOMEM;
    code = !code && kept ? merge_file(store, &damaged, &found) : code;
    if (code == -ENOMEM) {
        sy_store_close(store);
        return sy_fail(error, code, "out of memory");
    }
    /* Times that cannot be read are measured anew: no reason not to run. */
    char why[512];
    if (warning_size > 0) {
        ret_warning[0] = '\0';
    }
    if (placed) {
        snprintf(ret_warning, warning_size, "nothing is kept between runs: %s",
                 sy_error_format(&found, why, sizeof why));
    } else if (damaged) {
        snprintf(ret_warning, warning_size, "%s; set aside as " BAD ", what stood before is kept",
                 sy_error_format(&found, why, sizeof why));
    } else if (code) {
        snprintf(ret_warning, warning_size, "%s; starting without",
                 sy_error_format(&found, why, sizeof why));
    }
    *ret_store = store;
    return 0;
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
    int fd, code = sy_store_lock(store->path, &fd, error);
    if (code) {
        return code;
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
