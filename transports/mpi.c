/* mpi.c - the transport of an MPI: compiled once for each that the build finds, with its own mpi.h and library, and
 * once for those that have MPI 5's binary interface and are found at run time.
 *
 * MPI is started by the first communicator, unless the program did, and then ended by the last: a process that ends
 * without that has failed, and its launcher ends the others.  Errors are returned, with MPI's words.  One thread at a
 * time, of all communicators; the count of users has a lock because they may be released in any thread.
 */
#include "transport.h"
#include "cuda_context.h"

#include <halcyon/array.h>
#include <halcyon/backend.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#ifdef TRANSPORT_ABI
#include "mpi_abi.h"
#else
#include <mpi.h>
/* It came with this module. */
static int find_mpi(void)
{
    return 0;
}
static void *find_extension(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}
#endif

struct piece {
    MPI_Request request;
    int wanted, from; /* bytes that are to come from that rank; -1: it is sent */
};

struct mpi {
    MPI_Comm comm;
    size_t piece;
    void *context; /* of the CUDA device whose memory messages may be in; NULL: of none */
    struct piece *pieces; /* of an exchange, which grow */
    size_t room;
    int seconds; /* that others may take to come; 0: for ever */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned users;
static int is_ours;
/* A rank of any communicator has taken longer: what was begun is still on its way to memory that is the caller's no
 * more, and any call of MPI's would carry it on.  So nothing more is called, freed or ended, which would wait for who
 * does not come; the launcher sees that this process ends without. */
static atomic_int was_lost;

static int check_mpi(int code, const char *doing)
{
    char words[MPI_MAX_ERROR_STRING] = "";
    int n = 0;
    if (code == MPI_SUCCESS)
        return 0;
    MPI_Error_string(code, words, &n);
    return hcy_fail_vendor(HCY_EBACKEND, code, words, "MPI (" TRANSPORT_NAME "): %s failed", doing);
}

/* --- Waiting --- */

static int check_reached(void)
{
    return was_lost ? hcy_fail(HCY_EBACKEND,
                               "MPI (" TRANSPORT_NAME "): a rank has not come before, and no more is carried")
                    : 0;
}

/* For what was begun. */
static int wait_for(struct mpi *m, MPI_Request *request, MPI_Status *came, const char *doing)
{
    const uint64_t second = 1000000000u, most = (uint64_t)m->seconds * second;
    uint64_t last = hcy_now_ns(), waited = 0;
    int done = 0;
    if (!m->seconds)
        return check_mpi(MPI_Wait(request, came), doing);
    for (;;) {
        const int status = check_mpi(MPI_Test(request, &done, came), doing);
        if (status || done)
            return status;
        /* While all are stopped (SIGSTOP, a scheduler's suspension) nobody waits. */
        const uint64_t now = hcy_now_ns();
        waited += now - last < second ? now - last : second;
        last = now;
        if (waited > most)
            break;
        sched_yield();
    }
    was_lost = 1;
    return hcy_fail(HCY_EBACKEND,
                    "MPI (" TRANSPORT_NAME "): %s has taken more than %d seconds, and was given up: a rank has not "
                    "come, or cannot be reached (mpi@wait=SECONDS allows more)",
                    doing, m->seconds);
}

/* The same of a collective, whose beginning MPI has returned `code` of. */
static int wait_for_begun(struct mpi *m, int code, MPI_Request *request, const char *doing)
{
    const int status = check_mpi(code, doing);
    return status ? status : wait_for(m, request, MPI_STATUS_IGNORE, doing);
}

/* --- Beginning and end --- */

static int start_mpi(void)
{
    int started = 0, ended = 0, provided = 0;
    MPI_Finalized(&ended);
    if (ended)
        return hcy_fail(HCY_ESTATE,
                        "MPI (" TRANSPORT_NAME ") was ended in this process, and starts once only: keep a "
                        "communicator for as long as others are made");
    MPI_Initialized(&started);
    if (started)
        return 0;
    int status = check_mpi(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided), "starting");
    is_ours = !status;
    return status;
}

