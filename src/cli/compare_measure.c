/* compare_measure.c - what one device does, or several together, measured in a process of its own.
 *
 * Rates are those of a pipeline over the stack, as `halcyon integrate` runs it, without writing; the first run, which
 * warms everything up, gives the curves that are held against the reference, and the time that writing takes.  What
 * fails after the rate is known costs its own figures alone: "notes" says why they are missing. */
#include "compare.h"
#include "timer.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

struct measure {
    const struct compare_job *job;
    hcy_device **devices;
    size_t n_devices;
    hcy_pipeline *pipeline;
    struct stage_frames frames;
    hcy_curves *curves; /* while their writing is timed */
    double writing;     /* seconds */
    uint64_t failed;
    double rate; /* frames a second */
};

/* --- The first run --- */

/* Intensities and errors of a frame go to the memory that the parent reads. */
static void keep_curve(const struct compare_job *job, const hcy_pipeline_frame *frame)
{
    double *row = job->curves + 2 * job->n_bins * (size_t)frame->number;
    memcpy(row, frame->result->intensity, job->n_bins * sizeof *row);
    if (frame->result->sigma)
        memcpy(row + job->n_bins, frame->result->sigma, job->n_bins * sizeof *row);
}

static int take_first_frame(void *payload, const hcy_pipeline_frame *frame)
{
    struct measure *m = payload;
    m->failed += !frame->result;
    if (frame->result)
        keep_curve(m->job, frame);
    if (!m->curves)
        return 0;
    /* Only the first run's curves go to a file, so what writing takes is taken here. */
    double start = timer_now();
    int status = hcy_curves_append(m->curves, frame->number, frame->result, frame->why);
    m->writing += timer_now() - start;
    return status;
}

static int ignore_frame(void *payload, const hcy_pipeline_frame *frame)
{
    (void)payload, (void)frame;
    return 0;
}

/* A build without HDF5 writes text. */
static void open_scratch_curves(struct measure *m)
{
    static const char *const names[] = { "curves.h5", "curves.dat" };
    char path[320];
    for (size_t i = 0; !m->curves && i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", m->job->folder, names[i]);
        if (hcy_curves_open(&m->curves, path, m->job->plan, NULL))
            m->curves = NULL;
    }
}

static int run_first(struct measure *m)
{
    open_scratch_curves(m);
    int opened = m->curves != NULL;
    int status = hcy_pipeline_run(m->pipeline, m->frames.stack, 0, m->job->n, take_first_frame, NULL, m);
    double start = timer_now();
    /* Closing is a part of writing: what was appended is in the file only then. */
    int closed = hcy_curves_close(m->curves);
    m->writing = opened && !closed ? m->writing + timer_now() - start : NAN;
    m->curves = NULL;
    return status;
}

/* --- Rates --- */

static void put_pipeline(json_t *object, const hcy_pipeline *pipeline)
{
    const hcy_pipeline_stats *stats = hcy_pipeline_get_stats(pipeline);
    json_t *shares = json_array();
    double memory = 0;
    for (size_t i = 0; i < stats->n_devices; i++) {
        const hcy_pipeline_device *d = &stats->devices[i];
        json_t *share = json_object();
        value_put_text(share, "device", d->name);
        value_put_text(share, "path", d->two_stage ? "two-stage" : "fused");
        value_put_text(share, "variant", d->variant);
        value_put(share, "frames", (double)d->frames);
        value_put_text(share, "error", d->error.status ? d->error.text : NULL);
        json_array_append_new(shares, share);
        memory += (double)d->memory;
    }
    value_put(object, "batch", (double)stats->batch);
    json_object_set_new(object, "shares", shares);
    struct rusage used;
    json_t *bytes = json_object();
    /* Linux counts in KiB.  What this process needs beside the device (the stack's library, the plan) is in it. */
    value_put(bytes, "host_bytes", getrusage(RUSAGE_SELF, &used) ? NAN : 1024.0 * (double)used.ru_maxrss);
    value_put(bytes, "device_bytes", memory);
    json_object_set_new(object, "memory", bytes);
}

/* A run of a few milliseconds is mostly its beginning and its end. */
#define ROUND_SECONDS 0.25

/* Frames of a round: of the whole stack as many as take so long at the rate known, but those compared at least. */
static uint64_t frames_of_round(const struct measure *m)
{
    double wanted = ceil(ROUND_SECONDS * m->rate), there = (double)hcy_stack_get_info(m->frames.stack)->frames;
    return (uint64_t)fmax(fmin(wanted, there), (double)m->job->n);
}

/* Runs over the first n frames, again and again until they have taken as long as a round has to: a stack may be
 * short. */
