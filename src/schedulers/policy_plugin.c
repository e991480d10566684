/* SPDX-License-Identifier: Apache-2.0
 *
 * Policies from shared objects. In: a path. Out: the policy it holds. The object stays loaded until
 * the process ends: a policy may be in use whenever it could be closed.
 */
#include "base/shield.h"
#include "schedulers/policy.h"
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#define PATH_LIMIT 4096

static const struct sy_scheduler_ops *refuse(void *handle, struct sy_error *error, const char *path,
                                             const char *why) {
    if (handle) {
        dlclose(handle);
    }
    sy_fail_at(error, -EINVAL, path, 0, 0, "%s", why);
    sy_hint(error, "a policy plug-in contains SY_SCHEDULER_PLUGIN(ops); see "
                   "examples/policy_longest.c");
    return NULL;
}

/* In a child, which a constructor may crash, hang or end. */
static int try_file(void *path, struct sy_buffer *answer) {
    (void)answer;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct sy_scheduler_ops *const *ops =
        handle ? dlsym(handle, "sy_scheduler_plugin") : NULL;
    return ops && *ops && (*ops)->name && (*ops)->name[0] == '\0';
}

static const struct sy_scheduler_ops *load(const char *path, struct sy_error *error) {
    char fault[128];
    void *before = dlopen(path, RTLD_NOLOAD | RTLD_NOW | RTLD_LOCAL);
    if (before) { /* it has proven itself */
        dlclose(before);
    } else if (sy_shield_load(try_file, (void *)(uintptr_t)path, fault, sizeof fault) < 0) {
        return refuse(NULL, error, path, fault);
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *why = dlerror();
        return refuse(NULL, error, path, why ? why : "cannot be loaded");
    }
    const uint32_t *abi = dlsym(handle, "sy_scheduler_plugin_abi");
    const struct sy_scheduler_ops *const *ops = dlsym(handle, "sy_scheduler_plugin");
    if (!abi || !ops || !*ops) {
        return refuse(handle, error, path, "contains no policy");
    }
    if (*abi != SY_SCHEDULER_ABI) {
        return refuse(handle, error, path, "was built for another version of symph/scheduler.h");
    }
    if (!(*ops)->name || !(*ops)->init || !(*ops)->decide) {
        return refuse(handle, error, path, "its policy lacks a name, init or decide");
    }
    return *ops;
}

const char *sy_policy_path_end(const char *name) {
    const char *end = strstr(name, ".so");
    return end && (end[3] == '\0' || strchr("+:@~", end[3])) ? end + 3 : NULL;
}

const struct sy_scheduler_ops *sy_policy_from_file(const char *name, const char *end,
                                                   struct sy_error *error) {
    char path[PATH_LIMIT];
    if ((size_t)(end - name) + 3 > sizeof path) {
        sy_fail(error, -ENAMETOOLONG, "the path of a policy is too long");
        return NULL;
    }
    /* Without a slash the dynamic linker would look elsewhere than here. */
    bool bare = !memchr(name, '/', (size_t)(end - name));
    snprintf(path, sizeof path, "%s%.*s", bare ? "./" : "", (int)(end - name), name);
    return load(path, error);
}
