/* mri_phantom.c - see mri_phantom.h.
 *
 * Ellipses: L. A. Shepp and B. F. Logan, IEEE Trans. Nucl. Sci. 21 (1974) 21, with the contrasts of P. Toft (thesis,
 * Lyngby 1996), and in three dimensions the axes of M. Schabel's phantom3d.  An ellipse's transform is a b
 * J1(2 pi q) / q (R. Van de Walle et al., IEEE Trans. Med. Imaging 19 (2000) 1177), an ellipsoid's a b c
 * (sin 2 pi q - 2 pi q cos 2 pi q) / (2 pi^2 q^3) (C. Koay et al., Magn. Reson. Med. 58 (2007) 430), where q is the
 * length of k times the axes.
 *
 * A coil's sensitivity is a product, over the axes, of three harmonics of a period of three fields of view, and the
 * field is one cosine, whose exponential is a series of such harmonics with Bessel functions (Jacobi and Anger).  A
 * harmonic shifts k, so what is received is a sum of the phantom's transform at some places.
 */
#include "mri_phantom.h"
#include <math.h>

#define PI     3.14159265358979323846
#define PERIOD (1. / 6) /* of harmonics, in cycles of a unit of length, half a field of view */
enum { MOST_ORDERS = 1024 };

static const struct ellipsoid {
    double value, a, b, c, x, y, z, degrees; /* turned about z */
} ellipsoids[] = {
    { 1, .69, .92, .81, 0, 0, 0, 0 },        { -.8, .6624, .874, .78, 0, -.0184, 0, 0 },
    { -.2, .11, .31, .22, .22, 0, 0, -18 },  { -.2, .16, .41, .28, -.22, 0, 0, 18 },
    { .1, .21, .25, .41, 0, .35, -.15, 0 },  { .1, .046, .046, .05, 0, .1, .25, 0 },
    { .1, .046, .046, .05, 0, -.1, .25, 0 }, { .1, .046, .023, .05, -.08, -.605, 0, 0 },
    { .1, .023, .023, .02, 0, -.606, 0, 0 }, { .1, .023, .046, .02, .06, -.605, 0, 0 },
};
enum { ELLIPSOIDS = sizeof ellipsoids / sizeof ellipsoids[0] };

/* x, y, z of a place or of a frequency. */
static void find_xyz(double xyz[3], int dim, const double *r)
{
    xyz[0] = r[dim - 1];
    xyz[1] = -r[dim - 2];
    xyz[2] = dim == 3 ? r[0] : 0;
}

/* In an ellipsoid's own axes, without its centre. */
static void turn(double to[2], const struct ellipsoid *e, double x, double y)
{
    double c = cos(e->degrees * PI / 180), s = sin(e->degrees * PI / 180);
    to[0] = c * x + s * y;
    to[1] = c * y - s * x;
}

double mri_phantom_value(int dim, const double *r)
{
    double xyz[3], sum = 0;
    find_xyz(xyz, dim, r);
    for (int i = 0; i < ELLIPSOIDS; i++) {
        const struct ellipsoid *e = &ellipsoids[i];
        double own[2], z = dim == 3 ? (xyz[2] - e->z) / e->c : 0;
        turn(own, e, xyz[0] - e->x, xyz[1] - e->y);
        if (own[0] * own[0] / (e->a * e->a) + own[1] * own[1] / (e->b * e->b) + z * z <= 1)
            sum += e->value;
    }
    return sum;
}

/* The transform of the unit disc, or ball, at distance q: near 0 the first terms of its series, of which the next are
 * below 1e-16 there, while the closed form loses digits. */
static double transform_unit(int dim, double q)
{
    double w = 2 * PI * q, w2 = w * w;
    if (dim == 2)
        return w < 1e-3 ? PI * (1 - w2 / 8 * (1 - w2 / 24)) : j1(w) / q;
    if (w < 0.1)
        return 4 * PI / 3 * (1 - w2 / 10 * (1 - w2 / 28 * (1 - w2 / 54 * (1 - w2 / 88 * (1 - w2 / 130)))));
    return (sin(w) - w * cos(w)) / (2 * PI * PI * q * q * q);
}

