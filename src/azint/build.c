/* build.c - a plan's tables, made row by row by several threads.
 *
 * Three passes over the rows of pixels: the range of the radial values; how many bytes each row's runs take,
 * and its pixels' norms; the runs themselves, each row written where the second pass found that it belongs,
 * the bins' norms and the rows' hashes.  Radial values of corners in single precision are kept from the first
 * pass for the others, and so are the bins that polygons reach into from the second; all else is computed anew in
 * each pass, which is faster than keeping it.  Rows do not depend
 * on one another and all sums are integers (or a minimum, a maximum), so the tables are the same for any
 * number of threads.
 */
#include "build.h"
#include "thread.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#define MOST_NORMS  1000.0               /* the largest norm by the least, in an unweighted mean */
#define MUCH_MEMORY ((uint64_t)64 << 20) /* less is not asked about */

static void *take_rows(void *arg)
{
    struct worker *w = arg;
    struct build *b = w->b;

    for (;;) {
        /* A band at a time: within it the lower corners of one row are the upper ones of the next,
         * computed once. */
        size_t first = atomic_fetch_add(&b->next_row, AZINT_BAND);

        if (first >= b->g.height)
            break;
        for (size_t i = first; i < first + AZINT_BAND && i < b->g.height; i++)
            hcy__azint_do_row(w, i);
    }
    hcy__azint_empty_sums(w);
    return NULL;
}

void hcy__azint_empty_sums(struct worker *w)
{
    struct build *b = w->b;
    const struct azint_sums *sums = &w->sums;

    pthread_mutex_lock(&b->adding);
    /* Sums are integers: they are the same in whatever order and from however many workers they are added. */
    for (size_t i = w->sums_from; i < w->sums_to; i++) {
        hcy_azint_bin_norm *to = &b->bin_norms[i];

        /* No weight, so no term: memory that nobody has written to is not written to now. */
        if (!sums->count[i])
            continue;
        to->count += sums->count[i];
        azint_add(to->norm, sums->norm[i], 0);
        azint_add(to->norm2, sums->norm2[i], 0);
        sums->count[i] = sums->norm[i] = sums->norm2[i] = 0;
    }
    pthread_mutex_unlock(&b->adding);
    w->sums_from = SIZE_MAX;
    w->sums_to = w->n_added = 0;
}

/* Does every row once.  A thread that cannot be started is done without. */
static void pass_over_rows(struct build *b, int pass)
{
    pthread_t *threads = b->threads;
    size_t started = 0;

    atomic_store(&b->next_row, 0);
    for (size_t k = 0; k < b->n_workers; k++) {
        b->workers[k].pass = pass;
        b->workers[k].lower_at = SIZE_MAX;
    }
    while (started + 1 < b->n_workers &&
           !hcy__thread_create(&threads[started], take_rows, &b->workers[started + 1]))
        started++;
    /* The calling thread works too, so the pass is complete even where no thread could be started. */
    take_rows(&b->workers[0]);
    while (started)
        pthread_join(threads[--started], NULL);
}

static void free_workers(struct build *b)
{
    for (size_t k = 0; b->workers && k < b->n_workers; k++) {
        hcy__azint_row_free(&b->workers[k].upper);
        hcy__azint_row_free(&b->workers[k].lower);
        hcy__azint_row_free(&b->workers[k].centre);
        hcy__azint_row_free(&b->workers[k].quads);
        free(b->workers[k].least);
        free(b->workers[k].shares);
        free(b->workers[k].cum);
        free(b->workers[k].weights);
        free(b->workers[k].sums.count);
        /* The first worker's are the plan's own, which outlive the build. */
        if (k)
            free(b->workers[k].extra);
    }
    free(b->workers);
    free(b->threads);
    free(b->row_hash);
}

