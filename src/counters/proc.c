/* SPDX-License-Identifier: Apache-2.0
 *
 * What /proc says of the machine: processors, memory, paging, load, network, disks.
 *
 * In: /proc/stat and its neighbours. Out: how busy each CPU is, bytes in use, rates. The files cost
 * 5 to 40 us each and count in ticks of 10 ms: they are read a few times a second, not each time.
 */
#include "counters/provider.h"
#include <errno.h>
#include <string.h>

#define DISK_MAX      64
#define SECTOR_BYTES  512.0
#define VMSTAT_COUNT  5
#define TICK_FIELDS   8    /* user nice system idle iowait irq softirq steal */
#define RATE_MAX_LINK 1e12 /* bytes per s; no machine has faster disks or networks */

struct ticks {
    uint64_t busy, steal, total;
    bool valid;
};

struct proc {
    struct sy_file stat, meminfo, vmstat, loadavg, net, disks;
    double stat_ns, meminfo_ns, vmstat_ns, loadavg_ns, net_ns, disks_ns;
    uint32_t *busy, *steal; /* counter of each CPU; SY_NONE */
    struct ticks *last;     /* of each CPU */
    uint32_t cpu_count;     /* highest CPU, and one */
    double last_stat_ns;
    uint32_t switches, running, memory_used, swap_used, load;
    uint32_t events[VMSTAT_COUNT];
    uint32_t net_in, net_out, disk_read, disk_write;
    const char *disk_names[DISK_MAX];
    uint32_t disk_count;
};

static const struct {
    const char *key, *event;
} vmstat_events[VMSTAT_COUNT] = {{"pgfault", "page_faults"},
                                 {"pgmajfault", "page_faults_major"},
                                 {"pswpin", "swap_in_pages"},
                                 {"pswpout", "swap_out_pages"},
                                 {"numa_miss", "numa_miss_pages"}};

static uint32_t add(struct sy_sources *sources, const char *event, enum sy_counter_kind kind,
                    const char *unit, double noise_ratio, const struct sy_track *track) {
    struct sy_counter counter = {.name = sy_text(sources, "proc.%s", event),
                                 .source = "proc",
                                 .event = event,
                                 .kind = kind,
                                 .unit = unit,
                                 .scope = SY_SCOPE_MACHINE,
                                 .noise_ratio = noise_ratio,
                                 .pmu = SY_PMU_NONE};
    return sy_add_counter(sources, &counter, track);
}

static uint32_t add_cpu(struct sy_sources *sources, uint32_t cpu, const char *event) {
    struct sy_counter counter = {.name = sy_text(sources, "proc.cpu%u.%s", cpu, event),
                                 .source = "proc",
                                 .event = event,
                                 .kind = SY_COUNTER_SHARE,
                                 .unit = "",
                                 .scope = SY_SCOPE_CPU,
                                 .scope_index = cpu,
                                 .noise_ratio = 0.05,
                                 .pmu = SY_PMU_NONE};
    return sy_add_counter(sources, &counter, NULL);
}

/* --- /proc/stat --------------------------------------------------------------------------------
 */
/* One line "cpu3 ...", of which *at points behind the number. */
static struct ticks scan_ticks(const char **at) {
    uint64_t fields[TICK_FIELDS] = {0};
    struct ticks ticks = {.valid = true};
    for (uint32_t i = 0; i < TICK_FIELDS && ticks.valid; i++) {
        ticks.valid = sy_scan_u64(at, &fields[i]) || i >= 5; /* old kernels have fewer */
        ticks.total += fields[i];
    }
    ticks.steal = fields[7];
    ticks.busy = ticks.total - fields[3] - fields[4] - fields[7];
    return ticks;
}

/* Calls each for every "cpuN" line. */
static void each_cpu(struct sy_sources *sources, struct proc *proc,
                     void (*each)(struct sy_sources *, struct proc *, uint32_t, struct ticks)) {
    for (const char *at = sources->buffer; at && strncmp(at, "cpu", 3) == 0;) {
        uint64_t cpu;
        at += 3;
        if (*at != ' ' && sy_scan_u64(&at, &cpu) && cpu < SY_CPU_MAX) {
            each(sources, proc, (uint32_t)cpu, scan_ticks(&at));
        }
        at = strchr(at, '\n');
        at += at != NULL;
    }
}

