/* nufft_kernels.c - the kernels of non-uniform FFTs through the HAL, against sums as nufft_format.h describes them:
 * points spread to the grid and back, in one to three dimensions, float and double, a window of another kind;
 * points that are wrong; grids smaller than what a kernel takes at once; modes cut out; the same bits in fixed order.
 * Argument: a device; "few" for one whose compiler is slow.
 */
#include "tap.h"
#include <halcyon/fft.h>
#include <halcyon/kernel.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "nufft/nufft_format.h"

#define PI 3.14159265358979323846
static hcy_device *dev;
static hcy_queue *queue;
static bool few, rounds; /* rounds: floats for windows of 4 cells have 11 bits on tensor cores */
static bool settles;     /* many points are sorted in another way than few */
static size_t vectors = 3;
static uint64_t state = 1;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

static hcy_buffer *buffer(const void *data, size_t size)
{
    hcy_buffer *b = NULL;
    if (hcy_buffer_create(&b, dev, HCY_MEM_DEVICE, size ? size : 1) ||
        (data && size && hcy_buffer_write(queue, b, 0, data, size)) || hcy_queue_finish(queue))
        bail_out("%s", hcy_last_error()->text);
    return b;
}

/* Reals in the precision of a job, as doubles here. */
static hcy_buffer *reals(const double *x, size_t n, int precision)
{
    float *small = malloc(n * sizeof *small + 1);
    for (size_t i = 0; i < n; i++)
        small[i] = (float)x[i];
    hcy_buffer *b =
        buffer(precision == HCY_F64 ? (const void *)x : small, n * (precision == HCY_F64 ? 8 : 4));
    free(small);
    return b;
}

static double *read_reals(hcy_buffer *b, size_t n, int precision)
{
    double *x = malloc(n * sizeof *x + 1);
    if (hcy_buffer_read(queue, x, b, 0, n * (precision == HCY_F64 ? 8 : 4)) || hcy_queue_finish(queue))
        bail_out("%s", hcy_last_error()->text);
    for (size_t i = n; i-- > 0 && precision != HCY_F64;) /* in place, from the end */
        x[i] = (double)((float *)(void *)x)[i];
    return x;
}

static double *random_reals(size_t n, int precision)
{
    double *x = malloc(n * sizeof *x + 1);
    for (size_t i = 0; i < n; i++) {
        x[i] = uniform() - 0.5;
        if (precision == HCY_F32)
            x[i] = (float)x[i];
    }
    return x;
}

static double distance(const double *a, const double *b, size_t n)
{
    double off = 0, all = 0;
    for (size_t i = 0; i < n; i++) {
        off += (a[i] - b[i]) * (a[i] - b[i]);
        all += b[i] * b[i];
    }
    return all > 0 ? sqrt(off / all) : sqrt(off);
}

static int launch(const char *name, size_t items, hcy_arg *args, size_t n, bool scratch)
{
    hcy_kernel *k = NULL;
    hcy_buffer *room = NULL;
    size_t size = 0;
    int status = hcy_kernel_get(&k, dev, name);
    if (scratch)
        args[n - 1] = hcy_arg_buf(NULL);
    if (!status && scratch)
        status = hcy_kernel_scratch_size(&size, k, items, args, n);
    if (!status && size)
        status = hcy_buffer_create(&room, dev, HCY_MEM_DEVICE, size);
    if (size)
        args[n - 1] = hcy_arg_buf(room);
    if (!status)
        status = hcy_launch(queue, k, items, args, n);
    int finished = hcy_queue_finish(queue);
    hcy_buffer_release(room);
    hcy_kernel_release(k);
    return status ? status : finished;
}

/* --- Points and the grid --- */

struct scene {
    hcy_nufft_job job;
    size_t cells;
    double *x[3], table[HCY_NUFFT_MAX_COEFS * HCY_NUFFT_MAX_WIDTH], *c, *grid;
    hcy_buffer *points[3], *window, *sorted, *report;
};

/* A window of the format's form that is no prolate one: (1 - z^2)^2. */
static void make_table(double *table, unsigned width)
{
    unsigned n = HCY_NUFFT_COEFS(width);
    for (unsigned j = 0; j < width; j++) {
        double a = 1.0 / width, b = (2.0 * j + 1) / width - 1; /* z = a t + b */
        const double q[3] = { 1 - b * b, -2 * a * b, -a * a };
        for (unsigned i = 0; i < 9; i++)
            table[(n - 1 - i / 3 - i % 3) * HCY_NUFFT_MAX_WIDTH + j] += q[i / 3] * q[i % 3];
    }
}

