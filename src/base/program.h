/* SPDX-License-Identifier: Apache-2.0
 *
 * program: finds the programs that symph runs for its work: the engine, the judge of genomics.
 */
#ifndef SY_BASE_PROGRAM_H
#define SY_BASE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* A file that may be executed. */
bool sy_program_is(const char *path);
/* Where such programs are installed, or in the folder built_in of the build tree. False if there is
 * none; path then says where it was expected. */
bool sy_program_find(const char *name, const char *built_in, char *path, size_t size);
/* The command line of this process as one text, without the folder of the program; what does not
 * fit ends in "...". size is at least 8. */
void sy_program_line(char *buffer, size_t size);

#endif
