/* decode_images.c - the kernel bslz4_decode: blocks of many frames over the pool's threads.
 *
 * A piece of work is a range of blocks of one frame, so that one frame keeps all threads busy.  A piece
 * stops at its first damaged block and lowers the frame's entry in the scratch memory to its number: the
 * report names the first damaged block whatever the threads did.
 */
#include "arguments.h"
#include "block.h"
#include "bslz4/bslz4_job.h"
#include <stdlib.h>
#include <string.h>

#define AT(name) HCY_ARG_AT(bslz4_decode, name)

/* About half a megabyte of pixels a piece at the usual block size. */
#define PIECE_BLOCKS 64
/* Largest block whose working space is on the stack. */
#define STACK_BLOCK 32768

/* One launch. */
struct decode {
    const struct cpu_block_ops *ops;
    const hcy_bslz4_job *job;
    const uint8_t *chunks;
    size_t chunks_size, items, pieces; /* pieces a frame, the most any frame needs */
    const hcy_bslz4_frame *frames;
    const hcy_bslz4_block *blocks;
    size_t n_blocks;
    uint8_t *images;
    hcy_frame_report *reports;
    _Atomic uint32_t *damaged; /* per frame: its first damaged block so far, UINT32_MAX if none */
    atomic_int out_of_memory;
};

static void note_damage(struct decode *d, size_t frame, uint32_t block)
{
    uint32_t known = atomic_load(&d->damaged[frame]);
    /* Several threads may find damage in a frame; the lowest number stays. */
    while (block < known && !atomic_compare_exchange_weak(&d->damaged[frame], &known, block))
        ;
}

static void decode_one_piece(struct decode *d, size_t frame, uint32_t begin, uint32_t end, uint8_t *work)
{
    const hcy_bslz4_frame *f = &d->frames[frame];
    const uint8_t *chunk = d->chunks + f->offset, *limit = d->chunks + d->chunks_size;
    uint8_t *image = d->images + frame * d->job->image_bytes;
    for (uint32_t b = begin; b < end; b++) {
        const hcy_bslz4_block *block = &d->blocks[f->first_block + b];
        size_t bytes = HCY_BLOCK_BYTES(f, b);
        if (!cpu_block_fits(d->job, f, block, bytes) ||
            cpu_bslz4_block(d->ops, d->job, chunk + block->offset, block->size, limit, bytes, work,
                            image + (size_t)b * f->block_bytes)) {
            /* What comes after the first damaged block of a piece would not change the report. */
            note_damage(d, frame, b);
            return;
        }
    }
}

/* Pieces [begin, end): piece p is the blocks p % pieces * PIECE_BLOCKS and on of frame p / pieces. */
static void decode_pieces(void *context, size_t begin, size_t end, unsigned thread)
{
    struct decode *d = context;
    _Alignas(64) uint8_t stack[CPU_BLOCK_WORK(STACK_BLOCK)];
    (void)thread;
    for (size_t p = begin; p < end; p++) {
        size_t frame = p / d->pieces, first = p % d->pieces * PIECE_BLOCKS;
        const hcy_bslz4_frame *f = &d->frames[frame];
        uint8_t *work = stack, *heap = NULL;
        if (d->reports[frame].status)
            continue;
        /* The tail is not coded; it belongs to the first piece, which every frame has. */
        if (!first)
            memcpy(d->images + (frame + 1) * d->job->image_bytes - f->tail_bytes,
                   d->chunks + f->offset + f->tail_offset, f->tail_bytes);
        /* A frame has as many pieces as the longest one, and pieces behind damage are of no use. */
        if (first >= f->n_blocks || first > atomic_load(&d->damaged[frame]))
            continue;
        /* Blocks of the usual size are decoded on the stack, where no allocation can fail. */
        if (f->block_bytes > STACK_BLOCK && cpu_has_planes(d->job)) {
            work = heap = aligned_alloc(64, (CPU_BLOCK_WORK(f->block_bytes) + 63) / 64 * 64);
            if (!heap) {
                atomic_store(&d->out_of_memory, 1);
                return;
            }
        }
        size_t last = f->n_blocks - first < PIECE_BLOCKS ? f->n_blocks : first + PIECE_BLOCKS;
        decode_one_piece(d, frame, (uint32_t)first, (uint32_t)last, work);
        free(heap);
    }
}

