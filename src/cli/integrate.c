/* integrate.c - halcyon integrate: a stack of detector images to its curves.
 *
 * What can be wrong is found in the order of its price: the command line, the files, the plan, the devices,
 * the frames.  Curves go to the output, everything that is said to stderr, the JSON object to stdout. */
#include "cli.h"
#include "follow.h"
#include "group.h"
#include "interrupt.h"
#include "mask.h"
#include "progress.h"
#include <halcyon/pipeline.h>
#include <stdlib.h>
#include <string.h>

struct values {
    const char *poni, *output, *devices, *unit, *mask, *dataset, *channel;
    const char *percentile, *flat, *absorption, *dark, *variance, *plan_cache, *monitor;
    struct cli_int npt, npt_azim, mask_frame, batch, sum, max_iter;
    int split, errors;
    struct cli_real polarization, dummy, delta_dummy, normalization, threshold, follow_timeout;
    struct cli_pair radial, azimuth;
    struct cli_span frames;
    int along_chi, sigma_clip, no_solid_angle, no_sentinels, two_stage, json, quiet, follow;
};

static const char *const splits[] = { "no", "bbox", "full", NULL }; /* in the order of enum hcy_azint_split */
static const char *const errors[] = { "none",      "poisson", "variance", /* of enum hcy_azint_errors */
                                      "azimuthal", "hybrid",  NULL };
enum { NOT_GIVEN = -1 }; /* of a choice whose default depends on others */

