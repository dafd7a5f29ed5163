/* Ranks that are threads of one process: each has its communicator; whatever way one of them ends early, those who wait
 * for it are told, and who has begun them gets what it had to say. */
#include "dist_priv.h"
#include "tap.h"

#include <fenv.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

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
    if (status && strstr(hcy_last_error()->text, "rank 2 of the run"))
        atomic_fetch_add(&e->told, 1);
    hcy_dist_release(part);
    return status;
}

static void test_early_ends(void)
{
    static const int want[N_EARLY] = { HCY_EIO, 3, HCY_EBACKEND, 5 };
    static const char *const words[N_EARLY] = { "the disk is full", "it has failed", "ended while others wait",
                                                "has given up, after its last failure: the disk is full" };
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

/* --- Ranks that do not do the same --- */

static int exchange_all(hcy_dist *comm, int rank, int64_t *sends)
{
    hcy_device *dev = NULL;
    hcy_queue *queue = NULL;
    hcy_array *sent = NULL, *received = NULL;
    int status = hcy_device_open(&dev, "cpu@threads=1");
    status = status ? status : hcy_queue_create(&queue, dev);
    status = status ? status : hcy_array_full(&sent, queue, HCY_INT32, 1, (int64_t[]){ 4 }, rank);
    status = status ? status : hcy_array_full(&received, queue, HCY_INT32, 1, (int64_t[]){ 4 }, -1);
    status = status ? status : hcy_dist_alltoall(queue, received, comm, (int64_t[]){ 1, 1, 1 }, sent, sends);
    hcy_array_release(sent);
    hcy_array_release(received);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return status;
}

/* Rank 1 gets too much from rank 0, and still has rank 2's message to take before all agree. */
static int send_too_much(hcy_dist *comm, void *user)
{
    atomic_int *told = user;
    int rank = 0, status = find_rank(&rank, comm);
    status = status ? status : exchange_all(comm, rank, (int64_t[]){ 1, rank ? 1 : 2, 1 });
    const bool is_right = rank == 1 ? status == HCY_EINVAL : !status;
    status = hcy_dist_agree(comm, status);
    if (is_right && status == HCY_EINVAL && strstr(hcy_last_error()->text, "rank 0 sends 8 bytes where 4"))
        atomic_fetch_add(told, 1);
    return status;
}

enum { N_DEEDS = 8, ODD_ONE = 1 };

/* The deeds 2k and 2k + 1 do not go together; nothing is written behind what a rank has brought. */
static int do_otherwise(hcy_dist *comm, int deed)
{
    hcy_dist *part = NULL;
    int32_t n[8] = { 1, 1, 7, 7, 7, 7, 7, 7 };
    int status = 0;
    switch (deed) {
    case 0:
        return hcy_dist_barrier(comm);
    case 1:
        status = hcy_dist_split(&part, comm, 0);
        hcy_dist_release(part);
        return status;
    case 2:
        return hcy_dist_broadcast_host(n, comm, 8, 0);
    case 3:
        return hcy_dist_broadcast_host(n, comm, 8, 1);
    case 4:
        return hcy_dist_allreduce_host(n, comm, HCY_INT32, 8, HCY_REDUCE_SUM);
    case 5:
        status = hcy_dist_allreduce_host(n, comm, HCY_INT32, 2, HCY_REDUCE_SUM);
        for (int i = 2; i < 8; i++)
            status = n[i] == 7 ? status : 1;
        return status;
    case 6:
        return hcy_dist_allreduce_host(n, comm, HCY_INT32, 1, HCY_REDUCE_MIN);
    default:
        return hcy_dist_allreduce_host(n, comm, HCY_UINT32, 1, HCY_REDUCE_MIN);
    }
}

struct otherwise {
    int deed;
    atomic_int told;
};

static int differ(hcy_dist *comm, void *user)
{
    struct otherwise *o = user;
    int rank = 0, status = find_rank(&rank, comm);
    status = status ? status : do_otherwise(comm, o->deed + (rank == ODD_ONE));
    if (status == HCY_EINVAL && strstr(hcy_last_error()->text, "calls another function than others"))
        atomic_fetch_add(&o->told, 1);
    return status;
}

/* Rank 1 waits for rank 0, to come with a message or to take one, which waits for all; who is late comes second. */
struct crossing {
    bool sends;
    int late;
    atomic_int told;
};

static int cross(hcy_dist *comm, void *user)
{
    struct crossing *c = user;
    hcy_device *dev = NULL;
    hcy_queue *queue = NULL;
    hcy_array *a = NULL;
    int rank = 0, status = find_rank(&rank, comm);
    status = status ? status : hcy_device_open(&dev, "cpu@threads=1");
    status = status ? status : hcy_queue_create(&queue, dev);
    status = status ? status : hcy_array_full(&a, queue, HCY_INT8, 1, (int64_t[]){ 10 }, rank);
    status = status ? status : hcy_dist_barrier(comm);
    if (rank == c->late)
        nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
    if (!status && rank == 1)
        status = hcy_dist_sendrecv(queue, a, comm, c->sends ? -1 : 0, a, c->sends ? 0 : -1);
    if (!status)
        status = hcy_dist_barrier(comm);
    if (status == HCY_EINVAL && strstr(hcy_last_error()->text, "rank 0 of the run: it waits for all ranks while"))
        atomic_fetch_add(&c->told, 1);
    hcy_array_release(a);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return status;
}

static void test_crossing(void)
{
    for (int i = 0; i < 4; i++) {
        struct crossing c = { i & 1, i >> 1, 0 };
        const int status = hcy_dist_run(cross, &c, "threads@ranks=3");
        ok(status == HCY_EINVAL && c.told == 3,
           "rank 0 waits for all while rank 1 %s, and rank %d comes late: all fail (%d, %s)",
           c.sends ? "sends to it" : "wants its message", c.late, (int)c.told, hcy_last_error()->text);
    }
}

static void test_differing(void)
{
    atomic_int told = 0;
    ok(hcy_dist_run(send_too_much, &told, "threads@ranks=3") == HCY_EINVAL && told == 3,
       "who gets too much takes its other messages, and all can agree");
    for (int deed = 0; deed < N_DEEDS; deed += 2) {
        struct otherwise o = { deed, 0 };
        const int status = hcy_dist_run(differ, &o, "threads@ranks=3");
        ok(status == HCY_EINVAL && o.told == 3, "ranks that do not call the same (%d): %d are told (%s)", deed / 2,
           (int)o.told, hcy_last_error()->text);
    }
}

/* --- Memory in sight of all, whose owner goes --- */

static const struct hcy_transport *real;
static _Thread_local hcy_dist *here;
static atomic_int owner_is_gone, n_seen[2];

/* Pieces of memory that processes could share, of this one. */
static int count_shares(void)
{
    char line[512];
    int n = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        n += strstr(line, "memfd:halcyon") != NULL;
    if (maps)
        fclose(maps);
    return n;
}

/* Rank 0 gives up where its memory is known to rank 1, which takes its time. */
static int broadcast_and_go(void *data, void *impl, size_t bytes, int root)
{
    const bool shows_memory = bytes == sizeof(hcy_buffer_handle) + sizeof(hcy_buffer *);
    if (shows_memory && root == 1 && here->place.rank == 0) {
        n_seen[0] = count_shares();
        hcy_dist_abort(here, 1);
    }
    const int status = real->broadcast(data, impl, bytes, root);
    if (!shows_memory || root || here->place.rank == 0)
        return status;
    while (!owner_is_gone)
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    n_seen[1] = count_shares();
    return status;
}

static int transform_and_go(hcy_dist *comm, void *user)
{
    const int axes[2] = { 0, 1 };
    hcy_device *dev = NULL;
    hcy_dist_layout *layout = NULL;
    hcy_operator *op = NULL;
    struct hcy_transport late = *comm->transport;
    (void)user;
    late.broadcast = broadcast_and_go;
    int status = hcy_dist_device(&dev, comm, "cpu@threads=1");
    status = status ? status : hcy_dist_layout_blocks(&layout, comm, 2, (int64_t[]){ 64, 64 }, 0, NULL);
    here = comm;
    if (!comm->place.rank)
        real = comm->transport;
    status = status ? status : hcy_dist_barrier(comm);
    comm->transport = &late;
    status = status ? status : hcy_dist_fft(&op, dev, layout, HCY_COMPLEX128, axes, 2);
    comm->transport = real;
    if (!comm->place.rank)
        owner_is_gone = 1;
    hcy_operator_release(op);
    hcy_dist_layout_release(layout);
    hcy_device_release(dev);
    return status;
}

static void test_owner_that_goes(void)
{
    const int status = hcy_dist_run(transform_and_go, NULL, "threads@ranks=2");
    ok((status == 1 && n_seen[0] == 2 && n_seen[1] == 2) || !n_seen[0],
       "a rank's memory stays for those who know it: %d of %d pieces when it goes", (int)n_seen[1], (int)n_seen[0]);
    ok(!count_shares(), "... and then nobody has it");
}

/* --- Whose threads they are --- */

static int look_around(hcy_dist *comm, void *user)
{
    atomic_int *alike = user;
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    *alike += fegetround() == FE_UPWARD && sigismember(&blocked, SIGUSR1) == 1 && sigismember(&blocked, SIGINT) == 0;
    return hcy_dist_barrier(comm);
}

static void test_surroundings(void)
{
    sigset_t ours, before;
    atomic_int alike = 0;
    sigemptyset(&ours);
    sigaddset(&ours, SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &ours, &before);
    fesetround(FE_UPWARD);
    const int status = hcy_dist_run(look_around, &alike, "threads@ranks=3");
    fesetround(FE_TONEAREST);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    ok(!status && alike == 3, "threads have the caller's signals and rounding");
}

/* Whoever is not told waits for ever. */
enum { PATIENCE_S = 250 };

int main(void)
{
    alarm(PATIENCE_S);
    test_numbers_of_ranks();
    test_going_on();
    test_early_ends();
    ok(hcy_dist_run(disagree, NULL, "threads@ranks=2") == HCY_EINVAL &&
           strstr(hcy_last_error()->text, "10 bytes where 11"),
       "a message of another size is none");
    test_differing();
    test_crossing();
    test_owner_that_goes();
    test_surroundings();
    return done_testing();
}
