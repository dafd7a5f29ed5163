/* operators.c - linear operators against plain C, their adjoints by dot tests, and what they refuse.
 *
 *     tests/operators [DEVICE [few]]        few: one type of each, where each text means a compilation
 */
#include "cts.h"

#include <complex.h>
#include <halcyon/eval.h>
#include <halcyon/operator.h>
#include <halcyon/solve.h>
#include <math.h>

static hcy_device *dev;
static hcy_queue *queue;
static bool few;

enum { MOST = 4096 };
static double complex given[MOST], got[MOST], want[MOST];

static hcy_space space_of(int dtype, int rank, int64_t n0, int64_t n1, int64_t n2)
{
    hcy_space s = { dtype, rank, { n0, n1, n2 }, NULL };
    return s;
}
static size_t count_of(const hcy_space *s)
{
    size_t n = 1;
    for (int d = 0; d < s->rank; d++)
        n *= (size_t)s->shape[d];
    return n;
}
static hcy_operator_info info_of(const hcy_operator *op)
{
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    if (hcy_operator_get_info(&info, op))
        bail_out("%s", hcy_last_error()->text);
    return info;
}

/* Numbers in host memory, complex double, as a vector of any type, and back. */
static hcy_array *vector_of(const hcy_space *s, const double complex *x)
{
    static unsigned char bytes[MOST * 16];
    hcy_array *a = NULL;
    for (size_t i = 0; i < count_of(s); i++) {
        double pair[2] = { creal(x[i]), cimag(x[i]) };
        float small[2] = { (float)pair[0], (float)pair[1] };
        size_t size = hcy_dtype_size(s->dtype);
        bool single = s->dtype == HCY_FLOAT32 || s->dtype == HCY_COMPLEX64;
        memcpy(bytes + i * size, single ? (void *)small : (void *)pair, size);
    }
    if (hcy_array_from_host(&a, dev, s->dtype, s->rank, s->shape, bytes))
        bail_out("no vector: %s", hcy_last_error()->text);
    return a;
}
static hcy_array *empty_of(const hcy_space *s)
{
    hcy_array *a = NULL;
    if (hcy_array_empty(&a, dev, s->dtype, s->rank, s->shape))
        bail_out("no vector: %s", hcy_last_error()->text);
    return a;
}
static void read_vector(double complex *x, hcy_array *a, const hcy_space *s)
{
    static unsigned char bytes[MOST * 16];
    if (hcy_array_to_host(bytes, queue, a))
        bail_out("not read: %s", hcy_last_error()->text);
    for (size_t i = 0; i < count_of(s); i++) {
        double pair[2] = { 0, 0 };
        float small[2] = { 0, 0 };
        size_t size = hcy_dtype_size(s->dtype);
        bool single = s->dtype == HCY_FLOAT32 || s->dtype == HCY_COMPLEX64;
        memcpy(single ? (void *)small : (void *)pair, bytes + i * size, size);
        x[i] = single ? small[0] + I * small[1] : pair[0] + I * pair[1];
    }
}

static void fill_given(const hcy_space *s, uint64_t seed)
{
    bool is_complex = s->dtype == HCY_COMPLEX64 || s->dtype == HCY_COMPLEX128;
    for (size_t i = 0; i < count_of(s); i++) {
        double re = (double)(int64_t)cts_random(&seed) / 0x1p62,
               im = (double)(int64_t)cts_random(&seed) / 0x1p62;
        given[i] = (float)re + (is_complex ? I * (float)im : 0);
    }
}

/* got = A given, or A^H given. */
static void run_operator(hcy_operator *op, bool adjoint, const char *what)
{
    hcy_operator_info info = info_of(op);
    const hcy_space *from = adjoint ? &info.range : &info.domain, *to = adjoint ? &info.domain : &info.range;
    hcy_array *x = vector_of(from, given), *y = empty_of(to);
    st_ok((adjoint ? hcy_operator_apply_adjoint : hcy_operator_apply)(queue, y, op, x), "%s%s is applied",
          what, adjoint ? ", adjoint," : "");
    read_vector(got, y, to);
    hcy_array_release(x);
    hcy_array_release(y);
}

/* What a test computes: n_out numbers of `in`. */
typedef void oracle_fn(double complex *out, const double complex *in, bool adjoint);

static bool is_single(const hcy_operator_info *info)
{
    return info->domain.dtype == HCY_FLOAT32 || info->domain.dtype == HCY_COMPLEX64;
}

static void check_operator(hcy_operator *op, oracle_fn *oracle, const char *what)
{
    hcy_operator_info info = info_of(op);
    const double bound = is_single(&info) ? 1e-5 : 1e-12;
    double mismatch = -1;
    for (int adjoint = 0; adjoint < 2; adjoint++) {
        const hcy_space *from = adjoint ? &info.range : &info.domain,
                        *to = adjoint ? &info.domain : &info.range;
        double off = 0, norm = 0;
        fill_given(from, 7 + (uint64_t)adjoint);
        run_operator(op, adjoint, what);
        oracle(want, given, adjoint);
        for (size_t i = 0; i < count_of(to); i++) {
            off += cabs(got[i] - want[i]) * cabs(got[i] - want[i]);
            norm += cabs(want[i]) * cabs(want[i]);
        }
        ok(sqrt(off) <= bound * sqrt(norm), "%s%s is right", what, adjoint ? ", adjoint," : "");
        if (!(sqrt(off) <= bound * sqrt(norm)))
            diag("off by %g of %g", sqrt(off), sqrt(norm));
    }
    st_ok(hcy_operator_dot_test(&mismatch, queue, op, 10, 3), "%s: the dot test", what);
    if (!ok(mismatch >= 0 && mismatch <= bound, "%s: finds an adjoint", what))
        diag("%s: mismatch %.2g", what, mismatch);
}

/* --- The user's functions: y[i] = x[i] + i x[i + 1], of 5 numbers to 4 --- */

