/* Differences over ranks compute while messages are on their way: a transport that waits until they have.  And they
 * take few launches, of which each costs a device some of its time. */
#include "dist_priv.h"
#include "dist_scene.h"
#include "hal_priv.h"

#include <stdio.h>
#include <time.h>

enum { ROWS = 64, COLUMNS = 20, PATIENCE_MS = 10000 };
static const double untouched = 1e300;

static _Thread_local const struct hcy_transport *real;
static _Thread_local const volatile double *watched;
static _Thread_local int n_exchanges;
static _Thread_local bool was_computed;

/* Messages go when an element that needs none of them is there; they go in the end, so that ranks do not wait. */
static int exchange_late(void *impl, const struct hcy__message *messages, size_t n)
{
    for (int ms = 0; *watched == untouched && ms < PATIENCE_MS; ms++)
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    was_computed = was_computed && *watched != untouched;
    n_exchanges++;
    return real->exchange(impl, messages, n);
}

/* The middle row of this rank's result is computed before its ghosts have come, of y = A x or x = A^H y. */
static bool computes_first(hcy_operator *op, hcy_array *to, hcy_array *from, bool adjoint)
{
    struct hcy_transport late;
    bool right = !HCY_EVAL(scene.queue, "y = u", hcy_op_array("y", to), hcy_op_real("u", untouched)) &&
                 !hcy_queue_finish(scene.queue);
    real = scene.comm->transport;
    late = *real;
    late.exchange = exchange_late;
    watched = (const double *)hcy_buffer_host(to->buffer) + to->offset + to->count / 2 + to->shape[1] / 2;
    was_computed = true;
    n_exchanges = 0;
    scene.comm->transport = &late;
    right = right && !(adjoint ? hcy_operator_apply_adjoint(scene.queue, to, op, from)
                               : hcy_operator_apply(scene.queue, to, op, from));
    scene.comm->transport = real;
    return right && !hcy_queue_finish(scene.queue) && was_computed && n_exchanges == 1;
}

/* --- Commands --- */

static _Thread_local const hcy_backend *backend;
static _Thread_local int n_commands;

static int count_launch(void *qimpl, void *kimpl, const hcy_launch_desc *launch, hcy_keep *keep)
{
    n_commands++;
    return backend->ops->launch(qimpl, kimpl, launch, keep);
}
static int count_launch_now(void *qimpl, void *kimpl, const hcy_launch_desc *launch)
{
    const int status = backend->ops->launch_now(qimpl, kimpl, launch);
    n_commands += !status;
    return status;
}
static int count_copy(void *qimpl, const hcy_copy *copy, hcy_keep *keep)
{
    n_commands++;
    return backend->ops->copy(qimpl, copy, keep);
}

/* Launches and copies of y = A x or x = A^H y on this rank; -1: it failed. */
static int count_commands(hcy_operator *op, hcy_array *to, hcy_array *from, bool adjoint)
{
    hcy_backend_ops counting = *scene.dev->backend->ops;
    hcy_backend counted = *scene.dev->backend;
    backend = scene.dev->backend;
    counting.launch = count_launch;
    counting.launch_now = counting.launch_now ? count_launch_now : NULL;
    counting.copy = count_copy;
    counted.ops = &counting;
    n_commands = 0;
    scene.dev->backend = &counted;
    int status = adjoint ? hcy_operator_apply_adjoint(scene.queue, to, op, from)
                         : hcy_operator_apply(scene.queue, to, op, from);
    status = status ? status : hcy_queue_finish(scene.queue);
    scene.dev->backend = backend;
    return status ? -1 : n_commands;
}

