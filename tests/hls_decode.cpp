// hls_decode - the FPGA kernel bslz4_decode in C simulation against the CPU's: images, reports, nothing written
// outside; the rules of LZ4 against liblz4's on many damaged blocks; a shallow FIFO is a deadlock with its name.
#include "hls.h"

#include "bslz4/bslz4_engine.h"

#include <lz4.h>

#include <algorithm>

/* --- Images --- */

enum temper { ZERO, DIM, MASKED, NOISE, PERIOD, TEMPERS };

static bytes image_of(enum temper temper, size_t size, unsigned elem)
{
    bytes image(size);
    uint32_t period = 1 + hls_below(40);
    for (size_t i = 0; i < size / elem; i++) {
        uint64_t v = temper == ZERO     ? 0
                     : temper == DIM    ? hls_below(hls_below(300) ? 8 : 1000)
                     : temper == MASKED ? (i / 61 % 5 == 2 ? UINT32_MAX : hls_below(5))
                     : temper == NOISE  ? hls_random()
                                        : i % period * 77777;
        memcpy(&image[i * elem], &v, elem);
    }
    return image;
}

/* --- Both kernels on a batch --- */

/* NULL, or what differs. */
static const char *compare(const hls_batch &b)
{
    size_t n = b.frames.size(), image = b.job.image_bytes;
    bytes images(n * image, 0x11), reports(n * sizeof(hcy_frame_report), 0x22), want_images(n * image),
        want_reports(n * sizeof(hcy_frame_report)), frames = bytes_of(b.frames), blocks = bytes_of(b.blocks);
    bool clean = hls_decode(b, images, reports);
    cpu_kernel_run cpu("bslz4_decode");
    std::vector<hcy_arg> args = { cpu.in(b.chunks.data(), b.chunks.size()), cpu.in(frames.data(), frames.size()),
                                  cpu.in(blocks.data(), blocks.size()),     hcy_arg_struct(&b.job, sizeof b.job),
                                  cpu.room(n * image),                      cpu.room(want_reports.size()) };
    cpu.launch(n, args);
    cpu.out(want_images, args[4]);
    cpu.out(want_reports, args[5]);
    for (size_t i = 0; i < args.size(); i++)
        if (i != 3)
            hcy_buffer_release(args[i].v.buf);
    if (!clean)
        return "something was written outside the buffers";
    for (size_t i = 0; i < n; i++) {
        hcy_frame_report got, want;
        memcpy(&got, &reports[i * sizeof got], sizeof got);
        memcpy(&want, &want_reports[i * sizeof want], sizeof want);
        if (memcmp(&got, &want, sizeof got)) {
            diag("frame %zu: status %d block %u byte %llu, want %d %u %llu", i, got.status, got.block,
                 (unsigned long long)got.byte, want.status, want.block, (unsigned long long)want.byte);
            return "reports differ";
        }
        if (!got.status && memcmp(&images[i * image], &want_images[i * image], image)) {
            size_t k = 0;
            while (images[i * image + k] == want_images[i * image + k])
                k++;
            diag("frame %zu: byte %zu is %u, want %u", i, k, images[i * image + k], want_images[i * image + k]);
            return "images differ";
        }
    }
    return nullptr;
}

static void try_images(uint32_t codec, unsigned elem, size_t size, uint32_t block_bytes, const char *name)
{
    hls_batch b(codec, elem, size, block_bytes);
    for (int t = 0; t < TEMPERS; t++)
        b.add_image(image_of(static_cast<enum temper>(t), size, elem).data());
    b.end();
    const char *wrong = compare(b);
    ok(!wrong, "%s, elements of %u, images of %zu bytes%s%s", name, elem, size, wrong ? ": " : "",
       wrong ? wrong : "");
}

/* --- Blocks by hand --- */

