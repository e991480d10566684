/* SPDX-License-Identifier: Apache-2.0
 *
 * Which devices a plan's stages are, and whose turn it is.
 *
 * In: a plan, the places of each class. Out: places of a kernel of an item. Stages take devices of
 * their class in order, so none is in two; groups of a stage, and lanes in proportion to their
 * rates, take items in turn.
 */
#include "engine/stream.h"
#include <errno.h>
#include <math.h>

int stream_lay(struct stream *stream, const struct sy_plan_problem *problem,
               const struct sy_plan *plan, struct stream_layout *ret_layout) {
    uint32_t used[SY_PLAN_CLASS_MAX] = {0};
    struct stream_layout layout = {.plan = *plan};
    for (uint32_t s = 0; s < plan->stage_count; s++) {
        const struct sy_plan_stage *stage = &plan->stages[s];
        const struct sy_plan_shape *shape = &problem->shapes[stage->shape];
        layout.first[s] = used[shape->class_index];
        used[shape->class_index] += shape->width * stage->replicas;
        if (used[shape->class_index] > problem->classes[shape->class_index].device_count) {
            return sy_fail(stream->error, -ENODEV, "the plan uses more than the %u devices of %s",
                           problem->classes[shape->class_index].device_count,
                           problem->classes[shape->class_index].name);
        }
    }
    layout.serial = stream->layout.serial + 1;
    *ret_layout = layout;
    return 0;
}

struct stream_turn stream_take_turn(struct stream *stream, const struct sy_plan_problem *problem) {
    struct stream_layout *layout = &stream->layout;
    uint32_t best = 0;
    double least = INFINITY;
    for (uint32_t l = 0; l < layout->plan.lane_count; l++) {
        double rate = layout->plan.lane_rate[l];
        double due = (double)(layout->lane_items[l] + 1) / (rate > 0 ? rate : 1);
        if (due < least) {
            least = due;
            best = l;
        }
    }
    return (struct stream_turn){problem, best, layout->lane_items[best]++};
}

uint32_t stream_places(const struct stream *stream, const struct stream_turn *turn, uint32_t kernel,
                       const struct sy_session_place **ret_places, uint32_t *ret_shape) {
    const struct sy_plan *plan = &stream->layout.plan;
    for (uint32_t s = 0; s < plan->stage_count; s++) {
        const struct sy_plan_stage *stage = &plan->stages[s];
        if (stage->lane == turn->lane && (stage->kernels >> kernel & 1)) {
            const struct sy_plan_shape *shape = &turn->problem->shapes[stage->shape];
            uint32_t group = (uint32_t)(turn->turn % stage->replicas);
            *ret_places = stream->options->places[shape->class_index] + stream->layout.first[s] +
                          group * shape->width;
            *ret_shape = stage->shape;
            return shape->width;
        }
    }
    SY_ASSERT(false && "every kernel is in a stage of every lane");
    return 0;
}
