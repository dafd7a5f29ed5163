/* wavelet.c - orthogonal wavelets as operators: Daubechies' with 2 to 8 taps, periodic, of the last one to three axes.
 *
 * I. Daubechies, Comm. Pure Appl. Math. 41 (1988) 909; levels as S. Mallat has them.  One level along an axis takes its
 * even and odd elements to smooth and detailed ones, and its inverse these to those: both are sums of shifted rows of
 * two parts.  So a level gathers the parts into memory of its own, with the rows that a shift reaches around the end,
 * and adds up slices of it.  Nothing is read where it is written, so that all levels lie in the result.
 */
#include "operator_priv.h"

#include <halcyon/eval.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AXES = 3, MOST_TAPS = 8, MOST_SHIFTS = MOST_TAPS / 2, MOST_LEVELS = 40, SHIFTS_AT_ONCE = 3 };

/* Smooth filters, of sum sqrt(2) and norm 1: made anew by spectral factorisation with 60 digits. */
static const double filters[MOST_SHIFTS][MOST_TAPS] = {
    { 0.70710678118654752440, 0.70710678118654752440 },
    { 0.48296291314453414337, 0.83651630373780790558, 0.22414386804201338103, -0.12940952255126038117 },
    { 0.332670552950082616, 0.80689150931109257649, 0.4598775021184915701, -0.1350110200102545887,
      -0.085441273882026661693, 0.035226291885709536603 },
    { 0.23037781330889650086, 0.71484657055291564709, 0.63088076792985890788, -0.027983769416859854211,
      -0.18703481171909308408, 0.030841381835560763627, 0.032883011666885199735, -0.010597401785069032105 },
};

struct wavelet {
    int first_axis, n_axes, shifts, levels;
    double factors[2][2][2][MOST_SHIFTS];        /* [inverse][result][part][shift] */
    hcy_array *numbers[2][AXES][MOST_LEVELS];    /* [inverse]: which rows the parts are gathered from */
    hcy_array *parts;
    struct hcy__turn turn;
};

static void free_wavelet(void *user)
{
    struct wavelet *w = user;
    for (int i = 0; i < 2 * AXES * w->levels; i++)
        hcy_array_release(w->numbers[i % 2][i / 2 % AXES][i / 2 / AXES]);
    hcy_array_release(w->parts);
    hcy__turn_end(&w->turn);
    free(w);
}

/* --- Applying --- */

/* y = or += the slices' sum, each times its factor, of shifts `first` to `end` of both parts. */
static int add_shifts(hcy_queue *queue, hcy_array *y, const hcy_array *parts, int axis,
                      const double factors[2][MOST_SHIFTS], int first, int end)
{
    static const char *const names[2 * MOST_SHIFTS] = { "a", "b", "c", "d", "e", "f", "g", "h" },
                            *const by[2 * MOST_SHIFTS] = { "A", "B", "C", "D", "E", "F", "G", "H" };
    hcy_operand operands[1 + 4 * MOST_SHIFTS] = { hcy_op_array("y", y) };
    hcy_array *views[2 * MOST_SHIFTS] = { NULL };
    char text[96];
    int n = 0, status = 0, at = snprintf(text, sizeof text, "y %s ", first ? "+=" : "=");
    for (int part = 0; part < 2; part++)
        for (int m = first; !status && m < end; m++, n++) {
            status = hcy__vector_rows(&views[n], parts, axis, part * parts->shape[axis] / 2 + m, y->shape[axis]);
            operands[1 + 2 * n] = hcy_op_array(names[n], views[n]);
            operands[2 + 2 * n] = hcy_op_real(by[n], factors[part][m]);
            at += snprintf(text + at, sizeof text - (size_t)at, "%s%s*%s", n ? " + " : "", by[n], names[n]);
        }
    if (!status)
        status = hcy_eval(queue, text, operands, 1 + 2 * (size_t)n);
    for (int i = 0; i < 2 * MOST_SHIFTS; i++)
        hcy_array_release(views[i]);
    return status;
}

/* Those rows that result `which` is: a half of them, or every second one. */
static int take_result(hcy_array **view, const hcy_array *block, int axis, int which, bool inverse)
{
    const int64_t half = block->shape[axis] / 2;
    int status = hcy__vector_rows(view, block, axis, inverse ? which : which * half, half);
    if (!status && inverse)
        (*view)->strides[axis] *= 2;
    return status;
}

