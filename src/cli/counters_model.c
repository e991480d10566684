/* SPDX-License-Identifier: Apache-2.0
 *
 * symph counters model: how the counters of a processor hang together.
 *
 * In: arguments. Out: an exit code. Invariant: says plainly that this part is not built yet.
 */
#include "cli/counters.h"

struct args {
    struct sy_common_args common;
};

static const struct sy_option options[] = {
    SY_OPTION_COMMON(struct args),
};

static const struct sy_command command = {
    .name = "counters model",
    .usage = "[OPTION]...",
    .examples = "  symph counters model",
    .options = options,
    .option_count = SY_COUNT(options),
};

static int run(const struct args *args) {
    (void)args;
    sy_message_fail("counters model is not built yet");
    return SY_EXIT_FAILED;
}

int sy_counters_model(int argc, char **argv) {
    struct args args = {0};
    int r = SY_EXIT_OK;
    if (sy_options_parse(&command, argc, argv, &args, &r)) {
        r = run(&args);
    }
    return r;
}
