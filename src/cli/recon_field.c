/* recon_field.c - a field that is off and a signal that decays, of halcyon recon: their maps, the samples' times, and
 * how many segments the operator takes.  Single-threaded. */
#include "recon.h"
#include <halcyon/backend.h>
#include <math.h>
#include <stdlib.h>

#define TURN 6.283185307179586476925
#define ENOUGH 1e-3 /* of the signal: what segments may be off */
#define TOO_MUCH 0.03
enum { MOST_SEGMENTS = 64 };

/* --- Files --- */

/* Numbers a[i % count] times `unit`, n of them, of an array that is real. */
static int take_numbers(void **numbers, const struct recon *r, const hcy_host_array *a, size_t count, size_t n,
                        double unit, const char *path)
{
    *numbers = reals_room(r->is_double, n);
    if (!*numbers)
        return cli_error("no memory for %zu numbers", n);
    for (size_t i = 0; i < n; i++) {
        double value = array_real(a, a->is_complex ? 2 * (i % count) : i % count);
        if (!isfinite(value))
            return cli_error("%s: number %zu is none or infinite", path, i);
        reals_put(r->is_double, *numbers, i, unit * value);
    }
    return CLI_OK;
}

static int load_map(void **numbers, struct recon *r, const char *path, double unit, const char *what)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    const size_t n = recon_count_slices(r) * r->pixels;
    char is[200], of_slices[60] = "";
    int status = recon_read_array(&a, r, path);
    if (r->n_slices > 1)
        snprintf(of_slices, sizeof of_slices, "[%zu], its slices, times ", r->n_slices);
    const bool fits = !status && recon_fits_image(r, &a, false);
    if (!status && (!fits || !array_is_real(&a, n)))
        status = cli_error("%s: %s, of %sthe image's %s; it is %s%s", path, what, of_slices, r->size_words,
                           fits ? "complex " : "", array_words(is, &a, 0));
    if (!status)
        status = take_numbers(numbers, r, &a, n, n, unit, path);
    hcy_host_array_free(&a);
    return status;
}

/* Fits leave rates below 0 where there is no signal; by these it would grow, and noise with it. */
static int check_decay(const struct recon *r)
{
    for (size_t i = 0; i < recon_count_slices(r) * r->pixels; i++)
        if (reals_get(r->is_double, r->decay, i) < 0)
            return cli_error("%s: number %zu is %g; R2* is 0 or more: make what is below 0 (a fit without signal) 0",
                             r->v->r2star, i, reals_get(r->is_double, r->decay, i));
    return CLI_OK;
}

/* What is not given of the two maps is NULL. */
static int load_maps(struct recon *r)
{
    int status = CLI_OK;
    if (r->v->field)
        status = load_map(&r->field, r, r->v->field, TURN, "the field must be real numbers, Hz");
    if (!status && r->v->r2star)
        status = load_map(&r->decay, r, r->v->r2star, 1, "R2* must be real numbers, 1/s");
    if (!status && r->decay)
        status = check_decay(r);
    return status;
}

/* One spoke's times are those of all; those of all points may have spokes that are left over behind the frames. */
static int load_times(struct recon *r, size_t spoke)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    size_t count = 0;
    const size_t all = recon_count_points(r);
    char is[200];
    int status = recon_read_array(&a, r, r->v->times);
    if (!status)
        status = recon_order_points(&a, r);
    const int st = status ? 0 : hcy_host_array_count(&count, &a);
    if (st)
        status = cli_fail(st);
    if (!status && ((count != r->n && count != all && count != spoke) || !array_is_real(&a, count)))
        status = cli_error("%s: times must be real numbers, seconds, %zu of a spoke or %zu of all points; it is %s%s",
                           r->v->times, spoke, all, array_is_real(&a, count) ? "" : "complex ", array_words(is, &a, 0));
    if (!status)
        status = take_numbers(&r->times, r, &a, count, r->n, 1, r->v->times);
    hcy_host_array_free(&a);
    return status;
}

int recon_load_field(struct recon *r)
{
    /* The last of the points' axes is what is read after one excitation. */
    const size_t spoke = (size_t)r->point_shape[r->point_rank - 1];
    int status = load_maps(r);
    if (status || r->v->times)
        return status ? status : load_times(r, spoke);
    r->times = reals_room(r->is_double, r->n);
    if (!r->times)
        return cli_error("no memory for %zu times", r->n);
    for (size_t i = 0; i < r->n; i++)
        reals_put(r->is_double, r->times, i, 1e-3 * r->v->readout.value * (double)(i % spoke) / (double)spoke);
    return CLI_OK;
}

