/* eval_seen.c - calls that look like the one before: another text in its place, other types and names, more texts than
 * are kept, several threads with one text; and results that are made where they are to lie. */
#include "cts.h"

#include <halcyon/eval.h>
#include <math.h>
#include <pthread.h>

enum { N = 1000, THREADS = 4, CALLS = 300, TEXTS = 1200 };

static hcy_device *dev;
static hcy_queue *queue;

static hcy_array *array_of(int dtype, double value)
{
    const int64_t n = N;
    hcy_array *a = NULL;
    if (hcy_array_full(&a, queue, dtype, 1, &n, value))
        bail_out("no array: %s", hcy_last_error()->text);
    return a;
}

/* Elements that are not the number; all, if they cannot be read. */
static intmax_t count_others(const hcy_array *a, float number)
{
    float got[N];
    intmax_t others = 0;
    if (hcy_array_to_host(got, queue, a))
        return N;
    for (int i = 0; i < N; i++)
        others += got[i] != number;
    return others;
}

/* --- What is in one place of the caller's memory, one after the other --- */

static void test_texts(void)
{
    static const struct {
        const char *text;
        float wanted;
    } cases[] = { { "z = x + y", 5 }, { "z = x * y", 6 }, { "z = x - y", -1 },
                  { "z = x", 2 },     { "z = x + y + 1", 6 }, { "z = x + y", 5 } };
    char text[40];
    hcy_array *x = array_of(HCY_FLOAT32, 2), *y = array_of(HCY_FLOAT32, 3), *z = array_of(HCY_FLOAT32, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(text, sizeof text, "%s", cases[i].text);
        st_ok(HCY_EVAL(queue, text, hcy_op_array("x", x), hcy_op_array("y", y), hcy_op_array("z", z)), "%s", text);
        is_int(count_others(z, cases[i].wanted), 0, "is what the text says now");
    }
    snprintf(text, sizeof text, "z = x +");
    is_int(HCY_EVAL(queue, text, hcy_op_array("x", x), hcy_op_array("y", y), hcy_op_array("z", z)), HCY_EINVAL,
           "a text that was cut off there");
    hcy_array_release(x);
    hcy_array_release(y);
    hcy_array_release(z);
}

static void test_operands(void)
{
    static const char text[] = "z = x / y";
    hcy_array *x = array_of(HCY_FLOAT32, 3), *y = array_of(HCY_FLOAT32, 2), *z = array_of(HCY_FLOAT32, 0),
              *wide = array_of(HCY_FLOAT64, 12), *whole = array_of(HCY_INT32, 5);
    const struct {
        hcy_operand operands[4];
        size_t n;
        float wanted;
    } cases[] = {
        { { hcy_op_array("x", x), hcy_op_array("y", y), hcy_op_array("z", z) }, 3, 1.5f },
        { { hcy_op_array("y", x), hcy_op_array("x", y), hcy_op_array("z", z) }, 3, (float)(2.0 / 3) },
        { { hcy_op_array("x", wide), hcy_op_array("y", y), hcy_op_array("z", z) }, 3, 6 },
        { { hcy_op_array("x", whole), hcy_op_array("y", y), hcy_op_array("z", z) }, 3, 2.5f },
        { { hcy_op_array("x", x), hcy_op_integer("y", 4), hcy_op_array("z", z) }, 3, 0.75f },
        { { hcy_op_array("x", x), hcy_op_real("y", 0.5), hcy_op_array("z", z) }, 3, 6 },
        { { hcy_op_array("x", x), hcy_op_array("y", y), hcy_op_array("z", z), hcy_op_integer("xy", 1) }, 4, 1.5f },
        { { hcy_op_array("x", x), hcy_op_array("y", y), hcy_op_array("z", z) }, 3, 1.5f },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        st_ok(hcy_eval(queue, text, cases[i].operands, cases[i].n), "%s of other operands, %zu", text, i);
        is_int(count_others(z, cases[i].wanted), 0, "is theirs");
    }
    is_int(hcy_eval(queue, text, cases[0].operands, 2), HCY_EINVAL, "without z");
    hcy_array_release(x);
    hcy_array_release(y);
    hcy_array_release(z);
    hcy_array_release(wide);
    hcy_array_release(whole);
}

