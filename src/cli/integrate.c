/* integrate.c - halcyon integrate: a stack of detector images to its curves.
 *
 * What can be wrong is found in the order of its price: the command line, the files, the plan, the devices,
 * the frames.  Curves go to the output, everything that is said to stderr, the JSON object to stdout. */
#include "cli.h"
#include "follow.h"
#include "geometry.h"
#include "group.h"
#include "guard.h"
#include "integrate.h"
#include "interrupt.h"
#include "mask.h"
#include "pixels.h"
#include "progress.h"
#include "rings.h"
#include "saved_config.h"
#include <halcyon/backend.h>
#include <halcyon/pipeline.h>
#include <stdlib.h>
#include <string.h>

/* Everything that one integration has open. */
struct job {
    const struct integrate_values *values;
    const char *path;
    hcy_stack *stack;
    const hcy_stack_info *info;
    uint64_t first, last;
    hcy_poni poni;
    struct cli_geometry geometry;
    hcy_azint_options azint;
    char cache[1024]; /* folder of plans */
    uint8_t *mask;
    float *arrays[4]; /* what azint's pointers point at */
    hcy_azint_plan *plan;
    hcy_device **devices;
    size_t n_devices;
    hcy_curves *curves;
    char output[4096]; /* its path */
    uint64_t written;  /* curves that are in it */
    hcy_error said;    /* why the run ended, if it failed */
    int whole;         /* 1: all frames came */
    char place[4096];  /* where curves are if not all are there; "": nowhere */
    hcy_pipeline *pipeline;
    struct group group;
    struct progress progress;
    double setup; /* seconds from the start to the first frame */
    uint64_t *failed;
    size_t n_failed, room;
    struct pixels pixels;
};

/* --- Input --- */

/* With --follow all that will come, as far as that is known. */
static int check_frames(struct job *job)
{
    const struct cli_span *span = &job->values->frames;
    uint64_t frames = job->info->frames;
    if (job->values->follow)
        /* A file that grows may end later than it does now. If it says how many frames are expected, these
         * are the limit. */
        frames = job->info->expected > frames ? job->info->expected : UINT64_MAX;
    job->first = span->given ? span->first : 0;
    job->last = span->given && span->last != UINT64_MAX ? span->last : frames;
    if (job->first < job->last && (job->last <= frames || job->values->follow))
        return CLI_OK;
    return cli_error("--frames: %s has frames 0 to %llu", job->path,
                     (unsigned long long)frames - 1);
}

/* So few that what a device prepares for many does not pay: it takes as long as some frames without. */
static int has_few_frames(const struct job *job)
{
    return !job->values->follow && job->last - job->first <= 3;
}

static int open_input(struct job *job)
{
    const struct integrate_values *v = job->values;
    hcy_stack_options opts = HCY_STACK_OPTIONS_INIT;
    opts.dataset = v->dataset;
    opts.channel = v->channel;
    opts.growing = v->follow;
    job->geometry.given = integrate_has_geometry(v);
    job->geometry.detector = v->detector;
    job->geometry.quiet = v->quiet;
    job->geometry.orientation = (int)v->orientation.value;
    job->geometry.flip = v->flip;
    /* A wrong geometry is told before anyone waits for a stack. */
    int status = job->geometry.given ? integrate_geometry(&job->poni, v) : 0;
    if (status)
        return cli_fail(status);
    progress_say(&job->progress, v->follow ? "waiting for %s ..." : "opening %s ...", job->path);
    /* Without --follow the time to wait is 0: one attempt, whose failure is the answer. */
    status = follow_open(&job->stack, job->path, &opts, v->follow ? v->follow_timeout.value : 0);
    if (status)
        return cli_fail(status);
    job->info = hcy_stack_get_info(job->stack);
    progress_clear(&job->progress);
    /* The conversion makes floats of raw pixels, so all that follows sees the pixels converted. */
    status = cli_raw_convert(job->stack, &v->raw);
    if (!status)
        status = check_frames(job);
    /* Without -p the stack's own file has the geometry, which is why the stack is opened first. */
    return status ? status : cli_geometry_read(&job->poni, &job->geometry, job->stack);
}

