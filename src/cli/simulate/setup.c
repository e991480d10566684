/* SPDX-License-Identifier: Apache-2.0
 *
 * setup: everything the arguments of symph simulate name.
 *
 * In: arguments. Out: machine, graphs, tables, policies, failures, all checked before the first
 * run. Invariant: a policy that does not exist is found out here, not after an hour.
 */
#include "cli/simulate/simulate.h"
#include "schedulers/schedulers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPIKE_MAX     1e6
#define STRAGGLER_MAX 1e3

static int add_policy(struct sy_simulate *simulate, const char *name, size_t length) {
    char *copy = sy_need(sy_arena_strndup(simulate->arena, name, length));
    const struct sy_scheduler_ops *ops = NULL;
    int r = sy_input_policy(copy, simulate->args->policy, &ops);
    if (r != SY_EXIT_OK) {
        return r;
    }
    for (uint32_t i = 0; i < simulate->policies.count; i++) {
        if (strcmp(simulate->policies.items[i], copy) == 0) {
            return sy_options_usage(sy_simulate_command(), "policy %s is named twice", copy);
        }
    }
    return sy_text_list_add(&simulate->policies, copy) < 0 ? sy_no_memory() : SY_EXIT_OK;
}

static bool is_untrained(const struct sy_scheduler_ops *ops) {
    return ops->net && !sy_weights_shipped(ops->net->kind);
}

static void put_name(struct sy_buffer *list, const char *name) {
    sy_buffer_printf(list, "%s%s", list->length ? ", " : "", name);
}

/* Every policy that could be used as it is, and a note of those that could not. */
static int add_all_policies(struct sy_simulate *simulate) {
    int r = SY_EXIT_OK;
    const struct sy_scheduler_ops *ops = NULL;
    struct sy_buffer untrained = {0}, clairvoyant = {0};
    for (uint32_t i = 0; r == SY_EXIT_OK && (ops = sy_scheduler_at(i)); i++) {
        if (ops->needs_truth || is_untrained(ops)) {
            put_name(ops->needs_truth ? &clairvoyant : &untrained, ops->name);
        } else {
            r = add_policy(simulate, ops->name, strlen(ops->name));
        }
    }
    if (r == SY_EXIT_OK && untrained.text) {
        sy_message_note(simulate->args->common.quiet,
                        "all: left out %s: networks without weights (NAME@FILE gives them some)",
                        untrained.text);
    }
    if (r == SY_EXIT_OK && clairvoyant.text) {
        sy_message_note(simulate->args->common.quiet, "all: left out %s: they know what is hidden",
                        clairvoyant.text);
    }
    sy_buffer_finish(&untrained);
    sy_buffer_finish(&clairvoyant);
    return r;
}

static int read_policies(struct sy_simulate *simulate) {
    const char *at = simulate->args->policy;
    int r = SY_EXIT_OK;
    while (r == SY_EXIT_OK && *at) {
        size_t length = strcspn(at, ",");
        if (length == 3 && memcmp(at, "all", 3) == 0) {
            r = add_all_policies(simulate);
        } else if (length > 0) {
            r = add_policy(simulate, at, length);
        }
        at += length + (at[length] == ',');
    }
    if (r == SY_EXIT_OK && simulate->policies.count == 0) {
        r = sy_options_usage(sy_simulate_command(), "--policy names no policy");
    }
    return r;
}

static int read_spikes(struct sy_simulate *simulate) {
    const char *text = simulate->args->spikes;
    if (!text) {
        return SY_EXIT_OK;
    }
    const char *colon = strchr(text, ':');
    double p = 0, factor = 0;
    if (!colon || !sy_parse_double(text, (size_t)(colon - text), &p) ||
        !sy_parse_double(colon + 1, strlen(colon + 1), &factor) || p < 0 || p > 1 || factor < 1 ||
        factor > SPIKE_MAX) {
        return sy_options_usage(
            sy_simulate_command(),
            "--spikes takes PROBABILITY:FACTOR such as 0.01:10 (a factor of 1 to 1e6), not '%s'",
            text);
    }
    simulate->spike_probability = p;
    simulate->spike_factor = factor;
    return SY_EXIT_OK;
}

