/* SPDX-License-Identifier: Apache-2.0
 *
 * busy: see busy.h. The belief is asked after a short look; we sleep while we look, so
 * that all that is seen is others'.
 */
#include "cli/plan/busy.h"

#include "cli/clock.h"
#include "cli/counters/show.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOOKS   6
#define LOOK_NS 1e8
#define TAKEN   0.5 /* an accelerator that is busy more than this is left to its user */
#define SOURCES "proc,nvml,fpga"

/* Others keep what they use of a device, or share it fairly where it is full. */
static double slowdown_of(double used, uint32_t devices) {
    double share = devices ? fmin(fmax(used / devices, 0), 1) : 0;
    return share < 0.5 ? 1 / (1 - share) : 2;
}

void sy_planning_count(enum sy_device_kind kind, const double *used, uint32_t count,
                       struct sy_planning_others *ret_others) {
    struct sy_planning_others others = {.known = count > 0, .slowdown = 1};
    double rest = 0;
    for (uint32_t i = 0; i < count; i++) {
        double share = fmin(fmax(used[i], 0), 1); /* NAN becomes 0 */
        others.known = others.known && isfinite(used[i]);
        others.used += share;
        bool taken = kind != SY_CPU && share > TAKEN;
        others.busy_count += taken;
        rest += taken ? 0 : share;
    }
    if (kind == SY_CPU) {
        /* A quarter of a core is noise, three quarters are a core; the last one is shared. */
        others.busy_count = (uint32_t)fmin(floor(others.used + 0.25), count ? count - 1 : 0);
        rest = fmax(others.used - others.busy_count, 0);
    }
    others.slowdown = slowdown_of(rest, count - others.busy_count);
    *ret_others = others;
}

static int look(struct sy_monitor *senses) {
    double start_ns = sy_clock_ns();
    int code = 0;
    for (int i = 0; i <= LOOKS && !code; i++) {
        sy_clock_sleep_until(start_ns + i * LOOK_NS);
        code = sy_monitor_read(senses, sy_clock_ns());
        code = code ? code : sy_monitor_think(senses);
    }
    return code;
}

/* Why nothing is known of devices of this kind. */
static void put_why(const struct sy_monitor *senses, enum sy_device_kind kind, char *why,
                    size_t size) {
    const char *source = kind == SY_CPU ? "proc" : kind == SY_GPU ? "nvml" : "fpga";
    uint32_t count = 0;
    const struct sy_gap *gaps = sy_sources_gaps(senses->sources, &count);
    snprintf(why, size, "no counter measures it");
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(gaps[i].source, source) == 0) {
            snprintf(why, size, "%s: %s", gaps[i].source, gaps[i].reason);
            return;
        }
    }
}

static void count_class(const struct sy_machine *machine, const struct sy_monitor *senses,
                        uint32_t class_index, double *used, struct sy_planning_others *ret_others) {
    uint32_t item_count = 0, count = 0;
    const struct sy_utilisation *items = sy_belief_utilisations(senses->belief, &item_count);
    enum sy_device_kind kind = machine->classes[class_index].kind;
    for (uint32_t d = 0; d < machine->device_count; d++) {
        if (machine->devices[d].class_index != class_index) {
            continue;
        }
        used[count] = NAN;
        for (uint32_t i = 0; i < item_count; i++) {
            if (items[i].device == d && items[i].measured) {
                used[count] = items[i].mean;
            }
        }
        count++;
    }
    sy_planning_count(kind, used, count, ret_others);
    if (!ret_others->known) {
        put_why(senses, kind, ret_others->why, sizeof ret_others->why);
    }
}

void sy_planning_look(const struct sy_machine *machine, struct sy_planning_others *ret_others) {
    struct sy_error error = {0};
    struct sy_monitor senses = {0};
    double *used = calloc(machine->device_count + 1u, sizeof *used);
    const struct sy_sources_options options = {.only = SOURCES};
    int code = used ? sy_monitor_open(machine, &options, &senses, &error) : -ENOMEM;
    code = code ? code : look(&senses);
    for (uint32_t c = 0; c < machine->class_count; c++) {
        if (code) {
            ret_others[c] = (struct sy_planning_others){.slowdown = 1};
            snprintf(ret_others[c].why, sizeof ret_others[c].why, "%.150s",
                     error.message[0] ? error.message : strerror(-code));
        } else {
            count_class(machine, &senses, c, used, &ret_others[c]);
        }
    }
    sy_monitor_close(&senses);
    free(used);
}
