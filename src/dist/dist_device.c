/* dist_device.c - the device of a rank, and whether arrays on it travel by themselves. */
#include "dist_priv.h"
#include "dist_sum.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The item of a list with commas whose number is `i`, counted round. */
static int pick_item(char item[256], const char *list, int i)
{
    int n = 1;
    /* As hcy_device_open_list() has it; on all ranks, also those that others' devices are for. */
    if (*list == ',' || strstr(list, ",,") || list[strlen(list) - 1] == ',')
        return hcy_fail(HCY_EINVAL, "an empty device string in the list of devices \"%.200s\"", list);
    for (const char *p = list; *p; p++)
        n += *p == ',';
    for (i %= n; i > 0; i--)
        list = strchr(list, ',') + 1;
    size_t n_item = strcspn(list, ",");
    if (n_item >= 256)
        return hcy_fail(HCY_ERANGE, "the device %.40s... has %zu characters: 255 are the most", list, n_item);
    snprintf(item, 256, "%.*s", (int)n_item, list);
    return 0;
}

static bool is_one_of(const hcy_device_info *device, const char *spec)
{
    if (!strcmp(spec, "gpu") || !strcmp(spec, "fpga"))
        return !(device->caps & HCY_CAP_SECOND) &&
               device->kind == (*spec == 'g' ? HCY_KIND_GPU : HCY_KIND_FPGA);
    return !strcmp(device->backend, spec);
}

int hcy__dist_count_gpus(void)
{
    hcy_device_info *list = NULL;
    size_t n = 0;
    int found = 0;
    if (hcy_device_list(&list, &n))
        return 1;
    for (size_t i = 0; i < n; i++)
        found += is_one_of(&list[i], "gpu");
    hcy_list_free(list);
    return found ? found : 1;
}

/* A device of the list, with options. */
static int name_device(char spec[256], const hcy_device_info *device, const char *options)
{
    char name[512];
    const int length = snprintf(name, sizeof name, "%s%s", device->name, options);
    if (length >= 256)
        return hcy_fail(HCY_ERANGE, "the device %.40s... has %d characters: 255 are the most", name, length);
    memcpy(spec, name, (size_t)length + 1);
    return 0;
}

/* Of all devices of a backend or kind that of the local rank, with the options that stand behind the word; else the
 * string stays. */
static int pick_of_kind(char spec[256], int local_rank)
{
    hcy_device_info *list = NULL;
    char word[256], options[256];
    size_t n = 0, found = 0;
    const size_t head = strcspn(spec, "@");
    snprintf(word, sizeof word, "%.*s", (int)head, spec);
    memcpy(options, spec + head, strlen(spec + head) + 1);
    /* Where there is no GPU, the word's meaning is hcy_device_open()'s. */
    const char *wanted = strcmp(word, "auto") ? word : "gpu";
    int status = hcy_device_list(&list, &n);
    for (size_t i = 0; !status && i < n; i++)
        found += is_one_of(&list[i], wanted);
    size_t left = found ? (size_t)local_rank % found : 0;
    for (size_t i = 0; found && i < n; i++)
        if (is_one_of(&list[i], wanted) && !left--) {
            status = name_device(spec, &list[i], options);
            break;
        }
    hcy_list_free(list);
    return status;
}

static int open_device(hcy_device **dev, const hcy_dist *comm, const char *spec)
{
    char one[256];
    if (!spec || !*spec)
        spec = getenv("HALCYON_DEVICE");
    int status = pick_item(one, spec && *spec ? spec : "auto", comm->place.local_rank);
    if (!status)
        status = pick_of_kind(one, comm->place.local_rank);
    return status ? status : hcy_device_open(dev, one);
}

