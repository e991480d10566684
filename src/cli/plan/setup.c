/* SPDX-License-Identifier: Apache-2.0
 *
 * setup: what is known before anything is planned: the pipeline, the item's features, the
 * machine as others leave it, and measured times.
 *
 * In: arguments. Out: a filled struct sy_planning, up to its answers. Invariant: what nobody
 * measured is told on stderr before it is used.
 */
#include "cli/plan/plan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the pipeline -------------------------------------------------------------------------------
 */
static int open_set(struct sy_planning *planning) {
    struct sy_error error = {0};
    const char *skipped;
    int code = sy_kernel_set_open(planning->args->kernels, &planning->set, &error);
    if (code) {
        return sy_message_code(code, &error);
    }
    for (uint32_t i = 0; (skipped = sy_kernel_set_skipped(planning->set, i)); i++) {
        sy_message_note(planning->args->common.quiet, "passed over: %s", skipped);
    }
    return SY_EXIT_OK;
}

static int no_plugin(const struct sy_planning *planning, const char *spec) {
    const char *names[64];
    uint32_t count = 0;
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(spec, ":"), spec);
    for (uint32_t i = 0; i < sy_kernel_set_count(planning->set) && count < SY_COUNT(names); i++) {
        names[count++] = sy_kernel_set_table(planning->set, i)->name;
    }
    const char *near = sy_nearest(word, names, count);
    sy_message_fail("there is no plug-in '%s'%s%s%s, and no file %s; symph kernels lists the "
                    "plug-ins, --kernels PATH adds one",
                    word, near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "",
                    spec);
    return SY_EXIT_INPUT;
}

static int open_plugin(struct sy_planning *planning, const char *spec) {
    struct sy_error error = {0};
    const char *arguments = NULL;
    int r = open_set(planning);
    if (r != SY_EXIT_OK) {
        return r;
    }
    const struct sy_kernel_pipeline *found =
        sy_kernel_set_pipeline(planning->set, spec, &arguments, &error);
    if (!found) {
        return error.message[0] ? sy_message_code(-ENOENT, &error) : no_plugin(planning, spec);
    }
    if (arguments[0]) {
        sy_message_note(planning->args->common.quiet,
                        "'%s' is not used: --input-features describes an item", arguments);
    }
    snprintf(planning->plugin, sizeof planning->plugin, "%.*s", (int)strcspn(spec, ":"), spec);
    int code =
        sy_pipeline_read_text(spec, found->text, strlen(found->text), &planning->pipeline, &error);
    return sy_message_code(code, &error);
}

/* Whoever names a plug-in alone gets to know what it has. */
static void hint_plugin(struct sy_planning *planning, const char *spec, struct sy_error *error) {
    struct sy_error ignored = {0};
    struct sy_buffer text = {0};
    sy_hint(error, "a pipeline of a plug-in is PLUGIN:NAME; symph kernels lists them");
    if (sy_kernel_set_open(planning->args->kernels, &planning->set, &ignored) < 0) {
        return;
    }
    for (uint32_t i = 0; i < sy_kernel_set_count(planning->set); i++) {
        const struct sy_kernel_table *table = sy_kernel_set_table(planning->set, i);
        for (uint32_t p = 0; p < table->pipeline_count && strcmp(table->name, spec) == 0; p++) {
            sy_buffer_printf(&text, "%s%s:%s", p ? ", " : "", spec, table->pipelines[p].name);
        }
    }
    if (text.length && !text.failed) {
        sy_hint(error, "the plug-in has %.*s", (int)text.length, text.text);
    }
    sy_buffer_finish(&text);
}

int sy_planning_open_pipeline(struct sy_planning *planning) {
    struct sy_error error = {0};
    const char *spec = planning->args->pipelines.items[0];
    if (strchr(spec, ':') && access(spec, F_OK) < 0) {
        return open_plugin(planning, spec);
    }
    int code = sy_pipeline_read_file(spec, &planning->pipeline, &error);
    if (code == -ENOENT && !strchr(spec, '/') && !strchr(spec, '.')) {
        hint_plugin(planning, spec, &error);
    }
    if (code) {
        return sy_message_code(code, &error);
    }
    return planning->args->kernels ? open_set(planning) : SY_EXIT_OK;
}

/* --- who can run what ---------------------------------------------------------------------------
 * A roofline knows no kernels: where a plug-in has no variant of one and nobody measured it, it
 * cannot run. Of kernels that no plug-in has, such as those of a file, nothing is known. */
