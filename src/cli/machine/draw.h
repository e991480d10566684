/* SPDX-License-Identifier: Apache-2.0
 *
 * draw: a machine as a tree of text.
 *
 * In: a machine. Out: one line per memory, with its devices; accelerators below their host.
 * Invariant: every device is counted on exactly one line.
 */
#ifndef SY_CLI_MACHINE_DRAW_H
#define SY_CLI_MACHINE_DRAW_H

#include "base/base.h"
#include <symph/machine.h>

void sy_machine_draw(const struct sy_machine *machine, struct sy_buffer *buffer);

#endif
