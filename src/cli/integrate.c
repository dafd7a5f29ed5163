/* integrate.c - halcyon integrate: a stack of detector images to its curves.
 *
 * What can be wrong is found in the order of its price: the command line, the files, the plan, the devices,
 * the frames.  Curves go to the output, everything that is said to stderr, the JSON object to stdout. */
#include "cli.h"
#include "failures.h"
#include "follow.h"
#include "integrate_job.h"
#include "interrupt.h"
#include "live.h"
#include "mask.h"
#include "processes.h"
#include "rings.h"
#include "saved_config.h"
#include <azint/azint_pixels.h>
#include <halcyon/backend.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
        return shard_deal(&job->first, &job->last, &job->shard);
    return cli_error("--frames: %s has frames 0 to %llu", job->path,
                     (unsigned long long)frames - 1);
}

/* So few that what a device prepares for many does not pay: it takes as long as some frames without. */
static int has_few_frames(const struct job *job)
{
    return !job->values->follow && !job->worker && !job->values->processes.given &&
           job->last - job->first <= CLI_FEW_FRAMES;
}

int integrate_open(struct job *job)
{
    const struct integrate_values *v = job->values;
    hcy_stack_options opts = HCY_STACK_OPTIONS_INIT;
    opts.dataset = v->dataset;
    opts.channel = v->channel;
    opts.growing = v->follow;
    opts.uncached = v->uncached;
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
    if (job->n_paths > 1)
        status = hcy_stack_open_files(&job->stack, job->paths, job->n_paths, &opts);
    else
        status = follow_open(&job->stack, job->path, &opts, v->follow ? v->follow_timeout.value : 0);
    if (status)
        return inputs_fail(job->path, status);
    job->info = hcy_stack_get_info(job->stack);
    progress_clear(&job->progress);
    if (v->uncached && !job->info->uncached && !job->worker)
        cli_note("%s is read through the page cache: --uncached is for frames that lie each in one piece in an HDF5 or NumPy "
                 "file, on a file system that has O_DIRECT", job->path);
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
    /* A plan from the cache belongs to a geometry that was looked at before. */
    if (job->values->quiet || job->values->follow || hcy_azint_plan_get_info(&info, job->plan) ||
        (info.from_cache && *job->info->dataset))
        return;
    progress_say(&job->progress, "looking at the rings of frame %llu ...", (unsigned long long)job->first);
    const struct rings_of of = { job->stack, job->devices[0], job->plan, job->mask, job->first };
    rings_check(&of, &job->poni, job->values->flip);
    progress_clear(&job->progress);
}

/* --- Output --- */

static int open_curves(struct job *job)
{
    const struct integrate_values *v = job->values;
    hcy_curves_options opts = HCY_CURVES_OPTIONS_INIT;
    char mask[1024], devices[1024], corrections[PIXELS_TEXT];
    int status;
    integrate_device_names(devices, sizeof devices, job->devices, job->n_devices);
    size_t used = strlen(devices);
    if (v->processes.given && used < sizeof devices)
        snprintf(devices + used, sizeof devices - used, " in %lld processes", (long long)v->processes.value);
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
    opts.shard = job->shard.count ? &job->shard : NULL;
    opts.sums = v->sums;
    regions_name(&opts, &job->regions);
    /* From here on an interruption has something to clean up. */
    interrupt_catch();
    job->before = cli_identify(job->output);
    status = hcy_curves_open(&job->curves, job->output, job->plan, &opts);
    if (status) {
        status = cli_fail_value(status, v->output);
        if (strcmp(job->output, "-"))
            cli_not_completed(job->output, &job->before);
        return status;
    }
    opts.mask = v->mask;
    if (!status)
        status = sparse_open(&job->sparse, job->plan, job->stack, &job->shard);
    if (!status && v->save_config)
        return saved_config_write(v, job->plan, &opts, &job->pixels, job->mask, &job->azint);
    return status ? cli_fail(status) : CLI_OK;
}

/* --- The run --- */

/* What a frame's curve comes divided by.  Of groups it is their sum that is divided. */
static double divided_by(const struct job *job, uint64_t frame)
{
    return job->group.monitor && !group_adds(&job->group) ? job->group.monitor[frame] : 1;
}

