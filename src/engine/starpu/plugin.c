/* SPDX-License-Identifier: Apache-2.0
 *
 * How libsymph-starpu.so enters other people's programs: StarPU 1.4 loads it by STARPU_SCHED_LIB
 * and asks for the policy "symphony"; under 1.3 it is preloaded and takes the place of starpu_init.
 * Link with -z nodelete: StarPU 1.4 unloads a policy library while it is in use.
 */
#include "engine/starpu/recorder.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_(x)           #x
#define TEXT(x)            TEXT_(x)
#define LIMIT(word, macro) " " word "=" TEXT(macro)
/* Read from the file by whoever wants to know whether it fits a program's StarPU. */
SY_API const char sy_starpu_built_for[] = "SYMPH-STARPU-BUILT-FOR: " TEXT(
    STARPU_MAJOR_VERSION) "." TEXT(STARPU_MINOR_VERSION) "." TEXT(STARPU_RELEASE_VERSION)
    LIMIT("maxcpus", STARPU_MAXCPUS) LIMIT("maxworkers", STARPU_NMAXWORKERS)
        LIMIT("maxbuffers", STARPU_NMAXBUFS) LIMIT("maxcontexts", STARPU_NMAX_SCHED_CTXS)
            LIMIT("maximplementations", STARPU_MAXIMPLEMENTATIONS)
#ifdef STARPU_SIMGRID
                " simgrid"
#endif
    ;

/* In a stranger's process, what is wrong can only be said on standard error. */
static void complain(const char *text) {
    char shown[2048];
    fprintf(stderr, "symph: %s\n", sy_show(text, shown, sizeof shown));
}

static void write_record(struct shared *s) {
    struct recorder *recorder = s->recorder;
    struct sy_error error = {0};
    char text[1024];
    if (!recorder) {
        return;
    }
    shared_lock(); /* the watcher is still there */
    s->recorder = NULL;
    shared_unlock();
    if (recorder_write(recorder, &error)) {
        complain(sy_error_format(&error, text, sizeof text));
    } else if (recorder->left_out) {
        snprintf(text, sizeof text,
                 "the record has the first %u tasks; %llu more were left out (--max-tasks or "
                 "SYMPH_MAX_TASKS sets the limit)",
                 recorder->count, (unsigned long long)recorder->left_out);
        complain(text);
    }
    recorder_close(recorder);
}

void sy_starpu_closing(void) {
    struct shared *s = &sy_shared;
    struct sy_error error = {0};
    char text[1024];
    if (sy_starpu_warning()) {
        complain(sy_starpu_warning());
    } else if (sy_starpu_save(&error) < 0 || error.message[0]) {
        complain(sy_error_format(&error, text, sizeof text));
    }
    if (sy_starpu_failure()) {
        complain(sy_starpu_failure());
    }
    write_record(s);
    if (getenv("SYMPH_VERBOSE")) {
        double p50 = 0, p99 = 0;
        sy_starpu_decision_cost(&p50, &p99);
        fprintf(stderr,
                "symph: policy %s placed %llu tasks, %llu of them too short to decide on, %.1f us "
                "each (p99 %.1f us); models: %s\n",
                s->policy, (unsigned long long)s->task_total, (unsigned long long)s->short_total,
                p50 / 1e3, p99 / 1e3,
                s->store && sy_store_path(s->store) ? sy_store_path(s->store) : "not kept");
    }
}

/* A program that leaves without starpu_shutdown cannot be recorded to its end. */
static void on_exit_without_end(void) {
    if (sy_shared.recorder && getpid() == sy_shared.recorder->pid) {
        complain("the program ended without starpu_shutdown: its tasks are not recorded");
    }
}

/* At each start of StarPU. */
static void start_record(void) {
    struct shared *s = &sy_shared;
    struct sy_error error = {0};
    char text[1024];
    if (s->recorder) {
        return;
    }
    sy_bus_restart();
    if (recorder_open(++s->starts, &s->recorder, &error)) {
        complain(sy_error_format(&error, text, sizeof text));
        complain("the program cannot be recorded and is not started");
        exit(3);
    }
    if (s->recorder && s->starts == 1) {
        atexit(on_exit_without_end);
    }
    s->options.record = s->recorder != NULL;
    s->options.decision_max = s->recorder ? s->recorder->limit : 0;
}

