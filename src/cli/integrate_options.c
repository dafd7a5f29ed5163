/* integrate_options.c - the options of halcyon integrate, and what they come to with a configuration below them.
 *
 * What the command line does not say is the configuration's (pyFAI's WorkerConfig), and what that does not say is
 * the default. */
#include "integrate.h"
#include "regions.h"
#include "shard.h"
#include <halcyon/backend.h>
#include <halcyon/device.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const integrate_splits[] = { "no", "bbox", "full", "pseudo", NULL }; /* of enum hcy_azint_split */
static const char *const errors[] = { "none",      "poisson", "variance", /* of enum hcy_azint_errors */
                                      "azimuthal", "hybrid",  NULL };
static const char *const overflows[] = { "wait", "drop-oldest", NULL }; /* of enum hcy_pipeline_overflow */
enum { NOT_GIVEN = -1 }; /* of a choice whose default depends on others */

#define AT(member) offsetof(struct integrate_values, member)
static const struct cli_option options[] = {
    { "poni", 'p', CLI_TEXT, AT(poni), "FILE", "the geometry, a PONI file (default: what STACK says)", 0, 0, NULL },
    { "detector", 0, CLI_TEXT, AT(detector), "WHICH", "another than the PONI's: a name, or pyFAI's FILE.h5", 0, 0,
      NULL },
    { "orientation", 0, CLI_INT, AT(orientation), "N", "of the frames, 1 to 4 (EXIF), instead of the PONI's (3)", 1, 4,
      NULL },
    { "flip", 0, CLI_FLAG, AT(flip), NULL, "rows run the other way: Dioptas' PONI, TIFF frames", 0, 0, NULL },
    { "config", 'j', CLI_TEXT, AT(config_file), "FILE",
      "pyFAI's configuration FILE.json, below the options", 0, 0, NULL },
    { "save-config", 0, CLI_TEXT, AT(save_config), "FILE", "write what is done as such a configuration", 0, 0,
      NULL },
    { "output", 'o', CLI_TEXT, AT(output), "FILE",
      ".h5, .dat, .xy, .xye, .chi, .fxye (%d in a text file's: one\na frame; %s: one an input), - for stdout (default:\nSTACK_azint.h5 here)", 0, 0,
      NULL },
    { "devices", 'd', CLI_TEXT, AT(devices), "LIST", "cpu; cpu@threads=2,gpu; all; ... (auto)", 0, 0, NULL },
    { "layout", 0, CLI_CHOICE, AT(layout), "NAME",
      "instead of -d: serial, pool, processes, gpu, fpga, all", 0, 0, integrate_layouts },
    { "processes", 0, CLI_INT, AT(processes), "N", "by N processes, which -d is dealt to in turn", 1, 256, NULL },
    { "npt", 'n', CLI_INT, AT(npt), "N", "bins of the curve (1000)", 1, HCY_AZINT_MAX_BINS, NULL },
    { "npt-azim", 0, CLI_INT, AT(npt_azim), "N", "and N bins in azimuth: images (.h5, .edf)", 1,
      HCY_AZINT_MAX_BINS, NULL },
    { "along-chi", 0, CLI_FLAG, AT(along_chi), NULL, "the curve along the azimuth, not the radius", 0, 0, NULL },
    { "unit", 'u', CLI_TEXT, AT(unit), "UNIT",
      "q_nm^-1, the default; q_A^-1, 2th_deg, qip,qoop, ...", 0, 0, NULL },
    { "incident-angle", 0, CLI_REAL, AT(incident_angle), "DEG", "of the beam onto the sample, for qip,qoop and the like",
      -360, 360, NULL },
    { "tilt-angle", 0, CLI_REAL, AT(tilt_angle), "DEG", "of the sample about the beam", -360, 360, NULL },
    { "sample-orientation", 0, CLI_INT, AT(sample_orientation), "N", "how it lies: 1 to 8, as EXIF has it (1)", 1, 8,
      NULL },
    { "split", 0, CLI_CHOICE, AT(split), "HOW", "pixel splitting: no, bbox (default), full, pseudo", 0, 0,
      integrate_splits },
    { "error-model", 0, CLI_CHOICE, AT(errors), "MODEL",
      "none (default); poisson, variance, azimuthal, hybrid", 0, 0, errors },
    { "variance", 0, CLI_TEXT, AT(variance), "FILE", "of each pixel, for --error-model variance", 0, 0, NULL },
    { "sigma-clip", 0, CLI_FLAG, AT(sigma_clip), NULL,
      "leave out pixels far from their bin's mean", 0, 0, NULL },
    { "threshold", 0, CLI_TEXT, AT(threshold), "T",
      "standard deviations (5), or LOW,HIGH; 0: Chauvenet's", 0, 0, NULL },
    { "max-iter", 0, CLI_INT, AT(max_iter), "N", "rounds of clipping, at most (5)", 0, 1000, NULL },
    { "percentile", 0, CLI_TEXT, AT(percentile), "P", "50: each bin's median; 25,75: the mean between both", 0, 0,
      NULL },
    { "radial-range", 0, CLI_PAIR, AT(radial), "A,B", "of the curve, in its unit", 0, 0, NULL },
    { "azimuth-range", 0, CLI_PAIR, AT(azimuth), "A,B", "degrees; pixels outside are left out", 0, 360, NULL },
    { "mask", 0, CLI_TEXT, AT(mask), "FILE",
      "masked pixels: not 0 in FILE.npy, .tif, .edf, .msk, .h5::/path ...",
      0, 0, NULL },
    { "no-file-mask", 0, CLI_FLAG, AT(no_file_mask), NULL, "do not use the pixel_mask that STACK itself has", 0, 0,
      NULL },
    { "mask-from-frame", 0, CLI_INT, AT(mask_frame), "N",
      "mask what frame N marks invalid in every frame", 0, 1e15, NULL },
    { "no-sentinels", 0, CLI_FLAG, AT(no_sentinels), NULL,
      "top values (2^32-1, 2^32-2, ...) are counts", 0, 0, NULL },
    { "dummy", 0, CLI_REAL, AT(dummy), "V",
      "pixels of this value are invalid, not the top values", 0, 0,
      NULL },
    { "delta-dummy", 0, CLI_REAL, AT(delta_dummy), "D", "and those within D of it", 0, 1e300, NULL },
    CLI_RAW_OPTIONS(AT(raw)),
    { "dark", 0, CLI_TEXT, AT(dark), "FILE", "an image, taken off each frame", 0, 0, NULL },
    { "flat", 0, CLI_TEXT, AT(flat), "FILE", "an image that frames are divided by (.h5: flatfield)", 0, 0, NULL },
    { "no-file-flatfield", 0, CLI_FLAG, AT(no_file_flat), NULL,
      "nor its flatfield where the detector did not apply it", 0, 0, NULL },
    { "absorption", 0, CLI_TEXT, AT(absorption), "FILE", "the sensor's, likewise", 0, 0, NULL },
    { "polarization", 0, CLI_TEXT, AT(polarization), "F",
      "correct for it: 1 horizontal, -1 vertical; F,DEG turns", 0, 0, NULL },
    { "no-solid-angle", 0, CLI_FLAG, AT(no_solid_angle), NULL,
      "do not correct for the solid angle", 0, 0, NULL },
    { "unweighted", 0, CLI_FLAG, AT(unweighted), NULL, "the mean of corrected pixels: each counts as much", 0, 0, NULL },
    { "normalization", 0, CLI_REAL, AT(normalization), "X", "divide the curves by X (1)", 0, 0, NULL },
    { "monitor", 0, CLI_TEXT, AT(monitor), "PATH",
      "a number a frame, which divides it: /path in STACK, FILE", 0, 0,
      NULL },
    { "sum", 0, CLI_INT, AT(sum), "N", "one curve for N frames: of their sum", 1, 1e9, NULL },
    { "average", 0, CLI_INT, AT(average), "N", "running: each frame's curve is the last N frames' mean", 1, 10000, NULL },
    { "sums", 0, CLI_FLAG, AT(sums), NULL, "to .h5: each bin's sums and pixels, to add and rebin", 0, 0, NULL },
    { "roi", 0, CLI_TEXT, AT(roi), "LIST", "X0,Y0,X1,Y1[:NAME],...: each frame's sum, min, max ... of these regions", 0, 0,
      NULL },
    { "stats", 0, CLI_FLAG, AT(stats), NULL, "the same of the whole frame", 0, 0, NULL },
    { "above", 0, CLI_INT, AT(above), "V", "and how many of their pixels are above V", -1e15, 1e15, NULL },
    { "sparse", 0, CLI_TEXT, AT(sparse), "FILE.h5", "and the pixels that stand out of the curve, as pyFAI's sparsify", 0, 0,
      NULL },
    { "cutoff-pick", 0, CLI_REAL, AT(cutoff_pick), "X", "of them: by X standard deviations of the background (3)", 0,
      1e15, NULL },
    { "noise", 0, CLI_REAL, AT(noise), "X", "and by X counts at least (1)", 0, 1e15, NULL },
    { "pick-room", 0, CLI_REAL, AT(pick_room), "SHARE", "up to this share of a frame's pixels (0.03125)", 1e-9, 1, NULL },
    { "dataset", 0, CLI_TEXT, AT(dataset), "PATH", "in STACK (default: found)", 0, 0, NULL },
    { "channel", 0, CLI_TEXT, AT(channel), "N", "of several energy thresholds: 1, 2, difference ...", 0, 0, NULL },
    { "frames", 0, CLI_SPAN, AT(frames), "A:B", "these alone, from 0, B not included", 0, 0, NULL },
    CLI_SHARD_OPTION(AT(shard)),
    { "follow", 0, CLI_FLAG, AT(follow), NULL, "go on with the frames that are being written", 0, 0, NULL },
    { "follow-timeout", 0, CLI_REAL, AT(follow_timeout), "S", "end when none came for S seconds (60)", 0, 1e9, NULL },
    { "uncached", 0, CLI_FLAG, AT(uncached), NULL, "read STACK past the system's page cache (O_DIRECT)", 0, 0, NULL },
    { "stream", 0, CLI_TEXT, AT(stream), "ADDRESS",
      "instead of STACK: a detector's stream, tcp://HOST:PORT", 0, 0, NULL },
    { "timeout", 0, CLI_REAL, AT(timeout), "S", "of a stream: end when nothing came for S seconds (60)", 0, 1e9, NULL },
    { "series", 0, CLI_INT, AT(series), "N", "end after N series (1), a file each; 0: never", 0, 1e9, NULL },
    { "overflow", 0, CLI_CHOICE, AT(overflow), "HOW", "when it is too fast: wait (default), drop-oldest", 0, 0,
      overflows },
    { "every", 0, CLI_INT, AT(every), "N", "of a stream: only frames 0, N, 2 N ...", 1, 1e9, NULL },
    { "queue", 0, CLI_INT, AT(queue), "N", "frames of a stream that may wait (64)", 1, 65536, NULL },
    { "record", 0, CLI_TEXT, AT(record), "FILE", "keep the stream as it came, for simulate --replay", 0, 0, NULL },
    { "publish", 0, CLI_TEXT, AT(publish), "ADDRESS", "curves of a stream as a stream, tcp://*:PORT", 0, 0, NULL },
    { "watch", 0, CLI_FLAG, AT(watch), NULL, "of a stream: rate, backlog, latency, the last curve", 0, 0, NULL },
    { "curve-key", 0, CLI_TEXT, AT(curve_key), "KEY", "CurveZMQ: the detector's public key, or a file with it", 0, 0,
      NULL },
    { "curve-secret", 0, CLI_TEXT, AT(curve_secret), "FILE", "and a file with the own secret key (any)", 0, 0, NULL },
    { "plan-cache", 0, CLI_TEXT, AT(plan_cache), "DIR",
      "where plans are kept (~/.cache/halcyon); none", 0, 0, NULL },
    { "batch", 0, CLI_INT, AT(batch), "N", "frames a launch, at most (the devices' wish)", 1, 4096, NULL },
    { "memory", 0, CLI_INT, AT(memory), "MB", "for stored frames on their way (128; GPUs: 512)", 1, 1e6, NULL },
    { "latency", 0, CLI_REAL, AT(latency), "MS", "batches so small that a curve takes MS milliseconds", 0.001, 1e6,
      NULL },
    { "device-timeout", 0, CLI_REAL, AT(device_timeout), "S", "give a device up that is silent for S seconds", 0.001,
      1e6, NULL },
    { "two-stage", 0, CLI_FLAG, AT(two_stage), NULL, "decode to images first, then integrate", 0, 0, NULL },
    { "json", 0, CLI_FLAG, AT(json), NULL, "the summary as one JSON object on stdout", 0, 0, NULL },
    { "quiet", 'q', CLI_FLAG, AT(quiet), NULL, "no progress, no summary", 0, 0, NULL },
    CLI_ISOLATE_OPTIONS,
    { NULL, 0, CLI_FLAG, 0, NULL, NULL, 0, 0, NULL }
};
#undef AT

