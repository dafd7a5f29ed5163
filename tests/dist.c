/* Communicators: started by tests/dist.t under mpirun, as threads, or alone, with devices as arguments (two on the CPU
 * else).  All ranks check, rank 0 reports: a check holds where it holds on every rank.  `copies DEVICES`: what needs no
 * kernels; `large DEVICES`: messages above 2 GiB; `failing DEVICES`: with inject.c; `refused DEVICES`: those that
 * mpi-device takes on some ranks alone; `killed`, `late` and `abort [DEVICES]`: a rank goes, or does not come. */
#include "dist_scene.h"
#include "tap.h"

#include <signal.h>
#include <unistd.h>

_Thread_local struct scene scene;

bool check_on_all(int holds, const char *file, int line, const char *format, ...)
{
    char text[200];
    int32_t all = holds;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!holds)
        fprintf(stderr, "# rank %d of %d, %s:%d: \"%s\" does not hold: %s\n", scene.rank, scene.n_ranks, file,
                line, text, hcy_last_error()->text);
    if (hcy_dist_allreduce_host(&all, scene.comm, HCY_INT32, 1, HCY_REDUCE_MIN))
        all = 0;
    return scene.rank ? all : ok(all, "%s: %s", scene.name, text);
}

void skip_checks(int n, const char *why)
{
    if (!scene.rank)
        skip(n, "%s", why);
}

static void name_area(const char *name)
{
    if (!scene.rank)
        printf("# area:%s%s\n", *name ? " " : "", name);
}

/* The failure of a rank alone, whose others wait for it. */
static int give_up(void)
{
    fprintf(stderr, "dist: %s %s\n", hcy_last_error()->text, hcy_last_error()->vendor);
    hcy_dist_abort(scene.comm, 1);
    exit(1);
}

/* --- Host memory --- */

static void test_host(void)
{
    int64_t numbers[3] = { scene.rank, -scene.rank, 7 };
    every(!hcy_dist_allreduce_host(numbers, scene.comm, HCY_INT64, 3, HCY_REDUCE_SUM) &&
              numbers[0] == scene.n_ranks * (scene.n_ranks - 1) / 2 && numbers[1] == -numbers[0] &&
              numbers[2] == 7 * scene.n_ranks,
          "integers are added");
    double least = 10 - scene.rank;
    uint8_t most = (uint8_t)(scene.rank + 1);
    every(!hcy_dist_allreduce_host(&least, scene.comm, HCY_FLOAT64, 1, HCY_REDUCE_MIN) &&
              least == 11 - scene.n_ranks &&
              !hcy_dist_allreduce_host(&most, scene.comm, HCY_UINT8, 1, HCY_REDUCE_MAX) &&
              most == scene.n_ranks,
          "the smallest and the largest");
    char text[40] = "";
    if (scene.rank == scene.n_ranks - 1)
        strcpy(text, "of the last one");
    every(!hcy_dist_broadcast_host(text, scene.comm, sizeof text, scene.n_ranks - 1) &&
              !strcmp(text, "of the last one"),
          "bytes of the last rank reach all");
    every(!hcy_dist_barrier(scene.comm), "a barrier");
    every(hcy_dist_broadcast_host(text, scene.comm, 1, scene.n_ranks) == HCY_EINVAL &&
              hcy_dist_allreduce_host(&least, scene.comm, HCY_COMPLEX64, 1, HCY_REDUCE_SUM) == HCY_EINVAL &&
              hcy_dist_allreduce_host(&least, scene.comm, HCY_FLOAT64, 1, 9) == HCY_EINVAL,
          "no such rank, type or reduction");
}

