/* SPDX-License-Identifier: Apache-2.0
 *
 * symph counters sources: what can be read here, what cannot, and what would help.
 *
 * In: arguments. Out: two tables, or one JSON object "symph-counters-sources-1". Invariant: what is
 * missing is no failure; only where nothing at all can be read the command fails.
 */
#include "base/json.h"
#include "cli/counters/commands.h"
#include "cli/table.h"

#include <errno.h>
#include <string.h>

struct args {
    struct sy_common_args common;
    const char *only, *group, *process;
};

#define AT(field) offsetof(struct args, field)

static const struct sy_option options[] = {
    {SY_OPTION_TEXT, "only", "SOURCES", AT(only),
     "try only these sources, separated by commas: perf, resctrl, rapl, psi, proc, process, "
     "cgroup, nvml, fpga"},
    {SY_OPTION_TEXT, "process", "PID", AT(process), "also try a process and its descendants"},
    {SY_OPTION_TEXT, "group", "CGROUP", AT(group),
     "also try a control group, given as its folder below /sys/fs/cgroup"},
    SY_OPTION_COMMON(struct args),
};

static const struct sy_command command = {
    .name = "counters sources",
    .usage = "[OPTION]...",
    .examples = "  symph counters sources\n"
                "  symph counters sources --only psi,proc --json\n"
                "  sudo symph counters sources",
    .about = "Tries every source of counters and lists what can be read on this machine. What "
             "cannot be read is listed with the reason and, if there is one, the remedy.",
    .options = options,
    .option_count = SY_COUNT(options),
};

static void put_scope(struct sy_table *table, const struct sy_counter *counter, uint32_t count) {
    enum sy_scope scope = counter->scope;
    bool process = strstr(counter->name, "process.") != NULL;
    const char *name = process ? "process" : sy_scope_name(scope);
    if (scope == SY_SCOPE_MACHINE || (scope == SY_SCOPE_GROUP && count == 1)) {
        sy_table_cell(table, "%s", name);
    } else {
        sy_table_cell(table, "%u %s%s", count, name, count == 1 ? "" : "s");
    }
}

/* The line of every counter that is the first of its kind. */
static void put_counters(struct sy_table *table, const struct sy_sources *sources) {
    uint32_t count, pmu_count;
    const struct sy_counter *counters = sy_sources_counters(sources, &count);
    const struct sy_pmu *pmus = sy_sources_pmus(sources, &pmu_count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t same = 0;
        bool first = true;
        for (uint32_t j = 0; j < count && first; j++) {
            bool alike = sy_counters_same(&counters[j], &counters[i]);
            first = !alike || j >= i;
            same += alike;
        }
        if (!first) {
            continue;
        }
        const struct sy_counter *counter = &counters[i];
        sy_table_cell(table, "%s|%s", counter->source, counter->event);
        put_scope(table, counter, same);
        sy_table_cell(table, "%s", counter->kind == SY_COUNTER_SHARE ? "share" : counter->unit);
        sy_table_cell(table, "%.2g %%", counter->noise_ratio * 100);
        if (counter->pmu == SY_PMU_NONE) {
            sy_table_cell(table, "always");
        } else {
            sy_table_cell(table, "%u at a time", pmus[counter->pmu].slots);
        }
    }
}

static int print_tables(const struct sy_sources *sources) {
    static const char *const headers[] = {"source", "counter", "of", "unit",
                                          "noise",  "counts",  NULL};
    struct sy_buffer buffer = {0};
    struct sy_table table;
    uint32_t count, gap_count;
    bool bold = sy_message_colour(stdout);
    (void)sy_sources_counters(sources, &count);
    const struct sy_gap *gaps = sy_sources_gaps(sources, &gap_count);
    sy_print(&buffer, "%u counter%s can be read here.\n\n", count, count == 1 ? "" : "s");
    sy_table_init(&table, headers, "llllrl");
    put_counters(&table, sources);
    sy_table_write(&table, 0, bold, &buffer);
    sy_table_legend("of: what is counted; noise: relative error of one reading; counts: always, or "
                    "in turn with other counters.",
                    0, &buffer);
    if (gap_count) {
        sy_print(&buffer, "\nCannot be read here:\n");
    }
    for (uint32_t i = 0; i < gap_count; i++) {
        sy_print(&buffer, "\n  %s: %s\n    why: %s\n", gaps[i].source, gaps[i].what,
                 gaps[i].reason);
        if (gaps[i].remedy[0]) {
            sy_print(&buffer, "    what would help: %s\n", gaps[i].remedy);
        }
    }
    return sy_output(&buffer);
}

