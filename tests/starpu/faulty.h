/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two halves of the test plug-in share.
 */
#ifndef FAULTY_H
#define FAULTY_H

#include <symph/kernel.h>
#include <symph/session.h>

#define ELEMENTS     1024
#define NAME_MAX_LEN 32
#define CHAIN_MAX    64

struct state {
    char kernel[NAME_MAX_LEN];
    char hang[NAME_MAX_LEN]; /* the step that never ends; "": none */
    unsigned chains, tasks, at, wrong;
    struct sy_graph *graph;
};

/* "chains=2,tasks=8,kernel=crash,at=3,wrong=1,hang=check" */
int read_arguments(const char *text, struct state *state);
/* Chains of calls that are split, placed, or left to the policy, in turns (faulty_parts.c). */
int drive_parts(const char *arguments, struct sy_session *session, struct sy_error *error);
int drive_session(const char *arguments, struct sy_session *session, struct sy_error *error);

/* faulty_wild.c */
int overrun_c(const struct sy_call *call);
int underrun_c(const struct sy_call *call);
int flood_c(const struct sy_call *call);
int litter_c(const struct sy_call *call);
int litter_hang_c(const struct sy_call *call);
void hang_at(const struct state *state, const char *step);

/* faulty_line.c */
int plus_c(const struct sy_call *call);
int plus_opencl(const struct sy_call *call);
int plus_prepare(const struct sy_call *call);
extern const struct sy_kernel_pipeline line_pipeline;

#endif
