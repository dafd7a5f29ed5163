/* nufft_many - transforms of points of their own, one transform on several devices, and points that a device has no
 * room for, against direct sums.  Argument: a device, of which the first is tried in three dimensions. */
#include "nufft_oracle.h"
#include "tap.h"

static const int64_t modes[3] = { 12, 10, 14 };

/* --- Points of each transform's own --- */

enum { TRANSFORMS = 4 };
static const size_t counts[TRANSFORMS] = { 40, 0, 1, 90 }, target_counts[TRANSFORMS] = { 20, 7, 30, 0 };

struct each {
    struct problem p[TRANSFORMS];
    int64_t n_points[TRANSFORMS], n_targets[TRANSFORMS];
    const void *points[3 * TRANSFORMS], *targets[3 * TRANSFORMS];
    char *c, *f; /* of all */
    size_t c_bytes, f_bytes;
};

static void open_each(struct each *e, int precision, int type, int dim)
{
    *e = (struct each){ .c = NULL };
    for (int t = 0; t < TRANSFORMS; t++) {
        struct problem *p = &e->p[t];
        oracle_open(p, precision, type, dim, modes, counts[t], type == 3 ? target_counts[t] : 0, 1);
        e->n_points[t] = (int64_t)p->m;
        e->n_targets[t] = (int64_t)p->n;
        for (int d = 0; d < dim; d++) {
            e->points[t * dim + d] = p->x[d];
            e->targets[t * dim + d] = p->s[d];
        }
        e->c_bytes += 2 * p->real * p->m;
        e->f_bytes += 2 * p->real * p->n;
    }
    e->c = malloc(e->c_bytes);
    e->f = malloc(e->f_bytes);
}

/* Between the arrays of all and those of each. */
static void move_each(struct each *e, bool to_all)
{
    char *c = e->c, *f = e->f;
    for (int t = 0; t < TRANSFORMS; t++) {
        struct problem *p = &e->p[t];
        size_t c_bytes = 2 * p->real * p->m, f_bytes = 2 * p->real * p->n;
        memcpy(to_all ? c : p->c, to_all ? p->c : c, c_bytes);
        memcpy(to_all ? f : p->f, to_all ? p->f : f, f_bytes);
        c += c_bytes;
        f += f_bytes;
    }
}

static double worst_each(struct each *e, bool adjoint)
{
    double most = 0;
    move_each(e, false);
    for (int t = 0; t < TRANSFORMS; t++) {
        struct problem p = e->p[t];
        bool to_modes = (p.type == 2) == adjoint;
        p.sign = adjoint ? -p.sign : p.sign;
        double error = oracle_error(&p, to_modes ? p.c : p.f, to_modes);
        most = error > most ? error : most;
    }
    return most;
}

static int submit_each(struct each *e, hcy_device *dev, hcy_nufft *plan, int adjoint)
{
    hcy_queue *q = NULL;
    hcy_buffer *c = NULL, *f = NULL, *small = NULL;
    if (hcy_queue_create(&q, dev) || hcy_buffer_create(&c, dev, HCY_MEM_DEVICE, e->c_bytes) ||
        hcy_buffer_create(&f, dev, HCY_MEM_DEVICE, e->f_bytes) || hcy_buffer_sub(&small, c, 0, e->c_bytes - 8) ||
        hcy_buffer_write(q, c, 0, e->c, e->c_bytes) || hcy_buffer_write(q, f, 0, e->f, e->f_bytes))
        bail_out("%s", hcy_last_error()->text);
    is_int(hcy_nufft_submit(q, plan, small, f, adjoint), HCY_EINVAL, "... a buffer that is too small for all");
    if (e->p[0].type == 3)
        is_int(hcy_nufft_submit_stage(q, f, plan, HCY_NUFFT_SPREAD, c), HCY_EUNSUPPORTED, "... no stages");
    int status = hcy_nufft_submit(q, plan, c, f, adjoint);
    if (!status)
        status = hcy_buffer_read(q, e->c, c, 0, e->c_bytes);
    if (!status)
        status = hcy_buffer_read(q, e->f, f, 0, e->f_bytes);
    if (!status)
        status = hcy_queue_finish(q);
    hcy_buffer_release(small);
    hcy_buffer_release(c);
    hcy_buffer_release(f);
    hcy_queue_release(q);
    return status;
}

