// hls_azint - the FPGA kernels azint_image and bslz4_azint in C simulation against the oracle, which the CPU's kernels
// are held against too: all pixel types the FPGA takes, plans of every shape, bins that collide, lost pixels, dark
// currents, variances, several pieces; chunks of both filters, empty and damaged frames beside good ones.
#include "hls.h"

#include "azint/azint_engine.h"
#include "azint_oracle.h"
#include "design.h"
#include "hls_numbers.h"
#include "hls_stream.h"
#include "azint/plan.h"

#include <algorithm>
#include <type_traits>

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

enum { UNTOUCHED = 0x33 };

/* Sums that are narrow have no high words: these rows are left as they were. */
static void forget_high_rows(const hcy_azint_job &job, uint8_t *sums, size_t row)
{
    if (!(job.flags & HCY_AZINT_NARROW))
        return;
    memset(sums + HCY_SUM_SIGNAL_HI * row, UNTOUCHED, row);
    memset(sums + HCY_SUM_VARIANCE_HI * row, UNTOUCHED, row);
    if (!(job.flags & HCY_AZINT_WANT_VARIANCE))
        memset(sums + HCY_SUM_VARIANCE_LO * row, UNTOUCHED, row);
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
        forget_high_rows(s.job, &want[0], row);
        while (k < rows * row && sums[i * frame + k] == want[k])
            k++;
        if (k < rows * row)
            return diag("frame %zu: row %zu, bin %zu", i, k / row, k % row / 8), "sums";
    }
    return nullptr;
}

/* `status` of each frame (none: 0), of an image buffer that ends behind `room` bytes. */
static const char *run_images(const scene &s, const std::vector<bytes> &images, std::vector<int> status = {},
                              size_t room = SIZE_MAX)
{
    size_t n = images.size();
    status.resize(n);
    bytes all, tables = s.tables, job = bytes_of_one(s.job), sums(n * HCY_AZINT_SUMS * s.job.n_bins * 8, UNTOUCHED),
               reports(n * sizeof(hcy_frame_report)), none;
    for (const bytes &image : images)
        all.insert(all.end(), image.begin(), image.end());
    all.resize(std::min(all.size(), room));
    bool clean = hls_call(azint_image_run, n,
                          { { &all, false },
                            { &tables, false },
                            { &job, true },
                            { &sums, false },
                            { &reports, false },
                            { &none, false } });
    return clean ? judge(s, images, sums, reports, status) : "written outside the buffers";
}

