// hls_azint - the FPGA kernels azint_image and bslz4_azint in C simulation against the oracle, which the CPU's kernels
// are held against too: all pixel types the FPGA takes, plans of every shape, bins that collide, lost pixels, dark
// currents, variances, several pieces; chunks of both filters, empty and damaged frames beside good ones.
#include "hls.h"

#include "azint_oracle.h"
#include "design.h"
#include "plan.h"

extern "C" void azint_image_run(unsigned char *memory, const uint64_t *args);
extern "C" void bslz4_azint_run(unsigned char *memory, const uint64_t *args);

/* --- A plan as the device gets it --- */

static bytes tables_of(const oracle_plan &plan)
{
    hcy_hls_tables head;
    hcy_span spans[HLS_SPAN + 1];
    void *records = nullptr;
    size_t size = 0;
    memset(&head, 0, sizeof head);
    memcpy(spans, plan.spans, sizeof plan.spans);
    if (hcy__hls_records(&records, &size, plan.spans, HCY_AZINT_SPANS))
        bail_out("records: %s", hcy_last_error()->text);
    spans[HLS_SPAN].data = records;
    spans[HLS_SPAN].size = size;
    head.n_spans = HLS_SPAN + 1;
    bytes all(sizeof head);
    for (int k = 0; k <= HLS_SPAN; k++) {
        all.resize((all.size() + 63) / 64 * 64);
        head.span[k].offset = all.size();
        head.span[k].size = spans[k].size;
        const uint8_t *p = static_cast<const uint8_t *>(spans[k].data);
        if (p)
            all.insert(all.end(), p, p + spans[k].size);
    }
    all.resize((all.size() + 127) / 64 * 64);
    memcpy(all.data(), &head, sizeof head);
    free(records);
    return all;
}

/* --- Frames --- */

enum temper { DIM, BRIGHT, GAPS, DEAD, ZERO, SAME, WILD, TEMPERS };

static bytes image_of(enum temper temper, size_t n, uint32_t type)
{
    size_t elem = oracle_pixel_size(type);
    bytes image(n * elem);
    uint64_t top = UINT64_MAX >> (64 - 8 * elem);
    for (size_t i = 0; i < n; i++) {
        uint64_t dim = hls_below(1 + static_cast<uint32_t>(i / 64 % 50)), v = 0;
        switch (temper) {
        case DIM: v = dim; break;
        case BRIGHT: v = hls_below(400) ? hls_below(100000) : 3000000000u; break;
        case GAPS: v = i / 100 % 7 == 3 || !hls_below(500) ? top - hls_below(3) : dim; break;
        case DEAD: v = top; break;
        case SAME: v = 17; break;
        case WILD: v = hls_random() >> hls_below(64); break;
        default: break;
        }
        v &= top;
        memcpy(&image[i * elem], &v, elem);
    }
    return image;
}

struct scene {
    oracle_plan plan;
    hcy_azint_job job;
    bytes tables;
};

static scene scene_of(enum oracle_kind kind, uint32_t height, uint32_t width, uint32_t n_bins, uint32_t type,
                      bool arrays = false)
{
    scene s;
    memset(&s.job, 0, sizeof s.job);
    if (oracle_plan_make(&s.plan, hls_random(), kind, height, width, n_bins, 13) ||
        (arrays && oracle_plan_add_arrays(&s.plan, hls_random(), 1)))
        bail_out("no memory");
    uint64_t top = UINT64_MAX >> (64 - 8 * oracle_pixel_size(type));
    s.job.n_pixels = s.plan.head.n_pixels;
    s.job.n_bins = n_bins;
    s.job.pixel_type = type;
    s.job.flags = arrays || type == HCY_PIXEL_I16 ? 0 : HCY_AZINT_WANT_VARIANCE;
    s.job.n_invalid = 2;
    s.job.invalid[0].lo = oracle_is_signed(type) ? UINT64_MAX - 1 : top - 1;
    s.job.invalid[0].hi = oracle_is_signed(type) ? UINT64_MAX : top;
    s.job.invalid[1].lo = s.job.invalid[1].hi = 5;
    s.tables = tables_of(s.plan);
    return s;
}

