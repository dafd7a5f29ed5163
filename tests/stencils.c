/* stencils.c - differences of neighbours against matrices that are written from their definitions: kinds, edges, sizes,
 * types and axes; parts of vectors; the same bits as from another device.
 *
 *     tests/stencils [DEVICE [few]]        few: one type and few shapes, where each means a compilation of seconds
 */
#include "cts.h"

#include <halcyon/eval.h>
#include <halcyon/operator.h>
#include <math.h>

static hcy_device *dev;
static hcy_queue *queue;
static bool few;
static bool is_gpu; /* each form means a compilation of half a second: all would take longer than a test may */

enum { MOST = 16384, LONGEST = 12, KINDS = HCY_DIFFERENCE_SECOND_5 };
static double given[MOST], got[MOST], want[MOST];
static const char *const names[] = { "",         "forward",        "backward",        "centred", "second",
                                     "centred5", "second forward", "second backward", "second5" };

/* --- Matrices, a definition at a time --- */

static double matrix[LONGEST][LONGEST];

/* y[i] += sum of c[k] x[i + at + k], if all of that is there. */
static void put_row(int n, int i, int at, int count, const double *c)
{
    bool inside = i >= 0 && i < n && i + at >= 0 && i + at + count <= n;
    for (int k = 0; inside && k < count; k++)
        matrix[i][i + at + k] = c[k];
}

static void put_edges(int kind, int n)
{
    static const double pair[] = { -1, 1 }, apart[] = { -0.5, 0, 0.5 }, second[] = { 1, -2, 1 };
    bool first = kind == HCY_DIFFERENCE_CENTRED || kind == HCY_DIFFERENCE_CENTRED_5,
         is_second = kind == HCY_DIFFERENCE_SECOND || kind == HCY_DIFFERENCE_SECOND_5,
         far = kind == HCY_DIFFERENCE_CENTRED_5 || kind == HCY_DIFFERENCE_SECOND_5;
    for (int i = 1; far && n >= 3 && i < n - 1; i += n > 3 ? n - 3 : 1) {
        memset(matrix[i], 0, sizeof matrix[i]);
        put_row(n, i, -1, 3, first ? apart : second);
    }
    if (first) {
        put_row(n, 0, 0, 2, pair);
        put_row(n, n - 1, -1, 2, pair);
    }
    if (is_second) {
        put_row(n, 0, 0, 3, second);
        put_row(n, n - 1, -2, 3, second);
    }
}

static void make_matrix(int kind, int n)
{
    static const struct {
        int at, count;
        double c[5];
    } rows[] = { { 0, 0, { 0 } },
                 { 0, 2, { -1, 1 } },
                 { -1, 2, { -1, 1 } },
                 { -1, 3, { -0.5, 0, 0.5 } },
                 { -1, 3, { 1, -2, 1 } },
                 { -2, 5, { 1 / 12.0, -2 / 3.0, 0, 2 / 3.0, -1 / 12.0 } },
                 { 0, 3, { 1, -2, 1 } },
                 { -2, 3, { 1, -2, 1 } },
                 { -2, 5, { -1 / 12.0, 4 / 3.0, -2.5, 4 / 3.0, -1 / 12.0 } } };
    memset(matrix, 0, sizeof matrix);
    for (int i = 0; i < n; i++)
        put_row(n, i, rows[kind & 0xff].at, rows[kind & 0xff].count, rows[kind & 0xff].c);
    if (kind & HCY_DIFFERENCE_EDGES)
        put_edges(kind & 0xff, n);
}

/* --- Vectors --- */

static int width_of(const hcy_space *s)
{
    return s->dtype == HCY_COMPLEX64 || s->dtype == HCY_COMPLEX128 ? 2 : 1;
}
static bool is_single(const hcy_space *s)
{
    return s->dtype == HCY_FLOAT32 || s->dtype == HCY_COMPLEX64;
}
static size_t reals_of(const hcy_space *s)
{
    size_t n = (size_t)width_of(s);
    for (int d = 0; d < s->rank; d++)
        n *= (size_t)s->shape[d];
    return n;
}

