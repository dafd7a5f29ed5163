/* Ranks that are threads of one process: each has its communicator; whatever way one of them ends early, those who wait
 * for it are told, and who has begun them gets what it had to say. */
#include "tap.h"

#include <halcyon/dist.h>
#include <stdatomic.h>

enum { RANKS = 4, LOST = 2 };

static int find_rank(int *rank, const hcy_dist *comm)
{
    hcy_dist_info info = HCY_DIST_INFO_INIT;
    const int status = hcy_dist_get_info(&info, comm);
    *rank = info.rank;
    return status || strcmp(info.transport, "threads") || info.n_ranks != info.n_local || info.rank != info.local_rank;
}

/* --- What goes between them --- */

struct tally {
    atomic_int calls, ranks, places;
};

static int count_call(hcy_dist *comm, void *user)
{
    struct tally *t = user;
    hcy_dist_info info = HCY_DIST_INFO_INIT;
    atomic_fetch_add(&t->calls, 1);
    const int status = hcy_dist_get_info(&info, comm);
    atomic_fetch_add(&t->ranks, info.n_ranks);
    atomic_fetch_or(&t->places, 1 << info.rank);
    return status;
}

static void test_numbers_of_ranks(void)
{
    struct tally of_four = { 0, 0, 0 }, alone = of_four, of_gpus = of_four;
    ok(!hcy_dist_run(count_call, &of_four, "threads@ranks=4,-nccl") && of_four.calls == 4 && of_four.ranks == 16 &&
           of_four.places == 15,
       "as many threads as are wished for");
    ok(!hcy_dist_run(count_call, &alone, "self") && alone.calls == 1 && alone.ranks == 1, "one process is one call");
    ok(!hcy_dist_run(count_call, &of_gpus, "threads") && of_gpus.calls >= 1 &&
           of_gpus.ranks == of_gpus.calls * of_gpus.calls,
       "as many threads as GPUs, else one");
    hcy_dist *none = NULL;
    ok(hcy_dist_open(&none, "threads") == HCY_EINVAL && !none && strstr(hcy_last_error()->text, "hcy_dist_run"),
       "nobody is a thread by itself");
    ok(hcy_dist_run(count_call, NULL, "threads@ranks=0") == HCY_EINVAL &&
           hcy_dist_run(count_call, NULL, "threads@ranks=257") == HCY_EINVAL &&
           hcy_dist_run(count_call, NULL, "threads@piece=16") == HCY_EINVAL &&
           hcy_dist_run(count_call, NULL, "threads,self") == HCY_EINVAL,
       "wishes that nobody can meet");
}

/* Every type, numbers of which some ranks have no share, sums that wrap. */
static int reduce_all(hcy_dist *comm, void *user)
{
    atomic_int *wrong = user;
    int rank = 0, status = find_rank(&rank, comm);
    for (int dtype = HCY_INT8; !status && dtype <= HCY_FLOAT64; dtype++) {
        if (dtype == HCY_FLOAT16)
            continue;
        for (size_t n = 1; !status && n < 11; n += 3) {
            union {
                unsigned char bytes[80];
                double d[10];
                float f[10];
                int64_t i[10];
            } sum = { { 0 } }, first;
            const bool is_double = dtype == HCY_FLOAT64, is_float = dtype == HCY_FLOAT32;
            for (size_t i = 0; i < n && is_double; i++)
                sum.d[i] = rank + (double)i;
            for (size_t i = 0; i < n && is_float; i++)
                sum.f[i] = (float)rank + (float)i;
            for (size_t i = 0; i < n && !is_double && !is_float; i++)
                memset(sum.bytes + i * hcy_dtype_size(dtype), 0x7f, hcy_dtype_size(dtype));
            first = sum;
            status = hcy_dist_allreduce_host(&sum, comm, dtype, n, HCY_REDUCE_SUM);
            /* 4 * 0x7f7f... is 0xfdfd...fc, the smallest and the largest are what they were. */
            for (size_t i = 0; i < n; i++)
                *wrong += is_double  ? sum.d[i] != 6 + 4 * (double)i
                          : is_float ? sum.f[i] != 6 + 4 * (float)i
                                     : sum.bytes[i * hcy_dtype_size(dtype)] != 0xfc;
            if (is_double || is_float)
                continue;
            sum = first;
            status = status ? status : hcy_dist_allreduce_host(&sum, comm, dtype, n, HCY_REDUCE_MIN);
            status = status ? status : hcy_dist_allreduce_host(&sum, comm, dtype, n, HCY_REDUCE_MAX);
            *wrong += memcmp(&sum, &first, sizeof sum) != 0;
        }
    }
    return status;
}

/* Ranks go their own ways, some rounds ahead of others. */
static int go_on(hcy_dist *comm, void *user)
{
    atomic_int *wrong = user;
    int rank = 0, status = find_rank(&rank, comm);
    for (int i = 0; !status && i < 300; i++) {
        hcy_dist *part = NULL;
        int32_t number = rank, said = rank * 1000 + i;
        status = i % 50 ? 0 : hcy_dist_split(&part, comm, (rank + i / 50) % 2 ? 7 : -1);
        if (!status && part) {
            status = hcy_dist_allreduce_host(&number, part, HCY_INT32, 1, HCY_REDUCE_SUM);
            *wrong += number != (i / 50 % 2 ? 2 : 4);
        }
        hcy_dist_release(part);
        if (!status)
            status = hcy_dist_broadcast_host(&said, comm, sizeof said, i % RANKS);
        *wrong += said != i % RANKS * 1000 + i;
    }
    return status;
}

