/* SPDX-License-Identifier: Apache-2.0
 *
 * A program of somebody else, for test_foreign.py: a chain of tasks that is made of tags, so that
 * the policy sees no dependency between them. It says how often the next task of the chain was run
 * by another worker than the one before.
 *
 *   tags COUNT MICROSECONDS [held]       held: the first one waits until all are submitted
 */
#include <starpu.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define LEFT_OUT 77
#define GATE     UINT64_C(0xffffffff)

/* Tasks follow each other. */
static unsigned done_count, wrong_count, change_count;
static int last_worker = -1;
static double length_us;

static void step(void *buffers[], void *argument) {
    (void)buffers;
    double until_us = starpu_timing_now() + length_us;
    int worker = starpu_worker_get_id();
    wrong_count += done_count != (unsigned)(uintptr_t)argument;
    change_count += worker != last_worker && done_count > 0;
    last_worker = worker;
    done_count++;
    while (starpu_timing_now() < until_us) {
    }
}

static struct starpu_codelet codelet = {.cpu_funcs = {step}, .name = "step"};

static int submit(unsigned i, bool held) {
    struct starpu_task *task = starpu_task_create();
    task->cl = &codelet;
    task->cl_arg = (void *)(uintptr_t)i;
    task->use_tag = 1;
    task->tag_id = i;
    if (i > 0 || held) {
        starpu_tag_declare_deps((starpu_tag_t)i, 1, i > 0 ? (starpu_tag_t)(i - 1) : GATE);
    }
    return starpu_task_submit(task);
}

int main(int argc, char **argv) {
    if (argc < 3 || starpu_init(NULL)) {
        return LEFT_OUT;
    }
    unsigned count = (unsigned)atoi(argv[1]);
    int code = 0;
    length_us = atof(argv[2]);
    for (unsigned i = 0; i < count && !code; i++) {
        code = submit(i, argc > 3);
    }
    if (argc > 3) {
        starpu_tag_notify_from_apps(GATE);
    }
    starpu_task_wait_for_all();
    starpu_shutdown();
    printf("%u done, %u out of order, %u changes\n", done_count, wrong_count, change_count);
    return code ? LEFT_OUT : 0;
}
