/* cut_fft.c - the kernels nufft_modes and nufft_grid: Fourier transforms between the fine grid and modes.
 *
 * Axis by axis, rows that are cut away afterwards, or are zero before, are left out.  The fastest axis is
 * transformed in its rows; others in COLUMNS numbers side by side, copied to a small buffer and back.  The
 * last copy multiplies with the factors.  One long axis of n = n1 n2 cells is cut into n1 columns and
 * n2 rows (Bailey's four steps), which several threads share, which keeps to the caches, and whose result
 * does not depend on the number of threads.
 */
#include "cut_fft.h"

#include <math.h>
#include <string.h>

#define TWO_PI 6.28318530717958647693
static size_t align_up(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* The divisor of n closest to its root. */
static size_t near_root(size_t n)
{
    size_t best = 1;
    for (size_t d = 1; d * d <= n; d++)
        if (n % d == 0)
            best = d;
    return best;
}

static bool is_long(const struct nufft_cut *c)
{
    size_t lead;
    if (c->job.dim > 1 || c->cells < LONG_AXIS)
        return false;
    if (c->job.flags & HCY_NUFFT_SAME_BITS)
        return cpu_fft_lead(&lead, c->cells, LONG_COLUMN) > 0;
    return near_root(c->cells) > 64;
}

/* The most that a thread needs for one of the axes. */
static size_t transform_scratch(const struct fft *f)
{
    const size_t lengths[] = { f->n[0], f->n[1], f->n[2] }, parts[] = { f->lead ? f->n2 : f->n1, f->n2, f->n2 };
    size_t most = 0;
    for (int i = 0; i < 3; i++) {
        const size_t need = cpu_fft_many_scratch(f->n1 ? parts[i] : lengths[i]);
        most = need > most ? need : most;
    }
    return most;
}

/* One long axis as a table of n1 by n2, as near to a square as its divisors allow; or, as two steps would have other
 * bits than one, which all devices have, with so many of its passes taken alone that what is left are short columns. */
static void cut_long_axis(struct fft *f)
{
    f->n1 = near_root(f->c.cells);
    if (f->c.job.flags & HCY_NUFFT_SAME_BITS)
        f->lead = cpu_fft_lead(&f->n1, f->c.cells, LONG_COLUMN);
    f->n2 = f->c.cells / f->n1;
}

/* Lengths and scratch: [buffers][turned][powers][coarse][fine]. */
static size_t lay_out_fft(struct fft *f, unsigned threads, char *scratch)
{
    const hcy_nufft_job *job = &f->c.job;
    size_t longest = 1, at = 0;
    f->sign = job->sign;
    f->size = 2 * f->c.real;
    for (unsigned d = 0; d < 3; d++) {
        f->n[d] = d < job->dim ? (size_t)job->grid[job->dim - 1 - d] : 1;
        longest = d && f->n[d] > longest ? f->n[d] : longest;
    }
    if (is_long(&f->c)) {
        cut_long_axis(f);
        longest = f->n2 > f->n1 || f->lead ? f->n2 : f->n1;
        f->fine_n = (size_t)ceil(sqrt((double)f->c.cells));
    }
    /* Without scratch memory only the size is asked for, so places are then not made. */
    f->buffers = scratch;
    f->columns = align_up(longest * COLUMNS * f->size + ALIGN * COLUMNS);
    f->buffer = f->columns + transform_scratch(f);
    at = threads * f->buffer;
    if (f->n1) {
        f->turned = scratch ? scratch + at : NULL;
        /* Cropping turns within the grid itself, which it may overwrite; padding writes the grid at the end. */
        at += f->c.crops && !f->lead ? 0 : align_up(f->c.cells * f->size);
        f->powers = scratch ? scratch + at : NULL;
        at += align_up(f->n1 * COLUMNS * f->size);
        f->coarse = scratch ? (double *)(void *)(scratch + at) : NULL;
        at += align_up((f->fine_n + 2) * 16);
        f->fine = scratch ? (double *)(void *)(scratch + at) : NULL;
        at += align_up((f->fine_n + 2) * 16);
    }
    /* Modes of both signs lie at both ends of an axis, so columns are taken from two spans. */
    for (int k = 0; k < 2; k++)
        f->blocks[k] = (f->c.spans[job->dim - 1][k].n + COLUMNS - 1) / COLUMNS;
    f->all = f->blocks[0] + f->blocks[1];
    return at;
}

/* The scratch of both kernels, which do the same in two directions. */
static int cut_fft_scratch(size_t *size, const struct cpu_call *call, const hcy_nufft_job *job)
{
    struct fft f = { 0 };
    struct nufft_layout l;
    f.c.job = *job;
    int status = nufft_layout_of(&l, &f.c.job);
    if (status)
        return status;
    f.c.real = l.real;
    f.c.cells = l.cells;
    *size = lay_out_fft(&f, cpu_pool_threads(call->pool), NULL);
    return 0;
}

int nufft_modes_scratch(size_t *size, const struct cpu_call *call)
{
    return cut_fft_scratch(size, call, call->values[HCY_ARG_AT(nufft_modes, job)].bytes);
}

int nufft_grid_scratch(size_t *size, const struct cpu_call *call)
{
    return cut_fft_scratch(size, call, call->values[HCY_ARG_AT(nufft_grid, job)].bytes);
}

/* --- Blocks of columns --- */

struct block {
    size_t x, mode, factor, n; /* first cell, mode, factor; columns */
};

static struct block block_at(const struct fft *f, size_t i)
{
    int k = i >= f->blocks[0];
    const struct nufft_span *s = &f->c.spans[f->c.job.dim - 1][k];
    size_t first = (i - (k ? f->blocks[0] : 0)) * COLUMNS;
    return (struct block){ s->grid + first, s->mode + first, s->factor + first,
                           s->n - first < COLUMNS ? s->n - first : COLUMNS };
}

static void zero_rows(const struct fft *f, char *buffer, size_t begin, size_t end)
{
    memset(buffer + begin * COLUMNS * f->size, 0, (end - begin) * COLUMNS * f->size);
}

/* --- Two and three axes: the fastest, and the middle one of three, plane by plane --- */

/* Transforms a plane along the middle axis, some columns at a time. */
static void transform_middle(const struct fft *f, char *plane, char *buffer)
{
    const struct nufft_span *y = f->c.spans[f->c.job.dim - 2];
    size_t stride = f->n[0] * f->size;
    for (size_t i = 0; i < f->all; i++) {
        struct block b = block_at(f, i);
        char *at = plane + b.x * f->size;
        /* Cropping needs all rows and keeps some; padding has some and needs all, so the others are zeros. */
        if (f->c.crops) {
            gather_columns(f, buffer, 0, at, stride, f->n[1], b.n);
        } else {
            zero_rows(f, buffer, y[0].n, f->n[1] - y[1].n);
            for (int k = 0; k < 2; k++)
                gather_columns(f, buffer, y[k].grid, at + y[k].grid * stride, stride, y[k].n, b.n);
        }
        cpu_fft_many_run(f->middle, buffer, 1, 0, buffer + f->columns);
        if (f->c.crops)
            for (int k = 0; k < 2; k++)
                give_columns_back(f, buffer, y[k].grid, at + y[k].grid * stride, stride, y[k].n, b.n);
        else
            give_columns_back(f, buffer, 0, at, stride, f->n[1], b.n);
    }
}

static void zero_between(const struct fft *f, char *row)
{
    const struct nufft_span *x = f->c.spans[f->c.job.dim - 1];
    memset(row + x[0].n * f->size, 0, (f->n[0] - x[0].n - x[1].n) * f->size);
}

/* Rows behind one another.  Padding goes from the slowest axis to the fastest and cropping back, so that rows of zeros,
 * or of no interest, are never transformed. */
static void transform_rows(const struct fft *f, char *first, size_t rows, char *buffer)
{
    const size_t bytes = f->n[0] * f->size;
    for (size_t y = 0; y < rows && !f->c.crops; y++)
        zero_between(f, first + y * bytes);
    cpu_fft_many_run(f->rows, first, rows, bytes, buffer + f->columns);
}

/* Planes of three axes. */
static void plane_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct fft *f = context;
    char *buffer = f->buffers + thread * f->buffer;
    for (size_t i = begin; i < end; i++) {
        char *plane = f->c.grid + i * f->n[1] * f->n[0] * f->size;
        if (!f->c.crops)
            transform_middle(f, plane, buffer);
        transform_rows(f, plane, f->n[1], buffer);
        if (f->c.crops)
            transform_middle(f, plane, buffer);
    }
}