static int destroyed;
static void count_destroyed(void *user)
{
    destroyed += *(int *)user;
}
static hcy_array *part_of(hcy_array *a, const char *text)
{
    hcy_array *v = NULL;
    if (hcy_array_slice(&v, a, "%s", text))
        bail_out("no slice: %s", hcy_last_error()->text);
    return v;
}
static int add_next(hcy_queue *q, hcy_array *y, void *user, hcy_array *x)
{
    hcy_array *a = part_of(x, ":-1"), *b = part_of(x, "1:");
    int status = *(int *)user != 1 ? HCY_EINVAL
                                   : HCY_EVAL(q, "y = a + 1j*b", hcy_op_array("y", y), hcy_op_array("a", a),
                                              hcy_op_array("b", b));
    hcy_array_release(a);
    hcy_array_release(b);
    return status;
}
static int add_next_back(hcy_queue *q, hcy_array *x, void *user, hcy_array *y)
{
    hcy_array *a = part_of(x, ":-1"), *b = part_of(x, "1:"), *last = part_of(x, "-1:");
    int status = *(int *)user != 1
                     ? HCY_EINVAL
                     : HCY_EVAL(q, "a = y; last = 0; b = b - 1j*y", hcy_op_array("a", a),
                                hcy_op_array("b", b), hcy_op_array("y", y), hcy_op_array("last", last));
    hcy_array_release(a);
    hcy_array_release(b);
    hcy_array_release(last);
    return status;
}
/* The same with the sign of the last part wrong. */
static int add_wrongly(hcy_queue *q, hcy_array *x, void *user, hcy_array *y)
{
    hcy_array *a = part_of(x, ":-1"), *b = part_of(x, "1:"), *last = part_of(x, "-1:");
    (void)user;
    int status = HCY_EVAL(q, "a = y; last = 0; b = b + 1j*y", hcy_op_array("a", a), hcy_op_array("b", b),
                          hcy_op_array("y", y), hcy_op_array("last", last));
    hcy_array_release(a);
    hcy_array_release(b);
    hcy_array_release(last);
    return status;
}
static void next_oracle(double complex *out, const double complex *in, bool adjoint)
{
    for (int i = 0; i < 4; i++)
        if (!adjoint)
            out[i] = in[i] + I * in[i + 1];
    for (int i = 0; i < 5; i++)
        if (adjoint)
            out[i] = (i < 4 ? in[i] : 0) - (i ? I * in[i - 1] : 0);
}
static hcy_operator *functions_of(int dtype)
{
    static int one = 1;
    hcy_operator *op = NULL;
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    desc.name = "next";
    desc.domain = space_of(dtype, 1, 5, 0, 0);
    desc.range = space_of(dtype, 1, 4, 0, 0);
    desc.apply = add_next;
    desc.adjoint = add_next_back;
    desc.destroy = count_destroyed;
    desc.user = &one;
    if (hcy_operator_create(&op, dev, &desc))
        bail_out("no operator: %s", hcy_last_error()->text);
    return op;
}

static void test_functions(void)
{
    hcy_operator *op = functions_of(HCY_COMPLEX128), *single = functions_of(HCY_COMPLEX64), *wrong = NULL,
                 *half = NULL;
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    double mismatch = 0;
    check_operator(op, next_oracle, "functions");
    check_operator(single, next_oracle, "functions in single");
    is_str(info_of(op).name, "next", "an operator has its name");
    hcy_operator_retain(op);
    hcy_operator_release(op);
    is_int(destroyed, 0, "a reference that is left keeps it");
    hcy_operator_release(op);
    hcy_operator_release(single);
    is_int(destroyed, 2, "the last ones call destroy() once each");
    desc.domain = space_of(HCY_COMPLEX128, 1, 5, 0, 0);
    desc.range = space_of(HCY_COMPLEX128, 1, 4, 0, 0);
    st_says(hcy_operator_create(&half, dev, &desc), HCY_EINVAL, "no function",
            "an operator without apply() is refused");
    desc.apply = add_next;
    static int one = 1;
    desc.user = &one;
    st_ok(hcy_operator_create(&half, dev, &desc), "one without an adjoint is not");
    st_says(hcy_operator_dot_test(&mismatch, queue, half, 1, 0), HCY_EUNSUPPORTED, "no adjoint",
            "but it has none");
    desc.adjoint = add_wrongly;
    st_ok(hcy_operator_create(&wrong, dev, &desc), "a wrong adjoint");
    st_ok(hcy_operator_dot_test(&mismatch, queue, wrong, 10, 1), "is dot-tested");
    ok(mismatch > 0.01, "and found out (%g)", mismatch);
    hcy_operator *large = NULL;
    st_ok(hcy_operator_scale(&large, wrong, 1e160, 0), "times what has no square");
    st_ok(hcy_operator_dot_test(&mismatch, queue, large, 2, 1), "is dot-tested, too");
    ok(mismatch > 0.01, "and is not taken for a right one (%g)", mismatch);
    st_is(hcy_operator_norm(&mismatch, queue, large, 5, 1), HCY_ERANGE, "nor has it a norm");
    hcy_operator_release(large);
    hcy_operator_release(half);
    hcy_operator_release(wrong);
}

/* A function's failure has its own words, never those of a failure from before it. */
static int fail_so(hcy_queue *q, hcy_array *y, void *user, hcy_array *x)
{
    (void)q, (void)y, (void)x;
    const int status = *(int *)user;
    return status < 0 ? status : status ? hcy_fail(-status, "the detector is gone") : 0;
}
static void test_words(void)
{
    int says = 0;
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    hcy_operator *op = NULL;
    desc.name = "mine";
    desc.domain = desc.range = space_of(HCY_FLOAT64, 1, 2, 0, 0);
    desc.apply = desc.adjoint = fail_so;
    desc.user = &says;
    hcy_array *x = empty_of(&desc.domain), *y = empty_of(&desc.domain);
    st_ok(hcy_operator_create(&op, dev, &desc), "a function that fails as it is told");
    hcy_fail(HCY_ECORRUPT, "an old story");
    st_ok(hcy_operator_apply(queue, y, op, x), "it succeeds");
    is_str(hcy_last_error()->text, "an old story", "which leaves an older record alone");
    says = HCY_ECORRUPT;
    st_says(hcy_operator_apply(queue, y, op, x), HCY_ECORRUPT, "operator mine: its function returned",
            "a status without a word is not told in an older one's");
    st_says(hcy_operator_apply_adjoint(queue, x, op, y), HCY_ECORRUPT, "its adjoint returned", "nor the adjoint's");
    says = -HCY_EIO;
    st_says(hcy_operator_apply(queue, y, op, x), HCY_EIO, "the detector is gone", "the function's own words are kept");
    hcy_operator_release(op);
    hcy_array_release(x);
    hcy_array_release(y);
}

