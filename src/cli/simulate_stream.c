/* simulate_stream.c - see simulate_stream.h. */
#include "simulate_stream.h"
#include "interrupt.h"
#include "record.h"
#include "sender.h"
#include "stream_write.h"
#include "timer.h"
#include <halcyon/bslz4.h>
#include <halcyon/stack.h>
#include <stdlib.h>
#include <string.h>

enum { LINGER_MS = 30000, WAITING = 64 };

/* A stack that is sent. */
struct sending {
    const struct sim_stream *values;
    hcy_stack *stack;
    const hcy_stack_info *info;
    struct sent_series series;
    struct sender sender;
    hcy_device *device;
    hcy_queue *queue;
    void *chunk, *pixels, *coded; /* of one frame: as it is stored, decoded, coded anew */
    size_t chunk_room, coded_room;
    hcy_bslz4_job stored, job;    /* as it lies in the stack, as it is sent */
    uint32_t *mask;
    char id[32];
};

/* --- The header --- */

/* The PONI file that halcyon simulate puts beside OUT.h5, of a detector that is not tilted; others are not sent. */
static void find_sent_geometry(struct sent_series *s, const char *path)
{
    char poni_path[4096];
    hcy_poni poni = HCY_PONI_INIT;
    const char *base = strrchr(path, '/'), *dot = strrchr(base ? base : path, '.');
    int stem = dot ? (int)(dot - path) : (int)strlen(path);
    s->pixel1 = s->pixel2 = 75e-6;
    if ((size_t)snprintf(poni_path, sizeof poni_path, "%.*s.poni", stem, path) >= sizeof poni_path ||
        hcy_poni_read(&poni, poni_path))
        return;
    if (poni.pixel1 > 0 || poni.detector) {
        s->pixel1 = poni.pixel1 > 0 ? poni.pixel1 : poni.detector->pixel1;
        s->pixel2 = poni.pixel2 > 0 ? poni.pixel2 : poni.detector->pixel2;
    }
    s->wavelength = poni.wavelength;
    /* A stream tells the beam's centre, which the point of normal incidence is only without tilts. */
    if (poni.rot1 == 0 && poni.rot2 == 0 && poni.rot3 == 0) {
        const int o = poni.orientation || !poni.detector ? poni.orientation : poni.detector->orientation;
        s->distance = poni.dist;
        s->beam_x = poni.poni2 / s->pixel2;
        s->beam_y = poni.poni1 / s->pixel1;
        /* It is counted from the image's first pixel, and a PONI's from where its orientation has the origin. */
        if (o == 1 || o == 4)
            s->beam_x = s->width - s->beam_x;
        if (o == 1 || o == 2)
            s->beam_y = s->height - s->beam_y;
    }
}

/* The stack's own pixel mask. */
static int find_sent_mask(struct sending *s)
{
    hcy_corrections *own;
    size_t n = (size_t)s->info->height * s->info->width;
    if (hcy_corrections_read(&own, s->stack, NULL, HCY_CORRECTION_MASK))
        return cli_fail(hcy_last_error()->status);
    if (own->mask && (s->mask = calloc(n ? n : 1, sizeof *s->mask)))
        for (size_t i = 0; i < n; i++)
            s->mask[i] = own->mask[i];
    int status = own->mask && !s->mask ? cli_error("out of memory for a mask") : CLI_OK;
    s->series.mask = s->mask;
    hcy_corrections_free(own);
    return status;
}

static int describe_series(struct sending *s, const char *path)
{
    const struct sim_stream *v = s->values;
    const hcy_stack_info *info = s->info;
    uint64_t frames = v->frames.given ? (uint64_t)v->frames.value : info->frames;
    /* The series points to `id`, so each one's name takes effect by being written there. */
    s->series = (struct sent_series){ .version = (int)v->version.value, .number = 1, .images = frames, .id = s->id,
                                      .height = info->height, .width = info->width, .pixel_type = info->pixel_type,
                                      .elem_size = info->elem_size, .codec = (uint32_t)v->encoding,
                                      .description = "Halcyon simulate", .n_channels = (size_t)v->channels.value };
    if (info->pixel_type != HCY_PIXEL_U8 && info->pixel_type != HCY_PIXEL_U16 && info->pixel_type != HCY_PIXEL_U32)
        return cli_error("%s: a detector's stream has pixels of uint8, uint16 or uint32", path);
    find_sent_geometry(&s->series, path);
    return find_sent_mask(s);
}

/* --- Frames --- */

static int prepare_frames(struct sending *s)
{
    const hcy_stack_info *info = s->info;
    s->stored = (hcy_bslz4_job){ info->codec, info->elem_size, info->frame_bytes, info->block_bytes, 0 };
    s->job = (hcy_bslz4_job){ s->series.codec, info->elem_size, info->frame_bytes, 0, 0 };
    /* Stream v1's LZ4 is one block, of the whole image. */
    if (s->series.version == 1 && s->series.codec == HCY_CODEC_LZ4) {
        size_t eights = 8 * (size_t)info->elem_size;
        s->job.block_bytes = (uint32_t)((info->frame_bytes + eights - 1) / eights * eights);
    }
    int status = hcy_bslz4_encode_bound(&s->coded_room, &s->job);
    if (!status)
        status = hcy_device_open(&s->device, "cpu");
    if (!status)
        status = hcy_queue_create(&s->queue, s->device);
    if (status)
        return cli_fail(status);
    s->chunk_room = (size_t)info->max_chunk;
    s->chunk = malloc(s->chunk_room ? s->chunk_room : 1);
    s->pixels = malloc((size_t)info->frame_bytes);
    s->coded = malloc(s->coded_room);
    return s->chunk && s->pixels && s->coded ? CLI_OK : cli_error("out of memory for a frame");
}