/* The stages one after the other, through a grid a transform; and there and back at once. */
static void check_each_stages(struct each *e, hcy_device *dev, hcy_nufft *plan)
{
    hcy_nufft_info info = HCY_NUFFT_INFO_INIT;
    hcy_queue *q = NULL;
    hcy_buffer *f = NULL;
    bool first = e->p[0].type == 1;
    if (hcy_nufft_get_info(&info, plan) || hcy_queue_create(&q, dev) ||
        hcy_buffer_create(&f, dev, HCY_MEM_DEVICE, e->f_bytes))
        bail_out("%s", hcy_last_error()->text);
    size_t cells = info.grid[0] * (info.dim > 1 ? info.grid[1] : 1) * (info.dim > 2 ? info.grid[2] : 1);
    size_t real = e->p[0].real;
    void *grid = malloc(TRANSFORMS * cells * 2 * real);
    move_each(e, true);
    int status = first ? hcy_nufft_execute_stage(grid, plan, HCY_NUFFT_SPREAD, e->c)
                       : hcy_nufft_execute_stage(grid, plan, HCY_NUFFT_TO_GRID, e->f);
    if (!status)
        status = first ? hcy_nufft_execute_stage(e->f, plan, HCY_NUFFT_TO_MODES, grid)
                       : hcy_nufft_execute_stage(e->c, plan, HCY_NUFFT_INTERPOLATE, grid);
    double error = status ? INFINITY : worst_each(e, false);
    ok(error < 5e-5, "... stage by stage, %zu cells a transform: %.1e", cells, error);
    /* What comes back is the adjoint's, or the transform's, of strengths that are computed here. */
    status = first ? hcy_nufft_execute_adjoint(plan, e->c, e->f) : hcy_nufft_execute(plan, e->c, e->f);
    if (status || hcy_buffer_write(q, f, 0, e->f, e->f_bytes) || hcy_nufft_submit_self_adjoint(q, f, plan, f) ||
        hcy_buffer_read(q, e->f, f, 0, e->f_bytes) || hcy_queue_finish(q))
        bail_out("%s", hcy_last_error()->text);
    error = worst_each(e, !first);
    ok(error < 1e-4, "... there and back: %.1e", error);
    free(grid);
    hcy_buffer_release(f);
    hcy_queue_release(q);
}

static void check_each(hcy_device *dev, int precision, int type, int dim, int method)
{
    struct each e;
    hcy_nufft *plan;
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    hcy_nufft_info info = HCY_NUFFT_INFO_INIT;
    open_each(&e, precision, type, dim);
    o.method = method;
    const hcy_nufft_desc desc = oracle_desc(precision, type, dim, modes, -1, TRANSFORMS, 1e-5);
    if (hcy_nufft_create(&plan, dev, &desc, &o))
        bail_out("%s", hcy_last_error()->text);
    is_int(hcy_nufft_set_points_each(plan, NULL, e.points, e.n_targets, e.targets), HCY_EINVAL, "no points");
    is_int(hcy_nufft_execute(plan, e.c, e.f), HCY_ESTATE, "... and no execution");
    for (int turn = 0; turn < 2; turn++) { /* the second set replaces the first */
        is_int(hcy_nufft_set_points_each(plan, e.n_points, e.points, e.n_targets, e.targets), 0,
               "type %d, %d-D: points of each transform's own", type, dim);
        move_each(&e, true);
        int status = hcy_nufft_execute(plan, e.c, e.f);
        double forward = status ? 1 : worst_each(&e, false);
        status = hcy_nufft_execute_adjoint(plan, e.c, e.f);
        double back = status ? 1 : worst_each(&e, true);
        ok(forward < 5e-5 && back < 5e-5, "... each is right, and its adjoint: %.1e, %.1e", forward, back);
    }
    ok(!hcy_nufft_get_info(&info, plan) && (info.point_bytes > 0 || method != HCY_NUFFT_GRID), "... memory is said");
    int status = submit_each(&e, dev, plan, 0);
    double error = status ? 1 : worst_each(&e, false);
    ok(error < 5e-5, "... on a queue: %.1e", error);
    if (type < 3)
        check_each_stages(&e, dev, plan);
    oracle_put(&e.p[3], e.p[3].x[0], 5, NAN);
    status = hcy_nufft_set_points_each(plan, e.n_points, e.points, e.n_targets, e.targets);
    bool said = strstr(hcy_last_error()->text, "transform 3: ") && strstr(hcy_last_error()->text, "point 5 ");
    if (type == 3)
        is_int(status, 0, "a point that is no number, without targets");
    else
        ok(status == HCY_EINVAL && said, "a point that is no number: %s", hcy_last_error()->text);
    hcy_nufft_destroy(plan);
    for (int t = 0; t < TRANSFORMS; t++)
        oracle_close(&e.p[t]);
    free(e.c);
    free(e.f);
}

