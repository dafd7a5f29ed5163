/* nccl.c - the transport of CUDA devices: NCCL, opened at run time, through prototypes of our own.
 *
 * Operations go to the queue's stream, behind what was submitted to it, and nobody waits for them there: the queue is
 * told which buffers they use (hcy_queue_keep()).  A failure is the next operation's, or the queue's.  The device's
 * context is current for the length of a call.
 *
 * Where NCCL has the non-blocking form (2.14 and later), and ranks have a limit to join and to part, nothing here waits
 * inside of it: what it has not done on return is asked for until it is done, has failed, or is over the limit; then it
 * is given up.  Operations have none: a rank may compute as long as it likes before it comes to one.
 *
 * A rank's own thread alone calls NCCL, but where ranks are threads and another one fails: then that one gives this
 * communicator up.  A lock keeps it out of calls that are under way, for as long as these may take at most.
 * https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/communicators.html
 * https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api.html
 */
#include "transport.h"
#include "cuda_context.h"

#include <halcyon/array.h>
#include <halcyon/backend.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

typedef struct nccl_id {
    char bytes[HCY__TRANSPORT_ID];
} nccl_id;
typedef struct nccl_end *nccl_comm;
typedef void *cuda_stream;

enum {
    NCCL_INT8 = 0,
    NCCL_UINT8,
    NCCL_INT32,
    NCCL_UINT32,
    NCCL_INT64,
    NCCL_UINT64,
    NCCL_FLOAT32 = 7,
    NCCL_FLOAT64
};
enum { NCCL_IN_PROGRESS = 7 };
enum { NCCL_SUM = 0, NCCL_MAX = 2, NCCL_MIN };

/* What 2.14 knows of a communicator's configuration: later ones have more behind it, and take what a version that is
 * said to be this one does not have as it is by default. */
typedef struct nccl_config {
    size_t size;
    unsigned int magic, version;
    int blocking, unused;
} nccl_config;
enum { NCCL_CONFIG_VERSION = 21400 };
static const unsigned int config_magic = 0xcafebeef;

/* result, name, arguments */
#define NCCL_FUNCTIONS(X)                                                                                    \
    X(int, ncclGetUniqueId, (nccl_id *))                                                                     \
    X(int, ncclCommInitRank, (nccl_comm *, int, nccl_id, int))                                               \
    X(int, ncclCommDestroy, (nccl_comm))                                                                     \
    X(int, ncclCommAbort, (nccl_comm))                                                                       \
    X(int, ncclCommGetAsyncError, (nccl_comm, int *))                                                        \
    X(int, ncclBroadcast, (const void *, void *, size_t, int, int, nccl_comm, cuda_stream))                  \
    X(int, ncclAllReduce, (const void *, void *, size_t, int, int, nccl_comm, cuda_stream))                  \
    X(int, ncclSend, (const void *, size_t, int, int, nccl_comm, cuda_stream))                               \
    X(int, ncclRecv, (void *, size_t, int, int, nccl_comm, cuda_stream))                                     \
    X(int, ncclGroupStart, (void))                                                                           \
    X(int, ncclGroupEnd, (void))                                                                             \
    X(const char *, ncclGetErrorString, (int))

/* Those of the non-blocking form. */
#define NCCL_LATER_FUNCTIONS(X)                                                                              \
    X(int, ncclCommInitRankConfig, (nccl_comm *, int, nccl_id, int, nccl_config *))                          \
    X(int, ncclCommFinalize, (nccl_comm))

static struct {
#define MEMBER(result, name, arguments) result(*name) arguments;
    NCCL_FUNCTIONS(MEMBER)
    NCCL_LATER_FUNCTIONS(MEMBER)
#undef MEMBER
    int complete, has_later;
} api;
static pthread_once_t once = PTHREAD_ONCE_INIT;

enum { MOST_SECONDS_IN_CALL = 5 };

