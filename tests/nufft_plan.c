/* nufft_plan - plans of non-uniform FFTs: every wrong argument has its status, empty problems work, the same
 * bits for any number of threads and for many vectors at once, options do what they say, plans from several
 * threads.  Argument: a device, of which the statuses and empty problems are tried (default: the CPU, and all). */
#include "nufft_oracle.h"
#include "tap.h"

static hcy_device *dev, *spare;
static const int64_t modes[3] = { 12, 10, 14 };

/* --- Statuses --- */

static int create(int type, int dim, const int64_t *n, int64_t n_transforms, double eps,
                  const hcy_nufft_options *o)
{
    hcy_nufft *plan = NULL;
    int status = oracle_create(&plan, dev, type, dim, n, 1, n_transforms, eps, o);
    hcy_nufft_destroy(plan);
    return status;
}

static void check_arguments(void)
{
    const int64_t zero[3] = { 12, 0, 14 }, huge[3] = { INT64_MAX / 8, 4, 4 }, large[3] = { 3000000000, 1, 1 };
    hcy_nufft *plan;
    is_int(create(0, 1, modes, 1, 1e-6, NULL), HCY_EINVAL, "type 0");
    is_int(create(4, 1, modes, 1, 1e-6, NULL), HCY_EINVAL, "type 4");
    is_int(create(1, 0, modes, 1, 1e-6, NULL), HCY_EINVAL, "no dimension");
    is_int(create(1, 4, modes, 1, 1e-6, NULL), HCY_EINVAL, "four dimensions");
    is_int(create(1, 2, zero, 1, 1e-6, NULL), HCY_EINVAL, "0 modes");
    is_int(create(1, 3, huge, 1, 1e-6, NULL), HCY_ERANGE, "modes beyond what can be addressed");
    is_int(create(2, 1, large, 1, 1e-6, NULL), HCY_ERANGE, "an axis that is too long");
    is_int(create(1, 1, modes, 0, 1e-6, NULL), HCY_EINVAL, "0 transforms");
    is_int(create(1, 1, modes, 1, 0, NULL), HCY_EINVAL, "eps 0");
    is_int(create(1, 1, modes, 1, -1e-6, NULL), HCY_EINVAL, "eps below 0");
    is_int(create(1, 1, modes, 1, NAN, NULL), HCY_EINVAL, "eps no number");
    is_int(create(1, 1, modes, 1, 1e-17, NULL), HCY_ERANGE, "eps below what double reaches");
    is_int(create(1, 1, modes, 1, 1e-15, NULL), 0, "eps at the end of what double reaches");
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    is_int(hcy_nufft_create(NULL, dev, &desc, NULL), HCY_EINVAL, "no place");
    is_int(hcy_nufft_create(&plan, NULL, &desc, NULL), HCY_EINVAL, "no device");
    is_int(hcy_nufft_create(&plan, dev, NULL, NULL), HCY_EINVAL, "no description");
    desc.precision = 3;
    is_int(hcy_nufft_create(&plan, dev, &desc, NULL), HCY_EINVAL, "precision 3");
    desc.precision = HCY_F32;
    desc.eps = 1e-8;
    is_int(hcy_nufft_create(&plan, dev, &desc, NULL), HCY_ERANGE, "eps below what float reaches");
}

static void check_options(void)
{
    static const struct {
        size_t at, size;
        double value;
        const char *what;
    } table[] = {
        { offsetof(hcy_nufft_options, upsampling), 8, 1, "upsampling 1" },
        { offsetof(hcy_nufft_options, upsampling), 8, 9, "upsampling 9" },
        { offsetof(hcy_nufft_options, width), 4, 1, "width 1" },
        { offsetof(hcy_nufft_options, width), 4, 17, "width 17" },
        { offsetof(hcy_nufft_options, order), 4, 2, "order 2" },
        { offsetof(hcy_nufft_options, deterministic), 4, 3, "deterministic 3" },
        { offsetof(hcy_nufft_options, deterministic), 4, -1, "deterministic -1" },
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
        int whole = (int)table[i].value;
        memcpy((char *)&o + table[i].at,
               table[i].size == 8 ? (const void *)&table[i].value : (const void *)&whole, table[i].size);
        is_int(create(1, 2, modes, 1, 1e-6, &o), HCY_EINVAL, "%s", table[i].what);
    }
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    o.size = 7;
    is_int(create(1, 1, modes, 1, 1e-3, &o), HCY_EINVAL, "options of no size");
    o = (hcy_nufft_options)HCY_NUFFT_OPTIONS_INIT;
    o.grid[0] = 30;
    is_int(create(1, 2, modes, 1, 1e-3, &o), HCY_EINVAL, "a grid for one of two axes");
    o.grid[1] = 10;
    is_int(create(1, 2, modes, 1, 1e-3, &o), HCY_EINVAL, "a grid that is not finer than the modes");
    o.grid[1] = 30;
    is_int(create(3, 2, modes, 1, 1e-3, &o), HCY_EINVAL, "a grid for type 3");
    is_int(create(1, 2, modes, 1, 1e-3, &o), 0, "a grid for both axes");
}