/* --- The plan --- */

static void add_mask(uint8_t *mask, const uint8_t *more, size_t n)
{
    for (size_t i = 0; more && i < n; i++)
        mask[i] |= more[i];
}

/* All that masks a pixel in every frame but the detector's gaps; each source is counted. */
static int make_static_mask(struct job *job)
{
    const struct integrate_values *v = job->values;
    struct pixels *pixels = &job->pixels;
    const uint8_t *detectors = job->geometry.file ? job->geometry.file->mask : NULL;
    /* Without a source the plan masks the detector's gaps alone and needs no array. */
    if (!v->mask && !v->mask_frame.given && !detectors && !pixels->own->mask)
        return CLI_OK;
    job->mask = calloc(job->info->height, job->info->width);
    if (!job->mask)
        return cli_error("out of memory for a mask of %u x %u", job->info->height, job->info->width);
    int status = v->mask ? cli_mask_file(job->mask, &pixels->mask_is_plain, job->stack, v->mask) : CLI_OK;
    /* Each source is counted by what it adds to those before it, so no pixel counts twice. */
    pixels->by_mask = pixels_count(job->mask, pixels->pixels);
    if (!status && v->mask_frame.given)
        status = cli_mask_frame(job->mask, job->stack, job->devices[0], &job->poni, &job->azint,
                                (uint64_t)v->mask_frame.value);
    pixels->by_frame = pixels_count(job->mask, pixels->pixels) - pixels->by_mask;
    /* The masks of the files come last: they hold whatever the user gives. */
    add_mask(job->mask, detectors, pixels->pixels);
    add_mask(job->mask, pixels->own->mask, pixels->pixels);
    pixels->by_detector = detectors ? pixels_count(detectors, pixels->pixels) : 0;
    job->azint.mask = job->mask;
    job->azint.mask_height = job->info->height;
    job->azint.mask_width = job->info->width;
    return status;
}

static int read_corrections(struct job *job)
{
    const struct integrate_values *v = job->values;
    struct pixels *pixels = &job->pixels;
    pixels->no_file_mask = v->no_file_mask;
    pixels->no_file_flat = v->no_file_flat;
    /* Two flat fields would divide twice. What the user names stands before what the files hold. */
    pixels->other_flat = NULL;
    if (job->geometry.file && job->geometry.file->flat)
        pixels->other_flat = "that of the detector's file counts";
    if (v->flat)
        pixels->other_flat = "--flat counts";
    pixels->use_dummy = job->azint.use_dummy;
    pixels->sentinels = job->azint.sentinels != HCY_SENTINELS_OFF;
    return pixels_read(pixels, job->stack);
}

/* Reads the corrections that come as images. */
static int read_correction_images(struct job *job)
{
    const struct integrate_values *v = job->values;
    const struct {
        const char *path, *option;
        const float **array;
    } table[] = { { v->flat, "flat", &job->azint.flat },
                  { v->absorption, "absorption", &job->azint.absorption },
                  { v->dark, "dark", &job->azint.dark },
                  { v->variance, "variance", &job->azint.variance } };
    int status = CLI_OK;
    for (size_t i = 0; !status && i < sizeof table / sizeof table[0]; i++) {
        if (table[i].path)
            status = i ? cli_array_file(&job->arrays[i], job->stack, table[i].path, table[i].option)
                       : cli_flat_file(&job->arrays[i], &job->pixels.flat_is_plain, job->stack, table[i].path);
        /* NULL means to the plan that there is no such correction. */
        *table[i].array = job->arrays[i];
    }
    /* The user's images stand first, then those of the detector's file, then those of the stack's own. */
    if (job->geometry.file && !v->flat)
        job->azint.flat = job->geometry.file->flat;
    if (job->geometry.file && !v->dark)
        job->azint.dark = job->geometry.file->dark;
    if (!job->azint.flat)
        job->azint.flat = job->pixels.own->flat;
    return status;
}

