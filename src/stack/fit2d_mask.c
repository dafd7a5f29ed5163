/* fit2d_mask.c - FIT2D's masks (.msk), which pyFAI's and silx' mask editors write too: a head of 1024 bytes that says
 * width and height, and a bit a pixel, 1 where it is masked.  A row has whole words of 32 bits, its first pixel in the
 * lowest bit.  Rows stand as FabIO and pyFAI take them. */
#include "files.h"
#include <halcyon/backend.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = 1024 };

static int mask_is(const unsigned char *head, size_t n)
{
    return n >= 16 && !memcmp(head, "M\0\0\0A\0\0\0S\0\0\0K\0\0\0", 16);
}

static uint32_t mask_number(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Bytes of a row as it is stored. */
static size_t mask_row_bytes(uint64_t width)
{
    return (size_t)(width + 31) / 32 * 4;
}

static int read_mask_head(uint64_t *height, uint64_t *width, const hcy__bytes *bytes)
{
    unsigned char sizes[8];
    size_t stored = 0;
    int st = hcy__bytes_need(bytes, sizes, sizeof sizes, 16);
    if (st)
        return st;
    *width = mask_number(sizes);
    *height = mask_number(sizes + 4);
    if (!*width || !*height || hcy_size_mul(&stored, (size_t)*height, mask_row_bytes(*width)))
        return hcy_fail(HCY_EFORMAT, "%s: a mask of %llu x %llu pixels", bytes->path, (unsigned long long)*height,
                        (unsigned long long)*width);
    /* What the head promises is held against the file before anybody asks for memory. */
    if (bytes->size < HEAD_BYTES || bytes->size - HEAD_BYTES < stored)
        return hcy_fail(HCY_ECORRUPT, "%s is truncated or damaged: a mask of %llu x %llu pixels takes %zu bytes behind "
                                      "its head of %d", bytes->path, (unsigned long long)*height,
                        (unsigned long long)*width, stored, HEAD_BYTES);
    return 0;
}

static int mask_scan(hcy__frames *frames, const char *path)
{
    hcy__bytes bytes;
    int st = hcy__bytes_open(&bytes, path);
    if (st)
        return st;
    st = read_mask_head(&frames->height, &frames->width, &bytes);
    hcy__bytes_close(&bytes);
    frames->pixel = hcy__pixel_of_type(HCY_PIXEL_U8);
    return st ? st : hcy__frames_add(frames, 0);
}

static int read_mask_rows(unsigned char *dst, const hcy__bytes *bytes, uint64_t height, uint64_t width)
{
    size_t size = mask_row_bytes(width);
    unsigned char *row = malloc(size);
    int st = row ? 0 : hcy_fail(HCY_ENOMEM, "no memory to read %s", bytes->path);
    for (uint64_t i = 0; !st && i < height; i++, dst += width) {
        st = hcy__bytes_need(bytes, row, size, HEAD_BYTES + i * size);
        for (uint64_t j = 0; !st && j < width; j++)
            dst[j] = row[j / 8] >> j % 8 & 1;
    }
    free(row);
    return st;
}

static int mask_read(void *dst, const char *path, uint64_t offset, const hcy_stack_info *info)
{
    uint64_t height = 0, width = 0;
    hcy__bytes bytes;
    (void)offset;
    int st = hcy__bytes_open(&bytes, path);
    if (st)
        return st;
    st = read_mask_head(&height, &width, &bytes);
    if (!st)
        st = hcy__frame_fits(info, path, height, width, hcy__pixel_of_type(HCY_PIXEL_U8));
    if (!st)
        st = read_mask_rows(dst, &bytes, height, width);
    hcy__bytes_close(&bytes);
    return st;
}

const hcy__format hcy__format_mask = { "FIT2D mask", mask_is, mask_scan, mask_read };
