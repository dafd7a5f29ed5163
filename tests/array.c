/* array.c - arrays: slices as NumPy has them, views, copies, files, other devices.
 *
 *     tests/array [DEVICE [SECOND DEVICE]]
 */
#include "cts_array.h"

#include <halcyon/array.h>
#include <halcyon/eval.h>
#include <unistd.h>

static hcy_device *dev;
static hcy_queue *queue;

static const int64_t cube[3] = { 4, 5, 6 };
static int32_t numbers[120];

static hcy_array *make_cube(void)
{
    hcy_array *a = NULL;
    for (int i = 0; i < 120; i++)
        numbers[i] = i;
    if (hcy_array_from_host(&a, dev, HCY_INT32, 3, cube, numbers))
        bail_out("no array: %s", hcy_last_error()->text);
    return a;
}

/* The view has this shape, and its numbers are first, first + step, ... as the last axis runs, and this last of all. */
static void check_view(hcy_array *v, const char *what, int rank, int64_t n0, int64_t n1, int64_t n2,
                       int first, int second, int last)
{
    hcy_array_info i = info_of(v);
    const int64_t shape[3] = { n0, n1, n2 };
    int32_t data[120] = { 0 };
    bool right = i.rank == rank && !memcmp(i.shape, shape, sizeof *shape * (size_t)rank);
    st_ok(hcy_array_to_host(data, queue, v), "%s is read", what);
    right = right && (!i.count || data[0] == first) && (i.count < 2 || data[1] == second) &&
            (!i.count || data[i.count - 1] == last);
    ok(right, "%s has its shape and its numbers", what);
    if (!right)
        diag("rank %d, shape %lld %lld %lld, numbers %d %d ... %d", i.rank, (long long)i.shape[0],
             (long long)i.shape[1], (long long)i.shape[2], data[0], data[1], data[i.count ? i.count - 1 : 0]);
}

static void test_slices(void)
{
    static const struct {
        const char *text;
        int rank;
        int64_t shape[3];
        int first, second, last; /* numpy.arange(120).reshape(4, 5, 6)[text] */
    } cases[] = {
        { "", 3, { 4, 5, 6 }, 0, 1, 119 },
        { "...", 3, { 4, 5, 6 }, 0, 1, 119 },
        { "1", 2, { 5, 6 }, 30, 31, 59 },
        { "-1, -1, -1", 0, { 0 }, 119, 0, 119 },
        { "1:3, ::2, ::-1", 3, { 2, 3, 6 }, 35, 34, 84 },
        { "..., 2", 2, { 4, 5 }, 2, 8, 116 },
        { "2, ..., -2:", 2, { 5, 2 }, 64, 65, 89 },
        { "2,\r\n..., -2:", 2, { 5, 2 }, 64, 65, 89 },
        { "::-2, 1, 4:1:-1", 2, { 2, 3 }, 100, 99, 38 },
        { " -3:-1 , : , 0:100:4", 3, { 2, 5, 2 }, 30, 34, 88 },
        { "3:1", 3, { 0, 5, 6 }, 0, 0, 0 },
        { "5:, 0, 0", 1, { 0 }, 0, 0, 0 },
        { "0, new, 0:2", 3, { 1, 2, 6 }, 0, 1, 11 },
        { "::9223372036854775, 0, 0", 1, { 1 }, 0, 0, 0 },
    };
    hcy_array *a = make_cube(), *v = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        st_ok(hcy_array_slice(&v, a, "%s", cases[i].text), "[%s]", cases[i].text);
        check_view(v, cases[i].text, cases[i].rank, cases[i].shape[0], cases[i].shape[1], cases[i].shape[2],
                   cases[i].first, cases[i].second, cases[i].last);
        hcy_array_release(v);
    }
    st_ok(hcy_array_slice(&v, a, "%d, %d:%d", 2, 1, 3), "numbers as printf has them");
    check_view(v, "[2, 1:3]", 2, 2, 6, 0, 66, 67, 77);
    hcy_array_release(v);
    v = NULL;
    st_says(hcy_array_slice(&v, a, "4"), HCY_ERANGE, "axis 0 has 4", "an index outside");
    st_says(hcy_array_slice(&v, a, "0, -6"), HCY_ERANGE, "axis 1", "one before the first");
    st_says(hcy_array_slice(&v, a, "0, 0, 0, 0"), HCY_EINVAL, "column 10", "too many items");
    st_says(hcy_array_slice(&v, a, "::0"), HCY_EINVAL, "step of 0", "a step of 0");
    st_says(hcy_array_slice(&v, a, "x"), HCY_EINVAL, "column 1", "a word");
    st_says(hcy_array_slice(&v, a, "1 2"), HCY_EINVAL, "comma", "no comma");
    st_says(hcy_array_slice(&v, a, "..., ..."), HCY_EINVAL, "twice", "two rests");
    st_says(hcy_array_slice(&v, a, "99999999999999999999:"), HCY_EINVAL, "no array has",
            "a number beyond all");
    st_says(hcy_array_slice(&v, a, "new, new, new, new, new, new"), HCY_EINVAL, "more axes", "nine axes");
    ok(!v, "nothing comes of these");
    hcy_array_release(a);
}

