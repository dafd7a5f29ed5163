/* Communicators: started by tests/dist.t under mpirun, or alone, with devices as arguments (two on the CPU else).
 * All ranks check, rank 0 reports: a check holds where it holds on every rank. */
#include "tap.h"

#include <halcyon/dist.h>
#include <signal.h>
#include <unistd.h>

static hcy_dist *comm;
static int rank, n_ranks;
static hcy_device *dev;
static hcy_queue *queue;
static const char *device_name;

/* Collective: whether it holds on all ranks; those where it does not say so. */
#define every(holds, text) check_on_all(!!(holds), __LINE__, (text))
static bool check_on_all(int holds, int line, const char *text)
{
    int32_t all = holds;
    if (!holds)
        fprintf(stderr, "# rank %d of %d, line %d: \"%s\" does not hold: %s\n", rank, n_ranks, line, text,
                hcy_last_error()->text);
    if (hcy_dist_allreduce_host(&all, comm, HCY_INT32, 1, HCY_REDUCE_MIN))
        all = 0;
    return ok(all, "%s: %s", device_name, text);
}

/* --- Host memory --- */

static void test_host(void)
{
    int64_t numbers[3] = { rank, -rank, 7 };
    every(!hcy_dist_allreduce_host(numbers, comm, HCY_INT64, 3, HCY_REDUCE_SUM) &&
              numbers[0] == n_ranks * (n_ranks - 1) / 2 && numbers[1] == -numbers[0] &&
              numbers[2] == 7 * n_ranks,
          "integers are added");
    double least = 10 - rank;
    uint8_t most = (uint8_t)(rank + 1);
    every(!hcy_dist_allreduce_host(&least, comm, HCY_FLOAT64, 1, HCY_REDUCE_MIN) && least == 11 - n_ranks &&
              !hcy_dist_allreduce_host(&most, comm, HCY_UINT8, 1, HCY_REDUCE_MAX) && most == n_ranks,
          "the smallest and the largest");
    char text[40] = "";
    if (rank == n_ranks - 1)
        strcpy(text, "more than a piece of sixteen bytes");
    every(!hcy_dist_broadcast_host(text, comm, sizeof text, n_ranks - 1) &&
              !strcmp(text, "more than a piece of sixteen bytes"),
          "bytes of the last rank reach all");
    every(!hcy_dist_barrier(comm), "a barrier");
    every(hcy_dist_broadcast_host(text, comm, 1, n_ranks) == HCY_EINVAL &&
              hcy_dist_allreduce_host(&least, comm, HCY_COMPLEX64, 1, HCY_REDUCE_SUM) == HCY_EINVAL &&
              hcy_dist_allreduce_host(&least, comm, HCY_FLOAT64, 1, 9) == HCY_EINVAL,
          "no such rank, type or reduction");
}

static void test_agreement(void)
{
    every(!hcy_dist_agree(comm, 0), "all ranks agree");
    int status =
        hcy_dist_agree(comm, rank == n_ranks - 1 ? hcy_fail(HCY_ENOMEM, "the last one has none") : 0);
    every(status == HCY_ENOMEM &&
              strstr(hcy_last_error()->text, rank == n_ranks - 1 ? "the last one" : "another rank"),
          "a failure of one is that of all");
}

static void test_split(void)
{
    hcy_dist *part = NULL;
    hcy_dist_info info = HCY_DIST_INFO_INIT;
    int64_t sum = rank;
    int status = hcy_dist_split(&part, comm, rank % 2);
    if (!status)
        status = hcy_dist_get_info(&info, part);
    every(!status && info.rank == rank / 2 && info.n_ranks == (n_ranks + 1 - rank % 2) / 2,
          "ranks of two colours");
    int64_t want = 0;
    for (int r = rank % 2; r < n_ranks; r += 2)
        want += r;
    every(!hcy_dist_allreduce_host(&sum, part, HCY_INT64, 1, HCY_REDUCE_SUM) && sum == want,
          "... sum on their own");
    hcy_dist_release(part);
    status = hcy_dist_split(&part, comm, rank ? -1 : 3);
    every(!status && !part == !!rank, "ranks without a colour are in none");
    hcy_dist_release(part);
}

