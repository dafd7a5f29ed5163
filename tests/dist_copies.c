/* dist_copies.c - what goes between arrays on devices without any kernel, so that a driver without a GPU will do: all
 * ways of messages, and whether they touch memory of the host (fake_cuda.c counts copies); and messages whose bytes no
 * int can count. */
#include "dist_scene.h"

#include <halcyon/eval.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 3000 };

/* Copies so far; with another driver, none. */
static int copies_so_far(void)
{
    int (*copied)(void) = NULL;
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *found = library ? dlsym(library, "fakeCopied") : NULL;
    memcpy(&copied, &found, sizeof found);
    return copied ? copied() : 0;
}

static hcy_array *numbers_from(int64_t n, int first)
{
    static _Thread_local float data[COUNT];
    hcy_array *a = NULL;
    for (int64_t i = 0; i < n; i++)
        data[i] = (float)(first + (int)i);
    if (hcy_array_from_host(&a, scene.dev, HCY_FLOAT32, 1, &n, data))
        hcy_dist_abort(scene.comm, 1);
    return a;
}

/* Whether `n` elements from `at` on are first, first + step, ... */
static bool holds(const hcy_array *a, int64_t at, int64_t n, int first, int step)
{
    static _Thread_local float data[COUNT];
    bool right = !hcy_array_to_host(data, scene.queue, a);
    for (int64_t i = 0; i < n; i++)
        right = right && data[at + i] == (float)(first + (int)i * step);
    return right;
}

static void test_all_to_all(bool direct)
{
    const int n = scene.n_ranks;
    hcy_array *x = numbers_from(1000, 1000 * scene.rank), *y = numbers_from(1000, 10 * scene.rank);
    int64_t counts[64];
    for (int r = 0; r < n; r++)
        counts[r] = 100;
    int status = hcy_dist_broadcast(scene.queue, y, scene.comm, n - 1);
    every(!status && holds(y, 0, 1000, 10 * n - 10, 1), "a device's array of the last rank reaches all");
    status = hcy_dist_allreduce(scene.queue, y, scene.comm, HCY_REDUCE_SUM);
    every(!status && holds(y, 0, 1000, n * (10 * n - 10), n), "arrays on devices are added");
    const int before = copies_so_far();
    status = hcy_dist_sendrecv(scene.queue, y, scene.comm, (scene.rank + n - 1) % n, x, (scene.rank + 1) % n);
    every(direct == (copies_so_far() == before), "messages take them %s", direct ? "as they lie" : "through the host");
    every(!status && holds(y, 0, 1000, 1000 * ((scene.rank + n - 1) % n), 1), "they go round a ring");
    status = hcy_dist_alltoall(scene.queue, y, scene.comm, counts, x, counts);
    for (int r = 0; r < n && !status; r++)
        status = !holds(y, 100 * r, 100, 1000 * r + 100 * scene.rank, 1);
    every(!status, "all send to all");
    const int left = (scene.rank + n - 1) % n, right = (scene.rank + 1) % n;
    every(hcy_dist_sendrecv(scene.queue, x, scene.comm, left, x, right) == HCY_EINVAL &&
              hcy_dist_alltoall(scene.queue, x, scene.comm, counts, x, counts) == HCY_EINVAL,
          "what is sent is not what is received");
    every(hcy_dist_sendrecv(scene.queue, y, scene.comm, scene.rank, NULL, -1) == HCY_EINVAL,
          "nobody receives from himself what he does not send");
    hcy_array_release(x);
    hcy_array_release(y);
}

/* Begun and ended, twice: the second one is of other numbers. */
static void test_ghosts(void)
{
    const int64_t n = 40 * scene.n_ranks;
    hcy_dist_layout *layout = NULL, *padded = NULL;
    hcy_operator *halo = NULL;
    hcy_dist_layout_info part = HCY_DIST_LAYOUT_INFO_INIT;
    hcy_array *y = NULL;
    int status = hcy_dist_layout_blocks(&layout, scene.comm, 1, &n, 0, NULL);
    status = status ? status : hcy_dist_halo(&halo, &padded, scene.dev, layout, HCY_FLOAT32, 2, 3);
    status = status ? status : hcy_dist_layout_get_info(&part, padded);
    status = status ? status : hcy_dist_array(&y, scene.dev, padded, HCY_FLOAT32);
    for (int i = 0; i < 2; i++) {
        const int first = 40 * scene.rank + 1000 * i;
        hcy_array *x = numbers_from(40, first);
        status = status ? status : hcy_dist_halo_begin(scene.queue, y, halo, x);
        status = status ? status : hcy_dist_halo_end(scene.queue, halo);
        every(!status && holds(y, 0, part.local_shape[0], first - (scene.rank ? 2 : 0), 1), "ghost rows, round %d", i);
        hcy_array_release(x);
    }
    hcy_array_release(y);
    hcy_operator_release(halo);
    hcy_dist_layout_release(padded);
    hcy_dist_layout_release(layout);
}

/* Numbers that are other ones in each piece. */
static int fill(hcy_array *x, int64_t seed)
{
    return HCY_EVAL(scene.queue, "x = uint32(index * 2654435761 + seed)", hcy_op_array("x", x),
                    hcy_op_integer("seed", seed));
}

static bool is_filled(hcy_array *x, int64_t seed)
{
    hcy_array *wrong = NULL;
    int64_t n = -1;
    int status = hcy_array_empty(&wrong, scene.dev, HCY_INT64, 0, NULL);
    status = status ? status
                    : HCY_EVAL(scene.queue, "n = sum(x != uint32(index * 2654435761 + seed))", hcy_op_array("n", wrong),
                               hcy_op_array("x", x), hcy_op_integer("seed", seed));
    status = status ? status : hcy_array_to_host(&n, scene.queue, wrong);
    hcy_array_release(wrong);
    return !status && !n;
}

/* From rank 0 to rank 1 and to all, and sums of all: 2.25 GiB and some bytes. */
void test_large(void)
{
    const int64_t n = (INT64_C(9) << 26) + 123;
    hcy_array *x = NULL;
    const int me = scene.rank;
    every(!hcy_array_empty(&x, scene.dev, HCY_UINT32, 1, &n) && !fill(x, me), "numbers of more than 2 GiB");
    int status = me > 1 ? 0
                        : hcy_dist_sendrecv(scene.queue, me == 1 ? x : NULL, scene.comm, me == 1 ? 0 : -1,
                                            me ? NULL : x, me ? -1 : 1);
    every(!status && is_filled(x, me == 1 ? 0 : me), "go in a message");
    status = fill(x, me);
    status = status ? status : hcy_dist_broadcast(scene.queue, x, scene.comm, scene.n_ranks - 1);
    every(!status && is_filled(x, scene.n_ranks - 1), "go to all");
    status = HCY_EVAL(scene.queue, "x = index * (rank + 1)", hcy_op_array("x", x), hcy_op_integer("rank", me));
    status = status ? status : hcy_dist_allreduce(scene.queue, x, scene.comm, HCY_REDUCE_MIN);
    status = status ? status : HCY_EVAL(scene.queue, "x = x * 2654435761", hcy_op_array("x", x));
    every(!status && is_filled(x, 0), "and are reduced");
    hcy_array_release(x);
}

void test_copies(bool direct)
{
    test_all_to_all(direct);
    test_ghosts();
}
