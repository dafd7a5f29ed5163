/* edf.c - ESRF data format: per frame a header "{ key = value ; ... }" and the pixels, one after the other.  A general
 * block may come first, which says EDF_DataFormatVersion: its keys are those of all headers that lack them. */
#include "files.h"
#include <halcyon/backend.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_BLANKS = 512 }; /* before a header */

/* A frame as its header says. */
struct edf {
    uint64_t width, height;
    const hcy__pixel *pixel;
    int is_image, big_endian, compressed;
    uint64_t data, stored, next; /* where the pixels are, how many bytes, where the next header is */
};

static const struct {
    const char *name;
    char kind;
    uint32_t size;
} types[] = {
    { "SignedByte", 'i', 1 },    { "Signed8", 'i', 1 },     { "UnsignedByte", 'u', 1 },
    { "Unsigned8", 'u', 1 },     { "SignedShort", 'i', 2 }, { "Signed16", 'i', 2 },
    { "UnsignedShort", 'u', 2 }, { "Unsigned16", 'u', 2 },  { "UnsignedShortInteger", 'u', 2 },
    { "SignedInteger", 'i', 4 }, { "Signed32", 'i', 4 },    { "UnsignedInteger", 'u', 4 },
    { "Unsigned32", 'u', 4 },    { "SignedLong", 'i', 4 },  { "UnsignedLong", 'u', 4 },
    { "Signed64", 'i', 8 },      { "Unsigned64", 'u', 8 },  { "FloatValue", 'f', 4 },
    { "Float", 'f', 4 },         { "FloatIEEE32", 'f', 4 }, { "Float32", 'f', 4 },
    { "Double", 'f', 8 },        { "DoubleValue", 'f', 8 }, { "FloatIEEE64", 'f', 8 },
    { "DoubleIEEE64", 'f', 8 },
};

static int edf_is(const unsigned char *head, size_t n)
{
    size_t i = 0;
    while (i < n && head[i] && strchr(" \t\r\n\v\f", head[i]))
        i++;
    return i < n && head[i] == '{';
}

/* Finds the end of a header: behind the brace and its line's end. */
static size_t find_edf_end(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        /* A brace within a value is not at a line's end. */
        if (text[i] != '}')
            continue;
        if (i + 1 < n && text[i + 1] == '\n')
            return i + 2;
        if (i + 2 < n && text[i + 1] == '\r' && text[i + 2] == '\n')
            return i + 3;
    }
    return 0;
}

int hcy__edf_value(char *value, size_t room, const char *text, const char *key)
{
    static const char blank[] = " \t\r\n";
    size_t n = strlen(key);
    for (const char *at = text + strspn(text, "{ \t\r\n"); *at; at += strspn(at, "; \t\r\n")) {
        size_t line = strcspn(at, ";");
        const char *is = memchr(at, '=', line);
        /* The key must be all that stands before the sign, or Dim_1 would be found in Dim_10. */
        if (is && !strncasecmp(at, key, n) && at + n + strspn(at + n, blank) == is) {
            is += 1 + strspn(is + 1, blank);
            size_t size = is < at + line ? (size_t)(at + line - is) : 0;
            while (size && strchr(blank, is[size - 1]))
                size--;
            if (size >= room)
                size = room - 1;
            memcpy(value, is, size);
            value[size] = 0;
            return 1;
        }
        at += line;
    }
    return 0;
}

/* The same of a header's own text, or of the general block's. */
static int find_edf_value(char *value, size_t room, const char *own, const char *general, const char *key)
{
    return hcy__edf_value(value, room, own, key) || hcy__edf_value(value, room, general, key);
}

/* A whole number below 2^62, or `otherwise`. */
static uint64_t read_edf_number(const char *own, const char *general, const char *key, uint64_t otherwise)
{
    char value[32], *end;
    if (!find_edf_value(value, sizeof value, own, general, key) || *value < '0' || *value > '9')
        return otherwise;
    uint64_t n = strtoull(value, &end, 10);
    return *end || n >> 62 ? otherwise : n;
}

