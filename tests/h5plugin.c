/* h5plugin.c - the HDF5 filters, loaded by HDF5: what they write the stack reader reads and the other way
 * round, the files of others, any element size, many threads, damage. */
#include "stack_read.h"
#include <dlfcn.h>
#include <pthread.h>
#ifdef HAVE_HDF5
#include "../h5plugin/host.h"
#define H5Dread_chunk_vers 1 /* that of HDF5 2 has an argument more */
#include <hdf5.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { INSTRUMENTED = 1 };
#else
enum { INSTRUMENTED = 0 };
#endif

static char plugins[512];

static hid_t open_file(const char *name, int create)
{
    return create ? H5Fcreate(in_folder(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)
                  : H5Fopen(in_folder(name), H5F_ACC_RDWR, H5P_DEFAULT);
}

/* A dataset of n rows, chunked by rows; negative if HDF5 refuses. */
static hid_t create(hid_t file, const char *name, hid_t type, hsize_t n, hsize_t columns, int filter,
                    size_t n_values, const unsigned *values)
{
    hsize_t dims[2] = { n, columns }, chunk[2] = { 1, columns };
    hid_t space = H5Screate_simple(2, dims, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plist, 2, chunk);
    H5Pset_filter(plist, filter, H5Z_FLAG_MANDATORY, n_values, values);
    hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    H5Pclose(plist);
    H5Sclose(space);
    return dataset;
}

static void fill(uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(i % 101 == 7 ? i * 2654435761u >> 11 : (i * 40503u >> 9) & 3);
}

/* --- Any element size --- */

static int stored_values(hid_t dataset, const unsigned *want, size_t n)
{
    unsigned values[16], flags, config;
    size_t found = 16;
    hid_t plist = H5Dget_create_plist(dataset);
    H5Pget_filter2(plist, 0, &flags, &found, values, 0, NULL, &config);
    H5Pclose(plist);
    return found == n && !memcmp(values, want, n * sizeof *values);
}

static void round_trip(size_t size, hsize_t columns, int filter, size_t n, const unsigned *values)
{
    enum { ROWS = 2 };
    size_t bytes = ROWS * (size_t)columns * size;
    uint8_t *in = malloc(bytes), *out = calloc(1, bytes);
    unsigned want[8] = { 0, 4, (unsigned)size };
    hid_t file = open_file("any.h5", 1), type = H5Tcreate(H5T_OPAQUE, size);
    hid_t dataset = create(file, "d", type, ROWS, columns, filter, n, values);
    fill(in, bytes);
    memcpy(want + (filter == 32008 ? 3 : 0), values, n * sizeof *values);
    herr_t written = H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, in);
    int recorded = stored_values(dataset, want, n + (filter == 32008 ? 3 : 0));
    H5Dclose(dataset);
    H5Fclose(file);
    file = open_file("any.h5", 0);
    dataset = H5Dopen2(file, "d", H5P_DEFAULT);
    herr_t read = H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
    ok(written >= 0 && read >= 0 && recorded && !memcmp(in, out, bytes),
       "filter %d, values %u %u, %d elements of %zu bytes", filter, n ? values[0] : 0, n > 1 ? values[1] : 0,
       (int)columns, size);
    H5Dclose(dataset);
    H5Tclose(type);
    H5Fclose(file);
    free(in);
    free(out);
}

static void test_sizes(void)
{
    static const size_t sizes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 40 };
    static const struct {
        int filter;
        size_t n;
        unsigned values[3];
    } filters[] = {
        { 32008, 0, { 0 } },       { 32008, 2, { 0, 2 } }, { 32008, 2, { 72, 2 } }, { 32008, 2, { 1024, 0 } },
#ifdef HAVE_ZSTD
        { 32008, 3, { 0, 3, 5 } },
#endif
        { 32004, 0, { 0 } },       { 32004, 1, { 1000 } },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (size_t k = 0; k < sizeof filters / sizeof filters[0]; k++) {
            round_trip(sizes[i], 5, filters[k].filter, filters[k].n, filters[k].values);
            round_trip(sizes[i], 5003, filters[k].filter, filters[k].n, filters[k].values);
        }
}

