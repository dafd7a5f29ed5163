/* stack_images.h - EDF, CBF and TIFF files for tests, put together byte by byte, in every type, order and layout. */
#ifndef STACK_IMAGES_H
#define STACK_IMAGES_H

#include "stack_make.h"

enum { HEIGHT = 11, WIDTH = 19, PIXELS = HEIGHT * WIDTH };

/* Bytes that grow; freed by put_bytes(). */
struct bytes {
    unsigned char *at;
    size_t n;
};

static inline void add(struct bytes *b, const void *src, size_t n)
{
    b->at = realloc(b->at, b->n + n + 1);
    memcpy(b->at + b->n, src, n);
    b->n += n;
}

static inline void add_text(struct bytes *b, const char *text)
{
    add(b, text, strlen(text));
}

static inline void add_number(struct bytes *b, uint64_t v, size_t size, int big)
{
    for (size_t i = 0; i < size; i++)
        add(b, &(unsigned char){ (unsigned char)(v >> 8 * (big ? size - 1 - i : i)) }, 1);
}

static inline void put_bytes(const char *path, struct bytes *b)
{
    put_file(path, b->at, b->n);
    free(b->at);
    *b = (struct bytes){ NULL, 0 };
}

static const struct type {
    uint32_t type;
    size_t size;
    int format; /* TIFF's */
    const char *edf;
} types[] = {
    { HCY_PIXEL_U8, 1, 1, "UnsignedByte" },   { HCY_PIXEL_U16, 2, 1, "UnsignedShort" },
    { HCY_PIXEL_U32, 4, 1, "UnsignedLong" },  { HCY_PIXEL_U64, 8, 1, "Unsigned64" },
    { HCY_PIXEL_I8, 1, 2, "SignedByte" },     { HCY_PIXEL_I16, 2, 2, "SignedShort" },
    { HCY_PIXEL_I32, 4, 2, "SIGNEDINTEGER" }, { HCY_PIXEL_I64, 8, 2, "Signed64" },
    { HCY_PIXEL_F32, 4, 3, "FloatValue" },    { HCY_PIXEL_F64, 8, 3, "DoubleIEEE64" },
};
enum { TYPES = sizeof types / sizeof types[0] };

/* A frame's pixels in the order wanted. */
static inline unsigned char *pixels_of(const struct type *t, uint64_t frame, int big)
{
    hcy_stack_info info = {
        .height = HEIGHT, .width = WIDTH, .pixel_type = t->type, .elem_size = (uint32_t)t->size
    };
    unsigned char *pixels = malloc(PIXELS * t->size), kept[8];
    make_frame(pixels, &info, frame);
    for (size_t i = 0; big && i < PIXELS; i++) {
        memcpy(kept, pixels + i * t->size, t->size);
        for (size_t k = 0; k < t->size; k++)
            pixels[i * t->size + k] = kept[t->size - 1 - k];
    }
    return pixels;
}

/* --- EDF, CBF, TIFF --- */

static inline void add_edf(struct bytes *b, const struct type *t, uint64_t frame, int big)
{
    char header[513];
    unsigned char *pixels = pixels_of(t, frame, big);
    snprintf(header, sizeof header,
             "{\nHeaderID = EH:%06d ;\nDataType = %s ;\n Dim_1=%d;\nDIM_2 = %d ;\nByteOrder = %s ;\n"
             "Title = Dim_1 = 5 ;\n",
             (int)frame, t->edf, WIDTH, HEIGHT, big ? "HighByteFirst" : "LowByteFirst");
    size_t n = strlen(header);
    memset(header + n, ' ', 512 - n);
    memcpy(header + 510, "}\n", 3);
    add(b, header, 512);
    add(b, pixels, PIXELS * t->size);
    free(pixels);
}

/* Differences of int32 pixels. */
static inline void add_differences(struct bytes *b, const int32_t *pixels)
{
    int64_t last = 0;
    for (size_t i = 0; i < PIXELS; i++) {
        int64_t step = pixels[i] - last;
        last = pixels[i];
        int width = step > -128 && step < 128 ? 1 : step > -32768 && step < 32768 ? 2 : 4;
        if (step <= INT32_MIN || step > INT32_MAX)
            width = 8;
        for (int w = 1; w < width; w *= 2)
            add_number(b, (uint64_t)1 << (8 * w - 1), (size_t)w, 0);
        add_number(b, (uint64_t)step, (size_t)width, 0);
    }
}

static inline void add_cbf(struct bytes *b, const char *coding, const char *type, size_t size, int width)
{
    char header[1000];
    snprintf(header, sizeof header,
             "###CBF: VERSION 1.5\r\n# Detector: PILATUS 2M\r\ndata_x\r\n_array_data.data\r\n;\r\n"
             "--CIF-BINARY-FORMAT-SECTION--\r\nContent-Type: application/octet-stream;\r\n"
             "     conversions=\"%s\"\r\nContent-Transfer-Encoding: BINARY\r\nX-Binary-Size: %zu\r\n"
             "X-Binary-Element-Type: \"%s\"\r\nX-Binary-Element-Byte-Order: LITTLE_ENDIAN\r\n"
             "X-Binary-Number-of-Elements: %d\r\nX-Binary-Size-Fastest-Dimension: %d\r\n"
             "X-Binary-Size-Second-Dimension: %d\r\nX-Binary-Size-Padding: 4095\r\n\r\n\x0c\x1a\x04\xd5",
             coding, size, type, PIXELS, width, HEIGHT);
    add_text(b, header);
}

