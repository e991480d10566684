/* SPDX-License-Identifier: Apache-2.0
 *
 * draw: the files that a run leaves: charts and traces, the record asked for, the last record.
 *
 * In: the record of each policy's fastest run. Out: files. Invariant: each file is whole or not
 * there.
 */
#include "cli/run/run.h"

/* Under a name that says the policy, where there are several. */
static int write_file(const struct sy_runs *runs, const struct sy_run_policy *policy,
                      const char *path, const struct sy_buffer *text) {
    struct sy_buffer name = {0};
    sy_output_path(path, runs->policy_count > 1 ? policy->name : NULL, &name);
    if (name.failed) {
        sy_message_fail("out of memory");
        sy_buffer_finish(&name);
        return SY_EXIT_FAILED;
    }
    int r = sy_output_file(name.text, text);
    if (r == SY_EXIT_OK) {
        sy_message_note(runs->args->common.quiet, "wrote %s (%s)", name.text, policy->name);
    }
    sy_buffer_finish(&name);
    return r;
}

static int draw(const struct sy_runs *runs, const struct sy_run_policy *policy, const char *path,
                sy_trace_writer *writer) {
    if (!path) {
        return SY_EXIT_OK;
    }
    struct sy_buffer picture = {0};
    sy_record_draw(policy->record, writer, policy->runs[policy->fastest].bound_ns, &picture);
    int r = write_file(runs, policy, path, &picture);
    sy_buffer_finish(&picture);
    return r;
}

/* A convenience: that it cannot be kept is no failure of the run. One message is enough where
 * nothing at all can be kept. */
static void keep_last(const struct sy_runs *runs, const struct sy_buffer *text) {
    struct sy_error error = {0};
    bool noted = runs->engine && sy_child_outcome(runs->engine).note[0];
    if (sy_last_keep(text, &error) < 0 && !runs->told[0] && !noted) {
        char reason[2048];
        sy_message_note(runs->args->common.quiet, "the record of the last run is not kept: %s",
                        sy_error_format(&error, reason, sizeof(reason)));
    }
}

int sy_run_write(const struct sy_runs *runs) {
    const struct sy_run_args *args = runs->args;
    int r = SY_EXIT_OK;
    for (uint32_t i = 0; i < runs->policy_count && r == SY_EXIT_OK; i++) {
        const struct sy_run_policy *policy = &runs->policies[i];
        if (!policy->record) {
            continue; /* a wrong result came before its turn */
        }
        r = draw(runs, policy, args->plot, sy_trace_write_svg);
        r = r ? r : draw(runs, policy, args->trace, sy_trace_write_chrome);
        r = r ? r : draw(runs, policy, args->paje, sy_trace_write_paje);
        if (r == SY_EXIT_OK && args->record) {
            r = write_file(runs, policy, args->record, &policy->text);
        }
    }
    keep_last(runs, &runs->policies[runs->last].text);
    return r;
}
