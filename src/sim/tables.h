/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of the simulator, from memory: what the file readers of sim.h are made of.
 * name stands for the file in errors; text need not be terminated.
 */
#ifndef SY_SIM_TABLES_H
#define SY_SIM_TABLES_H

#include "sim/sim.h"

SY_MUST_CHECK int sy_interference_read_text(const char *name, const char *text, size_t length,
                                            struct sy_interference **ret_table,
                                            struct sy_error *error);
SY_MUST_CHECK int sy_noise_read_text(const char *name, const char *text, size_t length,
                                     struct sy_noise_table *ret_table, struct sy_error *error);

#endif
