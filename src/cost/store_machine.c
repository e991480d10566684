/* SPDX-License-Identifier: Apache-2.0
 *
 * A name for this machine that another one with the same home folder does not have.
 */
#include "cost/cost.h"
#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define HOST_MAX 64

/* What the kernel says of the first processor; the clock it runs at now is not part of its name. */
static uint64_t hash_processor(void) {
    char text[4096] = "";
    int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0) {
        close(fd);
    }
    text[got > 0 ? got : 0] = '\0';
    char facts[256] = "";
    size_t used = 0;
    /* x86 has the first, ARM the two others. */
    const char *const names[] = {"model name", "CPU implementer", "CPU part"};
    for (size_t i = 0; i < SY_COUNT(names); i++) {
        const char *at = strstr(text, names[i]);
        size_t length = at ? strcspn(at, "\n") : 0;
        length = length < sizeof facts - used ? length : sizeof facts - used;
        memcpy(facts + used, at ? at : "", length);
        used += length;
    }
    return sy_hash(facts, used);
}

void sy_store_machine_name(char *ret_name, size_t size) {
    char host[HOST_MAX + 1] = "";
    if (gethostname(host, HOST_MAX) < 0 || !isalnum((unsigned char)host[0])) {
        snprintf(host, sizeof host, "here");
    }
    for (char *c = host; *c; c++) {
        *c = isalnum((unsigned char)*c) || *c == '-' ? *c : '-';
    }
    /* Configured, not allowed: the same machine under another affinity is the same machine. */
    uint64_t processors = (uint64_t)sysconf(_SC_NPROCESSORS_CONF);
    uint64_t hash = hash_processor() ^ processors * 0x9e3779b97f4a7c15u;
    /* The hash first: a name that is cut keeps what tells machines apart. */
    snprintf(ret_name, size, "%08x-%s", (uint32_t)(hash ^ hash >> 32), host);
}