static void check_points(void)
{
    struct problem p;
    hcy_nufft *plan;
    int status;
    oracle_open(&p, HCY_F64, 1, 2, modes, 20, 0, 1);
    if (oracle_create(&plan, dev, 1, 2, modes, 1, 1, 1e-6, NULL))
        bail_out("%s", hcy_last_error()->text);
    const void *const *x = (const void *const *)p.x, *some[3] = { p.x[0], NULL, NULL };
    is_int(hcy_nufft_execute(plan, p.c, p.f), HCY_ESTATE, "execution without points");
    is_int(hcy_nufft_set_points(plan, -1, x, 0, NULL), HCY_EINVAL, "fewer than 0 points");
    is_int(hcy_nufft_set_points(plan, (int64_t)1 << 33, x, 0, NULL), HCY_ERANGE,
           "more points than numbers for them");
    is_int(hcy_nufft_set_points(plan, 20, NULL, 0, NULL), HCY_EINVAL, "points that are NULL");
    is_int(hcy_nufft_set_points(plan, 20, some, 0, NULL), HCY_EINVAL, "an axis that is NULL");
    is_int(hcy_nufft_set_points(NULL, 20, x, 0, NULL), HCY_EINVAL, "no plan");
    is_int(hcy_nufft_set_points(plan, 20, x, 0, NULL), 0, "right points");
    is_int(hcy_nufft_execute(plan, NULL, p.f), HCY_EINVAL, "strengths that are NULL");
    is_int(hcy_nufft_execute(plan, p.c, p.f), 0, "execution");
    hcy_nufft_destroy(plan);
    const double bad[] = { NAN, INFINITY, -INFINITY, 1e300 };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        for (int type = 1; type <= 3; type++) {
            struct problem q;
            hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
            if (type == 3 && i == 3)
                continue; /* any number is a point there */
            oracle_open(&q, i % 2 ? HCY_F32 : HCY_F64, type, 2, modes, 20, type == 3 ? 9 : 0, 1);
            oracle_put(&q, q.x[1], 7, bad[i]);
            plan = oracle_plan(&q, dev, 1e-3, NULL, &status);
            ok(status == HCY_EINVAL && strstr(hcy_last_error()->text, "point 7 "),
               "type %d: a coordinate of %g: %s", type, bad[i], hcy_last_error()->text);
            is_int(hcy_nufft_execute(plan, q.c, q.f), HCY_ESTATE, "... and no execution");
            hcy_nufft_destroy(plan);
            o.check_points = 0;
            if (type != 3) {
                plan = oracle_plan(&q, dev, 1e-3, &o, &status);
                oracle_put(&q, q.x[1], 7, 0);
                double error = status ? 1 : oracle_execute(&q, plan, false);
                ok(error <= 3e-3, "... counts as 0 where points are not checked: %.1e", error);
                hcy_nufft_destroy(plan);
            }
            oracle_close(&q);
        }
    oracle_close(&p);
}

static void check_empty(void)
{
    for (int type = 1; type <= 3; type++)
        for (size_t m = 0; m < 2; m++) {
            struct problem p;
            int status;
            size_t targets = type == 3 ? 1 - m : 0;
            oracle_open(&p, HCY_F64, type, 1, (const int64_t[]){ type == 3 ? 4 : 1 }, m, targets, 2);
            hcy_nufft *plan = oracle_plan(&p, dev, 1e-9, NULL, &status);
            double error = status ? 1 : oracle_execute(&p, plan, false);
            double back = status ? 1 : oracle_execute(&p, plan, true);
            ok(error <= 1e-8 && back <= 1e-8, "type %d, %zu points, %zu modes or targets", type, m, p.n);
            hcy_nufft_info info = HCY_NUFFT_INFO_INIT;
            ok(!status && !hcy_nufft_get_info(&info, plan) && !info.grid[0] == (type == 3) &&
                   !info.grid_bytes == (type == 3), "... on a grid, but of type 3");
            if (type == 1 && !m) {
                is_int(hcy_nufft_execute(plan, NULL, NULL), HCY_EINVAL, "... to nowhere");
                ok(strstr(hcy_last_error()->text, "no coefficients") != NULL, "... is told: %s", hcy_last_error()->text);
                is_int(hcy_nufft_execute_stage(NULL, plan, HCY_NUFFT_SPREAD, NULL), HCY_EINVAL, "... to no grid");
                ok(strstr(hcy_last_error()->text, "no place") != NULL, "... is told: %s", hcy_last_error()->text);
            }
            hcy_nufft_destroy(plan);
            oracle_close(&p);
        }
}

