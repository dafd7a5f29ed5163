/* transports.c - which transport a communicator has: the one that is wished for, else the MPI whose launcher has
 * started this process, else none; the transport of a process that is alone.  Modules are never closed.
 */
#include "dist_priv.h"
#include "hal_priv.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- One process --- */

static int self_open(void **impl, struct hcy__place *place, size_t piece, int seconds)
{
    (void)piece, (void)seconds;
    *impl = NULL;
    *place = (struct hcy__place){ 0, 1, 0, 1 };
    return 0;
}

static int self_split(void **part, struct hcy__place *place, void *impl, int colour)
{
    (void)colour;
    *part = impl;
    *place = (struct hcy__place){ 0, 1, 0, 1 };
    return 0;
}

static void self_close(void *impl)
{
    (void)impl;
}

static int self_barrier(void *impl)
{
    (void)impl;
    return 0;
}

static int self_broadcast(void *data, void *impl, size_t bytes, int root)
{
    (void)data, (void)impl, (void)bytes, (void)root;
    return 0;
}

static int self_allreduce(void *data, void *impl, size_t count, int dtype, int reduction)
{
    (void)data, (void)impl, (void)count, (void)dtype, (void)reduction;
    return 0;
}

static int self_exchange(void *impl, const struct hcy__message *messages, size_t n)
{
    (void)impl, (void)messages, (void)n;
    return 0;
}

static void self_end_all(void *impl, int code)
{
    (void)impl, (void)code;
}

static const struct hcy_transport self_transport = {
    sizeof self_transport, HCY_TRANSPORT_ABI, "self",         self_open,     self_split,  self_close,
    self_barrier,          self_broadcast,    self_allreduce, self_exchange, self_end_all, NULL, NULL,
    NULL
};

/* --- Wishes --- */

enum { MOST_SECONDS = 86400, MOST_THREADS = 256 };
enum { SELF, THREADS, OPENMPI, MPICH, MPI_ABI, NCCL, MPI_DEVICE, SHARED, N_NAMES };
static const char *const names[N_NAMES] = { "self",    "threads", "openmpi",    "mpich",
                                            "mpi-abi", "nccl",    "mpi-device", "shared" };

static int read_piece(size_t *piece, const char *text, const char *wish)
{
    char *end = NULL;
    unsigned long long value = strtoull(text, &end, 10);
    /* A piece is counted by an int, and has a whole number of the largest element. */
    if (*end || *text < '0' || *text > '9' || value < 16 || value > 1u << 30 || value % 16)
        return hcy_fail(HCY_EINVAL, "\"%s\": a piece has 16 bytes to 1 GiB, a multiple of 16", wish);
    *piece = (size_t)value;
    return 0;
}

static int read_whole_number(int *number, const char *text, long least, long most, const char *what,
                             const char *wish)
{
    char *end = NULL;
    long value = strtol(text, &end, 10);
    if (*end || *text < '0' || *text > '9' || value < least || value > most)
        return hcy_fail(HCY_EINVAL, "\"%s\": %s", wish, what);
    *number = (int)value;
    return 0;
}

static int read_option(struct hcy__wish *wish, const char *name, const char *option, const char *text)
{
    const bool is_nccl = !strcmp(name, names[NCCL]), is_threads = !strcmp(name, names[THREADS]),
               is_mpi = !is_nccl && !is_threads && strcmp(name, names[SHARED]) && strcmp(name, names[SELF]);
    if ((is_nccl || is_mpi) && !strncmp(option, "wait=", 5))
        return read_whole_number(is_mpi ? &wish->seconds : &wish->ways.seconds, option + 5, 0, MOST_SECONDS,
                                 "ranks wait from 1 to 86400 seconds, or, 0, for ever", text);
    if (is_threads && !strncmp(option, "ranks=", 6))
        return read_whole_number(&wish->n_threads, option + 6, 1, MOST_THREADS, "there are from 1 to 256 threads", text);
    if (is_mpi && !strncmp(option, "piece=", 6))
        return read_piece(&wish->piece, option + 6, text);
    return hcy_fail(HCY_EINVAL,
                    "\"%s\": \"%s\" has no option \"%s\"; there are mpi@piece=BYTES, mpi@wait=SECONDS, "
                    "threads@ranks=N and nccl@wait=SECONDS",
                    text, name, option);
}

