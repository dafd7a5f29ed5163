/* decode.c - a few chunks to images in one call: a batch is put on a queue's device and waited for.
 *
 * Everything made here is released before it returns, after the queue has passed it.
 */
#include "arguments.h"
#include "bslz4_priv.h"
#include <stdlib.h>
#include <string.h>

/* A batch on the host. */
struct batch {
    uint8_t *chunks;
    size_t chunks_size, n, n_blocks;
    hcy_bslz4_frame *frames;
    hcy_bslz4_block *blocks;
    hcy_frame_report *parsed, *reports;
};

/* The same on the device: arguments of the kernel. */
#define AT(name) HCY_ARG_AT(bslz4_decode, name)
#define N_ARGS   HCY_N_ARGS(bslz4_decode)

/* Where the chunks will lie, and how many blocks they have at most. */
static int measure_chunks(struct batch *b, const hcy_bslz4_job *job, const hcy_span *chunks)
{
    int st = 0;
    /* Kernels read a little past a chunk's end, so the last one has padding behind it. */
    for (size_t i = 0; i < b->n && !st; i++) {
        size_t blocks = 0, room;
        if (!chunks[i].data)
            return hcy_fail(HCY_EINVAL, "hcy_bslz4_decode: chunk %zu is NULL", i);
        if (hcy_bslz4_block_count(&blocks, job, chunks[i].data, chunks[i].size))
            blocks = 0; /* the parse will say why */
        st = hcy_size_add(&room, chunks[i].size, HCY_BSLZ4_ALIGN - 1);
        if (!st)
            st = hcy_size_add(&b->chunks_size, b->chunks_size, room / HCY_BSLZ4_ALIGN * HCY_BSLZ4_ALIGN);
        b->n_blocks += blocks;
    }
    /* A frame's first_block has 32 bits. */
    if (!st && b->n_blocks >= UINT32_MAX)
        return hcy_fail(HCY_ERANGE, "hcy_bslz4_decode: %zu blocks are too many for one batch", b->n_blocks);
    return st ? st : hcy_size_add(&b->chunks_size, b->chunks_size, HCY_BSLZ4_PADDING);
}

static int fill_batch(struct batch *b, const hcy_bslz4_job *job, const hcy_span *chunks)
{
    size_t at = 0, used = 0;
    b->chunks = calloc(1, b->chunks_size);
    b->frames = calloc(b->n, sizeof *b->frames);
    b->blocks = calloc(b->n_blocks + 1, sizeof *b->blocks);
    b->parsed = calloc(b->n, sizeof *b->parsed);
    b->reports = calloc(b->n, sizeof *b->reports);
    if (!b->chunks || !b->frames || !b->blocks || !b->parsed || !b->reports)
        return hcy_fail(HCY_ENOMEM, "hcy_bslz4_decode: no memory for %zu chunks", b->n);
    /* A chunk that is damaged keeps its place, with a status in its frame: devices leave it alone. */
    for (size_t i = 0; i < b->n; i++) {
        hcy_bslz4_frame *f = &b->frames[i];
        memcpy(b->chunks + at, chunks[i].data, chunks[i].size);
        if (!hcy_bslz4_parse(f, b->blocks + used, b->n_blocks - used, &b->parsed[i], job, chunks[i].data,
                             chunks[i].size)) {
            f->offset = at;
            f->first_block = (uint32_t)used;
            used += f->n_blocks;
        }
        at += (chunks[i].size + HCY_BSLZ4_ALIGN - 1) / HCY_BSLZ4_ALIGN * HCY_BSLZ4_ALIGN;
    }
    return 0;
}

/* A device that works in the host's memory gets `data` itself; else the bytes are copied if `in` is set. */
static int add_buffer(hcy_arg *arg, hcy_queue *queue, void *data, size_t size, int in)
{
    const uint32_t same = HCY_CAP_HOST_MEMORY | HCY_CAP_IMPORT_HOST;
    hcy_device *device = hcy_queue_device(queue);
    hcy_buffer *buf = NULL;
    int direct = data && (hcy_device_get_info(device)->caps & same) == same;
    int st = direct ? hcy_buffer_import_host(&buf, device, data, size, NULL, NULL)
                    : hcy_buffer_create(&buf, device, HCY_MEM_DEVICE, size);
    if (!st && in && !direct)
        st = hcy_buffer_write(queue, buf, 0, data, size);
    *arg = hcy_arg_buf(buf);
    return st;
}