static bool has_variant(const struct sy_kernel_entry *entry, enum sy_device_kind kind) {
    switch (kind) {
    case SY_CPU:
        return entry->functions[SY_FLAVOUR_C] != NULL;
    case SY_GPU:
        return entry->functions[SY_FLAVOUR_CUDA] || entry->functions[SY_FLAVOUR_OPENCL];
    case SY_FPGA:
        return entry->fpga_model_ns != NULL;
    default:
        return false;
    }
}

/* Of what the samples call by that name; NULL: none. */
static const struct sy_planning_seen *find_seen(const struct sy_planning *planning,
                                                const char *class_name) {
    for (uint32_t i = 0; i < planning->times.seen_count; i++) {
        if (strcmp(planning->times.seen[i].name, class_name) == 0) {
            return &planning->times.seen[i];
        }
    }
    return NULL;
}

static uint64_t kernels_called(const struct sy_planning *planning, const char *kernel) {
    uint64_t kernels = 0;
    for (uint32_t k = 0; k < planning->pipeline->kernel_count; k++) {
        bool same = strcmp(planning->pipeline->kernels[k].kernel, kernel) == 0;
        kernels |= same ? 1ull << k : 0;
    }
    return kernels;
}

static bool was_sampled(const struct sy_planning *planning, const char *kernel, uint32_t class) {
    const struct sy_planning_seen *seen = find_seen(planning, planning->system.classes[class].name);
    return seen && (seen->kernels & kernels_called(planning, kernel));
}

/* NULL: of a file, or of no plug-in. */
static const struct sy_kernel_entry *entry_of(const struct sy_planning *planning,
                                              const char *kernel) {
    struct sy_error ignored = {0};
    char spec[160];
    bool whole = strchr(kernel, ':') || !planning->plugin[0];
    snprintf(spec, sizeof spec, "%s%s%s", whole ? "" : planning->plugin, whole ? "" : ":", kernel);
    return planning->set ? sy_kernel_set_find(planning->set, spec, &ignored) : NULL;
}

static bool can_run(const void *user, const char *kernel, uint32_t class_index) {
    const struct sy_planning *planning = user;
    const struct sy_kernel_entry *entry = entry_of(planning, kernel);
    return !entry || was_sampled(planning, kernel, class_index) ||
           has_variant(entry, planning->system.classes[class_index].kind);
}

/* --- the machine --------------------------------------------------------------------------------
 */
/* What the samples call it: "gpu=h200". */
static int rename_classes(struct sy_planning *planning) {
    for (uint32_t i = 0; i < planning->args->classes.count; i++) {
        struct sy_error error = {0};
        uint32_t classes = 0;
        const char *name = NULL;
        int code = sy_system_setting(&planning->system, "class", planning->args->classes.items[i],
                                     &classes, &name, &error);
        if (code) {
            return sy_message_code(code, &error);
        }
        for (uint32_t k = 0; k < planning->system.class_count; k++) {
            struct sy_system_class *renamed = &planning->system.classes[k];
            if (!(classes & 1u << k) && strcmp(renamed->name, name) == 0) {
                sy_message_fail("--class %s: the machine has a class '%s' already",
                                planning->args->classes.items[i], name);
                return SY_EXIT_INPUT;
            }
            if (classes & 1u << k) {
                renamed->name = name;
                renamed->roofline.class_name = name;
            }
        }
        planning->named |= classes;
    }
    return SY_EXIT_OK;
}

static int set_price(struct sy_planning *planning, const char *text) {
    struct sy_error error = {0};
    const char *value = NULL;
    uint32_t classes = 0;
    double price = 0;
    int code = sy_system_setting(&planning->system, "price", text, &classes, &value, &error);
    if (!code && !sy_parse_price(value, strlen(value), &price)) {
        code = sy_fail(&error, -EINVAL,
                       "--price takes the price of a device per hour, such as gpu=2.5/h, not '%s'",
                       text);
    }
    if (code) {
        return sy_message_code(code, &error);
    }
    for (uint32_t k = 0; k < planning->system.class_count; k++) {
        if (classes & 1u << k) {
            planning->system.classes[k].price_per_hour = price;
        }
    }
    planning->priced |= classes;
    return SY_EXIT_OK;
}

