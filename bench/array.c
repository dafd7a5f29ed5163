/* array.c - rates of expressions over arrays, beside STREAM's triad on as many threads in the same run; times of calls.
 *
 *     bench/array [DEVICE [ELEMENTS [THREADS]]]        cpu, 10^8 floats; threads of the triad (the CPUs there are)
 *
 * GB/s count what must move: each array once, of `p` and `q`, every second number of an array, those that are used.
 * Four calls one after the other, the best of seven; of calls on 1000 numbers 2000, the best of a hundred.  Sorts and
 * histograms, of up to 10^7 numbers, are single calls, the best of three.
 */
#include "bench.h"

#include <halcyon/eval.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 7, MOST_THREADS = 1024, IN_A_ROW = 4, CALLS = 2000, CALL_ROUNDS = 100 };

/* --- STREAM's triad: a = b + 3 c, doubles --- */

struct part {
    double *a, *b, *c;
    size_t n;
    int fills;
};

static void *triad_part(void *context)
{
    const struct part *p = context;
    /* Pages lie near the thread that wrote them first. */
    for (size_t i = 0; i < p->n; i++)
        if (p->fills)
            p->a[i] = p->b[i] = p->c[i] = 1;
        else
            p->a[i] = p->b[i] + 3 * p->c[i];
    return NULL;
}

static double time_triad(size_t n, int threads)
{
    static struct part parts[MOST_THREADS];
    pthread_t thread[MOST_THREADS];
    double *memory = bench_need(malloc(3 * n * sizeof *memory)), best = 1e9;
    for (int round = -1; round < ROUNDS; round++) {
        double begin = timer_now();
        for (int t = 0; t < threads; t++) {
            size_t first = n * (size_t)t / (size_t)threads, end = n * (size_t)(t + 1) / (size_t)threads;
            parts[t] = (struct part){ memory + first, memory + n + first, memory + 2 * n + first, end - first,
                                      round < 0 };
            if (pthread_create(&thread[t], NULL, triad_part, &parts[t]))
                bench_check(HCY_ENOMEM, "a thread", __LINE__);
        }
        for (int t = 0; t < threads; t++)
            pthread_join(thread[t], NULL);
        double seconds = timer_now() - begin;
        if (round >= 0 && seconds < best)
            best = seconds;
    }
    free(memory);
    return 3e-9 * (double)(n * sizeof *memory) / best;
}

/* --- What the library's tree of sums costs: sums in an order of the compiler's liking, on one thread --- */

#if defined(__x86_64__) && defined(__GNUC__)
#define BEST_CODE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define BEST_CODE
#endif
/* As many sums at once as fill eight of the largest registers. */
enum { FREE_LANES = 64 };

/* In doubles, as the library adds floats up; products are floats. */
BEST_CODE static double free_sum(const float *x, const float *y, size_t n)
{
    double lane[FREE_LANES] = { 0 }, sum = 0;
    for (size_t i = 0; i + FREE_LANES <= n; i += FREE_LANES)
        for (size_t l = 0; l < FREE_LANES; l++)
            lane[l] += (double)x[i + l];
    (void)y;
    for (size_t l = 0; l < FREE_LANES; l++)
        sum += lane[l];
    return sum;
}

BEST_CODE static double free_dot(const float *x, const float *y, size_t n)
{
    double lane[FREE_LANES] = { 0 }, sum = 0;
    for (size_t i = 0; i + FREE_LANES <= n; i += FREE_LANES)
        for (size_t l = 0; l < FREE_LANES; l++)
            lane[l] += (double)(x[i + l] * y[i + l]);
    for (size_t l = 0; l < FREE_LANES; l++)
        sum += lane[l];
    return sum;
}

static void print_free(const char *what, double (*add)(const float *, const float *, size_t), int arrays, size_t n)
{
    float *x = bench_need(malloc(2 * n * sizeof *x));
    double best = 1e9;
    volatile double sum = 0;
    for (size_t i = 0; i < 2 * n; i++)
        x[i] = (float)(i % 1000) / 500 - 0.999f;
    for (int round = 0; round < ROUNDS; round++) {
        double begin = timer_now();
        for (int i = 0; i < IN_A_ROW; i++)
            sum = sum + add(x, x + n, n);
        double seconds = timer_now() - begin;
        best = seconds < best ? seconds : best;
    }
    free(x);
    printf("%-40s %8.2f GB/s (1 thread)\n", what, 4e-9 * IN_A_ROW * arrays * (double)n / best);
}

/* --- Expressions --- */

