/* sense.h - what tests of operators over coils share: random vectors, plans of the same points, two operators that must
 * do the same.  Included once a program. */
#ifndef TESTS_SENSE_H
#define TESTS_SENSE_H

#include "cts.h"

#include <halcyon/eval.h>
#include <halcyon/solve.h>
#include <math.h>

static hcy_device *dev;
static hcy_queue *queue;

enum { COILS = 5, POINTS = 90 };

/* --- Vectors --- */

static inline hcy_array *new_array(int dtype, int rank, const int64_t *shape)
{
    hcy_array *a = NULL;
    if (hcy_array_empty(&a, dev, dtype, rank, shape))
        bail_out("no array: %s", hcy_last_error()->text);
    return a;
}
static inline hcy_array *random_array(int dtype, int rank, const int64_t *shape, int seed)
{
    const bool is_complex = dtype == HCY_COMPLEX64 || dtype == HCY_COMPLEX128;
    hcy_array *a = new_array(dtype, rank, shape);
    const char *text = is_complex ? "a = complex(normal(s, index), normal(s, index, 1))"
                                  : "a = 0.5 + uniform(s, index)";
    if (HCY_EVAL(queue, text, hcy_op_array("a", a), hcy_op_integer("s", seed)))
        bail_out("no random numbers: %s", hcy_last_error()->text);
    return a;
}
static inline hcy_array *vector_of(const hcy_space *s, int seed)
{
    return random_array(s->dtype, s->rank, s->shape, seed);
}
static inline hcy_operator_info info_of(const hcy_operator *op)
{
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    if (hcy_operator_get_info(&info, op))
        bail_out("%s", hcy_last_error()->text);
    return info;
}
/* |a - b| / |b|, of as many elements in whatever shape. */
static inline double distance_of(hcy_array *a, hcy_array *b)
{
    double off = NAN;
    hcy_array *flat_a = NULL, *flat_b = NULL, *number = new_array(HCY_FLOAT64, 0, NULL);
    const int64_t all = -1;
    st_ok(hcy_array_reshape(&flat_a, a, 1, &all), "a flat view");
    st_ok(hcy_array_reshape(&flat_b, b, 1, &all), "another");
    st_ok(HCY_EVAL(queue, "n = norm(complex128(a) - b) / norm(complex128(b))", hcy_op_array("n", number),
                   hcy_op_array("a", flat_a), hcy_op_array("b", flat_b)),
          "a distance");
    st_ok(hcy_array_to_host(&off, queue, number), "that is read");
    hcy_array_release(flat_a);
    hcy_array_release(flat_b);
    hcy_array_release(number);
    return off;
}

/* Two operators between vectors of as many elements do the same, and the first one's adjoint is one. */
static inline void check_same(hcy_operator *op, hcy_operator *other, double bound, const char *what)
{
    const hcy_operator_info is = info_of(op), of = info_of(other);
    for (int adjoint = 0; adjoint < 2; adjoint++) {
        int (*const run)(hcy_queue *, hcy_array *, hcy_operator *, hcy_array *) =
            adjoint ? hcy_operator_apply_adjoint : hcy_operator_apply;
        hcy_array *x = vector_of(adjoint ? &is.range : &is.domain, 3),
                  *z = vector_of(adjoint ? &of.range : &of.domain, 3),
                  *y = vector_of(adjoint ? &is.domain : &is.range, 4),
                  *w = vector_of(adjoint ? &of.domain : &of.range, 5);
        st_ok(run(queue, y, op, x), "%s%s is applied", what, adjoint ? ", adjoint," : "");
        st_ok(run(queue, w, other, z), "and what it stands for");
        double off = distance_of(y, w);
        if (!ok(off <= bound, "%s%s is right", what, adjoint ? ", adjoint," : ""))
            diag("off by %g", off);
        hcy_array *const all[] = { x, y, z, w };
        for (size_t i = 0; i < 4; i++)
            hcy_array_release(all[i]);
    }
    double mismatch = -1;
    st_ok(hcy_operator_dot_test(&mismatch, queue, op, 5, 3), "%s: the dot test", what);
    if (!ok(mismatch >= 0 && mismatch <= fmin(bound * 10, bound < 1e-8 ? 1e-12 : 1), "%s: finds an adjoint", what))
        diag("mismatch %g", mismatch);
}

/* --- Plans --- */

static double places[3][POINTS];
static float places32[3][POINTS];

static inline void draw_places(void)
{
    uint64_t seed = 11;
    for (int d = 0; d < 3; d++)
        for (int j = 0; j < POINTS; j++) {
            places[d][j] = (double)(int64_t)cts_random(&seed) / 0x1p63 * 3.1;
            places32[d][j] = (float)places[d][j];
        }
}

static inline hcy_nufft_desc desc_of(int type, int precision, int dim, const int64_t *modes)
{
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    desc.type = type;
    desc.precision = precision;
    desc.dim = dim;
    for (int d = 0; d < dim; d++)
        desc.modes[d] = modes[d];
    desc.sign = -1;
    desc.eps = precision == HCY_F64 ? 1e-12 : 1e-5;
    return desc;
}

static inline hcy_nufft *plan_of(int type, int precision, int dim, const int64_t *modes, int64_t batch, double eps)
{
    hcy_nufft_desc desc = desc_of(type, precision, dim, modes);
    hcy_nufft *plan = NULL;
    const void *const in_double[] = { places[0], places[1], places[2] },
                      *const in_single[] = { places32[0], places32[1], places32[2] };
    desc.n_transforms = batch;
    desc.eps = eps;
    if (hcy_nufft_create(&plan, dev, &desc, NULL) ||
        hcy_nufft_set_points(plan, POINTS, precision == HCY_F64 ? in_double : in_single, 0, NULL))
        bail_out("no plan: %s", hcy_last_error()->text);
    return plan;
}

/* Whether the device has Fourier transforms; one that has none skips a check, and says why. */
static inline bool has_transforms(void)
{
    hcy_operator *probe = NULL;
    const hcy_space four = { HCY_COMPLEX128, 1, { 4 }, NULL };
    const bool has = hcy_operator_fft(&probe, dev, &four, 1) != HCY_EUNSUPPORTED;
    if (!has)
        skip(1, "%s", hcy_last_error()->text);
    hcy_operator_release(probe);
    return has;
}

#endif