static hcy_array *vector_of(const hcy_space *s, const double *x)
{
    static float floats[MOST];
    hcy_array *a = NULL;
    for (size_t i = 0; i < reals_of(s); i++)
        floats[i] = (float)x[i];
    if (hcy_array_from_host(&a, dev, s->dtype, s->rank, s->shape, is_single(s) ? (const void *)floats : x))
        bail_out("no vector: %s", hcy_last_error()->text);
    return a;
}

static void read_vector(double *x, const hcy_array *a, const hcy_space *s)
{
    static float floats[MOST];
    if (hcy_array_to_host(is_single(s) ? (void *)floats : x, queue, a))
        bail_out("not read: %s", hcy_last_error()->text);
    for (size_t i = 0; is_single(s) && i < reals_of(s); i++)
        x[i] = floats[i];
}

static hcy_array *empty_of(const hcy_space *s)
{
    hcy_array *a = NULL;
    if (hcy_array_full(&a, queue, s->dtype, s->rank, s->shape, 77))
        bail_out("no vector: %s", hcy_last_error()->text);
    return a;
}

static void fill_given(uint64_t seed)
{
    for (int i = 0; i < MOST; i++)
        given[i] = (float)((double)(int64_t)cts_random(&seed) / 0x1p62);
}

static hcy_operator_info info_of(const hcy_operator *op)
{
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    if (hcy_operator_get_info(&info, op))
        bail_out("%s", hcy_last_error()->text);
    return info;
}

/* --- Against the matrices --- */

static void add_axis(const hcy_differences_desc *desc, int d, size_t to_at, size_t from_at, bool transposed)
{
    size_t inner = (size_t)width_of(&desc->space), count = reals_of(&desc->space);
    int n = (int)desc->space.shape[d];
    for (int k = d + 1; k < desc->space.rank; k++)
        inner *= (size_t)desc->space.shape[k];
    make_matrix(desc->kinds[d], n);
    for (size_t at = 0; at < count; at++) {
        int i = (int)(at / inner) % n;
        for (int j = 0; j < n; j++)
            want[to_at + at] += desc->factors[d] * (transposed ? matrix[j][i] : matrix[i][j]) *
                                given[from_at + at + inner * (size_t)j - inner * (size_t)i];
    }
}

static void find_wanted(const hcy_differences_desc *desc, bool adjoint)
{
    bool transposed = adjoint != (desc->transposed != 0);
    size_t at = 0;
    memset(want, 0, sizeof want);
    for (int d = 0; d < desc->space.rank; d++)
        if (desc->kinds[d]) {
            add_axis(desc, d, transposed ? 0 : at, transposed ? at : 0, transposed);
            at += desc->apart ? reals_of(&desc->space) : 0;
        }
}

/* The largest error of a result, relative to what numbers of that size may have. */
static double error_of(const hcy_differences_desc *desc, hcy_operator *op, bool adjoint)
{
    hcy_operator_info info = info_of(op);
    const hcy_space *from = adjoint ? &info.range : &info.domain, *to = adjoint ? &info.domain : &info.range;
    hcy_array *x = vector_of(from, given), *y = empty_of(to);
    double most = 0;
    if ((adjoint ? hcy_operator_apply_adjoint : hcy_operator_apply)(queue, y, op, x))
        most = INFINITY;
    else
        read_vector(got, y, to);
    find_wanted(desc, adjoint);
    for (size_t i = 0; most < INFINITY && i < reals_of(to); i++)
        most = fmax(most, isnan(got[i]) ? INFINITY : fabs(got[i] - want[i]));
    hcy_array_release(x);
    hcy_array_release(y);
    return most / (is_single(&desc->space) ? 1e-5 : 1e-12);
}

