/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes that StarPU's buses have carried, summed up. Reading StarPU's own account sets it back to
 * 0: the watcher, the recorder and a run all want to know, so nobody but this file reads it.
 */
#include "engine/starpu/hooks.h"
#include <pthread.h>
#include <string.h>

#define BUSES 4096 /* of 64 memory nodes; what further ones carry is not known */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double carried[BUSES];

double sy_bus_bytes(int bus) {
    struct starpu_profiling_bus_info info;
    if (bus < 0 || bus >= BUSES) {
        return 0;
    }
    pthread_mutex_lock(&lock);
    if (starpu_bus_get_profiling_info(bus, &info) == 0) {
        carried[bus] += (double)info.transferred_bytes;
    }
    double bytes = carried[bus];
    pthread_mutex_unlock(&lock);
    return bytes;
}

void sy_bus_restart(void) {
    pthread_mutex_lock(&lock);
    memset(carried, 0, sizeof carried);
    pthread_mutex_unlock(&lock);
}
