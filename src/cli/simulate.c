/* simulate.c - halcyon simulate: a stack as a real detector would have written it, and the PONI file beside
 * it.
 *
 * Worker threads draw, code and write whole frames, each taking the next number that is free; the main thread
 * shows how far they are.  The pixels depend on the seed and the frame's number alone, never on the threads.
 */
#include "geometry.h"
#include "guard.h"
#include "interrupt.h"
#include "simulate.h"
#include "simulate_mri.h"
#include "simulate_stream.h"
#include "progress.h"
#include <errno.h>
#include <bslz4/bslz4_format.h>
#include <halcyon/backend.h>
#include <halcyon/stack.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct values {
    const char *detector, *shape, *calibrant;
    struct cli_int frames, seed, threads;
    struct cli_real counts;
    int dtype, quiet;
    struct sim_stream stream;
    struct sim_mri mri;
};

const char *const sim_encodings[] = { "none", "bslz4", "lz4", NULL }; /* of HCY_CODEC_* */
static const char *const dtypes[] = { "uint32", "uint16", NULL };

#define AT(member) offsetof(struct values, member)
static const struct cli_option options[] = {
    { "detector", 0, CLI_TEXT, AT(detector), "NAME", "as in PONI files (Eiger4M)", 0, 0, NULL },
    { "shape", 0, CLI_TEXT, AT(shape), "HxW", "instead: so many pixels, as EIGER modules", 0, 0, NULL },
    { "frames", 'n', CLI_INT, AT(frames), "N", "how many (100)", 1, 1e9, NULL },
    { "calibrant", 0, CLI_TEXT, AT(calibrant), "NAME",
      "CeO2 (default), LaB6, Si, or d-spacings in\nAngstrom: 3.12,2.71", 0, 0, NULL },
    { "counts", 0, CLI_REAL, AT(counts), "MEAN", "photons a pixel and frame (4)", 1e-6, 1e9, NULL },
    { "seed", 0, CLI_INT, AT(seed), "S", "the same seed gives the same pixels (0)", 0, 9e15, NULL },
    { "dtype", 0, CLI_CHOICE, AT(dtype), "TYPE", "uint32 (default) or uint16", 0, 0, dtypes },
    { "stream", 0, CLI_TEXT, AT(stream.address), "ADDRESS",
      "send OUT.h5 as a detector does, tcp://*:PORT; if it is\nnot there, it is made first", 0, 0, NULL },
    { "stream-version", 0, CLI_INT, AT(stream.version), "V", "DECTRIS Stream 1 or 2 (2)", 1, 2, NULL },
    { "encoding", 0, CLI_CHOICE, AT(stream.encoding), "HOW", "none, bslz4 (default), lz4: of what is sent", 0, 0,
      sim_encodings },
    { "channels", 0, CLI_INT, AT(stream.channels), "N", "energy thresholds an image (1), in version 2", 1, 4, NULL },
    { "series", 0, CLI_INT, AT(stream.series), "N", "one after the other (1)", 1, 1e9, NULL },
    { "rate", 0, CLI_REAL, AT(stream.rate), "F", "images a second (as fast as they are taken)", 0, 1e9, NULL },
    { "replay", 0, CLI_TEXT, AT(stream.replay), "FILE", "instead of OUT.h5: what integrate --record has kept", 0, 0,
      NULL },
    { "faults", 0, CLI_TEXT, AT(stream.faults), "LIST",
      "drop=N, repeat=N, damage=N, cut=N, swap=N: every Nth\nimage; header=N, die=N, no-header, no-end", 0, 0, NULL },
    { "curve-secret", 0, CLI_TEXT, AT(stream.curve_secret), "FILE", "CurveZMQ: a file with the secret key", 0, 0, NULL },
    { "mri", 0, CLI_CHOICE, AT(mri.kind), "TRAJECTORY",
      "instead of a stack: k-space of a phantom, radial,\nspiral, stack-of-stars or kooshball", 0, 0, sim_mri_kinds },
    { "size", 0, CLI_INT, AT(mri.size), "N", "--mri: pixels on an axis (256; in 3-D 64)", 2, 4096, NULL },
    { "slices", 0, CLI_INT, AT(mri.slices), "N", "of a stack of stars (a quarter of --size)", 1, 4096, NULL },
    { "spokes", 0, CLI_INT, AT(mri.spokes), "N", "or interleaves (enough; kooshball: N^2/4 + 1)", 1, 1e7, NULL },
    { "samples", 0, CLI_INT, AT(mri.samples), "N", "of a spoke (two a pixel) or interleaf", 1, 1e7, NULL },
    { "golden", 0, CLI_FLAG, AT(mri.golden), NULL, "spokes turn by the golden angle", 0, 0, NULL },
    { "delay", 0, CLI_TEXT, AT(mri.delay), "X,Y,Z", "gradients come so many samples late,\none number for all (0)", 0, 0, NULL },
    { "coils", 0, CLI_INT, AT(mri.coils), "N", "that receive (1)", 1, 64, NULL },
    { "noise", 0, CLI_REAL, AT(mri.noise), "S", "deviation, of the samples' root mean square (0)", 0, 1e6, NULL },
    { "field-map", 0, CLI_REAL, AT(mri.field), "HZ", "a field that is off by up to this (0)", 0, 1000, NULL },
    { "readout", 0, CLI_REAL, AT(mri.readout), "MS", "time that a spoke takes, with --field-map (10)", 0, 100, NULL },
    { "threads", 't', CLI_INT, AT(threads), "N", "that make frames (all processors)", 1, 1024, NULL },
    { "quiet", 'q', CLI_FLAG, AT(quiet), NULL, "no progress, no summary", 0, 0, NULL },
    CLI_ISOLATE_OPTIONS,
    { NULL, 0, CLI_FLAG, 0, NULL, NULL, 0, 0, NULL }
};
#undef AT

