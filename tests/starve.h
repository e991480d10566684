/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that runs out when a test says so, and a count of what was asked for. The linker's --wrap
 * (starve_links in tests/meson.build) puts these allocators in front of libc's.
 */
#ifndef SY_TESTS_STARVE_H
#define SY_TESTS_STARVE_H

#include <limits.h>

extern unsigned starve_left;  /* allocations that still succeed; UINT_MAX: all */
extern unsigned starve_taken; /* asked for so far */

#endif