struct nccl {
    _Atomic(nccl_comm) comm; /* NULL: it was aborted after a failure */
    pthread_mutex_t lock;
    atomic_bool is_given_up; /* by another rank's thread */
    void *context;
    int seconds; /* that ranks have to join and to part; 0: the blocking form */
};

/* The library is never closed: it has threads. */
static void load_api(void)
{
    void *nccl = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    int complete = 1;
#define FIND(result, name, arguments) complete = find_function(&api.name, nccl, #name) && complete;
    NCCL_FUNCTIONS(FIND)
    api.complete = complete;
    NCCL_LATER_FUNCTIONS(FIND)
    api.has_later = complete;
}

static int check_nccl(int code, const char *doing)
{
    if (!code || code == NCCL_IN_PROGRESS)
        return 0;
    return hcy_fail_vendor(HCY_EBACKEND, code, api.ncclGetErrorString(code),
                           "NCCL: %s failed (NCCL_DEBUG=WARN says more)", doing);
}

/* Until what was begun is done; `seconds` 0: as long as it takes.  The blocking form has never begun anything. */
static int wait_for_nccl(struct nccl *n, int seconds, const char *doing)
{
    const uint64_t begun = hcy_now_ns(), most = (uint64_t)seconds * 1000000000u;
    int state = NCCL_IN_PROGRESS, status = 0;
    /* The first looks come one after the other: operations are begun within microseconds. */
    for (int looks = 0; !status && state == NCCL_IN_PROGRESS; looks++) {
        if (looks > 100)
            nanosleep(&(struct timespec){ 0, looks > 200 ? 1000000 : 20000 }, NULL);
        if (atomic_load(&n->is_given_up))
            return hcy_fail(HCY_EBACKEND, "NCCL: %s is given up: another rank has failed", doing);
        status = check_nccl(api.ncclCommGetAsyncError(n->comm, &state), "asking for failures");
        if (!status && state == NCCL_IN_PROGRESS && seconds && hcy_now_ns() - begun > most)
            return hcy_fail(HCY_EBACKEND, /* as what hinders another rank: then each says its own */
                            "NCCL: %s has taken more than %d seconds, and was given up: a rank has not come, or cannot "
                            "be reached (nccl@wait=SECONDS allows more)",
                            doing, seconds);
    }
    return status ? status : check_nccl(state, doing);
}

/* --- Ends --- */

static int nccl_usable(hcy_device *dev)
{
    pthread_once(&once, load_api);
    return api.complete && find_context(dev);
}

static int nccl_make_id(char id[HCY__TRANSPORT_ID], hcy_device *dev)
{
    nccl_id made;
    int status = enter_context(find_context(dev));
    if (status)
        return status;
    status = check_nccl(api.ncclGetUniqueId(&made), "making an id");
    leave_context();
    if (!status)
        memcpy(id, made.bytes, sizeof made.bytes);
    return status;
}

static int join_ranks(struct nccl *n, nccl_id id, int rank, int n_ranks)
{
    static const char doing[] = "making a communicator";
    nccl_config config = { sizeof config, config_magic, NCCL_CONFIG_VERSION, 0, 0 };
    nccl_comm comm = NULL;
    int status = n->seconds ? api.ncclCommInitRankConfig(&comm, n_ranks, id, rank, &config)
                            : api.ncclCommInitRank(&comm, n_ranks, id, rank);
    n->comm = comm;
    status = check_nccl(status, doing);
    if (!status && n->seconds)
        status = wait_for_nccl(n, n->seconds, doing);
    if (status && n->seconds && comm)
        api.ncclCommAbort(comm);
    return status;
}

static void free_end(struct nccl *n)
{
    pthread_mutex_destroy(&n->lock);
    free(n);
}

