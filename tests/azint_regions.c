/* azint_regions - the kernels azint_regions and bslz4_azint_regions against a straight loop over pixels: types of
 * pixels, codecs, sizes of blocks, SIMD variants, threads, invalid values, damaged frames, tables that lead nowhere.
 * Other devices may be given as arguments; a device without the second kernel is tested with the first. */
#include <halcyon/bslz4.h>
#include <halcyon/kernel.h>

#include "azint_oracle.h"
#include "tap.h"

enum { HEIGHT = 61, WIDTH = 377, N = HEIGHT * WIDTH, BINS = 40, FRAMES = 6, SKIPPED = 2, DAMAGED = 4, REGIONS = 7,
       BITMAP = 8 * ((N + 63) / 64) + 8, ROWS = HCY_AZINT_REGION_ROWS, ARGS = 12 };

static uint64_t state = 11;
static struct oracle_plan plan_tables;

/* The table of regions, as long as the largest regions would make it. */
static struct {
    hcy_azint_region regions[REGIONS];
    uint8_t bits[REGIONS][BITMAP];
} table;

static int is_chosen(size_t region, size_t pixel)
{
    const size_t y = pixel / WIDTH, x = pixel % WIDTH;
    switch (region) {
    case 0:
        return 1;
    case 1:
        return y >= 20 && y < 31 && x >= 100 && x < 177;
    case 2:
        return pixel == N - 1;
    case 3:
        return (pixel * 2654435761u >> 7) % 5 == 0;
    case 4:
        return pixel >= 16000 && pixel < 17000; /* across the end of a strip */
    case 5:
        return 0;
    default:
        return y == 3;
    }
}

static uint64_t make_table(void)
{
    uint64_t longest = 0;
    memset(&table, 0, sizeof table);
    for (size_t r = 0; r < REGIONS; r++) {
        size_t first = 0, last = 0;
        for (size_t i = N; i-- > 0;)
            first = is_chosen(r, i) ? i / 64 * 64 : first;
        for (size_t i = 0; i < N; i++)
            last = is_chosen(r, i) ? i / 64 * 64 + 64 : last;
        table.regions[r] = (hcy_azint_region){ first, last, (uint64_t)(table.bits[r] - (uint8_t *)&table) / 8 * 8 };
        longest = last - first > longest ? last - first : longest;
        uint8_t *bits = (uint8_t *)&table + table.regions[r].bits;
        for (size_t i = first; i < last && i < N; i++)
            bits[(i - first) / 8] |= (uint8_t)(is_chosen(r, i) << (i - first) % 8);
    }
    return longest;
}

/* Mostly few counts; some that fill all bits; in one frame all negative, or large. */
static void fill_image(uint8_t *image, uint32_t type, size_t frame)
{
    const size_t bytes = oracle_pixel_size(type);
    for (size_t i = 0; i < N; i++) {
        uint64_t v = oracle_below(&state, 9), kind = oracle_below(&state, 400);
        if (frame == 1)
            v = ~(uint64_t)0 - 5 - oracle_below(&state, 60);
        else if (frame == 3)
            v += 20;
        else if (kind == 0)
            v = oracle_random(&state);
        else if (kind == 1)
            v = ~(uint64_t)0;
        else if (kind == 2)
            v = oracle_random(&state) >> (64 - 4 * bytes);
        memcpy(image + i * bytes, &v, bytes); /* little-endian, as the formats are */
    }
}

static void expect(uint64_t rows[ROWS], const hcy_azint_job *job, const hcy_azint_region_job *regions, size_t region,
                   const void *image)
{
    const uint64_t sign = oracle_is_signed(job->pixel_type) ? (uint64_t)1 << 63 : 0;
    oracle_i128 sum = 0;
    memset(rows, 0, ROWS * sizeof *rows);
    rows[HCY_REGION_MIN] = UINT64_MAX;
    for (size_t i = 0; i < N; i++) {
        struct oracle_pixel v = oracle_pixel_get(image, i, job->pixel_type);
        const uint64_t key = (sign ? (uint64_t)v.i : v.u) ^ sign;
        if (!is_chosen(region, i))
            continue;
        if (oracle_invalid(job, v)) {
            rows[HCY_REGION_INVALID]++;
            continue;
        }
        sum += sign ? (oracle_i128)v.i : (oracle_i128)v.u;
        rows[HCY_REGION_VALID]++;
        rows[HCY_REGION_ZERO] += key == sign;
        rows[HCY_REGION_ABOVE] += regions->has_above && key > (regions->above ^ sign);
        rows[HCY_REGION_MAX] = key > rows[HCY_REGION_MAX] ? key : rows[HCY_REGION_MAX];
        rows[HCY_REGION_MIN] = key < rows[HCY_REGION_MIN] ? key : rows[HCY_REGION_MIN];
    }
    rows[HCY_REGION_SUM_LO] = (uint64_t)sum;
    rows[HCY_REGION_SUM_HI] = (uint64_t)((oracle_u128)sum >> 64);
}