const struct cli_command cli_simulate_command = {
    "simulate",
    "a realistic EIGER stack with powder rings, and its PONI file; or k-space",
    "OUT.h5",
    0,
    1,
    options,
    "Writes OUT.h5 (dataset /entry/data/data, bitshuffle and LZ4) and OUT.poni; files of these\n"
    "names are replaced.  Rings, air scattering, polarization 0.99, solid angle, Poisson noise;\n"
    "gaps between modules hold the type's top value, hot pixels the one below it.\n"
    "--mri OUT: .h5 with the datasets samples, trajectory (in radians, as `halcyon nufft -t 2` takes\n"
    "it), maps, image; or OUT_samples.npy and so on, also .cfl."
};

/* Everything that one run has open. */
struct run {
    const struct values *values;
    const char *path;
    hcy_poni poni;
    size_t n_pixels;
    struct sim_counter *counter;
    hcy_stack_writer *writer;
    unsigned elem_size;
    uint64_t frames, threads;
    /* below: under the lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t next, done;
    unsigned working;
    hcy_error failed; /* status 0: none */
};

/* --- The detector --- */

static int parse_detector_shape(hcy_poni *poni, const char *text)
{
    char *end;
    unsigned long height = strtoul(text, &end, 10), width = 0;
    /* strtoul takes a minus and wraps, so a sign is looked for. */
    if (*end == 'x' && text[0] != '-' && end[1] != '-')
        width = strtoul(end + 1, &end, 10);
    if (*end || height < 8 || width < 8 || height > 65536 || width > 65536)
        return cli_usage("--shape '%s': give height and width in pixels, 8 to 65536 each, as 2167x2070", text);
    poni->height = (uint32_t)height;
    poni->width = (uint32_t)width;
    poni->pixel1 = poni->pixel2 = 75e-6;
    return 0;
}

