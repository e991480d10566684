/* SPDX-License-Identifier: Apache-2.0
 *
 * A program of somebody else, for test_recorded.py: tasks without data, of which each must wait for
 * the one before, as the program itself declares.
 */
#include <starpu.h>
#include <stdlib.h>

#define LEFT_OUT 77
#define COUNT    20

static void nothing(void *buffers[], void *argument) {
    (void)buffers, (void)argument;
}

static struct starpu_codelet alone = {.cpu_funcs = {nothing}, .name = "alone"};

int main(void) {
    struct starpu_task *tasks[COUNT];
    if (starpu_init(NULL)) {
        return LEFT_OUT;
    }
    for (int i = 0; i < COUNT; i++) {
        tasks[i] = starpu_task_create();
        tasks[i]->cl = &alone;
        if (i) {
            starpu_task_declare_deps_array(tasks[i], 1, &tasks[i - 1]);
        }
    }
    for (int i = COUNT - 1; i >= 0; i--) { /* so that all are there when the first one runs */
        if (starpu_task_submit(tasks[i])) {
            return LEFT_OUT;
        }
    }
    starpu_task_wait_for_all();
    starpu_shutdown();
    return 0;
}
