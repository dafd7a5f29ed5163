/* Transforms over ranks: NUFFTs and SENSE by points and by coils, FFTs of dealt axes, transpositions; all against one
 * device, with the dot test. */
#include "dist_priv.h"
#include "dist_scene.h"

#include <halcyon/solve.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double off(hcy_array *a, hcy_array *b)
{
    const int64_t all = -1;
    hcy_array *flat[2] = { NULL, NULL }, *number = NULL;
    double value = 1e300;
    if (hcy_array_empty(&number, scene.dev, HCY_FLOAT64, 0, NULL) || hcy_array_reshape(&flat[0], a, 1, &all) ||
        hcy_array_reshape(&flat[1], b, 1, &all) ||
        HCY_EVAL(scene.queue, "n = norm(complex128(a) - b) / norm(complex128(b))", hcy_op_array("n", number),
                 hcy_op_array("a", flat[0]), hcy_op_array("b", flat[1])) ||
        hcy_array_to_host(&value, scene.queue, number))
        fprintf(stderr, "# rank %d: %s\n", scene.rank, hcy_last_error()->text);
    hcy_array_release(flat[0]);
    hcy_array_release(flat[1]);
    hcy_array_release(number);
    return value;
}

static void compare_operator(hcy_operator *op, hcy_operator *serial, hcy_dist_layout *range, hcy_dist_layout *domain,
                             double bound, dist_mismatch *mismatch_of_pairs, const char *what)
{
    double forward = op && serial ? distance_to_serial(off, op, serial, range, domain, false) : 1e300,
           back = op && serial ? distance_to_serial(off, op, serial, domain, range, true) : 1e300,
           mismatch = mismatch_of_pairs(op);
    if (!every(forward <= bound && back <= bound, "%s: that of one device, and its adjoint", what) ||
        !every(mismatch <= 1e-13, "%s: the dot test", what))
        fprintf(stderr, "# off by %g, adjoint %g, mismatch %g\n", forward, back, mismatch);
}

/* --- NUFFT and SENSE --- */

enum { POINTS = 700, COILS = 3 };
static const int64_t modes[2] = { 12, 10 };

/* A plan of points [first, end) of the whole trajectory. */
static hcy_nufft *plan_part(int type, int64_t first, int64_t end, int transforms)
{
    static _Thread_local double places[2][POINTS];
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_nufft *plan = NULL;
    for (int j = 0; j < POINTS; j++)
        for (int d = 0; d < 2; d++)
            places[d][j] = (double)((j * (37 + 100 * d) + 11) % 997) / 997 * 6.28 - 3.14;
    const void *const points[2] = { places[0] + first, places[1] + first };
    desc.type = type;
    desc.precision = HCY_F64;
    desc.dim = 2;
    desc.modes[0] = modes[0];
    desc.modes[1] = modes[1];
    desc.sign = -1;
    desc.n_transforms = transforms;
    desc.eps = 1e-14;
    if (hcy_nufft_create(&plan, scene.dev, &desc, NULL) || hcy_nufft_set_points(plan, end - first, points, 0, NULL))
        fprintf(stderr, "# rank %d: %s\n", scene.rank, hcy_last_error()->text);
    return plan;
}

/* The points of a rank, or its coils: uneven, of two ranks and more none on the first. */
static void own_range(int64_t *first, int64_t *end, int64_t n)
{
    const int parts = scene.n_ranks > 1 ? scene.n_ranks - 1 : 1, me = scene.n_ranks > 1 ? scene.rank - 1 : 0;
    *first = me < 0 ? 0 : n * me / parts;
    *end = me < 0 ? 0 : n * (me + 1) / parts;
}