/* "gpu=2.5/h,cpu=0.1/h", or several such options. */
static int set_prices(struct sy_planning *planning) {
    int r = SY_EXIT_OK;
    for (uint32_t i = 0; i < planning->args->prices.count && r == SY_EXIT_OK; i++) {
        const char *at = planning->args->prices.items[i];
        do {
            char part[256];
            size_t length = strcspn(at, ",");
            snprintf(part, sizeof part, "%.*s", (int)(length < 255 ? length : 255), at);
            r = set_price(planning, part);
            at += length + (at[length] == ',');
        } while (*at && r == SY_EXIT_OK);
    }
    return r;
}

static void put_others(const struct sy_planning *planning, uint32_t k) {
    const struct sy_planning_others *others = &planning->others[k];
    const struct sy_system_class *c = &planning->system.classes[k];
    if (!others->known) {
        sy_message_note(
            planning->args->common.quiet,
            "--busy auto: the use of %s by others cannot be read here (%s); all of it is "
            "assumed to be free",
            c->name, others->why);
        return;
    }
    sy_message_note(planning->args->common.quiet,
                    "--busy auto: others use %.2f of %u %s: %u left out, the rest slowed %.2fx",
                    others->used, c->device_count, c->name, c->busy_count, c->slowdown);
}

/* The system's classes are the machine's, by name. */
static int ask_others(struct sy_planning *planning) {
    const struct sy_machine *machine = planning->machine;
    if (strcmp(planning->args->machine, "here") != 0) {
        return sy_options_usage(
            planning->command,
            "--busy auto reads the counters of this machine; with --machine %s use --busy "
            "CLASS=N",
            planning->args->machine);
    }
    struct sy_planning_others *others =
        sy_need(sy_arena_alloc(planning->arena, machine->class_count + 1u, sizeof *others));
    sy_planning_look(machine, others);
    for (uint32_t k = 0; k < planning->system.class_count; k++) {
        struct sy_system_class *c = &planning->system.classes[k];
        for (uint32_t m = 0; m < machine->class_count; m++) {
            if (strcmp(machine->classes[m].name, c->name) == 0) {
                planning->others[k] = others[m];
            }
        }
        planning->others[k].asked = true;
        if (planning->others[k].known) {
            uint32_t busy = planning->others[k].busy_count;
            c->busy_count = busy < c->device_count ? busy : c->device_count;
            c->slowdown = planning->others[k].slowdown;
        } else if (!planning->others[k].why[0]) {
            snprintf(planning->others[k].why, sizeof planning->others[k].why, "no such devices");
        }
        put_others(planning, k);
    }
    return SY_EXIT_OK;
}

static int set_busy(struct sy_planning *planning) {
    const struct sy_text_list *list = &planning->args->busy;
    int r = SY_EXIT_OK;
    for (uint32_t i = 0; i < list->count && r == SY_EXIT_OK; i++) {
        if (strcmp(list->items[i], "auto") == 0) {
            r = ask_others(planning);
        }
    }
    for (uint32_t i = 0; i < list->count && r == SY_EXIT_OK; i++) {
        struct sy_error error = {0};
        const char *value = NULL;
        uint32_t classes = 0;
        uint64_t count = 0;
        if (strcmp(list->items[i], "auto") == 0) {
            continue;
        }
        int code =
            sy_system_setting(&planning->system, "busy", list->items[i], &classes, &value, &error);
        if (!code && !sy_parse_u64(value, strlen(value), &count)) {
            code = sy_fail(
                &error, -EINVAL,
                "--busy takes CLASS=N, the number of devices that others use, or auto; not '%s'",
                list->items[i]);
        }
        for (uint32_t k = 0; !code && k < planning->system.class_count; k++) {
            struct sy_system_class *c = &planning->system.classes[k];
            if ((classes & 1u << k) && count > c->device_count) {
                code = sy_fail(&error, -EINVAL, "--busy %s: the machine has %u of them",
                               list->items[i], c->device_count);
            } else if (classes & 1u << k) {
                c->busy_count = (uint32_t)count;
            }
        }
        r = code ? sy_message_code(code, &error) : SY_EXIT_OK;
    }
    return r;
}

int sy_planning_open_system(struct sy_planning *planning) {
    struct sy_error error = {0};
    int r = sy_input_machine(planning->args->machine, &planning->machine);
    if (r != SY_EXIT_OK) {
        return r;
    }
    int code = sy_system_from_machine(planning->machine, &planning->system, &error);
    if (code) {
        return sy_message_about("machine", planning->args->machine, code, &error);
    }
    planning->system.overlap = !planning->args->no_overlap;
    planning->system.runs = can_run;
    planning->system.runs_user = planning;
    r = set_busy(planning);
    r = r == SY_EXIT_OK ? set_prices(planning) : r;
    return r == SY_EXIT_OK ? rename_classes(planning) : r;
}

