/* trajectory.c - readouts, and gradients that come late (halcyon/trajectory.h). */
#include "trajectory_priv.h"
#include "sized.h"

#include <halcyon/backend.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 4 }; /* of a cubic */

double hcy__trajectory_get(const hcy_trajectory_desc *desc, const void *reals, size_t i)
{
    return desc->precision == HCY_F64 ? ((const double *)reals)[i] : (double)((const float *)reals)[i];
}

void hcy__trajectory_put(const hcy_trajectory_desc *desc, void *reals, size_t i, double value)
{
    if (desc->precision == HCY_F64)
        ((double *)reals)[i] = value;
    else
        ((float *)reals)[i] = (float)value;
}

bool hcy__trajectory_rests(const hcy_trajectory_desc *desc, const void *const *points, size_t r)
{
    bool rests = true;
    for (int d = 0; d < desc->dim; d++)
        rests = rests && hcy__trajectory_get(desc, points[d], r * (size_t)desc->samples) == 0;
    return rests;
}

static int check_coordinates(const hcy_trajectory_desc *desc, size_t n, const void *const *points,
                             const char *function)
{
    for (int d = 0; d < desc->dim; d++) {
        if (!points[d])
            return hcy_fail(HCY_EINVAL, "%s: no coordinates of axis %d", function, d);
        for (size_t i = 0; i < n; i++)
            if (!isfinite(hcy__trajectory_get(desc, points[d], i)))
                return hcy_fail(HCY_EINVAL, "%s: coordinate %d of point %zu is no number", function, d, i);
    }
    return 0;
}

int hcy__trajectory_check(hcy_trajectory_desc *to, size_t *n, const hcy_trajectory_desc *desc,
                          const void *const *points, const char *function)
{
    *to = (hcy_trajectory_desc)HCY_TRAJECTORY_DESC_INIT;
    int status = hcy__sized_read(to, sizeof *to, desc, "hcy_trajectory_desc");
    if (status)
        return status;
    if (!points)
        return hcy_fail(HCY_EINVAL, "%s: no points", function);
    if (to->precision != HCY_F64 && to->precision != HCY_F32)
        return hcy_fail(HCY_EINVAL, "%s: precision %d is none; HCY_F64 and HCY_F32 are", function, to->precision);
    if (to->dim < 1 || to->dim > 3 || to->readouts < 1 || to->samples < 1)
        return hcy_fail(HCY_EINVAL, "%s: %lld readouts of %lld samples on %d axes; set hcy_trajectory_desc's", function,
                        (long long)to->readouts, (long long)to->samples, to->dim);
    if (!(to->dwell > 0) || !isfinite(to->dwell))
        return hcy_fail(HCY_EINVAL, "%s: a dwell of %g s; above 0 is needed", function, to->dwell);
    if ((uint64_t)to->readouts > SIZE_MAX || (uint64_t)to->samples > SIZE_MAX ||
        hcy_size_mul(n, (size_t)to->readouts, (size_t)to->samples))
        return hcy_fail(HCY_ERANGE, "%s: more points than can be addressed", function);
    return check_coordinates(to, *n, points, function);
}

/* --- Delays --- */

double hcy__trajectory_interpolate(const double *row, size_t apart, size_t n, double at)
{
    const size_t nodes = n < NODES ? n : NODES, before = nodes < NODES ? 0 : NODES / 2 - 1;
    const double low = floor(at) - (double)before;
    const size_t first = low < 0 ? 0 : low > (double)(n - nodes) ? n - nodes : (size_t)low;
    double sum = 0;
    for (size_t i = 0; i < nodes; i++) {
        double factor = 1;
        for (size_t j = 0; j < nodes; j++)
            if (j != i)
                factor *= (at - (double)(first + j)) / ((double)i - (double)j);
        sum += factor * row[(first + i) * apart];
    }
    return sum;
}

static double place_at(const double *row, size_t n, bool rests, double at)
{
    const double last = (double)(n - 1);
    if (n == 1)
        return row[0];
    if (at < 0)
        return rests ? row[0] : row[0] + at * (row[1] - row[0]);
    if (at > last)
        return row[n - 1] + (at - last) * (row[n - 1] - row[n - 2]);
    return hcy__trajectory_interpolate(row, 1, n, at);
}

/* One row has a readout's coordinates as they were, so that results may go where they came from. */
static void delay_readout(void *const *actual, double *row, const hcy_trajectory_desc *d, const void *const *points,
                          const double *delays, size_t readout)
{
    const size_t n = (size_t)d->samples, first = readout * n;
    const bool rests = hcy__trajectory_rests(d, points, readout);
    for (int axis = 0; axis < d->dim; axis++) {
        for (size_t i = 0; i < n; i++)
            row[i] = hcy__trajectory_get(d, points[axis], first + i);
        for (size_t i = 0; i < n; i++)
            hcy__trajectory_put(d, actual[axis], first + i,
                                place_at(row, n, rests, (double)i - delays[axis] / d->dwell));
    }
}

static int check_delays(void *const *actual, const hcy_trajectory_desc *d, const double *delays)
{
    if (!actual || !delays)
        return hcy_fail(HCY_EINVAL, "hcy_trajectory_delay: no %s", actual ? "delays" : "place for the points");
    for (int axis = 0; axis < d->dim; axis++)
        if (!actual[axis] || !(fabs(delays[axis]) <= (double)d->samples * d->dwell))
            return hcy_fail(HCY_EINVAL, "hcy_trajectory_delay: axis %d: no place for points, or a delay that is no number or "
                                        "longer than a readout, %g (samples times dwell)", axis, (double)d->samples * d->dwell);
    return 0;
}

int hcy_trajectory_delay(void *const *actual, const hcy_trajectory_desc *desc, const void *const *points,
                         const double *delays)
{
    hcy_trajectory_desc d;
    size_t n;
    int status = hcy__trajectory_check(&d, &n, desc, points, "hcy_trajectory_delay");
    if (!status)
        status = check_delays(actual, &d, delays);
    if (status)
        return status;
    double *row = malloc((size_t)d.samples * sizeof *row);
    if (!row)
        return hcy_fail(HCY_ENOMEM, "hcy_trajectory_delay: no memory for %lld samples", (long long)d.samples);
    for (size_t r = 0; r < (size_t)d.readouts; r++)
        delay_readout(actual, row, &d, points, delays, r);
    free(row);
    return 0;
}
