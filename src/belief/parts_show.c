/* SPDX-License-Identifier: Apache-2.0
 *
 * parts_show: utilisations: which there are, what speaks of each, and their values after a step.
 *
 * In: the parts. Out: a share in [0,1] with its band for every hardware thread, resource, GPU and
 * board of the machine, and for power and pressure where they are read. What nothing speaks of is
 * the prior, and says so. Invariants: mean and spread are those of the rate clipped at its
 * capacity, not a clipped mean; so is the rate, unless the capacity is only nominal: what the
 * machine's description says must not bend what is measured.
 */
#include "belief/parts.h"
#include <errno.h>
#include <math.h>
#include <string.h>

#define BAND_SDS 3.919927969 /* a 95 % band is so many standard deviations wide */

/* --- what speaks of a variable ------------------------------------------------------------------
 */
static void add_witness(struct sy_shown *shown, uint32_t variable) {
    for (uint32_t i = 0; i < shown->witness_count; i++) {
        if (shown->witnesses[i] == variable) {
            return;
        }
    }
    if (shown->witness_count < SY_WITNESSES_MAX) {
        shown->witnesses[shown->witness_count++] = variable;
    }
}

static bool reaches(const struct sy_model *model, const struct sy_factor *factor,
                    const uint8_t *ring, uint8_t now) {
    bool touched = factor->out != SY_NONE && ring[factor->out] == now;
    for (uint32_t i = 0; i < factor->term_count; i++) {
        touched = touched || ring[model->terms[factor->first_term + i].variable] == now;
    }
    return touched && factor->kind == SY_FACTOR_EQUAL;
}

/* Rings around the variable, along equations; the nearest that holds something measured speaks. */
static void find_witnesses(const struct sy_part *part, struct sy_shown *shown) {
    const struct sy_model *model = part->model;
    uint8_t ring[SY_PACKAGE_VARIABLES_MAX + 64] = {0};
    if (model->variable_count > SY_COUNT(ring)) {
        return;
    }
    ring[shown->variable] = 1;
    for (uint8_t now = 1; now < 5 && shown->witness_count == 0; now++) {
        for (uint32_t v = 0; v < model->variable_count; v++) {
            if (ring[v] == now && part->informed[v]) {
                add_witness(shown, v);
            }
        }
        for (uint32_t i = 0; i < model->factor_count; i++) {
            const struct sy_factor *factor = &model->factors[i];
            if (!reaches(model, factor, ring, now)) {
                continue;
            }
            for (uint32_t k = 0; k <= factor->term_count; k++) {
                uint32_t v = k < factor->term_count ? model->terms[factor->first_term + k].variable
                                                    : factor->out;
                ring[v == SY_NONE ? shown->variable : v] =
                    v != SY_NONE && ring[v] == 0 ? (uint8_t)(now + 1)
                                                 : ring[v == SY_NONE ? shown->variable : v];
            }
        }
    }
}

/* --- which there are ----------------------------------------------------------------------------
 */
static int add(struct sy_belief *belief, const char *name, const struct sy_utilisation *given,
               uint32_t part, struct sy_binding binding) {
    struct sy_utilisation *utilisation = &belief->utilisations[belief->utilisation_count];
    struct sy_shown *shown = &belief->shown[belief->utilisation_count++];
    *utilisation = *given;
    utilisation->name = sy_arena_strdup(belief->arena, name);
    *shown =
        (struct sy_shown){.part = part, .variable = binding.variable, .factor = binding.factor};
    if (binding.variable != SY_NONE) {
        find_witnesses(&belief->parts[part], shown);
        utilisation->nominal =
            !isfinite(belief->parts[part].model->variables[binding.variable].capacity);
    }
    return utilisation->name ? 0 : -ENOMEM;
}

static int add_cpus(struct sy_belief *belief) {
    int code = 0;
    for (uint32_t i = 0; i < belief->layout.thread_count && !code; i++) {
        const struct sy_thread *thread = &belief->layout.threads[i];
        if (thread->device != SY_NONE) {
            struct sy_utilisation given = {
                .resource = SY_NONE, .device = thread->device, .capacity = 1, .unit = ""};
            code = add(belief, belief->machine->devices[thread->device].name, &given, thread->core,
                       (struct sy_binding){thread->busy, 1});
        }
    }
    return code;
}