/* Coefficients in blocks of rows, uneven ones: a transposition gathers them, or deals them out. */
static void test_split_modes(hcy_operator *op, hcy_operator *serial, hcy_dist_layout *samples, hcy_dist_layout *image,
                             int type)
{
    int64_t rows[64] = { 0 };
    hcy_dist_layout *blocks = NULL, *dealt = NULL;
    hcy_operator *turn = NULL, *both = NULL;
    rows[scene.n_ranks - 1] = 2;
    rows[0] += modes[0] - 2;
    bool made = op && !hcy_dist_layout_blocks(&blocks, scene.comm, 2, modes, 0, rows);
    if (type == 2)
        made = made && !hcy_dist_transpose(&turn, NULL, scene.dev, blocks, HCY_COMPLEX128, NULL, -1) &&
               !hcy_operator_compose(&both, (hcy_operator *[]){ op, turn }, 2);
    else
        made = made && !hcy_dist_transpose(&turn, &dealt, scene.dev, image, HCY_COMPLEX128, NULL, 0) &&
               !hcy_operator_compose(&both, (hcy_operator *[]){ turn, op }, 2);
    every(made, "... with coefficients dealt out, too");
    hcy_dist_layout *split = type == 2 ? blocks : dealt;
    compare_operator(both, serial, type == 2 ? samples : split, type == 2 ? split : samples, 1e-12, mismatch_of, "NUFFT");
    hcy_operator_release(turn);
    hcy_operator_release(both);
    hcy_dist_layout_release(blocks);
    hcy_dist_layout_release(dealt);
}

static void test_nufft(int type)
{
    int64_t first, end;
    own_range(&first, &end, POINTS);
    hcy_nufft *own = plan_part(type, first, end, 1), *whole = plan_part(type, 0, POINTS, 1);
    hcy_operator *op = NULL, *serial = NULL;
    hcy_dist_layout *samples = NULL, *image = NULL;
    bool made = !hcy_dist_nufft(&op, &samples, scene.comm, own) && !hcy_operator_nufft(&serial, whole) &&
                !hcy_dist_layout_replicated(&image, scene.comm, 2, modes);
    every(made, "a NUFFT of type %d, points over ranks", type);
    compare_operator(op, serial, type == 2 ? samples : image, type == 2 ? image : samples, 1e-12, mismatch_of, "NUFFT");
    test_split_modes(op, serial, samples, image, type);
    hcy_operator_release(op);
    hcy_operator_release(serial);
    hcy_dist_layout_release(samples);
    hcy_dist_layout_release(image);
    hcy_nufft_destroy(own);
    hcy_nufft_destroy(whole);
}

/* One rank adds up where another does not: none of them is to wait. */
static void test_mixed_types(void)
{
    hcy_nufft *own = plan_part(scene.rank ? 2 : 1, 0, POINTS, 1);
    hcy_operator *op = NULL;
    hcy_dist_layout *samples = NULL;
    every(hcy_dist_nufft(&op, &samples, scene.comm, own) == (scene.n_ranks > 1 ? HCY_EINVAL : 0) &&
              !op == (scene.n_ranks > 1) && !samples == !op,
          "plans of two types");
    hcy_operator_release(op);
    hcy_dist_layout_release(samples);
    hcy_nufft_destroy(own);
}

/* Rows [first, end) of an axis, on their own. */
static hcy_array *own_part(hcy_array *all, int axis, int64_t first, int64_t end)
{
    hcy_array *view = NULL, *part = NULL;
    hcy_array_info info = HCY_ARRAY_INFO_INIT;
    if (hcy_array_slice(&view, all, axis ? ":, %lld:%lld" : "%lld:%lld", (long long)first, (long long)end) ||
        hcy_array_get_info(&info, view) || hcy_array_empty(&part, scene.dev, info.dtype, info.rank, info.shape) ||
        hcy_array_copy(scene.queue, part, view))
        fprintf(stderr, "# rank %d: %s\n", scene.rank, hcy_last_error()->text);
    hcy_array_release(view);
    return part;
}

