/* lines.cl - Fourier transforms of a grid's lines with the operations of the CPU's own (own_loops.h), in its order.
 *
 * A launch is a pass (Stockham's) over all lines of an axis, from one memory to another: an item has RADIX numbers of a
 * line.  Lines side by side are neighbouring items', so memory is read and written in whole pieces.  Backward is
 * forward with real and imaginary parts exchanged where numbers are read and written.
 */
#pragma once
#include "dialect.h"
#include "gpu_format.h"

#define V REAL
struct line_number {
    REAL re, im;
};
typedef struct line_number line_number_t;
#define C line_number_t
#define NUMBER line_number_t
#define NAME(x) line_##x
#include "fft_short.h"

/* Number e of an axis that has modes at both its ends, or of one that is none. */
DEVICE u64 cell_with_modes(u64 e, const struct gpu_nufft_ends *ends)
{
    return e < ends->first ? e : e + ends->skipped;
}

DEVICE C exchanged(C x, u32 backward)
{
    return backward ? line_number(x.im, x.re) : x;
}

/* Number e of a line from memory, or a zero that is not read. */
DEVICE C read_number(const struct gpu_nufft_pass *pass, const C *from, u64 line, u64 e)
{
    if (e >= pass->from_zero && e < pass->to_zero)
        return line_number(0, 0);
    return exchanged(from[line + e * pass->inner], pass->backward);
}

/* Number k of RADIX that were transformed, times its root for the next pass. */
#define TURNED(RADIX, a, j, k, roots) ((k) && (j) ? line_times((a)[k], (roots)[(j) * (RADIX - 1) + (k) - 1]) : (a)[k])

/* Copies numbers, where passes have left them in the other memory. */
#define line_short_1(a)

#define PASS(RADIX)                                                                                              \
    KERNEL GROUP_OF(GROUP_SIZE)                                                                                  \
    void gpu_nufft_pass_##RADIX(struct gpu_nufft_pass pass, BUFFER(const C, from), BUFFER(const C, roots),       \
                                BUFFER(C, to))                                                                   \
    {                                                                                                            \
        OPEN(const C, from) OPEN(const C, roots) OPEN(C, to)                                                     \
        const u64 n = pass.n, part = n / RADIX, done = pass.done, side = pass.ends[0].n * pass.ends[1].n;        \
        for (u64 o = GROUP_Y; o < pass.outer; o += GROUPS_Y)                                                     \
            for (u64 i = ITEM_OF_ALL; i < part * side; i += (u64)GROUPS * GROUP_SIZE) {                          \
                u64 b = i, line = o * n * pass.inner;                                                            \
                if (pass.inner > 1) {                                                                            \
                    b = i / side;                                                                                \
                    line += cell_with_modes(i % pass.ends[0].n, &pass.ends[0]) +                                 \
                            cell_with_modes(i % side / pass.ends[0].n, &pass.ends[1]) * pass.row;                \
                }                                                                                                \
                const u64 j = b / done, q = b - j * done;                                                        \
                C a[RADIX];                                                                                      \
                UNROLL                                                                                           \
                for (int k = 0; k < RADIX; k++)                                                                  \
                    a[k] = read_number(&pass, from, line, b + part * k);                                         \
                line_short_##RADIX(a);                                                                           \
                UNROLL                                                                                           \
                for (int k = 0; k < RADIX; k++) {                                                                \
                    const u64 e = q + done * (RADIX * j + k);                                                    \
                    to[line + e * pass.inner] = exchanged(TURNED(RADIX, a, j, k, roots), pass.backward);         \
                }                                                                                                \
            }                                                                                                    \
    }
PASS(1)
PASS(2)
PASS(3)
PASS(4)
PASS(5)
PASS(7)
PASS(8)
#include "nufft/whole.cl"
