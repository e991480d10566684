/* SPDX-License-Identifier: Apache-2.0
 *
 * How the engine ends badly: it tells the page what it was, and ends.
 *
 * In: a kernel's error, a signal, what the watchdog found. Out: message, hint and exit code in the
 * page. The handler runs on a stack of its own and calls only what a handler may call. Invariant:
 * the message is complete before the phase says FAILED.
 */
#include "engine/starpu/faults.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STACK_BYTES 65536

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
void tell(struct text *text, const char *words) {
    while (*words && text->at < text->end) {
        *text->at++ = *words++;
    }
    *text->at = '\0';
}

static void tell_u64(struct text *text, uint64_t value, unsigned base) {
    char digits[24] = {0};
    size_t at = sizeof digits - 1;
    do {
        digits[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value && at > 0);
    tell(text, digits + at);
}

void tell_seconds(struct text *text, double seconds) {
    uint64_t tenths = (uint64_t)(seconds * 10 + 0.5);
    tell_u64(text, tenths / 10, 10);
    if (tenths % 10) {
        tell(text, ".");
        tell_u64(text, tenths % 10, 10);
    }
    tell(text, " s");
}

static struct text page_text(struct sy_page *page) {
    page->error.message[0] = '\0';
    return (struct text){page->error.message, page->error.message + sizeof page->error.message - 1};
}

static void put_datum(struct text *text, const struct sy_engine *engine, uint32_t number) {
    const struct session_datum *datum = blocks_at(&engine->session->data, number);
    if (datum->name) {
        tell(text, datum->name);
    } else {
        tell(text, "datum ");
        tell_u64(text, number, 10);
    }
    tell(text, " ");
    tell_u64(text, datum->bytes, 10);
    tell(text, " bytes");
}

/* "task potrf(3): A(3,3) 2097152 bytes read and written" */
void tell_input(struct text *text, const struct sy_engine *engine,
                const struct sy_engine_slot *slot) {
    static const char *const modes[] = {"", " read", " written", " read and written"};
    tell(text, ". Its input: task ");
    if (slot->row->name) {
        tell(text, slot->row->name);
    } else {
        tell_u64(text, slot->task, 10);
    }
    for (uint32_t a = 0; a < slot->access_count; a++) {
        tell(text, a == 0 ? ": " : ", ");
        put_datum(text, engine, slot->accesses[a].datum);
        tell(text, modes[slot->accesses[a].mode & 3]);
    }
}

void tell_kernel(struct text *text, const struct sy_engine_slot *slot,
                 const struct sy_engine_worker *worker, const char *verb) {
    tell(text, "kernel ");
    tell(text, slot->row->kernel->name);
    tell(text, verb);
    tell(text, worker->name);
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
    tell(&text, hint);
    atomic_store(&page->blame, (int)blame);
    atomic_store(&page->phase, SY_PHASE_FAILED);
}

_Noreturn static void wait_for_end(void) {
    for (;;) {
        pause();
    }
}

struct text tell_begin(struct sy_page *page) {
    if (!begin_telling()) {
        wait_for_end();
    }
    return page_text(page);
}

_Noreturn void tell_end(struct sy_page *page, enum sy_blame blame, const char *hint) {
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
    struct text text = tell_begin(page);
    tell(&text, error->message);
    struct text file = {page->error.file, page->error.file + sizeof page->error.file - 1};
    tell(&file, error->file);
    page->error.line = error->line;
    page->error.column = error->column;
    tell_end(page, blame, error->hint);
}

_Noreturn void sy_engine_fail_kernel(struct sy_engine *engine,
                                     const struct sy_engine_worker *worker,
                                     const struct sy_engine_slot *slot, int code) {
    struct text text = tell_begin(engine->page);
    tell_kernel(&text, slot, worker, " failed on ");
    tell(&text, ": ");
    tell(&text, worker->message[0] ? worker->message : strerrordesc_np(code < 0 ? -code : code));
    tell_input(&text, engine, slot);
    tell_end(engine->page, SY_BLAME_RUN, "");
}

/* "64 bytes behind the end of v0 4096 bytes were overwritten while kernel ..." */
_Noreturn void sy_engine_fail_guard(struct sy_engine *engine, const struct sy_engine_worker *worker,
                                    const struct sy_engine_slot *slot, uint32_t datum,
                                    uint32_t before, uint32_t behind) {
    struct text text = tell_begin(engine->page);
    tell_u64(&text, behind ? behind : before, 10);
    tell(&text, behind ? " bytes after the end of " : " bytes before the start of ");
    put_datum(&text, engine, datum);
    tell(&text, slot ? " were overwritten while " : " were overwritten");
    if (slot) {
        tell_kernel(&text, slot, worker, " ran on ");
        tell_input(&text, engine, slot);
    }
    tell_end(engine->page, SY_BLAME_RUN,
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

void tell_doing(struct text *text) {
    const char *doing = atomic_load(&main_here->doing), *name = atomic_load(&main_here->name);
    tell(text, doing ? doing : "");
    tell(text, doing ? name : "");
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
            tell(text, found++ ? " or " : " while these kernels were on devices: ");
            tell(text, slot->row->kernel->name);
            tell(text, " on ");
            tell(text, worker->name);
        }
    }
    if (found == 1) {
        tell_input(text, engine, slot);
    }
}

/* A policy from a plug-in is other people's code, which runs on any thread. */
static void put_policy(struct text *text, const struct sy_engine *engine) {
    const char *policy = engine->request.policy;
    if (policy && strstr(policy, ".so")) {
        tell(text, " under policy ");
        tell(text, policy);
    }
}

static void tell_signal(struct sy_engine *engine, int number, const siginfo_t *info) {
    struct text text = page_text(engine->page);
    const char *abbreviation = sigabbrev_np(number);
    if (here.worker) {
        tell_kernel(&text, here.slot, here.worker, " crashed on ");
        tell(&text, " with SIG");
    } else {
        tell(&text, "the engine crashed with SIG");
    }
    tell(&text, abbreviation ? abbreviation : "?");
    if (number == SIGSEGV || number == SIGBUS) {
        tell(&text, " at address 0x");
        tell_u64(&text, (uint64_t)(uintptr_t)info->si_addr, 16);
    }
    if (here.worker) {
        tell_input(&text, engine, here.slot);
    } else {
        put_policy(&text, engine);
    }
    if (!here.worker && atomic_load(&here.doing)) {
        tell(&text, atomic_load(&here.doing));
        tell(&text, atomic_load(&here.name));
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