/* The folder where plans are kept, or NULL. */
static const char *choose_cache(struct job *job)
{
    if (job->values->plan_cache)
        return strcmp(job->values->plan_cache, "none") ? job->values->plan_cache : NULL;
    /* Without a home there is no cache, and the plan is made anew: that is slower, not wrong. */
    return hcy_cache_folder(job->cache, sizeof job->cache, "plans") ? NULL : job->cache;
}

static int make_stack_plan(struct job *job)
{
    const hcy_azint_options *o = &job->azint;
    progress_say(&job->progress, "plan for %u x %u pixels, %zu bins of %s, splitting %s ...",
                 job->info->height, job->info->width, o->npt * (o->npt_azim ? o->npt_azim : 1), o->unit,
                 integrate_splits[o->split]);
    int status =
        hcy_azint_plan_create(&job->plan, &job->poni, job->info->height, job->info->width, &job->azint);
    if (status)
        return cli_fail(status);
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    status = hcy_azint_plan_get_info(&info, job->plan);
    /* The plan counts all that it masks; what no array of ours masked is the detector's. */
    job->pixels.masked = info.n_masked;
    job->pixels.has_marks = job->pixels.sentinels && info.poni.detector && info.poni.detector->has_dummy &&
                            (job->info->pixel_type == HCY_PIXEL_F32 || job->info->pixel_type == HCY_PIXEL_F64);
    job->pixels.by_detector += info.n_masked - (job->mask ? pixels_count(job->mask, job->pixels.pixels) : 0);
    return status ? cli_fail(status) : CLI_OK;
}

/* A geometry that is new here, and image files, which programs read in either order of rows. */
static void check_rings(struct job *job)
{
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    /* Looking costs a part of a second. A plan from the cache belongs to a geometry that was looked at
     * before. */
    if (job->values->quiet || job->values->follow || hcy_azint_plan_get_info(&info, job->plan) ||
        (info.from_cache && *job->info->dataset))
        return;
    progress_say(&job->progress, "looking at the rings of frame %llu ...", (unsigned long long)job->first);
    rings_check(job->stack, job->devices[0], &job->poni, &job->azint, job->first);
    progress_clear(&job->progress);
}

/* --- Output --- */

/* Refuses several curves in one file of rows alone, which cannot say whose they are. */
static int check_rows_alone(const struct job *job)
{
    const char *dot = strrchr(job->output, '.');
    uint64_t frames = job->last - job->first, sum = (uint64_t)job->values->sum.value;
    /* With %d each frame has a file, and with --sum one curve may be all. */
    if (!dot || strcmp(dot, ".xy") || strchr(job->output, '%') || frames <= sum)
        return CLI_OK;
    return cli_error("%s is for one curve, and there are more: name a file for each (%.*s_%%04d.xy), or one .dat or .h5",
                     job->output, (int)(dot - job->output), job->output);
}

/* What the user named, or STACK_azint.h5 in the current directory. */
static int choose_output(struct job *job)
{
    const char *given = job->values->output;
    const char *name = strrchr(job->path, '/');
    name = name ? name + 1 : job->path;
    const char *dot = strrchr(name, '.');
    /* A name that begins with its only dot has no suffix to take off. */
    int stem = dot && dot > name ? (int)(dot - name) : (int)strlen(name);
    int n = given ? snprintf(job->output, sizeof job->output, "%s", given)
                  : snprintf(job->output, sizeof job->output, "%.*s_azint.h5", stem, name);
    if ((size_t)n >= sizeof job->output)
        return cli_error("the name of %s is too long%s", given ? given : job->path,
                         given ? "" : " to make one for the output: give -o");
    return check_rows_alone(job);
}

