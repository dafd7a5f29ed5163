/* trajectory_filter.c - gradients through a measured impulse response (halcyon/trajectory.h).
 *
 * A readout's gradients are the steps from sample to sample.  They stand in a row that begins at rest, goes smoothly to
 * the first of them, stays there for as long as a response lasts, and behind the readout back: a Fourier transform's
 * rows are circles.  Rows are filtered many at a time, F^H H F of real vectors.  At rest k was H(0) times what it was
 * meant to be, and from there on the filtered gradients are added up.
 */
#include "operator_priv.h"
#include "sized.h"
#include "trajectory_priv.h"

#include <halcyon/backend.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846
enum {
    LEAST_REACH = 16,     /* samples that a response lasts, at least; */
    MOST_REACH = 1024,    /* and at most, or two readouts: what was before these nobody knows */
    AT_ONCE = 1 << 21     /* numbers of rows that are filtered together, unless one has more */
};

struct filter {
    hcy_trajectory_desc desc;
    hcy_girf girf;
    size_t length, reach; /* numbers of a row; how long a response lasts */
    size_t rows;          /* at once */
    hcy_queue *queue;
    hcy_operator *op[3];  /* of each row of the response: rows to rows, times their length */
    hcy_array *to;
    double *numbers;      /* [rows][length], before it and behind */
};

/* --- The response --- */

/* H(f) as it was measured there, between two frequencies; false: it was not. */
static bool find_response(double h[2], const struct filter *s, int row, double f)
{
    const double place = (f - s->girf.first) / s->girf.step, last = (double)(s->girf.n - 1);
    /* A rounding of the last frequency is still the last one. */
    if (!(place > -1e-9 && place < last + 1e-9))
        return false;
    for (int i = 0; i < 2; i++)
        h[i] = hcy__trajectory_interpolate(s->girf.response + 2 * row * s->girf.n + i, 2, (size_t)s->girf.n,
                                           fmax(0, fmin(place, last)));
    return true;
}

/* The one at the end that is nearest to f, or to -f. */
static void nearest_response(double h[2], const struct filter *s, int row, double f)
{
    const double first = s->girf.first, last = first + s->girf.step * (double)(s->girf.n - 1),
                 ends[4] = { fabs(f - first), fabs(f - last), fabs(f + first), fabs(f + last) };
    int end = 0;
    for (int i = 1; i < 4; i++)
        end = ends[i] < ends[end] ? i : end;
    const double *at = s->girf.response + 2 * (row * s->girf.n + (end % 2 ? s->girf.n - 1 : 0));
    h[0] = at[0];
    h[1] = end > 1 ? -at[1] : at[1];
}

/* Of real gradients, at f of 0 and above. */
static void response_at(double h[2], const struct filter *s, int row, double f)
{
    double other[2];
    const bool has = find_response(h, s, row, f), has_other = find_response(other, s, row, -f);
    if (!has && !has_other)
        nearest_response(h, s, row, f);
    if (has_other) {
        h[0] = has ? (h[0] + other[0]) / 2 : other[0];
        h[1] = has ? (h[1] - other[1]) / 2 : -other[1];
    }
}

/* F^H H F of rows: the filter, times their length. */
static int make_filter(hcy_operator **op, const struct filter *s, int row)
{
    hcy_device *dev = hcy_queue_device(s->queue);
    const int64_t half = (int64_t)(s->length / 2 + 1);
    hcy_space rows = { HCY_FLOAT64, 2, { (int64_t)s->rows, (int64_t)s->length }, NULL };
    hcy_operator *chain[3] = { NULL };
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    hcy_array *factors = NULL;
    double *numbers = malloc(2 * (size_t)half * sizeof *numbers);
    if (!numbers)
        return hcy_fail(HCY_ENOMEM, "hcy_trajectory_filter: no memory for %lld frequencies", (long long)half);
    for (int64_t i = 0; i < half; i++)
        response_at(numbers + 2 * i, s, row, (double)i / ((double)s->length * s->desc.dwell));
    int status = hcy_array_from_host(&factors, dev, HCY_COMPLEX128, 1, &half, numbers);
    if (!status)
        status = hcy_operator_fft_real(&chain[2], dev, &rows, 1);
    if (!status)
        status = hcy_operator_get_info(&info, chain[2]);
    if (!status)
        status = hcy_operator_diagonal(&chain[1], &info.range, factors);
    if (!status)
        status = hcy_operator_adjoint(&chain[0], chain[2]);
    if (!status)
        status = hcy_operator_compose(op, chain, 3);
    for (int i = 0; i < 3; i++)
        hcy_operator_release(chain[i]);
    hcy_array_release(factors);
    free(numbers);
    return status;
}

