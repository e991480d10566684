/* SPDX-License-Identifier: Apache-2.0
 *
 * model_build: signals become variables, roles find them, relations are drawn between them.
 *
 * In: signals of one place (a core, a socket, a GPU). Out: a model with at most so many variables.
 * Invariants: a relation is drawn only where all its variables are there; a signal becomes at most
 * one variable; out of memory sticks in failed and is told at the end.
 */
#include "belief/build.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TERMS_MAX          128
#define DEFAULT_NOISE      0.02
#define GROW_MAX           6u /* events that one sum may bring along */
#define WIDTH_UNIT_MASK    0.05
#define WIDTH_NAME         0.1
#define WIDTH_SUBSET       0.02
#define WIDTH_METRIC       0.05
#define WIDTH_ROLE_PARTS   0.02
#define NO_ROLE_START_SD   5.0
#define NO_ROLE_RATE_START 1e6

int sy_build_init(struct sy_build *build, const char *name, const struct sy_listing *listing,
                  const struct sy_signal *signals, uint32_t signal_count,
                  enum sy_role_place place) {
    *build = (struct sy_build){
        .model = sy_model_create(name),
        .listing = listing,
        .signals = signals,
        .signal_count = signal_count,
        .place = (uint32_t)place,
        .variables_max = place == SY_AT_CORE ? SY_CORE_VARIABLES_MAX : SY_PACKAGE_VARIABLES_MAX,
        .signal_variable = malloc((signal_count + 1u) * sizeof(uint32_t)),
    };
    if (!build->model || !build->signal_variable) {
        sy_model_destroy(build->model);
        sy_build_finish(build);
        return -ENOMEM;
    }
    build->model->step_ns = SY_STEP_NS;
    for (uint32_t i = 0; i < signal_count; i++) {
        build->signal_variable[i] = SY_NONE;
    }
    for (uint32_t i = 0; i < SY_ROLE_COUNT; i++) {
        build->roles[i] = (struct sy_binding){SY_NONE, 1};
    }
    return 0;
}

void sy_build_finish(struct sy_build *build) {
    free(build->signal_variable);
    build->signal_variable = NULL;
}

uint32_t sy_build_variable(struct sy_build *build, const struct sy_variable *variable) {
    uint32_t index = sy_model_add_variable(build->model, variable);
    build->failed = build->failed || index == SY_NONE;
    return index;
}

void sy_build_factor(struct sy_build *build, const struct sy_factor *factor,
                     const struct sy_term *terms, uint32_t count) {
    if (sy_model_add_factor(build->model, factor, terms, count) == SY_NONE) {
        build->failed = true;
    }
}

struct sy_variable sy_build_start(enum sy_role role, double factor) {
    const struct sy_role_info *info = sy_role_info(role);
    return (struct sy_variable){.name = info->name,
                                .role = info->name,
                                .counter = SY_NONE,
                                .pmu = SY_PMU_NONE,
                                .start_log = log(info->start / factor),
                                .start_sd = info->start_sd,
                                .drift_sd = info->drift_sd,
                                .noise_ratio = DEFAULT_NOISE,
                                .offset = info->offset / factor,
                                .capacity = INFINITY,
                                .resource = SY_NONE};
}

/* What a signal that has no role starts from: by what kind of value it is. */
static struct sy_variable start_of_kind(enum sy_counter_kind kind) {
    struct sy_variable variable = sy_build_start(SY_ROLE_GPU_BUSY, 1);
    if (kind != SY_COUNTER_SHARE) {
        variable.start_log = kind == SY_COUNTER_RATE ? log(NO_ROLE_RATE_START) : 0;
        variable.start_sd = NO_ROLE_START_SD;
        variable.offset = kind == SY_COUNTER_RATE ? 1 : 1e-3;
    }
    return variable;
}