/* y = (1 + 2i) x of real numbers, whose adjoint takes the real part. */
static int make_complex(hcy_queue *q, hcy_array *y, void *user, hcy_array *x)
{
    (void)user;
    return HCY_EVAL(q, "y = complex(x, 2*x)", hcy_op_array("y", y), hcy_op_array("x", x));
}
static int make_real(hcy_queue *q, hcy_array *x, void *user, hcy_array *y)
{
    (void)user;
    return HCY_EVAL(q, "x = real(y) + 2*imag(y)", hcy_op_array("x", x), hcy_op_array("y", y));
}
static void mixed_oracle(double complex *out, const double complex *in, bool adjoint)
{
    for (int i = 0; i < 5; i++)
        out[i] = adjoint ? creal((1 - 2 * I) * in[i]) : (1 + 2 * I) * in[i];
}
static void test_mixed(void)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    hcy_operator *op = NULL, *none = NULL;
    desc.domain = space_of(HCY_FLOAT64, 1, 5, 0, 0);
    desc.range = space_of(HCY_COMPLEX128, 1, 5, 0, 0);
    desc.apply = make_complex;
    desc.adjoint = make_real;
    st_ok(hcy_operator_create(&op, dev, &desc), "an operator from real to complex numbers");
    check_operator(op, mixed_oracle, "real to complex");
    st_says(hcy_operator_scale(&none, op, 1, 1), HCY_EINVAL, "complex factor",
            "whose adjoint no complex factor has");
    hcy_operator_release(op);
}

static void same_oracle(double complex *out, const double complex *in, bool adjoint)
{
    for (int i = 0; i < 15; i++)
        out[i] = adjoint ? creal(in[i]) : in[i];
}
static void test_complex(void)
{
    for (int dtype = HCY_FLOAT32; dtype <= HCY_FLOAT64; dtype++) {
        const hcy_space real = space_of(dtype, 2, 3, 5, 0);
        hcy_operator *op = NULL;
        st_ok(hcy_operator_complex(&op, dev, &real), "%s as complex numbers", hcy_dtype_name(dtype));
        check_operator(op, same_oracle, "their real part");
        hcy_operator_release(op);
    }
    const hcy_space numbers = space_of(HCY_COMPLEX64, 1, 5, 0, 0);
    hcy_operator *none = NULL;
    st_says(hcy_operator_complex(&none, dev, &numbers), HCY_EINVAL, "real vectors", "complex ones as complex ones");
}

/* --- Weights and algebra --- */

static double complex weights[5] = { 1, 2.5 - I, -3, 0.5 * I, 4 };
static void weights_oracle(double complex *out, const double complex *in, bool adjoint)
{
    for (int i = 0; i < 15; i++)
        out[i] = (adjoint ? conj(weights[i % 5]) : weights[i % 5]) * in[i];
}
static void real_oracle(double complex *out, const double complex *in, bool adjoint)
{
    (void)adjoint;
    for (int i = 0; i < 15; i++)
        out[i] = creal(weights[i % 5]) * in[i];
}

static void test_diagonal(void)
{
    hcy_space three_five = space_of(HCY_COMPLEX128, 2, 3, 5, 0), five = space_of(HCY_COMPLEX128, 1, 5, 0, 0),
              reals = space_of(HCY_FLOAT64, 1, 5, 0, 0), real_vectors = space_of(HCY_FLOAT32, 2, 3, 5, 0),
              four = space_of(HCY_COMPLEX128, 1, 4, 0, 0);
    hcy_array *w = vector_of(&five, weights), *re = vector_of(&reals, weights);
    hcy_operator *op = NULL, *real = NULL;
    st_ok(hcy_operator_diagonal(&op, &three_five, w), "weights, broadcast");
    check_operator(op, weights_oracle, "weights");
    st_ok(hcy_operator_diagonal(&real, &real_vectors, re), "weights of floats, in double");
    check_operator(real, real_oracle, "real weights");
    st_says(hcy_operator_diagonal(&real, &real_vectors, w), HCY_EINVAL, "complex weights",
            "complex weights of floats");
    st_says(hcy_operator_diagonal(&real, &four, w), HCY_EINVAL, "not broadcast", "weights of another shape");
    hcy_array_release(w);
    hcy_array_release(re);
    hcy_operator_release(op);
    hcy_operator_release(real);
}

/* scale(2 - i, next) adjoint(next) weights, and this in another shape. */
static void chain_oracle(double complex *out, const double complex *in, bool adjoint)
{
    double complex a[5], b[5];
    if (adjoint) {
        next_oracle(a, in, true);
        next_oracle(b, a, false);
        for (int i = 0; i < 4; i++)
            out[i] = conj(2 - I) * conj(weights[i]) * b[i];
        return;
    }
    for (int i = 0; i < 4; i++)
        b[i] = weights[i] * in[i];
    next_oracle(a, b, true);
    next_oracle(out, a, false);
    for (int i = 0; i < 4; i++)
        out[i] *= 2 - I;
}

