/* SPDX-License-Identifier: Apache-2.0
 *
 * How the engine ends badly: it tells the page what it was, and ends.
 *
 * In: a kernel's error, a signal, the clock. Out: message, hint and exit code in the page. The
 * handler runs on a stack of its own and calls only what a handler may call. Invariant: the message
 * is complete before the phase says FAILED.
 */
#include "engine/starpu/session.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES 65536
#define STALL_S     8.0 /* and a task's limit: nothing begins, runs or ends any more */

/* A signal handler takes no argument of ours: this is how it finds the engine. */
static struct sy_engine *faulty;
static atomic_bool told;
static struct sigaction before_fpe;

struct kernel_here {
    const struct sy_engine_worker *worker; /* NULL: runs no task */
    const struct sy_engine_slot *slot;
    _Atomic(const char *) doing, name; /* what else it does; NULL: nothing that could crash */
};
static _Thread_local struct kernel_here here;
static struct kernel_here *main_here; /* of the thread that leads through the run */
static _Thread_local bool telling;

/* --- text without locale, allocation or locks --------------------------------------------------
 */
struct text {
    char *at, *end; /* one byte is kept for the NUL */
};

static void put(struct text *text, const char *words) {
    while (*words && text->at < text->end) {
        *text->at++ = *words++;
    }
    *text->at = '\0';
}

