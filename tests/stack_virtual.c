/* stack_virtual.c - HDF5 files that are not what they seem: virtual datasets whose sources are missing or lead in a
 * circle, sizes that nothing stands behind, groups without end. */
#include "stack_read.h"
#ifdef HAVE_HDF5
#include <halcyon/host_array.h>
#include <hdf5.h>

enum { FRAMES = 4, HEIGHT = 12, WIDTH = 10 };
static const hcy_stack_info shape = {
    .height = HEIGHT, .width = WIDTH, .pixel_type = HCY_PIXEL_U32, .elem_size = 4, .frame_bytes = HEIGHT * WIDTH * 4
};

static hid_t new_file(const char *name)
{
    hid_t file = H5Fcreate(in_folder(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (file < 0)
        bail_out("%s cannot be made", name);
    return file;
}

/* Rows [from, from + rows) of frames first, first + step ..., as `data` of a file. */
static void put_rows(const char *name, hid_t type, uint64_t first, uint64_t step, uint64_t from, uint64_t rows)
{
    hsize_t dims[3] = { FRAMES, rows, WIDTH };
    uint32_t frame[HEIGHT * WIDTH], pixels[FRAMES][HEIGHT * WIDTH];
    for (uint64_t i = 0; i < FRAMES; i++) {
        make_frame(frame, &shape, first + i * step);
        memcpy(pixels[0] + i * rows * WIDTH, frame + from * WIDTH, rows * WIDTH * sizeof *frame);
    }
    hid_t file = new_file(name), space = H5Screate_simple(3, dims, NULL);
    hid_t data = H5Dcreate2(file, "data", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(data, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, pixels);
    H5Dclose(data);
    H5Sclose(space);
    H5Fclose(file);
}

/* A piece of a virtual dataset: all of `data` of a file (frames of `rows`, FRAMES of them if it does not say), to
 * frames first, first + step ... */
struct piece {
    const char *file, *data;
    hsize_t first, step, row, rows, frames;
};

static void put_pieces(hid_t file, const char *name, hsize_t frames, const struct piece *pieces, size_t n)
{
    hsize_t dims[3] = { frames, HEIGHT, WIDTH };
    hid_t space = H5Screate_simple(3, dims, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_layout(plist, H5D_VIRTUAL);
    for (size_t i = 0; i < n; i++) {
        const struct piece *p = &pieces[i];
        hsize_t from[3] = { p->frames ? p->frames : FRAMES, p->rows, WIDTH }, start[3] = { p->first, p->row, 0 },
                stride[3] = { p->step, 1, 1 };
        hid_t source = H5Screate_simple(3, from, NULL);
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, from, NULL);
        H5Pset_virtual(plist, space, p->file, p->data, source);
        H5Sclose(source);
    }
    hid_t data = H5Dcreate2(file, name, H5T_STD_U32LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    if (data < 0)
        bail_out("a virtual dataset cannot be made");
    H5Dclose(data);
    H5Pclose(plist);
    H5Sclose(space);
}

static void put_virtual(const char *name, hsize_t frames, const struct piece *pieces, size_t n)
{
    hid_t file = new_file(name);
    put_pieces(file, "data", frames, pieces, n);
    H5Fclose(file);
}

/* One character a frame: '+' reads right, '-' fails and names the parts. */
static void frames_are(const char *path, const char *want, const char *parts, const char *what)
{
    hcy_stack *stack = NULL;
    if (!is_int(hcy_stack_open(&stack, path, NULL), 0, "%s: opens", what)) {
        diag("%s", hcy_last_error()->text);
        return;
    }
    char got[64] = "", room[HEIGHT * WIDTH * 4];
    size_t size;
    for (uint64_t i = 0; i < hcy_stack_get_info(stack)->frames && i < sizeof got - 1; i++) {
        got[i] = frame_is_right(stack, i) ? '+' : '-';
        if (want[i] == '-')
            fails(hcy_stack_read(&size, room, sizeof room, stack, i), HCY_ENOENT, parts, what);
    }
    is_str(got, want, "%s: its frames", what);
    hcy_stack_close(stack);
}

static void test_in_a_row(void)
{
    static const struct piece two[] = { { "a.h5", "data", 0, 1, 0, HEIGHT, 0 },
                                        { "b.h5", "data", 4, 1, 0, HEIGHT, 0 } };
    hcy_stack *stack = NULL;
    hcy_stack_options growing = HCY_STACK_OPTIONS_INIT;
    growing.growing = 1;
    put_virtual("row.h5", 9, two, 2);
    open_fails(in_folder("row.h5"), NULL, HCY_ENOENT, "row.h5::/data|each frame lacks a source|a.h5|b.h5",
               "virtual, nothing is there");
    fails(hcy_stack_open_with(&stack, in_folder("row.h5"), &growing), HCY_ENOENT, "yet", "not yet, of one that grows");
    put_rows("b.h5", H5T_STD_U32LE, 4, 1, 0, HEIGHT);
    frames_are(in_folder("row.h5"), "----++++-", "frame", "virtual, half of it is there");
    ok(!hcy_stack_open(&stack, in_folder("row.h5"), NULL) && hcy_stack_get_info(stack)->direct,
       "virtual, half of it: without HDF5");
    size_t size;
    fails(hcy_stack_frame_size(&size, stack, 1), HCY_ENOENT, "frame 1|row.h5|its source a.h5 is not there",
          "a frame whose source is missing");
    hcy_stack_close(stack);
    put_rows("a.h5", H5T_STD_U32LE, 0, 1, 0, HEIGHT);
    frames_are(in_folder("row.h5"), "++++++++-", "frame 8|never written", "virtual, all of it is there");
    put_rows("a.h5", H5T_STD_U16BE, 0, 1, 0, HEIGHT);
    frames_are(in_folder("row.h5"), "++++++++-", "frame 8|never written", "virtual, one is converted");
    unlink(in_folder("b.h5"));
    frames_are(in_folder("row.h5"), "++++-----", "frame ", "virtual, one is converted, one is missing");
    put_virtual("row.h5", 9, two, 0);
    open_fails(in_folder("row.h5"), NULL, HCY_ENOENT, "row.h5::/data|it has none", "virtual, of nothing");
}

static void test_tiles(void)
{
    static const struct piece tiles[] = { { "top.h5", "data", 0, 1, 0, 5, 0 }, { "low.h5", "data", 0, 1, 5, 7, 0 } };
    static const struct piece odd[] = { { "a.h5", "data", 0, 2, 0, HEIGHT, 0 },
                                        { "b.h5", "data", 1, 2, 0, HEIGHT, 0 } };
    put_virtual("tiles.h5", FRAMES, tiles, 2);
    open_fails(in_folder("tiles.h5"), NULL, HCY_ENOENT, "tiles.h5::/data|each frame lacks a source|top.h5|low.h5",
               "tiles, none is there");
    put_rows("low.h5", H5T_STD_U32LE, 0, 1, 5, 7);
    open_fails(in_folder("tiles.h5"), NULL, HCY_ENOENT, "tiles.h5::/data|each frame lacks a source|: top.h5",
               "tiles, every frame lacks one");
    put_rows("top.h5", H5T_STD_U32LE, 0, 1, 0, 5);
    frames_are(in_folder("tiles.h5"), "++++", "", "tiles, all are there");
    put_virtual("odd.h5", 8, odd, 2);
    put_rows("b.h5", H5T_STD_U32LE, 1, 2, 0, HEIGHT);
    unlink(in_folder("a.h5"));
    frames_are(in_folder("odd.h5"), "-+-+-+-+", "odd.h5|its source a.h5", "every other frame is missing");
    put_rows("a.h5", H5T_STD_U32LE, 0, 2, 0, HEIGHT);
    frames_are(in_folder("odd.h5"), "++++++++", "", "every other frame is elsewhere");
    static const struct piece three[] = { { "c.h5", "data", 0, 3, 0, HEIGHT, 0 },
                                          { "b.h5", "data", 1, 3, 0, HEIGHT, 0 },
                                          { "d.h5", "data", 2, 3, 0, HEIGHT, 0 } };
    hcy_stack *stack = NULL;
    size_t size;
    put_virtual("three.h5", 12, three, 3);
    ok(!hcy_stack_open(&stack, in_folder("three.h5"), NULL), "two of every three frames are missing");
    fails(hcy_stack_frame_size(&size, stack, 3), HCY_ENOENT, "its source c.h5", "the first of three");
    fails(hcy_stack_frame_size(&size, stack, 5), HCY_ENOENT, "its source d.h5", "the last of three");
    hcy_stack_close(stack);
    static const struct piece outer[] = { { "odd.h5", "data", 0, 1, 0, HEIGHT, 8 } };
    put_virtual("outer.h5", 8, outer, 1);
    frames_are(in_folder("outer.h5"), "++++++++", "", "virtual, of what is virtual");
    unlink(in_folder("b.h5"));
    frames_are(in_folder("outer.h5"), "+-+-+-+-", "its source b.h5", "virtual, of what is virtual and lacks a source");
    static const struct piece named[] = { { "a.h5", "other", 0, 2, 0, HEIGHT, 0 },
                                          { "a.h5", "data", 1, 2, 0, HEIGHT, 0 } };
    put_virtual("named.h5", 8, named, 2);
    put_rows("a.h5", H5T_STD_U32LE, 1, 2, 0, HEIGHT);
    frames_are(in_folder("named.h5"), "-+-+-+-+", "a.h5 has no dataset other", "a dataset that is not in its file");
}

/* A % in the name of a source stands twice in a mapping, or in one without end before the b of a block's number. */
static void test_per_cent(void)
{
    static const struct piece pieces[] = { { "50%%b.h5", "da%%ta", 0, 1, 0, HEIGHT, 0 },
                                           { "50%%b.h5", "data", 0, 1, 0, HEIGHT, 0 } };
    hcy_stack_file *files = NULL;
    hcy_stack *stack = NULL;
    size_t n = 0;
    put_rows("50%b.h5", H5T_STD_U32LE, 0, 1, 0, HEIGHT);
    hid_t file = H5Fopen(in_folder("50%b.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
    H5Lcreate_hard(file, "data", file, "da%ta", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(file);
    for (size_t i = 0; i < 2; i++) {
        put_virtual("percent.h5", FRAMES, &pieces[i], 1);
        frames_are(in_folder("percent.h5"), "++++", "", "virtual, a source with % in its name");
    }
    put_rows("50%b.h5", H5T_STD_U16BE, 0, 1, 0, HEIGHT);
    frames_are(in_folder("percent.h5"), "++++", "", "virtual, one that HDF5 converts");
    ok(!hcy_stack_open(&stack, in_folder("percent.h5"), NULL) && !hcy_stack_files(&files, &n, stack) && n == 2,
       "... is one of the files that are read");
    hcy_list_free(files);
    hcy_stack_close(stack);
}

/* A mapping without end, of a file for every two frames. */
static void test_numbered(void)
{
    hsize_t dims[3] = { 2, HEIGHT, WIDTH }, most[3] = { H5S_UNLIMITED, HEIGHT, WIDTH }, start[3] = { 0 },
            stride[3] = { FRAMES, 1, 1 }, count[3] = { H5S_UNLIMITED, 1, 1 }, block[3] = { FRAMES, HEIGHT, WIDTH };
    hid_t file = new_file("blocks.h5"), plist = H5Pcreate(H5P_DATASET_CREATE);
    hid_t space = H5Screate_simple(3, dims, most), from = H5Screate_simple(3, block, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, block);
    H5Pset_virtual(plist, space, "block%b.h5", "data", from);
    H5Dclose(H5Dcreate2(file, "data", H5T_STD_U32LE, space, H5P_DEFAULT, plist, H5P_DEFAULT));
    H5Sclose(from);
    H5Sclose(space);
    H5Pclose(plist);
    H5Fclose(file);
    put_rows("block0.h5", H5T_STD_U32LE, 0, 1, 0, HEIGHT);
    put_rows("block1.h5", H5T_STD_U32LE, 4, 1, 0, HEIGHT);
    frames_are(in_folder("blocks.h5"), "++++++++", "", "a file for each block of frames");
}

static void test_circles(void)
{
    static const struct piece self[] = { { ".", "data", 0, 1, 0, HEIGHT, 0 } },
                              to_b[] = { { "b.h5", "data", 0, 1, 0, HEIGHT, 0 } },
                              to_a[] = { { "a.h5", "data", 0, 1, 0, HEIGHT, 0 } },
                              to_link[] = { { "links.h5", "far", 0, 1, 0, HEIGHT, 0 } };
    put_virtual("self.h5", FRAMES, self, 1);
    open_fails(in_folder("self.h5"), NULL, HCY_ECORRUPT, "self.h5::/data|back to itself", "virtual, made of itself");
    put_virtual("a.h5", FRAMES, to_b, 1);
    put_virtual("b.h5", FRAMES, to_a, 1);
    open_fails(in_folder("a.h5"), NULL, HCY_ECORRUPT, "a.h5::/data|back to itself", "two that are made of each other");
    hid_t file = new_file("links.h5");
    H5Lcreate_external("a.h5", "data", file, "near", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/near", file, "far", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(file);
    put_virtual("a.h5", FRAMES, to_link, 1);
    open_fails(in_folder("a.h5"), NULL, HCY_ECORRUPT, "a.h5::/data|back to itself", "made of itself, through links");
    double *values = NULL;
    size_t n;
    char name[600];
    snprintf(name, sizeof name, "%s::/data", in_folder("self.h5"));
    hcy_host_array array = HCY_HOST_ARRAY_INIT;
    ok(hcy_numbers_read(&values, &n, name, 0) != 0, "numbers that are made of themselves");
    hcy_image *image = NULL;
    fails(hcy_image_read(&image, name), HCY_ECORRUPT, "back to itself", "an image that is made of itself");
    snprintf(name, sizeof name, "%s:data", in_folder("self.h5"));
    fails(hcy_host_array_read(&array, name), HCY_ECORRUPT, "back to itself", "an array that is made of itself");
}

/* Numbers, one by one, of a file that is not there. */
static void test_numbers(void)
{
    hsize_t n = 3;
    double *values = NULL;
    size_t got;
    char name[600];
    hid_t file = new_file("monitor.h5"), space = H5Screate_simple(1, &n, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_virtual(plist, space, "counts.h5", "data", space);
    H5Dclose(H5Dcreate2(file, "data", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, plist, H5P_DEFAULT));
    H5Pclose(plist);
    H5Sclose(space);
    H5Fclose(file);
    snprintf(name, sizeof name, "%s::/data", in_folder("monitor.h5"));
    fails(hcy_numbers_read(&values, &got, name, 0), HCY_ENOENT, "monitor.h5::/data|counts.h5", "numbers that are not there");
}

/* --- Sizes --- */

static void test_sizes(void)
{
    hsize_t dims[3] = { 3, 21, 22 }, large[3] = { 1, 1 << 15, 1 << 14 }, tile[3] = { 1, 16, 16 };
    unsigned char bytes[16384];
    hid_t file = new_file("grown.h5"), space = H5Screate_simple(3, dims, dims), plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plist, 3, tile);
    H5Dclose(H5Dcreate2(file, "data", H5T_STD_U8LE, space, H5P_DEFAULT, plist, H5P_DEFAULT));
    H5Sclose(space);
    H5Fclose(file);
    FILE *f = fopen(in_folder("grown.h5"), "rb");
    size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0, at = 0;
    if (f)
        fclose(f);
    while (at + 48 < n && memcmp(bytes + at, dims, sizeof dims))
        at++;
    bytes[at + 10] = 0x80; /* 8388629 rows of at most 21 */
    put_file(in_folder("grown.h5"), bytes, n);
    open_fails(in_folder("grown.h5"), NULL, HCY_ECORRUPT, "grown.h5::/data",
               "more rows than there may ever be");
    file = new_file("large.h5");
    space = H5Screate_simple(3, large, NULL);
    hid_t data = H5Dcreate2(file, "data", H5T_STD_U8LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    H5Dwrite_chunk(data, H5P_DEFAULT, 0, (hsize_t[]){ 0, 16, 16 }, 256, bytes);
    H5Dclose(data);
    H5Sclose(space);
    H5Pclose(plist);
    H5Fclose(file);
    open_fails(in_folder("large.h5"), NULL, HCY_ECORRUPT, "large.h5::/data|536870912|stores 256 bytes",
               "a large frame of which hardly anything is stored");
}

/* --- Groups --- */

/* `depth` groups in one another, a dataset in the last, and a link from there to the first. */
static void put_deep(const char *name, size_t depth)
{
    hsize_t dims[2] = { HEIGHT, WIDTH };
    uint32_t pixels[HEIGHT * WIDTH];
    hid_t file = new_file(name), at = H5Gopen2(file, "/", H5P_DEFAULT), space = H5Screate_simple(2, dims, NULL);
    for (size_t i = 0; i < depth; i++) {
        hid_t next = H5Gcreate_anon(file, H5P_DEFAULT, H5P_DEFAULT); /* no name that grows */
        H5Olink(next, at, "g", H5P_DEFAULT, H5P_DEFAULT);
        H5Gclose(at);
        at = next;
    }
    hid_t data = H5Dcreate2(at, "data", H5T_STD_U32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    make_frame(pixels, &shape, 0);
    H5Dwrite(data, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, pixels);
    H5Lcreate_hard(file, "/", at, "again", H5P_DEFAULT, H5P_DEFAULT);
    H5Dclose(data);
    H5Sclose(space);
    H5Gclose(at);
    H5Fclose(file);
}

static void test_deep(void)
{
    hcy_stack *stack = NULL;
    put_deep("deep.h5", 2000);
    is_int(hcy_stack_open(&stack, in_folder("deep.h5"), NULL), 0, "2000 groups in one another");
    ok(stack && all_frames_are_right(stack), "what is in the last of them");
    hcy_stack_close(stack);
    put_deep("deep.h5", 4200);
    open_fails(in_folder("deep.h5"), NULL, HCY_ERANGE, "deep.h5|4096 groups|name the dataset", "4200 of them");
    hcy_detector_info *detector = NULL;
    ok(hcy_detector_read(&detector, in_folder("deep.h5")) != 0, "no detector among them");
}

/* A program may shut HDF5 down and use it again. */
static void test_again(void)
{
    put_rows("a.h5", H5T_STD_U32LE, 0, 1, 0, HEIGHT);
    frames_are(in_folder("a.h5"), "++++", "", "before H5close");
    H5close();
    frames_are(in_folder("a.h5"), "++++", "", "after H5close");
}

int main(void)
{
    make_folder();
    test_in_a_row();
    test_tiles();
    test_per_cent();
    test_numbered();
    test_circles();
    test_numbers();
    test_sizes();
    test_deep();
    test_again();
    return done_testing();
}
#else
int main(void)
{
    skip_all("built without HDF5");
}
#endif