#define AT(member) offsetof(struct values, member)
static const struct cli_option options[] = {
    { "poni", 'p', CLI_TEXT, AT(poni), "FILE", "the geometry, a PONI file", 0, 0, NULL },
    { "output", 'o', CLI_TEXT, AT(output), "FILE",
      ".h5, .dat, .xy (%d in it: one file a frame), - for stdout\n(default: STACK_azint.h5 here)", 0, 0,
      NULL },
    { "devices", 'd', CLI_TEXT, AT(devices), "LIST", "cpu; cpu@threads=2,gpu; all; ... (auto)", 0, 0, NULL },
    { "npt", 'n', CLI_INT, AT(npt), "N", "bins of the curve (1000)", 1, HCY_AZINT_MAX_BINS, NULL },
    { "npt-azim", 0, CLI_INT, AT(npt_azim), "N", "and N bins in azimuth: images (.h5, .edf)", 1,
      HCY_AZINT_MAX_BINS, NULL },
    { "along-chi", 0, CLI_FLAG, AT(along_chi), NULL, "the curve along the azimuth, not the radius", 0, 0, NULL },
    { "unit", 'u', CLI_TEXT, AT(unit), "UNIT",
      "q_nm^-1, the default; q_A^-1, 2th_deg, r_mm, ...", 0, 0, NULL },
    { "split", 0, CLI_CHOICE, AT(split), "HOW", "pixel splitting: no, bbox (default), full", 0, 0, splits },
    { "error-model", 0, CLI_CHOICE, AT(errors), "MODEL",
      "none (default); poisson, variance, azimuthal (the\npixels' own spread), hybrid: add sigma", 0, 0, errors },
    { "variance", 0, CLI_TEXT, AT(variance), "FILE", "of each pixel, for --error-model variance", 0, 0, NULL },
    { "sigma-clip", 0, CLI_FLAG, AT(sigma_clip), NULL,
      "leave out pixels far from their bin's mean", 0, 0, NULL },
    { "threshold", 0, CLI_REAL, AT(threshold), "T",
      "standard deviations (5); 0: Chauvenet's criterion", 0, 1e300, NULL },
    { "max-iter", 0, CLI_INT, AT(max_iter), "N", "rounds of clipping, at most (5)", 0, 1000, NULL },
    { "percentile", 0, CLI_TEXT, AT(percentile), "P", "50: each bin's median; 25,75: the mean between both", 0, 0,
      NULL },
    { "radial-range", 0, CLI_PAIR, AT(radial), "A,B", "of the curve, in its unit", 0, 0, NULL },
    { "azimuth-range", 0, CLI_PAIR, AT(azimuth), "A,B", "degrees; pixels outside are left out", 0, 0, NULL },
    { "mask", 0, CLI_TEXT, AT(mask), "FILE",
      "pixels not 0 in FILE.npy, .tif, .h5::/path ... or a\nmaster file's pixel_mask are masked, with the gaps",
      0, 0, NULL },
    { "mask-from-frame", 0, CLI_INT, AT(mask_frame), "N",
      "mask what frame N marks invalid in every frame", 0, 1e15, NULL },
    { "no-sentinels", 0, CLI_FLAG, AT(no_sentinels), NULL,
      "top values (2^32-1, 2^32-2, ...) are counts", 0, 0, NULL },
    { "dummy", 0, CLI_REAL, AT(dummy), "V",
      "pixels of this value are invalid, instead of the\ntop values", 0, 0,
      NULL },
    { "delta-dummy", 0, CLI_REAL, AT(delta_dummy), "D", "and those within D of it", 0, 1e300, NULL },
    { "dark", 0, CLI_TEXT, AT(dark), "FILE", "an image, taken off each frame", 0, 0, NULL },
    { "flat", 0, CLI_TEXT, AT(flat), "FILE", "an image that frames are divided by (.h5: flatfield)", 0, 0, NULL },
    { "absorption", 0, CLI_TEXT, AT(absorption), "FILE", "the sensor's, likewise", 0, 0, NULL },
    { "polarization", 0, CLI_REAL, AT(polarization), "F",
      "correct for it: 1 horizontal, -1 vertical", -1, 1, NULL },
    { "no-solid-angle", 0, CLI_FLAG, AT(no_solid_angle), NULL,
      "do not correct for the solid angle", 0, 0, NULL },
    { "normalization", 0, CLI_REAL, AT(normalization), "X", "divide the curves by X (1)", 0, 0, NULL },
    { "monitor", 0, CLI_TEXT, AT(monitor), "PATH",
      "a dataset of one number a frame, which divides it: in\nSTACK, or FILE.h5::/path", 0, 0, NULL },
    { "sum", 0, CLI_INT, AT(sum), "N", "one curve for N frames: of their sum", 1, 1e9, NULL },
    { "dataset", 0, CLI_TEXT, AT(dataset), "PATH", "in STACK (default: found)", 0, 0, NULL },
    { "channel", 0, CLI_TEXT, AT(channel), "N", "of several energy thresholds: 1, 2, difference ...", 0, 0, NULL },
    { "frames", 0, CLI_SPAN, AT(frames), "A:B", "these alone, from 0, B not included", 0, 0, NULL },
    { "follow", 0, CLI_FLAG, AT(follow), NULL, "go on with the frames that are being written", 0, 0, NULL },
    { "follow-timeout", 0, CLI_REAL, AT(follow_timeout), "S", "end when none came for S seconds (60)", 0, 1e9, NULL },
    { "plan-cache", 0, CLI_TEXT, AT(plan_cache), "DIR",
      "where plans are kept (~/.cache/halcyon); none", 0, 0, NULL },
    { "batch", 0, CLI_INT, AT(batch), "N", "frames a launch, at most (the devices' wish)", 1, 4096, NULL },
    { "two-stage", 0, CLI_FLAG, AT(two_stage), NULL, "decode to images first, then integrate", 0, 0, NULL },
    { "json", 0, CLI_FLAG, AT(json), NULL, "the summary as one JSON object on stdout", 0, 0, NULL },
    { "quiet", 'q', CLI_FLAG, AT(quiet), NULL, "no progress, no summary", 0, 0, NULL },
    { NULL, 0, CLI_FLAG, 0, NULL, NULL, 0, 0, NULL }
};
#undef AT

const struct cli_command cli_integrate_command = {
    "integrate", "images (HDF5, TIFF, EDF, CBF, .npy) to curves: azimuthal integration", "STACK -p FILE",
    1, 1, options,
    "STACK may be a numbered series: img_%05d.tif.\n"
    "Exit status: 0 if every frame was done, 1 if not, 2 if the command line is wrong."
};

/* Everything that one integration has open. */
struct job {
    const struct values *values;
    const char *path;
    hcy_stack *stack;
    const hcy_stack_info *info;
    uint64_t first, last;
    hcy_poni poni;
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
    hcy_pipeline *pipeline;
    struct group group;
    struct progress progress;
    double setup; /* seconds from the start to the first frame */
    uint64_t *failed;
    size_t n_failed, room;
    uint64_t least_lost; /* pixels invalid by their value in any frame, at least */
};

