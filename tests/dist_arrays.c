/* Layouts, arrays that are dealt out, and their sums: against one array on one device, bit by bit. */
#include "dist_scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Ways to deal rows out. */
enum { EVEN, ALL_TO_LAST, FEW_FIRST, ODD, N_DEALS };
static const char *const deal_names[N_DEALS] = { "even", "all on the last rank", "one, none, the rest",
                                                 "odd shares" };

static void deal_rows(int64_t *rows, int deal, int64_t n)
{
    for (int r = 0; r < scene.n_ranks; r++) {
        int64_t mine = n / scene.n_ranks + (r < n % scene.n_ranks);
        if (deal == ALL_TO_LAST)
            mine = 0;
        if (deal == FEW_FIRST)
            mine = r == 0 && n > 0;
        if (deal == ODD)
            mine = (r * 37 + 11) % 100 * n / 400;
        rows[r] = mine;
    }
    if (deal != EVEN) {
        int64_t others = 0;
        for (int r = 0; r + 1 < scene.n_ranks; r++)
            others += rows[r];
        rows[scene.n_ranks - 1] = n - others;
    }
}

static hcy_dist_layout *make_blocks(int rank, const int64_t *shape, int axis, int deal)
{
    hcy_dist_layout *layout = NULL;
    int64_t rows[64];
    deal_rows(rows, deal, shape[axis]);
    if (hcy_dist_layout_blocks(&layout, scene.comm, rank, shape, axis, deal == EVEN ? NULL : rows))
        fprintf(stderr, "# rank %d: %s\n", scene.rank, hcy_last_error()->text);
    return layout;
}

/* Numbers of many sizes, so that the order in which they are added shows. */
static hcy_array *make_whole(int dtype, int rank, const int64_t *shape, int seed)
{
    hcy_array *whole = NULL;
    const bool is_complex = dtype == HCY_COMPLEX64 || dtype == HCY_COMPLEX128;
    const char *text = is_complex ? "x = complex64(complex(normal(s, index), normal(s, index, 1)))"
                                  : "x = float32(normal(s, index) * exp(4 * normal(s, index, 2)))";
    if (dtype == HCY_FLOAT64)
        text = "x = normal(s, index) * exp(4 * normal(s, index, 2))";
    if (hcy_array_empty(&whole, scene.dev, dtype, rank, shape) ||
        HCY_EVAL(scene.queue, text, hcy_op_array("x", whole), hcy_op_integer("s", seed)))
        fprintf(stderr, "# rank %d: %s\n", scene.rank, hcy_last_error()->text);
    return whole;
}

static bool same_numbers(const hcy_array *a, const hcy_array *b)
{
    hcy_array_info x = HCY_ARRAY_INFO_INIT, y = HCY_ARRAY_INFO_INIT;
    if (hcy_array_get_info(&x, a) || hcy_array_get_info(&y, b) || x.count != y.count || x.dtype != y.dtype)
        return false;
    size_t bytes = (size_t)x.count * hcy_dtype_size(x.dtype);
    char *of_a = malloc(bytes + 1), *of_b = malloc(bytes + 1);
    bool same = of_a && of_b && !hcy_array_to_host(of_a, scene.queue, a) &&
                !hcy_array_to_host(of_b, scene.queue, b) && !memcmp(of_a, of_b, bytes);
    free(of_a);
    free(of_b);
    return same;
}

static bool read_sum(double sum[2], hcy_array *of)
{
    sum[1] = 0;
    return !hcy_array_to_host(sum, scene.queue, of);
}

/* --- Dealing out, and back --- */

/* A whole array to the parts and back, on one rank and on all; each part is the rows that it should be. */
static void test_round_trip(int dtype, int rank, const int64_t *shape, int axis, int deal)
{
    hcy_dist_layout *layout = make_blocks(rank, shape, axis, deal);
    hcy_dist_layout_info info = HCY_DIST_LAYOUT_INFO_INIT;
    hcy_array *whole = make_whole(dtype, rank, shape, 1), *back = make_whole(dtype, rank, shape, 2),
              *part = NULL, *mine = NULL;
    const int root = scene.n_ranks / 2;
    bool right = layout && !hcy_dist_layout_get_info(&info, layout) &&
                 !hcy_dist_array(&part, scene.dev, layout, dtype);
    every(right && !hcy_dist_scatter(scene.queue, part, layout, scene.rank == root ? whole : NULL, root),
          "%s of %d axes along %d, %s: scatter", hcy_dtype_name(dtype), rank, axis, deal_names[deal]);
    const char *const slices[] = { "%lld:%lld", ":, %lld:%lld", ":, :, %lld:%lld" };
    char slice[80];
    snprintf(slice, sizeof slice,
             axis == 0   ? slices[0]
             : axis == 1 ? slices[1]
                         : slices[2],
             (long long)info.first, (long long)(info.first + info.local_shape[axis]));
    right = right && !hcy_array_slice(&mine, whole, "%s", slice) && same_numbers(part, mine);
    every(right, "... each has its rows");
    right = !hcy_dist_gather(scene.queue, back, layout, part, root);
    every(right && (scene.rank == root) == same_numbers(back, whole), "... gather to one rank");
    every(!hcy_dist_gather(scene.queue, back, layout, part, -1) && same_numbers(back, whole), "... to all");
    hcy_array_release(mine);
    hcy_array_release(part);
    hcy_array_release(back);
    hcy_array_release(whole);
    hcy_dist_layout_release(layout);
}

