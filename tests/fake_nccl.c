/* fake_nccl.c - an NCCL (libnccl.so.2) for the GPUs of fake_cuda.c, whose memory is the host's: bytes go between
 * processes through a file that all map.
 *
 * It holds its caller to NCCL's rules: a configuration as 2.14 and later read it, no call of a communicator that is in
 * progress, none destroyed that was not finalized.  The environment's FAKE_NCCL: `slow`, all that is begun is in
 * progress for some looks; `lost`, rank 1 fails to join; `late`, an error is found after some operations.  With
 * -DFAKE_OLD it has the blocking form alone.  tests/dist.t builds it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* ftruncate, sched_yield */
#endif
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { SUCCESS = 0, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, REMOTE_ERROR = 6, IN_PROGRESS = 7 };
enum { RANKS = 4, SLOTS = 8, PIECE = 16384, SOME_LOOKS = 500, FEW_OPERATIONS = 3 };

typedef struct ncclUniqueId {
    char internal[128];
} ncclUniqueId;

/* What all ranks map. */
struct shared {
    atomic_int joined, parted, at_barrier, turn;
    char common[RANKS][PIECE];
    struct box {
        atomic_uint sent, taken;
        size_t bytes[SLOTS];
        char data[SLOTS][PIECE];
    } boxes[RANKS][RANKS]; /* from, to */
};

typedef struct ncclComm {
    struct shared *shared;
    int rank, n_ranks, blocking, looks, operations, late_looks, finalized;
    atomic_int state; /* INSIDE, ABORTED: who comes last of the operation and another thread's abortion frees it */
} *ncclComm_t;
enum { INSIDE = 1, ABORTED = 2 };

struct message {
    int sends, peer;
    void *data;
    size_t bytes;
    ncclComm_t comm;
};
static _Thread_local struct message group[64];
static _Thread_local int n_group, depth;
static atomic_int n_live;

static int is_told(const char *word)
{
    const char *told = getenv("FAKE_NCCL");
    return told && !strcmp(told, word);
}

__attribute__((destructor)) static void count_live(void)
{
    if (atomic_load(&n_live))
        fprintf(stderr, "fake_nccl: %d communicators are left\n", atomic_load(&n_live));
}

const char *ncclGetErrorString(int code)
{
    return code == REMOTE_ERROR ? "remote process exited" : code == SYSTEM_ERROR ? "unhandled system error" : "error";
}

/* --- Joining and parting --- */

int ncclGetUniqueId(ncclUniqueId *id)
{
    const char *folder = getenv("TMPDIR");
    snprintf(id->internal, sizeof id->internal, "%s/fake-nccl-XXXXXX", folder ? folder : "/tmp");
    int fd = mkstemp(id->internal);
    int failed = fd < 0 || ftruncate(fd, sizeof(struct shared));
    if (fd >= 0)
        close(fd);
    return failed ? SYSTEM_ERROR : SUCCESS;
}

