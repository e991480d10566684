/* SPDX-License-Identifier: Apache-2.0
 *
 * Where StarPU and PoCL keep their files.
 *
 * In: what the environment names already; the user's cache. Out: the variables that both read. Both
 * insist on a folder, so where the user's cache cannot be used they get a scratch folder that the
 * keeper removes. A folder per version and set of devices, so that StarPU measures the machine once
 * and ~/.starpu stays as it is.
 */
#include "engine/starpu/process.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Its name below the scratch folder, which is made when first needed. */
static int use_scratch(struct sy_engine *engine, const char *name, char *path, size_t size,
                       struct sy_error *error) {
    if (!engine->scratch[0]) {
        int code = sy_temporary_folder(engine->scratch, sizeof engine->scratch, error);
        if (code) {
            engine->scratch[0] = '\0';
            return code;
        }
    }
    if ((size_t)snprintf(path, size, "%s/%s", engine->scratch, name) >= size) {
        return sy_fail(error, -ENAMETOOLONG, "%s: the path is too long", engine->scratch);
    }
    return mkdir(path, 0700) < 0 ? sy_fail(error, -errno, "%s: %s", path, strerror(errno)) : 0;
}

static int set_folder(struct sy_engine *engine, const char *variable, const char *name,
                      struct sy_error *error) {
    const char *given = getenv(variable);
    char path[PATH_MAX];
    struct sy_error why = {0};
    if (given && given[0]) {
        return 0;
    }
    if (sy_user_folder(SY_FOLDER_CACHE, name, true, path, sizeof path, &why) < 0) {
        char text[512];
        sy_engine_note(engine, "nothing is kept between runs: %s",
                       sy_error_format(&why, text, sizeof text));
        int code = use_scratch(engine, name, path, sizeof path, error);
        if (code) {
            return code;
        }
    }
    return setenv(variable, path, 1) < 0 ? sy_fail(error, -ENOMEM, "out of memory") : 0;
}

/* StarPU prefers any XDG_CACHE_HOME, even an empty one, to STARPU_HOME; but not to this. */
static int set_models(struct sy_error *error) {
    char path[PATH_MAX];
    const char *given = getenv("STARPU_PERF_MODEL_DIR");
    if (given && given[0]) {
        return 0;
    }
    if ((size_t)snprintf(path, sizeof path, "%s/.starpu/sampling", getenv("STARPU_HOME")) >=
        sizeof path) {
        return sy_fail(error, -ENAMETOOLONG, "STARPU_HOME is too long a path");
    }
    return setenv("STARPU_PERF_MODEL_DIR", path, 1) < 0 ? sy_fail(error, -ENOMEM, "out of memory")
                                                        : 0;
}

int sy_engine_set_home(struct sy_engine *engine, struct sy_error *error) {
    char name[64];
    snprintf(name, sizeof name, "starpu-%d.%d-opencl%u", STARPU_MAJOR_VERSION, STARPU_MINOR_VERSION,
             engine->request.opencl == SY_NONE ? 0 : engine->request.opencl);
    int code = set_folder(engine, "STARPU_HOME", name, error);
    code = code ? code : set_models(error);
    return code ? code : set_folder(engine, "POCL_CACHE_DIR", "pocl", error);
}