/* The corner of a vector that a level is of. */
static int take_block(hcy_array **block, const struct wavelet *w, const hcy_array *y, int level)
{
    int status = hcy__array_view(block, y);
    for (int d = w->first_axis; !status && d < w->first_axis + w->n_axes; d++) {
        (*block)->count = (*block)->count / y->shape[d] * (y->shape[d] >> level);
        (*block)->shape[d] = y->shape[d] >> level;
    }
    return status;
}

/* One level along one axis, from x to y, which may be one. */
static int run_axis(hcy_queue *queue, hcy_array *y, const struct wavelet *w, hcy_array *x, int level, int k,
                    bool inverse)
{
    const int axis = w->first_axis + k;
    hcy_array *from = NULL, *to = NULL, *parts = NULL;
    hcy_space space = { .dtype = y->dtype };
    int status = take_block(&from, w, x, level);
    if (!status)
        status = take_block(&to, w, y, level);
    if (!status) {
        space.rank = to->rank;
        memcpy(space.shape, to->shape, sizeof space.shape);
        space.shape[axis] += 2 * (w->shifts - 1);
        status = hcy__vector_part(&parts, w->parts, 0, &space);
    }
    if (!status)
        status = hcy_array_take(queue, parts, from, w->numbers[inverse][k][level], axis);
    for (int which = 0; !status && which < 2; which++) {
        hcy_array *result = NULL;
        status = take_result(&result, to, axis, which, inverse);
        /* A statement has room for three shifts of two parts beside the result; four are two and two. */
        const int each = w->shifts > SHIFTS_AT_ONCE ? w->shifts / 2 : w->shifts;
        for (int m = 0; !status && m < w->shifts; m += each)
            status = add_shifts(queue, result, parts, axis, w->factors[inverse][which], m, m + each);
        hcy_array_release(result);
    }
    hcy_array_release(from);
    hcy_array_release(to);
    hcy_array_release(parts);
    return status;
}

static int apply_wavelet(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    struct wavelet *w = user;
    int status = hcy__turn_take(&w->turn, queue);
    for (int i = 0; !status && i < w->levels * w->n_axes; i++)
        status = run_axis(queue, y, w, i ? y : x, i / w->n_axes, i % w->n_axes, false);
    hcy__turn_give(&w->turn);
    return status;
}

/* The adjoint, which is the inverse. */
static int invert_wavelet(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    struct wavelet *w = user;
    int status = hcy__turn_take(&w->turn, queue);
    /* Details stay where they are until their level's turn comes. */
    if (!status)
        status = hcy_array_copy(queue, x, y);
    for (int i = w->levels * w->n_axes; !status && i-- > 0;)
        status = run_axis(queue, x, w, x, i / w->n_axes, i % w->n_axes, true);
    hcy__turn_give(&w->turn);
    return status;
}

/* --- Making --- */

static int check_levels(const hcy_space *space, int n_axes, int levels)
{
    for (int d = space->rank - n_axes; d < space->rank; d++) {
        int can = 0;
        while (can < levels && space->shape[d] >> can && (space->shape[d] >> can) % 2 == 0)
            can++;
        if (can < levels)
            return hcy_fail(HCY_EINVAL,
                            "hcy_operator_wavelet: axis %d of %lld elements can be halved %d times, not %d; take "
                            "fewer levels, or vectors whose axes are multiples of a higher power of two",
                            d, (long long)space->shape[d], can, levels);
    }
    return 0;
}