/* What is sent is picked, if it does not lie together; what needs no ghosts; what needs some: three at most. */
static void test_commands(hcy_dist_layout *layout, const char *what, int most)
{
    hcy_dist_layout *range = NULL;
    hcy_operator *op = NULL, *gradient = NULL;
    hcy_array *x = NULL, *y = NULL, *z = NULL;
    bool right = layout && !hcy_dist_laplacian(&op, scene.dev, layout, HCY_FLOAT64, NULL) &&
                 !hcy_dist_gradient(&gradient, &range, scene.dev, layout, HCY_FLOAT64, HCY_DIFFERENCE_CENTRED_5) &&
                 !hcy_dist_array(&x, scene.dev, layout, HCY_FLOAT64) &&
                 !hcy_dist_array(&y, scene.dev, layout, HCY_FLOAT64) &&
                 !hcy_dist_array(&z, scene.dev, range, HCY_FLOAT64) &&
                 !HCY_EVAL(scene.queue, "x = normal(1, index)", hcy_op_array("x", x));
    const int counts[4] = { right ? count_commands(op, y, x, false) : -1, right ? count_commands(op, x, y, true) : -1,
                            right ? count_commands(gradient, z, x, false) : -1,
                            right ? count_commands(gradient, x, z, true) : -1 };
    for (int i = 0; i < 4; i++)
        right = right && counts[i] > 0 && counts[i] <= most;
    every(right, "%s: %d launches or fewer (a Laplacian %d, its adjoint %d, a gradient %d, its adjoint %d)", what, most,
          counts[0], counts[1], counts[2], counts[3]);
    hcy_operator_release(op);
    hcy_operator_release(gradient);
    hcy_array_release(x);
    hcy_array_release(y);
    hcy_array_release(z);
    hcy_dist_layout_release(range);
    hcy_dist_layout_release(layout);
}

/* Every other rank, whose first launch fails, still sends what the others wait for: all hear of it. */
static void test_failure(const char *device, const char *failing)
{
    const int64_t shape[2] = { COLUMNS, (int64_t)ROWS * scene.n_ranks };
    hcy_dist *comm = NULL;
    hcy_device *dev = NULL;
    hcy_queue *queue = NULL;
    hcy_dist_layout *layout = NULL;
    hcy_operator *op = NULL;
    hcy_array *x = NULL, *y = NULL;
    const bool made = !hcy_dist_split(&comm, scene.comm, 0) &&
                      !hcy_dist_device(&dev, comm, scene.rank % 2 ? failing : device) &&
                      !hcy_queue_create(&queue, dev) && !hcy_dist_layout_blocks(&layout, comm, 2, shape, 1, NULL) &&
                      !hcy_dist_laplacian(&op, dev, layout, HCY_FLOAT64, NULL) &&
                      !hcy_dist_array(&x, dev, layout, HCY_FLOAT64) && !hcy_dist_array(&y, dev, layout, HCY_FLOAT64);
    int status = made ? hcy_operator_apply(queue, y, op, x) : 0;
    if (made && !status)
        status = hcy_queue_finish(queue);
    every(made && hcy_dist_agree(comm, status) == HCY_ELAUNCH, "%s: others do not wait for what has failed", failing);
    hcy_operator_release(op);
    hcy_array_release(x);
    hcy_array_release(y);
    hcy_dist_layout_release(layout);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    hcy_dist_release(comm);
}

static void test_layout(hcy_dist_layout *layout, const char *what)
{
    hcy_operator *op = NULL;
    hcy_array *x = NULL, *y = NULL;
    bool right = layout && !hcy_dist_laplacian(&op, scene.dev, layout, HCY_FLOAT64, NULL) &&
                 !hcy_dist_array(&x, scene.dev, layout, HCY_FLOAT64) &&
                 !hcy_dist_array(&y, scene.dev, layout, HCY_FLOAT64) &&
                 !HCY_EVAL(scene.queue, "x = normal(1, index)", hcy_op_array("x", x));
    every(right && computes_first(op, y, x, false), "%s: a Laplacian is computed while ghosts are on their way", what);
    every(right && computes_first(op, x, y, true), "... and its adjoint");
    hcy_operator_release(op);
    hcy_array_release(x);
    hcy_array_release(y);
    hcy_dist_layout_release(layout);
}

