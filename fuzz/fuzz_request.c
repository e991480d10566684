/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzes what is asked of an engine, a KEY=VALUE on each line: what is understood reads back the
 * same when it is written, and what only the supervisor may say is refused from others.
 */
#include "engine/request.h"
#include <string.h>

#define LINES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t split(char *text, char **ret_lines) {
    uint32_t count = 0;
    for (char *line = text; line && count < LINES; count++) {
        char *end = strchr(line, '\n');
        ret_lines[count] = line;
        if (end) {
            *end++ = '\0';
        }
        line = end;
    }
    return count;
}

static uint32_t length_of(char **texts) {
    uint32_t count = 0;
    while (texts[count]) {
        count++;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sy_arena *arena = sy_arena_create();
    struct sy_request request, again;
    struct sy_error error = {0};
    char *lines[LINES];
    char *text = sy_arena_strndup(arena, (const char *)data, size);
    uint32_t count = split(text, lines);
    if (sy_request_read(count, lines, true, &request, &error) == 0) {
        char **written = sy_request_write(&request, NULL, arena);
        uint32_t kept = length_of(written);
        SY_ASSERT(sy_request_read(kept, written, true, &again, &error) == 0);
        char **second = sy_request_write(&again, NULL, arena);
        SY_ASSERT(length_of(second) == kept);
        for (uint32_t i = 0; i < kept; i++) {
            SY_ASSERT(strcmp(written[i], second[i]) == 0);
        }
        SY_ASSERT(request.record && sy_request_read(count, lines, false, &again, &error) < 0);
    } else {
        SY_ASSERT(error.message[0]);
    }
    sy_arena_destroy(arena);
    return 0;
}
