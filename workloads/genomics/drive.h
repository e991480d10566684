/* SPDX-License-Identifier: Apache-2.0
 *
 * The workload genomics:call: from FASTQ to VCF. Arguments as in settings.h.
 */
#ifndef GENOMICS_DRIVE_H
#define GENOMICS_DRIVE_H

#include <symph/kernel.h>

SY_MUST_CHECK int gn_drive(const char *arguments, struct sy_session *session,
                           struct sy_error *error);

#endif