static int choose_detector(hcy_poni *poni, const struct values *v)
{
    const hcy_detector *detector;
    if (v->shape && v->detector)
        return cli_usage("--shape and --detector exclude one another");
    if (v->shape)
        return parse_detector_shape(poni, v->shape);
    char meant[80];
    if (hcy_detector_find(&detector, v->detector ? v->detector : "Eiger4M"))
        return cli_usage("--detector %s%s: %s", v->detector, cli_detector_meant(meant, v->detector), hcy_last_error()->text);
    if (!detector->height || !detector->width)
        return cli_usage("detector %s has no shape of its own; use --shape", detector->name);
    if (detector->has_corners)
        return cli_usage("the pixels of detector %s are not a grid, which is what is simulated; use --shape",
                         detector->name);
    poni->detector = detector;
    poni->height = detector->height;
    poni->width = detector->width;
    poni->pixel1 = detector->pixel1;
    poni->pixel2 = detector->pixel2;
    return 0;
}

/* kinds[]: gaps as the detector has them (by --shape: EIGER's), and a few pixels that are always wrong. */
static int find_bad_pixels(uint8_t *kinds, const hcy_poni *poni, uint64_t seed)
{
    size_t n = (size_t)poni->height * poni->width;
    if (poni->detector) {
        int st = hcy_detector_mask(kinds, poni->detector, poni->height, poni->width);
        if (st)
            return cli_fail(st);
    } else {
        sim_eiger_gaps(kinds, poni->height, poni->width);
    }
    for (size_t i = 0; i < n; i++)
        kinds[i] = kinds[i] ? SIM_GAP : SIM_GOOD;
    /* One pixel in 50000 of each kind: few, but some in every image. The seed decides which ones. */
    uint64_t state = seed + 1;
    for (size_t i = 0; i < n / 50000 + 1; i++) {
        for (int kind = SIM_HOT; kind <= SIM_DEAD; kind++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            size_t at = (size_t)((state >> 16) % n);
            if (kinds[at] == SIM_GOOD)
                kinds[at] = (uint8_t)kind;
        }
    }
    return 0;
}

/* --- Files --- */

/* OUT.h5 -> OUT.poni; freed by the caller. */
static char *poni_path(const char *path)
{
    size_t size = strlen(path) + 6;
    const char *base = strrchr(path, '/'), *dot = strrchr(base ? base : path, '.');
    /* A name that begins with a dot is not a suffix. */
    int stem = dot && dot != path && dot[-1] != '/' ? (int)(dot - path) : (int)strlen(path);
    char *name = malloc(size);
    if (name)
        snprintf(name, size, "%.*s.poni", stem, path);
    return name;
}

static int write_poni(const struct run *run)
{
    char text[2048], *path = poni_path(run->path);
    hcy_output *output;
    int st = hcy_poni_format(text, sizeof text, NULL, &run->poni);
    if (!st)
        st = path ? hcy_output_open(&output, path, 0) : hcy_fail(HCY_ENOMEM, "no memory for the PONI file's name");
    if (!st) {
        FILE *out = hcy_output_stream(output);
        if (out)
            fprintf(out, "# Made by halcyon simulate for %s\n%s", run->path, text);
        /* The geometry takes its name only when it is complete. */
        st = hcy_output_commit(output, 0);
    }
    free(path);
    return st ? cli_fail(st) : 0;
}

static int guard_simulated_files(const struct run *run)
{
    struct guard guard = { 0 };
    char *poni = poni_path(run->path);
    int status = guard_writes(&guard, "the stack", run->path, 0, 0);
    if (!status)
        status = guard_writes(&guard, "its geometry", poni, 0, 0);
    if (!status)
        status = cli_check_format(run->path, HCY_WRITE_PACKED);
    if (!status)
        status = guard_trace(&guard);
    guard_free(&guard);
    free(poni);
    return status;
}