static void put_length(bytes &out, uint32_t n)
{
    for (; n >= 255; n -= 255)
        out.push_back(255);
    out.push_back(static_cast<uint8_t>(n));
}

static void put_sequence(bytes &out, uint32_t literals, uint32_t match, uint32_t offset)
{
    uint32_t m = match ? match - 4 : 0;
    out.push_back(static_cast<uint8_t>(std::min(literals, 15u) << 4 | std::min(m, 15u)));
    if (literals >= 15)
        put_length(out, literals - 15);
    for (; literals; literals--)
        out.push_back(static_cast<uint8_t>(hls_below(3) ? hls_random() : 0));
    if (!match)
        return;
    out.push_back(static_cast<uint8_t>(offset));
    out.push_back(static_cast<uint8_t>(offset >> 8));
    if (m >= 15)
        put_length(out, m - 15);
}

/* Sequences that make about n bytes, and may break every rule at their end; `wild`: anywhere. */
static bytes random_block(uint32_t n, bool wild)
{
    bytes out;
    uint32_t at = 0;
    while (at < n) {
        uint32_t left = n - at, literals = hls_below(4) ? hls_below(6) : hls_below(40);
        uint32_t match = hls_below(3) ? 4 + hls_below(18) : 4 + hls_below(600), offset;
        if (left <= 5 + hls_below(30)) {
            put_sequence(out, hls_below(8) ? left : hls_below(20), 0, 0);
            break;
        }
        literals = at ? std::min(literals, left) : std::max(std::min(literals, left), 1u);
        match = std::min(match, std::max(left - literals, 4u) - (hls_below(2) ? 0 : std::min(5u, left - literals)));
        match = std::max(match, 4u);
        offset = 1 + hls_below(hls_below(2) ? at + literals : std::min(at + literals, 16u));
        if (wild && !hls_below(60))
            offset = hls_below(70000);
        put_sequence(out, literals, match, offset & 0xffff);
        at += literals + match;
    }
    if (wild && !hls_below(4) && !out.empty())
        out[hls_below(static_cast<uint32_t>(out.size()))] ^= static_cast<uint8_t>(1 << hls_below(8));
    if (wild && !hls_below(10) && out.size() > 1)
        out.pop_back();
    return out;
}

/* liblz4's verdict, offsets of 0 being damage. */
static bool liblz4_takes(const bytes &in, uint32_t n, bytes &out)
{
    out.assign(n, 0);
    const char *from = reinterpret_cast<const char *>(in.data());
    char *to = reinterpret_cast<char *>(out.data());
    int size = static_cast<int>(in.size()), room = static_cast<int>(n);
    if (in.empty() || LZ4_decompress_safe(from, to, size, room) != room)
        return false;
    size_t ip = 0; // it was right, so this ends in its bounds
    for (;;) {
        unsigned token = in[ip++], more, literals = token >> 4;
        if (literals == 15)
            do
                literals += more = in[ip++];
            while (more == 255);
        ip += literals;
        if (ip >= in.size())
            return true;
        if (!(in[ip] | in[ip + 1]))
            return false;
        ip += 2;
        if ((token & 15) == 15)
            while (in[ip++] == 255)
                ;
    }
}

/* The kernel's parser alone, its sequences carried out byte by byte. */
static bool parser_takes(const bytes &in, uint32_t n, bytes &out)
{
    hls_unit u = { 0, static_cast<uint32_t>(in.size()), n, 0, HLS_LZ4, 0 };
    hls_parser p = hls_parser_begin(u);
    size_t at = 0;
    out.clear();
    for (size_t steps = 0; p.state != HLS_DONE && p.state != HLS_DAMAGED; steps++) {
        uint64_t low = 0;
        hls_sequence s;
        bool put;
        for (size_t k = 0; k < 8 && at + k < in.size(); k++)
            low |= static_cast<uint64_t>(in[at + k]) << 8 * k;
        at += hls_parser_step(p, low, 8, s, put);
        if (at > in.size() || steps > 2 * in.size() + 8)
            bail_out("the parser ran past its input");
        for (unsigned k = 0; put && k < s.n; k++)
            out.push_back(static_cast<uint8_t>(s.literals >> 8 * k));
        for (unsigned k = 0; put && k < s.match; k++)
            out.push_back(out[out.size() - s.offset]);
        if (out.size() > n)
            bail_out("the parser gave more than the block has");
    }
    return p.state == HLS_DONE;
}

