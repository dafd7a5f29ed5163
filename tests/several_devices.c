/* several_devices.c - operators of two devices in one: the answer of one device, both at the same time, and what fails.
 *
 *     tests/several_devices [DEVICE]        vectors are there; the other device is a CPU of one thread
 */
#include "cts_gate.h"

#include <halcyon/eval.h>
#include <halcyon/operator.h>
#include <math.h>

enum { HOME, OTHER, COILS = 5, AT_HOME = 2, POINTS = 90 };
static hcy_device *devs[2];
static hcy_queue *queues[2];

/* Random numbers by their place: the same ones on any device, after an `offset` as well. */
static hcy_array *random_on(int where, const hcy_space *s, int64_t offset)
{
    hcy_array *a = NULL;
    const bool is_complex = s->dtype == HCY_COMPLEX128;
    const char *text = is_complex ? "a = complex(uniform(1, index + n), uniform(2, index + n))"
                                  : "a = uniform(1, index + n)";
    if (hcy_array_empty(&a, devs[where], s->dtype, s->rank, s->shape) ||
        HCY_EVAL(queues[where], text, hcy_op_array("a", a), hcy_op_integer("n", offset)) ||
        hcy_queue_finish(queues[where]))
        bail_out("no random numbers: %s", hcy_last_error()->text);
    return a;
}
static hcy_operator_info info_of(const hcy_operator *op)
{
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    if (hcy_operator_get_info(&info, op))
        bail_out("%s", hcy_last_error()->text);
    return info;
}
static size_t numbers_of(const hcy_space *s)
{
    size_t n = hcy_dtype_size(s->dtype) / sizeof(double);
    for (int d = 0; d < s->rank; d++)
        n *= (size_t)s->shape[d];
    return n;
}

/* A x, or A^H y, of the same random vector: numbers in host memory; freed by the caller. */
static double *run_operator(size_t *n, hcy_operator *op, bool adjoint)
{
    const hcy_operator_info info = info_of(op);
    const hcy_space *to = adjoint ? &info.domain : &info.range;
    hcy_array *x = random_on(HOME, adjoint ? &info.range : &info.domain, 77), *y = random_on(HOME, to, 0);
    double *numbers = malloc(numbers_of(to) * sizeof *numbers);
    int status = (adjoint ? hcy_operator_apply_adjoint : hcy_operator_apply)(queues[HOME], y, op, x);
    if (!numbers || status || hcy_array_to_host(numbers, queues[HOME], y))
        bail_out("operator %s: %s", info.name, hcy_last_error()->text);
    *n = numbers_of(to);
    hcy_array_release(x);
    hcy_array_release(y);
    return numbers;
}

/* An operator of two devices does what one of one device does, with the same bits each time. */
static void check_same(hcy_operator *op, hcy_operator *one, const char *what)
{
    enum { TIMES = 10 };
    double mismatch = -1;
    for (int adjoint = 0; adjoint < 2; adjoint++) {
        size_t n, n_wanted, differ = 0;
        double off = 0, norm = 0, *got = run_operator(&n, op, adjoint), *want = run_operator(&n_wanted, one, adjoint);
        is_int((intmax_t)n, (intmax_t)n_wanted, "%s%s: as many numbers", what, adjoint ? ", adjoint" : "");
        for (size_t i = 0; i < n && n == n_wanted; i++) {
            off += (got[i] - want[i]) * (got[i] - want[i]);
            norm += want[i] * want[i];
        }
        if (!ok(sqrt(off) <= 1e-12 * sqrt(norm), "... those of one device"))
            diag("off by %g of %g", sqrt(off), sqrt(norm));
        for (int k = 0; k < TIMES; k++) {
            double *again = run_operator(&n, op, adjoint);
            differ += memcmp(again, got, n * sizeof *got) != 0;
            free(again);
        }
        is_int((intmax_t)differ, 0, "... %d times with the same bits", TIMES);
        free(got);
        free(want);
    }
    st_ok(hcy_operator_dot_test(&mismatch, queues[HOME], op, 5, 3), "%s: the dot test", what);
    if (!ok(mismatch >= 0 && mismatch <= 1e-12, "... finds an adjoint"))
        diag("mismatch %g", mismatch);
}

/* --- Sums and stacks --- */

static hcy_operator *matrix_on(int where, int64_t rows, int64_t columns, int64_t offset)
{
    const hcy_space s = { HCY_COMPLEX128, 2, { rows, columns }, NULL };
    hcy_operator *op = NULL;
    hcy_array *numbers = random_on(where, &s, offset);
    st_ok(hcy_operator_matrix(&op, numbers), "a matrix of %lld rows", (long long)rows);
    hcy_array_release(numbers);
    return op;
}