static void test_algebra(void)
{
    hcy_space four = space_of(HCY_COMPLEX128, 1, 4, 0, 0), square = space_of(HCY_COMPLEX128, 2, 2, 2, 0);
    hcy_array *w = vector_of(&four, weights);
    hcy_operator *next = functions_of(HCY_COMPLEX128), *scaled = NULL, *back = NULL, *weigh = NULL,
                 *chain = NULL, *shaped = NULL, *same = NULL, *single = functions_of(HCY_COMPLEX64);
    st_ok(hcy_operator_scale(&scaled, next, 2, -1), "a multiple");
    st_ok(hcy_operator_adjoint(&back, next), "an adjoint");
    st_ok(hcy_operator_diagonal(&weigh, &four, w), "weights");
    st_ok(hcy_operator_identity(&same, dev, &four), "the identity");
    st_ok(hcy_operator_compose(&chain, (hcy_operator *[]){ same, scaled, back, weigh }, 4), "a chain");
    check_operator(chain, chain_oracle, "a chain");
    st_ok(hcy_operator_reshape(&shaped, chain, &square, &four), "another shape");
    check_operator(shaped, chain_oracle, "a chain in another shape");
    hcy_operator *none = NULL;
    st_says(hcy_operator_compose(&none, (hcy_operator *[]){ next, next }, 2), HCY_EINVAL,
            "gives complex128 (4,)", "what does not go together");
    st_says(hcy_operator_compose(&none, (hcy_operator *[]){ single, back }, 2), HCY_EINVAL, "complex64",
            "types that do not");
    st_says(hcy_operator_compose(&none, NULL, 0), HCY_EINVAL, "no operators", "a chain of nothing");
    hcy_space five = space_of(HCY_COMPLEX128, 1, 5, 0, 0);
    st_says(hcy_operator_reshape(&none, chain, &five, &four), HCY_EINVAL, "no other shape",
            "a shape of more elements");
    ok(!none, "nothing was made");
    hcy_operator *const all[] = { next, scaled, back, weigh, chain, shaped, same, single };
    /* In this order, so that what is made of others keeps them. */
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        hcy_operator_release(all[i]);
    hcy_array_release(w);
}

/* --- Matrices and blocks of them: a is 4 x 5, b is 3 x 5 --- */

static double complex matrix_a[4][5], matrix_b[3][5];

static void multiply_add(double complex *out, const double complex *a, int rows, const double complex *in,
                         bool adjoint)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < 5; j++)
            if (adjoint)
                out[j] += conj(a[i * 5 + j]) * in[i];
            else
                out[i] += a[i * 5 + j] * in[j];
}
static void clear_first(double complex *out, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = 0;
}
static void matrix_oracle(double complex *out, const double complex *in, bool adjoint)
{
    clear_first(out, 5);
    multiply_add(out, matrix_a[0], 4, in, adjoint);
}
static void vstack_oracle(double complex *out, const double complex *in, bool adjoint)
{
    clear_first(out, 7);
    multiply_add(out, matrix_a[0], 4, in, adjoint);
    multiply_add(adjoint ? out : out + 4, matrix_b[0], 3, adjoint ? in + 4 : in, adjoint);
}
static void hstack_oracle(double complex *out, const double complex *in, bool adjoint)
{
    vstack_oracle(out, in, !adjoint);
}
static void diagonal_oracle(double complex *out, const double complex *in, bool adjoint)
{
    clear_first(out, 10);
    multiply_add(out, matrix_a[0], 4, in, adjoint);
    multiply_add(out + (adjoint ? 5 : 4), matrix_b[0], 3, in + (adjoint ? 4 : 5), adjoint);
}
static void sum_oracle(double complex *out, const double complex *in, bool adjoint)
{
    matrix_oracle(out, in, adjoint);
    for (int i = 0; i < (adjoint ? 5 : 4); i++)
        out[i] *= adjoint ? 2 - 2 * I : 2 + 2 * I;
}

static void test_blocks(int dtype)
{
    hcy_space of_a = space_of(dtype, 2, 4, 5, 0), of_b = space_of(dtype, 2, 3, 5, 0);
    hcy_operator *a = NULL, *b = NULL, *ah = NULL, *bh = NULL, *op = NULL, *turned = NULL;
    fill_given(&of_a, 21);
    memcpy(matrix_a, given, sizeof matrix_a);
    hcy_array *numbers_a = vector_of(&of_a, given);
    fill_given(&of_b, 22);
    memcpy(matrix_b, given, sizeof matrix_b);
    hcy_array *numbers_b = vector_of(&of_b, given);
    st_ok(hcy_operator_matrix(&a, numbers_a), "a matrix of %s", hcy_dtype_name(dtype));
    st_ok(hcy_operator_matrix(&b, numbers_b), "another one");
    check_operator(a, matrix_oracle, "matrix");
    st_ok(hcy_operator_vstack(&op, (hcy_operator *[]){ a, b }, 2), "one above the other");
    check_operator(op, vstack_oracle, "vstack");
    hcy_operator_release(op);
    st_ok(hcy_operator_block_diagonal(&op, (hcy_operator *[]){ a, b }, 2), "blocks");
    check_operator(op, diagonal_oracle, "block diagonal");
    hcy_operator_release(op);
    st_ok(hcy_operator_adjoint(&ah, a), "an adjoint");
    st_ok(hcy_operator_adjoint(&bh, b), "an adjoint");
    st_ok(hcy_operator_hstack(&op, (hcy_operator *[]){ ah, bh }, 2), "side by side");
    check_operator(op, hstack_oracle, "hstack");
    hcy_operator_release(op);
    if (dtype == HCY_COMPLEX64 || dtype == HCY_COMPLEX128) {
        st_ok(hcy_operator_scale(&turned, a, 1, 2), "a multiple");
        st_ok(hcy_operator_sum(&op, (hcy_operator *[]){ a, turned }, 2), "a sum");
        check_operator(op, sum_oracle, "sum");
        hcy_operator_release(op);
        hcy_operator_release(turned);
    } else
        st_says(hcy_operator_scale(&turned, a, 1, 2), HCY_EINVAL, "complex factor",
                "a complex multiple of reals");
    st_says(hcy_operator_sum(&op, (hcy_operator *[]){ a, b }, 2), HCY_EINVAL, "the range of operator 1",
            "no sum");
    st_says(hcy_operator_hstack(&op, (hcy_operator *[]){ a, b }, 2), HCY_EINVAL, "the range of operator 1",
            "no row");
    st_says(hcy_operator_vstack(&op, (hcy_operator *[]){ a, ah }, 2), HCY_EINVAL, "the domain of operator 1",
            "no column");
    hcy_operator *const all[] = { a, b, ah, bh };
    for (size_t i = 0; i < 4; i++)
        hcy_operator_release(all[i]);
    hcy_array_release(numbers_a);
    hcy_array_release(numbers_b);
}

/* --- Differences: along axis 1 of 4 x n x 3, and all axes of that --- */

