/* SPDX-License-Identifier: Apache-2.0
 *
 * folder: where files live that nobody named.
 *
 * In: the XDG variables, HOME, TMPDIR. Out: paths that no other user can redirect. Never knows:
 * what the files are for. Every folder that is used without having been named comes from here.
 */
#ifndef SY_BASE_FOLDER_H
#define SY_BASE_FOLDER_H

#include "base/base.h"

enum sy_folder {
    SY_FOLDER_CACHE, /* XDG_CACHE_HOME, else ~/.cache: can be made again */
    SY_FOLDER_STATE, /* XDG_STATE_HOME, else ~/.local/state */
};

/* The user's folder "symph/NAME" of a kind. By the XDG rules a variable that is empty or not an
 * absolute path counts as not set. The home folder itself must exist; below it, and for the
 * XDG variables, what is missing is made (mode 0700) if make is true. 0, or a negative errno and
 * why nothing can be kept: no home, not writable, or another user could change what lies there. */
SY_MUST_CHECK int sy_user_folder(enum sy_folder kind, const char *name, bool make, char *ret_path,
                                 size_t size, struct sy_error *error);

/* Whether only this user, and root, decide what an absolute path leads to, as far as it exists:
 * 0, or -EPERM and which part of it somebody else owns or may write. */
SY_MUST_CHECK int sy_folder_check(const char *path, struct sy_error *error);

/* A new folder of an unpredictable name for this user alone, in TMPDIR (if absolute) or /tmp. */
SY_MUST_CHECK int sy_temporary_folder(char *ret_path, size_t size, struct sy_error *error);
/* A folder and all in it. Links in it are removed, never followed. */
void sy_remove_folder(const char *path);

#endif