/* FIT2D's mask: `stored` bytes of ones and zeros behind the head. */
static inline void make_fit2d_mask(const char *path, uint32_t width, size_t stored)
{
    struct bytes b = { NULL, 0 };
    for (int i = 0; i < 4; i++)
        add_number(&b, (unsigned char)"MASK"[i], 4, 0);
    add_number(&b, width, 4, 0);
    add_number(&b, HEIGHT, 4, 0);
    for (size_t i = 24; i < 1024; i++)
        add_number(&b, 0, 1, 0);
    for (size_t i = 0; i < stored; i++)
        add_number(&b, 0x41 + 7 * i, 1, 0);
    put_bytes(path, &b);
}

static inline void make_cbf(const char *path, uint64_t frame)
{
    struct bytes b = { NULL, 0 }, coded = { NULL, 0 };
    int32_t *pixels = (int32_t *)(void *)pixels_of(&types[6], frame, 0);
    add_differences(&coded, pixels);
    add_cbf(&b, "x-CBF_BYTE_OFFSET", "signed 32-bit integer", coded.n, WIDTH);
    add(&b, coded.at, coded.n);
    add_text(&b, "\r\n--CIF-BINARY-FORMAT-SECTION----\r\n;\r\n");
    put_bytes(path, &b);
    free(coded.at);
    free(pixels);
}

static inline void put_number(unsigned char *at, uint32_t v, int big)
{
    for (size_t i = 0; i < 4; i++)
        at[i] = (unsigned char)(v >> 8 * (big ? 3 - i : i));
}

/* One page: `tile` 0: strips of 4 rows, else tiles of that side.  Its place is written at *link, which is then
 * where the next page's belongs. */
static inline void add_page(struct bytes *b, size_t *link, const struct type *t, uint64_t frame, int big,
                     uint32_t tile)
{
    static const unsigned char beyond[8] = { 255, 255, 255, 255, 255, 255, 255, 255 };
    unsigned char *pixels = pixels_of(t, frame, big);
    uint32_t side = tile ? tile : WIDTH, rows = tile ? tile : 4;
    uint32_t across = (WIDTH + side - 1) / side, down = (HEIGHT + rows - 1) / rows, n = across * down;
    uint32_t offsets[64], sizes[64], lists;
    for (uint32_t i = 0; i < n; i++) {
        offsets[i] = (uint32_t)b->n;
        for (uint32_t y = i / across * rows; y < (i / across + 1) * rows && (tile || y < HEIGHT); y++)
            for (uint32_t x = i % across * side; x < (i % across + 1) * side; x++) {
                int there = x < WIDTH && y < HEIGHT;
                add(b, there ? pixels + (y * WIDTH + x) * t->size : beyond, t->size);
            }
        sizes[i] = (uint32_t)b->n - offsets[i];
    }
    free(pixels);
    if (b->n % 2)
        add_number(b, 0, 1, 0);
    lists = (uint32_t)b->n;
    for (uint32_t i = 0; i < n; i++)
        add_number(b, offsets[i], 4, big);
    for (uint32_t i = 0; i < n; i++)
        add_number(b, sizes[i], 4, big);
    const uint32_t entries[][2] = {
        { 256, WIDTH },
        { 257, HEIGHT },
        { 258, (uint32_t)t->size * 8 },
        { 259, 1 },
        { 262, 1 },
        { tile ? 322 : 273, tile ? side : lists },
        { tile ? 323 : 277, tile ? rows : 1 },
        { tile ? 324 : 278, tile ? lists : rows },
        { tile ? 325 : 279, lists + 4 * n },
        { 339, (uint32_t)t->format },
    };
    put_number(b->at + *link, (uint32_t)b->n, big);
    add_number(b, 10, 2, big);
    for (size_t i = 0; i < 10; i++) {
        uint32_t tag = entries[i][0];
        int list = tag == 273 || tag == 279 || tag == 324 || tag == 325;
        add_number(b, tag, 2, big);
        add_number(b, 4, 2, big); /* LONG */
        add_number(b, list ? n : 1, 4, big);
        add_number(b, entries[i][1], 4, big);
    }
    *link = b->n;
    add_number(b, 0, 4, big);
}

static inline void make_tiff(const char *path, const struct type *t, uint64_t frames, int big, uint32_t tile)
{
    struct bytes b = { NULL, 0 };
    size_t link = 4;
    add_text(&b, big ? "MM" : "II");
    add_number(&b, 42, 2, big);
    add_number(&b, 0, 4, big);
    for (uint64_t i = 0; i < frames; i++)
        add_page(&b, &link, t, i, big, tile);
    put_bytes(path, &b);
}

#endif
