/* tiff.c - TIFF through libtiff: pages of one sample a pixel, in strips or tiles, of any compression it has. */
#include "files.h"
#include <halcyon/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_TIFF
#include <sys/stat.h>
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

/* A file as libtiff reads it, and what went wrong with it last: the system's number, 0 where libtiff alone complains,
 * and libtiff's words. */
struct tiff_file {
    const char *path;
    int fd, number;
    uint64_t at;
    char words[128];
};

static int keep_words(TIFF *tiff, void *payload, const char *module, const char *fmt, va_list args)
{
    (void)tiff;
    (void)module;
    struct tiff_file *file = payload;
    vsnprintf(file->words, sizeof file->words, fmt, args);
    return 1;
}

/* Damaged, unless it was the disk. */
static int fail_tiff(const struct tiff_file *file, const char *what)
{
    return file->number ? hcy__read_failed(file->path, file->number)
                        : hcy_fail_vendor(HCY_ECORRUPT, 0, file->words, "%s%s", file->path, what);
}

/* libtiff has no word for why a read failed, so that the reads are ours. */
static tmsize_t read_tiff(thandle_t of, void *to, tmsize_t n)
{
    struct tiff_file *file = of;
    int number;
    uint64_t done = n > 0 ? hcy__read_at(file->fd, to, (uint64_t)n, file->at, &number) : 0;
    if (n > 0 && number)
        file->number = number;
    file->at += done;
    return (tmsize_t)done;
}

static tmsize_t write_tiff(thandle_t of, void *from, tmsize_t n)
{
    (void)of, (void)from, (void)n;
    return -1;
}

static toff_t size_of_tiff(thandle_t of)
{
    const struct tiff_file *file = of;
    struct stat is;
    return fstat(file->fd, &is) ? 0 : (toff_t)is.st_size;
}

static toff_t seek_tiff(thandle_t of, toff_t at, int from)
{
    struct tiff_file *file = of;
    toff_t base = from == SEEK_CUR ? file->at : 0;
    if (from == SEEK_END)
        base = size_of_tiff(of);
    /* Behind all that a file can be nothing is read. */
    if (at > INT64_MAX || base > INT64_MAX - at)
        return (toff_t)-1;
    return file->at = base + at;
}

static int close_tiff(thandle_t of)
{
    return close(((struct tiff_file *)of)->fd);
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

/* TIFFClose() closes it. */
static int open_tiff(TIFF **tiff, struct tiff_file *file, const char *path)
{
    *tiff = NULL;
    *file = (struct tiff_file){ .path = path };
    int st = hcy__open_file(&file->fd, path);
    if (st)
        return st;
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    /* Messages go into the error record and not to standard error; damaged files cannot ask for all
     * memory. */
    if (options) {
        TIFFOpenOptionsSetMaxSingleMemAlloc(options, MAX_BLOCK);
        TIFFOpenOptionsSetErrorHandlerExtR(options, keep_words, file);
        TIFFOpenOptionsSetWarningHandlerExtR(options, ignore_words, NULL);
        *tiff = TIFFClientOpenExt(path, "rm", file, read_tiff, write_tiff, seek_tiff, close_tiff, size_of_tiff, NULL,
                                  NULL, options);
        TIFFOpenOptionsFree(options);
    }
    if (*tiff)
        return 0;
    close(file->fd);
    return fail_tiff(file, " cannot be opened as TIFF");
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

/* Goes to the page behind `page`, counted from 0; *more 0: there is none.  libtiff ends at a damaged page as at the
 * last one, so it is asked before. */
static int next_page(int *more, TIFF *tiff, const struct tiff_file *file, uint64_t page)
{
    char what[128];
    *more = !TIFFLastDirectory(tiff);
    if (!*more || TIFFReadDirectory(tiff))
        return 0;
    snprintf(what, sizeof what, ": page %llu, counted from 0, cannot be read: the file is damaged or was cut off",
             (unsigned long long)page + 1);
    return fail_tiff(file, what);
}

/* How many images ImageJ says that the file has, 0 where it says nothing.  Where they take more than 4 GB, it writes
 * one page, and the others' pixels behind those of the first. */
static unsigned long long images_told(TIFF *tiff)
{
    const char *text = NULL, *told;
    if (!TIFFGetField(tiff, TIFFTAG_IMAGEDESCRIPTION, &text) || !text || strncmp(text, "ImageJ=", 7))
        return 0;
    told = strstr(text, "\nimages=");
    return told ? strtoull(told + 8, NULL, 10) : 0;
}

static int scan_pages(hcy__frames *frames, TIFF *tiff, const struct tiff_file *file)
{
    const unsigned long long told = images_told(tiff);
    uint64_t page = 0;
    int st = 0, more = 0;
    do {
        uint32_t kind = 0;
        TIFFGetField(tiff, TIFFTAG_SUBFILETYPE, &kind);
        /* Thumbnails and masks are pages as well, but no frames. */
        if (kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK))
            continue;
        if (!frames->n)
            st = describe_page(&frames->height, &frames->width, &frames->pixel, tiff, file->path);
        if (!st)
            st = hcy__frames_add(frames, TIFFCurrentDirOffset(tiff));
    } while (!st && !(st = next_page(&more, tiff, file, page++)) && more);
    /* libtiff may pass over what the disk did not give, and frames would not be what they are. */
    if (!st && file->number)
        st = fail_tiff(file, "");
    if (!st && !frames->n)
        st = hcy_fail(HCY_EFORMAT, "%s: there is no full image in it", file->path);
    if (!st && frames->n == 1 && told > 1)
        st = hcy_fail(HCY_EUNSUPPORTED,
                      "%s: ImageJ has put %llu images behind its only page, of which the first alone would be read; "
                      "save them with a page each, or as a sequence of files",
                      file->path, told);
    return st;
}

static int tiff_scan(hcy__frames *frames, const char *path)
{
    TIFF *tiff;
    struct tiff_file file;
    int st = open_tiff(&tiff, &file, path);
    if (st)
        return st;
    st = scan_pages(frames, tiff, &file);
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

static int read_page(void *dst, TIFF *tiff, struct tiff_file *file, const hcy_stack_info *info)
{
    uint64_t height, width;
    const hcy__pixel *pixel;
    /* Each page has tags of its own, and may differ from the first. */
    int st = describe_page(&height, &width, &pixel, tiff, file->path);
    if (!st)
        st = hcy__frame_fits(info, file->path, height, width, pixel);
    if (st)
        return st;
    file->words[0] = 0;
    int bad = TIFFIsTiled(tiff) ? read_tiles(dst, tiff, info)
                                : read_strips(dst, tiff, info->height, (size_t)info->width * info->elem_size);
    return bad ? fail_tiff(file, ": its pixels cannot be read") : 0;
}

static int tiff_read(void *dst, const char *path, uint64_t offset, const hcy_stack_info *info)
{
    TIFF *tiff;
    struct tiff_file file;
    int st = open_tiff(&tiff, &file, path);
    if (st)
        return st;
    char what[64];
    snprintf(what, sizeof what, ": its page at offset %llu cannot be read", (unsigned long long)offset);
    if (offset && offset != TIFFCurrentDirOffset(tiff) && !TIFFSetSubDirectory(tiff, offset))
        st = fail_tiff(&file, what);
    if (!st)
        st = read_page(dst, tiff, &file, info);
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
