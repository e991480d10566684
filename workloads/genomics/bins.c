/* SPDX-License-Identifier: Apache-2.0
 *
 * Bins of aligned reads: see bins.h. A batch leaves one chunk in each bin it has reads for: sizes,
 * records, cigars, bases with qualities (one byte each: quality << 2 | code), names. A bin collects
 * chunks in extents. When there are too many in memory, the bin that was just added to goes to the
 * file whole: what is written at a time is what a bin has on average, not what a batch left.
 */
#include "genomics/bins.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PACKED_N = 0xFF,
    EXTENT_MIN = 4096,
    EXTENT_MAX = 256 << 10,
    UNPLACED_SHIFT = 15, /* so many serials, of two reads each, have less than 2^32 bases */
    UNPLACED_MAX = 1 << 17,
    QUALITY_CAP = 62, /* what fits beside a code; sequencers say less */
};

struct sizes {
    uint32_t records, cigars;
    uint64_t bases, names;
};

struct extent {
    struct extent *next;
    char *bytes;             /* NULL: in the file */
    uint64_t used, capacity; /* bytes */
    uint64_t offset;         /* in the file */
};

struct bin {
    struct guest_lock lock; /* guards all below */
    struct extent *kept, *filed;
    uint64_t kept_bytes;
    struct sizes sizes;
};

struct gn_bins {
    struct gn_bins_options options;
    uint32_t count; /* without those of reads that have no place */
    struct bin *bins;
    struct bin **unplaced; /* of UNPLACED_MAX; made under lock */
    _Atomic uint32_t unplaced_count;
    _Atomic uint64_t resident, file_end;
    int fd; /* -1: not needed yet; made under lock */
    struct guest_lock lock;
};

static struct bin *bin_at(const struct gn_bins *bins, uint32_t number) {
    return number < bins->count ? &bins->bins[number] : bins->unplaced[number - bins->count];
}

/* --- sizes --------------------------------------------------------------------------------------
 */
/* Of a chunk, its sizes in front included; the next one is aligned. */
static uint64_t chunk_bytes(const struct sizes *sizes) {
    uint64_t bytes = sizeof *sizes + sizes->records * sizeof(struct gn_record) +
                     sizes->cigars * sizeof(uint32_t) + sizes->bases + sizes->names;
    return (bytes + 7) & ~7ull;
}

static void add_sizes(struct sizes *sum, const struct sizes *more) {
    sum->records += more->records;
    sum->cigars += more->cigars;
    sum->bases += more->bases;
    sum->names += more->names;
}

/* Where the parts of a blob of these sizes lie. */
static struct gn_bin layout(const struct gn_bins *bins, uint32_t number) {
    const struct sizes *sizes = &bin_at(bins, number)->sizes;
    bool last = number >= bins->count;
    uint64_t start = last ? 0 : gn_bin_start(number), end = start + GN_BIN_BASES;
    end = end < bins->options.length ? end : bins->options.length;
    struct gn_bin bin = {.record_count = sizes->records,
                         .cigar_total = sizes->cigars,
                         .start = (uint32_t)start,
                         .end = last ? 0 : (uint32_t)end,
                         .base_total = sizes->bases};
    bin.records = gn_round(sizeof bin);
    bin.cigars = bin.records + gn_round(sizes->records * sizeof(struct gn_record));
    bin.bases = bin.cigars + gn_round(sizes->cigars * sizeof(uint32_t));
    bin.qualities = bin.bases + gn_round(sizes->bases);
    bin.bytes = bin.qualities + gn_round(sizes->bases);
    if (bins->options.names) {
        bin.names = bin.bytes;
        bin.bytes += gn_round(sizes->names + 1);
    }
    return bin;
}

/* --- life ---------------------------------------------------------------------------------------
 */
int gn_bins_create(const struct gn_bins_options *options, struct gn_bins **ret_bins) {
    struct gn_bins *bins = calloc(1, sizeof *bins);
    if (!bins) {
        return -ENOMEM;
    }
    bins->options = *options;
    bins->fd = -1;
    while (gn_bin_start(bins->count) < options->length) {
        bins->count++;
    }
    bins->bins = calloc(bins->count + 1u, sizeof *bins->bins);
    bins->unplaced = options->unmapped ? calloc(UNPLACED_MAX, sizeof *bins->unplaced) : NULL;
    if (!bins->bins || (options->unmapped && !bins->unplaced)) {
        gn_bins_destroy(bins);
        return -ENOMEM;
    }
    *ret_bins = bins;
    return 0;
}