/* Rows of two axes. */
static void rows_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct fft *f = context;
    transform_rows(f, f->c.grid + begin * f->n[0] * f->size, end - begin, f->buffers + thread * f->buffer);
}

/* One block of columns of the slowest axis at row `gy` of the planes, for modes of row `my`. */
static void slow_block(const struct fft *f, size_t item, const struct block *b, size_t gy, size_t my,
                       double s, char *buffer)
{
    const struct nufft_cut *c = &f->c;
    const struct nufft_span *slow = c->spans[0];
    int last = (int)c->job.dim - 1;
    size_t n = f->n[last], stride = c->cells / n * f->size, mode_stride = c->all / (size_t)c->job.modes[0];
    char *grid = c->grid + (item * c->cells + gy * f->n[0] + b->x) * f->size;
    char *modes = c->modes + (item * c->all + my * (size_t)c->job.modes[last] + b->mode) * f->size;
    const char *factors = c->factors[last] + b->factor * c->real;
    /* The block is copied to the buffer because its rows lie a plane apart: the transform would miss the cache at
     * each. */
    if (c->crops) {
        gather_columns(f, buffer, 0, grid, stride, n, b->n);
        cpu_fft_many_run(f->slow, buffer, 1, 0, buffer + f->columns);
    } else {
        zero_rows(f, buffer, 0, n);
    }
    /* The factors are multiplied in by the copy that is needed anyway. */
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < slow[k].n; i++) {
            char *row = buffer + (slow[k].grid + i) * COLUMNS * f->size;
            char *mode = modes + (slow[k].mode + i) * mode_stride * f->size;
            double all = s * nufft_factor(c, 0, slow[k].factor + i);
            c->ops->weigh(c->crops ? mode : row, c->crops ? row : mode, factors, all, b->n);
        }
    /* For padding the modes were put into the buffer first, and the transform comes after. */
    if (!c->crops) {
        cpu_fft_many_run(f->slow, buffer, 1, 0, buffer + f->columns);
        give_columns_back(f, buffer, 0, grid, stride, n, b->n);
    }
}