static int difference, axis_length;
static double factors[3];

/* y[i] of the difference along an axis of n elements that are `step` apart, without a factor. */
static double complex difference_of(const double complex *x, int kind, int i, int n, int step)
{
    switch (kind) {
    case HCY_DIFFERENCE_FORWARD:
        return i + 1 < n ? x[step] - x[0] : 0;
    case HCY_DIFFERENCE_BACKWARD:
        return i ? x[0] - x[-step] : 0;
    case HCY_DIFFERENCE_CENTRED:
        return i && i + 1 < n ? (x[step] - x[-step]) / 2 : 0;
    default:
        return i && i + 1 < n ? x[step] - 2 * x[0] + x[-step] : 0;
    }
}
static double complex difference_along(const double complex *x, int kind, int axis, int at)
{
    const int shape[3] = { 4, axis_length, 3 }, step[3] = { axis_length * 3, 3, 1 };
    return difference_of(x + at, kind, at / step[axis] % shape[axis], shape[axis], step[axis]);
}
/* The adjoint by its definition, from the operator's columns. */
static void transpose_oracle(double complex *out, const double complex *in, size_t n_in, oracle_fn *oracle)
{
    static double complex unit[MOST], column[MOST];
    size_t n = 12 * (size_t)axis_length;
    for (size_t i = 0; i < n; i++) {
        unit[i] = 1;
        oracle(column, unit, false);
        unit[i] = 0;
        out[i] = 0;
        for (size_t k = 0; k < n_in; k++)
            out[i] += conj(column[k]) * in[k];
    }
}
static void difference_oracle(double complex *out, const double complex *in, bool adjoint)
{
    if (adjoint)
        transpose_oracle(out, in, 12 * (size_t)axis_length, difference_oracle);
    for (int i = 0; !adjoint && i < 12 * axis_length; i++)
        out[i] = 2.5 * difference_along(in, difference, 1, i);
}
static void laplacian_oracle(double complex *out, const double complex *in, bool adjoint)
{
    if (adjoint)
        transpose_oracle(out, in, 12 * (size_t)axis_length, laplacian_oracle);
    for (int i = 0; !adjoint && i < 12 * axis_length; i++) {
        out[i] = 0;
        for (int d = 0; d < 3; d++)
            out[i] += factors[d] * difference_along(in, HCY_DIFFERENCE_SECOND, d, i);
    }
}
static void gradient_oracle(double complex *out, const double complex *in, bool adjoint)
{
    if (adjoint)
        transpose_oracle(out, in, 36 * (size_t)axis_length, gradient_oracle);
    for (int i = 0; !adjoint && i < 36 * axis_length; i++)
        out[i] = difference_along(in, difference, i / (12 * axis_length), i % (12 * axis_length));
}

static void test_differences(int dtype)
{
    static const char *const names[] = { "", "forward", "backward", "centred", "second" };
    hcy_operator *op = NULL;
    hcy_space s = { 0 };
    char what[64];
    for (axis_length = few ? 8 : 1; axis_length < 9; axis_length += axis_length < 4 ? 1 : 4) {
        s = space_of(dtype, 3, 4, axis_length, 3);
        for (difference = 1; difference <= HCY_DIFFERENCE_SECOND; difference++) {
            snprintf(what, sizeof what, "%s difference of %d", names[difference], axis_length);
            st_ok(hcy_operator_difference(&op, dev, &s, -2, difference, 2.5), "%s", what);
            check_operator(op, difference_oracle, what);
            hcy_operator_release(op);
        }
    }
    axis_length = 5;
    s = space_of(dtype, 3, 4, axis_length, 3);
    for (int k = 0; k < 2; k++) {
        for (int d = 0; d < 3; d++)
            factors[d] = k ? d : 1;
        st_ok(hcy_operator_laplacian(&op, dev, &s, k ? factors : NULL), "a Laplacian");
        check_operator(op, laplacian_oracle, k ? "Laplacian with factors" : "Laplacian");
        hcy_operator_release(op);
    }
    difference = HCY_DIFFERENCE_FORWARD;
    st_ok(hcy_operator_gradient(&op, dev, &s, difference), "a gradient");
    check_operator(op, gradient_oracle, "gradient");
    hcy_operator_release(op);
    st_says(hcy_operator_difference(&op, dev, &s, 3, 1, 1), HCY_EINVAL, "axis 3",
            "an axis that is not there");
    st_says(hcy_operator_gradient(&op, dev, &s, 9), HCY_EINVAL, "no kind", "a kind that is none");
}

/* --- Transforms --- */

enum { POINTS = 40, ROWS = 6, COLUMNS = 5, VECTORS = 2 };
static double places[2][POINTS];
static int transform_type;

static void nufft_oracle(double complex *out, const double complex *in, bool adjoint)
{
    const bool to_points = (transform_type == 2) == !adjoint;
    const double sign = adjoint ? 1 : -1;
    for (int i = 0; i < VECTORS * (to_points ? POINTS : ROWS * COLUMNS); i++)
        out[i] = 0;
    for (int v = 0; v < VECTORS; v++)
        for (int j = 0; j < POINTS; j++)
            for (int k = 0; k < ROWS * COLUMNS; k++) {
                double at =
                    (k / COLUMNS - ROWS / 2) * places[0][j] + (k % COLUMNS - COLUMNS / 2) * places[1][j];
                int point = v * POINTS + j, mode = v * ROWS * COLUMNS + k;
                out[to_points ? point : mode] += cexp(I * sign * at) * in[to_points ? mode : point];
            }
}
static void fft_oracle(double complex *out, const double complex *in, bool adjoint)
{
    for (int i = 0; i < 60; i++)
        out[i] = 0;
    for (int v = 0; v < 2; v++)
        for (int k = 0; k < 30; k++)
            for (int j = 0; j < 30; j++) {
                double at = 2 * acos(-1) * ((k / 5) * (j / 5) / 6.0 + (k % 5) * (j % 5) / 5.0);
                out[v * 30 + k] += cexp((adjoint ? 1 : -1) * I * at) * in[v * 30 + j];
            }
}

/* Half of the complex transform, times the square root of 2 where it stands for both; the adjoint brings the numbers
 * back, times how many were transformed. */