static void put_u64(struct text *text, uint64_t value, unsigned base) {
    char digits[24] = {0};
    size_t at = sizeof digits - 1;
    do {
        digits[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value && at > 0);
    put(text, digits + at);
}

static void put_seconds(struct text *text, double seconds) {
    uint64_t tenths = (uint64_t)(seconds * 10 + 0.5);
    put_u64(text, tenths / 10, 10);
    if (tenths % 10) {
        put(text, ".");
        put_u64(text, tenths % 10, 10);
    }
    put(text, " s");
}

static struct text page_text(struct sy_page *page) {
    page->error.message[0] = '\0';
    return (struct text){page->error.message, page->error.message + sizeof page->error.message - 1};
}

static void put_datum(struct text *text, const struct sy_engine *engine, uint32_t number) {
    const struct session_datum *datum = blocks_at(&engine->session->data, number);
    if (datum->name) {
        put(text, datum->name);
    } else {
        put(text, "datum ");
        put_u64(text, number, 10);
    }
    put(text, " ");
    put_u64(text, datum->bytes, 10);
    put(text, " bytes");
}

/* "task potrf(3): A(3,3) 2097152 bytes read and written" */
static void put_input(struct text *text, const struct sy_engine *engine,
                      const struct sy_engine_slot *slot) {
    static const char *const modes[] = {"", " read", " written", " read and written"};
    put(text, ". Its input: task ");
    if (slot->row->name) {
        put(text, slot->row->name);
    } else {
        put_u64(text, slot->task, 10);
    }
    for (uint32_t a = 0; a < slot->access_count; a++) {
        put(text, a == 0 ? ": " : ", ");
        put_datum(text, engine, slot->accesses[a].datum);
        put(text, modes[slot->accesses[a].mode & 3]);
    }
}

static void put_kernel(struct text *text, const struct sy_engine_slot *slot,
                       const struct sy_engine_worker *worker, const char *verb) {
    put(text, "kernel ");
    put(text, slot->row->kernel->name);
    put(text, verb);
    put(text, worker->name);
}

/* --- ending -------------------------------------------------------------------------------------
 */
/* False: another thread is at it, and the process ends in a moment. */
static bool begin_telling(void) {
    telling = !atomic_exchange(&told, true);
    return telling;
}

static void publish(struct sy_page *page, enum sy_blame blame, const char *hint) {
    struct text text = {page->error.hint, page->error.hint + sizeof page->error.hint - 1};
    put(&text, hint);
    atomic_store(&page->blame, (int)blame);
    atomic_store(&page->phase, SY_PHASE_FAILED);
}

_Noreturn static void wait_for_end(void) {
    for (;;) {
        pause();
    }
}

static struct text start_telling(struct sy_page *page) {
    if (!begin_telling()) {
        wait_for_end();
    }
    return page_text(page);
}

_Noreturn static void leave(struct sy_page *page, enum sy_blame blame, const char *hint) {
    publish(page, blame, hint);
    _exit((int)blame);
}

void sy_engine_phase(struct sy_engine *engine, enum sy_phase phase) {
    if (!atomic_load(&told)) {
        atomic_store(&engine->page->phase, phase);
    }
}

void sy_engine_note(struct sy_engine *engine, const char *format, ...) {
    va_list list;
    va_start(list, format);
    if (!engine->page->note[0]) {
        vsnprintf(engine->page->note, sizeof engine->page->note, format, list);
    }
    va_end(list);
}

_Noreturn void sy_engine_fail(struct sy_engine *engine, enum sy_blame blame,
                              const struct sy_error *error) {
    struct sy_page *page = engine->page;
    struct text text = start_telling(page);
    put(&text, error->message);
    struct text file = {page->error.file, page->error.file + sizeof page->error.file - 1};
    put(&file, error->file);
    page->error.line = error->line;
    page->error.column = error->column;
    leave(page, blame, error->hint);
}

_Noreturn void sy_engine_fail_kernel(struct sy_engine *engine,
                                     const struct sy_engine_worker *worker,
                                     const struct sy_engine_slot *slot, int code) {
    struct text text = start_telling(engine->page);
    put_kernel(&text, slot, worker, " failed on ");
    put(&text, ": ");
    put(&text, worker->message[0] ? worker->message : strerrordesc_np(code < 0 ? -code : code));
    put_input(&text, engine, slot);
    leave(engine->page, SY_BLAME_RUN, "");
}

/* "64 bytes behind the end of v0 4096 bytes were overwritten while kernel ..." */
_Noreturn void sy_engine_fail_guard(struct sy_engine *engine, const struct sy_engine_worker *worker,
                                    const struct sy_engine_slot *slot, uint32_t datum,
                                    uint32_t before, uint32_t behind) {
    struct text text = start_telling(engine->page);
    put_u64(&text, behind ? behind : before, 10);
    put(&text, behind ? " bytes after the end of " : " bytes before the start of ");
    put_datum(&text, engine, datum);
    put(&text, slot ? " were overwritten while " : " were overwritten");
    if (slot) {
        put_kernel(&text, slot, worker, " ran on ");
        put_input(&text, engine, slot);
    }
    leave(engine->page, SY_BLAME_RUN,
          "a kernel writes past its data; build it with -fsanitize=address to see where");
}

/* --- signals ------------------------------------------------------------------------------------
 */
void sy_engine_enter(const struct sy_engine_worker *worker, const struct sy_engine_slot *slot) {
    here.worker = worker;
    here.slot = slot;
}

void sy_engine_doing(const char *what, const char *name) {
    atomic_store(&here.name, name);
    atomic_store(&here.doing, what);
}

void sy_engine_leave(void) {
    atomic_store(&here.doing, NULL);
    here.worker = NULL;
    here.slot = NULL;
}

/* The crashing thread runs no kernel of ours: a device's own thread. Whose it is we cannot tell if
 * several devices are at work. */
static void put_in_flight(struct text *text, struct sy_engine *engine) {
    uint32_t found = 0;
    const struct sy_engine_slot *slot = NULL;
    const struct sy_engine_worker *worker = NULL;
    for (uint32_t w = 0; w < engine->worker_count; w++) {
        struct sy_flight *flight = &engine->workers[w].flight;
        uint32_t first = atomic_load(&flight->first);
        if (engine->workers[w].flavour != SY_FLAVOUR_C && first != atomic_load(&flight->end)) {
            worker = &engine->workers[w];
            slot = atomic_load(&flight->tasks[first % SY_FLIGHT_MAX]);
            put(text, found++ ? " or " : " while these kernels were on devices: ");
            put(text, slot->row->kernel->name);
            put(text, " on ");
            put(text, worker->name);
        }
    }
    if (found == 1) {
        put_input(text, engine, slot);
    }
}

/* A policy from a plug-in is other people's code, which runs on any thread. */
static void put_policy(struct text *text, const struct sy_engine *engine) {
    const char *policy = engine->request.policy;
    if (policy && strstr(policy, ".so")) {
        put(text, " under policy ");
        put(text, policy);
    }
}

static void tell_signal(struct sy_engine *engine, int number, const siginfo_t *info) {
    struct text text = page_text(engine->page);
    const char *abbreviation = sigabbrev_np(number);
    if (here.worker) {
        put_kernel(&text, here.slot, here.worker, " crashed on ");
        put(&text, " with SIG");
    } else {
        put(&text, "the engine crashed with SIG");
    }
    put(&text, abbreviation ? abbreviation : "?");
    if (number == SIGSEGV || number == SIGBUS) {
        put(&text, " at address 0x");
        put_u64(&text, (uint64_t)(uintptr_t)info->si_addr, 16);
    }
    if (here.worker) {
        put_input(&text, engine, here.slot);
    } else {
        put_policy(&text, engine);
    }
    if (!here.worker && atomic_load(&here.doing)) {
        put(&text, atomic_load(&here.doing));
        put(&text, atomic_load(&here.name));
    } else if (!here.worker) {
        put_in_flight(&text, engine);
    }
    publish(engine->page, SY_BLAME_RUN,
            here.worker ? "the kernel's own code did this: compare what it reads and writes with "
                          "the sizes above"
                        : "");
}

static void on_fault(int number, siginfo_t *info, void *context) {
    /* PoCL mends integer divisions by zero on its own threads. */
    if (number == SIGFPE && !here.worker && (before_fpe.sa_flags & SA_SIGINFO)) {
        before_fpe.sa_sigaction(number, info, context);
        return;
    }
    if (begin_telling()) {
        tell_signal(faulty, number, info);
    } else if (!telling) {
        wait_for_end();
    }
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigaction(number, &plain, NULL);
    raise(number);
}

int sy_engine_catch_faults(struct sy_engine *engine) {
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    faulty = engine;
    main_here = &here;
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < SY_COUNT(numbers); i++) {
        struct sigaction old;
        if (sigaction(numbers[i], &action, &old) < 0) {
            return -errno;
        }
        if (numbers[i] == SIGFPE && old.sa_sigaction != on_fault) {
            before_fpe = old;
        }
    }
    sy_engine_guard_thread();
    return 0;
}

