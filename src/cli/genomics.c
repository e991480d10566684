/* SPDX-License-Identifier: Apache-2.0
 *
 * symph genomics: simulated samples, and the scoring of calls. Hands over to symph-genomics, a
 * program of its own because it needs htslib.
 */
#include "cli/cli.h"
#include "cli/program.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int sy_cmd_genomics(int argc, char **argv) {
    char path[4096];
    (void)argc;
    if (!sy_program_find("symph-genomics", "workloads/genomics", path, sizeof(path))) {
        sy_message_fail("there is no symph-genomics: htslib or libdeflate was not found when this "
                        "symph was built "
                        "(install libhts-dev, zlib1g-dev and libdeflate-dev and build again)");
        return SY_EXIT_FAILED;
    }
    execv(path, argv);
    sy_message_fail("cannot start %s: %s", path, strerror(errno));
    return SY_EXIT_FAILED;
}