/* Makes sure that no file that is read is written over. */
static int guard_integration_files(const struct job *job)
{
    const struct integrate_values *v = job->values;
    const char *const reads[][2] = {
        { "the geometry", v->poni },     { "--config", v->config_file }, { "--mask", v->mask },
        { "--flat", v->flat },           { "--absorption", v->absorption }, { "--dark", v->dark },
        { "--variance", v->variance },   { "--monitor", v->monitor }, { "--detector", v->detector },
        { "the detector", job->poni.detector_file }, { "--pedestal", v->raw.pedestal }, { "--gain", v->raw.gain },
    };
    struct guard guard = { 0 };
    /* The stack names all its files: those that its external links and virtual datasets lead to. */
    guard_reads_stack(&guard, job->stack);
    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++)
        guard_reads(&guard, reads[i][0], reads[i][1]);
    /* Only after all that is read is known can a name be judged. */
    int status = guard_writes(&guard, "-o", job->output, job->first, job->last);
    if (!status)
        status = guard_writes(&guard, "--save-config", v->save_config, 0, 0);
    if (!status)
        status = guard_trace(&guard);
    guard_free(&guard);
    return status;
}

static int open_curves(struct job *job)
{
    const struct integrate_values *v = job->values;
    hcy_curves_options opts = HCY_CURVES_OPTIONS_INIT;
    char mask[1024], devices[1024] = "", corrections[PIXELS_TEXT];
    size_t used = 0;
    int status;
    /* A list too long for the array is cut: it is a record for readers, and nothing depends on it. */
    for (size_t i = 0; i < job->n_devices && used < sizeof devices; i++)
        used += (size_t)snprintf(devices + used, sizeof devices - used, "%s%s", i ? "," : "",
                                 hcy_device_get_info(job->devices[i])->name);
    /* The record says in words where the mask comes from, as a frame has no path. */
    if (v->mask_frame.given) {
        snprintf(mask, sizeof mask, "%s%sframe %lld", v->mask ? v->mask : "", v->mask ? " and " : "",
                 (long long)v->mask_frame.value);
        opts.mask = mask;
    } else {
        /* The configuration wants a file, not words. */
        opts.mask = v->mask;
    }
    /* What the file says of its making is enough to repeat it. */
    opts.source = job->stack;
    opts.devices = devices;
    opts.config = v->command;
    opts.dark = v->dark;
    opts.flat = v->flat;
    opts.monitor = v->monitor;
    pixels_corrections(corrections, &job->pixels);
    opts.corrections = *corrections ? corrections : NULL;
    opts.file_mask = *job->pixels.file_mask ? job->pixels.file_mask : NULL;
    opts.growing = v->follow;
    /* From here on an interruption has something to clean up. */
    interrupt_catch();
    status = hcy_curves_open(&job->curves, job->output, job->plan, &opts);
    opts.mask = v->mask;
    if (!status && v->save_config)
        return saved_config_write(v->save_config, job->plan, &opts, &job->pixels, job->mask, job->azint.flat);
    return status ? cli_fail(status) : CLI_OK;
}

/* --- The run --- */

static int keep_failed(struct job *job, uint64_t number)
{
    if (job->n_failed == job->room) {
        /* Doubling keeps the cost of many failures linear. */
        size_t room = job->room ? 2 * job->room : 64;
        uint64_t *more = realloc(job->failed, room * sizeof *more);
        if (!more)
            return hcy_fail(HCY_ENOMEM, "the list of failed frames");
        job->failed = more;
        job->room = room;
    }
    job->failed[job->n_failed++] = number;
    return 0;
}

#define SAID 20 /* failed frames whose reason is printed */

