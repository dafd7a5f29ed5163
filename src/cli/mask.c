/* mask.c - static masks from a file and from a frame of the stack, corrections from files. */
#include "mask.h"
#include <halcyon/pipeline.h>
#include <stdlib.h>
#include <string.h>

/* Reads an image, which must have the size of the frames. */
static int read_frame_image(hcy_image **image, const hcy_stack *stack, const char *path, const char *option)
{
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    int status = hcy_image_read(image, path);
    if (status)
        return cli_fail(status);
    if ((*image)->height == info->height && (*image)->width == info->width)
        return CLI_OK;
    status = cli_error("--%s: %s is %u x %u pixels, the frames of %s are %u x %u", option, path,
                       (*image)->height, (*image)->width, info->path, info->height, info->width);
    hcy_image_free(*image);
    return status;
}

/* What a file says of its detector, for the stack's frames; a path that names an image in it is that image. */
static int read_own(hcy_corrections **own, const hcy_stack *stack, const char *path, unsigned which)
{
    *own = NULL;
    int status = strstr(path, "::") ? 0 : hcy_corrections_read(own, stack, path, which);
    return status ? cli_fail(status) : CLI_OK;
}

/* Do the lower 8 bits of integers say the same as all of them? */
static int low_bits_mask(const hcy_image *image, const uint8_t *mask)
{
    const uint8_t *pixels = image->pixels;
    /* pyFAI reads the lower 8 bits of a mask; for floats these bits mean nothing. */
    int same = image->pixel_type != HCY_PIXEL_F32 && image->pixel_type != HCY_PIXEL_F64;
    for (size_t i = 0; same && i < (size_t)image->height * image->width; i++)
        same = !pixels[i * image->elem_size] == !mask[i];
    return same;
}

int cli_mask_file(uint8_t *mask, int *is_plain, const hcy_stack *stack, const char *path)
{
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    hcy_corrections *own;
    hcy_image *image;
    /* A detector's file has a mask among others; a plain image is the mask itself. */
    int status = read_own(&own, stack, path, HCY_CORRECTION_MASK), found = own && own->mask;
    if (found)
        memcpy(mask, own->mask, (size_t)info->height * info->width);
    *is_plain = found && own->mask_is_plain;
    hcy_corrections_free(own);
    if (!status && !found)
        status = read_frame_image(&image, stack, path, "mask");
    if (status || found)
        return status;
    hcy_image_to_mask(mask, image);
    /* A configuration may name the file only if pyFAI would read the same mask from it. */
    *is_plain = low_bits_mask(image, mask);
    hcy_image_free(image);
    return CLI_OK;
}

int cli_image_floats(float **array, hcy_image *image, const char *path)
{
    *array = malloc((size_t)image->height * image->width * sizeof **array);
    if (*array)
        hcy_image_to_floats(*array, image);
    hcy_image_free(image);
    return *array ? CLI_OK : cli_error("out of memory for %s", path);
}

int cli_array_file(float **array, const hcy_stack *stack, const char *path, const char *option)
{
    hcy_image *image;
    int status = read_frame_image(&image, stack, path, option);
    return status ? status : cli_image_floats(array, image, path);
}

int cli_flat_file(float **flat, int *is_plain, const hcy_stack *stack, const char *path)
{
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    size_t n = (size_t)info->height * info->width;
    hcy_corrections *own;
    int status = read_own(&own, stack, path, HCY_CORRECTION_FLAT | HCY_CORRECTION_FLAT_ANYWAY);
    /* DECTRIS' flat fields multiply, and pyFAI divides. */
    *is_plain = !own || !own->flat_multiplies;
    /* Where the file names no flat field it is an image itself. One that is 1 everywhere comes without an
     * array. */
    if (!status && (!own || !*own->flat_name))
        status = cli_array_file(flat, stack, path, "flat");
    else if (!status && !(*flat = malloc(n * sizeof **flat)))
        status = cli_error("out of memory for %s", path);
    else if (!status && own->flat)
        memcpy(*flat, own->flat, n * sizeof **flat);
    else if (!status)
        for (size_t i = 0; i < n; i++)
            (*flat)[i] = 1;
    hcy_corrections_free(own);
    return status;
}