/* --- Rows --- */

/* Where a readout's first gradient stands: behind rest, the way to it, and its like. */
static size_t beginning(const struct filter *s)
{
    return 3 * s->reach;
}

/* From 0 to 1 in `reach` steps. */
static double way_at(const struct filter *s, size_t i)
{
    return i < s->reach ? 0.5 - 0.5 * cos(PI * (double)i / (double)s->reach) : 1;
}

static void fill_gradients(double *row, const struct filter *s, const void *points, size_t first, bool rests)
{
    const size_t n = (size_t)s->desc.samples, begin = beginning(s), end = begin + n - 1;
    for (size_t i = 0; i + 1 < n; i++)
        row[begin + i] = hcy__trajectory_get(&s->desc, points, first + i + 1) -
                         hcy__trajectory_get(&s->desc, points, first + i);
    const double before = rests || n < 2 ? 0 : row[begin], behind = n < 2 ? 0 : row[end - 1];
    for (size_t i = s->reach; i < begin; i++)
        row[i] = before * way_at(s, i - s->reach);
    for (size_t i = 0; i < 2 * s->reach; i++)
        row[end + i] = behind * way_at(s, 2 * s->reach - 1 - i);
}

/* From gradients before and behind the filter to places.  Half of the rest is what neither end reaches. */
static void add_gradients(void *actual, const double *filtered, const double *row, const struct filter *s,
                          const void *points, size_t first, double mean)
{
    const size_t n = (size_t)s->desc.samples, begin = beginning(s);
    double rest = hcy__trajectory_get(&s->desc, points, first), sum = 0;
    for (size_t i = s->reach / 2; i < begin; i++) {
        rest -= row[i];
        sum += filtered[i];
    }
    double place = mean * rest + sum;
    for (size_t i = 0; i < n; i++) {
        hcy__trajectory_put(&s->desc, actual, first + i, place);
        place += filtered[begin + i];
    }
}

/* Readouts from `readout` on, as many as go at once, of an axis. */
static int filter_rows(void *actual, struct filter *s, const void *const *points, int axis, const bool *rests,
                       size_t readout)
{
    const size_t left = (size_t)s->desc.readouts - readout, rows = left < s->rows ? left : s->rows;
    const int row = s->girf.rows > 1 ? axis : 0;
    double mean[2], *filtered = s->numbers + s->rows * s->length;
    response_at(mean, s, row, 0);
    memset(s->numbers, 0, s->rows * s->length * sizeof *s->numbers);
    for (size_t r = 0; r < rows; r++)
        fill_gradients(s->numbers + r * s->length, s, points[axis], (readout + r) * (size_t)s->desc.samples,
                       rests[readout + r]);
    const int64_t shape[2] = { (int64_t)s->rows, (int64_t)s->length };
    hcy_array *from = NULL;
    int status = hcy_array_from_host(&from, hcy_queue_device(s->queue), HCY_FLOAT64, 2, shape, s->numbers);
    if (!status)
        status = hcy_operator_apply(s->queue, s->to, s->op[row], from);
    hcy_array_release(from);
    if (!status)
        status = hcy_array_to_host(filtered, s->queue, s->to);
    for (size_t i = 0; !status && i < rows * s->length; i++)
        filtered[i] /= (double)s->length;
    for (size_t r = 0; !status && r < rows; r++)
        add_gradients(actual, filtered + r * s->length, s->numbers + r * s->length, s, points[axis],
                      (readout + r) * (size_t)s->desc.samples, mean[0]);
    return status;
}

/* --- The whole --- */

