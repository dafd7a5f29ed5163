/* trajectory_fit.c - delays of gradients from data: what readouts say of the middle of k-space has to agree.
 *
 * Samples up to K / FOV from the centre are those of an image of 2 (K + MARGIN) pixels an axis, each coil its own:
 * A(d) x_c = b_c, A being the transform at points of delays d.  Of all d the right ones leave the smallest residual
 * with the x that fit best (variable projection: G. Golub and V. Pereyra, SIAM J. Numer. Anal. 10 (1973) 413), sought
 * by Gauss and Newton's steps with derivatives projected as the residual is (L. Kaufman, BIT 15 (1975) 49).  Such an
 * image has few pixels, so that sums are direct and A^H A, which has a value for each difference of pixels, is
 * factored: all on the host, with the same bits everywhere.
 *
 * Where to begin says the energy along readouts, whose centre is where they pass the middle.
 */
#include "hermitian.h"
#include "trajectory_priv.h"

#include <halcyon/backend.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TURN 6.283185307179586476925
#define RIDGE 1e-3  /* added to A^H A, whose diagonal is 1 */
#define ENOUGH 1e-4 /* samples: a step that is the last one */
#define FARTHEST 2  /* samples that a step goes */
#define BEGIN 0.2   /* of a readout from its ends, where none passes the middle */
enum {
    MARGIN = 2,
    MOST_K = 10,
    LEAST_K = 2,
    MOST_PIXELS = 1000, /* the third power of which a factorisation takes */
    MOST_SAMPLES = 6000,
    MOST_COILS = 8,
    MOST_STEPS = 20
};

struct fit {
    hcy_trajectory_desc desc; /* of the readouts that are looked at, of dwell 1 */
    void *points[3], *late[3]; /* theirs, as they are said to be and delayed */
    int64_t modes[3];
    double k;                 /* how far the middle goes */
    int64_t sizes[3];         /* of the image, */
    size_t pixels;
    size_t n, coils;          /* samples in the middle; those of coils [n][coils] */
    size_t *at;               /* which of the points they are */
    double complex *samples;
    double complex *row, *wide; /* a sample's exponentials of pixels, and of pixels' differences, with room for axes' */
    double complex *kernel, *gram; /* A^H A by differences; factored */
    double complex *x;             /* [1 + dim][coils][pixels]: the images, and those that slopes are projected with */
    double complex *slopes, *rest; /* [n][dim][coils], [n][coils] */
};

/* --- The middle --- */

static bool is_middle(const hcy_trajectory_desc *d, const int64_t *modes, const void *const *points, size_t i, double k)
{
    bool is = true;
    for (int a = 0; a < d->dim; a++)
        is = is && fabs(hcy__trajectory_get(d, points[a], i)) * (double)modes[a] <= TURN * k;
    return is;
}

static size_t count_middle(const hcy_trajectory_desc *d, const int64_t *modes, const void *const *points, size_t n,
                           double k)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += is_middle(d, modes, points, i, k);
    return count;
}

static size_t choose_pixels(int64_t sizes[3], const hcy_trajectory_desc *d, const int64_t *modes, int k)
{
    size_t pixels = 1;
    for (int a = 0; a < d->dim; a++) {
        sizes[a] = modes[a] < 2 * (k + MARGIN) ? modes[a] : 2 * (k + MARGIN);
        pixels *= (size_t)sizes[a];
    }
    return pixels;
}

/* As far from the centre as there are two samples a pixel; how many of these there are, or 0. */
static size_t choose_middle(struct fit *f, const hcy_trajectory_desc *d, const void *const *points, size_t n)
{
    for (int k = MOST_K; k >= LEAST_K; k--) {
        f->k = k;
        f->pixels = choose_pixels(f->sizes, d, f->modes, k);
        const size_t count = f->pixels > MOST_PIXELS ? 0 : count_middle(d, f->modes, points, n, k);
        if (count >= 2 * f->pixels)
            return count;
    }
    return 0;
}

