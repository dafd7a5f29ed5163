/* processes.c - the process that deals frames to others and takes their results: pyFAI's layout of several processes.
 *
 * Blocks of frames are given out in order, two to a process, so that it need not wait for the next.  Results come to
 * slots of shared memory, as many as blocks may be ahead of the first that is not written yet; each block goes to the
 * sink as a whole, in frame order.  A process that dies has written nothing that counts but blocks it has answered for,
 * so the others get what it was given, and no frame is lost or doubled.
 *
 * Memory is reserved in full before it is used: a write to shared memory that is not there would end the process. */
#include "processes.h"
#include "interrupt.h"
#include "process_wire.h"
#include "timer.h"
#include <errno.h>
#include <fcntl.h>
#include <halcyon/backend.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ORDERS = 2, MOST_BLOCK = 64, ABOVE = 16 };
#define MOST_MEMORY ((uint64_t)256 << 20)
#define GRACE 5.0 /* seconds in which a process may end by itself */

extern char **environ;

struct process {
    pid_t pid; /* 0: it has ended */
    int socket, ready;
    uint64_t blocks[ORDERS]; /* given to it, in this order */
    size_t n_blocks;
    char devices[1024], name[1100], variant[64];
};

enum slot_state { WAITING, GIVEN, DONE };

struct processes {
    struct job *job;
    struct process *all;
    size_t n, alive;
    int memory_fd;
    char *memory;
    uint64_t memory_bytes, row_bytes, block, window; /* block: frames; window: slots */
    struct process_shape shape;
    char plan[80];
    enum slot_state *slots;
    uint64_t n_blocks, written; /* blocks in all, those that the sink has had */
    hcy_pipeline_stats stats;
    hcy_pipeline_device *devices;
    double start, ready, shown; /* ready: when the first process was, 0: none is */
};

/* --- Shared memory --- */

/* Memory of that size which a child can map: a descriptor, or -1 with errno. */
static int make_memory(uint64_t bytes)
{
    char name[64];
    int fd = -1;
    for (int i = 0; fd < 0 && i < 100; i++) {
        snprintf(name, sizeof name, "/halcyon-%ld.%d", (long)getpid(), i);
        fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (fd < 0 && errno != EEXIST)
            return -1;
    }
    if (fd < 0)
        return -1;
    /* Nobody needs the name: children get the descriptor, above those that they are given it as. */
    shm_unlink(name);
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, ABOVE);
    close(fd);
    int failed = moved < 0 ? errno : posix_fallocate(moved, 0, (off_t)bytes);
    if (!failed)
        return moved;
    if (moved >= 0)
        close(moved);
    errno = failed;
    return -1;
}

/* Slots for the blocks on their way; smaller blocks where memory is short. */
static int make_slots(struct processes *p)
{
    const struct job *job = p->job;
    uint64_t frames = job->last - job->first;
    p->row_bytes = process_row_bytes(&p->shape);
    /* Two slots beyond what is given away let processes go on while the oldest block is still missing. */
    p->window = ORDERS * p->n + 2;
    /* Several blocks for each process, so that none waits long for another at the end. */
    p->block = frames / (8 * p->n) + 1;
    p->block = p->block < MOST_BLOCK ? p->block : MOST_BLOCK;
    while (p->block > 1 && p->block * p->row_bytes > MOST_MEMORY / p->window)
        p->block /= 2;
    /* Shared memory may have a limit of its own, such as a container's, which only asking for it tells. */
    for (; p->block; p->block /= 2) {
        p->memory_bytes = p->window * p->block * p->row_bytes;
        p->memory_fd = make_memory(p->memory_bytes);
        if (p->memory_fd >= 0 || (errno != ENOSPC && errno != ENOMEM))
            break;
    }
    if (p->memory_fd >= 0)
        p->memory = mmap(NULL, (size_t)p->memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, p->memory_fd, 0);
    if (p->memory_fd < 0 || p->memory == MAP_FAILED) {
        p->memory = NULL;
        return hcy_fail(HCY_ENOMEM, "no shared memory for the results of %zu processes (%llu bytes)", p->n,
                        (unsigned long long)p->memory_bytes);
    }
    p->n_blocks = (frames + p->block - 1) / p->block;
    p->slots = calloc((size_t)p->window, sizeof *p->slots);
    return p->slots ? 0 : hcy_fail(HCY_ENOMEM, "no memory for %zu processes", p->n);
}

