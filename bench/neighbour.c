/* SPDX-License-Identifier: Apache-2.0
 *
 * A neighbour of known size: copies memory at a known pace, from and to blocks that no cache holds.
 * bench/neighbour.py runs it beside graphs.
 *
 *   neighbour GB_PER_S SECONDS [ON_S OFF_S]     1e9 GB/s: as fast as it goes
 *
 * A copied byte counts as two: one read, one written. With ON_S and OFF_S it works and rests in
 * turns. Ends after SECONDS or at SIGTERM; prints one JSON object: bytes, seconds it worked,
 * seconds in all.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCK_BYTES (256u << 20)
#define CHUNK_BYTES (1u << 20) /* of one copy: what the pace is kept by */

static volatile sig_atomic_t stopped;

static void on_signal(int number) {
    (void)number;
    stopped = 1;
}

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void sleep_until(double at_s) {
    struct timespec at = {.tv_sec = (time_t)at_s};
    at.tv_nsec = (long)((at_s - (double)at.tv_sec) * 1e9);
    while (!stopped && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
    }
}

/* Copies at the pace until then; returns the bytes read and written. */
static double work(char *to, const char *from, double pace_bytes_per_s, double until_s) {
    double start_s = now_s(), bytes = 0;
    for (size_t at = 0; !stopped && now_s() < until_s; at = (at + CHUNK_BYTES) % BLOCK_BYTES) {
        memcpy(to + at, from + at, CHUNK_BYTES);
        bytes += 2.0 * CHUNK_BYTES;
        double due_s = start_s + bytes / pace_bytes_per_s;
        if (due_s > now_s()) {
            sleep_until(due_s < until_s ? due_s : until_s);
        }
    }
    return bytes;
}

int main(int count, char **arguments) {
    if (count != 3 && count != 5) {
        fprintf(stderr, "usage: neighbour GB_PER_S SECONDS [ON_S OFF_S]\n");
        return 2;
    }
    double pace = atof(arguments[1]) * 1e9, seconds = atof(arguments[2]);
    double on_s = count == 5 ? atof(arguments[3]) : seconds;
    double off_s = count == 5 ? atof(arguments[4]) : 0;
    if (!(pace > 0) || !(seconds > 0) || !(on_s > 0) || !(off_s >= 0)) {
        fprintf(stderr, "neighbour: a pace and times above 0 are needed\n");
        return 2;
    }
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    char *from = malloc(BLOCK_BYTES), *to = malloc(BLOCK_BYTES);
    if (!from || !to) {
        fprintf(stderr, "neighbour: no memory\n");
        return 1;
    }
    memset(from, 1, BLOCK_BYTES);
    memset(to, 2, BLOCK_BYTES);
    double start_s = now_s(), end_s = start_s + seconds, bytes = 0, busy_s = 0;
    while (!stopped && now_s() < end_s) {
        double from_s = now_s();
        bytes += work(to, from, pace, from_s + on_s < end_s ? from_s + on_s : end_s);
        busy_s += now_s() - from_s;
        double rest_s = now_s() + off_s;
        sleep_until(rest_s < end_s ? rest_s : end_s);
    }
    printf("{\"bytes\": %.0f, \"busy_s\": %.6f, \"seconds\": %.6f}\n", bytes, busy_s,
           now_s() - start_s);
    free(from);
    free(to);
    return 0;
}
