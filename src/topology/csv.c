/* SPDX-License-Identifier: Apache-2.0
 *
 * csv: a recorded machine, X.bus.csv with measured bandwidth and latency of every pair of memories;
 * X.kernels.csv beside it holds execution times, which are not this room's business.
 *
 * In: "# 12 CPU cores, 3 CUDA GPUs; ..." and lines from,to,bytes_per_us,latency_us. Out: a machine
 * whose routes are exactly as fast as measured. Memory 0 is the host, memory i is GPU i-1. What the
 * host memory can carry is not measured by such files: unless the first line or the caller says it,
 * nobody shares it.
 */
#include "base/csv.h"
#include "topology/topology.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BUS     ".bus.csv"
#define KERNELS ".kernels.csv"

struct pair {
    bool seen;
    double bytes_per_s, latency_ns;
};

struct bus {
    struct sy_csv csv;
    uint32_t core_count, gpu_count, node_count;
    double dram_bytes_per_s; /* 0: not known */
    struct pair *pairs;      /* [from * node_count + to] */
};

/* The number in front of a word: "12 CPU cores", "3 CUDA GPUs". */
static bool number_before(const char *line, const char *word, uint64_t *ret_number) {
    const char *at = strstr(line, word);
    while (at && at > line && !isdigit((unsigned char)at[-1])) {
        if (at[-1] == ',' || at[-1] == ';' || at[-1] == '#') {
            return false;
        }
        at--;
    }
    const char *end = at;
    while (at && at > line && isdigit((unsigned char)at[-1])) {
        at--;
    }
    return at && sy_parse_u64(at, (size_t)(end - at), ret_number);
}

static int fail_counts(struct bus *bus, const char *what) {
    bus->csv.line = bus->csv.column = 1;
    sy_csv_fail(&bus->csv, "%s", what);
    return sy_hint(bus->csv.error,
                   "the first line must be: # 12 CPU cores, 3 CUDA GPUs; optionally "
                   "followed by the bandwidth of host memory: , dram 60GB/s");
}

/* "dram 60GB/s", where the first line says so and the caller knew nothing better. */
static int read_dram(struct bus *bus, const char *line) {
    const char *at = strstr(line, "dram ");
    if (!at || bus->dram_bytes_per_s > 0) {
        return 0;
    }
    at += strlen("dram ");
    bool ok = sy_parse_bandwidth(at, strcspn(at, " ,;\r"), &bus->dram_bytes_per_s) &&
              bus->dram_bytes_per_s > 0;
    return ok ? 0 : fail_counts(bus, "behind dram there is no bandwidth");
}

static int read_counts(struct bus *bus, const char *text, size_t length) {
    char line[256];
    const char *newline = memchr(text, '\n', length);
    size_t size = newline ? (size_t)(newline - text) : length;
    snprintf(line, sizeof line, "%.*s", (int)(size < 255 ? size : 255), text);
    uint64_t cores, gpus;
    if (line[0] != '#' || !number_before(line, "CPU", &cores) ||
        !number_before(line, "GPU", &gpus)) {
        return fail_counts(bus, "the number of cores and GPUs is missing");
    }
    if (gpus >= SY_MEMORY_MAX || cores > SY_DEVICE_MAX - gpus) {
        return fail_counts(bus, "more than 4096 cores or 63 GPUs");
    }
    if (cores + gpus == 0) {
        return fail_counts(bus, "the machine has no device");
    }
    bus->core_count = (uint32_t)cores;
    bus->gpu_count = (uint32_t)gpus;
    bus->node_count = bus->gpu_count + 1;
    return read_dram(bus, line);
}

static int read_node(struct bus *bus, const char *what, uint32_t *ret_node) {
    uint64_t node;
    int code = sy_csv_u64(&bus->csv, what, &node);
    if (!code && node >= bus->node_count) {
        code = sy_csv_fail(&bus->csv, "there is no memory %llu: 0 is the host, then %u GPUs",
                           (unsigned long long)node, bus->gpu_count);
    }
    if (!code) {
        *ret_node = (uint32_t)node;
    }
    return code;
}

static int read_pair(struct bus *bus) {
    struct sy_csv *csv = &bus->csv;
    uint32_t from, to;
    double bytes_per_us, latency_us;
    int code = read_node(bus, "from", &from);
    code = code ? code : read_node(bus, "to", &to);
    if (code) {
        return code;
    }
    struct pair *pair = &bus->pairs[from * bus->node_count + to];
    if (from == to || pair->seen) {
        return sy_csv_fail(
            csv, from == to ? "a copy from %u to itself is not possible" : "%u to %u appears twice",
            from, to);
    }
    code = sy_csv_number(csv, "bytes_per_us", 1e-6, 1e12, &bytes_per_us);
    code = code ? code : sy_csv_number(csv, "latency_us", 0, 1e12, &latency_us);
    code = code ? code : sy_csv_end_line(csv);
    if (!code) {
        *pair = (struct pair){
            .seen = true, .bytes_per_s = bytes_per_us * 1e6, .latency_ns = latency_us * 1e3};
    }
    return code;
}

