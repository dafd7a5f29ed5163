/* bslz4_decode.c - the kernel through the HAL, on the CPU with one thread and two and with each SIMD variant:
 * batches with damaged frames among good ones, tables that lie, and the files of the test data.
 */
#include "sha256.h"
#include "tap.h"
#include <halcyon/bslz4.h>
#ifdef HAVE_HDF5
#define H5Dread_chunk_vers 1 /* that of HDF5 2 has an argument more */
#include <hdf5.h>
#endif

static const char *const specs[] = { "cpu@threads=1", "cpu@threads=2", "cpu@threads=2@simd=portable",
                                     "cpu@threads=2@simd=avx2", "cpu@threads=2@simd=avx512" };

/* Frames of SIDE x SIDE pixels of 4 bytes are BLOCKS blocks of 8192 bytes. */
enum { SIDE = 900, N = 5, BLOCKS = 396 };
static const hcy_bslz4_job job = { HCY_CODEC_BSLZ4, 4, (uint64_t)SIDE * SIDE * 4, 0, 0 };

/* Frame i: counts, gaps; every frame differs. */
static uint32_t *make_image(unsigned i)
{
    uint32_t *image = malloc(job.image_bytes), r = i + 1;
    for (size_t k = 0; k < (size_t)SIDE * SIDE; k++) {
        r = r * 1664525 + 1013904223;
        image[k] = k % SIDE > 700 && k % SIDE < 711 ? UINT32_MAX : r >> 30;
    }
    return image;
}

static void make_chunk(hcy_span *chunk, const uint32_t *image)
{
    size_t bound = 0, size = 0;
    if (hcy_bslz4_encode_bound(&bound, &job))
        bail_out("no bound: %s", hcy_last_error()->text);
    void *bytes = malloc(bound);
    if (hcy_bslz4_encode(&size, bytes, bound, &job, image))
        bail_out("no chunk: %s", hcy_last_error()->text);
    chunk->data = bytes;
    chunk->size = size;
}

/* Block b of a chunk made undecodable: it begins with a match. */
static void damage(const hcy_span *chunk, uint32_t b)
{
    static hcy_bslz4_block blocks[BLOCKS];
    hcy_bslz4_frame frame;
    if (hcy_bslz4_parse(&frame, blocks, BLOCKS, NULL, &job, chunk->data, chunk->size))
        bail_out("not parsed: %s", hcy_last_error()->text);
    memset((uint8_t *)chunk->data + blocks[b].offset, 0, 3);
}

static void test_batch(const char *spec, hcy_queue *queue)
{
    uint32_t *images[N];
    hcy_span chunks[N];
    hcy_frame_report r[N];
    uint8_t *out = malloc(N * job.image_bytes);
    for (unsigned i = 0; i < N; i++) {
        images[i] = make_image(i);
        make_chunk(&chunks[i], images[i]);
    }
    is_int(hcy_bslz4_decode(out, r, queue, &job, chunks, 0), HCY_EINVAL, "%s: no chunks", spec);
    ok(strstr(hcy_last_error()->text, "no chunks") != NULL, "which is said");
    is_int(hcy_bslz4_decode(out, r, queue, &job, chunks, N), 0, "%s: %d frames", spec, N);
    int bad = 0;
    for (unsigned i = 0; i < N; i++)
        bad += r[i].status || memcmp(out + i * job.image_bytes, images[i], job.image_bytes);
    is_int(bad, 0, "%s: are what went in", spec);
    damage(&chunks[1], 300);
    damage(&chunks[1], 70);
    damage(&chunks[1], 71);
    damage(&chunks[3], BLOCKS - 1);
    chunks[4].size -= 100;
    is_int(hcy_bslz4_decode(out, r, queue, &job, chunks, N), HCY_ECORRUPT, "%s: three of them damaged", spec);
    is_int(r[1].status, HCY_ECORRUPT, "%s: one in several blocks", spec);
    is_int(r[1].block, 70, "%s: the first is reported", spec);
    ok(r[1].byte > 12 && r[1].byte < chunks[1].size, "%s: with its place", spec);
    ok(r[3].status == HCY_ECORRUPT && r[3].block == BLOCKS - 1, "%s: one in its last, partial block", spec);
    ok(r[4].status == HCY_ECORRUPT && r[4].block >= BLOCKS - 2, "%s: one truncated", spec);
    for (unsigned i = 0; i < N; i += 2)
        if (i != 4)
            ok(!r[i].status && !memcmp(out + i * job.image_bytes, images[i], job.image_bytes),
               "%s: frame %u is untouched by that", spec, i);
    for (unsigned i = 0; i < N; i++) {
        free(images[i]);
        free((void *)chunks[i].data);
    }
    free(out);
}

