/* SPDX-License-Identifier: Apache-2.0
 *
 * base: what C lacks. Arena, error, text, map, random numbers, statistics.
 *
 * In: nothing of this project. Out: small helpers for every other room. Never knows: graphs,
 * machines, time of day. No globals; everything is re-entrant.
 */
#ifndef SY_BASE_BASE_H
#define SY_BASE_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <symph/error.h>

/* A programmer's error, checked in release builds too. */
#define SY_ASSERT(condition)                                                                       \
    ((condition) ? (void)0 : sy_assert_failed(#condition, __FILE__, __LINE__))
_Noreturn void sy_assert_failed(const char *condition, const char *file, int line);

/* Which comes first, for comparisons: -1, 0 or 1. */
#define SY_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

#define SY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- arena: memory that lives and dies together; zeroed ----------------------------------- */
struct sy_arena;
struct sy_arena *sy_arena_create(void);
void sy_arena_destroy(struct sy_arena *arena);
/* NULL when out of memory or count * size overflows. Aligned to 64 bytes for large blocks. */
void *sy_arena_alloc(struct sy_arena *arena, size_t count, size_t size);
char *sy_arena_strdup(struct sy_arena *arena, const char *text);
char *sy_arena_strndup(struct sy_arena *arena, const char *text, size_t length);
size_t sy_arena_bytes(const struct sy_arena *arena);

/* Grows *array (malloc'ed) so that it holds need elements; doubles. 0 or -ENOMEM. */
SY_MUST_CHECK int sy_grow(void *array_pointer, uint32_t *capacity, uint32_t need, size_t size);

/* The same for one more element, which is copied to the end. 0 or -ENOMEM. */
SY_MUST_CHECK int sy_append(void *array_pointer, uint32_t *capacity, uint32_t *count,
                            const void *element, size_t size);

/* --- error -------------------------------------------------------------------------------- */
/* Both return code, so that "return sy_fail(...)" reads well. error may be NULL. */
__attribute__((format(printf, 3, 4))) int sy_fail(struct sy_error *error, int code,
                                                  const char *format, ...);
__attribute__((format(printf, 6, 7))) int sy_fail_at(struct sy_error *error, int code,
                                                     const char *file, uint32_t line,
                                                     uint32_t column, const char *format, ...);
/* The same with -EINVAL, for functions that take a format themselves. */
int sy_fail_list(struct sy_error *error, const char *file, uint32_t line, uint32_t column,
                 const char *format, va_list args);
/* The same at a place of a text, whose lines are counted. */
int sy_fail_in(struct sy_error *error, const char *file, const char *text, const char *at,
               const char *format, va_list args);
/* Returns -ENOMEM. */
int sy_out_of_memory(struct sy_error *error);
/* What to do about it. Returns -EINVAL, which is the code of nearly all that people can mend. */
__attribute__((format(printf, 2, 3))) int sy_hint(struct sy_error *error, const char *format, ...);

/* The nearest of names, or all of them, as a hint for a word that is none of them. -EINVAL too. */
int sy_hint_names(struct sy_error *error, const char *word, const char *const *names, size_t count);

/* --- text --------------------------------------------------------------------------------- */
/* Whole file into malloc'ed memory, terminated by a NUL that length does not count. What has more
 * than SY_TEXT_MAX bytes, such as /dev/zero, is refused with -EFBIG. */
SY_MUST_CHECK int sy_read_file(const char *path, char **ret_text, size_t *ret_length,
                               struct sy_error *error);
#define SY_TEXT_MAX ((size_t)1 << 30)
/* Replaces a whole file, safe on the disk when this returns; a failure, a signal or a power cut
 * leaves the old one. Its permissions stay, and what a link points to is replaced. "-" is stdout;
 * stdout, pipes and devices are written to, not replaced. */
SY_MUST_CHECK int sy_write_file(const char *path, const char *text, size_t length,
                                struct sy_error *error);
/* The same in steps, for a file that grows. Until the first sync the old file stays. All return 0
 * or a negative errno. */
struct sy_writer;
SY_MUST_CHECK int sy_writer_open(const char *path, struct sy_writer **ret_writer);
/* What was written in part is taken back from a plain file. */
SY_MUST_CHECK int sy_writer_put(struct sy_writer *writer, const char *text, size_t length);
/* What was put is safe on the disk, in the place of the old file. More may follow. */
SY_MUST_CHECK int sy_writer_sync(struct sy_writer *writer);
void sy_writer_close(struct sy_writer *writer); /* without a sync the old file stays */
/* To a descriptor, whatever a single write takes. 0 or a negative errno. */
SY_MUST_CHECK int sy_write_all(int fd, const char *text, size_t length);
/* The folders that lead to path, where they are missing. 0 or a negative errno. */
SY_MUST_CHECK int sy_make_folders(const char *path);
/* Strict: the whole of text[0..length) must be -?digits(.digits)?([eE][+-]?digits)?, at most 1,100
 * characters. Finite only; what is too small becomes 0. Exactly rounded, whatever the locale. */
bool sy_parse_double(const char *text, size_t length, double *ret_value);
bool sy_parse_u64(const char *text, size_t length, uint64_t *ret_value); /* digits only */
/* Bytes of the well-formed UTF-8 character at text[0..left); 0: there is none. */
size_t sy_utf8_length(const char *text, size_t left);
/* The code point of such a character. */
uint32_t sy_utf8_code(const char *text, size_t length);
/* The candidate that word is likely to be a misspelling or the beginning of; NULL: none. */
const char *sy_nearest(const char *word, const char *const *candidates, size_t count);

/* Where among count things, each size bytes and beginning with its name, one of that name is;
 * SY_NONE: there is none. Names alone will do: they are things of a pointer's size. */
uint32_t sy_index_of(const char *name, const void *things, uint32_t count, size_t size);

/* A growing string. All calls are no-ops after one that failed. Numbers ignore the locale. */
struct sy_buffer {
    char *text;
    size_t length, capacity;
    bool failed;
};
__attribute__((format(printf, 2, 3))) void sy_buffer_printf(struct sy_buffer *buffer,
                                                            const char *format, ...);
void sy_buffer_append(struct sy_buffer *buffer, const char *text, size_t length);
/* The fewest digits that read back the same; value is finite. */
void sy_buffer_number(struct sy_buffer *buffer, double value);
/* The file of one of several: plot.svg and "dmdas" make plot.dmdas.svg, with its NUL; NULL: the
 * only one. */
void sy_buffer_path(struct sy_buffer *buffer, const char *path, const char *part);
void sy_buffer_finish(struct sy_buffer *buffer);

/* --- what people may see ------------------------------------------------------------------- */
/* Bytes of the character at text[0..left) where it may reach a terminal as it is: well-formed, and
 * nothing that a terminal obeys or that reorders or hides text. 0: it may not. */
size_t sy_shown_length(const char *text, size_t left);
/* The text with such characters spelled out, as in \\n, \\x1b and \\u202e. */
void sy_buffer_show(struct sy_buffer *buffer, const char *text, size_t length);
/* The same, cut to fit; size is not 0. Returns buffer. */
char *sy_show(const char *text, char *buffer, size_t size);

/* --- map: string -> uint32_t, insertion only ---------------------------------------------- */
struct sy_map {
    struct sy_map_entry *entries;
    uint32_t capacity, count;
    const void *random; /* bits of this process, once there are entries */
};
/* Keys are borrowed: they must outlive the map. 0, -EEXIST (value unchanged) or -ENOMEM. */
SY_MUST_CHECK int sy_map_put(struct sy_map *map, const char *key, size_t length, uint32_t value);
bool sy_map_get(const struct sy_map *map, const char *key, size_t length, uint32_t *ret_value);
void sy_map_finish(struct sy_map *map);
/* From numbers to what holds the link, for what comes and goes. The link is its first member. */
struct sy_chained {
    struct sy_chained *next; /* in the same bucket */
    uint64_t key;
};
struct sy_chains {
    struct sy_chained **buckets;
    uint32_t width, count;
};
/* 0 or -ENOMEM. A key that is there already hides the older link. */
SY_MUST_CHECK int sy_chains_add(struct sy_chains *links, struct sy_chained *link, uint64_t key);
void *sy_chains_find(const struct sy_chains *links, uint64_t key); /* NULL: not there */
void sy_chains_remove(struct sy_chains *links, struct sy_chained *link);
void sy_chains_finish(struct sy_chains *links); /* what was linked stays as it is */
/* FNV-1a, 64 bits: stable across machines, part of the meaning of --accelerate. Not for tables:
 * anybody can make texts that collide. */
uint64_t sy_hash(const char *text, size_t length);
/* SipHash-1-3: nobody can, who does not know the key. */
uint64_t sy_siphash(const uint64_t key[2], const char *text, size_t length);

/* --- quantities: a number and its unit ------------------------------------------------------ */
struct sy_unit_name {
    const char *name; /* NULL ends a list */
    double factor;
};
/* The whole of text[0..length) must be a number of at least 0 and one of the units: "2.5ms". A bare
 * number is refused, unless it is 0. */
bool sy_parse_quantity(const char *text, size_t length, const struct sy_unit_name *units,
                       double *ret_value);
/* ns, us, ms, s, min, h. */
bool sy_parse_time(const char *text, size_t length, double *ret_ns);
/* B, kB, MB, GB, TB, KiB, MiB, GiB, TiB; the same per second as GB/s. */
bool sy_parse_size(const char *text, size_t length, double *ret_bytes);
bool sy_parse_bandwidth(const char *text, size_t length, double *ret_bytes_per_s);
/* 2.5/h, or per s, min, day; in no particular currency. */
bool sy_parse_price(const char *text, size_t length, double *ret_per_hour);

/* --- random numbers: counter based (Philox 4x32-10 of Random123) --------------------------- */
/* One stream per (seed, purpose, index): streams never overlap and cost nothing to make. */
struct sy_rng {
    uint32_t key[2];
    uint32_t counter[4];
    uint32_t out[4];
    uint32_t used; /* words of out already given */
};
/* Of two numbers, neither of them NAN. A compiler may not inline fmin and fmax, which are picky. */
static inline double sy_least(double a, double b) {
    return a < b ? a : b;
}
static inline double sy_most(double a, double b) {
    return a > b ? a : b;
}

struct sy_rng sy_rng_make(uint64_t seed, uint32_t purpose, uint64_t index);
uint32_t sy_rng_u32(struct sy_rng *rng);
double sy_rng_uniform(struct sy_rng *rng); /* [0,1), 53 bits */
uint32_t sy_rng_below(struct sy_rng *rng, uint32_t bound);
double sy_rng_normal(struct sy_rng *rng);
double sy_rng_exponential(struct sy_rng *rng); /* mean 1 */
double sy_rng_student(struct sy_rng *rng, uint32_t degrees);
/* Eight of four degrees, to 1e-6, at a sixth of the cost. */
void sy_rng_students(struct sy_rng *rng, float *ret_eight);

/* --- statistics --------------------------------------------------------------------------- */
void sy_sort(double *values, size_t count); /* ascending; no NAN */
/* Sorts values (no NAN) in place. Linear interpolation between order statistics (Hyndman and Fan's
 * type 7); probability in [0,1]; NAN if count is 0. */
double sy_quantile(double *values, size_t count, double probability);
double sy_geomean(const double *values, size_t count);
double sy_mean(const double *values, size_t count);
struct sy_interval {
    double low, high;
};
/* What values of a sample have in common, by number: outer such as the suite or family, inner such
 * as the graph. Values of one group are not independent, so groups are drawn first: outer ones,
 * inner ones of each, values of each of these; all with replacement. NULL outer: there is one;
 * NULL inner: every value is a group of its own. */
struct sy_clusters {
    const uint32_t *outer, *inner;
};
/* Of the values at picks, some of which may come several times; one statistic or more. */
typedef void sy_statistic(const void *context, const uint32_t *picks, size_t count,
                          double *ret_statistics);
/* 95 % percentile bootstrap of any statistics, 2,000 resamples from the given seed, the same for
 * each of them. NAN where there are no values, or no memory. */
void sy_bootstrap(uint32_t count, struct sy_clusters clusters, uint64_t seed,
                  sy_statistic *statistic, const void *context, uint32_t statistic_count,
                  struct sy_interval *ret_intervals);
struct sy_interval sy_bootstrap_mean(const double *values, uint32_t count,
                                     struct sy_clusters clusters, uint64_t seed);
struct sy_interval sy_bootstrap_geomean(const double *values, uint32_t count,
                                        struct sy_clusters clusters, uint64_t seed);

#endif