static const char *run_chunks(const scene &s, const hls_batch &b, const std::vector<bytes> &images,
                              const std::vector<int> &status)
{
    size_t n = b.frames.size();
    bytes tables = s.tables, job = bytes_of_one(s.job), sums(n * HCY_AZINT_SUMS * s.job.n_bins * 8, UNTOUCHED),
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

/* Sums below 2^63, with and without variances, in several pieces: high words are not written. */
static void try_narrow(uint32_t type)
{
    for (uint32_t flags : { HCY_AZINT_NARROW, HCY_AZINT_NARROW | HCY_AZINT_WANT_VARIANCE,
                            HCY_AZINT_NARROW | HCY_AZINT_WANT_VARIANCE | HCY_AZINT_PART_OF_SUM }) {
        scene s = scene_of(ORACLE_WILD, 60, 64, 30001, type);
        std::vector<bytes> images = { image_of(DIM, s.job.n_pixels, type), image_of(GAPS, s.job.n_pixels, type) };
        s.job.flags = flags;
        const char *wrong = run_images(s, images);
        ok(!wrong, "narrow sums, pixel type %u, flags %u%s%s", type, flags, wrong ? ": " : "", wrong ? wrong : "");
        oracle_plan_free(&s.plan);
    }
}

/* What the model counts of a plan is what goes through the FIFOs. */
static void counts_of_plan()
{
    scene s = scene_of(ORACLE_WILD, 60, 64, 30001, HCY_PIXEL_U16);
    hcy_hls_tables head;
    hls_plan_head plan;
    hls_sim::counts counts;
    uint64_t pairs = 0, records = 0, first = 0, empty = 0;
    memcpy(&head, s.tables.data(), sizeof head);
    const uint8_t *span = &s.tables[head.span[HLS_SPAN].offset];
    memcpy(&plan, span, sizeof plan);
    for (uint64_t k = 0; k < plan.n_pieces; k++) {
        hls_piece p;
        memcpy(&p, span + sizeof plan + k * sizeof p, sizeof p);
        pairs += (p.n_bins + 1) / 2;
        records += p.n_records;
        empty += !p.n_groups;
        for (uint32_t i = 0; i < p.n_bins; i++) {
            uint32_t bin;
            memcpy(&bin, span + p.bins + 4 * i, sizeof bin);
            first += bin >> 31;
        }
    }
    hls_sim::counting() = &counts;
    const char *wrong = run_images(s, std::vector<bytes>(1, image_of(DIM, s.job.n_pixels, s.job.pixel_type)));
    hls_sim::counting() = nullptr;
    ok(!wrong && plan.n_pieces > 2 && empty, "a plan of several pieces, of empty bins as well");
    is_int(static_cast<intmax_t>(first), s.job.n_bins, "... in which each bin is first once");
    is_int(static_cast<intmax_t>(counts.get("records")), static_cast<intmax_t>(records), "... records");
    is_int(static_cast<intmax_t>(counts.get("totals")), static_cast<intmax_t>(pairs), "... pairs of bins");
    is_int(static_cast<intmax_t>(counts.get("bins")), static_cast<intmax_t>(pairs), "... and where they go");
    oracle_plan_free(&s.plan);
}

/* --- What hls_numbers.h computes, against 128 bits --- */

__extension__ typedef __int128 wide;

static wide whole(const hls_sum &s)
{
    return static_cast<wide>(static_cast<int64_t>(hls_sum_limb(s, true))) * (static_cast<wide>(1) << 64) +
           hls_sum_limb(s, false);
}

static void numbers()
{
    size_t wrong = 0;
    wide want = 0;
    hls_sum sum = hls_sum_of(0);
    for (int i = 0; i < 20000; i++) {
        uint32_t c = hls_below(1u << 24);
        int64_t x = static_cast<int64_t>(hls_random() >> 32) - (hls_below(2) ? INT64_C(1) << 32 : 0);
        int64_t add = static_cast<int64_t>(hls_random()) >> hls_below(4);
        sum = hls_sum_add(sum, hls_sum_of(add));
        want += add;
        wrong += hls_product(c, x) != static_cast<int64_t>(c) * x || whole(sum) != want;
    }
#ifdef HCY_AP_TYPES
    ok(std::is_same<hls_sum, ap_int<96>>::value, "sums are ap_int<96>");
#endif
    is_int(static_cast<intmax_t>(wrong), 0, "sums of 96 bits and products of 24 and 33");
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

/* A frame of one block: `coded` and the bytes that it stands for. */
static const char *run_block(const scene &s, const bytes &coded, const bytes &image)
{
    hls_batch b(HCY_CODEC_LZ4, static_cast<uint32_t>(oracle_pixel_size(s.job.pixel_type)), image.size());
    b.add_block(coded);
    b.end();
    return run_chunks(s, b, std::vector<bytes>(1, image), std::vector<int>(1, 0));
}

static void put_length(bytes &to, size_t n)
{
    for (; n >= 255; n -= 255)
        to.push_back(255);
    to.push_back(static_cast<uint8_t>(n));
}

/* One match as long as can be, of offset 1; literals alone; pixels that all fall into one bin. */
static void worst_blocks(uint32_t type)
{
    scene s = scene_of(ORACLE_WHOLE, 80, 96, 1, type);
    size_t n = s.job.n_pixels * oracle_pixel_size(type);
    bytes longest = { 0x1f, 1, 1, 0 }, same(n, 1), literals, noise = image_of(WILD, s.job.n_pixels, type);
    put_length(longest, n - 6 - 19);
    longest.insert(longest.end(), { 0x50, 1, 1, 1, 1, 1 });
    literals.push_back(0xf0);
    put_length(literals, n - 15);
    literals.insert(literals.end(), noise.begin(), noise.end());
    const char *wrong = run_block(s, longest, same);
    ok(!wrong, "the longest match, of offset 1, pixel type %u%s%s", type, wrong ? ": " : "", wrong ? wrong : "");
    wrong = run_block(s, literals, noise);
    ok(!wrong, "literals alone, pixel type %u%s%s", type, wrong ? ": " : "", wrong ? wrong : "");
    oracle_plan_free(&s.plan);
}

/* No frame, frames of no block; images that are not all there, reports that are not. */
static void empty_and_short()
{
    scene s = scene_of(ORACLE_SPLIT, 20, 30, 12, HCY_PIXEL_U16);
    hls_batch none(HCY_CODEC_BSLZ4, 2, 1200), hollow(HCY_CODEC_BSLZ4, 2, 1200);
    std::vector<bytes> images(3, image_of(DIM, s.job.n_pixels, s.job.pixel_type));
    none.end();
    const char *wrong = run_chunks(s, none, std::vector<bytes>(), std::vector<int>());
    ok(!wrong, "chunks of no frame%s%s", wrong ? ": " : "", wrong ? wrong : "");
    wrong = run_images(s, std::vector<bytes>());
    ok(!wrong, "images of no frame%s%s", wrong ? ": " : "", wrong ? wrong : "");
    for (const bytes &image : images)
        hollow.add_image(image.data());
    hollow.frames[1].n_blocks = hollow.frames[1].tail_bytes = 0;
    hollow.end();
    std::vector<int> status = { 0, HCY_EINVAL, 0 };
    wrong = run_chunks(s, hollow, images, status);
    ok(!wrong, "a frame without a block%s%s", wrong ? ": " : "", wrong ? wrong : "");
    status = { 0, 0, HCY_ERANGE };
    wrong = run_images(s, images, status, 3 * 1200 - 1);
    ok(!wrong, "an image cut short%s%s", wrong ? ": " : "", wrong ? wrong : "");
    oracle_plan_free(&s.plan);
}

/* Blocks of noise, and good ones with a bit turned over: a status or sums, nothing outside, an end. */
static void noise_for_chunks()
{
    scene s = scene_of(ORACLE_SPLIT, 40, 64, 30, HCY_PIXEL_U32);
    bytes image = image_of(DIM, s.job.n_pixels, s.job.pixel_type);
    hls_batch b(HCY_CODEC_BSLZ4, 4, image.size());
    for (int i = 0; i < 24; i++)
        b.add_image(image.data());
    b.end();
    for (size_t i = 1; i < b.frames.size(); i++) {
        const hcy_bslz4_block &block = b.blocks[b.frames[i].first_block];
        uint8_t *at = &b.chunks[b.frames[i].offset + block.offset];
        if (i % 2)
            at[hls_below(block.size)] ^= static_cast<uint8_t>(1 << hls_below(8));
        for (uint32_t k = 0; k < block.size && i % 2 == 0; k++)
            at[k] = static_cast<uint8_t>(hls_random());
    }
    bytes tables = s.tables, job = bytes_of_one(s.job), sums(24 * HCY_AZINT_SUMS * 30 * 8),
          reports(24 * sizeof(hcy_frame_report)), none;
    bytes chunks = b.chunks, frames = bytes_of(b.frames), blocks = bytes_of(b.blocks), coding = bytes_of_one(b.job);
    bool clean = hls_call(bslz4_azint_run, 24,
                          { { &chunks, false },
                            { &frames, false },
                            { &blocks, false },
                            { &coding, true },
                            { &tables, false },
                            { &job, true },
                            { &sums, false },
                            { &reports, false },
                            { &none, false } });
    size_t bad = 0, strange = 0;
    for (int i = 0; i < 24; i++) {
        hcy_frame_report r;
        memcpy(&r, &reports[i * sizeof r], sizeof r);
        bad += r.status == HCY_ECORRUPT;
        strange += (r.status && r.status != HCY_ECORRUPT) || (!i && r.status);
    }
    ok(clean && !strange && bad >= 11, "noise: %zu of 24 frames damaged, nothing written outside", bad);
    oracle_plan_free(&s.plan);
}

/* Records that all end a group, that none ends one, and noise. */
static uint64_t fill(int how)
{
    return how == 0 ? 0 : how == 1 ? 0xff : hls_random();
}

/* Where a span's bins and records begin. */
static uint64_t behind_pieces(const uint8_t *span)
{
    hls_plan_head head;
    memcpy(&head, span, sizeof head);
    return sizeof head + head.n_pieces * sizeof(hls_piece);
}

/* Tables of records that nobody checked: a status, or sums of nothing in particular; an end, and nothing outside. */
static void damaged_tables()
{
    size_t wrong = 0, refused = 0;
    for (int i = 0; i < 24; i++) {
        scene s = scene_of(ORACLE_SPLIT, 20, 30, 12, HCY_PIXEL_U16);
        bytes image = image_of(GAPS, s.job.n_pixels, s.job.pixel_type), job = bytes_of_one(s.job), none,
              sums(HCY_AZINT_SUMS * 12 * 8), reports(sizeof(hcy_frame_report));
        hcy_hls_tables head;
        memcpy(&head, s.tables.data(), sizeof head);
        uint8_t *span = &s.tables[head.span[HLS_SPAN].offset];
        if (i % 2) /* what the pieces say of themselves */
            span[64 + hls_below(24)] ^= static_cast<uint8_t>(1 << hls_below(8));
        else /* the records, or the runs and where they start, of a frame with lost pixels */
            for (int k = i % 4 ? 1 : HLS_SPAN; k <= (i % 4 ? 2 : HLS_SPAN); k++)
                for (uint64_t at = k == HLS_SPAN ? behind_pieces(span) : 0; at < head.span[k].size; at++)
                    s.tables[head.span[k].offset + at] = static_cast<uint8_t>(fill(i / 4 % 3));
        wrong += !hls_call(azint_image_run, 1,
                           { { &image, false },
                             { &s.tables, false },
                             { &job, true },
                             { &sums, false },
                             { &reports, false },
                             { &none, false } });
        hcy_frame_report r;
        memcpy(&r, &reports[0], sizeof r);
        refused += r.status == HCY_EINVAL;
        oracle_plan_free(&s.plan);
    }
    ok(!wrong && refused, "damaged records: %zu of 24 refused, nothing written outside", refused);
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

/* Nothing is added to bins that a piece does not have: the next piece, of any frame, would find it in the banks. */
static void bins_of_no_piece()
{
    static hls_banks banks;
    hls_sums_task task;
    hls_piece piece = { 0, 0, 1, 1, 3, 0, { 0, 0, 0, 0 } };
    hls::stream<hls_record, HLS_PIXEL_DEPTH> records;
    hls::stream<hls_group, HLS_SMALL_DEPTH> groups;
    hls::stream<uint8_t, HLS_PIXEL_DEPTH> lost;
    hls::stream<hls_pair, HLS_PAIR_DEPTH> totals;
    static const uint32_t entries[HLS_LANES] = { 2 | HLS_USED | HLS_TWO, 5 | HLS_USED, 8191 | HLS_USED | HLS_TWO,
                                                 3 | HLS_USED,           2 | HLS_USED };
    bytes record(HLS_RECORD);
    hls_record r;
    size_t left = 0;
    memset(&task, 0, sizeof task);
    for (size_t k = 0; k < HLS_LANES; k++) {
        record[5 * k] = 1;
        record[5 * k + 3] = static_cast<uint8_t>(entries[k]);
        record[5 * k + 4] = static_cast<uint8_t>(entries[k] >> 8);
    }
    memcpy(&r, record.data(), sizeof r);
    records.write(r);
    hls_group g = { { 7, 7, 7, 7, 7, 7, 7, 7 } };
    groups.write(g);
    hls_integrate_piece(task, piece, banks, records, groups, lost);
    hls_integrate_flush(piece.n_bins, banks, totals);
    for (auto &lane : banks)
        for (auto &bank : lane)
            for (const hls_bin &bin : bank)
                left += hls_sum_limb(bin.signal, false) != 0;
    totals.read();
    is_int(static_cast<intmax_t>(hls_sum_limb(totals.read().bin[0].signal, false)), 7, "a bin of a piece");
    is_int(static_cast<intmax_t>(left), 0, "... and none is left in the banks of bins that it does not have");
}

/* A place of runs so far off that four bytes more begin anew. */
static void places_that_wrap()
{
    hls_word memory[3];
    hls_sums_task task;
    memset(memory, 1, sizeof memory);
    memset(&task, 0, sizeof task);
    task.runs_end = 128;
    for (uint64_t at = 0; at < 4; at++)
        if (hls_run_word(&memory[1], UINT64_MAX - at, task) != HCY_AZINT_NO_RUN)
            task.runs_end = 0;
    ok(task.runs_end, "runs before their span are none");
}

/* Plans may be of no pixels, and their sums are written like others. */
static void no_pixels()
{
    scene s = scene_of(ORACLE_SPLIT, 0, 5, 3, HCY_PIXEL_U16);
    const char *wrong = run_images(s, std::vector<bytes>(2));
    ok(!wrong, "images of no pixels%s%s", wrong ? ": " : "", wrong ? wrong : "");
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
    try_plan(ORACLE_WILD, 60, 64, 30001, HCY_PIXEL_I32, false, "several pieces, with a sign");
    for (uint32_t type : { HCY_PIXEL_U8, HCY_PIXEL_U16, HCY_PIXEL_U32, HCY_PIXEL_I32 }) {
        try_codec(HCY_CODEC_BSLZ4, type, "filter 32008");
        try_codec(HCY_CODEC_LZ4, type, "filter 32004");
    }
    try_codec(HCY_CODEC_BITSHUFFLE, HCY_PIXEL_U16, "bits transposed");
    try_codec(HCY_CODEC_NONE, HCY_PIXEL_U16, "plain pixels");
    /* More groups with lost pixels than the list holds: the frame goes through again. */
    try_plan(ORACLE_SPLIT, 380, 360, 40, HCY_PIXEL_U8, false, "more lost pixels than are listed at once", true);
    numbers();
    counts_of_plan();
    for (uint32_t type : { HCY_PIXEL_U8, HCY_PIXEL_U16, HCY_PIXEL_U32 }) {
        try_narrow(type);
        worst_blocks(type);
    }
    empty_and_short();
    noise_for_chunks();
    damaged_tables();
    damaged();
    bins_of_no_piece();
    places_that_wrap();
    no_pixels();
    refusals();
    tail_alone();
    return done_testing();
}