static void test_agreement(void)
{
    every(!hcy_dist_agree(scene.comm, 0), "all ranks agree");
    int status = hcy_dist_agree(
        scene.comm, scene.rank == scene.n_ranks - 1 ? hcy_fail(HCY_ENOMEM, "the last one has none") : 0);
    every(status == HCY_ENOMEM && strstr(hcy_last_error()->text,
                                         scene.rank == scene.n_ranks - 1 ? "the last one" : "another rank"),
          "a failure of one is that of all");
    every(hcy_dist_agree(scene.comm, scene.rank ? 0 : 5) == HCY_EBACKEND, "a number that is no status is one, too");
}

/* The norm of n ones over a communicator's ranks, n for each of them. */
static bool sums_alone(hcy_dist *comm, int64_t each)
{
    hcy_dist_info info = HCY_DIST_INFO_INIT;
    hcy_device *dev = NULL;
    hcy_queue *queue = NULL;
    hcy_dist_layout *layout = NULL;
    hcy_array *x = NULL, *norm = NULL;
    double length = 0;
    if (hcy_dist_get_info(&info, comm))
        return false;
    const int64_t n = each * info.n_ranks;
    bool right = !hcy_dist_device(&dev, comm, "cpu@threads=1") && !hcy_queue_create(&queue, dev) &&
                 !hcy_dist_layout_blocks(&layout, comm, 1, &n, 0, NULL) &&
                 !hcy_dist_array(&x, dev, layout, HCY_FLOAT64) && !HCY_EVAL(queue, "x = 1", hcy_op_array("x", x)) &&
                 !hcy_array_empty(&norm, dev, HCY_FLOAT64, 0, NULL) && !hcy_dist_norm(queue, norm, layout, x) &&
                 !hcy_array_to_host(&length, queue, norm) && length * length > (double)n * (1 - 1e-14) &&
                 length * length < (double)n * (1 + 1e-14);
    hcy_array_release(norm);
    hcy_array_release(x);
    hcy_dist_layout_release(layout);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return right;
}

static void test_split(void)
{
    hcy_dist *part = NULL;
    hcy_dist_info info = HCY_DIST_INFO_INIT;
    int64_t sum = scene.rank;
    int status = hcy_dist_split(&part, scene.comm, scene.rank % 2);
    if (!status)
        status = hcy_dist_get_info(&info, part);
    every(!status && info.rank == scene.rank / 2 && info.n_ranks == (scene.n_ranks + 1 - scene.rank % 2) / 2,
          "ranks of two colours");
    int64_t want = 0;
    for (int r = scene.rank % 2; r < scene.n_ranks; r += 2)
        want += r;
    every(!hcy_dist_allreduce_host(&sum, part, HCY_INT64, 1, HCY_REDUCE_SUM) && sum == want,
          "... sum on their own");
    /* Groups of two sizes where the number is odd, each with as many numbers as it likes. */
    every(getenv("WANTED_DEVICE_TRANSPORT") || sums_alone(part, 700 + 100 * (scene.rank % 2)),
          "... and have arrays of their own");
    hcy_dist_release(part);
    status = hcy_dist_split(&part, scene.comm, scene.rank ? -1 : 3);
    every(!status && !part == !!scene.rank, "ranks without a colour are in none");
    hcy_dist_release(part);
}

/* --- Arrays --- */

static hcy_array *numbers_from(int dtype, int64_t n, double first)
{
    hcy_array *x = NULL;
    int status = hcy_array_empty(&x, scene.dev, dtype, 1, &n);
    if (!status && n)
        status = HCY_EVAL(scene.queue,
                          dtype == HCY_COMPLEX128 ? "x = complex(first + index, -index)"
                                                  : "x = float32(first + index)",
                          hcy_op_array("x", x), hcy_op_real("first", first));
    if (status)
        fprintf(stderr, "# rank %d: %s\n", scene.rank, hcy_last_error()->text);
    return x;
}

static bool holds(const hcy_array *x, int64_t at, float value)
{
    static _Thread_local float data[4096];
    return !hcy_array_to_host(data, scene.queue, x) && data[at] == value;
}