/* kind 0: anywhere, some on cells and at the period's ends; 1: half of them in one cell; 2: in some cells. */
static void open_scene(struct scene *s, const hcy_nufft_job *job, int kind)
{
    s->job = *job;
    s->cells = 1;
    for (unsigned d = 0; d < job->dim; d++)
        s->cells *= (size_t)job->grid[d];
    for (unsigned d = 0; d < 3; d++) {
        s->x[d] = malloc(job->n_points * sizeof(double) + 1);
        for (size_t i = 0; i < job->n_points; i++) {
            double x = 2 * PI * (3 * uniform() - 1.5);
            if (kind == 0 && i % 7 == 0)
                x = 2 * PI * (double)(i % 96) / 24;
            if (kind == 0 && i % 11 == 0)
                x = i % 2 ? PI : -PI;
            if (kind == 1 && i % 2)
                x = 2 + 1e-3 * uniform();
            if (kind == 2 && i % 2)
                x = 2 + 0.05 * uniform();
            s->x[d][i] = job->precision == HCY_F32 ? (float)x : x;
        }
        s->points[d] = reals(s->x[d], (size_t)job->n_points, (int)job->precision);
    }
    memset(s->table, 0, sizeof s->table);
    make_table(s->table, job->width);
    s->window = reals(s->table, HCY_NUFFT_MAX_COEFS * HCY_NUFFT_MAX_WIDTH, (int)job->precision);
    s->c = random_reals(vectors * 2 * (size_t)job->n_points, (int)job->precision);
    s->grid = random_reals(vectors * 2 * s->cells, (int)job->precision);
    s->sorted = NULL;
    s->report = buffer(NULL, sizeof(hcy_nufft_report));
}

static void close_scene(struct scene *s)
{
    for (int d = 0; d < 3; d++) {
        free(s->x[d]);
        hcy_buffer_release(s->points[d]);
    }
    free(s->c);
    free(s->grid);
    hcy_buffer_release(s->window);
    hcy_buffer_release(s->sorted);
    hcy_buffer_release(s->report);
}

static uint64_t sort(struct scene *s)
{
    hcy_nufft_report report = { 0 };
    hcy_arg args[6] = { hcy_arg_buf(s->points[0]), hcy_arg_buf(s->points[1]),
                        hcy_arg_buf(s->points[2]), hcy_arg_struct(&s->job, sizeof s->job),
                        hcy_arg_buf(s->report),    hcy_arg_buf(NULL) };
    hcy_kernel *k = NULL;
    size_t size = 0;
    int status = hcy_kernel_get(&k, dev, "nufft_sort");
    if (!status)
        status = hcy_kernel_scratch_size(&size, k, (size_t)s->job.n_points, args, 6);
    hcy_buffer_release(s->sorted);
    s->sorted = buffer(NULL, size);
    args[5] = hcy_arg_buf(s->sorted);
    if (!status)
        status = hcy_launch(queue, k, (size_t)s->job.n_points, args, 6);
    if (!status)
        status = hcy_buffer_read(queue, &report, s->report, 0, sizeof report);
    int finished = hcy_queue_finish(queue);
    is_int(status ? status : finished, 0, "points are sorted");
    hcy_kernel_release(k);
    return report.first_bad;
}

/* What a device makes of `from`, malloced. */
static double *move(const struct scene *s, bool spreads)
{
    int precision = (int)s->job.precision;
    size_t n = vectors * 2 * (size_t)s->job.n_points, g = vectors * 2 * s->cells;
    hcy_buffer *c = reals(s->c, n, precision), *grid = reals(s->grid, g, precision);
    hcy_arg args[6] = { hcy_arg_buf(s->sorted), hcy_arg_buf(s->window), hcy_arg_buf(spreads ? c : grid),
                        hcy_arg_struct(&s->job, sizeof s->job), hcy_arg_buf(spreads ? grid : c) };
    int status = launch(spreads ? "nufft_spread" : "nufft_interp", vectors, args, 6, true);
    is_int(status, 0, "... %s", spreads ? "spread" : "interpolated");
    if (status)
        diag("%s", hcy_last_error()->text);
    double *out = read_reals(spreads ? grid : c, spreads ? g : n, precision);
    hcy_buffer_release(c);
    hcy_buffer_release(grid);
    return out;
}

/* The cell that a point's window begins with, and its weights. */
static size_t window_of(const struct scene *s, unsigned axis, double x, double *k)
{
    unsigned width = s->job.width, n_coefs = HCY_NUFFT_COEFS(width);
    double n = (double)s->job.grid[axis], u = x / (2 * PI) - 0.5 * width / n;
    u = (u - floor(u)) * n;
    double t = 2 * (ceil(u) - u) - 1;
    for (unsigned j = 0; j < width; j++) {
        k[j] = 0;
        for (unsigned c = 0; c < n_coefs; c++)
            k[j] = k[j] * t + s->table[c * HCY_NUFFT_MAX_WIDTH + j];
    }
    return (size_t)ceil(u) % (size_t)s->job.grid[axis];
}

