/* sense.c - operators of magnetic resonance against what they stand for, made of plain ones, and their adjoints.
 *
 *     tests/sense [DEVICE [few]]        few: less of each, where each text means a compilation
 */
#include "sense.h"

#include <complex.h>

static bool few;

/* --- SENSE against a stack of weights NUFFT map --- */

/* A coil's operator; `one` is of a plan with one transform. */
static hcy_operator *coil_operator(hcy_operator *one, bool is_type2, hcy_array *maps, hcy_array *weights, int coil)
{
    hcy_operator *forward = NULL, *map = NULL, *weigh = NULL, *chain = NULL;
    hcy_array *of_coil = NULL;
    st_ok(is_type2 ? hcy_operator_scale(&forward, one, 1, 0) : hcy_operator_adjoint(&forward, one), "a transform");
    const hcy_operator_info info = info_of(forward);
    st_ok(hcy_array_slice(&of_coil, maps, "%d", coil), "a map");
    st_ok(hcy_operator_diagonal(&map, &info.domain, of_coil), "as an operator");
    hcy_array_release(of_coil);
    of_coil = NULL;
    if (weights) {
        st_ok(hcy_array_slice(&of_coil, weights, "%d", coil), "its weights");
        st_ok(hcy_operator_diagonal(&weigh, &info.range, of_coil), "as an operator");
        hcy_array_release(of_coil);
    } else {
        st_ok(hcy_operator_identity(&weigh, dev, &info.range), "no weights");
    }
    st_ok(hcy_operator_compose(&chain, (hcy_operator *[]){ weigh, forward, map }, 3), "a coil");
    hcy_operator *const parts[] = { forward, map, weigh };
    for (size_t i = 0; i < 3; i++)
        hcy_operator_release(parts[i]);
    return chain;
}

static void check_sense(int type, int precision, int dim, const int64_t *modes, int64_t batch, bool weighted)
{
    const bool is_double = precision == HCY_F64;
    const int dtype = is_double ? HCY_COMPLEX128 : HCY_COMPLEX64;
    const int64_t shape[4] = { COILS, modes[0], modes[1], modes[2] }, samples[2] = { COILS, POINTS };
    hcy_nufft *plan = plan_of(type, precision, dim, modes, batch, is_double ? 1e-12 : 1e-5),
              *single = plan_of(type, precision, dim, modes, 1, is_double ? 1e-12 : 1e-5);
    hcy_array *maps = random_array(dtype, dim + 1, shape, 21),
              *weights = weighted ? random_array(dtype, 2, samples, 22) : NULL;
    hcy_operator *op = NULL, *one = NULL, *each[COILS], *stack = NULL;
    char what[80];
    snprintf(what, sizeof what, "SENSE %d-D type %d in %s, %d at once%s", dim, type, is_double ? "double" : "float",
             (int)batch, weighted ? ", weighted" : "");
    st_ok(hcy_operator_sense(&op, plan, maps, weights), "%s", what);
    st_ok(hcy_operator_nufft(&one, single), "a transform of one coil");
    for (int c = 0; c < COILS; c++)
        each[c] = coil_operator(one, type == 2, maps, weights, c);
    st_ok(hcy_operator_vstack(&stack, each, COILS), "a stack of coils");
    is_int(info_of(op).range.shape[0], COILS, "its range has an axis of coils");
    /* What it keeps may be released by others. */
    hcy_array_release(maps);
    hcy_array_release(weights);
    check_same(op, stack, is_double ? 1e-11 : 1e-4, what);
    for (int c = 0; c < COILS; c++)
        hcy_operator_release(each[c]);
    hcy_operator_release(stack);
    hcy_operator_release(one);
    hcy_operator_release(op);
    (void)!hcy_queue_finish(queue);
    hcy_nufft_destroy(plan);
    hcy_nufft_destroy(single);
}

static void test_sense(void)
{
    const int64_t modes[3] = { 6, 9, 5 }, line[3] = { 9, 1, 1 };
    check_sense(2, HCY_F64, 2, modes, 2, true);
    if (few)
        return;
    check_sense(1, HCY_F64, 3, modes, 4, false);
    check_sense(2, HCY_F64, 1, line, COILS + 3, false);
    check_sense(2, HCY_F32, 3, modes, 1, true);
}

/* --- Stacks against the same points in all dimensions --- */

