/* nccl.c - the transport of CUDA devices: NCCL, opened at run time, through prototypes of our own.
 *
 * Operations go to the queue's stream, behind what was submitted to it, and nobody waits for them there: the queue is
 * told which buffers they use (hcy_queue_keep()).  A failure is the next operation's, or the queue's.  The device's
 * context is current for the length of a call.
 * https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api.html
 */
#include "transport.h"
#include "cuda_context.h"

#include <halcyon/array.h>
#include <stdlib.h>

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
enum { NCCL_SUM = 0, NCCL_MAX = 2, NCCL_MIN };

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

static struct {
#define MEMBER(result, name, arguments) result(*name) arguments;
    NCCL_FUNCTIONS(MEMBER)
#undef MEMBER
    int complete;
} api;
static pthread_once_t once = PTHREAD_ONCE_INIT;

struct nccl {
    nccl_comm comm; /* NULL: it was aborted after a failure */
    void *context;
};

/* The library is never closed: it has threads. */
static void load_api(void)
{
    void *nccl = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    int complete = 1;
#define FIND(result, name, arguments) complete = find_function(&api.name, nccl, #name) && complete;
    NCCL_FUNCTIONS(FIND)
    api.complete = complete;
}

static int check_nccl(int code, const char *doing)
{
    return code ? hcy_fail_vendor(HCY_EBACKEND, code, api.ncclGetErrorString(code),
                                  "NCCL: %s failed (NCCL_DEBUG=WARN says more)", doing)
                : 0;
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

static int nccl_open(void **impl, hcy_device *dev, const char *id, int rank, int n_ranks)
{
    nccl_id of_all;
    memcpy(of_all.bytes, id, sizeof of_all.bytes);
    struct nccl *n = calloc(1, sizeof *n);
    if (!n)
        return hcy_fail(HCY_ENOMEM, "out of memory for a communicator of devices");
    n->context = find_context(dev);
    int status = enter_context(n->context);
    if (!status) {
        status = check_nccl(api.ncclCommInitRank(&n->comm, n_ranks, of_all, rank), "making a communicator");
        leave_context();
    }
    if (status)
        free(n);
    else
        *impl = n;
    return status;
}

static void nccl_close(void *impl)
{
    struct nccl *n = impl;
    if (n->comm && !enter_context(n->context)) {
        api.ncclCommDestroy(n->comm);
        leave_context();
    }
    free(n);
}

/* --- Operations: begun, put into the stream, left there --- */

/* After a failure nothing in the stream may wait for other ranks any more, or use the buffers: NCCL gives all up. */
static void abort_communicator(struct nccl *n, cuda_stream stream)
{
    api.ncclCommAbort(n->comm);
    n->comm = NULL;
    cuda.synchronize(stream);
}

/* Failures of what was submitted before are told by the next operation, or by the queue. */
static int begin_call(cuda_stream *stream, struct nccl *n, hcy_queue *queue)
{
    int64_t value = 0;
    int earlier = 0;
    int status = n->comm ? hcy_queue_status(queue)
                         : hcy_fail(HCY_EBACKEND, "NCCL: the communicator was given up after a failure");
    if (!status)
        status = hcy_queue_get_i64(&value, queue, "cu_stream");
    *stream = (cuda_stream)(intptr_t)value;
    if (!status)
        status = enter_context(n->context);
    if (status)
        return status;
    status = check_nccl(api.ncclCommGetAsyncError(n->comm, &earlier), "asking for failures");
    if (!status)
        status = check_nccl(earlier, "what was submitted");
    if (status) {
        abort_communicator(n, *stream);
        leave_context();
    }
    return status;
}

/* The host does not wait: what it submits next is ready when the messages are through.  So buffers have to stay. */
static int end_call(struct nccl *n, cuda_stream stream, hcy_queue *queue, hcy_buffer *const *buffers, size_t count,
                    int status)
{
    if (!status)
        status = hcy_queue_keep(queue, buffers, count);
    if (status)
        abort_communicator(n, stream);
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
    nccl_broadcast,        nccl_allreduce,    nccl_exchange
};

HCY_API void hcy_transport_entry(const struct hcy_transport **host,
                                 const struct hcy_device_transport **device);
void hcy_transport_entry(const struct hcy_transport **host, const struct hcy_device_transport **device)
{
    *host = NULL;
    *device = &nccl_transport;
}
