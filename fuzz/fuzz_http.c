/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzes requests over HTTP with any bytes: only what begins with a whole line of HTTP/1 is heard.
 */
#include "cli/counters/show.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data;
    bool head = false;
    enum sy_http request = sy_http_parse(text, size, &head);
    if (request == SY_HTTP_BAD) {
        return 0;
    }
    const char *end = memchr(text, '\n', size);
    SY_ASSERT(end && memmem(text, (size_t)(end - text), " HTTP/1.", 8));
    SY_ASSERT(request == SY_HTTP_METHOD || memcmp(text, head ? "HEAD " : "GET ", 4 + head) == 0);
    return 0;
}