/* H5Dcreate2 with these values: HDF5 refuses. */
static void test_refused(void)
{
    static const unsigned bad[][2] = { { 12, 2 }, { 0, 1 }, { 0, 7 } };
    hid_t file = open_file("bad.h5", 1);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        hid_t dataset = create(file, "d", H5T_NATIVE_UINT, 1, 64, 32008, 2, bad[i]);
        ok(dataset < 0, "values %u, %u are refused when a dataset is created", bad[i][0], bad[i][1]);
    }
    H5Fclose(file);
}

/* A dataset with the properties of another one, as h5repack and h5py make it, whose values were completed before. */
static void test_again(void)
{
    static const struct {
        size_t n;
        unsigned values[3], want[6];
    } cases[] = { { 0, { 0 }, { 0, 4, 4 } },
                  { 2, { 64, 2 }, { 0, 4, 4, 64, 2 } },
                  { 3, { 0, 2, 4 }, { 0, 4, 4, 0, 2, 4 } } };
    hid_t file = open_file("again.h5", 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hsize_t dims[2] = { 1, 64 };
        unsigned pixels[64], back[64] = { 0 };
        static const char *const names[][2] = { { "a", "d" }, { "b", "e" }, { "c", "f" } };
        hid_t first = create(file, names[i][0], H5T_NATIVE_UINT, 1, 64, 32008, cases[i].n, cases[i].values),
              plist = H5Dget_create_plist(first), space = H5Screate_simple(2, dims, NULL),
              again = H5Dcreate2(file, names[i][1], H5T_NATIVE_UINT, space, H5P_DEFAULT, plist, H5P_DEFAULT);
        fill((uint8_t *)pixels, sizeof pixels);
        ok(again >= 0 && stored_values(again, cases[i].want, 3 + cases[i].n) &&
               H5Dwrite(again, H5T_NATIVE_UINT, H5S_ALL, H5S_ALL, H5P_DEFAULT, pixels) >= 0 &&
               H5Dread(again, H5T_NATIVE_UINT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back) >= 0 &&
               !memcmp(back, pixels, sizeof pixels),
           "%zu values that were given, and are given again as they are stored", cases[i].n);
        H5Dclose(again);
        H5Sclose(space);
        H5Pclose(plist);
        H5Dclose(first);
    }
    H5Fclose(file);
}

/* --- With the stack reader and writer --- */

static hcy_queue *queue;

static void test_stack_reads(uint32_t codec, int filter, size_t n, const unsigned *values)
{
    enum { FRAMES = 3, SIDE = 93 };
    hcy_stack *stack = NULL;
    hsize_t dims[3] = { FRAMES, SIDE, SIDE }, chunk[3] = { 1, SIDE, SIDE };
    static uint32_t pixels[FRAMES][SIDE * SIDE], got[SIDE * SIDE];
    static uint8_t bytes[2 * sizeof got];
    fill((uint8_t *)pixels, sizeof pixels);
    hid_t file = open_file("ours.h5", 1), space = H5Screate_simple(3, dims, NULL);
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plist, 3, chunk);
    H5Pset_filter(plist, filter, H5Z_FLAG_MANDATORY, n, values);
    hid_t dataset = H5Dcreate2(file, "data", H5T_STD_U32LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    H5Dwrite(dataset, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, pixels);
    H5Dclose(dataset);
    H5Pclose(plist);
    H5Sclose(space);
    H5Fclose(file);
    if (!is_int(hcy_stack_open(&stack, in_folder("ours.h5"), NULL), 0, "filter %d: the stack opens", filter))
        return;
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    hcy_bslz4_job job = job_of(info);
    is_int(info->codec, codec, "filter %d: as codec %u", filter, codec);
    ok(info->direct, "filter %d: read as it is stored", filter);
    for (uint64_t i = 0; i < FRAMES; i++) {
        hcy_span span = { bytes, 0 };
        int st = hcy_stack_read(&span.size, bytes, sizeof bytes, stack, i);
        if (!st)
            st = hcy_bslz4_decode(got, NULL, queue, &job, &span, 1);
        ok(!st && !memcmp(got, pixels[i], sizeof got), "filter %d: frame %d is what HDF5 wrote", filter,
           (int)i);
    }
    hcy_stack_close(stack);
}

