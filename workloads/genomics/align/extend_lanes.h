/* SPDX-License-Identifier: Apache-2.0
 *
 * One pass of extend over a group of jobs, one job per lane of a vector. A template: extend_simd.c
 * includes it once per kind of vector, with these defined:
 *
 *   NAME(x)            the name of a function here     LANE           uint8_t or uint16_t
 *   VECTOR, WORD       of lanes; an integer with a bit per byte or lane
 *   TARGET             attribute of the functions      LANES
 *   SET, LOAD, STORE, ADD, SUBTRACT (saturating), LARGEST, SELECT(mask, yes, no), EQUAL (a MASK),
 *   BITS (of a MASK), MASK, FIVE_MORE(x, a, b): x, and 5 more where a = b
 *
 * The columns of the window are the outer loop. Reads end in the same row; those that are shorter
 * than the longest begin further down, where first gives their start 5. Two lanes' values never
 * meet, so each lane has exactly what extend.h says.
 */

/* D, H, E and F of one cell in all lanes; 4 words of back bits where back is set. */
#define CELL(before)                                                                               \
    do {                                                                                           \
        VECTOR old = LOAD(h + row * LANES), e = LOAD(gap + row * LANES);                           \
        VECTOR d = SUBTRACT(FIVE_MORE(before, LOAD(read + row * LANES), base), four);              \
        now = LARGEST(LARGEST(d, e), f);                                                           \
        top = LARGEST(top, now);                                                                   \
        VECTOR open = SUBTRACT(now, seven);                                                        \
        VECTOR e_next = LARGEST(SUBTRACT(e, one), open), f_next = LARGEST(SUBTRACT(f, one), open); \
        if (back) {                                                                                \
            WORD *words = back + row * 4;                                                          \
            words[0] = BITS(EQUAL(now, d));                                                        \
            words[1] = BITS(EQUAL(now, e));                                                        \
            words[2] = BITS(EQUAL(e_next, open));                                                  \
            words[3] = BITS(EQUAL(f_next, open));                                                  \
        }                                                                                          \
        STORE(h + row * LANES, now);                                                               \
        STORE(gap + row * LANES, e_next);                                                          \
        diagonal = old;                                                                            \
        f = f_next;                                                                                \
    } while (0)

/* One column; returns the largest V in it. */
TARGET static inline __attribute__((always_inline)) VECTOR NAME(column)(const struct group *group,
                                                                        VECTOR base, WORD *back) {
    const VECTOR one = SET(1), four = SET(4), five = SET(5), seven = SET(7), none = SET(0);
    const LANE *read = group->read, *first = group->first;
    LANE *h = group->h, *gap = group->gap;
    VECTOR diagonal = none, f = none, top = none, now = none;
    for (size_t row = 0; row < group->starts; row++) {
        CELL(ADD(diagonal, LOAD(first + row * LANES)));
    }
    for (size_t row = group->starts; row < group->rows; row++) {
        CELL(diagonal);
    }
    now = SELECT(EQUAL(now, none), none, ADD(now, five));
    return SELECT(EQUAL(base, SET(PAST_WINDOW)), none, LARGEST(top, now));
}
#undef CELL

/* The best score of each lane and the first column that has it. */
TARGET static void NAME(score)(struct group *group) {
    const LANE *window = group->window;
    VECTOR best = SET(0), low = SET(0), high = SET(0);
    for (size_t column = 0; column < group->columns; column++) {
        VECTOR top = NAME(column)(group, LOAD(window + column * LANES), NULL);
        VECTOR better = LARGEST(top, best);
        MASK kept = EQUAL(better, best);
        low = SELECT(kept, low, SET((char)(column & 255)));
        high = SELECT(kept, high, SET((char)(column >> 8)));
        best = better;
    }
    LANE scores[LANES], lows[LANES], highs[LANES];
    STORE(scores, best);
    STORE(lows, low);
    STORE(highs, high);
    for (uint32_t lane = 0; lane < LANES; lane++) {
        group->lanes[lane].score = scores[lane];
        group->lanes[lane].column = (lows[lane] & 255u) | (highs[lane] & 255u) << 8;
    }
}

/* The row where each lane's alignment ends, which is in its last column. */
static void NAME(end)(struct group *group, size_t column) {
    const LANE *h = group->h;
    for (uint32_t at = 0; at < LANES; at++) {
        struct lane *lane = &group->lanes[at];
        if (lane->width != column + 1) {
            continue;
        }
        size_t row = group->rows - 1;
        if (h[row * LANES + at] + GN_SCORE_END != lane->score) {
            do {
                row--;
            } while (row > 0 && h[row * LANES + at] != lane->score);
        }
        lane->row = (uint32_t)row;
    }
}

/* The same again, with the way back. */
TARGET static void NAME(fill)(struct group *group) {
    const LANE *window = group->window;
    WORD *back = group->back;
    for (size_t column = 0; column < group->columns; column++) {
        NAME(column)(group, LOAD(window + column * LANES), back);
        back += group->rows * 4;
        if (column + 1 >= group->shortest) {
            NAME(end)(group, column);
        }
    }
}

/* The way back of one lane. */
static void NAME(trace)(const struct group *group, uint32_t at, uint32_t window,
                        struct gn_extension *out) {
    const struct lane *lane = &group->lanes[at];
    const LANE *read = group->read, *bases = group->window;
    size_t before = group->rows - lane->length;
    uint32_t shift = at * (uint32_t)(8 * sizeof(WORD) / LANES);
    struct gn_walk walk;
    gn_walk_begin(&walk, (uint32_t)(lane->row - before + 1), lane->width, lane->length,
                  lane->score);
    while (gn_walk_goes_on(&walk)) {
        size_t row = before + walk.row - 1, column = walk.column - 1;
        const WORD *words = (const WORD *)group->back + (column * group->rows + row) * 4;
        uint32_t bits = (uint32_t)(words[0] >> shift & 1) | (uint32_t)(words[1] >> shift & 1) << 1 |
                        (uint32_t)(~words[2] >> shift & 1) << 2 |
                        (uint32_t)(~words[3] >> shift & 1) << 3;
        bool equal = read[row * LANES + at] == bases[column * LANES + at];
        gn_walk_step(&walk, bits, equal, out);
    }
    gn_walk_finish(&walk, window, lane->width, lane->score, out);
}

#undef NAME
#undef LANE
#undef LANES
#undef VECTOR
#undef WORD
#undef MASK
#undef TARGET
#undef SET
#undef LOAD
#undef STORE
#undef ADD
#undef SUBTRACT
#undef LARGEST
#undef SELECT
#undef EQUAL
#undef BITS
#undef FIVE_MORE
