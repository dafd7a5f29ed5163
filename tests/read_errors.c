/* read_errors.c - disks that fail: each read of a file that is taken in ends once, or from then on, with EIO.
 *
 * Whoever asked is told so, with the file's name and HCY_EIO, and never that the file is damaged or of another format;
 * or has the very result of a sound disk.  Reads are those of Halcyon's own objects (pread, and stdio's streams, which
 * are opened here over reads of this program's); HDF5 and libtiff read through them.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* fopencookie */
#endif
#include "leaks.h"
#include "stack_images.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <halcyon/azint.h>
#include <halcyon/host_array.h>
#include <sys/types.h>
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

/* --- Reads that fail --- */

static long n_reads, fail_from, fail_to; /* of reads from 1 on; 0: none */

static int comes_in_halves; /* what is read, as over a network */

static int read_fails(void)
{
    n_reads++;
    if (!fail_from || n_reads < fail_from || n_reads > fail_to)
        return 0;
    errno = EIO;
    return 1;
}

ssize_t __real_pread(int fd, void *to, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *to, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *to, size_t n, off_t at)
{
    n = comes_in_halves && n > 1 ? n / 2 : n;
    return read_fails() ? -1 : __real_pread(fd, to, n, at);
}

static int failing_entry; /* of a folder, from 1 on; 0: none */

struct dirent *__real_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir)
{
    if (!failing_entry || --failing_entry)
        return __real_readdir(dir);
    errno = EIO;
    return NULL;
}

FILE *__real_fdopen(int fd, const char *mode);
FILE *__wrap_fdopen(int fd, const char *mode);
FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);

#ifdef __GLIBC__
static ssize_t stream_read(void *of, char *to, size_t n)
{
    return read_fails() ? -1 : read((int)(intptr_t)of, to, n);
}

static int stream_seek(void *of, off64_t *at, int from)
{
    off_t now = lseek((int)(intptr_t)of, (off_t)*at, from);
    *at = now;
    return now < 0 ? -1 : 0;
}

static int stream_close(void *of)
{
    return close((int)(intptr_t)of);
}

FILE *__wrap_fdopen(int fd, const char *mode)
{
    const cookie_io_functions_t functions = { stream_read, NULL, stream_seek, stream_close };
    return *mode == 'r' ? fopencookie((void *)(intptr_t)fd, mode, functions) : __real_fdopen(fd, mode);
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
    int fd = *mode == 'r' ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (*mode != 'r')
        return __real_fopen(path, mode);
    return fd < 0 ? NULL : __wrap_fdopen(fd, mode);
}
#else
FILE *__wrap_fdopen(int fd, const char *mode)
{
    return __real_fdopen(fd, mode);
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
    return __real_fopen(path, mode);
}
#endif

static int count_descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 128; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* --- What is read --- */

static void mix(uint64_t *sum, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < n; i++)
        *sum = (*sum ^ at[i]) * 1099511628211u;
}

static int mix_stack(uint64_t *sum, hcy_stack *stack)
{
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    void *room = malloc(info->max_chunk ? info->max_chunk : 1);
    size_t n;
    int st = 0;
    mix(sum, &info->frames, sizeof info->frames);
    mix(sum, &info->height, sizeof info->height);
    for (uint64_t i = 0; !st && i < info->frames; i++) {
        st = hcy_stack_read(&n, room, info->max_chunk, stack, i);
        if (!st)
            mix(sum, room, n);
    }
    free(room);
    return st;
}

static int use_stack(uint64_t *sum, const char *path)
{
    hcy_stack *stack = NULL;
    int st = hcy_stack_open(&stack, path, NULL);
    if (!st)
        st = mix_stack(sum, stack);
    hcy_error why = *hcy_last_error();
    hcy_stack_close(stack);
    return st ? hcy_fail_again(&why) : 0;
}

static int use_image(uint64_t *sum, const char *path)
{
    hcy_image *image = NULL;
    int st = hcy_image_read(&image, path);
    if (!st)
        mix(sum, image->pixels, image->bytes);
    hcy_image_free(image);
    return st;
}

static int use_array(uint64_t *sum, const char *path)
{
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    size_t n = 0;
    int st = hcy_host_array_read(&a, path);
    if (!st && !hcy_host_array_count(&n, &a))
        mix(sum, a.data, n * a.bytes);
    if (!st)
        hcy_host_array_free(&a);
    return st;
}

