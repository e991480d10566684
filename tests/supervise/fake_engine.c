/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine that keeps the protocol of engine/engine.h, or breaks it, and runs nothing.
 *
 * The spec of its request says how: see acts[] below.
 */
#include "supervise/supervise.h"
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TASKS 5
#define TEXT  "{\"schema\": \"fake\"}\n"

static struct sy_page *page;
static const char *record_path;

_Noreturn static void hang(void) {
    for (;;) {
        pause();
    }
}

static void set_phase(enum sy_phase phase) {
    atomic_store(&page->phase, phase);
}

static void get_ready(uint32_t magic) {
    char byte;
    page->magic = magic;
    atomic_store(&page->task_count, TASKS);
    set_phase(SY_PHASE_READY);
    if (read(STDIN_FILENO, &byte, 1) != 1) {
        _exit(0);
    }
    set_phase(SY_PHASE_RUNNING);
}

static void run_tasks(uint32_t count) {
    get_ready(SY_PAGE_MAGIC);
    atomic_store(&page->done_count, count);
}

static void write_record(uint64_t announced, uint32_t times) {
    int fd = open(record_path, O_WRONLY);
    set_phase(SY_PHASE_CHECKING);
    atomic_store(&page->record_bytes, announced);
    for (uint32_t i = 0; i < times && write(fd, TEXT, strlen(TEXT)) > 0; i++) {
    }
    close(fd);
}

static void fail(enum sy_blame blame) {
    atomic_store(&page->blame, (int)blame);
    set_phase(SY_PHASE_FAILED);
}

/* --- acts ---------------------------------------------------------------------------------------
 */
static void act_ok(void) {
    run_tasks(TASKS);
    write_record(strlen(TEXT), 1);
    set_phase(SY_PHASE_SAVING);
    set_phase(SY_PHASE_DONE);
}

static void act_note(void) {
    strcpy(page->note, "the disk is full");
    act_ok();
}

static void act_status(void) {
    printf("first line\nno such\tlibrary\n\n");
    fflush(stdout);
    _exit(7);
}

static void act_never_ready(void) {
    hang();
}

static void act_stuck(void) {
    run_tasks(2);
    hang();
}

static void act_stuck_checking(void) {
    run_tasks(TASKS);
    set_phase(SY_PHASE_CHECKING);
    hang();
}

static void act_deaf(void) {
    signal(SIGTERM, SIG_IGN);
    act_stuck();
}

static void act_crash(void) {
    run_tasks(2);
    abort();
}

static void act_crash_told(void) {
    run_tasks(2);
    strcpy(page->error.message, "kernel gemm crashed");
    abort();
}

static void act_early(void) {
    run_tasks(TASKS);
}

static void act_input(void) {
    page->magic = SY_PAGE_MAGIC;
    page->error = (struct sy_error){"no such kernel", "g.json", 3, 7, "symph kernels lists them"};
    fail(SY_BLAME_INPUT);
    _exit(SY_BLAME_INPUT);
}

static void act_unended_texts(void) {
    memset(&page->error, 'm', sizeof page->error);
    memset(page->note, 'n', sizeof page->note);
    fail((enum sy_blame)77);
    _exit(1);
}

static void act_fails_and_stays(void) {
    strcpy(page->error.message, "the result is wrong");
    fail(SY_BLAME_RUN);
    hang();
}

static void act_garbage(void) {
    uint32_t *words = (uint32_t *)(void *)page;
    for (uint32_t i = 0; i < 100000; i++) {
        printf("%c", (int)(i * 2654435761u >> 13));
    }
    fflush(stdout);
    for (size_t i = 0; i < sizeof *page / sizeof *words; i++) {
        words[i] = (uint32_t)(i + 1) * 2654435761u;
    }
    hang();
}

static void act_foreign(void) {
    get_ready(1);
}

static void act_flood(void) {
    run_tasks(TASKS);
    write_record(100, UINT32_MAX);
}

static void act_huge(void) {
    run_tasks(TASKS);
    write_record(UINT64_C(1) << 40, 1);
    hang();
}

static void act_never_saves(void) {
    run_tasks(TASKS);
    write_record(strlen(TEXT), 1);
    set_phase(SY_PHASE_SAVING);
    hang();
}

static void act_never_leaves(void) {
    act_ok();
    hang();
}

/* Leaves a process that would outlive it, and says which. */
static void act_family(void) {
    pid_t child = fork();
    if (child == 0) {
        hang();
    }
    printf("%d\n", (int)child);
    fflush(stdout);
    _exit(9);
}

static const struct {
    const char *name;
    void (*play)(void);
} acts[] = {
    {"ok", act_ok},
    {"note", act_note},
    {"status", act_status},
    {"never ready", act_never_ready},
    {"stuck", act_stuck},
    {"stuck checking", act_stuck_checking},
    {"deaf", act_deaf},
    {"crash", act_crash},
    {"crash told", act_crash_told},
    {"early", act_early},
    {"input", act_input},
    {"unended texts", act_unended_texts},
    {"fails and stays", act_fails_and_stays},
    {"garbage", act_garbage},
    {"foreign", act_foreign},
    {"flood", act_flood},
    {"huge", act_huge},
    {"never saves", act_never_saves},
    {"never leaves", act_never_leaves},
    {"family", act_family},
};

int main(int argc, char **argv) {
    struct sy_request request;
    struct sy_error error = {0};
    if (sy_request_read((uint32_t)argc - 1, argv + 1, true, &request, &error) < 0) {
        fprintf(stderr, "%s\n", error.message);
        return 99;
    }
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, (int)request.page_fd, 0);
    record_path = request.record;
    for (size_t i = 0; page != MAP_FAILED && i < SY_COUNT(acts); i++) {
        if (strcmp(request.spec, acts[i].name) == 0) {
            acts[i].play();
            return 0;
        }
    }
    return 98;
}
