/* SPDX-License-Identifier: Apache-2.0
 *
 * What the plug-ins of this folder share; see guest.h.
 */
#include "guest.h"
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int guest_fail(struct sy_error *error, int code, const char *hint, const char *format, ...) {
    va_list list;
    memset(error, 0, sizeof(*error));
    va_start(list, format);
    vsnprintf(error->message, sizeof(error->message), format, list);
    va_end(list);
    snprintf(error->hint, sizeof(error->hint), "%s", hint ? hint : "");
    return code;
}

int guest_call_fail(const struct sy_call *call, int code, const char *format, ...) {
    if (call->message) {
        va_list list;
        va_start(list, format);
        vsnprintf(call->message, SY_CALL_MESSAGE_MAX, format, list);
        va_end(list);
    }
    return code;
}

/* --- options ---------------------------------------------------------------------------------- */

static bool among(const char *choices, const char *word, size_t length) {
    while (*choices) {
        size_t here = strcspn(choices, " ");
        if (here == length && strncmp(choices, word, length) == 0) {
            return true;
        }
        choices += here + (choices[here] == ' ');
    }
    return false;
}

static int read_word(const char *workload, struct guest_option *option, const char *text,
                     size_t length, struct sy_error *error) {
    char hint[200];
    snprintf(hint, sizeof(hint), "one of: %s%s", option->choices,
             option->many ? "; several are joined by +" : "");
    for (size_t at = 0; at <= length;) {
        size_t end = at;
        while (end < length && !(option->many && text[end] == '+')) {
            end++;
        }
        if (!among(option->choices, text + at, end - at)) {
            return guest_fail(error, -EINVAL, hint, "%s: %s=%.*s: '%.*s' is unknown", workload,
                              option->name, (int)length, text, (int)(end - at), text + at);
        }
        at = end + 1;
    }
    if (length >= sizeof(option->word)) {
        return guest_fail(error, -EINVAL, hint, "%s: %s= is too long", workload, option->name);
    }
    memcpy(option->word, text, length);
    option->word[length] = '\0';
    return 0;
}

static int read_number(const char *workload, struct guest_option *option, const char *text,
                       size_t length, struct sy_error *error) {
    char copy[GUEST_WORD_MAX], hint[120], *end = NULL;
    snprintf(hint, sizeof(hint), "%s is %s from %.0f to %.10g", option->name,
             option->whole ? "a whole number" : "a number", option->low, option->high);
    snprintf(copy, sizeof(copy), "%.*s", (int)length, text);
    double value = strtod(copy, &end);
    if (length == 0 || length >= sizeof(copy) || *end != '\0' || !isfinite(value)) {
        return guest_fail(error, -EINVAL, hint, "%s: %s=%.*s is not a number", workload,
                          option->name, (int)length, text);
    }
    if (value < option->low || value > option->high || (option->whole && value != floor(value))) {
        return guest_fail(error, -EINVAL, hint, "%s: %s=%s is out of range", workload, option->name,
                          copy);
    }
    option->value = value;
    return 0;
}

static int unknown(const char *workload, const struct guest_option *options, uint32_t count,
                   const char *text, size_t length, struct sy_error *error) {
    char hint[200] = "its arguments are";
    for (uint32_t at = 0; at < count; at++) {
        size_t used = strlen(hint);
        snprintf(hint + used, sizeof(hint) - used, "%s %s=", at ? "," : "", options[at].name);
    }
    return guest_fail(error, -EINVAL, hint, "%s has no argument '%.*s'", workload, (int)length,
                      text);
}

int guest_parse(const char *workload, const char *arguments, struct guest_option *options,
                uint32_t count, struct sy_error *error) {
    for (const char *at = arguments; *at;) {
        size_t length = strcspn(at, ","), name = strcspn(at, "=,");
        struct guest_option *option = NULL;
        for (uint32_t i = 0; i < count && at[name] == '='; i++) {
            if (strlen(options[i].name) == name && strncmp(options[i].name, at, name) == 0) {
                option = &options[i];
            }
        }
        if (!option) {
            return unknown(workload, options, count, at, name, error);
        }
        int code = (option->choices ? read_word : read_number)(workload, option, at + name + 1,
                                                               length - name - 1, error);
        if (code) {
            return code;
        }
        at += length;
        at += *at == ',';
    }
    return 0;
}

/* --- parts ------------------------------------------------------------------------------------ */

int guest_part_load(struct guest_part *parts, const struct sy_call *call, const void **ret_table) {
    struct guest_part *part = &parts[call->flavour];
    const void *table = atomic_load_explicit(&part->table, memory_order_acquire);
    if (!table) {
        Dl_info here;
        char path[4096];
        if (!dladdr((void *)(uintptr_t)guest_part_load, &here) || !here.dli_fname) {
            return guest_call_fail(call, -ENOENT, "cannot tell where the plug-in lies");
        }
        const char *slash = strrchr(here.dli_fname, '/');
        int folder = slash ? (int)(slash - here.dli_fname + 1) : 0;
        snprintf(path, sizeof(path), "%.*s%s", folder, here.dli_fname, part->file);
        /* Loading twice at once is harmless: the loader counts, and both find the same table. */
        void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        table = object ? dlsym(object, part->symbol) : NULL;
        if (!table) {
            const char *why = dlerror();
            return guest_call_fail(call, -ENOENT, "cannot load a part of the plug-in: %s",
                                   why ? why : path);
        }
        atomic_store_explicit(&part->table, table, memory_order_release);
    }
    *ret_table = table;
    return 0;
}

int guest_part_prepare(struct guest_part *parts, const struct sy_call *call) {
    const void *table = NULL;
    int code = guest_part_load(parts, call, &table);
    int (*const *prepare)(const struct sy_call *) = table;
    return code || !*prepare ? code : (*prepare)(call);
}

void guest_lock(struct guest_lock *lock) {
    while (atomic_flag_test_and_set_explicit(&lock->taken, memory_order_acquire)) {
        sched_yield();
    }
}

void guest_unlock(struct guest_lock *lock) {
    atomic_flag_clear_explicit(&lock->taken, memory_order_release);
}

/* --- lanes --------------------------------------------------------------------------------------
 */
static void *find_lane(struct guest_lanes *lanes, const struct sy_call *call) {
    uint32_t count = atomic_load_explicit(&lanes->count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++) {
        if (lanes->queues[i] == call->queue && lanes->devices[i] == call->device) {
            return lanes->lanes[i];
        }
    }
    return NULL;
}

int guest_lane_open(struct guest_lanes *lanes, const struct sy_call *call,
                    int (*make)(const struct sy_call *call, void **ret_lane), void **ret_lane) {
    void *lane = find_lane(lanes, call);
    int code = 0;
    if (!lane) {
        guest_lock(&lanes->lock);
        uint32_t count = atomic_load(&lanes->count);
        lane = find_lane(lanes, call);
        if (!lane && count == GUEST_LANE_MAX) {
            code = guest_call_fail(call, -ENOSPC, "more than %d queues", GUEST_LANE_MAX);
        } else if (!lane) {
            code = make(call, &lane);
            if (code == 0) {
                lanes->queues[count] = call->queue;
                lanes->devices[count] = call->device;
                lanes->lanes[count] = lane;
                atomic_store_explicit(&lanes->count, count + 1, memory_order_release);
            }
        }
        guest_unlock(&lanes->lock);
    }
    if (code == 0) {
        *ret_lane = lane;
    }
    return code;
}