static int make_workers(struct build *b)
{
    const int is_outlined = b->split == HCY_SPLIT_FULL && !b->g.own && !hcy__azint_keeps_double(b);
    int rc = 0;

    b->workers = calloc(b->n_workers, sizeof(*b->workers));
    b->threads = malloc(b->n_workers * sizeof(*b->threads));
    b->row_hash = malloc(b->g.height * sizeof(*b->row_hash));
    b->row_bytes = malloc((b->g.height + 1) * sizeof(*b->row_bytes));
    b->norms = malloc(b->g.height * b->g.width * sizeof(*b->norms));
    if (!b->workers || !b->threads || !b->row_hash || !b->row_bytes || !b->norms)
        return hcy_fail(HCY_ENOMEM, "no memory for a plan of %zu x %zu pixels", b->g.height, b->g.width);
    for (size_t k = 0; !rc && k < b->n_workers; k++) {
        struct worker *w = &b->workers[k];

        w->b = b;
        /* Any pixel's value replaces these; where none does, min > max says that no pixel is left. */
        w->min = INFINITY;
        w->max = -INFINITY;
        w->chi_min = INFINITY;
        w->chi_max = -INFINITY;
        w->least_norm = INFINITY;
        w->sums_from = SIZE_MAX;
        if (!(rc = hcy__azint_row_alloc(&w->upper, b->g.width)) &&
            !(rc = hcy__azint_row_alloc(&w->lower, b->g.width)))
            rc = hcy__azint_row_alloc(&w->centre, b->g.width);
        /* Without the memory each pixel's is found on its own. */
        if (is_outlined && (w->least = malloc(2 * b->g.width * sizeof *w->least)))
            w->largest = w->least + b->g.width;
        if (is_outlined)
            w->shares = malloc(2 * b->g.width * sizeof *w->shares);
        if (!rc && b->g.own)
            rc = hcy__azint_row_alloc(&w->quads, b->g.own * b->g.width);
    }
    /* Each row has a hash of its own, so that the whole's does not depend on which thread did which
     * row. */
    for (size_t i = 0; !rc && i < b->g.height; i++)
        b->row_hash[i] = (struct azint_hash)AZINT_HASH_INIT;
    return rc;
}

/* Room for the corners' radial values, where rows of pixels share corners and these are in single precision. */
static void keep_corners(struct build *b)
{
    size_t n;

    if (b->split == HCY_SPLIT_NO || b->g.own || hcy__azint_keeps_double(b) ||
        hcy_size_mul(&n, (b->g.height + 1) * sizeof(*b->kept), b->g.width + 1))
        return;
    /* Without the memory each pass computes them. */
    b->kept = malloc(n);
}

/* Room for the bins that polygons reach into, which the second pass finds and the third one needs. */
static void keep_spans(struct build *b)
{
    if (b->kept && b->split == HCY_SPLIT_FULL && !b->grid.n_azim)
        b->spans = malloc(b->g.height * b->g.width * sizeof(*b->spans));
}

/* A pixel with more bins than a kept span can say has all of them found again. */
static void drop_spans(struct build *b)
{
    size_t most = 0;

    for (size_t k = 0; k < b->n_workers; k++)
        most = b->workers[k].most > most ? b->workers[k].most : most;
    if (most <= UINT8_MAX)
        return;
    free(b->spans);
    b->spans = NULL;
}

static const double eps = 1.0 / (1 << 23);

/* An upper end above the last pixel's value, not on it. */
static double above(double max)
{
    return max > 0 ? max * (1 + eps) : max / (1 + eps);
}

/* The same of an extent that pixels have.  Of 0 there is no share to go beyond it: pyFAI loses such a pixel. */
static double above_all(double min, double max)
{
    return max == 0 ? -min * eps : above(max);
}

