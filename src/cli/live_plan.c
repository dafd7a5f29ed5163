/* live_plan.c - from the header of a stream to a plan: geometry, masks, corrections; what the command line says stands
 * before what the stream says, as it does for files. */
#include "live_priv.h"
#include "mask.h"
#include <stdlib.h>
#include <string.h>

/* --- The geometry --- */

static int read_live_geometry(struct live_plan *p, const struct integrate_values *v, const hcy_stack_info *frames,
                              const hcy_stream_message *start)
{
    hcy_detector_info own;
    hcy_stream_detector(&own, start);
    static const hcy_poni none = HCY_PONI_INIT;
    p->poni = none;
    p->geometry = (struct cli_geometry){ .given = integrate_has_geometry(v), .detector = v->detector, .quiet = v->quiet,
                                         .orientation = (int)v->orientation.value, .flip = v->flip };
    int status = p->geometry.given ? integrate_geometry(&p->poni, v) : 0;
    if (status)
        return cli_fail(status);
    if (!p->geometry.given && hcy_detector_geometry(&p->poni, &own, frames->height, frames->width))
        return cli_error("the geometry is missing: give -p FILE.poni (the stream's header: %s)", hcy_last_error()->text);
    if (!p->geometry.given && !v->quiet)
        fprintf(stderr, "geometry of the stream (no -p): %s, %g m away, beam at pixel (%g, %g), wavelength %g A\n",
                p->poni.detector ? p->poni.detector->name : "a detector", p->poni.dist, own.beam_x, own.beam_y,
                1e10 * p->poni.wavelength);
    /* Limits of the counts belong to the detector that counts, wherever the geometry is from. */
    p->geometry.saturation = own.saturation;
    return cli_geometry_complete(&p->poni, &p->geometry, frames);
}

/* --- Images --- */

/* A detector's file (a master file) has a mask or a flat field beside its frames, and says how it is meant: opened as a
 * stack, it gives them as it does for files.  NULL: `path` is an image itself, or cannot be opened as a stack. */
static hcy_stack *open_master(const char *path, unsigned which)
{
    hcy_stack *stack = NULL;
    hcy_corrections *own = NULL;
    if (strstr(path, "::") || hcy_stack_open(&stack, path, NULL))
        return NULL;
    /* What is wrong with what it has is told when that is read. */
    const int failed = hcy_corrections_read(&own, stack, path, 0);
    if (failed || !*(which == HCY_CORRECTION_MASK ? own->mask_name : own->flat_name)) {
        hcy_stack_close(stack);
        stack = NULL;
    }
    hcy_corrections_free(own);
    return stack;
}

static int check_live_size(const hcy_stack_info *frames, const char *path, const char *option, uint32_t height,
                           uint32_t width)
{
    if (height == frames->height && width == frames->width)
        return CLI_OK;
    return cli_error("--%s: %s is %u x %u pixels, the frames of the stream are %u x %u", option, path, height, width,
                     frames->height, frames->width);
}

/* An image file of the frames' size; `name`: of a master file, this one of its images. */
static int read_live_image(hcy_image **image, const hcy_stack_info *frames, const char *path, const char *option,
                           const char *name)
{
    int status = name ? hcy_image_find(image, path, name) : hcy_image_read(image, path);
    if (status)
        return cli_fail(status);
    status = check_live_size(frames, path, option, (*image)->height, (*image)->width);
    if (status)
        hcy_image_free(*image);
    return status;
}

static int read_live_array(float **array, const hcy_stack_info *frames, const char *path, const char *option)
{
    hcy_image *image;
    int status = read_live_image(&image, frames, path, option, NULL);
    return status ? status : cli_image_floats(array, image, path);
}

static int read_live_flat(float **flat, int *is_plain, const hcy_stack_info *frames, const char *path)
{
    hcy_stack *master = open_master(path, HCY_CORRECTION_FLAT);
    if (!master)
        return read_live_array(flat, frames, path, "flat");
    const hcy_stack_info *info = hcy_stack_get_info(master);
    int status = check_live_size(frames, path, "flat", info->height, info->width);
    if (!status)
        status = cli_flat_file(flat, is_plain, master, path);
    hcy_stack_close(master);
    return status;
}