/* The variable of a signal, made where it is missing; SY_NONE where there is no room. */
static uint32_t variable_of(struct sy_build *build, uint32_t index, enum sy_role role,
                            double factor) {
    const struct sy_signal *signal = &build->signals[index];
    if (build->signal_variable[index] != SY_NONE ||
        build->model->variable_count >= build->variables_max) {
        return build->signal_variable[index];
    }
    struct sy_variable variable =
        role == SY_ROLE_COUNT ? start_of_kind(signal->kind) : sy_build_start(role, factor);
    variable.role = role == SY_ROLE_COUNT ? "" : variable.role;
    variable.name = signal->name;
    variable.counter = signal->counter;
    variable.pmu = signal->pmu;
    variable.noise_ratio = signal->noise_ratio > 0 ? signal->noise_ratio : DEFAULT_NOISE;
    variable.capacity = signal->kind == SY_COUNTER_SHARE ? 1 : INFINITY;
    build->signal_variable[index] = sy_build_variable(build, &variable);
    return build->signal_variable[index];
}

struct sy_binding *sy_build_hidden(struct sy_build *build, enum sy_role role, const char *name) {
    struct sy_binding *binding = &build->roles[role];
    if (binding->variable == SY_NONE) {
        struct sy_variable variable = sy_build_start(role, 1);
        variable.name = name ? name : variable.name;
        *binding = (struct sy_binding){sy_build_variable(build, &variable), 1};
    }
    return binding;
}

/* --- roles --------------------------------------------------------------------------------------
 */
/* "cpu_atom/inst_retired.any/" is inst_retired.any; with further terms it is something else. */
static bool name_matches(const char *word, size_t length, const char *name) {
    const char *slash = strchr(name, '/');
    size_t rest = slash ? strlen(slash) : 0;
    char inner[128];
    if (rest < 2 || slash[rest - 1] != '/' || strchr(slash, ',') || rest - 1 > sizeof inner) {
        return sy_role_matches(word, length, name);
    }
    memcpy(inner, slash + 1, rest - 2);
    inner[rest - 2] = '\0';
    return sy_role_matches(word, length, inner);
}

static double factor_of(const struct sy_signal *signal, double factor) {
    return signal->bytes ? 1 : factor;
}

/* The first word of the row that is there. */
static bool bind_first(struct sy_build *build, const struct sy_role_row *row) {
    for (const char *word = row->words; *word; word += strspn(word, " ")) {
        size_t length = strcspn(word, " ");
        for (uint32_t i = 0; i < build->signal_count; i++) {
            if (build->signal_variable[i] != SY_NONE ||
                !name_matches(word, length, build->signals[i].name)) {
                continue;
            }
            double factor = factor_of(&build->signals[i], row->factor);
            uint32_t variable = variable_of(build, i, row->role, factor);
            build->roles[row->role] = (struct sy_binding){variable, factor};
            return variable != SY_NONE;
        }
        word += length;
    }
    return false;
}

static bool row_matches(const struct sy_role_row *row, const char *name) {
    for (const char *word = row->words; *word; word += strspn(word, " ")) {
        size_t length = strcspn(word, " ");
        if (name_matches(word, length, name)) {
            return true;
        }
        word += length;
    }
    return false;
}

/* All signals of all rows of the group add up to a hidden variable; one alone is the role. */
static bool bind_sum(struct sy_build *build, const struct sy_role_row *rows, uint32_t first,
                     uint32_t row_count) {
    struct sy_term terms[TERMS_MAX];
    uint32_t count = 0;
    for (uint32_t r = first; r < row_count; r++) {
        if (rows[r].role != rows[first].role || rows[r].group != rows[first].group) {
            continue;
        }
        for (uint32_t i = 0; i < build->signal_count && count < TERMS_MAX; i++) {
            if (build->signal_variable[i] == SY_NONE &&
                row_matches(&rows[r], build->signals[i].name)) {
                double factor = factor_of(&build->signals[i], rows[r].factor);
                uint32_t variable = variable_of(build, i, rows[r].role, factor);
                if (variable != SY_NONE) {
                    terms[count++] = (struct sy_term){variable, factor};
                }
            }
        }
    }
    if (count == 1) {
        build->roles[rows[first].role] =
            (struct sy_binding){terms[0].variable, terms[0].coefficient};
    } else if (count > 1) {
        struct sy_binding *binding = sy_build_hidden(build, rows[first].role, NULL);
        struct sy_factor factor = {.kind = SY_FACTOR_EQUAL,
                                   .origin = SY_FROM_NAME,
                                   .why = "it is counted in parts: by channel, link or width",
                                   .out = binding->variable,
                                   .width = WIDTH_ROLE_PARTS};
        sy_build_factor(build, &factor, terms, count);
        for (uint32_t i = 0; i < count; i++) {
            build->model->variables[terms[i].variable].role = "";
        }
    }
    return count > 0;
}

