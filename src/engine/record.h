/* SPDX-License-Identifier: Apache-2.0
 *
 * What the writer and the reader of a run record must agree on.
 */
#ifndef SY_ENGINE_RECORD_H
#define SY_ENGINE_RECORD_H

#include "engine/engine.h"

#define SY_RECORD_SCHEMA "symph-run-1"

/* "task", "stall" ..., by enum sy_span_kind. */
const char *sy_record_span_name(uint32_t kind);

#endif
