/* SPDX-License-Identifier: Apache-2.0
 *
 * symph counters record: writes what the counters say into a file.
 *
 * In: the counters of this machine. Out: a recording (docs/counters-format.md), written as it goes
 * on. Invariant: the file ends with a whole line; where writing fails, what is half written is cut
 * off again and the message says how much there is.
 */
#include "cli/counters/show.h"

#include "base/json.h"
#include "cli/clock.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#define FLUSH_BYTES 65536
#define FLUSH_NS    1e9

struct args {
    struct sy_counters_args base;
    const char *out;
    double interval_s, duration_s;
};

#define AT(field) offsetof(struct args, field)

static const struct sy_option options[] = {
    {SY_OPTION_TEXT, "out", "FILE", AT(out), "write the recording to FILE ('-': standard output)"},
    {SY_OPTION_TIME, "interval", "T", AT(interval_s),
     "time between two readings, such as 10ms or 1s (default 100ms)", 1e-3, 3600},
    {SY_OPTION_TIME, "duration", "T", AT(duration_s),
     "stop after this time (default: until Ctrl-C)", 1e-3, 1e9},
    {SY_OPTION_TEXT, "only", "SOURCES", AT(base.only),
     "read only these sources, separated by commas; symph counters sources lists them"},
    {SY_OPTION_TEXT, "arch", "NAME", AT(base.arch),
     "use the event listing of this architecture (default: of this processor)"},
    {SY_OPTION_TEXT, "machine", "MACHINE", AT(base.machine),
     "\"here\", a file, or a line of text: the machine to write into the recording (default here)"},
    {SY_OPTION_TEXT, "process", "PID", AT(base.process),
     "also record a process and its descendants: processors, memory, disks"},
    {SY_OPTION_TEXT, "group", "CGROUP", AT(base.group),
     "also record a control group, given as its folder below /sys/fs/cgroup"},
    {SY_OPTION_FLAG, "json", NULL, AT(base.common.json), "print a summary as one JSON object"},
    {SY_OPTION_FLAG, "quiet", NULL, AT(base.common.quiet), "no notes on stderr"},
};

static const struct sy_command command = {
    .name = "counters record",
    .usage = "-o FILE [OPTION]...",
    .examples = "  symph counters record -o night.counters\n"
                "  symph counters record -o night.counters --duration 10min --interval 10ms\n"
                "  symph counters record -o - --only psi,proc --duration 5s",
    .about = "Writes every reading of every counter, and a description of the machine, so "
             "that symph counters replay can estimate the utilisation again, here or "
             "elsewhere.",
    .options = options,
    .option_count = SY_COUNT(options),
};

/* A recording being written. */
struct tape {
    const char *path;
    bool to_stdout;
    struct sy_writer *writer;
    struct sy_buffer buffer;
    uint64_t written_bytes, readings, samples;
    double first_ns, last_ns, flushed_ns;
};

static int tape_flush(struct tape *tape, double now_ns) {
    int code = tape->buffer.failed ? -ENOMEM : 0;
    code = code ? code : sy_writer_put(tape->writer, tape->buffer.text, tape->buffer.length);
    tape->written_bytes += code ? 0 : tape->buffer.length;
    tape->buffer.length = 0;
    tape->flushed_ns = now_ns;
    return code;
}

/* From the head on the file has its name, so that what is recorded stays, whatever happens. */
static int tape_open(struct tape *tape, const struct sy_counters_session *session,
                     const char *path) {
    *tape = (struct tape){.path = path, .to_stdout = strcmp(path, "-") == 0};
    sy_recording_write_head(&tape->buffer, session->senses.counters, session->senses.counter_count,
                            session->senses.pmus, session->senses.pmu_count);
    sy_counters_write_machine(session, &tape->buffer);
    int code = sy_writer_open(path, &tape->writer);
    code = code ? code : tape_flush(tape, sy_clock_ns());
    return code ? code : sy_writer_sync(tape->writer);
}

static int tape_add(struct tape *tape, const struct sy_counters_session *session) {
    double now_ns = session->senses.now_ns;
    if (session->senses.sample_count) {
        sy_recording_write(&tape->buffer, session->senses.samples, session->senses.sample_count);
        tape->first_ns = tape->readings ? tape->first_ns : now_ns;
        tape->last_ns = now_ns;
        tape->readings++;
        tape->samples += session->senses.sample_count;
    }
    bool due = tape->buffer.failed || tape->buffer.length >= FLUSH_BYTES ||
               now_ns - tape->flushed_ns >= FLUSH_NS;
    return due ? tape_flush(tape, now_ns) : 0;
}

