/* nufft_finufft - FINUFFT's interface: every function in both precisions against direct sums; the statuses
 * of FINUFFT 2.5 for wrong arguments and for nothing to do. */
#include "nufft_oracle.h"
#include "tap.h"
#include <dirent.h>
#include <halcyon/finufft.h>

static const int64_t sizes[3] = { 9, 8, 5 }; /* x is the last */

/* A problem with its axes as FINUFFT names them: p.x[dim - 1] is x. */
static void open_problem(struct problem *p, int precision, int type, int dim, int ntr)
{
    oracle_open(p, precision, type, dim, sizes, 30, type == 3 ? 25 : 0, ntr);
    p->sign = 1;
}

#define POINTS1(a) a[0]
#define POINTS2(a) a[1], a[0]
#define POINTS3(a) a[2], a[1], a[0]
#define MODES1     9
#define MODES2     8, 9
#define MODES3     5, 8, 9

/* Simple calls of one type and dimension, one vector and several. */
#define UNIFORM(p, PRECISION, dim, type, tol)                                                                \
    do {                                                                                                     \
        struct problem q;                                                                                    \
        int one, many;                                                                                       \
        open_problem(&q, PRECISION, type, dim, 1);                                                           \
        one = p##dim##d##type(30, POINTS##dim(q.x), q.c, 1, tol, MODES##dim, q.f, NULL);                     \
        double error = oracle_error(&q, type == 1 ? q.c : q.f, type == 1);                                   \
        oracle_close(&q);                                                                                    \
        open_problem(&q, PRECISION, type, dim, 3);                                                           \
        q.sign = -1;                                                                                         \
        many = p##dim##d##type##many(3, 30, POINTS##dim(q.x), q.c, -1, tol, MODES##dim, q.f, NULL);          \
        double error3 = oracle_error(&q, type == 1 ? q.c : q.f, type == 1);                                  \
        oracle_close(&q);                                                                                    \
        ok(!one && !many && error <= 4 * tol && error3 <= 4 * tol, "%s%dd%d and many: %.1e, %.1e", #p, dim,  \
           type, error, error3);                                                                             \
    } while (0)
#define TARGETS(p, PRECISION, dim, tol)                                                                      \
    do {                                                                                                     \
        struct problem q;                                                                                    \
        int one, many;                                                                                       \
        open_problem(&q, PRECISION, 3, dim, 1);                                                              \
        one = p##dim##d3(30, POINTS##dim(q.x), q.c, 1, tol, 25, POINTS##dim(q.s), q.f, NULL);                \
        double error = oracle_error(&q, q.c, true);                                                          \
        oracle_close(&q);                                                                                    \
        open_problem(&q, PRECISION, 3, dim, 3);                                                              \
        many = p##dim##d3many(3, 30, POINTS##dim(q.x), q.c, 1, tol, 25, POINTS##dim(q.s), q.f, NULL);        \
        double error3 = oracle_error(&q, q.c, true);                                                         \
        oracle_close(&q);                                                                                    \
        ok(!one && !many && error <= 4 * tol && error3 <= 4 * tol, "%s%dd3 and many: %.1e, %.1e", #p, dim,   \
           error, error3);                                                                                   \
    } while (0)
#define ALL(p, PRECISION, tol)                                                                               \
    UNIFORM(p, PRECISION, 1, 1, tol);                                                                        \
    UNIFORM(p, PRECISION, 2, 1, tol);                                                                        \
    UNIFORM(p, PRECISION, 3, 1, tol);                                                                        \
    UNIFORM(p, PRECISION, 1, 2, tol);                                                                        \
    UNIFORM(p, PRECISION, 2, 2, tol);                                                                        \
    UNIFORM(p, PRECISION, 3, 2, tol);                                                                        \
    TARGETS(p, PRECISION, 1, tol);                                                                           \
    TARGETS(p, PRECISION, 2, tol);                                                                           \
    TARGETS(p, PRECISION, 3, tol)

/* Threads of this process, 0 if nobody says so. */
static int n_threads(void)
{
    int n = 0;
    DIR *list = opendir("/proc/self/task");
    for (struct dirent *e; list && (e = readdir(list));)
        n += e->d_name[0] != '.';
    if (list)
        closedir(list);
    return n;
}

