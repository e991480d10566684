/* SPDX-License-Identifier: Apache-2.0
 *
 * A pipeline on this machine: StarPU's workers as the classes of a system, and its session under
 * the stream driver.
 *
 * In: pipeline=1, spec= and what is asked for. Out: the report of the stream; samples in the store
 * of this machine, and, of a calibration, in a file of their own. Tasks are put on workers
 * by the plan: whatever policy the run has is never asked.
 */
#include "engine/starpu/session.h"
#include "engine/stream.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOST_SHARE 0.4 /* of the memory there is, for the data of items */
#define INPUT_MAX  64u
#define NAME_BYTES 32u

struct pipeline_run {
    struct sy_engine *engine;
    struct sy_system system;
    char names[SY_PLAN_CLASS_MAX][NAME_BYTES];
    enum sy_flavour flavours[SY_PLAN_CLASS_MAX];
    uint32_t allowed; /* bit per class: of --plan cpu and gpu */
    /* of a calibration */
    struct sy_buffer table;
    const char *costs[SY_COSTS_NAME_MAX]; /* its columns */
    uint32_t cost_count, sample_count;
    uint32_t modelled; /* of these: by a model of a card */
};

/* --- classes ------------------------------------------------------------------------------------
 */
/* "CUDA 0.0 (NVIDIA H200 139.8 GiB 1b:00.0)" -> "h200". */
static void short_name(unsigned worker, char *ret_name) {
    static const char *const passed[] = {"nvidia", "amd", "intel", "tesla", "geforce", "quadro"};
    char text[128] = "", *rest = NULL;
    starpu_worker_get_name((int)worker, text, sizeof text);
    char *open = strchr(text, '(');
    size_t used = 0;
    for (char *word = strtok_r(open ? open + 1 : text + strlen(text), " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        bool pass = false;
        for (char *at = word; *at; at++) {
            *at = (char)tolower((unsigned char)*at);
        }
        for (size_t i = 0; i < SY_COUNT(passed); i++) {
            pass |= strcmp(word, passed[i]) == 0;
        }
        if (strspn(word, "0123456789.") == strlen(word) && strchr(word, '.')) {
            break; /* the size of its memory */
        }
        word[strcspn(word, "-")] = '\0'; /* "a100-sxm4-80gb" */
        if (!pass && strcmp(word + (strlen(word) > 2 ? strlen(word) - 2 : 0), "gb") != 0) {
            used +=
                (size_t)snprintf(ret_name + used, NAME_BYTES - used, "%s%s", used ? "-" : "", word);
            used = used < NAME_BYTES ? used : NAME_BYTES - 1;
        }
    }
}

/* The names that files of times have; a second class of the same name keeps the machine's. */
static void name_classes(struct pipeline_run *run) {
    const struct sy_engine *engine = run->engine;
    for (uint32_t c = 0; c < run->system.class_count; c++) {
        struct sy_system_class *class = &run->system.classes[c];
        uint32_t worker = engine->machine->classes[c].first_device;
        char *name = run->names[c];
        run->flavours[c] = engine->workers[worker].flavour;
        name[0] = '\0';
        if (run->flavours[c] == SY_FLAVOUR_C) {
            snprintf(name, NAME_BYTES, "cpu");
        } else if (run->flavours[c] == SY_FLAVOUR_CUDA) {
            short_name(worker, name);
        }
        for (uint32_t i = 0; i < c; i++) {
            name[0] = strcmp(run->names[i], name) == 0 ? '\0' : name[0];
        }
        if (!name[0]) {
            snprintf(name, NAME_BYTES, "%s", engine->machine->classes[c].name);
        }
        class->name = class->roofline.class_name = name;
    }
}

static bool runs(const void *user, const char *kernel, uint32_t class_index) {
    const struct pipeline_run *run = user;
    const struct sy_engine *engine = run->engine;
    struct sy_engine_kernel *found;
    return (run->allowed >> class_index & 1) &&
           session_find_kernel(engine->session, kernel, &found) == 0 &&
           found->entry->functions[run->flavours[class_index]];
}

static int add_places(struct pipeline_run *run, struct sy_stream_options *options,
                      struct sy_error *error) {
    const struct sy_engine *engine = run->engine;
    for (uint32_t c = 0; c < run->system.class_count; c++) {
        struct sy_session_place *places =
            sy_arena_alloc(engine->arena, engine->worker_count + 1, sizeof *places);
        uint32_t count = 0;
        for (uint32_t w = 0; places && w < engine->worker_count; w++) {
            if (engine->machine->devices[w].class_index == c) {
                places[count++] = (struct sy_session_place){(uint32_t)engine->workers[w].flavour,
                                                            engine->workers[w].number};
            }
        }
        options->places[c] = places;
        if (!places) {
            return sy_fail(error, -ENOMEM, "no memory for %u workers", engine->worker_count);
        }
    }
    return 0;
}

struct limit {
    bool memory; /* bytes of each device; else devices */
    const char *name;
    size_t length;
    double value;
};

static bool is_meant(const struct limit *limit, const char *name) {
    return strlen(name) == limit->length && strncmp(name, limit->name, limit->length) == 0;
}

/* True: there is such a class. */
static bool limit_class(struct sy_system_class *class, const struct limit *limit) {
    if (!is_meant(limit, class->name) && !is_meant(limit, sy_device_kind_name(class->kind))) {
        return false;
    }
    if (limit->memory) {
        class->memory_bytes = fmin(class->memory_bytes, limit->value);
    } else if (limit->value < class->device_count) {
        class->device_count = (uint32_t)limit->value; /* 0: the class is not used */
    }
    return true;
}

/* "gpu=1;memory.h200=4e10": most devices of a class, or of a kind; memory of each. */
static int limit_classes(struct pipeline_run *run, const char *limits, struct sy_error *error) {
    for (; limits && *limits; limits += limits[0] == ';') {
        size_t length = strcspn(limits, ";"), equals = strcspn(limits, "=");
        struct limit limit = {.memory = strncmp(limits, "memory.", 7) == 0};
        limit.name = limits + (limit.memory ? 7 : 0);
        limit.length = equals - (size_t)(limit.name - limits);
        if (equals >= length ||
            !sy_parse_double(limits + equals + 1, length - equals - 1, &limit.value)) {
            return sy_fail(error, -EINVAL, "engine: limits=%s cannot be read", limits);
        }
        bool found = false;
        for (uint32_t c = 0; c < run->system.class_count; c++) {
            found |= limit_class(&run->system.classes[c], &limit);
        }
        if (!found) {
            sy_fail(error, -ENODEV, "this machine has no '%.*s' to limit", (int)limit.length,
                    limit.name);
            sy_hint(error, "this run has %s%s", run->system.classes[0].name,
                    run->system.class_count > 1 ? " and accelerators; symph machine shows them"
                                                : " only");
            return -ENODEV;
        }
        limits += length;
    }
    for (uint32_t c = 0; c < run->system.class_count; c++) {
        if ((run->allowed >> c & 1) && run->system.classes[c].device_count > 0) {
            return 0;
        }
    }
    return sy_fail(error, -ENODEV, "the constraints leave no device");
}

/* --plan cpu, --plan gpu: only these classes. */
static int choose_classes(struct pipeline_run *run, const char *plan, struct sy_error *error) {
    bool cpu = plan && strcmp(plan, "cpu") == 0, gpu = plan && strcmp(plan, "gpu") == 0;
    run->allowed = 0;
    for (uint32_t c = 0; c < run->system.class_count; c++) {
        bool is_cpu = run->system.classes[c].kind == SY_CPU;
        run->allowed |= (uint32_t)((cpu && is_cpu) || (gpu && !is_cpu) || (!cpu && !gpu)) << c;
    }
    if (!run->allowed) {
        sy_fail(error, -ENODEV, "this run has no %s", plan);
        sy_hint(error, "symph machine lists the devices; --cpus, --cuda and --opencl limit them");
        return -ENODEV;
    }
    return 0;
}

/* --- times --------------------------------------------------------------------------------------
 */
static uint64_t build_of(const struct sy_engine *engine, const char *kernel) {
    struct sy_engine_kernel *found;
    return session_find_kernel(engine->session, kernel, &found) == 0 ? found->build : 0;
}

/* What was learned here speaks for the code that it was learned from; a file that somebody names is
 * taken as it is: it may be of another machine. */
static int prepare_times(struct pipeline_run *run, struct sy_error *error) {
    struct sy_engine *engine = run->engine;
    const struct sy_pipeline *pipeline = engine->description;
    const char *times = engine->request.times;
    char warning[512];
    int code = sy_store_open(engine->request.models, NULL, times ? SY_STORE_NONE : SY_STORE_WHOLE,
                             &engine->store, warning, sizeof warning, error);
    if (code) {
        return code;
    }
    if (warning[0]) {
        sy_engine_note(engine, "%s", warning);
    }
    for (uint32_t k = 0; k < pipeline->kernel_count && !code; k++) {
        const char *kernel = pipeline->kernels[k].kernel;
        code = sy_store_set_build(engine->store, kernel, build_of(engine, kernel));
    }
    for (uint32_t c = 0; c < run->system.class_count && !code; c++) {
        code = sy_store_set_roofline(engine->store, &run->system.classes[c].roofline);
    }
    if (code) {
        return sy_fail(error, code, "no memory for times");
    }
    return times ? sy_store_read(engine->store, times, error) : 0;
}

static double joules(void *user) {
    return sy_engine_joules(((struct pipeline_run *)user)->engine);
}

/* Of a calibration: into its table, and into the store. */
static int learned(void *user, const struct sy_cost_sample *sample) {
    struct pipeline_run *run = user;
    struct sy_cost_sample built = *sample;
    built.build = build_of(run->engine, sample->kernel);
    sy_costs_write(&run->table, run->costs, run->cost_count, &built);
    run->sample_count++;
    run->modelled += sample->modelled;
    return sy_store_observe(run->engine->store, sample);
}

/* A run that went well is not lost because this cannot be kept: it is tried after the record. */
void sy_engine_save(struct sy_engine *engine) {
    struct sy_error error = {0};
    char text[512];
    if (engine->ours && sy_starpu_warning()) {
        sy_engine_note(engine, "%s", sy_starpu_warning());
    }
    int code = engine->ours ? sy_starpu_save(&error) : 0;
    code = !code && engine->store ? sy_store_save(engine->store, &error) : code;
    if (code < 0) {
        sy_engine_note(engine, "what was learned is not saved: %s",
                       sy_error_format(&error, text, sizeof text));
    }
}

/* --- the run ------------------------------------------------------------------------------------
 */
static int calibrate(struct pipeline_run *run, const struct sy_stream_options *stream,
                     struct sy_error *error) {
    struct sy_engine *engine = run->engine;
    uint32_t count = engine->description->kernel_count;
    const struct sy_kernel_entry **entries =
        sy_arena_alloc(engine->arena, count + 1, sizeof *entries);
    if (!entries) {
        return sy_fail(error, -ENOMEM, "no memory for %u kernels", count);
    }
    for (uint32_t k = 0; k < count; k++) {
        struct sy_engine_kernel *found;
        int code =
            session_find_kernel(engine->session, engine->description->kernels[k].kernel, &found);
        if (code) {
            return code;
        }
        entries[k] = found->entry;
    }
    const char *source = sy_engine_energy_source(engine);
    const struct sy_stream_calibration calibration = {
        .stream = *stream,
        .entries = entries,
        .watts = engine->request.watts,
        .cpu_metered = source && strstr(source, "RAPL"),
        .input_max = INPUT_MAX,
        .learned = learned,
    };
    run->cost_count = sy_pipeline_cost_names(engine->description, run->costs, 0);
    sy_costs_write(&run->table, run->costs, run->cost_count, NULL);
    int code = sy_stream_calibrate(&engine->session->base, &calibration, error);
    if (!code) {
        code = run->table.failed ? sy_fail(error, -ENOMEM, "no memory for the samples")
                                 : sy_write_file(engine->request.calibrate, run->table.text,
                                                 run->table.length, error);
    }
    sy_buffer_finish(&run->table);
    char number[32];
    snprintf(number, sizeof number, "%u", run->sample_count);
    engine->session->base.ops->note(&engine->session->base, "samples", number);
    snprintf(number, sizeof number, "%u", run->modelled);
    engine->session->base.ops->note(&engine->session->base, "modelled", number);
    return code;
}

/* Who asks for energy or power shall know what the plans go by. */
static void tell_unmetered(struct pipeline_run *run, const struct sy_plan_request *request) {
    struct sy_session *session = &run->engine->session->base;
    bool asked = request->objective == SY_PLAN_ENERGY || request->objective == SY_PLAN_BALANCED ||
                 isfinite(request->bounds.energy_joules) || isfinite(request->bounds.power_watts);
    if (asked && isnan(joules(run))) {
        session->ops->note(
            session, "power",
            "power cannot be measured here: plans use earlier measurements, or assumed "
            "values");
    }
}

static int stream(struct pipeline_run *run, const struct sy_stream_options *options,
                  struct sy_error *error) {
    struct sy_engine *engine = run->engine;
    struct sy_stream_report *report = sy_arena_alloc(engine->arena, 1, sizeof *report);
    int code = report ? sy_stream_run(&engine->session->base, options, engine->arena, report, error)
                      : sy_fail(error, -ENOMEM, "no memory for a stream");
    if (!code) {
        tell_unmetered(run, &options->replan.request);
        engine->stream = report;
        engine->result_error = report->result_error;
        engine->result_tolerance = report->result_tolerance;
    }
    return code;
}

static int set_objective(const char *name, struct sy_plan_request *request,
                         struct sy_error *error) {
    for (int i = 0; name && i < SY_PLAN_OBJECTIVE_COUNT; i++) {
        if (strcmp(name, sy_plan_objective_name((enum sy_plan_objective)i)) == 0) {
            request->objective = (enum sy_plan_objective)i;
            return 0;
        }
    }
    return name ? sy_fail(error, -EINVAL, "engine: there is no objective %s", name) : 0;
}

static double memory_there(void) {
    return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

static int prepare(struct pipeline_run *run, struct sy_error *error) {
    const struct sy_request *asked = &run->engine->request;
    int code = sy_system_from_machine(run->engine->machine, &run->system, error);
    if (code) {
        return code;
    }
    name_classes(run);
    run->system.runs = runs;
    run->system.runs_user = run;
    code = choose_classes(run, asked->plan, error);
    code = code ? code : limit_classes(run, asked->limits, error);
    return code ? code : prepare_times(run, error);
}

static int drive(struct session *session, struct sy_error *error) {
    struct sy_engine *engine = session->engine;
    const struct sy_request *asked = &engine->request;
    struct pipeline_run run = {.engine = engine};
    struct sy_stream_options options = {
        .source = engine->pipeline,
        .arguments = session->arguments,
        .pipeline = engine->description,
        .system = &run.system,
        .replan = sy_replan_usual,
        .window = asked->window,
        .host_bytes = HOST_SHARE * memory_there(),
        .check = asked->check_all ? SY_STREAM_CHECK_ALL
                 : asked->check   ? SY_STREAM_CHECK_SOME
                                  : SY_STREAM_CHECK_NONE,
        .joules = joules,
        .user = &run,
    };
    options.replan.request.bounds = asked->bounds;
    options.replan.request.side_by_side = asked->side_by_side;
    if (asked->plan && strcmp(asked->plan, "cpu") != 0 && strcmp(asked->plan, "gpu") != 0) {
        options.replan.fixed = asked->plan;
    }
    int code = set_objective(asked->objective, &options.replan.request, error);
    code = code ? code : prepare(&run, error);
    code = code ? code : add_places(&run, &options, error);
    options.store = engine->store;
    if (!code) {
        code = asked->calibrate ? calibrate(&run, &options, error) : stream(&run, &options, error);
    }
    return code;
}

static const struct session_driver driver = {.drive = drive};

int sy_engine_load_pipeline(struct sy_engine *engine, struct sy_error *error) {
    const char *spec = engine->request.spec, *arguments = NULL;
    *error = (struct sy_error){0};
    engine->pipeline = sy_kernel_set_pipeline(engine->plugins, spec, &arguments, error);
    if (!engine->pipeline) {
        if (!error->message[0]) {
            sy_fail(error, -ENOENT, "there is no pipeline '%s': no plug-in has that name", spec);
            sy_hint(error, "symph kernels lists them as PLUGIN:PIPELINE; --kernels PATH adds a "
                           "plug-in");
        }
        return -ENOENT;
    }
    int code = sy_pipeline_read_text(engine->pipeline->name, engine->pipeline->text,
                                     strlen(engine->pipeline->text), &engine->description, error);
    return code ? code : session_open(engine, &driver, arguments, error);
}
