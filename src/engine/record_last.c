/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the record of the last run is kept, so that symph explain can ask for it: last.json in the
 * folder symph/runs of the user's state (base/folder.h).
 */
#include "base/folder.h"
#include "engine/engine.h"
#include <errno.h>
#include <limits.h>

static int path_of(bool make, char *buffer, size_t size, struct sy_error *error) {
    char folder[PATH_MAX];
    int code = sy_user_folder(SY_FOLDER_STATE, "runs", make, folder, sizeof(folder), error);
    if (!code && (size_t)snprintf(buffer, size, "%s/last.json", folder) >= size) {
        code = sy_fail_at(error, -ENAMETOOLONG, folder, 0, 0, "the path is too long");
    }
    return code;
}

int sy_last_path(char *buffer, size_t size, struct sy_error *error) {
    return path_of(false, buffer, size, error);
}

int sy_last_keep(const struct sy_buffer *text, struct sy_error *error) {
    char path[PATH_MAX];
    int code = path_of(true, path, sizeof(path), error);
    return code ? code : sy_write_file(path, text->text, text->length, error);
}