static int use_numbers(uint64_t *sum, const char *path)
{
    double *values = NULL;
    size_t n;
    int st = hcy_numbers_read(&values, &n, path, 0);
    if (!st)
        mix(sum, values, n * sizeof *values);
    hcy_list_free(values);
    return st;
}

static int use_poni(uint64_t *sum, const char *path)
{
    hcy_poni poni = HCY_PONI_INIT;
    int st = hcy_poni_read(&poni, path);
    if (!st)
        mix(sum, &poni.dist, sizeof poni.dist);
    return st;
}

#ifdef HAVE_JANSSON
static int use_config(uint64_t *sum, const char *path)
{
    hcy_config *config = NULL;
    int st = hcy_config_read(&config, path);
    if (!st)
        mix(sum, &config->poni.dist, sizeof config->poni.dist);
    hcy_config_free(config);
    return st;
}
#endif

static int use_results(uint64_t *sum, const char *path)
{
    hcy_results *results = NULL;
    double row[64];
    int st = hcy_results_open(&results, path);
    const hcy_results_info *info = st ? NULL : hcy_results_get_info(results);
    for (uint64_t i = 0; !st && i < info->rows; i++) {
        st = hcy_results_read(NULL, row, NULL, results, i);
        if (!st)
            mix(sum, row, info->n_radial * sizeof *row);
    }
    hcy_error why = *hcy_last_error();
    hcy_results_close(results);
    return st ? hcy_fail_again(&why) : 0;
}

static int use_list(uint64_t *sum, const char *path)
{
    char **paths = NULL, word[600];
    size_t n;
    snprintf(word, sizeof word, "@%s", path);
    int st = hcy_files_find(&paths, &n, word);
    for (size_t i = 0; !st && i < n; i++)
        mix(sum, paths[i], strlen(paths[i]));
    hcy_list_free(paths);
    return st;
}

typedef int (*use_fn)(uint64_t *sum, const char *path);

/* --- One run a read --- */

static int run_once(uint64_t *sum, use_fn use, const char *path, long from, long to)
{
    *sum = 14695981039346656037u;
    n_reads = 0;
    fail_from = from;
    fail_to = to;
    hcy_clear_error();
    int st = use(sum, path);
    fail_from = 0;
    return st;
}

/* Is this an answer to a read that failed?  0: no, which it says. */
static int is_answer(int st, int same, const char *what, long call, const char *name)
{
    const hcy_error *error = hcy_last_error();
    if (!st && same)
        return 1;
    /* Of BART's two files either may be the one. */
    if (st == HCY_EIO && (strstr(error->text, name) || (strstr(name, ".cfl") && strstr(error->text, "n.hdr"))))
        return 1;
    diag("%s, read %ld: %s: %s (%s)", what, call, st ? hcy_status_name(st) : "another result", error->text,
         error->vendor);
    return 0;
}

static void check_file(const char *name, use_fn use)
{
    const char *path = in_folder(name);
    uint64_t sound, sum;
    int descriptors = count_descriptors(), wrong = 0, told = 0;
    int st = run_once(&sound, use, path, 0, 0);
    long n = n_reads;
    if (!ok(!st && n > 0, "%s is read: %ld reads", name, n)) {
        diag("%s", hcy_last_error()->text);
        return;
    }
    /* Once, as a cable that is touched, and for good, as a disk that dies. */
    for (int good = 0; good < 2; good++)
        for (long call = 1; call <= n; call++) {
            st = run_once(&sum, use, path, call, good ? 1000000 : call);
            wrong += !is_answer(st, sum == sound, name, call, name);
            told += st != 0;
        }
    ok(!wrong && told >= n, "%s: %ld runs of which a read fails: %d are told so, the others have the result", name,
       2 * n, told);
    comes_in_halves = 1;
    ok(!run_once(&sum, use, path, 0, 0) && sum == sound, "%s: reads that give half of what was asked for", name);
    comes_in_halves = 0;
    ok(count_descriptors() == descriptors, "%s: all is closed", name);
}

/* --- A series: the file that fails costs its own frames --- */

