/* stack_files.c - TIFF, EDF, CBF and series of files: made here byte by byte, in every type, order and layout;
 * damaged ones have a name. */
#include "stack_read.h"
#include <sys/stat.h>
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

enum { HEIGHT = 11, WIDTH = 19, PIXELS = HEIGHT * WIDTH };

/* Bytes that grow; freed by put_bytes(). */
struct bytes {
    unsigned char *at;
    size_t n;
};

static void add(struct bytes *b, const void *src, size_t n)
{
    b->at = realloc(b->at, b->n + n + 1);
    memcpy(b->at + b->n, src, n);
    b->n += n;
}

static void add_text(struct bytes *b, const char *text)
{
    add(b, text, strlen(text));
}

static void add_number(struct bytes *b, uint64_t v, size_t size, int big)
{
    for (size_t i = 0; i < size; i++)
        add(b, &(unsigned char){ (unsigned char)(v >> 8 * (big ? size - 1 - i : i)) }, 1);
}

static void put_bytes(const char *path, struct bytes *b)
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
static unsigned char *pixels_of(const struct type *t, uint64_t frame, int big)
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

static void reads(const char *path, uint32_t type, uint64_t frames, const char *what)
{
    hcy_stack *stack = NULL;
    if (!is_int(hcy_stack_open(&stack, path, NULL), 0, "%s: opens", what)) {
        diag("%s", hcy_last_error()->text);
        return;
    }
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    ok(info->frames == frames && info->height == HEIGHT && info->width == WIDTH && info->pixel_type == type &&
           info->codec == HCY_CODEC_NONE && info->direct && !*info->dataset &&
           info->raw_bytes == frames * info->frame_bytes,
       "%s: what it is", what);
    ok(all_frames_are_right(stack), "%s: its frames", what);
    hcy_stack_close(stack);
}

/* --- EDF --- */

static void add_edf(struct bytes *b, const struct type *t, uint64_t frame, int big)
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

static void test_edf(void)
{
    char what[64];
    for (size_t i = 0; i < TYPES; i++)
        for (int big = 0; big < 2; big++) {
            struct bytes b = { NULL, 0 };
            for (uint64_t frame = 0; frame < 3; frame++)
                add_edf(&b, &types[i], frame, big);
            put_bytes(in_folder("a.edf"), &b);
            snprintf(what, sizeof what, "EDF of %s, %s", types[i].edf, big ? "high first" : "low first");
            reads(in_folder("a.edf"), types[i].type, 3, what);
        }
    struct bytes b = { NULL, 0 };
    add_text(&b, "{\nEDF_DataFormatVersion = 2.7 ;\nEDF_BinarySize = 5 ;\n}\nabcde");
    add_edf(&b, &types[1], 0, 0);
    add_text(&b, "\n\n");
    add_edf(&b, &types[1], 1, 0);
    put_bytes(in_folder("b.edf"), &b);
    reads(in_folder("b.edf"), HCY_PIXEL_U16, 2, "EDF with a general block, and lines between frames");
}