/* Points of all planes, for an image whose axis `axis` is the stack's. */
static void stack_places(double *at[3], int dim, int axis, int64_t slices, const int64_t *planes, int64_t n_planes)
{
    for (int d = 0, in_plane = 0; d < dim; in_plane += d++ != axis)
        for (int64_t i = 0; i < n_planes * POINTS; i++) {
            const int64_t plane = planes ? planes[i / POINTS] : i / POINTS - slices / 2;
            at[d][i] = d == axis ? 6.28318530717958647693 * (double)plane / (double)slices
                                 : places[in_plane][i % POINTS];
        }
}

/* Coils at all points by the operator of any points, which has tests of its own. */
static hcy_operator *unstacked(hcy_nufft **plan, int type, int sign, int dim, const int64_t *modes, int64_t n,
                               double *const at[3], hcy_array *maps)
{
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_operator *op = NULL, *one = NULL;
    desc.type = type;
    desc.dim = dim;
    for (int d = 0; d < dim; d++)
        desc.modes[d] = modes[d];
    desc.sign = sign;
    desc.eps = 1e-13;
    if (hcy_nufft_create(plan, dev, &desc, NULL) ||
        hcy_nufft_set_points(*plan, n, (const void *[]){ at[0], at[1], at[2] }, 0, NULL))
        bail_out("no plan: %s", hcy_last_error()->text);
    if (maps) {
        st_ok(hcy_operator_sense(&op, *plan, maps, NULL), "all points");
        return op;
    }
    st_ok(hcy_operator_nufft(&one, *plan), "all points");
    st_ok(type == 2 ? hcy_operator_scale(&op, one, 1, 0) : hcy_operator_adjoint(&op, one), "in the same direction");
    hcy_operator_release(one);
    return op;
}

static void check_stack(int type, int sign, int dim, int axis, const int64_t *modes, const int64_t *planes,
                        int64_t n_planes, int64_t at_once, bool with_maps)
{
    enum { MOST_PLANES = 6 };
    static double room[3][MOST_PLANES * POINTS];
    double *const at[3] = { room[0], room[1], room[2] };
    const int64_t shape[4] = { COILS + 1, modes[0], modes[1], modes[2] };
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_nufft *plan = NULL, *all = NULL;
    hcy_array *maps = with_maps ? random_array(HCY_COMPLEX128, dim + 1, shape, 31) : NULL;
    hcy_operator *op = NULL, *other;
    char what[80];
    snprintf(what, sizeof what, "%d planes along axis %d of %d-D, type %d, %d at once%s", (int)n_planes, axis, dim, type,
             (int)at_once, with_maps ? ", coils" : "");
    desc.type = type;
    desc.dim = dim - 1;
    for (int d = 0; d < dim - 1; d++)
        desc.modes[d] = modes[d < axis ? d : d + 1];
    desc.sign = sign;
    desc.eps = 1e-13;
    desc.n_transforms = at_once;
    if (hcy_nufft_create(&plan, dev, &desc, NULL) ||
        hcy_nufft_set_points(plan, POINTS, (const void *[]){ places[0], places[1] }, 0, NULL))
        bail_out("no plan: %s", hcy_last_error()->text);
    st_ok(hcy_operator_stacked_nufft(&op, plan, axis, modes[axis], planes, n_planes, maps), "%s", what);
    stack_places((double *[]){ at[0], at[1], at[2] }, dim, axis, modes[axis], planes, n_planes);
    other = unstacked(&all, type, sign, dim, modes, n_planes * POINTS, at, maps);
    hcy_array_release(maps);
    check_same(op, other, 1e-11, what);
    hcy_operator_release(op);
    hcy_operator_release(other);
    (void)!hcy_queue_finish(queue);
    hcy_nufft_destroy(plan);
    hcy_nufft_destroy(all);
}

static void test_stacks(void)
{
    static const int64_t even[3] = { 6, 9, 4 }, odd[3] = { 8, 5, 6 }, some[4] = { 1, -2, 2, 5 };
    check_stack(2, -1, 3, 0, even, NULL, 6, 6, true);
    if (few)
        return;
    check_stack(2, 1, 3, 1, odd, NULL, 5, 11, true);
    check_stack(2, -1, 3, 2, odd, some, 4, 3, true);
    check_stack(1, -1, 3, 1, odd, some, 3, 20, true);
    check_stack(1, 1, 3, 0, even, some, 4, 1, false);
    check_stack(2, -1, 2, 1, odd, NULL, 5, 64, false);
}

/* --- Subspaces against sums over functions and loops over samples --- */

