/* SPDX-License-Identifier: Apache-2.0
 *
 * screen: the terminal while a command has it to itself.
 *
 * In: lines. Out: the same lines, redrawn in place on the terminal's second page. Invariant: on
 * every way out that is ours (q, Ctrl-C, SIGTERM, Ctrl-Z, an error) the terminal is as it was.
 */
#include "cli/screen.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* Second page, no cursor, no wrapping at the right edge; and back. */
#define ENTER "\033[?1049h\033[?25l\033[?7l\033[2J"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"

/* A frame: from the top; terminals that know how to show it at once. */
#define BEGIN "\033[?2026h\033[H"
#define END   "\033[?2026l"

struct sy_screen {
    bool has_keys; /* stdin is a terminal too */
    bool quit;
    struct termios before;
    uint32_t columns, rows;
};

/* A signal handler has nowhere else to write. */
static atomic_bool stop_asked;

static void on_stop(int signal_number) {
    (void)signal_number;
    atomic_store(&stop_asked, true);
}

static void take(const struct sy_screen *screen) {
    (void)!sy_write_all(STDOUT_FILENO, ENTER, strlen(ENTER));
    if (screen->has_keys) {
        struct termios keys = screen->before;
        keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        keys.c_cc[VMIN] = 0; /* reading does not wait */
        keys.c_cc[VTIME] = 0;
        tcsetattr(STDIN_FILENO, TCSANOW, &keys);
    }
}

static void give_back(const struct sy_screen *screen) {
    if (screen->has_keys) {
        tcsetattr(STDIN_FILENO, TCSANOW, &screen->before);
    }
    (void)!sy_write_all(STDOUT_FILENO, LEAVE, strlen(LEAVE));
}

struct sy_screen *sy_screen_open(void) {
    struct sy_screen *screen = isatty(STDOUT_FILENO) ? calloc(1, sizeof *screen) : NULL;
    if (!screen) {
        return NULL;
    }
    screen->has_keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &screen->before) == 0;
    struct sigaction action = {.sa_handler = on_stop};
    sigaction(SIGTSTP, &action, NULL);
    take(screen);
    return screen;
}

void sy_screen_close(struct sy_screen *screen) {
    if (screen) {
        give_back(screen);
        signal(SIGTSTP, SIG_DFL);
        free(screen);
    }
}

static bool ask_size(struct winsize *size) {
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, size) == 0 && size->ws_col && size->ws_row;
}

bool sy_screen_size(struct sy_screen *screen, uint32_t *ret_columns, uint32_t *ret_rows) {
    struct winsize size = {0};
    bool known = ask_size(&size);
    *ret_columns = known ? size.ws_col : 80;
    *ret_rows = known ? size.ws_row : 24;
    bool changed = screen->columns != *ret_columns || screen->rows != *ret_rows;
    screen->columns = *ret_columns;
    screen->rows = *ret_rows;
    return changed;
}

uint32_t sy_screen_width(void) {
    struct winsize size = {0};
    return ask_size(&size) ? size.ws_col : 100;
}

int sy_screen_show(const struct sy_buffer *lines) {
    struct sy_buffer out = {0};
    sy_buffer_append(&out, BEGIN, strlen(BEGIN));
    for (size_t at = 0; at < lines->length;) {
        const char *start = lines->text + at, *end = memchr(start, '\n', lines->length - at);
        size_t length = end ? (size_t)(end - start) : lines->length - at;
        bool last = at + length + 1 >= lines->length;
        /* Erased before it is written: afterwards, the last column would go. */
        sy_buffer_printf(&out, "%s", last ? "\033[J" : "\033[2K");
        sy_buffer_append(&out, start, length);
        sy_buffer_append(&out, "\n", last ? 0 : 1); /* one at the bottom would scroll */
        at += length + 1;
    }
    sy_buffer_append(&out, END, strlen(END));
    int code = -ENOMEM;
    if (!out.failed && !lines->failed) {
        code = sy_write_all(STDOUT_FILENO, out.text, out.length);
    }
    sy_buffer_finish(&out);
    return code;
}

bool sy_screen_quit(struct sy_screen *screen) {
    char keys[64];
    if (atomic_exchange(&stop_asked, false)) {
        give_back(screen);
        raise(SIGSTOP);
        take(screen);
        screen->columns = 0; /* to be drawn anew */
    }
    ssize_t count = screen->has_keys ? read(STDIN_FILENO, keys, sizeof keys) : 0;
    for (ssize_t i = 0; i < count; i++) {
        screen->quit = screen->quit || keys[i] == 'q' || keys[i] == 'Q';
    }
    return screen->quit;
}
