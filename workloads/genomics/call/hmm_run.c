/* SPDX-License-Identifier: Apache-2.0
 *
 * PairHMM: which pairs share a vector.
 *
 * Reads of a region, the longest first, fill groups that meet each haplotype in turn. A group that
 * would be mostly padding goes into a pool of single pairs, which are sorted by size and computed
 * in groups whose haplotypes are mixed: that costs some more instructions, but no padding.
 */
#include "genomics/call/hmm.h"
#include "genomics/call/hmm_rows.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { POOL = 4096 };

struct pair {
    uint64_t size; /* rows in tiles, then columns */
    uint32_t read, haplotype, sum;
};

struct run {
    const struct gn_hmm *blob;
    const struct gn_hmm_variant *wide, *narrow; /* may be the same */
    const struct gn_hmm_variant *variant;       /* the one in use */
    float *sums;
    struct gn_hmm_room room;
    struct gn_hmm_row rows[GN_READ_MAX];
    uint32_t *order; /* reads of one region, the longest first */
    struct pair *pool;
    uint32_t pool_count;
    uint32_t longest_read, longest_haplotype, most_reads;
};

static const struct gn_hmm_region *regions(const struct gn_hmm *blob) {
    return gn_at(blob, blob->regions);
}

/* --- is the blob what it says ---------------------------------------------------------------- */

static bool inside(const struct gn_hmm *blob, uint64_t offset, uint64_t bytes) {
    return offset <= blob->bytes && bytes <= blob->bytes - offset;
}

static int check_regions(struct run *run) {
    const struct gn_hmm *blob = run->blob;
    uint64_t sum = 0;
    if (!inside(blob, blob->regions, sizeof(struct gn_hmm_region) * (uint64_t)blob->region_count)) {
        return -EINVAL;
    }
    for (uint32_t at = 0; at < blob->region_count; at++) {
        const struct gn_hmm_region *region = &regions(blob)[at];
        if (region->sum != sum || region->read > blob->read_count ||
            region->read_count > blob->read_count - region->read ||
            region->haplotype > blob->haplotype_count ||
            region->haplotype_count > blob->haplotype_count - region->haplotype) {
            return -EINVAL;
        }
        sum += (uint64_t)region->read_count * region->haplotype_count;
        run->most_reads =
            region->read_count > run->most_reads ? region->read_count : run->most_reads;
        if (sum > UINT32_MAX) {
            return -EINVAL;
        }
    }
    return sum == blob->sum_count ? 0 : -EINVAL;
}

static int check_reads(struct run *run) {
    const struct gn_hmm *blob = run->blob;
    if (!inside(blob, blob->reads, sizeof(struct gn_hmm_read) * (uint64_t)blob->read_count)) {
        return -EINVAL;
    }
    for (uint32_t at = 0; at < blob->read_count; at++) {
        const struct gn_hmm_read *read = gn_hmm_read(blob, at);
        uint64_t end = (uint64_t)read->bases + read->length;
        if (read->length > GN_READ_MAX || !inside(blob, blob->read_bases, end) ||
            !inside(blob, blob->read_qualities, end) || !inside(blob, blob->read_gaps, end)) {
            return -EINVAL;
        }
        run->longest_read = read->length > run->longest_read ? read->length : run->longest_read;
    }
    return 0;
}

static int check_haplotypes(struct run *run) {
    const struct gn_hmm *blob = run->blob;
    if (!inside(blob, blob->haplotypes,
                sizeof(struct gn_hmm_haplotype) * (uint64_t)blob->haplotype_count)) {
        return -EINVAL;
    }
    for (uint32_t at = 0; at < blob->haplotype_count; at++) {
        uint32_t bases_at = gn_hmm_haplotype(blob, at)->bases;
        uint32_t length = gn_hmm_haplotype(blob, at)->length;
        if (length > GN_HMM_HAPLOTYPE_MAX ||
            !inside(blob, blob->haplotype_bases, (uint64_t)bases_at + length)) {
            return -EINVAL;
        }
        const uint8_t *bases = gn_hmm_haplotype_bases(blob, at);
        uint8_t largest = 0;
        for (uint32_t j = 0; j < length; j++) {
            largest = largest > bases[j] ? largest : bases[j];
        }
        if (largest > 4) {
            return -EINVAL;
        }
        run->longest_haplotype = length > run->longest_haplotype ? length : run->longest_haplotype;
    }
    return 0;
}

/* --- groups ---------------------------------------------------------------------------------- */

/* Bit 31 - b: base b agrees with this one. N, base 4, agrees with all. */
static uint32_t agreement(uint32_t base) {
    return base > 3 ? 0xf8000000u : 0x80000000u >> base | 0x08000000u;
}

static void store_row(float *to, uint32_t lanes, const struct gn_hmm_row *row, float next_g,
                      bool is_mixed) {
    if (is_mixed) {
        uint32_t word = agreement(row->base);
        to[0] = row->match;
        to[lanes] = row->mismatch;
        memcpy(&to[2 * lanes], &word, sizeof(word));
    } else {
        for (uint32_t base = 0; base < 4; base++) {
            to[base * lanes] = row->mismatch;
        }
        to[row->base * lanes] = row->match;
        to[4 * lanes] = row->match;
    }
    to[GN_HMM_K * lanes] = row->next_match;
    to[GN_HMM_C * lanes] = row->deletion;
    to[GN_HMM_G * lanes] = next_g;
}