static void check_subspace(int dtype, int64_t functions, int64_t frames)
{
    enum { MOST = 4, COLUMNS = 7 };
    const int64_t matrix_shape[2] = { 12, COLUMNS }, two_coils[2] = { 2, 6 }, shape[2] = { functions, frames },
                  samples = 6 / frames;
    const hcy_space image = { HCY_COMPLEX128, 1, { COLUMNS }, NULL }, range = { HCY_COMPLEX128, 2, { 2, 6 }, NULL };
    hcy_array *matrix = random_array(HCY_COMPLEX128, 2, matrix_shape, 41), *basis = random_array(dtype, 2, shape, 42);
    hcy_operator *flat = NULL, *a = NULL, *op = NULL, *each[MOST] = { NULL }, *sum = NULL;
    double complex numbers[MOST * 6], weights[12];
    double reals[MOST * 6];
    char what[80];
    snprintf(what, sizeof what, "%d functions of %d frames, %s", (int)functions, (int)frames, hcy_dtype_name(dtype));
    st_ok(hcy_operator_matrix(&flat, matrix), "a matrix");
    st_ok(hcy_operator_reshape(&a, flat, &image, &range), "as of coils");
    st_ok(hcy_operator_subspace(&op, a, basis), "%s", what);
    st_ok(hcy_array_to_host(dtype == HCY_FLOAT64 ? (void *)reals : numbers, queue, basis), "its numbers");
    for (int64_t k = 0; k < functions; k++) {
        hcy_operator *weigh = NULL;
        hcy_array *w = NULL;
        for (int64_t i = 0; i < 12; i++) {
            const int64_t at = k * frames + i % 6 / samples;
            weights[i] = dtype == HCY_FLOAT64 ? reals[at] : numbers[at];
        }
        st_ok(hcy_array_from_host(&w, dev, HCY_COMPLEX128, 2, two_coils, weights), "function %d", (int)k);
        st_ok(hcy_operator_diagonal(&weigh, &range, w), "of each sample");
        st_ok(hcy_operator_compose(&each[k], (hcy_operator *[]){ weigh, a }, 2), "and its image");
        hcy_operator_release(weigh);
        hcy_array_release(w);
    }
    st_ok(hcy_operator_hstack(&sum, each, (size_t)functions), "their sum");
    hcy_array_release(matrix);
    hcy_array_release(basis);
    check_same(op, sum, 1e-13, what);
    is_int(info_of(op).domain.shape[0], functions, "its domain has an axis of functions");
    hcy_operator *const all[] = { flat, a, op, sum };
    for (size_t i = 0; i < 4; i++)
        hcy_operator_release(all[i]);
    for (int k = 0; k < MOST; k++)
        hcy_operator_release(each[k]);
}

static int do_nothing(hcy_queue *on, hcy_array *y, void *user, hcy_array *x)
{
    (void)on, (void)y, (void)user, (void)x;
    return 0;
}

static void test_subspaces(void)
{
    const int64_t matrix_shape[2] = { 6, 3 }, shape[2] = { 2, 4 }, whole[2] = { 2, 3 };
    hcy_array *matrix = random_array(HCY_FLOAT64, 2, matrix_shape, 41), *basis = random_array(HCY_FLOAT64, 2, shape, 1),
              *numbers = random_array(HCY_COMPLEX128, 2, whole, 2);
    hcy_operator *a = NULL, *op = NULL, *single = NULL;
    check_subspace(HCY_FLOAT64, 2, 3);
    if (!few)
        check_subspace(HCY_COMPLEX128, 4, 6);
    if (!few)
        check_subspace(HCY_COMPLEX128, 1, 1);
    st_ok(hcy_operator_matrix(&a, matrix), "an operator");
    st_says(hcy_operator_subspace(&op, NULL, basis), HCY_EINVAL, "no operator", "a basis of nothing");
    st_says(hcy_operator_subspace(&op, a, basis), HCY_EINVAL, "[2][4]", "frames that do not divide the samples");
    st_says(hcy_operator_subspace(&op, a, numbers), HCY_EINVAL, "complex128", "complex functions of real samples");
    const hcy_operator_desc total = { .size = sizeof total, .name = "total", .domain = { HCY_FLOAT64, 1, { 3 }, NULL },
                                      .range = { HCY_FLOAT64, 0, { 0 }, NULL }, .apply = do_nothing,
                                      .adjoint = do_nothing };
    st_ok(hcy_operator_create(&single, dev, &total), "an operator to one number");
    st_says(hcy_operator_subspace(&op, single, basis), HCY_EINVAL, "the last axis", "which has no axis of samples");
    ok(!op, "nothing was made");
    hcy_operator_release(a);
    hcy_operator_release(single);
    hcy_array_release(matrix);
    hcy_array_release(basis);
    hcy_array_release(numbers);
}