/* Of a single mode all points at the same place are off by the same, which at +-pi is the most. */
static void check_one_mode(void)
{
    static const double eps[2] = { 3.82e-5, 4.96e-5 };
    for (int dim = 1; dim <= 3; dim++)
        for (int k = 0; k < 2; k++) {
            struct problem p;
            oracle_open(&p, HCY_F64, 2, dim, (const int64_t[]){ 1, 1, 1 }, 2, 0, 1);
            for (int d = 0; d < dim; d++)
                for (int i = 0; i < 2; i++)
                    ((double *)p.x[d])[i] = i ? 3.14159265358979 : -3.14159265358979;
            double error = oracle_run(&p, dev, eps[k], NULL);
            ok(error <= 2 * eps[k], "one mode at +-pi, %d-D, %g: %.1e", dim, eps[k], error);
            oracle_close(&p);
        }
}

/* One axis of so many modes that twice as many cells are too many has a grid of fewer. */
static void check_many_modes(void)
{
    static const struct {
        int64_t modes;
        int status;
    } cases[] = { { 1070000000, 0 }, { 1500000000, 0 }, { 1700000000, 0 }, { 1800000000, HCY_ERANGE } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
        hcy_nufft *plan = NULL;
        desc.modes[0] = cases[i].modes;
        is_int(hcy_nufft_create(&plan, dev, &desc, NULL), cases[i].status, "%lld modes", (long long)cases[i].modes);
        hcy_nufft_destroy(plan);
    }
}

/* A type 3 with a single target, a single point, or everything far from 0; one that is too wide. */
static void check_type3(void)
{
    static const struct {
        size_t m, n;
        double x, s;
    } cases[] = { { 1, 30, 0, 0 }, { 30, 1, 0, 0 }, { 1, 1, 5, 7 }, { 40, 30, 1e3, -50 } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct problem p;
        oracle_open(&p, HCY_F64, 3, 2, modes, cases[i].m, cases[i].n, 1);
        for (int d = 0; d < 2; d++) {
            for (size_t j = 0; j < p.m; j++)
                ((double *)p.x[d])[j] += cases[i].x;
            for (size_t j = 0; j < p.n; j++)
                ((double *)p.s[d])[j] += cases[i].s;
        }
        double error = oracle_run(&p, dev, 1e-8, NULL);
        ok(error <= 3e-8, "type 3, %zu points, %zu targets around %g and %g: %.1e", p.m, p.n, cases[i].x,
           cases[i].s, error);
        oracle_close(&p);
    }
    struct problem p;
    int status;
    oracle_open(&p, HCY_F64, 3, 1, modes, 30, 30, 1);
    ((double *)p.x[0])[3] = 1e10;
    hcy_nufft *plan = oracle_plan(&p, dev, 1e-8, NULL, &status);
    is_int(status, HCY_ERANGE, "type 3 over too wide a range");
    hcy_nufft_destroy(plan);
    oracle_close(&p);
}

/* Without an upsampling type 3 takes a coarse grid where the grid is what costs, a fine one where points do. */
static void check_type3_grid(void)
{
    hcy_nufft_info few = HCY_NUFFT_INFO_INIT, many = HCY_NUFFT_INFO_INIT;
    struct problem p;
    int status;
    oracle_open(&p, HCY_F64, 3, 1, (const int64_t[]){ 20000 }, 30, 30, 1);
    hcy_nufft *plan = oracle_plan(&p, dev, 1e-6, NULL, &status);
    double error = status ? 1 : oracle_execute(&p, plan, false);
    is_int(hcy_nufft_get_info(&few, plan), 0, "type 3 of few points on a large grid: %.1e", error);
    hcy_nufft_destroy(plan);
    oracle_close(&p);
    oracle_open(&p, HCY_F64, 3, 1, (const int64_t[]){ 20 }, 20000, 30, 1);
    plan = oracle_plan(&p, dev, 1e-6, NULL, &status);
    is_int(hcy_nufft_get_info(&many, plan), 0, "... of many on a small one");
    ok(few.upsampling < many.upsampling && few.width > many.width && error < 3e-6,
       "... upsampling %g and %g, %u and %u cells", few.upsampling, many.upsampling, few.width, many.width);
    hcy_nufft_destroy(plan);
    oracle_close(&p);
}

/* --- The same bits --- */

/* Results of a problem on so many threads, in deterministic mode. */
static void *bits(struct problem *p, unsigned threads, bool one_by_one, size_t max_batch)
{
    char name[64];
    hcy_device *d;
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    int status;
    size_t out_bytes = 2 * p->real * (p->type == 2 ? p->m : p->n),
           in_bytes = 2 * p->real * (p->type == 2 ? p->n : p->m);
    char *out = malloc(out_bytes * (size_t)p->n_vectors);
    snprintf(name, sizeof name, "cpu@threads=%u", threads);
    if (hcy_device_open(&d, name))
        bail_out("%s", hcy_last_error()->text);
    o.deterministic = 1;
    o.max_batch = max_batch;
    struct problem q = *p;
    q.n_vectors = one_by_one ? 1 : p->n_vectors;
    hcy_nufft *plan = oracle_plan(&q, d, 1e-5, &o, &status);
    for (int v = 0; !status && v < p->n_vectors; v += q.n_vectors) {
        char *in = (char *)(p->type == 2 ? p->f : p->c) + (size_t)v * in_bytes,
             *to = out + (size_t)v * out_bytes;
        status = hcy_nufft_execute(plan, p->type == 2 ? to : in, p->type == 2 ? in : to);
    }
    if (status)
        bail_out("%s", hcy_last_error()->text);
    hcy_nufft_destroy(plan);
    hcy_device_release(d);
    return out;
}

