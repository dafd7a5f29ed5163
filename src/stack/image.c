/* image.c - one decoded image: masks and the like. */
#include "isolate.h"
#include <azint/azint_pixels.h>
#include <halcyon/backend.h>
#include <halcyon/bslz4.h>
#include <halcyon/queue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Coded images (EIGER's own pixel masks are) go through the host's decoder, like frames. */
int hcy__decode(void *pixels, const hcy_stack_info *info, hcy_device *device, const void *chunk, size_t size)
{
    hcy_device *own = NULL;
    hcy_queue *queue = NULL;
    hcy_bslz4_job job = { .codec = info->codec,
                          .elem_size = info->elem_size,
                          .image_bytes = info->frame_bytes,
                          .block_bytes = info->block_bytes };
    hcy_span span = { chunk, size };
    /* One thread is enough for one image, where no device is lent. */
    int st = device ? 0 : hcy_device_open(&own, "cpu@threads=1");
    if (!st)
        st = hcy_queue_create(&queue, device ? device : own);
    if (!st)
        st = hcy_bslz4_decode(pixels, NULL, queue, &job, &span, 1);
    hcy_queue_release(queue);
    hcy_device_release(own);
    return st;
}

static int read_decoded_pixels(void *pixels, hcy_stack *stack, uint64_t frame)
{
    const hcy_stack_info *info = &stack->info;
    size_t size;
    /* No second buffer where the stored bytes are the pixels. */
    if (info->codec == HCY_CODEC_NONE)
        return hcy_stack_read(&size, pixels, info->frame_bytes, stack, frame);
    void *chunk = malloc(info->max_chunk ? info->max_chunk : 1);
    if (!chunk)
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", info->path);
    int st = hcy_stack_read(&size, chunk, info->max_chunk, stack, frame);
    if (!st)
        st = hcy__decode(pixels, info, NULL, chunk, size);
    free(chunk);
    return st;
}

static int decode_image(hcy_image *image, hcy_stack *stack)
{
    const hcy_stack_info *info = &stack->info;
    if (info->frames != 1)
        return hcy_fail(HCY_EFORMAT, "%s%s%s holds %llu frames where one image is wanted", info->path,
                        *info->dataset ? "::" : "", info->dataset, (unsigned long long)info->frames);
    /* The pixels keep their type: what they are for decides how they are converted. */
    *image = (hcy_image){ .height = info->height,
                          .width = info->width,
                          .pixel_type = info->pixel_type,
                          .elem_size = info->elem_size,
                          .bytes = info->frame_bytes };
    image->pixels = malloc(image->bytes);
    if (!image->pixels)
        return hcy_fail(HCY_ENOMEM, "no memory for the image in %s", info->path);
    return read_decoded_pixels(image->pixels, stack, 0);
}

char *hcy__split_path(char **inside, const char *path)
{
    char *file = strdup(path), *parting = file ? strstr(file, "::") : NULL;
    *inside = parting ? parting + 2 : NULL;
    if (parting)
        *parting = 0;
    return file;
}

/* Opens FILE or FILE::/dataset. */
static int open_named(hcy_stack **stack, const char *path, const hcy_isolation *isolation)
{
    hcy_stack_options options = HCY_STACK_OPTIONS_INIT;
    char *dataset, *file = hcy__split_path(&dataset, path);
    if (!file)
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", path);
    options.dataset = dataset;
    options.isolation = isolation && isolation->files ? isolation : NULL;
    int st = hcy_stack_open_with(stack, file, &options);
    free(file);
    return st;
}

int hcy_image_read(hcy_image **image, const char *path)
{
    if (!image || !path)
        return hcy_fail(HCY_EINVAL, "hcy_image_read: image and path must not be NULL");
    return hcy__image_read(image, path, NULL);
}

int hcy__image_read(hcy_image **image, const char *path, const hcy_isolation *isolation)
{
    *image = NULL;
    hcy_image *made = calloc(1, sizeof *made);
    hcy_stack *stack = NULL;
    int st = made ? open_named(&stack, path, isolation) : hcy_fail(HCY_ENOMEM, "no memory to read %s", path);
    if (!st)
        st = decode_image(made, stack);
    /* An image owns its pixels, so the file is closed at once. */
    hcy_stack_close(stack);
    if (st)
        hcy_image_free(made);
    else
        *image = made;
    return st;
}

/* Is there such a mask or flat field of the detector, whether or not it can be read? */
static int is_named(const char *path, const char *dataset)
{
    int is = 0;
#ifdef HAVE_HDF5
    const hcy_stack_info info = { .path = path, .dataset = dataset, .channel_name = "" };
    struct hcy__correction_names *names = calloc(1, sizeof *names);
    is = names && !hcy__corrections_find(names, &info, NULL, path) &&
         (!strcmp(names->masks[0], dataset) || !strcmp(names->flat, dataset));
    free(names);
#else
    (void)path, (void)dataset;
#endif
    return is;
}