static void test_views(void)
{
    hcy_array *a = make_cube(), *v = NULL, *w = NULL;
    const int order[3] = { 2, 0, 1 }, twice[3] = { 0, 0, 1 };
    const int64_t flat[2] = { 8, -1 }, thirty[1] = { 30 }, wide[3] = { 2, 1, 6 }, odd[2] = { 7, -1 },
                  many[3] = { 3, 5, 6 };
    st_ok(hcy_array_transpose(&v, a, NULL), "axes reversed");
    check_view(v, "the transposed array", 3, 6, 5, 4, 0, 30, 119);
    st_says(hcy_array_reshape(&w, v, 1, (const int64_t[]){ 120 }), HCY_ESTATE, "copy it",
            "whose elements do not lie in a row");
    hcy_array_release(v);
    st_ok(hcy_array_transpose(&v, a, order), "another order");
    check_view(v, "axes 2, 0, 1", 3, 6, 4, 5, 0, 6, 119);
    hcy_array_release(v);
    st_says(hcy_array_transpose(&v, a, twice), HCY_EINVAL, "twice", "an axis that comes twice");
    st_ok(hcy_array_reshape(&v, a, 2, flat), "eight rows");
    check_view(v, "[8][15]", 2, 8, 15, 0, 0, 1, 119);
    hcy_array_release(v);
    st_says(hcy_array_reshape(&v, a, 2, odd), HCY_EINVAL, "as many elements", "seven rows");
    st_says(hcy_array_reshape(&v, a, 3, (const int64_t[]){ -1, 4, -1 }), HCY_EINVAL, "axes 0 and 2 are -1",
            "two sizes to be found");
    st_ok(hcy_array_slice(&w, a, "1"), "a plane");
    st_ok(hcy_array_reshape(&v, w, 1, thirty), "as a row");
    check_view(v, "the row", 1, 30, 0, 0, 30, 31, 59);
    hcy_array_release(v);
    hcy_array_release(w);
    st_ok(hcy_array_slice(&w, a, "0, 0"), "a row");
    st_ok(hcy_array_broadcast(&v, w, 3, wide), "repeated");
    check_view(v, "its repetition", 3, 2, 1, 6, 0, 1, 5);
    hcy_array_release(v);
    st_says(hcy_array_broadcast(&v, a, 3, many), HCY_EINVAL, "(4, 5, 6)",
            "what has four is not repeated to three");
    st_says(hcy_array_copy(queue, w, a), HCY_EINVAL, "hcy_array_copy: an array of shape (4, 5, 6) is not broadcast to (6,)",
            "nor copied to where it has no room");
    st_ok(hcy_array_broadcast(&v, w, 3, wide), "a row repeated");
    st_says(hcy_array_copy(queue, v, w), HCY_EINVAL, "hcy_array_copy: elements", "which is no place for a copy");
    hcy_array_release(v);
    hcy_array_release(w);
    hcy_array_release(a);
    st_says(hcy_array_empty(&a, dev, 99, 0, NULL), HCY_EINVAL, "99", "no type");
    st_is(hcy_array_empty(&a, dev, HCY_INT8, 9, cube), HCY_EINVAL, "nine axes");
    st_is(hcy_array_empty(&a, dev, HCY_INT8, 1, (const int64_t[]){ -1 }), HCY_EINVAL, "a negative size");
    st_is(hcy_array_empty(&a, dev, HCY_INT8, 3, (const int64_t[]){ INT64_MAX, INT64_MAX, 2 }), HCY_ERANGE,
          "beyond memory");
    st_is(hcy_array_empty(&a, dev, HCY_INT8, 3, (const int64_t[]){ INT64_MAX, INT64_MAX, 0 }), HCY_ERANGE,
          "and beside an axis of none");
    st_ok(hcy_array_from_host(&a, dev, HCY_INT8, 1, (const int64_t[]){ 0 }, NULL), "no numbers are taken from nowhere");
    hcy_array_release(a);
    st_says(hcy_array_from_host(&a, dev, HCY_INT8, 1, (const int64_t[]){ 1 }, NULL), HCY_EINVAL, "no data",
            "some are not");
}

