/* stack_files.c - TIFF, EDF, CBF, FIT2D's masks and series of files: made here byte by byte, in every type, order and
 * layout; damaged ones have a name. */
#include "stack_images.h"
#include "stack_read.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

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

/* As fabio reads them: keys that the general block has for all headers, zeros within a header, blanks between frames;
 * pixels in another file would be taken from the next header. */
static void test_edf_headers(void)
{
    static const char size[] = "Dim_1 = 19 ;\nDim_2 = 11 ;\n", general[] = "{\nEDF_DataFormatVersion = 2.70 ;\n",
                      big[] = "ByteOrder = HighByteFirst ;\nDataType = UnsignedShort ;\n";
    struct bytes b = { NULL, 0 };
    char blanks[300];
    memset(blanks, '\n', sizeof blanks);
    for (int kind = 0; kind < 4; kind++) {
        if (kind < 2) {
            add_text(&b, general);
            add_text(&b, big);
            add_text(&b, kind ? size : "Size = 7 ;\n");
            add_text(&b, "}\n");
        }
        for (uint64_t frame = 0; frame < 3; frame++) {
            unsigned char *pixels = pixels_of(&types[1], frame, 1);
            add_text(&b, "{\nEDF_BinarySize = 418 ;\n");
            if (kind == 2)
                add(&b, "\0\0\0", 3);
            add_text(&b, kind < 2 ? "" : big);
            add_text(&b, kind == 1 ? "" : size);
            add_text(&b, "}\n");
            add(&b, pixels, PIXELS * 2);
            if (kind == 3)
                add(&b, blanks, sizeof blanks);
            free(pixels);
        }
        put_bytes(in_folder("h.edf"), &b);
        static const char *const what[] = { "a general block's type", "and its size", "zeros", "blank lines" };
        reads(in_folder("h.edf"), HCY_PIXEL_U16, 3, what[kind]);
    }
    add_text(&b, "{\nEDF_BinarySize = 0 ;\nEDF_BinaryFileName = x.bin ;\n");
    add_text(&b, big);
    add_text(&b, size);
    add_text(&b, "}\n");
    add(&b, blanks, sizeof blanks);
    add(&b, blanks, sizeof blanks);
    put_bytes(in_folder("h.edf"), &b);
    open_fails(in_folder("h.edf"), NULL, HCY_EUNSUPPORTED, "h.edf|x.bin", "pixels in another file");
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
    /* In one piece, and in two that follow one another, as of bgzip, cut where a frame ends and where none does. */
    const unsigned size = (unsigned)b.n, cuts[] = { 0, size / 2, size / 3 };
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        remove(in_folder("d.edf.gz"));
        for (unsigned from = 0, to = cuts[i] ? cuts[i] : size; from < size; from = to, to = size) {
            gzFile gz = gzopen(in_folder("d.edf.gz"), "ab");
            if (!gz || gzwrite(gz, b.at + from, to - from) != (int)(to - from) || gzclose(gz) != Z_OK)
                bail_out("d.edf.gz cannot be written");
        }
        reads(in_folder("d.edf.gz"), HCY_PIXEL_U32, 2, "EDF in gzip");
    }
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
        { "{\nDim_1 = 5 ;\nDim_2 = 5 ;\nDim_3 = 5 ;\nDataType = Float ;\n}\n", HCY_EFORMAT, "Dim_3 = 5" },
        { "{\nDim_1 = 5 ;\nDim_2 = 5 ;\nDataType = QuadrupleValue ;\n}\n", HCY_EFORMAT, "QuadrupleValue" },
        { "{\nDim_1 = 5 ;\nDim_2 = 5 ;\nDataType = Float ;\nCompression = Bzip ;\n}\n", HCY_EUNSUPPORTED,
          "Bzip" },
        { "{\nDim_1 = 5 ;\nDim_2 = 5 ;\nDataType = Float ;\nCompression = Gzip ;\n}\n", HCY_EFORMAT, "Size" },
        { "{\na = 1 ;\n}\n", HCY_EFORMAT, "image" },
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
    fails(hcy_stack_read(&size, pixels, sizeof pixels, stack, 1), HCY_ECORRUPT, "cut.edf|truncated: 7 of",
          "that frame");
    hcy_stack_close(stack);
    open_fails(in_folder("cut.edf"), "/data", HCY_EINVAL, "cut.edf|/data", "a dataset of a file without");
}

