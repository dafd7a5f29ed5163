/* refine.c - the geometry from places on rings: Levenberg and Marquardt's least squares, robust.  No state, any thread.
 *
 * What is fitted is 2 theta, in radians.  Weights come from the residuals of the step before, so that a few points that
 * lie on another ring, or on dust, do not pull.  The normal equations are scaled to a diagonal of ones before they are
 * solved: metres and radians then weigh alike, and a small pivot means that points do not tell two parameters apart. */
#include <halcyon/calibrate.h>
#include "azint_priv.h"
#include "sized.h"

#include <math.h>
#include <string.h>

enum { P = HCY_PONI_PARAMETERS, MOST_STEPS = 100, MOST_TRIES = 30 };
#define WIDTH 6.0      /* of the weights, in standard deviations */
#define ALIKE 1e-13    /* a pivot below it: parameters that cannot be told apart */
#define SMALL 1e-4     /* a step that is nothing, in standard deviations of the parameters */
#define FINE 1e-11     /* radians: a scatter that is rounding alone */

struct refinement {
    size_t height, width, n;
    const hcy_ring_point *points;
    double *places, *expected, *residual, *weight, *sorted, *gradient;
    int column[P], n_free; /* the parameters that move */
};

static double *parameter_of(hcy_poni *poni, int k)
{
    double *const all[P] = { &poni->dist, &poni->poni1, &poni->poni2, &poni->rot1,
                             &poni->rot2, &poni->rot3,  &poni->wavelength };

    return all[k];
}

static int compare_rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* 2 theta of each point's ring; HCY_EINVAL: this wavelength has none. */
static int expect_angles(struct refinement *r, double wavelength)
{
    for (size_t i = 0; i < r->n; i++) {
        double s = wavelength / (2 * r->points[i].spacing);

        if (!(s > 0 && s < 1))
            return hcy_fail(HCY_EINVAL, "hcy_poni_refine: planes %g m apart have no ring at the wavelength %g m",
                            r->points[i].spacing, wavelength);
        r->expected[i] = 2 * asin(s);
    }
    return 0;
}

/* Residuals of all points, and their gradients (wanted or not); HCY_EINVAL: there is none. */
static int find_residuals(struct refinement *r, const hcy_poni *poni, int with_gradient)
{
    int status = expect_angles(r, poni->wavelength);

    if (!status)
        status = hcy_poni_gradients(r->residual, with_gradient ? r->gradient : NULL, poni, r->height, r->width,
                                    "2th_rad", r->places, r->n);
    for (size_t i = 0; i < r->n && !status; i++) {
        /* A detector's file may have pixels without a place, and sums with one of them compare with nothing. */
        if (!isfinite(r->residual[i]))
            return hcy_fail(HCY_EINVAL, "hcy_poni_refine: point %zu, at row %g, column %g, is in a pixel without a place",
                            i, r->points[i].row, r->points[i].column);
        r->residual[i] -= r->expected[i];
        /* The wavelength moves the ring, where all else moves the place. */
        if (with_gradient)
            r->gradient[P * i + HCY_PONI_WAVELENGTH] =
                -1 / (r->points[i].spacing * sqrt(1 - pow(poni->wavelength / (2 * r->points[i].spacing), 2)));
    }
    return status;
}

/* Weights from the scatter, which is that of a normal distribution with the same median. */
static void weigh(struct refinement *r)
{
    for (size_t i = 0; i < r->n; i++)
        r->sorted[i] = fabs(r->residual[i]);
    qsort(r->sorted, r->n, sizeof *r->sorted, compare_rising);
    double reach = WIDTH * fmax(1.4826 * r->sorted[r->n / 2], FINE);
    for (size_t i = 0; i < r->n; i++) {
        double u = r->residual[i] / reach;

        r->weight[i] = fabs(u) < 1 ? (1 - u * u) * (1 - u * u) : 0;
    }
}

static double weighted_square(const struct refinement *r)
{
    double sum = 0;

    for (size_t i = 0; i < r->n; i++)
        sum += r->weight[i] * r->residual[i] * r->residual[i];
    return sum;
}

