/* stack_grow.c - stacks that grow while they are read: HDF5 with SWMR and without, data files of a master file that
 * appear, series.
 *
 * Another process writes, a step at a time, when it is told to.  As `stack_grow feed HOW OUT STACK [MS]` the program
 * is a writer for shell scripts: it copies the stack's chunks to OUT (HOW: swmr, flush, channels, nexus), with a
 * pause after each.
 */
#include "stack_read.h"
#ifdef HAVE_HDF5
#include <hdf5.h>
#include <sys/wait.h>
#include <time.h>

enum { HEIGHT = 12, WIDTH = 10 };
static const hcy_stack_info shape = {
    .height = HEIGHT, .width = WIDTH, .pixel_type = HCY_PIXEL_U32, .elem_size = 4, .frame_bytes = HEIGHT * WIDTH * 4
};

/* --- The writer --- */

/* How a file is written. */
struct way {
    const char *name;
    int latest, swmr;
    unsigned deflate;
    hsize_t chunk[3];
    uint64_t most; /* frames; H5S_UNLIMITED */
};

static hid_t create(const char *path, const struct way *way, const hcy_stack_info *info)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (way->latest)
        H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access), plist = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t dims[3] = { 0, info->height, info->width }, most[3] = { way->most, info->height, info->width };
    hid_t space = H5Screate_simple(3, dims, most);
    H5Pset_chunk(plist, 3, way->chunk);
    if (way->deflate)
        H5Pset_deflate(plist, way->deflate);
    if (info->codec == HCY_CODEC_BSLZ4)
        H5Pset_filter(plist, 32008, H5Z_FLAG_OPTIONAL, 5, (const unsigned[]){ 0, 2, info->elem_size, 0, 2 });
    hid_t data = H5Dcreate2(file, "frames", info->elem_size == 2 ? H5T_STD_U16LE : H5T_STD_U32LE, space, H5P_DEFAULT,
                            plist, H5P_DEFAULT);
    if (data < 0 || (way->swmr && H5Fstart_swmr_write(file) < 0) || H5Fflush(file, H5F_SCOPE_LOCAL) < 0)
        bail_out("%s cannot be written", path);
    H5Pclose(plist);
    H5Sclose(space);
    H5Pclose(access);
    return data;
}

static void extend(hid_t data, uint64_t frames)
{
    hsize_t dims[3];
    hid_t space = H5Dget_space(data);
    H5Sget_simple_extent_dims(space, dims, NULL);
    H5Sclose(space);
    dims[0] = frames;
    H5Dset_extent(data, dims);
}