/* Of every other element the last one, in memory that the host reaches: no queue is asked. */
static bool is_there(const hcy_array *odd, double value)
{
    hcy_array_info info = HCY_ARRAY_INFO_INIT;
    if (hcy_array_get_info(&info, odd))
        return false;
    const float *data = hcy_buffer_host(info.buffer);
    return !data || data[info.offset + (info.shape[0] - 1) * info.strides[0]] == (float)value;
}

/* By MPI arrays are there on return, those with gaps too: so many numbers take a while to copy. */
static void test_return(void)
{
    enum { COUNT = 1 << 20, ROUNDS = 3 };
    const int n = scene.n_ranks, before = (scene.rank + n - 1) % n, next = (scene.rank + 1) % n;
    hcy_dist_info info = HCY_DIST_INFO_INIT;
    bool sent = true, reduced = true;
    if (hcy_dist_get_info(&info, scene.comm) || !strcmp(info.device_transport, "nccl") || n == 1) {
        skip_checks(2, "for messages that do not stay in a queue");
        return;
    }
    hcy_array *x = numbers_from(HCY_FLOAT32, COUNT, scene.rank), *y = numbers_from(HCY_FLOAT32, COUNT, 0),
              *odd_x = NULL, *odd_y = NULL;
    int status = hcy_array_slice(&odd_x, x, "1::2");
    status = status ? status : hcy_array_slice(&odd_y, y, "1::2");
    for (int i = 0; i < ROUNDS; i++) {
        status = status ? status : HCY_EVAL(scene.queue, "x = index + first", hcy_op_array("x", x),
                                            hcy_op_integer("first", scene.rank + i));
        status = status ? status : hcy_dist_sendrecv(scene.queue, odd_y, scene.comm, before, odd_x, next);
        sent = sent && !status && is_there(odd_y, COUNT - 1 + before + i);
        status = status ? status : hcy_dist_allreduce(scene.queue, odd_x, scene.comm, HCY_REDUCE_MAX);
        reduced = reduced && !status && is_there(odd_x, COUNT - 1 + n - 1 + i);
    }
    every(sent, "a message with gaps is there on return");
    every(reduced, "so is what is reduced");
    hcy_array_release(odd_x);
    hcy_array_release(odd_y);
    hcy_array_release(x);
    hcy_array_release(y);
}

static void test_collectives(void)
{
    hcy_array *x = numbers_from(HCY_FLOAT32, 1000, 10 * scene.rank),
              *z = numbers_from(HCY_COMPLEX128, 3, scene.rank), *odd = NULL;
    double parts[6] = { 0 };
    every(!hcy_dist_broadcast(scene.queue, x, scene.comm, scene.n_ranks - 1) &&
              holds(x, 999, (float)(10 * (scene.n_ranks - 1) + 999)),
          "an array of the last rank reaches all");
    every(!hcy_dist_allreduce(scene.queue, x, scene.comm, HCY_REDUCE_SUM) &&
              holds(x, 5, (float)(scene.n_ranks * (10 * (scene.n_ranks - 1) + 5))),
          "arrays are added");
    every(
        !hcy_array_slice(&odd, x, "1::2") &&
            !HCY_EVAL(scene.queue, "x = rank", hcy_op_array("x", odd), hcy_op_integer("rank", scene.rank)) &&
            !hcy_dist_allreduce(scene.queue, odd, scene.comm, HCY_REDUCE_MAX) &&
            holds(x, 7, (float)(scene.n_ranks - 1)) &&
            holds(x, 8, (float)(scene.n_ranks * (10 * (scene.n_ranks - 1) + 8))),
        "every other element alone");
    every(!hcy_dist_allreduce(scene.queue, z, scene.comm, HCY_REDUCE_SUM) &&
              !hcy_array_to_host(parts, scene.queue, z) &&
              parts[4] == 2 * scene.n_ranks + scene.n_ranks * (scene.n_ranks - 1) / 2 &&
              parts[5] == -2 * scene.n_ranks,
          "complex numbers are added");
    every(hcy_dist_allreduce(scene.queue, z, scene.comm, HCY_REDUCE_MIN) == HCY_EINVAL,
          "complex numbers have no order");
    hcy_array_release(odd);
    hcy_array_release(x);
    hcy_array_release(z);
    test_return();
}