static void test_buffers(void)
{
    const int64_t shape[2] = { 3, 4 }, strides[2] = { -4, 1 };
    int32_t data[12] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
    hcy_buffer *b = cts_buffer(dev, sizeof data);
    hcy_array *a = NULL;
    st_ok(hcy_buffer_write_now(b, 0, data, sizeof data), "a buffer");
    st_ok(hcy_array_of_buffer(&a, b, HCY_INT32, 2, shape, strides, 8), "as an array upside down");
    check_view(a, "it", 2, 3, 4, 0, 8, 9, 3);
    hcy_array_release(a);
    st_is(hcy_array_of_buffer(&a, b, HCY_INT32, 2, shape, strides, 9), HCY_ERANGE,
          "one element further is outside");
    st_is(hcy_array_of_buffer(&a, b, HCY_INT32, 2, shape, strides, 7), HCY_ERANGE, "before the first too");
    st_is(hcy_array_of_buffer(&a, b, HCY_INT64, 2, shape, NULL, 0), HCY_ERANGE, "and so are wider numbers");
    hcy_array *part = NULL;
    st_ok(hcy_array_of_buffer(&a, b, HCY_COMPLEX64, 2, (const int64_t[]){ 1, 3 }, (const int64_t[]){ INT64_MAX, 1 }, 0),
          "a stride that is never used may be any");
    st_ok(hcy_array_part(&part, a, 1), "as views may");
    hcy_array_release(part);
    hcy_array_release(a);
    /* Views of one buffer, six numbers each, that have four in common. */
    const int64_t six = 6;
    hcy_buffer *parts[3] = { NULL };
    hcy_array *from = NULL, *to = NULL;
    int32_t back[6] = { 0 };
    int status = hcy_buffer_sub(&parts[0], b, 0, 24);
    status = cts_first(status, hcy_buffer_sub(&parts[1], b, 8, 24));
    status = cts_first(status, hcy_array_of_buffer(&from, parts[0], HCY_INT32, 1, &six, NULL, 0));
    status = cts_first(status, hcy_array_of_buffer(&to, parts[1], HCY_INT32, 1, &six, NULL, 0));
    status = cts_first(status, hcy_array_copy(queue, to, from));
    status = cts_first(status, hcy_array_to_host(back, queue, to));
    st_ok(status, "a copy between views of one buffer that overlap");
    ok(!memcmp(back, data, sizeof back), "is as if all was read first");
    st_ok(hcy_buffer_sub(&parts[2], b, 2, 40), "a view that begins within a number");
    st_says(hcy_array_of_buffer(&a, parts[2], HCY_INT32, 1, &six, NULL, 0), HCY_EINVAL, "boundaries",
            "is no array of these");
    st_ok(hcy_array_of_buffer(&a, parts[2], HCY_INT16, 1, &six, NULL, 0), "but of shorter ones");
    hcy_array_release(a);
    hcy_array_release(from);
    hcy_array_release(to);
    for (int i = 0; i < 3; i++)
        hcy_buffer_release(parts[i]);
    hcy_buffer_release(b);
}