/* The same by the format's words. */
static double *expected(const struct scene *s, bool spreads)
{
    size_t n = (size_t)s->job.n_points, w = s->job.width, count[3] = { 1, 1, 1 };
    double *out = calloc(vectors * 2 * (spreads ? s->cells : n) + 1, sizeof *out);
    for (unsigned d = 0; d < s->job.dim; d++)
        count[d] = w;
    for (size_t i = 0; i < n; i++) {
        double k[3][HCY_NUFFT_MAX_WIDTH] = { { 1 }, { 1 }, { 1 } };
        size_t cell[3] = { 0, 0, 0 };
        for (unsigned d = 0; d < s->job.dim; d++)
            cell[d] = window_of(s, d, s->x[d][i], k[d]);
        for (size_t a = 0; a < count[0]; a++)
            for (size_t b = 0; b < count[1]; b++)
                for (size_t c = 0; c < count[2]; c++) {
                    double weight = k[0][a] * k[1][b] * k[2][c];
                    size_t at = (cell[0] + a) % (size_t)s->job.grid[0];
                    at = at * (size_t)s->job.grid[1] + (cell[1] + b) % (size_t)s->job.grid[1];
                    at = at * (size_t)s->job.grid[2] + (cell[2] + c) % (size_t)s->job.grid[2];
                    for (size_t v = 0; v < 2 * vectors; v++) {
                        size_t g = 2 * (v / 2 * s->cells + at) + v % 2, p = 2 * (v / 2 * n + i) + v % 2;
                        *(spreads ? &out[g] : &out[p]) += weight * (spreads ? s->c[p] : s->grid[g]);
                    }
                }
    }
    return out;
}

static void check_move(const struct scene *s, const char *what)
{
    for (int spreads = 0; spreads < 2; spreads++) {
        double *got = move(s, spreads), *want = expected(s, spreads);
        double off = distance(got, want, vectors * 2 * (spreads ? s->cells : (size_t)s->job.n_points));
        double most = s->job.precision == HCY_F64 ? 1e-13 : rounds && s->job.width <= 4 ? 6e-4 : 2e-5;
        ok(off < most, "%s, width %u: %s, %.1e", what, s->job.width,
           spreads ? "to the grid" : "from the grid", off);
        free(got);
        free(want);
    }
}

static hcy_nufft_job job_of(unsigned dim, int precision, unsigned width, size_t n, uint64_t a, uint64_t b,
                            uint64_t c)
{
    return (hcy_nufft_job){ .dim = dim,
                            .precision = (uint32_t)precision,
                            .width = width,
                            .sign = 1,
                            .n_points = n,
                            .modes = { 1, 1, 1 },
                            .grid = { a, b, c } };
}

static void test_moves(void)
{
    const struct {
        hcy_nufft_job job;
        const char *what;
        bool many;
    } cases[] = {
        { job_of(1, HCY_F32, 7, 3000, 1000, 1, 1), "1-D, float", false },
        { job_of(1, HCY_F64, 13, 500, 26, 1, 1), "1-D, double, a small grid", true },
        { job_of(2, HCY_F32, 4, 2000, 50, 37, 1), "2-D, float", true },
        { job_of(2, HCY_F64, 6, 700, 41, 64, 1), "2-D, double", true },
        { job_of(3, HCY_F32, 7, 1000, 20, 18, 25), "3-D, float", false },
        { job_of(3, HCY_F64, 5, 300, 10, 12, 11), "3-D, double", true },
        { job_of(1, HCY_F64, 7, 2100001, 1000, 1, 1), "1-D, double, many points", false },
        { job_of(2, HCY_F32, 4, 2200000, 100, 120, 1), "2-D, float, many points", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int kind = 0; kind < 2 && !(few && cases[i].many); kind++) {
            if (cases[i].job.n_points > 1000000 && !settles)
                continue;
            struct scene s;
            open_scene(&s, &cases[i].job, kind);
            ok(sort(&s) == UINT64_MAX, "%s: all points are good", cases[i].what);
            check_move(&s, cases[i].what);
            close_scene(&s);
        }
}

/* --- Few points on a large grid --- */

/* What sorted points take. */
static double sorted_bytes(const hcy_nufft_job *job)
{
    hcy_kernel *k = NULL;
    hcy_buffer *any = buffer(NULL, 8);
    hcy_arg args[6] = { hcy_arg_buf(any), hcy_arg_buf(any), hcy_arg_buf(any), hcy_arg_struct(job, sizeof *job),
                        hcy_arg_buf(any), hcy_arg_buf(NULL) };
    size_t size = SIZE_MAX;
    int status = hcy_kernel_get(&k, dev, "nufft_sort");
    if (!status)
        status = hcy_kernel_scratch_size(&size, k, (size_t)job->n_points, args, 6);
    is_int(status, 0, "the memory of %llu points of %u axes is known", (unsigned long long)job->n_points, job->dim);
    hcy_kernel_release(k);
    hcy_buffer_release(any);
    return (double)size;
}

/* Grids may have a million times as many slabs as there are points. */
static void test_sparse_memory(void)
{
    static const size_t points[] = { 1, 1000, 100000, 195200, 2200000 };
    for (unsigned dim = 1; dim <= 3; dim++)
        for (int precision = HCY_F32; precision <= HCY_F64; precision++)
            for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
                uint64_t n = dim == 1 ? 1u << 28 : dim == 2 ? 16384 : 640;
                hcy_nufft_job job = job_of(dim, precision, 8, points[i], n, dim > 1 ? n : 1, dim > 2 ? n : 1);
                for (job.flags = 0; job.flags <= HCY_NUFFT_FIXED_ORDER; job.flags++) {
                    double bytes = sorted_bytes(&job), most = 40 * (double)points[i] + 1e6;
                    ok(bytes <= most, "... %.0f bytes are no more than %.0f", bytes, most);
                }
            }
}