static int take_curve(void *payload, const hcy_pipeline_frame *frame)
{
    struct job *job = payload;
    /* The pipeline gives frames in order and on one thread, so nothing here is locked. */
    int status = failures_take(&job->failures, &job->progress, frame);
    if (status)
        return status;
    pixels_take(&job->pixels, frame);
    regions_take(&job->regions, frame);
    status = sparse_take(&job->sparse, frame, divided_by(job, frame->number));
    if (status)
        return status;
    uint64_t written = 0;
    status = group_take(&job->group, job->curves, frame, &written);
    job->written += status ? 0 : written;
    return status;
}

static void show_progress(void *payload, const hcy_pipeline_stats *stats)
{
    struct job *job = payload;
    progress_frames(&job->progress, stats);
}

/* Nobody may lose the curves that are there, however long the next one takes to come. */
static int flush_curves(void *payload)
{
    struct job *job = payload;
    return hcy_curves_flush(job->curves);
}

/* Whoever waits for frames without knowing how many there will be has got them all when no more come, but not if none
 * did: an empty result is none. */
static int run_all_frames(struct job *job)
{
    const struct integrate_values *v = job->values;
    struct follow follow = { job->pipeline, job->stack,          job->first, job->last, v->follow_timeout.value,
                             NULL,          &job->group, flush_curves, job };
    uint64_t next;
    if (!v->follow)
        return hcy_pipeline_run(job->pipeline, job->stack, job->first, job->last, take_curve, show_progress, job);
    /* A frame waits until the monitor's value is there, for it divides by it. */
    if (v->monitor)
        follow.ready = group_monitored;
    int status = follow_run(&follow, &next, take_curve, show_progress, job);
    return status == HCY_ETIMEOUT && job->last == UINT64_MAX && next > job->first ? 0 : status;
}

/* Most files have no room for more than means; groups are made of sums, and sparse frames have deviations. */
static int wants_sums(const struct job *job)
{
    return group_adds(&job->group) || job->values->sums || job->values->sparse;
}

int integrate_result(hcy_azint_result **result, const struct job *job)
{
    return wants_sums(job) ? hcy_azint_result_create(result, job->plan)
                                   : hcy_azint_result_create_means(result, job->plan);
}

int integrate_pipeline(struct job *job)
{
    hcy_pipeline_options opts = HCY_PIPELINE_OPTIONS_INIT;
    hcy_pipeline_source source = hcy_pipeline_source_of(job->info);
    integrate_run_options(&opts, job->values);
    regions_ask(&opts, &job->regions);
    sparse_ask(&opts, &job->sparse);
    if (!wants_sums(job))
        opts.flags |= HCY_PIPELINE_MEANS;
    if (job->values->follow || job->worker)
        /* Several runs of one pipeline are one integration to the user: their statistics are added up. */
        opts.flags |= HCY_PIPELINE_ADD_UP;
    if (job->values->follow)
        source.max_chunk = 0; /* of what is there, later ones may be larger */
    /* Processes share the processors that would else be one's own. */
    if (job->worker)
        opts.readers = 1;
    if (has_few_frames(job)) {
        opts.flags |= HCY_PIPELINE_FEW;
        opts.batch = opts.batch ? opts.batch : (uint32_t)(job->last - job->first);
        /* Memory for more frames than there are would be made, and one reader has them all at once. */
        opts.readers = 1;
        opts.memory = 1;
    }
    /* A group divides its sum once by all its monitors, so its frames stay undivided. */
    if (job->group.monitor && !group_adds(&job->group)) {
        opts.normalization = group_monitor;
        opts.normalization_payload = &job->group;
    }
    int status = hcy_pipeline_create(&job->pipeline, job->devices, job->n_devices, job->plan, &source, &opts);
    return status ? cli_fail(status) : CLI_OK;
}

static void release_devices(struct job *job)
{
    for (size_t i = 0; i < job->n_devices; i++)
        hcy_device_release(job->devices[i]);
    hcy_list_free(job->devices);
    job->devices = NULL;
    job->n_devices = 0;
}

