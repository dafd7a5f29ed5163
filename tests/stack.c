/* stack.c - reading stacks: NumPy files, files that are none, single images; bad input has a name. */
#include "stack_read.h"
#include <sys/stat.h>

/* --- NumPy --- */

static void test_npy_types(void)
{
    static const struct {
        const char *descr;
        uint32_t type, size;
    } types[] = {
        { "|u1", HCY_PIXEL_U8, 1 },  { "<u2", HCY_PIXEL_U16, 2 }, { "<u4", HCY_PIXEL_U32, 4 },
        { "<u8", HCY_PIXEL_U64, 8 }, { "|i1", HCY_PIXEL_I8, 1 },  { "<i2", HCY_PIXEL_I16, 2 },
        { "<i4", HCY_PIXEL_I32, 4 }, { "<i8", HCY_PIXEL_I64, 8 }, { "<f4", HCY_PIXEL_F32, 4 },
        { "<f8", HCY_PIXEL_F64, 8 }, { "|b1", HCY_PIXEL_U8, 1 },
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        hcy_stack_info info = {
            .frames = 3, .height = 5, .width = 7, .pixel_type = types[i].type, .elem_size = types[i].size
        };
        char dictionary[128], pixels[3 * 5 * 7 * 8];
        const char *path = in_folder("types.npy");
        size_t bytes = 35 * types[i].size;
        for (uint64_t f = 0; f < 3; f++)
            make_frame(pixels + f * bytes, &info, f);
        snprintf(dictionary, sizeof dictionary,
                 "{'descr': '%s', 'fortran_order': False, 'shape': (3, 5, 7), }", types[i].descr);
        put_npy(path, 1 + (int)(i % 2), dictionary, pixels, 3 * bytes);
        hcy_stack *stack = NULL;
        if (!ok(!hcy_stack_open(&stack, path, NULL), "npy %s opens", types[i].descr))
            continue;
        const hcy_stack_info *got = hcy_stack_get_info(stack);
        ok(got->frames == 3 && got->height == 5 && got->width == 7 && got->pixel_type == types[i].type &&
               got->elem_size == types[i].size && got->codec == HCY_CODEC_NONE && got->direct &&
               got->max_chunk == bytes && got->raw_bytes == 3 * bytes && !strcmp(got->dataset, ""),
           "npy %s: what it is", types[i].descr);
        ok(all_frames_are_right(stack), "npy %s: its frames", types[i].descr);
        hcy_stack_close(stack);
    }
}

static void test_npy_bad(void)
{
    static const struct {
        const char *dictionary, *parts;
        int want;
    } bad[] = {
        { "{'descr': '<u4', 'fortran_order': True, 'shape': (2, 2), }", "bad.npy|Fortran", HCY_EFORMAT },
        { "{'descr': '>u4', 'fortran_order': False, 'shape': (2, 2), }", "big-endian|<u4", HCY_EFORMAT },
        { "{'descr': '<c8', 'fortran_order': False, 'shape': (2, 2), }", "<c8", HCY_EFORMAT },
        { "{'descr': [('a', '<u4')], 'fortran_order': False, 'shape': (2, 2), }", "type", HCY_EFORMAT },
        { "{'descr': '<u4', 'fortran_order': False, 'shape': (16,), }", "1 dimensions", HCY_EFORMAT },
        { "{'descr': '<u4', 'fortran_order': False, 'shape'", "no shape", HCY_EFORMAT },
        { "{'descr': '<u4', 'fortran_order': False, 'shape': (), }", "0 dimensions", HCY_EFORMAT },
        { "{'descr': '<u4', 'fortran_order': False, 'shape': (1, 1, 1, 4), }", "4 dimensions", HCY_EFORMAT },
        { "{'descr': '<u4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 2, 2)}", "more than 8 axes",
          HCY_EFORMAT },
        { "{'descr': '<u4', 'fortran_order': False, 'shape': (0, 2, 2), }", "no pixels|0 frames",
          HCY_EFORMAT },
        { "{'descr': '<u4', 'fortran_order': False, 'shape': (2, 99999999999), }", "size", HCY_ERANGE },
        { "{'descr': '<u8', 'fortran_order': False, 'shape': (9999999999, 999999999, 999999999)}",
          "more than can be addressed", HCY_ERANGE },
        { "{'descr': '<u4', 'fortran_order': False, 'shape': (99999999999999999999999, 2)}", "shape",
          HCY_EFORMAT },
        { "{'descr': '<u4', 'fortran_order': False}", "no shape", HCY_EFORMAT },
        { "{}", "type", HCY_EFORMAT },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        put_npy(in_folder("bad.npy"), 1, bad[i].dictionary, "0123456789abcdef", 16);
        open_fails(in_folder("bad.npy"), NULL, bad[i].want, bad[i].parts, bad[i].dictionary);
    }
    put_file(in_folder("short.npy"), "\x93NUMPY\x01", 7);
    open_fails(in_folder("short.npy"), NULL, HCY_ECORRUPT, "short.npy|header", "npy ending in its header");
    put_file(in_folder("long.npy"), "\x93NUMPY\x01\x00\xff\x7f{}", 12);
    open_fails(in_folder("long.npy"), NULL, HCY_ECORRUPT, "header", "npy with a header longer than the file");
    put_file(in_folder("new.npy"), "\x93NUMPY\x09\x00\x10\x00{}              ", 26);
    open_fails(in_folder("new.npy"), NULL, HCY_EFORMAT, "format 9", "npy of a version to come");
    put_npy(in_folder("good.npy"), 1, "{'descr': '<u4', 'fortran_order': False, 'shape': (2, 2), }",
            "0123456789abcdef", 16);
    open_fails(in_folder("good.npy"), "/entry", HCY_EINVAL, "good.npy|/entry", "a dataset of a NumPy file");
}