static int join_file(ncclComm_t *out, int n_ranks, const ncclUniqueId *id, int rank, int blocking)
{
    ncclComm_t c = calloc(1, sizeof *c);
    int fd = open(id->internal, O_RDWR | O_CLOEXEC);
    if (!c || fd < 0 || n_ranks > RANKS || (rank == 1 && is_told("lost")))
        return SYSTEM_ERROR;
    c->shared = mmap(NULL, sizeof *c->shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    c->rank = rank;
    c->n_ranks = n_ranks;
    c->blocking = blocking;
    c->looks = is_told("slow") ? SOME_LOOKS : 0;
    atomic_fetch_add(&n_live, 1);
    if (atomic_fetch_add(&c->shared->joined, 1) + 1 == n_ranks)
        unlink(id->internal);
    *out = c;
    return blocking ? SUCCESS : IN_PROGRESS;
}

static void leave_file(ncclComm_t c)
{
    munmap(c->shared, sizeof *c->shared);
    atomic_fetch_sub(&n_live, 1);
    free(c);
}

/* Not on a processor: a rank that goes keeps others waiting for long. */
static void nap(void)
{
    nanosleep(&(struct timespec){ 0, 20000 }, NULL);
}

int ncclCommInitRank(ncclComm_t *comm, int n_ranks, ncclUniqueId id, int rank)
{
    int status = join_file(comm, n_ranks, &id, rank, 1);
    while (!status && atomic_load(&(*comm)->shared->joined) < n_ranks)
        nap();
    return status;
}

static int state_of(ncclComm_t c)
{
    if (is_told("late") && c->operations >= FEW_OPERATIONS && c->late_looks++)
        return REMOTE_ERROR;
    if (c->looks > 0)
        return IN_PROGRESS;
    if (c->finalized)
        return atomic_load(&c->shared->parted) < c->n_ranks ? IN_PROGRESS : SUCCESS;
    return atomic_load(&c->shared->joined) < c->n_ranks ? IN_PROGRESS : SUCCESS;
}

int ncclCommGetAsyncError(ncclComm_t c, int *state)
{
    *state = state_of(c);
    c->looks -= c->looks > 0;
    return SUCCESS;
}

#ifndef FAKE_OLD
struct config {
    size_t size;
    unsigned int magic, version;
    int blocking;
};

/* As later versions do: what 2.14 had is read, and what came later if the version says that it is there. */
int ncclCommInitRankConfig(ncclComm_t *comm, int n_ranks, ncclUniqueId id, int rank, const struct config *config)
{
    if (config->size < sizeof *config || config->magic != 0xcafebeef || config->version < 21400 ||
        (config->version >= 21700 && config->size <= sizeof *config) || config->blocking)
        return INVALID_ARGUMENT;
    return join_file(comm, n_ranks, &id, rank, 0);
}

int ncclCommFinalize(ncclComm_t c)
{
    if (state_of(c))
        return INVALID_ARGUMENT;
    c->finalized = 1;
    c->looks = is_told("slow") ? SOME_LOOKS : 0;
    atomic_fetch_add(&c->shared->parted, 1);
    return IN_PROGRESS;
}
#endif

int ncclCommDestroy(ncclComm_t c)
{
    if (!c->blocking && (!c->finalized || state_of(c))) {
        fprintf(stderr, "fake_nccl: destroyed before it was finalized\n");
        _exit(70);
    }
    leave_file(c);
    return SUCCESS;
}

int ncclCommAbort(ncclComm_t c)
{
    fprintf(stderr, "fake_nccl: rank %d gives up\n", c->rank);
    if (!(atomic_fetch_or(&c->state, ABORTED) & INSIDE))
        leave_file(c);
    return SUCCESS;
}

/* --- Operations --- */

static int begin(ncclComm_t c)
{
    if (state_of(c))
        return INVALID_ARGUMENT;
    atomic_fetch_or(&c->state, INSIDE);
    c->operations++;
    return SUCCESS;
}

static int is_aborted(ncclComm_t c)
{
    return atomic_load(&c->state) & ABORTED;
}

static int end(ncclComm_t c)
{
    if (atomic_fetch_and(&c->state, ~INSIDE) & ABORTED) {
        leave_file(c);
        return REMOTE_ERROR;
    }
    c->looks = is_told("slow") ? SOME_LOOKS : 0;
    return c->looks && !c->blocking ? IN_PROGRESS : SUCCESS;
}

static void wait_for_all(ncclComm_t c)
{
    struct shared *s = c->shared;
    int turn = atomic_load(&s->turn);
    if (atomic_fetch_add(&s->at_barrier, 1) + 1 == c->n_ranks) {
        atomic_store(&s->at_barrier, 0);
        atomic_fetch_add(&s->turn, 1);
    }
    while (atomic_load(&s->turn) == turn && !is_aborted(c))
        nap();
}

int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, ncclComm_t c, void *stream)
{
    (void)stream;
    int status = type == 1 ? begin(c) : INVALID_ARGUMENT;
    if (status)
        return status;
    for (size_t at = 0; at < count && !is_aborted(c); at += PIECE) {
        size_t bytes = count - at < PIECE ? count - at : PIECE;
        if (c->rank == root)
            memcpy(c->shared->common[0], (const char *)from + at, bytes);
        wait_for_all(c);
        memcpy((char *)to + at, c->shared->common[0], bytes);
        wait_for_all(c);
    }
    return end(c);
}