/* --- Starting --- */

/* Part i of the devices: of a list each n-th, of the processors a fair share of threads. */
static int share_devices(char *out, size_t size, const struct processes *p, size_t i, const char *list)
{
    size_t used = 0, count = 1, units;
    if (!list) {
        units = integrate_processors();
        size_t threads = units / p->n + (i < units % p->n);
        snprintf(out, size, "cpu@threads=%zu", threads ? threads : 1);
        return 0;
    }
    for (const char *at = list; (at = strchr(at, ',')) != NULL; at++)
        count++;
    /* A list that is shorter than the processes are many goes round. */
    for (size_t k = 0; list; k++) {
        size_t length = strcspn(list, ",");
        if ((count <= p->n ? k == i % count : k % p->n == i) && used + length + 2 < size)
            used += (size_t)snprintf(out + used, size - used, "%s%.*s", used ? "," : "", (int)length, list);
        list = list[length] ? list + length + 1 : NULL;
    }
    return used ? 0 : hcy_fail(HCY_EINVAL, "the list of devices is too long for a process");
}

/* The environment without HALCYON_TRACE: processes would write over each other's timeline. */
static char **child_environment(void)
{
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    char **copy = calloc(n + 1, sizeof *copy);
    for (size_t i = 0; copy && i < n; i++)
        if (strncmp(environ[i], "HALCYON_TRACE=", 14))
            copy[kept++] = environ[i];
    return copy;
}

/* This program once more, with the job's arguments. */
static int spawn_process(pid_t *pid, const struct job *job, int socket, int memory)
{
    posix_spawn_file_actions_t actions;
    char **argv = calloc((size_t)job->argc + 2, sizeof *argv), **env = child_environment();
    int failed = argv && env ? posix_spawn_file_actions_init(&actions) : ENOMEM;
    if (!failed) {
        argv[0] = (char *)PROCESS_NAME;
        memcpy(argv + 1, job->argv, (size_t)job->argc * sizeof *argv);
        /* The child finds both under fixed numbers, which need no argument that a user could see or give. */
        failed = posix_spawn_file_actions_adddup2(&actions, socket, PROCESS_SOCKET);
        if (!failed)
            failed = posix_spawn_file_actions_adddup2(&actions, memory, PROCESS_MEMORY);
        if (!failed)
            failed = posix_spawn(pid, "/proc/self/exe", &actions, NULL, argv, env);
        posix_spawn_file_actions_destroy(&actions);
    }
    free(argv);
    free(env);
    return failed;
}

static int start_process(struct processes *p, size_t i, const char *list)
{
    struct process *w = &p->all[i];
    struct process_setup setup = { p->memory_bytes, p->row_bytes, p->block, 0, "" };
    int pair[2];
    int st = share_devices(setup.devices, sizeof setup.devices, p, i, list);
    if (st)
        return st;
    snprintf(w->devices, sizeof w->devices, "%s", setup.devices);
    snprintf(w->name, sizeof w->name, "process %zu (%s)", i, w->devices);
    p->devices[i].name = w->name;
    p->devices[i].variant = "";
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        return hcy_fail(HCY_EIO, "a process cannot be started: %s", strerror(errno));
    /* Above the numbers that the child has them under, and not inherited by the next ones: an end that stays open
     * elsewhere would hide that a process died. */
    w->socket = fcntl(pair[0], F_DUPFD_CLOEXEC, ABOVE);
    int theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, ABOVE);
    close(pair[0]);
    close(pair[1]);
    int failed = w->socket < 0 || theirs < 0 ? EMFILE : spawn_process(&w->pid, p->job, theirs, p->memory_fd);
    if (theirs >= 0)
        close(theirs);
    if (failed) {
        w->pid = 0;
        return hcy_fail(HCY_EIO, "a process cannot be started: %s", strerror(failed));
    }
    p->alive++;
    /* A process that is gone already is found by the run. */
    for (size_t k = 0; k < p->job->n_paths; k++)
        setup.names += strlen(p->job->paths[k]) + 1;
    int sent = process_send(w->socket, &setup, sizeof setup);
    for (size_t k = 0; k < p->job->n_paths && sent; k++)
        sent = process_send(w->socket, p->job->paths[k], strlen(p->job->paths[k]) + 1);
    return 0;
}