static void test_stack_refusals(void)
{
    const int64_t modes[3] = { 6, 9, 5 }, twice[2] = { -1, 3 }, shape[3] = { COILS, 6, 9 };
    hcy_nufft *plan = plan_of(2, HCY_F64, 2, modes, 2, 1e-6), *cube = plan_of(2, HCY_F64, 3, modes, 1, 1e-6);
    hcy_array *maps = random_array(HCY_COMPLEX128, 3, shape, 1);
    hcy_operator *op = NULL;
    st_says(hcy_operator_stacked_nufft(&op, plan, 3, 4, NULL, 4, NULL), HCY_EINVAL, "axis 3", "an axis that is none");
    st_says(hcy_operator_stacked_nufft(&op, cube, 0, 4, NULL, 4, NULL), HCY_EINVAL, "2 or 3", "four axes");
    st_says(hcy_operator_stacked_nufft(&op, plan, 0, 4, NULL, 3, NULL), HCY_EINVAL, "3 planes of 4", "planes unnamed");
    st_says(hcy_operator_stacked_nufft(&op, plan, 0, 0, NULL, 0, NULL), HCY_EINVAL, "0 planes", "no slices");
    st_says(hcy_operator_stacked_nufft(&op, plan, 0, 4, twice, 2, NULL), HCY_EINVAL, "plane 1", "a plane twice");
    st_says(hcy_operator_stacked_nufft(&op, plan, 0, 4, NULL, 4, maps), HCY_EINVAL, "maps", "maps of two axes");
    ok(!op, "nothing was made");
    hcy_array_release(maps);
    (void)!hcy_queue_finish(queue);
    hcy_nufft_destroy(plan);
    hcy_nufft_destroy(cube);
}

static void test_sense_refusals(void)
{
    const int64_t modes[2] = { 6, 9 }, shape[3] = { COILS, 6, 9 }, other[3] = { COILS, 9, 6 }, three = 3;
    hcy_nufft *plan = plan_of(2, HCY_F64, 2, modes, 2, 1e-6), *empty = NULL;
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_array *maps = random_array(HCY_COMPLEX128, 3, shape, 1), *turned = random_array(HCY_COMPLEX128, 3, other, 1),
              *floats = random_array(HCY_COMPLEX64, 3, shape, 1), *weights = random_array(HCY_FLOAT64, 1, &three, 1),
              *gaps = NULL;
    hcy_operator *op = NULL;
    st_says(hcy_operator_sense(&op, NULL, maps, NULL), HCY_EINVAL, "no plan", "coils without a plan");
    st_ok(hcy_nufft_create(&empty, dev, &desc, NULL), "a plan");
    st_says(hcy_operator_sense(&op, empty, maps, NULL), HCY_ESTATE, "points", "without points");
    hcy_nufft_destroy(empty);
    desc.type = 3;
    st_ok(hcy_nufft_create(&empty, dev, &desc, NULL), "a plan of type 3");
    st_ok(hcy_nufft_set_points(empty, 2, (const void *[]){ places[0] }, 2, (const void *[]){ places[1] }), "its points");
    st_says(hcy_operator_sense(&op, empty, maps, NULL), HCY_EUNSUPPORTED, "type 1 or 2", "is none for coils");
    st_says(hcy_operator_sense(&op, plan, NULL, NULL), HCY_EINVAL, "hcy_operator_sense", "no maps");
    st_says(hcy_operator_sense(&op, plan, turned, NULL), HCY_EINVAL, "complex128 (5, 9, 6)", "maps of another shape");
    st_says(hcy_operator_sense(&op, plan, floats, NULL), HCY_EINVAL, "hcy_eval() converts", "maps of another type");
    st_ok(hcy_array_slice(&gaps, maps, "::-1"), "maps with gaps");
    st_says(hcy_operator_sense(&op, plan, gaps, NULL), HCY_EINVAL, "gaps", "are refused");
    st_says(hcy_operator_sense(&op, plan, maps, weights), HCY_EINVAL, "not broadcast", "weights of another shape");
    ok(!op, "nothing was made");
    /* The operator's vectors are of the points that the plan had. */
    st_ok(hcy_operator_sense(&op, plan, maps, NULL), "an operator");
    const hcy_operator_info info = info_of(op);
    hcy_array *x = vector_of(&info.domain, 1), *y = vector_of(&info.range, 2);
    st_ok(hcy_nufft_set_points(plan, 7, (const void *[]){ places[0], places[1] }, 0, NULL), "new points");
    st_says(hcy_operator_apply(queue, y, op, x), HCY_EINVAL, "7 points", "are found out");
    hcy_operator_release(op);
    (void)!hcy_queue_finish(queue);
    hcy_nufft_destroy(plan);
    hcy_nufft_destroy(empty);
    hcy_array *const all[] = { maps, turned, floats, weights, gaps, x, y };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        hcy_array_release(all[i]);
}

