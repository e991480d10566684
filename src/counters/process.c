/* SPDX-License-Identifier: Apache-2.0
 *
 * What one process and its descendants use: processors, memory, disks.
 *
 * In: the number of a process. Out: counters of scope group. Who belongs to it is looked up again
 * and again, by parents; what a child used before it ended is in its parent's account once it was
 * waited for. Invariants: another process that got the same number later is not taken for it; a
 * child that ends between two looks makes no jump, since more than all processors can do is none.
 */
#include "counters/provider.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROCESSES_MAX 16384 /* of the whole machine; more are not seen */
#define DISK_MAX      1e12  /* B/s; faster is the account of a child that moved */

struct life {
    uint32_t parent;
    uint64_t ticks; /* of processors, its own and of children it waited for */
    uint64_t threads, born, pages;
};

struct process {
    uint32_t pid;
    uint64_t born;
    DIR *folder; /* /proc, kept open: opening allocates */
    uint32_t *pids, *parents, count;
    uint32_t *members, member_count; /* the process first */
    uint32_t cpu, memory, reads, writes, processes, threads;
    double scanned_ns, ns;
};

/* "pid (name) S ppid ...": a name may hold anything, also brackets and blanks. */
static bool read_life(struct sy_sources *sources, uint32_t pid, struct life *ret_life) {
    enum {
        PARENT = 1,
        USER = 11,
        SYSTEM,
        CHILD_USER,
        CHILD_SYSTEM,
        THREADS = 17,
        BORN = 19,
        PAGES = 21,
        FIELDS
    };
    char path[64];
    uint64_t fields[FIELDS] = {0};
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    const char *at = sy_file_text(sources, path) > 0 ? strrchr(sources->buffer, ')') : NULL;
    if (!at || at[1] != ' ' || !at[2]) {
        return false;
    }
    at += 3; /* the state is a letter */
    for (uint32_t i = PARENT; i < FIELDS; i++) {
        at += strspn(at, " ");
        fields[i] = strtoull(at, NULL, 10);
        at += strcspn(at, " ");
    }
    *ret_life = (struct life){.parent = (uint32_t)fields[PARENT],
                              .ticks = fields[USER] + fields[SYSTEM] + fields[CHILD_USER] +
                                       fields[CHILD_SYSTEM],
                              .threads = fields[THREADS],
                              .born = fields[BORN],
                              .pages = fields[PAGES]};
    return true;
}

static bool is_member(const struct process *process, uint32_t pid) {
    for (uint32_t i = 0; i < process->member_count; i++) {
        if (process->members[i] == pid) {
            return true;
        }
    }
    return false;
}

/* Everybody's parent, then whose ancestor is the process. */
static void scan(struct sy_sources *sources, struct process *process) {
    process->count = process->member_count = 0;
    rewinddir(process->folder);
    for (struct dirent *entry; (entry = readdir(process->folder));) {
        uint64_t pid;
        struct life life;
        if (process->count < PROCESSES_MAX &&
            sy_parse_u64(entry->d_name, strlen(entry->d_name), &pid) &&
            read_life(sources, (uint32_t)pid, &life)) {
            process->pids[process->count] = (uint32_t)pid;
            process->parents[process->count++] = life.parent;
        }
    }
    process->members[process->member_count++] = process->pid;
    for (uint32_t before = 0; before < process->member_count;) {
        before = process->member_count;
        for (uint32_t i = 0; i < process->count; i++) {
            if (is_member(process, process->parents[i]) && !is_member(process, process->pids[i])) {
                process->members[process->member_count++] = process->pids[i];
            }
        }
    }
}

/* Bytes read from and written to disks; false: we may not know. */
static bool read_disks(struct sy_sources *sources, uint32_t pid, uint64_t *reads,
                       uint64_t *writes) {
    char path[64];
    uint64_t in, out;
    snprintf(path, sizeof path, "/proc/%u/io", pid);
    if (sy_file_text(sources, path) <= 0 || !sy_scan_key(sources->buffer, "read_bytes", &in) ||
        !sy_scan_key(sources->buffer, "write_bytes", &out)) {
        return false;
    }
    *reads += in;
    *writes += out;
    return true;
}

/* --- probing ------------------------------------------------------------------------------------
 */
static struct process *create(struct sy_sources *sources, uint32_t pid) {
    struct process *process = sy_memory(sources, 1, sizeof *process);
    uint32_t *arrays = sy_memory(sources, 3 * PROCESSES_MAX + 1, sizeof *arrays);
    if (!process || !arrays) {
        return NULL;
    }
    process->pid = pid;
    process->pids = arrays;
    process->parents = arrays + PROCESSES_MAX;
    process->members = arrays + 2 * PROCESSES_MAX; /* and one: the process may be hidden */
    process->folder = sy_folder_open(sources, "/proc");
    process->scanned_ns = process->ns = NAN;
    return process;
}

