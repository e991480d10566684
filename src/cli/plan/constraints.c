/* SPDX-License-Identifier: Apache-2.0
 *
 * constraints: see constraints.h.
 */
#include "cli/plan/constraints.h"

#include "topology/topology.h"
#include <errno.h>
#include <math.h>
#include <string.h>

#define WORD_MAX 40
#define ALLOWED                                                                                    \
    "allowed are latency<=2ms, throughput>=500/s, energy<=3J, power<=300W, money<=0.01, "          \
    "memory.CLASS<=40GB and CLASS<=1 (devices)"
#define QUOTE "< and > are special to the shell: use quotes, 'latency<=2ms'"

static const struct sy_unit_name energy_units[] = {
    {"J", 1}, {"mJ", 1e-3}, {"uJ", 1e-6}, {"nJ", 1e-9}, {"kJ", 1e3}, {"Wh", 3600}, {NULL, 0}};
static const struct sy_unit_name power_units[] = {
    {"W", 1}, {"mW", 1e-3}, {"kW", 1e3}, {"MW", 1e6}, {NULL, 0}};
static const struct sy_unit_name rate_units[] = {
    {"/s", 1},    {"items/s", 1}, {"/min", 1.0 / 60}, {"/h", 1.0 / 3600},
    {"/ms", 1e3}, {"k/s", 1e3},   {"M/s", 1e6},       {NULL, 0}};
static const struct sy_unit_name money_units[] = {{"", 1},
                                                  {NULL, 0}}; /* in no particular currency */

struct quantity {
    const char *name;
    enum sy_constraint_kind kind;
    bool at_least;
    const struct sy_unit_name *units; /* NULL: a time */
    const char *example;
};

static const struct quantity quantities[] = {
    {"latency", SY_CONSTRAINT_LATENCY, false, NULL, "latency<=2ms"},
    {"throughput", SY_CONSTRAINT_THROUGHPUT, true, rate_units, "throughput>=500/s"},
    {"energy", SY_CONSTRAINT_ENERGY, false, energy_units, "energy<=3J"},
    {"power", SY_CONSTRAINT_POWER, false, power_units, "power<=300W"},
    {"money", SY_CONSTRAINT_MONEY, false, money_units, "money<=0.01"},
};

static const struct quantity *find(const char *name) {
    uint32_t i = sy_index_of(name, quantities, SY_COUNT(quantities), sizeof *quantities);
    return i == SY_NONE ? NULL : &quantities[i];
}

/* --- one constraint -----------------------------------------------------------------------------
 */
/* The relation: 1 at most, 2 at least, 0 none; *ret_at and *ret_length say where it stands. */
static int relation(const char *text, size_t *ret_at, size_t *ret_length) {
    static const struct {
        const char *sign;
        int relation;
    } signs[] = {{"<=", 1}, {"≤", 1}, {">=", 2}, {"≥", 2}, {"<", 1}, {">", 2}};
    for (size_t i = 0; i < SY_COUNT(signs); i++) {
        const char *at = strstr(text, signs[i].sign);
        if (at) {
            *ret_at = (size_t)(at - text);
            *ret_length = strlen(signs[i].sign);
            return signs[i].relation;
        }
    }
    return 0;
}

static int bad_direction(const struct sy_constraint *c, const char *name, bool at_least,
                         struct sy_error *error) {
    int code = sy_fail(error, -EINVAL, "constraint '%s': %s can only be limited from %s, with %s",
                       c->text, name, at_least ? "below" : "above", at_least ? ">=" : "<=");
    sy_hint(error, ALLOWED);
    return code;
}

static int parse_quantity(const struct quantity *quantity, bool at_least, const char *value,
                          struct sy_constraint *c, struct sy_error *error) {
    c->kind = quantity->kind;
    if (quantity->at_least != at_least) {
        return bad_direction(c, quantity->name, quantity->at_least, error);
    }
    size_t length = strlen(value);
    bool ok = quantity->units ? sy_parse_quantity(value, length, quantity->units, &c->value)
                              : sy_parse_time(value, length, &c->value);
    if (!ok && sy_parse_double(value, length, &c->value)) {
        return sy_fail(error, -EINVAL, "constraint '%s': '%s' has no unit; write it as %s", c->text,
                       value, quantity->example);
    }
    if (!ok || !(c->value > 0) || !isfinite(c->value)) {
        return sy_fail(error, -EINVAL, "constraint '%s': '%s' is not a %s above 0; write it as %s",
                       c->text, value, quantity->units ? "number" : "time", quantity->example);
    }
    return 0;
}

