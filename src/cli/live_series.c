/* live_series.c - one series of a stream: its plan when it begins, a pipeline when its first image says what images are
 * like, a file of curves, and in the end what became of its frames.
 *
 * An image stays in the memory where ZeroMQ received it until the pipeline has read it, and goes back from whichever
 * thread that was in. */
#include "integrate_job.h"
#include "interrupt.h"
#include "live_priv.h"
#include <halcyon/pipeline.h>
#include <stdlib.h>
#include <string.h>

enum { SAID = 20 }; /* images that cannot be used whose reason is printed */

/* --- The beginning --- */

/* A name as it was given; from the second series on with its number before the suffix. */
static int name_live_output(char *name, size_t size, const struct live_series *s, const char *given)
{
    const char *base = strrchr(given, '/'), *dot = strrchr(base ? base : given, '.');
    int stem = dot ? (int)(dot - given) : (int)strlen(given), n;
    /* The first series has the name that was asked for, so that a run of one series needs no number; standard output
     * and devices have all of them, one after the other. */
    if (s->live->n_series < 2 || !strcmp(given, "-") || !strncmp(given, "/dev/", 5))
        n = snprintf(name, size, "%s", given);
    else
        n = snprintf(name, size, "%.*s_%llu%s", stem, given, (unsigned long long)s->live->n_series,
                     dot ? dot : "");
    return (size_t)n < size ? CLI_OK : cli_error("the name of %s is too long", given);
}

static int choose_live_output(struct live_series *s)
{
    const struct integrate_values *v = s->live->values;
    int status = name_live_output(s->output, sizeof s->output, s, v->output ? v->output : "stream_azint.h5");
    if (!status && v->output)
        status = integrate_check_name(s->output, v, s->start.images);
    return status || !v->sparse ? status : name_live_output(s->sparse.path, sizeof s->sparse.path, s, v->sparse);
}

static int open_live_curves(struct live_series *s)
{
    const struct integrate_values *v = s->live->values;
    hcy_curves_options opts = HCY_CURVES_OPTIONS_INIT;
    char devices[1024], corrections[PIXELS_TEXT];
    integrate_device_names(devices, sizeof devices, s->live->devices, s->live->n_devices);
    pixels_corrections(corrections, &s->plan.pixels);
    opts.devices = devices;
    opts.config = v->command;
    opts.mask = v->mask;
    opts.dark = v->dark;
    opts.flat = v->flat;
    opts.corrections = *corrections ? corrections : NULL;
    /* Whoever reads along has the file from the first frame on. */
    opts.growing = 1;
    opts.sums = v->sums;
    regions_name(&opts, &s->regions);
    s->before = cli_identify(s->output);
    int status = hcy_curves_open(&s->curves, s->output, s->plan.plan, &opts);
    return status ? cli_fail_value(status, v->output) : CLI_OK;
}

/* All that needs the images' size.  pixel_type 0: no image came yet, and headers do not say. */
static int prepare_series(struct live_series *s, uint32_t pixel_type)
{
    struct live *live = s->live;
    size_t channel = 0;
    progress_say(&live->progress, "plan for %u x %u pixels ...", s->start.height, s->start.width);
    if (s->start.n_channels && hcy_stream_find_channel(&channel, &s->start, *s->channel ? s->channel : NULL))
        return cli_fail(hcy_last_error()->status);
    /* The curves' file is opened last: a series that cannot be integrated leaves none. */
    int status = live_plan_make(&s->plan, live->values, &s->start, channel, live->devices[0]);
    if (!status)
        status = regions_parse(&s->regions, live->values);
    if (!status)
        status = regions_prepare(&s->regions, s->plan.plan, &s->plan.poni, pixel_type, s->plan.mask);
    if (!status)
        status = choose_live_output(s);
    if (!status)
        status = group_open(&s->group, &s->failures, s->plan.plan, (uint64_t)live->values->sum.value,
                            (uint64_t)live->values->average.value);
    if (!status && live->out)
        status = publish_begin(&s->publish, s->plan.plan, s->start.series);
    if (!status)
        status = open_live_curves(s);
    progress_clear(&live->progress);
    s->is_prepared = !status;
    return status;
}

