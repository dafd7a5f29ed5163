/* isolated.c - HDF5 files that a process of their own reads: what damages HDF5 costs a message, and nothing of this
 * process.
 *
 *     tests/isolated [FILES [SEED]]             (120, 1; more by hand, see doc/hardening.md)
 *     tests/isolated cost FILE [TIMES]          processor time of opening it, without and with isolation
 *
 * No child guards this program: a crash or a hang of its own is the test's.
 */
#include "stack_read.h"
#ifdef HAVE_HDF5
#include "mutate_h5.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <halcyon/host_array.h>
#include <hdf5.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { FRAMES = 4, HEIGHT = 24, WIDTH = 31, MOST_BYTES = 1 << 20 };
static const hcy_stack_info shape = {
    .height = HEIGHT, .width = WIDTH, .pixel_type = HCY_PIXEL_U16, .elem_size = 2, .frame_bytes = HEIGHT * WIDTH * 2
};

static void isolate(unsigned files, unsigned seconds, uint64_t memory)
{
    hcy_isolation isolation = HCY_ISOLATION_INIT;
    isolation.files = files;
    isolation.seconds = seconds;
    isolation.memory = memory;
    if (hcy_isolation_set(&isolation))
        bail_out("no isolation: %s", hcy_last_error()->text);
}

/* --- What may not be left --- */

static int count_descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static int has_children(void)
{
    return waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD;
}

static double most_megabytes(int who)
{
    struct rusage used;
    getrusage(who, &used);
    return (double)used.ru_maxrss / 1024;
}

/* --- Files --- */