static void put_json_counters(struct sy_json_writer *json, const struct sy_sources *sources) {
    static const char *const kinds[] = {"rate", "level", "share"};
    uint32_t count, pmu_count;
    const struct sy_counter *counters = sy_sources_counters(sources, &count);
    const struct sy_pmu *pmus = sy_sources_pmus(sources, &pmu_count);
    sy_json_open_member(json, "pmus", '[');
    for (uint32_t i = 0; i < pmu_count; i++) {
        sy_json_print(json, "{name: %s, slots: %u}", pmus[i].name, pmus[i].slots);
    }
    sy_json_print(json, "], counters: [");
    for (uint32_t i = 0; i < count; i++) {
        sy_json_print(json,
                      "{name: %s, source: %s, event: %s, kind: %s, unit: %s, scope: %s, index: %u, "
                      "noise_ratio: %g, pmu:",
                      counters[i].name, counters[i].source, counters[i].event,
                      kinds[counters[i].kind], counters[i].unit, sy_scope_name(counters[i].scope),
                      counters[i].scope_index, counters[i].noise_ratio);
        sy_json_put_string(json,
                           counters[i].pmu == SY_PMU_NONE ? NULL : pmus[counters[i].pmu].name);
        sy_json_close(json, '}');
    }
    sy_json_close(json, ']');
}

static int print_json(const struct sy_sources *sources, const struct sy_listing *listing) {
    struct sy_json_writer json = {.compact_from = 3};
    uint32_t gap_count;
    const struct sy_gap *gaps = sy_sources_gaps(sources, &gap_count);
    sy_json_print(&json, "{schema: %s, listing:", "symph-counters-sources-1");
    sy_json_put_string(&json, listing ? listing->name : NULL);
    put_json_counters(&json, sources);
    sy_json_open_member(&json, "missing", '[');
    for (uint32_t i = 0; i < gap_count; i++) {
        sy_json_print(&json, "{source: %s, what: %s, reason: %s, remedy: %s}", gaps[i].source,
                      gaps[i].what, gaps[i].reason, gaps[i].remedy);
    }
    sy_json_print(&json, "]}");
    return sy_output(&json.buffer);
}

/* This processor's listing; without one perf counts the kernel's generic events. */
static struct sy_listing *open_listing(bool quiet) {
    struct sy_error error = {0};
    struct sy_listing *listing = NULL;
    if (sy_listing_open(NULL, NULL, &listing, &error)) {
        char text[512];
        sy_message_note(quiet, "no listing of this processor's events: %s",
                        sy_error_format(&error, text, sizeof text));
    }
    return listing;
}

static int run_with(const struct args *args, const struct sy_listing *listing,
                    struct sy_arena *arena) {
    struct sy_sources_options wanted = {
        .only = args->only, .group = args->group, .listing = listing};
    struct sy_sources *sources;
    struct sy_error error = {0};
    int r = sy_counters_watched(args->group, args->process, &wanted.process);
    if (r != SY_EXIT_OK) {
        return r;
    }
    int code = listing ? sy_belief_wanted(listing, arena, &wanted.wanted) : 0;
    code =
        code ? sy_fail(&error, code, "out of memory") : sy_sources_open(&wanted, &sources, &error);
    if (code) {
        sy_message_error(&error);
        return code == -EINVAL ? SY_EXIT_USAGE : SY_EXIT_FAILED;
    }
    r = args->common.json ? print_json(sources, listing) : print_tables(sources);
    sy_sources_close(sources);
    return r;
}

int sy_counters_sources(int argc, char **argv) {
    struct args args = {0};
    int r = SY_EXIT_OK;
    if (!sy_options_parse(&command, argc, argv, &args, &r)) {
        return r;
    }
    struct sy_arena *arena = sy_arena_create();
    struct sy_listing *listing = open_listing(args.common.quiet);
    r = arena ? run_with(&args, listing, arena) : SY_EXIT_FAILED;
    sy_listing_destroy(listing);
    sy_arena_destroy(arena);
    return r;
}
