/* SPDX-License-Identifier: Apache-2.0
 *
 * Sources and belief, tied together; see monitor.h.
 */
#include "belief/monitor.h"
#include <errno.h>
#include <math.h>

int sy_monitor_open(const struct sy_machine *machine, const struct sy_sources_options *options,
                    struct sy_monitor *monitor, struct sy_error *error) {
    struct sy_sources_options asked = *options;
    *monitor = (struct sy_monitor){.arena = sy_arena_create(), .replay = options->replay};
    int code = monitor->arena ? 0 : -ENOMEM;
    if (!code && asked.listing) {
        code = sy_belief_wanted(asked.listing, monitor->arena, &asked.wanted);
    }
    if (code) {
        return sy_fail(error, code, "out of memory");
    }
    code = sy_sources_open(&asked, &monitor->sources, error);
    if (code) {
        return code;
    }
    monitor->counters = sy_sources_counters(monitor->sources, &monitor->counter_count);
    monitor->pmus = sy_sources_pmus(monitor->sources, &monitor->pmu_count);
    size_t room = monitor->counter_count + 1u;
    monitor->samples = sy_arena_alloc(monitor->arena, room, sizeof *monitor->samples);
    monitor->chosen = sy_arena_alloc(monitor->arena, room, sizeof *monitor->chosen);
    if (!monitor->samples || !monitor->chosen) {
        return sy_out_of_memory(error);
    }
    return sy_belief_create(machine, asked.listing, monitor->counters, monitor->counter_count,
                            monitor->pmus, monitor->pmu_count, &monitor->belief, error);
}

void sy_monitor_close(struct sy_monitor *monitor) {
    sy_belief_destroy(monitor->belief);
    sy_sources_close(monitor->sources);
    sy_arena_destroy(monitor->arena);
    *monitor = (struct sy_monitor){0};
}

int sy_monitor_read(struct sy_monitor *monitor, double now_ns) {
    int count = sy_sources_read(monitor->sources, now_ns, monitor->samples, monitor->counter_count);
    if (count < 0) {
        return count;
    }
    monitor->sample_count = (uint32_t)count;
    for (int i = 0; monitor->replay && i < count; i++) {
        monitor->now_ns = fmax(monitor->now_ns, monitor->samples[i].end_ns);
    }
    monitor->now_ns = monitor->replay ? monitor->now_ns : now_ns;
    return 0;
}

int sy_monitor_think(struct sy_monitor *monitor) {
    sy_belief_update(monitor->belief, monitor->now_ns, monitor->samples, monitor->sample_count);
    if (monitor->replay || monitor->pmu_count == 0) {
        return 0;
    }
    uint32_t count = sy_belief_choose(monitor->belief, monitor->chosen, monitor->counter_count);
    int code = sy_sources_select(monitor->sources, monitor->chosen, count);
    /* Where somebody else has taken a counter it gives no sample; the belief sees that. */
    return code == -ENOMEM ? code : 0;
}