static int check_girf(const hcy_girf *g, const hcy_trajectory_desc *d)
{
    if ((g->rows != 1 && g->rows != d->dim) || g->n < 1 || !g->response)
        return hcy_fail(HCY_EINVAL, "hcy_trajectory_filter: a response of %d rows of %lld frequencies; one row is needed, "
                                    "or one for each of %d axes", g->rows, (long long)g->n, d->dim);
    if (!(g->step > 0) || !isfinite(g->step) || !isfinite(g->first))
        return hcy_fail(HCY_EINVAL, "hcy_trajectory_filter: frequencies from %g in steps of %g Hz", g->first, g->step);
    for (int64_t i = 0; i < 2 * g->rows * g->n; i++)
        if (!isfinite(g->response[i]))
            return hcy_fail(HCY_EINVAL, "hcy_trajectory_filter: number %lld of the response is none or infinite",
                            (long long)(i / 2));
    return 0;
}

/* A row has the readout, and five times a response: rest, ways there and back, before and behind the readout. */
static int choose_lengths(struct filter *s)
{
    const double lasts = ceil(1 / (s->girf.step * s->desc.dwell)), samples = (double)s->desc.samples,
                 most = fmax(2 * samples, MOST_REACH);
    size_t all;
    s->reach = (size_t)fmax(LEAST_REACH, fmin(lasts, most));
    if (hcy_size_mul(&all, s->reach, 5) || hcy_size_add(&all, all, (size_t)s->desc.samples) || all > SIZE_MAX / 64)
        return hcy_fail(HCY_ERANGE, "hcy_trajectory_filter: readouts of %lld samples", (long long)s->desc.samples);
    for (s->length = 64; s->length < all;)
        s->length *= 2;
    s->rows = AT_ONCE / s->length > 0 ? AT_ONCE / s->length : 1;
    s->rows = s->rows < (size_t)s->desc.readouts ? s->rows : (size_t)s->desc.readouts;
    return 0;
}

static int make_room(struct filter *s, hcy_device *dev)
{
    const int64_t shape[2] = { (int64_t)s->rows, (int64_t)s->length };
    s->numbers = malloc(2 * s->rows * s->length * sizeof *s->numbers);
    int status = s->numbers ? hcy_queue_create(&s->queue, dev)
                            : hcy_fail(HCY_ENOMEM, "hcy_trajectory_filter: no memory for rows of %zu numbers", s->length);
    if (!status)
        status = hcy_array_empty(&s->to, dev, HCY_FLOAT64, 2, shape);
    for (int row = 0; !status && row < s->girf.rows; row++)
        status = make_filter(&s->op[row], s, row);
    return status;
}

static int filter_all(void *const *actual, struct filter *s, const void *const *points)
{
    const size_t readouts = (size_t)s->desc.readouts;
    bool *rests = malloc(readouts * sizeof *rests);
    int status = rests ? 0 : hcy_fail(HCY_ENOMEM, "hcy_trajectory_filter: no memory for %zu readouts", readouts);
    for (size_t r = 0; !status && r < readouts; r++)
        rests[r] = hcy__trajectory_rests(&s->desc, points, r);
    for (int axis = 0; axis < s->desc.dim; axis++)
        for (size_t r = 0; !status && r < readouts; r += s->rows)
            status = filter_rows(actual[axis], s, points, axis, rests, r);
    free(rests);
    return status;
}

static void free_filter(struct filter *s)
{
    for (int row = 0; row < 3; row++)
        hcy_operator_release(s->op[row]);
    hcy_array_release(s->to);
    hcy_queue_release(s->queue);
    free(s->numbers);
}

int hcy_trajectory_filter(void *const *actual, hcy_device *dev, const hcy_trajectory_desc *desc,
                          const void *const *points, const hcy_girf *girf)
{
    struct filter s = { .girf = HCY_GIRF_INIT };
    size_t n;
    int status = hcy__trajectory_check(&s.desc, &n, desc, points, "hcy_trajectory_filter");
    if (!status)
        status = hcy__sized_read(&s.girf, sizeof s.girf, girf, "hcy_girf");
    if (!status && (!actual || !dev))
        status = hcy_fail(HCY_EINVAL, "hcy_trajectory_filter: no %s", dev ? "place for the points" : "device");
    for (int axis = 0; !status && axis < s.desc.dim; axis++)
        if (!actual[axis])
            status = hcy_fail(HCY_EINVAL, "hcy_trajectory_filter: no place for points of axis %d", axis);
    if (!status)
        status = check_girf(&s.girf, &s.desc);
    if (!status)
        status = choose_lengths(&s);
    if (!status)
        status = make_room(&s, dev);
    if (!status)
        status = filter_all(actual, &s, points);
    free_filter(&s);
    return status;
}