static void note_cpu(struct sy_sources *sources, struct proc *proc, uint32_t cpu,
                     struct ticks ticks) {
    (void)sources;
    (void)ticks;
    proc->cpu_count = cpu + 1 > proc->cpu_count ? cpu + 1 : proc->cpu_count;
}

static void make_cpu(struct sy_sources *sources, struct proc *proc, uint32_t cpu,
                     struct ticks ticks) {
    if (cpu < proc->cpu_count && ticks.valid) {
        proc->busy[cpu] = add_cpu(sources, cpu, "busy");
        proc->steal[cpu] = add_cpu(sources, cpu, "steal");
    }
}

static void open_stat(struct sy_sources *sources, struct proc *proc) {
    int code = sy_file_open(sources, "/proc/stat", &proc->stat);
    if (code) {
        sy_add_gap(sources, "proc", "how busy each CPU is (/proc/stat)",
                   code == -ENOENT ? "/proc is not mounted" : sy_reason(code),
                   "mount -t proc proc /proc");
        return;
    }
    each_cpu(sources, proc, note_cpu);
    proc->busy = sy_memory(sources, proc->cpu_count, sizeof *proc->busy);
    proc->steal = sy_memory(sources, proc->cpu_count, sizeof *proc->steal);
    proc->last = sy_memory(sources, proc->cpu_count, sizeof *proc->last);
    if (!proc->busy || !proc->steal || !proc->last) {
        proc->cpu_count = 0;
        return;
    }
    for (uint32_t i = 0; i < proc->cpu_count; i++) {
        proc->busy[i] = proc->steal[i] = SY_NONE;
    }
    each_cpu(sources, proc, make_cpu);
    proc->switches = add(sources, "context_switches", SY_COUNTER_RATE, "/s", 0.01, NULL);
    proc->running = add(sources, "running_tasks", SY_COUNTER_LEVEL, "", 0.3, NULL);
}

/* A tick more or less is all that is known of a short window. */
static void put_cpu(struct sy_sources *sources, struct proc *proc, uint32_t cpu,
                    struct ticks ticks) {
    if (cpu >= proc->cpu_count) {
        return; /* it came after us */
    }
    struct ticks last = proc->last[cpu];
    proc->last[cpu] = ticks;
    if (!last.valid || !ticks.valid || ticks.total <= last.total || ticks.busy < last.busy ||
        ticks.steal < last.steal || !(proc->last_stat_ns < sources->now_ns)) {
        return;
    }
    double total = (double)(ticks.total - last.total), busy = (double)(ticks.busy - last.busy);
    sy_put_rate(sources, proc->busy[cpu], busy / total, proc->last_stat_ns, 1,
                0.5 / fmax(busy, 0.5));
    double steal = (double)(ticks.steal - last.steal);
    sy_put_rate(sources, proc->steal[cpu], steal / total, proc->last_stat_ns, 1,
                0.5 / fmax(steal, 0.5));
}

static void read_stat(struct sy_sources *sources, struct proc *proc) {
    uint64_t value;
    if (sy_file_read(sources, &proc->stat) <= 0) {
        return;
    }
    each_cpu(sources, proc, put_cpu);
    proc->last_stat_ns = sources->now_ns;
    if (sy_scan_key(sources->buffer, "ctxt", &value)) {
        sy_put_total(sources, proc->switches, value);
    }
    if (sy_scan_key(sources->buffer, "procs_running", &value)) {
        sy_put_level(sources, proc->running, (double)value, 0);
    }
}

/* --- memory, paging, load -----------------------------------------------------------------------
 */