static int nccl_open(void **impl, hcy_device *dev, const char *id, int rank, int n_ranks, int seconds)
{
    nccl_id of_all;
    memcpy(of_all.bytes, id, sizeof of_all.bytes);
    struct nccl *n = calloc(1, sizeof *n);
    if (!n)
        return hcy_fail(HCY_ENOMEM, "out of memory for a communicator of devices");
    pthread_mutex_init(&n->lock, NULL);
    n->context = find_context(dev);
    n->seconds = api.has_later ? seconds : 0;
    int status = enter_context(n->context);
    if (!status) {
        status = join_ranks(n, of_all, rank, n_ranks);
        leave_context();
    }
    if (status)
        free_end(n);
    else
        *impl = n;
    return status;
}

static void nccl_close(void *impl)
{
    struct nccl *n = impl;
    if (n->comm && !enter_context(n->context)) {
        int status = n->seconds ? check_nccl(api.ncclCommFinalize(n->comm), "parting") : 0;
        if (!status && n->seconds)
            status = wait_for_nccl(n, n->seconds, "parting");
        if (status)
            api.ncclCommAbort(n->comm);
        else
            api.ncclCommDestroy(n->comm);
        leave_context();
    }
    free_end(n);
}

/* A call that is under way ends by itself, or, where it waits for other ranks, by the abortion. */
static void nccl_give_up(void *impl)
{
    struct nccl *n = impl;
    struct timespec until;
    atomic_store(&n->is_given_up, true);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += MOST_SECONDS_IN_CALL;
    const int locked = !pthread_mutex_timedlock(&n->lock, &until);
    const nccl_comm comm = atomic_exchange(&n->comm, NULL);
    if (comm && !enter_context(n->context)) {
        api.ncclCommAbort(comm);
        leave_context();
    }
    if (locked)
        pthread_mutex_unlock(&n->lock);
}

/* --- Operations: begun, put into the stream, left there --- */

/* After a failure nothing in the stream may wait for other ranks any more, or use the buffers: NCCL gives all up. */
static void abort_communicator(struct nccl *n, cuda_stream stream)
{
    const nccl_comm comm = atomic_exchange(&n->comm, NULL);
    if (comm)
        api.ncclCommAbort(comm);
    cuda.synchronize(stream);
}

/* Failures of what was submitted before are told by the next operation, or by the queue.  On success the lock is
 * closed, until end_call(). */
static int begin_call(cuda_stream *stream, struct nccl *n, hcy_queue *queue)
{
    int64_t value = 0;
    int status = hcy_queue_status(queue);
    if (!status)
        status = hcy_queue_get_i64(&value, queue, "cu_stream");
    *stream = (cuda_stream)(intptr_t)value;
    if (!status)
        status = enter_context(n->context);
    if (status)
        return status;
    pthread_mutex_lock(&n->lock);
    if (!n->comm)
        status = hcy_fail(HCY_EBACKEND, "NCCL: the communicator was given up after a failure");
    else if ((status = wait_for_nccl(n, 0, "what was submitted")))
        abort_communicator(n, *stream);
    if (status) {
        pthread_mutex_unlock(&n->lock);
        leave_context();
    }
    return status;
}

/* The host waits until it is in the stream, and no longer: what it submits next is ready when the messages are through.
 * So buffers have to stay. */
static int end_call(struct nccl *n, cuda_stream stream, hcy_queue *queue, hcy_buffer *const *buffers, size_t count,
                    int status)
{
    if (!status)
        status = wait_for_nccl(n, 0, "what is submitted");
    if (!status)
        status = hcy_queue_keep(queue, buffers, count);
    if (status)
        abort_communicator(n, stream);
    pthread_mutex_unlock(&n->lock);
    leave_context();
    return status;
}

static int find_address(char **address, hcy_buffer *buffer, size_t offset)
{
    int64_t value = 0;
    int status = hcy_buffer_get_i64(&value, buffer, "cu_deviceptr");
    *address = (char *)(intptr_t)value + offset;
    return status;
}

