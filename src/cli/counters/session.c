/* SPDX-License-Identifier: Apache-2.0
 *
 * session: sources and belief, tied together.
 *
 * In: what the command line asks for. Out: a belief that is updated step by step. Invariant: what
 * is missing (no listing for this processor, no permission) leaves out a part, and the rest goes
 * on; only where nothing at all can be read is it an error.
 */
#include "cli/counters/show.h"

#include "cli/clock.h"
#include "topology/topology.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MACHINE_WORD "#machine "
#define ARCH_WORD    "#arch "

/* --- what a recording says of the machine it was made on ----------------------------------------
 */
void sy_counters_write_machine(const struct sy_counters_session *session,
                               struct sy_buffer *buffer) {
    struct sy_buffer json = {0};
    sy_machine_write_json(session->machine, &json);
    buffer->failed = buffer->failed || json.failed;
    for (size_t at = 0; !json.failed && at < json.length;) {
        const char *start = json.text + at, *end = memchr(start, '\n', json.length - at);
        size_t length = end ? (size_t)(end - start) : json.length - at;
        sy_buffer_printf(buffer, MACHINE_WORD "%.*s\n", (int)length, start);
        at += length + 1;
    }
    if (session->listing) {
        sy_buffer_printf(buffer, ARCH_WORD "%s\n", session->listing->name);
    }
    sy_buffer_finish(&json);
}

/* The text behind all lines that begin with word, up to the first reading; with a NUL. */
static void gather(const char *text, size_t length, const char *word, struct sy_buffer *ret_text) {
    size_t word_length = strlen(word);
    for (const char *at = text, *end = text + length; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t line = stop ? (size_t)(stop - at) : (size_t)(end - at);
        if (line >= word_length && memcmp(at, word, word_length) == 0) {
            sy_buffer_append(ret_text, at + word_length, line - word_length);
            sy_buffer_append(ret_text, "\n", 1);
        } else if (line >= 5 && memcmp(at, "read ", 5) == 0) {
            break;
        }
        at += line + 1;
    }
    sy_buffer_append(ret_text, "", 1);
}

static int read_machine(const char *path, const struct sy_buffer *json,
                        struct sy_counters_session *session) {
    struct sy_error error = {0};
    int code = sy_machine_read_json("", json->text, json->length - 1, &session->machine, &error);
    if (code) {
        sy_message_fail("%s: the machine it was recorded on cannot be read: %s (--machine names "
                        "another)",
                        path, error.message);
    }
    return sy_message_exit(code);
}

/* The machine of a recording, where it names one; else the one in front of us. */
static int recorded_machine(const char *path, struct sy_counters_session *session,
                            const char **ret_arch) {
    struct sy_error error = {0};
    struct sy_buffer json = {0}, arch = {0};
    char *text = NULL;
    size_t length = 0;
    int code = sy_read_file(path, &text, &length, &error);
    if (code) {
        return sy_message_code(code, &error);
    }
    gather(text, length, MACHINE_WORD, &json);
    gather(text, length, ARCH_WORD, &arch);
    free(text);
    int r = json.failed || arch.failed ? sy_no_memory() : SY_EXIT_OK;
    if (r == SY_EXIT_OK && !session->machine) {
        r = json.length > 1 ? read_machine(path, &json, session)
                            : sy_input_machine("here", &session->machine);
    }
    if (r == SY_EXIT_OK && arch.length > 2) {
        *ret_arch = sy_arena_strndup(session->arena, arch.text, strcspn(arch.text, "\n"));
    }
    sy_buffer_finish(&json);
    sy_buffer_finish(&arch);
    return r;
}

static int open_machine(const struct sy_counters_args *args, struct sy_counters_session *session,
                        const char **ret_arch) {
    int r = SY_EXIT_OK;
    if (args->machine || !args->replay) {
        r = sy_input_machine(args->machine ? args->machine : "here", &session->machine);
    }
    return r == SY_EXIT_OK && args->replay ? recorded_machine(args->replay, session, ret_arch) : r;
}

/* --- opening -----------------------------------------------------------------------------------
 */
static int open_named_listing(const char *name, struct sy_counters_session *session) {
    struct sy_error error = {0};
    int code = sy_listing_open(name, NULL, &session->listing, &error);
    if (code) {
        return sy_message_about("architecture", name, code, &error);
    }
    session->arch = session->listing->name;
    return SY_EXIT_OK;
}

/* A listing that was asked for must be there; one that was not may be missing. */
static int open_listing(const struct sy_counters_args *args, const char *recorded,
                        struct sy_counters_session *session) {
    if (args->arch || recorded) {
        return open_named_listing(args->arch ? args->arch : recorded, session);
    }
    session->arch = args->replay ? "no listing" : "no listing for this processor";
    if (!args->replay && sy_listing_open(NULL, NULL, &session->listing, NULL) == 0) {
        session->arch = session->listing->name;
    }
    return SY_EXIT_OK;
}

/* --- one process or group ------------------------------------------------------------------------
 */