static int take_curve(void *payload, const hcy_pipeline_frame *frame)
{
    struct job *job = payload;
    /* The pipeline gives frames in order and on one thread, so nothing here is locked. */
    if (!frame->result) {
        /* The list cannot be incomplete: the exit status and the JSON object rely on it. */
        int status = keep_failed(job, frame->number);
        if (status)
            return status;
        progress_clear(&job->progress);
        /* A stack with a thousand bad frames must not fill the terminal. */
        if (job->n_failed <= SAID)
            cli_note("frame %llu failed: %s", (unsigned long long)frame->number, frame->why);
        if (job->n_failed == SAID)
            cli_note("further failed frames are only counted");
    }
    pixels_take(&job->pixels, frame);
    uint64_t written = 0;
    int status = group_take(&job->group, job->curves, frame, &written);
    job->written += status ? 0 : written;
    return status;
}

static void show_progress(void *payload, const hcy_pipeline_stats *stats)
{
    struct job *job = payload;
    progress_frames(&job->progress, stats);
}

/* Whoever waits for frames without knowing how many there will be has got them all when no more come. */
static int run_all_frames(struct job *job)
{
    const struct integrate_values *v = job->values;
    struct follow follow = { job->pipeline, job->stack,          job->first, job->last, v->follow_timeout.value,
                             NULL,          &job->group };
    uint64_t next;
    if (!v->follow)
        return hcy_pipeline_run(job->pipeline, job->stack, job->first, job->last, take_curve, show_progress, job);
    /* A frame waits until the monitor's value is there, for it divides by it. */
    if (v->monitor)
        follow.ready = group_monitored;
    int status = follow_run(&follow, &next, take_curve, show_progress, job);
    return status == HCY_ETIMEOUT && job->last == UINT64_MAX ? 0 : status;
}

static int integrate_stack(struct job *job)
{
    hcy_pipeline_options opts = HCY_PIPELINE_OPTIONS_INIT;
    hcy_pipeline_source source = hcy_pipeline_source_of(job->info);
    opts.flags = job->values->two_stage ? HCY_PIPELINE_TWO_STAGE : 0;
    if (job->group.size < 2) /* files have no room for more */
        opts.flags |= HCY_PIPELINE_MEANS;
    if (job->values->follow) {
        /* Several runs of one pipeline are one integration to the user: their statistics are added up. */
        opts.flags |= HCY_PIPELINE_ADD_UP;
        source.max_chunk = 0; /* of what is there, later ones may be larger */
    }
    opts.batch = (uint32_t)job->values->batch.value;
    if (has_few_frames(job)) {
        opts.flags |= HCY_PIPELINE_FEW;
        opts.batch = opts.batch ? opts.batch : (uint32_t)(job->last - job->first);
        /* Memory for more frames than there are would be made, and one reader has them all at once. */
        opts.readers = 1;
        opts.memory = 1;
    }
    /* A group divides its sum once by all its monitors, so its frames stay undivided. */
    if (job->group.monitor && job->group.size < 2) {
        opts.normalization = group_monitor;
        opts.normalization_payload = &job->group;
    }
    progress_say(&job->progress, "preparing the devices ...");
    int status = hcy_pipeline_create(&job->pipeline, job->devices, job->n_devices, job->plan, &source, &opts);
    if (status)
        return cli_fail(status);
    job->setup = progress_seconds(&job->progress);
    /* The signal handler may cancel the pipeline from now on. */
    interrupt_cancels(job->pipeline);
    status = run_all_frames(job);
    uint64_t written = 0;
    if (!status)
        /* The last group may have fewer frames than --sum says. */
        status = group_end(&job->group, job->curves, &written);
    job->written += written;
    progress_clear(&job->progress);
    job->whole = !status;
    if (status) {
        /* Closing the output may fail for the same cause, which is told once. */
        job->said = *hcy_last_error();
        return cli_fail(status);
    }
    return job->n_failed || job->group.failed ? CLI_FAILED : CLI_OK;
}

/* --- What is said at the end --- */

