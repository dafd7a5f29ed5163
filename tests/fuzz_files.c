/* fuzz_files.c - fuzz targets: NumPy, EDF, CBF, TIFF and HDF5 files of any bytes are stacks whose frames are read, or
 * arrays, BART's and ISMRMRD's too, or refused. */
#include "fuzz.h"
#include "stack_images.h"
#include "files.h"
#include <halcyon/host_array.h>
#ifdef HAVE_HDF5
#include "mrd_make.h"
#endif
#include <sys/stat.h>

#define MOST ((uint64_t)1 << 24) /* bytes of a frame that is read */

/* One file, written again for each input. */
static const char *file_of(const uint8_t *data, size_t size)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/input", fuzz_folder());
    put_file(path, data, size);
    return path;
}

/* A path in the program's folder; `folder` is this file's own. */
static const char *made(const char *name)
{
    snprintf(folder, sizeof folder, "%s", fuzz_folder());
    return in_folder(name);
}

static void give_file(const char *path)
{
    struct stat is;
    FILE *f = fopen(path, "rb");
    char *bytes = !f || fstat(fileno(f), &is) ? NULL : malloc((size_t)is.st_size);
    if (!bytes || fread(bytes, 1, (size_t)is.st_size, f) != (size_t)is.st_size)
        bail_out("%s cannot be read", path);
    fclose(f);
    fuzz_give(bytes, (size_t)is.st_size);
    free(bytes);
}

static int run_stack(const uint8_t *data, size_t size)
{
    hcy_stack *stack = NULL;
    if (hcy_stack_open(&stack, file_of(data, size), NULL))
        return 0;
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    void *pixels = info->max_chunk <= MOST ? malloc(info->max_chunk) : NULL;
    size_t n;
    int taken = pixels != NULL;
    for (uint64_t i = 0; pixels && i < info->frames && i < 8; i++)
        if (hcy_stack_read(&n, pixels, info->max_chunk, stack, i))
            taken = 0;
        else if (n > info->max_chunk)
            abort();
    free(pixels);
    hcy_stack_close(stack);
    return taken;
}

/* A format's own functions, also where the file does not begin as its kind does. */
static int run_format(const hcy__format *format, const uint8_t *data, size_t size)
{
    hcy__frames frames = { 0 };
    const char *path = file_of(data, size);
    int taken = 0;
    if (!format->scan(&frames, path) && frames.pixel && frames.height < 1 << 20 && frames.width < 1 << 20) {
        hcy_stack_info info = { .height = (uint32_t)frames.height,
                                .width = (uint32_t)frames.width,
                                .pixel_type = frames.pixel->type,
                                .elem_size = frames.pixel->size };
        info.frame_bytes = frames.height * frames.width * info.elem_size;
        void *pixels = info.frame_bytes <= MOST ? malloc(info.frame_bytes) : NULL;
        for (size_t i = 0; pixels && i < frames.n && i < 8; i++)
            taken += !format->read(pixels, path, frames.offsets[i], &info);
        free(pixels);
    }
    free(frames.offsets);
    return taken > 0;
}

/* As an array: the last number is as much there as the first; no more numbers than the file has bytes. */
static int read_array(const char *path, size_t size)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    size_t n;
    if (hcy_host_array_read(&a, path))
        return 0;
    volatile unsigned char *bytes = a.data, byte = 0;
    if (hcy_host_array_count(&n, &a) || n > size)
        abort();
    for (size_t i = 0; i < n * a.bytes * (a.is_complex ? 2 : 1); i++)
        byte ^= bytes[i];
    (void)byte;
    hcy_host_array_free(&a);
    return 1;
}

static int run_npy(const uint8_t *data, size_t size)
{
    return run_stack(data, size) | run_format(&hcy__format_npy, data, size) | read_array(file_of(data, size), size);
}