/* Of several thresholds one is taken, and which is said. */
static int choose_live_channel(struct live_series *s, const hcy_stream_message *m)
{
    const struct integrate_values *v = s->live->values;
    size_t index;
    if (!m->n_channels)
        return CLI_OK;
    int status = hcy_stream_find_channel(&index, m, v->channel);
    if (status)
        return cli_fail(status);
    snprintf(s->channel, sizeof s->channel, "%s", m->channels[index].name);
    if (m->n_channels > 1 && !v->channel && !v->quiet)
        cli_note("series %llu has %u channels: %s is used; --channel takes another", (unsigned long long)m->series,
                 m->n_channels, s->channel);
    return CLI_OK;
}

int live_series_begin(struct live_series **out, struct live *live, struct wire_message *held,
                      const hcy_stream_message *start)
{
    struct live_series *s = calloc(1, sizeof *s);
    if (!s) {
        wire_message_free(held);
        return cli_error("out of memory for a series");
    }
    s->live = live;
    /* The header's arrays, such as masks, lie in the message, which therefore lives as long as the series. */
    s->held = held;
    s->start = *start;
    s->publish.wire = live->out;
    live->n_series++;
    tally_begin(&s->tally);
    pthread_mutex_init(&s->lock, NULL);
    if (!live->values->quiet)
        cli_note("series %llu begins: %llu %s announced", (unsigned long long)start->series,
                 (unsigned long long)start->images, frames_word(start->images));
    int status = choose_live_channel(s, start);
    /* A header without details does not say how large images are: the first one does. */
    if (!status && start->height && start->width)
        status = prepare_series(s, 0);
    /* Also after a failure the series is the caller's, whose end it takes as any other does. */
    *out = s;
    return status;
}

int live_series_has(const struct live_series *s, const hcy_stream_message *m)
{
    return s->start.series == m->series && !strcmp(s->start.series_id, m->series_id);
}

/* --- Frames --- */

static int take_live_curve(void *payload, const hcy_pipeline_frame *frame)
{
    struct live_series *s = payload;
    struct live *live = s->live;
    uint64_t written = 0;
    /* Counted before anything can fail: the frame has left the pipeline in any case. */
    tally_result(&s->tally, frame->number, !frame->result);
    int status = failures_take(&s->failures, &live->progress, frame);
    if (status)
        return status;
    pixels_take(&s->plan.pixels, frame);
    regions_take(&s->regions, frame);
    status = sparse_take(&s->sparse, frame, 1);
    if (status)
        return status;
    watch_curve(&live->watch, frame->result, frame->number);
    /* Readers of the stream get each frame by itself, whatever the file sums up. */
    if (publish_frame(&s->publish, frame) < 0)
        return hcy_fail(HCY_EIO, "curves cannot be published");
    pthread_mutex_lock(&s->lock);
    status = group_take(&s->group, s->curves, frame, &written);
    pthread_mutex_unlock(&s->lock);
    s->written += status ? 0 : written;
    return status;
}

void live_series_idle(struct live_series *s)
{
    pthread_mutex_lock(&s->lock);
    /* What fails here fails again with the next curve, or when the file is closed, which says so. */
    if (s->curves)
        (void)!hcy_curves_flush(s->curves);
    pthread_mutex_unlock(&s->lock);
}

/* After the pipeline, which may refuse, and before a frame can be done. */
static int open_live_sparse(struct live_series *s)
{
    static const hcy_shard all;
    return sparse_open(&s->sparse, s->plan.plan, NULL, &all);
}

static int start_series_pipeline(struct live_series *s, const hcy_stream_array *a)
{
    const struct integrate_values *v = s->live->values;
    hcy_pipeline_options opts = HCY_PIPELINE_OPTIONS_INIT;
    hcy_pipeline_push_options push = HCY_PIPELINE_PUSH_OPTIONS_INIT;
    const hcy_pipeline_source source = { { a->codec, a->elem_size, a->bytes, 0, 0 }, a->pixel_type, 0 };
    int status = sparse_prepare(&s->sparse, v, s->plan.plan, &s->plan.poni, a->pixel_type);
    if (status)
        return status;
    integrate_run_options(&opts, v);
    regions_ask(&opts, &s->regions);
    sparse_ask(&opts, &s->sparse);
    /* Frames that are added up need their sums; means alone are enough where each one is a curve. */
    if (!group_adds(&s->group) && !v->sums && !v->sparse)
        opts.flags |= HCY_PIPELINE_MEANS;
    push.queue = (uint32_t)v->queue.value;
    push.overflow = v->overflow ? HCY_PIPELINE_DROP_OLDEST : HCY_PIPELINE_WAIT;
    push.sink = take_live_curve;
    push.payload = s;
    progress_say(&s->live->progress, "preparing the devices ...");
    status = hcy_pipeline_create(&s->pipeline, s->live->devices, s->live->n_devices, s->plan.plan, &source, &opts);
    if (!status)
        status = open_live_sparse(s);
    if (!status)
        status = hcy_pipeline_start(s->pipeline, &push);
    progress_clear(&s->live->progress);
    if (status)
        return cli_fail(status);
    /* The pipeline is made for images like this one; those that come after are held against it. */
    s->kind = *a;
    s->setup = progress_seconds(&s->live->progress);
    /* The signal handler may cancel the pipeline from now on. */
    interrupt_cancels(s->pipeline);
    return CLI_OK;
}

