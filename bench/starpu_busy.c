/* SPDX-License-Identifier: Apache-2.0
 *
 * A StarPU program that always has work: how much does it get done beside others?
 *
 * In: how many rounds of arithmetic a task is, and from when to when (CLOCK_MONOTONIC, seconds) its
 * tasks count. Out: how many ended in that time. Without times: what a thousand rounds take, in us.
 * bench/tenants.py runs several.
 */
#include <starpu.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define AHEAD 256 /* tasks that are submitted and have not ended */

static long rounds;
static double from_s, to_s;
static _Atomic long counted, unfinished;
static volatile double sink;

static double clock_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void compute(long count) {
    double x = 1;
    for (long i = 0; i < count; i++) {
        x = x * 1.0000001 + 1e-9;
    }
    sink = x;
}

static void work(void **buffers, void *argument) {
    (void)buffers, (void)argument;
    compute(rounds);
    double now_s = clock_s();
    counted += now_s >= from_s && now_s < to_s;
    unfinished--;
}

static struct starpu_perfmodel model = {.type = STARPU_HISTORY_BASED, .symbol = "symph_busy"};
static struct starpu_codelet codelet = {.cpu_funcs = {work}, .name = "busy", .model = &model};

static double thousand_us(void) {
    double best_s = 1;
    for (int i = 0; i < 200; i++) {
        double start_s = clock_s();
        compute(100000);
        double took_s = clock_s() - start_s;
        best_s = took_s < best_s ? took_s : best_s;
    }
    return best_s * 1e4;
}

int main(int argc, char **argv) {
    if (argc < 4) {
        printf("%.6f\n", thousand_us());
        return 0;
    }
    rounds = atol(argv[1]);
    from_s = atof(argv[2]);
    to_s = atof(argv[3]);
    if (starpu_init(NULL)) {
        fputs("starpu_busy: StarPU does not start\n", stderr);
        return 1;
    }
    while (clock_s() < to_s) {
        if (unfinished >= AHEAD) {
            starpu_sleep(1e-4f);
            continue;
        }
        struct starpu_task *task = starpu_task_create();
        task->cl = &codelet;
        unfinished++;
        if (starpu_task_submit(task)) {
            fputs("starpu_busy: a task was refused\n", stderr);
            return 1;
        }
    }
    starpu_task_wait_for_all();
    starpu_shutdown();
    printf("%ld\n", counted);
    return 0;
}
