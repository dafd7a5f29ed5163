/* nufft_use - non-uniform FFTs as programs use them: on queues that wait, which calls must not; several devices from
 * several threads; points far from 0 or in one place; what belongs to another device, or was destroyed; grids that no
 * memory holds.  Argument: a device, in place of two of the CPU's. */
#include "cts_gate.h"
#include "nufft_oracle.h"

static const int64_t modes[3] = { 12, 10, 14 };

static hcy_buffer *buffer(hcy_device *dev, size_t size)
{
    hcy_buffer *buf = NULL;
    if (hcy_buffer_create(&buf, dev, HCY_MEM_DEVICE, size))
        bail_out("%s", hcy_last_error()->text);
    return buf;
}

/* --- Asynchrony --- */

/* Transforms and stages, twice, behind a gate: all are submitted before the first of them can begin. */
static int submit_all(hcy_queue *q, hcy_nufft *plan, hcy_buffer *c, hcy_buffer *f, hcy_buffer *grid)
{
    int status = 0;
    for (int turn = 0; turn < 2 && !status; turn++) {
        status = hcy_nufft_submit(q, plan, c, f, 0);
        if (!status && grid)
            status = hcy_nufft_submit_stage(q, grid, plan, HCY_NUFFT_SPREAD, c);
        if (!status && grid)
            status = hcy_nufft_submit_stage(q, f, plan, HCY_NUFFT_TO_MODES, grid);
        if (!status && grid)
            status = hcy_nufft_submit_self_adjoint(q, f, plan, f);
        if (!status && grid)
            status = hcy_nufft_submit(q, plan, c, f, 0);
    }
    return status;
}

static uint64_t bytes_in_use(hcy_device *dev)
{
    hcy_pool_stats stats;
    return hcy_device_pool_stats(&stats, dev) ? UINT64_MAX : stats.in_use;
}

static void check_asynchronous(const char *spec)
{
    hcy_device *dev = cts_open_spec(spec);
    cts_spec = spec;
    for (int type = 1; type <= 3; type += 2) {
        struct problem p;
        int status;
        hcy_nufft_info info = HCY_NUFFT_INFO_INIT;
        oracle_open(&p, HCY_F64, type, 2, modes, 60, type == 3 ? 40 : 0, 6);
        hcy_nufft *plan = oracle_plan(&p, dev, 1e-7, NULL, &status);
        if (status || hcy_nufft_get_info(&info, plan))
            bail_out("%s", hcy_last_error()->text);
        size_t c_bytes = 6 * 16 * p.m, f_bytes = 6 * 16 * p.n;
        hcy_buffer *c = buffer(dev, c_bytes), *f = buffer(dev, f_bytes);
        hcy_buffer *grid = type == 1 ? buffer(dev, 6 * 16 * info.grid[0] * info.grid[1]) : NULL;
        hcy_queue *q = cts_queue(dev);
        /* What is compiled or planned at first is done before. */
        if (hcy_buffer_write_now(c, 0, p.c, c_bytes) || submit_all(q, plan, c, f, grid) || hcy_queue_finish(q))
            bail_out("%s", hcy_last_error()->text);
        struct cts_gate *gate = cts_gate_new();
        bool held = cts_gate_hold(gate, q);
        const uint64_t before = bytes_in_use(dev);
        status = hcy_nufft_submit(q, plan, c, f, 0);
        if (!status)
            status = hcy_nufft_submit(q, plan, c, f, 0);
        if (held)
            ok(bytes_in_use(dev) <= before, "%s: type %d: transforms submitted ahead have one grid", spec, type);
        if (!status)
            status = submit_all(q, plan, c, f, grid);
        if (!status)
            status = hcy_buffer_read(q, p.f, f, 0, f_bytes);
        bool waited = cts_gate_expired(gate);
        cts_gate_open(gate);
        if (!status)
            status = hcy_queue_finish(q);
        double error = status ? INFINITY : oracle_error(&p, p.c, true);
        if (held)
            ok(!waited && error <= 3e-7, "%s, type %d: submitted without waiting, and right: %.1e", spec, type, error);
        else
            skip(1, CTS_GATE_SKIP);
        cts_gate_free(gate);
        hcy_buffer_release(c);
        hcy_buffer_release(f);
        hcy_buffer_release(grid);
        hcy_queue_release(q);
        hcy_nufft_destroy(plan);
        oracle_close(&p);
    }
    hcy_device_release(dev);
}