static int set_azimuth_bins(struct build *b)
{
    const double pi = (float)AZINT_PI; /* as pyFAI has it: a little more */
    struct azint_grid *grid = &b->grid;

    if (!grid->check_chi) {
        grid->chi_min = INFINITY;
        grid->chi_max = -INFINITY;
        /* Without a range the bins span what the pixels span, but no more than pyFAI's turn. */
        for (size_t k = 0; k < b->n_workers; k++) {
            grid->chi_min = b->workers[k].chi_min < grid->chi_min ? b->workers[k].chi_min : grid->chi_min;
            grid->chi_max = b->workers[k].chi_max > grid->chi_max ? b->workers[k].chi_max : grid->chi_max;
        }
        if (!grid->is_straight) {
            grid->chi_min = grid->chi_min < -pi ? -pi : grid->chi_min;
            grid->chi_max = grid->chi_max > pi ? pi : grid->chi_max;
        }
    }
    grid->chi_end = grid->check_chi ? above(grid->chi_max) : above_all(grid->chi_min, grid->chi_max);
    grid->chi_delta = (grid->chi_end - grid->chi_min) / (double)grid->n_azim;
    /* All pixels may have one azimuth, or be masked; NaN fails this comparison too. */
    if (!(grid->chi_delta > 0))
        return hcy_fail(HCY_ERANGE, "the pixels' azimuth cannot be cut into %zu bins: give a range", grid->n_azim);
    return 0;
}

/* The least and the largest radial value that the pass over them has found. */
static void find_radial_extent(const struct build *b, double *min, double *max)
{
    *min = INFINITY;
    *max = -INFINITY;
    for (size_t k = 0; k < b->n_workers; k++) {
        *min = b->workers[k].min < *min ? b->workers[k].min : *min;
        *max = b->workers[k].max > *max ? b->workers[k].max : *max;
    }
}

/* No pixel has a radial value. */
static int no_pixel(const struct build *b)
{
    const size_t n = b->g.height * b->g.width;

    /* In some units there are places of which none has a value: of d that is the beam's centre. */
    if (memchr(b->mask, 0, n))
        return hcy_fail(HCY_ERANGE, "no pixel is left: of those that are not masked none has a finite %s",
                        b->scale.unit->name);
    return hcy_fail(HCY_ERANGE, "no pixel is left: all %zu x %zu are masked", b->g.height, b->g.width);
}

/* The smallest interval of bins that has all pixels, as pyFAI sets it. */
static int set_range(struct build *b)
{
    double min, max;
    int is_known = b->has_range && (!b->grid.n_azim || b->grid.check_chi);

    b->first_pass = is_known ? PASS_SIZE : PASS_RANGE;
    /* An extent that was given, in radius or in azimuth, need not be looked for. */
    if (!is_known)
        pass_over_rows(b, PASS_RANGE);
    find_radial_extent(b, &min, &max);
    if (b->has_range) {
        min = b->range[0];
        max = b->range[1];
    } else if (!(min <= max)) {
        return no_pixel(b);
    } else if (!b->scale.may_be_negative) {
        min = min > 0 ? min : 0;
        max = max > 0 ? max : 0;
    }
    /* An interval around a centre near the beam reaches below 0, where nothing is. */
    b->grid.open = !b->has_range || (min == 0 && !b->scale.may_be_negative);
    b->grid.max = max;
    b->max = b->has_range ? above(max) : above_all(min, max);
    b->grid.min = min;
    b->grid.delta = (b->max - min) / (double)b->grid.n_bins;
    /* Values that are equal, or so near that the width of a bin vanishes, would put every pixel at a
     * quotient of 0 / 0. */
    if (!(b->grid.delta > 0) || !isfinite(b->grid.delta))
        return hcy_fail(HCY_ERANGE,
                        "the pixels' %s runs from %g to %g, which cannot be cut into %zu bins: give a radial "
                        "range",
                        b->scale.unit->name, min * b->scale.scale, b->max * b->scale.scale, b->grid.n_bins);
    return b->grid.n_azim ? set_azimuth_bins(b) : 0;
}

