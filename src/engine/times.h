/* SPDX-License-Identifier: Apache-2.0
 *
 * times: samples of kernels in memory, and their file (symph-times-1).
 *
 * In: samples. Out: one per source, kernel, class, width, costs and input, the newest; a file that
 * is replaced whole or not at all. Who merges holds a lock from reading to replacing, so that two
 * who save at once lose nothing.
 */
#ifndef SY_ENGINE_TIMES_H
#define SY_ENGINE_TIMES_H

#include "planner/pipeline.h"

#define SY_TIMES_MAX 8192 /* lines of a file that is kept between runs: the newest */

struct sy_times;
struct sy_times *sy_times_create(void);
void sy_times_destroy(struct sy_times *times);
uint32_t sy_times_count(const struct sy_times *times);
/* A sy_sample_visit, and what struct sy_stream_options.learned wants. Copies. */
SY_MUST_CHECK int sy_times_add(void *times, const struct sy_cost_sample *sample, const char *input);
void sy_times_write(const struct sy_times *times, struct sy_buffer *buffer);
/* All of them become the estimator's. */
SY_MUST_CHECK int sy_times_teach(const struct sy_times *times, struct sy_estimator *estimator);
/* Where this machine's are kept, beside its models (sy_store_open); "": nowhere. */
SY_MUST_CHECK int sy_times_path(const char *models, char *buffer, size_t size,
                                struct sy_error *error);
/* Those of the file, as far as these do not say better, and these; at most SY_TIMES_MAX. A damaged
 * file is set aside as .bad. */
SY_MUST_CHECK int sy_times_merge(const struct sy_times *times, const char *path,
                                 struct sy_error *error);

#endif