/* Every so-manieth readout, of all that have `count` samples in the middle. */
static int take_readouts(struct fit *f, size_t *every, const hcy_trajectory_desc *d, const void *const *points,
                         size_t count)
{
    const size_t most = MOST_SAMPLES > 3 * f->pixels ? MOST_SAMPLES : 3 * f->pixels, length = (size_t)d->samples;
    *every = (count + most - 1) / most;
    f->desc = *d;
    f->desc.readouts = (d->readouts + (int64_t)*every - 1) / (int64_t)*every;
    f->desc.dwell = 1;
    const size_t n = (size_t)f->desc.readouts * length, real = d->precision == HCY_F64 ? 8 : 4;
    for (int a = 0; a < d->dim; a++) {
        f->points[a] = malloc(n * real);
        f->late[a] = malloc(n * real);
        if (!f->points[a] || !f->late[a])
            return hcy_fail(HCY_ENOMEM, "hcy_trajectory_find_delays: no memory for %zu points", n);
        for (size_t i = 0; i < n; i++)
            hcy__trajectory_put(d, f->points[a], i,
                                hcy__trajectory_get(d, points[a], i / length * *every * length + i % length));
    }
    f->n = count_middle(&f->desc, f->modes, (const void *const *)f->points, n, f->k);
    return 0;
}

/* The coils that receive most in the middle, one after the other; those that are taken have an energy below 0. */
static size_t choose_coil(double *energies, size_t coils)
{
    size_t most = 0;
    for (size_t c = 1; c < coils; c++)
        most = energies[c] > energies[most] ? c : most;
    energies[most] = -1;
    return most;
}

static double complex sample_of(const hcy_trajectory_desc *d, const void *samples, size_t i)
{
    return hcy__trajectory_get(d, samples, 2 * i) + I * hcy__trajectory_get(d, samples, 2 * i + 1);
}

static double energy_of(double complex z)
{
    return creal(z) * creal(z) + cimag(z) * cimag(z);
}

/* b, with a norm of 1 in all; `energies` has room for all coils. */
static int take_samples(struct fit *f, double *energies, const void *samples, size_t every, size_t coils, size_t all)
{
    const size_t length = (size_t)f->desc.samples;
    double sum = 0;
    for (size_t i = 0, m = 0; m < f->n; i++)
        if (is_middle(&f->desc, f->modes, (const void *const *)f->points, i, f->k))
            f->at[m++] = i;
    for (size_t c = 0; c < coils; c++)
        for (size_t m = 0; m < f->n; m++)
            energies[c] += energy_of(sample_of(&f->desc, samples, c * all + f->at[m] / length * every * length +
                                                                       f->at[m] % length));
    for (size_t k = 0; k < f->coils; k++) {
        const size_t c = choose_coil(energies, coils);
        for (size_t m = 0; m < f->n; m++) {
            double complex *to = &f->samples[m * f->coils + k];
            *to = sample_of(&f->desc, samples, c * all + f->at[m] / length * every * length + f->at[m] % length);
            sum += energy_of(*to);
        }
    }
    if (!(sum > 0) || !isfinite(sum))
        return hcy_fail(HCY_EINVAL, "hcy_trajectory_find_delays: samples in the middle of k-space are %s",
                        sum > 0 ? "infinite" : "0, or no numbers");
    for (size_t m = 0; m < f->n * f->coils; m++)
        f->samples[m] /= sqrt(sum);
    return 0;
}