/* Host memory given to the queue is the batch's and the caller's: the queue is always waited for. */
static int decode_on_queue(struct batch *b, hcy_arg *args, hcy_queue *queue, hcy_kernel *kernel,
                           const hcy_bslz4_job *job, void *images)
{
    size_t scratch = 0, images_size = 0;
    args[AT(job)] = hcy_arg_struct(job, sizeof *job);
    /* Sizes first: the kernel must accept the job before anything is made for it. */
    int st = hcy_size_mul(&images_size, b->n, job->image_bytes);
    if (st)
        return hcy_fail(st, "hcy_bslz4_decode: %zu images of %llu bytes", b->n,
                        (unsigned long long)job->image_bytes);
    st = hcy_kernel_scratch_size(&scratch, kernel, b->n, args, N_ARGS);
    if (!st)
        st = add_buffer(&args[AT(chunks)], queue, b->chunks, b->chunks_size, 1);
    if (!st)
        st = add_buffer(&args[AT(frames)], queue, b->frames, b->n * sizeof *b->frames, 1);
    if (!st)
        st = add_buffer(&args[AT(blocks)], queue, b->blocks, (b->n_blocks + 1) * sizeof *b->blocks, 1);
    if (!st)
        st = add_buffer(&args[AT(images)], queue, images, images_size, 0);
    if (!st)
        st = add_buffer(&args[AT(reports)], queue, b->reports, b->n * sizeof *b->reports, 0);
    if (!st && scratch)
        st = add_buffer(&args[AT(scratch)], queue, NULL, scratch, 0);
    if (!st)
        st = hcy_launch(queue, kernel, b->n, args, N_ARGS);
    /* Where the device worked in the host's memory, the outcome is there already. */
    if (!st && hcy_buffer_host(args[AT(images)].v.buf) != images)
        st = hcy_buffer_read(queue, images, args[AT(images)].v.buf, 0, images_size);
    if (!st && hcy_buffer_host(args[AT(reports)].v.buf) != b->reports)
        st = hcy_buffer_read(queue, b->reports, args[AT(reports)].v.buf, 0, b->n * sizeof *b->reports);
    return st;
}

/* The verdicts of parse and kernel in one; the status of the first bad frame, said in words. */
static int judge_frames(struct batch *b, hcy_frame_report *reports)
{
    int st = 0;
    for (size_t i = 0; i < b->n; i++) {
        hcy_frame_report *r = b->parsed[i].status ? &b->parsed[i] : &b->reports[i];
        if (reports)
            reports[i] = *r;
        if (r->status && !st)
            st = hcy_fail(r->status, "chunk %zu is damaged: block %u at byte %llu", i, r->block,
                          (unsigned long long)r->byte);
    }
    return st;
}

int hcy_bslz4_decode(void *images, hcy_frame_report *reports, hcy_queue *queue, const hcy_bslz4_job *job,
                     const hcy_span *chunks, size_t n)
{
    struct batch b = { .n = n };
    hcy_arg args[N_ARGS];
    hcy_kernel *kernel = NULL;
    if (!images || !queue || !chunks || !n)
        return hcy_fail(HCY_EINVAL, "hcy_bslz4_decode: %s", !images  ? "no place for the images"
                                                            : !queue ? "no queue"
                                                                     : "no chunks: there is one at least");
    int st = hcy__bslz4_check_job(job);
    for (size_t i = 0; i < N_ARGS; i++)
        args[i] = hcy_arg_buf(NULL);
    if (!st)
        st = hcy_kernel_get(&kernel, hcy_queue_device(queue), "bslz4_decode");
    if (!st)
        st = measure_chunks(&b, job, chunks);
    if (!st)
        st = fill_batch(&b, job, chunks);
    /* Commands that were submitted before a failure use this batch's memory: the queue is waited for in any case, and
     * the first failure is the one that is told. */
    if (!st) {
        int submitted = decode_on_queue(&b, args, queue, kernel, job, images);
        st = hcy_queue_finish(queue);
        st = submitted ? submitted : st;
    }
    if (!st)
        st = judge_frames(&b, reports);
    for (size_t i = 0; i < N_ARGS; i++)
        if (i != AT(job))
            hcy_buffer_release(args[i].v.buf);
    hcy_kernel_release(kernel);
    free(b.chunks);
    free(b.frames);
    free(b.blocks);
    free(b.parsed);
    free(b.reports);
    return st;
}
