/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines for the generators of graphs and machines, drawn at random.
 *
 * In: about how many tasks, random numbers. Out: text. Never knows: what is made of it. Invariant:
 * every line is one that the generator accepts.
 */
#include "train/worlds.h"
#include <math.h>

double sy_between(struct sy_rng *rng, double low, double high) {
    return low + (high - low) * sy_rng_uniform(rng);
}

double sy_log_between(struct sy_rng *rng, double low, double high) {
    return low * exp(log(high / low) * sy_rng_uniform(rng));
}

bool sy_chance(struct sy_rng *rng, double probability) {
    return sy_rng_uniform(rng) < probability;
}

static uint32_t whole(double x, double low) {
    return (uint32_t)fmax(low, round(x));
}

/* --- graphs -------------------------------------------------------------------------------------
 */
static uint32_t draw_tile(bool recorded, struct sy_rng *rng) {
    static const uint32_t tiles[] = {480, 960, 960, 1440};
    uint32_t tile = tiles[sy_rng_below(rng, SY_COUNT(tiles))];
    return recorded ? 960 : tile;
}

static void write_tiles(char *spec, const char *name, uint32_t tiles, bool recorded,
                        struct sy_rng *rng) {
    snprintf(spec, SPEC_SIZE, "%s:%u,tile=%u", name, tiles, draw_tile(recorded, rng));
}

static void write_cholesky(char *spec, double tasks, bool recorded, struct sy_rng *rng) {
    write_tiles(spec, "cholesky", whole(cbrt(6 * tasks) - 1, 2), recorded, rng);
}

static void write_lu(char *spec, double tasks, bool recorded, struct sy_rng *rng) {
    write_tiles(spec, "lu", whole(cbrt(3 * tasks) - 0.5, 2), recorded, rng);
}

static void write_qr(char *spec, double tasks, bool recorded, struct sy_rng *rng) {
    write_tiles(spec, "qr", whole(cbrt(3 * tasks) - 0.5, 2), recorded, rng);
}

static void write_gauss(char *spec, double tasks, bool recorded, struct sy_rng *rng) {
    write_tiles(spec, "gauss", whole(sqrt(2 * tasks), 2), recorded, rng);
}

static void write_fft(char *spec, double tasks, bool recorded, struct sy_rng *rng) {
    uint32_t levels = 1;
    (void)recorded;
    while (levels < 10 && (levels + 2.0) * exp2(levels + 1) <= 2 * tasks) {
        levels++;
    }
    snprintf(spec, SPEC_SIZE, "fft:%u,points=%.0f", levels, sy_log_between(rng, 16384, 524288));
}

/* Work in ms on a core and bytes of each datum, of the plain shapes. */
static void add_sizes(char *spec, size_t length, double work, struct sy_rng *rng) {
    double bytes = sy_log_between(rng, 2.5e5, 1.6e7);
    snprintf(spec + length, SPEC_SIZE - length, ",work=%.3gms,bytes=%.3g",
             work * sy_log_between(rng, 0.3, 3), bytes);
}

static void write_chain(char *spec, double tasks, bool recorded, struct sy_rng *rng) {
    (void)recorded;
    int length = snprintf(spec, SPEC_SIZE, "chain:%u", whole(fmin(tasks, 60), 2));
    add_sizes(spec, (size_t)length, 10, rng);
}

static void write_independent(char *spec, double tasks, bool recorded, struct sy_rng *rng) {
    (void)recorded;
    int length = snprintf(spec, SPEC_SIZE, "independent:%u", whole(tasks, 2));
    add_sizes(spec, (size_t)length, 10, rng);
}

static void write_stencil(char *spec, double tasks, bool recorded, struct sy_rng *rng) {
    double width = sqrt(tasks) * sy_log_between(rng, 0.6, 2);
    (void)recorded;
    int length = snprintf(spec, SPEC_SIZE, "stencil:%u,steps=%u", whole(width, 2),
                          whole(tasks / fmax(width, 2), 1));
    add_sizes(spec, (size_t)length, 2, rng);
}

