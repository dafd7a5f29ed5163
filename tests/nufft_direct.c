/* nufft_direct - small problems as direct sums: exact whatever eps is, the same bits on any device, chosen where they
 * are cheaper, the same statuses as with a grid; stages and queues work all the same. */
#include "nufft_oracle.h"
#include "tap.h"

static hcy_device *dev, *discrete;
static const int64_t modes[3] = { 6, 5, 11 };

static hcy_nufft *plan_of(const struct problem *p, hcy_device *d, int method, double eps, int *status)
{
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    hcy_nufft *plan = NULL;
    o.order = p->zero_first ? HCY_NUFFT_ZERO_FIRST : HCY_NUFFT_CENTRED;
    o.method = method;
    const hcy_nufft_desc desc = oracle_desc_of(p, eps);
    *status = hcy_nufft_create(&plan, d, &desc, &o);
    if (!*status)
        *status = hcy_nufft_set_points(plan, (int64_t)p->m, (const void *const *)p->x,
                                       p->type == 3 ? (int64_t)p->n : 0, (const void *const *)p->s);
    return plan;
}

static bool is_direct(const hcy_nufft *plan)
{
    hcy_nufft_info info = HCY_NUFFT_INFO_INIT;
    return !hcy_nufft_get_info(&info, plan) && info.direct;
}

static void check_exact(void)
{
    static const int64_t shapes[][4] = { { 1, 1 }, { 1, 2 }, { 1, 64 }, { 2, 1, 7 }, { 2, 8, 3 }, { 3, 6, 5, 11 } };
    for (int type = 1; type <= 3; type++)
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
            double worst = 0;
            for (int k = 0; k < 8; k++) {
                struct problem p;
                int status;
                oracle_open(&p, k & 1 ? HCY_F32 : HCY_F64, type, (int)shapes[i][0], shapes[i] + 1, 20,
                            type == 3 ? 13 : 0, 2);
                p.sign = k & 2 ? 1 : -1;
                p.zero_first = k & 4;
                hcy_nufft *plan = plan_of(&p, dev, HCY_NUFFT_DIRECT, 0.1, &status);
                double unit = k & 1 ? 2e-7 : 4e-15;
                double there = status ? INFINITY : oracle_execute(&p, plan, false) / unit;
                double back = status ? INFINITY : oracle_execute(&p, plan, true) / unit;
                worst = fmax(worst, fmax(there, back));
                hcy_nufft_destroy(plan);
                oracle_close(&p);
            }
            ok(worst <= 1, "type %d, %lld-D, %lld %lld %lld modes: exact, %.2f of what is allowed", type,
               (long long)shapes[i][0], (long long)shapes[i][1], (long long)shapes[i][2], (long long)shapes[i][3],
               worst);
        }
}

/* Periods away, as exact as coordinates are. */
static void check_far(void)
{
    struct problem p;
    int status;
    oracle_open(&p, HCY_F64, 1, 1, (const int64_t[]){ 300 }, 40, 0, 1);
    for (size_t i = 0; i < p.m; i++)
        ((double *)p.x[0])[i] += 2 * PI * (double)(i % 5) * 1000;
    hcy_nufft *plan = plan_of(&p, dev, HCY_NUFFT_DIRECT, 1e-9, &status);
    double error = status ? 1 : oracle_execute(&p, plan, false);
    ok(error <= 1e-10, "points thousands of periods away: %.1e", error);
    hcy_nufft_destroy(plan);
    oracle_close(&p);
}