/* Decodes a chunk: what is wrong with its image (0 or 1).  Other devices than the CPU may take less, and say so. */
static int wrong_image(const char *spec, hcy_queue *queue, const hcy_bslz4_job *j, const hcy_span *chunk,
                       const void *want, int *refused)
{
    uint8_t *got = calloc(1, j->image_bytes);
    int st = hcy_bslz4_decode(got, NULL, queue, j, chunk, 1), no = st == HCY_EUNSUPPORTED && strncmp(spec, "cpu", 3);
    int wrong = !no && (st || memcmp(got, want, j->image_bytes));
    *refused += no;
    free(got);
    return wrong;
}

static void say_refused(const char *spec, int refused, int of)
{
    if (refused)
        skip(1, "%s does not take %d of these %d (large blocks, or elements of a size that its kernels lack)", spec,
             refused, of);
}

/* Every codec, element size and an odd size, in one call each. */
static void test_codecs(const char *spec, hcy_queue *queue)
{
    int bad = 0, refused = 0;
    for (uint32_t codec = 0; codec < 4; codec++)
        for (uint32_t e = 1; e <= 8; e *= 2)
            for (uint32_t one = 0; one < 2; one++) { /* blocks of the default size, one block for all */
                hcy_bslz4_job j = { codec, e, 70003 * e, one ? 70008 * e : 0, 0 };
                uint8_t *image = malloc(j.image_bytes), *chunk;
                hcy_span span = { 0 };
                size_t bound = 0;
                for (size_t i = 0; i < j.image_bytes; i++)
                    image[i] = (uint8_t)(i % e ? 0 : i * i >> 7);
                bad += hcy_bslz4_encode_bound(&bound, &j) != 0;
                span.data = chunk = malloc(bound);
                bad += hcy_bslz4_encode(&span.size, chunk, bound, &j, image) ||
                       wrong_image(spec, queue, &j, &span, image, &refused);
                free(image);
                free(chunk);
            }
    is_int(bad, 0, "%s: every codec and element size", spec);
    say_refused(spec, refused, 4 * 4 * 2);
}

/* --- Streams that end as LZ4's description forbids --- */

/* liblz4 does not look closely at a short sequence that begins 32 bytes before the block's end: its match may go on up
 * there.  So all devices take it, and refuse what liblz4 does: one that overlaps itself, one that begins later. */
static const struct ending {
    const char *what;
    unsigned made, literals, offset; /* bytes from the end where the sequence begins; of it */
    int want;
} endings[] = { { "a short match at the end", 32, 12, 16, 0 },
                { "one that overlaps itself", 32, 12, 4, HCY_ECORRUPT },
                { "one that begins too late", 31, 11, 16, HCY_ECORRUPT } };
enum { PERIOD = 16, CHUNK_HEAD = 16, LAST = 2 };

static uint8_t repeated(size_t i)
{
    return (uint8_t)(i % PERIOD * 37 + 11);
}

static size_t put_repeated(uint8_t *to, size_t from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = repeated(from + i);
    return n;
}

/* A chunk of one block: a long match of what repeats, the sequence, and the last literals. */
static size_t make_ending(uint8_t *chunk, const struct ending *e, size_t bytes)
{
    const size_t begin = bytes - e->made;
    uint8_t *p = chunk + CHUNK_HEAD;
    *p++ = 0xff;
    *p++ = PERIOD - 15;
    p += put_repeated(p, 0, PERIOD);
    *p++ = PERIOD;
    *p++ = 0;
    size_t more = begin - PERIOD - 19;
    for (; more >= 255; more -= 255)
        *p++ = 255;
    *p++ = (uint8_t)more;
    *p++ = (uint8_t)(e->literals << 4 | 14);
    p += put_repeated(p, begin, e->literals);
    *p++ = (uint8_t)e->offset;
    *p++ = 0;
    *p++ = LAST << 4;
    p += put_repeated(p, bytes - LAST, LAST);
    /* Numbers begin with their highest byte. */
    const size_t coded = (size_t)(p - chunk) - CHUNK_HEAD;
    memset(chunk, 0, CHUNK_HEAD);
    chunk[6] = chunk[10] = (uint8_t)(bytes >> 8);
    chunk[7] = chunk[11] = (uint8_t)bytes;
    chunk[14] = (uint8_t)(coded >> 8);
    chunk[15] = (uint8_t)coded;
    return (size_t)(p - chunk);
}

