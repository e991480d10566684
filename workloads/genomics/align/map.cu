/* SPDX-License-Identifier: Apache-2.0
 *
 * map on a GPU: one warp a read; see map.h and map_rule.h. The same hits as map.c.
 *
 * Lists live in shared memory. What is found in whatever order is sorted before it is used, and the
 * last step gives every hit its rank in a total order, so no thread's haste shows in the result.
 */
#include "genomics/align/map_cuda.h"
#include "genomics/align/map_rule.h"

enum {
    WARP = 32,
    WARPS = 4, /* of a block */
    WORDS = GN_READ_MAX / 32,
    SEED_ROUNDS = GN_SEED_MAX / WARP,
    BLOCKS_MAX = 132 * 64,
};
#define ALL 0xffffffffu

struct seeds {
    uint32_t first[GN_SEED_MAX], count[GN_SEED_MAX];
    uint16_t ends[GN_SEED_MAX]; /* of each seed's places among all that are taken */
    uint32_t tag[GN_SEED_MAX];
};

/* One read, in shared memory. */
struct passage {
    uint64_t strands[2][WORDS + 2];
    uint64_t unknown[2][WORDS];
    union {
        struct seeds seeds;
        struct gn_hit hits[GN_MAP_PLACES]; /* when the seeds are done with */
        uint64_t turned[WORDS + 2];        /* before they begin */
    };
    uint32_t starts[2][GN_MAP_PLACES];
    uint16_t votes[2][GN_MAP_PLACES], mismatches[2][GN_MAP_PLACES];
    uint32_t hit_counts[2];
};

struct state {
    struct gn_map_table table;
    struct passage *passage;
    uint32_t lane, length;
    bool has_unknown;
};

/* --- the read --------------------------------------------------------------------------------- */

__device__ static void note_unknown(const struct state *state, const uint8_t *codes) {
    for (uint32_t word = 0; word * 32 < state->length; word++) {
        uint32_t i = word * 32 + state->lane;
        bool inside = i < state->length;
        uint32_t forward = __ballot_sync(ALL, inside && codes[i] > 3);
        uint32_t reverse = __ballot_sync(ALL, inside && codes[state->length - 1 - i] > 3);
        if (state->lane == 0) {
            state->passage->unknown[0][word] = gn_spread(forward);
            state->passage->unknown[1][word] = gn_spread(reverse);
        }
    }
}

__device__ static void load_read(struct state *state, const struct gn_reads *reads,
                                 uint32_t number) {
    const struct gn_read *read = (const struct gn_read *)gn_at(reads, reads->reads) + number;
    const uint64_t *packed =
        (const uint64_t *)gn_at(reads, reads->packed) + (uint64_t)number * reads->words;
    struct passage *passage = state->passage;
    uint32_t lane = state->lane;
    state->length = read->length;
    state->has_unknown = read->unknown > 0;
    uint32_t words = (state->length + 31) / 32, before = words * 32 - state->length;
    if (lane <= words) {
        uint64_t word = lane < words ? packed[lane] : 0;
        passage->strands[0][lane] = word;
        passage->turned[lane < words ? words - 1 - lane : words] =
            lane < words ? gn_turn(~word) : 0;
    }
    __syncwarp();
    if (lane <= words) {
        passage->strands[1][lane] =
            lane < words ? gn_bases_at(passage->turned, before + lane * 32) : 0;
    }
    if (state->has_unknown) {
        note_unknown(state, (const uint8_t *)gn_at(reads, reads->bases) + read->bases);
    }
    __syncwarp();
}

/* --- seeds and places ------------------------------------------------------------------------- */

__device__ static bool seed_unknown(const struct state *state, uint32_t offset) {
    for (uint32_t i = offset; i < offset + state->table.kmer; i++) {
        if (state->passage->unknown[0][i / 32] >> (i % 32 * 2) & 1) {
            return true;
        }
    }
    return false;
}

/* Every seed's bucket; returns how many places they have in all. */
__device__ static uint64_t find_seeds(const struct state *state, uint32_t seed_count) {
    struct seeds *seeds = &state->passage->seeds;
    uint64_t total = 0;
    for (uint32_t i = state->lane; i < seed_count; i += WARP) {
        uint32_t offset = gn_seed_offset(i), bucket, first = 0, count = 0, tag = 0;
        if (!state->has_unknown || !seed_unknown(state, offset)) {
            tag = gn_seed(&state->table, state->passage->strands[0], state->passage->strands[1],
                          state->length, offset, &bucket);
            first = state->table.buckets[bucket];
            count = state->table.buckets[bucket + 1] - first;
        }
        seeds->first[i] = first;
        seeds->count[i] = count;
        seeds->tag[i] = tag;
        total += count;
    }
    for (uint32_t step = WARP / 2; step > 0; step /= 2) {
        total += __shfl_xor_sync(ALL, total, step);
    }
    __syncwarp();
    return total;
}