/* 0 if all of it is right. */
static int check_desc(const hcy_differences_desc *desc, const char *what)
{
    hcy_operator *op = NULL;
    double mismatch = -1;
    if (hcy_operator_differences(&op, dev, desc)) {
        diag("%s: %s", what, hcy_last_error()->text);
        return 1;
    }
    double errors[2] = { error_of(desc, op, false), error_of(desc, op, true) };
    int status = hcy_operator_dot_test(&mismatch, queue, op, 1, 5);
    hcy_operator_release(op);
    bool right = !status && errors[0] < 100 && errors[1] < 100 && mismatch >= 0 &&
                 mismatch <= (is_single(&desc->space) ? 1e-5 : 1e-12);
    if (!right)
        diag("%s: errors %g and %g, mismatch %g: %s", what, errors[0], errors[1], mismatch,
             status ? hcy_last_error()->text : "");
    return !right;
}

static hcy_differences_desc desc_of(int dtype, int rank, const int64_t *shape)
{
    hcy_differences_desc desc = HCY_DIFFERENCES_DESC_INIT;
    desc.space.dtype = dtype;
    desc.space.rank = rank;
    memcpy(desc.space.shape, shape, sizeof *shape * (size_t)rank);
    for (int d = 0; d < rank; d++)
        desc.factors[d] = 1.5 + d;
    return desc;
}

/* Each kind along each axis of small shapes, of every length up to what is wider than all edges. */
static void test_kinds(int dtype)
{
    char what[96];
    int wrong = 0;
    for (int kind = 1; kind <= KINDS; kind++)
        for (int n = few ? 11 : 1; n <= LONGEST; n++)
            for (int axis = 0; axis < (few ? 1 : 4); axis++) {
                /* The last one alone, too. */
                const int64_t shape[3] = { axis == 0 ? n : 3, axis == 1 ? n : 2, axis == 2 ? n : 5 }, alone = n;
                hcy_differences_desc desc = desc_of(dtype, axis < 3 ? 3 : 1, axis < 3 ? shape : &alone);
                desc.kinds[axis % 3] = kind | (n % 2 || few ? HCY_DIFFERENCE_EDGES : 0);
                snprintf(what, sizeof what, "%s of %d along axis %d, %s", names[kind], n, axis, hcy_dtype_name(dtype));
                wrong += check_desc(&desc, what);
                desc.kinds[axis % 3] ^= HCY_DIFFERENCE_EDGES;
                if (!few)
                    wrong += check_desc(&desc, what);
            }
    is_int(wrong, 0, "%s: every kind, with and without edges, and its adjoint", hcy_dtype_name(dtype));
}

/* Several axes, added up and apart; some have no differences. */
static void test_axes(int dtype)
{
    static const int64_t shapes[2][5] = { { 9, 2, 4, 3, 5 }, { 1, 7, 1, 6, 1 } };
    int wrong = 0;
    for (int which = few ? 26 : 1; which < (few ? 28 : 32); which += is_gpu ? 10 : 1)
        for (int form = 0; form < (few ? 4 : 8); form++) {
            const int64_t *shape = shapes[form >> 2];
            hcy_differences_desc desc = desc_of(dtype, few ? 3 : 5, few ? shape + 2 : shape);
            char what[96];
            for (int d = 0; d < desc.space.rank; d++)
                if (which >> (few ? d + 1 : d) & 1)
                    desc.kinds[d] = (which + 3 * d + form) % KINDS + 1;
            desc.apart = form & 1;
            desc.transposed = form >> 1 & 1;
            snprintf(what, sizeof what, "axes %x, form %d, %s", (unsigned)which, form, hcy_dtype_name(dtype));
            wrong += check_desc(&desc, what);
        }
    is_int(wrong, 0, "%s: along several axes, added up and apart, and transposed", hcy_dtype_name(dtype));
}

/* --- Parts of vectors --- */

/* Rows [first, first + rows) of the whole operand's `own` axis, a row being `row` reals, `terms` times. */
static void take_rows_of(double *to, const double *from, int64_t all, int64_t first, int64_t rows, size_t row,
                         int terms)
{
    for (int t = 0; t < terms; t++)
        memcpy(to + (size_t)t * (size_t)rows * row, from + ((size_t)t * (size_t)all + (size_t)first) * row,
               (size_t)rows * row * sizeof *to);
}

