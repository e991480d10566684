/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels: codelets by what they are called, looked up once. Of tens of thousands of short tasks
 * nearly every one may be on blocks of another size, so that whatever is asked once per size is
 * asked once per task; names, builds and what the store has of a kernel do not depend on it.
 */
#include "base/elf_file.h"
#include "engine/starpu/status.h"
#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LENGTHS       64u /* tasks that a share and a mean are of, about, */
#define LENGTHS_LEAST 8u  /* and from which on they say something */
#define SHARE_LEAST   .9  /* of the tasks of a kernel are short: so are others */
#define ROOM          4   /* a task of twice the size may take this many times as long */

static uint64_t mix(uint64_t hash, uint64_t value) {
    return (hash ^ value) * UINT64_C(0x100000001b3);
}

static uintptr_t function_of(const struct starpu_task *task) {
    const struct starpu_codelet *cl = task->cl;
    return cl->cpu_funcs[0]    ? (uintptr_t)cl->cpu_funcs[0]
           : cl->cuda_funcs[0] ? (uintptr_t)cl->cuda_funcs[0]
                               : (uintptr_t)cl->opencl_funcs[0];
}

/* Of what has its functions. */
static uint64_t build_of(const struct starpu_task *task) {
    return sy_elf_loaded_identity((const void *)function_of(task));
}

/* Codelets without a name are told apart by where their code is, in which build. */
#define NAME_BYTES 64
#define UNNAMED    "unnamed."
static const char *name_of(struct starpu_task *task, char *room) {
    const struct starpu_codelet *cl = task->cl;
    const char *name = cl->model && cl->model->symbol ? cl->model->symbol : cl->name;
    name = name ? name : starpu_task_get_name(task);
    if (name) {
        return name;
    }
    Dl_info info = {0};
    uintptr_t function = function_of(task);
    uintptr_t base =
        dladdr((const void *)function, &info) && info.dli_fbase ? (uintptr_t)info.dli_fbase : 0;
    snprintf(room, NAME_BYTES, UNNAMED "%" PRIx64 ".%" PRIxPTR, build_of(task), function - base);
    return room;
}

/* The name that times are kept under. Different programs often use the same name: the program, or
 * the library, that has the function belongs to the name. The engine's kernels have names of their
 * own.
 */
