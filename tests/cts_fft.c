/* cts_fft.c - conformance: Fourier transforms against a naive one in long double, round trips, threads. */
#include "cts_gate.h"

#include <complex.h>
#include <fenv.h>
#include <float.h>
#include <limits.h>

static hcy_device *dev;
static hcy_queue *queue;
static bool slow; /* VkFFT's plans are compiled for a processor, which takes a second each: fewer of them */

/* --- The oracle: one dimension after the other, term by term --- */

static void dft_lines(long double complex *x, size_t outer, size_t n, size_t inner, int sign)
{
    const long double tau = 6.283185307179586476925286766559005768L;
    long double complex *w = malloc(n * sizeof *w), *line = malloc(n * sizeof *line);
    for (size_t k = 0; k < n; k++)
        w[k] = cosl(tau * k / n) + sign * sinl(tau * k / n) * I;
    for (size_t o = 0; o < outer; o++)
        for (size_t i = 0; i < inner; i++) {
            long double complex *base = x + o * n * inner + i;
            for (size_t k = 0; k < n; k++) {
                line[k] = 0;
                for (size_t j = 0; j < n; j++)
                    line[k] += base[j * inner] * w[j * k % n];
            }
            for (size_t k = 0; k < n; k++)
                base[k * inner] = line[k];
        }
    free(w);
    free(line);
}

struct shape {
    int rank;
    size_t n[3], batch;
};

static size_t points(const struct shape *s)
{
    size_t total = 1;
    for (int d = 0; d < s->rank; d++)
        total *= s->n[d];
    return total;
}

static void dft(long double complex *x, const struct shape *s, int sign)
{
    size_t total = points(s);
    for (size_t b = 0; b < s->batch; b++)
        for (int d = 0; d < s->rank; d++) {
            size_t inner = 1;
            for (int k = d + 1; k < s->rank; k++)
                inner *= s->n[k];
            dft_lines(x + b * total, total / inner / s->n[d], s->n[d], inner, sign);
        }
}

/* --- Numbers of either precision --- */

static void put(void *p, int precision, size_t i, long double x)
{
    if (precision == HCY_F32)
        ((float *)p)[i] = (float)x;
    else
        ((double *)p)[i] = (double)x;
}
static long double get(const void *p, int precision, size_t i)
{
    return precision == HCY_F32 ? ((const float *)p)[i] : ((const double *)p)[i];
}

/* What a transform takes and gives, as its buffers hold it, from the full complex arrays `x` and `y`. */
struct side {
    bool real, half;
};
static size_t numbers(const struct shape *s, const struct side *side)
{
    size_t last = s->n[s->rank - 1], rows = s->batch * points(s) / last;
    return side->real ? rows * last : rows * (side->half ? last / 2 + 1 : last) * 2;
}
static long double complex full(const long double complex *x, const struct shape *s, const struct side *side,
                                size_t i)
{
    size_t last = s->n[s->rank - 1], row = side->half ? last / 2 + 1 : last;
    return x[i / row * last + i % row];
}
static void *pack(const long double complex *x, const struct shape *s, const struct side *side, int precision)
{
    size_t n = numbers(s, side);
    void *p = calloc(n, 8);
    for (size_t i = 0; i < (side->real ? n : n / 2); i++) {
        long double complex z = full(x, s, side, i);
        put(p, precision, side->real ? i : 2 * i, creall(z));
        if (!side->real)
            put(p, precision, 2 * i + 1, cimagl(z));
    }
    return p;
}
/* |p - x| / |x|, both as vectors. */
static double distance(const void *p, const long double complex *x, const struct shape *s,
                       const struct side *side, int precision)
{
    size_t n = numbers(s, side);
    long double off = 0, size = 0;
    for (size_t i = 0; i < (side->real ? n : n / 2); i++) {
        long double complex z = full(x, s, side, i);
        long double re = get(p, precision, side->real ? i : 2 * i) - creall(z);
        long double im = side->real ? 0 : get(p, precision, 2 * i + 1) - cimagl(z);
        off += re * re + im * im;
        size += creall(z) * creall(z) + cimagl(z) * cimagl(z);
    }
    return (double)sqrtl(off / (size > 0 ? size : 1));
}

/* --- One transform --- */

static hcy_fft_desc desc_of(const struct shape *s, int type, int precision, uint32_t flags)
{
    hcy_fft_desc d = HCY_FFT_DESC_INIT;
    d.type = type;
    d.precision = precision;
    d.rank = s->rank;
    memcpy(d.n, s->n, sizeof d.n);
    d.batch = s->batch;
    d.flags = flags;
    return d;
}