static void test_stack_writes(uint32_t pixel_type, hid_t type, size_t size)
{
    enum { FRAMES = 2, HEIGHT = 37, WIDTH = 53, N = HEIGHT * WIDTH };
    hcy_stack_writer_options opts = HCY_STACK_WRITER_OPTIONS_INIT;
    hcy_stack_writer *writer = NULL;
    static uint8_t pixels[FRAMES][N * 8], got[FRAMES * N * 8];
    fill((uint8_t *)pixels, sizeof pixels);
    opts.frames = FRAMES;
    opts.height = HEIGHT;
    opts.width = WIDTH;
    opts.pixel_type = pixel_type;
    opts.codec = HCY_CODEC_BSLZ4;
    int st = hcy_stack_create(&writer, in_folder("theirs.h5"), &opts);
    for (uint64_t i = 0; !st && i < FRAMES; i++)
        st = hcy_stack_write(writer, i, pixels[i]);
    is_int(st ? st : hcy_stack_writer_close(writer), 0, "a stack of pixels of %zu bytes", size);
    hid_t file = open_file("theirs.h5", 0), dataset = H5Dopen2(file, "/entry/data/data", H5P_DEFAULT);
    int right = H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) >= 0;
    for (size_t i = 0; i < FRAMES; i++)
        right &= !memcmp(got + i * N * size, pixels[i], N * size);
    ok(right, "HDF5 reads it through the filter");
    H5Dclose(dataset);
    H5Fclose(file);
}

/* --- Files of others --- */

static herr_t one_regression(hid_t group, const char *name, const H5L_info_t *link, void *data)
{
    (void)link;
    hid_t plain = H5Dopen2(group, name, H5P_DEFAULT), coded = H5Dopen2(*(hid_t *)data, name, H5P_DEFAULT);
    hid_t type = H5Dget_type(plain), space = H5Dget_space(plain);
    size_t bytes = H5Tget_size(type) * (size_t)H5Sget_simple_extent_npoints(space);
    uint8_t *want = malloc(bytes), *got = calloc(1, bytes);
    int read = H5Dread(plain, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, want) >= 0 &&
               H5Dread(coded, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) >= 0;
    ok(read && !memcmp(want, got, bytes), "bitshuffle's own %s, elements of %zu bytes", name,
       H5Tget_size(type));
    free(want);
    free(got);
    H5Sclose(space);
    H5Tclose(type);
    H5Dclose(plain);
    H5Dclose(coded);
    return 0;
}

static void test_regression(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "detector/%s", name);
    const char *there = test_data(path);
    hid_t file = there ? H5Fopen(there, H5F_ACC_RDONLY, H5P_DEFAULT) : -1;
    if (file < 0) {
        skip(1, "%s is not there", name);
        return;
    }
    hid_t plain = H5Gopen2(file, "original", H5P_DEFAULT), coded = H5Gopen2(file, "compressed", H5P_DEFAULT);
    ok(H5Literate(plain, H5_INDEX_NAME, H5_ITER_INC, NULL, one_regression, &coded) >= 0, "all of %s", name);
    H5Gclose(plain);
    H5Gclose(coded);
    H5Fclose(file);
}

/* --- Another program --- */

static void test_h5dump(void)
{
    char command[2048];
    static uint32_t pixels[4][1000], got[4][1000];
    const unsigned values[2] = { 0, 2 };
    if (INSTRUMENTED || system("command -v h5dump >/dev/null 2>&1")) {
        skip(2, "h5dump is not installed, or not made for sanitizers");
        return;
    }
    hid_t file = open_file("dump.h5", 1);
    hid_t dataset = create(file, "d", H5T_NATIVE_UINT32, 4, 1000, 32008, 2, values);
    fill((uint8_t *)pixels, sizeof pixels);
    H5Dwrite(dataset, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, pixels);
    H5Dclose(dataset);
    H5Fclose(file);
    snprintf(command, sizeof command, "HDF5_PLUGIN_PATH='%s' h5dump -d d -b NATIVE -o '%s' '%s' >'%s' 2>&1",
             plugins, in_folder("dump.bin"), in_folder("dump.h5"), in_folder("dump.log"));
    is_int(system(command), 0, "h5dump");
    FILE *f = fopen(in_folder("dump.bin"), "rb");
    ok(f && fread(got, 1, sizeof got, f) == sizeof got && !memcmp(got, pixels, sizeof got),
       "h5dump reads the pixels through the filter");
    if (f)
        fclose(f);
}