static void write_frame(hid_t data, uint64_t frame)
{
    uint32_t pixels[HEIGHT * WIDTH];
    hsize_t start[3] = { frame, 0, 0 }, count[3] = { 1, HEIGHT, WIDTH };
    make_frame(pixels, &shape, frame);
    hid_t space = H5Dget_space(data), memory = H5Screate_simple(3, count, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    H5Dwrite(data, H5T_NATIVE_UINT32, memory, space, H5P_DEFAULT, pixels);
    H5Sclose(memory);
    H5Sclose(space);
    H5Dflush(data);
}

static void flush(hid_t data, const struct way *way)
{
    if (way->swmr)
        H5Dflush(data);
    else
        H5Fflush(data, H5F_SCOPE_LOCAL);
}

static int pipes[2][2]; /* commands to the writer, its answers */

/* One letter: what to do next.  Answered when it is done. */
static void tell(char what)
{
    char answer;
    if (write(pipes[0][1], &what, 1) != 1 || read(pipes[1][0], &answer, 1) != 1)
        bail_out("the writer is gone");
}

static int told(char *what)
{
    return read(pipes[0][0], what, 1) == 1;
}

static void answer(void)
{
    if (write(pipes[1][1], "!", 1) != 1)
        _exit(1);
}

static pid_t start(void (*writer)(const void *), const void *payload)
{
    fflush(stdout);
    if (pipe(pipes[0]) || pipe(pipes[1]))
        bail_out("no pipe");
    pid_t child = fork();
    close(pipes[0][child != 0 ? 0 : 1]); /* so that the end of one is the end of the other */
    close(pipes[1][child != 0 ? 1 : 0]);
    if (child)
        return child;
    writer(payload);
    _exit(0);
}

static void finish(pid_t child)
{
    int status = -1;
    close(pipes[0][1]);
    close(pipes[1][0]);
    waitpid(child, &status, 0);
    is_int(status, 0, "the writer ends well");
}

/* c: create, 1: a frame more, s: room for two and the second of them, e: end. */
static void write_file(const void *payload)
{
    const struct way *way = payload;
    hid_t data = -1;
    uint64_t n = 0;
    for (char what; told(&what); answer()) {
        if (what == 'c') {
            data = create(in_folder("grow.h5"), way, &shape);
        } else if (what == 'e') {
            hid_t file = H5Iget_file_id(data);
            H5Dclose(data);
            H5Fclose(file);
            H5Fclose(file);
        } else {
            n += what == '1' ? 1 : 2;
            extend(data, n);
            write_frame(data, n - 1);
            flush(data, way);
        }
    }
}

/* --- The reader --- */

static hcy_stack *open_growing(const char *path, int want, const char *what)
{
    hcy_stack_options opts = HCY_STACK_OPTIONS_INIT;
    hcy_stack *stack = NULL;
    opts.growing = 1;
    int st = hcy_stack_open_with(&stack, path, &opts);
    if (!is_int(st, want, "%s", what) && st)
        diag("%s (%s)", hcy_last_error()->text, hcy_last_error()->vendor);
    return stack;
}

/* After a look there are n frames, and they are right. */
static void grown(hcy_stack *stack, int rest, uint64_t n, const char *name, const char *what)
{
    int st = hcy_stack_refresh(stack, rest);
    if (!ok(!st && hcy_stack_get_info(stack)->frames == n, "%s: %s", name, what))
        diag("%d frames: %s (%s)", (int)hcy_stack_get_info(stack)->frames, hcy_last_error()->text,
             hcy_last_error()->vendor);
}

static void test_way(const struct way *way)
{
    const char *path = in_folder("grow.h5");
    hsize_t group = way->chunk[0];
    size_t size;
    unlink(path);
    pid_t child = start(write_file, way);
    open_growing(path, HCY_ENOENT, "no file yet");
    tell('c');
    open_growing(path, HCY_ENOENT, "no frame yet");
    for (hsize_t i = 0; i < group; i++)
        tell('1');
    hcy_stack *stack = open_growing(path, 0, way->name);
    if (!stack)
        bail_out("no stack");
    is_int((intmax_t)hcy_stack_get_info(stack)->frames, (intmax_t)group, "%s: the first", way->name);
    grown(stack, 0, group, way->name, "nothing new");
    for (hsize_t i = 0; i < 2 * group; i++)
        tell('1');
    grown(stack, 0, 3 * group, way->name, "more");
    ok(all_frames_are_right(stack), "%s: all of them are right", way->name);
    if (group == 1) {
        tell('s');
        grown(stack, 0, 3, way->name, "up to a gap");
        grown(stack, 1, 5, way->name, "the rest");
        ok(frame_is_right(stack, 4), "%s: behind the gap", way->name);
        is_int(hcy_stack_frame_size(&size, stack, 3), HCY_ENOENT, "%s: in the gap", way->name);
    }
    tell('e');
    finish(child);
    hcy_stack_close(stack);
    ok(!hcy_stack_open(&stack, path, NULL), "%s: and when it is closed", way->name);
    is_int(hcy_stack_refresh(stack, 0), HCY_ESTATE, "%s: one that does not grow", way->name);
    hcy_stack_close(stack);
}

/* A master file whose data files come one after the other, the first of them cut short for a while. */
static void test_master(void)
{
    static const struct way way = { "data file", 0, 0, 0, { 1, HEIGHT, WIDTH }, 4 };
    hid_t master = H5Fcreate(in_folder("m.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
          links = H5Pcreate(H5P_LINK_CREATE), scalar = H5Screate(H5S_SCALAR);
    H5Pset_create_intermediate_group(links, 1);
    for (int i = 1; i <= 3; i++) {
        char name[64], link[64];
        snprintf(name, sizeof name, "m_data_%06d.h5", i);
        snprintf(link, sizeof link, "/entry/data/data_%06d", i);
        H5Lcreate_external(name, "/frames", master, link, links, H5P_DEFAULT);
    }
    const char *const numbers[] = { "nimages", "ntrigger" };
    for (int i = 0; i < 2; i++) {
        char name[128];
        snprintf(name, sizeof name, "/entry/instrument/detector/detectorSpecific/%s", numbers[i]);
        hid_t number = H5Dcreate2(master, name, H5T_STD_U32LE, scalar, links, H5P_DEFAULT, H5P_DEFAULT);
        H5Dwrite(number, H5T_NATIVE_UINT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &(unsigned){ i ? 2 : 6 });
        H5Dclose(number);
    }
    hid_t mask = H5Dcreate2(master, "/entry/instrument/detector/pixel_mask", H5T_STD_U32LE,
                            H5Screate_simple(2, (const hsize_t[]){ HEIGHT, WIDTH }, NULL), links, H5P_DEFAULT,
                            H5P_DEFAULT);
    H5Dclose(mask);
    H5Fclose(master);
    hcy_stack *stack = open_growing(in_folder("m.h5"), HCY_ENOENT, "a master file alone");
    for (int i = 1; i <= 3; i++) {
        char name[64];
        snprintf(name, sizeof name, "m_data_%06d.h5", i);
        hid_t data = create(in_folder(name), &way, &shape), file = H5Iget_file_id(data);
        extend(data, 4);
        for (uint64_t k = 0; k < 4; k++)
            write_frame(data, k);
        H5Dclose(data);
        H5Fclose(file);
        H5Fclose(file);
        if (!stack)
            stack = open_growing(in_folder("m.h5"), 0, "and with its first data file");
        else
            grown(stack, 0, 4 * (uint64_t)i, "master file", "another data file");
        is_int((intmax_t)hcy_stack_get_info(stack)->frames, 4 * i, "master file: its frames");
    }
    is_int((intmax_t)hcy_stack_get_info(stack)->expected, 12, "master file: the frames that it announces");
    unlink(in_folder("m_data_000002.h5"));
    fails(hcy_stack_refresh(stack, 0), HCY_EFORMAT, "m.h5|gone", "a data file that disappears");
    is_int((intmax_t)hcy_stack_get_info(stack)->frames, 12, "master file: as it was");
    hcy_stack_close(stack);
    H5Sclose(scalar);
    H5Pclose(links);
}

static void put_image(uint64_t number, size_t cut)
{
    char name[64], dictionary[128];
    uint32_t pixels[HEIGHT * WIDTH];
    snprintf(name, sizeof name, "i_%03d.npy", (int)number);
    snprintf(dictionary, sizeof dictionary, "{'descr': '<u4', 'fortran_order': False, 'shape': (%d, %d), }", HEIGHT,
             WIDTH);
    make_frame(pixels, &shape, number - 1);
    put_npy(in_folder(name), 1, dictionary, pixels, sizeof pixels - cut);
}

static void test_series(void)
{
    const char *path = in_folder("i_%03d.npy");
    open_growing(path, HCY_ENOENT, "a series of nothing");
    put_image(1, 0);
    hcy_stack *stack = open_growing(path, 0, "a series of one");
    put_image(2, 0);
    put_image(3, 8);
    grown(stack, 0, 2, "series", "what is all there");
    put_image(3, 0);
    put_image(5, 0);
    grown(stack, 0, 3, "series", "up to a number that is missing");
    grown(stack, 1, 5, "series", "the rest");
    ok(frame_is_right(stack, 2) && frame_is_right(stack, 4), "series: its frames");
    hcy_stack_close(stack);
}

/* --- For scripts --- */

/* A stack of two channels: its frames are by turns those of the first and the second. */
static hid_t create_channels(const char *path, const hcy_stack_info *info)
{
    hsize_t dims[4] = { info->frames / 2, 2, info->height, info->width };
    hsize_t chunk[4] = { 1, 1, info->height, info->width };
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate_simple(4, dims, NULL);
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plist, 4, chunk);
    H5Pset_filter(plist, 32008, H5Z_FLAG_OPTIONAL, 5, (const unsigned[]){ 0, 2, info->elem_size, 0, 2 });
    hid_t data = H5Dcreate2(file, "frames", info->elem_size == 2 ? H5T_STD_U16LE : H5T_STD_U32LE, space, H5P_DEFAULT,
                            plist, H5P_DEFAULT);
    H5Pclose(plist);
    H5Sclose(space);
    return data;
}

static void put_text(hid_t object, const char *name, const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1), scalar = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text) + 1);
    hid_t attribute = H5Acreate2(object, name, type, scalar, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, text);
    H5Aclose(attribute);
    H5Tclose(type);
    H5Sclose(scalar);
}

