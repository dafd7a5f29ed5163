/* frames.c - reading and decoding by threads, and what is said about it. */
#include "frames.h"
#include "guard.h"
#include "inputs.h"
#include "interrupt.h"
#include "shard.h"
#include <halcyon/bslz4.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_BATCH = 16, SAID = 20 };
#define BATCH_BYTES ((uint64_t)16 << 20)

/* --- Opening --- */

static int choose_frames(struct frames *f)
{
    f->first = f->span.given ? f->span.first : 0;
    f->last = f->span.given && f->span.last != UINT64_MAX ? f->span.last : f->info->frames;
    if (f->first < f->last && f->last <= f->info->frames)
        return shard_deal(&f->first, &f->last, &f->shard);
    if (f->first >= f->last)
        return cli_error("%s has frames 0 to %llu, and those from %llu on were asked for", f->path,
                         (unsigned long long)f->info->frames - 1, (unsigned long long)f->first);
    return cli_error("%s has frames 0 to %llu, and %llu to %llu were asked for", f->path,
                     (unsigned long long)f->info->frames - 1, (unsigned long long)f->first,
                     (unsigned long long)f->last - 1);
}

static int open_frame_devices(struct frames *f)
{
    if (f->last - f->first <= CLI_FEW_FRAMES && cli_open_processor(&f->devices, &f->n_devices, f->device_list))
        return 0;
    return hcy_device_open_list(&f->devices, &f->n_devices, f->device_list);
}

int frames_open(struct frames *f)
{
    progress_begin(&f->progress, !f->quiet);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    hcy_stack_options opts = HCY_STACK_OPTIONS_INIT;
    opts.dataset = f->dataset;
    opts.channel = f->channel;
    progress_say(&f->progress, "opening %s ...", f->path);
    /* A pattern, a directory and a list are one stack of many files. */
    int status = inputs_open(&f->stack, NULL, f->path, &opts);
    progress_clear(&f->progress);
    if (status)
        return inputs_fail(f->path, status);
    f->info = hcy_stack_get_info(f->stack);
    /* The conversion changes the size of decoded frames, which the batch below depends on. */
    status = cli_raw_convert(f->stack, &f->raw);
    if (!status)
        status = choose_frames(f);
    if (status || f->first == f->last) /* a part without frames needs no device */
        return status;
    status = open_frame_devices(f);
    if (status)
        return cli_fail_value(status, f->device_list);
    /* A batch is bounded by memory, as every thread has one; a frame that is larger is a batch of one. */
    uint64_t fit = BATCH_BYTES / f->info->frame_bytes;
    f->batch = fit > MAX_BATCH ? MAX_BATCH : (size_t)fit;
    if (!f->batch)
        f->batch = 1;
    if (!(f->lost = calloc(f->n_devices, 1)))
        return cli_error("no memory for %zu devices", f->n_devices);
    /* From here on the run ends by itself at the first signal and cleans up. */
    interrupt_catch();
    return CLI_OK;
}

int frames_guard(const struct frames *f, const char *output)
{
    struct guard guard = { 0 };
    guard_reads_stack(&guard, f->stack);
    guard_reads(&guard, "--pedestal", f->raw.pedestal);
    guard_reads(&guard, "--gain", f->raw.gain);
    int status = guard_writes(&guard, "-o", output, f->first, f->last);
    if (!status)
        status = guard_trace(&guard);
    guard_free(&guard);
    return status;
}

void frames_close(struct frames *f)
{
    /* A signal ends the process as usual from here on. */
    interrupt_release();
    for (size_t i = 0; i < f->n_devices; i++)
        hcy_device_release(f->devices[i]);
    hcy_list_free(f->devices);
    free(f->lost);
    hcy_stack_close(f->stack);
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->lock);
}

unsigned frames_threads(const struct frames *f)
{
    /* Two threads for a device: one reads while the other decodes. More threads than batches would be idle. */
    uint64_t n = f->threads ? f->threads : 2 * f->n_devices,
             batches = (f->last - f->first - 1) / f->batch + 1;
    return (unsigned)(n < batches ? n : batches);
}

