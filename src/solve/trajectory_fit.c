/* trajectory_fit.c - how well samples agree with delays of gradients, and a step to better ones.
 *
 * Samples up to K / FOV from the centre are those of an image of 2 (K + MARGIN) pixels an axis, each coil its own:
 * A(d) x_c = b_c, A being the transform at points of delays d.  Of all d the right ones leave the smallest residual
 * with the x that fit best (variable projection: G. Golub and V. Pereyra, SIAM J. Numer. Anal. 10 (1973) 413), sought
 * by Gauss and Newton's steps with derivatives projected as the residual is (L. Kaufman, BIT 15 (1975) 49).  Such an
 * image has few pixels, so that sums are direct and A^H A, which has a value for each difference of pixels, is
 * factored: all on the host, with the same bits everywhere.
 */
#include "trajectory_fit.h"

#include "hermitian.h"

#include <math.h>
#include <string.h>

#define RIDGE 1e-3  /* added to A^H A, whose diagonal is 1 */

/* --- Direct sums --- */

/* exp(-i angles (p + first)) of the pixels p of sizes[], times `scale`. */
static void fill_row(double complex *row, int dim, const double *angles, const int64_t *sizes, const int64_t *first,
                     double scale)
{
    double complex turns[2 * HCY__FIT_MOST_SIDE];
    size_t n = 1;
    row[0] = scale;
    for (int a = 0; a < dim; a++) {
        for (int64_t p = 0; p < sizes[a]; p++)
            turns[p] = cos(angles[a] * (double)(p + first[a])) - I * sin(angles[a] * (double)(p + first[a]));
        /* From the last to the first, so that what is still to be read stays. */
        for (size_t i = n; i-- > 0;)
            for (int64_t p = sizes[a]; p-- > 0;) {
                const double complex turn = turns[p], from = row[i];
                row[i * (size_t)sizes[a] + (size_t)p] = creal(from) * creal(turn) - cimag(from) * cimag(turn) +
                                                        I * (creal(from) * cimag(turn) + cimag(from) * creal(turn));
            }
        n *= (size_t)sizes[a];
    }
}

/* Where sample m was taken, in radians a pixel of the image; and its derivatives in the delays. */
static void place_sample(double *angles, double *steps, const struct hcy__fit *f, size_t m)
{
    const size_t length = (size_t)f->desc.samples, i = f->at[m], in = i % length, before = i - (in > 0),
                 after = i + (in + 1 < length);
    for (int a = 0; a < f->desc.dim; a++) {
        const double scale = (double)f->modes[a] / (double)f->sizes[a];
        angles[a] = scale * hcy__trajectory_get(&f->desc, f->late[a], i);
        steps[a] = after == before ? 0
                                   : -scale *
                                         (hcy__trajectory_get(&f->desc, f->late[a], after) -
                                          hcy__trajectory_get(&f->desc, f->late[a], before)) /
                                         (double)(after - before);
    }
}

/* f->row, and the derivatives in the delays of what stands in its exponents. */
static void sample_row(double *steps, struct hcy__fit *f, size_t m)
{
    double angles[3];
    int64_t first[3];
    for (int a = 0; a < f->desc.dim; a++)
        first[a] = -(f->sizes[a] / 2);
    place_sample(angles, steps, f, m);
    fill_row(f->row, f->desc.dim, angles, f->sizes, first, 1 / sqrt((double)f->n));
}

static double complex dot_row(const struct hcy__fit *f, const double complex *x)
{
    double re = 0, im = 0;
    for (size_t p = 0; p < f->pixels; p++) {
        re += creal(f->row[p]) * creal(x[p]) - cimag(f->row[p]) * cimag(x[p]);
        im += creal(f->row[p]) * cimag(x[p]) + cimag(f->row[p]) * creal(x[p]);
    }
    return re + I * im;
}

/* --- A^H A --- */

static int64_t pixel_place(const struct hcy__fit *f, size_t pixel, int axis)
{
    for (int a = f->desc.dim - 1; a > axis; a--)
        pixel /= (size_t)f->sizes[a];
    return (int64_t)(pixel % (size_t)f->sizes[axis]);
}