static int create_stack(struct run *run)
{
    hcy_stack_writer_options opts = HCY_STACK_WRITER_OPTIONS_INIT;
    opts.frames = run->frames;
    opts.height = run->poni.height;
    opts.width = run->poni.width;
    opts.pixel_type = run->elem_size == 2 ? HCY_PIXEL_U16 : HCY_PIXEL_U32;
    opts.codec = HCY_CODEC_BSLZ4;
    int st = hcy_stack_create(&run->writer, run->path, &opts);
    return st ? cli_fail(st) : 0;
}

/* --- Frames --- */

static int make_mean(struct run *run)
{
    const struct values *v = run->values;
    static struct sim_rings rings;
    char why[160];
    if (sim_rings_find(&rings, v->calibrant ? v->calibrant : "CeO2", why, sizeof why))
        return cli_usage("--calibrant %s", why);
    /* The distance follows from the calibrant, so that several rings hit the detector. */
    sim_place(&run->poni, &rings);
    float *mean = malloc(run->n_pixels * sizeof *mean);
    uint8_t *kinds = malloc(run->n_pixels);
    int status = 0;
    if (!mean || !kinds || sim_mean(mean, &run->poni, &rings, v->counts.given ? v->counts.value : 4))
        status = cli_error("no memory for an image of %u x %u", run->poni.height, run->poni.width);
    if (!status)
        status = find_bad_pixels(kinds, &run->poni, (uint64_t)v->seed.value);
    if (!status) {
        /* The counter copies what it needs of the image. */
        run->counter = sim_counter_create(mean, kinds, run->n_pixels, (uint64_t)v->seed.value);
        if (!run->counter)
            status = cli_error("no memory for an image of %u x %u", run->poni.height, run->poni.width);
    }
    free(kinds);
    free(mean);
    return status;
}

static void note_worker_failure(struct run *run, int status)
{
    pthread_mutex_lock(&run->lock);
    /* The first failure is told, as the others mostly follow from it. */
    if (!run->failed.status) {
        run->failed = *hcy_last_error();
        run->failed.status = status;
    }
    pthread_mutex_unlock(&run->lock);
}

/* The next frame's number, or one past the last when there is nothing left to do. */
static uint64_t take_frame_number(struct run *run, int finished_one)
{
    pthread_mutex_lock(&run->lock);
    run->done += (uint64_t)finished_one;
    /* After a failure no one begins a frame. */
    uint64_t frame = run->failed.status ? run->frames : run->next;
    run->next += frame < run->frames;
    if (frame >= run->frames)
        run->working--;
    pthread_cond_signal(&run->changed);
    pthread_mutex_unlock(&run->lock);
    return frame;
}

static void *make_frames(void *payload)
{
    struct run *run = payload;
    void *pixels = malloc(run->n_pixels * run->elem_size);
    /* The loop below then gets no frame, since a failure was noted. */
    if (!pixels)
        note_worker_failure(run, hcy_fail(HCY_ENOMEM, "no memory for a frame"));
    int made = 0;
    for (uint64_t frame; (frame = take_frame_number(run, made)) < run->frames;) {
        sim_draw(pixels, run->elem_size, run->counter, frame);
        /* An interruption is a failure of the run: what was written is taken away. */
        int st = interrupt_came() ? hcy_fail(HCY_ECANCELLED, "stopped")
                                  : hcy_stack_write(run->writer, frame, pixels);
        made = !st;
        if (st)
            note_worker_failure(run, st);
    }
    free(pixels);
    return NULL;
}

static void show_simulation_until_done(struct run *run, struct progress *progress)
{
    pthread_mutex_lock(&run->lock);
    while (run->working) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        /* Every frame signals; the line changes ten times a second all the same. */
        while (run->working && !pthread_cond_timedwait(&run->changed, &run->lock, &until))
            ;
        /* The terminal may be slow, and workers must not wait for it. */
        uint64_t done = run->done;
        pthread_mutex_unlock(&run->lock);
        double seconds = progress_seconds(progress);
        progress_say(progress, "%llu of %llu %s  %.0f frames/s", (unsigned long long)done,
                     (unsigned long long)run->frames, frames_word(run->frames),
                     seconds > 0 ? (double)done / seconds : 0);
        pthread_mutex_lock(&run->lock);
    }
    pthread_mutex_unlock(&run->lock);
    progress_clear(progress);
}

