/* pick.c - elements of arrays by their numbers and by their order, against plain C: take, put, concatenate, stack,
 * sort, argsort, histogram, of every type and layout; what overlaps; what is refused.  All of it on one device.
 *
 *     tests/pick [DEVICE [few]]        few: fewer types, where each means a compilation
 */
#include "cts_array.h"

#include "eval_pick_job.h"

#include <halcyon/eval.h>
#include <math.h>

static hcy_device *dev;
static hcy_queue *queue;
static bool few;

enum { MOST = 1 << 20 }; /* bytes of an array */

/* --- Arrays of random bits, and views of them --- */

struct view {
    hcy_array *whole, *view;
    hcy_array_info all, info;
    size_t bytes; /* of an element */
    char *data;   /* of the whole array */
};

static const struct layout {
    const char *what;
    int64_t times[3]; /* so many times as large the whole array is */
    const char *slice;
    int axes[3];
} layouts[] = {
    { "contiguous", { 1, 1, 1 }, ":", { 0, 1, 2 } },
    { "with gaps", { 2, 1, 3 }, "1::2, :, ::3", { 0, 1, 2 } },
    { "backwards", { 1, 2, 1 }, "::-1, ::2, ::-1", { 0, 1, 2 } },
    { "transposed", { 1, 1, 2 }, ":, :, ::-2", { 2, 0, 1 } },
};
enum { N_LAYOUTS = sizeof layouts / sizeof layouts[0] };

static struct view make_view(int dtype, int rank, const int64_t *shape, const struct layout *l, uint64_t seed)
{
    struct view v = { .bytes = hcy_dtype_size(dtype) };
    int64_t whole[8] = { 0 }, n = 1;
    hcy_array *part = NULL;
    bool laid = rank == 3;
    /* The view's axis d is axis axes[d] of the slice; only arrays of three axes have layouts. */
    for (int d = 0; d < rank; d++)
        whole[laid ? l->axes[d] : d] = shape[d];
    for (int d = 0; d < rank; d++)
        n *= whole[d] *= laid ? l->times[d] : 1;
    v.data = calloc((size_t)n + 1, v.bytes);
    for (size_t i = 0; i < (size_t)n * v.bytes; i++)
        v.data[i] = dtype == HCY_BOOL ? (char)(cts_random(&seed) >> 63) : (char)(cts_random(&seed) >> 40);
    if (hcy_array_from_host(&v.whole, dev, dtype, rank, whole, v.data) ||
        hcy_array_slice(&part, v.whole, "%s", laid ? l->slice : "...") ||
        hcy_array_transpose(&v.view, part, laid ? l->axes : (const int[]){ 0, 1, 2, 3, 4, 5, 6, 7 }))
        bail_out("no array: %s", hcy_last_error()->text);
    hcy_array_release(part);
    v.all = info_of(v.whole);
    v.info = info_of(v.view);
    return v;
}

static void end_view(struct view *v)
{
    hcy_array_release(v->whole);
    hcy_array_release(v->view);
    free(v->data);
}

/* Element `flat`, in C order of the view, in the whole array. */
static char *element(const struct view *v, int64_t flat)
{
    int64_t at = v->info.offset;
    for (int d = v->info.rank; d-- > 0; flat /= v->info.shape[d])
        at += flat % v->info.shape[d] * v->info.strides[d];
    return v->data + (size_t)at * v->bytes;
}

/* What the device has is what v->data has, between the view's elements too. */
static bool is_as_wanted(const struct view *v)
{
    static char got[MOST];
    size_t size = (size_t)v->all.count * v->bytes;
    if (size > sizeof got)
        bail_out("an array of %zu bytes", size);
    return !hcy_array_to_host(got, queue, v->whole) && !memcmp(got, v->data, size);
}

/* --- Take and put --- */

struct numbers {
    hcy_array *array;
    int64_t k[64], n;
    int rank;
    int64_t shape[2];
};

/* Integers around an axis's ends, some of them twice. */
static struct numbers make_numbers(int dtype, int rank, int64_t extent, uint64_t seed)
{
    struct numbers s = { .rank = rank, .n = rank == 0 ? 1 : rank == 1 ? 9 : 6, .shape = { rank == 1 ? 9 : 2, 3 } };
    bool is_signed = dtype == HCY_INT8 || dtype == HCY_INT16 || dtype == HCY_INT32 || dtype == HCY_INT64;
    char bytes[8 * 64];
    size_t size = hcy_dtype_size(dtype);
    for (int64_t i = 0; i < s.n; i++) {
        s.k[i] = (int64_t)(cts_random(&seed) % (uint64_t)(2 * extent + 4)) - extent - 2;
        if (!is_signed && s.k[i] < 0)
            s.k[i] = i % 2 ? 0 : extent - 1;
        if (extent > 100)
            s.k[i] %= 100;
        for (size_t b = 0; b < size; b++)
            bytes[(size_t)i * size + b] = (char)((uint64_t)s.k[i] >> 8 * b);
    }
    if (hcy_array_from_host(&s.array, dev, dtype, rank, s.shape, bytes))
        bail_out("no numbers: %s", hcy_last_error()->text);
    return s;
}

/* The parts of a shape before and behind an axis, as counts. */
struct around {
    int64_t outer, extent, inner;
};