/* A part's rows, inner ones first, and whether they are those of the whole, bit by bit. */
static int check_part(const hcy_differences_desc *whole, int64_t first, int64_t rows, const double *of_whole)
{
    static double part[MOST];
    hcy_differences_desc desc = *whole;
    hcy_operator *op = NULL;
    const int64_t all = whole->space.shape[0];
    const size_t row = reals_of(&whole->space) / (size_t)all;
    const int x_terms = desc.apart && desc.transposed ? 2 : 1, y_terms = desc.apart && !desc.transposed ? 2 : 1;
    desc.first = first;
    desc.rows = rows;
    int status = hcy_differences_reach(&desc.before, &desc.after, &desc);
    status = cts_first(status, hcy_operator_differences(&op, dev, &desc));
    if (status) {
        diag("a part: %s", hcy_last_error()->text);
        return 1;
    }
    hcy_operator_info info = info_of(op);
    take_rows_of(part, given, all, first - desc.before, desc.before + rows + desc.after, row, x_terms);
    hcy_array *x = vector_of(&info.domain, part), *y = empty_of(&info.range);
    int64_t begin = desc.before < rows ? desc.before : rows,
            end = rows - desc.after > begin ? rows - desc.after : begin;
    status = cts_first(status, hcy_operator_apply_rows(queue, y, op, x, begin, end));
    status = cts_first(status, hcy_operator_apply_rows(queue, y, op, x, 0, begin));
    status = cts_first(status, hcy_operator_apply_rows(queue, y, op, x, end, rows));
    read_vector(got, y, &info.range);
    take_rows_of(part, of_whole, all, first, rows, row, y_terms);
    int wrong = status || memcmp(got, part, reals_of(&info.range) * sizeof *got) ||
                info.has_adjoint != (rows == all);
    if (wrong)
        diag("rows %d to %d, %s%s: %s", (int)first, (int)(first + rows), desc.apart ? "apart" : "added up",
             desc.transposed ? ", transposed" : "", status ? hcy_last_error()->text : "other bits");
    hcy_array_release(x);
    hcy_array_release(y);
    hcy_operator_release(op);
    return wrong;
}

static void test_parts(int dtype)
{
    static const int64_t shape[3] = { 11, 3, 4 }, ends[] = { 0, 4, 4, 5, 9, 11 };
    static double of_whole[MOST];
    int wrong = 0;
    for (int kind = 1; kind <= KINDS; kind++)
        for (int form = 0; form < 5; form++) {
            hcy_differences_desc desc = desc_of(dtype, 3, shape);
            hcy_operator *op = NULL;
            /* Of the last form rows have none of others, and go together with the axis behind. */
            desc.kinds[0] = form < 4 ? kind | HCY_DIFFERENCE_EDGES : 0;
            desc.kinds[2] = KINDS + 1 - kind;
            desc.apart = form & 1;
            desc.transposed = form >> 1 & 1;
            if (hcy_operator_differences(&op, dev, &desc))
                bail_out("%s", hcy_last_error()->text);
            wrong += !(error_of(&desc, op, false) < 100);
            hcy_operator_release(op);
            memcpy(of_whole, got, sizeof of_whole);
            for (size_t i = 0; i + 1 < sizeof ends / sizeof ends[0]; i++)
                wrong += check_part(&desc, ends[i], ends[i + 1] - ends[i], of_whole);
            wrong += check_part(&desc, 0, 11, of_whole);
        }
    is_int(wrong, 0, "%s: rows of parts, with others' rows about them, have the bits of the whole",
           hcy_dtype_name(dtype));
}

/* --- Bits, and numbers that are not read --- */