static int nccl_broadcast(hcy_queue *queue, void *impl, hcy_buffer *buffer, size_t offset, size_t bytes,
                          int root)
{
    struct nccl *n = impl;
    cuda_stream stream = NULL;
    char *data = NULL;
    int status = find_address(&data, buffer, offset);
    if (!status)
        status = begin_call(&stream, n, queue);
    if (status)
        return status;
    status = check_nccl(api.ncclBroadcast(data, data, bytes, NCCL_UINT8, root, n->comm, stream), "a broadcast");
    return end_call(n, stream, queue, &buffer, 1, status);
}

static int nccl_type_of(int dtype)
{
    switch (dtype) {
    case HCY_INT8:
        return NCCL_INT8;
    case HCY_UINT8:
        return NCCL_UINT8;
    case HCY_INT32:
        return NCCL_INT32;
    case HCY_UINT32:
        return NCCL_UINT32;
    case HCY_INT64:
        return NCCL_INT64;
    case HCY_UINT64:
        return NCCL_UINT64;
    case HCY_FLOAT32:
        return NCCL_FLOAT32;
    default:
        return NCCL_FLOAT64;
    }
}

static int nccl_allreduce(hcy_queue *queue, void *impl, hcy_buffer *buffer, size_t offset, size_t count,
                          int dtype, int reduction)
{
    static const int operations[] = { [HCY__SUM] = NCCL_SUM, [HCY__MIN] = NCCL_MIN, [HCY__MAX] = NCCL_MAX };
    struct nccl *n = impl;
    cuda_stream stream = NULL;
    char *data = NULL;
    int status = find_address(&data, buffer, offset);
    if (!status)
        status = begin_call(&stream, n, queue);
    if (status)
        return status;
    status = check_nccl(
        api.ncclAllReduce(data, data, count, nccl_type_of(dtype), operations[reduction], n->comm, stream),
        "a reduction");
    return end_call(n, stream, queue, &buffer, 1, status);
}

static int submit_bytes(const struct nccl *n, const struct hcy__message *m, cuda_stream stream)
{
    char *data = NULL;
    int status = find_address(&data, m->buffer, m->offset);
    if (status)
        return status;
    return m->sends
               ? check_nccl(api.ncclSend(data, m->bytes, NCCL_UINT8, m->rank, n->comm, stream), "sending")
               : check_nccl(api.ncclRecv(data, m->bytes, NCCL_UINT8, m->rank, n->comm, stream), "receiving");
}

/* In one group, so that no order of messages lets ranks wait for each other. */
static int submit_group(const struct nccl *n, const struct hcy__message *messages, size_t count, cuda_stream stream)
{
    int status = check_nccl(api.ncclGroupStart(), "beginning a group of messages");
    for (size_t i = 0; !status && i < count; i++)
        status = submit_bytes(n, &messages[i], stream);
    int ended = check_nccl(api.ncclGroupEnd(), "a group of messages");
    return status ? status : ended;
}

static int nccl_exchange(hcy_queue *queue, void *impl, const struct hcy__message *messages, size_t n)
{
    struct nccl *end = impl;
    cuda_stream stream = NULL;
    if (!n)
        return 0;
    hcy_buffer **buffers = malloc(n * sizeof *buffers);
    if (!buffers)
        return hcy_fail(HCY_ENOMEM, "out of memory for %zu messages", n);
    for (size_t i = 0; i < n; i++)
        buffers[i] = messages[i].buffer;
    int status = begin_call(&stream, end, queue);
    if (!status)
        status = end_call(end, stream, queue, buffers, n, submit_group(end, messages, n, stream));
    free(buffers);
    return status;
}

static const struct hcy_device_transport nccl_transport = {
    sizeof nccl_transport, HCY_TRANSPORT_ABI, "nccl",       nccl_usable, nccl_make_id, nccl_open, nccl_close,
    nccl_broadcast,        nccl_allreduce,    nccl_exchange,
    nccl_give_up
};

HCY_API void hcy_transport_entry(const struct hcy_transport **host,
                                 const struct hcy_device_transport **device);
void hcy_transport_entry(const struct hcy_transport **host, const struct hcy_device_transport **device)
{
    *host = NULL;
    *device = &nccl_transport;
}