#ifdef HAVE_ZLIB
static void test_compressed(void)
{
    static const char *const kinds[] = { "GzipCompression", "ZCompression" };
    struct bytes b = { NULL, 0 };
    for (int kind = 0; kind < 2; kind++) {
        for (uint64_t frame = 0; frame < 2; frame++) {
            unsigned char *pixels = pixels_of(&types[2], frame, 0), packed[8 * PIXELS];
            z_stream z = {
                .next_in = pixels, .avail_in = PIXELS * 4, .next_out = packed, .avail_out = sizeof packed
            };
            char header[300];
            if (deflateInit2(&z, 6, Z_DEFLATED, kind ? 15 : 31, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
                deflate(&z, Z_FINISH) != Z_STREAM_END)
                bail_out("zlib does not work");
            deflateEnd(&z);
            snprintf(header, sizeof header,
                     "{\nEDF_BinarySize = %lu ;\nCompression = %s ;\nDataType = UnsignedInteger ;\n"
                     "Dim_1 = %d ;\nDim_2 = %d ;\n}\n",
                     z.total_out, kinds[kind], WIDTH, HEIGHT);
            add_text(&b, header);
            add(&b, packed, z.total_out);
            free(pixels);
        }
        put_bytes(in_folder("c.edf"), &b);
        reads(in_folder("c.edf"), HCY_PIXEL_U32, 2, kinds[kind]);
    }
    add_edf(&b, &types[2], 0, 0);
    add_edf(&b, &types[2], 1, 0);
    gzFile gz = gzopen(in_folder("d.edf.gz"), "wb");
    if (!gz || gzwrite(gz, b.at, (unsigned)b.n) != (int)b.n || gzclose(gz) != Z_OK)
        bail_out("d.edf.gz cannot be written");
    reads(in_folder("d.edf.gz"), HCY_PIXEL_U32, 2, "EDF in gzip");
    struct stat is;
    if (stat(in_folder("d.edf.gz"), &is) || truncate(in_folder("d.edf.gz"), is.st_size / 2))
        bail_out("d.edf.gz cannot be cut");
    open_fails(in_folder("d.edf.gz"), NULL, HCY_ECORRUPT, "d.edf.gz|truncated", "half a gzip file");
    free(b.at);
}
#endif

static void test_bad_edf(void)
{
    static const struct {
        const char *text;
        int status;
        const char *parts;
    } bad[] = {
        { "{ no end", HCY_ECORRUPT, "has no end" },
        { "{\nDim_1 = 5 ;\n}\n", HCY_EFORMAT, "DataType" },
        { "{\nDim_1 = 5 ;\nDim_2 = 0 ;\nDataType = Float ;\n}\n", HCY_EFORMAT, "Dim_2 = 0" },
        { "{\nDim_1 = 4294967297 ;\nDim_2 = 5 ;\nDataType = Float ;\n}\n", HCY_ERANGE, "4294967297" },
        { "{\nDim_1 = 4294967295 ;\nDim_2 = 4294967295 ;\nDataType = Double ;\n}\n", HCY_ERANGE,
          "429496729" },
        { "{\nDim_1 = 5 ;\nDim_2 = 5 ;\nDim_3 = 5 ;\nDataType = Float ;\n}\n", HCY_EFORMAT, "no image" },
        { "{\nDim_1 = 5 ;\nDim_2 = 5 ;\nDataType = QuadrupleValue ;\n}\n", HCY_EFORMAT, "QuadrupleValue" },
        { "{\nDim_1 = 5 ;\nDim_2 = 5 ;\nDataType = Float ;\nCompression = Bzip ;\n}\n", HCY_EUNSUPPORTED,
          "Bzip" },
        { "{\nDim_1 = 5 ;\nDim_2 = 5 ;\nDataType = Float ;\nCompression = Gzip ;\n}\n", HCY_EFORMAT, "Size" },
        { "{\na = 1 ;\n}\n", HCY_EFORMAT, "no image" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        put_file(in_folder("bad.edf"), bad[i].text, strlen(bad[i].text));
        open_fails(in_folder("bad.edf"), NULL, bad[i].status, bad[i].parts, "a header that is none");
    }
    struct bytes b = { NULL, 0 };
    hcy_stack *stack = NULL;
    char pixels[PIXELS * 4];
    size_t size;
    add_edf(&b, &types[2], 0, 0);
    add_edf(&b, &types[2], 1, 0);
    b.n -= 7;
    put_bytes(in_folder("cut.edf"), &b);
    ok(!hcy_stack_open(&stack, in_folder("cut.edf"), NULL) && frame_is_right(stack, 0),
       "a file cut in frame 1");
    fails(hcy_stack_read(&size, stack, 1, pixels, sizeof pixels), HCY_ECORRUPT, "cut.edf|truncated: 7 of",
          "that frame");
    hcy_stack_close(stack);
    open_fails(in_folder("cut.edf"), "/data", HCY_EINVAL, "cut.edf|/data", "a dataset of a file without");
}

/* --- CBF --- */

/* Differences of int32 pixels. */
static void add_differences(struct bytes *b, const int32_t *pixels)
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

static void add_cbf(struct bytes *b, const char *coding, const char *type, size_t size, int width)
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

static void make_cbf(const char *path, uint64_t frame)
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

static void test_cbf(void)
{
    struct bytes b = { NULL, 0 };
    make_cbf(in_folder("a.cbf"), 0);
    reads(in_folder("a.cbf"), HCY_PIXEL_I32, 1, "CBF");
    unsigned char *plain = pixels_of(&types[1], 0, 0);
    add_cbf(&b, "x-CBF_NONE", "unsigned 16-bit integer", PIXELS * 2, WIDTH);
    add(&b, plain, PIXELS * 2);
    put_bytes(in_folder("b.cbf"), &b);
    reads(in_folder("b.cbf"), HCY_PIXEL_U16, 1, "CBF that is not coded");
    free(plain);
    /* every width of a difference */
    static int32_t odd[PIXELS] = { 127,       -1, -128,      32000,     -768, INT32_MAX,
                                   INT32_MIN, 0,  INT32_MIN, INT32_MAX, -2 };
    struct bytes coded = { NULL, 0 };
    add_differences(&coded, odd);
    add_cbf(&b, "x-CBF_BYTE_OFFSET", "signed 32-bit integer", coded.n, WIDTH);
    add(&b, coded.at, coded.n);
    put_bytes(in_folder("c.cbf"), &b);
    hcy_stack *stack = NULL;
    int32_t got[PIXELS];
    size_t size;
    ok(!hcy_stack_open(&stack, in_folder("c.cbf"), NULL) &&
           !hcy_stack_read(&size, stack, 0, got, sizeof got) && !memcmp(got, odd, sizeof odd),
       "differences of 1, 2, 4 and 8 bytes");
    hcy_stack_close(stack);
    static const struct {
        const char *coding, *type;
        size_t size;
        int width, status;
        const char *parts;
    } bad[] = {
        { "x-CBF_PACKED", "signed 32-bit integer", 300, WIDTH, HCY_EUNSUPPORTED, "x-CBF_PACKED" },
        { "x-CBF_BYTE_OFFSET", "complex", 300, WIDTH, HCY_EFORMAT, "complex" },
        { "x-CBF_BYTE_OFFSET", "signed 32-bit real IEEE", 300, WIDTH, HCY_EFORMAT, "floats" },
        { "x-CBF_BYTE_OFFSET", "signed 32-bit integer", 5000, WIDTH, HCY_ECORRUPT, "truncated" },
        { "x-CBF_BYTE_OFFSET", "signed 32-bit integer", 300, 2000000000, HCY_ECORRUPT, "damaged" },
        { "x-CBF_BYTE_OFFSET", "signed 32-bit integer", 300, 0, HCY_EFORMAT, "11 x 0" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        add_cbf(&b, bad[i].coding, bad[i].type, bad[i].size, bad[i].width);
        add(&b, coded.at, 300 < coded.n ? 300 : coded.n);
        put_bytes(in_folder("bad.cbf"), &b);
        open_fails(in_folder("bad.cbf"), NULL, bad[i].status, bad[i].parts, "a damaged CBF");
    }
    add_cbf(&b, "x-CBF_BYTE_OFFSET", "signed 32-bit integer", PIXELS, WIDTH);
    for (int i = 0; i < PIXELS; i++)
        add_number(&b, 0x80, 1, 0);
    put_bytes(in_folder("bad.cbf"), &b);
    ok(!hcy_stack_open(&stack, in_folder("bad.cbf"), NULL), "differences that end too soon");
    fails(hcy_stack_read(&size, stack, 0, got, sizeof got), HCY_ECORRUPT, "bad.cbf|end before", "they");
    hcy_stack_close(stack);
    free(coded.at);
}

/* --- TIFF --- */

static void put_number(unsigned char *at, uint32_t v, int big)
{
    for (size_t i = 0; i < 4; i++)
        at[i] = (unsigned char)(v >> 8 * (big ? 3 - i : i));
}

/* One page: `tile` 0: strips of 4 rows, else tiles of that side.  Its place is written at *link, which is then
 * where the next page's belongs. */
static void add_page(struct bytes *b, size_t *link, const struct type *t, uint64_t frame, int big,
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

static void make_tiff(const char *path, const struct type *t, uint64_t frames, int big, uint32_t tile)
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

#ifdef HAVE_TIFF
static void test_tiff(void)
{
    char what[80];
    for (size_t i = 0; i < TYPES; i++)
        for (int big = 0; big < 2; big++)
            for (uint32_t tile = 0; tile <= 16; tile += 16) {
                make_tiff(in_folder("a.tif"), &types[i], 3, big, tile);
                snprintf(what, sizeof what, "TIFF of type %u in %s, %s", types[i].type,
                         tile ? "tiles" : "strips", big ? "MM" : "II");
                reads(in_folder("a.tif"), types[i].type, 3, what);
            }
    make_tiff(in_folder("cut.tif"), &types[2], 1, 0, 0);
    struct stat is;
    size_t size;
    hcy_stack *stack = NULL;
    if (stat(in_folder("cut.tif"), &is) || truncate(in_folder("cut.tif"), is.st_size / 2))
        bail_out("cut.tif cannot be cut");
    open_fails(in_folder("cut.tif"), NULL, HCY_ECORRUPT, "cut.tif|TIFF", "half a TIFF");
    static const struct type odd = { HCY_PIXEL_U32, 3, 1, "" };
    make_tiff(in_folder("odd.tif"), &odd, 1, 0, 0);
    open_fails(in_folder("odd.tif"), NULL, HCY_EFORMAT, "odd.tif|24 bits", "pixels of 24 bits");
    struct bytes b = { NULL, 0 };
    size_t link = 4;
    add(&b, "II*\0\0\0\0", 8);
    add_page(&b, &link, &types[0], 0, 0, 0);
    b.at[link - 10 * 12 + 3 * 12 + 8] = 5; /* its compression: what is there is no LZW */
    put_bytes(in_folder("odd.tif"), &b);
    is_int(hcy_stack_open(&stack, in_folder("odd.tif"), NULL), 0, "a page whose pixels are damaged opens");
    char *room = malloc(hcy_stack_get_info(stack)->max_chunk);
    fails(hcy_stack_read(&size, stack, 0, room, hcy_stack_get_info(stack)->max_chunk), HCY_ECORRUPT,
          "odd.tif", "and fails to be read");
    free(room);
    hcy_stack_close(stack);
}
#endif

/* --- Series --- */

static void test_series(void)
{
    hcy_stack *stack = NULL;
    char pixels[PIXELS * 4];
    size_t size;
    for (uint64_t i = 0; i < 5; i++) {
        char name[32];
        snprintf(name, sizeof name, "s_%03d.cbf", 98 + (int)i);
        if (i != 3)
            make_cbf(in_folder(name), i);
    }
    make_cbf(in_folder("s_0099.cbf"), 7); /* not of the series: another width, or no number */
    make_cbf(in_folder("s_x.cbf"), 7);
    put_file(in_folder("s_102.cbf"), "###CBF nothing", 14);
    if (!is_int(hcy_stack_open(&stack, in_folder("s_%03d.cbf"), NULL), 0, "a series opens"))
        diag("%s", hcy_last_error()->text);
    is_int((intmax_t)hcy_stack_get_info(stack)->frames, 5, "from the first number to the last");
    ok(frame_is_right(stack, 0) && frame_is_right(stack, 1) && frame_is_right(stack, 2),
       "its frames, in order");
    fails(hcy_stack_read(&size, stack, 3, pixels, sizeof pixels), HCY_ENOENT, "s_101.cbf",
          "a file that is missing");
    fails(hcy_stack_read(&size, stack, 4, pixels, sizeof pixels), HCY_ECORRUPT, "s_102.cbf", "a damaged one");
    hcy_stack_close(stack);

    struct bytes b = { NULL, 0 };
    add_edf(&b, &types[2], 0, 0);
    add_edf(&b, &types[2], 1, 0);
    put_bytes(in_folder("e1.edf"), &b);
    add_edf(&b, &types[2], 2, 1);
    put_bytes(in_folder("e2.edf"), &b);
    add_edf(&b, &types[1], 3, 0);
    put_bytes(in_folder("e3.edf"), &b);
    ok(!hcy_stack_open(&stack, in_folder("e%d.edf"), NULL) && hcy_stack_get_info(stack)->frames == 4,
       "files of several frames");
    ok(frame_is_right(stack, 0) && frame_is_right(stack, 1) && frame_is_right(stack, 2),
       "one after the other");
    fails(hcy_stack_read(&size, stack, 3, pixels, sizeof pixels), HCY_EFORMAT, "e3.edf|uint16|uint32",
          "pixels of another type");
    hcy_stack_close(stack);

    unsigned char *plain = pixels_of(&types[0], 0, 0);
    put_npy(in_folder("n7.npy"), 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (11, 19), }", plain,
            PIXELS);
    free(plain);
    plain = pixels_of(&types[0], 1, 0);
    put_npy(in_folder("n8.npy"), 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 11, 19), }", plain,
            PIXELS);
    free(plain);
    reads(in_folder("n%d.npy"), HCY_PIXEL_U8, 2, "a series of NumPy files");
    put_npy(in_folder("huge1.npy"), 1,
            "{'descr': '|u1', 'fortran_order': False, 'shape': (1099511627776, 11, 19), }", "", 0);
    open_fails(in_folder("huge%d.npy"), NULL, HCY_ECORRUPT, "huge1.npy|truncated",
               "frames that are not there");
    open_fails(in_folder("none_%d.tif"), NULL, HCY_ENOENT, "none_%d.tif|with any number",
               "no file of the series");
    open_fails(in_folder("%d/none.tif"), NULL, HCY_EINVAL, "file's name", "numbered folders");
    open_fails(in_folder("none_%d_%d.tif"), NULL, HCY_EINVAL, "one %d", "two numbers");
    put_file(in_folder("text1.txt"), "hello", 5);
    open_fails(in_folder("text%d.txt"), NULL, HCY_EFORMAT, "text1.txt|neither", "a series of text");
    make_cbf(in_folder("far_1.cbf"), 0);
    make_cbf(in_folder("far_1000000.cbf"), 0);
    open_fails(in_folder("far_%d.cbf"), NULL, HCY_EINVAL, "1000000", "numbers that are no series");
}

int main(void)
{
    make_folder();
    test_edf();
    test_bad_edf();
#ifdef HAVE_ZLIB
    test_compressed();
#else
    skip(1, "built without zlib");
#endif
    test_cbf();
#ifdef HAVE_TIFF
    test_tiff();
#else
    make_tiff(in_folder("a.tif"), &types[0], 1, 0, 0);
    open_fails(in_folder("a.tif"), NULL, HCY_EUNSUPPORTED, "a.tif|no libtiff", "TIFF without libtiff");
#endif
    test_series();
    return done_testing();
}