static void slow_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct fft *f = context;
    const struct nufft_span *y = f->c.spans[1];
    size_t rows = f->c.job.dim == 3 ? (size_t)f->c.job.modes[1] : 1;
    for (size_t i = begin; i < end; i++) {
        size_t j = i / f->all % rows, item = i / f->all / rows, gy = 0, my = 0;
        struct block b = block_at(f, i % f->all);
        double s = 1;
        /* Only rows that have modes are transformed: j counts them through both spans. */
        if (f->c.job.dim == 3) {
            int k = j >= y[0].n;
            j -= k ? y[0].n : 0;
            gy = y[k].grid + j;
            my = y[k].mode + j;
            s = nufft_factor(&f->c, 1, y[k].factor + j);
        }
        slow_block(f, item, &b, gy, my, s, f->buffers + thread * f->buffer);
    }
}

static void run_axes(struct fft *f, struct cpu_pool *pool, size_t items)
{
    size_t planes = items * f->n[f->c.job.dim - 1], rows = f->c.job.dim == 3 ? (size_t)f->c.job.modes[1] : 1;
    const cpu_range_fn fastest = f->c.job.dim == 3 ? plane_range : rows_range;
    size_t grain = f->c.job.dim == 3 ? 1 : ROWS;
    /* The axes depend on one another: each pool call ends before the next begins. */
    if (f->c.crops)
        cpu_pool_for(pool, planes, grain, fastest, f);
    cpu_pool_for(pool, items * rows * f->all, 1, slow_range, f);
    if (!f->c.crops)
        cpu_pool_for(pool, planes, grain, fastest, f);
}