static void put_class(hid_t file, const char *name, const char *class)
{
    hid_t group = H5Gopen2(file, name, H5P_DEFAULT);
    put_text(group, "NX_class", class);
    H5Gclose(group);
}

static void put_number(hid_t file, const char *name, double value, const char *unit)
{
    hid_t links = H5Pcreate(H5P_LINK_CREATE), scalar = H5Screate(H5S_SCALAR);
    H5Pset_create_intermediate_group(links, 1);
    hid_t data = H5Dcreate2(file, name, H5T_IEEE_F64LE, scalar, links, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value);
    if (unit)
        put_text(data, "units", unit);
    H5Dclose(data);
    H5Sclose(scalar);
    H5Pclose(links);
}

/* What NeXus says of a detector, in units of all kinds. */
static void put_detector(hid_t file)
{
#define DETECTOR "/entry/instrument/detector"
    put_number(file, DETECTOR "/detector_distance", 200, "mm");
    put_number(file, DETECTOR "/beam_center_x", 500.5, NULL);
    put_number(file, DETECTOR "/beam_center_y", 250, NULL);
    put_number(file, DETECTOR "/x_pixel_size", 7.5e-5, NULL);
    put_number(file, DETECTOR "/y_pixel_size", 75, "um");
    put_number(file, DETECTOR "/saturation_value", 9, NULL);
    put_number(file, "/entry/instrument/beam/incident_wavelength", 1.25, "angstrom");
    put_class(file, DETECTOR, "NXdetector");
}