/* --- Several devices --- */

static hcy_nufft_split *open_split(const struct problem *p, hcy_device *const *devices, size_t n,
                                   const hcy_nufft_options *o)
{
    hcy_nufft_split *s = NULL;
    const hcy_nufft_desc desc = oracle_desc_of(p, 1e-7);
    if (hcy_nufft_split_create(&s, devices, n, &desc, o) ||
        hcy_nufft_split_set_points(s, (int64_t)p->m, (const void *const *)p->x, p->type == 3 ? (int64_t)p->n : 0,
                                   (const void *const *)p->s))
        bail_out("%s", hcy_last_error()->text);
    return s;
}

static double execute_split(const struct problem *p, hcy_nufft_split *s, int adjoint)
{
    struct problem turned = *p;
    bool to_modes = (p->type == 2) == (adjoint != 0);
    turned.sign = adjoint ? -p->sign : p->sign;
    int status = hcy_nufft_split_execute(s, p->c, p->f, adjoint);
    return status ? INFINITY : oracle_error(&turned, to_modes ? p->c : p->f, to_modes);
}

static void check_split(hcy_device *const *devices, size_t n, int type, int vectors)
{
    struct problem p;
    size_t m = 300, shares = 0, share;
    oracle_open(&p, HCY_F64, type, 2, modes, m, type == 3 ? 50 : 0, vectors);
    hcy_nufft_split *s = open_split(&p, devices, n, NULL);
    for (int turn = 0; turn < 2; turn++) { /* the second one with points shared out by measured speed */
        double forward = execute_split(&p, s, 0), back = execute_split(&p, s, 1);
        ok(forward < 3e-7 && back < 3e-7, "type %d on %zu devices, %d vectors: %.1e, adjoint %.1e", type, n, vectors,
           forward, back);
        is_int(hcy_nufft_split_set_points(s, (int64_t)m, (const void *const *)p.x, (int64_t)p.n,
                                          (const void *const *)p.s), 0, "... points once more");
    }
    for (size_t i = 0; i < n && !hcy_nufft_split_share(&share, NULL, s, i); i++)
        shares += share;
    ok(shares == (vectors < (int)n ? m : n * m), "... every point has its device");
    hcy_nufft_split_destroy(s);
    oracle_close(&p);
}