/* What is wrong with the pixels that are not masked if none of them has a norm above 0; NULL: some have. */
static const char *why_no_norm(const struct build *b)
{
    const size_t n = b->g.height * b->g.width;
    int divided = 0, dark = !b->dark, variance = !b->variance;

    for (size_t i = 0; i < n; i++) {
        double by = (double)(b->flat ? b->flat[i] : 1) * (b->absorption ? b->absorption[i] : 1);

        if (b->mask[i])
            continue;
        if (b->norms[i] > 0)
            return NULL;
        divided |= by > 0 && isfinite(by);
        dark |= b->dark && isfinite(b->dark[i]);
        variance |= b->variance && isfinite(b->variance[i]) && b->variance[i] >= 0;
    }
    /* As hcy__azint_norm_row() asks for it. */
    if (!divided)
        return b->flat ? "the flat field has no number above 0 that is finite"
                       : "the absorption has no number above 0 that is finite";
    if (!dark)
        return "the dark current has no finite number";
    if (!variance)
        return "the variance has no finite number from 0 on";
    return "their corrections together (arrays, solid angle, polarization) leave nothing to divide by";
}

/* Why no pixel has a weight, with what the pixels have. */
static int nothing_left(struct build *b)
{
    double min, max, scale = b->scale.scale;
    const char *why;

    if (memchr(b->mask, 0, b->g.height * b->g.width) && (why = why_no_norm(b)))
        return hcy_fail(HCY_ERANGE, "no pixel is left: %s in those that are not masked", why);
    /* With a range given the extent is not known yet; the message is of use only with it. */
    if (b->has_range)
        pass_over_rows(b, PASS_RANGE);
    find_radial_extent(b, &min, &max);
    if (!(min <= max))
        return no_pixel(b);
    /* A pixel at the beam's centre has an interval that reaches below 0, which would puzzle whoever reads
     * the message. */
    min = min < 0 && !b->scale.may_be_negative ? 0 : min;
    return hcy_fail(HCY_ERANGE,
                    "no pixel is left: those that are not masked have %s from %g to %g %s; none of them is in the radial "
                    "and azimuthal range asked for",
                    b->scale.unit->quantity, min * scale, max * scale, b->scale.unit->symbol);
}

/* Is there room for the weights and every thread's sums? */
static int check_memory(const struct build *b, size_t bytes)
{
    /* The first worker adds its extras into the plan's own, which are there already. */
    uint64_t extra = b->extra ? (b->n_workers - 1) * sizeof(*b->extra) : 0;
    uint64_t need = bytes + (b->n_workers * AZINT_SUM_BYTES + extra) * b->n_bins, left;

    /* Asking the system costs more than such a plan, and malloc() reports what it does not have. */
    if (need < MUCH_MEMORY || need <= (left = hcy_memory_left()))
        return 0;
    return hcy_fail(HCY_ENOMEM,
                    "the plan needs %llu MiB for %llu weights, %.3g a pixel, and %llu MiB are left: take fewer bins, or no "
                    "splitting",
                    (unsigned long long)(need >> 20), (unsigned long long)b->n_weights,
                    (double)b->n_weights / ((double)b->g.height * (double)b->g.width),
                    (unsigned long long)(left >> 20));
}