/* Every byte of the header changed in turn: any status, no crash. */
static void test_npy_damaged(void)
{
    static const char good[] =
        "\x93NUMPY\x01\x00\x3e\x00{'descr': '<u4', 'fortran_order': False, 'shape': (2, 2), } "
        "\n0123456789abcdef";
    int opened = 0, refused = 0;
    for (size_t i = 0; i < 72; i++) {
        for (int flip = 1; flip < 256; flip <<= 1) {
            char bytes[sizeof good];
            memcpy(bytes, good, sizeof good);
            bytes[i] = (char)(bytes[i] ^ flip);
            put_file(in_folder("damaged.npy"), bytes, sizeof good - 1);
            hcy_stack *stack = NULL;
            if (hcy_stack_open(&stack, in_folder("damaged.npy"), NULL))
                refused++;
            else
                opened++;
            hcy_stack_close(stack);
        }
    }
    ok(opened && refused, "damaged NumPy headers: %d refused, %d read as something", refused, opened);
}

static void test_truncated_npy(void)
{
    char pixels[64] = "";
    put_npy(in_folder("cut.npy"), 1, "{'descr': '<u4', 'fortran_order': False, 'shape': (4, 2, 2), }", pixels,
            40);
    hcy_stack *stack = NULL;
    size_t size;
    ok(!hcy_stack_open(&stack, in_folder("cut.npy"), NULL), "a truncated NumPy file opens");
    is_int(hcy_stack_read(&size, pixels, 16, stack, 1), 0, "a frame that is there is read");
    fails(hcy_stack_read(&size, pixels, 16, stack, 2), HCY_ECORRUPT,
          "frame 2|cut.npy|8 of the frame's 16 bytes|offset", "a frame that is cut");
    fails(hcy_stack_read(&size, pixels, 16, stack, 4), HCY_ERANGE, "frame 4|frames 0 to 3",
          "a frame past the end");
    fails(hcy_stack_read(&size, pixels, 15, stack, 0), HCY_ERANGE, "frame 0|16 bytes|15", "too little room");
    hcy_stack_close(stack);
}

static void test_bad_files(void)
{
    open_fails(in_folder("none.h5"), NULL, HCY_ENOENT, "none.h5|no such file", "no file");
    open_fails(folder, NULL, HCY_EIO, "directory", "a directory");
    put_file(in_folder("junk.h5"), "this is not the file you are looking for", 40);
#ifdef HAVE_HDF5
    open_fails(in_folder("junk.h5"), NULL, HCY_EFORMAT, "junk.h5|neither HDF5, TIFF, EDF, CBF nor NumPy", "junk");
#else
    open_fails(in_folder("junk.h5"), NULL, HCY_EUNSUPPORTED, "junk.h5|no HDF5", "HDF5 without HDF5");
#endif
    put_file(in_folder("empty.h5"), "", 0);
    open_fails(in_folder("empty.h5"), NULL, hcy_last_error()->status, "empty.h5", "an empty file");
    put_file(in_folder("secret.npy"), "x", 1);
    chmod(in_folder("secret.npy"), 0);
    if (geteuid() == 0)
        skip(2, "root may read everything");
    else
        open_fails(in_folder("secret.npy"), NULL, HCY_EIO, "secret.npy|ermission", "an unreadable file");
    hcy_stack *stack = NULL;
    is_int(hcy_stack_open(&stack, NULL, NULL), HCY_EINVAL, "no path");
    hcy_stack_close(NULL);
}

/* --- Images --- */

static void test_images(void)
{
    hcy_image *image = NULL;
    uint8_t mask[6];
    static const float values[6] = { 0, 1, -0.0f, 0.5f, -2, 0 };
    put_npy(in_folder("mask.npy"), 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", values,
            24);
    ok(!hcy_image_read(&image, in_folder("mask.npy")), "an image of floats");
    ok(image->height == 2 && image->width == 3 && image->bytes == 24 && image->elem_size == 4 &&
           image->pixel_type == HCY_PIXEL_F32 && !memcmp(image->pixels, values, 24),
       "what it is");
    hcy_image_to_mask(mask, image);
    ok(!memcmp(mask, "\0\1\0\1\1\0", 6), "its mask: all but zero, -0 too");
    hcy_image_free(image);
    put_npy(in_folder("bools.npy"), 1, "{'descr': '|b1', 'fortran_order': False, 'shape': (1, 2, 3), }",
            "\0\1\0\1\1\0", 6);
    ok(!hcy_image_read(&image, in_folder("bools.npy")), "an image of booleans, as a stack of one");
    hcy_image_to_mask(mask, image);
    ok(!memcmp(mask, "\0\1\0\1\1\0", 6), "its mask");
    hcy_image_free(image);
    put_npy(in_folder("two.npy"), 1, "{'descr': '|b1', 'fortran_order': False, 'shape': (2, 1, 3), }",
            "\0\1\0\1\1\0", 6);
    fails(hcy_image_read(&image, in_folder("two.npy")), HCY_EFORMAT, "two.npy|2 frames", "two images");
    ok(!image, "and none given");
    fails(hcy_image_read(&image, in_folder("no.npy")), HCY_ENOENT, "no.npy", "no image");
    hcy_image_free(NULL);
}

int main(void)
{
    make_folder();
    test_npy_types();
    test_npy_bad();
    test_npy_damaged();
    test_truncated_npy();
    test_bad_files();
    test_images();
    return done_testing();
}
