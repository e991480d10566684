/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that come from outside and go into the headers of VCF and SAM files: what these can hold.
 */
#ifndef GENOMICS_NAMES_H
#define GENOMICS_NAMES_H

#include <stdbool.h>

/* Whether a contig's name may have this byte (SAM 1.6, section 1.2.1; VCF 4.3 has the same rule).
 */
bool gn_name_allows(char byte, bool first);
#define GN_NAME_HINT                                                                               \
    "in VCF and SAM files names have letters, digits and any of !#$%&*+./:;=?@^_|~- and do not "   \
    "begin with * or ="

/* What is wrong with a sample's name, for a message; NULL: nothing. sam: it goes into a BAM or CRAM
 * file, too, where names are ASCII. */
const char *gn_sample_wrong(const char *name, bool sam);

/* A copy for the value of a header's line: control bytes, and what is no UTF-8, as %0A. NULL: out
 * of memory. */
char *gn_header_text(const char *text);

/* In capitals or not. */
bool gn_ends_with(const char *text, const char *end);

/* A byte as a message shows it: 'x', or byte 0x1B. Returns text. */
enum { GN_BYTE_TEXT = 16 };
const char *gn_byte_text(char byte, char text[GN_BYTE_TEXT]);

#endif
