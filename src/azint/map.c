/* map.c - where an image's pixels are in radius and azimuth, for who draws or judges a geometry.  No state, any thread.
 */
#include "azint_priv.h"
#include "sized.h"

#include <math.h>
#include <string.h>

/* Every step-th pixel of a row that was evaluated, in the unit and in degrees. */
static void take_pixels(double *radial, double *chi, const struct azint_row *row, const struct azint_scale *scale,
                        size_t width, size_t step)
{
    for (size_t j = 0; j < width; j += step) {
        *radial++ = row->radial[j] * scale->scale;
        if (chi)
            *chi++ = row->chi[j] * 180 / AZINT_PI;
    }
}

static int map_scaled(double *radial, double *chi, const hcy_poni *p, size_t height, size_t width,
                      const struct azint_scale *scale, size_t step)
{
    struct azint_geometry g;
    struct azint_row row;
    size_t columns = width ? (width - 1) / step + 1 : 0, at = 0;
    int rc = hcy__azint_row_alloc(&row, width);

    if (rc)
        return rc;
    rc = hcy__azint_geometry_init(&g, p, height, width);
    /* Columns that nobody asks for are not worked out, where pixels stand in columns. */
    if (!rc && !g.own) {
        for (size_t j = 0; j < columns; j++)
            g.centre2[j] = g.centre2[j * step];
        g.width = columns;
    }
    const size_t every = g.own ? step : 1;
    for (size_t i = 0; !rc && i < height; i += step, at += columns) {
        hcy__azint_centres_eval(&row, &g, scale, i, chi != NULL);
        take_pixels(radial + at, chi ? chi + at : NULL, &row, scale, g.width, every);
    }
    hcy__azint_geometry_free(&g);
    hcy__azint_row_free(&row);
    return rc;
}

int hcy_azint_map(double *radial, double *chi, const hcy_poni *poni, size_t height, size_t width, const char *unit,
                  size_t step)
{
    static const hcy_poni poni_init = HCY_PONI_INIT;
    hcy_poni p = poni_init;
    struct azint_scale scale;
    int rc;

    if (!radial || !poni || !unit || !step)
        return hcy_fail(HCY_EINVAL, "hcy_azint_map: radial, poni or unit is NULL, or the step 0");
    if ((rc = hcy__sized_read(&p, sizeof p, poni, "hcy_poni")) || (rc = hcy__azint_resolve_poni(&p, height, width)) ||
        (rc = hcy__azint_scale_init(&scale, unit, p.wavelength)))
        return rc;
    return map_scaled(radial, chi, &p, height, width, &scale, step);
}

/* Whether the plan's pixels, in their order, have weight: `at` moves behind the runs of one. */
static int has_weight(size_t *at, const hcy_azint_plan *plan)
{
    struct azint_run run = { 0, 0, 1, NULL };
    int any = 0;

    while (run.more && azint_run_next(&run, at, plan->runs, plan->run_bytes, plan->head.n_bins))
        any |= run.n > 0;
    return any;
}

int hcy_azint_radius(float *radius, const hcy_azint_plan *plan, const hcy_poni *poni)
{
    static const hcy_poni poni_init = HCY_PONI_INIT;
    hcy_poni p = poni_init;
    double *all;
    size_t at = 0;
    int rc;

    if (!radius || !plan || !poni)
        return hcy_fail(HCY_EINVAL, "hcy_azint_radius: radius, plan or poni is NULL");
    if (!(all = malloc(plan->head.n_pixels * sizeof *all)))
        return hcy_fail(HCY_ENOMEM, "no memory for the places of %zu pixels", (size_t)plan->head.n_pixels);
    if (!(rc = hcy__sized_read(&p, sizeof p, poni, "hcy_poni")) &&
        !(rc = hcy__azint_resolve_poni(&p, plan->head.height, plan->head.width)))
        rc = map_scaled(all, NULL, &p, plan->head.height, plan->head.width, &plan->scale, 1);
    for (size_t i = 0; !rc && i < plan->head.n_pixels; i++)
        radius[i] = has_weight(&at, plan) ? (float)all[i] : NAN;
    free(all);
    return rc;
}
