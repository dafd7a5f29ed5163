/* Differences over ranks compute while messages are on their way: a transport that waits until they have. */
#include "dist_priv.h"
#include "dist_scene.h"

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
    hcy_dist_layout *layout = NULL;
    /* Elsewhere the host does not see what the queue has done. */
    if (scene.n_ranks == 1 || scene.comm->on_device ||
        !(hcy_device_get_info(scene.dev)->caps & HCY_CAP_HOST_MEMORY))
        return;
    test_layout(hcy_dist_layout_blocks(&layout, scene.comm, 2, rows, 0, NULL) ? NULL : layout, "blocks of rows");
    test_layout(hcy_dist_layout_blocks(&layout, scene.comm, 2, columns, 1, NULL) ? NULL : layout, "blocks of columns");
    test_layout(hcy_dist_layout_grid(&layout, scene.comm, 2, both, grid, NULL) ? NULL : layout, "a grid");
}