static int join_users(void)
{
    pthread_mutex_lock(&lock);
    int status = users ? 0 : find_mpi();
    if (!status && !users)
        status = start_mpi();
    users += !status;
    pthread_mutex_unlock(&lock);
    return status;
}

static void leave_users(int seconds)
{
    struct mpi all = { .seconds = seconds };
    MPI_Request request;
    pthread_mutex_lock(&lock);
    if (!--users && is_ours && !was_lost) {
        if (seconds)
            wait_for_begun(&all, MPI_Ibarrier(MPI_COMM_WORLD, &request), &request, "ending");
        if (!was_lost)
            MPI_Finalize();
    }
    pthread_mutex_unlock(&lock);
}

static int find_place(struct hcy__place *place, MPI_Comm comm)
{
    MPI_Comm host = MPI_COMM_NULL;
    int status = check_mpi(MPI_Comm_rank(comm, &place->rank), "asking for the rank");
    if (!status)
        status = check_mpi(MPI_Comm_size(comm, &place->n_ranks), "asking for the number of ranks");
    if (!status)
        status = check_mpi(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, place->rank, MPI_INFO_NULL, &host),
                           "finding the ranks of this host");
    if (status)
        return status;
    status = check_mpi(MPI_Comm_rank(host, &place->local_rank), "asking for the rank");
    if (!status)
        status = check_mpi(MPI_Comm_size(host, &place->n_local), "asking for the number of ranks");
    MPI_Comm_free(&host);
    return status;
}

static void mpi_close(void *impl)
{
    struct mpi *m = impl;
    if (!was_lost)
        MPI_Comm_free(&m->comm);
    const int seconds = m->seconds;
    free(m->pieces);
    free(m);
    leave_users(seconds);
}

static int need_pieces(struct mpi *m, size_t n)
{
    if (n <= m->room)
        return 0;
    struct piece *grown = realloc(m->pieces, n * sizeof *grown);
    if (!grown)
        return hcy_fail(HCY_ENOMEM, "out of memory for %zu messages", n);
    m->pieces = grown;
    m->room = n;
    return 0;
}

/* Takes `comm`, and a user's place, on failure too. */
static int make_end(void **impl, struct hcy__place *place, MPI_Comm comm, size_t piece, int seconds)
{
    struct mpi *m = malloc(sizeof *m);
    if (!m) {
        MPI_Comm_free(&comm);
        leave_users(0);
        return hcy_fail(HCY_ENOMEM, "out of memory for a communicator");
    }
    *m = (struct mpi){ .comm = comm, .piece = piece, .seconds = seconds };
    int status = check_mpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "setting the error handler");
    if (!status)
        status = find_place(place, comm);
    /* What all send to one another at once has room, so that nobody waits for one that has none. */
    if (!status)
        status = need_pieces(m, 4 * (size_t)place->n_ranks);
    if (status)
        mpi_close(m);
    else
        *impl = m;
    return status;
}

static int mpi_open(void **impl, struct hcy__place *place, size_t piece, int seconds)
{
    MPI_Comm comm = MPI_COMM_NULL;
    int status = check_reached();
    if (!status)
        status = join_users();
    if (status)
        return status;
    /* A communicator of our own, so that the program's messages do not meet ours. */
    status = check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "making a communicator");
    if (status) {
        leave_users(0);
        return status;
    }
    /* Launchers do not give all hosts this one's environment, and ranks that cut, or wait, otherwise than others would
     * not meet. */
    unsigned long long wish[2] = { piece, (unsigned)seconds };
    status = check_mpi(MPI_Bcast(wish, sizeof wish, MPI_BYTE, 0, comm), "making a communicator");
    if (status) {
        MPI_Comm_free(&comm);
        leave_users(0);
        return status;
    }
    return make_end(impl, place, comm, (size_t)wish[0], (int)wish[1]);
}

static int mpi_barrier(void *impl);