static int bad_count(const struct sy_constraint *c, const char *name, struct sy_error *error) {
    const char *names[SY_COUNT(quantities)];
    for (size_t i = 0; i < SY_COUNT(quantities); i++) {
        names[i] = quantities[i].name;
    }
    const char *near = sy_nearest(name, names, SY_COUNT(names));
    if (near) {
        sy_fail(error, -EINVAL, "constraint '%s': did you mean '%s'?", c->text, near);
    } else {
        sy_fail(error, -EINVAL,
                "constraint '%s': '%s' is neither a quantity nor a class of devices with a whole "
                "number",
                c->text, name);
    }
    return sy_hint(error, ALLOWED);
}

static int parse_class(const char *name, bool at_least, const char *value, struct sy_constraint *c,
                       struct sy_error *error) {
    bool memory = strncmp(name, "memory.", 7) == 0, devices = strncmp(name, "devices.", 8) == 0;
    const char *class_name = name + (memory ? 7 : devices ? 8 : 0);
    uint64_t count = 0;
    c->kind = memory ? SY_CONSTRAINT_MEMORY : SY_CONSTRAINT_DEVICES;
    snprintf(c->class_name, sizeof c->class_name, "%.31s", class_name);
    if (at_least) {
        return bad_direction(c, name, false, error);
    }
    if (strcmp(name, "memory") == 0 || strcmp(name, "devices") == 0 || !class_name[0]) {
        return sy_fail(error, -EINVAL, "constraint '%s': name a class: %s", c->text,
                       name[0] == 'm' ? "memory.gpu<=40GB" : "devices.gpu<=1");
    }
    if (memory && !(sy_parse_size(value, strlen(value), &c->value) && c->value > 0)) {
        return sy_fail(error, -EINVAL,
                       "constraint '%s': '%s' is not a size; write it as memory.%s<=40GB", c->text,
                       value, class_name);
    }
    if (!memory && !sy_parse_u64(value, strlen(value), &count)) {
        return bad_count(c, name, error);
    }
    c->value = memory ? c->value : (double)count;
    return 0;
}

/* Without blanks, into c->text. */
static int copy_text(const char *text, size_t length, struct sy_constraint *c,
                     struct sy_error *error) {
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] != ' ' && text[i] != '\t' && used + 1 < sizeof c->text) {
            c->text[used++] = text[i];
        }
    }
    if (used > 0 && used + 1 < sizeof c->text) {
        return 0;
    }
    sy_fail(error, -EINVAL, "constraint '%.*s' %s", (int)(length < 60 ? length : 60), text,
            used ? "is too long" : "is empty");
    return sy_hint(error, ALLOWED);
}

static int parse_one(const char *text, size_t length, struct sy_constraint *ret_constraint,
                     struct sy_error *error) {
    struct sy_constraint c = {0};
    char name[WORD_MAX];
    size_t at = 0, sign = 0;
    int code = copy_text(text, length, &c, error);
    if (code) {
        return code;
    }
    int which = relation(c.text, &at, &sign);
    if (which == 0) {
        code = sy_fail(error, -EINVAL, "constraint '%s' has no <= or >=", c.text);
        sy_hint(error, find(c.text) || strchr(c.text, '=') ? QUOTE : ALLOWED);
        return code;
    }
    if (at == 0 || at >= sizeof name) {
        return sy_fail(error, -EINVAL, "constraint '%s' does not begin with a name; " ALLOWED,
                       c.text);
    }
    memcpy(name, c.text, at);
    name[at] = '\0';
    const char *value = c.text + at + sign;
    const struct quantity *quantity = find(name);
    code = quantity ? parse_quantity(quantity, which == 2, value, &c, error)
                    : parse_class(name, which == 2, value, &c, error);
    if (!code) {
        *ret_constraint = c;
    }
    return code;
}

static int add_one(struct sy_constraint_list *list, const char *text, size_t length,
                   struct sy_error *error) {
    struct sy_constraint c;
    int code = parse_one(text, length, &c, error);
    for (uint32_t i = 0; !code && i < list->count; i++) {
        if (list->items[i].kind == c.kind && strcmp(list->items[i].class_name, c.class_name) == 0) {
            return sy_fail(error, -EINVAL,
                           "constraints '%s' and '%s' limit the same thing: keep one of them",
                           list->items[i].text, c.text);
        }
    }
    if (!code && list->count == SY_CONSTRAINT_MAX) {
        return sy_fail(error, -E2BIG, "at most %d constraints are taken", SY_CONSTRAINT_MAX);
    }
    if (!code) {
        list->items[list->count++] = c;
    }
    return code;
}