/* --- Arrays --- */

static hcy_array *numbers_from(int dtype, int64_t n, double first)
{
    hcy_array *x = NULL;
    int status = hcy_array_empty(&x, dev, dtype, 1, &n);
    if (!status && n)
        status = HCY_EVAL(queue,
                          dtype == HCY_COMPLEX128 ? "x = complex(first + index, -index)"
                                                  : "x = float32(first + index)",
                          hcy_op_array("x", x), hcy_op_real("first", first));
    if (status)
        fprintf(stderr, "# rank %d: %s\n", rank, hcy_last_error()->text);
    return x;
}

static bool holds(const hcy_array *x, int64_t at, float value)
{
    static float data[4096];
    return !hcy_array_to_host(data, queue, x) && data[at] == value;
}

static void test_collectives(void)
{
    hcy_array *x = numbers_from(HCY_FLOAT32, 1000, 10 * rank), *z = numbers_from(HCY_COMPLEX128, 3, rank),
              *odd = NULL;
    double parts[6] = { 0 };
    every(!hcy_dist_broadcast(queue, x, comm, n_ranks - 1) &&
              holds(x, 999, (float)(10 * (n_ranks - 1) + 999)),
          "an array of the last rank reaches all");
    every(!hcy_dist_allreduce(queue, x, comm, HCY_REDUCE_SUM) &&
              holds(x, 5, (float)(n_ranks * (10 * (n_ranks - 1) + 5))),
          "arrays are added");
    every(!hcy_array_slice(&odd, x, "1::2") &&
              !HCY_EVAL(queue, "x = rank", hcy_op_array("x", odd), hcy_op_integer("rank", rank)) &&
              !hcy_dist_allreduce(queue, odd, comm, HCY_REDUCE_MAX) && holds(x, 7, (float)(n_ranks - 1)) &&
              holds(x, 8, (float)(n_ranks * (10 * (n_ranks - 1) + 8))),
          "every other element alone");
    every(!hcy_dist_allreduce(queue, z, comm, HCY_REDUCE_SUM) && !hcy_array_to_host(parts, queue, z) &&
              parts[4] == 2 * n_ranks + n_ranks * (n_ranks - 1) / 2 && parts[5] == -2 * n_ranks,
          "complex numbers are added");
    every(hcy_dist_allreduce(queue, z, comm, HCY_REDUCE_MIN) == HCY_EINVAL, "complex numbers have no order");
    hcy_array_release(odd);
    hcy_array_release(x);
    hcy_array_release(z);
}

static void test_ring(void)
{
    const int next = (rank + 1) % n_ranks, before = (rank + n_ranks - 1) % n_ranks;
    hcy_array *mine = numbers_from(HCY_FLOAT32, 600, 1000 * rank),
              *theirs = numbers_from(HCY_FLOAT32, 600, -1e6);
    every(!hcy_dist_sendrecv(queue, theirs, comm, before, mine, next) &&
              holds(theirs, 599, (float)(1000 * before + 599)),
          "numbers go round a ring");
    bool is_end = rank == n_ranks - 1;
    every(!hcy_dist_sendrecv(queue, theirs, comm, rank ? rank - 1 : -1, mine, is_end ? -1 : rank + 1) &&
              holds(theirs, 0, (float)(1000 * (rank ? rank - 1 : before))),
          "... and along a line with two ends");
    hcy_array_release(mine);
    hcy_array_release(theirs);
}

/* Rank r sends r + s elements to rank s; to rank 0 it sends none when it is 0 itself. */
static void test_alltoall(void)
{
    int64_t sends[64], receives[64], n_sent = 0, n_received = 0, at = 0;
    for (int r = 0; r < n_ranks; r++) {
        sends[r] = receives[r] = rank + r;
        n_sent += sends[r];
        n_received += receives[r];
    }
    hcy_array *sent = numbers_from(HCY_FLOAT32, n_sent, 100 * rank),
              *received = numbers_from(HCY_FLOAT32, n_received, 0);
    bool right = !hcy_dist_alltoall(queue, received, comm, receives, sent, sends);
    for (int r = 0; right && r < n_ranks; r++) {
        int64_t first = 0;
        for (int s = 0; s < rank; s++)
            first += r + s;
        right = !receives[r] || holds(received, at, (float)(100 * r + first));
        at += receives[r];
    }
    every(right, "all send to all as much as they say");
    receives[0] = -1;
    every(hcy_dist_alltoall(queue, received, comm, receives, sent, sends) == HCY_EINVAL,
          "counts that cannot be");
    hcy_array_release(sent);
    hcy_array_release(received);
}

