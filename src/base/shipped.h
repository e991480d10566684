/* SPDX-License-Identifier: Apache-2.0
 *
 * shipped: finds the files that come with this program: other programs, plug-ins, data.
 *
 * In: what is wanted. Out: its path. They are looked for from where this code lies (the program, or
 * the library that holds it), so that a tree works wherever it was moved to or staged. Code that
 * lies in neither a build tree nor an installed one falls back to the prefix it was configured for.
 */
#ifndef SY_BASE_SHIPPED_H
#define SY_BASE_SHIPPED_H

#include <stdbool.h>
#include <stddef.h>

/* Folders of an installed tree. */
enum sy_shipped {
    SY_SHIPPED_PROGRAMS, /* libexec/symph: programs that symph runs */
    SY_SHIPPED_PLUGINS,  /* lib/symph */
    SY_SHIPPED_DATA,     /* share/symph */
    SY_SHIPPED_COUNT
};

/* The file or folder `name` of a place, or `built` relative to the root of a build tree. False if
 * there is none; path then says where it was expected. */
bool sy_shipped_find(enum sy_shipped place, const char *name, const char *built, char *path,
                     size_t size);

#endif