/* The normal equations: a symmetric matrix scaled to a diagonal of ones, the scale, and the right side. */
static int make_normal(double a[P][P], double scale[P], double b[P], const struct refinement *r)
{
    memset(a, 0, P * sizeof a[0]);
    memset(b, 0, P * sizeof b[0]);
    for (size_t i = 0; i < r->n; i++)
        for (int k = 0; k < r->n_free; k++) {
            const double *g = r->gradient + P * i;
            double w = r->weight[i] * g[r->column[k]];

            b[k] -= w * r->residual[i];
            for (int l = 0; l <= k; l++)
                a[k][l] += w * g[r->column[l]];
        }
    for (int k = 0; k < r->n_free; k++) {
        if (!(a[k][k] > 0))
            return k + 1;
        scale[k] = 1 / sqrt(a[k][k]);
    }
    for (int k = 0; k < r->n_free; k++) {
        b[k] *= scale[k];
        for (int l = 0; l <= k; l++)
            a[l][k] = a[k][l] *= scale[k] * scale[l];
    }
    return 0;
}

/* Cholesky's factor of a + damping * 1, lower triangle; 0, or one more than the parameter that is not determined. */
static int factorize(double f[P][P], double a[P][P], double damping, int n)
{
    for (int k = 0; k < n; k++)
        for (int l = 0; l <= k; l++) {
            double sum = a[k][l] + (k == l ? damping : 0);

            for (int m = 0; m < l; m++)
                sum -= f[k][m] * f[l][m];
            if (k == l && !(sum > ALIKE))
                return k + 1;
            f[k][l] = k == l ? sqrt(sum) : sum / f[l][l];
        }
    return 0;
}

static void solve_factored(double x[P], double f[P][P], const double b[P], int n)
{
    for (int k = 0; k < n; k++) {
        x[k] = b[k];
        for (int l = 0; l < k; l++)
            x[k] -= f[k][l] * x[l];
        x[k] /= f[k][k];
    }
    for (int k = n - 1; k >= 0; k--) {
        for (int l = k + 1; l < n; l++)
            x[k] -= f[l][k] * x[l];
        x[k] /= f[k][k];
    }
}

static int undetermined(const struct refinement *r, int at)
{
    static const char *const names[P] = { "dist", "poni1", "poni2", "rot1", "rot2", "rot3", "wavelength" };

    return hcy_fail(HCY_ERANGE, "the points do not determine %s apart from the other parameters: fix it",
                    names[r->column[at - 1]]);
}

/* Standard deviations of the parameters, in radians and metres, for a scatter of 1. */
static int find_sigma(double sigma[P], const struct refinement *r)
{
    double a[P][P], f[P][P], scale[P], b[P], unit[P], x[P];
    int at = make_normal(a, scale, b, r);

    if (!at)
        at = factorize(f, a, 0, r->n_free);
    if (at)
        return undetermined(r, at);
    for (int k = 0; k < r->n_free; k++) {
        memset(unit, 0, sizeof unit);
        unit[k] = 1;
        solve_factored(x, f, unit, r->n_free);
        sigma[k] = scale[k] * sqrt(x[k]);
    }
    return 0;
}

/* One step that makes the sum of squares smaller, if there is one.  *size: of the step, in standard deviations. */
static int step_down(hcy_poni *poni, double *size, double *damping, struct refinement *r)
{
    double a[P][P], f[P][P], scale[P], b[P], x[P], before, scatter;
    int at = make_normal(a, scale, b, r);

    if (at)
        return undetermined(r, at);
    *size = 0;
    before = weighted_square(r);
    scatter = sqrt(fmax(before / (double)r->n, FINE * FINE));
    for (int try = 0; try < MOST_TRIES; try++, *damping *= 10) {
        hcy_poni moved = *poni;

        if (factorize(f, a, *damping, r->n_free))
            continue;
        solve_factored(x, f, b, r->n_free);
        for (int k = 0; k < r->n_free; k++)
            *parameter_of(&moved, r->column[k]) += scale[k] * x[k];
        /* Weights stay while steps are compared, else a step would win by making points count less. */
        if (!(moved.dist > 0) || find_residuals(r, &moved, 0) || !(weighted_square(r) <= before))
            continue;
        *poni = moved;
        for (int k = 0; k < r->n_free; k++)
            *size = fmax(*size, fabs(x[k]) / scatter);
        *damping = fmax(*damping / 30, 1e-12);
        return 0;
    }
    return 0; /* nowhere is better: size 0 ends it */
}

