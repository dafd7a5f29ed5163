/* bslz4.c - chunks made, taken apart and decoded block by block, by every SIMD variant this machine can run;
 * then the same with damage of every kind, against the scalar decoder of bslz4_ref.h.
 */
#include "bslz4_ref.h"
#include "tap.h"
#include <halcyon/bslz4.h>

static uint64_t seed = 88172645463325252u;

static uint32_t random32(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 32);
}

/* Little-endian elements of the kinds that detectors make. */
enum kind { ZEROS, ONES, COUNTS, GAPS, HOT, RAMP, NOISE, WORDS, N_KINDS };

static uint64_t element(enum kind kind, size_t i)
{
    uint32_t r = random32();
    uint64_t few = (uint64_t)__builtin_popcount(r & r >> 16 & 0xFFFF);
    switch (kind) {
    case ONES:
        return UINT64_MAX;
    case COUNTS:
        return few;
    case GAPS:
        return i / 37 % 3 ? few : UINT64_MAX;
    case HOT:
        return r % 97 ? few : r % 5 ? UINT64_MAX - 1 : (uint64_t)r * r;
    case RAMP:
        return i;
    case NOISE:
        return (uint64_t)r << 32 | random32();
    case WORDS:
        return 0x3FF0000000000000u + (few << 44); /* doubles near 1 */
    default:
        return 0;
    }
}

static uint8_t *make_image(enum kind kind, const hcy_bslz4_job *job)
{
    uint8_t *image = malloc(job->image_bytes);
    for (size_t i = 0; i < job->image_bytes / job->elem_size; i++) {
        uint64_t v = element(kind, i);
        memcpy(image + i * job->elem_size, &v, job->elem_size);
    }
    return image;
}

/* A chunk and its table, in memory of exactly its size. */
struct chunk {
    uint8_t *bytes;
    size_t size;
    hcy_bslz4_frame frame;
    hcy_bslz4_block *blocks;
};

static void free_chunk(struct chunk *c)
{
    free(c->bytes);
    free(c->blocks);
}

static int make_chunk(struct chunk *c, const hcy_bslz4_job *job, const void *image)
{
    size_t bound = 0, n = 0;
    memset(c, 0, sizeof *c);
    int st = hcy_bslz4_encode_bound(&bound, job);
    c->bytes = malloc(bound);
    if (!st)
        st = hcy_bslz4_encode(&c->size, c->bytes, bound, job, image);
    if (!st)
        c->bytes = realloc(c->bytes, c->size);
    if (!st)
        st = hcy_bslz4_block_count(&n, job, c->bytes, c->size);
    c->blocks = malloc((n + 1) * sizeof *c->blocks);
    return st ? st : hcy_bslz4_parse(&c->frame, c->blocks, n, NULL, job, c->bytes, c->size);
}

static size_t bytes_of_block(const hcy_bslz4_frame *f, uint32_t b)
{
    return b + 1 == f->n_blocks ? f->last_bytes : f->block_bytes;
}

/* 0, or what goes wrong; `image` has job->image_bytes. */
static int decode_chunk(uint8_t *image, const struct chunk *c, const hcy_bslz4_job *job,
                        const struct cpu_block_ops *ops)
{
    const hcy_bslz4_frame *f = &c->frame;
    uint8_t *work = aligned_alloc(64, (CPU_BLOCK_WORK(f->block_bytes) + 63) / 64 * 64);
    int st = 0;
    for (uint32_t b = 0; b < f->n_blocks && !st; b++)
        st = cpu_bslz4_block(ops, job, c->bytes + c->blocks[b].offset, c->blocks[b].size, c->bytes + c->size,
                             bytes_of_block(f, b), work, image + (size_t)b * f->block_bytes);
    memcpy(image + job->image_bytes - f->tail_bytes, c->bytes + f->tail_offset, f->tail_bytes);
    free(work);
    return st;
}

static int round_trip(const hcy_bslz4_job *job, enum kind kind)
{
    struct chunk c;
    uint8_t *image = make_image(kind, job), *back = malloc(job->image_bytes);
    int bad = make_chunk(&c, job, image);
    for (int simd = 0; simd <= (int)cpu_simd_best() && !bad; simd++) {
        memset(back, 0x5A, job->image_bytes);
        bad = decode_chunk(back, &c, job, cpu_block_ops(simd)) || memcmp(back, image, job->image_bytes);
        if (bad)
            diag("%s: %u-byte elements, blocks of %u bytes, %llu bytes, kind %d", cpu_simd_name(simd),
                 job->elem_size, job->block_bytes, (unsigned long long)job->image_bytes, kind);
    }
    free_chunk(&c);
    free(image);
    free(back);
    return bad != 0;
}