static hcy_buffer *workspace(const hcy_fft *fft)
{
    size_t size = hcy_fft_workspace(fft);
    return size ? cts_buffer(dev, size) : NULL;
}

/* Runs a transform of `in`, sizes as the plan has them; the result is malloced.  NULL and a diagnosis on
 * failure. */
static void *transform(hcy_fft *fft, int direction, const void *in, bool in_place, size_t *size)
{
    size_t in_size, out_size;
    hcy_fft_sizes(&in_size, &out_size, fft, direction);
    hcy_buffer *a = cts_buffer(dev, in_size),
               *b = in_place ? hcy_buffer_retain(a) : cts_buffer(dev, out_size), *w = workspace(fft);
    void *out = calloc(1, out_size);
    int status = hcy_buffer_write(queue, a, 0, in, in_size);
    status = cts_first(status, hcy_fft_execute(queue, b, fft, direction, a, w));
    status = cts_first(status, hcy_buffer_read(queue, out, b, 0, out_size));
    status = cts_first(status, hcy_queue_finish(queue));
    if (status) {
        diag("a transform: %s", hcy_last_error()->text);
        free(out);
        out = NULL;
    }
    hcy_buffer_release(a);
    hcy_buffer_release(b);
    hcy_buffer_release(w);
    *size = out_size;
    return out;
}

static long double complex *numbers_for(const struct shape *s, bool real)
{
    size_t n = points(s) * s->batch;
    uint64_t seed = n;
    long double complex *x = calloc(n, sizeof *x);
    for (size_t i = 0; i < n; i++) {
        float re = (float)(cts_random(&seed) >> 40) / 16777216.0f - 0.5f,
              im = (float)(cts_random(&seed) >> 40) / 16777216.0f - 0.5f;
        x[i] = real ? re : re + im * I; /* floats: what either precision is given is exact */
    }
    return x;
}

static const struct {
    const char *name;
    int type, direction;
    struct side in, out;
} kinds[] = {
    { "C2C forward", HCY_FFT_C2C, HCY_FFT_FORWARD, { false, false }, { false, false } },
    { "C2C backward", HCY_FFT_C2C, HCY_FFT_BACKWARD, { false, false }, { false, false } },
    { "R2C", HCY_FFT_R2C, HCY_FFT_FORWARD, { true, false }, { false, true } },
    { "C2R", HCY_FFT_C2R, HCY_FFT_BACKWARD, { false, true }, { true, false } },
};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

/* Error of kind k at this shape, relative, in units of the precision's epsilon; -1 on failure. */
static double error_of(size_t k, const struct shape *s, int precision, bool in_place)
{
    hcy_fft_desc desc = desc_of(s, kinds[k].type, precision, 0);
    hcy_fft *fft = NULL;
    bool real = kinds[k].type != HCY_FFT_C2C;
    long double complex *x = numbers_for(s, real), *y = calloc(points(s) * s->batch, sizeof *y);
    size_t n = points(s) * s->batch, size = 0, in_size = 0, out_size = 0;
    double error = -1;
    memcpy(y, x, n * sizeof *y);
    dft(y, s, kinds[k].type == HCY_FFT_C2R ? -1 : kinds[k].direction);
    const long double complex *from = x, *to = y;
    if (kinds[k].type == HCY_FFT_C2R) { /* from the transform of something real, back to it times n */
        from = y;
        for (size_t i = 0; i < n; i++)
            x[i] *= points(s);
        to = x;
    }
    void *in = pack(from, s, &kinds[k].in, precision), *out = NULL;
    if (!hcy_fft_create(&fft, dev, &desc)) {
        size_t real_size = precision == HCY_F32 ? 4 : 8;
        hcy_fft_sizes(&in_size, &out_size, fft, kinds[k].direction);
        if (in_size == numbers(s, &kinds[k].in) * real_size &&
            out_size == numbers(s, &kinds[k].out) * real_size)
            out = transform(fft, kinds[k].direction, in, in_place, &size);
        if (out)
            error = distance(out, to, s, &kinds[k].out, precision) /
                    (precision == HCY_F32 ? FLT_EPSILON : DBL_EPSILON);
    } else
        diag("no plan: %s", hcy_last_error()->text);
    hcy_fft_release(fft);
    free(in);
    free(out);
    free(x);
    free(y);
    return error;
}

