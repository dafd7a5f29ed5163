/* dist.c - communicators: opening, splitting, ending; this rank's device; numbers in host memory.
 *
 * A communicator belongs to its references, and has references of its device.
 */
#include "dist_priv.h"
#include "sized.h"

#include <stdlib.h>
#include <string.h>

int hcy__dist_check(const hcy_dist *comm, int rank, const char *function)
{
    if (!comm)
        return hcy_fail(HCY_EINVAL, "%s: no communicator", function);
    if (rank < 0 || rank >= comm->place.n_ranks)
        return hcy_fail(HCY_EINVAL, "%s: rank %d of %d", function, rank, comm->place.n_ranks);
    return 0;
}

/* --- Making and releasing --- */

int hcy__dist_new(hcy_dist **out, const struct hcy_transport *transport, void *impl, const struct hcy__place *place,
                  struct hcy__ways ways)
{
    hcy_dist *comm = calloc(1, sizeof *comm);
    if (!comm) {
        transport->close(impl);
        return hcy_fail(HCY_ENOMEM, "out of memory for a communicator");
    }
    atomic_init(&comm->refs, 1);
    comm->transport = transport;
    comm->impl = impl;
    comm->place = *place;
    comm->ways = ways;
    *out = comm;
    return 0;
}

int hcy__dist_open(hcy_dist **comm, const struct hcy__wish *wish)
{
    const struct hcy_transport *transport = NULL;
    struct hcy__place place;
    void *impl = NULL;
    int status = hcy__dist_join(&transport, &impl, &place, wish);
    return status ? status : hcy__dist_new(comm, transport, impl, &place, wish->ways);
}

int hcy_dist_open(hcy_dist **comm, const char *text)
{
    struct hcy__wish wish;
    if (!comm)
        return hcy_fail(HCY_EINVAL, "hcy_dist_open: no place for the communicator");
    *comm = NULL;
    int status = hcy__dist_wish(&wish, text);
    return status ? status : hcy__dist_open(comm, &wish);
}

hcy_dist *hcy_dist_retain(hcy_dist *comm)
{
    if (comm)
        atomic_fetch_add(&comm->refs, 1);
    return comm;
}

void hcy_dist_release(hcy_dist *comm)
{
    if (!comm || atomic_fetch_sub(&comm->refs, 1) != 1)
        return;
    hcy__dist_leave_device(comm);
    hcy__exchange_forget(comm);
    hcy_buffer_release(comm->staging);
    hcy_device_release(comm->device);
    comm->transport->close(comm->impl);
    free(comm);
}

int hcy_dist_split(hcy_dist **part, hcy_dist *comm, int colour)
{
    struct hcy__place place;
    void *impl = NULL;
    if (!part || !comm)
        return hcy_fail(HCY_EINVAL, "hcy_dist_split: no %s",
                        part ? "communicator" : "place for the new communicator");
    *part = NULL;
    int status = comm->transport->split(&impl, &place, comm->impl, colour);
    if (!status && colour >= 0)
        status = hcy__dist_new(part, comm->transport, impl, &place, comm->ways);
    status = hcy_dist_agree(comm, status);
    if (status) {
        hcy_dist_release(*part);
        *part = NULL;
    }
    if (*part)
        (*part)->has_free_sums = comm->has_free_sums;
    return status;
}

int hcy_dist_get_info(hcy_dist_info *info, const hcy_dist *comm)
{
    if (!comm)
        return hcy_fail(HCY_EINVAL, "hcy_dist_get_info: no communicator");
    const struct hcy__place *p = &comm->place;
    hcy_dist_info known = { sizeof known,
                            comm->transport->name,
                            comm->on_device ? comm->on_device->name : comm->reaches_device ? "mpi-device" : "",
                            p->rank,
                            p->n_ranks,
                            p->local_rank,
                            p->n_local };
    return hcy__sized_write(info, &known, sizeof known, "hcy_dist_info");
}

/* --- Failures --- */

/* What the rank that failed has to say, to all: which of them it was is known to all by now. */
static int tell_failure(int status, hcy_dist *comm, const hcy_error *mine, int who)
{
    char text[sizeof mine->text] = "";
    if (who == comm->place.rank && mine->status == status)
        snprintf(text, sizeof text, "%s", mine->text);
    if (comm->transport->broadcast(text, comm->impl, sizeof text, who) || !*text)
        snprintf(text, sizeof text, "%s", hcy_status_text(status));
    return hcy_fail(status, "another rank of the communicator has failed, rank %d: %.400s", who, text);
}

int hcy_dist_agree(hcy_dist *comm, int status)
{
    if (!comm)
        return hcy_fail(HCY_EINVAL, "hcy_dist_agree: no communicator");
    /* The worst status with the first rank that has it, in one number; 0: none. */
    const int64_t unit = INT64_C(1) << 32;
    if (status > 0)
        status = hcy_fail(HCY_EBACKEND, "this rank came with %d, which is no status", status);
    int64_t worst = status * unit + comm->place.rank;
    /* What this rank has to say must survive the reduction, which may fail as well. */
    const hcy_error mine = *hcy_last_error();
    const int failed = comm->transport->allreduce(&worst, comm->impl, 1, HCY_INT64, HCY__MIN);
    if (failed)
        return status && mine.status == status ? hcy_fail_again(&mine) : failed;
    if (worst >= 0)
        return 0;
    const int who = (int)(worst & (unit - 1)), theirs = tell_failure((int)((worst - who) / unit), comm, &mine, who);
    /* All ranks have one status; who has failed with it keeps its own words. */
    return status == theirs && mine.status == status ? hcy_fail_again(&mine) : theirs;
}

void hcy_dist_abort(hcy_dist *comm, int code)
{
    if (comm)
        comm->transport->end_all(comm->impl, code > 0 && code < 256 ? code : 1);
}

int hcy_dist_barrier(hcy_dist *comm)
{
    return comm ? comm->transport->barrier(comm->impl)
                : hcy_fail(HCY_EINVAL, "hcy_dist_barrier: no communicator");
}

/* --- Host memory --- */

int hcy_dist_broadcast_host(void *data, hcy_dist *comm, size_t bytes, int root)
{
    int status = hcy__dist_check(comm, root, "hcy_dist_broadcast_host");
    if (!status && !data && bytes)
        status = hcy_fail(HCY_EINVAL, "hcy_dist_broadcast_host: no memory");
    return status || !bytes ? status : comm->transport->broadcast(data, comm->impl, bytes, root);
}

int hcy_dist_allreduce_host(void *data, hcy_dist *comm, int dtype, size_t count, int reduction)
{
    int status = hcy__dist_check(comm, 0, "hcy_dist_allreduce_host");
    if (status)
        return status;
    if (dtype < HCY_INT8 || dtype > HCY_FLOAT64 || dtype == HCY_FLOAT16)
        return hcy_fail(HCY_EINVAL, "hcy_dist_allreduce_host: numbers of %s are not reduced",
                        hcy_dtype_name(dtype));
    if (reduction < HCY_REDUCE_SUM || reduction > HCY_REDUCE_MAX || (!data && count))
        return hcy_fail(HCY_EINVAL, "hcy_dist_allreduce_host: %s",
                        !data && count ? "no memory" : "no such reduction");
    return count ? comm->transport->allreduce(data, comm->impl, count, dtype, reduction) : 0;
}