static void test_real_fft(int dtype, const hcy_space *whole, int n_axes)
{
    enum { MOST = 256 };
    hcy_space real = *whole;
    hcy_operator *op = NULL, *full = NULL;
    hcy_array *x = NULL, *z = NULL, *y = NULL, *f = NULL, *back = NULL;
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    static double complex half[MOST], all[MOST];
    static double out[MOST];
    const bool single = dtype == HCY_FLOAT32;
    const int64_t n = whole->shape[whole->rank - 1], columns = n / 2 + 1;
    int64_t count = 1, points = 1;
    double worst = 0, off = 0, mismatch = 1;
    real.dtype = dtype;
    for (int d = 0; d < whole->rank; d++) {
        count *= whole->shape[d];
        points *= d < whole->rank - n_axes ? 1 : whole->shape[d];
    }
    st_ok(hcy_operator_fft_real(&op, dev, &real, n_axes), "an FFT of %lld real numbers over %d axes", (long long)count, n_axes);
    st_ok(hcy_operator_fft(&full, dev, whole, n_axes), "... and of complex ones");
    st_ok(hcy_operator_get_info(&info, op), "... its spaces");
    is_int(info.range.shape[whole->rank - 1], columns, "... half of the frequencies");
    int status = cts_first(hcy_array_empty(&x, dev, dtype, whole->rank, whole->shape),
                           hcy_array_empty(&back, dev, dtype, whole->rank, whole->shape));
    status = cts_first(status, hcy_array_empty(&z, dev, HCY_COMPLEX128, whole->rank, whole->shape));
    status = cts_first(status, hcy_array_empty(&f, dev, HCY_COMPLEX128, whole->rank, whole->shape));
    status = cts_first(status, hcy_array_empty(&y, dev, info.range.dtype, whole->rank, info.range.shape));
    st_ok(status, "... vectors");
    status = HCY_EVAL(queue, single ? "x = float32(normal(7, index)); z = x" : "x = normal(7, index); z = x",
                      hcy_op_array("x", x), hcy_op_array("z", z));
    status = cts_first(status, hcy_operator_apply(queue, y, op, x));
    status = cts_first(status, hcy_operator_apply(queue, f, full, z));
    status = cts_first(status, hcy_operator_apply_adjoint(queue, back, op, y));
    status = cts_first(status, HCY_EVAL(queue, "x -= b / n", hcy_op_array("x", x), hcy_op_array("b", back),
                                        hcy_op_real("n", (double)points)));
    /* The single ones as doubles. */
    hcy_array *wide = NULL, *rest = NULL;
    status = cts_first(status, hcy_array_empty(&wide, dev, HCY_COMPLEX128, whole->rank, info.range.shape));
    status = cts_first(status, hcy_array_empty(&rest, dev, HCY_FLOAT64, whole->rank, whole->shape));
    status = cts_first(status, HCY_EVAL(queue, "w = y", hcy_op_array("w", wide), hcy_op_array("y", y)));
    status = cts_first(status, HCY_EVAL(queue, "r = x", hcy_op_array("r", rest), hcy_op_array("x", x)));
    status = cts_first(status, hcy_array_to_host(half, queue, wide));
    status = cts_first(status, hcy_array_to_host(all, queue, f));
    status = cts_first(status, hcy_array_to_host(out, queue, rest));
    st_ok(status, "... applied");
    for (int64_t i = 0; i < count / n * columns; i++) {
        const int64_t k = i % columns;
        const double twice = k == 0 || 2 * k == n ? 1 : sqrt(2);
        worst = fmax(worst, cabs(half[i] - twice * all[i / columns * n + k]));
    }
    for (int64_t i = 0; i < count; i++)
        off = fmax(off, fabs(out[i]));
    ok(worst < (single ? 2e-5 : 1e-13), "... half of the complex ones: off by %.1e", worst);
    ok(off < (single ? 2e-6 : 1e-14), "... whose adjoint is the inverse: off by %.1e", off);
    st_ok(hcy_operator_dot_test(&mismatch, queue, op, 10, 5), "... ten pairs");
    ok(mismatch < (single ? 1e-6 : 1e-14), "... a true adjoint: %.1e", mismatch);
    hcy_array_release(x);
    hcy_array_release(y);
    hcy_array_release(z);
    hcy_array_release(f);
    hcy_array_release(back);
    hcy_array_release(wide);
    hcy_array_release(rest);
    hcy_operator_release(op);
    hcy_operator_release(full);
}

/* Three of 7 real numbers, one behind the other: the second begins between two complex numbers. */
static void halves_oracle(double complex *out, const double complex *in, bool adjoint)
{
    for (int i = 0; i < (adjoint ? 21 : 12); i++)
        out[i] = 0;
    for (int v = 0; v < 3; v++)
        for (int k = 0; k < 4; k++)
            for (int j = 0; j < 7; j++) {
                const double complex term = (k ? sqrt(2) : 1) * cexp(-2 * I * acos(-1) * k * j / 7);
                if (adjoint)
                    out[7 * v + j] += creal(conj(term) * in[4 * v + k]);
                else
                    out[4 * v + k] += term * in[7 * v + j];
            }
}
static void test_real_fft_parts(void)
{
    for (int dtype = HCY_FLOAT32; dtype <= HCY_FLOAT64; dtype++) {
        const hcy_space odd = space_of(dtype, 1, 7, 0, 0);
        hcy_operator *op = NULL, *all = NULL;
        st_ok(hcy_operator_fft_real(&op, dev, &odd, 1), "an FFT of an odd number of reals");
        st_ok(hcy_operator_block_diagonal(&all, (hcy_operator *[]){ op, op, op }, 3), "... three of them");
        check_operator(all, halves_oracle, "real FFTs of a stack");
        hcy_operator_release(all);
        hcy_operator_release(op);
    }
}