/* --- The general FFT --- */

/* Which kernels a plan launches, as the timeline has them: 1 if it crops the grid of a device's FFT itself. */
static int separate(void *context)
{
    char path[] = "/tmp/halcyon-nufft-use-XXXXXX", text[8192] = "";
    struct problem p;
    int fd = mkstemp(path);
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    if (fd < 0 || setenv("HALCYON_TRACE", path, 1))
        return 99;
    hcy_device *dev = cts_open_spec("cpu@threads=1");
    o.separate_fft = *(const int *)context;
    oracle_open(&p, HCY_F64, 1, 2, modes, 30, 0, 1);
    double error = oracle_run(&p, dev, 1e-6, &o);
    hcy_device_release(dev);
    oracle_close(&p);
    bool read_it = read(fd, text, sizeof text - 1) > 0;
    close(fd);
    unlink(path);
    return !read_it || !(error <= 2e-6) ? 99 : strstr(text, "nufft_crop") != NULL;
}

/* --- Several devices, several threads --- */

struct user {
    pthread_t thread;
    hcy_device *dev;
    hcy_nufft *plan; /* of two users */
    struct problem problem;
    double worst;
};

/* Executions of the plan that is shared, while plans of one's own come and go. */
static void *use(void *arg)
{
    struct user *u = arg;
    for (int i = 0; i < 4; i++) {
        int status;
        hcy_nufft *own = oracle_plan(&u->problem, u->dev, 1e-6, NULL, &status);
        double error = oracle_execute(&u->problem, i & 1 ? own : u->plan, i & 2);
        hcy_nufft_destroy(own);
        u->worst = error > u->worst ? error : u->worst;
    }
    return NULL;
}

/* All plan first and run then, two threads a device; devices are of several kinds. */
static void check_devices(void)
{
    static const char *const specs[] = { "cpu@threads=1", "cpu@threads=2@simd=portable",
                                         "cpu@threads=2@discrete=1" };
    enum { DEVICES = 3, USERS = 2 * DEVICES };
    struct user users[USERS];
    for (int i = 0; i < USERS; i++) {
        struct user *u = &users[i], *first = &users[i & ~1];
        int type = 1 + i / 2, status;
        u->worst = 0;
        u->dev = i & 1 ? hcy_device_retain(first->dev) : cts_open_spec(specs[i / 2]);
        oracle_open(&u->problem, i / 2 == 1 ? HCY_F32 : HCY_F64, type, 2, modes, 150, type == 3 ? 70 : 0, 1);
        for (int d = 0; d < 2 && i & 1; d++) {
            memcpy(u->problem.x[d], first->problem.x[d], 150 * u->problem.real);
            memcpy(u->problem.s[d], first->problem.s[d], type == 3 ? 70 * u->problem.real : 0);
        }
        u->plan = i & 1 ? first->plan : oracle_plan(&u->problem, u->dev, 1e-6, NULL, &status);
    }
    for (int i = 0; i < USERS; i++)
        pthread_create(&users[i].thread, NULL, use, &users[i]);
    for (int i = 0; i < USERS; i++) {
        pthread_join(users[i].thread, NULL);
        ok(users[i].worst <= 5e-6, "a thread on %s, whose plan another has, too: %.1e", specs[i / 2],
           users[i].worst);
    }
    for (int i = 0; i < USERS; i++) {
        if (i & 1)
            hcy_nufft_destroy(users[i].plan);
        hcy_device_release(users[i].dev);
        oracle_close(&users[i].problem);
    }
}

struct asker {
    pthread_t thread;
    hcy_nufft *plan;
    const double *c;
    double *grid;
    int status;
};

static void *ask(void *arg)
{
    struct asker *a = arg;
    a->status = hcy_nufft_execute_stage(a->grid, a->plan, HCY_NUFFT_SPREAD, a->c);
    return NULL;
}