static void check_choice(void)
{
    static const struct {
        int type, dim;
        int64_t m, n[3];
        bool direct;
    } cases[] = {
        { 1, 1, 20, { 30 }, true },           { 2, 3, 10, { 6, 6, 6 }, true },  { 3, 2, 30, { 20, 20 }, true },
        { 1, 1, 1, { 300000 }, true },        { 1, 1, 2000, { 2000 }, false },  { 2, 2, 3000, { 30, 30 }, false },
        { 3, 2, 3000, { 20, 20 }, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct problem p;
        int status;
        oracle_open(&p, HCY_F64, cases[i].type, cases[i].dim, cases[i].n, (size_t)cases[i].m,
                    cases[i].type == 3 ? (size_t)cases[i].m : 0, 1);
        hcy_nufft *plan = plan_of(&p, dev, HCY_NUFFT_AUTO, 1e-6, &status);
        is_int(status ? -1 : is_direct(plan), cases[i].direct, "type %d, %lld points in %d-D: %s", cases[i].type,
               (long long)cases[i].m, cases[i].dim, cases[i].direct ? "direct" : "a grid");
        hcy_nufft_destroy(plan);
        plan = plan_of(&p, dev, HCY_NUFFT_GRID, 1e-6, &status);
        is_int(status ? -1 : is_direct(plan), 0, "... a grid where that is asked for");
        hcy_nufft_destroy(plan);
        plan = plan_of(&p, dev, HCY_NUFFT_DIRECT, 1e-6, &status);
        is_int(status ? -1 : is_direct(plan), 1, "... and the sum itself");
        hcy_nufft_destroy(plan);
        oracle_close(&p);
    }
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    hcy_nufft *plan;
    o.method = 3;
    is_int(oracle_create(&plan, dev, 1, 1, modes, 1, 1, 1e-6, &o), HCY_EINVAL, "method 3");
    o.method = HCY_NUFFT_AUTO;
    o.width = 5;
    const double x[2] = { 1, 2 };
    const void *const points[1] = { x };
    is_int(oracle_create(&plan, dev, 1, 1, modes, 1, 1, 1e-3, &o), 0, "a width is given");
    is_int(hcy_nufft_set_points(plan, 2, points, 0, NULL), 0, "... two points");
    ok(!is_direct(plan), "... and a grid");
    hcy_nufft_destroy(plan);
}

/* Plans whose points are few, many and few again, executed by the host and on a queue. */
static void check_turns(hcy_device *d)
{
    for (int type = 1; type <= 3; type++) {
        hcy_nufft *plan = NULL;
        double worst = 0;
        hcy_queue *q;
        if (oracle_create(&plan, d, type, 1, (const int64_t[]){ 40 }, -1, 1, 1e-9, NULL) || hcy_queue_create(&q, d))
            bail_out("%s", hcy_last_error()->text);
        for (int turn = 0; turn < 4; turn++) {
            struct problem p;
            hcy_buffer *c = NULL, *f = NULL;
            oracle_open(&p, HCY_F64, type, 1, (const int64_t[]){ 40 }, turn & 1 ? 3000 : 9, type == 3 ? 40 : 0, 1);
            if (hcy_nufft_set_points(plan, (int64_t)p.m, (const void *const *)p.x, type == 3 ? 40 : 0,
                                     (const void *const *)p.s))
                bail_out("%s", hcy_last_error()->text);
            ok(is_direct(plan) == !(turn & 1), "type %d, %zu points: %s", type, p.m, turn & 1 ? "a grid" : "direct");
            worst = fmax(worst, oracle_execute(&p, plan, false));
            worst = fmax(worst, oracle_execute(&p, plan, true));
            if (hcy_buffer_create(&c, d, HCY_MEM_DEVICE, 16 * p.m) || hcy_buffer_create(&f, d, HCY_MEM_DEVICE, 640) ||
                hcy_buffer_write(q, c, 0, p.c, 16 * p.m) || hcy_buffer_write(q, f, 0, p.f, 640) ||
                hcy_nufft_submit(q, plan, c, f, 0) || hcy_buffer_read(q, p.c, c, 0, 16 * p.m) ||
                hcy_buffer_read(q, p.f, f, 0, 640) || hcy_queue_finish(q))
                bail_out("%s", hcy_last_error()->text);
            worst = fmax(worst, oracle_error(&p, type == 2 ? p.f : p.c, type != 2));
            hcy_buffer_release(c);
            hcy_buffer_release(f);
            oracle_close(&p);
        }
        ok(worst <= 3e-9, "... all are right, on a queue too: %.1e", worst);
        hcy_queue_release(q);
        hcy_nufft_destroy(plan);
    }
}

static void check_stages(void)
{
    struct problem p;
    int status;
    hcy_nufft_info info = HCY_NUFFT_INFO_INIT;
    oracle_open(&p, HCY_F64, 1, 2, modes, 12, 0, 1);
    hcy_nufft *plan = plan_of(&p, dev, HCY_NUFFT_AUTO, 1e-9, &status);
    is_int(status ? status : hcy_nufft_get_info(&info, plan), 0, "a direct sum");
    ok(info.direct && info.grid[0] > 6 && info.grid[1] > 5 && info.width > 5, "... has the grid of its stages");
    void *grid = malloc(16 * info.grid[0] * info.grid[1]);
    is_int(hcy_nufft_execute_stage(grid, plan, HCY_NUFFT_SPREAD, p.c), 0, "... points to grid");
    is_int(hcy_nufft_execute_stage(p.f, plan, HCY_NUFFT_TO_MODES, grid), 0, "... grid to modes");
    double error = oracle_error(&p, p.c, true);
    ok(error > 1e-14 && error <= 3e-9, "... right by a grid: %.1e", error);
    free(grid);
    hcy_nufft_destroy(plan);
    oracle_close(&p);
}

static void check_statuses(void)
{
    for (int type = 1; type <= 3; type++) {
        struct problem p;
        int status;
        hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
        oracle_open(&p, HCY_F64, type, 2, modes, 12, type == 3 ? 5 : 0, 1);
        ((double *)p.x[1])[7] = NAN;
        hcy_nufft *plan = plan_of(&p, dev, HCY_NUFFT_AUTO, 1e-9, &status);
        ok(status == HCY_EINVAL && strstr(hcy_last_error()->text, "point 7 "), "type %d: %s", type,
           hcy_last_error()->text);
        is_int(hcy_nufft_execute(plan, p.c, p.f), HCY_ESTATE, "... and no execution");
        hcy_nufft_destroy(plan);
        o.check_points = 0;
        o.method = HCY_NUFFT_DIRECT;
        if (type < 3) {
            plan = oracle_plan(&p, dev, 1e-9, &o, &status);
            ((double *)p.x[1])[7] = 0;
            double error = status ? 1 : oracle_execute(&p, plan, false);
            ok(error <= 1e-13, "... counts as 0 where points are not checked: %.1e", error);
            hcy_nufft_destroy(plan);
        } else {
            ((double *)p.x[1])[7] = 1e12;
            plan = plan_of(&p, dev, HCY_NUFFT_AUTO, 1e-9, &status);
            is_int(status, HCY_ERANGE, "... too wide a range, as with a grid");
            hcy_nufft_destroy(plan);
            plan = plan_of(&p, dev, HCY_NUFFT_DIRECT, 1e-9, &status);
            double error = status ? 1 : oracle_execute(&p, plan, false);
            ok(error <= 1e-3 && is_direct(plan), "... but for a sum that is asked for: %.1e", error);
            hcy_nufft_destroy(plan);
            ((double *)p.x[1])[7] = INFINITY;
            plan = plan_of(&p, dev, HCY_NUFFT_DIRECT, 1e-9, &status);
            is_int(status, HCY_EINVAL, "... to which infinity is none either");
            hcy_nufft_destroy(plan);
        }
        oracle_close(&p);
    }
}

static void check_bits(void)
{
    for (int type = 1; type <= 3; type++) {
        struct problem p;
        void *first = NULL;
        oracle_open(&p, HCY_F32, type, 3, modes, 12, type == 3 ? 30 : 0, 3);
        void *out = type == 2 ? p.c : p.f;
        size_t bytes = 3 * 8 * (type == 2 ? p.m : p.n);
        hcy_device *const devices[] = { dev, discrete };
        for (int i = 0; i < 2; i++) {
            int status;
            hcy_nufft *plan = plan_of(&p, devices[i], HCY_NUFFT_AUTO, 1e-5, &status);
            if (!status)
                status = hcy_nufft_execute(plan, p.c, p.f);
            ok(!status && is_direct(plan) && (!first || !memcmp(first, out, bytes)),
               "type %d: the same bits on device %d", type, i);
            if (!first)
                first = memcpy(malloc(bytes), out, bytes);
            hcy_nufft_destroy(plan);
        }
        free(first);
        oracle_close(&p);
    }
}

int main(void)
{
    if (hcy_device_open(&dev, "cpu@threads=1") || hcy_device_open(&discrete, "cpu@threads=2@discrete=1"))
        bail_out("%s", hcy_last_error()->text);
    if (!(hcy_device_get_info(dev)->caps & HCY_CAP_FFT))
        skip_all("the CPU has no FFT here");
    check_exact();
    check_far();
    check_choice();
    check_turns(dev);
    check_turns(discrete);
    check_stages();
    check_statuses();
    check_bits();
    hcy_device_release(discrete);
    hcy_device_release(dev);
    return done_testing();
}
