/* recon_place.c - where images of halcyon recon are in the patient: what headers of ISMRMRD's acquisitions say of it,
 * and how slices lie side by side.  A place is [5][3]: the middle in mm, read, phase and slice direction, the table. */
#include "recon.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MIDDLE, READ, PHASE, SLICE, TABLE, VECTORS };
#define NO_RIGHT_ANGLE 0.02 /* a cosine that is more than what headers round */
#define SAME_MM 0.05
#define SAME_DIRECTION 1e-3

static double product_of(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* --- What headers say --- */

/* A direction loses what it has of those before it, of which there must not be much, and becomes a unit vector. */
static bool straighten(double *vector, const double *before, int n)
{
    const double length = sqrt(product_of(vector, vector));
    if (!(fabs(length - 1) <= NO_RIGHT_ANGLE))
        return false;
    for (int i = 0; i < n; i++) {
        const double share = product_of(vector, before + 3 * i);
        if (fabs(share) > NO_RIGHT_ANGLE)
            return false;
        for (int d = 0; d < 3; d++)
            vector[d] -= share * before[3 * i + d];
    }
    const double left = sqrt(product_of(vector, vector));
    for (int d = 0; d < 3; d++)
        vector[d] /= left;
    return true;
}

static bool is_far(const double *vector)
{
    return !(fabs(vector[0]) < 1e6 && fabs(vector[1]) < 1e6 && fabs(vector[2]) < 1e6);
}

static bool straighten_place(double *place)
{
    double *const first = place + 3 * READ;
    return !is_far(place) && !is_far(place + 3 * TABLE) && straighten(first, first, 0) &&
           straighten(first + 3, first, 1) && straighten(first + 6, first, 2);
}

static bool is_same_place(const double *a, const double *b)
{
    bool same = true;
    for (int i = 0; i < 3 * VECTORS; i++)
        same = same && fabs(a[i] - b[i]) <= (i < 3 * READ || i >= 3 * TABLE ? SAME_MM : SAME_DIRECTION);
    return same;
}

/* Headers of programs that know of no patient have only zeros. */
static bool is_silent(const double *place)
{
    return product_of(place + 3 * READ, place + 3 * READ) == 0 && product_of(place + 3 * PHASE, place + 3 * PHASE) == 0;
}

/* Each slice's place is that of its first acquisition. */
static int take_places(struct recon *r, const float *all)
{
    const size_t slices = recon_count_slices(r);
    bool *is_known = calloc(slices, sizeof *is_known), is_silence = true, moves = false, is_bad = false;
    r->places = malloc(slices * 3 * VECTORS * sizeof *r->places);
    const int status = is_known && r->places ? CLI_OK : cli_error("no memory for places of %zu slices", slices);
    for (size_t i = 0; !status && i < r->n_taken; i++) {
        size_t slice;
        const float *from = all + recon_acquisition(&slice, r, i) * 3 * VECTORS;
        double one[3 * VECTORS], *place = r->places + slice * 3 * VECTORS;
        for (int k = 0; k < 3 * VECTORS; k++)
            one[k] = from[k];
        is_silence = is_silence && is_silent(one);
        is_bad = is_bad || !straighten_place(one);
        moves = moves || (is_known[slice] && !is_same_place(one, place));
        if (!is_known[slice])
            memcpy(place, one, sizeof one);
        is_known[slice] = true;
    }
    free(is_known);
    if (is_bad) {
        free(r->places);
        r->places = NULL;
    }
    if (!status && is_bad && !is_silence && !r->v->quiet)
        cli_note("%s: its acquisitions' directions are no unit vectors at right angles, or its positions no distances: the "
                 "image has no place in the patient", r->kspace);
    if (!status && moves && r->places && !r->v->quiet)
        cli_note("%s: acquisitions of one image are at several places; it has the first one's", r->kspace);
    return status;
}

int recon_find_places(struct recon *r)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    char *name = recon_name_part(r, "places");
    if (!name)
        return cli_error("no memory for the names of files");
    const int st = hcy_host_array_read(&a, name);
    free(name);
    /* In a file that is none of ISMRMRD's a dataset of that name may be anything, or not there. */
    const bool are_places = !st && !a.is_complex && a.bytes == 4 && a.rank == 3 && a.shape[0] == r->n_acquisitions &&
                            a.shape[1] == VECTORS && a.shape[2] == 3;
    const int status = are_places ? take_places(r, a.data) : CLI_OK;
    hcy_host_array_free(&a);
    return status;
}

/* --- Slices side by side --- */

struct seat {
    double at; /* along the first one's slice direction */
    size_t slice;
};

