/* process_worker.c - one of the processes of halcyon integrate --processes, and how rows and messages go to and fro.
 *
 * A worker reads the same command line as the process that started it, makes the same plan (mostly from the cache), and
 * integrates blocks of frames until its socket is closed.  It writes no file and says nothing but failures, and which
 * of its devices were given up. */
#include "process_wire.h"
#include <errno.h>
#include <halcyon/backend.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- What both sides use --- */

enum { ARRAYS = 8 };

static double **row_array(hcy_azint_result *r, int i)
{
    double **const arrays[ARRAYS] = { &r->intensity,    &r->sigma,    &r->std,       &r->sum_signal,
                                      &r->sum_variance, &r->sum_norm, &r->sum_norm2, &r->count };
    return arrays[i];
}

int process_shape_of(struct process_shape *shape, const struct job *job)
{
    shape->regions = job->regions.n;
    shape->room = job->sparse.room;
    return integrate_result(&shape->like, job);
}

struct process_arrays process_row_arrays(const struct process_shape *shape, struct process_row *row)
{
    struct process_arrays a = { .result = *shape->like };
    double *at = (double *)(row + 1);
    for (int i = 0; i < ARRAYS; i++) {
        double **array = row_array(&a.result, i);
        /* Arrays that a result does not have take no room. */
        if (!*array)
            continue;
        *array = at;
        at += a.result.n_bins;
    }
    /* All is of 8 bytes but the indices, which come last. */
    a.regions = (hcy_region_sums *)at;
    a.values = (int64_t *)(a.regions + shape->regions);
    a.indices = (uint32_t *)(a.values + shape->room);
    return a;
}

size_t process_row_bytes(const struct process_shape *shape)
{
    hcy_azint_result copy = *shape->like;
    size_t arrays = 0;
    for (int i = 0; i < ARRAYS; i++)
        arrays += *row_array(&copy, i) != NULL;
    /* Bins are at most HCY_AZINT_MAX_BINS and pixels 2^32, so this cannot overflow.  Indices fill whole words. */
    return sizeof(struct process_row) + arrays * copy.n_bins * sizeof(double) +
           shape->regions * sizeof(hcy_region_sums) + shape->room * sizeof(int64_t) +
           (shape->room + 1) / 2 * 2 * sizeof(uint32_t);
}