const char *processes_devices(const char *devices)
{
    const char *wish = getenv("HALCYON_DEVICE");
    return devices ? devices : wish && *wish ? wish : NULL;
}

int processes_start(struct processes **processes, struct job *job, size_t n, const char *devices)
{
    struct processes *p = calloc(1, sizeof *p);
    hcy_azint_plan_info plan = HCY_AZINT_PLAN_INFO_INIT;
    *processes = p;
    if (!p || !(p->all = calloc(n, sizeof *p->all)) || !(p->devices = calloc(n, sizeof *p->devices)))
        return hcy_fail(HCY_ENOMEM, "no memory for %zu processes", n);
    p->job = job;
    p->n = n;
    p->memory_fd = -1;
    /* 0 is a descriptor like others, and an early failure closes what each process has. */
    for (size_t i = 0; i < n; i++)
        p->all[i].socket = -1;
    /* Each process makes the plan anew from the same files, and its answer is held against this hash. */
    int st = hcy_azint_plan_get_info(&plan, job->plan);
    snprintf(p->plan, sizeof p->plan, "%s", plan.hash);
    if (!st)
        st = process_shape_of(&p->shape, job);
    if (!st)
        st = make_slots(p);
    for (size_t i = 0; !st && i < n; i++)
        st = start_process(p, i, devices);
    p->stats = (hcy_pipeline_stats){ .frames = job->last - job->first, .n_devices = n, .devices = p->devices };
    return st;
}

/* --- Dealing --- */

/* Takes a process as ended, and what it was given back. */
static void lose_process(struct processes *p, struct process *w, const char *why)
{
    hcy_error *error = &p->devices[w - p->all].error;
    int status = 0;
    close(w->socket);
    w->socket = -1;
    /* Its memory is the others' again only when it can no longer write to it. */
    if (why)
        kill(w->pid, SIGKILL);
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    error->status = HCY_ELOST;
    if (why)
        snprintf(error->text, sizeof error->text, "%s", why);
    else if (WIFSIGNALED(status))
        snprintf(error->text, sizeof error->text, "it was killed by signal %d", WTERMSIG(status));
    else
        snprintf(error->text, sizeof error->text, "it ended with status %d", WEXITSTATUS(status));
    /* Its blocks are done anew by others, whatever it may have written of them. */
    for (size_t i = 0; i < w->n_blocks; i++)
        p->slots[w->blocks[i] % p->window] = WAITING;
    w->n_blocks = 0;
    w->pid = 0;
    p->alive--;
}

/* The first block that nobody has, of those that have a slot; n_blocks: there is none. */
static uint64_t find_waiting_block(const struct processes *p)
{
    uint64_t end = p->written + p->window;
    /* The oldest block comes first, because all that are done behind it wait for it. */
    for (uint64_t b = p->written; b < p->n_blocks && b < end; b++)
        if (p->slots[b % p->window] == WAITING)
            return b;
    return p->n_blocks;
}

static uint64_t block_first(const struct processes *p, uint64_t block)
{
    return p->job->first + block * p->block;
}

static uint64_t block_last(const struct processes *p, uint64_t block)
{
    uint64_t last = block_first(p, block) + p->block;
    return last < p->job->last ? last : p->job->last;
}