static void print_integration_json(const struct job *job, const hcy_pipeline_stats *stats)
{
    struct cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_open(&json, NULL, '{');
    cli_json_int(&json, "frames", (int64_t)stats->done);
    cli_json_open(&json, "failed", '[');
    for (size_t i = 0; i < job->n_failed; i++)
        cli_json_int(&json, NULL, (int64_t)job->failed[i]);
    cli_json_close(&json, ']');
    cli_json_real(&json, "seconds", stats->seconds);
    cli_json_real(&json, "setup_seconds", job->setup);
    cli_json_real(&json, "frames_per_s", stats->seconds > 0 ? (double)stats->done / stats->seconds : 0);
    cli_json_int(&json, "bytes_raw", (int64_t)stats->bytes_raw);
    cli_json_int(&json, "bytes_stored", (int64_t)stats->bytes_stored);
    cli_json_int(&json, "batch", (int64_t)stats->batch);
    pixels_json(&json, &job->pixels);
    cli_json_open(&json, "devices", '[');
    for (size_t i = 0; i < stats->n_devices; i++)
        progress_device_json(&json, &stats->devices[i]);
    cli_json_close(&json, ']');
    cli_json_close(&json, '}');
}

static void print_failed_frames(const struct job *job)
{
    if (!job->n_failed)
        return;
    fprintf(stderr, "failed:");
    for (size_t i = 0; i < job->n_failed && i < 100; i++)
        fprintf(stderr, " %llu", (unsigned long long)job->failed[i]);
    fprintf(stderr, "%s\n", job->n_failed > 100 ? " ..." : "");
}

/* Pixels that are invalid in every frame cost time in every frame, where a static mask costs none. */
static void give_hint(const struct job *job, const hcy_pipeline_stats *stats)
{
    uint64_t pixels = (uint64_t)job->info->height * job->info->width;
    if (stats->done > stats->failed && stats->done > 1 && job->pixels.least > pixels / 100)
        fprintf(stderr,
                "hint: %llu pixels or more are invalid in each frame; --mask-from-frame %llu is faster\n",
                (unsigned long long)job->pixels.least, (unsigned long long)job->first);
}

/* Closes the output, and says what remains of one that is not whole. */
static int close_output(struct job *job)
{
    if (!job->curves)
        return CLI_OK;
    /* What is not whole is kept only where its format says how far it is good. */
    int closed = job->whole ? hcy_curves_close(job->curves)
                            : hcy_curves_stop(job->place, sizeof job->place, job->curves);
    /* A failure that was told when the run ended is not told again. */
    int said = !closed || !strcmp(job->said.text, hcy_last_error()->text);
    job->whole = job->whole && !closed;
    if (!said)
        (void)cli_fail(closed);
    if (job->whole)
        return CLI_OK;
    /* The user learns where the curves are that were made before the end. */
    if (!strcmp(job->output, "-") || !strcmp(job->place, job->output))
        cli_note("%s is not complete", strcmp(job->output, "-") ? job->output : "standard output");
    else if (*job->place || strchr(job->output, '%'))
        cli_note("what was done is in %s", *job->place ? job->place : job->output);
    if (strcmp(job->output, "-") && strcmp(job->place, job->output) && !strchr(job->output, '%'))
        cli_not_written(job->output);
    return CLI_FAILED;
}

static int report_run(const struct job *job, int status)
{
    const hcy_pipeline_stats *stats = job->pipeline ? hcy_pipeline_get_stats(job->pipeline) : NULL;
    size_t lost = 0;
    for (size_t i = 0; stats && i < stats->n_devices; i++)
        /* Frames of a lost device went elsewhere only if one device was left. */
        lost += stats->devices[i].error.status != 0;
    for (size_t i = 0; stats && i < stats->n_devices; i++)
        if (stats->devices[i].error.status)
            cli_note("device %s was given up%s: %s", stats->devices[i].name,
                     lost < stats->n_devices ? ", its frames went to the others" : "", stats->devices[i].error.text);
    if (!stats)
        return status;
    /* JSON takes stdout for itself; the words for people go to stderr. */
    if (job->values->json) {
        print_integration_json(job, stats);
        return cli_close_stdout(status);
    }
    if (!job->values->quiet) {
        progress_summary(stats);
        print_failed_frames(job);
        pixels_summary(&job->pixels);
        if (job->whole && job->written && strcmp(job->output, "-"))
            fprintf(stderr, "%s: %llu %s\n", job->output, (unsigned long long)job->written,
                    job->written == 1 ? "curve" : "curves");
        give_hint(job, stats);
    }
    return status;
}