int sy_constraints_parse(const struct sy_text_list *texts, struct sy_constraint_list *ret_list,
                         struct sy_error *error) {
    struct sy_constraint_list list = {.count = 0};
    for (uint32_t i = 0; i < texts->count; i++) {
        const char *at = texts->items[i];
        for (bool more = true; more;) {
            size_t length = strcspn(at, ",");
            int code = add_one(&list, at, length, error);
            if (code) {
                return code;
            }
            more = at[length] == ',';
            at += length + more;
        }
    }
    *ret_list = list;
    return 0;
}

/* --- what they mean -----------------------------------------------------------------------------
 */
struct sy_plan_bounds sy_constraints_bounds(const struct sy_constraint_list *list, uint32_t skip) {
    struct sy_plan_bounds bounds = sy_plan_unbounded;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct sy_constraint *c = &list->items[i];
        double unused, *target = &unused;
        switch (c->kind) {
        case SY_CONSTRAINT_LATENCY:
            target = &bounds.latency_ns;
            break;
        case SY_CONSTRAINT_THROUGHPUT:
            target = &bounds.period_ns;
            break;
        case SY_CONSTRAINT_ENERGY:
            target = &bounds.energy_joules;
            break;
        case SY_CONSTRAINT_POWER:
            target = &bounds.power_watts;
            break;
        case SY_CONSTRAINT_MONEY:
            target = &bounds.money;
            break;
        case SY_CONSTRAINT_MEMORY:
        case SY_CONSTRAINT_DEVICES:
            break;
        }
        if (i != skip) {
            *target = c->kind == SY_CONSTRAINT_THROUGHPUT ? 1e9 / c->value : c->value;
        }
    }
    return bounds;
}

uint32_t sy_system_classes(const struct sy_system *system, const char *word,
                           struct sy_error *error) {
    uint32_t kinds = 0;
    char known[256] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < system->class_count; i++) {
        const struct sy_system_class *c = &system->classes[i];
        if (strcmp(c->name, word) == 0) {
            return 1u << i;
        }
        kinds |= strcmp(sy_device_kind_name(c->kind), word) == 0 ? 1u << i : 0;
        int n = snprintf(known + used, sizeof known - used, "%s%.40s", i ? ", " : "", c->name);
        used += n > 0 && (size_t)n < sizeof known - used ? (size_t)n : 0;
    }
    if (!kinds) {
        sy_fail(error, -ENOENT, "the machine has no class of devices '%s'; it has %s", word, known);
    }
    return kinds;
}

int sy_system_setting(const struct sy_system *system, const char *option, const char *text,
                      uint32_t *ret_classes, const char **ret_value, struct sy_error *error) {
    char word[WORD_MAX];
    const char *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : 0;
    if (length == 0 || length >= sizeof word || !equals[1]) {
        return sy_fail(error, -EINVAL, "--%s takes CLASS=VALUE, such as gpu=1, not '%s'", option,
                       text);
    }
    memcpy(word, text, length);
    word[length] = '\0';
    uint32_t classes = sy_system_classes(system, word, error);
    if (!classes) {
        return -ENOENT;
    }
    *ret_classes = classes;
    *ret_value = equals + 1;
    return 0;
}

static void limit_class(const struct sy_constraint *c, struct sy_system_class *limited) {
    if (c->kind == SY_CONSTRAINT_MEMORY) {
        limited->memory_bytes = fmin(limited->memory_bytes, c->value);
        return;
    }
    /* Those that others hold do not count. */
    double most = c->value + limited->busy_count;
    if (most < limited->device_count) {
        limited->device_count = (uint32_t)most;
    }
}

int sy_constraints_limit(const struct sy_constraint_list *list, uint32_t skip,
                         struct sy_system *system, struct sy_error *error) {
    for (uint32_t i = 0; i < list->count; i++) {
        const struct sy_constraint *c = &list->items[i];
        bool of_class = c->kind == SY_CONSTRAINT_MEMORY || c->kind == SY_CONSTRAINT_DEVICES;
        if (!of_class || i == skip) {
            continue;
        }
        uint32_t classes = sy_system_classes(system, c->class_name, error);
        if (!classes) {
            sy_hint(error, ALLOWED);
            return -ENOENT;
        }
        for (uint32_t k = 0; k < system->class_count; k++) {
            if (classes & 1u << k) {
                limit_class(c, &system->classes[k]);
            }
        }
    }
    return 0;
}
