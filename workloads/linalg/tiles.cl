/* SPDX-License-Identifier: Apache-2.0
 *
 * Products and triangular solves of tiles in double precision.
 *
 * Every matrix is addressed by an offset and two strides (from row to row, from column to column),
 * so that a transposed one is the same with its strides swapped.
 */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define BLOCK 64 /* of C, per work-group of 8 x 8; a work-item has 8 x 8 elements */
#define DEPTH 16 /* of A and B in local memory at a time */
#define SOLVE 32 /* columns of a triangle at a time */

/* Brings count (at most BLOCK) lines of DEPTH elements into to[element][line]. Whole blocks whose
 * lines or elements are neighbours in memory go by vectors. */
void bring(__global const double *from, int line, int element, int count, int depth, int item,
           __local double (*to)[BLOCK]) {
    if (count >= BLOCK && depth >= DEPTH && line == 1) {
        int chunk = item % 8 * 8;
        for (int d = item / 8; d < DEPTH; d += 8) {
            vstore8(vload8(0, from + chunk + d * element), 0, to[d] + chunk);
        }
    } else if (count >= BLOCK && depth >= DEPTH && element == 1) {
        for (int d = 0; d < DEPTH; d += 8) {
            double8 values = vload8(0, from + item * line + d);
            to[d][item] = values.s0;
            to[d + 1][item] = values.s1;
            to[d + 2][item] = values.s2;
            to[d + 3][item] = values.s3;
            to[d + 4][item] = values.s4;
            to[d + 5][item] = values.s5;
            to[d + 6][item] = values.s6;
            to[d + 7][item] = values.s7;
        }
    } else {
        for (int d = 0; d < DEPTH; d++) {
            to[d][item] = item < count && d < depth ? from[item * line + d * element] : 0.0;
        }
    }
}

/* C = beta C + alpha A B, of which only the lower triangle where lower is set. A is m x k. */
__kernel __attribute__((reqd_work_group_size(8, 8, 1))) void
gemm(int m, int n, int k, double alpha, double beta, __global const double *a, int a_at, int a_row,
     int a_column, __global const double *b, int b_at, int b_row, int b_column, __global double *c,
     int c_at, int c_row, int c_column, int lower) {
    __local double left[DEPTH][BLOCK], right[DEPTH][BLOCK];
    int x = (int)get_local_id(0), y = (int)get_local_id(1), item = y * 8 + x;
    int top = (int)get_group_id(0) * BLOCK, side = (int)get_group_id(1) * BLOCK;
    double8 sum[8];
    if (lower && top + BLOCK <= side) {
        return; /* the whole group */
    }
    a += a_at + top * a_row;
    b += b_at + side * b_column;
    for (int j = 0; j < 8; j++) {
        sum[j] = (double8)(0.0);
    }
    for (int from = 0; from < k; from += DEPTH) {
        bring(a + from * a_column, a_row, a_column, m - top, k - from, item, left);
        bring(b + from * b_row, b_column, b_row, n - side, k - from, item, right);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int d = 0; d < DEPTH; d++) {
            double8 rows = vload8(x, left[d]);
#pragma unroll
            for (int j = 0; j < 8; j++) {
                sum[j] = mad(rows, (double8)(right[d][y * 8 + j]), sum[j]);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int j = 0; j < 8; j++) {
        double out[8];
        int column = side + y * 8 + j;
        vstore8(sum[j], 0, out);
        for (int i = 0; i < 8; i++) {
            int row = top + x * 8 + i;
            if (row < m && column < n && !(lower && row < column)) {
                __global double *to = c + c_at + row * c_row + column * c_column;
                *to = (beta == 0.0 ? 0.0 : beta * *to) + alpha * out[i];
            }
        }
    }
}

/* X T = B for one block of at most SOLVE columns of the upper triangle T, in place of B; each
 * work-item has a row of B. The diagonal counts as scale * T(j,j) + shift. */
__kernel void solve(int m, int n, __global const double *t, int t_at, int t_row, int t_column,
                    double scale, double shift, __global double *b, int b_at, int b_row,
                    int b_column) {
    int row = (int)get_global_id(0);
    double x[SOLVE];
    if (row >= m) {
        return;
    }
    for (int j = 0; j < n; j++) {
        __global double *to = b + b_at + row * b_row + j * b_column;
        double sum = *to;
        for (int k = 0; k < j; k++) {
            sum -= x[k] * t[t_at + k * t_row + j * t_column];
        }
        x[j] = sum / (scale * t[t_at + j * (t_row + t_column)] + shift);
        *to = x[j];
    }
}

/* A = A - B, m x n. */
__kernel void subtract(int m, __global double *a, int a_at, int a_column, __global const double *b,
                       int b_column) {
    int row = (int)get_global_id(0), column = (int)get_global_id(1);
    if (row < m) {
        a[a_at + row + column * a_column] -= b[row + column * b_column];
    }
}
