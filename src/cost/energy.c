/* SPDX-License-Identifier: Apache-2.0
 *
 * Energy of one run, above nothing: idle power is the caller's to add.
 */
#include "cost/cost.h"

double sy_cost_energy_joules(const struct sy_machine *machine, uint32_t device,
                             const struct sy_variant *variant, double duration_ns) {
    double watts = variant ? variant->watts : 0;
    if (!(watts > 0)) {
        watts = machine->devices[device].busy_watts;
    }
    return watts * duration_ns * 1e-9;
}
