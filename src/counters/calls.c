/* SPDX-License-Identifier: Apache-2.0
 *
 * The outside: the kernel's perf_event_open and the name of NVIDIA's library.
 */
#include "counters/perf.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int real_open(void *user, struct perf_event_attr *attributes, pid_t pid, int cpu, int group,
                     unsigned long flags) {
    (void)user;
    long fd = syscall(SYS_perf_event_open, attributes, pid, cpu, group, flags);
    return fd < 0 ? -errno : (int)fd;
}

static ssize_t real_read(void *user, int fd, void *buffer, size_t size) {
    (void)user;
    ssize_t got = read(fd, buffer, size);
    return got < 0 ? -errno : got;
}

static int real_control(void *user, int fd, unsigned long request, unsigned long argument) {
    (void)user;
    return ioctl(fd, request, argument) < 0 ? -errno : 0;
}

static void real_close(void *user, int fd) {
    (void)user;
    close(fd);
}

struct sy_calls sy_calls_real(const char *root) {
    const char *named = getenv("SYMPH_NVML");
    struct sy_calls calls = {.nvml = named ? named : "libnvidia-ml.so.1",
                             .perf_open = real_open,
                             .perf_read = real_read,
                             .perf_control = real_control,
                             .perf_close = real_close};
    return root ? (struct sy_calls){0} : calls;
}