const struct cli_group cli_integrate_groups[] = {
    { "Frames and their geometry", "poni config frames",
      "detector orientation flip dataset channel pedestal gain photon-energy" },
    { "Bins", "npt npt-azim unit split radial-range azimuth-range",
      "along-chi incident-angle tilt-angle sample-orientation" },
    { "Masks and corrections", "mask polarization dark flat",
      "no-file-mask mask-from-frame no-sentinels dummy delta-dummy no-file-flatfield absorption no-solid-angle "
      "unweighted normalization monitor" },
    { "Errors and outliers", "error-model sigma-clip", "variance threshold max-iter percentile" },
    { "Results", "output sum roi", "sums stats above sparse cutoff-pick noise pick-room average save-config json quiet" },
    { "The run", "devices follow",
      "layout processes shard follow-timeout uncached plan-cache batch memory latency device-timeout "
      "two-stage isolate no-isolate" },
    { "A live stream", "stream", "timeout series overflow every queue record publish watch curve-key curve-secret" },
    { NULL, NULL, NULL }
};

const struct cli_command cli_integrate_command = {
    "integrate", "images to patterns (1-D curves) and cakes (2-D): azimuthal integration", "STACK...",
    0, INT_MAX, options,
    "STACK: HDF5, TIFF, EDF, CBF, .npy, .npz; a numbered series, img_%05d.tif; many:\n"
    "FILE..., 'a/*.tif', a directory, @LIST of paths. -o DIR/%s.dat: one result each.\n"
    "Exit status: 0 if every frame was done, 1 if not, 2: the command line is wrong."
};