/* Whoever names no device has a few frames integrated by the processor: it is done before the drivers of any other
 * device are loaded. */
static int open_devices(struct job *job)
{
    const char *named = getenv("HALCYON_DEVICE");
    if (!job->values->devices && !(named && *named) && has_few_frames(job) &&
        !hcy_device_open_list(&job->devices, &job->n_devices, "cpu"))
        return 0;
    return hcy_device_open_list(&job->devices, &job->n_devices, job->values->devices);
}

static int run_integration(struct job *job)
{
    /* The input comes first, since all that follows depends on the shape of its frames. */
    int status = open_input(job);
    if (status)
        return status;
    status = choose_output(job);
    if (!status)
        status = guard_integration_files(job);
    if (status)
        return status;
    /* Opening devices may take seconds, so the files are checked before. */
    status = open_devices(job);
    if (status)
        return cli_fail(status);
    /* The frames' file and the conversion may say more of invalid pixels than the user did. */
    integrate_options(&job->azint, job->values);
    cli_geometry_invalid(&job->azint, &job->geometry);
    cli_raw_invalid(&job->azint, &job->values->raw);
    job->azint.cache = choose_cache(job);
    /* The stack's own corrections come first: its mask is one of the sources below, its flat field the last one. */
    status = read_corrections(job);
    if (!status)
        status = read_correction_images(job);
    if (!status)
        status = make_static_mask(job);
    if (!status)
        /* A monitor with a wrong number of values is found before the plan is made, which may take long. */
        status = group_read_monitor(&job->group, job->stack, job->values->monitor, job->values->follow);
    if (!status)
        status = make_stack_plan(job);
    if (!status)
        check_rings(job);
    if (!status)
        status = group_open(&job->group, job->plan, (uint64_t)job->values->sum.value);
    if (!status)
        /* The output is opened last of all, so that a failure before it leaves no file. */
        status = open_curves(job);
    if (!status)
        status = integrate_stack(job);
    progress_clear(&job->progress);
    /* Whatever happened, the output is closed and the user is told what there is. */
    int closed = close_output(job);
    return report_run(job, closed ? closed : status);
}

static void free_job(struct job *job)
{
    interrupt_release();
    /* Workers of the pipeline use everything below, so it goes first. */
    hcy_pipeline_destroy(job->pipeline);
    for (size_t i = 0; i < job->n_devices; i++)
        hcy_device_release(job->devices[i]);
    hcy_list_free(job->devices);
    hcy_azint_plan_release(job->plan);
    hcy_stack_close(job->stack);
    hcy_detector_info_free(job->geometry.file);
    hcy_corrections_free(job->pixels.own);
    free(job->mask);
    for (size_t i = 0; i < sizeof job->arrays / sizeof job->arrays[0]; i++)
        free(job->arrays[i]);
    group_close(&job->group);
    free(job->failed);
}

int cli_integrate(int argc, char **argv)
{
    struct integrate_values values;
    struct job job = { .values = &values, .poni = HCY_PONI_INIT };
    int status;
    if (!integrate_parse(&values, argc, argv, &job.path, &status)) {
        progress_begin(&job.progress, !values.quiet);
        status = run_integration(&job);
        free_job(&job);
    }
    integrate_free(&values);
    return status;
}
