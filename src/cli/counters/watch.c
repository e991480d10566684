/* SPDX-License-Identifier: Apache-2.0
 *
 * symph counters watch: how busy each resource is, with what is not known about it.
 *
 * In: the counters of this machine. Out: a screen that is redrawn, lines, JSON
 * "symph-counters-watch-1" or Prometheus' text. Invariants: where counters take turns they are read
 * at least ten times a second, so that each gets its own; without --duration, Ctrl-C is the way to
 * end it and no failure.
 */
#include "cli/counters/show.h"

#include "cli/clock.h"
#include <math.h>
#include <signal.h>
#include <string.h>

#define STEP_MAX_NS 1e8

struct args {
    struct sy_counters_args base;
    const char *plot, *out, *listen;
    double interval_s, duration_s;
    bool once, prometheus, all;
};

#define AT(field) offsetof(struct args, field)

static const struct sy_option options[] = {
    {SY_OPTION_TIME, "interval", "T", AT(interval_s),
     "time between two outputs, such as 100ms or 2s (default 1s)", 1e-3, 3600},
    {SY_OPTION_TIME, "duration", "T", AT(duration_s),
     "stop after this time (default: until q or Ctrl-C)", 1e-3, 1e9},
    {SY_OPTION_FLAG, "once", NULL, AT(once), "print once, after one interval or after --duration"},
    {SY_OPTION_TEXT, "only", "SOURCES", AT(base.only),
     "read only these sources, separated by commas; symph counters sources lists them"},
    {SY_OPTION_TEXT, "arch", "NAME", AT(base.arch),
     "use the event listing of this architecture (default: of this processor)"},
    {SY_OPTION_TEXT, "machine", "MACHINE", AT(base.machine),
     "\"here\", a file, or a line of text: the machine whose resources are shown (default here)"},
    {SY_OPTION_TEXT, "process", "PID", AT(base.process),
     "also watch a process and its descendants: processors, memory, disks"},
    {SY_OPTION_TEXT, "group", "CGROUP", AT(base.group),
     "also watch a control group, given as its folder below /sys/fs/cgroup"},
    {SY_OPTION_FILE, "plot", "FILE", AT(plot), "at the end, draw the utilisation over time (SVG)"},
    {SY_OPTION_FLAG, "all", NULL, AT(all),
     "print a line for each resource, even if it is not measured"},
    {SY_OPTION_FLAG, "prometheus", NULL, AT(prometheus),
     "print once, in Prometheus' text format; with --out, write it at every interval"},
    {SY_OPTION_TEXT, "out", "FILE", AT(out),
     "write each output to FILE, replacing the one before, instead of printing it"},
    {SY_OPTION_TEXT, "listen", "[HOST:]PORT", AT(listen),
     "serve http://HOST:PORT/metrics for Prometheus; HOST is localhost by default, and nothing "
     "before the colon means every interface"},
    {SY_OPTION_FLAG, "json", NULL, AT(base.common.json),
     "print one JSON object per output, each on its own line"},
    {SY_OPTION_FLAG, "quiet", NULL, AT(base.common.quiet), "no notes on stderr"},
};

static const struct sy_command command = {
    .name = "counters watch",
    .usage = "[OPTION]...",
    .examples = "  symph counters watch\n"
                "  symph counters watch --once\n"
                "  symph counters watch --interval 100ms --duration 1min --plot load.svg\n"
                "  symph counters watch --json | jq '.resources[] | {name, mean}'\n"
                "  symph counters watch --process 4711\n"
                "  symph counters watch --prometheus --interval 15s --out symph.prom\n"
                "  symph counters watch --listen 9877 --interval 5s",
    .about = "Shows how much of each processor, memory and link is in use, estimated from all "
             "counters that can be read here: the mean, the 95 % interval, and the time since "
             "the last measurement. It lists resources that cannot be measured, and what "
             "would make them measurable.",
    .options = options,
    .option_count = SY_COUNT(options),
};

/* Counters that take turns are read often; those that always count once, over the whole of it. */
static double step_for(const struct sy_counters_session *session, double interval_ns) {
    return session->senses.pmu_count ? interval_ns / ceil(interval_ns / STEP_MAX_NS) : interval_ns;
}

/* Steps at fixed times, so that errors of sleeping do not add up. 0 or a negative errno. */
static int loop(struct sy_counters_session *session, struct sy_show *show, double interval_ns,
                double end_ns, bool quiet) {
    double start_ns = sy_clock_ns(), step_ns = step_for(session, interval_ns);
    int code = sy_counters_step(session, start_ns);
    bool more = code == 0 && sy_show_step(show);
    for (uint64_t i = 1; more; i++) {
        double due_ns = sy_counters_due_ns(start_ns, step_ns, &i);
        if (!sy_show_wait(show, due_ns)) {
            break;
        }
        code = sy_counters_step(session, sy_clock_ns());
        more = code == 0 && sy_show_step(show) && due_ns - start_ns < end_ns - step_ns / 2;
        if (more && sy_counters_over(session)) {
            sy_message_note(quiet, "process %u has ended", session->process);
            break;
        }
    }
    if (code) {
        sy_message_fail("the counters can no longer be read: %s", strerror(-code));
    }
    return code;
}

static int watch(const struct args *args) {
    double duration_ns = args->duration_s * 1e9,
           interval_ns = fmin(args->interval_s * 1e9, duration_ns);
    struct sy_counters_session session;
    struct sy_show *show = NULL;
    bool prometheus = args->prometheus || args->listen;
    bool once = args->once || (prometheus && !args->out && !args->listen);
    const struct sy_show_options shown = {
        .form = sy_show_form_for(args->base.common.json, prometheus, args->out),
        .interval_ns = interval_ns,
        .plot = args->plot,
        .output = args->out,
        .listen = args->listen,
        .quiet = args->base.common.quiet,
        .title = "live",
        .all = args->all,
        .once = once};
    int r = sy_counters_open(&args->base, &session);
    signal(SIGPIPE, SIG_IGN); /* a reader that has enough ends the show, not the plot */
    sy_interrupt_watch_quietly();
    r = r == SY_EXIT_OK ? sy_show_create(&session, &shown, &show) : r;
    if (r == SY_EXIT_OK) {
        double end_ns = isfinite(duration_ns) ? duration_ns : once ? interval_ns : INFINITY;
        int code = loop(&session, show, interval_ns, end_ns, args->base.common.quiet);
        bool cut_short = sy_interrupt_seen() && isfinite(end_ns);
        if (cut_short && once) {
            sy_show_destroy(show); /* all or nothing */
        } else {
            r = sy_show_finish(show);
        }
        r = code ? SY_EXIT_FAILED : r == SY_EXIT_OK && cut_short ? SY_EXIT_INTERRUPTED : r;
    }
    sy_counters_close(&session);
    return r;
}

static int run(void *given) {
    const struct args *args = given;
    if (args->prometheus && args->base.common.json) {
        return sy_options_usage(&command, "--json and --prometheus exclude each other");
    }
    if (args->listen && (args->base.common.json || args->out || args->once)) {
        return sy_options_usage(&command, "--listen serves Prometheus' text until it is stopped: "
                                          "without --json, --out and --once");
    }
    return watch(args);
}

int sy_counters_watch(int argc, char **argv) {
    struct args args = {.interval_s = 1, .duration_s = INFINITY};
    return sy_options_run(&command, argc, argv, &args, run);
}