/* A plan of direct sums makes its grid when somebody asks: here four at once. */
static void check_grid_for_four(hcy_device *dev)
{
    enum { M = 20, ASKERS = 4 };
    struct asker askers[ASKERS];
    double x[M], c[2 * M];
    const void *const points[1] = { x };
    hcy_nufft_info info = HCY_NUFFT_INFO_INIT;
    hcy_nufft *plan = NULL;
    bool same = true;
    for (int i = 0; i < 2 * M; i++)
        x[i / 2] = c[i] = oracle_uniform();
    if (oracle_create(&plan, dev, 1, 1, modes, 1, 1, 1e-6, NULL) ||
        hcy_nufft_set_points(plan, M, points, 0, NULL) || hcy_nufft_get_info(&info, plan))
        bail_out("%s", hcy_last_error()->text);
    for (int i = 0; i < ASKERS; i++) {
        askers[i] = (struct asker){ .plan = plan, .c = c, .grid = malloc(16 * info.grid[0]) };
        pthread_create(&askers[i].thread, NULL, ask, &askers[i]);
    }
    for (int i = 0; i < ASKERS; i++) {
        pthread_join(askers[i].thread, NULL);
        same = same && !askers[i].status;
        for (size_t k = 0; same && k < 2 * info.grid[0]; k++)
            same = fabs(askers[i].grid[k] - askers[0].grid[k]) <= 1e-12;
    }
    ok(info.direct && same, "direct sums whose grid four threads want at once");
    for (int i = 0; i < ASKERS; i++)
        free(askers[i].grid);
    hcy_nufft_destroy(plan);
}

/* --- Points --- */

/* Where others have failed: near the period's end with 300 modes, thousands in one place or almost, thousands of
 * periods away, where a double itself is no more exact than what is allowed here. */
static void check_places(hcy_device *dev)
{
    static const struct {
        const char *what;
        size_t m;
        double centre, width, allowed;
    } cases[] = {
        { "at nextafter(pi, 0)", 1, 3.14159265358979311, 0, 2e-9 },
        { "2000 of them the same", 2000, 0.7, 0, 2e-9 },
        { "2000 of them within 1e-12", 2000, -2.1, 1e-12, 2e-9 },
        { "around 1e3", 200, 1e3, 3, 2e-9 },
        { "around -1e6", 200, -1e6, 3, 2e-9 + 300 * 1e6 * 0x1p-53 },
        { "around 1e9", 200, 1e9, 3, 300 * 1e9 * 0x1p-53 },
    };
    const int64_t n = 300;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int type = 1; type <= 2; type++) {
            struct problem p;
            oracle_open(&p, HCY_F64, type, 1, &n, cases[i].m, 0, 1);
            for (size_t j = 0; j < p.m; j++)
                oracle_put(&p, p.x[0], j, cases[i].centre + cases[i].width * (oracle_uniform() - 0.5));
            double error = oracle_run(&p, dev, 1e-9, NULL);
            ok(error <= cases[i].allowed, "type %d, points %s: %.1e", type, cases[i].what, error);
            oracle_close(&p);
        }
}

/* Any number is a sign. */
static void check_signs(hcy_device *dev)
{
    static const int signs[] = { -7, 0, 3 };
    for (size_t i = 0; i < 3; i++) {
        struct problem p;
        oracle_open(&p, HCY_F64, 1, 1, modes, 30, 0, 1);
        p.sign = signs[i] < 0 ? -1 : 1;
        const hcy_nufft_desc desc = oracle_desc(HCY_F64, 1, 1, modes, signs[i], 1, 1e-9);
        int status = hcy_nufft_run(dev, &desc, 30, (const void *const *)p.x, 0, NULL, p.c, p.f);
        double error = status ? INFINITY : oracle_error(&p, p.c, true);
        ok(error <= 2e-9, "a sign of %d: %.1e", signs[i], error);
        oracle_close(&p);
    }
}