/* A plan that a thread makes which rounds up, and goes on to. */
static void test_rounding(void)
{
    static const struct shape s = { 1, { 360, 1, 1 }, 1 };
    const hcy_fft_desc desc = desc_of(&s, HCY_FFT_C2C, HCY_F32, 0);
    long double complex *x = numbers_for(&s, false);
    void *in = pack(x, &s, &kinds[0].in, HCY_F32), *out[2] = { NULL, NULL };
    int rounding = FE_TONEAREST;
    for (int k = 0; k < 2; k++) {
        hcy_fft *fft = NULL;
        size_t size;
        fesetround(k ? FE_UPWARD : FE_TONEAREST);
        st_ok(hcy_fft_create(&fft, dev, &desc), "a plan, made by a thread that rounds %s", k ? "up" : "to the nearest");
        rounding = fegetround();
        fesetround(FE_TONEAREST);
        out[k] = fft ? transform(fft, HCY_FFT_FORWARD, in, false, &size) : NULL;
        hcy_fft_release(fft);
    }
    ok(rounding == FE_UPWARD && out[0] && out[1] && !memcmp(out[0], out[1], 360 * 8),
       "these have the same bits, and the thread rounds up as before");
    free(out[0]);
    free(out[1]);
    free(in);
    free(x);
}

static void test_against_oracle(void)
{
    static const struct shape shapes[] = {
        { 1, { 1, 1, 1 }, 1 },   { 1, { 2, 1, 1 }, 3 },   { 1, { 3, 1, 1 }, 5 },    { 1, { 8, 1, 1 }, 1 },
        { 1, { 17, 1, 1 }, 2 },  { 1, { 64, 1, 1 }, 33 }, { 1, { 97, 1, 1 }, 1 },   { 1, { 100, 1, 1 }, 7 },
        { 1, { 360, 1, 1 }, 1 }, { 1, { 509, 1, 1 }, 2 }, { 1, { 1024, 1, 1 }, 1 }, { 2, { 1, 1, 1 }, 2 },
        { 2, { 8, 8, 1 }, 2 },   { 2, { 5, 12, 1 }, 3 },  { 2, { 31, 7, 1 }, 1 },   { 2, { 1, 16, 1 }, 1 },
        { 2, { 16, 1, 1 }, 1 },  { 3, { 2, 3, 5 }, 3 },   { 3, { 8, 4, 16 }, 1 },   { 3, { 7, 1, 9 }, 2 },
        { 2, { 93, 90, 1 }, 2 }, { 3, { 16, 22, 24 }, 1 },
    };
    static const struct shape few[] = {
        { 1, { 17, 1, 1 }, 2 }, { 2, { 5, 12, 1 }, 3 }, { 2, { 16, 1, 1 }, 1 },
        { 2, { 1, 1, 1 }, 2 },  { 3, { 2, 3, 5 }, 3 },
    };
    const struct shape *list = slow ? few : shapes;
    size_t n = slow ? sizeof few / sizeof few[0] : sizeof shapes / sizeof shapes[0];
    for (size_t k = 0; k < N_KINDS; k++)
        for (int precision = HCY_F32; precision <= HCY_F64; precision++)
            for (int rank = 1; rank <= 3; rank++) {
                double worst = 0;
                size_t tried = 0;
                if (slow && ((k + (size_t)rank) % 2 || precision != (k % 3 ? HCY_F32 : HCY_F64)))
                    continue;
                for (size_t i = 0; i < n; i++) {
                    if (list[i].rank != rank)
                        continue;
                    double error = error_of(k, &list[i], precision, false);
                    tried++;
                    worst = error < 0 || error > worst ? (error < 0 ? INFINITY : error) : worst;
                }
                ok(worst < 8, "%s, %s, %d-D: %zu shapes within 8 epsilon of the oracle (%.2f)", kinds[k].name,
                   precision == HCY_F32 ? "float" : "double", rank, tried, worst);
            }
    for (size_t k = 0; k < 2; k++)
        for (int precision = HCY_F32; precision <= HCY_F64; precision++) {
            if (slow && (k || precision == HCY_F32))
                continue;
            double a = slow ? 0 : error_of(k, &shapes[7], precision, true),
                   b = error_of(k, &shapes[13], precision, true),
                   c = slow ? 0 : error_of(k, &shapes[20], precision, true);
            ok(a >= 0 && a < 8 && b >= 0 && b < 8 && c >= 0 && c < 8, "%s in place (%.2f, %.2f, %.2f)",
               kinds[k].name, a, b, c);
        }
}

/* Transforms one behind the other to such that lie side by side, `inner` of them. */
static long double complex *beside(const long double complex *x, const struct shape *s, size_t inner)
{
    size_t n = points(s);
    long double complex *y = calloc(n * s->batch, sizeof *y);
    for (size_t i = 0; i < n * s->batch; i++) {
        size_t point = i % n, which = i / n;
        y[(which / inner * n + point) * inner + which % inner] = x[i];
    }
    return y;
}

