/* SPDX-License-Identifier: Apache-2.0
 *
 * The store's file: found, read, and saved together with what others have saved.
 *
 * In: a folder and the machine's name. Out: FOLDER/MACHINE.costs.csv. Invariants: the file is
 * replaced whole or not at all; who saves holds a lock from reading to replacing, so that two who
 * save at once lose nothing; a damaged file is kept beside, as .bad. Files of older formats are
 * part of it until they are in it.
 */
#include "base/folder.h"
#include "base/lock.h"
#include "cost/store.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BAD   ".bad"
#define COSTS ".costs.csv"

/* Times of tasks and of pipelines as they were once kept. */
static const char *const older[] = {".models.csv", ".times.csv"};

/* FOLDER/MACHINE.costs.csv; "": nowhere. -EINVAL: no name of a machine; else why the cache cannot
 * be used. */
static int find_place(const char *folder, const char *machine, char *ret_path, size_t size,
                      struct sy_error *error) {
    char own[PATH_MAX], here[64];
    sy_store_machine_name(here, sizeof here);
    machine = machine ? machine : here;
    const char *named = folder ? folder : getenv("SYMPH_MODELS");
    if (!machine[0] || machine[0] == '.' || strchr(machine, '/')) {
        return sy_fail(error, -EINVAL, "'%s' cannot name a machine's file of times", machine);
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
    if ((size_t)snprintf(ret_path, size, "%s/%s" COSTS, named, machine) >= size) {
        return sy_fail_at(error, -ENAMETOOLONG, named, 0, 0, "the path is too long");
    }
    return 0;
}

/* The folders of a path that find_place gave. The user's own are private. */
static int make_folders(const char *path) {
    char own[PATH_MAX];
    int code = sy_user_folder(SY_FOLDER_CACHE, "models", false, own, sizeof own, NULL);
    size_t length = code ? 0 : strlen(own);
    if (length && strncmp(path, own, length) == 0 && path[length] == '/') {
        return sy_user_folder(SY_FOLDER_CACHE, "models", true, own, sizeof own, NULL);
    }
    return sy_make_folders(path);
}

/* Makes the folders, too. Nobody is waited for longer than SY_LOCK_LIMIT_S. */
static int lock(const char *path, int *ret_fd, struct sy_error *error) {
    int code = make_folders(path);
    code = code ? code : sy_lock_file(path, SY_LOCK_LIMIT_S, ret_fd);
    if (code == -ETIMEDOUT) {
        return sy_fail_at(error, code, path, 0, 0,
                          "cannot save: another process has held its lock for %g s",
                          SY_LOCK_LIMIT_S);
    }
    return code ? sy_fail_at(error, code, path, 0, 0, "cannot save: %s", strerror(-code)) : 0;
}

/* PATH, or its sibling with another end than COSTS. */
static void name_file(const char *path, const char *end, char *ret_path) {
    size_t stem = strlen(path) - strlen(COSTS);
    snprintf(ret_path, PATH_MAX, "%.*s%s", (int)stem, path, end);
}

/* 0 also if there is no file, or if it is damaged: then it is set aside and error says why. */
static int read_one(struct sy_store *store, const char *path, bool *damaged,
                    struct sy_error *error) {
    struct sy_error why = {0};
    char *text, bad[PATH_MAX + sizeof BAD];
    size_t length;
    int code = sy_read_file(path, &text, &length, &why);
    if (code) {
        if (code != -ENOENT && error) {
            *error = why;
        }
        return code == -ENOENT ? 0 : code;
    }
    code = sy_store_read_text(store, path, text, length, false, &why);
    free(text);
    if (code && error) {
        *error = why;
    }
    if (code != -EINVAL) {
        return code;
    }
    snprintf(bad, sizeof bad, "%s" BAD, path);
    if (rename(path, bad) < 0) {
        return sy_fail_at(error, -errno, path, 0, 0, "is damaged and cannot be set aside: %s",
                          strerror(errno));
    }
    *damaged = true;
    return 0;
}

/* The newest last: what it says of a build counts. */
static int read_all(struct sy_store *store, const char *path, bool *damaged,
                    struct sy_error *error) {
    char name[PATH_MAX];
    int code = 0;
    for (size_t i = 0; i < SY_COUNT(older) && !code; i++) {
        name_file(path, older[i], name);
        code = read_one(store, name, damaged, error);
    }
    return code ? code : read_one(store, path, damaged, error);
}

int sy_store_open(const char *folder, const char *machine, bool empty, struct sy_store **ret_store,
                  char *ret_warning, size_t warning_size, struct sy_error *error) {
    char path[PATH_MAX] = "";
    struct sy_error found = {0};
    int placed = find_place(folder, machine, path, sizeof path, &found);
    if (placed == -EINVAL) {
        return sy_fail(error, placed, "%s", found.message);
    }
    struct sy_store *store = sy_store_create();
    bool damaged = false, kept = !placed && path[0];
    if (!store || (kept && !(store->path = strdup(path)))) {
        sy_store_close(store);
        return sy_out_of_memory(error);
    }
    int code = kept && !empty ? read_all(store, path, &damaged, &found) : 0;
    if (code == -ENOMEM) {
        sy_store_close(store);
        return sy_fail(error, code, "out of memory");
    }
    /* Times that cannot be read are measured anew: no reason not to run. */
    char why[512];
    sy_error_format(&found, why, sizeof why);
    if (placed) {
        snprintf(ret_warning, warning_size, "nothing is kept between runs: %s", why);
    } else {
        const char *outcome = damaged ? "; set aside as " BAD ", what stood before is kept"
                              : code  ? "; starting without"
                                      : "";
        snprintf(ret_warning, warning_size, "%s%s", outcome[0] ? why : "", outcome);
    }
    *ret_store = store;
    return 0;
}

static bool has_news(const struct sy_store *store) {
    for (uint32_t i = 0; i < store->count; i++) {
        if (store->cells[i]->sample_count != store->cells[i]->saved_count) {
            return true;
        }
    }
    return store->cleared_all || store->cleared_count > 0;
}

/* What the files hold, less what is to be forgotten, and what is new. */
static int gather(const struct sy_store *store, struct sy_store *all, struct sy_error *error) {
    bool damaged = false;
    int code = read_all(all, store->path, &damaged, error);
    if (code) {
        return code;
    }
    code = store->cleared_all ? sy_store_clear(all, NULL) : 0;
    for (uint32_t i = 0; i < store->cleared_count && !code; i++) {
        code = sy_store_clear(all, store->cleared[i]);
    }
    for (uint32_t i = 0; i < store->count && !code; i++) {
        const struct sy_cell *cell = store->cells[i];
        float times_ns[SY_CELL_SAMPLES];
        if (cell->sample_count > cell->saved_count) {
            const struct sy_cost_sample sample =
                sy_cell_sample(cell, cell->sample_count - cell->saved_count, times_ns);
            code = sy_store_add(all, &sample, false);
        }
    }
    return code ? sy_fail(error, code, "out of memory") : 0;
}

static int write_all(const struct sy_store *all, const char *path, struct sy_error *error) {
    struct sy_buffer buffer = {0};
    sy_store_write_text(all, &buffer);
    int code = buffer.failed ? sy_out_of_memory(error)
                             : sy_write_file(path, buffer.text, buffer.length, error);
    sy_buffer_finish(&buffer);
    for (size_t i = 0; i < SY_COUNT(older) && !code; i++) {
        char name[PATH_MAX];
        name_file(path, older[i], name);
        unlink(name); /* all of it is in the new one; without a right to remove it, it stays */
    }
    return code;
}

int sy_store_save(struct sy_store *store, struct sy_error *error) {
    if (!store->path || !has_news(store)) {
        return 0;
    }
    int fd, code = lock(store->path, &fd, error);
    if (code) {
        return code;
    }
    struct sy_store *all = sy_store_create();
    code = all ? gather(store, all, error) : sy_out_of_memory(error);
    code = code ? code : write_all(all, store->path, error);
    sy_store_close(all);
    close(fd);
    for (uint32_t i = 0; i < store->count && !code; i++) {
        store->cells[i]->saved_count = store->cells[i]->sample_count;
    }
    if (!code) {
        store->cleared_all = false;
        store->cleared_count = 0;
    }
    return code;
}