/* --- CBF --- */

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
    plain = pixels_of(&types[3], 0, 0);
    add_cbf(&b, "x-CBF_NONE", "unsigned 64-bit integer", PIXELS * 8, WIDTH);
    add(&b, plain, PIXELS * 8);
    put_bytes(in_folder("b.cbf"), &b);
    reads(in_folder("b.cbf"), HCY_PIXEL_U64, 1, "CBF of 64 bits");
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
           !hcy_stack_read(&size, got, sizeof got, stack, 0) && !memcmp(got, odd, sizeof odd),
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
    fails(hcy_stack_read(&size, got, sizeof got, stack, 0), HCY_ECORRUPT, "bad.cbf|end before", "they");
    hcy_stack_close(stack);
    free(coded.at);
}

/* --- TIFF --- */

#ifdef HAVE_TIFF
/* Sets where the page behind the second one is, of a file with three; -1: in its middle, where the file then ends. */
static void damage_chain(const char *path, long long to)
{
    unsigned char at[4];
    uint16_t n;
    uint32_t page = 4;
    int fd = open(path, O_RDWR), bad = fd < 0;
    for (int i = 0; i < 3 && !bad; i++) {
        bad = pread(fd, at, 4, page) != 4;
        memcpy(&page, at, 4); /* the file is little-endian, as all machines that the tests run on */
        if (i == 2 && to < 0)
            bad |= ftruncate(fd, page + 20) != 0;
        bad |= pread(fd, &n, 2, page) != 2;
        page += 2 + 12u * n;
        if (i == 1 && to >= 0) {
            memcpy(at, &(uint32_t){ (uint32_t)to }, 4);
            bad |= pwrite(fd, at, 4, page) != 4;
            break;
        }
    }
    if (bad || close(fd))
        bail_out("%s cannot be damaged", path);
}

/* libtiff ends at a damaged page as at the last one; the frames behind it would be missing without a word. */
static void test_tiff_chain(void)
{
    const struct {
        long long to;
        const char *what;
    } cases[] = { { 0x7ffffff0, "a page behind the end" }, { 4, "a page that is none" }, { -1, "half a page" } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        make_tiff(in_folder("chain.tif"), &types[1], 3, 0, 0);
        damage_chain(in_folder("chain.tif"), cases[i].to);
        open_fails(in_folder("chain.tif"), NULL, HCY_ECORRUPT, "chain.tif|page 2", cases[i].what);
    }
    make_tiff(in_folder("chain.tif"), &types[1], 3, 0, 0);
    damage_chain(in_folder("chain.tif"), 0);
    reads(in_folder("chain.tif"), types[1].type, 2, "a chain that ends after two pages");
}

/* ImageJ's stacks beyond 4 GB have one page, with a description in which all images are counted. */
static void test_tiff_of_imagej(void)
{
    static const char words[] = "ImageJ=1.54f\nimages=7\nslices=7\n", one[] = "ImageJ=1.54f\nimages=1\nslices=1\n";
    for (int several = 1; several >= 0; several--) {
        struct bytes b = { NULL, 0 };
        size_t link = 4;
        add(&b, "II*\0\0\0\0", 8);
        add_page(&b, &link, &types[1], 0, 0, 0);
        /* In the place of the page's photometric interpretation, which nobody asks for. */
        unsigned char *entry = b.at + link - 10 * 12 + 4 * 12;
        put_number(entry, 270 | 2u << 16, 0);
        put_number(entry + 4, sizeof words, 0);
        put_number(entry + 8, (uint32_t)b.n, 0);
        add(&b, several ? words : one, sizeof words);
        put_bytes(in_folder("j.tif"), &b);
        if (several)
            open_fails(in_folder("j.tif"), NULL, HCY_EUNSUPPORTED, "j.tif|7 images", "images without pages");
        else
            reads(in_folder("j.tif"), types[1].type, 1, "one image of ImageJ's");
    }
}

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
    fails(hcy_stack_read(&size, room, hcy_stack_get_info(stack)->max_chunk, stack, 0), HCY_ECORRUPT,
          "odd.tif", "and fails to be read");
    free(room);
    hcy_stack_close(stack);
}
#endif

/* --- NumPy's archives --- */