static void test_sparse(void)
{
    hcy_nufft_job job = job_of(2, HCY_F32, 5, 201, 2000, 2040, 1);
    struct scene s;
    vectors = 1;
    open_scene(&s, &job, 2);
    sort(&s);
    check_move(&s, "2-D, few points on a large grid");
    close_scene(&s);
    vectors = 3;
}

/* Few points on three axes go to the grid by tiles: axes end in tiles shorter than a window, and in a cluster more
 * points reach a tile than a group takes. */
static void test_tiles(void)
{
    const hcy_nufft_job jobs[] = { job_of(3, HCY_F32, 8, 1800, 70, 66, 52), job_of(3, HCY_F64, 12, 500, 48, 49, 70) };
    vectors = 2;
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++)
        for (int kind = 0; kind < 3; kind++) {
            struct scene s;
            open_scene(&s, &jobs[i], kind);
            ok(sort(&s) == UINT64_MAX, "3-D, few points, by tiles: all are good");
            check_move(&s, "3-D, few points");
            close_scene(&s);
        }
    vectors = 3;
}

/* Few points are interpolated where the grid lies, many in copies of its parts: the same bits, on the CPU. */
static void test_in_place(void)
{
    enum { FEW = 200 };
    hcy_nufft_job job = job_of(3, HCY_F64, 6, 40000, 40, 50, 61);
    struct scene s;
    vectors = 1;
    open_scene(&s, &job, 2);
    sort(&s);
    double *many = move(&s, false);
    s.job.n_points = FEW;
    sort(&s);
    double *few_of_them = move(&s, false);
    ok(!memcmp(many, few_of_them, 2 * FEW * sizeof *many), "few of many points: the same bits from the grid");
    check_move(&s, "few of them");
    free(many);
    free(few_of_them);
    close_scene(&s);
    vectors = 3;
}

/* What is no number in one vector's grid stays out of another one's results: windows' vectors reach beyond their
 * cells. */
static void test_vectors_apart(void)
{
    hcy_nufft_job job = job_of(3, HCY_F32, 5, 1500, 40, 50, 61);
    struct scene s;
    vectors = 2;
    open_scene(&s, &job, 0);
    sort(&s);
    double *numbers = move(&s, false);
    for (size_t i = 0; i < 2 * s.cells; i++)
        s.grid[i] = NAN;
    double *beside = move(&s, false);
    ok(!memcmp(numbers + 2 * job.n_points, beside + 2 * job.n_points, 2 * (size_t)job.n_points * sizeof *numbers),
       "a vector behind one that is no numbers: the same bits");
    free(numbers);
    free(beside);
    close_scene(&s);
    vectors = 3;
}

/* --- Points that are wrong; order --- */