/* The same detector on an arm that is turned by 0.2 rad, as chains of axes.  Counts of 0 are not valid. */
static void put_axes(hid_t file, const char *how)
{
    int loop = !strcmp(how, "loop"), flat = !strcmp(how, "flat"), milli = !strcmp(how, "milli");
    /* Columns behind rows, and rows behind columns, where the one in front has an offset of its own. */
    int across = !strcmp(how, "across"), parted = across || !strcmp(how, "along");
    const double part = parted ? 10 : 0; /* mm */
#define MODULE DETECTOR "/module"
#define AXES   DETECTOR "/transformations"
    const struct {
        const char *name, *unit, *type, *depends_on;
        double value, vector[3], offset[3];
    } axes[] = {
        { MODULE "/fast_pixel_direction", "um", "translation", across ? "slow_pixel_direction" : "module_offset", 75, { -1, 0, 0 }, { 0, 0, 0 } },
        { MODULE "/slow_pixel_direction", "m", "translation", across ? "module_offset" : "fast_pixel_direction", 7.5e-5,
          { 0, -2, 0 }, { 1e-3 * part, 0, 0 } },
        { MODULE "/module_offset", "mm", "translation", AXES "/distance", 0, { 0, 0, 1 }, { 37.5375 - part, 18.75, 0 } },
        { AXES "/distance", "mm", "translation", "arm", 200, { 0, 0, 1 }, { 0, 0, 0 } },
        { AXES "/arm", milli ? "mrad" : "rad", "rotation", loop ? "arm" : ".", flat ? 0 : milli ? 200 : 0.2, { -1, 0, 0 }, { 0, 0, 0 } },
    };
    const hsize_t three = 3;
    hid_t space = H5Screate_simple(1, &three, NULL);
    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++) {
        put_number(file, axes[i].name, axes[i].value, axes[i].unit);
        hid_t data = H5Dopen2(file, axes[i].name, H5P_DEFAULT);
        put_text(data, "transformation_type", axes[i].type);
        put_text(data, "depends_on", axes[i].depends_on);
        for (int k = 0; k < 2; k++) {
            hid_t vector = H5Acreate2(data, k ? "offset" : "vector", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
            H5Awrite(vector, H5T_NATIVE_DOUBLE, k ? axes[i].offset : axes[i].vector);
            H5Aclose(vector);
        }
        H5Dclose(data);
    }
    H5Sclose(space);
    if (strcmp(how, "axes") && !milli && !parted) { /* the beam elsewhere */
        put_number(file, DETECTOR "/beam_center_x", 400, NULL);
        put_number(file, DETECTOR "/beam_center_y", 250, NULL);
        put_number(file, DETECTOR "/detector_distance", 0.2, NULL);
    }
    put_number(file, DETECTOR "/underload_value", 1, NULL);
    put_number(file, "/entry/instrument/beam/incident_wavelength", 1.25, "angstrom");
    put_class(file, DETECTOR, "NXdetector");
    put_class(file, MODULE, "NXdetector_module");
}