static int parse_edf_type(struct edf *edf, const char *own, const char *general, const char *path)
{
    char type[32] = "", order[32] = "", packed[32] = "", file[128] = "";
    find_edf_value(type, sizeof type, own, general, "DataType");
    find_edf_value(order, sizeof order, own, general, "ByteOrder");
    find_edf_value(packed, sizeof packed, own, general, "Compression");
    /* What stands behind such a header is the next one. */
    if (hcy__edf_value(file, sizeof file, own, "EDF_BinaryFileName"))
        return hcy_fail(HCY_EUNSUPPORTED, "%s: its pixels are in a file of their own (EDF_BinaryFileName = %s), which is "
                                          "not read; save it as one file", path, file);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (!strcasecmp(type, types[i].name))
            edf->pixel = hcy__pixel_find(types[i].kind, types[i].size);
    if (!edf->pixel)
        return hcy_fail(HCY_EFORMAT, "%s: its DataType '%s' is not a pixel type", path, type);
    edf->big_endian = !strncasecmp(order, "High", 4);
    edf->compressed = *packed && strncasecmp(packed, "NO", 2);
    if (edf->compressed && strncasecmp(packed, "GZ", 2) && strncasecmp(packed, "Z", 1))
        return hcy_fail(HCY_EUNSUPPORTED, "%s: its Compression '%s' is not known", path, packed);
    return 0;
}

static int is_general(const char *text)
{
    char value[8];
    return hcy__edf_value(value, sizeof value, text, "EDF_DataFormatVersion");
}

static int parse_edf(struct edf *edf, const char *text, const char *general, uint64_t at, size_t length,
                     const char *path)
{
    size_t bytes = 0;
    /* Sizes and the format's own keys are each header's alone. */
    uint64_t header = read_edf_number(text, "", "EDF_HeaderSize", length);
    uint64_t size = read_edf_number(text, "", "EDF_BinarySize", read_edf_number(text, "", "Size", 0));
    uint64_t depth = read_edf_number(text, general, "Dim_3", 1);
    *edf = (struct edf){ .width = read_edf_number(text, general, "Dim_1", 0),
                         .height = read_edf_number(text, general, "Dim_2", 0) };
    /* A header that is said to be shorter than its text would put the pixels into it. */
    edf->data = at + (header >= length ? header : length);
    edf->stored = size;
    edf->next = edf->data + read_edf_number(text, "", "EDF_BinarySize", 0);
    char value[8];
    /* The general block has no pixels of its own, whatever it says of those of others. */
    if (is_general(text) || !find_edf_value(value, sizeof value, text, general, "Dim_1"))
        return 0;
    edf->is_image = 1;
    int st = parse_edf_type(edf, text, general, path);
    if (st)
        return st;
    if (!edf->width || !edf->height || depth != 1)
        return hcy_fail(HCY_EFORMAT, "%s: a frame of Dim_1 = %llu, Dim_2 = %llu, Dim_3 = %llu is not an image", path,
                        (unsigned long long)edf->width, (unsigned long long)edf->height, (unsigned long long)depth);
    /* Sizes come from text: they are checked before they are multiplied, and so that offsets stay below
     * 2^63. */
    if (edf->width > UINT32_MAX || edf->height > UINT32_MAX ||
        hcy_size_mul(&bytes, (size_t)edf->width, (size_t)edf->height) ||
        hcy_size_mul(&bytes, bytes, edf->pixel->size) || bytes >> 62)
        return hcy_fail(HCY_ERANGE, "%s: an image of %llu x %llu is more than can be addressed", path,
                        (unsigned long long)edf->height, (unsigned long long)edf->width);
    if (edf->compressed && !size)
        return hcy_fail(HCY_EFORMAT, "%s: compressed pixels without EDF_BinarySize or Size", path);
    if (!edf->compressed && size < bytes)
        edf->stored = bytes; /* what is there is more than what is said */
    /* Padding behind the pixels is in the size that the header says. */
    edf->next = edf->data + edf->stored;
    return 0;
}

/* Some programs fill headers up with zeros, which would end the text early. */
static int take_edf_text(char **text, size_t *length, const hcy__bytes *bytes, uint64_t at)
{
    int st = hcy__bytes_text(text, length, bytes, at, find_edf_end);
    for (size_t i = 0; !st && i < *length; i++)
        if (!(*text)[i])
            (*text)[i] = ' ';
    return st;
}

