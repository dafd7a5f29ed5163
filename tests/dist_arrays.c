/* Layouts, arrays that are dealt out, and their sums: against one array on one device, bit by bit. */
#include "dist_priv.h"
#include "dist_scene.h"

#include <halcyon/stack.h>
#include <glob.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef HAVE_HDF5
static const bool has_hdf5 = true;
#else
static const bool has_hdf5 = false;
#endif

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

/* All ranks' parts of the file are the array. */
static bool is_read(const char *path, hcy_array *whole, const hcy_dist_layout *layout)
{
    hcy_array *part = NULL, *all = NULL;
    hcy_array_info is = HCY_ARRAY_INFO_INIT;
    bool right = layout && !hcy_array_get_info(&is, whole) &&
                 !hcy_array_empty(&all, scene.dev, is.dtype, is.rank, is.shape) &&
                 !hcy_dist_from_file(&part, scene.dev, layout, path) &&
                 !hcy_dist_gather(scene.queue, all, layout, part, -1) && same_numbers(all, whole);
    hcy_array_release(part);
    hcy_array_release(all);
    return right;
}

/* In this layout, in the file's own, and by one rank alone. */
static bool is_in_file(const char *path, hcy_array *whole, const hcy_dist_layout *layout)
{
    hcy_dist_layout *own = NULL;
    hcy_array *back = NULL;
    bool right = is_read(path, whole, layout) && !hcy_dist_layout_of_file(&own, scene.comm, path, 1) &&
                 is_read(path, whole, own) && !hcy_array_from_file(&back, scene.dev, path) &&
                 same_numbers(back, whole);
    hcy_array_release(back);
    hcy_dist_layout_release(own);
    return right;
}

/* One rank may write no more than 16 bytes: of an array in blocks the last one with rows, when the first has begun the
 * file, of another the first, which alone writes. */
static bool fails_in_the_middle(hcy_array *part, const hcy_dist_layout *layout, const char *path, bool in_blocks)
{
    struct rlimit before, little;
    hcy_array_info is = HCY_ARRAY_INFO_INIT;
    int64_t who = hcy_array_get_info(&is, part) || !is.count || !in_blocks ? 0 : scene.rank;
    /* Ranks that are threads have one limit. */
    if (hcy_dist_allreduce_host(&who, scene.comm, HCY_INT64, 1, HCY_REDUCE_MAX) ||
        getrlimit(RLIMIT_FSIZE, &before) || hcy_dist_barrier(scene.comm))
        return false;
    little = before;
    little.rlim_cur = 16;
    signal(SIGXFSZ, SIG_IGN);
    if (scene.rank == who && setrlimit(RLIMIT_FSIZE, &little))
        return false;
    const int status = hcy_dist_to_file(scene.queue, part, layout, path);
    return !setrlimit(RLIMIT_FSIZE, &before) && status == HCY_EIO;
}

/* The file, or one that would have become it. */
static bool is_there(const char *file)
{
    char pattern[80];
    glob_t found = { 0 };
    snprintf(pattern, sizeof pattern, "%s*", file);
    bool is = glob(pattern, 0, NULL, &found) != GLOB_NOMATCH;
    globfree(&found);
    return is;
}

/* One file of all parts, which all ranks read again, and none where a rank fails. */
static void test_file(int axis, int dtype, const char *suffix)
{
    const int64_t shape[3] = { 5, 7, 3 };
    hcy_dist_layout *layout = axis < 0 ? NULL : make_blocks(3, shape, axis, ODD), *missing = NULL;
    hcy_array *whole = make_whole(dtype, 3, shape, 8), *part = NULL, *none = NULL;
    char path[64], file[64];
    int pid = (int)getpid();
    bool right = (layout || !hcy_dist_layout_replicated(&layout, scene.comm, 3, shape)) &&
                 !hcy_dist_array(&part, scene.dev, layout, dtype) &&
                 !hcy_dist_scatter(scene.queue, part, layout, whole, 0) &&
                 !hcy_dist_broadcast_host(&pid, scene.comm, sizeof pid, 0);
    snprintf(path, sizeof path, "dist-%d%s", pid, suffix);
    snprintf(file, sizeof file, "%.*s", (int)strcspn(path, ":"), path);
    int status = right ? hcy_dist_to_file(scene.queue, part, layout, path) : HCY_EINVAL;
    if (!has_hdf5 && strstr(suffix, ".h5")) {
        every(status == HCY_EINVAL && hcy_dist_from_file(&none, scene.dev, layout, path) == HCY_EUNSUPPORTED,
              "%s: a build without HDF5 says so", suffix);
    } else {
        every(!status && is_in_file(path, whole, layout), "%s: a file of %s", suffix,
              axis < 0 ? "a replicated array" : "all ranks' parts");
        if (scene.rank == 0)
            unlink(file);
        every(fails_in_the_middle(part, layout, path, axis >= 0) && !is_there(file), "... and none where one rank cannot write");
        every(hcy_dist_to_file(scene.queue, part, layout, scene.rank == scene.n_ranks - 1 ? NULL : path) ==
                      HCY_EINVAL &&
                  !is_there(file),
              "... or has no name of it");
        every(hcy_dist_to_file(scene.queue, part, layout, "part.txt") == HCY_EINVAL &&
                  strstr(hcy_last_error()->text, "no others"), "... nor a file of another format");
        every(hcy_dist_from_file(&none, scene.dev, layout, path) == HCY_ENOENT && !none, "... nor is it read");
        every(hcy_dist_layout_of_file(&missing, scene.comm, path, 0) == HCY_ENOENT && !missing, "... nor its head");
    }
    hcy_array_release(part);
    hcy_array_release(whole);
    hcy_dist_layout_release(layout);
}