static void test_bad(void)
{
    hcy_nufft_job job = job_of(1, HCY_F32, 7, 3000, 1000, 1, 1);
    struct scene s;
    open_scene(&s, &job, 0);
    s.x[0][1234] = NAN;
    s.x[0][77] = INFINITY;
    s.x[0][2999] = 1e30;
    hcy_buffer_release(s.points[0]);
    s.points[0] = reals(s.x[0], 3000, HCY_F32);
    ok(sort(&s) == 77, "the first of three wrong points is reported");
    s.x[0][1234] = s.x[0][77] = s.x[0][2999] = 0;
    check_move(&s, "they count as 0");
    hcy_buffer_release(s.points[0]);
    s.points[0] = reals(s.x[0], 3000, HCY_F64);
    s.job.flags |= HCY_NUFFT_DOUBLE_POINTS;
    ok(sort(&s) == UINT64_MAX, "points in double for data in float");
    check_move(&s, "points in double");
    close_scene(&s);
}

static void test_order(void)
{
    hcy_nufft_job job = job_of(2, HCY_F64, 6, 2000, 50, 37, 1);
    struct scene s;
    job.flags = HCY_NUFFT_FIXED_ORDER;
    open_scene(&s, &job, 1);
    sort(&s);
    check_move(&s, "in fixed order");
    double *first = move(&s, true);
    for (int i = 0; i < 3; i++) {
        sort(&s);
        double *again = move(&s, true);
        ok(!memcmp(first, again, vectors * 2 * s.cells * sizeof *first), "... the same bits once more");
        free(again);
    }
    free(first);
    close_scene(&s);
}

/* --- Modes --- */

/* Cell and place among modes of k = i - n / 2. */
static size_t cell_of(size_t i, size_t n, size_t grid)
{
    return (i + grid - n / 2) % grid;
}
static size_t place_of(size_t i, size_t n, bool zero_first)
{
    return zero_first ? (i + n - n / 2) % n : i;
}

static void check_cut(int precision, unsigned dim, const uint64_t *modes, const uint64_t *cells,
                      bool zero_first)
{
    hcy_nufft_job job = { .dim = dim,
                          .precision = (uint32_t)precision,
                          .width = 2,
                          .sign = 1,
                          .n_points = 1,
                          .flags = zero_first ? HCY_NUFFT_FFT_ORDER : 0,
                          .modes = { 1, 1, 1 },
                          .grid = { 1, 1, 1 } };
    size_t m = 1, g = 1, f = 0, first[3] = { 0, 0, 0 };
    for (unsigned d = 0; d < dim; d++) {
        m *= (size_t)(job.modes[d] = modes[d]);
        g *= (size_t)(job.grid[d] = cells[d]);
        first[d] = f;
        f += (size_t)modes[d];
    }
    double *factors = random_reals(f, precision), *grid = random_reals(vectors * 2 * g, precision),
           *in = random_reals(vectors * 2 * m, precision),
           *cropped = calloc(vectors * 2 * m, sizeof *cropped),
           *padded = calloc(vectors * 2 * g, sizeof *padded);
    for (size_t i = 0; i < m; i++) {
        size_t left = i, from = 0, to = 0, step = 1, wide = 1;
        double factor = 1;
        for (int d = (int)dim - 1; d >= 0; d--) {
            size_t k = left % (size_t)modes[d];
            left /= (size_t)modes[d];
            from += wide * cell_of(k, (size_t)modes[d], (size_t)cells[d]);
            to += step * place_of(k, (size_t)modes[d], zero_first);
            factor *= factors[first[d] + k];
            step *= (size_t)modes[d];
            wide *= (size_t)cells[d];
        }
        for (size_t v = 0; v < 2 * vectors; v++) {
            size_t a = 2 * (v / 2 * g + from) + v % 2, b = 2 * (v / 2 * m + to) + v % 2;
            cropped[b] = grid[a] * factor;
            padded[a] = in[b] * factor;
        }
    }
    for (int pads = 0; pads < 2; pads++) {
        size_t n = vectors * 2 * (pads ? g : m);
        hcy_buffer *from =
                       pads ? reals(in, vectors * 2 * m, precision) : reals(grid, vectors * 2 * g, precision),
                   *by = reals(factors, f, precision),
                   *to = pads ? reals(grid, n, precision) : reals(in, n, precision);
        hcy_arg args[4] = { hcy_arg_buf(from), hcy_arg_buf(by), hcy_arg_struct(&job, sizeof job),
                            hcy_arg_buf(to) };
        int status = launch(pads ? "nufft_pad" : "nufft_crop", vectors, args, 4, false);
        double *got = read_reals(to, n, precision), off = distance(got, pads ? padded : cropped, n);
        ok(!status && off < (precision == HCY_F64 ? 1e-15 : 5e-7), "%u-D, modes %s the grid: %.1e", dim,
           pads ? "to" : "from", off);
        free(got);
        hcy_buffer_release(from);
        hcy_buffer_release(by);
        hcy_buffer_release(to);
    }
    free(factors);
    free(grid);
    free(in);
    free(cropped);
    free(padded);
}