static void test_side_by_side(void)
{
    static const struct {
        struct shape s; /* batch: times inner */
        size_t inner;
    } cases[] = { { { 1, { 12, 1, 1 }, 10 }, 5 }, { { 2, { 6, 5, 1 }, 6 }, 3 }, { { 1, { 30, 1, 1 }, 7 }, 7 },
                  { { 2, { 5, 12, 1 }, 34 }, 17 } };
    static const struct side side = { false, false };
    for (size_t i = 0; i < (slow ? 2 : 4); i++) {
        struct shape s = cases[i].s;
        int precision = i == 1 ? HCY_F32 : HCY_F64, direction = i == 1 ? HCY_FFT_BACKWARD : HCY_FFT_FORWARD;
        hcy_fft_desc desc = desc_of(&s, HCY_FFT_C2C, precision, 0);
        desc.inner = cases[i].inner;
        desc.batch /= desc.inner;
        hcy_fft *fft = NULL;
        size_t size = 0;
        long double complex *x = numbers_for(&s, false), *from = beside(x, &s, desc.inner);
        dft(x, &s, direction);
        long double complex *to = beside(x, &s, desc.inner);
        void *in = pack(from, &s, &side, precision), *out = NULL;
        st_ok(hcy_fft_create(&fft, dev, &desc), "a plan for %zu transforms side by side, %zu times", desc.inner,
              desc.batch);
        if (fft)
            out = transform(fft, direction, in, i != 2, &size);
        double epsilon = precision == HCY_F32 ? FLT_EPSILON : DBL_EPSILON,
               error = out ? distance(out, to, &s, &side, precision) / epsilon : INFINITY;
        ok(error < 8, "... within 8 epsilon of the oracle (%.2f)", error);
        hcy_fft_release(fft);
        free(x);
        free(from);
        free(to);
        free(in);
        free(out);
    }
}

/* Parts of larger buffers, and the bytes around them: left alone. */
static void test_views(void)
{
    enum { N = 12, BATCH = 2, SIZE = N * BATCH * 16, AT = 3 * 16 };
    const struct shape s = { 1, { N, 1, 1 }, BATCH };
    const struct side side = { false, false };
    const uint64_t mark = 0x5a5a5a5a5a5a5a5au;
    hcy_fft_desc desc = desc_of(&s, HCY_FFT_C2C, HCY_F64, 0);
    hcy_buffer *a = cts_buffer(dev, SIZE + 4 * AT), *b = cts_buffer(dev, SIZE + 4 * AT), *in = NULL,
               *out = NULL;
    hcy_fft *fft = NULL;
    long double complex *x = numbers_for(&s, false);
    void *data = pack(x, &s, &side, HCY_F64), *want = NULL;
    uint64_t got[(SIZE + 4 * AT) / 8];
    size_t size = 0, around = 0;
    st_ok(hcy_fft_create(&fft, dev, &desc), "a plan for views");
    hcy_buffer *w = fft ? workspace(fft) : NULL;
    if (fft)
        want = transform(fft, HCY_FFT_FORWARD, data, false, &size);
    int status = cts_first(hcy_buffer_sub(&in, a, AT, SIZE), hcy_buffer_sub(&out, b, 2 * AT, SIZE));
    status = cts_first(status, hcy_buffer_fill(queue, b, 0, SIZE + 4 * AT, &mark, 8));
    status = cts_first(status, hcy_buffer_write(queue, in, 0, data, SIZE));
    status = cts_first(status, hcy_fft_execute(queue, out, fft, HCY_FFT_FORWARD, in, w));
    status = cts_first(status, hcy_buffer_read(queue, got, b, 0, sizeof got));
    st_ok(cts_first(status, hcy_queue_finish(queue)), "a transform between views");
    ok(want && !memcmp((char *)got + 2 * AT, want, SIZE), "gives the bits of one between buffers");
    for (size_t i = 0; i < sizeof got / 8; i++)
        around += (i * 8 < 2 * AT || i * 8 >= 2 * AT + SIZE) && got[i] == mark;
    is_int((intmax_t)around, 4 * AT / 8, "and writes nothing else");
    hcy_buffer_release(in);
    in = NULL;
    st_ok(hcy_buffer_sub(&in, a, 8, SIZE), "a view that begins amid a number");
    st_is(hcy_fft_execute(queue, out, fft, HCY_FFT_FORWARD, in, w), HCY_EINVAL, "is refused");
    hcy_fft_release(fft);
    hcy_buffer_release(a);
    hcy_buffer_release(b);
    hcy_buffer_release(in);
    hcy_buffer_release(out);
    hcy_buffer_release(w);
    free(x);
    free(data);
    free(want);
}