static void test_ring(void)
{
    const int next = (scene.rank + 1) % scene.n_ranks,
              before = (scene.rank + scene.n_ranks - 1) % scene.n_ranks;
    hcy_array *mine = numbers_from(HCY_FLOAT32, 600, 1000 * scene.rank),
              *theirs = numbers_from(HCY_FLOAT32, 600, -1e6);
    every(!hcy_dist_sendrecv(scene.queue, theirs, scene.comm, before, mine, next) &&
              holds(theirs, 599, (float)(1000 * before + 599)),
          "numbers go round a ring");
    bool is_end = scene.rank == scene.n_ranks - 1;
    every(!hcy_dist_sendrecv(scene.queue, theirs, scene.comm, scene.rank ? scene.rank - 1 : -1, mine,
                             is_end ? -1 : scene.rank + 1) &&
              holds(theirs, 0, (float)(1000 * (scene.rank ? scene.rank - 1 : before))),
          "... and along a line with two ends");
    hcy_array_release(mine);
    hcy_array_release(theirs);
}

/* Rank r sends r + s elements to rank s; to rank 0 it sends none when it is 0 itself. */
static void test_alltoall(void)
{
    int64_t sends[64], receives[64], n_sent = 0, n_received = 0, at = 0;
    for (int r = 0; r < scene.n_ranks; r++) {
        sends[r] = receives[r] = scene.rank + r;
        n_sent += sends[r];
        n_received += receives[r];
    }
    hcy_array *sent = numbers_from(HCY_FLOAT32, n_sent, 100 * scene.rank),
              *received = numbers_from(HCY_FLOAT32, n_received, 0);
    bool right = !hcy_dist_alltoall(scene.queue, received, scene.comm, receives, sent, sends);
    for (int r = 0; right && r < scene.n_ranks; r++) {
        int64_t first = 0;
        for (int s = 0; s < scene.rank; s++)
            first += r + s;
        right = !receives[r] || holds(received, at, (float)(100 * r + first));
        at += receives[r];
    }
    every(right, "all send to all as much as they say");
    receives[0] = -1;
    every(hcy_dist_alltoall(scene.queue, received, scene.comm, receives, sent, sends) == HCY_EINVAL,
          "counts that cannot be");
    hcy_array_release(sent);
    hcy_array_release(received);
}

static void test_messages(void)
{
    test_collectives();
    test_ring();
    test_alltoall();
}

/* What tests/dist.t makes a table of; WANTED_AREAS: these alone, by their keys with commas. */
static const struct {
    const char *key, *name;
    void (*test)(void);
} areas[] = { { "messages", "messages", test_messages },
              { "layouts", "layouts, sums, files", test_layouts },
              { "long", "sums of several rounds", test_long_sums },
              { "operators", "blocks, stacks of rows, differences, ghost rows", test_operators },
              { "grids", "grids of ranks", test_grids },
              { "free", "sums without one device's bits", test_free_sums },
              { "squares", "a vector with its square", test_squares },
              { "solvers", "solvers", test_solvers_like_one },
              { "gridsolvers", "solvers over grids of ranks", test_grid_solvers },
              { "stacks", "stacks of stacks", test_stacks },
              { "overlap", "differences beside messages", test_overlap },
              { "faces", "faces of differences", test_faces },
              { "nufft", "transpositions, NUFFT, SENSE", test_transforms },
              { "fft", "Fourier transforms", test_ffts },
              { "matrices", "matrices, convolutions", test_matrices },
              { "timers", "timers", test_timers } };

