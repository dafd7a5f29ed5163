/* recon_load.c - what halcyon recon reads: samples, where they lie, the coils' maps.
 *
 * Each array is let go as soon as it is in the precision that is computed with: k-space of many coils is large. */
#include "recon.h"
#include <halcyon/backend.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The coordinates that an ISMRMRD file has beside its samples; -t names others. */
static int name_trajectory(struct recon *r)
{
    if (!r->v->trajectory && !recon_may_be_mrd(r->kspace))
        return cli_usage("--trajectory is missing: only ISMRMRD's files have samples and where they lie");
    r->trajectory = r->v->trajectory ? strdup(r->v->trajectory) : recon_name_part(r, "traj");
    return r->trajectory ? CLI_OK : cli_error("no memory for the names of files");
}

int recon_read_array(hcy_host_array *a, struct recon *r, const char *path)
{
    progress_say(&r->progress, "reading %s ...", path);
    int status = hcy_host_array_read(a, path);
    progress_clear(&r->progress);
    return status ? cli_fail(status) : CLI_OK;
}

/* Without -t it is that of a list of acquisitions, which HDF5's other arrays have not. */
static int read_trajectory(hcy_host_array *a, struct recon *r)
{
    if (r->v->trajectory)
        return recon_read_array(a, r, r->trajectory);
    return hcy_host_array_read(a, r->trajectory)
        ? cli_error("the trajectory is missing: give -t FILE (%s)", hcy_last_error()->text)
        : CLI_OK;
}

/* --- Where samples lie --- */

/* -n, or what the header of ISMRMRD's acquisitions says. */
static int take_sizes(struct recon *r)
{
    if (!r->v->sizes)
        return recon_find_sizes(r);
    r->dim = points_parse_sizes(r->sizes, r->v->sizes);
    for (int d = 0; d < 3; d++) {
        r->encoded[d] = r->sizes[d];
        r->stretch[d] = 1;
    }
    snprintf(r->size_words, sizeof r->size_words, "%s", r->v->sizes);
    return r->dim ? CLI_OK : CLI_USAGE;
}

static int take_trajectory(struct recon *r, const hcy_host_array *a)
{
    struct points points;
    int status = take_sizes(r), wanted = r->dim;
    if (!status)
        status = points_find(&points, a, r->trajectory, "points", &r->v->how, wanted);
    if (status)
        return status;
    if (points.dim != wanted)
        return cli_error("%s: points have %d coordinates, and %s names %d size%s", r->trajectory, points.dim,
                         r->v->sizes ? "--modes" : "the header", wanted, wanted > 1 ? "s" : "");
    if (!points.n)
        return cli_error("%s: there are no points", r->trajectory);
    r->dim = points.dim;
    r->n = points.n;
    r->unit = points.unit;
    if (r->v->sizes)
        recon_find_cells(r);
    r->point_rank = a->rank > 1 ? a->rank - 1 : 1;
    memcpy(r->point_shape, a->shape + (points.is_planar ? 1 : 0), (size_t)r->point_rank * sizeof *a->shape);
    if (a->rank == 1)
        r->point_shape[0] = r->n;
    r->pixels = 1;
    for (int d = 0; d < r->dim; d++)
        if ((uint64_t)r->sizes[d] > SIZE_MAX || hcy_size_mul(&r->pixels, r->pixels, (size_t)r->sizes[d]))
            return cli_error("--modes %s: an image that is larger than can be addressed", r->size_words);
    status = points_take(r->axes, &points, r->encoded, r->is_double);
    if (!status && !r->v->quiet)
        points_note(&points, r->encoded);
    return status ? status : recon_stretch_points(r);
}

/* --- What was sampled --- */

/* A single NaN would be all over the image, and nobody would know where it came from.  Numbers are [coils][each], or
 * frames of these. */