/* Forward, then backward, multiplies by the number of points: large sizes that the oracle is too slow for. */
static void test_round_trip(void)
{
    static const struct shape shapes[] = { { 1, { 1 << 18, 1, 1 }, 1 },
                                           { 1, { 65537, 1, 1 }, 1 },
                                           { 2, { 300, 700, 1 }, 2 },
                                           { 3, { 48, 50, 54 }, 1 } };
    for (size_t i = 0; i < (slow ? 1 : 4); i++) {
        const struct shape *s = &shapes[i];
        size_t n = points(s) * s->batch, size;
        hcy_fft_desc desc = desc_of(s, HCY_FFT_C2C, HCY_F64, 0);
        hcy_fft *fft = NULL;
        long double complex *x = numbers_for(s, false);
        const struct side side = { false, false };
        void *in = pack(x, s, &side, HCY_F64), *there = NULL, *back = NULL;
        st_ok(hcy_fft_create(&fft, dev, &desc), "%zu points", n);
        if (fft && (there = transform(fft, HCY_FFT_FORWARD, in, false, &size)))
            back = transform(fft, HCY_FFT_BACKWARD, there, false, &size);
        for (size_t k = 0; k < n; k++)
            x[k] *= points(s);
        double error = back ? distance(back, x, s, &side, HCY_F64) / DBL_EPSILON : -1;
        ok(error >= 0 && error < 16,
           "there and back: %zu points are their number times themselves (%.2f epsilon)", n, error);
        hcy_fft_release(fft);
        free(x);
        free(in);
        free(there);
        free(back);
    }
}

/* --- Bits --- */

static void test_deterministic(void)
{
    static const struct shape s = { 2, { 60, 77, 1 }, 9 };
    hcy_fft_desc desc = desc_of(&s, HCY_FFT_C2C, HCY_F32, HCY_FFT_DETERMINISTIC);
    const struct side side = { false, false };
    long double complex *x = numbers_for(&s, false);
    void *in = pack(x, &s, &side, HCY_F32), *first = NULL;
    size_t size = 0, same = 0;
    enum { RUNS = 6 };
    for (int i = 0; i < RUNS; i++) {
        hcy_fft *fft = NULL;
        void *out =
            hcy_fft_create(&fft, dev, &desc) ? NULL : transform(fft, HCY_FFT_FORWARD, in, false, &size);
        first = first ? first : out;
        same += out && !memcmp(out, first, size);
        if (out != first)
            free(out);
        hcy_fft_release(fft);
    }
    is_int((intmax_t)same, RUNS, "%d runs of a deterministic plan give the same bits", RUNS);
    if (cts_is("cpu")) {
        hcy_device *saved = dev;
        hcy_queue *old = queue;
        hcy_fft *fft = NULL;
        /* So many do not share whole transforms, where two do. */
        dev = cts_open_spec(strstr(cts_spec, "fft=own") ? "cpu@threads=5@fft=own" : "cpu@threads=5");
        queue = cts_queue(dev);
        void *out =
            hcy_fft_create(&fft, dev, &desc) ? NULL : transform(fft, HCY_FFT_FORWARD, in, false, &size);
        ok(first && out && !memcmp(out, first, size), "and so do other numbers of threads");
        free(out);
        hcy_fft_release(fft);
        hcy_queue_release(queue);
        hcy_device_release(dev);
        dev = saved;
        queue = old;
    }
    free(first);
    free(in);
    free(x);
}

/* --- Threads --- */

struct job {
    hcy_fft *fft;
    const void *in, *want;
    size_t size;
    int right;
};
enum { THREADS = 8, TURNS = 20 };

static void *hammer(void *arg)
{
    struct job *job = arg;
    hcy_queue *q = cts_queue(dev);
    hcy_buffer *a = cts_buffer(dev, job->size), *b = cts_buffer(dev, job->size), *w = workspace(job->fft);
    void *got = malloc(job->size);
    for (int i = 0; i < TURNS; i++) {
        int status = hcy_buffer_write(q, a, 0, job->in, job->size);
        status = cts_first(status, hcy_fft_execute(q, b, job->fft, HCY_FFT_FORWARD, a, w));
        status = cts_first(status, hcy_buffer_read(q, got, b, 0, job->size));
        status = cts_first(status, hcy_queue_finish(q));
        job->right += !status && !memcmp(got, job->want, job->size);
    }
    free(got);
    hcy_buffer_release(a);
    hcy_buffer_release(b);
    hcy_buffer_release(w);
    hcy_queue_release(q);
    return NULL;
}

