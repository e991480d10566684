/* SPDX-License-Identifier: Apache-2.0
 *
 * draw: the Gantt chart and the traces of the first case.
 *
 * In: a simulator that has just run a policy. Out: text in memory, written to files when all is
 * done. Invariant: an interrupted command leaves no file; each file is whole.
 */
#include "cli/simulate/simulate.h"

static const char *path_of(const struct sy_simulate *simulate, enum sy_picture picture) {
    switch (picture) {
    case SY_PICTURE_GANTT:
        return simulate->args->plot;
    case SY_PICTURE_TRACE:
        return simulate->args->trace;
    case SY_PICTURE_PAJE:
        return simulate->args->paje;
    case SY_PICTURE_COUNT:
        break;
    }
    return NULL;
}

bool sy_simulate_wants(const struct sy_simulate *simulate, enum sy_picture picture) {
    return path_of(simulate, picture) != NULL;
}

void sy_simulate_draw(struct sy_simulate *simulate, uint32_t policy, struct sy_sim *sim) {
    static void (*const writers[])(const struct sy_trace *, const struct sy_trace_names *,
                                   struct sy_buffer *) = {
        [SY_PICTURE_GANTT] = sy_trace_write_svg,
        [SY_PICTURE_TRACE] = sy_trace_write_chrome,
        [SY_PICTURE_PAJE] = sy_trace_write_paje,
    };
    const struct sy_case *item = &simulate->cases[0];
    char title[512];
    snprintf(title, sizeof(title), "%s on %s, %s, seed %llu", item->graph, simulate->machine->name,
             simulate->policies.items[policy], (unsigned long long)item->seed);
    for (int picture = 0; picture < SY_PICTURE_COUNT; picture++) {
        if (sy_simulate_wants(simulate, (enum sy_picture)picture)) {
            struct sy_trace_names names = sy_sim_names(sim, title, item->bound_ns);
            writers[picture](sy_sim_trace(sim), &names,
                             &simulate->pictures[policy * SY_PICTURE_COUNT + (uint32_t)picture]);
        }
    }
}

static int write_picture(struct sy_simulate *simulate, uint32_t policy, enum sy_picture picture) {
    struct sy_buffer path = {0};
    sy_output_path(path_of(simulate, picture),
                   simulate->policies.count > 1 ? simulate->policies.items[policy] : NULL, &path);
    if (path.failed) {
        sy_message_fail("out of memory");
        sy_buffer_finish(&path);
        return SY_EXIT_FAILED;
    }
    int r = sy_output_file(path.text, &simulate->pictures[policy * SY_PICTURE_COUNT + picture]);
    if (r == SY_EXIT_OK) {
        const struct sy_case *item = &simulate->cases[0];
        sy_message_note(simulate->args->common.quiet, "wrote %s (%s, seed %llu, %s)", path.text,
                        item->graph, (unsigned long long)item->seed,
                        simulate->policies.items[policy]);
    }
    sy_buffer_finish(&path);
    return r;
}

int sy_simulate_write(struct sy_simulate *simulate) {
    int r = SY_EXIT_OK;
    for (uint32_t policy = 0; policy < simulate->policies.count; policy++) {
        for (int picture = 0; picture < SY_PICTURE_COUNT && r == SY_EXIT_OK; picture++) {
            if (sy_simulate_wants(simulate, (enum sy_picture)picture)) {
                r = write_picture(simulate, policy, (enum sy_picture)picture);
            }
        }
    }
    return r;
}