int sy_counters_watched(const char *group, const char *process, uint32_t *ret_process) {
    uint64_t pid = 0;
    const char *number = group && strncmp(group, "pid:", 4) == 0 ? group + 4 : group;
    if (group && process) {
        sy_message_fail("--process and --group are two things to watch; give one");
        return SY_EXIT_USAGE;
    }
    if (number && sy_parse_u64(number, strlen(number), &pid)) {
        sy_message_fail("--group takes a control group, a folder below /sys/fs/cgroup; --process "
                        "%s watches that process and its descendants",
                        number);
        return SY_EXIT_USAGE;
    }
    if (process && (!sy_parse_u64(process, strlen(process), &pid) || !pid || pid > INT32_MAX)) {
        sy_message_fail("--process takes the number of a process, not '%s'", process);
        return SY_EXIT_USAGE;
    }
    *ret_process = (uint32_t)pid;
    return SY_EXIT_OK;
}

/* Who asks for a group or a process wants to see it, not what else there is. */
static int check_watched(const struct sy_counters_args *args,
                         const struct sy_counters_session *session) {
    for (uint32_t i = 0; i < session->senses.counter_count; i++) {
        if (session->senses.counters[i].scope == SY_SCOPE_GROUP) {
            return SY_EXIT_OK;
        }
    }
    if (args->process) {
        sy_message_fail("--process %s: nothing can be read of it%s", args->process,
                        sy_counters_over(session) ? "; there is no such process" : "");
    } else {
        sy_message_fail("--group %s: nothing can be read of it; it is a folder below "
                        "/sys/fs/cgroup",
                        args->group);
    }
    return SY_EXIT_INPUT;
}

bool sy_counters_over(const struct sy_counters_session *session) {
    char path[64], *text = NULL;
    size_t length;
    if (!session->process) {
        return false;
    }
    snprintf(path, sizeof path, "/proc/%u/stat", session->process);
    bool over = sy_read_file(path, &text, &length, NULL) < 0;
    const char *state = over ? NULL : strrchr(text, ')');
    over = over || (state && strncmp(state, ") Z", 3) == 0); /* ended, and nobody asked how */
    free(text);
    return over;
}

static int open_senses(const struct sy_counters_args *args, struct sy_counters_session *session) {
    struct sy_error error = {0};
    struct sy_monitor *senses = &session->senses;
    int r = sy_counters_watched(args->group, args->process, &session->process);
    if (r != SY_EXIT_OK) {
        return r;
    }
    session->watched = args->process ? "process" : args->group ? "group" : NULL;
    const struct sy_sources_options options = {.only = args->only,
                                               .listing = session->listing,
                                               .group = args->group,
                                               .process = session->process,
                                               .replay = args->replay};
    int code = sy_monitor_open(session->machine, &options, senses, &error);
    if (code) {
        sy_message_error(&error);
        return args->replay      ? sy_message_exit(code)
               : code == -EINVAL ? SY_EXIT_USAGE
                                 : SY_EXIT_FAILED;
    }
    session->gaps = sy_sources_gaps(senses->sources, &session->gap_count);
    session->last =
        sy_need(sy_arena_alloc(session->arena, senses->counter_count + 1u, sizeof *session->last));
    for (uint32_t i = 0; i < senses->counter_count && session->last; i++) {
        session->last[i] = NAN;
    }
    return session->watched ? check_watched(args, session) : SY_EXIT_OK;
}

int sy_counters_open(const struct sy_counters_args *args, struct sy_counters_session *session) {
    const char *recorded_arch = NULL;
    *session = (struct sy_counters_session){.arena = sy_need(sy_arena_create())};
    int r = open_machine(args, session, &recorded_arch);
    r = r == SY_EXIT_OK ? open_listing(args, recorded_arch, session) : r;
    return r == SY_EXIT_OK ? open_senses(args, session) : r;
}

void sy_counters_close(struct sy_counters_session *session) {
    sy_monitor_close(&session->senses);
    sy_listing_destroy(session->listing);
    sy_machine_destroy(session->machine);
    sy_arena_destroy(session->arena);
    *session = (struct sy_counters_session){0};
}

/* --- running -----------------------------------------------------------------------------------
 */
int sy_counters_step(struct sy_counters_session *session, double now_ns) {
    const struct sy_monitor *senses = &session->senses;
    int code = sy_monitor_read(&session->senses, now_ns);
    for (uint32_t i = 0; !code && i < senses->sample_count; i++) {
        session->last[senses->samples[i].counter] = senses->samples[i].value;
    }
    return code ? code : sy_monitor_think(&session->senses);
}

void sy_counters_source_text(const struct sy_counters_session *session, struct sy_buffer *buffer) {
    for (uint32_t i = 0; i < session->senses.counter_count; i++) {
        const char *source = session->senses.counters[i].source;
        uint32_t count = 0;
        bool first = true;
        for (uint32_t j = 0; j < session->senses.counter_count && first; j++) {
            bool same = strcmp(session->senses.counters[j].source, source) == 0;
            first = !(same && j < i);
            count += same;
        }
        if (first) {
            sy_buffer_printf(buffer, "%s%s %u", i ? ", " : "", source, count);
        }
    }
    sy_buffer_append(buffer, "", 1);
}

double sy_counters_due_ns(double start_ns, double step_ns, uint64_t *step) {
    double now_ns = sy_clock_ns(), due_ns = start_ns + (double)*step * step_ns;
    if (due_ns < now_ns - step_ns) {
        *step = (uint64_t)ceil((now_ns - start_ns) / step_ns);
        due_ns = start_ns + (double)*step * step_ns;
    }
    return due_ns;
}