static int make_fit_room(struct fit *f)
{
    const size_t dim = (size_t)f->desc.dim;
    size_t wide = 1;
    for (size_t a = 0; a < dim; a++)
        wide *= (size_t)(2 * f->sizes[a] - 1);
    f->at = malloc(f->n * sizeof *f->at);
    f->samples = malloc(f->n * f->coils * sizeof *f->samples);
    f->row = malloc(f->pixels * sizeof *f->row);
    f->wide = malloc(wide * sizeof *f->wide);
    f->kernel = malloc(wide * sizeof *f->kernel);
    f->gram = malloc(f->pixels * f->pixels * sizeof *f->gram);
    f->x = malloc((1 + dim) * f->coils * f->pixels * sizeof *f->x);
    f->slopes = malloc(f->n * dim * f->coils * sizeof *f->slopes);
    f->rest = malloc(f->n * f->coils * sizeof *f->rest);
    if (f->at && f->samples && f->row && f->wide && f->kernel && f->gram && f->x && f->slopes && f->rest)
        return 0;
    return hcy_fail(HCY_ENOMEM, "hcy_trajectory_find_delays: no memory for %zu samples and %zu pixels", f->n, f->pixels);
}

static void free_fit(struct fit *f)
{
    for (int a = 0; a < 3; a++) {
        free(f->points[a]);
        free(f->late[a]);
    }
    free(f->at);
    free(f->samples);
    free(f->row);
    free(f->wide);
    free(f->kernel);
    free(f->gram);
    free(f->x);
    free(f->slopes);
    free(f->rest);
}

/* --- Direct sums --- */

/* exp(-i angles (p + first)) of the pixels p of sizes[], times `scale`. */
static void fill_row(double complex *row, int dim, const double *angles, const int64_t *sizes, const int64_t *first,
                     double scale)
{
    double complex turns[4 * (MOST_K + MARGIN)];
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
static void place_sample(double *angles, double *steps, const struct fit *f, size_t m)
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
static void sample_row(double *steps, struct fit *f, size_t m)
{
    double angles[3];
    int64_t first[3];
    for (int a = 0; a < f->desc.dim; a++)
        first[a] = -(f->sizes[a] / 2);
    place_sample(angles, steps, f, m);
    fill_row(f->row, f->desc.dim, angles, f->sizes, first, 1 / sqrt((double)f->n));
}

static double complex dot_row(const struct fit *f, const double complex *x)
{
    double re = 0, im = 0;
    for (size_t p = 0; p < f->pixels; p++) {
        re += creal(f->row[p]) * creal(x[p]) - cimag(f->row[p]) * cimag(x[p]);
        im += creal(f->row[p]) * cimag(x[p]) + cimag(f->row[p]) * creal(x[p]);
    }
    return re + I * im;
}

/* --- A^H A --- */

static int64_t pixel_place(const struct fit *f, size_t pixel, int axis)
{
    for (int a = f->desc.dim - 1; a > axis; a--)
        pixel /= (size_t)f->sizes[a];
    return (int64_t)(pixel % (size_t)f->sizes[axis]);
}

/* The sum over samples of exp(-i angles (q - p)), for each difference. */
static void fill_kernel(struct fit *f)
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

/* Cholesky's factor in its rows, from the diagonal on: gram = factor^H factor. */
static void factor_gram(struct fit *f)
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
    for (size_t k = 0; k < n; k++) {
        double complex *row = f->gram + k * n;
        /* Never 0: the ridge is far above rounding. */
        const double root = sqrt(creal(row[k]));
        for (size_t q = k; q < n; q++)
            row[q] /= root;
        for (size_t p = k + 1; p < n; p++)
            hcy__add_multiple(f->gram + p * n + p, -conj(row[p]), row + p, false, n - p);
    }
}

/* x becomes A^H A's inverse times x. */
static void solve_gram(double complex *x, const struct fit *f)
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

static double complex *image_of(const struct fit *f, size_t which, size_t coil)
{
    return f->x + (which * f->coils + coil) * f->pixels;
}