/* Into a mask of zeros. */
static int read_live_mask(uint8_t *mask, int *is_plain, const hcy_stack_info *frames, const char *path)
{
    hcy_image *image;
    hcy_stack *master = open_master(path, HCY_CORRECTION_MASK);
    int status = CLI_OK;
    if (master) {
        const hcy_stack_info *info = hcy_stack_get_info(master);
        status = check_live_size(frames, path, "mask", info->height, info->width);
        if (!status)
            status = cli_mask_file(mask, is_plain, master, path);
        hcy_stack_close(master);
        return status;
    }
    /* A master file whose frames are elsewhere has its mask nevertheless. */
    status = read_live_image(&image, frames, path, "mask", "pixel_mask");
    if (status)
        return status;
    hcy_image_to_mask(mask, image);
    hcy_image_free(image);
    return CLI_OK;
}

static int read_live_corrections(struct live_plan *p, const struct integrate_values *v, const hcy_stack_info *frames)
{
    const struct {
        const char *path, *option;
        const float **array, *detectors;
    } table[] = { { v->flat, "flat", &p->azint.flat, p->geometry.file ? p->geometry.file->flat : NULL },
                  { v->absorption, "absorption", &p->azint.absorption, NULL },
                  { v->dark, "dark", &p->azint.dark, p->geometry.file ? p->geometry.file->dark : NULL },
                  { v->variance, "variance", &p->azint.variance, NULL } };
    int status = CLI_OK;
    for (size_t i = 0; !status && i < sizeof table / sizeof table[0]; i++) {
        *table[i].array = table[i].detectors;
        if (!table[i].path)
            continue;
        status = i ? read_live_array(&p->arrays[i], frames, table[i].path, table[i].option)
                   : read_live_flat(&p->arrays[i], &p->pixels.flat_is_plain, frames, table[i].path);
        *table[i].array = p->arrays[i];
    }
    /* The stream's own comes last. */
    if (!p->azint.flat)
        p->azint.flat = p->pixels.own->flat;
    return status;
}

static void add_live_mask(struct live_plan *p, const uint8_t *more)
{
    for (uint64_t i = 0; more && i < p->pixels.pixels; i++)
        p->mask[i] |= more[i];
}

static int make_live_mask(struct live_plan *p, const struct integrate_values *v, const hcy_stack_info *frames)
{
    const uint8_t *detectors = p->geometry.file ? p->geometry.file->mask : NULL;
    if (!v->mask && !detectors && !p->pixels.own->mask)
        return CLI_OK;
    p->mask = calloc(frames->height, frames->width);
    if (!p->mask)
        return cli_error("out of memory for a mask of %u x %u", frames->height, frames->width);
    int status = v->mask ? read_live_mask(p->mask, &p->pixels.mask_is_plain, frames, v->mask) : CLI_OK;
    if (status)
        return status;
    /* Each source is counted by what it adds, so no pixel counts twice. */
    p->pixels.by_mask = pixels_count(p->mask, p->pixels.pixels);
    add_live_mask(p, detectors);
    add_live_mask(p, p->pixels.own->mask);
    p->pixels.by_detector = detectors ? pixels_count(detectors, p->pixels.pixels) : 0;
    p->azint.mask = p->mask;
    p->azint.mask_height = frames->height;
    p->azint.mask_width = frames->width;
    return CLI_OK;
}

/* --- The plan --- */

static int create_live_plan(struct live_plan *p, const hcy_stack_info *frames)
{
    int status = hcy_azint_plan_create(&p->plan, &p->poni, frames->height, frames->width, &p->azint);
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    if (!status)
        status = hcy_azint_plan_get_info(&info, p->plan);
    if (status)
        return cli_fail(status);
    /* The plan counts all that it masks; what no array of ours masked is the detector's. */
    p->pixels.masked = info.n_masked;
    p->pixels.by_detector += info.n_masked - (p->mask ? pixels_count(p->mask, p->pixels.pixels) : 0);
    return CLI_OK;
}