/* Complex numbers begin where a float may, which is no place for eight bytes at once. */
static void test_odd_places(void)
{
    const int64_t two = 2, three = 3;
    int32_t data[10] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 }, back[4] = { 0 };
    hcy_buffer *b = cts_buffer(dev, sizeof data), *part = NULL;
    hcy_array *from = NULL, *to = NULL;
    if (cts_is("opencl")) {
        skip(2, "views of OpenCL's buffers begin at larger multiples");
        hcy_buffer_release(b);
        return;
    }
    int status = hcy_buffer_write_now(b, 0, data, sizeof data);
    status = cts_first(status, hcy_buffer_sub(&part, b, 4, 36));
    status = cts_first(status, hcy_array_of_buffer(&from, part, HCY_COMPLEX64, 1, &two, &two, 0));
    status = cts_first(status, hcy_array_to_host(back, queue, from));
    ok(!status && back[0] == 1 && back[1] == 2 && back[2] == 5 && back[3] == 6,
       "every other complex number from a float's place on");
    status = cts_first(status, hcy_array_of_buffer(&to, part, HCY_COMPLEX64, 1, &two, &three, 0));
    status = cts_first(status, hcy_array_copy(queue, to, from));
    status = cts_first(status, hcy_array_to_host(back, queue, to));
    ok(!status && back[0] == 1 && back[1] == 2 && back[2] == 5 && back[3] == 6, "... copied to such places");
    hcy_array_release(from);
    hcy_array_release(to);
    hcy_buffer_release(part);
    hcy_buffer_release(b);
}

static void test_copies(hcy_device *other)
{
    static const int types[] = { HCY_BOOL,    HCY_INT16,     HCY_FLOAT16,   HCY_FLOAT32,
                                 HCY_FLOAT64, HCY_COMPLEX64, HCY_COMPLEX128 };
    unsigned char *bits = cts_bytes(120 * 16, 3), back[120 * 16];
    hcy_queue *there = cts_queue(other);
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        size_t size = hcy_dtype_size(types[t]), wrong = 0;
        hcy_array *a = NULL, *to = NULL, *from = NULL, *far = NULL, *result = NULL;
        for (size_t i = 0; types[t] == HCY_BOOL && i < 120; i++)
            bits[i] &= 1;
        int status = hcy_array_from_host(&a, dev, types[t], 3, cube, bits);
        status = cts_first(status, hcy_array_full(&result, queue, types[t], 3, cube, 0));
        status = cts_first(status, hcy_array_slice(&to, result, "::-1, ::-1, ::-1"));
        status = cts_first(status, hcy_array_copy(queue, to, a));
        status = cts_first(status, hcy_array_slice(&from, result, "..., ::-1"));
        status = cts_first(status, hcy_array_to_device(&far, there, from, queue));
        status = cts_first(status, hcy_array_to_host(back, there, far));
        st_ok(status, "%s to reversed places, and to %s", hcy_dtype_name(types[t]), cts_spec2);
        for (size_t i = 0; i < 120; i++) {
            size_t row = 19 - i / 6, at = row * 6 + i % 6;
            wrong += memcmp(back + i * size, bits + at * size, size) != 0;
        }
        is_int((intmax_t)wrong, 0, "with the same bits, whatever number they are");
        hcy_array_release(a);
        hcy_array_release(to);
        hcy_array_release(from);
        hcy_array_release(far);
        hcy_array_release(result);
    }
    hcy_queue_release(there);
    free(bits);
}

/* Rows of complex numbers with gaps between them: to other rows, a row to many, and to where they overlap. */
static void test_rows(void)
{
    static const char *const cuts[][2] = { { "1:4, 2:5, :3", ":3, 1:4, 2:5" },
                                           { "..., 2:", "0, :, 1:5" },
                                           { "..., 1:", "..., :5" } };
    for (size_t c = 0; c < sizeof cuts / sizeof cuts[0]; c++) {
        double bits[240], want[240], got[240];
        hcy_array *a = NULL, *b = NULL, *to = NULL, *from = NULL;
        for (int i = 0; i < 240; i++)
            want[i] = bits[i] = i;
        for (int i = 0; i < 120; i++) {
            const int plane = i / 30, row = i / 6 % 5, at = i % 6;
            const int source = c == 0 ? (plane >= 1 && row >= 2 && at < 3 ? i - 36 + 2 : i)
                               : c == 1 ? (at >= 2 ? row * 6 + at - 1 : i)
                                        : (at >= 1 ? i - 1 : i);
            want[2 * i] = bits[2 * source];
            want[2 * i + 1] = bits[2 * source + 1];
        }
        int status = hcy_array_from_host(&a, dev, HCY_COMPLEX128, 3, cube, bits);
        status = cts_first(status, hcy_array_from_host(&b, dev, HCY_COMPLEX128, 3, cube, bits));
        status = cts_first(status, hcy_array_slice(&to, a, "%s", cuts[c][0]));
        /* The last cut is from itself. */
        status = cts_first(status, hcy_array_slice(&from, c == 2 ? a : b, "%s", cuts[c][1]));
        status = cts_first(status, hcy_array_copy(queue, to, from));
        status = cts_first(status, hcy_array_to_host(got, queue, a));
        st_ok(status, "complex numbers [%s] to [%s]", cuts[c][1], cuts[c][0]);
        ok(!memcmp(got, want, sizeof got), "arrive, and no others change");
        hcy_array_release(a);
        hcy_array_release(b);
        hcy_array_release(to);
        hcy_array_release(from);
    }
}