static void test_round_trips(void)
{
    static const char *const codecs[] = { "plain", "bitshuffle + LZ4", "LZ4", "bitshuffle" };
    static const size_t counts[] = { 1, 7, 8, 9, 63, 64, 513, 1000, 4096, 5003, 20011 };
    static const uint32_t blocks[] = { 0, 8, 24, 64, 128, 504, 512, 1000, 1544, 4096, 16384 }; /* elements */
    for (uint32_t codec = 0; codec < 4; codec++)
        for (uint32_t e = 1; e <= 8; e *= 2) {
            int bad = 0, n = 0;
            for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
                for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
                    for (int kind = 0; kind < N_KINDS; kind++, n++)
                        bad += round_trip(&(hcy_bslz4_job){ codec, e, counts[i] * e, blocks[b] * e, 0 },
                                          (enum kind)kind);
            is_int(bad, 0, "%s, elements of %u bytes: %d images come back from every variant", codecs[codec],
                   e, n);
        }
}

static void put_be32(uint8_t *p, uint32_t v)
{
    for (int i = 3; i >= 0; i--, v >>= 8)
        p[i] = (uint8_t)v;
}

static int parse(const hcy_bslz4_job *job, const struct chunk *c, size_t size, hcy_frame_report *report)
{
    hcy_bslz4_frame frame;
    hcy_bslz4_block blocks[64];
    return hcy_bslz4_parse(&frame, blocks, 64, report, job, c->bytes, size);
}

static void test_header(void)
{
    hcy_bslz4_job job = { HCY_CODEC_BSLZ4, 4, 5003 * 4, 0, 0 };
    hcy_frame_report report;
    struct chunk c;
    size_t n = 0;
    uint8_t *image = make_image(GAPS, &job), *back = malloc(job.image_bytes);
    is_int(make_chunk(&c, &job, image), 0, "a chunk of 5003 pixels");
    is_int(c.frame.n_blocks, 3, "has 3 blocks");
    is_int(c.frame.block_bytes, 8192, "of 8192 bytes,");
    is_int(c.frame.last_bytes, 904 * 4, "the last with the rest rounded down to 8 pixels,");
    is_int(c.frame.tail_bytes, 12, "and a tail of 3 pixels");
    is_int(hcy_bslz4_block_count(&n, &job, NULL, 0), 0, "the number of blocks without a chunk");
    is_int((intmax_t)n, 3, "is that of the default block size");
    is_int(hcy_bslz4_parse(&c.frame, c.blocks, 2, NULL, &job, c.bytes, c.size), HCY_ERANGE,
           "too small a table");
    put_be32(c.bytes + 8, 0);
    is_int(parse(&job, &c, c.size, NULL), 0, "block size 0 is the default block size");
    is_int(hcy_bslz4_parse(&c.frame, c.blocks, 3, NULL, &job, c.bytes, c.size), 0, "parsed");
    ok(!decode_chunk(back, &c, &job, cpu_block_ops(cpu_simd_best())) && !memcmp(back, image, job.image_bytes),
       "decoded");
    put_be32(c.bytes + 8, 8200);
    is_int(parse(&job, &c, c.size, &report), HCY_ECORRUPT, "a block size that is not a multiple of 8 pixels");
    put_be32(c.bytes + 8, 32);
    is_int(parse(&job, &c, c.size, &report), HCY_ERANGE, "a tiny block size needs a larger table");
    put_be32(c.bytes + 8, 4096);
    is_int(parse(&job, &c, c.size, &report), HCY_ECORRUPT, "another block size than the chunk was made with");
    put_be32(c.bytes + 8, 8192);
    put_be32(c.bytes + 4, 5002 * 4);
    is_int(parse(&job, &c, c.size, &report), HCY_ECORRUPT, "another size than the image's");
    is_int((intmax_t)report.byte, 0, "is reported at byte 0");
    free_chunk(&c);
    free(image);
    free(back);
}