void sy_build_roles(struct sy_build *build) {
    uint32_t row_count;
    const struct sy_role_row *rows = sy_role_rows(&row_count);
    for (uint32_t r = 0; r < row_count && !build->failed; r++) {
        const struct sy_role_row *row = &rows[r];
        if (!(sy_role_info(row->role)->places & build->place) ||
            build->roles[row->role].variable != SY_NONE) {
            continue;
        }
        if (row->group == 0) {
            (void)bind_first(build, row);
        } else {
            (void)bind_sum(build, rows, r, row_count);
        }
    }
    for (uint32_t i = 0; i < build->signal_count && !build->failed; i++) {
        if (build->signals[i].wanted) {
            (void)variable_of(build, i, SY_ROLE_COUNT, 1);
        }
    }
}

/* --- relations of the listing -------------------------------------------------------------------
 */
struct placed {
    struct sy_build *build;
    const struct sy_found_list *found;
    uint32_t *event_signal; /* SY_NONE: no signal counts it */
    uint32_t role_count;    /* variables that were there before anything grew */
};

static uint32_t variable_at(const struct placed *placed, uint32_t event) {
    uint32_t signal = event == SY_NONE ? SY_NONE : placed->event_signal[event];
    return signal == SY_NONE ? SY_NONE : placed->build->signal_variable[signal];
}

/* How many of a relation's events are no variables yet; SY_NONE: one cannot be had at all. */
static uint32_t missing_of(const struct placed *placed, const struct sy_found *item,
                           bool *ret_touches) {
    uint32_t missing = 0;
    *ret_touches = false;
    for (uint32_t i = 0; i <= item->count; i++) {
        uint32_t event =
            i < item->count ? placed->found->terms[item->first + i].variable : item->out;
        if (event == SY_NONE) {
            continue;
        }
        if (placed->event_signal[event] == SY_NONE) {
            return SY_NONE;
        }
        uint32_t variable = variable_at(placed, event);
        missing += variable == SY_NONE;
        *ret_touches = *ret_touches || (variable < placed->role_count &&
                                        placed->build->model->variables[variable].role[0]);
    }
    return missing;
}

static void grow_for(struct placed *placed, const struct sy_found *item) {
    for (uint32_t i = 0; i <= item->count; i++) {
        uint32_t event =
            i < item->count ? placed->found->terms[item->first + i].variable : item->out;
        (void)variable_of(placed->build, placed->event_signal[event], SY_ROLE_COUNT, 1);
    }
}

/* Sums that touch a role bring their other events along, the smallest first. */
static void grow_all(struct placed *placed) {
    struct sy_build *build = placed->build;
    for (uint32_t allowed = 1; allowed <= GROW_MAX; allowed++) {
        for (uint32_t i = 0; i < placed->found->count; i++) {
            const struct sy_found *item = &placed->found->items[i];
            bool touches;
            if (item->kind == SY_FACTOR_EQUAL && missing_of(placed, item, &touches) == allowed &&
                touches && build->model->variable_count + allowed <= build->variables_max) {
                grow_for(placed, item);
            }
        }
    }
}

static void say_why(const struct placed *placed, const struct sy_found *item, char *text,
                    size_t size) {
    const struct sy_listing *listing = placed->build->listing;
    switch (item->origin) {
    case SY_FROM_UNIT_MASK:
        snprintf(text, size, "mask 0x%llx is the union of the others",
                 (unsigned long long)listing->events[item->out].umask);
        break;
    case SY_FROM_SUBSET:
        snprintf(text, size, "mask 0x%llx contains the other",
                 (unsigned long long)listing->events[item->out].umask);
        break;
    case SY_FROM_METRIC:
        snprintf(text, size, "%s is a share", listing->metrics[item->metric].name);
        break;
    case SY_FROM_NAME:
    case SY_FROM_ROLE:
    case SY_FROM_TOPOLOGY:
        snprintf(text, size, "the names say so");
        break;
    }
}