/* Lays a tile's rows of a read into its lane, and behind its last rows that hand on what
 * comes. */
static void load_lane(struct run *run, const struct gn_hmm_group *group, uint32_t lane,
                      uint32_t first, bool is_mixed) {
    static const struct gn_hmm_row none;
    uint32_t lanes = run->variant->lanes;
    float *to = run->room.rows + (size_t)first * GN_HMM_ROW_VECTORS * lanes + lane;
    const struct gn_hmm_read *read =
        lane < group->count ? gn_hmm_read(run->blob, group->read[lane]) : NULL;
    uint32_t length = read ? read->length : 0;
    for (uint32_t at = first; at < first + run->variant->tile; at++) {
        if (at < length) {
            struct gn_hmm_row row = gn_hmm_row(run->blob, read, at);
            store_row(to, lanes, &row, at + 1 < length ? run->blob->continuation : 1.0f, is_mixed);
        } else {
            store_row(to, lanes, &none, 1.0f, is_mixed);
        }
        to += GN_HMM_ROW_VECTORS * lanes;
    }
}

/* A tile of rows at a time, which stays in the nearest cache while all lanes are laid into it. */
static void load_group(struct run *run, struct gn_hmm_group *group, bool is_mixed) {
    uint32_t tile = run->variant->tile, longest = 0;
    for (uint32_t lane = 0; lane < group->count; lane++) {
        uint32_t length = gn_hmm_read(run->blob, group->read[lane])->length;
        longest = length > longest ? length : longest;
    }
    group->row_count = (longest + tile - 1) / tile * tile;
    for (uint32_t first = 0; first < group->row_count; first += tile) {
        for (uint32_t lane = 0; lane < run->variant->lanes; lane++) {
            load_lane(run, group, lane, first, is_mixed);
        }
    }
}

/* --- single pairs ---------------------------------------------------------------------------- */

static int larger_first(const void *left, const void *right) {
    const struct pair *a = left, *b = right;
    if (a->size != b->size) {
        return a->size < b->size ? 1 : -1;
    }
    return a->sum < b->sum ? -1 : 1;
}

static void drain_pool(struct run *run) {
    const struct gn_hmm_variant *variant = run->variant;
    struct gn_hmm_group group = {0};
    float out[GN_HMM_LANES_MAX];
    qsort(run->pool, run->pool_count, sizeof(*run->pool), larger_first);
    for (uint32_t first = 0; first < run->pool_count; first += variant->lanes) {
        uint32_t left = run->pool_count - first;
        group.count = left < variant->lanes ? left : variant->lanes;
        for (uint32_t lane = 0; lane < group.count; lane++) {
            group.read[lane] = run->pool[first + lane].read;
            group.haplotype[lane] = run->pool[first + lane].haplotype;
        }
        load_group(run, &group, true);
        variant->mixed(run->blob, &group, &run->room, out);
        for (uint32_t lane = 0; lane < group.count; lane++) {
            run->sums[run->pool[first + lane].sum] = out[lane];
        }
    }
    run->pool_count = 0;
}

static void pool_pair(struct run *run, uint32_t read, uint32_t haplotype, uint32_t sum) {
    uint32_t tile = run->variant->tile;
    uint64_t rows = gn_hmm_read(run->blob, read)->length;
    uint64_t columns = gn_hmm_haplotype(run->blob, haplotype)->length;
    if (run->pool_count == POOL) {
        drain_pool(run);
    }
    run->pool[run->pool_count++] =
        (struct pair){(rows + tile - 1) / tile << 32 | columns, read, haplotype, sum};
}

/* --- regions --------------------------------------------------------------------------------- */

static uint32_t sum_of(const struct gn_hmm_region *region, uint32_t read, uint32_t haplotype) {
    return region->sum + (read - region->read) * region->haplotype_count + haplotype;
}

static void run_group(struct run *run, const struct gn_hmm_region *region, const uint32_t *reads,
                      uint32_t count) {
    const struct gn_hmm_variant *variant = run->variant;
    struct gn_hmm_group group = {.count = count};
    uint64_t rows = 0, longest = gn_hmm_read(run->blob, reads[0])->length;
    float out[GN_HMM_LANES_MAX];
    for (uint32_t lane = 0; lane < count; lane++) {
        group.read[lane] = reads[lane];
        rows += gn_hmm_read(run->blob, reads[lane])->length;
    }
    bool is_mixed = 3 * rows < 2 * longest * variant->lanes;
    if (!is_mixed) {
        load_group(run, &group, false);
    }
    for (uint32_t at = 0; at < region->haplotype_count; at++) {
        group.haplotype[0] = region->haplotype + at;
        if (!is_mixed) {
            variant->alike(run->blob, &group, &run->room, out);
        }
        for (uint32_t lane = 0; lane < count; lane++) {
            if (is_mixed) {
                pool_pair(run, reads[lane], group.haplotype[0], sum_of(region, reads[lane], at));
            } else {
                run->sums[sum_of(region, reads[lane], at)] = out[lane];
            }
        }
    }
}