static int check_finite(const struct recon *r, const void *numbers, size_t n, size_t each, const char *path,
                        const char *what)
{
    size_t bad = 0, first = 0;
    char frame[40] = "";
    for (size_t i = 0; i < n; i++) {
        if (isfinite(reals_get(r->is_double, numbers, i)))
            continue;
        first = bad++ ? first : i;
    }
    if (!bad)
        return CLI_OK;
    if (n > 2 * each * r->coils)
        snprintf(frame, sizeof frame, " of %s %zu", numbers == r->maps ? "slice" : "frame", first / 2 / each / r->coils);
    return cli_error(
        "%s: %zu of %zu numbers of the %s are none or infinite%s, the first one at %zu of coil %zu%s", path, bad,
        n, what, r->is_double ? "" : " as floats", first / 2 % each, first / 2 / each % r->coils, frame);
}

static int take_samples(struct recon *r, const hcy_host_array *a)
{
    bool has_axis;
    char is[200];
    const bool has_frames = r->wanted_frames || r->v->spokes_per_frame.given;
    /* Its first axis is the coils', whatever number of points would make more, or fewer, of it. */
    if (r->is_list && r->n != a->shape[1] * a->shape[2])
        return cli_error("%s: it has %zu points, and %s %llu acquisitions of %llu samples", r->trajectory, r->n, r->kspace,
                         (unsigned long long)a->shape[1], (unsigned long long)a->shape[2]);
    int status = has_frames ? recon_find_frames(r, a) : CLI_OK;
    if (status)
        return status;
    if (!has_frames)
        r->coils = array_count_vectors(&has_axis, a, r->n);
    if (!r->coils)
        return cli_error(
            "%s: samples must be [%zu] or [coils][%zu], as there are points, where each may be several axes; "
            "it is %s",
            r->kspace, r->n, r->n, array_words(is, a, 0));
    if (r->v->espirit && r->coils == 1)
        return cli_error("--espirit: %s has one coil; maps are of several", r->kspace);
    const size_t series = r->is_same ? r->n_frames : 1;
    status = array_take_complex(&r->samples, a, r->is_double);
    if (!status)
        status = check_finite(r, r->samples, 2 * series * r->coils * r->n,
                              r->has_frame_axis ? r->frame_points : r->n, r->kspace, "samples");
    return status || !has_frames ? status : recon_order_frames(r);
}

/* --- Maps --- */

/* Axes of 1 are no more than a file's way to number its axes. */
static int drop_single_axes(uint64_t *shape, const uint64_t *from, int rank)
{
    int kept = 0;
    for (int d = 0; d < rank; d++)
        if (from[d] != 1)
            shape[kept++] = from[d];
    return kept;
}

size_t recon_count_slices(const struct recon *r)
{
    return r->n_slices > 1 ? r->n_slices : 1;
}

size_t recon_count_functions(const struct recon *r)
{
    return r->basis ? r->functions : 1;
}

bool recon_fits_image(const struct recon *r, const hcy_host_array *a, bool coils)
{
    uint64_t want[5] = { recon_count_slices(r), coils ? r->coils : 1 }, left[5], has[HCY_HOST_ARRAY_MAX_RANK];
    for (int d = 0; d < r->dim; d++)
        want[d + 2] = (uint64_t)r->sizes[d];
    int n = drop_single_axes(left, want, r->dim + 2);
    return drop_single_axes(has, a->shape, a->rank) == n && !memcmp(has, left, (size_t)n * sizeof *has);
}

static int take_maps(struct recon *r)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    const size_t slices = recon_count_slices(r);
    char is[200], of_slices[60] = "";
    int status = recon_read_array(&a, r, r->v->maps);
    if (slices > 1)
        snprintf(of_slices, sizeof of_slices, "[%zu], its slices, times ", slices);
    if (!status && !recon_fits_image(r, &a, true))
        status = cli_error("%s: maps must be %s[%zu], the coils of %s, times the image's %s; it is %s%s", r->v->maps, of_slices,
                           r->coils, r->kspace, r->size_words, array_words(is, &a, 0),
                           slices > 1 ? "; --only slice=0 takes one" : "");
    if (!status)
        status = array_take_complex(&r->maps, &a, r->is_double);
    if (!status)
        status = check_finite(r, r->maps, 2 * slices * r->coils * r->pixels, r->pixels, r->v->maps, "maps");
    hcy_host_array_free(&a);
    return status;
}

