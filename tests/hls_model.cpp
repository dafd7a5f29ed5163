// hls_model - the model of the FPGA design against its C simulation: what went through the FIFOs is what it counts.
#include "hls.h"

#include "hls_stream.h"
#include "model.h"

static bytes image_of(int temper, size_t size, unsigned elem)
{
    bytes image(size);
    for (size_t i = 0; i < size / elem; i++) {
        uint32_t v = temper == 0   ? hls_below(6)
                     : temper == 1 ? (i / 61 % 5 == 2 ? UINT32_MAX : hls_below(3))
                     : temper == 2 ? static_cast<uint32_t>(hls_random())
                                   : static_cast<uint32_t>(i % 37 * 1000);
        memcpy(&image[i * elem], &v, elem);
    }
    return image;
}

static void try_counts(uint32_t codec, unsigned elem)
{
    hls_batch b(codec, elem, 5 * 8192 + 8 * elem * 9 + 3 * elem);
    hls_work work;
    hls_sim::counts counts;
    memset(&work, 0, sizeof work);
    for (int t = 0; t < 4; t++)
        b.add_image(image_of(t, b.job.image_bytes, elem).data());
    b.end();
    for (const hcy_bslz4_frame &f : b.frames)
        hls_work_frame(&work, &f, b.blocks.data(), &b.job, b.chunks.data());
    bytes images(b.frames.size() * b.job.image_bytes), reports(b.frames.size() * sizeof(hcy_frame_report));
    hls_sim::counting() = &counts;
    hls_decode(b, images, reports);
    hls_sim::counting() = nullptr;
    is_int(counts.get("coded"), work.words, "codec %u, elements of %u: words fetched", codec, elem);
    is_int(counts.get("decoded"), work.chunks + work.blocks, "... pieces copied, bit-planes left out counted once");
    is_int(counts.get("units"), work.blocks, "... blocks");
    size_t chunks = (b.chunks.size() - HCY_BSLZ4_PADDING + HCY_BSLZ4_ALIGN - 1) / HCY_BSLZ4_ALIGN * HCY_BSLZ4_ALIGN;
    is_int(chunks + bytes_of(b.frames).size() + bytes_of(b.blocks).size(), work.link_bytes, "... bytes from the host");
}

/* A frame of one piece: its records, a pair of bins a clock, a row of a bin a clock. */
static void curves()
{
    hls_work work;
    hls_piece piece = { 0, 0, 560712, 560712, 1000, 0, { 0, 0, 0, 0 } };
    hls_design design = { &hls_cards[0], 1, 4, 300e6, &piece, 1, 4, 32000 };
    hls_rates r;
    memset(&work, 0, sizeof work);
    work.frames = 1;
    work.groups = 560712;
    work.link_bytes = 1000000;
    hls_rates_get(&r, &work, &design);
    is_near(r.all, 300e6 / (560712 + 4000 + 2000), 1e-12, 0, "a frame a record a clock");
    is_str(hls_stage_names[r.limit], "integrate", "... which limits");
    ok(r.bound == r.limit, "... in all");
    design.units = 100;
    hls_rates_get(&r, &work, &design);
    is_near(r.all, 12000, 1e-12, 0, "the link limits many compute units");
    is_str(hls_stage_names[r.bound], "link", "... and is named");
    work.link_bytes = 1000;
    hls_card slow = hls_cards[0];
    slow.memory = 77e9;
    design.card = &slow;
    hls_rates_get(&r, &work, &design);
    is_str(hls_stage_names[r.bound], "memory", "few memories limit many compute units");
}

/* A frame of many pieces: sums go to memory while the next piece is added up. */
static void images()
{
    hls_work work;
    std::vector<hls_piece> pieces(10);
    hls_design design = { &hls_cards[0], 10, 4, 300e6, pieces.data(), pieces.size(), 2, 16 * 80000 };
    hls_rates r;
    memset(&work, 0, sizeof work);
    work.frames = 1;
    for (hls_piece &p : pieces) {
        memset(&p, 0, sizeof p);
        p.n_records = 50000;
        p.n_bins = 8000;
    }
    hls_rates_get(&r, &work, &design);
    is_near(r.frame, 10 * (50000 + 4000) - 4000 + 16000 + 2000, 1e-12, 0, "sums of a piece are hidden by the next one");
    design.rows = 8;
    hls_rates_get(&r, &work, &design);
    is_near(r.frame, 50000 + 10 * 64000 + 2000, 1e-12, 0, "... unless they take longer");
    is_str(hls_stage_names[r.limit], "settle", "... which then limits");
    design.sums_bytes = 30000000;
    hls_rates_get(&r, &work, &design);
    is_near(r.all, 400, 1e-12, 0, "the way back limits large sums");
    is_str(hls_stage_names[r.bound], "link_back", "... and is named");
}

int main()
{
    for (unsigned elem = 1; elem <= 4; elem *= 2) {
        try_counts(HCY_CODEC_BSLZ4, elem);
        try_counts(HCY_CODEC_LZ4, elem);
    }
    try_counts(HCY_CODEC_BITSHUFFLE, 2);

    curves();
    images();
    return done_testing();
}