void test_overlap(void)
{
    const int across = scene.n_ranks % 2 ? 1 : 2, grid[2] = { scene.n_ranks / across, across };
    const int64_t rows[2] = { (int64_t)ROWS * scene.n_ranks, COLUMNS }, columns[2] = { COLUMNS, rows[0] },
                  both[2] = { ROWS * scene.n_ranks, ROWS * scene.n_ranks };
    const int64_t cube[3] = { 12 * scene.n_ranks, 10 * scene.n_ranks, 11 * scene.n_ranks };
    const int grids[][3] = { { 1, scene.n_ranks, 1 }, { 1, 1, scene.n_ranks }, { grid[0], 1, across },
                             { 1, across, grid[0] } };
    hcy_dist_layout *layout = NULL;
    /* Elsewhere the host does not see what the queue has done. */
    if (scene.n_ranks == 1 || scene.comm->on_device ||
        !(hcy_device_get_info(scene.dev)->caps & HCY_CAP_HOST_MEMORY))
        return;
    test_layout(hcy_dist_layout_blocks(&layout, scene.comm, 2, rows, 0, NULL) ? NULL : layout, "blocks of rows");
    test_layout(hcy_dist_layout_blocks(&layout, scene.comm, 2, columns, 1, NULL) ? NULL : layout, "blocks of columns");
    test_layout(hcy_dist_layout_grid(&layout, scene.comm, 2, both, grid, NULL) ? NULL : layout, "a grid");
    test_commands(hcy_dist_layout_blocks(&layout, scene.comm, 3, cube, 0, NULL) ? NULL : layout, "blocks of rows", 2);
    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++) {
        layout = NULL;
        test_commands(hcy_dist_layout_grid(&layout, scene.comm, 3, cube, grids[i], NULL) ? NULL : layout,
                      "blocks of several axes", 3);
    }
    test_failure("cpu@threads=1", "cpu@threads=1@fail-launch=1");
    test_failure("cpu@threads=1@discrete=1", "cpu@threads=1@discrete=1@fail-launch=1");
}

/* --- Faces --- */

/* Uneven parts, some of which are all face, of any device: the bits of one device. */
static void test_faces_of(const int64_t *shape, const int *grid, int deal)
{
    const int dtype = HCY_COMPLEX64;
    const hcy_space space = { dtype, 3, { shape[0], shape[1], shape[2] }, NULL };
    const double factors[3] = { 2, 0.5, 3 };
    const int kind = HCY_DIFFERENCE_CENTRED_5 | HCY_DIFFERENCE_EDGES;
    hcy_dist_layout *layout = NULL, *range = NULL;
    hcy_operator *op = NULL, *serial = NULL, *gradient = NULL, *of_one = NULL;
    bool right = !deal_grid(&layout, 3, shape, grid, deal) &&
                 !hcy_operator_laplacian(&serial, scene.dev, &space, factors) &&
                 !hcy_dist_laplacian(&op, scene.dev, layout, dtype, factors) &&
                 !hcy_operator_gradient(&of_one, scene.dev, &space, kind) &&
                 !hcy_dist_gradient(&gradient, &range, scene.dev, layout, dtype, kind);
    for (int adjoint = 0; right && adjoint < 2; adjoint++)
        right = distance_to_serial(apart, op, serial, layout, layout, adjoint) == 0 &&
                distance_to_serial(apart, gradient, of_one, adjoint ? layout : range, adjoint ? range : layout,
                                   adjoint) == 0;
    every(right, "%d x %d x %d ranks: a Laplacian and a gradient are one device's", grid[0], grid[1], grid[2]);
    hcy_operator_release(op);
    hcy_operator_release(serial);
    hcy_operator_release(gradient);
    hcy_operator_release(of_one);
    hcy_dist_layout_release(layout);
    hcy_dist_layout_release(range);
}

void test_faces(void)
{
    const int n = scene.n_ranks, across = n % 2 ? 1 : 2;
    const int grids[][3] = { { n, 1, 1 }, { 1, 1, n }, { across, n / across, 1 } };
    /* Lines of 300 reals are long ones for a GPU, those of a part of them at the end of the axis are not. */
    const int64_t small[3] = { 9, 7, 150 }, large[3] = { 64, 64, 64 };
    for (int deal = 0; deal < 3; deal++)
        test_faces_of(small, grids[deal], deal);
    /* Faces that a device's threads share. */
    for (int i = 0; hcy_device_get_info(scene.dev)->units > 1 && i < 3; i++)
        test_faces_of(large, grids[i], 0);
}