static void seed_npy(void)
{
    static const char pixels[2 * 3 * 5 * 4];
    put_npy(made("a.npy"), 1, "{'descr': '<u4', 'fortran_order': False, 'shape': (2, 3, 5), }", pixels,
            sizeof pixels);
    give_file(made("a.npy"));
    put_npy(made("a.npy"), 2, "{'shape':(3,5),'fortran_order':False,'descr':'<f8'}", pixels, sizeof pixels);
    give_file(made("a.npy"));
    put_npy(made("a.npy"), 1, "{'descr': '<c8', 'fortran_order': True, 'shape': (5, 3), }", pixels, sizeof pixels);
    give_file(made("a.npy"));
    put_npy(made("a.npy"), 1, "{'descr': '<i2', 'fortran_order': True, 'shape': (5, 2, 3), }", pixels, sizeof pixels);
    give_file(made("a.npy"));
}

/* Two files in one: the header, a zero, the numbers. */
static int run_cfl(const uint8_t *data, size_t size)
{
    const uint8_t *zero = memchr(data, 0, size);
    size_t head = zero ? (size_t)(zero - data) : size, rest = zero ? size - head - 1 : 0;
    put_file(made("a.hdr"), data, head);
    put_file(made("a.cfl"), data + (size - rest), rest);
    return read_array(made("a.cfl"), size);
}

static void seed_cfl(void)
{
    static const char one[] = "# Dimensions\n3 2 1 1 1 1 1 1 1 1 1 1 1 1 1 1 \n# Command\ntraj -r x\n";
    static const char other[] = "# Command\n\n# Dimensions\n1 6 \n";
    char bytes[sizeof one + 6 * 8] = "";
    memcpy(bytes, one, sizeof one);
    fuzz_give(bytes, sizeof one + 6 * 8);
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, other, sizeof other);
    fuzz_give(bytes, sizeof other + 6 * 8);
}

/* Raw frames of a JUNGFRAU, converted with maps of any bits: an invalid word is an invalid pixel, whatever they are. */
static int convert_raw(hcy_stack *stack, const uint8_t *data, size_t size, double energy)
{
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    size_t n = (size_t)info->height * info->width, got;
    float *maps = calloc(6 * n, sizeof *maps);
    int32_t *pixels = malloc(n * sizeof *pixels);
    uint16_t *words = malloc(n * sizeof *words);
    int taken = 0;
    for (size_t i = 0; maps && i < 6 * n * sizeof *maps; i++)
        ((uint8_t *)maps)[i] = data[i * 7 % size];
    hcy_stack_raw_options opts = HCY_STACK_RAW_OPTIONS_INIT;
    opts.pedestal = maps;
    opts.gain = maps ? maps + 3 * n : NULL;
    opts.photon_energy = energy;
    if (maps && pixels && words && !hcy_stack_read(&got, words, n * sizeof *words, stack, 0) &&
        !hcy_stack_convert(stack, &opts)) {
        taken = !hcy_stack_read(&got, pixels, n * sizeof *pixels, stack, 0) && got == n * sizeof *pixels;
        for (size_t i = 0; taken && i < n; i++) {
            float x;
            memcpy(&x, &pixels[i], sizeof x);
            if ((words[i] >> 14 == 2 || words[i] == 0xffff) && (energy > 0 ? pixels[i] != INT32_MIN : !isnan(x)))
                abort();
        }
    }
    free(words);
    free(pixels);
    free(maps);
    return taken;
}

static int run_raw(const uint8_t *data, size_t size)
{
    float *maps = NULL;
    int taken = 0;
    for (int photons = 0; photons < 2; photons++) {
        hcy_stack *stack = NULL;
        if (!hcy_stack_open(&stack, file_of(data, size), NULL)) {
            const hcy_stack_info *info = hcy_stack_get_info(stack);
            if (info->pixel_type == HCY_PIXEL_U16 && info->frame_bytes <= MOST / 16 && info->frames && size)
                taken |= convert_raw(stack, data, size, photons ? 12.4 : 0);
        }
        hcy_stack_close(stack);
    }
    /* The same file as maps. */
    if (!hcy_images_read(&maps, 3, 4, 50, file_of(data, size)))
        hcy_list_free(maps);
    return taken;
}

