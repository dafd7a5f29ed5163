/* stack_h5.c - stacks in HDF5: every layout gives the same frames, from any number of threads; bad input has
 * a name. */
#include "stack_read.h"
#ifdef HAVE_HDF5
#define H5Dread_chunk_vers 1 /* that of HDF5 2 has an argument more */
#include <hdf5.h>
#include <halcyon/queue.h>
#include <pthread.h>
#include <sys/stat.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

/* --- HDF5 files, made with HDF5 itself --- */

struct layout {
    const char *name;
    int rank;
    hsize_t chunk[3]; /* of rank 3; zeros: contiguous */
    unsigned deflate;
    hsize_t user_block;
    int big_endian;
    uint32_t direct; /* expected */
    int early;       /* of the latest format, a chunk a frame: 1 and room for all from the start, */
    hsize_t most;    /* or up to so many frames */
};
enum { FRAMES = 7, HEIGHT = 12, WIDTH = 10 };

static void put_dataset(hid_t file, const char *name, const struct layout *l, uint64_t frames)
{
    hsize_t dims[3] = { frames, HEIGHT, WIDTH }, most[3] = { l->most ? l->most : frames, HEIGHT, WIDTH };
    int skipped = 3 - l->rank;
    hcy_stack_info info = { .height = HEIGHT, .width = WIDTH, .pixel_type = HCY_PIXEL_U32, .elem_size = 4 };
    uint32_t *pixels = malloc(frames * HEIGHT * WIDTH * sizeof *pixels);
    for (uint64_t i = 0; i < frames; i++)
        make_frame(pixels + i * HEIGHT * WIDTH, &info, i);
    if (l->most == H5S_UNLIMITED && l->early)
        most[1] = H5S_UNLIMITED;
    hid_t space = H5Screate_simple(l->rank, dims + skipped, most + skipped), plist = H5Pcreate(H5P_DATASET_CREATE);
    hid_t links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    if (l->chunk[1])
        H5Pset_chunk(plist, l->rank, l->chunk + skipped);
    if (l->deflate)
        H5Pset_deflate(plist, l->deflate);
    if (l->early && !l->most)
        H5Pset_alloc_time(plist, H5D_ALLOC_TIME_EARLY);
    hid_t data = H5Dcreate2(file, name, l->big_endian ? H5T_STD_U32BE : H5T_STD_U32LE, space, links, plist,
                            H5P_DEFAULT);
    if (data < 0 || H5Dwrite(data, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, pixels) < 0)
        bail_out("dataset %s cannot be made", name);
    H5Dclose(data);
    H5Pclose(links);
    H5Pclose(plist);
    H5Sclose(space);
    free(pixels);
}

static hid_t new_file_of(const char *path, hsize_t user_block, int latest)
{
    hid_t plist = H5Pcreate(H5P_FILE_CREATE), access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_userblock(plist, user_block);
    if (latest)
        H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, plist, access);
    H5Pclose(access);
    H5Pclose(plist);
    if (file < 0)
        bail_out("%s cannot be made", path);
    return file;
}

static hid_t new_file(const char *path, hsize_t user_block)
{
    return new_file_of(path, user_block, 0);
}

static void test_layouts(void)
{
    static const struct layout layouts[] = {
        { "contiguous", 3, { 0 }, 0, 0, 0, 1, 0, 0 },
        { "one image", 2, { 0 }, 0, 0, 0, 1, 0, 0 },
        { "one image in a chunk", 2, { 0, HEIGHT, WIDTH }, 0, 0, 0, 1, 0, 0 },
        { "one image, gzip, tiles", 2, { 0, 5, 4 }, 6, 0, 0, 0, 0, 0 },
        { "a chunk a frame", 3, { 1, HEIGHT, WIDTH }, 0, 0, 0, 1, 0, 0 },
        { "three frames a chunk", 3, { 3, HEIGHT, WIDTH }, 0, 0, 0, 0, 0, 0 },
        { "tiles", 3, { 1, 5, 10 }, 0, 0, 0, 0, 0, 0 },
        { "gzip", 3, { 1, HEIGHT, WIDTH }, 6, 0, 0, 0, 0, 0 },
        { "gzip, four frames a chunk", 3, { 4, HEIGHT, 5 }, 1, 0, 0, 0, 0, 0 },
        { "contiguous behind a user block", 3, { 0 }, 0, 512, 0, 1, 0, 0 },
        { "a chunk a frame behind a user block", 3, { 1, HEIGHT, WIDTH }, 0, 2048, 0, 1, 0, 0 },
        { "big-endian", 3, { 0 }, 0, 0, 1, 0, 0, 0 },
        { "big-endian, a chunk a frame", 3, { 1, HEIGHT, WIDTH }, 0, 0, 1, 0, 0, 0 },
        { "latest format, one chunk", 2, { 0, HEIGHT, WIDTH }, 0, 0, 0, 1, 0, 1 },
        { "latest format, chunks in a row", 3, { 1, HEIGHT, WIDTH }, 0, 0, 0, 1, 1, 0 },
        { "latest format, fixed array", 3, { 1, HEIGHT, WIDTH }, 0, 0, 0, 1, 0, 100 },
        { "latest format, fixed array, gzip", 3, { 2, HEIGHT, 5 }, 6, 0, 0, 0, 0, 100 },
        { "latest format, extensible array", 3, { 1, HEIGHT, WIDTH }, 0, 0, 0, 1, 0, H5S_UNLIMITED },
        { "latest format, b-tree", 3, { 1, HEIGHT, WIDTH }, 0, 0, 0, 1, 1, H5S_UNLIMITED },
    };
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        const struct layout *l = &layouts[i];
        const char *path = in_folder("layout.h5");
        hid_t file = new_file_of(path, l->user_block, l->early || l->most);
        put_dataset(file, "/entry/data/data", l, l->rank == 3 ? FRAMES : 1);
        H5Fclose(file);
        hcy_stack *stack = NULL;
        if (!is_int(hcy_stack_open(&stack, path, NULL), 0, "%s: opens", l->name)) {
            diag("%s", hcy_last_error()->text);
            continue;
        }
        const hcy_stack_info *info = hcy_stack_get_info(stack);
        ok(info->frames == (l->rank == 3 ? FRAMES : 1) && info->height == HEIGHT && info->width == WIDTH &&
               info->pixel_type == HCY_PIXEL_U32 && info->codec == HCY_CODEC_NONE &&
               !strcmp(info->dataset, "/entry/data/data"),
           "%s: what it is", l->name);
        is_int(info->direct, l->direct, "%s: without HDF5?", l->name);
        ok(all_frames_are_right(stack), "%s: its frames", l->name);
        hcy_stack_close(stack);
    }
}