/* "A" or "A,B": how many finite numbers these are; 0: it is neither. */
static int read_one_or_two(double x[2], const char *text)
{
    char *end;
    const char *second = strchr(text, ',');
    x[0] = strtod(text, &end);
    if (end == text || (*end && end != second) || !isfinite(x[0]))
        return 0;
    if (!second)
        return 1;
    x[1] = strtod(second + 1, &end);
    return end != second + 1 && !*end && isfinite(x[1]) ? 2 : 0;
}

/* "P" or "P,Q", from 0 to 100, P <= Q: 1 if it is that. */
static int read_percentiles(double p[2], const char *text)
{
    int n = read_one_or_two(p, text);
    if (n == 1)
        p[1] = p[0];
    return n && p[0] >= 0 && p[0] <= p[1] && p[1] <= 100;
}

static int is_threshold(const char *text)
{
    double x[2] = { 0, 0 };
    return read_one_or_two(x, text) && x[0] >= 0 && x[1] >= 0;
}

static int is_polarization(const char *text)
{
    double x[2];
    return read_one_or_two(x, text) && x[0] >= -1 && x[0] <= 1;
}

/* Bins of a curve in radius or along chi, or of an image. */
static void choose_bins(hcy_azint_options *o, const struct integrate_values *v)
{
    int along_chi = v->along_chi || (o->npt_azim && o->npt == 1);
    size_t npt = o->npt_azim && o->npt == 1 ? o->npt_azim : o->npt;
    o->npt_azim = along_chi ? 0 : o->npt_azim;
    if (v->npt.given)
        npt = (size_t)v->npt.value;
    if (v->npt_azim.given) {
        o->npt_azim = (size_t)v->npt_azim.value;
        along_chi = 0;
    }
    o->npt = along_chi ? 1 : npt;
    o->npt_azim = along_chi ? npt : o->npt_azim;
}