static void write_tree(char *spec, const char *name, double tasks, struct sy_rng *rng) {
    uint32_t arity = 2 + sy_rng_below(rng, 3);
    double levels = floor(log(tasks * (arity - 1) + 1) / log(arity));
    int length =
        snprintf(spec, SPEC_SIZE, "%s:%u,arity=%u", name, whole(fmin(levels, 12), 2), arity);
    add_sizes(spec, (size_t)length, 10, rng);
}

static void write_outtree(char *spec, double tasks, bool recorded, struct sy_rng *rng) {
    (void)recorded;
    write_tree(spec, "outtree", tasks, rng);
}

static void write_intree(char *spec, double tasks, bool recorded, struct sy_rng *rng) {
    (void)recorded;
    write_tree(spec, "intree", tasks, rng);
}

static void write_forkjoin(char *spec, double tasks, bool recorded, struct sy_rng *rng) {
    uint32_t phases = 2 + sy_rng_below(rng, 5);
    (void)recorded;
    int length = snprintf(spec, SPEC_SIZE, "forkjoin:%u,phases=%u,seed=%u",
                          whole(tasks / phases - 1, 2), phases, sy_rng_below(rng, 1000000));
    add_sizes(spec, (size_t)length, 10, rng);
}

static void write_layered(char *spec, double tasks, bool recorded, struct sy_rng *rng) {
    double width = sqrt(tasks) * sy_log_between(rng, 0.5, 2.5);
    (void)recorded;
    snprintf(spec, SPEC_SIZE,
             "layered:%u,depth=%u,density=%.2f,ccr=%.3g,types=%u,work=%.3gms,seed=%u",
             whole(width, 2), whole(tasks / fmax(width, 2), 2), sy_between(rng, 0.05, 0.5),
             sy_log_between(rng, 0.01, 1), 3 + sy_rng_below(rng, 6),
             10 * sy_log_between(rng, 0.3, 3), sy_rng_below(rng, 1000000));
}

/* Stages whose tasks take 10 us to 1,000 s, within a graph up to thousands of times more, joined by
 * tasks that take no time; half of them without data, as many recorded jobs are. */
static void write_stages(char *spec, double tasks, bool recorded, struct sy_rng *rng) {
    double count = fmax(sqrt(tasks) * sy_log_between(rng, 0.4, 1.5), 2);
    double work = sy_log_between(rng, 1e-2, 1e6), spread = sy_between(rng, 0, 5);
    double bytes = sy_log_between(rng, 1e3, 1e8);
    (void)recorded;
    snprintf(spec, SPEC_SIZE, "stages:%u,width=%u,work=%.3g,spread=%.2f,bytes=%.3g,seed=%u",
             whole(count, 2), whole(2.5 * tasks / count, 1), work, spread,
             sy_chance(rng, 0.5) ? bytes : 0, sy_rng_below(rng, 1000000));
}

static void write_genomics(char *spec, double tasks, bool recorded, struct sy_rng *rng) {
    (void)recorded;
    snprintf(spec, SPEC_SIZE, "genomics:%u,regions=%u,seed=%u", whole(tasks / 6, 2),
             whole(tasks / 6 * sy_between(rng, 0.4, 1.4), 1), sy_rng_below(rng, 1000000));
}

static void write_gnn(char *spec, double tasks, bool recorded, struct sy_rng *rng) {
    uint32_t layers = 2 + sy_rng_below(rng, 3);
    (void)recorded;
    snprintf(spec, SPEC_SIZE, "gnn:%u,layers=%u,vertices=%.0f,degree=%.0f,features=%u",
             whole(tasks / (2 * layers), 1), layers, sy_log_between(rng, 5e3, 8e4),
             sy_log_between(rng, 4, 40), 64u << sy_rng_below(rng, 4));
}

static void write_transformer(char *spec, double tasks, bool recorded, struct sy_rng *rng) {
    uint32_t windows = 2 + sy_rng_below(rng, 11);
    (void)recorded;
    snprintf(spec, SPEC_SIZE, "transformer:%u,windows=%u,tokens=%u,width=%u",
             whole(tasks / (4 * windows), 1), windows, 128u << sy_rng_below(rng, 4),
             512u << sy_rng_below(rng, 2));
}