/* --- The operator --- */

static double span_of(const struct recon *r, const void *numbers, size_t n)
{
    double least = HUGE_VAL, most = -HUGE_VAL;
    if (!numbers)
        return 0;
    for (size_t i = 0; i < n; i++) {
        least = fmin(least, reals_get(r->is_double, numbers, i));
        most = fmax(most, reals_get(r->is_double, numbers, i));
    }
    return most - least;
}

/* Fewer than half a turn of the fastest against the slowest place in a segment are hardly enough: from there on. */
static int guess_segments(const struct recon *r)
{
    const double halves = span_of(r, r->field, r->pixels) * span_of(r, r->times, r->n) / (TURN / 2);
    return halves < MOST_SEGMENTS - 2 ? 2 + (int)halves : MOST_SEGMENTS;
}

/* The map of frequencies, or of complex rates where the signal decays. */
static int put_field(hcy_array **field, const struct recon *r)
{
    if (!r->decay)
        return hcy_array_from_host(field, r->dev, r->is_double ? HCY_FLOAT64 : HCY_FLOAT32, r->dim, r->sizes, r->field);
    void *rates = reals_room(r->is_double, 2 * r->pixels);
    if (!rates)
        return hcy_fail(HCY_ENOMEM, "no memory for %zu rates", r->pixels);
    for (size_t i = 0; i < r->pixels; i++) {
        reals_put(r->is_double, rates, 2 * i, reals_get(r->is_double, r->decay, i));
        reals_put(r->is_double, rates, 2 * i + 1, r->field ? reals_get(r->is_double, r->field, i) : 0);
    }
    int status = hcy_array_from_host(field, r->dev, r->is_double ? HCY_COMPLEX128 : HCY_COMPLEX64, r->dim, r->sizes,
                                     rates);
    free(rates);
    return status;
}

/* r->op becomes the one in the field, whose number of segments is the one that is asked for, or that is enough.
 * Convolutions are fewest by segments of frequencies; but decays that a fit made much too fast need many of these. */
static int segment_time(struct recon *r, hcy_array *field, hcy_array *times)
{
    hcy_operator *op = NULL;
    int (*const make)(hcy_operator **, double *, hcy_operator *, hcy_array *, hcy_array *, int) =
        r->v->toeplitz && !r->decay ? hcy_operator_multifrequency : hcy_operator_off_resonance;
    int status = 0;
    r->segments = r->v->segments.given ? (int)r->v->segments.value : guess_segments(r);
    for (bool enough = false; !enough && !status;) {
        hcy_operator_release(op);
        op = NULL;
        status = make(&op, &r->segments_error, r->op, field, times, r->segments);
        enough = r->v->segments.given || r->segments_error <= ENOUGH || r->segments == MOST_SEGMENTS;
        if (!enough)
            r->segments += r->segments < 4 ? 2 : r->segments / 2;
        r->segments = r->segments < MOST_SEGMENTS ? r->segments : MOST_SEGMENTS;
    }
    if (status)
        return status;
    hcy_operator_release(r->op);
    r->op = op;
    if (r->segments_error > TOO_MUCH && !r->v->quiet)
        cli_note("%s: %d segments leave errors of %.2g of the signal; %s",
                 r->v->field ? "--field-map" : "--r2star", r->segments, r->segments_error,
                 r->segments < MOST_SEGMENTS ? "more --segments leave less"
                                             : "the field is in Hz, R2* in 1/s, and the times in seconds (--readout: ms)");
    return 0;
}

int recon_add_field(struct recon *r)
{
    const int real = r->is_double ? HCY_FLOAT64 : HCY_FLOAT32;
    const int64_t n = (int64_t)r->n;
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    hcy_array *field = NULL, *all = NULL, *times = NULL;
    int status = hcy_operator_get_info(&info, r->op);
    if (!status)
        status = put_field(&field, r);
    /* Coils without maps have an image each, in the same field. */
    if (!status)
        status = hcy_array_broadcast(&all, field, info.domain.rank, info.domain.shape);
    if (!status)
        status = hcy_array_from_host(&times, r->dev, real, 1, &n, r->times);
    if (!status)
        status = segment_time(r, all, times);
    hcy_array_release(field);
    hcy_array_release(all);
    hcy_array_release(times);
    return status;
}