/* --- A thread --- */

struct worker {
    struct frames *run;
    unsigned number;
    pthread_t id;
    size_t device;
    hcy_queue *queue; /* of that; NULL before its first frame */
    char *chunks; /* batch * max_chunk; NULL: frames are read as pixels */
    char *images; /* batch * frame_bytes */
    hcy_span spans[MAX_BATCH];
    hcy_frame_report reports[MAX_BATCH];
    size_t number_of[MAX_BATCH]; /* of the spans' frames, in the batch */
    int bad[MAX_BATCH];
};

static int prepare_worker(struct worker *w)
{
    const hcy_stack_info *info = w->run->info;
    size_t batch = w->run->batch;
    w->images = malloc(batch * info->frame_bytes);
    /* Plain pixels are read to where decoded ones would be, without a device. */
    w->chunks = info->codec == HCY_CODEC_NONE ? NULL : malloc(batch * info->max_chunk + 1);
    if (!w->images || (info->codec != HCY_CODEC_NONE && !w->chunks))
        return hcy_fail(HCY_ENOMEM, "no memory for %zu frames of %s", batch, info->path);
    /* Threads are dealt out to the devices in turn. */
    w->device = w->number % w->run->n_devices;
    return 0;
}

static void release_worker(struct worker *w)
{
    hcy_queue_release(w->queue);
    free(w->chunks);
    free(w->images);
}

/* Notes a frame that cannot be had, with the thread's last error. */
static void note_failed(struct worker *w, uint64_t frame)
{
    struct frames *f = w->run;
    char why[512];
    /* The error belongs to this thread, and calls below may replace it. */
    snprintf(why, sizeof why, "%s", hcy_last_error()->text);
    pthread_mutex_lock(&f->lock);
    uint64_t n = f->stats.failed++;
    /* The list is for the message at the end, so it may be shorter than the number of failures. */
    if (n < sizeof f->failed / sizeof f->failed[0])
        f->failed[n] = frame;
    progress_clear(&f->progress);
    if (n < SAID)
        cli_note("frame %llu failed: %s", (unsigned long long)frame, why);
    if (n + 1 == SAID)
        cli_note("further failed frames are only counted");
    pthread_mutex_unlock(&f->lock);
}

/* Whether a status concerns one frame alone and not all of them. */
static int is_frames(int status)
{
    return status == HCY_ECORRUPT || status == HCY_ENOENT || status == HCY_EIO ||
           status == HCY_EUNSUPPORTED || status == HCY_EFORMAT;
}

/* Reads the batch; frames that are there stand in the spans. */
static int read_batch(struct worker *w, uint64_t first, size_t n, size_t *found)
{
    const hcy_stack_info *info = w->run->info;
    size_t room = w->chunks ? info->max_chunk : info->frame_bytes;
    *found = 0;
    for (size_t i = 0; i < n; i++) {
        char *at = w->chunks ? w->chunks + *found * room : w->images + *found * room;
        size_t size = 0;
        int status = hcy_stack_read(&size, at, room, w->run->stack, first + i);
        /* A failure of the machine ends the run; a damaged frame ends itself alone. */
        if (status && !is_frames(status))
            return status;
        w->bad[i] = status != 0;
        if (status) {
            note_failed(w, first + i);
            continue;
        }
        atomic_fetch_add(&w->run->bytes_stored, size);
        /* Bad frames leave no gap: the decoder gets spans side by side, and number_of leads back. */
        w->number_of[*found] = i;
        w->spans[(*found)++] = (hcy_span){ at, size };
    }
    return 0;
}

static hcy_bslz4_job job_of_frames(const hcy_stack_info *info)
{
    return (hcy_bslz4_job){ .codec = info->codec,
                            .elem_size = info->elem_size,
                            .image_bytes = info->frame_bytes,
                            .block_bytes = info->block_bytes };
}

static int decode_spans(struct worker *w, const hcy_bslz4_job *job, size_t n)
{
    int status = w->queue ? 0 : hcy_queue_create(&w->queue, w->run->devices[w->device]);
    return status ? status : hcy_bslz4_decode(w->images, w->reports, w->queue, job, w->spans, n);
}