/* x of b = A x, by CG of A^H A, the same on one device and over ranks. */
static double off_solutions(hcy_operator *op, hcy_operator *serial, hcy_dist_layout *samples, hcy_array *b)
{
    hcy_array *part = NULL, *x[2] = { NULL, NULL };
    hcy_solver *solver[2] = { NULL, NULL };
    hcy_solver_options options = HCY_SOLVER_OPTIONS_INIT;
    options.method = HCY_SOLVER_CGLS;
    bool right = !hcy_dist_array(&part, scene.dev, samples, HCY_COMPLEX128) &&
                 !hcy_dist_scatter(scene.queue, part, samples, b, 0);
    for (int i = 0; right && i < 2; i++)
        right = !hcy_solver_create(&solver[i], scene.queue, i ? serial : op, &options) &&
                !hcy_solver_start(solver[i], i ? b : part, NULL) && !hcy_solver_run(solver[i], 8) &&
                !hcy_solver_get_x(&x[i], solver[i]);
    double far = right ? off(x[0], x[1]) : 1e300;
    if (!right)
        fprintf(stderr, "# rank %d: %s\n", scene.rank, hcy_last_error()->text);
    for (int i = 0; i < 2; i++) {
        hcy_array_release(x[i]);
        hcy_solver_destroy(solver[i]);
    }
    hcy_array_release(part);
    return far;
}

static void test_sense(int axis)
{
    int64_t first, end;
    own_range(&first, &end, axis ? POINTS : COILS);
    hcy_nufft *own = axis ? plan_part(2, first, end, 2) : plan_part(2, 0, POINTS, 2),
              *whole = plan_part(2, 0, POINTS, 2);
    hcy_array *maps = draw_numbers(HCY_COMPLEX128, 3, (int64_t[]){ COILS, modes[0], modes[1] }, 21),
              *weights = draw_numbers(HCY_FLOAT64, 2, (int64_t[]){ COILS, POINTS }, 22),
              *b = draw_numbers(HCY_COMPLEX128, 2, (int64_t[]){ COILS, POINTS }, 23),
              *own_maps = axis ? hcy_array_retain(maps) : own_part(maps, 0, first, end),
              *own_weights = own_part(weights, axis, first, end);
    hcy_operator *op = NULL, *serial = NULL;
    hcy_dist_layout *samples = NULL, *image = NULL;
    every(!hcy_dist_sense(&op, &samples, scene.comm, own, own_maps, own_weights, axis) &&
              !hcy_operator_sense(&serial, whole, maps, weights) &&
              !hcy_dist_layout_replicated(&image, scene.comm, 2, modes),
          "SENSE, %s over ranks", axis ? "points" : "coils");
    compare_operator(op, serial, samples, image, 1e-12, mismatch_of, "SENSE");
    double far = op && serial ? off_solutions(op, serial, samples, b) : 1e300;
    if (!every(far <= 1e-12, "... and CGLS's solution"))
        fprintf(stderr, "# off by %g\n", far);
    hcy_operator_release(op);
    op = NULL;
    every(hcy_dist_sense(&op, NULL, scene.comm, own, own_maps, NULL, 2) == HCY_EINVAL && !op, "no such axis of samples");
    hcy_operator_release(serial);
    hcy_dist_layout_release(samples);
    hcy_dist_layout_release(image);
    hcy_array_release(maps);
    hcy_array_release(weights);
    hcy_array_release(b);
    hcy_array_release(own_maps);
    hcy_array_release(own_weights);
    hcy_nufft_destroy(own);
    hcy_nufft_destroy(whole);
}

/* --- FFT --- */