/* What clipping needs is chosen with it where nobody has said it; pyFAI's defaults. */
static void choose_filter(hcy_azint_options *o, const struct integrate_values *v)
{
    if (v->sigma_clip || v->percentile)
        o->filter = v->sigma_clip ? HCY_FILTER_SIGMA_CLIP : HCY_FILTER_PERCENTILE;
    if (v->split != NOT_GIVEN || (v->sigma_clip && !v->config))
        o->split = v->split != NOT_GIVEN ? v->split : HCY_SPLIT_NO;
    if (v->variance)
        o->error_model = HCY_ERRORS_VARIANCE;
    else if (v->errors != NOT_GIVEN)
        o->error_model = v->errors;
    else if (v->sigma_clip && o->error_model == HCY_ERRORS_NONE)
        o->error_model = HCY_ERRORS_AZIMUTHAL;
    if (v->threshold) {
        double t[2] = { o->threshold, -1 };
        (void)read_one_or_two(t, v->threshold);
        o->threshold = t[0];
        o->threshold_above = t[1];
    }
    if (v->max_iter.given)
        o->max_iter = (uint32_t)v->max_iter.value;
    if (v->percentile)
        (void)read_percentiles(o->percentile, v->percentile);
}

static void choose_range(double range[2], const struct cli_pair *pair)
{
    if (!pair->given)
        return;
    range[0] = pair->a;
    range[1] = pair->b;
}

