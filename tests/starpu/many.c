/* SPDX-License-Identifier: Apache-2.0
 *
 * A program of somebody else, for test_foreign.py: many short tasks that are ready at once, or that
 * all read one datum which a last task writes.
 *
 *   many COUNT independent|readers
 */
#include <starpu.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEFT_OUT 77

static void nothing(void *buffers[], void *argument) {
    (void)buffers, (void)argument;
}

static struct starpu_codelet alone = {.cpu_funcs = {nothing}, .name = "alone"};
static struct starpu_codelet reads = {
    .cpu_funcs = {nothing}, .nbuffers = 1, .modes = {STARPU_R}, .name = "reads"};
static struct starpu_codelet writes = {
    .cpu_funcs = {nothing}, .nbuffers = 1, .modes = {STARPU_W}, .name = "writes"};

static int submit(struct starpu_codelet *codelet, starpu_data_handle_t handle) {
    struct starpu_task *task = starpu_task_create();
    task->cl = codelet;
    if (codelet->nbuffers) {
        task->handles[0] = handle;
    }
    return starpu_task_submit(task);
}

int main(int argc, char **argv) {
    if (argc < 3 || starpu_init(NULL)) {
        return LEFT_OUT;
    }
    int value = 0, code = 0, count = atoi(argv[1]);
    starpu_data_handle_t handle;
    bool readers = strcmp(argv[2], "readers") == 0;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
    for (int i = 0; i < count && !code; i++) {
        code = submit(readers ? &reads : &alone, handle);
    }
    code = code ? code : submit(&writes, handle);
    starpu_task_wait_for_all();
    starpu_data_unregister(handle);
    starpu_shutdown();
    puts("done");
    return code ? LEFT_OUT : 0;
}
