/* dist_failing.c - messages whose receiver has no memory for this or that (inject.c): it is told, all that was under
 * way ends before its memory is anybody else's, nothing is kept, and the next message is right.  Messages that go where
 * what is computed meanwhile fails.  Steps of solvers, which need no memory. */
#include "dist_priv.h"
#include "dist_scene.h"

#include <dlfcn.h>
#include <halcyon/solve.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A message so small that a rank is rid of it whether the other one takes it or not. */
enum { ROWS = 1000, GHOSTS = 500, MOST = 400 };

static void (*fail_next)(long n);
static long (*count_live)(void);

static bool find_injector(void)
{
    void *next = dlsym(RTLD_DEFAULT, "inject_next"), *live = dlsym(RTLD_DEFAULT, "inject_live");
    memcpy(&fail_next, &next, sizeof next);
    memcpy(&count_live, &live, sizeof live);
    return next && live;
}

static hcy_array *numbers_from(double first, double step)
{
    static float data[ROWS];
    const int64_t n = ROWS;
    hcy_array *a = NULL;
    for (int i = 0; i < ROWS; i++)
        data[i] = (float)(first + (int)(i * step));
    if (hcy_array_from_host(&a, scene.dev, HCY_FLOAT32, 1, &n, data))
        hcy_dist_abort(scene.comm, 1);
    return a;
}

/* What rank 0 sends and rank 1 gets: ghost rows, begun and ended, or every other element of an array.  A message that
 * was not taken is the next one's, whatever way that goes: all are the same. */
struct way {
    const char *name;
    hcy_operator *halo;
    hcy_array *x, *y, *odd_x, *odd_y;
};

static int make_way(struct way *w, bool ghosts)
{
    const int64_t n = 2 * ROWS;
    hcy_dist_layout *layout = NULL, *padded = NULL;
    w->name = ghosts ? "ghost rows" : "a message";
    w->x = ghosts ? numbers_from(ROWS * scene.rank, 1) : numbers_from(ROWS - GHOSTS, 0.5);
    int status = hcy_dist_layout_blocks(&layout, scene.comm, 1, &n, 0, NULL);
    status = status ? status : hcy_dist_halo(&w->halo, &padded, scene.dev, layout, HCY_FLOAT32, GHOSTS, 0);
    if (ghosts)
        status = status ? status : hcy_dist_array(&w->y, scene.dev, padded, HCY_FLOAT32);
    else {
        w->y = numbers_from(0, 0);
        status = status ? status : hcy_array_slice(&w->odd_x, w->x, "1::2");
        status = status ? status : hcy_array_slice(&w->odd_y, w->y, "1::2");
    }
    hcy_dist_layout_release(padded);
    hcy_dist_layout_release(layout);
    return status;
}

static void free_way(struct way *w)
{
    hcy_operator_release(w->halo);
    hcy_array_release(w->odd_x);
    hcy_array_release(w->odd_y);
    hcy_array_release(w->x);
    hcy_array_release(w->y);
    memset(w, 0, sizeof *w);
}

static int send_once(const struct way *w)
{
    if (w->odd_x)
        return hcy_dist_sendrecv(scene.queue, w->odd_y, scene.comm, scene.rank ? 0 : -1, w->odd_x, scene.rank ? -1 : 1);
    const int status = hcy_dist_halo_begin(scene.queue, w->y, w->halo, w->x);
    return status ? status : hcy_dist_halo_end(scene.queue, w->halo);
}

/* Rank 1 has, after a message that went well, what rank 0 has sent. */
static bool came_right(const struct way *w)
{
    static float data[ROWS + GHOSTS];
    bool right = !hcy_array_to_host(data, scene.queue, w->y);
    if (w->odd_x)
        return right && (!scene.rank || (data[1] == ROWS - GHOSTS && data[ROWS - 1] == ROWS - 1));
    return right && data[0] == (scene.rank ? ROWS - GHOSTS : 0) && data[ROWS - 1] == data[0] + ROWS - 1;
}

/* Number k of rank 1's allocations fails; whether there were as many.  Every other time the memory goes at once. */
static int32_t fail_once(int32_t *wrong, struct way *w, int k)
{
    if (scene.rank)
        fail_next(k);
    const int status = send_once(w);
    fail_next(0);
    int32_t failed = status != 0;
    *wrong += status && (status != HCY_ENOMEM || !*hcy_last_error()->text);
    if (k % 2) {
        const bool ghosts = !w->odd_x;
        free_way(w);
        *wrong += make_way(w, ghosts) != 0;
    }
    *wrong += send_once(w) || !came_right(w);
    return hcy_dist_allreduce_host(&failed, scene.comm, HCY_INT32, 1, HCY_REDUCE_MAX) ? 0 : failed;
}

