/* SPDX-License-Identifier: Apache-2.0
 *
 * Claim: a graph of 10^6 tasks and 2 * 10^6 edges loads and validates from .dag lines in under 3 s,
 * from JSON in under 12 s, each with a peak memory under 1 GB.
 *
 * Usage: graph_load [tasks] [directory]. Writes both files into a temporary directory, reads each
 * in a process of its own, and prints times and peak memory as JSON.
 */
#include "base/json.h"
#include "graph/graph.h"
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SEED 1

struct result {
    double seconds, cpu_s; /* a busy machine stretches the first */
    double peak_bytes;
    uint32_t tasks, edges;
    int code;
};

/* Two predecessors among the last thousand tasks. */
static void predecessors(uint32_t task, uint32_t *ret_first, uint32_t *ret_second) {
    struct sy_rng rng = sy_rng_make(SEED, 0, task);
    uint32_t window = task < 1000 ? task : 1000;
    *ret_first = task - 1 - sy_rng_below(&rng, window);
    *ret_second = task - 1 - sy_rng_below(&rng, window);
}

static int write_dag(const char *path, uint32_t tasks) {
    FILE *file = fopen(path, "w");
    if (!file) {
        return -1;
    }
    fprintf(file, "J bench %u %u\n", tasks, 2 * (tasks - 1));
    for (uint32_t t = 0; t < tasks; t++) {
        fprintf(file, "T %u type%u %.6g 1 0\n", t, t % 20, 0.001 * (t % 1000 + 1));
    }
    for (uint32_t t = 1; t < tasks; t++) {
        uint32_t first, second;
        predecessors(t, &first, &second);
        fprintf(file, "E %u %u %u\nE %u %u %u\n", first, t, t * 16, second, t, t * 8 + 8);
    }
    return fclose(file);
}

static int write_json(const char *path, uint32_t tasks) {
    FILE *file = fopen(path, "w");
    if (!file) {
        return -1;
    }
    fprintf(file, "{\n  \"schema\": \"symph-graph-1\",\n  \"name\": \"bench\",\n"
                  "  \"kernels\": [{\"name\": \"k\", \"variants\": {\"cpu\": {\"ns_per_work\": 1}, "
                  "\"gpu\": {\"ns_per_work\": 0.1}}}],\n  \"data\": [\n");
    for (uint32_t t = 0; t < tasks; t++) {
        fprintf(file, "    {\"name\": \"x%u\", \"bytes\": %u}%s\n", t, t * 8,
                t + 1 < tasks ? "," : "");
    }
    fprintf(file, "  ],\n  \"tasks\": [\n");
    for (uint32_t t = 0; t < tasks; t++) {
        fprintf(file, "    {\"name\": \"t%u\", \"kernel\": \"k\", \"work\": %.6g, ", t,
                1e6 + t * 0.25);
        if (t) {
            uint32_t first, second;
            predecessors(t, &first, &second);
            fprintf(file, "\"reads\": [\"x%u\"], \"after\": [\"t%u\"], ", first, second);
        }
        fprintf(file, "\"writes\": [%u]}%s\n", t, t + 1 < tasks ? "," : "");
    }
    fprintf(file, "  ]\n}\n");
    return fclose(file);
}

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static struct result load(const char *path) {
    struct sy_graph_list list = {0};
    struct sy_error error = {0};
    double start = now_s();
    struct result result = {.code = sy_graph_read_file(path, NULL, &list, &error)};
    result.seconds = now_s() - start;
    if (result.code) {
        fprintf(stderr, "%s:%u:%u: %s\n", path, error.line, error.column, error.message);
        return result;
    }
    result.tasks = sy_graph_task_count(list.graphs[0]);
    result.edges = sy_graph_edge_count(list.graphs[0]);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    result.cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                   1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    result.peak_bytes = 1024.0 * (double)usage.ru_maxrss;
    sy_graph_list_finish(&list);
    return result;
}

/* In a child, so that each format has a peak of its own. */
static struct result load_apart(const char *path) {
    struct result result = {.code = -1};
    int ends[2];
    if (pipe(ends) != 0) {
        return result;
    }
    pid_t child = fork();
    if (child == 0) {
        result = load(path);
        ssize_t put = write(ends[1], &result, sizeof result);
        _exit(put == (ssize_t)sizeof result ? 0 : 1);
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &result, sizeof result) != (ssize_t)sizeof result) {
        result.code = -1;
    }
    close(ends[0]);
    if (child > 0) {
        waitpid(child, NULL, 0);
    }
    return result;
}

static void report(struct sy_json_writer *writer, const char *format, const struct result *result,
                   double limit_s) {
    sy_json_print(writer,
                  "%s: {tasks: %u, edges: %u, seconds: %g, cpu_s: %g, limit_s: %g, peak_bytes: %g, "
                  "limit_bytes: %g, holds: %d}",
                  format, result->tasks, result->edges, result->seconds, result->cpu_s, limit_s,
                  result->peak_bytes, 1e9,
                  !result->code && result->seconds < limit_s && result->peak_bytes < 1e9);
}

int main(int argc, char **argv) {
    uint32_t tasks = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;
    const char *parent = argc > 2 ? argv[2] : "/tmp";
    char directory[512], dag[600], json[600];
    snprintf(directory, sizeof directory, "%s/symph-bench-XXXXXX", parent);
    if (tasks < 2 || !mkdtemp(directory)) {
        fprintf(stderr, "usage: graph_load [tasks, at least 2] [directory for temporary files]\n");
        return 2;
    }
    snprintf(dag, sizeof dag, "%s/graph.dag", directory);
    snprintf(json, sizeof json, "%s/graph.json", directory);
    bool is_written = write_dag(dag, tasks) == 0 && write_json(json, tasks) == 0;
    struct result results[2] = {{.code = -1}, {.code = -1}};
    if (is_written) {
        results[0] = load_apart(dag);
        results[1] = load_apart(json);
    }
    unlink(dag);
    unlink(json);
    rmdir(directory);
    struct sy_json_writer writer = {0};
    sy_json_print(&writer, "{bench: %s, version: %s, seed: %u", "graph_load", sy_version(), SEED);
    report(&writer, "dag", &results[0], 3);
    report(&writer, "json", &results[1], 12);
    sy_json_close(&writer, '}');
    fputs(writer.buffer.failed ? "" : writer.buffer.text, stdout);
    sy_buffer_finish(&writer.buffer);
    return results[0].code || results[1].code ? 1 : 0;
}