/* Sums and reports of n frames against the oracle's; `status` of those that the kernel should not take. */
static const char *judge(const scene &s, const std::vector<bytes> &images, const bytes &sums, const bytes &reports,
                         const std::vector<int> &status)
{
    size_t row = static_cast<size_t>(s.job.n_bins) * 8, frame = HCY_AZINT_SUMS * row;
    bytes want(frame);
    for (size_t i = 0; i < images.size(); i++) {
        hcy_frame_report r;
        memcpy(&r, &reports[i * sizeof r], sizeof r);
        if (r.status != status[i])
            return diag("frame %zu: status %d, want %d", i, r.status, status[i]), "a report";
        if (r.status)
            continue;
        uint64_t *to = reinterpret_cast<uint64_t *>(want.data());
        uint64_t lost = oracle_sums(to, s.plan.spans, &s.job, images[i].data());
        if (r.n_lost != lost)
            return diag("frame %zu: lost %" PRIu64 ", want %" PRIu64, i, r.n_lost, lost), "pixels lost";
        size_t rows = lost ? HCY_AZINT_SUMS : HCY_SUM_LOST_COUNT, k = 0;
        while (k < rows * row && sums[i * frame + k] == want[k])
            k++;
        if (k < rows * row)
            return diag("frame %zu: row %zu, bin %zu", i, k / row, k % row / 8), "sums";
    }
    return nullptr;
}

static const char *run_images(const scene &s, const std::vector<bytes> &images)
{
    size_t n = images.size();
    bytes all, tables = s.tables, job = bytes_of_one(s.job), sums(n * HCY_AZINT_SUMS * s.job.n_bins * 8, 0x33),
               reports(n * sizeof(hcy_frame_report)), none;
    for (const bytes &image : images)
        all.insert(all.end(), image.begin(), image.end());
    bool clean = hls_call(azint_image_run, n,
                          { { &all, false },
                            { &tables, false },
                            { &job, true },
                            { &sums, false },
                            { &reports, false },
                            { &none, false } });
    return clean ? judge(s, images, sums, reports, std::vector<int>(n, 0)) : "written outside the buffers";
}

static const char *run_chunks(const scene &s, const hls_batch &b, const std::vector<bytes> &images,
                              const std::vector<int> &status)
{
    size_t n = b.frames.size();
    bytes tables = s.tables, job = bytes_of_one(s.job), sums(n * HCY_AZINT_SUMS * s.job.n_bins * 8, 0x33),
          reports(n * sizeof(hcy_frame_report), 0x22), none;
    bytes chunks = b.chunks, frames = bytes_of(b.frames), blocks = bytes_of(b.blocks), coding = bytes_of_one(b.job);
    bool clean = hls_call(bslz4_azint_run, n,
                          { { &chunks, false },
                            { &frames, false },
                            { &blocks, false },
                            { &coding, true },
                            { &tables, false },
                            { &job, true },
                            { &sums, false },
                            { &reports, false },
                            { &none, false } });
    return clean ? judge(s, images, sums, reports, status) : "written outside the buffers";
}

static std::vector<bytes> all_tempers(const scene &s)
{
    std::vector<bytes> images;
    for (int t = 0; t < TEMPERS; t++)
        images.push_back(image_of(static_cast<enum temper>(t), s.job.n_pixels, s.job.pixel_type));
    return images;
}

/* --- The tests --- */

static void try_plan(enum oracle_kind kind, uint32_t height, uint32_t width, uint32_t n_bins, uint32_t type,
                     bool arrays, const char *name, bool dead = false)
{
    scene s = scene_of(kind, height, width, n_bins, type, arrays);
    std::vector<bytes> one(1, image_of(DEAD, s.job.n_pixels, type));
    const char *wrong = run_images(s, dead ? one : all_tempers(s));
    ok(!wrong, "images, %s, pixel type %u%s%s", name, type, wrong ? ": " : "", wrong ? wrong : "");
    oracle_plan_free(&s.plan);
}

static void try_codec(uint32_t codec, uint32_t type, const char *name)
{
    scene s = scene_of(ORACLE_SPLIT, 61, 77, 50, type);
    std::vector<bytes> images = all_tempers(s);
    hls_batch b(codec, static_cast<uint32_t>(oracle_pixel_size(type)), images[0].size());
    for (const bytes &image : images)
        b.add_image(image.data());
    b.end();
    const char *wrong = run_chunks(s, b, images, std::vector<int>(images.size(), 0));
    ok(!wrong, "%s, pixel type %u%s%s", name, type, wrong ? ": " : "", wrong ? wrong : "");
    oracle_plan_free(&s.plan);
}