void sy_engine_guard_thread(void) {
    stack_t now;
    if (sigaltstack(NULL, &now) == 0 && !(now.ss_flags & SS_DISABLE)) {
        return;
    }
    /* Lives as long as its thread, which lives as long as the process. */
    stack_t stack = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
    if (stack.ss_sp) {
        sigaltstack(&stack, NULL);
    }
}

/* --- watchdog -----------------------------------------------------------------------------------
 */
static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void sy_flight_begin(struct sy_engine *engine, struct sy_engine_worker *worker,
                     const struct sy_engine_slot *slot) {
    struct sy_flight *flight = &worker->flight;
    uint32_t end = atomic_load_explicit(&flight->end, memory_order_relaxed);
    uint64_t now = now_ns();
    atomic_store_explicit(&flight->tasks[end % SY_FLIGHT_MAX], slot, memory_order_relaxed);
    if (end == atomic_load_explicit(&flight->first, memory_order_relaxed)) {
        atomic_store_explicit(&flight->since_ns, now, memory_order_relaxed);
    }
    atomic_store_explicit(&flight->end, end + 1, memory_order_release);
    atomic_store_explicit(&engine->progress_ns, now, memory_order_relaxed);
}

void sy_flight_end(struct sy_engine *engine, struct sy_engine_worker *worker) {
    struct sy_flight *flight = &worker->flight;
    uint64_t now = now_ns();
    atomic_store_explicit(&flight->since_ns, now, memory_order_relaxed);
    atomic_fetch_add_explicit(&flight->first, 1, memory_order_release);
    atomic_store_explicit(&engine->progress_ns, now, memory_order_relaxed);
}

static void fail_overdue(struct sy_engine *engine, const struct sy_engine_worker *worker,
                         const struct sy_engine_slot *slot, double seconds) {
    struct text text = start_telling(engine->page);
    put_kernel(&text, slot, worker, " does not finish on ");
    put(&text, ": it has run for ");
    put_seconds(&text, seconds);
    put(&text, ", the limit is ");
    put_seconds(&text, engine->request.limit_s);
    put_input(&text, engine, slot);
    leave(engine->page, SY_BLAME_RUN, "--limit sets a longer limit");
}

/* True: some worker is at work. */
static bool look_at_workers(struct sy_engine *engine) {
    bool busy = false;
    for (uint32_t w = 0; w < engine->worker_count; w++) {
        struct sy_engine_worker *worker = &engine->workers[w];
        struct sy_flight *flight = &worker->flight;
        uint32_t first = atomic_load(&flight->first);
        uint64_t since = atomic_load(&flight->since_ns);
        const struct sy_engine_slot *slot = atomic_load(&flight->tasks[first % SY_FLIGHT_MAX]);
        if (first == atomic_load(&flight->end)) {
            continue;
        }
        busy = true;
        uint64_t now = now_ns();
        double seconds = now > since ? (double)(now - since) * 1e-9 : 0;
        /* Read again: it may have ended meanwhile, and another one begun. */
        if (seconds > engine->request.limit_s && first == atomic_load(&flight->first)) {
            fail_overdue(engine, worker, slot, seconds);
        }
    }
    return busy;
}

/* What the watchdog remembers from look to look. */
struct watch {
    struct sy_engine *engine;
    uint32_t phase, calls;
    bool running;
    uint64_t since_ns; /* of the phase, or of the driver's last call */
};

static void put_doing(struct text *text) {
    const char *doing = atomic_load(&main_here->doing), *name = atomic_load(&main_here->name);
    put(text, doing ? doing : "");
    put(text, doing ? name : "");
}

