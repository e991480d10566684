/* SPDX-License-Identifier: Apache-2.0
 *
 * Which counters speak of which resource, and how: the table of ratios that senses start from.
 *
 * In: counters, the machine. Out: witnesses. A counter named after a resource counts its traffic. A
 * counter with a role of the table below counts a part of it: the ratio to expect and how far off
 * that may be. Counters of one event in several places of a resource (channels of a socket's
 * memory) add up and are one witness.
 */
#include "belief/build.h"
#include "belief/parts.h"
#include "belief/witness.h"
#include <errno.h>
#include <math.h>
#include <string.h>

enum place { HOST_MEMORY, OWN_MEMORY, LINK_DOWN, LINK_UP };

static const struct {
    enum sy_role role;
    enum place place;
    double ratio, sd; /* of its logarithm */
    double bytes;     /* in one unit of the role; 0: it is a share of the capacity */
    enum sy_role twin;
} testimonies[] = {
    {SY_ROLE_DRAM_TOTAL, HOST_MEMORY, 1, 0, 1, SY_ROLE_COUNT},
    {SY_ROLE_DRAM_READ, HOST_MEMORY, 0.6, 0.3, 1, SY_ROLE_DRAM_WRITE},
    {SY_ROLE_DRAM_WRITE, HOST_MEMORY, 0.4, 0.3, 1, SY_ROLE_DRAM_READ},
    {SY_ROLE_MBM_TOTAL, HOST_MEMORY, 0.9, 0.3, 1, SY_ROLE_COUNT},
    {SY_ROLE_L3_MISS, HOST_MEMORY, 0.5, 0.5, 64, SY_ROLE_COUNT},
    {SY_ROLE_GPU_DRAM, OWN_MEMORY, 1, 0, 0, SY_ROLE_COUNT},
    /* With the packets' heads: 7 to 9 % over the bytes copied on an H200 (docs/bench/gpu.md). */
    {SY_ROLE_GPU_PCIE_RX, LINK_DOWN, 1.08, 0.05, 1, SY_ROLE_COUNT},
    {SY_ROLE_GPU_PCIE_TX, LINK_UP, 1.08, 0.05, 1, SY_ROLE_COUNT},
};

/* The row of a name among those of a place; NULL. */
static const struct sy_role_row *row_of(const char *event, uint32_t places) {
    uint32_t count;
    const struct sy_role_row *rows = sy_role_rows(&count);
    for (uint32_t i = 0; i < count; i++) {
        if (!(sy_role_info(rows[i].role)->places & places)) {
            continue;
        }
        for (const char *word = rows[i].words; *word;) {
            size_t length = strcspn(word, " ");
            if (sy_role_matches(word, length, event)) {
                return &rows[i];
            }
            word += length + strspn(word + length, " ");
        }
    }
    return NULL;
}

/* A socket's memory, where it has one alone. */
static uint32_t host_resource(const struct sy_layout *layout, uint32_t package) {
    uint32_t found = SY_NONE, count = 0;
    for (uint32_t i = 0; i < layout->machine->memory_count; i++) {
        if (layout->machine->memories[i].host && layout->host_package[i] == package) {
            found = layout->machine->memories[i].resource;
            count++;
        }
    }
    return count == 1 ? found : SY_NONE;
}

static uint32_t resource_at(const struct sy_layout *layout, const struct sy_counter *counter,
                            enum place place) {
    uint32_t index = counter->scope_index;
    if (place == HOST_MEMORY) {
        return counter->scope == SY_SCOPE_PACKAGE ? host_resource(layout, index) : SY_NONE;
    }
    bool board = counter->scope == SY_SCOPE_BOARD;
    if ((!board && counter->scope != SY_SCOPE_GPU) ||
        index >= (board ? layout->board_count : layout->gpu_count)) {
        return SY_NONE;
    }
    uint32_t memory = layout->accelerator_memory[board ? layout->gpu_count + index : index];
    if (memory == SY_NONE) {
        return SY_NONE;
    }
    return place == OWN_MEMORY ? layout->machine->memories[memory].resource
                               : sy_layout_link(layout->machine, memory, place == LINK_DOWN);
}