static void check_bits(void)
{
    static const int64_t larger[3][3] = { { 30000 }, { 90, 110 }, { 30, 34, 28 } };
    for (int type = 1; type <= 3; type++)
        for (int dim = 1; dim <= 3; dim++) {
            struct problem p;
            oracle_open(&p, dim == 2 ? HCY_F64 : HCY_F32, type, dim, larger[dim - 1], 20000,
                        type == 3 ? 3000 : 0, 3);
            for (int d = 0; d < dim; d++) /* half of them in a cluster */
                for (size_t i = 0; i < p.m; i += 2)
                    oracle_put(&p, p.x[d], i, 0.02 * oracle_get(&p, p.x[d], i));
            size_t bytes = 3 * 2 * p.real * (type == 2 ? p.m : p.n);
            void *one = bits(&p, 1, false, 0);
            bool same = true;
            static const unsigned threads[] = { 2, 3, 7, 64 };
            for (size_t i = 0; i < 4; i++) {
                void *more = bits(&p, threads[i], false, i);
                same = same && !memcmp(one, more, bytes);
                free(more);
            }
            ok(same, "type %d, %d-D: the same bits from 1 to 64 threads, in any batches", type, dim);
            void *single = bits(&p, 3, true, 0);
            ok(!memcmp(one, single, bytes), "... and for each vector alone");
            free(single);
            free(one);
            oracle_close(&p);
        }
}

/* --- Options, queues, threads --- */

/* Grids of a plan of eight transforms, of n modes an axis and 500 points anywhere. */
static size_t grids_of(hcy_nufft_info *info, int64_t n, size_t max_batch)
{
    enum { POINTS = 500 };
    static float x[POINTS];
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    hcy_nufft *plan = NULL;
    desc.type = 1;
    desc.dim = 3;
    desc.precision = HCY_F32;
    desc.eps = 1e-2;
    desc.n_transforms = 8;
    desc.modes[0] = desc.modes[1] = desc.modes[2] = n;
    o.upsampling = 2;
    o.max_batch = max_batch;
    int status = hcy_nufft_create(&plan, dev, &desc, &o);
    if (!status)
        status = hcy_nufft_set_points(plan, POINTS, (const void *[]){ x, x, x }, 0, NULL);
    if (!status)
        status = hcy_nufft_get_info(info, plan);
    hcy_nufft_destroy(plan);
    return status ? 0 : info->grid_bytes / (8 * info->grid[0] * info->grid[1] * info->grid[2]);
}

static void check_batches(void)
{
    hcy_nufft_info info = HCY_NUFFT_INFO_INIT;
    is_int((long long)grids_of(&info, 20, 0), 4, "a few vectors at once");
    is_int((long long)grids_of(&info, 150, 0), 2, "few points on grids of 216 MB: two");
    is_int((long long)grids_of(&info, 256, 0), 1, "of 1 GB: one");
    is_int((long long)grids_of(&info, 256, 3), 3, "unless it is told otherwise");
}

static void check_choices(void)
{
    struct problem p;
    int status;
    hcy_nufft_info info = HCY_NUFFT_INFO_INIT, before = HCY_NUFFT_INFO_INIT;
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    oracle_open(&p, HCY_F64, 1, 2, modes, 100, 0, 3);
    o.width = 9; /* not what eps needs */
    o.upsampling = 1.5;
    hcy_nufft *plan = oracle_plan(&p, dev, 1e-4, &o, &status);
    is_int(hcy_nufft_get_info(&info, plan), 0, "what a plan has chosen");
    ok(info.width == 9 && info.upsampling >= 1.5 && info.upsampling < 1.7,
       "width and upsampling are as given");
    ok(info.point_bytes > 0 && info.grid_bytes == 3 * 16 * info.grid[0] * info.grid[1] && info.variant[0],
       "memory and variant are said");
    hcy_nufft_destroy(plan);
    o = (hcy_nufft_options)HCY_NUFFT_OPTIONS_INIT;
    o.grid[0] = 33;
    o.grid[1] = 25;
    o.max_batch = 2;
    o.separate_fft = 1;
    plan = oracle_plan(&p, dev, 1e-6, &o, &status);
    double error = status ? 1 : oracle_execute(&p, plan, false);
    is_int(hcy_nufft_get_info(&info, plan), 0, "... another");
    ok(info.grid[0] == 33 && info.grid[1] == 25 && info.grid_bytes == 2 * 16 * 33 * 25 && error <= 2e-6,
       "a grid as given, two vectors at once, the general FFT: %.1e", error);
    hcy_nufft_destroy(plan);
    is_int(oracle_create(&plan, dev, 1, 2, modes, 1, 1, 1e-4, NULL), 0, "a plan without points");
    is_int(hcy_nufft_get_info(&before, plan), 0, "... can be asked");
    ok(before.grid[0] == 0 && before.point_bytes == 0, "... and has no grid yet");
    before.size = 0;
    is_int(hcy_nufft_get_info(&before, plan), HCY_EINVAL, "a structure of no size");
    hcy_nufft_destroy(plan);
    oracle_close(&p);
}