/* Is pixel i in one of the job's invalid ranges? */
static int is_invalid_pixel(const hcy_azint_job *azint, const void *pixels, size_t i)
{
#define CASE(TYPE, c_type, number)                                                                          \
    case TYPE: {                                                                                             \
        number value = (number)((const c_type *)pixels)[i], lo, hi;                                         \
        for (uint32_t r = 0; r < azint->n_invalid; r++) {                                                    \
            memcpy(&lo, &azint->invalid[r].lo, sizeof lo);                                                   \
            memcpy(&hi, &azint->invalid[r].hi, sizeof hi);                                                   \
            if (value >= lo && value <= hi)                                                                  \
                return 1;                                                                                    \
        }                                                                                                    \
        return value != value; /* NaN */                                                                     \
    }
    switch (azint->pixel_type) {
        CASE(HCY_PIXEL_U8, uint8_t, uint64_t)
        CASE(HCY_PIXEL_U16, uint16_t, uint64_t)
        CASE(HCY_PIXEL_U32, uint32_t, uint64_t)
        CASE(HCY_PIXEL_U64, uint64_t, uint64_t)
        CASE(HCY_PIXEL_I8, int8_t, int64_t)
        CASE(HCY_PIXEL_I16, int16_t, int64_t)
        CASE(HCY_PIXEL_I32, int32_t, int64_t)
        CASE(HCY_PIXEL_I64, int64_t, int64_t)
        CASE(HCY_PIXEL_F32, float, double)
        CASE(HCY_PIXEL_F64, double, double)
    }
#undef CASE
    return 0;
}

void cli_mask_invalid(uint8_t *mask, const hcy_azint_job *job, const void *pixels, size_t n)
{
    for (size_t i = 0; i < n; i++)
        mask[i] |= (uint8_t)is_invalid_pixel(job, pixels, i);
}

int cli_invalid_values(hcy_azint_job *job, const hcy_stack_info *info, const hcy_poni *poni,
                       const hcy_azint_options *azint)
{
    hcy_azint_options coarse = *azint;
    hcy_poni any = HCY_PONI_INIT;
    hcy_azint_plan *plan;
    /* Which values are invalid does not depend on where the detector stands, but a plan has to know it. */
    any.dist = 1;
    any.pixel1 = any.pixel2 = 1e-4;
    if (!poni)
        coarse.sentinels = coarse.sentinels ? HCY_SENTINELS_ALWAYS : 0;
    coarse.unit = "r_mm";
    coarse.radial_range[0] = coarse.radial_range[1] = 0;
    poni = poni ? poni : &any;
    /* The ranges do not depend on bins, and one bin without splitting is the cheapest plan. */
    coarse.npt = 1;
    coarse.npt_azim = 0;
    /* Such a plan is of no use to anyone else. */
    coarse.cache = NULL;
    coarse.split = HCY_SPLIT_NO;
    int status = hcy_azint_plan_create(&plan, poni, info->height, info->width, &coarse);
    if (status)
        return status;
    status = hcy_azint_plan_job(job, plan, info->pixel_type);
    hcy_azint_plan_release(plan);
    return status;
}

int cli_decode_frame(void *pixels, hcy_stack *stack, hcy_device *device, uint64_t number)
{
    hcy_pipeline_source source = hcy_pipeline_source_of(hcy_stack_get_info(stack));
    hcy_queue *queue = NULL;
    void *chunk = NULL;
    size_t size = 0;
    int status = hcy_stack_frame_size(&size, stack, number);
    /* malloc(0) may be NULL without a failure. */
    if (!status && !(chunk = malloc(size ? size : 1)))
        status = hcy_fail(HCY_ENOMEM, "%zu bytes for a frame", size);
    if (!status)
        status = hcy_stack_read(&size, chunk, size, stack, number);
    if (!status)
        status = hcy_queue_create(&queue, device);
    if (!status)
        status = hcy_bslz4_decode(pixels, NULL, queue, &source.coding, &(hcy_span){ chunk, size }, 1);
    hcy_queue_release(queue);
    free(chunk);
    return status;
}

int cli_mask_frame(uint8_t *mask, hcy_stack *stack, hcy_device *device, const hcy_poni *poni,
                   const hcy_azint_options *azint, uint64_t number)
{
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    hcy_azint_job job;
    if (number >= info->frames)
        return cli_error("a mask from frame %llu: %s has frames 0 to %llu", (unsigned long long)number, info->path,
                         (unsigned long long)info->frames - 1);
    void *pixels = malloc((size_t)info->frame_bytes);
    size_t n = (size_t)info->height * info->width;
    int status =
        pixels ? 0 : hcy_fail(HCY_ENOMEM, "%llu bytes for an image", (unsigned long long)info->frame_bytes);
    if (!status)
        /* The device decides what is invalid by the plan's ranges, so the same ranges decide here. */
        status = cli_invalid_values(&job, info, poni, azint);
    if (!status)
        status = cli_decode_frame(pixels, stack, device, number);
    if (!status)
        cli_mask_invalid(mask, &job, pixels, n);
    free(pixels);
    if (status)
        return cli_error("a mask from frame %llu of %s: %s", (unsigned long long)number, info->path,
                         hcy_last_error()->text);
    return CLI_OK;
}