static void open_memory(struct sy_sources *sources, struct proc *proc) {
    uint64_t value;
    if (sy_file_open(sources, "/proc/meminfo", &proc->meminfo) == 0 &&
        sy_scan_key(sources->buffer, "MemAvailable", &value)) {
        proc->memory_used = add(sources, "memory_used", SY_COUNTER_SHARE, "", 0.01, NULL);
        if (sy_scan_key(sources->buffer, "SwapTotal", &value) && value > 0) {
            proc->swap_used = add(sources, "swap_used", SY_COUNTER_SHARE, "", 0.01, NULL);
        }
    }
    if (sy_file_open(sources, "/proc/vmstat", &proc->vmstat) == 0) {
        for (uint32_t i = 0; i < VMSTAT_COUNT; i++) {
            if (sy_scan_key(sources->buffer, vmstat_events[i].key, &value)) {
                proc->events[i] =
                    add(sources, vmstat_events[i].event, SY_COUNTER_RATE, "/s", 0.01, NULL);
            }
        }
    }
    if (sy_file_open(sources, "/proc/loadavg", &proc->loadavg) == 0) {
        proc->load = add(sources, "load", SY_COUNTER_LEVEL, "", 0.3, NULL);
    }
}

static void put_share(struct sy_sources *sources, uint32_t counter, const char *all,
                      const char *left) {
    uint64_t total, available;
    if (sy_scan_key(sources->buffer, all, &total) && total > 0 &&
        sy_scan_key(sources->buffer, left, &available)) {
        sy_put_level(sources, counter, 1 - (double)available / (double)total, 0);
    }
}

static void read_meminfo(struct sy_sources *sources, struct proc *proc) {
    if (sy_file_read(sources, &proc->meminfo) > 0) {
        put_share(sources, proc->memory_used, "MemTotal", "MemAvailable");
        put_share(sources, proc->swap_used, "SwapTotal", "SwapFree");
    }
}

static void read_vmstat(struct sy_sources *sources, struct proc *proc) {
    uint64_t value;
    if (sy_file_read(sources, &proc->vmstat) <= 0) {
        return;
    }
    for (uint32_t i = 0; i < VMSTAT_COUNT; i++) {
        if (sy_scan_key(sources->buffer, vmstat_events[i].key, &value)) {
            sy_put_total(sources, proc->events[i], value);
        }
    }
}

static void read_loadavg(struct sy_sources *sources, struct proc *proc) {
    double load;
    if (sy_file_read(sources, &proc->loadavg) > 0 &&
        sy_parse_double(sources->buffer, strcspn(sources->buffer, " "), &load)) {
        sy_put_level(sources, proc->load, load, 0);
    }
}

/* --- network and disks: sums over the devices ---------------------------------------------------
 */
/* The nth of the numbers at text; they are separated by blanks. */
static uint64_t field(const char *text, uint32_t n) {
    uint64_t value = 0;
    for (uint32_t i = 0; i <= n; i++) {
        if (!sy_scan_u64(&text, &value)) {
            return 0;
        }
    }
    return value;
}

static void open_devices(struct sy_sources *sources, struct proc *proc) {
    const struct sy_track bytes = {.rate_max = RATE_MAX_LINK};
    const struct sy_track sectors = {.scale = SECTOR_BYTES, .rate_max = RATE_MAX_LINK};
    if (sy_file_open(sources, "/proc/net/dev", &proc->net) == 0) {
        proc->net_in = add(sources, "net_in", SY_COUNTER_RATE, "B/s", 0.01, &bytes);
        proc->net_out = add(sources, "net_out", SY_COUNTER_RATE, "B/s", 0.01, &bytes);
    }
    const char *const *names;
    uint32_t count = sy_folder_names(sources, "/sys/block", "", &names);
    for (uint32_t i = 0; i < count && proc->disk_count < DISK_MAX; i++) {
        char path[SY_PATH_MAX];
        snprintf(path, sizeof path, "/sys/block/%s/device", names[i]);
        if (sy_file_exists(sources, path)) { /* not a loop, a RAM disk or a mapping of others */
            proc->disk_names[proc->disk_count++] = names[i];
        }
    }
    if (proc->disk_count && sy_file_open(sources, "/proc/diskstats", &proc->disks) == 0) {
        proc->disk_read = add(sources, "disk_read", SY_COUNTER_RATE, "B/s", 0.01, &sectors);
        proc->disk_write = add(sources, "disk_write", SY_COUNTER_RATE, "B/s", 0.01, &sectors);
    }
}