static const struct family families[] = {
    {.name = "cholesky", .write = write_cholesky},
    {.name = "lu", .write = write_lu},
    {.name = "qr", .write = write_qr},
    {.name = "fft", .write = write_fft},
    {.name = "gauss", .write = write_gauss},
    {.name = "chain", .write = write_chain},
    {.name = "independent", .write = write_independent},
    {.name = "stencil", .write = write_stencil},
    {.name = "outtree", .write = write_outtree},
    {.name = "intree", .write = write_intree},
    {.name = "forkjoin", .write = write_forkjoin},
    {.name = "layered", .write = write_layered},
    {.name = "stages", .write = write_stages},
    {.name = "genomics", .write = write_genomics},
    {.name = "gnn", .write = write_gnn},
    {.name = "transformer", .write = write_transformer},
};

const struct family *sy_family_at(uint32_t index) {
    return index < SY_COUNT(families) ? &families[index] : NULL;
}

/* --- machines -----------------------------------------------------------------------------------
 */
struct text {
    char *at;
    size_t left;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text->at, text->left, format, args);
    va_end(args);
    SY_ASSERT(length >= 0 && (size_t)length < text->left);
    text->at += length;
    text->left -= (size_t)length;
}

static void put_sockets(struct text *text, uint32_t most, uint32_t smt, struct sy_rng *rng) {
    uint32_t sockets = 1 + sy_rng_below(rng, 2), cores = 2 + sy_rng_below(rng, most - 1);
    put(text, "%ux(cpu:%u", sockets, cores);
    if (smt > 1) {
        put(text, "@smt=%u", smt);
    }
    put(text, " dram:%.0fGB/s)", sy_log_between(rng, 15, 120));
    if (sockets > 1) {
        put(text, " upi:%.0fGB/s", sy_log_between(rng, 10, 40));
    }
}

static void put_gpus(struct text *text, uint32_t least, uint32_t most, struct sy_rng *rng) {
    uint32_t count = least + sy_rng_below(rng, most - least + 1);
    if (count == 0) {
        return;
    }
    put(text, " gpu:%u@pcie%ux%u", count, 3 + sy_rng_below(rng, 2), 8u << sy_rng_below(rng, 2));
    if (count > 1 && sy_chance(rng, 0.4)) {
        put(text, ",bus=a");
    }
    if (sy_chance(rng, 0.5)) {
        put(text, ",speed=%.2f", sy_log_between(rng, 0.4, 2.5));
    }
    if (sy_chance(rng, 0.15)) {
        put(text, ",streams=2");
    }
}

static void write_cores(char *spec, struct sy_rng *rng) {
    struct text text = {spec, SPEC_SIZE};
    put_sockets(&text, 16, 1, rng);
}

static void write_gpus(char *spec, struct sy_rng *rng) {
    struct text text = {spec, SPEC_SIZE};
    put_sockets(&text, 12, 1, rng);
    put_gpus(&text, 1, 4, rng);
}

static void write_fpga(char *spec, struct sy_rng *rng) {
    struct text text = {spec, SPEC_SIZE};
    put_sockets(&text, 8, 1, rng);
    put_gpus(&text, 0, 2, rng);
    put(&text, " fpga:1@regions=%u", 1 + sy_rng_below(rng, 3));
}

static void write_smt(char *spec, struct sy_rng *rng) {
    struct text text = {spec, SPEC_SIZE};
    put_sockets(&text, 6, 2, rng);
    put_gpus(&text, 0, 4, rng);
}

static const struct shape shapes[] = {
    {.name = "cores", .write = write_cores},
    {.name = "gpus", .write = write_gpus},
    {.name = "fpga", .write = write_fpga},
    {.name = "smt", .write = write_smt},
};

const struct shape *sy_shape_at(uint32_t index) {
    return index < SY_COUNT(shapes) ? &shapes[index] : NULL;
}