static int read_pairs(struct bus *bus) {
    static const char *const header[] = {"from", "to", "bytes_per_us", "latency_us"};
    int code = sy_csv_header(&bus->csv, header, SY_COUNT(header));
    while (!code && sy_csv_next_line(&bus->csv)) {
        code = read_pair(bus);
    }
    for (uint32_t gpu = 1; !code && gpu < bus->node_count; gpu++) {
        if (!bus->pairs[gpu].seen || !bus->pairs[gpu * bus->node_count].seen) {
            code = sy_csv_fail(&bus->csv, "host and GPU %u: a direction is missing", gpu - 1);
            sy_hint(bus->csv.error, "expected lines 0,%u,... and %u,0,...", gpu, gpu);
        }
    }
    return code;
}

/* A link carries whatever was seen on it; one copy from a peer may be faster than from the host. */
static double link_bytes_per_s(const struct bus *bus, uint32_t node, bool down) {
    double bytes_per_s = 0;
    for (uint32_t other = 0; other < bus->node_count; other++) {
        const struct pair *pair = down ? &bus->pairs[other * bus->node_count + node]
                                       : &bus->pairs[node * bus->node_count + other];
        bytes_per_s = pair->seen ? fmax(bytes_per_s, pair->bytes_per_s) : bytes_per_s;
    }
    return bytes_per_s;
}

static void add_cores(const struct bus *bus, struct sy_builder *builder) {
    for (uint32_t i = 0; i < bus->core_count; i++) {
        char name[32];
        snprintf(name, sizeof name, "cpu%u", i);
        struct sy_device device = {.name = name,
                                   .kind = SY_CPU,
                                   .group = SY_NONE,
                                   .board = SY_NONE,
                                   .speed_ratio = 1,
                                   .busy_watts = sy_default_busy_watts(SY_CPU),
                                   .idle_watts = sy_default_idle_watts(SY_CPU)};
        sy_builder_add_device(builder, &device);
    }
}

static void add_gpus(const struct bus *bus, struct sy_builder *builder) {
    for (uint32_t node = 1; node < bus->node_count; node++) {
        char name[32];
        snprintf(name, sizeof name, "gpu%u", node - 1);
        struct sy_accelerator gpu = {
            .kind = SY_GPU,
            .name = name,
            .bus = SY_NONE,
            .down_bytes_per_s = link_bytes_per_s(bus, node, true),
            .up_bytes_per_s = link_bytes_per_s(bus, node, false),
            .latency_ns = bus->pairs[node].latency_ns,
            .capacity_bytes = INFINITY,
            .speed_ratio = 1,
            .busy_watts = sy_default_busy_watts(SY_GPU),
            .idle_watts = sy_default_idle_watts(SY_GPU),
            .part_count = 1,
        };
        sy_builder_add_accelerator(builder, &gpu);
    }
}

static int build(const struct bus *bus, const char *name, struct sy_machine **ret_machine,
                 struct sy_error *error) {
    struct sy_builder *builder = sy_builder_create(name);
    if (!builder) {
        return sy_out_of_memory(error);
    }
    double dram_bytes_per_s = bus->dram_bytes_per_s;
    if (dram_bytes_per_s > 0) { /* at least what one copy was seen to take */
        dram_bytes_per_s = fmax(dram_bytes_per_s, link_bytes_per_s(bus, 0, true));
        dram_bytes_per_s = fmax(dram_bytes_per_s, link_bytes_per_s(bus, 0, false));
    }
    sy_builder_add_socket(builder, 0, dram_bytes_per_s, INFINITY);
    add_cores(bus, builder);
    add_gpus(bus, builder);
    for (uint32_t i = 0; i < bus->node_count * bus->node_count; i++) {
        if (bus->pairs[i].seen) {
            sy_builder_set_speed(builder, i / bus->node_count, i % bus->node_count,
                                 bus->pairs[i].latency_ns, bus->pairs[i].bytes_per_s);
        }
    }
    int code = sy_builder_finish(builder, ret_machine, error);
    sy_builder_destroy(builder);
    return code;
}

int sy_machine_read_bus_csv(const char *file, const char *name, const char *text, size_t length,
                            double dram_bytes_per_s, struct sy_machine **ret_machine,
                            struct sy_error *error) {
    struct sy_error local;
    struct bus bus = {.dram_bytes_per_s = dram_bytes_per_s};
    error = error ? error : &local;
    sy_csv_init(&bus.csv, file, text, length, error);
    int code = read_counts(&bus, text, length);
    if (code) {
        return code;
    }
    bus.pairs = calloc((size_t)bus.node_count * bus.node_count, sizeof *bus.pairs);
    code = bus.pairs ? read_pairs(&bus) : sy_out_of_memory(error);
    code = code ? code : build(&bus, name, ret_machine, error);
    free(bus.pairs);
    return code;
}

static bool ends_with(const char *path, const char *suffix) {
    size_t length = strlen(path), suffix_length = strlen(suffix);
    return length > suffix_length && strcmp(path + length - suffix_length, suffix) == 0;
}

bool sy_machine_csv_pair(const char *path, struct sy_buffer *ret_bus_path,
                         struct sy_buffer *ret_kernels_path) {
    const char *suffix = ends_with(path, BUS) ? BUS : ends_with(path, KERNELS) ? KERNELS : NULL;
    if (!suffix) {
        return false;
    }
    int stem = (int)(strlen(path) - strlen(suffix));
    sy_buffer_printf(ret_bus_path, "%.*s" BUS, stem, path);
    sy_buffer_printf(ret_kernels_path, "%.*s" KERNELS, stem, path);
    return true;
}