static void test_cuts(void)
{
    check_cut(HCY_F64, 1, (const uint64_t[]){ 300 }, (const uint64_t[]){ 640 }, false);
    check_cut(HCY_F64, 3, (const uint64_t[]){ 5, 4, 9 }, (const uint64_t[]){ 8, 9, 18 }, false);
    check_cut(HCY_F64, 3, (const uint64_t[]){ 1, 6, 1 }, (const uint64_t[]){ 4, 12, 4 }, true);
    if (few)
        return;
    check_cut(HCY_F32, 1, (const uint64_t[]){ 7 }, (const uint64_t[]){ 7 }, true);
    check_cut(HCY_F32, 2, (const uint64_t[]){ 9, 14 }, (const uint64_t[]){ 20, 25 }, true);
}

static void test_scale(void)
{
    enum { N = 100 };
    for (int sign = -1; sign <= 1; sign += 2) {
        hcy_nufft_job job = job_of(1, HCY_F64, 4, N, 10, 1, 1);
        double *in = random_reals(vectors * 2 * N, HCY_F64), *by = random_reals(2 * N, HCY_F64),
               *want = calloc(vectors * 2 * N, sizeof *want);
        hcy_buffer *from = reals(in, vectors * 2 * N, HCY_F64), *factors = reals(by, 2 * N, HCY_F64),
                   *to = buffer(NULL, vectors * 2 * N * sizeof *want);
        hcy_arg args[4] = { hcy_arg_buf(from), hcy_arg_buf(factors), hcy_arg_struct(&job, sizeof job),
                            hcy_arg_buf(to) };
        job.sign = sign;
        for (size_t i = 0; i < vectors * N; i++) {
            double re = by[i % N * 2], im = sign * by[i % N * 2 + 1];
            want[2 * i] = in[2 * i] * re - in[2 * i + 1] * im;
            want[2 * i + 1] = in[2 * i] * im + in[2 * i + 1] * re;
        }
        int status = launch("nufft_scale", vectors, args, 4, false);
        double *got = read_reals(to, vectors * 2 * N, HCY_F64), off = distance(got, want, vectors * 2 * N);
        ok(!status && off < 1e-15, "times phases, sign %d: %.1e", sign, off);
        free(in);
        free(by);
        free(got);
        free(want);
        hcy_buffer_release(from);
        hcy_buffer_release(factors);
        hcy_buffer_release(to);
    }
}

/* A queue keeps its first failure. */
static int launch_apart(hcy_kernel *kernel, size_t items, const hcy_arg *args, size_t n)
{
    hcy_queue *own = NULL;
    int status = hcy_queue_create(&own, dev);
    if (!status)
        status = hcy_launch(own, kernel, items, args, n);
    const int finished = own ? hcy_queue_finish(own) : 0;
    hcy_queue_release(own);
    return status ? status : finished;
}

/* Images of more places than a range has, two of them, by spectra and a conjugate one; then what is no such job. */
static void check_mix(hcy_kernel *kernel, int precision, bool is_real)
{
    enum { N = 100, IMAGES = 2 };
    static const int32_t order[IMAGES * IMAGES] = { 0, ~2, 2, 1 }, beyond[IMAGES * IMAGES] = { 0, ~3, 2, 1 };
    const size_t parts = is_real ? 1 : 2;
    double *x = random_reals(IMAGES * 2 * N, precision), *t = random_reals(3 * parts * N, precision),
           want[IMAGES * 2 * N] = { 0 };
    for (size_t i = 0; i < IMAGES * IMAGES * N; i++) {
        const size_t at = i % N, k = i / N % IMAGES, l = i / N / IMAGES;
        const int32_t s = order[l * IMAGES + k] < 0 ? ~order[l * IMAGES + k] : order[l * IMAGES + k];
        const double re = t[parts * ((size_t)s * N + at)], of = is_real ? 0 : t[2 * ((size_t)s * N + at) + 1],
                     im = order[l * IMAGES + k] < 0 ? -of : of;
        const double *from = x + 2 * (k * N + at);
        want[2 * (l * N + at)] += re * from[0] - im * from[1];
        want[2 * (l * N + at) + 1] += re * from[1] + im * from[0];
    }
    hcy_nufft_job job = { .precision = (uint32_t)precision, .n_points = N, .flags = is_real ? HCY_NUFFT_MIX_REAL : 0 };
    hcy_buffer *spectra = reals(t, 3 * parts * N, precision), *images = reals(x, IMAGES * 2 * N, precision),
               *which = buffer(order, sizeof order), *bad = buffer(beyond, sizeof beyond);
    hcy_arg args[4] = { hcy_arg_buf(spectra), hcy_arg_buf(which), hcy_arg_struct(&job, sizeof job),
                        hcy_arg_buf(images) };
    int status = launch("nufft_mix", IMAGES, args, 4, false);
    double *got = read_reals(images, IMAGES * 2 * N, precision), off = distance(got, want, IMAGES * 2 * N);
    ok(!status && off < (precision == HCY_F64 ? 1e-15 : 1e-6), "images times %s spectra: %.1e",
       is_real ? "real" : "complex", off);
    is_int(launch_apart(kernel, HCY_NUFFT_MIX_MOST + 1, args, 4), HCY_EINVAL, "... too many of them");
    args[1] = hcy_arg_buf(bad);
    is_int(launch_apart(kernel, IMAGES, args, 4), HCY_EINVAL, "... a spectrum that is not there");
    free(x);
    free(t);
    free(got);
    hcy_buffer_release(spectra);
    hcy_buffer_release(images);
    hcy_buffer_release(which);
    hcy_buffer_release(bad);
}

