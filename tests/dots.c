/* dots.c - dots and norms of 10^7 complex floats have the same bits on every device and for any number of threads; more
 * than 2^32 elements.
 *
 *     tests/dots [DEVICE [few]]        few: without the latter, which take a CPU seconds
 */
#include "cts.h"

#include <halcyon/eval.h>

static const struct {
    const char *text;
    uint64_t bits[2]; /* of the result, float64 or two */
} cases[] = {
    { "s = complex128(dot(x, y))", { 0xc0b55cb520000000u, 0x407d2725e0000000u } },
    { "s = complex128(vdot(x, y))", { 0xc0b9c7fac0000000u, 0x4085e90760000000u } },
    { "s = complex128(norm(x))", { 0x40b178e420000000u, 0 } },
    { "s = dot(complex128(x), complex128(y))", { 0xc0b55cb51a8855efu, 0x407d27260d93f40cu } },
    { "s = complex128(sum(abs2(x - y)))", { 0x417fd03ac0000000u, 0 } },
};

/* A number that is repeated beyond what 32 bits count: the place of the last one, and how many there are. */
static void test_many(hcy_device *dev, hcy_queue *queue)
{
    const int64_t n = ((int64_t)1 << 32) + 5, one = 1;
    const int64_t number = 1;
    hcy_array *x = NULL, *all = NULL, *s = NULL;
    int64_t got = 0;
    int status = hcy_array_from_host(&x, dev, HCY_INT64, 1, &one, &number);
    status = cts_first(status, hcy_array_broadcast(&all, x, 1, &n));
    status = cts_first(status, hcy_array_empty(&s, dev, HCY_INT64, 0, NULL));
    if (!status)
        status = HCY_EVAL(queue, "s = max(x * index) + sum(x)", hcy_op_array("s", s), hcy_op_array("x", all));
    if (!status)
        status = hcy_array_to_host(&got, queue, s);
    st_ok(status, "2^32 + 5 elements");
    is_int((intmax_t)got, (intmax_t)(2 * n - 1), "are all there");
    hcy_array_release(x);
    hcy_array_release(all);
    hcy_array_release(s);
}

int main(int argc, char **argv)
{
#ifdef IS_SANITIZED
    const bool has_many = false; /* the same lines for a minute */
#else
    const bool has_many = argc < 3 || strcmp(argv[2], "few") != 0;
#endif
    const int64_t n = 10000000;
    hcy_array *x = NULL, *y = NULL, *s = NULL;
    cts_begin(argc, argv);
    hcy_device *dev = cts_open();
    hcy_queue *queue = cts_queue(dev);
    int status = hcy_array_empty(&x, dev, HCY_COMPLEX64, 1, &n);
    status = cts_first(status, hcy_array_empty(&y, dev, HCY_COMPLEX64, 1, &n));
    status = cts_first(status, hcy_array_empty(&s, dev, HCY_COMPLEX128, 0, NULL));
    if (status)
        bail_out("%s", hcy_last_error()->text);
    st_ok(HCY_EVAL(queue,
                   "x = complex(float32(normal(1, index)), float32(normal(2, index)));"
                   "y = complex(float32(normal(3, index)), uniform32(4, index))",
                   hcy_op_array("x", x), hcy_op_array("y", y)),
          "10^7 complex floats");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t got[2] = { 0 };
        st_ok(HCY_EVAL(queue, cases[i].text, hcy_op_array("s", s), hcy_op_array("x", x), hcy_op_array("y", y)), "%s",
              cases[i].text);
        st_ok(hcy_array_to_host(got, queue, s), "is read");
        ok(got[0] == cases[i].bits[0] && got[1] == cases[i].bits[1],
           "has the bits that it has everywhere: 0x%016" PRIx64 ", 0x%016" PRIx64, got[0], got[1]);
    }
    hcy_array_release(x);
    hcy_array_release(y);
    hcy_array_release(s);
    if (has_many)
        test_many(dev, queue);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
