/* dist_scatter.c - an array of rank 0 dealt out to all ranks, 0.9*x a thousand times on each part, and gathered.
 *
 * usage: mpirun -n 4 dist_scatter [DEVICES]    "cpu", "cuda" (a GPU for each process of a host); HALCYON_DIST=mpi,-nccl
 *        HALCYON_DIST=threads@ranks=4 dist_scatter [DEVICES]    one process, with a thread for each
 */
#include <halcyon/dist.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 50001, TIMES = 1000 };

struct parts {
    hcy_device *dev;
    hcy_queue *queue;
    hcy_dist_layout *layout;
    hcy_array *whole, *part;
};

static int compute(float *gathered, struct parts *p, hcy_dist *comm, int rank)
{
    const int64_t n = N;
    int status = hcy_queue_create(&p->queue, p->dev);
    if (!status)
        status = hcy_dist_layout_blocks(&p->layout, comm, 1, &n, 0, NULL);
    if (!status)
        status = hcy_dist_array(&p->part, p->dev, p->layout, HCY_FLOAT32);
    if (!status && rank == 0)
        status = hcy_array_from_host(&p->whole, p->dev, HCY_FLOAT32, 1, &n, gathered);
    if (!status)
        status = hcy_dist_scatter(p->queue, p->part, p->layout, p->whole, 0);
    for (int i = 0; !status && i < TIMES; i++)
        status = HCY_EVAL(p->queue, "x = 0.9*x", hcy_op_array("x", p->part));
    if (!status)
        status = hcy_dist_gather(p->queue, p->whole, p->layout, p->part, 0);
    if (!status && rank == 0)
        status = hcy_array_to_host(gathered, p->queue, p->whole);
    return status;
}

/* Each product is rounded once, on every device and here: not nearly right, but the same. */
static int count_wrong(const float *gathered)
{
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        float want = (float)(i + 1);
        for (int k = 0; k < TIMES; k++)
            want *= 0.9f;
        wrong += gathered[i] != want;
    }
    return wrong;
}

static int compute_and_look(int32_t *wrong, struct parts *p, hcy_dist *comm, int rank)
{
    float *x = malloc(N * sizeof *x);
    if (!x)
        return hcy_fail(HCY_ENOMEM, "out of memory for %d numbers", N);
    for (int i = 0; i < N; i++)
        x[i] = (float)(i + 1);
    int status = compute(x, p, comm, rank);
    if (!status && rank == 0)
        *wrong = count_wrong(x);
    free(x);
    /* Rank 0 alone has looked; all end as it does. */
    return status ? status : hcy_dist_broadcast_host(wrong, comm, sizeof *wrong, 0);
}

/* What each rank does, with the names of the devices. */
static int run_rank(hcy_dist *comm, void *devices)
{
    struct parts p = { NULL, NULL, NULL, NULL, NULL };
    hcy_dist_info info = HCY_DIST_INFO_INIT;
    int32_t wrong = 0;
    int status = hcy_dist_device(&p.dev, comm, devices);
    if (!status)
        status = hcy_dist_get_info(&info, comm);
    if (!status)
        status = compute_and_look(&wrong, &p, comm, info.rank);
    if (status) {
        fprintf(stderr, "dist_scatter: %s %s\n", hcy_last_error()->text, hcy_last_error()->vendor);
        hcy_dist_abort(comm, 1);
    } else
        printf("rank %d of %d, %s, %s%s%s: %d of %d wrong\n", info.rank, info.n_ranks,
               hcy_device_get_info(p.dev)->name, info.transport, *info.device_transport ? "+" : "",
               info.device_transport, (int)wrong, N);
    hcy_array_release(p.part);
    hcy_array_release(p.whole);
    hcy_dist_layout_release(p.layout);
    hcy_queue_release(p.queue);
    hcy_device_release(p.dev);
    return status ? status : wrong != 0;
}

int main(int argc, char **argv)
{
    const int status = hcy_dist_run(run_rank, argc > 1 ? argv[1] : NULL, NULL);
    if (status < 0)
        fprintf(stderr, "dist_scatter: %s %s\n", hcy_last_error()->text, hcy_last_error()->vendor);
    return status != 0;
}