static void solve_images(struct fit *f)
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
static double find_rest(struct fit *f)
{
    double steps[3], sum = 0;
    for (size_t m = 0; m < f->n; m++) {
        sample_row(steps, f, m);
        for (size_t c = 0; c < f->coils; c++) {
            double complex *rest = &f->rest[m * f->coils + c];
            *rest = f->samples[m * f->coils + c] - dot_row(f, image_of(f, 0, c));
            sum += energy_of(*rest);
        }
    }
    return sum;
}

/* The derivatives of A x in the delays: row (-i place x), times the samples' steps. */
static void find_slopes(struct fit *f)
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
static void project_slopes(struct fit *f)
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

/* Up to three equations, positive ones; an axis that says nothing has 0. */
static void solve_equations(double *x, double a[3][3], double *b, int n)
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
static void find_step(double step[3], const struct fit *f)
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
    solve_equations(step, equations, right, dim);
}

/* |rest|^2 at these delays, in samples, and a step to better ones (NULL: is not wanted). */
static int look_at(double *rest, double step[3], struct fit *f, const double *delays)
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

/* --- Where to begin --- */

/* How much later than the middle the energy of a readout has its centre; its gradients where it passes the middle. */
static bool find_lag(double *lag, double gradients[3], const struct fit *f, size_t readout, const double *energies)
{
    const size_t length = (size_t)f->desc.samples, first = readout * length;
    double sum = 0, moment = 0, nearest = HUGE_VAL, along = 0, square = 0;
    size_t at = 0;
    for (size_t i = 0; i < length; i++) {
        double distance = 0;
        for (int a = 0; a < f->desc.dim; a++)
            distance += pow(hcy__trajectory_get(&f->desc, f->points[a], first + i), 2);
        at = distance < nearest ? i : at;
        nearest = fmin(nearest, distance);
        sum += energies[first + i] * energies[first + i];
        moment += energies[first + i] * energies[first + i] * (double)i;
    }
    if (!(sum > 0) || (double)at < BEGIN * (double)length || (double)at > (1 - BEGIN) * (double)length)
        return false;
    for (int a = 0; a < f->desc.dim; a++) {
        gradients[a] = hcy__trajectory_get(&f->desc, f->points[a], first + at) -
                       hcy__trajectory_get(&f->desc, f->points[a], first + at - 1);
        along += gradients[a] * hcy__trajectory_get(&f->desc, f->points[a], first + at);
        square += gradients[a] * gradients[a];
    }
    *lag = moment / sum - ((double)at - along / square);
    return square > 0 && fabs(*lag) < BEGIN * (double)length;
}

/* Delays that put the energy into the middle, by least squares over the readouts that pass it. */
static int guess_delays(double delays[3], bool *passes, const struct fit *f)
{
    const size_t n = (size_t)(f->desc.readouts * f->desc.samples);
    double equations[3][3] = { { 0 } }, right[3] = { 0 }, lag, gradients[3], *energies = calloc(n, sizeof *energies);
    if (!energies)
        return hcy_fail(HCY_ENOMEM, "hcy_trajectory_find_delays: no memory for %zu samples", n);
    for (size_t m = 0; m < f->n * f->coils; m++)
        energies[f->at[m / f->coils]] += energy_of(f->samples[m]);
    for (size_t r = 0; r < (size_t)f->desc.readouts; r++) {
        if (!find_lag(&lag, gradients, f, r, energies))
            continue;
        double square = 0;
        *passes = true;
        for (int a = 0; a < f->desc.dim; a++)
            square += gradients[a] * gradients[a];
        for (int a = 0; a < f->desc.dim; a++) {
            const double part = gradients[a] * gradients[a] / square;
            right[a] += part * lag;
            for (int b = 0; b < f->desc.dim; b++)
                equations[a][b] += part * gradients[b] * gradients[b] / square;
        }
    }
    free(energies);
    solve_equations(delays, equations, right, f->desc.dim);
    return 0;
}

/* --- The whole --- */

