/* SPDX-License-Identifier: Apache-2.0
 *
 * A pipeline on this machine: StarPU's workers as the classes of a system, and its session under
 * the stream driver.
 *
 * In: pipeline=1, spec= and what is asked for. Out: the report of the stream; samples in the file
 * of this machine's times, or, of a calibration, in a file of their own. Tasks are put on workers
 * by the plan: whatever policy the run has is never asked.
 */
#include "engine/starpu/session.h"
#include "engine/stream.h"
#include "engine/times.h"
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
    struct sy_estimator *estimator;
    struct sy_times *times; /* learned in this run */
    uint32_t modelled;      /* of these: by a model of a card */
    char path[1024];        /* where they are kept; "": nowhere */
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
/* Of the kernel that a sample names; 0: not known. */
static uint64_t build_of(const struct pipeline_run *run, const char *kernel) {
    struct sy_engine_kernel *found;
    return session_find_kernel(run->engine->session, kernel, &found) == 0 ? found->build : 0;
}

static bool is_described(const struct pipeline_run *run, const char *kernel) {
    const struct sy_pipeline *pipeline = run->engine->description;
    for (uint32_t k = 0; k < pipeline->kernel_count; k++) {
        if (strcmp(pipeline->kernels[k].kernel, kernel) == 0) {
            return true;
        }
    }
    return false;
}

/* What was learned here speaks for the code that it was learned from. */
static int take_learned(void *user, const struct sy_cost_sample *sample, const char *input) {
    struct pipeline_run *run = user;
    (void)input;
    bool other = sample->build && is_described(run, sample->kernel) &&
                 sample->build != build_of(run, sample->kernel);
    return other ? 0 : sy_estimator_observe(run->estimator, sample);
}

/* A file that somebody made and names is taken as it is: it may be of another machine. */
static int take_named(void *user, const struct sy_cost_sample *sample, const char *input) {
    (void)input;
    return sy_estimator_observe(((struct pipeline_run *)user)->estimator, sample);
}

static int read_times(struct pipeline_run *run, const char *path, bool must,
                      struct sy_error *error) {
    struct sy_error why = {0};
    int code = sy_samples_read_file(path, must ? take_named : take_learned, run, &why);
    if (code && must) {
        *error = why;
        return error->message[0] ? code : sy_fail(error, code, "%s: %s", path, strerror(-code));
    }
    return 0;
}

static int prepare_times(struct pipeline_run *run, struct sy_error *error) {
    const struct sy_request *asked = &run->engine->request;
    run->estimator = sy_estimator_create();
    run->times = sy_times_create();
    int code = run->estimator && run->times ? 0 : sy_fail(error, -ENOMEM, "no memory for times");
    for (uint32_t c = 0; c < run->system.class_count && !code; c++) {
        code = sy_estimator_set_roofline(run->estimator, &run->system.classes[c].roofline);
        code = code ? sy_fail(error, code, "no memory for times") : 0;
    }
    code = code ? code : sy_times_path(asked->models, run->path, sizeof run->path, error);
    if (!code && asked->times) {
        code = read_times(run, asked->times, true, error);
    } else if (!code && run->path[0]) {
        code = read_times(run, run->path, false, error);
    }
    return code;
}

static double joules(void *user) {
    return sy_engine_joules(((struct pipeline_run *)user)->engine);
}

static int learned(void *user, const struct sy_cost_sample *sample, const char *input) {
    struct pipeline_run *run = user;
    uint32_t before = sy_times_count(run->times);
    struct sy_cost_sample built = *sample;
    built.build = build_of(run, sample->kernel);
    int code = sy_times_add(run->times, &built, input);
    bool more = sy_times_count(run->times) > before;
    run->modelled += more && strcmp(sample->source, "model") == 0;
    return code;
}

/* A run that went well is not lost because this cannot be kept: it is tried after the record. */
static void hand_times(struct pipeline_run *run) {
    if (run->path[0]) {
        snprintf(run->engine->times_path, sizeof run->engine->times_path, "%s", run->path);
        run->engine->times = run->times;
        run->times = NULL;
    }
}

void sy_engine_save(struct sy_engine *engine) {
    struct sy_error error = {0};
    char text[512];
    if (engine->ours && sy_starpu_warning()) {
        sy_engine_note(engine, "%s", sy_starpu_warning());
    }
    int code = engine->ours ? sy_starpu_save(&error) : 0;
    if (!code && engine->times) {
        code = sy_times_merge(engine->times, engine->times_path, &error);
    }
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
    };
    int code = sy_stream_calibrate(&engine->session->base, &calibration, error);
    struct sy_buffer text = {0};
    if (!code) {
        sy_times_write(run->times, &text);
        code = text.failed
                   ? sy_fail(error, -ENOMEM, "no memory for the samples")
                   : sy_write_file(engine->request.calibrate, text.text, text.length, error);
    }
    sy_buffer_finish(&text);
    char number[32];
    snprintf(number, sizeof number, "%u", sy_times_count(run->times));
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
        .learned = learned,
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
    options.estimator = run.estimator;
    if (!code) {
        code = asked->calibrate ? calibrate(&run, &options, error) : stream(&run, &options, error);
    }
    if (!code) {
        hand_times(&run);
    }
    sy_times_destroy(run.times);
    sy_estimator_destroy(run.estimator);
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
