/* saved_config.c - see saved_config.h.
 *
 * pyFAI's configurations name one file for the mask, of which it reads the lower 8 bits, in place of the detector's
 * own; and a flat field that divides.  Several masks, a mask from a frame, NXdetector's bits 8 to 15, DECTRIS' flat
 * fields and a sensor's absorption are none of these: CONFIG_mask.npy, CONFIG_flat.npy. */
#include "saved_config.h"
#include "guard.h"
#include <halcyon/host_array.h>
#include <stdlib.h>
#include <string.h>

/* Makes the name CONFIG_mask.npy from CONFIG.json. */
static void name_beside(char *name, size_t size, const char *config, const char *what)
{
    size_t length = strlen(config);
    /* The names stand together in a folder's listing. */
    if (length > 5 && !strcmp(config + length - 5, ".json"))
        length -= 5;
    snprintf(name, size, "%.*s_%s.npy", (int)length, config, what);
}

static int write_float_image(const char *path, const float *pixels, size_t height, size_t width)
{
    union {
        const float *in;
        void *out;
    } data = { pixels }; /* only read */
    hcy_host_array array = HCY_HOST_ARRAY_INIT;
    array.bytes = sizeof *pixels;
    array.rank = 2;
    array.shape[0] = height;
    array.shape[1] = width;
    array.data = data.out;
    int status = hcy_host_array_write(&array, path);
    if (status)
        return cli_fail(status);
    cli_note("%s goes with the configuration: it is what pyFAI cannot read elsewhere", path);
    return CLI_OK;
}

/* The mask, with the detector's gaps: pyFAI has either. */
static int write_mask(const char *path, const uint8_t *mask, const hcy_azint_plan_info *plan)
{
    size_t n = plan->height * plan->width;
    /* A detector that comes with corners has the mask of its file, which is one of those in `mask` already. */
    const hcy_detector *detector = plan->options.detector_mask && !plan->poni.corners ? plan->poni.detector : NULL;
    float *pixels = malloc(n * sizeof *pixels);
    uint8_t *gaps = calloc(n, 1);
    int status = pixels && gaps ? 0 : HCY_ENOMEM;
    if (!status && detector)
        status = hcy_detector_mask(gaps, detector, plan->height, plan->width);
    for (size_t i = 0; !status && i < n; i++)
        pixels[i] = mask[i] || gaps[i];
    if (!status)
        status = write_float_image(path, pixels, plan->height, plan->width);
    else
        status = status == HCY_ENOMEM ? cli_error("no memory for the mask in %s", path) : cli_fail(status);
    free(gaps);
    free(pixels);
    return status;
}

/* The absorption divides as the flat field does, and pyFAI has no other place for it. */
static int write_flat(const char *path, const hcy_azint_options *azint, const hcy_azint_plan_info *plan)
{
    size_t n = plan->height * plan->width;
    float *both = malloc(n * sizeof *both);
    if (!both)
        return cli_error("no memory for the flat field in %s", path);
    for (size_t i = 0; i < n; i++)
        both[i] = (azint->flat ? azint->flat[i] : 1) * (azint->absorption ? azint->absorption[i] : 1);
    int status = write_float_image(path, both, plan->height, plan->width);
    free(both);
    return status;
}

/* What changes curves and has no key in such a configuration is said: a run by it alone would have other curves. */
static void say_what_is_left(const struct integrate_values *v)
{
    const struct {
        int given;
        const char *option;
    } left[] = { { v->variance != NULL, "--variance" },
                 { v->no_sentinels, "--no-sentinels" },
                 { v->no_file_mask, "--no-file-mask" },
                 { v->no_file_flat, "--no-file-flatfield" },
                 { v->raw.pedestal != NULL, "--pedestal" },
                 { v->raw.gain != NULL, "--gain" },
                 { v->raw.photon_energy.given, "--photon-energy" } };
    char list[200] = "";
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++)
        if (left[i].given)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? ", " : "", left[i].option);
    if (*list)
        cli_note("%s has no place for %s: to be given beside --config again", v->save_config, list);
}

/* What is written beside the configuration is none of what the run reads; NULL: it is not written. */
static int guard_saved_files(const struct integrate_values *values, const hcy_curves_options *given,
                             const char *mask_file, const char *flat_file)
{
    struct guard guard = { 0 };
    guard_reads_stack(&guard, given->source);
    guard_reads(&guard, "--absorption", values->absorption);
    guard_reads(&guard, "--variance", values->variance);
    guard_reads(&guard, "--mask", given->mask);
    guard_reads(&guard, "--flat", given->flat);
    guard_reads(&guard, "--dark", given->dark);
    guard_reads(&guard, "--monitor", values->monitor);
    guard_reads(&guard, "--pedestal", values->raw.pedestal);
    guard_reads(&guard, "--gain", values->raw.gain);
    int status = guard_writes(&guard, "the mask of --save-config", mask_file, 0, 0);
    if (!status)
        status = guard_writes(&guard, "the flat field of --save-config", flat_file, 0, 0);
    guard_free(&guard);
    return status;
}

int saved_config_write(const struct integrate_values *values, const hcy_azint_plan *plan,
                       const hcy_curves_options *given, const struct pixels *pixels, const uint8_t *mask,
                       const hcy_azint_options *azint)
{
    const char *path = values->save_config;
    const float *flat = azint->flat;
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    hcy_curves_options opts = *given;
    char mask_file[4200], flat_file[4200];
    uint64_t masked = mask ? pixels_count(mask, pixels->pixels) : 0;
    /* A file may be named only if it alone makes the whole mask and pyFAI reads the same from it. */
    int own_mask = masked && pixels->own->mask_is_plain && pixels->own->n_masked == masked,
        users_mask = masked && given->mask && pixels->mask_is_plain && pixels->by_mask == masked,
        own_flat = flat && flat == pixels->own->flat,
        flat_is_plain = own_flat ? !pixels->own->flat_multiplies : !given->flat || pixels->flat_is_plain;
    int status = hcy_azint_plan_get_info(&info, plan);
    if (status)
        return cli_fail(status);
    /* Whether the files are needed is known only below; their names are made for all cases. */
    name_beside(mask_file, sizeof mask_file, path, "mask");
    name_beside(flat_file, sizeof flat_file, path, "flat");
    opts.mask = masked ? mask_file : NULL;
    if (users_mask)
        opts.mask = given->mask;
    if (own_mask)
        opts.mask = given->file_mask;
    int needs_mask = masked && !own_mask && !users_mask, needs_flat = (flat && !flat_is_plain) || azint->absorption;
    /* Nothing is written before it is certain that nothing is lost by it. */
    status = guard_saved_files(values, given, needs_mask ? mask_file : NULL, needs_flat ? flat_file : NULL);
    if (!status && needs_mask)
        status = write_mask(mask_file, mask, &info);
    if (!status && needs_flat)
        status = write_flat(flat_file, azint, &info);
    if (status)
        return status;
    /* The flat field that the run used is named: the one just written, else the stack's own. */
    if (needs_flat)
        opts.flat = flat_file;
    else if (own_flat)
        opts.flat = pixels->file_flat;
    status = hcy_config_write(path, plan, &opts);
    if (!status)
        say_what_is_left(values);
    return status ? cli_fail(status) : CLI_OK;
}