/* --- One axis --- */

static void short_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct fft *f = context;
    const struct nufft_cut *c = &f->c;
    char *scratch = f->buffers + thread * f->buffer + f->columns;
    for (size_t i = begin; i < end; i++) {
        char *grid = c->grid + i * c->cells * f->size, *modes = c->modes + i * c->all * f->size;
        /* A short axis is one transform, and a thread takes a whole vector. */
        if (c->crops)
            cpu_fft_many_run(f->rows, grid, 1, 0, scratch);
        else
            zero_between(f, grid);
        for (int k = 0; k < 2; k++) {
            const struct nufft_span *s = &c->spans[0][k];
            char *g = grid + s->grid * f->size, *m = modes + s->mode * f->size;
            c->ops->weigh(c->crops ? m : g, c->crops ? g : m, c->factors[0] + s->factor * c->real, 1, s->n);
        }
        if (!c->crops)
            cpu_fft_many_run(f->rows, grid, 1, 0, scratch);
    }
}

static void put_complex(const struct fft *f, char *at, double re, double im)
{
    float floats[2] = { (float)re, (float)im };
    double both[2] = { re, im };
    memcpy(at, f->size == 16 ? (void *)both : (void *)floats, f->size);
}

/* exp(sign 2 pi i j / n), j below n, from the two tables. */
static void root_of_unity(const struct fft *f, size_t j, double *re, double *im)
{
    /* Two tables of about sqrt(n) numbers stand for n of them, at the cost of one multiplication in double. */
    const double *a = f->coarse + 2 * (j / f->fine_n), *b = f->fine + 2 * (j % f->fine_n);
    *re = a[0] * b[0] - a[1] * b[1];
    *im = a[0] * b[1] + a[1] * b[0];
}

static void make_roots(struct fft *f)
{
    double unit = f->sign * TWO_PI / (double)f->c.cells;
    for (size_t i = 0; i <= f->fine_n; i++) {
        /* Each number comes from the library and none from the one before, so errors do not add up. */
        f->fine[2 * i] = cos(unit * (double)i);
        f->fine[2 * i + 1] = sin(unit * (double)i);
        f->coarse[2 * i] = cos(unit * (double)(i * f->fine_n));
        f->coarse[2 * i + 1] = sin(unit * (double)(i * f->fine_n));
    }
    for (size_t k = 0; k < f->n1; k++)
        for (size_t c = 0; c < COLUMNS; c++) {
            double re, im;
            root_of_unity(f, k * c % f->c.cells, &re, &im);
            put_complex(f, f->powers + (k * COLUMNS + c) * f->size, re, im);
        }
}

/* Row k1 of the buffer times exp(2 pi i k1 (l2 + c) / n), c its column. */
static void twiddle_rows(const struct fft *f, char *buffer, size_t l2)
{
    for (size_t k = 0; k < f->n1; k++) {
        char first[16], row[COLUMNS * 16];
        double re, im;
        /* One root for the block and a table of powers for its columns: a sine for each number would cost more than
         * the transform. */
        root_of_unity(f, k * l2 % f->c.cells, &re, &im);
        put_complex(f, first, re, im);
        for (size_t c = 0; c < COLUMNS; c++)
            memcpy(row + c * f->size, first, f->size);
        char *at = buffer + k * COLUMNS * f->size;
        f->c.ops->multiply(row, row, f->powers + k * COLUMNS * f->size, false, COLUMNS);
        f->c.ops->multiply(at, at, row, false, COLUMNS);
    }
}

/* What modes there are for cells [cell, cell + n) of the axis, times factors, to a row that is zero. */
static void put_modes(const struct fft *f, size_t cell, size_t n, char *row)
{
    const struct nufft_cut *c = &f->c;
    const char *modes = c->modes + f->item * c->all * f->size;
    for (int k = 0; k < 2; k++) {
        const struct nufft_span *s = &c->spans[0][k];
        size_t begin = cell > s->grid ? cell : s->grid,
               end = cell + n < s->grid + s->n ? cell + n : s->grid + s->n;
        if (begin < end)
            c->ops->weigh(row + (begin - cell) * f->size, modes + (s->mode + begin - s->grid) * f->size,
                          c->factors[0] + (s->factor + begin - s->grid) * c->real, 1, end - begin);
    }
}