static hcy_buffer *buffer(hcy_device *dev, size_t size, const void *data)
{
    hcy_buffer *b = NULL;
    if (hcy_buffer_create(&b, dev, HCY_MEM_DEVICE, size ? size : 64) ||
        (data && hcy_buffer_write_now(b, 0, data, size)))
        bail_out("%s", hcy_last_error()->text);
    return b;
}

/* Launches, with scratch memory of its own as the last of n arguments. */
static int launch(hcy_device *dev, hcy_kernel *kernel, hcy_arg *args, size_t n)
{
    hcy_queue *queue = NULL;
    size_t scratch = 0;
    args[n - 1] = hcy_arg_buf(NULL);
    if (hcy_kernel_scratch_size(&scratch, kernel, FRAMES, args, n) || hcy_queue_create(&queue, dev))
        return hcy_last_error()->status;
    args[n - 1] = hcy_arg_buf(buffer(dev, scratch, NULL));
    int status = hcy_launch(queue, kernel, FRAMES, args, n);
    status = status ? status : hcy_queue_finish(queue);
    hcy_buffer_release(args[n - 1].v.buf);
    hcy_queue_release(queue);
    return status;
}

struct scene {
    hcy_azint_job job;
    hcy_azint_region_job regions;
    uint8_t *images;
    size_t image_bytes;
};

static void check_found(const struct scene *s, const uint64_t *found, const hcy_frame_report *reports, const char *what,
                        const char *name)
{
    int good = 1, frames = 0;
    for (size_t f = 0; f < FRAMES; f++)
        for (size_t r = 0; r < REGIONS && !reports[f].status; r++) {
            uint64_t rows[ROWS];
            const uint64_t *got = found + (f * REGIONS + r) * ROWS;
            expect(rows, &s->job, &s->regions, r, s->images + f * s->image_bytes);
            frames += !r;
            for (size_t k = 0; k < ROWS; k++)
                if (rows[k] != got[k] && good) {
                    good = 0;
                    diag("frame %zu, region %zu, row %zu: %llx, not %llx", f, r, k, (unsigned long long)got[k],
                         (unsigned long long)rows[k]);
                }
        }
    ok(good && frames >= FRAMES - 2, "%s, type %u: %s", name, s->job.pixel_type, what);
}

static void test_images(hcy_device *dev, const char *name, const struct scene *s)
{
    hcy_frame_report reports[FRAMES] = { { 0 } };
    uint64_t *found = malloc(FRAMES * REGIONS * ROWS * sizeof *found);
    hcy_kernel *kernel = NULL;
    reports[SKIPPED].status = HCY_ECORRUPT;
    if (!found || hcy_kernel_get(&kernel, dev, "azint_regions"))
        bail_out("%s: %s", name, hcy_last_error()->text);
    hcy_buffer *in[] = { buffer(dev, FRAMES * s->image_bytes, s->images), buffer(dev, sizeof table, &table),
                         buffer(dev, FRAMES * REGIONS * ROWS * sizeof *found, NULL),
                         buffer(dev, sizeof reports, reports) };
    hcy_arg args[] = { hcy_arg_buf(in[0]), hcy_arg_buf(in[1]), hcy_arg_struct(&s->job, sizeof s->job),
                       hcy_arg_struct(&s->regions, sizeof s->regions), hcy_arg_buf(in[2]), hcy_arg_buf(in[3]),
                       hcy_arg_buf(NULL) };
    if (launch(dev, kernel, args, 7) ||
        hcy_buffer_read_now(found, in[2], 0, FRAMES * REGIONS * ROWS * sizeof *found))
        bail_out("%s: %s", name, hcy_last_error()->text);
    check_found(s, found, reports, "images", name);
    for (size_t i = 0; i < 4; i++)
        hcy_buffer_release(in[i]);
    hcy_kernel_release(kernel);
    free(found);
}

