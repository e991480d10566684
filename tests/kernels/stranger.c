/* SPDX-License-Identifier: Apache-2.0
 *
 * A shared object that is no plug-in.
 */
#include <symph/error.h>

SY_API int stranger(void);

int stranger(void) {
    return 1;
}