/* A transform waits for the sort of points that nobody has waited for. */
static void check_sort(hcy_device *dev)
{
    enum { M = 300000 };
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    hcy_nufft *plan = NULL;
    o.check_points = 0;
    double *x = malloc(M * sizeof *x), f[2 * 100];
    double *c[2] = { malloc(2 * M * sizeof *x), malloc(2 * M * sizeof *x) };
    hcy_queue *q = cts_queue(dev);
    hcy_buffer *fb = buffer(dev, sizeof f), *cb = buffer(dev, 2 * M * sizeof *x);
    for (int i = 0; i < M; i++)
        x[i] = 6 * oracle_uniform();
    for (int i = 0; i < 200; i++)
        f[i] = oracle_uniform();
    const int64_t n = 100;
    hcy_buffer *points = buffer(dev, M * sizeof *x);
    if (hcy_buffer_write_now(points, 0, x, M * sizeof *x) || hcy_buffer_write_now(fb, 0, f, sizeof f) ||
        oracle_create(&plan, dev, 2, 1, &n, 1, 1, 1e-6, &o))
        bail_out("%s", hcy_last_error()->text);
    st_ok(hcy_nufft_set_point_buffers(plan, M, &points), "unchecked points of buffers");
    for (int i = 0; i < 2; i++) {
        st_ok(hcy_nufft_submit(q, plan, cb, fb, 0), "... a transform, %s", i ? "later" : "at once");
        if (hcy_buffer_read(q, c[i], cb, 0, 2 * M * sizeof *x) || hcy_queue_finish(q))
            bail_out("%s", hcy_last_error()->text);
    }
    ok(!memcmp(c[0], c[1], 2 * M * sizeof *x), "... are the same");
    hcy_nufft_destroy(plan);
    hcy_buffer_release(points);
    hcy_buffer_release(cb);
    hcy_buffer_release(fb);
    hcy_queue_release(q);
    free(x);
    free(c[0]);
    free(c[1]);
}

/* --- What cannot be --- */

static void check_foreign(hcy_device *dev)
{
    struct problem p;
    int status;
    hcy_device *other = cts_open_spec("cpu@threads=1@discrete=1");
    oracle_open(&p, HCY_F64, 1, 2, modes, 50, 0, 1);
    hcy_nufft *plan = oracle_plan(&p, dev, 1e-7, NULL, &status);
    hcy_queue *q = cts_queue(dev), *foreign_q = cts_queue(other);
    hcy_buffer *c = buffer(dev, 16 * p.m), *f = buffer(dev, 16 * p.n), *foreign = buffer(other, 16 * p.m);
    st_is(hcy_nufft_submit(foreign_q, plan, c, f, 0), HCY_EINVAL, "a queue of another device");
    st_is(hcy_nufft_submit(q, plan, foreign, f, 0), HCY_EINVAL, "strengths of another device");
    st_is(hcy_nufft_submit_stage(foreign_q, f, plan, HCY_NUFFT_TO_MODES, f), HCY_EINVAL,
          "a stage on a queue of another device");
    st_is(hcy_queue_finish(q), 0, "... and the queue goes on");
    hcy_buffer_release(c);
    hcy_buffer_release(f);
    hcy_buffer_release(foreign);
    hcy_queue_release(q);
    hcy_queue_release(foreign_q);
    hcy_nufft_destroy(plan);
    hcy_device_release(other);
    oracle_close(&p);
}

/* Every call on a plan that was destroyed; not where the library does not look. */
static void check_destroyed(hcy_device *dev)
{
#ifndef NDEBUG
    hcy_nufft *plan = NULL;
    double room[2] = { 0, 0 };
    const int64_t n_points[1] = { 0 };
    const void *const none[3] = { NULL, NULL, NULL };
    hcy_nufft_info info = HCY_NUFFT_INFO_INIT;
    st_ok(oracle_create(&plan, dev, 1, 2, modes, 1, 1, 1e-6, NULL), "a plan");
    hcy_queue *q = cts_queue(dev);
    hcy_buffer *buf = buffer(dev, 64);
    hcy_buffer *const points[2] = { buf, buf };
    volatile uintptr_t kept = (uintptr_t)plan; /* a pointer that compilers do not follow */
    hcy_nufft_destroy(plan);
    plan = (hcy_nufft *)kept;
    st_is(hcy_nufft_execute(plan, room, room), HCY_EINVAL, "... which was destroyed: execute");
    st_is(hcy_nufft_execute_adjoint(plan, room, room), HCY_EINVAL, "... execute_adjoint");
    st_is(hcy_nufft_execute_stage(room, plan, HCY_NUFFT_SPREAD, room), HCY_EINVAL, "... execute_stage");
    st_is(hcy_nufft_set_points(plan, 0, none, 0, NULL), HCY_EINVAL, "... set_points");
    st_is(hcy_nufft_get_info(&info, plan), HCY_EINVAL, "... info_get");
    st_is(hcy_nufft_submit(q, plan, buf, buf, 0), HCY_EINVAL, "... submit");
    st_is(hcy_nufft_submit_stage(q, buf, plan, HCY_NUFFT_SPREAD, buf), HCY_EINVAL, "... submit_stage");
    st_is(hcy_nufft_submit_self_adjoint(q, buf, plan, buf), HCY_EINVAL, "... submit_self_adjoint");
    st_is(hcy_nufft_set_point_buffers(plan, 1, points), HCY_EINVAL, "... set_point_buffers");
    st_is(hcy_nufft_set_points_each(plan, n_points, none, NULL, NULL), HCY_EINVAL, "... set_points_each");
    hcy_nufft_destroy(plan);
    ok(true, "... and destroy is left alone");
    hcy_buffer_release(buf);
    hcy_queue_release(q);
#else
    (void)dev;
#endif
}

