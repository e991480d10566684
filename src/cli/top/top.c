/* SPDX-License-Identifier: Apache-2.0
 *
 * symph top: which programs run under our policies, and what their workers do now.
 *
 * In: the pages of engines and of other people's StarPU programs. Out: a screen that is redrawn, a
 * table, or one JSON object "symph-top-1". Invariant: programs are looked at, never touched.
 */
#include "cli/top/top.h"
#include "cli/clock.h"
#include "cli/screen.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_NS 1e8 /* how soon a key is noticed */

struct args {
    struct sy_common_args common;
    double interval_s, duration_s;
    bool once;
};

#define AT(field) offsetof(struct args, field)

static const struct sy_option options[] = {
    {SY_OPTION_TIME, "interval", "T", AT(interval_s),
     "time between two looks, such as 250ms or 2s (default 1s)", 0.05, 3600},
    {SY_OPTION_TIME, "duration", "T", AT(duration_s),
     "stop after this time (default: until q or Ctrl-C)", 1e-3, 1e9},
    {SY_OPTION_FLAG, "once", NULL, AT(once),
     "print once and end; so it is if the output is not a terminal"},
    SY_OPTION_COMMON(struct args),
};

static const struct sy_command command = {
    .name = "top",
    .usage = "[OPTION]...",
    .examples = "  symph top\n"
                "  symph top --once\n"
                "  symph top --json | jq '.programs[] | {pid, program, done}'",
    .about = "Shows what runs on this machine under the policies of symph: engines of symph run, "
             "and StarPU programs that symph starpu has started. For each it shows the tasks that "
             "are done, running and ready, and for each worker what it runs now and how busy it "
             "is. Other users' programs are visible to root only.",
    .options = options,
    .option_count = SY_COUNT(options),
};

static int look(struct sy_top *ret_top) {
    *ret_top = (struct sy_top){.arena = sy_need(sy_arena_create()), .at_ns = sy_clock_ns()};
    int code = sy_status_list(ret_top->arena, ret_top->at_ns, &ret_top->programs, &ret_top->count);
    if (code) {
        sy_message_fail("cannot look for programs in /proc: %s", strerror(-code));
    }
    return code ? SY_EXIT_FAILED : SY_EXIT_OK;
}

static void forget(struct sy_top *top) {
    free(top->programs);
    sy_arena_destroy(top->arena);
    *top = (struct sy_top){0};
}

/* --- shares of time -----------------------------------------------------------------------------
 */
static const struct sy_status_seen *find(const struct sy_top *top, pid_t pid) {
    for (uint32_t i = 0; top && i < top->count; i++) {
        if (top->programs[i].pid == pid) {
            return &top->programs[i];
        }
    }
    return NULL;
}

double sy_top_busy_ratio(const struct sy_top *now, const struct sy_top *then, uint32_t program,
                         uint32_t worker) {
    const struct sy_status_seen *seen = &now->programs[program], *before = find(then, seen->pid);
    bool compare = before && worker < before->worker_count && before->age_ns < seen->age_ns;
    double busy_ns =
        seen->workers[worker].busy_ns - (compare ? before->workers[worker].busy_ns : 0);
    double whole_ns = compare ? now->at_ns - then->at_ns : seen->age_ns;
    return whole_ns > 0 ? fmin(1, fmax(0, busy_ns / whole_ns)) : NAN;
}

double sy_top_mean_ratio(const struct sy_top *now, const struct sy_top *then, uint32_t program) {
    uint32_t count = now->programs[program].worker_count;
    double sum = 0;
    for (uint32_t w = 0; w < count; w++) {
        sum += sy_top_busy_ratio(now, then, program, w);
    }
    return count ? sum / count : NAN;
}

/* --- once, or again and again -------------------------------------------------------------------
 */
static int show_once(bool json) {
    struct sy_top now;
    int r = look(&now);
    if (r == SY_EXIT_OK && json) {
        r = sy_top_json(&now, NULL);
    } else if (r == SY_EXIT_OK) {
        struct sy_buffer out = {0};
        sy_top_text(&now, NULL, UINT32_MAX, &out);
        r = sy_output(&out);
    }
    forget(&now);
    return r;
}

static bool wait(struct sy_screen *screen, double then_ns) {
    for (double now_ns = sy_clock_ns(); now_ns < then_ns; now_ns = sy_clock_ns()) {
        sy_clock_sleep_until(fmin(then_ns, now_ns + FRAME_NS));
        if (sy_interrupt_seen() || sy_screen_quit(screen)) {
            return false;
        }
    }
    return true;
}

static int frame(struct sy_screen *screen, const struct sy_top *now, const struct sy_top *then) {
    uint32_t columns, rows;
    struct sy_buffer out = {0};
    sy_screen_size(screen, &columns, &rows);
    sy_top_text(now, then, rows, &out);
    int code = sy_screen_show(&out);
    sy_buffer_finish(&out);
    return code ? SY_EXIT_FAILED : SY_EXIT_OK;
}

static int watch(struct sy_screen *screen, const struct args *args) {
    struct sy_top now, then = {0};
    double start_ns = sy_clock_ns();
    int r = SY_EXIT_OK;
    for (bool more = true; more && r == SY_EXIT_OK;) {
        r = look(&now);
        r = r ? r : frame(screen, &now, then.arena ? &then : NULL);
        forget(&then);
        then = now;
        more = r == SY_EXIT_OK && now.at_ns - start_ns < args->duration_s * 1e9 &&
               wait(screen, now.at_ns + args->interval_s * 1e9);
    }
    forget(&then);
    return r;
}

static int run(void *given) {
    const struct args *args = given;
    struct sy_screen *screen = args->once || args->common.json ? NULL : sy_screen_open();
    if (!screen) {
        return show_once(args->common.json);
    }
    signal(SIGPIPE, SIG_IGN);
    sy_interrupt_watch_quietly();
    int r = watch(screen, args);
    sy_screen_close(screen);
    return r;
}

int sy_cmd_top(int argc, char **argv) {
    struct args args = {.interval_s = 1, .duration_s = INFINITY};
    return sy_options_run(&command, argc, argv, &args, run);
}
