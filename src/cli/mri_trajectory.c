/* mri_trajectory.c - trajectories through k-space: radial, spiral, stack of stars, three-dimensional spokes. */
#include "points.h"
#include "simulate_mri.h"
#include <halcyon/backend.h>
#include <halcyon/trajectory.h>
#include <math.h>
#include <stdlib.h>

#define PI 3.14159265358979323846

/* The angle between golden spokes: S. Winkelmann et al., IEEE Trans. Med. Imaging 26 (2007) 68. */
static const double golden_angle = PI * 0.61803398874989484820;

/* From -pi up to, but without, pi: the centre is sample M / 2. */
static double place_on_spoke(const struct mri_trajectory *t, size_t sample)
{
    return 2 * PI * ((double)sample / (double)t->samples - 0.5);
}

static void put_radial(double *point, const struct mri_trajectory *t, const struct sim_mri *mri, size_t spoke,
                       size_t sample)
{
    double angle = mri->golden ? golden_angle * (double)spoke : PI * (double)spoke / (double)t->spokes;
    double place = place_on_spoke(t, sample);
    point[0] = place * sin(angle);
    point[1] = place * cos(angle);
}

/* Archimedes' spiral from the centre to pi, with turns of all interleaves 2 pi / N apart. */
static void put_spiral(double *point, const struct mri_trajectory *t, const struct sim_mri *mri, size_t spoke,
                       size_t sample)
{
    double along = (double)sample / (double)t->samples, turns = (double)t->size[0] / (2 * (double)t->spokes);
    double first =
        mri->golden ? 2 * golden_angle * (double)spoke : 2 * PI * (double)spoke / (double)t->spokes;
    double angle = first + 2 * PI * turns * along;
    point[0] = PI * along * sin(angle);
    point[1] = PI * along * cos(angle);
}

/* Spokes whose directions are spread over half a sphere by the golden means of two dimensions: R. Chan et al., Magn.
 * Reson. Med. 61 (2009) 354. */
static void put_kooshball(double *point, const struct mri_trajectory *t, size_t spoke, size_t sample)
{
    double whole, z = modf(0.46557123187676802665 * (double)spoke, &whole);
    double angle = 2 * PI * modf(0.68232780382801932737 * (double)spoke, &whole),
           place = place_on_spoke(t, sample);
    point[0] = place * z;
    point[1] = place * sqrt(1 - z * z) * sin(angle);
    point[2] = place * sqrt(1 - z * z) * cos(angle);
}

/* How many of what is not given: radial ones fill the circle's edge, others are a usual fraction of that. */
static void choose_lengths(struct mri_trajectory *t, const struct sim_mri *mri)
{
    int kind = mri->kind;
    size_t n = kind == MRI_RADIAL || kind == MRI_SPIRAL ? 256 : 64;
    if (mri->size.given)
        n = (size_t)mri->size.value;
    t->dim = kind == MRI_RADIAL || kind == MRI_SPIRAL ? 2 : 3;
    t->is_stack = kind == MRI_STACK;
    for (int d = 0; d < t->dim; d++)
        t->size[d] = n;
    t->slices = 1;
    if (t->is_stack)
        t->size[0] = t->slices = mri->slices.given ? (size_t)mri->slices.value : (n + 3) / 4;
    size_t spokes = (size_t)ceil(PI / 2 * (double)n);
    if (kind == MRI_SPIRAL)
        spokes = (n + 7) / 8;
    else if (kind == MRI_KOOSHBALL)
        spokes = n * n / 4 + 1;
    t->spokes = mri->spokes.given ? (size_t)mri->spokes.value : spokes;
    /* At a spiral's edge samples are 2 pi / N apart, on spokes half of that. */
    size_t samples =
        kind == MRI_SPIRAL ? (size_t)ceil(PI * (double)n * (double)n / (2 * (double)t->spokes)) : 2 * n;
    t->samples = mri->samples.given ? (size_t)mri->samples.value : samples;
}

static void put_point(double *point, const struct mri_trajectory *t, const struct sim_mri *mri, size_t slice,
                      size_t spoke, size_t sample)
{
    if (mri->kind == MRI_KOOSHBALL) {
        put_kooshball(point, t, spoke, sample);
    } else if (mri->kind == MRI_SPIRAL) {
        put_spiral(point, t, mri, spoke, sample);
    } else {
        /* Slices of k-space are where an FFT has them: 2 pi / slices apart, one of them at 0. */
        if (t->is_stack)
            *point++ = 2 * PI * ((double)slice - (double)(t->slices / 2)) / (double)t->slices;
        put_radial(point, t, mri, spoke, sample);
    }
}

/* One array for each axis, as the library takes them; the first one is malloced. */
static int part_axes(double *axes[3], const struct mri_trajectory *t)
{
    axes[0] = malloc(t->n * (size_t)t->dim * sizeof **axes);
    for (int d = 0; axes[0] && d < t->dim; d++) {
        axes[d] = axes[0] + (size_t)d * t->n;
        for (size_t i = 0; i < t->n; i++)
            axes[d][i] = t->points[i * (size_t)t->dim + (size_t)d];
    }
    return axes[0] ? CLI_OK : cli_error("no memory for a trajectory of %zu points", t->n);
}

static int delay_gradients(struct mri_trajectory *t, const char *delay)
{
    hcy_trajectory_desc desc = HCY_TRAJECTORY_DESC_INIT;
    double delays[3], *axes[3] = { NULL };
    int status = points_parse_delays(delays, delay, t->dim, -1);
    if (!status)
        status = part_axes(axes, t);
    desc.dim = t->dim;
    desc.readouts = (int64_t)(t->slices * t->spokes);
    desc.samples = (int64_t)t->samples;
    int st = status ? 0 : hcy_trajectory_delay((void *const *)axes, &desc, (const void *const *)axes, delays);
    t->sampled = status || st ? NULL : malloc(t->n * (size_t)t->dim * sizeof *t->sampled);
    if (st)
        status = cli_fail(st);
    else if (!status && !t->sampled)
        status = cli_error("no memory for a trajectory of %zu points", t->n);
    for (size_t i = 0; !status && i < t->n * (size_t)t->dim; i++)
        t->sampled[i] = axes[i % (size_t)t->dim][i / (size_t)t->dim];
    free(axes[0]);
    return status;
}

int mri_trajectory_make(struct mri_trajectory *t, const struct sim_mri *mri)
{
    size_t bytes;
    *t = (struct mri_trajectory){ 0 };
    choose_lengths(t, mri);
    if (hcy_size_mul(&t->n, t->slices, t->spokes) || hcy_size_mul(&t->n, t->n, t->samples) ||
        hcy_size_mul(&bytes, t->n, (size_t)t->dim * sizeof *t->points))
        return cli_error("a trajectory that is larger than can be addressed");
    t->points = malloc(bytes);
    if (!t->points)
        return cli_error("no memory for a trajectory of %zu points", t->n);
    for (size_t i = 0; i < t->n; i++)
        put_point(t->points + i * (size_t)t->dim, t, mri, i / t->samples / t->spokes,
                  i / t->samples % t->spokes, i % t->samples);
    return mri->delay ? delay_gradients(t, mri->delay) : CLI_OK;
}