/* Changes a .npy file of rank 0's: its numbers are said to be in Fortran's order, or some are missing. */
static bool change_npy(const char *path, bool cut)
{
    char head[129] = "";
    FILE *f = fopen(path, "r+");
    bool done = f && fread(head, 1, 128, f) == 128;
    char *order = done ? strstr(head + 10, "False") : NULL;
    if (order && !cut)
        done = !fseek(f, order - head, SEEK_SET) && fwrite("True ", 1, 5, f) == 5;
    if (f && fclose(f))
        done = false;
    return done && order && (!cut || !truncate(path, 128 + 8 * 29));
}

/* All ranks have it, from a file that they write; whole numbers are for .npy. */
static bool number_is_read(void)
{
    hcy_dist_layout *layout = NULL;
    hcy_array *number = NULL, *read = NULL, *whole = NULL;
    char path[64];
    int pid = (int)getpid();
    bool right = !hcy_dist_broadcast_host(&pid, scene.comm, sizeof pid, 0) &&
                 !hcy_dist_layout_replicated(&layout, scene.comm, 0, NULL) &&
                 (number = make_whole(HCY_FLOAT64, 0, NULL, 3)) != NULL &&
                 !hcy_array_empty(&whole, scene.dev, HCY_INT32, 0, NULL);
    snprintf(path, sizeof path, "dist-%d-one.h5", pid);
    right = right && !hcy_dist_to_file(scene.queue, number, layout, path) &&
            !hcy_dist_from_file(&read, scene.dev, layout, path) && same_numbers(read, number) &&
            hcy_dist_to_file(scene.queue, whole, layout, path) == HCY_EUNSUPPORTED;
    if (!hcy_dist_agree(scene.comm, 0) && scene.rank == 0)
        unlink(path);
    hcy_array_release(number);
    hcy_array_release(read);
    hcy_array_release(whole);
    hcy_dist_layout_release(layout);
    return right;
}

