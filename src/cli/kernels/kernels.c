/* SPDX-License-Identifier: Apache-2.0
 *
 * symph kernels: which kernels are there, and what is known of their times on this machine.
 *
 * In: plug-ins, the stored models. Out: tables, or one JSON object "symph-kernels-1". Calibration
 * runs each workload in an engine of its own, which stores what it measures. Invariant: the listing
 * comes after what was asked for is done, so that it shows the result.
 */
#include "cli/kernels/list.h"
#include "cli/run/run.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_SAMPLES 9
#define MACHINE_MAX     128

struct args {
    struct sy_common_args common;
    struct sy_text_list names;
    struct sy_request request;
    bool calibrate, forget;
};

#define AT(field) offsetof(struct args, field)

static const struct sy_option options[] = {
    {SY_OPTION_KEY, "kernels", "PATH", AT(request),
     "kernel plug-ins: files or folders, separated by colons (default: those installed)"},
    {SY_OPTION_KEY, "models", "FOLDER", AT(request),
     "where measured times are kept (default: your cache folder; \"\": nowhere)"},
    {SY_OPTION_FLAG, "calibrate", NULL, AT(calibrate),
     "run the workloads of the plug-ins to measure each kernel on each class of devices"},
    {SY_OPTION_KEY, "samples", "N", AT(request),
     "with --calibrate: run each kernel at least N times at each size (default 9)"},
    {SY_OPTION_FLAG, "forget", NULL, AT(forget),
     "delete the measured times of the named kernels, or of all; before --calibrate"},
    SY_OPTION_COMMON(struct args),
};

static const struct sy_command command = {
    .name = "kernels",
    .usage = "[NAME]... [OPTION]...",
    .examples = "  symph kernels\n"
                "  symph kernels --calibrate\n"
                "  symph kernels linalg --kernels ./linalg.so --json\n"
                "  symph kernels --forget gemm",
    .about = "Lists the kernel plug-ins, their kernels, workloads and pipelines, and the "
             "times measured on this machine. NAME is a plug-in or a kernel: only those are "
             "listed, calibrated or forgotten.",
    .options = options,
    .option_count = SY_COUNT(options),
    .operands = AT(names),
    .operand_max = 1000,
};

static bool is_named(const struct sy_text_list *names, const char *name) {
    return names->count == 0 ||
           sy_index_of(name, names->items, names->count, sizeof *names->items) != SY_NONE;
}

bool sy_kernel_list_wants(const struct sy_kernel_list *list, const struct sy_kernel_table *table,
                          const char *kernel) {
    return is_named(&list->names, kernel) || is_named(&list->names, table->name);
}

/* A kernel of the store, which need not be in a plug-in here. */
static bool wants_stored(const struct sy_kernel_list *list, const char *kernel) {
    for (uint32_t i = 0; i < sy_kernel_set_count(list->set); i++) {
        const struct sy_kernel_table *table = sy_kernel_set_table(list->set, i);
        for (uint32_t j = 0; j < table->kernel_count; j++) {
            if (strcmp(table->kernels[j].name, kernel) == 0 &&
                sy_kernel_list_wants(list, table, kernel)) {
                return true;
            }
        }
    }
    return is_named(&list->names, kernel);
}

static bool is_known(const struct sy_kernel_list *list, const char *name,
                     struct sy_text_list *all) {
    bool found = false;
    for (uint32_t i = 0; i < sy_kernel_set_count(list->set); i++) {
        const struct sy_kernel_table *table = sy_kernel_set_table(list->set, i);
        found = found || strcmp(table->name, name) == 0;
        (void)!sy_text_list_add(all, table->name);
        for (uint32_t j = 0; j < table->kernel_count; j++) {
            found = found || strcmp(table->kernels[j].name, name) == 0;
            (void)!sy_text_list_add(all, table->kernels[j].name);
        }
    }
    for (uint32_t i = 0; i < sy_store_count(list->store); i++) {
        const char *kernel = sy_store_at(list->store, i)->kernel;
        found = found || strcmp(kernel, name) == 0;
        (void)!sy_text_list_add(all, kernel);
    }
    return found;
}