/* One name of a wish, which may be changed here. */
static int read_wished(struct hcy__wish *wish, char *item, const char *text)
{
    bool without = *item == '-';
    const char *name = item + without;
    char *option = strchr(item, '@');
    int status = 0, i = 0;
    while (!status && option) {
        char *next = strchr(option + 1, '@');
        *option++ = 0;
        if (next)
            *next = 0;
        /* What is not to be has no ways of being. */
        status = without ? hcy_fail(HCY_EINVAL, "\"%s\": \"-%s\" takes no option: it is left out", text, name)
                         : read_option(wish, name, option, text);
        option = next;
    }
    while (i < N_NAMES && strcmp(names[i], name))
        i++;
    if (status)
        return status;
    if (!strcmp(name, "mpi") && without)
        wish->without[OPENMPI] = wish->without[MPICH] = wish->without[MPI_ABI] = true;
    else if (i == N_NAMES && strcmp(name, "mpi"))
        return hcy_fail(HCY_EINVAL,
                        "\"%s\": there is no transport \"%s\"; there are self, threads, mpi, openmpi, mpich, "
                        "mpi-abi, nccl, mpi-device and shared",
                        text, name);
    else if (i == SHARED)
        wish->ways.shared = without ? -1 : 0;
    else if (i == NCCL || i == MPI_DEVICE)
        *(i == NCCL ? &wish->ways.nccl : &wish->ways.mpi) = without ? -1 : 1;
    else if (without)
        wish->without[i] = true;
    else if (*wish->transport)
        return hcy_fail(HCY_EINVAL, "\"%s\": a communicator is %s or %s, not both", text, wish->transport,
                        name);
    else
        snprintf(wish->transport, sizeof wish->transport, "%s", name);
    return 0;
}

/* What is named and taken away as well, or of which nothing is left. */
static int check_left(const struct hcy__wish *wish, const char *text)
{
    bool left = !*wish->transport;
    for (int i = 0; i < NCCL; i++)
        left = left || (!wish->without[i] &&
                        (!strcmp(wish->transport, names[i]) || (i >= OPENMPI && !strcmp(wish->transport, "mpi"))));
    return left ? 0 : hcy_fail(HCY_EINVAL, "\"%s\": %s is wished for, and taken away", text, wish->transport);
}

int hcy__dist_wish(struct hcy__wish *wish, const char *text)
{
    *wish = (struct hcy__wish){ .piece = (size_t)1 << 30 };
    text = text ? text : getenv("HALCYON_DIST");
    int status = 0;
    for (const char *at = text ? text : ""; !status && *at; at += *at == ',') {
        char item[64];
        size_t n = strcspn(at, ",");
        snprintf(item, sizeof item, "%.*s", n < sizeof item ? (int)n : (int)sizeof item - 1, at);
        if (n >= sizeof item)
            status = hcy_fail(HCY_EINVAL, "\"%s\": an item has 63 characters at most", text);
        else
            status = n ? read_wished(wish, item, text) : 0;
        at += n;
    }
    if (!status && wish->ways.nccl > 0 && wish->ways.mpi > 0)
        status = hcy_fail(HCY_EINVAL, "\"%s\": arrays on devices go by nccl or by mpi-device, not by both", text);
    if (!status && wish->seconds && wish->ways.mpi > 0)
        status = hcy_fail(HCY_EINVAL, "\"%s\": mpi@wait is not for mpi-device: what an MPI begins and is waited for is in "
                                      "the host's memory", text);
    if (wish->ways.mpi > 0 && !*wish->transport)
        strcpy(wish->transport, "mpi");
    return status ? status : check_left(wish, text);
}

/* --- Modules --- */

int hcy__transport_load(const struct hcy_transport **host, const struct hcy_device_transport **device,
                        const char *name)
{
    char path[PATH_MAX];
    hcy__transport_entry_fn entry = NULL;
    *host = NULL;
    *device = NULL;
    if (hcy__module_path(path, "halcyon-dist-", name))
        return hcy_fail(
            HCY_ENODEV,
            "there is no transport \"%s\": no module halcyon-dist-%s.so where modules are looked for"
            " (HALCYON_BACKEND_PATH names other directories; a build with --disable-shared makes none)",
            name, name);
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module)
        return hcy_fail_vendor(HCY_EBACKEND, 0, dlerror(), "module %s cannot be loaded", path);
    *(void **)&entry = dlsym(module, HCY_TRANSPORT_ENTRY);
    if (entry)
        entry(host, device);
    if ((*host && (*host)->abi == HCY_TRANSPORT_ABI && (*host)->size == sizeof **host) ||
        (*device && (*device)->abi == HCY_TRANSPORT_ABI && (*device)->size == sizeof **device))
        return 0;
    return hcy_fail(HCY_EABI, "%s is no transport of this library (%s): rebuild it", path, hcy_version());
}

/* How many processes an MPI's launcher says that it has started; 0: it has not started this one. */
static long launched_by(int name)
{
    const char *text = getenv(name == OPENMPI ? "OMPI_COMM_WORLD_SIZE" : "PMI_SIZE");
    return text ? strtol(text, NULL, 10) : 0;
}

static bool is_built(int name)
{
    char path[PATH_MAX];
    return !hcy__module_path(path, "halcyon-dist-", names[name]);
}

/* The MPI that the program is linked to, or that a communicator has loaded; 0: none. */
static int linked_mpi(void)
{
    void *abi = dlopen("libmpi_abi.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (abi) {
        dlclose(abi);
        return MPI_ABI;
    }
    if (!dlsym(RTLD_DEFAULT, "MPI_Init"))
        return 0;
    return dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world") ? OPENMPI : MPICH;
}

