/* SPDX-License-Identifier: Apache-2.0
 *
 * Work that is done one item after the other, on the caller's own thread.
 */
#ifndef SY_TESTS_TRAIN_PARALLEL_H
#define SY_TESTS_TRAIN_PARALLEL_H

#include "train/train.h"

static inline int run_in_turn(void *pool, uint32_t item_count, sy_work *work, void *context,
                              struct sy_error *error) {
    int code = 0;
    (void)pool;
    for (uint32_t i = 0; i < item_count && !code; i++) {
        code = work(context, 0, i, error);
    }
    return code;
}

static inline struct sy_parallel parallel_none(void) {
    return (struct sy_parallel){.worker_count = 1, .run = run_in_turn};
}

#endif