static int check_decode_call(const struct cpu_call *call, const hcy_bslz4_job *job)
{
    size_t n = call->items;
    int status = hcy_bslz4_check_launch("bslz4_decode", job, UINT64_MAX);
    if (status)
        return status;
    /* Whatever the tables say, nothing is read or written outside of the buffers. */
    if (cpu_arg_size(call, AT(frames)) / sizeof(hcy_bslz4_frame) < n ||
        cpu_arg_size(call, AT(reports)) / sizeof(hcy_frame_report) < n ||
        cpu_arg_size(call, AT(scratch)) / sizeof(uint32_t) < n ||
        cpu_arg_size(call, AT(images)) / job->image_bytes < n)
        return hcy_fail(HCY_EINVAL,
                        "bslz4_decode: frames, images, reports or scratch too small for %zu frames", n);
    return 0;
}

/* Reports and damage marks as they are before any block; the number of pieces. */
static void start_reports(struct decode *d)
{
    size_t most = 1;
    for (size_t i = 0; i < d->items; i++) {
        const hcy_bslz4_frame *f = &d->frames[i];
        d->reports[i] = (hcy_frame_report){ .status = f->status };
        atomic_init(&d->damaged[i], UINT32_MAX);
        /* A frame that was refused keeps its status; one whose tables lead out of the buffers gets one here. */
        if (!f->status && !cpu_frame_fits(d->job, f, d->chunks_size, d->n_blocks))
            d->reports[i].status = HCY_EINVAL;
        if (!d->reports[i].status && f->n_blocks > most)
            most = f->n_blocks;
    }
    d->pieces = (most + PIECE_BLOCKS - 1) / PIECE_BLOCKS;
}

static void report_damaged_blocks(struct decode *d)
{
    for (size_t i = 0; i < d->items; i++) {
        uint32_t block = atomic_load(&d->damaged[i]);
        if (block == UINT32_MAX)
            continue;
        /* Reports are written when all threads are done, so none of them depends on their order. */
        d->reports[i].status = HCY_ECORRUPT;
        d->reports[i].block = block;
        d->reports[i].byte = d->blocks[d->frames[i].first_block + block].offset;
    }
}

static int run_decode(const struct cpu_call *call)
{
    const hcy_bslz4_job *job = call->values[AT(job)].bytes;
    size_t pieces;
    int st = check_decode_call(call, job);
    if (st)
        return st;
    struct decode d = {
        .ops = cpu_block_ops(call->simd),
        .job = job,
        .items = call->items,
        .chunks = cpu_arg(call, AT(chunks)),
        .chunks_size = cpu_arg_size(call, AT(chunks)),
        .frames = cpu_arg(call, AT(frames)),
        .blocks = cpu_arg(call, AT(blocks)),
        .n_blocks = cpu_arg_size(call, AT(blocks)) / sizeof(hcy_bslz4_block),
        .images = cpu_arg(call, AT(images)),
        .reports = cpu_arg(call, AT(reports)),
        .damaged = cpu_arg(call, AT(scratch)),
    };
    /* The number of pieces is the same for all frames, so a piece is found by a division. */
    start_reports(&d);
    st = hcy_size_mul(&pieces, d.items, d.pieces);
    if (st)
        return hcy_fail(st, "bslz4_decode: %zu frames of %zu pieces", d.items, d.pieces);
    cpu_pool_for(call->pool, pieces, 1, decode_pieces, &d);
    /* The threads only leave a mark, because error records belong to the calling thread. */
    if (atomic_load(&d.out_of_memory))
        return hcy_fail(HCY_ENOMEM, "bslz4_decode: no memory to work on blocks of more than %d bytes",
                        STACK_BLOCK);
    report_damaged_blocks(&d);
    return 0;
}

static int decode_scratch(size_t *size, const struct cpu_call *call)
{
    return hcy_size_mul(size, call->items, sizeof(uint32_t));
}

const struct cpu_kernel cpu_bslz4_kernels[] = {
    { .name = "bslz4_decode",
      .run = run_decode,
      .scratch_size = decode_scratch,
      .variant = cpu_simd_built },
    { .name = NULL },
};
