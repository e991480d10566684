/* SPDX-License-Identifier: Apache-2.0
 *
 * A known load on a GPU: copies of known size at a known pace, so that what counters say can be
 * compared with what was done. bench/gpu_truth.py does that.
 *
 *   gpu_load h2d|d2h|d2d GB_PER_S SECONDS     0 GB/s: nothing, 1e9: as fast as it goes
 *
 * CUDA's run time is found at run time (libcudart.so), so that this builds everywhere. Prints one
 * JSON object: bytes, seconds, when it began and ended (CLOCK_MONOTONIC, seconds).
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHUNK_BYTES (64u << 20) /* of one copy */
#define H2D         1           /* cudaMemcpyKind */
#define D2H         2
#define D2D         3
#define NO_GPU      77 /* as a test that is left out says it */

struct cuda {
    int (*set_device)(int device);
    int (*malloc_device)(void **ret_pointer, size_t bytes);
    int (*malloc_host)(void **ret_pointer, size_t bytes);
    int (*copy)(void *to, const void *from, size_t bytes, int kind, void *stream);
    int (*wait)(void);
};

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void sleep_until(double at_s) {
    struct timespec at = {.tv_sec = (time_t)at_s};
    at.tv_nsec = (long)((at_s - (double)at.tv_sec) * 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
    }
}

static bool load_cuda(struct cuda *cuda) {
    static const char *const names[] = {"libcudart.so", "libcudart.so.13", "libcudart.so.12",
                                        "/usr/local/cuda/lib64/libcudart.so"};
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++) {
        library = dlopen(names[i], RTLD_NOW);
    }
    if (!library) {
        return false;
    }
    *(void **)&cuda->set_device = dlsym(library, "cudaSetDevice");
    *(void **)&cuda->malloc_device = dlsym(library, "cudaMalloc");
    *(void **)&cuda->malloc_host = dlsym(library, "cudaMallocHost");
    *(void **)&cuda->copy = dlsym(library, "cudaMemcpyAsync");
    *(void **)&cuda->wait = dlsym(library, "cudaDeviceSynchronize");
    return cuda->set_device && cuda->malloc_device && cuda->malloc_host && cuda->copy &&
           cuda->wait && cuda->set_device(0) == 0;
}

int main(int count, char **arguments) {
    struct cuda cuda = {0};
    if (count != 4) {
        fprintf(stderr, "usage: gpu_load h2d|d2h|d2d GB_PER_S SECONDS\n");
        return 2;
    }
    int kind = strcmp(arguments[1], "h2d") == 0   ? H2D
               : strcmp(arguments[1], "d2h") == 0 ? D2H
                                                  : D2D;
    double pace = atof(arguments[2]) * 1e9, seconds = atof(arguments[3]);
    if (!load_cuda(&cuda)) {
        fprintf(stderr, "gpu_load: no CUDA run time, or no GPU\n");
        return NO_GPU;
    }
    void *host = NULL, *device = NULL, *other = NULL;
    if (cuda.malloc_host(&host, CHUNK_BYTES) || cuda.malloc_device(&device, CHUNK_BYTES) ||
        cuda.malloc_device(&other, CHUNK_BYTES)) {
        fprintf(stderr, "gpu_load: no memory on the GPU\n");
        return 1;
    }
    void *to = kind == D2H ? host : device;
    const void *from = kind == H2D ? host : kind == D2H ? device : other;
    double start = now_s(), bytes = 0;
    while (now_s() - start < seconds) {
        if (pace <= 0) {
            sleep_until(start + seconds);
            break;
        }
        if (cuda.copy(to, from, CHUNK_BYTES, kind, NULL) || cuda.wait()) {
            fprintf(stderr, "gpu_load: a copy failed\n");
            return 1;
        }
        bytes += CHUNK_BYTES;
        sleep_until(start + bytes / pace);
    }
    double end = now_s();
    printf("{\"mode\": \"%s\", \"bytes\": %.0f, \"seconds\": %.6f, \"start_s\": %.6f, "
           "\"end_s\": %.6f}\n",
           arguments[1], bytes, end - start, start, end);
    return 0;
}
