/* SPDX-License-Identifier: Apache-2.0
 *
 * The page that symph top reads: see status.h. Not under SimGrid, whose time is not ours.
 */
#include "engine/starpu/status.h"
#include "base/program.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifdef STARPU_SIMGRID
void status_open(void) {
}
#else
/* Sealed in size: whoever reads it need not fear that it shrinks. */
static struct sy_status *make_page(int *ret_fd) {
    int fd = memfd_create(SY_STATUS_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        return NULL;
    }
    void *page = MAP_FAILED;
    if (ftruncate(fd, sizeof(struct sy_status)) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
        page = mmap(NULL, sizeof(struct sy_status), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (page == MAP_FAILED) {
        close(fd);
        return NULL;
    }
    *ret_fd = fd;
    return page;
}

static double clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

void status_open(void) {
    struct shared *s = &sy_shared;
    struct sy_status *page = s->status ? NULL : make_page(&s->status_fd);
    if (!page) {
        return;
    }
    const char *spec = s->options.request ? s->options.request->spec : NULL;
    uint32_t devices = s->machine->device_count;
    page->pid = (uint32_t)getpid();
    page->worker_count = devices < SY_STATUS_WORKERS ? devices : SY_STATUS_WORKERS;
    page->start_ns = shared_now_ns();
    page->offset_ns = clock_ns() - page->start_ns;
    if (spec) {
        snprintf(page->program, sizeof page->program, "%s", spec);
    } else {
        sy_program_line(page->program, sizeof page->program);
    }
    snprintf(page->policy, sizeof page->policy, "%s", s->policy);
    for (uint32_t w = 0; w < page->worker_count; w++) {
        snprintf(page->names[w], sizeof page->names[w], "%s", s->machine->devices[w].name);
    }
    atomic_thread_fence(memory_order_release);
    page->magic = SY_STATUS_MAGIC;
    s->status = page;
}
#endif

void status_close(void) {
    struct shared *s = &sy_shared;
    if (s->status) {
        munmap(s->status, sizeof *s->status);
        close(s->status_fd);
        s->status = NULL;
    }
}

void status_name_kernel(uint32_t kernel, const char *name) {
    struct sy_status *s = sy_shared.status;
    if (s && kernel < SY_STATUS_KERNELS && !s->kernels[kernel][0]) {
        snprintf(s->kernels[kernel], sizeof s->kernels[kernel], "%s", name);
    }
}
