/* SPDX-License-Identifier: Apache-2.0
 *
 * extend in OpenCL C: a work-item a job, plainly; see extend.h. The same extensions as extend.c,
 * and zeros for a job that it refuses. The way back is that of extend_rule.h.
 *
 * Each work-item has slot_bytes of scratch (GN_EXTEND_SLOT_BYTES).
 */
enum { READ_MAX = 512, WINDOW_MAX = 2048, CIGAR_MAX = 14, SCORE_MIN = 30 };
enum { MATCH = 0, INSERT = 1, DELETE = 2, CLIP = 4, NOTHING = 5 };
enum { BACK_MATCH = 1, BACK_DELETE = 2, KEEP_DELETE = 4, KEEP_INSERT = 8, EQUAL = 16 };

/* The first members of the structures of genomics.h. */
typedef struct {
    ulong magic, bytes, length, packed, masked;
} index_t;
typedef struct {
    ulong bytes;
    uint read_count, paired, words, longest;
    ulong reads, packed, bases, serial;
} reads_t;
typedef struct {
    uint bases;
    ushort length, unknown;
} read_t;
typedef struct {
    uint read, window;
    ushort window_length;
    uchar reverse, reserved;
} job_t;
typedef struct {
    ulong bytes;
    uint job_count, longest;
    ulong cells, jobs;
} jobs_t;
typedef struct {
    short score;
    ushort edits;
    uint position, span, cigar_count, cigar[CIGAR_MAX];
} extension_t;

typedef struct {
    __global const ulong *packed, *masked;
    __global const uchar *bases;
    ulong window;
    int width, length;
    bool reverse;
    __global uchar *back;  /* [row][column] */
    __global short *h, *f; /* by column, from 0 */
    __global uchar *codes; /* of the window */
} task_t;

typedef struct {
    int score, row, column;
} end_t;

static int read_code(const task_t *task, int at) {
    int code = task->bases[task->reverse ? task->length - 1 - at : at];
    return code > 3 ? 8 : task->reverse ? 3 - code : code;
}

static int window_code(const task_t *task, int column) {
    ulong at = task->window + (ulong)column;
    bool unknown = (task->masked[at / 64] >> (at % 64) & 1) != 0;
    return unknown ? 4 : (int)(task->packed[at / 32] >> (2 * (at % 32)) & 3);
}

static end_t fill(const task_t *task) {
    end_t end = {0, 0, 0};
    for (int column = 0; column <= task->width; column++) {
        task->h[column] = task->f[column] = 0;
    }
    for (int column = 0; column < task->width; column++) {
        task->codes[column] = (uchar)window_code(task, column);
    }
    for (int row = 0; row < task->length; row++) {
        int code = read_code(task, row), diagonal = row == 0 ? 5 : 0, e = 0;
        for (int column = 1; column <= task->width; column++) {
            bool equal = code == task->codes[column - 1];
            int d = diagonal + (equal ? 1 : -4), f = task->f[column];
            int h = max(max(d, 0), max(e, f)), open = h - 7;
            diagonal = row == 0 ? 5 : task->h[column];
            task->back[(size_t)row * (size_t)task->width + (size_t)(column - 1)] =
                (uchar)((h == d ? BACK_MATCH : 0) | (h == e ? BACK_DELETE : 0) |
                        (e - 1 > open ? KEEP_DELETE : 0) | (f - 1 > open ? KEEP_INSERT : 0) |
                        (equal ? EQUAL : 0));
            e = max(0, max(open, e - 1));
            task->f[column] = (short)max(0, max(open, f - 1));
            task->h[column] = (short)h;
            int value = h + (row + 1 == task->length && h > 0 ? 5 : 0);
            if (value > end.score || (value == end.score && value > 0 && column <= end.column)) {
                end.score = value;
                end.row = row + 1;
                end.column = column;
            }
        }
    }
    return end;
}

/* Ends a run and begins another; the cigar is written from its end. */
static void put(uint next, uint *operation, uint *run, uint *count, extension_t *out) {
    if (*operation != next) {
        if (*run > 0) {
            if (*count < CIGAR_MAX) {
                out->cigar[*count] = *run << 4 | *operation;
            }
            (*count)++;
        }
        *operation = next;
        *run = 0;
    }
}

static void trace(const task_t *task, end_t end, extension_t *out) {
    int row = end.row, column = end.column, value = end.score - (row == task->length ? 5 : 0);
    uint state = MATCH, operation = CLIP, run = (uint)(task->length - row), count = 0, edits = 0;
    while (state != MATCH || (row > 0 && value > 0)) {
        uint bits = task->back[(size_t)(row - 1) * (size_t)task->width + (size_t)(column - 1)];
        bool equal = (bits & EQUAL) != 0;
        if (state != MATCH) {
            bool goes_on = (bits & (state == DELETE ? KEEP_DELETE : KEEP_INSERT)) != 0;
            value += goes_on ? 1 : 7;
            state = goes_on ? state : MATCH;
        }
        if (state == MATCH && !(bits & BACK_MATCH)) {
            state = bits & BACK_DELETE ? DELETE : INSERT;
        }
        put(state, &operation, &run, &count, out);
        run++;
        edits += state != MATCH || !equal ? 1 : 0;
        value += state != MATCH ? 0 : equal ? -1 : 4;
        row -= state != DELETE ? 1 : 0;
        column -= state != INSERT ? 1 : 0;
    }
    put(CLIP, &operation, &run, &count, out);
    run = (uint)row;
    put(NOTHING, &operation, &run, &count, out);
    count = count <= CIGAR_MAX ? count : 0;
    for (uint at = 0; at < count / 2; at++) {
        uint other = out->cigar[at];
        out->cigar[at] = out->cigar[count - 1 - at];
        out->cigar[count - 1 - at] = other;
    }
    for (uint at = count; at < CIGAR_MAX; at++) {
        out->cigar[at] = 0;
    }
    out->score = (short)end.score;
    out->edits = (ushort)edits;
    out->position = (uint)task->window + (uint)column;
    out->span = (uint)(end.column - column);
    out->cigar_count = count;
}

__kernel void extend(__global const uchar *index, __global const uchar *reads,
                     __global const uchar *jobs, __global extension_t *out, ulong out_count,
                     __global uchar *scratch, ulong slot_bytes) {
    __global const index_t *all = (__global const index_t *)index;
    __global const reads_t *batch = (__global const reads_t *)reads;
    __global const jobs_t *list = (__global const jobs_t *)jobs;
    __global uchar *slot = scratch + get_global_id(0) * slot_bytes;
    for (ulong at = get_global_id(0); at < list->job_count && at < out_count;
         at += get_global_size(0)) {
        job_t job = ((__global const job_t *)(jobs + list->jobs))[at];
        extension_t mine = {0};
        if (job.read < batch->read_count && job.window_length <= WINDOW_MAX &&
            (ulong)job.window + job.window_length <= all->length) {
            read_t read = ((__global const read_t *)(reads + batch->reads))[job.read];
            task_t task = {(__global const ulong *)(index + all->packed),
                           (__global const ulong *)(index + all->masked),
                           reads + batch->bases + read.bases,
                           job.window,
                           job.window_length,
                           read.length,
                           job.reverse != 0,
                           slot + 4 * (WINDOW_MAX + 1) + WINDOW_MAX,
                           (__global short *)slot,
                           (__global short *)slot + WINDOW_MAX + 1,
                           slot + 4 * (WINDOW_MAX + 1)};
            end_t end = fill(&task);
            if (end.score >= SCORE_MIN) {
                trace(&task, end, &mine);
            }
        }
        out[at] = mine;
    }
}