/* One whose longer directory is said to be where no file reaches. */
static void test_npz(void)
{
    unsigned char archive[4 + 20 + 22] = "PK\3\4";
    memcpy(archive + 4, "PK\6\7", 4);
    memset(archive + 12, 0xff, 8);
    memcpy(archive + 24, "PK\5\6", 4);
    put_file(in_folder("far.npz"), archive, sizeof archive);
    open_fails(in_folder("far.npz"), NULL, HCY_ECORRUPT, "far.npz|no directory", "an archive without its directory");
}

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
    fails(hcy_stack_read(&size, pixels, sizeof pixels, stack, 3), HCY_ENOENT, "s_101.cbf",
          "a file that is missing");
    fails(hcy_stack_read(&size, pixels, sizeof pixels, stack, 4), HCY_ECORRUPT, "s_102.cbf", "a damaged one");
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
    fails(hcy_stack_read(&size, pixels, sizeof pixels, stack, 3), HCY_EFORMAT, "e3.edf|uint16|uint32",
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
    open_fails(in_folder("none/a_%d.tif"), NULL, HCY_ENOENT, "none/a_%d.tif|no such folder", "a series in no folder");
    if (symlink("loop", in_folder("loop")))
        bail_out("a link cannot be made");
    open_fails(in_folder("loop/a_%d.tif"), NULL, HCY_EIO, "loop/a_%d.tif|folder cannot be read|ymbolic links",
               "a folder that cannot be read");
    unlink(in_folder("loop"));
    open_fails(in_folder("%d/none.tif"), NULL, HCY_EINVAL, "file's name", "numbered folders");
    open_fails(in_folder("none_%d_%d.tif"), NULL, HCY_EINVAL, "one %d", "two numbers");
    open_fails(in_folder("none_% 5d.tif"), NULL, HCY_EINVAL, "one %d", "a blank before the digits");
    open_fails(in_folder("none_%4294967301d.tif"), NULL, HCY_EINVAL, "one %d", "a width without bounds");
    put_file(in_folder("text1.txt"), "hello", 5);
    /* What is none of the other formats may be HDF5 for all that a build without it knows. */
    int alone = hcy_stack_open(&stack, in_folder("text1.txt"), NULL);
    open_fails(in_folder("text%d.txt"), NULL, alone == HCY_EUNSUPPORTED ? alone : HCY_EFORMAT, "text1.txt|neither",
               "a series of text");
    make_cbf(in_folder("far_1.cbf"), 0);
    make_cbf(in_folder("far_1000000.cbf"), 0);
    open_fails(in_folder("far_%d.cbf"), NULL, HCY_EINVAL, "1000000", "numbers that are no series");
}

/* --- FIT2D's masks --- */

static void test_fit2d_mask(void)
{
    hcy_image *image = NULL;
    make_fit2d_mask(in_folder("a.msk"), WIDTH, HEIGHT * 4);
    int st = hcy_image_read(&image, in_folder("a.msk"));
    int same = !st && image->height == HEIGHT && image->width == WIDTH && image->pixel_type == HCY_PIXEL_U8;
    for (size_t i = 0; same && i < PIXELS; i++)
        same = ((uint8_t *)image->pixels)[i] == ((0x41 + 7 * (i / WIDTH * 4 + i % WIDTH / 8)) >> i % WIDTH % 8 & 1);
    ok(same, "a FIT2D mask: a bit a pixel, rows of whole words");
    hcy_image_free(image);
    make_fit2d_mask(in_folder("bad.msk"), WIDTH, HEIGHT * 4 - 1);
    open_fails(in_folder("bad.msk"), NULL, HCY_ECORRUPT, "bad.msk|truncated", "a FIT2D mask that ends early");
    make_fit2d_mask(in_folder("bad.msk"), 0, HEIGHT * 4);
    open_fails(in_folder("bad.msk"), NULL, HCY_EFORMAT, "11 x 0", "a FIT2D mask without columns");
    make_fit2d_mask(in_folder("bad.msk"), UINT32_MAX, HEIGHT * 4);
    open_fails(in_folder("bad.msk"), NULL, HCY_ECORRUPT, "bad.msk|4294967295", "a FIT2D mask of impossible size");
}

int main(void)
{
    make_folder();
    test_edf();
    test_edf_headers();
    test_bad_edf();
#ifdef HAVE_ZLIB
    test_compressed();
#else
    skip(1, "built without zlib");
#endif
    test_cbf();
    test_fit2d_mask();
#ifdef HAVE_TIFF
    test_tiff();
    test_tiff_chain();
    test_tiff_of_imagej();
#else
    make_tiff(in_folder("a.tif"), &types[0], 1, 0, 0);
    open_fails(in_folder("a.tif"), NULL, HCY_EUNSUPPORTED, "a.tif|no libtiff", "TIFF without libtiff");
#endif
    test_npz();
    test_series();
    return done_testing();
}