static struct around around_axis(const int64_t *shape, int rank, int axis)
{
    struct around a = { 1, shape[axis], 1 };
    for (int d = 0; d < rank; d++)
        *(d < axis ? &a.outer : &a.inner) *= d == axis ? 1 : shape[d];
    return a;
}

static bool pick_once(int dtype, int number_type, int rank, int axis, size_t l, bool takes)
{
    const int64_t shape[3] = { 3, l ? 5 : 40, 7 };
    const int given = (int)l % 2 ? axis - 3 : axis;
    struct numbers k = make_numbers(number_type, rank, shape[axis], l + 7 * (size_t)axis + 1);
    int64_t picked_shape[4];
    int n = 0;
    for (int d = 0; d < 3; d++)
        if (d != axis)
            picked_shape[n++] = shape[d];
        else
            for (int i = 0; i < rank; i++)
                picked_shape[n++] = k.shape[i];
    const struct layout *other = &layouts[(l + 1) % N_LAYOUTS];
    struct view array = make_view(dtype, 3, shape, &layouts[l], 5),
                picked = make_view(dtype, n, picked_shape, other, 6);
    struct around a = around_axis(shape, 3, axis);
    for (int64_t o = 0; o < a.outer; o++)
        for (int64_t j = 0; j < k.n; j++)
            for (int64_t i = 0; i < a.inner; i++) {
                int64_t at = k.k[j] < 0 ? k.k[j] + a.extent : k.k[j];
                bool inside = at >= 0 && at < a.extent;
                char *one = element(&picked, (o * k.n + j) * a.inner + i);
                char *other_one = element(&array, (o * a.extent + (inside ? at : 0)) * a.inner + i);
                if (takes && inside)
                    memcpy(one, other_one, array.bytes);
                else if (takes)
                    memset(one, 0, array.bytes);
                else if (inside)
                    memcpy(other_one, one, array.bytes);
            }
    int status = takes ? hcy_array_take(queue, picked.view, array.view, k.array, given)
                       : hcy_array_put(queue, array.view, picked.view, k.array, given);
    bool right = !status && is_as_wanted(&picked) && is_as_wanted(&array);
    if (!right)
        diag("%s %s, %s, axis %d, numbers %s of %d axes: %s", takes ? "take" : "put", hcy_dtype_name(dtype),
             layouts[l].what, axis, hcy_dtype_name(number_type), rank,
             status ? hcy_last_error()->text : "not the oracle's");
    end_view(&array);
    end_view(&picked);
    hcy_array_release(k.array);
    return right;
}

static void test_picks(int dtype)
{
    static const int number_types[] = { HCY_INT64, HCY_INT8,  HCY_UINT8,  HCY_INT16,
                                        HCY_INT32, HCY_UINT16, HCY_UINT32, HCY_UINT64 };
    size_t asked = 0, wrong = 0;
    for (size_t l = 0; l < N_LAYOUTS; l++)
        for (int axis = 0; axis < 3; axis++)
            for (int rank = 0; rank < 3; rank++)
                for (int takes = 0; takes < 2; takes++, asked++) {
                    size_t type = few ? (asked / 2) % 2 : (asked / 2 + (size_t)dtype) % 8;
                    if (few && rank == 0)
                        continue;
                    wrong += !pick_once(dtype, number_types[type], rank, axis, l, takes);
                }
    ok(asked && !wrong, "%s: %zu times taken or put, %zu wrong", hcy_dtype_name(dtype), asked, wrong);
}

