/* SPDX-License-Identifier: Apache-2.0
 *
 * symph starpu: puts an unmodified StarPU program under one of our policies.
 *
 * In: a program and its arguments. Out: that program, in the place of this one, with the plug-in
 * set up for the StarPU that it uses. Invariant: either the program runs under our plug-in, or
 * there is a message and nothing was started.
 */
#include "cli/starpu/starpu.h"
#include "base/json.h"
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <symph/scheduler.h>
#include <unistd.h>

/* As a shell says it of a command that it should run. */
#define EXIT_CANNOT_RUN 126
#define EXIT_NOT_FOUND  127
#define SETTING_MAX     10

struct args {
    struct sy_common_args common;
    const char *policy, *plugin;
    const char *record, *plot, *trace, *paje;
    uint32_t max_tasks; /* 0: as the plug-in likes */
    bool show, verbose;
    struct sy_text_list command;
};

/* Everything that was found out, and the environment that follows from it. */
struct plan {
    const char *program;       /* as it was named */
    char path[SY_STARPU_PATH]; /* what is executed */
    struct sy_starpu_use use;
    struct sy_starpu_plugin plugin;
    const char *policy; /* NULL: the default */
    struct {
        const char *name;
        char value[2 * SY_STARPU_PATH];
    } settings[SETTING_MAX];
    uint32_t setting_count;
};

#define AT(field) offsetof(struct args, field)

static const struct sy_option options[] = {
    {SY_OPTION_TEXT, "policy", "NAME", AT(policy),
     "a policy of symph simulate --list-policies (default: SYMPH_POLICY, or else symphony)"},
    {SY_OPTION_TEXT, "plugin", "FILE", AT(plugin),
     "use this libsymph-starpu.so (default: SYMPH_STARPU_PLUGIN, or else one that fits)"},
    {SY_OPTION_HEADING, .help = "What to keep of its tasks, once StarPU has been shut down"},
    {SY_OPTION_FILE, "record", "FILE.json", AT(record),
     "write everything about the run, for symph explain and symph simulate --replay"},
    {SY_OPTION_FILE, "plot", "FILE.svg", AT(plot), "draw a Gantt chart (SVG)"},
    {SY_OPTION_FILE, "trace", "FILE.json", AT(trace), "write the same as a Chrome/Perfetto trace"},
    {SY_OPTION_FILE, "paje", "FILE", AT(paje), "write the same as a Paje trace"},
    {SY_OPTION_U32, "max-tasks", "N", AT(max_tasks),
     "keep at most the first N tasks (default 100000)", 1, 1e7},
    {SY_OPTION_HEADING, .help = "Output"},
    {SY_OPTION_FLAG, "show", NULL, AT(show),
     "print the environment variables that would be set, and run nothing"},
    {SY_OPTION_FLAG, "verbose", NULL, AT(verbose),
     "the plug-in reports what it did when the program ends"},
    {SY_OPTION_FLAG, "json", NULL, AT(common.json), "like --show, as one JSON object"},
    {SY_OPTION_FLAG, "quiet", NULL, AT(common.quiet), "do not print what was set up"},
};

static const struct sy_command command = {
    .name = "starpu",
    .usage = "[OPTION]... [--] PROGRAM [ARGUMENT]...",
    .examples = "  symph starpu ./cholesky -size 19200\n"
                "  symph starpu --policy heft -- ./cholesky -size 19200\n"
                "  symph starpu -- mpirun -np 2 ./solver\n"
                "  symph starpu --record run.json --plot run.svg -- ./cholesky -size 19200\n"
                "  symph starpu --show ./cholesky",
    .about = "Runs a StarPU program, unchanged, under one of the policies of symph. With "
             "StarPU 1.4 the plug-in is loaded by STARPU_SCHED_LIB, with 1.3 by LD_PRELOAD. "
             "The exit code is that of the program; 126 and 127 mean that it could not be run "
             "or found.",
    .options = options,
    .option_count = SY_COUNT(options),
    .operands = AT(command),
    .operand_max = UINT32_MAX,
    .first_operand_ends = true,
};

