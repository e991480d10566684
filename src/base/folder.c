/* SPDX-License-Identifier: Apache-2.0
 *
 * Where files live that nobody named.
 *
 * A path is safe if nobody but this user and root can change what it leads to: every folder on the
 * way belongs to one of them and is not writable by others, or is sticky (/tmp), where others can
 * add names but not replace ours; every link on the way belongs to one of them. The last folder
 * must not be writable by others even if sticky: they could put files of our names there.
 */
#include "base/folder.h"
#include <errno.h>
#include <ftw.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINK_MAX_COUNT 40   /* as the kernel's own limit */
#define NAME_BYTES     8192 /* for the entries of a user and a group */
#define REMOVE_FDS     16

/* --- who may change it --------------------------------------------------------------------------
 */
/* Debian and others give every user a group of their own; with umask 002 folders are writable for
 * it, and that lets nobody else in. */
static bool is_own_group(gid_t group) {
    struct passwd user, *found_user = NULL;
    struct group entry, *found = NULL;
    char names[NAME_BYTES], members[NAME_BYTES];
    if (getpwuid_r(geteuid(), &user, names, sizeof names, &found_user) || !found_user ||
        getgrgid_r(group, &entry, members, sizeof members, &found) || !found ||
        user.pw_gid != group || strcmp(entry.gr_name, user.pw_name) != 0) {
        return false;
    }
    for (char **member = entry.gr_mem; *member; member++) {
        if (strcmp(*member, user.pw_name) != 0) {
            return false;
        }
    }
    return true;
}

static int refuse(struct sy_error *error, const char *path, const char *why) {
    sy_fail_at(error, -EPERM, path, 0, 0, "%s", why);
    sy_hint(error, "XDG_CACHE_HOME and XDG_STATE_HOME name other folders");
    return -EPERM;
}

static int check_owner(const char *path, const struct stat *info, struct sy_error *error) {
    char why[80];
    if (info->st_uid == 0 || info->st_uid == geteuid()) {
        return 0;
    }
    snprintf(why, sizeof why, "belongs to another user (%lu)", (unsigned long)info->st_uid);
    return refuse(error, path, why);
}

static int check_mode(const char *path, const struct stat *info, bool last,
                      struct sy_error *error) {
    mode_t others = info->st_mode & (S_IWGRP | S_IWOTH);
    if (others == S_IWGRP && is_own_group(info->st_gid)) {
        others = 0;
    }
    if (!others || (!last && (info->st_mode & S_ISVTX))) {
        return 0;
    }
    return refuse(error, path, "can be written by other users");
}

/* --- walking a path -----------------------------------------------------------------------------
 */
struct walk {
    char done[PATH_MAX]; /* what was checked, without links; "" is the root */
    char rest[PATH_MAX]; /* what is still to be checked */
    uint32_t links;
};

/* Takes the next name off the rest; false: there is none. */
static bool next_name(struct walk *walk, char *name, size_t size) {
    char *at = walk->rest + strspn(walk->rest, "/");
    size_t length = strcspn(at, "/");
    snprintf(name, size, "%.*s", (int)length, at);
    memmove(walk->rest, at + length, strlen(at + length) + 1);
    return length > 0;
}

/* The link's target takes its place in what is still to be checked. */
static int follow(struct walk *walk, const char *path, struct sy_error *error) {
    char target[PATH_MAX], all[2 * PATH_MAX];
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0 || ++walk->links > LINK_MAX_COUNT) {
        int code = length < 0 ? -errno : -ELOOP;
        return sy_fail_at(error, code, path, 0, 0, "%s", strerror(-code));
    }
    target[length] = '\0';
    if (target[0] == '/') {
        walk->done[0] = '\0';
    }
    snprintf(all, sizeof all, "%s/%s", target, walk->rest);
    if (strlen(all) >= sizeof walk->rest) {
        return sy_fail_at(error, -ENAMETOOLONG, path, 0, 0, "%s", strerror(ENAMETOOLONG));
    }
    memcpy(walk->rest, all, strlen(all) + 1);
    return 0;
}

static bool is_last(const struct walk *walk) {
    return !walk->rest[strspn(walk->rest, "/")];
}

/* One name. 1: it is not there, and so nothing behind it. */
static int step(struct walk *walk, const char *name, struct sy_error *error) {
    char path[2 * PATH_MAX];
    struct stat info;
    if (strcmp(name, ".") == 0) {
        return 0;
    }
    if (strcmp(name, "..") == 0) {
        char *slash = strrchr(walk->done, '/');
        *(slash ? slash : walk->done) = '\0';
        return 0;
    }
    snprintf(path, sizeof path, "%s/%s", walk->done, name);
    if (strlen(path) >= sizeof walk->done) {
        return sy_fail_at(error, -ENAMETOOLONG, path, 0, 0, "%s", strerror(ENAMETOOLONG));
    }
    if (lstat(path, &info) < 0) {
        int code = -errno;
        return code == -ENOENT ? 1 : sy_fail_at(error, code, path, 0, 0, "%s", strerror(-code));
    }
    int code = check_owner(path, &info, error);
    if (code || S_ISLNK(info.st_mode)) {
        return code ? code : follow(walk, path, error);
    }
    if (!S_ISDIR(info.st_mode)) {
        return sy_fail_at(error, -ENOTDIR, path, 0, 0, "is not a folder");
    }
    memcpy(walk->done, path, strlen(path) + 1);
    return check_mode(path, &info, is_last(walk), error);
}