/* What a frame's bytes lie in. */
struct carrier {
    struct wire_message *message;
    uint8_t *buffer; /* of LZ4 that needs a head and of what was below Zstandard, or NULL */
};

static void release_carrier(void *payload, uint64_t number, int status)
{
    struct carrier *c = payload;
    (void)number, (void)status;
    wire_message_free(c->message);
    free(c->buffer);
    free(c);
}

/* An image that cannot be used is one frame less, and told. */
static int leave_out_image(struct live_series *s, const hcy_stream_message *m, const char *why)
{
    tally_count(&s->tally, &s->tally.counts.malformed);
    progress_clear(&s->live->progress);
    if (tally_read(&s->tally).malformed <= SAID)
        cli_note("image %llu of series %llu is left out: %s", (unsigned long long)m->number,
                 (unsigned long long)m->series, why);
    return CLI_OK;
}

/* The chosen channel's image; NULL with the reason in `why`. */
static const hcy_stream_array *find_live_image(const char **why, const struct live_series *s,
                                               const hcy_stream_message *m)
{
    size_t index;
    *why = "it has not the channel";
    if (hcy_stream_find_channel(&index, m, *s->channel ? s->channel : s->live->values->channel))
        return NULL;
    const hcy_stream_array *a = &m->channels[index].image, *k = &s->kind;
    *why = "it has no pixels in this channel";
    if (!a->data)
        return NULL;
    *why = "it is of another size than the header says";
    if (s->is_prepared && (a->height != s->start.height || a->width != s->start.width))
        return NULL;
    *why = "its pixels or its coding are others than before";
    if (k->data && (k->pixel_type != a->pixel_type || k->codec != a->codec || k->bytes != a->bytes))
        return NULL;
    *why = "its number is beyond the series' announced images";
    return s->start.images && m->number >= s->start.images ? NULL : a;
}

static int submit_image(struct live_series *s, struct wire_message *message, const hcy_stream_message *m,
                        const hcy_stream_array *a)
{
    /* The pipeline reads the image in the memory of the message, so the message goes with it until it is released. */
    struct carrier *c = calloc(1, sizeof *c);
    size_t room = hcy_stream_chunk_room(a);
    hcy_span chunk;
    if (c) {
        c->message = message;
        c->buffer = room ? malloc(room) : NULL;
    }
    /* The tally must have the number before the pipeline does: the result may be there before the submission
     * returns. */
    if (!c || (room && !c->buffer) || tally_submit(&s->tally, m->number)) {
        wire_message_free(message);
        free(c ? c->buffer : NULL);
        free(c);
        return cli_error("out of memory for a frame");
    }
    int status = hcy_stream_chunk(&chunk, c->buffer, room, a), unreadable = status;
    if (!status)
        status = hcy_pipeline_submit(s->pipeline, chunk.data, chunk.size, m->number, release_carrier, c);
    if (!status)
        return CLI_OK;
    tally_withdraw(&s->tally);
    /* What is wrong with one image costs this image; where the pipeline takes none any more, the run ends. */
    if (unreadable)
        status = leave_out_image(s, m, hcy_last_error()->text);
    else
        status = interrupt_came() ? CLI_FAILED : cli_fail(status);
    /* The pipeline does not release what it has not taken. */
    release_carrier(c, m->number, 0);
    return status;
}

int live_series_image(struct live_series *s, struct wire_message *message, const hcy_stream_message *m)
{
    const char *why;
    int status = CLI_OK;
    tally_count(&s->tally, &s->tally.counts.received);
    const hcy_stream_array *a = find_live_image(&why, s, m);
    if (!a) {
        status = leave_out_image(s, m, why);
    } else if (tally_number(&s->tally, m->number) != TALLY_NEW) {
        /* The first one of a number counts; that another came is told at the end. */
    } else if (m->number % (uint64_t)s->live->values->every.value) {
        tally_count(&s->tally, &s->tally.counts.skipped);
    } else {
        if (!s->is_prepared) {
            s->start.height = a->height;
            s->start.width = a->width;
            status = prepare_series(s, a->pixel_type);
        }
        if (!status && !s->pipeline)
            status = start_series_pipeline(s, a);
        if (!status)
            return submit_image(s, message, m, a);
    }
    wire_message_free(message);
    return status;
}