/* --- finding out ------------------------------------------------------------------------------
 */
static int refuse_policy(const char *policy) {
    const struct sy_scheduler_ops *ops = NULL;
    if (!policy || strcmp(policy, "default") == 0) {
        return SY_EXIT_OK;
    }
    int r = sy_input_policy(policy, NULL, &ops);
    if (r == SY_EXIT_OK && ops->needs_truth) {
        sy_message_fail("policy %s uses information that only the simulator has: use it with symph "
                        "simulate",
                        policy);
        return SY_EXIT_USAGE;
    }
    return r;
}

/* A launcher (mpirun, env, numactl) is no StarPU program, but one of its arguments is. */
static int inspect_arguments(const struct sy_text_list *words, struct sy_starpu_use *use) {
    char path[SY_STARPU_PATH];
    for (uint32_t i = 1; i < words->count; i++) {
        struct sy_starpu_use other;
        if (!sy_starpu_which(words->items[i], path, sizeof(path))) {
            continue;
        }
        int r = sy_starpu_inspect(path, &other);
        if (r < 0) {
            return r;
        }
        if (other.kind == SY_STARPU_LINKED || other.kind == SY_STARPU_LOST) {
            *use = other;
            return 0;
        }
    }
    return 0;
}

static int find_program(const struct args *args, struct plan *plan) {
    plan->program = args->command.items[0];
    if (!sy_starpu_which(plan->program, plan->path, sizeof(plan->path))) {
        bool there = strchr(plan->program, '/') && access(plan->program, F_OK) == 0;
        sy_message_fail(there ? "'%s' is not a program" : "no program '%s'", plan->program);
        return there ? EXIT_CANNOT_RUN : EXIT_NOT_FOUND;
    }
    int r = sy_starpu_inspect(plan->path, &plan->use);
    if (r == 0 && plan->use.kind != SY_STARPU_LINKED && plan->use.kind != SY_STARPU_LOST) {
        r = inspect_arguments(&args->command, &plan->use);
    }
    if (r < 0) {
        sy_message_fail("cannot inspect '%s': %s", plan->path, strerror(-r));
        return SY_EXIT_FAILED;
    }
    return SY_EXIT_OK;
}

/* Whether there is a StarPU to be scheduled; a plug-in that was named is trusted to know. */
static int refuse_use(const struct plan *plan, bool plugin_named) {
    switch (plan->use.kind) {
    case SY_STARPU_LOST:
        sy_message_fail("'%s' needs %s, which is not found (set LD_LIBRARY_PATH to its folder)",
                        plan->program, plan->use.soname);
        return SY_EXIT_INPUT;
    case SY_STARPU_OTHER:
        if (!plugin_named) {
            sy_message_fail("'%s' is not a StarPU program: it does not link libstarpu (if it loads "
                            "StarPU later, name the plug-in: --plugin FILE)",
                            plan->program);
            return SY_EXIT_INPUT;
        }
        return SY_EXIT_OK;
    case SY_STARPU_FOREIGN:
        sy_message_fail("'%s' is statically linked, or not for this machine: the plug-in cannot be "
                        "loaded",
                        plan->program);
        return SY_EXIT_INPUT;
    default:
        return SY_EXIT_OK;
    }
}

/* The line that builds a plug-in for the StarPU of this program. */
static void advise(const struct plan *plan, char *line, size_t size) {
    char prefix[SY_STARPU_PATH];
    bool known = sy_starpu_prefix(&plan->use, prefix, sizeof(prefix));
    snprintf(line, size, "tools/starpu-plugin.sh %s", known ? prefix : "PREFIX");
}

static int find_named(const char *path, struct plan *plan) {
    int r = sy_starpu_plugin_read(path, &plan->plugin);
    if (r < 0) {
        sy_message_fail(r == -ENOENT ? "cannot read the plug-in '%s'"
                                     : "'%s' is not a libsymph-starpu.so",
                        path);
        return SY_EXIT_INPUT;
    }
    return SY_EXIT_OK;
}