static void free_extents(struct extent *list) {
    while (list) {
        struct extent *next = list->next;
        free(list->bytes);
        free(list);
        list = next;
    }
}

static void free_bin(struct bin *bin) {
    free_extents(bin->kept);
    free_extents(bin->filed);
    bin->kept = bin->filed = NULL;
}

void gn_bins_destroy(struct gn_bins *bins) {
    if (!bins) {
        return;
    }
    for (uint32_t b = 0; bins->bins && b < bins->count; b++) {
        free_bin(&bins->bins[b]);
    }
    for (uint32_t b = 0; bins->unplaced && b < UNPLACED_MAX; b++) {
        if (bins->unplaced[b]) {
            free_bin(bins->unplaced[b]);
            free(bins->unplaced[b]);
        }
    }
    if (bins->fd >= 0) {
        close(bins->fd);
    }
    free(bins->unplaced);
    free(bins->bins);
    free(bins);
}

uint32_t gn_bins_count(const struct gn_bins *bins) {
    return bins->count + atomic_load(&bins->unplaced_count);
}

uint32_t gn_bins_records(const struct gn_bins *bins, uint32_t bin) {
    return bin_at(bins, bin)->sizes.records;
}

uint64_t gn_bins_bytes(const struct gn_bins *bins, uint32_t bin) {
    return layout(bins, bin).bytes;
}

uint64_t gn_bins_spilled(const struct gn_bins *bins) {
    return atomic_load(&bins->file_end);
}

/* --- the file -----------------------------------------------------------------------------------
 */
/* Without a name; on file systems that cannot do that, one that is removed at once. */
static int make_file(const char *folder) {
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
        char path[4096];
        snprintf(path, sizeof path, "%s/symph-reads-XXXXXX", folder);
        fd = mkostemp(path, O_CLOEXEC);
        if (fd >= 0) {
            unlink(path);
        }
    }
    return fd < 0 ? -errno : fd;
}

static int open_file(struct gn_bins *bins) {
    guest_lock(&bins->lock);
    if (bins->fd < 0) {
        const char *folder = bins->options.folder ? bins->options.folder : "/tmp";
        bins->fd = make_file(folder);
    }
    int fd = bins->fd;
    guest_unlock(&bins->lock);
    return fd;
}

static int transfer(int fd, char *bytes, uint64_t count, uint64_t offset, bool out) {
    while (count) {
        ssize_t done =
            out ? pwrite(fd, bytes, count, (off_t)offset) : pread(fd, bytes, count, (off_t)offset);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return done < 0 ? -errno : -EIO;
        }
        bytes += done;
        count -= (uint64_t)done;
        offset += (uint64_t)done;
    }
    return 0;
}

/* Puts extents into the file. Those that could not be put are left in *list. */
static int file_extents(struct gn_bins *bins, struct extent **list, struct extent **ret_filed) {
    int fd = open_file(bins);
    int code = fd < 0 ? fd : 0;
    while (*list && code == 0) {
        struct extent *extent = *list;
        extent->offset = atomic_fetch_add(&bins->file_end, extent->used);
        code = transfer(fd, extent->bytes, extent->used, extent->offset, true);
        if (code == 0) {
            atomic_fetch_sub(&bins->resident, extent->capacity);
            free(extent->bytes);
            extent->bytes = NULL;
            *list = extent->next;
            extent->next = *ret_filed;
            *ret_filed = extent;
        }
    }
    return code;
}

static struct extent **end_of(struct extent **list) {
    while (*list) {
        list = &(*list)->next;
    }
    return list;
}

/* What the bin has in memory goes to the file. Others may add to the bin meanwhile. */
static int spill(struct gn_bins *bins, struct bin *bin) {
    guest_lock(&bin->lock);
    struct extent *list = bin->kept, *filed = NULL;
    bin->kept = NULL;
    bin->kept_bytes = 0;
    guest_unlock(&bin->lock);
    int code = file_extents(bins, &list, &filed);
    guest_lock(&bin->lock);
    *end_of(&filed) = bin->filed;
    bin->filed = filed;
    *end_of(&list) = bin->kept;
    bin->kept = list;
    guest_unlock(&bin->lock);
    return code;
}