static void damaged()
{
    scene s = scene_of(ORACLE_SPLIT, 100, 77, 50, HCY_PIXEL_U32);
    std::vector<bytes> images(4, image_of(DIM, s.job.n_pixels, s.job.pixel_type));
    std::vector<int> status = { 0, HCY_ECORRUPT, 0, HCY_ECORRUPT };
    hls_batch b(HCY_CODEC_BSLZ4, 4, images[0].size());
    for (const bytes &image : images)
        b.add_image(image.data());
    memset(&b.chunks[b.frames[1].offset + b.blocks[b.frames[1].first_block + 2].offset], 0xff, 20);
    b.frames[3].status = HCY_ECORRUPT;
    b.end();
    const char *wrong = run_chunks(s, b, images, status);
    ok(!wrong, "damaged frames beside good ones%s%s", wrong ? ": " : "", wrong ? wrong : "");
    status.assign(4, HCY_EINVAL);
    status[3] = HCY_ECORRUPT;
    s.plan.head.hash++;
    bytes head = bytes_of_one(s.plan.head);
    memcpy(&s.tables[sizeof(hcy_hls_tables)], head.data(), head.size());
    wrong = run_chunks(s, b, images, status);
    ok(!wrong, "records of another plan%s%s", wrong ? ": " : "", wrong ? wrong : "");
    oracle_plan_free(&s.plan);
}

/* Spans that are no plan's make no records. */
static void refusals()
{
    scene s = scene_of(ORACLE_SPLIT, 30, 31, 20, HCY_PIXEL_U16);
    hcy_span spans[HCY_AZINT_SPANS];
    void *records = nullptr;
    size_t size = 0;
    memcpy(spans, s.plan.spans, sizeof spans);
    is_int(hcy__hls_records(&records, &size, spans, 5), HCY_EINVAL, "five spans");
    spans[1].size -= 5;
    is_int(hcy__hls_records(&records, &size, spans, HCY_AZINT_SPANS), HCY_EINVAL, "runs cut short");
    spans[1].size += 5;
    s.plan.starts[3]++;
    is_int(hcy__hls_records(&records, &size, spans, HCY_AZINT_SPANS), HCY_EINVAL, "a start inside a run");
    s.plan.starts[3]--;
    spans[4].data = s.plan.norms;
    spans[4].size = spans[3].size - 4;
    is_int(hcy__hls_records(&records, &size, spans, HCY_AZINT_SPANS), HCY_EINVAL, "a dark current cut short");
    oracle_plan_free(&s.plan);
}

/* An image that is a tail alone, whatever the blocks' size says. */
static void tail_alone()
{
    scene s = scene_of(ORACLE_SPLIT, 1, 3, 2, HCY_PIXEL_U32);
    std::vector<bytes> images(1, image_of(BRIGHT, 3, HCY_PIXEL_U32));
    hls_batch b(HCY_CODEC_BSLZ4, 4, images[0].size(), 262144);
    b.add_image(images[0].data());
    b.end();
    const char *wrong = run_chunks(s, b, images, std::vector<int>(1, 0));
    ok(!wrong, "three pixels, blocks of 256 KiB%s%s", wrong ? ": " : "", wrong ? wrong : "");
    oracle_plan_free(&s.plan);
}

int main()
{
    static const uint32_t types[] = { HCY_PIXEL_U8, HCY_PIXEL_U16, HCY_PIXEL_U32,
                                      HCY_PIXEL_I8, HCY_PIXEL_I16, HCY_PIXEL_I32 };
    for (uint32_t type : types) {
        try_plan(ORACLE_SPLIT, 37, 53, 40, type, false, "pixels in one to three bins");
        try_plan(ORACLE_SPLIT, 20, 33, 9, type, true, "dark current and variances");
    }
    try_plan(ORACLE_WHOLE, 40, 40, 1, HCY_PIXEL_U32, false, "all in one bin");
    try_plan(ORACLE_WHOLE, 40, 41, 2, HCY_PIXEL_I32, false, "all in two bins");
    try_plan(ORACLE_WILD, 23, 19, 300, HCY_PIXEL_U32, false, "runs without any order");
    try_plan(ORACLE_WILD, 60, 64, 60000, HCY_PIXEL_U16, false, "several pieces");
    for (uint32_t type : { HCY_PIXEL_U8, HCY_PIXEL_U16, HCY_PIXEL_U32, HCY_PIXEL_I32 }) {
        try_codec(HCY_CODEC_BSLZ4, type, "filter 32008");
        try_codec(HCY_CODEC_LZ4, type, "filter 32004");
    }
    try_codec(HCY_CODEC_BITSHUFFLE, HCY_PIXEL_U16, "bits transposed");
    try_codec(HCY_CODEC_NONE, HCY_PIXEL_U16, "plain pixels");
    /* More groups with lost pixels than the list holds: the frame goes through again. */
    try_plan(ORACLE_SPLIT, 380, 360, 40, HCY_PIXEL_U8, false, "more lost pixels than are listed at once", true);
    damaged();
    refusals();
    tail_alone();
    return done_testing();
}
