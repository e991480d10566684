/* SPDX-License-Identifier: Apache-2.0
 *
 * What a task costs that does nothing, or next to nothing: an ordinary StarPU program, to be run
 * under any scheduler.
 *
 * In: tasks and buffers per task (1 to 3, over 64 handles, so that tasks depend on each other) or
 * none; how long a task computes. Out: microseconds per task, from the first submission to the end
 * of the last.
 * bench/starpu_overhead.py compares schedulers with it.
 */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

#define HANDLES 64

static double work_us;

static void work(void **buffers, void *argument) {
    (void)buffers, (void)argument;
    double end_us = work_us > 0 ? starpu_timing_now() + work_us : 0;
    while (work_us > 0 && starpu_timing_now() < end_us) {
    }
}

static struct starpu_perfmodel model = {.type = STARPU_HISTORY_BASED, .symbol = "symph_nothing"};

static void submit(struct starpu_codelet *codelet, starpu_data_handle_t *handles, unsigned number) {
    struct starpu_task *task = starpu_task_create();
    task->cl = codelet;
    for (int b = 0; b < codelet->nbuffers; b++) {
        task->handles[b] = handles[(number * 7 + (unsigned)b * 13) % HANDLES];
    }
    if (starpu_task_submit(task)) {
        fputs("starpu_overhead: a task was refused\n", stderr);
        exit(1);
    }
}

int main(int argc, char **argv) {
    unsigned tasks = argc > 1 ? (unsigned)atoi(argv[1]) : 20000;
    int buffers = argc > 2 ? atoi(argv[2]) : 3;
    work_us = argc > 3 ? atof(argv[3]) : 0;
    double values[HANDLES] = {0};
    starpu_data_handle_t handles[HANDLES];
    struct starpu_codelet codelet;
    if (buffers < 0 || buffers > 3 || starpu_init(NULL)) {
        fputs("usage: starpu_overhead [TASKS [BUFFERS 0..3 [MICROSECONDS]]]\n", stderr);
        return 2;
    }
    starpu_codelet_init(&codelet);
    codelet.cpu_funcs[0] = work;
    codelet.nbuffers = buffers;
    codelet.model = &model;
    codelet.name = "nothing";
    codelet.modes[0] = STARPU_RW;
    codelet.modes[1] = codelet.modes[2] = STARPU_R;
    for (int i = 0; i < HANDLES; i++) {
        starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&values[i],
                                      sizeof values[i]);
    }
    for (unsigned i = 0; i < tasks / 10; i++) { /* models, caches, pages */
        submit(&codelet, handles, i);
    }
    starpu_task_wait_for_all();
    double start_us = starpu_timing_now();
    for (unsigned i = 0; i < tasks; i++) {
        submit(&codelet, handles, i);
    }
    starpu_task_wait_for_all();
    printf("%.4f\n", (starpu_timing_now() - start_us) / tasks);
    for (int i = 0; i < HANDLES; i++) {
        starpu_data_unregister(handles[i]);
    }
    starpu_shutdown();
    return 0;
}