typedef int make_fn(hcy_operator **op, hcy_operator *const *ops, size_t n);

/* Three matrices, of which the middle one is on another device, and the same three on one. */
static void check_blocks(make_fn *make, const int64_t rows[3], const int64_t columns[3], const char *what)
{
    hcy_operator *mixed[3], *home[3], *op = NULL, *one = NULL;
    for (int i = 0; i < 3; i++) {
        mixed[i] = matrix_on(i == 1 ? OTHER : HOME, rows[i], columns[i], 100 * i);
        home[i] = matrix_on(HOME, rows[i], columns[i], 100 * i);
    }
    st_ok(make(&op, mixed, 3), "%s of two devices", what);
    st_ok(make(&one, home, 3), "... and of one");
    ok(info_of(op).device == devs[HOME], "it is of the first one's device");
    for (int i = 0; i < 3; i++) {
        hcy_operator_release(mixed[i]);
        hcy_operator_release(home[i]);
    }
    check_same(op, one, what);
    hcy_operator_release(op);
    hcy_operator_release(one);
}

static void test_blocks(void)
{
    const int64_t fours[3] = { 4, 4, 4 }, some[3] = { 4, 3, 6 }, other[3] = { 2, 5, 3 };
    check_blocks(hcy_operator_sum, fours, fours, "a sum");
    check_blocks(hcy_operator_vstack, some, fours, "a vstack");
    check_blocks(hcy_operator_hstack, fours, some, "an hstack");
    check_blocks(hcy_operator_block_diagonal, some, other, "a block diagonal");
}

/* --- Coils --- */

static hcy_nufft *plan_on(int where)
{
    static double places[2][POINTS];
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_nufft *plan = NULL;
    uint64_t seed = 11;
    for (int j = 0; j < 2 * POINTS; j++)
        places[j % 2][j / 2] = (double)(int64_t)cts_random(&seed) / 0x1p63 * 3.1;
    desc.type = 2;
    desc.sign = -1;
    desc.precision = HCY_F64;
    desc.dim = 2;
    desc.modes[0] = 6;
    desc.modes[1] = 9;
    desc.n_transforms = 2;
    desc.eps = 1e-13;
    if (hcy_nufft_create(&plan, devs[where], &desc, NULL) ||
        hcy_nufft_set_points(plan, POINTS, (const void *[]){ places[0], places[1] }, 0, NULL))
        bail_out("no plan: %s", hcy_last_error()->text);
    return plan;
}

static hcy_operator *coils_on(int where, hcy_nufft *plan, int first, int n)
{
    const hcy_space s = { HCY_COMPLEX128, 3, { n, 6, 9 }, NULL };
    hcy_operator *op = NULL;
    hcy_array *maps = random_on(where, &s, first * 54);
    st_ok(hcy_operator_sense(&op, plan, maps, NULL), "%d coils", n);
    hcy_array_release(maps);
    return op;
}

static hcy_operator *gram_of(hcy_operator *a)
{
    hcy_operator *back = NULL, *gram = NULL;
    st_ok(hcy_operator_adjoint(&back, a), "an adjoint");
    st_ok(hcy_operator_compose(&gram, (hcy_operator *[]){ back, a }, 2), "a Gram operator");
    hcy_operator_release(back);
    return gram;
}

static void test_coils(void)
{
    hcy_nufft *plans[2] = { plan_on(HOME), plan_on(OTHER) };
    hcy_operator *all = coils_on(HOME, plans[HOME], 0, COILS), *op = NULL,
                 *some[2] = { coils_on(HOME, plans[HOME], 0, AT_HOME),
                              coils_on(OTHER, plans[OTHER], AT_HOME, COILS - AT_HOME) };
    hcy_operator *gram = gram_of(all), *grams[2] = { gram_of(some[0]), gram_of(some[1]) };
    st_ok(hcy_operator_vstack(&op, some, 2), "coils of two devices");
    check_same(op, all, "SENSE");
    hcy_operator_release(op);
    st_ok(hcy_operator_sum(&op, grams, 2), "their Gram operators");
    check_same(op, gram, "SENSE's Gram operator");
    hcy_operator *const made[] = { all, op, some[0], some[1], gram, grams[0], grams[1] };
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        hcy_operator_release(made[i]);
    for (int k = 0; k < 2; k++) {
        (void)!hcy_queue_finish(queues[k]);
        hcy_nufft_destroy(plans[k]);
    }
}

/* --- At the same time --- */

/* One device is held, and an event is behind what the other does. */
struct held {
    struct cts_gate *gate; /* NULL: this device is not held */
    bool asynchronous;
    hcy_event *done;
};

static int copy_held(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    struct held *h = user;
    if (h->gate)
        h->asynchronous = cts_gate_hold(h->gate, queue);
    int status = hcy_array_copy(queue, y, x);
    return status ? status : hcy_event_record(&h->done, queue);
}

