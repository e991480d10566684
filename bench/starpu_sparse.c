/* SPDX-License-Identifier: Apache-2.0
 *
 * A program of the shape of a sparse solver: many short tasks on blocks that all differ in size, so
 * that hardly a footprint comes twice; an ordinary StarPU program, to be run under any scheduler.
 *
 * In: tasks, seed, blocks. Out: milliseconds from the first submission to the end of the last, and
 * to the last submission. A task updates one block from 2 to 4 that were updated
 * before, and computes for 2 to 30 us, the longer the larger its blocks are.
 */
#include <starpu.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define KINDS       4
#define BUFFERS_MAX 5
#define VALUES_MAX  4096u
#define VALUES_MIN  64u
#define WINDOW      64u /* blocks that a step of the elimination reads and updates */
#define SHORTEST_US 2.
#define SPREAD_US   28.

static void compute(void **buffers, void *argument) {
    const struct starpu_codelet *codelet = argument;
    double share = 1, start_us = starpu_timing_now();
    for (int b = 0; b < 2; b++) {
        share *= (double)STARPU_VECTOR_GET_NX(buffers[codelet->nbuffers - 1 - b]) / VALUES_MAX;
    }
    while (starpu_timing_now() < start_us + SHORTEST_US + SPREAD_US * share) {
    }
}

static struct starpu_perfmodel models[KINDS] = {
    {.type = STARPU_HISTORY_BASED, .symbol = "symph_sparse_0"},
    {.type = STARPU_HISTORY_BASED, .symbol = "symph_sparse_1"},
    {.type = STARPU_HISTORY_BASED, .symbol = "symph_sparse_2"},
    {.type = STARPU_HISTORY_BASED, .symbol = "symph_sparse_3"}};
static struct starpu_codelet codelets[KINDS];
static uint64_t state = 1;

/* splitmix64: the same tasks for the same seed, wherever it runs. */
static unsigned below(unsigned most) {
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (unsigned)((z ^ z >> 31) % most);
}

static int submit(starpu_data_handle_t *blocks, unsigned block_count, unsigned step) {
    struct starpu_codelet *codelet = &codelets[below(KINDS)];
    struct starpu_task *task = starpu_task_create();
    unsigned last = (unsigned)codelet->nbuffers - 1, first = step;
    task->cl = codelet;
    task->cl_arg = codelet;
    /* All different: StarPU refuses a datum that is read and written at once. */
    for (unsigned b = 0; b <= last; b++) {
        first += 1 + below(WINDOW / BUFFERS_MAX);
        task->handles[b] = blocks[first % block_count];
    }
    return starpu_task_submit(task);
}

static void prepare(starpu_data_handle_t *blocks, unsigned block_count, float *values) {
    for (int k = 0; k < KINDS; k++) {
        starpu_codelet_init(&codelets[k]);
        codelets[k].cpu_funcs[0] = compute;
        codelets[k].nbuffers = 3 + k % 3;
        codelets[k].model = &models[k];
        codelets[k].name = models[k].symbol;
        for (int b = 0; b < codelets[k].nbuffers; b++) {
            codelets[k].modes[b] = b == codelets[k].nbuffers - 1 ? STARPU_RW : STARPU_R;
        }
    }
    for (unsigned i = 0; i < block_count; i++) {
        starpu_vector_data_register(&blocks[i], STARPU_MAIN_RAM, (uintptr_t)values,
                                    VALUES_MIN + below(VALUES_MAX - VALUES_MIN), sizeof *values);
    }
}

int main(int argc, char **argv) {
    unsigned tasks = argc > 1 ? (unsigned)atoi(argv[1]) : 50000;
    unsigned block_count = argc > 3 ? (unsigned)atoi(argv[3]) : 4000;
    state = argc > 2 ? (uint64_t)atoll(argv[2]) : 1;
    float *values = calloc((size_t)VALUES_MAX, sizeof *values);
    starpu_data_handle_t *blocks = calloc(block_count + 1, sizeof(starpu_data_handle_t));
    if (!values || !blocks || block_count < WINDOW || starpu_init(NULL)) {
        fputs("usage: starpu_sparse [TASKS [SEED [BLOCKS]]]\n", stderr);
        return 2;
    }
    prepare(blocks, block_count, values);
    double start_us = starpu_timing_now();
    int code = 0;
    for (unsigned t = 0; t < tasks && !code; t++) {
        code = submit(blocks, block_count, (unsigned)((uint64_t)t * block_count / (tasks + 1)));
    }
    double submitted_us = starpu_timing_now();
    starpu_task_wait_for_all();
    printf("%.2f ms, submitted in %.2f ms\n", (starpu_timing_now() - start_us) / 1e3,
           (submitted_us - start_us) / 1e3);
    for (unsigned i = 0; i < block_count; i++) {
        starpu_data_unregister(blocks[i]);
    }
    starpu_shutdown();
    free(blocks);
    free(values);
    return code ? 1 : 0;
}