static void test_bad_jobs(void)
{
    static const struct {
        hcy_bslz4_job job;
        int want;
        const char *what;
    } cases[] = {
        { { 4, 4, 64, 0, 0 }, HCY_EINVAL, "an unknown codec" },
        { { 1, 3, 66, 0, 0 }, HCY_EUNSUPPORTED, "elements of 3 bytes" },
        { { 1, 0, 64, 0, 0 }, HCY_EUNSUPPORTED, "elements of 0 bytes" },
        { { 1, 4, 0, 0, 0 }, HCY_EINVAL, "an empty image" },
        { { 1, 4, 66, 0, 0 }, HCY_EINVAL, "half an element" },
        { { 1, 4, 64, 48, 0 }, HCY_EINVAL, "blocks of 12 elements" },
        { { 1, 4, 1ull << 32, 0, 0 }, HCY_EUNSUPPORTED, "4 GiB" },
        { { 1, 4, 64, 0x80000000u, 0 }, HCY_EINVAL, "blocks larger than LZ4's limit" },
    };
    uint8_t bytes[128] = { 0 };
    size_t n;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        is_int(hcy_bslz4_block_count(&n, &cases[i].job, NULL, 0), cases[i].want, "%s: not parsed",
               cases[i].what);
        is_int(hcy_bslz4_encode(&n, bytes, sizeof bytes, &cases[i].job, bytes), cases[i].want, "%s: not made",
               cases[i].what);
    }
    is_int(hcy_bslz4_encode(&n, bytes, 20, &(hcy_bslz4_job){ 1, 4, 64, 0, 0 }, bytes), HCY_ERANGE,
           "a chunk that does not fit");
}

/* Every shorter chunk is refused, and so is every longer one; the place is that of the block that is cut. */
/* Blocks of random bytes that are full of lengths: what a walk begun in the middle may take for blocks. */
static size_t make_lengths(uint8_t *chunk, const hcy_bslz4_job *job, uint32_t n_blocks, unsigned kind)
{
    static const uint8_t lengths[] = { 0, 0, 0, 1, 0, 0, 0, 0, 3, 0, 0, 1, 4 };
    uint8_t *p = chunk;
    for (int i = 7; i >= 0; i--)
        *p++ = (uint8_t)(job->image_bytes >> 8 * i);
    for (int i = 3; i >= 0; i--)
        *p++ = (uint8_t)(job->block_bytes >> 8 * i);
    for (uint32_t b = 0; b < n_blocks; b++) {
        uint32_t n = kind & 1 ? 1 + random32() % 520 : 1 + random32() % (b < n_blocks / 2 ? 9 : 500);
        for (int i = 3; i >= 0; i--)
            *p++ = (uint8_t)(n >> 8 * i);
        for (uint32_t i = 0; i < n; i++)
            *p++ = kind & 2 ? lengths[i % 13] : kind & 4 ? (uint8_t)random32() : 0;
    }
    return (size_t)(p - chunk);
}

/* The lengths one after the other: the place and the number where that ends, what the blocks are. */
static uint32_t follow_lengths(hcy_bslz4_block *blocks, uint32_t n_blocks, const uint8_t *chunk, size_t size,
                               size_t *at)
{
    *at = 12;
    for (uint32_t b = 0; b < n_blocks; b++) {
        const uint8_t *p = chunk + *at;
        if (size - *at < 4)
            return b;
        uint32_t n = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
        if (!n || n > size - *at - 4)
            return b;
        blocks[b] = (hcy_bslz4_block){ (uint32_t)*at + 4, n };
        *at += 4 + n;
    }
    return n_blocks;
}

static void test_many_blocks(void)
{
    enum { N = 3000 };
    const hcy_bslz4_job job = { .codec = HCY_CODEC_BSLZ4, .elem_size = 1, .image_bytes = N * 512, .block_bytes = 512 };
    uint8_t *chunk = malloc(N * 524 + 12);
    hcy_bslz4_block *want = malloc(N * sizeof *want), *got = malloc(N * sizeof *got);
    size_t wrong = 0;
    for (unsigned round = 0; round < 96; round++) {
        size_t size = make_lengths(chunk, &job, N, round % 8), at;
        hcy_bslz4_frame frame;
        hcy_frame_report report;
        if (round & 8)
            chunk[12 + random32() % (size - 12)] = (uint8_t)random32();
        if (round & 16)
            size -= random32() % (size / 4);
        uint32_t n = follow_lengths(want, N, chunk, size, &at);
        int status = hcy_bslz4_parse(&frame, got, N, &report, &job, chunk, size);
        if (n == N && at == size)
            wrong += status || memcmp(want, got, N * sizeof *want) != 0;
        else
            wrong += status != HCY_ECORRUPT || report.byte != at || report.block != n;
    }
    is_int((intmax_t)wrong, 0, "chunks of %d blocks are taken apart, and damaged ones at the very place", N);
    free(chunk);
    free(want);
    free(got);
}