static int check_names(const struct sy_kernel_list *list) {
    int r = SY_EXIT_OK;
    for (uint32_t i = 0; i < list->names.count && r == SY_EXIT_OK; i++) {
        const char *name = list->names.items[i];
        struct sy_text_list all = {0};
        if (!is_known(list, name, &all)) {
            const char *near = sy_nearest(name, all.items, all.count);
            sy_message_fail("no plug-in and no kernel is called '%s'%s%s%s", name,
                            near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
            r = SY_EXIT_INPUT;
        }
        sy_text_list_finish(&all);
    }
    return r;
}

static int by_kernel(const void *a, const void *b) {
    const struct sy_cell *x = *(const struct sy_cell *const *)a;
    const struct sy_cell *y = *(const struct sy_cell *const *)b;
    int order = strcmp(x->kernel, y->kernel);
    order = order ? order : strcmp(x->class_name, y->class_name);
    order = order ? order : (!x->features.names) - (!y->features.names);
    for (uint32_t i = 0; !order && i < SY_SIZES; i++) {
        order = (x->values[i] > y->values[i]) - (x->values[i] < y->values[i]);
    }
    uint64_t a_last = x->features.footprint + x->features.width;
    uint64_t b_last = y->features.footprint + y->features.width;
    return order ? order : (a_last > b_last) - (a_last < b_last);
}

static int print_list(struct sy_kernel_list *list, bool json) {
    list->cells = sy_need(calloc(sy_store_count(list->store) + 1u, sizeof(const struct sy_cell *)));
    for (uint32_t i = 0; i < sy_store_count(list->store); i++) {
        const struct sy_cell *cell = sy_store_at(list->store, i);
        if (cell->sample_count > 0 && wants_stored(list, cell->kernel)) {
            list->cells[list->cell_count++] = cell;
        }
    }
    qsort(list->cells, list->cell_count, sizeof(const struct sy_cell *), by_kernel);
    int r = json ? sy_kernel_list_print_json(list) : sy_kernel_list_print(list);
    free(list->cells);
    return r;
}

static int forget(const struct sy_kernel_list *list, struct sy_store *store, bool quiet) {
    struct sy_error error = {0};
    uint32_t count = 0;
    int code = list->names.count ? 0 : sy_store_clear(store, NULL);
    for (uint32_t i = 0; i < sy_store_count(store) && list->names.count && !code; i++) {
        const struct sy_cell *cell = sy_store_at(store, i);
        if (cell->sample_count > 0 && wants_stored(list, cell->kernel)) {
            code = sy_store_clear(store, cell->kernel);
            count++;
        }
    }
    code = code ? sy_fail(&error, code, "out of memory") : sy_store_save(store, &error);
    if (code) {
        sy_message_error(&error);
        return SY_EXIT_FAILED;
    }
    char text[64];
    snprintf(text, sizeof text, "the times of %u kernel%s", count, count == 1 ? "" : "s");
    sy_message_note(quiet, "forgot %s", list->names.count ? text : "all measured times");
    return SY_EXIT_OK;
}

static bool wants_plugin(const struct sy_kernel_list *list, const struct sy_kernel_table *table) {
    for (uint32_t i = 0; i < table->kernel_count; i++) {
        if (sy_kernel_list_wants(list, table, table->kernels[i].name)) {
            return true;
        }
    }
    return is_named(&list->names, table->name);
}

/* Every word of the workload's calibration is the arguments of one run. */
static int calibrate_workload(const struct sy_kernel_table *table,
                              const struct sy_kernel_workload *workload, const struct args *args,
                              uint32_t *run_count) {
    const char *at = workload->calibration ? workload->calibration : "";
    int r = SY_EXIT_OK;
    for (at += strspn(at, " "); *at && r == SY_EXIT_OK; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        struct sy_buffer spec = {0};
        sy_buffer_printf(&spec, "%s:%s:%.*s", table->name, workload->name, (int)length, at);
        if (spec.failed) {
            return sy_no_memory();
        }
        struct sy_request request = args->request;
        request.spec = spec.text;
        request.policy = "rr";
        request.samples = request.samples ? request.samples : DEFAULT_SAMPLES;
        struct sy_child *engine = NULL;
        r = sy_run_engine(&request, spec.text, args->common.quiet, NULL, NULL, &engine);
        r = r ? r : sy_run_finish(engine, args->common.quiet, NULL);
        (*run_count)++;
        sy_buffer_finish(&spec);
        at += length;
    }
    return r;
}

static int calibrate(const struct sy_kernel_list *list, const struct args *args) {
    uint32_t run_count = 0;
    int r = SY_EXIT_OK;
    sy_interrupt_watch();
    for (uint32_t i = 0; i < sy_kernel_set_count(list->set); i++) {
        const struct sy_kernel_table *table = sy_kernel_set_table(list->set, i);
        for (uint32_t j = 0; j < table->workload_count && r == SY_EXIT_OK; j++) {
            if (wants_plugin(list, table)) {
                r = calibrate_workload(table, &table->workloads[j], args, &run_count);
            }
        }
    }
    if (r == SY_EXIT_OK && run_count == 0) {
        sy_message_fail("there is nothing to calibrate: no plug-in has calibration runs (--kernels "
                        "PATH adds plug-ins)");
        return SY_EXIT_INPUT;
    }
    return r;
}

/* So that times of another build are known as such; of two kernels of a name the first answers. */
static int tell_builds(const struct sy_kernel_set *set, struct sy_store *store) {
    int code = 0;
    for (uint32_t i = sy_kernel_set_count(set); i-- > 0 && !code;) {
        const struct sy_kernel_table *table = sy_kernel_set_table(set, i);
        for (uint32_t k = 0; k < table->kernel_count && !code; k++) {
            uint64_t build = sy_kernel_set_build(set, &table->kernels[k]);
            code = sy_store_set_build(store, table->kernels[k].name, build);
        }
    }
    return code;
}

static int open_store(const struct args *args, const char *machine, const struct sy_kernel_set *set,
                      struct sy_store **ret_store) {
    struct sy_error error = {0};
    char warning[512];
    int code = sy_store_open(args->request.models, machine, SY_STORE_WHOLE, ret_store, warning,
                             sizeof warning, &error);
    if (code) {
        return sy_message_code(code, &error);
    }
    if (warning[0]) {
        sy_message_note(args->common.quiet, "%s", warning);
    }
    if (tell_builds(set, *ret_store) < 0) {
        sy_message_fail("out of memory");
        sy_store_close(*ret_store);
        *ret_store = NULL;
        return SY_EXIT_FAILED;
    }
    return SY_EXIT_OK;
}

/* Engines store what they measure: the store is read again after them. */
static int run_with(const struct sy_kernel_set *set, const struct args *args) {
    char machine[MACHINE_MAX];
    sy_store_machine_name(machine, sizeof machine);
    struct sy_kernel_list list = {.set = set, .machine = machine, .names = args->names};
    struct sy_store *store = NULL;
    int r = open_store(args, machine, set, &store);
    if (r != SY_EXIT_OK) {
        return r;
    }
    list.store = store;
    r = check_names(&list);
    if (r == SY_EXIT_OK && args->forget) {
        r = forget(&list, store, args->common.quiet);
    }
    if (r == SY_EXIT_OK && args->calibrate) {
        r = calibrate(&list, args);
        sy_store_close(store);
        store = NULL;
        r = r == SY_EXIT_OK ? open_store(args, machine, set, &store) : r;
        list.store = store;
    }
    if (r == SY_EXIT_OK) {
        r = print_list(&list, args->common.json);
    }
    sy_store_close(store);
    return r;
}

static int run(void *given) {
    const struct args *args = given;
    if (args->request.samples && !args->calibrate) {
        return sy_options_usage(&command, "--samples is for --calibrate");
    }
    struct sy_kernel_set *set;
    struct sy_error error = {0};
    int code = sy_kernel_set_open(args->request.kernels, &set, &error);
    if (code) {
        return sy_message_code(code, &error);
    }
    const char *skipped;
    for (uint32_t i = 0; (skipped = sy_kernel_set_skipped(set, i)); i++) {
        sy_message_note(args->common.quiet, "passed over: %s", skipped);
    }
    int r = run_with(set, args);
    sy_kernel_set_close(set);
    return r;
}

int sy_cmd_kernels(int argc, char **argv) {
    struct args args = {.request = sy_request_default};
    return sy_options_run(&command, argc, argv, &args, run);
}