/* Files that ranks did not write: packed, in Fortran's order, too short; and a dataset beside another one. */
static void test_other_files(void)
{
    enum { ROWS = 6, COLUMNS = 5 };
    const int64_t shape[2] = { ROWS, COLUMNS }, turned[2] = { 1, ROWS };
    hcy_dist_layout *layout = make_blocks(2, shape, 0, ODD), *none = NULL;
    hcy_dist_layout *other = make_blocks(2, (int64_t[]){ 5, 6 }, 0, EVEN);
    hcy_array *whole = make_whole(HCY_FLOAT64, 2, shape, 8), *part = NULL, *fortran = NULL;
    hcy_array_info is = HCY_ARRAY_INFO_INIT;
    const hcy_isolation isolated = HCY_ISOLATION_INIT, as_before = { sizeof as_before, HCY_ISOLATE_NONE, 0, 0 };
    char npy[64], npz[64], first[64], second[64];
    int pid = (int)getpid(), status = hcy_dist_broadcast_host(&pid, scene.comm, sizeof pid, 0);
    const bool writes = scene.rank == 0;
    snprintf(npy, sizeof npy, "dist-%d.npy", pid);
    snprintf(npz, sizeof npz, "dist-%d.npz", pid);
    snprintf(first, sizeof first, "dist-%d.h5:/first", pid);
    snprintf(second, sizeof second, "dist-%d.h5:/b/second", pid);
    if (hcy_array_get_info(&is, whole) ||
        hcy_array_of_buffer(&fortran, is.buffer, HCY_FLOAT64, 2, shape, turned, is.offset))
        status = HCY_EINVAL;
    if (!status && writes)
        status = hcy_array_to_file(scene.queue, whole, npy) || !change_npy(npy, false) ? HCY_EIO : 0;
    every(!hcy_dist_agree(scene.comm, status) && is_read(npy, fortran, layout), "an array in Fortran's order");
    every(hcy_dist_from_file(&part, scene.dev, other, npy) == HCY_EINVAL && !part, "... in a layout of another shape");
    if (writes)
        status = hcy_array_to_file(scene.queue, whole, npy) || !change_npy(npy, true) ? HCY_EIO : 0;
    every(!hcy_dist_agree(scene.comm, status) &&
              hcy_dist_from_file(&part, scene.dev, layout, npy) == HCY_ECORRUPT && !part,
          "a number is missing, in one rank's rows");
    every(hcy_dist_layout_of_file(&none, scene.comm, npy, 0) == HCY_ECORRUPT && !none, "... which its head tells");
    every(hcy_dist_layout_of_file(&none, scene.comm, npy, -2) == HCY_EINVAL && !none &&
              strstr(hcy_last_error()->text, "axis -2"),
          "an axis that is none, and not taken for no axis");
    status = hcy_dist_agree(scene.comm, writes ? hcy_array_to_file(scene.queue, whole, npz) : 0);
    if (status == HCY_EUNSUPPORTED)
        skip_checks(1, "no zlib");
    else
        every(!status && is_read(npz, whole, layout), "a packed one");
    if (!status)
        status = hcy_dist_agree(scene.comm, writes && rename(npz, npy) ? HCY_EIO : 0);
    every(status || (hcy_dist_from_file(&part, scene.dev, layout, npy) == HCY_EFORMAT && !part),
          "... by the name of another kind");
    if (!has_hdf5) {
        skip_checks(5, "no HDF5");
    } else {
        status = hcy_dist_agree(scene.comm, writes ? hcy_array_to_file(scene.queue, whole, first) : 0);
        every(hcy_dist_layout_of_file(&none, scene.comm, second, 0) == HCY_ENOENT && !none,
              "a dataset that is not there");
        every(!status && !hcy_dist_from_file(&part, scene.dev, layout, first) &&
                  !hcy_dist_to_file(scene.queue, part, layout, second) && is_in_file(second, whole, layout),
              "a dataset into a file that is there");
        every(is_in_file(first, whole, layout), "... beside the other one");
        every(number_is_read(), "a number alone");
        every(!hcy_isolation_set(&isolated) && is_in_file(second, whole, layout) && !hcy_isolation_set(&as_before),
              "... that a process of its own reads");
    }
    /* No rank reads any more. */
    if (!hcy_dist_agree(scene.comm, 0) && writes) {
        unlink(npy);
        unlink(npz);
        first[strcspn(first, ":")] = 0;
        unlink(first);
    }
    hcy_array_release(part);
    hcy_array_release(fortran);
    hcy_array_release(whole);
    hcy_dist_layout_release(layout);
    hcy_dist_layout_release(other);
}

/* A file has one type, which all ranks' parts are of. */
static void test_types(void)
{
    const int64_t n = 10;
    hcy_dist_layout *layout = NULL;
    hcy_array *part = NULL;
    char path[64];
    int pid = (int)getpid();
    const bool last = scene.rank == scene.n_ranks - 1;
    bool right = !hcy_dist_broadcast_host(&pid, scene.comm, sizeof pid, 0) &&
                 !hcy_dist_layout_blocks(&layout, scene.comm, 1, &n, 0, NULL) &&
                 !hcy_dist_array(&part, scene.dev, layout, last ? HCY_FLOAT64 : HCY_FLOAT32);
    snprintf(path, sizeof path, "dist-%d-types.npy", pid);
    const int want = scene.n_ranks > 1 ? HCY_EINVAL : 0;
    every(right && hcy_dist_to_file(scene.queue, part, layout, path) == want && is_there(path) == !want,
          "parts of several types are no file");
    if (!hcy_dist_barrier(scene.comm) && !scene.rank)
        unlink(path);
    hcy_array_release(part);
    hcy_dist_layout_release(layout);
}

