/* bslz4.c - how fast one core decodes blocks: liblz4 alone, each SIMD variant to bit-planes and to images.
 *
 * usage: bench_bslz4 [STACK.h5 [DATASET]]      the first frames of a stack with filter 32008
 *        bench_bslz4                           frames it makes itself: EIGER 4M, uint32, few counts, gaps
 * Rows are timed in turn, over and over, and the best of each is printed: ratios hold even on a busy machine.
 */
#include "bench.h"
#include "bslz4/block.h"
#include "scene.h"
#include <halcyon/bslz4.h>
#include <inttypes.h>
#include <lz4.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FRAMES = 16, MADE_FRAMES = 8, ROUNDS = 15 };

struct bench {
    struct stored stored;
    hcy_bslz4_frame frames[MAX_FRAMES];
    hcy_bslz4_block *blocks[MAX_FRAMES];
    uint8_t *image, *work;
};

struct row {
    char name[40];
    void (*run)(struct bench *s, const struct cpu_block_ops *ops, size_t frame);
    const struct cpu_block_ops *ops;
    double best;
};

static size_t block_bytes(const hcy_bslz4_frame *f, uint32_t b)
{
    return b + 1 == f->n_blocks ? f->last_bytes : f->block_bytes;
}

static void run_lz4(struct bench *s, const struct cpu_block_ops *ops, size_t i)
{
    const hcy_bslz4_frame *f = &s->frames[i];
    (void)ops;
    for (uint32_t b = 0; b < f->n_blocks; b++)
        LZ4_decompress_safe((const char *)s->stored.frames[i].chunk + s->blocks[i][b].offset,
                            (char *)s->work + CPU_BLOCK_LEAD, (int)s->blocks[i][b].size,
                            (int)block_bytes(f, b));
}

static void run_planes(struct bench *s, const struct cpu_block_ops *ops, size_t i)
{
    const hcy_bslz4_frame *f = &s->frames[i];
    const uint8_t *chunk = s->stored.frames[i].chunk;
    unsigned same;
    for (uint32_t b = 0; b < f->n_blocks; b++)
        ops->planes(chunk + s->blocks[i][b].offset, s->blocks[i][b].size, chunk + f->size + HCY_BSLZ4_PADDING,
                    block_bytes(f, b), s->stored.coding.elem_size, s->work + CPU_BLOCK_LEAD, &same);
}

static void run_image(struct bench *s, const struct cpu_block_ops *ops, size_t i)
{
    const hcy_bslz4_frame *f = &s->frames[i];
    const uint8_t *chunk = s->stored.frames[i].chunk;
    uint8_t *image = s->image + i * s->stored.coding.image_bytes;
    for (uint32_t b = 0; b < f->n_blocks; b++)
        cpu_bslz4_block(ops, &s->stored.coding, chunk + s->blocks[i][b].offset, s->blocks[i][b].size,
                        chunk + f->size + HCY_BSLZ4_PADDING, block_bytes(f, b), s->work,
                        image + (size_t)b * f->block_bytes);
}

static void run_fill(struct bench *s, const struct cpu_block_ops *ops, size_t i)
{
    (void)ops;
    memset(s->image + i * s->stored.coding.image_bytes, (int)i, s->stored.coding.image_bytes);
}

/* What the planes look like: how many blocks stop early, and where. */
static void describe(struct bench *s, const struct cpu_block_ops *ops)
{
    size_t n = 0, sum = 0;
    for (size_t i = 0; i < s->stored.n; i++)
        for (uint32_t b = 0; b < s->frames[i].n_blocks; b++, n++) {
            const uint8_t *chunk = s->stored.frames[i].chunk;
            unsigned same = 0;
            ops->planes(chunk + s->blocks[i][b].offset, s->blocks[i][b].size, chunk + s->frames[i].size,
                        block_bytes(&s->frames[i], b), s->stored.coding.elem_size, s->work + CPU_BLOCK_LEAD, &same);
            sum += same + 1;
        }
    printf("%zu frames of %" PRIu64 " bytes, elements of %u, ratio %.2f, %.1f different planes a block\n",
           s->stored.n, s->stored.coding.image_bytes, s->stored.coding.elem_size,
           (double)s->stored.n * (double)s->stored.coding.image_bytes / (double)s->stored.bytes,
           n ? (double)sum / (double)n : 0.0);
}

/* The tables of all blocks, and room for what comes out of them. */
static void parse_frames(struct bench *s)
{
    const struct stored *stored = &s->stored;
    for (size_t i = 0; i < stored->n; i++) {
        const struct stored_frame *f = &stored->frames[i];
        size_t count;
        CHECK(hcy_bslz4_block_count(&count, &stored->coding, f->chunk, f->size));
        s->blocks[i] = bench_need(malloc((count + 1) * sizeof **s->blocks));
        CHECK(hcy_bslz4_parse(&s->frames[i], s->blocks[i], count, NULL, &stored->coding, f->chunk, f->size));
    }
    size_t work = CPU_BLOCK_WORK(stored->coding.image_bytes);
    s->image = bench_need(aligned_alloc(64, (stored->n * stored->coding.image_bytes + 63) / 64 * 64));
    s->work = bench_need(aligned_alloc(64, (work + 63) / 64 * 64));
    memset(s->work, 0, work);
}

static size_t list_rows(struct row *rows)
{
    size_t n = 0;
    rows[n++] = (struct row){ "memset of the image", run_fill, NULL, INFINITY };
    rows[n++] = (struct row){ "liblz4 alone, one block's memory", run_lz4, NULL, INFINITY };
    for (int simd = CPU_SIMD_PORTABLE; simd <= (int)cpu_simd_best(); simd++) {
        if ((int)cpu_simd_built(simd) != simd)
            continue;
        rows[n] = (struct row){ "", run_planes, cpu_block_ops(simd), INFINITY };
        snprintf(rows[n++].name, sizeof rows->name, "%s: to bit-planes", cpu_simd_name(simd));
        rows[n] = (struct row){ "", run_image, cpu_block_ops(simd), INFINITY };
        snprintf(rows[n++].name, sizeof rows->name, "%s: to the image", cpu_simd_name(simd));
    }
    return n;
}

int main(int argc, char **argv)
{
    static struct bench s;
    struct row rows[2 + 2 * CPU_SIMD_COUNT];
    size_t n = list_rows(rows);
    if (argc > 1)
        stored_read(&s.stored, argv[1], argc > 2 ? argv[2] : NULL, MAX_FRAMES);
    else
        stored_make_flat(&s.stored, MADE_FRAMES);
    parse_frames(&s);
    describe(&s, cpu_block_ops(cpu_simd_best()));
    for (int round = 0; round < ROUNDS; round++)
        for (size_t r = 0; r < n; r++) {
            double start = timer_now();
            for (size_t i = 0; i < s.stored.n; i++)
                rows[r].run(&s, rows[r].ops, i);
            rows[r].best = timer_best(rows[r].best, start);
        }
    for (size_t r = 0; r < n; r++)
        printf("%-36s %8.3f ms/frame %8.2f GB/s of pixels\n", rows[r].name, 1e3 * rows[r].best / (double)s.stored.n,
               1e-9 * (double)s.stored.n * (double)s.stored.coding.image_bytes / rows[r].best);
    return 0;
}