/* The sum over samples of exp(-i angles (q - p)), for each difference. */
static void fill_kernel(struct hcy__fit *f)
{
    int64_t sizes[3], first[3];
    double angles[3], steps[3];
    size_t wide = 1;
    for (int a = 0; a < f->desc.dim; a++) {
        sizes[a] = 2 * f->sizes[a] - 1;
        first[a] = 1 - f->sizes[a];
        wide *= (size_t)sizes[a];
    }
    memset(f->kernel, 0, wide * sizeof *f->kernel);
    for (size_t m = 0; m < f->n; m++) {
        place_sample(angles, steps, f, m);
        fill_row(f->wide, f->desc.dim, angles, sizes, first, 1);
        hcy__add_multiple(f->kernel, 1 / (double)f->n, f->wide, false, wide);
    }
}

enum { BLOCK = 32, TILE = 256 }; /* rows and columns that stay in a core's cache: 128 KB */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Rows k to `end` of the factor, what is above them having been taken off. */
static void factor_rows(double complex *gram, size_t n, size_t k, size_t end)
{
    for (; k < end; k++) {
        double complex *row = gram + k * n;
        /* Never 0: the ridge is far above rounding. */
        const double root = sqrt(creal(row[k]));
        for (size_t q = k; q < n; q++)
            row[q] /= root;
        for (size_t p = k + 1; p < end; p++)
            hcy__add_multiple(gram + p * n + p, -conj(row[p]), row + p, false, n - p);
    }
}

/* Takes what rows k to `end` of the factor make off the rows below them, in columns q to `last`.  Each element loses
 * these in their order, whatever the blocks. */
static void take_rows(double complex *gram, size_t n, size_t k, size_t end, size_t q, size_t last)
{
    for (size_t p = end; p < last; p++)
        for (size_t i = k, from = p > q ? p : q; i < end; i++)
            hcy__add_multiple(gram + p * n + from, -conj(gram[i * n + p]), gram + i * n + from, false, last - from);
}

/* Cholesky's factor in its rows, from the diagonal on: gram = factor^H factor. */
static void factor_gram(struct hcy__fit *f)
{
    const size_t n = f->pixels;
    fill_kernel(f);
    for (size_t p = 0; p < n; p++)
        for (size_t q = p; q < n; q++) {
            size_t at = 0;
            for (int a = 0; a < f->desc.dim; a++)
                at = at * (size_t)(2 * f->sizes[a] - 1) +
                     (size_t)(pixel_place(f, q, a) - pixel_place(f, p, a) + f->sizes[a] - 1);
            f->gram[p * n + q] = f->kernel[at] + (p == q ? RIDGE : 0);
        }
    for (size_t k = 0; k < n; k += BLOCK) {
        const size_t end = smaller(n, k + BLOCK);
        factor_rows(f->gram, n, k, end);
        for (size_t q = end; q < n; q += TILE)
            take_rows(f->gram, n, k, end, q, smaller(n, q + TILE));
    }
}

/* x becomes A^H A's inverse times x. */
static void solve_gram(double complex *x, const struct hcy__fit *f)
{
    const size_t n = f->pixels;
    for (size_t k = 0; k < n; k++) {
        x[k] /= creal(f->gram[k * n + k]);
        hcy__add_multiple(x + k + 1, -x[k], f->gram + k * n + k + 1, true, n - k - 1);
    }
    for (size_t k = n; k-- > 0;) {
        const double complex *row = f->gram + k * n;
        for (size_t q = k + 1; q < n; q++)
            x[k] -= row[q] * x[q];
        x[k] /= creal(row[k]);
    }
}

/* --- A step --- */

static double complex *image_of(const struct hcy__fit *f, size_t which, size_t coil)
{
    return f->x + (which * f->coils + coil) * f->pixels;
}

static void solve_images(struct hcy__fit *f)
{
    double steps[3];
    memset(f->x, 0, f->coils * f->pixels * sizeof *f->x);
    for (size_t m = 0; m < f->n; m++) {
        sample_row(steps, f, m);
        for (size_t c = 0; c < f->coils; c++)
            hcy__add_multiple(image_of(f, 0, c), f->samples[m * f->coils + c], f->row, true, f->pixels);
    }
    for (size_t c = 0; c < f->coils; c++)
        solve_gram(image_of(f, 0, c), f);
}