static double width_of(enum sy_factor_origin origin) {
    switch (origin) {
    case SY_FROM_UNIT_MASK:
        return WIDTH_UNIT_MASK;
    case SY_FROM_SUBSET:
        return WIDTH_SUBSET;
    case SY_FROM_METRIC:
        return WIDTH_METRIC;
    case SY_FROM_NAME:
    case SY_FROM_ROLE:
    case SY_FROM_TOPOLOGY:
        break;
    }
    return WIDTH_NAME;
}

static bool has_factor(const struct sy_model *model, const struct sy_factor *factor,
                       const struct sy_term *terms, uint32_t count) {
    for (uint32_t i = 0; i < model->factor_count; i++) {
        const struct sy_factor *other = &model->factors[i];
        bool same =
            other->out == factor->out && other->kind == factor->kind && other->term_count == count;
        for (uint32_t j = 0; j < count && same; j++) {
            bool found = false;
            for (uint32_t k = 0; k < count && !found; k++) {
                const struct sy_term *term = &model->terms[other->first_term + k];
                found = term->variable == terms[j].variable &&
                        fabs(term->coefficient - terms[j].coefficient) < 1e-9;
            }
            same = found;
        }
        if (same) {
            return true;
        }
    }
    return false;
}

static bool is_part_of_sum(const struct sy_model *model, uint32_t part, uint32_t whole) {
    for (uint32_t i = 0; i < model->factor_count; i++) {
        const struct sy_factor *factor = &model->factors[i];
        for (uint32_t k = 0; k < factor->term_count && factor->kind == SY_FACTOR_EQUAL; k++) {
            if (factor->out == whole && model->terms[factor->first_term + k].variable == part) {
                return true;
            }
        }
    }
    return false;
}

/* It follows from a sum, or from two others with a mask in between that is a variable too. */
static bool is_implied(const struct placed *placed, const struct sy_found *item) {
    if (item->origin != SY_FROM_SUBSET) {
        return false;
    }
    if (is_part_of_sum(placed->build->model,
                       variable_at(placed, placed->found->terms[item->first].variable),
                       variable_at(placed, item->out))) {
        return true;
    }
    const struct sy_event *events = placed->build->listing->events;
    const struct sy_event *low = &events[placed->found->terms[item->first].variable];
    const struct sy_event *high = &events[item->out];
    for (uint32_t i = 0; i < placed->build->signal_count; i++) {
        uint32_t event = placed->build->signals[i].event;
        if (event == SY_NONE || placed->build->signal_variable[i] == SY_NONE) {
            continue;
        }
        const struct sy_event *mid = &events[event];
        if (mid != low && mid != high && mid->code == high->code &&
            mid->modifiers == high->modifiers && strcmp(mid->unit, high->unit) == 0 &&
            (mid->umask & low->umask) == low->umask && (mid->umask & high->umask) == mid->umask &&
            mid->umask != low->umask && mid->umask != high->umask) {
            return true;
        }
    }
    return false;
}

static void draw(struct placed *placed, const struct sy_found *item) {
    struct sy_term terms[TERMS_MAX];
    bool touches;
    if (item->count > TERMS_MAX || missing_of(placed, item, &touches) != 0 ||
        is_implied(placed, item)) {
        return;
    }
    for (uint32_t i = 0; i < item->count; i++) {
        terms[i] = placed->found->terms[item->first + i];
        terms[i].variable = variable_at(placed, terms[i].variable);
    }
    char why[256];
    say_why(placed, item, why, sizeof why);
    struct sy_factor factor = {.kind = item->kind,
                               .origin = item->origin,
                               .why = why,
                               .out = variable_at(placed, item->out),
                               .constant = item->constant,
                               .width = width_of(item->origin)};
    if (!has_factor(placed->build->model, &factor, terms, item->count)) {
        sy_build_factor(placed->build, &factor, terms, item->count);
    }
}

/* Slots that no event counts are so many to a cycle. */
static void add_slots(struct placed *placed) {
    struct sy_build *build = placed->build;
    struct sy_term term;
    const char *metric;
    char why[128];
    if (build->place != SY_AT_CORE || build->roles[SY_ROLE_SLOTS].variable != SY_NONE ||
        build->model->variable_count >= build->variables_max ||
        !sy_find_slots(build->listing, &term, &metric)) {
        return;
    }
    term.variable = variable_at(placed, term.variable);
    if (term.variable != SY_NONE) {
        snprintf(why, sizeof why, "it is the metric %s", metric);
        struct sy_factor factor = {.kind = SY_FACTOR_EQUAL,
                                   .origin = SY_FROM_METRIC,
                                   .why = why,
                                   .out = sy_build_hidden(build, SY_ROLE_SLOTS, NULL)->variable,
                                   .width = WIDTH_ROLE_PARTS};
        sy_build_factor(build, &factor, &term, 1);
    }
}

