/* fuzz_codecs.c - fuzz targets: LZ4 blocks, block tables, chunks through every variant, fused and in two stages,
 * chunks with Zstandard, chunks in the HDF5 filters.  The first byte of an input chooses codec and element size. */
#include "bslz4_ref.h"
#include "codec.h"
#include "fuzz.h"
#include "pipeline_scene.h"
#include "stack_priv.h"
#include <halcyon/bslz4.h>
#include <stdlib.h>

enum { IMAGE = PIXELS * 4 + 20, N_DEVICES = 3 };

/* Bytes of an image of these elements: whole blocks, a shorter one, a raw tail. */
static size_t image_bytes(unsigned elem)
{
    return IMAGE / elem * elem;
}

static hcy_bslz4_job job_of(uint8_t head)
{
    unsigned elem = 1u << (head & 3);
    return (hcy_bslz4_job){ head >> 2 & 3, elem, image_bytes(elem), 0, 0 };
}

/* --- Seeds: a chunk of each codec and element size --- */

static void give(uint8_t head, const uint8_t *bytes, size_t size)
{
    uint8_t *all = malloc(size + 1);
    all[0] = head;
    memcpy(all + 1, bytes, size);
    fuzz_give(all, size + 1);
    free(all);
}

static void make_pixels(uint8_t *image)
{
    uint32_t pixels[PIXELS];
    make_frame(pixels, 1);
    memcpy(image, pixels, sizeof pixels);
    memset(image + sizeof pixels, 7, IMAGE - sizeof pixels);
}

static uint8_t *make_chunk(size_t *size, const hcy_bslz4_job *job)
{
    uint8_t image[IMAGE], *chunk = NULL;
    size_t bound;
    make_pixels(image);
    if (hcy_bslz4_encode_bound(&bound, job) || !(chunk = malloc(bound)) ||
        hcy_bslz4_encode(size, chunk, bound, job, image))
        bail_out("no chunk: %s", hcy_last_error()->text);
    return chunk;
}

static void seed_chunks(void)
{
    for (uint8_t head = 0; head < 16; head++) {
        hcy_bslz4_job job = job_of(head);
        size_t size;
        uint8_t *chunk = make_chunk(&size, &job);
        give(head, chunk, size);
        free(chunk);
    }
}

/* --- Blocks: every variant says what a strict decoder says --- */

static int run_block(const uint8_t *data, size_t size)
{
    struct ref_block want;
    if (size < 2)
        return 0;
    unsigned elem = 1u << (data[0] & 3);
    size_t bytes = data[0] & 128 ? 8192 : ((data[0] >> 2) + 1u) * 8 * elem;
    data++;
    size--;
    if (ref_decode(&want, data, size, bytes, elem))
        abort();
    for (int simd = 0; simd <= (int)cpu_simd_best(); simd++)
        if (ref_compare(&want, cpu_block_ops(simd), data, size, CPU_BLOCK_AHEAD, bytes, elem) ||
            ref_compare(&want, cpu_block_ops(simd), data, size, 0, bytes, elem))
            abort();
    ref_free(&want);
    return !want.status;
}

static void seed_blocks(void)
{
    for (uint8_t i = 0; i < 4; i++) {
        const uint8_t run[] = { 0x1f, 1, 1, 0, (uint8_t)((32 << i) - 25), 0x50, 1, 2, 3, 4, 5 };
        hcy_bslz4_job job = job_of((uint8_t)(4 | i));
        size_t size;
        uint8_t *chunk = make_chunk(&size, &job);
        give(128 | i, chunk + 16, be32(chunk + 12));
        free(chunk);
        give(3 << 2 | i, run, sizeof run);
    }
}

/* --- Block tables: what is in them lies in the chunk, and adds up --- */