/* After a failure that is no frame's: 1, with a device that is left, or 0 with the thread's last error as it was. */
static int change_device(struct worker *w)
{
    struct frames *f = w->run;
    size_t next = 0;
    pthread_mutex_lock(&f->lock);
    const int told = f->lost[w->device];
    f->lost[w->device] = 1;
    while (next < f->n_devices && f->lost[next])
        next++;
    /* Both of its threads come here; the last device's failure is the run's, which says it. */
    if (!told && next < f->n_devices) {
        progress_clear(&f->progress);
        cli_note("device %s was given up, its frames went to the others: %s",
                 hcy_device_get_info(f->devices[w->device])->name, hcy_last_error()->text);
    }
    pthread_mutex_unlock(&f->lock);
    if (next == f->n_devices)
        return 0;
    hcy_queue_release(w->queue);
    w->queue = NULL;
    w->device = next;
    return 1;
}

static int decode_batch(struct worker *w, uint64_t first, size_t found)
{
    hcy_bslz4_job job = job_of_frames(w->run->info);
    int status, any;
    do {
        /* Reports of frames that are not decoded say that nothing is wrong with them. */
        memset(w->reports, 0, sizeof w->reports);
        status = w->chunks && found ? decode_spans(w, &job, found) : 0;
        any = 0;
        for (size_t i = 0; i < found; i++)
            any |= w->reports[i].status;
    } while (status && !any && change_device(w));
    for (size_t i = 0; i < found; i++) {
        const hcy_frame_report *r = &w->reports[i];
        if (!r->status)
            continue;
        /* A failed frame is reported as such; only a failure without one is the launch's own. */
        size_t blocks;
        /* What is wrong with a chunk's header has words of its own. */
        if (hcy_bslz4_block_count(&blocks, &job, w->spans[i].data, w->spans[i].size) != r->status)
            (void)hcy_fail(r->status, "%s: block %u at byte %llu of its chunk", hcy_status_text(r->status),
                           r->block, (unsigned long long)r->byte);
        note_failed(w, first + w->number_of[i]);
    }
    return any ? 0 : status;
}

static int do_batch(struct worker *w, uint64_t first, size_t n)
{
    struct frames *f = w->run;
    size_t found;
    int status = read_batch(w, first, n, &found);
    if (!status)
        status = decode_batch(w, first, found);
    for (size_t i = 0; i < found && !status; i++) {
        const char *pixels = w->images + i * f->info->frame_bytes;
        status =
            f->take(f->payload, w->number, first + w->number_of[i], w->reports[i].status ? NULL : pixels);
    }
    /* Frames that could not be read are handed on too, so that whoever takes them misses no number. */
    for (size_t i = 0; i < n && !status; i++)
        if (w->bad[i])
            status = f->take(f->payload, w->number, first + i, NULL);
    return status;
}

static void *work_on_frames(void *data)
{
    struct worker *w = data;
    struct frames *f = w->run;
    int status = prepare_worker(w);
    while (!status && !interrupt_came()) {
        /* Taking the next batch needs no lock, and a fast device takes more of them. */
        uint64_t first = atomic_fetch_add(&f->next, f->batch);
        if (first >= f->last)
            break;
        size_t n = f->last - first < f->batch ? (size_t)(f->last - first) : f->batch;
        status = do_batch(w, first, n);
        pthread_mutex_lock(&f->lock);
        f->stats.done += status ? 0 : n;
        pthread_mutex_unlock(&f->lock);
    }
    if (status)
        /* The other threads find nothing left to do after a failure. */
        atomic_store(&f->next, f->last);
    release_worker(w);
    pthread_mutex_lock(&f->lock);
    /* The first failure counts, as the others may follow from it. */
    if (status && !f->error.status)
        f->error = *hcy_last_error();
    f->working--;
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

/* --- The run --- */

/* Under the lock. */
static void count_run(struct frames *f)
{
    f->stats.seconds = progress_seconds(&f->progress) - f->setup;
    f->stats.bytes_raw = f->stats.done * f->info->frame_bytes;
    f->stats.bytes_stored = atomic_load(&f->bytes_stored);
}

static void show_frames_until_done(struct frames *f)
{
    pthread_mutex_lock(&f->lock);
    while (f->working) {
        /* Ten times a second is enough for eyes, and the end wakes it at once. */
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&f->changed, &f->lock, &until);
        count_run(f);
        progress_frames(&f->progress, &f->stats);
    }
    /* A short run is over before it is looked at. */
    count_run(f);
    progress_clear(&f->progress);
    pthread_mutex_unlock(&f->lock);
}