/* A queue's thread frees what it had after those who wait for it go on. */
static bool nothing_more_than(long before)
{
    for (int i = 0; i < 500 && count_live() > before; i++)
        nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
    return count_live() <= before;
}

/* On a device whose memory is the host's, and of vectors in whole pieces, which most are that are worth ranks. */
static int begin_steps(hcy_solver **solver, hcy_dist *comm, int method)
{
    const int64_t shape[2] = { 64 * (int64_t)scene.n_ranks, 1024 };
    hcy_solver_options options = HCY_SOLVER_OPTIONS_INIT;
    hcy_device *dev = NULL;
    hcy_queue *queue = NULL;
    hcy_dist_layout *layout = NULL;
    hcy_operator *op = NULL;
    hcy_array *b = NULL;
    options.method = method;
    int status = hcy_dist_device(&dev, comm, "cpu@threads=1");
    status = status ? status : hcy_queue_create(&queue, dev);
    status = status ? status : hcy_dist_layout_blocks(&layout, comm, 2, shape, 0, NULL);
    status = status ? status : hcy_dist_laplacian(&op, dev, layout, HCY_FLOAT64, NULL);
    status = status ? status : hcy_dist_array(&b, dev, layout, HCY_FLOAT64);
    status = status ? status : HCY_EVAL(queue, "b = normal(1, index)", hcy_op_array("b", b));
    status = status ? status : hcy_solver_create(solver, queue, op, &options);
    status = status ? status : hcy_solver_start(*solver, b, NULL);
    status = status ? status : hcy_solver_run(*solver, 5);
    hcy_array_release(b);
    hcy_operator_release(op);
    hcy_dist_layout_release(layout);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return status;
}

static void test_steps(int method, const char *name)
{
    hcy_dist *comm = NULL;
    hcy_solver *solver = NULL;
    int status = hcy_dist_split(&comm, scene.comm, 0);
    status = status ? status : begin_steps(&solver, comm, method);
    status = status ? status : hcy_dist_barrier(comm);
    fail_next(1);
    status = status ? status : hcy_solver_run(solver, 10);
    fail_next(0);
    every(!status, "steps of %s over ranks allocate nothing, of the host either", name);
    hcy_solver_destroy(solver);
    hcy_dist_release(comm);
}

/* --- Differences, of which what needs no ghosts fails --- */

static _Thread_local bool goes_after;

static int exchange_nothing(void *impl, const struct hcy__message *messages, size_t n)
{
    (void)impl;
    (void)messages;
    (void)n;
    goes_after = hcy_last_error()->status == HCY_ENOMEM;
    return 0;
}

/* Number k of the allocations fails, until there are not so many: how many of these failures came before messages that
 * went all the same; -1: another failure. */
static int fail_each(hcy_operator *op, hcy_array *y, hcy_array *x)
{
    int n = 0, status = HCY_ENOMEM;
    for (int k = 1; k < MOST && status == HCY_ENOMEM; k++) {
        /* What was said before is not taken for a failure of this call. */
        if (hcy_dist_barrier(NULL) != HCY_EINVAL || hcy_queue_finish(scene.queue))
            return -1;
        goes_after = false;
        fail_next(k);
        status = hcy_operator_apply(scene.queue, y, op, x);
        fail_next(0);
        n += status && goes_after;
    }
    return status ? -1 : n;
}

/* Others wait for the messages, which go all the same.  What computes needs memory once. */
static void test_inner(void)
{
    const int64_t shape[2] = { 64, 64 };
    struct hcy_transport of_nothing = *scene.comm->transport;
    const struct hcy_transport *real = scene.comm->transport;
    hcy_dist_layout *layout = NULL;
    hcy_operator *op = NULL;
    hcy_array *x = NULL, *y = NULL;
    of_nothing.exchange = exchange_nothing;
    int status = hcy_dist_layout_blocks(&layout, scene.comm, 2, shape, 0, NULL);
    status = status ? status : hcy_dist_laplacian(&op, scene.dev, layout, HCY_FLOAT64, NULL);
    status = status ? status : hcy_dist_array(&x, scene.dev, layout, HCY_FLOAT64);
    status = status ? status : hcy_dist_array(&y, scene.dev, layout, HCY_FLOAT64);
    scene.comm->transport = &of_nothing;
    const int n = status ? -1 : fail_each(op, y, x);
    scene.comm->transport = real;
    every(n > 0, "messages go after a failure of rows that need none");
    hcy_array_release(x);
    hcy_array_release(y);
    hcy_operator_release(op);
    hcy_dist_layout_release(layout);
}

/* --- What one rank alone cannot do fails on all --- */

struct grid {
    hcy_dist_layout *layout;
    hcy_array *part;
    char path[64];
};

static int split_ranks(const struct grid *g)
{
    hcy_dist *comm = NULL;
    (void)g;
    int status = hcy_dist_split(&comm, scene.comm, 0);
    hcy_dist_release(comm);
    return status;
}