/* --- Input --- */

/* With --follow all that will come, as far as that is known. */
static int check_frames(struct job *job)
{
    const struct cli_span *span = &job->values->frames;
    uint64_t frames = job->info->frames;
    if (job->values->follow)
        frames = job->info->expected > frames ? job->info->expected : UINT64_MAX;
    job->first = span->given ? span->first : 0;
    job->last = span->given && span->last != UINT64_MAX ? span->last : frames;
    if (job->first < job->last && (job->last <= frames || job->values->follow))
        return CLI_OK;
    return cli_error("--frames: %s has frames 0 to %llu", job->path,
                     (unsigned long long)frames - 1);
}

static int open_input(struct job *job)
{
    const struct values *v = job->values;
    hcy_stack_opts opts = HCY_STACK_OPTS_INIT;
    opts.dataset = v->dataset;
    opts.channel = v->channel;
    opts.growing = v->follow;
    int status = hcy_poni_read(&job->poni, v->poni);
    if (status)
        return cli_fail(status);
    progress_say(&job->progress, v->follow ? "waiting for %s ..." : "opening %s ...", job->path);
    status = follow_open(&job->stack, job->path, &opts, v->follow ? v->follow_timeout.value : 0);
    if (status)
        return cli_fail(status);
    job->info = hcy_stack_get_info(job->stack);
    return check_frames(job);
}

/* --- The plan --- */

static int make_mask(struct job *job)
{
    const struct values *v = job->values;
    if (!v->mask && !v->mask_frame.given)
        return CLI_OK;
    job->mask = calloc(job->info->height, job->info->width);
    if (!job->mask)
        return cli_error("out of memory for a mask of %u x %u", job->info->height, job->info->width);
    int status = v->mask ? cli_mask_file(job->mask, job->stack, v->mask) : CLI_OK;
    if (!status && v->mask_frame.given)
        status = cli_mask_frame(job->mask, job->stack, job->devices[0], &job->poni, &job->azint,
                                (uint64_t)v->mask_frame.value);
    job->azint.mask = job->mask;
    job->azint.mask_height = job->info->height;
    job->azint.mask_width = job->info->width;
    return status;
}

/* Corrections that come as images. */
static int read_arrays(struct job *job)
{
    const struct values *v = job->values;
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
            status = cli_array_file(&job->arrays[i], job->stack, table[i].path, table[i].option);
        *table[i].array = job->arrays[i];
    }
    return status;
}

/* The folder where plans are kept, or NULL. */
static const char *choose_cache(struct job *job)
{
    const struct {
        const char *base, *rest;
    } table[] = { { getenv("HALCYON_CACHE_DIR"), "/plans" },
                  { getenv("XDG_CACHE_HOME"), "/halcyon/plans" },
                  { getenv("HOME"), "/.cache/halcyon/plans" } };
    if (job->values->plan_cache)
        return strcmp(job->values->plan_cache, "none") ? job->values->plan_cache : NULL;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].base && *table[i].base) {
            int n = snprintf(job->cache, sizeof job->cache, "%s%s", table[i].base, table[i].rest);
            return (size_t)n < sizeof job->cache ? job->cache : NULL;
        }
    return NULL;
}

/* "P" or "P,Q", from 0 to 100, P <= Q: 1 if it is that. */
static int read_percentiles(double p[2], const char *text)
{
    char *end;
    p[0] = p[1] = strtod(text, &end);
    if (*end == ',')
        p[1] = strtod(end + 1, &end);
    return end != text && !*end && p[0] >= 0 && p[0] <= p[1] && p[1] <= 100;
}