/* More numbers than a thread takes at once, many of them the same; a value that is broadcast; what overlaps. */
static void test_many(void)
{
    enum { N = 100000, PLACES = 300 };
    static int64_t numbers[N];
    static float values[N], got[N], want[PLACES];
    const int64_t n = N, places = PLACES;
    uint64_t seed = 3;
    size_t wrong = 0;
    for (int i = 0; i < N; i++) {
        numbers[i] = (int64_t)(cts_random(&seed) % (PLACES + 50)) - 25;
        values[i] = (float)i;
        int64_t at = numbers[i] < 0 ? numbers[i] + PLACES : numbers[i];
        if (at < PLACES)
            want[at] = (float)i;
    }
    hcy_array *k = NULL, *v = NULL, *to = NULL, *one = NULL, *back = NULL;
    st_ok(cts_first(hcy_array_from_host(&k, dev, HCY_INT64, 1, &n, numbers),
                    hcy_array_from_host(&v, dev, HCY_FLOAT32, 1, &n, values)),
          "many numbers");
    st_ok(hcy_array_full(&to, queue, HCY_FLOAT32, 1, &places, 0), "few places");
    st_ok(hcy_array_full(&one, queue, HCY_FLOAT32, 0, NULL, 7), "a single value");
    st_ok(hcy_array_put(queue, to, v, k, 0), "are put");
    st_ok(hcy_array_to_host(got, queue, to), "and read");
    ok(!memcmp(got, want, sizeof want), "of equal numbers the last one's stays");
    st_ok(hcy_array_take(queue, v, to, k, 0), "all are taken");
    st_ok(hcy_array_to_host(got, queue, v), "and read");
    for (int i = 0; i < N; i++) {
        int64_t at = numbers[i] < 0 ? numbers[i] + PLACES : numbers[i];
        wrong += got[i] != (at < PLACES ? want[at] : 0);
    }
    is_int((intmax_t)wrong, 0, "right");
    st_ok(hcy_array_put(queue, to, one, k, 0), "one value for all");
    st_ok(hcy_array_to_host(got, queue, to), "is read");
    wrong = 0;
    for (int i = 0; i < PLACES; i++)
        wrong += got[i] != 7;
    is_int((intmax_t)wrong, 0, "everywhere");
    /* The largest numbers do not count from the end. */
    const int64_t pair = 2;
    hcy_array *large = NULL, *two = NULL;
    st_ok(hcy_array_from_host(&large, dev, HCY_UINT64, 1, &pair, (const uint64_t[]){ UINT64_MAX, 1 }), "large numbers");
    st_ok(hcy_array_full(&two, queue, HCY_FLOAT32, 1, &pair, 1), "are there");
    st_ok(hcy_array_take(queue, two, to, large, 0), "and taken");
    st_ok(hcy_array_to_host(got, queue, two), "and read");
    ok(got[0] == 0 && got[1] == 7, "as outside: %g, %g", got[0], got[1]);
    hcy_array_release(large);
    hcy_array_release(two);
    /* An array over itself. */
    const int64_t three = 3;
    hcy_array *small = NULL, *turn = NULL;
    st_ok(hcy_array_from_host(&small, dev, HCY_INT64, 1, &three, (const int64_t[]){ 2, 0, 1 }), "numbers");
    st_ok(hcy_array_take(queue, small, small, small, 0), "taken by themselves to themselves");
    st_ok(hcy_array_to_host(numbers, queue, small), "and read");
    ok(numbers[0] == 1 && numbers[1] == 2 && numbers[2] == 0, "are as if read first");
    st_ok(hcy_array_slice(&back, small, "::-1"), "backwards");
    st_ok(hcy_array_from_host(&turn, dev, HCY_UINT8, 1, &three, (const uint8_t[]){ 0, 1, 2 }), "in order");
    st_ok(hcy_array_put(queue, small, back, turn, 0), "put over itself");
    st_ok(hcy_array_to_host(numbers, queue, small), "and read");
    ok(numbers[0] == 0 && numbers[1] == 2 && numbers[2] == 1, "are as if read first");
    hcy_array_release(k);
    hcy_array_release(v);
    hcy_array_release(to);
    hcy_array_release(one);
    hcy_array_release(small);
    hcy_array_release(back);
    hcy_array_release(turn);
}

/* --- Concatenate and stack --- */

static bool join_once(int dtype, int axis, size_t l, bool stacks)
{
    const int64_t sizes[3] = { 2, stacks ? 2 : 0, stacks ? 2 : 3 };
    int64_t shape[4] = { 3, 4, 5 }, joined[4];
    struct view parts[3], dst;
    int rank = stacks ? 4 : 3, n = 0, status = 0;
    for (int d = 0; d < rank; d++)
        joined[d] = d == axis ? (stacks ? 3 : 5) : shape[stacks ? n++ : d];
    dst = make_view(dtype, rank, joined, &layouts[l], 8);
    struct around a = around_axis(joined, rank, axis);
    int64_t before = 0;
    for (int i = 0; i < 3; i++) {
        if (!stacks)
            shape[axis] = sizes[i];
        parts[i] = make_view(dtype, 3, shape, &layouts[(l + (size_t)i) % N_LAYOUTS], 9 + (uint64_t)i);
        int64_t size = stacks ? 1 : sizes[i];
        for (int64_t o = 0; o < a.outer; o++)
            for (int64_t j = 0; j < size * a.inner; j++)
                memcpy(element(&dst, (o * a.extent + before) * a.inner + j),
                       element(&parts[i], o * size * a.inner + j), dst.bytes);
        before += size;
    }
    const hcy_array *arrays[3] = { parts[0].view, parts[1].view, parts[2].view };
    const int given = l % 2 ? axis - rank : axis;
    status = stacks ? hcy_array_stack(queue, dst.view, arrays, 3, given)
                    : hcy_array_concatenate(queue, dst.view, arrays, 3, given);
    bool right = !status && is_as_wanted(&dst);
    if (!right)
        diag("%s of %s, %s, axis %d: %s", stacks ? "stack" : "concatenate", hcy_dtype_name(dtype), layouts[l].what,
             axis, status ? hcy_last_error()->text : "not the oracle's");
    for (int i = 0; i < 3; i++)
        end_view(&parts[i]);
    end_view(&dst);
    return right;
}

static void test_joins(int dtype)
{
    size_t wrong = 0;
    for (size_t l = 0; l < N_LAYOUTS; l++)
        for (int stacks = 0; stacks < 2; stacks++)
            for (int axis = 0; axis < 3 + stacks; axis++)
                wrong += !join_once(dtype, axis, l, stacks);
    ok(!wrong, "%s: %zu wrongly joined", hcy_dtype_name(dtype), wrong);
}

/* --- Order --- */

/* A number of any type but complex ones, so that it can be compared. */
struct number {
    double real;
    int64_t whole;
    uint64_t natural;
    int64_t place;
};
static int compared_type;

static double half_number(uint16_t bits)
{
    int exponent = bits >> 10 & 31, rest = bits & 1023;
    double size = exponent ? ldexp(1024 + rest, exponent - 25) : ldexp(rest, -24);
    if (exponent == 31)
        size = rest ? NAN : INFINITY;
    return bits >> 15 ? -size : size;
}