static int feed(char **argv, int argc)
{
    int nexus = !strcmp(argv[2], "nexus"), axes = strstr("axes loop flat other milli across along", argv[2]) != NULL;
    int plain = !strcmp(argv[2], "flush") || nexus || axes, channels = !strcmp(argv[2], "channels");
    hcy_stack *stack = NULL;
    if (hcy_stack_open(&stack, argv[4], NULL))
        bail_out("%s", hcy_last_error()->text);
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    struct way way = { argv[2], !plain, !plain, 0, { 1, info->height, info->width }, H5S_UNLIMITED };
    struct timespec pause = { 0, 1000000 * (argc > 5 ? atol(argv[5]) : 0) };
    void *chunk = malloc(info->max_chunk);
    hid_t data = channels ? create_channels(argv[3], info) : create(argv[3], &way, info);
    if (nexus)
        put_detector(H5Iget_file_id(data));
    if (axes)
        put_axes(H5Iget_file_id(data), argv[2]);
    for (uint64_t i = 0; i < info->frames; i++) {
        hsize_t at[4] = { channels ? i / 2 : i, channels ? i % 2 : 0, 0, 0 };
        size_t size;
        if (!channels)
            extend(data, i + 1);
        if (hcy_stack_read(&size, chunk, info->max_chunk, stack, i) ||
            H5Dwrite_chunk(data, H5P_DEFAULT, 0, at, size, chunk) < 0)
            bail_out("frame %d: %s", (int)i, hcy_last_error()->text);
        flush(data, &way);
        nanosleep(&pause, NULL);
    }
    free(chunk);
    hcy_stack_close(stack);
    H5Dclose(data);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct way ways[] = {
        { "SWMR", 1, 1, 0, { 1, HEIGHT, WIDTH }, H5S_UNLIMITED },
        { "SWMR, up to 100 frames", 1, 1, 0, { 1, HEIGHT, WIDTH }, 100 },
        { "SWMR, gzip in tiles", 1, 1, 6, { 1, 5, WIDTH }, H5S_UNLIMITED },
        { "SWMR, gzip, two frames a chunk", 1, 1, 6, { 2, HEIGHT, WIDTH }, H5S_UNLIMITED },
        { "flushed", 0, 0, 0, { 1, HEIGHT, WIDTH }, H5S_UNLIMITED },
    };
    if (argc > 4 && !strcmp(argv[1], "feed"))
        return feed(argv, argc);
    make_folder();
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        test_way(&ways[i]);
    test_master();
    test_series();
    return done_testing();
}
#else
int main(void)
{
    skip_all("built without HDF5");
}
#endif
