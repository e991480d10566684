/* SPDX-License-Identifier: Apache-2.0
 *
 * walk: the files below a folder, in a fixed order, and paths made of them. Private to this room.
 *
 * In: a path. Out: relative names, sorted. Invariant: the order does not depend on the file system.
 */
#ifndef SY_LISTING_WALK_H
#define SY_LISTING_WALK_H

#include "listing/read.h"

/* Names relative to the folder that was asked for, in the arena. */
struct sy_name_list {
    const char **names;
    uint32_t count, capacity;
};
void sy_name_list_finish(struct sy_name_list *list);

#define SY_FOLDER_DEPTH 5 /* arm64/freescale/imx8mm/sys and one more */

/* All files under folder, at most depth folders down, whose name ends in suffix. A folder that
 * cannot be read is an error. */
SY_MUST_CHECK int sy_folder_files(const char *folder, const char *suffix, uint32_t depth,
                                  struct sy_arena *arena, struct sy_name_list *ret_list,
                                  struct sy_error *error);
/* The folder of listings to look into, in the arena: see sy_listing_open. */
SY_MUST_CHECK int sy_listing_folder(const char *folder, struct sy_arena *arena,
                                    const char **ret_folder, struct sy_error *error);
bool sy_is_folder(const char *path);
/* folder/name, in the arena; NULL: out of memory. */
const char *sy_join(struct sy_arena *arena, const char *folder, const char *name);
bool sy_ends_with(const char *text, const char *suffix);

#endif