/* --- Toeplitz against A^H W A --- */

/* Around a, or put in its place: images of four functions of six frames. */
static hcy_array *add_functions(hcy_operator **a, int dtype)
{
    const int64_t shape[2] = { 4, 6 };
    hcy_array *basis = random_array(dtype, 2, shape, 34);
    hcy_operator *inner = *a;
    st_ok(hcy_operator_subspace(a, inner, basis), "functions of time");
    hcy_operator_release(inner);
    return basis;
}

/* basis: the type of functions of time, 0: there are none. */
static void check_toeplitz(int type, int precision, int dim, const int64_t *modes, bool coils, bool weighted, int basis)
{
    const bool is_double = precision == HCY_F64;
    const int dtype = is_double ? HCY_COMPLEX128 : HCY_COMPLEX64;
    const int64_t points = POINTS;
    const void *const in_double[] = { places[0], places[1], places[2] },
                      *const in_single[] = { places32[0], places32[1], places32[2] };
    int64_t shape[4] = { coils ? COILS : 1 };
    memcpy(shape + 1, modes, sizeof *modes * (size_t)dim);
    const hcy_nufft_desc desc = desc_of(type, precision, dim, modes);
    hcy_nufft *plan = plan_of(type, precision, dim, modes, 2, desc.eps);
    hcy_array *maps = random_array(dtype, dim + 1, shape, 31), *roots = NULL,
              *weights = weighted ? random_array(is_double ? HCY_FLOAT64 : HCY_FLOAT32, 1, &points, 32) : NULL,
              *functions = NULL;
    hcy_operator *op = NULL, *a = NULL, *back = NULL, *gram = NULL;
    char what[120];
    snprintf(what, sizeof what, "Toeplitz %d-D type %d in %s%s%s%s%s", dim, type, is_double ? "double" : "float",
             coils ? ", coils" : "", weighted ? ", weighted" : "", basis ? ", functions " : "",
             basis ? hcy_dtype_name(basis) : "");
    /* Without maps it is that of one coil, which receives everything. */
    if (!coils)
        st_ok(HCY_EVAL(queue, "m = 1", hcy_op_array("m", maps)), "a map of 1");
    if (weighted) {
        roots = random_array(is_double ? HCY_FLOAT64 : HCY_FLOAT32, 1, &points, 0);
        st_ok(HCY_EVAL(queue, "r = sqrt(w)", hcy_op_array("r", roots), hcy_op_array("w", weights)), "roots of weights");
    }
    /* The operator is made by a queue of its own. */
    st_ok(hcy_queue_finish(queue), "weights that are there");
    const void *const *const at = is_double ? in_double : in_single;
    st_ok(hcy_operator_sense(&a, plan, maps, roots), "A");
    functions = basis ? add_functions(&a, basis) : NULL;
    st_ok(hcy_queue_finish(queue), "functions that are there");
    st_ok(basis ? hcy_operator_toeplitz_subspace(&op, dev, &desc, POINTS, at, coils ? maps : NULL, weights, functions)
                : hcy_operator_toeplitz(&op, dev, &desc, POINTS, at, coils ? maps : NULL, weights), "%s", what);
    st_ok(hcy_operator_adjoint(&back, a), "its adjoint");
    st_ok(hcy_operator_compose(&gram, (hcy_operator *[]){ back, a }, 2), "and both");
    check_same(op, gram, is_double ? 1e-10 : 1e-4, what);
    hcy_operator *const ops[] = { op, a, back, gram };
    for (size_t i = 0; i < 4; i++)
        hcy_operator_release(ops[i]);
    hcy_array *const arrays[] = { maps, roots, weights, functions };
    for (size_t i = 0; i < 4; i++)
        hcy_array_release(arrays[i]);
    (void)!hcy_queue_finish(queue);
    hcy_nufft_destroy(plan);
}