uint32_t sy_process_threads(struct sy_sources *sources, uint32_t pid, uint32_t *ret_threads,
                            uint32_t capacity) {
    struct process *process = create(sources, pid);
    uint32_t count = 0;
    if (!process || !process->folder) {
        return 0;
    }
    scan(sources, process);
    closedir(process->folder);
    for (uint32_t i = 0; i < process->member_count; i++) {
        char path[64];
        const char *const *names;
        snprintf(path, sizeof path, "/proc/%u/task", process->members[i]);
        uint32_t threads = sy_folder_names(sources, path, "", &names);
        for (uint32_t j = 0; j < threads; j++, count++) {
            uint64_t thread;
            if (count < capacity && sy_parse_u64(names[j], strlen(names[j]), &thread)) {
                ret_threads[count] = (uint32_t)thread;
            }
        }
    }
    return count;
}

static uint32_t add(struct sy_sources *sources, const char *event, enum sy_counter_kind kind,
                    const char *unit, struct sy_track track) {
    struct sy_counter counter = {.name = sy_text(sources, "process.%s", event),
                                 .source = "process",
                                 .event = event,
                                 .kind = kind,
                                 .unit = unit,
                                 .scope = SY_SCOPE_GROUP,
                                 .noise_ratio = 0.02, /* ticks of 10 ms */
                                 .pmu = SY_PMU_NONE};
    return sy_add_counter(sources, &counter, &track);
}

static void add_all(struct sy_sources *sources, struct process *process) {
    const uint32_t *cpus;
    double ticks_per_s = (double)sysconf(_SC_CLK_TCK);
    uint32_t cpu_count = sy_online_cpus(sources, &cpus);
    uint64_t reads = 0, writes = 0;
    process->cpu =
        add(sources, "cpu_used", SY_COUNTER_RATE, "cpus",
            (struct sy_track){.scale = 1 / ticks_per_s, .rate_max = 1.5 * fmax(cpu_count, 1)});
    process->memory = add(sources, "memory_bytes", SY_COUNTER_LEVEL, "B", (struct sy_track){0});
    process->processes = add(sources, "processes", SY_COUNTER_LEVEL, "", (struct sy_track){0});
    process->threads = add(sources, "threads", SY_COUNTER_LEVEL, "", (struct sy_track){0});
    process->reads = process->writes = SY_NONE;
    if (read_disks(sources, process->pid, &reads, &writes)) {
        struct sy_track track = {.rate_max = DISK_MAX};
        process->reads = add(sources, "disk_read", SY_COUNTER_RATE, "B/s", track);
        process->writes = add(sources, "disk_write", SY_COUNTER_RATE, "B/s", track);
    } else {
        sy_add_gap(sources, "process",
                   sy_text(sources, "what process %u reads and writes", process->pid),
                   "permission denied", "be its owner, or CAP_SYS_PTRACE");
    }
}

static int process_open(struct sy_sources *sources, void **ret_state) {
    struct life life;
    uint32_t pid = sources->options.process;
    *ret_state = NULL;
    if (!pid) {
        return 0;
    }
    struct process *process = create(sources, pid);
    if (!process) {
        return -ENOMEM;
    }
    *ret_state = process;
    if (!process->folder || !read_life(sources, pid, &life)) {
        sy_add_gap(sources, "process", sy_text(sources, "process %u", pid),
                   "there is no such process", "");
        return 0;
    }
    process->born = life.born;
    add_all(sources, process);
    return 0;
}

/* --- reading ------------------------------------------------------------------------------------
 */
static void tally(struct sy_sources *sources, struct process *process) {
    uint64_t ticks = 0, pages = 0, threads = 0, reads = 0, writes = 0;
    uint32_t alive = 0;
    bool disks = process->reads != SY_NONE;
    for (uint32_t i = 0; i < process->member_count; i++) {
        struct life life;
        if (read_life(sources, process->members[i], &life)) {
            ticks += life.ticks;
            pages += life.pages;
            threads += life.threads;
            alive++;
            disks = disks && read_disks(sources, process->members[i], &reads, &writes);
        }
    }
    sy_put_total(sources, process->cpu, ticks);
    sy_put_level(sources, process->memory, (double)pages * (double)sysconf(_SC_PAGESIZE), 0);
    sy_put_level(sources, process->processes, alive, 0);
    sy_put_level(sources, process->threads, (double)threads, 0);
    if (disks) {
        sy_put_total(sources, process->reads, reads);
        sy_put_total(sources, process->writes, writes);
    }
}

static void process_read(struct sy_sources *sources, void *state) {
    struct process *process = state;
    struct life life;
    if (!process || !process->born || !sy_is_due(sources, &process->ns, SY_SELDOMER_NS)) {
        return;
    }
    if (!read_life(sources, process->pid, &life) || life.born != process->born) {
        sy_forget_total(sources, process->cpu);
        return;
    }
    if (sy_is_due(sources, &process->scanned_ns, SY_SECOND_NS / 2)) {
        scan(sources, process);
    }
    tally(sources, process);
}

static void process_close(struct sy_sources *sources, void *state) {
    struct process *process = state;
    (void)sources;
    if (process && process->folder) {
        closedir(process->folder);
    }
}

const struct sy_provider sy_provider_process = {
    .name = "process", .open = process_open, .read = process_read, .close = process_close};