static int run_table(const uint8_t *data, size_t size)
{
    hcy_bslz4_block blocks[600];
    hcy_bslz4_frame frame;
    hcy_frame_report report;
    size_t n;
    if (!size)
        return 0;
    hcy_bslz4_job job = job_of(data[0]);
    if (data[0] & 16)
        job.block_bytes = 64;
    data++;
    size--;
    if (hcy_bslz4_block_count(&n, &job, data, size) || n > 600 ||
        hcy_bslz4_parse(&frame, blocks, 600, &report, &job, data, size))
        return 0;
    uint64_t bytes = frame.tail_bytes + (n ? (uint64_t)(n - 1) * frame.block_bytes + frame.last_bytes : 0);
    if (bytes != job.image_bytes || (uint64_t)frame.tail_offset + frame.tail_bytes != size)
        abort();
    for (size_t b = 0; b < n; b++)
        if ((uint64_t)blocks[b].offset + (blocks[b].size & ~HCY_BLOCK_STORED) > size)
            abort();
    return 1;
}

/* --- Chunks, decoded: the same verdict and pixels from every variant, and those of the strict decoder --- */

static hcy_queue *const *queues(void)
{
    static const char *const names[N_DEVICES] = { "cpu@threads=1@simd=portable", "cpu@threads=1@simd=avx2",
                                                  "cpu@threads=1" };
    static hcy_queue *made[N_DEVICES];
    for (int d = 0; d < N_DEVICES && !made[N_DEVICES - 1]; d++) {
        hcy_device *device = NULL;
        if (!hcy_device_open(&device, names[d]) && hcy_queue_create(&made[d], device))
            bail_out("no queue: %s", hcy_last_error()->text);
        hcy_device_release(device);
    }
    return made;
}

static int run_chunk(const uint8_t *data, size_t size)
{
    static uint8_t want[IMAGE], got[IMAGE];
    if (size < 2)
        return 0;
    hcy_bslz4_job job = job_of(data[0]);
    hcy_span span = { data + 1, size - 1 };
    hcy_queue *const *q = queues();
    int first = -1;
    for (int d = 0; d < N_DEVICES; d++) {
        hcy_frame_report report;
        if (!q[d])
            continue;
        int status = hcy_bslz4_decode(first < 0 ? want : got, &report, q[d], &job, &span, 1);
        if (status != report.status || (first >= 0 && !status != !first) ||
            (first >= 0 && !status && memcmp(want, got, job.image_bytes)))
            abort();
        first = first < 0 ? !!status : first;
    }
    if (job.codec != HCY_CODEC_BSLZ4)
        return !first;
    int strict = strict_chunk(got, job.image_bytes, job.elem_size, data + 1, size - 1);
    if (!strict != !first || (!first && memcmp(want, got, job.image_bytes)))
        abort();
    return !first;
}

/* --- Chunks, integrated: fused or in two stages, in one block at a time or many, the same bits --- */

enum { WAYS = 3 };

static int integrate(double curve[2 * BINS], hcy_pipeline *p, const uint8_t *chunk, size_t size)
{
    const hcy_pipeline_frame *frame = NULL;
    if (hcy_pipeline_submit(p, chunk, size, 0, NULL, NULL) || hcy_pipeline_poll(&frame, p, UINT64_MAX) || !frame ||
        !frame->result != !!frame->report->status)
        abort();
    if (frame->result) {
        memcpy(curve, frame->result->intensity, BINS * sizeof *curve);
        memcpy(curve + BINS, frame->result->sigma, BINS * sizeof *curve);
    }
    return frame->report->status;
}

static hcy_pipeline **pipelines(void)
{
    static const struct {
        const char *device;
        uint32_t flags;
    } ways[WAYS] = { { "cpu@threads=1@simd=portable", HCY_PIPELINE_TWO_STAGE },
                     { "cpu@threads=1@simd=avx2", 0 },
                     { "cpu@threads=1", 0 } };
    static hcy_pipeline *made[WAYS];
    hcy_pipeline_source source = { { HCY_CODEC_BSLZ4, 4, PIXELS * 4, 0, 0 }, HCY_PIXEL_U32, 0 };
    hcy_pipeline_options opts = HCY_PIPELINE_OPTIONS_INIT;
    opts.batch = 1;
    opts.readers = 1;
    hcy_azint_plan *the_plan = made[0] ? NULL : make_plan(HEIGHT, WIDTH);
    for (int i = 0; i < WAYS && the_plan; i++) {
        hcy_device *device = NULL;
        opts.flags = ways[i].flags;
        if (!hcy_device_open(&device, ways[i].device) &&
            (hcy_pipeline_create(&made[i], &device, 1, the_plan, &source, &opts) ||
             hcy_pipeline_start(made[i], NULL)))
            bail_out("no pipeline: %s", hcy_last_error()->text);
        hcy_device_release(device);
    }
    hcy_azint_plan_release(the_plan);
    return made;
}