/* A frame's bytes as they are sent: as they are stored, where that is the same. */
static int make_frame(hcy_span *out, struct sending *s, uint64_t frame)
{
    size_t size;
    int status = hcy_stack_read(&size, s->chunk, s->chunk_room, s->stack, frame);
    /* Where one block has to be the whole image, what is stored is coded anew. */
    if (!status && s->stored.codec == s->job.codec && !s->job.block_bytes) {
        *out = (hcy_span){ s->chunk, size };
        return 0;
    }
    if (!status)
        status = hcy_bslz4_decode(s->pixels, NULL, s->queue, &s->stored, &(hcy_span){ s->chunk, size }, 1);
    if (!status)
        status = hcy_bslz4_encode(&size, s->coded, s->coded_room, &s->job, s->pixels);
    *out = (hcy_span){ s->coded, size };
    return status;
}

static int send_made(struct sending *s, struct sent *message, int made)
{
    int status = made ? cli_fail(made) : sender_send(&s->sender, message->parts, message->n);
    /* A message that could not be made has been freed by whoever failed to. */
    if (!made)
        sent_free(message);
    return status;
}

static int send_series(struct sending *s)
{
    struct sent message;
    int status = send_made(s, &message, sent_start(&message, &s->series));
    for (uint64_t i = 0; !status && i < s->series.images && !interrupt_came() && !s->sender.is_dead; i++) {
        hcy_span chunks[SENT_CHANNELS];
        /* A stack with fewer frames than are to be sent begins anew. */
        status = make_frame(&chunks[0], s, i % s->info->frames);
        if (status)
            return cli_fail(status);
        /* All thresholds have the same pixels: what matters is which of them is taken. */
        for (size_t c = 1; c < SENT_CHANNELS; c++)
            chunks[c] = chunks[0];
        status = send_made(s, &message, sent_image(&message, &s->series, i, chunks));
    }
    return status ? status : send_made(s, &message, sent_end(&message, &s->series));
}

/* --- Either --- */

int sim_stream_check(const struct sim_stream *v)
{
    struct sender_faults faults;
    const int status = sender_parse_faults(&faults, v->faults);
    return status || !v->address ? status : wire_check_address(v->address, 1);
}

static int open_sender(struct sender *sender, const struct sim_stream *v)
{
    const struct wire_options options = { WIRE_PUSH, 1, WAITING, NULL, v->curve_secret };
    memset(sender, 0, sizeof *sender);
    sender->rate = v->rate.value;
    sender->address = v->address;
    progress_begin(&sender->progress, !v->quiet);
    int status = sender_parse_faults(&sender->faults, v->faults);
    return status ? status : wire_open(&sender->wire, v->address, &options);
}

static int close_sender(struct sender *sender, const struct sim_stream *v, int status, double began)
{
    int ended = status ? status : sender_end(sender);
    if (status)
        (void)sender_end(sender);
    /* One that dies does so without giving away what it has. */
    wire_close(sender->wire, interrupt_came() ? 0 : LINGER_MS);
    progress_clear(&sender->progress);
    if (interrupt_came())
        cli_note("stopped after %llu messages", (unsigned long long)sender->sent);
    double seconds = timer_now() - began;
    if (!ended && !v->quiet)
        fprintf(stderr, "%llu messages, %.1f MB, %.1f s, %.0f images/s\n", (unsigned long long)sender->sent,
                1e-6 * (double)sender->bytes, seconds, seconds > 0 ? (double)sender->images / seconds : 0);
    return interrupt_came() ? CLI_FAILED : ended;
}

int sim_stream_stack(const struct sim_stream *v, const char *path)
{
    struct sending s = { .values = v };
    int status = hcy_stack_open(&s.stack, path, NULL);
    if (status)
        return cli_fail(status);
    double began = timer_now();
    s.info = hcy_stack_get_info(s.stack);
    status = describe_series(&s, path);
    if (!status)
        status = prepare_frames(&s);
    /* Waiting for a receiver may take a minute, so a signal must be able to end what follows. */
    interrupt_catch();
    int opened = status ? status : open_sender(&s.sender, v);
    status = opened;
    for (int64_t i = 0; !status && i < v->series.value && !interrupt_came() && !s.sender.is_dead; i++) {
        s.series.number = (uint64_t)i + 1;
        snprintf(s.id, sizeof s.id, "halcyon-%lld", (long long)i + 1);
        status = send_series(&s);
    }
    /* A sender that was never opened has nothing to send on, and no figures. */
    if (!opened)
        status = close_sender(&s.sender, v, status, began);
    interrupt_release();
    hcy_queue_release(s.queue);
    hcy_device_release(s.device);
    hcy_stack_close(s.stack);
    free(s.chunk);
    free(s.pixels);
    free(s.coded);
    free(s.mask);
    return status;
}

int sim_stream_replay(const struct sim_stream *v)
{
    struct record *record = NULL;
    struct sender sender;
    const hcy_span *parts;
    size_t n;
    int status = record_open(&record, v->replay), got = 1;
    if (status)
        return status;
    double began = timer_now();
    interrupt_catch();
    int opened = open_sender(&sender, v);
    status = opened;
    while (!status && !interrupt_came() && !sender.is_dead && (got = record_next(&parts, &n, record)) > 0)
        status = sender_send(&sender, parts, n);
    /* record_next() has told what is wrong with the recording; what came before it was sent. */
    status = got < 0 ? CLI_FAILED : status;
    if (!opened)
        status = close_sender(&sender, v, status, began);
    interrupt_release();
    (void)record_close(record);
    return status;
}
