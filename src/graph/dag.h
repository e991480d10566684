/* SPDX-License-Identifier: Apache-2.0
 *
 * One graph of a .dag file as its lines say it, before stages become tasks.
 */
#ifndef SY_GRAPH_DAG_H
#define SY_GRAPH_DAG_H

#include "graph/internal.h"

#define SY_DAG_ALL_TO_ALL 1024 /* more instance edges than this go through one sync task */

struct sy_dag_stage {
    const char *type; /* in the text, type_length long */
    uint32_t type_length;
    uint32_t line;       /* 0: not seen yet */
    uint32_t task_count; /* tasks it becomes */
    uint32_t first_task;
    double seconds; /* of each of those tasks */
};

struct sy_dag_edge {
    uint32_t from, to; /* stages */
    uint32_t line;
    uint32_t first_datum;
    uint32_t sync; /* task, or SY_NONE: all to all */
    double bytes;
};

struct sy_dag {
    const char *name; /* in the text */
    uint32_t name_length;
    uint32_t line, column; /* of the name */
    uint32_t stage_count, edge_count, stages_seen, edges_declared;
    uint32_t stage_capacity, edge_capacity;
    struct sy_dag_stage *stages;
    struct sy_dag_edge *edges;
};

/* Makes the sealed graph. The error has the line of the edge or graph at fault. */
SY_MUST_CHECK int sy_dag_expand(struct sy_dag *dag, const char *file, struct sy_graph **ret_graph,
                                struct sy_error *error);

#endif