static void test_mix(void)
{
    hcy_kernel *kernel = NULL;
    if (hcy_kernel_get(&kernel, dev, "nufft_mix"))
        return;
    check_mix(kernel, HCY_F64, false);
    check_mix(kernel, HCY_F64, true);
    check_mix(kernel, HCY_F32, false);
    hcy_kernel_release(kernel);
}

/* Numbers that begin between two of a GPU's are refused, also where the memory is the program's; a CPU takes them. */
static void test_between_numbers(void)
{
    enum { N = 10 };
    static _Alignas(16) double host[2 * N + 2];
    const hcy_nufft_job job = job_of(1, HCY_F64, 4, N, 10, 1, 1);
    hcy_buffer *all = buffer(NULL, (N + 1) * 16), *between = NULL, *lent = NULL, *to = buffer(NULL, N * 16);
    hcy_kernel *kernel = NULL;
    if (hcy_kernel_get(&kernel, dev, "nufft_scale") || hcy_buffer_sub(&between, all, 8, N * 16))
        bail_out("%s", hcy_last_error()->text);
    hcy_arg args[4] = { hcy_arg_buf(between), hcy_arg_buf(to), hcy_arg_struct(&job, sizeof job), hcy_arg_buf(to) };
    const bool is_cpu = !strcmp(hcy_device_get_info(dev)->backend, "cpu");
    is_int(launch_apart(kernel, 1, args, 4), is_cpu ? 0 : HCY_EINVAL, "numbers at half a number");
    if (hcy_buffer_import_host(&lent, dev, host + 1, N * sizeof(double[2]), NULL, NULL)) {
        skip(1, "%s", hcy_last_error()->text);
    } else {
        args[0] = hcy_arg_buf(lent);
        is_int(launch_apart(kernel, 1, args, 4), is_cpu ? 0 : HCY_EINVAL, "the program's at half a number");
        hcy_buffer_release(lent);
    }
    hcy_kernel_release(kernel);
    hcy_buffer_release(between);
    hcy_buffer_release(all);
    hcy_buffer_release(to);
}

/* Points that were sorted for a job of as many points and cells, which is another one: of other numbers, axes or
 * windows. */
static void test_other_points(void)
{
    enum { N = 200 };
    const hcy_nufft_job others[] = { job_of(2, HCY_F64, 4, N, 16, 32, 1), job_of(2, HCY_F32, 4, N, 32, 16, 1),
                                     job_of(2, HCY_F32, 6, N, 16, 32, 1), job_of(1, HCY_F32, 4, N, 512, 1, 1) };
    const hcy_nufft_job job = job_of(2, HCY_F32, 4, N, 16, 32, 1);
    hcy_kernel *kernel = NULL;
    struct scene s;
    open_scene(&s, &job, 0);
    sort(&s);
    hcy_buffer *room = buffer(NULL, 1 << 22), *part = NULL;
    if (hcy_kernel_get(&kernel, dev, "nufft_spread") || hcy_buffer_sub(&part, s.sorted, 0, 1024))
        bail_out("%s", hcy_last_error()->text);
    hcy_arg args[6] = { hcy_arg_buf(part), hcy_arg_buf(room), hcy_arg_buf(room), hcy_arg_struct(&job, sizeof job),
                        hcy_arg_buf(room), hcy_arg_buf(room) };
    is_int(launch_apart(kernel, 1, args, 6), HCY_EINVAL, "a part of sorted points");
    args[0] = hcy_arg_buf(s.sorted);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        args[3] = hcy_arg_struct(&others[i], sizeof others[i]);
        is_int(launch_apart(kernel, 1, args, 6), HCY_EINVAL, "points that were sorted for another job, %zu", i);
    }
    hcy_kernel_release(kernel);
    hcy_buffer_release(part);
    hcy_buffer_release(room);
    close_scene(&s);
}

