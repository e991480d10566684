/* SPDX-License-Identifier: Apache-2.0
 *
 * symph counters listing: what the makers of processors say can be counted.
 *
 * In: compact listings, or a Linux tree to make them from. Out: tables, or one JSON object
 * "symph-counters-listing-1". Invariant: what is shown was read from the same files that the belief
 * is built from.
 */
#include "listing/listing.h"
#include "base/json.h"
#include "cli/counters/commands.h"
#include "cli/table.h"
#include <errno.h>
#include <string.h>

struct args {
    struct sy_common_args common;
    const char *arch, *folder, *compile, *out, *source, *processor;
    bool events, metrics;
};

#define AT(field) offsetof(struct args, field)

static const struct sy_option options[] = {
    {SY_OPTION_TEXT, "arch", "NAME", AT(arch),
     "only this micro-architecture and its PMUs; \"own\": that of this processor"},
    {SY_OPTION_FLAG, "events", NULL, AT(events), "with --arch: list every event and its encoding"},
    {SY_OPTION_FLAG, "metrics", NULL, AT(metrics),
     "with --arch: list every metric and its formula"},
    {SY_OPTION_TEXT, "processor", "ID", AT(processor),
     "find the micro-architecture of this processor: GenuineIntel-6-8F-8, an Arm MIDR, a POWER "
     "PVR"},
    {SY_OPTION_TEXT, "listings", "FOLDER", AT(folder),
     "where the listings are (default: those installed)"},
    {SY_OPTION_HEADING, .help = "Making listings"},
    {SY_OPTION_TEXT, "compile", "TREE", AT(compile),
     "create listings from the pmu-events of this Linux source tree; with --arch only that one"},
    {SY_OPTION_TEXT, "out", "FOLDER", AT(out), "with --compile: write the listings to this folder"},
    {SY_OPTION_TEXT, "source", "TEXT", AT(source),
     "with --compile: text that says where the events come from"},
    SY_OPTION_COMMON(struct args),
};

static const struct sy_command command = {
    .name = "counters listing",
    .usage = "[OPTION]...",
    .examples = "  symph counters listing\n"
                "  symph counters listing --arch own\n"
                "  symph counters listing --arch skylakex --metrics\n"
                "  symph counters listing --compile linux-6.12 --out listings",
    .about = "Lists the events that the performance counters of each micro-architecture can "
             "count, and the metrics that the vendor derives from them.",
    .options = options,
    .option_count = SY_COUNT(options),
};

struct counts {
    uint32_t core, uncore, bounded, deprecated;
};

static bool is_core(const char *unit) {
    return strncmp(unit, "cpu", 3) == 0;
}

static struct counts count(const struct sy_listing *listing) {
    struct counts counts = {0};
    for (uint32_t i = 0; i < listing->listed_count; i++) {
        bool core = is_core(listing->events[i].unit);
        counts.core += core;
        counts.uncore += !core;
        counts.deprecated += listing->events[i].deprecated;
    }
    for (uint32_t i = 0; i < listing->metric_count; i++) {
        counts.bounded += listing->metrics[i].bounded;
    }
    return counts;
}

/* --- tables ----------------------------------------------------------------------------------- */
static const char *const arch_headers[] = {
    "micro-architecture", "events", "core", "uncore", "metrics", "shares", "PMUs", ""};

static void put_arch(struct sy_table *table, const struct sy_listing *listing, const char *own) {
    struct counts counts = count(listing);
    sy_table_cell(table, "%s|%u|%u|%u|%u|%u|%u|%s", listing->name, listing->listed_count,
                  counts.core, counts.uncore, listing->metric_count, counts.bounded,
                  listing->unit_count,
                  own && strcmp(own, listing->name) == 0 ? "this processor" : "");
}

static void put_units(const struct sy_listing *listing, struct sy_buffer *text) {
    struct sy_table table;
    sy_table_init(&table, (const char *const[]){"PMU", "events", "counters", "fixed"}, "lrrr");
    for (uint32_t i = 0; i < listing->unit_count; i++) {
        const struct sy_unit *unit = &listing->units[i];
        uint32_t events = 0;
        for (uint32_t j = 0; j < listing->listed_count; j++) {
            events += strcmp(listing->events[j].unit, unit->name) == 0;
        }
        sy_table_cell(&table, "%s|%u", unit->name, events);
        sy_table_cell(&table, unit->counters ? "%u" : "-", unit->counters);
        sy_table_cell(&table, unit->counters || unit->fixed_counters ? "%u" : "-",
                      unit->fixed_counters);
    }
    sy_table_write(&table, 0, sy_message_colour(stdout), text);
    sy_table_legend("counters: programmable counters of one unit; fixed: counters that always "
                    "count the same event.",
                    0, text);
}

