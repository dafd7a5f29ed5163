/* image.c - one decoded image: masks and the like. */
#include "stack_priv.h"
#include <halcyon/backend.h>
#include <halcyon/bslz4.h>
#include <halcyon/queue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Coded images (EIGER's own pixel masks are) go through the host's decoder, like frames. */
static int decode(void *pixels, const hcy_stack_info *info, const void *chunk, size_t size)
{
    hcy_device *device = NULL;
    hcy_queue *queue = NULL;
    hcy_bslz4_job job = { .codec = info->codec,
                          .elem_size = info->elem_size,
                          .image_bytes = info->frame_bytes,
                          .block_bytes = info->block_bytes };
    hcy_span span = { chunk, size };
    int st = hcy_device_open(&device, "cpu@threads=1");
    if (!st)
        st = hcy_queue_create(&queue, device);
    if (!st)
        st = hcy_bslz4_decode(pixels, NULL, queue, &job, &span, 1);
    hcy_queue_release(queue);
    hcy_device_release(device);
    return st;
}

static int read_pixels(void *pixels, hcy_stack *stack)
{
    const hcy_stack_info *info = &stack->info;
    size_t size;
    if (info->codec == HCY_CODEC_NONE)
        return hcy_stack_read(&size, stack, 0, pixels, info->frame_bytes);
    void *chunk = malloc(info->max_chunk ? info->max_chunk : 1);
    if (!chunk)
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", info->path);
    int st = hcy_stack_read(&size, stack, 0, chunk, info->max_chunk);
    if (!st)
        st = decode(pixels, info, chunk, size);
    free(chunk);
    return st;
}

static int read_image(hcy_image *image, hcy_stack *stack)
{
    const hcy_stack_info *info = &stack->info;
    if (info->frames != 1)
        return hcy_fail(HCY_EFORMAT, "%s%s%s holds %llu frames where one image is wanted", info->path,
                        *info->dataset ? "::" : "", info->dataset, (unsigned long long)info->frames);
    *image = (hcy_image){ .height = info->height,
                          .width = info->width,
                          .pixel_type = info->pixel_type,
                          .elem_size = info->elem_size,
                          .bytes = info->frame_bytes };
    image->pixels = malloc(image->bytes);
    if (!image->pixels)
        return hcy_fail(HCY_ENOMEM, "no memory for the image in %s", info->path);
    return read_pixels(image->pixels, stack);
}

int hcy_image_read(hcy_image **image, const char *path)
{
    if (!image || !path)
        return hcy_fail(HCY_EINVAL, "hcy_image_read: image and path must not be NULL");
    *image = NULL;
    char *file = strdup(path);
    hcy_image *made = calloc(1, sizeof *made);
    hcy_stack *stack = NULL;
    int st = file && made ? 0 : hcy_fail(HCY_ENOMEM, "no memory to read %s", path);
    if (!st) {
        char *dataset = strstr(file, "::");
        if (dataset) {
            *dataset = 0;
            dataset += 2;
        }
        st = hcy_stack_open(&stack, file, dataset);
    }
    if (!st)
        st = read_image(made, stack);
    hcy_stack_close(stack);
    free(file);
    if (st)
        hcy_image_free(made);
    else
        *image = made;
    return st;
}

int hcy_image_find(hcy_image **image, const char *path, const char *name)
{
    static const char *const places[] = { "/entry/instrument/detector",
                                          "/entry/instrument/detector/detectorSpecific" };
    if (!image || !path || !name)
        return hcy_fail(HCY_EINVAL, "hcy_image_find: image, path and name must not be NULL");
    for (size_t i = 0; i < 2 && !strstr(path, "::"); i++) {
        size_t size = strlen(path) + strlen(places[i]) + strlen(name) + 4;
        char *full = malloc(size);
        if (!full)
            return hcy_fail(HCY_ENOMEM, "no memory to read %s", path);
        snprintf(full, size, "%s::%s/%s", path, places[i], name);
        int st = hcy_image_read(image, full);
        free(full);
        if (!st)
            return 0;
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

void hcy_image_to_mask(uint8_t *mask, const hcy_image *image)
{
    const unsigned char *pixel = image->pixels;
    size_t size = image->elem_size, n = (size_t)image->height * image->width;
    int is_float = hcy__pixel_of_type(image->pixel_type)->kind == 'f';
    for (size_t i = 0; i < n; i++, pixel += size) {
        unsigned any = 0;
        for (size_t k = 0; k < size; k++)
            any |= k == size - 1 && is_float ? pixel[k] & 0x7fu : pixel[k]; /* -0.0 is zero */
        mask[i] = any != 0;
    }
}