/* --- The filter's function itself --- */

static const h5_filter *load(const char *name)
{
    char path[600];
    const void *(*info)(void);
    snprintf(path, sizeof path, "%s/%s", plugins, name);
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin)
        bail_out("%s", dlerror());
    *(void **)&info = dlsym(plugin, "H5PLget_plugin_info");
    return info();
}

struct thread {
    pthread_t id;
    const h5_filter *filter;
    unsigned number;
    int wrong;
};

static void *many_chunks(void *data)
{
    enum { N = 40000 };
    struct thread *t = data;
    const unsigned values[5] = { 0, 4, 1u << t->number % 4, 0, t->number & 4 ? 2 : 0 };
    uint8_t *want = malloc(N);
    fill(want, N);
    for (size_t i = 0; i < N; i += 7)
        want[i] ^= (uint8_t)t->number;
    for (int i = 0; i < 60; i++) {
        size_t room = N;
        void *buf = malloc(N);
        memcpy(buf, want, N);
        size_t coded = t->filter->run(0, 5, values, N, &room, &buf);
        size_t n = coded ? t->filter->run(H5_REVERSE, 5, values, coded, &room, &buf) : 0;
        t->wrong += n != N || room < N || memcmp(buf, want, N);
        free(buf);
    }
    free(want);
    return NULL;
}

static void test_threads(const h5_filter *filter)
{
    struct thread threads[8];
    int wrong = 0;
    for (unsigned i = 0; i < 8; i++) {
        threads[i] = (struct thread){ .filter = filter, .number = i };
        if (pthread_create(&threads[i].id, NULL, many_chunks, &threads[i]))
            bail_out("no thread");
    }
    for (unsigned i = 0; i < 8; i++) {
        pthread_join(threads[i].id, NULL);
        wrong += threads[i].wrong;
    }
    is_int(wrong, 0, "8 threads code and decode chunks of their own");
}

/* --- Damage --- */

static herr_t find_words(unsigned n, const H5E_error2_t *error, void *found)
{
    (void)n;
    if (error->desc && strstr(error->desc, "chunk"))
        *(int *)found = 1;
    return 0;
}

/* A chunk that ends early: the dataset's other rows can still be read. */
static void test_damage(int filter, size_t n, const unsigned *values)
{
    enum { COLUMNS = 3000 };
    static uint32_t pixels[2][COLUMNS], got[COLUMNS];
    static uint8_t chunk[8 * COLUMNS];
    hid_t file = open_file("damage.h5", 1);
    hid_t dataset = create(file, "d", H5T_NATIVE_UINT32, 2, COLUMNS, filter, n, values);
    hsize_t at[2] = { 0, 0 }, count[2] = { 1, COLUMNS }, size = 0;
    uint32_t mask = 0;
    int words = 0;
    fill((uint8_t *)pixels, sizeof pixels);
    H5Dwrite(dataset, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, pixels);
    H5Dget_chunk_storage_size(dataset, at, &size);
    if (!size || size > sizeof chunk || H5Dread_chunk(dataset, H5P_DEFAULT, at, &mask, chunk) < 0)
        bail_out("the chunk cannot be read as it is");
    H5Dclose(dataset);
    H5Fclose(file);
    file = open_file("damage.h5", 0);
    dataset = H5Dopen2(file, "d", H5P_DEFAULT);
    H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, at, size - 9, chunk);
    hid_t space = H5Dget_space(dataset), memory = H5Screate_simple(2, count, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, at, NULL, count, NULL);
    ok(H5Dread(dataset, H5T_NATIVE_UINT32, memory, space, H5P_DEFAULT, got) < 0,
       "filter %d: a damaged chunk is an error of HDF5's", filter);
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, find_words, &words);
    ok(words, "filter %d: whose stack says what is wrong", filter);
    at[0] = 1;
    H5Sselect_hyperslab(space, H5S_SELECT_SET, at, NULL, count, NULL);
    ok(H5Dread(dataset, H5T_NATIVE_UINT32, memory, space, H5P_DEFAULT, got) >= 0 &&
           !memcmp(got, pixels[1], sizeof got),
       "filter %d: the next chunk is read", filter);
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(dataset);
    H5Fclose(file);
}