/* All frames' chunks, one behind the other, and their tables. */
struct batch {
    hcy_bslz4_job coding;
    uint8_t *chunks;
    size_t used, n_blocks;
    hcy_bslz4_frame frames[FRAMES];
    hcy_bslz4_block *blocks;
};

static void make_batch(struct batch *b, const struct scene *s, uint32_t codec, uint32_t block_bytes)
{
    size_t bound = 0, room = 4 * N;
    const uint32_t elem_size = (uint32_t)oracle_pixel_size(s->job.pixel_type);
    b->coding = (hcy_bslz4_job){ codec, elem_size, s->image_bytes, block_bytes, 0 };
    if (hcy_bslz4_encode_bound(&bound, &b->coding))
        bail_out("%s", hcy_last_error()->text);
    bound = (bound + 63) / 64 * 64;
    b->chunks = calloc(1, FRAMES * bound + HCY_BSLZ4_PADDING);
    b->blocks = calloc(room, sizeof *b->blocks);
    b->used = FRAMES * bound + HCY_BSLZ4_PADDING;
    b->n_blocks = 0;
    for (size_t f = 0; f < FRAMES; f++) {
        uint8_t *at = b->chunks + f * bound;
        size_t size = 0;
        if (hcy_bslz4_encode(&size, at, bound, &b->coding, s->images + f * s->image_bytes) ||
            hcy_bslz4_parse(&b->frames[f], b->blocks + b->n_blocks, room - b->n_blocks, NULL, &b->coding, at, size))
            bail_out("%s", hcy_last_error()->text);
        b->frames[f].offset = f * bound;
        b->frames[f].first_block = (uint32_t)b->n_blocks;
        b->n_blocks += b->frames[f].n_blocks;
    }
    b->frames[SKIPPED].status = HCY_EIO;
    if (codec != HCY_CODEC_NONE) {
        hcy_bslz4_block *block = &b->blocks[b->frames[DAMAGED].first_block + b->frames[DAMAGED].n_blocks / 2];
        memset(b->chunks + b->frames[DAMAGED].offset + block->offset, 0xff, 8);
    }
}