static void test_truncation(void)
{
    for (uint32_t codec = 0; codec < 4; codec++) {
        hcy_bslz4_job job = { codec, 2, 1003 * 2, codec == HCY_CODEC_NONE ? 0 : 256, 0 };
        int refused = 0, placed = 0;
        struct chunk c;
        uint8_t *image = make_image(GAPS, &job);
        is_int(make_chunk(&c, &job, image), 0, "codec %u: a chunk", codec);
        for (size_t size = 0; size < c.size; size++) {
            uint8_t *cut = malloc(size ? size : 1); /* of its own, so that a sanitizer sees the end */
            hcy_frame_report r = { 0 };
            struct chunk part = { .bytes = cut, .size = size };
            memcpy(cut, c.bytes, size);
            refused += parse(&job, &part, size, &r) == HCY_ECORRUPT && r.status == HCY_ECORRUPT;
            placed += r.byte <= size && r.block <= c.frame.n_blocks &&
                      (r.block == c.frame.n_blocks ||
                       c.blocks[r.block].offset + bytes_of_block(&c.frame, r.block) > size ||
                       c.blocks[r.block].offset + c.blocks[r.block].size > size);
            free(cut);
        }
        is_int(refused, (intmax_t)c.size, "codec %u: every truncation is refused", codec);
        is_int(placed, (intmax_t)c.size, "codec %u: and placed", codec);
        c.bytes = realloc(c.bytes, c.size + 1);
        c.bytes[c.size] = 0;
        hcy_frame_report r;
        is_int(parse(&job, &c, c.size + 1, &r), HCY_ECORRUPT, "codec %u: a byte too many", codec);
        is_int(r.block, c.frame.n_blocks, "codec %u: is behind the last block", codec);
        free_chunk(&c);
        free(image);
    }
}

static void damage(uint8_t *bytes, size_t *size)
{
    unsigned n = random32() % 5;
    if (random32() % 4 == 0)
        *size = 1 + random32() % *size;
    for (unsigned i = 0; i < n; i++) {
        size_t near_end = *size < 40 ? *size : 40;
        size_t at = random32() & 1 ? random32() % *size : *size - 1 - random32() % near_end;
        switch (random32() % 4) {
        case 0:
            bytes[at] ^= (uint8_t)(1u << random32() % 8);
            break;
        case 1:
            bytes[at] = 0;
            break;
        case 2:
            bytes[at] = 255;
            break;
        default:
            bytes[at] = (uint8_t)random32();
        }
    }
}

/* Blocks of random shape, most of them damaged: each variant gives the verdict and the pixels of the scalar
 * decoder. */
static void test_damaged_blocks(int rounds)
{
    static const uint32_t sizes[] = { 8, 16, 24, 64, 120, 504, 512, 1000, 1024, 2048, 4096 };
    int good = 0, wrong = 0;
    for (int i = 0; i < rounds; i++) {
        uint32_t e = 1u << random32() % 4, n = sizes[random32() % (sizeof sizes / sizeof *sizes)];
        hcy_bslz4_job job = { HCY_CODEC_BSLZ4, e, (uint64_t)n * e, n * e, 0 };
        uint8_t *image = make_image((enum kind)(random32() % N_KINDS), &job);
        struct ref_block want;
        struct chunk c;
        if (make_chunk(&c, &job, image))
            bail_out("a block of %u elements of %u bytes cannot be made: %s", n, e, hcy_last_error()->text);
        for (int again = 0; again < 4; again++) {
            size_t size = c.blocks[0].size;
            uint8_t *bytes = malloc(size);
            memcpy(bytes, c.bytes + c.blocks[0].offset, size);
            damage(bytes, &size);
            const char *why = ref_decode(&want, bytes, size, job.image_bytes, e);
            good += !want.status;
            for (int simd = 0; simd <= (int)cpu_simd_best() && !why; simd++) {
                why =
                    ref_compare(&want, cpu_block_ops(simd), bytes, size, CPU_BLOCK_AHEAD, job.image_bytes, e);
                if (!why)
                    why = ref_compare(&want, cpu_block_ops(simd), bytes, size, random32() % 100,
                                      job.image_bytes, e);
                if (why)
                    diag("%s: %u elements of %u bytes", cpu_simd_name(simd), n, e);
            }
            if (why && wrong++ < 10)
                diag("round %d: %s", i, why);
            ref_free(&want);
            free(bytes);
        }
        free_chunk(&c);
        free(image);
    }
    is_int(wrong, 0, "%d damaged blocks, %d of them still good: all variants agree with the scalar decoder",
           4 * rounds, good);
}