/* --- times --------------------------------------------------------------------------------------
 */
/* What was learned here, or what files say. Builds come first: files count as of these. */
static int open_store(struct sy_planning *planning) {
    const struct sy_planning_args *args = planning->args;
    struct sy_error error = {0};
    char warning[512];
    bool here = !args->times.count && strcmp(args->machine, "here") == 0;
    int code = sy_store_open(here ? args->models : "", NULL, SY_STORE_WHOLE, &planning->store,
                             warning, sizeof warning, &error);
    if (code) {
        return sy_message_code(code, &error);
    }
    if (warning[0]) {
        sy_message_note(args->common.quiet, "%s", warning);
    }
    for (uint32_t k = 0; k < planning->pipeline->kernel_count && !code; k++) {
        const char *kernel = planning->pipeline->kernels[k].kernel;
        const struct sy_kernel_entry *entry = entry_of(planning, kernel);
        uint64_t build = entry ? sy_kernel_set_build(planning->set, entry) : 0;
        code = sy_store_set_build(planning->store, kernel, build);
    }
    if (code) {
        return sy_no_memory();
    }
    for (uint32_t i = 0; !code && i < args->times.count; i++) {
        code = sy_store_read(planning->store, args->times.items[i], &error);
    }
    return sy_message_code(code, &error);
}

/* A sample with other costs is of something else. */
static bool is_foreign(const struct sy_planning *planning, const struct sy_cell *cell,
                       uint64_t kernels) {
    if (!kernels) {
        return false;
    }
    const struct sy_pipeline_kernel *kernel =
        &planning->pipeline->kernels[__builtin_ctzll(kernels)];
    bool same = cell->features.count == kernel->cost_count;
    for (uint32_t i = 0; same && i < kernel->cost_count; i++) {
        same = strcmp(cell->features.names[i], kernel->cost_names[i]) == 0;
    }
    return !same;
}

static void look_at(struct sy_planning *planning, const struct sy_cell *cell) {
    struct sy_planning_times *times = &planning->times;
    uint64_t kernels = kernels_called(planning, cell->kernel);
    uint32_t i = 0, count = (uint32_t)cell->sample_count;
    times->sample_count += count;
    if (is_foreign(planning, cell, kernels)) {
        times->foreign_count += count;
        return;
    }
    if (cell->build && sy_cell_count(cell) < cell->sample_count) {
        times->older_count += count;
        return;
    }
    while (i < times->seen_count && strcmp(times->seen[i].name, cell->class_name) != 0) {
        i++;
    }
    if (i == SY_PLANNING_SEEN_MAX || strlen(cell->class_name) >= sizeof times->seen[i].name) {
        return; /* more classes than a machine has: they can only be of others */
    }
    struct sy_planning_seen *seen = &times->seen[i];
    if (i == times->seen_count) {
        times->seen_count++;
        memcpy(seen->name, cell->class_name, strlen(cell->class_name) + 1);
    }
    seen->kernels |= kernels;
    seen->watts |= isnan(cell->watts) ? 0 : kernels;
    seen->measured_count += kernels && !cell->modelled ? count : 0;
    seen->model_count += kernels && cell->modelled ? count : 0;
}

/* Sizes of tasks say nothing about pipelines. */
static void look_at_all(struct sy_planning *planning) {
    for (uint32_t i = 0; i < sy_store_count(planning->store); i++) {
        const struct sy_cell *cell = sy_store_at(planning->store, i);
        if (cell->features.names && cell->sample_count) {
            look_at(planning, cell);
        }
    }
}

bool sy_planning_has_watts(const struct sy_planning *planning, uint32_t kernel,
                           uint32_t class_index) {
    const struct sy_planning_seen *seen =
        find_seen(planning, planning->system.classes[class_index].name);
    return seen && (seen->watts >> kernel & 1);
}

/* Machines say "gpu", samples say which. Where one class of the machine and one of the samples are
 * left, both GPUs (measured) or both FPGAs (a model), they are taken to be the same. */
