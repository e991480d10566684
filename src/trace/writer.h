/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside trace: what the writers share. Sorted spans, names that are never NULL, text that
 * is safe to put into a file, kernels in order of first appearance.
 */
#ifndef SY_TRACE_WRITER_H
#define SY_TRACE_WRITER_H

#include "trace/trace.h"

#define SY_TRACE_NAME_SIZE 160
#define SY_TRACE_COLOURS   12

/* A sorted copy; spans is NULL where out of memory or empty. Spans at places or memories that the
 * names do not cover, or with times that are not finite, are left out. */
struct sy_trace sy_trace_sorted(const struct sy_trace *trace, const struct sy_trace_names *names);

bool sy_span_on_device(const struct sy_span *span);
const char *sy_name_place(const struct sy_trace_names *names, uint32_t place, char *buffer);
const char *sy_name_memory(const struct sy_trace_names *names, uint32_t memory, char *buffer);
/* Task, datum or kernel, as the kind of span says. */
const char *sy_name_subject(const struct sy_trace_names *names, const struct sy_span *span,
                            char *buffer);
/* Kernel of a task or aborted task; "stall", "reconfigure", "lost" or "transfer" otherwise. */
const char *sy_name_group(const struct sy_trace_names *names, const struct sy_span *span);

/* Bytes that are not UTF-8 and control characters become '?'. */
void sy_put_json_text(struct sy_buffer *buffer, const char *text);
void sy_put_xml_text(struct sy_buffer *buffer, const char *text, size_t characters_max);
void sy_put_paje_text(struct sy_buffer *buffer, const char *text);
size_t sy_text_characters(const char *text);
/* Time since the beginning in us with exactly three decimals, so that equal ns stay equal. */
void sy_put_us(struct sy_buffer *buffer, uint64_t ns);
uint64_t sy_round_ns(double ns);

/* Kernels in the order in which the trace shows them. */
struct sy_groups {
    struct sy_map map;
    const char **names;
    uint32_t count, capacity;
    bool failed;
};
void sy_groups_init(struct sy_groups *groups, const struct sy_trace *sorted,
                    const struct sy_trace_names *names);
uint32_t sy_groups_find(const struct sy_groups *groups, const char *name);
void sy_groups_finish(struct sy_groups *groups);
/* Distinct for groups below SY_TRACE_COLOURS, that number for all others. */
static inline uint32_t sy_colour_index(uint32_t group) {
    return group < SY_TRACE_COLOURS ? group : SY_TRACE_COLOURS;
}
/* "#rrggbb"; dark: on a dark ground. */
const char *sy_colour_of(uint32_t group, bool dark);

/* The head of a picture, up to its title. Its style sheet has light and dark colours for the
 * classes q (quiet text), g (grid), a (axis), s0, s1 ... (filled with the colour of a group) and
 * t0, t1 ... (drawn with it); b, e and m are bold text and its alignment. rules and dark_rules add
 * to both. */
#define SY_PAGE_MARGIN_PX 16.0
struct sy_picture_head {
    double width_px, height_px;
    const char *title, *subtitle; /* may be NULL */
    const char *rules, *dark_rules;
};
void sy_put_picture_head(struct sy_buffer *buffer, const struct sy_picture_head *page);

/* A unit in which duration is a number from about 1 to 1000. */
struct sy_time_unit {
    const char *name;
    double ns;
};
struct sy_time_unit sy_time_unit_for(double duration_ns);
/* 1, 2 or 5 times a power of ten: about count steps up to length. */
double sy_nice_step(double length, uint32_t count);

#endif
