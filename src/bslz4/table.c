/* table.c - a chunk taken apart: its header, its blocks, its tail, every bound checked.
 *
 * The one place that knows how chunks are framed; devices get the frame and the blocks that come out of it.
 *     filter 32008: u64 total | u32 block bytes | { u32 n | n bytes }... | raw tail of 0 to 7 elements
 *     filter 32004: the same without a tail; n equal to the block's decoded bytes means stored
 *     BITSHUFFLE, NONE: no header; what HCY_CODEC_* says of the whole chunk
 * Numbers are big-endian.  No state; any thread.
 */
#include "bslz4_job.h"
#include "bslz4_priv.h"
#include <string.h>

/* Bytes at which a block is cut where nobody says otherwise: filter 32008's rule. */
static uint32_t default_block(const hcy_bslz4_job *job)
{
    uint32_t elems = 8192 / job->elem_size / 8 * 8;
    return (elems < 128 ? 128 : elems) * job->elem_size;
}

static uint64_t load_be(const uint8_t *p, unsigned n)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < n; i++)
        v = v << 8 | p[i];
    return v;
}

/* What a block's bytes are a multiple of: where there are bit-planes, elements come in eights. */
static uint32_t block_unit(const hcy_bslz4_job *job)
{
    return hcy__bslz4_has_planes(job->codec) ? 8 * job->elem_size : job->elem_size;
}

int hcy__bslz4_check_chunk(const hcy_bslz4_job *job)
{
    if (!job)
        return hcy_fail(HCY_EINVAL, "bslz4: no job given");
    if (job->codec > HCY_CODEC_BITSHUFFLE)
        return hcy_fail(HCY_EINVAL, "bslz4: codec %u is not one of HCY_CODEC_*", job->codec);
    if (!job->elem_size || job->elem_size > HCY__BSLZ4_MAX_ELEMENT)
        return hcy_fail(HCY_EUNSUPPORTED, "bslz4: elements of %u bytes; 1 to %u are supported", job->elem_size,
                        HCY__BSLZ4_MAX_ELEMENT);
    if (!job->image_bytes || job->image_bytes % job->elem_size)
        return hcy_fail(HCY_EINVAL, "bslz4: an image of %llu bytes is not made of elements of %u bytes",
                        (unsigned long long)job->image_bytes, job->elem_size);
    if (job->image_bytes > HCY__BSLZ4_MAX_IMAGE)
        return hcy_fail(HCY_EUNSUPPORTED,
                        "bslz4: an image of %llu bytes; less than 4 GiB is supported, as in HDF5",
                        (unsigned long long)job->image_bytes);
    if (job->block_bytes % block_unit(job) || job->block_bytes > HCY__LZ4_MAX)
        return hcy_fail(HCY_EINVAL, "bslz4: blocks of %u bytes; a multiple of %u up to %u is possible",
                        job->block_bytes, block_unit(job), HCY__LZ4_MAX);
    return 0;
}

int hcy__bslz4_check_job(const hcy_bslz4_job *job)
{
    if (job && !hcy_bslz4_is_element(job->elem_size))
        return hcy_fail(HCY_EUNSUPPORTED, "bslz4: elements of %u bytes; 1, 2, 4 and 8 are supported",
                        job->elem_size);
    return hcy__bslz4_check_chunk(job);
}

uint32_t hcy__bslz4_block_bytes(const hcy_bslz4_job *job)
{
    return job->block_bytes ? job->block_bytes : default_block(job);
}

void hcy__bslz4_cut(hcy_bslz4_frame *frame, const hcy_bslz4_job *job, uint32_t block_bytes)
{
    /* The job was checked, so an image's size has 32 bits.  Elements that fill no unit are the tail, left raw. */
    uint32_t image = (uint32_t)job->image_bytes, tail = image % block_unit(job), coded = image - tail;
    /* Working space is a block's, so a header that asks for a larger one than the image must not get it. */
    if (block_bytes > coded && coded)
        block_bytes = coded;
    frame->block_bytes = block_bytes;
    frame->tail_bytes = tail;
    frame->n_blocks = coded / block_bytes + (coded % block_bytes != 0);
    frame->last_bytes = coded % block_bytes ? coded % block_bytes : block_bytes;
}

static int too_short(size_t size)
{
    return hcy_fail(HCY_ECORRUPT, "chunk of %zu bytes: shorter than its header of %d", size,
                    HCY__BSLZ4_HEADER);
}

/* The header of a chunk that has one: the block size it asks for. */
static int read_chunk_header(uint32_t *block_bytes, const hcy_bslz4_job *job, const uint8_t *chunk, size_t size)
{
    if (size < HCY__BSLZ4_HEADER)
        return too_short(size);
    uint64_t total = load_be(chunk, 8), block = load_be(chunk + 8, 4);
    if (total != job->image_bytes)
        return hcy_fail(HCY_ECORRUPT, "chunk: its header promises %llu bytes, the image has %llu",
                        (unsigned long long)total, (unsigned long long)job->image_bytes);
    if (!block)
        block = default_block(job);
    /* One block, whatever size the writer's filter was set to. */
    if (job->codec == HCY_CODEC_LZ4 && block > job->image_bytes)
        block = job->image_bytes;
    if (block % block_unit(job))
        return hcy_fail(hcy__bslz4_has_planes(job->codec) ? HCY_ECORRUPT : HCY_EUNSUPPORTED,
                        "chunk: its header asks for blocks of %llu bytes, not a multiple of %u",
                        (unsigned long long)block, block_unit(job));
    /* A large block of a smaller image is cut down to it, which LZ4 can hold. */
    if (block > HCY__LZ4_MAX && job->image_bytes > HCY__LZ4_MAX)
        return hcy_fail(HCY_EUNSUPPORTED, "chunk: blocks of %llu bytes, more than LZ4 can hold",
                        (unsigned long long)block);
    *block_bytes = (uint32_t)block;
    return 0;
}

