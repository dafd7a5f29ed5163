/* bslz4.c - how fast one core decodes blocks: liblz4 alone, each SIMD variant to bit-planes and to images.
 *
 * usage: bench_bslz4 [STACK.h5 [DATASET]]      the first frames of a stack with filter 32008
 *        bench_bslz4                           frames it makes itself: EIGER 4M, uint32, 4 counts, gaps
 * Rows are timed in turn, over and over, and the best of each is printed: ratios hold even on a busy machine.
 */
#include "bench.h"
#include "bslz4/block.h"
#include <halcyon/bslz4.h>
#include <inttypes.h>
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_HDF5
#include <hdf5.h>
#endif

enum { MAX_FRAMES = 16, ROUNDS = 15, HEIGHT = 2167, WIDTH = 2070 };

struct stack {
    hcy_bslz4_job job;
    size_t n;
    uint8_t *chunks[MAX_FRAMES];
    hcy_bslz4_frame frames[MAX_FRAMES];
    hcy_bslz4_block *blocks[MAX_FRAMES];
    size_t coded;
    uint8_t *image, *work;
};

struct row {
    char name[40];
    void (*run)(struct stack *s, const struct cpu_block_ops *ops, size_t frame);
    const struct cpu_block_ops *ops;
    double best;
};

static void *need(void *p)
{
    if (p)
        return p;
    fprintf(stderr, "bench_bslz4: out of memory\n");
    exit(1);
}

static size_t block_bytes(const hcy_bslz4_frame *f, uint32_t b)
{
    return b + 1 == f->n_blocks ? f->last_bytes : f->block_bytes;
}

static void run_lz4(struct stack *s, const struct cpu_block_ops *ops, size_t i)
{
    const hcy_bslz4_frame *f = &s->frames[i];
    (void)ops;
    for (uint32_t b = 0; b < f->n_blocks; b++)
        LZ4_decompress_safe((const char *)s->chunks[i] + s->blocks[i][b].offset,
                            (char *)s->work + CPU_BLOCK_LEAD, (int)s->blocks[i][b].size,
                            (int)block_bytes(f, b));
}

static void run_planes(struct stack *s, const struct cpu_block_ops *ops, size_t i)
{
    const hcy_bslz4_frame *f = &s->frames[i];
    unsigned same;
    for (uint32_t b = 0; b < f->n_blocks; b++)
        ops->planes(s->chunks[i] + s->blocks[i][b].offset, s->blocks[i][b].size,
                    s->chunks[i] + f->size + HCY_BSLZ4_PADDING, block_bytes(f, b), s->job.elem_size,
                    s->work + CPU_BLOCK_LEAD, &same);
}

static void run_image(struct stack *s, const struct cpu_block_ops *ops, size_t i)
{
    const hcy_bslz4_frame *f = &s->frames[i];
    uint8_t *image = s->image + i * s->job.image_bytes;
    for (uint32_t b = 0; b < f->n_blocks; b++)
        cpu_bslz4_block(ops, &s->job, s->chunks[i] + s->blocks[i][b].offset, s->blocks[i][b].size,
                        s->chunks[i] + f->size + HCY_BSLZ4_PADDING, block_bytes(f, b), s->work,
                        image + (size_t)b * f->block_bytes);
}

static void run_fill(struct stack *s, const struct cpu_block_ops *ops, size_t i)
{
    (void)ops;
    memset(s->image + i * s->job.image_bytes, (int)i, s->job.image_bytes);
}

/* What the planes look like: how many blocks stop early, and where. */
static void describe(struct stack *s, const struct cpu_block_ops *ops)
{
    size_t n = 0, sum = 0;
    for (size_t i = 0; i < s->n; i++)
        for (uint32_t b = 0; b < s->frames[i].n_blocks; b++, n++) {
            unsigned same = 0;
            ops->planes(s->chunks[i] + s->blocks[i][b].offset, s->blocks[i][b].size,
                        s->chunks[i] + s->frames[i].size, block_bytes(&s->frames[i], b), s->job.elem_size,
                        s->work + CPU_BLOCK_LEAD, &same);
            sum += same + 1;
        }
    printf("%zu frames of %" PRIu64 " bytes, elements of %u, ratio %.2f, %.1f different planes a block\n",
           s->n, s->job.image_bytes, s->job.elem_size,
           (double)s->n * (double)s->job.image_bytes / (double)s->coded, n ? (double)sum / (double)n : 0.0);
}

static int add_chunk(struct stack *s, uint8_t *chunk, size_t size)
{
    size_t count;
    if (hcy_bslz4_block_count(&count, &s->job, chunk, size))
        return 1;
    s->chunks[s->n] = chunk;
    s->blocks[s->n] = need(malloc((count + 1) * sizeof **s->blocks));
    if (hcy_bslz4_parse(&s->frames[s->n], s->blocks[s->n], count, NULL, &s->job, chunk, size))
        return 1;
    s->coded += size;
    s->n++;
    return 0;
}

