/* mutations.c - damaged chunks and damaged HDF5 files: no crash, no hang, and no frame called good whose pixels
 * are not those of a strict decoder, in every SIMD variant.
 *
 *     tests/mutations [CHUNKS [FILES [SEED]]]        (500, 500, 1; more by hand, see doc/hardening.md)
 *
 * Files are opened in children, a few at a time: what a child does not survive, or not in time, is a failure
 * with the number of its mutation.
 */
#include "bslz4_ref.h"
#include "mutate.h"
#include "stack_read.h"
#include <errno.h>
#include <sys/wait.h>

enum { ELEM = 4, HEIGHT = 60, WIDTH = 83, IMAGE = ELEM * HEIGHT * WIDTH, FILES_A_CHILD = 25, SECONDS = 60 };

static const char *const devices[] = { "cpu@threads=1@simd=portable", "cpu@threads=2@simd=avx2",
                                       "cpu@threads=2" };
enum { N_DEVICES = sizeof devices / sizeof devices[0] };
static hcy_queue *queues[N_DEVICES];
/* --- Chunks --- */

static int same_verdict(const hcy_bslz4_job *job, const uint8_t *chunk, size_t size, int *good)
{
    uint8_t *want = malloc(job->image_bytes), *got = malloc(job->image_bytes);
    int strict = strict_chunk(want, job->image_bytes, job->elem_size, chunk, size), same = 1;
    *good = !strict;
    for (int d = 0; d < N_DEVICES; d++) {
        hcy_span span = { chunk, size };
        hcy_frame_report report = { 0 };
        if (!queues[d])
            continue;
        int st = hcy_bslz4_decode(got, &report, queues[d], job, &span, 1);
        if (!st != !strict || st != report.status || (!st && memcmp(got, want, job->image_bytes))) {
            diag("%s: status %d, strict decoder %d", devices[d], st, strict);
            same = 0;
        }
    }
    free(want);
    free(got);
    return same;
}

static void test_chunks(size_t n)
{
    hcy_bslz4_job job = { HCY_CODEC_BSLZ4, ELEM, IMAGE, 0, 0 };
    hcy_stack_info info = {
        .height = HEIGHT, .width = WIDTH, .pixel_type = HCY_PIXEL_U32, .elem_size = ELEM
    };
    size_t bound = 0, size = 0, wrong = 0, n_good = 0;
    static uint8_t pixels[IMAGE];
    make_frame(pixels, &info, 1);
    if (hcy_bslz4_encode_bound(&bound, &job))
        bail_out("no bound");
    uint8_t *whole = malloc(bound);
    if (hcy_bslz4_encode(&size, whole, bound, &job, pixels))
        bail_out("no chunk");
    for (size_t i = 0; i < n; i++) {
        uint8_t *chunk = malloc(size);
        int good;
        memcpy(chunk, whole, size);
        size_t left = mutate(chunk, size);
        chunk = realloc(chunk, left); /* so that a sanitizer sees its end */
        if (!same_verdict(&job, chunk, left, &good)) {
            diag("mutation %zu", i);
            wrong++;
        }
        n_good += (size_t)good;
        free(chunk);
    }
    free(whole);
    diag("%zu chunks, %zu of them still decode", n, n_good);
    is_int((intmax_t)wrong, 0, "%zu damaged chunks: what a strict decoder says of them", n);
}

static int open_devices(void)
{
    for (int d = 0; d < N_DEVICES; d++) {
        hcy_device *device = NULL;
        if (!hcy_device_open(&device, devices[d]) && hcy_queue_create(&queues[d], device))
            return 0;
        hcy_device_release(device);
    }
    return queues[0] != NULL;
}

static void close_devices(void)
{
    for (int d = 0; d < N_DEVICES; d++) {
        hcy_queue_release(queues[d]);
        queues[d] = NULL;
    }
}

/* --- Files --- */

