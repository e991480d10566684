/* SPDX-License-Identifier: Apache-2.0
 *
 * FPGA boards, as far as the kernel shows them: power and temperature of their own sensors, and
 * whether the manager is at work.
 *
 * In: /sys/class/fpga_manager/<board>/{name,state} and the hwmon folders below its device. Out:
 * watts, degrees, and a share that is 1 while an image is being written. What a board's own logic
 * counts comes by sy_sources_push from the code that knows the board.
 */
#include "counters/provider.h"
#include <errno.h>
#include <string.h>

#define CLASS      "/sys/class/fpga_manager"
#define BOARD_MAX  16
#define SENSOR_MAX 8

struct sensor {
    struct sy_file file;
    uint32_t counter;
    double scale;
};

struct board {
    struct sy_file state;
    uint32_t writing;
    struct sensor sensors[SENSOR_MAX];
    uint32_t sensor_count;
};

struct fpga {
    struct board boards[BOARD_MAX];
    uint32_t count;
    double ns;
};

static const struct {
    const char *file, *event, *unit;
    double scale;
} kinds[] = {{"power1_input", "power", "W", 1e-6},
             {"power1_average", "power", "W", 1e-6},
             {"temp1_input", "temperature", "C", 1e-3}};

static uint32_t add(struct sy_sources *sources, uint32_t board, const char *event,
                    enum sy_counter_kind kind, const char *unit) {
    struct sy_counter counter = {.name = sy_text(sources, "fpga.board%u.%s", board, event),
                                 .source = "fpga",
                                 .event = event,
                                 .kind = kind,
                                 .unit = unit,
                                 .scope = SY_SCOPE_BOARD,
                                 .scope_index = board,
                                 .noise_ratio = 0.05,
                                 .pmu = SY_PMU_NONE};
    return sy_add_counter(sources, &counter, NULL);
}

static bool has_sensor(const struct sy_sources *sources, const struct board *board,
                       const char *event) {
    for (uint32_t i = 0; i < board->sensor_count; i++) {
        if (strcmp(sources->counters[board->sensors[i].counter].event, event) == 0) {
            return true;
        }
    }
    return false;
}

static void open_sensors(struct sy_sources *sources, struct board *board, uint32_t index,
                         const char *folder) {
    for (size_t i = 0; i < SY_COUNT(kinds) && board->sensor_count < SENSOR_MAX; i++) {
        char path[SY_PATH_MAX + 32];
        struct sensor *sensor = &board->sensors[board->sensor_count];
        snprintf(path, sizeof path, "%s/%s", folder, kinds[i].file);
        if (!has_sensor(sources, board, kinds[i].event) &&
            sy_file_open(sources, path, &sensor->file) == 0) {
            sensor->scale = kinds[i].scale;
            sensor->counter = add(sources, index, kinds[i].event, SY_COUNTER_LEVEL, kinds[i].unit);
            board->sensor_count += sensor->counter != SY_NONE;
        }
    }
}

static void open_board(struct sy_sources *sources, struct fpga *fpga, const char *name) {
    struct board *board = &fpga->boards[fpga->count];
    char path[SY_PATH_MAX];
    snprintf(path, sizeof path, CLASS "/%s/state", name);
    if (sy_file_open(sources, path, &board->state)) {
        return;
    }
    board->writing = add(sources, fpga->count, "reconfiguring", SY_COUNTER_SHARE, "");
    snprintf(path, sizeof path, CLASS "/%s/device/hwmon", name);
    const char *const *monitors;
    uint32_t count = sy_folder_names(sources, path, "hwmon", &monitors);
    for (uint32_t i = 0; i < count; i++) {
        char folder[SY_PATH_MAX];
        snprintf(folder, sizeof folder, CLASS "/%.100s/device/hwmon/%.100s", name, monitors[i]);
        open_sensors(sources, board, fpga->count, folder);
    }
    fpga->count++;
}

static int fpga_open(struct sy_sources *sources, void **ret_state) {
    struct fpga *fpga = sy_memory(sources, 1, sizeof *fpga);
    if (!fpga) {
        return -ENOMEM;
    }
    fpga->ns = NAN;
    const char *const *names;
    uint32_t count = sy_folder_names(sources, CLASS, "", &names);
    for (uint32_t i = 0; i < count && fpga->count < BOARD_MAX; i++) {
        open_board(sources, fpga, names[i]);
    }
    if (fpga->count == 0) {
        sy_add_gap(sources, "fpga", "FPGA boards", "the kernel shows none (" CLASS ")", "");
    }
    *ret_state = fpga;
    return 0;
}

static void fpga_read(struct sy_sources *sources, void *state) {
    struct fpga *fpga = state;
    if (fpga->count == 0 || !sy_is_due(sources, &fpga->ns, SY_SELDOM_NS)) {
        return;
    }
    for (uint32_t i = 0; i < fpga->count; i++) {
        struct board *board = &fpga->boards[i];
        uint64_t value;
        if (sy_file_read(sources, &board->state) > 0) {
            bool writing = strncmp(sources->buffer, "write", 5) == 0;
            sy_put_level(sources, board->writing, writing, 0);
        }
        for (uint32_t j = 0; j < board->sensor_count; j++) {
            struct sensor *sensor = &board->sensors[j];
            const char *at = sources->buffer;
            if (sy_file_read(sources, &sensor->file) > 0 && sy_scan_u64(&at, &value)) {
                sy_put_level(sources, sensor->counter, (double)value * sensor->scale, 0);
            }
        }
    }
}

static void fpga_close(struct sy_sources *sources, void *state) {
    struct fpga *fpga = state;
    (void)sources;
    for (uint32_t i = 0; i < fpga->count; i++) {
        sy_file_close(&fpga->boards[i].state);
        for (uint32_t j = 0; j < fpga->boards[i].sensor_count; j++) {
            sy_file_close(&fpga->boards[i].sensors[j].file);
        }
    }
}

const struct sy_provider sy_provider_fpga = {
    .name = "fpga", .open = fpga_open, .read = fpga_read, .close = fpga_close};
