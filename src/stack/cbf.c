/* cbf.c - crystallographic binary files (imgCIF): text, one image behind it, coded as differences of 1, 2, 4 or
 * 8 bytes (x-CBF_BYTE_OFFSET), or plain. */
#include "files.h"
#include <halcyon/backend.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct cbf {
    uint64_t width, height;
    const hcy__pixel *pixel;
    int coded, big_endian;
    uint64_t data, stored;
};

static const unsigned char mark[4] = { 0x0c, 0x1a, 0x04, 0xd5 }; /* the pixels begin behind it */

static int cbf_is(const unsigned char *head, size_t n)
{
    return n >= 6 && !memcmp(head, "###CBF", 6);
}

static size_t find_cbf_end(const char *text, size_t n)
{
    for (size_t i = 0; i + 4 <= n; i++)
        if (text[i] == (char)mark[0] && !memcmp(text + i, mark, 4))
            return i + 4;
    return 0;
}

/* What stands behind "key" in the header of the binary section, "" if it is not there. */
static const char *find_cbf_value(const char *text, const char *key)
{
    size_t n = strlen(key);
    for (; *text; text++)
        if (!strncasecmp(text, key, n))
            return text + n + strspn(text + n, " \t\"");
    return "";
}

/* A whole number below 2^62, or 0. */
static uint64_t read_cbf_number(const char *text, const char *key)
{
    const char *value = find_cbf_value(text, key);
    char *end;
    uint64_t n = *value >= '0' && *value <= '9' ? strtoull(value, &end, 10) : 0;
    return n >> 62 ? 0 : n;
}

static int parse_cbf_type(struct cbf *cbf, const char *text, const char *path)
{
    static const struct {
        const char *name;
        char kind;
        uint32_t size;
    } types[] = { { "signed 8-bit integer", 'i', 1 },    { "unsigned 8-bit integer", 'u', 1 },
                  { "signed 16-bit integer", 'i', 2 },   { "unsigned 16-bit integer", 'u', 2 },
                  { "signed 32-bit integer", 'i', 4 },   { "unsigned 32-bit integer", 'u', 4 },
                  { "signed 64-bit integer", 'i', 8 },   { "unsigned 64-bit integer", 'u', 8 },
                  { "signed 32-bit real IEEE", 'f', 4 }, { "signed 64-bit real IEEE", 'f', 8 } };
    const char *type = find_cbf_value(text, "X-Binary-Element-Type:");
    const char *coding = find_cbf_value(text, "conversions="), *how = find_cbf_value(text, "Content-Transfer-Encoding:");
    /* The value still has its closing quote and what follows it, so that only its beginning is compared. */
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (!strncasecmp(type, types[i].name, strlen(types[i].name)))
            cbf->pixel = hcy__pixel_find(types[i].kind, types[i].size);
    if (!cbf->pixel)
        return hcy_fail(HCY_EFORMAT, "%s: its element type '%.*s' is not a pixel type", path,
                        (int)strcspn(type, "\"\r\n") % 64, type);
    cbf->coded = !strncasecmp(coding, "x-CBF_BYTE_OFFSET", 17);
    /* What is not read is refused by its name, so that the user knows what to convert. */
    if (!cbf->coded && *coding && strncasecmp(coding, "x-CBF_NONE", 10))
        return hcy_fail(HCY_EUNSUPPORTED, "%s: its pixels are coded as %.*s; x-CBF_BYTE_OFFSET is read", path,
                        (int)strcspn(coding, "\"\r\n") % 64, coding);
    if (*how && strncasecmp(how, "BINARY", 6))
        return hcy_fail(HCY_EUNSUPPORTED, "%s: its pixels are text (%.*s); binary ones are read", path,
                        (int)strcspn(how, "\"\r\n") % 64, how);
    /* The coding adds whole numbers; what a sum of floats' bits would mean nobody says. */
    if (cbf->coded && cbf->pixel->kind == 'f')
        return hcy_fail(HCY_EFORMAT, "%s: differences of floats", path);
    cbf->big_endian = !strncasecmp(find_cbf_value(text, "X-Binary-Element-Byte-Order:"), "BIG", 3);
    return 0;
}