static int compare_seats(const void *a, const void *b)
{
    const struct seat *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

/* Whether slices have as many images each. */
static bool are_even(const struct recon *r)
{
    bool good = r->n_frames % r->n_slices == 0;
    for (size_t f = 0; good && f < r->n_frames; f++)
        good = recon_slice_of(r, f) == f / (r->n_frames / r->n_slices);
    return good;
}

/* Whether slices have as many images each and are parallel, one straight behind the other and as far apart, on a table
 * that stays; then their order and that distance. */
static bool find_order(struct seat *seats, double *distance, const struct recon *r)
{
    const size_t n = r->n_slices;
    const double *first = r->places;
    bool good = r->dim == 2 && are_even(r);
    for (size_t i = 0; i < n; i++) {
        const double *place = r->places + i * 3 * VECTORS;
        double off[3], aside = 0;
        for (int d = 0; d < 3; d++) {
            off[d] = place[d] - first[d];
            good = good && fabs(place[3 * TABLE + d] - first[3 * TABLE + d]) <= SAME_MM;
        }
        seats[i] = (struct seat){ product_of(off, first + 3 * SLICE), i };
        for (int d = 0; d < 3; d++)
            aside = fmax(aside, fabs(off[d] - seats[i].at * first[3 * SLICE + d]));
        good = good && aside <= SAME_MM;
        for (int k = 3 * READ; k < 3 * TABLE; k++)
            good = good && fabs(place[k] - first[k]) <= SAME_DIRECTION;
    }
    qsort(seats, n, sizeof *seats, compare_seats);
    *distance = (seats[n - 1].at - seats[0].at) / (double)(n - 1);
    for (size_t i = 1; i < n; i++)
        good = good && fabs(seats[i].at - seats[0].at - (double)i * *distance) <= SAME_MM;
    return good && *distance > SAME_MM;
}

/* Images [slices][others] become [others][slices], in that order. */
static int stack_slices(hcy_host_array *a, struct recon *r, const struct seat *seats)
{
    const size_t others = r->n_frames / r->n_slices * recon_count_functions(r), images = others * r->n_slices,
                 bytes = r->pixels * (a->is_complex ? 2 : 1) * (size_t)a->bytes;
    char *to = malloc(images * bytes);
    if (!to)
        return cli_error("no memory for %zu images", images);
    for (size_t i = 0; i < others; i++)
        for (size_t s = 0; s < r->n_slices; s++)
            memcpy(to + (i * r->n_slices + s) * bytes,
                   (const char *)r->image + (seats[s].slice * others + i) * bytes, bytes);
    free(r->image);
    a->data = r->image = to;
    const uint64_t shape[4] = { others, r->n_slices, a->shape[a->rank - 2], a->shape[a->rank - 1] };
    a->rank = others > 1 ? 4 : 3;
    memcpy(a->shape, shape + 4 - a->rank, (size_t)a->rank * sizeof *shape);
    return CLI_OK;
}

/* NIfTI has one place, that of the slice in the middle. */
static int place_stack(hcy_host_array *a, struct recon *r)
{
    double distance;
    struct seat *seats = malloc(r->n_slices * sizeof *seats);
    int status = seats ? CLI_OK : cli_error("no memory for %zu slices", r->n_slices);
    const bool are_side_by_side = !status && find_order(seats, &distance, r);
    if (are_side_by_side) {
        status = stack_slices(a, r, seats);
        a->cells[2] = distance;
        a->places = r->places + seats[r->n_slices / 2].slice * 3 * VECTORS;
        a->n_places = 1;
    } else if (!status && !r->v->quiet) {
        cli_note("%s: its slices are not planes of as many images each, parallel, straight behind one another and as far "
                 "apart, on a table that stays: in %s they are images without a place; .mrd has each one's, and so has --only slice=0", r->kspace,
                 r->v->out);
    }
    free(seats);
    return status;
}

int recon_place_image(hcy_host_array *a, struct recon *r)
{
    const char *format;
    int status = hcy_format_of(&format, r->v->out, HCY_WRITE_ARRAY);
    if (status)
        return cli_fail(status);
    const bool is_mrd = !strcmp(format, "mrd"), is_nifti = !strcmp(format, "nii");
    if (r->is_list && !r->places && is_nifti && recon_count_slices(r) > 1 && !r->v->quiet)
        cli_note("%s: its acquisitions say no place (position, read_dir, phase_dir, slice_dir) that slices could be ordered by: "
                 "in %s they are images without a place along the fourth axis, in the order of their numbers", r->kspace,
                 r->v->out);
    if (!r->places || !(is_mrd || is_nifti))
        return CLI_OK;
    a->places = r->places;
    a->n_places = 1;
    if (recon_count_slices(r) == 1)
        return CLI_OK;
    if (is_nifti) {
        a->n_places = 0;
        return place_stack(a, r);
    }
    const size_t images = (size_t)a->shape[0], each = images / r->n_frames;
    r->image_places = malloc(images * 3 * VECTORS * sizeof *r->image_places);
    if (!r->image_places)
        return cli_error("no memory for places of %zu images", images);
    for (size_t i = 0; i < images; i++)
        memcpy(r->image_places + i * 3 * VECTORS, r->places + recon_slice_of(r, i / each) * 3 * VECTORS,
               3 * VECTORS * sizeof *r->places);
    a->places = r->image_places;
    a->n_places = images;
    return CLI_OK;
}