/* Finds where each row's runs go, and allocates them. */
static int allocate_runs(struct build *b)
{
    size_t n = b->g.height * b->g.width, bytes = 0, most = 1, rows = b->g.height;
    int rc;

    /* Sizes become offsets in place.  The sum is checked, for it is what malloc() is given; the last entry
     * is the end. */
    for (size_t i = 0; i <= rows; i++) {
        uint64_t row = i < rows ? b->row_bytes[i] : 0;

        b->row_bytes[i] = bytes;
        if (row > SIZE_MAX || hcy_size_add(&bytes, bytes, (size_t)row))
            return hcy_fail(HCY_ERANGE, "a plan of %zu x %zu pixels and %zu bins is too large", rows,
                            b->g.width, b->n_bins);
    }
    /* Whether there is any weight at all is known now, before the memory
     * for them is asked for. */
    b->n_weights = 0;
    for (size_t k = 0; k < b->n_workers; k++) {
        b->n_weights += b->workers[k].n_weights;
        most = b->workers[k].most > most ? b->workers[k].most : most;
    }
    if (!b->n_weights)
        return nothing_left(b);
    if ((rc = check_memory(b, bytes)))
        return rc;
    /* Large memory comes last, when it is known that there is something to put there and room for it. */
    b->runs = malloc(bytes);
    b->starts = malloc((n / HCY_AZINT_START_EVERY + 2) * sizeof(*b->starts));
    if (!b->runs || !b->starts)
        return hcy_fail(HCY_ENOMEM, "no memory for a plan's %zu bytes of weights", bytes);
    for (size_t k = 0; k < b->n_workers; k++) {
        struct worker *w = &b->workers[k];

        w->cum = malloc(most * sizeof *w->cum);
        w->weights = malloc(2 * most * sizeof *w->weights);
        w->sums.count = calloc(b->n_bins, AZINT_SUM_BYTES);
        /* The first worker takes the plan's; the others' are added to those after the pass. */
        w->extra = k && b->extra ? calloc(b->n_bins, sizeof(*b->extra)) : b->extra;
        if (!w->cum || !w->weights || !w->sums.count || (b->extra && !w->extra))
            return hcy_fail(HCY_ENOMEM, "no memory for a plan of %zu bins", b->n_bins);
        w->sums.norm = w->sums.count + b->n_bins;
        w->sums.norm2 = w->sums.norm + b->n_bins;
    }
    /* Rows fill in the other starts; no row has this one, the end of the last segment, and readers rely on
     * it. */
    b->starts[(n + HCY_AZINT_START_EVERY - 1) / HCY_AZINT_START_EVERY] = bytes;
    b->run_bytes = bytes;
    return 0;
}

/* What shares are divided by where the mean is unweighted. */
static int find_norms(struct build *b)
{
    double least = INFINITY, most = 0;

    for (size_t k = 0; k < b->n_workers; k++) {
        least = b->workers[k].least_norm < least ? b->workers[k].least_norm : least;
        most = b->workers[k].most_norm > most ? b->workers[k].most_norm : most;
    }
    b->least_norm = least;
    /* Weights have 24 bits: 14 of them are left to the pixel with the largest norm. */
    if (b->unweighted && most > MOST_NORMS * least)
        return hcy_fail(HCY_ERANGE,
                        "an unweighted mean of pixels whose corrections (flat field, solid angle, polarization) go from %g "
                        "to %g: the ratio may be %g at most; mask the pixels with the least",
                        least / b->gain, most / b->gain, MOST_NORMS);
    return 0;
}

/* Adds a worker's extras to the plan's. */
static void add_extras(struct build *b, const struct worker *w)
{
    for (size_t i = 0; b->extra && i < b->n_bins; i++) {
        struct azint_bin_extra *to = &b->extra[i], *from = &w->extra[i];

        azint_add(to->dark, from->dark[0], from->dark[1]);
        azint_add(to->dark_fine, from->dark_fine[0], from->dark_fine[1]);
        azint_add(to->variance, from->variance[0], from->variance[1]);
    }
}

int hcy__azint_build(struct build *b)
{
    int rc;

    pthread_mutex_init(&b->adding, NULL);
    rc = make_workers(b);
    if (!rc) {
        keep_corners(b);
        rc = set_range(b);
    }
    /* Sizes first, so that each row can then be written to its place by any thread, into memory that is
     * exactly large enough. */
    if (!rc) {
        keep_spans(b);
        pass_over_rows(b, PASS_SIZE);
        drop_spans(b);
        rc = allocate_runs(b);
    }
    if (!rc)
        rc = find_norms(b);
    if (!rc) {
        pass_over_rows(b, PASS_WRITE);
        for (size_t k = 1; k < b->n_workers; k++)
            add_extras(b, &b->workers[k]);
        /* Rows are hashed in their order, not in that in which they were done. */
        for (size_t i = 0; i < b->g.height; i++)
            hcy__azint_hash(&b->hash, &b->row_hash[i], sizeof(b->row_hash[i]));
    }
    free_workers(b);
    free(b->kept);
    b->kept = NULL;
    free(b->spans);
    b->spans = NULL;
    free(b->row_bytes);
    b->row_bytes = NULL;
    pthread_mutex_destroy(&b->adding);
    return rc;
}