static void parser_rules()
{
    enum { TRIES = 60000 };
    size_t wrong = 0, good = 0;
    for (int i = 0; i < TRIES; i++) {
        uint32_t n = 1 + hls_below(hls_below(2) ? 100 : 900);
        bytes in = random_block(n, hls_below(2)), want, got;
        if (in.empty())
            continue;
        bool takes = liblz4_takes(in, n, want);
        good += takes;
        if (parser_takes(in, n, got) != takes || (takes && got != want))
            wrong++;
    }
    ok(!wrong && good > TRIES / 8 && good < TRIES * 7 / 8, "%d blocks, %zu of them good: liblz4's verdict and bytes",
       TRIES, good);
    if (wrong)
        diag("%zu differ", wrong);
}

static void blocks_by_hand(unsigned elem)
{
    hls_batch b(HCY_CODEC_BSLZ4, elem, HLS_BLOCK);
    bytes longest, incompressible;
    put_sequence(longest, 1, HLS_BLOCK - 6, 1);
    put_sequence(longest, 5, 0, 0);
    b.add_block(longest);
    put_sequence(incompressible, HLS_BLOCK, 0, 0);
    b.add_block(incompressible);
    for (int i = 0; i < 40; i++)
        b.add_block(random_block(HLS_BLOCK, i % 2));
    for (uint32_t offset = 1; offset <= 1024; offset *= 2) { // planes that repeat; what comes behind looks into them
        bytes in;
        put_sequence(in, 1100, 3000, offset);
        put_sequence(in, 3, 700, 1 + hls_below(4000));
        put_sequence(in, 40, 40, 1 + hls_below(30));
        put_sequence(in, HLS_BLOCK - 1100 - 3000 - 703 - 80, 0, 0);
        b.add_block(in);
    }
    b.add_block(bytes(1, 0));
    b.end();
    const char *wrong = compare(b);
    ok(!wrong, "blocks by hand, elements of %u: offset 1, incompressible, planes that repeat, damage%s%s", elem,
       wrong ? ": " : "", wrong ? wrong : "");
}

/* Several blocks, some of them damaged, in a frame; a chunk that is no chunk. */
static void damaged_frames()
{
    hls_batch b(HCY_CODEC_BSLZ4, 4, 10 * HLS_BLOCK + 4 * 11);
    bytes image = image_of(DIM, b.job.image_bytes, 4), junk(100, 7);
    for (int i = 0; i < 6; i++)
        b.add_image(image.data());
    b.add_chunk(junk.data(), junk.size());
    b.end();
    for (int i = 1; i < 5; i++) {
        const hcy_bslz4_frame &f = b.frames[i];
        for (int k = 0; k < 2; k++) {
            const hcy_bslz4_block &block = b.blocks[f.first_block + hls_below(f.n_blocks)];
            memset(&b.chunks[f.offset + block.offset], 0xf0, block.size / 2);
        }
    }
    b.blocks[b.frames[4].first_block + 1].offset = UINT32_MAX - 4;
    b.blocks[b.frames[3].first_block + 2].size = 0;
    const char *wrong = compare(b);
    ok(!wrong, "damaged frames beside good ones%s%s", wrong ? ": " : "", wrong ? wrong : "");
    b.frames[0].n_blocks++;
    b.frames[1].offset = b.chunks.size();
    b.frames[2].block_bytes = 0;
    b.frames[5].first_block = UINT32_MAX;
    wrong = compare(b);
    ok(!wrong, "tables that do not fit%s%s", wrong ? ": " : "", wrong ? wrong : "");
}