static void test_device(const char *spec)
{
    device_name = spec;
    if (hcy_device_open(&dev, spec) || hcy_queue_create(&queue, dev)) {
        fprintf(stderr, "dist: %s\n", hcy_last_error()->text);
        hcy_dist_abort(comm, 1);
        exit(1);
    }
    test_collectives();
    test_ring();
    test_alltoall();
    hcy_queue_release(queue);
    hcy_device_release(dev);
}

static void test_own_device(void)
{
    hcy_device *mine = NULL, *again = NULL;
    hcy_dist_info info = HCY_DIST_INFO_INIT;
    every(!hcy_dist_device(&mine, comm, "cpu@threads=1,cpu@threads=2") && !hcy_dist_get_info(&info, comm) &&
              hcy_device_get_info(mine)->units == (uint32_t)(1 + info.local_rank % 2) &&
              !*info.device_transport,
          "of two devices each rank has that of its local rank");
    every(hcy_dist_device(&again, comm, "cpu") == HCY_ESTATE && !again, "a communicator has one device");
    hcy_device_release(mine);
}

static void test_wishes(void)
{
    hcy_dist *other = NULL;
    every(hcy_dist_open(&other, "smoke") == HCY_EINVAL && strstr(hcy_last_error()->text, "\"smoke\"") &&
              hcy_dist_open(&other, "self,mpi") == HCY_EINVAL &&
              hcy_dist_open(&other, "mpi@piece=3") == HCY_EINVAL &&
              hcy_dist_open(&other, "mpi@peace=16") == HCY_EINVAL && !other,
          "wishes that nobody can meet");
    hcy_dist_info info = HCY_DIST_INFO_INIT;
    every(!hcy_dist_open(&other, "self,-nccl") && !hcy_dist_get_info(&info, other) && info.n_ranks == 1 &&
              !strcmp(info.transport, "self"),
          "each process may be alone");
    hcy_dist_release(other);
}

/* One rank goes, in the middle of what the others wait for: killed, or by its own word. */
static void lose_one(bool by_its_word)
{
    int32_t number = 0;
    if (rank == n_ranks - 1 && by_its_word) {
        fprintf(stderr, "rank %d: the disk is full\n", rank);
        hcy_dist_abort(comm, 3);
    } else if (rank == n_ranks - 1) {
        raise(SIGKILL);
    }
    for (int i = 0; i < 1000; i++)
        if (hcy_dist_allreduce_host(&number, comm, HCY_INT32, 1, HCY_REDUCE_SUM))
            break;
    sleep(60);
}

int main(int argc, char **argv)
{
    hcy_dist_info info = HCY_DIST_INFO_INIT;
    if (hcy_dist_open(&comm, NULL) || hcy_dist_get_info(&info, comm)) {
        printf("Bail out! %s (%s)\n", hcy_last_error()->text, hcy_last_error()->vendor);
        return 1;
    }
    rank = info.rank;
    n_ranks = info.n_ranks;
    if (argc > 1 && (!strcmp(argv[1], "killed") || !strcmp(argv[1], "abort"))) {
        lose_one(*argv[1] == 'a');
        return 0;
    }
    if (rank && !freopen("/dev/null", "w", stdout))
        return 1;
    device_name = info.transport;
    const char *wanted = getenv("WANTED_RANKS");
    every(!wanted || n_ranks == atoi(wanted), "as many ranks as were started");
    test_host();
    test_agreement();
    test_split();
    test_wishes();
    if (argc < 2) {
        test_device("cpu@threads=1");
        test_device("cpu@threads=1@discrete=1");
    }
    for (int i = 1; i < argc; i++)
        test_device(argv[i]);
    test_own_device();
    int status = done_testing();
    hcy_dist_release(comm);
    return status;
}
