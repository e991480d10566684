/* SPDX-License-Identifier: Apache-2.0
 *
 * Words of the recording's format that its reader and its writer share. Private to counters/.
 */
#ifndef SY_COUNTERS_RECORDING_H
#define SY_COUNTERS_RECORDING_H

#include "counters/counters.h"

#define SY_RECORDING_SCHEMA   "symph-counters-1"
#define SY_RECORDING_TIME_MAX 1e18  /* ns, 30 years */
#define SY_RECORDING_LIMIT    65536 /* counters, pmus; a machine has fewer */

enum sy_recording_option { SY_OPTION_RUNNING = 'r', SY_OPTION_NOISE = 'n', SY_OPTION_START = 's' };

#endif