/* bslz4_azint_regions finds what the oracle does, and makes the sums of bslz4_azint. */
static void test_chunks_of(hcy_device *dev, const char *name, const struct scene *s, uint32_t codec,
                           uint32_t block_bytes)
{
    struct batch b;
    const size_t found_bytes = FRAMES * REGIONS * ROWS * sizeof(uint64_t),
                 sums_bytes = (size_t)FRAMES * HCY_AZINT_SUMS * BINS * sizeof(uint64_t);
    uint64_t *found = malloc(found_bytes), *sums[2] = { calloc(1, sums_bytes), calloc(1, sums_bytes) };
    hcy_frame_report reports[2][FRAMES];
    char what[100];
    make_batch(&b, s, codec, block_bytes);
    hcy_buffer *in[] = { buffer(dev, b.used, b.chunks), buffer(dev, sizeof b.frames, b.frames),
                         buffer(dev, b.n_blocks * sizeof *b.blocks, b.blocks), buffer(dev, sizeof table, &table),
                         buffer(dev, found_bytes, NULL) };
    for (int with = 0; with < 2; with++) {
        hcy_kernel *kernel = NULL;
        hcy_buffer *tables = NULL, *out = buffer(dev, sums_bytes, sums[with]),
                   *back = buffer(dev, sizeof reports[0], NULL);
        if (hcy_kernel_get(&kernel, dev, with ? "bslz4_azint_regions" : "bslz4_azint") ||
            hcy_kernel_prepare(&tables, kernel, plan_tables.spans, HCY_AZINT_SPANS))
            bail_out("%s: %s", name, hcy_last_error()->text);
        const hcy_arg coding = hcy_arg_struct(&b.coding, sizeof b.coding), job = hcy_arg_struct(&s->job, sizeof s->job);
        hcy_arg all[ARGS] = { hcy_arg_buf(in[0]), hcy_arg_buf(in[1]), hcy_arg_buf(in[2]), coding, hcy_arg_buf(tables),
                              hcy_arg_buf(in[3]), job, hcy_arg_struct(&s->regions, sizeof s->regions),
                              hcy_arg_buf(out), hcy_arg_buf(in[4]), hcy_arg_buf(back), hcy_arg_buf(NULL) };
        hcy_arg few[9] = { all[0], all[1], all[2], coding, all[4], job, hcy_arg_buf(out), hcy_arg_buf(back),
                           hcy_arg_buf(NULL) };
        if (launch(dev, kernel, with ? all : few, with ? 12 : 9) ||
            hcy_buffer_read_now(sums[with], out, 0, sums_bytes) ||
            hcy_buffer_read_now(reports[with], back, 0, sizeof reports[0]))
            bail_out("%s: %s", name, hcy_last_error()->text);
        hcy_buffer_release(out);
        hcy_buffer_release(back);
        hcy_buffer_release(tables);
        hcy_kernel_release(kernel);
    }
    if (hcy_buffer_read_now(found, in[4], 0, found_bytes))
        bail_out("%s", hcy_last_error()->text);
    snprintf(what, sizeof what, "chunks, codec %u, blocks of %u bytes", codec, block_bytes);
    check_found(s, found, reports[1], what, name);
    int same = reports[1][SKIPPED].status == HCY_EIO;
    for (size_t f = 0; f < FRAMES; f++) {
        const size_t words = (size_t)HCY_AZINT_SUMS * BINS;
        same &= reports[0][f].status == reports[1][f].status && reports[0][f].n_lost == reports[1][f].n_lost;
        same &= reports[0][f].status || !memcmp(sums[0] + f * words, sums[1] + f * words, 4 * BINS * sizeof(uint64_t));
    }
    if (codec != HCY_CODEC_NONE)
        same &= reports[1][DAMAGED].status == HCY_ECORRUPT;
    ok(same, "%s, type %u: and the sums of bslz4_azint", name, s->job.pixel_type);
    for (size_t i = 0; i < sizeof in / sizeof in[0]; i++)
        hcy_buffer_release(in[i]);
    free(found);
    free(sums[0]);
    free(sums[1]);
    free(b.chunks);
    free(b.blocks);
}

static void test_chunks(hcy_device *dev, const char *name, const struct scene *s)
{
    const uint32_t bytes = (uint32_t)oracle_pixel_size(s->job.pixel_type);
    test_chunks_of(dev, name, s, HCY_CODEC_BSLZ4, 0);
    test_chunks_of(dev, name, s, HCY_CODEC_BSLZ4, 360 * bytes);   /* not whole words of pixels */
    test_chunks_of(dev, name, s, HCY_CODEC_BSLZ4, 20000 * bytes); /* larger than a strip */
    test_chunks_of(dev, name, s, HCY_CODEC_LZ4, 1000 * bytes);
    test_chunks_of(dev, name, s, HCY_CODEC_NONE, 0);
}

static void make_scene(struct scene *s, uint32_t type, uint64_t longest)
{
    const uint64_t ones = UINT64_MAX >> (64 - 8 * oracle_pixel_size(type));
    const int is_signed = oracle_is_signed(type);
    s->job = (hcy_azint_job){ N, BINS, type, HCY_AZINT_WANT_VARIANCE, 1, { { ones - 1, ones } } };
    if (is_signed)
        s->job.invalid[0] = (hcy_azint_range){ (uint64_t)INT64_MIN, (uint64_t)-40 };
    /* One of the small values too, in some types. */
    if (type % 2)
        s->job.invalid[s->job.n_invalid++] = (hcy_azint_range){ 3, 3 };
    s->regions = (hcy_azint_region_job){ REGIONS, type != HCY_PIXEL_U16, is_signed ? (uint64_t)-2 : 5, longest };
    s->image_bytes = N * oracle_pixel_size(type);
    s->images = malloc(FRAMES * s->image_bytes);
    if (!s->images)
        bail_out("no memory");
    for (size_t f = 0; f < FRAMES; f++)
        fill_image(s->images + f * s->image_bytes, type, f);
}