/* What it decodes to: planes all alike are pixels of zeros or ones. */
static int is_repeated(const uint8_t *got, size_t bytes, int planes)
{
    for (size_t i = 0; i < bytes; i++)
        if (got[i] != (planes ? (repeated(i / 32) >> i / 4 % 8 & 1 ? 255 : 0) : repeated(i)))
            return 0;
    return 1;
}

static void test_endings(const char *spec, hcy_queue *queue)
{
    static const size_t sizes[] = { 1024, 8192 };
    uint8_t chunk[256], got[8192];
    for (size_t k = 0; k < sizeof endings / sizeof *endings; k++) {
        int bad = 0;
        for (int i = 0; i < 4; i++) {
            const size_t bytes = sizes[i / 2];
            const int planes = i % 2;
            const hcy_bslz4_job j = { planes ? HCY_CODEC_BSLZ4 : HCY_CODEC_LZ4, 4, bytes, 0, 0 };
            const hcy_span span = { chunk, make_ending(chunk, &endings[k], bytes) };
            const int st = hcy_bslz4_decode(got, NULL, queue, &j, &span, 1);
            bad += st != endings[k].want || (!st && !is_repeated(got, bytes, planes));
        }
        is_int(bad, 0, "%s: %s", spec, endings[k].what);
    }
}

/* Tables that no parse would make. */
static const struct lie {
    const char *what;
    hcy_bslz4_frame frame;
    hcy_bslz4_block block;
    int want;
} lies[] = {
    { "a chunk past the buffer", { 1 << 20, 30, 0, 1, 64, 64, 20, 0, 0, 0 }, { 16, 4 }, HCY_EINVAL },
    { "a chunk longer than the buffer", { 0, UINT64_MAX, 0, 1, 64, 64, 20, 0, 0, 0 }, { 16, 4 }, HCY_EINVAL },
    { "blocks past the table", { 0, 30, 7, 1, 64, 64, 20, 0, 0, 0 }, { 16, 4 }, HCY_EINVAL },
    { "too many blocks", { 0, 30, 0, UINT32_MAX, 64, 64, 20, 0, 0, 0 }, { 16, 4 }, HCY_EINVAL },
    { "more bytes than the image", { 0, 30, 0, 1, 128, 128, 20, 0, 0, 0 }, { 16, 4 }, HCY_EINVAL },
    { "fewer bytes than the image", { 0, 30, 0, 1, 32, 32, 20, 0, 0, 0 }, { 16, 4 }, HCY_EINVAL },
    { "a block of half a byte a plane", { 0, 30, 0, 1, 64, 60, 20, 4, 0, 0 }, { 16, 4 }, HCY_EINVAL },
    { "a tail past the chunk", { 0, 30, 0, 1, 32, 32, 20, 32, 0, 0 }, { 16, 4 }, HCY_EINVAL },
    { "a block of no bytes", { 0, 100, 0, 1, 0, 0, 20, 64, 0, 0 }, { 16, 4 }, HCY_EINVAL },
    { "a last block larger than a block", { 0, 30, 0, 1, 32, 64, 20, 0, 0, 0 }, { 16, 4 }, HCY_EINVAL },
    { "a block past the chunk", { 0, 30, 0, 1, 64, 64, 20, 0, 0, 0 }, { 16, 400 }, HCY_ECORRUPT },
    { "a block before any", { 0, 30, 0, 1, 64, 64, 20, 0, 0, 0 }, { UINT32_MAX, 4 }, HCY_ECORRUPT },
    { "a stored block of another size",
      { 0, 30, 0, 1, 64, 64, 20, 0, 0, 0 },
      { 16, 5 | HCY_BLOCK_STORED },
      HCY_ECORRUPT },
    { "an empty block", { 0, 30, 0, 1, 64, 64, 20, 0, 0, 0 }, { 16, 0 }, HCY_ECORRUPT },
    { "a frame whose parse failed", { 0, 30, 9, 9, 64, 64, 20, 0, HCY_EFORMAT, 0 }, { 16, 4 }, HCY_EFORMAT },
};
enum { N_LIES = sizeof lies / sizeof *lies };

