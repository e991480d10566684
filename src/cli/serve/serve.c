/* SPDX-License-Identifier: Apache-2.0
 *
 * symph serve: the broker, which shares the devices of this machine between programs.
 *
 * In: weights of tenants, where to listen. Out: leases, until it is told to stop. Never knows: what
 * the programs do. Its end is no harm to them: they go on as if it had never been.
 */
#include "cli/cli.h"
#include "service/service.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MS 500 /* how often signals are looked for */

struct args {
    struct sy_common_args common;
    const char *path;
    double quantum_s, core_quantum_s, grace_s;
    struct sy_text_list weights;
};

#define AT(field) offsetof(struct args, field)

static const struct sy_option options[] = {
    {SY_OPTION_TEXT, "socket", "FILE", AT(path),
     "where to listen (default: /run/symph/broker.sock as root, else "
     "$XDG_RUNTIME_DIR/symph/broker.sock)"},
    {SY_OPTION_REPEAT, "weight", "TENANT=W", AT(weights),
     "the share of a tenant, compared with those of others (default 1); may be repeated"},
    {SY_OPTION_TIME, "quantum", "T", AT(quantum_s),
     "how long an accelerator stays with a program while others wait (default 5ms)", 1e-4, 10},
    {SY_OPTION_TIME, "core-quantum", "T", AT(core_quantum_s),
     "how long a core does, where shares are not whole cores (default 100ms)", 1e-3, 10},
    {SY_OPTION_TIME, "grace", "T", AT(grace_s),
     "how long a task may go on beyond that before the next program gets the device, too (default "
     "2s)",
     1e-3, 3600},
    SY_OPTION_COMMON(struct args),
};

static const struct sy_command command = {
    .name = "serve",
    .usage = "[OPTION]...",
    .examples = "  symph serve &\n"
                "  SYMPH_TENANT=alice symph run linalg:cholesky:n=8192,tile=512\n"
                "  SYMPH_TENANT=bob symph starpu -- ./program\n"
                "  symph tenants",
    .about = "Shares the cores and accelerators of this machine between programs that run under "
             "policies of symph: engines of symph run, and StarPU programs that symph starpu has "
             "started. Each finds it by itself. A device that only one of them wants is his; else "
             "tenants get device time by their weights, and devices change hands between two "
             "tasks. Runs until Ctrl-C; programs then go on alone.",
    .options = options,
    .option_count = SY_COUNT(options),
};

/* "alice=3" into its parts; the text is ours. */
static bool split_weight(char *text, struct sy_service_weight *ret_weight) {
    char *equals = strrchr(text, '=');
    if (!equals || equals == text || equals - text >= (ptrdiff_t)SY_BROKER_NAME ||
        !sy_parse_double(equals + 1, strlen(equals + 1), &ret_weight->weight) ||
        ret_weight->weight < 1e-3 || ret_weight->weight > 1e6) {
        return false;
    }
    *equals = '\0';
    ret_weight->tenant = text;
    return true;
}

static int serve(const struct args *args, const struct sy_service_options *settings) {
    struct sy_service *service = NULL;
    struct sy_error error = {0};
    int code = sy_service_open(settings, &service, &error);
    if (code) {
        (void)sy_message_code(code, &error);
        return SY_EXIT_FAILED;
    }
    sy_message_note(args->common.quiet, "sharing the devices of this machine at %s; Ctrl-C ends it",
                    settings->path);
    while (!code && !sy_interrupt_seen()) {
        code = sy_service_step(service, LOOK_MS);
    }
    sy_service_close(service);
    if (code) {
        sy_message_fail("cannot wait for programs: %s", strerror(-code));
    }
    return code ? SY_EXIT_FAILED : SY_EXIT_OK;
}

/* The folder of the default socket is made, and only its owner may change what lies there. */
static int default_path(char *path, size_t size) {
    struct sy_error error = {0};
    int code = sy_lease_own_path(path, size, &error);
    if (!code && sy_make_folders(path)) {
        code = sy_fail(&error, -errno, "%s: its folder cannot be made", path);
    }
    return sy_message_code(code, &error);
}

static int run(void *given) {
    const struct args *args = given;
    char path[256];
    uint32_t count = args->weights.count;
    struct sy_service_weight *weights = sy_need(calloc(count + 1u, sizeof *weights));
    char **texts = sy_need(calloc(count + 1u, sizeof *texts));
    int r = SY_EXIT_OK;
    for (uint32_t i = 0; i < count && r == SY_EXIT_OK; i++) {
        texts[i] = sy_need(strdup(args->weights.items[i]));
        if (!split_weight(texts[i], &weights[i])) {
            r = sy_options_usage(&command, "--weight takes TENANT=W, such as alice=3, not '%s'",
                                 args->weights.items[i]);
        }
    }
    if (r == SY_EXIT_OK && !args->path) {
        r = default_path(path, sizeof path);
    }
    if (r == SY_EXIT_OK) {
        sy_interrupt_watch_quietly();
        r = serve(args, &(struct sy_service_options){.path = args->path ? args->path : path,
                                                     .quantum_s = args->quantum_s,
                                                     .core_quantum_s = args->core_quantum_s,
                                                     .grace_s = args->grace_s,
                                                     .weights = weights,
                                                     .weight_count = count});
    }
    for (uint32_t i = 0; i < count; i++) {
        free(texts[i]);
    }
    free(texts);
    free(weights);
    return r;
}

int sy_cmd_serve(int argc, char **argv) {
    struct args args = {.quantum_s = 5e-3, .core_quantum_s = 0.1, .grace_s = 2};
    return sy_options_run(&command, argc, argv, &args, run);
}
