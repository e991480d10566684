/* SPDX-License-Identifier: Apache-2.0
 *
 * Which families of graphs and which machines are used, and which are left out, so that no world of
 * a run has them (--families, --without-family, --without-machine).
 *
 * In: lists of names with commas, the names there are. Out: whether one is wanted. Invariant: a
 * name that is none is an error, with the nearest as a hint, so that nothing stays in by a slip.
 */
#include "train/worlds.h"
#include <errno.h>
#include <string.h>

static bool is_in(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; at && *at;) {
        size_t here = strcspn(at, ",");
        if (here == length && memcmp(at, name, length) == 0) {
            return true;
        }
        at += here + (at[here] == ',');
    }
    return false;
}

/* Every word of the list must be one of the names. */
static int check_list(const char *list, const char *what, const char *const *names, uint32_t count,
                      struct sy_error *error) {
    for (const char *at = list; at && *at;) {
        char word[64];
        size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", length < 63 ? (int)length : 63, at);
        uint32_t i = 0;
        while (i < count && strcmp(names[i], word) != 0) {
            i++;
        }
        if (i == count) {
            sy_fail(error, -EINVAL, "there is no %s '%s'", what, word);
            return sy_hint_names(error, word, names, count);
        }
        at += length + (at[length] == ',');
    }
    return 0;
}

bool sy_wants_family(const struct sy_catalogue_options *o, const char *family) {
    return (!o->families || is_in(o->families, family)) && !is_in(o->without_family, family);
}

bool sy_wants_machine(const struct sy_catalogue_options *o, const char *machine) {
    return !is_in(o->without_machine, machine);
}

int sy_check_families(const struct sy_catalogue_options *o, const char *const *names,
                      uint32_t count, struct sy_error *error) {
    int code = check_list(o->families, "family of graphs", names, count, error);
    return code ? code : check_list(o->without_family, "family of graphs", names, count, error);
}

int sy_check_machines(const struct sy_catalogue_options *o, const char *const *names,
                      uint32_t count, struct sy_error *error) {
    return check_list(o->without_machine, "machine", names, count, error);
}
