/* SPDX-License-Identifier: Apache-2.0
 *
 * The word somebody meant: the nearest of those there are to one that was mistyped ("did you
 * mean").
 */
#include "base/base.h"
#include <string.h>

#define NEAR_MAX 32

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* Letters added, dropped, replaced, or two neighbours swapped: the commonest slip counts once. */
static uint32_t edit_distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    uint32_t table[NEAR_MAX + 1][NEAR_MAX + 1];
    if (n > NEAR_MAX || m > NEAR_MAX) {
        return UINT32_MAX;
    }
    for (uint32_t j = 0; j <= m; j++) {
        table[0][j] = j;
    }
    for (uint32_t i = 1; i <= n; i++) {
        table[i][0] = i;
        for (uint32_t j = 1; j <= m; j++) {
            uint32_t best = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            best = least(best, least(table[i - 1][j], table[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                best = least(best, table[i - 2][j - 2] + 1);
            }
            table[i][j] = best;
        }
    }
    return table[n][m];
}

/* One slip in three letters is a typing error, more is another word; so is a slip in every letter.
 * A word that was not finished is near, too. */
const char *sy_nearest(const char *word, const char *const *candidates, size_t count) {
    size_t length = strlen(word);
    uint32_t best = length > 1 ? least((uint32_t)(length + 2) / 3 + 1, (uint32_t)length) : 0;
    const char *found = NULL;
    for (size_t i = 0; i < count; i++) {
        bool begun = length > 2 && strncmp(word, candidates[i], length) == 0;
        uint32_t distance = least(edit_distance(word, candidates[i]), begun ? 1 : UINT32_MAX);
        if (distance < best) {
            best = distance;
            found = candidates[i];
        }
    }
    return found;
}