static void test_finding(void)
{
    static const struct layout stack3 = { "", 3, { 0 }, 0, 0, 0, 1, 0, 0 }, image = { "", 2, { 0 }, 0, 0, 0, 1, 0, 0 };
    hcy_stack *stack = NULL;
    hid_t file = new_file(in_folder("find.h5"), 0);
    put_dataset(file, "/scan/detector/small", &stack3, 2);
    put_dataset(file, "/scan/detector/large", &stack3, 5);
    put_dataset(file, "/scan/flat", &image, 1);
    H5Fclose(file);
    ok(!hcy_stack_open(&stack, in_folder("find.h5"), NULL), "the largest stack is found");
    is_str(hcy_stack_get_info(stack)->dataset, "/scan/detector/large", "it is");
    hcy_stack_close(stack);
    ok(!hcy_stack_open(&stack, in_folder("find.h5"), "/scan/flat"), "another one by name");
    is_int((intmax_t)hcy_stack_get_info(stack)->frames, 1, "an image is a stack of one");
    hcy_stack_close(stack);
    ok(!hcy_stack_open(&stack, in_folder("find.h5"), "scan/detector"), "or by its group");
    is_str(hcy_stack_get_info(stack)->dataset, "scan/detector/large", "with its name");
    hcy_stack_close(stack);
    open_fails(in_folder("find.h5"), "/scan/nothing", HCY_ENOENT,
               "find.h5|'/scan/nothing'|/scan/detector/large (5 x 12 x 10 uint32)|/scan/flat",
               "a dataset that is not there");
    file = H5Fopen(in_folder("find.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
    put_dataset(file, "/scan/twin", &stack3, 5);
    H5Fclose(file);
    open_fails(in_folder("find.h5"), NULL, HCY_EINVAL, "several|/scan/detector/large|/scan/twin",
               "two that are as large");
    file = H5Fopen(in_folder("find.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
    put_dataset(file, "/entry/data/data", &stack3, 1);
    H5Fclose(file);
    ok(!hcy_stack_open(&stack, in_folder("find.h5"), NULL), "NeXus's usual place comes first");
    is_str(hcy_stack_get_info(stack)->dataset, "/entry/data/data", "it is");
    hcy_stack_close(stack);
    H5Fclose(new_file(in_folder("void.h5"), 0));
    open_fails(in_folder("void.h5"), NULL, HCY_ENOENT, "void.h5|no image", "a file without images");
}

/* DECTRIS's master files: links to numbered datasets in other files. */
static void test_numbered(void)
{
    static const struct layout l = { "", 3, { 1, HEIGHT, WIDTH }, 0, 0, 0, 1, 0, 0 };
    hid_t master = new_file(in_folder("master.h5"), 0);
    hid_t links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    for (int i = 1; i <= 3; i++) {
        char name[64], link[64];
        snprintf(name, sizeof name, "data_%06d.h5", i);
        snprintf(link, sizeof link, "/entry/data/data_%06d", i);
        hid_t file = new_file(in_folder(name), 0);
        put_dataset(file, "/entry/data/data", &l, i == 3 ? 2 : 4);
        H5Fclose(file);
        H5Lcreate_external(name, "/entry/data/data", master, link, links, H5P_DEFAULT);
    }
    H5Fclose(master);
    hcy_stack *stack = NULL;
    is_int(hcy_stack_open(&stack, in_folder("master.h5"), NULL), 0, "a master file opens");
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    is_int((intmax_t)info->frames, 10, "with the frames of all its datasets");
    is_int(info->direct, 1, "read from the files they are in");
    char got[HEIGHT * WIDTH * 4], want[sizeof got];
    size_t size;
    int right = 1;
    for (uint64_t i = 0; i < 10; i++) {
        make_frame(want, info, i % 4);
        right = right && !hcy_stack_read(&size, got, sizeof got, stack, i) && !memcmp(got, want, sizeof got);
    }
    ok(right, "frame after frame");
    hcy_stack_close(stack);
    unlink(in_folder("data_000003.h5"));
    open_fails(in_folder("master.h5"), NULL, HCY_ENOENT, "master.h5|data_000003|leads nowhere|.h5 is not there",
               "a link that leads nowhere");
    master = H5Fopen(in_folder("master.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
    H5Ldelete(master, "/entry/data/data_000002", H5P_DEFAULT);
    H5Fclose(master);
    open_fails(in_folder("master.h5"), NULL, HCY_EFORMAT, "master.h5|data_000002 is missing|data_000003",
               "a number that is missing");
    master = H5Fopen(in_folder("master.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
    H5Ldelete(master, "/entry/data/data_000001", H5P_DEFAULT);
    put_dataset(master, "/entry/data/data_202601", &l, 5);
    H5Fclose(master);
    open_fails(in_folder("master.h5"), NULL, HCY_EFORMAT, "master.h5|data_000001 is missing|data_000003",
               "numbers that begin late");
    master = H5Fopen(in_folder("master.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
    H5Ldelete(master, "/entry/data/data_000003", H5P_DEFAULT);
    H5Fclose(master);
    is_int(hcy_stack_open(&stack, in_folder("master.h5"), NULL), 0, "a date is no number of theirs");
    hcy_stack_close(stack);
    H5Pclose(links);
}

static void put_odd(hid_t file, const char *name, int rank, hid_t type)
{
    hsize_t dims[5] = { 2, 2, 2, 2, 2 };
    hid_t space = H5Screate_simple(rank, dims, NULL);
    hid_t data = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dclose(data);
    H5Sclose(space);
}

static void test_not_images(void)
{
    hid_t file = new_file(in_folder("odd.h5"), 0), text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, 4);
    put_odd(file, "line", 1, H5T_NATIVE_INT);
    put_odd(file, "hyper", 5, H5T_NATIVE_INT);
    put_odd(file, "text", 2, text);
    put_odd(file, "empty", 3, H5T_NATIVE_INT);
    H5Tclose(text);
    H5Fclose(file);
    open_fails(in_folder("odd.h5"), "line", HCY_EFORMAT, "odd.h5::line|1 dimensions", "rank 1");
    open_fails(in_folder("odd.h5"), "hyper", HCY_EFORMAT, "hyper|5 dimensions", "rank 5");
    open_fails(in_folder("odd.h5"), "text", HCY_EFORMAT, "text|a string", "text");
    hcy_stack *stack = NULL;
    char pixels[64];
    size_t size;
    ok(!hcy_stack_open(&stack, in_folder("odd.h5"), "empty"), "a dataset that nobody wrote to opens");
    fails(hcy_stack_read(&size, pixels, sizeof pixels, stack, 1), HCY_ENOENT, "frame 1|never written",
          "its frames");
    hcy_stack_close(stack);
}

/* --- Energy thresholds --- */

/* Frame f of channel c has the pixels of frame 10 c + f. */
static void put_channels(hid_t file, const char *name, const hsize_t *chunk, unsigned deflate)
{
    hsize_t dims[4] = { FRAMES, 3, HEIGHT, WIDTH };
    hcy_stack_info info = { .height = HEIGHT, .width = WIDTH, .pixel_type = HCY_PIXEL_U32, .elem_size = 4 };
    uint32_t *pixels = malloc(FRAMES * 3 * HEIGHT * WIDTH * sizeof *pixels);
    for (uint64_t i = 0; i < FRAMES * 3; i++)
        make_frame(pixels + i * HEIGHT * WIDTH, &info, 10 * (i % 3) + i / 3);
    hid_t space = H5Screate_simple(4, dims, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
    if (chunk)
        H5Pset_chunk(plist, 4, chunk);
    if (deflate)
        H5Pset_deflate(plist, deflate);
    hid_t data = H5Dcreate2(file, name, H5T_STD_U32LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    H5Dwrite(data, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, pixels);
    H5Dclose(data);
    H5Pclose(plist);
    H5Sclose(space);
    free(pixels);
}

static int open_channel(hcy_stack **stack, const char *path, const char *channel)
{
    hcy_stack_options opts = HCY_STACK_OPTIONS_INIT;
    opts.channel = channel;
    return hcy_stack_open_with(stack, path, &opts);
}

static void channel_is(const char *path, const char *channel, unsigned number, const char *name, uint32_t direct)
{
    hcy_stack *stack = NULL;
    uint32_t got[HEIGHT * WIDTH], want[HEIGHT * WIDTH];
    size_t size;
    int right = !open_channel(&stack, path, channel);
    if (!ok(right, "channel %s opens", channel)) {
        diag("%s", hcy_last_error()->text);
        return;
    }
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    for (uint64_t i = 0; i < FRAMES; i++) {
        make_frame(want, info, 10 * (number - 1) + i);
        right = right && !hcy_stack_read(&size, got, sizeof got, stack, i) && !memcmp(got, want, sizeof got);
    }
    ok(right && info->frames == FRAMES && info->channel == number && info->direct == direct,
       "channel %s: its frames", channel);
    is_str(info->channel_name, name, "channel %s: its name", channel);
    hcy_stack_close(stack);
}

static void put_names(hid_t file, hid_t type, const void *names)
{
    hid_t space = H5Screate_simple(1, (const hsize_t[]){ 3 }, NULL);
    hid_t list = H5Dcreate2(file, "channel", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(list, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, names);
    H5Dclose(list);
    H5Sclose(space);
}

static void test_channels(void)
{
    static const char *const listed[] = { "threshold_1", "threshold_2", "difference" };
    static const char fixed[3][12] = { "low", "high", "difference" };
    static const hsize_t one[] = { 1, 1, HEIGHT, WIDTH }, all[] = { 2, 3, 5, WIDTH };
    static const struct layout l = { "", 3, { 1, HEIGHT, WIDTH }, 0, 0, 0, 1, 0, 0 };
    const char *path = in_folder("channels.h5");
    hcy_stack *stack = NULL;
    for (int i = 0; i < 4; i++) { /* contiguous, a chunk an image, gzip, tiles over all of them */
        hid_t file = new_file(path, 0), type = H5Tcopy(H5T_C_S1);
        put_channels(file, "data", i == 0 ? NULL : i == 3 ? all : one, i == 2 ? 6 : 0);
        H5Tset_size(type, i == 2 ? sizeof fixed[0] : H5T_VARIABLE);
        if (i)
            put_names(file, type, i == 2 ? (const void *)fixed : listed);
        H5Tclose(type);
        H5Fclose(file);
        channel_is(path, "2", 2, i == 2 ? "high" : "threshold_2", i < 2);
        channel_is(path, i == 0 ? "threshold_3" : "difference", 3, i == 0 ? "threshold_3" : "difference", i < 2);
    }
    fails(open_channel(&stack, path, NULL), HCY_EINVAL, "several channels|1 threshold_1|3 difference", "none is chosen");
    fails(open_channel(&stack, path, "4"), HCY_EINVAL, "no channel '4'|2 threshold_2", "one that is not there");
    hid_t file = new_file(path, 0);
    put_dataset(file, "/entry/data/threshold_1/data_000001", &l, 2);
    put_dataset(file, "/entry/data/threshold_2/data_000001", &l, 3);
    put_dataset(file, "/entry/data/threshold_2/data_000002", &l, 3);
    H5Fclose(file);
    fails(open_channel(&stack, path, NULL), HCY_EINVAL, "threshold_2|choose one", "groups, and none is chosen");
    ok(!open_channel(&stack, path, "2"), "a channel's group");
    is_int((intmax_t)hcy_stack_get_info(stack)->frames, 6, "it is that one");
    is_str(hcy_stack_get_info(stack)->channel_name, "threshold_2", "its name");
    hcy_stack_close(stack);
    stack = NULL;
    fails(open_channel(&stack, path, "3"), HCY_EINVAL, "no channel threshold_3", "a group that is not there");
    file = new_file(path, 0);
    put_dataset(file, "/entry/data/data", &l, 2);
    H5Fclose(file);
    ok(!open_channel(&stack, path, "1"), "the one channel that there is");
    hcy_stack_close(stack);
    stack = NULL;
    fails(open_channel(&stack, path, "2"), HCY_EINVAL, "no channel '2'", "another one");
    ok(!stack, "no stack");
}

/* --- Coded frames --- */

static void write_coded(const char *path, uint32_t type, uint64_t frames)
{
    hcy_stack_writer_options opts = HCY_STACK_WRITER_OPTIONS_INIT;
    opts.frames = frames;
    opts.height = 67;
    opts.width = 71; /* an odd number of pixels: tails */
    opts.pixel_type = type;
    opts.codec = HCY_CODEC_BSLZ4;
    static const uint32_t sizes[] = { 0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8 };
    hcy_stack_info info = {
        .height = opts.height, .width = opts.width, .pixel_type = type, .elem_size = sizes[type]
    };
    void *pixels = malloc((size_t)opts.height * opts.width * 8);
    hcy_stack_writer *writer = NULL;
    int st = hcy_stack_create(&writer, path, &opts);
    for (uint64_t i = frames; !st && i-- > 0;) { /* in any order */
        make_frame(pixels, &info, i);
        st = hcy_stack_write(writer, i, pixels);
    }
    int closed = hcy_stack_writer_close(writer);
    free(pixels);
    if (st || closed)
        bail_out("%s cannot be written: %s", path, hcy_last_error()->text);
}

static void test_written(void)
{
    for (uint32_t type = HCY_PIXEL_U8; type <= HCY_PIXEL_F64; type++) {
        write_coded(in_folder("coded.h5"), type, 5);
        hcy_stack *stack = NULL;
        is_int(hcy_stack_open(&stack, in_folder("coded.h5"), NULL), 0, "type %u, written, opens", type);
        const hcy_stack_info *info = hcy_stack_get_info(stack);
        ok(info->frames == 5 && info->codec == HCY_CODEC_BSLZ4 && info->pixel_type == type && info->direct &&
               info->stored_bytes < info->raw_bytes,
           "type %u: coded, and read without HDF5", type);
        ok(all_frames_are_right(stack), "type %u: its frames", type);
        hcy_stack_close(stack);
    }
}

/* What HDF5 itself says of the chunk, and what we read. */
static void same_as_hdf5(const char *path, const char *name, uint64_t frame, const char *what)
{
    hcy_stack *stack = NULL;
    if (!ok(!hcy_stack_open(&stack, path, name), "%s opens", what))
        return;
    size_t capacity = hcy_stack_get_info(stack)->max_chunk, size = 0;
    char *ours = malloc(capacity), *theirs = malloc(capacity);
    int st = hcy_stack_read(&size, ours, capacity, stack, frame);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t data = H5Dopen2(file, name ? name : "/entry/data/data", H5P_DEFAULT);
    hsize_t offset[3] = { frame, 0, 0 }, stored = 0;
    uint32_t mask;
    H5Dget_chunk_storage_size(data, offset, &stored);
    ok(!st && stored == size && H5Dread_chunk(data, H5P_DEFAULT, offset, &mask, theirs) >= 0 &&
           !memcmp(ours, theirs, size),
       "%s: the bytes that H5Dread_chunk gives", what);
    H5Dclose(data);
    H5Fclose(file);
    hcy_stack_close(stack);
    free(theirs);
    free(ours);
}

/* A dataset whose chunks are put by hand: filter and its values, then which frames, plain or coded. */
static hid_t raw_dataset(hid_t file, uint64_t frames, unsigned filter, size_t n_values,
                         const unsigned *values)
{
    hsize_t dims[3] = { frames, HEIGHT, WIDTH }, chunk[3] = { 1, HEIGHT, WIDTH };
    hid_t space = H5Screate_simple(3, dims, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plist, 3, chunk);
    if (filter)
        H5Pset_filter(plist, (H5Z_filter_t)filter, H5Z_FLAG_OPTIONAL, n_values, values);
    hid_t data = H5Dcreate2(file, "data", H5T_STD_U32LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    H5Pclose(plist);
    H5Sclose(space);
    if (data < 0)
        bail_out("a dataset with filter %u cannot be made", filter);
    return data;
}

static void put_chunk(hid_t data, const hcy_stack_info *info, uint64_t frame, int plain)
{
    hcy_stack_info as = *info;
    if (plain)
        as.codec = HCY_CODEC_NONE;
    size_t size;
    void *bytes = expected_bytes(&size, &as, frame);
    hsize_t offset[3] = { frame, 0, 0 };
    if (H5Dwrite_chunk(data, H5P_DEFAULT, (uint32_t)plain, offset, size, bytes) < 0)
        bail_out("a chunk cannot be written");
    free(bytes);
}

static void test_codecs(void)
{
    static const struct {
        const char *name;
        unsigned filter, values[5];
        size_t n_values;
        uint32_t codec, block_bytes;
    } codecs[] = {
        { "bitshuffle with LZ4", 32008, { 0, 2, 4, 0, 2 }, 5, HCY_CODEC_BSLZ4, 0 },
        { "bitshuffle alone", 32008, { 0, 4, 4, 32, 0 }, 5, HCY_CODEC_BITSHUFFLE, 128 },
        { "bitshuffle alone, three values", 32008, { 0, 4, 4 }, 3, HCY_CODEC_BITSHUFFLE, 0 },
        { "LZ4", 32004, { 0 }, 0, HCY_CODEC_LZ4, 0 },
    };
    for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++) {
        hcy_stack_info info = { .height = HEIGHT,
                                .width = WIDTH,
                                .pixel_type = HCY_PIXEL_U32,
                                .elem_size = 4,
                                .frame_bytes = HEIGHT * WIDTH * 4,
                                .codec = codecs[i].codec,
                                .block_bytes = codecs[i].block_bytes };
        hid_t file = new_file(in_folder("codec.h5"), 0);
        hid_t data = raw_dataset(file, 4, codecs[i].filter, codecs[i].n_values, codecs[i].values);
        put_chunk(data, &info, 0, 0);
        put_chunk(data, &info, 1, 1); /* its filter mask says that it is plain */
        put_chunk(data, &info, 3, 0);
        H5Dclose(data);
        H5Fclose(file);
        hcy_stack *stack = NULL;
        is_int(hcy_stack_open(&stack, in_folder("codec.h5"), NULL), 0, "%s: opens", codecs[i].name);
        const hcy_stack_info *got = hcy_stack_get_info(stack);
        ok(got->codec == codecs[i].codec && got->block_bytes == codecs[i].block_bytes && got->direct,
           "%s: is known", codecs[i].name);
        ok(frame_is_right(stack, 0) && frame_is_right(stack, 3), "%s: its frames", codecs[i].name);
        ok(frame_is_right(stack, 1), "%s: a chunk stored without the filter", codecs[i].name);
        size_t size;
        fails(hcy_stack_frame_size(&size, stack, 2), HCY_ENOENT, "frame 2|never written",
              "a chunk that is not there");
        hcy_stack_close(stack);
    }
}

static void test_unknown_filter(void)
{
    hid_t file = new_file(in_folder("filter.h5"), 0);
    H5Dclose(raw_dataset(file, 2, 32999, 0, NULL));
    H5Fclose(file);
    open_fails(in_folder("filter.h5"), NULL, HCY_EUNSUPPORTED, "filter.h5|filter 32999|HDF5_PLUGIN_PATH",
               "a filter nobody has");
}

/* So many that anything quadratic would be noticed. */
static void test_many_chunks(void)
{
    enum { MANY = 20000 };
    static const unsigned values[5] = { 0, 2, 4, 0, 2 };
    hcy_stack_info info = { .height = HEIGHT,
                            .width = WIDTH,
                            .pixel_type = HCY_PIXEL_U32,
                            .elem_size = 4,
                            .frame_bytes = HEIGHT * WIDTH * 4,
                            .codec = HCY_CODEC_BSLZ4 };
    hid_t file = new_file(in_folder("many.h5"), 0), data = raw_dataset(file, MANY, 32008, 5, values);
    for (uint64_t i = 0; i < MANY; i++)
        if (i != 77)
            put_chunk(data, &info, i, i == 14321);
    H5Dclose(data);
    H5Fclose(file);
    hcy_stack *stack = NULL;
    is_int(hcy_stack_open(&stack, in_folder("many.h5"), NULL), 0, "%d chunks: opens", MANY);
    size_t size, right = 0;
    for (uint64_t i = 0; i < MANY; i++)
        if (i != 77)
            right += (size_t)frame_is_right(stack, i);
    is_int((intmax_t)right, MANY - 1, "all frames, one of them plain");
    fails(hcy_stack_frame_size(&size, stack, 77), HCY_ENOENT, "frame 77", "one that was never written");
    hcy_stack_close(stack);
}

static void test_truncated_h5(void)
{
    write_coded(in_folder("cut.h5"), HCY_PIXEL_U32, 6);
    hcy_stack *stack = NULL;
    struct stat whole;
    size_t size, failed = 0;
    char *room = malloc(1 << 20);
    is_int(hcy_stack_open(&stack, in_folder("cut.h5"), NULL), 0, "a stack, which is then cut");
    if (stat(in_folder("cut.h5"), &whole) || truncate(in_folder("cut.h5"), whole.st_size * 3 / 4))
        bail_out("cut.h5 cannot be cut");
    int status = 0;
    for (uint64_t i = 0; i < 6; i++) {
        int st = hcy_stack_read(&size, room, 1 << 20, stack, i);
        failed += st != 0;
        status = st ? st : status;
    }
    fails(status, HCY_ECORRUPT, "frame |cut.h5|truncated|missing|offset", "frames past the end");
    ok(failed > 0 && failed < 6, "%zu of 6 frames", failed);
    hcy_stack_close(stack);
    open_fails(in_folder("cut.h5"), NULL, HCY_ECORRUPT, "cut.h5 is truncated|eof", "a truncated file");
    free(room);
}

/* Says of every chunk in a file's B-trees (version 1, as of the earliest format) that it takes `bytes`. */
static void resize_chunks(const char *path, uint32_t bytes)
{
    enum { HEAD = 24, KEY = 8 + 4 * 8, ENTRY = KEY + 8 }; /* size, filter mask, four offsets; then the child */
    static unsigned char file[1 << 16];
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(file, 1, sizeof file, f) : 0;
    if (f)
        fclose(f);
    for (size_t at = 0; at + HEAD <= n; at++)
        for (size_t i = 0; !memcmp(file + at, "TREE\1", 6) && i < file[at + 6]; i++)
            memcpy(file + at + HEAD + i * ENTRY, &bytes, sizeof bytes);
    put_file(path, file, n);
}

/* Chunks without a filter that are said to be of another size than their pixels: no bytes of others are taken for
 * theirs, and nothing is read behind them. */
static void test_resized(void)
{
    static const struct layout l = { "", 3, { 1, HEIGHT, WIDTH }, 0, 0, 0, 1, 0, 0 };
    static const uint32_t sizes[] = { 8, 4 * HEIGHT * WIDTH + 8 };
    const char *path = in_folder("resized.h5");
    unsigned char room[4 * HEIGHT * WIDTH + 8];
    hcy_image *image = NULL;
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof sizes[0]; i++) {
        hcy_stack_options opts = HCY_STACK_OPTIONS_INIT;
        hcy_stack *stack = NULL;
        size_t size = 0;
        hid_t file = new_file(path, 0);
        put_dataset(file, "/entry/data/data", &l, 1);
        put_dataset(file, "/more", &l, 2); /* the file goes on behind the chunk */
        H5Fclose(file);
        resize_chunks(path, sizes[i / 2]);
        opts.isolation = i % 2 ? &(hcy_isolation)HCY_ISOLATION_INIT : NULL;
        if (!is_int(hcy_stack_open_with(&stack, path, &opts), 0, "chunks of %u bytes: opens", sizes[i / 2]))
            continue;
        is_int((intmax_t)hcy_stack_get_info(stack)->max_chunk, 4 * HEIGHT * WIDTH, "a frame takes what its pixels do");
        fails(hcy_stack_read(&size, room, sizeof room, stack, 0), HCY_ECORRUPT, "frame 0|resized.h5|bytes", "the frame");
        hcy_stack_close(stack);
        fails(hcy_image_read(&image, in_folder("resized.h5::/entry/data/data")), HCY_ECORRUPT, "frame 0|resized.h5|bytes", "the image");
    }
}

static void test_h5_images(void)
{
    static const struct layout l = { "", 2, { 0 }, 0, 0, 0, 1, 0, 0 };
    hid_t file = new_file(in_folder("images.h5"), 0);
    put_dataset(file, "/a/mask", &l, 1);
    H5Fclose(file);
    hcy_image *image = NULL;
    char name[600];
    snprintf(name, sizeof name, "%s::/a/mask", in_folder("images.h5"));
    is_int(hcy_image_read(&image, name), 0, "FILE.h5::/path");
    ok(image && image->height == HEIGHT && image->width == WIDTH && ((uint32_t *)image->pixels)[7] < 8,
       "its pixels");
    hcy_image_free(image);
    write_coded(in_folder("coded.h5"), HCY_PIXEL_U32, 1);
    is_int(hcy_image_read(&image, in_folder("coded.h5")), 0, "a coded image");
    hcy_stack_info info = { .height = 67, .width = 71, .pixel_type = HCY_PIXEL_U32, .elem_size = 4 };
    char *want = malloc(67 * 71 * 4);
    make_frame(want, &info, 0);
    ok(image && image->bytes == 67 * 71 * 4 && !memcmp(image->pixels, want, image->bytes), "is decoded");
    free(want);
    hcy_image_free(image);
}

/* --- Threads --- */

struct reader {
    hcy_stack *stack;
    unsigned which;
    size_t wrong;
};

static void *read_all(void *payload)
{
    struct reader *r = payload;
    uint64_t frames = hcy_stack_get_info(r->stack)->frames;
    for (uint64_t i = 0; i < frames; i++)
        r->wrong += !frame_is_right(r->stack, (i * 7 + r->which) % frames);
    return NULL;
}

static void test_threads(const char *path, const char *what)
{
    enum { THREADS = 8 };
    struct reader readers[THREADS];
    pthread_t threads[THREADS];
    hcy_stack *stack = NULL;
    size_t wrong = 0;
    is_int(hcy_stack_open(&stack, path, NULL), 0, "%s opens", what);
    for (unsigned i = 0; i < THREADS; i++) {
        readers[i] = (struct reader){ stack, i, 0 };
        if (pthread_create(&threads[i], NULL, read_all, &readers[i]))
            bail_out("no thread");
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        wrong += readers[i].wrong;
    }
    is_int((intmax_t)wrong, 0, "%s: 8 threads read all frames", what);
    hcy_stack_close(stack);
}

/* Behind a user block, which shifts addresses. */
static void make_chunk_file(const char *path)
{
    static const unsigned values[5] = { 0, 2, 4, 0, 2 };
    hcy_stack_info info = { .height = HEIGHT,
                            .width = WIDTH,
                            .pixel_type = HCY_PIXEL_U32,
                            .elem_size = 4,
                            .frame_bytes = HEIGHT * WIDTH * 4,
                            .codec = HCY_CODEC_BSLZ4 };
    hid_t file = new_file(path, 1024), data = raw_dataset(file, 40, 32008, 5, values);
    for (uint64_t i = 0; i < 40; i++)
        put_chunk(data, &info, i, 0);
    H5Dclose(data);
    H5Fclose(file);
}

static void test_all_threads(void)
{
    static const struct layout gzip = { "", 3, { 4, HEIGHT, 5 }, 1, 0, 0, 0, 0, 0 };
    write_coded(in_folder("threads.h5"), HCY_PIXEL_U16, 40);
    test_threads(in_folder("threads.h5"), "coded chunks");
    hid_t file = new_file(in_folder("threads.h5"), 0);
    put_dataset(file, "/entry/data/data", &gzip, 40);
    H5Fclose(file);
    test_threads(in_folder("threads.h5"), "gzip through HDF5");
    make_chunk_file(in_folder("threads.h5"));
    test_threads(in_folder("threads.h5"), "behind a user block");
}

/* --- Files of others --- */

static void test_real(void)
{
    const char *path = test_data("detector/eiger1_4m_real.h5");
    if (!path) {
        skip(5, "no test data (HALCYON_TEST_DATA)");
        return;
    }
    hcy_stack *stack = NULL;
    is_int(hcy_stack_open(&stack, path, NULL), 0, "the real frame opens");
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    ok(info->frames == 1 && info->height == 2167 && info->width == 2070 &&
           info->pixel_type == HCY_PIXEL_U32 && info->codec == HCY_CODEC_BSLZ4 && info->direct,
       "an EIGER 4M");
    hcy_stack_close(stack);
    same_as_hdf5(path, NULL, 0, "the real frame");
    open_fails(path, "/entry/data/nothing", HCY_ENOENT,
               "/entry/data/nothing|/entry/data/data (1 x 2167 x 2070 uint32)", "no such dataset");
}

static void test_regression(void)
{
    static const char *const files[] = { "detector/regression_0.1.3.h5", "detector/regression_0.4.0.h5" };
    for (int i = 0; i < 2; i++) {
        const char *path = test_data(files[i]);
        if (!path) {
            skip(4, "no test data (HALCYON_TEST_DATA)");
            continue;
        }
        open_fails(path, "/compressed/a4_a", HCY_EFORMAT, "a4_a|1 dimensions", "a string of bytes");
        open_fails(path, "/original", HCY_ENOENT, "no image|/original", "a group without images");
    }
}

/* A dataset inside its header, whose dimensions are then changed by hand. */
static void test_compact(void)
{
    static const hsize_t dims[3] = { 2, 3, 3 };
    unsigned char bytes[8192], pixels[18];
    hid_t file = new_file(in_folder("compact.h5"), 0), plist = H5Pcreate(H5P_DATASET_CREATE);
    hid_t space = H5Screate_simple(3, dims, NULL);
    H5Pset_layout(plist, H5D_COMPACT);
    hid_t data = H5Dcreate2(file, "data", H5T_STD_U8LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    for (size_t i = 0; i < 18; i++)
        put_pixel(pixels + i, 1, 0, i / 9, i % 9);
    H5Dwrite(data, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, pixels);
    H5Dclose(data);
    H5Sclose(space);
    H5Pclose(plist);
    H5Fclose(file);
    hcy_stack *stack = NULL;
    ok(!hcy_stack_open(&stack, in_folder("compact.h5"), NULL) && all_frames_are_right(stack),
       "a dataset inside its header");
    hcy_stack_close(stack);
    FILE *f = fopen(in_folder("compact.h5"), "rb");
    size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    if (f)
        fclose(f);
    for (size_t i = 0; i + sizeof dims <= n; i++)
        if (!memcmp(bytes + i, dims, sizeof dims))
            bytes[i] = 200;
    put_file(in_folder("compact.h5"), bytes, n);
    open_fails(in_folder("compact.h5"), NULL, HCY_ECORRUPT,
               H5_VERSION_GE(1, 14, 4) ? "compact.h5::/data|cannot be opened" : "compact.h5|more than is stored",
               "and larger than it");
}

/* Damages the header of the object that was made last; libver "latest" gives headers a signature. */
static void damage_last(const char *path)
{
    unsigned char bytes[16384];
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0, last = 0;
    if (f)
        fclose(f);
    for (size_t i = 0; i + 4 <= n; i++)
        if (!memcmp(bytes + i, "OHDR", 4))
            last = i;
    bytes[last] = 'X';
    put_file(path, bytes, n);
}

/* What HDF5 does not open is told of, unless there is a stack beside it. */
static void test_refused(void)
{
    static const struct layout stack3 = { "", 3, { 0 }, 0, 0, 0, 1, 0, 0 }, image = { "", 2, { 0 }, 0, 0, 0, 1, 0, 0 };
    static const char *const also[] = { NULL, "mask", "entry/data/data_000001", "more" },
                      *const name[] = { "frames", "frames", "entry/data/data_000002", "entry/data/data" };
    for (size_t i = 0; i < 4; i++) {
        char words[80];
        const char *path = in_folder("refused.h5");
        hid_t file = new_file_of(path, 0, 1);
        if (also[i])
            put_dataset(file, also[i], i == 1 ? &image : &stack3, 1);
        put_dataset(file, name[i], &stack3, 2);
        H5Fclose(file);
        damage_last(path);
        snprintf(words, sizeof words, "refused.h5::/%s cannot be opened", name[i]);
        open_fails(path, NULL, HCY_ECORRUPT, words, "a stack that HDF5 does not open");
        open_fails(path, name[i], HCY_ECORRUPT, "cannot be opened", "nor by its name");
    }
    hcy_stack *stack = NULL;
    is_int(hcy_stack_open(&stack, in_folder("refused.h5"), "more"), 0, "another one in its file opens");
    hcy_stack_close(stack);
    hid_t file = new_file_of(in_folder("refused.h5"), 0, 1);
    put_dataset(file, "sound", &stack3, 2);
    put_dataset(file, "frames", &stack3, 2);
    H5Fclose(file);
    damage_last(in_folder("refused.h5"));
    is_int(hcy_stack_open(&stack, in_folder("refused.h5"), NULL), 0, "a stack beside one that does not open");
    hcy_stack_close(stack);
}

/* Zeroes the signature of symbol node `which` of a file's groups: 0, or there are not so many. */
static int damage_node(const char *path, const unsigned char *bytes, size_t n, int which)
{
    static unsigned char damaged[1 << 17];
    memcpy(damaged, bytes, n);
    for (size_t i = 0; i + 4 <= n; i++)
        if (!memcmp(bytes + i, "SNOD", 4) && which-- == 0) {
            memset(damaged + i, 0, 4);
            put_file(path, damaged, n);
            return 0;
        }
    return -1;
}

/* Links of a group that HDF5 does not read are not as if there were none: whichever of a group's nodes is damaged, the
 * stack is all of the numbered datasets, or the largest, or it is refused. */
static void test_damaged_links(void)
{
    static const struct layout stack3 = { "", 3, { 0 }, 0, 0, 0, 1, 0, 0 };
    static const char *const group[] = { "entry/data/data_%06d", "frames/number%d" };
    static unsigned char bytes[1 << 17];
    const char *path = in_folder("links.h5");
    for (int i = 0; i < 2; i++) {
        char name[64];
        hid_t file = new_file(path, 0);
        for (int k = 1; k <= 20; k++) {
            snprintf(name, sizeof name, group[i], k);
            put_dataset(file, name, &stack3, (uint64_t)k);
        }
        H5Fclose(file);
        FILE *f = fopen(path, "rb");
        size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
        if (f)
            fclose(f);
        int which = 0;
        for (; !damage_node(path, bytes, n, which); which++)
            open_fails(path, NULL, HCY_ECORRUPT, "damaged", "a node of links that cannot be read");
        ok(which > 3 && n < sizeof bytes, "%d nodes of links in %zu bytes", which, n);
        hcy_detector_info *detector = NULL;
        fails(hcy_detector_read(&detector, path), HCY_ECORRUPT, "cannot all be read", "nor is there no detector");
    }
}

/* A master file's own images, by their names. */
static void test_detector_images(void)
{
    static const struct layout stack3 = { "", 3, { 0 }, 0, 0, 0, 1, 0, 0 }, one = { "", 2, { 0 }, 0, 0, 0, 1, 0, 0 };
    hcy_image *image = NULL;
    hid_t file = new_file(in_folder("detector.h5"), 0);
    put_dataset(file, "/entry/data/data", &stack3, 5);
    put_dataset(file, "/entry/instrument/detector/flatfield", &one, 1);
    put_dataset(file, "/entry/instrument/detector/detectorSpecific/pixel_mask", &one, 1);
    H5Fclose(file);
    static const char *const names[] = { "pixel_mask", "flatfield" };
    for (int i = 0; i < 2; i++) {
        is_int(hcy_image_find(&image, in_folder("detector.h5"), names[i]), 0, "a master file's %s", names[i]);
        ok(image && image->height == HEIGHT && image->width == WIDTH, "is an image");
        hcy_image_free(image);
    }
    fails(hcy_image_find(&image, in_folder("detector.h5"), "nothing"), HCY_EFORMAT, "5 frames",
          "without it, the stack is no image");
    char path[600];
    snprintf(path, sizeof path, "%s::/entry/instrument/detector/flatfield", in_folder("detector.h5"));
    is_int(hcy_image_find(&image, path, "pixel_mask"), 0, "a path that is named counts");
    hcy_image_free(image);
}

/* A mask that is there and cannot be read is told of, though an image of the same size is beside it: its frame. */
static void test_lost_mask(void)
{
    static const struct layout stack3 = { "", 3, { 0 }, 0, 0, 0, 1, 0, 0 };
    static const char *const groups[] = { "/entry/instrument/detector", "/entry/instrument/detector/detectorSpecific" };
    for (size_t i = 0; i < 2; i++) {
        hcy_image *image = NULL;
        hid_t file = new_file(in_folder("lost.h5"), 0), links = H5Pcreate(H5P_LINK_CREATE);
        H5Pset_create_intermediate_group(links, 1);
        put_dataset(file, "/entry/data/data", &stack3, 1);
        H5Gclose(H5Gcreate2(file, groups[i], links, H5P_DEFAULT, H5P_DEFAULT));
        H5Fclose(file);
        is_int(hcy_image_find(&image, in_folder("lost.h5"), "pixel_mask"), 0, "without a mask, the one image");
        hcy_image_free(image);
        file = H5Fopen(in_folder("lost.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
        hid_t at = H5Gopen2(file, groups[i], H5P_DEFAULT);
        H5Lcreate_external("gone.h5", "/mask", at, "pixel_mask", H5P_DEFAULT, H5P_DEFAULT);
        H5Gclose(at);
        H5Pclose(links);
        H5Fclose(file);
        fails(hcy_image_find(&image, in_folder("lost.h5"), "pixel_mask"), HCY_ENOENT, "lost.h5|pixel_mask", "a lost mask");
    }
    hid_t file = new_file(in_folder("lost.h5"), 0);
    put_dataset(file, "/entry/data/data", &stack3, 1);
    put_dataset(file, "/entry/instrument/detector/pixel_mask", &stack3, 2);
    H5Fclose(file);
    fails(hcy_image_find(&(hcy_image *){ NULL }, in_folder("lost.h5"), "pixel_mask"), HCY_EFORMAT, "pixel_mask|2 frames",
          "a mask of two images");
}

/* Frames that a file only claims: contiguous ones of another byte order that nobody wrote, and too many of them. */
static void test_claimed(void)
{
    static const hsize_t chunk[3] = { 1, 4, 4 };
    hcy_stack *stack = NULL;
    size_t size;
    for (int many = 0; many < 2; many++) {
        const hsize_t dims[3] = { many ? (hsize_t)1 << 26 : 2, 4, 4 };
        hid_t file = new_file(in_folder("claimed.h5"), 0), space = H5Screate_simple(3, dims, NULL);
        hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
        if (many)
            H5Pset_chunk(plist, 3, chunk);
        H5Dclose(H5Dcreate2(file, "data", many ? H5T_STD_U16LE : H5T_STD_U16BE, space, H5P_DEFAULT, plist, H5P_DEFAULT));
        H5Pclose(plist);
        H5Sclose(space);
        H5Fclose(file);
        if (many)
            open_fails(in_folder("claimed.h5"), NULL, HCY_ECORRUPT, "claimed.h5::/data|67108864 frames", "many frames");
        else if (is_int(hcy_stack_open(&stack, in_folder("claimed.h5"), NULL), 0, "a dataset that nobody wrote"))
            fails(hcy_stack_frame_size(&size, stack, 1), HCY_ENOENT, "frame 1|never written", "its frames");
        if (!many)
            hcy_stack_close(stack);
    }
}

/* --- Virtual datasets --- */

static void map(hid_t plist, hid_t space, uint64_t first, const char *file, uint64_t all, uint64_t from,
                uint64_t n)
{
    hsize_t dims[3] = { all, HEIGHT, WIDTH }, count[3] = { n, HEIGHT, WIDTH };
    hsize_t to_start[3] = { first, 0, 0 }, from_start[3] = { from, 0, 0 };
    hid_t source = H5Screate_simple(3, dims, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, to_start, NULL, count, NULL);
    if (n < all)
        H5Sselect_hyperslab(source, H5S_SELECT_SET, from_start, NULL, count, NULL);
    H5Pset_virtual(plist, space, file, "data", source);
    H5Sclose(source);
}

static void put_virtual(const char *path, hid_t plist, hid_t space)
{
    hid_t file = new_file(path, 0);
    hid_t data = H5Dcreate2(file, "frames", H5T_STD_U32LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    if (data < 0)
        bail_out("a virtual dataset cannot be made");
    H5Dclose(data);
    H5Fclose(file);
}

static void test_virtual(void)
{
    static const unsigned values[5] = { 0, 2, 4, 0, 2 };
    static const struct layout gzip = { "", 3, { 2, HEIGHT, WIDTH }, 1, 0, 0, 0, 0, 0 };
    hcy_stack_info info = { .height = HEIGHT,
                            .width = WIDTH,
                            .pixel_type = HCY_PIXEL_U32,
                            .elem_size = 4,
                            .frame_bytes = HEIGHT * WIDTH * 4,
                            .codec = HCY_CODEC_BSLZ4 };
    for (int i = 0; i < 2; i++) { /* frames 0 to 3, frames 2 to 5: the second is used from its third on */
        hid_t file = new_file(in_folder(i ? "part1.h5" : "part0.h5"), 0),
              data = raw_dataset(file, 4, 32008, 5, values);
        for (uint64_t k = 0; k < 4; k++) {
            hsize_t offset[3] = { k, 0, 0 };
            size_t size;
            void *chunk = expected_bytes(&size, &info, k + (i ? 2 : 0));
            H5Dwrite_chunk(data, H5P_DEFAULT, 0, offset, size, chunk);
            free(chunk);
        }
        H5Dclose(data);
        H5Fclose(file);
    }
    hsize_t dims[3] = { 8, HEIGHT, WIDTH };
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(3, dims, NULL);
    map(plist, space, 0, "part0.h5", 4, 0, 4);
    map(plist, space, 4, "part1.h5", 4, 2, 2);
    map(plist, space, 6, "nowhere.h5", 4, 0, 1);
    put_virtual(in_folder("virtual.h5"), plist, space);
    hcy_stack *stack = NULL;
    size_t size;
    if (!is_int(hcy_stack_open(&stack, in_folder("virtual.h5"), NULL), 0, "virtual: opens"))
        diag("%s", hcy_last_error()->text);
    const hcy_stack_info *got = hcy_stack_get_info(stack);
    ok(got->frames == 8 && got->codec == HCY_CODEC_BSLZ4 && got->direct && !strcmp(got->dataset, "/frames"),
       "virtual: its sources are read, without HDF5");
    int right = 1;
    for (uint64_t i = 0; i < 6; i++)
        right = right && frame_is_right(stack, i);
    ok(right, "virtual: their frames, in its order");
    is_int(hcy_stack_frame_size(&size, stack, 6), HCY_ENOENT, "virtual: a source that is not there");
    is_int(hcy_stack_frame_size(&size, stack, 7), HCY_ENOENT, "virtual: a frame without a source");
    hcy_stack_close(stack);
    H5Pclose(plist);
    H5Sclose(space);

    hid_t file = new_file(in_folder("part0.h5"), 0); /* HDF5 must decode it */
    put_dataset(file, "data", &gzip, 4);
    H5Fclose(file);
    dims[0] = 3;
    plist = H5Pcreate(H5P_DATASET_CREATE);
    space = H5Screate_simple(3, dims, NULL);
    map(plist, space, 0, "part0.h5", 4, 0, 3);
    put_virtual(in_folder("virtual.h5"), plist, space);
    ok(!hcy_stack_open(&stack, in_folder("virtual.h5"), NULL) && !hcy_stack_get_info(stack)->direct &&
           all_frames_are_right(stack),
       "virtual: HDF5 puts together what it must decode");
    hcy_stack_close(stack);
    H5Pclose(plist);
    H5Sclose(space);
}

#ifdef HAVE_ZSTD
enum { BLOCK = 128 };

/* A frame as filter 32008 codes it with Zstandard. */
static unsigned char *zstd_chunk(size_t *size, const hcy_stack_info *info, uint64_t frame)
{
    size_t block = info->block_bytes;
    size_t planes_size;
    unsigned char *planes = expected_bytes(&planes_size, info, frame),
                  *chunk = calloc(1, 8 * planes_size + 1000);
    for (int i = 0; i < 8; i++)
        chunk[i] = (unsigned char)((uint64_t)planes_size >> 8 * (7 - i));
    chunk[11] = (unsigned char)block;
    *size = 12;
    size_t tail = planes_size % 32, at = 0; /* eight elements of 4 bytes are coded, or none */
    for (; at < planes_size - tail; at += block) {
        size_t n = planes_size - tail - at < block ? planes_size - tail - at : block;
        size_t coded = ZSTD_compress(chunk + *size + 4, 1000, planes + at, n, 1);
        chunk[*size + 2] = (unsigned char)(coded >> 8);
        chunk[*size + 3] = (unsigned char)coded;
        *size += 4 + coded;
    }
    memcpy(chunk + *size, planes + planes_size - tail, tail);
    *size += tail;
    free(planes);
    return chunk;
}

static void test_zstd(void)
{
    static const unsigned values[] = { 0, 3, 4, 64, 3, 10 }; /* what chunks say counts, not this 64 */
    hcy_stack_info info = { .height = HEIGHT,
                            .width = WIDTH,
                            .pixel_type = HCY_PIXEL_U32,
                            .elem_size = 4,
                            .frame_bytes = HEIGHT * WIDTH * 4,
                            .codec = HCY_CODEC_BITSHUFFLE,
                            .block_bytes = BLOCK };
    hid_t file = new_file(in_folder("zstd.h5"), 0), data = raw_dataset(file, 5, 32008, 6, values);
    for (uint64_t i = 0; i < 5; i++) {
        size_t size;
        hsize_t offset[3] = { i, 0, 0 };
        info.block_bytes = i == 4 ? 64 : BLOCK;
        unsigned char *chunk = zstd_chunk(&size, &info, i);
        if (i == 3)
            chunk[16] ^= 0x55; /* Zstandard's own magic */
        if (i == 1)
            put_chunk(data, &info, i, 1);
        else if (H5Dwrite_chunk(data, H5P_DEFAULT, 0, offset, size, chunk) < 0)
            bail_out("a chunk cannot be written");
        free(chunk);
    }
    H5Dclose(data);
    H5Fclose(file);
    hcy_stack *stack = NULL;
    char bytes[HEIGHT * WIDTH * 4];
    size_t size;
    is_int(hcy_stack_open(&stack, in_folder("zstd.h5"), NULL), 0, "Zstandard: opens");
    const hcy_stack_info *got = hcy_stack_get_info(stack);
    ok(got->codec == HCY_CODEC_BITSHUFFLE && got->block_bytes == BLOCK && got->direct &&
           got->stored_bytes < got->raw_bytes,
       "Zstandard: is given as bit planes");
    ok(frame_is_right(stack, 0) && frame_is_right(stack, 2), "Zstandard: its frames");
    ok(frame_is_right(stack, 1), "Zstandard: a chunk stored without the filter");
    fails(hcy_stack_read(&size, bytes, sizeof bytes, stack, 3), HCY_ECORRUPT, "block 0", "a damaged block");
    ok(frame_is_right(stack, 4), "Zstandard: blocks of another size");
    hcy_stack_close(stack);
}

/* One of bitshuffle's own: its chunk as a stack of one frame of one row. */
static int same_as_original(hid_t from, hcy_queue *queue, const char *name, size_t elem)
{
    char path[64];
    snprintf(path, sizeof path, "/compressed_zstd/%s", name);
    hid_t coded = H5Dopen2(from, path, H5P_DEFAULT), space = H5Dget_space(coded);
    snprintf(path, sizeof path, "/original/%s", name);
    hid_t plain = H5Dopen2(from, path, H5P_DEFAULT), type = H5Dget_type(plain),
          plist = H5Dget_create_plist(coded);
    hsize_t n = (hsize_t)H5Sget_simple_extent_npoints(space), zero[3] = { 0 }, stored = 0,
            dims[3] = { 1, 1, n };
    unsigned values[8], flags, config;
    size_t n_values = 8, size, bytes = (size_t)n * elem;
    char *chunk = malloc(8 * bytes + 1000), *want = malloc(bytes), *got = malloc(bytes);
    uint32_t mask;
    H5Pget_filter2(plist, 0, &flags, &n_values, values, 0, NULL, &config);
    H5Dget_chunk_storage_size(coded, zero, &stored);
    H5Dread_chunk(coded, H5P_DEFAULT, zero, &mask, chunk);
    H5Dread(plain, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, want);
    H5Pclose(plist);
    hid_t file = new_file(in_folder("one.h5"), 0), to = H5Screate_simple(3, dims, NULL);
    hid_t types[9] = { 0, H5T_STD_U8LE, H5T_STD_U16LE, 0, H5T_STD_U32LE, 0, 0, 0, H5T_STD_U64LE };
    plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plist, 3, dims);
    H5Pset_filter(plist, 32008, H5Z_FLAG_OPTIONAL, n_values, values);
    hid_t data = H5Dcreate2(file, "data", types[elem], to, H5P_DEFAULT, plist, H5P_DEFAULT);
    H5Dwrite_chunk(data, H5P_DEFAULT, 0, zero, stored, chunk);
    hid_t all[] = { data, plain, coded };
    for (size_t i = 0; i < 3; i++)
        H5Dclose(all[i]);
    H5Pclose(plist);
    H5Tclose(type);
    H5Sclose(to);
    H5Sclose(space);
    H5Fclose(file);
    hcy_stack *stack = NULL;
    int bad = hcy_stack_open(&stack, in_folder("one.h5"), NULL);
    hcy_bslz4_job job = bad ? (hcy_bslz4_job){ 0 } : job_of(hcy_stack_get_info(stack));
    bad = bad || hcy_stack_read(&size, chunk, 8 * bytes + 1000, stack, 0) ||
          hcy_bslz4_decode(got, NULL, queue, &job, &(hcy_span){ chunk, size }, 1) || memcmp(got, want, bytes);
    hcy_stack_close(stack);
    free(chunk);
    free(want);
    free(got);
    return !bad;
}

static void test_originals(const char *name)
{
    static const char *const sets[] = { "a1_a",  "a2_a",  "a4_a",  "a8_a",  "|S1_b", "|S1_c",
                                        "|S2_b", "|S2_c", "|S4_b", "|S4_c", "|S8_b", "|S8_c" };
    const char *path = test_data(name);
    hid_t file = path ? H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT) : -1;
    if (file < 0 || H5Lexists(file, "/compressed_zstd", H5P_DEFAULT) <= 0) {
        skip(1, "%s: %s", name, file < 0 ? "no test data (HALCYON_TEST_DATA)" : "it has no Zstandard");
        if (file >= 0)
            H5Fclose(file);
        return;
    }
    hcy_device *device = NULL;
    hcy_queue *queue = NULL;
    if (hcy_device_open(&device, "cpu@threads=1") || hcy_queue_create(&queue, device))
        bail_out("no device: %s", hcy_last_error()->text);
    size_t n = sizeof sets / sizeof *sets, good = 0;
    for (size_t i = 0; i < n; i++)
        good += (size_t)same_as_original(file, queue, sets[i], (size_t)(strpbrk(sets[i], "1248")[0] - '0'));
    is_int((intmax_t)good, (intmax_t)n, "%s: Zstandard gives the originals", name);
    hcy_queue_release(queue);
    hcy_device_release(device);
    H5Fclose(file);
}
#endif

int main(void)
{
    make_folder();
    test_layouts();
    test_finding();
    test_numbered();
    test_not_images();
    test_channels();
    test_written();
    write_coded(in_folder("same.h5"), HCY_PIXEL_U16, 3);
    same_as_hdf5(in_folder("same.h5"), NULL, 2, "a written frame");
    test_codecs();
    test_compact();
    test_refused();
    test_damaged_links();
    test_detector_images();
    test_lost_mask();
    test_claimed();
    test_virtual();
#ifdef HAVE_ZSTD
    test_zstd();
    test_originals("detector/regression_0.1.3.h5");
    test_originals("detector/regression_0.4.0.h5");
#else
    skip(1, "built without libzstd");
#endif
    test_unknown_filter();
    test_many_chunks();
    test_truncated_h5();
    test_resized();
    test_h5_images();
    test_all_threads();
    test_real();
    test_regression();
    return done_testing();
}
#else
int main(void)
{
    skip_all("built without HDF5");
}
#endif