/* What else is to be said of a StarPU that a plug-in does not fit. */
static void say_which(const struct plan *plan, char *text, size_t size) {
    uint32_t limit = 0;
    const char *name = sy_starpu_other_limit(&plan->plugin, &plan->use, &limit);
    if (name) {
        snprintf(text, size, " with %s=%u", name, plan->use.limits[limit]);
    } else {
        snprintf(text, size, "%s", plan->use.simulated ? " on SimGrid" : "");
    }
}

static int find_plugin(const char *named, struct plan *plan) {
    char line[SY_STARPU_PATH + 64];
    advise(plan, line, sizeof(line));
    if (named) {
        int code = find_named(named, plan);
        if (code != SY_EXIT_OK) {
            return code;
        }
    } else if (sy_starpu_plugin_find(&plan->use, &plan->plugin) == -ENOENT) {
        sy_message_fail("no plug-in libsymph-starpu.so is installed%s%s (build one: %s)",
                        plan->use.version[0] ? " for StarPU " : "", plan->use.version, line);
        return SY_EXIT_INPUT;
    }
    if (!sy_starpu_plugin_fits(&plan->plugin, &plan->use)) {
        char which[64];
        say_which(plan, which, sizeof(which));
        sy_message_fail("'%s' uses StarPU %s%s, but the plug-in %s was built for %s (build one "
                        "that fits: %s)",
                        plan->program, plan->use.version, which, plan->plugin.path,
                        plan->plugin.built_for, line);
        return SY_EXIT_INPUT;
    }
    return SY_EXIT_OK;
}

/* --- setting up -------------------------------------------------------------------------------
 */
__attribute__((format(printf, 3, 4))) static void set(struct plan *plan, const char *name,
                                                      const char *format, ...) {
    SY_ASSERT(plan->setting_count < SETTING_MAX);
    va_list list;
    va_start(list, format);
    vsnprintf(plan->settings[plan->setting_count].value, sizeof(plan->settings[0].value), format,
              list);
    va_end(list);
    plan->settings[plan->setting_count++].name = name;
}

/* LD_PRELOAD is split at spaces and colons: a path that has one goes by an open file. */
static void set_preload(struct plan *plan, bool run_now) {
    const char *before = getenv("LD_PRELOAD");
    char path[SY_STARPU_PATH];
    snprintf(path, sizeof(path), "%s", plan->plugin.path);
    int fd = run_now && strpbrk(path, " :") ? open(path, O_RDONLY) : -1;
    if (fd >= 0) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    }
    bool more = before && before[0];
    set(plan, "LD_PRELOAD", "%s%s%s", path, more ? ":" : "", more ? before : "");
}

/* A launcher may start the program in another folder: its weights are found from there too. */
static void set_policy(struct plan *plan) {
    const char *args = NULL, *from = NULL;
    char path[PATH_MAX], whole[PATH_MAX];
    if (sy_scheduler_find(plan->policy, &args, NULL) && (from = strchr(args, '@'))) {
        size_t length = strcspn(++from, "~");
        snprintf(path, sizeof(path), "%.*s", (int)length, from);
        if (realpath(path, whole) && !strpbrk(whole, "~,")) {
            set(plan, "SYMPH_POLICY", "%.*s%s%s", (int)(from - plan->policy), plan->policy, whole,
                from + length);
            return;
        }
    }
    set(plan, "SYMPH_POLICY", "%s", plan->policy);
}

/* A launcher may start the program in another folder. */
static void set_files(const struct args *args, struct plan *plan) {
    const struct {
        const char *variable, *path;
    } files[] = {{"SYMPH_RECORD", args->record},
                 {"SYMPH_PLOT", args->plot},
                 {"SYMPH_TRACE", args->trace},
                 {"SYMPH_PAJE", args->paje}};
    char here[PATH_MAX];
    for (size_t i = 0; i < SY_COUNT(files); i++) {
        const char *path = files[i].path;
        bool relative = path && path[0] != '/' && realpath(".", here);
        if (path) {
            set(plan, files[i].variable, "%s%s%s", relative ? here : "", relative ? "/" : "", path);
        }
    }
    if (args->max_tasks) {
        set(plan, "SYMPH_MAX_TASKS", "%u", args->max_tasks);
    }
}