/* One plan, many threads; and other threads that make and drop plans meanwhile. */
static void *plan_and_drop(void *arg)
{
    int *made = arg;
    for (size_t i = 0; i < (slow ? 3 : TURNS); i++) {
        const struct shape s = { 1, { 50 + i, 1, 1 }, 2 };
        hcy_fft_desc desc = desc_of(&s, HCY_FFT_C2C, i % 2 ? HCY_F32 : HCY_F64, 0);
        hcy_fft *fft = NULL;
        *made += !hcy_fft_create(&fft, dev, &desc);
        hcy_fft_release(fft);
    }
    return NULL;
}

static void test_threads(void)
{
    static const struct shape s = { 1, { 240, 1, 1 }, 6 };
    hcy_fft_desc desc = desc_of(&s, HCY_FFT_C2C, HCY_F64, HCY_FFT_DETERMINISTIC);
    const struct side side = { false, false };
    long double complex *x = numbers_for(&s, false);
    void *in = pack(x, &s, &side, HCY_F64);
    hcy_fft *fft = NULL;
    size_t size = 0;
    st_ok(hcy_fft_create(&fft, dev, &desc), "a plan to share");
    void *want = fft ? transform(fft, HCY_FFT_FORWARD, in, false, &size) : NULL;
    struct job jobs[THREADS];
    pthread_t threads[THREADS], planner;
    int right = 0, made = 0;
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){ fft, in, want, size, 0 };
        if (!want || pthread_create(&threads[i], NULL, hammer, &jobs[i]))
            bail_out("no plan or no thread");
    }
    if (pthread_create(&planner, NULL, plan_and_drop, &made))
        bail_out("no thread");
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        right += jobs[i].right;
    }
    pthread_join(planner, NULL);
    is_int(right, THREADS * TURNS, "%d threads share a plan, all results are right", THREADS);
    is_int(made, slow ? 3 : TURNS, "while another makes and drops plans");
    hcy_fft_release(fft);
    free(want);
    free(in);
    free(x);
}

/* --- Refusals --- */

static void refused(int want, const hcy_fft_desc *desc, const char *what)
{
    hcy_fft *fft = NULL;
    int status = hcy_fft_create(&fft, dev, desc);
    if (want)
        st_is(status, want, "%s", what);
    else
        ok(status == HCY_ERANGE || status == HCY_EUNSUPPORTED, "%s (%s)", what, hcy_status_name(status));
    ok(!fft, "%s: no plan comes of it", what);
    hcy_fft_release(fft);
}

static void test_refused_plans(void)
{
    const hcy_fft_desc good = HCY_FFT_DESC_INIT;
    hcy_fft_desc d;
#define REFUSED(status, change, what) d = good, change, refused(status, &d, what)
    REFUSED(HCY_EINVAL, d.size = 7, "a description of no size");
    REFUSED(HCY_EINVAL, d.type = 0, "no type");
    REFUSED(HCY_EINVAL, d.type = 4, "an unknown type");
    REFUSED(HCY_EINVAL, d.precision = 3, "an unknown precision");
    REFUSED(HCY_EINVAL, d.rank = 0, "no dimension");
    REFUSED(HCY_EINVAL, d.rank = 4, "four dimensions");
    REFUSED(HCY_EINVAL, d.batch = 0, "no transform");
    REFUSED(HCY_EINVAL, d.inner = 0, "no transform side by side");
    REFUSED(HCY_EINVAL, (d.type = HCY_FFT_R2C, d.n[0] = 4, d.inner = 2), "real ones side by side");
    REFUSED(HCY_EINVAL, (d.rank = 3, d.inner = 2), "three dimensions side by side");
    REFUSED(HCY_EINVAL, d.n[0] = 0, "no points");
    REFUSED(HCY_EINVAL, (d.rank = 2, d.n[1] = 0), "no points in the second dimension");
    REFUSED(HCY_EINVAL, d.flags = 1u << 31, "an unknown flag");
    REFUSED(0, d.n[0] = SIZE_MAX, "more points than memory");
    REFUSED(0, d.n[0] = SIZE_MAX - 1, "nearly as many");
    REFUSED(0, d.n[0] = SIZE_MAX / 2, "half of them");
    REFUSED(0, (d.rank = 3, d.n[0] = d.n[1] = d.n[2] = (size_t)1 << 31), "three huge dimensions");
    REFUSED(HCY_ERANGE, (d.n[0] = 1 << 20, d.batch = SIZE_MAX >> 20), "a batch that overflows");
#undef REFUSED
    hcy_fft *fft = NULL;
    st_is(hcy_fft_create(NULL, dev, &good), HCY_EINVAL, "no place for a plan");
    st_is(hcy_fft_create(&fft, dev, NULL), HCY_EINVAL, "no description");
    st_is(hcy_fft_create(&fft, NULL, &good), HCY_EINVAL, "no device");
}