double complex mri_phantom_transform(int dim, const double *k)
{
    double xyz[3];
    double complex sum = 0;
    find_xyz(xyz, dim, k);
    for (int i = 0; i < ELLIPSOIDS; i++) {
        const struct ellipsoid *e = &ellipsoids[i];
        double own[2], c = dim == 3 ? e->c : 1, z = dim == 3 ? xyz[2] : 0;
        turn(own, e, xyz[0], xyz[1]);
        double q = sqrt(e->a * e->a * own[0] * own[0] + e->b * e->b * own[1] * own[1] + c * c * z * z);
        double phase = -2 * PI * (xyz[0] * e->x + xyz[1] * e->y + z * e->z);
        sum += e->value * e->a * e->b * c * transform_unit(dim, q) * (cos(phase) + I * sin(phase));
    }
    return sum;
}

/* --- Coils --- */

/* Coils stand around the object, alternately above and below its middle. */
static double coil_place(const struct mri_scene *scene, size_t coil, int axis)
{
    double angle = 2 * PI * (double)coil / (double)scene->n_coils;
    if (axis == scene->dim - 1)
        return 1.2 * cos(angle);
    if (axis == scene->dim - 2)
        return 1.2 * sin(angle);
    return coil % 2 ? -0.5 : 0.5;
}

/* The coefficient of harmonic h, -1 to 1, on an axis. */
static double complex coil_harmonic(const struct mri_scene *scene, size_t coil, int axis, int h)
{
    static const double weights[3] = { 0.2, 0.5, 0.3 };
    double phase = -2 * PI * PERIOD * h * coil_place(scene, coil, axis);
    if (scene->n_coils == 1)
        return h == 0;
    /* Each coil has a phase of its own. */
    if (axis == 0)
        phase += 2 * PI * (double)coil / (double)scene->n_coils;
    return weights[h + 1] * (cos(phase) + I * sin(phase));
}

double complex mri_coil_value(const struct mri_scene *scene, size_t coil, const double *r)
{
    double complex product = 1;
    for (int d = 0; d < scene->dim; d++) {
        double complex sum = 0;
        for (int h = -1; h <= 1; h++)
            sum += coil_harmonic(scene, coil, d, h) * cexp(2 * PI * PERIOD * h * r[d] * I);
        product *= sum;
    }
    return product;
}

double mri_field_value(const struct mri_scene *scene, const double *r)
{
    return scene->field * cos(2 * PI * PERIOD * r[scene->dim - 1]);
}

/* --- What is received --- */

/* exp(-i z cos a) = sum over n of orders[|n|] exp(i n a); how many are not lost in rounding. */
static int expand_field(double complex orders[MOST_ORDERS], double z)
{
    static const double complex turns[4] = { 1, -I, -1, I };
    int n = 0;
    /* Bessel functions fall faster than any power once the order is beyond z. */
    for (double value = 1; n < MOST_ORDERS && (n <= z || fabs(value) > 1e-17); n++) {
        value = jn(n, z);
        orders[n] = value * turns[n % 4];
    }
    return n;
}

/* The coefficient of shift m on the last axis: of the coil and the field together. */
static double complex last_harmonic(const struct mri_scene *scene, size_t coil, int m,
                                    const double complex *orders, int n)
{
    double complex sum = 0;
    for (int h = -1; h <= 1; h++) {
        int order = m > h ? m - h : h - m;
        if (order < n)
            sum += coil_harmonic(scene, coil, scene->dim - 1, h) * orders[order];
    }
    return sum;
}

void mri_receive(double complex *signal, const struct mri_scene *scene, const double *k, double seconds)
{
    double complex orders[MOST_ORDERS];
    int n = expand_field(orders, 2 * PI * scene->field * seconds), reach = scene->n_coils > 1,
        last = scene->dim - 1;
    for (size_t c = 0; c < scene->n_coils; c++)
        signal[c] = 0;
    /* The shifts are the same for all coils: the transform, which takes the time, is computed once for each. */
    for (int h0 = -reach; h0 <= reach; h0++)
        for (int h1 = scene->dim == 3 ? -reach : 0; h1 <= (scene->dim == 3 ? reach : 0); h1++)
            for (int m = 1 - n - reach; m <= n - 1 + reach; m++) {
                double shifted[3] = { k[0] - h0 * PERIOD, k[1] - (scene->dim == 3 ? h1 : m) * PERIOD, 0 };
                if (scene->dim == 3)
                    shifted[2] = k[2] - m * PERIOD;
                double complex value = mri_phantom_transform(scene->dim, shifted);
                for (size_t c = 0; c < scene->n_coils; c++) {
                    double complex weight =
                        coil_harmonic(scene, c, 0, h0) * last_harmonic(scene, c, m, orders, n);
                    if (last == 2)
                        weight *= coil_harmonic(scene, c, 1, h1);
                    signal[c] += weight * value;
                }
            }
}
