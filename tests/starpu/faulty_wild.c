/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of the test plug-in faulty that do harm without failing: they write past their data or
 * to the engine's files, or leave processes behind. FAULTY_PIDS names the file in which those put
 * their process ids.
 */
#include "faulty.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OVERRUN   64
#define UNDERRUN  3
#define RECORD_FD 4 /* the engine's */

int overrun_c(const struct sy_call *call) {
    memset((char *)call->arguments[0].pointer + call->arguments[0].bytes, 0, OVERRUN);
    return 0;
}

int underrun_c(const struct sy_call *call) {
    memset((char *)call->arguments[0].pointer - UNDERRUN, 0, UNDERRUN);
    return 0;
}

int flood_c(const struct sy_call *call) {
    static const char block[65536];
    (void)call;
    while (write(RECORD_FD, block, sizeof block) > 0) {
    }
    return 0;
}

/* A process that waits for ever, once its number is in the file. */
static void stay(const char *path) {
    char line[32];
    int length = snprintf(line, sizeof line, "%ld\n", (long)getpid());
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0 || write(file, line, (size_t)length) != length) {
        _exit(1);
    }
    for (;;) {
        pause();
    }
}

/* One child, and one that leaves session, group and parent behind, as daemons do. */
int litter_c(const struct sy_call *call) {
    const char *path = getenv("FAULTY_PIDS");
    (void)call;
    if (!path) {
        return -1;
    }
    if (fork() == 0) {
        stay(path);
    }
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            stay(path);
        }
        _exit(0);
    }
    /* Until both are there. */
    for (int lines = 0; lines < 2; usleep(1000)) {
        FILE *file = fopen(path, "r");
        lines = 0;
        for (int c; file && (c = getc(file)) != EOF;) {
            lines += c == '\n';
        }
        if (file) {
            fclose(file);
        }
    }
    return 0;
}

int litter_hang_c(const struct sy_call *call) {
    int code = litter_c(call);
    while (!code) {
        pause();
    }
    return code;
}

void hang_at(const struct state *state, const char *step) {
    while (strcmp(state->hang, step) == 0) {
        pause();
    }
}