/* More than are kept; those before them are made again. */
static void test_many_texts(void)
{
    char text[40];
    hcy_array *z = array_of(HCY_FLOAT32, 0);
    int status = 0;
    intmax_t others = 0;
    for (int i = 0; !status && i < TEXTS; i++) {
        snprintf(text, sizeof text, "z = %d.5", i);
        status = HCY_EVAL(queue, text, hcy_op_array("z", z));
        if (i % 100 == 99)
            others += count_others(z, (float)i + 0.5f);
    }
    st_ok(status, "%d texts in one place", TEXTS);
    is_int(others, 0, "each is its own");
    hcy_array_release(z);
}

/* --- Threads, each with its queue, which want the same expressions at once --- */

static void *run_calls(void *wrong)
{
    hcy_queue *own = NULL;
    const int64_t n = N;
    hcy_array *z = NULL;
    float got[N];
    int status = cts_first(hcy_queue_create(&own, dev), hcy_array_full(&z, queue, HCY_FLOAT32, 1, &n, 0));
    if (!status)
        status = hcy_queue_finish(queue);
    for (int i = 0; !status && i < CALLS; i++)
        status = HCY_EVAL(own, i % 2 ? "z = z + 2" : "z = z + 1", hcy_op_array("z", z));
    if (!status)
        status = hcy_array_to_host(got, own, z);
    for (int i = 0; i < N; i++)
        *(intmax_t *)wrong += status || got[i] != CALLS / 2 * 3;
    hcy_array_release(z);
    hcy_queue_release(own);
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];
    intmax_t wrong[THREADS] = { 0 }, all = 0;
    for (int t = 0; t < THREADS; t++)
        if (pthread_create(&threads[t], NULL, run_calls, &wrong[t]))
            bail_out("no threads");
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        all += wrong[t];
    }
    is_int(all, 0, "threads with the same two texts");
}

/* --- Results --- */

/* What a step reads may be what it writes, or begin beside it; in one piece and in several. */
static void test_places(void)
{
    enum { MANY = 3000 };
    static const char *const texts[] = { "z = z * 2 + z", "z = x + z", "z = z - x", "z = where(z > 5, x, z)",
                                         "z = sqrt(z)", "z = fma(z, x, z)", "z = max(x, z)" };
    static float x[MANY], z[MANY], got[MANY], wanted[MANY];
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++)
        for (int64_t n = 7; n <= MANY; n = n < N ? N : n + 2000) {
            hcy_array *a = NULL, *b = NULL;
            intmax_t wrong = 0;
            for (int i = 0; i < n; i++) {
                const float u = x[i] = (float)(i % 13) + 0.5f, v = z[i] = (float)(i % 11);
                const float results[] = { v * 2 + v, u + v, v - u, v > 5 ? u : v, sqrtf(v), fmaf(v, u, v),
                                          u > v ? u : v };
                wanted[i] = results[t];
            }
            int status = cts_first(hcy_array_from_host(&a, dev, HCY_FLOAT32, 1, &n, x),
                                   hcy_array_from_host(&b, dev, HCY_FLOAT32, 1, &n, z));
            if (!status)
                status = HCY_EVAL(queue, texts[t], hcy_op_array("x", a), hcy_op_array("z", b));
            if (!status)
                status = hcy_array_to_host(got, queue, b);
            for (int i = 0; i < n; i++)
                wrong += got[i] != wanted[i];
            ok(!status && !wrong, "%s of %lld: %jd wrong", texts[t], (long long)n, wrong);
            hcy_array_release(a);
            hcy_array_release(b);
        }
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    dev = cts_open();
    queue = cts_queue(dev);
    test_texts();
    test_operands();
    test_many_texts();
    test_threads();
    test_places();
    (void)!hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