static void test_series(void)
{
    uint64_t sound[3], sum = 0;
    hcy_stack *stack = NULL;
    int right = 1, told = 0;
    for (uint64_t i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "s_%d.cbf", (int)i);
        make_cbf(in_folder(name), i);
        (void)!run_once(&sound[i], use_image, in_folder(name), 0, 0);
    }
    n_reads = 0;
    if (hcy_stack_open(&stack, in_folder("s_%d.cbf"), NULL))
        bail_out("no series: %s", hcy_last_error()->text);
    long n = n_reads;
    hcy_stack_close(stack);
    for (long call = 1; call <= n; call++) {
        stack = NULL;
        n_reads = 0;
        fail_from = fail_to = call;
        int st = hcy_stack_open(&stack, in_folder("s_%d.cbf"), NULL);
        fail_from = 0;
        told += st == HCY_EIO;
        if (st && !is_answer(st, 0, "series", call, "s_0.cbf"))
            right = 0;
        /* Once the disk is well again all frames are there. */
        right = right && (st || hcy_stack_get_info(stack)->frames == 3);
        for (uint64_t i = 0; !st && i < 3; i++) {
            int32_t pixels[PIXELS];
            size_t size;
            sum = 14695981039346656037u;
            if (hcy_stack_read(&size, pixels, sizeof pixels, stack, i))
                right = 0;
            else
                mix(&sum, pixels, size);
            right = right && sum == sound[i];
        }
        hcy_stack_close(stack);
    }
    ok(right && told && told < n, "a series whose opening fails to read, %ld times: %d are told so, no frame is lost", n,
       told);
}

/* A folder whose entries cannot all be read has no shorter series in it. */
static void test_folders(void)
{
    hcy_stack *stack = NULL;
    char **paths = NULL;
    size_t n = 0;
    for (int entry = 1; entry < 4; entry += 2) {
        failing_entry = entry;
        int st = hcy_stack_open(&stack, in_folder("s_%d.cbf"), NULL);
        ok(is_answer(st, 0, "series", entry, "s_%d.cbf"), "a series whose folder fails at entry %d", entry);
        hcy_stack_close(stack);
        failing_entry = entry;
        st = hcy_files_find(&paths, &n, folder);
        ok(is_answer(st, 0, "folder", entry, folder), "... and all that is in it");
        hcy_list_free(paths);
    }
    failing_entry = 0;
}

/* --- Files --- */

static void put_text(const char *name, const char *text)
{
    put_file(in_folder(name), text, strlen(text));
}

static void make_edf(const char *name)
{
    struct bytes b = { NULL, 0 };
    for (uint64_t i = 0; i < 3; i++)
        add_edf(&b, &types[1], i, i == 1);
    put_bytes(in_folder(name), &b);
}

static void make_texts(void)
{
    put_text("a.poni", "poni_version: 2.1\nDetector: Pilatus100k\nDetector_config: {\"orientation\": 3}\nDistance: 0.1\n"
                       "Poni1: 0.01\nPoni2: 0.02\nRot1: 0\nRot2: 0\nRot3: 0\nWavelength: 1e-10\n");
    put_text("a.json", "{\"application\": \"worker\", \"version\": 5, \"poni\": {\"poni_version\": 2.1, \"dist\": 0.3, "
                       "\"poni1\": 0, \"poni2\": 0, \"rot1\": 0, \"rot2\": 0, \"rot3\": 0, \"detector\": \"Pilatus100k\", "
                       "\"detector_config\": {}, \"wavelength\": 1e-10}, \"nbpt_rad\": 10, \"unit\": \"q_nm^-1\"}");
    put_text("a.dat", "# == pyFAI calibration ==\n#       q_nm^-1             I\n0.1 1\n0.2 2\n0.3 4\n");
    put_text("a.chi", "title\nq (nm-1)\nintensity\n       3\n 0.1 1\n 0.2 2\n 0.3 4\n");
    put_text("a.txt", "1\n2\n3\n");
    put_text("a.lst", "a.edf\na.tif\n");
}

static void make_arrays(void)
{
    static double numbers[] = { 1, 2, 3, 4, 5, 6 };
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    a.rank = 1;
    a.shape[0] = 6;
    a.data = numbers;
    if (hcy_host_array_write(&a, in_folder("n.npy")) || hcy_host_array_write(&a, in_folder("n.npz")) ||
        hcy_host_array_write(&a, in_folder("n.cfl")))
        bail_out("no array: %s", hcy_last_error()->text);
    static const char pixels[2 * 3 * 5 * 4];
    put_npy(in_folder("a.npy"), 1, "{'descr': '<u4', 'fortran_order': False, 'shape': (2, 3, 5), }", pixels,
            sizeof pixels);
}

