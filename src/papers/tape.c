/* SPDX-License-Identifier: Apache-2.0
 *
 * The tape of decisions: copies of what the network saw, in memory taken beforehand.
 */
#include "papers/net.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int sy_tape_init(struct sy_policy_tape *tape, uint32_t step_capacity, size_t float_capacity) {
    size_t word_capacity = float_capacity / 4;
    *tape = (struct sy_policy_tape){.step_capacity = step_capacity,
                                    .float_capacity = float_capacity,
                                    .word_capacity = word_capacity};
    tape->steps = calloc(step_capacity, sizeof *tape->steps);
    tape->floats = calloc(float_capacity, sizeof *tape->floats);
    tape->words = calloc(word_capacity, sizeof *tape->words);
    if (tape->steps && tape->floats && tape->words) {
        return 0;
    }
    sy_tape_finish(tape);
    return -ENOMEM;
}

void sy_tape_finish(struct sy_policy_tape *tape) {
    free(tape->steps);
    free(tape->floats);
    free(tape->words);
    *tape = (struct sy_policy_tape){0};
}

void sy_tape_clear(struct sy_policy_tape *tape) {
    tape->step_count = 0;
    tape->float_count = tape->word_count = 0;
    tape->cost = 0;
    tape->decision_count = tape->unrecorded_count = 0;
    tape->full = false;
}

static const float *keep_floats(struct sy_policy_tape *tape, const float *from, size_t count) {
    float *to = tape->floats + tape->float_count;
    memcpy(to, from, count * sizeof *to);
    tape->float_count += count;
    return to;
}

static const uint32_t *keep_words(struct sy_policy_tape *tape, const void *from, size_t count) {
    uint32_t *to = tape->words + tape->word_count;
    memcpy(to, from, count * sizeof *to);
    tape->word_count += count;
    return to;
}

#define ACTION_WORDS (sizeof(struct sy_paper_action) / sizeof(uint32_t))

struct sy_paper_step *sy_tape_add(struct sy_policy_tape *tape, const struct sy_paper_frame *frame) {
    size_t vertices = sy_paper_vertices(frame);
    size_t floats = (size_t)frame->edge_count * SY_PAPER_EDGE + vertices * SY_PAPER_VERTEX +
                    SY_PAPER_GLOBAL + (size_t)frame->task_count * SY_PAPER_TASK +
                    (size_t)frame->link_count * SY_PAPER_LINK +
                    (size_t)frame->action_count * SY_PAPER_CANDIDATE;
    size_t words =
        2 * ((size_t)frame->edge_count + frame->link_count) + frame->action_count * ACTION_WORDS;
    if (tape->full || tape->step_count == tape->step_capacity ||
        tape->float_count + floats > tape->float_capacity ||
        tape->word_count + words > tape->word_capacity) {
        tape->full = true;
        return NULL;
    }
    struct sy_paper_step *step = &tape->steps[tape->step_count];
    struct sy_paper_frame *kept = &step->frame;
    *step = (struct sy_paper_step){.frame = *frame};
    if (tape->step_count) {
        const struct sy_paper_frame *first = &tape->steps[0].frame;
        kept->edge_from = first->edge_from;
        kept->edge_to = first->edge_to;
        kept->edges = first->edges;
    } else {
        kept->edge_from = keep_words(tape, frame->edge_from, frame->edge_count);
        kept->edge_to = keep_words(tape, frame->edge_to, frame->edge_count);
        kept->edges = keep_floats(tape, frame->edges, (size_t)frame->edge_count * SY_PAPER_EDGE);
    }
    kept->link_from = keep_words(tape, frame->link_from, frame->link_count);
    kept->link_to = keep_words(tape, frame->link_to, frame->link_count);
    kept->actions =
        (const void *)keep_words(tape, frame->actions, frame->action_count * ACTION_WORDS);
    kept->vertices = keep_floats(tape, frame->vertices, vertices * SY_PAPER_VERTEX);
    kept->global = keep_floats(tape, frame->global, SY_PAPER_GLOBAL);
    kept->tasks = keep_floats(tape, frame->tasks, (size_t)frame->task_count * SY_PAPER_TASK);
    kept->links = keep_floats(tape, frame->links, (size_t)frame->link_count * SY_PAPER_LINK);
    kept->candidates =
        keep_floats(tape, frame->candidates, (size_t)frame->action_count * SY_PAPER_CANDIDATE);
    tape->step_count++;
    return step;
}