static int read_stragglers(struct sy_simulate *simulate) {
    const char *text = simulate->args->stragglers, *colon = text ? strchr(text, ':') : NULL;
    double share = 0, factor = 0;
    if (!text) {
        return simulate->args->straggler_time
                   ? sy_options_usage(sy_simulate_command(),
                                      "--straggler-time says nothing without --stragglers")
                   : SY_EXIT_OK;
    }
    if (!colon || !sy_parse_double(text, (size_t)(colon - text), &share) ||
        !sy_parse_double(colon + 1, strlen(colon + 1), &factor) || !(share >= 0 && share <= 0.9) ||
        !(factor >= 1 && factor <= STRAGGLER_MAX)) {
        return sy_options_usage(sy_simulate_command(),
                                "--stragglers takes SHARE:FACTOR such as 0.1:4 (a share of 0 to "
                                "0.9, a factor of 1 to 1000), not '%s'",
                                text);
    }
    simulate->straggler_share = share;
    simulate->straggler_factor = factor;
    return SY_EXIT_OK;
}

static int read_period(const char *option, const char *text, double *ret_ns) {
    double ns;
    if (!text) {
        return SY_EXIT_OK;
    }
    if (!sy_parse_time(text, strlen(text), &ns) || !(ns > 0)) {
        return sy_options_usage(sy_simulate_command(),
                                "--%s takes a time such as 2ms or 0.5s, not '%s'", option, text);
    }
    *ret_ns = ns;
    return SY_EXIT_OK;
}

int sy_simulate_decision_time(const struct sy_command *command, const char *text, double *ret_ns,
                              bool *ret_charge) {
    *ret_ns = 0;
    *ret_charge = text && strcmp(text, SY_MEASURED) == 0;
    if (text && !*ret_charge && !sy_parse_time(text, strlen(text), ret_ns)) {
        return sy_options_usage(
            command, "--decision-time takes a time such as 5us, or \"measured\", not '%s'", text);
    }
    return SY_EXIT_OK;
}

/* One of the words that an option takes; text NULL: the first. */
static int read_word(const char *option, const char *text, const char *const *words, uint32_t count,
                     uint32_t *ret) {
    uint32_t kind = 0;
    while (text && kind < count && strcmp(text, words[kind]) != 0) {
        kind++;
    }
    if (kind == count) {
        const char *near = sy_nearest(text, words, count);
        struct sy_buffer all = {0};
        for (uint32_t i = 0; i < count; i++) {
            sy_buffer_printf(&all, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " or ", words[i]);
        }
        int r = sy_options_usage(sy_simulate_command(), "--%s is %s, not '%s'%s%s%s", option,
                                 all.text, text, near ? " (did you mean " : "", near ? near : "",
                                 near ? "?)" : "");
        sy_buffer_finish(&all);
        return r;
    }
    *ret = kind;
    return SY_EXIT_OK;
}

/* What is told of shared resources, and when it changes and is read. */
static int read_belief(struct sy_simulate *simulate) {
    static const char *const names[] = {"filtered", "none", "raw", "true"};
    static const enum sy_sim_belief kinds[] = {SY_SIM_FILTERED, SY_SIM_NONE, SY_SIM_RAW,
                                               SY_SIM_TRUE};
    static const char *const events[] = {"listing", "traffic"};
    const struct sy_simulate_args *args = simulate->args;
    uint32_t kind = 0, event = 0;
    int r = read_word("belief", args->belief, names, SY_COUNT(names), &kind);
    r = r ? r : read_word("counter-events", args->counter_events, events, SY_COUNT(events), &event);
    simulate->belief = kinds[kind];
    simulate->counter_events = event ? SY_SIM_TRAFFIC : SY_SIM_LISTING;
    r = r ? r : read_period("hidden-period", args->hidden_period, &simulate->hidden_period_ns);
    r = r ? r : read_period("straggler-time", args->straggler_time, &simulate->straggler_ns);
    return r ? r
             : read_period("counter-period", args->counter_period, &simulate->counter_period_ns);
}