/* What clipping needs is chosen with it; pyFAI's defaults. */
static void choose_filter(hcy_azint_options *o, const struct values *v)
{
    o->split = v->split != NOT_GIVEN ? v->split : v->sigma_clip ? HCY_SPLIT_NO : HCY_SPLIT_BBOX;
    o->error_model = v->variance               ? HCY_ERRORS_VARIANCE
                     : v->errors != NOT_GIVEN ? v->errors
                     : v->sigma_clip          ? HCY_ERRORS_AZIMUTHAL
                                              : HCY_ERRORS_NONE;
    o->filter = v->sigma_clip   ? HCY_FILTER_SIGMA_CLIP
                : v->percentile ? HCY_FILTER_PERCENTILE
                                : HCY_FILTER_NONE;
    if (v->threshold.given)
        o->threshold = v->threshold.value;
    if (v->max_iter.given)
        o->max_iter = (uint32_t)v->max_iter.value;
    if (v->percentile)
        (void)read_percentiles(o->percentile, v->percentile);
}

static void choose_options(struct job *job)
{
    const struct values *v = job->values;
    hcy_azint_options *o = &job->azint;
    *o = (hcy_azint_options)HCY_AZINT_OPTIONS_INIT;
    o->cache = choose_cache(job);
    o->npt = (size_t)v->npt.value;
    o->npt_azim = (size_t)v->npt_azim.value;
    if (v->along_chi) {
        o->npt_azim = o->npt;
        o->npt = 1;
    }
    o->unit = v->unit;
    choose_filter(o, v);
    o->radial_range[0] = v->radial.a;
    o->radial_range[1] = v->radial.b;
    o->azimuth_range[0] = v->azimuth.a;
    o->azimuth_range[1] = v->azimuth.b;
    o->sentinels = v->no_sentinels || v->dummy.given ? HCY_SENTINELS_OFF : HCY_SENTINELS_ALWAYS;
    o->use_dummy = v->dummy.given;
    o->dummy = v->dummy.value;
    o->delta_dummy = v->delta_dummy.value;
    o->solid_angle = !v->no_solid_angle;
    o->use_polarization = v->polarization.given;
    o->polarization = v->polarization.value;
    o->normalization = v->normalization.given ? v->normalization.value : 1.0;
}

static int make_plan(struct job *job)
{
    progress_say(&job->progress, "plan for %u x %u pixels, %lld bins of %s, splitting %s ...",
                 job->info->height, job->info->width, (long long)job->values->npt.value, job->values->unit,
                 splits[job->azint.split]);
    int status =
        hcy_azint_plan_create(&job->plan, &job->poni, job->info->height, job->info->width, &job->azint);
    return status ? cli_fail(status) : CLI_OK;
}

/* --- Output --- */

/* What the user named, or STACK_azint.h5 in the current directory. */
static int choose_output(struct job *job)
{
    const char *given = job->values->output;
    const char *name = strrchr(job->path, '/');
    name = name ? name + 1 : job->path;
    const char *dot = strrchr(name, '.');
    int stem = dot && dot > name ? (int)(dot - name) : (int)strlen(name);
    int n = given ? snprintf(job->output, sizeof job->output, "%s", given)
                  : snprintf(job->output, sizeof job->output, "%.*s_azint.h5", stem, name);
    if ((size_t)n >= sizeof job->output)
        return cli_error("the name of %s is too long%s", given ? given : job->path,
                         given ? "" : " to make one for the output: give -o");
    return CLI_OK;
}

static int open_output(struct job *job)
{
    const struct values *v = job->values;
    hcy_curves_opts opts = HCY_CURVES_OPTS_INIT;
    char mask[1024], devices[1024] = "";
    size_t used = 0;
    int status = choose_output(job);
    if (status)
        return status;
    for (size_t i = 0; i < job->n_devices && used < sizeof devices; i++)
        used += (size_t)snprintf(devices + used, sizeof devices - used, "%s%s", i ? "," : "",
                                 hcy_device_get_info(job->devices[i])->name);
    if (v->mask_frame.given) {
        snprintf(mask, sizeof mask, "%s%sframe %lld", v->mask ? v->mask : "", v->mask ? " and " : "",
                 (long long)v->mask_frame.value);
        opts.mask = mask;
    } else {
        opts.mask = v->mask;
    }
    opts.source = job->stack;
    opts.devices = devices;
    interrupt_catch();
    status = hcy_curves_open(&job->curves, job->output, job->plan, &opts);
    return status ? cli_fail(status) : CLI_OK;
}

/* --- The run --- */