int hcy_image_find(hcy_image **image, const char *path, const char *name)
{
    static const char *const places[] = { "/entry/instrument/detector",
                                          "/entry/instrument/detector/detectorSpecific" };
    if (!image || !path || !name)
        return hcy_fail(HCY_EINVAL, "hcy_image_find: image, path and name must not be NULL");
    /* A dataset that is named in the path is taken at its word. */
    for (size_t i = 0; i < 2 && !strstr(path, "::"); i++) {
        size_t size = strlen(path) + strlen(places[i]) + strlen(name) + 4;
        char *full = malloc(size);
        if (!full)
            return hcy_fail(HCY_ENOMEM, "no memory to read %s", path);
        /* Where NeXus and DECTRIS keep such images; what is in neither place is looked for as in any file. */
        snprintf(full, size, "%s::%s/%s", path, places[i], name);
        int st = hcy_image_read(image, full);
        hcy_error why = *hcy_last_error();
        /* One that is there and cannot be read is told of: the frames are no mask. */
        int ends = !st || (st != HCY_ENOENT && st != HCY_EINVAL) || is_named(path, full + strlen(path) + 2);
        free(full);
        if (ends)
            return st ? hcy_fail_again(&why) : 0;
    }
    return hcy_image_read(image, path);
}

void hcy_image_free(hcy_image *image)
{
    if (!image)
        return;
    free(image->pixels);
    free(image);
}

void hcy__image_add_mask(uint8_t *mask, const hcy_image *image, size_t low_bytes)
{
    if (!mask || !image)
        return;
    const unsigned char *pixel = image->pixels;
    size_t size = image->elem_size, n = (size_t)image->height * image->width;
    int is_float = hcy__pixel_of_type(image->pixel_type)->kind == 'f';
    /* Bytes from the lowest on, as little-endian pixels have them. */
    size_t looked_at = is_float || size < low_bytes ? size : low_bytes;
    for (size_t i = 0; i < n; i++, pixel += size) {
        unsigned any = 0;
        for (size_t k = 0; k < looked_at; k++)
            any |= k == size - 1 && is_float ? pixel[k] & 0x7fu : pixel[k]; /* -0.0 is zero */
        mask[i] |= any != 0;
    }
}

void hcy_image_to_mask(uint8_t *mask, const hcy_image *image)
{
    if (!mask || !image || !image->pixels)
        return;
    memset(mask, 0, (size_t)image->height * image->width);
    hcy__image_add_mask(mask, image, image->elem_size);
}

#define CASE(NAME, name, c_type, kind, bytes)     \
    case HCY_PIXEL_##NAME:                        \
        for (size_t i = 0; i < n; i++)            \
            values[i] = ((const c_type *)pixels)[i]; \
        break;
#define CONVERT(name, to)                                                           \
    static void name(to *values, const void *pixels, uint32_t pixel_type, size_t n) \
    {                                                                               \
        switch (pixel_type) {                                                       \
            HCY_PIXEL_TYPES(CASE)                                                   \
        }                                                                           \
    }
CONVERT(to_floats, float)
CONVERT(to_doubles, double)
#undef CONVERT
#undef CASE

void hcy_image_to_floats(float *values, const hcy_image *image)
{
    if (!values || !image)
        return;
    to_floats(values, image->pixels, image->pixel_type, (size_t)image->height * image->width);
}

void hcy__pixels_to_doubles(double *values, const void *pixels, uint32_t pixel_type, size_t n)
{
    to_doubles(values, pixels, pixel_type, n);
}

/* Reads frame after frame, as floats. */
static int read_floats(float *values, hcy_stack *stack)
{
    const hcy_stack_info *info = &stack->info;
    hcy_image image = { .height = info->height, .width = info->width, .pixel_type = info->pixel_type };
    int st = 0;
    image.pixels = malloc(info->frame_bytes);
    if (!image.pixels)
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", info->path);
    /* One buffer serves all frames: only the floats are kept. */
    for (uint64_t i = 0; !st && i < info->frames; i++) {
        st = read_decoded_pixels(image.pixels, stack, i);
        if (!st)
            hcy_image_to_floats(values + i * info->height * info->width, &image);
    }
    free(image.pixels);
    return st;
}

int hcy_images_read(float **values, uint32_t n, uint32_t height, uint32_t width, const char *path)
{
    if (!values || !path)
        return hcy_fail(HCY_EINVAL, "hcy_images_read: values and path must not be NULL");
    *values = NULL;
    hcy_stack *stack = NULL;
    size_t size;
    int st = open_named(&stack, path, NULL);
    const hcy_stack_info *info = st ? NULL : &stack->info;
    if (!st && (info->frames != n || info->height != height || info->width != width))
        st = hcy_fail(HCY_EFORMAT, "%s holds %llu images of %u x %u pixels where %u of %u x %u are wanted", path,
                      (unsigned long long)info->frames, info->height, info->width, n, height, width);
    /* Sizes come from the caller and the file: they are checked before they are multiplied. */
    if (!st && (hcy_size_mul(&size, n, height) || hcy_size_mul(&size, size, width) ||
                hcy_size_mul(&size, size, sizeof **values) || !(*values = malloc(size))))
        st = hcy_fail(HCY_ENOMEM, "no memory to read %s", path);
    if (!st)
        st = read_floats(*values, stack);
    hcy_stack_close(stack);
    if (st) {
        free(*values);
        *values = NULL;
    }
    return st;
}