/* A hash of what an operator makes of the same numbers on a device. */
static uint64_t hash_on(const char *spec, const hcy_differences_desc *desc, bool adjoint)
{
    hcy_device *other = cts_open_spec(spec);
    hcy_queue *q = cts_queue(other);
    hcy_operator *op = NULL;
    hcy_array *x = NULL, *y = NULL;
    uint64_t hash = 14695981039346656037u;
    int status = hcy_operator_differences(&op, other, desc);
    hcy_operator_info info = info_of(op);
    const hcy_space *from = adjoint ? &info.range : &info.domain, *to = adjoint ? &info.domain : &info.range;
    size_t size = reals_of(to) * (is_single(to) ? 4 : 8);
    unsigned char *bytes = malloc(size);
    status = cts_first(status, hcy_array_full(&x, q, from->dtype, from->rank, from->shape, 0));
    status = cts_first(status, hcy_array_full(&y, q, to->dtype, to->rank, to->shape, 0));
    status = cts_first(status, HCY_EVAL(q, "x = (index % 7919) * 0.37 - (index % 31) * (index % 17)",
                                        hcy_op_array("x", x)));
    status = cts_first(status, (adjoint ? hcy_operator_apply_adjoint : hcy_operator_apply)(q, y, op, x));
    status = cts_first(status, hcy_array_to_host(bytes, q, y));
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    if (status)
        diag("%s: %s", spec, hcy_last_error()->text);
    free(bytes);
    hcy_array_release(x);
    hcy_array_release(y);
    hcy_operator_release(op);
    hcy_queue_release(q);
    hcy_device_release(other);
    return status ? 0 : hash;
}

/* More than a tile of a GPU, a block of the CPU's, or a piece of a line. */
static void test_bits(int dtype)
{
    static const int64_t shapes[2][3] = { { 41, 19, 67 }, { 2, 3, 4500 } };
    int wrong = 0;
    for (int form = 0; form < (few && !TAP_THREAD_SANITIZER ? 2 : 8); form++) {
        hcy_differences_desc desc = desc_of(dtype, 3, shapes[form >> 2]);
        for (int d = 0; d < 3; d++)
            desc.kinds[d] = d == 1 ? HCY_DIFFERENCE_CENTRED_5 : HCY_DIFFERENCE_SECOND | HCY_DIFFERENCE_EDGES;
        desc.factors[0] = 1 / 3.0;
        desc.apart = form & 1;
        uint64_t here = hash_on(cts_spec, &desc, form >> 1 & 1),
                 there = hash_on("cpu@threads=3@simd=portable", &desc, form >> 1 & 1);
        wrong += !here || here != there;
    }
    is_int(wrong, 0, "%s: the bits of the CPU's plain code with three threads", hcy_dtype_name(dtype));
}

/* So many elements that a group of a GPU goes through many steps, along either axis. */
static void test_many(void)
{
    static const int64_t shapes[2][3] = { { 150, 300, 203 }, { 41, 700, 301 } };
    int wrong = 0;
    for (int form = 0; form < 8; form++) {
        hcy_differences_desc desc = desc_of(HCY_FLOAT32, 3, shapes[form >> 2]);
        /* Of one axis alone; the others are joined where they are beside each other. */
        const int only = form >> 2 ? (form & 1 ? 0 : 2) : -1;
        for (int d = 0; d < 3; d++)
            if (only < 0 || only == d)
                desc.kinds[d] = HCY_DIFFERENCE_SECOND | HCY_DIFFERENCE_EDGES;
        desc.apart = only < 0 && (form & 1);
        uint64_t here = hash_on(cts_spec, &desc, form >> 1 & 1),
                 there = hash_on("cpu", &desc, form >> 1 & 1);
        wrong += !here || here != there;
    }
    is_int(wrong, 0, "the CPU's bits of millions of elements");
}

static void test_unread(void)
{
    const int64_t n = 6;
    hcy_differences_desc desc = desc_of(HCY_FLOAT64, 1, &n);
    hcy_operator *op = NULL;
    hcy_array *x, *y;
    desc.kinds[0] = HCY_DIFFERENCE_BACKWARD;
    desc.factors[0] = 1;
    for (int i = 0; i < n; i++)
        given[i] = i ? 2 * i : INFINITY;
    st_ok(hcy_operator_differences(&op, dev, &desc), "a backward difference");
    x = vector_of(&desc.space, given);
    y = empty_of(&desc.space);
    st_ok(hcy_operator_apply(queue, y, op, x), "of numbers of which the first is infinite");
    read_vector(got, y, &desc.space);
    ok(got[0] == 0 && isinf(got[1]) && got[2] == 2 && got[5] == 2, "where it does not count it is not read");
    hcy_array_release(x);
    hcy_array_release(y);
    hcy_operator_release(op);
    fill_given(3);
}