/* A grid given may be too coarse for eps with any window: that is said, and not done. */
static void check_reach(void)
{
    static const struct {
        double upsampling, eps;
        unsigned width;
        size_t grid;
        int status, precision;
    } cases[] = { { 1.25, 1e-8, 0, 0, 0, HCY_F64 },           { 1.25, 1e-11, 0, 0, HCY_ERANGE, HCY_F64 },
                  { 1.25, 1e-11, 16, 0, 0, HCY_F64 },         { 0, 1e-11, 0, 120, HCY_ERANGE, HCY_F64 },
                  { 2, 1e-15, 0, 0, 0, HCY_F64 },             { 1.45, 3e-14, 0, 0, HCY_ERANGE, HCY_F64 },
                  { 1.05, 1e-8, 0, 0, HCY_ERANGE, HCY_F64 },  { 1.25, 1e-6, 0, 0, 0, HCY_F32 },
                  { 1.1, 1e-2, 0, 0, 0, HCY_F32 },            { 1.1, 1e-5, 0, 0, HCY_ERANGE, HCY_F32 },
                  { 1.1, 1e-5, 8, 0, 0, HCY_F32 },            { 0, 1e-5, 0, 110, HCY_ERANGE, HCY_F32 } };
    const int64_t n = 100;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int type = 1; type <= (cases[i].grid ? 1 : 3); type++) {
            struct problem p;
            hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
            int status;
            oracle_open(&p, cases[i].precision, type, 1, &n, 20, type == 3 ? 30 : 0, 1);
            o.upsampling = cases[i].upsampling;
            o.width = cases[i].width;
            o.grid[0] = cases[i].grid;
            hcy_nufft *plan = oracle_plan(&p, dev, cases[i].eps, &o, &status);
            is_int(status, cases[i].status, "type %d, upsampling %g, grid %zu, width %u, eps %g%s", type, o.upsampling,
                   o.grid[0], o.width, cases[i].eps, cases[i].precision == HCY_F32 ? ", float" : "");
            hcy_nufft_destroy(plan);
            oracle_close(&p);
        }
}

/* The next even number of factors 2, 3 and 5, found by stepping. */
static uint64_t next_smooth(uint64_t n)
{
    for (n += n % 2;; n += 2) {
        uint64_t left = n;
        for (unsigned p = 2; p <= 5; p++)
            while (left % p == 0)
                left /= p;
        if (left == 1)
            return n;
    }
}

static void check_grids(void)
{
    static const int64_t sizes[] = { 1, 7, 41, 64, 100, 487, 500, 1201, 30011 };
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    double x = 0.25;
    const void *points[] = { &x };
    o.upsampling = 2;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        hcy_nufft_info info = HCY_NUFFT_INFO_INIT;
        hcy_nufft *plan = NULL;
        if (oracle_create(&plan, dev, 1, 1, &sizes[i], 1, 1, 1e-6, &o) ||
            hcy_nufft_set_points(plan, 1, points, 0, NULL) || hcy_nufft_get_info(&info, plan))
            bail_out("%s", hcy_last_error()->text);
        uint64_t least = 2 * (uint64_t)sizes[i] > 2 * info.width ? 2 * (uint64_t)sizes[i] : 2 * info.width;
        ok(info.grid[0] == next_smooth(least), "%lld modes: a grid of %llu, the next that FFTs like",
           (long long)sizes[i], (unsigned long long)info.grid[0]);
        hcy_nufft_destroy(plan);
    }
}

