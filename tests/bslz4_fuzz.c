/* bslz4_fuzz.c - libFuzzer target: any bytes as a chunk, and any bytes as one LZ4 block for every variant.
 *
 * `make fuzzers` (see tests/local.mk), `tests/bslz4_fuzz -max_total_time=120 CORPUS`.  The first byte chooses
 * the codec, the element size and what the rest is taken for, the second the sizes.
 */
#include "bslz4_ref.h"
#include <halcyon/bslz4.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The chunk's frame and blocks must stay inside it. */
static void parse_chunk(const hcy_bslz4_job *job, const uint8_t *chunk, size_t size)
{
    hcy_bslz4_block blocks[64];
    hcy_bslz4_frame frame;
    hcy_frame_report report;
    size_t n;
    uint64_t bytes;
    if (hcy_bslz4_block_count(&n, job, chunk, size) || n > 64 ||
        hcy_bslz4_parse(&frame, blocks, 64, &report, job, chunk, size))
        return;
    bytes = frame.tail_bytes + (n ? (uint64_t)(n - 1) * frame.block_bytes + frame.last_bytes : 0);
    if (bytes != job->image_bytes || (uint64_t)frame.tail_offset + frame.tail_bytes != size)
        abort();
    for (size_t b = 0; b < n; b++)
        if ((uint64_t)blocks[b].offset + (blocks[b].size & ~HCY_BLOCK_STORED) > size)
            abort();
}

static void decode_block(const uint8_t *src, size_t size, size_t bytes, unsigned elem_size)
{
    struct ref_block want;
    if (ref_decode(&want, src, size, bytes, elem_size))
        abort();
    for (int simd = 0; simd <= (int)cpu_simd_best(); simd++)
        if (ref_compare(&want, cpu_block_ops(simd), src, size, CPU_BLOCK_AHEAD, bytes, elem_size) ||
            ref_compare(&want, cpu_block_ops(simd), src, size, 0, bytes, elem_size))
            abort();
    ref_free(&want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    unsigned elem_size = 1u << (data[0] & 3), codec = data[0] >> 2 & 3;
    size_t n = data[1];
    if (data[0] & 16)
        parse_chunk(&(hcy_bslz4_job){ codec, elem_size, (n + 1) * elem_size, 0, 0 }, data + 2, size - 2);
    else
        decode_block(data + 2, size - 2, (n & 128 ? 256 : n + 1) * 8 * elem_size, elem_size);
    return 0;
}
