/* norm.c - what each pixel's counts are divided by: solid angle, polarization, the user's arrays.
 *
 * A row is one thread's; it reads the build and the worker's centres, and writes its own norms. */
#include "build.h"

#include <math.h>

/* The share of the user's arrays in a pixel's norm; 0 where they do not let it count. */
static double correction(const struct build *b, size_t i)
{
    double flat = b->flat ? b->flat[i] : 1, absorption = b->absorption ? b->absorption[i] : 1;

    if (b->dark && !isfinite(b->dark[i]))
        return 0;
    if (b->variance && !(isfinite(b->variance[i]) && b->variance[i] >= 0))
        return 0;
    flat *= absorption;
    return flat > 0 && isfinite(flat) ? flat * b->gain : 0;
}

/* All but the normalisation of the frame. */
void hcy__azint_norm_row(const struct worker *w, size_t i)
{
    const struct build *b = w->b;
    const struct azint_row *c = &w->centre;
    float *norms = b->norms + i * b->g.width;
    double l = b->g.dist, f = b->polarization, c2 = b->cos_offset, s2 = b->sin_offset;

    for (size_t j = 0; j < b->g.width; j++) {
        double x = c->x[j], y = c->y[j], z = c->z[j], r2 = x * x + y * y + z * z, norm = 1;

        /* The cube of the cosine of incidence, which for a flat detector is its distance by the point's. */
        if (b->use_solid_angle)
            norm = l * l * l / (r2 * sqrt(r2));
        /* Pixels that are not in one plane have an incidence of their own. */
        if (b->use_solid_angle && b->g.own && !b->g.is_flat)
            norm = pow(hcy__azint_incidence(c, &w->quads, j), 3);
        if (b->use_solid_angle && b->g.areas)
            norm *= hcy__azint_area(&b->g, i, j);
        if (b->use_polarization)
            norm *= 0.5 * (1 + (z * z - f * ((x * x - y * y) * c2 - 2 * x * y * s2)) / r2);
        if (b->has_arrays)
            norm *= correction(b, i * b->g.width + j);
        /* A masked pixel has no part in the scale of norms, and devices refuse those above 1, whoever has them: few, so
         * that the mask is read for no others. */
        if (norm > 1 && b->mask[i * b->g.width + j])
            norm = 0;
        /* Single precision is what the tables hold, so that everything that is computed from norms sees
         * the same number. */
        norms[j] = (float)norm;
    }
}