/* Images of 2^47 bytes: where the places of 2^17 of them end a sum of 64 bits is 0 again. */
static void images_beyond_all()
{
    hls_batch b(HCY_CODEC_LZ4, 4, UINT64_C(1) << 47);
    hcy_bslz4_frame f;
    memset(&f, 0, sizeof f);
    f.n_blocks = 1 << 16;
    f.block_bytes = f.last_bytes = UINT32_C(1) << 31;
    f.status = HCY_EFORMAT;
    b.frames.assign(1 << 17, f);
    b.frames.front().status = b.frames.back().status = 0;
    b.blocks.resize(f.n_blocks);
    b.chunks.resize(64);
    bytes images(64), reports(b.frames.size() * sizeof(hcy_frame_report));
    bool clean = hls_decode(b, images, reports);
    hcy_frame_report first, last;
    memcpy(&first, &reports[0], sizeof first);
    memcpy(&last, &reports[reports.size() - sizeof last], sizeof last);
    ok(clean && first.status == HCY_EINVAL && last.status == HCY_EINVAL, "images without room, in any number");
}

/* --- Deadlocks --- */

static char deadlock_words[512];
static void note_deadlock(const char *words)
{
    snprintf(deadlock_words, sizeof deadlock_words, "%s", words);
}

/* Two ways to one reader that takes all of the first before the second. */
static void fork_stage(hls::stream<int> &a, hls::stream<int> &b)
{
    for (int i = 0; i < 100; i++) {
        b.write(i);
        a.write(i);
    }
}
static void join_stage(hls::stream<int> &a, hls::stream<int> &b, int *sum)
{
    for (int i = 0; i < 100; i++)
        *sum += a.read();
    for (int i = 0; i < 100; i++)
        *sum += b.read();
}
template <int DEPTH> static int fork_and_join()
{
    hls::stream<int, 4> a("narrow");
    hls::stream<int, DEPTH> b("shallow");
    int sum = 0;
    HLS_STAGES
    HLS_STAGE(fork_stage(a, b));
    HLS_STAGE(join_stage(a, b, &sum));
    HLS_STAGES_END
    return sum;
}

static void deadlocks()
{
    hls_sim::on_deadlock() = note_deadlock;
    is_int(fork_and_join<100>(), 2 * 4950, "a FIFO that is deep enough");
    is_str(deadlock_words, "", "... is no deadlock");
    fork_and_join<99>();
    ok(strstr(deadlock_words, "full 'shallow' (99)") && strstr(deadlock_words, "empty 'narrow' (4)"),
       "one element less is one, with the FIFOs' names");
    diag("%s", deadlock_words);
    hls_sim::on_deadlock() = nullptr;
}

int main()
{
    deadlocks();
    parser_rules();
    for (unsigned elem = 1; elem <= 4; elem *= 2) {
        try_images(HCY_CODEC_BSLZ4, elem, 3 * 8192 + 8 * elem * 5 + 3 * elem, 0, "filter 32008");
        try_images(HCY_CODEC_BSLZ4, elem, 4096 + 40, 1024, "small blocks");
        try_images(HCY_CODEC_BITSHUFFLE, elem, 9000 / elem * elem, 0, "bits transposed");
        try_images(HCY_CODEC_LZ4, elem, 20000 + elem, 0, "filter 32004");
        try_images(HCY_CODEC_LZ4, elem, 150000, 150000, "filter 32004, one block");
        try_images(HCY_CODEC_NONE, elem, 1000 * elem, 0, "plain");
        blocks_by_hand(elem);
    }
    try_images(HCY_CODEC_LZ4, 8, 20000, 0, "filter 32004");
    damaged_frames();
    images_beyond_all();
    return done_testing();
}
