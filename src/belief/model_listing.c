/* SPDX-License-Identifier: Apache-2.0
 *
 * model_listing: the factor graph of one core, or of one socket, of any architecture listed.
 *
 * In: a listing. Out: the model that would be built there if every event could be read:
 * variable.counter is then the event's index in the listing, and variable.pmu a number per kind of
 * PMU. Also the names of the events that roles ask for. POWER's nest has no events in the listing,
 * only names in metrics ("hv_24x7/PM_MCS01_..., chip=?/"): those count from event_count on.
 */
#include "belief/build.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t unit_index(const struct sy_listing *listing, const char *unit) {
    uint32_t i = sy_index_of(unit, listing->units, listing->unit_count, sizeof *listing->units);
    return i == SY_NONE ? listing->unit_count : i;
}

static bool is_nest_name(const struct sy_listing *listing, uint32_t name) {
    return listing->name_event[name] == SY_NONE && listing->name_metric[name] == SY_NONE &&
           strncmp(listing->names[name], "hv_24x7/", 8) == 0;
}

static uint32_t list_signals(const struct sy_listing *listing, const char *unit, bool core,
                             struct sy_signal *signals) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < listing->event_count; i++) {
        const struct sy_event *event = &listing->events[i];
        bool derived = i >= listing->listed_count;
        if (event->deprecated || event->privilege[0] || (core && derived) || (core && !unit) ||
            !sy_event_is_of(event, unit)) {
            continue;
        }
        signals[count++] = (struct sy_signal){
            .name = event->name,
            .event = i,
            .counter = i,
            .pmu = event->fixed ? SY_PMU_NONE : unit_index(listing, event->unit),
            .kind = SY_COUNTER_RATE,
        };
    }
    for (uint32_t i = 0; i < listing->name_count && !core; i++) {
        if (is_nest_name(listing, i)) {
            signals[count++] = (struct sy_signal){.name = listing->names[i],
                                                  .event = SY_NONE,
                                                  .counter = listing->event_count + i,
                                                  .pmu = SY_PMU_NONE,
                                                  .kind = SY_COUNTER_RATE};
        }
    }
    return count;
}

int sy_find_all(const struct sy_listing *listing, const char *unit, struct sy_found_list *list) {
    int code = sy_find_unit_masks(listing, unit, list);
    code = code ? code : sy_find_names(listing, unit, list);
    return code ? code : sy_find_metrics(listing, unit, list);
}

/* A GPU's counters are in no listing: what its providers may give, under the first of its names. */
static int build_gpu(struct sy_model **ret_model) {
    struct sy_signal signals[SY_ROLE_COUNT];
    char names[SY_ROLE_COUNT][32];
    uint32_t count = 0, row_count;
    const struct sy_role_row *rows = sy_role_rows(&row_count);
    for (uint32_t i = 0; i < row_count && count < SY_ROLE_COUNT; i++) {
        const struct sy_role_info *info = sy_role_info(rows[i].role);
        if (info->places & SY_AT_GPU) {
            snprintf(names[count], sizeof names[0], "%.*s", (int)strcspn(rows[i].words, " "),
                     rows[i].words);
            signals[count] =
                (struct sy_signal){.name = names[count],
                                   .event = SY_NONE,
                                   .counter = count,
                                   .pmu = SY_PMU_NONE,
                                   .kind = info->unit[0] ? SY_COUNTER_RATE : SY_COUNTER_SHARE};
            count++;
        }
    }
    struct sy_build build;
    int code = sy_build_init(&build, "gpu", NULL, signals, count, SY_AT_GPU);
    if (code) {
        return code;
    }
    sy_build_roles(&build);
    sy_build_relations(&build);
    sy_build_finish(&build);
    if (build.failed) {
        sy_model_destroy(build.model);
        return -ENOMEM;
    }
    *ret_model = build.model;
    return 0;
}

static int build_listing(struct sy_build *build, const char *unit) {
    struct sy_found_list found = {0};
    sy_build_roles(build);
    int code = sy_find_all(build->listing, unit, &found);
    if (!code) {
        sy_build_listing(build, &found, true);
        sy_build_relations(build);
        code = build->failed ? -ENOMEM : 0;
    }
    sy_found_finish(&found);
    return code;
}

int sy_model_of_listing(const struct sy_listing *listing, enum sy_scope scope,
                        struct sy_model **ret_model, struct sy_error *error) {
    bool core = scope == SY_SCOPE_CORE;
    if (scope == SY_SCOPE_GPU) {
        return build_gpu(ret_model) ? sy_out_of_memory(error) : 0;
    }
    if (!core && scope != SY_SCOPE_PACKAGE) {
        return sy_fail(error, -EINVAL, "there are models of a core, a package and a GPU only");
    }
    const char *unit = core ? sy_main_unit(listing) : NULL;
    struct sy_signal *signals =
        calloc(listing->event_count + listing->name_count + 1u, sizeof *signals);
    if (!signals) {
        return sy_out_of_memory(error);
    }
    uint32_t count = list_signals(listing, unit, core, signals);
    struct sy_build build;
    struct sy_buffer name = {0};
    sy_buffer_printf(&name, "%s %s", listing->name, core ? "core" : "package");
    int code = name.failed ? -ENOMEM : 0;
    code = code ? code
                : sy_build_init(&build, name.text, listing, signals, count,
                                core ? SY_AT_CORE : SY_AT_PACKAGE);
    if (!code) {
        code = build_listing(&build, unit);
        code = code ? code : sy_model_check(build.model, error);
        sy_build_finish(&build);
        if (code) {
            sy_model_destroy(build.model);
        } else {
            *ret_model = build.model;
        }
    }
    sy_buffer_finish(&name);
    free(signals);
    return code == -ENOMEM ? sy_fail(error, code, "out of memory") : code;
}

int sy_belief_wanted(const struct sy_listing *listing, struct sy_arena *arena,
                     const char *const **ret_events) {
    struct sy_model *models[2] = {NULL, NULL};
    int code = sy_model_of_listing(listing, SY_SCOPE_CORE, &models[0], NULL);
    code = code ? code : sy_model_of_listing(listing, SY_SCOPE_PACKAGE, &models[1], NULL);
    uint32_t total = code ? 0 : models[0]->variable_count + models[1]->variable_count;
    const char **names = code ? NULL : sy_arena_alloc(arena, total + 1u, sizeof *names);
    code = code ? code : names ? 0 : -ENOMEM;
    uint32_t count = 0;
    for (uint32_t m = 0; m < 2 && !code; m++) {
        for (uint32_t i = 0; i < models[m]->variable_count && !code; i++) {
            uint32_t event = models[m]->variables[i].counter;
            if (event != SY_NONE) {
                names[count++] = event < listing->event_count
                                     ? listing->events[event].name
                                     : listing->names[event - listing->event_count];
            }
        }
    }
    if (!code) {
        *ret_events = names;
    }
    sy_model_destroy(models[0]);
    sy_model_destroy(models[1]);
    return code;
}