static void test_files(void)
{
    static const int types[] = { HCY_BOOL, HCY_INT8, HCY_UINT64, HCY_FLOAT16, HCY_FLOAT64, HCY_COMPLEX64 };
    char path[64];
    hcy_array *a = NULL, *v = NULL, *again = NULL;
    snprintf(path, sizeof path, "/tmp/halcyon-array-%ld.npy", (long)getpid());
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        unsigned char one[30 * 16] = { 0 }, two[30 * 16] = { 1 };
        char text[40];
        snprintf(text, sizeof text, "a = %s(index %% 7)", hcy_dtype_name(types[t]));
        int status = hcy_array_empty(&a, dev, types[t], 3, cube);
        status = cts_first(status, HCY_EVAL(queue, text, hcy_op_array("a", a)));
        status = cts_first(status, hcy_array_slice(&v, a, "2, :, :"));
        status = cts_first(status, hcy_array_to_file(queue, v, path));
        status = cts_first(status, hcy_array_from_file(&again, dev, path));
        st_ok(status, "%s to a file and back", hcy_dtype_name(types[t]));
        status = cts_first(status, hcy_array_to_host(one, queue, v));
        status = cts_first(status, hcy_array_to_host(two, queue, again));
        hcy_array_info i = info_of(again);
        ok(!status && i.dtype == types[t] && i.rank == 2 && i.shape[0] == 5 && i.shape[1] == 6 &&
               !memcmp(one, two, 30 * hcy_dtype_size(types[t])),
           "with its type and its numbers");
        hcy_array_release(a);
        hcy_array_release(v);
        hcy_array_release(again);
    }
    /* In Fortran's order, as NumPy would write [[0, 1, 2], [3, 4, 5]]. */
    char head[] = "\x93NUMPY\x01\0\0\0{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }          \n";
    head[8] = (char)(sizeof head - 1 - 10);
    const int32_t columns[6] = { 0, 3, 1, 4, 2, 5 };
    FILE *f = fopen(path, "wb");
    ok(f && fwrite(head, 1, sizeof head - 1, f) == sizeof head - 1 && fwrite(columns, 4, 6, f) == 6 &&
           !fclose(f),
       "a file in Fortran's order");
    st_ok(hcy_array_from_file(&a, dev, path), "is read");
    check_view(a, "it", 2, 2, 3, 0, 0, 1, 5);
    hcy_array_release(a);
    /* As Python 2 wrote it on Windows; and shapes that are none, of which no part is taken for the whole. */
    static const char *const shapes[] = { "(2L, 3L), }", "(2, -3), } ", "(2.5, 3), }", "(2, 3      ", "(2 3), }   " };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        char odd[sizeof head];
        memcpy(odd, head, sizeof head);
        memcpy(strchr(odd + 10, '('), shapes[i], strlen(shapes[i]));
        f = fopen(path, "wb");
        ok(f && fwrite(odd, 1, sizeof odd - 1, f) == sizeof odd - 1 && fwrite(columns, 4, 6, f) == 6 && !fclose(f),
           "a shape of %s", shapes[i]);
        st_is(hcy_array_from_file(&a, dev, path), i ? HCY_EFORMAT : 0, "is what it says");
        if (!i) {
            check_view(a, "it", 2, 2, 3, 0, 0, 1, 5);
            hcy_array_release(a);
        }
    }
    f = fopen(path, "wb");
    ok(f && fwrite(head, 1, sizeof head - 1, f) == sizeof head - 1 && fwrite(columns, 4, 5, f) == 5 &&
           !fclose(f),
       "one that ends early");
    st_is(hcy_array_from_file(&a, dev, path), HCY_ECORRUPT, "is said to");
    remove(path);
    st_is(hcy_array_from_file(&a, dev, path), HCY_ENOENT, "one that is not there");
}