/* --- Functions of time --- */

/* A basis is written a frame after the other; here it is a function after the other. */
static int turn_basis(struct recon *r, const void *numbers)
{
    const size_t all = r->functions * r->frames;
    r->basis = reals_room(r->is_double, 2 * all);
    if (!r->basis)
        return cli_error("no memory for %zu functions of %zu frames", r->functions, r->frames);
    for (size_t i = 0; i < 2 * all; i++) {
        const size_t frame = i / 2 / r->functions, function = i / 2 % r->functions;
        const double number = reals_get(r->is_double, numbers, i);
        if (!isfinite(number))
            return cli_error("%s: number %zu is none or infinite", r->v->basis, i / 2);
        reals_put(r->is_double, r->basis, 2 * (function * r->frames + frame) + i % 2, number);
    }
    return CLI_OK;
}

static int take_basis(struct recon *r)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    uint64_t shape[HCY_HOST_ARRAY_MAX_RANK] = { 0 };
    void *numbers = NULL;
    char is[200];
    int status = recon_read_array(&a, r, r->v->basis);
    /* Of more than two axes the empty ones are left out, which BART writes; one frame, or one function, is none of
     * these. */
    const size_t n = r->n_frames ? r->frame_points : r->n, apart = r->n_apart / recon_count_slices(r);
    const int rank = status ? 0 : a.rank > 2 ? drop_single_axes(shape, a.shape, a.rank) : a.rank;
    for (int d = 0; rank && a.rank <= 2 && d < rank; d++)
        shape[d] = a.shape[d];
    r->frames = (size_t)shape[0];
    r->functions = rank > 1 ? (size_t)shape[1] : 1;
    if (!status && (rank < 1 || rank > 2 || !r->frames || !r->functions || n % r->frames))
        status = cli_error("%s: a basis is [frames][functions], and the %zu points%s are as many for each frame; it is "
                           "%s", r->v->basis, n, r->n_slices > 1 ? " of a slice" : "", array_words(is, &a, 0));
    if (!status && apart > 1 && r->frames % apart)
        status = cli_error("%s: a basis of %zu frames, and %s is of %zu images (contrasts, phases, sets): a "
                           "frame would be of two; --only takes some", r->v->basis, r->frames, r->kspace, apart);
    if (!status && r->coils > 1 && !r->v->maps && !r->v->espirit)
        status = cli_error("--basis: %s has %zu coils, which needs --maps or --espirit", r->kspace, r->coils);
    if (!status)
        status = array_take_complex(&numbers, &a, r->is_double);
    if (!status)
        status = turn_basis(r, numbers);
    free(numbers);
    hcy_host_array_free(&a);
    return status;
}

/* --- All of it --- */

int recon_load(struct recon *r)
{
    hcy_host_array points = HCY_HOST_ARRAY_INIT, samples = HCY_HOST_ARRAY_INIT;
    int status = name_trajectory(r);
    if (!status)
        status = recon_read_array(&samples, r, r->kspace);
    if (!status)
        status = read_trajectory(&points, r);
    /* Coordinates are often doubles beside samples that are floats; the samples are what was measured. */
    r->is_double = r->v->precision ? r->v->precision == 2 : samples.bytes == 8;
    if (!status)
        status = recon_take_acquisitions(r, &samples, &points);
    if (!status)
        status = take_trajectory(r, &points);
    hcy_host_array_free(&points);
    if (!status)
        status = take_samples(r, &samples);
    hcy_host_array_free(&samples);
    if (!status)
        status = recon_correct_trajectory(r);
    if (!status && (!r->n_frames || r->is_same))
        status = recon_find_stack(r);
    if (!status && r->v->maps)
        status = take_maps(r);
    if (!status && r->v->noise)
        status = recon_whiten(r);
    if (!status && r->v->basis)
        status = take_basis(r);
    return status || !(r->v->field || r->v->r2star) ? status : recon_load_field(r);
}