/* The region's reads, the longest first: by counting. */
static void order_reads(struct run *run, const struct gn_hmm_region *region) {
    uint32_t first[GN_READ_MAX + 2] = {0};
    for (uint32_t at = 0; at < region->read_count; at++) {
        first[GN_READ_MAX - gn_hmm_read(run->blob, region->read + at)->length + 1]++;
    }
    for (uint32_t length = 0; length <= GN_READ_MAX; length++) {
        first[length + 1] += first[length];
    }
    for (uint32_t at = 0; at < region->read_count; at++) {
        uint32_t read = region->read + at;
        run->order[first[GN_READ_MAX - gn_hmm_read(run->blob, read)->length]++] = read;
    }
}

/* Wide vectors only for batches that fill them, and then for all groups: where a part of them is
 * padding, or wide and narrow ones take turns, narrow ones alone were measured to be faster. */
static bool fills_wide(struct run *run) {
    uint64_t rows = 0, padded = 0;
    for (uint32_t at = 0; run->wide != run->narrow && at < run->blob->region_count; at++) {
        const struct gn_hmm_region *region = &regions(run->blob)[at];
        order_reads(run, region);
        for (uint32_t i = 0; i < region->read_count; i++) {
            uint64_t length = gn_hmm_read(run->blob, run->order[i])->length;
            rows += length;
            padded += i % run->wide->lanes == 0 ? length * run->wide->lanes : 0;
        }
    }
    return 20 * rows >= 19 * padded;
}

static void run_vectors(struct run *run) {
    run->variant = fills_wide(run) ? run->wide : run->narrow;
    for (uint32_t at = 0; at < run->blob->region_count; at++) {
        const struct gn_hmm_region *region = &regions(run->blob)[at];
        order_reads(run, region);
        for (uint32_t first = 0; first < region->read_count; first += run->variant->lanes) {
            uint32_t left = region->read_count - first;
            run_group(run, region, run->order + first,
                      left < run->variant->lanes ? left : run->variant->lanes);
        }
    }
    drain_pool(run);
}

static void run_plain(struct run *run) {
    for (uint32_t at = 0; at < run->blob->region_count; at++) {
        const struct gn_hmm_region *region = &regions(run->blob)[at];
        for (uint32_t read = region->read; read < region->read + region->read_count; read++) {
            gn_hmm_rows(run->blob, read, run->rows);
            for (uint32_t haplotype = 0; haplotype < region->haplotype_count; haplotype++) {
                run->sums[sum_of(region, read, haplotype)] =
                    gn_hmm_plain(run->blob, region->haplotype + haplotype, run->rows,
                                 gn_hmm_read(run->blob, read)->length);
            }
        }
    }
}

static int make_room(struct run *run) {
    size_t vector = run->wide->lanes * sizeof(float);
    size_t rows = gn_round((run->longest_read + GN_HMM_TILE_MAX) * GN_HMM_ROW_VECTORS * vector);
    size_t columns = gn_round((run->longest_haplotype + 1) * 2 * vector);
    size_t bases = gn_round((run->longest_haplotype + 1) * vector);
    size_t pool = gn_round(POOL * sizeof(struct pair));
    size_t order = gn_round(run->most_reads * sizeof(uint32_t));
    char *room = aligned_alloc(GN_ALIGN, rows + columns + bases + pool + order);
    if (!room) {
        return -ENOMEM;
    }
    memset(room, 0, rows + columns + bases);
    run->room.rows = (float *)(void *)room;
    run->room.columns = (float *)(void *)(room + rows);
    run->room.bases = (int32_t *)(void *)(room + rows + columns);
    run->pool = (struct pair *)(void *)(room + rows + columns + bases);
    run->order = (uint32_t *)(void *)(room + rows + columns + bases + pool);
    return 0;
}

static void choose_variants(struct run *run, enum guest_simd level) {
#if defined(__x86_64__)
    if (level > GUEST_PLAIN) {
        run->narrow = &gn_hmm_avx2;
        run->wide = level == GUEST_AVX512 ? &gn_hmm_avx512 : run->narrow;
    }
#else
    (void)run, (void)level;
#endif
}

int gn_hmm_run(const struct gn_hmm *blob, float *sums, enum guest_simd level) {
    struct run run = {.blob = blob, .sums = sums};
    choose_variants(&run, level);
    int code = check_regions(&run);
    code = code ? code : check_reads(&run);
    code = code ? code : check_haplotypes(&run);
    code = code || !run.wide ? code : make_room(&run);
    if (code) {
        return code;
    }
#if defined(__x86_64__)
    /* Denormals as zero: they would cost a hundred times as much. */
    uint32_t control = _mm_getcsr();
    _mm_setcsr(control | 0x8040);
#endif
    if (run.wide) {
        run_vectors(&run);
    } else {
        run_plain(&run);
    }
#if defined(__x86_64__)
    _mm_setcsr(control);
#endif
    free(run.room.rows);
    return 0;
}
