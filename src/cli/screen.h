/* SPDX-License-Identifier: Apache-2.0
 *
 * screen: the terminal while a command has it to itself.
 */
#ifndef SY_CLI_SCREEN_H
#define SY_CLI_SCREEN_H

#include "base/base.h"

struct sy_screen;
/* NULL: stdout is no terminal, or out of memory. */
struct sy_screen *sy_screen_open(void);
/* Gives the terminal back as it was; NULL is fine. */
void sy_screen_close(struct sy_screen *screen);
/* True: the size changed since last asked. */
bool sy_screen_size(struct sy_screen *screen, uint32_t *ret_columns, uint32_t *ret_rows);
/* Width of the terminal behind stdout, or 100 where there is none. */
uint32_t sy_screen_width(void);
/* Lines, each ended by a newline; no more than it has room for. 0 or a negative errno. */
SY_MUST_CHECK int sy_screen_show(const struct sy_buffer *lines);
/* True once q was typed. Also stops and comes back on Ctrl-Z. */
bool sy_screen_quit(struct sy_screen *screen);

#endif
