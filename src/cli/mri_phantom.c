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
#include <stdbool.h>

#define PI     3.14159265358979323846
#define PERIOD (1. / 6) /* of harmonics, in cycles of a unit of length, half a field of view */
enum { MOST_ORDERS = 1024 };

static const struct ellipsoid {
    double value, a, b, c, x, y, z, cosine, sine; /* turned about z */
} ellipsoids[MRI_ELLIPSOIDS] = {
#define COS_18 0.95105651629515357212
#define SIN_18 0.30901699437494742410
    { 1, .69, .92, .81, 0, 0, 0, 1, 0 },
    { -.8, .6624, .874, .78, 0, -.0184, 0, 1, 0 },
    { -.2, .11, .31, .22, .22, 0, 0, COS_18, -SIN_18 },
    { -.2, .16, .41, .28, -.22, 0, 0, COS_18, SIN_18 },
    { .1, .21, .25, .41, 0, .35, -.15, 1, 0 },
    { .1, .046, .046, .05, 0, .1, .25, 1, 0 },
    { .1, .046, .046, .05, 0, -.1, .25, 1, 0 },
    { .1, .046, .023, .05, -.08, -.605, 0, 1, 0 },
    { .1, .023, .023, .02, 0, -.606, 0, 1, 0 },
    { .1, .023, .046, .02, .06, -.605, 0, 1, 0 },
};

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
    to[0] = e->cosine * x + e->sine * y;
    to[1] = e->cosine * y - e->sine * x;
}

/* How far a place is from an ellipsoid's middle, of the distance of its edge there; squared. */
static double squared_reach(int dim, const struct ellipsoid *e, const double xyz[3])
{
    double own[2], z = dim == 3 ? (xyz[2] - e->z) / e->c : 0;
    turn(own, e, xyz[0] - e->x, xyz[1] - e->y);
    return own[0] * own[0] / (e->a * e->a) + own[1] * own[1] / (e->b * e->b) + z * z;
}

double mri_phantom_value(int dim, const double *r)
{
    double xyz[3], sum = 0;
    find_xyz(xyz, dim, r);
    for (int i = 0; i < MRI_ELLIPSOIDS; i++)
        if (squared_reach(dim, &ellipsoids[i], xyz) <= 1)
            sum += ellipsoids[i].value;
    return sum;
}

/* Whether no edge comes as near as that to a place. */
static bool is_far_from_edges(int dim, const double *r, double distance)
{
    double xyz[3];
    bool far = true;
    find_xyz(xyz, dim, r);
    for (int i = 0; i < MRI_ELLIPSOIDS && far; i++) {
        const struct ellipsoid *e = &ellipsoids[i];
        /* A step of that length changes the reach by no more than this. */
        const double least = dim == 3 ? fmin(fmin(e->a, e->b), e->c) : fmin(e->a, e->b);
        far = fabs(sqrt(squared_reach(dim, e, xyz)) - 1) > distance / least;
    }
    return far;
}