/* Processors that this process may use, as the library counts them. */
static unsigned count_processors(void)
{
    hcy_device_info *devices = NULL;
    size_t n = 0;
    unsigned found = 1;
    if (hcy_device_list(&devices, &n))
        return 1;
    for (size_t i = 0; i < n; i++)
        if (devices[i].kind == HCY_KIND_CPU && devices[i].units > found)
            found = devices[i].units;
    hcy_list_free(devices);
    return found;
}

static int run_sim_threads(struct run *run, struct progress *progress)
{
    const struct cli_int *wanted = &run->values->threads;
    uint64_t n = wanted->given ? (uint64_t)wanted->value : count_processors();
    n = n < run->frames ? n : run->frames;
    pthread_t *threads = malloc(n * sizeof *threads);
    uint64_t started = 0;
    if (threads) {
        run->working = (unsigned)n;
        while (started < n && !pthread_create(&threads[started], NULL, make_frames, run))
            started++;
        pthread_mutex_lock(&run->lock);
        run->working -= (unsigned)(n - started);
        pthread_mutex_unlock(&run->lock);
    }
    if (!started) {
        free(threads);
        return cli_error("no thread could be started");
    }
    show_simulation_until_done(run, progress);
    for (uint64_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    run->threads = started;
    return run->failed.status ? cli_fail(hcy_fail_again(&run->failed)) : 0;
}

static void summarize(const struct run *run, uint64_t stored, double seconds)
{
    double raw = (double)run->frames * (double)run->n_pixels * run->elem_size;
    fprintf(
        stderr,
        "%s: %llu %s of %u x %u %s, %.1f MB of pixels in %.1f MB (%.1f to 1), %.1f s, %.0f frames/s, "
        "%llu %s\n",
        run->path, (unsigned long long)run->frames, frames_word(run->frames), run->poni.height,
        run->poni.width, run->elem_size == 2 ? "uint16" : "uint32", 1e-6 * raw, 1e-6 * (double)stored, raw / (double)stored,
        seconds, seconds > 0 ? (double)run->frames / seconds : 0, (unsigned long long)run->threads,
        run->threads == 1 ? "thread" : "threads");
}

static int simulate_run(struct run *run)
{
    struct progress progress;
    progress_begin(&progress, !run->values->quiet);
    int status = choose_detector(&run->poni, run->values);
    if (status)
        return status;
    run->n_pixels = (size_t)run->poni.height * run->poni.width;
    /* Names are checked before the image is computed, which takes seconds. */
    status = guard_simulated_files(run);
    if (!status)
        status = make_mean(run);
    /* From here on there are threads and a file to clean up. */
    interrupt_catch();
    if (!status)
        status = create_stack(run);
    if (status)
        return status;
    status = run_sim_threads(run, &progress);
    uint64_t stored = hcy_stack_writer_bytes(run->writer);
    if (!status)
        status = write_poni(run); /* first: a stack that is there is of use with it alone */
    int closed = 0;
    if (!status)
        /* The stack takes its name only here, when the geometry is there. */
        closed = hcy_stack_writer_close(run->writer);
    else
        hcy_stack_writer_discard(run->writer);
    if (closed)
        status = cli_fail(closed);
    if (status)
        cli_not_written(run->path);
    else if (!run->values->quiet)
        summarize(run, stored, progress_seconds(&progress));
    return status;
}

/* Is something said of a stack that is made? */
static bool is_stack_said(const struct values *v)
{
    return v->detector || v->shape || v->calibrant || v->counts.given || v->dtype >= 0 || v->seed.given;
}

/* What the options that belong together say; CLI_OK, or CLI_USAGE after a message. */
static int check_simulation(struct values *v, const char *path)
{
    struct sim_stream *s = &v->stream;
    const struct {
        int wrong;
        const char *what;
    } rules[] = {
        { !path && !s->replay, "what to write is missing: halcyon simulate OUT.h5" },
        { path && s->replay, "--replay takes the place of OUT.h5: give one of them" },
        { s->replay && !s->address, "--replay needs --stream ADDRESS, where it is sent" },
        { s->replay && (s->version.given || s->encoding >= 0 || s->channels.given || s->series.given ||
                        v->frames.given || v->threads.given || is_stack_said(v)),
          "--replay sends what was recorded: leave --stream-version, --encoding, --channels, --series, --frames, "
          "--threads, --detector, --shape, --calibrant, --counts, --dtype and --seed" },
        { !s->address && (s->faults || s->rate.given || s->series.given || s->curve_secret || s->version.given ||
                          s->channels.given || s->encoding >= 0),
          "--stream-version, --encoding, --channels, --series, --rate, --faults and --curve-secret are for --stream" },
        { v->mri.kind && (v->detector || v->shape || v->calibrant || v->counts.given || v->dtype >= 0 ||
                          v->frames.given || s->address || s->replay),
          "--mri makes no stack: --detector, --shape, --calibrant, --counts, --dtype, --frames and --stream are for "
          "stacks" },
        { s->version.value == 1 && s->channels.value > 1, "--channels is for --stream-version 2" },
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].wrong)
            return cli_usage("%s", rules[i].what);
    const char *of_mri = v->mri.kind ? NULL : sim_mri_given(&v->mri);
    if (of_mri)
        return cli_usage("%s is for --mri", of_mri);
    if (v->mri.kind) {
        v->mri.seed = v->seed;
        v->mri.quiet = v->quiet;
        v->mri.threads = v->threads.given ? (unsigned)v->threads.value : hcy_processors();
        return sim_mri_check(&v->mri, path);
    }
    s->frames = v->frames;
    s->quiet = v->quiet;
    return sim_stream_check(s);
}