static int tape_close(struct tape *tape, int code) {
    code = code ? code : tape_flush(tape, tape->last_ns);
    code = code ? code : sy_writer_sync(tape->writer);
    sy_writer_close(tape->writer);
    sy_buffer_finish(&tape->buffer);
    return code;
}

static int loop(struct sy_counters_session *session, struct tape *tape, double interval_ns,
                double duration_ns) {
    double start_ns = sy_clock_ns();
    int code = sy_counters_step(session, start_ns);
    code = code ? code : tape_add(tape, session);
    for (uint64_t i = 1; !code && !sy_interrupt_seen() && !sy_counters_over(session); i++) {
        double due_ns = sy_counters_due_ns(start_ns, interval_ns, &i);
        if (due_ns - start_ns > duration_ns + interval_ns / 2) {
            break;
        }
        sy_clock_sleep_until(due_ns);
        if (sy_interrupt_seen()) {
            break;
        }
        code = sy_counters_step(session, sy_clock_ns());
        code = code ? code : tape_add(tape, session);
    }
    return code;
}

static int print_summary(const struct args *args, const struct sy_counters_session *session,
                         const struct tape *tape) {
    double span_ns = tape->last_ns - tape->first_ns, bytes = (double)tape->written_bytes;
    sy_message_note(args->base.common.quiet, "%s: %llu readings of %u counters over %s, %s",
                    tape->to_stdout ? "stdout" : tape->path, (unsigned long long)tape->readings,
                    session->senses.counter_count, sy_units_time(span_ns).text,
                    sy_units_bytes(bytes).text);
    if (!args->base.common.json) {
        return SY_EXIT_OK;
    }
    struct sy_json_writer json = {0};
    sy_json_print(&json,
                  "{schema: %s, file: %s, counters: %u, readings: %llu, samples: %llu, "
                  "duration_s: %g, bytes: %g}",
                  "symph-counters-record-1", tape->path, session->senses.counter_count,
                  (unsigned long long)tape->readings, (unsigned long long)tape->samples,
                  span_ns / 1e9, bytes);
    return sy_output(&json.buffer);
}

static int record(const struct args *args, struct sy_counters_session *session) {
    double interval_ns = args->interval_s * 1e9, duration_ns = args->duration_s * 1e9;
    struct tape tape;
    signal(SIGPIPE, SIG_IGN);
    sy_interrupt_watch_quietly();
    int code = tape_open(&tape, session, args->out);
    bool begun = !code;
    code = code ? code : loop(session, &tape, interval_ns, duration_ns);
    code = tape_close(&tape, code);
    bool gone = code == -EPIPE && tape.to_stdout; /* the reader has enough */
    if (code && !gone) {
        if (begun) {
            sy_message_fail("%s: recording stopped: %s; the %s written so far can be replayed",
                            args->out, strerror(-code),
                            sy_units_bytes((double)tape.written_bytes).text);
        } else {
            sy_message_fail("%s: cannot write: %s", args->out, strerror(-code));
        }
        return SY_EXIT_FAILED;
    }
    int r = gone ? SY_EXIT_OK : print_summary(args, session, &tape);
    bool cut_short = sy_interrupt_seen() && isfinite(duration_ns);
    return r == SY_EXIT_OK && cut_short ? SY_EXIT_INTERRUPTED : r;
}

static int run(void *given) {
    const struct args *args = given;
    struct sy_counters_session session;
    if (!args->out) {
        return sy_options_usage(&command, "say where to write: -o FILE");
    }
    if (args->base.common.json && strcmp(args->out, "-") == 0) {
        return sy_options_usage(&command, "--json and the recording cannot both go to stdout");
    }
    int r = sy_counters_open(&args->base, &session);
    r = r ? r : record(args, &session);
    sy_counters_close(&session);
    return r;
}

int sy_counters_record(int argc, char **argv) {
    struct args args = {.interval_s = 0.1, .duration_s = INFINITY};
    return sy_options_run(&command, argc, argv, &args, run);
}