static bool is_wanted(const char *key)
{
    const char *wanted = getenv("WANTED_AREAS");
    const size_t length = strlen(key);
    bool found = !wanted || !*wanted;
    for (const char *p = wanted; !found && p; p = strchr(p, ',')) {
        p += *p == ',';
        found = !strncmp(p, key, length) && (!p[length] || p[length] == ',');
    }
    return found;
}

/* 0: all. */
static int count_wanted(void)
{
    const char *wanted = getenv("WANTED_AREAS");
    int n = wanted && *wanted;
    for (const char *p = wanted; n && *p; p++)
        n += *p == ',';
    return n;
}

enum part { ALL, COPIES, LARGE, FAILING, N_PARTS };
static const char *const part_names[N_PARTS] = { "", "copies", "large", "failing" };

/* A part of it with the device of each rank, in a communicator of its own, whose messages may have their own way. */
static void test_device(const char *spec, enum part which)
{
    hcy_dist *world = scene.comm, *part = NULL;
    hcy_device *again = NULL;
    hcy_dist_info info = HCY_DIST_INFO_INIT;
    const char *wanted = getenv("WANTED_DEVICE_TRANSPORT");
    scene.name = spec;
    if (hcy_dist_split(&part, world, 0) || hcy_dist_device(&scene.dev, part, spec) ||
        hcy_queue_create(&scene.queue, scene.dev))
        give_up();
    scene.comm = part;
    const bool kept = hcy_dist_device(&again, part, spec) == HCY_ESTATE && !again && !hcy_dist_get_info(&info, part);
    every(kept && (!wanted || !strcmp(info.device_transport, wanted)),
          "arrays go by \"%s\", after a second asking too", info.device_transport);
    if (which == COPIES)
        test_copies(*info.device_transport != 0);
    else if (which == LARGE)
        test_large();
    else if (which == FAILING)
        test_failing();
    int n_areas = 0;
    for (size_t i = 0; which == ALL && i < sizeof areas / sizeof areas[0]; i++) {
        if (!is_wanted(areas[i].key))
            continue;
        name_area(areas[i].name);
        areas[i].test();
        n_areas++;
    }
    name_area("");
    every(which != ALL || !count_wanted() || n_areas == count_wanted(), "an area is known by each name");
    hcy_queue_release(scene.queue);
    hcy_device_release(scene.dev);
    hcy_dist_release(part);
    scene.comm = world;
}

/* A communicator whose device not every rank can have goes on without one. */
static void test_refused(const char *spec)
{
    hcy_dist *part = NULL;
    hcy_device *dev = NULL;
    hcy_dist_info info = HCY_DIST_INFO_INIT;
    int status = hcy_dist_split(&part, scene.comm, 0);
    scene.name = spec;
    every(!status && hcy_dist_device(&dev, part, spec) == HCY_EUNSUPPORTED && !dev && !hcy_dist_get_info(&info, part) &&
              !*info.device_transport,
          "is refused on all ranks");
    int32_t sum = scene.rank, last = scene.rank;
    status = hcy_dist_allreduce_host(&sum, part, HCY_INT32, 1, HCY_REDUCE_SUM);
    status = status ? status : hcy_dist_broadcast_host(&last, part, sizeof last, scene.n_ranks - 1);
    if (status)
        give_up();
    every(sum == scene.n_ranks * (scene.n_ranks - 1) / 2 && last == scene.n_ranks - 1, "numbers go on their ways");
    every(hcy_dist_device(&dev, part, "cpu") == HCY_EUNSUPPORTED && !dev, "so is another one");
    hcy_dist_release(part);
}