static int descend(hcy_poni *poni, hcy_poni_fit *fit, struct refinement *r)
{
    double size = 1, damping = 1e-3;
    int status = 0;

    for (fit->iterations = 0; fit->iterations < MOST_STEPS && size > SMALL && !status; fit->iterations++) {
        status = find_residuals(r, poni, 1);
        if (status)
            break;
        weigh(r);
        status = step_down(poni, &size, &damping, r);
    }
    fit->converged = !(size > SMALL);
    return status ? status : find_residuals(r, poni, 1);
}

/* What the scatter of the points says about the result. */
static int judge_fit(hcy_poni_fit *fit, const hcy_poni *poni, struct refinement *r)
{
    double sigma[P] = { 0 }, sum = 0, pixels = 0, pixel = fmin(poni->pixel1, poni->pixel2);
    int status;

    weigh(r);
    fit->n_used = 0;
    for (size_t i = 0; i < r->n; i++) {
        const double *g = r->gradient + P * i;

        if (r->weight[i] <= 0)
            continue;
        fit->n_used++;
        sum += r->residual[i] * r->residual[i];
        /* Across the ring 2 theta changes by so much a metre: poni moves against the place. */
        pixels += pow(r->residual[i] / (pixel * hypot(g[HCY_PONI_PONI1], g[HCY_PONI_PONI2])), 2);
    }
    if (fit->n_used <= (size_t)r->n_free)
        return hcy_fail(HCY_EINVAL, "hcy_poni_refine: only %zu of %zu points agree, too few for %d parameters",
                        fit->n_used, r->n, r->n_free);
    fit->rms = sqrt(sum / (double)fit->n_used);
    fit->rms_pixels = sqrt(pixels / (double)fit->n_used);
    if ((status = find_sigma(sigma, r)))
        return status;
    for (int k = 0; k < r->n_free; k++)
        fit->sigma[r->column[k]] = sigma[k] * sqrt(sum / (double)(fit->n_used - (size_t)r->n_free));
    return 0;
}

static int make_room(struct refinement *r)
{
    size_t size;

    if (hcy_size_mul(&size, r->n, (6 + P) * sizeof(double)) || !(r->places = malloc(size)))
        return hcy_fail(HCY_ENOMEM, "no memory for %zu points", r->n);
    r->expected = r->places + 2 * r->n;
    r->residual = r->expected + r->n;
    r->weight = r->residual + r->n;
    r->sorted = r->weight + r->n;
    r->gradient = r->sorted + r->n;
    for (size_t i = 0; i < r->n; i++) {
        r->places[2 * i] = r->points[i].row;
        r->places[2 * i + 1] = r->points[i].column;
    }
    return 0;
}

int hcy_poni_refine(hcy_poni *given, hcy_poni_fit *out, size_t height, size_t width, const hcy_ring_point *points,
                    size_t n, unsigned fixed)
{
    struct refinement r = { .height = height, .width = width, .n = n, .points = points };
    hcy_poni_fit fit = HCY_PONI_FIT_INIT;
    hcy_poni poni = HCY_PONI_INIT, whole;
    int status;

    if (!given || !out || !points)
        return hcy_fail(HCY_EINVAL, "hcy_poni_refine: %s is NULL", given && out ? "points" : "poni or fit");
    for (int k = 0; k < P; k++)
        if (!(fixed >> k & 1) && k != HCY_PONI_ROT3)
            r.column[r.n_free++] = k;
    if (!r.n_free || n <= (size_t)r.n_free)
        return hcy_fail(HCY_EINVAL, "hcy_poni_refine: %zu points for %d parameters that are not fixed", n, r.n_free);
    /* A point that is nowhere would make all steps look as good as none. */
    for (size_t i = 0; i < n; i++)
        if (!isfinite(points[i].row) || !isfinite(points[i].column))
            return hcy_fail(HCY_EINVAL, "hcy_poni_refine: point %zu is at row %g, column %g", i, points[i].row,
                            points[i].column);
    if ((status = hcy__sized_read(&poni, sizeof poni, given, "hcy_poni")))
        return status;
    whole = poni;
    if ((status = hcy__azint_resolve_poni(&whole, height, width)) || (status = make_room(&r)))
        return status;
    status = descend(&poni, &fit, &r);
    whole.dist = poni.dist;
    if (!status)
        status = judge_fit(&fit, &whole, &r);
    free(r.places);
    if (!status)
        status = hcy__sized_write(out, &fit, sizeof fit, "hcy_poni_fit");
    return status ? status : hcy__sized_write(given, &poni, sizeof poni, "hcy_poni");
}
