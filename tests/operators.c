/* operators.c - linear operators against plain C, their adjoints by dot tests, and what they refuse.
 *
 *     tests/operators [DEVICE]
 */
#include "cts.h"

#include <complex.h>
#include <halcyon/eval.h>
#include <halcyon/operator.h>

static hcy_device *dev;
static hcy_queue *queue;

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
    ok(mismatch >= 0 && mismatch <= bound, "%s: finds an adjoint", what);
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
    hcy_operator_release(half);
    hcy_operator_release(wrong);
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
    hcy_space bytes = space_of(HCY_UINT8, 1, 5, 0, 0);
    st_says(hcy_operator_identity(&same, dev, &bytes), HCY_EINVAL, "not of uint8",
            "a type that no vector has");
    hcy_device *second = cts_open_spec("cpu@threads=1");
    hcy_queue *other = cts_queue(second);
    st_says(hcy_operator_apply(other, y, op, x), HCY_EINVAL, "another device", "another device's queue");
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
    dev = cts_open();
    queue = cts_queue(dev);
    test_functions();
    test_diagonal();
    test_algebra();
    test_refusals();
    test_queues();
    (void)!hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