static int run_round(double *per_s, uint64_t *runs, struct measure *m, uint64_t n)
{
    double seconds = 0;
    int status = 0;
    for (*runs = 0; !status && seconds < ROUND_SECONDS; ++*runs) {
        status = hcy_pipeline_run(m->pipeline, m->frames.stack, 0, n, ignore_frame, NULL, NULL);
        seconds += hcy_pipeline_get_stats(m->pipeline)->seconds;
    }
    *per_s = (double)(n * *runs) / seconds;
    return status;
}

static int measure_rate(json_t *object, struct measure *m)
{
    json_t *rounds = json_array();
    uint64_t n = m->job->n, runs = 0;
    int status = 0;
    m->rate = 0;
    for (int64_t i = 0; !status && i < m->job->values->rounds.value; i++) {
        double per_s = 0;
        n = frames_of_round(m);
        status = run_round(&per_s, &runs, m, n);
        /* What else the machine does can only make a run slower, so the fastest one says most of the device. */
        m->rate = fmax(m->rate, per_s);
        json_array_append_new(rounds, value_real(per_s));
    }
    if (!status) {
        value_put(object, "frames_per_s", m->rate);
        value_put(object, "frames_of_a_round", (double)(n * runs));
        value_put(object, "runs_of_a_round", (double)runs);
        put_pipeline(object, m->pipeline);
    }
    json_object_set_new(object, "rounds_frames_per_s", rounds);
    return status;
}

/* Sensors are slow, so the runs that they watch take a second at least. */
static int measure_energy(json_t *object, struct measure *m)
{
    struct energy *energy = energy_begin(m->devices, m->n_devices);
    uint64_t frames = 0;
    int status = 0;
    double start = timer_now();
    while (!status && energy_readable(energy) && timer_now() - start < 1) {
        status = hcy_pipeline_run(m->pipeline, m->frames.stack, 0, m->job->n, ignore_frame, NULL, NULL);
        frames += m->job->n;
    }
    /* Frames of a run that failed are not known, so there are no joules of one. */
    energy_end(object, energy, status ? 0 : frames);
    return status;
}

/* --- Latency --- */

struct latency {
    double *submitted, *took; /* by number; NaN: not there yet, or failed */
};

static int take_latency(void *payload, const hcy_pipeline_frame *frame)
{
    struct latency *l = payload;
    if (frame->result)
        l->took[frame->number] = timer_now() - l->submitted[frame->number];
    return 0;
}

static void wait_until(double when)
{
    double left = when - timer_now();
    /* A wake-up can be late by this much, so the rest is spun. */
    if (left > 2e-4) {
        struct timespec wait = { (time_t)(left - 1e-4), (long)(1e9 * fmod(left - 1e-4, 1)) };
        nanosleep(&wait, NULL);
    }
    while (timer_now() < when)
        ;
}

static int submit_paced(struct measure *m, struct latency *l, size_t n, double per_s)
{
    const struct stage_frames *f = &m->frames;
    hcy_pipeline_push_options opts = HCY_PIPELINE_PUSH_OPTIONS_INIT;
    opts.sink = take_latency;
    opts.payload = l;
    opts.memory = f->chunks;
    opts.memory_size = f->chunk_bytes;
    int status = hcy_pipeline_start(m->pipeline, &opts);
    if (status)
        return status;
    double start = timer_now();
    for (size_t i = 0; !status && i < n; i++) {
        size_t frame = i % f->n;
        wait_until(start + (double)i / per_s);
        /* A frame that has to wait for its turn has come nevertheless: waiting counts. */
        l->submitted[i] = timer_now();
        status = hcy_pipeline_submit(m->pipeline, f->chunks + f->frames[frame].offset, f->sizes[frame], i, NULL, NULL);
    }
    /* The push is finished even after a failure, since its threads use the times that the caller frees. */
    int ended = hcy_pipeline_finish(m->pipeline);
    return status ? status : ended;
}

/* A histogram in steps of a tenth of a decade. */
static void put_histogram(json_t *object, const double *sorted, size_t n)
{
    json_t *edges = json_array(), *counts = json_array();
    /* Edges are at whole tenths of decades, so that histograms of different devices have the same ones. */
    double edge = pow(10, floor(10 * log10(fmax(1e3 * sorted[0], 1e-6))) / 10);
    for (size_t i = 0; i < n;) {
        size_t begin = i;
        double next = edge * pow(10, 0.1);
        while (i < n && (1e3 * sorted[i] < next))
            i++;
        json_array_append_new(edges, value_real(edge));
        json_array_append_new(counts, json_integer((json_int_t)(i - begin)));
        edge = next;
    }
    json_array_append_new(edges, value_real(edge));
    json_object_set_new(object, "edges_ms", edges);
    json_object_set_new(object, "counts", counts);
}

