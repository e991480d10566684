/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a declared FPGA card would take: a model of cycles, no card and no bitstream.
 *
 * The array follows the idea of SWAT (Bai et al., DAC 2024): one core per token of the window, each
 * with the key and the value of its token in its own memory; queries pass one after the other, and
 * per query only the oldest token is replaced. So keys and values are read once. A query takes as
 * long as its longest stage, the dot product over the head's columns. Cores that a narrow window
 * leaves free take other heads; a window wider than the array passes through it several times.
 * Separate kernels use one half of the array each and move scores through the card's memory.
 */
#include "attention/attention.h"
#include <math.h>

/* Assumptions, for a card of the size of an Alveo U280 (9,024 DSP slices, 460 GB/s HBM). */
static const struct {
    double clock_hz;
    double cores;             /* 512 cores x 2 multiply-adds x 5 DSP slices (fp32) = 5,120 */
    double cycles_per_column; /* of a core's running sum: not fully pipelined additions */
    double cycles_per_query;  /* beside it: the tree of sums, replacing a token */
    double fill_cycles;       /* until the first result leaves, per head and sequence */
    double exponentials;      /* per cycle, of the softmax kernel alone */
    double bytes_per_s;       /* of HBM, about 3 / 4 of the data sheet's */
    double launch_ns;
} card = {
    .clock_hz = 300e6,
    .cores = 512,
    .cycles_per_column = 3,
    .cycles_per_query = 9,
    .fill_cycles = 600,
    .exponentials = 64,
    .bytes_per_s = 345e9,
    .launch_ns = 20e3,
};

double attn_fpga_model_ns(enum attn_kernel kernel, const struct attn_shape *shape) {
    double rows = (double)shape->rows, heads = shape->heads, slots = shape->slots;
    double model = shape->model, table = 4 * rows * heads * slots;
    double query = card.cycles_per_column * shape->width + card.cycles_per_query;
    double passes =
        slots > card.cores ? ceil(slots / card.cores) : 1 / fmin(floor(card.cores / slots), heads);
    double cycles = rows * heads * passes * query + card.fill_cycles * heads * shape->batch;
    double bytes = 4 * rows * 4 * model;
    switch (kernel) {
    case ATTN_SCORES:
        bytes = 4 * rows * 2 * model + table;
        break;
    case ATTN_SOFTMAX: /* twice over the row: its sum, then the division */
        cycles = 2 * rows * heads * slots / card.exponentials + card.fill_cycles;
        bytes = 2 * table;
        break;
    case ATTN_MIX:
        bytes = 4 * rows * 2 * model + table;
        break;
    case ATTN_ATTENTION:
        break;
    case ATTN_KERNEL_COUNT:
        return NAN;
    }
    return card.launch_ns + 1e9 * fmax(cycles / card.clock_hz, bytes / card.bytes_per_s);
}