/* Counts of mean 4, gaps of the greatest value every 514 rows and 1030 columns. */
static void make_image(uint32_t *pixels, uint64_t *state)
{
    for (size_t i = 0; i < (size_t)HEIGHT * WIDTH; i++) {
        size_t y = i / WIDTH, x = i % WIDTH;
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        uint32_t r = (uint32_t)(*state >> 32);
        int gap = y % 551 >= 514 || x % 1040 >= 1030;
        pixels[i] = gap ? UINT32_MAX : (uint32_t)__builtin_popcount(r & r >> 16 & 0xFFFF);
    }
}

static int make_stack(struct stack *s)
{
    uint64_t state = 1;
    size_t bound, size;
    s->job = (hcy_bslz4_job){ HCY_CODEC_BSLZ4, 4, (uint64_t)HEIGHT * WIDTH * 4, 0, 0 };
    uint32_t *pixels = need(malloc(s->job.image_bytes));
    if (hcy_bslz4_encode_bound(&bound, &s->job))
        return 1;
    for (int i = 0; i < 8; i++) {
        uint8_t *chunk = need(malloc(bound + HCY_BSLZ4_PADDING));
        make_image(pixels, &state);
        if (hcy_bslz4_encode(&size, chunk, bound, &s->job, pixels) || add_chunk(s, chunk, size))
            return 1;
    }
    free(pixels);
    return 0;
}

#ifdef HAVE_HDF5
static int read_stack(struct stack *s, const char *path, const char *name)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), set = H5Dopen2(file, name, H5P_DEFAULT);
    hid_t space = H5Dget_space(set), type = H5Dget_type(set);
    hsize_t dims[3] = { 0 };
    uint32_t mask;
    if (set < 0 || H5Sget_simple_extent_ndims(space) != 3 || H5Sget_simple_extent_dims(space, dims, NULL) < 0)
        return 1;
    size_t elem = H5Tget_size(type);
    s->job = (hcy_bslz4_job){ HCY_CODEC_BSLZ4, (uint32_t)elem, dims[1] * dims[2] * elem, 0, 0 };
    for (hsize_t i = 0; i < dims[0] && i < MAX_FRAMES; i++) {
        hsize_t at[3] = { i, 0, 0 }, size = 0;
        if (H5Dget_chunk_storage_size(set, at, &size) < 0 || !size)
            return 1;
        uint8_t *chunk = need(malloc(size + HCY_BSLZ4_PADDING));
        if (H5Dread_chunk(set, H5P_DEFAULT, at, &mask, chunk) < 0 || add_chunk(s, chunk, size))
            return 1;
    }
    H5Tclose(type);
    H5Sclose(space);
    H5Dclose(set);
    H5Fclose(file);
    return 0;
}
#else
static int read_stack(struct stack *s, const char *path, const char *name)
{
    (void)s, (void)path, (void)name;
    fprintf(stderr, "bench_bslz4: built without HDF5; without arguments it makes its own frames\n");
    return 1;
}
#endif

static size_t list_rows(struct row *rows)
{
    size_t n = 0;
    rows[n++] = (struct row){ "memset of the image", run_fill, NULL, 1e9 };
    rows[n++] = (struct row){ "liblz4 alone, one block's memory", run_lz4, NULL, 1e9 };
    for (int simd = CPU_SIMD_PORTABLE; simd <= (int)cpu_simd_best(); simd++) {
        if ((int)cpu_simd_built(simd) != simd)
            continue;
        rows[n] = (struct row){ "", run_planes, cpu_block_ops(simd), 1e9 };
        snprintf(rows[n++].name, sizeof rows->name, "%s: to bit-planes", cpu_simd_name(simd));
        rows[n] = (struct row){ "", run_image, cpu_block_ops(simd), 1e9 };
        snprintf(rows[n++].name, sizeof rows->name, "%s: to the image", cpu_simd_name(simd));
    }
    return n;
}

int main(int argc, char **argv)
{
    static struct stack s;
    struct row rows[2 + 2 * CPU_SIMD_COUNT];
    size_t n = list_rows(rows);
    if (argc > 1 ? read_stack(&s, argv[1], argc > 2 ? argv[2] : "/entry/data/data") : make_stack(&s)) {
        fprintf(stderr, "bench_bslz4: no frames: %s\n", hcy_last_error()->text);
        return 1;
    }
    s.image = need(aligned_alloc(64, (s.n * s.job.image_bytes + 63) / 64 * 64));
    s.work = need(aligned_alloc(64, (CPU_BLOCK_WORK(s.job.image_bytes) + 63) / 64 * 64));
    memset(s.work, 0, CPU_BLOCK_WORK(s.job.image_bytes));
    describe(&s, cpu_block_ops(cpu_simd_best()));
    for (int round = 0; round < ROUNDS; round++)
        for (size_t r = 0; r < n; r++) {
            double t = now();
            for (size_t i = 0; i < s.n; i++)
                rows[r].run(&s, rows[r].ops, i);
            t = now() - t;
            if (t < rows[r].best)
                rows[r].best = t;
        }
    for (size_t r = 0; r < n; r++)
        printf("%-36s %8.3f ms/frame %8.2f GB/s of pixels\n", rows[r].name, 1e3 * rows[r].best / (double)s.n,
               1e-9 * (double)s.n * (double)s.job.image_bytes / rows[r].best);
    return 0;
}