/* An upsampfac is a grid, where the sum itself would be exact. */
static void check_upsampfac(void)
{
    struct problem p;
    double error[2];
    open_problem(&p, HCY_F64, 1, 1, 1);
    for (int i = 0; i < 2; i++) {
        finufft_opts o;
        finufft_default_opts(&o);
        o.upsampfac = i ? 3 : 1.25;
        int status = finufft1d1(30, p.x[0], p.c, 1, 1e-4, 9, p.f, &o);
        error[i] = status ? INFINITY : oracle_error(&p, p.c, true);
    }
    ok(error[0] > 1e-8 && error[0] < 3e-4 && error[1] > 1e-8 && error[1] < 3e-4 && error[0] != error[1],
       "upsampfac 1.25 and 3: %.1e, %.1e", error[0], error[1]);
    oracle_close(&p);
}

static void check_plan(void)
{
    finufft_opts o;
    finufft_plan plan;
    struct problem p;
    const int64_t n[2] = { 8, 9 };
    finufft_default_opts(&o);
    o.modeord = 1;
    o.nthreads = 40;
    o.upsampfac = 2;
    o.maxbatchsize = 1;
    open_problem(&p, HCY_F64, 1, 2, 2);
    p.zero_first = true;
    int threads = n_threads();
    is_int(finufft_makeplan(1, 2, n, 1, 2, 1e-9, &plan, &o), 0, "a plan with options");
    if (threads)
        ok(n_threads() - threads > 20, "... about 39 threads more"); /* of earlier plans some may only now end */
    else
        skip(1, "no /proc/self/task");
    is_int(finufft_setpts(plan, 30, p.x[1], p.x[0], NULL, 0, NULL, NULL, NULL), 0, "... its points");
    is_int(finufft_execute(plan, p.c, p.f), 0, "... executed");
    double error = oracle_error(&p, p.c, true);
    is_int(finufft_execute_adjoint(plan, p.c, p.f), 0, "... and its adjoint");
    p.sign = -1;
    double back = oracle_error(&p, p.f, false);
    ok(error <= 2e-9 && back <= 2e-9, "... are right: %.1e, %.1e", error, back);
    is_int(finufft_setpts(plan, 2, NULL, p.x[0], NULL, 0, NULL, NULL, NULL), FINUFFT_ERR_INVALID_ARGUMENT, "no points");
    is_int(finufft_execute(plan, p.c, p.f), FINUFFT_ERR_PLAN_NOTVALID, "... nor those before");
    is_int(finufft_setpts(plan, 2, p.x[1], p.x[0], NULL, 0, NULL, NULL, NULL), 0, "... but new ones");
    is_int(finufft_setpts(plan, -1, p.x[1], p.x[0], NULL, 0, NULL, NULL, NULL), FINUFFT_ERR_NUM_NU_PTS_INVALID,
           "-1 points");
    is_int(finufft_execute(plan, p.c, p.f), FINUFFT_ERR_PLAN_NOTVALID, "... are none");
    is_int(finufft_setpts(plan, 2, p.x[1], p.x[0], NULL, 0, NULL, NULL, NULL), 0, "... and 2");
    is_int(finufft_execute(plan, p.c, p.f), 0, "... are transformed");
    is_int(finufft_destroy(plan), 0, "... destroyed");
    is_int(finufft_destroy(NULL), 1, "... no plan");
    oracle_close(&p);
}

/* Lock functions of a program that makes plans of FFTW itself: how deep, how often, and whether ever too deep. */
struct locks {
    int depth, times, wrong;
};

static void lock(void *data)
{
    struct locks *l = data;
    l->wrong += l->depth++ != 0;
    l->times++;
}

static void unlock(void *data)
{
    struct locks *l = data;
    l->wrong += --l->depth != 0;
}