static void test_refused_runs(void)
{
    const struct shape s = { 1, { 16, 1, 1 }, 1 };
    hcy_fft_desc c2c = desc_of(&s, HCY_FFT_C2C, HCY_F64, 0), r2c = desc_of(&s, HCY_FFT_R2C, HCY_F64, 0),
                 c2r = desc_of(&s, HCY_FFT_C2R, HCY_F64, 0);
    hcy_fft *fft = NULL, *forward = NULL, *back = NULL;
    hcy_buffer *a = cts_buffer(dev, 256), *b = cts_buffer(dev, 256), *w = NULL, *small = NULL, *view = NULL;
    hcy_device *other = cts_open_spec(cts_spec2);
    hcy_buffer *foreign = cts_buffer(other, 256);
    hcy_queue *theirs = cts_queue(other);
    st_ok(hcy_fft_create(&fft, dev, &c2c), "a complex plan");
    st_ok(hcy_fft_create(&forward, dev, &r2c), "one from real numbers");
    st_ok(hcy_fft_create(&back, dev, &c2r), "one to real numbers");
    st_ok(hcy_buffer_sub(&small, a, 0, 255), "a buffer that is one byte short");
    st_ok(hcy_buffer_sub(&view, b, 0, 256), "a view of the other");
    w = workspace(hcy_fft_workspace(forward) > hcy_fft_workspace(back) ? forward : back);
    st_is(hcy_fft_execute(queue, b, fft, 0, a, w), HCY_EINVAL, "no direction");
    st_is(hcy_fft_execute(queue, b, fft, HCY_FFT_FORWARD, small, w), HCY_ERANGE, "input too small");
    st_is(hcy_fft_execute(queue, small, fft, HCY_FFT_FORWARD, b, w), HCY_ERANGE, "output too small");
    st_is(hcy_fft_execute(queue, b, fft, HCY_FFT_FORWARD, NULL, w), HCY_EINVAL, "no input");
    st_is(hcy_fft_execute(queue, NULL, fft, HCY_FFT_FORWARD, a, w), HCY_EINVAL, "no output");
    st_is(hcy_fft_execute(queue, b, NULL, HCY_FFT_FORWARD, a, w), HCY_EINVAL, "no plan");
    st_is(hcy_fft_execute(NULL, b, fft, HCY_FFT_FORWARD, a, w), HCY_EINVAL, "no queue");
    st_is(hcy_fft_execute(queue, b, fft, HCY_FFT_FORWARD, foreign, w), HCY_EINVAL, "input of another device");
    st_is(hcy_fft_execute(queue, foreign, fft, HCY_FFT_FORWARD, a, w), HCY_EINVAL,
          "output of another device");
    st_is(hcy_fft_execute(theirs, b, fft, HCY_FFT_FORWARD, a, w), HCY_EINVAL, "a queue of another device");
    st_is(hcy_fft_execute(queue, b, forward, HCY_FFT_BACKWARD, a, w), HCY_EINVAL,
          "real to complex is not backward");
    st_is(hcy_fft_execute(queue, b, back, HCY_FFT_FORWARD, a, w), HCY_EINVAL, "nor complex to real forward");
    st_is(hcy_fft_execute(queue, b, forward, HCY_FFT_FORWARD, b, w), HCY_EINVAL,
          "nor are they done in place");
    st_is(hcy_fft_execute(queue, view, forward, HCY_FFT_FORWARD, b, w), HCY_EINVAL,
          "nor through a view of the same memory");
    if (hcy_fft_workspace(fft))
        st_is(hcy_fft_execute(queue, b, fft, HCY_FFT_FORWARD, a, NULL), HCY_ERANGE, "no working space");
    st_ok(hcy_queue_finish(queue), "none of this made the queue fail");
    ok(hcy_fft_retain(fft) == fft && !hcy_fft_workspace(NULL), "a plan is counted");
    hcy_fft_release(fft);
    hcy_fft_release(fft);
    hcy_fft_release(forward);
    hcy_fft_release(back);
    hcy_fft_release(NULL);
    hcy_buffer_release(a);
    hcy_buffer_release(b);
    hcy_buffer_release(w);
    hcy_buffer_release(small);
    hcy_buffer_release(view);
    hcy_buffer_release(foreign);
    hcy_queue_release(theirs);
    hcy_device_release(other);
}

