/* SPDX-License-Identifier: Apache-2.0
 *
 * symph counters replay: what watch would have shown of a recording.
 *
 * In: a recording (docs/counters-format.md). Out: as watch. Invariant: the clock is the
 * recording's, so that the same file gives the same bytes, however fast it is replayed.
 */
#include "cli/counters/show.h"

#include "cli/clock.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>

struct args {
    struct sy_counters_args base;
    struct sy_text_list files;
    const char *plot, *out;
    double speed, interval_s;
    bool speed_given, fast, once, prometheus, all;
};

#define AT(field) offsetof(struct args, field)

static const struct sy_option options[] = {
    {SY_OPTION_NUMBER, "speed", "X", AT(speed),
     "replay X times as fast as recorded (default 1 on a terminal)", 1e-3, 1e9, AT(speed_given)},
    {SY_OPTION_FLAG, "fast", NULL, AT(fast),
     "replay as fast as possible (default if the output is not a terminal)"},
    {SY_OPTION_TIME, "interval", "T", AT(interval_s),
     "time between two outputs, on the recording's clock (default 1s)", 1e-3, 3600},
    {SY_OPTION_FLAG, "once", NULL, AT(once), "print only the estimate at the end"},
    {SY_OPTION_TEXT, "arch", "NAME", AT(base.arch),
     "use the event listing of this architecture (default: the one recorded)"},
    {SY_OPTION_TEXT, "machine", "MACHINE", AT(base.machine),
     "\"here\", a file, or a line of text (default: the machine recorded)"},
    {SY_OPTION_FILE, "plot", "FILE", AT(plot), "at the end, draw the utilisation over time (SVG)"},
    {SY_OPTION_FLAG, "all", NULL, AT(all),
     "print a line for each resource, even if it is not measured"},
    {SY_OPTION_FLAG, "prometheus", NULL, AT(prometheus),
     "print the estimate at the end in Prometheus' text format"},
    {SY_OPTION_TEXT, "out", "FILE", AT(out),
     "write each output to FILE, replacing the one before, instead of printing it"},
    {SY_OPTION_FLAG, "json", NULL, AT(base.common.json),
     "print one JSON object per output, each on its own line"},
    {SY_OPTION_FLAG, "quiet", NULL, AT(base.common.quiet), "no notes on stderr"},
};

static const struct sy_command command = {
    .name = "counters replay",
    .usage = "FILE [OPTION]...",
    .examples = "  symph counters replay night.counters\n"
                "  symph counters replay night.counters --speed 10\n"
                "  symph counters replay night.counters --fast --json --interval 10s\n"
                "  symph counters replay night.counters --plot night.svg --once",
    .about = "Estimates the utilisation again from a file that symph counters record wrote. "
             "The same file always gives the same output.",
    .options = options,
    .option_count = SY_COUNT(options),
    .operands = AT(files),
    .operand_max = 1,
};

/* speed 0: no waiting. */
static int loop(struct sy_counters_session *session, struct sy_show *show, double speed) {
    double start_ns = sy_clock_ns(), first_ns = NAN;
    bool more = true;
    int code = 0;
    while (more && !sy_interrupt_seen()) {
        code = sy_counters_step(session, 0);
        if (code) {
            break;
        }
        first_ns = isnan(first_ns) ? session->senses.now_ns : first_ns;
        double then_ns = speed > 0 ? start_ns + (session->senses.now_ns - first_ns) / speed : 0;
        more = sy_show_wait(show, then_ns) && sy_show_step(show);
    }
    if (code && code != -ENODATA) {
        sy_message_fail("the recording can no longer be read: %s", strerror(-code));
        return SY_EXIT_FAILED;
    }
    if (code && isnan(first_ns)) {
        sy_message_fail("there are no readings in the recording");
        return SY_EXIT_INPUT;
    }
    return sy_interrupt_seen() ? SY_EXIT_INTERRUPTED : SY_EXIT_OK;
}

static int replay(const struct args *args, double speed) {
    struct sy_counters_session session;
    struct sy_show *show = NULL;
    const struct sy_show_options shown = {
        .form = sy_show_form_for(args->base.common.json, args->prometheus, args->out),
        .interval_ns = args->interval_s * 1e9,
        .plot = args->plot,
        .output = args->out,
        .title = args->base.replay,
        .all = args->all,
        .once = args->once || (args->prometheus && !args->out)};
    int r = sy_counters_open(&args->base, &session);
    signal(SIGPIPE, SIG_IGN);
    sy_interrupt_watch_quietly();
    r = r == SY_EXIT_OK ? sy_show_create(&session, &shown, &show) : r;
    if (r == SY_EXIT_OK) {
        int looped = loop(&session, show, speed);
        r = sy_show_finish(show);
        r = r == SY_EXIT_OK ? looped : r;
    }
    sy_counters_close(&session);
    return r;
}

static int run(void *given) {
    struct args *args = given;
    if (args->files.count == 0) {
        return sy_options_usage(&command, "a recording is missing");
    }
    if (args->speed_given && args->fast) {
        return sy_options_usage(&command, "--speed and --fast exclude each other");
    }
    if (args->prometheus && args->base.common.json) {
        return sy_options_usage(&command, "--json and --prometheus exclude each other");
    }
    args->base.replay = args->files.items[0];
    bool screen =
        sy_show_form_for(args->base.common.json, args->prometheus, args->out) == SY_SHOW_SCREEN;
    double speed = args->speed_given ? args->speed : args->fast || args->once || !screen ? 0 : 1;
    return replay(args, speed);
}

int sy_counters_replay(int argc, char **argv) {
    struct args args = {.interval_s = 1};
    return sy_options_run(&command, argc, argv, &args, run);
}
