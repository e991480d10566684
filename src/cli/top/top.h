/* SPDX-License-Identifier: Apache-2.0
 *
 * top: what symph top has seen, and how it shows it.
 */
#ifndef SY_CLI_TOP_TOP_H
#define SY_CLI_TOP_TOP_H

#include "cli/cli.h"
#include "supervise/supervise.h"

/* All programs at one moment. */
struct sy_top {
    struct sy_arena *arena;
    double at_ns;
    struct sy_status_seen *programs;
    uint32_t count;
};

/* The share of time that a worker spent in tasks since then, or since its program's first task if
 * then is NULL or did not have it; NAN: not known. */
double sy_top_busy_ratio(const struct sy_top *now, const struct sy_top *then, uint32_t program,
                         uint32_t worker);
/* The same of all its workers. */
double sy_top_mean_ratio(const struct sy_top *now, const struct sy_top *then, uint32_t program);

/* At most rows lines. */
void sy_top_text(const struct sy_top *now, const struct sy_top *then, uint32_t rows,
                 struct sy_buffer *out);
int sy_top_json(const struct sy_top *now, const struct sy_top *then);

#endif