/* What a counter is a witness of, for itself alone. */
struct testimony {
    struct sy_witness witness;
    enum sy_role role; /* SY_ROLE_COUNT: it is named after the resource */
    uint32_t group;    /* of its role's rows; 0: by its own name */
};

static bool testify(const struct sy_layout *layout, const struct sy_counter *counter,
                    struct testimony *ret) {
    const struct sy_machine *machine = layout->machine;
    uint32_t resource = sy_layout_resource(machine, counter->event);
    bool share = counter->kind == SY_COUNTER_SHARE;
    *ret =
        (struct testimony){.witness = {.twin = SY_NONE, .start_ratio = 1}, .role = SY_ROLE_COUNT};
    if (resource != SY_NONE) {
        ret->witness.resource = resource;
        ret->witness.scale = share ? 1 : 1 / machine->resources[resource].bytes_per_s;
        return true;
    }
    const struct sy_role_row *row = row_of(counter->event, sy_place_of_scope(counter->scope));
    for (uint32_t i = 0; row && i < SY_COUNT(testimonies); i++) {
        if (testimonies[i].role != row->role) {
            continue;
        }
        resource = resource_at(layout, counter, testimonies[i].place);
        if (resource == SY_NONE) {
            return false;
        }
        double bytes =
            counter->unit && counter->unit[0] == 'B' ? 1 : row->factor * testimonies[i].bytes;
        ret->role = row->role;
        ret->group = row->group;
        ret->witness.resource = resource;
        ret->witness.scale = share ? 1 : bytes / machine->resources[resource].bytes_per_s;
        ret->witness.start_ratio = testimonies[i].ratio;
        ret->witness.start_variance = testimonies[i].sd * testimonies[i].sd;
        return ret->witness.scale > 0;
    }
    return false;
}

/* The witness that a counter adds to; SY_NONE: it is one of its own. */
static uint32_t adds_to(const struct sy_senses *s, const struct testimony *all, uint32_t counter) {
    const struct sy_counter *counters = s->options.counters, *own = &counters[counter];
    for (uint32_t i = 0; i < counter; i++) {
        const struct testimony *other = &all[i];
        bool same = s->witness_of[i] != SY_NONE && other->role == all[counter].role &&
                    other->role != SY_ROLE_COUNT && counters[i].kind != SY_COUNTER_SHARE &&
                    other->witness.resource == all[counter].witness.resource &&
                    strcmp(counters[i].source, own->source) == 0;
        bool other_place = counters[i].pmu != own->pmu || own->pmu == SY_PMU_NONE;
        if (same && (strcmp(counters[i].event, own->event) == 0
                         ? other_place
                         : other->group > 0 && other->group == all[counter].group)) {
            return s->witness_of[i];
        }
    }
    return SY_NONE;
}

static void list_members(struct sy_senses *s) {
    uint32_t at = 0;
    s->all_limited = true;
    for (uint32_t w = 0; w < s->witness_count; w++) {
        bool limited = false;
        s->witnesses[w].first = at;
        for (uint32_t i = 0; i < s->options.counter_count; i++) {
            if (s->witness_of[i] == w) {
                s->members[at++] = i;
                limited = limited || s->options.counters[i].pmu < s->options.pmu_count;
            }
        }
        s->witnesses[w].count = at - s->witnesses[w].first;
        s->all_limited = s->all_limited && limited;
    }
}

static void chain_witnesses(struct sy_senses *s) {
    for (uint32_t r = 0; r < s->machine->resource_count; r++) {
        s->spoken[r] = SY_NONE;
    }
    for (uint32_t w = s->witness_count; w-- > 0;) {
        uint32_t *first = &s->spoken[s->witnesses[w].resource];
        s->witnesses[w].next = *first;
        *first = w;
        s->about[w] = s->witnesses[w].resource;
    }
}