/* Everything that integrates: a pipeline, or processes that have one each. */
static int prepare_run(struct job *job)
{
    progress_say(&job->progress, "preparing the devices ...");
    if (job->values->processes.given) {
        /* The processes have the devices; here they would only hold memory. */
        release_devices(job);
        int status = processes_start(&job->processes, job, (size_t)job->values->processes.value,
                                     processes_devices(job->values->devices));
        return status ? cli_fail(status) : CLI_OK;
    }
    int status = integrate_pipeline(job);
    /* The signal handler may cancel the pipeline from now on. */
    if (!status)
        interrupt_cancels(job->pipeline);
    return status;
}

static int integrate_stack(struct job *job)
{
    int status = prepare_run(job);
    if (status)
        return status;
    job->setup = progress_seconds(&job->progress);
    status = job->processes ? processes_run(job->processes, take_curve, show_progress, job) : run_all_frames(job);
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
    return job->failures.n ? CLI_FAILED : CLI_OK;
}

/* Whoever names no device has a few frames integrated by the processor: it is done before the drivers of any other
 * device are loaded. */
static int open_devices(struct job *job)
{
    const char *wish = job->values->devices;
    if (job->values->processes.given && !job->worker && !processes_devices(wish))
        wish = "cpu";
    job->few = has_few_frames(job) && cli_open_processor(&job->devices, &job->n_devices, wish);
    if (job->few)
        return 0;
    return hcy_device_open_list(&job->devices, &job->n_devices, wish);
}

/* A dummy takes the place of the marks that detectors set: one that no pixel can have leaves them to count. */
static void tell_vain_dummy(const struct job *job)
{
    const hcy_azint_options *o = &job->azint;
    const struct hcy_pixel_type *type = hcy_pixel_type(job->info->pixel_type);
    if (!o->use_dummy || o->sentinels != HCY_SENTINELS_OFF || !type || type->is_float)
        return;
    const double least = type->is_signed ? -ldexp(1, 8 * type->bytes - 1) : 0,
                 most = ldexp(1, 8 * type->bytes - type->is_signed) - 1;
    if (floor(fmin(o->dummy + o->delta_dummy, most)) < ceil(fmax(o->dummy - o->delta_dummy, least)))
        cli_note("no pixel of %sint%d can be the dummy, %g, and marks of bad pixels count: without a dummy they do not",
                 type->is_signed ? "" : "u", 8 * type->bytes, o->dummy);
}

/* A folder for plans that was asked for, and cannot have any. */
static void tell_vain_cache(const char *folder)
{
    struct stat is;
    if (folder && strcmp(folder, "none") && !stat(folder, &is) && (!S_ISDIR(is.st_mode) || access(folder, W_OK | X_OK)))
        cli_note("no plans are kept: %s is no folder that can be written", folder);
}

int integrate_plan(struct job *job)
{
    /* What was opened for a file of few frames is not what one of many is to have. */
    if (job->few && !has_few_frames(job))
        release_devices(job);
    /* Opening devices may take seconds, so the files are checked before. */
    int status = job->devices ? 0 : open_devices(job);
    if (status)
        return cli_fail_value(status, job->values->devices);
    /* The frames' file and the conversion may say more of invalid pixels than the user did. */
    integrate_options(&job->azint, job->values);
    cli_geometry_invalid(&job->azint, &job->geometry);
    cli_raw_invalid(&job->azint, &job->values->raw);
    tell_vain_dummy(job);
    tell_vain_cache(job->values->plan_cache);
    job->azint.cache = integrate_cache(job->cache, sizeof job->cache, job->values);
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
        status = regions_prepare(&job->regions, job->plan, &job->poni, job->info->pixel_type, job->mask);
    if (!status)
        status = sparse_prepare(&job->sparse, job->values, job->plan, &job->poni, job->info->pixel_type);
    return status ? status : group_open(&job->group, &job->failures, job->plan, (uint64_t)job->values->sum.value,
                                        (uint64_t)job->values->average.value);
}

