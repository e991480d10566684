/* SPDX-License-Identifier: Apache-2.0
 *
 * last: where the record of the last run is kept, so that symph explain can ask for it.
 */
#include "base/folder.h"
#include "cli/run/run.h"

#include <errno.h>
#include <limits.h>

int sy_run_last_path(bool make, char *buffer, size_t size, struct sy_error *error) {
    char folder[PATH_MAX];
    int code = sy_user_folder(SY_FOLDER_STATE, "runs", make, folder, sizeof(folder), error);
    if (!code && (size_t)snprintf(buffer, size, "%s/last.json", folder) >= size) {
        code = sy_fail_at(error, -ENAMETOOLONG, folder, 0, 0, "the path is too long");
    }
    return code;
}