static void check_locks(void)
{
    struct locks locks = { 0, 0, 0 };
    finufft_opts o;
    finufft_plan plan;
    struct problem p;
    const int64_t n[2] = { 8, 9 };
    finufft_default_opts(&o);
    o.fftw_lock_fun = lock;
    o.fftw_unlock_fun = unlock;
    o.fftw_lock_data = &locks;
    open_problem(&p, HCY_F64, 1, 2, 1);
    is_int(finufft_makeplan(1, 2, n, 1, 1, 1e-9, &plan, &o), 0, "a plan with lock functions");
    is_int(locks.times, 1, "... which are called");
    is_int(finufft_setpts(plan, 30, p.x[1], p.x[0], NULL, 0, NULL, NULL, NULL), 0, "... for its points");
    is_int(locks.times, 2, "... as well");
    is_int(finufft_execute(plan, p.c, p.f), 0, "... for executions");
    is_int(finufft_execute_adjoint(plan, p.c, p.f), 0, "... of both kinds");
    is_int(locks.times, 4, "... as well");
    is_int(finufft_destroy(plan), 0, "... and for its end");
    ok(locks.times == 5 && !locks.depth && !locks.wrong, "... once each time, and let go");
    oracle_close(&p);
}

/* Statuses as FINUFFT 2.5.1 gives them; -1: type 3's is another. */
static void check_statuses(void)
{
    static const struct {
        const char *what;
        int64_t m, n;
        double eps;
        int ntr;
        double upsampfac;
        int status, status3;
    } cases[] = {
        { "all right", 10, 20, 1e-6, 1, 0, 0, 0 },
        { "0 modes", 10, 0, 1e-6, 1, 0, 0, 0 },
        { "fewer than 0 modes", 10, -1, 1e-6, 1, 0, 0, 20 },
        { "0 points", 0, 20, 1e-6, 1, 0, 0, 0 },
        { "fewer than 0 points", -1, 20, 1e-6, 1, 0, 20, 20 },
        { "1e16 points", 10000000000000000, 20, 1e-6, 1, 0, 20, 20 },
        { "eps 0", 10, 20, 0, 1, 0, 1, 1 },
        { "eps -1", 10, 20, -1, 1, 0, 1, 1 },
        { "eps 1e-17", 10, 20, 1e-17, 1, 0, 1, 1 },
        { "0 transforms", 10, 20, 1e-6, 0, 0, 9, 9 },
        { "upsampfac 0.9", 10, 20, 1e-6, 1, 0.9, 7, 7 },
        { "upsampfac 1.5", 10, 20, 1e-6, 1, 1.5, 0, 0 },
        { "upsampfac 1.25, eps 1e-12", 10, 20, 1e-12, 1, 1.25, 1, 1 },
        { "1e13 modes", 10, 10000000000000, 1e-6, 1, 0, 2, 20 },
    };
    double x[20] = { 0.1, 0.2 };
    const double _Complex unit[4] = { 1, 2, 3, 4 };
    double _Complex c[20], f[20];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        finufft_opts o;
        finufft_default_opts(&o);
        o.upsampfac = cases[i].upsampfac;
        for (int k = 0; k < 20; k++)
            c[k] = f[k] = 7;
        int one = finufft1d1many(cases[i].ntr, cases[i].m, x, c, 1, cases[i].eps, cases[i].n, f, &o);
        if (cases[i].m == 0 && cases[i].n == 20)
            ok(f[0] == 0 && f[19] == 0, "%s: results are 0", cases[i].what);
        int two = finufft1d2many(cases[i].ntr, cases[i].m, x, c, 1, cases[i].eps, cases[i].n, f, &o);
        if (cases[i].n == 0)
            ok(c[0] == 0 && c[9] == 0, "%s: results are 0", cases[i].what);
        is_int(one, cases[i].status, "%s, type 1", cases[i].what);
        is_int(two, cases[i].status, "%s, type 2", cases[i].what);
        if (cases[i].n < 100)
            is_int(finufft1d3many(cases[i].ntr, cases[i].m, x, c, 1, cases[i].eps, cases[i].n, x, f, &o),
                   cases[i].status3, "%s, type 3", cases[i].what);
    }
    finufft_plan plan;
    finufft_opts o;
    const int64_t n[3] = { 4, 4, 4 };
    finufft_default_opts(&o);
    is_int(finufft_makeplan(4, 1, n, 1, 1, 1e-6, &plan, &o), 10, "type 4");
    is_int(finufft_makeplan(1, 4, n, 1, 1, 1e-6, &plan, NULL), 12, "4 dimensions");
    is_int(finufft_execute(NULL, c, f), FINUFFT_ERR_PLAN_NOTVALID, "no plan to execute");
    is_int(finufft_setpts(NULL, 10, x, x, x, 0, x, x, x), FINUFFT_ERR_PLAN_NOTVALID, "... nor for points");
    is_int(finufft_makeplan(1, 1, n, 1, 1, 1e-6, &plan, &o), 0, "a plan");
    is_int(finufft_execute(plan, c, f), FINUFFT_ERR_PLAN_NOTVALID, "... without points");
    is_int(finufft_destroy(plan), 0, "... destroyed");
    o.spreadinterponly = 1;
    is_int(finufft_makeplan(1, 1, n, 1, 1, 1e-6, &plan, &o), FINUFFT_ERR_SPREAD_BOX_SMALL,
           "spreading alone, a small grid");
    o.spreadinterponly = 0;
    o.spread_thread = 3;
    is_int(finufft_makeplan(1, 1, n, 1, 1, 1e-6, &plan, &o), FINUFFT_ERR_SPREAD_THREAD_NOTVALID,
           "spread_thread 3");
    o.spread_thread = 0;
    o.spread_kerformula = 99;
    is_int(finufft_makeplan(1, 1, n, 1, 1, 1e-6, &plan, &o), FINUFFT_ERR_KERFORMULA_NOTVALID,
           "spread_kerformula 99");
    o.spread_kerformula = 0;
    o.upsampfac = 1.1;
    finufftf_plan single;
    is_int(finufftf_makeplan(1, 1, n, 1, 1, 1e-5f, &single, &o), FINUFFT_WARN_EPS_TOO_SMALL,
           "upsampfac 1.1, float, 1e-5");
    is_int(finufftf_destroy(single), 0, "... is a plan all the same");
    o.upsampfac = 0;
    o.fftw_lock_fun = lock; /* not called: it has no data */
    is_int(finufft_makeplan(1, 1, n, 1, 1, 1e-6, &plan, &o), FINUFFT_ERR_LOCK_FUNS_INVALID,
           "one of two lock functions");
    const double wide[4] = { 0, 3000, -1000, 2000 }; /* 5e6 cells an axis */
    is_int(finufft2d3(4, wide, wide, c, 1, 1e-6, 4, wide, wide, f, NULL), FINUFFT_ERR_MAXNALLOC,
           "a grid above 1e12 cells, though a few sums could be done without one");
    is_int(finufft_makeplan(1, 1, n, 1, 1, 1e-6, NULL, NULL), FINUFFT_ERR_INVALID_ARGUMENT, "no place for a plan");
    hcy_finufft_plan *none = (hcy_finufft_plan *)&o;
    is_int(hcy_finufft_makeplan(2, 1, 1, n, 1, 1, 1e-6, &none, NULL), FINUFFT_ERR_INVALID_ARGUMENT, "halves");
    ok(!none, "... and no plan");
    is_int(hcy_finufft_simple(8, 3, 1, 1, 4, x, NULL, NULL, c, 1, 1e-6, NULL, x, NULL, NULL, f, NULL),
           FINUFFT_ERR_INVALID_ARGUMENT, "no number of targets");
    is_int(finufft1d2(4, x, NULL, 1, 1e-6, 0, f, NULL), FINUFFT_ERR_INVALID_ARGUMENT, "no place for sums of no modes");
    double _Complex ascending[2][4];
    o.fftw_lock_fun = NULL;
    for (o.modeord = 7; o.modeord >= 0; o.modeord -= 7)
        is_int(finufft1d1(4, wide, unit, 1, 1e-9, 4, ascending[o.modeord == 0], &o), 0, "modeord %d", o.modeord);
    ok(!memcmp(ascending[0], ascending[1], sizeof ascending[0]), "... is as 0");
    ok(_Generic((finufft_plan)NULL, finufftf_plan: 0, default: 1), "plans of the two precisions are two types");
    x[1] = NAN;
    is_int(finufft1d1(10, x, c, 1, 1e-6, 4, f, NULL), FINUFFT_ERR_INVALID_ARGUMENT, "a point that is no number");
    x[3] = 0x1p44;
    is_int(finufft1d1(10, x, c, 1, 1e-6, 4, f, NULL), FINUFFT_ERR_INVALID_ARGUMENT, "one that is 2^40 periods away");
}