/* Shares are as the speeds that were measured before. */
static void check_weights(hcy_device *const *devices)
{
    enum { M = 40000 };
    const int64_t n[2] = { 40, 40 };
    struct problem p;
    size_t share[2];
    double speed[2];
    oracle_open(&p, HCY_F64, 1, 2, n, M, 0, 1);
    hcy_nufft_split *s = open_split(&p, devices, 2, NULL);
    is_int(hcy_nufft_split_execute(s, p.c, p.f, 0), 0, "a transform on two devices");
    for (size_t i = 0; i < 2; i++)
        is_int(hcy_nufft_split_share(NULL, &speed[i], s, i), 0, "... speed of device %zu", i);
    is_int(hcy_nufft_split_set_points(s, M, (const void *const *)p.x, 0, NULL), 0, "... points once more");
    for (size_t i = 0; i < 2; i++)
        is_int(hcy_nufft_split_share(&share[i], NULL, s, i), 0, "... share of device %zu", i);
    ok(speed[0] > 0 && speed[1] > 0 && fabs((double)share[0] - M * speed[0] / (speed[0] + speed[1])) < 2,
       "... shares %zu and %zu are as speeds %.3g and %.3g", share[0], share[1], speed[0], speed[1]);
    /* For so few a point takes hundreds of times as long, as it does where kernels are compiled. */
    is_int(hcy_nufft_split_set_points(s, 20, (const void *const *)p.x, 0, NULL), 0, "... 20 points");
    is_int(hcy_nufft_split_execute(s, p.c, p.f, 0), 0, "... their first transform");
    for (size_t i = 0; i < 2; i++) {
        double slow = 0;
        is_int(hcy_nufft_split_share(NULL, &slow, s, i), 0, "... speed of device %zu after it", i);
        ok(slow >= 0.5 * speed[i], "... is half of what it was at least: %.3g after %.3g", slow, speed[i]);
    }
    hcy_nufft_split_destroy(s);
    oracle_close(&p);
}

static void check_fixed(hcy_device *const *devices)
{
    struct problem p;
    size_t share = 0, bytes;
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    o.deterministic = 1;
    oracle_open(&p, HCY_F64, 1, 2, modes, 301, 0, 1);
    bytes = 16 * p.n;
    char *first = malloc(bytes);
    hcy_nufft_split *s = open_split(&p, devices, 2, &o);
    bool same = true;
    for (int turn = 0; turn < 3; turn++) {
        if (hcy_nufft_split_execute(s, p.c, p.f, 0))
            bail_out("%s", hcy_last_error()->text);
        same = same && (!turn || !memcmp(first, p.f, bytes));
        memcpy(first, p.f, bytes);
    }
    ok(same && !hcy_nufft_split_share(&share, NULL, s, 0) && share == 150, "deterministic: shares are even");
    hcy_nufft_split_destroy(s);
    free(first);
    oracle_close(&p);
}

/* Of vectors each device has the same ones always: what it makes of them alone. */
static void check_fixed_vectors(hcy_device *const *devices)
{
    enum { VECTORS = 10 };
    struct problem p;
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    bool same = true;
    o.deterministic = 1;
    o.max_batch = 1;
    o.method = HCY_NUFFT_GRID;
    oracle_open(&p, HCY_F64, 1, 2, modes, 301, 0, VECTORS);
    size_t bytes = 16 * p.n * VECTORS / 2;
    char *alone[2] = { malloc(2 * bytes), malloc(2 * bytes) };
    for (int i = 0; i < 2; i++) {
        hcy_nufft_split *one = open_split(&p, &devices[i], 1, &o);
        if (hcy_nufft_split_execute(one, p.c, alone[i], 0))
            bail_out("%s", hcy_last_error()->text);
        hcy_nufft_split_destroy(one);
    }
    hcy_nufft_split *s = open_split(&p, devices, 2, &o);
    for (int turn = 0; turn < 5; turn++) {
        if (hcy_nufft_split_execute(s, p.c, p.f, 0))
            bail_out("%s", hcy_last_error()->text);
        same = same && !memcmp(p.f, alone[0], bytes) && !memcmp((char *)p.f + bytes, alone[1] + bytes, bytes);
    }
    ok(same, "deterministic: a device's vectors are always the same%s",
       memcmp(alone[0], alone[1], 2 * bytes) ? "" : " (as far as one can tell: the devices agree)");
    hcy_nufft_split_destroy(s);
    free(alone[0]);
    free(alone[1]);
    oracle_close(&p);
}