static void put_events(const struct sy_listing *listing, struct sy_buffer *text) {
    struct sy_table table;
    sy_table_init(&table, (const char *const[]){"event", "PMU", "encoding", ""}, "llll");
    for (uint32_t i = 0; i < listing->listed_count; i++) {
        const struct sy_event *event = &listing->events[i];
        sy_table_cell(&table, "%s|%s|%s|%s%s", event->name, event->unit, event->encoding,
                      event->fixed ? "fixed " : "", event->deprecated ? "deprecated" : "");
    }
    sy_table_write(&table, 0, sy_message_colour(stdout), text);
}

static void put_metrics(const struct sy_listing *listing, struct sy_buffer *text) {
    struct sy_table table;
    sy_table_init(&table, (const char *const[]){"metric", "PMU", "unit", "expression"}, "llll");
    for (uint32_t i = 0; i < listing->metric_count; i++) {
        const struct sy_metric *metric = &listing->metrics[i];
        sy_table_cell(&table, "%s|%s|%s|%s", metric->name, metric->unit,
                      metric->scale_unit[0] ? metric->scale_unit : "-", metric->expr_text);
    }
    sy_table_write(&table, 0, sy_message_colour(stdout), text);
}

/* --- JSON ------------------------------------------------------------------------------------- */
static void json_events(struct sy_json_writer *json, const struct sy_listing *listing) {
    sy_json_open_member(json, "event_list", '[');
    for (uint32_t i = 0; i < listing->listed_count; i++) {
        const struct sy_event *event = &listing->events[i];
        sy_json_print(json,
                      "{name: %s, pmu: %s, encoding: %s, scale: %g, scale_unit: %s, "
                      "counter_mask: %u, fixed: %d, per_package: %d, deprecated: %d}",
                      event->name, event->unit, event->encoding, event->scale, event->scale_unit,
                      event->counter_mask, event->fixed, event->per_package, event->deprecated);
    }
    sy_json_close(json, ']');
}

static void json_metrics(struct sy_json_writer *json, const struct sy_listing *listing) {
    sy_json_open_member(json, "metric_list", '[');
    for (uint32_t i = 0; i < listing->metric_count; i++) {
        const struct sy_metric *metric = &listing->metrics[i];
        sy_json_print(json,
                      "{name: %s, pmu: %s, groups: %s, scale: %g, scale_unit: %s, bounded: %d, "
                      "expression: %s}",
                      metric->name, metric->unit, metric->group, metric->scale, metric->scale_unit,
                      metric->bounded, metric->expr_text);
    }
    sy_json_close(json, ']');
}

static void json_arch(struct sy_json_writer *json, const struct sy_listing *listing,
                      const struct args *args, const char *own) {
    struct counts counts = count(listing);
    json->compact_from = args->arch ? 4 : 3;
    sy_json_print(json,
                  "{name: %s, events: %u, core_events: %u, uncore_events: %u, "
                  "deprecated_events: %u, derived_events: %u, metrics: %u, bounded_metrics: %u, "
                  "own: %d, pmus: [",
                  listing->name, listing->listed_count, counts.core, counts.uncore,
                  counts.deprecated, listing->event_count - listing->listed_count,
                  listing->metric_count, counts.bounded, own && strcmp(own, listing->name) == 0);
    for (uint32_t i = 0; i < listing->unit_count; i++) {
        sy_json_put_string(json, listing->units[i].name);
    }
    sy_json_print(json, "], source: %s, licence: %s", listing->source, listing->licence);
    if (args->events) {
        json_events(json, listing);
    }
    if (args->metrics) {
        json_metrics(json, listing);
    }
    sy_json_close(json, '}');
}

/* --- what there is ---------------------------------------------------------------------------- */
static int fail_with(const struct sy_error *error, int code) {
    sy_message_error(error);
    return code == -ENOENT ? SY_EXIT_INPUT : sy_message_exit(code);
}

struct totals {
    uint32_t listings, events, metrics;
};

