/* SPDX-License-Identifier: Apache-2.0
 *
 * symph-bench: the program. Not installed: it is for those who change Symphony, not for its users.
 */
#include "symph-bench/bench.h"
#include <signal.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    setenv("HWLOC_HIDE_ERRORS", "2", 0); /* as in symph */
    signal(SIGXFSZ, SIG_IGN);
    return sy_bench_command(argc, argv);
}