static void test_toeplitz(void)
{
    const int64_t mixed[3] = { 6, 9, 5 }, odd[3] = { 7, 11, 3 }, even[3] = { 8, 2, 16 }, one[3] = { 1, 20, 1 },
                  long_ones[3] = { 128, 256, 1 };
    check_toeplitz(2, HCY_F64, 2, mixed, true, true, 0);
    check_toeplitz(2, HCY_F64, 2, mixed, true, true, HCY_COMPLEX128);
    /* On GPUs floats of such lengths go sixteen at once, along both axes. */
    check_toeplitz(2, HCY_F32, 2, long_ones, true, false, 0);
    if (few)
        return;
    check_toeplitz(2, HCY_F64, 3, mixed, true, false, 0);
    check_toeplitz(1, HCY_F64, 1, odd, false, true, 0);
    check_toeplitz(2, HCY_F64, 2, odd, false, false, 0);
    check_toeplitz(1, HCY_F64, 3, odd, true, true, 0);
    check_toeplitz(2, HCY_F64, 1, even + 2, true, false, 0);
    check_toeplitz(1, HCY_F64, 2, even, true, false, 0);
    check_toeplitz(2, HCY_F64, 3, even, false, true, 0);
    check_toeplitz(2, HCY_F64, 3, one, true, true, 0);
    check_toeplitz(2, HCY_F32, 3, mixed, true, true, 0);
    check_toeplitz(2, HCY_F64, 2, even, true, true, HCY_FLOAT64);
    check_toeplitz(1, HCY_F64, 3, odd, false, false, HCY_COMPLEX128);
    check_toeplitz(2, HCY_F64, 1, odd, false, true, HCY_FLOAT64);
    check_toeplitz(2, HCY_F64, 1, odd, false, true, HCY_FLOAT32);
    check_toeplitz(2, HCY_F32, 3, mixed, true, true, HCY_FLOAT32);
}

/* CG on normal equations finds the image that was sampled, and CG with the Toeplitz operator the same one. */
static void test_normal_equations(void)
{
    const int64_t modes[2] = { 6, 6 }, shape[3] = { COILS, 6, 6 };
    const hcy_nufft_desc desc = desc_of(2, HCY_F64, 2, modes);
    const void *const points[] = { places[0], places[1] };
    hcy_nufft *plan = plan_of(2, HCY_F64, 2, modes, 2, desc.eps);
    hcy_array *maps = random_array(HCY_COMPLEX128, 3, shape, 41), *x = random_array(HCY_COMPLEX128, 2, modes, 42),
              *b = new_array(HCY_COMPLEX128, 2, modes), *y = NULL, *found = NULL;
    hcy_operator *a = NULL, *gram = NULL;
    hcy_solver *solver = NULL;
    hcy_solver_options how = HCY_SOLVER_OPTIONS_INIT;
    st_ok(hcy_operator_sense(&a, plan, maps, NULL), "an operator of coils");
    st_ok(hcy_operator_toeplitz(&gram, dev, &desc, POINTS, points, maps, NULL), "its Gram operator");
    const hcy_operator_info info = info_of(a);
    y = new_array(HCY_COMPLEX128, info.range.rank, info.range.shape);
    st_ok(hcy_operator_apply(queue, y, a, x), "samples");
    st_ok(hcy_operator_apply_adjoint(queue, b, a, y), "the normal equations' right side");
    how.method = HCY_SOLVER_CG;
    st_ok(hcy_solver_create(&solver, queue, gram, &how), "CG");
    st_ok(hcy_solver_start(solver, b, NULL), "is started");
    st_ok(hcy_solver_run(solver, 60), "runs");
    st_ok(hcy_solver_get_x(&found, solver), "and has a result");
    double off = distance_of(found, x);
    if (!ok(off < 1e-8, "CG with the Toeplitz operator finds the image"))
        diag("off by %g", off);
    hcy_array_release(found);
    hcy_solver_destroy(solver);
    hcy_operator_release(a);
    hcy_operator_release(gram);
    hcy_array *const arrays[] = { maps, x, b, y };
    for (size_t i = 0; i < 4; i++)
        hcy_array_release(arrays[i]);
    (void)!hcy_queue_finish(queue);
    hcy_nufft_destroy(plan);
}

/* --- Real images against a dense matrix --- */

