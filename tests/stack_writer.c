/* stack_writer.c - stacks in every form they are written in, read back: codecs, blocks, layouts, NumPy, and the
 * attributes of the stack they were made from. */
#include "stack_read.h"
#ifdef HAVE_HDF5
#include <hdf5.h>
#endif

enum { FRAMES = 3, HEIGHT = 41, WIDTH = 67 };

static hcy_queue *queue;

static int write_stack(const char *name, const hcy_stack_writer_options *opts)
{
    hcy_stack_writer *writer = NULL;
    uint32_t elem_size = opts->pixel_type == HCY_PIXEL_U8 ? 1 : opts->pixel_type == HCY_PIXEL_U16 ? 2 : 8;
    hcy_stack_info info = {
        .height = HEIGHT, .width = WIDTH, .pixel_type = opts->pixel_type, .elem_size = elem_size
    };
    char *pixels = malloc((size_t)HEIGHT * WIDTH * elem_size);
    int st = hcy_stack_create(&writer, in_folder(name), opts);
    for (uint64_t i = FRAMES; !st && i-- > 0;) { /* in any order */
        make_frame(pixels, &info, i);
        st = hcy_stack_write(writer, i, pixels);
    }
    free(pixels);
    int closed = hcy_stack_writer_close(writer);
    return st ? st : closed;
}

static int reads_back(const char *name, const hcy_stack_writer_options *opts, uint32_t codec)
{
    hcy_stack *stack = NULL;
    if (hcy_stack_open(&stack, in_folder(name), NULL))
        return 0;
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    hcy_bslz4_job job = job_of(info);
    char *chunk = malloc(info->max_chunk), *got = malloc(info->frame_bytes),
         *want = malloc(info->frame_bytes);
    int right = info->frames == FRAMES && info->pixel_type == opts->pixel_type && info->codec == codec;
    for (uint64_t i = 0; right && i < FRAMES; i++) {
        hcy_span span = { chunk, 0 };
        make_frame(want, info, i);
        right = !hcy_stack_read(&span.size, chunk, info->max_chunk, stack, i);
        if (right && codec == HCY_CODEC_NONE)
            memcpy(got, chunk, info->frame_bytes);
        else if (right)
            right = !hcy_bslz4_decode(got, NULL, queue, &job, &span, 1);
        right = right && !memcmp(got, want, info->frame_bytes);
        uint32_t block = (uint8_t)chunk[10] << 8 | (uint8_t)chunk[11];
        if (right && codec != HCY_CODEC_NONE)
            right = block == (opts->block_bytes ? opts->block_bytes : 8192);
    }
    free(want);
    free(got);
    free(chunk);
    hcy_stack_close(stack);
    return right;
}

static void test_forms(void)
{
    static const struct {
        const char *name, *what;
        uint32_t codec, block_bytes;
        int contiguous;
    } forms[] = {
        { "a.npy", "NumPy", HCY_CODEC_NONE, 0, 0 },
#ifdef HAVE_HDF5
        { "a.h5", "plain, in chunks", HCY_CODEC_NONE, 0, 0 },
        { "b.h5", "plain, contiguous", HCY_CODEC_NONE, 0, 1 },
        { "c.h5", "bitshuffle and LZ4", HCY_CODEC_BSLZ4, 0, 0 },
        { "d.h5", "bitshuffle and LZ4 in small blocks", HCY_CODEC_BSLZ4, 512, 0 },
        { "e.h5", "LZ4", HCY_CODEC_LZ4, 0, 0 },
        { "f.h5", "LZ4 in small blocks", HCY_CODEC_LZ4, 1024, 0 },
#endif
    };
    static const uint32_t types[] = { HCY_PIXEL_U8, HCY_PIXEL_U16, HCY_PIXEL_F64 };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        for (size_t t = 0; t < 3; t++) {
            hcy_stack_writer_options opts = HCY_STACK_WRITER_OPTIONS_INIT;
            opts.frames = FRAMES;
            opts.height = HEIGHT;
            opts.width = WIDTH;
            opts.pixel_type = types[t];
            opts.codec = forms[i].codec;
            opts.block_bytes = forms[i].block_bytes;
            opts.contiguous = forms[i].contiguous;
            ok(!write_stack(forms[i].name, &opts) && reads_back(forms[i].name, &opts, forms[i].codec),
               "%s, pixel type %u", forms[i].what, types[t]);
        }
}