static bool is_free(const struct sy_planning *planning, const struct sy_planning_seen *seen,
                    enum sy_device_kind kind) {
    for (uint32_t c = 0; c < planning->system.class_count; c++) {
        if (strcmp(planning->system.classes[c].name, seen->name) == 0) {
            return false;
        }
    }
    return strcmp(seen->name, sy_device_kind_name(SY_CPU)) != 0 &&
           (kind == SY_FPGA ? seen->model_count && !seen->measured_count
                            : seen->measured_count > 0);
}

static void name_kind(struct sy_planning *planning, enum sy_device_kind kind) {
    const struct sy_planning_seen *seen = NULL;
    struct sy_system_class *class = NULL;
    uint32_t seen_count = 0, class_count = 0;
    for (uint32_t i = 0; i < planning->times.seen_count; i++) {
        if (is_free(planning, &planning->times.seen[i], kind)) {
            seen = &planning->times.seen[i];
            seen_count++;
        }
    }
    for (uint32_t c = 0; c < planning->system.class_count; c++) {
        struct sy_system_class *k = &planning->system.classes[c];
        bool named = planning->named & 1u << c;
        if (k->kind == kind && !named && !find_seen(planning, k->name)) {
            class = k;
            class_count++;
        }
    }
    if (seen_count == 1 && class_count == 1) {
        sy_message_note(planning->args->common.quiet,
                        "%s is assumed to be the %s of the measured times (--class %s=NAME changes "
                        "this)",
                        class->name, seen->name, class->name);
        class->name = class->roofline.class_name = seen->name;
    }
}

static void count_used(struct sy_planning *planning) {
    for (uint32_t c = 0; c < planning->system.class_count; c++) {
        const struct sy_planning_seen *seen = find_seen(planning, planning->system.classes[c].name);
        if (seen) {
            planning->times.used_count += seen->measured_count + seen->model_count;
            planning->times.model_count += seen->model_count;
        }
    }
}

static void put_seen(const struct sy_planning *planning, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < planning->times.seen_count; i++) {
        int n =
            snprintf(text + used, size - used, "%s%s", i ? ", " : "", planning->times.seen[i].name);
        used += n > 0 && (size_t)n < size - used ? (size_t)n : 0;
    }
}

static void tell_times(const struct sy_planning *planning) {
    const struct sy_planning_times *times = &planning->times;
    bool quiet = planning->args->common.quiet;
    char seen[640];
    put_seen(planning, seen, sizeof seen);
    if (times->foreign_count) {
        sy_message_note(
            quiet,
            "%u of %u samples are left out: their cost features differ from those of the "
            "pipeline",
            times->foreign_count, times->sample_count);
    }
    if (times->older_count) {
        sy_message_note(quiet, "%u of %u samples are left out: the kernels were rebuilt since",
                        times->older_count, times->sample_count);
    }
    if (times->sample_count == times->foreign_count + times->older_count) {
        sy_message_note(quiet,
                        "no measured times: all times are guesses from the peak performance of the "
                        "devices (symph run --pipeline PIPELINE --calibrate -o FILE measures them, "
                        "--times FILE uses them)");
    } else if (times->used_count == 0) {
        sy_message_note(
            quiet,
            "none of the %u samples belongs to a kernel of this pipeline and a class of "
            "this machine; their classes are %s (--class CLASS=NAME maps a class to one of "
            "them)",
            times->sample_count, seen);
    }
    for (uint32_t c = 0; times->used_count && c < planning->system.class_count; c++) {
        const char *name = planning->system.classes[c].name;
        const struct sy_planning_seen *found = find_seen(planning, name);
        if (!found || !found->kernels) {
            sy_message_note(
                quiet,
                "there is no sample of %s, so its times are guesses; there are samples of %s "
                "(--class %s=NAME, if it is one of them)",
                name, seen, name);
        }
    }
}

int sy_planning_read_times(struct sy_planning *planning) {
    int code = 0, r = open_store(planning);
    if (r != SY_EXIT_OK) {
        return r;
    }
    look_at_all(planning);
    name_kind(planning, SY_GPU);
    name_kind(planning, SY_FPGA);
    count_used(planning);
    for (uint32_t c = 0; c < planning->system.class_count && !code; c++) {
        code = sy_store_set_roofline(planning->store, &planning->system.classes[c].roofline);
    }
    if (code) {
        sy_message_fail("the rooflines of the machine cannot be used: %s", strerror(-code));
        return sy_message_exit(code);
    }
    tell_times(planning);
    return SY_EXIT_OK;
}