/* COLUMNS columns l2: transformed along l1 and turned. */
static void column_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct fft *f = context;
    char *buffer = f->buffers + thread * f->buffer, *grid = f->c.grid + f->item * f->c.cells * f->size;
    char *to = f->c.crops ? grid : f->turned;
    for (size_t i = begin; i < end; i++) {
        size_t l2 = i * COLUMNS, n = f->n2 - l2 < COLUMNS ? f->n2 - l2 : COLUMNS, stride = f->n2 * f->size;
        /* Padding has no grid yet: a column is made of the modes that fall on it. */
        if (f->c.crops) {
            gather_columns(f, buffer, 0, grid + l2 * f->size, stride, f->n1, n);
        } else {
            zero_rows(f, buffer, 0, f->n1);
            for (size_t l1 = 0; l1 < f->n1; l1++)
                put_modes(f, l1 * f->n2 + l2, n, buffer + l1 * COLUMNS * f->size);
        }
        cpu_fft_many_run(f->slow, buffer, 1, 0, buffer + f->columns);
        twiddle_rows(f, buffer, l2);
        give_columns_back(f, buffer, 0, to + l2 * f->size, stride, f->n1, n);
    }
}

/* Numbers of ROWS rows of a buffer side by side: out[row] = column j of the row, for 8 bytes and for 16. */
static void put_side_by_side(const struct fft *f, const char *rows, size_t pitch, size_t n, size_t j, char *out)
{
    for (size_t r = 0; r < n; r++)
        memcpy(out + r * f->size, rows + r * pitch + j * f->size, f->size);
}

/* ROWS rows k1: transformed along l2; number k2 of row k1 is that of cell k1 + n1 k2. */
static void row_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct fft *f = context;
    const struct nufft_cut *c = &f->c;
    /* Rows lie a cache line more than their length apart, so that the same column of all rows is not in one cache
     * set. */
    char *buffer = f->buffers + thread * f->buffer, *grid = c->grid + f->item * c->cells * f->size;
    char *modes = c->modes + f->item * c->all * f->size, line[ROWS * 16];
    size_t pitch = f->n2 * f->size + ALIGN;
    for (size_t i = begin; i < end; i++) {
        size_t k1 = i * ROWS, n = f->n1 - k1 < ROWS ? f->n1 - k1 : ROWS;
        /* The rows are copied, because their results are interleaved with those of other rows. */
        for (size_t r = 0; r < n; r++)
            memcpy(buffer + r * pitch, (c->crops ? grid : f->turned) + (k1 + r) * f->n2 * f->size,
                   f->n2 * f->size);
        cpu_fft_many_run(f->rows, buffer, n, pitch, buffer + f->columns);
        for (size_t k2 = 0; k2 < f->n2; k2++) {
            size_t cell = k1 + f->n1 * k2;
            /* The results of neighbouring rows are neighbours in the grid: ROWS of them are written together. */
            if (!c->crops) {
                put_side_by_side(f, buffer, pitch, n, k2, grid + cell * f->size);
                continue;
            }
            for (int k = 0; k < 2; k++) {
                const struct nufft_span *s = &c->spans[0][k];
                size_t from = cell > s->grid ? cell : s->grid,
                       to = cell + n < s->grid + s->n ? cell + n : s->grid + s->n;
                /* Cells without modes are cut away by not being copied. */
                if (from >= to)
                    continue;
                put_side_by_side(f, buffer, pitch, n, k2, line);
                c->ops->weigh(modes + (s->mode + from - s->grid) * f->size, line + (from - cell) * f->size,
                              c->factors[0] + (s->factor + from - s->grid) * c->real, 1, to - from);
            }
        }
    }
}