static void test_own_device(void)
{
    hcy_device *mine = NULL, *again = NULL;
    hcy_dist_info info = HCY_DIST_INFO_INIT;
    const char *wanted = getenv("WANTED_DEVICE_TRANSPORT");
    /* Who asks for NCCL by name gets no communicator of CPUs. */
    if (wanted && *wanted) {
        skip_checks(2, "for CPUs there is no transport of devices");
        return;
    }
    /* Another rank's place in the list, for which any device would have been opened. */
    mine = (hcy_device *)&info;
    every(hcy_dist_device(&mine, scene.comm, "cpu@threads=1,,cpu@threads=1") == HCY_EINVAL && !mine &&
              hcy_dist_device(&mine, scene.comm, "cpu@threads=1,") == HCY_EINVAL &&
              strstr(hcy_last_error()->text, "empty device string"),
          "an empty place in a list of devices is refused on all ranks");
    every(!hcy_dist_device(&mine, scene.comm, "cpu@threads=1,cpu@threads=2") &&
              !hcy_dist_get_info(&info, scene.comm) &&
              hcy_device_get_info(mine)->units == (uint32_t)(1 + info.local_rank % 2) &&
              !*info.device_transport,
          "of two devices each rank has that of its local rank");
    every(hcy_dist_device(&again, scene.comm, "cpu") == HCY_ESTATE && !again,
          "a communicator has one device");
    hcy_device_release(mine);
}

static void test_wishes(void)
{
    hcy_dist *other = NULL;
    every(hcy_dist_open(&other, "smoke") == HCY_EINVAL && strstr(hcy_last_error()->text, "\"smoke\"") &&
              hcy_dist_open(&other, "self,mpi") == HCY_EINVAL &&
              hcy_dist_open(&other, "mpi@piece=3") == HCY_EINVAL &&
              hcy_dist_open(&other, "mpi@peace=16") == HCY_EINVAL &&
              hcy_dist_open(&other, "nccl@wait=soon") == HCY_EINVAL &&
              hcy_dist_open(&other, "mpi@piece=16@wait=x") == HCY_EINVAL &&
              hcy_dist_open(&other, "shared@wait=9") == HCY_EINVAL &&
              hcy_dist_open(&other, "mpi@wait=9,mpi-device") == HCY_EINVAL &&
              hcy_dist_open(&other, "self@piece=0000000000000000000000000000000000000000000065536@wait=86401") == HCY_EINVAL &&
              hcy_dist_open(&other, "self@piece=16") == HCY_EINVAL &&
              hcy_dist_open(&other, "self,-threads@ranks=2") == HCY_EINVAL &&
              strstr(hcy_last_error()->text, "\"-threads\" takes no option") &&
              hcy_dist_open(&other, "mpi-device,nccl") == HCY_EINVAL &&
              hcy_dist_open(&other, "self,-self") == HCY_EINVAL &&
              hcy_dist_open(&other, "-mpi,mpi-device") == HCY_EINVAL &&
              hcy_dist_open(&other, "mpi,-openmpi,-mpich,-mpi-abi") == HCY_EINVAL &&
              strstr(hcy_last_error()->text, "mpi is wished for, and taken away") && !other,
          "wishes that nobody can meet");
    hcy_dist_info info = HCY_DIST_INFO_INIT;
    every(!hcy_dist_open(&other, "self,-nccl,-shared") && !hcy_dist_get_info(&info, other) && info.n_ranks == 1 &&
              !strcmp(info.transport, "self"),
          "each process may be alone");
    hcy_dist_release(other);
}

/* What others wait in: a reduction of numbers of the host, or of a device. */
static int wait_for_all(hcy_array *on_device)
{
    int32_t number = 0;
    int status = on_device ? hcy_dist_allreduce(scene.queue, on_device, scene.comm, HCY_REDUCE_SUM)
                           : hcy_dist_allreduce_host(&number, scene.comm, HCY_INT32, 1, HCY_REDUCE_SUM);
    return status || !on_device ? status : hcy_queue_finish(scene.queue);
}

/* After a rank that did not come: what was begun is still on its way, so that no communicator carries more. */
static void tell_what_is_carried(hcy_dist *part)
{
    hcy_dist *again = NULL;
    fprintf(stderr, "%s\n", hcy_last_error()->text);
    if (hcy_dist_barrier(part) && hcy_dist_open(&again, "mpi") && !again)
        fprintf(stderr, "rank %d: nothing more is carried\n", scene.rank);
}

