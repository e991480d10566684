/* SPDX-License-Identifier: Apache-2.0
 *
 * flow_vs_simgrid: the claim "at least 10 times SimGrid's event rate on the same flow sharing".
 *
 * In: optionally the number of transfers. Out: JSON. 11 hosts, each behind its link, two shared
 * trunks, 20 chains: whenever a transfer ends, the next of its chain starts. Both players run in
 * turn, each run in a process of its own (SimGrid's engine is a singleton), and are compared by
 * medians of processor time over the repeats. An event is the end of one transfer and the start of
 * the next.
 *
 * A closed loop is chaotic: a start moved by 1e-13 of itself moves ends by per cents some thousand
 * events later. So end times are compared up to the moment where our own run, so disturbed, is off
 * by FORESEEABLE; after that only the makespan.
 */
#include "base/base.h"
#include "scenario.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HOSTS = 11, CHAINS = 20, REPEATS = 5 };
#define FORESEEABLE 1e-6

typedef int player(const struct scenario *, double *, double *);

/* end_s and cpu_ns lie in shared memory. */
static int play_in_child(player *play, const struct scenario *scenario, double *end_s,
                         double *cpu_ns) {
    pid_t child = fork();
    if (child == 0) {
        _exit(play(scenario, end_s, cpu_ns) ? 1 : 0);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        return -errno;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

static void *shared(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static double last_end(const double *end_s, uint32_t count) {
    double last_s = 0;
    for (uint32_t t = 0; t < count; t++) {
        last_s = end_s[t] > last_s ? end_s[t] : last_s;
    }
    return last_s;
}

/* Until when a disturbance of the last digits has not grown past FORESEEABLE; 0 if out of memory.
 */
static double horizon(struct scenario *scenario, const double *end_s) {
    uint32_t count = scenario->transfer_count;
    double *disturbed_s = calloc(count, sizeof(double)), cpu_ns;
    double until_s = last_end(end_s, count), start_s = scenario->chains[1].start_s;
    scenario->chains[1].start_s = start_s * (1 + 1e-13);
    if (!disturbed_s || scenario_play_flow(scenario, disturbed_s, &cpu_ns)) {
        until_s = 0;
    }
    scenario->chains[1].start_s = start_s;
    for (uint32_t t = 0; t < count && until_s > 0; t++) {
        if (fabs(disturbed_s[t] - end_s[t]) > FORESEEABLE * end_s[t] && end_s[t] < until_s) {
            until_s = end_s[t];
        }
    }
    free(disturbed_s);
    return until_s;
}

static void print_rate(const char *name, double events, const double *sorted_ns) {
    printf("  \"%s\": {\"events_per_s\": %.0f, \"events_per_s_min\": %.0f, "
           "\"events_per_s_max\": %.0f},\n",
           name, 1e9 * events / sorted_ns[REPEATS / 2], 1e9 * events / sorted_ns[REPEATS - 1],
           1e9 * events / sorted_ns[0]);
}

static void print_differences(struct scenario *scenario, const double *ours_s,
                              const double *simgrid_s) {
    uint32_t count = scenario->transfer_count, compared = 0;
    double until_s = horizon(scenario, ours_s), worst = 0;
    for (uint32_t t = 0; t < count; t++) {
        if (ours_s[t] < until_s) {
            worst = fmax(worst, fabs(ours_s[t] - simgrid_s[t]) / simgrid_s[t]);
            compared++;
        }
    }
    double last_s = last_end(simgrid_s, count);
    printf("  \"compared_events\": %u, \"worst_relative_difference\": %.3g, "
           "\"makespan_relative_difference\": %.3g}\n",
           compared, worst, fabs(last_end(ours_s, count) - last_s) / last_s);
}

static int measure(struct scenario *scenario, uint64_t seed) {
    uint32_t count = scenario->transfer_count;
    double *ours_s = shared(count * sizeof(double)), *simgrid_s = shared(count * sizeof(double));
    double *cpu_ns = shared(sizeof(double));
    if (!ours_s || !simgrid_s || !cpu_ns) {
        return -ENOMEM;
    }
    double ours_ns[REPEATS], simgrid_ns[REPEATS], ratios[REPEATS];
    for (uint32_t i = 0; i < REPEATS; i++) {
        int error = play_in_child(scenario_play_flow, scenario, ours_s, cpu_ns);
        ours_ns[i] = *cpu_ns;
        error = error ? error : play_in_child(scenario_play_simgrid, scenario, simgrid_s, cpu_ns);
        simgrid_ns[i] = *cpu_ns;
        if (error) {
            return error;
        }
        ratios[i] = simgrid_ns[i] / ours_ns[i];
    }
    double ratio = sy_quantile(ratios, REPEATS, 0.5); /* these sort */
    (void)sy_quantile(ours_ns, REPEATS, 0.5);
    (void)sy_quantile(simgrid_ns, REPEATS, 0.5);
    printf("{\"schema\": \"symph-bench-1\", \"bench\": \"flow_vs_simgrid\", \"seed\": %llu,\n"
           "  \"hosts\": %d, \"links\": %u, \"concurrent\": %d, \"events\": %u, \"repeats\": %d,\n",
           (unsigned long long)seed, HOSTS, scenario->link_count, CHAINS, count, REPEATS);
    print_rate("symph", count, ours_ns);
    print_rate("simgrid", count, simgrid_ns);
    printf("  \"ratio\": %.1f, \"ratio_min\": %.1f, \"ratio_max\": %.1f, \"target\": 10,\n", ratio,
           ratios[0], ratios[REPEATS - 1]);
    print_differences(scenario, ours_s, simgrid_s);
    return 0;
}

int main(int argc, char **argv) {
    const uint64_t seed = 1;
    unsigned long transfers = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
    if (transfers < CHAINS || transfers > 10000000) {
        fprintf(stderr, "usage: flow_vs_simgrid [TRANSFERS], %d to 10000000\n", CHAINS);
        return 2;
    }
    struct scenario *scenario =
        scenario_closed_loop(seed, HOSTS, CHAINS, (uint32_t)transfers / CHAINS);
    int error = scenario ? measure(scenario, seed) : -ENOMEM;
    scenario_destroy(scenario);
    if (error) {
        fprintf(stderr, "flow_vs_simgrid: a player failed (%d)\n", error);
    }
    return error ? EXIT_FAILURE : EXIT_SUCCESS;
}