/* Spreading and interpolation alone: every window has the same mass, is where its point is on a grid from -pi on, and
 * the two are each other's adjoints. */
static void check_one_stage(void)
{
    enum { M = 7, N = 60 };
    finufft_opts o;
    const double x[M] = { 0, 1, 3.1, -3.14, 2.2, -1.1, 9 }, at[1] = { -3.14159265358979323846 + 0.5 };
    double _Complex c[M], back[M], f[N], one[N], sum = 0, mass = 0, all = 0, products[2] = { 0, 0 };
    const double _Complex unit[1] = { 1 };
    int most = 0;
    finufft_default_opts(&o);
    o.spreadinterponly = 1;
    is_int(finufft1d1(1, at, unit, 1, 1e-9, N, one, &o), 0, "spreading alone");
    for (int i = 0; i < N; i++) {
        mass += one[i];
        most = creal(one[i]) > creal(one[most]) ? i : most;
    }
    is_int(most, 5, "... to where the point is");
    for (int j = 0; j < M; j++) {
        c[j] = 1 + j - I * j * j;
        sum += c[j];
    }
    is_int(finufft1d1(M, x, c, 1, 1e-9, N, f, &o), 0, "... several points");
    for (int i = 0; i < N; i++) {
        all += f[i];
        one[i] = 1.0 / (1 + i);
    }
    ok(cabs(all - sum * mass) < 1e-8 * cabs(all), "... of the same mass: %.1e", cabs(all / mass - sum));
    is_int(finufft1d2(M, x, back, 1, 1e-9, N, one, &o), 0, "interpolation alone");
    for (int i = 0; i < N; i++)
        products[0] += f[i] * one[i];
    for (int j = 0; j < M; j++)
        products[1] += c[j] * back[j];
    ok(cabs(products[0] - products[1]) < 1e-12 * cabs(products[0]), "... is the adjoint: %.1e",
       cabs(products[0] - products[1]));
    is_int(finufft1d1(0, x, c, 1, 1e-9, N, f, &o), 0, "... of no points");
    ok(f[0] == 0 && f[N - 1] == 0, "... to zeros");
    is_int(finufftf1d1(0, NULL, NULL, 1, 1e-3f, 0, NULL, &o), 0, "... to no grid");
}

