/* SPDX-License-Identifier: Apache-2.0
 *
 * symph machine: what a machine looks like to the schedulers.
 *
 * In: "here", a file or a line of text. Out: tables, a tree, or the native JSON format.
 * Invariant: a value that nobody measured is marked as assumed.
 */
#include "cli/cli.h"
#include "cli/machine/draw.h"
#include "cli/table.h"
#include "cli/units.h"
#include "topology/topology.h"

#include <string.h>

struct args {
    struct sy_common_args common;
    struct sy_text_list specs;
    bool tree;
};

#define AT(field)     offsetof(struct args, field)
#define ROUTE_ROW_MAX 40

static const struct sy_option options[] = {
    {SY_OPTION_FLAG, "tree", NULL, AT(tree),
     "print a tree of memories and devices instead of tables"},
    SY_OPTION_COMMON(struct args),
};

static const struct sy_command command = {
    .name = "machine",
    .usage = "[SPEC] [OPTION]...",
    .examples = "  symph machine\n"
                "  symph machine \"2x(cpu:12 dram:80GB/s) gpu:4@pcie3x16 fpga:1@regions=4\"\n"
                "  symph machine topology.xml --tree\n"
                "  symph machine here --json > here.json",
    .about = "SPEC is \"here\" (the default: this machine, as hwloc sees it), a file (native "
             "JSON, hwloc XML, or X.bus.csv of a recorded machine) or a line of text.",
    .options = options,
    .option_count = SY_COUNT(options),
    .operands = AT(specs),
    .operand_max = 1,
};

static bool is_assumed_power(const struct sy_device *device) {
    return device->busy_watts == sy_default_busy_watts(device->kind);
}

static bool put_devices(const struct sy_machine *machine, bool bold, struct sy_buffer *buffer) {
    struct sy_table table;
    sy_table_init(&table,
                  (const char *const[]){"device", "kind", "class", "memory", "group", "board",
                                        "speed", "busy W", "idle W", ""},
                  "llllrlrrrl");
    bool assumed = false;
    for (uint32_t d = 0; d < machine->device_count; d++) {
        const struct sy_device *device = &machine->devices[d];
        sy_table_cell(&table, "%s|%s|%s|%s|%u|%s|%g|%.3g|%.3g|%s", device->name,
                      sy_device_kind_name(device->kind), machine->classes[device->class_index].name,
                      machine->memories[device->memory].name, device->group,
                      device->board == SY_NONE ? "-" : machine->boards[device->board].name,
                      device->speed_ratio, device->busy_watts, device->idle_watts,
                      is_assumed_power(device) ? "*" : "");
        assumed = assumed || is_assumed_power(device);
    }
    sy_print(buffer, "\nDevices:\n");
    sy_table_write(&table, 2, bold, buffer);
    sy_table_legend(
        "class: devices with the same times; group: devices of one group slow each other down; "
        "board: FPGA card; speed: relative to other devices of the kind; busy W, idle W: power.",
        2, buffer);
    return assumed;
}

static void put_memories(const struct sy_machine *machine, bool bold, struct sy_buffer *buffer) {
    struct sy_table table;
    sy_table_init(&table, (const char *const[]){"memory", "host", "capacity", "bandwidth"}, "llrl");
    for (uint32_t m = 0; m < machine->memory_count; m++) {
        const struct sy_memory *memory = &machine->memories[m];
        sy_table_cell(&table, "%s|%s|%s|%s", memory->name, memory->host ? "yes" : "no",
                      sy_units_bytes(memory->capacity_bytes).text,
                      memory->resource != SY_NONE ? machine->resources[memory->resource].name
                      : memory->host              ? "not known: not shared"
                                                  : "-");
    }
    sy_print(buffer, "\nMemories:\n");
    sy_table_write(&table, 2, bold, buffer);
    sy_table_legend(
        "host: main memory of the processors; bandwidth: the shared resource that limits it.", 2,
        buffer);
}

static bool is_assumed_rate(const struct sy_resource *resource) {
    return (resource->kind == SY_RES_DRAM &&
            resource->bytes_per_s == SY_DEFAULT_DRAM_BYTES_PER_S) ||
           (resource->kind == SY_RES_INTERCONNECT &&
            resource->bytes_per_s == SY_DEFAULT_INTERCONNECT_BYTES_PER_S);
}

static bool is_assumed_latency(double latency_ns) {
    return latency_ns == SY_DEFAULT_PCIE_LATENCY_NS ||
           latency_ns == SY_DEFAULT_INTERCONNECT_LATENCY_NS;
}

static bool put_resources(const struct sy_machine *machine, bool bold, struct sy_buffer *buffer) {
    struct sy_table table;
    sy_table_init(&table, (const char *const[]){"resource", "kind", "capacity", ""}, "llrl");
    bool assumed = false;
    for (uint32_t i = 0; i < machine->resource_count; i++) {
        const struct sy_resource *resource = &machine->resources[i];
        sy_table_cell(&table, "%s|%s|%s|%s", resource->name, sy_resource_kind_name(resource->kind),
                      sy_units_rate(resource->bytes_per_s).text,
                      is_assumed_rate(resource) ? "*" : "");
        assumed = assumed || is_assumed_rate(resource);
    }
    sy_print(buffer, "\nShared resources:\n");
    sy_table_write(&table, 2, bold, buffer);
    return assumed;
}