/* The general block that the file begins with, freed by the caller, or "". */
static int take_general(char **general, const hcy__bytes *bytes)
{
    size_t length;
    int st = take_edf_text(general, &length, bytes, 0);
    if (!st && !is_general(*general))
        **general = 0;
    return st;
}

static int read_edf_header(struct edf *edf, const hcy__bytes *bytes, const char *general, uint64_t at)
{
    char *text;
    size_t length;
    int st = take_edf_text(&text, &length, bytes, at);
    if (st)
        return st;
    st = parse_edf(edf, text, general, at, length, bytes->path);
    free(text);
    return st;
}

int hcy__edf_text(char **text, const char *path, uint64_t offset)
{
    hcy__bytes bytes;
    size_t length;
    int st = hcy__bytes_open(&bytes, path);
    if (st)
        return st;
    st = take_edf_text(text, &length, &bytes, offset);
    hcy__bytes_close(&bytes);
    return st;
}

/* Is there another header?  What follows the last frame may be anything, but has to be read to be known. */
static int is_header(int *is, const hcy__bytes *bytes, uint64_t at)
{
    unsigned char head[MOST_BLANKS + 1];
    size_t n;
    int st = hcy__bytes_read(&n, bytes, head, sizeof head, at);
    *is = !st && edf_is(head, n);
    return st;
}

static int scan_from(hcy__frames *frames, const hcy__bytes *bytes)
{
    struct edf edf;
    char *general = NULL;
    int more, st = is_header(&more, bytes, 0);
    if (!st && more)
        st = take_general(&general, bytes);
    for (uint64_t at = 0; !st && more; at = edf.next, st = st ? st : is_header(&more, bytes, at)) {
        st = read_edf_header(&edf, bytes, general, at);
        if (st || !edf.is_image)
            continue;
        /* The first frame says what the stack is; hcy__frame_fits() compares each that is read with it. */
        if (!frames->n) {
            frames->width = edf.width;
            frames->height = edf.height;
            frames->pixel = edf.pixel;
        }
        st = hcy__frames_add(frames, at);
    }
    free(general);
    if (!st && !frames->n)
        st = hcy_fail(HCY_EFORMAT, "%s: there is no image in it", bytes->path);
    return st;
}

static int edf_scan(hcy__frames *frames, const char *path)
{
    hcy__bytes bytes;
    int st = hcy__bytes_open(&bytes, path);
    if (st)
        return st;
    st = scan_from(frames, &bytes);
    hcy__bytes_close(&bytes);
    return st;
}

static int read_packed(void *dst, const hcy__bytes *bytes, const struct edf *edf, size_t size)
{
    void *packed = edf->stored <= bytes->size ? malloc((size_t)edf->stored) : NULL;
    if (!packed)
        return edf->stored <= bytes->size
                   ? hcy_fail(HCY_ENOMEM, "no memory to read %s", bytes->path)
                   : hcy_fail(HCY_ECORRUPT, "%s is truncated: its pixels take %llu bytes", bytes->path,
                              (unsigned long long)edf->stored);
    int st = hcy__bytes_need(bytes, packed, (size_t)edf->stored, edf->data);
    if (!st)
        st = hcy__inflate(dst, size, packed, (size_t)edf->stored, bytes->path);
    free(packed);
    return st;
}

static int edf_read(void *dst, const char *path, uint64_t at, const hcy_stack_info *info)
{
    hcy__bytes bytes;
    struct edf edf;
    int st = hcy__bytes_open(&bytes, path);
    if (st)
        return st;
    char *general = NULL;
    st = at ? take_general(&general, &bytes) : 0; /* before the first header there is none */
    if (!st)
        st = read_edf_header(&edf, &bytes, general ? general : "", at);
    free(general);
    if (!st)
        st = hcy__frame_fits(info, path, edf.height, edf.width, edf.pixel);
    if (!st && edf.compressed)
        st = read_packed(dst, &bytes, &edf, (size_t)info->frame_bytes);
    else if (!st)
        st = hcy__bytes_need(&bytes, dst, (size_t)info->frame_bytes, edf.data);
    if (!st && edf.big_endian)
        hcy__swap(dst, (size_t)info->frame_bytes / info->elem_size, info->elem_size);
    hcy__bytes_close(&bytes);
    return st;
}

const hcy__format hcy__format_edf = { "EDF", edf_is, edf_scan, edf_read };