/* A device that has none of the kernels. */
static void check_lacking(void)
{
    hcy_nufft *plan = NULL;
    hcy_device *null = cts_open_spec("null");
    st_is(oracle_create(&plan, null, 1, 2, modes, 1, 1, 1e-6, NULL), HCY_EUNSUPPORTED, "a device without kernels");
    hcy_device_release(null);
}

/* One launch that fails is one call that fails: what comes after it is done, and right. */
static void check_failures(void)
{
    for (int type = 1; type <= 3; type++) {
        int failures = 0;
        double worst = 0;
        for (int k = 1; k <= 8; k++) {
            char spec[64];
            struct problem p;
            int status, failed = 0;
            snprintf(spec, sizeof spec, "cpu@threads=1@discrete=1@fail-launch=%d", k);
            hcy_device *dev = cts_open_spec(spec);
            oracle_open(&p, HCY_F64, type, 2, modes, 30, type == 3 ? 20 : 0, 1);
            hcy_nufft *plan = oracle_plan(&p, dev, 1e-6, NULL, &status);
            if (status) {
                failed++;
                status = hcy_nufft_set_points(plan, (int64_t)p.m, (const void *const *)p.x,
                                              type == 3 ? (int64_t)p.n : 0, (const void *const *)p.s);
            }
            double error = status ? INFINITY : oracle_execute(&p, plan, false);
            if (!(error < INFINITY) && !status) {
                failed++;
                error = oracle_execute(&p, plan, false);
            }
            failures += failed;
            worst = failed > 1 ? INFINITY : fmax(worst, error);
            hcy_nufft_destroy(plan);
            hcy_device_release(dev);
            oracle_close(&p);
        }
        ok(failures >= 3 && worst <= 3e-6, "type %d: a launch fails, %d of 8 times noticed, and all is right then: %.1e",
           type, failures, worst);
    }
}

/* Devices of little memory: it ends anywhere, which has its status. */
static void check_memory(void)
{
    int failed = 0, right = 0, others = 0;
    for (int k = 0; k < 24; k++) {
        char name[64];
        struct problem p;
        hcy_device *d;
        int status;
        snprintf(name, sizeof name, "cpu@threads=1@discrete=1@memory=%d", 5000 << k / 2);
        if (hcy_device_open(&d, name))
            bail_out("%s", hcy_last_error()->text);
        oracle_open(&p, HCY_F64, 1 + k % 3, 2, modes, 50, k % 3 == 2 ? 20 : 0, 1);
        hcy_nufft *plan = oracle_plan(&p, d, 1e-7, NULL, &status);
        if (!status)
            status = hcy_nufft_execute(plan, p.c, p.f);
        failed += status == HCY_ENOMEM;
        right += !status;
        others += status && status != HCY_ENOMEM;
        hcy_nufft_destroy(plan);
        hcy_device_release(d);
        oracle_close(&p);
    }
    ok(failed >= 5 && right >= 3 && !others, "too little memory: %d times that status, %d times done", failed, right);
}

/* A grid twice as large as the device's memory; of large ones its cells may be too many to be counted. */
static void check_beyond_memory(hcy_device *dev)
{
    struct problem p;
    int status;
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    double memory = (double)hcy_device_get_info(dev)->memory, cells = sqrt(2 * memory / 16); /* of an axis */
    if (memory <= 0 || memory > 0x1p38) {
        skip(1, "this device's memory is not known, or holds what a plan can address");
        return;
    }
    o.upsampling = 2;
    oracle_open(&p, HCY_F64, 3, 2, modes, 20, 20, 1);
    for (int d = 0; d < 2; d++) {
        oracle_put(&p, p.x[d], 3, sqrt(cells * PI));
        oracle_put(&p, p.s[d], 4, sqrt(cells * PI));
    }
    hcy_nufft *plan = oracle_plan(&p, dev, 1e-6, &o, &status);
    if (!status)
        status = hcy_nufft_execute(plan, p.c, p.f);
    ok(status == HCY_ENOMEM || status == HCY_ERANGE, "a grid larger than memory: %s", hcy_last_error()->text);
    hcy_nufft_destroy(plan);
    oracle_close(&p);
}