/* The best of some delays: none, where the energy has its centre, and as large on all axes. */
static int begin_delays(double best[3], struct fit *f)
{
    const double even[] = { -4, -2, -1, 1, 2, 4 };
    double guess[3] = { 0 }, least = HUGE_VAL, rest;
    bool passes = false;
    int status = guess_delays(guess, &passes, f);
    /* Interleaves from the centre out say by their energy nothing of when they left it. */
    const int n = 2 + (passes ? 0 : (int)(sizeof even / sizeof even[0]));
    for (int i = 0; !status && i < n; i++) {
        const double all = i > 1 ? even[i - 2] : 0, delays[3] = { all + (i ? guess[0] : 0), all + (i ? guess[1] : 0),
                                                                  all + (i ? guess[2] : 0) };
        status = look_at(&rest, NULL, f, delays);
        if (!status && rest < least) {
            memcpy(best, delays, sizeof delays);
            least = rest;
        }
    }
    return status;
}

static int fit_delays(double best[3], struct fit *f)
{
    double delays[3], step[3] = { 0 }, least = HUGE_VAL, rest, far = HUGE_VAL;
    int status = begin_delays(delays, f);
    for (int i = 0; !status && i < MOST_STEPS && far > ENOUGH; i++) {
        status = look_at(&rest, step, f, delays);
        if (!status && rest < least) {
            memcpy(best, delays, sizeof delays);
            least = rest;
        }
        far = 0;
        for (int a = 0; a < f->desc.dim; a++) {
            far = fmax(far, fabs(step[a]));
            delays[a] += fmax(-FARTHEST, fmin(FARTHEST, step[a]));
        }
    }
    return status;
}

static int check_fit(double *delays, const hcy_trajectory_desc *d, const int64_t *modes, const void *samples,
                     int64_t coils)
{
    if (!delays || !modes || !samples || coils < 1)
        return hcy_fail(HCY_EINVAL, "hcy_trajectory_find_delays: no %s", !delays ? "place for the delays"
                                                                         : !modes ? "modes"
                                                                         : !samples ? "samples" : "coils");
    for (int a = 0; a < d->dim; a++)
        if (modes[a] < 1)
            return hcy_fail(HCY_EINVAL, "hcy_trajectory_find_delays: %lld modes on axis %d", (long long)modes[a], a);
    return 0;
}

int hcy_trajectory_find_delays(double *delays, const hcy_trajectory_desc *desc, const int64_t *modes,
                               const void *const *points, const void *samples, int64_t coils)
{
    struct fit f = { 0 };
    hcy_trajectory_desc d;
    size_t n, every = 1;
    double found[3], *energies = NULL;
    int status = hcy__trajectory_check(&d, &n, desc, points, "hcy_trajectory_find_delays");
    if (!status)
        status = check_fit(delays, &d, modes, samples, coils);
    if (status)
        return status;
    memcpy(f.modes, modes, (size_t)d.dim * sizeof *modes);
    f.coils = coils < MOST_COILS ? (size_t)coils : MOST_COILS;
    const size_t count = choose_middle(&f, &d, points, n);
    if (!count)
        return hcy_fail(HCY_EINVAL, "hcy_trajectory_find_delays: readouts have too few samples in the middle of "
                                    "k-space, up to %d / FOV from the centre, to say anything", LEAST_K);
    status = take_readouts(&f, &every, &d, points, count);
    if (!status)
        status = make_fit_room(&f);
    if (!status && !(energies = calloc((size_t)coils, sizeof *energies)))
        status = hcy_fail(HCY_ENOMEM, "hcy_trajectory_find_delays: no memory for %lld coils", (long long)coils);
    if (!status)
        status = take_samples(&f, energies, samples, every, (size_t)coils, n);
    if (!status)
        status = fit_delays(found, &f);
    for (int a = 0; !status && a < d.dim; a++)
        delays[a] = found[a] * d.dwell;
    free(energies);
    free_fit(&f);
    return status;
}