/* The same for plain pixels, which are stored whether or not that is said. */
static const struct lie plain_lies[] = {
    { "plain pixels of another size", { 0, 30, 0, 1, 64, 64, 20, 0, 0, 0 }, { 16, 4 }, HCY_ECORRUPT },
    { "plain pixels past the chunk", { 0, 70, 0, 1, 64, 64, 20, 0, 0, 0 }, { 16, 64 }, HCY_ECORRUPT },
    { "plain pixels", { 0, 80, 0, 1, 64, 64, 20, 0, 0, 0 }, { 16, 64 }, 0 },
};
enum { N_PLAIN_LIES = sizeof plain_lies / sizeof *plain_lies };

static hcy_buffer *new_buffer(hcy_device *dev, const void *data, size_t size)
{
    hcy_buffer *buf = NULL;
    if (hcy_buffer_create(&buf, dev, HCY_MEM_DEVICE, size) ||
        (data && hcy_buffer_write_now(buf, 0, data, size)))
        bail_out("no buffer: %s", hcy_last_error()->text);
    return buf;
}

static void test_lies(const char *spec, hcy_device *dev, uint32_t codec, const struct lie *told, int n)
{
    const hcy_bslz4_job small = { codec, 1, 64, 0, 0 };
    uint8_t chunks[128] = { 0 };
    hcy_bslz4_frame frames[N_LIES];
    hcy_bslz4_block blocks[N_LIES];
    hcy_frame_report reports[N_LIES];
    hcy_queue *queue = NULL;
    hcy_kernel *kernel = NULL;
    for (int i = 0; i < N_LIES; i++) {
        const struct lie *lie = &told[i % n]; /* all arrays are full */
        frames[i] = lie->frame;
        frames[i].first_block = lie->frame.first_block ? N_LIES : (uint32_t)i;
        blocks[i] = lie->block;
    }
    size_t scratch = 0;
    hcy_arg args[] = { hcy_arg_buf(new_buffer(dev, chunks, sizeof chunks)),
                       hcy_arg_buf(new_buffer(dev, frames, sizeof frames)),
                       hcy_arg_buf(new_buffer(dev, blocks, sizeof blocks)),
                       hcy_arg_struct(&small, sizeof small),
                       hcy_arg_buf(new_buffer(dev, NULL, N_LIES * 64)),
                       hcy_arg_buf(new_buffer(dev, NULL, sizeof reports)),
                       hcy_arg_buf(NULL) };
    int st = hcy_queue_create(&queue, dev);
    st = st ? st : hcy_kernel_get(&kernel, dev, "bslz4_decode");
    st = st ? st : hcy_kernel_scratch_size(&scratch, kernel, N_LIES + 1, args, 7);
    args[6] = hcy_arg_buf(scratch ? new_buffer(dev, NULL, scratch) : NULL);
    st = st ? st : hcy_launch(queue, kernel, N_LIES, args, 7);
    st = st ? st : hcy_queue_finish(queue);
    is_int(st, 0, "%s: a batch of tables that lie", spec);
    st = hcy_buffer_read_now(reports, args[5].v.buf, 0, sizeof reports);
    for (int i = 0; i < n; i++)
        is_int(st ? st : reports[i].status, told[i].want, "%s: %s", spec, told[i].what);
    st = hcy_launch(queue, kernel, N_LIES + 1, args, 7);
    is_int(st ? st : hcy_queue_finish(queue), HCY_EINVAL, "%s: more frames than there are", spec);
    for (int i = 0; i < 7; i++)
        if (i != 3)
            hcy_buffer_release(args[i].v.buf);
    hcy_kernel_release(kernel);
    hcy_queue_release(queue);
}

#ifdef HAVE_HDF5
/* The first chunk of a dataset, filter 32008. */
static int read_chunk(hcy_span *chunk, hcy_bslz4_job *j, hid_t file, const char *name)
{
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT), type = H5Dget_type(set), plist = H5Dget_create_plist(set);
    hsize_t at[3] = { 0 }, dims[3] = { 1, 1, 1 }, size = 0;
    uint32_t mask;
    int rank = H5Pget_chunk(plist, 3, dims);
    int bad = H5Dget_chunk_storage_size(set, at, &size) < 0 || rank < 1;
    void *bytes = malloc(size ? size : 1);
    bad = bad || H5Dread_chunk(set, H5P_DEFAULT, at, &mask, bytes) < 0;
    *chunk = (hcy_span){ bytes, size };
    *j = (hcy_bslz4_job){ HCY_CODEC_BSLZ4, (uint32_t)H5Tget_size(type),
                          dims[0] * dims[1] * dims[2] * H5Tget_size(type), 0, 0 };
    H5Pclose(plist);
    H5Tclose(type);
    H5Dclose(set);
    return bad;
}