static void put_via(const struct sy_machine *machine, const struct sy_route *route,
                    struct sy_table *table) {
    char via[256] = "";
    size_t length = 0;
    for (uint32_t i = 0; i < route->resource_count && length < sizeof(via); i++) {
        length += (size_t)snprintf(via + length, sizeof(via) - length, "%s%s", i ? " > " : "",
                                   machine->resources[route->resources[i]].name);
    }
    sy_table_cell(table, "%s", via);
}

static bool put_routes(const struct sy_machine *machine, bool bold, struct sy_buffer *buffer) {
    struct sy_table table;
    sy_table_init(&table, (const char *const[]){"from", "to", "one copy", "latency", "", "through"},
                  "llrrll");
    uint32_t rows = 0, n = machine->memory_count;
    bool assumed = false;
    for (uint32_t i = 0; i < n * n && rows < ROUTE_ROW_MAX; i++) {
        const struct sy_route *route = &machine->routes[i];
        if (i / n == i % n) {
            continue;
        }
        sy_table_cell(&table, "%s|%s|%s|%s|%s", machine->memories[i / n].name,
                      machine->memories[i % n].name, sy_units_rate(route->bytes_per_s).text,
                      sy_units_time(route->latency_ns).text,
                      is_assumed_latency(route->latency_ns) ? "*" : "");
        put_via(machine, route, &table);
        assumed = assumed || is_assumed_latency(route->latency_ns);
        rows++;
    }
    sy_print(buffer, "\nRoutes between memories:\n");
    sy_table_write(&table, 2, bold, buffer);
    sy_table_legend("one copy: rate of a copy that is alone; latency: time before its first byte; "
                    "through: the shared resources on the way.",
                    2, buffer);
    if (rows < n * (n - 1)) {
        sy_print(buffer, "  ... and %u more; --json has all\n", n * (n - 1) - rows);
    }
    return assumed;
}

static void put_classes(const struct sy_machine *machine, bool bold, struct sy_buffer *buffer) {
    struct sy_table table;
    sy_table_init(&table, (const char *const[]){"class", "kind", "devices", "speed"}, "llrr");
    for (uint32_t c = 0; c < machine->class_count; c++) {
        const struct sy_device_class *class = &machine->classes[c];
        sy_table_cell(&table, "%s|%s|%u|%g", class->name, sy_device_kind_name(class->kind),
                      class->device_count, class->speed_ratio);
    }
    sy_print(buffer, "\nClasses of devices with the same times:\n");
    sy_table_write(&table, 2, bold, buffer);
}

static void put_boards(const struct sy_machine *machine, bool bold, struct sy_buffer *buffer) {
    if (machine->board_count == 0) {
        return;
    }
    struct sy_table table;
    sy_table_init(&table, (const char *const[]){"board", "port", "init", "image"}, "lrrr");
    for (uint32_t b = 0; b < machine->board_count; b++) {
        const struct sy_board *board = &machine->boards[b];
        sy_table_cell(&table, "%s|%s|%s|%s", board->name,
                      sy_units_rate(board->port_bytes_per_s).text,
                      sy_units_time(board->init_ns).text, sy_units_bytes(board->image_bytes).text);
    }
    sy_print(buffer, "\nFPGA boards:\n");
    sy_table_write(&table, 2, bold, buffer);
    sy_table_legend("port: rate of the configuration port; init: time before a configuration; "
                    "image: size of a configuration.",
                    2, buffer);
}

static int print_tables(const struct sy_machine *machine) {
    bool bold = sy_message_colour(stdout);
    struct sy_buffer buffer = {0};
    sy_print(&buffer, "%s: %s in %s, %s, %s\n", machine->name,
             sy_units_count(machine->device_count, "device", "devices").text,
             sy_units_count(machine->class_count, "class", "classes").text,
             sy_units_count(machine->memory_count, "memory", "memories").text,
             sy_units_count(machine->resource_count, "shared resource", "shared resources").text);
    bool assumed = put_devices(machine, bold, &buffer);
    put_classes(machine, bold, &buffer);
    put_memories(machine, bold, &buffer);
    put_boards(machine, bold, &buffer);
    assumed = put_resources(machine, bold, &buffer) || assumed;
    assumed = (machine->memory_count > 1 && put_routes(machine, bold, &buffer)) || assumed;
    if (assumed) {
        sy_print(&buffer, "\n* assumed: the source does not state the value\n");
    }
    return sy_output(&buffer);
}

static int run(void *given) {
    const struct args *args = given;
    const char *spec = args->specs.count ? args->specs.items[0] : "here";
    struct sy_machine *machine = NULL;
    int r = sy_input_machine(spec, &machine);
    if (r != SY_EXIT_OK) {
        return r;
    }
    if (sy_input_from_hwloc(spec)) {
        sy_message_note(
            args->common.quiet,
            "hwloc knows few bandwidths, no latencies and no power, so they are assumed "
            "where marked *; save the machine with --json and edit the file to correct "
            "them");
    }
    if (args->common.json || args->tree) {
        struct sy_buffer buffer = {0};
        if (args->common.json) {
            sy_machine_write_json(machine, &buffer);
        } else {
            sy_machine_draw(machine, &buffer);
        }
        r = sy_output(&buffer);
    } else {
        r = print_tables(machine);
    }
    sy_machine_destroy(machine);
    return r;
}

int sy_cmd_machine(int argc, char **argv) {
    struct args args = {0};
    return sy_options_run(&command, argc, argv, &args, run);
}