/* Is a range that the configuration has in its unit left for an axis that the command line has in another one? */
static int loses_unit(const double range[2], const struct cli_pair *given, const char *unit, const char *other)
{
    return range[0] < range[1] && !given->given && strcmp(unit ? unit : "", other ? other : "") != 0;
}

static int is_range_of_another_unit(const struct integrate_values *v, const hcy_azint_options *o)
{
    const hcy_azint_options *below = v->config ? &v->config->options : NULL;
    return below && *v->unit_names[0] &&
           (loses_unit(below->radial_range, &v->radial, below->unit, o->unit) ||
            loses_unit(below->azimuth_range, &v->azimuth, below->azimuth_unit, o->azimuth_unit));
}

/* Both axes, and how the sample lies; pixels are then not split unless that is asked for, as pyFAI has it. */
static void choose_units(hcy_azint_options *o, const struct integrate_values *v)
{
    const double degree = acos(-1) / 180;
    const hcy_azint_unit *unit = hcy_azint_unit_find(v->unit_names[0]);
    if (v->unit) {
        o->unit = v->unit_names[0];
        o->azimuth_unit = *v->unit_names[1] ? v->unit_names[1] : NULL;
    }
    if (v->incident_angle.given)
        o->incident_angle = v->incident_angle.value * degree;
    if (v->tilt_angle.given)
        o->tilt_angle = v->tilt_angle.value * degree;
    if (v->sample_orientation.given)
        o->sample_orientation = (int)v->sample_orientation.value;
    if (unit && unit->needs_sample && v->split == NOT_GIVEN)
        o->split = HCY_SPLIT_NO;
}

void integrate_options(hcy_azint_options *o, const struct integrate_values *v)
{
    /* The command line is laid over the configuration, and only what was given changes it. */
    *o = v->config ? v->config->options : (hcy_azint_options)HCY_AZINT_OPTIONS_INIT;
    choose_bins(o, v);
    choose_filter(o, v);
    choose_range(o->radial_range, &v->radial);
    choose_range(o->azimuth_range, &v->azimuth);
    choose_units(o, v);
    /* A dummy of the command line replaces the configuration's as a whole, its tolerance too. */
    if (v->dummy.given || v->no_sentinels) {
        o->use_dummy = v->dummy.given;
        o->dummy = v->dummy.value;
        o->delta_dummy = 0;
    }
    if (v->delta_dummy.given)
        o->delta_dummy = v->delta_dummy.value;
    o->sentinels = v->no_sentinels || o->use_dummy ? HCY_SENTINELS_OFF : HCY_SENTINELS_ALWAYS;
    o->solid_angle &= !v->no_solid_angle;
    o->unweighted |= v->unweighted;
    if (v->polarization) {
        /* The offset of the configuration belongs to its own factor. */
        double factor[2] = { 0, 0 };
        (void)read_one_or_two(factor, v->polarization);
        o->use_polarization = 1;
        o->polarization = factor[0];
        o->polarization_offset = factor[1] * acos(-1) / 180;
    }
    if (v->normalization.given)
        o->normalization = v->normalization.value;
    o->part_of_sum = v->sum.value > 1 || v->average.value > 1;
}

int integrate_has_geometry(const struct integrate_values *v)
{
    return v->poni || (v->config && v->config->has_poni);
}

int integrate_geometry(hcy_poni *poni, const struct integrate_values *v)
{
    if (v->poni)
        return hcy_poni_read(poni, v->poni);
    *poni = v->config->poni;
    return 0;
}

/* What other programs and people call units, as far as it is unlike their names here. */
static const char *find_alias(const char *unit)
{
    static const char *const names[][2] = { { "2theta", "2th_deg" }, { "2-theta", "2th_deg" }, { "twotheta", "2th_deg" },
                                            { "tth", "2th_deg" },    { "q_1/nm", "q_nm^-1" },  { "q_1/A", "q_A^-1" },
                                            { "d", "d_A" },          { "r", "r_mm" },          { "chi", "--along-chi" },
                                            { "chi_deg", "--along-chi" } };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(unit, names[i][0]))
            return names[i][1];
    return NULL;
}

