/* Sums that need not have one device's bits: one reduction, and no other message.  Sums with what makes the vector, in
 * one device's bits: how many messages and launches they take. */
#include "dist_priv.h"
#include "dist_scene.h"

#include <halcyon/solve.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 5003, PIECE = 1024 };

static _Thread_local const struct hcy_transport *real;
static _Thread_local int n_reductions, n_others, n_messages;

static int count_reduction(void *data, void *impl, size_t count, int dtype, int reduction)
{
    n_reductions++;
    return real->allreduce(data, impl, count, dtype, reduction);
}

static int count_exchange(void *impl, const struct hcy__message *messages, size_t n)
{
    n_others++;
    n_messages += (int)n;
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

/* --- A vector, and its square --- */

static const char *const statements = "half = a/2; y += half*x; x -= half*y";

struct square {
    const char *text;
    int dtype, rank;
    int64_t shape[3];
    const int64_t *rows;
    int n_exchanges, number_rank; /* this rank's; of half and a */
};

/* Before the text is evaluated; of a whole vector, or the part from element `first` on. */
static int fill_vectors(hcy_queue *queue, hcy_array *const *v, int64_t first)
{
    const hcy_operand f = hcy_op_integer("f", first);
    int status = HCY_EVAL(queue, "x = normal(5, index + f) * exp(4 * normal(6, index + f))",
                          hcy_op_array("x", v[0]), f);
    return status ? status : HCY_EVAL(queue, "y = normal(7, index + f)", hcy_op_array("y", v[1]), f);
}

/* x, y, half, a and a sum. */
static int make_vectors(hcy_array **v, hcy_queue *queue, const struct square *q, const int64_t *shape)
{
    static const int64_t ones[3] = { 1, 1, 1 };
    hcy_device *dev = hcy_queue_device(queue);
    int status = 0;
    for (int i = 0; i < 2; i++)
        status = status ? status : hcy_array_empty(&v[i], dev, q->dtype, q->rank, shape);
    status = status ? status : hcy_array_full(&v[2], queue, HCY_FLOAT64, q->number_rank, ones, 0);
    status = status ? status : hcy_array_full(&v[3], queue, HCY_FLOAT64, q->number_rank, ones, 0.75);
    return status ? status
                  : hcy_array_empty(&v[4], dev, q->dtype == HCY_COMPLEX128 ? HCY_COMPLEX128 : HCY_FLOAT64, 0, NULL);
}

static void list_vectors(hcy_operand operands[4], hcy_array *const *v)
{
    static const char *const names[4] = { "x", "y", "half", "a" };
    for (int i = 0; i < 4; i++)
        operands[i] = hcy_op_array(names[i], v[i]);
}

static void release_vectors(hcy_array **v)
{
    for (int i = 0; i < 5; i++)
        hcy_array_release(v[i]);
}

/* By the layout's table and on one device: the vector and the sum have the same bits. */
static void test_square(const struct square *q)
{
    const bool is_complex = q->dtype == HCY_COMPLEX128;
    const int64_t *shape = q->shape, row = shape[1] * (q->rank > 2 ? shape[2] : 1);
    hcy_array *part[5] = { NULL }, *whole[5] = { NULL }, *all = NULL, *wrong = NULL;
    hcy_dist_layout *layout = NULL;
    hcy_dist_layout_info is = HCY_DIST_LAYOUT_INFO_INIT;
    hcy_operand operands[4];
    hcy_space space;
    struct hcy_transport counting = *scene.comm->transport;
    double got[2] = { 0 }, want[2] = { 1, 1 }, n_wrong = 1;
    int status = hcy_dist_layout_blocks(&layout, scene.comm, q->rank, shape, 0, q->rows);
    status = status ? status : hcy_dist_layout_get_info(&is, layout);
    status = status ? status : hcy_dist_space(&space, layout, q->dtype);
    status = status ? status : make_vectors(part, scene.queue, q, is.local_shape);
    status = status ? status : make_vectors(whole, scene.queue, q, shape);
    status = status ? status : fill_vectors(scene.queue, part, is.first * row);
    status = status ? status : fill_vectors(scene.queue, whole, 0);
    list_vectors(operands, part);
    real = scene.comm->transport;
    counting.exchange = count_exchange;
    n_others = n_messages = 0;
    scene.comm->transport = &counting;
    status = status ? status
                    : space.vectors->eval_square(scene.queue, part[4], space.vectors->user, q->text, operands, 4);
    status = status ? status : hcy_queue_finish(scene.queue);
    scene.comm->transport = real;
    list_vectors(operands, whole);
    status = status ? status : hcy_eval(scene.queue, q->text, operands, 4);
    status = status ? status
                    : HCY_EVAL(scene.queue, is_complex ? "s = vdot(x, x)" : "s = dot(float64(x), float64(x))",
                               hcy_op_array("s", whole[4]), hcy_op_array("x", whole[0]));
    status = status ? status : hcy_array_to_host(got, scene.queue, part[4]);
    status = status ? status : hcy_array_to_host(want, scene.queue, whole[4]);
    status = status ? status : hcy_array_empty(&all, scene.dev, q->dtype, q->rank, shape);
    status = status ? status : hcy_array_empty(&wrong, scene.dev, HCY_FLOAT64, 0, NULL);
    status = status ? status : hcy_dist_gather(scene.queue, all, layout, part[0], -1);
    status = status ? status
                    : HCY_EVAL(scene.queue, "n = sum(float64(a != b))", hcy_op_array("n", wrong),
                               hcy_op_array("a", all), hcy_op_array("b", whole[0]));
    status = status ? status : hcy_array_to_host(&n_wrong, scene.queue, wrong);
    every(!status && n_wrong == 0 && got[0] == want[0] && (!is_complex || got[1] == want[1]),
          "%s, %d rows of %d, %.40s: a vector with its square has one device's bits", hcy_dtype_name(q->dtype),
          (int)shape[0], (int)row, q->text);
    /* Messages of devices are none of the host's. */
    every(scene.comm->on_device ||
              (n_others == q->n_exchanges && n_messages <= 2 * (scene.n_ranks - 1) * q->n_exchanges),
          "... by as few exchanges as there may be");
    release_vectors(part);
    release_vectors(whole);
    hcy_array_release(all);
    hcy_array_release(wrong);
    hcy_dist_layout_release(layout);
}

/* How many launches a part in whole pieces takes: the first is the text's, with the sums of its pieces, the second adds
 * up those of all ranks.  A device that fails at the one and at the next shows it. */
static bool takes_launches(int n)
{
    enum { EACH = 64 * PIECE };
    static _Thread_local float numbers[EACH] = { 1 };
    char spec[80];
    const int64_t shape[1] = { EACH * (int64_t)scene.n_ranks }, own = EACH;
    const double one = 1;
    hcy_dist *comm = NULL;
    hcy_device *dev = NULL;
    hcy_queue *queue = NULL;
    hcy_dist_layout *layout = NULL;
    hcy_array *x = NULL, *y = NULL, *a = NULL, *sum = NULL;
    hcy_space space;
    double got = 0;
    snprintf(spec, sizeof spec, "cpu@threads=1@fail-launch=%d", n + 1);
    int status = hcy_dist_split(&comm, scene.comm, 0);
    status = status ? status : hcy_dist_device(&dev, comm, spec);
    status = status ? status : hcy_queue_create(&queue, dev);
    status = status ? status : hcy_dist_layout_blocks(&layout, comm, 1, shape, 0, NULL);
    status = status ? status : hcy_dist_space(&space, layout, HCY_FLOAT32);
    status = status ? status : hcy_array_from_host(&x, dev, HCY_FLOAT32, 1, &own, numbers);
    status = status ? status : hcy_array_from_host(&y, dev, HCY_FLOAT32, 1, &own, numbers);
    status = status ? status : hcy_array_from_host(&a, dev, HCY_FLOAT64, 0, NULL, &one);
    status = status ? status : hcy_array_empty(&sum, dev, HCY_FLOAT64, 0, NULL);
    const hcy_operand operands[] = { hcy_op_array("x", x), hcy_op_array("y", y), hcy_op_array("a", a) };
    status = status ? status
                    : space.vectors->eval_square(queue, sum, space.vectors->user, "x += float32(a)*y", operands, 3);
    status = status ? status : hcy_array_to_host(&got, queue, sum);
    const bool right = status ? status == HCY_ELAUNCH : got == 4.0 * scene.n_ranks;
    if (!right)
        fprintf(stderr, "# rank %d: %d, %g, %s\n", scene.rank, status, got, hcy_last_error()->text);
    hcy_array_release(x);
    hcy_array_release(y);
    hcy_array_release(a);
    hcy_array_release(sum);
    hcy_dist_layout_release(layout);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    hcy_dist_release(comm);
    return right && !status;
}

/* Steps of CG over ranks, of vectors in whole pieces, allocate nothing of their device when there was a first one. */
static void test_memory(int64_t pieces)
{
    const int64_t shape[2] = { pieces * scene.n_ranks, PIECE };
    hcy_dist_layout *layout = NULL;
    hcy_operator *op = NULL;
    hcy_solver *solver = NULL;
    hcy_solver_options options = HCY_SOLVER_OPTIONS_INIT;
    hcy_array *b = NULL;
    hcy_pool_stats before = { 0 }, after = { 0 };
    options.method = HCY_SOLVER_CG;
    int status = hcy_dist_layout_blocks(&layout, scene.comm, 2, shape, 0, NULL);
    status = status ? status : hcy_dist_laplacian(&op, scene.dev, layout, HCY_FLOAT32, NULL);
    status = status ? status : hcy_dist_array(&b, scene.dev, layout, HCY_FLOAT32);
    status = status ? status : HCY_EVAL(scene.queue, "b = float32(normal(1, index))", hcy_op_array("b", b));
    status = status ? status : hcy_solver_create(&solver, scene.queue, op, &options);
    status = status ? status : hcy_solver_start(solver, b, NULL);
    status = status ? status : hcy_solver_run(solver, 2);
    status = status ? status : hcy_device_pool_stats(&before, scene.dev);
    status = status ? status : hcy_solver_run(solver, 5);
    status = status ? status : hcy_device_pool_stats(&after, scene.dev);
    every(!status && after.hits + after.misses == before.hits + before.misses,
          "steps of CG over %d pieces a rank allocate nothing of the device (%d times)", (int)pieces,
          (int)(after.hits + after.misses - before.hits - before.misses));
    hcy_solver_destroy(solver);
    hcy_operator_release(op);
    hcy_array_release(b);
    hcy_dist_layout_release(layout);
}

/* A layout's sums on a queue that is to fail, then on another device's: nothing of the one goes with the other. */
static void test_two_queues(void)
{
    const int64_t shape[2] = { 20, 3000 }, many = 1 << 20;
    static const char *const specs[2] = { "cpu@threads=1@fail-launch=6", "cpu@threads=1" };
    hcy_dist *comm = NULL;
    hcy_dist_layout *layout = NULL;
    hcy_device *dev[2] = { NULL };
    hcy_queue *queue[2] = { NULL };
    hcy_array *x[2] = { NULL }, *sum[2] = { NULL }, *w = NULL;
    double got = 0;
    int status = hcy_dist_open(&comm, "self");
    status = status ? status : hcy_dist_layout_blocks(&layout, comm, 2, shape, 1, NULL);
    for (int i = 0; i < 2; i++) {
        status = status ? status : hcy_device_open(&dev[i], specs[i]);
        status = status ? status : hcy_queue_create(&queue[i], dev[i]);
        status = status ? status : hcy_dist_array(&x[i], dev[i], layout, HCY_FLOAT32);
        status = status ? status : hcy_array_empty(&sum[i], dev[i], HCY_FLOAT64, 0, NULL);
        status = status ? status : HCY_EVAL(queue[i], "x = 1", hcy_op_array("x", x[i]));
    }
    status = status ? status : hcy_array_empty(&w, dev[0], HCY_FLOAT64, 1, &many);
    status = status ? status : hcy_dist_dot(queue[0], sum[0], layout, x[0], x[0]);
    /* It takes a while, so that the failure behind it is yet to come. */
    status = status ? status : HCY_EVAL(queue[0], "w = exp(sin(float64(index)))", hcy_op_array("w", w));
    status = status ? status : HCY_EVAL(queue[0], "w = w + 1", hcy_op_array("w", w));
    status = status ? status : hcy_dist_dot(queue[1], sum[1], layout, x[1], x[1]);
    status = status ? status : hcy_array_to_host(&got, queue[1], sum[1]);
    every(!status && got == 60000 && hcy_queue_finish(queue[0]) == HCY_ELAUNCH,
          "sums on two devices: one's failure is not the other's");
    for (int i = 0; i < 2; i++) {
        hcy_array_release(x[i]);
        hcy_array_release(sum[i]);
    }
    hcy_array_release(w);
    hcy_dist_layout_release(layout);
    for (int i = 0; i < 2; i++) {
        hcy_queue_release(queue[i]);
        hcy_device_release(dev[i]);
    }
    hcy_dist_release(comm);
}

/* Texts that are not to be taken for what goes by pieces, or for its end. */
static void test_texts(const int64_t *rows)
{
    static _Thread_local char with_blanks[800], many[16 * 7 + 1]; /* as many statements as a text may have */
    const int all = scene.n_ranks > 1;
    const struct square squares[] = {
        { "x += a*y # once", HCY_FLOAT64, 2, { 12, PIECE }, rows, all, 0 },
        { "sums_ = 2*a; x = sums_*x;", HCY_FLOAT64, 2, { 12, PIECE }, rows, all, 0 },
        { "x = x + a;", HCY_FLOAT64, 2, { 12, PIECE }, rows, all, 0 },
        { with_blanks, HCY_FLOAT64, 2, { 12, PIECE }, rows, all, 0 },
        { many, HCY_FLOAT64, 2, { 12, PIECE }, rows, all, 0 },
        { "x = cumsum(y, axis=1)", HCY_FLOAT64, 2, { 12, 2 * PIECE }, rows, all, 0 },
        { "x = y - max(x, axis=-1, keepdims=True)", HCY_FLOAT64, 2, { 12, 2 * PIECE }, rows, all, 0 },
        { "x = cumsum(y, axis=2)", HCY_FLOAT64, 3, { 12, 2, PIECE / 2 }, rows, all, 0 },
        { statements, HCY_FLOAT64, 3, { 12, 2, PIECE / 2 }, rows, all, 3 },
    };
    for (int i = 0; i < 16; i++)
        memcpy(many + 7 * i, "x += a;", 7);
    memset(with_blanks, ' ', sizeof with_blanks - 1);
    memcpy(with_blanks, "x = 100000", 10);
    memcpy(with_blanks + sizeof with_blanks - 20, "*x", 2);
    for (size_t i = 0; i < sizeof squares / sizeof squares[0]; i++)
        test_square(&squares[i]);
}

void test_squares(void)
{
    int64_t pieces[64] = { 2, 0, 3 }, odd[64] = { 2, 0, 3 }, mixed[64] = { 4, 3 };
    const int n = scene.n_ranks, all = n > 1;
    pieces[n - 1] = 12 - 2 * (n > 1) - 3 * (n > 3);
    odd[n - 1] = 13 - 2 * (n > 1) - 3 * (n > 3);
    mixed[n - 1] = 13 - 4 * (n > 1) - 3 * (n > 2);
    /* A rank with edges has a message more. */
    const int of_odd = all + (all && odd[scene.rank]), of_mixed = all + (n > 2 && scene.rank && mixed[scene.rank]);
    const struct square squares[] = {
        { statements, HCY_FLOAT32, 2, { 12, PIECE }, pieces, all, 0 },
        { statements, HCY_COMPLEX128, 2, { 12, PIECE }, pieces, all, 0 },
        { statements, HCY_FLOAT64, 2, { 13, 700 }, odd, of_odd, 0 },
        { statements, HCY_FLOAT64, 2, { 13, 7 }, odd, all, 0 },
        /* Rank 0 has whole pieces, others share one. */
        { statements, HCY_FLOAT64, 2, { 13, PIECE / 2 }, mixed, of_mixed, 0 },
    };
    for (size_t i = 0; i < sizeof squares / sizeof squares[0]; i++)
        test_square(&squares[i]);
    test_texts(pieces);
    if (n == 1 || getenv("WANTED_DEVICE_TRANSPORT")) {
        skip_checks(1, "for ranks, by messages of the host");
    } else {
        const bool two = takes_launches(2), one = takes_launches(1);
        every(two && !one, "... and two launches");
    }
    test_two_queues();
    for (int64_t each = 64; n > 1 && each < 66; each++)
        test_memory(each);
}
