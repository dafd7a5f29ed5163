/* cut_fft.h - a launch of nufft_modes or nufft_grid, shared by cut_fft.c and, for one long axis with the same bits
 * everywhere, cut_lead.c.  It lives on the stack of the queue's thread; the pool's threads read it. */
#ifndef HCY_CPU_CUT_FFT_H
#define HCY_CPU_CUT_FFT_H

#include "cpu_nufft.h"

#include <string.h>

enum { COLUMNS = 16, ALIGN = 64, LONG_AXIS = 16384, ROWS = 16, WORTH_MEASURING = 1 << 18, LONG_COLUMN = 4096 };

struct fft {
    struct nufft_cut c;
    int sign;
    enum cpu_fft_choice choice;
    enum cpu_simd simd;
    size_t n[3];           /* cells of each axis, from the fastest on; 1 beyond dim */
    size_t size;           /* bytes of a complex number */
    size_t blocks[2], all; /* of COLUMNS columns in each span of x */
    struct cpu_fft_kept *rows, *middle, *slow;
    char *buffers;
    size_t buffer;         /* bytes of a thread's buffer: */
    size_t columns;        /* of COLUMNS columns, and behind them of a transform's own needs */
    size_t item;           /* one axis: the vector at hand */
    size_t n1, n2;         /* one long axis */
    unsigned lead;         /* with the same bits everywhere: passes over all of it, before it is n1 columns of n2 */
    char *turned;          /* [n1][n2], going to the grid */
    char *powers;          /* [n1][COLUMNS]: exp(2 pi i k1 c / n) */
    double *coarse, *fine; /* exp(2 pi i j / n) for j = fine_n * i and j < fine_n */
    size_t fine_n;
};

/* All vectors of a job with one long axis; make_plans() has made the plans. */
void nufft_run_lead(struct fft *fft, struct cpu_pool *pool, size_t items);

/* n rows of a block, `stride` bytes apart, to the buffer from its row `at` on, and back. */
static inline void gather_columns(const struct fft *f, char *buffer, size_t at, const char *from, size_t stride,
                                  size_t n, size_t columns)
{
    size_t bytes = columns * f->size, row = COLUMNS * f->size;
    for (size_t i = 0; i < n; i++) {
        memcpy(buffer + (at + i) * row, from + i * stride, bytes);
        /* The columns that are missing are transformed too, so they must be numbers. */
        if (bytes < row)
            memset(buffer + (at + i) * row + bytes, 0, row - bytes);
    }
}

static inline void give_columns_back(const struct fft *f, const char *buffer, size_t at, char *to, size_t stride,
                                     size_t n, size_t columns)
{
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * stride, buffer + (at + i) * COLUMNS * f->size, columns * f->size);
}

#endif