static void test_refused(void)
{
    hcy_stack_writer_options opts = HCY_STACK_WRITER_OPTIONS_INIT;
    opts.frames = FRAMES;
    opts.height = HEIGHT;
    opts.width = WIDTH;
    opts.pixel_type = HCY_PIXEL_U16;
    opts.codec = HCY_CODEC_BSLZ4;
    fails(write_stack("x.npy", &opts), HCY_EINVAL, "x.npy|.h5", "packed images in NumPy");
    opts.contiguous = 1;
    fails(write_stack("x.h5", &opts), HCY_EINVAL, "next to one another", "packed images without chunks");
    opts.contiguous = 0;
    opts.block_bytes = 100;
    fails(write_stack("x.h5", &opts), HCY_EINVAL, "100", "blocks that cut eights of elements");
    opts.block_bytes = 0;
    opts.codec = HCY_CODEC_NONE;
    fails(write_stack("no/x.npy", &opts), HCY_EIO, "no/x.npy|No such", "a folder that is not there");
}

#ifdef HAVE_HDF5
static void put_attribute(hid_t dataset, const char *name, hid_t type, const void *value)
{
    hid_t space = H5Screate(H5S_SCALAR), a = H5Acreate2(dataset, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(a, type, value);
    H5Aclose(a);
    H5Sclose(space);
}

/* The source's dataset is /run/frames, with a number, a text and a text of any length. */
static void test_source(void)
{
    static const uint16_t pixels[FRAMES * HEIGHT * WIDTH];
    hsize_t dims[3] = { FRAMES, HEIGHT, WIDTH };
    const char *word = "counts", *got = NULL;
    double seconds = 0.25, read = 0;
    hid_t file = H5Fcreate(in_folder("source.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t group = H5Gcreate2(file, "run", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(3, dims, NULL), text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, H5T_VARIABLE);
    hid_t dataset = H5Dcreate2(group, "frames", H5T_STD_U16LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(dataset, H5T_NATIVE_USHORT, H5S_ALL, H5S_ALL, H5P_DEFAULT, pixels);
    put_attribute(dataset, "count_time", H5T_NATIVE_DOUBLE, &seconds);
    put_attribute(dataset, "units", text, &word);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Gclose(group);
    H5Fclose(file);

    hcy_stack *source = NULL;
    hcy_stack_writer_options opts = HCY_STACK_WRITER_OPTIONS_INIT;
    is_int(hcy_stack_open(&source, in_folder("source.h5"), NULL), 0, "the source");
    opts.frames = FRAMES;
    opts.height = HEIGHT;
    opts.width = WIDTH;
    opts.pixel_type = HCY_PIXEL_U16;
    opts.codec = HCY_CODEC_BSLZ4;
    opts.source = source;
    fails(write_stack("source.h5", &opts), HCY_EINVAL, "source.h5", "a source is not written over");
    is_int(write_stack("copy.h5", &opts), 0, "a stack made from it");
    hcy_stack_close(source);
    file = H5Fopen(in_folder("copy.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
    dataset = H5Dopen2(file, "/run/frames", H5P_DEFAULT);
    ok(dataset >= 0, "has the dataset of the same path");
    hid_t a = H5Aopen(dataset, "count_time", H5P_DEFAULT), b = H5Aopen(dataset, "units", H5P_DEFAULT);
    H5Aread(a, H5T_NATIVE_DOUBLE, &read);
    is_near(read, seconds, 0, 0, "its number");
    H5Aread(b, text, &got);
    is_str(got ? got : "", word, "its text");
    H5free_memory((void *)got);
    H5Aclose(a);
    H5Aclose(b);
    H5Dclose(dataset);
    H5Tclose(text);
    H5Fclose(file);
}
#endif

int main(void)
{
    hcy_device *device = NULL;
    if (hcy_device_open(&device, "cpu@threads=1") || hcy_queue_create(&queue, device))
        bail_out("no CPU: %s", hcy_last_error()->text);
    make_folder();
    test_forms();
    test_refused();
#ifdef HAVE_HDF5
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    test_source();
#endif
    hcy_queue_release(queue);
    hcy_device_release(device);
    return done_testing();
}
