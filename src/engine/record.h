/* SPDX-License-Identifier: Apache-2.0
 *
 * What the writer and the reader of a run record must agree on.
 */
#ifndef SY_ENGINE_RECORD_H
#define SY_ENGINE_RECORD_H

#include "base/json.h"
#include "engine/engine.h"

#define SY_RECORD_SCHEMA "symph-run-1"

/* "task", "stall" ..., by enum sy_span_kind. */
const char *sy_record_span_name(uint32_t kind);

/* The value of "stream" (record_stream.c). */
void sy_record_write_stream(struct sy_json_writer *writer, const struct sy_stream_report *report);
SY_MUST_CHECK int sy_record_read_stream(struct sy_json *json, struct sy_arena *arena,
                                        const struct sy_stream_report **ret_report);

#endif