static void test_transforms(void)
{
    uint64_t seed = 3;
    hcy_space s = space_of(HCY_COMPLEX128, 3, 2, 6, 5), real = space_of(HCY_FLOAT64, 2, 6, 5, 0);
    hcy_operator *op = NULL;
    int status = hcy_operator_fft(&op, dev, &s, 2);
    if (status == HCY_EUNSUPPORTED) {
        skip(1, "%s", hcy_last_error()->text);
        return;
    }
    st_ok(status, "an FFT of two images");
    check_operator(op, fft_oracle, "FFT");
    hcy_operator_release(op);
    op = NULL;
    st_says(hcy_operator_fft(&op, dev, &real, 2), HCY_EINVAL, "complex vectors", "an FFT of real numbers");
    st_says(hcy_operator_fft(&op, dev, &s, 4), HCY_EINVAL, "4 axes", "an FFT over axes that are not there");
    st_says(hcy_operator_fft_real(&op, dev, &s, 2), HCY_EINVAL, "real vectors", "a real FFT of complex numbers");
    st_says(hcy_operator_fft_real(&op, dev, &real, 3), HCY_EINVAL, "3 axes", "a real FFT over axes that are not there");
    static const hcy_vectors table = HCY_VECTORS_INIT;
    hcy_space dealt = real;
    dealt.vectors = &table;
    st_says(hcy_operator_fft_real(&op, dev, &dealt, 1), HCY_EUNSUPPORTED, "hcy_dist_fft_real()",
            "a real FFT of distributed vectors");
    const hcy_space cube = { HCY_COMPLEX128, 4, { 2, 3, 4, 6 }, NULL };
    test_real_fft(HCY_FLOAT64, &s, 1);
    test_real_fft(HCY_FLOAT32, &s, 2);
    test_real_fft(HCY_FLOAT64, &cube, 3);
    test_real_fft(HCY_FLOAT64, &cube, 2);
    test_real_fft_parts();
    for (int j = 0; j < POINTS; j++)
        for (int d = 0; d < 2; d++)
            places[d][j] = (double)(int64_t)cts_random(&seed) / 0x1p63 * 3;
    for (transform_type = 1; transform_type <= 2; transform_type++) {
        hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
        hcy_nufft_options options = HCY_NUFFT_OPTIONS_INIT;
        hcy_nufft *plan = NULL;
        desc.type = transform_type;
        desc.dim = 2;
        desc.modes[0] = ROWS;
        desc.modes[1] = COLUMNS;
        desc.sign = -1;
        desc.n_transforms = VECTORS;
        desc.eps = 1e-13;
        options.method = HCY_NUFFT_GRID;
        st_ok(hcy_nufft_create(&plan, dev, &desc, &options), "a plan of type %d", transform_type);
        st_says(hcy_operator_nufft(&op, plan), HCY_ESTATE, "points", "without points it is no operator yet");
        st_ok(hcy_nufft_set_points(plan, POINTS, (const void *[]){ places[0], places[1] }, 0, NULL),
              "its points");
        st_ok(hcy_operator_nufft(&op, plan), "the operator");
        check_operator(op, nufft_oracle, transform_type == 1 ? "NUFFT of type 1" : "NUFFT of type 2");
        hcy_operator_release(op);
        op = NULL;
        (void)!hcy_queue_finish(queue);
        hcy_nufft_destroy(plan);
    }
}

/* A plan may have no points, and its empty vector may stand behind another in a stack. */
static void test_no_points(void)
{
    hcy_space three = space_of(HCY_COMPLEX128, 1, 3, 0, 0);
    for (int type = 1; type <= 2; type++) {
        hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
        hcy_nufft *plan = NULL;
        hcy_operator *nufft = NULL, *same = NULL, *op = NULL;
        size_t wrong = 0;
        desc.type = type;
        desc.modes[0] = 5;
        int status = hcy_nufft_create(&plan, dev, &desc, NULL);
        status = cts_first(status, hcy_nufft_set_points(plan, 0, (const void *[]){ places[0] }, 0, NULL));
        status = cts_first(status, hcy_operator_nufft(&nufft, plan));
        status = cts_first(status, hcy_operator_identity(&same, dev, &three));
        status = cts_first(status, hcy_operator_block_diagonal(&op, (hcy_operator *[]){ same, nufft }, 2));
        st_ok(status, "type %d without points, behind three numbers", type);
        for (int adjoint = 0; adjoint < 2; adjoint++) {
            hcy_operator_info info = info_of(op);
            fill_given(adjoint ? &info.range : &info.domain, 5);
            run_operator(op, adjoint, "that");
            for (int i = 0; i < ((type == 1) == !adjoint ? 8 : 3); i++)
                wrong += got[i] != (i < 3 ? given[i] : 0);
        }
        is_int((intmax_t)wrong, 0, "these stay, and sums of nothing are 0");
        hcy_operator *const all[] = { op, same, nufft };
        for (size_t i = 0; i < 3; i++)
            hcy_operator_release(all[i]);
        (void)!hcy_queue_finish(queue);
        hcy_nufft_destroy(plan);
    }
}

/* A plan that has other points now is no longer the operator's, whichever number of them is the larger one. */
static void test_other_points(void)
{
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_nufft *plan = NULL;
    hcy_operator *op = NULL;
    double mismatch = 0;
    desc.type = 2;
    desc.modes[0] = 5;
    const void *const points[1] = { places[0] };
    int status = hcy_nufft_create(&plan, dev, &desc, NULL);
    status = cts_first(status, hcy_nufft_set_points(plan, 4, points, 0, NULL));
    status = cts_first(status, hcy_operator_nufft(&op, plan));
    st_ok(status, "a NUFFT of 4 points");
    for (int n = 3; n <= 5; n += 2) {
        st_ok(hcy_nufft_set_points(plan, n, points, 0, NULL), "whose plan is given %d", n);
        st_says(hcy_operator_dot_test(&mismatch, queue, op, 1, 1), HCY_EINVAL, "it had 4", "is refused");
    }
    st_ok(hcy_nufft_set_points(plan, 4, points, 0, NULL), "with as many again");
    st_ok(hcy_operator_dot_test(&mismatch, queue, op, 1, 1), "it is one");
    hcy_operator_release(op);
    (void)!hcy_queue_finish(queue);
    hcy_nufft_destroy(plan);
}

/* --- Vectors that are refused; several queues --- */