static hid_t new_file(const char *name)
{
    hid_t file = H5Fcreate(in_folder(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (file < 0)
        bail_out("%s cannot be made", name);
    return file;
}

static hid_t put_class(hid_t at, const char *name, const char *class)
{
    hid_t group = H5Gcreate2(at, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), type = H5Tcopy(H5T_C_S1);
    /* Of variable length, as h5py's: such texts lie in the global heap. */
    H5Tset_size(type, H5T_VARIABLE);
    hid_t space = H5Screate(H5S_SCALAR), a = H5Acreate2(group, "NX_class", type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(a, type, &class);
    H5Aclose(a);
    H5Sclose(space);
    H5Tclose(type);
    return group;
}

/* Frames as `name` of a group; plist is closed. */
static void put_frames(hid_t at, const char *name, int rank, hid_t plist)
{
    hsize_t dims[4] = { FRAMES, HEIGHT, WIDTH }, four[4] = { FRAMES / 2, 2, HEIGHT, WIDTH };
    static uint16_t pixels[FRAMES][HEIGHT * WIDTH];
    for (uint64_t i = 0; i < FRAMES; i++)
        make_frame(pixels[i], &shape, i);
    hid_t space = H5Screate_simple(rank, rank == 4 ? four : dims, NULL);
    hid_t data = H5Dcreate2(at, name, H5T_STD_U16LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    if (data < 0 || H5Dwrite(data, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, pixels) < 0)
        bail_out("frames cannot be written");
    H5Dclose(data);
    H5Sclose(space);
    H5Pclose(plist);
}

static hid_t chunked(int rank, hsize_t frames, int deflated)
{
    hsize_t three[3] = { frames, HEIGHT, WIDTH }, four[4] = { 1, 1, HEIGHT, WIDTH };
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plist, rank, rank == 4 ? four : three);
    if (deflated)
        H5Pset_deflate(plist, 1);
    return plist;
}

static void put_number(hid_t at, const char *name, double x)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t data = H5Dcreate2(at, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &x);
    H5Dclose(data);
    H5Sclose(space);
}

static void put_image(hid_t at, const char *name)
{
    hsize_t dims[2] = { HEIGHT, WIDTH };
    static uint32_t pixels[HEIGHT * WIDTH] = { 0, 1, 0, 2 };
    hid_t space = H5Screate_simple(2, dims, NULL);
    hid_t data = H5Dcreate2(at, name, H5T_STD_U32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(data, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, pixels);
    H5Dclose(data);
    H5Sclose(space);
}

/* A master file as detectors write it: a link to frames, a detector with its mask. */
static void put_master(void)
{
    hid_t file = new_file("master.h5"), entry = put_class(file, "entry", "NXentry"),
          data = put_class(entry, "data", "NXdata"), instrument = put_class(entry, "instrument", "NXinstrument"),
          detector = put_class(instrument, "detector", "NXdetector");
    H5Lcreate_external("chunks.h5", "/entry/data/data", data, "data_000001", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("deflated.h5", "/entry/data/data", data, "other", H5P_DEFAULT, H5P_DEFAULT);
    put_image(detector, "pixel_mask");
    put_image(detector, "flatfield");
    put_number(detector, "x_pixel_size", 7.5e-5);
    put_number(detector, "y_pixel_size", 7.5e-5);
    put_number(detector, "beam_center_x", 10);
    put_number(detector, "beam_center_y", 11);
    put_number(detector, "detector_distance", 0.1);
    hid_t all[] = { detector, instrument, data, entry };
    for (int i = 0; i < 4; i++)
        H5Gclose(all[i]);
    H5Fclose(file);
}

static void put_virtual(const char *name, const char *source, int rows_apart)
{
    hsize_t dims[3] = { FRAMES, HEIGHT, WIDTH }, start[3] = { 0, 0, 0 }, half[3] = { FRAMES, HEIGHT / 2, WIDTH };
    hid_t file = new_file(name), space = H5Screate_simple(3, dims, NULL), from = H5Screate_simple(3, dims, NULL);
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_layout(plist, H5D_VIRTUAL);
    /* Halves of frames are HDF5's to put together. */
    for (int i = 0; i < (rows_apart ? 2 : 1); i++) {
        start[1] = i ? HEIGHT / 2 : 0;
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, rows_apart ? half : dims, NULL);
        H5Sselect_hyperslab(from, H5S_SELECT_SET, start, NULL, rows_apart ? half : dims, NULL);
        H5Pset_virtual(plist, space, source, "/entry/data/data", from);
    }
    hid_t data = H5Dcreate2(file, "data", H5T_STD_U16LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    if (data < 0)
        bail_out("a virtual dataset cannot be made");
    H5Dclose(data);
    H5Pclose(plist);
    H5Sclose(from);
    H5Sclose(space);
    H5Fclose(file);
}

/* What the channels of frames of four dimensions are called. */
static void put_channel_names(hid_t at)
{
    static const char *const names[2] = { "threshold_1", "difference" };
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, (const hsize_t[]){ 2 }, NULL);
    H5Tset_size(type, H5T_VARIABLE);
    hid_t list = H5Dcreate2(at, "channel", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (list < 0 || H5Dwrite(list, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, names) < 0)
        bail_out("names of channels cannot be written");
    H5Dclose(list);
    H5Sclose(space);
    H5Tclose(type);
}

static void put_stack_file(const char *name, int rank, hid_t plist)
{
    hid_t file = new_file(name), entry = put_class(file, "entry", "NXentry"), data = put_class(entry, "data", "NXdata");
    put_frames(data, "data", rank, plist);
    if (rank == 4)
        put_channel_names(data);
    H5Gclose(data);
    H5Gclose(entry);
    H5Fclose(file);
}

/* Results, an array in them: what else is read of HDF5. */
static void put_results(void)
{
    hid_t file = new_file("results.h5"), entry = put_class(file, "entry", "NXentry"),
          data = put_class(entry, "data", "NXdata");
    const char *words[2] = { "entry", "data" };
    hid_t groups[2] = { file, entry }, type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, H5T_VARIABLE);
    for (int i = 0; i < 2; i++) {
        hid_t a = H5Acreate2(groups[i], "default", type, space, H5P_DEFAULT, H5P_DEFAULT);
        H5Awrite(a, type, &words[i]);
        H5Aclose(a);
    }
    hsize_t dims[2] = { 3, 5 }, bins = 5;
    double values[15] = { 1, 2, 3, 4, 5 };
    hid_t rows = H5Screate_simple(2, dims, NULL), line = H5Screate_simple(1, &bins, NULL);
    hid_t curves = H5Dcreate2(data, "data", H5T_IEEE_F64LE, rows, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t radial = H5Dcreate2(data, "radial", H5T_IEEE_F64LE, line, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(curves, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dwrite(radial, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(radial);
    H5Dclose(curves);
    H5Sclose(line);
    H5Sclose(rows);
    H5Sclose(space);
    H5Tclose(type);
    H5Gclose(data);
    H5Gclose(entry);
    H5Fclose(file);
}

static const char *const seeds[] = { "master.h5", "chunks.h5", "deflated.h5", "plain.h5", "virtual.h5", "tiles.h5",
                                     "external.h5", "channels.h5", "compact.h5", "results.h5" };
enum { N_SEEDS = sizeof seeds / sizeof seeds[0] };

static void make_seeds(void)
{
    hid_t external = H5Pcreate(H5P_DATASET_CREATE), compact = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(external, in_folder("external.raw"), 0, (hsize_t)FRAMES * HEIGHT * WIDTH * 2);
    H5Pset_layout(compact, H5D_COMPACT);
    put_stack_file("chunks.h5", 3, chunked(3, 1, 0));
    put_stack_file("deflated.h5", 3, chunked(3, 2, 1));
    put_stack_file("plain.h5", 3, H5Pcreate(H5P_DATASET_CREATE));
    put_stack_file("channels.h5", 4, chunked(4, 1, 0));
    put_stack_file("external.h5", 3, external);
    put_stack_file("compact.h5", 3, compact);
    put_virtual("virtual.h5", "chunks.h5", 0);
    put_virtual("tiles.h5", "deflated.h5", 1);
    put_results();
    put_master();
}

/* --- Sound files --- */

static int opens(hcy_stack **stack, const char *path, const char *channel)
{
    hcy_stack_options options = HCY_STACK_OPTIONS_INIT;
    options.channel = channel;
    return hcy_stack_open_with(stack, path, &options);
}

static void test_same(void)
{
    for (size_t i = 0; i < N_SEEDS; i++) {
        hcy_stack *here = NULL, *apart = NULL;
        const char *path = in_folder(seeds[i]), *channel = strstr(path, "channels") ? "difference" : NULL;
        isolate(HCY_ISOLATE_NONE, 0, 0);
        int st = opens(&here, path, channel);
        isolate(HCY_ISOLATE_ALL, 0, 0);
        int also = opens(&apart, path, channel), same = st == also;
        const hcy_stack_info *a = hcy_stack_get_info(here), *b = hcy_stack_get_info(apart);
        if (!st && !also) {
            same = a->frames == b->frames && a->direct == b->direct && a->codec == b->codec &&
                   a->max_chunk == b->max_chunk && a->channel == b->channel && !strcmp(a->dataset, b->dataset);
            char one[HEIGHT * WIDTH * 8], other[sizeof one];
            for (uint64_t f = 0; same && f < a->frames; f++) {
                size_t n = 0, m = 0;
                same = !hcy_stack_read(&n, one, sizeof one, here, f) &&
                       !hcy_stack_read(&m, other, sizeof other, apart, f) && n == m && !memcmp(one, other, n);
            }
        }
        if (!ok(same && !st, "%s: the same stack, isolated", seeds[i]))
            diag("%d, %d: %s", st, also, hcy_last_error()->text);
        hcy_stack_close(here);
        hcy_stack_close(apart);
    }
}

/* Files that the reader alone has open are the stack's, too: nobody may write over them. */
static void test_guard(void)
{
    hcy_stack *stack = NULL;
    hcy_stack_file *files = NULL;
    struct stat is = { 0 };
    size_t n = 0, found = 0;
    isolate(HCY_ISOLATE_ALL, 0, 0);
    int st = opens(&stack, in_folder("tiles.h5"), NULL);
    if (!st)
        st = hcy_stack_files(&files, &n, stack);
    if (!stat(in_folder("deflated.h5"), &is))
        for (size_t i = 0; i < n; i++)
            found += files[i].device == (uint64_t)is.st_dev && files[i].inode == (uint64_t)is.st_ino;
    ok(!st && found, "a source that the reader has open is one of the stack's files");
    hcy_list_free(files);
    hcy_stack_close(stack);
}

/* Who the files belong to, options against the program's setting, and what stands in the way. */
static void test_choice(void)
{
    hcy_stack *stack = NULL;
    hcy_stack_options options = HCY_STACK_OPTIONS_INIT;
    hcy_isolation apart = HCY_ISOLATION_INIT;
    options.isolation = &apart;
    char *reader = getenv("HALCYON_H5_READER") ? strdup(getenv("HALCYON_H5_READER")) : NULL;
    setenv("HALCYON_H5_READER", in_folder("no-reader"), 1);
    isolate(HCY_ISOLATE_FOREIGN, 0, 0);
    is_int(hcy_stack_open(&stack, in_folder("chunks.h5"), NULL), 0, "a file of one's own needs no reader");
    hcy_stack_close(stack);
    stack = NULL;
    ok(hcy_stack_open_with(&stack, in_folder("chunks.h5"), &options) < 0 && strstr(hcy_last_error()->text, "no-reader"),
       "no reader: it is named");
    if (geteuid() == 0 && !chown(in_folder("plain.h5"), 65534, (gid_t)-1)) {
        ok(hcy_stack_open(&stack, in_folder("plain.h5"), NULL) < 0, "somebody else's file needs it");
        (void)!chown(in_folder("plain.h5"), 0, (gid_t)-1);
    } else {
        skip(1, "only root gives files away");
    }
    if (reader)
        setenv("HALCYON_H5_READER", reader, 1);
    else
        unsetenv("HALCYON_H5_READER");
    free(reader);
    is_int(hcy_stack_open_with(&stack, in_folder("chunks.h5"), &options), 0, "one stack alone is isolated");
    hcy_stack_close(stack);
    apart.files = 7;
    fails(hcy_stack_open_with(&stack, in_folder("chunks.h5"), &options), HCY_EINVAL, "files is 7", "a choice there is not");
}

/* --- The host --- */

static volatile sig_atomic_t told;

static void note_child(int number)
{
    (void)number;
    told++;
}

static void test_host(void)
{
    hcy_stack *stack = NULL;
    struct sigaction now, before = { .sa_handler = note_child };
    sigemptyset(&before.sa_mask);
    sigaction(SIGCHLD, &before, NULL);
    isolate(HCY_ISOLATE_ALL, 0, 0);
    pid_t other = fork();
    if (!other)
        _exit(7);
    ok(!hcy_stack_open(&stack, in_folder("tiles.h5"), NULL) && all_frames_are_right(stack), "frames come from the reader");
    sigaction(SIGCHLD, NULL, &now);
    int status = 0;
    ok(now.sa_handler == note_child && waitpid(other, &status, 0) == other && WEXITSTATUS(status) == 7,
       "the host's handler and its other child are left alone");
    signal(SIGCHLD, SIG_DFL);
    /* A child of fork shares nothing of the reader, and harms it not. */
    pid_t child = fork();
    if (!child) {
        char room[HEIGHT * WIDTH * 2];
        size_t n;
        int st = hcy_stack_read(&n, room, sizeof room, stack, 0);
        hcy_stack_close(stack);
        _exit(st == HCY_EFORK ? 0 : 1);
    }
    ok(waitpid(child, &status, 0) == child && !status, "a child of fork is told so");
    ok(all_frames_are_right(stack), "the reader is still there for its parent");
    hcy_stack_close(stack);
    signal(SIGCHLD, SIG_IGN);
    ok(!hcy_stack_open(&stack, in_folder("tiles.h5"), NULL) && all_frames_are_right(stack),
       "where children are not waited for");
    hcy_stack_close(stack);
    signal(SIGCHLD, SIG_DFL);
    ok(!has_children(), "no child is left");
}

/* More files than processes may be alive. */
static void test_many(void)
{
    enum { MANY = 20 };
    const char *paths[MANY];
    int n = count_descriptors(), right = 1;
    hcy_stack *stack = NULL;
    for (int i = 0; i < MANY; i++)
        paths[i] = in_folder(i % 2 ? "deflated.h5" : "tiles.h5");
    isolate(HCY_ISOLATE_ALL, 0, 0);
    is_int(hcy_stack_open_files(&stack, paths, MANY, NULL), 0, "%d files that HDF5 reads", MANY);
    ok(count_descriptors() <= n + 8, "no more than eight readers of files that are open");
    for (uint64_t i = 0; stack && right && i < MANY * FRAMES; i++) {
        uint16_t want[HEIGHT * WIDTH], got[HEIGHT * WIDTH];
        size_t size;
        make_frame(want, &shape, i % FRAMES);
        right = !hcy_stack_read(&size, got, sizeof got, stack, i) && !memcmp(want, got, sizeof want);
    }
    ok(right, "their frames");
    ok(count_descriptors() <= n + 8, "no more than eight readers of files that were read");
    hcy_stack_close(stack);
    ok(count_descriptors() == n && !has_children(), "nothing is left of them");
}

/* --- Damaged files --- */

/* All that one may ask of a file; only that it comes back is asked. */
static void ask_all(const char *path, size_t which)
{
    hcy_stack *stack = NULL;
    hcy_corrections *corrections = NULL;
    hcy_detector_info *detector = NULL;
    hcy_results *results = NULL;
    const char *channel = strstr(path, "channels") ? "difference" : "1";
    if (!opens(&stack, path, which % 2 ? NULL : channel)) {
        const hcy_stack_info *info = hcy_stack_get_info(stack);
        void *room = info->max_chunk <= MOST_BYTES ? malloc(info->max_chunk + 1) : NULL;
        size_t n;
        for (uint64_t i = 0; room && i < info->frames && i < FRAMES; i++)
            if (!hcy_stack_read(&n, room, info->max_chunk, stack, i) && n > info->max_chunk)
                bail_out("%s: a frame larger than it was said to be", path);
        if (which % 4 == 0 && info->frame_bytes < MOST_BYTES &&
            !hcy_corrections_read(&corrections, stack, NULL, HCY_CORRECTION_MASK | HCY_CORRECTION_FLAT))
            hcy_corrections_free(corrections);
        free(room);
    }
    hcy_stack_close(stack);
    if (which % 4 == 1 && !hcy_detector_read(&detector, path))
        hcy_detector_info_free(detector);
    if ((which % 4 == 2 || strstr(path, "results")) && !hcy_results_open(&results, path)) {
        const hcy_results_info *info = hcy_results_get_info(results);
        size_t n = info->n_radial * (info->n_azim ? info->n_azim : 1);
        double *row = n < MOST_BYTES ? malloc(n * sizeof *row) : NULL;
        if (row && info->rows)
            (void)!hcy_results_read(NULL, row, NULL, results, info->rows - 1);
        free(row);
        hcy_results_close(results);
    }
}

static uint8_t *read_whole(size_t *size, const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *bytes = f ? malloc(MOST_BYTES) : NULL;
    *size = bytes ? fread(bytes, 1, MOST_BYTES, f) : 0;
    if (f)
        fclose(f);
    return bytes;
}

/* A damaged file is asked itself, or through one that leads to it. */
static void test_mutants(size_t n, uint64_t seed)
{
    static const char *const through[N_SEEDS] = { [1] = "virtual.h5", [2] = "tiles.h5" };
    int descriptors = count_descriptors();
    size_t ends[-HCY_STATUS_LAST + 1] = { 0 };
    isolate(HCY_ISOLATE_ALL, 5, (uint64_t)1 << 30);
    for (size_t i = 0; i < n; i++) {
        size_t k = i % N_SEEDS, size;
        state = seed + i * 0x9e3779b97f4a7c15u;
        const char *path = in_folder(seeds[k]), *ask = through[k] && next() % 2 ? in_folder(through[k]) : path;
        uint8_t *whole = read_whole(&size, path), *bytes = memcpy(malloc(size), whole, size);
        put_file(path, bytes, mutate_h5(bytes, size));
        hcy_clear_error();
        ask_all(ask, i / N_SEEDS);
        ends[-hcy_last_error()->status]++;
        put_file(path, whole, size);
        free(bytes);
        free(whole);
        if (i % 100 == 99 && n > 1000)
            diag("%zu: %d descriptors, children %d, %.0f and %.0f MB", i + 1, count_descriptors(), has_children(),
                 most_megabytes(RUSAGE_SELF), most_megabytes(RUSAGE_CHILDREN));
    }
    for (int i = 0; i <= -HCY_STATUS_LAST; i++)
        if (ends[i])
            diag("%zu ended with %s", ends[i], hcy_status_name(-i));
    ok(count_descriptors() == descriptors && !has_children(), "%zu damaged files: nothing is left of them", n);
    ok(most_megabytes(RUSAGE_SELF) < 1024 && most_megabytes(RUSAGE_CHILDREN) < 1100,
       "%.0f MB here and %.0f MB there were the most", most_megabytes(RUSAGE_SELF), most_megabytes(RUSAGE_CHILDREN));
}

/* Files that crashed HDF5, or hung in it; and sound ones. */
static void test_hostile(void)
{
    const char *data = getenv("HALCYON_TEST_DATA");
    char path[4096];
    snprintf(path, sizeof path, "%s/hostile", data ? data : "");
    int descriptors = count_descriptors(), n = 0;
    DIR *dir = data ? opendir(path) : NULL;
    if (!dir) {
        skip(1, "no hostile files in HALCYON_TEST_DATA");
        return;
    }
    isolate(HCY_ISOLATE_ALL, 2, (uint64_t)1 << 30);
    for (struct dirent *entry; (entry = readdir(dir));) {
        const char *suffix = strrchr(entry->d_name, '.');
        hcy_stack *stack = NULL;
        if (!suffix || strcmp(suffix, ".h5"))
            continue;
        snprintf(path, sizeof path, "%s/hostile/%s", data, entry->d_name);
        hcy_clear_error();
        int st = opens(&stack, path, NULL);
        ok(!st || strstr(hcy_last_error()->text, entry->d_name), "%s: opened, or named with its fault", entry->d_name);
        diag("%s: %.100s", hcy_status_name(st), st ? hcy_last_error()->text : "");
        hcy_stack_close(stack);
        for (size_t which = 0; !st && which < 3; which++)
            ask_all(path, which);
        n++;
    }
    closedir(dir);
    ok(n >= 8 && count_descriptors() == descriptors && !has_children(), "%d hostile files leave nothing", n);
}

/* --- By hand --- */

static double processor_ms(int who)
{
    struct rusage used;
    getrusage(who, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
}

static int print_cost(const char *path, int times)
{
    for (unsigned files = HCY_ISOLATE_NONE; files <= HCY_ISOLATE_ALL; files += HCY_ISOLATE_ALL - HCY_ISOLATE_NONE) {
        isolate(files, 0, 0);
        double before = processor_ms(RUSAGE_SELF) + processor_ms(RUSAGE_CHILDREN);
        for (int i = 0; i < times; i++) {
            hcy_stack *stack = NULL;
            if (hcy_stack_open(&stack, path, NULL))
                bail_out("%s", hcy_last_error()->text);
            hcy_stack_close(stack);
        }
        printf("%s: %.2f ms of user and system time a file\n", files == HCY_ISOLATE_ALL ? "isolated" : "not isolated",
               (processor_ms(RUSAGE_SELF) + processor_ms(RUSAGE_CHILDREN) - before) / times);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 2 && !strcmp(argv[1], "cost"))
        return print_cost(argv[2], argc > 3 ? atoi(argv[3]) : 50);
    make_folder();
    make_seeds();
    test_same();
    test_guard();
    test_choice();
    test_host();
    test_many();
    test_hostile();
    test_mutants(argc > 1 ? strtoul(argv[1], NULL, 10) : 120, argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
    return done_testing();
}
#else
int main(void)
{
    hcy_isolation isolation = HCY_ISOLATION_INIT;
    fails(hcy_isolation_set(&isolation), HCY_EUNSUPPORTED, "built without HDF5", "a build without HDF5");
    isolation.files = HCY_ISOLATE_NONE;
    is_int(hcy_isolation_set(&isolation), 0, "which has nothing to isolate");
    return done_testing();
}
#endif
