/* Sums that need not have one device's bits: one reduction, and no other message. */
#include "dist_priv.h"
#include "dist_scene.h"

#include <math.h>
#include <string.h>

enum { COUNT = 5003 };

static const struct hcy_transport *real;
static int n_reductions, n_others;

static int count_reduction(void *data, void *impl, size_t count, int dtype, int reduction)
{
    n_reductions++;
    return real->allreduce(data, impl, count, dtype, reduction);
}

static int count_exchange(void *impl, const struct hcy__message *messages, size_t n)
{
    n_others++;
    return real->exchange(impl, messages, n);
}

/* A dot and a norm of order 1 of what is dealt out in odd shares, none for one rank. */
static bool add_up(double numbers[2], hcy_dist *comm, hcy_dist_layout *layout, hcy_array *part)
{
    struct hcy_transport counting = *comm->transport;
    hcy_array *sum = NULL;
    real = comm->transport;
    counting.allreduce = count_reduction;
    counting.exchange = count_exchange;
    n_reductions = n_others = 0;
    comm->transport = &counting;
    const bool right = !hcy_array_empty(&sum, scene.dev, HCY_FLOAT64, 0, NULL) &&
                       !hcy_dist_dot(scene.queue, sum, layout, part, part) &&
                       !hcy_array_to_host(&numbers[0], scene.queue, sum) &&
                       !hcy_dist_norm_of(scene.queue, sum, layout, part, 1) &&
                       !hcy_array_to_host(&numbers[1], scene.queue, sum);
    comm->transport = real;
    hcy_array_release(sum);
    return right;
}

void test_free_sums(void)
{
    const int64_t shape[2] = { COUNT, 2 };
    int64_t rows[64] = { 0 };
    hcy_dist *comm = NULL, *part_of = NULL;
    hcy_dist_layout *layout = NULL;
    hcy_array *whole = draw_numbers(HCY_FLOAT64, 2, shape, 3), *part = NULL;
    double same[2] = { 0 }, freely[2] = { 1, 1 }, first[2];
    rows[scene.n_ranks - 1] = COUNT - (scene.n_ranks > 2);
    rows[0] += scene.n_ranks > 2;
    bool right = !hcy_dist_split(&comm, scene.comm, 0) &&
                 !hcy_dist_layout_blocks(&layout, comm, 2, shape, 0, rows) &&
                 !hcy_dist_array(&part, scene.dev, layout, HCY_FLOAT64) &&
                 !hcy_dist_scatter(scene.queue, part, layout, whole, 0) && add_up(same, comm, layout, part);
    every(right && !hcy_dist_set_sums(comm, HCY_SUMS_FREE) && add_up(freely, comm, layout, part) &&
              fabs(freely[0] - same[0]) <= 1e-13 * same[0] && fabs(freely[1] - same[1]) <= 1e-13 * same[1],
          "a dot and a norm within rounding");
    every(right && n_reductions == (scene.n_ranks > 1 ? 2 : 0) && !n_others, "... by one reduction each");
    memcpy(first, freely, sizeof first);
    every(!hcy_dist_broadcast_host(first, comm, sizeof first, 0) && !memcmp(first, freely, sizeof first),
          "... the same on all ranks");
    every(!hcy_dist_split(&part_of, comm, 0) && part_of->has_free_sums, "... a part's, too");
    const int wrong = hcy_dist_set_sums(comm, scene.rank ? HCY_SUMS_FREE : HCY_SUMS_SAME);
    every(hcy_dist_set_sums(comm, 7) == HCY_EINVAL && wrong == (scene.n_ranks > 1 ? HCY_EINVAL : 0),
          "ranks that do not say the same");
    every(!hcy_dist_set_sums(comm, HCY_SUMS_SAME) && add_up(freely, comm, layout, part) &&
              !memcmp(freely, same, sizeof same),
          "... and back, bit by bit");
    hcy_array_release(whole);
    hcy_array_release(part);
    hcy_dist_layout_release(layout);
    hcy_dist_release(part_of);
    hcy_dist_release(comm);
}