/* The device is what HALCYON_DEVICE names: here one of hardly any memory. */
static void check_device(void)
{
    const double x[3] = { 1, 2, 3 };
    const float _Complex c[3] = { 1, 2, 3 };
    float _Complex f[40];
    float points[3] = { 1, 2, 3 };
    finufft_opts o;
    finufft_plan plan;
    const int64_t n[1] = { 3000 };
    finufft_default_opts(&o);
    o.upsampfac = 2; /* not a sum of the host's */
    setenv("HALCYON_DEVICE", "cpu@threads=1@discrete=1@memory=20000", 1);
    is_int(finufft_makeplan(1, 1, n, 1, 1, 1e-6, &plan, &o), 0, "a device of 20 000 bytes");
    is_int(finufft_setpts(plan, 3, x, NULL, NULL, 0, NULL, NULL, NULL), FINUFFT_ERR_ALLOC, "... which are not enough");
    is_int(finufft_destroy(plan), 0, "... destroyed");
    setenv("HALCYON_DEVICE", "nothing", 1);
    ok(finufftf1d1(3, points, c, 1, 1e-3f, 40, f, &o) > FINUFFT_WARN_EPS_TOO_SMALL, "a device that is not there");
    /* An empty one names none, so that the number of threads counts. */
    setenv("HALCYON_DEVICE", "", 1);
    o.nthreads = 40;
    int threads = n_threads();
    is_int(finufft_makeplan(1, 1, n, 1, 1, 1e-6, &plan, &o), 0, "no device is named");
    if (threads)
        ok(n_threads() - threads > 20, "... and the CPU has about 39 threads");
    else
        skip(1, "no /proc/self/task");
    is_int(finufft_destroy(plan), 0, "... destroyed");
    unsetenv("HALCYON_DEVICE");
}

int main(void)
{
    hcy_device *dev;
    if (hcy_device_open(&dev, "cpu"))
        bail_out("%s", hcy_last_error()->text);
    if (!(hcy_device_get_info(dev)->caps & HCY_CAP_FFT))
        skip_all("the CPU has no FFT here");
    hcy_device_release(dev);
    ALL(finufft, HCY_F64, 1e-9);
    ALL(finufftf, HCY_F32, 1e-4f);
    check_plan();
    check_upsampfac();
    check_locks();
    check_one_stage();
    check_statuses();
    check_device();
    return done_testing();
}