static int add_arch(const char *name, const struct args *args, const char *own,
                    struct sy_table *table, struct sy_json_writer *json, struct totals *totals) {
    struct sy_listing *listing;
    struct sy_error error = {0};
    int code = sy_listing_open(name, args->folder, &listing, &error);
    if (code) {
        return fail_with(&error, code);
    }
    if (args->common.json) {
        json_arch(json, listing, args, own);
    } else {
        put_arch(table, listing, own);
    }
    totals->listings++;
    totals->events += listing->listed_count;
    totals->metrics += listing->metric_count;
    sy_listing_destroy(listing);
    return SY_EXIT_OK;
}

/* Every listing there is, or the one that was asked for. */
static int show(const struct args *args, const char *const *names, const char *own) {
    struct sy_table table;
    struct sy_json_writer json = {0};
    struct sy_buffer text = {0};
    struct totals totals = {0};
    sy_table_init(&table, arch_headers, "lrrrrrrl");
    if (args->common.json) {
        sy_json_print(&json, "{schema: %s, archs: [", "symph-counters-listing-1");
    }
    int r = SY_EXIT_OK;
    for (uint32_t i = 0; names[i] && r == SY_EXIT_OK; i++) {
        r = add_arch(names[i], args, own, &table, &json, &totals);
    }
    if (args->common.json) {
        sy_json_print(&json, "]}");
        sy_table_write(&table, 0, false, &text);
        sy_buffer_finish(&text);
        text = json.buffer;
        sy_buffer_append(&text, "\n", 1);
    } else {
        sy_table_write(&table, 0, sy_message_colour(stdout), &text);
        sy_table_legend("core, uncore: events of the cores, and of the rest of the processor; "
                        "metrics: formulas of the vendor; shares: metrics that are a part of a "
                        "whole; PMUs: kinds of counting units.",
                        0, &text);
        sy_buffer_printf(&text, "\n%u listings, %u events, %u metrics\n", totals.listings,
                         totals.events, totals.metrics);
    }
    if (r != SY_EXIT_OK) {
        sy_buffer_finish(&text);
        return r;
    }
    return sy_output(&text);
}

static int show_one(const struct args *args, const char *name) {
    struct sy_listing *listing;
    struct sy_error error = {0};
    int code = sy_listing_open(name, args->folder, &listing, &error);
    if (code) {
        return fail_with(&error, code);
    }
    struct sy_buffer text = {0};
    if (args->events) {
        put_events(listing, &text);
    }
    if (args->metrics) {
        put_metrics(listing, &text);
    }
    if (!args->events && !args->metrics) {
        struct counts counts = count(listing);
        sy_print(&text,
                 "%s: %u events (%u core, %u uncore, %u deprecated), %u metrics (%u "
                 "shares)\nfrom %s, %s\n\n",
                 listing->name, listing->listed_count, counts.core, counts.uncore,
                 counts.deprecated, listing->metric_count, counts.bounded, listing->source,
                 listing->licence);
        put_units(listing, &text);
    }
    sy_listing_destroy(listing);
    return sy_output(&text);
}

/* --- making listings -------------------------------------------------------------------------- */
static int write_text(const char *folder, const char *name, const char *suffix,
                      struct sy_buffer *text, struct sy_error *error) {
    struct sy_buffer path = {0};
    sy_buffer_printf(&path, "%s/%s%s", folder, name, suffix);
    int code = path.failed ? -ENOMEM : sy_make_folders(path.text);
    code = code ? sy_fail(error, code, "%s: %s", path.failed ? name : path.text, strerror(-code))
                : sy_write_file(path.text, text->text ? text->text : "", text->length, error);
    sy_buffer_finish(&path);
    return code;
}

/* Compiles, and reads back what was compiled: what does not read must not be shipped. */
static int compile_one(const struct args *args, const char *name, struct totals *totals) {
    struct sy_error error = {0};
    struct sy_buffer text = {0};
    struct sy_listing *listing = NULL;
    int code = sy_listing_compile(args->compile, name, args->source, &text, &error);
    code = code ? code : sy_listing_read(name, text.text, text.length, &listing, &error);
    code = code ? code : sy_listing_check(listing, &error);
    code = code ? code : write_text(args->out, name, ".listing", &text, &error);
    if (!code) {
        totals->listings++;
        totals->events += listing->listed_count;
        totals->metrics += listing->metric_count;
    }
    sy_listing_destroy(listing);
    sy_buffer_finish(&text);
    return code ? fail_with(&error, code) : SY_EXIT_OK;
}

