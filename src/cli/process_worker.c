/* process_worker.c - one of the processes of halcyon integrate --processes, and how rows and messages go to and fro.
 *
 * A worker reads the same command line as the process that started it, makes the same plan (mostly from the cache), and
 * integrates blocks of frames until its socket is closed.  It writes no file and says nothing but failures. */
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

void process_row_result(hcy_azint_result *result, const hcy_azint_result *like, struct process_row *row)
{
    double *at = (double *)(row + 1);
    *result = *like;
    for (int i = 0; i < ARRAYS; i++) {
        double **array = row_array(result, i);
        /* Arrays that a result does not have take no room. */
        if (!*array)
            continue;
        *array = at;
        at += result->n_bins;
    }
}

size_t process_row_bytes(const hcy_azint_result *like)
{
    hcy_azint_result copy = *like;
    size_t arrays = 0;
    for (int i = 0; i < ARRAYS; i++)
        arrays += *row_array(&copy, i) != NULL;
    /* Bins are at most HCY_AZINT_MAX_BINS, so this cannot overflow. */
    return sizeof(struct process_row) + arrays * like->n_bins * sizeof(double);
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
    hcy_azint_result *like; /* its arrays say which ones rows have */
    char *memory;
};

static int put_row(void *payload, const hcy_pipeline_frame *frame)
{
    struct worker *w = payload;
    uint64_t at = w->order.slot * w->setup.block + (frame->number - w->order.first);
    struct process_row *row = (struct process_row *)(w->memory + at * w->setup.row_bytes);
    /* Report and reason are written for every frame, good or not: the slot still has those of an earlier block. */
    row->good = frame->result != NULL;
    row->report = *frame->report;
    snprintf(row->why, sizeof row->why, "%s", frame->why);
    if (!frame->result)
        return 0;
    hcy_azint_result to, from = *frame->result;
    process_row_result(&to, w->like, row);
    for (int i = 0; i < ARRAYS; i++)
        if (*row_array(&to, i))
            memcpy(*row_array(&to, i), *row_array(&from, i), to.n_bins * sizeof(double));
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
    int st = integrate_result(&w->like, &w->job);
    if (st)
        return cli_fail(st);
    /* Both sides count arrays in their own way from the same plan: this can only differ if the files changed. */
    return process_row_bytes(w->like) == w->setup.row_bytes ? CLI_OK : cli_error("a worker process has another plan");
}

static int do_orders(struct worker *w)
{
    /* The first answer says that the plan is made and orders may come. */
    int status = 0, open = send_answer(w, 0);
    while (open && !status && process_receive(&w->order, sizeof w->order, PROCESS_SOCKET)) {
        status = hcy_pipeline_run(w->job.pipeline, w->job.stack, w->order.first, w->order.last, put_row, NULL, w);
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

int process_work(int argc, char **argv)
{
    struct integrate_values values;
    struct worker *w = calloc(1, sizeof *w);
    int status;
    /* Whoever interrupts means the process that writes, which ends its workers by closing their sockets. */
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    if (!w)
        return cli_error("no memory for a worker process");
    if (!integrate_parse(&values, argc, argv, &status)) {
        /* A setup that never comes means that the parent has failed or ended, so there is nobody to tell. */
        status = CLI_FAILED;
        w->job.paths = values.inputs.files;
        w->job.n_paths = values.inputs.n;
        w->job.path = values.inputs.files[0];
        if (process_receive(&w->setup, sizeof w->setup, PROCESS_SOCKET) &&
            !integrate_begin(&w->job, &values)) {
            values.devices = w->setup.devices;
            values.quiet = 1;
            w->job.worker = 1;
            status = start_worker(w);
        }
        if (!status)
            status = do_orders(w);
        hcy_azint_result_destroy(w->like);
        if (w->memory)
            munmap(w->memory, (size_t)w->setup.memory);
        integrate_end(&w->job);
    }
    integrate_free(&values);
    free(w);
    return status;
}
