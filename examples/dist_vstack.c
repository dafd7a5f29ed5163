/* dist_vstack.c - matrices of ones on several ranks, stacked: y = A x of a vector that all have, and A^H y.
 *
 * usage: mpirun -n 4 dist_vstack [DEVICES]    "cpu", "cuda" (a GPU for each process of a host); HALCYON_DIST=mpi,-nccl
 *        HALCYON_DIST=threads@ranks=4 dist_vstack [DEVICES]    one process, with a thread for each
 *
 * Each rank makes its own rows of A; x is replicated, y is in blocks.  A^H y adds up over all ranks.
 */
#include <halcyon/dist.h>
#include <stdio.h>

enum { ROWS = 200, COLUMNS = 300 };

struct problem {
    hcy_device *dev;
    hcy_queue *queue;
    hcy_dist_layout *rows, *all;
    hcy_array *matrix, *x, *y, *back, *wrong;
    hcy_operator *own, *stack;
};

/* Every rank has as many rows as it likes: here ROWS and as many more as its rank says. */
static int make_stack(struct problem *p, hcy_dist *comm, const hcy_dist_info *info)
{
    const int64_t columns = COLUMNS, n = info->n_ranks, all_rows = n * ROWS + n * (n - 1) / 2;
    int64_t rows[4096], mine[2] = { ROWS + info->rank, COLUMNS };
    if (n > 4096)
        return hcy_fail(HCY_ERANGE, "more than 4096 ranks");
    for (int r = 0; r < n; r++)
        rows[r] = ROWS + r;
    int status = hcy_dist_layout_blocks(&p->rows, comm, 1, &all_rows, 0, rows);
    if (!status)
        status = hcy_dist_layout_replicated(&p->all, comm, 1, &columns);
    if (!status)
        status = hcy_array_full(&p->matrix, p->queue, HCY_FLOAT32, 2, mine, 1);
    if (!status)
        status = hcy_operator_matrix(&p->own, p->matrix);
    return status ? status : hcy_dist_operator(&p->stack, p->rows, p->all, p->own);
}

/* Sums of ones: all numbers are whole, and none is rounded. */
static int multiply(double *wrong, struct problem *p, int64_t all_rows)
{
    int status = hcy_array_full(&p->x, p->queue, HCY_FLOAT32, 1, (int64_t[]){ COLUMNS }, 1);
    if (!status)
        status = hcy_dist_array(&p->y, p->dev, p->rows, HCY_FLOAT32);
    if (!status)
        status = hcy_dist_array(&p->back, p->dev, p->all, HCY_FLOAT32);
    if (!status)
        status = hcy_operator_apply(p->queue, p->y, p->stack, p->x);
    if (!status)
        status = hcy_operator_apply_adjoint(p->queue, p->back, p->stack, p->y);
    if (!status)
        status = hcy_array_empty(&p->wrong, p->dev, HCY_FLOAT64, 0, NULL);
    if (!status)
        status = HCY_EVAL(p->queue, "w = sum(float64(y != m)) + sum(float64(b != nm))", hcy_op_array("w", p->wrong),
                          hcy_op_array("y", p->y), hcy_op_array("b", p->back), hcy_op_real("m", COLUMNS),
                          hcy_op_real("nm", (double)(all_rows * COLUMNS)));
    return status ? status : hcy_array_to_host(wrong, p->queue, p->wrong);
}

static void release_all(struct problem *p)
{
    hcy_operator_release(p->stack);
    hcy_operator_release(p->own);
    hcy_array_release(p->matrix);
    hcy_array_release(p->x);
    hcy_array_release(p->y);
    hcy_array_release(p->back);
    hcy_array_release(p->wrong);
    hcy_dist_layout_release(p->rows);
    hcy_dist_layout_release(p->all);
    hcy_queue_release(p->queue);
    hcy_device_release(p->dev);
}

/* What each rank does, with the names of the devices. */
static int run_rank(hcy_dist *comm, void *devices)
{
    struct problem p = { NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL };
    hcy_dist_info info = HCY_DIST_INFO_INIT;
    double wrong = 0;
    int status = hcy_dist_device(&p.dev, comm, devices);
    if (!status)
        status = hcy_dist_get_info(&info, comm);
    if (!status)
        status = hcy_queue_create(&p.queue, p.dev);
    if (!status)
        status = make_stack(&p, comm, &info);
    if (!status)
        status = multiply(&wrong, &p, (int64_t)info.n_ranks * ROWS + (int64_t)info.n_ranks * (info.n_ranks - 1) / 2);
    /* What one rank finds wrong all have to say. */
    if (!status)
        status = hcy_dist_allreduce_host(&wrong, comm, HCY_FLOAT64, 1, HCY_REDUCE_SUM);
    if (status) {
        fprintf(stderr, "dist_vstack: %s %s\n", hcy_last_error()->text, hcy_last_error()->vendor);
        hcy_dist_abort(comm, 1);
    } else
        printf("rank %d of %d, %s, %s%s%s: %g wrong\n", info.rank, info.n_ranks, hcy_device_get_info(p.dev)->name,
               info.transport, *info.device_transport ? "+" : "", info.device_transport, wrong);
    release_all(&p);
    return status ? status : wrong != 0;
}

int main(int argc, char **argv)
{
    const int status = hcy_dist_run(run_rank, argc > 1 ? argv[1] : NULL, NULL);
    if (status < 0)
        fprintf(stderr, "dist_vstack: %s %s\n", hcy_last_error()->text, hcy_last_error()->vendor);
    return status != 0;
}