static int mpi_split(void **part, struct hcy__place *place, void *impl, int colour)
{
    struct mpi *m = impl;
    MPI_Comm comm = MPI_COMM_NULL;
    *part = NULL;
    /* Splitting itself waits for ever. */
    int status = m->seconds ? mpi_barrier(m) : check_reached();
    if (!status)
        status = check_mpi(MPI_Comm_split(m->comm, colour < 0 ? MPI_UNDEFINED : colour, 0, &comm),
                           "splitting a communicator");
    if (status || comm == MPI_COMM_NULL)
        return status;
    /* There is a user already, so that nothing starts. */
    pthread_mutex_lock(&lock);
    users++;
    pthread_mutex_unlock(&lock);
    return make_end(part, place, comm, m->piece, m->seconds);
}

static void mpi_end_all(void *impl, int code)
{
    struct mpi *m = impl;
    MPI_Abort(m->comm, code);
}

/* --- Memory of devices --- */

/* An extension that Open MPI and MPICH have: whether this MPI, here and now, takes addresses of CUDA's. */
static int mpi_reaches(void *impl, hcy_device *dev)
{
    struct mpi *m = impl;
    void *found = find_extension("MPIX_Query_cuda_support");
    int (*takes_cuda)(void) = NULL;
    memcpy(&takes_cuda, &found, sizeof found);
    /* Open MPI's collectives that return at once do not take it (https://github.com/open-mpi/ompi/issues/9845). */
    m->context = dev && !m->seconds && takes_cuda && takes_cuda() == 1 ? find_context(dev) : NULL;
    return m->context != NULL;
}

static void *mpi_address(void *impl, hcy_buffer *buffer)
{
    int64_t value = 0;
    (void)impl;
    return hcy_buffer_get_i64(&value, buffer, "cu_deviceptr") ? NULL : (void *)(intptr_t)value;
}

/* MPI copies with the context that is current. */
static int enter_device(const struct mpi *m)
{
    return m->context ? enter_context(m->context) : 0;
}

static void leave_device(const struct mpi *m)
{
    if (m->context)
        leave_context();
}

/* --- Collectives, in pieces that an int can count --- */