/* Too many places: a seed is kept if it and all that are rarer fit together. */
__device__ static void choose_rarest(const struct state *state, uint32_t seed_count) {
    uint32_t *counts = state->passage->seeds.count, kept[SEED_ROUNDS] = {0};
    for (uint32_t round = 0; round < SEED_ROUNDS; round++) {
        uint32_t i = round * WARP + state->lane, mine = i < seed_count ? counts[i] : 0;
        uint64_t sum = 0;
        for (uint32_t k = 0; k < seed_count && mine > 0; k++) {
            bool rarer = counts[k] < mine || (counts[k] == mine && k <= i);
            sum += rarer ? counts[k] : 0;
        }
        if (sum == mine && mine > GN_MAP_PLACES) {
            kept[round] = GN_MAP_PLACES; /* the rarest of all */
        } else {
            kept[round] = sum <= GN_MAP_PLACES ? mine : 0;
        }
    }
    __syncwarp();
    for (uint32_t round = 0; round < SEED_ROUNDS; round++) {
        uint32_t i = round * WARP + state->lane;
        if (i < seed_count) {
            counts[i] = kept[round];
        }
    }
    __syncwarp();
}

/* Where each seed's places end in the row of all; returns its length. */
__device__ static uint32_t line_up(const struct state *state, uint32_t seed_count) {
    struct seeds *seeds = &state->passage->seeds;
    uint32_t total = 0;
    for (uint32_t base = 0; base < seed_count; base += WARP) {
        uint32_t i = base + state->lane, sum = i < seed_count ? seeds->count[i] : 0;
        for (uint32_t step = 1; step < WARP; step *= 2) {
            uint32_t other = __shfl_up_sync(ALL, sum, step);
            sum += state->lane >= step ? other : 0;
        }
        if (i < seed_count) {
            seeds->ends[i] = (uint16_t)(total + sum);
        }
        total += __shfl_sync(ALL, sum, WARP - 1);
    }
    __syncwarp();
    return total;
}