/* --- Streams put together by hand: what an encoder would never write, around the rules of the end above all
 * --- */

struct stream {
    uint8_t bytes[32768];
    size_t size, decoded;
};

static void put_length(struct stream *s, size_t n)
{
    for (; n >= 255; n -= 255)
        s->bytes[s->size++] = 255;
    s->bytes[s->size++] = (uint8_t)n;
}

/* A sequence, or, with match 0, the last literals (whose token has a match length that means nothing). */
static void put_sequence(struct stream *s, size_t literals, size_t offset, size_t match)
{
    size_t code = match ? match - 4 : random32() % 8 ? 0 : random32() % 16;
    s->bytes[s->size++] = (uint8_t)((literals < 15 ? literals : 15) << 4 | (code < 15 ? code : 15));
    if (literals >= 15)
        put_length(s, literals - 15);
    for (size_t i = 0; i < literals; i++)
        s->bytes[s->size++] = random32() % 4 ? 0 : (uint8_t)random32();
    if (match) {
        s->bytes[s->size++] = (uint8_t)offset;
        s->bytes[s->size++] = (uint8_t)(offset >> 8);
        if (code >= 15)
            put_length(s, code - 15);
    }
    s->decoded += literals + match;
}

/* One that may be used after `before` bytes; seldom one that may not. */
static size_t some_offset(size_t before, size_t plane)
{
    size_t any = 1 + random32() % (before < 300 ? before : 300), power = (size_t)1 << random32() % 7;
    switch (random32() % 8) {
    case 0:
        return plane <= before ? plane : any;
    case 1:
        return power <= before ? power : any;
    case 2:
        return random32() % 200 ? before : before + 1;
    case 3:
        return random32() % 200 ? 1 : 0;
    default:
        return any;
    }
}

static size_t some_length(size_t left)
{
    if (random32() % 200 == 0)
        return left + 1300 + random32() % 3000; /* past all slack */
    switch (random32() % 8) {
    case 0:
        return left > 16 ? left - random32() % 16 : random32() % 24; /* about to the end */
    case 1:
        return 15 + random32() % 80;
    case 2:
        return random32() % (left + (random32() % 40 ? 1 : 80));
    default:
        return random32() % 15;
    }
}

static void make_stream(struct stream *s, size_t bytes, size_t plane)
{
    s->size = s->decoded = 0;
    while (s->decoded + 9 < bytes && random32() % 40) {
        size_t left = bytes - s->decoded, literals = random32() % 4 ? random32() % 15 : some_length(left);
        if (!s->decoded && !literals)
            literals = 1;
        size_t match = 4 + some_length(left > literals + 4 ? left - literals - 4 : 1);
        put_sequence(s, literals, some_offset(s->decoded + literals, plane), match);
    }
    if (s->decoded < bytes)
        put_sequence(s, bytes - s->decoded - (random32() % 32 == 0), 0, 0);
    else if (random32() % 2)
        put_sequence(s, random32() % 8 ? random32() % 20 : 2000 + random32() % 4000, 0, 0);
    for (unsigned i = random32() % 16 ? 0 : random32() % 12; i; i--)
        s->bytes[s->size++] = (uint8_t)random32();
}