static void test_refusals(void)
{
    hcy_space four = space_of(HCY_COMPLEX128, 1, 4, 0, 0), five = space_of(HCY_COMPLEX128, 1, 5, 0, 0),
              ten = space_of(HCY_COMPLEX128, 1, 10, 0, 0), single = space_of(HCY_COMPLEX64, 1, 5, 0, 0);
    hcy_operator *op = functions_of(HCY_COMPLEX128), *same = NULL;
    hcy_array *x = vector_of(&five, weights), *y = empty_of(&four), *floats = empty_of(&single),
              *long_one = empty_of(&ten), *gaps = part_of(long_one, "::2");
    st_says(hcy_operator_apply(queue, x, op, y), HCY_EINVAL, "the input is complex128 (4,)", "another shape");
    st_says(hcy_operator_apply(queue, y, op, floats), HCY_EINVAL, "the input is complex64", "another type");
    st_says(hcy_operator_apply(queue, y, op, gaps), HCY_EINVAL, "gaps", "gaps");
    st_says(hcy_operator_apply(queue, NULL, op, x), HCY_EINVAL, "no output", "no output");
    st_says(hcy_operator_apply(NULL, y, op, x), HCY_EINVAL, "a queue", "no queue");
    st_ok(hcy_operator_identity(&same, dev, &five), "the identity");
    st_says(hcy_operator_apply(queue, x, same, x), HCY_EINVAL, "share memory",
            "input and output that are one");
    hcy_array_info whole = HCY_ARRAY_INFO_INIT;
    hcy_buffer *halves[2] = { NULL };
    hcy_array *overlapping[2] = { NULL };
    st_ok(hcy_array_get_info(&whole, long_one), "ten numbers");
    for (size_t i = 0; i < 2; i++) {
        int made = hcy_buffer_sub(&halves[i], whole.buffer, 64 * i, 80);
        made = cts_first(made, hcy_array_of_buffer(&overlapping[i], halves[i], HCY_COMPLEX128, 1, five.shape, NULL, 0));
        st_ok(made, "half of them as a buffer's view");
    }
    st_says(hcy_operator_apply(queue, overlapping[0], same, overlapping[1]), HCY_EINVAL, "share memory",
            "views of one buffer that overlap");
    for (size_t i = 0; i < 2; i++) {
        hcy_array_release(overlapping[i]);
        hcy_buffer_release(halves[i]);
    }
    hcy_space bytes = space_of(HCY_UINT8, 1, 5, 0, 0);
    st_says(hcy_operator_identity(&same, dev, &bytes), HCY_EINVAL, "not of uint8",
            "a type that no vector has");
    hcy_device *second = cts_open_spec("cpu@threads=1");
    hcy_queue *other = cts_queue(second);
    st_says(hcy_operator_apply(other, y, op, x), HCY_EINVAL, "another device", "another device's queue");
    hcy_array *elsewhere = NULL;
    hcy_operator *theirs = NULL;
    st_ok(hcy_array_empty(&elsewhere, second, HCY_COMPLEX128, 1, five.shape), "an array of another device");
    st_says(hcy_operator_apply(queue, y, op, elsewhere), HCY_EINVAL, "on another device", "is refused");
    st_ok(hcy_operator_identity(&theirs, second, &five), "an operator of another device");
    st_says(hcy_operator_compose(&same, (hcy_operator *[]){ op, theirs }, 2), HCY_EINVAL, "two devices",
            "is, too");
    hcy_operator_release(theirs);
    hcy_array_release(elsewhere);
    hcy_queue_release(other);
    hcy_device_release(second);
    hcy_operator_release(op);
    hcy_operator_release(same);
    hcy_array *const all[] = { x, y, floats, long_one, gaps };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        hcy_array_release(all[i]);
}

/* A chain's memory is one application's at a time, whatever queue it is on. */
static void test_queues(void)
{
    enum { TURNS = 40 };
    hcy_space four = space_of(HCY_COMPLEX128, 1, 4, 0, 0);
    hcy_operator *next = functions_of(HCY_COMPLEX128), *back = NULL, *normal = NULL;
    hcy_queue *queues[2] = { cts_queue(dev), cts_queue(dev) };
    hcy_array *x[2], *y[TURNS];
    size_t wrong = 0;
    st_ok(hcy_operator_adjoint(&back, next), "an adjoint");
    st_ok(hcy_operator_compose(&normal, (hcy_operator *[]){ next, back }, 2), "a chain");
    for (int k = 0; k < 2; k++) {
        fill_given(&four, (uint64_t)k);
        x[k] = vector_of(&four, given);
    }
    int status = 0;
    for (int i = 0; i < TURNS; i++) {
        y[i] = empty_of(&four);
        status = cts_first(status, hcy_operator_apply(queues[i % 2], y[i], normal, x[i % 2]));
    }
    status = cts_first(status, hcy_queue_finish(queues[0]));
    status = cts_first(status, hcy_queue_finish(queues[1]));
    st_ok(status, "two queues take turns");
    for (int i = 0; i < TURNS; i++) {
        double complex middle[5];
        fill_given(&four, (uint64_t)(i % 2));
        next_oracle(middle, given, true);
        next_oracle(want, middle, false);
        read_vector(got, y[i], &four);
        for (int k = 0; k < 4; k++)
            wrong += cabs(got[k] - want[k]) > 1e-12;
        hcy_array_release(y[i]);
    }
    is_int((intmax_t)wrong, 0, "and do not meet");
    for (int k = 0; k < 2; k++) {
        hcy_array_release(x[k]);
        hcy_queue_release(queues[k]);
    }
    hcy_operator_release(next);
    hcy_operator_release(back);
    hcy_operator_release(normal);
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    few = argc > 2 && !strcmp(argv[2], "few");
    dev = cts_open();
    queue = cts_queue(dev);
    test_functions();
    test_words();
    test_mixed();
    test_complex();
    test_diagonal();
    test_algebra();
    test_blocks(HCY_COMPLEX128);
    if (!few) {
        test_blocks(HCY_FLOAT32);
        test_differences(HCY_COMPLEX64);
    }
    test_differences(HCY_FLOAT64);
    test_transforms();
    if (!few) {
        test_no_points();
        test_other_points();
    }
    test_refusals();
    test_queues();
    (void)!hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