static int run_fused(const uint8_t *data, size_t size)
{
    double want[2 * BINS], got[2 * BINS];
    hcy_pipeline **ways = pipelines();
    if (!size)
        return 0;
    int status = integrate(want, ways[0], data, size);
    for (int i = 1; i < WAYS; i++)
        if (ways[i] && (integrate(got, ways[i], data, size) != status ||
                        (!status && memcmp(want, got, sizeof want))))
            abort();
    return !status;
}

static void seed_fused(void)
{
    uint32_t pixels[PIXELS];
    uint8_t chunk[8 * PIXELS];
    for (uint32_t block = 0; block < 2; block++) {
        hcy_bslz4_job job = { HCY_CODEC_BSLZ4, 4, sizeof pixels, block * 2048, 0 };
        size_t size;
        make_frame(pixels, block);
        if (hcy_bslz4_encode(&size, chunk, sizeof chunk, &job, pixels))
            bail_out("no chunk: %s", hcy_last_error()->text);
        fuzz_give(chunk, size);
    }
}

/* --- The HDF5 filters, and chunks with Zstandard --- */

static h5_coding coding_of(uint8_t head)
{
    h5_coding coding = { job_of(head), head >> 4 & 1, 3 };
    coding.job.image_bytes = 0;
    if (coding.zstd)
        coding.job.codec = HCY_CODEC_BSLZ4;
    return coding;
}

static int run_filter(const uint8_t *data, size_t size)
{
    void *out = NULL;
    size_t out_size = 0, room = 0;
    if (size < 2)
        return 0;
    h5_coding coding = coding_of(data[0]);
    if (hcy__h5_decode(&out, &out_size, &room, &coding, data + 1, size - 1))
        return 0;
    volatile uint8_t last = out_size ? ((uint8_t *)out)[out_size - 1] : 0;
    (void)last;
    free(out);
    return 1;
}

static void seed_coded(uint8_t first, uint8_t last)
{
    uint8_t image[IMAGE];
    make_pixels(image);
    for (uint8_t head = first; head <= last; head++) {
        h5_coding coding = coding_of(head);
        void *out = NULL;
        size_t size = 0, room = 0, elem = coding.job.elem_size;
        if (hcy__h5_encode(&out, &size, &room, &coding, image, image_bytes((unsigned)elem)))
            bail_out("no chunk: %s", hcy_last_error()->text);
        give(head, out, size);
        free(out);
    }
}

static void seed_filter(void)
{
    seed_coded(4, 15);
}

#ifdef HAVE_ZSTD
static void seed_zstd(void)
{
    seed_coded(16, 19);
}

/* By the filter, and by the stack's reader. */
static int run_zstd(const uint8_t *data, size_t size)
{
    static uint8_t planes[IMAGE];
    if (size < 2)
        return 0;
    hcy_bslz4_job job = job_of(data[0]);
    job.codec = HCY_CODEC_BITSHUFFLE;
    int same = !hcy__zstd_planes(planes, &job, data + 1, size - 1);
    return run_filter(data, size) && same;
}
#endif

const struct fuzz_target fuzz_codecs[] = {
    { "block", run_block, seed_blocks },
    { "table", run_table, seed_chunks },
    { "chunk", run_chunk, seed_chunks },
    { "fused", run_fused, seed_fused },
    { "filter", run_filter, seed_filter },
#ifdef HAVE_ZSTD
    { "zstd", run_zstd, seed_zstd },
#endif
    { NULL, NULL, NULL },
};