static void check_split_arguments(hcy_device *const *devices)
{
    struct problem p;
    hcy_nufft_split *s = NULL;
    size_t share;
    oracle_open(&p, HCY_F64, 1, 2, modes, 100, 0, 1);
    hcy_nufft_desc desc = oracle_desc(HCY_F64, 1, 2, modes, 1, 1, 1e-6);
    is_int(hcy_nufft_split_create(&s, devices, 0, &desc, NULL), HCY_EINVAL, "no devices");
    is_int(hcy_nufft_split_create(&s, devices, 2, NULL, NULL), HCY_EINVAL, "no description");
    desc.n_transforms = 0;
    is_int(hcy_nufft_split_create(&s, devices, 2, &desc, NULL), HCY_EINVAL, "no transforms");
    desc.n_transforms = 1;
    desc.type = 5;
    is_int(hcy_nufft_split_create(&s, devices, 2, &desc, NULL), HCY_EINVAL, "type 5");
    desc.type = 1;
    is_int(hcy_nufft_split_create(&s, devices, 2, &desc, NULL), 0, "two devices");
    is_int(hcy_nufft_split_execute(s, p.c, p.f, 0), HCY_ESTATE, "... no points yet");
    is_int(hcy_nufft_split_set_points(NULL, 0, NULL, 0, NULL), HCY_EINVAL, "... no plan for points");
    is_int(hcy_nufft_split_set_points(s, 100, (const void *const *)p.x, 0, NULL), 0, "... points");
    is_int(hcy_nufft_split_execute(s, NULL, p.f, 0), HCY_EINVAL, "... no strengths");
    is_int(hcy_nufft_split_execute(s, p.c, NULL, 0), HCY_EINVAL, "... no coefficients");
    is_int(hcy_nufft_split_set_points(s, -1, (const void *const *)p.x, 0, NULL), HCY_EINVAL, "... fewer than 0");
    is_int(hcy_nufft_split_set_points(s, 0, (const void *const *)p.x, 0, NULL), 0, "... no points");
    is_int(hcy_nufft_split_execute(s, NULL, NULL, 0), HCY_EINVAL, "... to nowhere");
    ok(strstr(hcy_last_error()->text, "no coefficients") != NULL, "... is told: %s", hcy_last_error()->text);
    is_int(hcy_nufft_split_execute(s, NULL, p.f, 0), 0, "... executed");
    ok(((double *)p.f)[0] == 0 && ((double *)p.f)[2 * p.n - 1] == 0, "... to zeros");
    oracle_put(&p, p.x[1], 80, INFINITY);
    is_int(hcy_nufft_split_set_points(s, 100, (const void *const *)p.x, 0, NULL), HCY_EINVAL, "... a bad point");
    ok(strstr(hcy_last_error()->text, "point 80 ") != NULL, "... is told by its number: %s", hcy_last_error()->text);
    is_int(hcy_nufft_split_share(&share, NULL, s, 2), HCY_EINVAL, "... a device that is none");
    is_int(hcy_nufft_split_execute(NULL, p.c, p.f, 0), HCY_EINVAL, "... no plan");
    hcy_nufft_split_destroy(s);
    hcy_nufft_split_destroy(NULL);
    oracle_close(&p);
}

/* --- Little memory --- */