static void seed_raw(void)
{
    uint16_t words[3 * 4 * 50];
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        words[i] = (uint16_t)(i * 40503u);
    /* A frame of more than a run of pixels, all in the first gain, too. */
    memset(words, 0x11, sizeof words / 3);
    put_npy(made("a.npy"), 1, "{'descr': '<u2', 'fortran_order': False, 'shape': (3, 4, 50), }", words, sizeof words);
    give_file(made("a.npy"));
}

static int run_edf(const uint8_t *data, size_t size)
{
    return run_format(&hcy__format_edf, data, size);
}

#ifdef HAVE_ZLIB
static void seed_packed_edf(void)
{
    static const unsigned char packed[] = { /* 1, 2, 3, 4 in gzip */
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xff, 0x63, 0x64,
        0x62, 0x66, 0x01, 0x00, 0xcd, 0xfb, 0x3c, 0xb6, 0x04, 0x00, 0x00, 0x00
    };
    struct bytes b = { NULL, 0 };
    add_text(&b, "{\nEDF_BinarySize = 24 ;\nCompression = GzipCompression ;\nDataType = Unsigned8 ;\nDim_1 = 2 ;\n"
                 "Dim_2 = 2 ;\n}\n");
    add(&b, packed, sizeof packed);
    fuzz_give(b.at, b.n);
    free(b.at);
}
#endif

static void seed_edf(void)
{
    struct bytes b = { NULL, 0 };
    add_edf(&b, &types[1], 0, 0);
    add_text(&b, "\n");
    add_edf(&b, &types[1], 1, 0);
    fuzz_give(b.at, b.n);
    free(b.at);
#ifdef HAVE_ZLIB
    seed_packed_edf();
#endif
}

static int run_cbf(const uint8_t *data, size_t size)
{
    return run_format(&hcy__format_cbf, data, size);
}

static int run_fit2d_mask(const uint8_t *data, size_t size)
{
    return run_format(&hcy__format_mask, data, size);
}

static void seed_fit2d_mask(void)
{
    make_fit2d_mask(made("a.msk"), WIDTH, HEIGHT * 4);
    give_file(made("a.msk"));
}

static void seed_cbf(void)
{
    make_cbf(made("a.cbf"), 3);
    give_file(made("a.cbf"));
}

#ifdef HAVE_TIFF
static int run_tiff(const uint8_t *data, size_t size)
{
    return run_format(&hcy__format_tiff, data, size);
}

static void seed_tiff(void)
{
    for (uint32_t tile = 0; tile <= 16; tile += 16) {
        make_tiff(made("a.tif"), &types[1], 2, tile != 0, tile);
        give_file(made("a.tif"));
    }
}
#endif

#ifdef HAVE_HDF5
/* A stack, and perhaps a file that says something of its detector. */
static int run_h5(const uint8_t *data, size_t size)
{
    hcy_detector_info *info = NULL;
    int taken = run_stack(data, size);
    if (!hcy_detector_read(&info, file_of(data, size)))
        hcy_detector_info_free(info);
    return taken;
}

static void seed_h5(void)
{
    static const uint32_t codecs[] = { HCY_CODEC_BSLZ4, HCY_CODEC_LZ4, HCY_CODEC_NONE };
    for (size_t i = 0; i < 3; i++) {
        uint16_t pixels[24 * 31];
        hcy_stack_writer_options opts = HCY_STACK_WRITER_OPTIONS_INIT;
        hcy_stack_writer *writer = NULL;
        hcy_stack_info info = { .height = 24, .width = 31, .pixel_type = HCY_PIXEL_U16, .elem_size = 2 };
        opts.frames = 3;
        opts.height = info.height;
        opts.width = info.width;
        opts.pixel_type = info.pixel_type;
        opts.codec = codecs[i];
        if (hcy_stack_create(&writer, made("a.h5"), &opts))
            bail_out("no file: %s", hcy_last_error()->text);
        for (uint64_t frame = 0; frame < opts.frames; frame++) {
            make_frame(pixels, &info, frame);
            if (hcy_stack_write(writer, frame, pixels))
                bail_out("no frame: %s", hcy_last_error()->text);
        }
        if (hcy_stack_writer_close(writer))
            bail_out("no file: %s", hcy_last_error()->text);
        give_file(made("a.h5"));
    }
}