/* The data's rest, and |rest|^2. */
static double find_rest(struct hcy__fit *f)
{
    double steps[3], sum = 0;
    for (size_t m = 0; m < f->n; m++) {
        sample_row(steps, f, m);
        for (size_t c = 0; c < f->coils; c++) {
            double complex *rest = &f->rest[m * f->coils + c];
            *rest = f->samples[m * f->coils + c] - dot_row(f, image_of(f, 0, c));
            sum += hcy__energy_of(*rest);
        }
    }
    return sum;
}

/* The derivatives of A x in the delays: row (-i place x), times the samples' steps. */
static void find_slopes(struct hcy__fit *f)
{
    const size_t all = (size_t)f->desc.dim * f->coils;
    double steps[3];
    double complex *placed = image_of(f, 1, 0);
    for (size_t k = 0; k < all; k++)
        for (size_t p = 0; p < f->pixels; p++) {
            const int axis = (int)(k / f->coils);
            placed[k * f->pixels + p] = -I * (double)(pixel_place(f, p, axis) - f->sizes[axis] / 2) *
                                        image_of(f, 0, k % f->coils)[p];
        }
    for (size_t m = 0; m < f->n; m++) {
        sample_row(steps, f, m);
        for (size_t k = 0; k < all; k++)
            f->slopes[m * all + k] = steps[k / f->coils] * dot_row(f, placed + k * f->pixels);
    }
}

/* Off the slopes what other images make up for. */
static void project_slopes(struct hcy__fit *f)
{
    const size_t all = (size_t)f->desc.dim * f->coils;
    double complex *taken = image_of(f, 1, 0);
    double steps[3];
    memset(taken, 0, all * f->pixels * sizeof *taken);
    for (size_t m = 0; m < f->n; m++) {
        sample_row(steps, f, m);
        for (size_t k = 0; k < all; k++)
            hcy__add_multiple(taken + k * f->pixels, f->slopes[m * all + k], f->row, true, f->pixels);
    }
    for (size_t k = 0; k < all; k++)
        solve_gram(taken + k * f->pixels, f);
    for (size_t m = 0; m < f->n; m++) {
        sample_row(steps, f, m);
        for (size_t k = 0; k < all; k++)
            f->slopes[m * all + k] -= dot_row(f, taken + k * f->pixels);
    }
}

void hcy__fit_solve(double *x, double a[3][3], double *b, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, a[i][i]);
    for (int i = 0; i < n; i++)
        a[i][i] += 1e-12 * most + (most > 0 ? 0 : 1);
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            const double factor = a[j][i] / a[i][i];
            for (int k = i; k < n; k++)
                a[j][k] -= factor * a[i][k];
            b[j] -= factor * b[i];
        }
    for (int i = n - 1; i >= 0; i--) {
        x[i] = b[i];
        for (int j = i + 1; j < n; j++)
            x[i] -= a[i][j] * x[j];
        x[i] /= a[i][i];
    }
}

/* A step to better delays, by the rest and the slopes. */
static void find_step(double step[3], const struct hcy__fit *f)
{
    const int dim = f->desc.dim;
    const size_t all = (size_t)dim * f->coils;
    double equations[3][3] = { { 0 } }, right[3] = { 0 };
    for (size_t m = 0; m < f->n; m++)
        for (int a = 0; a < dim; a++)
            for (size_t c = 0; c < f->coils; c++) {
                const double complex *slopes = f->slopes + m * all + c, mine = conj(slopes[(size_t)a * f->coils]);
                right[a] += creal(mine * f->rest[m * f->coils + c]);
                for (int b = 0; b < dim; b++)
                    equations[a][b] += creal(mine * slopes[(size_t)b * f->coils]);
            }
    hcy__fit_solve(step, equations, right, dim);
}

int hcy__fit_look(double *rest, double step[3], struct hcy__fit *f, const double *delays)
{
    int status = hcy_trajectory_delay(f->late, &f->desc, (const void *const *)f->points, delays);
    if (status)
        return status;
    factor_gram(f);
    solve_images(f);
    *rest = find_rest(f);
    if (!step)
        return 0;
    find_slopes(f);
    project_slopes(f);
    find_step(step, f);
    return 0;
}