static int add_resources(struct sy_belief *belief) {
    const struct sy_machine *machine = belief->machine;
    int code = 0;
    for (uint32_t i = 0; i < machine->resource_count && !code; i++) {
        struct sy_utilisation given = {.resource = i,
                                       .device = SY_NONE,
                                       .capacity = machine->resources[i].bytes_per_s,
                                       .unit = "B/s"};
        code =
            add(belief, machine->resources[i].name, &given,
                belief->first_package + belief->layout.resource_package[i], belief->resources[i]);
    }
    return code;
}

static uint32_t device_of(const struct sy_machine *machine, uint32_t memory, double *ret_watts) {
    uint32_t first = SY_NONE;
    *ret_watts = 0;
    for (uint32_t i = 0; i < machine->device_count && memory != SY_NONE; i++) {
        if (machine->devices[i].memory == memory) {
            first = first == SY_NONE ? i : first;
            *ret_watts += machine->devices[i].busy_watts;
        }
    }
    return first;
}

static int add_power(struct sy_belief *belief, const char *name, uint32_t part, uint32_t device,
                     double watts) {
    const struct sy_part *of = &belief->parts[part];
    const struct sy_binding *binding = &of->roles[SY_ROLE_POWER];
    binding = binding->variable == SY_NONE ? &of->roles[SY_ROLE_ENERGY] : binding;
    if (binding->variable == SY_NONE || !(watts > 0)) {
        return 0;
    }
    char text[192];
    snprintf(text, sizeof text, "%s.power", name);
    struct sy_utilisation given = {
        .resource = SY_NONE, .device = device, .capacity = watts, .unit = "W"};
    return add(belief, text, &given, part, *binding);
}

/* Processors of a GPU where they are counted, else the time that something ran on it. */
static int add_accelerator(struct sy_belief *belief, uint32_t index) {
    const struct sy_machine *machine = belief->machine;
    uint32_t memory = belief->layout.accelerator_memory[index], part = belief->first_gpu + index;
    const struct sy_part *of = &belief->parts[part];
    bool gpu = of->scope == SY_SCOPE_GPU;
    double watts;
    uint32_t device = device_of(machine, memory, &watts);
    char name[160], text[192];
    snprintf(name, sizeof name, gpu ? "gpu%u" : "board%u", of->index);
    if (memory != SY_NONE) {
        snprintf(name, sizeof name, "%s", machine->memories[memory].name);
    }
    const struct sy_binding *busy = &of->roles[gpu ? SY_ROLE_SM_ACTIVE : SY_ROLE_BOARD_BUSY];
    busy = gpu && busy->variable == SY_NONE ? &of->roles[SY_ROLE_GPU_BUSY] : busy;
    struct sy_utilisation given = {
        .resource = SY_NONE, .device = device, .capacity = 1, .unit = ""};
    int code = add(belief, name, &given, part, *busy);
    if (!code && of->roles[SY_ROLE_GPU_DRAM].variable != SY_NONE) {
        snprintf(text, sizeof text, "%s.dram", name);
        code = add(belief, text, &given, part, of->roles[SY_ROLE_GPU_DRAM]);
    }
    return code ? code : add_power(belief, name, part, device, watts);
}

static int add_packages(struct sy_belief *belief) {
    const struct sy_machine *machine = belief->machine;
    int code = 0;
    for (uint32_t p = 0; p < belief->layout.package_count && !code; p++) {
        double watts = 0;
        for (uint32_t i = 0; i < machine->device_count; i++) {
            const struct sy_device *device = &machine->devices[i];
            watts += device->kind == SY_CPU && belief->layout.host_package[device->host_memory] == p
                         ? device->busy_watts
                         : 0;
        }
        char name[32];
        snprintf(name, sizeof name, "package%u", p);
        code = add_power(belief, name, belief->first_package + p, SY_NONE, watts);
    }
    return code;
}