/* The name of a detector, or a file's. */
static int check_live_detector(const char *which)
{
    const hcy_detector *known;
    hcy_detector_info *file;
    if (!which || !hcy_detector_find(&known, which))
        return CLI_OK;
    int status = cli_detector_read(&file, which, 1);
    if (!status)
        hcy_detector_info_free(file);
    return status;
}

/* A master file's mask or flat field, or an image.  A status of the library's. */
static int check_live_image(const char *path, unsigned which)
{
    hcy_stack *master = which ? open_master(path, which) : NULL;
    hcy_corrections *own = NULL;
    hcy_image *image = NULL;
    int status;
    if (master)
        status = hcy_corrections_read(&own, master, path, which | HCY_CORRECTION_FLAT_ANYWAY);
    else if (which == HCY_CORRECTION_MASK)
        status = hcy_image_find(&image, path, "pixel_mask");
    else
        status = hcy_image_read(&image, path);
    hcy_corrections_free(own);
    hcy_image_free(image);
    hcy_stack_close(master);
    return status;
}

int live_plan_check(const struct integrate_values *v)
{
    const struct {
        const char *path;
        unsigned which; /* of a master file's; 0: an image alone */
    } images[] = { { v->mask, HCY_CORRECTION_MASK }, { v->flat, HCY_CORRECTION_FLAT }, { v->absorption, 0 },
                   { v->dark, 0 }, { v->variance, 0 } };
    hcy_poni poni = HCY_PONI_INIT;
    int status = integrate_has_geometry(v) ? integrate_geometry(&poni, v) : 0;
    for (size_t i = 0; !status && i < sizeof images / sizeof images[0]; i++)
        status = images[i].path ? check_live_image(images[i].path, images[i].which) : 0;
    return status ? cli_fail(status) : check_live_detector(v->detector);
}

int live_plan_make(struct live_plan *p, const struct integrate_values *v, const hcy_stream_message *start,
                   size_t channel, hcy_device *device)
{
    /* What the functions for files ask of their frames. */
    const hcy_stack_info frames = { .path = v->stream, .dataset = "", .height = start->height, .width = start->width };
    memset(p, 0, sizeof *p);
    int status = read_live_geometry(p, v, &frames, start);
    if (status)
        return status;
    integrate_options(&p->azint, v);
    cli_geometry_invalid(&p->azint, &p->geometry);
    p->azint.cache = integrate_cache(p->cache, sizeof p->cache, v);
    struct pixels *pixels = &p->pixels;
    pixels->no_file_mask = v->no_file_mask;
    pixels->no_file_flat = v->no_file_flat;
    /* Two flat fields would divide twice. */
    pixels->other_flat = v->flat                                          ? "--flat counts"
                         : p->geometry.file && p->geometry.file->flat ? "that of the detector's file counts"
                                                                         : NULL;
    pixels->use_dummy = p->azint.use_dummy;
    pixels->sentinels = p->azint.sentinels != HCY_SENTINELS_OFF;
    pixels_begin(pixels, (uint64_t)frames.height * frames.width, "stream");
    if (hcy_stream_corrections(&pixels->own, start, channel, pixels_wanted(pixels), device))
        return cli_error("%s; --no-file-mask and --no-file-flatfield go without", hcy_last_error()->text);
    status = read_live_corrections(p, v, &frames);
    if (!status)
        status = make_live_mask(p, v, &frames);
    return status ? status : create_live_plan(p, &frames);
}

void live_plan_free(struct live_plan *p)
{
    hcy_azint_plan_release(p->plan);
    hcy_detector_info_free(p->geometry.file);
    hcy_corrections_free(p->pixels.own);
    free(p->mask);
    for (size_t i = 0; i < sizeof p->arrays / sizeof p->arrays[0]; i++)
        free(p->arrays[i]);
}