/* The first seed whose places end behind slot. */
__device__ static uint32_t seed_of(const struct seeds *seeds, uint32_t seed_count, uint32_t slot) {
    uint32_t low = 0, high = seed_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (seeds->ends[middle] <= slot) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

__device__ static void gather(const struct state *state, uint32_t seed_count, uint32_t total,
                              uint32_t ret_counts[2]) {
    const struct seeds *seeds = &state->passage->seeds;
    uint32_t tag_bits = state->table.tag_bits, tag_mask = (1u << tag_bits) - 1;
    uint32_t below = (1u << state->lane) - 1, counts[2] = {0, 0};
    for (uint32_t base = 0; base < total; base += WARP) {
        uint32_t slot = base + state->lane, start = 0, reverse = 0;
        bool fits = false;
        if (slot < total) {
            uint32_t i = seed_of(seeds, seed_count, slot), offset = gn_seed_offset(i);
            uint32_t within = slot - (seeds->ends[i] - seeds->count[i]);
            uint32_t place = state->table.places[(uint64_t)seeds->first[i] + within];
            uint32_t mixed = place ^ seeds->tag[i];
            reverse = mixed >> tag_bits & 1;
            fits = (mixed & tag_mask) == 0;
            start = (place >> tag_bits >> 1) * 2 -
                    (reverse ? state->length - state->table.kmer - offset : offset);
        }
        for (uint32_t strand = 0; strand < 2; strand++) {
            bool mine = fits && reverse == strand;
            uint32_t ballot = __ballot_sync(ALL, mine);
            if (mine) {
                state->passage->starts[strand][counts[strand] + __popc(ballot & below)] = start;
            }
            counts[strand] += (uint32_t)__popc(ballot);
        }
    }
    __syncwarp();
    ret_counts[0] = counts[0];
    ret_counts[1] = counts[1];
}

/* --- votes ------------------------------------------------------------------------------------ */

__device__ static uint32_t sort_in_registers(uint32_t value, uint32_t lane) {
    for (uint32_t size = 2; size <= WARP; size *= 2) {
        for (uint32_t step = size / 2; step > 0; step /= 2) {
            uint32_t other = __shfl_xor_sync(ALL, value, step);
            bool least = ((lane & step) == 0) == ((lane & size) == 0);
            value = least ? min(value, other) : max(value, other);
        }
    }
    return value;
}

/* Bitonic; values has room for the next power of two. */
__device__ static void sort(uint32_t *values, uint32_t count, uint32_t lane) {
    if (count <= WARP) {
        uint32_t value = sort_in_registers(lane < count ? values[lane] : UINT32_MAX, lane);
        __syncwarp();
        values[lane] = value;
        __syncwarp();
        return;
    }
    uint32_t whole = 1u << (32 - __clz((int)count - 1));
    for (uint32_t i = count + lane; i < whole; i += WARP) {
        values[i] = UINT32_MAX;
    }
    __syncwarp();
    for (uint32_t size = 2; size <= whole; size *= 2) {
        for (uint32_t step = size / 2; step > 0; step /= 2) {
            for (uint32_t i = lane; i < whole / 2; i += WARP) {
                uint32_t low = i / step * step * 2 + i % step, high = low + step;
                uint32_t a = values[low], b = values[high];
                bool swap = (a > b) == ((low & size) == 0);
                values[low] = swap ? b : a;
                values[high] = swap ? a : b;
            }
            __syncwarp();
        }
    }
}

/* Equal starts become one candidate with so many votes, in place; returns how many. The heads of a
 * round are known before anything is written, and are written no further up than they stood. */
__device__ static uint32_t count_votes(const struct state *state, uint32_t strand, uint32_t count) {
    uint32_t *starts = state->passage->starts[strand];
    uint16_t *votes = state->passage->votes[strand];
    uint32_t lane = state->lane, candidates = 0, last = 0;
    for (uint32_t base = 0; base < count; base += WARP) {
        uint32_t i = base + lane, start = i < count ? starts[i] : 0;
        uint32_t before = __shfl_up_sync(ALL, start, 1);
        before = lane == 0 ? last : before;
        bool head = i < count && (i == 0 || start != before);
        uint32_t heads = __ballot_sync(ALL, head);
        last = __shfl_sync(ALL, start, WARP - 1);
        if (head) {
            uint32_t at = candidates + (uint32_t)__popc(heads & ((1u << lane) - 1));
            starts[at] = start;
            votes[at] = (uint16_t)i; /* where it begins, for now */
        }
        candidates += (uint32_t)__popc(heads);
        __syncwarp();
    }
    for (uint32_t base = 0; base < candidates; base += WARP) {
        uint32_t i = base + lane;
        uint32_t end = i + 1 < candidates ? votes[i + 1] : count;
        uint32_t own = i < candidates ? end - votes[i] : 0;
        __syncwarp();
        if (i < candidates) {
            votes[i] = (uint16_t)own;
        }
        __syncwarp();
    }
    return candidates;
}

/* --- verification ----------------------------------------------------------------------------- */

__device__ static void measure(const struct state *state, uint32_t strand, uint32_t candidates) {
    struct passage *passage = state->passage;
    const uint64_t *unknown = state->has_unknown ? passage->unknown[strand] : NULL;
    for (uint32_t i = state->lane; i < candidates; i += WARP) {
        passage->mismatches[strand][i] =
            (uint16_t)gn_distance(&state->table, passage->strands[strand], unknown, state->length,
                                  passage->starts[strand][i]);
    }
}

/* Near diagonals of one strand become one hit: a walk, so one lane for each strand. Hits of the
 * forward strand stand from the left, the others from the right. */
__device__ static void join(const struct state *state, uint32_t strand, uint32_t candidates) {
    struct passage *passage = state->passage;
    const uint32_t *starts = passage->starts[strand];
    const uint16_t *votes = passage->votes[strand], *mismatches = passage->mismatches[strand];
    uint32_t hits = 0;
    for (uint32_t i = 0, end; i < candidates; i = end) {
        uint32_t chosen = i, sum = 0;
        for (end = i; end < candidates && starts[end] - starts[i] <= GN_MAP_NEAR; end++) {
            sum += votes[end];
            if (mismatches[end] < mismatches[chosen] ||
                (mismatches[end] == mismatches[chosen] && votes[end] > votes[chosen])) {
                chosen = end;
            }
        }
        sum = min(sum, 255u);
        if (gn_hit_fair(state->length, mismatches[chosen], sum)) {
            struct gn_hit hit;
            hit.position = starts[chosen];
            hit.mismatches = mismatches[chosen];
            hit.votes = (uint8_t)sum;
            hit.reverse = (uint8_t)strand;
            passage->hits[strand ? GN_MAP_PLACES - 1 - hits : hits] = hit;
            hits++;
        }
    }
    passage->hit_counts[strand] = hits;
}

__device__ static struct gn_hit hit_number(const struct passage *passage, uint32_t i) {
    uint32_t forward = passage->hit_counts[0];
    return passage->hits[i < forward ? i : GN_MAP_PLACES - 1 - (i - forward)];
}

/* Writes those of rank below GN_HIT_MAX; returns how many. */
__device__ static uint32_t write_best(const struct state *state, struct gn_hit *to) {
    const struct passage *passage = state->passage;
    uint32_t count = passage->hit_counts[0] + passage->hit_counts[1];
    uint32_t kept = min(count, (uint32_t)GN_HIT_MAX);
    for (uint32_t i = state->lane; i < count; i += WARP) {
        struct gn_hit mine = hit_number(passage, i);
        uint32_t key = gn_hit_key(state->length, mine.mismatches, mine.votes, state->table.kmer);
        uint32_t rank = 0;
        for (uint32_t k = 0; k < count && rank < GN_HIT_MAX; k++) {
            struct gn_hit other = hit_number(passage, k);
            uint32_t theirs =
                gn_hit_key(state->length, other.mismatches, other.votes, state->table.kmer);
            rank += theirs > key || (theirs == key && gn_hit_place(&other) < gn_hit_place(&mine));
        }
        if (rank < GN_HIT_MAX) {
            to[rank] = mine;
        }
    }
    if (state->lane >= kept && state->lane < GN_HIT_MAX) {
        struct gn_hit none = {0, 0, 0, 0};
        to[state->lane] = none;
    }
    return kept;
}

/* --- all -------------------------------------------------------------------------------------- */

__device__ static uint32_t map_read(struct state *state, const struct gn_reads *reads,
                                    uint32_t number, struct gn_hit *to) {
    uint32_t counts[2];
    load_read(state, reads, number);
    uint32_t seed_count = gn_seed_count(state->length, state->table.kmer);
    if (find_seeds(state, seed_count) > GN_MAP_PLACES) {
        choose_rarest(state, seed_count);
    }
    uint32_t total = line_up(state, seed_count);
    gather(state, seed_count, total, counts);
    for (uint32_t strand = 0; strand < 2; strand++) {
        if (counts[strand] > 0) {
            sort(state->passage->starts[strand], counts[strand], state->lane);
            counts[strand] = count_votes(state, strand, counts[strand]);
            measure(state, strand, counts[strand]);
        }
    }
    __syncwarp();
    if (state->lane < 2) {
        join(state, state->lane, counts[state->lane]);
    }
    __syncwarp();
    uint32_t kept = write_best(state, to);
    __syncwarp();
    return kept;
}

/* Header, and what rounding leaves behind the counts. */
__device__ static void write_header(struct gn_hits *hits, uint32_t read_count) {
    struct gn_hits header;
    header.counts = gn_round(sizeof(header));
    header.hits = header.counts + gn_round(read_count);
    header.bytes =
        header.hits + gn_round((uint64_t)read_count * GN_HIT_MAX * sizeof(struct gn_hit));
    header.read_count = read_count;
    header.reserved = 0;
    for (uint64_t i = threadIdx.x; i < header.counts; i += blockDim.x) {
        ((uint8_t *)hits)[i] = 0;
    }
    for (uint64_t i = header.counts + read_count + threadIdx.x; i < header.hits; i += blockDim.x) {
        ((uint8_t *)hits)[i] = 0;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        *hits = header;
    }
}

__global__ static void map_all(const struct gn_index *index, const struct gn_reads *reads,
                               struct gn_hits *hits, uint64_t hits_bytes) {
    __shared__ struct passage passages[WARPS];
    uint32_t read_count = reads->read_count;
    uint64_t counts_at = gn_round(sizeof(*hits)), hits_at = counts_at + gn_round(read_count);
    if (hits_at + (uint64_t)read_count * GN_HIT_MAX * sizeof(struct gn_hit) > hits_bytes) {
        read_count = 0; /* no room: nothing is mapped, and the header says so */
        hits_at = counts_at;
    }
    if (blockIdx.x == 0) {
        write_header(hits, read_count);
    }
    uint8_t *counts = (uint8_t *)hits + counts_at;
    struct gn_hit *out = (struct gn_hit *)((uint8_t *)hits + hits_at);
    struct state state;
    state.table = gn_map_table(index);
    state.passage = &passages[threadIdx.x / WARP];
    state.lane = threadIdx.x % WARP;
    for (uint64_t i = (uint64_t)blockIdx.x * WARPS + threadIdx.x / WARP; i < read_count;
         i += (uint64_t)gridDim.x * WARPS) {
        uint32_t kept = map_read(&state, reads, (uint32_t)i, out + i * GN_HIT_MAX);
        if (state.lane == 0) {
            counts[i] = (uint8_t)kept;
        }
    }
}

extern "C" cudaError_t gn_cuda_map(const struct gn_index *index, const struct gn_reads *reads,
                                   struct gn_hits *hits, uint64_t hits_bytes, cudaStream_t stream) {
    uint64_t most = hits_bytes / (GN_HIT_MAX * sizeof(struct gn_hit));
    uint64_t blocks = (most + WARPS - 1) / WARPS;
    blocks = blocks < 1 ? 1 : blocks > BLOCKS_MAX ? BLOCKS_MAX : blocks;
    map_all<<<(unsigned int)blocks, WARPS * WARP, 0, stream>>>(index, reads, hits, hits_bytes);
    return cudaGetLastError();
}