enum { EDGE = 6, PIXELS = EDGE * EDGE, SAMPLES = COILS * POINTS };

/* Rows of SENSE at places[], by exponentials. */
static void fill_matrix(double complex (*matrix)[PIXELS], const double complex *maps)
{
    for (int r = 0; r < SAMPLES; r++)
        for (int p = 0; p < PIXELS; p++)
            matrix[r][p] = maps[r / POINTS * PIXELS + p] *
                           cexp(-I * (places[0][r % POINTS] * (p / EDGE - EDGE / 2) +
                                      places[1][r % POINTS] * (p % EDGE - EDGE / 2)));
}

/* The real x of the least |matrix x - b|^2 + l2 |x|^2: Re(A^H A) x + l2 x = Re(A^H b), by elimination. */
static void solve_real(double *x, double complex (*matrix)[PIXELS], const double complex *b, double l2)
{
    static double e[PIXELS][PIXELS + 1];
    memset(e, 0, sizeof e);
    for (int r = 0; r < SAMPLES; r++)
        for (int p = 0; p < PIXELS; p++) {
            for (int q = 0; q < PIXELS; q++)
                e[p][q] += creal(conj(matrix[r][p]) * matrix[r][q]);
            e[p][PIXELS] += creal(conj(matrix[r][p]) * b[r]);
        }
    for (int p = 0; p < PIXELS; p++)
        e[p][p] += l2;
    for (int p = 0; p < PIXELS; p++)
        for (int q = 0; q < PIXELS; q++)
            for (int k = PIXELS; q != p && k >= p; k--)
                e[q][k] -= e[p][k] * e[q][p] / e[p][p];
    for (int p = 0; p < PIXELS; p++)
        x[p] = e[p][PIXELS] / e[p][p];
}

static void solve_with(hcy_array **x, int method, hcy_operator *op, hcy_array *b, double l2)
{
    hcy_solver *solver = NULL;
    hcy_solver_options how = HCY_SOLVER_OPTIONS_INIT;
    how.method = method;
    how.l2 = l2;
    how.max_iterations = 200;
    st_ok(hcy_solver_create(&solver, queue, op, &how), "a solver, method %d", method);
    st_ok(hcy_solver_start(solver, b, NULL), "is started");
    st_ok(hcy_solver_run(solver, 60), "runs");
    st_ok(hcy_solver_get_x(x, solver), "and has a result");
    hcy_solver_destroy(solver);
}

/* Of data that no real image has, the real image that fits best, by operators and as a dense matrix has it. */
static void test_real_images(void)
{
    static double complex matrix[SAMPLES][PIXELS], host_maps[COILS * PIXELS], host_data[SAMPLES];
    static double want[PIXELS];
    const int64_t modes[2] = { EDGE, EDGE }, shape[3] = { COILS, EDGE, EDGE }, rows[2] = { COILS, POINTS };
    const hcy_space image = { HCY_FLOAT64, 2, { EDGE, EDGE }, NULL };
    hcy_nufft *plan = plan_of(2, HCY_F64, 2, modes, 2, 1e-13);
    hcy_array *maps = random_array(HCY_COMPLEX128, 3, shape, 41), *b = random_array(HCY_COMPLEX128, 2, rows, 42),
              *exact = NULL, *gridded = new_array(HCY_FLOAT64, 2, modes), *x = NULL;
    hcy_operator *sense = NULL, *real = NULL, *a = NULL, *ah = NULL, *gram = NULL;
    st_ok(hcy_array_to_host(host_maps, queue, maps), "maps");
    st_ok(hcy_array_to_host(host_data, queue, b), "and data on the host");
    fill_matrix(matrix, host_maps);
    solve_real(want, matrix, host_data, 0.7);
    st_ok(hcy_array_from_host(&exact, dev, HCY_FLOAT64, 2, modes, want), "the image by a dense matrix");
    st_ok(hcy_operator_sense(&sense, plan, maps, NULL), "an operator of coils");
    st_ok(hcy_operator_complex(&real, dev, &image), "of real images");
    st_ok(hcy_operator_compose(&a, (hcy_operator *[]){ sense, real }, 2), "both");
    double mismatch = -1;
    st_ok(hcy_operator_dot_test(&mismatch, queue, a, 5, 3), "the dot test");
    ok(mismatch >= 0 && mismatch <= 1e-12, "finds an adjoint: %.1e", mismatch);
    for (int method = HCY_SOLVER_CG_NORMAL; method <= HCY_SOLVER_LSMR; method++) {
        solve_with(&x, method, a, b, 0.7);
        ok(distance_of(x, exact) < 1e-10, "method %d finds it: %.1e", method, distance_of(x, exact));
        hcy_array_release(x);
    }
    st_ok(hcy_operator_adjoint(&ah, a), "the adjoint");
    st_ok(hcy_operator_compose(&gram, (hcy_operator *[]){ ah, a }, 2), "Re(A^H A)");
    st_ok(hcy_operator_apply_adjoint(queue, gridded, a, b), "Re(A^H b)");
    solve_with(&x, HCY_SOLVER_CG, gram, gridded, 0.7);
    ok(distance_of(x, exact) < 1e-10, "CG finds it: %.1e", distance_of(x, exact));
    hcy_operator *const ops[] = { sense, real, a, ah, gram };
    for (size_t i = 0; i < 5; i++)
        hcy_operator_release(ops[i]);
    hcy_array *const arrays[] = { maps, b, exact, gridded, x };
    for (size_t i = 0; i < 5; i++)
        hcy_array_release(arrays[i]);
    (void)!hcy_queue_finish(queue);
    hcy_nufft_destroy(plan);
}