double mri_phantom_mean(int dim, const double *r, const double *half)
{
    const int n = dim == 3 ? MRI_SUB * MRI_SUB * MRI_SUB : MRI_SUB * MRI_SUB;
    double sum = 0, diagonal = 0;
    for (int d = 0; d < dim; d++)
        diagonal += half[d] * half[d];
    /* Nearly all boxes have one value. */
    if (is_far_from_edges(dim, r, sqrt(diagonal)))
        return mri_phantom_value(dim, r);
    for (int i = 0; i < n; i++) {
        const int at[3] = { i % MRI_SUB, i / MRI_SUB % MRI_SUB, i / MRI_SUB / MRI_SUB };
        double place[3];
        for (int d = 0; d < dim; d++)
            place[d] = r[d] + (2 * (at[d] + 0.5) / MRI_SUB - 1) * half[d];
        sum += mri_phantom_value(dim, place);
    }
    return sum / n;
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

/* The transform of an ellipsoid about the middle. */
static double transform_centred(int dim, const struct ellipsoid *e, const double xyz[3])
{
    double own[2], c = dim == 3 ? e->c : 1, z = dim == 3 ? xyz[2] : 0;
    turn(own, e, xyz[0], xyz[1]);
    double q = sqrt(e->a * e->a * own[0] * own[0] + e->b * e->b * own[1] * own[1] + c * c * z * z);
    return e->value * e->a * e->b * c * transform_unit(dim, q);
}

/* What it is turned by where its middle is. */
static double complex turn_of_centre(const struct ellipsoid *e, const double xyz[3])
{
    double phase = -2 * PI * (xyz[0] * e->x + xyz[1] * e->y + xyz[2] * e->z);
    return cos(phase) + I * sin(phase);
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

void mri_coil_values(double complex *values, const struct mri_scene *scene, const double *r)
{
    double complex waves[3][3];
    for (int d = 0; d < scene->dim; d++)
        for (int h = 0; h < 3; h++)
            waves[d][h] = cexp(2 * PI * PERIOD * (h - 1) * r[d] * I);
    for (size_t c = 0; c < scene->n_coils; c++) {
        const double complex (*harmonics)[3] = scene->harmonics[c];
        values[c] = 1;
        for (int d = 0; d < scene->dim; d++)
            values[c] *= harmonics[d][0] * waves[d][0] + harmonics[d][1] * waves[d][1] +
                         harmonics[d][2] * waves[d][2];
    }
}

double mri_field_value(const struct mri_scene *scene, const double *r)
{
    return scene->field * cos(2 * PI * PERIOD * r[scene->dim - 1]);
}

/* --- What is received --- */

/* The shifts by harmonics h0 of the first axis and, in 3-D, h1 of the second. */
static void add_side(struct mri_scene *scene, int h0, int h1)
{
    const int i = scene->n_sides++;
    double xyz[3], k[3] = { 0 };
    k[0] = scene->shifts[i][0] = h0 * PERIOD;
    scene->shifts[i][1] = h1 * PERIOD;
    if (scene->dim == 3)
        k[1] = h1 * PERIOD;
    for (int d = 0; d < 3; d++)
        k[d] = -k[d];
    find_xyz(xyz, scene->dim, k);
    for (int e = 0; e < MRI_ELLIPSOIDS; e++)
        scene->turns[i][e] = turn_of_centre(&ellipsoids[e], xyz);
    for (size_t c = 0; c < scene->n_coils; c++)
        scene->sides[i][c] =
            scene->harmonics[c][0][h0 + 1] * (scene->dim == 3 ? scene->harmonics[c][1][h1 + 1] : 1);
}

void mri_scene_make(struct mri_scene *scene, int dim, size_t n_coils, double field)
{
    const int reach = n_coils > 1, second = dim == 3 ? reach : 0;
    *scene = (struct mri_scene){ .dim = dim, .n_coils = n_coils, .field = field };
    for (size_t c = 0; c < n_coils; c++)
        for (int d = 0; d < dim; d++)
            for (int h = -1; h <= 1; h++)
                scene->harmonics[c][d][h + 1] = coil_harmonic(scene, c, d, h);
    for (int h0 = -reach; h0 <= reach; h0++)
        for (int h1 = -second; h1 <= second; h1++)
            add_side(scene, h0, h1);
}

/* exp(-i z cos a) = sum over n of orders[|n|] exp(i n a); how many are not lost in rounding. */
static int expand_field(double complex orders[MOST_ORDERS], double z)
{
    static const double complex turns[4] = { 1, -I, -1, I };
    int n = 1;
    orders[0] = jn(0, z);
    /* Bessel functions fall faster than any power once the order is beyond z. */
    for (double value = z; n < MOST_ORDERS && (n <= z || fabs(value) > 1e-17); n++) {
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
            sum += scene->harmonics[coil][scene->dim - 1][h + 1] * orders[order];
    }
    return sum;
}

/* The phantom's transform at k and all shifts of it along the other axes. */
static void transform_sides(double complex values[MRI_SIDES], const struct mri_scene *scene, const double *k)
{
    double complex turns[MRI_ELLIPSOIDS];
    double xyz[3];
    find_xyz(xyz, scene->dim, k);
    for (int e = 0; e < MRI_ELLIPSOIDS; e++)
        turns[e] = turn_of_centre(&ellipsoids[e], xyz);
    for (int i = 0; i < scene->n_sides; i++) {
        double shifted[3] = { k[0] - scene->shifts[i][0], k[1], k[2] };
        if (scene->dim == 3)
            shifted[1] -= scene->shifts[i][1];
        find_xyz(xyz, scene->dim, shifted);
        values[i] = 0;
        for (int e = 0; e < MRI_ELLIPSOIDS; e++)
            values[i] += transform_centred(scene->dim, &ellipsoids[e], xyz) * (turns[e] * scene->turns[i][e]);
    }
}

void mri_receive(double complex *signal, const struct mri_scene *scene, const double *k, double seconds)
{
    double complex orders[MOST_ORDERS];
    const int n = expand_field(orders, 2 * PI * scene->field * seconds), reach = scene->n_coils > 1,
              last = scene->dim - 1;
    for (size_t c = 0; c < scene->n_coils; c++)
        signal[c] = 0;
    /* Transforms take the time: they are the same for all coils, and are computed once for each shift. */
    for (int m = 1 - n - reach; m <= n - 1 + reach; m++) {
        double complex values[MRI_SIDES];
        double shifted[3] = { k[0], k[1], last == 2 ? k[2] : 0 };
        shifted[last] -= m * PERIOD;
        transform_sides(values, scene, shifted);
        for (size_t c = 0; c < scene->n_coils; c++) {
            double complex sum = 0;
            for (int i = 0; i < scene->n_sides; i++)
                sum += scene->sides[i][c] * values[i];
            signal[c] += last_harmonic(scene, c, m, orders, n) * sum;
        }
    }
}