static void put_latency(json_t *object, struct latency *l, size_t submitted, double per_s)
{
    static const struct {
        const char *key;
        double quantile;
        size_t least; /* samples: below, the number would be one frame's chance */
    } table[] = { { "p50", 0.5, 1 }, { "p90", 0.9, 10 }, { "p99", 0.99, 100 }, { "p99_9", 0.999, 1000 }, { "max", 1, 1 } };
    json_t *latency = json_object();
    size_t n = 0;
    /* Frames without a result are left out, so quantiles are those of frames that have one. */
    for (size_t i = 0; i < submitted; i++)
        if (isfinite(l->took[i]))
            l->took[n++] = l->took[i];
    value_sort(l->took, n);
    value_put(latency, "frames", (double)n);
    value_put(latency, "submitted_per_s", per_s);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        value_put(latency, table[i].key,
                  n < table[i].least ? NAN : 1e3 * value_quantile(l->took, n, table[i].quantile));
    if (n)
        put_histogram(latency, l->took, n);
    json_object_set_new(object, "latency_ms", latency);
}

/* Submit to curve, frames evenly at half the rate of the runs, for a second or for 100 frames. */
static int measure_latency(json_t *object, struct measure *m)
{
    /* At the full rate frames would wait for one another, and latency would be the length of a queue. */
    double per_s = 0.5 * m->rate, n = fmin(fmax(per_s, 100), 10000);
    /* A device that is slow, as modelled ones are, gets ten seconds. */
    size_t count = (size_t)fmax(5, fmin(n, 10 * per_s));
    struct latency l = { calloc(count, sizeof(double)), calloc(count, sizeof(double)) };
    int status = l.submitted && l.took ? 0 : hcy_fail(HCY_ENOMEM, "the times of %zu frames", count);
    /* A frame that never gets a result must not count as one that took no time. */
    for (size_t i = 0; !status && i < count; i++)
        l.took[i] = NAN;
    if (!status)
        status = submit_paced(m, &l, count, per_s);
    if (!status)
        put_latency(object, &l, count, per_s);
    free(l.submitted);
    free(l.took);
    return status;
}

/* --- Stages alone, and limits --- */

static double per_frame_ms(const struct measure *m, double seconds)
{
    return 1e3 * seconds / (double)m->job->n;
}

static int measure_host_stages(json_t *object, struct measure *m)
{
    double read = NAN, parse = NAN;
    int status = stage_load(&read, &parse, &m->frames);
    json_t *stages = json_object();
    value_put(stages, "read", per_frame_ms(m, read));
    value_put(stages, "parse", per_frame_ms(m, parse));
    value_put(stages, "write", per_frame_ms(m, m->writing));
    json_object_set_new(object, "host_ms", stages);
    return status;
}

static int measure_division(json_t *object, struct measure *m)
{
    double seconds = NAN;
    int status = stage_divide(&seconds, &m->frames, m->devices[0]);
    value_put(json_object_get(object, "host_ms"), "divide", 1e3 * seconds);
    return status;
}

/* A kernel that the device has not is null. */
static int measure_kernels(json_t *object, struct measure *m)
{
    static const char *const names[][2] = { { "decode", "bslz4_decode" },
                                            { "integrate", "azint_image" },
                                            { "fused", "bslz4_azint" } };
    json_t *kernels = json_object();
    int status = 0;
    for (size_t i = 0; !status && i < sizeof names / sizeof names[0]; i++) {
        double seconds = NAN;
        size_t batch;
        status = stage_kernel(&seconds, &batch, &m->frames, m->devices[0], names[i][1]);
        status = status == HCY_EUNSUPPORTED ? 0 : status;
        value_put(kernels, names[i][0], per_frame_ms(m, seconds));
    }
    json_object_set_new(object, "kernels_ms", kernels);
    return status;
}

static int measure_limits(json_t *object, struct measure *m)
{
    json_t *limits = json_object();
    int status = compare_limits(limits, m->devices[0]);
    json_object_set_new(object, "limits", limits);
    return status;
}