static int run_integration(struct job *job)
{
    /* The input comes first, since all that follows depends on the shape of its frames. */
    int status = integrate_open(job);
    if (status)
        return status;
    if (job->first == job->last) /* a part without frames */
        return integrate_report(job, CLI_OK);
    status = integrate_name_output(job);
    if (!status)
        status = sparse_output(&job->sparse, job->values, job->path, &job->shard);
    if (!status)
        status = integrate_guard_files(job);
    if (status)
        return status;
    status = integrate_plan(job);
    if (!status)
        check_rings(job);
    if (!status)
        /* The output is opened last of all, so that a failure before it leaves no file. */
        status = open_curves(job);
    if (!status)
        status = integrate_stack(job);
    progress_clear(&job->progress);
    /* Whatever happened, the output is closed and the user is told what there is. */
    int sparse_closed = sparse_close(&job->sparse, job->whole);
    if (sparse_closed && job->whole)
        status = cli_fail(sparse_closed);
    int closed = integrate_close_output(job);
    return integrate_report(job, closed ? closed : status);
}

int integrate_begin(struct job *job, const struct integrate_values *values)
{
    job->values = values;
    job->poni = (hcy_poni)HCY_PONI_INIT;
    int status = shard_parse(&job->shard, values->shard);
    job->shard.unit = (uint64_t)values->sum.value;
    progress_begin(&job->progress, !values->quiet);
    return status ? status : regions_parse(&job->regions, values);
}

void integrate_end(struct job *job)
{
    interrupt_release();
    processes_free(job->processes);
    /* Workers of the pipeline use everything below, so it goes first. */
    hcy_pipeline_destroy(job->pipeline);
    release_devices(job);
    hcy_azint_plan_release(job->plan);
    hcy_stack_close(job->stack);
    hcy_detector_info_free(job->geometry.file);
    hcy_corrections_free(job->pixels.own);
    free(job->mask);
    for (size_t i = 0; i < sizeof job->arrays / sizeof job->arrays[0]; i++)
        free(job->arrays[i]);
    group_close(&job->group);
    regions_free(&job->regions);
    sparse_free(&job->sparse);
    failures_free(&job->failures);
}

/* Devices that are opened for one result and stay for the next. */
struct kept {
    hcy_device **devices;
    size_t n;
    int few; /* as of the job */
};

/* One result, of n files. */
static int make_result(struct job *job, const char *const *paths, size_t n, struct kept *kept)
{
    job->path = paths[0];
    job->paths = paths;
    job->n_paths = n;
    job->devices = kept->devices;
    job->n_devices = kept->n;
    job->few = kept->few;
    int status = run_integration(job);
    *kept = (struct kept){ job->devices, job->n_devices, job->few };
    job->devices = NULL;
    job->n_devices = 0;
    return status;
}

/* *whole: all frames came, some of which may have failed. */
static int make_one(int *whole, const struct integrate_values *values, int argc, char **argv, const char *const *paths,
                    size_t n, struct kept *kept)
{
    struct job job = { .argc = argc, .argv = argv };
    int status = integrate_begin(&job, values);
    if (!status)
        status = make_result(&job, paths, n, kept);
    *whole = job.whole;
    integrate_end(&job);
    return status;
}

/* One result of all files, or one for each. */
static int make_results(const struct integrate_values *values, int argc, char **argv)
{
    const struct inputs *in = &values->inputs;
    const int each = inputs_each(values->output);
    struct kept kept = { 0 };
    size_t i = 1;
    int whole, other, failed = 0,
        status = make_one(&whole, values, argc, argv, in->files, each ? 1 : in->n, &kept);
    /* What is wrong with the first is mostly wrong with all, but for its frames; one behind it fails alone. */
    for (; each && (!status || whole) && i < in->n && !interrupt_came(); i++)
        failed |= make_one(&other, values, argc, argv, in->files + i, 1, &kept) != CLI_OK;
    if (each && i < in->n) {
        cli_note("%zu of %zu files were not integrated", in->n - i, in->n);
        failed = 1;
    }
    for (size_t k = 0; k < kept.n; k++)
        hcy_device_release(kept.devices[k]);
    hcy_list_free(kept.devices);
    if (!status && failed)
        status = CLI_FAILED;
    return status;
}

int cli_integrate(int argc, char **argv)
{
    struct integrate_values values;
    int status;
    if (!integrate_parse(&values, NULL, argc, argv, &status))
        status = values.stream ? cli_live(&values) : make_results(&values, argc, argv);
    integrate_free(&values);
    return status;
}