/* Headers that promise more than there is: refused before memory is asked for. */
static void test_promises(const h5_filter *filter)
{
    const unsigned values[5] = { 0, 4, 4, 0, 2 };
    for (unsigned i = 0; i < 8; i++) {
        size_t room = 64;
        uint8_t *chunk = calloc(1, room);
        chunk[i] = 0x7f;
        chunk[10] = 0x20;
        void *buf = chunk;
        ok(!filter->run(H5_REVERSE, 5, values, 64, &room, &buf) && buf == chunk && room == 64,
           "a promise of 2^%u bytes: refused, the chunk left alone", 62 - 8 * i);
        free(buf);
    }
}

/* A chunk that is too short, in a buffer as large as it should be decoded: what is lacking can be read, and is 0. */
static void test_short(const h5_filter *filter)
{
    enum { SHORT = 1000, ALL = 40000 };
    static const unsigned values[2][5] = { { 0, 4, 4, 0, 0 }, { 0, 4, 4, 0, 2 } };
    for (int coded = 0; coded < 2; coded++) {
        size_t room = ALL, n = SHORT;
        uint8_t *chunk = calloc(1, room), *pixels = malloc(SHORT);
        void *buf = chunk;
        fill(pixels, SHORT);
        memcpy(chunk, pixels, SHORT);
        if (coded)
            n = filter->run(0, 5, values[coded], SHORT, &room, &buf);
        buf = realloc(buf, ALL);
        memset((char *)buf + n, 0x55, ALL - n);
        room = ALL;
        ok(filter->run(H5_REVERSE, 5, values[coded], n, &room, &buf) == SHORT && room >= ALL,
           "a short chunk, %s: its buffer stays as large as it was", coded ? "coded" : "not coded");
        int zeros = 1;
        for (size_t i = SHORT; i < ALL; i++)
            zeros &= !((char *)buf)[i];
        ok(zeros, "what it lacks is 0");
        free(pixels);
        free(buf);
    }
}

int main(void)
{
    const char *build = getenv("top_builddir");
    hcy_device *device = NULL;
    snprintf(plugins, sizeof plugins, "%s/.libs", build ? build : ".");
    char path[600];
    snprintf(path, sizeof path, "%s/libh5halcyon.so", plugins);
    if (access(path, R_OK))
        skip_all("the filters are shared libraries, and this build has none");
    setenv("HDF5_PLUGIN_PATH", plugins, 1);
    make_folder();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (hcy_device_open(&device, "cpu@threads=1") || hcy_queue_create(&queue, device))
        bail_out("no CPU: %s", hcy_last_error()->text);
    ok(H5Zfilter_avail(32008) > 0 && H5Zfilter_avail(32004) > 0, "HDF5 finds both filters");
    test_sizes();
    test_refused();
    test_again();
    test_stack_reads(HCY_CODEC_BSLZ4, 32008, 2, (const unsigned[]){ 0, 2 });
    test_stack_reads(HCY_CODEC_BSLZ4, 32008, 2, (const unsigned[]){ 512, 2 });
    test_stack_reads(HCY_CODEC_BITSHUFFLE, 32008, 1, (const unsigned[]){ 1024 });
    test_stack_reads(HCY_CODEC_LZ4, 32004, 1, (const unsigned[]){ 8192 });
    test_stack_writes(HCY_PIXEL_U8, H5T_NATIVE_UINT8, 1);
    test_stack_writes(HCY_PIXEL_U16, H5T_NATIVE_UINT16, 2);
    test_stack_writes(HCY_PIXEL_I32, H5T_NATIVE_INT32, 4);
    test_stack_writes(HCY_PIXEL_F64, H5T_NATIVE_DOUBLE, 8);
    test_regression("regression_0.1.3.h5");
    test_regression("regression_0.4.0.h5");
    test_h5dump();
    const h5_filter *filter = load("libh5halcyon.so");
    test_threads(filter);
    test_short(filter);
    test_damage(32008, 2, (const unsigned[]){ 0, 2 });
    test_damage(32008, 1, (const unsigned[]){ 0 });
    test_damage(32004, 1, (const unsigned[]){ 4096 });
    test_promises(filter);
    hcy_queue_release(queue);
    hcy_device_release(device);
    return done_testing();
}
#else
int main(void)
{
    skip_all("this build has no HDF5");
}
#endif
