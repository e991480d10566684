/* SPDX-License-Identifier: Apache-2.0
 *
 * A program of somebody else, for test_recorded.py: it runs some tasks and leaves, without a word
 * to StarPU, or by a crash.
 *
 *   leaves exit|crash
 */
#include <starpu.h>
#include <stdlib.h>
#include <string.h>

#define LEFT_OUT 77

static void nothing(void *buffers[], void *argument) {
    (void)buffers, (void)argument;
}

static struct starpu_codelet alone = {.cpu_funcs = {nothing}, .name = "alone"};

int main(int argc, char **argv) {
    if (argc < 2 || starpu_init(NULL)) {
        return LEFT_OUT;
    }
    for (int i = 0; i < 10; i++) {
        struct starpu_task *task = starpu_task_create();
        task->cl = &alone;
        if (starpu_task_submit(task)) {
            return LEFT_OUT;
        }
    }
    starpu_task_wait_for_all();
    if (strcmp(argv[1], "crash") == 0) {
        abort();
    }
    return 0;
}