/* What is refused, and regions that lie outside of their table or their image: they have no pixels. */
static void test_tables(hcy_device *dev, const char *name, const struct scene *s)
{
    const hcy_azint_region kept = table.regions[1];
    const hcy_azint_region wrong[] = { { 0, UINT64_MAX - 63, kept.bits }, { 64, 0, kept.bits },
                                       { 0, 64, sizeof table - 8 }, { 0, 64, UINT64_MAX - 7 },
                                       { UINT64_MAX - 127, UINT64_MAX - 63, kept.bits } };
    hcy_kernel *kernel = NULL;
    hcy_frame_report reports[FRAMES] = { { 0 } };
    uint64_t found[REGIONS * ROWS];
    int empty = 1;
    if (hcy_kernel_get(&kernel, dev, "azint_regions"))
        bail_out("%s: %s", name, hcy_last_error()->text);
    hcy_buffer *in[] = { buffer(dev, FRAMES * s->image_bytes, s->images), buffer(dev, sizeof table, &table),
                         buffer(dev, FRAMES * REGIONS * ROWS * sizeof(uint64_t), NULL),
                         buffer(dev, sizeof reports, reports) };
    struct scene changed = *s;
    hcy_arg args[] = { hcy_arg_buf(in[0]), hcy_arg_buf(in[1]), hcy_arg_struct(&changed.job, sizeof s->job),
                       hcy_arg_struct(&changed.regions, sizeof s->regions), hcy_arg_buf(in[2]), hcy_arg_buf(in[3]),
                       hcy_arg_buf(NULL) };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        table.regions[1] = wrong[i];
        if (hcy_buffer_write_now(in[1], 0, &table, sizeof table) || launch(dev, kernel, args, 7) ||
            hcy_buffer_read_now(found, in[2], 0, sizeof found))
            bail_out("%s: %s", name, hcy_last_error()->text);
        empty &= !found[ROWS + HCY_REGION_VALID] && !found[ROWS + HCY_REGION_INVALID] && found[HCY_REGION_VALID];
    }
    table.regions[1] = kept;
    ok(empty, "%s: a region that lies outside of its table or its image has no pixels", name);
    changed.job.pixel_type = HCY_PIXEL_F32;
    is_int(launch(dev, kernel, args, 7), HCY_EUNSUPPORTED, "%s: floats are refused", name);
    changed.job.pixel_type = s->job.pixel_type;
    changed.regions.n_regions = HCY_AZINT_MAX_REGIONS + 1;
    is_int(launch(dev, kernel, args, 7), HCY_EINVAL, "%s: so are too many regions", name);
    for (size_t i = 0; i < 4; i++)
        hcy_buffer_release(in[i]);
    hcy_kernel_release(kernel);
}

int main(int argc, char **argv)
{
    static const char *const processors[] = { "cpu@threads=3", "cpu@simd=portable@threads=1", "cpu@simd=avx2@threads=2" };
    const uint64_t longest = make_table();
    const size_t n = argc > 1 ? (size_t)argc - 1 : TAP_THREAD_SANITIZER ? 1 : sizeof processors / sizeof processors[0];
    if (oracle_plan_make(&plan_tables, 5, ORACLE_SPLIT, HEIGHT, WIDTH, BINS, 9))
        bail_out("no memory");
    for (size_t d = 0; d < n; d++) {
        const char *name = argc > 1 ? argv[d + 1] : processors[d];
        hcy_device *dev = NULL;
        int status = hcy_device_open(&dev, name);
        if (status == HCY_EUNSUPPORTED) {
            skip(1, "%s: %s", name, hcy_last_error()->text);
            continue;
        }
        if (status == HCY_ENODEV && argc > 1)
            skip_all("%s", hcy_last_error()->text);
        if (status)
            bail_out("%s", hcy_last_error()->text);
        for (uint32_t type = HCY_PIXEL_U8; type <= HCY_PIXEL_I64; type++) {
            hcy_kernel *kernel = NULL;
            struct scene s;
            const int has_chunks = !hcy_kernel_get(&kernel, dev, "bslz4_azint_regions");
            /* A GPU's text is compiled for each type, which takes longer than all else. */
            if (!has_chunks && type % 3 != 1 && type != HCY_PIXEL_U32)
                continue;
            state = type;
            make_scene(&s, type, longest);
            test_images(dev, name, &s);
            if (has_chunks)
                test_chunks(dev, name, &s);
            if (type == HCY_PIXEL_U32)
                test_tables(dev, name, &s);
            hcy_kernel_release(kernel);
            free(s.images);
        }
        hcy_device_release(dev);
    }
    oracle_plan_free(&plan_tables);
    return done_testing();
}
