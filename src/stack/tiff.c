/* tiff.c - TIFF through libtiff: pages of one sample a pixel, in strips or tiles, of any compression it has. */
#include "files.h"
#include <halcyon/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_TIFF
#include <tiffio.h>
#include <unistd.h>
#endif

static int tiff_is(const unsigned char *head, size_t n)
{
    static const unsigned char magics[][4] = { "II*", "II+", { 'M', 'M', 0, '*' }, { 'M', 'M', 0, '+' } };
    for (size_t i = 0; i < 4; i++)
        if (n >= 4 && !memcmp(head, magics[i], 4))
            return 1;
    return 0;
}

#ifdef HAVE_TIFF
#define MAX_BLOCK ((tmsize_t)1 << 32) /* of one allocation of libtiff's */

/* libtiff's words for what went wrong last. */
struct words {
    char text[128];
};

static int keep_words(TIFF *tiff, void *payload, const char *module, const char *fmt, va_list args)
{
    (void)tiff;
    (void)module;
    struct words *words = payload;
    vsnprintf(words->text, sizeof words->text, fmt, args);
    return 1;
}

static int ignore_words(TIFF *tiff, void *payload, const char *module, const char *fmt, va_list args)
{
    (void)tiff;
    (void)payload;
    (void)module;
    (void)fmt;
    (void)args;
    return 1;
}

static int open_tiff(TIFF **tiff, struct words *words, const char *path)
{
    int fd, st = hcy__open_file(&fd, path);
    if (st)
        return st;
    *tiff = NULL;
    words->text[0] = 0;
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    /* Messages go into the error record and not to standard error; damaged files cannot ask for all
     * memory. */
    if (options) {
        TIFFOpenOptionsSetMaxSingleMemAlloc(options, MAX_BLOCK);
        TIFFOpenOptionsSetErrorHandlerExtR(options, keep_words, words);
        TIFFOpenOptionsSetWarningHandlerExtR(options, ignore_words, NULL);
        *tiff = TIFFFdOpenExt(fd, path, "rm", options);
        TIFFOpenOptionsFree(options);
    }
    if (*tiff)
        return 0;
    close(fd);
    return hcy_fail_vendor(HCY_ECORRUPT, 0, words->text, "%s cannot be opened as TIFF", path);
}

/* Describes the page that libtiff is at. */
static int describe_page(uint64_t *height, uint64_t *width, const hcy__pixel **pixel, TIFF *tiff, const char *path)
{
    uint32_t w = 0, h = 0;
    uint16_t bits = 1, samples = 1, format = SAMPLEFORMAT_UINT;
    TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &w);
    TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &h);
    /* Tags that are left out have defaults: one sample of one bit without a sign. */
    TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &bits);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &samples);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &format);
    char kind = format == SAMPLEFORMAT_INT ? 'i' : 'u';
    if (format == SAMPLEFORMAT_IEEEFP)
        kind = 'f';
    *height = h;
    *width = w;
    *pixel = format <= SAMPLEFORMAT_VOID && bits % 8 == 0 ? hcy__pixel_find(kind, bits / 8) : NULL;
    if (samples != 1 || !*pixel)
        return hcy_fail(
            HCY_EFORMAT,
            "%s: pixels of %u samples of %u bits (sample format %u); one sample of a whole number "
            "or a float of 8 to 64 bits is read",
            path, samples, bits, format);
    if (!w || !h)
        return hcy_fail(HCY_EFORMAT, "%s: a page of %u x %u", path, h, w);
    return 0;
}

static int scan_pages(hcy__frames *frames, TIFF *tiff, const char *path)
{
    int st = 0;
    do {
        uint32_t kind = 0;
        TIFFGetField(tiff, TIFFTAG_SUBFILETYPE, &kind);
        /* Thumbnails and masks are pages as well, but no frames. */
        if (kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK))
            continue;
        if (!frames->n)
            st = describe_page(&frames->height, &frames->width, &frames->pixel, tiff, path);
        if (!st)
            st = hcy__frames_add(frames, TIFFCurrentDirOffset(tiff));
    } while (!st && TIFFReadDirectory(tiff));
    if (!st && !frames->n)
        st = hcy_fail(HCY_EFORMAT, "%s: there is no full image in it", path);
    return st;
}