static void check_submit(hcy_device *d)
{
    for (int type = 1; type <= 3; type++) {
        struct problem p;
        int status;
        hcy_queue *q = NULL;
        hcy_buffer *c = NULL, *f = NULL, *small = NULL, *large = NULL, *c_apart = NULL, *f_apart = NULL;
        hcy_kernel *axes = NULL;
        oracle_open(&p, HCY_F64, type, 2, modes, 50, type == 3 ? 40 : 0, 6);
        hcy_nufft *plan = oracle_plan(&p, d, 1e-7, NULL, &status);
        size_t c_bytes = 6 * 16 * p.m, f_bytes = 6 * 16 * p.n;
        if (status || hcy_queue_create(&q, d) || hcy_buffer_create(&c, d, HCY_MEM_DEVICE, c_bytes) ||
            hcy_buffer_create(&f, d, HCY_MEM_DEVICE, f_bytes) || hcy_buffer_sub(&small, c, 0, c_bytes - 16) ||
            hcy_buffer_create(&large, d, HCY_MEM_DEVICE, 8 + c_bytes + f_bytes) ||
            hcy_buffer_sub(&c_apart, large, 8, c_bytes) || hcy_buffer_sub(&f_apart, large, 8, f_bytes) ||
            hcy_buffer_write(q, c, 0, p.c, c_bytes) || hcy_buffer_write(q, f, 0, p.f, f_bytes))
            bail_out("%s", hcy_last_error()->text);
        is_int(hcy_nufft_submit(q, plan, small, f, 0), HCY_EINVAL, "type %d: a buffer that is too small",
               type);
        is_int(hcy_nufft_submit(NULL, plan, c, f, 0), HCY_EINVAL, "... no queue");
        if (hcy_kernel_get(&axes, d, "nufft_axes"))
            skip(2, "%s takes numbers by their parts", hcy_device_get_info(d)->name);
        else {
            is_int(hcy_nufft_submit(q, plan, c_apart, f, 0), HCY_EINVAL, "... strengths that begin within a number");
            is_int(hcy_nufft_submit(q, plan, c, f_apart, 0), HCY_EINVAL, "... coefficients that do");
        }
        is_int(hcy_nufft_submit(q, plan, c, f, 0), 0, "... on a queue, from and to buffers");
        is_int(hcy_nufft_submit(q, plan, c, f, 0), 0, "... once more behind it");
        is_int(hcy_buffer_read(q, type == 2 ? p.c : p.f, type == 2 ? c : f, 0, type == 2 ? c_bytes : f_bytes),
               0, "... read");
        is_int(hcy_queue_finish(q), 0, "... done");
        double error = oracle_error(&p, type == 2 ? p.f : p.c, type != 2);
        ok(error <= 3e-7, "... and right: %.1e", error);
        hcy_kernel_release(axes);
        hcy_buffer *const more[] = { f_apart, c_apart, large };
        for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
            hcy_buffer_release(more[i]);
        hcy_buffer_release(small);
        hcy_buffer_release(c);
        hcy_buffer_release(f);
        hcy_queue_release(q);
        hcy_nufft_destroy(plan);
        oracle_close(&p);
    }
}

/* The same from and to host memory; wrong ones. */
static void check_host_stages(const struct problem *p, hcy_nufft *plan, size_t cells)
{
    void *grid = malloc(3 * 16 * cells);
    int first = p->type == 1 ? HCY_NUFFT_SPREAD : HCY_NUFFT_TO_GRID;
    int second = p->type == 1 ? HCY_NUFFT_TO_MODES : HCY_NUFFT_INTERPOLATE;
    is_int(hcy_nufft_execute_stage(grid, plan, 9, p->c), HCY_EINVAL, "in host memory: no stage");
    is_int(hcy_nufft_execute_stage(grid, plan, first, NULL), HCY_EINVAL, "... no input");
    is_int(hcy_nufft_execute_stage(NULL, plan, first, p->c), HCY_EINVAL, "... no place for the result");
    int status = hcy_nufft_execute_stage(grid, plan, first, p->type == 1 ? p->c : p->f);
    if (!status)
        status = hcy_nufft_execute_stage(p->type == 1 ? p->f : p->c, plan, second, grid);
    double error = oracle_error(p, p->type == 1 ? p->c : p->f, p->type == 1);
    ok(!status && error <= 3e-7, "... one after the other: %.1e", error);
    /* The other two are the adjoint's. */
    struct problem turned = *p;
    turned.sign = -p->sign;
    status = p->type == 1 ? hcy_nufft_execute_stage(grid, plan, HCY_NUFFT_TO_GRID, p->f)
                          : hcy_nufft_execute_stage(grid, plan, HCY_NUFFT_SPREAD, p->c);
    if (!status)
        status = p->type == 1 ? hcy_nufft_execute_stage(p->c, plan, HCY_NUFFT_INTERPOLATE, grid)
                              : hcy_nufft_execute_stage(p->f, plan, HCY_NUFFT_TO_MODES, grid);
    error = oracle_error(&turned, p->type == 1 ? p->f : p->c, p->type == 2);
    ok(!status && error <= 3e-7, "... the adjoint's: %.1e", error);
    free(grid);
}

