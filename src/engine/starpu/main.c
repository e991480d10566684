/* SPDX-License-Identifier: Apache-2.0
 *
 * symph-engine: load, start StarPU, wait for the word, run, check, write the record, save, end.
 *
 * In: KEY=VALUE arguments from symph. Out: a record and an exit code; it prints nothing. While it
 * waits its workers are paused, so that an idle engine costs no CPU time; when symph ends, so does
 * it.
 */
#include "counters/counters.h"
#include "engine/starpu/session.h"
#include "engine/starpu/shared.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The policy is about to be freed; the record is written already. */
void sy_starpu_closing(void) {
}

static struct sy_page *map_page(uint32_t number) {
    struct stat info;
    int fd = (int)number;
    bool shared =
        number != SY_NONE && fstat(fd, &info) == 0 && info.st_size >= (off_t)sizeof(struct sy_page);
    void *page = mmap(NULL, sizeof(struct sy_page), PROT_READ | PROT_WRITE,
                      shared ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS, shared ? fd : -1, 0);
    if (page == MAP_FAILED) {
        return NULL;
    }
    ((struct sy_page *)page)->magic = SY_PAGE_MAGIC;
    return page;
}

/* Kernels use one core each: BLAS must start no threads. Read when the plug-ins load it. */
static void quiet_blas(void) {
    static const char *const names[] = {"OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                                        "BLIS_NUM_THREADS", "OMP_NUM_THREADS"};
    for (size_t i = 0; i < SY_COUNT(names); i++) {
        setenv(names[i], "1", 1);
    }
}

/* Before hours of work, not after. */
static int check_record_path(const char *path, struct sy_error *error) {
    char folder[1024];
    const char *slash = strrchr(path, '/');
    struct stat info;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
             slash ? path : ".");
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        return S_ISDIR(info.st_mode) ? sy_fail_at(error, -EISDIR, path, 0, 0, "is a folder") : 0;
    }
    if (access(folder, W_OK) < 0) {
        int code = -errno;
        sy_fail_at(error, code, path, 0, 0, "cannot write the record: %s", strerror(-code));
        sy_hint(error, "%s must exist and be writable", folder);
        return code;
    }
    return 0;
}

/* One byte: go. End of file: whoever would say it is gone. */
static bool wait_for_word(void) {
    char byte;
    ssize_t got;
    do {
        got = read(STDIN_FILENO, &byte, 1);
    } while (got < 0 && errno == EINTR);
    return got == 1;
}

/* Plug-ins are tried in a child, which a process with threads could not fork: so they come first.
 */
static int load(struct sy_engine *engine, struct sy_error *error) {
    int code = sy_kernel_set_open(engine->request.kernels, &engine->plugins, error);
    if (!code && (code = sy_engine_start_watchdog(engine)) < 0) {
        sy_fail(error, code, "the engine cannot start its watchdog");
    }
    return code ? code : sy_engine_load(engine, error);
}

static int start(struct sy_engine *engine, struct sy_error *error) {
    int code = load(engine, error);
    if (!code) {
        sy_engine_doing(" while StarPU started for ", engine->request.spec);
        code = sy_engine_start_workers(engine, error);
        sy_engine_leave();
    }
    if (!code) {
        code = sy_engine_add_codelets(engine, 0, error);
    }
    return code ? code : session_prepare(engine->session, error);
}

/* The result is wrong: the record shows what ran, the run has failed. */
static int judge(const struct sy_engine *engine, struct sy_error *error) {
    if (isnan(engine->result_tolerance) || engine->result_error <= engine->result_tolerance) {
        return 0;
    }
    return sy_fail(error, -EDOM, "%s: the result is wrong: relative error %.3g, tolerance %.3g",
                   engine->request.spec, engine->result_error, engine->result_tolerance);
}

/* Leaves the workers paused: they would poll. */
static int finish(struct sy_engine *engine, struct sy_error *error) {
    const struct sy_kernel_workload *workload = engine->workload;
    bool check = engine->request.check && workload && workload->check;
    sy_engine_phase(engine, SY_PHASE_CHECKING);
    session_check_guards(engine->session);
    int code = check ? session_fetch_graph(engine->session, error) : 0;
    starpu_pause();
    if (!code && check) {
        double deviation = NAN, tolerance = NAN;
        sy_engine_doing(" while it checked the result of ", engine->request.spec);
        code = workload->check(engine->state, engine->pointers, &deviation, &tolerance, error);
        sy_engine_leave();
        if (code < 0 && !error->message[0]) {
            sy_fail(error, code, "%s cannot be checked: %s", engine->request.spec, strerror(-code));
        }
        engine->result_error = deviation;
        engine->result_tolerance = tolerance;
    }
    sy_engine_doing(" while it wrote the record of ", engine->request.spec);
    if (!code) {
        code = sy_engine_report(engine, error);
    }
    sy_engine_leave();
    if (!code) {
        code = judge(engine, error);
    }
    return code;
}