/* Room for a chunk at the end of the bin's first extent; under the bin's lock. NULL: no memory. */
static char *reserve(struct gn_bins *bins, struct bin *bin, uint64_t bytes) {
    struct extent *extent = bin->kept;
    if (!extent || extent->capacity - extent->used < bytes) {
        uint64_t capacity = bin->kept_bytes > EXTENT_MIN ? bin->kept_bytes : EXTENT_MIN;
        capacity = capacity < EXTENT_MAX ? capacity : EXTENT_MAX;
        capacity = capacity > bytes ? capacity : bytes;
        extent = malloc(sizeof *extent);
        char *memory = malloc(capacity);
        if (!extent || !memory) {
            free(extent);
            free(memory);
            return NULL;
        }
        *extent = (struct extent){bin->kept, memory, 0, capacity, 0};
        bin->kept = extent;
        bin->kept_bytes += capacity;
        atomic_fetch_add(&bins->resident, capacity);
    }
    extent->used += bytes;
    return extent->bytes + extent->used - bytes;
}

/* --- adding -------------------------------------------------------------------------------------
 */
struct entry { /* a record in a bin */
    uint32_t bin, record;
};

struct source {
    const struct gn_reads *reads;
    const struct gn_notes *notes;
    const struct gn_aligned *aligned;
};

/* Bins whose halo a record touches, clipped ends included. False: none. */
static bool bins_of(const struct gn_bins *bins, const struct gn_aligned *aligned,
                    const struct gn_record *record, uint32_t *ret_first, uint32_t *ret_last) {
    bool unmapped = record->flags & GN_FLAG_UNMAPPED;
    if (unmapped && (record->position == SY_NONE || !bins->options.unmapped)) {
        *ret_first = *ret_last = bins->count + (uint32_t)(record->serial >> UNPLACED_SHIFT);
        return bins->options.unmapped;
    }
    uint64_t reach = GN_HALO + GN_GAP, position = record->position;
    const uint32_t *cigar = &aligned->cigars[record->cigar];
    uint64_t before = record->cigar_count && (cigar[0] & 15) == GN_CLIP ? cigar[0] >> 4 : 0;
    uint32_t last_operation = record->cigar_count ? cigar[record->cigar_count - 1] : 0;
    uint64_t after = (last_operation & 15) == GN_CLIP ? last_operation >> 4 : 0;
    uint64_t low = position > before + reach ? position - before - reach : 0;
    uint64_t high = position + record->span + after + GN_HALO;
    high = high > GN_GAP ? high - GN_GAP : 0;
    *ret_first = (uint32_t)(low / GN_BIN_BASES);
    *ret_last = (uint32_t)(high / GN_BIN_BASES);
    *ret_last = *ret_last < bins->count ? *ret_last : bins->count - 1;
    return *ret_first <= *ret_last;
}

/* Serials of a batch are near each other: its reads without a place are of few bins, which are
 * counted from the first of them. */
static int span_unplaced(struct gn_bins *bins, const struct gn_aligned *aligned,
                         uint32_t *ret_first, uint32_t *ret_count) {
    uint64_t first = UINT64_MAX, last = 0;
    for (uint32_t r = 0; r < aligned->count; r++) {
        uint64_t block = aligned->records[r].serial >> UNPLACED_SHIFT;
        first = block < first ? block : first;
        last = block > last ? block : last;
    }
    *ret_first = *ret_count = 0;
    if (!bins->options.unmapped || first > last) {
        return 0;
    }
    if (last >= UNPLACED_MAX) {
        return -E2BIG;
    }
    int code = 0;
    guest_lock(&bins->lock);
    for (uint64_t b = atomic_load(&bins->unplaced_count); b <= last && code == 0; b++) {
        bins->unplaced[b] = calloc(1, sizeof **bins->unplaced);
        code = bins->unplaced[b] ? 0 : -ENOMEM;
        if (code == 0) {
            atomic_store(&bins->unplaced_count, (uint32_t)b + 1);
        }
    }
    guest_unlock(&bins->lock);
    *ret_first = (uint32_t)first;
    *ret_count = (uint32_t)(last - first) + 1;
    return code;
}