/* Scratch memory that begins where no vector of a CPU's may. */
static void test_scratch_between(void)
{
    static const char *const names[] = { "nufft_interp", "nufft_spread", "nufft_grid", "nufft_modes" };
    const hcy_nufft_job job = job_of(2, HCY_F32, 4, 100, 16, 32, 1);
    hcy_buffer *room = buffer(NULL, 1 << 22), *between = NULL;
    hcy_kernel *kernel = NULL;
    struct scene s;
    open_scene(&s, &job, 0);
    sort(&s);
    if (hcy_buffer_sub(&between, room, 8, (1 << 22) - 8))
        bail_out("%s", hcy_last_error()->text);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const hcy_arg none = hcy_arg_buf(room), scratch = hcy_arg_buf(between), how = hcy_arg_struct(&job, sizeof job),
                      moves[] = { hcy_arg_buf(s.sorted), none, none, how, none, scratch },
                      cuts[] = { none, none, how, none, scratch };
        if (hcy_kernel_get(&kernel, dev, names[i]))
            bail_out("%s", hcy_last_error()->text);
        is_int(launch_apart(kernel, 1, i < 2 ? moves : cuts, i < 2 ? 6 : 5), HCY_EINVAL,
               "%s: scratch memory that begins between", names[i]);
        hcy_kernel_release(kernel);
    }
    hcy_buffer_release(between);
    hcy_buffer_release(room);
    close_scene(&s);
}

/* A job that has no modes along an axis. */
static void test_no_modes(void)
{
    static const char *const names[] = { "nufft_crop", "nufft_pad", "nufft_modes", "nufft_grid" };
    hcy_nufft_job job = job_of(2, HCY_F32, 4, 1, 16, 32, 1);
    hcy_buffer *room = buffer(NULL, 1 << 22);
    hcy_kernel *kernel = NULL;
    job.modes[0] = 0;
    job.modes[1] = 8;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const hcy_arg args[5] = { hcy_arg_buf(room), hcy_arg_buf(room), hcy_arg_struct(&job, sizeof job),
                                  hcy_arg_buf(room), hcy_arg_buf(room) };
        if (hcy_kernel_get(&kernel, dev, names[i]))
            bail_out("%s", hcy_last_error()->text);
        is_int(launch_apart(kernel, 1, args, i < 2 ? 4 : 5), HCY_EINVAL, "%s: an axis without modes", names[i]);
        hcy_kernel_release(kernel);
    }
    hcy_buffer_release(room);
}

/* Axes of no numbers. */
static void test_no_gram(void)
{
    const hcy_nufft_job job = { .dim = 2, .precision = HCY_F32, .modes = { 0, 8 }, .grid = { 0, 16 } };
    hcy_kernel *kernel = NULL;
    size_t size = 1;
    if (hcy_kernel_get(&kernel, dev, "nufft_gram"))
        return;
    const hcy_arg none = hcy_arg_buf(NULL), args[] = { none, none, none, none, hcy_arg_struct(&job, sizeof job), none,
                                                       none };
    is_int(hcy_kernel_scratch_size(&size, kernel, 1, args, 7), HCY_EUNSUPPORTED, "no image is convolved");
    hcy_kernel_release(kernel);
}

int main(int argc, char **argv)
{
    hcy_kernel *kernel = NULL;
    const char *name = argc > 1 ? argv[1] : "cpu@threads=2";
    rounds = strncmp(name, "cpu", 3) != 0;
    settles = !strncmp(name, "cuda", 4);
    few = argc > 2 && !strcmp(argv[2], "few");
    if (hcy_device_open(&dev, name))
        skip_all("%s: %s", name, hcy_last_error()->text);
    if (hcy_kernel_get(&kernel, dev, "nufft_spread"))
        skip_all("%s", hcy_last_error()->text);
    hcy_kernel_release(kernel);
    if (hcy_queue_create(&queue, dev))
        bail_out("%s", hcy_last_error()->text);
    test_moves();
    if (rounds) /* a device with its own sort, gpu_nufft.c */
        test_sparse_memory();
    else
        test_in_place();
    if (!rounds) {
        test_other_points();
        test_no_modes();
        test_scratch_between();
    }
    test_vectors_apart();
    if (!few) {
        test_sparse();
        test_tiles();
    }
    test_bad();
    test_order();
    test_cuts();
    test_scale();
    test_mix();
    test_between_numbers();
    test_no_gram();
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
