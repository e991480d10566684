/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of the flavours a kernel can come in.
 */
#include "kernels/kernels.h"

const char *sy_flavour_name(enum sy_flavour flavour) {
    static const char *const names[SY_FLAVOUR_COUNT] = {"c", "cuda", "opencl"};
    return flavour < SY_FLAVOUR_COUNT ? names[flavour] : "unknown";
}