int sy_folder_check(const char *path, struct sy_error *error) {
    struct walk walk = {.links = 0};
    char name[PATH_MAX];
    if (path[0] != '/' || strlen(path) >= sizeof walk.rest) {
        return sy_fail_at(error, -EINVAL, path, 0, 0, "is not an absolute path");
    }
    memcpy(walk.rest, path, strlen(path) + 1);
    int code = 0;
    while (!code && next_name(&walk, name, sizeof name)) {
        code = step(&walk, name, error);
    }
    return code < 0 ? code : 0;
}

/* --- the user's folders -------------------------------------------------------------------------
 */
static const char *absolute(const char *variable) {
    const char *value = getenv(variable);
    return value && value[0] == '/' ? value : NULL;
}

/* The folder that a kind's are in, and how much of it must exist already. */
static int find_base(enum sy_folder kind, char *path, size_t size, size_t *ret_given,
                     struct sy_error *error) {
    static const char *const variables[] = {"XDG_CACHE_HOME", "XDG_STATE_HOME"};
    static const char *const below_home[] = {"/.cache", "/.local/state"};
    const char *given = absolute(variables[kind]), *home = given ? NULL : absolute("HOME");
    struct stat info;
    if (!given && !home) {
        return sy_fail(error, -ENOENT, "HOME is not set");
    }
    if (home && (stat(home, &info) < 0 || !S_ISDIR(info.st_mode))) {
        return sy_fail_at(error, -ENOENT, home, 0, 0, "the home folder does not exist");
    }
    snprintf(path, size, "%s%s", given ? given : home, given ? "" : below_home[kind]);
    *ret_given = given ? 1 : strlen(home);
    return 0;
}

/* Folders that are missing in path[given..], private ones. */
static int make_below(char *path, size_t given, struct sy_error *error) {
    int code = 0;
    for (char *at = path + given; !code && *at; at++) {
        char *end = at + strcspn(at, "/");
        char was = *end;
        *end = '\0';
        if (end > at && mkdir(path, 0700) < 0 && errno != EEXIST) {
            code = -errno;
            /* A read-only parent refuses before it looks whether the folder is there. */
            code = access(path, F_OK) == 0 ? 0 : code;
        }
        if (code) {
            sy_fail_at(error, code, path, 0, 0, "cannot be made: %s", strerror(-code));
        }
        *end = was;
        at = was ? end : end - 1;
    }
    return code;
}

int sy_user_folder(enum sy_folder kind, const char *name, bool make, char *ret_path, size_t size,
                   struct sy_error *error) {
    char base[PATH_MAX], path[PATH_MAX];
    size_t given = 0;
    int code = find_base(kind, base, sizeof base, &given, error);
    if (code) {
        return code;
    }
    int length = snprintf(path, sizeof path, "%s/symph/%s", base, name);
    if (length < 0 || (size_t)length >= sizeof path || (size_t)length >= size) {
        return sy_fail_at(error, -ENAMETOOLONG, base, 0, 0, "the path is too long");
    }
    /* First what is there: nothing is made in a place that is not ours. */
    code = sy_folder_check(path, error);
    if (!code && make) {
        code = make_below(path, given, error);
        code = code ? code : sy_folder_check(path, error);
    }
    if (!code && make && access(path, W_OK) < 0) {
        code = sy_fail_at(error, -errno, path, 0, 0, "cannot be written: %s", strerror(errno));
    }
    if (!code) {
        memcpy(ret_path, path, (size_t)length + 1);
    }
    return code;
}

int sy_cache_folder(const char *name, char *ret_path, size_t size) {
    return sy_user_folder(SY_FOLDER_CACHE, name, true, ret_path, size, NULL);
}

/* --- temporary folders --------------------------------------------------------------------------
 */
int sy_temporary_folder(char *ret_path, size_t size, struct sy_error *error) {
    const char *base = absolute("TMPDIR");
    base = base ? base : "/tmp";
    int length = snprintf(ret_path, size, "%s/symph-XXXXXX", base);
    if (length < 0 || (size_t)length >= size) {
        return sy_fail_at(error, -ENAMETOOLONG, base, 0, 0, "the path is too long");
    }
    if (!mkdtemp(ret_path)) {
        int code = -errno;
        sy_fail_at(error, code, base, 0, 0, "no temporary folder can be made in it: %s",
                   strerror(-code));
        sy_hint(error, "set TMPDIR to a folder that can be written");
        return code;
    }
    return 0;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where) {
    (void)info;
    (void)kind;
    (void)where;
    remove(path);
    return 0;
}

void sy_remove_folder(const char *path) {
    nftw(path, remove_one, REMOVE_FDS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