static int add_pressures(struct sy_belief *belief) {
    static const struct {
        enum sy_role role;
        const char *name;
    } rows[] = {{SY_ROLE_PSI_CPU, "pressure.cpu"},
                {SY_ROLE_PSI_MEMORY, "pressure.memory"},
                {SY_ROLE_PSI_IO, "pressure.io"},
                {SY_ROLE_MEMORY_USED, "memory"}};
    const struct sy_part *part = &belief->parts[belief->machine_part];
    int code = 0;
    for (uint32_t i = 0; i < SY_COUNT(rows) && !code; i++) {
        struct sy_utilisation given = {
            .resource = SY_NONE, .device = SY_NONE, .capacity = 1, .unit = ""};
        if (part->roles[rows[i].role].variable != SY_NONE) {
            code =
                add(belief, rows[i].name, &given, belief->machine_part, part->roles[rows[i].role]);
        }
    }
    return code;
}

int sy_parts_show(struct sy_belief *belief) {
    const struct sy_layout *layout = &belief->layout;
    uint32_t most = layout->thread_count + belief->machine->resource_count +
                    3 * (layout->gpu_count + layout->board_count) + layout->package_count + 8;
    belief->utilisations = sy_arena_alloc(belief->arena, most, sizeof *belief->utilisations);
    belief->shown = sy_arena_alloc(belief->arena, most, sizeof *belief->shown);
    int code = belief->utilisations && belief->shown ? 0 : -ENOMEM;
    code = code ? code : add_cpus(belief);
    code = code ? code : add_resources(belief);
    for (uint32_t i = 0; i < layout->gpu_count + layout->board_count && !code; i++) {
        code = add_accelerator(belief, i);
    }
    code = code ? code : add_packages(belief);
    return code ? code : add_pressures(belief);
}

/* --- values -------------------------------------------------------------------------------------
 */
static double below(double z) {
    return 0.5 * erfc(-z * M_SQRT1_2);
}

/* Mean of min(X, top)^power for ln X normal. */
static double clipped_moment(double mu, double sd, double top, double power) {
    double edge = (log(top) - mu) / sd;
    return exp(power * mu + power * power * sd * sd / 2) * below(edge - power * sd) +
           pow(top, power) * below(-edge);
}

static double clip(double share) {
    return share > 0 ? fmin(share, 1) : 0;
}

/* Anything from 0 to 1. */
static void know_nothing(struct sy_utilisation *utilisation) {
    utilisation->low = 0;
    utilisation->mean = 0.5;
    utilisation->high = 1;
    utilisation->sd = 1 / sqrt(12);
    utilisation->rate = NAN;
}

static void refresh(struct sy_belief *belief, uint32_t index) {
    const struct sy_shown *shown = &belief->shown[index];
    const struct sy_part *part = &belief->parts[shown->part];
    struct sy_utilisation *utilisation = &belief->utilisations[index];
    struct sy_posterior posterior = {.log_mean = NAN};
    utilisation->age_ns = INFINITY;
    utilisation->measured = false;
    if (shown->variable != SY_NONE) {
        posterior = sy_filter_estimate(part->filter, shown->variable);
    }
    if (!isfinite(posterior.log_mean) || !isfinite(posterior.log_sd)) {
        know_nothing(utilisation);
        return;
    }
    double capacity = utilisation->capacity / shown->factor;
    double offset = part->model->variables[shown->variable].offset;
    double sd = fmax(posterior.log_sd, 1e-6);
    double first = clipped_moment(posterior.log_mean, sd, capacity + offset, 1);
    double second = clipped_moment(posterior.log_mean, sd, capacity + offset, 2);
    utilisation->mean = clip((first - offset) / capacity);
    utilisation->sd = sqrt(fmax(second - first * first, 0)) / capacity;
    utilisation->low = fmin(clip(posterior.low / capacity), utilisation->mean);
    utilisation->high = fmax(clip(posterior.high / capacity), utilisation->mean);
    if (utilisation->nominal) {
        utilisation->rate = shown->factor * (sd < 1 ? posterior.mean : posterior.median);
    } else {
        utilisation->rate = utilisation->mean * utilisation->capacity;
    }
    for (uint32_t i = 0; i < shown->witness_count; i++) {
        double age = sy_filter_estimate(part->filter, shown->witnesses[i]).age_ns;
        utilisation->age_ns = fmin(utilisation->age_ns, age);
    }
    utilisation->measured = isfinite(utilisation->age_ns);
}

void sy_parts_refresh(struct sy_belief *belief) {
    for (uint32_t i = 0; i < belief->utilisation_count; i++) {
        refresh(belief, i);
    }
}