/* Stages one after the other against the whole, and the self-adjoint operator against two transforms. */
static void check_stages(hcy_device *d)
{
    for (int type = 1; type <= 2; type++)
        for (int separate = 0; separate < 2; separate++) {
            struct problem p;
            int status;
            hcy_queue *q = NULL;
            hcy_buffer *c = NULL, *f = NULL, *grid = NULL;
            hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
            hcy_nufft_info info = HCY_NUFFT_INFO_INIT;
            o.separate_fft = separate;
            o.max_batch = 2;
            oracle_open(&p, HCY_F64, type, 2, modes, 50, 0, 3);
            hcy_nufft *plan = oracle_plan(&p, d, 1e-7, &o, &status);
            size_t c_bytes = 3 * 16 * p.m, f_bytes = 3 * 16 * p.n;
            if (status || hcy_nufft_get_info(&info, plan) || hcy_queue_create(&q, d) ||
                hcy_buffer_create(&c, d, HCY_MEM_DEVICE, c_bytes) ||
                hcy_buffer_create(&f, d, HCY_MEM_DEVICE, f_bytes) ||
                hcy_buffer_create(&grid, d, HCY_MEM_DEVICE, 3 * 16 * info.grid[0] * info.grid[1]) ||
                hcy_buffer_write(q, c, 0, p.c, c_bytes) || hcy_buffer_write(q, f, 0, p.f, f_bytes))
                bail_out("%s", hcy_last_error()->text);
            is_int(hcy_nufft_submit_stage(q, grid, plan, 0, c), HCY_EINVAL, "type %d: no stage", type);
            is_int(hcy_nufft_submit_stage(q, c, plan, HCY_NUFFT_SPREAD, grid), HCY_EINVAL, "... too small");
            is_int(hcy_nufft_submit_stage(NULL, grid, plan, HCY_NUFFT_SPREAD, c), HCY_EINVAL, "... no queue");
            status = type == 1 ? hcy_nufft_submit_stage(q, grid, plan, HCY_NUFFT_SPREAD, c)
                               : hcy_nufft_submit_stage(q, grid, plan, HCY_NUFFT_TO_GRID, f);
            if (!status)
                status = type == 1 ? hcy_nufft_submit_stage(q, f, plan, HCY_NUFFT_TO_MODES, grid)
                                   : hcy_nufft_submit_stage(q, c, plan, HCY_NUFFT_INTERPOLATE, grid);
            is_int(status, 0, "... one stage after the other");
            is_int(hcy_buffer_read(q, type == 1 ? p.f : p.c, type == 1 ? f : c, 0,
                                   type == 1 ? f_bytes : c_bytes),
                   0, "... read");
            is_int(hcy_queue_finish(q), 0, "... done");
            double error = oracle_error(&p, type == 1 ? p.c : p.f, type == 1);
            ok(error <= 3e-7, "... and right: %.1e", error);
            check_host_stages(&p, plan, info.grid[0] * info.grid[1]);
            oracle_fill(&p);
            is_int(hcy_buffer_write(q, f, 0, p.f, f_bytes), 0, "coefficients");
            is_int(hcy_nufft_submit_self_adjoint(q, f, plan, f), 0, "... to points and back");
            double *back = malloc(f_bytes), *f0 = p.f, off = 0, all = 0;
            is_int(hcy_buffer_read(q, back, f, 0, f_bytes), 0, "... read");
            is_int(hcy_queue_finish(q), 0, "... done");
            status =
                type == 1 ? hcy_nufft_execute_adjoint(plan, p.c, p.f) : hcy_nufft_execute(plan, p.c, p.f);
            if (!status)
                status =
                    type == 1 ? hcy_nufft_execute(plan, p.c, p.f) : hcy_nufft_execute_adjoint(plan, p.c, p.f);
            for (size_t i = 0; i < 2 * 3 * p.n; i++) {
                off += pow(back[i] - f0[i], 2);
                all += f0[i] * f0[i];
            }
            ok(!status && sqrt(off / all) < 1e-13, "... as two transforms do: %.1e", sqrt(off / all));
            free(back);
            hcy_buffer_release(grid);
            hcy_buffer_release(c);
            hcy_buffer_release(f);
            hcy_queue_release(q);
            hcy_nufft_destroy(plan);
            oracle_close(&p);
        }
}

/* Points in buffers of the device; with two axes unchecked: nothing waits for the sort but the transform. */
static void check_point_buffers(hcy_device *d)
{
    for (int dim = 1; dim <= 3; dim++) {
        struct problem p;
        int status;
        hcy_buffer *x[3] = { NULL, NULL, NULL }, *small = NULL, *other = NULL;
        hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
        o.check_points = dim != 2;
        oracle_open(&p, HCY_F64, 2, dim, modes, 50, 0, 2);
        hcy_nufft *plan = oracle_plan(&p, d, 1e-7, &o, &status);
        for (int i = 0; i < dim; i++)
            if (hcy_buffer_create(&x[i], d, HCY_MEM_DEVICE, 50 * 8) || hcy_buffer_write_now(x[i], 0, p.x[i], 50 * 8))
                bail_out("%s", hcy_last_error()->text);
        is_int(hcy_nufft_set_point_buffers(plan, 0, x), 0, "%d-D: no points in buffers", dim);
        is_int(hcy_nufft_set_point_buffers(plan, 50, x), 0, "... points in buffers");
        is_int(hcy_nufft_set_point_buffers(plan, 50, x), 0, "... once more");
        double error = oracle_execute(&p, plan, false);
        ok(error <= 3e-7, "... are right: %.1e", error);
        if (hcy_buffer_sub(&small, x[0], 0, 49 * 8) ||
            hcy_buffer_create(&other, d == dev ? spare : dev, HCY_MEM_DEVICE, 50 * 8))
            bail_out("%s", hcy_last_error()->text);
        hcy_buffer *const short_one[3] = { small, x[1], x[2] }, *const elsewhere[3] = { other, x[1], x[2] };
        is_int(hcy_nufft_set_point_buffers(plan, 50, short_one), HCY_EINVAL, "... one that is too short");
        is_int(hcy_nufft_set_point_buffers(plan, 50, elsewhere), HCY_EINVAL, "... one of another device");
        is_int(hcy_nufft_set_point_buffers(plan, -1, x), HCY_EINVAL, "... fewer than 0");
        hcy_nufft_destroy(plan);
        for (int i = 0; i < dim; i++)
            hcy_buffer_release(x[i]);
        hcy_buffer_release(small);
        hcy_buffer_release(other);
        oracle_close(&p);
    }
    hcy_nufft *plan;
    is_int(oracle_create(&plan, d, 3, 1, NULL, 1, 1, 1e-6, NULL), 0, "a plan of type 3");
    is_int(hcy_nufft_set_point_buffers(plan, 0, NULL), HCY_EUNSUPPORTED, "... takes no buffers");
    hcy_nufft_destroy(plan);
}