/* A unit's whole name: qip is qip_nm^-1, chigi chigi_deg.  NULL: there is none. */
static const hcy_azint_unit *find_unit_in_short(const char *name)
{
    static const char *const ends[] = { "", "_nm^-1", "_deg" };
    const hcy_azint_unit *unit = NULL;
    char whole[64];
    for (size_t i = 0; i < 3 && !unit; i++) {
        snprintf(whole, sizeof whole, "%s%s", name, ends[i]);
        unit = hcy_azint_unit_find(whole);
    }
    return unit;
}

/* Units are known before any file is: a wrong one is told with those there are. */
static int read_units(struct integrate_values *v)
{
    char those[1024] = "", word[64];
    const char *names[64];
    size_t n, used = 0;
    const hcy_azint_unit *units = hcy_azint_unit_list(&n);
    const char *at = v->unit;
    for (int i = 0; at && i < 2; i++) {
        size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), at);
        const hcy_azint_unit *unit = find_unit_in_short(word);
        /* Azimuth about the beam is never the first axis. */
        if (!unit || (!i && !strcmp(unit->name, "chi_deg")) || (i && at[length]))
            break;
        snprintf(v->unit_names[i], sizeof v->unit_names[i], "%s", unit->name);
        at = at[length] ? at + length + 1 : NULL;
    }
    if (!at)
        return CLI_OK;
    n = n < sizeof names / sizeof names[0] ? n : sizeof names / sizeof names[0];
    for (size_t i = 0; i < n; i++)
        names[i] = units[i].name;
    for (size_t i = 0; i < n && used < sizeof those; i++)
        used += (size_t)snprintf(those + used, sizeof those - used, "%s%s", used ? ", " : "", units[i].name);
    /* A unit that is one is in the wrong place, or there are too many. */
    const char *meant = find_alias(word);
    if (!meant && *word && !find_unit_in_short(word))
        meant = cli_closest(word, names, n);
    return cli_usage("--unit '%s' is not valid%s%s%s: it takes one of %s", v->unit, meant ? " (is " : "",
                     meant ? meant : "", meant ? " meant?)" : "", those);
}

const char *integrate_cache(char *folder, size_t size, const struct integrate_values *v)
{
    if (v->plan_cache)
        return strcmp(v->plan_cache, "none") ? v->plan_cache : NULL;
    /* Without a home there is no cache, and the plan is made anew: that is slower, not wrong. */
    return hcy_cache_folder(folder, size, "plans") ? NULL : folder;
}

void integrate_run_options(hcy_pipeline_options *options, const struct integrate_values *v)
{
    options->flags = v->two_stage ? HCY_PIPELINE_TWO_STAGE : 0;
    options->readers = v->readers;
    options->batch = (uint32_t)v->batch.value;
    options->memory = (uint64_t)v->memory.value << 20;
    options->latency = (uint64_t)(1e6 * v->latency.value);
    options->device_timeout = (uint64_t)(1e9 * v->device_timeout.value);
}

void integrate_device_names(char *text, size_t size, hcy_device *const *devices, size_t n)
{
    size_t used = 0;
    *text = 0;
    /* A list too long for its room is cut: it is a record for readers, and nothing depends on it. */
    for (size_t i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? "," : "", hcy_device_get_info(devices[i])->name);
}

/* What was given and is not for streams, or is for them alone; NULL: nothing. */
static const char *find_stream_conflict(const struct integrate_values *v, const char *stack)
{
    if (!v->stream) {
        if (!stack)
            return "what to work on is missing: halcyon integrate STACK, or --stream ADDRESS";
        return v->timeout.given || v->series.given || v->overflow || v->every.given || v->queue.given || v->record ||
                       v->publish || v->watch || v->curve_key || v->curve_secret
                   ? "--timeout, --series, --overflow, --every, --queue, --record, --publish, --watch, --curve-key and "
                     "--curve-secret are for --stream"
                   : NULL;
    }
    if (stack)
        return "--stream takes the place of STACK: give one of them";
    if (v->curve_secret && !v->curve_key)
        return "--curve-secret needs --curve-key, the detector's";
    if (inputs_each(v->output) || inputs_each(v->sparse))
        return "%s in a name stands for an input's, which a stream has not: leave it";
    return v->follow || v->frames.given || v->dataset || v->monitor || v->mask_frame.given || v->save_config ||
                   v->raw.pedestal || v->raw.gain || v->raw.photon_energy.given || v->shard || v->processes.given ||
                   v->uncached
               ? "--stream goes without --follow, --frames, --dataset, --monitor, --mask-from-frame, --save-config, "
                 "--pedestal, --gain, --photon-energy, --shard, --processes and --uncached"
               : NULL;
}

