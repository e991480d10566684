/* SPDX-License-Identifier: Apache-2.0
 *
 * A program of somebody else, for test_foreign.py: codelets with two implementations, a slow one
 * and a fast one. Of one codelet the program allows only one of them for each task; of the other
 * both. StarPU is started twice. Prints for each time: tasks that ran what was not allowed, and how
 * often each implementation of the second codelet ran. Codelets have no names.
 */
#include <starpu.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#define ANY      -1
#define PICKY    200
#define OPEN     400
#define SLOW_US  500
#define FAST_US  50
#define LEFT_OUT 77

static atomic_int wrong, ran[2];

static void work(void *argument, int which, double us) {
    int wanted = (int)(intptr_t)argument;
    double end = starpu_timing_now() + us;
    atomic_fetch_add(&ran[which], 1);
    atomic_fetch_add(&wrong, wanted != ANY && wanted != which);
    while (starpu_timing_now() < end) {
    }
}

static void slow(void *buffers[], void *argument) {
    (void)buffers;
    work(argument, 0, SLOW_US);
}

static void fast(void *buffers[], void *argument) {
    (void)buffers;
    work(argument, 1, FAST_US);
}

static int is_allowed(unsigned worker, struct starpu_task *task, unsigned number) {
    (void)worker;
    return (intptr_t)task->cl_arg == (intptr_t)number;
}

static struct starpu_codelet picky = {.cpu_funcs = {slow, fast}, .can_execute = is_allowed};
static struct starpu_codelet open = {.cpu_funcs = {slow, fast}};

static int submit(struct starpu_codelet *codelet, int wanted) {
    struct starpu_task *task = starpu_task_create();
    task->cl = codelet;
    task->cl_arg = (void *)(intptr_t)wanted;
    return starpu_task_submit(task);
}

static int once(void) {
    if (starpu_init(NULL)) {
        return LEFT_OUT;
    }
    int code = 0;
    atomic_store(&wrong, 0);
    for (int i = 0; i < PICKY && !code; i++) {
        code = submit(&picky, i % 2);
    }
    starpu_task_wait_for_all();
    atomic_store(&ran[0], 0);
    atomic_store(&ran[1], 0);
    for (int i = 0; i < OPEN && !code; i++) {
        code = submit(&open, ANY);
    }
    starpu_task_wait_for_all();
    printf("wrong %d slow %d fast %d\n", atomic_load(&wrong), atomic_load(&ran[0]),
           atomic_load(&ran[1]));
    starpu_shutdown();
    return code ? LEFT_OUT : 0;
}

int main(void) {
    int code = once();
    return code ? code : once();
}