static int parse_cbf(struct cbf *cbf, const char *text, size_t length, const hcy__bytes *bytes)
{
    size_t n = 0, least;
    const char *section = strstr(text, "--CIF-BINARY-FORMAT-SECTION--");
    *cbf = (struct cbf){ .data = length };
    if (!section)
        return hcy_fail(HCY_EFORMAT, "%s: there is no binary section in it", bytes->path);
    cbf->width = read_cbf_number(section, "X-Binary-Size-Fastest-Dimension:");
    cbf->height = read_cbf_number(section, "X-Binary-Size-Second-Dimension:");
    cbf->stored = read_cbf_number(section, "X-Binary-Size:");
    int st = parse_cbf_type(cbf, section, bytes->path);
    if (st)
        return st;
    if (read_cbf_number(section, "X-Binary-Size-Third-Dimension:") > 1)
        return hcy_fail(HCY_EUNSUPPORTED, "%s: a section of three dimensions", bytes->path);
    /* Sizes are bounded before memory is asked for, since they come from text. */
    if (!cbf->width || !cbf->height || cbf->width > UINT32_MAX || cbf->height > UINT32_MAX ||
        hcy_size_mul(&n, (size_t)cbf->width, (size_t)cbf->height) ||
        hcy_size_mul(&least, n, cbf->pixel->size))
        return hcy_fail(HCY_EFORMAT, "%s: an image of %llu x %llu", bytes->path,
                        (unsigned long long)cbf->height, (unsigned long long)cbf->width);
    if (cbf->coded)
        least = n; /* each pixel takes a byte */
    /* Some writers leave the size out: then the pixels are all that follows. */
    if (!cbf->stored)
        cbf->stored = bytes->size - length;
    if (cbf->stored > bytes->size - length || cbf->stored < least)
        return hcy_fail(HCY_ECORRUPT, "%s is truncated, or damaged: %llu bytes for %zu pixels", bytes->path,
                        (unsigned long long)(bytes->size - length), n);
    return 0;
}

static int read_cbf_header(struct cbf *cbf, const hcy__bytes *bytes)
{
    char *text;
    size_t length;
    int st = hcy__bytes_text(&text, &length, bytes, 0, find_cbf_end);
    if (st)
        return st;
    st = parse_cbf(cbf, text, length, bytes);
    free(text);
    return st;
}

static int cbf_scan(hcy__frames *frames, const char *path)
{
    hcy__bytes bytes;
    struct cbf cbf;
    int st = hcy__bytes_open(&bytes, path);
    if (st)
        return st;
    st = read_cbf_header(&cbf, &bytes);
    hcy__bytes_close(&bytes);
    if (st)
        return st;
    frames->width = cbf.width;
    frames->height = cbf.height;
    frames->pixel = cbf.pixel;
    return hcy__frames_add(frames, 0);
}

/* A little-endian number of `size` bytes, its sign extended. */
static int64_t signed_at(const unsigned char *at, size_t size)
{
    uint64_t v = 0;
    for (size_t i = 0; i < size; i++)
        v |= (uint64_t)at[i] << 8 * i;
    uint64_t sign = (uint64_t)1 << (8 * size - 1);
    return (int64_t)((v ^ sign) - sign);
}

/* Differences: a byte, or -128 and two bytes, or -2^15 and four, or -2^31 and eight.  -1: they end too soon. */
static int decode_differences(unsigned char *dst, size_t n, size_t size, const unsigned char *src, size_t src_size)
{
    const unsigned char *end = src + src_size;
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++, dst += size) {
        size_t width = 1;
        int64_t step = 0;
        /* The least number of each width says that the next, twice as wide, has the step. */
        for (;; width *= 2) {
            if ((size_t)(end - src) < width)
                return -1;
            step = signed_at(src, width);
            src += width;
            if (width == 8 || step != -((int64_t)1 << (8 * width - 1)))
                break;
        }
        /* Without a sign, so that sums wrap as the writer's did. */
        value += (uint64_t)step;
        memcpy(dst, &value, size); /* little-endian hosts */
    }
    return 0;
}

static int read_coded(void *dst, const hcy__bytes *bytes, const struct cbf *cbf, const hcy_stack_info *info)
{
    size_t n = (size_t)info->frame_bytes / info->elem_size;
    void *coded = malloc((size_t)cbf->stored);
    if (!coded)
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", bytes->path);
    int st = hcy__bytes_need(bytes, coded, (size_t)cbf->stored, cbf->data);
    if (!st && decode_differences(dst, n, info->elem_size, coded, (size_t)cbf->stored))
        st = hcy_fail(HCY_ECORRUPT, "%s: its pixels end before the image does", bytes->path);
    free(coded);
    return st;
}

static int cbf_read(void *dst, const char *path, uint64_t offset, const hcy_stack_info *info)
{
    (void)offset;
    hcy__bytes bytes;
    struct cbf cbf;
    int st = hcy__bytes_open(&bytes, path);
    if (st)
        return st;
    /* The header is read anew for each frame: nothing need be kept, and any thread can do it. */
    st = read_cbf_header(&cbf, &bytes);
    if (!st)
        st = hcy__frame_fits(info, path, cbf.height, cbf.width, cbf.pixel);
    if (!st && cbf.coded)
        st = read_coded(dst, &bytes, &cbf, info);
    else if (!st)
        st = hcy__bytes_need(&bytes, dst, (size_t)info->frame_bytes, cbf.data);
    if (!st && !cbf.coded && cbf.big_endian)
        hcy__swap(dst, (size_t)info->frame_bytes / info->elem_size, info->elem_size);
    hcy__bytes_close(&bytes);
    return st;
}

const hcy__format hcy__format_cbf = { "CBF", cbf_is, cbf_scan, cbf_read };