static int make_stack(const struct values *values, const char *path)
{
    struct run run = { .values = values, .path = path, .poni = HCY_PONI_INIT };
    run.elem_size = values->dtype == 1 ? 2 : 4;
    run.frames = values->frames.given ? (uint64_t)values->frames.value : 100;
    pthread_mutex_init(&run.lock, NULL);
    pthread_cond_init(&run.changed, NULL);
    int status = simulate_run(&run);
    interrupt_release();
    sim_counter_destroy(run.counter);
    pthread_cond_destroy(&run.changed);
    pthread_mutex_destroy(&run.lock);
    return status;
}

int cli_simulate(int argc, char **argv)
{
    struct values values = { .dtype = -1,
                             .mri = { .kind = -1, .coils = { 0, 1 }, .readout = { 0, 10 } },
                             .stream = { .version = { 0, 2 }, .channels = { 0, 1 }, .series = { 0, 1 },
                                         .encoding = -1 } };
    const char *path = NULL;
    int status;
    if (cli_parse(&cli_simulate_command, argc, argv, &values, &path, &status))
        return status;
    values.mri.kind++; /* of its names, to enum mri_kind */
    status = check_simulation(&values, path);
    /* Its default comes after the rules, which ask whether it was given. */
    if (values.stream.encoding < 0)
        values.stream.encoding = HCY_CODEC_BSLZ4;
    if (status || values.stream.replay)
        return status ? status : sim_stream_replay(&values.stream);
    if (values.mri.kind)
        return sim_mri_make(&values.mri, path);
    /* A stack that is there already is sent as it is. */
    if (!values.stream.address || access(path, F_OK))
        status = make_stack(&values, path);
    else if (is_stack_said(&values) && !values.quiet)
        cli_note("%s is there and is sent as it is: what is said of its pixels is for one that is made", path);
    return status || !values.stream.address ? status : sim_stream_stack(&values.stream, path);
}
