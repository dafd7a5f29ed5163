/* block.c - one block of any codec, and the variant that decodes it.
 *
 * With block_<variant>.c and simd.c this is all that decoding a block takes: the HDF5 filters link it without
 * the rest of the backend.  No state; any thread.
 */
#include "block.h"
#include <string.h>

const struct cpu_block_ops *cpu_block_ops(enum cpu_simd simd)
{
    switch (cpu_simd_built(simd)) {
#ifdef HCY_CPU_X86
    case CPU_SIMD_AVX512:
        return &cpu_block_ops_avx512;
    case CPU_SIMD_AVX2:
        return &cpu_block_ops_avx2;
#endif
#ifdef HCY_CPU_ARM64
    case CPU_SIMD_DOTPROD:
    case CPU_SIMD_NEON:
        return &cpu_block_ops_neon;
#endif
    default:
        return &cpu_block_ops_portable;
    }
}

bool cpu_has_planes(const hcy_bslz4_job *job)
{
    return job->codec == HCY_CODEC_BSLZ4 || job->codec == HCY_CODEC_BITSHUFFLE;
}

bool cpu_frame_fits(const hcy_bslz4_job *job, const hcy_bslz4_frame *f, size_t chunks_size, size_t n_blocks)
{
    uint32_t unit = cpu_has_planes(job) ? 8 * job->elem_size : 1;
    uint64_t bytes = f->tail_bytes;
    if (f->n_blocks)
        bytes += (uint64_t)(f->n_blocks - 1) * f->block_bytes + f->last_bytes;
    /* Every sum is of 64 bits or compared as a difference, so that no table overflows the test. */
    return f->offset <= chunks_size && f->size <= chunks_size - f->offset && f->first_block <= n_blocks &&
           f->n_blocks <= n_blocks - f->first_block && bytes == job->image_bytes &&
           (!f->n_blocks || (f->block_bytes && f->last_bytes <= f->block_bytes)) &&
           f->block_bytes % unit == 0 && f->last_bytes % unit == 0 &&
           (uint64_t)f->tail_offset + f->tail_bytes <= f->size;
}

bool cpu_block_fits(const hcy_bslz4_job *job, const hcy_bslz4_frame *f, const hcy_bslz4_block *block, size_t bytes)
{
    const uint64_t size = block->size & ~HCY_BLOCK_STORED;
    /* Plain pixels are stored, whether or not their block says so. */
    const bool is_stored = block->size & HCY_BLOCK_STORED || job->codec == HCY_CODEC_NONE;
    return size && block->offset + size <= f->size && (!is_stored || size == bytes);
}

/* Elements of a size that no variant knows: each of their bytes is a row of its own. */
static void any_pixels(const struct cpu_block_ops *ops, const uint8_t *planes, unsigned same_from,
                       size_t bytes, unsigned elem_size, uint8_t *out)
{
    const size_t plane = bytes / (8 * elem_size);
    const uint8_t *rows[8];
    uint8_t row[8 * 64];
    for (size_t at = 0; at < plane; at += 64) {
        size_t n = plane - at < 64 ? plane - at : 64;
        for (unsigned k = 0; k < elem_size; k++) {
            for (unsigned b = 0; b < 8; b++)
                /* Planes from same_from on are equal and only the first of them was written. */
                rows[b] = planes + plane * (8 * k + b < same_from ? 8 * k + b : same_from) + at;
            ops->bytes(rows, n, row);
            for (size_t i = 0; i < 8 * n; i++)
                out[(8 * at + i) * elem_size + k] = row[i];
        }
    }
}

int cpu_bslz4_block(const struct cpu_block_ops *ops, const hcy_bslz4_job *job, const uint8_t *coded,
                    uint32_t size, const uint8_t *limit, size_t bytes, uint8_t *work, void *out)
{
    unsigned same_from = 8 * job->elem_size - 1;
    if (job->codec == HCY_CODEC_NONE || (job->codec == HCY_CODEC_LZ4 && size & HCY_BLOCK_STORED)) {
        memcpy(out, coded, bytes);
        return 0;
    }
    if (job->codec == HCY_CODEC_LZ4)
        return cpu_lz4_safe(coded, size, out, bytes);
    uint8_t *planes = work + CPU_BLOCK_LEAD; /* without planes there may be no work */
    /* A stored block holds its planes as they are, all of them different for all we know. */
    if (size & HCY_BLOCK_STORED) {
        memcpy(planes, coded, bytes);
    } else {
        int st = ops->planes(coded, size, limit, bytes, job->elem_size, planes, &same_from);
        if (st)
            return st;
    }
    /* The variants know elements of 1, 2, 4 and 8 bytes. */
    if (job->elem_size <= 8 && !(job->elem_size & (job->elem_size - 1)))
        ops->pixels(planes, same_from, bytes, job->elem_size, out);
    else
        any_pixels(ops, planes, same_from, bytes, job->elem_size, out);
    return 0;
}