static int run_frame_threads(struct frames *f, struct worker *workers, unsigned n)
{
    unsigned started = 0;
    f->working = n;
    for (; started < n; started++) {
        workers[started] = (struct worker){ .run = f, .number = started };
        if (pthread_create(&workers[started].id, NULL, work_on_frames, &workers[started]))
            break;
    }
    /* Fewer threads than wanted do the same work: only none at all is a failure. Those that did not start
     * are not waited for. */
    pthread_mutex_lock(&f->lock);
    f->working -= n - started;
    pthread_mutex_unlock(&f->lock);
    if (!started)
        return cli_error("no thread could be started");
    show_frames_until_done(f);
    for (unsigned i = 0; i < started; i++)
        pthread_join(workers[i].id, NULL);
    return f->error.status ? cli_fail(hcy_fail_again(&f->error)) : CLI_OK;
}

static void print_failed_numbers(const struct frames *f)
{
    if (!f->stats.failed)
        return;
    size_t room = sizeof f->failed / sizeof f->failed[0];
    fprintf(stderr, "failed:");
    for (size_t i = 0; i < f->stats.failed && i < room; i++)
        fprintf(stderr, " %llu", (unsigned long long)f->failed[i]);
    fprintf(stderr, "%s\n", f->stats.failed > room ? " ..." : "");
}

/* Devices with compilers take seconds for the first frame: it is decoded once before the clock starts. */
static void decode_ahead(struct frames *f, unsigned device)
{
    struct worker w = { .run = f, .number = device };
    size_t size = 0;
    if (!strcmp(hcy_device_get_info(f->devices[device])->backend, "cpu") || f->info->codec == HCY_CODEC_NONE)
        return;
    progress_say(&f->progress, "preparing %s ...", hcy_device_get_info(f->devices[device])->name);
    /* Whatever fails here fails again in the run, which says so. */
    if (!prepare_worker(&w) && !hcy_stack_read(&size, w.chunks, f->info->max_chunk, f->stack, f->first)) {
        hcy_bslz4_job job = job_of_frames(f->info);
        w.spans[0] = (hcy_span){ w.chunks, size };
        (void)!decode_spans(&w, &job, 1);
    }
    release_worker(&w);
}

int frames_run(struct frames *f)
{
    unsigned n = frames_threads(f);
    struct worker *workers = calloc(n, sizeof *workers);
    if (!workers)
        return cli_error("no memory for %u threads", n);
    /* More devices than threads: the others get no frame. */
    for (unsigned i = 0; i < f->n_devices && i < n; i++)
        decode_ahead(f, i);
    f->setup = progress_seconds(&f->progress);
    atomic_store(&f->next, f->first);
    f->stats.frames = f->last - f->first;
    int status = run_frame_threads(f, workers, n);
    free(workers);
    /* A signal after the last frame changes nothing. */
    if (!status && interrupt_came() && f->stats.done < f->stats.frames)
        status = cli_error("stopped after %llu of %llu %s", (unsigned long long)f->stats.done,
                           (unsigned long long)f->stats.frames, frames_word(f->stats.frames));
    if (f->no_summary) {
        progress_clear(&f->progress);
    } else if (!f->quiet) {
        progress_summary(&f->stats, f->setup, "file");
        print_failed_numbers(f);
    }
    if (status)
        return status;
    return f->stats.failed ? CLI_FAILED : CLI_OK;
}

int frames_all_taken(const struct frames *f)
{
    return !f->error.status && f->stats.frames && f->stats.done == f->stats.frames;
}