static int keep_failed(struct job *job, uint64_t number)
{
    if (job->n_failed == job->room) {
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

static int take_frame(void *payload, const hcy_pipeline_frame *frame)
{
    struct job *job = payload;
    if (!frame->result) {
        int status = keep_failed(job, frame->number);
        if (status)
            return status;
        progress_clear(&job->progress);
        if (job->n_failed <= SAID)
            cli_note("frame %llu failed: %s", (unsigned long long)frame->number, frame->why);
        if (job->n_failed == SAID)
            cli_note("further failed frames are only counted");
    } else if (frame->report->n_lost < job->least_lost) {
        job->least_lost = frame->report->n_lost;
    }
    uint64_t written = 0;
    int status = group_take(&job->group, job->curves, frame, &written);
    job->written += status ? 0 : written;
    return status;
}

static void show(void *payload, const hcy_pipeline_stats *stats)
{
    struct job *job = payload;
    progress_frames(&job->progress, stats);
}

/* Whoever waits for frames without knowing how many there will be has got them all when no more come. */
static int run_frames(struct job *job)
{
    const struct values *v = job->values;
    struct follow follow = { job->pipeline, job->stack, job->first, job->last, v->follow_timeout.value };
    uint64_t next;
    if (!v->follow)
        return hcy_pipeline_run(job->pipeline, job->stack, job->first, job->last, take_frame, show, job);
    int status = follow_run(&follow, &next, take_frame, show, job);
    return status == HCY_ETIMEOUT && job->last == UINT64_MAX ? 0 : status;
}

static int integrate(struct job *job)
{
    hcy_pipeline_opts opts = HCY_PIPELINE_OPTS_INIT;
    hcy_pipeline_source source = hcy_pipeline_source_of(job->info);
    opts.flags = job->values->two_stage ? HCY_PIPELINE_TWO_STAGE : 0;
    if (job->values->follow) {
        opts.flags |= HCY_PIPELINE_ADD_UP;
        source.max_chunk = 0; /* of what is there, later ones may be larger */
    }
    opts.batch = (uint32_t)job->values->batch.value;
    if (job->group.monitor && job->group.size < 2) {
        opts.normalization = group_monitor;
        opts.normalization_payload = &job->group;
    }
    progress_say(&job->progress, "preparing the devices ...");
    int status = hcy_pipeline_create(&job->pipeline, job->devices, job->n_devices, job->plan, &source, &opts);
    if (status)
        return cli_fail(status);
    job->setup = progress_seconds(&job->progress);
    interrupt_cancels(job->pipeline);
    status = run_frames(job);
    uint64_t written = 0;
    if (!status)
        status = group_end(&job->group, job->curves, &written);
    job->written += written;
    progress_clear(&job->progress);
    if (status)
        return cli_fail(status);
    return job->n_failed || job->group.failed ? CLI_FAILED : CLI_OK;
}

/* --- What is said at the end --- */

static void print_json(const struct job *job, const hcy_pipeline_stats *stats)
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
    cli_json_open(&json, "devices", '[');
    for (size_t i = 0; i < stats->n_devices; i++)
        progress_device_json(&json, &stats->devices[i]);
    cli_json_close(&json, ']');
    cli_json_close(&json, '}');
}

static void print_failed(const struct job *job)
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
    if (stats->done > stats->failed && stats->done > 1 && job->least_lost > pixels / 100)
        fprintf(stderr,
                "hint: %llu pixels or more are invalid in each frame; --mask-from-frame %llu is faster\n",
                (unsigned long long)job->least_lost, (unsigned long long)job->first);
}

static int report(const struct job *job, int status)
{
    const hcy_pipeline_stats *stats = job->pipeline ? hcy_pipeline_get_stats(job->pipeline) : NULL;
    for (size_t i = 0; stats && i < stats->n_devices; i++)
        if (stats->devices[i].error.status)
            cli_note("device %s was given up, its frames went to the others: %s", stats->devices[i].name,
                     stats->devices[i].error.text);
    if (!stats)
        return status;
    if (job->values->json) {
        print_json(job, stats);
        return cli_close_stdout(status);
    }
    if (!job->values->quiet) {
        progress_summary(stats);
        print_failed(job);
        if (job->written && strcmp(job->output, "-"))
            fprintf(stderr, "%s: %llu %s\n", job->output, (unsigned long long)job->written,
                    job->written == 1 ? "curve" : "curves");
        give_hint(job, stats);
    }
    return status;
}