/* Whether another rank has the same device, by the name that it has everywhere: a transport takes a device once. */
static int find_shared(bool *shared, const hcy_dist *comm, hcy_device *dev)
{
    const int n = comm->place.n_ranks, me = comm->place.rank;
    const char *name = hcy_device_get_info(dev)->stable;
    uint64_t *names = calloc((size_t)n, sizeof *names);
    int status =
        hcy_dist_agree((hcy_dist *)comm, names ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for %d names", n));
    if (!status) {
        names[me] = hcy_cache_sum(name, strlen(name));
        status = comm->transport->allreduce(names, comm->impl, (size_t)n, HCY_UINT64, HCY__SUM);
    }
    *shared = false;
    for (int r = 0; !status && r < n; r++)
        *shared = *shared || (r != me && names[r] == names[me]);
    free(names);
    return status;
}

/* Whether this rank could: the smallest answer of all counts. */
static int ask_device_transport(const struct hcy_device_transport **on_device, int32_t *usable, const hcy_dist *comm,
                    hcy_device *dev)
{
    const struct hcy_transport *none = NULL;
    bool shared = false;
    int status = find_shared(&shared, comm, dev);
    if (status)
        return status;
    *usable = !shared && comm->ways.nccl >= 0 && !hcy__transport_load(&none, on_device, "nccl") && *on_device &&
              (*on_device)->usable(dev);
    return comm->transport->allreduce(usable, comm->impl, 1, HCY_INT32, HCY__MIN);
}

static int start_on_device(hcy_dist *comm, hcy_device *dev)
{
    const struct hcy_device_transport *t = NULL;
    char id[HCY__TRANSPORT_ID] = { 0 };
    int32_t usable = 0;
    int status = ask_device_transport(&t, &usable, comm, dev);
    if (!status && !usable && comm->ways.nccl > 0)
        return hcy_fail(HCY_EUNSUPPORTED, "nccl was asked for, and not every rank has it and a device of its own for it");
    if (status || !usable)
        return status;
    int made = comm->place.rank ? 0 : t->make_id(id, dev);
    status = hcy_dist_agree(comm, made);
    if (!status)
        status = comm->transport->broadcast(id, comm->impl, sizeof id, 0);
    if (!status)
        status = t->open(&comm->device_impl, dev, id, comm->place.rank, comm->place.n_ranks,
                         comm->ways.seconds);
    if (status)
        return status;
    comm->on_device = t;
    comm->most_gathered = HCY_SUM_GATHERED;
    if (comm->transport->watch)
        comm->transport->watch(comm->impl, t->give_up, comm->device_impl);
    return 0;
}

void hcy__dist_leave_device(hcy_dist *comm)
{
    if (!comm->on_device)
        return;
    if (comm->transport->watch)
        comm->transport->watch(comm->impl, NULL, NULL);
    comm->on_device->close(comm->device_impl);
    comm->on_device = NULL;
    comm->most_gathered = 0;
}

/* HALCYON_DIST may reach some ranks only, which would then wait in other calls than the rest. */
static int compare_ways(hcy_dist *comm)
{
    int32_t ends[2] = { comm->ways.mpi > 0, -(comm->ways.mpi > 0) };
    int status = comm->transport->allreduce(ends, comm->impl, 2, HCY_INT32, HCY__MIN);
    if (!status && ends[0] != -ends[1])
        status = hcy_fail(HCY_EINVAL, "mpi-device was asked for on some ranks and not on others: set HALCYON_DIST for all");
    return status;
}

/* MPI has this way where its name is said: what a library says of itself may not hold for a machine, and a device's
 * address that it takes for the host's ends the process. */
static int let_mpi_reach(hcy_dist *comm, hcy_device *dev)
{
    const struct hcy_transport *t = comm->transport;
    int32_t reached = t->reaches && t->reaches(comm->impl, dev);
    int status = t->allreduce(&reached, comm->impl, 1, HCY_INT32, HCY__MIN);
    if (!status && !reached)
        status = hcy_fail(HCY_EUNSUPPORTED, "mpi-device was asked for, and not every rank has a device whose memory "
                                            "its MPI says that it takes (MPIX_Query_cuda_support)");
    comm->reaches_device = !status;
    return status;
}

int hcy_dist_device(hcy_device **dev, hcy_dist *comm, const char *spec)
{
    int status = hcy__dist_check(comm, 0, "hcy_dist_device");
    if (dev)
        *dev = NULL;
    if (status)
        return status;
    if (!dev || comm->device)
        status = hcy_fail(dev ? HCY_ESTATE : HCY_EINVAL, "hcy_dist_device: %s",
                          dev ? "the communicator has its device" : "no place for the device");
    hcy_device *mine = NULL;
    if (!status)
        status = open_device(&mine, comm, spec);
    /* Before anything waits for the others. */
    status = hcy_dist_agree(comm, status);
    if (!status)
        status = compare_ways(comm);
    if (!status)
        status = hcy_dist_agree(comm, comm->ways.mpi > 0 ? let_mpi_reach(comm, mine) : start_on_device(comm, mine));
    /* The device that it had stays, with its ways. */
    if (status && comm->device)
        return status;
    if (status) {
        /* Another rank's end may have failed. */
        hcy__dist_leave_device(comm);
        /* Nor must the transport use a device that goes. */
        if (comm->transport->reaches)
            comm->transport->reaches(comm->impl, NULL);
        comm->reaches_device = false;
        hcy_device_release(mine);
        return status;
    }
    comm->device = hcy_device_retain(mine);
    *dev = mine;
    return 0;
}
