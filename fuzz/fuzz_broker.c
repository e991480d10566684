/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzes what a program may say to the broker with any bytes: what is accepted has an end to each
 * of its names, and is as long as it says.
 */
#include "service/inside.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct service_request request;
    memset(&request, 'x', sizeof request); /* what the kernel did not fill */
    size = size < sizeof request ? size : sizeof request;
    memcpy(&request, data, size);
    if (service_parse(&request, size) || request.hello.request == SY_BROKER_TELL) {
        return 0;
    }
    SY_ASSERT(strnlen(request.hello.tenant, SY_BROKER_NAME) < SY_BROKER_NAME);
    SY_ASSERT(size == sizeof request.hello + request.hello.device_count * SY_BROKER_NAME);
    for (uint32_t i = 0; i < request.hello.device_count; i++) {
        size_t length = strnlen(request.names[i], SY_BROKER_NAME);
        SY_ASSERT(length > 0 && length < SY_BROKER_NAME);
        SY_ASSERT(!memchr(request.names[i], '\n', length) && !strchr(request.names[i], '/'));
    }
    return 0;
}
