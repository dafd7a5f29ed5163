/* azint_scene.h - the small detector that the tests of plans and curves begin with; static functions, for
 * tests. */
#ifndef AZINT_SCENE_H
#define AZINT_SCENE_H

#include "azint_oracle.h"
#include "tap.h"

#include <halcyon/azint.h>

enum { H = 40, W = 50, N = H * W };

typedef struct scene {
    hcy_poni poni;
    hcy_azint_options o;
    uint8_t mask[N];
} scene;

static inline void make_scene(scene *s, double poni1)
{
    s->poni = (hcy_poni)HCY_PONI_INIT;
    s->poni.dist = 0.1;
    s->poni.poni1 = poni1;
    s->poni.poni2 = 26.3e-3;
    s->poni.rot1 = 0.05;
    s->poni.rot2 = -0.03;
    s->poni.rot3 = 0.7;
    s->poni.wavelength = 1e-10;
    s->poni.pixel1 = 1e-3;
    s->poni.pixel2 = 0.9e-3;
    s->o = (hcy_azint_options)HCY_AZINT_OPTIONS_INIT;
    s->o.npt = 37;
    s->o.mask = s->mask;
    s->o.mask_height = H;
    s->o.mask_width = W;
    memset(s->mask, 0, N);
}

static inline hcy_azint_plan *must_plan(const scene *s)
{
    hcy_azint_plan *p = NULL;

    if (hcy_azint_plan_create(&p, &s->poni, H, W, &s->o))
        bail_out("%s", hcy_last_error()->text);
    return p;
}

static inline hcy_azint_plan_info must_info(const hcy_azint_plan *p)
{
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;

    if (hcy_azint_plan_get_info(&info, p))
        bail_out("%s", hcy_last_error()->text);
    return info;
}

#endif