/* A list of entries in order of bins. */
static int list_entries(struct gn_bins *bins, const struct gn_aligned *aligned,
                        struct entry **ret_entries, uint32_t *ret_count) {
    uint32_t skip, more, first, last, total = 0;
    int code = span_unplaced(bins, aligned, &skip, &more);
    uint32_t *starts = code ? NULL : calloc(bins->count + more + 1u, sizeof *starts);
    if (!starts) {
        return code ? code : -ENOMEM;
    }
    for (uint32_t r = 0; r < aligned->count; r++) {
        if (bins_of(bins, aligned, &aligned->records[r], &first, &last)) {
            for (uint32_t b = first; b <= last; b++) {
                starts[(b < bins->count ? b : b - skip) + 1]++;
                total++;
            }
        }
    }
    for (uint32_t b = 0; b < bins->count + more; b++) {
        starts[b + 1] += starts[b];
    }
    struct entry *entries = malloc((total + 1u) * sizeof *entries);
    for (uint32_t r = 0; entries && r < aligned->count; r++) {
        if (bins_of(bins, aligned, &aligned->records[r], &first, &last)) {
            for (uint32_t b = first; b <= last; b++) {
                entries[starts[b < bins->count ? b : b - skip]++] = (struct entry){b, r};
            }
        }
    }
    free(starts);
    if (!entries) {
        return -ENOMEM;
    }
    *ret_entries = entries;
    *ret_count = total;
    return 0;
}

static uint8_t pack(uint8_t code, uint8_t quality) {
    quality = quality < QUALITY_CAP ? quality : QUALITY_CAP;
    return (uint8_t)(code > 3 ? PACKED_N : quality << 2 | code);
}

/* Bases and qualities in the reference's direction. */
static void put_bases(const struct source *source, uint32_t number, bool reverse, uint8_t *out) {
    const struct gn_reads *reads = source->reads;
    const struct gn_read *read = (const struct gn_read *)gn_at(reads, reads->reads) + number;
    const uint8_t *bases = (const uint8_t *)gn_at(reads, reads->bases) + read->bases;
    const uint8_t *qualities = source->notes->qualities + read->bases;
    int length = read->length; /* known before each loop, so that compilers make vectors of it */
    for (int i = 0; i < length && !reverse; i++) {
        out[i] = pack(bases[i], qualities[i]);
    }
    for (int i = 0; i < length && reverse; i++) {
        uint8_t code = bases[length - 1 - i];
        out[i] = pack(code ^ (code < 4 ? 3 : 0), qualities[length - 1 - i]);
    }
}

static const char *name_of(const struct source *source, uint32_t number) {
    return source->notes->names + source->notes->name_offsets[number];
}

static void fill_chunk(const struct gn_bins *bins, const struct source *source,
                       const struct entry *entries, const struct sizes *sizes, char *chunk) {
    const struct gn_aligned *aligned = source->aligned;
    memcpy(chunk, sizes, sizeof *sizes);
    struct gn_record *records = (struct gn_record *)(chunk + sizeof *sizes);
    uint32_t *cigars = (uint32_t *)(records + sizes->records);
    uint8_t *bases = (uint8_t *)(cigars + sizes->cigars);
    char *names = (char *)bases + sizes->bases;
    struct sizes at = {0};
    for (uint32_t i = 0; i < sizes->records; i++) {
        uint32_t number = entries[i].record;
        struct gn_record *record = &records[at.records++];
        *record = aligned->records[number];
        memcpy(cigars + at.cigars, &aligned->cigars[record->cigar],
               record->cigar_count * sizeof *cigars);
        record->cigar = at.cigars;
        at.cigars += record->cigar_count;
        put_bases(source, number, record->flags & GN_FLAG_REVERSE, bases + at.bases);
        record->bases = (uint32_t)at.bases;
        at.bases += record->length;
        record->name = SY_NONE;
        if (bins->options.names) {
            size_t length = strlen(name_of(source, number)) + 1;
            memcpy(names + at.names, name_of(source, number), length);
            record->name = (uint32_t)at.names;
            at.names += length;
        }
    }
}

/* Where a chunk is made before its bin is locked; grows. */
struct scratch {
    char *bytes;
    uint64_t capacity;
};

static int add_chunk(struct gn_bins *bins, const struct source *source, const struct entry *entries,
                     uint32_t count, struct scratch *scratch) {
    struct sizes sizes = {0};
    for (uint32_t i = 0; i < count; i++) {
        const struct gn_record *record = &source->aligned->records[entries[i].record];
        struct sizes one = {1, record->cigar_count, record->length, 0};
        one.names = bins->options.names ? strlen(name_of(source, entries[i].record)) + 1 : 0;
        add_sizes(&sizes, &one);
    }
    uint64_t bytes = chunk_bytes(&sizes);
    if (bytes > scratch->capacity) {
        free(scratch->bytes);
        scratch->bytes = calloc(1, 2 * bytes);
        scratch->capacity = scratch->bytes ? 2 * bytes : 0;
    }
    if (!scratch->bytes) {
        return -ENOMEM;
    }
    fill_chunk(bins, source, entries, &sizes, scratch->bytes);
    struct bin *bin = bin_at(bins, entries[0].bin);
    guest_lock(&bin->lock);
    char *room = reserve(bins, bin, bytes);
    if (room) {
        memcpy(room, scratch->bytes, bytes);
        add_sizes(&bin->sizes, &sizes);
    }
    guest_unlock(&bin->lock);
    if (!room) {
        return -ENOMEM;
    }
    uint64_t limit = bins->options.memory_bytes;
    return limit && atomic_load(&bins->resident) > limit ? spill(bins, bin) : 0;
}