/* More points than a device has room for: in pieces, whatever that is told. */
static void check_pieces(void)
{
    static const struct {
        const char *device;
        int precision, dim, vectors;
        size_t memory;
        bool pieces;
    } cases[] = {
        { "cpu@threads=2@discrete=1@memory=500000", HCY_F64, 2, 1, 0, true },
        { "cpu@threads=1@memory=450000", HCY_F32, 3, 3, 0, true },
        { "cpu@threads=1@discrete=1", HCY_F32, 1, 6, 200000, true },
        { "cpu@threads=1@discrete=1", HCY_F64, 2, 1, (size_t)1 << 30, false },
    };
    enum { N_CASES = sizeof cases / sizeof cases[0], TARGETS = 20 };
    const int64_t n[3] = { 14, 10, 5 };
    for (size_t i = 0; i < 3 * N_CASES; i++) {
        const size_t k = i / 3, n_targets = i % 3 == 2 ? TARGETS : 0;
        if (TAP_THREAD_SANITIZER && cases[k].dim == 3 && n_targets == 0) /* one thread's work */
            continue;
        struct problem p;
        hcy_device *d;
        int status;
        hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
        hcy_nufft_info info = HCY_NUFFT_INFO_INIT;
        if (hcy_device_open(&d, cases[k].device))
            bail_out("%s", hcy_last_error()->text);
        oracle_open(&p, cases[k].precision, 1 + (int)i % 3, cases[k].dim, n, 20000, n_targets,
                    cases[k].vectors);
        o.memory = cases[k].memory;
        hcy_nufft *plan = oracle_plan(&p, d, 1e-5, &o, &status);
        double there = status ? INFINITY : oracle_execute(&p, plan, false);
        double back = status ? INFINITY : oracle_execute(&p, plan, true);
        if (!status)
            status = hcy_nufft_get_info(&info, plan);
        if (n_targets && k == 1) { /* no room but for a few targets */
            ok(status == HCY_ENOMEM && strstr(hcy_last_error()->text, "fewer targets"), "type 3: %s",
               hcy_last_error()->text);
            hcy_nufft_destroy(plan);
            hcy_device_release(d);
            oracle_close(&p);
            continue;
        }
        ok(!status && (info.pieces > 2) == cases[k].pieces && there < 5e-5 && back < 5e-5,
           "type %d on %s: %zu pieces, %.1e, adjoint %.1e", p.type, cases[k].device, info.pieces, there, back);
        if (cases[k].pieces) {
            if (!n_targets)
                is_int(hcy_nufft_execute_stage(p.f, plan, HCY_NUFFT_SPREAD, p.c), HCY_ENOMEM, "... has no stages");
            oracle_put(&p, p.x[0], 17000, NAN);
            status = hcy_nufft_set_points(plan, 20000, (const void *const *)p.x, (int64_t)n_targets,
                                          (const void *const *)p.s);
            ok(status == HCY_EINVAL && strstr(hcy_last_error()->text, "point 17000 "), "... %s",
               hcy_last_error()->text);
        }
        hcy_nufft_destroy(plan);
        hcy_device_release(d);
        oracle_close(&p);
    }
}

/* Of three dimensions, on a device whose FFT takes the first axis and planes of the others. */
static int test_device(const char *name)
{
    hcy_device *dev;
    if (hcy_device_open(&dev, name))
        skip_all("%s: %s", name, hcy_last_error()->text);
    if (!(hcy_device_get_info(dev)->caps & HCY_CAP_FFT))
        skip_all("%s has no FFT here", name);
    for (int type = 1; type <= 2; type++)
        check_each(dev, HCY_F64, type, 3, HCY_NUFFT_GRID);
    hcy_device_release(dev);
    return done_testing();
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return test_device(argv[1]);
    static const char *const names[] = { "cpu@threads=1", "cpu@threads=2@simd=portable", "cpu@threads=2@discrete=1" };
    hcy_device *devices[3];
    for (size_t i = 0; i < 3; i++)
        if (hcy_device_open(&devices[i], names[i]))
            bail_out("%s", hcy_last_error()->text);
    if (!(hcy_device_get_info(devices[0])->caps & HCY_CAP_FFT))
        skip_all("the CPU has no FFT here");
    for (int type = 1; type <= 3; type++) {
        check_each(devices[0], HCY_F64, type, 2, HCY_NUFFT_GRID);
        check_each(devices[2], HCY_F32, type, 1, HCY_NUFFT_GRID);
        check_each(devices[2], HCY_F64, type, 2, HCY_NUFFT_AUTO);
        for (int vectors = 1; vectors <= 9; vectors += 4)
            check_split(devices, 3, type, vectors);
        check_split(devices, 3, type, 2);
        check_split(devices, 1, type, 1);
    }
    check_pieces();
    check_weights(devices);
    check_fixed(devices);
    check_fixed_vectors(devices);
    check_split_arguments(devices);
    for (size_t i = 0; i < 3; i++)
        hcy_device_release(devices[i]);
    return done_testing();
}
