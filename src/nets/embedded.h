/* SPDX-License-Identifier: Apache-2.0
 *
 * The shipped weights as the build makes them of data/weights (tools/embed_weights.py).
 */
#ifndef SY_NETS_EMBEDDED_H
#define SY_NETS_EMBEDDED_H

#include "nets/nets.h"

/* The last one has no kind. */
extern const struct sy_weights sy_weights_embedded[];

#endif