static int is_stdout(const char *output)
{
    return output && (!strcmp(output, "-") || !strcmp(output, "/dev/stdout") || !strcmp(output, "/dev/fd/1"));
}

static int check_values(const struct integrate_values *v, const char *stack)
{
    const char *conflict = find_stream_conflict(v, stack);
    double percentile[2];
    hcy_azint_options o;
    /* What the configuration says takes part, so the rules look at the options as they will be used. */
    integrate_options(&o, v);
    const hcy_azint_unit *unit = hcy_azint_unit_find(o.unit);
    const hcy_azint_unit *other = o.azimuth_unit ? hcy_azint_unit_find(o.azimuth_unit) : NULL;
    /* A rule is what is wrong and what to say; the first one that holds is told. */
    const struct {
        int wrong;
        const char *what;
    } rules[] = {
        { v->delta_dummy.given && !o.use_dummy, "--delta-dummy needs --dummy" },
        { o.error_model == HCY_ERRORS_VARIANCE && !v->variance, "--error-model variance needs --variance FILE" },
        { v->errors != NOT_GIVEN && v->errors != HCY_ERRORS_VARIANCE && v->variance,
          "--variance is for --error-model variance" },
        { v->sigma_clip && v->errors == HCY_ERRORS_NONE, "--sigma-clip needs errors: leave --error-model none" },
        { (v->threshold || v->max_iter.given) && o.filter != HCY_FILTER_SIGMA_CLIP,
          "--threshold and --max-iter are for --sigma-clip" },
        { v->threshold && !is_threshold(v->threshold), "--threshold takes T or LOW,HIGH, 0 or more" },
        { v->polarization && !is_polarization(v->polarization),
          "--polarization takes F from -1 to 1, or F,DEG with the angle of its axis" },
        { v->sigma_clip && v->percentile, "--sigma-clip and --percentile are one or the other" },
        { v->percentile && !read_percentiles(percentile, v->percentile),
          "--percentile takes P or P,Q with P <= Q, from 0 to 100" },
        { unit && !unit->needs_sample &&
              (v->incident_angle.given || v->tilt_angle.given || v->sample_orientation.given),
          "--incident-angle, --tilt-angle and --sample-orientation are for units that are seen from the sample, as "
          "--unit qip,qoop" },
        { unit && other && unit->needs_sample != other->needs_sample,
          "--unit takes one unit, or two that are seen from the sample, as qip,qoop" },
        { unit && unit->needs_sample && (o.split == HCY_SPLIT_FULL || o.split == HCY_SPLIT_PSEUDO),
          "outlines of pixels would cover the holes that units have which are seen from the sample: --split no or bbox" },
        { unit && !unit->needs_sample && o.azimuth_range[1] - o.azimuth_range[0] > 360 * (1 + 1e-12),
          "--azimuth-range is a turn at most, 360 degrees" },
        { o.npt && o.npt_azim > HCY_AZINT_MAX_BINS / o.npt, "--npt times --npt-azim is 16777216 bins at most" },
        { o.unweighted && (o.filter != HCY_FILTER_NONE || o.error_model == HCY_ERRORS_AZIMUTHAL),
          "--unweighted goes with no filter and no azimuthal errors" },
        { v->along_chi && v->npt_azim.given, "--along-chi has its bins from --npt: leave --npt-azim" },
        { v->dummy.given && v->no_sentinels, "--dummy takes the sentinels' place: leave --no-sentinels" },
        { o.normalization == 0, "--normalization 0 would divide by zero" },
        { v->average.given && v->sum.given, "--average and --sum are one or the other" },
        { (v->roi || v->stats) && (v->sum.value > 1 || v->average.given),
          "--roi and --stats are of each frame: leave --sum and --average" },
        { v->above.given && !v->roi && !v->stats, "--above is for --roi and --stats" },
        { v->sparse && o.filter == HCY_FILTER_NONE, "--sparse picks pixels off a background: give --sigma-clip or --percentile" },
        { v->sparse && !strcmp(v->sparse, "-"), "--sparse is HDF5, which is no stream: name a file" },
        { v->sparse && !inputs_each(v->sparse) != !inputs_each(v->output),
          "--sparse has a file for each result: %s stands in its name and in -o, or in neither" },
        { v->sparse && v->stream && (v->sum.value > 1 || v->average.given),
          "--sparse of a stream has its frames' numbers in the curves: leave --sum and --average" },
        { (v->cutoff_pick.given || v->noise.given || v->pick_room.given) && !v->sparse,
          "--cutoff-pick, --noise and --pick-room are for --sparse" },
        { v->average.given && v->shard, "--average runs on from frame to frame: leave --shard, or average its merge" },
        { v->shard && v->follow, "--shard deals the frames that are there: leave --follow" },
        { v->processes.given && v->follow, "--processes deals the frames that are there: leave --follow" },
        { conflict != NULL, conflict },
        { v->follow_timeout.given && !v->follow, "--follow-timeout needs --follow" },
        { v->json && is_stdout(v->output), "--json takes stdout: give -o FILE" },
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].wrong)
            return cli_usage("%s", rules[i].what);
    if (is_range_of_another_unit(v, &o))
        cli_note("the range of %s is in %s, and its numbers are taken in %s: --radial-range and --azimuth-range give "
                 "others",
                 v->config_file, v->config->options.unit, o.unit);
    return CLI_OK;
}