static int unknown_device(const struct sy_machine *machine, const char *name) {
    const char *names[256];
    size_t count = 0;
    for (; count < machine->device_count && count < SY_COUNT(names); count++) {
        names[count] = machine->devices[count].name;
    }
    const char *near = sy_nearest(name, names, count);
    return sy_options_usage(sy_simulate_command(), "--fail: the machine has no device '%s'%s%s%s",
                            name, near ? " (did you mean " : "", near ? near : "",
                            near ? "?)" : "");
}

static uint32_t find_device(const struct sy_machine *machine, const char *name) {
    uint32_t d =
        sy_index_of(name, machine->devices, machine->device_count, sizeof *machine->devices);
    uint64_t index = 0;
    bool number = d == SY_NONE && sy_parse_u64(name, strlen(name), &index);
    return number && index < machine->device_count ? (uint32_t)index : d;
}

/* "2ms", or "30%" of the lower bound. */
static bool parse_moment(const char *text, size_t length, double *ret_value, bool *ret_relative) {
    *ret_relative = length > 0 && text[length - 1] == '%';
    if (*ret_relative) {
        bool ok = sy_parse_double(text, length - 1, ret_value) && *ret_value >= 0;
        *ret_value /= 100;
        return ok;
    }
    return sy_parse_time(text, length, ret_value);
}

/* The dash between two times, not the one of an exponent. */
static const char *find_dash(const char *text) {
    for (const char *at = text; *at; at++) {
        if (*at == '-' && at > text && at[-1] != 'e' && at[-1] != 'E') {
            return at;
        }
    }
    return NULL;
}

static int read_fail(const struct sy_machine *machine, const char *text, struct sy_fail *ret_fail) {
    const char *at = strrchr(text, '@');
    char name[128];
    if (!at || (size_t)(at - text) >= sizeof(name)) {
        return sy_options_usage(sy_simulate_command(),
                                "--fail takes DEVICE@T or DEVICE@T-T2, not '%s'", text);
    }
    snprintf(name, sizeof(name), "%.*s", (int)(at - text), text);
    struct sy_fail fail = {.device = find_device(machine, name), .back_at = INFINITY};
    if (fail.device == SY_NONE) {
        return unknown_device(machine, name);
    }
    const char *dash = find_dash(at + 1);
    size_t length = dash ? (size_t)(dash - at - 1) : strlen(at + 1);
    if (!parse_moment(at + 1, length, &fail.lost_at, &fail.lost_relative) ||
        (dash && !parse_moment(dash + 1, strlen(dash + 1), &fail.back_at, &fail.back_relative))) {
        return sy_options_usage(sy_simulate_command(),
                                "--fail: a time is written 2ms, 0.5s or 30%% (of the lower bound), "
                                "not '%s'",
                                at + 1);
    }
    if (fail.lost_relative == fail.back_relative && fail.back_at < fail.lost_at) {
        return sy_options_usage(sy_simulate_command(), "--fail: '%s' would return before it fails",
                                text);
    }
    *ret_fail = fail;
    return SY_EXIT_OK;
}

static int read_fails(struct sy_simulate *simulate) {
    const struct sy_text_list *texts = &simulate->args->fails;
    simulate->fails =
        sy_need(sy_arena_alloc(simulate->arena, texts->count + 1u, sizeof(struct sy_fail)));
    int r = SY_EXIT_OK;
    for (uint32_t i = 0; i < texts->count && r == SY_EXIT_OK; i++) {
        r = read_fail(simulate->machine, texts->items[i], &simulate->fails[i]);
    }
    return r;
}

static int read_tables(struct sy_simulate *simulate) {
    const struct sy_simulate_args *args = simulate->args;
    struct sy_error error = {0};
    int r = 0;
    if (args->smt_table) {
        r = sy_interference_read(args->smt_table, &simulate->smt, &error);
    }
    if (r == 0 && args->gpu_table) {
        r = sy_interference_read(args->gpu_table, &simulate->gpu, &error);
    }
    if (r == 0 && args->noise_file) {
        r = sy_noise_read(args->noise_file, &simulate->noise, &error);
    }
    if (r == 0 && args->times) {
        simulate->store = sy_need(sy_store_create());
        r = sy_store_read(simulate->store, args->times, &error);
    }
    return sy_message_code(r, &error);
}