static void test_golden(const char *spec, hcy_queue *queue)
{
    const char *path = test_data("detector/eiger1_4m_real.h5"),
               *hash = test_data("reference/eiger1_4m_real.chunk0.sha256");
    char want[65] = "", got[65];
    FILE *f = hash ? fopen(hash, "r") : NULL;
    if (!path || !f || fscanf(f, "%64s", want) != 1) {
        skip(1, "the test data are not there");
    } else {
        hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
        hcy_bslz4_job j;
        hcy_span chunk;
        int bad = read_chunk(&chunk, &j, file, "/entry/data/data");
        void *image = malloc(j.image_bytes);
        bad = bad || hcy_bslz4_decode(image, NULL, queue, &j, &chunk, 1);
        sha256_hex(got, image, j.image_bytes);
        is_str(bad ? hcy_last_error()->text : got, want, "%s: a real frame of an EIGER 4M", spec);
        free(image);
        free((void *)chunk.data);
        H5Fclose(file);
    }
    if (f)
        fclose(f);
}

/* The files of bitshuffle's own regression tests, where our element sizes occur in them. */
static void test_regression(const char *spec, hcy_queue *queue, const char *name)
{
    static const char *const sets[] = { "a1_a",  "a2_a",  "a4_a",  "a8_a",  "|S1_b", "|S1_c",
                                        "|S2_b", "|S2_c", "|S4_b", "|S4_c", "|S8_b", "|S8_c" };
    const char *path = test_data(name);
    int bad = 0, refused = 0;
    if (!path) {
        skip(1, "the test data are not there");
        return;
    }
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        char plain[32], coded[32];
        hcy_bslz4_job j;
        hcy_span chunk;
        snprintf(plain, sizeof plain, "/original/%s", sets[i]);
        snprintf(coded, sizeof coded, "/compressed/%s", sets[i]);
        bad += read_chunk(&chunk, &j, file, coded);
        hid_t set = H5Dopen2(file, plain, H5P_DEFAULT), type = H5Dget_type(set);
        uint8_t *want = malloc(j.image_bytes);
        bad += H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, want) < 0;
        bad += wrong_image(spec, queue, &j, &chunk, want, &refused);
        free(want);
        free((void *)chunk.data);
        H5Tclose(type);
        H5Dclose(set);
    }
    is_int(bad, 0, "%s: %s", spec, name);
    say_refused(spec, refused, (int)(sizeof sets / sizeof *sets));
    H5Fclose(file);
}
#else
static void test_golden(const char *spec, hcy_queue *queue)
{
    (void)spec, (void)queue;
    skip(1, "built without HDF5");
}

static void test_regression(const char *spec, hcy_queue *queue, const char *name)
{
    (void)spec, (void)queue;
    skip(1, "%s: built without HDF5", name);
}
#endif

/* Other devices may be given as arguments. */
int main(int argc, char **argv)
{
    const char *const *list = argc > 1 ? (const char *const *)argv + 1 : specs;
    size_t n = argc > 1 ? (size_t)argc - 1 : sizeof specs / sizeof *specs;
    for (size_t i = 0; i < n; i++) {
        hcy_device *dev = NULL;
        hcy_queue *queue = NULL;
        int st = hcy_device_open(&dev, list[i]);
        if (st == HCY_ENODEV && argc > 1)
            skip_all("%s", hcy_last_error()->text);
        if (st == HCY_ENODEV || st == HCY_EUNSUPPORTED) {
            skip(1, "%s: %s", list[i], hcy_last_error()->text);
            continue;
        }
        is_int(st, 0, "%s: opened", list[i]);
        if (st || hcy_queue_create(&queue, dev))
            bail_out("%s: %s", list[i], hcy_last_error()->text);
        test_batch(list[i], queue);
        test_codecs(list[i], queue);
        test_endings(list[i], queue);
        test_lies(list[i], dev, HCY_CODEC_BSLZ4, lies, N_LIES);
        test_lies(list[i], dev, HCY_CODEC_NONE, plain_lies, N_PLAIN_LIES);
        test_golden(list[i], queue);
        test_regression(list[i], queue, "detector/regression_0.1.3.h5");
        test_regression(list[i], queue, "detector/regression_0.4.0.h5");
        hcy_queue_release(queue);
        hcy_device_release(dev);
    }
    return done_testing();
}