static void configure(void) {
    struct sy_error error = {0};
    if (!sy_shared.policy && sy_starpu_configure(&(struct sy_starpu_options){0}, &error)) {
        char text[1024];
        complain(sy_error_format(&error, text, sizeof text));
        complain("SYMPH_POLICY must be a policy that symph simulate --list-policies shows, and "
                 "its weights must be readable; the program is not started");
        exit(3);
    }
    start_record();
}

/* A script may start programs of several StarPUs, whose structures differ. StarPU asks more than
 * once. */
static bool fits(void) {
    static bool told;
    char why[256], text[512];
    if (!sy_starpu_misfit(why, sizeof why)) {
        return true;
    }
    snprintf(text, sizeof text,
             "%s: StarPU's own policy runs; 'symph starpu PROGRAM' finds the plug-in that fits",
             why);
    if (!told) {
        complain(text);
    }
    told = true;
    return false;
}

#if STARPU_MAJOR_VERSION > 1 || STARPU_MINOR_VERSION >= 4
SY_API struct starpu_sched_policy *starpu_get_sched_lib_policy(const char *name);
SY_API struct starpu_sched_policy **starpu_get_sched_lib_policies(void);

/* StarPU looks into the library for every policy that is named, a context's too. Without any name
 * it does not load us, so that nobody can tell. */
static void advise(const char *name) {
    static bool told;
    const char *chosen = getenv("STARPU_SCHED");
    if (!told && !(chosen && strcmp(chosen, sy_starpu_policy.policy_name) == 0)) {
        char text[256];
        snprintf(text, sizeof text,
                 "STARPU_SCHED_LIB alone changes nothing, and the policy is '%s': set "
                 "STARPU_SCHED=%s",
                 name, sy_starpu_policy.policy_name);
        complain(text);
        told = true;
    }
}

struct starpu_sched_policy *starpu_get_sched_lib_policy(const char *name) {
    if (strcmp(name, sy_starpu_policy.policy_name) != 0) {
        advise(name);
        return NULL;
    }
    if (!fits()) {
        return NULL;
    }
    configure();
    return &sy_starpu_policy;
}

struct starpu_sched_policy **starpu_get_sched_lib_policies(void) {
    static struct starpu_sched_policy *const policies[] = {&sy_starpu_policy, NULL};
    return (struct starpu_sched_policy **)(uintptr_t)policies;
}
#else
SY_API int starpu_initialize(struct starpu_conf *conf, int *argc, char ***argv);
SY_API int starpu_init(struct starpu_conf *conf);

int starpu_initialize(struct starpu_conf *conf, int *argc, char ***argv) {
    int (*real)(struct starpu_conf *, int *, char ***) = NULL;
    void *symbol = dlsym(RTLD_NEXT, "starpu_initialize");
    memcpy(&real, &symbol, sizeof real);
    if (!real) {
        complain("this program does not use a shared StarPU; Symphony cannot schedule it");
        exit(1);
    }
    struct starpu_conf copy;
    const char *chosen = getenv("STARPU_SCHED");
    bool ours = !chosen || strcmp(chosen, sy_starpu_policy.policy_name) == 0;
    if (ours && !fits()) {
        unsetenv("STARPU_SCHED");
        return real(conf, argc, argv);
    }
    if (conf) {
        copy = *conf;
    } else {
        starpu_conf_init(&copy);
    }
    if (ours) {
        configure();
        unsetenv("STARPU_SCHED"); /* 1.3 knows no such name; ours is passed by pointer */
        copy.sched_policy = &sy_starpu_policy;
        copy.sched_policy_name = NULL;
    }
    return real(&copy, argc, argv);
}

int starpu_init(struct starpu_conf *conf) {
    return starpu_initialize(conf, NULL, NULL);
}
#endif