static int read_arrivals(struct sy_simulate *simulate) {
    struct sy_error error = {0};
    int code = 0;
    if (simulate->args->arrivals) {
        code = sy_jobs_read(simulate->args->arrivals, &simulate->graphs, &simulate->jobs,
                            &simulate->job_count, &error);
    }
    return sy_message_code(code, &error);
}

/* "8", or "8:2%". */
static int read_parts(struct sy_simulate *simulate) {
    const char *text = simulate->args->parts;
    if (!text) {
        return SY_EXIT_OK;
    }
    size_t length = strlen(text), head = strcspn(text, ":");
    uint64_t count = 0;
    double percent = 0;
    bool cost = head < length;
    if (!sy_parse_u64(text, head, &count) || count < 2 || count > SY_PART_MAX ||
        (cost && (text[length - 1] != '%' ||
                  !sy_parse_double(text + head + 1, length - head - 2, &percent))) ||
        !(percent >= 0 && percent <= 100)) {
        return sy_options_usage(sy_simulate_command(),
                                "--parts takes N or N:COST%% such as 8:2%% (2 to %d parts, 0 to "
                                "100 %%), not '%s'",
                                SY_PART_MAX, text);
    }
    simulate->cut = (struct sy_graph_cut){(uint32_t)count, percent / 100};
    return SY_EXIT_OK;
}

/* What is shared, but not known. */
static void note_unknown(const struct sy_simulate *simulate) {
    const struct sy_machine *machine = simulate->machine;
    bool quiet = simulate->args->common.quiet;
    for (uint32_t m = 0; simulate->args->contention && m < machine->memory_count; m++) {
        if (machine->memories[m].host && machine->memories[m].resource == SY_NONE) {
            sy_message_note(quiet,
                            "the bandwidth of %s is not known: tasks do not slow each other there "
                            "(behind X.bus.csv, dram:60GB/s would say it)",
                            machine->memories[m].name);
        }
    }
    if (simulate->args->contention && sy_input_from_hwloc(simulate->args->machine)) {
        sy_message_note(quiet,
                        "bandwidths that hwloc does not know are assumed: symph machine %s "
                        "marks them",
                        simulate->args->machine);
    }
}

int sy_simulate_setup(struct sy_simulate *simulate, const struct sy_simulate_args *args) {
    *simulate = (struct sy_simulate){.args = args, .arena = sy_need(sy_arena_create())};
    if (args->graph_specs.count == 0) {
        return sy_options_usage(sy_simulate_command(),
                                "name a graph: --graphs FILE or --graphs gen:cholesky:20");
    }
    int r = read_policies(simulate);
    r = r ? r : read_spikes(simulate);
    r = r ? r : read_stragglers(simulate);
    r = r ? r : read_parts(simulate);
    r = r ? r : read_belief(simulate);
    r = r ? r
          : sy_simulate_decision_time(sy_simulate_command(), args->decision_time,
                                      &simulate->decision_ns, &simulate->charge);
    simulate->timed = args->timing || simulate->charge;
    r = r ? r : sy_input_machine(args->machine, &simulate->machine);
    if (!r) {
        note_unknown(simulate);
    }
    r = r ? r : read_fails(simulate);
    r = r ? r : read_tables(simulate);
    r = r ? r : sy_input_graphs(&args->graph_specs, &args->graphs, &simulate->graphs);
    return r ? r : read_arrivals(simulate);
}

void sy_simulate_finish(struct sy_simulate *simulate) {
    for (uint32_t i = 0; simulate->pictures && i < simulate->policies.count * SY_PICTURE_COUNT;
         i++) {
        sy_buffer_finish(&simulate->pictures[i]);
    }
    for (uint32_t i = 0; i < simulate->workload_count; i++) {
        sy_workload_destroy(simulate->workloads[i]);
    }
    free(simulate->jobs);
    sy_text_list_finish(&simulate->policies);
    sy_noise_finish(&simulate->noise);
    sy_interference_destroy(simulate->smt);
    sy_interference_destroy(simulate->gpu);
    sy_store_close(simulate->store);
    sy_graph_list_finish(&simulate->graphs);
    sy_graph_list_finish(&simulate->cuts);
    sy_machine_destroy(simulate->machine);
    sy_arena_destroy(simulate->arena);
}
