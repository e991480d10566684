/* SPDX-License-Identifier: Apache-2.0
 *
 * Sources and belief, tied together; see senses.h.
 */
#include "belief/senses.h"
#include <errno.h>
#include <math.h>

int sy_senses_open(const struct sy_machine *machine, const struct sy_sources_options *options,
                   struct sy_senses *senses, struct sy_error *error) {
    struct sy_sources_options asked = *options;
    *senses = (struct sy_senses){.arena = sy_arena_create(), .replay = options->replay};
    int code = senses->arena ? 0 : -ENOMEM;
    if (!code && asked.listing) {
        code = sy_belief_wanted(asked.listing, senses->arena, &asked.wanted);
    }
    if (code) {
        return sy_fail(error, code, "out of memory");
    }
    code = sy_sources_open(&asked, &senses->sources, error);
    if (code) {
        return code;
    }
    senses->counters = sy_sources_counters(senses->sources, &senses->counter_count);
    senses->pmus = sy_sources_pmus(senses->sources, &senses->pmu_count);
    size_t room = senses->counter_count + 1u;
    senses->samples = sy_arena_alloc(senses->arena, room, sizeof *senses->samples);
    senses->chosen = sy_arena_alloc(senses->arena, room, sizeof *senses->chosen);
    if (!senses->samples || !senses->chosen) {
        return sy_fail(error, -ENOMEM, "out of memory");
    }
    return sy_belief_create(machine, asked.listing, senses->counters, senses->counter_count,
                            senses->pmus, senses->pmu_count, &senses->belief, error);
}

void sy_senses_close(struct sy_senses *senses) {
    sy_belief_destroy(senses->belief);
    sy_sources_close(senses->sources);
    sy_arena_destroy(senses->arena);
    *senses = (struct sy_senses){0};
}

int sy_senses_read(struct sy_senses *senses, double now_ns) {
    int count = sy_sources_read(senses->sources, now_ns, senses->samples, senses->counter_count);
    if (count < 0) {
        return count;
    }
    senses->sample_count = (uint32_t)count;
    for (int i = 0; senses->replay && i < count; i++) {
        senses->now_ns = fmax(senses->now_ns, senses->samples[i].end_ns);
    }
    senses->now_ns = senses->replay ? senses->now_ns : now_ns;
    return 0;
}

int sy_senses_think(struct sy_senses *senses) {
    sy_belief_update(senses->belief, senses->now_ns, senses->samples, senses->sample_count);
    if (senses->replay || senses->pmu_count == 0) {
        return 0;
    }
    uint32_t count = sy_belief_choose(senses->belief, senses->chosen, senses->counter_count);
    int code = sy_sources_select(senses->sources, senses->chosen, count);
    /* Where somebody else has taken a counter it gives no sample; the belief sees that. */
    return code == -ENOMEM ? code : 0;
}