static int tiff_scan(hcy__frames *frames, const char *path)
{
    TIFF *tiff;
    struct words words;
    int st = open_tiff(&tiff, &words, path);
    if (st)
        return st;
    st = scan_pages(frames, tiff, path);
    TIFFClose(tiff);
    return st;
}

/* Reads rows from strips; returns 0 if all went well. */
static int read_strips(char *dst, TIFF *tiff, uint32_t height, size_t row)
{
    if ((uint64_t)TIFFScanlineSize64(tiff) != row)
        return -1;
    for (uint32_t y = 0; y < height; y++)
        if (TIFFReadScanline(tiff, dst + y * row, y, 0) < 0)
            return -1;
    return 0;
}

static void copy_tile(char *dst, const char *tile, const hcy_stack_info *info, uint32_t x, uint32_t y,
                      uint32_t width, uint32_t height)
{
    size_t size = info->elem_size, columns = info->width - x < width ? info->width - x : width;
    for (uint32_t i = 0; i < height && i < info->height - y; i++)
        memcpy(dst + ((size_t)(y + i) * info->width + x) * size, tile + (size_t)i * width * size,
               columns * size);
}

static int read_tiles(char *dst, TIFF *tiff, const hcy_stack_info *info)
{
    uint32_t width = 0, height = 0;
    size_t bytes;
    TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &width);
    TIFFGetField(tiff, TIFFTAG_TILELENGTH, &height);
    /* The tile's size comes from the file: memory is asked for when it is known to agree with libtiff's
     * own. */
    if (!width || !height || hcy_size_mul(&bytes, width, height) ||
        hcy_size_mul(&bytes, bytes, info->elem_size) || bytes != TIFFTileSize64(tiff) ||
        bytes > (size_t)MAX_BLOCK)
        return -1;
    char *tile = malloc(bytes);
    int bad = !tile;
    for (uint64_t y = 0; !bad && y < info->height; y += height)
        for (uint64_t x = 0; !bad && x < info->width; x += width) {
            bad = TIFFReadTile(tiff, tile, (uint32_t)x, (uint32_t)y, 0, 0) < 0;
            if (!bad)
                copy_tile(dst, tile, info, (uint32_t)x, (uint32_t)y, width, height);
        }
    free(tile);
    return bad ? -1 : 0;
}

static int read_page(void *dst, TIFF *tiff, struct words *words, const char *path, const hcy_stack_info *info)
{
    uint64_t height, width;
    const hcy__pixel *pixel;
    /* Each page has tags of its own, and may differ from the first. */
    int st = describe_page(&height, &width, &pixel, tiff, path);
    if (!st)
        st = hcy__frame_fits(info, path, height, width, pixel);
    if (st)
        return st;
    words->text[0] = 0;
    int bad = TIFFIsTiled(tiff) ? read_tiles(dst, tiff, info)
                                : read_strips(dst, tiff, info->height, (size_t)info->width * info->elem_size);
    if (bad)
        return hcy_fail_vendor(HCY_ECORRUPT, 0, words->text, "%s: its pixels cannot be read", path);
    return 0;
}

static int tiff_read(void *dst, const char *path, uint64_t offset, const hcy_stack_info *info)
{
    TIFF *tiff;
    struct words words;
    int st = open_tiff(&tiff, &words, path);
    if (st)
        return st;
    if (offset && offset != TIFFCurrentDirOffset(tiff) && !TIFFSetSubDirectory(tiff, offset))
        st = hcy_fail_vendor(HCY_ECORRUPT, 0, words.text, "%s: its page at offset %llu cannot be read", path,
                             (unsigned long long)offset);
    if (!st)
        st = read_page(dst, tiff, &words, path, info);
    TIFFClose(tiff);
    return st;
}
#else
static int absent(const char *path)
{
    return hcy_fail(HCY_EUNSUPPORTED, "%s is a TIFF file, and this build of Halcyon has no libtiff", path);
}

static int tiff_scan(hcy__frames *frames, const char *path)
{
    (void)frames;
    return absent(path);
}

static int tiff_read(void *dst, const char *path, uint64_t offset, const hcy_stack_info *info)
{
    (void)dst;
    (void)offset;
    (void)info;
    return absent(path);
}
#endif

const hcy__format hcy__format_tiff = { "TIFF", tiff_is, tiff_scan, tiff_read };