static void test_redistribution(void)
{
    const int64_t shape[3] = { 7, 6, 5 };
    hcy_dist_layout *from = make_blocks(3, shape, 0, ODD), *to = make_blocks(3, shape, 2, EVEN), *all = NULL;
    hcy_array *whole = make_whole(HCY_COMPLEX64, 3, shape, 3), *a = NULL, *b = NULL, *c = NULL;
    bool right = from && to && !hcy_dist_layout_replicated(&all, scene.comm, 3, shape) &&
                 !hcy_dist_array(&a, scene.dev, from, HCY_COMPLEX64) &&
                 !hcy_dist_array(&b, scene.dev, to, HCY_COMPLEX64) &&
                 !hcy_dist_array(&c, scene.dev, all, HCY_COMPLEX64);
    every(right && !hcy_dist_redistribute(scene.queue, a, from, whole, all) &&
              !hcy_dist_redistribute(scene.queue, b, to, a, from) &&
              !hcy_dist_redistribute(scene.queue, c, all, b, to) && same_numbers(c, whole),
          "replicated, blocks of one axis, of another, and replicated again");
    every(hcy_dist_redistribute(scene.queue, c, all, c, all) == HCY_EINVAL, "an array onto itself");
    hcy_array_release(a);
    hcy_array_release(b);
    hcy_array_release(c);
    hcy_array_release(whole);
    hcy_dist_layout_release(from);
    hcy_dist_layout_release(to);
    hcy_dist_layout_release(all);
}

/* One file of all parts, and none where a rank fails. */
static void test_file(int axis)
{
    const int64_t shape[3] = { 5, 7, 3 };
    hcy_dist_layout *layout = axis < 0 ? NULL : make_blocks(3, shape, axis, ODD);
    hcy_array *whole = make_whole(HCY_COMPLEX64, 3, shape, 8), *part = NULL, *back = NULL;
    char path[64];
    int pid = (int)getpid();
    bool right = (layout || !hcy_dist_layout_replicated(&layout, scene.comm, 3, shape)) &&
                 !hcy_dist_array(&part, scene.dev, layout, HCY_COMPLEX64) &&
                 !hcy_dist_scatter(scene.queue, part, layout, whole, 0) &&
                 !hcy_dist_broadcast_host(&pid, scene.comm, sizeof pid, 0);
    snprintf(path, sizeof path, "dist-%d.npy", pid);
    right = right && !hcy_dist_to_file(scene.queue, part, layout, path) &&
            !hcy_array_from_file(&back, scene.dev, path) && same_numbers(back, whole);
    every(right, "a file of %s", axis < 0 ? "a replicated array" : "all ranks' parts");
    if (scene.rank == 0)
        unlink(path);
    every(hcy_dist_to_file(scene.queue, part, layout, scene.rank == scene.n_ranks - 1 ? "dist.txt" : path) &&
              access(path, F_OK),
          "... and none where one fails");
    hcy_array_release(back);
    hcy_array_release(part);
    hcy_array_release(whole);
    hcy_dist_layout_release(layout);
}

static void test_refusals(void)
{
    hcy_dist_layout *layout = NULL;
    int64_t n = 10, other = 10 + (scene.rank == scene.n_ranks - 1), rows[64] = { 11 };
    every(hcy_dist_layout_blocks(&layout, scene.comm, 1, &n, 0, rows) == HCY_EINVAL && !layout,
          "more rows than there are");
    rows[0] = 9;
    every(hcy_dist_layout_blocks(&layout, scene.comm, 1, &n, 0, rows) == HCY_EINVAL && !layout,
          "a row of no rank");
    every(hcy_dist_layout_blocks(&layout, scene.comm, 1, &n, 1, NULL) == HCY_EINVAL && !layout,
          "an axis that is not there");
    int status = hcy_dist_layout_blocks(&layout, scene.comm, 1, &other, 0, NULL);
    every(scene.n_ranks == 1 ? !status : status == HCY_EINVAL && !layout,
          "ranks that mean different layouts");
    hcy_dist_layout_release(layout);
}

/* --- Sums --- */