/* A transform of one device over any axes: its own, which are the last, between two transpositions. */
static int make_serial_fft(hcy_operator **op, hcy_dist *alone, hcy_dist_layout *layout, int dtype, const int *axes,
                           int n_axes)
{
    hcy_dist_layout_info info = HCY_DIST_LAYOUT_INFO_INIT;
    hcy_dist_layout *whole = NULL, *turned = NULL, *result = NULL;
    hcy_operator *ops[3] = { NULL, NULL, NULL }, *back = NULL;
    const bool is_real = dtype == HCY_FLOAT64;
    int order[HCY_ARRAY_MAX_RANK], n = 0;
    int status = hcy_dist_layout_get_info(&info, layout);
    for (int d = 0; d < info.rank; d++) {
        bool last = false;
        for (int i = 0; i < n_axes; i++)
            last = last || axes[i] == d;
        if (!last)
            order[n++] = d;
    }
    for (int i = 0; i < n_axes; i++)
        order[n++] = axes[i];
    if (!status)
        status = hcy_dist_layout_replicated(&whole, alone, info.rank, info.shape);
    if (!status)
        status = hcy_dist_transpose(&ops[2], &turned, scene.dev, whole, dtype, order, -1);
    hcy_space space;
    if (!status)
        status = hcy_dist_space(&space, turned, dtype);
    if (!status)
        status = is_real ? hcy_operator_fft_real(&ops[1], scene.dev, &space, n_axes)
                         : hcy_operator_fft(&ops[1], scene.dev, &space, n_axes);
    if (is_real)
        info.shape[axes[n_axes - 1]] = info.shape[axes[n_axes - 1]] / 2 + 1;
    if (!status)
        status = hcy_dist_layout_replicated(&result, alone, info.rank, info.shape);
    if (!status)
        status = hcy_dist_transpose(&back, NULL, scene.dev, result, HCY_COMPLEX128, order, -1);
    if (!status)
        status = hcy_operator_adjoint(&ops[0], back);
    if (!status)
        status = hcy_operator_compose(op, ops, 3);
    for (int i = 0; i < 3; i++)
        hcy_operator_release(ops[i]);
    hcy_operator_release(back);
    hcy_dist_layout_release(whole);
    hcy_dist_layout_release(turned);
    hcy_dist_layout_release(result);
    return status;
}

/* Rows for each rank, the first without any; some axis is dealt out, or none. */
static int make_layout(hcy_dist_layout **layout, int rank, const int64_t *shape, int blocks)
{
    int64_t rows[64] = { 0 };
    if (blocks < 0)
        return hcy_dist_layout_replicated(layout, scene.comm, rank, shape);
    for (int r = 1; r < scene.n_ranks; r++)
        rows[r] = shape[blocks] / scene.n_ranks;
    rows[scene.n_ranks - 1] = shape[blocks];
    for (int r = 1; r + 1 < scene.n_ranks; r++)
        rows[scene.n_ranks - 1] -= rows[r];
    return hcy_dist_layout_blocks(layout, scene.comm, rank, shape, blocks, rows);
}

static void test_real_fft(hcy_dist *alone, int rank, const int64_t *shape, int blocks, const int *axes, int n_axes)
{
    char what[80];
    hcy_dist_layout *layout = NULL, *range = NULL;
    hcy_operator *op = NULL, *serial = NULL;
    snprintf(what, sizeof what, "FFT of real numbers, %d axes of %d, to %d, blocks along %d", n_axes, rank,
             axes[n_axes - 1], blocks);
    every(!make_layout(&layout, rank, shape, blocks) &&
              !hcy_dist_fft_real(&op, &range, scene.dev, layout, HCY_FLOAT64, axes, n_axes) &&
              !make_serial_fft(&serial, alone, layout, HCY_FLOAT64, axes, n_axes),
          "%s: is made", what);
    compare_operator(op, serial, range, layout, 1e-14, n_axes == 3 ? mismatch_of : mismatch_of_few, what);
    hcy_operator_release(op);
    hcy_operator_release(serial);
    hcy_dist_layout_release(layout);
    hcy_dist_layout_release(range);
}

