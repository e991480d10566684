/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzes policies' names with any bytes.
 *
 * What is accepted says where its suffixes begin, inside the name; what is refused says why. Names
 * that lead to files are left out: what is in a file is other harnesses' business.
 */
#include "schedulers/policy.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_args(const char *text) {
    static const struct sy_policy_net net = {.kind = "symphony",
                                             .parts = SY_PART_BELIEF | SY_PART_PLANS};
    static const struct sy_scheduler_ops ops = {
        .name = "learned", .takes_number = true, .net = &net};
    struct policy_args args;
    struct sy_error error = {0};
    if (sy_policy_args(&ops, text, &args, &error)) {
        SY_ASSERT(error.message[0]);
        return;
    }
    SY_ASSERT(!(args.without & ~net.parts) && args.number <= 1000000000);
    SY_ASSERT(!args.weights || (args.weights_length && args.weights > text &&
                                args.weights + args.weights_length <= text + strlen(text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char name[512];
    size_t length = size < sizeof name ? size : sizeof name - 1;
    memcpy(name, data, length);
    name[length] = '\0';
    check_args(name + strcspn(name, "+:@~"));
    if (strchr(name, '@') || strstr(name, ".so")) {
        return 0;
    }
    struct sy_error error = {0};
    const char *args = NULL;
    const struct sy_scheduler_ops *ops = sy_scheduler_find(name, &args, &error);
    if (ops) {
        SY_ASSERT(args > name && args <= name + strlen(name));
    } else {
        SY_ASSERT(error.message[0]);
    }
    return 0;
}