static void check_together(int held)
{
    const hcy_space four = { HCY_FLOAT64, 1, { 4 }, NULL }, eight = { HCY_FLOAT64, 1, { 8 }, NULL };
    struct held h[2] = { { NULL, true, NULL }, { NULL, true, NULL } };
    hcy_operator *ops[2] = { NULL, NULL }, *op = NULL;
    hcy_array *x = random_on(HOME, &four, 0), *y = random_on(HOME, &eight, 9);
    h[held].gate = cts_gate_new();
    for (int k = 0; k < 2; k++) {
        hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
        desc.domain = desc.range = four;
        desc.apply = copy_held;
        desc.user = &h[k];
        st_ok(hcy_operator_create(&ops[k], devs[k], &desc), "a function");
    }
    st_ok(hcy_operator_vstack(&op, ops, 2), "functions of two devices");
    st_ok(hcy_operator_apply(queues[HOME], y, op, x), "are applied");
    if (h[held].asynchronous)
        st_ok(hcy_event_wait(h[!held].done, CTS_PATIENCE), "the %s device goes on while the %s one is held",
              held ? "first" : "second", held ? "second" : "first");
    else
        skip(1, CTS_GATE_SKIP);
    cts_gate_open(h[held].gate);
    st_ok(hcy_queue_finish(queues[HOME]), "and both are done");
    cts_gate_free(h[held].gate);
    for (int k = 0; k < 2; k++) {
        hcy_event_release(h[k].done);
        hcy_operator_release(ops[k]);
    }
    hcy_operator_release(op);
    hcy_array_release(x);
    hcy_array_release(y);
}

/* --- Failures --- */

/* The other device has a fault that its first launch meets: `status`, in words that name it. */
static void check_failure(const char *spec, int status, bool comes_back)
{
    const hcy_space four = { HCY_COMPLEX128, 1, { 4 }, NULL }, eight = { HCY_COMPLEX128, 1, { 8 }, NULL };
    const hcy_space square = { HCY_COMPLEX128, 2, { 4, 4 }, NULL };
    hcy_device *bad = cts_open_spec(spec);
    hcy_array *numbers = NULL, *source = random_on(HOME, &square, 0), *x = random_on(HOME, &four, 0),
              *y = random_on(HOME, &eight, 0);
    hcy_operator *ops[2] = { matrix_on(HOME, 4, 4, 0), NULL }, *op = NULL;
    hcy_queue *there = cts_queue(bad), *first = cts_queue(devs[HOME]), *second = cts_queue(devs[HOME]);
    st_ok(hcy_array_to_device(&numbers, there, source, NULL), "a matrix on %s", spec);
    st_ok(hcy_queue_finish(there), "that has come");
    st_ok(hcy_operator_matrix(&ops[1], numbers), "as an operator");
    st_ok(hcy_operator_vstack(&op, ops, 2), "beside one that works");
    int submitted = hcy_operator_apply(first, y, op, x);
    st_says(submitted ? submitted : hcy_queue_finish(first), status, strrchr(spec, '@') + 1,
            "it fails, and says why");
    ok(strstr(hcy_last_error()->text, "cpu") != NULL, "... and where: %s", hcy_last_error()->text);
    submitted = hcy_operator_apply(second, y, op, x);
    if (comes_back)
        st_ok(submitted ? submitted : hcy_queue_finish(second), "on another queue it goes on");
    else
        st_says(submitted ? submitted : hcy_queue_finish(second), status, "cpu", "another queue fails, too");
    hcy_operator_release(ops[0]);
    hcy_operator_release(ops[1]);
    hcy_operator_release(op);
    hcy_array *const arrays[] = { numbers, source, x, y };
    for (size_t i = 0; i < 4; i++)
        hcy_array_release(arrays[i]);
    hcy_queue_release(there);
    hcy_queue_release(first);
    hcy_queue_release(second);
    hcy_device_release(bad);
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    devs[HOME] = cts_open();
    devs[OTHER] = cts_open_spec("cpu@threads=1");
    queues[HOME] = cts_queue(devs[HOME]);
    queues[OTHER] = cts_queue(devs[OTHER]);
    test_blocks();
    test_coils();
    check_together(HOME);
    check_together(OTHER);
    check_failure("cpu@threads=1@fail-launch=1", HCY_ELAUNCH, true);
    check_failure("cpu@threads=1@lose-launch=1", HCY_ELOST, false);
    for (int k = 0; k < 2; k++) {
        (void)!hcy_queue_finish(queues[k]);
        hcy_queue_release(queues[k]);
        hcy_device_release(devs[k]);
    }
    return done_testing();
}