#ifdef HAVE_HDF5
static int frames_are_right(hcy_stack *stack)
{
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    hcy_bslz4_job job = job_of(info);
    int right = 1, good;
    if (info->max_chunk > 1 << 24 || info->frame_bytes > 1 << 24)
        return 1;
    uint8_t *chunk = malloc(info->max_chunk + 1);
    for (uint64_t f = 0; f < info->frames && f < 8; f++) {
        size_t size = 0;
        if (hcy_stack_read(&size, chunk, info->max_chunk, stack, f) || info->codec != HCY_CODEC_BSLZ4)
            continue;
        uint8_t *tight = malloc(size ? size : 1);
        memcpy(tight, chunk, size);
        right = right && same_verdict(&job, tight, size, &good);
        free(tight);
    }
    free(chunk);
    return right;
}

/* Mutations [first, last) in this process; exits with what is wrong. */
static int try_files(const uint8_t *whole, size_t size, uint64_t seed, size_t first, size_t last)
{
    const char *path = in_folder("mutated.h5");
    uint8_t *file = malloc(size);
    int right = open_devices();
    for (size_t i = first; i < last && right; i++) {
        hcy_stack *stack = NULL;
        state = seed + i * 0x9e3779b97f4a7c15u;
        memcpy(file, whole, size);
        size_t left = mutate(file, size);
        put_file(path, file, left);
        if (!hcy_stack_open(&stack, path, NULL))
            right = frames_are_right(stack);
        if (!right)
            diag("file %zu", i);
        hcy_stack_close(stack);
    }
    close_devices();
    free(file);
    return right;
}

/* 0: the child came back and was content; else the mutation to blame is found one by one. */
static int in_child(const uint8_t *whole, size_t size, uint64_t seed, size_t first, size_t last)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        alarm(SECONDS);
        int right = try_files(whole, size, seed, first, last);
        fflush(stdout);
        _exit(right ? 0 : 1);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return child < 0 || status;
}

static void test_files(size_t n, uint64_t seed)
{
    hcy_stack_writer_options opts = HCY_STACK_WRITER_OPTIONS_INIT;
    hcy_stack_writer *writer = NULL;
    hcy_stack_info info = { .height = 24, .width = 31, .pixel_type = HCY_PIXEL_U32, .elem_size = ELEM };
    static uint8_t pixels[24 * 31 * ELEM], whole[1 << 16];
    size_t wrong = 0;
    opts.frames = 4;
    opts.height = info.height;
    opts.width = info.width;
    opts.pixel_type = info.pixel_type;
    opts.codec = HCY_CODEC_BSLZ4;
    int st = hcy_stack_create(&writer, in_folder("whole.h5"), &opts);
    for (uint64_t i = 0; !st && i < opts.frames; i++) {
        make_frame(pixels, &info, i);
        st = hcy_stack_write(writer, i, pixels);
    }
    is_int(st ? st : hcy_stack_writer_close(writer), 0, "a small file");
    FILE *in = fopen(in_folder("whole.h5"), "rb");
    size_t size = in ? fread(whole, 1, sizeof whole, in) : 0;
    if (!size || fclose(in))
        bail_out("the small file cannot be read");
    for (size_t i = 0; i < n; i += FILES_A_CHILD) {
        size_t end = n - i < FILES_A_CHILD ? n : i + FILES_A_CHILD;
        if (!in_child(whole, size, seed, i, end))
            continue;
        for (size_t k = i; k < end; k++)
            if (in_child(whole, size, seed, k, k + 1)) {
                diag("file %zu of seed %llu", k, (unsigned long long)seed);
                wrong++;
            }
    }
    is_int((intmax_t)wrong, 0, "%zu damaged files: no crash, no hang, no wrong pixels", n);
}
#endif

static size_t argument(int argc, char **argv, int i, size_t usual)
{
    return argc > i ? strtoul(argv[i], NULL, 10) : usual;
}

int main(int argc, char **argv)
{
    size_t n_chunks = argument(argc, argv, 1, 500), n_files = argument(argc, argv, 2, 500);
    uint64_t seed = argument(argc, argv, 3, 1);
    make_folder();
#ifdef HAVE_HDF5
    test_files(n_files, seed); /* before any device is open: its children open their own */
#else
    (void)n_files;
#endif
    state = seed;
    if (!open_devices())
        bail_out("no CPU: %s", hcy_last_error()->text);
    test_chunks(n_chunks);
    close_devices();
    return done_testing();
}
