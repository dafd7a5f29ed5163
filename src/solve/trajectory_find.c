/* trajectory_find.c - delays of gradients from data: what readouts say of the middle of k-space has to agree.
 *
 * Samples up to K / FOV from the centre are fitted by an image of 2 (K + MARGIN) pixels an axis (trajectory_fit.c); of
 * many readouts some are looked at.  Where to begin says the energy along readouts, whose centre is where they pass the
 * middle.
 */
#include "trajectory_fit.h"

#include <halcyon/backend.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TURN 6.283185307179586476925
#define ENOUGH 1e-4 /* samples: a step that is the last one */
#define FARTHEST 2  /* samples that a step goes */
#define GOLDEN 0.6180339887498949
#define BEGIN 0.2   /* of a readout from its ends, where none passes the middle */
enum {
    MARGIN = 2,
    MOST_K = HCY__FIT_MOST_SIDE / 2 - MARGIN,
    LEAST_K = 2,
    MOST_PIXELS = 1000,    /* the third power of which a factorisation takes */
    ENOUGH_SAMPLES = 6000, /* in the middle: three times what the most pixels need */
    MOST_COILS = 8,
    MOST_STEPS = 20
};

/* --- The middle --- */

static bool is_middle(const hcy_trajectory_desc *d, const int64_t *modes, const void *const *points, size_t i, double k)
{
    bool is = true;
    for (int a = 0; a < d->dim; a++)
        is = is && fabs(hcy__trajectory_get(d, points[a], i)) * (double)modes[a] <= TURN * k;
    return is;
}