/* Regions are known before any file is, too. */
static int check_regions_text(const struct integrate_values *v)
{
    struct regions regions = { 0 };
    int status = regions_parse(&regions, v);
    regions_free(&regions);
    return status;
}

/* The configuration, and the files that it names where the command line names none. */
static int read_config(struct integrate_values *v)
{
    if (!v->config_file)
        return CLI_OK;
    int status = hcy_config_read(&v->config, v->config_file);
    if (status)
        return cli_fail(status);
    /* Files of the configuration are used where the command line names none. */
    const struct {
        const char **to, *from;
    } files[] = { { &v->mask, v->config->mask },
                  { &v->dark, v->config->dark },
                  { &v->flat, v->config->flat },
                  { &v->monitor, v->config->monitor } };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (!*files[i].to)
            *files[i].to = files[i].from;
    return CLI_OK;
}

/* The command line, as a record that can be pasted into a shell. */
static void join_words(char *out, size_t size, int argc, char **argv)
{
    size_t used = (size_t)snprintf(out, size, "halcyon");
    for (int i = 0; i < argc && used + 1 < size; i++) {
        out[used++] = ' ';
        used += strlen(cli_shell_word(out + used, size - used, argv[i]));
    }
}

/* What is to be integrated, and whether that goes together. */
static int find_inputs(struct integrate_values *v, const char *const *words, size_t n)
{
    int status = inputs_find(&v->inputs, words, n), each = inputs_each(v->output);
    const struct {
        int given;
        const char *option;
    } alone[] = { { v->json, "--json" }, { v->follow, "--follow" }, { v->save_config != NULL, "--save-config" },
                  { v->processes.given, "--processes" }, { v->shard != NULL, "--shard" } };
    for (size_t i = 0; !status && each && i < sizeof alone / sizeof alone[0]; i++)
        if (alone[i].given)
            return cli_usage("%s is for one result; with %%s in -o there are many", alone[i].option);
    if (!status && each)
        status = inputs_check_outputs(&v->inputs, (const char *const[]){ v->output, v->sparse }, v->sparse ? 2 : 1);
    return status;
}

int integrate_parse(struct integrate_values *values, const struct inputs *inputs, int argc, char **argv, int *status)
{
    *values = (struct integrate_values){
        .split = NOT_GIVEN, .errors = NOT_GIVEN, .layout = NOT_GIVEN, .sum = { 0, 1 }, .follow_timeout = { 0, 60 },
        .timeout = { 0, 60 }, .every = { 0, 1 }, .queue = { 0, 64 }, .series = { 0, 1 }
    };
    const char **words = calloc((size_t)argc + 1, sizeof *words);
    size_t n = 0;
    if (!words) {
        *status = cli_error("out of memory for %d words", argc);
        return 1;
    }
    if (cli_parse(&cli_integrate_command, argc, argv, values, words, status)) {
        free(words);
        return 1;
    }
    while (words[n])
        n++;
    /* The record is made before anything is filled in from a configuration. */
    join_words(values->command, sizeof values->command, argc, argv);
    *status = read_config(values);
    if (!*status && values->layout != NOT_GIVEN)
        *status = integrate_layout(values);
    if (!*status)
        *status = read_units(values);
    if (!*status)
        *status = check_values(values, words[0]);
    if (!*status)
        *status = check_regions_text(values);
    if (!*status && inputs)
        values->inputs = *inputs;
    else if (!*status && !values->stream)
        *status = find_inputs(values, words, n);
    free(words);
    return *status != CLI_OK;
}

void integrate_free(struct integrate_values *values)
{
    inputs_free(&values->inputs);
    free(values->layout_devices);
    hcy_config_free(values->config);
}
