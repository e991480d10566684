/* SPDX-License-Identifier: Apache-2.0
 *
 * symph tenants: who shares the devices of this machine, and what each has used.
 *
 * In: what the broker tells. Out: a table, or one JSON object "symph-tenants-1".
 */
#include "base/json.h"
#include "broker/broker.h"
#include "cli/cli.h"
#include "cli/table.h"

struct args {
    struct sy_common_args common;
    const char *path;
};

#define AT(field) offsetof(struct args, field)

static const struct sy_option options[] = {
    {SY_OPTION_TEXT, "socket", "FILE", AT(path),
     "where symph serve listens (default: where programs look for it)"},
    SY_OPTION_COMMON(struct args),
};

static const struct sy_command command = {
    .name = "tenants",
    .usage = "[OPTION]...",
    .examples = "  symph tenants\n"
                "  symph tenants --json | jq '.tenants[] | {tenant, device_s}'",
    .about = "Shows the tenants among whom symph serve shares the devices: how many programs each "
             "runs, how many devices it has and waits for now, and how much device time it has "
             "had. Only root and the user who runs the broker see other users' tenants.",
    .options = options,
    .option_count = SY_COUNT(options),
};

static void put_text(const struct sy_arbiter_tenant *rows, uint32_t count, struct sy_buffer *out) {
    static const char *const headers[] = {"tenant",    "weight",      "programs",    "has",
                                          "waits for", "device time", "longest wait"};
    struct sy_table table;
    sy_table_init(&table, headers, "lrrrrrr");
    for (uint32_t i = 0; i < count; i++) {
        const struct sy_arbiter_tenant *t = &rows[i];
        sy_table_cell(&table, "%s|%g|%u|%u|%u|%.2f s|%.1f ms", t->name, t->weight, t->clients,
                      t->held, t->waiting, t->used_s, t->longest_ms);
    }
    sy_table_write(&table, 0, sy_message_colour(stdout), out);
    sy_table_legend("has: devices that are leased to it now; longest wait: of a program for a "
                    "device.",
                    0, out);
}

static void put_json(const struct sy_arbiter_tenant *rows, uint32_t count, struct sy_buffer *out) {
    struct sy_json_writer writer = {.compact_from = 3};
    sy_json_print(&writer, "{schema: %s, tenants: [", "symph-tenants-1");
    for (uint32_t i = 0; i < count; i++) {
        const struct sy_arbiter_tenant *t = &rows[i];
        sy_json_print(&writer,
                      "{tenant: %s, weight: %g, programs: %u, held: %u, waiting: %u, "
                      "device_s: %g, longest_wait_ms: %g}",
                      t->name, t->weight, t->clients, t->held, t->waiting, t->used_s,
                      t->longest_ms);
    }
    sy_json_print(&writer, "]}");
    *out = writer.buffer;
}

static int run(void *given) {
    const struct args *args = given;
    struct sy_arbiter_tenant rows[SY_BROKER_ROWS];
    struct sy_error error = {0};
    struct sy_buffer out = {0};
    char path[256];
    uint32_t count = 0;
    int code = 0;
    if (args->path) {
        snprintf(path, sizeof path, "%s", args->path);
    } else {
        code = sy_lease_find(path, sizeof path, &error);
    }
    code = code ? code : sy_lease_tell(path, rows, &count, &error);
    if (code) {
        (void)sy_message_code(code, &error);
        return SY_EXIT_UNREACHABLE;
    }
    (args->common.json ? put_json : put_text)(rows, count, &out);
    return sy_output(&out);
}

int sy_cmd_tenants(int argc, char **argv) {
    struct args args = {0};
    return sy_options_run(&command, argc, argv, &args, run);
}