static void check_one_call(void)
{
    struct problem p;
    oracle_open(&p, HCY_F64, 3, 3, modes, 40, 30, 1);
    const void *const *x = (const void *const *)p.x;
    hcy_nufft_desc desc = oracle_desc_of(&p, 1e-6);
    int status = hcy_nufft_run(dev, &desc, 40, x, 30, (const void *const *)p.s, p.c, p.f);
    double error = oracle_error(&p, p.c, true);
    ok(!status && error <= 3e-6, "all in one call: %.1e", error);
    desc.type = 7;
    is_int(hcy_nufft_run(dev, &desc, 40, x, 30, NULL, p.c, p.f), HCY_EINVAL, "... with a wrong type");
    oracle_close(&p);
}

struct user {
    pthread_t thread;
    hcy_nufft *plan;
    struct problem problem;
    double worst;
};

static void *use(void *arg)
{
    struct user *u = arg;
    for (int i = 0; i < 4; i++) {
        double error = oracle_execute(&u->problem, u->plan, i & 1);
        u->worst = error > u->worst ? error : u->worst;
    }
    return NULL;
}

static void check_threads(void)
{
    struct user users[4];
    int status;
    for (int i = 0; i < 4; i++) { /* all have the points of the first */
        users[i].worst = 0;
        oracle_open(&users[i].problem, HCY_F64, 1, 2, modes, 200, 0, 1);
        for (int d = 0; d < 2 && i; d++)
            memcpy(users[i].problem.x[d], users[0].problem.x[d], 200 * 8);
    }
    hcy_nufft *plan = oracle_plan(&users[0].problem, dev, 1e-6, NULL, &status);
    for (int i = 0; i < 4; i++) {
        users[i].plan = plan;
        pthread_create(&users[i].thread, NULL, use, &users[i]);
    }
    for (int i = 0; i < 8; i++) /* others come and go meanwhile */
        hcy_nufft_destroy(oracle_plan(&users[0].problem, i & 1 ? dev : spare, 1e-6, NULL, &status));
    for (int i = 0; i < 4; i++) {
        pthread_join(users[i].thread, NULL);
        ok(users[i].worst <= 3e-6, "thread %d on a plan that four share: %.1e", i, users[i].worst);
        oracle_close(&users[i].problem);
    }
    hcy_nufft_destroy(plan);
}

/* What every device answers alike. */
static void check_alike(void)
{
    check_arguments();
    check_options();
    check_points();
    check_empty();
    check_one_mode();
    check_many_modes();
}

int main(int argc, char **argv)
{
    hcy_device *discrete = NULL;
    if (argc > 1 && hcy_device_open(&dev, argv[1]))
        skip_all("%s: %s", argv[1], hcy_last_error()->text);
    if (argc > 1 && !(hcy_device_get_info(dev)->caps & HCY_CAP_FFT))
        skip_all("%s has no FFT", argv[1]);
    if (argc > 1) {
        check_alike();
        check_submit(dev);
        hcy_device_release(dev);
        return done_testing();
    }
    if (hcy_device_open(&dev, "cpu@threads=3") || hcy_device_open(&spare, "cpu@threads=1") ||
        hcy_device_open(&discrete, "cpu@threads=2@discrete=1"))
        bail_out("%s", hcy_last_error()->text);
    if (!(hcy_device_get_info(dev)->caps & HCY_CAP_FFT)) {
        is_int(create(1, 1, modes, 1, 1e-6, NULL), HCY_EUNSUPPORTED, "without an FFT there are no plans");
    } else {
        check_alike();
        check_type3();
        check_type3_grid();
        check_bits();
        check_choices();
        check_batches();
        check_reach();
        check_grids();
        check_submit(dev);
        check_submit(discrete);
        check_stages(dev);
        check_stages(discrete);
        check_point_buffers(dev);
        check_point_buffers(discrete);
        check_one_call();
        check_threads();
    }
    hcy_device_release(discrete);
    hcy_device_release(spare);
    hcy_device_release(dev);
    return done_testing();
}
