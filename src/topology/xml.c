/* SPDX-License-Identifier: Apache-2.0
 *
 * xml: a machine from hwloc's XML, read by hwloc in a process of its own.
 *
 * hwloc trusts its XML: a hostile file can make it print, abort, or set bit 4,000,000,000 of a
 * bitmap. So a child with bounded memory and time loads the file and answers through a pipe: 'J'
 * and the machine as native JSON, or 'E' and the error. Invariant: whatever becomes of the child,
 * the caller gets a machine or one error.
 */
#include "base/shield.h"
#include "topology/from_hwloc.h"
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
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
}

static int load(const char *text, size_t length, const char *name, struct sy_machine **ret_machine,
                struct sy_error *error) {
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) < 0) {
        return sy_out_of_memory(error);
    }
    bool failed = hwloc_topology_set_xmlbuffer(topology, text, (int)length + 1) < 0 ||
                  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) ||
                  hwloc_topology_load(topology);
    int code = failed ? sy_fail(error, -EINVAL, "hwloc finds no machine in this file")
                      : sy_hwloc_build(topology, NULL, name, ret_machine, error);
    hwloc_topology_destroy(topology);
    return code;
}

struct request {
    const char *text, *name;
    size_t length;
};

/* In the child. */
static int answer_request(void *argument, struct sy_buffer *answer) {
    const struct request *request = argument;
    struct sy_error error = {0};
    struct sy_machine *machine = NULL;
    struct sy_buffer json = {0};
    bound_child();
    int code = load(request->text, request->length, request->name, &machine, &error);
    if (!code) {
        sy_machine_write_json(machine, &json);
        code = json.failed ? sy_out_of_memory(&error) : 0;
    }
    sy_buffer_append(answer, code ? "E" : "J", 1);
    sy_buffer_append(answer, code ? (const char *)&error : json.text,
                     code ? sizeof error : json.length);
    sy_buffer_finish(&json);
    sy_machine_destroy(machine);
    return 0;
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
    struct request request = {.text = text, .name = name, .length = length};
    struct sy_shield_end end = {0};
    code = sy_shield(answer_request, &request, CHILD_SECONDS, &answer, &end);
    if (code || !end.returned || answer.failed || answer.length < 2) {
        code = sy_fail_at(error, -EINVAL, file, 0, 0, "hwloc cannot read this file");
        sy_hint(error, "export the machine again with lstopo --of xml");
    } else {
        code = read_reply(file, &answer, ret_machine, error);
    }
    sy_buffer_finish(&answer);
    return code;
}
