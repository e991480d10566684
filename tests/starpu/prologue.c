/* SPDX-License-Identifier: Apache-2.0
 *
 * A program of somebody else, for test_foreign.py: a task that its prologue takes away from the
 * scheduler, as StarPU's fault tolerance does, and then one of the same codelet that runs. All
 * workers are busy meanwhile, so that nobody looks at the first before it is gone.
 *
 *   prologue
 */
#include <starpu.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#define LEFT_OUT 77

static int runs;
static atomic_uint held;
static atomic_bool released;

static void holds(void *buffers[], void *argument) {
    (void)buffers, (void)argument;
    atomic_fetch_add(&held, 1);
    while (!atomic_load(&released)) {
        starpu_sleep(1e-4f);
    }
}

static struct starpu_codelet holding = {.cpu_funcs = {holds}, .name = "holds"};

static int hold_all(void) {
    unsigned count = starpu_worker_get_count();
    int code = 0;
    for (unsigned w = 0; w < count && !code; w++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &holding;
        task->execute_on_a_specific_worker = 1;
        task->workerid = w;
        code = starpu_task_submit(task);
    }
    while (!code && atomic_load(&held) < count) {
        starpu_sleep(1e-4f);
    }
    return code;
}

static void counts(void *buffers[], void *argument) {
    (void)buffers, (void)argument;
    runs++;
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {counts}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "counts"};

static void goes_nowhere(void *task) {
    ((struct starpu_task *)task)->where = STARPU_NOWHERE;
}

static int submit(starpu_data_handle_t handle, void (*prologue)(void *)) {
    struct starpu_task *task = starpu_task_create();
    task->destroy = 0; /* or the next would be in its place */
    task->cl = &codelet;
    task->handles[0] = handle;
    task->prologue_callback_func = prologue;
    task->prologue_callback_arg = task;
    return starpu_task_submit(task);
}

int main(void) {
    if (starpu_init(NULL)) {
        return LEFT_OUT;
    }
    int value = 0;
    starpu_data_handle_t handle;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    int code = hold_all();
    code = code ? code : submit(handle, goes_nowhere);
    code = code ? code : submit(handle, NULL);
    atomic_store(&released, true);
    starpu_task_wait_for_all();
    starpu_data_unregister(handle);
    starpu_shutdown();
    printf("%d\n", runs);
    return code ? LEFT_OUT : 0;
}
