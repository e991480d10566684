/* SPDX-License-Identifier: Apache-2.0
 *
 * limits: the limits that a StarPU was configured with, and those that a plug-in was built for.
 *
 * In: the header starpu_config.h that is installed with a library, the line that a plug-in carries.
 * Out: numbers, 0 where nobody says. The plug-in asks the library itself once it is loaded; this is
 * to say it before anything is started.
 */
#include "cli/starpu/starpu.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *word, *macro;
} names[SY_STARPU_LIMITS] = {
    [SY_STARPU_WORKERS] = {"maxworkers", "STARPU_NMAXWORKERS"},
    [SY_STARPU_BUFFERS] = {"maxbuffers", "STARPU_NMAXBUFS"},
    [SY_STARPU_CONTEXTS] = {"maxcontexts", "STARPU_NMAX_SCHED_CTXS"},
    [SY_STARPU_IMPLEMENTATIONS] = {"maximplementations", "STARPU_MAXIMPLEMENTATIONS"},
};

/* The number behind a whole word and a separator; 0: none. */
static unsigned number_after(const char *text, const char *word, char separator) {
    size_t length = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        if (at > text && isspace((unsigned char)at[-1]) && at[length] == separator) {
            unsigned long value = strtoul(at + length + 1, NULL, 10);
            return value <= UINT32_MAX ? (unsigned)value : 0;
        }
    }
    return 0;
}

bool sy_starpu_prefix(const struct sy_starpu_use *use, char *ret_prefix, size_t size) {
    const char *lib = strstr(use->library, "/lib/");
    int length = lib ? (int)(lib - use->library) : 0;
    snprintf(ret_prefix, size, "%.*s", length ? length : 4, length ? use->library : "/usr");
    return lib;
}

void sy_starpu_library_limits(struct sy_starpu_use *use) {
    char prefix[SY_STARPU_PATH], path[SY_STARPU_PATH + 64];
    char *text = NULL;
    size_t length = 0;
    if (!sy_starpu_prefix(use, prefix, sizeof(prefix))) {
        return;
    }
    snprintf(path, sizeof(path), "%s/include/starpu/%s/starpu_config.h", prefix, use->version);
    if (sy_read_file(path, &text, &length, NULL) < 0) {
        return;
    }
    for (uint32_t i = 0; i < SY_STARPU_LIMITS; i++) {
        use->limits[i] = number_after(text, names[i].macro, ' ');
    }
    free(text);
}

void sy_starpu_plugin_limits(struct sy_starpu_plugin *plugin) {
    for (uint32_t i = 0; i < SY_STARPU_LIMITS; i++) {
        plugin->limits[i] = number_after(plugin->built_for, names[i].word, '=');
    }
}

const char *sy_starpu_other_limit(const struct sy_starpu_plugin *plugin,
                                  const struct sy_starpu_use *use, uint32_t *ret_limit) {
    for (uint32_t i = 0; i < SY_STARPU_LIMITS; i++) {
        if (plugin->limits[i] && use->limits[i] && plugin->limits[i] != use->limits[i]) {
            *ret_limit = i;
            return names[i].macro;
        }
    }
    return NULL;
}