static void deal_blocks(struct processes *p)
{
    /* One to each process, then a second one, so that the first blocks are spread. */
    for (size_t round = 0; round < ORDERS; round++)
        for (size_t i = 0; i < p->n; i++) {
            struct process *w = &p->all[i];
            uint64_t block = find_waiting_block(p);
            if (!w->pid || !w->ready || w->n_blocks > round || block == p->n_blocks)
                continue;
            struct process_order order = { block_first(p, block), block_last(p, block), block % p->window };
            p->slots[order.slot] = GIVEN;
            w->blocks[w->n_blocks++] = block;
            /* If it is gone, its socket says so at the next look, and the block comes back. */
            (void)process_send(w->socket, &order, sizeof order);
        }
}

static void take_answer(struct processes *p, struct process *w)
{
    struct process_answer a;
    hcy_pipeline_device *d = &p->devices[w - p->all];
    if (!process_receive(&a, sizeof a, w->socket)) {
        lose_process(p, w, NULL);
        return;
    }
    /* The texts come from another process, so their ends are not taken on trust. */
    a.why[sizeof a.why - 1] = a.variant[sizeof a.variant - 1] = a.plan[sizeof a.plan - 1] = 0;
    snprintf(w->variant, sizeof w->variant, "%s", a.variant);
    p->stats.bytes_stored += a.bytes - d->bytes;
    /* Answers have totals, not differences, so the last one says all. */
    *d = (hcy_pipeline_device){ .name = w->name, .variant = w->variant, .two_stage = a.two_stage, .frames = a.frames,
                                .batches = a.batches, .bytes = a.bytes, .seconds = a.seconds };
    p->stats.batch = a.batch > p->stats.batch ? (size_t)a.batch : p->stats.batch;
    if (a.status || strcmp(a.plan, p->plan)) {
        lose_process(p, w, a.status ? a.why : "its plan is another: a file was changed");
    } else if (!w->ready) {
        w->ready = 1;
        p->ready = p->ready > 0 ? p->ready : timer_now();
    } else {
        /* A process does its orders one after the other, so an answer is always about its oldest block. */
        p->slots[w->blocks[0] % p->window] = DONE;
        memmove(w->blocks, w->blocks + 1, --w->n_blocks * sizeof *w->blocks);
    }
}

/* Hands a block's frames to the sink. */
static int write_block(struct processes *p, hcy_pipeline_sink sink, void *payload)
{
    const uint64_t first = block_first(p, p->written), n = block_last(p, p->written) - first, room = p->shape.room;
    const uint32_t type = p->job->info->pixel_type;
    const int is_float = type == HCY_PIXEL_F32 || type == HCY_PIXEL_F64;
    char *rows = p->memory + p->written % p->window * p->block * p->row_bytes;
    const double since = timer_now();
    int st = 0;
    for (uint64_t i = 0; !st && i < n; i++) {
        struct process_row *row = (struct process_row *)(rows + i * p->row_bytes);
        struct process_arrays a = process_row_arrays(&p->shape, row);
        /* The number comes from another process, and must not lead out of its row. */
        const hcy_sparse sparse = { row->n_pixels < room ? row->n_pixels : room, a.indices, is_float ? NULL : a.values,
                                    is_float ? (const double *)(void *)a.values : NULL };
        a.result.n_lost = row->report.n_lost;
        row->why[sizeof row->why - 1] = 0;
        const hcy_pipeline_frame frame = { .number = first + i, .result = row->good ? &a.result : NULL,
                                           .report = &row->report, .why = row->why,
                                           .regions = row->good && p->shape.regions ? a.regions : NULL,
                                           .sparse = row->good && room ? &sparse : NULL };
        st = sink(payload, &frame);
        p->stats.done++;
        p->stats.failed += !row->good;
    }
    p->stats.delivering += timer_now() - since;
    p->stats.bytes_raw = (p->stats.done - p->stats.failed) * p->job->info->frame_bytes;
    /* The slot is free for a later block only now that the sink has had its rows. */
    p->slots[p->written % p->window] = WAITING;
    p->written++;
    return st;
}