static void test_going_on(void)
{
    atomic_int wrong = 0;
    ok(!hcy_dist_run(reduce_all, &wrong, "threads@ranks=4") && !wrong, "numbers of every type are reduced");
    ok(!hcy_dist_run(go_on, &wrong, "threads@ranks=4") && !wrong, "many rounds, in groups and all together");
}

/* --- Ranks that end early --- */

enum way { BARRIER, REDUCTION, BROADCAST, SPLIT, PART, MESSAGES, N_WAYS };
static const char *const way_names[N_WAYS] = { "a barrier", "a reduction",      "a broadcast",
                                               "a split",   "a group of others", "messages" };
enum early { FAILS, ENDS_WITH_3, LEAVES, GIVES_UP, N_EARLY };
static const char *const early_names[N_EARLY] = { "fails", "ends with a number", "just ends", "gives up" };

struct early_end {
    enum way way;
    enum early early;
    atomic_int told; /* ranks that were told so */
};

static int end_early(enum early early, hcy_dist *comm)
{
    if (early == LEAVES)
        return 0;
    if (early == ENDS_WITH_3)
        return 3;
    const int status = hcy_fail(HCY_EIO, "the disk is full");
    if (early == GIVES_UP)
        hcy_dist_abort(comm, 5);
    return status;
}

static int pass_on(hcy_dist *comm, int rank, int partner)
{
    hcy_device *dev = NULL;
    hcy_queue *queue = NULL;
    hcy_array *sent = NULL, *received = NULL;
    int status = hcy_device_open(&dev, "cpu@threads=1");
    status = status ? status : hcy_queue_create(&queue, dev);
    status = status ? status : hcy_array_full(&sent, queue, HCY_INT32, 1, (int64_t[]){ 1000 }, rank);
    status = status ? status : hcy_array_full(&received, queue, HCY_INT32, 1, (int64_t[]){ 1000 }, -1);
    status = status ? status : hcy_dist_sendrecv(queue, received, comm, partner, sent, partner);
    hcy_array_release(sent);
    hcy_array_release(received);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return status;
}

/* The others wait for the one, some of them not at once, and some for others that do. */
static int wait_for_others(hcy_dist *comm, void *user)
{
    struct early_end *e = user;
    hcy_dist *part = NULL, *more = NULL;
    int32_t number = 1;
    int rank = 0, status = find_rank(&rank, comm);
    status = status ? status : hcy_dist_split(&part, comm, e->way == PART ? rank == LOST : 0);
    if (!status && rank == LOST) {
        status = end_early(e->early, comm);
        hcy_dist_release(part);
        return status;
    }
    for (int i = 0; !status && i < 3; i++)
        switch (e->way) {
        case BARRIER:
            status = hcy_dist_barrier(part);
            break;
        case BROADCAST:
            status = hcy_dist_broadcast_host(&number, part, sizeof number, LOST);
            break;
        case SPLIT:
            status = hcy_dist_split(&more, part, 0);
            hcy_dist_release(more);
            break;
        case MESSAGES:
            status = pass_on(part, rank, rank == 0 ? LOST : rank == 1 ? 3 : 1);
            break;
        default: /* the group has all that it needs, but then all wait */
            status = hcy_dist_allreduce_host(&number, part, HCY_INT32, 1, HCY_REDUCE_SUM);
            if (!status && e->way == PART)
                status = hcy_dist_barrier(comm);
        }
    /* Who came through before is told where all meet. */
    if (!status)
        status = hcy_dist_barrier(comm);
    if (status && strstr(hcy_last_error()->text, "rank 2"))
        atomic_fetch_add(&e->told, 1);
    hcy_dist_release(part);
    return status;
}

static void test_early_ends(void)
{
    static const int want[N_EARLY] = { HCY_EIO, 3, HCY_EBACKEND, HCY_EIO };
    static const char *const words[N_EARLY] = { "the disk is full", "it has failed", "ended while others wait",
                                                "the disk is full" };
    for (int early = 0; early < N_EARLY; early++)
        for (int way = 0; way < N_WAYS; way++) {
            struct early_end e = { (enum way)way, (enum early)early, 0 };
            const int status = hcy_dist_run(wait_for_others, &e, "threads@ranks=4");
            ok(status == want[early] && strstr(hcy_last_error()->text, words[early]) && e.told == RANKS - 1,
               "a rank %s while others wait in %s: %d of them are told, and the caller (%s)", early_names[early],
               way_names[way], (int)e.told, hcy_last_error()->text);
        }
}

/* Two sides of another size: who gets it says so. */
static int disagree(hcy_dist *comm, void *user)
{
    hcy_device *dev = NULL;
    hcy_queue *queue = NULL;
    hcy_array *a = NULL;
    int rank = 0, status = find_rank(&rank, comm);
    (void)user;
    status = status ? status : hcy_device_open(&dev, "cpu@threads=1");
    status = status ? status : hcy_queue_create(&queue, dev);
    status = status ? status : hcy_array_full(&a, queue, HCY_INT8, 1, (int64_t[]){ 10 + rank }, rank);
    status = status ? status
                    : hcy_dist_sendrecv(queue, rank ? a : NULL, comm, rank ? 0 : -1, rank ? NULL : a, rank ? -1 : 1);
    hcy_array_release(a);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return status;
}

int main(void)
{
    test_numbers_of_ranks();
    test_going_on();
    test_early_ends();
    ok(hcy_dist_run(disagree, NULL, "threads@ranks=2") == HCY_EINVAL &&
           strstr(hcy_last_error()->text, "10 bytes where 11"),
       "a message of another size is none");
    return done_testing();
}