static void test_fft(hcy_dist *alone, int rank, const int64_t *shape, int blocks, const int *axes, int n_axes)
{
    char what[80];
    hcy_dist_layout *layout = NULL;
    hcy_operator *op = NULL, *serial = NULL;
    snprintf(what, sizeof what, "FFT of %d axes of %d, blocks along %d", n_axes, rank, blocks);
    bool made = !make_layout(&layout, rank, shape, blocks) &&
                !hcy_dist_fft(&op, scene.dev, layout, HCY_COMPLEX128, axes, n_axes) &&
                !make_serial_fft(&serial, alone, layout, HCY_COMPLEX128, axes, n_axes);
    every(made, "%s: is made", what);
    compare_operator(op, serial, layout, layout, 1e-14, n_axes == 3 ? mismatch_of : mismatch_of_few, what);
    hcy_operator *twice = NULL;
    every(op && !hcy_operator_compose(&twice, (hcy_operator *[]){ op, op }, 2), "%s: both sides are one space", what);
    hcy_operator_release(twice);
    hcy_operator_release(op);
    hcy_operator_release(serial);
    hcy_dist_layout_release(layout);
}

static void test_axes(void)
{
    const int64_t shape[4] = { 9, 6, 10, 3 };
    hcy_dist *alone = NULL;
    hcy_dist_layout *layout = NULL;
    hcy_operator *none = NULL;
    bool made = !hcy_dist_open(&alone, "self,-nccl");
    every(made, "a communicator of one");
    test_fft(alone, 2, shape, 0, (const int[]){ 0, 1 }, 2);
    test_fft(alone, 3, shape, 1, (const int[]){ 0, 1, 2 }, 3);
    test_fft(alone, 4, shape, 2, (const int[]){ 0, 2 }, 2);
    test_fft(alone, 3, shape, 0, (const int[]){ 1 }, 1);
    test_fft(alone, 3, shape, -1, (const int[]){ 0, 2 }, 2);
    test_fft(alone, 1, shape, 0, (const int[]){ 0 }, 1);
    test_real_fft(alone, 2, shape, 0, (const int[]){ 0, 1 }, 2);
    test_real_fft(alone, 2, shape, 0, (const int[]){ 1, 0 }, 2);
    test_real_fft(alone, 3, shape, 1, (const int[]){ 0, 1, 2 }, 3);
    test_real_fft(alone, 3, shape, 0, (const int[]){ 2, 1, 0 }, 3);
    test_real_fft(alone, 4, shape, 2, (const int[]){ 0, 2 }, 2);
    test_real_fft(alone, 3, shape, 0, (const int[]){ 1 }, 1);
    test_real_fft(alone, 3, shape, -1, (const int[]){ 0, 2 }, 2);
    test_real_fft(alone, 1, shape, 0, (const int[]){ 0 }, 1);
    every(!hcy_dist_layout_replicated(&layout, scene.comm, 2, shape) &&
              hcy_dist_fft_real(&none, NULL, scene.dev, layout, HCY_COMPLEX128, (const int[]){ 0 }, 1) == HCY_EINVAL &&
              !none,
          "a real transform of complex numbers");
    every(scene.n_ranks == 1 ||
              (hcy_dist_fft(&none, scene.dev, layout, HCY_COMPLEX64, (int[]){ scene.rank > 0 }, 1) == HCY_EINVAL &&
               !none && strstr(hcy_last_error()->text, "hcy_dist_fft: ranks have other axes")),
          "a transform along other axes on other ranks");
    hcy_dist_layout_release(layout);
    every(!hcy_dist_layout_replicated(&layout, scene.comm, 2, shape) &&
              hcy_dist_fft(&none, scene.dev, layout, HCY_FLOAT64, (const int[]){ 0 }, 1) == HCY_EINVAL &&
              hcy_dist_fft(&none, scene.dev, layout, HCY_COMPLEX64, (const int[]){ 1, -1 }, 2) == HCY_EINVAL &&
              hcy_dist_fft(&none, scene.dev, layout, HCY_COMPLEX64, (const int[]){ 2 }, 1) == HCY_EINVAL &&
              hcy_dist_fft(&none, scene.dev, layout, HCY_COMPLEX64, NULL, 1) == HCY_EINVAL &&
              strstr(hcy_last_error()->text, "no axes") && !none,
          "FFTs that cannot be");
    hcy_dist_layout_release(layout);
    hcy_dist_release(alone);
}

