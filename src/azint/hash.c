/* hash.c - the hash that tells plans apart.  No state; any thread. */
#include "azint_priv.h"

#include <string.h>

#define RULES 3 /* goes up when the same inputs make another plan: an older one is not taken for it */

static inline struct azint_hash hash_word(struct azint_hash h, uint64_t w)
{
    h.a = (h.a ^ w) * 0x9e3779b97f4a7c15u;
    h.a ^= h.a >> 32;
    h.b = (h.b + w) * 0xd6e8feb86659fd93u;
    h.b = h.b << 29 | h.b >> 35;
    return h;
}

void hcy__azint_hash(struct azint_hash *h, const void *data, size_t size)
{
    const unsigned char *p = data, *end = p + size / 8 * 8;
    struct azint_hash sum = *h;
    uint64_t w;

    for (; p < end; p += 8) {
        memcpy(&w, p, 8);
        sum = hash_word(sum, w);
    }
    /* The last bytes are filled up with zeros, so the size must be told apart by what else is hashed. */
    w = 0;
    memcpy(&w, p, size % 8);
    *h = size % 8 ? hash_word(sum, w) : sum;
}

void hcy__azint_hash_inputs(struct azint_hash *h, const hcy_azint_plan *plan)
{
    const hcy_azint_options *o = &plan->options;
    const hcy_poni *p = &plan->poni;
    /* An option that is switched off counts as 0, so that a value left in it does not make another plan of
     * it. */
    const double reals[] = { p->dist, p->poni1, p->poni2, p->rot1, p->rot2, p->rot3, p->wavelength, p->pixel1,
                             p->pixel2, o->radial_range[0], o->radial_range[1], o->azimuth_range[0],
                             o->azimuth_range[1], o->use_dummy ? o->dummy : 0,
                             o->use_dummy ? o->delta_dummy : 0,
                             o->use_polarization ? o->polarization : 0,
                             o->use_polarization ? o->polarization_offset : 0, o->normalization };
    const double filter[] = { o->filter, o->threshold, o->max_iter, o->percentile[0], o->percentile[1] };
    const int64_t numbers[] = { RULES, plan->head.version, plan->head.height, plan->head.width, p->orientation,
                                (int64_t)o->npt, o->split, o->error_model, o->sentinels, o->use_dummy != 0,
                                o->solid_angle != 0, o->use_polarization != 0, p->detector->has_dummy,
                                plan->has_flat, plan->has_absorption, (int64_t)o->npt_azim };

    /* Numbers are hashed as they lie in memory: the hash names plans of this kind of machine, as the
     * tables are its. */
    hcy__azint_hash(h, reals, sizeof reals);
    hcy__azint_hash(h, numbers, sizeof numbers);
    hcy__azint_hash(h, plan->scale.unit->name, strlen(plan->scale.unit->name));
    hcy__azint_hash(h, &plan->norm_scale, sizeof plan->norm_scale);
    /* Options that most plans do not use are hashed only where they are, so that they leave the hash of
     * all others alone. */
    if (o->filter)
        hcy__azint_hash(h, filter, sizeof filter);
    if (o->filter == HCY_FILTER_SIGMA_CLIP && o->threshold_above >= 0)
        hcy__azint_hash(h, &o->threshold_above, sizeof o->threshold_above);
    if (plan->scale.unit->needs_sample) {
        const double sample[] = { o->incident_angle, o->tilt_angle, o->sample_orientation };

        hcy__azint_hash(h, plan->azimuth.unit->name, strlen(plan->azimuth.unit->name));
        hcy__azint_hash(h, sample, sizeof sample);
    }
    if (o->unweighted)
        hcy__azint_hash(h, "unweighted", sizeof "unweighted");
    if (o->saturation > 0)
        hcy__azint_hash(h, &o->saturation, sizeof o->saturation);
    if (o->use_underload)
        hcy__azint_hash(h, &o->underload, sizeof o->underload);
    if (p->parallax) {
        hcy__azint_hash(h, p->sensor_material, strlen(p->sensor_material) + 1);
        hcy__azint_hash(h, &p->sensor_thickness, sizeof p->sensor_thickness);
    }
    if (p->radius > 0)
        hcy__azint_hash(h, &p->radius, sizeof p->radius);
    if (p->corners && p->corners_orientation && p->corners_orientation != 3)
        hcy__azint_hash(h, &p->corners_orientation, sizeof p->corners_orientation);
    if (p->corners)
        hcy__azint_hash(h, p->corners, plan->head.n_pixels * 12 * sizeof(float));
    if (p->corners && p->areas)
        hcy__azint_hash(h, p->areas, plan->head.n_pixels * sizeof(float));
    if (plan->darks)
        hcy__azint_hash(h, plan->darks, plan->head.n_pixels * sizeof(float));
    if (plan->variances)
        hcy__azint_hash(h, plan->variances, plan->head.n_pixels * sizeof(float));
}