static int compile_map(const struct args *args, const char *name, const char *last) {
    char arch[64];
    struct sy_error error = {0};
    struct sy_buffer text = {0};
    size_t length = strcspn(name, "/");
    if (last && strncmp(last, name, length + 1) == 0) {
        return SY_EXIT_OK; /* the same architecture as the one before */
    }
    snprintf(arch, sizeof arch, "%.*s", (int)length, name);
    int code = sy_listing_compile_map(args->compile, arch, &text, &error);
    code = code ? code : write_text(args->out, arch, "/mapfile", &text, &error);
    sy_buffer_finish(&text);
    return code ? fail_with(&error, code) : SY_EXIT_OK;
}

static int compile_all(const struct args *args) {
    struct sy_arena *arena = sy_need(sy_arena_create());
    const char *const *names = NULL;
    struct sy_error error = {0};
    struct totals totals = {0};
    int code = sy_listing_tree_names(args->compile, arena, &names, &error);
    int r = code ? fail_with(&error, code) : SY_EXIT_OK;
    for (uint32_t i = 0; r == SY_EXIT_OK && names[i]; i++) {
        if (!args->arch || strcmp(args->arch, names[i]) == 0) {
            r = compile_one(args, names[i], &totals);
            r = r == SY_EXIT_OK ? compile_map(args, names[i], i ? names[i - 1] : NULL) : r;
        }
    }
    if (r == SY_EXIT_OK && totals.listings == 0) {
        sy_message_fail("%s has no folder %s (write it as x86/skylakex)", args->compile,
                        args->arch ? args->arch : "of events");
        r = SY_EXIT_INPUT;
    }
    sy_arena_destroy(arena);
    if (r == SY_EXIT_OK) {
        sy_message_note(args->common.quiet,
                        "%u listings, %u events, %u metrics; all of them can be parsed",
                        totals.listings, totals.events, totals.metrics);
    }
    return r;
}

/* --- which one -------------------------------------------------------------------------------- */
static int match(const struct args *args, const char *processor, struct sy_buffer *ret_name) {
    struct sy_error error = {0};
    int code = sy_listing_match(args->folder, processor, ret_name, &error);
    return code ? fail_with(&error, code) : SY_EXIT_OK;
}

static int run_shown(const struct args *args, const char *own) {
    struct sy_arena *arena = sy_need(sy_arena_create());
    struct sy_error error = {0};
    const char *const *names;
    const char *one[2] = {args->arch, NULL};
    int code = 0;
    if (!args->arch) {
        code = sy_listing_names(args->folder, arena, &names, &error);
    } else {
        names = one;
    }
    int r = code ? fail_with(&error, code) : SY_EXIT_OK;
    if (r == SY_EXIT_OK) {
        r = args->arch && !args->common.json ? show_one(args, args->arch) : show(args, names, own);
    }
    sy_arena_destroy(arena);
    return r;
}

static const char *misuse(const struct args *args) {
    if (args->compile && !args->out) {
        return "--compile needs --out, the folder to write to";
    }
    if (!args->compile && (args->out || args->source)) {
        return "--out and --source go with --compile";
    }
    if ((args->events || args->metrics) && !args->arch && !args->processor) {
        return "--events and --metrics need --arch: there are too many to list all";
    }
    if (args->arch && args->processor) {
        return "--arch and --processor exclude each other";
    }
    return NULL;
}

static int run(void *given) {
    struct args *args = given;
    struct sy_buffer own = {0}, named = {0};
    const char *wrong = misuse(args);
    int r = SY_EXIT_OK;
    if (wrong) {
        return sy_options_usage(&command, "%s", wrong);
    }
    if (args->compile) {
        return compile_all(args);
    }
    if (args->processor || (args->arch && strcmp(args->arch, "own") == 0)) {
        r = match(args, args->processor, &named);
        args->arch = named.text;
    }
    if (r == SY_EXIT_OK) { /* not to be known is no error here */
        (void)!sy_listing_match(args->folder, NULL, &own, NULL);
        r = run_shown(args, own.text);
    }
    sy_buffer_finish(&own);
    sy_buffer_finish(&named);
    return r;
}

int sy_counters_listing(int argc, char **argv) {
    struct args args = {0};
    return sy_options_run(&command, argc, argv, &args, run);
}