#ifdef HAVE_ZLIB
/* The archive n.npz with its one member deflated, as numpy.savez_compressed() has it. */
static void make_deflated(const char *name)
{
    enum { LOCAL = 30 + 9, REST = 46 + 9 + 22 };
    unsigned char from[1024], to[1024];
    FILE *f = fopen(in_folder("n.npz"), "rb");
    size_t n = f ? fread(from, 1, sizeof from, f) : 0;
    if (!f || fclose(f) || n <= LOCAL + REST || n == sizeof from)
        bail_out("n.npz cannot be read");
    z_stream z = { .next_in = from + LOCAL, .avail_in = (uInt)(n - LOCAL - REST), .next_out = to + LOCAL,
                   .avail_out = sizeof to - LOCAL - REST };
    if (deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK || deflate(&z, Z_FINISH) != Z_STREAM_END)
        bail_out("zlib does not work");
    deflateEnd(&z);
    unsigned char *rest = memcpy(to + LOCAL + z.total_out, from + n - REST, REST);
    memcpy(to, from, LOCAL);
    to[8] = rest[10] = 8; /* the method; below the sizes, and where the directory begins */
    put_number(to + 18, (uint32_t)z.total_out, 0);
    put_number(rest + 20, (uint32_t)z.total_out, 0);
    put_number(rest + 46 + 9 + 16, (uint32_t)(LOCAL + z.total_out), 0);
    put_file(in_folder(name), to, LOCAL + z.total_out + REST);
}
#endif

#ifdef HAVE_HDF5
static void make_h5(const char *name)
{
    const hcy_stack_info info = { .height = HEIGHT, .width = WIDTH, .pixel_type = HCY_PIXEL_U16, .elem_size = 2 };
    hcy_stack_writer_options opts = HCY_STACK_WRITER_OPTIONS_INIT;
    hcy_stack_writer *writer = NULL;
    uint16_t pixels[PIXELS];
    opts.frames = 3;
    opts.height = HEIGHT;
    opts.width = WIDTH;
    opts.pixel_type = HCY_PIXEL_U16;
    opts.codec = HCY_CODEC_BSLZ4;
    int st = hcy_stack_create(&writer, in_folder(name), &opts);
    for (uint64_t i = 0; !st && i < 3; i++) {
        make_frame(pixels, &info, i);
        st = hcy_stack_write(writer, i, pixels);
    }
    if (st || hcy_stack_writer_close(writer))
        bail_out("no file: %s", hcy_last_error()->text);
}
#endif

int main(void)
{
#ifndef __GLIBC__
    skip_all("streams over reads of one's own are glibc's");
#endif
    make_folder();
    make_texts();
    make_arrays();
    make_edf("a.edf");
    make_cbf(in_folder("a.cbf"), 1);
    check_file("a.npy", use_stack);
    check_file("n.npy", use_array);
    check_file("n.npz", use_array);
    check_file("n.cfl", use_array);
#ifdef HAVE_ZLIB
    make_deflated("z.npz");
    check_file("z.npz", use_array);
#endif
    check_file("n.npy", use_numbers);
    check_file("a.txt", use_numbers);
    check_file("a.edf", use_stack);
    check_file("a.cbf", use_stack);
    check_file("a.cbf", use_image);
    make_fit2d_mask(in_folder("a.msk"), WIDTH, HEIGHT * 4);
    check_file("a.msk", use_image);
    check_file("a.dat", use_results);
    check_file("a.chi", use_results);
    check_file("a.poni", use_poni);
    check_file("a.lst", use_list);
#ifdef HAVE_JANSSON
    check_file("a.json", use_config);
#endif
#ifdef HAVE_TIFF
    make_tiff(in_folder("a.tif"), &types[1], 3, 0, 0);
    make_tiff(in_folder("tiles.tif"), &types[1], 2, 1, 16);
    check_file("a.tif", use_stack);
    check_file("tiles.tif", use_stack);
#endif
#ifdef HAVE_HDF5
    make_h5("a.h5");
    check_file("a.h5", use_stack);
#endif
    test_series();
    test_folders();
    return done_testing();
}
