/* SPDX-License-Identifier: Apache-2.0
 *
 * xml: a machine from hwloc's XML, read by hwloc in a process of its own.
 *
 * hwloc trusts its XML: a hostile file can make it print, abort, or set bit 4,000,000,000 of a
 * bitmap. So a child with bounded memory and time loads the file and answers through a pipe: 'J'
 * and the machine as native JSON, or 'E' and the error. Invariant: whatever becomes of the child,
 * the caller gets a machine or one error.
 */
#include "topology/from_hwloc.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_BYTES   ((rlim_t)1 << 30)
#define CHILD_SECONDS 20

static void limit(unsigned what, rlim_t value) {
    struct rlimit bound = {.rlim_cur = value, .rlim_max = value};
    setrlimit(what, &bound);
}

/* What this process has mapped already, plus room for hwloc; sanitizers map terabytes. */
static void bound_child(void) {
    unsigned long long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (statm && fscanf(statm, "%llu", &pages) == 1) {
        limit(RLIMIT_AS, pages * (rlim_t)sysconf(_SC_PAGESIZE) + CHILD_BYTES);
    }
    if (statm) {
        fclose(statm);
    }
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, CHILD_SECONDS);
    alarm(CHILD_SECONDS);
}

/* The caller's handlers must not run on its behalf here: a crash is to end the child. */
static void reset_signals(void) {
    for (int number = 1; number < NSIG; number++) {
        signal(number, SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static int load(const char *text, size_t length, const char *name, struct sy_machine **ret_machine,
                struct sy_error *error) {
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) < 0) {
        return sy_fail(error, -ENOMEM, "out of memory");
    }
    bool failed = hwloc_topology_set_xmlbuffer(topology, text, (int)length + 1) < 0 ||
                  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) ||
                  hwloc_topology_load(topology);
    int code = failed ? sy_fail(error, -EINVAL, "hwloc finds no machine in this file")
                      : sy_hwloc_build(topology, NULL, name, ret_machine, error);
    hwloc_topology_destroy(topology);
    return code;
}

static bool put(int fd, const void *bytes, size_t length) {
    return sy_write_all(fd, bytes, length) == 0;
}

/* Ends with _exit: nothing of the parent's is flushed or run twice. */
_Noreturn static void be_child(int fd, const char *text, size_t length, const char *name) {
    struct sy_error error = {0};
    struct sy_machine *machine = NULL;
    struct sy_buffer json = {0};
    reset_signals();
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere < 0 || dup2(nowhere, 1) < 0 || dup2(nowhere, 2) < 0) {
        _exit(1);
    }
    bound_child();
    int code = load(text, length, name, &machine, &error);
    if (!code) {
        sy_machine_write_json(machine, &json);
        code = json.failed ? sy_fail(&error, -ENOMEM, "out of memory") : 0;
    }
    bool sent = code ? put(fd, "E", 1) && put(fd, &error, sizeof error)
                     : put(fd, "J", 1) && put(fd, json.text, json.length);
    sy_buffer_finish(&json);
    sy_machine_destroy(machine);
    _exit(sent ? 0 : 1);
}

static void read_answer(int fd, struct sy_buffer *answer) {
    char block[4096];
    ssize_t got;
    while ((got = read(fd, block, sizeof block)) != 0) {
        if (got > 0) {
            sy_buffer_append(answer, block, (size_t)got);
        } else if (errno != EINTR) {
            return;
        }
    }
}

/* Runs the child to its end. False: it died, or could not be made. */
static bool ask_child(const char *text, size_t length, const char *name, struct sy_buffer *answer) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) {
        return false;
    }
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        be_child(ends[1], text, length, name);
    }
    close(ends[1]);
    if (child > 0) {
        read_answer(ends[0], answer);
    }
    close(ends[0]);
    int status = 0;
    pid_t ended = 0;
    while (child > 0 && (ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) {
    }
    /* A caller that ignores SIGCHLD leaves no status: then the answer speaks for itself. */
    bool fine = ended == child ? WIFEXITED(status) && WEXITSTATUS(status) == 0 : ended < 0;
    return child > 0 && fine && !answer->failed && answer->length > 1;
}

static int read_reply(const char *file, const struct sy_buffer *answer,
                      struct sy_machine **ret_machine, struct sy_error *error) {
    if (answer->text[0] == 'J') {
        return sy_machine_read_json(file, answer->text + 1, answer->length - 1, ret_machine, error);
    }
    struct sy_error reply = {0};
    if (answer->length == sizeof reply + 1) {
        memcpy(&reply, answer->text + 1, sizeof reply);
    }
    return sy_fail_at(error, -EINVAL, file, 0, 0, "%s", reply.message);
}

int sy_machine_read_xml(const char *file, const char *name, const char *text, size_t length,
                        struct sy_machine **ret_machine, struct sy_error *error) {
    int code = sy_xml_check(file, text, length, error);
    if (code) {
        return code;
    }
    struct sy_buffer answer = {0};
    if (!ask_child(text, length, name, &answer)) {
        code = sy_fail_at(error, -EINVAL, file, 0, 0, "hwloc cannot digest this file");
        sy_hint(error, "export the machine again with lstopo --of xml");
    } else {
        code = read_reply(file, &answer, ret_machine, error);
    }
    sy_buffer_finish(&answer);
    return code;
}
