/* SPDX-License-Identifier: Apache-2.0
 *
 * How many cores this process may use.
 *
 * In: its affinity mask, the quotas of the control groups above it (version 2), which threads share
 * a core. Out: a count. Never knows: StarPU.
 */
#include "engine/starpu/process.h"
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_line(const char *path, char *text, size_t size) {
    FILE *file = fopen(path, "re");
    bool got = file && fgets(text, (int)size, file);
    if (file) {
        fclose(file);
    }
    return got;
}

/* Its group of version 2, "/a/b". */
static bool read_group(const char *membership, char *group, size_t size) {
    FILE *file = fopen(membership, "re");
    bool found = false;
    while (file && !found && fgets(group, (int)size, file)) {
        found = strncmp(group, "0::/", 4) == 0;
    }
    if (file) {
        fclose(file);
    }
    if (found) {
        memmove(group, group + 3, strlen(group + 3) + 1);
        group[strcspn(group, "\n")] = '\0';
    }
    return found;
}

double sy_engine_quota(const char *membership, const char *root) {
    char group[PATH_MAX], path[PATH_MAX + 512], line[128];
    double least = INFINITY;
    bool more = read_group(membership, group, sizeof group);
    while (more) {
        double quota = 0, period = 0;
        snprintf(path, sizeof path, "%.256s%s/cpu.max", root, group);
        if (read_line(path, line, sizeof line) && sscanf(line, "%lf %lf", &quota, &period) == 2 &&
            period > 0) {
            least = fmin(least, quota / period);
        }
        char *slash = strrchr(group, '/');
        more = slash != NULL;
        if (more) {
            *slash = '\0'; /* one level up; the root comes last, as "" */
        }
    }
    return least;
}

/* One of two threads of a core counts, if both are ours. */
static bool first_of_core(int cpu, const cpu_set_t *mask) {
    char path[128], line[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    int first = read_line(path, line, sizeof line) ? atoi(line) : cpu;
    return first >= cpu || first < 0 || !CPU_ISSET((size_t)first, mask);
}

struct sy_cores sy_engine_cores(void) {
    struct sy_cores cores = {0};
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (sched_getaffinity(0, sizeof mask, &mask) == 0) {
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            cores.count += CPU_ISSET((size_t)cpu, &mask) && first_of_core(cpu, &mask);
        }
        cores.restricted = CPU_COUNT(&mask) < sysconf(_SC_NPROCESSORS_ONLN);
    } else {
        cores.count = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    }
    double quota = sy_engine_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    if (quota < cores.count) {
        cores.count = (uint32_t)floor(quota);
        cores.restricted = true;
    }
    cores.count = cores.count ? cores.count : 1;
    return cores;
}