/* What can be known before the blocks are walked. */
static int outline_chunk(hcy_bslz4_frame *frame, const hcy_bslz4_job *job, const uint8_t *chunk, size_t size)
{
    uint32_t block_bytes = hcy__bslz4_block_bytes(job);
    /* Offsets in a chunk have 32 bits. */
    if (size > UINT32_MAX)
        return hcy_fail(HCY_EUNSUPPORTED, "chunk of %zu bytes: less than 4 GiB is supported, as in HDF5",
                        size);
    if (chunk && hcy__bslz4_has_header(job->codec)) {
        int st = read_chunk_header(&block_bytes, job, chunk, size);
        if (st)
            return st;
    }
    hcy__bslz4_cut(frame, job, block_bytes);
    frame->size = size;
    return 0;
}

int hcy__bslz4_promised(uint64_t *bytes, const void *chunk, size_t size)
{
    if (size < HCY__BSLZ4_HEADER)
        return too_short(size);
    *bytes = load_be(chunk, 8);
    return 0;
}

int hcy_bslz4_block_count(size_t *n_blocks, const hcy_bslz4_job *job, const void *chunk, size_t size)
{
    hcy_bslz4_frame frame;
    int st = hcy__bslz4_check_job(job);
    if (!st && !n_blocks)
        st = hcy_fail(HCY_EINVAL, "hcy_bslz4_block_count: nowhere to put the number");
    if (!st)
        st = outline_chunk(&frame, job, chunk, chunk ? size : 0);
    if (!st)
        *n_blocks = frame.n_blocks;
    return st;
}

/* Blocks that lie next to one another, as long as what they decode to. */
static int lay_blocks(hcy_bslz4_block *blocks, const hcy_bslz4_frame *frame, uint32_t *at, uint32_t *block)
{
    uint32_t size = (uint32_t)frame->size;
    /* *block is kept up to date, so that a caller can say where it failed; *at never passes size. */
    for (uint32_t b = 0; b < frame->n_blocks; b++) {
        uint32_t n = HCY_BLOCK_BYTES(frame, b);
        *block = b;
        if (size - *at < n)
            return hcy_fail(HCY_ECORRUPT,
                            "chunk truncated: block %u of %u at byte %u has %u bytes, the chunk ends at %u",
                            b, frame->n_blocks, *at, n, size);
        blocks[b].offset = *at;
        blocks[b].size = n | HCY_BLOCK_STORED;
        *at += n;
    }
    *block = frame->n_blocks;
    return 0;
}

static int check_tail(hcy_bslz4_frame *frame, uint32_t at)
{
    uint32_t left = (uint32_t)frame->size - at;
    frame->tail_offset = at;
    /* Bytes too many are damage, too: a whole chunk has none. */
    if (left == frame->tail_bytes)
        return 0;
    if (left < frame->tail_bytes)
        return hcy_fail(HCY_ECORRUPT, "chunk truncated: %u bytes of pixels behind the last block, found %u",
                        frame->tail_bytes, left);
    return hcy_fail(HCY_ECORRUPT, "chunk: %u bytes too many, from byte %u on", left - frame->tail_bytes,
                    at + frame->tail_bytes);
}

int hcy__bslz4_parse(hcy_bslz4_frame *frame, hcy_bslz4_block *blocks, size_t capacity,
                     hcy_frame_report *report, const hcy_bslz4_job *job, const void *chunk, size_t size)
{
    hcy_frame_report verdict = { 0 };
    uint32_t at = 0;
    memset(frame, 0, sizeof *frame);
    /* Bounds are checked from the outside in: the job, the header, the room for blocks, each block, the tail. */
    int st = hcy__bslz4_check_chunk(job);
    if (!st)
        st = outline_chunk(frame, job, chunk, size);
    if (!st && frame->n_blocks > capacity)
        st = hcy_fail(HCY_ERANGE, "chunk of %u blocks: room for %zu was given", frame->n_blocks, capacity);
    if (!st && hcy__bslz4_has_header(job->codec)) {
        at = HCY__BSLZ4_HEADER;
        st = hcy__bslz4_walk(blocks, frame, job, chunk, &at, &verdict.block);
    } else if (!st) {
        st = lay_blocks(blocks, frame, &at, &verdict.block);
    }
    verdict.byte = at;
    if (!st)
        st = check_tail(frame, at);
    /* Blocks that were found before the damage do not count: a bad frame has none. */
    if (st) {
        verdict.status = st;
        frame->status = st;
        frame->n_blocks = 0;
    } else {
        verdict.block = 0;
        verdict.byte = 0;
    }
    if (report)
        *report = verdict;
    return st;
}

int hcy_bslz4_parse(hcy_bslz4_frame *frame, hcy_bslz4_block *blocks, size_t capacity,
                    hcy_frame_report *report, const hcy_bslz4_job *job, const void *chunk, size_t size)
{
    if (!frame || !chunk || (!blocks && capacity))
        return hcy_fail(HCY_EINVAL, "hcy_bslz4_parse: frame, blocks and chunk are needed");
    int st = hcy__bslz4_check_job(job);
    if (!st)
        return hcy__bslz4_parse(frame, blocks, capacity, report, job, chunk, size);
    /* Frame and report say what the status says, for callers that look at these alone. */
    memset(frame, 0, sizeof *frame);
    frame->status = st;
    if (report)
        *report = (hcy_frame_report){ .status = st };
    return st;
}
