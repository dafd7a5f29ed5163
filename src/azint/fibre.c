/* fibre.c - units of fibres and of grazing incidence: scattering vectors and exit angles that are seen from the sample,
 * and not from the beam.  Pure functions.
 *
 * Signs are pyFAI's (2026.9), also where they differ between units: doc/geometry.md has the formulas.  A point is
 * (x, y, z) in the lab; `h` is its horizontal and `v` its vertical coordinate as the sample lies.
 */
#include "azint_priv.h"

#include <math.h>

void hcy__azint_sample_init(struct azint_sample *sample, double incident_angle, double tilt_angle, int orientation)
{
    sample->sin_incident = sin(incident_angle);
    sample->cos_incident = cos(incident_angle);
    sample->sin_tilt = sin(tilt_angle);
    sample->cos_tilt = cos(tilt_angle);
    sample->orientation = orientation;
}

struct seen {
    double h, v;
};

/* The eight ways to lay an image: EXIF's, as the axes' signs and whether they change places. */
static struct seen see_from_sample(const struct azint_sample *s, double x, double y)
{
    static const signed char ways[9][3] = { { 1, 1, 0 },   { 1, 1, 0 },   { -1, 1, 0 }, { -1, -1, 0 }, { 1, -1, 0 },
                                            { -1, -1, 1 }, { -1, 1, 1 }, { 1, 1, 1 },  { 1, -1, 1 } };
    const signed char *way = ways[s->orientation];
    struct seen p = { way[0] * (way[2] ? y : x), way[1] * (way[2] ? x : y) };

    return p;
}

/* The scattering vector in the sample's axes, in units of the wave's own vector. */
struct vector {
    double across, along, up;
};

static struct vector turn_vector(const struct azint_sample *s, double x, double y, double z)
{
    struct seen p = see_from_sample(s, x, y);
    double a2 = x * x + y * y, r = sqrt(a2 + z * z);
    /* z / r - 1 without its cancellation at small angles. */
    double beam = z > 0 ? -a2 / (r * (r + z)) : z / r - 1, across = p.h / r, up = p.v / r;
    double lifted = s->cos_incident * up - s->sin_incident * beam;
    struct vector q;

    q.along = s->cos_incident * beam + s->sin_incident * up;
    q.across = s->cos_tilt * across + s->sin_tilt * lifted;
    q.up = s->cos_tilt * lifted - s->sin_tilt * across;
    return q;
}

static double in_plane(const struct vector *q)
{
    double length = sqrt(q->along * q->along + q->across * q->across);

    return q->across > 0 ? length : -length;
}

static struct vector turn_ray(const struct azint_sample *s, double x, double y, double z)
{
    struct seen p = see_from_sample(s, x, y);
    double lifted = p.v * s->cos_incident + z * s->sin_incident;
    struct vector ray;

    ray.along = z * s->cos_incident - p.v * s->sin_incident;
    ray.across = p.h * s->cos_tilt - lifted * s->sin_tilt;
    ray.up = p.h * s->sin_tilt + lifted * s->cos_tilt;
    return ray;
}

#define OF_VECTOR(name, value)                                                                                       \
    void name(double *out, const double *x, const double *y, const double *z, size_t n, const struct azint_scale *s) \
    {                                                                                                                \
        for (size_t i = 0; i < n; i++) {                                                                             \
            struct vector q = turn_vector(&s->sample, x[i], y[i], z[i]);                                             \
            out[i] = value;                                                                                          \
        }                                                                                                            \
    }
OF_VECTOR(hcy__fibre_qx, s->factor *q.across)
OF_VECTOR(hcy__fibre_qy, s->factor *q.up)
OF_VECTOR(hcy__fibre_qz, s->factor *q.along)
OF_VECTOR(hcy__fibre_qip, s->factor *in_plane(&q))
OF_VECTOR(hcy__fibre_chi, atan2(in_plane(&q), q.up))

#define OF_RAY(name, turn, value)                                                                                    \
    void name(double *out, const double *x, const double *y, const double *z, size_t n, const struct azint_scale *s) \
    {                                                                                                                \
        for (size_t i = 0; i < n; i++) {                                                                             \
            struct vector ray = turn(&s->sample, x[i], y[i], z[i]);                                                  \
            out[i] = value;                                                                                          \
        }                                                                                                            \
    }
/* Angles from the beam turn with the image alone. */
static struct vector lay_ray(const struct azint_sample *s, double x, double y, double z)
{
    struct seen p = see_from_sample(s, x, y);
    struct vector ray = { p.h, z, p.v };

    return ray;
}
#define UPWARDS  atan2(ray.up, sqrt(ray.along * ray.along + ray.across * ray.across))
#define SIDEWAYS atan2(ray.across, ray.along)
OF_RAY(hcy__fibre_scattering_up, lay_ray, UPWARDS)
OF_RAY(hcy__fibre_scattering_across, lay_ray, SIDEWAYS)
OF_RAY(hcy__fibre_exit_up, turn_ray, UPWARDS)
OF_RAY(hcy__fibre_exit_across, turn_ray, SIDEWAYS)
