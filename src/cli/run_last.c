/* SPDX-License-Identifier: Apache-2.0
 *
 * run_last: where the record of the last run is kept, so that symph explain can ask for it.
 */
#include "cli/run.h"

#include <errno.h>
#include <stdlib.h>

int sy_run_last_path(char *buffer, size_t size) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int need;
    if (state && state[0] == '/') { /* the XDG rules ignore any other */
        need = snprintf(buffer, size, "%s/symph/runs/last.json", state);
    } else if (home && home[0]) {
        need = snprintf(buffer, size, "%s/.local/state/symph/runs/last.json", home);
    } else {
        return -ENOENT;
    }
    return need > 0 && (size_t)need < size ? 0 : -ENAMETOOLONG;
}