static void test_dot(int dtype, int64_t n, int deal)
{
    hcy_dist_layout *layout = make_blocks(1, &n, 0, deal);
    hcy_array *x = make_whole(dtype, 1, &n, 4), *y = make_whole(dtype, 1, &n, 5), *sum = NULL, *a = NULL,
              *b = NULL, *norm = NULL;
    const bool is_complex = dtype == HCY_COMPLEX64 || dtype == HCY_COMPLEX128;
    double want[2] = { 0 }, got[2] = { 0 }, wanted_norm[2], length[2] = { 0 };
    bool right =
        layout && !hcy_array_empty(&sum, scene.dev, is_complex ? HCY_COMPLEX128 : HCY_FLOAT64, 0, NULL) &&
        !hcy_array_empty(&norm, scene.dev, HCY_FLOAT64, 0, NULL) &&
        !HCY_EVAL(
            scene.queue,
            is_complex
                ? "s = vdot(complex128(x), complex128(y)); n = sqrt(real(vdot(complex128(x), complex128(x))))"
                : "s = dot(float64(x), float64(y)); n = sqrt(dot(float64(x), float64(x)))",
            hcy_op_array("s", sum), hcy_op_array("x", x), hcy_op_array("y", y), hcy_op_array("n", norm)) &&
        read_sum(want, sum) && read_sum(wanted_norm, norm) && !hcy_dist_array(&a, scene.dev, layout, dtype) &&
        !hcy_dist_array(&b, scene.dev, layout, dtype) && !hcy_dist_scatter(scene.queue, a, layout, x, 0) &&
        !hcy_dist_scatter(scene.queue, b, layout, y, 0) &&
        !HCY_EVAL(scene.queue, "s = 77", hcy_op_array("s", sum)) &&
        !hcy_dist_dot(scene.queue, sum, layout, a, b) && !hcy_dist_norm(scene.queue, norm, layout, a);
    right = right && read_sum(got, sum) && read_sum(length, norm);
    every(right && !memcmp(got, want, sizeof want) && !memcmp(length, wanted_norm, sizeof length),
          "dot of %lld %s, %s: the bits of one device", (long long)n, hcy_dtype_name(dtype),
          deal_names[deal]);
    if (right && memcmp(got, want, sizeof want))
        fprintf(stderr, "# rank %d: %a %a where %a %a is right\n", scene.rank, got[0], got[1], want[0],
                want[1]);
    hcy_array_release(norm);
    hcy_array_release(a);
    hcy_array_release(b);
    hcy_array_release(sum);
    hcy_array_release(x);
    hcy_array_release(y);
    hcy_dist_layout_release(layout);
}

/* Blocks along another axis than the first are added up with that axis in front. */
static void test_dot_of_columns(void)
{
    const int64_t shape[3] = { 6, 130, 40 };
    const int front[3] = { 1, 0, 2 };
    hcy_dist_layout *layout = make_blocks(3, shape, 1, ODD);
    hcy_array *x = make_whole(HCY_FLOAT32, 3, shape, 6), *part = NULL, *sum = NULL, *turned = NULL;
    double want[2], got[2] = { 0 };
    bool right = layout && !hcy_array_empty(&sum, scene.dev, HCY_FLOAT64, 0, NULL) &&
                 !hcy_array_transpose(&turned, x, front) &&
                 !HCY_EVAL(scene.queue, "s = dot(float64(x), float64(x))", hcy_op_array("s", sum),
                           hcy_op_array("x", turned)) &&
                 read_sum(want, sum) && !hcy_dist_array(&part, scene.dev, layout, HCY_FLOAT32) &&
                 !hcy_dist_scatter(scene.queue, part, layout, x, 0) &&
                 !hcy_dist_dot(scene.queue, sum, layout, part, part) && read_sum(got, sum);
    every(right && got[0] == want[0], "dot of blocks of the second axis");
    every(hcy_dist_dot(scene.queue, sum, layout, part, turned) == HCY_EINVAL &&
              hcy_dist_norm(scene.queue, part, layout, part) == HCY_EINVAL,
          "sums of what does not go together");
    hcy_array_release(turned);
    hcy_array_release(part);
    hcy_array_release(sum);
    hcy_array_release(x);
    hcy_dist_layout_release(layout);
}

void test_layouts(void)
{
    for (int deal = 0; deal < N_DEALS; deal++) {
        const int64_t shape[3] = { 9, 5, 4 }, few = 2;
        for (int axis = 0; axis < 3; axis++)
            test_round_trip(HCY_FLOAT32, 3, shape, axis, deal);
        test_round_trip(HCY_FLOAT64, 1, &few, 0, deal);
        test_dot(HCY_FLOAT32, 3, deal);
        test_dot(HCY_FLOAT64, 1024, deal);
        test_dot(HCY_FLOAT32, 40961, deal);
        test_dot(HCY_COMPLEX64, 300007, deal);
    }
    test_dot(HCY_FLOAT32, 0, EVEN);
    /* Two rounds of pieces, once: it takes longer than all others. */
    if (scene.n_ranks == 4 && !strstr(scene.name, "discrete"))
        test_dot(HCY_FLOAT32, 4300001, ODD);
    test_redistribution();
    for (int axis = -1; axis < 3; axis++)
        test_file(axis);
    test_dot_of_columns();
    test_refusals();
}