int process_send(int socket, const void *message, size_t size)
{
    for (const char *at = message; size;) {
        ssize_t n = send(socket, at, size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        /* The other end is gone; MSG_NOSIGNAL makes this an answer where it would be a signal that ends the process. */
        if (n <= 0)
            return 0;
        at += n;
        size -= (size_t)n;
    }
    return 1;
}

int process_receive(void *message, size_t size, int socket)
{
    for (char *at = message; size;) {
        ssize_t n = recv(socket, at, size, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return 0;
        at += n;
        size -= (size_t)n;
    }
    return 1;
}

/* --- The worker --- */

struct worker {
    struct job job;
    struct process_setup setup;
    struct process_order order;
    struct process_shape shape;
    char *memory, *names;
    bool *told; /* of each device: that it was given up is said */
};

static int put_row(void *payload, const hcy_pipeline_frame *frame)
{
    struct worker *w = payload;
    uint64_t at = w->order.slot * w->setup.block + (frame->number - w->order.first);
    struct process_row *row = (struct process_row *)(w->memory + at * w->setup.row_bytes);
    /* Report and reason are written for every frame, good or not: the slot still has those of an earlier block. */
    row->good = frame->result != NULL;
    row->report = *frame->report;
    row->n_pixels = 0;
    snprintf(row->why, sizeof row->why, "%s", frame->why);
    if (!frame->result)
        return 0;
    struct process_arrays to = process_row_arrays(&w->shape, row);
    hcy_azint_result from = *frame->result;
    for (int i = 0; i < ARRAYS; i++)
        if (*row_array(&to.result, i))
            memcpy(*row_array(&to.result, i), *row_array(&from, i), from.n_bins * sizeof(double));
    if (frame->regions)
        memcpy(to.regions, frame->regions, w->shape.regions * sizeof *to.regions);
    if (!frame->sparse)
        return 0;
    row->n_pixels = frame->sparse->n;
    /* Both have 8 bytes. */
    memcpy(to.values, frame->sparse->real ? (const void *)frame->sparse->real : frame->sparse->intensity,
           frame->sparse->n * sizeof *to.values);
    memcpy(to.indices, frame->sparse->index, frame->sparse->n * sizeof *to.indices);
    return 0;
}

static int send_answer(struct worker *w, int status)
{
    struct process_answer answer = { .status = status };
    hcy_azint_plan_info plan = HCY_AZINT_PLAN_INFO_INIT;
    const hcy_pipeline_stats *stats = hcy_pipeline_get_stats(w->job.pipeline);
    if (status)
        snprintf(answer.why, sizeof answer.why, "%s", hcy_last_error()->text);
    if (!hcy_azint_plan_get_info(&plan, w->job.plan))
        snprintf(answer.plan, sizeof answer.plan, "%s", plan.hash);
    answer.batch = stats ? stats->batch : 0;
    answer.bytes = stats ? stats->bytes_stored : 0;
    for (size_t i = 0; stats && i < stats->n_devices; i++) {
        const hcy_pipeline_device *d = &stats->devices[i];
        answer.frames += d->frames;
        answer.batches += d->batches;
        answer.seconds = d->seconds > answer.seconds ? d->seconds : answer.seconds;
        answer.two_stage |= d->two_stage;
        if (d->variant) /* of a device that was left out there may be none */
            snprintf(answer.variant, sizeof answer.variant, "%s", d->variant);
    }
    return process_send(PROCESS_SOCKET, &answer, sizeof answer);
}

static int map_rows(struct worker *w)
{
    w->memory = mmap(NULL, (size_t)w->setup.memory, PROT_READ | PROT_WRITE, MAP_SHARED, PROCESS_MEMORY, 0);
    if (w->memory == MAP_FAILED) {
        w->memory = NULL;
        return cli_error("a worker process cannot map %llu bytes of shared memory", (unsigned long long)w->setup.memory);
    }
    int st = process_shape_of(&w->shape, &w->job);
    if (st)
        return cli_fail(st);
    /* Both sides count arrays in their own way from the same plan: this can only differ if the files changed. */
    return process_row_bytes(&w->shape) == w->setup.row_bytes ? CLI_OK : cli_error("a worker process has another plan");
}

/* Says once of each device that it was given up, before the answer: with the last one the parent goes on to its end,
 * where a worker that is slow to end is killed. */
static void tell_lost(struct worker *w)
{
    const hcy_pipeline_stats *stats = hcy_pipeline_get_stats(w->job.pipeline);
    /* How many devices there are is known from the first run on.  Without memory they are told with each order. */
    if (stats && !w->told)
        w->told = calloc(stats->n_devices, sizeof *w->told);
    integrate_tell_lost(stats, "device ", w->told);
}

static int do_orders(struct worker *w)
{
    /* The first answer says that the plan is made and orders may come. */
    int status = 0, open = send_answer(w, 0);
    while (open && !status && process_receive(&w->order, sizeof w->order, PROCESS_SOCKET)) {
        status = hcy_pipeline_run(w->job.pipeline, w->job.stack, w->order.first, w->order.last, put_row, NULL, w);
        /* With no device left the worker has failed, which the answer says. */
        if (!status)
            tell_lost(w);
        open = send_answer(w, status);
    }
    return status ? CLI_FAILED : CLI_OK;
}

static int start_worker(struct worker *w)
{
    int status = integrate_open(&w->job);
    if (!status)
        status = integrate_plan(&w->job);
    if (!status)
        status = integrate_pipeline(&w->job);
    return status ? status : map_rows(w);
}

/* A setup that never comes means that the parent has failed or ended, so there is nobody to tell. */
static int take_setup(struct worker *w, struct inputs *inputs)
{
    if (!process_receive(&w->setup, sizeof w->setup, PROCESS_SOCKET))
        return CLI_FAILED;
    const size_t bytes = (size_t)w->setup.names;
    size_t n = 0;
    if (!(w->names = malloc(bytes + 1)))
        return cli_error("no memory for a worker process");
    if (!process_receive(w->names, bytes, PROCESS_SOCKET))
        return CLI_FAILED;
    for (size_t i = 0; i < bytes; i++)
        n += !w->names[i];
    if (!(inputs->files = calloc(n ? n : 1, sizeof *inputs->files)))
        return cli_error("no memory for a worker process");
    for (const char *at = w->names; inputs->n < n; at += strlen(at) + 1)
        inputs->files[inputs->n++] = at;
    return CLI_OK;
}

int process_work(int argc, char **argv)
{
    struct integrate_values values;
    struct inputs inputs = { 0 };
    struct worker *w = calloc(1, sizeof *w);
    int status;
    /* Whoever interrupts means the process that writes, which ends its workers by closing their sockets. */
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    if (!w)
        return cli_error("no memory for a worker process");
    status = take_setup(w, &inputs);
    if (status) {
        inputs_free(&inputs);
        free(w->names);
        free(w);
        return status;
    }
    /* Until there are frames a worker does what its parent has done, who has said what there is to say of it. */
    cli_notes_off = true;
    if (!integrate_parse(&values, &inputs, argc, argv, &status)) {
        status = CLI_FAILED;
        values.quiet = 1;
        w->job.paths = values.inputs.files;
        w->job.n_paths = values.inputs.n;
        w->job.path = values.inputs.files[0];
        if (!integrate_begin(&w->job, &values)) {
            values.devices = w->setup.devices;
            w->job.worker = 1;
            status = start_worker(w);
        }
        cli_notes_off = false;
        if (!status)
            status = do_orders(w);
        /* Whether devices are left or none: main() has to know of one that hangs. */
        integrate_heed_hang(w->job.pipeline ? hcy_pipeline_get_stats(w->job.pipeline) : NULL);
        free(w->told);
        hcy_azint_result_destroy(w->shape.like);
        if (w->memory)
            munmap(w->memory, (size_t)w->setup.memory);
        integrate_end(&w->job);
    }
    integrate_free(&values);
    free(w->names);
    free(w);
    return status;
}