static struct number number_of(int dtype, const char *at, int64_t place)
{
    struct number x = { 0, 0, 0, place };
    float narrow = 0;
    size_t bytes = hcy_dtype_size(dtype);
    memcpy(&x.natural, at, bytes);
    x.whole = (int64_t)(x.natural << (64 - 8 * bytes)) >> (64 - 8 * bytes);
    memcpy(&narrow, at, sizeof narrow < bytes ? sizeof narrow : bytes);
    if (dtype == HCY_FLOAT16)
        x.real = half_number((uint16_t)x.natural);
    else if (dtype == HCY_FLOAT32)
        x.real = narrow;
    else if (dtype == HCY_FLOAT64)
        memcpy(&x.real, at, sizeof x.real);
    return x;
}

static int compare_numbers(const void *a, const void *b)
{
    const struct number *x = a, *y = b;
    int order;
    if (compared_type >= HCY_FLOAT16)
        order = isnan(x->real) || isnan(y->real) ? !!isnan(x->real) - !!isnan(y->real)
                                                 : (x->real > y->real) - (x->real < y->real);
    else if (compared_type == HCY_BOOL || compared_type == HCY_UINT8 || compared_type == HCY_UINT16 ||
             compared_type == HCY_UINT32 || compared_type == HCY_UINT64)
        order = (x->natural > y->natural) - (x->natural < y->natural);
    else
        order = (x->whole > y->whole) - (x->whole < y->whole);
    /* What is equal stays in order. */
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

/* What `fill_plain` asks for: floats without NaNs and zeros, and numbers that are near each other. */
static bool fill_plain;

/* Few different numbers, and those at the ends; the others stay random bits. */
static void fill_numbers(struct view *v, int dtype)
{
    static const double ends[] = { 0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 2 };
    uint64_t seed = 12;
    for (int64_t i = 0; i < v->info.count; i++) {
        uint64_t r = cts_random(&seed) >> 32;
        double end = ends[r % 8];
        float narrow = (float)end;
        char *at = element(v, i);
        end = fill_plain ? (double)(r >> 8) / 1e5 - 50.25 : end;
        narrow = (float)end;
        if (!fill_plain && r >> 8 & 1)
            continue;
        if (dtype == HCY_FLOAT64)
            memcpy(at, &end, sizeof end);
        else if (dtype == HCY_FLOAT32)
            memcpy(at, &narrow, sizeof narrow);
        else if (dtype != HCY_BOOL)
            memset(at, (int)(r >> 16 & 3) * 127 / 3, v->bytes);
    }
    if (v->all.count && hcy_buffer_write_now(v->all.buffer, 0, v->data, (size_t)v->all.count * v->bytes))
        bail_out("%s", hcy_last_error()->text);
}

/* Arrays of layouts l, l + step, l + 2 step. */
static bool sort_once(int dtype, const int64_t *shape, int axis, size_t l, size_t step)
{
    static struct number row[MOST / 8];
    struct view src = make_view(dtype, 3, shape, &layouts[l], 20),
                dst = make_view(dtype, 3, shape, &layouts[(l + step) % N_LAYOUTS], 21),
                places = make_view(HCY_INT64, 3, shape, &layouts[(l + 2 * step) % N_LAYOUTS], 22);
    struct around a = around_axis(shape, 3, axis);
    fill_numbers(&src, dtype);
    compared_type = dtype;
    for (int64_t o = 0; o < a.outer; o++)
        for (int64_t i = 0; i < a.inner; i++) {
            for (int64_t k = 0; k < a.extent; k++)
                row[k] = number_of(dtype, element(&src, (o * a.extent + k) * a.inner + i), k);
            qsort(row, (size_t)a.extent, sizeof *row, compare_numbers);
            for (int64_t k = 0; k < a.extent; k++) {
                int64_t to = (o * a.extent + k) * a.inner + i, from = (o * a.extent + row[k].place) * a.inner + i;
                memcpy(element(&dst, to), element(&src, from), src.bytes);
                memcpy(element(&places, to), &row[k].place, sizeof row[k].place);
            }
        }
    int status = cts_first(hcy_array_sort(queue, dst.view, src.view, axis),
                           hcy_array_argsort(queue, places.view, src.view, axis - 3));
    bool right = !status && is_as_wanted(&dst) && is_as_wanted(&places) && is_as_wanted(&src);
    /* In place too. */
    for (int64_t k = 0; k < src.info.count; k++)
        memcpy(element(&src, k), element(&dst, k), src.bytes);
    status = cts_first(status, hcy_array_sort(queue, src.view, src.view, axis));
    right = right && !status && is_as_wanted(&src);
    if (!right)
        diag("%s, %s, axis %d of (%d, %d, %d): %s", hcy_dtype_name(dtype), layouts[l].what, axis, (int)shape[0],
             (int)shape[1], (int)shape[2], status ? hcy_last_error()->text : "not the oracle's");
    end_view(&src);
    end_view(&dst);
    end_view(&places);
    return right;
}

/* Rows that a CPU's threads share, and a few that they do not, of any bits and of plain numbers. */
static void test_long_order(int dtype)
{
    static const int64_t shapes[][3] = { { 1, 1, 100003 }, { 3, 1, 30000 } };
    size_t wrong = 0;
    for (size_t s = 0; s < 2; s++)
        for (int plain = 0; plain < 2; plain++) {
            fill_plain = plain;
            wrong += !sort_once(dtype, shapes[s], 2, 0, 0);
        }
    fill_plain = false;
    is_int((intmax_t)wrong, 0, "%s: long rows", hcy_dtype_name(dtype));
}

/* Places where the numbers stand that they are of. */
static void test_places_in_place(void)
{
    const int64_t shape[2] = { 2, 4 }, numbers[8] = { 9, -7, 9, 8, 4, 3, 2, 1 }, wanted[8] = { 1, 3, 0, 2, 3, 2, 1, 0 };
    int64_t got[8];
    hcy_array *a = NULL;
    int status = hcy_array_from_host(&a, dev, HCY_INT64, 2, shape, numbers);
    if (!status)
        status = hcy_array_argsort(queue, a, a, 1);
    if (!status)
        status = hcy_array_to_host(got, queue, a);
    ok(!status && !memcmp(got, wanted, sizeof got), "argsort in place");
    hcy_array_release(a);
}

static void test_order(int dtype)
{
    /* A run has 8 elements, and a CPU's block 4096. */
    static const int64_t shapes[][3] = { { 2, 3, 5 },    { 3, 8, 9 },     { 2, 1, 16 }, { 1, 17, 100 }, { 4, 1, 1 },
                                         { 1, 1, 4096 }, { 1, 2, 4097 }, { 1, 1, 9000 }, { 2, 0, 3 } };
    size_t wrong = 0, asked = 0;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (size_t l = 0; l < N_LAYOUTS; l++)
            for (int axis = 0; axis < 3; axis++) {
                if (few && (l + s + (size_t)axis) % 4)
                    continue;
                wrong += !sort_once(dtype, shapes[s], axis, l, 1);
                asked++;
            }
    ok(asked && !wrong, "%s: %zu times sorted, %zu wrong", hcy_dtype_name(dtype), asked, wrong);
}

/* --- Histograms --- */

static void test_histogram(int dtype, int64_t bins, double low, double high)
{
    static double edges[1000];
    static int64_t want[1000], got[2000];
    const int64_t shape[3] = { 10, 50, 20 }, twice = 2 * bins;
    struct view x = make_view(dtype, 3, shape, &layouts[bins % N_LAYOUTS], 30);
    hcy_array *both = NULL, *counts = NULL;
    uint64_t seed = 31;
    for (int64_t k = 0; k < bins; k++)
        edges[k] = (double)k * ((high - low) / (double)bins) + low;
    edges[bins] = high;
    memset(want, 0, sizeof want);
    for (int64_t i = 0; i < x.info.count; i++) {
        /* On the edges, beside them, anywhere. */
        double at = edges[cts_random(&seed) % (uint64_t)(bins + 1)];
        uint64_t kind = cts_random(&seed) >> 60;
        double value = kind < 4 ? at : kind < 6 ? nextafter(at, -INFINITY) : low + (high - low) * (double)kind / 13;
        float narrow = (float)value;
        if (dtype == HCY_FLOAT64 && kind != 15)
            memcpy(element(&x, i), &value, sizeof value);
        else if (dtype == HCY_FLOAT32 && kind != 15)
            memcpy(element(&x, i), &narrow, sizeof narrow);
        struct number n = number_of(dtype, element(&x, i), 0);
        double real = dtype >= HCY_FLOAT16 ? n.real : dtype == HCY_INT32 ? (double)n.whole : (double)n.natural;
        for (int64_t k = 0; k < bins; k++)
            want[k] += real >= edges[k] && (real < edges[k + 1] || (k == bins - 1 && real == high));
    }
    int status = hcy_buffer_write_now(x.all.buffer, 0, x.data, (size_t)x.all.count * x.bytes);
    status = cts_first(status, hcy_array_full(&both, queue, bins % 2 ? HCY_INT64 : HCY_UINT64, 1, &twice, 77));
    status = cts_first(status, hcy_array_slice(&counts, both, "::-2"));
    status = cts_first(status, hcy_array_histogram(queue, counts, x.view, low, high));
    status = cts_first(status, hcy_array_to_host(got, queue, both));
    size_t wrong = 0;
    for (int64_t k = 0; k < bins; k++)
        wrong += got[2 * (bins - k) - 1] != want[k] || got[2 * k] != 77;
    ok(!status && !wrong, "%s: %d bins from %g to %g", hcy_dtype_name(dtype), (int)bins, low, high);
    if (status)
        diag("%s", hcy_last_error()->text);
    hcy_array_release(both);
    hcy_array_release(counts);
    end_view(&x);
}

/* --- What is refused; nothing to do --- */

static void test_refusals(void)
{
    const int64_t four[2] = { 4, 3 }, two = 2;
    hcy_array *a = NULL, *b = NULL, *k = NULL, *f = NULL, *z = NULL, *none = NULL, *same = NULL,
              *other = NULL, *counts = NULL, *left = NULL;
    hcy_device *second = NULL;
    int status = hcy_array_full(&a, queue, HCY_FLOAT32, 2, four, 1);
    status = cts_first(status, hcy_array_full(&b, queue, HCY_FLOAT32, 2, four, 2));
    status = cts_first(status, hcy_array_full(&k, queue, HCY_INT32, 1, &two, 0));
    status = cts_first(status, hcy_array_full(&f, queue, HCY_FLOAT32, 1, &two, 0));
    status = cts_first(status, hcy_array_full(&z, queue, HCY_COMPLEX64, 1, &two, 0));
    status = cts_first(status, hcy_array_empty(&none, dev, HCY_FLOAT32, 2, (const int64_t[]){ 0, 3 }));
    status = cts_first(status, hcy_array_empty(&left, dev, HCY_FLOAT32, 2, (const int64_t[]){ 2, 3 }));
    status = cts_first(status, hcy_array_empty(&counts, dev, HCY_INT64, 1, &two));
    status = cts_first(status, hcy_array_broadcast(&same, f, 2, (const int64_t[]){ 3, 2 }));
    status = cts_first(status, hcy_device_open(&second, "cpu@threads=1"));
    status = cts_first(status, hcy_array_empty(&other, second, HCY_FLOAT32, 2, four));
    st_ok(status, "arrays");
    st_says(hcy_array_take(queue, b, a, k, 0), HCY_EINVAL, "a result of shape (2, 3) does not fit an array of (4, 3)",
            "another shape");
    st_says(hcy_array_take(queue, b, a, k, 2), HCY_EINVAL, "axis 2 is not in an array of 2 axes", "an axis beyond");
    st_says(hcy_array_take(queue, b, a, k, -3), HCY_EINVAL, "axis -3 is not in", "an axis before");
    st_says(hcy_array_take(queue, b, a, f, 0), HCY_EINVAL, "numbered by integers, not by float32", "real numbers");
    st_says(hcy_array_take(queue, counts, a, k, 0), HCY_EINVAL, "float32 to int64; hcy_eval() converts",
            "another type");
    st_says(hcy_array_take(queue, b, a, NULL, 0), HCY_EINVAL, "no numbers", "no numbers");
    st_says(hcy_array_take(queue, left, none, k, 0), HCY_EINVAL, "the axis has no elements", "elements of nothing");
    st_ok(hcy_array_put(queue, none, left, k, 0), "to an axis without elements nothing is put");
    st_says(hcy_array_take(queue, b, other, k, 0), HCY_EINVAL, "not on the queue's device", "another device's array");
    st_says(hcy_array_put(queue, same, f, k, 1), HCY_EINVAL, "share memory, or its axes step into one another: write to",
            "elements that share memory");
    st_says(hcy_array_sort(queue, z, z, 0), HCY_EINVAL, "complex numbers have no order", "complex numbers");
    st_says(hcy_array_argsort(queue, b, a, 0), HCY_EINVAL, "a result of int64, and an array of float32",
            "places as floats");
    st_says(hcy_array_histogram(queue, counts, a, 1, 1), HCY_EINVAL, "from 1 to 1 are no bins: the low end",
            "no range");
    st_says(hcy_array_histogram(queue, counts, a, 0, NAN), HCY_EINVAL, "are no bins", "no end");
    st_says(hcy_array_histogram(queue, f, a, 0, 1), HCY_EINVAL, "counts are int64 or uint64", "counts as floats");
    const hcy_array *pair[2] = { a, b }, *mixed[2] = { a, z };
    st_says(hcy_array_concatenate(queue, a, pair, 2, 0), HCY_EINVAL, "array 1 is beyond the result's end along axis 0",
            "too much");
    st_says(hcy_array_concatenate(queue, a, mixed, 2, 0), HCY_EINVAL, "array 1 is complex64 of 1 axes", "mixed types");
    st_says(hcy_array_stack(queue, a, pair, 2, 0), HCY_EINVAL, "array 0 is float32 of 2 axes",
            "no axis to stack along");
    st_says(hcy_array_concatenate(queue, a, pair, 0, 0), HCY_EINVAL, "no arrays", "nothing");
    st_says(hcy_array_sort(NULL, a, a, 0), HCY_EINVAL, "no queue", "no queue");
    st_ok(hcy_array_sort(queue, none, none, 0), "nothing is sorted");
    st_ok(hcy_array_histogram(queue, counts, none, 0, 1), "nothing is counted");
    int64_t got[2] = { 5, 5 };
    st_ok(hcy_array_to_host(got, queue, counts), "and read");
    ok(!got[0] && !got[1], "as 0");
    hcy_array *const all[] = { a, b, k, f, z, none, same, other, counts, left };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        hcy_array_release(all[i]);
    hcy_device_release(second);
}

/* --- Kernels are anybody's to launch: what does not lie in its buffer is not touched --- */

static int launch_pick(const hcy_eval_job *job, const hcy_eval_strides *strides, hcy_buffer *b, bool takes)
{
    const struct hcy__pick_at at = hcy__pick_at(takes);
    hcy_arg args[HCY_MAX_ARGS];
    hcy_queue *q = cts_queue(dev);
    hcy_kernel *kernel = NULL;
    int status = hcy_kernel_get(&kernel, dev, takes ? "eval_take" : "eval_put");
    args[at.job] = hcy_arg_struct(job, sizeof *job);
    args[at.strides] = hcy_arg_struct(strides, sizeof *strides);
    for (int k = 0; k < HCY_PICK_OPERANDS; k++)
        args[at.operands[k]] = hcy_arg_buf(b);
    if (!takes)
        args[HCY_ARG_AT(eval_put, owners)] = hcy_arg_buf(b);
    if (!status)
        status = hcy_launch(q, kernel, 1, args, at.n);
    /* A device may look at a launch when it comes to it. */
    status = cts_first(status, hcy_queue_finish(q));
    hcy_kernel_release(kernel);
    hcy_queue_release(q);
    return status;
}

/* Keys of bytes, their places, and room for both. */
static int launch_sort(uint64_t n, uint64_t span, hcy_buffer *const b[4])
{
    hcy_eval_job job = { .n = n, .span = span };
    hcy_arg args[HCY_N_ARGS(eval_sort)];
    hcy_queue *q = cts_queue(dev);
    hcy_kernel *kernel = NULL;
    int status = hcy_kernel_get(&kernel, dev, "eval_sort");
    job.values[HCY_PICK_MEMORY] = HCY_EVAL_M_U8;
    args[HCY_ARG_AT(eval_sort, job)] = hcy_arg_struct(&job, sizeof job);
    args[HCY_ARG_AT(eval_sort, keys)] = hcy_arg_buf(b[0]);
    args[HCY_ARG_AT(eval_sort, places)] = hcy_arg_buf(b[1]);
    args[HCY_ARG_AT(eval_sort, spare_keys)] = hcy_arg_buf(b[2]);
    args[HCY_ARG_AT(eval_sort, spare_places)] = hcy_arg_buf(b[3]);
    args[HCY_ARG_AT(eval_sort, scratch)] = hcy_arg_buf(NULL);
    if (!status)
        status = hcy_launch(q, kernel, 1, args, HCY_N_ARGS(eval_sort));
    status = cts_first(status, hcy_queue_finish(q));
    hcy_kernel_release(kernel);
    hcy_queue_release(q);
    return status;
}

static void test_sort_launches(hcy_buffer *b)
{
    enum { ROW = 10000 };
    hcy_buffer *same[4] = { b, b, b, b }, *own[4];
    st_says(launch_sort(9, 9, same), HCY_ERANGE, "smaller than the job says", "more keys than there are");
    st_says(launch_sort(8, 3, same), HCY_EINVAL, "numbers do not fit", "parts of rows");
    st_says(launch_sort(8, 0, same), HCY_EINVAL, "numbers do not fit", "rows of nothing");
    st_says(launch_sort(4, 4, same), HCY_EINVAL, "share memory", "keys that are places");
    for (int k = 0; k < 4; k++)
        own[k] = cts_buffer(dev, (size_t)8 * ROW);
    /* A device that wants scratch memory for long rows does nothing without. */
    const int status = launch_sort(ROW, ROW, own);
    if (status)
        st_says(status, HCY_EINVAL, "too little scratch", "a long row without scratch memory");
    else
        ok(true, "a long row without scratch memory");
    for (int k = 0; k < 4; k++)
        hcy_buffer_release(own[k]);
}

/* Of values, 8 bytes each; `apart`: what is sorted lies so far behind them, in the same buffer. */
static int launch_sort_values(uint64_t n, uint64_t span, uint64_t memory, uint64_t apart, hcy_buffer *b,
                              hcy_buffer *spare)
{
    const hcy_eval_job job = { .n = n, .span = span, .offset = { 0, apart }, .values = { memory } };
    hcy_arg args[HCY_N_ARGS(eval_sort_values)];
    hcy_queue *q = cts_queue(dev);
    hcy_kernel *kernel = NULL;
    int status = hcy_kernel_get(&kernel, dev, "eval_sort_values");
    args[HCY_ARG_AT(eval_sort_values, job)] = hcy_arg_struct(&job, sizeof job);
    args[HCY_ARG_AT(eval_sort_values, values)] = args[HCY_ARG_AT(eval_sort_values, sorted)] = hcy_arg_buf(b);
    args[HCY_ARG_AT(eval_sort_values, spare)] = hcy_arg_buf(spare);
    args[HCY_ARG_AT(eval_sort_values, scratch)] = hcy_arg_buf(NULL);
    if (!status)
        status = hcy_launch(q, kernel, 1, args, HCY_N_ARGS(eval_sort_values));
    status = cts_first(status, hcy_queue_finish(q));
    hcy_kernel_release(kernel);
    hcy_queue_release(q);
    return status;
}

/* A device need not sort values by themselves. */
static void test_value_launches(hcy_buffer *b)
{
    static const int64_t mixed[8] = { 4, -1, 3, 2 }, sorted[8] = { 4, -1, 3, 2, -1, 2, 3, 4 };
    int64_t got[8];
    hcy_kernel *kernel = NULL;
    hcy_buffer *spare = NULL;
    if (hcy_kernel_get(&kernel, dev, "eval_sort_values")) {
        skip(11, "no sort of values on this device");
        return;
    }
    hcy_kernel_release(kernel);
    st_ok(hcy_buffer_create(&spare, dev, HCY_MEM_DEVICE, 64), "a buffer");
    st_ok(hcy_buffer_write_now(b, 0, mixed, 64), "numbers");
    st_says(launch_sort_values(5, 5, HCY_EVAL_M_I64, 4, b, spare), HCY_ERANGE, "smaller", "too many");
    st_says(launch_sort_values(4, 4, HCY_EVAL_M_I64, 3, b, spare), HCY_EINVAL, "share memory", "too near");
    st_says(launch_sort_values(4, 4, HCY_EVAL_M_I64, 4, b, b), HCY_EINVAL, "share memory", "no spare room");
    st_says(launch_sort_values(4, 4, HCY_EVAL_M_I64, UINT64_MAX, b, spare), HCY_ERANGE, "smaller",
            "far away");
    st_says(launch_sort_values(4, 3, HCY_EVAL_M_I64, 4, b, spare), HCY_EINVAL, "do not fit", "parts of rows");
    st_says(launch_sort_values(4, 4, HCY_EVAL_M_BOOL, 4, b, spare), HCY_EINVAL, "do not fit", "no order");
    st_ok(launch_sort_values(4, 4, HCY_EVAL_M_I64, 4, b, spare), "sorted");
    st_ok(hcy_buffer_read_now(got, b, 0, 64), "and read");
    ok(!memcmp(got, sorted, sizeof got), "sorted behind the values");
    hcy_buffer_release(spare);
}

static void test_launches(void)
{
    /* 4 elements of 4 bytes and 4 numbers, in a buffer of 64 bytes. */
    const hcy_eval_job good = { .n = 4, .span = 4, .rank = 1, .n_operands = 3, .shape = { 4 }, .offset = { 0, 4, 4 },
                                .values = { 4, 1, 4, 1 } };
    const hcy_eval_strides along = { { { 1 }, { 0 }, { 1 } } };
    hcy_eval_job job;
    static _Alignas(8) int32_t host[17];
    hcy_eval_strides strides = along;
    hcy_buffer *b = NULL, *lent = NULL;
    st_ok(hcy_buffer_create(&b, dev, HCY_MEM_DEVICE, 64), "a buffer");
    st_ok(hcy_buffer_write_now(b, 0, (const int64_t[8]){ 0 }, 64), "of zeros");
    for (int takes = 0; takes < 2; takes++) {
        st_ok(launch_pick(&good, &along, b, takes), takes ? "taken" : "put");
        job = good;
        job.values[HCY_PICK_EXTENT] = 13;
        st_says(launch_pick(&job, &along, b, takes), HCY_ERANGE, "operand 1 does not lie", "a long axis");
        job.values[HCY_PICK_EXTENT] = UINT64_MAX;
        st_says(launch_pick(&job, &along, b, takes), HCY_ERANGE, "operand 1 does not lie", "an endless one");
        job.values[HCY_PICK_EXTENT] = 0;
        st_says(launch_pick(&job, &along, b, takes), HCY_EINVAL, "numbers do not fit", "none");
        job = good;
        job.values[HCY_PICK_STEP] = (uint64_t)INT64_MIN;
        st_says(launch_pick(&job, &along, b, takes), HCY_ERANGE, "operand 1 does not lie", "a step to nowhere");
        strides.of[0][0] = -1;
        st_says(launch_pick(&good, &strides, b, takes), HCY_ERANGE, "operand 0 does not lie", "a stride to before");
        strides = along;
        strides.of[2][0] = 2;
        st_says(launch_pick(&good, &strides, b, takes), HCY_ERANGE, "operand 2 does not lie", "numbers behind the end");
        strides = along;
        job = good;
        job.values[HCY_PICK_BYTES] = 3;
        st_says(launch_pick(&job, &along, b, takes), HCY_EINVAL, "numbers do not fit", "3 bytes");
        job = good;
        job.rank = 9;
        st_says(launch_pick(&job, &along, b, takes), HCY_EINVAL, "numbers do not fit", "9 axes");
        job = good;
        job.n = 5;
        st_says(launch_pick(&job, &along, b, takes), HCY_EINVAL, "numbers do not fit", "another count than the shape's");
    }
    if (hcy_buffer_import_host(&lent, dev, host + 1, 64, NULL, NULL))
        skip(1, "%s", hcy_last_error()->text);
    else
        st_says(launch_pick(&good, &along, lent, true), HCY_ERANGE, "operand 2 does not lie", "numbers between two");
    hcy_buffer_release(lent);
    test_sort_launches(b);
    test_value_launches(b);
    hcy_buffer_release(b);
}

int main(int argc, char **argv)
{
    static const int types[] = { HCY_FLOAT32, HCY_COMPLEX128, HCY_UINT8,  HCY_BOOL,   HCY_INT8,
                                 HCY_INT16,   HCY_UINT16,     HCY_INT32,  HCY_UINT32, HCY_INT64,
                                 HCY_UINT64,  HCY_FLOAT16,    HCY_FLOAT64, HCY_COMPLEX64 };
    cts_begin(argc, argv);
    few = TAP_THREAD_SANITIZER || (argc > 2 && !strcmp(argv[2], "few"));
    dev = cts_open();
    queue = cts_queue(dev);
    for (size_t i = 0; i < (few ? 2 : sizeof types / sizeof types[0]); i++) {
        test_picks(types[i]);
        test_joins(types[i]);
    }
    for (size_t i = 0; i < (few ? 1 : sizeof types / sizeof types[0]); i++)
        if (types[i] < HCY_COMPLEX64)
            test_order(types[i]);
    /* Those whose keys have two bytes, four and eight, with and without a sign. */
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i] < HCY_COMPLEX64 &&
            (!few || types[i] == HCY_INT8 || types[i] == HCY_UINT32 || types[i] == HCY_FLOAT64))
            test_long_order(types[i]);
    test_many();
    test_places_in_place();
    test_histogram(HCY_FLOAT64, 10, -0.3, 1.7);
    if (!few) {
        test_histogram(HCY_FLOAT64, 257, 0, 1);
        test_histogram(HCY_FLOAT32, 33, 0.1, 0.7);
        test_histogram(HCY_UINT8, 7, 3, 200);
        test_histogram(HCY_INT32, 100, -2e9, 2e9);
        test_histogram(HCY_BOOL, 2, 0, 1);
        test_histogram(HCY_FLOAT16, 1, -4, 4);
    }
    test_refusals();
    test_launches();
    /* A driver that still compiles for the last command must not meet the end of the process. */
    (void)!hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