static void test_roots(void)
{
    const int64_t n = 10;
    hcy_dist_layout *layout = NULL;
    hcy_array *part = NULL;
    bool right = !hcy_dist_layout_blocks(&layout, scene.comm, 1, &n, 0, NULL) &&
                 !hcy_dist_array(&part, scene.dev, layout, HCY_FLOAT32);
    every(right && hcy_dist_scatter(scene.queue, part, layout, NULL, -1) == HCY_EINVAL &&
              strstr(hcy_last_error()->text, "rank -1 of"),
          "nobody's array is not scattered, and the words say whose was asked for");
    hcy_array_release(part);
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
    const int64_t nine[HCY_ARRAY_MAX_RANK + 1] = { 0 };
    every(hcy_dist_layout_blocks(&layout, scene.comm, HCY_ARRAY_MAX_RANK + 1, nine, 0, NULL) == HCY_EINVAL && !layout
              && strstr(hcy_last_error()->text, "8 at most"),
          "more axes than an array has, and how many these are");
    int status = hcy_dist_layout_blocks(&layout, scene.comm, 1, &other, 0, NULL);
    every(scene.n_ranks == 1 ? !status : status == HCY_EINVAL && !layout,
          "ranks that mean different layouts");
    hcy_dist_layout_release(layout);
    test_types();
    test_roots();
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

/* Norms of all orders against those of the whole array, which one device has. */
static void test_norms(int dtype, int64_t n, int deal)
{
    static const struct {
        double order;
        const char *text;
    } norms[] = { { 0, "n = sum(float64(x != 0))" },
                  { 1, "n = sum(float64(abs(x)))" },
                  { 2, "n = sqrt(sum(float64(abs2(x))))" },
                  { 3, "n = sum(float64(abs(x)) ** 3) ** (1 / 3.0)" },
                  { INFINITY, "n = max(float64(abs(x)))" },
                  { -INFINITY, "n = min(float64(abs(x)))" } };
    hcy_dist_layout *layout = deal < 0 ? NULL : make_blocks(1, &n, 0, deal);
    hcy_array *x = make_whole(dtype, 1, &n, 4), *norm = NULL, *axes = NULL, *part = NULL;
    if (!layout && hcy_dist_layout_replicated(&layout, scene.comm, 1, &n))
        layout = NULL;
    bool right = layout && !hcy_array_empty(&norm, scene.dev, HCY_FLOAT64, 0, NULL) &&
                 !HCY_EVAL(scene.queue, "x = where(index % 7 == 3, 0, x)", hcy_op_array("x", x)) &&
                 !hcy_dist_array(&part, scene.dev, layout, dtype) &&
                 !hcy_dist_scatter(scene.queue, part, layout, x, 0);
    for (size_t i = 0; right && i < sizeof norms / sizeof norms[0]; i++) {
        double want[2], got[2];
        right = !HCY_EVAL(scene.queue, norms[i].text, hcy_op_array("n", norm), hcy_op_array("x", x)) &&
                read_sum(want, norm) && !hcy_dist_norm_of(scene.queue, norm, layout, part, norms[i].order) &&
                read_sum(got, norm) &&
                (norms[i].order == 2 ? fabs(got[0] - want[0]) <= 1e-6 * want[0] : got[0] == want[0]);
        if (!right)
            fprintf(stderr, "# rank %d: order %g: %a, not %a; %s\n", scene.rank, norms[i].order, got[0], want[0],
                    hcy_last_error()->text);
    }
    /* Whichever rank has a number that is none; the norm may have axes. */
    right = right && !hcy_array_reshape(&axes, norm, 2, (const int64_t[]){ 1, 1 }) &&
            !HCY_EVAL(scene.queue, "x = where(index == 0, 0.0/0.0, x)", hcy_op_array("x", x)) &&
            !hcy_dist_scatter(scene.queue, part, layout, x, 0);
    for (int k = -1; right && k <= 1; k += 2) {
        double got[2];
        right = !hcy_dist_norm_of(scene.queue, axes, layout, part, k * INFINITY) && read_sum(got, norm) &&
                isnan(got[0]);
    }
    every(right, "norms of %lld %s, %s: the bits of one device", (long long)n, hcy_dtype_name(dtype),
          deal < 0 ? "replicated" : deal_names[deal]);
    every(hcy_dist_norm_of(scene.queue, norm, layout, part, -1) == HCY_EINVAL &&
              hcy_dist_norm_of(scene.queue, norm, layout, part, NAN) == HCY_EINVAL,
          "... and orders that are none");
    hcy_array_release(axes);
    hcy_array_release(norm);
    hcy_array_release(part);
    hcy_array_release(x);
    hcy_dist_layout_release(layout);
}

static bool names_rank(int status)
{
    char who[24];
    snprintf(who, sizeof who, "rank %d ", scene.n_ranks - 1);
    return status == HCY_ECORRUPT && strstr(hcy_last_error()->text, who);
}

/* The last rank's array has another bit: who compares finds that, and an array that is checked is compared. */
static void test_comparing(void)
{
    const int64_t n = 1000;
    hcy_dist_layout *loose = NULL, *checked = NULL, *blocks = make_blocks(1, &n, 0, EVEN);
    hcy_dist_layout_info info = HCY_DIST_LAYOUT_INFO_INIT;
    hcy_array *x = make_whole(HCY_FLOAT32, 1, &n, 3), *y = make_whole(HCY_FLOAT32, 1, &n, 3), *part = NULL;
    hcy_space space;
    hcy_operator *own = NULL, *op = NULL;
    bool made = blocks && !hcy_dist_layout_replicated(&loose, scene.comm, 1, &n) &&
                !hcy_dist_layout_checked(&checked, scene.comm, 1, &n) &&
                !hcy_dist_layout_get_info(&info, checked) && info.is_checked && info.axis < 0 &&
                !hcy_dist_array(&part, scene.dev, blocks, HCY_FLOAT32) &&
                !hcy_dist_space(&space, checked, HCY_FLOAT32) && !hcy_operator_identity(&own, scene.dev, &space) &&
                !hcy_dist_operator(&op, checked, checked, own);
    every(made && !hcy_dist_compare(scene.queue, x, scene.comm) && !hcy_operator_apply(scene.queue, y, op, x),
          "all ranks have the same");
    const int last = scene.n_ranks > 1 && scene.rank == scene.n_ranks - 1;
    made = made && !HCY_EVAL(scene.queue, "x = where(l && index == n, -x, x)", hcy_op_array("x", x),
                             hcy_op_integer("l", last), hcy_op_integer("n", n - 1));
    if (scene.n_ranks == 1) {
        skip_checks(4, "one rank");
    } else {
        every(made && names_rank(hcy_dist_compare(scene.queue, x, scene.comm)), "... but for the last one's sign");
        every(made && names_rank(hcy_operator_apply(scene.queue, y, op, x)), "... which an operator says");
        every(made && names_rank(hcy_dist_redistribute(scene.queue, part, blocks, x, checked)) &&
                  names_rank(hcy_dist_gather(scene.queue, y, checked, x, 0)),
              "... and a redistribution, and a gathering");
        every(made && !hcy_dist_redistribute(scene.queue, part, blocks, x, loose), "... where that is asked for");
    }
    hcy_operator_release(op);
    hcy_operator_release(own);
    hcy_array_release(x);
    hcy_array_release(y);
    hcy_array_release(part);
    hcy_dist_layout_release(loose);
    hcy_dist_layout_release(checked);
    hcy_dist_layout_release(blocks);
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
    hcy_array_release(part);
    part = NULL;
    every(!hcy_dist_array(&part, scene.dev, layout, HCY_INT32) &&
              hcy_dist_norm(scene.queue, sum, layout, part) == HCY_EINVAL &&
              strstr(hcy_last_error()->text, "hcy_dist_norm: of numbers of int32"),
          "of whole numbers there is no norm, which it says itself");
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
    test_norms(HCY_FLOAT64, 40961, ODD);
    test_norms(HCY_COMPLEX64, 3, EVEN);
    test_norms(HCY_FLOAT32, 2000, -1);
    test_comparing();
    test_redistribution();
    for (int axis = -1; axis < 3; axis++) {
        test_file(axis, HCY_COMPLEX64, ".npy");
        test_file(axis, axis ? HCY_COMPLEX128 : HCY_FLOAT32, ".h5:/of/all");
    }
    test_other_files();
    test_dot_of_columns();
    test_refusals();
}

/* Two rounds of pieces, and one where all get the second one's numbers: it takes longer than all others. */
void test_long_sums(void)
{
    const int64_t before = scene.comm->most_gathered;
    if (scene.n_ranks == 1)
        return;
    for (int64_t most = 0; most < 8192; most += 5000) {
        scene.comm->most_gathered = most;
        test_dot(HCY_FLOAT32, 4300001, most ? EVEN : ODD);
    }
    scene.comm->most_gathered = before;
}
