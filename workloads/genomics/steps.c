/* SPDX-License-Identifier: Apache-2.0
 *
 * Submits the tasks of a flow, and keeps the data that they share: see flow.h.
 */
#include "genomics/flow.h"
#include <errno.h>
#include <string.h>

const char *const gn_stage_names[GN_STAGE_COUNT] = {
    "inflate", "parse",    "map",      "choose",  "extend",   "pair",  "gather",
    "sort",    "activity", "assemble", "pairhmm", "genotype", "write",
};

/* What is nearly done goes first, so that little waits; but files are read by one chain each, and
 * everything hangs on it. */
static int32_t priority_of(enum gn_stage stage) {
    return stage == GN_INFLATE ? GN_STAGE_COUNT : (int32_t)stage;
}

static int failed(struct gn_sample *sample, int code, const char *what, struct sy_error *error) {
    return guest_fail(error, code, NULL, "%s: %s: %s", sample->files->name, what, strerror(-code));
}

int gn_blob_share(struct gn_sample *sample, const char *name, void *memory, uint64_t bytes,
                  struct gn_blob *ret_blob, struct sy_error *error) {
    struct gn_blob blob = {memory, bytes, SY_NONE};
    struct sy_session *session = sample->session;
    int code = session->ops->add_data(session, name, memory, bytes, &blob.datum);
    if (code < 0) {
        return failed(sample, code, name, error);
    }
    *ret_blob = blob;
    return 0;
}

int gn_blob_make(struct gn_sample *sample, const char *name, uint64_t bytes,
                 struct gn_blob *ret_blob, struct sy_error *error) {
    struct sy_session *session = sample->session;
    void *memory = session->ops->allocate(session, bytes);
    if (!memory) {
        return failed(sample, -ENOMEM, name, error);
    }
    int code = gn_blob_share(sample, name, memory, bytes, ret_blob, error);
    if (code < 0) {
        session->ops->release(session, memory, bytes);
    }
    return code;
}

void gn_blob_drop(struct gn_sample *sample, struct gn_blob *blob, bool release) {
    struct sy_session *session = sample->session;
    if (!blob->memory) {
        return;
    }
    session->ops->drop_data(session, blob->datum);
    if (release) {
        session->ops->release(session, blob->memory, blob->bytes);
    }
    *blob = (struct gn_blob){0};
}

static int submit(struct gn_sample *sample, enum gn_stage stage, double work,
                  const struct sy_access *accesses, uint32_t count, struct gn_step *step,
                  struct sy_error *error) {
    struct sy_session_task task = {.kernel = gn_stage_names[stage],
                                   .work = work,
                                   .accesses = accesses,
                                   .access_count = count,
                                   .job = sample->job,
                                   .priority = priority_of(stage),
                                   .tag = step,
                                   .user = step};
    int code = sample->session->ops->submit(sample->session, &task);
    return code < 0 ? failed(sample, code, gn_stage_names[stage], error) : 0;
}

int gn_submit_step(struct gn_step *step, enum gn_stage stage, double work,
                   const struct gn_blob *const *reads, uint32_t read_count,
                   struct sy_error *error) {
    struct sy_access accesses[SY_ARGUMENT_MAX];
    step->stage = stage;
    step->code = 0;
    for (uint32_t i = 0; i < read_count; i++) {
        accesses[i] = (struct sy_access){reads[i]->datum, SY_READ};
    }
    return submit(step->sample, stage, work, accesses, read_count, step, error);
}

int gn_submit_kernel(struct gn_sample *sample, enum gn_stage stage, double work, bool uses_index,
                     const struct gn_blob *const *reads, uint32_t read_count,
                     const struct gn_blob *written, struct sy_error *error) {
    struct sy_access accesses[SY_ARGUMENT_MAX];
    uint32_t count = 0;
    if (uses_index) {
        accesses[count++] = (struct sy_access){sample->index_datum, SY_READ};
    }
    for (uint32_t i = 0; i < read_count; i++) {
        accesses[count++] = (struct sy_access){reads[i]->datum, SY_READ};
    }
    accesses[count++] = (struct sy_access){written->datum, SY_WRITE};
    return submit(sample, stage, work, accesses, count, NULL, error);
}

int gn_step_close(const struct gn_step *step, struct sy_error *error) {
    if (step->code == 0) {
        return 0;
    }
    *error = step->error;
    return error->message[0] ? step->code
                             : failed(step->sample, step->code, gn_stage_names[step->stage], error);
}