/* The MPI that this process has to use: the one that the program is linked to, else that of its launcher, which may
 * have the binary interface where it has no module that was built or may be used. */
static int choose_mpi(const struct hcy__wish *wish)
{
    const int linked = linked_mpi();
    if (linked && !wish->without[linked])
        return linked;
    const bool has_abi = !wish->without[MPI_ABI] && is_built(MPI_ABI);
    for (int name = OPENMPI; name <= MPICH; name++) {
        if (launched_by(name) <= 0)
            continue;
        if (!wish->without[name] && (is_built(name) || !has_abi))
            return name;
        if (has_abi)
            return MPI_ABI;
    }
    return 0;
}

/* The transport's place in `names`; which MPI may be open still, where there was no launcher. */
static int choose_name(const struct hcy__wish *wish)
{
    for (int i = 0; i < NCCL; i++)
        if (!strcmp(wish->transport, names[i]))
            return i;
    int name = choose_mpi(wish);
    if (name || !*wish->transport)
        return name;
    /* An MPI was asked for and no launcher says which: one that was built, else one that may be. */
    int left = 0;
    for (name = MPI_ABI; name >= OPENMPI; name--)
        if (!wish->without[name] && (is_built(name) || !left || !is_built(left)))
            left = name;
    return left;
}

/* How many tasks Slurm has started where no launcher of an MPI says anything; 0: none. */
static long started_by_srun(void)
{
    const char *text = getenv("SLURM_STEP_NUM_TASKS");
    return text && !launched_by(OPENMPI) && !launched_by(MPICH) ? strtol(text, NULL, 10) : 0;
}

/* Each task of a step would believe that it is all.  Under PMIx nothing says which MPI is meant. */
static int refuse_lone_task(long n)
{
    return hcy_fail(HCY_EINVAL,
                    "srun has started %ld processes, and this one is to be alone: HALCYON_DIST=openmpi with srun "
                    "--mpi=pmix, HALCYON_DIST=mpich with srun --mpi=pmi2, or HALCYON_DIST=self if that is meant",
                    n);
}

/* How many processes any launcher says that it has started; 0: there was none. */
static long launched_by_any(void)
{
    long n = started_by_srun();
    for (int name = OPENMPI; name <= MPICH; name++)
        n = launched_by(name) > n ? launched_by(name) : n;
    return n;
}

int hcy__dist_check_threads(void)
{
    const long n = launched_by_any();
    return n > 1 ? hcy_fail(HCY_EINVAL,
                            "threads: a launcher has started %ld processes, and threads of several are no "
                            "communicator: start one, or let each rank be a process (HALCYON_DIST=mpi); where each "
                            "is meant to be alone, start it without OMPI_COMM_WORLD_SIZE, PMI_SIZE and SLURM_STEP_NUM_TASKS",
                            n)
                 : 0;
}

int hcy__dist_join(const struct hcy_transport **transport, void **impl, struct hcy__place *place,
                   const struct hcy__wish *wish)
{
    const struct hcy_device_transport *none = NULL;
    int name = choose_name(wish);
    const long tasks = started_by_srun();
    *transport = &self_transport;
    if (name == THREADS)
        return hcy_fail(HCY_EINVAL, "threads: they are begun by hcy_dist_run(), and this program has opened its "
                                    "communicator by itself");
    if (name == SELF && !*wish->transport && tasks > 1)
        return refuse_lone_task(tasks);
    if (name == SELF && !*wish->transport && launched_by_any() > 1)
        return hcy_fail(HCY_EINVAL, "a launcher has started %ld processes, and each is to be alone, as the MPI that would join "
                                    "them is taken away: HALCYON_DIST=self if that is meant", launched_by_any());
    if (name == SELF && wish->without[SELF])
        return hcy_fail(HCY_EINVAL, "this process is alone, as no launcher of an MPI that may be used has started it, "
                                    "and self is taken away");
    int status = name == SELF ? 0 : hcy__transport_load(transport, &none, names[name]);
    if (!status && !*transport)
        status = hcy_fail(HCY_EABI, "halcyon-dist-%s.so carries nothing between processes", names[name]);
    if (!status)
        status = (*transport)->open(impl, place, wish->piece, wish->seconds);
    if (status || name == SELF)
        return status;
    /* Every process would go its own way, and believe that it is all. */
    long others = name == OPENMPI ? launched_by(MPICH) : launched_by(OPENMPI);
    if (name == MPI_ABI && !others)
        others = launched_by(MPICH);
    if (place->n_ranks == 1 && others > 1) {
        (*transport)->close(*impl);
        status = hcy_fail(
            HCY_EINVAL,
            "another MPI's launcher has started %ld processes, and %s knows of this one alone: take the "
            "mpirun that belongs to %s, or leave the choice (HALCYON_DIST=mpi)",
            others, names[name], names[name]);
    } else if (place->n_ranks == 1 && tasks > 1) {
        (*transport)->close(*impl);
        status = refuse_lone_task(tasks);
    }
    return status;
}
