/* unit.c - radial units: their names, and their values along a row of points.  Constant tables, any thread.
 *
 * A point is (x, y, z) in the lab, in metres.  Values are pyFAI's internal ones (metres, radians, nm^-1), to
 * be multiplied by the unit's scale at the very end, as pyFAI does.  No libm where algebra will do: with R
 * the point's distance and a its distance from the beam, sin(theta) = a / sqrt(2 R (R + z)).
 */
#include "azint_priv.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

typedef void (*unit_fn)(double *out, const double *x, const double *y, const double *z, size_t n,
                        double factor);

/* sin(theta) of a point at `a2`, squared, from the axis along which 2 theta is measured. */
static inline double sin_theta(double a2, double z)
{
    /* Before the sample 1 - cos would cancel for small angles, and behind it 1 + cos: each side has the
     * form that does not. */
    double r = sqrt(a2 + z * z), s = r + fabs(z), half = z >= 0 ? a2 / (2 * r * s) : s / (2 * r);

    return sqrt(half);
}

static void radius(double *out, const double *x, const double *y, const double *z, size_t n, double factor)
{
    (void)z;
    (void)factor;
    for (size_t i = 0; i < n; i++)
        out[i] = sqrt(x[i] * x[i] + y[i] * y[i]);
}

static void two_theta(double *out, const double *x, const double *y, const double *z, size_t n, double factor)
{
    (void)factor;
    for (size_t i = 0; i < n; i++)
        out[i] = atan2(sqrt(x[i] * x[i] + y[i] * y[i]), z[i]);
}

static void times_sin(double *out, const double *x, const double *y, const double *z, size_t n, double factor)
{
    for (size_t i = 0; i < n; i++)
        out[i] = factor * sin_theta(x[i] * x[i] + y[i] * y[i], z[i]);
}

static void over_sin(double *out, const double *x, const double *y, const double *z, size_t n, double factor)
{
    /* At the beam's centre it is infinite, which leaves such pixels out. */
    times_sin(out, x, y, z, n, 1);
    for (size_t i = 0; i < n; i++)
        out[i] = factor / out[i];
}

static void times_sin_squared(double *out, const double *x, const double *y, const double *z, size_t n,
                              double factor)
{
    times_sin(out, x, y, z, n, factor);
    for (size_t i = 0; i < n; i++)
        out[i] *= out[i];
}

#define MAPPED(fn, map)                                                                                     \
    static void fn(double *out, const double *x, const double *y, const double *z, size_t n, double factor) \
    {                                                                                                       \
        times_sin(out, x, y, z, n, factor);                                                                 \
        for (size_t i = 0; i < n; i++)                                                                      \
            out[i] = map(out[i]);                                                                           \
    }
MAPPED(log10_sin, log10)
MAPPED(log_sin, log)
MAPPED(log1p_sin, log1p)
MAPPED(asinh_sin, asinh)

/* One component of q as pyFAI has it (2 theta of the point's projection): not the physicist's. */
static void one_component(double *out, const double *a, const double *z, size_t n, double factor)
{
    for (size_t i = 0; i < n; i++)
        out[i] = copysign(factor * sin_theta(a[i] * a[i], z[i]), a[i]);
}

static void q_along_x(double *out, const double *x, const double *y, const double *z, size_t n, double factor)
{
    (void)y;
    one_component(out, x, z, n, factor);
}

static void q_along_y(double *out, const double *x, const double *y, const double *z, size_t n, double factor)
{
    (void)x;
    one_component(out, y, z, n, factor);
}

/* `factor` is multiplied (times: +1) or divided (-1) by the wavelength, or left alone (0). */
static const struct rule {
    unit_fn eval;
    double factor;
    int wavelength;
    double scale;
    int may_be_negative;
} rules[] = {
#define UNIT(name, label, quantity, symbol, eval, factor, wavelength, scale, negative) \
    { eval, factor, wavelength, scale, negative },
#include "units.def"
#undef UNIT
};

static const hcy_azint_unit units[] = {
#define UNIT(name, label, quantity, symbol, eval, factor, wavelength, scale, negative) \
    { name, label, quantity, symbol, wavelength != 0 },
#include "units.def"
#undef UNIT
};
#define N_UNITS (sizeof(units) / sizeof(units[0]))

const hcy_azint_unit *hcy_azint_unit_list(size_t *n)
{
    if (n)
        *n = N_UNITS;
    return units;
}

int hcy__azint_scale_init(struct azint_scale *scale, const char *name, double wavelength)
{
    char list[400] = "";

    for (size_t i = 0; i < N_UNITS; i++) {
        if (!strcmp(units[i].name, name)) {
            const struct rule *r = &rules[i];

            /* NaN and 0 both mean that the geometry does not say it. */
            if (r->wavelength && !(wavelength > 0))
                return hcy_fail(HCY_EINVAL,
                                "the unit %s needs the wavelength, which the geometry does not have: add "
                                "Wavelength to it, or choose an angle or a length (2th_deg, r_mm)",
                                name);
            scale->unit = &units[i];
            scale->eval = r->eval;
            scale->factor = r->factor;
            if (r->wavelength > 0)
                scale->factor = r->factor * wavelength;
            if (r->wavelength < 0)
                scale->factor = r->factor / wavelength;
            scale->scale = r->scale;
            scale->may_be_negative = r->may_be_negative;
            scale->is_component = r->eval == q_along_x || r->eval == q_along_y;
            return 0;
        }
        strcat(strcat(list, i ? ", " : ""), units[i].name);
    }
    return hcy_fail(HCY_ENOENT, "no unit is called '%.40s'; there are %s", name, list);
}