/* Memory that was lent twice: what counts is where its bytes are.  The lines are longer than a group has room for. */
static void test_lent_twice(void)
{
    enum { N = 32768, BEFORE = 64 };
    static _Alignas(64) float host[BEFORE / 4 + 2 * N];
    const struct shape s = { 1, { N, 1, 1 }, 1 };
    hcy_fft_desc c2c = desc_of(&s, HCY_FFT_C2C, HCY_F32, 0);
    hcy_fft *fft = NULL;
    hcy_buffer *all = NULL, *part = NULL, *view = NULL;
    float *x = host + BEFORE / 4, worst = 0;
    x[2] = 1;
    st_ok(hcy_fft_create(&fft, dev, &c2c), "a plan");
    hcy_buffer *w = workspace(fft);
    st_ok(hcy_buffer_import_host(&all, dev, host, sizeof host, NULL, NULL), "memory of the host's");
    st_ok(hcy_buffer_import_host(&part, dev, x, 8 * N, NULL, NULL), "a part of it once more");
    st_ok(hcy_buffer_sub(&view, all, BEFORE, 8 * N), "and a view of that part");
    st_is(hcy_fft_execute(queue, part, fft, HCY_FFT_FORWARD, all, w), HCY_EINVAL, "a shifted overlap is refused");
    st_ok(hcy_fft_execute(queue, part, fft, HCY_FFT_FORWARD, view, w), "the same place is in place");
    st_ok(hcy_queue_finish(queue), "which runs");
    for (size_t k = 0; k < N; k++) {
        const double angle = 2 * 3.14159265358979323846 * (double)k / N;
        worst = fmaxf(worst, (float)hypot(x[2 * k] - cos(angle), x[2 * k + 1] + sin(angle)));
    }
    ok(worst < 1e-5, "and transforms it: %g off", (double)worst);
    hcy_buffer_release(w);
    hcy_buffer_release(view);
    hcy_buffer_release(part);
    hcy_buffer_release(all);
    hcy_fft_release(fft);
}

/* Of memory that was lent amid a number a device says so before it runs, or has the result. */
static void test_lent_amid_number(void)
{
    enum { N = 64 };
    static _Alignas(64) double host[2][2 * N + 16];
    const struct shape s = { 1, { N, 1, 1 }, 1 };
    hcy_fft_desc c2c = desc_of(&s, HCY_FFT_C2C, HCY_F64, 0);
    hcy_fft *fft = NULL;
    st_ok(hcy_fft_create(&fft, dev, &c2c), "a plan");
    hcy_buffer *w = workspace(fft);
    for (int which = 0; which < 2; which++) {
        double *in = host[0] + !which, *out = host[1] + which;
        hcy_buffer *a = NULL, *b = NULL;
        memset(host, 0, sizeof host);
        in[0] = 1; /* whose transform is 1 everywhere */
        st_ok(hcy_buffer_import_host(&a, dev, in, 16 * N, NULL, NULL), "memory of the host's");
        st_ok(hcy_buffer_import_host(&b, dev, out, 16 * N, NULL, NULL), "and some more");
        int status = hcy_fft_execute(queue, b, fft, HCY_FFT_FORWARD, a, w);
        const bool is_refused = status == HCY_EINVAL && strstr(hcy_last_error()->text, "amid a complex number");
        st_ok(hcy_queue_finish(queue), "the queue goes on");
        ok(is_refused || (!status && out[0] == 1 && out[2 * N - 2] == 1), "%s begins amid a number: %s",
           which ? "what is written" : "what is read", is_refused ? "refused" : hcy_status_name(status));
        hcy_buffer_release(b);
        hcy_buffer_release(a);
    }
    hcy_buffer_release(w);
    hcy_fft_release(fft);
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    dev = cts_open();
    queue = cts_queue(dev);
    if (cts_is("cpu"))
        ok(cts_has(dev, HCY_CAP_FFT), "the CPU has Fourier transforms, with FFTW and without");
    if (!cts_has(dev, HCY_CAP_FFT)) {
        hcy_fft_desc desc = HCY_FFT_DESC_INIT;
        hcy_fft *fft = NULL;
        st_is(hcy_fft_create(&fft, dev, &desc), HCY_EUNSUPPORTED, "no FFT, as its capabilities say");
    } else {
        int64_t own = 0; /* transforms of kernels that are compiled once */
        slow = !cts_is("cpu") && hcy_device_get_info(dev)->kind == HCY_KIND_CPU &&
               (hcy_device_get_i64(&own, dev, "own_fft") || !own);
        test_against_oracle();
        test_rounding();
        test_side_by_side();
        test_views();
        test_round_trip();
        test_deterministic();
        test_threads();
        test_refused_plans();
        test_refused_runs();
        if (cts_has(dev, HCY_CAP_IMPORT_HOST)) {
            test_lent_twice();
            test_lent_amid_number();
        }
    }
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