/* One rank goes, in the middle of what the others wait for: killed, or by its own word; or it lets them wait. */
static int lose_one(const char *how, bool is_thread, const char *spec)
{
    hcy_array *numbers = NULL;
    hcy_dist *part = NULL;
    int status = spec ? hcy_dist_device(&scene.dev, scene.comm, spec) : 0;
    if (!status && *how == 'l')
        status = hcy_dist_split(&part, scene.comm, 0);
    if (!status && spec)
        status = hcy_queue_create(&scene.queue, scene.dev);
    if (!status && spec)
        status = hcy_array_empty(&numbers, scene.dev, HCY_FLOAT32, 1, (int64_t[]){ 1000 });
    status = status ? status : wait_for_all(numbers);
    if (!status && scene.rank == scene.n_ranks - 1) {
        /* When they wait, some of them on a processor. */
        nanosleep(&(struct timespec){ 0, 300000000 }, NULL);
        if (*how == 'k')
            raise(SIGKILL);
        if (*how == 'l') {
            fprintf(stderr, "rank %d: the others wait\n", scene.rank);
            sleep(290);
        }
        status = hcy_fail(HCY_EIO, "rank %d: the disk is full", scene.rank);
        fprintf(stderr, "%s\n", hcy_last_error()->text);
        hcy_dist_abort(scene.comm, 3);
    }
    for (int i = 0; !status && i < 1000; i++)
        status = wait_for_all(numbers);
    if (status && part)
        tell_what_is_carried(part);
    hcy_array_release(numbers);
    hcy_queue_release(scene.queue);
    hcy_device_release(scene.dev);
    if (is_thread)
        return status;
    if (status)
        give_up();
    /* Longer than tests/dist.t waits. */
    sleep(290);
    return 0;
}

struct arguments {
    int n;
    char **texts;
};

static int run_tests(hcy_dist *comm, void *user)
{
    const int argc = ((struct arguments *)user)->n;
    char **argv = ((struct arguments *)user)->texts;
    hcy_dist_info info = HCY_DIST_INFO_INIT;
    const int status = hcy_dist_get_info(&info, comm);
    if (status)
        return status;
    scene.comm = comm;
    scene.rank = info.rank;
    scene.n_ranks = info.n_ranks;
    if (argc > 1 && (!strcmp(argv[1], "killed") || !strcmp(argv[1], "late") || !strcmp(argv[1], "abort")))
        return lose_one(argv[1], !strcmp(info.transport, "threads"), argc > 2 ? argv[2] : NULL);
    scene.name = info.transport;
    const char *wanted = getenv("WANTED_RANKS"), *wanted_here = getenv("WANTED_LOCAL_RANKS");
    every(!wanted || scene.n_ranks == atoi(wanted), "as many ranks as were started");
    every(!wanted_here || info.n_local == atoi(wanted_here), "as many of them on each host");
    if (argc > 2 && !strcmp(argv[1], "refused")) {
        test_refused(argv[2]);
        return scene.rank ? 0 : done_testing();
    }
    test_host();
    test_agreement();
    test_split();
    test_wishes();
    if (argc < 2) {
        test_device("cpu@threads=1", ALL);
        test_device("cpu@threads=1@discrete=1", ALL);
    }
    int which = argc > 1 ? N_PARTS - 1 : ALL;
    while (which != ALL && strcmp(part_names[which], argv[1]))
        which--;
    for (int i = 1 + (which != ALL); i < argc; i++)
        test_device(argv[i], (enum part)which);
    test_own_device();
    return scene.rank ? 0 : done_testing();
}

int main(int argc, char **argv)
{
    const int status = hcy_dist_run(run_tests, &(struct arguments){ argc, argv }, NULL);
    if (status)
        printf("Bail out! %s (%s)\n", hcy_last_error()->text, hcy_last_error()->vendor);
    return status != 0;
}