static int mpi_barrier(void *impl)
{
    struct mpi *m = impl;
    MPI_Request request;
    const int status = check_reached();
    if (status || !m->seconds)
        return status ? status : check_mpi(MPI_Barrier(m->comm), "a barrier");
    return wait_for_begun(m, MPI_Ibarrier(m->comm, &request), &request, "a barrier");
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static int mpi_broadcast(void *data, void *impl, size_t bytes, int root)
{
    struct mpi *m = impl;
    MPI_Request request;
    int status = check_reached();
    if (!status)
        status = enter_device(m);
    if (status)
        return status;
    for (size_t at = 0; !status && at < bytes; at += m->piece) {
        char *piece = (char *)data + at;
        const int n = (int)smaller(m->piece, bytes - at);
        status = m->seconds ? wait_for_begun(m, MPI_Ibcast(piece, n, MPI_BYTE, root, m->comm, &request), &request,
                                             "a broadcast")
                            : check_mpi(MPI_Bcast(piece, n, MPI_BYTE, root, m->comm), "a broadcast");
    }
    leave_device(m);
    return status;
}

static MPI_Datatype type_of(int dtype)
{
    switch (dtype) {
    case HCY_INT8:
        return MPI_INT8_T;
    case HCY_UINT8:
        return MPI_UINT8_T;
    case HCY_INT16:
        return MPI_INT16_T;
    case HCY_UINT16:
        return MPI_UINT16_T;
    case HCY_INT32:
        return MPI_INT32_T;
    case HCY_UINT32:
        return MPI_UINT32_T;
    case HCY_INT64:
        return MPI_INT64_T;
    case HCY_UINT64:
        return MPI_UINT64_T;
    case HCY_FLOAT32:
        return MPI_FLOAT;
    default:
        return MPI_DOUBLE;
    }
}

static MPI_Op operation_of(int reduction)
{
    if (reduction == HCY__SUM)
        return MPI_SUM;
    return reduction == HCY__MIN ? MPI_MIN : MPI_MAX;
}

static int mpi_allreduce(void *data, void *impl, size_t count, int dtype, int reduction)
{
    struct mpi *m = impl;
    const size_t element = hcy_dtype_size(dtype), most = m->piece < element ? 1 : m->piece / element;
    const MPI_Datatype type = type_of(dtype);
    const MPI_Op op = operation_of(reduction);
    MPI_Request request;
    int status = check_reached();
    if (!status)
        status = enter_device(m);
    if (status)
        return status;
    for (size_t at = 0; !status && at < count; at += most) {
        char *piece = (char *)data + at * element;
        const int n = (int)smaller(most, count - at);
        status = m->seconds ? wait_for_begun(m, MPI_Iallreduce(MPI_IN_PLACE, piece, n, type, op, m->comm, &request),
                                             &request, "a reduction")
                            : check_mpi(MPI_Allreduce(MPI_IN_PLACE, piece, n, type, op, m->comm), "a reduction");
    }
    leave_device(m);
    return status;
}

/* --- Messages --- */

static int submit_message(size_t *n, struct mpi *m, const struct hcy__message *message)
{
    int status = 0;
    for (size_t at = 0; !status && at < message->bytes; at += m->piece) {
        char *data = (char *)message->data + at;
        int bytes = (int)smaller(m->piece, message->bytes - at);
        int code = message->sends
                       ? MPI_Isend(data, bytes, MPI_BYTE, message->rank, 0, m->comm, &m->pieces[*n].request)
                       : MPI_Irecv(data, bytes, MPI_BYTE, message->rank, 0, m->comm, &m->pieces[*n].request);
        status = check_mpi(code, message->sends ? "sending" : "receiving");
        m->pieces[*n].wanted = message->sends ? -1 : bytes;
        m->pieces[*n].from = message->rank;
        *n += !status;
    }
    return status;
}

/* To MPI less than there is room for is no failure. */
static int end_piece(struct mpi *m, struct piece *p)
{
    MPI_Status came;
    int got = 0, status = wait_for(m, &p->request, &came, "a message");
    if (status || p->wanted < 0)
        return status;
    status = check_mpi(MPI_Get_count(&came, MPI_BYTE, &got), "counting a message");
    if (!status && got != p->wanted)
        status = hcy_fail(HCY_EINVAL, "rank %d sends %d bytes where %d are to come", p->from, got, p->wanted);
    return status;
}

/* Pieces of one message go in their order, because MPI's messages between two ranks do not overtake each other. */
static int mpi_exchange(void *impl, const struct hcy__message *messages, size_t n)
{
    struct mpi *m = impl;
    size_t pieces = 0, submitted = 0;
    for (size_t i = 0; i < n; i++)
        pieces += messages[i].bytes / m->piece + 1;
    int status = check_reached();
    if (!status)
        status = need_pieces(m, pieces);
    if (status)
        return status;
    const int entered = enter_device(m);
    status = entered;
    for (size_t i = 0; !status && i < n; i++)
        status = submit_message(&submitted, m, &messages[i]);
    /* What was submitted uses the caller's memory, so it is waited for after a failure too, request by request. */
    for (size_t i = 0; i < submitted && !was_lost; i++) {
        const int failed = end_piece(m, &m->pieces[i]);
        status = status ? status : failed;
    }
    if (!entered)
        leave_device(m);
    return status;
}

static const struct hcy_transport mpi_transport = {
    sizeof mpi_transport, HCY_TRANSPORT_ABI, TRANSPORT_NAME, mpi_open,     mpi_split,  mpi_close,
    mpi_barrier,          mpi_broadcast,     mpi_allreduce,  mpi_exchange, mpi_end_all, mpi_reaches, mpi_address,
    NULL
};

HCY_API void hcy_transport_entry(const struct hcy_transport **host,
                                 const struct hcy_device_transport **device);
void hcy_transport_entry(const struct hcy_transport **host, const struct hcy_device_transport **device)
{
    *host = &mpi_transport;
    *device = NULL;
}