void sy_build_listing(struct sy_build *build, const struct sy_found_list *found, bool grow) {
    struct placed placed = {.build = build,
                            .found = found,
                            .role_count = build->model->variable_count,
                            .event_signal =
                                malloc((build->listing->event_count + 1u) * sizeof(uint32_t))};
    if (!placed.event_signal) {
        build->failed = true;
        return;
    }
    memset(placed.event_signal, 0xff, (build->listing->event_count + 1u) * sizeof(uint32_t));
    for (uint32_t i = 0; i < build->signal_count; i++) {
        if (build->signals[i].event != SY_NONE) {
            placed.event_signal[build->signals[i].event] = i;
        }
    }
    if (grow) {
        grow_all(&placed);
    }
    add_slots(&placed);
    for (uint32_t pass = 0; pass < 2; pass++) { /* sums first: they imply subsets */
        for (uint32_t i = 0; i < found->count && !build->failed; i++) {
            if ((found->items[i].kind == SY_FACTOR_EQUAL) == (pass == 0)) {
                draw(&placed, &found->items[i]);
            }
        }
    }
    free(placed.event_signal);
}

/* --- written relations --------------------------------------------------------------------------
 */
static uint32_t term_count_of(const struct sy_written *relation) {
    uint32_t count = 0;
    while (count < SY_COUNT(relation->terms) && relation->terms[count].coefficient != 0) {
        count++;
    }
    return count;
}

/* Two of one variable say nothing: an event that carries two roles. */
static bool bind_terms(const struct sy_build *build, const struct sy_written *relation,
                       const struct sy_binding *out, struct sy_term *terms) {
    uint32_t count = term_count_of(relation);
    for (uint32_t i = 0; i < count; i++) {
        const struct sy_binding *binding = &build->roles[relation->terms[i].role];
        if (binding->variable == SY_NONE || binding->variable == out->variable) {
            return false;
        }
        terms[i] = (struct sy_term){binding->variable,
                                    relation->terms[i].coefficient * binding->factor / out->factor};
    }
    return true;
}

/* One that says the same of more roles came first. */
static bool is_covered(const struct sy_written *relations, const bool *drawn, uint32_t index) {
    const struct sy_written *relation = &relations[index];
    for (uint32_t i = 0; i < index; i++) {
        uint32_t held = 0;
        for (uint32_t j = 0; j < term_count_of(relation); j++) {
            for (uint32_t k = 0; k < term_count_of(&relations[i]); k++) {
                held += relations[i].terms[k].role == relation->terms[j].role;
            }
        }
        if (drawn[i] && relations[i].out == relation->out && relations[i].kind == SY_FACTOR_EQUAL &&
            held == term_count_of(relation) && held < term_count_of(&relations[i])) {
            return true;
        }
    }
    return false;
}

void sy_build_relations(struct sy_build *build) {
    uint32_t count;
    const struct sy_written *relations = sy_written_relations(&count);
    bool drawn[128] = {false};
    SY_ASSERT(count <= SY_COUNT(drawn));
    for (uint32_t i = 0; i < count && !build->failed; i++) {
        const struct sy_written *relation = &relations[i];
        const struct sy_binding *out = &build->roles[relation->out];
        struct sy_term terms[SY_COUNT(relation->terms)];
        struct sy_factor factor = {.kind = relation->kind,
                                   .origin = SY_FROM_ROLE,
                                   .why = relation->why,
                                   .out = out->variable,
                                   .width = relation->width};
        if ((relation->places & build->place) && out->variable != SY_NONE &&
            bind_terms(build, relation, out, terms) && !is_covered(relations, drawn, i) &&
            !has_factor(build->model, &factor, terms, term_count_of(relation))) {
            sy_build_factor(build, &factor, terms, term_count_of(relation));
            drawn[i] = true;
        }
    }
}
