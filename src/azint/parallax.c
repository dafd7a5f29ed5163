/* parallax.c - thick sensors: photons that hit one at a slant are counted where they are absorbed, further out than
 * where they came in.  Pure functions, constant tables.
 *
 * The model is pyFAI's (2026.9, parallax.py): absorption along the ray is exponential (Beer-Lambert), and a pixel
 * stands for the mean depth.  With the angle a of incidence, mu of the material and x = mu thickness / cos(a), a photon
 * that comes in at the distance r = L tan(a) from the point of normal incidence is seen at
 *     r + sin(a) / mu (1 - x / (exp(x) - 1)),        and without a thickness (all is absorbed) at r + sin(a) / mu.
 * The r of a pixel is where this is the pixel's distance. */
#include "azint_priv.h"

#include <math.h>
#include <string.h>

#define KEV_METRES 12.398419843320026e-10 /* h c */
#define MOST_STEPS 20                     /* of Newton's; three or four do for what detectors are */

struct point {
    double energy, attenuation;
};

static const struct material {
    const char *name;
    double density;
    const struct point *points; /* by rising energy, up to one of 0 */
} materials[] = {
#define P(energy, attenuation) { energy, attenuation },
#define SENSOR(name, density, points) { name, density, (const struct point[]){ points { 0, 0 } } },
#include "sensors.def"
#undef SENSOR
};
/* Their names, with ", " before each. */
#define SENSOR(name, density, points) ", " name
static const char names[] =
#include "sensors.def"
    ;
#undef SENSOR
#undef P
#define N_MATERIALS (sizeof materials / sizeof materials[0])

static const struct material *find_material(const char *name)
{
    for (size_t i = 0; i < N_MATERIALS; i++)
        if (!strcmp(materials[i].name, name))
            return &materials[i];
    return NULL;
}

/* cm^2/g, or 0: the tables do not go there.  Between two points logarithms go straight, as absorption does. */
static double attenuation(const struct material *m, double energy)
{
    const struct point *p = m->points;

    if (!(energy >= p->energy))
        return 0;
    /* Of the two points of an edge the second counts at its energy. */
    while (p[1].energy > 0 && p[1].energy <= energy)
        p++;
    if (p[0].energy == energy)
        return p[0].attenuation;
    if (!(p[1].energy > 0))
        return 0;
    return p[0].attenuation * pow(p[1].attenuation / p[0].attenuation,
                                  log(energy / p[0].energy) / log(p[1].energy / p[0].energy));
}

int hcy__azint_parallax_init(struct azint_parallax *parallax, const hcy_poni *poni)
{
    const struct material *m = find_material(poni->sensor_material);
    double energy = poni->wavelength > 0 ? KEV_METRES / poni->wavelength : 0, mu;

    if (!*poni->sensor_material)
        return hcy_fail(HCY_EINVAL, "parallax needs the sensor: \"sensor\": {\"material\": \"Si\", \"thickness\": 450e-6} "
                                    "in Detector_config");
    if (!m)
        return hcy_fail(HCY_EUNSUPPORTED, "parallax: the absorption of '%.31s' is not known, but those of%s",
                        poni->sensor_material, names + 1);
    if (!(poni->wavelength > 0))
        return hcy_fail(HCY_EINVAL, "parallax needs the wavelength, which the geometry does not have");
    if (!((mu = attenuation(m, energy)) > 0))
        return hcy_fail(HCY_ERANGE, "parallax: the absorption of %s is known from 1 keV on to some 100, not at %g keV",
                        m->name, energy);
    if (!(poni->sensor_thickness >= 0 && isfinite(poni->sensor_thickness)))
        return hcy_fail(HCY_EINVAL, "the sensor's thickness is %g m: it has to be positive, or 0 for one that absorbs all",
                        poni->sensor_thickness);
    parallax->mu = 100 * mu * m->density;
    parallax->thickness = poni->sensor_thickness;
    parallax->dist = poni->dist;
    return 0;
}

/* How far out photons are seen that come in at r, and the derivative of that. */
static double displace(double *slope, const struct azint_parallax *p, double r)
{
    double whole = sqrt(r * r + p->dist * p->dist), sine = r / whole, cosine = p->dist / whole;
    double x = p->mu * p->thickness / cosine, grown = expm1(x), left = 0, fall = 0;

    /* `left`: x / (exp(x) - 1); `fall` is its derivative.  Both are 0 where all is absorbed. */
    if (p->thickness > 0 && isfinite(grown)) {
        left = x / grown;
        fall = (1 - left * (grown + 1)) / grown;
    }
    *slope = (cosine * cosine * cosine * (1 - left) - sine * sine * cosine * x * fall) / (p->mu * p->dist);
    return sine / p->mu * (1 - left);
}

double hcy__azint_parallax_scale(const struct azint_parallax *p, double p1, double p2)
{
    double seen = sqrt(p1 * p1 + p2 * p2), r = seen, slope, step;

    if (!(seen > 0))
        return 1;
    /* What is seen at r rises at least as fast as r does, so steps from the far side stay between 0 and there. */
    for (int k = 0; k < MOST_STEPS; k++) {
        step = (r + displace(&slope, p, r) - seen) / (1 + slope);
        r = r - step > 0 ? r - step : 0;
        if (fabs(step) <= 1e-14 * seen)
            break;
    }
    return r / seen;
}
