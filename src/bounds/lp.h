/* SPDX-License-Identifier: Apache-2.0
 *
 * The mixed LP's inside: its text, the solver process, the proof; private to this room.
 *
 * Task t runs a share x_tc on class c and completes at C_t; M is the makespan:
 *   min M;  C_v >= C_u + sum_c x_vc t_vc on edges;  sum_c x_tc = 1;
 *   sum_t x_tc t_tc <= M devices_c;  C_t <= M.
 * The solver is not trusted. Its dual values, repaired to be exactly feasible, prove a bound by
 * weak duality (lp_prove.c), whatever its tolerances, printed digits or mistakes.
 */
#ifndef SY_BOUNDS_LP_H
#define SY_BOUNDS_LP_H

#include "bounds/bounds.h"

/* Which rows the solver's numbers belong to. Row r of the text (from 0) is named R<r>. */
struct sy_lp {
    const struct sy_workload *workload;
    double unit_ns; /* times are written in it, so that the optimum is near 1 */
    uint32_t row_count, row_capacity;
    uint32_t *row_slot; /* where the dual of a row goes in dual[]; SY_NONE: not needed */
    uint32_t slot_count;
    double *dual; /* classes, then edges (by place in workload->pred), then tasks (sinks) */
};

/* -ENOMEM. On success ret_text holds the LP in CPLEX LP format. */
SY_MUST_CHECK int sy_lp_init(struct sy_lp *lp, const struct sy_workload *workload, double unit_ns,
                             struct sy_buffer *ret_text);
void sy_lp_finish(struct sy_lp *lp);

/* The bound that lp->dual proves; 0 if it proves nothing. Changes lp->dual. -ENOMEM. */
SY_MUST_CHECK int sy_lp_prove(struct sy_lp *lp, double *ret_bound_ns);

/* Runs an installed solver on the text and reads its dual values into lp->dual.
 * -ENOENT: no solver; -ETIME: it took longer; -EIO: it failed; -ECANCELED. */
SY_MUST_CHECK int sy_lp_solve(struct sy_lp *lp, const struct sy_buffer *text, double time_limit_s,
                              bool (*stop)(void), struct sy_error *error);

/* Runs argv[0] (a path) without a shell, in its own process group, its output kept in log up to
 * log_size - 1 characters. At the time limit, or when stop (NULL: never) says so, the whole
 * group is killed: -ETIME, -ECANCELED.
 * -ENOENT or another errno if it cannot start; -EIO if it exits with anything but 0. */
SY_MUST_CHECK int sy_lp_process(const char *const *argv, double time_limit_s, bool (*stop)(void),
                                char *log, size_t log_size);

#endif