#define STORED_BYTES 256
static const char *stored_name(const struct starpu_task *task, const char *name, char *room) {
    Dl_info info = {0};
    if (sy_shared.options.describe || strncmp(name, UNNAMED, strlen(UNNAMED)) == 0 ||
        !dladdr((const void *)function_of(task), &info) || !info.dli_fname) {
        return name;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(room, STORED_BYTES, "%.100s:%.150s", slash ? slash + 1 : info.dli_fname, name);
    return room;
}

/* Codelets may live on a stack that is used again, so their functions belong to the key. */
uint64_t kernel_key(const struct starpu_task *task, uint64_t footprint) {
    const struct starpu_codelet *cl = task->cl;
    uint64_t key = mix(UINT64_C(0xcbf29ce484222325), footprint);
    key = mix(key, (uintptr_t)cl);
    key = mix(key, (uintptr_t)cl->cpu_funcs[0] ^ ((uint64_t)cl->where << 32));
    key = mix(key, (uintptr_t)cl->opencl_funcs[0]);
    return mix(key, (uintptr_t)cl->cuda_funcs[0] ^ (uint64_t)task->where);
}

static uint32_t kernel_number(const char *name) {
    struct shared *s = &sy_shared;
    uint32_t number = 0;
    if (sy_map_get(&s->kernels, name, strlen(name), &number)) {
        return number;
    }
    const char *copy = sy_arena_strdup(s->names, name);
    if (copy && sy_map_put(&s->kernels, copy, strlen(copy), s->kernel_count) == 0) {
        return s->kernel_count++;
    }
    return SY_LIVE_KERNELS - 1;
}

/* --- short ones ---------------------------------------------------------------------------------
 */
/* Powers of two of flops, else of bytes; 0: nobody states them. */
uint32_t kernel_size(double flops, double bytes) {
    double size = flops > 0 ? flops : bytes;
    return size >= 1 ? (uint32_t)ilogb(fmin(size, 0x1p63)) : 0;
}

/* A task that lost its core in the middle took milliseconds, whatever it does: so shares are
 * counted, and in the mean it counts as one that is just too long. */
void kernel_took(struct kernel *kernel, uint32_t size, double duration_ns) {
    struct kernel_length *length = &kernel->lengths[size];
    length->count += length->count < LENGTHS;
    double is_short = duration_ns < SHORT_ALONE_NS, counts_ns = fmin(duration_ns, SHORT_ALONE_NS);
    length->share += (is_short - length->share) / length->count;
    length->mean_ns += (counts_ns - length->mean_ns) / length->count;
}

static bool is_known(const struct kernel_length *length) {
    return length->count >= LENGTHS_LEAST;
}

static bool is_short(const struct kernel_length *length) {
    return is_known(length) && length->share >= SHARE_LEAST;
}

/* What was seen of this size counts; else of a larger one, which does not take less; of half of it,
 * with some room; else of all sizes in earlier runs. */
double kernel_short_ns(const struct kernel *kernel, uint32_t size) {
    const struct kernel_length *lengths = kernel->lengths;
    uint32_t larger = size;
    while (larger + 1 < KERNEL_SIZES && !is_known(&lengths[larger])) {
        larger++;
    }
    if (is_short(&lengths[larger])) {
        return lengths[larger].mean_ns;
    }
    if (larger == size && is_known(&lengths[size])) {
        return INFINITY;
    }
    const struct kernel_length *half = &lengths[size ? size - 1 : 0];
    if (is_short(half) && ROOM * half->mean_ns < SHORT_ALONE_NS) {
        return half->mean_ns;
    }
    return is_short(&kernel->before) ? kernel->before.mean_ns : INFINITY;
}

/* Of earlier runs. */
static void take_lengths(struct kernel *kernel, const struct sy_group *group) {
    struct kernel_length *before = &kernel->before;
    uint64_t count = sy_group_shorter(group, SHORT_ALONE_NS, &before->share, &before->mean_ns);
    before->count = count < LENGTHS ? (uint32_t)count : LENGTHS;
}

/* --- looking them up ----------------------------------------------------------------------------
 */
struct sy_group *kernel_group(struct kernel *kernel, uint32_t class_index) {
    if (!kernel->groups[class_index]) {
        struct sy_group *group = sy_store_sizes(sy_shared.store, kernel->stored,
                                                sy_shared.machine->classes[class_index].name);
        if (group) {
            take_lengths(kernel, group);
        }
        kernel->groups[class_index] = group;
    }
    return kernel->groups[class_index];
}

static struct kernel *make_kernel(struct starpu_task *task, const char *name, uint64_t told_build,
                                  uint64_t key) {
    struct shared *s = &sy_shared;
    char room[STORED_BYTES];
    struct kernel *kernel = sy_arena_alloc(s->names, 1, sizeof *kernel);
    uint64_t build = s->options.describe ? told_build : build_of(task);
    if (!kernel || !(kernel->name = sy_arena_strdup(s->names, name)) ||
        !(kernel->stored = sy_arena_strdup(s->names, stored_name(task, name, room))) ||
        !(kernel->groups =
              sy_arena_alloc(s->names, s->machine->class_count, sizeof(struct sy_group *))) ||
        sy_store_set_build(s->store, kernel->stored, build) ||
        sy_chains_add(&s->known, &kernel->link, key)) {
        return NULL;
    }
    kernel->number = kernel_number(name);
    status_name_kernel(kernel->number, name);
    return kernel;
}

struct kernel *kernel_of(struct starpu_task *task, uint64_t told_build) {
    char room[NAME_BYTES];
    const char *name = name_of(task, room);
    uint64_t key = mix(kernel_key(task, told_build), sy_hash(name, strlen(name)));
    struct kernel *kernel = sy_chains_find(&sy_shared.known, key);
    return kernel ? kernel : make_kernel(task, name, told_build, key);
}