static size_t count_middle(const hcy_trajectory_desc *d, const int64_t *modes, const void *const *points, size_t first,
                           size_t n, double k)
{
    size_t count = 0;
    for (size_t i = first; i < first + n; i++)
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

/* As far from the centre as there are two samples a pixel. */
static bool choose_middle(struct hcy__fit *f, const hcy_trajectory_desc *d, const void *const *points, size_t n)
{
    for (int k = MOST_K; k >= LEAST_K; k--) {
        f->k = k;
        f->pixels = choose_pixels(f->sizes, d, f->modes, k);
        if (f->pixels <= MOST_PIXELS && count_middle(d, f->modes, points, 0, n, k) >= 2 * f->pixels)
            return true;
    }
    return false;
}

/* About the golden ratio's share of n, without a common divisor: steps of that many, round and round, come to all of n,
 * and the first ones are spread evenly over it, and over what repeats in it (the slices of a stack). */
static size_t choose_stride(size_t n)
{
    for (size_t stride = (size_t)(GOLDEN * (double)n);; stride++) {
        size_t a = n, b = stride;
        while (b) {
            const size_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1)
            return stride;
    }
}

/* Readouts that have samples in the middle, until these are enough. */
static int choose_readouts(struct hcy__fit *f, const hcy_trajectory_desc *d, const void *const *points)
{
    const size_t readouts = (size_t)d->readouts, length = (size_t)d->samples, stride = choose_stride(readouts);
    f->readouts = malloc(readouts * sizeof *f->readouts);
    if (!f->readouts)
        return hcy_fail(HCY_ENOMEM, "hcy_trajectory_find_delays: no memory for %zu readouts", readouts);
    f->desc = *d;
    f->desc.readouts = 0;
    f->desc.dwell = 1;
    for (size_t i = 0, r = 0; i < readouts && f->n < ENOUGH_SAMPLES; i++, r = (r + stride) % readouts) {
        const size_t count = count_middle(d, f->modes, points, r * length, length, f->k);
        if (count)
            f->readouts[f->desc.readouts++] = r;
        f->n += count;
    }
    return 0;
}

static int take_readouts(struct hcy__fit *f, const hcy_trajectory_desc *d, const void *const *points)
{
    int status = choose_readouts(f, d, points);
    if (status)
        return status;
    const size_t length = (size_t)d->samples, n = (size_t)f->desc.readouts * length,
                 real = d->precision == HCY_F64 ? 8 : 4;
    for (int a = 0; a < d->dim; a++) {
        f->points[a] = malloc(n * real);
        f->late[a] = malloc(n * real);
        if (!f->points[a] || !f->late[a])
            return hcy_fail(HCY_ENOMEM, "hcy_trajectory_find_delays: no memory for %zu points", n);
        for (size_t i = 0; i < n; i++)
            hcy__trajectory_put(d, f->points[a], i,
                                hcy__trajectory_get(d, points[a], f->readouts[i / length] * length + i % length));
    }
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

/* Where sample m of the middle stands among a coil's. */
static size_t place_of(const struct hcy__fit *f, size_t m)
{
    const size_t length = (size_t)f->desc.samples;
    return f->readouts[f->at[m] / length] * length + f->at[m] % length;
}

/* b, with a norm of 1 in all; `energies` has room for all coils. */
static int take_samples(struct hcy__fit *f, double *energies, const void *samples, size_t coils, size_t all)
{
    double sum = 0;
    for (size_t i = 0, m = 0; m < f->n; i++)
        if (is_middle(&f->desc, f->modes, (const void *const *)f->points, i, f->k))
            f->at[m++] = i;
    for (size_t c = 0; c < coils; c++) {
        for (size_t m = 0; m < f->n; m++)
            energies[c] += hcy__energy_of(sample_of(&f->desc, samples, c * all + place_of(f, m)));
        if (!isfinite(energies[c]))
            return hcy_fail(HCY_EINVAL, "hcy_trajectory_find_delays: samples of coil %zu in the middle of k-space are "
                                        "none or infinite", c);
    }
    for (size_t k = 0; k < f->coils; k++) {
        const size_t c = choose_coil(energies, coils);
        for (size_t m = 0; m < f->n; m++) {
            double complex *to = &f->samples[m * f->coils + k];
            *to = sample_of(&f->desc, samples, c * all + place_of(f, m));
            sum += hcy__energy_of(*to);
        }
    }
    if (!(sum > 0) || !isfinite(sum))
        return hcy_fail(HCY_EINVAL, "hcy_trajectory_find_delays: samples in the middle of k-space are %s",
                        sum > 0 ? "too large" : "0");
    for (size_t m = 0; m < f->n * f->coils; m++)
        f->samples[m] /= sqrt(sum);
    return 0;
}

static int make_fit_room(struct hcy__fit *f)
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

static void free_fit(struct hcy__fit *f)
{
    for (int a = 0; a < 3; a++) {
        free(f->points[a]);
        free(f->late[a]);
    }
    free(f->readouts);
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

/* --- Where to begin --- */

/* How much later than the middle the energy of a readout has its centre; its gradients where it passes the middle. */
static bool find_lag(double *lag, double gradients[3], const struct hcy__fit *f, size_t readout, const double *energies)
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
static int guess_delays(double delays[3], bool *passes, const struct hcy__fit *f)
{
    const size_t n = (size_t)(f->desc.readouts * f->desc.samples);
    double equations[3][3] = { { 0 } }, right[3] = { 0 }, lag, gradients[3], *energies = calloc(n, sizeof *energies);
    if (!energies)
        return hcy_fail(HCY_ENOMEM, "hcy_trajectory_find_delays: no memory for %zu samples", n);
    for (size_t m = 0; m < f->n * f->coils; m++)
        energies[f->at[m / f->coils]] += hcy__energy_of(f->samples[m]);
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
    hcy__fit_solve(delays, equations, right, f->desc.dim);
    return 0;
}

/* --- The whole --- */

/* Whether any sample of the middle was taken while there was a gradient. */
static bool has_gradient(const struct hcy__fit *f, int axis)
{
    const size_t length = (size_t)f->desc.samples;
    bool has = false;
    for (size_t m = 0; m < f->n && !has; m++) {
        const size_t i = f->at[m], before = i - (i % length > 0), after = i + (i % length + 1 < length);
        has = hcy__trajectory_get(&f->desc, f->points[axis], before) !=
              hcy__trajectory_get(&f->desc, f->points[axis], after);
    }
    return has;
}

/* The best of some delays: none, where the energy has its centre, and as large on all axes. */
static int begin_delays(double best[3], struct hcy__fit *f)
{
    const double even[] = { -4, -2, -1, 1, 2, 4 };
    double guess[3] = { 0 }, least = HUGE_VAL, rest;
    bool passes = false;
    int status = guess_delays(guess, &passes, f);
    /* Interleaves from the centre out say by their energy nothing of when they left it. */
    const int n = 2 + (passes ? 0 : (int)(sizeof even / sizeof even[0]));
    for (int i = 0; !status && i < n; i++) {
        double delays[3] = { 0 };
        bool within = true;
        for (int a = 0; a < f->desc.dim; a++) {
            if (i && has_gradient(f, a))
                delays[a] = guess[a] + (i > 1 ? even[i - 2] : 0);
            /* Of readouts that are nearly parallel the guess may be anywhere. */
            within = within && fabs(delays[a]) <= (double)f->desc.samples;
        }
        if (!within)
            continue;
        status = hcy__fit_look(&rest, NULL, f, delays);
        if (!status && rest < least) {
            memcpy(best, delays, sizeof delays);
            least = rest;
        }
    }
    return status;
}

static int fit_delays(double best[3], struct hcy__fit *f)
{
    double delays[3], step[3] = { 0 }, least = HUGE_VAL, rest, far = HUGE_VAL;
    int status = begin_delays(delays, f);
    for (int i = 0; !status && i < MOST_STEPS && far > ENOUGH; i++) {
        status = hcy__fit_look(&rest, step, f, delays);
        if (!status && rest < least) {
            memcpy(best, delays, sizeof delays);
            least = rest;
        }
        far = 0;
        for (int a = 0; a < f->desc.dim; a++) {
            far = fmax(far, fabs(step[a]));
            delays[a] += fmax(-FARTHEST, fmin(FARTHEST, step[a]));
            delays[a] = fmax(-(double)f->desc.samples, fmin((double)f->desc.samples, delays[a]));
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
    struct hcy__fit f = { 0 };
    hcy_trajectory_desc d;
    size_t n;
    double found[3], *energies = NULL;
    int status = hcy__trajectory_check(&d, &n, desc, points, "hcy_trajectory_find_delays");
    if (!status)
        status = check_fit(delays, &d, modes, samples, coils);
    if (status)
        return status;
    memcpy(f.modes, modes, (size_t)d.dim * sizeof *modes);
    f.coils = coils < MOST_COILS ? (size_t)coils : MOST_COILS;
    if (!choose_middle(&f, &d, points, n))
        return hcy_fail(HCY_EINVAL, "hcy_trajectory_find_delays: readouts have too few samples in the middle of "
                                    "k-space, up to %d / FOV from the centre, to say anything", LEAST_K);
    status = take_readouts(&f, &d, points);
    if (!status)
        status = make_fit_room(&f);
    if (!status && !(energies = calloc((size_t)coils, sizeof *energies)))
        status = hcy_fail(HCY_ENOMEM, "hcy_trajectory_find_delays: no memory for %lld coils", (long long)coils);
    if (!status)
        status = take_samples(&f, energies, samples, (size_t)coils, n);
    if (!status)
        status = fit_delays(found, &f);
    for (int a = 0; !status && a < d.dim; a++)
        delays[a] = found[a] * d.dwell;
    free(energies);
    free_fit(&f);
    return status;
}