static void run_long(struct fft *f, struct cpu_pool *pool, size_t items)
{
    make_roots(f);
    /* The vectors share one work table, so they go one after the other, each on all threads. */
    for (f->item = 0; f->item < items; f->item++) {
        cpu_pool_for(pool, (f->n2 + COLUMNS - 1) / COLUMNS, 1, column_range, f);
        cpu_pool_for(pool, (f->n1 + ROWS - 1) / ROWS, 1, row_range, f);
    }
}

/* --- The kernels --- */

static int get_axis_plan(struct cpu_fft_kept **kept, const struct fft *f, size_t n, bool in_rows)
{
    bool aligned = !in_rows || (n * f->size % ALIGN == 0 && (uintptr_t)f->c.grid % ALIGN == 0);
    /* What is measured may differ from run to run, which a fixed order forbids, and takes longer than a small grid
     * is worth. */
    bool measured = !(f->c.job.flags & (HCY_NUFFT_FIXED_ORDER | HCY_NUFFT_SAME_BITS)) && f->c.cells >= WORTH_MEASURING;
    struct cpu_fft_many many = { f->size == 16, aligned, measured, f->sign, (int)n, 1, 1, (int)n, f->choice, f->simd };
    if (!in_rows)
        many.howmany = COLUMNS, many.stride = COLUMNS, many.dist = 1;
    return cpu_fft_many_get(kept, &many);
}

static int make_plans(struct fft *f)
{
    unsigned dim = f->c.job.dim;
    /* Passes over a whole axis are those of its own plan. */
    const size_t row = f->n1 && !f->lead ? f->n2 : f->n[0], column = f->lead ? f->n2 : f->n1;
    int status = get_axis_plan(&f->rows, f, row, true);
    /* Which plan stands for which axis depends on the way: a long axis has rows and columns. */
    if (!status && dim == 3)
        status = get_axis_plan(&f->middle, f, f->n[1], false);
    if (!status && (dim > 1 || f->n1))
        status = get_axis_plan(&f->slow, f, f->n1 ? column : f->n[dim - 1], false);
    return status;
}

static int run_cut_fft(const struct cpu_call *call, bool crops)
{
    const struct hcy_nufft_cut_at *at = hcy_nufft_cut_at(crops, true);
    struct fft f = { 0 };
    int status = nufft_take_cut(&f.c, call, crops, at);
    if (status)
        return status;
    unsigned dim = f.c.job.dim;
    size_t size = lay_out_fft(&f, cpu_pool_threads(call->pool), cpu_arg(call, at->scratch));
    if (cpu_arg_size(call, at->scratch) < size)
        return hcy_fail(HCY_EINVAL, "nufft: %zu bytes of scratch are needed", size);
    if (!nufft_may_begin(cpu_arg(call, at->scratch)))
        return hcy_fail(HCY_EINVAL, "nufft: scratch memory does not begin at a multiple of %d bytes", NUFFT_ALIGN);
    f.choice = f.c.job.flags & HCY_NUFFT_SAME_BITS ? CPU_FFT_OWN : call->fft;
    f.simd = call->simd;
    status = make_plans(&f);
    /* FFTW ends the process when memory lacks, so its needs are tried before the axes run. */
    const struct cpu_fft_kept *const plans[] = { f.rows, f.middle, f.slow };
    if (!status)
        status = cpu_fft_many_check(plans, sizeof plans / sizeof plans[0], cpu_pool_threads(call->pool));
    if (!status && dim > 1)
        run_axes(&f, call->pool, call->items);
    else if (!status && f.lead)
        nufft_run_lead(&f, call->pool, call->items);
    else if (!status && f.n1)
        run_long(&f, call->pool, call->items);
    else if (!status)
        cpu_pool_for(call->pool, call->items, 1, short_range, &f);
    /* Plans that were not made are NULL, which is no plan to give back. */
    cpu_fft_many_put(f.rows);
    cpu_fft_many_put(f.middle);
    cpu_fft_many_put(f.slow);
    return status;
}

int nufft_run_modes(const struct cpu_call *call)
{
    return run_cut_fft(call, true);
}

int nufft_run_grid(const struct cpu_call *call)
{
    return run_cut_fft(call, false);
}
