/* SPDX-License-Identifier: Apache-2.0
 *
 * A WfFormat workflow as tables, between the reader and the graph.
 */
#ifndef SY_GRAPH_WFFORMAT_H
#define SY_GRAPH_WFFORMAT_H

#include "graph/internal.h"

struct sy_wf_task {
    const char *id, *name, *category, *program; /* NULL: not given */
    double seconds;                             /* negative: not given */
    uint32_t line, column;
    uint32_t ref_start, ref_end; /* its references */
};

enum sy_wf_ref_kind { SY_WF_PARENT, SY_WF_CHILD, SY_WF_INPUT, SY_WF_OUTPUT };

struct sy_wf_ref {
    enum sy_wf_ref_kind kind;
    const char *text;
    uint32_t line, column;
    double bytes; /* of a file named in place; negative: not given */
};

struct sy_wf_file {
    const char *id;
    double bytes;
};

struct sy_wf {
    const char *file; /* for errors */
    struct sy_error *error;
    struct sy_arena *arena; /* every string */
    const char *name;
    bool is_split; /* 1.5 and later: what was run apart from what was specified, references by id */
    struct sy_wf_task *tasks, *runs;
    struct sy_wf_ref *refs;
    struct sy_wf_file *files;
    uint32_t task_count, run_count, ref_count, file_count;
    uint32_t task_capacity, run_capacity, ref_capacity, file_capacity;
};

SY_MUST_CHECK int sy_wf_build(struct sy_wf *wf, struct sy_graph **ret_graph);

#endif