int gn_bins_add(struct gn_bins *bins, const struct gn_reads *reads, const struct gn_notes *notes,
                const struct gn_aligned *aligned) {
    struct source source = {reads, notes, aligned};
    struct entry *entries = NULL;
    struct scratch scratch = {0};
    uint32_t total = 0;
    int code = list_entries(bins, aligned, &entries, &total);
    for (uint32_t i = 0, next; code == 0 && i < total; i = next) {
        for (next = i + 1; next < total && entries[next].bin == entries[i].bin;) {
            next++;
        }
        code = add_chunk(bins, &source, &entries[i], next - i, &scratch);
    }
    free(scratch.bytes);
    free(entries);
    return code;
}

/* --- gathering ----------------------------------------------------------------------------------
 */
static void gather_chunk(const struct sizes *sizes, const char *payload, struct gn_bin *room,
                         struct sizes *at) {
    struct gn_record *records = (struct gn_record *)gn_in(room, room->records) + at->records;
    uint32_t *cigars = (uint32_t *)gn_in(room, room->cigars) + at->cigars;
    uint8_t *bases = (uint8_t *)gn_in(room, room->bases) + at->bases;
    uint8_t *qualities = (uint8_t *)gn_in(room, room->qualities) + at->bases;
    memcpy(records, payload, sizes->records * sizeof *records);
    payload += sizes->records * sizeof *records;
    memcpy(cigars, payload, sizes->cigars * sizeof *cigars);
    payload += sizes->cigars * sizeof *cigars;
    uint64_t count = sizes->bases; /* known to the compiler as fixed: vectors */
    for (uint64_t i = 0; i < count; i++) {
        uint8_t packed = (uint8_t)payload[i];
        bases[i] = packed == PACKED_N ? 4 : packed & 3;
        qualities[i] = packed == PACKED_N ? 0 : (uint8_t)(packed >> 2);
    }
    payload += sizes->bases;
    if (room->names) {
        memcpy((char *)gn_in(room, room->names) + at->names, payload, sizes->names);
    }
    for (uint32_t i = 0; i < sizes->records; i++) {
        records[i].cigar += at->cigars;
        records[i].bases += (uint32_t)at->bases;
        records[i].name = room->names ? records[i].name + (uint32_t)at->names : SY_NONE;
    }
    add_sizes(at, sizes);
}

static int gather_extent(const struct gn_bins *bins, const struct extent *extent,
                         struct gn_bin *room, struct sizes *at) {
    char *read = extent->bytes ? NULL : malloc(extent->used);
    int code = 0;
    if (!extent->bytes) {
        code = read ? transfer(bins->fd, read, extent->used, extent->offset, false) : -ENOMEM;
    }
    const char *bytes = extent->bytes ? extent->bytes : read;
    struct sizes sizes;
    for (uint64_t i = 0; code == 0 && i < extent->used; i += chunk_bytes(&sizes)) {
        memcpy(&sizes, bytes + i, sizeof sizes);
        gather_chunk(&sizes, bytes + i + sizeof sizes, room, at);
    }
    free(read);
    return code;
}

int gn_bins_gather(struct gn_bins *bins, uint32_t number, struct gn_bin *room) {
    struct bin *bin = bin_at(bins, number);
    struct sizes at = {0};
    int code = 0;
    *room = layout(bins, number);
    if (bin->sizes.bases > UINT32_MAX || bin->sizes.names > UINT32_MAX) {
        return -E2BIG;
    }
    for (const struct extent *extent = bin->filed; extent && code == 0; extent = extent->next) {
        code = gather_extent(bins, extent, room, &at);
    }
    for (const struct extent *extent = bin->kept; extent && code == 0; extent = extent->next) {
        code = gather_extent(bins, extent, room, &at);
        atomic_fetch_sub(&bins->resident, extent->capacity);
    }
    free_bin(bin);
    return code;
}