/* Waits for an answer of any process, or for a while. */
static int wait_for_answers(struct processes *p)
{
    enum { PAUSE_MS = 100 };
    struct pollfd *fds = calloc(p->n, sizeof *fds);
    if (!fds)
        return hcy_fail(HCY_ENOMEM, "no memory for %zu processes", p->n);
    for (size_t i = 0; i < p->n; i++)
        fds[i] = (struct pollfd){ .fd = p->all[i].pid ? p->all[i].socket : -1, .events = POLLIN };
    /* A signal ends the wait; the caller looks at it. */
    int n = poll(fds, p->n, PAUSE_MS);
    for (size_t i = 0; n > 0 && i < p->n; i++)
        if (fds[i].revents)
            take_answer(p, &p->all[i]);
    free(fds);
    return 0;
}

static int no_process_left(const struct processes *p)
{
    const hcy_pipeline_device *last = &p->devices[p->n - 1];
    return hcy_fail(HCY_ELOST, "no process is left, frame %llu and those after it are not done; %s: %s",
                    (unsigned long long)block_first(p, p->written), last->name, last->error.text);
}

/* What the time went to, as a pipeline says it, from when there was a process to do anything.  One that has had no
 * frames, or was lost, does not say that the others could have been faster. */
static void judge_run(struct processes *p)
{
    const double ran = p->ready > 0 ? timer_now() - p->ready : 0;
    double busy = 0;
    size_t working = 0;
    for (size_t i = 0; i < p->n; i++) {
        hcy_pipeline_device *d = &p->devices[i];
        const int works = d->frames && !d->error.status;
        d->idle = d->error.status ? 0 : fmax(0, ran - d->seconds);
        busy += works ? d->seconds : 0;
        working += (size_t)works;
    }
    p->stats.bound = p->stats.delivering > 0.8 * ran      ? HCY_PIPELINE_BY_SINK
                     : busy > 0.5 * ran * (double)working ? HCY_PIPELINE_BY_DEVICES
                                                          : HCY_PIPELINE_BY_READING;
}

int processes_run(struct processes *p, hcy_pipeline_sink sink, hcy_pipeline_progress progress, void *payload)
{
    int st = 0;
    p->start = timer_now();
    /* Blocks come in any order, and the file takes them by their frames: those that are early wait in their slots. */
    while (!st && p->written < p->n_blocks) {
        deal_blocks(p);
        st = p->alive ? wait_for_answers(p) : no_process_left(p);
        while (!st && p->written < p->n_blocks && p->slots[p->written % p->window] == DONE)
            st = write_block(p, sink, payload);
        p->stats.seconds = timer_now() - p->start;
        if (p->stats.seconds - p->shown > 0.1) {
            p->shown = p->stats.seconds;
            progress(payload, &p->stats);
        }
        if (!st && interrupt_came() && p->written < p->n_blocks)
            st = hcy_fail(HCY_ECANCELLED, "stopped after %llu of %llu frames", (unsigned long long)p->stats.done,
                          (unsigned long long)p->stats.frames);
    }
    judge_run(p);
    return st;
}

const hcy_pipeline_stats *processes_stats(const struct processes *p)
{
    return p ? &p->stats : NULL;
}

/* --- Ending --- */

/* Is the process gone? */
static int has_ended(struct process *w)
{
    return !w->pid || waitpid(w->pid, NULL, WNOHANG) != 0;
}

void processes_free(struct processes *p)
{
    if (!p)
        return;
    /* A closed socket ends a process when it has done its block, which nobody waits for any more: so not for long. */
    for (size_t i = 0; i < p->n; i++)
        if (p->all[i].socket >= 0)
            close(p->all[i].socket);
    double until = timer_now() + (p->written < p->n_blocks ? 0 : GRACE);
    for (size_t i = 0; i < p->n; i++) {
        struct process *w = &p->all[i];
        int gone;
        while (!(gone = has_ended(w)) && timer_now() < until)
            nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
        if (!gone && !kill(w->pid, SIGKILL))
            while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
                continue;
    }
    if (p->memory)
        munmap(p->memory, (size_t)p->memory_bytes);
    if (p->memory_fd >= 0)
        close(p->memory_fd);
    hcy_azint_result_destroy(p->shape.like);
    free(p->slots);
    free(p->devices);
    free(p->all);
    free(p);
}