static void test_toeplitz_refusals(void)
{
    const int64_t modes[2] = { 6, 9 }, three = 3, points = POINTS;
    hcy_nufft_desc desc = desc_of(2, HCY_F64, 2, modes), type3 = desc, none = desc, many = desc;
    const void *const at[] = { places[0], places[1] };
    const int64_t seven[2] = { 2, 7 };
    hcy_array *weights = random_array(HCY_FLOAT64, 1, &three, 1), *phases = random_array(HCY_COMPLEX128, 1, &points, 1),
              *uneven = random_array(HCY_FLOAT64, 2, seven, 1);
    hcy_operator *op = NULL;
    type3.type = 3;
    none.modes[1] = 0;
    for (int dim = 4; dim < 5000; dim *= 5) {
        many.dim = dim;
        st_says(hcy_operator_toeplitz_subspace(&op, dev, &many, POINTS, at, NULL, NULL, uneven), HCY_EINVAL, "axes",
                "%d axes", dim);
    }
    st_says(hcy_operator_toeplitz(&op, NULL, &desc, POINTS, at, NULL, NULL), HCY_EINVAL, "no device", "no device");
    st_says(hcy_operator_toeplitz(&op, dev, NULL, POINTS, at, NULL, NULL), HCY_EINVAL, "hcy_nufft_desc", "no desc");
    st_says(hcy_operator_toeplitz(&op, dev, &type3, POINTS, at, NULL, NULL), HCY_EUNSUPPORTED, "types 1 and 2", "type 3");
    st_says(hcy_operator_toeplitz(&op, dev, &none, POINTS, at, NULL, NULL), HCY_EINVAL, "0 modes", "an axis of nothing");
    st_says(hcy_operator_toeplitz(&op, dev, &desc, POINTS, NULL, NULL, NULL), HCY_EINVAL, "coordinates", "no points");
    st_says(hcy_operator_toeplitz(&op, dev, &desc, POINTS, at, weights, NULL), HCY_EINVAL, "float64 (3,)", "no maps");
    st_says(hcy_operator_toeplitz_subspace(&op, dev, &desc, POINTS, at, NULL, NULL, phases), HCY_EINVAL,
            "[functions][frames]", "functions of no frames");
    st_says(hcy_operator_toeplitz_subspace(&op, dev, &desc, POINTS, at, NULL, NULL, uneven), HCY_EINVAL, "90 points",
            "frames that do not divide the points");
    st_says(hcy_operator_toeplitz(&op, dev, &desc, POINTS, at, NULL, weights), HCY_EINVAL, "one a point", "few weights");
    st_says(hcy_operator_toeplitz(&op, dev, &desc, POINTS, at, NULL, phases), HCY_EINVAL, "complex128",
            "weights that are complex");
    ok(!op, "nothing was made");
    hcy_array_release(weights);
    hcy_array_release(phases);
    hcy_array_release(uneven);
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    few = argc > 2 && !strcmp(argv[2], "few");
    dev = cts_open();
    queue = cts_queue(dev);
    draw_places();
    test_sense();
    test_sense_refusals();
    test_subspaces();
    test_real_images();
    if (has_transforms()) {
        test_stacks();
        test_stack_refusals();
        test_toeplitz();
        test_normal_equations();
        test_toeplitz_refusals();
    }
    (void)!hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