/* How much memory this process has that others may have, too, while its ranks do nothing else. */
static int count_shared(hcy_dist *comm)
{
    char line[512];
    int n = 0;
    if (hcy_dist_barrier(comm))
        return -1;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        n += strstr(line, "memfd:halcyon") != NULL;
    if (maps)
        fclose(maps);
    return hcy_dist_barrier(comm) ? -1 : n;
}

static bool can_share(void)
{
    hcy_buffer *buffer = NULL;
    const bool can = hcy_device_get_info(scene.dev)->caps & HCY_CAP_HOST_MEMORY &&
                     !hcy_buffer_create(&buffer, scene.dev, HCY_MEM_SHARED, 64);
    hcy_buffer_release(buffer);
    return can;
}

/* y = A x and x = A^H y over the ranks of a communicator, to the host; how many ranks' parts are in sight. */
static int transform_by(void **y_bytes, void **x_bytes, size_t sizes[2], hcy_dist *comm, int dtype)
{
    const int64_t shape[3] = { 17, 101, 255 };
    hcy_dist_layout *domain = NULL, *range = NULL;
    hcy_dist_layout_info part = HCY_DIST_LAYOUT_INFO_INIT;
    hcy_operator *op = NULL;
    hcy_array *x = NULL, *y = NULL;
    const int axes[3] = { 0, 1, 2 }, before = count_shared(comm);
    int in_sight = -1;
    if (!hcy_dist_layout_blocks(&domain, comm, 3, shape, 0, NULL) && !hcy_dist_layout_get_info(&part, domain) &&
        !(dtype == HCY_FLOAT64
              ? hcy_dist_fft_real(&op, &range, scene.dev, domain, dtype, axes, 3)
              : hcy_dist_fft(&op, scene.dev, range = hcy_dist_layout_retain(domain), dtype, axes, 3)) &&
        (x = draw_numbers(dtype, 3, part.local_shape, 51 + scene.rank)) &&
        !hcy_dist_array(&y, scene.dev, range, HCY_COMPLEX128)) {
        hcy_array_info of_x = HCY_ARRAY_INFO_INIT, of_y = HCY_ARRAY_INFO_INIT;
        in_sight = count_shared(comm) - before;
        if (hcy_array_get_info(&of_x, x) || hcy_array_get_info(&of_y, y))
            in_sight = -1;
        sizes[0] = (size_t)of_y.count * 16;
        sizes[1] = (size_t)of_x.count * hcy_dtype_size(dtype);
        *y_bytes = malloc(sizes[0] + 1);
        *x_bytes = malloc(sizes[1] + 1);
        if (hcy_operator_apply(scene.queue, y, op, x) || hcy_array_to_host(*y_bytes, scene.queue, y) ||
            hcy_operator_apply_adjoint(scene.queue, x, op, y) || hcy_array_to_host(*x_bytes, scene.queue, x))
            in_sight = -1;
    }
    if (in_sight < 0)
        fprintf(stderr, "# rank %d: %s\n", scene.rank, hcy_last_error()->text);
    hcy_array_release(x);
    hcy_array_release(y);
    hcy_operator_release(op);
    hcy_dist_layout_release(domain);
    hcy_dist_layout_release(range);
    return in_sight;
}

/* Ranks that see each other's memory make what those make that send messages; of more rows than are taken at once, and
 * some left over. */