static int check_wavelet(const hcy_space *space, int n_axes, int taps, int levels)
{
    int status = hcy__space_check(space, "hcy_operator_wavelet");
    if (status)
        return status;
    if (n_axes < 1 || n_axes > AXES || n_axes > space->rank)
        return hcy_fail(HCY_EINVAL, "hcy_operator_wavelet: over %d axes of %d; 1 to 3 are possible", n_axes,
                        space->rank);
    if (taps < 2 || taps > MOST_TAPS || taps % 2)
        return hcy_fail(HCY_EINVAL, "hcy_operator_wavelet: %d taps; there are 2, 4, 6 and 8", taps);
    if (levels < 1 || levels > MOST_LEVELS)
        return hcy_fail(HCY_EINVAL, "hcy_operator_wavelet: %d levels; there are 1 to %d", levels, MOST_LEVELS);
    if (!hcy__space_count(space))
        return hcy_fail(HCY_EINVAL, "hcy_operator_wavelet: of vectors without elements");
    if (space->vectors)
        return hcy_fail(HCY_EUNSUPPORTED, "hcy_operator_wavelet: vectors that are distributed");
    return check_levels(space, n_axes, levels);
}

/* Result i of the forward transform takes rows 2 i + k, k below the taps; the detail's filter is the smooth one from
 * behind, with every second sign changed.  The inverse has the matrix's transpose, whose rows go backwards. */
static void fill_factors(struct wavelet *w)
{
    const double *smooth = filters[w->shifts - 1];
    const int taps = 2 * w->shifts;
    for (int k = 0; k < taps; k++) {
        const double both[2] = { smooth[k], (k % 2 ? -1 : 1) * smooth[taps - 1 - k] };
        for (int detail = 0; detail < 2; detail++) {
            w->factors[0][detail][k % 2][k / 2] = both[detail];
            w->factors[1][k % 2][detail][w->shifts - 1 - k / 2] = both[detail];
        }
    }
}

/* Forward, the parts are even and odd rows with those from the begin behind them; backward smooth and detailed ones
 * with those from the end in front. */
static int make_numbers(hcy_array **numbers, hcy_device *dev, int64_t n, int shifts, bool inverse)
{
    const int64_t half = n / 2, rows = half + shifts - 1;
    int64_t *of = malloc((size_t)(2 * rows) * sizeof *of);
    if (!of)
        return hcy_fail(HCY_ENOMEM, "out of memory for a wavelet of %lld elements", (long long)n);
    for (int64_t i = 0; i < rows; i++)
        for (int part = 0; part < 2; part++) {
            /* A short axis is gone around several times. */
            int64_t back = (i + (shifts - 1) * (half - 1)) % half;
            of[part * rows + i] = inverse ? part * half + back : i % half * 2 + part;
        }
    int status = hcy_array_from_host(numbers, dev, HCY_INT64, 1, (int64_t[]){ 2 * rows }, of);
    free(of);
    return status;
}

static int make_memory(struct wavelet *w, hcy_device *dev, const hcy_space *space)
{
    int status = 0;
    size_t most = 0;
    for (int k = 0; !status && k < w->n_axes; k++) {
        const int64_t n = space->shape[w->first_axis + k];
        size_t all = 0;
        status = hcy_size_mul(&all, (size_t)(hcy__space_count(space) / n), (size_t)n + 2 * (size_t)w->shifts);
        most = all > most ? all : most;
        for (int i = 0; !status && i < 2 * w->levels; i++)
            status = make_numbers(&w->numbers[i % 2][k][i / 2], dev, n >> i / 2, w->shifts, i % 2);
    }
    return status ? status : hcy_array_empty(&w->parts, dev, space->dtype, 1, (int64_t[]){ (int64_t)most });
}

int hcy_operator_wavelet(hcy_operator **op, hcy_device *dev, const hcy_space *space, int n_axes, int taps,
                         int levels)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    int status = op && dev ? check_wavelet(space, n_axes, taps, levels)
                           : hcy_fail(HCY_EINVAL, "hcy_operator_wavelet: no %s", op ? "device" : "place for it");
    if (status)
        return status;
    struct wavelet *w = calloc(1, sizeof *w);
    if (!w)
        return hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    hcy__turn_init(&w->turn);
    w->first_axis = space->rank - n_axes;
    w->n_axes = n_axes;
    w->shifts = taps / 2;
    w->levels = levels;
    fill_factors(w);
    status = make_memory(w, dev, space);
    if (status) {
        free_wavelet(w);
        return status;
    }
    desc.name = "wavelet";
    desc.domain = desc.range = *space;
    desc.apply = apply_wavelet;
    desc.adjoint = invert_wavelet;
    desc.destroy = free_wavelet;
    desc.user = w;
    return hcy__operator_make(op, dev, &desc);
}