/* What fails here leaves the figures of the others. */
static void measure_rest(json_t *object, struct measure *m)
{
    static const struct {
        const char *what;
        int (*measure)(json_t *object, struct measure *m);
        int together; /* 1: also of several devices */
    } table[] = { { "energy", measure_energy, 1 },     { "reading", measure_host_stages, 1 },
                  { "latency", measure_latency, 1 },   { "division", measure_division, 0 },
                  { "kernels alone", measure_kernels, 0 }, { "limits", measure_limits, 0 } };
    json_t *notes = json_array();
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        /* Kernels and limits are one device's, and the entry of several has no place for those of each. */
        if (m->n_devices > 1 && !table[i].together)
            continue;
        if (!table[i].measure(object, m))
            continue;
        char note[800];
        snprintf(note, sizeof note, "%s: %.700s", table[i].what, hcy_last_error()->text);
        json_array_append_new(notes, value_text(note));
        /* Without the frames none of what follows is possible. */
        if (table[i].measure == measure_host_stages)
            break;
    }
    json_object_set_new(object, "notes", notes);
}

/* --- All of it --- */

static void describe_device(json_t *object, const struct measure *m)
{
    static const char *const kinds[] = { "other", "cpu", "gpu", "fpga", "other" };
    const hcy_device_info *info = hcy_device_get_info(m->devices[0]);
    int is_virtual = 0;
    for (size_t i = 0; i < m->n_devices; i++)
        is_virtual |= (hcy_device_get_info(m->devices[i])->caps & HCY_CAP_VIRTUAL) != 0;
    if (m->n_devices == 1) {
        value_put_text(object, "description", info->description);
        value_put_text(object, "kind", kinds[info->kind >= 1 && info->kind <= 4 ? info->kind : 0]);
        value_put(object, "units", info->units);
        json_object_set_new(object, "in_host_memory", json_boolean(info->caps & HCY_CAP_HOST_MEMORY));
    }
    value_put_text(object, "virtual", is_virtual ? "virtual: not measured on hardware" : NULL);
}

static int open_measure(struct measure *m, const struct compare_job *job, const char *devices)
{
    const struct compare_values *v = job->values;
    hcy_pipeline_options opts = HCY_PIPELINE_OPTIONS_INIT;
    struct stage_frames *f = &m->frames;
    *m = (struct measure){ .job = job };
    opts.batch = (uint32_t)v->batch.value;
    int status = compare_open(&f->stack, NULL, job);
    if (!status)
        status = hcy_device_open_list(&m->devices, &m->n_devices, devices);
    if (status)
        return status;
    f->info = hcy_stack_get_info(f->stack);
    f->source = hcy_pipeline_source_of(f->info);
    f->plan = job->plan;
    f->n = job->n;
    f->n_bins = job->n_bins;
    f->batch = (size_t)v->batch.value;
    f->rounds = v->rounds.value;
    status = hcy_azint_plan_job(&f->job, job->plan, f->info->pixel_type);
    return status ? status
                  : hcy_pipeline_create(&m->pipeline, m->devices, m->n_devices, job->plan, &f->source, &opts);
}

static void close_measure(struct measure *m)
{
    hcy_pipeline_destroy(m->pipeline);
    stage_unload(&m->frames);
    for (size_t i = 0; i < m->n_devices; i++)
        hcy_device_release(m->devices[i]);
    hcy_list_free(m->devices);
    hcy_stack_close(m->frames.stack);
}

int compare_devices(json_t *object, const struct compare_job *job, const void *what)
{
    struct measure m;
    int status = open_measure(&m, job, what);
    /* What the device is can be told even where it then fails. */
    if (m.n_devices)
        describe_device(object, &m);
    /* The first run gives the curves and warms up, so it is none of the rounds whose rate counts. */
    if (!status)
        status = run_first(&m);
    value_put(object, "failed_frames", (double)m.failed);
    if (!status)
        status = measure_rate(object, &m);
    if (!status)
        measure_rest(object, &m);
    close_measure(&m);
    return status;
}

int compare_once(json_t *object, const struct compare_job *job, const void *what)
{
    struct measure m;
    (void)object;
    int status = open_measure(&m, job, what);
    if (!status)
        status = hcy_pipeline_run(m.pipeline, m.frames.stack, 0, job->n, take_first_frame, NULL, &m);
    close_measure(&m);
    return status;
}

int compare_rate(json_t *object, const struct compare_job *job, const void *what)
{
    struct measure m;
    int status = open_measure(&m, job, what);
    if (!status)
        status = hcy_pipeline_run(m.pipeline, m.frames.stack, 0, job->n, take_first_frame, NULL, &m);
    if (!status)
        status = measure_rate(object, &m);
    close_measure(&m);
    return status;
}

/* --- The timeline --- */