static const struct row {
    const char *text;
    double arrays; /* of n floats that move */
} rows[] = {
    { "z = x", 2 },
    { "z = 2*x + y", 3 },
    { "z = 2*x + y*z", 4 },
    { "s = sum(x)", 1 },
    { "s = dot(x, y)", 2 },
    { "s = norm(x)", 1 },
    { "w = vdot(c, d)", 2 },
    { "w = norm(c)", 1 },
    { "z = cumsum(x)", 2 },
    { "v = sum(m, axis=0)", 1 },
    { "h = p + q", 1.5 },
    { "z = sqrt(x)", 2 },
    { "z = exp(x)", 2 },
    { "fast: z = exp(x)", 2 },
    { "z = log(x)", 2 },
    { "z = sin(x)", 2 },
    { "fast: z = sin(x)", 2 },
    { "z = tanh(x)", 2 },
    { "z = erf(x)", 2 },
    { "z = x ** y", 3 },
    { "z = atan2(x, y)", 3 },
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* Three arrays of n floats and a number; two of n / 2 complex numbers; two that take every second float of x and y,
 * and their sum; x as a matrix of rows, and their sum. */
enum { X, Y, Z, S, C, D, W, P, Q, H, M, V, ARRAYS };
struct arrays {
    hcy_queue *queue;
    hcy_operand operands[ARRAYS];
};

static void make_array(struct arrays *a, int k, const char *name, int dtype, int64_t n)
{
    hcy_array *array;
    CHECK(hcy_array_full(&array, a->queue, dtype, n > 0, &n, 1.5));
    a->operands[k] = hcy_op_array(name, array);
}

static void make_every_second(struct arrays *a, int k, const char *name, int of)
{
    hcy_array *view;
    CHECK(hcy_array_slice(&view, a->operands[of].array, "::2"));
    a->operands[k] = hcy_op_array(name, view);
}

/* As near to a square as sizes of the form 2^k go. */
static void make_matrix(struct arrays *a, int64_t n)
{
    hcy_array *part, *matrix;
    int64_t shape[2] = { 1, 0 };
    while (4 * shape[0] * shape[0] <= n)
        shape[0] *= 2;
    shape[1] = n / shape[0];
    CHECK(hcy_array_slice(&part, a->operands[X].array, ":%lld", (long long)(shape[0] * shape[1])));
    CHECK(hcy_array_reshape(&matrix, part, 2, shape));
    hcy_array_release(part);
    a->operands[M] = hcy_op_array("m", matrix);
    make_array(a, V, "v", HCY_FLOAT32, shape[1]);
}

static void make_arrays(struct arrays *a, hcy_queue *queue, int64_t n)
{
    a->queue = queue;
    make_array(a, X, "x", HCY_FLOAT32, n);
    make_array(a, Y, "y", HCY_FLOAT32, n);
    make_array(a, Z, "z", HCY_FLOAT32, n);
    make_array(a, S, "s", HCY_FLOAT32, 0);
    make_array(a, C, "c", HCY_COMPLEX64, n / 2);
    make_array(a, D, "d", HCY_COMPLEX64, n / 2);
    make_array(a, W, "w", HCY_COMPLEX64, 0);
    make_every_second(a, P, "p", X);
    make_every_second(a, Q, "q", Y);
    make_array(a, H, "h", HCY_FLOAT32, (n + 1) / 2);
    make_matrix(a, n);
    CHECK(HCY_EVAL(queue, "x = float32(index % 1000) / 500 - 0.999", a->operands[X]));
}

static void free_arrays(struct arrays *a)
{
    for (int k = 0; k < ARRAYS; k++)
        hcy_array_release(a->operands[k].array);
}

/* Seconds a call, of `calls` of them one after the other, with the first n operands. */
static double time_text(const struct arrays *a, const char *text, int rounds, int calls, size_t n)
{
    double best = 1e9;
    for (int round = -1; round < rounds; round++) {
        double begin = timer_now();
        for (int i = 0; i < calls; i++)
            CHECK(hcy_eval(a->queue, text, a->operands, n));
        CHECK(hcy_queue_finish(a->queue));
        double seconds = timer_now() - begin;
        /* The first one compiles. */
        if (round >= 0 && seconds < best)
            best = seconds;
    }
    return best / calls;
}

/* --- Order --- */

enum { MOST_ORDERED = 10000000, FEW_BINS = 256, MANY_BINS = 65536, ROW = 1000 };

static double time_order(hcy_queue *queue, const char *what, hcy_array *dst, const hcy_array *src)
{
    double best = 1e9;
    for (int round = 0; round < 3; round++) {
        double begin = timer_now();
        if (!strncmp(what, "sort", 4))
            CHECK(hcy_array_sort(queue, dst, src, -1));
        else if (!strcmp(what, "argsort"))
            CHECK(hcy_array_argsort(queue, dst, src, -1));
        else
            CHECK(hcy_array_histogram(queue, dst, src, -1, 1));
        CHECK(hcy_queue_finish(queue));
        double seconds = timer_now() - begin;
        best = seconds < best ? seconds : best;
    }
    return best;
}

static void print_ordered(hcy_queue *queue, const char *what, int dtype, int64_t n, hcy_array *dst,
                          const hcy_array *src)
{
    printf("%-28s of %-8s %8.3f ns an element\n", what, hcy_dtype_name(dtype),
           1e9 * time_order(queue, what, dst, src) / (double)n);
}

/* As many rows as there are whole ones. */
static void print_rows(hcy_queue *queue, int dtype, int64_t n, const hcy_array *src)
{
    const int64_t shape[2] = { n / ROW, ROW };
    hcy_array *numbers, *rows, *sorted;
    CHECK(hcy_array_slice(&numbers, src, ":%lld", (long long)(shape[0] * ROW)));
    CHECK(hcy_array_reshape(&rows, numbers, 2, shape));
    CHECK(hcy_array_empty(&sorted, hcy_queue_device(queue), dtype, 2, shape));
    print_ordered(queue, "sort of rows of 1000", dtype, shape[0] * ROW, sorted, rows);
    hcy_array_release(sorted);
    hcy_array_release(rows);
    hcy_array_release(numbers);
}

static void print_order(hcy_queue *queue, int dtype, const char *text, int64_t n)
{
    const struct {
        const char *what;
        int dtype;
        int64_t n;
    } calls[] = { { "sort", dtype, n },
                  { "argsort", HCY_INT64, n },
                  { "histogram, 256 bins", HCY_INT64, FEW_BINS },
                  { "histogram, 65536 bins", HCY_INT64, MANY_BINS } };
    hcy_array *src, *dst;
    CHECK(hcy_array_empty(&src, hcy_queue_device(queue), dtype, 1, &n));
    CHECK(HCY_EVAL(queue, text, hcy_op_array("x", src)));
    /* Labels are outside of the bins. */
    for (int i = 0; i < (dtype == HCY_INT64 ? 2 : 4); i++) {
        CHECK(hcy_array_empty(&dst, hcy_queue_device(queue), calls[i].dtype, 1, &calls[i].n));
        print_ordered(queue, calls[i].what, dtype, n, dst, src);
        hcy_array_release(dst);
    }
    if (n >= ROW)
        print_rows(queue, dtype, n, src);
    hcy_array_release(src);
}

int main(int argc, char **argv)
{
    const char *spec = argc > 1 ? argv[1] : "cpu";
    int64_t n = argc > 2 ? atoll(argv[2]) : 100000000;
    int threads = argc > 3 ? atoi(argv[3]) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    struct arrays a;
    hcy_device *dev;
    hcy_queue *queue;
    if (n < 1 || threads < 1 || threads > MOST_THREADS) {
        fprintf(stderr, "usage: array [DEVICE [ELEMENTS [THREADS]]]\n");
        return 2;
    }
    CHECK(hcy_device_open(&dev, spec));
    CHECK(hcy_queue_create(&queue, dev));
    double triad = time_triad((size_t)n / 2 + 1, threads);
    printf("%-40s %8.2f GB/s (%d threads)\n", "triad", triad, threads);
    print_free("a sum of floats in any order", free_sum, 1, (size_t)n);
    print_free("a dot of floats in any order", free_dot, 2, (size_t)n);
    make_arrays(&a, queue, n);
    for (int i = 0; i < ROWS; i++) {
        double rate = 4e-9 * (double)n * rows[i].arrays / time_text(&a, rows[i].text, ROUNDS, IN_A_ROW, ARRAYS);
        printf("%-40s %8.2f GB/s %5.0f %% of the triad\n", rows[i].text, rate, 100 * rate / triad);
    }
    free_arrays(&a);
    make_arrays(&a, queue, 1000);
    for (int i = 0; i < 4; i++)
        printf("%-28s of 1000 %8.2f us a call\n", rows[i].text,
               1e6 * time_text(&a, rows[i].text, CALL_ROUNDS, CALLS, S + 1));
    free_arrays(&a);
    int64_t ordered = n < MOST_ORDERED ? n : MOST_ORDERED;
    print_order(queue, HCY_FLOAT32, "x = float32(sin(float64(index * 2654435761 % 4294967296)))", ordered);
    print_order(queue, HCY_INT32, "x = int32(index * 2654435761 % 4294967296 - 2147483648)", ordered);
    print_order(queue, HCY_FLOAT64, "x = sin(float64(index * 2654435761 % 4294967296))", ordered);
    print_order(queue, HCY_INT64, "x = index * 2654435761 % 4294967296 % 1000", ordered); /* labels */
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return 0;
}
