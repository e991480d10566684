/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside PairHMM: one variant with vectors, for whoever includes this with LANES, TILE, VECTOR and
 * the operations defined. See hmm.h for the recurrence.
 *
 * TILE rows go together from the first column to the last with M, D and X in registers; between
 * tiles, X and I of the next row are kept by column.
 */

/* x: X of the tile's first row in the column before the first. */
TARGET static void tile_alike(const VECTOR *rows, const uint8_t *bases, uint32_t length, VECTOR g,
                              VECTOR x, VECTOR *columns) {
    VECTOR m[TILE], d[TILE], in[TILE + 1];
    in[0] = x;
    UNROLL for (int r = 0; r < TILE; r++) {
        m[r] = d[r] = in[r + 1] = ZERO();
    }
    for (uint32_t j = 0; j < length; j++) {
        const VECTOR *p = rows + bases[j];
        VECTOR next[TILE], i = columns[2 * j + 1];
        UNROLL for (int r = 0; r < TILE; r++) {
            const VECTOR *row = rows + r * GN_HMM_ROW_VECTORS;
            d[r] = FMA(g, d[r], m[r]);
            m[r] = MUL(p[r * GN_HMM_ROW_VECTORS], in[r]);
            next[r] = FMA(row[GN_HMM_K], m[r], FMA(row[GN_HMM_C], d[r], i));
            i = FMA(row[GN_HMM_G], i, m[r]);
        }
        in[0] = columns[2 * j];
        UNROLL for (int r = 0; r + 1 < TILE; r++) {
            in[r + 1] = next[r];
        }
        columns[2 * j] = next[TILE - 1];
        columns[2 * j + 1] = i;
    }
}

/* The same with a vector of haplotype bases for each column. */
TARGET static void tile_mixed(const VECTOR *rows, const INTEGERS *bases, uint32_t length, VECTOR g,
                              VECTOR x, VECTOR *columns) {
    VECTOR m[TILE], d[TILE], in[TILE + 1];
    in[0] = x;
    UNROLL for (int r = 0; r < TILE; r++) {
        m[r] = d[r] = in[r + 1] = ZERO();
    }
    for (uint32_t j = 0; j < length; j++) {
        VECTOR next[TILE], i = columns[2 * j + 1];
        INTEGERS base = bases[j];
        UNROLL for (int r = 0; r < TILE; r++) {
            const VECTOR *row = rows + r * GN_HMM_ROW_VECTORS;
            d[r] = FMA(g, d[r], m[r]);
            m[r] = MUL(CHOOSE(row, base), in[r]);
            next[r] = FMA(row[GN_HMM_K], m[r], FMA(row[GN_HMM_C], d[r], i));
            i = FMA(row[GN_HMM_G], i, m[r]);
        }
        in[0] = columns[2 * j];
        UNROLL for (int r = 0; r + 1 < TILE; r++) {
            in[r + 1] = next[r];
        }
        columns[2 * j] = next[TILE - 1];
        columns[2 * j + 1] = i;
    }
}

TARGET static void start(VECTOR *columns, uint32_t length) {
    for (uint32_t j = 0; j < length; j++) {
        columns[2 * j] = SET(GN_HMM_START);
        columns[2 * j + 1] = ZERO();
    }
}

TARGET static void alike(const struct gn_hmm *blob, const struct gn_hmm_group *group,
                         const struct gn_hmm_room *room, float *out) {
    const uint8_t *bases = gn_hmm_haplotype_bases(blob, group->haplotype[0]);
    uint32_t length = gn_hmm_haplotype(blob, group->haplotype[0])->length;
    const VECTOR *rows = (const VECTOR *)(const void *)room->rows;
    VECTOR *columns = (VECTOR *)(void *)room->columns;
    VECTOR g = SET(blob->continuation), sum = ZERO();
    start(columns, length);
    for (uint32_t row = 0; row < group->row_count; row += TILE) {
        tile_alike(rows + row * GN_HMM_ROW_VECTORS, bases, length, g,
                   row == 0 ? SET(GN_HMM_START) : ZERO(), columns);
    }
    for (uint32_t j = 0; j < length; j++) {
        sum = ADD(sum, columns[2 * j + 1]);
    }
    STORE(out, sum);
}

TARGET static void mixed(const struct gn_hmm *blob, const struct gn_hmm_group *group,
                         const struct gn_hmm_room *room, float *out) {
    const VECTOR *rows = (const VECTOR *)(const void *)room->rows;
    VECTOR *columns = (VECTOR *)(void *)room->columns;
    VECTOR g = SET(blob->continuation);
    uint32_t longest = 0;
    for (uint32_t lane = 0; lane < LANES; lane++) {
        uint32_t haplotype = group->haplotype[lane < group->count ? lane : 0];
        const uint8_t *bases = gn_hmm_haplotype_bases(blob, haplotype);
        uint32_t length = gn_hmm_haplotype(blob, haplotype)->length;
        longest = length > longest ? length : longest;
        for (uint32_t j = 0; j < length; j++) {
            room->bases[j * LANES + lane] = CODE(bases[j]);
        }
    }
    start(columns, longest);
    for (uint32_t row = 0; row < group->row_count; row += TILE) {
        tile_mixed(rows + row * GN_HMM_ROW_VECTORS, (const INTEGERS *)(const void *)room->bases,
                   longest, g, row == 0 ? SET(GN_HMM_START) : ZERO(), columns);
    }
    for (uint32_t lane = 0; lane < group->count; lane++) {
        uint32_t length = gn_hmm_haplotype(blob, group->haplotype[lane])->length;
        float sum = 0;
        for (uint32_t j = 0; j < length; j++) {
            sum += room->columns[(2 * j + 1) * LANES + lane];
        }
        out[lane] = sum;
    }
}