/* --- The end --- */

static const char *end_words(enum live_end end)
{
    static const char *const words[] = { "its end came", "no message came in time", "another series began before its end",
                                         "interrupted", "the run failed" };
    return words[end];
}

/* Every number that can be told of it, as text. */
static void describe_frames(char *text, size_t size, const struct live_series *s, const struct tally_counts *c)
{
    snprintf(text, size,
             "%llu announced, %llu received, %llu done; %llu dropped, %llu skipped, %llu repeated, %llu missing, "
             "%llu malformed, %llu failed",
             (unsigned long long)s->start.images, (unsigned long long)c->received, (unsigned long long)c->done,
             (unsigned long long)c->dropped, (unsigned long long)c->skipped, (unsigned long long)c->repeated,
             (unsigned long long)tally_missing(c, s->start.images), (unsigned long long)c->malformed,
             (unsigned long long)c->failed);
}

static int put_remarks(struct live_series *s, const struct tally_counts *c, enum live_end end)
{
    /* Whoever has only the file can see from it which frames the stream lost, and why it ended. */
    char text[512];
    snprintf(text, sizeof text, "%s, series %llu%s%s, Stream v%d%s%s", s->live->values->stream,
             (unsigned long long)s->start.series, *s->start.series_id ? " " : "", s->start.series_id, s->start.version,
             *s->channel ? ", " : "", s->channel);
    int status = hcy_curves_remark(s->curves, "stream", text);
    if (!status)
        status = hcy_curves_remark(s->curves, "stream_end", end_words(end));
    describe_frames(text, sizeof text, s, c);
    if (!status)
        status = hcy_curves_remark(s->curves, "stream_frames", text);
    return status;
}

/* Is every frame that should be in the file there? */
static int is_whole(const struct live_series *s, const struct tally_counts *c, enum live_end end)
{
    /* A stream that falls silent after all announced images has only lost its end message. */
    int all = s->start.images && !tally_missing(c, s->start.images);
    return (end == LIVE_ENDED || (end == LIVE_TIMEOUT && all)) && !tally_missing(c, s->start.images) && !c->malformed;
}

/* The numbers as members of an object, and the rest of the series. */
static void print_series_json(struct live_series *s, const struct tally_counts *c, enum live_end end, int whole)
{
    struct cli_json *json = &s->live->json;
    /* A series without images never had a pipeline; its object has the same members nevertheless. */
    static const hcy_pipeline_stats none;
    const hcy_pipeline_stats *stats = s->pipeline ? hcy_pipeline_get_stats(s->pipeline) : &none;
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = { { "series", s->start.series },   { "announced", s->start.images },
                    { "received", c->received },     { "dropped", c->dropped },
                    { "skipped", c->skipped },       { "repeated", c->repeated },
                    { "missing", tally_missing(c, s->start.images) }, { "malformed", c->malformed } };
    cli_json_open(json, NULL, '{');
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        cli_json_uint(json, numbers[i].key, numbers[i].value);
    cli_json_text(json, "end", end_words(end));
    cli_json_bool(json, "complete", whole);
    cli_json_text(json, "channel", *s->channel ? s->channel : NULL);
    /* What was never prepared has no file and no pixels to tell of. */
    cli_json_text(json, "output", s->is_prepared ? s->output : NULL);
    cli_json_real(json, "latency_p50", tally_latency(&s->tally, 0.5));
    cli_json_real(json, "latency_p99", tally_latency(&s->tally, 0.99));
    cli_json_real(json, "latency_p999", tally_latency(&s->tally, 0.999));
    failures_run_json(json, &s->failures, stats, s->setup);
    if (s->is_prepared)
        pixels_json(json, &s->plan.pixels);
    regions_json(json, &s->regions);
    if (s->live->values->sparse)
        cli_json_int(json, "sparse_pixels", (int64_t)s->sparse.pixels);
    cli_json_open(json, "devices", '[');
    for (size_t i = 0; i < stats->n_devices; i++)
        progress_device_json(json, &stats->devices[i]);
    cli_json_close(json, ']');
    cli_json_close(json, '}');
}