static void pair_twins(struct sy_senses *s, const struct testimony *all) {
    for (uint32_t w = 0; w < s->witness_count; w++) {
        const struct testimony *own = &all[s->members[s->witnesses[w].first]];
        for (uint32_t i = 0; i < SY_COUNT(testimonies); i++) {
            if (testimonies[i].role != own->role || testimonies[i].twin == SY_ROLE_COUNT) {
                continue;
            }
            for (uint32_t v = 0; v < s->witness_count; v++) {
                const struct testimony *other = &all[s->members[s->witnesses[v].first]];
                if (other->role == testimonies[i].twin &&
                    other->witness.resource == own->witness.resource) {
                    s->witnesses[w].twin = v;
                }
            }
        }
    }
}

bool sy_witness_list(struct sy_senses *s, struct sy_arena *arena) {
    uint32_t count = s->options.counter_count;
    struct sy_layout layout = {
        .machine = s->machine, .counters = s->options.counters, .counter_count = count};
    struct testimony *all = sy_arena_alloc(arena, count + 1u, sizeof *all);
    s->witness_of = sy_arena_alloc(arena, count + 1u, sizeof *s->witness_of);
    s->members = sy_arena_alloc(arena, count + 1u, sizeof *s->members);
    s->witnesses = sy_arena_alloc(arena, count + 1u, sizeof *s->witnesses);
    s->about = sy_arena_alloc(arena, count + 1u, sizeof *s->about);
    s->sure = sy_arena_alloc(arena, count + 1u, sizeof *s->sure);
    s->tells = sy_arena_alloc(arena, count + 8u, sizeof *s->tells); /* eights are whole */
    if (!all || !s->witness_of || !s->members || !s->witnesses || !s->about || !s->sure ||
        !s->tells || (count && sy_layout_make(&layout, arena))) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        s->witness_of[i] = SY_NONE;
        if (!testify(&layout, &s->options.counters[i], &all[i])) {
            continue;
        }
        s->witness_of[i] = adds_to(s, all, i);
        if (s->witness_of[i] == SY_NONE) {
            s->witness_of[i] = s->witness_count;
            s->witnesses[s->witness_count++] = all[i].witness;
        }
    }
    list_members(s);
    chain_witnesses(s);
    pair_twins(s, all);
    return true;
}

/* --- what to ask a listing for ------------------------------------------------------------------
 */
/* Of the rows of a role, those that hold for this listing: of the first word that it has, and of
 * all that are summed with it. */
static uint32_t wanted_of(const struct sy_listing *listing, enum sy_role role, const char **names) {
    uint32_t row_count, count = 0, group = 0;
    const struct sy_role_row *rows = sy_role_rows(&row_count);
    for (uint32_t i = 0; i < row_count; i++) {
        if (rows[i].role != role || (count && (group == 0 || rows[i].group != group))) {
            continue;
        }
        for (const char *word = rows[i].words; *word && (count == 0 || rows[i].group);) {
            size_t length = strcspn(word, " ");
            for (uint32_t e = 0; e < listing->event_count; e++) {
                if (sy_role_matches(word, length, listing->events[e].name)) {
                    names[count++] = listing->events[e].name;
                    group = rows[i].group;
                }
            }
            word += length + strspn(word + length, " ");
        }
    }
    return count;
}

int sy_senses_wanted(const struct sy_listing *listing, struct sy_arena *arena,
                     const char *const **ret_events) {
    static const enum sy_role roles[] = {SY_ROLE_DRAM_TOTAL, SY_ROLE_DRAM_READ, SY_ROLE_DRAM_WRITE};
    const char **names =
        sy_arena_alloc(arena, SY_COUNT(roles) * listing->event_count + 1, sizeof *names);
    uint32_t count = 0;
    if (!names) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < SY_COUNT(roles); i++) {
        count += wanted_of(listing, roles[i], &names[count]);
    }
    *ret_events = names;
    return 0;
}