/* "  eth0: bytes packets ... (8 fields) bytes packets ..."; lo only copies within the machine. */
static void read_net(struct sy_sources *sources, struct proc *proc) {
    uint64_t in = 0, out = 0;
    if (sy_file_read(sources, &proc->net) <= 0) {
        return;
    }
    for (const char *line = sources->buffer; line && *line;) {
        const char *name = line + strspn(line, " "), *end = strchr(name, '\n');
        const char *colon = memchr(name, ':', end ? (size_t)(end - name) : strlen(name));
        if (colon && strncmp(name, "lo:", 3) != 0) {
            in += field(colon + 1, 0);
            out += field(colon + 1, 8);
        }
        line = end ? end + 1 : NULL;
    }
    sy_put_total(sources, proc->net_in, in);
    sy_put_total(sources, proc->net_out, out);
}

static bool is_disk(const struct proc *proc, const char *name, size_t length) {
    for (uint32_t i = 0; i < proc->disk_count; i++) {
        if (strlen(proc->disk_names[i]) == length &&
            memcmp(proc->disk_names[i], name, length) == 0) {
            return true;
        }
    }
    return false;
}

/* "  8  0 sda reads merged sectors ms writes merged sectors ms ..." */
static void read_disks(struct sy_sources *sources, struct proc *proc) {
    uint64_t in = 0, out = 0, number;
    if (sy_file_read(sources, &proc->disks) <= 0) {
        return;
    }
    for (const char *line = sources->buffer; line && *line;) {
        const char *at = line;
        if (sy_scan_u64(&at, &number) && sy_scan_u64(&at, &number)) {
            at += strspn(at, " ");
            size_t length = strcspn(at, " \n");
            if (is_disk(proc, at, length)) {
                in += field(at + length, 2);
                out += field(at + length, 6);
            }
        }
        line = strchr(line, '\n');
        line += line != NULL;
    }
    sy_put_total(sources, proc->disk_read, in);
    sy_put_total(sources, proc->disk_write, out);
}

/* --- the provider -------------------------------------------------------------------------------
 */
static int proc_open(struct sy_sources *sources, void **ret_state) {
    struct proc *proc = sy_memory(sources, 1, sizeof *proc);
    if (!proc) {
        return -ENOMEM;
    }
    proc->stat_ns = proc->meminfo_ns = proc->vmstat_ns = proc->loadavg_ns = NAN;
    proc->net_ns = proc->disks_ns = proc->last_stat_ns = NAN;
    proc->switches = proc->running = proc->memory_used = proc->swap_used = proc->load = SY_NONE;
    proc->net_in = proc->net_out = proc->disk_read = proc->disk_write = SY_NONE;
    for (uint32_t i = 0; i < VMSTAT_COUNT; i++) {
        proc->events[i] = SY_NONE;
    }
    open_stat(sources, proc);
    open_memory(sources, proc);
    open_devices(sources, proc);
    *ret_state = proc;
    return 0;
}

static void proc_read(struct sy_sources *sources, void *state) {
    struct proc *proc = state;
    if (sy_is_due(sources, &proc->stat_ns, SY_SELDOM_NS)) {
        read_stat(sources, proc);
    }
    if (sy_is_due(sources, &proc->meminfo_ns, SY_SELDOM_NS)) {
        read_meminfo(sources, proc);
    }
    if (sy_is_due(sources, &proc->vmstat_ns, SY_SELDOMER_NS)) {
        read_vmstat(sources, proc);
    }
    if (sy_is_due(sources, &proc->loadavg_ns, SY_SECOND_NS)) {
        read_loadavg(sources, proc);
    }
    if (sy_is_due(sources, &proc->net_ns, SY_SELDOM_NS)) {
        read_net(sources, proc);
    }
    if (sy_is_due(sources, &proc->disks_ns, SY_SELDOM_NS)) {
        read_disks(sources, proc);
    }
}

static void proc_close(struct sy_sources *sources, void *state) {
    struct proc *proc = state;
    struct sy_file *files[] = {&proc->stat,    &proc->meminfo, &proc->vmstat,
                               &proc->loadavg, &proc->net,     &proc->disks};
    (void)sources;
    for (size_t i = 0; i < SY_COUNT(files); i++) {
        sy_file_close(files[i]);
    }
}

const struct sy_provider sy_provider_proc = {
    .name = "proc", .open = proc_open, .read = proc_read, .close = proc_close};