static void settle(const struct args *args, struct plan *plan) {
    if (strncmp(plan->plugin.built_for, "1.3", 3) == 0) {
        set_preload(plan, !args->show && !args->common.json);
    } else {
        set(plan, "STARPU_SCHED_LIB", "%s", plan->plugin.path);
    }
    /* Preloaded, it needs no name, and programs that look the name up themselves would not find it;
     * but another scheduler's name must not win. */
    if (strcmp(plan->settings[0].name, "LD_PRELOAD") != 0 || getenv("STARPU_SCHED")) {
        set(plan, "STARPU_SCHED", "symphony");
    }
    if (plan->policy) {
        set_policy(plan);
    }
    if (args->verbose) {
        set(plan, "SYMPH_VERBOSE", "1");
    }
    set_files(args, plan);
}

static int show_json(const struct plan *plan) {
    struct sy_json_writer writer = {.compact_from = 3};
    sy_json_print(&writer,
                  "{schema: %s, program: %s, starpu: %s, library: %s, plugin: %s, built_for: %s, "
                  "environment: {",
                  "symph-starpu-1", plan->path, plan->use.version, plan->use.library,
                  plan->plugin.path, plan->plugin.built_for);
    for (uint32_t i = 0; i < plan->setting_count; i++) {
        sy_json_member_string(&writer, plan->settings[i].name, plan->settings[i].value);
    }
    sy_json_print(&writer, "}}");
    return sy_output(&writer.buffer);
}

static int show(const struct plan *plan) {
    struct sy_buffer buffer = {0};
    for (uint32_t i = 0; i < plan->setting_count; i++) {
        sy_print(&buffer, "%s=%s\n", plan->settings[i].name, plan->settings[i].value);
    }
    return sy_output(&buffer);
}

static int execute(const struct args *args, struct plan *plan) {
    for (uint32_t i = 0; i < plan->setting_count; i++) {
        if (setenv(plan->settings[i].name, plan->settings[i].value, 1) < 0) {
            return sy_no_memory();
        }
    }
    const char *how = plan->settings[0].name;
    bool known = plan->use.version[0];
    sy_message_note(args->common.quiet, "StarPU %s%s%s%s, policy %s, by %s=%s",
                    known ? plan->use.version : "of unknown version", known ? " (" : "",
                    known ? plan->use.library : "", known ? ")" : "",
                    plan->policy ? plan->policy : sy_scheduler_default(), how,
                    plan->settings[0].value);
    char **argv = sy_need(calloc(args->command.count + 1, sizeof(*argv)));
    memcpy(argv, args->command.items, args->command.count * sizeof(*argv));
    signal(SIGXFSZ, SIG_DFL); /* which main ignores */
    execv(plan->path, argv);
    sy_message_fail("cannot run '%s': %s", plan->path, strerror(errno));
    free(argv);
    return EXIT_CANNOT_RUN;
}

/* An option, else the variable that stands for it; NULL: neither. */
static const char *given(const char *option, const char *variable) {
    const char *value = option ? option : getenv(variable);
    return value && value[0] ? value : NULL;
}

static int run(void *context) {
    const struct args *args = context;
    if (args->command.count == 0) {
        return sy_options_usage(&command, "name a program: symph starpu ./cholesky");
    }
    struct plan *plan = sy_need(calloc(1, sizeof(*plan)));
    const char *named = given(args->plugin, "SYMPH_STARPU_PLUGIN");
    plan->policy = given(args->policy, "SYMPH_POLICY");
    int r = refuse_policy(plan->policy);
    r = r ? r : find_program(args, plan);
    r = r ? r : refuse_use(plan, named);
    r = r ? r : find_plugin(named, plan);
    if (r == SY_EXIT_OK) {
        settle(args, plan);
        r = args->common.json ? show_json(plan) : args->show ? show(plan) : execute(args, plan);
    }
    free(plan);
    return r;
}

int sy_cmd_starpu(int argc, char **argv) {
    struct args args = {0};
    return sy_options_run(&command, argc, argv, &args, run);
}