static int write_grid(const struct grid *g)
{
    return hcy_dist_to_file(scene.queue, g->part, g->layout, g->path);
}

static int read_grid(const struct grid *g)
{
    hcy_array *part = NULL;
    int status = hcy_dist_from_file(&part, scene.dev, g->layout, g->path);
    hcy_array_release(part);
    return status;
}

/* One allocation after the other fails, of whichever rank: how many did; -1: the other rank did not fail with it. */
static int fail_together(int (*call)(const struct grid *), const struct grid *g)
{
    int n = 0, status = HCY_ENOMEM, mixed = 0;
    for (int k = 1; k < MOST && status && !mixed; k++) {
        /* Ranks share the injector, which one of them sets. */
        if (scene.rank)
            fail_next(k);
        status = call(g);
        if (scene.rank)
            fail_next(0);
        int32_t ends[2] = { status != 0, -(status != 0) };
        mixed = hcy_dist_allreduce_host(ends, scene.comm, HCY_INT32, 2, HCY_REDUCE_MIN) || ends[0] != -ends[1];
        n += status != 0;
    }
    return mixed || status ? -1 : n;
}

static void test_together(void)
{
    const int64_t shape[2] = { 30, 20 };
    const int across[2] = { 1, 2 };
    int pid = (int)getpid();
    struct grid g = { NULL, NULL, "" };
    bool right = !hcy_dist_broadcast_host(&pid, scene.comm, sizeof pid, 0) &&
                 !hcy_dist_layout_grid(&g.layout, scene.comm, 2, shape, across, NULL) &&
                 !hcy_dist_array(&g.part, scene.dev, g.layout, HCY_FLOAT32) && !hcy_queue_finish(scene.queue);
    right = !hcy_dist_barrier(scene.comm) && right;
    snprintf(g.path, sizeof g.path, "dist-%d-grid.npy", pid);
    every(right && fail_together(split_ranks, &g) > 0, "a communicator that one rank has no memory for is nobody's");
    every(right && fail_together(write_grid, &g) > 0, "nor waits a file of a grid for it");
    every(right && fail_together(read_grid, &g) > 0, "... nor those who read one");
    if (!hcy_dist_barrier(scene.comm) && !scene.rank)
        unlink(g.path);
    hcy_array_release(g.part);
    hcy_dist_layout_release(g.layout);
}

/* To MPI itself a message that ends too soon is none that failed. */
static void test_less(void)
{
    hcy_array *all = numbers_from(7, 0), *some = NULL;
    int status = hcy_array_slice(&some, all, ":%d", ROWS / 2);
    if (!status)
        status = hcy_dist_sendrecv(scene.queue, all, scene.comm, scene.rank ? 0 : -1, some, scene.rank ? -1 : 1);
    every(!scene.rank || status == HCY_EINVAL, "less than is to come is refused");
    hcy_array_release(some);
    hcy_array_release(all);
}

/* Launchers may give ranks other environments. */
static void test_ways(void)
{
    hcy_dist *comm = NULL;
    hcy_device *dev = NULL;
    int status = hcy_dist_split(&comm, scene.comm, 0);
    if (!status)
        comm->ways.mpi = scene.rank;
    every(!status && hcy_dist_device(&dev, comm, "cpu@threads=1") == HCY_EINVAL && !dev,
          "a way of messages that some ranks ask for");
    hcy_dist_release(comm);
}

void test_failing(void)
{
    hcy_dist_info info = HCY_DIST_INFO_INIT;
    if (!find_injector() || scene.n_ranks != 2 || hcy_dist_get_info(&info, scene.comm)) {
        skip_checks(1, "for two ranks and inject.c");
        return;
    }
    /* What an MPI does without memory is its own affair. */
    if (!strcmp(info.transport, "threads")) {
        test_together();
        return;
    }
    for (int ghosts = 0; ghosts < 2; ghosts++) {
        struct way w = { 0 };
        int32_t wrong = 0, k = 1;
        long before = 0;
        const int status = make_way(&w, ghosts);
        const char *name = w.name;
        every(!status && !send_once(&w) && came_right(&w), "%s of rank 0: there", name);
        free_way(&w);
        before = count_live();
        wrong += make_way(&w, ghosts) != 0;
        while (k < MOST && fail_once(&wrong, &w, k))
            k++;
        every(!wrong && k > 3 && k < MOST, "%s, with %d failures of one rank: it is told, and the next is right", name,
              (int)k - 1);
        free_way(&w);
        every(!hcy_queue_finish(scene.queue) && nothing_more_than(before), "%s: nothing is kept", name);
    }
    test_inner();
    test_less();
    test_ways();
    test_steps(HCY_SOLVER_CG, "CG");
    test_steps(HCY_SOLVER_CGLS, "CGLS");
    test_steps(HCY_SOLVER_LSQR, "LSQR");
}