/* What acquisitions say of themselves, eight bytes each, in a file that is whole: what is wrong with HDF5's own
 * structures is HDF5's to see, or to crash on (its heap of vectors does), which is what files are isolated for. */
static int run_mrd(const uint8_t *data, size_t size)
{
    struct mrd_record records[8];
    char name[400], xml[600];
    const char *path = made("a.mrd");
    size_t n = size / 8 < 8 ? size / 8 : 8;
    memset(records, 0, sizeof records);
    for (size_t i = 0; i < n; i++) {
        const uint8_t *byte = data + 8 * i;
        struct mrd_head *h = &records[i].head;
        h->flags = (uint64_t)byte[0] << 16;
        h->samples = byte[1];
        h->channels = byte[2];
        h->pre = byte[3];
        h->post = byte[4];
        h->axes = byte[5];
        h->space = byte[5] >> 7;
        h->idx[0] = byte[6] & 7;
        h->idx[1] = byte[7] & 1;
        mrd_fill(&records[i], (unsigned)i);
        records[i].data.len -= records[i].data.len < byte[6] ? records[i].data.len : byte[6];
        records[i].traj.len -= records[i].traj.len < byte[7] ? records[i].traj.len : byte[7];
    }
    if (!n)
        return 0;
    mrd_write(path, records, n);
    /* The header is any text, which stands behind eight acquisitions, and one that may be it. */
    snprintf(xml, sizeof xml, "%.*s<encoding><encodedSpace><matrixSize><x>%u</x><y>%u</y><z>2</z></matrixSize>"
                              "</encodedSpace><trajectory>%s</trajectory></encoding>",
             size > 364 ? 300 : size > 64 ? (int)size - 64 : 0, (const char *)data + (size > 64 ? 64 : 0), data[1],
             data[2], data[3] & 1 ? "cartesian" : "epi");
    mrd_put_xml(path, xml);
    static const char *const parts[] = { "traj", "noise",      "counters", "space",
                                         "dwell", "axes", "navigators", "places" };
    int taken = read_array(path, MOST);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        snprintf(name, sizeof name, "%s:/dataset/data/%s", path, parts[i]);
        taken |= read_array(name, MOST);
    }
    return taken;
}

static void seed_mrd(void)
{
    static const uint8_t plain[3][8] = { { 0, 5, 2, 1, 1, 2, 0, 0 },
                                         { 0, 5, 2, 1, 1, 2, 0, 0 },
                                         { 4, 9, 1, 0, 0, 0, 0, 0 } };
    static const uint8_t grid[2][8] = { { 0, 5, 2, 1, 1, 0, 0, 0 }, { 0, 5, 2, 1, 1, 0, 0, 0 } };
    static const char header[] = "<x><a:y>3</a:y><experimentalConditions/></x>";
    char whole[64 + sizeof header];
    for (size_t i = 0; i < 64; i++)
        whole[i] = (char)((const uint8_t *)grid)[i % sizeof grid];
    memcpy(whole + 64, header, sizeof header);
    fuzz_give(plain, sizeof plain);
    fuzz_give(plain, 8);
    fuzz_give(grid, sizeof grid);
    fuzz_give(whole, sizeof whole);
}
#endif

const struct fuzz_target fuzz_files[] = {
    { "npy", run_npy, seed_npy },   { "cfl", run_cfl, seed_cfl },
    { "edf", run_edf, seed_edf }, { "cbf", run_cbf, seed_cbf },
    { "msk", run_fit2d_mask, seed_fit2d_mask },
#ifdef HAVE_TIFF
    { "tiff", run_tiff, seed_tiff },
#endif
#ifdef HAVE_HDF5
    { "h5", run_h5, seed_h5 },
    { "mrd", run_mrd, seed_mrd },
#endif
    { "raw", run_raw, seed_raw },
    { NULL, NULL, NULL },
};
