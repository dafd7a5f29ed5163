/* nufft_order - deterministic mode: the same bits whatever order the points come in, points at the same place among
 * them, with any number of threads.  Arguments: a device (default: several of the CPU); "few" for one whose compiler is
 * slow. */
#include "nufft_oracle.h"
#include "tap.h"

enum { VECTORS = 2 };

/* Some points twice or many times, half of the others in a cluster. */
static void open_crowd(struct problem *p, int precision, int type, int dim, size_t m)
{
    static const int64_t modes[3][3] = { { 300 }, { 30, 34 }, { 14, 12, 13 } };
    oracle_open(p, precision, type, dim, modes[dim - 1], m, type == 3 ? 100 : 0, VECTORS);
    for (int d = 0; d < dim; d++)
        for (size_t i = 0; i < m; i++) {
            double x = oracle_get(p, p->x[d], i);
            oracle_put(p, p->x[d], i, i % 4 == 0 ? 0.02 * x : i % 4 == 1 ? oracle_get(p, p->x[d], i / 64) : x);
        }
}

/* The same points in another order, with what belongs to them; to[i]: where point i went. */
static void shuffle(struct problem *q, const struct problem *p, size_t *to)
{
    for (size_t i = 0; i < p->m; i++)
        to[i] = i;
    for (size_t i = p->m; i-- > 1;) {
        size_t j = (size_t)(oracle_uniform() * (double)(i + 1)), swap = to[i];
        to[i] = to[j];
        to[j] = swap;
    }
    *q = *p;
    q->c = malloc(p->m * VECTORS * 2 * p->real);
    q->f = malloc(p->n * VECTORS * 2 * p->real);
    memcpy(q->f, p->f, p->n * VECTORS * 2 * p->real);
    for (int d = 0; d < p->dim; d++)
        q->x[d] = malloc(p->m * p->real);
    for (size_t i = 0; i < p->m; i++) {
        for (int d = 0; d < p->dim; d++)
            oracle_put(q, q->x[d], to[i], oracle_get(p, p->x[d], i));
        for (size_t v = 0; v < 2 * VECTORS; v++)
            oracle_put(q, q->c, 2 * (v / 2 * p->m + to[i]) + v % 2,
                       oracle_get(p, p->c, 2 * (v / 2 * p->m + i) + v % 2));
    }
}

static void close_shuffled(struct problem *q)
{
    for (int d = 0; d < q->dim; d++)
        free(q->x[d]);
    free(q->c);
    free(q->f);
}

static int run(struct problem *p, const char *name, int method, bool adjoint)
{
    hcy_device *dev;
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    int status;
    if (hcy_device_open(&dev, name))
        bail_out("%s", hcy_last_error()->text);
    o.deterministic = 1;
    o.method = method;
    hcy_nufft *plan = oracle_plan(p, dev, 1e-4, &o, &status);
    if (!status)
        status = adjoint ? hcy_nufft_execute_adjoint(plan, p->c, p->f) : hcy_nufft_execute(plan, p->c, p->f);
    hcy_nufft_destroy(plan);
    hcy_device_release(dev);
    return status;
}

/* Whether p on one device and the shuffled q on another agree in every bit. */
static bool agree(struct problem *p, const char *name, struct problem *q, const char *other, const size_t *to,
                  int method, bool adjoint)
{
    bool to_modes = (p->type == 2) == adjoint, same = true;
    if (run(p, name, method, adjoint) || run(q, other, method, adjoint))
        return false;
    if (to_modes)
        return !memcmp(p->f, q->f, p->n * VECTORS * 2 * p->real);
    for (size_t v = 0; v < VECTORS; v++)
        for (size_t i = 0; i < p->m; i++)
            same = same && !memcmp((char *)p->c + (v * p->m + i) * 2 * p->real,
                                   (char *)q->c + (v * p->m + to[i]) * 2 * p->real, 2 * p->real);
    return same;
}

static void check(const char *name, const char *other, int precision, int type, int dim, int method, size_t m)
{
    struct problem p, q;
    size_t *to = malloc(m * sizeof *to);
    open_crowd(&p, precision, type, dim, m);
    shuffle(&q, &p, to);
    bool forward = agree(&p, name, &q, other, to, method, false);
    close_shuffled(&q);
    shuffle(&q, &p, to);
    bool back = agree(&p, name, &q, other, to, method, true);
    ok(forward && back, "%s and %s, type %d, %d-D, %s%s: the same bits of permuted points%s%s", name, other, type,
       dim, precision == HCY_F32 ? "float" : "double", method == HCY_NUFFT_DIRECT ? ", direct" : "",
       forward ? "" : "; not forward", back ? "" : "; not back");
    close_shuffled(&q);
    oracle_close(&p);
    free(to);
}

/* Points that look alike but for their bins keep their strengths. */
static void check_alike(const char *name)
{
    hcy_device *dev;
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    struct problem p;
    if (hcy_device_open(&dev, name))
        bail_out("%s", hcy_last_error()->text);
    oracle_open(&p, HCY_F64, 1, 1, (const int64_t[]){ 4000 }, 8, 0, 1);
    for (size_t i = 0; i < p.m; i++)
        oracle_put(&p, p.x[0], i, PI / 2 * (double)(i % 4));
    o.deterministic = 1;
    o.grid[0] = 8192;
    double error = oracle_run(&p, dev, 1e-9, &o);
    ok(error <= 2e-9, "%s: points alike in several bins: error %.1e", name, error);
    oracle_close(&p);
    hcy_device_release(dev);
}

int main(int argc, char **argv)
{
    static const char *const others[] = { "cpu@threads=1", "cpu@threads=2", "cpu@threads=5" };
    const char *name = argc > 1 ? argv[1] : others[0];
    hcy_device *dev;
    if (hcy_device_open(&dev, name))
        skip_all("%s: %s", name, hcy_last_error()->text);
    if (!(hcy_device_get_info(dev)->caps & HCY_CAP_FFT))
        skip_all("%s has no FFT here", name);
    hcy_device_release(dev);
    bool few = argc > 2 && !strcmp(argv[2], "few");
    if (few)
        check(name, name, HCY_F32, 1, 1, HCY_NUFFT_GRID, 3000);
    for (int dim = 1; dim <= 3 && !few; dim++)
        for (int type = 1; type <= 3; type++)
            check(name, argc > 1 ? name : others[(dim + type) % 3], dim == 2 ? HCY_F64 : HCY_F32, type, dim,
                  HCY_NUFFT_GRID, 3005); /* no multiple of a vector */
    if (!few)
        check(name, argc > 1 ? name : others[1], HCY_F64, 1, 3, HCY_NUFFT_GRID, 20000);
    for (int type = 1; type <= 3 && argc < 2; type++)
        check(name, others[2], type == 2 ? HCY_F32 : HCY_F64, type, 2, HCY_NUFFT_DIRECT, 300);
    if (!few)
        check_alike(name);
    return done_testing();
}