/* --- What is refused --- */

static void test_refusals(void)
{
    static const int64_t shape[2] = { 8, 3 };
    hcy_differences_desc desc = desc_of(HCY_FLOAT64, 2, shape);
    hcy_operator *op = NULL, *same = NULL;
    int64_t before = -1, after = -1;
    st_says(hcy_operator_differences(&op, dev, &desc), HCY_EINVAL, "along no axis", "no axis");
    desc.kinds[1] = 99;
    st_says(hcy_operator_differences(&op, dev, &desc), HCY_EINVAL, "no kind", "no kind");
    desc.kinds[1] = 0;
    desc.kinds[0] = HCY_DIFFERENCE_CENTRED_5;
    desc.first = 3;
    desc.rows = 3;
    desc.before = 2;
    desc.after = 1;
    st_says(hcy_operator_differences(&op, dev, &desc), HCY_EINVAL, "2 after these are needed", "a row too few behind");
    desc.after = 3;
    st_says(hcy_operator_differences(&op, dev, &desc), HCY_EINVAL, "have no", "rows behind the last");
    st_ok(hcy_differences_reach(&before, &after, &desc), "what it needs");
    ok(before == 2 && after == 2, "is two rows before and after");
    desc.rows = 6;
    st_says(hcy_differences_reach(&before, &after, &desc), HCY_EINVAL, "6 rows from row 3 on, of 8", "too many rows");
    desc.first = INT64_MIN;
    desc.rows = -1;
    st_says(hcy_differences_reach(&before, &after, &desc), HCY_EINVAL, "rows from row -9", "rows from nowhere on");
    desc.first = 3;
    desc.rows = 3;
    desc.after = 2;
    st_ok(hcy_operator_differences(&op, dev, &desc), "a part");
    hcy_operator_info info = info_of(op);
    hcy_array *x = empty_of(&info.domain), *y = empty_of(&info.range);
    st_says(hcy_operator_apply_adjoint(queue, x, op, y), HCY_EUNSUPPORTED, "no adjoint", "a part's adjoint");
    st_says(hcy_operator_apply_rows(queue, y, op, x, 1, 4), HCY_EINVAL, "rows 1 to 4 of 3", "rows that are not there");
    st_says(hcy_operator_apply_rows(queue, x, op, x, 0, 3), HCY_EINVAL, "output", "a result of another shape");
    st_ok(hcy_operator_identity(&same, dev, &info.range), "another operator");
    st_says(hcy_operator_apply_rows(queue, y, same, y, 0, 1), HCY_EINVAL, "none of differences", "has no such rows");
    hcy_array_release(x);
    hcy_array_release(y);
    hcy_operator_release(op);
    hcy_operator_release(same);
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    few = TAP_THREAD_SANITIZER || (argc > 2 && !strcmp(argv[2], "few"));
    dev = cts_open();
    queue = cts_queue(dev);
    is_gpu = !few && hcy_device_get_info(dev)->kind == HCY_KIND_GPU;
    fill_given(3);
    for (int dtype = few ? HCY_COMPLEX128 : HCY_FLOAT32; dtype <= HCY_COMPLEX128; dtype++) {
        test_kinds(dtype);
        test_axes(dtype);
        test_parts(dtype);
    }
    for (int dtype = HCY_FLOAT32; dtype <= (few ? HCY_FLOAT64 : HCY_COMPLEX128); dtype++)
        test_bits(dtype);
    if (is_gpu)
        test_many();
    test_unread();
    test_refusals();
    (void)!hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    cts_wait_alone();
    return done_testing();
}
