/* SPDX-License-Identifier: Apache-2.0
 *
 * What all variants of extend share, in C and on a GPU: the way back through the matrix.
 *
 * Each cell (i, j), counted from 1, has GN_BACK_ bits. A variant finds the last cell and its score,
 * then feeds the walk with the bits of the cell it stands on until the walk has ended.
 */
#ifndef GENOMICS_EXTEND_RULE_H
#define GENOMICS_EXTEND_RULE_H

#include "genomics/align/map_rule.h"

enum {
    GN_BACK_MATCH = 1,       /* H = D */
    GN_BACK_DELETE = 2,      /* H = E; asked only where H is not D */
    GN_BACK_KEEP_DELETE = 4, /* E - 1 > H - 7: a deletion to the right of here goes on */
    GN_BACK_KEEP_INSERT = 8, /* F - 1 > H - 7: the same for an insertion below */
};
enum { GN_SCORE_LANES_8 = 240 }; /* longest read whose scores fit into 8 bits */

struct gn_walk {
    uint32_t row, column; /* where it stands; 0: before the first base */
    int32_t value;        /* of what it stands on: H, or E or F within a gap */
    uint32_t state;       /* GN_MATCH: H; GN_DELETE: E; GN_INSERT: F */
    uint32_t operation, run, count, edits;
};

/* Columns of the window, up to the one where the alignment ends, that it can lie in. */
GN_BOTH uint32_t gn_walk_reach(uint32_t length, int32_t score) {
    int32_t deleted = (int32_t)length + 4 - score;
    return length + (deleted > 0 ? (uint32_t)deleted : 0);
}

/* The cell where the alignment ends, and V there. */
GN_BOTH void gn_walk_begin(struct gn_walk *walk, uint32_t row, uint32_t column, uint32_t length,
                           int32_t score) {
    walk->row = row;
    walk->column = column;
    walk->value = score - (row == length ? 5 : 0);
    walk->state = GN_MATCH;
    walk->operation = GN_CLIP;
    walk->run = length - row;
    walk->count = walk->edits = 0;
}

GN_BOTH bool gn_walk_goes_on(const struct gn_walk *walk) {
    return walk->state != GN_MATCH || (walk->row > 0 && walk->value > 0);
}

/* The cigar is written from its end; gn_walk_finish turns it. */
GN_BOTH void gn_walk_put(struct gn_walk *walk, uint32_t operation, struct gn_extension *out) {
    if (walk->operation != operation) {
        if (walk->run > 0) {
            if (walk->count < GN_CIGAR_MAX) {
                out->cigar[walk->count] = walk->run << 4 | walk->operation;
            }
            walk->count++;
        }
        walk->operation = operation;
        walk->run = 0;
    }
}

/* bits of the cell it stands on; equal: whether the bases of that cell match. */
GN_BOTH void gn_walk_step(struct gn_walk *walk, uint32_t bits, bool equal,
                          struct gn_extension *out) {
    if (walk->state != GN_MATCH) { /* it came here through a gap: does that begin here? */
        uint32_t keep = walk->state == GN_DELETE ? GN_BACK_KEEP_DELETE : GN_BACK_KEEP_INSERT;
        bool goes_on = (bits & keep) != 0;
        walk->value += goes_on ? 1 : 7;
        walk->state = goes_on ? walk->state : (uint32_t)GN_MATCH;
    }
    uint32_t operation = walk->state;
    if (operation == GN_MATCH && !(bits & GN_BACK_MATCH)) {
        operation = walk->state = bits & GN_BACK_DELETE ? GN_DELETE : GN_INSERT;
    }
    gn_walk_put(walk, operation, out);
    walk->run++;
    walk->edits += operation != GN_MATCH || !equal;
    walk->value += operation != GN_MATCH ? 0 : equal ? -1 : 4;
    walk->row -= operation != GN_DELETE;
    walk->column -= operation != GN_INSERT;
}

/* window: global position of column 1; end: the column where the alignment ends. */
GN_BOTH void gn_walk_finish(struct gn_walk *walk, uint32_t window, uint32_t end, int32_t score,
                            struct gn_extension *out) {
    gn_walk_put(walk, GN_CLIP, out);
    walk->run = walk->row;
    gn_walk_put(walk, GN_CLIP + 1, out);
    uint32_t count = walk->count <= GN_CIGAR_MAX ? walk->count : 0;
    for (uint32_t at = 0; at < count / 2; at++) {
        uint32_t other = out->cigar[at];
        out->cigar[at] = out->cigar[count - 1 - at];
        out->cigar[count - 1 - at] = other;
    }
    for (uint32_t at = count; at < GN_CIGAR_MAX; at++) {
        out->cigar[at] = 0;
    }
    out->score = (int16_t)score;
    out->edits = (uint16_t)walk->edits;
    out->position = window + walk->column;
    out->span = end - walk->column;
    out->cigar_count = count;
}

#endif
