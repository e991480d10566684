/* SPDX-License-Identifier: Apache-2.0
 *
 * starpu: which StarPU a program uses, and which of our plug-ins was built for it.
 *
 * In: a program's file, places to look. Out: versions and paths. Never knows: StarPU's headers; it
 * runs nothing of the program.
 */
#ifndef SY_CLI_STARPU_STARPU_H
#define SY_CLI_STARPU_STARPU_H

#include "base/base.h"

#define SY_STARPU_PATH 4096

enum sy_starpu_kind {
    SY_STARPU_LINKED,  /* it names a StarPU library, and the loader finds it */
    SY_STARPU_LOST,    /* it names one that the loader does not find */
    SY_STARPU_OTHER,   /* a program without StarPU */
    SY_STARPU_SCRIPT,  /* text: nobody can say */
    SY_STARPU_FOREIGN, /* a binary that the loader here cannot read, or that needs no loader */
    SY_STARPU_MISSING, /* no such file, or it may not be executed */
};

/* Limits that are in StarPU's structures; 0: not known. */
enum {
    SY_STARPU_WORKERS,
    SY_STARPU_BUFFERS,
    SY_STARPU_CONTEXTS,
    SY_STARPU_IMPLEMENTATIONS,
    SY_STARPU_LIMITS
};

struct sy_starpu_use {
    enum sy_starpu_kind kind;
    bool simulated;               /* a StarPU on SimGrid, whose workers are modelled */
    char version[16];             /* "1.3": of the library's name */
    char library[SY_STARPU_PATH]; /* where it lies; "": not found */
    char soname[64];              /* what the program asks for */
    unsigned limits[SY_STARPU_LIMITS];
};

struct sy_starpu_plugin {
    char path[SY_STARPU_PATH];
    char built_for[256]; /* "1.3.10 maxcpus=4 ..."; "": it is none of ours */
    unsigned limits[SY_STARPU_LIMITS];
};

/* Looks a program up as a shell would. False: there is none of that name. */
bool sy_starpu_which(const char *program, char *ret_path, size_t size);
/* Every library that a program would load, in the order of the loader, by the rules of ld.so(8):
 * each object's own paths, LD_LIBRARY_PATH, the loader's cache, the usual folders. Nothing is run.
 * path "": it is not found. 0, -ENOEXEC: it names no loader that is here, or a negative errno. */
SY_MUST_CHECK int sy_starpu_libraries(const char *program,
                                      void (*visit)(void *user, const char *name, const char *path),
                                      void *user);
/* 0 or a negative errno. */
SY_MUST_CHECK int sy_starpu_inspect(const char *path, struct sy_starpu_use *ret_use);
/* What a plug-in says of itself. 0, -ENOENT, or -EINVAL: not a plug-in of ours. */
SY_MUST_CHECK int sy_starpu_plugin_read(const char *path, struct sy_starpu_plugin *ret_plugin);
/* What the header that was installed with a library says of its limits; without one, they stay
 * unknown. What a plug-in says it was built for. */
void sy_starpu_library_limits(struct sy_starpu_use *use);
void sy_starpu_plugin_limits(struct sy_starpu_plugin *plugin);
/* StarPU's name of a limit that both sides know and that differs; NULL: none. */
const char *sy_starpu_other_limit(const struct sy_starpu_plugin *plugin,
                                  const struct sy_starpu_use *use, uint32_t *ret_limit);
/* The part of a library's path that is before its folder "lib". "/usr" where that is all. */
bool sy_starpu_prefix(const struct sy_starpu_use *use, char *ret_prefix, size_t size);
/* Whether it serves that StarPU; one whose version is not known takes any. */
bool sy_starpu_plugin_fits(const struct sy_starpu_plugin *plugin, const struct sy_starpu_use *use);
/* The first that fits, beside the library, beside this program, where it would be installed. 0,
 * -ENOENT: there is none at all, or -EINVAL: only one for another version, which is returned. */
SY_MUST_CHECK int sy_starpu_plugin_find(const struct sy_starpu_use *use,
                                        struct sy_starpu_plugin *ret_plugin);

#endif
