/* SPDX-License-Identifier: Apache-2.0
 *
 * Machines from hostile text: the one-line language, JSON, CSV, and the check in front of hwloc.
 *
 * The first byte picks the reader, so that one corpus serves all; what is accepted must survive a
 * round trip through JSON.
 */
#include "topology/topology.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void round_trip(const struct sy_machine *machine) {
    struct sy_buffer json = {0}, again = {0};
    struct sy_machine *back = NULL;
    struct sy_error error;
    sy_machine_write_json(machine, &json);
    int code = sy_machine_read_json("back", json.text, json.length, &back, &error);
    SY_ASSERT(code == 0);
    sy_machine_write_json(back, &again);
    SY_ASSERT(strcmp(json.text, again.text) == 0);
    sy_machine_destroy(back);
    sy_buffer_finish(&json);
    sy_buffer_finish(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) {
        return 0;
    }
    size_t length = size - 1;
    char *text = malloc(size);
    if (!text) {
        return 0;
    }
    memcpy(text, data + 1, length);
    text[length] = '\0';
    struct sy_machine *machine = NULL;
    struct sy_error error = {0};
    int code = -1;
    switch (data[0]) {
    case 'T':
        code = sy_machine_read_line("", "fuzz", text, length, &machine, &error);
        break;
    case 'J':
        code = sy_machine_read_json("fuzz", text, length, &machine, &error);
        break;
    case 'C':
        code = sy_machine_read_bus_csv("fuzz", "fuzz", text, length, 0, &machine, &error);
        break;
    default:
        if (sy_xml_check("fuzz", text, length, &error) == 0) {
            error.message[0] = '-';
        }
        break;
    }
    SY_ASSERT(code == 0 ? machine != NULL : machine == NULL && error.message[0]);
    if (machine) {
        round_trip(machine);
        sy_machine_destroy(machine);
    }
    free(text);
    return 0;
}