static double number_at(const char *data, size_t i, int type)
{
    return type == 7 ? (double)((const float *)(const void *)data)[i]
           : type == 8 ? ((const double *)(const void *)data)[i]
           : type == 2 ? (double)((const int32_t *)(const void *)data)[i]
                       : (double)((const int64_t *)(const void *)data)[i];
}

static double reduce(double a, double b, int operation)
{
    return operation == 0 ? a + b : operation == 2 ? (a > b ? a : b) : (a < b ? a : b);
}

int ncclAllReduce(const void *from, void *to, size_t count, int type, int operation, ncclComm_t c, void *stream)
{
    (void)stream;
    const size_t size = type == 7 || type == 2 ? 4 : 8, most = PIECE / size;
    int status = type == 7 || type == 8 || type == 2 || type == 4 ? begin(c) : INVALID_ARGUMENT;
    for (size_t at = 0; !status && at < count && !is_aborted(c); at += most) {
        size_t n = count - at < most ? count - at : most;
        memcpy(c->shared->common[c->rank], (const char *)from + at * size, n * size);
        wait_for_all(c);
        for (size_t i = 0; i < n; i++) {
            double sum = number_at(c->shared->common[0], i, type);
            char *place = (char *)to + (at + i) * size;
            for (int r = 1; r < c->n_ranks; r++)
                sum = reduce(sum, number_at(c->shared->common[r], i, type), operation);
            if (type == 7)
                memcpy(place, &(float){ (float)sum }, size);
            else if (type == 8)
                memcpy(place, &sum, size);
            else if (type == 2)
                memcpy(place, &(int32_t){ (int32_t)sum }, size);
            else
                memcpy(place, &(int64_t){ (int64_t)sum }, size);
        }
        wait_for_all(c);
    }
    return status ? status : end(c);
}

static int add_message(int sends, void *data, size_t bytes, int type, int peer, ncclComm_t c)
{
    if (type != 1 || bytes > PIECE || !depth || n_group == 64)
        return INVALID_USAGE;
    int status = n_group ? SUCCESS : begin(c);
    if (!status)
        group[n_group++] = (struct message){ sends, peer, data, bytes, c };
    return status;
}

int ncclSend(const void *data, size_t count, int type, int peer, ncclComm_t c, void *stream)
{
    (void)stream;
    return add_message(1, (void *)(uintptr_t)data, count, type, peer, c);
}

int ncclRecv(void *data, size_t count, int type, int peer, ncclComm_t c, void *stream)
{
    (void)stream;
    return add_message(0, data, count, type, peer, c);
}

int ncclGroupStart(void)
{
    depth++;
    n_group = 0;
    return SUCCESS;
}

/* All that is sent first: nobody waits for a rank that waits for it. */
static void pass_messages(int sends)
{
    for (int i = 0; i < n_group; i++) {
        const struct message *m = &group[i];
        const int me = m->comm->rank;
        struct box *b = &m->comm->shared->boxes[sends ? me : m->peer][sends ? m->peer : me];
        if (m->sends != sends)
            continue;
        while (!is_aborted(m->comm) && (sends ? atomic_load(&b->sent) - atomic_load(&b->taken) == SLOTS
                                              : atomic_load(&b->sent) == atomic_load(&b->taken)))
            nap();
        if (is_aborted(m->comm))
            return;
        const unsigned slot = atomic_load(sends ? &b->sent : &b->taken) % SLOTS;
        if (sends)
            memcpy(b->data[slot], m->data, b->bytes[slot] = m->bytes);
        else
            memcpy(m->data, b->data[slot], b->bytes[slot] < m->bytes ? b->bytes[slot] : m->bytes);
        atomic_fetch_add(sends ? &b->sent : &b->taken, 1);
    }
}

int ncclGroupEnd(void)
{
    if (--depth)
        return INVALID_USAGE;
    pass_messages(1);
    pass_messages(0);
    return n_group ? end(group[0].comm) : SUCCESS;
}