/* --- Options that say what is known already, and too little of this and that --- */

/* A grid says its upsampling, so that one beside it changes nothing. */
static void check_grid_and_upsampling(hcy_device *dev)
{
    const int64_t n[1] = { 200 };
    struct problem p;
    oracle_open(&p, HCY_F64, 1, 1, n, 500, 0, 1);
    for (int upsampling = 0; upsampling <= 2; upsampling += 2) {
        hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
        o.grid[0] = 250;
        o.upsampling = upsampling;
        const double error = oracle_run(&p, dev, 1e-6, &o);
        ok(error < 2e-6, "a grid of 1.25 with upsampling %d: error %.1e", upsampling, error);
    }
    oracle_close(&p);
}

/* In one place but for what has no reciprocal. */
static void check_tiny(hcy_device *dev)
{
    const double x[3] = { 0, 1e-310, 0 }, s[2] = { 0, 1 };
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_nufft *plan = NULL;
    double complex c[3] = { 1, 2, I }, f[2] = { 0 };
    desc.type = 3;
    int status = hcy_nufft_create(&plan, dev, &desc, NULL);
    if (!status)
        status = hcy_nufft_set_points(plan, 3, (const void *const[]){ x }, 2, (const void *const[]){ s });
    is_int(status ? status : hcy_nufft_execute(plan, c, f), 0, "type 3 of points 1e-310 apart");
    ok(cabs(f[0] - (3 + I)) < 1e-5 && cabs(f[1] - (3 + I)) < 1e-5, "... is their sum");
    hcy_nufft_destroy(plan);
}

/* Memory for one vector at a time is enough for many. */
static void check_little_memory(hcy_device *dev)
{
    enum { M = 1000 };
    static double x[M];
    for (int i = 0; i < M; i++)
        x[i] = 100 * oracle_uniform();
    int wrong = 0, fits = 0;
    for (size_t memory = 1000000; memory < 4000000; memory = memory * 6 / 5) {
        int status[2];
        for (int many = 0; many < 2; many++) {
            hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
            hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
            hcy_nufft *plan = NULL;
            desc.type = 3;
            desc.n_transforms = many ? 8 : 1;
            o.method = HCY_NUFFT_GRID;
            o.memory = memory;
            o.max_batch = many ? 8 : 1;
            status[many] = hcy_nufft_create(&plan, dev, &desc, &o);
            if (!status[many])
                status[many] =
                    hcy_nufft_set_points(plan, M, (const void *const[]){ x }, M, (const void *const[]){ x });
            hcy_nufft_destroy(plan);
        }
        fits += !status[0];
        wrong += !status[0] && status[1];
    }
    ok(fits && !wrong, "eight vectors of type 3 in the memory that one takes: %d of %d are not", wrong, fits);
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    int cropped[2]; /* found out by children, before there is a device */
    for (int on = 0; on < 2; on++)
        cropped[on] = cts_child(separate, &on);
    hcy_device *dev = cts_open();
    if (!cts_has(dev, HCY_CAP_FFT))
        skip_all("%s has no FFT", cts_spec);
    for (int on = 0; on < 2; on++)
        is_int(cropped[on], on, "separate_fft %d: %s FFT", on, on ? "the general" : "one of its own");
    if (argc > 1) {
        check_asynchronous(argv[1]);
    } else {
        check_asynchronous("cpu@threads=2");
        check_asynchronous("cpu@threads=2@discrete=1");
        check_devices();
        check_grid_for_four(dev);
    }
    check_places(dev);
    check_signs(dev);
    check_sort(dev);
    check_foreign(dev);
    check_destroyed(dev);
    check_lacking();
    check_failures();
    check_memory();
    check_beyond_memory(dev);
    if (argc < 2) {
        check_grid_and_upsampling(dev);
        check_tiny(dev);
        check_little_memory(dev);
    }
    hcy_device_release(dev);
    return done_testing();
}