/* StarPU keeps its own models on the way. */
static void stop(struct sy_engine *engine) {
    sy_engine_doing(" while it shut StarPU down after ", engine->request.spec);
    starpu_resume();
    sy_starpu_let_sleep(false);
    session_forget_graph(engine->session);
    session_drop_all(engine->session);
    starpu_shutdown();
    sy_energy_close(engine->energy);
    if (engine->workload && engine->workload->destroy) {
        sy_engine_doing(" while it freed ", engine->request.spec);
        engine->workload->destroy(engine->state);
    }
}

static struct sy_engine *create(int count, char **arguments) {
    struct sy_engine *engine = calloc(1, sizeof *engine);
    struct sy_error error = {0};
    if (!engine) {
        return NULL;
    }
    int code = sy_request_read((uint32_t)count, arguments, true, &engine->request, &error);
    engine->page = map_page(engine->request.page_fd);
    engine->arena = sy_arena_create();
    engine->result_error = engine->result_tolerance = engine->energy_joules = NAN;
    if (!engine->page || !engine->arena || sy_engine_catch_faults(engine) < 0) {
        return NULL;
    }
    if (code < 0) {
        sy_engine_fail(engine, SY_BLAME_REQUEST, &error);
    }
    if (check_record_path(engine->request.record, &error) < 0) {
        sy_engine_fail(engine, SY_BLAME_RUN, &error);
    }
    return engine;
}

/* Of a run that failed. A driver may notice malformed input late; one that submitted nothing was
 * asked for wrongly, unless the machine failed it. */
static enum sy_blame whose_fault(const struct sy_engine *engine, int code) {
    if (engine->session->driver->known || code == -EIO || code == -ENOSPC || code == -ENOMEM) {
        return SY_BLAME_RUN;
    }
    bool started = atomic_load(&engine->page->task_count) > 0;
    return code == -EBADMSG || !started ? SY_BLAME_INPUT : SY_BLAME_RUN;
}

/* Behind a keeper, with folders to write to. */
static void settle(struct sy_engine *engine) {
    struct sy_error error = {0};
    sy_engine_phase(engine, SY_PHASE_STARTING);
    int code = sy_engine_set_home(engine, &error);
    if (!code && (code = sy_engine_keep((pid_t)engine->request.parent, engine->scratch)) < 0) {
        sy_fail(&error, code, "the engine cannot start its keeper: %s", strerror(-code));
    }
    if (code < 0) {
        if (engine->scratch[0]) {
            sy_remove_folder(engine->scratch);
        }
        sy_engine_fail(engine, SY_BLAME_RUN, &error);
    }
}

int main(int count, char **arguments) {
    quiet_blas();
    struct sy_engine *engine = create(count - 1, arguments + 1);
    if (!engine) {
        return SY_BLAME_RUN;
    }
    struct sy_error error = {0};
    settle(engine);
    if (start(engine, &error) < 0) {
        sy_engine_fail(engine, SY_BLAME_INPUT, &error);
    }
    atomic_store(&engine->page->task_count, engine->graph->task_count);
    atomic_store(&engine->page->growing, !engine->session->driver->known);
    starpu_pause();
    sy_engine_phase(engine, SY_PHASE_READY);
    if (!wait_for_word()) {
        _exit(0);
    }
    sy_engine_phase(engine, SY_PHASE_RUNNING);
    starpu_resume();
    int code = sy_engine_run(engine, &error);
    code = code < 0 ? code : finish(engine, &error);
    if (code < 0) {
        sy_engine_fail(engine, whose_fault(engine, code), &error);
    }
    sy_engine_phase(engine, SY_PHASE_SAVING);
    sy_engine_doing(" while it saved what was learned of ", engine->request.spec);
    sy_engine_save(engine);
    sy_engine_phase(engine, SY_PHASE_DONE);
    stop(engine);
    _exit(0);
}