static void print_series(struct live_series *s, const struct tally_counts *c, enum live_end end)
{
    char text[512];
    const struct integrate_values *v = s->live->values;
    const hcy_pipeline_stats *stats = s->pipeline ? hcy_pipeline_get_stats(s->pipeline) : NULL;
    integrate_tell_lost(stats, "device ", NULL);
    describe_frames(text, sizeof text, s, c);
    if (v->quiet || v->json)
        return;
    if (stats)
        progress_summary(stats, s->setup, "stream");
    failures_print(&s->failures);
    if (s->is_prepared)
        pixels_summary(&s->plan.pixels);
    fprintf(stderr, "series %llu: %s; %s\n", (unsigned long long)s->start.series, end_words(end), text);
    if (c->done)
        fprintf(stderr, "latency: p50 %.2f ms, p99 %.2f ms, p99.9 %.2f ms\n", 1e3 * tally_latency(&s->tally, 0.5),
                1e3 * tally_latency(&s->tally, 0.99), 1e3 * tally_latency(&s->tally, 0.999));
    if (s->written && strcmp(s->output, "-") && !*s->place)
        fprintf(stderr, "%s: %llu %s\n", s->output, (unsigned long long)s->written, s->written == 1 ? "curve" : "curves");
}

/* The files take their end; what is not whole says so itself.  `failed`: frames could not be written. */
static int close_live_output(struct live_series *s, int whole, int failed)
{
    /* What a stream sent does not come again, so that its rows stay also where its sender has died: curves say which
     * frames they are.  Where writing failed the two may differ. */
    int status = sparse_close(&s->sparse, !failed), sparse = status;
    if (status)
        (void)cli_fail(status);
    if (!s->curves)
        return status ? CLI_FAILED : CLI_OK;
    /* Frames that the stream lost are no reason to call the file unfinished: it says in itself which there are. */
    if (whole)
        status = hcy_curves_close(s->curves);
    else
        status = hcy_curves_stop(s->place, sizeof s->place, s->curves);
    if (status)
        (void)cli_fail(status);
    if (whole && status && strcmp(s->output, "-")) /* what is there has not all of it */
        snprintf(s->place, sizeof s->place, "%s", s->output);
    whole = whole && !status;
    if (!whole && *s->place)
        cli_note("%s is not complete", s->place);
    else if (!whole && strcmp(s->output, "-") && !strchr(s->output, '%'))
        cli_not_completed(s->output, &s->before);
    return status || sparse ? CLI_FAILED : CLI_OK;
}

static void free_series(struct live_series *s)
{
    /* A signal must no longer find the pipeline that goes now. */
    interrupt_cancels(NULL);
    hcy_pipeline_destroy(s->pipeline);
    publish_end(&s->publish);
    group_close(&s->group);
    regions_free(&s->regions);
    sparse_free(&s->sparse);
    live_plan_free(&s->plan);
    failures_free(&s->failures);
    tally_end(&s->tally);
    pthread_mutex_destroy(&s->lock);
    wire_message_free(s->held);
    free(s);
}

int live_series_end(struct live_series *s, enum live_end end)
{
    struct live *live = s->live;
    uint64_t written = 0;
    /* Results of all frames that were submitted come first. */
    int status = s->pipeline ? hcy_pipeline_finish(s->pipeline) : 0;
    if (!status && s->curves)
        status = group_end(&s->group, s->curves, &written);
    s->written += written;
    if (status && end != LIVE_FAILED) {
        end = interrupt_came() ? LIVE_INTERRUPTED : LIVE_FAILED;
        cli_fail(status);
    }
    progress_clear(&live->progress);
    watch_show(&live->watch, &s->tally, s->start.series, s->start.images, 1);
    struct tally_counts counts = tally_read(&s->tally);
    int whole = !status && is_whole(s, &counts, end);
    /* The file of a run that was interrupted is one that says so. */
    if (s->curves && (!status || status == HCY_ECANCELLED) && put_remarks(s, &counts, end))
        cli_fail(hcy_last_error()->status);
    int closed = close_live_output(s, whole || (!status && end == LIVE_ENDED), status && status != HCY_ECANCELLED);
    whole = whole && !closed;
    print_series(s, &counts, end);
    if (live->values->json)
        print_series_json(s, &counts, end, whole);
    int good = whole && !closed && !counts.failed && !s->failures.n;
    free_series(s);
    return good ? CLI_OK : CLI_FAILED;
}