static void test_made_streams(int rounds)
{
    static const uint32_t sizes[] = { 8, 24, 64, 72, 256, 512, 2048 };
    static struct stream s;
    int good = 0, wrong = 0;
    for (int i = 0; i < rounds; i++) {
        unsigned e = 1u << random32() % 3;
        size_t bytes = sizes[random32() % (sizeof sizes / sizeof *sizes)] * e;
        struct ref_block want;
        make_stream(&s, bytes, bytes / (8 * e));
        const char *why = ref_decode(&want, s.bytes, s.size, bytes, e);
        good += !want.status;
        for (int simd = 0; simd <= (int)cpu_simd_best() && !why; simd++)
            why = ref_compare(&want, cpu_block_ops(simd), s.bytes, s.size, CPU_BLOCK_AHEAD, bytes, e);
        if (why && wrong++ < 10)
            diag("stream %d of %zu bytes for %zu of %u: %s", i, s.size, bytes, e, why);
        ref_free(&want);
    }
    is_int(wrong, 0, "%d streams put together by hand, %d of them good: all agree on them too", rounds, good);
    ok(good > rounds / 20 && good < rounds, "and both verdicts occur");
}

/* What liblz4 would let pass: an offset of 0 has no meaning, and its result none that could be relied on. */
static void test_zero_offset(void)
{
    static const uint8_t block[] = { 0x80, 1, 2, 3, 4, 5, 6, 7, 8, 0,  0,  0xC0,
                                     1,    2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
    uint8_t work[CPU_BLOCK_WORK(24)];
    unsigned same;
    for (int simd = 0; simd <= (int)cpu_simd_best(); simd++)
        is_int(cpu_block_ops(simd)->planes(block, sizeof block, block + sizeof block, 24, 1,
                                           work + CPU_BLOCK_LEAD, &same),
               HCY_ECORRUPT, "%s: an offset of 0 is refused", cpu_simd_name(simd));
}

/* Streams that end in one long match are cut short, and the planes behind it are said to be equal. */
static void test_early_stop(void)
{
    hcy_bslz4_job job = { HCY_CODEC_BSLZ4, 4, 8192, 0, 0 };
    uint8_t *image = make_image(GAPS, &job), work[CPU_BLOCK_WORK(8192)];
    struct chunk c;
    is_int(make_chunk(&c, &job, image), 0, "a block of counts and gaps");
    c.bytes = realloc(c.bytes, c.size + CPU_BLOCK_AHEAD);
    memset(c.bytes + c.size, 0, CPU_BLOCK_AHEAD);
    for (int simd = 0; simd <= (int)cpu_simd_best(); simd++) {
        unsigned same = 99;
        int st = cpu_block_ops(simd)->planes(c.bytes + c.blocks[0].offset, c.blocks[0].size,
                                             c.bytes + c.size + CPU_BLOCK_AHEAD, 8192, 4,
                                             work + CPU_BLOCK_LEAD, &same);
        ok(!st && same <= 8, "%s: its planes are equal from %u on", cpu_simd_name(simd), same);
    }
    free_chunk(&c);
    free(image);
}

/* The operation `bytes` on planes that lie anywhere, of any length. */
static void test_bytes(void)
{
    uint8_t planes[8][300], got[300 * 8 + 64], want[300 * 8];
    const uint8_t *rows[8];
    int bad = 0;
    for (int k = 0; k < 8; k++)
        for (size_t i = 0; i < sizeof planes[0]; i++)
            planes[k][i] = (uint8_t)random32();
    for (int simd = 0; simd <= (int)cpu_simd_best(); simd++)
        for (size_t n = 0; n <= 260; n++) {
            memset(want, 0, sizeof want);
            memset(got, 0xA5, sizeof got);
            for (size_t k = 0; k < 8; k++)
                rows[k] = planes[(k * 5 + n) % 8] + n % 9;
            for (size_t i = 0; i < 8 * n; i++)
                for (unsigned k = 0; k < 8; k++)
                    want[i] |= (uint8_t)((rows[k][i / 8] >> i % 8 & 1) << k);
            cpu_block_ops(simd)->bytes(rows, n, got);
            bad += memcmp(got, want, 8 * n) || !all_are(got + 8 * n, sizeof got - 8 * n, 0xA5);
        }
    is_int(bad, 0, "eight planes to bytes, 0 to 260 bytes long, every variant");
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : TAP_THREAD_SANITIZER ? 200 : 4000;
    test_header();
    test_bad_jobs();
    test_truncation();
    test_many_blocks();
    test_zero_offset();
    test_early_stop();
    test_bytes();
    test_round_trips();
    test_damaged_blocks(rounds);
    test_made_streams(10 * rounds);
    return done_testing();
}