/* What follows the record may take long, but it cannot undo the run. */
_Noreturn static void give_up_leaving(struct sy_engine *engine, enum sy_phase phase) {
    char words[256];
    struct text text = {words, words + sizeof words - 1};
    put(&text, phase == SY_PHASE_SAVING ? "what was learned is not saved: the engine hung"
                                        : "the engine did not exit by itself: it hung");
    put_doing(&text);
    sy_engine_note(engine, "%s", words);
    sy_engine_phase(engine, SY_PHASE_DONE);
    _exit(0);
}

static void fail_step(struct sy_engine *engine, double seconds, double limit_s) {
    struct text text = start_telling(engine->page);
    put(&text, "the engine hangs");
    put_doing(&text);
    put(&text, ": it has taken ");
    put_seconds(&text, seconds);
    put(&text, ", the limit is ");
    put_seconds(&text, limit_s);
    leave(engine->page, SY_BLAME_RUN,
          atomic_load(&engine->page->phase) == SY_PHASE_STARTING
              ? "SYMPH_START_LIMIT=SECONDS sets a longer limit"
              : "--limit sets the limit of a task, and ten times that for such a step");
}

/* Everything but tasks. */
static void look_at_step(struct watch *watch) {
    struct sy_engine *engine = watch->engine;
    const struct sy_request *request = &engine->request;
    double seconds = (double)(now_ns() - watch->since_ns) * 1e-9, limit_s = 0;
    switch (watch->phase) {
    case SY_PHASE_STARTING:
        limit_s = sy_request_start_limit_s(request);
        break;
    case SY_PHASE_RUNNING:
    case SY_PHASE_CHECKING:
        limit_s = sy_limit_step_s(request->limit_s);
        break;
    case SY_PHASE_SAVING:
    case SY_PHASE_DONE:
        if (seconds > sy_limit_leave_s(request->limit_s)) {
            give_up_leaving(engine, (enum sy_phase)watch->phase);
        }
        break;
    default: /* waits for a word */
        break;
    }
    if (limit_s > 0 && seconds > limit_s) {
        fail_step(engine, seconds, limit_s);
    }
    atomic_fetch_add(&engine->page->beat, 1);
}

static void look_at_tasks(struct sy_engine *engine) {
    struct sy_error error = {0};
    const char *failure = engine->ours ? sy_starpu_failure() : NULL;
    if (failure) {
        sy_fail(&error, -EPROTO, "policy %s: %s", engine->request.policy, failure);
        sy_engine_fail(engine, SY_BLAME_RUN, &error);
    }
    bool busy = look_at_workers(engine);
    uint64_t idle_ns = now_ns() - atomic_load(&engine->progress_ns);
    double stall_s = STALL_S + engine->request.limit_s;
    if (!busy && (double)idle_ns > stall_s * 1e9 && idle_ns < UINT64_MAX / 2) {
        sy_fail(&error, -EDEADLK,
                "no task has run for %.1f s, and %u of %u are done: policy %s gives no work",
                stall_s, atomic_load(&engine->page->done_count),
                atomic_load(&engine->page->task_count), engine->request.policy);
        sy_engine_fail(engine, SY_BLAME_RUN, &error);
    }
}

static void look(struct watch *watch) {
    struct sy_engine *engine = watch->engine;
    uint32_t phase = atomic_load(&engine->page->phase), calls = 0;
    bool running = false;
    if (phase == SY_PHASE_RUNNING) {
        /* Whoever submits is at work itself while nothing else is. */
        calls = atomic_load(&engine->session->calls);
        running = atomic_load(&engine->session->unfinished) > 0;
        if (!running) {
            atomic_store(&engine->progress_ns, now_ns());
        }
    }
    if (phase != watch->phase || running != watch->running || calls != watch->calls) {
        watch->phase = phase;
        watch->running = running;
        watch->calls = calls;
        watch->since_ns = now_ns();
    }
    if (running) {
        look_at_tasks(engine);
    } else {
        look_at_step(watch);
    }
}

static void *watch_over(void *argument) {
    struct watch watch = {.engine = argument, .since_ns = now_ns()};
    double tick_s = watch.engine->request.limit_s / 8;
    tick_s = tick_s > 0.25 ? 0.25 : tick_s < 0.01 ? 0.01 : tick_s;
    struct timespec tick = {0, (long)(tick_s * 1e9)};
    for (;;) {
        nanosleep(&tick, NULL);
        look(&watch);
    }
    return NULL;
}

int sy_engine_start_watchdog(struct sy_engine *engine) {
    pthread_t thread;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int code = pthread_create(&thread, NULL, watch_over, engine);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!code) {
        pthread_detach(thread);
    }
    return -code;
}