/* One text over and over, of arrays that lie as they did before and otherwise: what was found out of them then must not
 * be taken for what they are now. */
static void test_seen_before(void)
{
    enum { N = 64 };
    static const struct {
        int to, to_step, from, from_step, n, n_from;
    } cases[] = {
        { 0, 1, 8, 1, 8, 8 },   { 24, 1, 40, 1, 8, 8 },   { 24, 1, 0, 2, 8, 8 },   { 0, 3, 30, 1, 8, 8 },
        { 20, -2, 30, 1, 8, 8 }, { 0, 1, 0, 1, 8, 8 },     { 0, 1, 4, 1, 8, 8 },    { 4, 1, 0, 1, 8, 8 },
        { 16, 1, 3, 1, 8, 1 },  { 0, 1, 3, 1, 8, 1 },     { 8, 1, 32, 1, 16, 16 }, { 20, -1, 13, 1, 8, 8 },
    };
    enum { CASES = sizeof cases / sizeof cases[0] };
    const int64_t shape = N;
    for (int round = 0; round < 3 * CASES; round++) {
        /* Each two times, then the one after it but one. */
        const int c = (round / 2 * 5) % CASES, doubles = round % 4 >= 2;
        float narrow[N], got_narrow[N];
        double want[N], old[N], got[N];
        for (int i = 0; i < N; i++)
            old[i] = want[i] = narrow[i] = (float)(i * i + round);
        hcy_array *a = NULL, *to = NULL, *from = NULL;
        st_ok(hcy_array_from_host(&a, dev, doubles ? HCY_FLOAT64 : HCY_FLOAT32, 1, &shape,
                                  doubles ? (void *)old : (void *)narrow), "an array");
        /* An end before the first number is left out. */
        const int end = cases[c].to + cases[c].n * cases[c].to_step;
        st_ok(end < 0 ? hcy_array_slice(&to, a, "%d::%d", cases[c].to, cases[c].to_step)
                      : hcy_array_slice(&to, a, "%d:%d:%d", cases[c].to, end, cases[c].to_step), "what is written");
        st_ok(hcy_array_slice(&from, a, "%d:%d:%d", cases[c].from, cases[c].from + cases[c].n_from * cases[c].from_step,
                              cases[c].from_step), "what is read");
        for (int i = 0; i < cases[c].n; i++) {
            int k = cases[c].to + i * cases[c].to_step;
            want[k] = 2 * old[cases[c].from + (cases[c].n_from > 1 ? i : 0) * cases[c].from_step] + old[k] - round;
        }
        st_ok(HCY_EVAL(queue, "to = a*from + to - b", hcy_op_array("to", to), hcy_op_array("from", from),
                       hcy_op_real("a", 2), hcy_op_real("b", round)), "case %d", c);
        st_ok(hcy_array_to_host(doubles ? (void *)got : (void *)got_narrow, queue, a), "is read");
        int wrong = 0;
        for (int i = 0; i < N; i++)
            wrong += (doubles ? got[i] : (double)got_narrow[i]) != want[i];
        is_int(wrong, 0, "case %d of %s as if for the first time", c, doubles ? "doubles" : "floats");
        /* Shapes that do not go together, between others that do. */
        hcy_array *odd = NULL;
        st_ok(hcy_array_slice(&odd, a, "0:7"), "an array of 7");
        is_int(HCY_EVAL(queue, "to = a*from + to - b", hcy_op_array("to", to), hcy_op_array("from", odd),
                        hcy_op_real("a", 2), hcy_op_real("b", round)), HCY_EINVAL, "7 numbers do not fit");
        hcy_array_release(odd);
        hcy_array_release(from);
        hcy_array_release(to);
        hcy_array_release(a);
    }
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    dev = cts_open();
    hcy_device *other = cts_open_spec(argc > 2 ? argv[2] : "cpu@threads=1");
    if (argc <= 2)
        cts_spec2 = "cpu@threads=1";
    queue = cts_queue(dev);
    test_slices();
    test_views();
    test_buffers();
    test_odd_places();
    test_copies(other);
    test_rows();
    test_seen_before();
    test_files();
    /* A driver that still compiles for the last command must not meet the end of the process. */
    (void)!hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    hcy_device_release(other);
    return done_testing();
}
