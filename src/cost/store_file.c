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

static int set_aside(const char *path, struct sy_error *error) {
    char bad[PATH_MAX + sizeof BAD];
    snprintf(bad, sizeof bad, "%s" BAD, path);
    return rename(path, bad) < 0
               ? sy_fail_at(error, -errno, path, 0, 0, "is damaged and cannot be set aside: %s",
                            strerror(errno))
               : 0;
}

/* ret_text NULL: there is no file. */
static int load(const char *path, char **ret_text, size_t *ret_length, struct sy_error *error) {
    struct sy_error why = {0};
    int code = sy_read_file(path, ret_text, ret_length, &why);
    if (code) {
        *ret_text = NULL;
    }
    if (code && code != -ENOENT && error) {
        *error = why;
    }
    return code == -ENOENT ? 0 : code;
}

/* 0 also if it is damaged: then it is set aside and error says why. */
static int read_text(struct sy_store *store, const char *path, const char *text, size_t length,
                     bool *damaged, struct sy_error *error) {
    struct sy_error why = {0};
    int code = sy_store_read_text(store, path, text, length, false, &why);
    if (code && error) {
        *error = why;
    }
    if (code != -EINVAL) {
        return code;
    }
    code = set_aside(path, error);
    *damaged = !code;
    return code;
}

/* ret_found: there was one. */
static int read_older(struct sy_store *store, const char *path, bool *ret_found, bool *damaged,
                      struct sy_error *error) {
    char name[PATH_MAX], *text;
    size_t length;
    int code = 0;
    *ret_found = false;
    for (size_t i = 0; i < SY_COUNT(older) && !code; i++) {
        name_file(path, older[i], name);
        code = load(name, &text, &length, error);
        *ret_found |= text != NULL;
        code = text ? read_text(store, name, text, length, damaged, error) : code;
        free(text);
    }
    return code;
}

/* The newest last: what it says of a build counts. If asked, kernels that nobody has asked for stay
 * in store->parts, as far as the file is as we write it and nothing older is beside it. */
static int read_all(struct sy_store *store, const char *path, bool asked, bool *damaged,
                    struct sy_error *error) {
    bool found;
    char *text = NULL;
    size_t length = 0;
    int code = read_older(store, path, &found, damaged, error);
    code = code ? code : load(path, &text, &length, error);
    if (code || !text) {
        return code;
    }
    struct sy_parts *parts = NULL;
    code = asked && !found ? sy_parts_open(store, path, text, length, &parts) : -EINVAL;
    if (!code) {
        store->parts = parts;
        return 0;
    }
    if (code == -EINVAL) {
        code = read_text(store, path, text, length, damaged, error);
    }
    free(text);
    return code;
}

int sy_store_open(const char *folder, const char *machine, enum sy_store_reading reading,
                  struct sy_store **ret_store, char *ret_warning, size_t warning_size,
                  struct sy_error *error) {
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
    int code = kept && reading != SY_STORE_NONE
                   ? read_all(store, path, reading == SY_STORE_ASKED, &damaged, &found)
                   : 0;
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

static int forget(const struct sy_store *store, struct sy_store *all) {
    int code = store->cleared_all ? sy_store_clear(all, NULL) : 0;
    if (!code && store->cleared_all && all->parts) {
        code = sy_parts_drop(all->parts, NULL);
    }
    for (uint32_t i = 0; i < store->cleared_count && !code; i++) {
        code = sy_store_clear(all, store->cleared[i]);
        if (!code && all->parts) {
            code = sy_parts_drop(all->parts, store->cleared[i]);
        }
    }
    return code;
}

/* Of what is worth keeping. The others would not be kept beside them in the file either. */
static int add_news(const struct sy_group *group, struct sy_store *all) {
    const struct sy_cell **cells;
    uint32_t count;
    int code = sy_group_select(group, &cells, &count);
    if (code) {
        return code;
    }
    for (uint32_t i = 0; i < count && !code; i++) {
        const struct sy_cell *cell = cells[i];
        float times_ns[SY_CELL_SAMPLES];
        if (cell->sample_count > cell->saved_count) {
            const struct sy_cost_sample sample =
                sy_cell_sample(cell, cell->sample_count - cell->saved_count, times_ns);
            code = sy_store_add(all, &sample, false);
        }
    }
    free(cells);
    return code;
}

/* What the files hold, less what is to be forgotten, and what is new. Parts of kernels that are not
 * new stay as they are, unless there is too much of them. */
static int gather(const struct sy_store *store, struct sy_store *all, struct sy_error *error) {
    bool damaged = false;
    int code = read_all(all, store->path, true, &damaged, error);
    if (code) {
        return code;
    }
    code = forget(store, all);
    for (uint32_t i = 0; i < store->group_count && !code; i++) {
        for (const struct sy_group *group = store->group_list[i]; group && !code;
             group = group->next) {
            code = add_news(group, all);
        }
    }
    if (!code && all->parts) {
        bool fit = sy_parts_fit(all->parts, all);
        code = sy_parts_read_all(all, all->parts, fit ? SY_KEPT_CELLS + 1 : 0);
    }
    return code ? sy_fail(error, code, "out of memory") : 0;
}

/* Parts that nobody touched come first: they are the oldest. */
static int write_all(const struct sy_store *all, const char *path, struct sy_error *error) {
    struct sy_buffer buffer = {0}, cells = {0};
    sy_costs_write(&buffer, all->costs, all->cost_count, NULL);
    sy_store_write_cells(all, &cells);
    if (all->parts) {
        sy_parts_write(all->parts, cells.length < SY_KEPT_BYTES ? SY_KEPT_BYTES - cells.length : 0,
                       &buffer);
    }
    sy_buffer_append(&buffer, cells.text ? cells.text : "", cells.length);
    int code = buffer.failed || cells.failed
                   ? sy_out_of_memory(error)
                   : sy_write_file(path, buffer.text, buffer.length, error);
    sy_buffer_finish(&buffer);
    sy_buffer_finish(&cells);
    for (size_t i = 0; i < SY_COUNT(older) && !code; i++) {
        char name[PATH_MAX];
        name_file(path, older[i], name);
        unlink(name); /* all of it is in the new one; without a right to remove it, it stays */
    }
    return code;
}

/* A damaged file, of which parts are still good, is set aside before it is replaced. */
static int replace(const struct sy_store *store, const struct sy_store *all,
                   struct sy_error *error) {
    const struct sy_error *then = sy_parts_damage(store->parts), *now = sy_parts_damage(all->parts);
    int code = now ? set_aside(store->path, error) : 0;
    code = code ? code : write_all(all, store->path, error);
    if (!code && error && (now || then)) {
        *error = *(now ? now : then);
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
    code = code ? code : replace(store, all, error);
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