static void test_ways(int dtype)
{
    char wish[40];
    hcy_dist_info info = HCY_DIST_INFO_INIT;
    hcy_dist *senders = NULL;
    void *bytes[2][2] = { { NULL, NULL }, { NULL, NULL } };
    size_t sizes[2] = { 0, 0 };
    bool made = !hcy_dist_get_info(&info, scene.comm);
    const bool are_threads = made && !strcmp(info.transport, "threads");
    snprintf(wish, sizeof wish, "%s,-nccl,-shared", info.transport);
    made = made && !(are_threads ? hcy_dist_split(&senders, scene.comm, 0) : hcy_dist_open(&senders, wish));
    if (are_threads && made)
        senders->ways.shared = -1;
    const int seen = made ? transform_by(&bytes[0][0], &bytes[0][1], sizes, scene.comm, dtype) : -1,
              sent = made ? transform_by(&bytes[1][0], &bytes[1][1], sizes, senders, dtype) : -1;
    const bool can_see = scene.n_ranks > 1 && info.n_local == scene.n_ranks && can_share();
    every(seen == (can_see ? scene.n_ranks : 0) && !sent, "an FFT by memory that ranks share, and by messages alone");
    every(seen >= 0 && sent >= 0 && !memcmp(bytes[0][0], bytes[1][0], sizes[0]) &&
              !memcmp(bytes[0][1], bytes[1][1], sizes[1]),
          "... it and its adjoint have the same bits");
    for (int i = 0; i < 4; i++)
        free(bytes[i / 2][i % 2]);
    hcy_dist_release(senders);
}

/* --- Transpositions --- */

static void test_transpose(void)
{
    const int64_t shape[3] = { 7, 2, 5 };
    hcy_dist_layout *rows = NULL, *turned = NULL;
    hcy_operator *op = NULL;
    hcy_array *whole = draw_numbers(HCY_FLOAT64, 3, shape, 31), *want = NULL, *part = NULL, *y = NULL, *got = NULL;
    const int order[3] = { 2, 0, 1 };
    double far = 1e300;
    if (!hcy_dist_layout_blocks(&rows, scene.comm, 3, shape, 0, NULL) &&
        !hcy_dist_transpose(&op, &turned, scene.dev, rows, HCY_FLOAT64, order, 0) &&
        !hcy_dist_array(&part, scene.dev, rows, HCY_FLOAT64) && !hcy_dist_array(&y, scene.dev, turned, HCY_FLOAT64) &&
        !hcy_array_empty(&got, scene.dev, HCY_FLOAT64, 3, (int64_t[]){ 5, 7, 2 }) &&
        !hcy_array_empty(&want, scene.dev, HCY_FLOAT64, 3, (int64_t[]){ 5, 7, 2 })) {
        hcy_array *view = NULL;
        if (!hcy_array_transpose(&view, whole, order) && !hcy_array_copy(scene.queue, want, view) &&
            !hcy_dist_scatter(scene.queue, part, rows, whole, 0) && !hcy_operator_apply(scene.queue, y, op, part) &&
            !hcy_dist_gather(scene.queue, got, turned, y, -1))
            far = off(got, want);
        hcy_array_release(view);
    }
    every(far == 0, "axes in another order, blocks along another one");
    every(mismatch_of(op) <= 1e-15, "... and back");
    hcy_operator *none = NULL;
    every(hcy_dist_transpose(&none, NULL, scene.dev, rows, HCY_FLOAT64, (const int[]){ 0, 0, 1 }, 0) == HCY_EINVAL &&
              hcy_dist_transpose(&none, NULL, scene.dev, rows, HCY_FLOAT64, NULL, 3) == HCY_EINVAL && !none,
          "orders that are none");
    hcy_operator_release(op);
    hcy_dist_layout_release(rows);
    hcy_dist_layout_release(turned);
    hcy_array_release(whole);
    hcy_array_release(want);
    hcy_array_release(part);
    hcy_array_release(y);
    hcy_array_release(got);
}

void test_transforms(void)
{
    test_transpose();
    test_nufft(1);
    test_nufft(2);
    test_mixed_types();
    test_sense(0);
    test_sense(1);
}

void test_ffts(void)
{
    test_axes();
    test_ways(HCY_COMPLEX128);
    test_ways(HCY_FLOAT64);
}
