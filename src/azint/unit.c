/* unit.c - radial units: their names, and their values along a row of points.  Constant tables, any thread.
 *
 * A point is (x, y, z) in the lab, in metres.  Values are pyFAI's internal ones (metres, radians, nm^-1), to
 * be multiplied by the unit's scale at the very end, as pyFAI does.  No libm where algebra will do: with R
 * the point's distance and a its distance from the beam, sin(theta) = a / sqrt(2 R (R + z)).
 */
#include "azint_priv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PI 3.14159265358979323846

/* sin(theta) of a point at `a2`, squared, from the axis along which 2 theta is measured. */
static inline double sin_theta(double a2, double z)
{
    /* Before the sample 1 - cos would cancel for small angles, and behind it 1 + cos: each side has the
     * form that does not. */
    double r = sqrt(a2 + z * z), s = r + fabs(z), half = z >= 0 ? a2 / (2 * r * s) : s / (2 * r);

    return sqrt(half);
}

static void radius(double *out, const double *x, const double *y, const double *z, size_t n,
                   const struct azint_scale *scale)
{
    (void)z;
    (void)scale;
    for (size_t i = 0; i < n; i++)
        out[i] = sqrt(x[i] * x[i] + y[i] * y[i]);
}

static void two_theta(double *out, const double *x, const double *y, const double *z, size_t n,
                      const struct azint_scale *scale)
{
    (void)scale;
    for (size_t i = 0; i < n; i++)
        out[i] = atan2(sqrt(x[i] * x[i] + y[i] * y[i]), z[i]);
}

static void put_sines(double *out, const double *x, const double *y, const double *z, size_t n, double factor)
{
    for (size_t i = 0; i < n; i++)
        out[i] = factor * sin_theta(x[i] * x[i] + y[i] * y[i], z[i]);
}

static void times_sin(double *out, const double *x, const double *y, const double *z, size_t n,
                      const struct azint_scale *scale)
{
    put_sines(out, x, y, z, n, scale->factor);
}

static void over_sin(double *out, const double *x, const double *y, const double *z, size_t n,
                     const struct azint_scale *scale)
{
    /* At the beam's centre it is infinite, which leaves such pixels out. */
    put_sines(out, x, y, z, n, 1);
    for (size_t i = 0; i < n; i++)
        out[i] = scale->factor / out[i];
}

static void times_sin_squared(double *out, const double *x, const double *y, const double *z, size_t n,
                              const struct azint_scale *scale)
{
    put_sines(out, x, y, z, n, scale->factor);
    for (size_t i = 0; i < n; i++)
        out[i] *= out[i];
}

#define MAPPED(fn, map)                                                                     \
    static void fn(double *out, const double *x, const double *y, const double *z, size_t n, \
                   const struct azint_scale *scale)                                         \
    {                                                                                       \
        put_sines(out, x, y, z, n, scale->factor);                                          \
        for (size_t i = 0; i < n; i++)                                                      \
            out[i] = map(out[i]);                                                           \
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

static void q_along_x(double *out, const double *x, const double *y, const double *z, size_t n,
                      const struct azint_scale *scale)
{
    (void)y;
    one_component(out, x, z, n, scale->factor);
}

static void q_along_y(double *out, const double *x, const double *y, const double *z, size_t n,
                      const struct azint_scale *scale)
{
    (void)x;
    one_component(out, y, z, n, scale->factor);
}

/* `factor` is multiplied (times: +1) or divided (-1) by the wavelength, or left alone (0). */
static const struct rule {
    azint_unit_fn *eval;
    double factor;
    int wavelength;
    double scale;
    int may_be_negative;
} rules[] = {
#define UNIT(name, label, quantity, symbol, eval, factor, wavelength, scale, negative) \
    { eval, factor, wavelength, scale, negative },
#define SAMPLE UNIT
#include "units.def"
#undef SAMPLE
#undef UNIT
};

static const hcy_azint_unit units[] = {
#define UNIT(name, label, quantity, symbol, eval, factor, wavelength, scale, negative) \
    { name, label, quantity, symbol, wavelength != 0, 0 },
#define SAMPLE(name, label, quantity, symbol, eval, factor, wavelength, scale, negative) \
    { name, label, quantity, symbol, wavelength != 0, 1 },
#include "units.def"
#undef SAMPLE
#undef UNIT
};
#define N_UNITS (sizeof(units) / sizeof(units[0]))

const hcy_azint_unit *hcy_azint_unit_list(size_t *n)
{
    if (n)
        *n = N_UNITS;
    return units;
}

/* Azimuth is no unit to integrate in but that of the other axis. */
static const hcy_azint_unit chi = { "chi_deg", "Azimuthal angle chi (deg)", "chi", "deg", 0, 0 };

const hcy_azint_unit *hcy_azint_unit_find(const char *name)
{
    for (size_t i = 0; name && i < N_UNITS; i++)
        if (!strcmp(units[i].name, name))
            return &units[i];
    return name && !strcmp(name, chi.name) ? &chi : NULL;
}

static int fail_unknown(const char *name)
{
    char list[400] = "";
    size_t used = 0;

    /* All of them would not fit into a message: those that are seen from the sample are known to who wants them. */
    for (size_t i = 0; i < N_UNITS && !units[i].needs_sample && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", units[i].name);
    return hcy_fail(HCY_ENOENT, "no unit is called '%.40s'; there are %s; qip_nm^-1, qoop_nm^-1 ...", name, list);
}

int hcy__azint_scale_init(struct azint_scale *scale, const char *name, double wavelength)
{
    const hcy_azint_unit *unit = hcy_azint_unit_find(name);

    if (!unit || unit == &chi)
        return fail_unknown(name);
    const struct rule *r = &rules[unit - units];
    /* NaN and 0 both mean that the geometry does not say it. */
    if (r->wavelength && !(wavelength > 0))
        return hcy_fail(HCY_EINVAL,
                        "the unit %s needs the wavelength, which the geometry does not have: add Wavelength to it, or "
                        "choose an angle or a length (2th_deg, r_mm)",
                        name);
    *scale = (struct azint_scale){ .unit = unit, .eval = r->eval, .factor = r->factor, .scale = r->scale };
    if (r->wavelength > 0)
        scale->factor = r->factor * wavelength;
    if (r->wavelength < 0)
        scale->factor = r->factor / wavelength;
    scale->may_be_negative = r->may_be_negative;
    scale->is_component = r->eval == q_along_x || r->eval == q_along_y;
    scale->jumps = r->eval == hcy__fibre_qip || r->eval == hcy__fibre_chi;
    hcy__azint_sample_init(&scale->sample, 0, 0, 1);
    return 0;
}