/* The kernels and copies that count for a stage of the way, by the beginning of a span's name. */
static const char *stage_of_span(const char *name)
{
    static const char *const table[][2] = { { "write", "copy" },          { "copy", "copy" },
                                            { "read", "copy back" },      { "bslz4_decode", "decode" },
                                            { "bslz4_azint", "fused" },   { "azint_", "integrate" } };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (!strncmp(name, table[i][0], strlen(table[i][0])))
            return table[i][1];
    return "other";
}

/* One frame's share of what queues did in the run; a stage that did not occur is not there. */
static void put_busy(json_t *object, const struct measure *m, json_t *spans)
{
    json_t *busy = json_object(), *span;
    size_t i;
    json_array_foreach(spans, i, span)
    {
        const char *stage = stage_of_span(value_string(span, "name"));
        double so_far = value_number(busy, stage);
        value_put(busy, stage,
                  (isfinite(so_far) ? so_far : 0) + value_number(span, "ms") / (double)m->job->n);
    }
    json_object_set_new(object, "busy_ms", busy);
}

enum { MOST_SPANS = 240 };

/* A picture has room for so many: the middle of the run, as much of it as fits. */
static void put_window(json_t *object, json_t *spans, double run_ms)
{
    double width = run_ms, from = 0;
    size_t inside = MOST_SPANS + 1, i;
    json_t *window = json_array(), *timeline = json_object(), *span;
    /* The beginning and the end of a run are not like the rest of it.  At one moment there are hardly more spans
     * than queues, so halving ends. */
    while (inside > MOST_SPANS) {
        inside = 0;
        json_array_foreach(spans, i, span)
        {
            double start = value_number(span, "start_ms"), end = start + value_number(span, "ms");
            inside += start < from + width && end > from;
        }
        if (inside <= MOST_SPANS)
            break;
        width *= 0.5;
        from = 0.5 * (run_ms - width);
    }
    json_array_foreach(spans, i, span)
    {
        double start = value_number(span, "start_ms"), end = start + value_number(span, "ms");
        if (start < from + width && end > from)
            json_array_append(window, span);
    }
    value_put(timeline, "from_ms", from);
    value_put(timeline, "ms", width);
    json_object_set_new(timeline, "spans", window);
    json_object_set_new(object, "timeline", timeline);
}

/* The trace's spans that began within [from, to] microseconds, by device; not those of the host's threads. */
static json_t *pick_spans(json_t *trace, double from, double to)
{
    json_t *spans = json_array(), *names = json_object(), *record;
    size_t i;
    json_array_foreach(trace, i, record)
    {
        char pid[32];
        const char *kind = value_string(record, "ph"), *what = value_string(record, "name");
        double start = value_number(record, "ts");
        snprintf(pid, sizeof pid, "%.0f", value_number(record, "pid"));
        /* A device is named before its first span, and queues are named beside it. */
        if (kind && *kind == 'M' && what && !strcmp(what, "process_name"))
            value_put_text(names, pid, value_string(record, "args.name"));
        const char *device = value_string(names, pid);
        if (!kind || *kind != 'X' || start < from || start > to || !device || !strcmp(device, "host"))
            continue;
        json_t *span = json_object();
        value_put_text(span, "device", device);
        value_put(span, "queue", value_number(record, "tid"));
        value_put_text(span, "name", what);
        value_put(span, "start_ms", 1e-3 * (start - from));
        value_put(span, "ms", 1e-3 * value_number(record, "dur"));
        value_put(span, "bytes", value_number(record, "args.bytes"));
        json_array_append_new(spans, span);
    }
    json_decref(names);
    return spans;
}

/* Tracing takes time of its own, so no rate comes from this process. */
int compare_timeline(json_t *object, const struct compare_job *job, const void *what)
{
    struct measure m;
    char path[320];
    double from = 0, to = 0;
    snprintf(path, sizeof path, "%s/trace.json", job->folder);
    /* An earlier one would be gone on with. */
    remove(path);
    setenv("HALCYON_TRACE", path, 1);
    int status = open_measure(&m, job, what);
    if (!status)
        status = hcy_pipeline_run(m.pipeline, m.frames.stack, 0, job->n, ignore_frame, NULL, NULL);
    /* The run before has warmed everything up; only what lies between these two moments is looked at. */
    if (!status) {
        from = 1e6 * timer_now();
        status = hcy_pipeline_run(m.pipeline, m.frames.stack, 0, job->n, ignore_frame, NULL, NULL);
        to = 1e6 * timer_now();
    }
    close_measure(&m);
    if (status)
        return status;
    json_t *trace = json_load_file(path, 0, NULL);
    json_t *spans = pick_spans(trace, from, to);
    put_busy(object, &m, spans);
    put_window(object, spans, 1e-3 * (to - from));
    json_decref(spans);
    json_decref(trace);
    return 0;
}