static int run(struct job *job)
{
    int status = open_input(job);
    if (status)
        return status;
    status = hcy_device_open_list(&job->devices, &job->n_devices, job->values->devices);
    if (status)
        return cli_fail(status);
    choose_options(job);
    status = read_arrays(job);
    if (!status)
        status = make_mask(job);
    if (!status)
        status = group_read_monitor(&job->group, job->stack, job->values->monitor);
    if (!status)
        status = make_plan(job);
    if (!status)
        status = group_open(&job->group, job->plan, (uint64_t)job->values->sum.value);
    if (!status)
        status = open_output(job);
    if (!status)
        status = integrate(job);
    progress_clear(&job->progress);
    int closed = hcy_curves_close(job->curves);
    if (closed) {
        status = cli_fail(closed);
        job->written = 0;
    }
    return report(job, status);
}

static void clean_up(struct job *job)
{
    interrupt_release();
    hcy_pipeline_destroy(job->pipeline);
    for (size_t i = 0; i < job->n_devices; i++)
        hcy_device_release(job->devices[i]);
    hcy_list_free(job->devices);
    hcy_azint_plan_release(job->plan);
    hcy_stack_close(job->stack);
    free(job->mask);
    for (size_t i = 0; i < sizeof job->arrays / sizeof job->arrays[0]; i++)
        free(job->arrays[i]);
    group_close(&job->group);
    free(job->failed);
}

static int check_values(const struct values *v)
{
    double percentile[2];
    const struct {
        int wrong;
        const char *what;
    } rules[] = {
        { !v->poni, "the geometry is missing: give -p FILE.poni" },
        { v->delta_dummy.given && !v->dummy.given, "--delta-dummy needs --dummy" },
        { v->errors == HCY_ERRORS_VARIANCE && !v->variance, "--error-model variance needs --variance FILE" },
        { v->errors > 0 && v->errors != HCY_ERRORS_VARIANCE && v->variance,
          "--variance is for --error-model variance" },
        { v->sigma_clip && v->errors == HCY_ERRORS_NONE, "--sigma-clip needs errors: leave --error-model none" },
        { (v->threshold.given || v->max_iter.given) && !v->sigma_clip,
          "--threshold and --max-iter are for --sigma-clip" },
        { v->sigma_clip && v->percentile, "--sigma-clip and --percentile are one or the other" },
        { v->percentile && !read_percentiles(percentile, v->percentile),
          "--percentile takes P or P,Q with P <= Q, from 0 to 100" },
        { v->along_chi && v->npt_azim.given, "--along-chi has its bins from --npt: leave --npt-azim" },
        { v->dummy.given && v->no_sentinels, "--dummy takes the sentinels' place: leave --no-sentinels" },
        { v->normalization.given && v->normalization.value == 0, "--normalization 0 would divide by zero" },
        { v->monitor && v->follow, "--monitor needs a number for each frame before the first: leave --follow" },
        { v->follow_timeout.given && !v->follow, "--follow-timeout needs --follow" },
        { v->json && v->output && !strcmp(v->output, "-"), "--json takes stdout: give -o FILE" },
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].wrong) {
            cli_error("%s; see `halcyon integrate --help`", rules[i].what);
            return CLI_USAGE;
        }
    return CLI_OK;
}

int cli_integrate(int argc, char **argv)
{
    struct values values = { .unit = "q_nm^-1",
                             .split = NOT_GIVEN,
                             .errors = NOT_GIVEN,
                             .npt = { 0, 1000 },
                             .sum = { 0, 1 },
                             .follow_timeout = { 0, 60 } };
    struct job job = { .values = &values, .least_lost = UINT64_MAX };
    int status;
    if (cli_parse(&cli_integrate_command, argc, argv, &values, &job.path, &status))
        return status;
    status = check_values(&values);
    if (status)
        return status;
    progress_begin(&job.progress, !values.quiet);
    status = run(&job);
    clean_up(&job);
    return status;
}
